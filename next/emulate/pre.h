#include <cuda_runtime.h>
#include <petscsys.h>
#undef __device__
#undef __global__
#undef __forceinline__
#undef __launch_bounds__
#undef __grid_constant__
#undef __host__
#undef __constant__
#undef __shared__
#undef __align__
#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#include "emu2.h"
#define __CUDACC__ 1
#define HJ_EMU
#define EMU 1
#include "core/hjslots.h"
#include "core/hjcore.h"
#include "cuda/device/hjcopy.cuh"

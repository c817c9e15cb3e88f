/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What all of src/cuda takes from CUDA: its errors, the stream, memory, launches, copies between host and device. Knows no kernel and no
   operator.
*/
#pragma once

#include "core/hjcore.h"
#include "cuda/hjtuning.h"

#include <cuda_runtime.h>

#if !defined(PetscCallCUDA)
  #define PetscCallCUDA(...)                                                                                                               \
    do {                                                                                                                                   \
      const cudaError_t hj_err_ = __VA_ARGS__;                                                                                             \
      PetscCheck(hj_err_ == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "cuda error %d (%s) : %s", (int)hj_err_,                          \
                 cudaGetErrorName(hj_err_), cudaGetErrorString(hj_err_));                                                                  \
    } while (0)
#endif

/* Whether this toolkit has accesses of 16 bytes that are one */
#define HJ_SLOT_WORDS (CUDART_VERSION >= 12030)

/* PETSc's current stream where PETSc runs on CUDA, else the default stream */
PETSC_INTERN PetscErrorCode HJStream(cudaStream_t *);

/* An error with the bytes asked for where there is no memory left */
PetscErrorCode HJAlloc(size_t bytes, void **);
/* A copy from memory of that type, which PETSc is told of; nothing where both are one */
PetscErrorCode HJUpload_CUDA(const void *to, const void *from, size_t bytes, PetscMemType, cudaStream_t);

/* Pageable host memory to the device and back (hjstage.cu), by way of pinned buffers that *stage keeps for the next copy; NULL: none yet */
typedef struct HJStage HJStage;
PetscErrorCode         HJStageIn_CUDA(HJStage **stage, cudaStream_t, void *to, const void *from, size_t bytes);
PetscErrorCode         HJStageOut_CUDA(HJStage **stage, cudaStream_t, void *to, const void *from, size_t bytes);
PetscErrorCode         HJStageDestroy_CUDA(HJStage **stage);
/* The same without buffers */
PetscErrorCode HJStageLocked_CUDA(cudaStream_t, void *to, const void *from, size_t bytes, const void *host);

/* A launch (hjlaunch.cu) */
typedef struct {
  dim3         grid, block;
  size_t       smem_bytes;
  cudaStream_t stream;
  int          cluster; /* blocks that make a cluster; 0: there are none */
  bool         overlap; /* blocks start while the kernel before in the stream finishes, which hides the launch's latency: HJDAwaitInput() */
  bool         cooperative; /* blocks wait for each other: an error if they are not all on the device at once */
} HJLaunch;

/* What CUDA asks for; attr serves as long as config */
cudaError_t HJLaunchConfig(const HJLaunch *, const void *kernel, cudaLaunchConfig_t *config, cudaLaunchAttribute attr[3]);
/* args: pointers to the kernel's parameters */
cudaError_t HJLaunchKernel(const HJLaunch *, const void *kernel, void **args);

/* For a kernel that is launched so that it may start while the one before in its stream finishes: waits until that has */
__device__ __forceinline__ void HJDAwaitInput()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Lets the next kernel in the stream start, if it is launched so */
__device__ __forceinline__ void HJDLetNextStart()
{
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

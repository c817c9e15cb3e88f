/*
   The 9-point kernels of 2D exact streaming. Which counts get a kernel and how many rows are in flight is decided here, by measurement on an H200.
*/
#include "hjstream2d_constant.cuh"

const HJ2DKernel HJ2DBoxKernels[] = {
  {2, (const void *)HJStream2DConstant_Kernel<1, 2, 7, 8, 8, 12>, HJ2DConstant<1, 2, 7, 8, 8>::SMEM_BYTES},
  {4, (const void *)HJStream2DConstant_Kernel<1, 4, 5, 8, 8, 12>, HJ2DConstant<1, 4, 5, 8, 8>::SMEM_BYTES},
  {6, (const void *)HJStream2DConstant_Kernel<1, 6, 6, 8, 16, 8>, HJ2DConstant<1, 6, 6, 8, 16>::SMEM_BYTES},
  {0, nullptr, 0}
};

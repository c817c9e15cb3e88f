/*
   The 5-point kernels of 2D exact streaming. Which counts get a kernel and how many rows are in flight is decided here, by measurement on an H200.
*/
#include "hjstream2d_constant.cuh"

const HJ2DKernel HJ2DStarKernels[] = {
  {2, (const void *)HJStream2DConstant_Kernel<0, 2, 7, 8, 8, 12>, HJ2DConstant<0, 2, 7, 8, 8>::SMEM_BYTES},
  {4, (const void *)HJStream2DConstant_Kernel<0, 4, 5, 8, 8, 12>, HJ2DConstant<0, 4, 5, 8, 8>::SMEM_BYTES},
  {6, (const void *)HJStream2DConstant_Kernel<0, 6, 6, 8, 16, 8>, HJ2DConstant<0, 6, 6, 8, 16>::SMEM_BYTES},
  {8, (const void *)HJStream2DConstant_Kernel<0, 8, 6, 8, 16, 8>, HJ2DConstant<0, 8, 6, 8, 16>::SMEM_BYTES},
  {10, (const void *)HJStream2DConstant_Kernel<0, 10, 6, 8, 16, 8>, HJ2DConstant<0, 10, 6, 8, 16>::SMEM_BYTES},
  {0, nullptr, 0}
};

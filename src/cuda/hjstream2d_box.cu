/*
   The 9-point kernels of 2D exact streaming. How many rows are in flight and how many warps share a multiprocessor is decided here, by measurement on
   an H200.
*/
#include "hjstream2d_constant.cuh"

const HJ2DKernel HJ2DBoxKernels[] = {
  HJ2DEntry(1, 1, 4, 4, 8, 8), HJ2DEntry(1, 2, 4, 4, 8, 8), HJ2DEntry(1, 3, 4, 4, 8, 8), HJ2DEntry(1, 4, 4, 4, 8, 8), HJ2DEntry(1, 5, 4, 4, 16, 8), HJ2DEntry(1, 6, 4, 4, 16, 8), {0, nullptr, 0}
};

/*
   The 5-point kernels of 2D exact streaming. How many rows are in flight and how many warps share a multiprocessor is decided here, by measurement on
   an H200.
*/
#include "hjstream2d_constant.cuh"

const HJ2DKernel HJ2DStarKernels[] = {
  HJ2DEntry(0, 1, 4, 4, 8, 8), HJ2DEntry(0, 2, 4, 4, 8, 8), HJ2DEntry(0, 3, 4, 4, 8, 8), HJ2DEntry(0, 4, 4, 4, 8, 8), HJ2DEntry(0, 5, 4, 4, 16, 8),
  HJ2DEntry(0, 6, 4, 4, 16, 8), HJ2DEntry(0, 7, 4, 4, 16, 8), HJ2DEntry(0, 8, 4, 4, 16, 8), HJ2DEntry(0, 9, 4, 4, 16, 8), HJ2DEntry(0, 10, 4, 4, 16, 8), {0, nullptr, 0}
};

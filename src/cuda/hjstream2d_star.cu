/*
   The 5-point kernels of 2D exact streaming. How many rows are in flight is decided here, by measurement on an H200.
*/
#include "hjstream2d_constant.cuh"

const HJ2DKernel HJ2DStarKernels[] = {HJ2DEntry(0, 1, 4, 8, 132), HJ2DEntry(0, 2, 4, 8, 132), HJ2DEntry(0, 3, 4, 8, 132), HJ2DEntry(0, 4, 4, 8, 132),  HJ2DEntry(0, 5, 4, 8, 132), HJ2DEntry(0, 6, 4, 8, 132),
                                      HJ2DEntry(0, 7, 4, 8, 132), HJ2DEntry(0, 8, 4, 8, 132), HJ2DEntry(0, 9, 3, 8, 132), HJ2DEntry(0, 10, 3, 8, 132), {0, 0, 0, nullptr}};

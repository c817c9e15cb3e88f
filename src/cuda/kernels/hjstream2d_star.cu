/*
   The 5-point kernels of 2D exact streaming. How many rows are in flight is decided here, by measurement on an H200, and which levels
   have registers left to work in place.
*/
#include "hjstream2d_constant.cuh"

const HJ2DKernel HJ2DStarKernels[] = {HJ2DEntryInPlace(0, 1, 4, 12, 140),
                                      HJ2DEntryInPlace(0, 2, 4, 8, 132),
                                      HJ2DEntryInPlace(0, 3, 3, 12, 132),
                                      HJ2DEntryInPlace(0, 4, 4, 8, 132),
                                      HJ2DEntryInPlace(0, 5, 4, 8, 132),
                                      HJ2DEntryInPlace(0, 6, 4, 8, 132),
                                      HJ2DEntry(0, 7, 4, 8, 132),
                                      HJ2DEntry(0, 8, 4, 8, 132),
                                      HJ2DEntry(0, 9, 3, 8, 132),
                                      HJ2DEntry(0, 10, 3, 8, 132),
                                      {}};

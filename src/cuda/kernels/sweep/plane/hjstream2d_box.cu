/*
   The 9-point kernels of 2D exact streaming. How many rows are in flight is decided here, by measurement on an H200, and which levels
   have registers left to work in place.
*/
#include "hjstream2d_constant.cuh"

const HJ2DKernel HJ2DBoxKernels[] = {HJ2DEntryInPlace(1, 1, 4, 8, 132),
                                     HJ2DEntryInPlace(1, 2, 4, 8, 132),
                                     HJ2DEntryInPlace(1, 3, 4, 8, 132),
                                     HJ2DEntryInPlace(1, 4, 4, 8, 132),
                                     HJ2DEntryInPlace(1, 5, 4, 8, 132),
                                     HJ2DEntryInPlace(1, 6, 4, 8, 132),
                                     {}};

/*
   The 5-point kernels of 2D exact streaming that add an interpolated correction to x: of the numbers of subiterations that PCHJMG takes
   by itself. They have as many rows in flight as the others, and more shared memory.
*/
#include "hjstream2d_constant.cuh"

const HJ2DKernel HJ2DCorrectedKernels[] = {HJ2DEntryCorrected(4, 4, 8, 148),
                                           HJ2DEntryCorrected(6, 4, 8, 148),
                                           HJ2DEntryCorrected(8, 4, 8, 148),
                                           {}};

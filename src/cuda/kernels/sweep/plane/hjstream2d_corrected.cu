/*
   The 5-point kernels of 2D exact streaming that add an interpolated correction to x, or restrict the residual of their result: of the
   numbers of subiterations that PCHJMG takes by itself; the first one from a zero guess is no level. They have as many rows in flight as
   the others, and more shared memory.
*/
#include "hjstream2d_constant.cuh"

const HJ2DKernel HJ2DCorrectedKernels[] = {HJ2DEntryCorrected(4, 4, 8, 148),
                                           HJ2DEntryCorrected(6, 4, 8, 148),
                                           HJ2DEntryCorrected(8, 4, 8, 148),
                                           {}};

const HJ2DKernel HJ2DRestrictedKernels[] = {HJ2DEntryRestricted(3, 4, 8, 132),
                                            HJ2DEntryRestricted(5, 4, 8, 132),
                                            HJ2DEntryRestricted(7, 4, 8, 140),
                                            {}};

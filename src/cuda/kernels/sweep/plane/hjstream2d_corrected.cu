/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The 5-point kernels of 2D exact streaming that add an interpolated correction to x, or restrict the residual of their result: of the
   numbers of subiterations that PCHJMG takes by itself; the first one from a zero guess is no level. They have as many rows in flight as
   the others, and more shared memory.
*/
#include "hjstream2d_constant.cuh"

const HJ2DKernel HJ2DCorrectedKernels[] = {HJ2DTuned(HJ2DEntryCorrected, 4, HJ2D_CORRECTED_STAR_4),
                                           HJ2DTuned(HJ2DEntryCorrected, 6, HJ2D_CORRECTED_STAR_6),
                                           HJ2DTuned(HJ2DEntryCorrected, 8, HJ2D_CORRECTED_STAR_8),
                                           {}};

const HJ2DKernel HJ2DRestrictedKernels[] = {HJ2DTuned(HJ2DEntryRestricted, 3, HJ2D_RESTRICTED_STAR_3),
                                            HJ2DTuned(HJ2DEntryRestricted, 5, HJ2D_RESTRICTED_STAR_5),
                                            HJ2DTuned(HJ2DEntryRestricted, 7, HJ2D_RESTRICTED_STAR_7),
                                            {}};

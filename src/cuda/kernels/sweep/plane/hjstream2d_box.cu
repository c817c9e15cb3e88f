/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The 9-point kernels of 2D exact streaming. Decided here is which levels have registers left to work in place.
*/
#include "hjstream2d_constant.cuh"

const HJ2DKernel HJ2DBoxKernels[] = {HJ2DTuned(HJ2DEntryInPlace, 1, 1, HJ2D_BOX_1),
                                     HJ2DTuned(HJ2DEntryInPlace, 1, 2, HJ2D_BOX_2),
                                     HJ2DTuned(HJ2DEntryInPlace, 1, 3, HJ2D_BOX_3),
                                     HJ2DTuned(HJ2DEntryInPlace, 1, 4, HJ2D_BOX_4),
                                     HJ2DTuned(HJ2DEntryInPlace, 1, 5, HJ2D_BOX_5),
                                     HJ2DTuned(HJ2DEntryInPlace, 1, 6, HJ2D_BOX_6),
                                     {}};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The 5-point kernels of 2D exact streaming. Decided here is which levels have registers left to work in place, or for several rows.
*/
#include "hjstream2d_constant.cuh"

/* Write to x itself with one row alone, and not where they wrap: the others have no registers left for it */
#define HJ2DEntryInPlaceOneRow(box, levels, ahead, blocks, carve)                                                                          \
  {                                                                                                                                        \
    levels, HJ2D_BLOCKS(blocks), HJ2DConstant<box, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_MANY>::SMEM_BYTES,               \
      HJ2DConstant<box, levels, ahead, HJ2D_BLOCKS(blocks), carve, false, HJ2D_MANY>::RING_BYTES,                                          \
      HJ2DVariants(box, levels, ahead, blocks, carve, false),                                                                              \
    {                                                                                                                                      \
      (const void *)HJStream2DConstant_Kernel<box, levels, ahead, HJ2D_BLOCKS(blocks), carve, true, HJ2D_ONE>, nullptr, nullptr            \
    }                                                                                                                                      \
  }

const HJ2DKernel HJ2DStarKernels[] = {HJ2DTuned(HJ2DEntryInPlace, 0, 1, HJ2D_STAR_1),
                                      HJ2DTuned(HJ2DEntryInPlace, 0, 2, HJ2D_STAR_2),
                                      HJ2DTuned(HJ2DEntryInPlace, 0, 3, HJ2D_STAR_3),
                                      HJ2DTuned(HJ2DEntryInPlace, 0, 4, HJ2D_STAR_4),
                                      HJ2DTuned(HJ2DEntryInPlace, 0, 5, HJ2D_STAR_5),
                                      HJ2DTuned(HJ2DEntryInPlace, 0, 6, HJ2D_STAR_6),
                                      HJ2DTuned(HJ2DEntryInPlaceOneRow, 0, 7, HJ2D_STAR_7),
                                      HJ2DTuned(HJ2DEntryInPlaceOneRow, 0, 8, HJ2D_STAR_8),
                                      HJ2DTuned(HJ2DEntryOneRow, 0, 9, HJ2D_STAR_9),
                                      HJ2DTuned(HJ2DEntryOneRow, 0, 10, HJ2D_STAR_10),
                                      {}};

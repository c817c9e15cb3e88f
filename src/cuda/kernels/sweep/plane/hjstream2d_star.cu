/*
   The 5-point kernels of 2D exact streaming. How many rows are in flight is decided here, by measurement on an H200, and which levels
   have registers left to work in place, or for several rows: 789, 765 and 581 G updates/s at 6, 8 and 10 levels with the interior's and the
   identity on the domain's boundary, 765 and 660 at 6 and 8 with 15 (4097^2).
*/
#include "hjstream2d_constant.cuh"

/* Write to x itself with one row alone, and not where they wrap: the others have no registers left for it */
#define HJ2DEntryInPlaceOneRow(box, levels, ahead, blocks, carve)                                                                          \
  {                                                                                                                                        \
    levels, blocks, HJ2DConstant<box, levels, ahead, blocks, carve, false, HJ2D_MANY>::SMEM_BYTES,                                         \
      HJ2DConstant<box, levels, ahead, blocks, carve, false, HJ2D_MANY>::RING_BYTES,                                                       \
      HJ2DVariants(box, levels, ahead, blocks, carve, false),                                                                              \
    {                                                                                                                                      \
      (const void *)HJStream2DConstant_Kernel<box, levels, ahead, blocks, carve, true, HJ2D_ONE>, nullptr, nullptr                         \
    }                                                                                                                                      \
  }

const HJ2DKernel HJ2DStarKernels[] = {HJ2DEntryInPlace(0, 1, 4, 12, 140),
                                      HJ2DEntryInPlace(0, 2, 4, 8, 132),
                                      HJ2DEntryInPlace(0, 3, 3, 12, 132),
                                      HJ2DEntryInPlace(0, 4, 4, 8, 132),
                                      HJ2DEntryInPlace(0, 5, 4, 8, 132),
                                      HJ2DEntryInPlace(0, 6, 4, 8, 132),
                                      HJ2DEntryInPlaceOneRow(0, 7, 4, 8, 132),
                                      HJ2DEntryInPlaceOneRow(0, 8, 4, 8, 132),
                                      HJ2DEntryOneRow(0, 9, 3, 8, 132),
                                      HJ2DEntryOneRow(0, 10, 3, 8, 132),
                                      {}};

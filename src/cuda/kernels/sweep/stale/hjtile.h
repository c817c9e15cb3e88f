/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Tiles in shared memory (hjtile.cu), for stale sweeps and, where they overlap enough, for exact ones of small grids.
*/
#pragma once

#include "cuda/kernels/hjkernel.h"

/* How a sweep is cut into tiles; overlap < 0 never occurs here: exact tiles overlap by 2 (subiterations - 1) */
typedef struct {
  HJDBox cover;
  int    tile[3], ntiles[3], overlap;
  int    cluster; /* blocks that share a tile, cut in its last direction */
  int    height;  /* of a block's part in the tile's last direction */
  int    strip;   /* points of a thread in that direction */
  int    pad;     /* a line in shared memory is this much longer than the tile's */
  int    threads;
  size_t smem_bytes;
} HJTileLayout;

/* Fills all below ntiles for tile; false: too large for this device */
bool HJTileLayoutFit(const HJDevice *, const HJDStencil *, HJTileLayout *);
/* Of a stale sweep of the geometry; number: which. An error where tiles do not fit */
PetscErrorCode HJTileLayoutStale(const HJ_CUDA *, const HJGeometry *, int number, HJTileLayout *);
/* list: numbers of the ntiles tiles to do, on the device; NULL: all. exact: a zero guess starts from w[0] dinv b, ring included */
PetscErrorCode HJTileRun_CUDA(HJ_CUDA *, cudaStream_t, const HJDSweep *, const HJTileLayout *, const int *list, int ntiles, int count,
                              const PetscReal *w, bool exact);

/* Tile number n of a layout: its points and those of write that it owns */
template <int DIM> __device__ inline void HJTileRange_CUDA(const HJTileLayout &lay, const HJDBox &write, int n, HJDBox &t, HJDBox &own)
{
  t   = write;
  own = write;
#pragma unroll
  for (int d = 0; d < DIM; d++) {
    PetscInt points[2] = {lay.cover.lo[d], lay.cover.hi[d]}, range[2] = {write.lo[d], write.hi[d]};

    HJTileCut(lay.tile[d], lay.overlap, n % lay.ntiles[d], lay.ntiles[d], points, range);
    n /= lay.ntiles[d];
    t.lo[d]   = (int)points[0];
    t.hi[d]   = (int)points[1];
    own.lo[d] = (int)range[0];
    own.hi[d] = (int)range[1];
  }
}

/* Weights in device memory where they are too many for kernel parameters, else NULL */
PetscErrorCode HJWeights_CUDA(HJ_CUDA *, cudaStream_t, int count, const PetscReal *w, const PetscReal **d_w);

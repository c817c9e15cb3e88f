/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What the files of tiles in registers share: the list of tiles that have the main row alone, and how adjacent points are read and written.
   Decides no tile; seen by hjtile*.cu alone.
*/
#pragma once

#include "hjtile.h"

/* Layout of one sweep */
typedef struct {
  HJTileLayout lay;
  int          n[2];
  int         *d_list; /* [2][ntiles]: tiles that have the main row alone, the others */
} HJTileLists;

/* One HJTileLists a sweep, HJD_MAX_SWEEPS of them; d_list of one that is not used is NULL. Waits for the device */
PetscErrorCode HJTileListsCreate(HJ_CUDA *, cudaStream_t, const HJDSweep *, const HJGeometry *, void **);
PetscErrorCode HJTileListsDestroy(void *);
/* A family's launch(): run() does the tiles that have the main row alone, hjtile.cu the others */
typedef PetscErrorCode (*HJTileListsRunner)(const HJ_CUDA *, cudaStream_t, const HJDSweep *, const HJTileLists *, int count,
                                            const PetscScalar *w, const PetscScalar *d_w);
PetscErrorCode HJTileListsLaunch(HJ_CUDA *, cudaStream_t, const HJDPass *, const void *layout, HJTileListsRunner run);

/* Whether a subiteration with every weight makes a point the mean of its neighbours times a number, plus b: w a_0 = 1, and the
   coefficients from a_first to a_last are the same */
static inline bool HJTileIsMean(const PetscScalar *row, int first, int last, int count, const PetscScalar *w)
{
  for (int o = first; o <= last; o++)
    if (row[o] != row[first]) return false;
  for (int n = 0; n < count; n++)
    if (w[n] != w[0] || w[n] * row[0] != 1.0) return false;
  return true;
}

/* Whether points 2 m and 2 m + 1 of every tile lie in aligned bytes of an array, to be read at once, over box */
static inline bool HJTilePairs(const HJTileLayout *lay, int dim, const HJDBox *box, const void *array)
{
  const int step = lay->tile[0] - HJTileOverlap(lay->tile[0], lay->overlap);

  return (size_t)array % sizeof(HJScalar2) == 0 && (dim == 1 || HJDWidth(*box, 0) % 2 == 0) && (lay->cover.lo[0] - box->lo[0]) % 2 == 0 &&
         (lay->ntiles[0] == 1 || step % 2 == 0);
}

/* N adjacent points of a line that starts at i0, of which those below hi are there, the others are 0. pairs: see HJTilePairs() */
template <int N> __device__ __forceinline__ void HJTileGet(const PetscScalar *line, bool pairs, int i0, int hi, PetscScalar v[N])
{
  if (pairs && i0 + N <= hi) {
#pragma unroll
    for (int u = 0; u < N; u += 2) {
      const HJScalar2 two = *(const HJScalar2 *)(line + u);

      v[u]     = two.x;
      v[u + 1] = two.y;
    }
  } else {
#pragma unroll
    for (int u = 0; u < N; u++) v[u] = i0 + u < hi ? line[u] : 0.0;
  }
}

/* Those of N adjacent points that are in [lo, hi) */
template <int N> __device__ __forceinline__ void HJTilePut(PetscScalar *line, bool pairs, int i0, int lo, int hi, const PetscScalar v[N])
{
#pragma unroll
  for (int u = 0; u < N; u += 2) {
    const bool first = i0 + u >= lo && i0 + u < hi, second = i0 + u + 1 >= lo && i0 + u + 1 < hi;

    if (pairs && first && second) {
      *(HJScalar2 *)(line + u) = HJScalar2Of(v[u], v[u + 1]);
    } else {
      if (first) line[u] = v[u];
      if (second) line[u + 1] = v[u + 1];
    }
  }
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What 2D sweeps have to do with the next coarser grid (HJCoarser), in strips of whole 128 columns: a correction that is interpolated where
   x is read, and a residual that is restricted where it is made.
*/
#pragma once

#include "hjstream2d.cuh"

extern const HJ2DKernel HJ2DSymmetricCorrectedKernels[], HJ2DSymmetricRestrictedKernels[], HJ2DBoxCorrectedKernels[],
  HJ2DBoxRestrictedKernels[];

#if defined(__CUDACC__)

/* Starts the copy of the points of a coarse row that the strip's columns lie on and between, 0 where there are none; at: the first of
   HJ2D_COARSE_ROWS rows. WRAP: columns beyond an end are those inside the other one, where the sweep's wrap */
template <bool WRAP> __device__ __forceinline__ void HJ2DFetchCoarse(const HJ2DArgs &g, const HJ2DWarp &w, unsigned at, int row)
{
  const int          begin = (w.x0 >> 1) + w.lane, period = WRAP && w.s->wrap ? g.coarse_n[0] : 0;
  const int          column[3] = {HJDWrap(begin, period), HJDWrap(begin + 32, period), HJDWrap(begin + 64, period)};
  const PetscScalar *lines     = g.coarse[(row >= 0) + (row >= g.coarse_n[1])],
                    *src       = lines ? lines + (long long)row * g.coarse_n[0] : g.coarse[1];
  const unsigned to = at + (row & (HJ2D_COARSE_ROWS - 1)) * HJ2D_COARSE_BYTES + HJ_BYTES * w.lane, n = lines ? g.coarse_n[0] : 0;

  HJCopyNumberOrZero(to, src + column[0], (unsigned)column[0] < n);
  HJCopyNumberOrZero(to + 32 * HJ_BYTES, src + column[1], (unsigned)column[1] < n);
  if (w.lane == 0) HJCopyNumberOrZero(to + 64 * HJ_BYTES, src + column[2], (unsigned)column[2] < n);
}

/* What points of a row that hangs are multiplied by */
__device__ __forceinline__ PetscScalar HJ2DRowScale(const HJ2DArgs &g, int row)
{
  return row == g.end_at[1][0] ? g.end_scale[1][0] : row == g.end_at[1][1] ? g.end_scale[1][1] : (PetscScalar)1.0;
}

/* Multiplies the lane's point in a column that hangs */
__device__ __forceinline__ void HJ2DScaleColumns(const HJ2DArgs &g, const HJ2DWarp &w, PetscScalar u[4])
{
  #pragma unroll
  for (int side = 0; side < 2; side++) {
    const int column = g.end_at[0][side] - w.x0;

    if ((unsigned)column >= HJ2D_COLUMNS) continue;
  #pragma unroll
    for (int v = 0; v < 4; v++) u[v] *= column == 4 * w.lane + v ? g.end_scale[0][side] : (PetscScalar)1.0;
  }
}

/* A coarse row interpolated to the lane's columns, the first of which lies on a coarse point or between two */
__device__ __forceinline__ void HJ2DAlong(const HJ2DWarp &w, unsigned at, int row, PetscScalar p[4])
{
  const unsigned from = at + (row & (HJ2D_COARSE_ROWS - 1)) * HJ2D_COARSE_BYTES + 2 * HJ_BYTES * w.lane;
  const bool     odd  = w.x0 & 1;
  PetscScalar    c[3];

  asm volatile("ld.shared.v2." HJ_PTX " {%0, %1}, [%2];" : "=" HJ_PTX_REG(c[0]), "=" HJ_PTX_REG(c[1]) : "r"(from));
  asm volatile("ld.shared." HJ_PTX " %0, [%1];" : "=" HJ_PTX_REG(c[2]) : "r"(from + 2 * HJ_BYTES));
  const PetscScalar m[2] = {HJ_HALF * (c[0] + c[1]), HJ_HALF * (c[1] + c[2])};

  p[0] = odd ? m[0] : c[0];
  p[1] = odd ? c[1] : m[0];
  p[2] = odd ? m[1] : c[1];
  p[3] = odd ? c[2] : m[1];
}

/* Adds the correction to the lane's points of a row; z: whether that lies between two coarse rows */
template <int z> __device__ __forceinline__ void HJ2DCorrect(const HJ2DArgs &g, const HJ2DWarp &w, unsigned at, int row, PetscScalar n[4])
{
  const PetscScalar half = HJ_HALF * HJ2DRowScale(g, row);
  PetscScalar       p[4], q[4];

  HJ2DAlong(w, at, row >> 1, p);
  if (z) HJ2DAlong(w, at, (row >> 1) + 1, q);
  #pragma unroll
  for (int v = 0; v < 4; v++) p[v] = z ? half * (p[v] + q[v]) : p[v];
  HJ2DScaleColumns(g, w, p);
  #pragma unroll
  for (int v = 0; v < 4; v++) n[v] += p[v];
}

/* One row of the residual, between two coarse rows where odd: that ends what the coarse row below it gathers. A lane has two coarse
   points, in its columns 0 and 2, or, in strips that begin at an odd one, 1 and 3; gathered: what they have so far */
template <bool odd>
__device__ __forceinline__ void HJ2DGather(const HJ2DArgs &g, const HJ2DWarp &w, int row, PetscScalar r[4], PetscScalar gathered[2])
{
  HJ2DScaleColumns(g, w, r);
  const bool        shifted = w.x0 & 1;
  const int         from    = shifted ? w.lane + 1 : w.lane - 1;
  const PetscScalar there = __shfl_sync(0xffffffffu, shifted ? r[0] : r[3], from & 31), beside = from & 32 ? HJ_ZERO : there;
  const PetscScalar h[2] = {shifted ? fma(HJ_HALF, r[0] + r[2], r[1]) : fma(HJ_HALF, beside + r[1], r[0]),
                            shifted ? fma(HJ_HALF, r[2] + beside, r[3]) : fma(HJ_HALF, r[1] + r[3], r[2])};
  const PetscScalar half = HJ_HALF * HJ2DRowScale(g, row);

  if (odd && row > w.y0 && row <= w.y1) {
    PetscScalar *y = g.restricted + (long long)(row >> 1) * g.coarse_n[0] + ((w.x0 + shifted) >> 1) + 2 * w.lane;

  #pragma unroll
    for (int k = 0; k < 2; k++) {
      const bool owned = (unsigned)(4 * w.lane + shifted + 2 * k - w.c0) < (unsigned)(w.c1 - w.c0);

      if (owned) y[k] = fma(half, h[k], gathered[k]);
    }
  }
  #pragma unroll
  for (int k = 0; k < 2; k++) gathered[k] = odd ? half * h[k] : gathered[k] + h[k];
}

#endif

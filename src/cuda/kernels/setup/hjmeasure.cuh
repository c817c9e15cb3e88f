/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Couplings of a grid's points by direction, shared by the kernels that read the rows: a thread adds up its points, a block its threads,
   the host the blocks, always in the same order.
*/
#pragma once

#include "core/hjmeasure.h"
#include <cuda_runtime_api.h>

/* Of a thread */
typedef struct {
  HJMeasureSums sums;
  double        hold[2][3]; /* as HJMeasureFirst's */
  PetscReal     largest, alone, coupled;
} HJMeasureOwn;

/* Numbers of points that a block counts in shared memory, as HJMeasureRatios has them, then as HJMeasureFirst has them */
typedef struct {
  unsigned points, weaker[3][HJ_RATIO_STEPS], alone[3];
  unsigned ends[2][3], coupled[2][3];
} HJMeasureCounts;

/* Of a block */
typedef struct {
  HJMeasureOwn    own;
  HJMeasureCounts counts;
} HJMeasurePart;

/* All threads of a block, before they add */
static __device__ __forceinline__ void HJMeasureBegin(int thread, HJMeasureCounts *counts)
{
  for (int c = thread; c < (int)(sizeof(*counts) / sizeof(unsigned)); c += HJ_MEASURE_THREADS) ((unsigned *)counts)[c] = 0;
  __syncthreads();
}

/* What HJMeasureFirst has of a row at some end */
static __device__ __forceinline__ void HJMeasureFirstPoint(HJMeasureOwn *mine, HJMeasureCounts *counts, const HJMeasureRow *row, int dim,
                                                           unsigned ends)
{
#pragma unroll
  for (int d = 0; d < 3; d++) {
    const unsigned at   = ends >> (2 * d) & 3u;
    const int      more = (ends & ~(3u << (2 * d))) != 0;

    if (d >= dim || !at) continue;
    for (int side = 0; side < 2 && row->others > 0.0; side++)
      if (at >> side & 1) atomicAdd(&counts->coupled[side][d], 1u);
    if (!(at & 1)) continue;
    const double hold = HJMeasureHold(row->partial[d][2], row->partial[d][1]);

    atomicAdd(&counts->ends[more][d], 1u);
#pragma unroll
    for (int m = 0; m < 2; m++) mine->hold[m][d] += m == more ? hold : 0.0; /* so that sums are in registers */
  }
}

/* Adds a point's row. Threads that are here together count together */
static __device__ __forceinline__ void HJMeasurePoint(HJMeasureOwn *mine, HJMeasureCounts *counts, const HJMeasureRow *row, int dim,
                                                      unsigned ends)
{
  HJMeasureAdd(&mine->sums, row, dim, ends);
  if (ends) HJMeasureFirstPoint(mine, counts, row, dim, ends);
  mine->largest = fmax(mine->largest, HJMeasureOthers(fabs(row->diagonal), row->others));
  HJMeasureSizes(row->diagonal, (PetscBool)(row->others > 0.0), &mine->alone, &mine->coupled);
  if (!(row->others > 0.0)) return;
  const HJMeasureClass c = HJMeasureClassifyRow(dim, row);

  atomicAdd(&counts->points, 1u);
#pragma unroll
  for (int d = 0; d < 3; d++)
    if (d < dim && c.step[d] >= 0) atomicAdd(&counts->weaker[d][c.step[d]], 1u);
  if (c.alone >= 0) atomicAdd(&counts->alone[c.alone], 1u);
}

template <bool MAX> __device__ __forceinline__ double HJMeasureBoth(double v, double w)
{
  return MAX ? fmax(v, w) : v + w;
}

/* The sum or the largest of all threads, in thread 0 */
template <bool MAX> __device__ double HJMeasureBlock(int thread, double v)
{
  __shared__ double s_warp[HJ_MEASURE_THREADS / 32];

  for (int step = 16; step; step /= 2) v = HJMeasureBoth<MAX>(v, __shfl_down_sync(0xffffffffu, v, step));
  __syncthreads();
  if (thread % 32 == 0) s_warp[thread / 32] = v;
  __syncthreads();
  if (thread == 0)
    for (int w = 1; w < HJ_MEASURE_THREADS / 32; w++) v = HJMeasureBoth<MAX>(v, s_warp[w]);
  return v;
}

/* The parts of all threads of a block, to where thread 0 puts it */
static __device__ __forceinline__ void HJMeasurePut(int thread, const HJMeasureOwn *mine, const HJMeasureCounts *counts, HJMeasurePart *to)
{
  const double *each    = (const double *)&mine->sums;
  const double  largest = HJMeasureBlock<true>(thread, mine->largest), alone = HJMeasureBlock<true>(thread, mine->alone),
               coupled = HJMeasureBlock<true>(thread, mine->coupled);

#pragma unroll
  for (int s = 0; s < HJ_MEASURE_SUMS; s++) {
    const double sum = HJMeasureBlock<false>(thread, each[s]);

    if (thread == 0) ((double *)&to->own.sums)[s] = sum;
  }
#pragma unroll
  for (int s = 0; s < 6; s++) {
    const double sum = HJMeasureBlock<false>(thread, mine->hold[s / 3][s % 3]);

    if (thread == 0) to->own.hold[s / 3][s % 3] = sum;
  }
  if (thread) return;
  to->own.largest = largest;
  to->own.alone   = alone;
  to->own.coupled = coupled;
  to->counts      = *counts;
}

/* What the blocks found */
static inline void HJMeasureSum(int blocks, const HJMeasurePart partial[], HJMeasure *m)
{
  m->sums    = HJMeasureSums();
  m->ratios  = HJMeasureRatios();
  m->first   = HJMeasureFirst();
  m->largest = m->alone = m->coupled = 0.0;
  for (int b = 0; b < blocks; b++) {
    const HJMeasureOwn *own    = &partial[b].own;
    const unsigned     *counts = (const unsigned *)&partial[b].counts;

    for (PetscInt s = 0; s < HJ_MEASURE_SUMS; s++) ((PetscReal *)&m->sums)[s] += ((const PetscReal *)&own->sums)[s];
    for (PetscInt r = 0; r < HJ_MEASURE_RATIOS; r++) ((PetscReal *)&m->ratios)[r] += counts[r];
    for (int s = 0; s < 6; s++) {
      m->first.hold[s / 3][s % 3] += own->hold[s / 3][s % 3];
      m->first.ends[s / 3][s % 3] += partial[b].counts.ends[s / 3][s % 3];
      m->first.coupled[s / 3][s % 3] += partial[b].counts.coupled[s / 3][s % 3];
    }
    m->largest = PetscMax(m->largest, own->largest);
    m->alone   = PetscMax(m->alone, own->alone);
    m->coupled = PetscMax(m->coupled, own->coupled);
  }
}

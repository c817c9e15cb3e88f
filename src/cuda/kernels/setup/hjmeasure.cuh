/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Couplings of a grid's points by direction, shared by the kernels that read the rows: a thread adds up its points, a block its threads,
   the host the blocks, always in the same order.
*/
#pragma once

#include "core/hjmeasure.h"
#include <cuda_runtime_api.h>

typedef struct {
  HJMeasureSums sums;
  double        largest, alone, coupled;
} HJMeasurePart;

/* Adds a point's row */
static __device__ __forceinline__ void HJMeasurePoint(HJMeasurePart *mine, const HJMeasureRow *row, int dim, unsigned ends)
{
  HJMeasureAdd(&mine->sums, row, dim, ends);
  mine->largest = fmax(mine->largest, HJMeasureOthers(fabs(row->diagonal), row->others));
  HJMeasureSizes(row->diagonal, (PetscBool)(row->others > 0.0), &mine->alone, &mine->coupled);
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
static __device__ __forceinline__ void HJMeasurePut(int thread, const HJMeasurePart *mine, HJMeasurePart *to)
{
  const double *each    = (const double *)&mine->sums;
  const double  largest = HJMeasureBlock<true>(thread, mine->largest), alone = HJMeasureBlock<true>(thread, mine->alone),
               coupled = HJMeasureBlock<true>(thread, mine->coupled);

#pragma unroll
  for (int s = 0; s < HJ_MEASURE_SUMS; s++) {
    const double sum = HJMeasureBlock<false>(thread, each[s]);

    if (thread == 0) ((double *)&to->sums)[s] = sum;
  }
  if (thread) return;
  to->largest = largest;
  to->alone   = alone;
  to->coupled = coupled;
}

/* What the blocks found */
static inline void HJMeasureSum(int blocks, const HJMeasurePart partial[], HJMeasure *m)
{
  m->sums    = HJMeasureSums();
  m->largest = m->alone = m->coupled = 0.0;
  for (int b = 0; b < blocks; b++) {
    for (PetscInt s = 0; s < HJ_MEASURE_SUMS; s++) ((PetscReal *)&m->sums)[s] += ((const PetscReal *)&partial[b].sums)[s];
    m->largest = PetscMax(m->largest, partial[b].largest);
    m->alone   = PetscMax(m->alone, partial[b].alone);
    m->coupled = PetscMax(m->coupled, partial[b].coupled);
  }
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Couplings of a grid's points by direction: a thread adds up its points, a block its threads, the host the blocks, always in the same
   order. Bound by reading the coefficients once.
*/
#include "cuda/kernels/hjkernel.h"
#include "hjmeasure.cuh"
#include "hjmeasure_cuda.h"
#include "cuda/device/hjscratch.h"

typedef struct {
  HJEntries      e;
  int            n[3], lo[3], hi[3]; /* owned points; the domain */
  long long      npoints;
  HJMeasurePart *partial; /* [blocks] */
} HJMeasureArgs;

template <int DIM, bool BOX> __device__ __forceinline__ HJMeasureRow HJMeasureGetRow(const HJMeasureArgs &p, long long at, unsigned ends)
{
  constexpr int      NSLOTS = BOX ? (DIM == 3 ? 27 : DIM == 2 ? 9 : 3) : 2 * DIM + 1;
  const PetscScalar *row    = p.e.storage == HJ_COEFFICIENTS_DICTIONARY ? p.e.rows + (int)p.e.index[at] * NSLOTS : p.e.row;
  HJMeasureRow       r      = {};

#pragma unroll
  for (int s = 0; s < NSLOTS; s++) {
    const int      o      = s - 1;
    const PetscInt off[3] = {s ? HJDOffset(DIM, BOX, o, 0) : 0, s && DIM > 1 ? HJDOffset(DIM, BOX, o, 1) : 0,
                             s && DIM > 2 ? HJDOffset(DIM, BOX, o, 2) : 0};

    if (HJMeasureInside(ends, off))
      HJMeasureRowAdd(&r, s, off, p.e.storage == HJ_COEFFICIENTS_ARRAYS ? __ldg(p.e.value + p.e.begin[s] + at) : row[s]);
  }
  return r;
}

template <int DIM, bool BOX> __global__ void __launch_bounds__(HJ_MEASURE_THREADS) HJMeasure_Kernel(const __grid_constant__ HJMeasureArgs p)
{
  __shared__ HJMeasureCounts s_counts;
  HJMeasureOwn               mine  = {};
  const PetscInt             lo[3] = {p.lo[0], p.lo[1], p.lo[2]}, hi[3] = {p.hi[0], p.hi[1], p.hi[2]};

  HJMeasureBegin((int)threadIdx.x, &s_counts);
  for (long long at = blockIdx.x * (long long)HJ_MEASURE_THREADS + threadIdx.x; at < p.npoints;
       at += (long long)gridDim.x * HJ_MEASURE_THREADS) {
    const PetscInt     point[3] = {(PetscInt)(at % p.n[0]), (PetscInt)(at / p.n[0] % p.n[1]), (PetscInt)(at / p.n[0] / p.n[1])};
    const unsigned     ends     = HJMeasureEnds(DIM, lo, hi, point);
    const HJMeasureRow row      = HJMeasureGetRow<DIM, BOX>(p, at, ends);

    HJMeasurePoint(&mine, &s_counts, &row, DIM, ends);
  }
  HJMeasurePut((int)threadIdx.x, &mine, &s_counts, &p.partial[blockIdx.x]);
}

static HJMeasureArgs HJMeasureArgsOf(const HJMeasure *m)
{
  const HJCoefficients *a = m->a;
  HJMeasureArgs         p = {};

  for (int d = 0; d < 3; d++) {
    p.n[d]  = (int)m->grid->owned.hi[d];
    p.lo[d] = (int)m->grid->domain.lo[d];
    p.hi[d] = (int)m->grid->domain.hi[d];
  }
  p.e       = HJEntriesOf(a);
  p.npoints = a->npoints;
  return p;
}

/* Waits for the device: the sums are on the host when this returns */
PetscErrorCode HJMeasure_CUDA(HJMeasure *m)
{
  const HJCoefficients *a      = m->a;
  HJMeasureArgs         p      = HJMeasureArgsOf(m);
  const int             blocks = (int)PetscMin((p.npoints + HJ_MEASURE_THREADS - 1) / HJ_MEASURE_THREADS, HJ_MEASURE_BLOCKS);
  HJMeasurePart         partial[HJ_MEASURE_BLOCKS];
  cudaStream_t          stream;

  PetscFunctionBegin;
  HJMeasureSum(0, partial, m);
  if (!blocks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  PetscCall(HJScratchAlloc(stream, blocks * sizeof(*partial), (void **)&p.partial));
  if (a->dim == 1) HJMeasure_Kernel<1, false><<<blocks, HJ_MEASURE_THREADS, 0, stream>>>(p);
  else if (a->dim == 2 && a->shape == HJ_STAR) HJMeasure_Kernel<2, false><<<blocks, HJ_MEASURE_THREADS, 0, stream>>>(p);
  else if (a->dim == 2) HJMeasure_Kernel<2, true><<<blocks, HJ_MEASURE_THREADS, 0, stream>>>(p);
  else if (a->shape == HJ_STAR) HJMeasure_Kernel<3, false><<<blocks, HJ_MEASURE_THREADS, 0, stream>>>(p);
  else HJMeasure_Kernel<3, true><<<blocks, HJ_MEASURE_THREADS, 0, stream>>>(p);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(partial, p.partial, blocks * sizeof(*partial), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(HJScratchFree(stream, p.partial));
  HJMeasureSum(blocks, partial, m);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Couplings of a grid's points by direction: a thread adds up its points, a block its threads, the host the blocks, always in the same
   order. Bound by reading the coefficients once.
*/
#include "hjkernel.h"
#include "hjmeasure_cuda.h"
#include "hjscratch.h"

#define HJ_MEASURE_THREADS 256
#define HJ_MEASURE_BLOCKS  512

typedef struct {
  HJMeasureSums sums;
  double        largest, alone, coupled;
} HJMeasurePart;

typedef struct {
  int                  n[3], lo[3], hi[3]; /* owned points; the domain */
  long long            npoints;
  int                  storage;
  const double        *value, *rows;
  const unsigned char *index;
  HJMeasurePart       *part; /* [blocks] */
  double               row[HJ_MAX_SLOTS];
} HJMeasureArgs;

template <int DIM, bool BOX> __device__ __forceinline__ HJMeasureRow HJMeasureGetRow(const HJMeasureArgs &p, long long at, unsigned ends)
{
  constexpr int NSLOTS = BOX ? (DIM == 3 ? 27 : DIM == 2 ? 9 : 3) : 2 * DIM + 1;
  const double *row    = p.storage == HJ_COEFFICIENTS_DICTIONARY ? p.rows + (int)p.index[at] * NSLOTS : p.row;
  HJMeasureRow  r      = {};

#pragma unroll
  for (int s = 0; s < NSLOTS; s++) {
    const int      o      = s - 1;
    const PetscInt off[3] = {s ? HJDOffset(DIM, BOX, o, 0) : 0, s && DIM > 1 ? HJDOffset(DIM, BOX, o, 1) : 0,
                             s && DIM > 2 ? HJDOffset(DIM, BOX, o, 2) : 0};

    if (HJMeasureInside(ends, off))
      HJMeasureRowAdd(&r, s, off, p.storage == HJ_COEFFICIENTS_ARRAYS ? __ldg(p.value + s * p.npoints + at) : row[s]);
  }
  return r;
}

template <bool MAX> __device__ __forceinline__ double HJMeasureBoth(double v, double w)
{
  return MAX ? fmax(v, w) : v + w;
}

/* The sum or the largest of all threads, in thread 0 */
template <bool MAX> __device__ double HJMeasureBlock(double v)
{
  __shared__ double s_warp[HJ_MEASURE_THREADS / 32];

  for (int step = 16; step; step /= 2) v = HJMeasureBoth<MAX>(v, __shfl_down_sync(0xffffffffu, v, step));
  __syncthreads();
  if (threadIdx.x % 32 == 0) s_warp[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int w = 1; w < HJ_MEASURE_THREADS / 32; w++) v = HJMeasureBoth<MAX>(v, s_warp[w]);
  return v;
}

template <int DIM, bool BOX> __global__ void __launch_bounds__(HJ_MEASURE_THREADS) HJMeasure_Kernel(const __grid_constant__ HJMeasureArgs p)
{
  HJMeasureSums  sums    = {};
  double         largest = 0.0, alone = 0.0, coupled = 0.0;
  const double  *each  = (const double *)&sums;
  const PetscInt lo[3] = {p.lo[0], p.lo[1], p.lo[2]}, hi[3] = {p.hi[0], p.hi[1], p.hi[2]};

  for (long long at = blockIdx.x * (long long)HJ_MEASURE_THREADS + threadIdx.x; at < p.npoints;
       at += (long long)gridDim.x * HJ_MEASURE_THREADS) {
    const PetscInt     point[3] = {(PetscInt)(at % p.n[0]), (PetscInt)(at / p.n[0] % p.n[1]), (PetscInt)(at / p.n[0] / p.n[1])};
    const unsigned     ends     = HJMeasureEnds(DIM, lo, hi, point);
    const HJMeasureRow row      = HJMeasureGetRow<DIM, BOX>(p, at, ends);

    HJMeasureAdd(&sums, &row, DIM, ends);
    largest = fmax(largest, HJMeasureOthers(&row));
    HJMeasureSizes(row.diagonal, (PetscBool)(row.others > 0.0), &alone, &coupled);
  }
#pragma unroll
  for (int s = 0; s < HJ_MEASURE_SUMS; s++) {
    const double sum = HJMeasureBlock<false>(each[s]);

    if (threadIdx.x == 0) ((double *)&p.part[blockIdx.x].sums)[s] = sum;
  }
  largest = HJMeasureBlock<true>(largest);
  alone   = HJMeasureBlock<true>(alone);
  coupled = HJMeasureBlock<true>(coupled);
  if (threadIdx.x) return;
  p.part[blockIdx.x].largest = largest;
  p.part[blockIdx.x].alone   = alone;
  p.part[blockIdx.x].coupled = coupled;
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
  p.npoints = a->npoints;
  p.storage = a->storage;
  p.value   = a->value;
  p.rows    = a->device_rows;
  p.index   = a->index;
  for (PetscInt s = 0; s < a->nslots && a->storage == HJ_COEFFICIENTS_ROW; s++) p.row[s] = a->rows[s];
  return p;
}

/* Waits for the device: the sums are on the host when this returns */
PetscErrorCode HJMeasure_CUDA(HJMeasure *m)
{
  const HJCoefficients *a      = m->a;
  HJMeasureArgs         p      = HJMeasureArgsOf(m);
  const int             blocks = (int)PetscMin((p.npoints + HJ_MEASURE_THREADS - 1) / HJ_MEASURE_THREADS, HJ_MEASURE_BLOCKS);
  HJMeasurePart         part[HJ_MEASURE_BLOCKS];
  cudaStream_t          stream;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&m->sums, sizeof(m->sums)));
  m->largest = m->alone = m->coupled = 0.0;
  if (!blocks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  PetscCall(HJScratchAlloc(stream, blocks * sizeof(*part), (void **)&p.part));
  if (a->dim == 1) HJMeasure_Kernel<1, false><<<blocks, HJ_MEASURE_THREADS, 0, stream>>>(p);
  else if (a->dim == 2 && a->shape == HJ_STAR) HJMeasure_Kernel<2, false><<<blocks, HJ_MEASURE_THREADS, 0, stream>>>(p);
  else if (a->dim == 2) HJMeasure_Kernel<2, true><<<blocks, HJ_MEASURE_THREADS, 0, stream>>>(p);
  else if (a->shape == HJ_STAR) HJMeasure_Kernel<3, false><<<blocks, HJ_MEASURE_THREADS, 0, stream>>>(p);
  else HJMeasure_Kernel<3, true><<<blocks, HJ_MEASURE_THREADS, 0, stream>>>(p);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(part, p.part, blocks * sizeof(*part), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(HJScratchFree(stream, p.part));
  for (int b = 0; b < blocks; b++) {
    for (PetscInt s = 0; s < HJ_MEASURE_SUMS; s++) ((PetscReal *)&m->sums)[s] += ((const PetscReal *)&part[b].sums)[s];
    m->largest = PetscMax(m->largest, part[b].largest);
    m->alone   = PetscMax(m->alone, part[b].alone);
    m->coupled = PetscMax(m->coupled, part[b].coupled);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Many stale cycles in one launch, where tiles are lines that are coupled along themselves alone: a block holds a whole line of the grid,
   all its tiles, in registers, a lane 8 adjacent points. After each cycle tiles give each other the points at their ends in shared memory;
   x is read once and written once. Takes what hjtileline.cu takes, where all tiles have the main row and the line fits into a block.
*/
#include "hjtile.cuh"

typedef struct {
  HJDSweep      s;
  HJTileLayout  lay;
  int           lanes, count, cycles;
  bool          pairs_x, pairs_b, pairs_y; /* HJTilePairs() */
  double        dinv, row[3];
  double        w[HJD_MAX_COUNT];
  const double *d_w; /* weights in device memory, if not NULL */
} HJTileLinesArgs;

/* What a lane does with its points, bit v for point v */
#define HJ_LS_GIVE   0  /* others need it */
#define HJ_LS_TAKE   8  /* another tile owns it, or it is the ring that begins within this lane */
#define HJ_LS_INSIDE 16 /* it is the tile's */
#define HJ_LS_LEFT   24 /* one bit: the tile begins with this lane */
#define HJ_LS_RIGHT  25 /* one bit: it ends with this lane */

__device__ __forceinline__ bool HJTileLinesBit(unsigned bits, int which)
{
  return bits >> which & 1;
}

__device__ __forceinline__ unsigned HJTileLinesBits(const HJTileLinesArgs &p, const HJDBox &t, const HJDBox &own, int i0)
{
  const int overlap = HJTileOverlap(p.lay.tile[0], p.lay.overlap), lo = t.lo[0], hi = t.hi[0];
  unsigned  bits = (unsigned)(i0 == lo) << HJ_LS_LEFT | (unsigned)(i0 + HJ_LS_POINTS == hi) << HJ_LS_RIGHT;

#pragma unroll
  for (int v = 0; v < HJ_LS_POINTS; v++) {
    const int  i     = i0 + v;
    const bool owned = i >= own.lo[0] && i < own.hi[0];

    bits |= (unsigned)(owned && (i <= lo + overlap || i >= hi - 1 - overlap)) << (HJ_LS_GIVE + v);
    bits |= (unsigned)(!owned && i <= hi) << (HJ_LS_TAKE + v);
    bits |= (unsigned)(i < hi) << (HJ_LS_INSIDE + v);
  }
  return bits;
}

/* FULL: all points of a lane are the tile's, or none is */
template <bool MEAN, bool FULL>
__device__ __forceinline__ void HJTileLinesSweep(const HJTileLinesArgs &p, unsigned bits, const double ring[2], double x[HJ_LS_POINTS],
                                                 const double b[HJ_LS_POINTS])
{
  const bool   here = HJTileLinesBit(bits, HJ_LS_INSIDE);
  const double mean = here ? -p.w[0] * p.row[1] : 0.0;

#pragma unroll 1
  for (int n = 0; n < p.count; n++) {
    const double w    = MEAN ? 0.0 : here ? (p.d_w ? p.d_w[n] : p.w[n]) : 0.0;
    double       left = __shfl_up_sync(~0u, x[HJ_LS_POINTS - 1], 1, p.lanes), right = __shfl_down_sync(~0u, x[0], 1, p.lanes);

    if (HJTileLinesBit(bits, HJ_LS_LEFT)) left = ring[0];
    if (HJTileLinesBit(bits, HJ_LS_RIGHT)) right = ring[1];
#pragma unroll
    for (int v = 0; v < HJ_LS_POINTS; v++) {
      const double t = x[v], next = v + 1 < HJ_LS_POINTS ? x[v + 1] : right;
      double       y;

      if (MEAN) y = fma(mean, left + next, b[v]);
      else y = fma(w, fma(-p.row[2], next, fma(-p.row[1], left, fma(-p.row[0], t, b[v]))), t);
      x[v] = FULL || HJTileLinesBit(bits, HJ_LS_INSIDE + v) ? y : t;
      left = t;
    }
  }
}

/* Points that others need go to shared memory, where the line begins and ends with a 0; those that others own, and the ring, come back */
__device__ __forceinline__ void HJTileLinesExchange(double *s_at, unsigned bits, double ring[2], double x[HJ_LS_POINTS])
{
#pragma unroll
  for (int v = 0; v < HJ_LS_POINTS; v++)
    if (HJTileLinesBit(bits, HJ_LS_GIVE + v)) s_at[v] = x[v];
  __syncthreads();
#pragma unroll
  for (int v = 0; v < HJ_LS_POINTS; v++)
    if (HJTileLinesBit(bits, HJ_LS_TAKE + v)) x[v] = s_at[v];
  if (HJTileLinesBit(bits, HJ_LS_LEFT)) ring[0] = s_at[-1];
  if (HJTileLinesBit(bits, HJ_LS_RIGHT)) ring[1] = s_at[HJ_LS_POINTS];
}

template <bool MEAN, bool FULL, int THREADS>
__global__ void __launch_bounds__(THREADS, THREADS == HJ_LS_FEW ? 5 : 1) HJTileLines_Kernel(const __grid_constant__ HJTileLinesArgs p)
{
  extern __shared__ double s_both[];
  const int                number = (int)threadIdx.x / p.lanes, stride = HJDWidth(p.s.write, 0) + 2;
  HJDBox                   t, own;
  double                   x[HJ_LS_POINTS], b[HJ_LS_POINTS], ring[2] = {0.0, 0.0};

  HJTileRange_CUDA<2>(p.lay, p.s.write, min(number, p.lay.ntiles[0] - 1) + p.lay.ntiles[0] * (int)blockIdx.x, t, own);
  const int      i0 = number < p.lay.ntiles[0] ? t.lo[0] + (int)threadIdx.x % p.lanes * HJ_LS_POINTS : t.hi[0] + 1; /* beyond: no points */
  const unsigned bits = HJTileLinesBits(p, t, own, i0);
  double *const  s_at = s_both + i0 - p.s.write.lo[0] + 1;

  HJDAwaitInput();
  HJDLetNextStart();
  HJTileGet<HJ_LS_POINTS>(p.s.b + HJDIndex(p.s.box, i0, t.lo[1], t.lo[2]), p.pairs_b, i0, t.hi[0], b);
  HJTileGet<HJ_LS_POINTS>(p.s.x + HJDIndex(p.s.box, i0, t.lo[1], t.lo[2]), p.pairs_x, i0, p.s.x ? t.hi[0] : t.lo[0], x);
#pragma unroll
  for (int v = 0; v < HJ_LS_POINTS; v++) b[v] *= MEAN ? p.w[0] * p.dinv : p.dinv;
  if (threadIdx.x < 4) s_both[threadIdx.x / 2 * stride + threadIdx.x % 2 * (stride - 1)] = 0.0;
  for (int c = 0; c < p.cycles; c++) {
    HJTileLinesExchange(s_at + (c & 1) * stride, bits, ring, x);
    HJTileLinesSweep<MEAN, FULL>(p, bits, ring, x, b);
  }
  HJTilePut<HJ_LS_POINTS>(p.s.y + HJDIndex(p.s.ybox, i0, t.lo[1], t.lo[2]), p.pairs_y, i0, own.lo[0], own.hi[0], x);
}

template <bool MEAN, bool FULL>
static PetscErrorCode HJTileLinesLaunch(const HJ_CUDA *cuda, HJTileLinesArgs *p, int lines, int threads, cudaStream_t stream)
{
  const size_t   bytes  = 2 * sizeof(double) * ((size_t)HJDWidth(p->s.write, 0) + 2);
  const HJLaunch how    = {dim3(lines), dim3(threads), bytes, stream, 0, cuda->device.cc >= 90};
  void          *args[] = {(void *)p};

  PetscFunctionBegin;
  if (threads <= HJ_LS_FEW) PetscCallCUDA(HJLaunchKernel(&how, (const void *)HJTileLines_Kernel<MEAN, FULL, HJ_LS_FEW>, args));
  else PetscCallCUDA(HJLaunchKernel(&how, (const void *)HJTileLines_Kernel<MEAN, FULL, HJ_LS_MANY>, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTileLinesRun(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *lists, double *, PetscCount cycles,
                              PetscBool *done)
{
  const HJTileLists *l     = (const HJTileLists *)lists;
  const HJDSweep    *s     = pass->sweep;
  const int          count = pass->count;
  const double      *w     = pass->w;
  const HJDStencil  *st    = &cuda->st;
  const double      *row   = st->h_rows + (1 + st->nneighbors) * cuda->main_row;
  const bool         mean  = HJTileIsMean(row, 1, 2, count, w);
  const int          lines = st->dim == 1 ? 1 : l->lay.ntiles[1], width = HJDWidth(s->write, 0),
            step  = l->lay.tile[0] - HJTileOverlap(l->lay.tile[0], l->lay.overlap);
  const bool full = (l->lay.ntiles[0] == 1 || l->lay.tile[0] % HJ_LS_POINTS == 0) &&
                    (width - (l->lay.ntiles[0] - 1) * step) % HJ_LS_POINTS == 0;
  HJTileLinesArgs p;

  PetscFunctionBegin;
  *done   = PETSC_FALSE;
  p.lanes = HJ_LS_LEAST;
  while (p.lanes * HJ_LS_POINTS < l->lay.tile[0]) p.lanes *= 2;
  const long long threads = (p.lanes * (long long)l->lay.ntiles[0] + 31) / 32 * 32;
  if (l->n[1] || threads > HJ_LS_MANY || (st->dim == 2 && (row[3] != 0.0 || row[4] != 0.0))) PetscFunctionReturn(PETSC_SUCCESS);
  if (2 * sizeof(double) * ((size_t)width + 2) > cuda->device.smem_block) PetscFunctionReturn(PETSC_SUCCESS);
  p.s       = *s;
  p.lay     = l->lay;
  p.count   = count;
  p.dinv    = st->h_dinv_rows[cuda->main_row];
  p.pairs_b = HJTilePairs(&l->lay, st->dim, &s->box, s->b);
  p.pairs_y = HJTilePairs(&l->lay, st->dim, &s->ybox, s->y);
  for (int o = 0; o < 3; o++) p.row[o] = row[o];
  for (int j = 0; j < PetscMin(count, HJD_MAX_COUNT); j++) p.w[j] = w[j];
  PetscCall(HJWeights_CUDA(cuda, stream, count, w, &p.d_w));
  for (; cycles > 0; cycles -= p.cycles, p.s.x = p.s.y) {
    p.cycles  = (int)PetscMin(cycles, HJ_LS_CYCLES);
    p.pairs_x = HJTilePairs(&l->lay, st->dim, &s->box, p.s.x);
    if (mean && full) PetscCall(HJTileLinesLaunch<true, true>(cuda, &p, lines, (int)threads, stream));
    else if (mean) PetscCall(HJTileLinesLaunch<true, false>(cuda, &p, lines, (int)threads, stream));
    else if (full) PetscCall(HJTileLinesLaunch<false, true>(cuda, &p, lines, (int)threads, stream));
    else PetscCall(HJTileLinesLaunch<false, false>(cuda, &p, lines, (int)threads, stream));
  }
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

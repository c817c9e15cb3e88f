/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Stale tiles that are one line, of a 1D grid or of a 2D grid cut into tiles one point thin (a star with constant coefficients): a part of
   a warp holds a tile in registers, a lane 8 adjacent points; what crosses lanes goes by shuffle. What the ring holds does not change in a
   cycle and is added to the right-hand side once. Tiles that touch other rows are left to hjtile.cu.
*/
#include "cuda/kernels/hjfamilies.h"
#include "hjtile.cuh"

typedef struct {
  HJDSweep           s;
  HJTileLayout       lay;
  const int         *list; /* numbers of the tiles to do; NULL: all */
  int                ntiles, lanes, count;
  bool               pairs_x, pairs_b, pairs_y; /* HJTilePairs() */
  PetscScalar        dinv, row[5];
  PetscScalar        w[HJD_MAX_COUNT];
  const PetscScalar *d_w; /* weights in device memory, if not NULL */
} HJTileLineArgs;

/* Box of tile number q of the launch and its owned points. Without a list the tiles of a column come one after another: only the last
   column's are narrower, and these then share their warps */
template <int DIM> __device__ __forceinline__ void HJTileLineRange(const HJTileLineArgs &p, int q, HJDBox &t, HJDBox &own)
{
  const int columns = p.lay.ntiles[0], lines = DIM == 1 ? 1 : p.lay.ntiles[1];

  HJTileRange_CUDA<DIM>(p.lay, p.s.write, p.list ? p.list[q] : q / lines + q % lines * columns, t, own);
}

/* x at a point of the ring */
__device__ __forceinline__ PetscScalar HJTileLineRing(const HJDSweep &s, int i, int j, int k)
{
  return s.x && HJDInside(s.domain, i, j, k) ? s.x[HJDIndex(s.box, i, j, k)] : 0.0;
}

/* The right-hand side of a lane's points: times the inverse diagonal, less what the ring adds to each subiteration. The lines above and
   below are ring, too, but where no coefficient leads there */
template <int DIM>
__device__ __forceinline__ void HJTileLineStart(const HJTileLineArgs &p, const HJDBox &t, int i0, PetscScalar b[HJ_TL_POINTS])
{
  const int j = t.lo[1], k = t.lo[2];

#pragma unroll
  for (int v = 0; v < HJ_TL_POINTS; v++) b[v] *= p.dinv;
  if (i0 == t.lo[0]) b[0] = fma(-p.row[1], HJTileLineRing(p.s, i0 - 1, j, k), b[0]);
#pragma unroll
  for (int v = 0; v < HJ_TL_POINTS; v++)
    if (i0 + v + 1 == t.hi[0]) b[v] = fma(-p.row[2], HJTileLineRing(p.s, t.hi[0], j, k), b[v]);
  if (DIM == 2 && (p.row[3] != 0.0 || p.row[4] != 0.0)) {
#pragma unroll
    for (int v = 0; v < HJ_TL_POINTS; v++) {
      if (i0 + v < t.hi[0])
        b[v] = fma(-p.row[3], HJTileLineRing(p.s, i0 + v, j - 1, k), fma(-p.row[4], HJTileLineRing(p.s, i0 + v, j + 1, k), b[v]));
    }
  }
}

/* All subiterations. FULL: a lane's points are all in the tile, or none is, and these keep 0 by a coefficient or a weight of 0; else bit v
   of active says which are. MEAN: HJTileIsMean() */
template <bool MEAN, bool FULL>
__device__ __forceinline__ void HJTileLineCycle(const HJTileLineArgs &p, int lane, unsigned active, PetscScalar x[HJ_TL_POINTS],
                                                const PetscScalar b[HJ_TL_POINTS])
{
  const int         lanes = p.lanes;
  const PetscScalar mean  = active ? -p.w[0] * p.row[1] : 0.0;

  for (int n = 0; n < p.count; n++) {
    const PetscScalar w    = MEAN ? 0.0 : active ? (p.d_w ? p.d_w[n] : p.w[n]) : 0.0;
    PetscScalar       left = __shfl_up_sync(~0u, x[HJ_TL_POINTS - 1], 1, lanes), right = __shfl_down_sync(~0u, x[0], 1, lanes);

    if (lane == 0) left = 0.0;
    if (lane == lanes - 1) right = 0.0;
#pragma unroll
    for (int v = 0; v < HJ_TL_POINTS; v++) {
      const PetscScalar t = x[v], next = v + 1 < HJ_TL_POINTS ? x[v + 1] : right;
      PetscScalar       y;

      if (MEAN) y = fma(mean, left + next, b[v]);
      else y = fma(w, fma(-p.row[2], next, fma(-p.row[1], left, fma(-p.row[0], t, b[v]))), t);
      x[v] = FULL || (active >> v & 1) ? y : t;
      left = t;
    }
  }
}

template <int DIM, bool MEAN>
__global__ void __launch_bounds__(HJ_TL_THREADS, 8) HJTileLine_Kernel(const __grid_constant__ HJTileLineArgs p)
{
  const int   lane = threadIdx.x % p.lanes, q = (blockIdx.x * HJ_TL_THREADS + threadIdx.x) / p.lanes;
  HJDBox      t, own;
  unsigned    active = 0;
  PetscScalar x[HJ_TL_POINTS], b[HJ_TL_POINTS];

  HJTileLineRange<DIM>(p, min(q, p.ntiles - 1), t, own);
  const int  i0 = t.lo[0] + lane * HJ_TL_POINTS, j = t.lo[1], k = t.lo[2];
  const bool full = __all_sync(~0u, HJDWidth(t, 0) % HJ_TL_POINTS == 0);

  HJDAwaitInput();
  HJDLetNextStart();
  HJTileGet<HJ_TL_POINTS>(p.s.b + HJDIndex(p.s.box, i0, j, k), p.pairs_b, i0, t.hi[0], b);
#pragma unroll
  for (int v = 0; v < HJ_TL_POINTS; v++) {
    x[v] = 0.0;
    active |= (unsigned)(i0 + v < t.hi[0]) << v;
  }
  if (p.s.x) HJTileGet<HJ_TL_POINTS>(p.s.x + HJDIndex(p.s.box, i0, j, k), p.pairs_x, i0, t.hi[0], x);
  HJTileLineStart<DIM>(p, t, i0, b);
  if (MEAN) {
#pragma unroll
    for (int v = 0; v < HJ_TL_POINTS; v++) b[v] *= p.w[0];
  }
  if (full) HJTileLineCycle<MEAN, true>(p, lane, active, x, b);
  else HJTileLineCycle<MEAN, false>(p, lane, active, x, b);
  if (q < p.ntiles) HJTilePut<HJ_TL_POINTS>(p.s.y + HJDIndex(p.s.ybox, i0, j, k), p.pairs_y, i0, own.lo[0], own.hi[0], x);
}

/* hjtile.cu must be able to do those that are not this file's */
static int HJTileLineTakes(const HJDevice *device, const HJAsk *ask)
{
  const HJDStencil *st   = ask->st;
  const int        *tile = ask->tile;
  HJTileLayout      lay;

  if (ask->kind != HJ_STALE) return 0;
  for (int d = 0; d < 3; d++) lay.tile[d] = ask->tile[d];
  return (st->dim == 1 || (st->dim == 2 && tile[1] == 1)) && st->shape == HJ_STAR && st->storage == HJ_DICTIONARY &&
         tile[0] <= 32 * HJ_TL_POINTS && HJTileLayoutFit(device, st, &lay);
}

template <typename K> static PetscErrorCode HJTileLineLaunchKernel(const HJ_CUDA *cuda, K kernel, HJTileLineArgs *p, cudaStream_t stream)
{
  const int      tiles  = HJ_TL_THREADS / p->lanes;
  const HJLaunch how    = {dim3((p->ntiles + tiles - 1) / tiles), dim3(HJ_TL_THREADS), 0, stream, 0, cuda->device.cc >= 90};
  void          *args[] = {(void *)p};

  PetscFunctionBegin;
  PetscCallCUDA(HJLaunchKernel(&how, (const void *)kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJTileLineRun(const HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *s, const HJTileLists *l, int count,
                                    const PetscScalar *w, const PetscScalar *d_w)
{
  const HJDStencil  *st  = &cuda->st;
  const PetscScalar *row = st->h_rows + (1 + st->nneighbors) * cuda->main_row;
  HJTileLineArgs     p;

  PetscFunctionBegin;
  p.s       = *s;
  p.lay     = l->lay;
  p.list    = l->n[1] ? l->d_list : NULL;
  p.ntiles  = l->n[0];
  p.count   = count;
  p.dinv    = st->h_dinv_rows[cuda->main_row];
  p.d_w     = d_w;
  p.pairs_x = HJTilePairs(&l->lay, st->dim, &s->box, s->x);
  p.pairs_b = HJTilePairs(&l->lay, st->dim, &s->box, s->b);
  p.pairs_y = HJTilePairs(&l->lay, st->dim, &s->ybox, s->y);
  for (p.lanes = HJ_TL_LEAST; p.lanes * HJ_TL_POINTS < l->lay.tile[0];) p.lanes *= 2;
  for (int o = 0; o < 5; o++) p.row[o] = o <= st->nneighbors ? row[o] : 0.0;
  for (int j = 0; j < PetscMin(count, HJD_MAX_COUNT); j++) p.w[j] = w[j];
  const bool mean = HJTileIsMean(row, 1, 2, count, w);
  if (st->dim == 1 && mean) PetscCall(HJTileLineLaunchKernel(cuda, HJTileLine_Kernel<1, true>, &p, stream));
  else if (st->dim == 1) PetscCall(HJTileLineLaunchKernel(cuda, HJTileLine_Kernel<1, false>, &p, stream));
  else if (mean) PetscCall(HJTileLineLaunchKernel(cuda, HJTileLine_Kernel<2, true>, &p, stream));
  else PetscCall(HJTileLineLaunchKernel(cuda, HJTileLine_Kernel<2, false>, &p, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJTileLineLaunch(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *layout)
{
  PetscFunctionBegin;
  PetscCall(HJTileListsLaunch(cuda, stream, pass, layout, HJTileLineRun));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJFamily HJFamilyTileLine = {
  .name           = "lines in registers",
  .takes          = HJTileLineTakes,
  .launch         = HJTileLineLaunch,
  .layout         = HJTileListsCreate,
  .layout_destroy = HJTileListsDestroy,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Stale 2D tiles, star with constant coefficients, up to 64 points in each direction: the whole tile in registers, see hjtile2d.cuh. Tiles
   that touch other rows are left to hjtile.cu.
*/
#include "cuda/kernels/hjfamilies.h"
#include "hjtile2d.cuh"

template <int LANES, bool ONE, bool MEAN>
__global__ void __launch_bounds__(ONE ? 32 : LANES *HJ_T2_STRIPS, ONE ? 11 : 32 / LANES)
  HJTile2D_Kernel(const __grid_constant__ HJTile2DArgs p)
{
  __shared__ HJTile2DEdge<LANES> s_edge[1];
  __shared__ double2             s_rows[64];
  HJTile2DPlace                  at = {(int)threadIdx.x % LANES, (int)threadIdx.x / LANES, (int)blockDim.x / LANES};
  HJDBox                         t, own;
  double                         x[HJ_T2_ROWS][HJ_T2_COLS], b[HJ_T2_ROWS][HJ_T2_COLS];

  HJTileRange_CUDA<2>(p.lay, p.s.write, p.list ? p.list[blockIdx.x] : blockIdx.x, t, own);
  const int i0 = t.lo[0] + at.lane * HJ_T2_COLS, j0 = t.lo[1] + at.strip * HJ_T2_ROWS, k = own.lo[2];

  HJTile2DFind(p, t, i0, j0, LANES, !ONE, MEAN, &at);
  HJDAwaitInput();
  HJDLetNextStart();
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    const int hi = j0 + r < t.hi[1] ? t.hi[0] : t.lo[0];

    HJTileGet<HJ_T2_COLS>(p.s.b + HJDIndex(p.s.box, i0, j0 + r, k), p.pairs_b, i0, hi, b[r]);
    HJTileGet<HJ_T2_COLS>(p.s.x + HJDIndex(p.s.box, i0, j0 + r, k), p.pairs_x, i0, p.s.x ? hi : t.lo[0], x[r]);
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) b[r][v] *= p.dinv;
  }
  HJTile2DFoldRing(p, p.s.x, t, i0, j0, b);
  if (MEAN) {
#pragma unroll
    for (int r = 0; r < HJ_T2_ROWS; r++) {
#pragma unroll
      for (int v = 0; v < HJ_T2_COLS; v++) b[r][v] *= p.w[0];
    }
  }
  if (ONE) HJTile2DPut<32>(s_rows, threadIdx.x, b[HJ_T2_ROWS - 1]);
  if (!ONE) HJTile2DClearEdges<LANES>(s_edge, at);
  if (HJTile2DWhole(t)) HJTile2DCycle<LANES, ONE, MEAN, ONE, false, true>(p, s_edge, s_rows, at, x, b);
  else HJTile2DCycle<LANES, ONE, MEAN, ONE, false, false>(p, s_edge, s_rows, at, x, b);
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    const int hi = j0 + r >= own.lo[1] && j0 + r < own.hi[1] ? own.hi[0] : own.lo[0];

    HJTilePut<HJ_T2_COLS>(p.s.y + HJDIndex(p.s.ybox, i0, j0 + r, k), p.pairs_y, i0, own.lo[0], hi, x[r]);
  }
}

/* hjtile.cu must be able to do those that are not this file's */
static int HJTile2DTakes(const HJDevice *device, const HJAsk *ask)
{
  const HJDStencil *st   = ask->st;
  const int        *tile = ask->tile;
  HJTileLayout      lay;

  if (ask->kind != HJ_STALE) return 0;
  for (int d = 0; d < 3; d++) lay.tile[d] = ask->tile[d];
  return st->dim == 2 && st->shape == HJ_STAR && st->storage == HJ_DICTIONARY && tile[0] <= 2 * HJ_T2_LANES * HJ_T2_COLS &&
         tile[1] <= HJ_T2_ROWS * HJ_T2_STRIPS && HJTileLayoutFit(device, st, &lay);
}

template <typename K>
static PetscErrorCode HJTile2DLaunchKernel(const HJ_CUDA *cuda, K kernel, HJTile2DArgs *p, int ntiles, int threads, cudaStream_t stream)
{
  const HJLaunch how    = {dim3(ntiles), dim3(threads), 0, stream, 0, cuda->device.cc >= 90};
  void          *args[] = {(void *)p};

  PetscFunctionBegin;
  PetscCallCUDA(HJLaunchKernel(&how, (const void *)kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJTile2DRun(const HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *s, const HJTileLists *l, int count,
                                  const double *w, const double *d_w)
{
  const HJDStencil *st     = &cuda->st;
  const int         strips = (l->lay.tile[1] + HJ_T2_ROWS - 1) / HJ_T2_ROWS,
            lanes          = (l->lay.tile[0] > HJ_T2_LANES * HJ_T2_COLS ? 2 : 1) * HJ_T2_LANES;
  HJTile2DArgs p;

  PetscFunctionBegin;
  p.s       = *s;
  p.lay     = l->lay;
  p.list    = l->n[1] ? l->d_list : NULL;
  p.count   = count;
  p.dinv    = st->h_dinv_rows[cuda->main_row];
  p.d_w     = d_w;
  p.pairs_x = HJTilePairs(&l->lay, 2, &s->box, s->x);
  p.pairs_b = HJTilePairs(&l->lay, 2, &s->box, s->b);
  p.pairs_y = HJTilePairs(&l->lay, 2, &s->ybox, s->y);
  for (int o = 0; o < 5; o++) p.row[o] = st->h_rows[5 * cuda->main_row + o];
  for (int j = 0; j < PetscMin(count, HJD_MAX_COUNT); j++) p.w[j] = w[j];
  const bool mean    = HJTileIsMean(p.row, 1, 4, count, w);
  const int  threads = (lanes * strips + 31) / 32 * 32;
#define HJTile2DLaunchOne(lanes, one)                                                                                                      \
  do {                                                                                                                                     \
    if (mean) PetscCall(HJTile2DLaunchKernel(cuda, HJTile2D_Kernel<lanes, one, true>, &p, l->n[0], threads, stream));                      \
    else PetscCall(HJTile2DLaunchKernel(cuda, HJTile2D_Kernel<lanes, one, false>, &p, l->n[0], threads, stream));                          \
  } while (0)
  if (lanes > HJ_T2_LANES) HJTile2DLaunchOne(2 * HJ_T2_LANES, false);
  else if (strips > HJ_T2_WARP) HJTile2DLaunchOne(HJ_T2_LANES, false);
  else HJTile2DLaunchOne(HJ_T2_LANES, true);
#undef HJTile2DLaunchOne
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJTile2DLaunch(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *layout)
{
  PetscFunctionBegin;
  PetscCall(HJTileListsLaunch(cuda, stream, pass, layout, HJTile2DRun));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJFamily HJFamilyTile2D = {
  .name           = "2D tiles in registers",
  .takes          = HJTile2DTakes,
  .launch         = HJTile2DLaunch,
  .layout         = HJTileListsCreate,
  .layout_destroy = HJTileListsDestroy,
  .cycles         = HJTiles2DRun,
};

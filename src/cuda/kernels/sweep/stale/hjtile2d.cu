/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Stale 2D tiles, star with constant coefficients, up to 64 points in each direction: the whole tile in registers, a lane holds 4 adjacent
   columns of a strip of 8 rows. What crosses lanes goes by shuffle; where a tile needs more than one warp the strips' first and last rows
   go through shared memory. What the ring holds does not change in a cycle and is added to the right-hand side once. Tiles that touch other
   rows are left to hjtile.cu.
*/
#include "cuda/kernels/hjfamilies.h"
#include "hjtile.cuh"

#define HJ_T2_WARP (32 / HJ_T2_LANES) /* strips of a tile that one warp holds */

typedef struct {
  HJDSweep           s;
  HJTileLayout       lay;
  const int         *list; /* numbers of the tiles to do; NULL: all */
  int                count;
  bool               pairs_x, pairs_b, pairs_y; /* HJTilePairs() */
  PetscScalar        dinv, row[5];
  PetscScalar        w[HJD_MAX_COUNT];
  const PetscScalar *d_w; /* weights in device memory, if not NULL */
} HJTile2DArgs;

/* Of the strip's first and last rows, [buffer][strip + 1]: strips -1 and nstrips stand for what lies beyond the tile, and hold 0 */
template <int LANES> struct HJTile2DEdge {
  HJScalar2 row[2][HJ_T2_STRIPS + 2][2][2 * LANES];
};

/* A lane's place in the tile */
typedef struct {
  int         lane, strip, nstrips;
  bool        any;                       /* whether it has points of the tile */
  int         column, row;               /* of the lanes where the tile ends: their first columns and rows beyond it; 0: there are none */
  bool        last_column, last_row;     /* whether it is such a lane */
  PetscScalar left, right, below, above; /* what the points beside the lane are multiplied by: 0 where they are not the tile's */
} HJTile2DPlace;

template <int LANES> __device__ __forceinline__ void HJTile2DPut(HJScalar2 *row, int lane, const PetscScalar v[HJ_T2_COLS])
{
  row[lane]         = HJScalar2Of(v[0], v[1]);
  row[lane + LANES] = HJScalar2Of(v[2], v[3]);
}

template <int LANES> __device__ __forceinline__ void HJTile2DGet(const HJScalar2 *row, int lane, PetscScalar v[HJ_T2_COLS])
{
  const HJScalar2 u = row[lane], t = row[lane + LANES];

  v[0] = u.x;
  v[1] = u.y;
  v[2] = t.x;
  v[3] = t.y;
}

/* Of a lane whose points begin at i0, j0. edges: the first and the last strip have rows of 0 beside them */
__device__ __forceinline__ void HJTile2DFind(const HJTile2DArgs &p, const HJDBox &t, int i0, int j0, int lanes, bool edges, bool mean,
                                             HJTile2DPlace *at)
{
  const int last = (HJDWidth(t, 0) - 1) % HJ_T2_COLS, top = (HJDWidth(t, 1) - 1) % HJ_T2_ROWS;

  at->any         = i0 < t.hi[0] && j0 < t.hi[1];
  at->column      = last + 1 < HJ_T2_COLS ? last + 1 : 0;
  at->row         = top + 1 < HJ_T2_ROWS ? top + 1 : 0;
  at->last_column = at->any && i0 + HJ_T2_COLS > t.hi[0];
  at->last_row    = at->any && j0 + HJ_T2_ROWS > t.hi[1];
  at->left        = at->lane == 0 ? 0.0 : mean ? 1.0 : -p.row[1];
  at->right       = at->lane == lanes - 1 ? 0.0 : mean ? 1.0 : -p.row[2];
  at->below       = at->strip == 0 && !edges ? 0.0 : mean ? 1.0 : -p.row[3];
  at->above       = at->strip == at->nstrips - 1 && !edges ? 0.0 : mean ? 1.0 : -p.row[4];
}

/* The rows beside the strip. ONE: a warp holds the tile, and the first and the last strip get numbers that are not to be used */
template <int LANES, bool ONE>
__device__ __forceinline__ void HJTile2DBeside(HJTile2DEdge<LANES> *s_edge, const HJTile2DPlace &at, int buf,
                                               const PetscScalar x[HJ_T2_ROWS][HJ_T2_COLS], PetscScalar below[HJ_T2_COLS],
                                               PetscScalar above[HJ_T2_COLS])
{
  if (ONE) {
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) {
      below[v] = __shfl_up_sync(~0u, x[HJ_T2_ROWS - 1][v], LANES);
      above[v] = __shfl_down_sync(~0u, x[0][v], LANES);
    }
  } else {
    HJTile2DPut<LANES>(s_edge->row[buf][at.strip + 1][0], at.lane, x[0]);
    HJTile2DPut<LANES>(s_edge->row[buf][at.strip + 1][1], at.lane, x[HJ_T2_ROWS - 1]);
    __syncthreads();
    HJTile2DGet<LANES>(s_edge->row[buf][at.strip][1], at.lane, below);
    HJTile2DGet<LANES>(s_edge->row[buf][at.strip + 2][0], at.lane, above);
  }
}

/* Row r of the right-hand side. ONE: shared memory holds the last one, which leaves more registers */
template <bool ONE>
__device__ __forceinline__ void HJTile2DRight(const HJScalar2 *s_rows, const PetscScalar b[HJ_T2_ROWS][HJ_T2_COLS], int r,
                                              PetscScalar rhs[HJ_T2_COLS])
{
  if (ONE && r == HJ_T2_ROWS - 1) {
    HJTile2DGet<32>(s_rows, threadIdx.x, rhs);
  } else {
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) rhs[v] = b[r][v];
  }
}

/*
   A subiteration that makes a point the mean of its neighbours, times a number, plus b. The neighbours are added in two pairs: left and
   above, right and below; each such sum is a part of two points
*/
template <int LANES, bool ONE>
__device__ __forceinline__ void HJTile2DMean(PetscScalar mean, HJTile2DEdge<LANES> *s_edge, const HJScalar2 *s_rows,
                                             const HJTile2DPlace &at, int n, PetscScalar x[HJ_T2_ROWS][HJ_T2_COLS],
                                             const PetscScalar b[HJ_T2_ROWS][HJ_T2_COLS])
{
  PetscScalar below[HJ_T2_COLS], above[HJ_T2_COLS], sum[HJ_T2_COLS], right = __shfl_down_sync(~0u, x[0][0], 1, LANES);

  HJTile2DBeside<LANES, ONE>(s_edge, at, n & 1, x, below, above);
#pragma unroll
  for (int v = 0; v < HJ_T2_COLS; v++) sum[v] = fma(at.below, below[v], v + 1 < HJ_T2_COLS ? x[0][v + 1] : at.right * right);
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    const bool        top  = r == HJ_T2_ROWS - 1;
    const PetscScalar left = __shfl_up_sync(~0u, x[r][HJ_T2_COLS - 1], 1, LANES);
    PetscScalar       rhs[HJ_T2_COLS], next[HJ_T2_COLS];

    HJTile2DRight<ONE>(s_rows, b, r, rhs);
    if (!top) right = __shfl_down_sync(~0u, x[r + 1][0], 1, LANES);
    next[0] = fma(at.left, left, top ? at.above * above[0] : x[r + 1][0]);
#pragma unroll
    for (int v = 1; v < HJ_T2_COLS; v++) next[v] = top ? fma(at.above, above[v], x[r][v - 1]) : x[r][v - 1] + x[r + 1][v];
    const PetscScalar beyond = top ? 0.0 : fma(at.right, right, x[r][HJ_T2_COLS - 1]);
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) {
      x[r][v] = fma(mean, next[v] + sum[v], rhs[v]);
      sum[v]  = v + 1 < HJ_T2_COLS ? next[v + 1] : beyond;
    }
  }
}

/* A subiteration with weight w */
template <int LANES, bool ONE>
__device__ __forceinline__ void HJTile2DWeighted(const HJTile2DArgs &p, PetscScalar w, HJTile2DEdge<LANES> *s_edge, const HJScalar2 *s_rows,
                                                 const HJTile2DPlace &at, int n, PetscScalar x[HJ_T2_ROWS][HJ_T2_COLS],
                                                 const PetscScalar b[HJ_T2_ROWS][HJ_T2_COLS])
{
  PetscScalar below[HJ_T2_COLS], above[HJ_T2_COLS];

  HJTile2DBeside<LANES, ONE>(s_edge, at, n & 1, x, below, above);
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    PetscScalar left = __shfl_up_sync(~0u, x[r][HJ_T2_COLS - 1], 1, LANES), right = __shfl_down_sync(~0u, x[r][0], 1, LANES),
                rhs[HJ_T2_COLS];

    HJTile2DRight<ONE>(s_rows, b, r, rhs);
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) {
      const PetscScalar t = x[r][v], east = v + 1 < HJ_T2_COLS ? x[r][v + 1] : right, north = r + 1 < HJ_T2_ROWS ? x[r + 1][v] : above[v];
      PetscScalar       y = fma(r ? -p.row[3] : at.below, below[v], fma(-p.row[0], t, rhs[v]));

      y        = fma(v + 1 < HJ_T2_COLS ? -p.row[2] : at.right, east, fma(r + 1 < HJ_T2_ROWS ? -p.row[4] : at.above, north, y));
      x[r][v]  = fma(w, fma(v ? -p.row[1] : at.left, left, y), t);
      left     = t;
      below[v] = t;
    }
  }
}

/* Points beyond the tile keep 0, where it ends within a lane */
__device__ __forceinline__ void HJTile2DCut(const HJTile2DPlace &at, PetscScalar x[HJ_T2_ROWS][HJ_T2_COLS])
{
#pragma unroll
  for (int v = 1; v < HJ_T2_COLS; v++) {
    if (!__any_sync(~0u, v == at.column)) continue;
#pragma unroll
    for (int r = 0; r < HJ_T2_ROWS; r++) x[r][v] = at.last_column ? 0.0 : x[r][v];
  }
#pragma unroll
  for (int r = 1; r < HJ_T2_ROWS; r++) {
    if (!__any_sync(~0u, r == at.row)) continue;
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) x[r][v] = at.last_row ? 0.0 : x[r][v];
  }
}

/* Whether a tile ends where its lanes do */
__device__ __forceinline__ bool HJTile2DWhole(const HJDBox &t)
{
  return HJDWidth(t, 0) % HJ_T2_COLS == 0 && HJDWidth(t, 1) % HJ_T2_ROWS == 0;
}

/* All subiterations. A lane without points keeps 0 by a coefficient or a weight of 0. MEAN: HJTileIsMean(), then b comes times the weight.
   WHOLE: HJTile2DWhole(); what must be done otherwise costs registers, too */
template <int LANES, bool ONE, bool MEAN, bool WHOLE>
__device__ __forceinline__ void HJTile2DCycle(const HJTile2DArgs &p, HJTile2DEdge<LANES> *s_edge, const HJScalar2 *s_rows,
                                              const HJTile2DPlace &at, PetscScalar x[HJ_T2_ROWS][HJ_T2_COLS],
                                              const PetscScalar b[HJ_T2_ROWS][HJ_T2_COLS])
{
  const PetscScalar mean = at.any ? -p.w[0] * p.row[1] : 0.0;

#pragma unroll 1
  for (int n = 0; n < p.count; n++) {
    if (MEAN) HJTile2DMean<LANES, ONE>(mean, s_edge, s_rows, at, n, x, b);
    else HJTile2DWeighted<LANES, ONE>(p, at.any ? (p.d_w ? p.d_w[n] : p.w[n]) : 0.0, s_edge, s_rows, at, n, x, b);
    if (!WHOLE) HJTile2DCut(at, x);
  }
}

/* The value of x at a point of the ring */
__device__ __forceinline__ PetscScalar HJTile2DRing(const HJDSweep &s, int i, int j)
{
  return s.x && HJDInside(s.domain, i, j, s.domain.lo[2]) ? s.x[HJDIndex(s.box, i, j, s.box.lo[2])] : 0.0;
}

/* Takes from b what the ring adds to each subiteration */
__device__ __forceinline__ void HJTile2DFoldRing(const HJTile2DArgs &p, const HJDBox &t, int i0, int j0,
                                                 PetscScalar b[HJ_T2_ROWS][HJ_T2_COLS])
{
  const int last = (HJDWidth(t, 0) - 1) % HJ_T2_COLS, top = (HJDWidth(t, 1) - 1) % HJ_T2_ROWS;

#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    const bool        inside = j0 + r < t.hi[1], ends = inside && i0 < t.hi[0] && i0 + HJ_T2_COLS >= t.hi[0];
    const PetscScalar right = ends ? HJTile2DRing(p.s, t.hi[0], j0 + r) : 0.0;

    if (inside && i0 == t.lo[0]) b[r][0] = fma(-p.row[1], HJTile2DRing(p.s, i0 - 1, j0 + r), b[r][0]);
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++)
      if (v == last) b[r][v] = fma(-p.row[2], right, b[r][v]);
  }
#pragma unroll
  for (int v = 0; v < HJ_T2_COLS; v++) {
    const bool        inside = i0 + v < t.hi[0], ends = inside && j0 < t.hi[1] && j0 + HJ_T2_ROWS >= t.hi[1];
    const PetscScalar above = ends ? HJTile2DRing(p.s, i0 + v, t.hi[1]) : 0.0;

    if (inside && j0 == t.lo[1]) b[0][v] = fma(-p.row[3], HJTile2DRing(p.s, i0 + v, j0 - 1), b[0][v]);
#pragma unroll
    for (int r = 0; r < HJ_T2_ROWS; r++)
      if (r == top) b[r][v] = fma(-p.row[4], above, b[r][v]);
  }
}

/* What lies beyond the tile: 0 */
template <int LANES> __device__ __forceinline__ void HJTile2DClearEdges(HJTile2DEdge<LANES> *s_edge, const HJTile2DPlace &at)
{
  const PetscScalar zero[HJ_T2_COLS] = {0.0, 0.0, 0.0, 0.0};

#pragma unroll
  for (int buf = 0; buf < 2; buf++) {
    if (at.strip == 0) HJTile2DPut<LANES>(s_edge->row[buf][0][1], at.lane, zero);
    if (at.strip == at.nstrips - 1) HJTile2DPut<LANES>(s_edge->row[buf][at.nstrips + 1][0], at.lane, zero);
  }
}

template <int LANES, bool ONE, bool MEAN>
__global__ void __launch_bounds__(ONE ? 32 : LANES *HJ_T2_STRIPS, ONE ? 11 : 32 / LANES)
  HJTile2D_Kernel(const __grid_constant__ HJTile2DArgs p)
{
  __shared__ HJTile2DEdge<LANES> s_edge[1];
  __shared__ HJScalar2           s_rows[64];
  HJTile2DPlace                  at = {(int)threadIdx.x % LANES, (int)threadIdx.x / LANES, (int)blockDim.x / LANES};
  HJDBox                         t, own;
  PetscScalar                    x[HJ_T2_ROWS][HJ_T2_COLS], b[HJ_T2_ROWS][HJ_T2_COLS];

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
  HJTile2DFoldRing(p, t, i0, j0, b);
  if (MEAN) {
#pragma unroll
    for (int r = 0; r < HJ_T2_ROWS; r++) {
#pragma unroll
      for (int v = 0; v < HJ_T2_COLS; v++) b[r][v] *= p.w[0];
    }
  }
  if (ONE) HJTile2DPut<32>(s_rows, threadIdx.x, b[HJ_T2_ROWS - 1]);
  if (!ONE) HJTile2DClearEdges<LANES>(s_edge, at);
  if (HJTile2DWhole(t)) HJTile2DCycle<LANES, ONE, MEAN, true>(p, s_edge, s_rows, at, x, b);
  else HJTile2DCycle<LANES, ONE, MEAN, false>(p, s_edge, s_rows, at, x, b);
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
                                  const PetscScalar *w, const PetscScalar *d_w)
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
};

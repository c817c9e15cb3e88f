/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What a tile in registers does, for hjtile2d.cu and hjtiles2d.cu: a lane holds 4 adjacent columns of a strip of 8 rows. What crosses lanes
   goes by shuffle; where a tile needs more than one warp the strips' first and last rows go through shared memory. What the ring holds does
   not change in a cycle and is added to the right-hand side once.
*/
#pragma once

#include "hjtile.cuh"

#define HJ_T2_WARP (32 / HJ_T2_LANES) /* strips of a tile that one warp holds */

typedef struct {
  HJDSweep      s;
  HJTileLayout  lay;
  const int    *list; /* numbers of the tiles to do; NULL: all */
  int           count;
  bool          pairs_x, pairs_b, pairs_y; /* HJTilePairs() */
  double        dinv, row[5];
  double        w[HJD_MAX_COUNT];
  const double *d_w; /* weights in device memory, if not NULL */
} HJTile2DArgs;

/* Of the strip's first and last rows, [buffer][strip + 1]: strips -1 and nstrips stand for what lies beyond the tile, and hold 0 */
template <int LANES> struct HJTile2DEdge {
  double2 row[2][HJ_T2_STRIPS + 2][2][2 * LANES];
};

/* A lane's place in the tile */
typedef struct {
  int    lane, strip, nstrips;
  bool   any;                       /* whether it has points of the tile */
  int    column, row;               /* of the lanes where the tile ends: their first columns and rows beyond it; 0: there are none */
  bool   last_column, last_row;     /* whether it is such a lane */
  double left, right, below, above; /* what the points beside the lane are multiplied by: 0 where they are not the tile's */
} HJTile2DPlace;

template <int LANES> __device__ __forceinline__ void HJTile2DPut(double2 *row, int lane, const double v[HJ_T2_COLS])
{
  row[lane]         = make_double2(v[0], v[1]);
  row[lane + LANES] = make_double2(v[2], v[3]);
}

template <int LANES> __device__ __forceinline__ void HJTile2DGet(const double2 *row, int lane, double v[HJ_T2_COLS])
{
  const double2 u = row[lane], t = row[lane + LANES];

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
                                               const double x[HJ_T2_ROWS][HJ_T2_COLS], double below[HJ_T2_COLS], double above[HJ_T2_COLS])
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

/* Where shared memory holds row r of the right-hand side: SAVED rows, first the last one, then the first, or all; -1: registers hold it */
template <int SAVED> __device__ __forceinline__ constexpr int HJTile2DSaved(int r)
{
  return SAVED == HJ_T2_ROWS ? r : SAVED > 0 && r == HJ_T2_ROWS - 1 ? 0 : SAVED > 1 && r == 0 ? 1 : -1;
}

/* Row r of the right-hand side */
template <int SAVED>
__device__ __forceinline__ void HJTile2DRight(const double2 *s_rows, const double b[HJ_T2_ROWS][HJ_T2_COLS], int r, double rhs[HJ_T2_COLS])
{
  if (HJTile2DSaved<SAVED>(r) >= 0) {
    HJTile2DGet<32>(s_rows + 64 * HJTile2DSaved<SAVED>(r), threadIdx.x, rhs);
  } else {
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) rhs[v] = b[r][v];
  }
}

/*
   A subiteration that makes a point the mean of its neighbours, times a number, plus b. The neighbours are added in two pairs: left and
   above, right and below; each such sum is a part of two points. RIM: b is 0 but at the rim of a lane's points
*/
template <int LANES, bool ONE, int SAVED, bool RIM>
__device__ __forceinline__ void HJTile2DMean(const double mean[HJ_T2_COLS], HJTile2DEdge<LANES> *s_edge, const double2 *s_rows,
                                             const HJTile2DPlace &at, int n, double x[HJ_T2_ROWS][HJ_T2_COLS],
                                             const double b[HJ_T2_ROWS][HJ_T2_COLS])
{
  double below[HJ_T2_COLS], above[HJ_T2_COLS], sum[HJ_T2_COLS], right = __shfl_down_sync(~0u, x[0][0], 1, LANES);

  HJTile2DBeside<LANES, ONE>(s_edge, at, n & 1, x, below, above);
#pragma unroll
  for (int v = 0; v < HJ_T2_COLS; v++) sum[v] = fma(at.below, below[v], v + 1 < HJ_T2_COLS ? x[0][v + 1] : at.right * right);
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    const bool   top  = r == HJ_T2_ROWS - 1;
    const double left = __shfl_up_sync(~0u, x[r][HJ_T2_COLS - 1], 1, LANES);
    double       rhs[HJ_T2_COLS], next[HJ_T2_COLS];

    HJTile2DRight<SAVED>(s_rows, b, r, rhs);
    if (!top) right = __shfl_down_sync(~0u, x[r + 1][0], 1, LANES);
    next[0] = fma(at.left, left, top ? at.above * above[0] : x[r + 1][0]);
#pragma unroll
    for (int v = 1; v < HJ_T2_COLS; v++) next[v] = top ? fma(at.above, above[v], x[r][v - 1]) : x[r][v - 1] + x[r + 1][v];
    const double beyond = top ? 0.0 : fma(at.right, right, x[r][HJ_T2_COLS - 1]);
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) {
      const bool inner = RIM && r && !top && v && v + 1 < HJ_T2_COLS;

      x[r][v] = inner ? mean[v] * (next[v] + sum[v]) : fma(mean[v], next[v] + sum[v], rhs[v]);
      sum[v]  = v + 1 < HJ_T2_COLS ? next[v + 1] : beyond;
    }
  }
}

/* A subiteration with weight w */
template <int LANES, bool ONE, int SAVED>
__device__ __forceinline__ void HJTile2DWeighted(const HJTile2DArgs &p, double w, HJTile2DEdge<LANES> *s_edge, const double2 *s_rows,
                                                 const HJTile2DPlace &at, int n, double x[HJ_T2_ROWS][HJ_T2_COLS],
                                                 const double b[HJ_T2_ROWS][HJ_T2_COLS])
{
  double below[HJ_T2_COLS], above[HJ_T2_COLS];

  HJTile2DBeside<LANES, ONE>(s_edge, at, n & 1, x, below, above);
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    double left = __shfl_up_sync(~0u, x[r][HJ_T2_COLS - 1], 1, LANES), right = __shfl_down_sync(~0u, x[r][0], 1, LANES), rhs[HJ_T2_COLS];

    HJTile2DRight<SAVED>(s_rows, b, r, rhs);
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) {
      const double t = x[r][v], east = v + 1 < HJ_T2_COLS ? x[r][v + 1] : right, north = r + 1 < HJ_T2_ROWS ? x[r + 1][v] : above[v];
      double       y = fma(r ? -p.row[3] : at.below, below[v], fma(-p.row[0], t, rhs[v]));

      y        = fma(v + 1 < HJ_T2_COLS ? -p.row[2] : at.right, east, fma(r + 1 < HJ_T2_ROWS ? -p.row[4] : at.above, north, y));
      x[r][v]  = fma(w, fma(v ? -p.row[1] : at.left, left, y), t);
      left     = t;
      below[v] = t;
    }
  }
}

/* Points beyond the tile keep 0, where it ends within a lane */
__device__ __forceinline__ void HJTile2DCut(const HJTile2DPlace &at, double x[HJ_T2_ROWS][HJ_T2_COLS])
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

/* Subiterations that make points means, in a tile that may end within lanes: columns beyond it keep 0 by a factor of 0. Row ROW of the last
   strip, which the compiler knows, is the first beyond the tile; 0: a strip ends there */
template <int LANES, int SAVED, int ROW>
__device__ __forceinline__ void HJTile2DMeansTo(int count, double mean, const double2 *s_rows, const HJTile2DPlace &at,
                                                double x[HJ_T2_ROWS][HJ_T2_COLS], const double b[HJ_T2_ROWS][HJ_T2_COLS])
{
  double factor[HJ_T2_COLS];

#pragma unroll
  for (int v = 0; v < HJ_T2_COLS; v++) factor[v] = v && at.last_column && v == at.column ? 0.0 : mean;
#pragma unroll 1
  for (int n = 0; n < count; n++) {
    HJTile2DMean<LANES, true, SAVED, true>(factor, NULL, s_rows, at, n, x, b);
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++)
      if (ROW) x[ROW][v] = at.last_row ? 0.0 : x[ROW][v];
  }
}

/* Subiterations with b of a rim, see HJTile2DMean(), of a tile in a warp. A loop for each row in which tiles may end takes half as long as
   one that looks for the row each time, and the tiles around wait for these */
template <int LANES, int SAVED>
__device__ __forceinline__ void HJTile2DMeans(int count, double mean, const double2 *s_rows, const HJTile2DPlace &at,
                                              double x[HJ_T2_ROWS][HJ_T2_COLS], const double b[HJ_T2_ROWS][HJ_T2_COLS])
{
#define HJTile2DCase(row)                                                                                                                  \
  case row:                                                                                                                                \
    HJTile2DMeansTo<LANES, SAVED, row>(count, mean, s_rows, at, x, b);                                                                     \
    break
  switch (at.row) {
    HJTile2DCase(0);
    HJTile2DCase(1);
    HJTile2DCase(2);
    HJTile2DCase(3);
    HJTile2DCase(4);
    HJTile2DCase(5);
    HJTile2DCase(6);
    HJTile2DCase(7);
  }
#undef HJTile2DCase
}

/* All subiterations. A lane without points keeps 0 by a coefficient or a weight of 0. MEAN: HJTileIsMean(), then b comes times the weight.
   SAVED: see HJTile2DSaved(). RIM: see HJTile2DMean(). WHOLE: HJTile2DWhole(); what must be done otherwise costs registers, too */
template <int LANES, bool ONE, bool MEAN, int SAVED, bool RIM, bool WHOLE>
__device__ __forceinline__ void HJTile2DCycle(const HJTile2DArgs &p, HJTile2DEdge<LANES> *s_edge, const double2 *s_rows,
                                              const HJTile2DPlace &at, double x[HJ_T2_ROWS][HJ_T2_COLS],
                                              const double b[HJ_T2_ROWS][HJ_T2_COLS])
{
  const double mean = at.any ? -p.w[0] * p.row[1] : 0.0, factor[HJ_T2_COLS] = {mean, mean, mean, mean};

  if (RIM && !WHOLE) {
    HJTile2DMeans<LANES, SAVED>(p.count, mean, s_rows, at, x, b);
  } else {
#pragma unroll 1
    for (int n = 0; n < p.count; n++) {
      if (MEAN) HJTile2DMean<LANES, ONE, SAVED, RIM>(factor, s_edge, s_rows, at, n, x, b);
      else HJTile2DWeighted<LANES, ONE, SAVED>(p, at.any ? (p.d_w ? p.d_w[n] : p.w[n]) : 0.0, s_edge, s_rows, at, n, x, b);
      if (!WHOLE) HJTile2DCut(at, x);
    }
  }
}

/* The value of x at a point of the ring; not from the first-level cache, which another block may not write to */
__device__ __forceinline__ double HJTile2DRing(const HJDSweep &s, const double *x, int i, int j)
{
  return x && HJDInside(s.domain, i, j, s.domain.lo[2]) ? __ldcg(x + HJDIndex(s.box, i, j, s.box.lo[2])) : 0.0;
}

/* Takes from b what the ring adds to each subiteration */
__device__ __forceinline__ void HJTile2DFoldRing(const HJTile2DArgs &p, const double *x, const HJDBox &t, int i0, int j0,
                                                 double b[HJ_T2_ROWS][HJ_T2_COLS])
{
  const int last = (HJDWidth(t, 0) - 1) % HJ_T2_COLS, top = (HJDWidth(t, 1) - 1) % HJ_T2_ROWS;

#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    const bool   inside = j0 + r < t.hi[1], ends = inside && i0 < t.hi[0] && i0 + HJ_T2_COLS >= t.hi[0];
    const double right = ends ? HJTile2DRing(p.s, x, t.hi[0], j0 + r) : 0.0;

    if (inside && i0 == t.lo[0]) b[r][0] = fma(-p.row[1], HJTile2DRing(p.s, x, i0 - 1, j0 + r), b[r][0]);
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++)
      if (v == last) b[r][v] = fma(-p.row[2], right, b[r][v]);
  }
#pragma unroll
  for (int v = 0; v < HJ_T2_COLS; v++) {
    const bool   inside = i0 + v < t.hi[0], ends = inside && j0 < t.hi[1] && j0 + HJ_T2_ROWS >= t.hi[1];
    const double above = ends ? HJTile2DRing(p.s, x, i0 + v, t.hi[1]) : 0.0;

    if (inside && j0 == t.lo[1]) b[0][v] = fma(-p.row[3], HJTile2DRing(p.s, x, i0 + v, j0 - 1), b[0][v]);
#pragma unroll
    for (int r = 0; r < HJ_T2_ROWS; r++)
      if (r == top) b[r][v] = fma(-p.row[4], above, b[r][v]);
  }
}

/* What lies beyond the tile: 0 */
template <int LANES> __device__ __forceinline__ void HJTile2DClearEdges(HJTile2DEdge<LANES> *s_edge, const HJTile2DPlace &at)
{
  const double zero[HJ_T2_COLS] = {0.0, 0.0, 0.0, 0.0};

#pragma unroll
  for (int buf = 0; buf < 2; buf++) {
    if (at.strip == 0) HJTile2DPut<LANES>(s_edge->row[buf][0][1], at.lane, zero);
    if (at.strip == at.nstrips - 1) HJTile2DPut<LANES>(s_edge->row[buf][at.nstrips + 1][0], at.lane, zero);
  }
}

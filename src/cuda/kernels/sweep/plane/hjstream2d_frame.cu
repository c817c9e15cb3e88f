/* SPDX-License-Identifier: BSD-2-Clause */
/*
   2D exact streaming of 5-point operators whose points inside have one row, those on each side another one, and each corner its own: grids
   below one of constant coefficients, whose walls lie less than a spacing beyond the first and last points. Inner strips run as those of
   one row. In the first strip and in the last one a single column takes a row of its own; near the first and the last line the row is
   looked up for each level, from nine in shared memory. With a correction, or with a restriction from a zero guess, as those in
   hjstream2d_corrected.cu.
*/
#include "hjstream2d_constant.cuh"
#include "hjstream2d_frame.h"

template <int LEVELS, int AHEAD, int BLOCKS, int CARVE, int VARIANT>
struct HJ2DFrame : HJ2DConstant<0, LEVELS, AHEAD, BLOCKS, CARVE, false, VARIANT> {
  typedef HJ2DConstant<0, LEVELS, AHEAD, BLOCKS, CARVE, false, VARIANT> Base;
  typedef typename Base::Row                                            Row;
  typedef typename Base::Own                                            Own;

  static constexpr int  MADE = Base::MADE;
  static constexpr bool ZERO = Base::RESTRICTED;
  /* Modes of a step: points of an inner strip; of the first one or the last one; those near the first and the last line, of any strip */
  static constexpr int INNER = 0, SIDES = 1, LINES = 2;
  /* The rows of the nine classes, first, inner and last line by first, inner and last column, then one over their factors */
  static constexpr int LEAST_BYTES = Base::RING_BYTES + 9 * sizeof(Row) + 9 * sizeof(PetscScalar);
  static_assert(LEAST_BYTES <= Base::SMEM_BYTES, "shared memory");

  using Base::a;
  using Base::g;
  using Base::w;

  const Row         *rows;
  const PetscScalar *inverse;
  bool               left, right;
  int                first, last; /* classes of columns of the lane's first and last points */

  __device__ __forceinline__ HJ2DFrame(const HJ2DArgs &args, PetscScalar *smem) : Base(args, smem)
  {
    PetscScalar *to = smem + Base::RING_BYTES / HJ_BYTES;
    const int    nx = g.coef_hi[0] - g.coef_lo[0], ny = g.coef_hi[1] - g.coef_lo[1];

    rows    = (const Row *)to;
    inverse = to + 54;
    left    = w.x0 == g.coef_lo[0];
    right   = w.x0 + HJ2D_COLUMNS == g.coef_hi[0];
    first   = left && w.lane == 0 ? 0 : 1;
    last    = right && w.lane == 31 ? 2 : 1;
    for (int i = w.lane; i < 63; i += 32) {
      const int k = i < 54 ? i / 6 : i - 54, line = k < 3 ? 0 : k < 6 ? 1 : ny - 1, column = k % 3 == 0 ? 0 : k % 3 == 1 ? 1 : nx - 1;
      const int id = k == 4 ? g.base : g.index[(long long)line * g.coef_nx + column];

      to[i] = i < 54 ? g.table[id * 6 + i % 6] : 1 / g.table[id * 6 + 5];
    }
    __syncwarp();
  }

  /* 3 times the class of a line */
  __device__ __forceinline__ int Line(int row) const { return row <= g.coef_lo[1] ? 0 : row >= g.coef_hi[1] - 1 ? 6 : 3; }

  /* Class of the lane's point v, of a line of this class */
  __device__ __forceinline__ int Class(int line, int v) const { return line + (v == 0 ? first : v == 3 ? last : 1); }

  /* Whether point v of a lane may take another row than the base row */
  static __device__ __forceinline__ constexpr bool MayOwn(int mode, int v)
  {
    return mode == LINES || (mode == SIDES && (v == 0 || v == 3));
  }

  /* A row of b, back rows behind the current one, has been read for the first time, see HJ2DConstant::Scale() */
  template <int MODE> __device__ __forceinline__ void ScaleLine(int line, int back, PetscScalar b[4]) const
  {
#pragma unroll
    for (int v = 0; v < 4; v++) {
      if (MayOwn(MODE, v)) b[v] *= rows[Class(line, v)].factor;
    }
    if (MODE != INNER) HJ2DSet(this->BRow(back), w.lane, b);
  }

  __device__ __forceinline__ PetscScalar OlderPoint(const Row &row, int j, int z, int v, const PetscScalar me[2], PetscScalar base) const
  {
    if (j < LEVELS) return this->OlderOwn(row, j, z, v, me, base);
    const PetscScalar *m = a[j][z ^ 1], *p = row.c;

    return fma(p[1], v ? m[v - 1] : me[0], fma(p[2], v < 3 ? m[v + 1] : me[1], fma(p[3], a[j][z][v], fma(p[0], m[v], base))));
  }

  /* The residual is that of the equation as it is: of its rows over their factors */
  __device__ __forceinline__ PetscScalar NewestPoint(int k, int j, int v, const PetscScalar n[4], PetscScalar t) const
  {
    const PetscScalar none[2] = {0, 0};

    return j < LEVELS ? this->NewestOwn(rows[k], j, v, n, none, t) : fma(rows[k].c[4], n[v], t) * inverse[k];
  }

  template <int MODE>
  __device__ __forceinline__ void OlderLine(const Own &own, int j, int z, int line, const PetscScalar me[2], PetscScalar t[4]) const
  {
    PetscScalar base[4];

#pragma unroll
    for (int v = 0; v < 4; v++) base[v] = t[v];
    if (MODE != LINES) this->template Older<Base::BASE>(own, j, z, me, t);
#pragma unroll
    for (int v = 0; v < 4; v++) {
      if (MayOwn(MODE, v)) t[v] = OlderPoint(rows[Class(line, v)], j, z, v, me, base[v]);
    }
  }

  template <int MODE> __device__ __forceinline__ void BeginLine(const Own &own, int j, int z, int row, PetscScalar t[4]) const
  {
    const int   line = MODE == LINES ? Line(row) : 3;
    PetscScalar me[2];

    HJ2DConstant<0, LEVELS, AHEAD, BLOCKS, CARVE, false, VARIANT>::Base(j, z, t);
    if (j == 0 && !ZERO) ScaleLine<MODE>(line, 1, t);
    this->MiddleEdges(j, z, me);
    if (MODE == LINES && line == 3) OlderLine<SIDES>(own, j, z, line, me, t);
    else OlderLine<MODE>(own, j, z, line, me, t);
  }

  template <int MODE>
  __device__ __forceinline__ void NewestLine(const Own &own, int j, int line, const PetscScalar n[4], const PetscScalar t[4],
                                             PetscScalar out[4]) const
  {
    const PetscScalar ne[2] = {0, 0};

    if (MODE != LINES) this->template Newest<Base::BASE>(own, j, n, ne, t, out);
#pragma unroll
    for (int v = 0; v < 4; v++) {
      if (MayOwn(MODE, v)) out[v] = NewestPoint(Class(line, v), j, v, n, t[v]);
    }
  }

  template <int MODE>
  __device__ __forceinline__ void EndLine(const Own &own, int j, int z, int row, const PetscScalar t[4], PetscScalar n[4])
  {
    const bool  inside = MODE != LINES || this->Inside(row);
    const int   line   = MODE == LINES ? Line(row) : 3;
    PetscScalar out[4];

    if (MODE == LINES && line == 3) NewestLine<SIDES>(own, j, line, n, t, out);
    else NewestLine<MODE>(own, j, line, n, t, out);
#pragma unroll
    for (int v = 0; v < 4; v++) {
      a[j][z][v] = n[v];
      n[v]       = inside ? out[v] : HJ_ZERO;
    }
  }

  /* HJ2DCorrect() of any row */
  __device__ __forceinline__ void CorrectAny(int row, PetscScalar n[4]) const
  {
    const PetscScalar half = HJ_HALF * HJ2DRowScale(g, row);
    PetscScalar       p[4], q[4];

    HJ2DAlong(w, w.smem + Base::COARSE_AT, row >> 1, p);
    HJ2DAlong(w, w.smem + Base::COARSE_AT, (row + 1) >> 1, q);
#pragma unroll
    for (int v = 0; v < 4; v++) p[v] = half * (p[v] + q[v]);
    HJ2DScaleColumns(g, w, p);
#pragma unroll
    for (int v = 0; v < 4; v++) n[v] += p[v];
  }

  /* As HJ2DConstant::Step(). LINES: z is 0, and the rows of each level change places afterwards */
  template <int z, int MODE> __device__ __forceinline__ void StepLine(const Own &own, int row)
  {
    constexpr int EARLY = 2;
    PetscScalar   n[4], t[MADE][4];

    HJCopyWait<AHEAD - 2>();
    __syncwarp();
    this->template Fetch<true>(row + AHEAD - 1, 1 - AHEAD);
    HJ2DGet(ZERO ? this->BRow(0) : this->XRow(0), w.lane, n);
    if (Base::CORRECTED && MODE == LINES) CorrectAny(row, n);
    else if (Base::CORRECTED) HJ2DCorrect<z>(g, w, w.smem + Base::COARSE_AT, row, n);
    if (ZERO) ScaleLine<MODE>(Line(row), 0, n);
#pragma unroll
    for (int v = 0; v < 4; v++) n[v] = MODE == LINES && (row < w.row_lo || row >= w.row_hi) ? HJ_ZERO : n[v] * g.scale;
#pragma unroll
    for (int j = 0; j < EARLY; j++) BeginLine<MODE>(own, j, z, row - j - 1, t[j]);
#pragma unroll
    for (int j = 0; j < MADE; j += 2) {
      if (j + EARLY < MADE) BeginLine<MODE>(own, j + EARLY, z, row - j - EARLY - 1, t[j + EARLY]);
      if (j + EARLY + 1 < MADE) BeginLine<MODE>(own, j + EARLY + 1, z, row - j - EARLY - 2, t[j + EARLY + 1]);
      EndLine<MODE>(own, j, z, row - j - 1, t[j], n);
      if (j == LEVELS - 1) HJ2DPut(w, this->XRow(0), row - LEVELS, n);
      if (j + 1 < MADE) EndLine<MODE>(own, j + 1, z, row - j - 2, t[j + 1], n);
      if (j + 1 == LEVELS - 1) HJ2DPut(w, this->XRow(0), row - LEVELS, n);
    }
    if (ZERO && MODE != LINES) HJ2DGather<(z + LEVELS + 1) % 2>(g, w, row - LEVELS - 1, n, this->gathered);
    else if (ZERO && (row + LEVELS + 1) % 2) HJ2DGather<true>(g, w, row - LEVELS - 1, n, this->gathered);
    else if (ZERO) HJ2DGather<false>(g, w, row - LEVELS - 1, n, this->gathered);
    this->x_slot = Base::template Back<Base::X_ROWS>(this->x_slot, -1);
    this->b_slot = Base::template Back<Base::B_ROWS>(this->b_slot, -1);
  }

  /* One step that looks rows up. Without a second copy of it for z = 1, which is long, less of it must be fetched before it runs */
  __device__ __forceinline__ void EndLines(int row, int end)
  {
    const Own own = {};

#pragma unroll 1
    for (; row < end; row++) {
      StepLine<0, LINES>(own, row);
#pragma unroll
      for (int j = 0; j < MADE; j++) {
#pragma unroll
        for (int v = 0; v < 4; v++) HJ2DSwap(a[j][0][v], a[j][1][v]);
      }
    }
  }

  template <int MODE> __device__ __forceinline__ void Lines(int row, int end)
  {
    const Own own = {};

    for (; row < end; row += 2) {
      StepLine<0, MODE>(own, row);
      StepLine<1, MODE>(own, row + 1);
    }
  }

  __device__ __forceinline__ void RunFrame()
  {
    const int start = w.row_lo & ~1, end = (w.y1 + LEVELS + 1 + 2 * ZERO) & ~1;
    /* in steps below low and from high on a level may make the first or the last line, or one beyond it */
    const int low  = w.y0 - g.margin <= w.s->avail_lo[1] ? (w.row_lo + MADE + 2) & ~1 : start,
              high = w.y1 + g.margin >= w.s->avail_hi[1] ? (w.s->avail_hi[1] - 1) & ~1 : end;

    if (Base::CORRECTED) HJ2DFetchCoarse<false>(g, w, w.smem + Base::COARSE_AT, start >> 1);
    for (int i = 0; i < AHEAD - 1; i++) this->template Fetch<false>(start + i, -i);
    for (int row = start, next; row < end; row = next) {
      next = row < low ? min(low, end) : row < high ? min(high, end) : end;
      if (row < low || row >= high) EndLines(row, next);
      else if (left || right) Lines<SIDES>(row, next);
      else Lines<INNER>(row, next);
    }
  }
};

template <int LEVELS, int AHEAD, int BLOCKS, int CARVE, int VARIANT>
__global__ void __launch_bounds__(32, BLOCKS) HJStream2DFrame_Kernel(const __grid_constant__ HJ2DArgs g)
{
  extern __shared__ __align__(16) PetscScalar s_rows[];

  HJ2DFrame<LEVELS, AHEAD, BLOCKS, CARVE, VARIANT> warp(g, s_rows);

  if (warp.w.y0 < warp.w.y1) warp.RunFrame();
}

#define HJ2DEntryFrame(levels, ahead, blocks, carve, variant, ...)                                                                         \
  {                                                                                                                                        \
    levels, HJ2D_BLOCKS(blocks), HJ2DFrame<levels, ahead, HJ2D_BLOCKS(blocks), carve, variant>::SMEM_BYTES,                                \
      HJ2DFrame<levels, ahead, HJ2D_BLOCKS(blocks), carve, variant>::LEAST_BYTES,                                                          \
      {__VA_ARGS__(const void *) HJStream2DFrame_Kernel<levels, ahead, HJ2D_BLOCKS(blocks), carve, variant>},                              \
    {                                                                                                                                      \
      nullptr, nullptr, nullptr                                                                                                            \
    }                                                                                                                                      \
  }
#define HJ2D_NONE3 nullptr, nullptr, nullptr,

const HJ2DKernel HJ2DFrameCorrectedKernels[]  = {HJ2DEntryFrame(6, 4, 8, 148, HJ2D_CORRECTED, HJ2D_NONE3),
                                                 HJ2DEntryFrame(7, 4, 8, 150, HJ2D_CORRECTED, HJ2D_NONE3),
                                                 HJ2DEntryFrame(8, 4, 8, 150, HJ2D_CORRECTED, HJ2D_NONE3),
                                                 {}};
const HJ2DKernel HJ2DFrameRestrictedKernels[] = {HJ2DEntryFrame(5, 4, 8, 132, HJ2D_RESTRICTED, HJ2D_NONE3 nullptr, ),
                                                 HJ2DEntryFrame(6, 4, 8, 140, HJ2D_RESTRICTED, HJ2D_NONE3 nullptr, ),
                                                 HJ2DEntryFrame(7, 4, 8, 140, HJ2D_RESTRICTED, HJ2D_NONE3 nullptr, ),
                                                 {}};

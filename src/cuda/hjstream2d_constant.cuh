/*
   2D exact streaming with a dictionary of rows: where the strip meets nothing but the base row, its coefficients are kernel parameters; steps that
   touch other rows or the domain's ends read the index. Instantiated for the star and for the box in hjstream2d_star.cu and hjstream2d_box.cu.
*/
#pragma once

#include "hjstream2d.cuh"

#if defined(__CUDACC__)

/* AHEAD: rows in flight; X_ROWS >= AHEAD, B_ROWS >= LEVELS + AHEAD: rows in shared memory, powers of two */
template <int BOX, int LEVELS, int AHEAD, int X_ROWS, int B_ROWS> struct HJ2DConstant {
  static constexpr int NN         = BOX ? 8 : 4;
  static constexpr int RING_BYTES = (X_ROWS + B_ROWS) * HJ2D_ROW_BYTES;
  static constexpr int SMEM_BYTES = RING_BYTES + HJ2D_TABLE_ROWS * (NN + 2) * 8;

  const HJ2DArgs &g;
  HJ2DWarp        w;
  double          a[LEVELS][2][4];           /* two rows of each level's input */
  double          e[BOX ? LEVELS : 1][2][2]; /* the points beside them */

  __device__ __forceinline__ HJ2DConstant(const HJ2DArgs &args, double *smem) : g(args), w(HJ2DLocate(args, smem))
  {
    double *table = smem + RING_BYTES / 8;

    for (int i = 0; i < X_ROWS + B_ROWS; i++) HJ2DClear(w.smem + i * HJ2D_ROW_BYTES, w.lane);
    if (g.nrows <= HJ2D_TABLE_ROWS) {
      for (int i = w.lane; i < g.nrows * (NN + 1); i += 32) table[i] = g.rows[i];
      for (int i = w.lane; i < g.nrows; i += 32) table[HJ2D_TABLE_ROWS * (NN + 1) + i] = g.dinv_rows[i];
    }
    __syncwarp();
  #pragma unroll
    for (int j = 0; j < LEVELS; j++) {
  #pragma unroll
      for (int v = 0; v < 4; v++) a[j][0][v] = a[j][1][v] = 0;
      if (BOX) e[j][0][0] = e[j][0][1] = e[j][1][0] = e[j][1][1] = 0;
    }
  }

  __device__ __forceinline__ unsigned XRow(int row) const { return w.smem + (row * HJ2D_ROW_BYTES & (X_ROWS - 1) * HJ2D_ROW_BYTES); }
  __device__ __forceinline__ unsigned BRow(int row) const { return w.smem + X_ROWS * HJ2D_ROW_BYTES + (row * HJ2D_ROW_BYTES & (B_ROWS - 1) * HJ2D_ROW_BYTES); }

  template <bool WHOLE> __device__ __forceinline__ void Fetch(int row)
  {
    if (row >= w.row_lo && row < w.row_hi) {
      if (WHOLE) {
        if (!g.zero_guess) HJ2DFetchAll(XRow(row), w.x, w.lane);
        HJ2DFetchAll(BRow(row), w.b, w.lane);
      } else {
        if (!g.zero_guess) HJ2DFetch(XRow(row), w.x, w.lane, 0, w.width);
        HJ2DFetch(BRow(row), w.b, w.lane, 0, w.width);
      }
      w.x += w.s->box_nx;
      w.b += w.s->box_nx;
    }
    HJ2DCopyCommit();
  }

  static __device__ __forceinline__ constexpr bool IsSingle(int j) { return LEVELS % 2 && j == LEVELS - 1; }

  /* Factors of the base row: residual levels share theirs, to need fewer constants */
  __device__ __forceinline__ double C(int j, int o) const { return g.c[HJ2DFactors(LEVELS, j) * (NN + 1) + o]; }

  __device__ __forceinline__ void Base(int j, int z, int row, double base[4]) const
  {
    if (j % 2 == 0) HJ2DGet(BRow(row - j - 1), w.lane, base);
    else {
  #pragma unroll
      for (int v = 0; v < 4; v++) base[v] = a[j - 1][z][v];
    }
  }

  __device__ __forceinline__ void MiddleEdges(int j, int z, double me[2]) const
  {
    if (BOX) {
      me[0] = e[j][z ^ 1][0];
      me[1] = e[j][z ^ 1][1];
    } else HJ2DEdges(a[j][z ^ 1], w.lane, me);
  }

  /* All of level j that does not need the newest row of its input */
  __device__ __forceinline__ void Begin(int j, int z, int row, double t[4]) const
  {
    const double *m = a[j][z ^ 1], *o = a[j][z];
    double        me[2];

    Base(j, z, row, t);
    MiddleEdges(j, z, me);
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      if (IsSingle(j)) t[v] *= g.single_dinv;
      t[v] = fma(C(j, 0), m[v], t[v]);
      if (BOX) {
        t[v] = fma(C(j, 1), v ? o[v - 1] : e[j][z][0], t[v]);
        t[v] = fma(C(j, 2), o[v], t[v]);
        t[v] = fma(C(j, 3), v < 3 ? o[v + 1] : e[j][z][1], t[v]);
        t[v] = fma(C(j, 4), v ? m[v - 1] : me[0], t[v]);
        t[v] = fma(C(j, 5), v < 3 ? m[v + 1] : me[1], t[v]);
      } else {
        t[v] = fma(C(j, 3), o[v], t[v]);
        t[v] = fma(C(j, 1), v ? m[v - 1] : me[0], t[v]);
        t[v] = fma(C(j, 2), v < 3 ? m[v + 1] : me[1], t[v]);
      }
    }
  }

  /* The newest row n replaces the older of the two, and becomes the level's result */
  __device__ __forceinline__ void End(int j, int z, const double t[4], double n[4])
  {
    double ne[2], out[4];

    if (BOX) {
      HJ2DEdges(n, w.lane, ne);
      e[j][z][0] = ne[0];
      e[j][z][1] = ne[1];
    }
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      if (BOX) out[v] = fma(C(j, 6), v ? n[v - 1] : ne[0], fma(C(j, 8), v < 3 ? n[v + 1] : ne[1], fma(C(j, 7), n[v], t[v])));
      else out[v] = fma(C(j, 4), n[v], t[v]);
    }
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      a[j][z][v] = n[v];
      n[v]       = out[v];
    }
  }

  /* Takes in one row: level j makes its row row - j - 1, from its rows in a[j][z] (older), a[j][z ^ 1] and the new one. Levels begin a pair early,
     so that results go where the rows that they replace have been */
  template <int z> __device__ __forceinline__ void Step(int row)
  {
    double n[4], t[LEVELS][4];

    HJ2DCopyWait<AHEAD - 2>();
    __syncwarp();
    Fetch<true>(row + AHEAD - 1);
    HJ2DGet(g.zero_guess ? BRow(row) : XRow(row), w.lane, n);
  #pragma unroll
    for (int v = 0; v < 4; v++) n[v] *= g.scale;
    Begin(0, z, row, t[0]);
    if (LEVELS > 1) Begin(1, z, row, t[1]);
  #pragma unroll
    for (int j = 0; j < LEVELS; j += 2) {
      if (j + 2 < LEVELS) Begin(j + 2, z, row, t[j + 2]);
      if (j + 3 < LEVELS) Begin(j + 3, z, row, t[j + 3]);
      End(j, z, t[j], n);
      if (j + 1 < LEVELS) End(j + 1, z, t[j + 1], n);
    }
    HJ2DPut(w, XRow(row), row - LEVELS, n);
  }

  /* Rows of the dictionary of the lane's four points, one byte each; the base row where the operator is not known (of no matter) */
  __device__ __forceinline__ unsigned Index(int row) const
  {
    const unsigned char *p = g.index + (long long)(row - g.coef_lo[1]) * g.coef_nx + (w.x0 + 4 * w.lane - g.coef_lo[0]);
    const bool           known = g.nrows > 1 && row >= g.coef_lo[1] && row < g.coef_hi[1];
    unsigned             id = 0;
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      const int c = w.x0 + 4 * w.lane + v;
      id |= (unsigned)(known && c >= g.coef_lo[0] && c < g.coef_hi[0] ? p[v] : g.base) << 8 * v;
    }
    return id;
  }

  /* Level j at the lane's points, with rows of the dictionary by their index */
  __device__ __forceinline__ void Look(const double *rows, const double *dinv_rows, int j, unsigned id, const double n[4], const double ne[2], const double me[2], const double base[4], double out[4]) const
  {
    const double *m = a[j][1], *o = a[j][0];
    double        q[NN + 1], d = 0;
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      const unsigned i = id >> 8 * v & 255;
      if (v == 0 || i != (id >> 8 * (v - 1) & 255)) {
        for (int k = 0; k <= NN; k++) q[k] = rows[i * (NN + 1) + k];
        d = dinv_rows[i];
      }
      double s = q[0] * m[v];
      if (BOX) {
        s = fma(q[1], v ? o[v - 1] : e[j][0][0], fma(q[2], o[v], fma(q[3], v < 3 ? o[v + 1] : e[j][0][1], s)));
        s = fma(q[4], v ? m[v - 1] : me[0], fma(q[5], v < 3 ? m[v + 1] : me[1], s));
        s = fma(q[6], v ? n[v - 1] : ne[0], fma(q[7], n[v], fma(q[8], v < 3 ? n[v + 1] : ne[1], s)));
      } else {
        s = fma(q[1], v ? m[v - 1] : me[0], fma(q[2], v < 3 ? m[v + 1] : me[1], fma(q[3], o[v], fma(q[4], n[v], s))));
      }
      if (IsSingle(j)) out[v] = fma(g.single, d * base[v] - s, m[v]);
      else if (j % 2 == 0) out[v] = (d * base[v] - s) * g.dinv_base_inverse;
      else out[v] = fma(g.sum[j / 2] * g.dinv_base, m[v], fma(-g.product[j / 2] * g.dinv_base, s, base[v]));
    }
  }

  /* The first level's input: with a zero guess w_1 D^-1 b; 0 where there is nothing */
  __device__ __forceinline__ void LookInput(const double *dinv_rows, int row, unsigned id, double n[4]) const
  {
    HJ2DGet(g.zero_guess ? BRow(row) : XRow(row), w.lane, n);
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      if (g.zero_guess) n[v] *= g.w0 * dinv_rows[id >> 8 * v & 255];
      if (row < w.row_lo || row >= w.row_hi || 4 * w.lane + v >= w.width) n[v] = 0;
    }
  }

  /* One step of the general kind, on a[.][0] and a[.][1], which then change places. ids: index of rows row, row - 1, ... */
  __device__ __forceinline__ void LookStep(const double *rows, const double *dinv_rows, int row, const unsigned ids[LEVELS + 1])
  {
    double n[4], t[LEVELS][4];

    HJ2DCopyWait<AHEAD - 2>();
    __syncwarp();
    Fetch<false>(row + AHEAD - 1);
    LookInput(dinv_rows, row, ids[0], n);
  #pragma unroll
    for (int j = 0; j < LEVELS; j++) {
      const bool inside = row - j - 1 >= w.s->avail_lo[1] && row - j - 1 < w.s->avail_hi[1];
      double     base[4], me[2], ne[2] = {0, 0}, in[4];

      if (j % 2) {
  #pragma unroll
        for (int v = 0; v < 4; v++) base[v] = t[j - 1][v];
      } else Base(j, 0, row, base);
      MiddleEdges(j, 0, me);
      if (BOX) HJ2DEdges(n, w.lane, ne);
  #pragma unroll
      for (int v = 0; v < 4; v++) in[v] = n[v];
      Look(rows, dinv_rows, j, ids[j + 1], in, ne, me, base, n);
  #pragma unroll
      for (int v = 0; v < 4; v++) {
        if (!inside || 4 * w.lane + v >= w.width) n[v] = 0;
        t[j][v]    = a[j][0][v];
        a[j][0][v] = a[j][1][v];
        a[j][1][v] = in[v];
      }
      if (BOX) {
  #pragma unroll
        for (int v = 0; v < 2; v++) {
          e[j][0][v] = e[j][1][v];
          e[j][1][v] = ne[v];
        }
      }
    }
    HJ2DPut(w, XRow(row), row - LEVELS, n);
  }

  __device__ __forceinline__ void LookRows(int row, int end)
  {
    extern __shared__ __align__(16) double s_rows[];
    const double *table = s_rows + RING_BYTES / 8;
    const double *rows = g.nrows <= HJ2D_TABLE_ROWS ? table : g.rows, *dinv_rows = g.nrows <= HJ2D_TABLE_ROWS ? table + HJ2D_TABLE_ROWS * (NN + 1) : g.dinv_rows;
    unsigned      ids[LEVELS + 1];
  #pragma unroll
    for (int j = 0; j <= LEVELS; j++) ids[j] = Index(row - j);
    for (; row < end; row++) {
      const unsigned ahead = Index(row + 1);

      LookStep(rows, dinv_rows, row, ids);
  #pragma unroll
      for (int j = LEVELS; j > 0; j--) ids[j] = ids[j - 1];
      ids[0] = ahead;
    }
  }

  /* This lane's part of the flags of the strip in the group of row */
  __device__ __forceinline__ int Flag(int row) const
  {
    const int i = ((w.x0 - g.coef_lo[0]) >> 5) + w.lane, k = (row >> 4) - g.flag_y0;

    if (!g.flags || i < 0 || i >= g.flag_nx || k < 0 || k > ((g.coef_hi[1] - 1) >> 4) - g.flag_y0 || i * HJ2D_GROUP_COLS + g.coef_lo[0] >= w.x0 + w.width) return 0;
    return g.flags[(long long)k * g.flag_nx + i];
  }

  __device__ __forceinline__ void Run()
  {
    const int start = w.row_lo & ~1, end = w.y1 + LEVELS;
    const int top   = w.y1 + g.margin > w.s->avail_hi[1] ? w.s->avail_hi[1] & ~1 : end;
    /* steps before until look at the index, and steps from top on */
    int until = w.width < HJ2D_COLUMNS ? end : w.y0 - g.margin < w.s->avail_lo[1] ? (w.row_lo + LEVELS + 1) & ~1 : start;
    int ahead = Flag(start);

    for (int i = start; i < start + AHEAD - 1; i++) Fetch<false>(i);
    for (int row = start, next; row < end; row = next) {
      next = min(end, (row | (HJ2D_GROUP_ROWS - 1)) + 1);
      if (row == start || row % HJ2D_GROUP_ROWS == 0) {
        if (__any_sync(0xffffffffu, ahead)) until = max(until, (next + LEVELS + 1) & ~1);
        ahead = Flag(row + HJ2D_GROUP_ROWS);
      }
      if (row < until) next = min(next, until);
      else if (row < top) next = min(next, top);
      if (row < until || row >= top) LookRows(row, next);
      else {
        for (; row < next; row += 2) {
          Step<0>(row);
          Step<1>(row + 1);
        }
        next = row;
      }
    }
  }
};

template <int BOX, int LEVELS, int AHEAD, int X_ROWS, int B_ROWS, int BLOCKS> __global__ void __launch_bounds__(32, BLOCKS) HJStream2DConstant_Kernel(const __grid_constant__ HJ2DArgs g)
{
  extern __shared__ __align__(16) double s_rows[];
  static_assert(X_ROWS >= AHEAD && B_ROWS >= LEVELS + AHEAD, "rows in shared memory");

  HJ2DConstant<BOX, LEVELS, AHEAD, X_ROWS, B_ROWS>(g, s_rows).Run();
}

/* Levels, rows in flight, rows of x and of b in shared memory, blocks a multiprocessor */
#define HJ2DEntry(box, levels, ahead, x_rows, b_rows, blocks) {levels, (const void *)HJStream2DConstant_Kernel<box, levels, ahead, x_rows, b_rows, blocks>, HJ2DConstant<box, levels, ahead, x_rows, b_rows>::SMEM_BYTES}

#endif

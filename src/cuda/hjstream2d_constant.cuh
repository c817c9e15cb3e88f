/*
   2D exact streaming with a dictionary of rows: where the strip meets nothing but the base row, its coefficients are kernel parameters; steps that
   touch other rows or the domain's ends read the index. Instantiated for the star and for the box in hjstream2d_star.cu and hjstream2d_box.cu.
*/
#pragma once

#include "hjstream2d.cuh"

#if defined(__CUDACC__)

/* LEVELS: even; AHEAD: rows in flight; X_ROWS >= AHEAD, B_ROWS >= LEVELS + AHEAD - 1: rows in shared memory, powers of two */
template <int BOX, int LEVELS, int AHEAD, int X_ROWS, int B_ROWS> struct HJ2DConstant {
  static constexpr int NN         = BOX ? 8 : 4;
  static constexpr int SMEM_BYTES = (X_ROWS + B_ROWS) * HJ2D_COLUMNS * 8;

  const HJ2DArgs &g;
  HJ2DWarp        w;
  double         *xs, *bs;
  long long       next; /* offset of the next row to fetch in x and b, at column lane */
  double          a[LEVELS][2][4];           /* two rows of each level's input */
  double          e[BOX ? LEVELS : 1][2][2]; /* the points beside them */

  __device__ __forceinline__ HJ2DConstant(const HJ2DArgs &args, double *smem) : g(args), w(HJ2DLocate(args)), xs(smem), bs(smem + X_ROWS * HJ2D_COLUMNS)
  {
    for (int i = w.lane; i < (X_ROWS + B_ROWS) * HJ2D_COLUMNS; i += 32) smem[i] = 0;
    __syncwarp();
    next = (long long)(w.row_lo - w.s->box_lo[1]) * w.s->box_nx + (w.x0 - w.s->box_lo[0]) + w.lane;
  #pragma unroll
    for (int j = 0; j < LEVELS; j++) {
  #pragma unroll
      for (int v = 0; v < 4; v++) a[j][0][v] = a[j][1][v] = 0;
      if (BOX) e[j][0][0] = e[j][0][1] = e[j][1][0] = e[j][1][1] = 0;
    }
  }

  __device__ __forceinline__ double *XRow(int row) const { return xs + (row & (X_ROWS - 1)) * HJ2D_COLUMNS; }
  __device__ __forceinline__ double *BRow(int row) const { return bs + (row & (B_ROWS - 1)) * HJ2D_COLUMNS; }

  __device__ __forceinline__ void Fetch(int row)
  {
    double *px = XRow(row) + HJ2DPlace(w.lane), *pb = BRow(row) + HJ2DPlace(w.lane);

    if (row >= w.row_lo && row < w.row_hi) {
      if (!g.zero_guess) HJ2DFetch(px, w.s->x + next, w.lane, 0, w.width);
      HJ2DFetch(pb, w.s->b + next, w.lane, 0, w.width);
      next += w.s->box_nx;
    } else {
      HJ2DClear(px);
      HJ2DClear(pb);
    }
    HJ2DCopyCommit();
  }

  /* Row of the dictionary of four points; the base row where the operator is not known (of no matter) */
  __device__ __forceinline__ void Index(int row, int id[4]) const
  {
    const unsigned char *p = g.index + (long long)(row - g.coef_lo[1]) * g.coef_nx + (w.x0 + 4 * w.lane - g.coef_lo[0]);
    const bool           known = g.index && row >= g.coef_lo[1] && row < g.coef_hi[1];
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      const int c = w.x0 + 4 * w.lane + v;
      id[v]       = known && c >= g.coef_lo[0] && c < g.coef_hi[0] ? p[v] : g.base;
    }
  }

  __device__ __forceinline__ double Old(int j, int z, int i) const { return i < 0 ? e[j][z][0] : i > 3 ? e[j][z][1] : a[j][z][i]; }

  /* One level on its next row, in general: m is its middle row, n the newest row of its input, base b or the x of the pair */
  __device__ __forceinline__ void SlowLevel(int j, int z, int row, const double n[4], const double ne[2], const double me[2], const double base[4], double out[4]) const
  {
    const bool inside = row >= w.s->avail_lo[1] && row < w.s->avail_hi[1];
    int        id[4];

    Index(row, id);
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      const double *q = g.rows + id[v] * (NN + 1), *m = a[j][z ^ 1];
      const double  left = v ? m[v - 1] : me[0], right = v < 3 ? m[v + 1] : me[1];
      double        t = q[0] * m[v];

      if (BOX) {
        t = fma(q[1], Old(j, z, v - 1), fma(q[2], Old(j, z, v), fma(q[3], Old(j, z, v + 1), t)));
        t = fma(q[4], left, fma(q[5], right, t));
        t = fma(q[6], v ? n[v - 1] : ne[0], fma(q[7], n[v], fma(q[8], v < 3 ? n[v + 1] : ne[1], t)));
      } else {
        t = fma(q[1], left, fma(q[2], right, fma(q[3], a[j][z][v], fma(q[4], n[v], t))));
      }
      if (j % 2 == 0) t = (g.dinv_rows[id[v]] * base[v] - t) * g.dinv_base_inverse;
      else if (g.half && j == LEVELS - 1) t = fma(g.c[j][0], m[v], base[v]);
      else t = fma(g.sum[j / 2] * g.dinv_base, m[v], fma(-g.product[j / 2] * g.dinv_base, t, base[v]));
      out[v] = inside && 4 * w.lane + v < w.width ? t : 0.;
    }
  }

  /* The same with the base row and nothing outside; the newest row comes last */
  __device__ __forceinline__ void FastLevel(int j, int z, const double n[4], const double ne[2], const double me[2], const double base[4], double out[4]) const
  {
    const double *m = a[j][z ^ 1];
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      const double left = v ? m[v - 1] : me[0], right = v < 3 ? m[v + 1] : me[1];
      double       t = fma(g.c[j][0], m[v], base[v]);

      if (BOX) {
        t = fma(g.c[j][1], Old(j, z, v - 1), t);
        t = fma(g.c[j][2], a[j][z][v], t);
        t = fma(g.c[j][3], Old(j, z, v + 1), t);
        t = fma(g.c[j][4], left, t);
        t = fma(g.c[j][5], right, t);
        t = fma(g.c[j][6], v ? n[v - 1] : ne[0], t);
        t = fma(g.c[j][8], v < 3 ? n[v + 1] : ne[1], t);
        out[v] = fma(g.c[j][7], n[v], t);
      } else {
        t      = fma(g.c[j][1], left, t);
        t      = fma(g.c[j][2], right, t);
        t      = fma(g.c[j][3], a[j][z][v], t);
        out[v] = fma(g.c[j][4], n[v], t);
      }
    }
  }

  /* First level's input from row: x, or with a zero guess w_1 D^-1 b */
  template <bool SLOW> __device__ __forceinline__ void Input(int row, double n[4]) const
  {
    HJ2DGet(g.zero_guess ? BRow(row) : XRow(row), w.lane, n);
    if (!SLOW) {
  #pragma unroll
      for (int v = 0; v < 4; v++) n[v] *= g.scale;
    } else if (g.zero_guess) {
      int id[4];

      Index(row, id);
  #pragma unroll
      for (int v = 0; v < 4; v++) n[v] *= g.w0 * g.dinv_rows[id[v]];
    }
  }

  /* Takes in one row: every level j makes its row row - j - 1, from its rows in a[j][z] (older), a[j][z ^ 1] and the new one, which replaces the older */
  template <int z, bool SLOW> __device__ __forceinline__ void Step(int row)
  {
    double n[4], ne[2] = {0, 0}, old[4];

    HJ2DCopyWait<AHEAD - 2>();
    __syncwarp();
    Fetch(row + AHEAD - 1);
    Input<SLOW>(row, n);
  #pragma unroll
    for (int j = 0; j < LEVELS; j++) {
      double out[4], me[2], base[4];

      if (BOX) {
        me[0] = e[j][z ^ 1][0];
        me[1] = e[j][z ^ 1][1];
        HJ2DEdges(n, w.lane, ne);
      } else if (!(j == LEVELS - 1 && g.half)) HJ2DEdges(a[j][z ^ 1], w.lane, me);
      if (j % 2 == 0) HJ2DGet(BRow(row - j - 1), w.lane, base);
      else {
  #pragma unroll
        for (int v = 0; v < 4; v++) base[v] = old[v];
      }
      if (SLOW) SlowLevel(j, z, row - j - 1, n, ne, me, base, out);
      else if (j == LEVELS - 1 && g.half) {
  #pragma unroll
        for (int v = 0; v < 4; v++) out[v] = fma(g.c[j][0], a[j][z ^ 1][v], base[v]);
      } else FastLevel(j, z, n, ne, me, base, out);
      if (BOX) {
        e[j][z][0] = ne[0];
        e[j][z][1] = ne[1];
      }
  #pragma unroll
      for (int v = 0; v < 4; v++) {
        old[v]     = a[j][z][v];
        a[j][z][v] = n[v];
        n[v]       = out[v];
      }
    }
    HJ2DPut(w, XRow(row), row - LEVELS, n);
  }

  __device__ __forceinline__ void Swap()
  {
  #pragma unroll
    for (int j = 0; j < LEVELS; j++) {
  #pragma unroll
      for (int v = 0; v < 4; v++) {
        const double t = a[j][0][v];
        a[j][0][v]     = a[j][1][v];
        a[j][1][v]     = t;
      }
      if (BOX) {
  #pragma unroll
        for (int v = 0; v < 2; v++) {
          const double t = e[j][0][v];
          e[j][0][v]     = e[j][1][v];
          e[j][1][v]     = t;
        }
      }
    }
  }

  /* This lane's part of the flags of the strip in the group of row */
  __device__ __forceinline__ int Flag(int row) const
  {
    const int i = ((w.x0 - g.coef_lo[0]) >> 5) + w.lane, k = (row >> 4) - g.flag_y0;

    if (!g.flags || i < 0 || i >= g.flag_nx || k < 0 || k > (g.coef_hi[1] - 1 >> 4) - g.flag_y0 || i * HJ2D_GROUP_COLS + g.coef_lo[0] >= w.x0 + w.width) return 0;
    return g.flags[(long long)k * g.flag_nx + i];
  }

  __device__ __forceinline__ void Run()
  {
    const int start = w.row_lo & ~1, end = w.y1 + LEVELS;
    const int top = w.y1 + g.margin > w.s->avail_hi[1] ? w.s->avail_hi[1] & ~1 : end;
    int       until = w.width < HJ2D_COLUMNS ? end : w.y0 - g.margin < w.s->avail_lo[1] ? (w.row_lo + LEVELS + 1) & ~1 : start; /* steps before are slow, and from top on */
    int       ahead = Flag(start);

    for (int i = start; i < start + AHEAD - 1; i++) Fetch(i);
    for (int row = start, next; row < end; row = next) {
      next = min(end, (row | (HJ2D_GROUP_ROWS - 1)) + 1);
      if (row == start || row % HJ2D_GROUP_ROWS == 0) {
        if (__any_sync(0xffffffffu, ahead)) until = max(until, next + LEVELS);
        ahead = Flag(row + HJ2D_GROUP_ROWS);
      }
      if (row < until) next = min(next, until);
      else if (row < top) next = min(next, top);
      if (row < until || row >= top) {
        for (; row < next; row++) {
          Step<0, true>(row);
          Swap();
        }
      } else {
        for (; row < next; row += 2) {
          Step<0, false>(row);
          Step<1, false>(row + 1);
        }
        next = row;
      }
    }
  }
};

template <int BOX, int LEVELS, int AHEAD, int X_ROWS, int B_ROWS, int BLOCKS> __global__ void __launch_bounds__(32, BLOCKS) HJStream2DConstant_Kernel(const __grid_constant__ HJ2DArgs g)
{
  extern __shared__ __align__(16) double s_rows[];
  static_assert(X_ROWS >= AHEAD && B_ROWS >= LEVELS + AHEAD - 1, "rows in shared memory");

  HJ2DConstant<BOX, LEVELS, AHEAD, X_ROWS, B_ROWS>(g, s_rows).Run();
}

template <int BOX, int LEVELS, int AHEAD, int X_ROWS, int B_ROWS, int BLOCKS> constexpr HJ2DKernel HJ2DConstantEntry()
{
  return {LEVELS, (const void *)HJStream2DConstant_Kernel<BOX, LEVELS, AHEAD, X_ROWS, B_ROWS, BLOCKS>, HJ2DConstant<BOX, LEVELS, AHEAD, X_ROWS, B_ROWS>::SMEM_BYTES};
}

#endif

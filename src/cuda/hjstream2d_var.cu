/*
   2D exact streaming, 5-point star with one array per offset, or per upper offset where the matrix is symmetric, and the inverse diagonal. All arrays
   stream through shared memory. A point outside the domain has inverse diagonal 0 there, which keeps it at 0; there is no separate path for ends.
*/
#include "hjstream2d.cuh"

/* LEVELS: even; AHEAD: rows in flight; X_ROWS >= AHEAD, a power of two; ROWS >= LEVELS + AHEAD, one more if symmetric */
template <int SYMMETRIC, int LEVELS, int AHEAD, int X_ROWS, int ROWS> struct HJ2DVariable {
  static constexpr int NARRAYS    = SYMMETRIC ? 4 : 6; /* b, inverse diagonal, then E N or W E S N */
  static constexpr int ROW        = NARRAYS * HJ2D_COLUMNS;
  static constexpr int SMEM_BYTES = (X_ROWS * HJ2D_COLUMNS + ROWS * ROW) * 8;

  const HJ2DArgs &g;
  HJ2DWarp        w;
  double         *xs, *rs;
  int             coef_c0, coef_c1, slot; /* columns with coefficients; place of the current row in the ring */
  long long       next, next_coef;        /* offset of the next row to fetch, at column lane */
  double          a[LEVELS][2][4];        /* two rows of each level's input */

  __device__ __forceinline__ HJ2DVariable(const HJ2DArgs &args, double *smem) : g(args), w(HJ2DLocate(args)), xs(smem), rs(smem + X_ROWS * HJ2D_COLUMNS), slot(0)
  {
    for (int i = w.lane; i < SMEM_BYTES / 8; i += 32) smem[i] = 0;
    __syncwarp();
    coef_c0   = max(0, g.coef_lo[0] - w.x0);
    coef_c1   = min(w.width, g.coef_hi[0] - w.x0);
    next      = (long long)(w.row_lo - w.s->box_lo[1]) * w.s->box_nx + (w.x0 - w.s->box_lo[0]) + w.lane;
    next_coef = (long long)(w.row_lo - g.coef_lo[1]) * g.coef_nx + (w.x0 - g.coef_lo[0]) + w.lane;
  #pragma unroll
    for (int j = 0; j < LEVELS; j++) {
  #pragma unroll
      for (int v = 0; v < 4; v++) a[j][0][v] = a[j][1][v] = 0;
    }
  }

  __device__ __forceinline__ double *XRow(int row) const { return xs + (row & (X_ROWS - 1)) * HJ2D_COLUMNS; }

  /* The ring's row that lies back rows behind the current one */
  __device__ __forceinline__ double *Row(int back) const
  {
    const int i = slot - back;
    return rs + (i < 0 ? i + ROWS : i >= ROWS ? i - ROWS : i) * ROW;
  }

  __device__ __forceinline__ void Fetch(int row, double *ring)
  {
    double *px = XRow(row) + HJ2DPlace(w.lane), *p = ring + HJ2DPlace(w.lane);

    if (row < w.row_hi) {
      if (!g.zero_guess) HJ2DFetch(px, w.s->x + next, w.lane, 0, w.width);
      HJ2DFetch(p, w.s->b + next, w.lane, 0, w.width);
      next += w.s->box_nx;
    } else {
      HJ2DClear(px);
      HJ2DClear(p);
    }
    if (row < w.row_hi && row >= g.coef_lo[1] && row < g.coef_hi[1]) {
      HJ2DFetch(p + HJ2D_COLUMNS, g.dinv + next_coef, w.lane, coef_c0, coef_c1);
  #pragma unroll
      for (int o = 0; o < NARRAYS - 2; o++) HJ2DFetch(p + (2 + o) * HJ2D_COLUMNS, g.value[o] + next_coef, w.lane, coef_c0, coef_c1);
    } else {
  #pragma unroll
      for (int o = 1; o < NARRAYS; o++) HJ2DClear(p + o * HJ2D_COLUMNS);
    }
    next_coef += g.coef_nx;
    HJ2DCopyCommit();
  }

  /* Sum of the neighbours' terms in level j's middle row, back rows behind; nearer holds the symmetric north coefficients there, then those one row back */
  __device__ __forceinline__ void Sum(int j, int z, int back, const double n[4], double nearer[4], double sum[4]) const
  {
    const double *row = Row(back) + 2 * HJ2D_COLUMNS, *m = a[j][z ^ 1];
    double        me[2], west[4], east[4], south[4], north[4];

    HJ2DEdges(m, w.lane, me);
    if (SYMMETRIC) {
      double ee[2];

      HJ2DGet(row, w.lane, east);
      HJ2DGet(Row(back + 1) + 3 * HJ2D_COLUMNS, w.lane, south);
      ee[0] = __shfl_up_sync(0xffffffffu, east[3], 1);
  #pragma unroll
      for (int v = 0; v < 4; v++) {
        west[v]   = v ? east[v - 1] : ee[0];
        north[v]  = nearer[v];
        nearer[v] = south[v];
      }
    } else {
      HJ2DGet(row, w.lane, west);
      HJ2DGet(row + HJ2D_COLUMNS, w.lane, east);
      HJ2DGet(row + 2 * HJ2D_COLUMNS, w.lane, south);
      HJ2DGet(row + 3 * HJ2D_COLUMNS, w.lane, north);
    }
  #pragma unroll
    for (int v = 0; v < 4; v++) {
      double t = west[v] * (v ? m[v - 1] : me[0]);
      t        = fma(east[v], v < 3 ? m[v + 1] : me[1], t);
      t        = fma(south[v], a[j][z][v], t);
      sum[v]   = fma(north[v], n[v], t);
    }
  }

  __device__ __forceinline__ void Input(int row, double n[4]) const
  {
    if (g.zero_guess) {
      double d[4];

      HJ2DGet(Row(0), w.lane, n);
      HJ2DGet(Row(0) + HJ2D_COLUMNS, w.lane, d);
  #pragma unroll
      for (int v = 0; v < 4; v++) n[v] *= g.w0 * d[v];
    } else HJ2DGet(XRow(row), w.lane, n);
  }

  /* Takes in one row: every level j makes its row row - j - 1, from its rows in a[j][z] (older), a[j][z ^ 1] and the new one, which replaces the older */
  template <int z> __device__ __forceinline__ void Step(int row)
  {
    double n[4], old[4], nearer[4];

    HJ2DCopyWait<AHEAD - 2>();
    __syncwarp();
    Fetch(row + AHEAD - 1, Row(1 - AHEAD));
    Input(row, n);
    if (SYMMETRIC) HJ2DGet(Row(1) + 3 * HJ2D_COLUMNS, w.lane, nearer);
  #pragma unroll
    for (int j = 0; j < LEVELS; j++) {
      const double *m = a[j][z ^ 1];
      double        out[4], d[4], sum[4], b[4];

      if (j == LEVELS - 1 && g.half) {
  #pragma unroll
        for (int v = 0; v < 4; v++) out[v] = fma(g.sum[j / 2], m[v], old[v]);
      } else {
        Sum(j, z, j + 1, n, nearer, sum);
        HJ2DGet(Row(j + 1) + HJ2D_COLUMNS, w.lane, d);
        if (j % 2 == 0) HJ2DGet(Row(j + 1), w.lane, b);
  #pragma unroll
        for (int v = 0; v < 4; v++) {
          if (j % 2 == 0) out[v] = fma(d[v], b[v] - sum[v], -m[v]);
          else out[v] = fma(-g.product[j / 2] * sum[v], d[v], fma(g.sum[j / 2] - g.product[j / 2], m[v], old[v]));
        }
      }
  #pragma unroll
      for (int v = 0; v < 4; v++) {
        old[v]     = a[j][z][v];
        a[j][z][v] = n[v];
        n[v]       = out[v];
      }
    }
    HJ2DPut(w, XRow(row), row - LEVELS, n);
    slot = slot + 1 == ROWS ? 0 : slot + 1;
  }

  __device__ __forceinline__ void Run()
  {
  #pragma unroll
    for (int i = 0; i < AHEAD - 1; i++) Fetch(w.row_lo + i, Row(-i));
    for (int row = w.row_lo; row < w.y1 + LEVELS; row += 2) {
      Step<0>(row);
      Step<1>(row + 1);
    }
  }
};

template <int SYMMETRIC, int LEVELS, int AHEAD, int X_ROWS, int ROWS, int BLOCKS> __global__ void __launch_bounds__(32, BLOCKS) HJStream2DVariable_Kernel(const __grid_constant__ HJ2DArgs g)
{
  extern __shared__ __align__(16) double s_rows[];
  static_assert(X_ROWS >= AHEAD && ROWS >= LEVELS + AHEAD + SYMMETRIC, "rows in shared memory");

  HJ2DVariable<SYMMETRIC, LEVELS, AHEAD, X_ROWS, ROWS>(g, s_rows).Run();
}

/* Levels, rows in flight, rows of x and of the rest in shared memory, blocks a multiprocessor */
#define HJ2DEntry(symmetric, levels, ahead, x_rows, rows, blocks) {levels, (const void *)HJStream2DVariable_Kernel<symmetric, levels, ahead, x_rows, rows, blocks>, HJ2DVariable<symmetric, levels, ahead, x_rows, rows>::SMEM_BYTES}

const HJ2DKernel HJ2DVariableKernels[]  = {HJ2DEntry(0, 2, 4, 4, 6, 5), HJ2DEntry(0, 4, 4, 4, 8, 4), HJ2DEntry(0, 6, 3, 4, 9, 3), {0, nullptr, 0}};
const HJ2DKernel HJ2DSymmetricKernels[] = {HJ2DEntry(1, 2, 4, 4, 7, 7), HJ2DEntry(1, 4, 3, 4, 8, 6), HJ2DEntry(1, 6, 3, 4, 10, 5), {0, nullptr, 0}};

/*
   2D exact streaming, 5-point star with one array per offset, or per upper offset where the matrix is symmetric, 9-point box with those,
   and the inverse diagonal. All arrays stream through shared memory. A point outside the domain has inverse diagonal 0 there, which keeps
   it at 0; there is no separate path for ends.
*/
#include "hjstream2d.cuh"

/* AHEAD, BLOCKS, CARVE: as in hjstream2d_constant.cuh; BOX: symmetric alone; WRAP: for sweeps that wrap */
template <int SYMMETRIC, bool BOX, int LEVELS, int AHEAD, int BLOCKS, int CARVE, bool WRAP> struct HJ2DVariable {
  static constexpr int X_ROWS     = 4;
  static constexpr int ROWS       = LEVELS + AHEAD + SYMMETRIC; /* the symmetric kernel looks one row further back */
  static constexpr int NARRAYS    = SYMMETRIC && !BOX ? 4 : 6;  /* b, inverse diagonal, then E N, W E S N, or of a box E NW N NE */
  static constexpr int NORTH      = BOX ? 3 : 1;                /* arrays that lead to the row above */
  static constexpr int SLOT_BYTES = NARRAYS * HJ2D_ROW_BYTES;
  static constexpr int RING_BYTES = X_ROWS * HJ2D_ROW_BYTES + ROWS * SLOT_BYTES;
  static constexpr int SMEM_BYTES = HJ2DShare(BLOCKS, CARVE);
  static_assert(X_ROWS >= AHEAD && RING_BYTES <= SMEM_BYTES, "shared memory");
  static_assert(SYMMETRIC || !BOX, "a box's arrays are those of the upper half");

  const HJ2DArgs &g;
  HJ2DWarp        w;
  int             coef_c0, coef_c1, slot; /* columns with coefficients; place of the current row in the ring */
  long long       coef;                   /* offset of the next row of coefficients to fetch, column lane */
  double          a[LEVELS][2][4];        /* two rows of each level's input */
  double          e[LEVELS][2][2];        /* of a box: the points beside the lane's in these rows */

  __device__ __forceinline__ HJ2DVariable(const HJ2DArgs &args, void *smem) : g(args), w(HJ2DLocate<false>(args, smem)), slot(0)
  {
    for (int i = 0; i < RING_BYTES / HJ2D_ROW_BYTES; i++) HJ2DClear(w.smem + i * HJ2D_ROW_BYTES, w.lane);
    __syncwarp();
    coef_c0 = max(0, g.coef_lo[0] - w.x0);
    coef_c1 = min(w.width, g.coef_hi[0] - w.x0);
    coef    = (long long)(w.row_lo - g.coef_lo[1]) * g.coef_nx + (w.x0 - g.coef_lo[0]) + w.lane;
#pragma unroll
    for (int j = 0; j < LEVELS; j++) {
#pragma unroll
      for (int v = 0; v < 4; v++) a[j][0][v] = a[j][1][v] = 0;
      for (int v = 0; v < 2; v++) e[j][0][v] = e[j][1][v] = 0;
    }
  }

  __device__ __forceinline__ unsigned XRow(int row) const
  {
    return w.smem + (row * HJ2D_ROW_BYTES & (X_ROWS - 1) * HJ2D_ROW_BYTES);
  }

  /* Row of array i that lies back rows behind the current one */
  __device__ __forceinline__ unsigned Row(int i, int back) const
  {
    const int k = slot - back;
    return w.smem + (X_ROWS + i) * HJ2D_ROW_BYTES + (k < 0 ? k + ROWS : k >= ROWS ? k - ROWS : k) * SLOT_BYTES;
  }

  __device__ __forceinline__ void FetchVector(unsigned to, const double *src) const
  {
    if (WRAP) HJ2DFetchShifted(to, src, w.lane, w.shift);
    else HJ2DFetch(to, src, w.lane, 0, w.width);
  }

  __device__ __forceinline__ void Fetch(int row, int back)
  {
    if (row < w.row_hi) {
      if (row == w.seam) HJ2DCross<true>(w);
      if (!g.zero_guess) FetchVector(XRow(row), w.x);
      FetchVector(Row(0, back), w.b);
      w.x += w.s->box_nx;
      w.b += w.s->box_nx;
    } else {
      HJ2DClear(XRow(row), w.lane);
      HJ2DClear(Row(0, back), w.lane);
    }
    if (row < w.row_hi && row >= g.coef_lo[1] && row < g.coef_hi[1]) {
      HJ2DFetch(Row(1, back), g.dinv + coef, w.lane, coef_c0, coef_c1);
#pragma unroll
      for (int o = 0; o < NARRAYS - 2; o++) HJ2DFetch(Row(2 + o, back), g.value[o] + coef, w.lane, coef_c0, coef_c1);
    } else {
#pragma unroll
      for (int i = 1; i < NARRAYS; i++) HJ2DClear(Row(i, back), w.lane);
    }
    coef += g.coef_nx;
    HJCopyCommit();
  }

  /* Sum of the neighbours' terms on level j's middle row; north: the symmetric coefficients of the row, then those one row back */
  __device__ __forceinline__ void Sum(int j, int z, const double n[4], double north[4], double sum[4]) const
  {
    const double *m = a[j][z ^ 1];
    double        me[2], west[4], east[4], south[4];

    HJ2DEdges(m, w.lane, me);
    HJ2DGet(Row(SYMMETRIC ? 2 : 3, j + 1), w.lane, east);
    if (SYMMETRIC) {
      west[0] = __shfl_up_sync(0xffffffffu, east[3], 1);
#pragma unroll
      for (int v = 1; v < 4; v++) west[v] = east[v - 1];
      HJ2DGet(Row(3, j + 2), w.lane, south);
    } else {
      HJ2DGet(Row(2, j + 1), w.lane, west);
      HJ2DGet(Row(4, j + 1), w.lane, south);
      HJ2DGet(Row(5, j + 1), w.lane, north);
    }
#pragma unroll
    for (int v = 0; v < 4; v++) {
      double t = west[v] * (v ? m[v - 1] : me[0]);
      t        = fma(east[v], v < 3 ? m[v + 1] : me[1], t);
      t        = fma(south[v], a[j][z][v], t);
      sum[v]   = fma(north[v], n[v], t);
      north[v] = south[v];
    }
  }

  /* The same of a box; ne: the points beside the lane's in the new row. north: NW, N, NE. Beside the strip there is only x = 0, so that
     coefficients do not matter there */
  __device__ __forceinline__ void SumBox(int j, int z, const double n[4], const double ne[2], double north[3][4], double sum[4]) const
  {
    const double *m = a[j][z ^ 1], *me = e[j][z ^ 1], *s = a[j][z], *se = e[j][z];
    double        east[4], south[3][4]; /* NW, N, NE of the row below: they lead from there to here */

    HJ2DGet(Row(2, j + 1), w.lane, east);
#pragma unroll
    for (int o = 0; o < 3; o++) HJ2DGet(Row(3 + o, j + 2), w.lane, south[o]);
    const double west = __shfl_up_sync(0xffffffffu, east[3], 1), sw = __shfl_up_sync(0xffffffffu, south[2][3], 1),
                 se_coefficient = __shfl_down_sync(0xffffffffu, south[0][0], 1);
#pragma unroll
    for (int v = 0; v < 4; v++) {
      double t = (v ? east[v ? v - 1 : 0] : west) * (v ? m[v ? v - 1 : 0] : me[0]);
      t        = fma(east[v], v < 3 ? m[v < 3 ? v + 1 : 3] : me[1], t);
      t        = fma(v ? south[2][v ? v - 1 : 0] : sw, v ? s[v ? v - 1 : 0] : se[0], t);
      t        = fma(south[1][v], s[v], t);
      t        = fma(v < 3 ? south[0][v < 3 ? v + 1 : 3] : se_coefficient, v < 3 ? s[v < 3 ? v + 1 : 3] : se[1], t);
      t        = fma(north[0][v], v ? n[v ? v - 1 : 0] : ne[0], t);
      t        = fma(north[1][v], n[v], t);
      sum[v]   = fma(north[2][v], v < 3 ? n[v < 3 ? v + 1 : 3] : ne[1], t);
    }
#pragma unroll
    for (int o = 0; o < 3; o++) {
#pragma unroll
      for (int v = 0; v < 4; v++) north[o][v] = south[o][v];
    }
  }

  __device__ __forceinline__ void Input(int row, double n[4]) const
  {
    if (g.zero_guess) {
      double d[4];

      HJ2DGet(Row(0, 0), w.lane, n);
      HJ2DGet(Row(1, 0), w.lane, d);
#pragma unroll
      for (int v = 0; v < 4; v++) n[v] *= g.w0 * d[v];
    } else HJ2DGet(XRow(row), w.lane, n);
  }

  /* Takes in one row: every level j makes its row row - j - 1, from its rows in a[j][z] (older), a[j][z ^ 1] and the new one, which
     replaces the older */
  template <int z> __device__ __forceinline__ void Step(int row)
  {
    double n[4], old[4], ne[2], north[NORTH][4];

    HJCopyWait<AHEAD - 2>();
    __syncwarp();
    Fetch(row + AHEAD - 1, 1 - AHEAD);
    Input(row, n);
#pragma unroll
    for (int o = 0; o < NORTH && SYMMETRIC; o++) HJ2DGet(Row(3 + o, 1), w.lane, north[o]);
#pragma unroll
    for (int j = 0; j < LEVELS; j++) {
      const double *m = a[j][z ^ 1];
      double        out[4], d[4], sum[4], b[4];

      if constexpr (BOX) {
        HJ2DEdges(n, w.lane, ne);
        SumBox(j, z, n, ne, north, sum);
#pragma unroll
        for (int v = 0; v < 2; v++) e[j][z][v] = ne[v];
      } else Sum(j, z, n, north[0], sum);
      HJ2DGet(Row(1, j + 1), w.lane, d);
      if (j % 2 == 0) HJ2DGet(Row(0, j + 1), w.lane, b);
#pragma unroll
      for (int v = 0; v < 4; v++) {
        if (j % 2) out[v] = fma(-g.product[j / 2] * sum[v], d[v], fma(g.sum[j / 2] - g.product[j / 2], m[v], old[v]));
        else {
          out[v] = fma(d[v], b[v] - sum[v], -m[v]);
          if (j == LEVELS - 1) out[v] = fma(g.single, out[v], m[v]);
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
    for (int i = 0; i < AHEAD - 1; i++) Fetch(w.row_lo + i, -i);
    for (int row = w.row_lo; row < w.y1 + LEVELS; row += 2) {
      Step<0>(row);
      Step<1>(row + 1);
    }
  }
};

template <int SYMMETRIC, bool BOX, int LEVELS, int AHEAD, int BLOCKS, int CARVE, bool WRAP>
__global__ void __launch_bounds__(32, BLOCKS) HJStream2DVariable_Kernel(const __grid_constant__ HJ2DArgs g)
{
  extern __shared__ __align__(16) double s_rows[];

  HJ2DVariable<SYMMETRIC, BOX, LEVELS, AHEAD, BLOCKS, CARVE, WRAP>(g, s_rows).Run();
}

#define HJ2DEntry(symmetric, box, levels, ahead, blocks, carve)                                                                            \
  {                                                                                                                                        \
    levels, blocks, HJ2DVariable<symmetric, box, levels, ahead, blocks, carve, false>::SMEM_BYTES,                                         \
      HJ2DVariable<symmetric, box, levels, ahead, blocks, carve, false>::RING_BYTES,                                                       \
      {(const void *)HJStream2DVariable_Kernel<symmetric, box, levels, ahead, blocks, carve, false>, nullptr,                              \
       (const void *)HJStream2DVariable_Kernel<symmetric, box, levels, ahead, blocks, carve, true>},                                       \
    {                                                                                                                                      \
      nullptr, nullptr, nullptr                                                                                                            \
    }                                                                                                                                      \
  }

/* By measurement on an H200 */
const HJ2DKernel HJ2DVariableKernels[] = {HJ2DEntry(0, false, 1, 3, 4, 164),
                                          HJ2DEntry(0, false, 2, 3, 4, 164),
                                          HJ2DEntry(0, false, 3, 4, 3, 164),
                                          HJ2DEntry(0, false, 4, 4, 3, 164),
                                          HJ2DEntry(0, false, 5, 3, 3, 196),
                                          HJ2DEntry(0, false, 6, 3, 3, 196),
                                          {}};
const HJ2DKernel HJ2DSymmetricKernels[] =
  {HJ2DEntry(1, false, 1, 3, 6, 196), HJ2DEntry(1, false, 2, 3, 6, 196), HJ2DEntry(1, false, 3, 3, 5, 196),
   HJ2DEntry(1, false, 4, 3, 5, 196), HJ2DEntry(1, false, 5, 3, 4, 196), HJ2DEntry(1, false, 6, 3, 4, 196),
   HJ2DEntry(1, false, 7, 3, 4, 196), HJ2DEntry(1, false, 8, 3, 4, 228), {}};
const HJ2DKernel HJ2DSymmetricBoxKernels[] = {HJ2DEntry(1, true, 1, 3, 4, 164),
                                              HJ2DEntry(1, true, 2, 3, 4, 164),
                                              HJ2DEntry(1, true, 3, 3, 4, 196),
                                              HJ2DEntry(1, true, 4, 3, 3, 164),
                                              HJ2DEntry(1, true, 5, 3, 3, 196),
                                              HJ2DEntry(1, true, 6, 3, 3, 196),
                                              {}};

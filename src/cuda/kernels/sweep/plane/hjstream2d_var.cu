/* SPDX-License-Identifier: BSD-2-Clause */
/*
   2D exact streaming, 5-point star with one array per offset, or per upper offset where the matrix is symmetric, 9-point box with those,
   and the inverse diagonal. All arrays stream through shared memory. A point outside the domain has inverse diagonal 0 there, which keeps
   it at 0; there is no separate path for ends. With symmetric arrays also those that add an interpolated correction to x, or restrict the
   residual of their result.
*/
#include "hjstream2d_coarser.cuh"

/* 1 / d but for rounding. The compiler's division has a branch for numbers that no inverse diagonal is, which cuts a step into pieces */
__device__ __forceinline__ PetscScalar HJ2DInverse(PetscScalar d)
{
  PetscScalar y = HJInverseStart(d);

#pragma unroll
  for (int k = 0; k < HJ_NEWTON_STEPS; k++) y = fma(y, fma(-d, y, (PetscScalar)1), y);
  return y;
}

/* AHEAD, BLOCKS, CARVE: as in hjstream2d_constant.cuh; BOX: symmetric alone. VARIANT: HJ2D_ONE; HJ2D_WRAP, for sweeps that wrap; symmetric
   alone, on a domain without neighbours of at least 128 columns, so that all strips are whole: with a correction; with a restriction, from
   a zero guess, where one more level makes the residual of the last one's result; the same where neighbours are itself in some direction */
template <int SYMMETRIC, bool BOX, int LEVELS, int AHEAD, int BLOCKS, int CARVE, int VARIANT> struct HJ2DVariable {
  static constexpr bool CORRECTED = HJ2DCorrects(VARIANT), RESTRICTED = HJ2DRestricts(VARIANT);
  static constexpr bool WRAP = HJ2DWraps(VARIANT), COARSER = CORRECTED || RESTRICTED;

  static constexpr int MADE       = LEVELS + RESTRICTED;       /* levels, with the residual */
  static constexpr int X_ROWS     = RESTRICTED ? 1 : 4;        /* 1: to write through */
  static constexpr int ROWS       = MADE + AHEAD + SYMMETRIC;  /* the symmetric kernel looks one row further back */
  static constexpr int NARRAYS    = SYMMETRIC && !BOX ? 4 : 6; /* b, inverse diagonal, then E N, W E S N, or of a box E NW N NE */
  static constexpr int NORTH      = BOX ? 3 : 1;               /* arrays that lead to the row above */
  static constexpr int SLOT_BYTES = NARRAYS * HJ2D_ROW_BYTES;
  static constexpr int COARSE_AT  = X_ROWS * HJ2D_ROW_BYTES + ROWS * SLOT_BYTES;
  static constexpr int RING_BYTES = COARSE_AT + (CORRECTED ? HJ2D_COARSE_ROWS * HJ2D_COARSE_BYTES : 0);
  static constexpr int SMEM_BYTES = HJ2DShare(BLOCKS, CARVE);
  static_assert((RESTRICTED || X_ROWS >= AHEAD) && RING_BYTES <= SMEM_BYTES, "shared memory");
  static_assert(SYMMETRIC || (!BOX && !COARSER), "a box's arrays are those of the upper half");

  const HJ2DArgs &g;
  HJ2DWarp        w;
  int             coef_c0, coef_c1, slot;  /* columns with coefficients; place of the current row in the ring */
  long long       coef;                    /* offset of the next row of coefficients to fetch, column lane */
  PetscScalar     a[MADE][2][4];           /* two rows of each level's input */
  PetscScalar     e[BOX ? MADE : 1][2][2]; /* the points beside the lane's in these rows */
  PetscScalar     gathered[2];             /* RESTRICTED: what the lane's next two coarse points have so far */

  __device__ __forceinline__ HJ2DVariable(const HJ2DArgs &args, void *smem) : g(args), w(HJ2DLocate<false>(args, smem)), slot(0)
  {
    for (int i = 0; i < COARSE_AT / HJ2D_ROW_BYTES; i++) HJ2DClear(w.smem + i * HJ2D_ROW_BYTES, w.lane);
    __syncwarp();
    coef_c0     = max(0, g.coef_lo[0] - w.x0);
    coef_c1     = min(w.width, g.coef_hi[0] - w.x0);
    coef        = (long long)(w.row_lo - g.coef_lo[1]) * g.coef_nx + (w.x0 - g.coef_lo[0]) + w.lane;
    gathered[0] = gathered[1] = 0;
#pragma unroll
    for (int j = 0; j < MADE; j++) {
#pragma unroll
      for (int v = 0; v < 4; v++) a[j][0][v] = a[j][1][v] = 0;
      for (int v = 0; v < 2 && BOX; v++) e[j][0][v] = e[j][1][v] = 0;
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

  __device__ __forceinline__ void FetchVector(unsigned to, const PetscScalar *src) const
  {
    if (WRAP) HJ2DFetchShifted(to, src, w.lane, w.shift);
    else if (COARSER) HJ2DFetchAll(to, src, w.lane);
    else HJ2DFetch(to, src, w.lane, 0, w.width);
  }

  __device__ __forceinline__ void FetchCoefficients(unsigned to, const PetscScalar *src) const
  {
    if (COARSER && !WRAP) HJ2DFetchAll(to, src, w.lane);
    else HJ2DFetch(to, src, w.lane, coef_c0, coef_c1);
  }

  __device__ __forceinline__ void Fetch(int row, int back)
  {
    const bool in = row < w.row_hi && (!COARSER || row >= w.row_lo);

    if (in) {
      if (row == w.seam) HJ2DCross<true>(w);
      if (CORRECTED || !(RESTRICTED || g.zero_guess)) FetchVector(XRow(row), w.x);
      FetchVector(Row(0, back), w.b);
      w.x += w.s->box_nx;
      w.b += w.s->box_nx;
      if (CORRECTED && row & 1) HJ2DFetchCoarse<WRAP>(g, w, w.smem + COARSE_AT, (row >> 1) + 1);
    } else {
      if (!RESTRICTED) HJ2DClear(XRow(row), w.lane);
      HJ2DClear(Row(0, back), w.lane);
    }
    if (in && ((COARSER && !WRAP) || (row >= g.coef_lo[1] && row < g.coef_hi[1]))) {
      FetchCoefficients(Row(1, back), g.dinv + coef);
#pragma unroll
      for (int o = 0; o < NARRAYS - 2; o++) FetchCoefficients(Row(2 + o, back), g.value[o] + coef);
    } else {
#pragma unroll
      for (int i = 1; i < NARRAYS; i++) HJ2DClear(Row(i, back), w.lane);
    }
    if (!COARSER || in) coef += g.coef_nx;
    HJCopyCommit();
  }

  /* Sum of the neighbours' terms on level j's middle row; north: the symmetric coefficients of the row, then those one row back */
  __device__ __forceinline__ void Sum(int j, int z, const PetscScalar n[4], PetscScalar north[4], PetscScalar sum[4]) const
  {
    const PetscScalar *m = a[j][z ^ 1];
    PetscScalar        me[2], west[4], east[4], south[4];

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
      PetscScalar t = west[v] * (v ? m[v - 1] : me[0]);
      t             = fma(east[v], v < 3 ? m[v + 1] : me[1], t);
      t             = fma(south[v], a[j][z][v], t);
      sum[v]        = fma(north[v], n[v], t);
      north[v]      = south[v];
    }
  }

  /* The same of a box; ne: the points beside the lane's in the new row. north: NW, N, NE. Beside the strip there is only x = 0, so that
     coefficients do not matter there */
  __device__ __forceinline__ void SumBox(int j, int z, const PetscScalar n[4], const PetscScalar ne[2], PetscScalar north[3][4],
                                         PetscScalar sum[4]) const
  {
    const PetscScalar *m = a[j][z ^ 1], *me = e[j][z ^ 1], *s = a[j][z], *se = e[j][z];
    PetscScalar        east[4], south[3][4]; /* NW, N, NE of the row below: they lead from there to here */

    HJ2DGet(Row(2, j + 1), w.lane, east);
#pragma unroll
    for (int o = 0; o < 3; o++) HJ2DGet(Row(3 + o, j + 2), w.lane, south[o]);
    const PetscScalar west = __shfl_up_sync(0xffffffffu, east[3], 1), sw = __shfl_up_sync(0xffffffffu, south[2][3], 1),
                      se_coefficient = __shfl_down_sync(0xffffffffu, south[0][0], 1);
#pragma unroll
    for (int v = 0; v < 4; v++) {
      PetscScalar t = (v ? east[v ? v - 1 : 0] : west) * (v ? m[v ? v - 1 : 0] : me[0]);
      t             = fma(east[v], v < 3 ? m[v < 3 ? v + 1 : 3] : me[1], t);
      t             = fma(v ? south[2][v ? v - 1 : 0] : sw, v ? s[v ? v - 1 : 0] : se[0], t);
      t             = fma(south[1][v], s[v], t);
      t             = fma(v < 3 ? south[0][v < 3 ? v + 1 : 3] : se_coefficient, v < 3 ? s[v < 3 ? v + 1 : 3] : se[1], t);
      t             = fma(north[0][v], v ? n[v ? v - 1 : 0] : ne[0], t);
      t             = fma(north[1][v], n[v], t);
      sum[v]        = fma(north[2][v], v < 3 ? n[v < 3 ? v + 1 : 3] : ne[1], t);
    }
#pragma unroll
    for (int o = 0; o < 3; o++) {
#pragma unroll
      for (int v = 0; v < 4; v++) north[o][v] = south[o][v];
    }
  }

  template <int z> __device__ __forceinline__ void Input(int row, PetscScalar n[4]) const
  {
    if (RESTRICTED || (!CORRECTED && g.zero_guess)) {
      PetscScalar d[4];

      HJ2DGet(Row(0, 0), w.lane, n);
      HJ2DGet(Row(1, 0), w.lane, d);
#pragma unroll
      for (int v = 0; v < 4; v++) n[v] *= g.w0 * d[v];
    } else HJ2DGet(XRow(row), w.lane, n);
    if (!CORRECTED) return;
    HJ2DCorrect<z>(g, w, w.smem + COARSE_AT, row, n);
#pragma unroll
    for (int v = 0; v < 4; v++) n[v] = row >= w.row_lo && row < w.row_hi ? n[v] : HJ_ZERO;
  }

  /* The residual of a point, 0 outside the domain, where d is 0 */
  static __device__ __forceinline__ PetscScalar Residual(PetscScalar b, PetscScalar sum, PetscScalar d, PetscScalar x)
  {
    const PetscScalar r = fma(-HJ2DInverse(d == 0 ? (PetscScalar)1 : d), x, b - sum);

    return d == 0 ? HJ_ZERO : r;
  }

  /* Takes in one row: every level j makes its row row - j - 1, from its rows in a[j][z] (older), a[j][z ^ 1] and the new one, which
     replaces the older. With a correction or a restriction z is the parity of row */
  template <int z> __device__ __forceinline__ void Step(int row)
  {
    PetscScalar n[4], old[4], ne[2], north[NORTH][4];

    HJCopyWait<AHEAD - 2>();
    __syncwarp();
    Fetch(row + AHEAD - 1, 1 - AHEAD);
    Input<z>(row, n);
#pragma unroll
    for (int o = 0; o < NORTH && SYMMETRIC; o++) HJ2DGet(Row(3 + o, 1), w.lane, north[o]);
#pragma unroll
    for (int j = 0; j < MADE; j++) {
      const PetscScalar *m = a[j][z ^ 1];
      PetscScalar        out[4], d[4], sum[4], b[4];

      if constexpr (BOX) {
        HJ2DEdges(n, w.lane, ne);
        SumBox(j, z, n, ne, north, sum);
#pragma unroll
        for (int v = 0; v < 2; v++) e[j][z][v] = ne[v];
      } else Sum(j, z, n, north[0], sum);
      HJ2DGet(Row(1, j + 1), w.lane, d);
      if (j % 2 == 0 || j == LEVELS) HJ2DGet(Row(0, j + 1), w.lane, b);
#pragma unroll
      for (int v = 0; v < 4; v++) {
        if (j == LEVELS) out[v] = Residual(b[v], sum[v], d[v], m[v]);
        else if (j % 2) out[v] = fma(-g.product[j / 2] * sum[v], d[v], fma(g.sum[j / 2] - g.product[j / 2], m[v], old[v]));
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
      if (j == LEVELS - 1) HJ2DPut(w, XRow(row), row - LEVELS, n);
    }
    if (RESTRICTED) HJ2DGather<(z + LEVELS + 1) % 2>(g, w, row - LEVELS - 1, n, gathered);
    slot = slot + 1 == ROWS ? 0 : slot + 1;
  }

  __device__ __forceinline__ void Run()
  {
    const int start = COARSER ? w.row_lo & ~1 : w.row_lo, end = w.y1 + LEVELS + 2 * RESTRICTED;

    if (CORRECTED) HJ2DFetchCoarse<WRAP>(g, w, w.smem + COARSE_AT, start >> 1);
#pragma unroll
    for (int i = 0; i < AHEAD - 1; i++) Fetch(start + i, -i);
    for (int row = start; row < end; row += 2) {
      Step<0>(row);
      Step<1>(row + 1);
    }
  }
};

template <int SYMMETRIC, bool BOX, int LEVELS, int AHEAD, int BLOCKS, int CARVE, int VARIANT>
__global__ void __launch_bounds__(32, BLOCKS) HJStream2DVariable_Kernel(const __grid_constant__ HJ2DArgs g)
{
  extern __shared__ __align__(16) PetscScalar s_rows[];

  HJ2DVariable<SYMMETRIC, BOX, LEVELS, AHEAD, BLOCKS, CARVE, VARIANT>(g, s_rows).Run();
}

#define HJ2DEntry(symmetric, box, levels, ahead, blocks, carve)                                                                            \
  {                                                                                                                                        \
    levels, HJ2D_BLOCKS(blocks), HJ2DVariable<symmetric, box, levels, ahead, HJ2D_BLOCKS(blocks), carve, HJ2D_ONE>::SMEM_BYTES,            \
      HJ2DVariable<symmetric, box, levels, ahead, HJ2D_BLOCKS(blocks), carve, HJ2D_ONE>::RING_BYTES,                                       \
      {(const void *)HJStream2DVariable_Kernel<symmetric, box, levels, ahead, HJ2D_BLOCKS(blocks), carve, HJ2D_ONE>, nullptr,              \
       (const void *)HJStream2DVariable_Kernel<symmetric, box, levels, ahead, HJ2D_BLOCKS(blocks), carve, HJ2D_WRAP>},                     \
    {                                                                                                                                      \
      nullptr, nullptr, nullptr                                                                                                            \
    }                                                                                                                                      \
  }

#define HJ2DEntryCoarser(box, levels, ahead, blocks, carve, variant, ...)                                                                  \
  {                                                                                                                                        \
    levels, HJ2D_BLOCKS(blocks), HJ2DVariable<1, box, levels, ahead, HJ2D_BLOCKS(blocks), carve, variant>::SMEM_BYTES,                     \
      HJ2DVariable<1, box, levels, ahead, HJ2D_BLOCKS(blocks), carve, variant>::RING_BYTES,                                                \
      {nullptr, nullptr,                                                                                                                   \
       nullptr, __VA_ARGS__(const void *) HJStream2DVariable_Kernel<1, box, levels, ahead, HJ2D_BLOCKS(blocks), carve, variant>,           \
       nullptr, (const void *)HJStream2DVariable_Kernel<1, box, levels, ahead, HJ2D_BLOCKS(blocks), carve, HJ2DWrapped(variant)>},         \
    {                                                                                                                                      \
      nullptr, nullptr, nullptr                                                                                                            \
    }                                                                                                                                      \
  }
#define HJ2DEntryCorrected(box, levels, ahead, blocks, carve) HJ2DEntryCoarser(box, levels, ahead, blocks, carve, HJ2D_CORRECTED)
#define HJ2DEntryRestricted(box, levels, ahead, blocks, carve)                                                                             \
  HJ2DEntryCoarser(box, levels, ahead, blocks, carve, HJ2D_RESTRICTED, nullptr, )

const HJ2DKernel HJ2DVariableKernels[]     = {HJ2DTuned(HJ2DEntry, 0, false, 1, HJ2D_VARIABLE_1),
                                              HJ2DTuned(HJ2DEntry, 0, false, 2, HJ2D_VARIABLE_2),
                                              HJ2DTuned(HJ2DEntry, 0, false, 3, HJ2D_VARIABLE_3),
                                              HJ2DTuned(HJ2DEntry, 0, false, 4, HJ2D_VARIABLE_4),
                                              HJ2DTuned(HJ2DEntry, 0, false, 5, HJ2D_VARIABLE_5),
                                              HJ2DTuned(HJ2DEntry, 0, false, 6, HJ2D_VARIABLE_6),
                                              {}};
const HJ2DKernel HJ2DSymmetricKernels[]    = {HJ2DTuned(HJ2DEntry, 1, false, 1, HJ2D_SYMMETRIC_1),
                                              HJ2DTuned(HJ2DEntry, 1, false, 2, HJ2D_SYMMETRIC_2),
                                              HJ2DTuned(HJ2DEntry, 1, false, 3, HJ2D_SYMMETRIC_3),
                                              HJ2DTuned(HJ2DEntry, 1, false, 4, HJ2D_SYMMETRIC_4),
                                              HJ2DTuned(HJ2DEntry, 1, false, 5, HJ2D_SYMMETRIC_5),
                                              HJ2DTuned(HJ2DEntry, 1, false, 6, HJ2D_SYMMETRIC_6),
                                              HJ2DTuned(HJ2DEntry, 1, false, 7, HJ2D_SYMMETRIC_7),
                                              HJ2DTuned(HJ2DEntry, 1, false, 8, HJ2D_SYMMETRIC_8),
                                              {}};
const HJ2DKernel HJ2DSymmetricBoxKernels[] = {HJ2DTuned(HJ2DEntry, 1, true, 1, HJ2D_SYMMETRIC_BOX_1),
                                              HJ2DTuned(HJ2DEntry, 1, true, 2, HJ2D_SYMMETRIC_BOX_2),
                                              HJ2DTuned(HJ2DEntry, 1, true, 3, HJ2D_SYMMETRIC_BOX_3),
                                              HJ2DTuned(HJ2DEntry, 1, true, 4, HJ2D_SYMMETRIC_BOX_4),
                                              HJ2DTuned(HJ2DEntry, 1, true, 5, HJ2D_SYMMETRIC_BOX_5),
                                              HJ2DTuned(HJ2DEntry, 1, true, 6, HJ2D_SYMMETRIC_BOX_6),
                                              {}};
/* Of the numbers of subiterations that PCHJMG takes by itself, and 6 and 8; the first one from a zero guess is no level */
const HJ2DKernel HJ2DSymmetricCorrectedKernels[]  = {HJ2DTuned(HJ2DEntryCorrected, false, 4, HJ2D_SYMMETRIC_CORRECTED_4),
                                                     HJ2DTuned(HJ2DEntryCorrected, false, 6, HJ2D_SYMMETRIC_CORRECTED_6),
                                                     HJ2DTuned(HJ2DEntryCorrected, false, 8, HJ2D_SYMMETRIC_CORRECTED_8),
                                                     {}};
const HJ2DKernel HJ2DSymmetricRestrictedKernels[] = {HJ2DTuned(HJ2DEntryRestricted, false, 3, HJ2D_SYMMETRIC_RESTRICTED_3),
                                                     HJ2DTuned(HJ2DEntryRestricted, false, 5, HJ2D_SYMMETRIC_RESTRICTED_5),
                                                     HJ2DTuned(HJ2DEntryRestricted, false, 7, HJ2D_SYMMETRIC_RESTRICTED_7),
                                                     {}};
const HJ2DKernel HJ2DBoxCorrectedKernels[]        = {HJ2DTuned(HJ2DEntryCorrected, true, 4, HJ2D_BOX_CORRECTED_4),
                                                     HJ2DTuned(HJ2DEntryCorrected, true, 6, HJ2D_BOX_CORRECTED_6),
                                                     {}};
const HJ2DKernel HJ2DBoxRestrictedKernels[]       = {HJ2DTuned(HJ2DEntryRestricted, true, 3, HJ2D_BOX_RESTRICTED_3),
                                                     HJ2DTuned(HJ2DEntryRestricted, true, 5, HJ2D_BOX_RESTRICTED_5),
                                                     {}};

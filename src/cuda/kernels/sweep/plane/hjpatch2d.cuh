/* SPDX-License-Identifier: BSD-2-Clause */
/*
   A 2D sweep of a 5-point operator on a small grid: a block holds a patch of the grid, which overlaps others so far that what it writes is
   exact, in registers, 4 adjacent columns and some rows a lane. What crosses lanes in x goes by shuffle, in y through shared memory. The
   sweep begins with x + P c, or from zero, and then it restricts the residual of its result. Points at the grid's ends may have rows of
   their own, see HJPatchArgs; which shape of patch a grid gets is hjpatch2d.cu's. Of a grid that is cut into lines the lines of the
   neighbours belong to patches too, and where columns wrap those of the other end: what lies beyond them spoils one of them in each
   subiteration, and none that is written.
*/
#pragma once

#include "cuda/kernels/hjkernel.h"
#include "cuda/device/hjcopy.cuh"

#define HJ_PATCH_COUNT 16 /* most subiterations of a sweep */

/* A row of the matrix times the inverse diagonal, without the centre, which is 1: neighbours as in HJStencil; the inverse diagonal; one
   over it */
typedef struct {
  PetscScalar c[4], dinv, diagonal;
} HJPatchRow;

/* The lines of an array: the rank's own, and of a grid that is cut so many of the neighbours below and above; each array is pointed to as
   if line 0 of the grid were its first */
typedef struct {
  const PetscScalar *own, *beside[2];
  int                lines[2];
} HJPatchLines;

typedef struct {
  HJPatchLines b, x, c;               /* x.own, c.own NULL: from zero */
  PetscScalar *y, *r;                 /* r NULL: nothing is restricted */
  int          n[2], nc[2], first[2]; /* first: as HJCoarser's */
  int          line;                  /* from a line of x, b and y to the next */
  PetscScalar  scale[2][2];           /* see HJTransferGetScale() */
  int          count;
  int          step[2], npatches[2]; /* from a patch to the next; the last one ends where the grid does */
  int          margin[2];            /* first points of a patch that its neighbour writes */
  /* From where to where the patches reach, the first line and column an even one. Of a cut grid: whether columns beyond an end are those
     inside the other one; whether patches that read the rank's own lines alone need not wait for the kernel before; copies of the lines
     below copy_at[0] and from copy_at[1] on, pointed to as y is */
  int          begin[2], end[2];
  bool         wraps, exchanged;
  int          copy_at[2];
  PetscScalar *copy[2];
  bool         framed; /* rows of the ends differ from the inner one */
  HJPatchRow   row[9]; /* of first, inner and last line by first, inner and last column */
  PetscScalar  w[HJ_PATCH_COUNT];
} HJPatchArgs;

template <int LANES, int ROWS, int WARPS> struct HJPatchShape {
  static constexpr int STRIPS = 32 / LANES * WARPS, WIDTH = HJ_PATCH_COLS * LANES, HEIGHT = STRIPS * ROWS, THREADS = 32 * WARPS;
  static constexpr int LINES = THREADS / WIDTH, COPIES = HEIGHT / LINES; /* all threads copy so many lines at once, so often */
  static_assert(THREADS % WIDTH == 0 && HEIGHT % LINES == 0, "copies");
  static constexpr int EDGE_BYTES  = 2 * (STRIPS + 2) * 2 * WIDTH * (int)sizeof(PetscScalar),
                       PATCH_BYTES = HEIGHT * WIDTH * (int)sizeof(PetscScalar);
  static constexpr int SMEM_BYTES  = 9 * (int)sizeof(HJPatchRow) + EDGE_BYTES + 2 * PATCH_BYTES;
};

/* What a lane knows of its place */
typedef struct {
  int lane, strip;
  int first, last, below, above; /* classes of its first and last column, 3 times those of its first and last row */
} HJPatchPlace;

/* A row of the patch in shared memory is permuted so that the 4 points of a lane are two words of 16 bytes in different banks: column c is
   at HJPatchColumn(c), lane l finds its points at 2 l and 2 (l + LANES) */
template <int LANES> __device__ __forceinline__ int HJPatchColumn(int c)
{
  return ((c >> 2) + (c & 2 ? LANES : 0)) * 2 + (c & 1);
}

template <int LANES> __device__ __forceinline__ void HJPatchPut(PetscScalar *row, int lane, const PetscScalar v[4])
{
  ((HJScalar2 *)row)[lane]         = HJScalar2Of(v[0], v[1]);
  ((HJScalar2 *)row)[lane + LANES] = HJScalar2Of(v[2], v[3]);
}

template <int LANES> __device__ __forceinline__ void HJPatchGet(const PetscScalar *row, int lane, PetscScalar v[4])
{
  const HJScalar2 u = ((const HJScalar2 *)row)[lane], t = ((const HJScalar2 *)row)[lane + LANES];

  v[0] = u.x;
  v[1] = u.y;
  v[2] = t.x;
  v[3] = t.y;
}

/* Lanes of few points have registers for the rows of all of them, which takes less time than to look up those at the grid's ends in
   shared memory, and no second copy of the loop for patches inside */
template <int ROWS> struct HJPatchRows {
  static constexpr bool HELD = ROWS <= 4;
  PetscScalar           c[HELD ? 9 : 1][4]; /* of a lane's first, inner and last row by first, inner and last column */
};

template <int ROWS> __device__ __forceinline__ constexpr int HJPatchPart(int r, int v)
{
  return (r == 0 ? 0 : r == ROWS - 1 ? 6 : 3) + (v == 0 ? 0 : v == 3 ? 2 : 1);
}

/* Whether point v of row r of a lane may have another row than the inner one */
template <int ROWS> __device__ __forceinline__ constexpr bool HJPatchMayOwn(bool framed, int r, int v)
{
  return framed && HJPatchPart<ROWS>(r, v) != 4;
}

template <int ROWS> __device__ __forceinline__ int HJPatchClass(const HJPatchPlace &at, int r, int v)
{
  return (r == 0 ? at.below : r == ROWS - 1 ? at.above : 3) + (v == 0 ? at.first : v == 3 ? at.last : 1);
}

/* b times the inverse diagonal */
template <int ROWS, bool FRAMED>
__device__ __forceinline__ void HJPatchScale(const HJPatchArgs &p, const HJPatchRow *s_row, const HJPatchPlace &at, PetscScalar b[ROWS][4])
{
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
#pragma unroll
    for (int v = 0; v < 4; v++) b[r][v] *= HJPatchMayOwn<ROWS>(FRAMED, r, v) ? s_row[HJPatchClass<ROWS>(at, r, v)].dinv : p.row[4].dinv;
  }
}

template <int ROWS> __device__ __forceinline__ void HJPatchHold(const HJPatchRow *s_row, const HJPatchPlace &at, HJPatchRows<ROWS> *rows)
{
#pragma unroll
  for (int k = 0; k < 9 && HJPatchRows<ROWS>::HELD; k++) {
    const int line = k / 3 == 0 ? at.below : k / 3 == 1 ? 3 : at.above, column = k % 3 == 0 ? at.first : k % 3 == 1 ? 1 : at.last;

#pragma unroll
    for (int o = 0; o < 4; o++) rows->c[k][o] = s_row[line + column].c[o];
  }
}

/* A subiteration with weight w; RESIDUAL: b - A x in its place */
template <int LANES, int ROWS, bool FRAMED, bool RESIDUAL>
__device__ __forceinline__ void HJPatchStep(const HJPatchArgs &p, const HJPatchRow *s_row, const HJPatchRows<ROWS> &rows,
                                            const HJPatchPlace &at, PetscScalar w, PetscScalar below[4], const PetscScalar above[4],
                                            PetscScalar x[ROWS][4], const PetscScalar b[ROWS][4])
{
  constexpr bool HELD = HJPatchRows<ROWS>::HELD;

#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    PetscScalar left = __shfl_up_sync(~0u, x[r][3], 1, LANES), right = __shfl_down_sync(~0u, x[r][0], 1, LANES);

    left  = at.lane == 0 ? HJ_ZERO : left;
    right = at.lane == LANES - 1 ? HJ_ZERO : right;
#pragma unroll
    for (int v = 0; v < 4; v++) {
      const HJPatchRow  &row = HJPatchMayOwn<ROWS>(FRAMED, r, v) ? s_row[HJPatchClass<ROWS>(at, r, v)] : p.row[4];
      const PetscScalar *c   = HELD ? rows.c[HELD ? HJPatchPart<ROWS>(r, v) : 0] : row.c;
      const PetscScalar  t = x[r][v], east = v < 3 ? x[r][v < 3 ? v + 1 : v] : right,
                        north = r + 1 < ROWS ? x[r + 1 < ROWS ? r + 1 : r][v] : above[v];
      PetscScalar y           = fma(-c[2], below[v], b[r][v] - t);

      y        = fma(-c[0], left, fma(-c[1], east, fma(-c[3], north, y)));
      x[r][v]  = RESIDUAL ? y * row.diagonal : fma(w, y, t);
      left     = t;
      below[v] = t;
    }
  }
}

/* The rows beside the strip; all have passed the barrier afterwards */
template <int LANES, int ROWS>
__device__ __forceinline__ void HJPatchBeside(PetscScalar (*s_edge)[2][4 * LANES], const HJPatchPlace &at, const PetscScalar x[ROWS][4],
                                              PetscScalar below[4], PetscScalar above[4])
{
  HJPatchPut<LANES>(s_edge[at.strip + 1][0], at.lane, x[0]);
  HJPatchPut<LANES>(s_edge[at.strip + 1][1], at.lane, x[ROWS - 1]);
  __syncthreads();
  HJPatchGet<LANES>(s_edge[at.strip][1], at.lane, below);
  HJPatchGet<LANES>(s_edge[at.strip + 2][0], at.lane, above);
}

/* Multiplies the points that hang */
template <int ROWS> __device__ __forceinline__ void HJPatchScaleEnds(const HJPatchArgs &p, const HJPatchPlace &at, PetscScalar x[ROWS][4])
{
  const PetscScalar west = at.first == 0 ? p.scale[0][0] : (PetscScalar)1.0, east = at.last == 2 ? p.scale[0][1] : (PetscScalar)1.0;
  const PetscScalar below = at.below == 0 ? p.scale[1][0] : (PetscScalar)1.0, above = at.above == 6 ? p.scale[1][1] : (PetscScalar)1.0;

#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    x[r][0] *= west;
    x[r][3] *= east;
  }
#pragma unroll
  for (int v = 0; v < 4; v++) {
    x[0][v] *= below;
    x[ROWS - 1][v] *= above;
  }
}

/* Where line j of n begins; NULL: there is none */
template <bool CUT> __device__ __forceinline__ const PetscScalar *HJPatchLine(const HJPatchLines &a, int nx, int n, int j)
{
  const PetscScalar *from = !CUT || (unsigned)j < (unsigned)n ? a.own : a.beside[j >= n];
  const bool         in   = CUT ? j >= -a.lines[0] && j < n + a.lines[1] : (unsigned)j < (unsigned)n;

  return in ? from + j * nx : NULL;
}

/* Where column i of n is; CUT: also where it wraps */
template <bool CUT> __device__ __forceinline__ int HJPatchColumnAt(const HJPatchArgs &p, int i, int n)
{
  return CUT ? HJDWrap(i, p.wraps ? n : 0) : i;
}

/* x + P c; odd: whether the lane's points begin between two coarse columns, rows. c is 0 beyond its ends */
template <int LANES, int ROWS, bool CUT>
__device__ __forceinline__ void HJPatchCorrect(const HJPatchArgs &p, int i0, int j0, PetscScalar x[ROWS][4])
{
  const int i = (i0 - p.first[0]) >> 1, j = (j0 - p.first[1]) >> 1;
  const int at[3] = {HJPatchColumnAt<CUT>(p, i, p.nc[0]), HJPatchColumnAt<CUT>(p, i + 1, p.nc[0]), HJPatchColumnAt<CUT>(p, i + 2, p.nc[0])};
  const bool  oddx = (i0 - p.first[0]) & 1, oddy = (j0 - p.first[1]) & 1;
  PetscScalar line[ROWS / 2 + 1][4];

#pragma unroll
  for (int k = 0; k <= ROWS / 2; k++) {
    const PetscScalar *c  = HJPatchLine<CUT>(p.c, p.nc[0], p.nc[1], j + k);
    const unsigned     n  = c ? p.nc[0] : 0;
    const PetscScalar  a0 = (unsigned)at[0] < n ? c[at[0]] : HJ_ZERO, a1 = (unsigned)at[1] < n ? c[at[1]] : HJ_ZERO,
                      a2 = (unsigned)at[2] < n ? c[at[2]] : HJ_ZERO;
    const PetscScalar m0 = HJ_HALF * (a0 + a1), m1 = HJ_HALF * (a1 + a2);

    line[k][0] = oddx ? m0 : a0;
    line[k][1] = oddx ? a1 : m0;
    line[k][2] = oddx ? m1 : a1;
    line[k][3] = oddx ? a2 : m1;
  }
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
#pragma unroll
    for (int v = 0; v < 4; v++) {
      const PetscScalar mean = HJ_HALF * (line[r / 2][v] + line[r / 2 + 1][v]);

      x[r][v] += (r % 2 == 1) != oddy ? mean : line[(r + 1) / 2][v];
    }
  }
}

/* All subiterations after the first one from zero; what lies beside the patch is 0, at the grid's ends as it must be */
template <int LANES, int ROWS, int STRIPS, bool FRAMED, bool ZERO>
__device__ __forceinline__ int HJPatchSweep(const HJPatchArgs &p, const HJPatchRow *s_row, const HJPatchRows<ROWS> &rows,
                                            PetscScalar (*s_edge)[STRIPS + 2][2][4 * LANES], const HJPatchPlace &at, PetscScalar x[ROWS][4],
                                            PetscScalar b[ROWS][4])
{
  int n = 0;

  HJPatchScale<ROWS, FRAMED>(p, s_row, at, b);
  if (ZERO) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
      for (int v = 0; v < 4; v++) x[r][v] = p.w[0] * b[r][v];
    }
    n = 1;
  }
#pragma unroll 1
  for (; n < p.count; n++) {
    PetscScalar below[4], above[4];

    HJPatchBeside<LANES, ROWS>(s_edge[n & 1], at, x, below, above);
    HJPatchStep<LANES, ROWS, FRAMED, false>(p, s_row, rows, at, p.w[n], below, above, x, b);
  }
  return n;
}

/* Where a thread's first point lies of those that it copies; the next ones lie THREADS further on each */
template <int LANES, int ROWS, int WARPS> __device__ __forceinline__ int HJPatchMine()
{
  typedef HJPatchShape<LANES, ROWS, WARPS> Shape;

  return (int)threadIdx.x / Shape::WIDTH * Shape::WIDTH + HJPatchColumn<LANES>((int)threadIdx.x % Shape::WIDTH);
}

/* Starts the copies of a patch of an array; home: all of its lines are the rank's own */
template <int LANES, int ROWS, int WARPS, bool CUT>
__device__ __forceinline__ void HJPatchFetch(const HJPatchArgs &p, const HJPatchLines &a, bool home, const int start[2], PetscScalar *s_a)
{
  typedef HJPatchShape<LANES, ROWS, WARPS> Shape;
  const int                                nx = p.line, ny = p.n[1], j = start[1] + (int)threadIdx.x / Shape::WIDTH;
  const int                                i    = HJPatchColumnAt<CUT>(p, start[0] + (int)threadIdx.x % Shape::WIDTH, p.n[0]);
  const PetscScalar                       *from = a.own + j * nx + i;
  PetscScalar                             *to   = s_a + HJPatchMine<LANES, ROWS, WARPS>();

  if (home) {
#pragma unroll
    for (int k = 0; k < Shape::COPIES; k++)
      HJCopyNumber((unsigned)__cvta_generic_to_shared(to + k * Shape::THREADS), from + k * Shape::LINES * nx);
    return;
  }
#pragma unroll 4
  for (int k = 0; k < Shape::COPIES; k++) {
    const PetscScalar *line = HJPatchLine<true>(a, nx, ny, j + k * Shape::LINES);

    HJCopyNumberOrZero((unsigned)__cvta_generic_to_shared(to + k * Shape::THREADS), (line ? line : a.own) + i, line != NULL);
  }
}

/* Of a patch, in shared memory, what the block owns goes to y */
template <int LANES, int ROWS, int WARPS, bool CUT>
__device__ __forceinline__ void HJPatchWrite(const HJPatchArgs &p, const PetscScalar *s_x, const int start[2], const int lo[2],
                                             const int hi[2])
{
  typedef HJPatchShape<LANES, ROWS, WARPS> Shape;

  const int          i = start[0] + (int)threadIdx.x % Shape::WIDTH, j0 = start[1] + (int)threadIdx.x / Shape::WIDTH;
  const PetscScalar *from = s_x + HJPatchMine<LANES, ROWS, WARPS>();
  PetscScalar       *to   = p.y + j0 * p.line + i;

  if (i < lo[0] || i >= hi[0]) return;
#pragma unroll
  for (int k = 0; k < Shape::COPIES; k++) {
    const int j = j0 + k * Shape::LINES;

    if (j < lo[1] || j >= hi[1]) continue;
    to[k * Shape::LINES * p.line] = from[k * Shape::THREADS];
    if (CUT && j < p.copy_at[0]) p.copy[0][j * p.n[0] + i] = from[k * Shape::THREADS];
    if (CUT && j >= p.copy_at[1]) p.copy[1][j * p.n[0] + i] = from[k * Shape::THREADS];
  }
}

/* P^T of the residual that x holds, to r. s_edge is not read since the last barrier, but its ends hold 0 */
template <int LANES, int ROWS>
__device__ __forceinline__ void HJPatchRestrict(const HJPatchArgs &p, PetscScalar (*s_edge)[2][4 * LANES], const HJPatchPlace &at, int i0,
                                                int j0, const int lo[2], const int hi[2], const PetscScalar x[ROWS][4])
{
  const bool oddx = (i0 - p.first[0]) & 1, oddy = (j0 - p.first[1]) & 1;
  HJScalar2  h[ROWS], beside;

#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    PetscScalar left = __shfl_up_sync(~0u, x[r][3], 1, LANES), right = __shfl_down_sync(~0u, x[r][0], 1, LANES);

    left  = at.lane == 0 ? HJ_ZERO : left;
    right = at.lane == LANES - 1 ? HJ_ZERO : right;
    if (oddx) h[r] = HJScalar2Of(fma(HJ_HALF, x[r][0] + x[r][2], x[r][1]), fma(HJ_HALF, x[r][2] + right, x[r][3]));
    else h[r] = HJScalar2Of(fma(HJ_HALF, left + x[r][1], x[r][0]), fma(HJ_HALF, x[r][1] + x[r][3], x[r][2]));
  }
  if (oddy) ((HJScalar2 *)s_edge[at.strip + 1][0])[at.lane] = h[0];
  else ((HJScalar2 *)s_edge[at.strip + 1][1])[at.lane] = h[ROWS - 1];
  __syncthreads();
  beside = oddy ? ((const HJScalar2 *)s_edge[at.strip + 2][0])[at.lane] : ((const HJScalar2 *)s_edge[at.strip][1])[at.lane];
#pragma unroll
  for (int k = 0; k < ROWS / 2; k++) {
    const HJScalar2 middle = oddy ? h[2 * k + 1] : h[2 * k], other = oddy ? h[2 * k] : h[2 * k + 1],
                    third = oddy ? (2 * k + 2 < ROWS ? h[2 * k + 2 < ROWS ? 2 * k + 2 : 0] : beside) : (k ? h[k ? 2 * k - 1 : 0] : beside);
    const int    i = i0 + oddx, j = j0 + oddy + 2 * k;
    PetscScalar *to = p.r + ((j - p.first[1]) >> 1) * p.nc[0] + ((i - p.first[0]) >> 1);

    if (j < lo[1] || j >= hi[1]) continue;
    if (i >= lo[0] && i < hi[0]) to[0] = fma(HJ_HALF, other.x + third.x, middle.x);
    if (i + 2 >= lo[0] && i + 2 < hi[0]) to[1] = fma(HJ_HALF, other.y + third.y, middle.y);
  }
}

/* From zero, with a restriction, or from x + P c. CUT: into lines, on some side of which there is a neighbour */
template <int LANES, int ROWS, int WARPS, bool ZERO, bool CUT>
__global__ void __launch_bounds__(32 * WARPS, 2) HJPatch2D_Kernel(const __grid_constant__ HJPatchArgs p)
{
  typedef HJPatchShape<LANES, ROWS, WARPS> Shape;
  constexpr bool                           HELD = HJPatchRows<ROWS>::HELD;
  extern __shared__ __align__(16) PetscScalar s_all[];
  HJPatchRow                                 *s_row        = (HJPatchRow *)s_all;
  PetscScalar(*s_edge)[Shape::STRIPS + 2][2][Shape::WIDTH] = (PetscScalar(*)[Shape::STRIPS + 2][2][Shape::WIDTH])(s_row + 9);
  PetscScalar      *s_b = (PetscScalar *)s_edge + Shape::EDGE_BYTES / HJ_BYTES, *s_x = s_b + Shape::PATCH_BYTES / HJ_BYTES;
  HJPatchPlace      at       = {(int)threadIdx.x % LANES, (int)threadIdx.x / LANES};
  const int         patch[2] = {(int)blockIdx.x % p.npatches[0], (int)blockIdx.x / p.npatches[0]}, size[2] = {Shape::WIDTH, Shape::HEIGHT};
  int               start[2], lo[2], hi[2], n;
  PetscScalar       x[ROWS][4], b[ROWS][4], below[4], above[4];
  HJPatchRows<ROWS> rows;

#pragma unroll
  for (int d = 0; d < 2; d++) {
    const bool last  = patch[d] == p.npatches[d] - 1;
    const int  begin = CUT ? p.begin[d] : 0, end = CUT ? p.end[d] : p.n[d];

    start[d] = last ? end - size[d] : begin + patch[d] * p.step[d];
    lo[d]    = patch[d] ? begin + patch[d] * p.step[d] + p.margin[d] : 0;
    hi[d]    = last ? p.n[d] : begin + (patch[d] + 1) * p.step[d] + p.margin[d];
    if (CUT) lo[d] = max(lo[d], 0), hi[d] = min(hi[d], p.n[d]);
  }
  at.first          = start[0] == 0 && !(CUT && p.begin[0]) && at.lane == 0 ? 0 : 1;
  at.last           = start[0] + size[0] == p.n[0] && !(CUT && p.end[0] > p.n[0]) && at.lane == LANES - 1 ? 2 : 1;
  at.below          = start[1] == 0 && !(CUT && p.begin[1]) && at.strip == 0 ? 0 : 3;
  at.above          = start[1] + size[1] == p.n[1] && !(CUT && p.end[1] > p.n[1]) && at.strip == Shape::STRIPS - 1 ? 6 : 3;
  const bool framed = __any_sync(~0u, p.framed && (at.first != 1 || at.last != 1 || at.below != 3 || at.above != 3));
  const bool home   = !CUT || (start[1] >= 0 && start[1] + size[1] <= p.n[1]);
  const int  i0 = start[0] + 4 * at.lane, j0 = start[1] + ROWS * at.strip;

  for (int i = threadIdx.x; i < 9 * (int)(sizeof(HJPatchRow) / HJ_BYTES); i += Shape::THREADS)
    ((PetscScalar *)s_row)[i] = ((const PetscScalar *)p.row)[i];
  for (int i = threadIdx.x; i < 2 * Shape::WIDTH; i += Shape::THREADS) {
    s_edge[i / Shape::WIDTH][0][1][i % Shape::WIDTH]                 = 0.0;
    s_edge[i / Shape::WIDTH][Shape::STRIPS + 1][0][i % Shape::WIDTH] = 0.0;
  }
  /* a line beside the first or last one of a patch may be interpolated from a neighbour's */
  if (!CUT || !p.exchanged || start[1] < 2 || start[1] + size[1] > p.n[1] - 2) HJDAwaitInput();
  HJDLetNextStart();
  HJPatchFetch<LANES, ROWS, WARPS, CUT>(p, p.b, home, start, s_b);
  if (!ZERO) HJPatchFetch<LANES, ROWS, WARPS, CUT>(p, p.x, home, start, s_x);
  if (!ZERO) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
      for (int v = 0; v < 4; v++) x[r][v] = 0.0;
    }
    if (p.c.own) {
      HJPatchCorrect<LANES, ROWS, CUT>(p, i0, j0, x);
      HJPatchScaleEnds<ROWS>(p, at, x);
    }
  }
  HJCopyWaitAll();
  __syncthreads();
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    HJPatchGet<LANES>(s_b + (at.strip * ROWS + r) * Shape::WIDTH, at.lane, b[r]);
    if (!ZERO) {
      PetscScalar old[4];

      HJPatchGet<LANES>(s_x + (at.strip * ROWS + r) * Shape::WIDTH, at.lane, old);
#pragma unroll
      for (int v = 0; v < 4; v++) x[r][v] += old[v];
    }
  }
  HJPatchHold<ROWS>(s_row, at, &rows);
  if (HELD || framed) n = HJPatchSweep<LANES, ROWS, Shape::STRIPS, true, ZERO>(p, s_row, rows, s_edge, at, x, b);
  else n = HJPatchSweep<LANES, ROWS, Shape::STRIPS, false, ZERO>(p, s_row, rows, s_edge, at, x, b);
#pragma unroll
  for (int r = 0; r < ROWS; r++) HJPatchPut<LANES>(s_b + (at.strip * ROWS + r) * Shape::WIDTH, at.lane, x[r]);
  if (ZERO) HJPatchBeside<LANES, ROWS>(s_edge[n & 1], at, x, below, above);
  else __syncthreads();
  HJPatchWrite<LANES, ROWS, WARPS, CUT>(p, s_b, start, lo, hi);
  if (!ZERO || !p.r) return;
  if (HELD || framed) HJPatchStep<LANES, ROWS, true, true>(p, s_row, rows, at, 0.0, below, above, x, b);
  else HJPatchStep<LANES, ROWS, false, true>(p, s_row, rows, at, 0.0, below, above, x, b);
  HJPatchScaleEnds<ROWS>(p, at, x);
  HJPatchRestrict<LANES, ROWS>(p, s_edge[(n + 1) & 1], at, i0, j0, lo, hi, x);
}

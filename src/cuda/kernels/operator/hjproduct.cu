/* SPDX-License-Identifier: BSD-2-Clause */
/*
   y = b + alpha A x for coefficients as a matrix has them: one row, a dictionary, arrays; and the same with A^T. Decides how many points a
   thread does; which vectors, coefficients and ghosts they are is the operator's to say.

   A warp does a tile: 32 points in x, ry in y, rz in z; a thread one column of it, whose lines it keeps in registers. Neighbours in x come
   from the L1 cache. With one row of 27 points a thread sums up instead what its column gives to those beside it, and a warp does 30 points
   in x. Tiles that touch the end of the owned box look for each line in the vector or the ghosts; the others, nearly all, read the vector
   alone. Nothing is read across warps, so every sum has one order. Where all points have one row but for some in the outermost layers,
   tiles that reach these layers do their points one by one, by the dictionary; the others know one row. Where these layers are walls, as
   boundary rows make them, all tiles know the one row and the walls': what their points must not see they take for 0.
*/
#include "hjproduct_cuda.h"
#include "cuda/kernels/sweep/hjpoints.cuh"
#include "cuda/kernels/hjfamilies.h"

#define HJ_PRODUCT_THREADS (32 * HJ_PRODUCT_WARPS)
#define HJ_PRODUCT_BOXES   6 /* of tiles, that a launch may do */

/* How coefficients are read: HJCoefficientStorage, arrays of a symmetric matrix, a dictionary of one row but for the outermost layers, and
   one where these are walls (HJFrame) */
enum { HJ_PRODUCT_ROW, HJ_PRODUCT_DICTIONARY, HJ_PRODUCT_ARRAYS, HJ_PRODUCT_SYMMETRIC, HJ_PRODUCT_FRAMED, HJ_PRODUCT_WALLS };

/* Whether points that are in no outermost layer have one row, which is a parameter of the kernel */
__host__ __device__ constexpr bool HJProductHasRow(int read)
{
  return read == HJ_PRODUCT_ROW || read == HJ_PRODUCT_FRAMED || read == HJ_PRODUCT_WALLS;
}

typedef struct {
  const PetscScalar   *x, *b; /* b NULL: without it */
  PetscScalar         *ghost, *y;
  PetscScalar          alpha, row[HJ_MAX_SLOTS];
  const PetscScalar   *value, *rows;
  const unsigned char *index;
  long long            npoints;
  int                  width[3], layers; /* outermost ones whose points may have other rows, of HJ_PRODUCT_FRAMED and HJ_PRODUCT_WALLS */
  int                  lo[3], hi[3];     /* points before and from there on are in walls, */
  int                  from[3], to[3];   /* and before and from there on hidden from others */
  int                  first, end;       /* points in x that tiles do: walls there are done by the points beside them */
  PetscScalar          wall;             /* the diagonal of walls */
  long long            at[3][2], size;   /* the shell's */
  const PetscScalar   *upper;            /* of a symmetric box: see HJSlotUpper() */
  long long            step;
  bool                 half;
} HJProductArgs;

/* Tiles in boxes: those of a box have numbers from first on, block by block; a warp does a tile */
typedef struct {
  int       n, tiles[3]; /* of the owned box, in each direction */
  int       inner[3][2]; /* the first one, and one more than the last, that reach neither an end nor a layer of other rows */
  int       lo[HJ_PRODUCT_BOXES][3], width[HJ_PRODUCT_BOXES][3];
  long long first[HJ_PRODUCT_BOXES + 1];
  bool      exchanged; /* what touches no end need not wait for the kernel before, */
  unsigned  shift;     /* and so many of the first blocks come last, which mostly do */
} HJProductTiles;

/* A line of points, in the vector or among the ghosts, and the points before and after it */
typedef struct {
  const PetscScalar *mid, *before, *after;
} HJProductLine;

__device__ __forceinline__ HJProductLine HJProductGetLine(const HJProductArgs &p, int j, int k)
{
  const int     nx = p.width[0], ny = p.width[1], nz = p.width[2];
  HJProductLine l;

  if (k < 0 || k >= nz) l.mid = p.ghost + p.at[2][k >= nz] + (j + 1) * (nx + 2LL) + 1;
  else if (j < 0 || j >= ny) l.mid = p.ghost + p.at[1][j >= ny] + k * (nx + 2LL) + 1;
  else {
    const long long line = (long long)k * ny + j;

    l.mid    = p.x + line * nx;
    l.before = p.ghost + p.at[0][0] + line;
    l.after  = p.ghost + p.at[0][1] + line;
    return l;
  }
  l.before = l.mid - 1;
  l.after  = l.mid + nx;
  return l;
}

/* Whether a line lies in a wall, */
__device__ __forceinline__ bool HJProductInWall(const HJProductArgs &p, int j, int k)
{
  return j < p.lo[1] || j >= p.hi[1] || k < p.lo[2] || k >= p.hi[2];
}

/* and whether a point at an offset is hidden from others */
__device__ __forceinline__ bool HJProductHides(const HJProductArgs &p, int i, int j, int k, int dx, int dy, int dz)
{
  return (dx && (i + dx < p.from[0] || i + dx >= p.to[0])) || (dy && (j + dy < p.from[1] || j + dy >= p.to[1])) ||
         (dz && (k + dz < p.from[2] || k + dz >= p.to[2]));
}

/* A point in a wall, where x is its own value */
__device__ __forceinline__ void HJProductWall(const HJProductArgs &p, long long at, PetscScalar x)
{
  p.y[at] = p.b ? fma(p.alpha, p.wall * x, p.b[at]) : p.alpha * (p.wall * x);
}

/* Which ends of the owned box a tile touches, or layers of other rows: none; those in x alone; others, perhaps those in x too */
enum { HJ_PRODUCT_INSIDE, HJ_PRODUCT_END_X, HJ_PRODUCT_END };

/* A tile and its ring in registers: lines that the stencil needs, and of each the points at i - 1, i, i + 1 */
template <int DIM, bool BOX, int RY, int RZ> struct HJProductWindow {
  static constexpr int HY = DIM > 1, HZ = DIM > 2;
  PetscScalar          v[RZ + 2 * HZ][RY + 2 * HY][3];

  template <int END> __device__ __forceinline__ void load(const HJProductArgs &p, int i, int j0, int k0)
  {
    const int       nx = p.width[0], ny = p.width[1];
    const long long line0 = (long long)k0 * ny + j0;

#pragma unroll
    for (int d = 0; d < RZ + 2 * HZ; d++) {
#pragma unroll
      for (int c = 0; c < RY + 2 * HY; c++) {
        const bool inside_y = c >= HY && c < RY + HY, inside_z = d >= HZ && d < RZ + HZ, sides = BOX || (inside_y && inside_z);

        if (!BOX && !inside_y && !inside_z) continue;
        const long long line = line0 + (long long)(d - HZ) * ny + (c - HY);
        HJProductLine   l    = {p.x + line * nx, p.ghost + p.at[0][0] + line, p.ghost + p.at[0][1] + line};

        if (END == HJ_PRODUCT_END) l = HJProductGetLine(p, j0 + c - HY, k0 + d - HZ);
        v[d][c][1] = __ldg(l.mid + i);
        if (!sides) continue;
        v[d][c][0] = __ldg(END != HJ_PRODUCT_INSIDE && i == 0 ? l.before : l.mid + i - 1);
        v[d][c][2] = __ldg(END != HJ_PRODUCT_INSIDE && i == nx - 1 ? l.after : l.mid + i + 1);
      }
    }
  }
};

/* The coefficient of a slot at a point; inner: all neighbours are owned */
template <int DIM, bool BOX, int READ>
__device__ __forceinline__ PetscScalar HJProductCoefficient(const HJProductArgs &p, int slot, long long at, const PetscScalar *row,
                                                            bool inner)
{
  constexpr int   NN    = HJDNeighbors(DIM, BOX);
  const bool      lower = slot && (BOX ? slot <= NN / 2 : slot % 2 == 1);
  const int       upper = (lower ? (BOX ? 1 + NN - slot : slot + 1) : slot) / (BOX ? 1 : 2) - (BOX ? NN / 2 : 0); /* its number */
  const long long away  = HJDSlotOffset(DIM, BOX, slot, 0) +
                         ((long long)HJDSlotOffset(DIM, BOX, slot, 2) * p.width[1] + HJDSlotOffset(DIM, BOX, slot, 1)) * p.width[0];

  if (HJProductHasRow(READ)) return p.row[slot];
  if (READ == HJ_PRODUCT_DICTIONARY) return __ldg(row + slot);
  constexpr bool HALVES = BOX || DIM == 1; /* products of matrices, which are halves, are no other stars */

  if (READ == HJ_PRODUCT_SYMMETRIC && slot && (!lower || inner || (HALVES && p.half)))
    return __ldg((BOX ? p.upper : p.value) + upper * p.step + at + (lower ? away : 0));
  return __ldg(p.value + slot * p.npoints + at);
}

/* Whether a point of a tile that reaches an end in x is left to HJProductFrame() */
template <int READ> __device__ __forceinline__ bool HJProductLeaves(const HJProductArgs &p, int i)
{
  return READ == HJ_PRODUCT_FRAMED && (i < p.layers || i >= p.width[0] - p.layers);
}

/* The same in a tile that reaches walls: points there have their diagonal alone, and no other sees what is hidden */
template <int DIM, bool BOX, int END>
__device__ __forceinline__ PetscScalar HJProductBesideWalls(const HJProductArgs &p, int slot, int i, int j, int k)
{
  constexpr bool lines = END != HJ_PRODUCT_END_X; /* may lie in walls, or see them */
  const bool     in    = lines && HJProductInWall(p, j, k);

  if (!slot) return in ? p.wall : p.row[0];
  return in || HJProductHides(p, i, j, k, HJDSlotOffset(DIM, BOX, slot, 0), lines ? HJDSlotOffset(DIM, BOX, slot, 1) : 0,
                              lines ? HJDSlotOffset(DIM, BOX, slot, 2) : 0)
           ? HJ_ZERO
           : p.row[slot];
}

/* Points of a thread, at i in the lines from j0 and k0 on. Lanes beyond the end of a line do its last point and do not write it */
template <int DIM, bool BOX, int READ, int RY, int RZ, int END>
__device__ __forceinline__ void HJProductPoints(const HJProductArgs &p, int lane_i, int j0, int k0)
{
  constexpr int                     HY = DIM > 1, HZ = DIM > 2;
  constexpr bool                    inner = END == HJ_PRODUCT_INSIDE, walls = READ == HJ_PRODUCT_WALLS && !inner;
  const int                         nx = p.width[0], ny = p.width[1], end = walls ? p.end : nx, i = inner ? lane_i : min(lane_i, end - 1);
  const long long                   at0 = ((long long)k0 * ny + j0) * nx + i;
  HJProductWindow<DIM, BOX, RY, RZ> x;
  PetscScalar                       b[RZ][RY];

  x.template load<END>(p, i, j0, k0);
#pragma unroll
  for (int r = 0; r < RZ; r++) {
#pragma unroll
    for (int q = 0; q < RY; q++) b[r][q] = p.b ? p.b[at0 + ((long long)r * ny + q) * nx] : HJ_ZERO;
  }
#pragma unroll
  for (int r = 0; r < RZ; r++) {
#pragma unroll
    for (int q = 0; q < RY; q++) {
      const long long    at  = at0 + ((long long)r * ny + q) * nx;
      const PetscScalar *row = NULL;
      PetscScalar        sum;

      if (READ == HJ_PRODUCT_DICTIONARY) row = p.rows + (int)__ldg(p.index + at) * (1 + HJDNeighbors(DIM, BOX));
      const auto coefficient = [&](int slot) {
        return walls ? HJProductBesideWalls<DIM, BOX, END>(p, slot, i, j0 + q, k0 + r)
                     : HJProductCoefficient<DIM, BOX, READ>(p, slot, at, row, inner);
      };

      sum = coefficient(0) * x.v[r + HZ][q + HY][1];
#pragma unroll
      for (int s = 1; s <= HJDNeighbors(DIM, BOX); s++) {
        const int dx = HJDSlotOffset(DIM, BOX, s, 0), dy = HJDSlotOffset(DIM, BOX, s, 1), dz = HJDSlotOffset(DIM, BOX, s, 2);

        sum = fma(coefficient(s), x.v[r + HZ + dz][q + HY + dy][1 + dx], sum);
      }
      if (inner || (lane_i < end && !HJProductLeaves<READ>(p, i))) p.y[at] = p.b ? fma(p.alpha, sum, b[r][q]) : p.alpha * sum;
      if (walls && lane_i == p.first && i > 0) HJProductWall(p, at - 1, x.v[r + HZ][q + HY][0]);
      if (walls && lane_i == end - 1 && end < nx) HJProductWall(p, at + 1, x.v[r + HZ][q + HY][2]);
    }
  }
}

/* One row with 27 points: a lane reads the lines at its own place alone, sums up what these points give to the three places i - 1, i and
   i + 1, and hands on to its neighbours what is theirs. The first and the last lane only help */
template <int DIM, int READ, int RY, int RZ, int END>
__device__ __forceinline__ void HJProductHanded(const HJProductArgs &p, int lane_i, int j0, int k0)
{
  constexpr int   HY = DIM > 1, HZ = DIM > 2;
  const int       nx = p.width[0], ny = p.width[1], lane = threadIdx.x % 32, i = END == HJ_PRODUCT_INSIDE ? lane_i : min(lane_i, nx);
  constexpr bool  walls = READ == HJ_PRODUCT_WALLS && END != HJ_PRODUCT_INSIDE;
  const bool      mine  = lane > 0 && lane < 31 && i < (walls ? p.end : nx) && (END == HJ_PRODUCT_INSIDE || !HJProductLeaves<READ>(p, i));
  const long long line0 = (long long)k0 * ny + j0;
  PetscScalar     v[RZ + 2 * HZ][RY + 2 * HY], b[RZ][RY];

#pragma unroll
  for (int d = 0; d < RZ + 2 * HZ; d++) {
#pragma unroll
    for (int c = 0; c < RY + 2 * HY; c++) {
      const long long line = line0 + (long long)(d - HZ) * ny + (c - HY);
      HJProductLine   l    = {p.x + line * nx, p.ghost + p.at[0][0] + line, p.ghost + p.at[0][1] + line};

      if (END == HJ_PRODUCT_END) l = HJProductGetLine(p, j0 + c - HY, k0 + d - HZ);
      v[d][c] = __ldg(END != HJ_PRODUCT_INSIDE && i < 0 ? l.before : END != HJ_PRODUCT_INSIDE && i >= nx ? l.after : l.mid + i);
      if (walls && (i < p.from[0] || i >= p.to[0] || HJProductHides(p, 0, j0, k0, 0, c - HY, d - HZ))) v[d][c] = 0.0;
    }
  }
#pragma unroll
  for (int r = 0; r < RZ; r++) {
#pragma unroll
    for (int q = 0; q < RY; q++) b[r][q] = p.b && mine ? p.b[(line0 + (long long)r * ny + q) * nx + i] : HJ_ZERO;
  }
#pragma unroll
  for (int r = 0; r < RZ; r++) {
#pragma unroll
    for (int q = 0; q < RY; q++) {
      PetscScalar to[3] = {0.0, 0.0, 0.0}, sum;

#pragma unroll
      for (int s = 0; s <= HJDNeighbors(DIM, true); s++) {
        const int dx = HJDSlotOffset(DIM, true, s, 0), dy = HJDSlotOffset(DIM, true, s, 1), dz = HJDSlotOffset(DIM, true, s, 2);

        to[1 - dx] = fma(p.row[s], v[r + HZ + dz][q + HY + dy], to[1 - dx]);
      }
      sum = __shfl_up_sync(0xffffffffu, to[2], 1) + to[1] + __shfl_down_sync(0xffffffffu, to[0], 1);
      if (walls && ((i >= 0 && i == p.first - 1) || (i < nx && i == p.end) || (mine && HJProductInWall(p, j0 + q, k0 + r)))) {
        HJProductWall(p, (line0 + (long long)r * ny + q) * nx + i, __ldg(p.x + (line0 + (long long)r * ny + q) * nx + i));
        continue;
      }
      if (mine) p.y[(line0 + (long long)r * ny + q) * nx + i] = p.b ? fma(p.alpha, sum, b[r][q]) : p.alpha * sum;
    }
  }
}

/* Whether HJProductHanded() does it, and how many points in x a warp does */
template <int DIM, bool BOX, int READ> struct HJProductHands {
  static constexpr bool value = DIM == 3 && BOX && HJProductHasRow(READ);
  static constexpr int  width = value ? 30 : 32;
};

template <int DIM, bool BOX, int READ, int RY, int RZ, int END>
__device__ __forceinline__ void HJProductTile(const HJProductArgs &p, int lane_i, int j0, int k0)
{
  if constexpr (HJProductHands<DIM, BOX, READ>::value) HJProductHanded<DIM, READ, RY, RZ, END>(p, lane_i - 1, j0, k0);
  else HJProductPoints<DIM, BOX, READ, RY, RZ, END>(p, lane_i, j0, k0);
}

/* A tile at an end in y or z, point by point: there are few */
template <int DIM, bool BOX, int READ>
__device__ __forceinline__ void HJProductTileAtEnd(const HJProductArgs &p, int i, int j0, int k0, int ry, int rz)
{
#pragma unroll 1
  for (int k = k0; k < min(k0 + rz, p.width[2]); k++) {
#pragma unroll 1
    for (int j = j0; j < min(j0 + ry, p.width[1]); j++) HJProductTile<DIM, BOX, READ, 1, 1, HJ_PRODUCT_END>(p, i, j, k);
  }
}

/* Of a tile of HJ_PRODUCT_FRAMED the points in the outermost layers in x, or all, by the dictionary: a lane does one after the other. It is
   called, so that tiles inside keep the registers that those of one row have */
template <int DIM, bool BOX>
__device__ __noinline__ void HJProductFrame(const HJProductArgs &p, bool all, int i0, int j0, int k0, int rx, int ry, int rz)
{
  const int width = min(rx, p.width[0] - i0), lines = min(ry, p.width[1] - j0), planes = min(rz, p.width[2] - k0);
  const int left = all ? width : max(0, min(p.layers - i0, width)), right = all ? 0 : max(0, i0 + width - max(i0, p.width[0] - p.layers));
  const int n = left + right;

#pragma unroll 1
  for (int point = threadIdx.x % 32; point < n * lines * planes; point += 32) {
    const int line = point / n, c = point % n;

    HJProductPoints<DIM, BOX, HJ_PRODUCT_DICTIONARY, 1, 1, HJ_PRODUCT_END>(p, c < left ? i0 + c : i0 + width - n + c, j0 + line % lines,
                                                                           k0 + line / lines);
  }
}

/* WX, WY, WZ: warps of a block beside each other in each direction; BLOCKS: at least so many on a multiprocessor */
template <int DIM, bool BOX, int READ, int RY, int RZ, int WX, int WY, int WZ, int BLOCKS>
__global__ void __launch_bounds__(32 * WX * WY * WZ, BLOCKS)
  HJProduct_Kernel(const __grid_constant__ HJProductArgs p, const __grid_constant__ HJProductTiles tiles)
{
  constexpr bool many = DIM == 3 && BOX &&
                        !HJProductHasRow(READ); /* so many neighbours that lines with two kinds of ends do not fit into registers */
  const int      warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned moved = blockIdx.x + tiles.shift, number = moved < gridDim.x ? moved : moved - gridDim.x;
  int            box = 0, t[3];
  bool           end = false;

  while (box < tiles.n - 1 && (long long)number >= tiles.first[box + 1]) box++;
  const int blocks_x = (tiles.width[box][0] + WX - 1) / WX, blocks_y = (tiles.width[box][1] + WY - 1) / WY;
  const int block = (int)(number - tiles.first[box]);

  t[0] = block % blocks_x * WX + warp % WX;
  t[1] = block / blocks_x % blocks_y * WY + warp / WX % WY;
  t[2] = block / blocks_x / blocks_y * WZ + warp / WX / WY;
  if (t[0] >= tiles.width[box][0] || t[1] >= tiles.width[box][1] || t[2] >= tiles.width[box][2]) return;
#pragma unroll
  for (int d = 0; d < DIM; d++) {
    t[d] += tiles.lo[box][d];
    end = end || ((d || many) && (t[d] < tiles.inner[d][0] || t[d] >= tiles.inner[d][1]));
  }
  const bool end_x = t[0] < tiles.inner[0][0] || t[0] >= tiles.inner[0][1];
  const int  i = t[0] * HJProductHands<DIM, BOX, READ>::width + lane + (READ == HJ_PRODUCT_WALLS ? p.first : 0), j = t[1] * RY,
            k = t[2] * RZ;

  if (tiles.exchanged && (end || end_x)) HJDAwaitInput();
  if (READ == HJ_PRODUCT_FRAMED && (end || end_x)) {
    if (!end) HJProductTile<DIM, BOX, READ, RY, RZ, HJ_PRODUCT_END_X>(p, i, j, k);
    HJProductFrame<DIM, BOX>(p, end, i - lane, j, k, HJProductHands<DIM, BOX, READ>::width, RY, RZ);
  } else if (end) HJProductTileAtEnd<DIM, BOX, READ>(p, i, j, k, RY, RZ);
  else if (!many && end_x) HJProductTile<DIM, BOX, READ, RY, RZ, HJ_PRODUCT_END_X>(p, i, j, k);
  else HJProductTile<DIM, BOX, READ, RY, RZ, HJ_PRODUCT_INSIDE>(p, i, j, k);
}

/* The first tile, and one more than the last, that do not reach so many layers at the ends of the owned box */
static void HJProductSetInner(const int width[3], const int size[3], int layers, int inner[3][2])
{
  for (int d = 0; d < 3; d++) {
    inner[d][0] = (layers + size[d] - 1) / size[d];
    inner[d][1] = PetscMax((width[d] - layers) / size[d], inner[d][0]);
  }
}

/* The tiles of a part */
static long long HJProductSetTiles(HJProductRegion region, int dim, const int width[3], const int size[3], const int warps[3], int layers,
                                   HJProductTiles *t)
{
  int  lo[3] = {0, 0, 0}, n[3], in[3][2];
  bool empty = false;

  memset(t, 0, sizeof(*t));
  HJProductSetInner(width, size, 1, in);
  HJProductSetInner(width, size, PetscMax(layers, 1), t->inner);
  for (int d = 0; d < 3; d++) t->tiles[d] = n[d] = (width[d] + size[d] - 1) / size[d];
  const auto add = [&]() {
    long long blocks = 1;

    for (int d = 0; d < 3; d++) {
      t->lo[t->n][d]    = lo[d];
      t->width[t->n][d] = n[d];
      blocks *= (n[d] + warps[d] - 1) / warps[d];
    }
    t->first[t->n + 1] = t->first[t->n] + blocks;
    t->n++;
  };
  if (region == HJ_PRODUCT_ALL) add();
  for (int d = dim - 1; d >= 0 && region != HJ_PRODUCT_ALL && !empty; d--) {
    const int all = n[d];

    for (int side = 0; side < 2 && region == HJ_PRODUCT_BOUNDARY; side++) {
      lo[d] = side ? in[d][1] : 0;
      n[d]  = side ? all - in[d][1] : PetscMin(in[d][0], all);
      if (n[d] > 0) add();
    }
    lo[d] = in[d][0];
    n[d]  = in[d][1] - in[d][0];
    empty = n[d] <= 0;
  }
  if (region == HJ_PRODUCT_INTERIOR && !empty) add();
  return t->first[t->n];
}

/* Layers of blocks in the slowest direction, of all tiles */
template <int DIM> static int HJProductLayers(const HJProductTiles &t, const int warps[3])
{
  return (t.tiles[DIM - 1] + warps[DIM - 1] - 1) / warps[DIM - 1];
}

/* Points of a thread in y and z, warps of a block in each direction, blocks of a multiprocessor. One row of 7 points is read from the L2
   cache more than once: blocks are as thick in z as in y */
template <int DIM, bool BOX, int READ> struct HJProductShape {
  static constexpr bool arrays = READ == HJ_PRODUCT_ARRAYS || READ == HJ_PRODUCT_SYMMETRIC;
  static constexpr bool many   = BOX && READ != HJ_PRODUCT_ROW; /* neighbours, in 3D, for more than a point */
  static constexpr bool halves = DIM == 3 && !BOX && READ == HJ_PRODUCT_SYMMETRIC;
  static constexpr int  RY     = DIM == 1                                          ? 1
                                 : DIM == 2                                        ? HJ_PRODUCT_LINES_2D
                                 : many || halves || READ == HJ_PRODUCT_DICTIONARY ? 1
                                                                                   : HJ_PRODUCT_LINES_3D;
  static constexpr int  RZ     = DIM < 3 || many ? 1 : READ == HJ_PRODUCT_DICTIONARY ? HJ_PRODUCT_PLANES_DICTIONARY : HJ_PRODUCT_PLANES;
  static constexpr bool thick  = DIM == 3 && !BOX && READ == HJ_PRODUCT_ROW;
  static constexpr int  WX     = DIM == 3 ? 1 : HJ_PRODUCT_WARPS;
  static constexpr int  WY     = thick ? HJ_PRODUCT_THICK : HJ_PRODUCT_WARPS / WX;
  static constexpr int  WZ     = thick ? HJ_PRODUCT_THICK : 1;
  static constexpr int  BLOCKS = thick    ? HJ_PRODUCT_BLOCKS_THICK
                                 : halves ? HJ_PRODUCT_BLOCKS_HALVES
                                 : arrays ? (DIM == 3 ? HJ_PRODUCT_BLOCKS_ARRAYS_3D : HJ_PRODUCT_BLOCKS_ARRAYS)
                                 : DIM < 3 && !BOX && READ == HJ_PRODUCT_ROW ? HJ_PRODUCT_BLOCKS_ROW
                                                                             : HJ_PRODUCT_BLOCKS;
};

template <int DIM, bool BOX> struct HJProductShape<DIM, BOX, HJ_PRODUCT_FRAMED> : HJProductShape<DIM, BOX, HJ_PRODUCT_ROW> {
};

template <int DIM, bool BOX> struct HJProductShape<DIM, BOX, HJ_PRODUCT_WALLS> : HJProductShape<DIM, BOX, HJ_PRODUCT_ROW> {
};

template <int DIM, bool BOX, int READ>
static PetscErrorCode HJProductLaunch(HJProductArgs p, HJProductRegion region, bool exchanged, cudaStream_t stream)
{
  typedef HJProductShape<DIM, BOX, READ> S;
  const int                              size[] = {HJProductHands<DIM, BOX, READ>::width, S::RY, S::RZ}, warps[] = {S::WX, S::WY, S::WZ};
  const int                              width[] = {READ == HJ_PRODUCT_WALLS ? p.end - p.first : p.width[0], p.width[1], p.width[2]};
  HJProductTiles                         tiles;
  const long long                        blocks = HJProductSetTiles(region, DIM, width, size, warps, p.layers, &tiles);
  HJLaunch                               how    = {};
  void                                  *args[] = {&p, &tiles};

  PetscFunctionBegin;
  PetscCheck(blocks <= INT_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "A rank has %lld points, too many for one launch: use more ranks",
             p.npoints);
  if (!blocks) PetscFunctionReturn(PETSC_SUCCESS);
  tiles.exchanged = exchanged && region == HJ_PRODUCT_ALL;
  tiles.shift     = tiles.exchanged ? (unsigned)(blocks / HJProductLayers<DIM>(tiles, warps)) : 0;
  how.grid        = dim3((unsigned)blocks);
  how.block       = dim3(32 * S::WX * S::WY * S::WZ);
  how.stream      = stream;
  how.overlap     = tiles.exchanged;
  PetscCallCUDA(HJLaunchKernel(&how, (const void *)HJProduct_Kernel<DIM, BOX, READ, S::RY, S::RZ, S::WX, S::WY, S::WZ, S::BLOCKS>, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether so many points of a dictionary are in none of the layers whose points may have other rows that these are worth their price */
static bool HJProductIsFramed(const HJCoefficients *a, const int width[3])
{
  long long inside = 1;

  if (a->storage != HJ_COEFFICIENTS_DICTIONARY || !a->frame.layers) return false;
  for (int d = 0; d < a->dim; d++) inside *= PetscMax(width[d] - 2 * (int)PetscMin(a->frame.layers, width[d]), 0);
  return inside >= HJ_PRODUCT_FRAMED_SHARE * (a->npoints / 100);
}

/* What the owned points around a point, which is owned or a ghost, give it. Theirs come in the order of the host: line by line, and of a
   line the centre first, then the slots */
template <int DIM, bool BOX, int READ> __device__ PetscScalar HJProductGather(const HJProductArgs &p, int i, int j, int k, PetscScalar sum)
{
  constexpr int order[3] = {0, -1, 1};

#pragma unroll
  for (int dz = DIM > 2; dz >= -(DIM > 2); dz--) {
#pragma unroll
    for (int dy = DIM > 1; dy >= -(DIM > 1); dy--) {
#pragma unroll
      for (int o = 0; o < 3; o++) {
        const int       dx = dy || dz ? o - 1 : order[o], slot = HJDSlot(DIM, BOX, dx, dy, dz), x = i - dx, y = j - dy, z = k - dz;
        const bool      owned = x >= 0 && x < p.width[0] && y >= 0 && y < p.width[1] && z >= 0 && z < p.width[2];
        const long long at    = ((long long)z * p.width[1] + y) * p.width[0] + x;

        if (slot < 0 || !owned) continue;
        const PetscScalar *row = READ == HJ_PRODUCT_DICTIONARY ? p.rows + (int)p.index[at] * (1 + HJDNeighbors(DIM, BOX)) : NULL;

        sum = fma(p.alpha * HJProductCoefficient<DIM, BOX, READ>(p, slot, at, row, false), __ldg(p.x + at), sum);
      }
    }
  }
  return sum;
}

/* Coordinates of place g of the shell */
template <int DIM> __device__ void HJProductGhostPoint(const HJProductArgs &p, long long g, int &i, int &j, int &k)
{
  int d = 0, side = 0;

  while (d < DIM - 1 && g >= p.at[d + 1][0]) d++;
  if (g >= p.at[d][1]) side = 1;
  const long long l    = g - p.at[d][side];
  const int       line = d == 0 ? 1 : p.width[0] + 2, end = side ? p.width[d] : -1;

  i = d == 0 ? end : (int)(l % line) - 1;
  j = d == 0 ? (int)(l % p.width[1]) : d == 1 ? end : (int)(l / line) - 1;
  k = d == 0 ? (int)(l / p.width[1]) : d == 1 ? (int)(l / line) : end;
}

/* blockIdx.z: the owned points, a warp for 32 of a line; then the ghosts, one after the other */
template <int DIM, bool BOX, int READ>
__global__ void __launch_bounds__(HJ_PRODUCT_THREADS) HJProductTranspose_Kernel(const __grid_constant__ HJProductArgs p)
{
  const long long lines = (long long)p.width[1] * p.width[2], step = (long long)gridDim.y * HJ_PRODUCT_WARPS;
  int             i = blockIdx.x * 32 + threadIdx.x % 32, j, k;

  if (blockIdx.z) {
    const long long all   = (long long)gridDim.x * gridDim.y * HJ_PRODUCT_THREADS;
    const long long first = ((long long)blockIdx.y * gridDim.x + blockIdx.x) * HJ_PRODUCT_THREADS + threadIdx.x;

    for (long long g = first; g < p.size; g += all) {
      HJProductGhostPoint<DIM>(p, g, i, j, k);
      p.ghost[g] = HJProductGather<DIM, BOX, READ>(p, i, j, k, 0.0);
    }
    return;
  }
  if (i >= p.width[0]) return;
  for (long long l = blockIdx.y * (long long)HJ_PRODUCT_WARPS + threadIdx.x / 32; l < lines; l += step) {
    const long long at = l * p.width[0] + i;

    p.y[at] = HJProductGather<DIM, BOX, READ>(p, i, (int)(l % p.width[1]), (int)(l / p.width[1]), p.b ? p.b[at] : HJ_ZERO);
  }
}

static __global__ void __launch_bounds__(HJ_PRODUCT_THREADS) HJProductReturns_Kernel(const HJProductReturns r, PetscScalar *y)
{
  const long long i = blockIdx.x * (long long)HJ_PRODUCT_THREADS + threadIdx.x;

  if (i >= r.n) return;
  PetscScalar sum = y[r.point[i]];

  for (PetscInt v = r.first[i]; v < r.first[i + 1]; v++) sum += r.value[v];
  y[r.point[i]] = sum;
}

static PetscErrorCode HJProductGetArgs(const HJProduct *p, HJProductArgs *args)
{
  const HJCoefficients *a = p->a;
  PetscCount            first, step;

  PetscFunctionBegin;
  PetscCheck(a->storage == HJ_COEFFICIENTS_ROW || PetscMemTypeDevice(a->mtype), PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Coefficients of a product on the GPU lie on the host");
  memset(args, 0, sizeof(*args));
  args->x       = p->x;
  args->b       = p->b;
  args->ghost   = p->ghost;
  args->y       = p->y;
  args->alpha   = p->alpha;
  args->value   = a->value;
  args->rows    = a->device_rows;
  args->index   = a->index;
  args->npoints = a->npoints;
  args->half    = a->half;
  args->size    = p->shell->size;
  HJSlotUpper(a, &first, &step);
  args->upper = a->value + first;
  args->step  = step;
  for (int d = 0; d < 3; d++) {
    PetscCheck(p->shell->width[d] <= INT_MAX / 2, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "%" PetscInt_FMT " points in one direction of a rank, a GPU takes at most %d: use more ranks", p->shell->width[d],
               INT_MAX / 2);
    args->width[d] = (int)p->shell->width[d];
    for (int side = 0; side < 2; side++) args->at[d][side] = p->shell->at[d][side];
  }
  if (HJProductIsFramed(a, args->width)) args->layers = (int)a->frame.layers;
  for (int s = 0; s < a->nslots && (a->storage == HJ_COEFFICIENTS_ROW || args->layers); s++)
    args->row[s] = a->rows[(args->layers ? a->frame.row * a->nslots : 0) + s];
  args->end = args->width[0];
  if (args->layers && a->frame.wall >= 0) {
    args->wall  = a->rows[a->frame.wall * a->nslots];
    args->first = a->frame.at[0][0] ? 1 : 0;
    args->end -= a->frame.at[0][1] ? 1 : 0;
  }
  for (int d = 0; d < 3; d++) {
    args->lo[d]   = a->frame.at[d][0] ? 1 : INT_MIN;
    args->hi[d]   = a->frame.at[d][1] ? args->width[d] - 1 : INT_MAX;
    args->from[d] = a->frame.dropped ? args->lo[d] : INT_MIN;
    args->to[d]   = a->frame.dropped ? args->hi[d] : INT_MAX;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJProductMultiply(const HJDevice *, cudaStream_t stream, const HJProduct *p)
{
  const HJCoefficients *a         = p->a;
  const bool            symmetric = a->symmetric || a->half;
  HJProductArgs         args;

  PetscFunctionBegin;
  PetscCall(HJProductGetArgs(p, &args));
#define HJProductLaunchRead(dim, box, read) PetscCall((HJProductLaunch<dim, box, read>(args, p->region, p->exchanged, stream)))
#define HJProductLaunchOne(dim, box)                                                                                                       \
  do {                                                                                                                                     \
    if (a->storage == HJ_COEFFICIENTS_ROW) HJProductLaunchRead(dim, box, HJ_PRODUCT_ROW);                                                  \
    else if (args.layers && a->frame.wall >= 0) HJProductLaunchRead(dim, box, HJ_PRODUCT_WALLS);                                           \
    else if (args.layers) HJProductLaunchRead(dim, box, HJ_PRODUCT_FRAMED);                                                                \
    else if (a->storage == HJ_COEFFICIENTS_DICTIONARY) HJProductLaunchRead(dim, box, HJ_PRODUCT_DICTIONARY);                               \
    else if (symmetric) HJProductLaunchRead(dim, box, HJ_PRODUCT_SYMMETRIC);                                                               \
    else HJProductLaunchRead(dim, box, HJ_PRODUCT_ARRAYS);                                                                                 \
  } while (0)
  HJDDispatchShape(a, HJProductLaunchOne);
#undef HJProductLaunchOne
#undef HJProductLaunchRead
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int HJProductTakes(const HJDevice *, const HJAsk *ask)
{
  return ask->kind == HJ_PRODUCT;
}

const HJFamily HJFamilyProduct = {.name = "products", .takes = HJProductTakes, .multiply = HJProductMultiply};

template <int DIM, bool BOX> static void HJProductTransposeLaunch(const HJProductArgs &p, int storage, cudaStream_t stream)
{
  const long long lines = (long long)p.width[1] * p.width[2];
  const dim3      grid((p.width[0] + 31) / 32, (unsigned)PetscMin((lines + HJ_PRODUCT_WARPS - 1) / HJ_PRODUCT_WARPS, 65535), 2);

  if (storage == HJ_COEFFICIENTS_ROW) HJProductTranspose_Kernel<DIM, BOX, HJ_PRODUCT_ROW><<<grid, HJ_PRODUCT_THREADS, 0, stream>>>(p);
  else if (storage == HJ_COEFFICIENTS_DICTIONARY)
    HJProductTranspose_Kernel<DIM, BOX, HJ_PRODUCT_DICTIONARY><<<grid, HJ_PRODUCT_THREADS, 0, stream>>>(p);
  else HJProductTranspose_Kernel<DIM, BOX, HJ_PRODUCT_ARRAYS><<<grid, HJ_PRODUCT_THREADS, 0, stream>>>(p);
}

PetscErrorCode HJProductTranspose_CUDA(const HJProduct *p)
{
  const HJCoefficients *a = p->a;
  HJProductArgs         args;
  cudaStream_t          stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  if (a->entry) PetscCall(HJSystemTranspose_CUDA(p, stream));
  else if (p->region == HJ_PRODUCT_RETURNS) {
    const PetscInt blocks = (p->returns->n + HJ_PRODUCT_THREADS - 1) / HJ_PRODUCT_THREADS;

    if (blocks) HJProductReturns_Kernel<<<(unsigned)blocks, HJ_PRODUCT_THREADS, 0, stream>>>(*p->returns, p->y);
  } else {
    PetscCall(HJProductGetArgs(p, &args));
#define HJProductTransposeLaunchOne(dim, box) HJProductTransposeLaunch<dim, box>(args, a->storage, stream)
    HJDDispatchShape(a, HJProductTransposeLaunchOne);
#undef HJProductTransposeLaunchOne
  }
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

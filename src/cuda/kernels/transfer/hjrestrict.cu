/* SPDX-License-Identifier: BSD-2-Clause */
/*
   y = P^T (b - A x) and the sum of the squares of b - A x in one pass over the fine grid. Decides which kernel does it and how the grid is
   cut; those for the most frequent large grids are in hjrestrictpairs.cu.

   Small grids, whose time is latency: a block makes the residual of a small box of fine points, all at once, and gathers it. Large ones: a
   thread has one or two fine columns and marches along the slowest direction, with the planes around its own in registers; what a coarse
   plane gets is summed up column by column, then across columns through shared memory. A 2D grid is taken as a 3D one with one point in the
   middle direction, a 1D grid with one in the slowest too.
*/
#include "core/hjrestriction.h"
#include "hjrestrict.cuh"

/* Where the points beside a point are along a direction: the way from it to place -1, 0, 1, and whether there is one */
typedef struct {
  int  step[3];
  bool in[3];
} HJRestrictSides;

static __device__ __forceinline__ HJRestrictSides HJRestrictGetSides(const HJRestrictArgs &p, int d, int i)
{
  HJRestrictSides s;

  s.step[0] = i > 0 ? -1 : p.n[d] - 1;
  s.step[1] = 0;
  s.step[2] = i < p.n[d] - 1 ? 1 : 1 - p.n[d];
  s.in[0]   = i > 0 || p.periodic[d];
  s.in[1]   = true;
  s.in[2]   = i < p.n[d] - 1 || p.periodic[d];
  return s;
}

/* A place at most one beyond the ends of a direction, to where it is; false: nowhere */
static __device__ __forceinline__ bool HJRestrictWrap(const HJRestrictArgs &p, int d, int &i)
{
  if (i >= 0 && i < p.n[d]) return true;
  i += i < 0 ? p.n[d] : -p.n[d];
  return p.periodic[d] && i >= 0 && i < p.n[d];
}

/* The coefficient of a slot at a point; away: to its neighbour. HALVES: arrays may be a half */
template <int DIM, bool BOX, int READ, bool HALVES = true>
__device__ __forceinline__ PetscScalar HJRestrictCoefficient(const HJRestrictArgs &p, int slot, long long at, long long away,
                                                             const PetscScalar *row)
{
  constexpr int NN    = HJDNeighbors(DIM, BOX);
  const bool    lower = slot && (BOX ? slot <= NN / 2 : slot % 2 == 1);
  const int     opp   = BOX ? 1 + NN - slot : 1 + ((slot - 1) ^ 1);

  if (READ == HJ_RESTRICT_ROW) return p.row[slot];
  if (READ == HJ_RESTRICT_DICTIONARY) return row[slot];
  if (READ == HJ_RESTRICT_SYMMETRIC && lower) return p.value[opp * p.npoints + at + away];
  return p.value[(READ == HJ_RESTRICT_ARRAYS && HALVES ? p.begin[slot] : slot * p.npoints) + at];
}

/* A tile: its first coarse point, its coarse points, the first fine point that they need and how many, in each direction, and how many of
   these another tile counts */
typedef struct {
  int c0[3], nc[3], f0[3], nf[3], others[3];
} HJRestrictTile;

/* CUT: planes are counted as HJRestrictCutPlane() has them */
template <bool CUT> static __device__ __forceinline__ HJRestrictTile HJRestrictGetTile(const HJRestrictArgs &p, int number)
{
  const int      t[3] = {number % p.tiles[0], number / p.tiles[0] % p.tiles[1], number / p.tiles[0] / p.tiles[1]};
  HJRestrictTile tile;

#pragma unroll
  for (int d = 0; d < 3; d++) {
    tile.c0[d]     = t[d] * p.tile[d];
    tile.nc[d]     = min(p.tile[d], p.nc[d] - tile.c0[d]);
    tile.f0[d]     = (tile.c0[d] << p.two[d]) - p.two[d] + (CUT && d == 2 ? 0 : p.first[d]);
    tile.nf[d]     = (tile.nc[d] << p.two[d]) + p.two[d];
    tile.others[d] = tile.c0[d] == 0 && !p.periodic[d] ? 0 : p.two[d];
  }
  return tile;
}

/* The coarse points of a plane, or of a tile, from sums at the fine ones: v over nf[0] by nf[1] columns, planes of them if two2 */
static __device__ __forceinline__ PetscScalar HJRestrictGather(const HJRestrictArgs &p, const PetscScalar *v, int line, int plane,
                                                               bool two2)
{
  PetscScalar sum = 0.0;

  for (int ds = two2 ? -1 : 0; ds <= (two2 ? 1 : 0); ds++) {
    for (int dm = -p.two[1]; dm <= p.two[1]; dm++) {
      const PetscScalar *q = v + ds * plane + dm * line;
      PetscScalar        l = q[0];

      if (p.two[0]) l += HJ_HALF * (q[-1] + q[1]);
      sum += (ds ? HJ_HALF : (PetscScalar)1) * (dm ? HJ_HALF : (PetscScalar)1) * l;
    }
  }
  return sum;
}

/* b - A x at a point of the grid */
template <int DIM, bool BOX, int READ, bool CUT>
__device__ __forceinline__ PetscScalar HJRestrictPoint(const HJRestrictArgs &p, int i, int m, int s)
{
  const HJRestrictSides side[3] = {HJRestrictGetSides(p, 0, i), HJRestrictGetSides(p, 1, m), HJRestrictGetSides(p, 2, s)};
  const long long       at      = (long long)s * p.plane + m * p.n[0] + i;
  const PetscScalar    *row     = NULL;
  PetscScalar           sum     = 0.0;

  if (READ == HJ_RESTRICT_DICTIONARY) row = p.rows + p.index[at] * (1 + HJDNeighbors(DIM, BOX));
#pragma unroll
  for (int slot = 0; slot <= HJDNeighbors(DIM, BOX); slot++) {
    const int dx = 1 + HJRestrictOffset<DIM, BOX>(slot, 0), dm = 1 + HJRestrictOffset<DIM, BOX>(slot, 1),
              ds         = 1 + HJRestrictOffset<DIM, BOX>(slot, 2);
    const long long away = (long long)side[2].step[ds] * p.plane + side[1].step[dm] * p.n[0] + side[0].step[dx];

    if constexpr (CUT) {
      const PetscScalar *plane = HJRestrictCutPlane(p, p.x, p.beside_x, s + ds - 1);

      if (side[0].in[dx] && side[1].in[dm] && plane) sum = fma(p.row[slot], plane[(m + dm - 1) * p.n[0] + i + dx - 1], sum);
    } else if (side[0].in[dx] && side[1].in[dm] && side[2].in[ds])
      sum = fma(HJRestrictCoefficient<DIM, BOX, READ>(p, slot, at, away, row), p.x[at + away], sum);
  }
  if (CUT) return HJRestrictCutPlane(p, p.b, p.beside_b, s)[m * p.n[0] + i] - sum;
  return p.b[at] - sum;
}

/* A block does boxes of coarse points, a thread fine points of them */
template <int DIM, bool BOX, int READ, bool CUT>
__global__ void __launch_bounds__(HJ_RESTRICT_TILE_THREADS) HJRestrictTile_Kernel(const __grid_constant__ HJRestrictArgs p)
{
  extern __shared__ PetscScalar s_r[]; /* [nf[2]][nf[1]][nf[0]] */
  PetscScalar                   norm2 = 0.0;

  HJDAwaitInput();
  HJDLetNextStart();
  for (int number = blockIdx.x; number < p.all; number += gridDim.x) {
    const HJRestrictTile t    = HJRestrictGetTile<CUT>(p, number);
    const int            line = t.nf[0], plane = line * t.nf[1];

    for (int o = threadIdx.x; o < plane * t.nf[2]; o += blockDim.x) {
      const int   l[3] = {o % line, o / line % t.nf[1], o / plane};
      int         i = t.f0[0] + l[0], m = t.f0[1] + l[1], s = t.f0[2] + l[2];
      const bool  there  = CUT ? HJRestrictCutPlane(p, p.b, p.beside_b, s) != NULL : HJRestrictWrap(p, 2, s);
      const bool  in     = HJRestrictWrap(p, 0, i) && HJRestrictWrap(p, 1, m) && there;
      const bool  counts = l[0] >= t.others[0] && l[1] >= t.others[1] && l[2] >= t.others[2] && (!CUT || HJRestrictIsOwn(p, s));
      PetscScalar r      = 0.0;

      if (in) r = HJRestrictPoint<DIM, BOX, READ, CUT>(p, i, m, s);
      if (counts) norm2 = fma(r, r, norm2);
      s_r[o] = r * HJRestrictScale(p, 0, i) * HJRestrictScale(p, 1, m) * HJRestrictScale(p, 2, CUT ? s + p.first[2] : s);
    }
    __syncthreads();
    for (int o = threadIdx.x; o < t.nc[0] * t.nc[1] * t.nc[2]; o += blockDim.x) {
      const int          l[3] = {o % t.nc[0], o / t.nc[0] % t.nc[1], o / t.nc[0] / t.nc[1]};
      const PetscScalar *v    = s_r + ((l[2] << p.two[2]) + p.two[2]) * plane + ((l[1] << p.two[1]) + p.two[1]) * line +
                             ((l[0] << p.two[0]) + p.two[0]);
      const long long at = ((long long)(t.c0[2] + l[2]) * p.nc[1] + t.c0[1] + l[1]) * p.nc[0] + t.c0[0] + l[0];

      p.y[at] = HJRestrictGather(p, v, line, plane, p.two[2]);
    }
    __syncthreads();
  }
  if (p.norm2) HJRestrictAddNorm(p, norm2);
}

/* Columns of a thread, blocks on a multiprocessor */
template <int DIM, bool BOX, int READ> struct HJRestrictShape {
  static constexpr int COLUMNS = READ == HJ_RESTRICT_ROW && !(DIM == 3 && BOX) ? 2 : 1;
  static constexpr int BLOCKS  = DIM == 3 && BOX ? 2 : (BOX && READ != HJ_RESTRICT_ARRAYS) || (DIM == 3 && READ == HJ_RESTRICT_ROW) ? 3 : 4;
};

/* A plane of the fine grid: where it is in arrays; there: it is in the domain */
typedef struct {
  long long at;
  bool      there;
} HJRestrictPlane;

template <bool WRAP> __device__ __forceinline__ HJRestrictPlane HJRestrictGetPlane(const HJRestrictArgs &p, int s)
{
  HJRestrictPlane plane;

  if (WRAP) plane.there = HJRestrictWrap(p, 2, s);
  else plane.there = (unsigned)s < (unsigned)p.n[2];
  plane.at = (long long)s * p.plane;
  return plane;
}

/* Asks for a value that is read soon */
static __device__ __forceinline__ void HJRestrictPrefetch(const PetscScalar *p)
{
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

/* A fine column with the planes below, at and above its place: of a star the values on the column, of a box those around it too */
template <int DIM, bool BOX, int READ, bool WRAP> struct HJRestrictColumn {
  static constexpr int  NN = HJDNeighbors(DIM, BOX), HX = BOX ? 1 : 0, HM = BOX && DIM == 3 ? 1 : 0, HS = DIM > 1;
  static constexpr bool AHEAD  = !(DIM == 3 && BOX); /* loads a plane ahead */
  static constexpr int  PLANES = 3 + AHEAD;
  int                   at;
  bool                  in, counts;
  PetscScalar           scale; /* see HJRestrictScale() */
  HJRestrictSides       x, m;
  PetscScalar           v[PLANES][1 + 2 * HM][1 + 2 * HX], b, b_next, row[READ == HJ_RESTRICT_DICTIONARY ? 1 + NN : 1];
  int                   number, number_next, number_loaded;

  __device__ __forceinline__ void set(const HJRestrictArgs &p, const HJRestrictTile &t, int c)
  {
    const int lx = c % t.nf[0], lm = c / t.nf[0];
    int       i = t.f0[0] + lx, j = t.f0[1] + lm;

    in     = lm < t.nf[1];
    counts = in && lx >= t.others[0] && lm >= t.others[1];
    in     = HJRestrictWrap(p, 0, i) && HJRestrictWrap(p, 1, j) && in;
    scale  = HJRestrictScale(p, 0, i) * HJRestrictScale(p, 1, j);
    at     = in ? j * p.n[0] + i : 0;
    x      = HJRestrictGetSides(p, 0, i);
    m      = HJRestrictGetSides(p, 1, j);
    for (int side = -1; side < 2 && !WRAP; side++) x.step[1 + side] = m.step[1 + side] = side;
    number = number_next = 0;
    number_loaded        = -1;
  }

  __device__ __forceinline__ PetscScalar get(const PetscScalar *q, bool there) const { return there && in ? *q : HJ_ZERO; }

  __device__ __forceinline__ void load(const HJRestrictArgs &p, int which, const HJRestrictPlane &plane)
  {
    const PetscScalar *q = p.x + plane.at + at;

#pragma unroll
    for (int dm = -HM; dm <= HM; dm++) {
#pragma unroll
      for (int dx = -HX; dx <= HX; dx++)
        v[which][HM + dm][HX + dx] = get(q + m.step[1 + dm] * p.n[0] + x.step[1 + dx], plane.there && m.in[1 + dm] && x.in[1 + dx]);
    }
  }

  __device__ __forceinline__ void load_b(const HJRestrictArgs &p, const HJRestrictPlane &plane)
  {
    b_next = get(p.b + plane.at + at, plane.there);
    if (READ == HJ_RESTRICT_DICTIONARY && in && plane.there) number_next = p.index[plane.at + at];
  }

  /* A lane in four, for what a sector of 32 bytes holds; arrays are what is waited for most */
  __device__ __forceinline__ void prefetch(const HJRestrictArgs &p, const HJRestrictPlane &plane) const
  {
    if (!in || !plane.there || threadIdx.x % 4) return;
    HJRestrictPrefetch(p.x + plane.at + at);
    HJRestrictPrefetch(p.b + plane.at + at);
    if constexpr (READ == HJ_RESTRICT_ARRAYS || READ == HJ_RESTRICT_SYMMETRIC) {
#pragma unroll
      for (int slot = 0; slot <= NN; slot++)
        if (!slot || slot > NN / 2 || (READ == HJ_RESTRICT_ARRAYS && !p.half))
          HJRestrictPrefetch(p.value + (READ == HJ_RESTRICT_ARRAYS && !WRAP ? p.begin[slot] : slot * p.npoints) + plane.at + at);
    }
  }

  /* The planes are those of the next place */
  __device__ __forceinline__ void next()
  {
#pragma unroll
    for (int w = 0; w + 1 < PLANES; w++) {
#pragma unroll
      for (int dm = 0; dm < 1 + 2 * HM; dm++) {
#pragma unroll
        for (int dx = 0; dx < 1 + 2 * HX; dx++) v[w][dm][dx] = v[w + 1][dm][dx];
      }
    }
  }

  /* b - A x at the column's place in a plane that is in the domain; below, above: the ways to the planes beside it */
  __device__ __forceinline__ PetscScalar residual(const HJRestrictArgs &p, const HJRestrictPlane &here, const long long way[3],
                                                  const bool there[3])
  {
    const PetscScalar *q   = p.x + here.at + at;
    PetscScalar        sum = 0.0;

    if (!in) return 0.0;
    if (READ == HJ_RESTRICT_DICTIONARY && number != number_loaded) {
#pragma unroll
      for (int slot = 0; slot <= NN; slot++) row[slot] = p.rows[number * (1 + NN) + slot];
      number_loaded = number;
    }
#pragma unroll
    for (int slot = 0; slot <= NN; slot++) {
      const int dx = HJRestrictOffset<DIM, BOX>(slot, 0), dm = HJRestrictOffset<DIM, BOX>(slot, 1),
                ds       = HJRestrictOffset<DIM, BOX>(slot, 2);
      const int   step   = m.step[1 + dm] * p.n[0] + x.step[1 + dx];
      const bool  inside = m.in[1 + dm] && x.in[1 + dx] && there[1 + ds];
      PetscScalar value, c;

      if (BOX || (dx == 0 && dm == 0)) value = v[1 + ds][HM + (HM ? dm : 0)][HX + (HX ? dx : 0)];
      else value = inside ? q[step] : HJ_ZERO;
      if (READ == HJ_RESTRICT_SYMMETRIC && !inside) continue;
      c   = HJRestrictCoefficient<DIM, BOX, READ, !WRAP>(p, slot, here.at + at, way[1 + ds] + step, row);
      sum = fma(c, value, sum);
    }
    return b - sum;
  }
};

/* A coarse point of a tile in each of its planes: the place of its own sum, the ways to those around it and their coefficients, 0 without
   refinement */
struct HJRestrictOutput {
  int         at, to, way[2];
  bool        in;
  PetscScalar w[2];

  __device__ __forceinline__ void set(const HJRestrictArgs &p, const HJRestrictTile &t, int c)
  {
    const int l0 = c % t.nc[0], l1 = c / t.nc[0];

    in     = l1 < t.nc[1];
    at     = ((l1 << p.two[1]) + p.two[1]) * t.nf[0] + (l0 << p.two[0]) + p.two[0];
    to     = (t.c0[1] + l1) * p.nc[0] + t.c0[0] + l0;
    way[0] = p.two[0];
    way[1] = p.two[1] ? t.nf[0] : 0;
    w[0]   = p.two[0] ? HJ_HALF : HJ_ZERO;
    w[1]   = p.two[1] ? HJ_HALF : HJ_ZERO;
  }

  template <bool MIDDLE> __device__ __forceinline__ void write(const PetscScalar *v, PetscScalar *y) const
  {
    if (!in) return;
    PetscScalar sum = line(v + at);

    if (MIDDLE) sum = fma(w[1], line(v + at - way[1]) + line(v + at + way[1]), sum);
    y[to] = sum;
  }

  __device__ __forceinline__ PetscScalar line(const PetscScalar *v) const { return fma(w[0], v[-way[0]] + v[way[0]], v[0]); }
};

/* A block marches through tiles of columns; p.tile[2]: coarse planes that it does */
template <int DIM, bool BOX, int READ, bool WRAP>
__global__ void __launch_bounds__(HJ_RESTRICT_THREADS, HJRestrictShape<DIM, BOX, READ>::BLOCKS)
  HJRestrictMarch_Kernel(const __grid_constant__ HJRestrictArgs p)
{
  typedef HJRestrictColumn<DIM, BOX, READ, WRAP> Column;
  constexpr int                                  NC = HJRestrictShape<DIM, BOX, READ>::COLUMNS;
  __shared__ PetscScalar s_v[2][NC * HJ_RESTRICT_THREADS]; /* in turn, so that one barrier a coarse plane is enough */
  PetscScalar            norm2 = 0.0;
  int                    turn  = 0;
  Column                 column[NC];

  HJDAwaitInput();
  HJDLetNextStart();
  for (int number = blockIdx.x; number < p.all; number += gridDim.x) {
    const HJRestrictTile t     = HJRestrictGetTile<false>(p, number);
    const int            end   = t.f0[2] + t.nf[2];
    HJRestrictPlane      below = HJRestrictGetPlane<WRAP>(p, t.f0[2] - 1), here = HJRestrictGetPlane<WRAP>(p, t.f0[2]),
                    above = HJRestrictGetPlane<WRAP>(p, t.f0[2] + 1);
    HJRestrictOutput out[NC];
    PetscScalar      sum[NC];
    PetscScalar     *y      = p.y + (long long)t.c0[2] * p.nc[0] * p.nc[1];
    bool             shared = p.two[2], first = p.two[2]; /* between two coarse planes; the first such place, which may be another tile's */

#pragma unroll
    for (int q = 0; q < NC; q++) {
      column[q].set(p, t, threadIdx.x + q * blockDim.x);
      out[q].set(p, t, threadIdx.x + q * blockDim.x);
      sum[q] = 0.0;
      column[q].load(p, 0, below);
      column[q].load(p, 1, here);
      if (Column::AHEAD) column[q].load(p, 2, above);
      column[q].load_b(p, here);
    }
#pragma unroll 1
    for (int s = t.f0[2]; s < end; s++) {
      const HJRestrictPlane far      = HJRestrictGetPlane<WRAP>(p, s + 2);
      const long long       way[3]   = {below.at - here.at, 0, above.at - here.at};
      const bool            there[3] = {below.there, true, above.there}, counts = !first || !t.others[2];
      const PetscScalar     half = HJ_HALF * HJRestrictScale(p, 2, s);
      PetscScalar           share[NC];

#pragma unroll
      for (int q = 0; q < NC; q++) {
        column[q].b      = column[q].b_next;
        column[q].number = column[q].number_next;
        column[q].load(p, Column::PLANES - 1, Column::AHEAD ? far : above);
        column[q].load_b(p, above);
        if (!Column::AHEAD) column[q].prefetch(p, far);
      }
#pragma unroll
      for (int q = 0; q < NC; q++) {
        PetscScalar r = here.there ? column[q].residual(p, here, way, there) : HJ_ZERO;

        if (column[q].counts && counts) norm2 = fma(r, r, norm2);
        r *= column[q].scale;
        share[q] = shared ? half * r : HJ_ZERO;
        sum[q] += shared ? share[q] : r;
        column[q].next();
      }
      below = here;
      here  = above;
      above = far;
      if (first || (p.two[2] && !shared)) {
        first  = false;
        shared = !shared;
        continue;
      }
      shared = false;
#pragma unroll
      for (int q = 0; q < NC; q++) {
        s_v[turn][threadIdx.x + q * blockDim.x] = sum[q];
        sum[q]                                  = share[q];
      }
      __syncthreads();
#pragma unroll
      for (int q = 0; q < NC; q++) out[q].template write<(DIM > 2)>(s_v[turn], y);
      y += p.nc[0] * p.nc[1];
      turn ^= 1;
    }
  }
  if (p.norm2) HJRestrictAddNorm(p, norm2);
}

/* The middle direction is skipped where the grid has but two */
void HJRestrictGetGrids(const HJRestriction *r, HJRestrictArgs *p)
{
  const HJTransfer *t   = r->transfer;
  const int         dim = (int)t->fine.dim;

  memset(p, 0, sizeof(*p));
  p->cut = r->cut.cut;
  for (int d = 0; d < 3; d++) {
    const int from = HJRestrictDirection(dim, d);

    p->n[d]        = (int)HJBoxWidth(&t->fine.owned, from);
    p->nc[d]       = (int)HJBoxWidth(&t->coarse.owned, from);
    p->two[d]      = t->factor[from] == 2;
    p->first[d]    = p->two[d] ? -(int)HJTransferShift(t, from) : 0;
    p->periodic[d] = t->fine.periodic[from] && !(p->cut && d == 2);
    HJTransferGetScale(t, from, p->scale[d]);
  }
  p->line  = p->n[0];
  p->plane = p->n[0] * p->n[1];
}

PetscErrorCode HJRestrictGetArgs(const HJRestriction *r, HJRestrictArgs *p)
{
  const HJCoefficients *a = r->a;

  PetscFunctionBegin;
  PetscCheck(a->storage == HJ_COEFFICIENTS_ROW || PetscMemTypeDevice(a->mtype), PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Coefficients of a residual on the GPU lie on the host");
  HJRestrictGetGrids(r, p);
  PetscCheck((long long)p->n[0] * p->n[1] <= INT_MAX / 2 && p->n[2] <= INT_MAX / 2, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "A rank has %d by %d by %d points, too many in one direction for a GPU: use more ranks", p->n[0], p->n[1], p->n[2]);
  p->x = r->x;
  p->b = r->b;
  if (r->lies) {
    const int       dim = (int)r->transfer->fine.dim;
    const long long at  = HJBoxIndex(r->lies, 0, 0, 0);

    p->line  = (int)HJBoxWidth(r->lies, 0);
    p->plane = dim == 2 ? p->line : p->line * (int)HJBoxWidth(r->lies, 1);
    p->x += at;
    p->b += at;
  }
  p->y     = r->y;
  p->norm2 = r->norm2;
  for (int side = 0; side < 2; side++) {
    p->beside_x[side] = r->cut.x[side];
    p->beside_b[side] = r->cut.b[side];
  }
  p->value   = a->value;
  p->rows    = a->device_rows;
  p->index   = a->index;
  p->npoints = a->npoints;
  p->half    = a->half;
  for (int s = 0; s < a->nslots; s++) p->begin[s] = HJSlotBegin(a, s);
  for (int s = 0; s < a->nslots && a->storage == HJ_COEFFICIENTS_ROW; s++) p->row[s] = a->rows[s];
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool HJRestrictFitsPairs(const HJRestriction *r, const HJRestrictArgs *p)
{
  const HJCoefficients *a = r->a;

  for (int d = 0; d < 3; d++) {
    if (!p->two[d] && (a->dim == 3 || d != 1)) return false;
    if (p->periodic[d] && (p->cut || p->n[d] < 2 * HJ_CUT_PLANES || a->storage != HJ_COEFFICIENTS_ROW)) return false;
  }
  const long long tiles = (long long)(p->nc[0] / 31 + 1) * (p->nc[1] / (HJ_PAIRS_WARPS_3D - 1) + 1); /* at least as many as there are */

  return tiles <= HJ_RESTRICT_PARTS && a->storage != HJ_COEFFICIENTS_ARRAYS && (a->dim == 2 || (a->dim == 3 && a->shape == HJ_STAR));
}

/* Coarse points of a tile of so many in a direction, all tiles of nearly the same size */
static int HJRestrictBalance(int n, int most)
{
  const int tiles = (n + PetscMax(most, 1) - 1) / PetscMax(most, 1);

  return (n + tiles - 1) / tiles;
}

/* Fine points that the coarse points of a tile need */
static int HJRestrictFine(const HJRestrictArgs *p, int d, int coarse)
{
  return (coarse << p->two[d]) + p->two[d];
}

static PetscErrorCode HJRestrictSetTiles(HJRestrictArgs *p, unsigned *blocks)
{
  long long all = 1;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    p->tiles[d] = (p->nc[d] + p->tile[d] - 1) / p->tile[d];
    all *= p->tiles[d];
  }
  PetscCheck(all <= INT_MAX / 2, PETSC_COMM_SELF, PETSC_ERR_SUP, "A rank has %d by %d by %d points, too many for a GPU: use more ranks",
             p->n[0], p->n[1], p->n[2]);
  p->all  = (int)all;
  *blocks = (unsigned)(p->norm2 ? PetscMin(p->all, HJ_RESTRICT_PARTS) : p->all);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All points of a tile at once: few, so that many blocks share the work */
template <int DIM, bool BOX, int READ, bool CUT> static PetscErrorCode HJRestrictTileLaunch(HJRestrictArgs p, cudaStream_t stream)
{
  const int fine[3][3] = {{257, 1, 1}, {33, 1, 9}, {9, 9, 5}};
  int       points     = 1;
  HJLaunch  how        = {};
  void     *args[]     = {&p};
  unsigned  blocks;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    p.tile[d] = HJRestrictBalance(p.nc[d], fine[DIM - 1][d] >> p.two[d]);
    points *= HJRestrictFine(&p, d, p.tile[d]);
  }
  PetscCall(HJRestrictSetTiles(&p, &blocks));
  how.grid       = dim3(blocks);
  how.block      = dim3((unsigned)PetscMin((points + 31) / 32 * 32, HJ_RESTRICT_TILE_THREADS));
  how.smem_bytes = points * sizeof(PetscScalar);
  how.stream     = stream;
  how.overlap    = true;
  PetscCallCUDA(HJLaunchKernel(&how, (const void *)HJRestrictTile_Kernel<DIM, BOX, READ, CUT>, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns of a tile, at most capacity: those with the fewest reads in all. A line of them costs a few values more than it has */
static void HJRestrictSetColumns(HJRestrictArgs *p, int capacity)
{
  double best = PETSC_MAX_REAL;

  for (int c1 = 1; c1 <= p->nc[1] && HJRestrictFine(p, 1, c1) * (1 + 2 * p->two[0]) <= capacity; c1++) {
    const int    most0 = ((capacity / HJRestrictFine(p, 1, c1)) - p->two[0]) >> p->two[0], c0 = HJRestrictBalance(p->nc[0], most0);
    const int    t0 = (p->nc[0] + c0 - 1) / c0, t1 = (p->nc[1] + c1 - 1) / c1;
    const double cost = (double)t0 * t1 * HJRestrictFine(p, 1, c1) * (HJRestrictFine(p, 0, c0) + 4);

    if (cost >= best) continue;
    best       = cost;
    p->tile[0] = c0;
    p->tile[1] = c1;
  }
}

/* One wave of blocks that march */
template <int DIM, bool BOX, int READ, bool WRAP>
static PetscErrorCode HJRestrictMarchLaunch(const HJDevice *device, HJRestrictArgs p, cudaStream_t stream)
{
  typedef HJRestrictShape<DIM, BOX, READ> S;
  const void                             *kernel = (const void *)HJRestrictMarch_Kernel<DIM, BOX, READ, WRAP>;
  HJLaunch                                how    = {};
  void                                   *args[] = {&p};
  int                                     resident, columns, tiles;
  unsigned                                blocks;

  PetscFunctionBegin;
  HJRestrictSetColumns(&p, S::COLUMNS * HJ_RESTRICT_THREADS);
  columns   = HJRestrictFine(&p, 0, p.tile[0]) * HJRestrictFine(&p, 1, p.tile[1]);
  how.block = dim3((unsigned)((columns + 32 * S::COLUMNS - 1) / (32 * S::COLUMNS) * 32));
  PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, (int)how.block.x, 0));
  tiles     = ((p.nc[0] + p.tile[0] - 1) / p.tile[0]) * ((p.nc[1] + p.tile[1] - 1) / p.tile[1]);
  p.tile[2] = HJRestrictPlanes(p, tiles, device->nsm * resident);
  PetscCall(HJRestrictSetTiles(&p, &blocks));
  how.grid    = dim3(blocks);
  how.stream  = stream;
  how.overlap = true;
  PetscCallCUDA(HJLaunchKernel(&how, kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <bool MARCH, int DIM, bool BOX, int READ>
static PetscErrorCode HJRestrictLaunch(const HJDevice *device, const HJRestrictArgs &p, cudaStream_t stream)
{
  PetscFunctionBegin;
  if constexpr (MARCH && DIM > 1) {
    if (p.periodic[0] || p.periodic[1] || p.periodic[2]) PetscCall((HJRestrictMarchLaunch<DIM, BOX, READ, true>(device, p, stream)));
    else PetscCall((HJRestrictMarchLaunch<DIM, BOX, READ, false>(device, p, stream)));
  } else if constexpr (!MARCH) {
    if constexpr (HJ_RESTRICTS_CUT(DIM, BOX, READ == HJ_RESTRICT_ROW)) {
      if (p.cut) {
        PetscCall((HJRestrictTileLaunch<DIM, BOX, READ, true>(p, stream)));
        PetscFunctionReturn(PETSC_SUCCESS);
      }
    }
    PetscCall((HJRestrictTileLaunch<DIM, BOX, READ, false>(p, stream)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <bool MARCH, int DIM, bool BOX>
static PetscErrorCode HJRestrictDispatch(const HJDevice *device, const HJCoefficients *a, const HJRestrictArgs &p, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (a->storage == HJ_COEFFICIENTS_ROW) PetscCall((HJRestrictLaunch<MARCH, DIM, BOX, HJ_RESTRICT_ROW>(device, p, stream)));
  else if (a->storage == HJ_COEFFICIENTS_DICTIONARY)
    PetscCall((HJRestrictLaunch<MARCH, DIM, BOX, HJ_RESTRICT_DICTIONARY>(device, p, stream)));
  else if (a->symmetric && !a->half) PetscCall((HJRestrictLaunch<MARCH, DIM, BOX, HJ_RESTRICT_SYMMETRIC>(device, p, stream)));
  else PetscCall((HJRestrictLaunch<MARCH, DIM, BOX, HJ_RESTRICT_ARRAYS>(device, p, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <bool MARCH> static PetscErrorCode HJRestrictRun(const HJDevice *device, cudaStream_t stream, const HJRestriction *r)
{
  const HJCoefficients *a = r->a;
  HJRestrictArgs        p;

  PetscFunctionBegin;
  PetscCall(HJRestrictGetArgs(r, &p));
  if (a->dim == 1) PetscCall((HJRestrictDispatch<MARCH, 1, false>(device, a, p, stream)));
  else if (a->dim == 2 && a->shape == HJ_STAR) PetscCall((HJRestrictDispatch<MARCH, 2, false>(device, a, p, stream)));
  else if (a->dim == 2) PetscCall((HJRestrictDispatch<MARCH, 2, true>(device, a, p, stream)));
  else if (a->shape == HJ_STAR) PetscCall((HJRestrictDispatch<MARCH, 3, false>(device, a, p, stream)));
  else PetscCall((HJRestrictDispatch<MARCH, 3, true>(device, a, p, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Few points; of a grid that is cut those alone that larger ones have kernels for, so that the same holds for ranks of all sizes */
static int HJRestrictTileTakes(const HJDevice *, const HJAsk *ask)
{
  const HJRestriction *r = ask->restriction;
  HJRestrictArgs       p;

  if (ask->kind != HJ_RESTRICTION) return 0;
  HJRestrictGetGrids(r, &p);
  if (r->a->dim > 1 && (long long)p.plane * p.n[2] >= HJ_RESTRICT_MANY) return 0;
  return !p.cut || (HJ_RESTRICTS_CUT(r->a->dim, r->a->shape == HJ_BOX, r->a->storage == HJ_COEFFICIENTS_ROW) && HJRestrictFitsPairs(r, &p));
}

static int HJRestrictMarchTakes(const HJDevice *, const HJAsk *ask)
{
  return ask->kind == HJ_RESTRICTION && ask->restriction->a->dim > 1 && !ask->restriction->cut.cut;
}

const HJFamily HJFamilyRestrictTile  = {.name              = "restriction in tiles",
                                        .takes             = HJRestrictTileTakes,
                                        .restrict_residual = HJRestrictRun<false>};
const HJFamily HJFamilyRestrictMarch = {.name = "restriction", .takes = HJRestrictMarchTakes, .restrict_residual = HJRestrictRun<true>};

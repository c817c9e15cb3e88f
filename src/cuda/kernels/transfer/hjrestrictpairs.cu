/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Residual and restriction in one for large grids of few rows, refined in all directions: 2D star and box, 3D star; with periods those of
   one row, whose neighbours across the slowest period are its own planes, as if it were cut there.
   What bounds others is instructions, so a lane has two columns next to each other, that of coarse point I and the next one, in 3D in two
   lines, that of J and the next one; it marches along the slowest direction by two fine planes at a time. What a coarse point gets from the
   column before comes from the lane before, in 3D what it gets from the line before from the warp before; the first lane, and in 3D the
   first warp, only gives. Decides how many planes a block does.
*/
#include "hjrestrict.cuh"

/* Two points next to each other, and those before and after them */
typedef struct {
  PetscScalar v[2], w, e;
} HJPair;

/* A lane's columns; their first point, which there are, and where those beside them are */
typedef struct {
  int  c, w, e;
  bool in[2], west, east;
} HJPairPlace;

template <bool WRAP> __device__ __forceinline__ HJPairPlace HJPairGetPlace(const HJRestrictArgs &p, int coarse)
{
  const bool  wraps = WRAP && p.periodic[0];
  HJPairPlace l;

  if (wraps && coarse < 0) coarse += p.nc[0];
  l.c     = 2 * coarse + p.first[0];
  l.in[0] = l.c >= 0 && l.c < p.n[0];
  l.in[1] = l.c >= -1 && l.c + 1 < p.n[0];
  l.west  = (l.c > 0 || wraps) && l.in[0];
  l.east  = l.in[1] && (l.c + 2 < p.n[0] || wraps);
  l.w     = wraps && l.c == 0 ? p.n[0] - 1 : l.c - 1;
  l.e     = wraps && l.c + 2 == p.n[0] ? 0 : l.c + 2;
  return l;
}

/* Points of a line that begins at q; beside: those before and after too */
template <bool BESIDE> __device__ __forceinline__ HJPair HJPairLoad(const HJPairPlace &l, const PetscScalar *q, bool there)
{
  HJPair r = {{0.0, 0.0}, 0.0, 0.0};

  if (there && l.in[0]) r.v[0] = q[l.c];
  if (there && l.in[1]) r.v[1] = q[l.c + 1];
  if (BESIDE && there && l.west) r.w = q[l.w];
  if (BESIDE && there && l.east) r.e = q[l.e];
  return r;
}

/* A line or plane of x, the one at q where the grid is not cut; it is there */
template <bool CUT> __device__ __forceinline__ const PetscScalar *HJPairX(const HJRestrictArgs &p, const PetscScalar *q, int s)
{
  return CUT ? HJRestrictCutPlane(p, p.x, p.beside_x, s) : q;
}

template <bool CUT> __device__ __forceinline__ const PetscScalar *HJPairB(const HJRestrictArgs &p, const PetscScalar *q, int s)
{
  return CUT ? HJRestrictCutPlane(p, p.b, p.beside_b, s) : q;
}

/* Asks for what a lane reads soon */
static __device__ __forceinline__ void HJPairPrefetch(const HJPairPlace &l, const PetscScalar *q, bool there)
{
  if (there && l.in[0]) asm volatile("prefetch.global.L2 [%0];" ::"l"(q + l.c));
}

/* The rows of a lane's points: of a dictionary the row that it had last is kept */
template <int NSLOTS, int READ> struct HJPairRows {
  PetscScalar row[READ == HJ_RESTRICT_DICTIONARY ? NSLOTS : 1];
  int         loaded;

  __device__ __forceinline__ void start() { loaded = -1; }

  /* For these rows of two points: true: both have the row that is kept now */
  __device__ __forceinline__ bool same(const HJRestrictArgs &p, const int number[2])
  {
    if (READ == HJ_RESTRICT_ROW) return true;
    if (number[0] != number[1]) return false;
    if (number[0] != loaded) {
#pragma unroll
      for (int s = 0; s < NSLOTS; s++) row[s] = p.rows[number[0] * NSLOTS + s];
      loaded = number[0];
    }
    return true;
  }

  __device__ __forceinline__ PetscScalar get(const HJRestrictArgs &p, int slot) const
  {
    return READ == HJ_RESTRICT_ROW ? p.row[slot] : row[READ == HJ_RESTRICT_DICTIONARY ? slot : 0];
  }
};

/* Numbers of the rows of two points */
template <int READ>
__device__ __forceinline__ void HJPairNumbers(const HJRestrictArgs &p, const HJPairPlace &l, long long line, bool there, int number[2])
{
  number[0] = number[1] = 0;
  if (READ == HJ_RESTRICT_ROW) return;
  if (there && l.in[0]) number[0] = p.index[line + l.c];
  number[1] = there && l.in[1] ? p.index[line + l.c + 1] : number[0];
}

/* A x at two points of a 2D grid, from the lines below, at and above them; c gives coefficients by point and slot */
template <bool BOX, typename C>
__device__ __forceinline__ void HJPairProduct2D(const HJPair &m, const HJPair &a, const HJPair &q, const C &c, PetscScalar y[2])
{
#pragma unroll
  for (int u = 0; u < 2; u++) {
    const auto at = [&](const HJPair &r, int dx) { return u + dx < 0 ? r.w : u + dx > 1 ? r.e : r.v[(u + dx) & 1]; };

    y[u] = c(u, 0) * a.v[u];
#pragma unroll
    for (int s = 1; s <= HJDNeighbors(2, BOX); s++) {
      const int dx = HJDOffset(2, BOX, s - 1, 0), dy = HJDOffset(2, BOX, s - 1, 1);

      y[u] = fma(c(u, s), at(dy < 0 ? m : dy > 0 ? q : a, dx), y[u]);
    }
  }
}

/* b - A x at two points; 0 where there are none */
template <bool BOX, int READ>
__device__ __forceinline__ void HJPairResidual2D(const HJRestrictArgs &p, const HJPairPlace &l,
                                                 HJPairRows<1 + HJDNeighbors(2, BOX), READ> &rows, const int number[2], const HJPair &m,
                                                 const HJPair &a, const HJPair &q, const HJPair &b, bool there, PetscScalar r[2])
{
  constexpr int NSLOTS = 1 + HJDNeighbors(2, BOX);

  if (rows.same(p, number))
    HJPairProduct2D<BOX>(
      m, a, q, [&](int, int s) { return rows.get(p, s); }, r);
  else
    HJPairProduct2D<BOX>(
      m, a, q, [&](int u, int s) { return p.rows[number[u] * NSLOTS + s]; }, r);
#pragma unroll
  for (int u = 0; u < 2; u++) r[u] = there && l.in[u] ? b.v[u] - r[u] : HJ_ZERO;
}

/* WRAP: there are periods; the slowest one is a cut */
template <bool BOX, int READ, bool CUT, bool WRAP>
__global__ void __launch_bounds__(32 * HJ_PAIRS_WARPS_2D, BOX || READ == HJ_RESTRICT_DICTIONARY ? 4 : 5)
  HJRestrictPairs2D_Kernel(const __grid_constant__ HJRestrictArgs p)
{
  const int         lane = threadIdx.x % 32, n = HJRestrictEnd<CUT>(p), line = p.line;
  const int         I  = (int)(blockIdx.x % p.tiles[0] * HJ_PAIRS_WARPS_2D + threadIdx.x / 32) * 31 + lane - 1;
  const int         J0 = (int)(blockIdx.x / p.tiles[0]) * p.tile[2], J1 = min(J0 + p.tile[2], p.nc[2]);
  const HJPairPlace l      = HJPairGetPlace<WRAP>(p, I);
  const bool        write  = lane > 0 && I<p.nc[0], count = lane> 0 || (I < 0 && !(WRAP && p.periodic[0])),
             below         = J0 > 0 || HJRestrictHasBelow<CUT>(p);
  const long long    start = (2LL * J0 + p.first[2]) * line;
  const PetscScalar *x = p.x + start, *b = p.b + start; /* of line J */
  const PetscScalar  half      = HJ_HALF * HJRestrictScale(p, 0, l.c + 1);
  PetscScalar       *y         = p.y + (long long)J0 * p.nc[0] + I;
  long long          place     = start;
  PetscScalar        before[2] = {0.0, 0.0}, norm2 = 0.0;
  int                number[2][2];

  HJPairRows<1 + HJDNeighbors(2, BOX), READ> rows;

  rows.start();
  if (!CUT || WRAP || !HJRestrictIsHome(p, J0, J1)) HJDAwaitInput();
  HJDLetNextStart();
  HJPair xa = HJPairLoad<BOX>(l, HJPairX<CUT>(p, x - line, 2 * J0 - 1), below), xb = HJPairLoad<true>(l, x, true),
         xc = HJPairLoad<true>(l, HJPairX<CUT>(p, x + line, 2 * J0 + 1), 2 * J0 + 1 < n),
         xd = HJPairLoad<true>(l, HJPairX<CUT>(p, x + 2 * line, 2 * J0 + 2), 2 * J0 + 2 < n), bb = HJPairLoad<false>(l, b, true),
         bc = HJPairLoad<false>(l, HJPairB<CUT>(p, b + line, 2 * J0 + 1), 2 * J0 + 1 < n);

  HJPairNumbers<READ>(p, l, place, true, number[0]);
  HJPairNumbers<READ>(p, l, place + line, 2 * J0 + 1 < n, number[1]);
  if (below) {
    const HJPair lower = HJPairLoad<BOX>(l, HJPairX<CUT>(p, x - 2 * line, 2 * J0 - 2), J0 > 0 || (CUT && p.beside_x[0])),
                 own   = HJPairLoad<true>(l, HJPairX<CUT>(p, x - line, 2 * J0 - 1), true),
                 ba    = HJPairLoad<false>(l, HJPairB<CUT>(p, b - line, 2 * J0 - 1), true);
    int na[2];

    HJPairNumbers<READ>(p, l, place - line, true, na);
    HJPairResidual2D<BOX, READ>(p, l, rows, na, lower, own, xb, ba, true, before);
    if (J0 == 0 && p.first[2]) {
      if (count) norm2 = before[0] * before[0] + before[1] * before[1];
      for (int u = 0; u < 2; u++) before[u] *= p.scale[2][0];
    }
  }
#pragma unroll 2
  for (int J = J0; J < J1; J++) {
    const bool  more = J + 1 < J1, c = 2 * J + 1 < n, next_c = more && 2 * J + 3 < n, next_d = more && 2 * J + 4 < n;
    PetscScalar rb[2], rc[2], v[2];
    int         next[2][2];

    x += 2 * line;
    b += 2 * line;
    place += 2 * line;
    const HJPair nc = HJPairLoad<true>(l, HJPairX<CUT>(p, x + line, 2 * J + 3), next_c),
                 nd = HJPairLoad<true>(l, HJPairX<CUT>(p, x + 2 * line, 2 * J + 4), next_d), nb = HJPairLoad<false>(l, b, more),
                 nbc = HJPairLoad<false>(l, HJPairB<CUT>(p, b + line, 2 * J + 3), next_c);

    for (int ahead = 3; ahead < 5; ahead++) {
      HJPairPrefetch(l, x + ahead * line, CUT ? HJRestrictIsOwn(p, 2 * J + 2 + ahead) : 2 * J + 2 + ahead < n);
      HJPairPrefetch(l, b + (ahead - 1) * line, CUT ? HJRestrictIsOwn(p, 2 * J + 1 + ahead) : 2 * J + 1 + ahead < n);
    }
    HJPairNumbers<READ>(p, l, place, more, next[0]);
    HJPairNumbers<READ>(p, l, place + line, next_c, next[1]);
    HJPairResidual2D<BOX, READ>(p, l, rows, number[0], xa, xb, xc, bb, true, rb);
    HJPairResidual2D<BOX, READ>(p, l, rows, number[1], xb, xc, xd, bc, c, rc);
#pragma unroll
    for (int u = 0; u < 2; u++) {
      if (CUT) {
        if (count) norm2 = fma(rb[u], rb[u], norm2);
        if (count && HJRestrictIsOwn(p, 2 * J + 1)) norm2 = fma(rc[u], rc[u], norm2);
      } else if (count) norm2 = fma(rb[u], rb[u], fma(rc[u], rc[u], norm2));
      if (2 * J + 1 + p.first[2] == p.n[2] - 1) rc[u] *= p.scale[2][1];
      v[u]         = fma(HJ_HALF, before[u] + rc[u], rb[u]);
      before[u]    = rc[u];
      number[0][u] = next[0][u];
      number[1][u] = next[1][u];
    }
    v[1] *= half;
    v[0] += v[1] + __shfl_up_sync(0xffffffffu, v[1], 1);
    if (write) *y = v[0];
    y += p.nc[0];
    xa = xc;
    xb = xd;
    xc = nc;
    xd = nd;
    bb = nb;
    bc = nbc;
  }
  if (p.norm2) HJRestrictAddNorm(p, norm2);
}

/* In two lines of a plane */
typedef struct {
  HJPair line[2];
} HJQuad;

static __device__ __forceinline__ HJQuad HJQuadLoad(const HJPairPlace &l, const PetscScalar *q, int step, const bool in[2], bool there)
{
  return {{HJPairLoad<false>(l, q, there && in[0]), HJPairLoad<false>(l, q + step, there && in[1])}};
}

/* What a lane has of a plane: its lines, and those before and after them, so many lines from its first one */
typedef struct {
  bool in[2], south, north;
  int  s, n;
} HJQuadPlace;

/* b - A x at four points of a plane of a star, q: the plane's first line of the four; m, a, f: below, at and above it */
template <int READ>
__device__ __forceinline__ void HJQuadResidual(const HJRestrictArgs &p, const HJPairPlace &l, const HJQuadPlace &t,
                                               HJPairRows<7, READ> &rows, const PetscScalar *q, long long place, const HJQuad &m,
                                               const HJQuad &a, const HJQuad &f, const HJQuad &b, PetscScalar r[2][2])
{
  const int    line  = p.line;
  const HJPair south = HJPairLoad<false>(l, q + t.s * line, t.south), north = HJPairLoad<false>(l, q + t.n * line, t.north);

#pragma unroll
  for (int h = 0; h < 2; h++) {
    PetscScalar w = 0.0, e = 0.0;
    int         number[2];
    const auto  product = [&](int u, const auto &c) {
      const PetscScalar lo = h ? a.line[0].v[u] : south.v[u], hi = h ? north.v[u] : a.line[1].v[u];
      PetscScalar       sum = c(0) * a.line[h].v[u];

      sum = fma(c(1), u ? a.line[h].v[0] : w, sum);
      sum = fma(c(2), u ? e : a.line[h].v[1], sum);
      sum = fma(c(3), lo, sum);
      sum = fma(c(4), hi, sum);
      sum = fma(c(5), m.line[h].v[u], sum);
      return fma(c(6), f.line[h].v[u], sum);
    };

    if (t.in[h] && l.west) w = q[h * line + l.w];
    if (t.in[h] && l.east) e = q[h * line + l.e];
    HJPairNumbers<READ>(p, l, place + h * line, t.in[h], number);
    const bool same = rows.same(p, number);
#pragma unroll
    for (int u = 0; u < 2; u++) {
      const PetscScalar sum = same ? product(u, [&](int s) { return rows.get(p, s); })
                                   : product(u, [&](int s) { return p.rows[number[u] * 7 + s]; });

      r[h][u] = t.in[h] && l.in[u] ? b.line[h].v[u] - sum : HJ_ZERO;
    }
  }
}

template <int READ, bool CUT, bool WRAP>
__global__ void __launch_bounds__(32 * HJ_PAIRS_WARPS_3D, 2) HJRestrictPairs3D_Kernel(const __grid_constant__ HJRestrictArgs p)
{
  __shared__ PetscScalar s_odd[2][HJ_PAIRS_WARPS_3D][32];
  const int              lane = threadIdx.x % 32, warp = threadIdx.x / 32, line = p.line, n = HJRestrictEnd<CUT>(p), plane = p.plane;
  const int              I     = (int)(blockIdx.x % p.tiles[0]) * 31 + lane - 1;
  const int              J0    = (int)(blockIdx.x / p.tiles[0] % p.tiles[1]) * (HJ_PAIRS_WARPS_3D - 1) + warp - 1;
  const bool             wraps = WRAP && p.periodic[1];
  const int              J = wraps && J0 < 0 ? p.nc[1] - 1 : J0, j = 2 * J + p.first[1];
  const int              K0 = (int)(blockIdx.x / (p.tiles[0] * p.tiles[1])) * p.tile[2], K1 = min(K0 + p.tile[2], p.nc[2]);
  const HJPairPlace      l     = HJPairGetPlace<WRAP>(p, I);
  const HJQuadPlace      t     = {{j >= 0 && j < p.n[1], j >= -1 && j + 1 < p.n[1]},
                                  (j > 0 || wraps) && j < p.n[1],
                                  j >= -1 && (j + 2 < p.n[1] || (wraps && j + 1 < p.n[1])),
                         wraps && j == 0 ? p.n[1] - 1 : -1,
                         wraps && j + 2 == p.n[1] ? -j : 2};
  const bool             write = lane > 0 && warp > 0 && I < p.nc[0] && J < p.nc[1];
  const bool             count = (lane > 0 || (I < 0 && !(WRAP && p.periodic[0]))) && (warp > 0 || (J < 0 && !wraps));
  const int              first = 2 * K0 - (K0 > 0 || HJRestrictHasBelow<CUT>(p)), end = min(2 * K1, n); /* planes */
  const long long        away = (long long)j * line; /* of the lane's first line in a plane */
  const PetscScalar      half = HJ_HALF * HJRestrictScale(p, 0, l.c + 1), scale = HJRestrictScale(p, 1, j + 1);
  long long              place = (long long)(first + p.first[2]) * plane + away;
  PetscScalar           *y     = p.y + ((long long)K0 * p.nc[1] + J) * p.nc[0] + I;
  PetscScalar            norm2 = 0.0, v[2][2] = {};
  int                    turn = 0;

  HJPairRows<7, READ> rows;

  rows.start();
  if (!CUT || WRAP || !HJRestrictIsHome(p, K0, K1)) HJDAwaitInput();
  HJDLetNextStart();
  const auto at = [&](const PetscScalar *own, const PetscScalar *const beside[2], int s, const PetscScalar *q) {
    return CUT ? HJRestrictCutPlane(p, own, beside, s) + away : q; /* not read where the plane is not there */
  };
  HJQuad m = HJQuadLoad(l, at(p.x, p.beside_x, first - 1, p.x + place - plane), line, t.in,
                        first + p.first[2] > 0 || (CUT && p.beside_x[0])),
         a = HJQuadLoad(l, at(p.x, p.beside_x, first, p.x + place), line, t.in, true),
         f = HJQuadLoad(l, at(p.x, p.beside_x, first + 1, p.x + place + plane), line, t.in, first + 1 < n),
         b = HJQuadLoad(l, at(p.b, p.beside_b, first, p.b + place), line, t.in, true);

#pragma unroll 2
  for (int z = first; z < end; z++, place += plane) {
    const HJQuad g = HJQuadLoad(l, at(p.x, p.beside_x, z + 2, p.x + place + 2LL * plane), line, t.in, z + 2 < n && z + 1 < end),
                 d = HJQuadLoad(l, at(p.b, p.beside_b, z + 1, p.b + place + plane), line, t.in, z + 1 < end);
    for (int h = 0; h < 2; h++) {
      HJPairPrefetch(l, p.x + place + 3LL * plane + h * line, (CUT ? HJRestrictIsOwn(p, z + 3) : z + 3 < n) && t.in[h]);
      HJPairPrefetch(l, p.b + place + 2LL * plane + h * line, (CUT ? HJRestrictIsOwn(p, z + 2) : z + 2 < n) && t.in[h]);
    }
    const bool        odd = z & 1, gives = z < 2 * K0; /* gives: a plane that another block counts, or rank */
    const bool        counts = (!gives || K0 == 0) && (!CUT || HJRestrictIsOwn(p, z));
    const PetscScalar weight = odd ? HJ_HALF * HJRestrictScale(p, 2, z + p.first[2]) : (PetscScalar)1;
    PetscScalar       r[2][2];

    HJQuadResidual<READ>(p, l, t, rows, at(p.x, p.beside_x, z, p.x + place), place, m, a, f, b, r);
#pragma unroll
    for (int h = 0; h < 2; h++) {
#pragma unroll
      for (int u = 0; u < 2; u++) {
        if (count && counts) norm2 = fma(r[h][u], r[h][u], norm2);
        v[h][u] = fma(weight, r[h][u], v[h][u]);
      }
    }
    m = a;
    a = f;
    f = g;
    b = d;
    if ((!odd && z + 1 < n) || gives) continue;
    /* the last plane of a grid may be an even one */
    for (int h = 0; h < 2; h++) {
      v[h][1] *= half;
      v[h][0] += v[h][1] + __shfl_up_sync(0xffffffffu, v[h][1], 1);
    }
    const PetscScalar even = v[0][0], here = scale * v[1][0];

    s_odd[turn][warp][lane] = here;
    __syncthreads();
    if (write) *y = fma(HJ_HALF, here + s_odd[turn][warp ? warp - 1 : 0][lane], even);
    y += (long long)p.nc[0] * p.nc[1];
    turn ^= 1;
#pragma unroll
    for (int h = 0; h < 2; h++) {
#pragma unroll
      for (int u = 0; u < 2; u++) v[h][u] = HJ_HALF * r[h][u];
    }
  }
  if (p.norm2) HJRestrictAddNorm(p, norm2);
}

/* Large grids, refined in all directions, of 5, 7 and 9 points and few rows, with periods of one row */
static int HJRestrictPairsTakes(const HJDevice *, const HJAsk *ask)
{
  const HJRestriction *r = ask->restriction;
  HJRestrictArgs       p;

  if (ask->kind != HJ_RESTRICTION) return 0;
  HJRestrictGetGrids(r, &p);
  if (p.cut && !HJ_RESTRICTS_CUT(r->a->dim, r->a->shape == HJ_BOX, r->a->storage == HJ_COEFFICIENTS_ROW)) return 0;
  return HJRestrictFitsPairs(r, &p);
}

template <int READ, bool CUT, bool WRAP> static const void *HJRestrictPairsKernelOf(const HJCoefficients *a)
{
  if (a->dim == 3) return (const void *)HJRestrictPairs3D_Kernel<READ, CUT, WRAP>;
  return a->shape == HJ_BOX ? (const void *)HJRestrictPairs2D_Kernel<true, READ, CUT, WRAP>
                            : (const void *)HJRestrictPairs2D_Kernel<false, READ, CUT, WRAP>;
}

static const void *HJRestrictPairsKernel(const HJCoefficients *a, bool cut, bool wraps)
{
  if (wraps) return HJRestrictPairsKernelOf<HJ_RESTRICT_ROW, true, true>(a);
  if (cut) return HJRestrictPairsKernelOf<HJ_RESTRICT_ROW, true, false>(a);
  return a->storage == HJ_COEFFICIENTS_ROW ? HJRestrictPairsKernelOf<HJ_RESTRICT_ROW, false, false>(a)
                                           : HJRestrictPairsKernelOf<HJ_RESTRICT_DICTIONARY, false, false>(a);
}

static bool HJRestrictPairsWraps(const HJRestrictArgs *p)
{
  return p->periodic[0] || p->periodic[1] || p->periodic[2];
}

/* The slowest period is cut: the planes beside its ends are its own */
static void HJRestrictPairsCut(HJRestrictArgs *p)
{
  if (!p->periodic[2]) return;
  for (int side = 0; side < 2; side++) {
    const long long at = side ? 0 : (long long)(p->n[2] - HJ_CUT_PLANES) * p->plane;

    p->beside_x[side] = p->x + at;
    p->beside_b[side] = p->b + at;
  }
}

static PetscErrorCode HJRestrictPairsRun(const HJDevice *device, cudaStream_t stream, const HJRestriction *r)
{
  const HJCoefficients *a     = r->a;
  const int             warps = a->dim == 3 ? HJ_PAIRS_WARPS_3D : HJ_PAIRS_WARPS_2D, columns = 31 * (a->dim == 3 ? 1 : warps);
  HJRestrictArgs        p;
  HJLaunch              how    = {};
  void                 *list[] = {&p};
  const void           *kernel;
  int                   resident, blocks;

  PetscFunctionBegin;
  PetscCall(HJRestrictGetArgs(r, &p));
  HJRestrictPairsCut(&p);
  kernel = HJRestrictPairsKernel(a, r->cut.cut, HJRestrictPairsWraps(&p));
  PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, 32 * warps, 0));
  p.tiles[0]  = (p.nc[0] + columns - 1) / columns;
  p.tiles[1]  = a->dim == 3 ? (p.nc[1] + warps - 2) / (warps - 1) : 1;
  p.tile[2]   = HJRestrictPlanes(p, p.tiles[0] * p.tiles[1], device->nsm * resident);
  blocks      = p.tiles[0] * p.tiles[1] * ((p.nc[2] + p.tile[2] - 1) / p.tile[2]);
  how.grid    = dim3((unsigned)blocks);
  how.block   = dim3(32 * warps);
  how.stream  = stream;
  how.overlap = true;
  PetscCallCUDA(HJLaunchKernel(&how, kernel, list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJFamily HJFamilyRestrictPairs = {.name              = "restriction by pairs",
                                        .takes             = HJRestrictPairsTakes,
                                        .placed            = true,
                                        .restrict_residual = HJRestrictPairsRun};

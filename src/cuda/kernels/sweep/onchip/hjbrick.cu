/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Small 3D grids as a whole: one brick a block, all blocks on the device at once, all subiterations in one launch. Blocks give each other
   the layer around their bricks through slots in global memory, each a value and the number of the exchange in one 16-byte word: what has
   arrived says so itself, no flag, no barrier between blocks. hjonchip.cu decides when; variable coefficients are not for this file.
*/
#include "hjbrick.cuh"

/* What a block needs to load its points comes first: each line of parameters that is new to a block costs it about 100 cycles (H200) */
typedef struct {
  const unsigned char *index; /* this, b and x pointed to as if they began at (0, 0, 0), with so many points a line and a plane */
  const PetscScalar   *b, *x;
  int                  index_line, index_plane, line, plane;
  int                  main_row;
  bool                 ghosts; /* the sweep has ghost arrays */
  HJBricks             lay;
  int                  count;
  HJSlot              *slot[2];
  unsigned long long   epoch; /* of the first exchange */
  const PetscScalar   *rows, *dinv_rows;
  unsigned             alone[HJ_MAX_ROWS / 32]; /* see HJBrickRows, as for dinv and row */
  PetscScalar          dinv, row[1 + HJD_MAX_NEIGHBORS], w[HJD_MAX_COUNT];
  HJDSweep             s;
} HJBrickArgs;

/*
   The points around the brick next to a star's strip, which are read with all loads in flight: those beside it in x and in y and those
   below and above it; or, where a warp has no others, only these
*/
enum { HJ_RING_ALL, HJ_RING_ENDS };

template <int STRIP> __host__ __device__ constexpr int HJRingSize(int part)
{
  return part == HJ_RING_ENDS ? 2 : 2 * STRIP + 2;
}

/* Ways from one point to others in an array: to the ring in x and y, to the next plane, to the planes below and above the strip */
typedef struct {
  int x, y, z, bottom, top;
} HJRingStep;

/* Point u of a part, relative to the strip's first */
template <int STRIP, int PART> __device__ __forceinline__ int HJRingAt(const HJRingStep &step, int u)
{
  if (u < 2) return u ? step.top : step.bottom;
  u -= 2;
  return u < STRIP ? step.x + u * step.z : step.y + (u - STRIP) * step.z;
}

/* Bits of the points that lie in the box, or across a period, in this order */
template <int STRIP, bool WRAP> __device__ __forceinline__ unsigned HJRingIn(const HJStrip &t, const HJBricks &lay)
{
  const HJDBox  &box = lay.cover;
  const bool     px = WRAP && lay.period[0], py = WRAP && lay.period[1], pz = WRAP && lay.period[2];
  const bool     x   = t.ox && (px || (t.i + t.ox >= box.lo[0] && t.i + t.ox < box.hi[0]));
  const bool     y   = t.oy && (py || (t.j + t.oy >= box.lo[1] && t.j + t.oy < box.hi[1]));
  const unsigned all = t.len > 0 ? (1u << t.len) - 1 : 0, below = t.len > 0 && t.k == t.lo[2] && (pz || t.k > box.lo[2]),
                 above = t.len > 0 && t.k + t.len == t.hi[2] && (pz || t.hi[2] < box.hi[2]);

  return below | above << 1 | (x ? all : 0) << 2 | (y ? all : 0) << (2 + STRIP);
}

/* From a place to the one so many away, each step points of the array: that across the period where it lies beyond an end */
template <bool WRAP> __device__ __forceinline__ int HJRingStepTo(const HJBricks &lay, int d, int from, int away, int step)
{
  if (WRAP && lay.period[d] && from + away < lay.cover.lo[d]) away += lay.period[d];
  if (WRAP && lay.period[d] && from + away >= lay.cover.hi[d]) away -= lay.period[d];
  return away * step;
}

__device__ __forceinline__ PetscScalar HJBrickDinv(const HJBrickArgs &p, int r)
{
  return r == p.main_row ? p.dinv : __ldg(p.dinv_rows + r);
}

/* Sum of a_o x_o at strip point s, in two chains of additions */
template <bool BOX, typename C>
__device__ __forceinline__ PetscScalar HJBrickSum(const PetscScalar *at, int s, PetscScalar below, PetscScalar above, int px, int plane,
                                                  const C &coef)
{
  PetscScalar sum[2] = {0.0, 0.0};

#pragma unroll
  for (int o = 0; o < HJDNeighbors(3, BOX); o++) {
    const int         dx = HJDOffset(3, BOX, o, 0), dy = HJDOffset(3, BOX, o, 1), dz = HJDOffset(3, BOX, o, 2);
    const PetscScalar v = dx || dy ? at[(s + dz) * plane + dy * px + dx] : dz < 0 ? below : above;

    sum[o % 2] = fma(coef(o), v, sum[o % 2]);
  }
  return sum[0] + sum[1];
}

enum { HJ_BRICK_MAIN, HJ_BRICK_ALONE, HJ_BRICK_ANY };

/* Subtracts what a part of the ring adds to a star's sums */
template <int STRIP, int PART, int ROWS>
__device__ __forceinline__ void HJRingAdd(const HJBrickArgs &p, const HJStrip &t, const PetscScalar v[HJRingSize<STRIP>(PART)],
                                          unsigned alone, const unsigned rows[(STRIP + 3) / 4], PetscScalar rest[STRIP])
{
#pragma unroll
  for (int s = 0; s < STRIP; s++) {
    const PetscScalar *row = p.rows + (rows[s / 4] >> (8 * (s % 4)) & 255) * 7 + 1;
    const auto         c   = [&](int o) { return ROWS == HJ_BRICK_ANY ? __ldg(row + o) : p.row[1 + o]; };
    PetscScalar        sum = 0.0;

    if (PART == HJ_RING_ALL) sum = fma(t.oy < 0 ? c(2) : c(3), v[2 + STRIP + s], (t.ox < 0 ? c(0) : c(1)) * v[2 + s]);
    if (s == 0) sum = fma(c(4), v[0], sum);
    if (ROWS == HJ_BRICK_MAIN ? s + 1 == STRIP : s + 1 == t.len) sum = fma(c(5), v[1], sum);
    if (ROWS != HJ_BRICK_ALONE || !(alone >> s & 1)) rest[s] -= sum;
  }
}

/* The same for what other blocks own. kind: which rows the warp has */
template <int STRIP, int PART>
__device__ __forceinline__ void HJRingReceiveAdd(const HJBrickArgs &p, const HJStrip &t, unsigned in, const char *slot,
                                                 const HJRingStep &step, unsigned long long epoch, int kind, unsigned alone,
                                                 const unsigned rows[(STRIP + 3) / 4], PetscScalar rest[STRIP])
{
  PetscScalar v[HJRingSize<STRIP>(PART)];

  HJSlotsReceive<HJRingSize<STRIP>(PART)>([&](int u) { return slot + HJRingAt<STRIP, PART>(step, u); },
                                          [&](int u) { return in & (1u << u); }, epoch, v);
  if (kind == HJ_BRICK_MAIN) HJRingAdd<STRIP, PART, HJ_BRICK_MAIN>(p, t, v, alone, rows, rest);
  else if (kind == HJ_BRICK_ALONE) HJRingAdd<STRIP, PART, HJ_BRICK_ALONE>(p, t, v, alone, rows, rest);
  else HJRingAdd<STRIP, PART, HJ_BRICK_ANY>(p, t, v, alone, rows, rest);
}

/*
   What is left of the strip's points: D^-1 b - T x. MAIN: STRIP points that all have the main row; ALONE: or only its diagonal, where bit
   s says so
*/
template <bool BOX, int STRIP, int ROWS>
__device__ __forceinline__ void HJBrickRest(const HJBrickArgs &p, int len, const PetscScalar *cur, unsigned alone,
                                            const unsigned rows[(STRIP + 3) / 4], const PetscScalar db[STRIP], const PetscScalar x[STRIP],
                                            PetscScalar rest[STRIP])
{
  const int         px = p.lay.px, plane = p.lay.plane;
  const PetscScalar last = cur[(ROWS == HJ_BRICK_MAIN ? STRIP : max(len, 0)) * plane], first = cur[-plane];

#pragma unroll
  for (int s = 0; s < STRIP; s++) {
    const PetscScalar below = s ? x[s ? s - 1 : 0] : first,
                      above = s + 1 == STRIP || (ROWS != HJ_BRICK_MAIN && s + 1 == len) ? last : x[s + 1 < STRIP ? s + 1 : s];

    if constexpr (ROWS == HJ_BRICK_ANY) {
      const PetscScalar *row = p.rows + (rows[s / 4] >> (8 * (s % 4)) & 255) * (1 + HJDNeighbors(3, BOX));

      rest[s] = fma(-__ldg(row), x[s], db[s]) - HJBrickSum<BOX>(cur, s, below, above, px, plane, [&](int o) { return __ldg(row + 1 + o); });
    } else {
      const PetscScalar sum = HJBrickSum<BOX>(cur, s, below, above, px, plane, [&](int o) { return p.row[1 + o]; });

      rest[s] = fma(-p.row[0], x[s], db[s]) - (ROWS == HJ_BRICK_ALONE && (alone >> s & 1) ? HJ_ZERO : sum);
    }
  }
}

/* What of the ring is in no brick: 0 beyond the domain, else as it is at the start, in both buffers. Seldom more than zeros, so no haste */
template <bool BOX> __device__ __noinline__ void HJBrickFrozen(const HJBrickArgs &p, PetscScalar *s_x)
{
  const PetscScalar        *from  = p.s.x ? p.s.x : p.s.b;
  const PetscScalar *const *ghost = p.s.x ? p.s.xghost : p.s.bghost;
  HJStrip                   t;

  HJBrickRange(p.lay, t);
  const int n = blockDim.x, wx = t.hi[0] - t.lo[0] + 2, wy = t.hi[1] - t.lo[1] + 2, wz = t.hi[2] - t.lo[2] + 2;

  for (int q = threadIdx.x; q < wx * wy * wz; q += n) {
    const int    i = q % wx, j = q / wx % wy, k = q / wx / wy, gi = t.lo[0] + i - 1, gj = t.lo[1] + j - 1, gk = t.lo[2] + k - 1;
    const int    out = (i == 0 || i == wx - 1) + (j == 0 || j == wy - 1) + (k == 0 || k == wz - 1);
    PetscScalar *at  = s_x + k * p.lay.plane + j * p.lay.px + i;

    if (!out || (!BOX && out > 1) || HJDInside(p.lay.cover, gi, gj, gk) || !HJDInside(p.s.domain, gi, gj, gk)) continue;
    *at = HJDHome(p.s, from, ghost, gk)[HJDIndex(p.s.box, gi, gj, gk)];
    if (!p.s.x) *at *= p.w[0] * HJBrickDinv(p, p.index[gi + gj * p.index_line + gk * p.index_plane]);
    at[p.lay.buffer] = *at;
  }
}

/*
   A star's columns at the brick's sides come first where strips are long, so that few warps have to do with other blocks there; else that
   would keep those few too busy
*/
__host__ __device__ constexpr bool HJBrickApart(bool box, int strip)
{
  return !box && strip > HJ_BRICK_SHORT;
}

/* Thread number q of columns next to each other, width a line: its column, from the first */
__device__ __forceinline__ void HJBrickColumn(int q, int columns, int width, int *strip, int *i, int *j)
{
  *strip       = HJBrickDivide(q, columns);
  const int at = q - *strip * columns;

  *j = HJBrickDivide(at, width);
  *i = at - *j * width;
}

template <bool BOX, int STRIP> __device__ __forceinline__ HJStrip HJBrickStrip(const HJBricks &lay)
{
  constexpr bool APART = HJBrickApart(BOX, STRIP);
  HJStrip        t;
  int            strip, i, j;

  HJBrickRange(lay, t);
  const int w0 = t.hi[0] - t.lo[0], w1 = t.hi[1] - t.lo[1], inner = APART ? max(w0 - 2, 0) * max(w1 - 2, 0) : 0, sides = w0 * w1 - inner,
            q = threadIdx.x - sides * lay.strips;

  if (!APART) {
    HJBrickColumn(threadIdx.x, w0 * w1, w0, &strip, &i, &j);
  } else if (q < 0) { /* lines along x at both ends of y, then the ends of x */
    HJBrickColumn(threadIdx.x, sides, w0, &strip, &i, &j);
    const int beside = i + (j - 2) * w0;

    if (beside >= 0 || (j == 1 && w1 == 1)) {
      j = 1 + (beside < w1 - 2 ? beside : beside - (w1 - 2));
      i = beside < w1 - 2 ? 0 : w0 - 1;
    } else if (j == 1) {
      j = w1 - 1;
    }
  } else {
    HJBrickColumn(q, max(inner, 1), max(w0 - 2, 1), &strip, &i, &j);
    i++;
    j++;
  }
  t.i   = t.lo[0] + i;
  t.j   = t.lo[1] + j;
  t.k   = t.lo[2] + strip * STRIP;
  t.len = t.k < t.hi[2] && (!APART || q < 0 || inner > 0)
            ? min(STRIP, t.hi[2] - t.k)
            : 0; /* from max(0, min()) ptxas 13.0.88 took len == STRIP wrongly, as the predicate of a VIMNMX.RELU */
  t.ox  = t.i == t.lo[0] ? -1 : t.i == t.hi[0] - 1;
  t.oy  = t.j == t.lo[1] ? -1 : t.j == t.hi[1] - 1;
  return t;
}

/* A star's ring around the strip in both buffers, which only this thread reads */
template <int STRIP> __device__ __forceinline__ void HJBrickClear(const HJBricks &lay, const HJStrip &t, PetscScalar *at)
{
  PetscScalar *const other = at + lay.buffer;

  if (t.len > 0 && t.k == t.lo[2]) at[-lay.plane] = other[-lay.plane] = 0.0;
  if (t.len > 0 && t.k + t.len == t.hi[2]) at[t.len * lay.plane] = other[t.len * lay.plane] = 0.0;
#pragma unroll
  for (int side = -1; side <= 1; side += 2) { /* a brick of one point has both */
    const bool ex = side < 0 ? t.i == t.lo[0] : t.i == t.hi[0] - 1, ey = side < 0 ? t.j == t.lo[1] : t.j == t.hi[1] - 1;

#pragma unroll
    for (int s = 0; s < STRIP; s++) {
      if (ex && s < t.len) at[s * lay.plane + side] = other[s * lay.plane + side] = 0.0;
      if (ey && s < t.len) at[s * lay.plane + side * lay.px] = other[s * lay.plane + side * lay.px] = 0.0;
    }
  }
}

/* The strip's rows, b and x; beyond its length whatever is at its first point */
template <int STRIP, bool GHOSTS>
__device__ __forceinline__ void HJBrickLoad(const HJBrickArgs &p, const HJStrip &t, int r[STRIP], PetscScalar b[STRIP],
                                            PetscScalar x[STRIP])
{
  const int            i = t.len ? t.i : t.lo[0], j = t.len ? t.j : t.lo[1], k = t.len ? t.k : t.lo[2], from = i + j * p.line + k * p.plane;
  const unsigned char *index  = p.index + (i + j * p.index_line + k * p.index_plane);
  const long long      origin = GHOSTS ? HJDIndex(p.s.box, 0, 0, 0) : 0;

#pragma unroll
  for (int s = 0; s < STRIP; s++) {
    const int at = s < t.len ? s : 0;

    r[s] = index[at * p.index_plane];
    b[s] = (GHOSTS ? HJDHome(p.s, p.s.b, p.s.bghost, k + at) + origin : p.b)[from + at * p.plane];
    x[s] = p.x ? (GHOSTS ? HJDHome(p.s, p.s.x, p.s.xghost, k + at) + origin : p.x)[from + at * p.plane] : HJ_ZERO;
  }
}

template <bool BOX, int STRIP, bool WRAP>
__global__ void __launch_bounds__(HJ_BRICK_THREADS, 1) HJBrick_Kernel(const __grid_constant__ HJBrickArgs p)
{
  constexpr int                 SIZE = sizeof(HJSlot);
  extern __shared__ PetscScalar s_x[];
  const HJBricks               &lay                   = p.lay;
  const HJStrip                 t                     = HJBrickStrip<BOX, STRIP>(lay);
  unsigned                      rows[(STRIP + 3) / 4] = {}, alone = 0, other = 0;
  PetscScalar                   x[STRIP], db[STRIP], rest[STRIP];
  int                           r[STRIP];

  if (p.ghosts) HJBrickLoad<STRIP, true>(p, t, r, db, x);
  else HJBrickLoad<STRIP, false>(p, t, r, db, x);
  asm volatile("" ::: "memory"); /* loads first: all else is done while they travel */
  const int      px = lay.px, plane = lay.plane;
  int            at = !t.len ? plane + px + 1 : (t.k - t.lo[2] + 1) * plane + (t.j - t.lo[1] + 1) * px + t.i - t.lo[0] + 1;
  const int      sx = HJDWidth(lay.cover, 0), sz = sx * HJDWidth(lay.cover, 1);
  HJRingStep     step = {HJRingStepTo<WRAP>(lay, 0, t.i, t.ox, SIZE), HJRingStepTo<WRAP>(lay, 1, t.j, t.oy, sx * SIZE), sz * SIZE,
                         HJRingStepTo<WRAP>(lay, 2, t.k, -1, sz * SIZE), HJRingStepTo<WRAP>(lay, 2, t.k, t.len, sz * SIZE)};
  int            to   = (int)HJDIndex(lay.cover, t.i, t.j, t.k) * SIZE;
  const unsigned in = HJRingIn<STRIP, WRAP>(t, lay), send = in >> 2 ? (1u << t.len) - 1 : (in & 1) | (in >> 1 & 1) << max(t.len - 1, 0);
  const bool     all = __any_sync(~0u, in >> 2), ends = __any_sync(~0u, in & 3);
  HJBrickPoint   shell[HJ_BRICK_SHELL];

  asm volatile("" : "+r"(at), "+r"(step.x), "+r"(step.y), "+r"(step.z), "+r"(step.top)); /* to be kept, not computed again */
  if (WRAP) asm volatile("" : "+r"(step.bottom));
  if (BOX) {
    for (int q = threadIdx.x; q < lay.buffer; q += blockDim.x)
      ((HJScalar2 *)s_x)[q] = HJScalar2Of(0.0, 0.0); /* two buffers of 8-byte words */
#pragma unroll
    for (int u = 0; u < HJ_BRICK_SHELL; u++) shell[u] = HJBrickShell(lay, t, threadIdx.x + u * blockDim.x);
    __syncthreads();
  } else {
    HJBrickClear<STRIP>(lay, t, s_x + at);
  }
  if (lay.frozen) {
    __syncthreads();
    HJBrickFrozen<BOX>(p, s_x);
  }
#pragma unroll
  for (int s = 0; s < STRIP; s++) {
    const unsigned bit = 1u << s;

    if (s >= t.len) r[s] = p.main_row;
    rows[s / 4] |= (unsigned)r[s] << (8 * (s % 4));
    db[s] *= HJBrickDinv(p, r[s]);
    if (r[s] != p.main_row) {
      if (p.alone[r[s] / 32] >> (r[s] % 32) & 1) alone |= bit;
      else other |= bit;
    }
    if (!p.x) x[s] = p.w[0] * db[s];
  }
  const int kind = __any_sync(~0u, other != 0)                             ? HJ_BRICK_ANY
                   : __all_sync(~0u, (t.len == STRIP || !t.len) && !alone) ? HJ_BRICK_MAIN
                                                                           : HJ_BRICK_ALONE;
  int       now  = 0;

  for (int n = p.x ? 0 : 1, e = 0; n < p.count; n++, e++) {
    const PetscScalar *cur = s_x + now + at;

    asm volatile("" : "+r"(to), "+r"(alone)); /* keeps addresses and what rows say out of registers: there are too many */
#pragma unroll
    for (int q = 0; q < (STRIP + 3) / 4; q++) asm volatile("" : "+r"(rows[q]));
    const char              *slot  = (const char *)p.slot[e & 1] + to;
    const unsigned long long epoch = p.epoch + e;

#pragma unroll
    for (int s = 0; s < STRIP; s++) HJSlotStore(slot + s * step.z, send & (1u << s), x[s], epoch);
#pragma unroll
    for (int s = 0; s < STRIP; s++) {
      if (s < t.len) s_x[now + at + s * plane] = x[s];
    }
    if (BOX) HJShellReceive(shell, (const char *)p.slot[e & 1], epoch, s_x + now);
    __syncthreads();
    if (kind == HJ_BRICK_MAIN) HJBrickRest<BOX, STRIP, HJ_BRICK_MAIN>(p, t.len, cur, alone, rows, db, x, rest);
    else if (kind == HJ_BRICK_ALONE) HJBrickRest<BOX, STRIP, HJ_BRICK_ALONE>(p, t.len, cur, alone, rows, db, x, rest);
    else HJBrickRest<BOX, STRIP, HJ_BRICK_ANY>(p, t.len, cur, alone, rows, db, x, rest);
    if (!BOX && all) HJRingReceiveAdd<STRIP, HJ_RING_ALL>(p, t, in, slot, step, epoch, kind, alone, rows, rest);
    else if (!BOX && ends) HJRingReceiveAdd<STRIP, HJ_RING_ENDS>(p, t, in, slot, step, epoch, kind, alone, rows, rest);
#pragma unroll
    for (int s = 0; s < STRIP; s++) x[s] = fma(p.w[n], rest[s], x[s]);
    now = now ? 0 : lay.buffer;
  }
  const bool written = t.i >= p.s.write.lo[0] && t.i < p.s.write.hi[0] && t.j >= p.s.write.lo[1] && t.j < p.s.write.hi[1];
  const int  lo = p.s.write.lo[2] - t.k, hi = written ? min(t.len, p.s.write.hi[2] - t.k) : 0,
            ys          = HJDWidth(p.s.ybox, 0) * HJDWidth(p.s.ybox, 1);
  const long long place = HJDIndex(p.s.ybox, t.i, t.j, t.k);

#pragma unroll
  for (int s = 0; s < STRIP; s++) {
    if (s >= lo && s < hi) HJDStore(p.s, t.k + s, place + s * ys, x[s]);
  }
}

/* Calls CASE(box, strip) for each kernel, of which a star has one that wraps, too; of those that fit the first is fastest */
#define HJBrickKernels(CASE)                                                                                                               \
  CASE(false, 1);                                                                                                                          \
  CASE(false, 2);                                                                                                                          \
  CASE(false, 4);                                                                                                                          \
  CASE(false, 5);                                                                                                                          \
  CASE(true, 2);                                                                                                                           \
  CASE(true, 4);                                                                                                                           \
  CASE(true, 5)

/* Lines in shared memory keep a warp that wraps from one to the next inside the brick free of bank conflicts. The shell is a box's */
bool HJBricksTry(size_t smem_block, bool box, int strip, int threads, HJBricks *lay)
{
  int w[3];

  for (int d = 0; d < 3; d++) w[d] = lay->own[d] + (lay->more[d] > 0);
  const int shell = (w[0] + 2) * (w[1] + 2) * (w[2] + 2) - w[0] * w[1] * w[2];

  lay->strip      = strip;
  lay->strips     = (w[2] + strip - 1) / strip;
  lay->px         = w[0] + (HJBrickApart(box, strip) ? 14 : 16);
  lay->plane      = lay->px * (w[1] + 2);
  lay->buffer     = lay->plane * (lay->strips * strip + 2);
  lay->smem_bytes = 2 * sizeof(PetscScalar) * lay->buffer;
  lay->threads    = PetscMax(w[0] * w[1] * lay->strips, (shell + HJ_BRICK_SHELL - 1) / HJ_BRICK_SHELL);
  return lay->threads <= threads && lay->smem_bytes <= smem_block;
}

/*
   As many bricks as there are multiprocessors, as near to cubes as can be; smaller ones than 4 points wide give each other more than they
   compute
*/
void HJBricksCut(const HJDevice *device, HJBricks *lay)
{
  for (int d = 0; d < 3; d++) lay->n[d] = 1;
  for (int widest = 0; widest >= 0;) {
    widest = -1;
    for (int d = 0; d < 3; d++) {
      if (HJDWidth(lay->cover, d) < 4 * (lay->n[d] + 1) || lay->n[0] * lay->n[1] * lay->n[2] / lay->n[d] * (lay->n[d] + 1) > device->nsm)
        continue;
      if (widest < 0 || HJDWidth(lay->cover, d) * lay->n[widest] > HJDWidth(lay->cover, widest) * lay->n[d]) widest = d;
    }
    if (widest >= 0) lay->n[widest]++;
  }
  for (int d = 0; d < 3; d++) {
    lay->own[d]  = HJDWidth(lay->cover, d) / lay->n[d];
    lay->more[d] = HJDWidth(lay->cover, d) % lay->n[d];
  }
}

bool HJBricksFit(const HJDevice *device, bool box, HJBricks *lay)
{
  if (!device->cooperative) return false;
  HJBricksCut(device, lay);
#define HJBrickCase(box_, strip_)                                                                                                          \
  if ((box_) == box && HJBricksTry(device->smem_block, box_, strip_, HJ_BRICK_THREADS, lay)) return true
  HJBrickKernels(HJBrickCase);
#undef HJBrickCase
  return false;
}

/* Blocks wait for each other: the launch fails if they are not all on the device at once */
template <typename K> static PetscErrorCode HJBrickLaunch(K kernel, const HJBrickArgs &p, cudaStream_t stream)
{
  const HJLaunch how    = {dim3(p.lay.n[0], p.lay.n[1], p.lay.n[2]), dim3(p.lay.threads), p.lay.smem_bytes, stream, 0, false, true};
  void          *args[] = {(void *)&p};

  PetscFunctionBegin;
  PetscCallCUDA(HJLaunchKernel(&how, (const void *)kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void HJBrickRowsSet(const HJ_CUDA *cuda, HJBrickRows *rows)
{
  const HJDStencil *st = &cuda->st;

  memset(rows, 0, sizeof(*rows));
  rows->main_row = cuda->main_row;
  rows->dinv     = st->h_dinv_rows[cuda->main_row];
  for (int o = 0; o <= st->nneighbors; o++) rows->row[o] = st->h_rows[cuda->main_row * (1 + st->nneighbors) + o];
  for (int r = 0; r < st->nrows; r++) {
    const PetscScalar *row = st->h_rows + r * (1 + st->nneighbors);
    int                o   = 1;

    while (o <= st->nneighbors && row[o] == 0.0) o++;
    if (row[0] == rows->row[0] && o > st->nneighbors) rows->alone[r / 32] |= 1u << (r % 32);
  }
}

PetscErrorCode HJBrickRun_CUDA(HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *s, const HJBricks *lay, const HJBrickRows *rows,
                               int count, const PetscReal *w, HJSlot *slot, unsigned long long epoch)
{
  const bool  wraps = lay->period[0] || lay->period[1] || lay->period[2];
  HJBrickArgs p;

  PetscFunctionBegin;
  p.main_row  = rows->main_row;
  p.rows      = cuda->st.rows;
  p.dinv_rows = cuda->st.dinv_rows;
  p.dinv      = rows->dinv;
  memcpy(p.alone, rows->alone, sizeof(p.alone));
  memcpy(p.row, rows->row, sizeof(p.row));
  p.s          = *s;
  p.lay        = *lay;
  p.lay.frozen = false;
  for (int d = 0; d < 3; d++)
    p.lay.frozen = p.lay.frozen || (!lay->period[d] && (lay->cover.lo[d] > s->domain.lo[d] || lay->cover.hi[d] < s->domain.hi[d]));
  p.ghosts      = !wraps && (s->bghost[0] || s->bghost[1]);
  p.index       = cuda->st.index + HJDIndex(cuda->st.box, 0, 0, 0);
  p.index_line  = HJDWidth(cuda->st.box, 0);
  p.index_plane = p.index_line * HJDWidth(cuda->st.box, 1);
  p.b           = s->b + HJDIndex(s->box, 0, 0, 0);
  p.x           = s->x ? s->x + HJDIndex(s->box, 0, 0, 0) : NULL;
  p.line        = HJDWidth(s->box, 0);
  p.plane       = p.line * HJDWidth(s->box, 1);
  p.count       = count;
  p.slot[0]     = slot;
  p.slot[1]     = slot + HJBricksSlots(lay);
  p.epoch       = epoch;
  for (int j = 0; j < count; j++) p.w[j] = w[j];
#define HJBrickCase(box_, strip_)                                                                                                          \
  if ((box_) == (cuda->st.shape == HJ_BOX) && lay->strip == (strip_))                                                                      \
  PetscCall(HJBrickLaunch(wraps ? HJBrick_Kernel<box_, strip_, !(box_)> : HJBrick_Kernel<box_, strip_, false>, p, stream))
  HJBrickKernels(HJBrickCase);
#undef HJBrickCase
  PetscFunctionReturn(PETSC_SUCCESS);
}

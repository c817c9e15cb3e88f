/*
   Small 3D grids as a whole: one brick a block, all blocks on the device at once, all subiterations in one launch. Blocks give each other
   the layer around their bricks through slots in global memory, each a value and the number of the exchange in one 16-byte word: what has
   arrived says so itself, no flag, no barrier between blocks. hjonchip.cu decides when; variable coefficients are not for this file.
*/
#include "hjcuda_impl.h"

#define HJ_BRICK_SHORT 2 /* a strip of so few points has registers for all loads of its ring at once */

typedef struct {
  HJDSweep             s;
  HJBricks             lay;
  HJDBox               st_box;
  int                  count, main_row;
  unsigned             alone[8]; /* rows without neighbours that have the main row's diagonal, bit by bit */
  const unsigned char *index;
  const double        *rows, *dinv_rows;
  HJSlot              *slot[2];
  unsigned long long   epoch; /* of the first exchange */
  double               dinv, row[1 + HJD_MAX_NEIGHBORS], w[HJD_MAX_COUNT];
} HJBrickArgs;

/*
   One access of 16 bytes each, so that value and epoch belong together; a relaxed one is enough: nothing else is read on its word. Only where
   on is not 0: predicates in place of branches, so that all loads of a strip are in flight at once
*/
__device__ __forceinline__ void HJSlotStore(const char *at, unsigned on, double v, unsigned long long epoch)
{
#if HJ_SLOT_WORDS && __CUDA_ARCH__ >= 700
  asm volatile("{ .reg .b128 t; .reg .pred q; setp.ne.u32 q, %3, 0; mov.b128 t, {%1, %2}; @q st.relaxed.gpu.global.b128 [%0], t; }" ::"l"(at), "l"(__double_as_longlong(v)), "l"(epoch), "r"(on) : "memory");
#endif
}

__device__ __forceinline__ void HJSlotLoad(const char *at, unsigned on, long long *v, unsigned long long *epoch)
{
#if HJ_SLOT_WORDS && __CUDA_ARCH__ >= 700
  asm volatile("{ .reg .b128 t; .reg .pred q; setp.ne.u32 q, %3, 0; mov.b128 t, {%0, %1}; @q ld.relaxed.gpu.global.b128 t, [%2]; mov.b128 {%0, %1}, t; }" : "+l"(*v), "+l"(*epoch) : "l"(at), "r"(on));
#endif
}

/* A thread's strip in the brick; ox and oy say on which side the points around the brick are that are this thread's to read */
typedef struct {
  int i, j, k, len; /* first point, number of points */
  int ox, oy;
  int lo[3], hi[3]; /* the brick */
} HJStrip;

/*
   The points around the brick next to a strip, in parts that are read with all loads in flight: those beside it in x and those below and above
   it; those beside it in y; both at once, where strips are short; and what only a box needs, the edges and corners
*/
enum { HJ_RING_XZ, HJ_RING_Y, HJ_RING_STAR, HJ_RING_BOX };

template <int STRIP> __host__ __device__ constexpr int HJRingSize(int part)
{
  return part == HJ_RING_XZ ? STRIP + 2 : part == HJ_RING_Y ? STRIP : part == HJ_RING_STAR ? 2 * STRIP + 2 : STRIP + 6;
}

/* Ways from one point to others in an array: to the ring in x and y, to the next plane and to the plane above the strip */
typedef struct {
  int x, y, z, top;
} HJRingStep;

/* Point u of a part, relative to the strip's first */
template <int STRIP, int PART> __device__ __forceinline__ int HJRingAt(const HJRingStep &step, int u)
{
  if (PART == HJ_RING_Y) return step.y + u * step.z;
  if (u < STRIP) return step.x + (PART == HJ_RING_BOX ? step.y : 0) + u * step.z;
  u -= STRIP;
  if (PART != HJ_RING_BOX && u < 2) return u ? step.top : -step.z;
  if (PART == HJ_RING_STAR) return step.y + (u - 2) * step.z;
  return (u / 2 != 1 ? step.x : 0) + (u / 2 != 0 ? step.y : 0) + (u % 2 ? step.top : -step.z);
}

/* Bits of the part's points that lie in the box */
template <int STRIP, int PART> __device__ __forceinline__ unsigned HJRingIn(const HJStrip &t, const HJDBox &box)
{
  const bool     x = t.ox && t.i + t.ox >= box.lo[0] && t.i + t.ox < box.hi[0], y = t.oy && t.j + t.oy >= box.lo[1] && t.j + t.oy < box.hi[1];
  const unsigned all = t.len > 0 ? (1u << t.len) - 1 : 0, z = (unsigned)(t.len > 0 && t.k == t.lo[2] && t.k > box.lo[2]) | (unsigned)(t.len > 0 && t.k + t.len == t.hi[2] && t.hi[2] < box.hi[2]) << 1;

  if (PART == HJ_RING_Y) return y ? all : 0;
  if (PART == HJ_RING_BOX) return (x && y ? all : 0) | (x ? z << STRIP : 0) | (y ? z << (STRIP + 2) : 0) | (x && y ? z << (STRIP + 4) : 0);
  return (x ? all : 0) | z << STRIP | (PART == HJ_RING_STAR && y ? all << (STRIP + 2) : 0);
}

__device__ __forceinline__ double HJBrickDinv(const HJBrickArgs &p, int r)
{
  return r == p.main_row ? p.dinv : __ldg(p.dinv_rows + r);
}

/* A part's points that other blocks own, once all of the warp's have arrived; 0 for the others */
template <int STRIP, int PART> __device__ __forceinline__ void HJRingReceive(unsigned in, const char *slot, const HJRingStep &step, unsigned long long epoch, double v[HJRingSize<STRIP>(PART)])
{
  constexpr int      N = HJRingSize<STRIP>(PART);
  unsigned long long got[N];
  long long          bits[N];
  bool               wait;

#pragma unroll
  for (int u = 0; u < N; u++) {
    bits[u] = 0;
    got[u]  = epoch;
  }
  do {
    wait = false;
#pragma unroll
    for (int u = 0; u < N; u++) HJSlotLoad(slot + HJRingAt<STRIP, PART>(step, u), in & (1u << u), &bits[u], &got[u]);
#pragma unroll
    for (int u = 0; u < N; u++) wait = wait || got[u] != epoch;
  } while (__any_sync(~0u, wait));
#pragma unroll
  for (int u = 0; u < N; u++) v[u] = __longlong_as_double(bits[u]);
}

/* A box's ring, into shared memory */
template <int STRIP, int PART> __device__ __forceinline__ void HJRingKeep(unsigned in, const char *slot, const HJRingStep &step, unsigned long long epoch, double *s_at, const HJRingStep &s_step)
{
  double v[HJRingSize<STRIP>(PART)];

  if (!__any_sync(~0u, in)) return;
  HJRingReceive<STRIP, PART>(in, slot, step, epoch, v);
#pragma unroll
  for (int u = 0; u < HJRingSize<STRIP>(PART); u++) {
    if (in >> u & 1) s_at[HJRingAt<STRIP, PART>(s_step, u)] = v[u];
  }
}

/* Sum of a_o x_o at strip point s, in two chains of additions */
template <bool BOX, typename C> __device__ __forceinline__ double HJBrickSum(const double *at, int s, double below, double above, int px, int plane, const C &coef)
{
  double sum[2] = {0.0, 0.0};

#pragma unroll
  for (int o = 0; o < HJDNeighbors(3, BOX); o++) {
    const int    dx = HJDOffset(3, BOX, o, 0), dy = HJDOffset(3, BOX, o, 1), dz = HJDOffset(3, BOX, o, 2);
    const double v = dx || dy ? at[(s + dz) * plane + dy * px + dx] : dz < 0 ? below : above;

    sum[o % 2] = fma(coef(o), v, sum[o % 2]);
  }
  return sum[0] + sum[1];
}

enum { HJ_BRICK_MAIN, HJ_BRICK_ALONE, HJ_BRICK_ANY };

/* Subtracts what a part of the ring adds to a star's sums */
template <int STRIP, int PART, int ROWS> __device__ __forceinline__ void HJRingAdd(const HJBrickArgs &p, const HJStrip &t, const double v[HJRingSize<STRIP>(PART)], unsigned alone, const unsigned rows[(STRIP + 3) / 4], double rest[STRIP])
{
#pragma unroll
  for (int s = 0; s < STRIP; s++) {
    const double *row = p.rows + (rows[s / 4] >> (8 * (s % 4)) & 255) * 7 + 1;
    const auto    c   = [&](int o) { return ROWS == HJ_BRICK_ANY ? __ldg(row + o) : p.row[1 + o]; };
    double        sum = 0.0;

    if (PART != HJ_RING_Y) {
      sum = (t.ox < 0 ? c(0) : c(1)) * v[s];
      if (s == 0) sum = fma(c(4), v[STRIP], sum);
      if (ROWS == HJ_BRICK_MAIN ? s + 1 == STRIP : s + 1 == t.len) sum = fma(c(5), v[STRIP + 1], sum);
    }
    if (PART != HJ_RING_XZ) sum = fma(t.oy < 0 ? c(2) : c(3), v[PART == HJ_RING_Y ? s : STRIP + 2 + s], sum);
    if (ROWS != HJ_BRICK_ALONE || !(alone >> s & 1)) rest[s] -= sum;
  }
}

/* The same for what other blocks own. kind: which rows the warp has */
template <int STRIP, int PART>
__device__ __forceinline__ void HJRingReceiveAdd(const HJBrickArgs &p, const HJStrip &t, unsigned in, const char *slot, const HJRingStep &step, unsigned long long epoch, int kind, unsigned alone, const unsigned rows[(STRIP + 3) / 4],
                                                 double rest[STRIP])
{
  double v[HJRingSize<STRIP>(PART)];

  if (!__any_sync(~0u, in)) return;
  HJRingReceive<STRIP, PART>(in, slot, step, epoch, v);
  if (kind == HJ_BRICK_MAIN) HJRingAdd<STRIP, PART, HJ_BRICK_MAIN>(p, t, v, alone, rows, rest);
  else if (kind == HJ_BRICK_ALONE) HJRingAdd<STRIP, PART, HJ_BRICK_ALONE>(p, t, v, alone, rows, rest);
  else HJRingAdd<STRIP, PART, HJ_BRICK_ANY>(p, t, v, alone, rows, rest);
}

/* What is left of the strip's points: D^-1 b - T x. MAIN: STRIP points that all have the main row; ALONE: or only its diagonal, where bit s says so */
template <bool BOX, int STRIP, int ROWS>
__device__ __forceinline__ void HJBrickRest(const HJBrickArgs &p, int len, const double *cur, unsigned alone, const unsigned rows[(STRIP + 3) / 4], const double db[STRIP], const double x[STRIP], double rest[STRIP])
{
  const int    px = p.lay.px, plane = p.lay.plane;
  const double last = cur[(ROWS == HJ_BRICK_MAIN ? STRIP : max(len, 0)) * plane], first = cur[-plane];

#pragma unroll
  for (int s = 0; s < STRIP; s++) {
    const double below = s ? x[s ? s - 1 : 0] : first, above = s + 1 == STRIP || (ROWS != HJ_BRICK_MAIN && s + 1 == len) ? last : x[s + 1 < STRIP ? s + 1 : s];

    if constexpr (ROWS == HJ_BRICK_ANY) {
      const double *row = p.rows + (rows[s / 4] >> (8 * (s % 4)) & 255) * (1 + HJDNeighbors(3, BOX));

      rest[s] = fma(-__ldg(row), x[s], db[s]) - HJBrickSum<BOX>(cur, s, below, above, px, plane, [&](int o) { return __ldg(row + 1 + o); });
    } else {
      const double sum = HJBrickSum<BOX>(cur, s, below, above, px, plane, [&](int o) { return p.row[1 + o]; });

      rest[s] = fma(-p.row[0], x[s], db[s]) - (ROWS == HJ_BRICK_ALONE && (alone >> s & 1) ? 0.0 : sum);
    }
  }
}

/* Bricks of a direction differ by a point at most */
__device__ __forceinline__ void HJBrickRange(const HJBricks &lay, HJStrip &t)
{
  const int at[3] = {(int)blockIdx.x, (int)blockIdx.y, (int)blockIdx.z};

#pragma unroll
  for (int d = 0; d < 3; d++) {
    t.lo[d] = lay.cover.lo[d] + at[d] * lay.own[d] + min(at[d], lay.more[d]);
    t.hi[d] = t.lo[d] + lay.own[d] + (at[d] < lay.more[d]);
  }
}

/* What of the ring is in no brick: 0 beyond the domain, else as it is at the start, in both buffers. Seldom more than zeros, so no haste */
template <bool BOX> __device__ __noinline__ void HJBrickGhosts(const HJBrickArgs &p, double *s_x)
{
  const double *from = p.s.x ? p.s.x : p.s.b;
  HJStrip       t;

  HJBrickRange(p.lay, t);
  const int n = blockDim.x * blockDim.y * blockDim.z, wx = t.hi[0] - t.lo[0] + 2, wy = t.hi[1] - t.lo[1] + 2, wz = t.hi[2] - t.lo[2] + 2;

  for (int q = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); q < wx * wy * wz; q += n) {
    const int i = q % wx, j = q / wx % wy, k = q / wx / wy, gi = t.lo[0] + i - 1, gj = t.lo[1] + j - 1, gk = t.lo[2] + k - 1;
    const int out = (i == 0 || i == wx - 1) + (j == 0 || j == wy - 1) + (k == 0 || k == wz - 1);
    double   *at  = s_x + k * p.lay.plane + j * p.lay.px + i;

    if (!out || (!BOX && out > 1) || HJDInside(p.lay.cover, gi, gj, gk) || !HJDInside(p.s.domain, gi, gj, gk)) continue;
    *at = from[HJDIndex(p.s.box, gi, gj, gk)];
    if (!p.s.x) *at *= p.w[0] * HJBrickDinv(p, p.index[HJDIndex(p.st_box, gi, gj, gk)]);
    at[p.lay.buffer] = *at;
  }
}

template <int STRIP> __device__ __forceinline__ HJStrip HJBrickStrip(const HJBricks &lay)
{
  HJStrip t;

  HJBrickRange(lay, t);
  t.i   = t.lo[0] + threadIdx.x;
  t.j   = t.lo[1] + threadIdx.y;
  t.k   = t.lo[2] + threadIdx.z * STRIP;
  t.len = t.i < t.hi[0] && t.j < t.hi[1] ? max(0, min(STRIP, t.hi[2] - t.k)) : 0;
  t.ox  = t.i == t.lo[0] ? -1 : t.i == t.hi[0] - 1;
  t.oy  = t.j == t.lo[1] ? -1 : t.j == t.hi[1] - 1;
  return t;
}

template <bool BOX, int STRIP, int THREADS> __global__ void __launch_bounds__(THREADS, 1) HJBrick_Kernel(const __grid_constant__ HJBrickArgs p)
{
  constexpr int            SIZE = sizeof(HJSlot);
  extern __shared__ double s_x[];
  const HJBricks          &lay  = p.lay;
  const HJStrip            t    = HJBrickStrip<STRIP>(lay);
  const bool               some = t.len > 0;
  const int                cs = HJDWidth(p.st_box, 0) * HJDWidth(p.st_box, 1), bs = HJDWidth(p.s.box, 0) * HJDWidth(p.s.box, 1);
  const unsigned char     *index                 = p.index + (some ? HJDIndex(p.st_box, t.i, t.j, t.k) : 0);
  const long long          from                  = some ? HJDIndex(p.s.box, t.i, t.j, t.k) : 0;
  unsigned                 rows[(STRIP + 3) / 4] = {}, alone = 0, other = 0;
  double                   x[STRIP], db[STRIP], rest[STRIP];
  int                      r[STRIP];

#pragma unroll
  for (int s = 0; s < STRIP; s++) {
    r[s]  = s < t.len ? index[s * cs] : p.main_row;
    db[s] = s < t.len ? p.s.b[from + s * bs] : 0.0;
    x[s]  = s < t.len && p.s.x ? p.s.x[from + s * bs] : 0.0;
  }
  const int nthreads = blockDim.x * blockDim.y * blockDim.z;
  for (int q = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); q < lay.buffer; q += nthreads) ((double2 *)s_x)[q] = make_double2(0.0, 0.0); /* two buffers of 8-byte words */
  const int        px = lay.px, plane = lay.plane;
  int              at = (threadIdx.z * STRIP + 1) * plane + (threadIdx.y + 1) * px + threadIdx.x + 1;
  const int        sx = HJDWidth(lay.cover, 0), sz = sx * HJDWidth(lay.cover, 1);
  const HJRingStep s_step = {t.ox, t.oy * px, plane, t.len * plane};
  HJRingStep       step   = {t.ox * SIZE, t.oy * sx * SIZE, sz * SIZE, t.len * sz * SIZE};
  int              to     = some ? (int)HJDIndex(lay.cover, t.i, t.j, t.k) * SIZE : 0;
  const unsigned   star = HJRingIn<STRIP, HJ_RING_STAR>(t, lay.cover), xz = HJRingIn<STRIP, HJ_RING_XZ>(t, lay.cover), y = HJRingIn<STRIP, HJ_RING_Y>(t, lay.cover), edges = BOX ? HJRingIn<STRIP, HJ_RING_BOX>(t, lay.cover) : 0;
  const unsigned   send = (xz & ((1u << STRIP) - 1)) || y ? (1u << t.len) - 1 : (xz >> STRIP & 1) | (xz >> (STRIP + 1) & 1) << max(t.len - 1, 0);

  asm volatile("" : "+r"(at), "+r"(step.x), "+r"(step.y), "+r"(step.z), "+r"(step.top)); /* to be kept, not computed again */
  __syncthreads();
  if (lay.ghosts) HJBrickGhosts<BOX>(p, s_x);
#pragma unroll
  for (int s = 0; s < STRIP; s++) {
    const unsigned bit = 1u << s;

    rows[s / 4] |= (unsigned)r[s] << (8 * (s % 4));
    db[s] *= HJBrickDinv(p, r[s]);
    if (r[s] != p.main_row) {
      if (p.alone[r[s] / 32] >> (r[s] % 32) & 1) alone |= bit;
      else other |= bit;
    }
    if (!p.s.x) x[s] = p.w[0] * db[s];
  }
  const int kind = __any_sync(~0u, other != 0) ? HJ_BRICK_ANY : __all_sync(~0u, (t.len == STRIP || !some) && !alone) ? HJ_BRICK_MAIN : HJ_BRICK_ALONE;
  int       now  = 0;

  for (int n = p.s.x ? 0 : 1, e = 0; n < p.count; n++, e++) {
    const double *cur = s_x + now + (some ? at : plane + px + 1);

    asm volatile("" : "+r"(to)); /* keeps addresses out of registers: there are too many */
    const char              *slot  = (const char *)p.slot[e & 1] + to;
    const unsigned long long epoch = p.epoch + e;

#pragma unroll
    for (int s = 0; s < STRIP; s++) HJSlotStore(slot + s * step.z, send & (1u << s), x[s], epoch);
#pragma unroll
    for (int s = 0; s < STRIP; s++) {
      if (s < t.len) s_x[now + at + s * plane] = x[s];
    }
    if (BOX) {
      if (STRIP <= HJ_BRICK_SHORT) {
        HJRingKeep<STRIP, HJ_RING_STAR>(star, slot, step, epoch, s_x + now + at, s_step);
      } else {
        HJRingKeep<STRIP, HJ_RING_XZ>(xz, slot, step, epoch, s_x + now + at, s_step);
        HJRingKeep<STRIP, HJ_RING_Y>(y, slot, step, epoch, s_x + now + at, s_step);
      }
      HJRingKeep<STRIP, HJ_RING_BOX>(edges, slot, step, epoch, s_x + now + at, s_step);
    }
    __syncthreads();
    if (kind == HJ_BRICK_MAIN) HJBrickRest<BOX, STRIP, HJ_BRICK_MAIN>(p, t.len, cur, alone, rows, db, x, rest);
    else if (kind == HJ_BRICK_ALONE) HJBrickRest<BOX, STRIP, HJ_BRICK_ALONE>(p, t.len, cur, alone, rows, db, x, rest);
    else HJBrickRest<BOX, STRIP, HJ_BRICK_ANY>(p, t.len, cur, alone, rows, db, x, rest);
    if (!BOX && STRIP <= HJ_BRICK_SHORT) {
      HJRingReceiveAdd<STRIP, HJ_RING_STAR>(p, t, star, slot, step, epoch, kind, alone, rows, rest);
    } else if (!BOX) {
      HJRingReceiveAdd<STRIP, HJ_RING_XZ>(p, t, xz, slot, step, epoch, kind, alone, rows, rest);
      HJRingReceiveAdd<STRIP, HJ_RING_Y>(p, t, y, slot, step, epoch, kind, alone, rows, rest);
    }
#pragma unroll
    for (int s = 0; s < STRIP; s++) x[s] = fma(p.w[n], rest[s], x[s]);
    now = now ? 0 : lay.buffer;
  }
#pragma unroll
  for (int s = 0; s < STRIP; s++) {
    if (s < t.len && HJDInside(p.s.write, t.i, t.j, t.k + s)) p.s.y[HJDIndex(p.s.ybox, t.i, t.j, t.k + s)] = x[s];
  }
}

/* Lines in shared memory that are 16 doubles longer than the brick's keep a warp that wraps from one to the next free of bank conflicts */
static bool HJBricksTry(size_t smem_block, int strip, int most, HJBricks *lay)
{
  int w[3];

  for (int d = 0; d < 3; d++) w[d] = lay->own[d] + (lay->more[d] > 0);
  lay->strip      = strip;
  lay->strips     = (w[2] + strip - 1) / strip;
  lay->px         = w[0] + 16;
  lay->plane      = lay->px * (w[1] + 2);
  lay->buffer     = lay->plane * (lay->strips * strip + 2);
  lay->smem_bytes = 2 * sizeof(double) * lay->buffer;
  return w[0] * w[1] * lay->strips <= most && lay->smem_bytes <= smem_block;
}

/* As many bricks as there are multiprocessors, as near to cubes as can be; smaller ones than 4 points wide give each other more than they compute */
bool HJBricksFit(int nsm, size_t smem_block, HJBricks *lay)
{
  for (int d = 0; d < 3; d++) lay->n[d] = 1;
  for (int widest = 0; widest >= 0;) {
    widest = -1;
    for (int d = 0; d < 3; d++) {
      if (HJDWidth(lay->cover, d) < 4 * (lay->n[d] + 1) || lay->n[0] * lay->n[1] * lay->n[2] / lay->n[d] * (lay->n[d] + 1) > nsm) continue;
      if (widest < 0 || HJDWidth(lay->cover, d) * lay->n[widest] > HJDWidth(lay->cover, widest) * lay->n[d]) widest = d;
    }
    if (widest >= 0) lay->n[widest]++;
  }
  for (int d = 0; d < 3; d++) {
    lay->own[d]  = HJDWidth(lay->cover, d) / lay->n[d];
    lay->more[d] = HJDWidth(lay->cover, d) % lay->n[d];
  }
  return HJBricksTry(smem_block, 2, 512, lay) || HJBricksTry(smem_block, 4, 512, lay) || HJBricksTry(smem_block, 5, 512, lay);
}

/* Blocks wait for each other: the launch fails if they are not all on the device at once */
template <typename K> static PetscErrorCode HJBrickLaunch(K kernel, const HJBrickArgs &p, cudaStream_t stream)
{
  const HJBricks     &lay    = p.lay;
  cudaLaunchConfig_t  config = {};
  cudaLaunchAttribute attr;

  PetscFunctionBegin;
  config.gridDim          = dim3(lay.n[0], lay.n[1], lay.n[2]);
  config.blockDim         = dim3(lay.own[0] + (lay.more[0] > 0), lay.own[1] + (lay.more[1] > 0), lay.strips);
  config.dynamicSmemBytes = lay.smem_bytes;
  config.stream           = stream;
  config.attrs            = &attr;
  config.numAttrs         = 1;
  attr.id                 = cudaLaunchAttributeCooperative;
  attr.val.cooperative    = 1;
  if (lay.smem_bytes > 48 * 1024) PetscCallCUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)lay.smem_bytes));
  PetscCallCUDA(cudaLaunchKernelEx(&config, kernel, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The main row, and which rows it can stand in for */
static void HJBrickRows(const HJ_CUDA *cuda, HJBrickArgs *p)
{
  const HJDStencil *st = &cuda->st;

  p->main_row  = cuda->main_row;
  p->rows      = st->rows;
  p->dinv_rows = st->dinv_rows;
  p->dinv      = st->h_dinv_rows[cuda->main_row];
  memset(p->alone, 0, sizeof(p->alone));
  for (int o = 0; o <= st->nneighbors; o++) p->row[o] = st->h_rows[cuda->main_row * (1 + st->nneighbors) + o];
  for (int r = 0; r < st->nrows; r++) {
    const double *row = st->h_rows + r * (1 + st->nneighbors);
    int           o   = 1;

    while (o <= st->nneighbors && row[o] == 0.0) o++;
    if (row[0] == p->row[0] && o > st->nneighbors) p->alone[r / 32] |= 1u << (r % 32);
  }
}

PetscErrorCode HJBrickRun_CUDA(HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *s, const HJBricks *lay, int count, const double *w, HJSlot *slot, unsigned long long epoch)
{
  HJBrickArgs p;

  PetscFunctionBegin;
  HJBrickRows(cuda, &p);
  p.s          = *s;
  p.lay        = *lay;
  p.lay.ghosts = false;
  for (int d = 0; d < 3; d++) p.lay.ghosts = p.lay.ghosts || lay->cover.lo[d] > s->domain.lo[d] || lay->cover.hi[d] < s->domain.hi[d];
  p.st_box  = cuda->st.box;
  p.index   = cuda->st.index;
  p.count   = count;
  p.slot[0] = slot;
  p.slot[1] = slot + HJBricksSlots(lay);
  p.epoch   = epoch;
  for (int j = 0; j < count; j++) p.w[j] = w[j];
#define HJBrickCase(strip_, threads)                                                                                                                                                                                                                     \
  do {                                                                                                                                                                                                                                                   \
    if (lay->strip == (strip_) && cuda->st.shape == HJ_BOX) PetscCall(HJBrickLaunch(HJBrick_Kernel<true, strip_, threads>, p, stream));                                                                                                                  \
    else if (lay->strip == (strip_)) PetscCall(HJBrickLaunch(HJBrick_Kernel<false, strip_, threads>, p, stream));                                                                                                                                        \
  } while (0)
  HJBrickCase(2, 512);
  HJBrickCase(4, 512);
  HJBrickCase(5, 512);
#undef HJBrickCase
  PetscFunctionReturn(PETSC_SUCCESS);
}

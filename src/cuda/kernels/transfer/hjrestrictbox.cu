/*
   Residual and restriction of a 3D box, the upper half of a symmetric matrix's coefficient arrays, refined in all directions, without
   periodicity. Arrays come to shared memory plane by plane, the next one while one is at hand, for a tile and the ring around it, so that
   each value is fetched once for the two points that it couples.

   A thread has a fine point in x and y, and marches in z with the 27 values of x around its place in registers; the residuals of a plane
   meet in shared memory, where some threads gather them for a coarse point each.
*/
#include "hjrestrict.cuh"
#include "cuda/device/hjcopy.cuh"

#define HJ_BOX_THREADS 384
#define HJ_BOX_PLANE   528 /* points of a tile of fine points and the ring around it, at most */
#define HJ_BOX_UP      9   /* arrays that lead to the plane above, and those within the plane, which come first */
#define HJ_BOX_IN      4
#define HJ_BOX_UPS     3 /* planes of them in shared memory: the one below, the one at hand, the one that comes */
#define HJ_BOX_INS     2
#define HJ_BOX_XS      2 /* of x: the next one, and that after it; of residuals: in turn, so that one barrier less is needed */
#define HJ_BOX_FS      2
#define HJ_BOX_SLOTS   (HJ_BOX_UP * HJ_BOX_UPS + HJ_BOX_IN * HJ_BOX_INS + HJ_BOX_XS)
#define HJ_BOX_BYTES   ((HJ_BOX_SLOTS + HJ_BOX_FS) * HJ_BOX_PLANE * sizeof(double))

typedef struct {
  const double *x, *b, *diagonal, *value[HJ_BOX_UP + HJ_BOX_IN];
  double       *y;
  int           n[3], nc[3], own[3]; /* fine and coarse points; coarse points of a block, at most */
  int           bx, by;              /* fine points of a block in x and y, at most: a thread each */
  int           plane;               /* points of a fine plane */
} HJBoxArgs;

/* The tile of a block: its coarse points [lo, hi), and the fine ones that they need, [from, to) */
typedef struct {
  int lo[3], hi[3], from[3], to[3];
} HJBoxTile;

static __device__ __forceinline__ HJBoxTile HJBoxGetTile(const HJBoxArgs &p)
{
  const int block[3] = {(int)blockIdx.x, (int)blockIdx.y, (int)blockIdx.z};
  HJBoxTile t;

#pragma unroll
  for (int d = 0; d < 3; d++) {
    t.lo[d]   = block[d] * p.own[d];
    t.hi[d]   = min(t.lo[d] + p.own[d], p.nc[d]);
    t.from[d] = max(2 * t.lo[d] - 1, 0);
    t.to[d]   = min(2 * t.hi[d], p.n[d]);
  }
  return t;
}

/* What a thread fetches of each plane: up to two places of tile and ring */
struct HJBoxFetch {
  double  *up, *in, *xs, *fs; /* shared memory */
  int      place[2], at[2];
  unsigned there; /* a bit for each place: it is in the domain and needed */

  __device__ __forceinline__ void set(const HJBoxArgs &p, const HJBoxTile &t, double *shared)
  {
    const int px = p.bx + 2;

    up    = shared;
    in    = up + HJ_BOX_UPS * HJ_BOX_UP * HJ_BOX_PLANE;
    xs    = in + HJ_BOX_INS * HJ_BOX_IN * HJ_BOX_PLANE;
    fs    = xs + HJ_BOX_XS * HJ_BOX_PLANE;
    there = 0;
#pragma unroll
    for (int k = 0; k < 2; k++) {
      const int e = (int)threadIdx.x + k * (int)blockDim.x, i = t.from[0] - 1 + e % px, j = t.from[1] - 1 + e / px;

      place[k] = e;
      at[k]    = j * p.n[0] + i;
      if (e < px * (p.by + 2) && i >= 0 && i < min(t.to[0] + 1, p.n[0]) && j >= 0 && j < min(t.to[1] + 1, p.n[1])) there |= 1u << k;
    }
  }

  /* What is never fetched is zero: places outside the domain, the plane below it, and residuals outside the tile */
  __device__ __forceinline__ void clear(const HJBoxTile &t) const
  {
#pragma unroll
    for (int k = 0; k < 2; k++) {
      if (place[k] >= HJ_BOX_PLANE) continue;
      for (int s = 0; s < HJ_BOX_SLOTS; s++)
        if (!(there >> k & 1)) up[s * HJ_BOX_PLANE + place[k]] = 0.0;
      for (int s = 0; s < HJ_BOX_FS; s++) fs[s * HJ_BOX_PLANE + place[k]] = 0.0;
      for (int s = 0; s < HJ_BOX_UP && t.from[2] == 0; s++) up[((HJ_BOX_UPS - 1) * HJ_BOX_UP + s) * HJ_BOX_PLANE + place[k]] = 0.0;
    }
  }

  /* Coefficients of plane q and x of plane q + 1, where they are needed */
  __device__ __forceinline__ void load(const HJBoxArgs &p, const HJBoxTile &t, int q) const
  {
    const int up3 = (q + HJ_BOX_UPS) % HJ_BOX_UPS, in2 = q & 1;

#pragma unroll
    for (int k = 0; k < 2; k++) {
      if (!(there >> k & 1)) continue;
      if (q >= 0 && q < t.to[2]) {
        const long long from = (long long)q * p.plane + at[k];

#pragma unroll
        for (int a = 0; a < HJ_BOX_IN; a++) copy(in + (in2 * HJ_BOX_IN + a) * HJ_BOX_PLANE + place[k], p.value[a] + from);
#pragma unroll
        for (int a = 0; a < HJ_BOX_UP; a++) copy(up + (up3 * HJ_BOX_UP + a) * HJ_BOX_PLANE + place[k], p.value[HJ_BOX_IN + a] + from);
      }
      if (q >= t.from[2] && q + 1 < min(t.to[2] + 1, p.n[2]))
        copy(xs + (in2 ^ 1) * HJ_BOX_PLANE + place[k], p.x + (long long)(q + 1) * p.plane + at[k]);
    }
    HJCopyCommit();
  }

  static __device__ __forceinline__ void copy(double *to, const double *from)
  {
    HJCopy8((unsigned)__cvta_generic_to_shared(to), from);
  }

  /* What the neighbours of the point at a place in plane q add up to; v: the 27 values around it */
  __device__ __forceinline__ double sum(int px, int place, int q, const double v[3][9]) const
  {
    const int     up3   = q % HJ_BOX_UPS;
    const double *now   = up + up3 * HJ_BOX_UP * HJ_BOX_PLANE + place,
                 *below = up + (up3 ? up3 - 1 : HJ_BOX_UPS - 1) * HJ_BOX_UP * HJ_BOX_PLANE + place,
                 *here  = in + (q & 1) * HJ_BOX_IN * HJ_BOX_PLANE + place;
    double s[3]         = {0.0, 0.0, 0.0};

#pragma unroll
    for (int o = 0; o < 26; o++) {
      const int    away = HJDOffset(3, true, o, 1) * px + HJDOffset(3, true, o, 0), i = o < 13 ? o : o + 1;
      const double c = o < 9    ? below[(8 - o) * HJ_BOX_PLANE + away]
                       : o < 13 ? here[(12 - o) * HJ_BOX_PLANE + away]
                       : o < 17 ? here[(o - 13) * HJ_BOX_PLANE]
                                : now[(o - 17) * HJ_BOX_PLANE];

      s[i / 9] = fma(c, v[i / 9][i % 9], s[i / 9]);
    }
    return s[0] + s[1] + s[2];
  }
};

/* The coarse point of a thread: the place of the fine one that it lies on, its place in y, its sum over planes */
typedef struct {
  int     at;
  bool    in;
  double *y, sum;
} HJBoxCoarse;

static __device__ __forceinline__ HJBoxCoarse HJBoxGetCoarse(const HJBoxArgs &p, const HJBoxTile &t)
{
  const int   n = t.hi[0] - t.lo[0], i = t.lo[0] + (int)threadIdx.x % n, j = t.lo[1] + (int)threadIdx.x / n;
  HJBoxCoarse c;

  c.in  = j < t.hi[1];
  c.at  = c.in ? (2 * j - t.from[1] + 1) * (p.bx + 2) + 2 * i - t.from[0] + 1 : 0;
  c.y   = p.y + ((long long)t.lo[2] * p.nc[1] + j) * p.nc[0] + i;
  c.sum = 0.0;
  return c;
}

/* What the residuals of a fine plane q give to its coarse ones; the one that is complete is written */
static __device__ __forceinline__ void HJBoxGather(const HJBoxArgs &p, const HJBoxTile &t, const double *plane, int q, HJBoxCoarse *c)
{
  const int     px = p.bx + 2;
  const double *v  = plane + c->at;
  double        sum;

  if (!c->in) return;
  sum = v[0] + 0.5 * ((v[-1] + v[1]) + (v[-px] + v[px])) + 0.25 * ((v[-px - 1] + v[-px + 1]) + (v[px - 1] + v[px + 1]));
  if (q % 2 == 0) {
    c->sum += sum;
    if (q == t.to[2] - 1) *c->y = c->sum; /* the last plane of the grid */
    return;
  }
  if (q > 2 * t.lo[2]) {
    *c->y = c->sum + 0.5 * sum;
    c->y += p.nc[0] * p.nc[1];
  }
  c->sum = 0.5 * sum;
}

__global__ void __launch_bounds__(HJ_BOX_THREADS, 1) HJRestrictBox_Kernel(const __grid_constant__ HJBoxArgs p)
{
  extern __shared__ double s_box[];
  const HJBoxTile          t  = HJBoxGetTile(p);
  const int                tx = (int)threadIdx.x % p.bx, ty = (int)threadIdx.x / p.bx, px = p.bx + 2, place = (ty + 1) * px + tx + 1;
  const int                i = t.from[0] + tx, j = t.from[1] + ty;
  const bool               active = ty < p.by && i < t.to[0] && j < t.to[1];
  long long                at     = (long long)t.from[2] * p.plane + j * p.n[0] + i;
  double                   v[3][9], b = 0.0, d = 0.0;
  HJBoxFetch               fetch;
  HJBoxCoarse              coarse;

  fetch.set(p, t, s_box);
  fetch.clear(t);
  coarse = HJBoxGetCoarse(p, t);
  HJDAwaitInput();
  HJDLetNextStart();
  for (int q = t.from[2] - 1; q <= t.from[2]; q++) fetch.load(p, t, q);
  if (active) {
    b = p.b[at];
    d = p.diagonal[at];
  }
#pragma unroll
  for (int q = 0; q < 9; q++) {
    const int  qi = i + q % 3 - 1, qj = j + q / 3 - 1;
    const bool in = active && qi >= 0 && qi < p.n[0] && qj >= 0 && qj < p.n[1];

    v[0][q] = v[1][q] = v[2][q] = 0.0;
    if (in) v[1][q] = p.x[at + (q / 3 - 1) * p.n[0] + q % 3 - 1];
    if (in && t.from[2] > 0) v[0][q] = p.x[at - p.plane + (q / 3 - 1) * p.n[0] + q % 3 - 1];
  }
#pragma unroll 1
  for (int r = t.from[2]; r < t.to[2]; r++) {
    double *const f    = fetch.fs + (r & 1) * HJ_BOX_PLANE;
    const double  bnow = b, dnow = d;

    HJCopyWait<0>();
    __syncthreads();
    fetch.load(p, t, r + 1);
    at += p.plane;
    if (active && r + 1 < t.to[2]) {
      b = p.b[at];
      d = p.diagonal[at];
    }
    if (active) {
      const double *x = fetch.xs + ((r + 1) & 1) * HJ_BOX_PLANE + place;

#pragma unroll
      for (int q = 0; q < 9; q++) v[2][q] = r + 1 < p.n[2] ? x[(q / 3 - 1) * px + q % 3 - 1] : 0.0;
      f[place] = bnow - fma(dnow, v[1][4], fetch.sum(px, place, r, v));
    }
    __syncthreads();
    HJBoxGather(p, t, f, r, &coarse);
#pragma unroll
    for (int q = 0; q < 9; q++) {
      v[0][q] = v[1][q];
      v[1][q] = v[2][q];
    }
  }
}

static int HJBoxThreads(int bx, int by)
{
  return (bx * by + 31) / 32 * 32;
}

/* Whether a block can have a tile of so many fine points */
static bool HJBoxHolds(int bx, int by)
{
  const int threads = HJBoxThreads(bx, by), places = (bx + 2) * (by + 2);

  return threads <= HJ_BOX_THREADS && places <= HJ_BOX_PLANE && places <= 2 * threads;
}

/* Coarse points of a block in each direction, so that its threads and shared memory hold the fine ones, and blocks have the fewest planes
   to do in turn */
static void HJBoxCut(int processors, HJBoxArgs *p, int blocks[3])
{
  long long least = LLONG_MAX;

  for (int tiles = 1; tiles <= p->nc[0]; tiles++) {
    const int own = (p->nc[0] + tiles - 1) / tiles, bx = min(2 * own + 1, p->n[0]);
    int       most = p->nc[1];

    while (most > 0 && !HJBoxHolds(bx, min(2 * most + 1, p->n[1]))) most--;
    if (!most) continue;
    const int rows = (p->nc[1] + most - 1) / most, own1 = (p->nc[1] + rows - 1) / rows, by = min(2 * own1 + 1, p->n[1]);

    if (!HJBoxHolds(bx, by)) continue;
    for (int pieces = 1; pieces <= p->nc[2]; pieces++) {
      const int       own2 = (p->nc[2] + pieces - 1) / pieces, n[3] = {(p->nc[0] + own - 1) / own, rows, (p->nc[2] + own2 - 1) / own2};
      const int       owns[3] = {own, own1, own2};
      const long long time    = ((long long)n[0] * n[1] * n[2] + processors - 1) / processors * (2 * own2 + 3);

      if (time >= least) continue;
      least = time;
      p->bx = bx;
      p->by = by;
      for (int d = 0; d < 3; d++) {
        p->own[d] = owns[d];
        blocks[d] = n[d];
      }
    }
    if (bx < 17) break;
  }
}

/* Large symmetric grids of 27 points by arrays, refined in all directions, without periodicity and norm */
static int HJRestrictBoxTakes(const HJDevice *device, const HJAsk *ask)
{
  const HJRestriction *r = ask->restriction;
  HJRestrictArgs       p;

  if (ask->kind != HJ_RESTRICTION) return 0;
  const HJCoefficients *a = r->a;
  if (a->dim != 3 || a->shape != HJ_BOX || a->storage != HJ_COEFFICIENTS_ARRAYS || !(a->symmetric || a->half) || r->norm2 || r->cut.cut)
    return 0;
  HJRestrictGetGrids(r, &p);
  for (int d = 0; d < 3; d++)
    if (!p.two[d] || p.periodic[d] || p.nc[d] > 65535) return 0;
  return device->cc >= 80 && device->smem_block >= HJ_BOX_BYTES;
}

static PetscErrorCode HJRestrictBoxRun(const HJDevice *device, cudaStream_t stream, const HJRestriction *restriction)
{
  HJRestrictArgs r;
  HJBoxArgs      p      = {};
  HJLaunch       how    = {};
  void          *args[] = {&p};
  int            blocks[3];

  PetscFunctionBegin;
  PetscCall(HJRestrictGetArgs(restriction, &r));
  p.x        = r.x;
  p.b        = r.b;
  p.y        = r.y;
  p.diagonal = r.value;
  for (int a = 0; a < HJ_BOX_IN + HJ_BOX_UP; a++) p.value[a] = r.value + r.begin[14 + a];
  for (int d = 0; d < 3; d++) {
    p.n[d]  = r.n[d];
    p.nc[d] = r.nc[d];
  }
  p.plane = r.plane;
  HJBoxCut(device->nsm, &p, blocks);
  how.grid       = dim3(blocks[0], blocks[1], blocks[2]);
  how.block      = dim3(HJBoxThreads(p.bx, p.by));
  how.smem_bytes = HJ_BOX_BYTES;
  how.stream     = stream;
  how.overlap    = true;
  PetscCallCUDA(HJLaunchKernel(&how, (const void *)HJRestrictBox_Kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJFamily HJFamilyRestrictBox = {.name              = "restriction of 27 arrays",
                                      .takes             = HJRestrictBoxTakes,
                                      .restrict_residual = HJRestrictBoxRun};

/*
   3D box, one coefficient array per offset (variable; symmetric: upper half), ranks without neighbours: two subiterations a launch, so that
   coefficients come from memory once for both. Decides how the grid is cut into columns of tiles and pieces of planes.

   A thread has a point in x and y, of a tile and the ring around it, and marches in z. In plane r it does the first subiteration, with the
   27 values of x around its place in registers; the result goes to shared memory, where the second finds its neighbours. What that one adds
   up in plane r needs the planes r - 1 and r, so it waits for plane r + 1 with nine coefficients only.
*/
#include "hjboxarrays.h"

#define HJ3BA_THREADS 384
#define HJ3BA_LEAST   16 /* points in x of a tile, where there are as many */
#define HJ3BA_AHEAD   2  /* planes that are fetched into the L2 cache ahead of the one that is read */
#define HJ3BA_SECTOR  4  /* doubles that come with one */

/* Points that a block writes, at most, threads in x and y, planes; and the number of blocks */
typedef struct {
  int own[3], n[3], bx, by;
} HJ3BALayout;

typedef struct {
  const double *x, *b, *dinv;             /* at write's first point; x NULL: zero guess */
  const double *value[HJD_MAX_NEIGHBORS]; /* of the offset, also where it is stored as that of the opposite one */
  double       *y, w[2];
  HJDBox        write, domain;
  HJ3BALayout   lay;
  int           nx, cx, ny; /* row lengths of x and b, of coefficients, of y */
  long long     nxy, cxy, nyxy;
} HJ3BAArgs;

static __device__ __forceinline__ void HJ3BAPrefetch(const double *p)
{
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

template <bool SYM, bool ZERO> __global__ void __launch_bounds__(HJ3BA_THREADS, 1) HJ3BoxArrays_Kernel(const __grid_constant__ HJ3BAArgs p)
{
  extern __shared__ double s_f[]; /* three planes of the first subiteration's results, with a ring of zeros */
  const int                tx = threadIdx.x % p.lay.bx, ty = threadIdx.x / p.lay.bx, px = p.lay.bx + 2, plane = px * (p.lay.by + 2);
  const int                x0 = p.write.lo[0] + blockIdx.x * p.lay.own[0], x1 = min(x0 + p.lay.own[0], p.write.hi[0]);
  const int                y0 = p.write.lo[1] + blockIdx.y * p.lay.own[1], y1 = min(y0 + p.lay.own[1], p.write.hi[1]);
  const int                k0 = p.write.lo[2] + blockIdx.z * p.lay.own[2], k1 = min(k0 + p.lay.own[2], p.write.hi[2]);
  const int                i = max(x0 - 1, p.domain.lo[0]) + tx, j = max(y0 - 1, p.domain.lo[1]) + ty;
  const bool               mine = ty < p.lay.by, active = mine && i < min(x1 + 1, p.domain.hi[0]) && j < min(y1 + 1, p.domain.hi[1]),
             own   = active && i >= x0 && i < x1 && j >= y0 && j < y1;
  const int     r0 = max(k0 - 1, p.domain.lo[2]), oi = i - p.write.lo[0], oj = j - p.write.lo[1], ok = r0 - p.write.lo[2];
  double *const f  = s_f + (ty + 1) * px + tx + 1;
  const double *xp = p.x + ok * p.nxy + (long long)oj * p.nx + oi, *bp = p.b + ok * p.nxy + (long long)oj * p.nx + oi;
  double       *yp   = p.y + (ok - 1) * p.nyxy + (long long)oj * p.ny + oi; /* of the plane before */
  long long     at   = ok * p.cxy + (long long)oj * p.cx + oi;
  unsigned      in   = 0;
  int           slot = 0;
  double        v[3][9], up[9], sum = 0.0, before = 0.0, dbefore = 0.0, bbefore = 0.0;

  for (int q = threadIdx.x; q < 3 * plane; q += blockDim.x) s_f[q] = 0.0;
#pragma unroll
  for (int q = 0; q < 9; q++) {
    const int qx = i + q % 3 - 1, qy = j + q / 3 - 1;

    up[q] = v[0][q] = v[1][q] = 0.0;
    if (qx >= p.domain.lo[0] && qx < p.domain.hi[0] && qy >= p.domain.lo[1] && qy < p.domain.hi[1]) in |= 1u << q;
  }
  if (!active) in = 0;
  __syncthreads();
  HJDAwaitInput();
  HJDLetNextStart();
  if (!ZERO) {
#pragma unroll
    for (int q = 0; q < 9; q++) {
      if (in >> q & 1) v[1][q] = xp[(q / 3 - 1) * p.nx + q % 3 - 1];
      if ((in >> q & 1) && r0 > p.domain.lo[2]) v[0][q] = xp[(q / 3 - 1) * p.nx + q % 3 - 1 - p.nxy];
    }
  }
#pragma unroll 1
  for (int r = r0; r <= k1; r++) {
    const bool there = r < p.domain.hi[2];
    double     c[26], g[9], now = 0.0, dinv = 0.0, b = 0.0;

    if (there && active) {
      if (r + HJ3BA_AHEAD < min(k1 + 1, p.domain.hi[2]) && tx % HJ3BA_SECTOR == 0) {
#pragma unroll
        for (int o = SYM ? 13 : 0; o < 26; o++) HJ3BAPrefetch(p.value[o] + at + HJ3BA_AHEAD * p.cxy);
        HJ3BAPrefetch(p.dinv + at + HJ3BA_AHEAD * p.cxy);
        HJ3BAPrefetch(bp + HJ3BA_AHEAD * p.nxy);
        if (!ZERO && r + HJ3BA_AHEAD + 1 < p.domain.hi[2]) HJ3BAPrefetch(xp + (HJ3BA_AHEAD + 1) * p.nxy);
      }
      b    = *bp;
      dinv = p.dinv[at];
#pragma unroll
      for (int q = 0; q < 9; q++)
        v[2][q] = !ZERO && (in >> q & 1) && r + 1 < p.domain.hi[2] ? xp[p.nxy + (q / 3 - 1) * p.nx + q % 3 - 1] : 0.0;
#pragma unroll
      for (int o = 0; o < 26; o++) c[o] = !ZERO || own ? p.value[o][at] : 0.0;
      if (ZERO) now = p.w[0] * dinv * b;
      else {
        double a[3] = {0.0, 0.0, 0.0};

#pragma unroll
        for (int o = 0; o < 26; o++) {
          const int q = o < 13 ? o : o + 1;

          a[q / 9] = fma(c[o], v[q / 9][q % 9], a[q / 9]);
        }
        now = fma(p.w[0], dinv * (b - (a[0] + a[1] + a[2])) - v[1][4], v[1][4]);
      }
      f[slot * plane] = now;
    } else {
      if (mine) f[slot * plane] = 0.0; /* beyond the domain's end */
#pragma unroll
      for (int o = 0; o < 26; o++) c[o] = 0.0;
    }
    __syncthreads();
    if (own) {
      const double *here = f + slot * plane, *below = f + (slot ? slot - 1 : 2) * plane;
      double        s0 = 0.0, s1 = 0.0;

#pragma unroll
      for (int q = 0; q < 9; q++) g[q] = here[(q / 3 - 1) * px + q % 3 - 1];
      if (r > k0) {
#pragma unroll
        for (int q = 0; q < 9; q++) sum = fma(up[q], g[q], sum);
        *yp = fma(p.w[1], dbefore * (bbefore - sum) - before, before);
      }
#pragma unroll
      for (int q = 0; q < 9; q++) {
        s0 = fma(c[q], below[(q / 3 - 1) * px + q % 3 - 1], s0);
        if (q != 4) s1 = fma(c[9 + (q < 4 ? q : q - 1)], g[q], s1);
        up[q] = c[17 + q];
      }
      sum     = s0 + s1;
      before  = now;
      dbefore = dinv;
      bbefore = b;
    }
#pragma unroll
    for (int q = 0; q < 9; q++) {
      v[0][q] = v[1][q];
      v[1][q] = v[2][q];
    }
    slot = slot == 2 ? 0 : slot + 1;
    xp += p.nxy;
    bp += p.nxy;
    yp += p.nyxy;
    at += p.cxy;
  }
}

/* Points of the ring around the widest of n tiles in a direction */
static int HJ3BARing(const HJDSweep *s, int d, int n)
{
  const int lo = s->write.lo[d] > s->domain.lo[d], hi = s->write.hi[d] < s->domain.hi[d];

  return n == 1 ? lo + hi : n == 2 ? 1 + PetscMax(lo, hi) : 2;
}

/* Points in y of tiles whose ring leaves them room for as many as can be */
static void HJ3BACutY(const HJDSweep *s, HJ3BALayout *l)
{
  const int n = HJDWidth(s->write, 1), most = HJ3BA_THREADS / l->bx;
  int       tiles = 1;

  while (tiles < 3 && tiles * (most - HJ3BARing(s, 1, tiles)) < n) tiles++;
  l->own[1] = PetscMin(n, most - HJ3BARing(s, 1, tiles));
  l->n[1]   = (n + l->own[1] - 1) / l->own[1];
  l->own[1] = (n + l->n[1] - 1) / l->n[1];
  l->by     = l->own[1] + HJ3BARing(s, 1, l->n[1]);
}

/* Tiles and pieces that take the fewest planes' time; a piece costs the planes beyond its ends, and about two to begin and to end */
static HJ3BALayout HJ3BACut(const HJDSweep *s, int processors)
{
  const int   nx = HJDWidth(s->write, 0), nz = HJDWidth(s->write, 2);
  HJ3BALayout best  = {};
  long long   least = 0;

  for (int tiles = 1; tiles <= nx; tiles++) {
    HJ3BALayout l;

    l.own[0] = (nx + tiles - 1) / tiles;
    l.n[0]   = (nx + l.own[0] - 1) / l.own[0];
    l.bx     = l.own[0] + HJ3BARing(s, 0, l.n[0]);
    if (l.bx > HJ3BA_THREADS / 3) continue;
    if (l.bx < HJ3BA_LEAST && best.bx) break;
    HJ3BACutY(s, &l);
    for (int pieces = 1; pieces <= PetscMax(nz / 4, 1); pieces++) {
      l.own[2]               = (nz + pieces - 1) / pieces;
      l.n[2]                 = (nz + l.own[2] - 1) / l.own[2];
      const long long blocks = (long long)l.n[0] * l.n[1] * l.n[2], time = (blocks + processors - 1) / processors * (l.own[2] + 4);

      if (best.bx && time >= least) continue;
      best  = l;
      least = time;
    }
  }
  return best;
}

/* One HJ3BALayout a sweep */
static PetscErrorCode HJ3BALayoutCreate(HJ_CUDA *cuda, cudaStream_t, const HJDSweep *s, const HJGeometry *geometry, void **layout)
{
  HJ3BALayout *l;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(geometry->nsweeps, &l));
  *layout = l;
  for (int i = 0; i < geometry->nsweeps; i++) l[i] = HJ3BACut(&s[i], cuda->device.nsm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJ3BALayoutDestroy(void *layout)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void HJ3BASetArgs(const HJDStencil *st, const HJDSweep *s, const HJ3BALayout *lay, HJ3BAArgs *p)
{
  const long long from  = HJDIndex(s->box, s->write.lo[0], s->write.lo[1], s->write.lo[2]),
                  cfrom = HJDIndex(st->box, s->write.lo[0], s->write.lo[1], s->write.lo[2]);

  p->cx  = HJDWidth(st->box, 0);
  p->cxy = (long long)p->cx * HJDWidth(st->box, 1);
  for (int o = 0; o < 26; o++) {
    const long long away = HJDOffset(3, true, o, 2) * p->cxy + HJDOffset(3, true, o, 1) * (long long)p->cx + HJDOffset(3, true, o, 0);

    p->value[o] = st->storage == HJ_SYMMETRIC && o < 13 ? st->value[25 - o] + cfrom + away : st->value[o] + cfrom;
  }
  p->dinv   = st->dinv + cfrom;
  p->x      = s->x ? s->x + from : NULL;
  p->b      = s->b + from;
  p->y      = s->y + HJDIndex(s->ybox, s->write.lo[0], s->write.lo[1], s->write.lo[2]);
  p->write  = s->write;
  p->domain = s->domain;
  p->lay    = *lay;
  p->nx     = HJDWidth(s->box, 0);
  p->nxy    = (long long)p->nx * HJDWidth(s->box, 1);
  p->ny     = HJDWidth(s->ybox, 0);
  p->nyxy   = (long long)p->ny * HJDWidth(s->ybox, 1);
}

static PetscErrorCode HJ3BALaunch(HJ_CUDA *cuda, cudaStream_t stream, int n, const HJDSweep *s, int count, const double *w,
                                  const void *layout)
{
  static const void *const kernel[2][2] = {{(const void *)HJ3BoxArrays_Kernel<false, false>,
                                            (const void *)HJ3BoxArrays_Kernel<false, true>},
                                           {(const void *)HJ3BoxArrays_Kernel<true, false>, (const void *)HJ3BoxArrays_Kernel<true, true>}};
  const HJ3BALayout       *l            = (const HJ3BALayout *)layout;
  HJ3BAArgs                p;
  void                    *args[] = {&p};

  PetscFunctionBegin;
  PetscCheck(count == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d subiterations in a sweep of two", count);
  for (int i = 0; i < n; i++, l++) {
    const HJLaunch how = {dim3(l->n[0], l->n[1], l->n[2]),
                          dim3((l->bx * l->by + 31) / 32 * 32),
                          3 * sizeof(double) * (l->bx + 2) * (l->by + 2),
                          stream,
                          0,
                          cuda->device.cc >= 90};

    HJ3BASetArgs(&cuda->st, &s[i], l, &p);
    for (int j = 0; j < 2; j++) p.w[j] = w[j];
    PetscCallCUDA(HJLaunchKernel(&how, kernel[cuda->st.storage == HJ_SYMMETRIC][!s[i].x], args));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int HJ3BACount(const HJDevice *, const HJGrid *grid, const HJDStencil *st)
{
  return st->dim == 3 && st->shape == HJ_BOX && st->storage != HJ_DICTIONARY && !HJGridHasNeighbors(grid) ? 2 : 0;
}

extern const HJFamily HJFamilyStream3DBoxArrays = {"3D stream of a box's coefficient arrays",
                                                   HJ3BACount,
                                                   HJ3BACount,
                                                   HJ3BALaunch,
                                                   HJ3BALayoutCreate,
                                                   HJ3BALayoutDestroy,
                                                   NULL,
                                                   NULL,
                                                   NULL,
                                                   NULL,
                                                   PETSC_FALSE,
                                                   PETSC_FALSE};

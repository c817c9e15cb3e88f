/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Interpolation and its transpose. One thread makes a few fine points above each other from the coarse points around them, or some coarse
   points above each other, along which it marches and reads each plane of fine points once. Both are bound by memory. A 2D grid is taken as
   a 3D one with one point in the middle direction, a 1D grid with one in the slowest too.

   MEANWHILE, of kernels: they may begin while ghosts travel. What that takes costs the others up to a tenth of their time (H200), even
   that all is asked before threads without a point end.
*/
#include "cuda/kernels/hjfamilies.h"
#include "hjtransfer_cuda.h"

/* Directions: x, middle, slowest */
typedef struct {
  const PetscScalar *x, *ghost, *b;
  PetscScalar       *y;
  int                n[3], w[3];       /* points of y, of x */
  int                shift[3], two[3]; /* see HJTransferShift(); 1 where the refinement is 2, else 0 */
  HJDBox             domain;           /* of x's grid */
  HJDBox             box[3][2];        /* the shell */
  long long          at[3][2];
  int                blocks[2], groups; /* blocks in the first two directions; of the slowest, which a thread does at once */
  int                first;             /* interpolation: coarse plane that the first fine one lies on or above */
  int                least, last;       /* interpolation: coarse planes that are read; transpose: last: planes of a group */
  int                hanging[3][2];     /* see HJTransferBeginning(), HJTransferHanging() */
  PetscScalar        coefficient[3][2]; /* of these fine points */
  bool               exchanged;         /* what reads no ghosts need not wait for the kernel before */
} HJTransferArgs;

/* The block's first point and group */
typedef struct {
  int i, m, group;
} HJTransferPlace;

template <bool MEANWHILE> __device__ __forceinline__ HJTransferPlace HJTransferGetPlace(const HJTransferArgs &p)
{
  const unsigned  nx = p.blocks[0], block = blockIdx.x;
  HJTransferPlace at;

  at.i     = (int)(block % nx * blockDim.x);
  at.m     = (int)(block / nx % p.blocks[1] * blockDim.y);
  at.group = (int)(block / nx / p.blocks[1]);
  if (MEANWHILE && p.exchanged) at.group = at.group + 1 < p.groups ? at.group + 1 : 0; /* the first comes last: it may wait */
  return at;
}

/* Blocks that read ghosts wait for the exchange, and one in any case: when a kernel has ended so has the exchange */
static __device__ __forceinline__ void HJTransferAwait(const HJTransferArgs &p, bool inside)
{
  if (p.exchanged && (!inside || blockIdx.x == 0)) HJDAwaitInput();
}

static __device__ __noinline__ PetscScalar HJTransferGhost(const HJTransferArgs &p, int i, int m, int s)
{
  const int d    = s < 0 || s >= p.w[2] ? 2 : m < 0 || m >= p.w[1] ? 1 : 0;
  const int side = (d == 2 ? s : d == 1 ? m : i) >= 0;

  return p.ghost[p.at[d][side] + HJDIndex(p.box[d][side], i, m, s)];
}

/* A value of x. INSIDE: at a point of this rank */
template <bool INSIDE> __device__ __forceinline__ PetscScalar HJTransferAt(const HJTransferArgs &p, int i, int m, int s)
{
  if (INSIDE || ((unsigned)i < (unsigned)p.w[0] && (unsigned)m < (unsigned)p.w[1] && (unsigned)s < (unsigned)p.w[2]))
    return __ldg(p.x + (((long long)s * p.w[1] + m) * p.w[0] + i));
  return HJTransferGhost(p, i, m, s);
}

static __device__ __forceinline__ bool HJTransferHolds(int lo, int hi, int width)
{
  return lo >= 0 && hi < width;
}

/* The coarse place on or below that of a fine point, and on or above it: a first one that hangs has none below it, a last one none above */
static __device__ __forceinline__ int HJTransferBelow(const HJTransferArgs &p, int d, int fine)
{
  return (fine + p.shift[d] + (fine == p.hanging[d][0] ? p.two[d] : 0)) >> p.two[d];
}

static __device__ __forceinline__ int HJTransferAbove(const HJTransferArgs &p, int d, int fine)
{
  return (fine + p.shift[d] + (fine == p.hanging[d][1] ? 0 : p.two[d])) >> p.two[d];
}

/* What a fine point has of these two places */
static __device__ __forceinline__ PetscScalar HJTransferShare(const HJTransferArgs &p, int d, int fine)
{
  return HJ_HALF * (fine == p.hanging[d][0] ? p.coefficient[d][0] : fine == p.hanging[d][1] ? p.coefficient[d][1] : (PetscScalar)1.0);
}

/* The fine points above R coarse planes from plane on, and below the next plane */
template <bool THREE, int R, bool INSIDE>
__device__ __forceinline__ void HJInterpolatePoints(const HJTransferArgs &p, int i, int m, int plane)
{
  const int         i0 = HJTransferBelow(p, 0, i), i1 = HJTransferAbove(p, 0, i);
  const int         m0 = THREE ? HJTransferBelow(p, 1, m) : 0, m1 = THREE ? HJTransferAbove(p, 1, m) : 0;
  const int         fine = (plane << p.two[2]) - p.shift[2];
  const PetscScalar wi = HJTransferShare(p, 0, i), wm = THREE ? HJTransferShare(p, 1, m) : HJ_HALF;
  const long long   step = (long long)p.n[0] * p.n[1], at = fine * step + (long long)m * p.n[0] + i;
  PetscScalar       h[R + 1], v[2 * R];

#pragma unroll
  for (int r = 0; r < 2 * R; r++) {
    const int s = fine + r;

    v[r] = p.b && r < (R << p.two[2]) && s >= 0 && s < p.n[2] ? p.b[at + r * step] : HJ_ZERO;
  }
#pragma unroll
  for (int r = 0; r <= R; r++) {
    const int s = plane + r;

    h[r] = r ? (2 * p.coefficient[2][1] - 1) * h[r - 1] : HJ_ZERO; /* beyond a plane that hangs: the mean is then its coefficient's */
    if (s < p.least || s > p.last || (r == R && !p.two[2])) continue;
    h[r] = wi * (HJTransferAt<INSIDE>(p, i0, m0, s) + HJTransferAt<INSIDE>(p, i1, m0, s));
    if (THREE) h[r] = wm * (h[r] + wi * (HJTransferAt<INSIDE>(p, i0, m1, s) + HJTransferAt<INSIDE>(p, i1, m1, s)));
  }
  if (plane < p.least) h[0] = (2 * p.coefficient[2][0] - 1) * h[1];
  if (p.two[2]) {
#pragma unroll
    for (int r = 0; r < 2 * R; r++) {
      if (fine + r >= 0 && fine + r < p.n[2]) p.y[at + r * step] = v[r] + (r % 2 ? HJ_HALF * (h[r / 2] + h[r / 2 + 1]) : h[r / 2]);
    }
  } else {
#pragma unroll
    for (int r = 0; r < R; r++) {
      if (fine + r >= 0 && fine + r < p.n[2]) p.y[at + r * step] = v[r] + h[r];
    }
  }
}

template <bool THREE, int R, bool MEANWHILE>
__global__ void __launch_bounds__(HJ_TRANSFER_THREADS) HJInterpolate_Kernel(const __grid_constant__ HJTransferArgs p)
{
  const HJTransferPlace block = HJTransferGetPlace<MEANWHILE>(p);
  const int             i = block.i + (int)threadIdx.x, m = block.m + (int)threadIdx.y, plane = p.first + block.group * R;
  const int             iend = min(block.i + (int)blockDim.x, p.n[0]) - 1, mend = min(block.m + (int)blockDim.y, p.n[1]) - 1;

  if constexpr (MEANWHILE) {
    const bool inside = HJTransferHolds(HJTransferBelow(p, 0, block.i), HJTransferAbove(p, 0, iend), p.w[0]) &&
                        HJTransferHolds(HJTransferBelow(p, 1, block.m), HJTransferAbove(p, 1, mend), p.w[1]) &&
                        HJTransferHolds(max(plane, p.least), min(plane + R, p.last), p.w[2]);

    if (i >= p.n[0] || m >= p.n[1]) return;
    HJTransferAwait(p, inside);
    if (inside) HJInterpolatePoints<THREE, R, true>(p, i, m, plane);
    else HJInterpolatePoints<THREE, R, false>(p, i, m, plane);
  } else {
    if (i >= p.n[0] || m >= p.n[1]) return;
    if (HJTransferHolds(HJTransferBelow(p, 0, block.i), HJTransferAbove(p, 0, iend), p.w[0]) &&
        HJTransferHolds(HJTransferBelow(p, 1, block.m), HJTransferAbove(p, 1, mend), p.w[1]) &&
        HJTransferHolds(max(plane, p.least), min(plane + R, p.last), p.w[2]))
      HJInterpolatePoints<THREE, R, true>(p, i, m, plane);
    else HJInterpolatePoints<THREE, R, false>(p, i, m, plane);
  }
}

/* Where the neighbours of a fine point are along a direction, and their coefficients: 0 outside the domain */
typedef struct {
  int         lo, hi;
  PetscScalar wlo, whi;
} HJTransferSpan;

static __device__ __forceinline__ HJTransferSpan HJTransferGetSpan(const HJTransferArgs &p, int d, int fine)
{
  const bool     below = fine > p.domain.lo[d], above = fine < p.domain.hi[d] - 1;
  HJTransferSpan span;

  span.lo  = below ? fine - 1 : fine;
  span.hi  = above ? fine + 1 : fine;
  span.wlo = !below ? HJ_ZERO : fine - 1 == p.hanging[d][0] ? p.coefficient[d][0] : HJ_HALF;
  span.whi = !above ? HJ_ZERO : fine + 1 == p.hanging[d][1] ? p.coefficient[d][1] : HJ_HALF;
  return span;
}

template <bool TWO, bool INSIDE>
__device__ __forceinline__ PetscScalar HJTransferSumLine(const HJTransferArgs &p, const HJTransferSpan &x, int i, int m, int s)
{
  PetscScalar sum = HJTransferAt<INSIDE>(p, i, m, s);

  if (TWO) sum += x.wlo * HJTransferAt<INSIDE>(p, x.lo, m, s) + x.whi * HJTransferAt<INSIDE>(p, x.hi, m, s);
  return sum;
}

/* Over a plane of fine points; 0 outside the domain */
template <bool TWO0, bool TWO1, bool INSIDE>
__device__ __forceinline__ PetscScalar HJTransferSumPlane(const HJTransferArgs &p, const HJTransferSpan &x, const HJTransferSpan &y, int i,
                                                          int m, int s)
{
  PetscScalar sum;

  if (s < p.domain.lo[2] || s >= p.domain.hi[2]) return 0.0;
  sum = HJTransferSumLine<TWO0, INSIDE>(p, x, i, m, s);
  if (TWO1) sum += y.wlo * HJTransferSumLine<TWO0, INSIDE>(p, x, i, y.lo, s) + y.whi * HJTransferSumLine<TWO0, INSIDE>(p, x, i, y.hi, s);
  return sum;
}

template <bool TWO0, bool TWO1, bool TWO2, bool INSIDE>
__device__ __forceinline__ void HJGatherPoints(const HJTransferArgs &p, int i, int m, int plane, int end)
{
  const int            fi = (i << TWO0) - p.shift[0], fm = (m << TWO1) - p.shift[1];
  const HJTransferSpan x = HJTransferGetSpan(p, 0, fi), y = HJTransferGetSpan(p, 1, fm);
  const long long      step  = (long long)p.n[0] * p.n[1];
  long long            at    = plane * step + (long long)m * p.n[0] + i;
  int                  s     = (plane << TWO2) - p.shift[2];
  PetscScalar          below = TWO2 ? HJTransferSumPlane<TWO0, TWO1, INSIDE>(p, x, y, fi, fm, s - 1) : HJ_ZERO;

#pragma unroll 1
  for (; plane < end; plane++, at += step, s += TWO2 ? 2 : 1) {
    const PetscScalar b     = p.b ? p.b[at] : HJ_ZERO;
    const PetscScalar here  = HJTransferSumPlane<TWO0, TWO1, INSIDE>(p, x, y, fi, fm, s);
    const PetscScalar above = TWO2 ? HJTransferSumPlane<TWO0, TWO1, INSIDE>(p, x, y, fi, fm, s + 1) : HJ_ZERO;

    p.y[at] = b + here + (s - 1 == p.hanging[2][0] ? p.coefficient[2][0] : HJ_HALF) * below +
              (s + 1 == p.hanging[2][1] ? p.coefficient[2][1] : HJ_HALF) * above;
    below = above;
  }
}

/* Fine points that a block reads in a direction, cut at the domain's end */
static __device__ __forceinline__ bool HJGatherHolds(const HJTransferArgs &p, int d, int lo, int hi)
{
  const int first = (lo << p.two[d]) - p.shift[d] - p.two[d], last = (hi << p.two[d]) - p.shift[d] + p.two[d];

  return HJTransferHolds(max(first, p.domain.lo[d]), min(last, p.domain.hi[d] - 1), p.w[d]);
}

template <bool TWO0, bool TWO1, bool TWO2, bool MEANWHILE>
__global__ void __launch_bounds__(HJ_GATHER_THREADS, 8) HJGather_Kernel(const __grid_constant__ HJTransferArgs p)
{
  const HJTransferPlace block = HJTransferGetPlace<MEANWHILE>(p);
  const int             i = block.i + (int)threadIdx.x, m = block.m + (int)threadIdx.y;
  const int             plane = block.group * p.last, end = min(plane + p.last, p.n[2]);

  if constexpr (MEANWHILE) {
    const bool inside = HJGatherHolds(p, 0, block.i, min(block.i + (int)blockDim.x, p.n[0]) - 1) &&
                        HJGatherHolds(p, 1, block.m, min(block.m + (int)blockDim.y, p.n[1]) - 1) && HJGatherHolds(p, 2, plane, end - 1);

    if (i >= p.n[0] || m >= p.n[1]) return;
    HJTransferAwait(p, inside);
    if (inside) HJGatherPoints<TWO0, TWO1, TWO2, true>(p, i, m, plane, end);
    else HJGatherPoints<TWO0, TWO1, TWO2, false>(p, i, m, plane, end);
  } else {
    if (i >= p.n[0] || m >= p.n[1]) return;
    if (HJGatherHolds(p, 0, block.i, min(block.i + (int)blockDim.x, p.n[0]) - 1) &&
        HJGatherHolds(p, 1, block.m, min(block.m + (int)blockDim.y, p.n[1]) - 1) && HJGatherHolds(p, 2, plane, end - 1))
      HJGatherPoints<TWO0, TWO1, TWO2, true>(p, i, m, plane, end);
    else HJGatherPoints<TWO0, TWO1, TWO2, false>(p, i, m, plane, end);
  }
}

/* The kernel for three directions or two, many points or few */
template <bool MEANWHILE> static const void *HJInterpolateKernel(bool three, bool many)
{
  return three && many ? (const void *)HJInterpolate_Kernel<true, 2, MEANWHILE>
         : three       ? (const void *)HJInterpolate_Kernel<true, 1, MEANWHILE>
         : many        ? (const void *)HJInterpolate_Kernel<false, 4, MEANWHILE>
                       : (const void *)HJInterpolate_Kernel<false, 1, MEANWHILE>;
}

/* The kernel by the directions that are refined by 2 */
template <bool MEANWHILE> static const void *HJGatherKernel(const int two[3])
{
  static const void *const kernels[2][2][2] =
    {{{(const void *)HJGather_Kernel<false, false, false, MEANWHILE>, (const void *)HJGather_Kernel<false, false, true, MEANWHILE>},
      {(const void *)HJGather_Kernel<false, true, false, MEANWHILE>, (const void *)HJGather_Kernel<false, true, true, MEANWHILE>}},
     {{(const void *)HJGather_Kernel<true, false, false, MEANWHILE>, (const void *)HJGather_Kernel<true, false, true, MEANWHILE>},
      {(const void *)HJGather_Kernel<true, true, false, MEANWHILE>, (const void *)HJGather_Kernel<true, true, true, MEANWHILE>}}};

  return kernels[two[0]][two[1]][two[2]];
}

/* The middle direction is skipped where the grid has but two */
static HJDBox HJTransferBox(const HJBox *b, int dim)
{
  HJDBox d = HJDBoxFrom(b);

  if (dim < 3) {
    d.lo[2] = d.lo[1];
    d.hi[2] = d.hi[1];
    d.lo[1] = 0;
    d.hi[1] = 1;
  }
  return d;
}

/* All but blocks and groups; y: the grid of the result; domain: points of x that there are */
static HJTransferArgs HJTransferArgsFrom(const HJTransferProduct *t, const HJGrid *x, const HJGrid *y, const HJBox *domain)
{
  const int      dim = (int)x->dim, from[3] = {0, dim < 3 ? 2 : 1, dim < 3 ? 1 : 2}; /* direction of the grid that is x, middle, slowest */
  const HJDBox   own = HJTransferBox(&x->owned, dim), to = HJTransferBox(&y->owned, dim);
  HJTransferArgs p;

  memset(&p, 0, sizeof(p));
  p.x         = t->x;
  p.ghost     = t->ghost;
  p.b         = t->b;
  p.y         = t->y;
  p.domain    = HJTransferBox(domain, dim);
  p.exchanged = t->exchanged;
  for (int d = 0; d < 3; d++) {
    p.n[d]     = HJDWidth(to, d);
    p.w[d]     = HJDWidth(own, d);
    p.shift[d] = (int)HJTransferShift(t->transfer, from[d]);
    p.two[d]   = t->transfer->factor[from[d]] == 2;

    p.hanging[d][0]     = (int)HJTransferBeginning(t->transfer, from[d]);
    p.hanging[d][1]     = (int)HJTransferHanging(t->transfer, from[d]);
    p.coefficient[d][0] = t->transfer->before[from[d]];
    p.coefficient[d][1] = t->transfer->last[from[d]];
    for (int side = 0; side < 2; side++) {
      p.box[d][side] = HJTransferBox(&t->shell->box[from[d]][side], dim);
      p.at[d][side]  = t->shell->at[from[d]][side];
    }
  }
  return p;
}

/* Threads of a block, so many of them beside each other in x where there is a second direction, and blocks that cover both directions */
static dim3 HJTransferSetBlocks(HJTransferArgs *p, int threads, int beside)
{
  const dim3 block = p->n[1] > 1 ? dim3(beside, threads / beside) : dim3(threads);

  p->blocks[0] = (p->n[0] + (int)block.x - 1) / (int)block.x;
  p->blocks[1] = (p->n[1] + (int)block.y - 1) / (int)block.y;
  return block;
}

static PetscErrorCode HJTransferLaunch(cudaStream_t stream, HJTransferArgs *p, const void *kernel, dim3 block)
{
  const long long blocks = (long long)p->blocks[0] * p->blocks[1] * p->groups;
  HJLaunch        how    = {};
  void           *args[] = {p};

  PetscFunctionBegin;
  PetscCheck(blocks <= INT_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "More points on a rank than a GPU takes in an interpolation: use more ranks");
  how.grid    = dim3((unsigned)blocks);
  how.block   = block;
  how.overlap = p->exchanged;
  how.stream  = stream;
  PetscCallCUDA(HJLaunchKernel(&how, kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJInterpolateRun(const HJDevice *, cudaStream_t stream, const HJTransferProduct *t)
{
  HJTransferArgs p     = HJTransferArgsFrom(t, &t->transfer->coarse, &t->transfer->fine, &t->transfer->coarse.domain);
  const dim3     block = HJTransferSetBlocks(&p, HJ_TRANSFER_THREADS, 32);
  const bool     three = p.n[1] > 1 || p.w[1] > 1, many = (long long)p.n[0] * p.n[1] * p.n[2] >= 8LL * HJ_TRANSFER_MANY;
  const int      planes = many ? (three ? 2 : 4) : 1;
  const void    *kernel = p.exchanged ? HJInterpolateKernel<true>(three, many) : HJInterpolateKernel<false>(three, many);

  PetscFunctionBegin;
  p.first  = p.shift[2] >> p.two[2];
  p.least  = p.hanging[2][0] == 0 ? p.first + 1 : p.first;
  p.last   = (p.n[2] - 1 + p.shift[2] + (p.hanging[2][1] == p.n[2] - 1 ? 0 : p.two[2])) >> p.two[2];
  p.groups = (((p.n[2] - 1 + p.shift[2]) >> p.two[2]) - p.first) / planes + 1;
  PetscCall(HJTransferLaunch(stream, &p, kernel, block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int HJInterpolateTakes(const HJDevice *, const HJAsk *ask)
{
  return ask->kind == HJ_INTERPOLATION;
}

const HJFamily HJFamilyInterpolate = {.name = "interpolation", .takes = HJInterpolateTakes, .interpolate = HJInterpolateRun};

PetscErrorCode HJInterpolateTranspose_CUDA(const HJTransferProduct *t)
{
  HJTransferArgs  p      = HJTransferArgsFrom(t, &t->transfer->fine, &t->transfer->coarse, &t->transfer->points);
  const dim3      block  = HJTransferSetBlocks(&p, HJ_GATHER_THREADS, 16);
  const long long points = (long long)p.n[0] * p.n[1] * p.n[2];
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  p.last   = (int)PetscMin(1 + points / HJ_TRANSFER_MANY, HJ_GATHER_MARCH);
  p.groups = (p.n[2] + p.last - 1) / p.last;
  PetscCall(HJTransferLaunch(stream, &p, p.exchanged ? HJGatherKernel<true>(p.two) : HJGatherKernel<false>(p.two), block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

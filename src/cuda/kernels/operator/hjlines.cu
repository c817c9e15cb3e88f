/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Solves with the tridiagonal parts along the lines of a direction. Grids have fewer lines than a GPU has threads, so a line is cut into
   segments: each is eliminated as if nothing came before it, which also says by what a value before it would be multiplied; then all values
   at the cuts are known, and it is eliminated once more with the one before it. Factors lie as the points do.

   A thread has a segment. It keeps the right-hand side in registers, x and the factors in shared memory, so that all that it needs is under
   way at once and is read once. Lines that are too long for a block's registers are read several times.
*/
#include "cuda/kernels/hjkernel.h"
#include "core/hjcoefficients.h"
#include "cuda/device/hjcopy.cuh"
#include "cuda/device/hjscratch.h"
#include "hjlines_cuda.h"

/* The lines of a direction */
typedef struct {
  int       n, d;        /* points of a line */
  long long lines, step; /* how far a next point lies */
  int       width[2];    /* points in x and y */
  int       segments, length;
} HJDLines;

static HJDLines HJDLinesOf(const HJLines *l)
{
  HJDLines p = {};

  p.d     = (int)l->d;
  p.n     = (int)l->width[l->d];
  p.lines = (long long)l->size / PetscMax(p.n, 1);
  p.step  = l->d == 0 ? 1 : l->d == 1 ? l->width[0] : (long long)l->width[0] * l->width[1];
  for (int e = 0; e < 2; e++) p.width[e] = (int)l->width[e];
  p.segments = HJ_LINES_SEGMENTS;
  p.length   = (p.n + p.segments - 1) / p.segments;
  return p;
}

/* Its first point */
static __device__ long long HJDLineBegin(const HJDLines &p, long long line)
{
  if (p.d == 0) return line * p.n;
  return p.d == 1 ? line / p.width[0] * p.width[0] * p.width[1] + line % p.width[0] : line;
}

/* The value that goes into segment seg of a line, from the one before or, UP false, the one behind: of each segment the value that it ends
   with if nothing goes in, and what is left of a value that does */
template <bool UP> static __device__ PetscScalar HJLinesEnter(const PetscScalar *left, const PetscScalar *value, int seg, int in)
{
  PetscScalar v = 0.0;

  if (UP)
    for (int q = 0; q < seg; q++) v = value[q * HJ_LINES_BESIDE + in] + left[q * HJ_LINES_BESIDE + in] * v;
  else
    for (int q = HJ_LINES_SEGMENTS - 1; q > seg; q--) v = value[q * HJ_LINES_BESIDE + in] + left[q * HJ_LINES_BESIDE + in] * v;
  return v;
}

/* Threads side by side have segments of one line in x, else lines whose points lie side by side. kept: for what lies between, r or x */
static __global__ void __launch_bounds__(HJ_LINES_SEGMENTS *HJ_LINES_BESIDE)
  HJLinesSolveLong_Kernel(const __grid_constant__ HJDLines p, PetscScalar       w, const PetscScalar *__restrict__ c,
                          const PetscScalar *__restrict__ m, const PetscScalar *r, PetscScalar *kept, bool zero, PetscScalar *x)
{
  __shared__ PetscScalar s_left[HJ_LINES_SEGMENTS * HJ_LINES_BESIDE], s_value[HJ_LINES_SEGMENTS * HJ_LINES_BESIDE];
  const int              seg  = p.d ? (int)threadIdx.x / HJ_LINES_BESIDE : (int)threadIdx.x % HJ_LINES_SEGMENTS;
  const int              in   = p.d ? (int)threadIdx.x % HJ_LINES_BESIDE : (int)threadIdx.x / HJ_LINES_SEGMENTS;
  const long long        line = blockIdx.x * (long long)HJ_LINES_BESIDE + in;
  const int              lo = seg * p.length, hi = line < p.lines ? min(lo + p.length, p.n) : lo, own = seg * HJ_LINES_BESIDE + in;
  const long long        begin = line < p.lines ? HJDLineBegin(p, line) : 0;
  PetscScalar            left = 1.0, v = 0.0;

  c += begin;
  m += begin;
  r += begin;
  x += begin;
  kept += begin;
#pragma unroll 4
  for (int i = lo; i < hi; i++) {
    const PetscScalar e = i ? c[(i - 1) * p.step] : HJ_ZERO;

    v    = r[i * p.step] - e * v;
    left = -e * left;
  }
  s_left[own]  = left;
  s_value[own] = v;
  __syncthreads();
  v = HJLinesEnter<true>(s_left, s_value, seg, in);
#pragma unroll 4
  for (int i = lo; i < hi; i++) {
    v                = r[i * p.step] - (i ? c[(i - 1) * p.step] : HJ_ZERO) * v;
    kept[i * p.step] = v;
  }
  left = 1.0;
  v    = 0.0;
#pragma unroll 4
  for (int i = hi - 1; i >= lo; i--) {
    v    = m[i * p.step] * kept[i * p.step] - c[i * p.step] * v;
    left = -c[i * p.step] * left;
  }
  __syncthreads();
  s_left[own]  = left;
  s_value[own] = v;
  __syncthreads();
  v = HJLinesEnter<false>(s_left, s_value, seg, in);
#pragma unroll 4
  for (int i = hi - 1; i >= lo; i--) {
    v             = m[i * p.step] * kept[i * p.step] - c[i * p.step] * v;
    x[i * p.step] = (zero ? HJ_ZERO : x[i * p.step]) + w * v;
  }
}

/* A block: groups of threads that have the same lines, beside of them, whose points lie side by side; warps of a group */
typedef struct {
  HJDLines l;
  int      beside, warps, groups;
  bool     zero; /* x is 0, whatever it holds */
} HJDLinesBlock;

/* What segments make of the value that enters them: value + left times it */
typedef struct {
  PetscScalar value, left;
} HJLinesMap;

static __device__ __forceinline__ HJLinesMap HJLinesAfter(HJLinesMap first, HJLinesMap then)
{
  return (HJLinesMap){then.value + then.left * first.value, then.left * first.left};
}

/* The value that enters a thread's segment from those before it, or, UP false, behind it; total: of each warp of the group, [warp][line] */
template <bool UP>
static __device__ __forceinline__ PetscScalar HJLinesEnterSegment(const HJDLinesBlock &p, HJLinesMap own, HJLinesMap *total, int warp)
{
  const int   lane = (int)threadIdx.x % 32, in = lane % p.beside;
  HJLinesMap  through = own, before;
  PetscScalar v       = 0.0;

  for (int o = p.beside; o < 32; o *= 2) {
    before.value = UP ? __shfl_up_sync(0xffffffffu, through.value, o) : __shfl_down_sync(0xffffffffu, through.value, o);
    before.left  = UP ? __shfl_up_sync(0xffffffffu, through.left, o) : __shfl_down_sync(0xffffffffu, through.left, o);
    if (UP ? lane >= o : lane + o < 32) through = HJLinesAfter(before, through);
  }
  before.value = UP ? __shfl_up_sync(0xffffffffu, through.value, p.beside) : __shfl_down_sync(0xffffffffu, through.value, p.beside);
  before.left  = UP ? __shfl_up_sync(0xffffffffu, through.left, p.beside) : __shfl_down_sync(0xffffffffu, through.left, p.beside);
  if (UP ? lane < p.beside : lane + p.beside >= 32) before = (HJLinesMap){0.0, 1.0};
  if (p.warps > 1) {
    if (UP ? lane + p.beside >= 32 : lane < p.beside) total[warp * p.beside + in] = through;
    __syncthreads();
    for (int q = UP ? 0 : p.warps - 1; UP ? q < warp : q > warp; q += UP ? 1 : -1)
      v = total[q * p.beside + in].value + total[q * p.beside + in].left * v;
  }
  return before.value + before.left * v;
}

/* What a thread keeps in shared memory: three arrays of its points, an odd number of values, so that threads do not meet in banks */
#define HJ_LINES_KEPT(length) (3 * (length) | 1)

/* L: points of a segment */
template <int L>
static __global__ void __launch_bounds__(HJ_LINES_THREADS)
  HJLinesSolve_Kernel(const __grid_constant__ HJDLinesBlock p, PetscScalar w, const PetscScalar *__restrict__ c,
                      const PetscScalar *__restrict__ m, const PetscScalar *__restrict__ r, PetscScalar *__restrict__ x)
{
  extern __shared__ HJLinesMap s_total[]; /* [2][lines of the block], and then c, m, x of each thread's points */
  const int                    threads = p.warps * 32, group = (int)threadIdx.x / threads, in = (int)threadIdx.x % threads;
  const long long              line = (blockIdx.x * (long long)p.groups + group) * p.beside + in % p.beside;
  const int                    lo = in / p.beside * L, n = line < p.l.lines ? p.l.n : 0, totals = p.groups * p.warps * p.beside;
  PetscScalar                 *s_c = (PetscScalar *)(s_total + 2 * totals) + threadIdx.x * HJ_LINES_KEPT(L);
  PetscScalar                 *s_m = s_c + L, *s_x = s_m + L;
  long long                    at = n ? HJDLineBegin(p.l, line) + lo * p.l.step : 0;
  PetscScalar                  value[L], first = lo && lo < n ? c[at - p.l.step] : HJ_ZERO, v = HJ_ZERO, e = first;
  HJLinesMap                   own;

#pragma unroll
  for (int q = 0; q < L; q++, at += p.l.step) {
    const bool there = lo + q < n;

    HJCopyNumberOrZero((unsigned)__cvta_generic_to_shared(s_c + q), c + at, there);
    HJCopyNumberOrZero((unsigned)__cvta_generic_to_shared(s_m + q), m + at, there);
    HJCopyNumberOrZero((unsigned)__cvta_generic_to_shared(s_x + q), x + at, there && !p.zero);
    value[q] = there ? r[at] : HJ_ZERO;
  }
  HJCopyWaitAll();
  own.left = 1.0;
#pragma unroll
  for (int q = 0; q < L; q++) {
    v        = value[q] - e * v;
    own.left = -e * own.left;
    e        = s_c[q];
  }
  own.value = v;
  v         = HJLinesEnterSegment<true>(p, own, s_total + group * p.warps * p.beside, in / 32);
  e         = first;
#pragma unroll
  for (int q = 0; q < L; q++) {
    v        = value[q] - e * v;
    value[q] = s_m[q] * v;
    e        = s_c[q];
  }
  own.left = 1.0;
  v        = 0.0;
#pragma unroll
  for (int q = L - 1; q >= 0; q--) {
    v        = value[q] - s_c[q] * v;
    own.left = -s_c[q] * own.left;
  }
  own.value = v;
  v         = HJLinesEnterSegment<false>(p, own, s_total + totals + group * p.warps * p.beside, in / 32);
#pragma unroll
  for (int q = L - 1; q >= 0; q--) {
    at -= p.l.step;
    v = value[q] - s_c[q] * v;
    if (lo + q < n) x[at] = s_x[q] + w * v;
  }
}

/* Lines that lie side by side: as many as a block has threads for, but fewer where blocks would be few. Those in x have a warp or more
   each, some of which make a block */
static HJDLinesBlock HJDLinesBlockOf(const HJDLines *l, int length, int nsm)
{
  const int     segments = (l->n + length - 1) / length;
  HJDLinesBlock b        = {*l, HJ_LINES_BESIDE, 0, 1, false};

  if (l->d == 0) b.beside = 1;
  while (b.beside > 1 && b.beside * segments > HJ_LINES_ENOUGH) b.beside /= 2;
  while (b.beside > HJ_LINES_SECTOR && l->lines < (long long)HJ_LINES_BLOCKS * nsm * b.beside) b.beside /= 2;
  b.warps = (b.beside * segments + 31) / 32;
  while (b.groups * b.warps * 32 < HJ_LINES_FEWEST && l->lines > (long long)HJ_LINES_BLOCKS * nsm * b.groups * b.beside) b.groups *= 2;
  return b;
}

static int HJLinesBlockThreads(const HJDLinesBlock *b)
{
  return 32 * b->warps * b->groups;
}

static size_t HJLinesBytes(const HJDLinesBlock *b, int length)
{
  return 2 * sizeof(HJLinesMap) * b->groups * b->warps * b->beside + sizeof(PetscScalar) * HJ_LINES_KEPT(length) * HJLinesBlockThreads(b);
}

template <int L>
static PetscErrorCode HJLinesLaunch(const HJDLinesBlock *b, cudaStream_t stream, PetscScalar w, const HJLines *l, PetscScalar *r,
                                    PetscScalar *x)
{
  const long long lines = (long long)b->beside * b->groups, blocks = (b->l.lines + lines - 1) / lines;
  const size_t    bytes = HJLinesBytes(b, L);

  PetscFunctionBegin;
  PetscCallCUDA(cudaFuncSetAttribute(HJLinesSolve_Kernel<L>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
  HJLinesSolve_Kernel<L><<<(unsigned)blocks, HJLinesBlockThreads(b), bytes, stream>>>(*b, w, l->c, l->m, r, x);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of a segment, by those of a line: in short lines few, as all wait for the slowest */
PetscErrorCode HJLinesSolve_CUDA(const HJLines *l, PetscReal w, PetscBool zero, PetscScalar *r, PetscScalar *work, PetscScalar *x)
{
  const HJDLines  p      = HJDLinesOf(l);
  const long long blocks = (p.lines + HJ_LINES_BESIDE - 1) / HJ_LINES_BESIDE;
  const int       length = p.n <= HJ_LINES_SHORT ? 4 : p.n <= HJ_LINES_MIDDLE ? 12 : 16;
  HJDevice        device;
  HJDLinesBlock   b;
  cudaStream_t    stream;

  PetscFunctionBegin;
  (void)work;
  if (!blocks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  PetscCall(HJDeviceRead(&device));
  b      = HJDLinesBlockOf(&p, length, device.nsm);
  b.zero = zero;
  if (HJLinesBlockThreads(&b) > HJ_LINES_THREADS || HJLinesBytes(&b, length) > device.smem_block) {
    HJLinesSolveLong_Kernel<<<(unsigned)blocks, HJ_LINES_SEGMENTS * HJ_LINES_BESIDE, 0, stream>>>(p, w, l->c, l->m, r, zero ? x : r, zero,
                                                                                                  x);
    PetscCallCUDA(cudaGetLastError());
  } else if (length == 4) PetscCall(HJLinesLaunch<4>(&b, stream, w, l, r, x));
  else if (length == 12) PetscCall(HJLinesLaunch<12>(&b, stream, w, l, r, x));
  else PetscCall(HJLinesLaunch<16>(&b, stream, w, l, r, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What factors are made from */
typedef struct {
  HJDLines     l;
  HJEntries    a;
  int          points[3], opposite[HJ_MAX_SLOTS];
  HJBox        domain;
  long long    npoints;
  PetscScalar *c, *m, *sum; /* [npoints] sum: of the sizes of entries that are not on the line */
  HJSizeBits  *bound;       /* bits of the largest */
  int         *bad;         /* a pivot is not positive */
} HJLinesArgs;

/* Diagonals to m, entries for the next point to c, as the host's HJLinesRow() finds them */
static __global__ void HJLinesRows_Kernel(const __grid_constant__ HJLinesArgs p)
{
  const int d = p.l.d;

  for (long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x; at < p.npoints; at += gridDim.x * (long long)blockDim.x) {
    const int   i[3]  = {(int)(at % p.points[0]), (int)(at / p.points[0] % p.points[1]), (int)(at / p.points[0] / p.points[1])};
    PetscScalar other = 0.0, next = 0.0;

    for (int s = 1; s < p.a.nslots; s++) {
      const signed char *off   = p.a.off[s];
      const bool         in    = HJPointInside(&p.domain, i[0] + off[0], i[1] + off[1], i[2] + off[2]);
      const PetscScalar  v     = in ? HJEntryAt(&p.a, s, at) : HJ_ZERO;
      bool               along = !off[d == 0] && !off[d == 2 ? 1 : 2] && i[d] + off[d] >= 0 && i[d] + off[d] < p.points[d];

      if (v == 0.0) continue;
      along = along && HJEntryAt(&p.a, p.opposite[s], at + off[d] * p.l.step) != 0.0;
      if (!along) other += fabs(v);
      else if (off[d] > 0) next = v;
    }
    p.m[at]   = HJEntryAt(&p.a, 0, at);
    p.c[at]   = next;
    p.sum[at] = other;
  }
}

/* A thread has a line: its pivots, and then the largest sum of a row of |T^-1| R or more, as the host's HJLinesLargest() finds it */
static __global__ void HJLinesEliminate_Kernel(const __grid_constant__ HJLinesArgs p)
{
  const long long line = blockIdx.x * (long long)blockDim.x + threadIdx.x, step = p.l.step;

  if (line >= p.l.lines) return;
  const long long begin = HJDLineBegin(p.l, line);
  PetscScalar    *c = p.c + begin, *m = p.m + begin, *sum = p.sum + begin, largest = 0.0, y = 0.0, inverse = 0.0, before = 0.0;

  for (int i = 0; i < p.l.n; i++) {
    const PetscScalar pivot = m[i * step] - before * before * inverse;

    if (!(pivot > 0.0)) {
      *p.bad = 1;
      return;
    }
    before        = c[i * step];
    inverse       = 1.0 / pivot;
    m[i * step]   = inverse;
    c[i * step]   = before * inverse;
    y             = sum[i * step] + (i ? fabs(c[(i - 1) * step]) * y : HJ_ZERO);
    sum[i * step] = y;
  }
  y = 0.0;
  for (int i = p.l.n - 1; i >= 0; i--) {
    y       = m[i * step] * sum[i * step] + fabs(c[i * step]) * y;
    largest = fmax(largest, y);
  }
  atomicMax(p.bound, HJSizeBitsOf(largest));
}

static HJLinesArgs HJLinesArgsOf(const HJGrid *grid, const HJCoefficients *a, const HJLines *l)
{
  HJLinesArgs p = {};

  p.l       = HJDLinesOf(l);
  p.a       = HJEntriesOf(a);
  p.domain  = grid->domain;
  p.npoints = (long long)l->size;
  p.c       = l->c;
  p.m       = l->m;
  for (int d = 0; d < 3; d++) p.points[d] = (int)HJBoxWidth(&grid->owned, d);
  for (PetscInt s = 1; s < a->nslots; s++) p.opposite[s] = (int)HJSlotOpposite(a, s);
  return p;
}

/* Set-up only: waits for the device */
PetscErrorCode HJLinesFactor_CUDA(const HJGrid *grid, const HJCoefficients *a, HJLines *l, PetscReal *bound)
{
  struct {
    PetscScalar largest;
    int         bad;
  } found                = {0.0, 0}, *d_found;
  HJLinesArgs     p      = HJLinesArgsOf(grid, a, l);
  const long long points = (p.npoints + HJ_SETUP_THREADS - 1) / HJ_SETUP_THREADS;
  const long long lines  = (p.l.lines + HJ_SETUP_THREADS - 1) / HJ_SETUP_THREADS;
  cudaStream_t    stream;

  PetscFunctionBegin;
  *bound = 1.0;
  if (!p.npoints) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  PetscCall(HJScratchAlloc(stream, p.npoints * sizeof(PetscScalar), (void **)&p.sum));
  PetscCall(HJScratchAlloc(stream, sizeof(found), (void **)&d_found));
  PetscCallCUDA(cudaMemsetAsync(d_found, 0, sizeof(found), stream));
  p.bound = (HJSizeBits *)&d_found->largest;
  p.bad   = &d_found->bad;
  HJLinesRows_Kernel<<<(unsigned)PetscMin(points, 1LL << 30), HJ_SETUP_THREADS, 0, stream>>>(p);
  PetscCallCUDA(cudaGetLastError());
  HJLinesEliminate_Kernel<<<(unsigned)lines, HJ_SETUP_THREADS, 0, stream>>>(p);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&found, d_found, sizeof(found), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(HJScratchFree(stream, d_found));
  PetscCall(HJScratchFree(stream, p.sum));
  *bound = found.bad ? PETSC_MAX_REAL : 1.0 + found.largest;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJLinesCreate_CUDA(const HJGrid *grid, PetscInt d, HJLines *l)
{
  PetscFunctionBegin;
  l->d = d;
  for (int e = 0; e < 3; e++) l->width[e] = HJBoxWidth(&grid->owned, e);
  l->size = HJBoxSize(&grid->owned);
  PetscCall(HJAlloc((size_t)l->size * sizeof(PetscScalar), (void **)&l->c));
  PetscCall(HJAlloc((size_t)l->size * sizeof(PetscScalar), (void **)&l->m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJLinesDestroy_CUDA(HJLines *l)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(l->c));
  PetscCallCUDA(cudaFree(l->m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Solves with the tridiagonal parts along the lines of a direction. Grids have fewer lines than a GPU has threads, so a line is cut into
   segments: each is eliminated as if nothing came before it, which also says by what a value before it would be multiplied; then all values
   at the cuts are known, and it is eliminated once more with the one before it. Factors lie as the points do.
*/
#include "cuda/kernels/hjkernel.h"
#include "core/hjcoefficients.h"
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

/* Threads side by side have segments of one line in x, else lines whose points lie side by side */
static __global__ void __launch_bounds__(HJ_LINES_SEGMENTS *HJ_LINES_BESIDE)
  HJLinesSolve_Kernel(const __grid_constant__ HJDLines p, PetscScalar w, const PetscScalar *__restrict__ c,
                      const PetscScalar *__restrict__ m, PetscScalar *__restrict__ r, PetscScalar *__restrict__ x)
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
    v             = r[i * p.step] - (i ? c[(i - 1) * p.step] : HJ_ZERO) * v;
    r[i * p.step] = v;
  }
  left = 1.0;
  v    = 0.0;
#pragma unroll 4
  for (int i = hi - 1; i >= lo; i--) {
    v    = m[i * p.step] * r[i * p.step] - c[i * p.step] * v;
    left = -c[i * p.step] * left;
  }
  __syncthreads();
  s_left[own]  = left;
  s_value[own] = v;
  __syncthreads();
  v = HJLinesEnter<false>(s_left, s_value, seg, in);
#pragma unroll 4
  for (int i = hi - 1; i >= lo; i--) {
    v = m[i * p.step] * r[i * p.step] - c[i * p.step] * v;
    x[i * p.step] += w * v;
  }
}

PetscErrorCode HJLinesSolve_CUDA(const HJLines *l, PetscReal w, PetscScalar *r, PetscScalar *work, PetscScalar *x)
{
  const HJDLines  p      = HJDLinesOf(l);
  const long long blocks = (p.lines + HJ_LINES_BESIDE - 1) / HJ_LINES_BESIDE;
  cudaStream_t    stream;

  PetscFunctionBegin;
  (void)work;
  if (!blocks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  HJLinesSolve_Kernel<<<(unsigned)blocks, HJ_LINES_SEGMENTS * HJ_LINES_BESIDE, 0, stream>>>(p, w, l->c, l->m, r, x);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What factors are made from */
typedef struct {
  HJDLines            l;
  HJEntries           a;
  int                 points[3], opposite[HJ_MAX_SLOTS];
  HJBox               domain;
  long long           npoints;
  PetscScalar        *c, *m, *sum; /* [npoints] sum: of the sizes of entries that are not on the line */
  unsigned long long *bound;       /* bits of the largest */
  int                *bad;         /* a pivot is not positive */
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
  atomicMax(p.bound, (unsigned long long)__double_as_longlong(largest));
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
  p.bound = (unsigned long long *)&d_found->largest;
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

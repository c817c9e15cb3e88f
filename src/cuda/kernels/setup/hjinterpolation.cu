/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Interpolation with coefficients of its own at every point, and its transpose: a thread does one coarse point's fine points up to the next
   coarse ones, or one coarse point. Both are bound by memory and read each coefficient once. Set-up's kernels, coefficients and Galerkin
   products, follow the definition in core/hjinterpolation.h, a thread a coarse point.
*/
#include "cuda/kernels/hjkernel.h"
#include "cuda/device/hjscratch.h"
#include "core/hjtransfer.h"
#include "core/hjinterpolation.h"
#include "hjinterpolation_cuda.h"

typedef struct {
  HJColumns          w;
  HJShell            shell;  /* of x */
  HJBox              domain; /* of the fine grid */
  const PetscScalar *x, *ghost, *b;
  PetscScalar       *y;
  int                nf[3], first[3], n[3]; /* fine points; points that threads do, from which on */
  int                blocks[2];             /* in x and y */
} HJInterpolationArgs;

static __device__ __forceinline__ bool HJInterpolationPlace(const HJInterpolationArgs &p, int at[3])
{
  const unsigned block = blockIdx.x, nx = p.blocks[0], ny = p.blocks[1];

  at[0] = (int)(block % nx * blockDim.x + threadIdx.x);
  at[1] = (int)(block / nx % ny * blockDim.y + threadIdx.y);
  at[2] = (int)(block / nx / ny);
  return at[0] < p.n[0] && at[1] < p.n[1];
}

/* HJColumnsSlot() at compile time */
template <bool TWO0, bool TWO1, bool TWO2> static __device__ constexpr int HJInterpolationSlot(int px, int py, int pz)
{
  const int y = TWO0 ? 3 : 1, z = y * (TWO1 ? 3 : 1), half = z * (TWO2 ? 3 : 1) / 2, code = px + y * py + z * pz;

  return code < 0 ? code + half + 1 : code > 0 ? code + half : 0;
}

/* A coarse point that gives to the fine points of a cell: its value, 0 where there is none, and its column */
typedef struct {
  PetscScalar        x;
  const PetscScalar *w;
  long long          stride;
} HJInterpolationParent;

static __device__ __noinline__ HJInterpolationParent HJInterpolationFar(const HJInterpolationArgs &p, int i, int j, int k)
{
  HJInterpolationParent parent = {0.0, p.w.coefficient, 0};

  if (!HJPointInside(&p.w.domain, i, j, k)) return parent;
  const HJColumn c = HJColumnsAt(&p.w, i, j, k);

  parent.x      = HJShellAt(&p.shell, p.x, p.ghost, i, j, k);
  parent.w      = c.at;
  parent.stride = c.stride;
  return parent;
}

/* Adds what one parent, A, B, C cells further, gives to the fine points s, t, u of the cell */
template <bool TWO0, bool TWO1, bool TWO2, int A, int B, int C>
static __device__ __forceinline__ void HJInterpolationAdd(const HJInterpolationParent &parent, PetscScalar *y)
{
#pragma unroll
  for (int u = C; u <= TWO2; u++)
#pragma unroll
    for (int t = B; t <= TWO1; t++)
#pragma unroll
      for (int s = A; s <= TWO0; s++)
        y[(u * 2 + t) * 2 + s] += __ldg(parent.w + HJInterpolationSlot<TWO0, TWO1, TWO2>(s - 2 * A, t - 2 * B, u - 2 * C) * parent.stride) *
                                  parent.x;
}

/* OWNED: all parents are this rank's, or outside the domain, where step is 0 and mask too */
template <bool TWO0, bool TWO1, bool TWO2, bool OWNED>
static __device__ __forceinline__ void HJInterpolationCell(const HJInterpolationArgs &p, const int c[3], const long long step[3],
                                                           const bool there[3], PetscScalar *y)
{
  const long long at = ((long long)c[2] * p.w.nc[1] + c[1]) * p.w.nc[0] + c[0];

#define HJ_INTERPOLATION_PARENT(a, b, c_)                                                                                                  \
  if constexpr ((TWO0 || !a) && (TWO1 || !b) && (TWO2 || !c_)) {                                                                           \
    HJInterpolationParent parent;                                                                                                          \
    if (OWNED) {                                                                                                                           \
      const long long here = at + a * step[0] + b * step[1] + c_ * step[2];                                                                \
      parent.x             = (a && !there[0]) || (b && !there[1]) || (c_ && !there[2]) ? HJ_ZERO : __ldg(p.x + here);                      \
      parent.w             = p.w.coefficient + here;                                                                                       \
      parent.stride        = p.w.n;                                                                                                        \
    } else parent = HJInterpolationFar(p, c[0] + a, c[1] + b, c[2] + c_);                                                                  \
    HJInterpolationAdd<TWO0, TWO1, TWO2, a, b, c_>(parent, y);                                                                             \
  }
  HJ_INTERPOLATION_PARENT(0, 0, 0)
  HJ_INTERPOLATION_PARENT(1, 0, 0)
  HJ_INTERPOLATION_PARENT(0, 1, 0)
  HJ_INTERPOLATION_PARENT(1, 1, 0)
  HJ_INTERPOLATION_PARENT(0, 0, 1)
  HJ_INTERPOLATION_PARENT(1, 0, 1)
  HJ_INTERPOLATION_PARENT(0, 1, 1)
  HJ_INTERPOLATION_PARENT(1, 1, 1)
#undef HJ_INTERPOLATION_PARENT
}

template <bool TWO0, bool TWO1, bool TWO2>
__global__ void __launch_bounds__(HJ_INTERPOLATION_THREADS) HJInterpolateVariable_Kernel(const __grid_constant__ HJInterpolationArgs p)
{
  constexpr bool two[3] = {TWO0, TWO1, TWO2};
  int            c[3], f[3];
  long long      step[3] = {1, p.w.nc[0], (long long)p.w.nc[0] * p.w.nc[1]};
  bool           there[3], owned = true;
  PetscScalar    y[8];

  if (!HJInterpolationPlace(p, c)) return;
#pragma unroll
  for (int d = 0; d < 3; d++) {
    c[d] += p.first[d];
    f[d]     = (two[d] ? 2 : 1) * c[d] + (int)p.w.base[d];
    there[d] = two[d] && c[d] + 1 < p.w.domain.hi[d];
    owned    = owned && c[d] >= 0 && c[d] < p.w.nc[d] && (!there[d] || c[d] + 1 < p.w.nc[d] || f[d] + 1 >= p.nf[d]);
    if (!there[d] || c[d] + 1 >= p.w.nc[d]) step[d] = 0;
  }
  const long long at = ((long long)f[2] * p.nf[1] + f[1]) * p.nf[0] + f[0];

#pragma unroll
  for (int q = 0; q < 8; q++) {
    const int s = q & 1, t = q >> 1 & 1, u = q >> 2;

    y[q] = 0.0;
    if ((s && !TWO0) || (t && !TWO1) || (u && !TWO2) || !p.b) continue;
    if (f[0] + s >= 0 && f[0] + s < p.nf[0] && f[1] + t >= 0 && f[1] + t < p.nf[1] && f[2] + u >= 0 && f[2] + u < p.nf[2])
      y[q] = p.b[at + ((long long)u * p.nf[1] + t) * p.nf[0] + s];
  }
  if (owned) HJInterpolationCell<TWO0, TWO1, TWO2, true>(p, c, step, there, y);
  else HJInterpolationCell<TWO0, TWO1, TWO2, false>(p, c, step, there, y);
#pragma unroll
  for (int q = 0; q < 8; q++) {
    const int s = q & 1, t = q >> 1 & 1, u = q >> 2;

    if ((s && !TWO0) || (t && !TWO1) || (u && !TWO2)) continue;
    if (f[0] + s >= 0 && f[0] + s < p.nf[0] && f[1] + t >= 0 && f[1] + t < p.nf[1] && f[2] + u >= 0 && f[2] + u < p.nf[2])
      p.y[at + ((long long)u * p.nf[1] + t) * p.nf[0] + s] = y[q];
  }
}

/* Whether the fine points around one are this rank's, or outside the domain; how far they are then */
static __device__ __forceinline__ bool HJInterpolationReach(const HJInterpolationArgs &p, int d, int f, int step[2])
{
  const bool below = f - 1 >= p.domain.lo[d], above = f + 1 < p.domain.hi[d];

  step[0] = below ? -1 : 0;
  step[1] = above ? 1 : 0;
  return f + step[0] >= 0 && f + step[1] < p.nf[d];
}

template <bool TWO0, bool TWO1, bool TWO2>
__global__ void __launch_bounds__(HJ_INTERPOLATION_THREADS, 4) HJGatherVariable_Kernel(const __grid_constant__ HJInterpolationArgs p)
{
  constexpr bool two[3] = {TWO0, TWO1, TWO2};
  int            c[3], f[3], step[3][2] = {};
  bool           owned = true;
  PetscScalar    sum;

  if (!HJInterpolationPlace(p, c)) return;
#pragma unroll
  for (int d = 0; d < 3; d++) {
    f[d] = (two[d] ? 2 : 1) * c[d] + (int)p.w.base[d];
    if (two[d]) owned = HJInterpolationReach(p, d, f[d], step[d]) && owned;
  }
  owned                = owned && f[0] >= 0 && f[0] < p.nf[0] && f[1] >= 0 && f[1] < p.nf[1] && f[2] >= 0 && f[2] < p.nf[2];
  const long long here = ((long long)c[2] * p.n[1] + c[1]) * p.n[0] + c[0];
  const long long at   = ((long long)f[2] * p.nf[1] + f[1]) * p.nf[0] + f[0];

  sum = p.b ? p.b[here] : HJ_ZERO;
#pragma unroll
  for (int pz = -TWO2; pz <= TWO2; pz++)
#pragma unroll
    for (int py = -TWO1; py <= TWO1; py++)
#pragma unroll
      for (int px = -TWO0; px <= TWO0; px++) {
        const int         sx = px ? step[0][px > 0] : 0, sy = py ? step[1][py > 0] : 0, sz = pz ? step[2][pz > 0] : 0;
        const long long   to = at + ((long long)sz * p.nf[1] + sy) * p.nf[0] + sx;
        const PetscScalar w  = __ldg(p.w.coefficient + HJInterpolationSlot<TWO0, TWO1, TWO2>(px, py, pz) * (long long)p.w.n + here);

        sum += w * (owned ? __ldg(p.x + to) : HJShellAt(&p.shell, p.x, p.ghost, f[0] + px, f[1] + py, f[2] + pz));
      }
  p.y[here] = sum;
}

static HJInterpolationArgs HJInterpolationArgsOf(const HJTransferProduct *t, bool transpose)
{
  HJInterpolationArgs p = {};

  p.w      = HJColumnsSet(t->transfer, t->shell, t->coefficient, t->coefficient_ghost);
  p.shell  = *t->shell;
  p.domain = t->transfer->fine.domain;
  p.x      = t->x;
  p.ghost  = t->ghost;
  p.b      = t->b;
  p.y      = t->y;
  for (int d = 0; d < 3; d++) {
    const int f = (int)p.w.factor[d];

    p.nf[d] = (int)t->transfer->fine.owned.hi[d];
    p.n[d]  = (int)p.w.nc[d];
    if (transpose) continue;
    p.first[d] = f == 2 ? (-(int)p.w.base[d]) >> 1 : -(int)p.w.base[d]; /* the cell of fine point 0 */
    p.n[d]     = (f == 2 ? (p.nf[d] - 1 - (int)p.w.base[d]) >> 1 : p.nf[d] - 1 - (int)p.w.base[d]) - p.first[d] + 1;
  }
  return p;
}

typedef void (*HJInterpolationKernel)(const HJInterpolationArgs);

#define HJ_INTERPOLATION_TABLE(kernel)                                                                                                     \
  {                                                                                                                                        \
    {{kernel<false, false, false>, kernel<false, false, true>}, {kernel<false, true, false>, kernel<false, true, true>}},                  \
    {                                                                                                                                      \
      {kernel<true, false, false>, kernel<true, false, true>},                                                                             \
      {                                                                                                                                    \
        kernel<true, true, false>, kernel<true, true, true>                                                                                \
      }                                                                                                                                    \
    }                                                                                                                                      \
  }

static PetscErrorCode HJInterpolationLaunch(HJInterpolationKernel const kernels[2][2][2], HJInterpolationArgs *p)
{
  const dim3   block = p->n[1] > 1 ? dim3(32, HJ_INTERPOLATION_THREADS / 32) : dim3(HJ_INTERPOLATION_THREADS);
  long long    blocks;
  cudaStream_t stream;

  PetscFunctionBegin;
  p->blocks[0] = (p->n[0] + (int)block.x - 1) / (int)block.x;
  p->blocks[1] = (p->n[1] + (int)block.y - 1) / (int)block.y;
  blocks       = (long long)p->blocks[0] * p->blocks[1] * p->n[2];
  if (blocks <= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(blocks <= INT_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "More points on a rank than a GPU takes in an interpolation: use more ranks");
  PetscCall(HJStream(&stream));
  kernels[p->w.step[0] != 0][p->w.step[1] != 0][p->w.step[2] != 0]<<<(unsigned)blocks, block, 0, stream>>>(*p);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJInterpolateVariable_CUDA(const HJTransferProduct *t)
{
  static const HJInterpolationKernel kernels[2][2][2] = HJ_INTERPOLATION_TABLE(HJInterpolateVariable_Kernel);
  HJInterpolationArgs                p                = HJInterpolationArgsOf(t, false);

  PetscFunctionBegin;
  PetscCall(HJInterpolationLaunch(kernels, &p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJInterpolateTransposeVariable_CUDA(const HJTransferProduct *t)
{
  static const HJInterpolationKernel kernels[2][2][2] = HJ_INTERPOLATION_TABLE(HJGatherVariable_Kernel);
  HJInterpolationArgs                p                = HJInterpolationArgsOf(t, true);

  PetscFunctionBegin;
  PetscCall(HJInterpolationLaunch(kernels, &p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !defined(HJ_FLOAT)
typedef struct {
  HJColumns           w, couplings;
  HJFine              rows, a;
  HJInterpolationPlan plan;
  bool                same; /* rows are a */
  PetscScalar        *coefficient, *coupling;
  unsigned long long *jump; /* bits of a number that is not negative, two counts: the fields of a HJJump */
} HJFillArgs;

__global__ void __launch_bounds__(HJ_SETUP_THREADS) HJCouplings_Kernel(const __grid_constant__ HJFillArgs p)
{
  const long long n = p.w.n;

  for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += (long long)gridDim.x * blockDim.x) {
    const int i = (int)(at % p.w.nc[0]), j = (int)(at / p.w.nc[0] % p.w.nc[1]), k = (int)(at / p.w.nc[0] / p.w.nc[1]);

    HJCouplingsFill(&p.w, &p.a, i, j, k, p.coupling + at);
  }
}

template <bool STORED> __global__ void __launch_bounds__(HJ_SETUP_THREADS) HJJump_Kernel(const __grid_constant__ HJFillArgs p)
{
  const long long n    = p.w.n;
  HJJump          mine = {};

  for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += (long long)gridDim.x * blockDim.x) {
    const int i = (int)(at % p.w.nc[0]), j = (int)(at / p.w.nc[0] % p.w.nc[1]), k = (int)(at / p.w.nc[0] / p.w.nc[1]);

    if (STORED) HJJumpAdd(&p.couplings, &p.rows, p.same ? &p.rows : &p.a, i, j, k, &mine);
    else HJJumpFind(&p.w, &p.rows, p.same ? &p.rows : &p.a, i, j, k, &mine);
  }
  for (int o = 16; o; o >>= 1) {
    mine.largest = fmax(mine.largest, __shfl_xor_sync(0xffffffffu, mine.largest, o));
    mine.large += __shfl_xor_sync(0xffffffffu, mine.large, o);
    mine.points += __shfl_xor_sync(0xffffffffu, mine.points, o);
  }
  if (threadIdx.x % 32 || !(mine.largest > 0.0 || mine.points)) return;
  atomicMax((HJSizeBits *)p.jump, HJSizeBitsOf(mine.largest));
  atomicAdd(p.jump + 1, (unsigned long long)mine.large);
  atomicAdd(p.jump + 2, (unsigned long long)mine.points);
}

/* SAME: of a symmetric matrix, whose rows are the symmetric part's */
template <bool SAME> __global__ void __launch_bounds__(HJ_SETUP_THREADS) HJInterpolationFill_Kernel(const __grid_constant__ HJFillArgs p)
{
  const long long n = p.w.n;

  for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += (long long)gridDim.x * blockDim.x) {
    const int i = (int)(at % p.w.nc[0]), j = (int)(at / p.w.nc[0] % p.w.nc[1]), k = (int)(at / p.w.nc[0] / p.w.nc[1]);

    HJColumnFill(&p.w, &p.couplings, &p.plan, &p.rows, SAME ? &p.rows : &p.a, i, j, k, p.coefficient + at);
  }
}

static unsigned HJSetupBlocks(long long n)
{
  return (unsigned)PetscMin((n + HJ_SETUP_THREADS - 1) / HJ_SETUP_THREADS, 1LL << 30);
}

static HJFillArgs HJFillArgsOf(const HJInterpolationFill *f)
{
  HJFillArgs p;

  memset((void *)&p, 0, sizeof(p));
  p.w         = HJColumnsSet(f->t, NULL, f->coefficient, NULL);
  p.couplings = HJColumnsSet(f->t, f->coarse_shell, f->coupling, f->coupling_ghost);
  p.rows      = HJFineSet(f->t, f->shell, f->a, f->ghost);
  p.a         = HJFineSet(f->t, f->shell, f->symmetric, f->symmetric_ghost);
  p.same      = f->a == f->symmetric;
  HJInterpolationPlanSet(&p.w, &p.a, &p.plan);
  p.coefficient = f->coefficient;
  p.coupling    = f->coupling;
  return p;
}

static PetscErrorCode HJFillLaunch(const HJInterpolationFill *f, void (*kernel)(HJFillArgs))
{
  const HJFillArgs p = HJFillArgsOf(f);
  cudaStream_t     stream;

  PetscFunctionBegin;
  if (!p.w.n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  kernel<<<HJSetupBlocks(p.w.n), HJ_SETUP_THREADS, 0, stream>>>(p);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferCouplings_CUDA(const HJInterpolationFill *f)
{
  PetscFunctionBegin;
  PetscCall(HJFillLaunch(f, HJCouplings_Kernel));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJInterpolationFill_CUDA(const HJInterpolationFill *f)
{
  PetscFunctionBegin;
  PetscCall(HJFillLaunch(f, f->a == f->symmetric ? HJInterpolationFill_Kernel<true> : HJInterpolationFill_Kernel<false>));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferJump_CUDA(const HJInterpolationFill *f)
{
  HJFillArgs   p = HJFillArgsOf(f);
  HJDevice     device;
  cudaStream_t stream;
  void        *jump;

  PetscFunctionBegin;
  *f->jump = {};
  if (!p.w.n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJDeviceRead(&device));
  PetscCall(HJStream(&stream));
  PetscCall(HJScratchAlloc(stream, sizeof(*f->jump), &jump));
  p.jump = (unsigned long long *)jump;
  PetscCall(PetscLogGpuTimeBegin());
  PetscCallCUDA(cudaMemsetAsync(p.jump, 0, sizeof(*f->jump), stream));
  if (HJJumpArraysTakes(f)) PetscCall(HJJumpArraysLaunch(&device, f, stream, jump));
  else if (p.coupling) HJJump_Kernel<true><<<HJSetupBlocks(p.w.n), HJ_SETUP_THREADS, 0, stream>>>(p);
  else HJJump_Kernel<false><<<HJSetupBlocks(p.w.n), HJ_SETUP_THREADS, 0, stream>>>(p);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscCallCUDA(cudaMemcpyAsync(f->jump, p.jump, sizeof(*f->jump), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream)); /* the host decides by it */
  PetscCall(HJScratchFree(stream, p.jump));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  HJColumns    w;
  HJFine       a;
  PetscScalar *coarse;
  long long    to[HJ_MAX_SLOTS]; /* where the array of each slot begins in coarse; < 0: there is none */
  int          dim, fold[3];     /* coarse points of a periodic direction that has one or two of them, else 0 */
  bool         arrays;           /* the fine coefficients are, and no direction is folded */
} HJProductArgs;

/* Where a coarse point's neighbours, and the fine points around it, are in one direction: 0 steps where there is none in the domain */
typedef struct {
  int  coarse[3], fine[3]; /* -1, 0, 1 */
  bool owned;              /* those in the domain are all this rank's */
} HJProductReach;

static __device__ __forceinline__ HJProductReach HJProductReachOf(const HJProductArgs &p, int d, int c)
{
  const int      f = (int)(p.w.factor[d] * c + p.w.base[d]), more = p.w.step[d] != 0;
  HJProductReach r;

  r.owned = f >= 0 && f < p.a.nf[d];
  for (int o = -1; o <= 1; o++) {
    const bool coarse = c + o >= p.w.domain.lo[d] && c + o < p.w.domain.hi[d];
    const bool fine   = (more || !o) && f + o >= p.a.domain.lo[d] && f + o < p.a.domain.hi[d];

    r.coarse[o + 1] = coarse ? o : 0;
    r.fine[o + 1]   = fine ? o : 0;
    r.owned         = r.owned && (!coarse || (c + o >= 0 && c + o < p.w.nc[d])) && (!fine || (f + o >= 0 && f + o < p.a.nf[d]));
  }
  return r;
}

/* First coarse neighbour that a fine point t beside a coarse one, or two of them, belongs to, and how many there are */
static __device__ __forceinline__ int HJProductFirst(const HJProductArgs &p, int d, int t)
{
  return p.w.step[d] ? t >> 1 : t;
}

static __device__ __forceinline__ int HJProductLast(const HJProductArgs &p, int d, int t)
{
  return p.w.step[d] ? (t + 1) >> 1 : t;
}

/* Adds a fine row's entry, times the coefficient of its point, to the coarse row: [27][HJ_SETUP_THREADS], this thread's column */
static __device__ __forceinline__ void HJProductSpread(const HJProductArgs &p, double v, int tx, int ty, int tz, long long at,
                                                       const HJProductReach r[3], PetscScalar *row)
{
  for (int qz = HJProductFirst(p, 2, tz); qz <= HJProductLast(p, 2, tz); qz++) {
    for (int qy = HJProductFirst(p, 1, ty); qy <= HJProductLast(p, 1, ty); qy++) {
      const long long line = at + ((long long)r[2].coarse[qz + 1] * p.w.nc[1] + r[1].coarse[qy + 1]) * p.w.nc[0];

      for (int qx = HJProductFirst(p, 0, tx); qx <= HJProductLast(p, 0, tx); qx++) {
        const PetscInt slot = HJColumnsSlot(&p.w, p.w.step[0] ? tx - 2 * qx : 0, p.w.step[1] ? ty - 2 * qy : 0,
                                            p.w.step[2] ? tz - 2 * qz : 0);

        row[(9 * qz + 3 * qy + qx + 13) * HJ_SETUP_THREADS] += v * __ldg(p.w.coefficient + slot * (long long)p.w.n + line +
                                                                         r[0].coarse[qx + 1]);
      }
    }
  }
}

/* A point all of whose neighbours are this rank's or outside the domain, from arrays */
static __device__ __forceinline__ void HJProductInner(const HJProductArgs &p, const int c[3], long long at, const HJProductReach r[3],
                                                      PetscScalar *row)
{
  const long long n    = p.w.n,
                  fine = ((p.w.factor[2] * c[2] + p.w.base[2]) * (long long)p.a.nf[1] + p.w.factor[1] * c[1] + p.w.base[1]) * p.a.nf[0] +
                         p.w.factor[0] * c[0] + p.w.base[0];
  const int more[3] = {p.w.step[0] != 0, p.w.step[1] != 0, p.w.step[2] != 0};
  const int slots   = p.dim == 3 ? 27 : p.dim == 2 ? 9 : 3;

  for (int q = 0; q < 27; q++) row[q * HJ_SETUP_THREADS] = 0.0;
  for (int pz = -more[2]; pz <= more[2]; pz++) {
    for (int py = -more[1]; py <= more[1]; py++) {
      for (int px = -more[0]; px <= more[0]; px++) {
        const double       coefficient = __ldg(p.w.coefficient + HJColumnsSlot(&p.w, px, py, pz) * n + at);
        const PetscScalar *a           = p.a.e.value + fine + ((long long)r[2].fine[pz + 1] * p.a.nf[1] + r[1].fine[py + 1]) * p.a.nf[0] +
                               r[0].fine[px + 1];

        for (int s = 0; s < p.a.e.nslots; s++)
          HJProductSpread(p, coefficient * __ldg(a + p.a.e.begin[s]), px + p.a.e.off[s][0], py + p.a.e.off[s][1], pz + p.a.e.off[s][2], at,
                          r, row);
      }
    }
  }
  for (int code = 0; code < slots; code++) {
    const int q[3]  = {code % 3 - 1, p.dim > 1 ? code / 3 % 3 - 1 : 0, p.dim > 2 ? code / 9 - 1 : 0};
    bool      there = true;

    for (int d = 0; d < 3; d++) there = there && (!q[d] || r[d].coarse[q[d] + 1]);
    const long long to = p.to[HJShapeSlot(p.dim, HJ_BOX, q[0], q[1], q[2])];
    if (to >= 0) p.coarse[to + at] = there ? row[(9 * q[2] + 3 * q[1] + q[0] + 13) * HJ_SETUP_THREADS] : 0.0;
  }
  if (__ldg(p.w.coefficient + at) == 0.0) p.coarse[at] = p.a.e.value[fine]; /* the fine row is a diagonal alone */
}

/* Any point */
static __device__ __noinline__ void HJProductAny(const HJProductArgs &p, const int c[3], long long at)
{
  const int slots = p.dim == 3 ? 27 : p.dim == 2 ? 9 : 3;

  for (int code = 0; code < slots; code++)
    if (p.to[code] >= 0) p.coarse[p.to[code] + at] = 0.0;
  for (int code = 0; code < slots; code++) {
    const int q[3] = {code % 3 - 1, p.dim > 1 ? code / 3 % 3 - 1 : 0, p.dim > 2 ? code / 9 - 1 : 0};
    int       to[3];

    for (int d = 0; d < 3; d++) to[d] = p.fold[d] == 1 ? 0 : p.fold[d] == 2 && q[d] > 0 ? -1 : q[d];
    const long long begin = p.to[HJShapeSlot(p.dim, HJ_BOX, to[0], to[1], to[2])];

    if (begin >= 0) p.coarse[begin + at] += HJInterpolationEntry(&p.w, &p.a, c[0], c[1], c[2], q);
  }
}

__global__ void __launch_bounds__(HJ_SETUP_THREADS) HJGalerkinVariable_Kernel(const __grid_constant__ HJProductArgs p)
{
  __shared__ PetscScalar s_row[27 * HJ_SETUP_THREADS];
  const long long        n = p.w.n;

  for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += (long long)gridDim.x * blockDim.x) {
    const int            c[3] = {(int)(at % p.w.nc[0]), (int)(at / p.w.nc[0] % p.w.nc[1]), (int)(at / p.w.nc[0] / p.w.nc[1])};
    const HJProductReach r[3] = {HJProductReachOf(p, 0, c[0]), HJProductReachOf(p, 1, c[1]), HJProductReachOf(p, 2, c[2])};

    if (p.arrays && r[0].owned && r[1].owned && r[2].owned) HJProductInner(p, c, at, r, s_row + threadIdx.x);
    else HJProductAny(p, c, at);
  }
}

PetscErrorCode HJGalerkinVariable_CUDA(const HJGalerkin *g)
{
  const HJGrid *coarse = &g->t->coarse;
  HJProductArgs p;
  cudaStream_t  stream;

  PetscFunctionBegin;
  memset((void *)&p, 0, sizeof(p));
  p.w      = HJColumnsSet(g->t, g->coefficient_shell, g->coefficient, g->coefficient_ghost);
  p.a      = HJFineSet(g->t, g->shell, g->fine, g->ghost);
  p.coarse = g->coarse;
  p.dim    = (int)coarse->dim;
  p.arrays = g->fine->storage == HJ_COEFFICIENTS_ARRAYS;
  for (PetscInt s = 0; s < HJShapeSlots(coarse->dim, HJ_BOX); s++) p.to[s] = HJGalerkinTo(g, s) ? HJGalerkinTo(g, s) - g->coarse : -1;
  for (int d = 0; d < 3; d++) {
    p.fold[d] = coarse->periodic[d] && coarse->N[d] <= 2 ? (int)coarse->N[d] : 0;
    p.arrays  = p.arrays && !p.fold[d];
  }
  if (!p.w.n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  HJGalerkinVariable_Kernel<<<HJSetupBlocks(p.w.n), HJ_SETUP_THREADS, 0, stream>>>(p);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Interpolation and its transpose where a point has several unknowns, which share the coefficients: a thread has an unknown of a point, and
   reads the same places as its neighbours, from the cache.
*/
#include "hjtransfer_cuda.h"
#include "cuda/device/hjgpu.h"

typedef struct {
  HJTransfer         t;
  HJShell            shell;
  int                dof, n[3]; /* points of the result */
  const PetscScalar *x, *ghost, *b, *keep, *keep_ghost;
  PetscScalar       *y;
} HJPointsArgs;

/* An unknown of a point of the result */
typedef struct {
  PetscInt  at[3];
  int       l;
  long long place;
} HJPointsAt;

static __device__ __forceinline__ HJPointsAt HJPointsAtOf(const HJPointsArgs &g, long long thread)
{
  const long long point = thread / g.dof, line = point / g.n[0];
  HJPointsAt      p;

  p.l     = (int)(thread - point * g.dof);
  p.at[0] = (PetscInt)(point - line * g.n[0]);
  p.at[2] = (PetscInt)(line / g.n[1]);
  p.at[1] = (PetscInt)(line - (long long)p.at[2] * g.n[1]);
  p.place = thread;
  return p;
}

/* The value of an unknown at a point of the source, owned or a ghost */
static __device__ __forceinline__ double HJPointsRead(const HJPointsArgs &g, const PetscScalar *x, const PetscScalar *ghost, int l,
                                                      PetscInt i, PetscInt j, PetscInt k)
{
  const PetscInt *n = g.shell.width;

  if (i >= 0 && i < n[0] && j >= 0 && j < n[1] && k >= 0 && k < n[2]) return x[(((long long)k * n[1] + j) * n[0] + i) * g.dof + l];
  return ghost[HJShellIndex(&g.shell, i, j, k) * g.dof + l];
}

static __global__ void __launch_bounds__(HJ_SYSTEM_THREADS) HJPointsInterpolate_Kernel(const __grid_constant__ HJPointsArgs g)
{
  const long long all = (long long)g.n[0] * g.n[1] * g.n[2] * g.dof, step = (long long)gridDim.x * blockDim.x;

  for (long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x; t < all; t += step) {
    const HJPointsAt p    = HJPointsAtOf(g, t);
    const double     keep = g.keep ? g.keep[t] : 1.0;
    double           sum  = 0.0, w[3];
    PetscInt         c[3], n[3];

    for (int d = 0; d < 3; d++) n[d] = HJTransferParents(&g.t, d, p.at[d], &c[d], &w[d]);
    for (PetscInt k = c[2]; k < c[2] + n[2] && keep != 0.0; k++)
      for (PetscInt j = c[1]; j < c[1] + n[1]; j++)
        for (PetscInt i = c[0]; i < c[0] + n[0]; i++) sum += HJPointsRead(g, g.x, g.ghost, p.l, i, j, k);
    sum *= keep * w[0] * w[1] * w[2];
    g.y[t] = g.b ? g.b[t] + sum : sum;
  }
}

/* What the fine points around one give a coarse point: w, of each direction, is 0 where there is none, or none that is read. INSIDE: all
   are owned, and many are asked for at once */
template <bool INSIDE>
static __device__ __forceinline__ double HJPointsSum(const HJPointsArgs &g, int l, const PetscInt f[3], const double w[3][3], double sum)
{
  const PetscInt *n  = g.shell.width;
  const long long at = (((long long)f[2] * n[1] + f[1]) * n[0] + f[0]) * g.dof + l;

#pragma unroll(INSIDE ? 27 : 1)
  for (int o = 0; o < 27; o++) {
    const int       i = o % 3, j = o / 3 % 3, k = o / 9;
    const double    c = w[0][i] * w[1][j] * w[2][k];
    const long long p = at + (((long long)(k - 1) * n[1] + (j - 1)) * n[0] + i - 1) * g.dof;
    double          x = 0.0, keep = 1.0;

    if (c != 0.0) x = INSIDE ? g.x[p] : HJPointsRead(g, g.x, g.ghost, l, f[0] + i - 1, f[1] + j - 1, f[2] + k - 1);
    if (c != 0.0 && g.keep) keep = INSIDE ? g.keep[p] : HJPointsRead(g, g.keep, g.keep_ghost, l, f[0] + i - 1, f[1] + j - 1, f[2] + k - 1);
    if (keep != 0.0) sum = fma(c, x, sum);
  }
  return sum;
}

static __global__ void __launch_bounds__(HJ_SYSTEM_THREADS) HJPointsGather_Kernel(const __grid_constant__ HJPointsArgs g)
{
  const long long all = (long long)g.n[0] * g.n[1] * g.n[2] * g.dof, step = (long long)gridDim.x * blockDim.x;

  for (long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x; t < all; t += step) {
    const HJPointsAt p      = HJPointsAtOf(g, t);
    const double     sum    = g.b ? g.b[t] : 0.0;
    bool             inside = true;
    PetscInt         f[3];
    double           w[3][3];

#pragma unroll
    for (int d = 0; d < 3; d++) {
      f[d] = g.t.factor[d] * p.at[d] - HJTransferShift(&g.t, d);
#pragma unroll
      for (int o = 0; o < 3; o++) {
        w[d][o] = g.t.factor[d] == 1 && o != 1 ? 0.0 : HJTransferCoefficient(&g.t, d, f[d] + o - 1, o - 1);
        inside  = inside && (w[d][o] == 0.0 || (f[d] + o - 1 >= 0 && f[d] + o - 1 < g.shell.width[d]));
      }
    }
    g.y[t] = inside ? HJPointsSum<true>(g, p.l, f, w, sum) : HJPointsSum<false>(g, p.l, f, w, sum);
  }
}

static __global__ void __launch_bounds__(HJ_SYSTEM_THREADS)
  HJPointsKeep_Kernel(const __grid_constant__ HJPointsArgs g, const PetscScalar *mask, const PetscScalar *shares)
{
  const long long      all = (long long)g.n[0] * g.n[1] * g.n[2] * g.dof, step = (long long)gridDim.x * blockDim.x;
  const HJTransferKeep k = {&g.t, mask, shares, g.y};

  for (long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x; t < all; t += step) {
    const HJPointsAt p = HJPointsAtOf(g, t);

    g.y[t] = HJTransferKeeps(&k, p.at, p.l, mask[t]) ? 1.0 : 0.0;
  }
}

static HJPointsArgs HJPointsArgsOf(const HJTransfer *t, const HJGrid *result)
{
  HJPointsArgs g = {};

  g.t   = *t;
  g.dof = (int)t->fine.dof;
  for (int d = 0; d < 3; d++) g.n[d] = (int)result->owned.hi[d];
  return g;
}

static HJPointsArgs HJPointsArgsFrom(const HJTransferProduct *p, const HJGrid *result)
{
  HJPointsArgs g = HJPointsArgsOf(p->transfer, result);

  g.shell      = *p->shell;
  g.x          = p->x;
  g.ghost      = p->ghost;
  g.b          = p->b;
  g.y          = p->y;
  g.keep       = p->keep;
  g.keep_ghost = p->keep_ghost;
  return g;
}

static unsigned HJPointsBlocks(const HJPointsArgs &g)
{
  const long long all = (long long)g.n[0] * g.n[1] * g.n[2] * g.dof;

  return (unsigned)PetscMin((all + HJ_SYSTEM_THREADS - 1) / HJ_SYSTEM_THREADS, 1LL << 30);
}

PetscErrorCode HJInterpolatePoints_CUDA(const HJTransferProduct *p)
{
  const HJPointsArgs g = HJPointsArgsFrom(p, &p->transfer->fine);
  cudaStream_t       stream;

  PetscFunctionBegin;
  if (!HJPointsBlocks(g)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  HJPointsInterpolate_Kernel<<<HJPointsBlocks(g), HJ_SYSTEM_THREADS, 0, stream>>>(g);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJInterpolatePointsTranspose_CUDA(const HJTransferProduct *p)
{
  const HJPointsArgs g = HJPointsArgsFrom(p, &p->transfer->coarse);
  cudaStream_t       stream;

  PetscFunctionBegin;
  if (!HJPointsBlocks(g)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  HJPointsGather_Kernel<<<HJPointsBlocks(g), HJ_SYSTEM_THREADS, 0, stream>>>(g);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKeepPoints_CUDA(const HJTransferKeep *k)
{
  HJPointsArgs g = HJPointsArgsOf(k->transfer, &k->transfer->fine);
  cudaStream_t stream;

  PetscFunctionBegin;
  g.y = k->keep;
  if (!HJPointsBlocks(g)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  HJPointsKeep_Kernel<<<HJPointsBlocks(g), HJ_SYSTEM_THREADS, 0, stream>>>(g, k->mask, k->shares);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

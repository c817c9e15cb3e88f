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
  PetscInt at[3];
  int      l;
} HJPointsAt;

static __device__ __forceinline__ HJPointsAt HJPointsAtOf(const HJPointsArgs &g, long long thread)
{
  HJPointsAt p;

  if (thread <= UINT_MAX) { /* divisions of 64 bits take long */
    const unsigned point = (unsigned)thread / g.dof, line = point / g.n[0];

    p.l     = (int)((unsigned)thread - point * g.dof);
    p.at[0] = (PetscInt)(point - line * g.n[0]);
    p.at[2] = (PetscInt)(line / g.n[1]);
    p.at[1] = (PetscInt)(line - p.at[2] * g.n[1]);
  } else {
    const long long point = thread / g.dof, line = point / g.n[0];

    p.l     = (int)(thread - point * g.dof);
    p.at[0] = (PetscInt)(point - line * g.n[0]);
    p.at[2] = (PetscInt)(line / g.n[1]);
    p.at[1] = (PetscInt)(line - (long long)p.at[2] * g.n[1]);
  }
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

/* The sum over the coarse points from c on, n in each direction. Where all are owned their values are read at once */
static __device__ __forceinline__ double HJPointsSum(const HJPointsArgs &g, int l, const PetscInt c[3], const PetscInt n[3])
{
  const PetscInt *w      = g.shell.width;
  bool            inside = true;
  double          sum    = 0.0;

  for (int d = 0; d < 3; d++) inside = inside && c[d] >= 0 && c[d] + n[d] <= w[d];
  if (inside) {
    const long long    line = (long long)w[0] * g.dof, plane = line * w[1];
    const PetscScalar *x = g.x + c[2] * plane + c[1] * line + (long long)c[0] * g.dof + l;

#pragma unroll
    for (int m = 0; m < 8; m++) {
      const int i = m & 1, j = m >> 1 & 1, k = m >> 2;

      sum += i < n[0] && j < n[1] && k < n[2] ? x[k * plane + j * line + i * g.dof] : 0.0;
    }
    return sum;
  }
  for (PetscInt k = c[2]; k < c[2] + n[2]; k++)
    for (PetscInt j = c[1]; j < c[1] + n[1]; j++)
      for (PetscInt i = c[0]; i < c[0] + n[0]; i++) sum += HJPointsRead(g, g.x, g.ghost, l, i, j, k);
  return sum;
}

static __global__ void __launch_bounds__(HJ_SYSTEM_THREADS, 4) HJPointsInterpolate_Kernel(const __grid_constant__ HJPointsArgs g)
{
  const long long all = (long long)g.n[0] * g.n[1] * g.n[2] * g.dof, step = (long long)gridDim.x * blockDim.x;

  for (long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x; t < all; t += step) {
    const HJPointsAt p = HJPointsAtOf(g, t);
    const double     b = g.b ? g.b[t] : 0.0, keep = g.keep ? g.keep[t] : 1.0;
    double           w[3];
    PetscInt         c[3], n[3];

    for (int d = 0; d < 3; d++) n[d] = HJTransferParents(&g.t, d, p.at[d], &c[d], &w[d]);
    g.y[t] = b + keep * w[0] * w[1] * w[2] * HJPointsSum(g, p.l, c, n);
  }
}

/* What the fine points around one that a coarse point lies on give it: w, by direction, below, here and above. All are owned */
static __device__ __forceinline__ double HJPointsGatherOwned(const HJPointsArgs &g, int l, const PetscInt f[3], const double w[3][3])
{
  const long long line = (long long)g.shell.width[0] * g.dof, plane = line * g.shell.width[1];
  const long long at  = f[2] * plane + f[1] * line + (long long)f[0] * g.dof + l;
  double          sum = 0.0;

#pragma unroll
  for (int k = 0; k < 3; k++) {
    if (w[2][k] == 0.0) continue; /* in 2D all but one */
#pragma unroll
    for (int m = 0; m < 9; m++) {
      const double    c    = w[0][m % 3] * w[1][m / 3] * w[2][k];
      const long long from = at + (k - 1) * plane + (m / 3 - 1) * line + (m % 3 - 1) * g.dof;
      const double    x = c != 0.0 ? g.x[from] : 0.0, keep = c != 0.0 && g.keep ? g.keep[from] : 1.0;

      sum = fma(c * keep, x, sum);
    }
  }
  return sum;
}

/* The same where some are ghosts */
static __device__ double HJPointsGatherAny(const HJPointsArgs &g, int l, const PetscInt f[3], const double w[3][3])
{
  double sum = 0.0;

  for (int m = 0; m < 27; m++) {
    const PetscInt q[3] = {f[0] + m % 3 - 1, f[1] + m / 3 % 3 - 1, f[2] + m / 9 - 1};
    const double   c    = w[0][m % 3] * w[1][m / 3 % 3] * w[2][m / 9];

    if (c == 0.0) continue;
    const double keep = g.keep ? HJPointsRead(g, g.keep, g.keep_ghost, l, q[0], q[1], q[2]) : 1.0;

    sum = fma(c * keep, HJPointsRead(g, g.x, g.ghost, l, q[0], q[1], q[2]), sum);
  }
  return sum;
}

static __global__ void __launch_bounds__(HJ_SYSTEM_THREADS, 4) HJPointsGather_Kernel(const __grid_constant__ HJPointsArgs g)
{
  const long long all = (long long)g.n[0] * g.n[1] * g.n[2] * g.dof, step = (long long)gridDim.x * blockDim.x;

  for (long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x; t < all; t += step) {
    const HJPointsAt p      = HJPointsAtOf(g, t);
    const double     b      = g.b ? g.b[t] : 0.0;
    bool             inside = true;
    double           w[3][3];
    PetscInt         f[3];

#pragma unroll
    for (int d = 0; d < 3; d++) {
      const PetscInt reach = g.t.factor[d] - 1;

      f[d]   = g.t.factor[d] * p.at[d] - HJTransferShift(&g.t, d);
      inside = inside && f[d] - reach >= 0 && f[d] + reach < g.shell.width[d];
#pragma unroll
      for (int o = -1; o <= 1; o++) w[d][o + 1] = o && !reach ? 0.0 : HJTransferCoefficient(&g.t, d, f[d] + o, o);
    }
    g.y[t] = b + (inside ? HJPointsGatherOwned(g, p.l, f, w) : HJPointsGatherAny(g, p.l, f, w));
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

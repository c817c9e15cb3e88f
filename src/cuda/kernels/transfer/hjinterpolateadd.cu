/* SPDX-License-Identifier: BSD-2-Clause */
/*
   y = y + P x where the grids are those of one rank without periodicity, or in 3D cut into planes, refined in all directions, and no point
   hangs: a thread has two fine lines and two fine planes at one place in x (in 2D four lines), reads what it adds to first, and needs few
   registers, so that many threads wait for memory at once.
*/
#include "cuda/kernels/hjfamilies.h"
#include "hjtransfer_cuda.h"
#include "core/hjrestriction.h"

typedef struct {
  const PetscScalar *x;
  PetscScalar       *y;
  int                n[3], nc[3];
  int first; /* fine plane that the first coarse one lies on: 1 where the one before lies between that and the one below it */
  int line;  /* of the coarse planes of other ranks: */
  const PetscScalar *beside[2]; /* below and above, not read where there are none */
  bool               exchanged; /* what does not read these need not wait for the kernel before */
} HJAddArgs;

/* The mean of the coarse points that a fine one lies on or between, in x */
static __device__ __forceinline__ PetscScalar HJAddMean(const PetscScalar *x, int i0, int i1)
{
  return HJ_HALF * (__ldg(x + i0) + __ldg(x + i1));
}

static __global__ void __launch_bounds__(HJ_ADD_X *HJ_ADD_Y, 6) HJInterpolateAdd3D_Kernel(const __grid_constant__ HJAddArgs p)
{
  const int       i = blockIdx.x * HJ_ADD_X + threadIdx.x, m = blockIdx.y * HJ_ADD_Y + threadIdx.y, s = (int)blockIdx.z - p.first;
  const bool      here = i < p.n[0] && m < p.nc[1], two = here && 2 * m + 1 < p.n[1];
  const bool      in = here && s >= 0, line = two && s >= 0, plane = here && 2 * s + 1 + p.first < p.n[2], both = two && plane;
  const long long fine = (long long)p.n[0] * p.n[1], coarse = (long long)p.nc[0] * p.nc[1];
  PetscScalar    *y       = p.y + (2 * s + p.first) * fine + 2LL * m * p.n[0] + i;
  PetscScalar     b[2][2] = {}, a[2][2] = {};

  if (!p.exchanged || s < 0 || s + 1 >= p.nc[2]) HJDAwaitInput();
  HJDLetNextStart();
  if (in) b[0][0] = y[0];
  if (line) b[0][1] = y[p.n[0]];
  if (plane) b[1][0] = y[fine];
  if (both) b[1][1] = y[fine + p.n[0]];

  const int          l0 = s >= 0 ? p.nc[0] : p.line, l1 = s + 1 < p.nc[2] ? p.nc[0] : p.line, i0 = i >> 1, i1 = (i + 1) >> 1;
  const PetscScalar *x0 = (s >= 0 ? p.x + s * coarse : p.beside[0]) + (long long)m * l0,
                    *x1 = (s + 1 < p.nc[2] ? p.x + (s + 1) * coarse : p.beside[1]) + (long long)m * l1;

  if (here) a[0][0] = HJAddMean(x0, i0, i1);
  if (two) a[0][1] = HJAddMean(x0 + l0, i0, i1);
  if (plane) a[1][0] = HJAddMean(x1, i0, i1);
  if (both) a[1][1] = HJAddMean(x1 + l1, i0, i1);
  if (in) y[0] = b[0][0] + a[0][0];
  if (line) y[p.n[0]] = b[0][1] + HJ_HALF * (a[0][0] + a[0][1]);
  if (plane) y[fine] = b[1][0] + HJ_HALF * (a[0][0] + a[1][0]);
  if (both) y[fine + p.n[0]] = b[1][1] + (PetscScalar)0.25 * ((a[0][0] + a[0][1]) + (a[1][0] + a[1][1]));
}

static __global__ void __launch_bounds__(HJ_ADD_X *HJ_ADD_Y, 6) HJInterpolateAdd2D_Kernel(const __grid_constant__ HJAddArgs p)
{
  const int    i = blockIdx.x * HJ_ADD_X * HJ_ADD_Y + threadIdx.y * HJ_ADD_X + threadIdx.x, j = blockIdx.y * HJ_ADD_2D;
  const int    lines        = i < p.n[0] ? p.n[1] - j : 0;
  PetscScalar *y            = p.y + (long long)j * p.n[0] + i;
  PetscScalar  b[HJ_ADD_2D] = {}, a[HJ_ADD_2D / 2 + 1] = {};
  const int    i0 = i >> 1, i1 = (i + 1) >> 1;

  HJDAwaitInput();
  HJDLetNextStart();
#pragma unroll
  for (int u = 0; u < HJ_ADD_2D; u++)
    if (u < lines) b[u] = y[(long long)u * p.n[0]];
#pragma unroll
  for (int u = 0; u <= HJ_ADD_2D / 2; u++)
    if (2 * u - 1 < lines && i < p.n[0] && j / 2 + u < p.nc[1]) a[u] = HJAddMean(p.x + (long long)(j / 2 + u) * p.nc[0], i0, i1);
#pragma unroll
  for (int u = 0; u < HJ_ADD_2D; u++)
    if (u < lines) y[(long long)u * p.n[0]] = b[u] + (u % 2 ? HJ_HALF * (a[u / 2] + a[u / 2 + 1]) : a[u / 2]);
}

/* y = y + P x on one rank, or on grids that are cut into planes */
static int HJInterpolateAddTakes(const HJDevice *, const HJAsk *ask)
{
  const HJTransferProduct *t = ask->interpolation;

  if (ask->kind != HJ_INTERPOLATION) return 0;
  const HJTransfer *g   = t->transfer;
  const bool        cut = g->fine.dim == 3 && HJTransferIsCut(g) && !HJTransferHangs(g, 2);

  if (t->b != t->y || g->fine.dim < 2 || (!cut && !HJTransferIsOneRank(g))) return false;
  for (int d = 0; d < g->fine.dim; d++) {
    const long long n = HJBoxWidth(&g->fine.owned, d);

    if (cut && d == 2) break;
    if (g->factor[d] != 2 || g->fine.periodic[d] || HJTransferHangs(g, d) || n != 2 * (long long)HJBoxWidth(&g->coarse.owned, d) - 1 ||
        n > 4 * 65535LL)
      return false;
  }
  return HJBoxWidth(&g->fine.owned, 2) <= 2 * 65535LL;
}

static PetscErrorCode HJInterpolateAddRun(const HJDevice *, cudaStream_t stream, const HJTransferProduct *t)
{
  const HJTransfer *g      = t->transfer;
  const bool        two    = g->fine.dim == 2;
  HJAddArgs         p      = {t->x, t->y};
  HJLaunch          how    = {};
  void             *args[] = {&p};

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    p.n[d]  = (int)HJBoxWidth(&g->fine.owned, d);
    p.nc[d] = (int)HJBoxWidth(&g->coarse.owned, d);
  }
  for (int side = 0; side < 2 && HJTransferIsCut(g); side++) {
    const HJBox *box = &t->shell->box[2][side];

    p.first        = (int)HJTransferFirst(g);
    p.line         = (int)HJBoxWidth(box, 0);
    p.beside[side] = t->ghost + t->shell->at[2][side] + HJBoxIndex(box, 0, 0, box->lo[2]);
  }
  p.exchanged = t->exchanged;
  how.block   = dim3(HJ_ADD_X, HJ_ADD_Y);
  how.grid    = two ? dim3((p.n[0] + HJ_ADD_X * HJ_ADD_Y - 1) / (HJ_ADD_X * HJ_ADD_Y), (p.n[1] + HJ_ADD_2D - 1) / HJ_ADD_2D)
                    : dim3((p.n[0] + HJ_ADD_X - 1) / HJ_ADD_X, (p.nc[1] + HJ_ADD_Y - 1) / HJ_ADD_Y, p.nc[2] + p.first);
  how.stream  = stream;
  how.overlap = true;
  PetscCallCUDA(HJLaunchKernel(&how, two ? (const void *)HJInterpolateAdd2D_Kernel : (const void *)HJInterpolateAdd3D_Kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJFamily HJFamilyInterpolateAdd = {.name        = "interpolation added in place",
                                         .takes       = HJInterpolateAddTakes,
                                         .interpolate = HJInterpolateAddRun};

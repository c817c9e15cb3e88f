/* SPDX-License-Identifier: BSD-2-Clause */
/*
   y = b + alpha A x for points with several unknowns, one row for all points or an array for each entry that is there; and the same with
   A^T. Arrays bind the product: each is read once, the values of x mostly come from the cache. Where the arrays have few rows, these are
   read in their place, and points that have the same one, all but some layers, are a launch of their own. Which vectors and ghosts they
   are is the operator's to say.

   A row of threads has 32 points in x. Points whose neighbours are all owned read the vector alone, others look for each in the vector or
   the ghosts. On small grids warps do points together.
*/
#include "hjproduct_cuda.h"
#include "cuda/kernels/hjfamilies.h"
#include "cuda/kernels/hjsystem.cuh"
#include "cuda/kernels/sweep/hjpoints.cuh"

typedef struct {
  const PetscScalar   *x, *b; /* b NULL: without it */
  PetscScalar         *ghost, *y, alpha;
  const PetscScalar   *value; /* entry e of point p is value[e * apart + p * step]; of one row step is 0 */
  long long            apart, step;
  const unsigned char *which; /* few rows: that of a point, whose entries follow one another; else NULL */
  int                  nentries;
  HJShell              shell;
  int                  dim;
} HJSystemProductArgs;

/* The entries of a point */
static __device__ __forceinline__ HJSystemValues HJSystemProductValues(const HJSystemProductArgs &p, long long at)
{
  return {p.value + (p.which ? (long long)__ldg(p.which + at) * p.nentries : at * p.step), p.apart};
}

/* Whether all neighbours of a point are owned */
static __device__ __forceinline__ bool HJSystemProductInside(const HJSystemProductArgs &p, int i, int j, int k)
{
  const bool x = i > 0 && i < p.shell.width[0] - 1, y = p.dim < 2 || (j > 0 && j < p.shell.width[1] - 1),
             z = p.dim < 3 || (k > 0 && k < p.shell.width[2] - 1);

  return x && y && z;
}

/* The values of an owned point or a ghost */
static __device__ __forceinline__ const PetscScalar *HJSystemProductAt(const HJSystemProductArgs &p, int dof, int i, int j, int k)
{
  const HJShell &s = p.shell;

  if (i >= 0 && i < s.width[0] && j >= 0 && j < s.width[1] && k >= 0 && k < s.width[2])
    return p.x + dof * (((long long)k * s.width[1] + j) * s.width[0] + i);
  return p.ghost + dof * HJShellIndex(&s, i, j, k);
}

/* ONCE: entries are read by one thread */
template <int DOF, bool ONCE, typename BLOCKS>
static __device__ __forceinline__ void HJSystemProductPoint(const HJSystemProductArgs &p, const BLOCKS &blocks, int i, int j, int k)
{
  const long long      line = p.shell.width[0], plane = line * p.shell.width[1], at = k * plane + j * line + i;
  const PetscScalar   *here   = p.x + DOF * at;
  const HJSystemValues values = HJSystemProductValues(p, at);
  HJSystemPoint<DOF>   y;
  PetscScalar          sum[DOF] = {};

  if (p.b) y = HJSystemRead<DOF>(p.b + DOF * at);
  if (HJSystemProductInside(p, i, j, k))
    HJSystemSum<DOF, ONCE, HJSystemAhead<DOF>::value>(
      blocks, 0, values, [=](const signed char *off) { return here + DOF * (off[0] + off[1] * line + off[2] * plane); }, sum);
  else
    HJSystemSum<DOF, ONCE, 1>(
      blocks, 0, values, [&](const signed char *off) { return HJSystemProductAt(p, DOF, i + off[0], j + off[1], k + off[2]); }, sum);
#pragma unroll
  for (int c = 0; c < DOF; c++) y.v[c] = p.b ? fma(p.alpha, sum[c], y.v[c]) : p.alpha * sum[c];
  *(HJSystemPoint<DOF> *)(p.y + DOF * at) = y;
}

template <int DOF, bool ONCE, typename BLOCKS>
__global__ void __launch_bounds__(HJ_SYSTEM_THREADS, HJ_SYSTEM_BLOCKS - DOF)
  HJSystemProduct_Kernel(const __grid_constant__ HJSystemProductArgs p, const __grid_constant__ BLOCKS blocks)
{
  const int i = blockIdx.x * HJ_SYSTEM_LANES + threadIdx.x;

  if (i >= p.shell.width[0]) return;
  for (int k = blockIdx.z * blockDim.z + threadIdx.z; k < p.shell.width[2]; k += gridDim.z * blockDim.z) {
    for (int j = blockIdx.y * blockDim.y + threadIdx.y; j < p.shell.width[1]; j += gridDim.y * blockDim.y)
      HJSystemProductPoint<DOF, ONCE>(p, blocks, i, j, k);
  }
}

/* Sums in the order of HJSystemProductPoint(). Lanes beyond the last point do that and do not write it */
template <int DOF, bool ONCE>
__global__ void __launch_bounds__(HJ_SYSTEM_LANES *HJ_SYSTEM_TEAM, DOF < 4 ? 2 : 1)
  HJSystemProductTeam_Kernel(const __grid_constant__ HJSystemProductArgs p, const __grid_constant__ HJSystemShell shell,
                             const __grid_constant__ HJSystemBlocks<DOF> blocks)
{
  const int number = blockIdx.x * HJ_SYSTEM_LANES + threadIdx.x, t = min(number, shell.begin[shell.n] - 1);
  int       i, j, k;

  HJSystemShellPoint(shell, t, i, j, k);
  const long long      at       = ((long long)k * p.shell.width[1] + j) * p.shell.width[0] + i;
  const HJSystemValues values   = HJSystemProductValues(p, at);
  const bool           last     = threadIdx.y == HJ_SYSTEM_TEAM - 1;
  HJSystemPoint<DOF>   y        = HJSystemRead<DOF>(last && p.b ? p.b + DOF * at : NULL);
  PetscScalar          sum[DOF] = {};

  HJSystemTeamSum<DOF, ONCE>(
    blocks, 0, values, p.x + DOF * at,
    [&](const signed char *off) { return HJSystemProductAt(p, DOF, i + off[0], j + off[1], k + off[2]); }, sum);
  if (!last || number != t) return;
#pragma unroll
  for (int c = 0; c < DOF; c++) y.v[c] = p.b ? fma(p.alpha, sum[c], y.v[c]) : p.alpha * sum[c];
  *(HJSystemPoint<DOF> *)(p.y + DOF * at) = y;
}

/* Points of one full row whose neighbours are all owned; sums in the order of HJSystemProductPoint() */
template <int DIM, bool BOX, int DOF>
__global__ void __launch_bounds__(HJ_SYSTEM_THREADS, HJ_SYSTEM_BLOCKS - DOF)
  HJSystemInnerProduct_Kernel(const __grid_constant__ HJSystemProductArgs p, const __grid_constant__ HJDBox w,
                              const __grid_constant__ HJSystemInnerRow<DIM, BOX, DOF> row)
{
  const long long line = p.shell.width[0], plane = line * p.shell.width[1];
  const int       i = w.lo[0] + (int)(blockIdx.x * HJ_SYSTEM_LANES + threadIdx.x);

  if (i >= w.hi[0]) return;
  for (int k = w.lo[2] + (int)(blockIdx.z * blockDim.z + threadIdx.z); k < w.hi[2]; k += gridDim.z * blockDim.z) {
    for (int j = w.lo[1] + (int)(blockIdx.y * blockDim.y + threadIdx.y); j < w.hi[1]; j += gridDim.y * blockDim.y) {
      const long long    at       = DOF * (k * plane + j * line + i);
      HJSystemPoint<DOF> y        = HJSystemRead<DOF>(p.b ? p.b + at : NULL);
      PetscScalar        sum[DOF] = {};

#pragma unroll
      for (int o = 0; o <= HJDNeighbors(DIM, BOX); o++) {
        const int                dx = HJDSlotOffset(DIM, BOX, o, 0), dy = HJDSlotOffset(DIM, BOX, o, 1), dz = HJDSlotOffset(DIM, BOX, o, 2);
        const HJSystemPoint<DOF> x = HJSystemRead<DOF>(p.x + at + DOF * (dx + dy * line + dz * plane));

#pragma unroll
        for (int e = 0; e < DOF * DOF; e++) sum[e / DOF] = fma(row.a[o][e], x.v[e % DOF], sum[e / DOF]);
      }
#pragma unroll
      for (int c = 0; c < DOF; c++) y.v[c] = p.b ? fma(p.alpha, sum[c], y.v[c]) : p.alpha * sum[c];
      *(HJSystemPoint<DOF> *)(p.y + at) = y;
    }
  }
}

/* Any dof: threadIdx.y is the component */
static __global__ void HJSystemProductRows_Kernel(const __grid_constant__ HJSystemProductArgs p, const __grid_constant__ HJSystemEntries e)
{
  const int i = blockIdx.x * HJ_SYSTEM_LANES + threadIdx.x, c = threadIdx.y;

  if (i >= p.shell.width[0]) return;
  for (int k = blockIdx.z; k < p.shell.width[2]; k += gridDim.z) {
    for (int j = blockIdx.y; j < p.shell.width[1]; j += gridDim.y) {
      const long long      at     = ((long long)k * p.shell.width[1] + j) * p.shell.width[0] + i;
      const HJSystemValues values = HJSystemProductValues(p, at);
      const PetscScalar    sum    = HJSystemRowSum(e, c, 0, values, p.step != 0, [&](const signed char *off) {
        return HJSystemProductAt(p, e.dof, i + off[0], j + off[1], k + off[2]);
      });

      p.y[e.dof * at + c] = p.b ? fma(p.alpha, sum, p.b[e.dof * at + c]) : p.alpha * sum;
    }
  }
}

static PetscErrorCode HJSystemProductGetArgs(const HJProduct *p, HJSystemProductArgs *args)
{
  const HJCoefficients *a   = p->a;
  const bool            row = a->storage == HJ_COEFFICIENTS_ROW;

  PetscFunctionBegin;
  PetscCheck(a->storage != HJ_COEFFICIENTS_DICTIONARY && PetscMemTypeDevice(a->mtype), PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Coefficients of a product on the GPU lie on the host, or are a dictionary");
  for (int d = 0; d < 3; d++)
    PetscCheck(p->shell->width[d] <= INT_MAX / 2, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "%" PetscInt_FMT " points in one direction of a rank, a GPU takes at most %d: use more ranks", p->shell->width[d],
               INT_MAX / 2);
  *args = {p->x,        p->b, p->ghost,       p->y,      p->alpha,   row ? a->device_rows : a->value, row ? 1 : (long long)a->npoints,
           row ? 0 : 1, NULL, (int)a->nslots, *p->shell, (int)a->dim};
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HJDBox HJSystemProductBox(const HJShell *shell)
{
  return {{0, 0, 0}, {(int)shell->width[0], (int)shell->width[1], (int)shell->width[2]}};
}

template <int DOF>
static void HJSystemTeamLaunch(const HJSystemProductArgs &args, const HJSystemShell &shell, const HJSystemEntries &e, cudaStream_t stream)
{
  const unsigned blocks = HJSystemTeamBlocks(shell.begin[shell.n]);
  const dim3     threads(HJ_SYSTEM_LANES, HJ_SYSTEM_TEAM);

  if (!blocks) return;
  if (args.step) HJSystemProductTeam_Kernel<DOF, true><<<blocks, threads, 0, stream>>>(args, shell, HJSystemBlocksOf<DOF>(e));
  else HJSystemProductTeam_Kernel<DOF, false><<<blocks, threads, 0, stream>>>(args, shell, HJSystemBlocksOf<DOF>(e));
}

template <int DIM, bool BOX, int DOF>
static void HJSystemInnerLaunch(const HJProduct *p, const HJSystemProductArgs &args, const HJDBox &w, const HJSystemEntries &e, dim3 block,
                                cudaStream_t stream)
{
  const dim3 grid = HJSystemGrid(w, block.y, block.z);

  HJSystemInnerProduct_Kernel<DIM, BOX, DOF><<<grid, block, 0, stream>>>(args, w, HJSystemInnerRowOf<DIM, BOX, DOF>(e, p->a->few.main));
}

/* Whether it was launched in two parts: most points have one full row */
template <int DOF>
static bool HJSystemProductLaunchInner(const HJProduct *p, const HJSystemProductArgs &args, const HJDBox &all, const HJSystemEntries &e,
                                       dim3 block, cudaStream_t stream)
{
  const HJCoefficients *a   = p->a;
  const bool            box = a->shape == HJ_BOX;
  HJDBox                w   = all;

  if (!args.which || a->dim < 2 || !HJSystemIsFull<DOF>(e)) return false;
  for (int d = 0; d < a->dim; d++) {
    w.lo[d] += (int)a->few.layers;
    w.hi[d] -= (int)a->few.layers;
  }
  if (!HJSystemIsInner(w, all)) return false;
  if (a->dim == 2 && box) HJSystemInnerLaunch<2, true, DOF>(p, args, w, e, block, stream);
  else if (a->dim == 2) HJSystemInnerLaunch<2, false, DOF>(p, args, w, e, block, stream);
  else if (box) HJSystemInnerLaunch<3, true, DOF>(p, args, w, e, block, stream);
  else HJSystemInnerLaunch<3, false, DOF>(p, args, w, e, block, stream);
  HJSystemTeamLaunch<DOF>(args, HJSystemShellOf(all, w), e, stream);
  return true;
}

template <int DOF>
static void HJSystemProductLaunch(const HJProduct *p, const HJSystemProductArgs &args, const HJSystemEntries &e, cudaStream_t stream)
{
  const unsigned lines = HJ_SYSTEM_THREADS / HJ_SYSTEM_LANES, z = p->a->dim > 2 ? HJ_SYSTEM_PLANES : 1;
  const HJDBox   all = HJSystemProductBox(p->shell);
  const dim3     block(HJ_SYSTEM_LANES, lines / z, z), grid = HJSystemGrid(all, block.y, z);

  if (HJSystemProductLaunchInner<DOF>(p, args, all, e, block, stream)) return;
  if (p->a->npoints <= HJ_SYSTEM_TEAM_POINTS) HJSystemTeamLaunch<DOF>(args, HJSystemShellOf(all), e, stream);
  else if (p->a->storage == HJ_COEFFICIENTS_ROW)
    HJSystemProduct_Kernel<DOF, false><<<grid, block, 0, stream>>>(args, HJSystemRowOf<DOF>(e, p->a->rows));
  else if (args.which && HJSystemIsFull<DOF>(e))
    HJSystemProduct_Kernel<DOF, false><<<grid, block, 0, stream>>>(args, HJSystemFullOf<DOF>(e));
  else if (args.which) HJSystemProduct_Kernel<DOF, false><<<grid, block, 0, stream>>>(args, HJSystemBlocksOf<DOF>(e));
  else if (HJSystemIsFull<DOF>(e)) HJSystemProduct_Kernel<DOF, true><<<grid, block, 0, stream>>>(args, HJSystemFullOf<DOF>(e));
  else HJSystemProduct_Kernel<DOF, true><<<grid, block, 0, stream>>>(args, HJSystemBlocksOf<DOF>(e));
}

template <int DOF> static bool HJSystemProductIsAligned(const HJProduct *p)
{
  return HJSystemIsAligned<DOF>(p->x) && HJSystemIsAligned<DOF>(p->b) && HJSystemIsAligned<DOF>(p->y) && HJSystemIsAligned<DOF>(p->ghost);
}

/* All points are done with those at the ends: what is before the halo has come is nothing */
static PetscErrorCode HJSystemProductMultiply(const HJDevice *, cudaStream_t stream, const HJProduct *p)
{
  const HJCoefficients *a = p->a;
  HJSystemProductArgs   args;
  HJSystemEntries       e;

  PetscFunctionBegin;
  if (p->region == HJ_PRODUCT_INTERIOR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJSystemProductGetArgs(p, &args));
  if (a->few.which) {
    args.value = a->few.rows;
    args.which = a->few.which;
    args.apart = 1;
    args.step  = 0;
  }
  HJSystemEntriesSet(a->dim, a->shape, a->dof, a->nslots, a->entry, &e);
  if (a->dof == 2 && HJSystemProductIsAligned<2>(p)) HJSystemProductLaunch<2>(p, args, e, stream);
  else if (a->dof == 3) HJSystemProductLaunch<3>(p, args, e, stream);
  else if (a->dof == 4 && HJSystemProductIsAligned<4>(p)) HJSystemProductLaunch<4>(p, args, e, stream);
  else
    HJSystemProductRows_Kernel<<<HJSystemGrid(HJSystemProductBox(p->shell), 1, 1), dim3(HJ_SYSTEM_LANES, (unsigned)a->dof), 0,
                                 stream>>>(args, e);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int HJSystemProductTakes(const HJDevice *, const HJAsk *ask)
{
  return ask->kind == HJ_PRODUCT;
}

const HJFamily HJFamilySystemProduct = {
  .name     = "products of blocks",
  .takes    = HJSystemProductTakes,
  .systems  = true,
  .multiply = HJSystemProductMultiply,
};

/* What the owned points around a point, which is owned or a ghost, give its component d */
static __device__ PetscScalar HJSystemGather(const HJSystemProductArgs &p, const HJSystemEntries &e, int d, int i, int j, int k)
{
  PetscScalar sum = 0.0;

  for (int o = 0; o < e.noffsets; o++) {
    const int       x = i - e.off[o][0], y = j - e.off[o][1], z = k - e.off[o][2];
    const bool      owned = x >= 0 && x < p.shell.width[0] && y >= 0 && y < p.shell.width[1] && z >= 0 && z < p.shell.width[2];
    const long long at    = ((long long)z * p.shell.width[1] + y) * p.shell.width[0] + x;

    for (int c = 0; c < e.dof && owned; c++)
      if (e.mask[o][c] >> d & 1) sum = fma(p.value[HJSystemEntry(e, o, c, d) * p.apart + at * p.step], p.x[e.dof * at + c], sum);
  }
  return sum;
}

/* Coordinates of place g of the shell */
static __device__ void HJSystemGhostPoint(const HJShell &s, long long g, int at[3])
{
  int d = 0, side = 0;

  while (d < s.dim - 1 && g >= s.at[d + 1][0]) d++;
  if (g >= s.at[d][1]) side = 1;
  const HJBox    &b = s.box[d][side];
  const long long l = g - s.at[d][side], nx = b.hi[0] - b.lo[0], ny = b.hi[1] - b.lo[1];

  at[0] = b.lo[0] + (int)(l % nx);
  at[1] = b.lo[1] + (int)(l / nx % ny);
  at[2] = b.lo[2] + (int)(l / nx / ny);
}

/* blockIdx.y: the owned points; then the ghosts. A thread has a component of a point */
static __global__ void HJSystemTranspose_Kernel(const __grid_constant__ HJSystemProductArgs p, const __grid_constant__ HJSystemEntries e)
{
  const HJShell  &s = p.shell;
  const long long n = blockIdx.y ? s.size : (long long)s.width[0] * s.width[1] * s.width[2], step = (long long)gridDim.x * blockDim.x;

  for (long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x; t < n * e.dof; t += step) {
    const long long point = t / e.dof;
    int             at[3] = {(int)(point % s.width[0]), (int)(point / s.width[0] % s.width[1]), (int)(point / s.width[0] / s.width[1])};

    if (blockIdx.y) HJSystemGhostPoint(s, point, at);
    const PetscScalar sum = p.alpha * HJSystemGather(p, e, (int)(t % e.dof), at[0], at[1], at[2]);

    if (blockIdx.y) p.ghost[t] = sum;
    else p.y[t] = p.b ? p.b[t] + sum : sum;
  }
}

/* What the ghosts of a vector give back */
static __global__ void HJSystemReturns_Kernel(const HJProductReturns r, int dof, PetscScalar *y)
{
  const long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x, i = t / dof, c = t % dof;

  if (i >= r.n) return;
  PetscScalar sum = y[(long long)r.point[i] * dof + c];

  for (PetscInt v = r.first[i]; v < r.first[i + 1]; v++) sum += r.value[(long long)v * dof + c];
  y[(long long)r.point[i] * dof + c] = sum;
}

PetscErrorCode HJSystemTranspose_CUDA(const HJProduct *p, cudaStream_t stream)
{
  const HJCoefficients *a = p->a;
  HJSystemProductArgs   args;
  HJSystemEntries       e;

  PetscFunctionBegin;
  if (p->region == HJ_PRODUCT_RETURNS) {
    const long long blocks = ((long long)p->returns->n * a->dof + HJ_SYSTEM_THREADS - 1) / HJ_SYSTEM_THREADS;

    if (blocks) HJSystemReturns_Kernel<<<(unsigned)blocks, HJ_SYSTEM_THREADS, 0, stream>>>(*p->returns, (int)a->dof, p->y);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJSystemProductGetArgs(p, &args));
  HJSystemEntriesSet(a->dim, a->shape, a->dof, a->nslots, a->entry, &e);
  const long long blocks = (a->npoints * a->dof + HJ_SYSTEM_THREADS - 1) / HJ_SYSTEM_THREADS;

  HJSystemTranspose_Kernel<<<dim3((unsigned)PetscMin(blocks, 1LL << 30), 2), HJ_SYSTEM_THREADS, 0, stream>>>(args, e);
  PetscFunctionReturn(PETSC_SUCCESS);
}

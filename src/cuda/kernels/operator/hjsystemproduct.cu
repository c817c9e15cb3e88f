/* SPDX-License-Identifier: BSD-2-Clause */
/*
   y = b + alpha A x for points with several unknowns, one row for all points or an array for each entry that is there; and the same with
   A^T. Arrays bind the product: each is read once, the values of x mostly come from the cache. Where the arrays have few rows, these are
   read in their place. Which vectors and ghosts they are is the operator's to say.

   A row of threads has 32 points in x. Points whose neighbours are all owned read the vector alone, others look for each in the vector or
   the ghosts. On small grids a team of lanes does a point.
*/
#include "hjproduct_cuda.h"
#include "cuda/kernels/hjfamilies.h"
#include "cuda/kernels/hjsystem.cuh"

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

/* A team does a point; those beyond the last one do that and do not write it */
template <int DOF, bool ONCE>
__global__ void __launch_bounds__(HJ_SYSTEM_THREADS)
  HJSystemProductTeam_Kernel(const __grid_constant__ HJSystemProductArgs p, const __grid_constant__ HJSystemBlocks<DOF> blocks)
{
  __shared__ HJSystemBlocks<DOF> s_blocks;
  const int                      nx = p.shell.width[0], ny = p.shell.width[1], last = nx * ny * p.shell.width[2] - 1;
  const int                      team     = blockIdx.x * (HJ_SYSTEM_THREADS / HJ_SYSTEM_TEAM) + threadIdx.x / HJ_SYSTEM_TEAM;
  const int                      at       = min(team, last);
  const HJSystemValues           values   = HJSystemProductValues(p, at);
  HJSystemPoint<DOF>             y        = HJSystemRead<DOF>(p.b ? p.b + DOF * at : NULL);
  PetscScalar                    sum[DOF] = {};

  HJSystemShare<DOF>(blocks, &s_blocks);
  HJSystemTeamSum<DOF, ONCE>(
    s_blocks, 0, values,
    [&](const signed char *off) { return HJSystemProductAt(p, DOF, at % nx + off[0], at / nx % ny + off[1], at / nx / ny + off[2]); }, sum);
  HJSystemTeamAll<DOF>(sum);
#pragma unroll
  for (int c = 0; c < DOF; c++) y.v[c] = fma(p.alpha, sum[c], y.v[c]);
  if (team == at && threadIdx.x % HJ_SYSTEM_TEAM == 0) *(HJSystemPoint<DOF> *)(p.y + DOF * at) = y;
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

/* Blocks for so many lines in y and z at once */
static dim3 HJSystemProductGrid(const HJShell *shell, unsigned y, unsigned z)
{
  const unsigned x = (unsigned)(shell->width[0] + HJ_SYSTEM_LANES - 1) / HJ_SYSTEM_LANES;

  return dim3(x, (unsigned)PetscMin((shell->width[1] + y - 1) / y, 65535), (unsigned)PetscMin((shell->width[2] + z - 1) / z, 65535));
}

template <int DOF>
static void HJSystemProductLaunch(const HJProduct *p, const HJSystemProductArgs &args, const HJSystemEntries &e, cudaStream_t stream)
{
  const unsigned lines = HJ_SYSTEM_THREADS / HJ_SYSTEM_LANES, z = p->a->dim > 2 ? HJ_SYSTEM_PLANES : 1;
  const dim3     block(HJ_SYSTEM_LANES, lines / z, z), grid     = HJSystemProductGrid(p->shell, block.y, z);

  const long long points = p->a->npoints;
  const bool      once   = args.step != 0;

  if (points <= HJ_SYSTEM_TEAM_POINTS && once)
    HJSystemProductTeam_Kernel<DOF, true><<<HJSystemTeamBlocks(points), HJ_SYSTEM_THREADS, 0, stream>>>(args, HJSystemBlocksOf<DOF>(e));
  else if (points <= HJ_SYSTEM_TEAM_POINTS)
    HJSystemProductTeam_Kernel<DOF, false><<<HJSystemTeamBlocks(points), HJ_SYSTEM_THREADS, 0, stream>>>(args, HJSystemBlocksOf<DOF>(e));
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
  if (a->which) {
    args.value = a->few;
    args.which = a->which;
    args.apart = 1;
    args.step  = 0;
  }
  HJSystemEntriesSet(a->dim, a->shape, a->dof, a->nslots, a->entry, &e);
  if (a->dof == 2 && HJSystemProductIsAligned<2>(p)) HJSystemProductLaunch<2>(p, args, e, stream);
  else if (a->dof == 3) HJSystemProductLaunch<3>(p, args, e, stream);
  else if (a->dof == 4 && HJSystemProductIsAligned<4>(p)) HJSystemProductLaunch<4>(p, args, e, stream);
  else HJSystemProductRows_Kernel<<<HJSystemProductGrid(p->shell, 1, 1), dim3(HJ_SYSTEM_LANES, (unsigned)a->dof), 0, stream>>>(args, e);
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

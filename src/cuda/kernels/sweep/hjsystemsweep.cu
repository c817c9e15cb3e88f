/* SPDX-License-Identifier: BSD-2-Clause */
/*
   One subiteration a launch for points with several unknowns: x + w D^-1 (b - A x), for every dimension, shape and storage. Arrays bind it:
   each entry is read once. Points whose neighbours all lie in x itself read them there, others look for each.

   Of a dictionary most points have one row, all but some layers at the ends of the grid. These are a launch of their own, where the row's
   entries are operands; the others are a second one, so that no warp does both. There, and on small grids, warps do points together: a
   thread alone would wait for one neighbour after another, and there are too few of them to hide it.
*/
#include "cuda/kernels/hjfamilies.h"
#include "cuda/kernels/hjsystem.cuh"
#include "cuda/kernels/setup/hjlayers_cuda.h"
#include "cuda/kernels/sweep/hjpoints.cuh"

typedef struct {
  HJDSweep             s;
  HJDBox               cbox, inside; /* of the coefficients; points whose neighbours are all where x is */
  const PetscScalar   *value;        /* arrays: of the first line of cbox; else rows */
  const unsigned char *index;        /* NULL: arrays */
  PetscScalar          w;
  int                  dim, nentries;
} HJSystemSweepArgs;

/* The entries of a point */
static __device__ __forceinline__ HJSystemValues HJSystemSweepValues(const HJSystemSweepArgs &p, int i, int j, int k)
{
  const int       nx   = HJDWidth(p.cbox, 0);
  const long long line = (long long)(k - p.cbox.lo[2]) * HJDWidth(p.cbox, 1) + (j - p.cbox.lo[1]);

  if (p.index) return {p.value + (long long)p.index[line * nx + i - p.cbox.lo[0]] * p.nentries, 1};
  return {p.value + line * p.nentries * nx + i - p.cbox.lo[0], nx};
}

/* The plane across the slowest direction that a point lies in */
static __device__ __forceinline__ int HJSystemPlane(int dim, int i, int j, int k)
{
  return dim == 3 ? k : dim == 2 ? j : i;
}

/* Values of x at a neighbour; NULL: it is outside the domain */
static __device__ __forceinline__ const PetscScalar *HJSystemSweepAt(const HJSystemSweepArgs &p, int dof, int i, int j, int k,
                                                                     const signed char *off)
{
  const HJDSweep &s = p.s;

  if (!HJDInside(s.domain, i + off[0], j + off[1], k + off[2])) return NULL;
  const long long plane = (long long)HJDWidth(s.box, 0) * HJDWidth(s.box, 1);
  const long long at    = HJDIndex(s.box, i, j, k) + HJDBeside(s, i, j, off[0], off[1]) + off[2] * plane;

  return HJDHome(s, s.x, s.xghost, HJSystemPlane(p.dim, i + off[0], j + off[1], k + off[2])) + dof * at;
}

template <int DOF>
static __device__ __forceinline__ void HJSystemWrite(const HJDSweep &s, int plane, int i, int j, int k, const HJSystemPoint<DOF> &y)
{
  const long long to = DOF * HJDIndex(s.ybox, i, j, k);

  *(HJSystemPoint<DOF> *)(s.y + to) = y;
  if (plane < s.copy_lo) *(HJSystemPoint<DOF> *)(s.copy[0] + to) = y;
  if (plane >= s.copy_hi) *(HJSystemPoint<DOF> *)(s.copy[1] + to) = y;
}

/* SCALED: the entries of neighbours are those of D^-1 A */
template <int DOF, bool SCALED, typename BLOCKS>
static __device__ __forceinline__ void HJSystemSweepPoint(const HJSystemSweepArgs &p, const BLOCKS &blocks, int i, int j, int k)
{
  const HJDSweep      &s    = p.s;
  const int            r    = HJSystemPlane(p.dim, i, j, k);
  const long long      line = HJDWidth(s.box, 0), plane = line * HJDWidth(s.box, 1), at = HJDIndex(s.box, i, j, k);
  const HJSystemValues values = HJSystemSweepValues(p, i, j, k);
  HJSystemPoint<DOF>   b = HJSystemRead<DOF>(HJDHome(s, s.b, s.bghost, r) + DOF * at), x = {}, y;
  PetscScalar          sum[DOF] = {}, z[DOF] = {};

  if (s.x) {
    const PetscScalar *here = HJDHome(s, s.x, s.xghost, r) + DOF * at;

    x = HJSystemRead<DOF>(here);
    if (HJDInside(p.inside, i, j, k))
      HJSystemSum<DOF, !SCALED, HJSystemAhead<DOF>::value>(
        blocks, 1, values, [=](const signed char *off) { return here + DOF * (off[0] + off[1] * line + off[2] * plane); }, sum);
    else
      HJSystemSum<DOF, !SCALED, 1>(
        blocks, 1, values, [&](const signed char *off) { return HJSystemSweepAt(p, DOF, i, j, k, off); }, sum);
  }
#pragma unroll
  for (int c = 0; c < DOF && !SCALED; c++) b.v[c] -= sum[c];
  HJSystemAdd<DOF, !SCALED>(blocks, 0, values, b, z);
#pragma unroll
  for (int c = 0; c < DOF; c++) y.v[c] = s.x ? x.v[c] + p.w * ((SCALED ? z[c] - sum[c] : z[c]) - x.v[c]) : p.w * z[c];

  HJSystemWrite<DOF>(s, r, i, j, k, y);
}

template <int DOF, bool SCALED, typename BLOCKS>
__global__ void __launch_bounds__(HJ_SYSTEM_THREADS, HJ_SYSTEM_BLOCKS - DOF)
  HJSystemSweep_Kernel(const __grid_constant__ HJSystemSweepArgs p, const __grid_constant__ BLOCKS blocks)
{
  const HJDBox &w = p.s.write;
  const int     i = w.lo[0] + (int)(blockIdx.x * HJ_SYSTEM_LANES + threadIdx.x);

  if (i >= w.hi[0]) return;
  for (int k = w.lo[2] + (int)(blockIdx.z * blockDim.z + threadIdx.z); k < w.hi[2]; k += gridDim.z * blockDim.z) {
    for (int j = w.lo[1] + (int)(blockIdx.y * blockDim.y + threadIdx.y); j < w.hi[1]; j += gridDim.y * blockDim.y)
      HJSystemSweepPoint<DOF, SCALED>(p, blocks, i, j, k);
  }
}

/* Any dof: threadIdx.y is the component, all of a point in one block */
static __global__ void HJSystemSweepRows_Kernel(const __grid_constant__ HJSystemSweepArgs p, const __grid_constant__ HJSystemEntries e)
{
  __shared__ PetscScalar s_r[HJ_DEVICE_DOF][HJ_SYSTEM_LANES];
  const HJDSweep        &s     = p.s;
  const int              point = s.write.lo[0] + (int)(blockIdx.x * HJ_SYSTEM_LANES + threadIdx.x), c = threadIdx.y, dof = e.dof;
  const int              i = min(point, s.write.hi[0] - 1);

  for (int k = s.write.lo[2] + (int)blockIdx.z; k < s.write.hi[2]; k += gridDim.z) {
    for (int j = s.write.lo[1] + (int)blockIdx.y; j < s.write.hi[1]; j += gridDim.y) {
      const int            r      = HJSystemPlane(p.dim, i, j, k);
      const long long      at     = dof * HJDIndex(s.box, i, j, k) + c;
      const HJSystemValues values = HJSystemSweepValues(p, i, j, k);
      const PetscScalar    b      = HJDHome(s, s.b, s.bghost, r)[at];
      PetscScalar          sum = 0.0, x = 0.0, z = 0.0;

      if (s.x) {
        x   = HJDHome(s, s.x, s.xghost, r)[at];
        sum = HJSystemRowSum(e, c, 1, values, !p.index, [&](const signed char *off) { return HJSystemSweepAt(p, dof, i, j, k, off); });
      }
      s_r[c][threadIdx.x] = p.index ? b : b - sum;
      __syncthreads();
      for (int d = 0; d < dof; d++)
        if (e.mask[0][c] >> d & 1) z = fma(values.at[HJSystemEntry(e, 0, c, d) * values.apart], s_r[d][threadIdx.x], z);
      z = s.x ? x + p.w * ((p.index ? z - sum : z) - x) : p.w * z;
      if (point == i) HJDStore(s, r, dof * HJDIndex(s.ybox, i, j, k) + c, z);
      __syncthreads();
    }
  }
}

/* Of a dictionary: the points of the coefficients' box that all have one row */
typedef struct {
  HJDBox box;
  int    row;
} HJSystemInner;

/* Set-up only: waits for the device */
static PetscErrorCode HJSystemSweepLayout(HJ_CUDA *cuda, cudaStream_t, const HJDSweep *, const HJGeometry *, void **layout)
{
  const HJDStencil *st     = &cuda->st;
  const int         n[3]   = {HJDWidth(st->box, 0), HJDWidth(st->box, 1), HJDWidth(st->box, 2)};
  int               layers = 0, row = 0;
  HJSystemInner    *in;

  PetscFunctionBegin;
  if (st->storage != HJ_DICTIONARY) PetscFunctionReturn(PETSC_SUCCESS);
  if (st->nrows > 1) PetscCall(HJLayersFind_CUDA(st->index, n, &layers, &row));
  PetscCall(PetscNew(&in));
  *in = {st->box, row};
  for (int d = 0; d < st->dim; d++) {
    if (n[d] < 2) continue; /* has no ends */
    in->box.lo[d] += layers;
    in->box.hi[d] -= layers;
  }
  *layout = in;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSystemSweepLayoutDestroy(void *layout)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A point of that row whose neighbours all lie in x; sums in the order of HJSystemSweepPoint() */
template <int DIM, bool BOX, int DOF>
static __device__ __forceinline__ void HJSystemInnerPoint(const HJSystemSweepArgs &p, const HJSystemInnerRow<DIM, BOX, DOF> &row, int i,
                                                          int j, int k)
{
  const HJDSweep          &s    = p.s;
  const int                r    = HJSystemPlane(DIM, i, j, k);
  const long long          line = HJDWidth(s.box, 0), plane = line * HJDWidth(s.box, 1), at = HJDIndex(s.box, i, j, k);
  const PetscScalar       *here = s.x + DOF * at;
  const HJSystemPoint<DOF> x = HJSystemRead<DOF>(here), b = HJSystemRead<DOF>(HJDHome(s, s.b, s.bghost, r) + DOF * at);
  PetscScalar              sum[DOF] = {}, z[DOF] = {};
  HJSystemPoint<DOF>       y;

#pragma unroll
  for (int o = 1; o <= HJDNeighbors(DIM, BOX); o++) {
    const int                dx = HJDSlotOffset(DIM, BOX, o, 0), dy = HJDSlotOffset(DIM, BOX, o, 1), dz = HJDSlotOffset(DIM, BOX, o, 2);
    const HJSystemPoint<DOF> v = HJSystemRead<DOF>(here + DOF * (dx + dy * line + dz * plane));

#pragma unroll
    for (int e = 0; e < DOF * DOF; e++) sum[e / DOF] = fma(row.a[o][e], v.v[e % DOF], sum[e / DOF]);
  }
#pragma unroll
  for (int e = 0; e < DOF * DOF; e++) z[e / DOF] = fma(row.a[0][e], b.v[e % DOF], z[e / DOF]);
#pragma unroll
  for (int c = 0; c < DOF; c++) y.v[c] = x.v[c] + p.w * ((z[c] - sum[c]) - x.v[c]);

  HJSystemWrite<DOF>(s, r, i, j, k, y);
}

template <int DIM, bool BOX, int DOF>
__global__ void __launch_bounds__(HJ_SYSTEM_THREADS, HJ_SYSTEM_BLOCKS - DOF)
  HJSystemInnerSweep_Kernel(const __grid_constant__ HJSystemSweepArgs p, const __grid_constant__ HJDBox w,
                            const __grid_constant__ HJSystemInnerRow<DIM, BOX, DOF> row)
{
  const int i = w.lo[0] + (int)(blockIdx.x * HJ_SYSTEM_LANES + threadIdx.x);

  if (i >= w.hi[0]) return;
  for (int k = w.lo[2] + (int)(blockIdx.z * blockDim.z + threadIdx.z); k < w.hi[2]; k += gridDim.z * blockDim.z) {
    for (int j = w.lo[1] + (int)(blockIdx.y * blockDim.y + threadIdx.y); j < w.hi[1]; j += gridDim.y * blockDim.y)
      HJSystemInnerPoint<DIM, BOX, DOF>(p, row, i, j, k);
  }
}

/* From a guess; sums in the order of HJSystemSweepPoint(), and SCALED as there. Lanes beyond the last point do that and do not write it */
template <int DOF, bool SCALED>
__global__ void __launch_bounds__(HJ_SYSTEM_LANES *HJ_SYSTEM_TEAM, DOF < 4 ? 2 : 1)
  HJSystemTeamSweep_Kernel(const __grid_constant__ HJSystemSweepArgs p, const __grid_constant__ HJSystemShell shell,
                           const __grid_constant__ HJSystemBlocks<DOF> blocks)
{
  const HJDSweep &s      = p.s;
  const int       number = blockIdx.x * HJ_SYSTEM_LANES + threadIdx.x, t = min(number, shell.begin[shell.n] - 1);
  int             i, j, k;

  HJSystemShellPoint(shell, t, i, j, k);
  const int            r      = HJSystemPlane(p.dim, i, j, k);
  const long long      at     = DOF * HJDIndex(s.box, i, j, k);
  const HJSystemValues values = HJSystemSweepValues(p, i, j, k);
  const bool           last   = threadIdx.y == HJ_SYSTEM_TEAM - 1;
  const PetscScalar   *here   = HJDHome(s, s.x, s.xghost, r) + at;
  HJSystemPoint<DOF>   b = HJSystemRead<DOF>(last ? HJDHome(s, s.b, s.bghost, r) + at : NULL), x = HJSystemRead<DOF>(here);
  PetscScalar          sum[DOF] = {}, z[DOF] = {};

  if (SCALED && last) HJSystemAdd<DOF, !SCALED>(blocks, 0, values, b, z);
  HJSystemTeamSum<DOF, !SCALED>(
    blocks, 1, values, here, [&](const signed char *off) { return HJSystemSweepAt(p, DOF, i, j, k, off); }, sum);
  if (!last || number != t) return;
#pragma unroll
  for (int c = 0; c < DOF && !SCALED; c++) b.v[c] -= sum[c];
  if (!SCALED) HJSystemAdd<DOF, !SCALED>(blocks, 0, values, b, z);
#pragma unroll
  for (int c = 0; c < DOF; c++) x.v[c] += p.w * ((SCALED ? z[c] - sum[c] : z[c]) - x.v[c]);
  HJSystemWrite<DOF>(s, r, i, j, k, x);
}

template <int DOF>
static void HJSystemTeamLaunch(const HJ_CUDA *cuda, const HJSystemSweepArgs &p, const HJSystemShell &shell, cudaStream_t stream)
{
  const unsigned            blocks  = HJSystemTeamBlocks(shell.begin[shell.n]);
  const HJSystemBlocks<DOF> entries = HJSystemBlocksOf<DOF>(cuda->system);
  const dim3                threads(HJ_SYSTEM_LANES, HJ_SYSTEM_TEAM);

  if (!blocks) return;
  if (p.index) HJSystemTeamSweep_Kernel<DOF, true><<<blocks, threads, 0, stream>>>(p, shell, entries);
  else HJSystemTeamSweep_Kernel<DOF, false><<<blocks, threads, 0, stream>>>(p, shell, entries);
}

static int HJSystemSweepTakes(const HJDevice *, const HJAsk *ask)
{
  return ask->kind == HJ_EXACT || ask->kind == HJ_SINGLE;
}

static int HJSystemSweepBestCount(const HJDevice *, const HJGrid *, const HJDStencil *)
{
  return 1;
}

static bool HJSystemSweepWraps(const HJDevice *, const HJGrid *, const HJDStencil *)
{
  return true;
}

static HJSystemSweepArgs HJSystemSweepArgsOf(const HJ_CUDA *cuda, const HJDSweep *s, PetscScalar w)
{
  const HJDStencil *st = &cuda->st;
  HJSystemSweepArgs p  = {*s, st->box, s->write, st->storage == HJ_DICTIONARY ? st->rows : cuda->values, NULL, w, st->dim, cuda->system.n};

  if (st->storage == HJ_DICTIONARY) p.index = st->index;
  for (int d = 0; d < st->dim; d++) {
    p.inside.lo[d] = PetscMax(s->box.lo[d], s->domain.lo[d]) + 1;
    p.inside.hi[d] = PetscMin(s->box.hi[d], s->domain.hi[d]) - 1;
  }
  p.inside.lo[st->dim - 1] = PetscMax(p.inside.lo[st->dim - 1], s->home_lo + 1);
  p.inside.hi[st->dim - 1] = PetscMin(p.inside.hi[st->dim - 1], s->home_hi - 1);
  return p;
}

template <int DIM, bool BOX, int DOF>
static void HJSystemInnerLaunch(const HJ_CUDA *cuda, const HJSystemSweepArgs &p, const HJDBox &w, int number, dim3 block,
                                cudaStream_t stream)
{
  const HJSystemInnerRow<DIM, BOX, DOF> row = HJSystemInnerRowOf<DIM, BOX, DOF>(cuda->system,
                                                                                cuda->st.h_rows + (size_t)number * cuda->system.n);

  HJSystemInnerSweep_Kernel<DIM, BOX, DOF><<<HJSystemGrid(w, block.y, block.z), block, 0, stream>>>(p, w, row);
}

/* Whether a sweep of a dictionary was launched: it has enough points of one row whose neighbours lie in x */
template <int DOF>
static bool HJSystemSweepLaunchInner(const HJ_CUDA *cuda, const HJSystemSweepArgs &p, const HJSystemInner *in, dim3 block,
                                     cudaStream_t stream)
{
  const HJDBox &all = p.s.write;
  const bool    box = cuda->st.shape == HJ_BOX;
  HJDBox        w   = all;

  if (!in || !p.s.x || p.dim < 2) return false;
  for (int d = 0; d < p.dim; d++) {
    w.lo[d] = PetscMax(w.lo[d], PetscMax(p.inside.lo[d], in->box.lo[d]));
    w.hi[d] = PetscMin(w.hi[d], PetscMin(p.inside.hi[d], in->box.hi[d]));
  }
  if (!HJSystemIsInner(w, all)) return false;
  if (p.dim == 2 && box) HJSystemInnerLaunch<2, true, DOF>(cuda, p, w, in->row, block, stream);
  else if (p.dim == 2) HJSystemInnerLaunch<2, false, DOF>(cuda, p, w, in->row, block, stream);
  else if (box) HJSystemInnerLaunch<3, true, DOF>(cuda, p, w, in->row, block, stream);
  else HJSystemInnerLaunch<3, false, DOF>(cuda, p, w, in->row, block, stream);

  HJSystemTeamLaunch<DOF>(cuda, p, HJSystemShellOf(all, w), stream);
  return true;
}

template <int DOF>
static void HJSystemSweepLaunchOne(const HJ_CUDA *cuda, const HJSystemSweepArgs &p, const HJSystemInner *in, cudaStream_t stream)
{
  const unsigned lines = HJ_SYSTEM_THREADS / HJ_SYSTEM_LANES, z = p.dim > 2 ? HJ_SYSTEM_PLANES : 1;
  const dim3     block(HJ_SYSTEM_LANES, lines / z, z), grid     = HJSystemGrid(p.s.write, block.y, z);

  if (HJSystemSweepLaunchInner<DOF>(cuda, p, in, block, stream)) return;
  if (p.s.x && HJSystemPoints(p.s.write) <= HJ_SYSTEM_TEAM_POINTS) {
    HJSystemTeamLaunch<DOF>(cuda, p, HJSystemShellOf(p.s.write), stream);
    return;
  }
  if (cuda->st.storage != HJ_DICTIONARY && HJSystemIsFull<DOF>(cuda->system))
    HJSystemSweep_Kernel<DOF, false><<<grid, block, 0, stream>>>(p, HJSystemFullOf<DOF>(cuda->system));
  else if (cuda->st.storage != HJ_DICTIONARY)
    HJSystemSweep_Kernel<DOF, false><<<grid, block, 0, stream>>>(p, HJSystemBlocksOf<DOF>(cuda->system));
  else if (cuda->st.nrows == 1)
    HJSystemSweep_Kernel<DOF, true><<<grid, block, 0, stream>>>(p, HJSystemRowOf<DOF>(cuda->system, cuda->st.h_rows));
  else HJSystemSweep_Kernel<DOF, true><<<grid, block, 0, stream>>>(p, HJSystemBlocksOf<DOF>(cuda->system));
}

template <int DOF> static bool HJSystemSweepIsAligned(const HJDSweep *s)
{
  const PetscScalar *const arrays[] = {s->x, s->b, s->y, s->xghost[0], s->xghost[1], s->bghost[0], s->bghost[1], s->copy[0], s->copy[1]};
  bool                     all      = true;

  for (const PetscScalar *a : arrays) all = all && HJSystemIsAligned<DOF>(a);
  return all;
}

static PetscErrorCode HJSystemSweepLaunch(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *layout)
{
  const HJSystemInner *in  = (const HJSystemInner *)layout;
  const unsigned       dof = (unsigned)cuda->st.dof;

  PetscFunctionBegin;
  PetscCheck(pass->count == 1, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d subiterations in a plain sweep", pass->count);
  for (const HJDSweep *s = pass->sweep; s < pass->sweep + pass->nsweeps; s++) {
    const HJSystemSweepArgs p = HJSystemSweepArgsOf(cuda, s, pass->w[0]);

    if (dof == 2 && HJSystemSweepIsAligned<2>(s)) HJSystemSweepLaunchOne<2>(cuda, p, in, stream);
    else if (dof == 3) HJSystemSweepLaunchOne<3>(cuda, p, in, stream);
    else if (dof == 4 && HJSystemSweepIsAligned<4>(s)) HJSystemSweepLaunchOne<4>(cuda, p, in, stream);
    else HJSystemSweepRows_Kernel<<<HJSystemGrid(s->write, 1, 1), dim3(HJ_SYSTEM_LANES, dof), 0, stream>>>(p, cuda->system);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJFamily HJFamilySystemSweep = {
  .name           = "blocks",
  .takes          = HJSystemSweepTakes,
  .best_count     = HJSystemSweepBestCount,
  .launch         = HJSystemSweepLaunch,
  .layout         = HJSystemSweepLayout,
  .layout_destroy = HJSystemSweepLayoutDestroy,
  .wraps          = HJSystemSweepWraps,
  .ghosts         = true,
  .copies         = true,
  .systems        = true,
};

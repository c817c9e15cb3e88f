/* SPDX-License-Identifier: BSD-2-Clause */
/*
   y = y + P x, or y = P x, where the grids are those of one rank, or in 3D cut into planes without periodicity, refined in all directions:
   a thread has two fine lines and two fine planes at one place in x (in 2D four lines), reads what it adds to first, and needs few
   registers, so that many threads wait for memory at once.
*/
#include "cuda/kernels/hjfamilies.h"
#include "hjtransfer_cuda.h"
#include "core/hjrestriction.h"

typedef struct {
  const PetscScalar *x;
  PetscScalar       *y;
  int                n[3], nc[3], pitch; /* pitch: from a line of y to the next */
  long long          plane;              /* and from a plane */
  int                first[3]; /* fine place of the first coarse point; where it is 1 the one before hangs, or lies above another rank's */
  PetscScalar        scale[3][2]; /* see HJTransferGetScale() */
  int                line;        /* of the coarse planes of other ranks: */
  const PetscScalar *beside[2];   /* below and above; NULL: there is none */
  bool               exchanged;   /* what does not read these need not wait for the kernel before */
  bool               wraps[2];    /* in x and the next direction; in 3D the slowest period is cut, and its own first plane lies above */
} HJAddArgs;

/* The places of the coarse points that a fine one lies on or between, in x, and their share; 0 is beyond the first and the last one */
typedef struct {
  int         i0, i1;
  bool        in0, in1;
  PetscScalar half;
} HJAddPlace;

/* Half of what a fine point at a place of a direction has of two coarse ones, of which one that hangs has but one */
static __device__ __forceinline__ PetscScalar HJAddHalf(const HJAddArgs &p, int d, int place)
{
  return HJ_HALF * (place == 0 ? p.scale[d][0] : place == p.n[d] - 1 ? p.scale[d][1] : (PetscScalar)1.0);
}

template <bool WRAP> static __device__ __forceinline__ HJAddPlace HJAddPlaceOf(const HJAddArgs &p, int i)
{
  HJAddPlace at;

  at.i0  = (i - p.first[0]) >> 1;
  at.i1  = (i - p.first[0] + 1) >> 1;
  at.in0 = at.i0 >= 0;
  at.in1 = at.i1 < p.nc[0];
  if (WRAP && p.wraps[0] && !at.in1) {
    at.i1  = 0;
    at.in1 = true;
  }
  at.half = HJAddHalf(p, 0, i);
  return at;
}

static __device__ __forceinline__ PetscScalar HJAddMean(const PetscScalar *x, const HJAddPlace &at)
{
  return at.half * ((at.in0 ? __ldg(x + at.i0) : HJ_ZERO) + (at.in1 ? __ldg(x + at.i1) : HJ_ZERO));
}

/* Which coarse line of the second direction is beside another one, at most one beyond the last: where that is, or there is none: -1 */
template <bool WRAP> static __device__ __forceinline__ int HJAddLine(const HJAddArgs &p, int m)
{
  if (m >= 0 && m < p.nc[1]) return m;
  return WRAP && p.wraps[1] && m == p.nc[1] ? 0 : -1;
}

template <bool ADDS, bool WRAP>
static __global__ void __launch_bounds__(HJ_ADD_X *HJ_ADD_Y, 6) HJInterpolateAdd3D_Kernel(const __grid_constant__ HJAddArgs p)
{
  const int       i = blockIdx.x * HJ_ADD_X + threadIdx.x, m = (int)(blockIdx.y * HJ_ADD_Y + threadIdx.y) - p.first[1];
  const int       s = (int)blockIdx.z - p.first[2], j = 2 * m + p.first[1], z = 2 * s + p.first[2];
  const bool      here = i < p.n[0] && m < p.nc[1], one = here && m >= 0, two = here && j + 1 < p.n[1];
  const bool      low = s >= 0, high = z + 1 < p.n[2], in = one && low, line = two && low, plane = one && high, both = two && high;
  const long long fine = p.plane, coarse = (long long)p.nc[0] * p.nc[1];
  PetscScalar    *y       = p.y + z * fine + (long long)j * p.pitch + i;
  PetscScalar     b[2][2] = {}, a[2][2] = {};

  if (!p.exchanged || s < 0 || s + 1 >= p.nc[2]) HJDAwaitInput();
  HJDLetNextStart();
  if (ADDS && in) b[0][0] = y[0];
  if (ADDS && line) b[0][1] = y[p.pitch];
  if (ADDS && plane) b[1][0] = y[fine];
  if (ADDS && both) b[1][1] = y[fine + p.pitch];

  const HJAddPlace   at   = HJAddPlaceOf<WRAP>(p, i);
  const int          m1   = HJAddLine<WRAP>(p, m + 1);
  const bool         next = two && m1 >= 0, own[2] = {s >= 0, s + 1 < p.nc[2]};
  const int          l0 = own[0] ? p.nc[0] : p.line, l1 = own[1] ? p.nc[0] : p.line;
  const PetscScalar *x0 = own[0] ? p.x + s * coarse : p.beside[0], *x1 = own[1] ? p.x + (s + 1) * coarse : p.beside[1];

  if (one && x0) a[0][0] = HJAddMean(x0 + (long long)m * l0, at);
  if (next && x0) a[0][1] = HJAddMean(x0 + (long long)m1 * l0, at);
  if (one && high && x1) a[1][0] = HJAddMean(x1 + (long long)m * l1, at);
  if (next && high && x1) a[1][1] = HJAddMean(x1 + (long long)m1 * l1, at);

  const PetscScalar wm = HJAddHalf(p, 1, j + 1), ws = HJAddHalf(p, 2, z + 1);

  if (in) y[0] = b[0][0] + a[0][0];
  if (line) y[p.pitch] = b[0][1] + wm * (a[0][0] + a[0][1]);
  if (plane) y[fine] = b[1][0] + ws * (a[0][0] + a[1][0]);
  if (both) y[fine + p.pitch] = b[1][1] + wm * ws * ((a[0][0] + a[0][1]) + (a[1][0] + a[1][1]));
}

template <bool ADDS, bool WRAP>
static __global__ void __launch_bounds__(HJ_ADD_X *HJ_ADD_Y, 6) HJInterpolateAdd2D_Kernel(const __grid_constant__ HJAddArgs p)
{
  const int        i = blockIdx.x * HJ_ADD_X * HJ_ADD_Y + threadIdx.y * HJ_ADD_X + threadIdx.x;
  const int        m = (int)blockIdx.y * (HJ_ADD_2D / 2) - p.first[1], j = 2 * m + p.first[1]; /* a coarse line, and the fine line on it */
  const int        lo = max(-j, 0), lines = i < p.n[0] ? p.n[1] - j : 0;
  PetscScalar     *y            = p.y + (long long)j * p.pitch + i;
  PetscScalar      b[HJ_ADD_2D] = {}, a[HJ_ADD_2D / 2 + 1] = {};
  const HJAddPlace at = HJAddPlaceOf<WRAP>(p, i);

  HJDAwaitInput();
  HJDLetNextStart();
#pragma unroll
  for (int u = 0; u < HJ_ADD_2D; u++)
    if (u >= lo && u < lines && ADDS) b[u] = y[(long long)u * p.pitch];
#pragma unroll
  for (int u = 0; u <= HJ_ADD_2D / 2; u++) {
    const int l = HJAddLine<WRAP>(p, m + u);

    if (2 * u - 1 < lines && l >= 0) a[u] = HJAddMean(p.x + (long long)l * p.nc[0], at);
  }
#pragma unroll
  for (int u = 0; u < HJ_ADD_2D; u++)
    if (u >= lo && u < lines) y[(long long)u * p.pitch] = b[u] + (u % 2 ? HJAddHalf(p, 1, j + u) * (a[u / 2] + a[u / 2 + 1]) : a[u / 2]);
}

/* On one rank, or on grids that are cut into planes */
static int HJInterpolateAddTakes(const HJDevice *, const HJAsk *ask)
{
  const HJTransferProduct *t = ask->interpolation;

  if (ask->kind != HJ_INTERPOLATION) return 0;
  const HJTransfer *g   = t->transfer;
  const bool        cut = g->fine.dim == 3 && HJTransferIsCut(g);

  if ((t->b && t->b != t->y) || g->fine.dim < 2 || (!cut && !HJTransferIsOneRank(g))) return false;
  for (int d = 0; d < g->fine.dim; d++) {
    if (cut && d == 2) break;
    if (g->factor[d] != 2 || HJBoxWidth(&g->fine.owned, d) > 4 * 65535LL) return false;
  }
  return HJBoxWidth(&g->fine.owned, 2) <= 2 * 65535LL;
}

template <bool WRAP> static const void *HJAddKernelOf(bool two, bool adds)
{
  if (two) return adds ? (const void *)HJInterpolateAdd2D_Kernel<true, WRAP> : (const void *)HJInterpolateAdd2D_Kernel<false, WRAP>;
  return adds ? (const void *)HJInterpolateAdd3D_Kernel<true, WRAP> : (const void *)HJInterpolateAdd3D_Kernel<false, WRAP>;
}

static const void *HJAddKernel(bool two, bool adds, bool wraps)
{
  return wraps ? HJAddKernelOf<true>(two, adds) : HJAddKernelOf<false>(two, adds);
}

static PetscErrorCode HJInterpolateAddRun(const HJDevice *, cudaStream_t stream, const HJTransferProduct *t)
{
  const HJTransfer *g       = t->transfer;
  const HJBox      *lies    = HJGridLies(&g->fine, t->lies);
  HJAddArgs         p       = {t->x, t->y + HJBoxIndex(lies, 0, 0, 0)};
  const bool        cut     = HJTransferIsCut(g);
  const bool        periods = !cut && (g->fine.periodic[0] || g->fine.periodic[1] || g->fine.periodic[2]);
  HJLaunch          how     = {};
  void             *args[]  = {&p};

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    p.n[d]     = (int)HJBoxWidth(&g->fine.owned, d);
    p.nc[d]    = (int)HJBoxWidth(&g->coarse.owned, d);
    p.first[d] = -(int)HJTransferShift(g, d);
    HJTransferGetScale(g, d, p.scale[d]);
  }
  for (int side = 0; side < 2 && cut; side++) {
    const HJBox *box = &t->shell->box[2][side];

    if (!g->coarse.neighbor[2][side]) continue;
    p.line         = (int)HJBoxWidth(box, 0);
    p.beside[side] = t->ghost + t->shell->at[2][side] + HJBoxIndex(box, 0, 0, box->lo[2]);
  }
  p.pitch     = (int)HJBoxWidth(lies, 0);
  p.plane     = (long long)p.pitch * HJBoxWidth(lies, 1);
  p.exchanged = t->exchanged && !periods;
  for (int d = 0; d < 2; d++) p.wraps[d] = g->fine.periodic[d];
  if (periods && g->fine.periodic[2]) {
    p.line      = p.nc[0];
    p.beside[1] = t->x;
  }
  how.block   = dim3(HJ_ADD_X, HJ_ADD_Y);
  how.grid    = g->fine.dim == 2
                  ? dim3((p.n[0] + HJ_ADD_X * HJ_ADD_Y - 1) / (HJ_ADD_X * HJ_ADD_Y), (p.n[1] + p.first[1] + HJ_ADD_2D - 1) / HJ_ADD_2D)
                  : dim3((p.n[0] + HJ_ADD_X - 1) / HJ_ADD_X, (p.nc[1] + p.first[1] + HJ_ADD_Y - 1) / HJ_ADD_Y, p.nc[2] + p.first[2]);
  how.stream  = stream;
  how.overlap = true;
  PetscCallCUDA(HJLaunchKernel(&how, HJAddKernel(g->fine.dim == 2, t->b != NULL, periods), args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJFamily HJFamilyInterpolateAdd = {.name        = "interpolation, two lines a thread",
                                         .takes       = HJInterpolateAddTakes,
                                         .placed      = true,
                                         .interpolate = HJInterpolateAddRun};

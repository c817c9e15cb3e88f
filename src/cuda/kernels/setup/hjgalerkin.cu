/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Galerkin products: a thread does one coarse point. Entries of the fine rows around it are added up along x, then y, then z, so that
   only sums stay in registers. Points that look at ghosts, and rows in place of arrays, take another instance of the same kernel.
*/
#include "cuda/kernels/sweep/hjpoints.cuh"
#include "hjgalerkin_cuda.h"

#define HJ_GALERKIN_MAX_BLOCKS 65535u /* that a launch may have in y and z */

typedef struct {
  int            lo[3], hi[3];       /* coarse points to do, where no ghost is looked at */
  HJDBox         part[6];            /* those to do elsewhere, in boxes */
  int            first[7];           /* points in the boxes before each one, and in all */
  int            nc[3], nf[3];       /* owned points, coarse and fine */
  int            factor[3], base[3]; /* fine point of a coarse one: factor c + base */
  HJDBox         points;             /* fine points that there are, see HJTransfer */
  int            fold[3];            /* coarse points of a periodic direction that has one or two of them, else 0 */
  HJEntries      e;                  /* of the fine grid */
  long long      to[HJ_MAX_SLOTS];   /* of the arrays of slots in coarse; < 0: there is none */
  PetscScalar   *coarse;
  HJGalerkinEnds ends[3];
  /* for points that look at ghosts or lie at ends, and rows */
  HJDBox             domain; /* of the fine grid */
  HJDBox             shell[3][2];
  long long          at[3][2], nghost;
  const PetscScalar *ghost;
} HJGalerkinArgs;

/* What a fine point p beside the coarse one, whose entry leads o further, gives to entries of the coarse row in one direction, but for the
   share that is p's own. near and far: of the place that the entry leads to, see HJGalerkinSides */
template <int P, int O, int STRIDE> __device__ __forceinline__ void HJGalerkinSpread(double v, double near, double far, double *c)
{
  if (P + O == 0) c[STRIDE] += v;
  else if (P == O) c[(1 + P) * STRIDE] += v;
  else {
    c[(1 + P + O) * STRIDE] += far * v;
    c[STRIDE] += near * v;
  }
}

/* Where the rows around a coarse point are: beside it in a direction, and what they weigh */
typedef struct {
  int    at[3];
  double coefficient[3];  /* 0 where there is no such point */
  double near[2], far[2]; /* see HJGalerkinSides */
} HJGalerkinPlace;

/* ENDS: the point may be one of those that HJGalerkinEnds says are different */
template <bool ENDS> __device__ __forceinline__ HJGalerkinPlace HJGalerkinPlaceOf(const HJGalerkinArgs &g, int d, int c)
{
  const int       f    = g.factor[d] * c + g.base[d];
  const double    half = g.factor[d] == 2 ? 0.5 : 0.0;
  HJGalerkinPlace place;
  HJGalerkinSides sides;

  if (ENDS) sides = HJGalerkinSidesAt(&g.ends[d], c);
#pragma unroll
  for (int p = -1; p <= 1; p++) {
    const bool there = p == 0 || (g.factor[d] == 2 && f + p >= g.points.lo[d] && f + p < g.points.hi[d]);

    place.at[p + 1]          = there ? f + p : f;
    place.coefficient[p + 1] = !there ? 0.0 : p == 0 ? 1.0 : ENDS ? sides.own[p > 0] : 0.5;
  }
#pragma unroll
  for (int side = 0; side < 2; side++) {
    place.near[side] = ENDS ? sides.near[side] : half;
    place.far[side]  = ENDS ? sides.far[side] : 1.0 - half;
  }
  return place;
}

/* Entry of any fine point of the domain: among ghosts, or of a row */
__device__ double HJGalerkinAny(const HJGalerkinArgs &g, int slot, int ox, int oy, int oz, int i, int j, int k)
{
  const bool owned = i >= 0 && i < g.nf[0] && j >= 0 && j < g.nf[1] && k >= 0 && k < g.nf[2];

  if (!HJDInside(g.domain, i + ox, j + oy, k + oz)) return 0.0;
  if (g.e.storage == HJ_COEFFICIENTS_ROW) return g.e.row[slot];
  if (owned) return HJEntryAt(&g.e, slot, ((long long)k * g.nf[1] + j) * g.nf[0] + i);
  const int d = k < 0 || k >= g.nf[2] ? 2 : j < 0 || j >= g.nf[1] ? 1 : 0, side = (d == 2 ? k : d == 1 ? j : i) >= 0;

  return g.ghost[slot * g.nghost + g.at[d][side] + HJDIndex(g.shell[d][side], i, j, k)];
}

template <int DIM, bool BOX, bool ANY, int OX, int OY, int OZ>
__device__ __forceinline__ void HJGalerkinAlongX(const HJGalerkinArgs &g, const HJGalerkinPlace &x, int j, int k, long long line, double *c)
{
  constexpr int slot = HJDSlot(DIM, BOX, OX, OY, OZ);

  if constexpr (slot >= 0) {
    const PetscScalar *a      = ANY ? NULL : g.e.value + g.e.begin[slot] + line + x.at[1];
    const double       before = x.coefficient[0] == 0.0 ? 0.0 : ANY ? HJGalerkinAny(g, slot, OX, OY, OZ, x.at[0], j, k) : a[-1];
    const double       here   = ANY ? HJGalerkinAny(g, slot, OX, OY, OZ, x.at[1], j, k) : a[0];
    const double       after  = x.coefficient[2] == 0.0 ? 0.0 : ANY ? HJGalerkinAny(g, slot, OX, OY, OZ, x.at[2], j, k) : a[1];

    /* an entry that leads to a place beside the coarse point: below it or above */
    HJGalerkinSpread<-1, OX, 1>(x.coefficient[0] * before, x.near[0], x.far[0], c);
    HJGalerkinSpread<0, OX, 1>(here, x.near[OX > 0], x.far[OX > 0], c);
    HJGalerkinSpread<1, OX, 1>(x.coefficient[2] * after, x.near[1], x.far[1], c);
  }
}

/* Entries OY of the line at py to sums[cy][cx] */
template <int DIM, bool BOX, bool ANY, int PY, int OY, int OZ>
__device__ __forceinline__ void HJGalerkinAlongY(const HJGalerkinArgs &g, const HJGalerkinPlace &x, const HJGalerkinPlace &y, int k,
                                                 double *sums)
{
  const int       j           = y.at[PY + 1];
  const long long line        = ((long long)k * g.nf[1] + j) * g.nf[0];
  const double    coefficient = y.coefficient[PY + 1];
  double          c[3]        = {0.0, 0.0, 0.0};

  HJGalerkinAlongX<DIM, BOX, ANY, -1, OY, OZ>(g, x, j, k, line, c);
  HJGalerkinAlongX<DIM, BOX, ANY, 0, OY, OZ>(g, x, j, k, line, c);
  HJGalerkinAlongX<DIM, BOX, ANY, 1, OY, OZ>(g, x, j, k, line, c);
#pragma unroll
  for (int cx = 0; cx < 3; cx++) {
    if (DIM == 1) sums[cx] += coefficient * c[cx];
    else HJGalerkinSpread<PY, OY, 3>(coefficient * c[cx], y.near[PY + OY > 0], y.far[PY + OY > 0], sums + cx);
  }
}

/* Entries OZ of a plane to sums[cy][cx] */
template <int DIM, bool BOX, bool ANY, int OZ>
__device__ __forceinline__ void HJGalerkinPlane(const HJGalerkinArgs &g, const HJGalerkinPlace &x, const HJGalerkinPlace &y, int k,
                                                double *sums)
{
  if constexpr (DIM == 1) HJGalerkinAlongY<DIM, BOX, ANY, 0, 0, 0>(g, x, y, k, sums);
  else {
#define HJ_GALERKIN_LINE(py)                                                                                                               \
  HJGalerkinAlongY<DIM, BOX, ANY, py, 0, OZ>(g, x, y, k, sums);                                                                            \
  if constexpr (BOX || OZ == 0) {                                                                                                          \
    HJGalerkinAlongY<DIM, BOX, ANY, py, -1, OZ>(g, x, y, k, sums);                                                                         \
    HJGalerkinAlongY<DIM, BOX, ANY, py, 1, OZ>(g, x, y, k, sums);                                                                          \
  }
    HJ_GALERKIN_LINE(-1)
    HJ_GALERKIN_LINE(0)
    HJ_GALERKIN_LINE(1)
#undef HJ_GALERKIN_LINE
  }
}

/* sums of a plane whose entries lead o further, p beside the coarse point, to those of the coarse row */
__device__ __forceinline__ void HJGalerkinAlongZ(const HJGalerkinSides &z, int p, int o, const double sums[9], double row[27])
{
#pragma unroll
  for (int cz = 0; cz < 3; cz++) {
    const double w = HJGalerkinCoefficient(&z, p, o, cz - 1);

    if (w == 0.0) continue;
#pragma unroll
    for (int c = 0; c < 9; c++) row[9 * cz + c] += w * sums[c];
  }
}

/* All entries of a coarse row, x fastest */
template <int DIM, bool BOX, bool ANY>
__device__ __forceinline__ void HJGalerkinRow(const HJGalerkinArgs &g, const HJGalerkinPlace &x, const HJGalerkinPlace &y, int k,
                                              double *row)
{
  if constexpr (DIM < 3) HJGalerkinPlane<DIM, BOX, ANY, 0>(g, x, y, 0, row);
  else {
    HJGalerkinEnds ends = g.ends[2];

    if (!ANY) ends.begins = ends.hangs = ends.adjoins = PETSC_FALSE;
    const HJGalerkinSides z = HJGalerkinSidesAt(&ends, k);

#pragma unroll 1
    for (int p = -1; p <= 1; p++) {
      const int plane = g.factor[2] * k + g.base[2] + p;

      if (p != 0 && (g.factor[2] == 1 || plane < g.points.lo[2] || plane >= g.points.hi[2])) continue;
#define HJ_GALERKIN_PLANE(oz)                                                                                                              \
  {                                                                                                                                        \
    double sums[9] = {};                                                                                                                   \
    HJGalerkinPlane<DIM, BOX, ANY, oz>(g, x, y, plane, sums);                                                                              \
    HJGalerkinAlongZ(z, p, oz, sums, row);                                                                                                 \
  }
      HJ_GALERKIN_PLANE(-1)
      HJ_GALERKIN_PLANE(0)
      HJ_GALERKIN_PLANE(1)
#undef HJ_GALERKIN_PLANE
    }
  }
}

/* What offsets got that lead to the points of another one, in a direction whose entries lie stride apart */
template <int N> __device__ __forceinline__ void HJGalerkinFoldRow(int points, int stride, double row[N])
{
  if (!points) return;
#pragma unroll
  for (int c = 0; c < N; c++) {
    if (c / stride % 3 != 1) continue;
    if (points == 1) row[c] += row[c - stride] + row[c + stride];
    else row[c - stride] += row[c + stride];
    if (points == 1) row[c - stride] = 0.0;
    row[c + stride] = 0.0;
  }
}

/* The row of a coarse point */
template <int DIM, bool BOX, bool ANY>
__device__ __forceinline__ void HJGalerkinPoint(const HJGalerkinArgs &g, const HJGalerkinPlace &x, int i, int j, int k)
{
  constexpr int   N      = DIM == 3 ? 27 : DIM == 2 ? 9 : 3;
  const long long at     = ((long long)k * g.nc[1] + j) * g.nc[0] + i;
  double          row[N] = {};

  HJGalerkinRow<DIM, BOX, ANY>(g, x, HJGalerkinPlaceOf<ANY>(g, 1, j), k, row);
  HJGalerkinFoldRow<N>(g.fold[0], 1, row);
  if constexpr (DIM > 1) HJGalerkinFoldRow<N>(g.fold[1], 3, row);
  if constexpr (DIM > 2) HJGalerkinFoldRow<N>(g.fold[2], 9, row);
#pragma unroll
  for (int c = 0; c < N; c++) {
    const int slot = c == N / 2 ? 0 : c < N / 2 ? c + 1 : c;

    if (g.to[slot] >= 0) g.coarse[g.to[slot] + at] = row[c];
  }
}

template <int DIM, bool BOX>
__global__ void __launch_bounds__(HJ_GALERKIN_THREADS, DIM == 3 ? 3 : 4) HJGalerkin_Kernel(const __grid_constant__ HJGalerkinArgs g)
{
  const int             i = g.lo[0] + blockIdx.x * blockDim.x + threadIdx.x;
  const HJGalerkinPlace x = HJGalerkinPlaceOf<false>(g, 0, i);

  if (i >= g.hi[0]) return;
  for (int k = g.lo[2] + blockIdx.z; k < g.hi[2]; k += gridDim.z)
    for (int j = g.lo[1] + blockIdx.y * blockDim.y + threadIdx.y; j < g.hi[1]; j += gridDim.y * blockDim.y)
      HJGalerkinPoint<DIM, BOX, false>(g, x, i, j, k);
}

/* All parts in one launch: each point takes long, and a part alone has few */
template <int DIM, bool BOX>
__global__ void __launch_bounds__(HJ_GALERKIN_THREADS, DIM == 3 ? 3 : 4) HJGalerkinParts_Kernel(const __grid_constant__ HJGalerkinArgs g)
{
  const long long t    = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  int             part = 0;

  if (t >= g.first[6]) return;
  while (t >= g.first[part + 1]) part++;
  const HJDBox &b = g.part[part];
  const int     r = (int)t - g.first[part], nx = b.hi[0] - b.lo[0], ny = b.hi[1] - b.lo[1];
  const int     i = b.lo[0] + r % nx, j = b.lo[1] + r / nx % ny, k = b.lo[2] + r / nx / ny;

  HJGalerkinPoint<DIM, BOX, true>(g, HJGalerkinPlaceOf<true>(g, 0, i), i, j, k);
}

static HJGalerkinArgs HJGalerkinArgsOf(const HJGalerkin *p)
{
  const HJTransfer     *t = p->t;
  const HJCoefficients *a = p->fine;
  HJGalerkinArgs        g = {};

  for (int d = 0; d < 3; d++) {
    g.nc[d]     = (int)t->coarse.owned.hi[d];
    g.nf[d]     = (int)t->fine.owned.hi[d];
    g.factor[d] = (int)t->factor[d];
    g.base[d]   = (int)HJGalerkinFinePoint(t, d, 0);
    g.ends[d]   = HJGalerkinEndsOf(t, d);
    g.fold[d]   = t->coarse.periodic[d] && t->coarse.N[d] <= 2 ? (int)t->coarse.N[d] : 0;
    for (int side = 0; side < 2; side++) {
      g.shell[d][side] = HJDBoxFrom(&p->shell->box[d][side]);
      g.at[d][side]    = p->shell->at[d][side];
    }
  }
  g.domain = HJDBoxFrom(&t->fine.domain);
  g.points = HJDBoxFrom(&t->points);
  g.e      = HJEntriesOf(a);
  g.coarse = p->coarse;
  g.nghost = p->shell->size;
  g.ghost  = p->ghost;
  for (PetscInt s = 0; s < HJShapeSlots(a->dim, HJ_BOX); s++) g.to[s] = HJGalerkinTo(p, s) ? HJGalerkinTo(p, s) - p->coarse : -1;
  return g;
}

/* The coarse points of a box that look at no ghost. Blocks are as wide as a warp where the lines are long enough */
template <int DIM, bool BOX> static PetscErrorCode HJGalerkinMiddle(cudaStream_t stream, HJGalerkinArgs g, const HJBox *box)
{
  unsigned n[3];
  dim3     block(HJ_GALERKIN_THREADS);

  PetscFunctionBegin;
  if (HJBoxEmpty(box)) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    g.lo[d] = (int)box->lo[d];
    g.hi[d] = (int)box->hi[d];
    n[d]    = (unsigned)HJBoxWidth(box, d);
  }
  while (DIM > 1 && block.x > 1 && (block.x > 32 || block.x / 2 >= n[0])) {
    block.x /= 2;
    block.y *= 2;
  }
  const dim3 grid((n[0] + block.x - 1) / block.x, PetscMin((n[1] + block.y - 1) / block.y, HJ_GALERKIN_MAX_BLOCKS),
                  PetscMin(n[2], HJ_GALERKIN_MAX_BLOCKS));
  HJGalerkin_Kernel<DIM, BOX><<<grid, block, 0, stream>>>(g);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of whole that are not in middle: those below and above it in each direction */
template <int DIM, bool BOX>
static PetscErrorCode HJGalerkinRun(cudaStream_t stream, HJGalerkinArgs &g, const HJBox *whole, const HJBox *middle)
{
  HJBox rest = *whole;

  PetscFunctionBegin;
  PetscCall(HJGalerkinMiddle<DIM, BOX>(stream, g, middle));
  for (int part = 0; part < 6; part++) {
    const int d    = DIM - 1 - part / 2;
    HJBox     box  = rest;
    PetscInt *side = d < 0 ? NULL : part % 2 ? &box.lo[d] : &box.hi[d];

    g.first[part + 1] = g.first[part];
    if (!side) continue;
    *side = part % 2 ? middle->hi[d] : middle->lo[d];
    if (!HJBoxEmpty(&box)) g.first[part + 1] += (int)HJBoxSize(&box);
    g.part[part] = HJDBoxFrom(&box);
    if (part % 2 == 0) continue;
    rest.lo[d] = middle->lo[d];
    rest.hi[d] = middle->hi[d];
  }
  if (!g.first[6]) PetscFunctionReturn(PETSC_SUCCESS);
  HJGalerkinParts_Kernel<DIM, BOX><<<(unsigned)((g.first[6] - 1) / HJ_GALERKIN_THREADS + 1), HJ_GALERKIN_THREADS, 0, stream>>>(g);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGalerkin_CUDA(const HJGalerkin *p)
{
  const HJBox   *whole  = &p->t->coarse.owned;
  HJBox          middle = HJGalerkinDirect(p->t);
  HJGalerkinArgs g      = HJGalerkinArgsOf(p);
  cudaStream_t   stream;

  PetscFunctionBegin;
  if (HJBoxEmpty(whole)) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->fine->storage != HJ_COEFFICIENTS_ARRAYS) /* all points lie above an empty middle */
    for (int d = 0; d < 3; d++) middle.lo[d] = middle.hi[d] = 0;
  PetscCall(HJStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
#define HJGalerkinRunOne(dim, box) PetscCall((HJGalerkinRun<dim, box>(stream, g, whole, &middle)))
  HJDDispatchShape(p->fine, HJGalerkinRunOne);
#undef HJGalerkinRunOne
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

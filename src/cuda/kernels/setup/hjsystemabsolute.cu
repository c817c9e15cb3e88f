/* SPDX-License-Identifier: BSD-2-Clause */
/*
   y = |D^-1 A| x where points have several unknowns, or |D^-1 (A - A^T)| 1, and the largest y / x, as the host has them. A thread does a
   point, whose blocks it keeps; dof is not known to the compiler, as this is done a few times a set-up.
*/
#include "cuda/kernels/hjsystem.cuh"
#include "core/hjblock.h"
#include "hjabsolute.h"
#include <cfloat>
#include <cmath>

#define HJ_SYSTEM_BLOCK (HJ_DEVICE_DOF * HJ_DEVICE_DOF)

typedef struct {
  HJDSweep             s;
  HJSystemEntries      e;
  HJDBox               box;  /* of the stencil */
  int                  slow; /* direction */
  bool                 skew;
  const unsigned char *index; /* of a dictionary; NULL: arrays */
  const double        *values, *blocks;
  short                back[HJ_MAX_SLOTS], place[HJ_MAX_SLOTS]; /* offset that leads back; slot of a box */
  int                  nbox;                                    /* slots of a box */
  unsigned long long  *ratio;                                   /* bits of a double: those of positive numbers are in their order */
} HJSystemAbsoluteArgs;

static __device__ __forceinline__ HJSystemValues HJSystemAbsoluteValues(const HJSystemAbsoluteArgs &g, long long at)
{
  const int w = HJDWidth(g.box, 0);

  if (g.index) return {g.values + (long long)g.index[at] * g.e.n, 1};
  return {g.values + at / w * g.e.n * w + at % w, w};
}

/* The entries of an offset that are stored: of offset 0 D^-1 */
static __device__ void HJSystemStored(const HJSystemAbsoluteArgs &g, int o, long long at, double *block)
{
  const HJSystemValues v   = HJSystemAbsoluteValues(g, at);
  const int            dof = g.e.dof;

  for (int i = 0; i < dof * dof; i++)
    block[i] = g.e.mask[o][i / dof] >> (i % dof) & 1 ? v.at[HJSystemEntry(g.e, o, i / dof, i % dof) * v.apart] : 0.0;
}

/* A's block of an offset */
static __device__ void HJSystemBlockOf(const HJSystemAbsoluteArgs &g, int o, long long at, double *block)
{
  const int size = g.e.dof * g.e.dof;

  if (g.index) {
    for (int i = 0; i < size; i++) block[i] = g.blocks[((long long)g.index[at] * g.nbox + g.place[o]) * size + i];
  } else if (o) HJSystemStored(g, o, at, block);
  else {
    double inverse[HJ_SYSTEM_BLOCK];

    HJSystemStored(g, 0, at, inverse);
    (void)HJBlockInvert(g.e.dof, inverse, block);
  }
}

/* As HJSystemBalanced() and HJSystemIsAlone() of the host */
static __device__ double HJSystemBalancedDifference(double a, double that)
{
  const double size = fabs(a) > 0.0 ? sqrt(fabs(a)) * sqrt(fabs(that)) : 0.0;

  if ((a > 0.0) == (that > 0.0)) return 0.0;
  return a > 0.0 ? 2.0 * size : -2.0 * size;
}

static __device__ bool HJSystemRowIsAlone(const HJSystemAbsoluteArgs &g, long long at, int c)
{
  const HJSystemValues v = HJSystemAbsoluteValues(g, at);

  for (int o = 0; o < g.e.noffsets; o++)
    for (int d = 0; d < g.e.dof; d++)
      if ((g.e.mask[o][c] >> d & 1) && (o || d != c) && v.at[HJSystemEntry(g.e, o, c, d) * v.apart] != 0.0) return false;
  return true;
}

/* A_o - (A_-o)^T of a point and its neighbour, without rows and columns that are a diagonal alone */
static __device__ void HJSystemSkewBlock(const HJSystemAbsoluteArgs &g, int o, long long at, long long to, double *own)
{
  const int dof = g.e.dof;
  double    other[HJ_SYSTEM_BLOCK];

  HJSystemBlockOf(g, o, at, own);
  HJSystemBlockOf(g, g.back[o], to, other);
  for (int i = 0; i < dof * dof; i++) {
    const int    c = i / dof, d = i % dof;
    const double that = other[d * dof + c];

    if (c != d) own[i] = HJSystemBalancedDifference(own[i], that);
    else if ((own[i] == 0.0 && that != 0.0 && HJSystemRowIsAlone(g, at, c)) ||
             (that == 0.0 && own[i] != 0.0 && HJSystemRowIsAlone(g, to, d)))
      own[i] = 0.0;
    else own[i] -= that;
  }
}

/* sum += |block| x, of inverse NULL; else |inverse block| x. x NULL: 1 */
static __device__ void HJSystemAddSizes(int dof, const double *inverse, const double *block, const double *x, double *sum)
{
  for (int c = 0; c < dof; c++) {
    for (int d = 0; d < dof; d++) {
      double entry = inverse ? 0.0 : block[c * dof + d];

      for (int l = 0; l < dof && inverse; l++) entry += inverse[c * dof + l] * block[l * dof + d];
      sum[c] += fabs(entry) * (x ? x[d] : 1.0);
    }
  }
}

static __device__ double HJSystemAbsolutePoint(const HJSystemAbsoluteArgs &g, int i, int j, int k)
{
  const HJDSweep &s     = g.s;
  const int       dof   = g.e.dof;
  const long long at    = HJDIndex(g.box, i, j, k);
  const int       p[3]  = {i, j, k};
  const double   *x     = s.x ? HJDHome(s, s.x, s.xghost, p[g.slow]) + HJDIndex(s.box, i, j, k) * dof : NULL;
  double         *y     = s.y + HJDIndex(s.ybox, i, j, k) * dof;
  const bool      ready = g.index && !g.skew; /* rows of a dictionary are scaled */
  double          inverse[HJ_SYSTEM_BLOCK], block[HJ_SYSTEM_BLOCK], sum[HJ_DEVICE_DOF], most = 0.0;

  for (int c = 0; c < dof; c++) sum[c] = x ? x[c] : 1.0; /* the diagonal counts as 1 */
  if (!ready) HJSystemStored(g, 0, at, inverse);
  for (int o = g.skew ? 0 : 1; o < g.e.noffsets; o++) {
    const int q[3] = {i + g.e.off[o][0], j + g.e.off[o][1], k + g.e.off[o][2]};

    if (!HJDInside(s.domain, q[0], q[1], q[2])) continue;
    if (g.skew) HJSystemSkewBlock(g, o, at, HJDIndex(g.box, q[0], q[1], q[2]), block);
    else HJSystemStored(g, o, at, block);
    HJSystemAddSizes(dof, ready ? NULL : inverse, block,
                     s.x ? HJDHome(s, s.x, s.xghost, q[g.slow]) +
                             (HJDIndex(s.box, i, j, q[2]) + HJDBeside(s, i, j, g.e.off[o][0], g.e.off[o][1])) * dof
                         : NULL,
                     sum);
  }
  for (int c = 0; c < dof; c++) {
    const double here = x ? sum[c] / x[c] : sum[c];

    y[c] = sum[c];
    most = here <= DBL_MAX ? fmax(most, here) : HUGE_VAL;
    if (most > DBL_MAX) most = HUGE_VAL;
  }
  return most;
}

static __global__ void __launch_bounds__(HJ_SETUP_THREADS) HJSystemAbsolute_Kernel(const __grid_constant__ HJSystemAbsoluteArgs g)
{
  const HJDBox   &b  = g.s.write;
  const int       nx = HJDWidth(b, 0), ny = HJDWidth(b, 1);
  const long long size = (long long)nx * ny * HJDWidth(b, 2);
  double          best = 0.0;

  for (long long p = blockIdx.x * (long long)blockDim.x + threadIdx.x; p < size; p += (long long)gridDim.x * blockDim.x) {
    const double here = HJSystemAbsolutePoint(g, b.lo[0] + (int)(p % nx), b.lo[1] + (int)(p / nx % ny), b.lo[2] + (int)(p / nx / ny));

    best = fmax(best, here);
  }
  for (int d = 16; d > 0; d /= 2) best = fmax(best, __shfl_down_sync(0xffffffffu, best, d));
  if (threadIdx.x % 32 == 0) atomicMax(g.ratio, (unsigned long long)__double_as_longlong(best));
}

PetscErrorCode HJSystemAbsoluteStart_CUDA(const HJ_CUDA *cuda, cudaStream_t stream, int n, const HJDSweep *s, PetscBool skew, double *ratio)
{
  const HJDStencil    *st = &cuda->st;
  HJSystemAbsoluteArgs g  = {};

  PetscFunctionBegin;
  g.e      = cuda->system;
  g.box    = st->box;
  g.slow   = st->dim - 1;
  g.skew   = skew;
  g.index  = st->storage == HJ_DICTIONARY ? st->index : NULL;
  g.values = st->storage == HJ_DICTIONARY ? st->rows : cuda->values;
  g.blocks = cuda->d_blocks;
  g.nbox   = (int)HJShapeSlots(st->dim, HJ_BOX);
  g.ratio  = (unsigned long long *)ratio;
  for (int o = 0; o < g.e.noffsets; o++) {
    g.back[o]  = (short)HJGridSlotBack(&cuda->grid, (HJShape)st->shape, o);
    g.place[o] = (short)HJShapeBoxSlot(st->dim, (HJShape)st->shape, o);
  }
  for (int i = 0; i < n; i++) {
    const long long size = (long long)HJDWidth(s[i].write, 0) * HJDWidth(s[i].write, 1) * HJDWidth(s[i].write, 2);

    g.s = s[i];
    HJSystemAbsolute_Kernel<<<(unsigned)PetscMin((size + HJ_SETUP_THREADS - 1) / HJ_SETUP_THREADS, 1LL << 20), HJ_SETUP_THREADS, 0,
                              stream>>>(g);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

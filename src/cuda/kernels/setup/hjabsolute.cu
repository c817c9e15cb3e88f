/* SPDX-License-Identifier: BSD-2-Clause */
/*
   y = |D^-1 A| x for every dimension, shape and storage, or |D^-1 (A - A^T)| 1, and the largest y / x: what bounds of the spectrum are
   made of. Used in set-up alone.
*/
#include "cuda/kernels/sweep/hjcoefficient.cuh"
#include "cuda/device/hjscratch.h"
#include "hjabsolute.h"
#include <cfloat>
#include <cmath>

typedef struct {
  HJDStencil          st;
  HJDSweep            s[HJD_MAX_SWEEPS];
  bool                skew;
  short               back[HJD_MAX_NEIGHBORS]; /* the neighbour that leads back */
  unsigned long long *ratio;                   /* bits of a double: those of positive numbers are in their order */
} HJAbsoluteArgs;

/* The row of a dictionary at a place; no index: there is one row */
static __device__ __forceinline__ int HJAbsoluteRow(const HJDStencil &st, long long at)
{
  return st.index ? st.index[at] : 0;
}

/* x NULL: 1 at every point of the domain; finite: not for an infinite diagonal, whose inverse is 0 and whose centre in a row is NaN */
template <int DIM, bool BOX, int STORAGE>
__device__ double HJAbsoluteProduct(const HJAbsoluteArgs &p, const HJDSweep &s, int i, int j, int k, double here, bool *finite)
{
  constexpr int   NN = HJDNeighbors(DIM, BOX);
  const long long at = HJDIndex(p.st.box, i, j, k), xat = HJDIndex(s.box, i, j, k);
  const int       sx  = HJDWidth(p.st.box, 0);
  const long long sxy = (long long)sx * HJDWidth(p.st.box, 1), bxy = (long long)HJDWidth(s.box, 0) * HJDWidth(s.box, 1);
  const double   *row = STORAGE == HJ_DICTIONARY ? p.st.rows + (long long)HJAbsoluteRow(p.st, at) * (1 + NN) : NULL;
  const int       r   = DIM == 3 ? k : DIM == 2 ? j : i;
  double          sum = 0.0;

#pragma unroll
  for (int o = 0; o < NN; o++) {
    const int dx = HJDOffset(DIM, BOX, o, 0), dy = HJDOffset(DIM, BOX, o, 1), dz = HJDOffset(DIM, BOX, o, 2);

    if (HJDInside(s.domain, i + dx, j + dy, k + dz)) {
      const double  c = HJDCoefficient<DIM, BOX, STORAGE>(p.st, row, o, at, sx, sxy);
      const double *x = HJDHome(s, s.x, s.xghost, r + (DIM == 3 ? dz : DIM == 2 ? dy : dx));

      sum += fabs(c) * (s.x ? x[xat + HJDBeside(s, i, j, dx, dy) + dz * bxy] : 1.0);
    }
  }
  *finite = STORAGE == HJ_DICTIONARY ? row[0] == row[0] : p.st.dinv[at] != 0.0;
  return here + (STORAGE == HJ_DICTIONARY ? sum : fabs(p.st.dinv[at]) * sum);
}

/* a_ij of the point at a place in the arrays; a dictionary: times its inverse diagonal. Not of HJ_SYMMETRIC */
template <int STORAGE> __device__ double HJSkewEntry(const HJDStencil &st, int o, long long at)
{
  return STORAGE == HJ_DICTIONARY ? st.rows[(long long)HJAbsoluteRow(st, at) * (1 + st.nneighbors) + 1 + o] : st.value[o][at];
}

/* Whether the row of a point is its diagonal alone */
template <int DIM, bool BOX, int STORAGE> __device__ bool HJSkewIsAlone(const HJDStencil &st, const HJDBox &domain, int i, int j, int k)
{
#pragma unroll 1
  for (int o = 0; o < HJDNeighbors(DIM, BOX); o++)
    if (HJDInside(domain, i + HJDOffset(DIM, BOX, o, 0), j + HJDOffset(DIM, BOX, o, 1), k + HJDOffset(DIM, BOX, o, 2)) &&
        HJSkewEntry<STORAGE>(st, o, HJDIndex(st.box, i, j, k)) != 0.0)
      return false;
  return true;
}

/* The row sum of |D^-1 (A - A^T)| at a point. Done once a set-up: a call and no unrolling, so that it takes nothing from the products */
template <int DIM, bool BOX, int STORAGE>
__device__ __noinline__ double HJSkewSum(const HJAbsoluteArgs &p, const HJDBox &domain, int i, int j, int k)
{
  const HJDStencil &st  = p.st;
  const long long   at  = HJDIndex(st.box, i, j, k);
  double            sum = 0.0;

  if (HJSkewIsAlone<DIM, BOX, STORAGE>(st, domain, i, j, k)) return 0.0;
#pragma unroll 1
  for (int o = 0; o < HJDNeighbors(DIM, BOX); o++) {
    const int q[3] = {i + HJDOffset(DIM, BOX, o, 0), j + HJDOffset(DIM, BOX, o, 1), k + HJDOffset(DIM, BOX, o, 2)};

    if (HJDInside(domain, q[0], q[1], q[2])) {
      const long long to    = HJDIndex(st.box, q[0], q[1], q[2]);
      const double    scale = STORAGE == HJ_DICTIONARY ? st.dinv_rows[HJAbsoluteRow(st, at)] / st.dinv_rows[HJAbsoluteRow(st, to)] : 1.0;
      const double    other = HJSkewEntry<STORAGE>(st, p.back[o], to);

      if (other != 0.0 || !HJSkewIsAlone<DIM, BOX, STORAGE>(st, domain, q[0], q[1], q[2]))
        sum += fabs(HJSkewEntry<STORAGE>(st, o, at) - scale * other);
    }
  }
  return STORAGE == HJ_DICTIONARY ? sum : fabs(st.dinv[at]) * sum;
}

/* Of all threads of the block, in thread 0 */
__device__ double HJBlockMax(int thread, double v)
{
  __shared__ double s_max[HJ_ABSOLUTE_THREADS / 32];

  for (int d = 16; d > 0; d /= 2) v = fmax(v, __shfl_down_sync(0xffffffffu, v, d));
  if (thread % 32 == 0) s_max[thread / 32] = v;
  __syncthreads();
  if (thread == 0)
    for (int w = 1; w < HJ_ABSOLUTE_THREADS / 32; w++) v = fmax(v, s_max[w]);
  return v;
}

/* blockIdx.z chooses the sweep, blockIdx.x a part of its lines; threads stride over lines */
template <int DIM, bool BOX, int STORAGE>
__global__ void __launch_bounds__(HJ_ABSOLUTE_THREADS) HJAbsolute_Kernel(const __grid_constant__ HJAbsoluteArgs p)
{
  const HJDSweep &s  = p.s[blockIdx.z];
  const int       ny = HJDWidth(s.write, 1), lines = ny * HJDWidth(s.write, 2);
  const int       i = s.write.lo[0] + blockIdx.x * blockDim.x + threadIdx.x, thread = threadIdx.y * blockDim.x + threadIdx.x;
  double          best   = 0.0; /* infinity where a ratio is no finite number, or a diagonal is infinite */
  bool            finite = true;

  for (int l = blockIdx.y * blockDim.y + threadIdx.y; l < lines && i < s.write.hi[0]; l += gridDim.y * blockDim.y) {
    const int    j = s.write.lo[1] + (DIM == 3 ? l % ny : l), k = s.write.lo[2] + (DIM == 3 ? l / ny : 0);
    const double here = s.x ? HJDHome(s, s.x, s.xghost, DIM == 3 ? k : DIM == 2 ? j : i)[HJDIndex(s.box, i, j, k)] : 1.0;
    double       y;

    if (STORAGE != HJ_SYMMETRIC && p.skew) y = here + HJSkewSum<DIM, BOX, STORAGE>(p, s.domain, i, j, k);
    else y = HJAbsoluteProduct<DIM, BOX, STORAGE>(p, s, i, j, k, here, &finite);
    s.y[HJDIndex(s.ybox, i, j, k)] = y;
    best                           = finite && y / here <= DBL_MAX ? fmax(best, y / here) : HUGE_VAL;
  }
  best = HJBlockMax(thread, best);
  if (thread == 0) atomicMax(p.ratio, (unsigned long long)__double_as_longlong(best));
}

PetscErrorCode HJAbsoluteStart_CUDA(HJ_CUDA *cuda, cudaStream_t stream, int n, const HJDSweep *s, PetscBool skew, double *ratio)
{
  HJAbsoluteArgs p;
  int            points = 1, lines = 1;

  PetscFunctionBegin;
  if (cuda->st.dof > 1) {
    PetscCall(HJSystemAbsoluteStart_CUDA(cuda, stream, n, s, skew, ratio));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  p.st    = cuda->st;
  p.skew  = skew;
  p.ratio = (unsigned long long *)ratio;
  for (int o = 0; o < p.st.nneighbors; o++) p.back[o] = (short)(HJGridSlotBack(&cuda->grid, (HJShape)p.st.shape, 1 + o) - 1);
  for (int i = 0; i < n; i++) {
    p.s[i] = s[i];
    points = PetscMax(points, HJDWidth(s[i].write, 0));
    lines  = PetscMax(lines, HJDWidth(s[i].write, 1) * HJDWidth(s[i].write, 2));
  }
  const dim3     block(lines < 8 ? HJ_ABSOLUTE_THREADS : 32, lines < 8 ? 1 : HJ_ABSOLUTE_THREADS / 32);
  const unsigned across = (points + block.x - 1) / block.x, most = PetscMax(16 * cuda->device.nsm / across, 1);
  const dim3     grid(across, PetscMin((lines + block.y - 1) / block.y, most), n);
#define HJAbsoluteLaunchOne(dim, box, storage) HJAbsolute_Kernel<dim, box, storage><<<grid, block, 0, stream>>>(p)
  HJDDispatch(cuda->st, HJAbsoluteLaunchOne);
#undef HJAbsoluteLaunchOne
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Waits for the device: the ratio is on the host when this returns */
PetscErrorCode HJAbsoluteLaunch_CUDA(HJ_CUDA *cuda, cudaStream_t stream, int n, const HJDSweep *s, PetscBool skew, double *ratio)
{
  double *d_ratio;

  PetscFunctionBegin;
  PetscCall(HJScratchAlloc(stream, sizeof(double), (void **)&d_ratio));
  PetscCallCUDA(cudaMemsetAsync(d_ratio, 0, sizeof(double), stream));
  PetscCall(HJAbsoluteStart_CUDA(cuda, stream, n, s, skew, d_ratio));
  PetscCallCUDA(cudaMemcpyAsync(ratio, d_ratio, sizeof(double), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(HJScratchFree(stream, d_ratio));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Interpolation and restriction of points with several unknowns by the rows of one unknown: few entries a row, which all components share
   and read from the cache. A thread has a component of a point.
*/
#include "hjtransfer_cuda.h"
#include "cuda/device/hjgpu.h"

static __global__ void __launch_bounds__(HJ_SYSTEM_THREADS)
  HJPointRows_Kernel(const HJPointRows rows, int dof, bool add, const PetscScalar *x, PetscScalar *y)
{
  const long long all = (long long)rows.n * dof, step = (long long)gridDim.x * blockDim.x;

  for (long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x; t < all; t += step) {
    const long long row = t / dof;
    const int       c   = (int)(t - row * dof);
    PetscScalar     sum = 0.0;

    for (PetscInt e = rows.first[row]; e < rows.first[row + 1]; e++) sum = fma(rows.value[e], x[(long long)rows.column[e] * dof + c], sum);
    y[t] = add ? y[t] + sum : sum;
  }
}

PetscErrorCode HJMultiplyPoints_CUDA(const HJPointRows *rows, PetscInt dof, PetscBool add, const PetscScalar *x, PetscScalar *y)
{
  const long long blocks = ((long long)rows->n * dof + HJ_SYSTEM_THREADS - 1) / HJ_SYSTEM_THREADS;
  cudaStream_t    stream;

  PetscFunctionBegin;
  if (!blocks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  HJPointRows_Kernel<<<(unsigned)PetscMin(blocks, 1LL << 30), HJ_SYSTEM_THREADS, 0, stream>>>(*rows, (int)dof, add, x, y);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

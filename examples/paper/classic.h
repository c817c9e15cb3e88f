/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What the papers compare with: plain Jacobi iterations, a thread a point and no shared memory (a plain loop on a CPU). Arrays lie in GPU
   memory where the program is built for GPUs and asked for one, else in the host's.
*/
#pragma once

#include <petscvec.h>

#if defined(__CUDACC__)
  #define ON_BOTH __host__ __device__
#else
  #define ON_BOTH
#endif

/* An entry of the dense matrix: diagonally dominant, off the diagonal between 0 and 1 / n */
static inline ON_BOTH double DenseEntry(int n, int i, int j)
{
  const unsigned int hash = (unsigned int)i * 2654435761u ^ (unsigned int)j * 2246822519u;

  return i == j ? 2.0 : (hash >> 8) / 16777216.0 / n;
}

#if defined(__cplusplus)
extern "C" {
#endif

/* its iterations of x = (h2 b + sum of neighbours) / (2 dim) on n points in each direction, zero beyond; 1D: copies of the grid one after
   another. block: threads of a block in x and y. The answer is in x, y is work; seconds: of all iterations */
PetscErrorCode ClassicHost(int dim, int n, int copies, double h2, const PetscScalar *b, PetscScalar *x, PetscScalar *y, int its,
                           double *seconds);
PetscErrorCode ClassicGPU(int dim, int n, int copies, const int block[2], double h2, const PetscScalar *b, PetscScalar *x, PetscScalar *y,
                          int its, double *seconds);
/* The dense matrix, by columns, in GPU memory */
PetscErrorCode FillDenseGPU(int n, PetscScalar *A);
/* its iterations of a dense matrix that is stored by columns, a thread a row, with the squared norm of each update on the host */
PetscErrorCode ClassicDenseGPU(int n, const PetscScalar *A, const PetscScalar *b, PetscScalar *x, PetscScalar *y, int its, double *seconds);

#if defined(__cplusplus)
}
#endif

/*
   What the papers compare with: plain Jacobi iterations, a thread a point and no shared memory (a plain loop on a CPU). Arrays lie in GPU
   memory where the program is built for GPUs and asked for one, else in the host's.
*/
#pragma once

#include <petscvec.h>

#if defined(__cplusplus)
extern "C" {
#endif

/* its iterations of x = (h2 b + sum of neighbours) / (2 dim) on n points in each direction, zero beyond; 1D: copies of the grid one after
   another. block: threads of a block in x and y. The answer is in x, y is work; seconds: of all iterations */
PetscErrorCode ClassicHost(int dim, int n, int copies, double h2, const double *b, double *x, double *y, int its, double *seconds);
PetscErrorCode ClassicGPU(int dim, int n, int copies, const int block[2], double h2, const double *b, double *x, double *y, int its,
                          double *seconds);
/* its iterations of a dense matrix that is stored by columns, a thread a row, with the squared norm of each update on the host */
PetscErrorCode ClassicDenseGPU(int n, const double *A, const double *b, double *x, double *y, int its, double *seconds);

#if defined(__cplusplus)
}
#endif

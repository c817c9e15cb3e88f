/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The part of the backend table that works between two grids of a hierarchy, and what a cycle on them and its set-up need besides.
*/
#pragma once

#include "hjcoefficients.h"

#define HJ_DENSE_MAX 1152

/* Factors that solve by an inverse in a device's memory, where the vectors are there, compose a function of this name */
#define HJ_SOLVES_BY_INVERSE "MatHJSolvesByInverse_C"

typedef struct _n_HJGalerkin HJGalerkin; /* hjgalerkin.h */
typedef struct _n_HJMeasure  HJMeasure;  /* hjmeasure.h */
typedef struct _n_HJLines    HJLines;    /* hjlines.h */

/* A number that a backend makes and the host reads later, without a copy that waits */
typedef struct {
  PetscScalar *value; /* in the backend's memory */
  PetscScalar *host;  /* where number_send() puts it */
  PetscScalar *room;  /* what its making needs */
} HJNumber;

/* Launches that were recorded and can be run again, with the same arguments */
typedef struct _n_HJGraph            *HJGraph;
typedef struct _n_HJInterpolationFill HJInterpolationFill; /* hjinterpolation.h */

/* All arrays lie in the backend's memory; on a device all runs on PETSc's current stream */
struct _n_HJMultigridOps {
  PetscErrorCode (*interpolate)(const HJTransferProduct *);
  PetscErrorCode (*interpolate_transpose)(const HJTransferProduct *);
  PetscErrorCode (*galerkin)(const HJGalerkin *);
  PetscErrorCode (*measure)(HJMeasure *);                    /* fills its sums; waits for a device */
  PetscErrorCode (*alloc_zeros)(PetscCount, PetscScalar **); /* freed as others are; does not wait */
  /* Set-up only: memory for a moment, zeroed or not initialised. What is given back may serve what is started afterwards */
  PetscErrorCode (*scratch)(PetscCount, PetscBool zero, PetscScalar **);
  PetscErrorCode (*unscratch)(PetscScalar **);
  /* Set-up only: absolute() without skew that does not wait. The largest y / x goes to a place in the backend's memory, where it is larger
     than what is there, which is 0 or more */
  PetscErrorCode (*absolute_later)(void *, PetscInt, const HJSweep[], PetscReal *);
  /* A few numbers of the backend's memory to the host, when all that was started before is done */
  PetscErrorCode (*read)(PetscReal *to, const PetscReal *from, PetscCount);
  PetscErrorCode (*restrict_residual)(const HJRestriction *);
  PetscErrorCode (*number_create)(HJNumber *);
  PetscErrorCode (*number_destroy)(HJNumber *);
  /* The sum of the squares of n values, of this rank; each run gives the same bits */
  PetscErrorCode (*number_squares)(PetscCount n, const PetscScalar *x, HJNumber *);
  PetscErrorCode (*number_send)(HJNumber *);                      /* without waiting */
  PetscErrorCode (*number_wait)(const HJNumber *, PetscScalar *); /* for what was sent */
  /* Set-up only: a dense matrix by rows of coefficients on a grid of one rank. constants: plus shift / n everywhere, n the number of
     points, shift the largest size on the diagonal; else shift is 0 */
  PetscErrorCode (*fill_dense)(const HJGrid *, const HJCoefficients *, PetscBool constants, PetscScalar *a, PetscScalar *shift);
  /* Set-up only: the inverse of a dense matrix by rows, in its place, without a search for pivots; work is as large */
  PetscErrorCode (*invert)(PetscInt n, PetscScalar *a, PetscScalar *work);
  PetscErrorCode (*multiply_dense)(PetscInt n, const PetscScalar *a, const PetscScalar *x, PetscScalar *y); /* y = A x; n <= HJ_DENSE_MAX */
  /*
     Between begin and end, on one thread, all that this library launches is recorded in place of being run; nothing may wait or allocate.
     ok false: something failed meanwhile. *again: once more must be recorded, before the first replay, into the same graph. *graph is NULL
     afterwards where it cannot be, and *why says so. NULL: the backend records nothing
  */
  PetscErrorCode (*capture_begin)(HJGraph *);
  PetscErrorCode (*capture_end)(HJGraph *, PetscBool ok, PetscBool *again, const char **why);
  PetscErrorCode (*graph_replay)(HJGraph);
  PetscErrorCode (*graph_destroy)(HJGraph *);
  /* The same with coefficients of their own at every point, and these coefficients. The last four: in set-up alone; jump waits for a device
     */
  PetscErrorCode (*interpolate_variable)(const HJTransferProduct *);
  PetscErrorCode (*interpolate_transpose_variable)(const HJTransferProduct *);
  PetscErrorCode (*galerkin_variable)(const HJGalerkin *);
  PetscErrorCode (*couplings)(const HJInterpolationFill *);
  PetscErrorCode (*jump)(const HJInterpolationFill *);
  PetscErrorCode (*interpolation_fill)(const HJInterpolationFill *);
  /* Lines of a direction, on a rank's own points; their factors, and a bound of the eigenvalues of T^-1 A, the largest number where T is
     not positive; x += w T^-1 r, r is overwritten, work has HJ_LINES_ABREAST lines. zero: x = w T^-1 r, and r stays as it is */
  PetscErrorCode (*lines_create)(const HJGrid *, PetscInt d, HJLines *);
  PetscErrorCode (*lines_destroy)(HJLines *);
  PetscErrorCode (*lines_factor)(const HJGrid *, const HJCoefficients *, HJLines *, PetscReal *bound);
  PetscErrorCode (*lines_solve)(const HJLines *, PetscReal w, PetscBool zero, PetscScalar *r, PetscScalar *work, PetscScalar *x);
  /* Whether exact sweeps of an operator, a restriction from its grid and the interpolation added there take arrays that hold more points
     than the grid, of one rank without neighbours: box and ybox of a sweep, lies of the others. A restriction NULL: sweeps
     alone. NULL: none do */
  PetscBool (*places)(void *, const HJRestriction *);
  /* Whether interpolate() needs no ghosts although there are periods. NULL: it does */
  PetscBool (*interpolates_alone)(const HJTransferProduct *);
  /* Several unknowns a point: interpolate() and its transpose; in set-up, what is kept */
  PetscErrorCode (*interpolate_points)(const HJTransferProduct *);
  PetscErrorCode (*interpolate_points_transpose)(const HJTransferProduct *);
  PetscErrorCode (*keep_points)(const HJTransferKeep *);
  /* Set-up only: whether a product and a restriction take less time than restrict_residual() without a norm. NULL: they never do */
  PetscErrorCode (*restricts_apart)(const HJCoefficients *, PetscBool *);
};

/*
   A DMDA of N points like another one, periodic where that is, else without boundary, with as many unknowns a point; not set up. Its
   communicator has nranks ranks in each direction, of these widths
*/
PETSC_INTERN PetscErrorCode HJGridCreateDM(MPI_Comm, DM like, const PetscInt N[3], const PetscInt nranks[3],
                                           const PetscInt *const widths[3], DMDAStencilType, PetscInt width, DM *);
/* The same of the points and ranks of another one, with stencils one point wide */
PETSC_INTERN PetscErrorCode HJGridCloneDM(DM like, DM *);
/* Ranks of a DMDA in each direction, 1 where it has no such direction */
PETSC_INTERN PetscErrorCode HJGridGetRanks(DM, PetscInt nranks[3]);

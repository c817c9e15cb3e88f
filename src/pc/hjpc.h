/* SPDX-License-Identifier: BSD-2-Clause */
/*
   PETSc glue: what the PC remembers, and the two operators that run its cycles. Kernels, coefficients, passes are decided in other rooms.

   Options, the view, registration and the manual page of the type are in hjpc.c, setters and getters with their pages in hjsetters.c.
   hjsetup.c decides when set-up is done anew and what it keeps, hjapply.c applies a cycle: the stop test, transposes, zero guesses.
   hjmatrixop.c is for matrices that are no stencil, hjinner.c for those whose outermost layers are rows of the diagonal alone.
*/
#pragma once

#include <petsc/private/kspimpl.h>
#include <petsc/private/pcimpl.h>
#include "pchjacobi.h"
#include "operator/hjfailure.h"
#include "operator/hjkrylov.h"
#include "operator/hjoperator.h"
#include "slab/hjslabs.h"
#include "core/hjcoefficients.h"

PETSC_INTERN PetscLogEvent PCHJacobi_SetUp, PCHJacobi_Cycle;

/* Cycles through MatMult(); the Mat is not owned */
typedef struct {
  Vec dinv, r;
} HJMatrixOp;

PETSC_INTERN PetscErrorCode HJMatrixOpCreate(Mat, PetscInt *, HJMatrixOp **);
PETSC_INTERN PetscErrorCode HJMatrixOpRun(HJMatrixOp *, Mat, PetscBool, const HJWeights *, PetscInt, PetscBool, Vec, Vec);
PETSC_INTERN PetscErrorCode HJMatrixOpDestroy(HJMatrixOp **);

/* hjinner.c. Cycles of the points inside known layers, on vectors of all */
typedef struct _n_HJInner *HJInner;

/* NULL where they are not run so. The operator and the weights are those of all points */
PETSC_INTERN PetscErrorCode HJInnerCreate(Mat, const HJOperator *, HJWeights *, HJInner *);
/* its cycles; *done is false, and nothing was done, where these vectors ask for the operator of all points */
PETSC_INTERN PetscErrorCode HJInnerRun(HJInner, HJWeights *, PetscInt its, PetscBool zero, Vec b, Vec x, PetscBool *done);
PETSC_INTERN PetscErrorCode HJInnerView(HJInner, PetscViewer);
PETSC_INTERN PetscErrorCode HJInnerDestroy(HJInner *);

/* What was changed since the last set-up; each asks the next set-up for all that those before it ask for */
typedef enum {
  HJ_CHANGED_NOTHING,
  HJ_CHANGED_VERIFY,  /* the operator of -pc_hjacobi_verify is made or destroyed */
  HJ_CHANGED_WEIGHTS, /* k, weights */
  HJ_CHANGED_BOUNDS,  /* schedule, omega, eigenvalues */
  HJ_CHANGED_OPERATOR /* overlap, tile, backend, operator, exchange: the matrix is read anew */
} HJChange;

typedef struct {
  /* options */
  PetscInt           k, overlap, tile[3], nweights, check_every;
  PetscReal         *weights;           /* custom */
  PetscReal          omega, emax, emin; /* as set by the user, PETSC_DECIDE where not */
  PetscReal          reduction;         /* of a cycle; 0: k is as set, else found by set-up (w.k) */
  PCHJacobiSchedule  schedule;
  PetscBool          k_set, schedule_set; /* by the user: else set-up may take others */
  PCHJacobiBackend   backend;
  PCHJacobiOperator  operator_kind;
  PCHJacobiExchange  exchange;
  PetscReal          exchange_timeout;
  PCHJacobiCheckNorm check_norm;
  size_t             device_memory; /* bytes; 0: what is free */
  PCHJacobiSlabType  slab_type;
  PetscInt           slab_height;
  PetscBool          verify, monitor;
  /* made by set-up */
  HJChange           changed;
  HJFailure          failure;
  HJMatrixState      read;
  const PetscScalar *place;            /* of the matrix's arrays that cycles read; NULL: they read none */
  HJGetCoefficients  get_coefficients; /* of that matrix, asked by name in set-up; NULL: it is no stencil matrix */
  HJWeights          w;
  HJPlanned          planned;            /* one cycle from zero, which is what PCApply() does */
  HJOperator *op, *transpose, *host;     /* NULL: matrix is used; transpose: made at first use, NULL if A is symmetric; host: for verify */
  HJInner     inner;                     /* of op; NULL: there are no known layers that could be left out */
  HJMatrixOp *matrix, *transpose_matrix; /* the latter: where A is a stencil and A^T is none */
  PetscReal   use_omega, use_emax, use_emin;
  PCHJacobiSchedule use_schedule; /* jacobi where the matrix is too unsymmetric for the one that nobody asked for */
  PetscInt          zero_diagonals;
  PetscInt          dim;      /* of the grid, 1 where there is none */
  PetscReal         skew;     /* bound of the imaginary parts of the eigenvalues of D^-1 A; < 0: not found yet */
  PetscInt          safe_k;   /* subiterations from which on so large a skew part makes the polynomial grow, less 1 */
  const char       *bound;    /* where emax comes from; NULL: there are no bounds, or those that are there no longer hold */
  char              why[512]; /* why the operator is a matrix */
  const char       *why_backend, *why_exchange;
  KSP               ksp;       /* the KSP that is being solved, from presolve to postsolve */
  PetscBool         chebyshev; /* the last one that was solved is a KSPCHEBYSHEV */
  PetscLogDouble    start;     /* of that solve, for the monitor */
  PetscBool         silent;    /* the monitor has said that it will say nothing */
  Vec               work[3];   /* residual, correction, update; made when first needed */
} PC_HJacobi;

PETSC_INTERN PetscErrorCode PCSetUp_HJacobi(PC);
PETSC_INTERN PetscErrorCode PCReset_HJacobi(PC);
PETSC_INTERN PetscErrorCode PCApply_HJacobi(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCApplyTranspose_HJacobi(PC, Vec, Vec);
/* HJRichardson of hjkrylov.h */
PETSC_INTERN PetscErrorCode HJacobiRichardson(PC, const HJIterates *, Vec, Vec, Vec, PetscInt, PetscBool, PetscInt *,
                                              PCRichardsonConvergedReason *);
PETSC_INTERN PetscErrorCode PCApplyRichardson_HJacobi(PC, Vec, Vec, Vec, PetscReal, PetscReal, PetscReal, PetscInt, PetscBool, PetscInt *,
                                                      PCRichardsonConvergedReason *);
PETSC_INTERN PetscErrorCode PCPreSolve_HJacobi(PC, KSP, Vec, Vec);
PETSC_INTERN PetscErrorCode PCPostSolve_HJacobi(PC, KSP, Vec, Vec);
PETSC_INTERN PetscErrorCode PCHJacobiComposeSetters(PC, PetscBool);
/* The next use of the PC sets up anew what this change asks for */
PETSC_INTERN PetscErrorCode PCHJacobiChanged(PC, HJChange);
/* Before cycles */
PETSC_INTERN PetscErrorCode PCHJacobiFollow(PC);
/* NULL where A^T is no stencil: then transpose_matrix is there */
PETSC_INTERN PetscErrorCode PCHJacobiTransposeOp(PC, HJOperator **);
/* What to do about a matrix so unsymmetric that k subiterations are not safe; empty where they are */
PETSC_INTERN PetscErrorCode PCHJacobiAdviseK(PC, char[], size_t);

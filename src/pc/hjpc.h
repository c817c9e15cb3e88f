/*
   PETSc glue: what the PC remembers, and the two operators that run its cycles. Kernels, coefficients, passes are decided in other rooms.
*/
#pragma once

#include <petsc/private/kspimpl.h>
#include <petsc/private/pcimpl.h>
#include "../../include/pchjacobi.h"
#include "../operator/hjoperator.h"

PETSC_INTERN PetscLogEvent PCHJacobi_SetUp, PCHJacobi_Cycle;

/* Cycles through MatMult(); the Mat is not owned */
typedef struct {
  Vec dinv, r;
} HJMatrixOp;

PETSC_INTERN PetscErrorCode HJInverseDiagonal(Mat, Vec *, PetscInt *);
PETSC_INTERN PetscErrorCode HJMatrixOpCreate(Mat, PetscInt *, HJMatrixOp **);
PETSC_INTERN PetscErrorCode HJMatrixOpRun(HJMatrixOp *, Mat, PetscBool, const HJWeights *, PetscInt, PetscBool, Vec, Vec);
PETSC_INTERN PetscErrorCode HJMatrixOpDestroy(HJMatrixOp **);

typedef struct {
  /* options */
  PetscInt           k, overlap, tile[3], nweights, check_every;
  PetscReal         *weights;           /* custom */
  PetscReal          omega, emax, emin; /* as set by the user, PETSC_DECIDE where not */
  PetscReal          reduction;         /* of a cycle; 0: k is as set, else found by set-up (w.k) */
  PCHJacobiSchedule  schedule;
  PCHJacobiBackend   backend;
  PCHJacobiOperator  operator_kind;
  PCHJacobiExchange  exchange;
  PCHJacobiCheckNorm check_norm;
  PetscBool          verify, monitor;
  /* made by set-up */
  HJWeights      w;
  HJOperator    *op, *transpose, *host; /* NULL: matrix is used; transpose: made at first use, NULL if A is symmetric; host: for verify */
  HJMatrixOp    *matrix;
  PetscReal      use_omega, use_emax, use_emin;
  PetscInt       zero_diagonals;
  PetscInt       dim;
  const char    *bound;    /* where emax comes from */
  char           why[512]; /* why the operator is a matrix */
  const char    *why_backend, *why_exchange;
  KSP            ksp;   /* the KSP that is being solved, from presolve */
  PetscLogDouble start; /* of that solve, for the monitor */
} PC_HJacobi;

PETSC_INTERN PetscErrorCode PCSetUp_HJacobi(PC);
PETSC_INTERN PetscErrorCode PCReset_HJacobi(PC);
PETSC_INTERN PetscErrorCode PCApply_HJacobi(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCApplyTranspose_HJacobi(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCApplyRichardson_HJacobi(PC, Vec, Vec, Vec, PetscReal, PetscReal, PetscReal, PetscInt, PetscBool, PetscInt *,
                                                      PCRichardsonConvergedReason *);
PETSC_INTERN PetscErrorCode PCPreSolve_HJacobi(PC, KSP, Vec, Vec);
PETSC_INTERN PetscErrorCode PCPostSolve_HJacobi(PC, KSP, Vec, Vec);
PETSC_INTERN PetscErrorCode PCView_HJacobi(PC, PetscViewer);
PETSC_INTERN PetscErrorCode PCHJacobiComposeSetters(PC, PetscBool);
PETSC_INTERN PetscErrorCode PCHJacobiTransposeOp(PC, HJOperator **);

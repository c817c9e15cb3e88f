/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What may go wrong with the cycle of a system, measured in set-up: a last grid whose matrix is singular but for rounding, of which factors
   make what hides the answer from a left Krylov method, and cycles that grow. Decides what of that is too much.
*/
#include "hjmg.h"

/* What factors make of a rough vector, times the diagonal, is at most so many times the vector. Of random systems that convection rules
   few made it 1e9 to 1e10 times as large, and those that are singular but for rounding 1e12 times and more */
#define HJ_MG_SYSTEM_LARGE HJ_BY_PRECISION(1e9, 1e5)
/* The diagonal is made larger by this share then: less hides answers, more takes more iterations */
#define HJ_MG_SYSTEM_LIFT HJ_BY_PRECISION(1e-5, 1e-4)
/* So many cycles show by how much the last one made an error larger, those that converge have 1.2 at most, others 1.6 and more; and whether
   they hide it together: one with convection in jumping coefficients made it 8e4 times as large, then 0.6 times */
#define HJ_MG_SYSTEM_CYCLES 2
#define HJ_MG_SYSTEM_GROWS  1.5

PetscErrorCode HJMGFactorsAreGood(KSP ksp, PetscBool *good)
{
  PC        pc;
  Mat       A;
  Vec       b, x, diagonal;
  PetscReal norm[2];
  PetscBool factors;

  PetscFunctionBegin;
  *good = PETSC_TRUE;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc, &factors, PCLU, PCREDUNDANT, ""));
  if (!factors) PetscFunctionReturn(PETSC_SUCCESS); /* options have others, whose business it is */
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &diagonal));
  PetscCall(HJMGFillRough(&HJBackendHost, b));
  PetscCall(PCApply(pc, b, x));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecPointwiseMult(x, x, diagonal));
  PetscCall(VecNorm(b, NORM_INFINITY, &norm[0])); /* squares may pass the range of numbers */
  PetscCall(VecNorm(x, NORM_INFINITY, &norm[1]));
  *good = (PetscBool)(norm[1] <= HJ_MG_SYSTEM_LARGE * norm[0]);
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGLiftFactors(KSP ksp)
{
  Mat A, P, B;
  Vec diagonal;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, &P));
  PetscCall(MatDuplicate(P, MAT_COPY_VALUES, &B));
  PetscCall(MatCreateVecs(P, NULL, &diagonal));
  PetscCall(MatGetDiagonal(P, diagonal));
  PetscCall(VecScale(diagonal, 1.0 + HJ_MG_SYSTEM_LIFT));
  PetscCall(MatDiagonalSet(B, diagonal, INSERT_VALUES));
  PetscCall(VecDestroy(&diagonal));
  PetscCall(KSPSetOperators(ksp, A, B));
  PetscCall(KSPSetUp(ksp));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGCycleGrows(PC cycle, Mat A, PetscBool *grows)
{
  Vec       error, residual, correction;
  PetscReal first, before, after;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &error, &residual));
  PetscCall(VecDuplicate(error, &correction));
  PetscCall(HJMGFillRough(&HJBackendHost, error));
  PetscCall(VecNorm(error, NORM_INFINITY, &first));
  after = first;
  for (int i = 0; i < HJ_MG_SYSTEM_CYCLES; i++) {
    before = after;
    PetscCall(MatMult(A, error, residual));
    PetscCall(PCApply(cycle, residual, correction));
    PetscCall(VecAXPY(error, -1.0, correction));
    PetscCall(VecNorm(error, NORM_INFINITY, &after));
  }
  *grows = (PetscBool) !(after <= HJ_MG_SYSTEM_GROWS * before && after <= HJ_MG_HIDES * first);
  PetscCall(VecDestroy(&error));
  PetscCall(VecDestroy(&residual));
  PetscCall(VecDestroy(&correction));
  PetscFunctionReturn(PETSC_SUCCESS);
}

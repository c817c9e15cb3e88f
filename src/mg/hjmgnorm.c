/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Norms of residuals on the finest grid, and the KSP's test of them.
*/
#include "hjmg.h"

PetscErrorCode HJMGSquares(PC_HJMG *mg, Vec v)
{
  const HJOperator *op = mg->level[0].op;
  HJVecArray        a;
  PetscInt          n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, v, &mg->stage, &a));
  PetscCall(op->ops->multigrid->number_squares(n, a.used, &mg->squares));
  PetscCall(HJVecClose(&a));
  PetscCall(op->ops->multigrid->number_send(&mg->squares));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGNormOfAnySize(Vec v, PetscReal *norm)
{
  Vec scaled;
  int exponent;

  PetscFunctionBegin;
  PetscCall(VecNorm(v, NORM_INFINITY, norm));
  if (*norm == 0.0 || PetscIsInfOrNanReal(*norm)) PetscFunctionReturn(PETSC_SUCCESS);
  (void)frexp(*norm, &exponent);
  exponent = PetscMax(exponent, HJ_BY_PRECISION(-1000, -120)); /* its inverse is a number too */
  PetscCall(VecDuplicate(v, &scaled));
  PetscCall(VecCopy(v, scaled));
  PetscCall(VecScale(scaled, ldexp(1.0, -exponent)));
  PetscCall(VecNorm(scaled, NORM_2, norm));
  PetscCall(VecDestroy(&scaled));
  *norm = ldexp(*norm, exponent);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGNormOfSquares(Mat A, PetscReal squares, Vec b, Vec x, Vec work, PetscReal *norm)
{
  PetscFunctionBegin;
  *norm = PetscSqrtReal(squares);
  if (squares >= HJ_BY_PRECISION(1e-280, 1e-30) && squares <= HJ_BY_PRECISION(1e300, 1e36)) PetscFunctionReturn(PETSC_SUCCESS);
  if (x) PetscCall(MatResidual(A, b, x, work));
  PetscCall(HJMGNormOfAnySize(x ? work : b, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Waits for the sum that was begun. The norm is that of all ranks' values, of b - A x, or where x is NULL of b. work may be overwritten */
static PetscErrorCode HJMGNorm(PC pc, Vec b, Vec x, Vec work, PetscReal *norm)
{
  PC_HJMG    *mg = (PC_HJMG *)pc->data;
  PetscScalar squares;
  Mat         A = NULL;

  PetscFunctionBegin;
  PetscCall(HJMGGetFinest(pc, b, &A, NULL));
  PetscCall(mg->level[0].op->ops->multigrid->number_wait(&mg->squares, &squares));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
  PetscCall(HJMGNormOfSquares(A, PetscRealPart(squares), b, x, work, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGTest(KSP ksp, PetscInt it, PetscReal norm)
{
  PetscFunctionBegin;
  ksp->its   = it;
  ksp->rnorm = norm;
  PetscCall(KSPMonitor(ksp, it, norm));
  PetscCall(KSPLogResidualHistory(ksp, ksp->rnorm));
  PetscCall((*ksp->converged)(ksp, it, ksp->rnorm, &ksp->reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGTestResidual(PC pc, KSP ksp, PetscInt it, Vec b, Vec x, Vec work)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)ksp);
  PetscReal      norm = 0;

  PetscFunctionBegin;
  if (pc) PetscCall(HJMGNorm(pc, b, x, work, &norm));
  if (!pc || PetscObjectComm((PetscObject)pc) != comm) PetscCallMPI(MPI_Bcast(&norm, 1, MPIU_REAL, 0, comm));
  PetscCall(HJMGTest(ksp, it, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

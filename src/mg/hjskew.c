/* SPDX-License-Identifier: BSD-2-Clause */
/*
   How far a level's matrix is from a symmetric one: a bound of the norm of the skew part of D^-1 A. Decides how it is measured, and what of
   it is rounding; not what is done about it.
*/
#include "hjmg.h"

/* A skew part so small lets the smoother have all the subiterations that it may have: a better bound is not looked for */
#define HJ_MG_SKEW_SMALL 0.05

/* The power -1/2 of the sizes of the diagonal; 1 where that is 0 */
static PetscErrorCode HJMGRootOfDiagonal(Mat A, Vec *root)
{
  PetscScalar *v;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, root));
  PetscCall(MatGetDiagonal(A, *root));
  PetscCall(VecGetLocalSize(*root, &n));
  PetscCall(VecGetArray(*root, &v));
  for (PetscInt i = 0; i < n; i++) v[i] = v[i] != 0.0 ? 1.0 / PetscSqrtReal(PetscAbsScalar(v[i])) : 1.0;
  PetscCall(VecRestoreArray(*root, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   D^-1 A is similar to D^-1/2 A D^-1/2, whose skew part is small beside both diagonals where D^-1 A's is large beside the smaller one of
   two that differ much. The same points are in the rows of both, so that one row of coefficients for all points gives nothing new
*/
static PetscErrorCode HJMGBoundSkew(HJMGLevel *level)
{
  HJOperator           *op = level->op, *other = NULL;
  const HJCoefficients *c;
  Mat                   B;
  Vec                   root;
  PetscReal             bound;
  char                  why[256];

  PetscFunctionBegin;
  level->skew = level->skew_rows;
  PetscCall(HJCoefficientsIn(level->A, op->ops->mtype, &c));
  if (level->skew <= HJ_MG_SKEW_SMALL || c->storage == HJ_COEFFICIENTS_ROW) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGRootOfDiagonal(level->A, &root));
  PetscCall(MatDuplicate(level->A, MAT_COPY_VALUES, &B));
  PetscCall(MatDiagonalScale(B, root, root));
  PetscCall(HJOperatorCreateInPlace(B, level->da, op->ops, op->halo_ops, PETSC_TRUE, PETSC_FALSE, &other, why, sizeof(why)));
  if (other) {
    other->exchange_timeout = op->exchange_timeout;
    PetscCall(HJBoundSkew(other, &bound));
    level->skew = PetscMin(level->skew, bound);
    PetscCall(HJOperatorDestroy(&other));
  }
  PetscCall(MatDestroy(&B));
  PetscCall(VecDestroy(&root));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGRenewSkew(HJMGLevel *level)
{
  PetscFunctionBegin;
  PetscCall(HJBoundSkew(level->op, &level->skew_rows));
  PetscCall(HJMGBoundSkew(level));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stars are made of symmetric matrices alone */
PetscErrorCode HJMGFindSkewOfRows(const PC_HJMG *mg, HJMGLevel *level)
{
  PetscFunctionBegin;
  if (mg->stars) level->skew_rows = 0;
  if (level->skew_rows < 0) PetscCall(HJBoundSkew(level->op, &level->skew_rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGFindSkew(const PC_HJMG *mg, HJMGLevel *level)
{
  PetscFunctionBegin;
  PetscCall(HJMGFindSkewOfRows(mg, level));
  if (mg->stars) level->skew = 0;
  if (level->skew < 0) PetscCall(HJMGBoundSkew(level));
  PetscCall(HJMGFindFlow(mg, level));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The transposed cycle of unsymmetric matrices: that of A^T on every level. Interpolation and restriction are each other's transposes, D is
   that of A, and the sweeps before and after are the same polynomial, so that its weights stay. Makes what it needs when it is first asked
   for.
*/
#include "hjmg.h"

PetscErrorCode HJMGTransposeInverse(const PC_HJMG *mg, PetscScalar *to)
{
  const HJMGLevel    *level = &mg->level[mg->nlevels - 1];
  const HJBackendOps *ops   = level->op->ops;
  const PetscCount    n     = HJBoxSize(&level->op->grid.owned);
  PetscScalar        *a;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n * n, &a));
  PetscCall(ops->copy(NULL, a, mg->inverse, n * n));
  for (PetscCount i = 0; i < n; i++) {
    for (PetscCount j = 0; j < i; j++) {
      const PetscScalar v = a[i * n + j];

      a[i * n + j] = a[j * n + i];
      a[j * n + i] = v;
    }
  }
  PetscCall(ops->copy(NULL, to, a, n * n));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSetUpTranspose(PC pc)
{
  PC_HJMG         *mg       = (PC_HJMG *)pc->data;
  const HJMGLevel *coarsest = &mg->level[mg->nlevels - 1];
  const PetscCount n        = HJBoxSize(&coarsest->op->grid.owned);

  PetscFunctionBegin;
  for (HJMGLevel *level = mg->level; level < mg->level + mg->nlevels - (mg->gather || mg->inverse || mg->factor); level++) {
    if (level->opt) continue;
    PetscCall(MatTranspose(level->A, MAT_INITIAL_MATRIX, &level->At));
    PetscCall(HJMGMakeOperator(pc, level->At, level->da, &level->opt));
    if (level < mg->level + mg->nlevels - 1 && level[1].borrows) PetscCall(VecDuplicate(level->r, &level->residual));
  }
  if (!mg->steps[HJ_MG_TRANSPOSED].n) PetscCall(HJMGMakeTransposedSteps(mg));
  if (!mg->inverse || mg->inverse_transposed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJAllocIfRoom(coarsest->op->ops, n * n, PETSC_FALSE, &mg->inverse_transposed));
  if (mg->inverse_transposed) PetscCall(HJMGTransposeInverse(mg, mg->inverse_transposed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGDestroyTranspose(PC_HJMG *mg)
{
  PetscFunctionBegin;
  for (HJMGLevel *level = mg->level; level < mg->level + mg->nlevels; level++) {
    PetscCall(HJOperatorDestroy(&level->opt));
    PetscCall(MatDestroy(&level->At));
    PetscCall(VecDestroy(&level->residual));
  }
  if (mg->inverse_transposed) PetscCall(mg->level[0].op->ops->free(NULL, &mg->inverse_transposed));
  mg->steps[HJ_MG_TRANSPOSED].n = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

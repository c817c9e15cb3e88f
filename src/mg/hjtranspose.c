/*
   The transposed cycle of unsymmetric matrices: that of A^T on every level. Interpolation and restriction are each other's transposes, D is
   that of A, and the sweeps before and after are the same polynomial, so that its weights stay. Makes what it needs when it is first asked
   for.
*/
#include "hjmg.h"

static PetscErrorCode HJMGSetUpTranspose(PC pc)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  for (HJMGLevel *level = mg->level; level < mg->level + mg->nlevels - (mg->gather != NULL); level++) {
    if (level->opt) continue;
    PetscCall(MatTranspose(level->A, MAT_INITIAL_MATRIX, &level->At));
    PetscCall(HJMGMakeOperator(pc, level->At, level->da, &level->opt));
    PetscCall(HJOperatorPrepare(level->opt, &level->w, 1, PETSC_TRUE));
    PetscCall(HJOperatorPrepare(level->opt, &level->w, 1, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGSolveCoarsestTransposed(PC_HJMG *mg, HJMGLevel *level, Vec b, Vec x)
{
  PetscFunctionBegin;
  if (mg->gather) PetscCall(HJMGGatherApply(mg->gather, PETSC_TRUE, b, x));
  else if (mg->constants) {
    PetscCall(VecCopy(b, level->r));
    PetscCall(MatNullSpaceRemove(mg->constants, level->r));
    PetscCall(HJOperatorRun(level->opt, &level->w, 1, PETSC_TRUE, level->r, x));
    PetscCall(MatNullSpaceRemove(mg->constants, x));
  } else PetscCall(HJOperatorRun(level->opt, &level->w, 1, PETSC_TRUE, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From level l down, from zero */
static PetscErrorCode HJMGCycleTransposed(PC_HJMG *mg, PetscInt l, Vec b, Vec x)
{
  HJMGLevel *level = &mg->level[l], *next = level + 1;

  PetscFunctionBegin;
  if (l == mg->nlevels - 1) {
    PetscCall(HJMGSolveCoarsestTransposed(mg, level, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJOperatorRun(level->opt, &level->w, 1, PETSC_TRUE, b, x));
  PetscCall(MatResidual(level->At, b, x, level->r));
  PetscCall(MatMultTranspose(level->P, level->r, next->b));
  PetscCall(HJMGCycleTransposed(mg, l + 1, next->b, next->x));
  PetscCall(MatMultAdd(level->P, next->x, x, x));
  PetscCall(HJOperatorRun(level->opt, &level->w, 1, PETSC_FALSE, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sweeps before and after are the same, so that the cycle of a symmetric matrix is symmetric */
PetscErrorCode PCApplyTranspose_HJMG(PC pc, Vec b, Vec x)
{
  PetscBool set, symmetric;

  PetscFunctionBegin;
  PetscCall(MatIsSymmetricKnown(pc->pmat, &set, &symmetric));
  if (set && symmetric) {
    PetscCall(PCApply_HJMG(pc, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGSetUpTranspose(pc));
  PetscCall(PetscLogEventBegin(PCHJMG_Cycle, pc, 0, 0, 0));
  PetscCall(HJMGCycleTransposed((PC_HJMG *)pc->data, 0, b, x));
  PetscCall(PetscLogEventEnd(PCHJMG_Cycle, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGDestroyTranspose(PC_HJMG *mg)
{
  PetscFunctionBegin;
  for (HJMGLevel *level = mg->level; level < mg->level + mg->nlevels; level++) {
    PetscCall(HJOperatorDestroy(&level->opt));
    PetscCall(MatDestroy(&level->At));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Grids of one direction whose matrices are unsymmetric. Points between coarse ones are coupled to these alone, so that interpolation from
   their rows is exact and the Galerkin operator is what their elimination leaves; residuals are to be restricted by columns then. By the
   transpose of the interpolation they would be so wrong, where coefficients jump and something flows inside strong parts, that a correction
   is as many times too large as the coefficients differ, and a left Krylov method measures the answer by that. Decides where this is done.
*/
#include "hjmg.h"

/* What A P may have at points between coarse ones, as a share of their diagonals: rounding */
#define HJ_MG_EXACT HJ_BY_PRECISION(1e-10, 1e-4)

static PetscBool HJMGHasOneDirection(const HJMGLevel *level)
{
  const HJGrid *grid  = &level->op->grid;
  int           sides = 0;

  for (int d = 0; d < 3; d++) sides += grid->N[d] > 1;
  return (PetscBool)(sides == 1);
}

/* Whether A P is 0 at the points between coarse ones, on all ranks */
static PetscErrorCode HJMGInterpolatesExactly(const HJMGLevel *level, PetscBool *exact)
{
  const PetscInt    *n = level->op->grid.owned.hi;
  HJCut              cut[3];
  Vec                coarse, fine, product;
  const PetscScalar *v, *diagonal;

  PetscFunctionBegin;
  *exact = PETSC_TRUE;
  PetscCall(HJGridGetCuts(level->da, cut));
  PetscCall(MatCreateVecs(level->P, &coarse, &fine));
  PetscCall(VecDuplicate(fine, &product));
  PetscCall(HJMGFillRough(level->op->ops, coarse)); /* from 0 to 1 */
  PetscCall(MatMult(level->P, coarse, fine));
  PetscCall(MatMult(level->A, fine, product));
  PetscCall(MatGetDiagonal(level->A, fine));
  PetscCall(VecGetArrayRead(product, &v));
  PetscCall(VecGetArrayRead(fine, &diagonal));
  for (PetscInt i = 0; i < n[0] * n[1] * n[2]; i++) {
    PetscBool between = PETSC_FALSE;

    for (int d = 0; d < 3; d++) {
      const PetscInt at = cut[d].start + i; /* along the one direction that has more than one point */

      if (level->coarsening.factor[d] == 2 && (at - HJCoarsenPoint(&level->coarsening, d, 0)) % 2) between = PETSC_TRUE;
    }
    if (between && !(PetscAbsScalar(v[i]) <= HJ_MG_EXACT * PetscAbsScalar(diagonal[i]))) *exact = PETSC_FALSE;
  }
  PetscCall(VecRestoreArrayRead(fine, &diagonal));
  PetscCall(VecRestoreArrayRead(product, &v));
  PetscCall(HJOnAllRanks(PetscObjectComm((PetscObject)level->da), exact));
  PetscCall(VecDestroy(&coarse));
  PetscCall(VecDestroy(&fine));
  PetscCall(VecDestroy(&product));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGMakeColumns(HJMGLevel *level, DM coarse)
{
  PetscErrorCode (*transfer)(Mat, const HJTransfer **);
  const HJTransfer *t;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)level->P, HJ_GET_TRANSFER, &transfer));
  PetscCall((*transfer)(level->P, &t));
  if (!level->R) PetscCall(HJMatCreateTransfer(coarse, level->da, t, &level->R));
  PetscCall(HJMatTransferSetColumns(level->R, level->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGMakeExactTransfer(const PC_HJMG *mg, HJMGLevel *level, DM coarse, PetscBool *made)
{
  HJSetInterpolation set;
  HJJump             jump = {0};

  PetscFunctionBegin;
  *made = PETSC_FALSE;
  if (mg->transfer != PC_HJMG_TRANSFER_BILINEAR && HJMGIsOfFinest(mg, level) && !mg->level[0].lifted && HJMGHasOneDirection(level)) {
    PetscCall(HJMGFindSkew(mg, level));
    if (level->skew > HJ_MG_SKEW) {
      PetscCall(PetscObjectQueryFunction((PetscObject)level->P, HJ_SET_INTERPOLATION, &set));
      PetscCall((*set)(level->P, level->A, PETSC_TRUE, -1.0, &jump));
      PetscCall(HJMGInterpolatesExactly(level, made));
    }
  }
  if (*made) {
    level->jump         = jump.largest;
    level->follows_rows = PETSC_TRUE;
    PetscCall(HJMGMakeColumns(level, coarse));
  } else PetscCall(MatDestroy(&level->R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Where coarse operators are stars: 5 or 7 points in place of the 9 or 27 of Galerkin products. Decides whether; src/mat makes them.
*/
#include "hjmg.h"
#include "../core/hjcoefficients.h"

/* Row sums, times the diagonal, that count as 0: rounding of a row's own entries */
#define HJ_MG_ROW_SUM 1e-12

/* One star for all points of the finest grid, the same in opposite directions, that sums to 0: the part of a product that leads to corners
   is then that of a mass, which may be lumped */
PetscErrorCode HJMGWantsStars(PC_HJMG *mg, PetscBool *wants)
{
  const HJCoefficients *c;
  HJGetCoefficients     get;
  PetscScalar           sum = 0.0;

  PetscFunctionBegin;
  *wants = mg->stars;
  if (mg->base) PetscFunctionReturn(PETSC_SUCCESS); /* on fewer ranks: as above */
  *wants = PETSC_FALSE;
  if (mg->galerkin || mg->transfer == PC_HJMG_TRANSFER_OPERATOR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectQueryFunction((PetscObject)mg->level[0].A, HJ_GET_COEFFICIENTS, &get));
  PetscCall((*get)(mg->level[0].A, mg->level[0].op->ops->mtype, &c));
  if (c->storage != HJ_COEFFICIENTS_ROW || c->shape != HJ_STAR || c->dim == 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt s = 0; s < c->nslots; s++) {
    if (c->rows[s] != c->rows[HJSlotOpposite(c, s)]) PetscFunctionReturn(PETSC_SUCCESS);
    sum += c->rows[s];
  }
  *wants = (PetscBool)(PetscAbsScalar(sum) <= HJ_MG_ROW_SUM * PetscAbsScalar(c->rows[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

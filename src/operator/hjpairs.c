/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Pairs of components: the arrays of one pair at a time are copied side by side, whatever the storage.
*/
#include "hjpairs.h"
#include "hjoperator.h"

PetscErrorCode HJPairsOpen(const HJArrayOps *ops, const HJCoefficients *a, HJPairs *pairs)
{
  HJCoefficients *one = &pairs->one;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(pairs, sizeof(*pairs)));
  pairs->ops   = ops;
  pairs->a     = a;
  one->dim     = a->dim;
  one->shape   = a->shape;
  one->nslots  = HJCoefficientsOffsets(a);
  one->dof     = 1;
  one->storage = HJ_COEFFICIENTS_ARRAYS;
  one->npoints = a->npoints;
  one->mtype   = ops->backend->mtype;
  PetscCall(ops->backend->multigrid->scratch(one->nslots * one->npoints, PETSC_FALSE, &one->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJPairsHave(const HJCoefficients *a, PetscInt row, PetscInt column)
{
  for (PetscInt o = 0; o < HJCoefficientsOffsets(a); o++)
    if (HJSlotOfEntry(a, o, row, column) >= 0) return PETSC_TRUE;
  return PETSC_FALSE;
}

PetscBool HJPairsAreAlone(const HJCoefficients *a)
{
  for (PetscInt s = 0; s < a->nslots; s++)
    if (HJSlotRow(a, s) != HJSlotColumn(a, s)) return PETSC_FALSE;
  return PETSC_TRUE;
}

PetscErrorCode HJPairsGet(HJPairs *pairs, const HJGrid *grid, PetscInt row, PetscInt column)
{
  const HJCoefficients *a = pairs->a;

  PetscFunctionBegin;
  for (PetscInt o = 0; o < pairs->one.nslots; o++) {
    const PetscInt slot = HJSlotOfEntry(a, o, row, column);
    PetscScalar   *to   = pairs->one.value + o * a->npoints;
    HJBox          keep;

    if (slot < 0) PetscCall(pairs->ops->zero(to, a->npoints * sizeof(*to)));
    else if (a->storage == HJ_COEFFICIENTS_ARRAYS)
      PetscCall(pairs->ops->copy(to, a->value + HJSlotBegin(a, slot), a->npoints * sizeof(*to)));
    else {
      keep = HJCoefficientsInside(a, slot, grid);
      PetscCall(pairs->ops->slot(a, slot, grid->owned.hi, &keep, to));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJPairsClose(HJPairs *pairs)
{
  PetscFunctionBegin;
  PetscCall(pairs->ops->backend->multigrid->unscratch(&pairs->one.value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The rows of a stencil matrix at the points inside layers whose rows are known, as a matrix on the grid of these points. What leads out of
   it is left out, so that rows which differ there alone are one.
*/
#include "mat/base/hjmat.h"
#include "operator/hjknown.h"

/* A dictionary stays one, of fewer rows */
static PetscErrorCode HJInsideFillRows(const HJArrayOps *ops, const HJGrid *grid, const HJCoefficients *from, const HJBox *box, Mat B)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)B->data;
  HJCoefficients *to = ops == &HJArraysHost ? &hj->c : &hj->d;

  PetscFunctionBegin;
  PetscCall(HJMatFree(B));
  hj->c.storage = HJ_COEFFICIENTS_DICTIONARY;
  hj->c.nrows   = from->nrows;
  PetscCall(PetscMalloc1(from->nrows * from->nslots, &hj->c.rows));
  PetscCall(PetscArraycpy(hj->c.rows, from->rows, from->nrows * from->nslots));
  PetscCall((*ops->alloc)((size_t)hj->c.npoints, &to->index));
  PetscCall((*ops->part)(1, box, &grid->owned, from->index, box, to->index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJInsideFillArrays(const HJArrayOps *ops, const HJGrid *grid, const HJCoefficients *from, const HJBox *box, Mat B)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)B->data;
  HJCoefficients *to = ops == &HJArraysHost ? &hj->c : &hj->d;

  PetscFunctionBegin;
  PetscCall(HJMatAllocArrays(B, ops->backend->mtype, PETSC_FALSE));
  for (PetscInt s = 0; s < to->nslots; s++) {
    PetscCall(
      (*ops->part)(sizeof(PetscScalar), box, &grid->owned, from->value + HJSlotBegin(from, s), box, to->value + HJSlotBegin(to, s)));
    hj->use[s].touched = PETSC_TRUE; /* what leads out is set to 0 */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJInsideCreate(Mat A, const HJKnown *known, DM inner, Mat *B)
{
  const PetscInt n = (PetscInt)HJBoxSize(&known->inside);

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetSizes(*B, n, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*B, MATHJSTENCIL));
  PetscCall(MatSetDM(*B, inner));
  PetscCall(MatSetUp(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatCreateInside(Mat A, const HJKnown *known, DM inner, Mat *B)
{
  Mat_HJStencil    *hj = (Mat_HJStencil *)A->data;
  const HJArrayOps *ops;
  HJCoefficients   *c;
  PetscBool         set, flag;

  PetscFunctionBegin;
  PetscCall(HJMatGetHome(A, &ops, &c));
  if (!*B) PetscCall(HJInsideCreate(A, known, inner, B));
  PetscCall(HJMatFree(*B));
  if (((Mat_HJStencil *)(*B)->data)->c.shape != hj->c.shape) PetscCall(HJMatSetShape(*B, hj->c.shape));
  if (c->storage == HJ_COEFFICIENTS_ARRAYS) PetscCall(HJInsideFillArrays(ops, &hj->grid, c, &known->inside, *B));
  else PetscCall(HJInsideFillRows(ops, &hj->grid, c, &known->inside, *B));
  PetscCall(HJMatTouched(*B, ops));
  PetscCall(HJMatChooseStorage(*B, PETSC_TRUE));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatIsSymmetricKnown(A, &set, &flag));
  if (set && flag) PetscCall(MatSetOption(*B, MAT_SYMMETRIC, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

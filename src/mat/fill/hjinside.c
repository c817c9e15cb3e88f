/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The rows of a stencil matrix at the points inside layers whose rows are known, as a matrix on the grid of these points. What leads out of
   it is left out, so that rows which differ there alone are one.
*/
#include "mat/base/hjmat.h"
#include "operator/hjknown.h"

/* Lines of an array over the owned points of one grid that lie in the box, into one over the other's */
static void HJInsideCopy(const HJGrid *grid, const HJBox *box, size_t size, const char *from, char *to)
{
  const size_t bytes = (size_t)HJBoxWidth(box, 0) * size;

  for (PetscInt k = box->lo[2]; k < box->hi[2]; k++) {
    for (PetscInt j = box->lo[1]; j < box->hi[1]; j++, to += bytes)
      memcpy(to, from + (size_t)HJBoxIndex(&grid->owned, box->lo[0], j, k) * size, bytes);
  }
}

/* A dictionary stays one, of fewer rows */
static PetscErrorCode HJInsideFillRows(const HJGrid *grid, const HJCoefficients *from, const HJBox *box, Mat B)
{
  HJCoefficients *c = &((Mat_HJStencil *)B->data)->c;

  PetscFunctionBegin;
  PetscCall(HJMatFree(B));
  c->storage = HJ_COEFFICIENTS_DICTIONARY;
  c->nrows   = from->nrows;
  PetscCall(PetscMalloc1(from->nrows * from->nslots, &c->rows));
  PetscCall(PetscArraycpy(c->rows, from->rows, from->nrows * from->nslots));
  PetscCall(PetscMalloc1(c->npoints, &c->index));
  HJInsideCopy(grid, box, 1, (const char *)from->index, (char *)c->index);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJInsideFillArrays(const HJGrid *grid, const HJCoefficients *from, const HJBox *box, Mat B)
{
  HJCoefficients *c = &((Mat_HJStencil *)B->data)->c;

  PetscFunctionBegin;
  PetscCall(HJMatAllocArrays(B, PETSC_MEMTYPE_HOST, PETSC_FALSE));
  for (PetscInt s = 0; s < c->nslots; s++)
    HJInsideCopy(grid, box, sizeof(PetscScalar), (const char *)(from->value + HJSlotBegin(from, s)),
                 (char *)(c->value + HJSlotBegin(c, s)));
  for (PetscInt s = 0; s < c->nslots; s++) ((Mat_HJStencil *)B->data)->use[s].touched = PETSC_TRUE; /* what leads out is set to 0 */
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
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;
  PetscBool      set, flag;

  PetscFunctionBegin;
  PetscCall(HJMatGetHost(A));
  if (!*B) PetscCall(HJInsideCreate(A, known, inner, B));
  PetscCall(HJMatFree(*B));
  if (((Mat_HJStencil *)(*B)->data)->c.shape != hj->c.shape) PetscCall(HJMatSetShape(*B, hj->c.shape));
  if (hj->c.storage == HJ_COEFFICIENTS_ARRAYS) PetscCall(HJInsideFillArrays(&hj->grid, &hj->c, &known->inside, *B));
  else PetscCall(HJInsideFillRows(&hj->grid, &hj->c, &known->inside, *B));
  PetscCall(HJMatTouchedHost(*B));
  PetscCall(HJMatChooseAnew(*B));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatIsSymmetricKnown(A, &set, &flag));
  if (set && flag) PetscCall(MatSetOption(*B, MAT_SYMMETRIC, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

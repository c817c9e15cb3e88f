/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Points of a system whose rows have nothing of other points, as those of identity rows at a wall or in a body. Sweeps solve them, and in
   units that need not be the others'. Decides which points these are; MATHJTRANSFER takes them out of the interpolation.
*/
#include "hjmg.h"
#include "operator/hjpairs.h"
#include "operator/hjvectors.h"

PetscErrorCode HJMGFindKnownPoints(Mat A, Vec *mask)
{
  const HJArrayOps     *ops;
  const HJCoefficients *a;
  HJVecArray            array;
  PetscBool             any;

  PetscFunctionBegin;
  PetscCall(HJCoefficientsHome(A, &ops, &a));
  PetscCall(MatCreateVecs(A, NULL, mask));
  PetscCall(HJVecOpen(ops->backend, NULL, HJ_WRITE, *mask, NULL, &array));
  PetscCall(ops->known(a, array.used, &any));
  PetscCall(HJVecClose(&array));
  PetscCall(HJOnAnyRank(PetscObjectComm((PetscObject)A), &any));
  if (!any) PetscCall(VecDestroy(mask));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGKnownPointsAreSame(Vec a, Vec b, PetscBool *same)
{
  PetscFunctionBegin;
  *same = (PetscBool)(!a == !b);
  if (a && b) PetscCall(VecEqual(a, b, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

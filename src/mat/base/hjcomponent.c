/* SPDX-License-Identifier: BSD-2-Clause */
/*
   One component of vectors with several unknowns a point, as an array of its own. Of one unknown a point the vector is that array.
*/
#include "hjmat.h"

PetscErrorCode HJComponentAlloc(const HJArrayOps *ops, const HJCoefficients *c, PetscCount n, PetscScalar **work)
{
  PetscFunctionBegin;
  *work = NULL;
  if (c->dof > 1) PetscCall(ops->alloc((size_t)n * sizeof(**work), work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJComponentFree(const HJArrayOps *ops, PetscScalar **work)
{
  PetscFunctionBegin;
  if (*work) PetscCall(ops->free(work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const PetscScalar *HJComponentGet(PetscInt dof, PetscInt l, PetscCount n, const PetscScalar *v, PetscScalar *work)
{
  if (dof == 1) return v;
  for (PetscCount p = 0; p < n; p++) work[p] = v[p * dof + l];
  return work;
}

void HJComponentPut(PetscInt dof, PetscInt l, PetscCount n, const PetscScalar *from, PetscScalar *v)
{
  if (from == v) return;
  for (PetscCount p = 0; p < n; p++) v[p * dof + l] = from[p];
}

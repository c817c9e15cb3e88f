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

PetscErrorCode HJComponentGet(const HJArrayOps *ops, PetscInt dof, PetscInt l, PetscCount n, const PetscScalar *v, PetscScalar *work,
                              const PetscScalar **component)
{
  PetscFunctionBegin;
  *component = dof == 1 ? v : work;
  if (dof > 1) PetscCall(ops->spread(dof, l, n, v, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJComponentPut(const HJArrayOps *ops, PetscInt dof, PetscInt l, PetscCount n, const PetscScalar *from, PetscScalar *v)
{
  PetscFunctionBegin;
  if (from != v) PetscCall(ops->join(dof, l, n, from, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

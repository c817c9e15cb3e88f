/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Null spaces and the iterates of a KSP; see the header. Decides nothing.
*/
#include "hjkrylov.h"

PetscErrorCode HJIteratesRemove(const HJIterates *how, Vec x)
{
  PetscFunctionBegin;
  if (!how->removed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatNullSpaceRemove(how->removed, x));
  if (how->kept) PetscCall(VecAXPY(x, 1.0, how->kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

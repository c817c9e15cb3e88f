/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The registration of the types.
*/
#include "hjksp.h"
#include "operator/hjoperator.h"

PetscErrorCode KSPHJInitializePackage(void)
{
  PetscFunctionBegin;
  PetscCall(KSPInitializePackage());
  PetscCall(KSPRegister(KSPHJRICHARDSON, KSPCreate_HJRichardson));
  PetscCall(KSPRegister(KSPHJCG, KSPCreate_HJCG));
  PetscFunctionReturn(PETSC_SUCCESS);
}

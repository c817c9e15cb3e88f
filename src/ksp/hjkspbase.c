/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Types that are PETSc's but for some operations. Decides nothing.
*/
#include "hjksp.h"

#define HJ_KSP "HJKSP"

PetscErrorCode HJKSPGet(KSP ksp, HJKSP **hj)
{
  PetscContainer container = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)ksp, HJ_KSP, (PetscObject *)&container));
  PetscCheck(container, PetscObjectComm((PetscObject)ksp), PETSC_ERR_PLIB, "This KSP is none of hjacobi's");
  PetscCall(PetscContainerGetPointer(container, (void **)hj));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes *hj away, and does what PETSc's type does */
static PetscErrorCode HJKSPDestroy(KSP ksp)
{
  HJKSP *hj;
  PetscErrorCode (*destroy)(KSP);

  PetscFunctionBegin;
  PetscCall(HJKSPGet(ksp, &hj));
  destroy = hj->base.destroy;
  PetscCall(PetscObjectCompose((PetscObject)ksp, HJ_KSP, NULL));
  PetscCall(PetscFree(hj));
  PetscCall((*destroy)(ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKSPCreate(KSP ksp, KSPType type, size_t bytes, HJKSP **hj)
{
  PetscContainer container;
  PetscErrorCode (*create)(KSP) = NULL;

  PetscFunctionBegin;
  PetscCall(PetscFunctionListFind(KSPList, type, &create));
  PetscCheck(create, PetscObjectComm((PetscObject)ksp), PETSC_ERR_ARG_UNKNOWN_TYPE, "This PETSc has no KSP type %s", type);
  PetscCall((*create)(ksp));
  PetscCall(PetscMalloc(bytes, hj));
  PetscCall(PetscMemzero(*hj, bytes));
  (*hj)->base = *ksp->ops;
  PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
  PetscCall(PetscContainerSetPointer(container, *hj));
  PetscCall(PetscObjectCompose((PetscObject)ksp, HJ_KSP, (PetscObject)container));
  PetscCall(PetscContainerDestroy(&container));
  ksp->ops->destroy = HJKSPDestroy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJKSPIsWatched(KSP ksp)
{
  return (PetscBool)(ksp->numbermonitors || (ksp->converged != KSPConvergedDefault && ksp->converged != KSPConvergedSkip));
}

PetscErrorCode HJKSPFindReason(KSP ksp, const char **why)
{
  PetscBool scaled = PETSC_FALSE;

  PetscFunctionBegin;
#if HJ_PC_MAY_SCALE
  PetscCall(PCGetDiagonalScale(ksp->pc, &scaled));
#endif
  if (ksp->transpose_solve) *why = "the system is transposed";
  else if (scaled) *why = "the preconditioner scales by a diagonal";
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKSPView(KSP ksp, PetscViewer viewer, PetscBool *ascii)
{
  HJKSP *hj;

  PetscFunctionBegin;
  PetscCall(HJKSPGet(ksp, &hj));
  PetscCall((*hj->base.view)(ksp, viewer));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, ascii));
  PetscFunctionReturn(PETSC_SUCCESS);
}

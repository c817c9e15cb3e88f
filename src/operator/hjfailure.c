/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What a failed set-up says, and what its PC then does; see the header. Decides nothing.
*/
#include "hjfailure.h"
#include <petscksp.h>

PetscErrorCode HJFailureClear(PC pc, HJFailure *f)
{
  PetscFunctionBegin;
  f->words[0] = 0;
  PetscCall(PCSetFailedReason(pc, PC_NOERROR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJFailureNoBound(PetscReal emax, PetscInt level, HJFailure *f)
{
  char where[32] = "";

  PetscFunctionBegin;
  if (level >= 0) PetscCall(PetscSNPrintf(where, sizeof(where), " on level %" PetscInt_FMT, level));
  PetscCall(PetscSNPrintf(f->words, sizeof(f->words),
                          "The eigenvalues of D^-1 A have no finite bound (%g)%s: an entry of the matrix is NaN or infinite, or a "
                          "diagonal is too small for its row; correct the matrix",
                          (double)emax, where));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJFailureSingular(const char point[], HJFailure *f)
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(f->words, sizeof(f->words),
                          "%s, and each point's block of the unknowns there must have an inverse; for a saddle "
                          "point use -pc_type fieldsplit",
                          point));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All ranks have the same reason: a maximum over them, which PETSc takes, loses one that is negative where others have none */
PetscErrorCode HJFailureReport(PC pc, PetscBool stops, const HJFailure *f)
{
  PetscFunctionBegin;
  if (!HJHasFailed(f)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!stops, PetscObjectComm((PetscObject)pc), PETSC_ERR_FP, "%s", f->words);
  PetscCall(PetscInfo(pc, "Set-up failed: %s\n", f->words));
  PetscCall(PCSetFailedReason(pc, PC_SETUP_ERROR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJFailureApply(Vec x)
{
  PetscFunctionBegin;
  PetscCall(VecSet(x, (PetscScalar)HUGE_VAL)); /* PETSC_INFINITY is finite in old PETSc */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJFailureApplyRichardson(Vec x, PetscInt *its, PCRichardsonConvergedReason *reason)
{
  PetscFunctionBegin;
  PetscCall(HJFailureApply(x));
  *its    = 0;
  *reason = (PCRichardsonConvergedReason)KSP_DIVERGED_PC_FAILED; /* KSPRICHARDSON takes it for its own */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   KSPHJRICHARDSON: the PC does what KSPRICHARDSON has it do, also where that goes through its own loop: with a null space, monitors, a
   user's test. Decides when, and takes the null space out of the result.
*/
#include "hjksp.h"

typedef struct {
  HJKSP     ksp;
  PetscReal scale; /* what was set, as PETSc's type tells nobody */
  PetscBool self_scale;
  PetscErrorCode (*set_scale)(KSP, PetscReal); /* PETSc's */
  PetscErrorCode (*set_self_scale)(KSP, PetscBool);
} KSP_HJRichardson;

#define HJ_SET_SCALE      "KSPRichardsonSetScale_C"
#define HJ_SET_SELF_SCALE "KSPRichardsonSetSelfScale_C"

/* What does the solve; NULL: KSPRICHARDSON does, and *why says so */
static PetscErrorCode HJRichardsonFind(KSP ksp, const KSP_HJRichardson *hj, HJRichardson *cycles, const char **why)
{
  PCFailedReason failed;
  PetscBool      exists;

  PetscFunctionBegin;
  *cycles = NULL;
  *why    = NULL;
  PetscCall(PCGetFailedReason(ksp->pc, &failed));
  PetscCall(PCApplyRichardsonExists(ksp->pc, &exists));
  PetscCall(HJKSPFindReason(ksp, why));
  if (exists) PetscCall(PetscObjectQueryFunction((PetscObject)ksp->pc, HJ_RICHARDSON, cycles));
  if (!*cycles) *why = "the preconditioner has no cycles that test by themselves";
  else if (hj->scale != 1.0 || hj->self_scale) *why = "corrections are scaled";
  else if (failed) *why = "the set-up of the preconditioner failed";
  else if (ksp->normtype == KSP_NORM_NONE && HJKSPIsWatched(ksp)) *why = "there is a monitor or a test, and no norm";
  if (*why) *cycles = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part of the initial guess that corrections have not */
static PetscErrorCode HJRichardsonKeep(MatNullSpace removed, Vec x, Vec kept)
{
  PetscFunctionBegin;
  PetscCall(VecCopy(x, kept));
  PetscCall(MatNullSpaceRemove(removed, kept));
  PetscCall(VecAYPX(kept, -1.0, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSolve_HJRichardson(KSP ksp)
{
  KSP_HJRichardson           *hj;
  HJRichardson                cycles;
  HJIterates                  how = {NULL};
  PCRichardsonConvergedReason reason;
  const char                 *why;
  const Vec                   x = ksp->vec_sol;
  Mat                         A;

  PetscFunctionBegin;
  PetscCall(HJKSPGet(ksp, (HJKSP **)&hj));
  PetscCall(PCSetUp(ksp->pc)); /* as each PCApply() does: values may be new that no KSPSetOperators() told of */
  PetscCall(HJRichardsonFind(ksp, hj, &cycles, &why));
  if (!cycles) {
    PetscCall(PetscInfo(ksp, "Solved as by KSPRICHARDSON: %s\n", why));
    PetscCall((*hj->ksp.base.solve)(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCGetOperators(ksp->pc, &A, NULL));
  PetscCall(MatGetNullSpace(A, &how.removed));
  how.shown = HJKSPIsWatched(ksp);
  if (how.removed && !ksp->guess_zero) {
    how.kept = ksp->work[1];
    PetscCall(HJRichardsonKeep(how.removed, x, how.kept));
  }
  ksp->its = 0;
  PetscCall((*cycles)(ksp->pc, &how, ksp->vec_rhs, x, ksp->work[0], ksp->max_it, ksp->guess_zero, &ksp->its, &reason));
  ksp->reason = (KSPConvergedReason)reason;
  PetscCall(HJIteratesRemove(&how, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPView_HJRichardson(KSP ksp, PetscViewer viewer)
{
  KSP_HJRichardson *hj;
  HJRichardson      cycles;
  const char       *why;
  PetscBool         ascii;

  PetscFunctionBegin;
  PetscCall(HJKSPGet(ksp, (HJKSP **)&hj));
  PetscCall(HJKSPView(ksp, viewer, &ascii));
  if (!ascii || !ksp->pc) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJRichardsonFind(ksp, hj, &cycles, &why));
  if (cycles) PetscCall(PetscViewerASCIIPrintf(viewer, "  iterations and their tests are the preconditioner's\n"));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "  as KSPRICHARDSON: %s\n", why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPRichardsonSetScale_HJRichardson(KSP ksp, PetscReal scale)
{
  KSP_HJRichardson *hj;

  PetscFunctionBegin;
  PetscCall(HJKSPGet(ksp, (HJKSP **)&hj));
  PetscCall((*hj->set_scale)(ksp, scale));
  hj->scale = scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPRichardsonSetSelfScale_HJRichardson(KSP ksp, PetscBool scale)
{
  KSP_HJRichardson *hj;

  PetscFunctionBegin;
  PetscCall(HJKSPGet(ksp, (HJKSP **)&hj));
  PetscCall((*hj->set_self_scale)(ksp, scale));
  hj->self_scale = scale;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   KSPHJRICHARDSON - `KSPRICHARDSON` whose iterations are the cycles of `PCHJMG` or `PCHJACOBI`, with a null space and monitors too

   Options Database Keys:
+  -ksp_richardson_scale <1>     - damping factor
-  -ksp_richardson_self_scale    - damping factor found in each iteration

   Level: intermediate

   Notes:
   `KSPRICHARDSON` hands its iterations to a preconditioner that has fast ones, but not where the matrix has a null space, a monitor looks
   on, or the test is the user's. This type does it there too, with `PCHJMG` and `PCHJACOBI`: cycles of `PCHJMG` are rotated then
   (`KSP_NORM_UNPRECONDITIONED`). The null space is taken out of the result once, and out of what a monitor may look at.

   With another preconditioner, a damping factor, a transposed system, or monitors and `KSP_NORM_NONE` it is `KSPRICHARDSON`; `-ksp_view`
   says why. A program that is only watched, and whose small grid is solved on fewer ranks as a whole, makes cycles that are not rotated.

.seealso: `KSPCreate()`, `KSPSetType()`, `KSP`, `KSPRICHARDSON`, `PCHJMG`, `PCHJACOBI`, `PCHJacobiSetCheckEvery()`
M*/
PetscErrorCode KSPCreate_HJRichardson(KSP ksp)
{
  KSP_HJRichardson *hj;

  PetscFunctionBegin;
  PetscCall(HJKSPCreate(ksp, KSPRICHARDSON, sizeof(*hj), (HJKSP **)&hj));
  hj->scale = 1.0;
  PetscCall(PetscObjectQueryFunction((PetscObject)ksp, HJ_SET_SCALE, &hj->set_scale));
  PetscCall(PetscObjectQueryFunction((PetscObject)ksp, HJ_SET_SELF_SCALE, &hj->set_self_scale));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, HJ_SET_SCALE, KSPRichardsonSetScale_HJRichardson));
  PetscCall(PetscObjectComposeFunction((PetscObject)ksp, HJ_SET_SELF_SCALE, KSPRichardsonSetSelfScale_HJRichardson));
  ksp->ops->solve         = KSPSolve_HJRichardson;
  ksp->ops->view          = KSPView_HJRichardson;
  ksp->ops->buildresidual = KSPBuildResidualDefault; /* PETSc's reads a work vector of its own loop */
  PetscFunctionReturn(PETSC_SUCCESS);
}

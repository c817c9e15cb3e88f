/*
   The cycle, and apply: one cycle, its cycles, or cycles until the KSP's own test stops them.
*/
#include "hjmg.h"

/* The coarsest grid's sweeps; what b and x have of the constants is taken out where they are in the null space */
static PetscErrorCode HJMGSolveCoarsest(PC_HJMG *mg, HJMGLevel *level, PetscBool zero, Vec b, Vec x)
{
  PetscFunctionBegin;
  if (!mg->constants) {
    PetscCall(HJOperatorRun(level->op, &level->w, 1, zero, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecCopy(b, level->r));
  PetscCall(MatNullSpaceRemove(mg->constants, level->r));
  PetscCall(HJOperatorRun(level->op, &level->w, 1, zero, level->r, x));
  PetscCall(MatNullSpaceRemove(mg->constants, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same where the levels from this one on are on fewer ranks, whose cycle starts from zero */
static PetscErrorCode HJMGSolveGathered(PC_HJMG *mg, HJMGLevel *level, PetscBool zero, Vec b, Vec x)
{
  PetscFunctionBegin;
  if (zero) {
    PetscCall(HJMGGatherApply(mg->gather, PETSC_FALSE, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatResidual(level->A, b, x, level->r));
  PetscCall(HJMGGatherApply(mg->gather, PETSC_FALSE, level->r, level->r));
  PetscCall(VecAXPY(x, 1.0, level->r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One V-cycle from level l down; zero: x is not read and starts at 0 */
static PetscErrorCode HJMGCycle(PC_HJMG *mg, PetscInt l, PetscBool zero, Vec b, Vec x)
{
  HJMGLevel *level = &mg->level[l], *next = level + 1;

  PetscFunctionBegin;
  PetscCall(HJMGLogMove(mg, l - 1, l));
  if (l == mg->nlevels - 1) {
    if (mg->gather) PetscCall(HJMGSolveGathered(mg, level, zero, b, x));
    else PetscCall(HJMGSolveCoarsest(mg, level, zero, b, x));
    PetscCall(HJMGLogMove(mg, l, l - 1));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJOperatorRun(level->op, &level->w, 1, zero, b, x));
  PetscCall(MatResidual(level->A, b, x, level->r));
  PetscCall(MatMultTranspose(level->P, level->r, next->b));
  PetscCall(HJMGCycle(mg, l + 1, PETSC_TRUE, next->b, next->x));
  PetscCall(MatMultAdd(level->P, next->x, x, x));
  PetscCall(HJOperatorRun(level->op, &level->w, 1, PETSC_FALSE, b, x));
  PetscCall(HJMGLogMove(mg, l, l - 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGRun(PC pc, PetscBool zero, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PCHJMG_Cycle, pc, 0, 0, 0));
  PetscCall(HJMGCycle((PC_HJMG *)pc->data, 0, zero, b, x));
  PetscCall(PetscLogEventEnd(PCHJMG_Cycle, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApply_HJMG(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(HJMGRun(pc, PETSC_TRUE, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The test of KSPRICHARDSON at cycle it: its norm, its history, its convergence function */
static PetscErrorCode HJMGTest(KSP ksp, PetscInt it, Vec v)
{
  PetscFunctionBegin;
  PetscCall(VecNorm(v, NORM_2, &ksp->rnorm));
  PetscCall(KSPLogResidualHistory(ksp, ksp->rnorm));
  PetscCall((*ksp->converged)(ksp, it, ksp->rnorm, &ksp->reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPRICHARDSON's own loop: tests the residual, or its correction by a cycle, before each step. zero: x holds zeros */
static PetscErrorCode HJMGSolve(PC pc, Vec b, Vec x, PetscInt its, PetscBool zero, PetscInt *it)
{
  PC_HJMG        *mg       = (PC_HJMG *)pc->data;
  KSP             ksp      = mg->ksp;
  const PetscBool residual = (PetscBool)(ksp->normtype == KSP_NORM_UNPRECONDITIONED);

  PetscFunctionBegin;
  for (*it = 0;; ++*it) {
    if (zero && !*it) PetscCall(VecCopy(b, mg->residual));
    else PetscCall(MatResidual(pc->mat, b, x, mg->residual));
    if (residual) PetscCall(HJMGTest(ksp, *it, mg->residual));
    if (residual && (ksp->reason || *it == its)) break;
    PetscCall(HJMGRun(pc, PETSC_TRUE, mg->residual, mg->correction));
    if (!residual) PetscCall(HJMGTest(ksp, *it, mg->correction));
    if (!residual && (ksp->reason || *it == its)) break;
    PetscCall(VecAXPY(x, 1.0, mg->correction));
  }
  if (!ksp->reason) ksp->reason = KSP_DIVERGED_ITS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its cycles, without a test. Where Amat differs from Pmat each is a correction for the residual of Amat */
static PetscErrorCode HJMGAdvance(PC pc, Vec b, Vec x, PetscInt its, PetscBool zero)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < its; i++) {
    if (pc->mat == pc->pmat || (zero && !i)) {
      PetscCall(HJMGRun(pc, (PetscBool)(zero && !i), b, x));
      continue;
    }
    PetscCall(MatResidual(pc->mat, b, x, mg->residual));
    PetscCall(HJMGRun(pc, PETSC_TRUE, mg->residual, mg->correction));
    PetscCall(VecAXPY(x, 1.0, mg->correction));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norm type NONE, or no KSP: all its, no norms. Else the tolerances are the KSP's */
PetscErrorCode PCApplyRichardson_HJMG(PC pc, Vec b, Vec x, Vec w, PetscReal rtol, PetscReal abstol, PetscReal dtol, PetscInt its,
                                      PetscBool zero, PetscInt *outits, PCRichardsonConvergedReason *reason)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  if (!mg->residual) PetscCall(VecDuplicate(b, &mg->residual));
  if (!mg->correction) PetscCall(VecDuplicate(x, &mg->correction));
  if (!mg->ksp || mg->ksp->normtype == KSP_NORM_NONE) {
    if (zero && !its) PetscCall(VecSet(x, 0.0));
    PetscCall(HJMGAdvance(pc, b, x, its, zero));
    *outits = its;
    *reason = PCRICHARDSON_CONVERGED_ITS;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (zero) PetscCall(VecSet(x, 0.0));
  PetscCall(HJMGSolve(pc, b, x, its, zero, outits));
  *reason = (PCRichardsonConvergedReason)mg->ksp->reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

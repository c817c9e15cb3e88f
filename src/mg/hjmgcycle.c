/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Apply: one cycle, as many as KSPRICHARDSON asks for, or cycles until the KSP's own test stops them. What a cycle consists of is in the
   lists that set-up has made.
*/
#include "hjmg.h"

/* A cycle of a matrix whose rows are scaled is that of D^-1 A for D^-1 b, and its transpose D^-T times what the cycle makes of b */
static PetscErrorCode HJMGRunLevels(PC pc, HJMGKind kind, Vec b, Vec x)
{
  PC_HJMG        *mg         = (PC_HJMG *)pc->data;
  const PetscBool transposed = (PetscBool)(kind == HJ_MG_TRANSPOSED);
  PetscBool       done       = PETSC_FALSE;
  Vec             y          = NULL;

  PetscFunctionBegin;
  PetscCall(HJMGGetFinest(pc, b, NULL, &y));
  if (mg->mask) {
    PetscCall(HJMGMultiplyVector(b, mg->mask, mg->masked));
    b = mg->masked;
  }
  if (mg->scale && !transposed) {
    PetscCall(HJMGMultiplyVector(b, mg->scale, mg->scaled));
    b = mg->scaled;
  }
  if (kind == HJ_MG_APPLY && HJMGIsSingle(mg)) PetscCall(HJMGSingleApply(pc, b, x, &done));
  if (!done) PetscCall(HJMGReplay(pc, kind, b, x, y));
  if (mg->steps[kind].in_y) PetscCall(VecCopy(y, x)); /* without smoothing before the correction it may end there */
  if (mg->scale && transposed) {
    PetscCall(HJMGMultiplyVector(x, mg->scale, mg->scaled));
    PetscCall(VecCopy(mg->scaled, x));
  }
  if (mg->mask) {
    PetscCall(HJMGMultiplyVector(x, mg->mask, mg->masked));
    PetscCall(VecCopy(mg->masked, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a cycle, or a solve, which may be placed, runs on vectors of the whole grid: they must be where the levels are */
static PetscErrorCode HJMGIsPlaced(PC pc, PetscBool placed, Vec b, Vec x, PetscBool zero, PetscBool *is)
{
  const PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  *is = (PetscBool)(placed && !HJMGIsSingle(mg));
  if (*is && PetscMemTypeDevice(mg->level[0].op->ops->mtype)) PetscCall(HJVecsAreIn(mg->level[0].op->ops, b, x, is));
  if (*is) PetscCall(HJMGInsideServes(mg->inside, b, x, zero, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGRun(PC pc, HJMGKind kind, PetscBool transposed, Vec b, Vec x)
{
  const PC_HJMG  *mg      = (PC_HJMG *)pc->data;
  HJMGInside      in      = mg->inside;
  const PetscBool zero    = (PetscBool)(kind != HJ_MG_ADVANCE);
  PetscBool       placed  = PETSC_FALSE;
  Vec             inner_b = b, inner_x = x;

  PetscFunctionBegin;
  if (in && !transposed) PetscCall(HJMGIsPlaced(pc, zero ? mg->placed : mg->all_placed, b, x, zero, &placed));
  if (in && !placed) PetscCall(HJMGInsideEnter(pc, transposed, zero, b, x, &inner_b, &inner_x));
  PetscCall(HJMGRunLevels(pc, kind, inner_b, inner_x));
  if (placed) PetscCall(HJMGInsideSetKnown(in, b, x));
  else if (in) PetscCall(HJMGInsideLeave(pc, transposed, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApply_HJMG(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(HJMGFollow(pc));
  if (HJHasFailed(&((PC_HJMG *)pc->data)->failure)) PetscCall(HJFailureApply(x));
  else PetscCall(HJMGRun(pc, HJ_MG_APPLY, PETSC_FALSE, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApplyTranspose_HJMG(PC pc, Vec b, Vec x)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  PetscBool turned;

  PetscFunctionBegin;
  PetscCall(HJMGFollow(pc));
  if (HJHasFailed(&mg->failure)) {
    PetscCall(HJFailureApply(x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!mg->scale && (mg->stars || mg->level[0].op->stencil->storage == HJ_SYMMETRIC)) { /* found to be, not only said to be */
    PetscCall(HJMGRun(pc, HJ_MG_APPLY, PETSC_TRUE, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGSetUpTranspose(pc));
  turned = (PetscBool)(mg->inverse && !mg->inverse_transposed); /* there is memory for one of them alone */
  if (turned) PetscCall(HJMGTransposeInverse(mg, mg->inverse));
  PetscCall(HJMGRun(pc, HJ_MG_TRANSPOSED, PETSC_TRUE, b, x));
  if (turned) PetscCall(HJMGTransposeInverse(mg, mg->inverse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The loop of KSPRICHARDSON itself: before each step it tests the residual, or the correction that a cycle makes of it. zero: x holds
   zeros */
static PetscErrorCode HJMGSolve(PC pc, const HJIterates *how, Vec b, Vec x, PetscInt its, PetscBool zero, PetscInt *it)
{
  PC_HJMG        *mg       = (PC_HJMG *)pc->data;
  KSP             ksp      = mg->ksp;
  const PetscBool residual = (PetscBool)(ksp->normtype == KSP_NORM_UNPRECONDITIONED);
  PetscReal       norm;

  PetscFunctionBegin;
  for (*it = 0;; ++*it) {
    if (zero && !*it) PetscCall(VecCopy(b, mg->residual));
    else PetscCall(MatResidual(pc->mat, b, x, mg->residual));
    if (residual) PetscCall(VecNorm(mg->residual, NORM_2, &norm));
    if (residual) PetscCall(HJMGTest(ksp, *it, norm));
    if (residual && (ksp->reason || *it == its)) break;
    PetscCall((*pc->ops->apply)(pc, mg->residual, mg->correction));
    if (how->removed) PetscCall(MatNullSpaceRemove(how->removed, mg->correction));
    if (!residual) PetscCall(VecNorm(mg->correction, NORM_2, &norm));
    if (!residual) PetscCall(HJMGTest(ksp, *it, norm));
    if (!residual && (ksp->reason || *it == its)) break;
    PetscCall(VecAXPY(x, 1.0, mg->correction));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGRotate(PC pc, Vec b, Vec *x, Vec *y)
{
  PetscFunctionBegin;
  PetscCall(HJMGReplay(pc, HJ_MG_ROTATED, b, *x, *y));
  HJMGSwapVectorsIf(((PC_HJMG *)pc->data)->steps[HJ_MG_ROTATED].in_y, x, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x becomes the iterate, which is in vx and is not read again where that is another vector */
static PetscErrorCode HJMGShow(const HJIterates *how, Vec vx, Vec x)
{
  PetscFunctionBegin;
  if (!how->shown) PetscFunctionReturn(PETSC_SUCCESS);
  if (vx != x) PetscCall(VecCopy(vx, x));
  PetscCall(HJIteratesRemove(how, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm of the residual of y, whose squares were sent. *good is false where it is no finite number; else x is overwritten if need be */
static PetscErrorCode HJMGSingleWait(PC_HJMG *mg, Vec b, Vec x, Vec y, PetscReal *norm, PetscBool *good)
{
  PetscScalar squares;

  PetscFunctionBegin;
  PetscCall(mg->level[0].op->ops->multigrid->number_wait(&mg->squares, &squares));
  *good = (PetscBool)!PetscIsInfOrNanScalar(squares);
  if (*good) PetscCall(HJMGNormOfSquares(mg->level[0].A, PetscRealPart(squares), b, y, x, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cycles in single precision that do not wait for a device, but for the norm. *x is the iterate, *y the other vector. It returns where the
   test stops them, or where double ones are to go on, which is when there is no single precision any more */
static PetscErrorCode HJMGSingleRotate(PC pc, KSP ksp, const HJIterates *how, Vec b, Vec x, PetscInt its, PetscBool zero, Vec *vx, Vec *vy,
                                       PetscInt *it)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  PetscReal norm[HJ_MG_SINGLE_PATIENCE + 1];
  PetscBool good;

  PetscFunctionBegin;
  norm[0] = ksp->rnorm;
  while (mg->single && !ksp->reason && *it < its) {
    PetscReal now;

    PetscCall(HJMGReplay(pc, *it ? HJ_MG_SINGLE_NEXT : zero ? HJ_MG_SINGLE_ZERO : HJ_MG_SINGLE_FIRST, b, *vx, *vy));
    PetscCall(HJMGSingleWait(mg, b, *vx, *vy, &now, &good));
    if (!good) { /* the iterate before it is there still */
      if (zero && !*it) PetscCall(VecSet(*vx, 0.0));
      PetscCall(HJMGSingleLeave(pc, HJ_MG_SINGLE_RANGE));
      break;
    }
    HJMGSwapVectorsIf(PETSC_TRUE, vx, vy);
    PetscCall(HJMGShow(how, *vx, x));
    PetscCall(HJMGTest(ksp, ++*it, now));
    norm[*it % (HJ_MG_SINGLE_PATIENCE + 1)] = now;
    if (!ksp->reason && *it >= HJ_MG_SINGLE_PATIENCE && !(now < norm[(*it + 1) % (HJ_MG_SINGLE_PATIENCE + 1)]))
      PetscCall(HJMGSingleLeave(pc, HJ_MG_SINGLE_STUCK));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same as HJMGSolveRotated(), by these */
static PetscErrorCode HJMGSolveSingleRotated(PC pc, KSP ksp, const HJIterates *how, Vec b, Vec x, PetscInt its, PetscBool zero,
                                             const PetscReal *first, PetscInt *it)
{
  PC_HJMG   *mg    = (PC_HJMG *)pc->data;
  HJMGLevel *level = &mg->level[0];
  Vec        begun = zero && mg->ended_in_y ? level->r : x, vx = begun, vy = begun == x ? level->r : x;

  PetscFunctionBegin;
  *it = 0;
  if (!zero) PetscCall(MatResidual(level->A, b, x, level->r));
  PetscCall(HJMGSingleBegin(mg, zero ? b : level->r));
  if (first) PetscCall(HJMGTest(ksp, 0, *first));
  else PetscCall(HJMGTestResidual(pc, ksp, 0, b, zero ? NULL : vx, vy));
  if (ksp->reason || !its) {
    if (zero) PetscCall(VecSet(x, 0.0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGSingleRotate(pc, ksp, how, b, x, its, zero, &vx, &vy, it));
  if (zero) mg->ended_in_y = (PetscBool)(vx != begun);
  if (vx != x) PetscCall(VecCopy(vx, x));
  if (!ksp->reason && *it < its) PetscCall(HJMGSingleSolve(pc, ksp, how, b, x, its, PETSC_FALSE, PETSC_TRUE, NULL, it));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Rotated cycles: the iterate of cycle it >= 1 is smoothed once more, by what comes before the correction of the next cycle. Its residual,
   which the next cycle restricts, is the one that is tested. So the norm costs no pass of its own, and is that of x
*/
PetscErrorCode HJMGSolveRotated(PC pc, KSP ksp, const HJIterates *how, Vec b, Vec x, PetscInt its, PetscBool zero, const PetscReal *first,
                                PetscInt *it)
{
  PC_HJMG        *mg    = (PC_HJMG *)pc->data;
  const PetscBool early = (PetscBool)(zero && !how->shown); /* starts while the norm is waited for: zeros are easily put back */
  const HJBox    *lies;
  Vec             y = NULL, begun, vx, vy;
  Mat             A = NULL;

  PetscFunctionBegin;
  if (mg->nlevels == 1) {
    PetscCall(HJMGGatherSolve(mg->gather, ksp, b, x, its, zero, it));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *it = 0;
  if (HJMGSingleIsLaunched(mg)) {
    PetscBool here;

    PetscCall(HJVecsAreIn(mg->level[0].op->ops, b, x, &here));
    if (here) {
      PetscCall(HJMGSolveSingleRotated(pc, ksp, how, b, x, its, zero, first, it));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  } else if (HJMGIsSingle(mg)) {
    PetscCall(HJMGSingleSolve(pc, ksp, how, b, x, its, zero, PETSC_FALSE, first, it));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGGetFinest(pc, b, &A, &y));
  begun = zero && mg->ended_in_y ? y : x; /* so that a solve of as many cycles as the last one ends in x */
  vx    = begun;
  vy    = begun == x ? y : x;
  if (!zero) PetscCall(MatResidual(A, b, x, y));
  PetscCall(HJMGSquares(mg, zero ? b : y));
  if (early) PetscCall(HJMGRotatedStart(mg, HJ_MG_START_ZERO, b, &vx, &vy));
  else if (zero) PetscCall(VecSet(x, 0.0));
  if (first) PetscCall(HJMGTest(ksp, 0, *first));
  else PetscCall(HJMGTestResidual(pc, ksp, 0, b, zero ? NULL : vx, vy));
  if (ksp->reason || !its) {
    if (early) PetscCall(VecSet(x, 0.0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!early) PetscCall(HJMGRotatedStart(mg, zero ? HJ_MG_START_ZERO : HJ_MG_START, b, &vx, &vy));
  PetscCall(HJMGGetLies(mg, b, &lies));
  if (lies) PetscCall(HJMGInsideSetKnown(mg->inside, b, x));
  if (lies) PetscCall(HJMGInsideSetKnown(mg->inside, b, y));
  while (!ksp->reason && *it < its) {
    PetscCall(HJMGRotate(pc, b, &vx, &vy));
    PetscCall(HJMGShow(how, vx, x));
    PetscCall(HJMGTestResidual(pc, ksp, ++*it, b, vx, vy));
  }
  if (zero) mg->ended_in_y = (PetscBool)(vx != begun);
  if (vx != x) PetscCall(VecCopy(vx, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm of the solver's residual of what x holds, or of zero */
static PetscErrorCode HJMGNormBefore(PC pc, Vec b, Vec x, PetscBool zero, PetscReal *norm)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  if (!zero) {
    if (!mg->residual) PetscCall(VecDuplicate(b, &mg->residual));
    PetscCall(MatResidual(pc->mat, b, x, mg->residual));
  }
  PetscCall(VecNorm(zero ? b : mg->residual, NORM_2, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* HJMGSolveRotated() of the points inside. The norm before the first cycle is that of the whole residual, which has the known rows' part;
   from then on there is none. Of copies of them it is to be told */
static PetscErrorCode HJMGSolveInside(PC pc, Vec b, Vec x, PetscInt its, PetscBool zero, PetscInt *it)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  PetscBool differs, placed;
  PetscReal norm;
  Vec       inner_b, inner_x;

  PetscFunctionBegin;
  PetscCall(HJMGIsPlaced(pc, mg->all_placed, b, x, zero, &placed));
  if (placed) {
    PetscCall(HJMGSolveRotated(pc, mg->ksp, &(const HJIterates){NULL}, b, x, its, zero, NULL, it));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGInsideDiffers(mg->inside, b, zero ? NULL : x, &differs));
  if (differs) PetscCall(HJMGNormBefore(pc, b, x, zero, &norm));
  PetscCall(HJMGInsideEnter(pc, PETSC_FALSE, zero, b, x, &inner_b, &inner_x));
  PetscCall(HJMGSolveRotated(pc, mg->ksp, &(const HJIterates){NULL}, inner_b, inner_x, its, zero, differs ? &norm : NULL, it));
  if (*it) PetscCall(HJMGInsideLeave(pc, PETSC_FALSE, b, x));
  else if (zero) PetscCall(VecSet(x, 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its cycles, without a test. same: their matrix is the solver's. Else it is a Pmat beside an Amat, or has the values that the matrix had
   before the preconditioner was used again, and each cycle is a correction for the residual of Amat */
static PetscErrorCode HJMGAdvance(PC pc, PetscBool same, Vec b, Vec x, PetscInt its, PetscBool zero)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < its; i++) {
    if (zero && !i) PetscCall((*pc->ops->apply)(pc, b, x));
    else if (same) PetscCall(HJMGRun(pc, HJ_MG_ADVANCE, PETSC_FALSE, b, x));
    else {
      PetscCall(MatResidual(pc->mat, b, x, mg->residual));
      PetscCall((*pc->ops->apply)(pc, mg->residual, mg->correction));
      PetscCall(VecAXPY(x, 1.0, mg->correction));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the finest level's matrix is that of the solver, with the values that it has now */
static PetscErrorCode HJMGIsSystem(PC pc, PetscBool *is)
{
  const PC_HJMG   *mg    = (const PC_HJMG *)pc->data;
  const HJMGLevel *level = &mg->level[0];

  PetscFunctionBegin;
  PetscCall(HJMatrixStateIsCurrent(&mg->read, pc->mat, PetscObjectStateGet, is));
  if (level->A == pc->mat && (mg->nlevels > 1 || !(mg->inverse || mg->gather))) *is = PETSC_TRUE; /* see HJMGFollow() */
  if (level->lifted || mg->mask) *is = PETSC_FALSE;                                               /* another diagonal is another matrix */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGGetSystem(PC pc, Mat *A)
{
  const PC_HJMG *mg = (const PC_HJMG *)pc->data;
  PetscBool      is = PETSC_FALSE;

  PetscFunctionBegin;
  if (mg->nlevels && !mg->scale && !mg->inside) PetscCall(HJMGIsSystem(pc, &is));
  *A = is ? mg->level[0].A : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rotated cycles of components that are alone, after the test of what x holds */
static PetscErrorCode HJMGSolveComponents(PC pc, Vec b, Vec x, PetscInt its, PetscBool zero, PetscInt *it)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  PetscReal norm;

  PetscFunctionBegin;
  *it = 0;
  PetscCall(HJMGNormBefore(pc, b, x, zero, &norm));
  PetscCall(HJMGTest(mg->ksp, 0, norm));
  if (!mg->ksp->reason && its) PetscCall(HJMGSystemSolve(pc, mg->ksp, b, x, its, zero, it));
  else if (zero) PetscCall(VecSet(x, 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the norm type is NONE, or there is no KSP, all its cycles are done without a norm. What is handed over to fewer ranks as a whole is
   not shown in between: cycles are not rotated then */
PetscErrorCode HJMGRichardson(PC pc, const HJIterates *how, Vec b, Vec x, Vec w, PetscInt its, PetscBool zero, PetscInt *outits,
                              PCRichardsonConvergedReason *reason)
{
  PC_HJMG        *mg        = (PC_HJMG *)pc->data;
  const PetscBool tested    = (PetscBool)(mg->ksp && mg->ksp->normtype != KSP_NORM_NONE);
  const PetscBool residual  = (PetscBool)(tested && mg->ksp->normtype == KSP_NORM_UNPRECONDITIONED);
  const PetscBool elsewhere = (PetscBool)(mg->order || mg->system); /* are the levels */
  PetscBool       rotated, same, needs, done = PETSC_FALSE, apart = PETSC_FALSE;
  PetscInt        without;

  PetscFunctionBegin;
  if (!elsewhere) PetscCall(HJMGFollow(pc));
  if (HJHasFailed(&mg->failure)) {
    PetscCall(HJFailureApplyRichardson(x, outits, reason));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  same = PETSC_FALSE;
  if (!elsewhere) PetscCall(HJMGIsSystem(pc, &same));
  without = (mg->nlevels == 1) + (how->shown != PETSC_FALSE) + (mg->inside != NULL); /* no two of these have a rotated loop */
  rotated = (PetscBool)(residual && same && HJMGCountLevels(mg) > 1 && !mg->scale && without < 2);
  same    = (PetscBool)(same && !HJMGIsSingle(mg)); /* those in single precision start from zero */
  if (mg->system && !tested) PetscCall(HJMGSystemAdvance(pc, b, x, its, zero, &done));
  if (mg->system && residual && !how->shown && !how->removed) PetscCall(HJMGSystemRotates(pc, &apart));
  needs = (PetscBool)(tested ? !rotated && !apart : !same && !done);
  if (needs && !mg->residual) PetscCall(VecDuplicate(b, &mg->residual));
  if (needs && !mg->correction) PetscCall(VecDuplicate(x, &mg->correction));
  if (!tested) {
    if (zero && !its && !done) PetscCall(VecSet(x, 0.0));
    if (!done) PetscCall(HJMGAdvance(pc, same, b, x, its, zero));
    *outits = its;
    *reason = PCRICHARDSON_CONVERGED_ITS;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (apart) PetscCall(HJMGSolveComponents(pc, b, x, its, zero, outits));
  else if (rotated) {
    if (mg->inside) PetscCall(HJMGSolveInside(pc, b, x, its, zero, outits));
    else PetscCall(HJMGSolveRotated(pc, mg->ksp, how, b, x, its, zero, NULL, outits));
  } else {
    if (zero) PetscCall(VecSet(x, 0.0));
    PetscCall(HJMGSolve(pc, how, b, x, its, zero, outits));
  }
  if (!mg->ksp->reason) mg->ksp->reason = KSP_DIVERGED_ITS;
  *reason = (PCRichardsonConvergedReason)mg->ksp->reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The tolerances are those of the KSP, not the arguments */
PetscErrorCode PCApplyRichardson_HJMG(PC pc, Vec b, Vec x, Vec w, PetscReal rtol, PetscReal abstol, PetscReal dtol, PetscInt its,
                                      PetscBool zero, PetscInt *outits, PCRichardsonConvergedReason *reason)
{
  PetscFunctionBegin;
  PetscCall(HJMGRichardson(pc, &(const HJIterates){NULL}, b, x, w, its, zero, outits, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

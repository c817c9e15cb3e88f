/*
   The cycle, and apply: one cycle, its cycles, or cycles until the KSP's own test stops them.
*/
#include "hjmg.h"

/* Begins the sum of the squares of a vector on the finest grid */
static PetscErrorCode HJMGSquares(PC_HJMG *mg, Vec v)
{
  const HJOperator *op = mg->level[0].op;
  HJVecArray        a;

  PetscFunctionBegin;
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, v, &mg->stage, &a));
  PetscCall(op->ops->multigrid->number_squares(HJBoxSize(&op->grid.owned), a.used, &mg->squares));
  PetscCall(HJVecClose(&a));
  PetscCall(op->ops->multigrid->number_send(&mg->squares));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Waits for it; the norm of all ranks' values */
static PetscErrorCode HJMGNorm(PC pc, PetscReal *norm)
{
  PC_HJMG    *mg = (PC_HJMG *)pc->data;
  PetscScalar squares;

  PetscFunctionBegin;
  PetscCall(mg->level[0].op->ops->multigrid->number_wait(&mg->squares, &squares));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
  *norm = PetscSqrtReal(PetscRealPart(squares));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The residual goes to the next grid's right-hand side, by way of y where that is free; squares: the sum of its squares is sent too */
static PetscErrorCode HJMGRestrict(PC_HJMG *mg, PetscInt l, Vec b, Vec x, Vec y, PetscBool squares)
{
  HJMGLevel  *level = &mg->level[l];
  HJRestrict *r     = level->restriction;
  HJNumber    sum   = mg->squares;
  const Vec   work  = level[1].borrows ? NULL : y;

  PetscFunctionBegin;
  PetscCall(HJRestrictApply(r, b, x, level[1].b, work, squares));
  if (!squares) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->apart) {
    PetscCall(HJMGSquares(mg, work ? work : r->residual));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  sum.value = r->norm2;
  PetscCall(level->op->ops->multigrid->number_send(&sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void HJMGSwap(Vec *x, Vec *y)
{
  Vec other = *x;

  *x = *y;
  *y = other;
}

/* How often a rotated cycle runs the subiterations of the finest grid between two corrections */
static PetscInt HJMGRotatedTimes(const PC_HJMG *mg)
{
  return mg->one_sided ? 1 : 2;
}

/* Of the cycle that runs */
static HJWeights *HJMGWeights(const PC_HJMG *mg, HJMGLevel *level)
{
  return mg->rotating && level->rotated.k ? &level->rotated : &level->w;
}

/* Subiterations of a level from what *x holds, or from 0; the result is in *x, which may have changed places with *y */
static PetscErrorCode HJMGSmooth(const PC_HJMG *mg, HJMGLevel *level, PetscInt its, PetscBool zero, Vec b, Vec *x, Vec *y)
{
  HJRun run = {.its = its, .zero = zero, .b = b, .x = *x, .y = *y};

  PetscFunctionBegin;
  PetscCall(HJOperatorRun(level->op, HJMGWeights(mg, level), &run));
  if (run.in_y) HJMGSwap(x, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same from *x plus the correction c that the next grid has for it; in one pass less where the backend can */
static PetscErrorCode HJMGSmoothCorrected(const PC_HJMG *mg, HJMGLevel *level, PetscInt its, Vec c, Vec b, Vec *x, Vec *y)
{
  const HJTransfer *t   = level->restriction->transfer; /* NULL where P has weights of its own, or ranks are not cut into planes */
  HJWeights        *w   = HJMGWeights(mg, level);
  HJRun             run = {.its = its, .b = b, .x = *x, .y = *y, .transfer = t, .c = c};

  PetscFunctionBegin;
  if (t && HJOperatorCorrects(level->op, w, its, t)) PetscCall(HJOperatorRun(level->op, w, &run));
  if (run.in_y) HJMGSwap(x, y);
  if (run.done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMultAdd(level->P, c, *x, *x));
  PetscCall(HJMGSmooth(mg, level, its, PETSC_FALSE, b, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Smoothing of level l from what *x holds, or from 0, and its residual to the next grid's right-hand side; in one pass where the backend
   can */
static PetscErrorCode HJMGSmoothRestricted(PC_HJMG *mg, PetscInt l, PetscBool zero, Vec b, Vec *x, Vec *y)
{
  HJMGLevel  *level = &mg->level[l];
  HJRestrict *r     = level->restriction;
  HJWeights  *w     = HJMGWeights(mg, level);
  HJRun       run   = {.its = 1, .zero = PETSC_TRUE, .b = b, .x = *x, .y = *y, .transfer = r->transfer};

  PetscFunctionBegin;
  if (zero && r->transfer && HJOperatorRestricts(level->op, w, 1, r->transfer)) {
    run.r = level[1].b;
    PetscCall(HJRestrictGetRow(r, &run.row));
    PetscCall(HJOperatorRun(level->op, w, &run));
  } else if (zero && HJOperatorLeavesResidual(level->op, w)) {
    run.leaves_residual = PETSC_TRUE;
    PetscCall(HJOperatorRun(level->op, w, &run));
    if (run.done) PetscCall(MatMultTranspose(level->P, *y, level[1].b));
  }
  if (run.done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGSmooth(mg, level, 1, zero, b, x, y));
  PetscCall(HJMGRestrict(mg, l, b, *x, *y, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = the solution of the last grid, as far as a cycle needs it: by the levels on fewer ranks, whose cycle starts from zero, else by the
   coarsest grid's own solve */
static PetscErrorCode HJMGSolveLast(PC_HJMG *mg, HJMGLevel *level, PetscBool zero, Vec b, Vec x)
{
  PetscFunctionBegin;
  if (!mg->gather) {
    PetscCall(HJMGSolveCoarsest(mg, PETSC_FALSE, zero, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  HJMGGatherSetPart(mg->gather, mg->rotating);
  if (zero) {
    PetscCall(HJMGGatherApply(mg->gather, PETSC_FALSE, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatResidual(level->A, b, x, level->r));
  PetscCall(HJMGGatherApply(mg->gather, PETSC_FALSE, level->r, level->r));
  PetscCall(VecAXPY(x, 1.0, level->r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGCorrect(PC_HJMG *, PetscInt, Vec *);

/* Whether the cycle that runs has no smoothing before the correction on level l. Stars differ from the products that would correct the
   grid above exactly, which sweeps on both sides make up for: without them below the third grid cycles may converge slowly */
static PetscBool HJMGIsOneSided(const PC_HJMG *mg, PetscInt l)
{
  return (PetscBool)(mg->rotating && mg->one_sided && (!mg->stars || mg->base + l <= 2));
}

/* Such a cycle from 0: the right-hand side is restricted as it is, and no residual is made */
static PetscErrorCode HJMGOneSided(PC_HJMG *mg, PetscInt l, Vec b, Vec *x, Vec *y)
{
  HJMGLevel *level = &mg->level[l];
  Vec        c;

  PetscFunctionBegin;
  PetscCall(MatMultTranspose(level->P, b, level[1].b));
  PetscCall(HJMGCorrect(mg, l, &c));
  PetscCall(MatMult(level->P, c, *x));
  PetscCall(HJMGSmooth(mg, level, 1, PETSC_FALSE, b, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The correction from the next grid, whose right-hand side is there: a V-cycle from level l + 1 down. *c is where it lies */
static PetscErrorCode HJMGCorrect(PC_HJMG *mg, PetscInt l, Vec *c)
{
  HJMGLevel *next = &mg->level[l + 1];
  Vec        nx = next->x, ny = next->r, nc = NULL;

  PetscFunctionBegin;
  PetscCall(HJMGLogMove(mg, l, l + 1));
  if (l + 1 == mg->nlevels - 1) {
    PetscCall(HJMGSolveLast(mg, next, PETSC_TRUE, next->b, nx));
  } else if (HJMGIsOneSided(mg, l + 1)) {
    PetscCall(HJMGOneSided(mg, l + 1, next->b, &nx, &ny));
  } else {
    PetscCall(HJMGSmoothRestricted(mg, l + 1, PETSC_TRUE, next->b, &nx, &ny));
    PetscCall(HJMGCorrect(mg, l + 1, &nc));
    PetscCall(HJMGSmoothCorrected(mg, next, 1, nc, next->b, &nx, &ny));
  }
  PetscCall(HJMGLogMove(mg, l + 1, l));
  *c = nx;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The result of a V-cycle is in x: from 0 it begins in y where the smoothing after the correction ends in the other one. From what x holds
   there is as much smoothing before as after */
static PetscErrorCode HJMGCycle(PC_HJMG *mg, PetscBool zero, Vec b, Vec x, Vec y)
{
  HJMGLevel      *level = &mg->level[0];
  const PetscBool swaps = (PetscBool)(mg->nlevels > 1 && zero && HJOperatorSwaps(level->op, HJMGWeights(mg, level), 1));
  Vec             vx = swaps ? y : x, vy = swaps ? x : y, c;

  PetscFunctionBegin;
  PetscCall(HJMGLogMove(mg, -1, 0));
  if (mg->nlevels == 1) {
    PetscCall(HJMGSolveLast(mg, level, zero, b, x));
  } else if (HJMGIsOneSided(mg, 0)) {
    PetscCall(HJMGOneSided(mg, 0, b, &vx, &vy));
  } else {
    PetscCall(HJMGSmoothRestricted(mg, 0, zero, b, &vx, &vy));
    PetscCall(HJMGCorrect(mg, 0, &c));
    PetscCall(HJMGSmoothCorrected(mg, level, 1, c, b, &vx, &vy));
  }
  PetscCall(HJMGLogMove(mg, 0, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After-smoothing of one cycle and before-smoothing of the next are one list of subiterations: of one-sided cycles one polynomial, of
   others the same weights twice */
static PetscErrorCode HJMGLaunchOperations(PC_HJMG *mg, HJMGKind kind, Vec b, Vec x, Vec y)
{
  Vec c;

  PetscFunctionBegin;
  mg->rotating = (PetscBool)(kind == HJ_MG_ROTATED || kind == HJ_MG_ROTATED_PART);
  if (kind != HJ_MG_ROTATED) {
    PetscCall(HJMGCycle(mg, (PetscBool)(kind != HJ_MG_ADVANCE), b, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGLogMove(mg, -1, 0));
  PetscCall(HJMGCorrect(mg, 0, &c));
  PetscCall(HJMGSmoothCorrected(mg, &mg->level[0], HJMGRotatedTimes(mg), c, b, &x, &y));
  PetscCall(HJMGRestrict(mg, 0, b, x, y, PETSC_TRUE));
  PetscCall(HJMGLogMove(mg, 0, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGLaunch(PC_HJMG *mg, HJMGKind kind, Vec b, Vec x, Vec y)
{
  PetscErrorCode code;

  PetscFunctionBegin;
  PetscCall(HJFenceCycle(mg->fence, HJ_CYCLE_BEGIN));
  code = HJMGLaunchOperations(mg, kind, b, x, y);
  PetscCall(HJFenceCycle(mg->fence, HJ_CYCLE_END)); /* after an error too: what was to be recorded may be launched then */
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGRun(PC pc, PetscBool zero, Vec b, Vec x)
{
  PC_HJMG       *mg   = (PC_HJMG *)pc->data;
  const HJMGKind kind = !zero ? HJ_MG_ADVANCE : mg->part ? HJ_MG_ROTATED_PART : HJ_MG_APPLY;

  PetscFunctionBegin;
  if (mg->mask) {
    PetscCall(HJMGMultiplyVector(b, mg->mask, mg->masked));
    b = mg->masked;
  }
  if (mg->scale) {
    PetscCall(HJMGMultiplyVector(b, mg->scale, mg->scaled));
    b = mg->scaled;
  }
  PetscCall(HJMGReplay(pc, kind, b, x, mg->level[0].r));
  if (mg->mask) {
    PetscCall(HJMGMultiplyVector(x, mg->mask, mg->masked));
    PetscCall(VecCopy(mg->masked, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApply_HJMG(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(HJMGFollow(pc));
  if (HJHasFailed(&((PC_HJMG *)pc->data)->failure)) PetscCall(HJFailureApply(x));
  else PetscCall(HJMGRun(pc, PETSC_TRUE, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The test of KSPRICHARDSON at cycle it: its norm, its history, its convergence function */
static PetscErrorCode HJMGTest(KSP ksp, PetscInt it, PetscReal norm)
{
  PetscFunctionBegin;
  ksp->rnorm = norm;
  PetscCall(KSPLogResidualHistory(ksp, ksp->rnorm));
  PetscCall((*ksp->converged)(ksp, it, ksp->rnorm, &ksp->reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGTestResidual(PC pc, KSP ksp, PetscInt it)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)ksp);
  PetscReal      norm = 0;

  PetscFunctionBegin;
  if (pc) PetscCall(HJMGNorm(pc, &norm));
  if (!pc || PetscObjectComm((PetscObject)pc) != comm) PetscCallMPI(MPI_Bcast(&norm, 1, MPIU_REAL, 0, comm));
  PetscCall(HJMGTest(ksp, it, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPRICHARDSON's own loop: tests the residual, or its correction by a cycle, before each step. zero: x holds zeros */
static PetscErrorCode HJMGSolve(PC pc, Vec b, Vec x, PetscInt its, PetscBool zero, PetscInt *it)
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
    PetscCall(HJMGRun(pc, PETSC_TRUE, mg->residual, mg->correction));
    if (!residual) PetscCall(VecNorm(mg->correction, NORM_2, &norm));
    if (!residual) PetscCall(HJMGTest(ksp, *it, norm));
    if (!residual && (ksp->reason || *it == its)) break;
    PetscCall(VecAXPY(x, 1.0, mg->correction));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The smoothing before the first correction, and what that is for */
static PetscErrorCode HJMGRotatedStart(PC_HJMG *mg, PetscBool zero, Vec b, Vec *x, Vec *y)
{
  PetscFunctionBegin;
  mg->rotating = PETSC_TRUE;
  PetscCall(HJFenceCycle(mg->fence, HJ_CYCLE_BEGIN));
  PetscCall(HJMGSmoothRestricted(mg, 0, zero, b, x, y));
  PetscCall(HJFenceCycle(mg->fence, HJ_CYCLE_END));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One rotated cycle, whose result may be in the other vector; see HJMGSmooth() */
static PetscErrorCode HJMGRotate(PC pc, Vec b, Vec *x, Vec *y)
{
  PC_HJMG   *mg    = (PC_HJMG *)pc->data;
  HJMGLevel *level = &mg->level[0];

  PetscFunctionBegin;
  PetscCall(HJMGReplay(pc, HJ_MG_ROTATED, b, *x, *y));
  mg->rotating = PETSC_TRUE;
  if (HJOperatorSwaps(level->op, HJMGWeights(mg, level), HJMGRotatedTimes(mg))) HJMGSwap(x, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The rotated form: the iterate of cycle it >= 1 is smoothed once more, by what comes before the correction of the next cycle, and its
   residual, which the next cycle restricts, is the one that is tested. So the norm costs no pass of its own and is that of x
*/
PetscErrorCode HJMGSolveRotated(PC pc, KSP ksp, Vec b, Vec x, PetscInt its, PetscBool zero, PetscInt *it)
{
  PC_HJMG   *mg    = (PC_HJMG *)pc->data;
  HJMGLevel *level = &mg->level[0];
  Vec        begun = zero && mg->elsewhere ? level->r : x; /* so that a solve of as many cycles as the last one ends in x */
  Vec        vx = begun, vy = begun == x ? level->r : x;

  PetscFunctionBegin;
  if (mg->nlevels == 1) {
    PetscCall(HJMGGatherSolve(mg->gather, ksp, b, x, its, zero, it));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *it = 0;
  if (!zero) PetscCall(MatResidual(level->A, b, x, level->r));
  PetscCall(HJMGSquares(mg, zero ? b : level->r));
  if (zero) PetscCall(HJMGRotatedStart(mg, PETSC_TRUE, b, &vx, &vy)); /* while the norm is waited for: zeros are easily put back */
  PetscCall(HJMGTestResidual(pc, ksp, 0));
  if (ksp->reason || !its) {
    if (zero) PetscCall(VecSet(x, 0.0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!zero) PetscCall(HJMGRotatedStart(mg, PETSC_FALSE, b, &vx, &vy));
  while (!ksp->reason && *it < its) {
    PetscCall(HJMGRotate(pc, b, &vx, &vy));
    PetscCall(HJMGTestResidual(pc, ksp, ++*it));
  }
  if (zero) mg->elsewhere = (PetscBool)(vx != begun);
  if (vx != x) PetscCall(VecCopy(vx, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its cycles, without a test. Where their matrix is not the solver's, but Pmat beside an Amat or one with values that have changed under a
   preconditioner that is used again, each is a correction for the residual of Amat */
static PetscErrorCode HJMGAdvance(PC pc, PetscBool same, Vec b, Vec x, PetscInt its, PetscBool zero)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < its; i++) {
    if (same || (zero && !i)) {
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
  PC_HJMG        *mg       = (PC_HJMG *)pc->data;
  const PetscBool tested   = (PetscBool)(mg->ksp && mg->ksp->normtype != KSP_NORM_NONE);
  const PetscBool residual = (PetscBool)(tested && mg->ksp->normtype == KSP_NORM_UNPRECONDITIONED);
  PetscInt        levels; /* also those on fewer ranks */
  PetscBool       rotated, same, needs;

  PetscFunctionBegin;
  PetscCall(HJMGFollow(pc));
  if (HJHasFailed(&mg->failure)) {
    PetscCall(HJFailureApplyRichardson(x, outits, reason));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMatrixStateIsCurrent(&mg->read, pc->mat, PetscObjectStateGet, &same));
  if (mg->level[0].lifted || mg->mask) same = PETSC_FALSE; /* another diagonal is another matrix */
  PetscCall(PCHJMGGetLevels(pc, &levels));
  rotated = (PetscBool)(residual && same && levels > 1 && !mg->scale);
  needs   = (PetscBool)(tested ? !rotated : !same);
  if (needs && !mg->residual) PetscCall(VecDuplicate(b, &mg->residual));
  if (needs && !mg->correction) PetscCall(VecDuplicate(x, &mg->correction));
  if (!tested) {
    if (zero && !its) PetscCall(VecSet(x, 0.0));
    PetscCall(HJMGAdvance(pc, same, b, x, its, zero));
    *outits = its;
    *reason = PCRICHARDSON_CONVERGED_ITS;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (rotated) {
    PetscCall(HJMGSolveRotated(pc, mg->ksp, b, x, its, zero, outits));
  } else {
    if (zero) PetscCall(VecSet(x, 0.0));
    PetscCall(HJMGSolve(pc, b, x, its, zero, outits));
  }
  if (!mg->ksp->reason) mg->ksp->reason = KSP_DIVERGED_ITS;
  *reason = (PCRichardsonConvergedReason)mg->ksp->reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

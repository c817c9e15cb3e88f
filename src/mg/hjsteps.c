/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The steps of a cycle: set-up makes a list of them for each kind of cycle, and decides which of them a sweep does besides; apply runs a
   list, graphs record it, events follow it. Decides no number of sweeps.
*/
#include "hjmg.h"

/* What a list is being made for */
typedef struct {
  PC_HJMG         *mg;
  PetscBool        rotated, transposed;
  const HJRounded *single; /* levels in single precision; NULL: not in that */
  HJMGSteps       *list;
} HJMGPlan;

/* Where the iterate of a level is, and the other vector of the two in which it takes turns */
typedef struct {
  HJMGVector x, y;
} HJMGPair;

static HJMGPair HJMGSwapIf(PetscBool swaps, HJMGPair v)
{
  return swaps ? (HJMGPair){v.y, v.x} : v;
}

/* The last level is solved in double */
static HJOperator *HJMGPlanOperator(const HJMGPlan *p, PetscInt l)
{
  const HJMGLevel *level = &p->mg->level[l];

  if (p->single && l < p->mg->nlevels - 1) return p->single[l].op;
  return p->transposed ? level->opt : level->op;
}

/* Most steps of a level */
#define HJ_MG_LEVEL_STEPS 4

static HJMGStep *HJMGAddStep(const HJMGPlan *p, HJMGStepKind kind, PetscInt l, HJMGPair v)
{
  HJMGStep  *step  = &p->list->step[p->list->n++];
  HJMGLevel *level = &p->mg->level[l];

  *step = (HJMGStep){.kind       = kind,
                     .l          = l,
                     .op         = HJMGPlanOperator(p, l),
                     .w          = p->rotated && level->rotated.k ? &level->rotated : &level->w,
                     .its        = 1,
                     .transposed = p->transposed,
                     .rotated    = p->rotated,
                     .x          = v.x,
                     .y          = v.y};
  return step;
}

/* Whether the result of a sweep is in its other vector; lines leave it where it was */
static PetscBool HJMGSwaps(const HJMGPlan *p, const HJMGStep *step)
{
  return (PetscBool)(!p->mg->level[step->l].lines && HJOperatorSwaps(step->op, step->w, step->its));
}

static HJMGPair HJMGAddSweep(const HJMGPlan *p, PetscInt l, PetscBool after, PetscInt its, HJMGPair v)
{
  HJMGStep *step = HJMGAddStep(p, HJ_MG_SWEEP, l, v);

  step->its   = its;
  step->after = after;
  return HJMGSwapIf(HJMGSwaps(p, step), v);
}

/* The residual goes to the next grid's right-hand side, by way of y where that is free */
static HJMGStep *HJMGAddRestrict(const HJMGPlan *p, PetscInt l, HJMGPair v)
{
  if (p->mg->level[l + 1].borrows) v.y = HJ_MG_NONE;
  return HJMGAddStep(p, HJ_MG_RESTRICT, l, v);
}

/* Smoothing from what x holds, or from 0, and its residual to the next grid's right-hand side, in one pass where the backend can */
static HJMGPair HJMGAddSmoothRestricted(const HJMGPlan *p, PetscInt l, PetscBool zero, HJMGPair v)
{
  const HJRestrict *r     = p->mg->level[l].restriction;
  const PetscBool   lines = (PetscBool)(p->mg->level[l].lines != NULL);
  HJMGStep         *step;

  if (!zero) {
    v = HJMGAddSweep(p, l, PETSC_FALSE, 1, v);
    (void)HJMGAddRestrict(p, l, v);
    return v;
  }
  step       = HJMGAddStep(p, HJ_MG_SWEEP, l, v);
  step->zero = PETSC_TRUE;
  if (!lines && r->transfer && HJOperatorRestricts(step->op, step->w, 1, r->transfer)) step->also = HJ_MG_ALSO_RESTRICTS;
  else if (!lines && HJOperatorLeavesResidual(step->op, step->w)) {
    step->also = HJ_MG_ALSO_LEAVES_RESIDUAL;
    (void)HJMGAddStep(p, HJ_MG_RESTRICT, l, (HJMGPair){HJ_MG_NONE, v.y});
  } else (void)HJMGAddRestrict(p, l, v);
  return v;
}

/* The next grid's correction c and smoothing after it, in one pass less where the backend can. There is no transfer where P has
   coefficients of its own, or ranks are not cut into planes */
static HJMGPair HJMGAddSmoothCorrected(const HJMGPlan *p, PetscInt l, PetscInt its, HJMGVector c, HJMGPair v)
{
  const HJTransfer *t = p->mg->level[l].restriction->transfer;
  HJMGStep         *step;

  step = HJMGAddStep(p, HJ_MG_SWEEP, l, v);
  if (t && !p->mg->level[l].lines && HJOperatorCorrects(step->op, step->w, its, t)) step->also = HJ_MG_ALSO_CORRECTS;
  else {
    step->kind = HJ_MG_CORRECT;
    step->c    = c;
    step       = HJMGAddStep(p, HJ_MG_SWEEP, l, v);
  }
  step->c     = c;
  step->its   = its;
  step->after = PETSC_TRUE;
  return HJMGSwapIf(HJMGSwaps(p, step), v);
}

/* Whether there is no smoothing before the correction on a level: where it flows, but not inside strong parts, or in rotated cycles. Stars
   differ from the products that would correct the grid above exactly, which sweeps on both sides make up for: without them below the third
   grid cycles may converge slowly */
static PetscBool HJMGIsOneSided(const HJMGPlan *p, PetscInt l)
{
  if (p->mg->level[l].flows) return (PetscBool)!p->mg->flows_apart;
  return (PetscBool)(p->rotated && p->mg->one_sided && (!p->mg->stars || p->mg->base + l <= 2));
}

static HJMGVector HJMGAddCoarse(const HJMGPlan *, PetscInt);

/* A cycle without smoothing before the correction, and with its times as much after it. From 0 the right-hand side is restricted as it is,
   and no residual is made */
static HJMGPair HJMGAddOneSided(const HJMGPlan *p, PetscInt l, PetscBool zero, PetscInt its, HJMGPair v)
{
  HJMGVector c;
  HJMGStep  *step;

  if (zero) (void)HJMGAddStep(p, HJ_MG_RESTRICT, l, (HJMGPair){HJ_MG_NONE, HJ_MG_B});
  else (void)HJMGAddRestrict(p, l, v);
  c          = HJMGAddCoarse(p, l);
  step       = HJMGAddStep(p, HJ_MG_CORRECT, l, v);
  step->zero = zero;
  step->c    = c;
  return HJMGAddSweep(p, l, PETSC_TRUE, its, v);
}

/* A cycle from 0 on the level and all below. Returns where its result is */
static HJMGPair HJMGAddLevel(const HJMGPlan *p, PetscInt l, PetscBool zero, HJMGPair v)
{
  if (l == p->mg->nlevels - 1) HJMGAddStep(p, p->mg->gather ? HJ_MG_GATHER : HJ_MG_SOLVE, l, v)->zero = zero;
  else if (HJMGIsOneSided(p, l)) v = HJMGAddOneSided(p, l, zero, 1, v);
  else {
    v = HJMGAddSmoothRestricted(p, l, zero, v);
    v = HJMGAddSmoothCorrected(p, l, 1, HJMGAddCoarse(p, l), v);
  }
  return v;
}

/* Whether a level is visited twice from the one above */
static PetscBool HJMGIsTwice(const HJMGPlan *p, PetscInt l)
{
  return (PetscBool)(HJMGFlowVisits(p->mg, l) > HJMGFlowVisits(p->mg, l - 1));
}

/* The correction of level l by those below, whose right-hand side is there. Returns where it is on the next level */
static HJMGVector HJMGAddCoarse(const HJMGPlan *p, PetscInt l)
{
  HJMGPair v = HJMGAddLevel(p, l + 1, PETSC_TRUE, (HJMGPair){HJ_MG_X, HJ_MG_Y});

  if (HJMGIsTwice(p, l + 1)) v = HJMGAddLevel(p, l + 1, PETSC_FALSE, v);
  return v.x;
}

/* Sweeps before and after are the same, so that the cycle of a symmetric matrix is symmetric; those after a correction alone become those
   before it */
static void HJMGAddTransposed(const HJMGPlan *p, PetscInt l, PetscBool zero)
{
  const HJMGLevel *level = &p->mg->level[l];
  const HJMGVector room  = level->residual ? HJ_MG_RESIDUAL : HJ_MG_Y;
  const HJMGPair   in_x  = {HJ_MG_X, level->lines ? room : HJ_MG_NONE};

  if (l == p->mg->nlevels - 1) {
    HJMGAddStep(p, p->mg->gather ? HJ_MG_GATHER : HJ_MG_SOLVE, l, in_x)->zero = zero;
    return;
  }
  HJMGAddStep(p, HJ_MG_SWEEP, l, in_x)->zero = zero;
  (void)HJMGAddStep(p, HJ_MG_RESTRICT, l, (HJMGPair){HJ_MG_X, room});
  HJMGAddTransposed(p, l + 1, PETSC_TRUE);
  if (HJMGIsTwice(p, l + 1)) HJMGAddTransposed(p, l + 1, PETSC_FALSE);
  HJMGAddStep(p, HJ_MG_CORRECT, l, in_x)->c = HJ_MG_X;
  if (!HJMGIsOneSided(p, l)) HJMGAddStep(p, HJ_MG_SWEEP, l, in_x)->after = PETSC_TRUE;
}

/* As much smoothing after the correction of the finest grid as others have before and after it */
static PetscInt HJMGRotatedIts(const HJMGPlan *p)
{
  return HJMGIsOneSided(p, 0) ? 1 : 2;
}

static HJMGPair HJMGAddRotated(const HJMGPlan *p, HJMGPair v)
{
  return HJMGAddSmoothCorrected(p, 0, HJMGRotatedIts(p), HJMGAddCoarse(p, 0), v);
}

/*
   From 0 a cycle begins in y where the smoothing after the correction ends in the other vector, so that its result is in x; from what x
   holds there is as much smoothing before as after. After-smoothing of one rotated cycle and before-smoothing of the next are one list of
   subiterations: of one-sided cycles one polynomial, of others the same weights twice
*/
static HJMGPair HJMGAddCycle(const HJMGPlan *p, HJMGKind kind)
{
  HJMGLevel     *level = &p->mg->level[0];
  const HJMGPair v     = {HJ_MG_X, HJ_MG_Y};
  PetscBool      swaps;

  switch (kind) {
  case HJ_MG_TRANSPOSED:
    HJMGAddTransposed(p, 0, PETSC_TRUE);
    return v;
  case HJ_MG_START_ZERO:
  case HJ_MG_START:
    return HJMGAddSmoothRestricted(p, 0, (PetscBool)(kind == HJ_MG_START_ZERO), v);
  case HJ_MG_ROTATED: {
    const HJMGPair to = HJMGAddRotated(p, v);

    HJMGAddRestrict(p, 0, to)->squares = PETSC_TRUE;
    return to;
  }
  case HJ_MG_ADVANCE:
    return HJMGAddLevel(p, 0, PETSC_FALSE, v);
  case HJ_MG_SINGLE_FIRST:
    return HJMGAddRotated(p, HJMGAddSmoothRestricted(p, 0, PETSC_TRUE, v));
  case HJ_MG_SINGLE_NEXT:
    return HJMGAddOneSided(p, 0, PETSC_TRUE, HJMGRotatedIts(p), v);
  default:
    swaps = (PetscBool)(p->mg->nlevels > 1 && !level->lines &&
                        HJOperatorSwaps(HJMGPlanOperator(p, 0), p->rotated && level->rotated.k ? &level->rotated : &level->w, 1));
    return HJMGAddLevel(p, 0, PETSC_TRUE, HJMGSwapIf(swaps, v));
  }
}

static PetscErrorCode HJMGMakeList(PC_HJMG *mg, HJMGKind kind, const HJRounded *single)
{
  const PetscBool transposed = (PetscBool)(kind == HJ_MG_TRANSPOSED);
  const PetscBool rotated    = (PetscBool)(kind >= HJ_MG_ROTATED && !transposed && kind != HJ_MG_SINGLE_APPLY);
  HJMGPlan        p          = {mg, rotated, transposed, single, &mg->steps[kind]};
  PetscInt        visits     = 0;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < mg->nlevels; l++) visits += HJMGFlowVisits(mg, l);
  p.list->n = 0;
  PetscCall(PetscFree(p.list->step));
  PetscCall(PetscMalloc1(HJ_MG_LEVEL_STEPS * visits, &p.list->step));
  p.list->in_y = (PetscBool)(HJMGAddCycle(&p, kind).x == HJ_MG_Y);
  for (HJMGStep *s = p.list->step; s < p.list->step + p.list->n; s++) {
    const PetscBool two       = (PetscBool)(s->kind == HJ_MG_SWEEP && s->y != HJ_MG_NONE),
                    restricts = (PetscBool)(s->also == HJ_MG_ALSO_RESTRICTS);

    if (s->kind != HJ_MG_SWEEP && (s->kind != HJ_MG_SOLVE || mg->inverse || mg->factor)) continue;
    if (s->kind == HJ_MG_SWEEP && mg->level[s->l].lines) continue;
    if (restricts) PetscCall(HJOperatorPlanRun(s->op, s->w, s->its, s->zero, two, PETSC_FALSE, &s->planned)); /* for the parts */
    PetscCall(HJOperatorPlanRun(s->op, s->w, s->its, s->zero, two, restricts, &s->planned));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGMakeSteps(PC_HJMG *mg)
{
  PetscFunctionBegin;
  for (HJMGKind kind = HJ_MG_APPLY; kind < HJ_MG_TRANSPOSED; kind++) {
    const PetscBool finest = (PetscBool)(kind == HJ_MG_ROTATED || kind == HJ_MG_START || kind == HJ_MG_START_ZERO);

    if (!finest || mg->nlevels > 1) PetscCall(HJMGMakeList(mg, kind, NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the steps of a list are such on the finest grid, where it takes them: sweeps, or all that take one vector or two there */
static PetscBool HJMGListIsPlaced(const HJMGSteps *list, PetscBool sweep, PetscBool all)
{
  for (const HJMGStep *s = list->step; s < list->step + list->n; s++) {
    if (s->l) continue;
    if (s->also == HJ_MG_ALSO_LEAVES_RESIDUAL || (s->kind == HJ_MG_RESTRICT && s->x == HJ_MG_NONE)) return PETSC_FALSE;
    if (s->kind == HJ_MG_CORRECT && s->zero) return PETSC_FALSE;
    if (!(s->kind == HJ_MG_SWEEP ? sweep : all)) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

PetscErrorCode HJMGStepsPlaced(const PC_HJMG *mg, PetscBool *zero, PetscBool *all)
{
  const HJMGLevel *level = &mg->level[0];
  PetscBool        sweep, step;

  PetscFunctionBegin;
  *zero = *all = PETSC_FALSE;
  if (!mg->inside || mg->nlevels == 1 || level->lines) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJRestrictPlaces(level->restriction, level->op, &sweep, &step));
  *zero = *all = sweep;
  for (HJMGKind kind = HJ_MG_APPLY; kind < HJ_MG_TRANSPOSED; kind++) {
    if (kind == HJ_MG_ROTATED_PART) continue; /* on fewer ranks, whose grids are all inside */
    if (HJMGListIsPlaced(&mg->steps[kind], sweep, step)) continue;
    if (kind == HJ_MG_APPLY) *zero = PETSC_FALSE;
    *all = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGMakeTransposedSteps(PC_HJMG *mg)
{
  PetscFunctionBegin;
  PetscCall(HJMGMakeList(mg, HJ_MG_TRANSPOSED, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGMakeSingleSteps(PC_HJMG *mg, const HJRounded single[])
{
  const HJMGKind kinds[] = {HJ_MG_SINGLE_APPLY, HJ_MG_SINGLE_FIRST, HJ_MG_SINGLE_NEXT};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(kinds); i++) PetscCall(HJMGMakeList(mg, kinds[i], single));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGDestroySteps(PC_HJMG *mg)
{
  PetscFunctionBegin;
  for (int kind = 0; kind < HJ_MG_NKINDS; kind++) PetscCall(PetscFree(mg->steps[kind].step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGViewSteps(const PC_HJMG *mg, PetscViewer viewer)
{
  const HJMGSteps *list   = &mg->steps[HJ_MG_APPLY];
  PetscInt         also[] = {0, 0, 0, 0};

  PetscFunctionBegin;
  for (const HJMGStep *s = list->step; s < list->step + list->n; s++) also[s->also]++;
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "steps of a cycle: %" PetscInt_FMT "; sweeps that begin with a correction: %" PetscInt_FMT
                                   ", that end with a restriction: %" PetscInt_FMT ", that leave their residual: %" PetscInt_FMT "\n",
                                   list->n, also[HJ_MG_ALSO_CORRECTS], also[HJ_MG_ALSO_RESTRICTS], also[HJ_MG_ALSO_LEAVES_RESIDUAL]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The vectors of a run: on the finest grid those that it was asked for, and, as HJRun's, which points they hold */
typedef struct {
  Vec          finest[3]; /* b, x, y */
  const HJBox *lies;
} HJMGVectors;

static Vec HJMGGetVector(const PC_HJMG *mg, const HJMGVectors *v, PetscInt l, HJMGVector which)
{
  const HJMGLevel *level = &mg->level[l];

  switch (which) {
  case HJ_MG_B:
    return l ? level->b : v->finest[0];
  case HJ_MG_X:
    return l ? level->x : v->finest[1];
  case HJ_MG_Y:
    return l ? level->r : v->finest[2];
  case HJ_MG_RESIDUAL:
    return level->residual;
  default:
    return NULL;
  }
}

/* All that is asked of operators in a cycle. Where a vector of the finest grid is not where the operator is, a sweep cannot do besides what
   it was to do: the parts are then done one after the other */
static PetscErrorCode HJMGStepSweep(PC_HJMG *mg, const HJMGStep *s, const HJBox *lies, Vec b, Vec x, Vec y, Vec c, Vec r)
{
  HJMGLevel *level = &mg->level[s->l];
  HJRun      run = {.its = s->its, .zero = s->zero, .b = b, .x = x, .y = y, .lies = lies}, all = run;

  PetscFunctionBegin;
  if (level->lines) {
    const Mat A = s->transposed ? level->At : level->A;

    PetscCall(HJMGLinesRun(level->lines, A, s->after, s->zero, b, x, y));
    if (s->its > 1) PetscCall(HJMGLinesRun(level->lines, A, PETSC_FALSE, PETSC_FALSE, b, x, y)); /* before the next correction */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  all.planned = &s->planned;
  if (s->also) all.transfer = level->restriction->transfer;
  if (s->also == HJ_MG_ALSO_CORRECTS) all.c = c;
  if (s->also == HJ_MG_ALSO_LEAVES_RESIDUAL) all.leaves_residual = PETSC_TRUE;
  if (s->also == HJ_MG_ALSO_RESTRICTS) {
    all.r = r;
    PetscCall(HJRestrictGetRow(level->restriction, &all.row));
  }
  PetscCall(HJOperatorRun(s->op, s->w, &all));
  if (all.done) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->also == HJ_MG_ALSO_CORRECTS) PetscCall(MatMultAdd(level->P, c, x, x));
  PetscCall(HJOperatorRun(s->op, s->w, &run));
  if (s->also == HJ_MG_ALSO_LEAVES_RESIDUAL) PetscCall(MatResidual(level->A, b, x, y));
  if (s->also == HJ_MG_ALSO_RESTRICTS) PetscCall(HJRestrictApply(level->restriction, NULL, b, x, r, y, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To the next grid's right-hand side r: b - A x, or, where there is no x, y */
static PetscErrorCode HJMGStepRestrict(PC_HJMG *mg, const HJMGStep *s, const HJBox *lies, Vec b, Vec x, Vec y, Vec r)
{
  HJMGLevel  *level = &mg->level[s->l];
  HJRestrict *restriction;
  HJNumber    sum = mg->squares;

  PetscFunctionBegin;
  if (s->transposed) PetscCall(MatResidual(level->At, b, x, y));
  if (s->transposed || !x) {
    PetscCall(MatMultTranspose(level->R && !s->transposed ? level->R : level->P, y, r));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  restriction = level->restriction;
  PetscCall(HJRestrictApply(restriction, lies, b, x, r, y, s->squares));
  if (!s->squares) PetscFunctionReturn(PETSC_SUCCESS);
  if (restriction->apart) {
    PetscCall(HJMGSquares(mg, y ? y : restriction->residual));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  sum.value = restriction->norm2;
  PetscCall(s->op->ops->multigrid->number_send(&sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = x + P c, or, of a step from zero, x = P c */
static PetscErrorCode HJMGStepCorrect(PC_HJMG *mg, const HJMGStep *s, const HJBox *lies, Vec c, Vec x)
{
  const HJMGLevel *level = &mg->level[s->l];
  const Mat        P     = level->R && s->transposed ? level->R : level->P;
  HJGetTransfers   get;
  HJTransfers     *transfers = NULL;

  PetscFunctionBegin;
  if (lies) {
    PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_GET_TRANSFERS, &get));
    PetscCall((*get)(P, (PetscBool)PetscMemTypeDevice(s->op->ops->mtype), &transfers));
    PetscCall(HJTransfersApply(transfers, PETSC_FALSE, lies, c, x, x));
  } else if (s->zero) PetscCall(MatMult(P, c, x));
  else PetscCall(MatMultAdd(P, c, x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The levels on fewer ranks start from zero: x is corrected for its residual, by way of y */
static PetscErrorCode HJMGStepGather(PC_HJMG *mg, const HJMGStep *s, Vec b, Vec x, Vec y)
{
  const HJMGKind kind = s->transposed ? HJ_MG_TRANSPOSED : s->rotated ? HJ_MG_ROTATED_PART : HJ_MG_APPLY;

  PetscFunctionBegin;
  if (s->zero) {
    PetscCall(HJMGGatherApply(mg->gather, kind, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatResidual(mg->level[s->l].A, b, x, y));
  PetscCall(HJMGGatherApply(mg->gather, kind, y, y));
  PetscCall(VecAXPY(x, 1.0, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGRunStep(PC_HJMG *mg, const HJMGStep *s, const HJMGVectors *v)
{
  const PetscBool last = (PetscBool)(s->l == mg->nlevels - 1);
  const HJBox    *lies = s->l ? NULL : v->lies;
  const Vec       b = HJMGGetVector(mg, v, s->l, HJ_MG_B), x = HJMGGetVector(mg, v, s->l, s->x), y = HJMGGetVector(mg, v, s->l, s->y);
  const Vec       c = last ? NULL : HJMGGetVector(mg, v, s->l + 1, s->c), r = last ? NULL : mg->level[s->l + 1].b;

  PetscFunctionBegin;
  switch (s->kind) {
  case HJ_MG_SWEEP:
    PetscCall(HJMGStepSweep(mg, s, lies, b, x, y, c, r));
    break;
  case HJ_MG_RESTRICT:
    PetscCall(HJMGStepRestrict(mg, s, lies, b, x, y, r));
    break;
  case HJ_MG_CORRECT:
    PetscCall(HJMGStepCorrect(mg, s, lies, c, x));
    break;
  case HJ_MG_GATHER:
    PetscCall(HJMGStepGather(mg, s, b, x, y));
    break;
  case HJ_MG_SOLVE:
    PetscCall(HJMGSolveCoarsest(mg, s->transposed, s->zero, &s->planned, b, x));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGRunCoarseStep(PC_HJMG *mg, const HJMGStep *s)
{
  const HJMGVectors none = {{NULL, NULL, NULL}, NULL};

  PetscFunctionBegin;
  PetscCall(HJMGRunStep(mg, s, &none));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The events of levels: a cycle begins and ends on the finest */
static PetscErrorCode HJMGRunList(PC_HJMG *mg, const HJMGSteps *list, const HJMGVectors *v)
{
  PetscInt at = 0;

  PetscFunctionBegin;
  PetscCall(HJMGLogMove(mg, -1, 0));
  for (const HJMGStep *s = list->step; s < list->step + list->n; s++) {
    if (s->l != at) PetscCall(HJMGLogMove(mg, at, s->l));
    at = s->l;
    PetscCall(HJMGRunStep(mg, s, v));
  }
  PetscCall(HJMGLogMove(mg, at, -1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGLaunch(PC_HJMG *mg, HJMGKind kind, Vec b, Vec x, Vec y)
{
  HJMGVectors    v = {{b, x, y}, NULL};
  PetscErrorCode code;

  PetscFunctionBegin;
  PetscCall(HJMGGetLies(mg, b, &v.lies));
  if (kind >= HJ_MG_SINGLE_APPLY) {
    PetscCall((*mg->launch_single)(mg, kind, b, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJFenceCycle(mg->fence, HJ_CYCLE_BEGIN));
  code = HJMGRunList(mg, &mg->steps[kind], &v);
  PetscCall(HJFenceCycle(mg->fence, HJ_CYCLE_END)); /* after an error too: what was to be recorded may be launched then */
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGRotatedStart(PC_HJMG *mg, HJMGKind kind, Vec b, Vec *x, Vec *y)
{
  PetscFunctionBegin;
  PetscCall(HJMGLaunch(mg, kind, b, *x, *y));
  HJMGSwapVectorsIf(mg->steps[kind].in_y, x, y);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Runs a plan: passes over regions, halos between them, staging where vectors are not in the backend's memory.
   Decides no pass, tile or transport; those come from plan, backend and halo.
*/
#include "hjvectors.h"
#include "hjoperator.h"
#include "core/hjrestriction.h"

/* Lines that the halo of a sweep which restricts is deeper: a coarse line needs the residual beside it, that the result, and from a zero
   guess the first subiteration needs no line */
#define HJ_RESTRICTED_DEEPER 1

PetscErrorCode HJOperatorPlace(HJOperator *op, const HJBox *lies, PetscBool *placed)
{
  const HJMultigridOps *ops = op->ops->multigrid;

  PetscFunctionBegin;
  *placed = (PetscBool)(op->overlap < 0 && !op->slabs && !HJGridHasNeighbors(&op->grid) && ops && ops->places);
  if (*placed) *placed = ops->places(op->backend, NULL);
  if (!*placed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(op->ops->free(op->backend, &op->work));
  PetscCall(op->ops->alloc(op->backend, op->grid.dof * HJBoxSize(lies), &op->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* two: there are two arrays for the result, so that no pass need work in place, nor is there a copy to be saved */
static void HJOperatorPlan(const HJOperator *op, PetscInt k, PetscInt its, PetscBool zero, PetscBool two, PetscBool restricts, HJPlan *plan)
{
  HJLimits limits = op->limits;

  if (zero && op->overlap < 0 && !HJGridHasNeighbors(&op->grid) && (PetscCount)its * k == limits.from_zero)
    limits.max_count = limits.best_count = its * k;
  if (two) limits.in_place = HJ_MAX_PASS;
  HJPlanFill(&op->grid, &limits, k, its, op->overlap, zero, plan);
  if (op->stencil->shape == HJ_BOX && op->stencil->storage != HJ_DICTIONARY) HJPlanBeginPointwise(&op->grid, &limits, plan);
  if (two) plan->in_place = PETSC_FALSE;
  if (restricts && HJGridHasNeighbors(&op->grid)) plan->depth += HJ_RESTRICTED_DEEPER;
}

PetscBool HJOperatorSwaps(const HJOperator *op, const HJWeights *w, PetscInt its)
{
  HJPlan plan;

  HJOperatorPlan(op, w->k, its, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE, &plan);
  return (PetscBool)(plan.npasses % 2);
}

PetscErrorCode HJOperatorPlanRun(HJOperator *op, HJWeights *w, PetscInt its, PetscBool zero, PetscBool two, PetscBool restricts,
                                 HJPlanned *p)
{
  HJPlan *plan = &p->plan;

  PetscFunctionBegin;
  p->frames = NULL;
  if (op->slabs) PetscFunctionReturn(PETSC_SUCCESS);
  HJOperatorPlan(op, w->k, its, zero, two, restricts, plan);
  PetscCall(HJOperatorGetFrames(op, plan, &p->frames));
  PetscCall(HJWeightsExtend(w, w->k + PetscMax(HJPlanGetPass(plan, 0).count, HJPlanGetPass(plan, plan->npasses - 1).count) + 1));
  if (!two && !op->work && plan->npasses > (zero || plan->in_place ? 1 : 0))
    PetscCall(op->ops->alloc(op->backend, HJOperatorSize(op), &op->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was planned for a run, or is now; two: in two vectors, which it may have although it cannot be done there */
static PetscErrorCode HJOperatorGetPlanned(HJOperator *op, HJWeights *w, const HJRun *run, PetscBool two, HJPlanned *now)
{
  PetscFunctionBegin;
  if (run->planned && run->planned->frames && two == (PetscBool)(run->y != NULL)) *now = *run->planned;
  else PetscCall(HJOperatorPlanRun(op, w, run->its, run->zero, two, (PetscBool)(run->r != NULL), now));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The ghost planes of an array over the owned points: where the last exchange left them, or, of a grid that wraps, in the array itself */
static void HJOperatorPlaceGhosts(const HJOperator *op, const HJFrames f, const PetscScalar *array, const PetscScalar *frame,
                                  const PetscScalar *ghost[2])
{
  const HJRegions *rg = &f->regions;

  for (int side = 0; side < 2; side++) {
    if (!array || !rg->ghosts) ghost[side] = NULL;
    else if (rg->wraps)
      ghost[side] = side ? array : HJNumberAt(op->ops, array, HJOperatorSize(op) - op->grid.dof * HJBoxSize(&rg->ghost[0]));
    else ghost[side] = HJNumberAt(op->ops, frame, side ? op->grid.dof * HJBoxSize(&rg->ghost[0]) : 0);
  }
}

/* The sweeps of the regions [r0, r1) of what is over the points ybox of x, b and y, the owned ones where there are neighbours. NULL stays
   NULL */
static PetscErrorCode HJOperatorPlaceSweeps(const HJOperator *op, const HJFrames f, PetscInt r0, PetscInt r1, const HJSweep *all,
                                            HJSweep s[])
{
  const HJRegions *rg = &f->regions;

  PetscFunctionBegin;
  for (PetscInt r = r0; r < r1; r++) {
    HJSweep *t = &s[r - r0];

    *t           = *all;
    t->write     = rg->write[r];
    t->box       = HJGridHasNeighbors(&op->grid) ? rg->box[r] : all->ybox;
    t->x         = !all->x ? NULL : rg->framed[r] ? HJNumberAt(op->ops, f->frame[0], op->grid.dof * rg->offset[r]) : all->x;
    t->b         = !all->b ? NULL : rg->framed[r] ? HJNumberAt(op->ops, f->frame[1], op->grid.dof * rg->offset[r]) : all->b;
    t->ghosts    = rg->ghosts;
    t->exchanged = (PetscBool)(rg->ghosts && f->halo && f->halo->ops->one_launch);
    for (int d = 0; d < 2; d++) t->wraps[d] = (PetscBool)(rg->wraps && d < op->grid.dim - 1 && op->grid.periodic[d]);
    HJOperatorPlaceGhosts(op, f, all->x, f->frame[0], t->xghost);
    HJOperatorPlaceGhosts(op, f, all->b, f->frame[1], t->bghost);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a pass makes of its sweeps: count, weights, tiles */
static void HJOperatorSetPass(const HJOperator *op, const HJFrames f, const HJPlan *plan, PetscCount p, const HJWeights *w, HJSweep *s)
{
  const HJPass pass = HJPlanGetPass(plan, p);

  s->count   = pass.count;
  s->w       = w->cycled + pass.first % w->k;
  s->ncopies = f->depth;
  s->overlap = plan->overlap;
  s->cover   = op->grid.owned;
  for (int d = 0; d < 3; d++) {
    const PetscInt half = plan->overlap > 0 ? HJTileOverlap(op->tile[d], plan->overlap) / 2 : 0;

    s->tile[d] = op->tile[d];
    if (op->grid.neighbor[d][0]) s->cover.lo[d] -= half;
    if (op->grid.neighbor[d][1]) s->cover.hi[d] += half;
  }
}

static PetscErrorCode HJOperatorSweep(HJOperator *op, const HJFrames f, PetscInt r0, PetscInt r1, const HJSweep *all)
{
  HJSweep s[HJ_MAX_REGIONS];

  PetscFunctionBegin;
  if (r1 == r0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJOperatorPlaceSweeps(op, f, r0, r1, all, s));
  PetscCall(op->ops->sweep(op->backend, r1 - r0, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One pass of s, whose x, b and y are over ybox: regions in place run while the halo of x (and, in the first pass, b) travels,
   unless the transport is too quick for that to pay */
static PetscErrorCode HJOperatorPass(HJOperator *op, const HJFrames f, const HJPlan *plan, PetscCount p, const HJWeights *w, HJSweep s)
{
  const PetscInt     inside = f->halo && !f->halo->ops->one_launch && !f->regions.ghosts && !f->regions.framed[0] ? 1 : 0;
  const PetscMemType mtype  = op->ops->mtype;
  const PetscScalar *from[] = {s.x, p ? NULL : s.b};

  PetscFunctionBegin;
  HJOperatorSetPass(op, f, plan, p, w, &s);
  if (f->halo) {
    f->halo->timeout = op->exchange_timeout;
    for (int i = 0; i < 2; i++)
      if (from[i]) f->frame[i] = f->buffer[i];
    PetscCall(PetscLogEventBegin(PCHJacobi_Halo, 0, 0, 0, 0));
    PetscCall(HJHaloBegin(f->halo, mtype, from, f->frame));
    PetscCall(PetscLogEventEnd(PCHJacobi_Halo, 0, 0, 0, 0));
  }
  PetscCall(HJOperatorSweep(op, f, 0, inside, &s));
  if (f->halo) {
    PetscCall(PetscLogEventBegin(PCHJacobi_Halo, 0, 0, 0, 0));
    PetscCall(HJHaloEnd(f->halo, mtype, from, f->frame));
    PetscCall(PetscLogEventEnd(PCHJacobi_Halo, 0, 0, 0, 0));
  }
  /* the halo of the next pass travels while this one sweeps, if the two can */
  if (f->regions.ghosts && f->halo && f->halo->ops->target && op->limits.copies && p + 1 < plan->npasses)
    PetscCall(f->halo->ops->target(f->halo, s.copy));
  PetscCall(HJOperatorSweep(op, f, inside, f->regions.n, &s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Arrays in the backend's memory over the points lies, NULL: the owned ones; x and b those of first, which says too what the first sweep
   has to do besides. Every second pass ends in work, and an odd number of them, from a nonzero guess, costs a copy, unless the last can
   work in place, or the caller takes the result from there: *in_work; NULL: it does not
*/
static PetscErrorCode HJOperatorPasses(HJOperator *op, const HJFrames f, const HJPlan *plan, const HJWeights *w, const HJSweep *first,
                                       const HJBox *lies, PetscScalar *x, PetscScalar *work, PetscBool *in_work)
{
  HJSweep s = *first;

  PetscFunctionBegin;
  s.ybox = *HJGridLies(&op->grid, lies);
  s.x    = plan->zero_guess ? NULL : x;
  s.y    = plan->zero_guess && plan->npasses % 2 ? x : work;
  for (PetscCount p = 0; p < plan->npasses; p++) {
    if (plan->in_place && p == plan->npasses - 1) s.y = x;
    PetscCall(HJOperatorPass(op, f, plan, p, w, s));
    s = (HJSweep){.ybox = s.ybox, .x = s.y, .b = s.b, .y = s.y == x ? work : x};
  }
  if (in_work) *in_work = (PetscBool)(s.x != x);
  else if (s.x != x) PetscCall(op->ops->copy(op->backend, x, s.x, op->grid.dof * HJBoxSize(&s.ybox)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sweeps of one product with |D^-1 A|; x comes with its halo */
static PetscErrorCode HJOperatorAbsoluteSweeps(HJOperator *op, const PetscScalar *x, PetscScalar *y, PetscInt *n, HJSweep s[])
{
  const PetscScalar *from[] = {x, NULL};
  HJPlan             plan;
  HJFrames           f;

  PetscFunctionBegin;
  HJPlanFill(&op->grid, &op->limits, 1, 1, op->overlap, PETSC_FALSE, &plan);
  PetscCall(HJOperatorGetFrames(op, &plan, &f));
  if (x && f->halo) {
    f->frame[0] = f->buffer[0];
    PetscCall(HJHaloBegin(f->halo, op->ops->mtype, from, f->frame));
    PetscCall(HJHaloEnd(f->halo, op->ops->mtype, from, f->frame));
  }
  PetscCall(HJOperatorPlaceSweeps(op, f, 0, f->regions.n, &(HJSweep){.ybox = op->grid.owned, .x = x, .y = y}, s));
  *n = f->regions.n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorAbsolute(HJOperator *op, PetscBool skew, const PetscScalar *x, PetscScalar *y, PetscReal *ratio)
{
  HJSweep  s[HJ_MAX_REGIONS];
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(HJOperatorAbsoluteSweeps(op, x, y, &n, s));
  PetscCall(op->ops->absolute(op->backend, n, s, skew, ratio));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, ratio, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)op->da)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorAbsoluteLater(HJOperator *op, const PetscScalar *x, PetscScalar *y, PetscReal *ratio)
{
  HJSweep  s[HJ_MAX_REGIONS];
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(HJOperatorAbsoluteSweeps(op, x, y, &n, s));
  PetscCall(op->ops->multigrid->absolute_later(op->backend, n, s, ratio));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Useful ones: a multiplication and an addition for each neighbour, for the centre, b and the weight; from a zero guess the first
   subiteration is two multiplications
*/
PetscErrorCode HJOperatorLogFlops(const HJOperator *op, PetscCount total, PetscBool zero)
{
  const HJStencil     *st      = op->stencil;
  const PetscLogDouble entries = st->dof > 1 ? (PetscLogDouble)st->nentries / st->dof : st->nslots, full = zero ? total - 1.0 : total,
                       first = zero ? 2.0 : 0.0, flops = ((2.0 * entries + 4.0) * full + first) * HJOperatorSize(op);

  PetscFunctionBegin;
  if (PetscMemTypeDevice(op->ops->mtype) || op->slabs) PetscCall(PetscLogGpuFlops(flops));
  else PetscCall(PetscLogFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of what sweeps do besides */
static PetscErrorCode HJOperatorLogMoreFlops(const HJOperator *op, const HJRun *run)
{
  const PetscLogDouble residual = 2.0 * op->stencil->nslots + 1.0, flops = run->c                 ? 2.0
                                                                           : run->r               ? residual + 2.0
                                                                           : run->leaves_residual ? residual
                                                                                                  : 0.0;

  PetscFunctionBegin;
  if (flops > 0) PetscCall(PetscLogGpuFlops(flops * HJBoxSize(&op->grid.owned)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJOperatorRunInX(HJOperator *op, HJWeights *w, const HJRun *run)
{
  HJPlanned  p;
  HJVecArray ba, xa;

  PetscFunctionBegin;
  PetscCall(HJOperatorGetPlanned(op, w, run, PETSC_FALSE, &p));
  PetscCall(HJVecOpen(op->ops, op->backend, HJ_READ, run->b, &op->stage_b, &ba));
  PetscCall(HJVecOpen(op->ops, op->backend, run->zero ? HJ_WRITE : HJ_READ_WRITE, run->x, &op->stage_x, &xa));
  PetscCall(HJOperatorPasses(op, p.frames, &p.plan, w, &(HJSweep){.b = ba.used}, run->lies, xa.used, op->work, NULL));
  PetscCall(HJOperatorLogFlops(op, p.plan.total, p.plan.zero_guess));
  PetscCall(HJVecClose(&xa));
  PetscCall(HJVecClose(&ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HJCoarser HJCoarserOf(const HJTransfer *t)
{
  HJCoarser coarser = {.row = NULL};

  for (int d = 0; d < 2; d++) {
    coarser.n[d]     = HJBoxWidth(&t->coarse.owned, d);
    coarser.first[d] = -HJTransferShift(t, d);
    HJTransferGetScale(t, d, coarser.scale[d]);
  }
  return coarser;
}

/* Whether each neighbour of this rank is itself across a period, and sweeps read it there */
static PetscBool HJOperatorWraps(const HJOperator *op)
{
  return (PetscBool)(op->limits.wraps && HJGridIsWrapped(&op->grid));
}

/* Lines of a correction below and above the rank's own: those of its other end where the slowest direction is a period of one rank */
static PetscErrorCode HJOperatorGetBeside(HJOperator *op, HJCoarser *coarser)
{
  PetscFunctionBegin;
  if (op->coarse) {
    coarser->depth = op->coarse->depth;
    PetscCall(HJPlanesGet(op->coarse, coarser->correction, NULL, coarser->beside, NULL));
  } else if (HJOperatorWraps(op) && op->grid.periodic[1]) {
    coarser->depth     = coarser->n[1];
    coarser->beside[0] = coarser->beside[1] = coarser->correction;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a run has to do with the coarser grid, of whose vector the values are given */
static PetscErrorCode HJOperatorSetCoarser(HJOperator *op, const HJRun *run, PetscScalar *values, HJCoarser *coarser)
{
  PetscFunctionBegin;
  *coarser     = HJCoarserOf(run->transfer);
  coarser->row = run->row;
  if (run->c) coarser->correction = values;
  else coarser->restricted = values;
  if (run->c) PetscCall(HJOperatorGetBeside(op, coarser));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In x and y by turns. done is false, and nothing was done, where a vector is not in the backend's memory */
static PetscErrorCode HJOperatorRunInTwo(HJOperator *op, HJWeights *w, HJRun *run)
{
  const Vec      v[4]      = {run->c ? run->c : run->r, run->b, run->x, run->y};
  const HJAccess access[4] = {run->c ? HJ_READ : HJ_WRITE, HJ_READ, run->zero ? HJ_WRITE : HJ_READ_WRITE, HJ_WRITE};
  HJSweep        first     = {.x = NULL};
  HJVecArray     a[4];
  HJPlanned      p;

  PetscFunctionBegin;
  run->done = PETSC_TRUE;
  for (int i = 0; i < 4; i++) {
    PetscBool here;

    PetscCall(HJVecOpenHere(op->ops, access[i], v[i], &a[i], &here));
    run->done = (PetscBool)(run->done && here);
  }
  if (run->done) {
    if (v[0]) PetscCall(HJOperatorSetCoarser(op, run, a[0].used, &first.coarser));
    first.b        = a[1].used;
    first.residual = run->leaves_residual ? a[3].used : NULL;
    PetscCall(HJOperatorGetPlanned(op, w, run, PETSC_TRUE, &p));
    PetscCall(HJOperatorPasses(op, p.frames, &p.plan, w, &first, run->lies, a[2].used, a[3].used, &run->in_y));
    PetscCall(HJOperatorLogFlops(op, p.plan.total, p.plan.zero_guess));
    PetscCall(HJOperatorLogMoreFlops(op, run));
  }
  for (int i = 3; i >= 0; i--) PetscCall(HJVecClose(&a[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorRun(HJOperator *op, HJWeights *w, HJRun *run)
{
  PetscFunctionBegin;
  PetscCheck(run->its <= HJ_COUNT_MAX / w->k, PetscObjectComm((PetscObject)op->da), PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " cycles of %" PetscInt_FMT " subiterations are too many to count; lower -ksp_max_it", run->its, w->k);
  run->done = PETSC_FALSE;
  run->in_y = PETSC_FALSE;
  if (run->y) PetscCall(HJOperatorRunInTwo(op, w, run));
  if (run->done || run->c || run->r || run->leaves_residual) PetscFunctionReturn(PETSC_SUCCESS);
  if (op->slabs) PetscCall(op->slabs_ops->run(op, w, run->its, run->zero, run->b, run->x));
  else PetscCall(HJOperatorRunInX(op, w, run));
  run->done = PETSC_TRUE;
  run->in_y = (PetscBool)(run->y && !run->zero && HJOperatorSwaps(op, w, run->its)); /* as with others, so that callers need not know */
  if (run->in_y) PetscCall(VecCopy(run->x, run->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorRunArrays(HJOperator *op, HJWeights *w, const HJPlanned *p, const HJSweep *first, PetscScalar *x, PetscScalar *y,
                                   PetscBool *in_y)
{
  PetscFunctionBegin;
  PetscCall(HJOperatorPasses(op, p->frames, &p->plan, w, first, NULL, x, y, in_y));
  PetscCall(HJOperatorLogFlops(op, p->plan.total, p->plan.zero_guess));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the grids are such as HJCoarser has, and sweeps exact */
static PetscBool HJOperatorSuitsCoarser(const HJOperator *op, const HJTransfer *t)
{
  if (op->slabs || op->overlap >= 0 || op->grid.dim != 2) return PETSC_FALSE;
  for (int d = 0; d < 2; d++) {
    if (t->factor[d] != 2 || (t->fine.periodic[d] && (!HJOperatorWraps(op) || HJTransferAdjoins(t, d)))) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Of a period of one rank: how many more fine points than subiterations there must be, so that what a sweep reads of a correction beyond an
   end lies within one period */
#define HJ_CORRECTED_MORE 4

/* Subiterations that a kernel which has to do with the coarser grid may have are fewer: bits of a mask */
#define HJ_COARSER_COUNTS 16

static PetscBool HJOperatorBackendCan(const HJOperator *op, HJKind kind, PetscInt count)
{
  return (PetscBool)(op->ops->can && op->ops->can(op->backend, kind, count));
}

static void HJOperatorAskBackend(const HJOperator *op, const HJTransfer *t, int can[2 * HJ_COARSER_COUNTS])
{
  PetscBool here = (PetscBool)(t && HJOperatorSuitsCoarser(op, t));

  if (HJGridHasNeighbors(&op->grid)) here = (PetscBool)(here && (op->limits.ghosts || HJOperatorWraps(op)));
  for (int n = 0; n < HJ_COARSER_COUNTS; n++) {
    const PetscBool wide = (PetscBool)(!HJOperatorWraps(op) || op->grid.min_width >= n + HJ_CORRECTED_MORE);

    can[n]                     = here && wide && HJOperatorBackendCan(op, HJ_CORRECTS, n);
    can[HJ_COARSER_COUNTS + n] = here && HJOperatorBackendCan(op, HJ_RESTRICTS, n) && op->grid.min_width > n;
  }
}

/* Whether a sweep of so many subiterations can: where ranks have neighbours what all answered in set-up, else what the backend says */
static PetscBool HJOperatorCan(const HJOperator *op, HJKind kind, PetscInt count)
{
  const PetscInt mask = kind == HJ_CORRECTS ? op->corrects : op->restricts;

  if (HJGridHasNeighbors(&op->grid)) return (PetscBool)(count < HJ_COARSER_COUNTS && (mask >> count & 1));
  return HJOperatorBackendCan(op, kind, count);
}

PetscErrorCode HJOperatorSetUpCoarser(HJOperator *op, DM da, const HJTransfer *t)
{
  int      can[2 * HJ_COARSER_COUNTS];
  PetscInt most = 0;

  PetscFunctionBegin;
  HJOperatorAskBackend(op, t, can); /* it may wait for the first answer */
  if (!HJGridHasNeighbors(&op->grid)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, can, 2 * HJ_COARSER_COUNTS, MPI_INT, MPI_LAND, PetscObjectComm((PetscObject)da)));
  op->corrects = op->restricts = 0;
  for (int n = 0; n < HJ_COARSER_COUNTS; n++) {
    if (can[n]) most = n;
    op->corrects |= can[n] << n;
    op->restricts |= can[HJ_COARSER_COUNTS + n] << n;
  }
  if (op->coarse || !most || HJOperatorWraps(op)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(
    HJPlanesCreate(da, &t->coarse, most / 2 + 1, PETSC_FALSE, op->ops, (HJExchange){op->halo_ops, op->exchange_timeout}, &op->coarse));
  op->coarse->halo->with_next = PETSC_TRUE; /* with the values that the sweep starts from */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJOperatorCorrects(const HJOperator *op, const HJWeights *w, PetscInt its, const HJTransfer *t)
{
  HJPlan plan;

  if (!HJOperatorSuitsCoarser(op, t)) return PETSC_FALSE;
  HJOperatorPlan(op, w->k, its, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE, &plan);
  return HJOperatorCan(op, HJ_CORRECTS, HJPlanGetPass(&plan, 0).count);
}

PetscBool HJOperatorRestricts(const HJOperator *op, const HJWeights *w, PetscInt its, const HJTransfer *t)
{
  HJPlan plan;

  if (!HJOperatorSuitsCoarser(op, t)) return PETSC_FALSE;
  HJOperatorPlan(op, w->k, its, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE, &plan);
  return (PetscBool)(plan.npasses == 1 && HJOperatorCan(op, HJ_RESTRICTS, HJPlanGetPass(&plan, 0).count));
}

PetscBool HJOperatorLeavesResidual(const HJOperator *op, const HJWeights *w)
{
  HJPlan plan;

  if (op->slabs || op->overlap >= 0 || op->grid.dim != 3 || HJGridHasNeighbors(&op->grid)) return PETSC_FALSE;
  HJOperatorPlan(op, w->k, 1, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE, &plan);
  return (PetscBool)(plan.npasses == 1 && HJOperatorBackendCan(op, HJ_LEAVES_RESIDUAL, HJPlanGetPass(&plan, 0).count));
}

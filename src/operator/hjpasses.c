/*
   Runs a plan: passes over regions, halos between them, staging where vectors are not in the backend's memory.
   Decides no pass, tile or transport; those come from plan, backend and halo.
*/
#include "hjvectors.h"
#include "hjoperator.h"
#include "hjslabs.h"
#include "core/hjrestriction.h"

PetscLogEvent PCHJacobi_Halo;

static PetscErrorCode HJOperatorNeed(HJOperator *op, PetscScalar **array)
{
  PetscFunctionBegin;
  if (!*array) PetscCall(op->ops->alloc(op->backend, HJBoxSize(&op->grid.owned), array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* pair: there are two arrays for the result, so that no pass need work in place, nor is there a copy to be saved */
static void HJOperatorPlan(const HJOperator *op, PetscInt k, PetscInt its, PetscBool zero, PetscBool pair, HJPlan *plan)
{
  HJLimits limits = op->limits;

  if (zero && op->overlap < 0 && !HJGridHasNeighbors(&op->grid) && (PetscCount)its * k == HJMostFromZero(op->ops, op->backend))
    limits.max_count = limits.best_count = its * k;
  if (pair) limits.in_place = HJ_MAX_PASS;
  HJPlanFill(&op->grid, &limits, k, its, op->overlap, zero, plan);
  if (op->stencil->shape == HJ_BOX && op->stencil->storage != HJ_DICTIONARY) HJPlanBeginPointwise(&op->grid, &limits, plan);
  if (pair) plan->in_place = PETSC_FALSE;
}

PetscBool HJOperatorSwaps(const HJOperator *op, const HJWeights *w, PetscInt its)
{
  HJPlan plan;

  HJOperatorPlan(op, w->k, its, PETSC_FALSE, PETSC_TRUE, &plan);
  return (PetscBool)(plan.npasses % 2);
}

/* Lines that the halo of a sweep which restricts is deeper: a coarse line needs the residual beside it, that the result, and from a zero
   guess the first subiteration needs no line */
#define HJ_RESTRICTED_DEEPER 1

static void HJOperatorDeepen(const HJOperator *op, HJPlan *plan)
{
  if (op->coarser.y && HJGridHasNeighbors(&op->grid)) plan->depth += HJ_RESTRICTED_DEEPER;
}

static PetscErrorCode HJOperatorGetPlan(HJOperator *op, PetscInt k, PetscInt its, PetscBool zero, PetscBool pair, HJPlan *plan,
                                        HJFrames *frames)
{
  PetscFunctionBegin;
  HJOperatorPlan(op, k, its, zero, pair, plan);
  HJOperatorDeepen(op, plan);
  PetscCall(HJOperatorGetFrames(op, plan, frames));
  if (!pair && plan->npasses > (zero || plan->in_place ? 1 : 0)) PetscCall(HJOperatorNeed(op, &op->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorPrepare(HJOperator *op, const HJWeights *w, PetscInt its, PetscBool zero)
{
  HJPlan   plan;
  HJFrames frames;

  PetscFunctionBegin;
  if (!op->slabs) PetscCall(HJOperatorGetPlan(op, w->k, its, zero, PETSC_FALSE, &plan, &frames));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorPreparePair(HJOperator *op, const HJWeights *w, PetscInt its, PetscBool zero)
{
  HJPlan   plan;
  HJFrames frames;

  PetscFunctionBegin;
  PetscCall(HJOperatorGetPlan(op, w->k, its, zero, PETSC_TRUE, &plan, &frames));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The ghost planes of an array over the owned points: where the last exchange left them, or, of a grid that wraps, in the array itself */
static void HJOperatorPlaceGhosts(const HJOperator *op, const HJFrames f, const PetscScalar *array, const PetscScalar *frame,
                                  const PetscScalar *ghost[2])
{
  const HJRegions *rg = &f->regions;

  for (int side = 0; side < 2; side++) {
    if (!array || !rg->ghosts) ghost[side] = NULL;
    else if (rg->wraps) ghost[side] = side ? array : array + HJBoxSize(&op->grid.owned) - HJBoxSize(&rg->ghost[0]);
    else ghost[side] = frame + (side ? HJBoxSize(&rg->ghost[0]) : 0);
  }
}

/* Where the regions [r0, r1) lie in x, b and y; NULL stays NULL. Weights, tiles and copies are left zero */
static PetscErrorCode HJOperatorPlaceSweeps(const HJOperator *op, const HJFrames f, PetscInt r0, PetscInt r1, const PetscScalar *b,
                                            const PetscScalar *x, PetscScalar *y, HJSweep s[])
{
  const HJRegions *rg = &f->regions;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(s, r1 - r0));
  for (PetscInt r = r0; r < r1; r++) {
    HJSweep *t = &s[r - r0];

    t->write     = rg->write[r];
    t->box       = rg->box[r];
    t->ybox      = op->grid.owned;
    t->x         = !x ? NULL : rg->framed[r] ? f->frame[0] + rg->offset[r] : x;
    t->b         = !b ? NULL : rg->framed[r] ? f->frame[1] + rg->offset[r] : b;
    t->y         = y;
    t->ghosts    = rg->ghosts;
    t->exchanged = (PetscBool)(rg->ghosts && f->halo && f->halo->ops->one_launch);
    for (int d = 0; d < 2; d++) t->wraps[d] = (PetscBool)(rg->wraps && d < op->grid.dim - 1 && op->grid.periodic[d]);
    HJOperatorPlaceGhosts(op, f, x, f->frame[0], t->xghost);
    HJOperatorPlaceGhosts(op, f, b, f->frame[1], t->bghost);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sweeps of the regions [r0, r1) of a pass */
static PetscErrorCode HJOperatorFillSweeps(const HJOperator *op, const HJFrames f, PetscInt r0, PetscInt r1, const HJPlan *plan,
                                           HJPass pass, const PetscReal *w, const PetscScalar *b, const PetscScalar *x, PetscScalar *y,
                                           PetscScalar *const copy[2], HJSweep s[])
{
  PetscFunctionBegin;
  PetscCall(HJOperatorPlaceSweeps(op, f, r0, r1, b, x, y, s));
  for (HJSweep *t = s; t < s + (r1 - r0); t++) {
    for (int side = 0; side < 2; side++) t->copy[side] = copy[side];
    t->ncopies = f->depth;
    t->count   = pass.count;
    t->w       = w;
    t->overlap = plan->overlap;
    PetscCall(PetscArraycpy(t->tile, op->tile, 3));
    t->cover = op->grid.owned;
    for (int d = 0; d < 3 && plan->overlap > 0; d++) {
      const PetscInt half = HJTileOverlap(op->tile[d], plan->overlap) / 2;

      if (op->grid.neighbor[d][0]) t->cover.lo[d] -= half;
      if (op->grid.neighbor[d][1]) t->cover.hi[d] += half;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the coming sweep has to do with the coarser grid */
static PetscBool HJOperatorHasCoarser(const HJOperator *op)
{
  return (PetscBool)(op->coarser.c || op->coarser.y || op->coarser.residual);
}

static PetscErrorCode HJOperatorSweep(HJOperator *op, const HJFrames f, PetscInt r0, PetscInt r1, const HJPlan *plan, HJPass pass,
                                      const PetscReal *w, const PetscScalar *b, const PetscScalar *x, PetscScalar *y,
                                      PetscScalar *const copy[2])
{
  const HJCoarser coarser = op->coarser;
  HJSweep         s[HJ_MAX_REGIONS];

  PetscFunctionBegin;
  if (r1 == r0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJOperatorFillSweeps(op, f, r0, r1, plan, pass, w, b, x, y, copy, s));
  if (!HJOperatorHasCoarser(op)) {
    PetscCall(op->ops->sweep(op->backend, r1 - r0, s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  op->coarser = (HJCoarser){0}; /* also where it fails, as a recording may: the next sweep is another one */
  PetscCall(op->ops->multigrid->sweep_coarser(op->backend, s, &coarser));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One pass: regions in place run while the halo of x (and, in the first pass, b) travels, unless the transport is too quick for that
   to pay */
static PetscErrorCode HJOperatorPass(HJOperator *op, const HJFrames f, const HJPlan *plan, PetscCount p, const HJWeights *w,
                                     const PetscScalar *b, const PetscScalar *x, PetscScalar *y)
{
  const HJPass       pass   = HJPlanGetPass(plan, p);
  const PetscInt     inside = f->halo && !f->halo->ops->one_launch && !f->regions.ghosts && !f->regions.framed[0] ? 1 : 0;
  const PetscReal   *slice  = w->cycled + pass.first % w->k;
  const PetscMemType mtype  = op->ops->mtype;
  const PetscScalar *from[] = {x, p ? NULL : b};
  PetscScalar       *copy[] = {NULL, NULL};

  PetscFunctionBegin;
  if (f->halo) {
    f->halo->timeout = op->exchange_timeout;
    for (int i = 0; i < 2; i++)
      if (from[i]) f->frame[i] = f->buffer[i];
    PetscCall(PetscLogEventBegin(PCHJacobi_Halo, 0, 0, 0, 0));
    PetscCall(HJHaloBegin(f->halo, mtype, from, f->frame));
    PetscCall(PetscLogEventEnd(PCHJacobi_Halo, 0, 0, 0, 0));
  }
  PetscCall(HJOperatorSweep(op, f, 0, inside, plan, pass, slice, b, x, y, copy));
  if (f->halo) {
    PetscCall(PetscLogEventBegin(PCHJacobi_Halo, 0, 0, 0, 0));
    PetscCall(HJHaloEnd(f->halo, mtype, from, f->frame));
    PetscCall(PetscLogEventEnd(PCHJacobi_Halo, 0, 0, 0, 0));
  }
  /* the halo of the next pass travels while this one sweeps, if the two can */
  if (f->regions.ghosts && f->halo && f->halo->ops->target && op->limits.copies && p + 1 < plan->npasses)
    PetscCall(f->halo->ops->target(f->halo, copy));
  PetscCall(HJOperatorSweep(op, f, inside, f->regions.n, plan, pass, slice, b, x, y, copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   All stale cycles at once, in x, where the backend can: what no other rank and no periodic image has a part in. Where it can only do an
   even number the last one is a pass of its own
*/
static PetscErrorCode HJOperatorStaleCycles(HJOperator *op, const HJFrames f, const HJPlan *plan, const HJWeights *w, const PetscScalar *b,
                                            PetscScalar *x, PetscScalar *work, PetscBool *done)
{
  PetscScalar *const copy[] = {NULL, NULL};
  PetscCount         n      = plan->npasses;
  HJSweep            s;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (plan->overlap < 0 || n < 2 || HJGridHasNeighbors(&op->grid) || !op->ops->multigrid->stale_cycles) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJOperatorFillSweeps(op, f, 0, 1, plan, HJPlanGetPass(plan, 0), w->cycled, b, plan->zero_guess ? NULL : x, x, copy, &s));
  PetscCall(op->ops->multigrid->stale_cycles(op->backend, &s, work, n, done));
  if (*done || n < 3) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(op->ops->multigrid->stale_cycles(op->backend, &s, work, --n, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJOperatorPass(op, f, plan, n, w, b, x, work));
  PetscCall(op->ops->copy(op->backend, x, work, HJBoxSize(&op->grid.owned)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays in the backend's memory: an odd number of passes from a nonzero guess ends in work and costs a copy, unless the last can work
   in place, or the caller takes the result from there: *in_work; NULL: it does not */
static PetscErrorCode HJOperatorPasses(HJOperator *op, const HJFrames f, const HJPlan *plan, const HJWeights *w, const PetscScalar *b,
                                       PetscScalar *x, PetscScalar *work, PetscBool *in_work)
{
  const PetscScalar *in   = plan->zero_guess ? NULL : x;
  PetscScalar       *out  = plan->zero_guess && plan->npasses % 2 ? x : work;
  PetscBool          done = PETSC_FALSE;

  PetscFunctionBegin;
  if (!in_work) PetscCall(HJOperatorStaleCycles(op, f, plan, w, b, x, work, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscCount p = 0; p < plan->npasses; p++) {
    if (plan->in_place && p == plan->npasses - 1) out = x;
    PetscCall(HJOperatorPass(op, f, plan, p, w, b, in, out));
    in  = out;
    out = in == x ? work : x;
  }
  if (in_work) *in_work = (PetscBool)(in != x);
  else if (in != x) PetscCall(op->ops->copy(op->backend, x, in, HJBoxSize(&op->grid.owned)));
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
  PetscCall(HJOperatorPlaceSweeps(op, f, 0, f->regions.n, NULL, x, y, s));
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
static PetscErrorCode HJOperatorLogFlops(const HJOperator *op, const HJPlan *plan)
{
  const PetscLogDouble full = plan->zero_guess ? plan->total - 1.0 : plan->total, first = plan->zero_guess ? 2.0 : 0.0,
                       flops = ((2.0 * op->stencil->nslots + 4.0) * full + first) * HJBoxSize(&op->grid.owned);

  PetscFunctionBegin;
  if (PetscMemTypeDevice(op->ops->mtype) || op->slabs) PetscCall(PetscLogGpuFlops(flops));
  else PetscCall(PetscLogFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Wherever the vectors lie, their arrays on the host are what travels */
PetscErrorCode HJOperatorRunSlabs(HJOperator *op, HJWeights *w, PetscInt its, PetscBool zero, Vec b, Vec x, const HJSlabCheck *check,
                                  PetscInt *done)
{
  HJPlan             plan = {.zero_guess = zero};
  const PetscScalar *ba;
  PetscScalar       *xa;
  PetscCount         total;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(b, &ba));
  if (zero) PetscCall(VecGetArrayWrite(x, &xa));
  else PetscCall(VecGetArray(x, &xa));
  PetscCall(HJSlabsRunChecked(op->slabs, w, (PetscCount)its * w->k, zero, ba, xa, check, &total));
  plan.total = total;
  *done      = (PetscInt)(total / w->k);
  PetscCall(HJOperatorLogFlops(op, &plan));
  if (zero) PetscCall(VecRestoreArrayWrite(x, &xa));
  else PetscCall(VecRestoreArray(x, &xa));
  PetscCall(VecRestoreArrayRead(b, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorUpdateNorm(HJOperator *op, HJWeights *w, Vec b, Vec x, NormType type, PetscReal *norm)
{
  const PetscScalar *ba, *xa;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(b, &ba));
  PetscCall(VecGetArrayRead(x, &xa));
  PetscCall(HJSlabsUpdate(op->slabs, w, ba, xa, type, norm));
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(VecRestoreArrayRead(b, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorRun(HJOperator *op, HJWeights *w, PetscInt its, PetscBool zero, Vec b, Vec x)
{
  HJPlan     plan;
  HJFrames   frames;
  HJVecArray ba, xa;
  PetscInt   done;

  PetscFunctionBegin;
  PetscCheck(its <= HJ_COUNT_MAX / w->k, PetscObjectComm((PetscObject)op->da), PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " cycles of %" PetscInt_FMT " subiterations are too many to count; lower -ksp_max_it", its, w->k);
  if (op->slabs) {
    PetscCall(HJOperatorRunSlabs(op, w, its, zero, b, x, NULL, &done));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJOperatorGetPlan(op, w->k, its, zero, PETSC_FALSE, &plan, &frames));
  PetscCall(HJWeightsExtend(w, w->k + PetscMax(HJPlanGetPass(&plan, 0).count, HJPlanGetPass(&plan, plan.npasses - 1).count) + 1));
  PetscCall(HJVecOpen(op->ops, op->backend, HJ_READ, b, &op->stage_b, &ba));
  PetscCall(HJVecOpen(op->ops, op->backend, zero ? HJ_WRITE : HJ_READ_WRITE, x, &op->stage_x, &xa));
  PetscCall(HJOperatorPasses(op, frames, &plan, w, ba.used, xa.used, op->work, NULL));
  PetscCall(HJOperatorLogFlops(op, &plan));
  PetscCall(HJVecClose(&xa));
  PetscCall(HJVecClose(&ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of the three vectors, and whether all lie in the backend's memory */
static PetscErrorCode HJOperatorOpenPair(const HJOperator *op, PetscBool zero, Vec b, Vec x, Vec y, const PetscScalar **ba,
                                         PetscScalar **xa, PetscScalar **ya, PetscBool *here)
{
  PetscMemType mtype[3];

  PetscFunctionBegin;
  *here = PETSC_TRUE;
  if (PetscMemTypeHost(op->ops->mtype)) {
    PetscCall(VecGetArrayRead(b, ba));
    if (zero) PetscCall(VecGetArrayWrite(x, xa));
    else PetscCall(VecGetArray(x, xa));
    PetscCall(VecGetArrayWrite(y, ya));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetArrayReadAndMemType(b, ba, &mtype[0]));
  if (zero) PetscCall(VecGetArrayWriteAndMemType(x, xa, &mtype[1]));
  else PetscCall(VecGetArrayAndMemType(x, xa, &mtype[1]));
  PetscCall(VecGetArrayWriteAndMemType(y, ya, &mtype[2]));
  for (int i = 0; i < 3; i++) *here = (PetscBool)(*here && PetscMemTypeDevice(mtype[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJOperatorClosePair(const HJOperator *op, PetscBool zero, Vec b, Vec x, Vec y, const PetscScalar **ba,
                                          PetscScalar **xa, PetscScalar **ya)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(op->ops->mtype)) {
    PetscCall(VecRestoreArrayWrite(y, ya));
    if (zero) PetscCall(VecRestoreArrayWrite(x, xa));
    else PetscCall(VecRestoreArray(x, xa));
    PetscCall(VecRestoreArrayRead(b, ba));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecRestoreArrayWriteAndMemType(y, ya));
  if (zero) PetscCall(VecRestoreArrayWriteAndMemType(x, xa));
  else PetscCall(VecRestoreArrayAndMemType(x, xa));
  PetscCall(VecRestoreArrayReadAndMemType(b, ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorRunPair(HJOperator *op, HJWeights *w, PetscInt its, PetscBool zero, Vec b, Vec x, Vec y, PetscBool *in_y)
{
  HJPlan             plan;
  HJFrames           frames;
  const PetscScalar *ba;
  PetscScalar       *xa, *ya;
  PetscBool          here;

  PetscFunctionBegin;
  PetscCheck(its <= HJ_COUNT_MAX / w->k, PetscObjectComm((PetscObject)op->da), PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " cycles of %" PetscInt_FMT " subiterations are too many to count", its, w->k);
  *in_y = PETSC_FALSE;
  PetscCall(HJOperatorOpenPair(op, zero, b, x, y, &ba, &xa, &ya, &here));
  if (here) {
    PetscCall(HJOperatorGetPlan(op, w->k, its, zero, PETSC_TRUE, &plan, &frames));
    PetscCall(HJWeightsExtend(w, w->k + PetscMax(HJPlanGetPass(&plan, 0).count, HJPlanGetPass(&plan, plan.npasses - 1).count) + 1));
    PetscCall(HJOperatorPasses(op, frames, &plan, w, ba, xa, ya, in_y));
    PetscCall(HJOperatorLogFlops(op, &plan));
  }
  PetscCall(HJOperatorClosePair(op, zero, b, x, y, &ba, &xa, &ya));
  if (here || HJOperatorHasCoarser(op)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJOperatorRun(op, w, its, zero, b, x));
  *in_y = (PetscBool)(!zero && HJOperatorSwaps(op, w, its)); /* as with others, so that callers need not know */
  if (*in_y) PetscCall(VecCopy(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the grids are such as HJCoarser has, and sweeps exact */
static PetscBool HJOperatorSuitsCoarser(const HJOperator *op, const HJTransfer *t)
{
  if (op->slabs || op->overlap >= 0 || op->grid.dim != 2) return PETSC_FALSE;
  for (int d = 0; d < 2; d++) {
    if (t->factor[d] != 2 || op->grid.N[d] != 2 * t->coarse.N[d] - 1 || op->grid.owned.lo[d] || t->coarse.owned.lo[d]) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Subiterations that a kernel which has to do with the coarser grid may have are fewer: bits of a mask */
#define HJ_COARSER_COUNTS 16

static void HJOperatorAskBackend(const HJOperator *op, const HJTransfer *t, int can[2 * HJ_COARSER_COUNTS])
{
  const HJMultigridOps *ops  = op->ops->multigrid;
  PetscBool             here = (PetscBool)(t && HJOperatorSuitsCoarser(op, t));

  if (HJGridHasNeighbors(&op->grid)) here = (PetscBool)(here && op->limits.ghosts);
  for (int n = 0; n < HJ_COARSER_COUNTS; n++) {
    can[n]                     = here && ops && ops->corrects && ops->corrects(op->backend, n);
    can[HJ_COARSER_COUNTS + n] = here && ops && ops->restricts && ops->restricts(op->backend, n) && op->grid.min_width > n;
  }
}

/* Whether a sweep of so many subiterations can: where ranks have neighbours what all answered in set-up, else what the backend says */
static PetscBool HJOperatorCan(const HJOperator *op, PetscInt mask, PetscBool (*can)(void *, PetscInt), PetscInt count)
{
  if (HJGridHasNeighbors(&op->grid)) return (PetscBool)(count < HJ_COARSER_COUNTS && (mask >> count & 1));
  return (*can)(op->backend, count);
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
  if (op->coarse || !most) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(
    HJPlanesCreate(da, &t->coarse, most / 2 + 1, PETSC_FALSE, op->ops, (HJExchange){op->halo_ops, op->exchange_timeout}, &op->coarse));
  op->coarse->halo->with_next = PETSC_TRUE; /* with the values that the sweep starts from */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJOperatorCorrects(const HJOperator *op, const HJWeights *w, PetscInt its, const HJTransfer *t)
{
  const HJMultigridOps *ops = op->ops->multigrid;
  HJPlan                plan;

  if (!ops || !ops->corrects || !HJOperatorSuitsCoarser(op, t)) return PETSC_FALSE;
  HJOperatorPlan(op, w->k, its, PETSC_FALSE, PETSC_TRUE, &plan);
  return HJOperatorCan(op, op->corrects, ops->corrects, HJPlanGetPass(&plan, 0).count);
}

PetscBool HJOperatorRestricts(const HJOperator *op, const HJWeights *w, PetscInt its, const HJTransfer *t)
{
  const HJMultigridOps *ops = op->ops->multigrid;
  HJPlan                plan;

  if (!ops || !ops->restricts || !HJOperatorSuitsCoarser(op, t)) return PETSC_FALSE;
  HJOperatorPlan(op, w->k, its, PETSC_TRUE, PETSC_TRUE, &plan);
  return (PetscBool)(plan.npasses == 1 && HJOperatorCan(op, op->restricts, ops->restricts, HJPlanGetPass(&plan, 0).count));
}

PetscErrorCode HJOperatorPrepareRestricted(HJOperator *op, const HJWeights *w, const HJTransfer *t)
{
  HJPlan   plan;
  HJFrames frames;

  PetscFunctionBegin;
  if (!HJGridHasNeighbors(&op->grid) || !HJOperatorRestricts(op, w, 1, t)) PetscFunctionReturn(PETSC_SUCCESS);
  HJOperatorPlan(op, w->k, 1, PETSC_TRUE, PETSC_TRUE, &plan);
  plan.depth += HJ_RESTRICTED_DEEPER;
  PetscCall(HJOperatorGetFrames(op, &plan, &frames));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorRunPairCoarser(HJOperator *op, HJWeights *w, PetscInt its, const HJTransfer *t, Vec c, Vec r,
                                        const PetscScalar *row, Vec b, Vec x, Vec y, PetscBool *in_y, PetscBool *done)
{
  HJCoarser    coarser = {.row = row, .n = {HJBoxWidth(&t->coarse.owned, 0), HJBoxWidth(&t->coarse.owned, 1)}, .first = HJTransferFirst(t)};
  PetscMemType mtype;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (c) PetscCall(VecGetArrayReadAndMemType(c, &coarser.c, &mtype));
  else PetscCall(VecGetArrayWriteAndMemType(r, &coarser.y, &mtype));
  if (PetscMemTypeDevice(mtype)) {
    if (c && op->coarse) {
      coarser.depth = op->coarse->depth;
      PetscCall(HJPlanesGet(op->coarse, coarser.c, NULL, coarser.beside, NULL));
    }
    op->coarser = coarser;
    PetscCall(HJOperatorRunPair(op, w, its, (PetscBool)!c, b, x, y, in_y));
    *done       = (PetscBool)!HJOperatorHasCoarser(op);
    op->coarser = (HJCoarser){0};
    if (*done) PetscCall(PetscLogGpuFlops((c ? 2.0 : 2.0 * op->stencil->nslots + 3.0) * HJBoxSize(&op->grid.owned)));
  }
  if (c) PetscCall(VecRestoreArrayReadAndMemType(c, &coarser.c));
  else PetscCall(VecRestoreArrayWriteAndMemType(r, &coarser.y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJOperatorLeavesResidual(const HJOperator *op, const HJWeights *w)
{
  const HJMultigridOps *ops = op->ops->multigrid;
  HJPlan                plan;

  if (!ops || !ops->leaves_residual || op->slabs || op->overlap >= 0 || op->grid.dim != 3 || HJGridHasNeighbors(&op->grid))
    return PETSC_FALSE;
  HJOperatorPlan(op, w->k, 1, PETSC_TRUE, PETSC_TRUE, &plan);
  return (PetscBool)(plan.npasses == 1 && ops->leaves_residual(op->backend, HJPlanGetPass(&plan, 0).count));
}

PetscErrorCode HJOperatorRunPairResidual(HJOperator *op, HJWeights *w, Vec b, Vec x, Vec y, PetscBool *done)
{
  PetscScalar *a;
  PetscMemType mtype;
  PetscBool    in_y;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCall(VecGetArrayWriteAndMemType(y, &a, &mtype));
  op->coarser = (HJCoarser){.residual = PetscMemTypeDevice(mtype) ? a : NULL}; /* it stays there */
  PetscCall(VecRestoreArrayWriteAndMemType(y, &a));
  if (!HJOperatorHasCoarser(op)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJOperatorRunPair(op, w, 1, PETSC_TRUE, b, x, y, &in_y));
  *done       = (PetscBool)!HJOperatorHasCoarser(op);
  op->coarser = (HJCoarser){0};
  if (*done) PetscCall(PetscLogGpuFlops((2.0 * op->stencil->nslots + 1.0) * HJBoxSize(&op->grid.owned)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

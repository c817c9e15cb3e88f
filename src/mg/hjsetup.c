/*
   Set-up: what is done anew when the matrix or an option changed, and the sweeps of each level.
*/
#include "hjmg.h"
#include "core/hjcoefficients.h"

/* Grids and operators: kept, filled with new values, or made anew */
static PetscErrorCode HJMGSetUpGrids(PC pc)
{
  PC_HJMG      *mg = (PC_HJMG *)pc->data;
  HJMatrixState now;
  DM            dm;

  PetscFunctionBegin;
  PetscCall(PCGetDM(pc, &dm));
  PetscCall(HJMatrixStateGet(pc->pmat, dm, PetscObjectStateGet, &now));
  if (!mg->nlevels || !mg->level[0].op || !HJMatrixStateIsSame(&now, &mg->read)) mg->changed = HJ_MG_CHANGED_GRIDS;
  else if (now.values != mg->read.values) mg->changed = PetscMax(mg->changed, HJ_MG_CHANGED_VALUES);
  if (mg->changed == HJ_MG_CHANGED_GRIDS) {
    mg->unscaled = PETSC_FALSE;
    PetscCall(HJMGMakeGrids(pc));
  } else if (mg->changed == HJ_MG_CHANGED_VALUES) PetscCall(HJMGRefreshGrids(pc));
  mg->read = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In the level's work vector, where that lies with the operator */
static PetscErrorCode HJMGBeginBound(HJMGLevel *level)
{
  PetscScalar *room;
  PetscMemType mtype;
  PetscBool    here;

  PetscFunctionBegin;
  PetscCall(VecGetArrayWriteAndMemType(level->r, &room, &mtype));
  here = (PetscBool)(!PetscMemTypeHost(mtype) == !PetscMemTypeHost(level->op->ops->mtype));
  PetscCall(HJBoundBegin(level->op, 0, here ? room : NULL));
  PetscCall(VecRestoreArrayWriteAndMemType(level->r, &room));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGSetUpBound(PC pc, HJMGLevel *level)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  PetscCall(HJBoundEnd(level->op, &level->bound));
  PetscCall(HJMGCheckBound(mg, level, level->bound.emax));
  if (!HJHasFailed(&mg->failure)) PetscCall(HJMGFindSafeK(mg, level, level->bound.emax));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sweeps of a coarsest grid whose matrix is not symmetric, as many as leave HJ_MG_REDUCTION of the error: where its diagonal dominates its
   rows so much that few do. The eigenvalues of D^-1 A lie in the disc around 1 whose radius is the largest share of a row beside the
   diagonal, and no further from the real axis than its skew part: Jacobi's own weights suit the disc, those of first kind its flat part */
static PetscErrorCode HJMGSetUpDominated(PC_HJMG *mg, HJMGLevel *level, PetscBool *few)
{
  const PetscReal others = level->coarsening.others;
  PetscReal       disc, flat;

  PetscFunctionBegin;
  *few = mg->settled = PETSC_FALSE;
  if (!(others < 1.0)) PetscFunctionReturn(PETSC_SUCCESS);
  disc = HJScheduleDiscK(HJ_MG_REDUCTION, others);
  flat = HJScheduleFlatK(HJ_MG_REDUCTION, others, level->skew);
  if (PetscMin(disc, flat) > HJ_MG_SWEEPS) PetscFunctionReturn(PETSC_SUCCESS);
  *few = mg->settled = PETSC_TRUE;
  level->w.k         = (PetscInt)PetscMin(disc, flat);
  PetscCall(PetscMalloc1(level->w.k, &level->w.w));
  PetscCall(HJScheduleFill(PetscObjectComm((PetscObject)level->da),
                           flat < disc ? PC_HJACOBI_SCHEDULE_CHEBYSHEV : PC_HJACOBI_SCHEDULE_JACOBI, level->w.k, 1.0 - others, 1.0 + others,
                           1.0, level->w.w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sweeps of first kind on the coarsest grid, as many as leave HJ_MG_REDUCTION of the error. None where the least eigenvalue is not found,
   or not looked for: a symmetric matrix with a diagonal that is zero or weak somewhere is not definite. few: they cost no more than a
   coarser grid would */
static PetscErrorCode HJMGSetUpCoarsest(PC pc, HJMGLevel *level, PetscBool *few)
{
  PC_HJMG        *mg   = (PC_HJMG *)pc->data;
  const PetscReal emax = level->bound.emax;
  PetscReal       emin = PETSC_DECIDE, least;
  const char     *prefix;
  Vec             dinv;
  PetscInt        zeros;

  PetscFunctionBegin;
  PetscCall(HJWeightsReset(&level->w));
  if (level->skew > HJ_MG_SKEW) {
    PetscCall(HJMGSetUpDominated(mg, level, few));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (HJMGIsWeak(level)) {
    *few = mg->settled = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(HJInverseDiagonal(level->A, &dinv, &zeros));
  PetscCall(HJReductionLeastK(level->A, dinv, level->da, prefix, PETSC_FALSE, HJ_MG_REDUCTION, emax, &emin, &least, &mg->settled));
  PetscCall(VecDestroy(&dinv));
  *few = (PetscBool)(mg->settled && least <= HJ_MG_SWEEPS);
  if (!mg->settled) PetscFunctionReturn(PETSC_SUCCESS);
  level->w.k = (PetscInt)PetscMin(least, HJ_MAX_K);
  if (least > HJ_MAX_K)
    PetscCall(PetscInfo(pc, "The coarsest grid needs %g sweeps and has %d; give it sizes that can be coarsened more often\n", (double)least,
                        HJ_MAX_K));
  PetscCall(PetscMalloc1(level->w.k, &level->w.w));
  PetscCall(HJScheduleFill(PetscObjectComm((PetscObject)level->da), PC_HJACOBI_SCHEDULE_CHEBYSHEV, level->w.k, emin, emax, 1, level->w.w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of a last grid up to which the inverse takes the place of sweeps that would solve it as well: on a device it is one launch in
   place of many, on the CPU it is made in less time than the least eigenvalue is found */
static PetscInt HJMGInverseCheap(const PC_HJMG *mg, const HJMGLevel *last)
{
  return PetscMemTypeDevice(last->op->ops->mtype) && (mg->nlevels > 1 || mg->base) ? HJ_DENSE_MAX : HJ_MG_INVERSE_SMALL;
}

/* The last grid of a symmetric matrix: sweeps where these are known to solve, as many as need be, unless the inverse is quickly made; the
   inverse where they are not known to, for then the matrix is indefinite, and sweeps on coarser grids are worth no more */
static PetscErrorCode HJMGSetUpLastSymmetric(PC pc, HJMGLevel *last, PetscMPIInt size, PetscBool *done)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  PetscBool solves;

  PetscFunctionBegin;
  PetscCall(HJMGSetUpInverse(pc, HJMGInverseCheap(mg, last)));
  if (mg->inverse) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGSetUpCoarsest(pc, last, done));
  if (*done) PetscFunctionReturn(PETSC_SUCCESS);
  solves = (PetscBool)(mg->settled && last->w.k < HJ_MAX_K);
  PetscCall(HJMGSetUpInverse(pc, solves ? HJ_MG_INVERSE_QUICK : HJ_DENSE_MAX));
  *done = (PetscBool)(solves && size == 1 && HJMGSuitsInverse(mg, HJ_DENSE_MAX));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last grid: by sweeps, or by the inverse of its matrix, if need be on fewer ranks. What is asked for here are the same numbers on all
   backends. done: there need be no coarser grid */
static PetscErrorCode HJMGSetUpLast(PC pc, PetscBool *done)
{
  PC_HJMG        *mg        = (PC_HJMG *)pc->data;
  HJMGLevel      *last      = &mg->level[mg->nlevels - 1];
  const PetscBool symmetric = (PetscBool)(last->skew <= HJ_MG_SKEW);
  const PetscInt  most      = symmetric || HJMGIsWeak(last) ? HJ_DENSE_MAX : HJ_MG_INVERSE_QUICK;
  PetscMPIInt     size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  mg->settled = PETSC_FALSE;
  if (symmetric) PetscCall(HJMGSetUpLastSymmetric(pc, last, size, done));
  else {
    PetscCall(HJMGSetUpCoarsest(pc, last, done));
    PetscCall(HJMGSetUpInverse(pc, mg->settled ? HJMGInverseCheap(mg, last) : most));
  }
  if (mg->inverse) *done = mg->settled = PETSC_TRUE;
  if (!mg->settled && size > 1 && HJMGSuitsInverse(mg, most)) *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fewer ranks take the last grid, where it has no coarser one for its ranks have too few points, or its inverse is wanted */
static PetscErrorCode HJMGSetUpOnFewer(PC pc)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  PetscInt  nranks[3];
  PetscBool gather;

  PetscFunctionBegin;
  PetscCall(HJMGGatherChoose(mg, PETSC_TRUE, nranks, &gather));
  if (gather) PetscCall(HJMGGatherCreate(pc, nranks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where no sweeps are known to solve the last grid, and there is no coarser one: by its inverse, on fewer ranks where it is on several */
static PetscErrorCode HJMGSetUpUnsettled(PC pc)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  PetscCall(HJMGSetUpInverse(pc, HJ_DENSE_MAX));
  mg->settled = (PetscBool)(mg->inverse != NULL);
  if (!mg->settled) PetscCall(HJMGSetUpOnFewer(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bounds of all levels, and the solve of the coarsest. Where that cannot be done by many sweeps there are more levels, down to a grid for
   which few do */
static PetscErrorCode HJMGSetUpSolve(PC pc)
{
  PC_HJMG         *mg   = (PC_HJMG *)pc->data;
  const HJMGLevel *end  = mg->level + mg->nlevels - (mg->gather != NULL); /* the last one is smoothed on fewer ranks */
  PetscBool        done = PETSC_FALSE, more = PETSC_TRUE;

  PetscFunctionBegin;
  for (HJMGLevel *level = mg->level; level < end; level++) PetscCall(HJMGBeginBound(level));
  for (HJMGLevel *level = mg->level; level < end; level++) PetscCall(HJMGSetUpBound(pc, level));
  if (mg->gather || HJHasFailed(&mg->failure)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGSetUpLast(pc, &done));
  while (!done && more && mg->max_levels == PETSC_DECIDE && mg->nlevels < HJ_MG_MAX_LEVELS) {
    PetscCall(HJMGMakeLevel(pc, &more));
    if (!more) break;
    PetscCall(HJMGMakeVectors(mg));
    PetscCall(HJMGBeginBound(&mg->level[mg->nlevels - 1]));
    PetscCall(HJMGSetUpBound(pc, &mg->level[mg->nlevels - 1]));
    if (HJHasFailed(&mg->failure)) break;
    PetscCall(HJMGSetUpLast(pc, &done));
  }
  if (HJHasFailed(&mg->failure)) PetscFunctionReturn(PETSC_SUCCESS);
  if (done && !mg->stop[0]) PetscCall(PetscStrncpy(mg->stop, "few points", sizeof(mg->stop)));
  if (!mg->settled) PetscCall(HJMGSetUpUnsettled(pc));
  else if (!done && !more && !mg->stopped) PetscCall(HJMGSetUpOnFewer(pc)); /* the last grid takes many sweeps */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The constants of the coarsest grid interpolate to those of the finest */
static PetscErrorCode HJMGSetUpNullSpace(PC pc)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  PetscBool constants;

  PetscFunctionBegin;
  PetscCall(HJMGToldConstants(pc, &constants));
  if (constants == (PetscBool)(mg->constants != NULL)) PetscFunctionReturn(PETSC_SUCCESS);
  mg->changed = PetscMax(mg->changed, HJ_MG_CHANGED_VALUES); /* the inverse is another one */
  PetscCall(MatNullSpaceDestroy(&mg->constants));
  if (constants) PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)pc), PETSC_TRUE, 0, NULL, &mg->constants));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscReal HJMGPoints(const HJMGLevel *level)
{
  const PetscInt *N = level->op->grid.N;

  return (PetscReal)N[0] * N[1] * N[2];
}

/* Weights of both kinds of cycles, and what their passes need */
static PetscErrorCode HJMGSetUpLevel(const PC_HJMG *mg, HJMGLevel *level)
{
  const PetscBool finest = (PetscBool)(level == mg->level && !mg->base), one = (PetscBool)(mg->one_sided && finest);
  HJWeights      *w[2] = {&level->w, &level->rotated};

  PetscFunctionBegin;
  PetscCall(HJMGSetUpSweeps(mg, level));
  for (int i = 0; i < 2; i++) {
    if (!w[i]->k) continue;
    PetscCall(HJOperatorPrepareTwo(level->op, w[i], 1, PETSC_TRUE));
    PetscCall(HJOperatorPrepareTwo(level->op, w[i], 1, PETSC_FALSE));
    if (finest && !one && (i || !level->rotated.k)) PetscCall(HJOperatorPrepareTwo(level->op, w[i], 2, PETSC_FALSE)); /* rotated cycles */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGSetUpWeights(PC pc)
{
  PC_HJMG   *mg       = (PC_HJMG *)pc->data;
  HJMGLevel *coarsest = &mg->level[mg->nlevels - 1];
  char       words[256];

  PetscFunctionBegin;
  HJMGChooseOperators(mg);
  for (HJMGLevel *level = mg->level; level < coarsest; level++) {
    const HJTransfer *t;
    PetscBool         is = PETSC_FALSE;

    PetscCall(HJMGSetUpLevel(mg, level));
    PetscCall(HJMGAdviseK(mg, level, words, sizeof(words)));
    if (words[0]) PetscCall(PetscInfo(pc, "%s\n", words));
    if (level->restriction) PetscCall(HJRestrictIsOf(level->restriction, level->A, level->P, level->op->ops, &is));
    if (!is) PetscCall(HJRestrictDestroy(&level->restriction));
    if (!level->restriction)
      PetscCall(HJRestrictCreate(level->A, level->P, level->op->ops, (HJExchange){level->op->halo_ops, level->op->exchange_timeout},
                                 &level->restriction));
    t = level->restriction->transfer; /* not NULL on all ranks, or on none */
    if (!t) continue;
    PetscCall(HJOperatorSetUpCoarser(level->op, level[1].da, t));
    PetscCall(HJOperatorPrepareRestricted(level->op, &level->w, t));
    if (level->rotated.k) PetscCall(HJOperatorPrepareRestricted(level->op, &level->rotated, t));
  }
  if (!mg->settled && !mg->gather) PetscCall(HJMGSetUpCoarsestSweeps(mg, coarsest));
  if (!mg->inverse && !mg->gather) PetscCall(HJOperatorPrepare(coarsest->op, &coarsest->w, 1, PETSC_TRUE));
  if (mg->squares.value) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(mg->level[0].op->ops->multigrid->number_create(&mg->squares));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the finest matrix lives, and where those of its arrays are that the operator reads; NULL where it has none */
static PetscErrorCode HJMGFindPlace(const HJMGLevel *level, const PetscScalar **place, PetscMemType *lives)
{
  const HJCoefficients *c;
  HJGetCoefficients     get;
  HJGetMemType          where;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)level->A, HJ_GET_MEMTYPE, &where));
  PetscCall((*where)(level->A, lives));
  PetscCall(PetscObjectQueryFunction((PetscObject)level->A, HJ_GET_COEFFICIENTS, &get));
  PetscCall((*get)(level->A, level->op->ops->mtype, &c));
  *place = c->value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All steps, or those up to the one that fails: mg->failure */
static PetscErrorCode HJMGSetUpAll(PC pc)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  PetscCall(HJMGSetUpGrids(pc));
  if (HJHasFailed(&mg->failure)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGSetUpNullSpace(pc));
  if (mg->changed >= HJ_MG_CHANGED_VALUES) PetscCall(HJMGSetUpSolve(pc));
  if (HJHasFailed(&mg->failure)) PetscFunctionReturn(PETSC_SUCCESS);
  if (mg->changed != HJ_MG_CHANGED_NOTHING) PetscCall(HJMGDestroyTranspose(mg));
  if (mg->changed >= HJ_MG_CHANGED_WEIGHTS) PetscCall(HJMGSetUpWeights(pc));
  if (mg->gather) PetscCall(HJMGGatherSetUp(pc));
  if (HJHasFailed(&mg->failure)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGMakeSteps(mg));
  PetscCall(PetscObjectStateGet((PetscObject)mg->level[0].A, &mg->followed));
  PetscCall(HJMGFindPlace(&mg->level[0], &mg->place, &mg->lives));
  PetscCall(HJMGSetUpGraphs(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSetUp_HJMG(PC pc)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  PetscInt  M, N;
  PetscBool ordered;

  PetscFunctionBegin;
  PetscCall(MatGetSize(pc->pmat, &M, &N));
  PetscCheck(M == N, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ,
             "PCHJMG needs a square matrix, this one is %" PetscInt_FMT " x %" PetscInt_FMT, M, N);
  PetscCall(HJMGOrderMake(pc, &ordered));
  if (ordered) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PCHJMG_SetUp, pc, 0, 0, 0));
  PetscCall(HJFailureClear(pc, &mg->failure));
  PetscCall(HJMGSetUpAll(pc));
  if (HJHasFailed(&mg->failure)) PetscCall(HJMGDestroyGrids(mg)); /* the next set-up begins anew */
  mg->changed = HJ_MG_CHANGED_NOTHING;
  PetscCall(PetscLogEventEnd(PCHJMG_SetUp, pc, 0, 0, 0));
  PetscCall(HJFailureReport(pc, pc->erroriffailure, &mg->failure));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGFollow(PC pc)
{
  PC_HJMG           *mg    = (PC_HJMG *)pc->data;
  const HJMGLevel   *level = &mg->level[0];
  const PetscScalar *place;
  PetscObjectState   state;
  PetscMemType       lives;
  PetscBool          anew, moved;

  PetscFunctionBegin;
  if (HJHasFailed(&mg->failure)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectStateGet((PetscObject)level->A, &state));
  anew = (PetscBool)(state != mg->followed);
  if (!anew && PetscMemTypeHost(level->op->ops->mtype)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!anew) {
    PetscCall(HJMGFindPlace(level, &place, &lives));
    if (place == mg->place && lives == mg->lives) PetscFunctionReturn(PETSC_SUCCESS);
    anew = level->op->stencil->in_place;
  }
  if (anew) {
    PetscCall(PetscInfo(pc, "The finest matrix has changed, and products or sweeps read its arrays: set up anew\n"));
    mg->changed = PetscMax(mg->changed, HJ_MG_CHANGED_VALUES);
    PetscCall(PCSetUp_HJMG(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  moved     = (PetscBool)(lives != mg->lives); /* the same on all ranks */
  mg->place = place;
  mg->lives = lives;
  if (moved) PetscCall(HJMGSetUpGraphs(pc));
  else PetscCall(HJMGDestroyGraphs(mg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

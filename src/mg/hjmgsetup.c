/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Set-up. Decides what is kept and what is made anew when the matrix or an option has changed, how the last grid is solved, and, where the
   preconditioner is used again, what of it follows the matrix.
*/
#include "hjmg.h"

PetscLogEvent PCHJMG_SetUp;

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
    mg->unscaled = 0.0;
    PetscCall(HJMGMakeGrids(pc));
  } else if (mg->changed == HJ_MG_CHANGED_VALUES) PetscCall(HJMGRefreshGrids(pc));
  mg->read = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bound works in the level's work vector, where that is in the operator's memory */
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

/* Sweeps for a coarsest grid whose matrix is not symmetric, as many as leave HJ_MG_REDUCTION of the error. There are some where the
   diagonal dominates the rows so much that HJ_MG_SWEEPS of them do. The eigenvalues of D^-1 A lie in the disc around 1 whose radius is the
   largest share of a row beside the diagonal, and no further from the real axis than its skew part: Jacobi's own weights suit the disc,
   those of first kind its flat part */
static PetscErrorCode HJMGSetUpDominated(PC_HJMG *mg, HJMGLevel *level, PetscBool *cheap)
{
  const PetscReal others = level->coarsening.others;
  PetscReal       disc, flat;

  PetscFunctionBegin;
  *cheap = mg->settled = PETSC_FALSE;
  if (!(others < 1.0)) PetscFunctionReturn(PETSC_SUCCESS);
  disc = HJScheduleDiscK(HJ_MG_REDUCTION, others);
  flat = HJScheduleFlatK(HJ_MG_REDUCTION, others, level->skew);
  if (PetscMin(disc, flat) > HJ_MG_SWEEPS) PetscFunctionReturn(PETSC_SUCCESS);
  *cheap = mg->settled = PETSC_TRUE;
  level->w.k           = (PetscInt)PetscMin(disc, flat);
  PetscCall(PetscMalloc1(level->w.k, &level->w.w));
  PetscCall(HJScheduleFill(PetscObjectComm((PetscObject)level->da),
                           flat < disc ? PC_HJACOBI_SCHEDULE_CHEBYSHEV : PC_HJACOBI_SCHEDULE_JACOBI, level->w.k, 1.0 - others, 1.0 + others,
                           1.0, level->w.w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sweeps of first kind for the coarsest grid, as many as leave HJ_MG_REDUCTION of the error. There are none where the least eigenvalue is
   not found. Nor is it looked for where a diagonal is zero or weak, as such a matrix is not definite. cheap: the sweeps cost no more than a
   coarser grid would */
static PetscErrorCode HJMGSetUpCoarsest(PC pc, HJMGLevel *level, PetscBool *cheap)
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
    PetscCall(HJMGSetUpDominated(mg, level, cheap));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (HJMGIsWeak(level)) {
    *cheap = mg->settled = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(HJInverseDiagonal(level->A, &dinv, &zeros));
  PetscCall(HJReductionLeastK(level->A, dinv, level->da, prefix, PETSC_FALSE, HJ_MG_REDUCTION, emax, &emin, &least, &mg->settled));
  PetscCall(VecDestroy(&dinv));
  *cheap = (PetscBool)(mg->settled && least <= HJ_MG_SWEEPS);
  if (!mg->settled) PetscFunctionReturn(PETSC_SUCCESS);
  level->w.k = (PetscInt)PetscMin(least, HJ_MAX_K);
  PetscCall(PetscMalloc1(level->w.k, &level->w.w));
  PetscCall(HJScheduleFill(PetscObjectComm((PetscObject)level->da), PC_HJACOBI_SCHEDULE_CHEBYSHEV, level->w.k, emin, emax, 1, level->w.w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The inverse of a last grid with up to so many points takes the place of sweeps that would solve it as well. On a device it is one launch
   in place of many, on the CPU it is made in less time than the least eigenvalue is found */
static PetscInt HJMGInverseCheap(const PC_HJMG *mg, const HJMGLevel *last)
{
  return PetscMemTypeDevice(last->op->ops->mtype) && (mg->nlevels > 1 || mg->base) ? HJ_DENSE_MAX : HJ_MG_INVERSE_SMALL;
}

/* The last grid of a symmetric matrix is solved by its inverse or factors where these are quickly made, else by sweeps where a few are
   known to solve it, or on coarser grids. Where none are known the matrix is indefinite, sweeps on coarser grids are worth no more, and the
   inverse is taken whatever it costs */
static PetscErrorCode HJMGSetUpLastSymmetric(PC pc, HJMGLevel *last, PetscBool *done)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  PetscCall(HJMGSetUpInverse(pc, HJMGInverseCheap(mg, last)));
  if (!mg->inverse) PetscCall(HJMGSetUpFactor(mg));
  if (mg->inverse || mg->factor) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGSetUpCoarsest(pc, last, done));
  if (!*done) PetscCall(HJMGSetUpInverse(pc, mg->settled ? HJ_MG_INVERSE_QUICK : HJ_DENSE_MAX));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last grid is solved by sweeps or by the inverse of its matrix, if need be on fewer ranks. The numbers that decide are the same on all
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
  PetscCall(MatDestroy(&mg->factor)); /* of another grid, or of old values, which may have been symmetric */
  if (symmetric) PetscCall(HJMGSetUpLastSymmetric(pc, last, done));
  else {
    PetscCall(HJMGSetUpCoarsest(pc, last, done));
    PetscCall(HJMGSetUpInverse(pc, mg->settled ? HJMGInverseCheap(mg, last) : most));
  }
  if (mg->inverse || mg->factor) *done = mg->settled = PETSC_TRUE;
  if (!mg->settled && size > 1 && HJMGSuitsInverse(mg, most)) *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fewer ranks take the last grid where its own have too few points for a coarser one, or where its inverse is wanted */
static PetscErrorCode HJMGSetUpOnFewerRanks(PC pc)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  PetscInt  nranks[3];
  PetscBool gather;

  PetscFunctionBegin;
  PetscCall(HJMGGatherChoose(mg, PETSC_TRUE, nranks, &gather));
  if (gather) PetscCall(HJMGGatherCreate(pc, nranks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A last grid that no sweeps are known to solve, and that has no coarser one, is solved by its inverse, on fewer ranks where it is on
   several */
static PetscErrorCode HJMGSetUpUnsettled(PC pc)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  PetscCall(HJMGSetUpInverse(pc, HJ_DENSE_MAX));
  mg->settled = (PetscBool)(mg->inverse != NULL);
  if (!mg->settled) PetscCall(HJMGSetUpOnFewerRanks(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A last grid that takes all the sweeps that there are, and has no coarser one, is solved by its inverse if it has one */
static PetscErrorCode HJMGSetUpLongest(PC pc)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  if (mg->gather || mg->level[mg->nlevels - 1].w.k < HJ_MAX_K) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGSetUpInverse(pc, HJ_DENSE_MAX));
  if (mg->inverse) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(pc, "The coarsest grid needs more sweeps than the %d that it has; give it sizes that can be coarsened more often\n",
                      HJ_MAX_K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bounds of all levels, and how the coarsest is solved. Where that would take many sweeps more levels are made, down to a grid that few
   sweeps solve */
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
  else if (!done && !more && !mg->stopped) PetscCall(HJMGSetUpOnFewerRanks(pc)); /* the last grid takes many sweeps */
  PetscCall(HJMGSetUpLongest(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The null space of the coarsest grid's matrix is that of the finest: constants are interpolated to constants */
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

/* Makes what restricts residuals to the next grid, and finds what sweeps of this one can do of that */
static PetscErrorCode HJMGSetUpRestriction(HJMGLevel *level)
{
  const HJExchange  exchange = {level->op->halo_ops, level->op->exchange_timeout};
  const Mat         P        = level->R ? level->R : level->P;
  const HJTransfer *t;
  PetscBool         is = PETSC_FALSE;

  PetscFunctionBegin;
  if (level->restriction) PetscCall(HJRestrictIsOf(level->restriction, level->A, P, level->op->ops, &is));
  if (is) PetscCall(HJRestrictRefresh(level->restriction));
  else PetscCall(HJRestrictDestroy(&level->restriction));
  if (!is) PetscCall(HJRestrictCreate(level->A, P, level->op->ops, exchange, &level->restriction));
  t = level->restriction->transfer; /* not NULL on all ranks, or on none */
  if (t) PetscCall(HJOperatorSetUpCoarser(level->op, level[1].da, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is known to take long whatever is done here */
static PetscErrorCode HJMGTellSlow(PC pc)
{
  const PC_HJMG   *mg    = (const PC_HJMG *)pc->data;
  const HJMGLevel *level = &mg->level[0];

  PetscFunctionBegin;
  if (mg->base) PetscFunctionReturn(PETSC_SUCCESS);
  if (mg->nlevels > 1 && mg->finest == 0.0)
    PetscCall(PetscInfo(pc, "20 iterations and more are to be expected: coefficients jump between most points\n"));
  if (level->flows)
    PetscCall(PetscInfo(pc,
                        "20 to 50 iterations are to be expected where stream lines close, else some 10: much convection (skew part of "
                        "D^-1 A up to %.2g)\n",
                        (double)level->skew));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGSetUpWeights(PC pc)
{
  PC_HJMG   *mg       = (PC_HJMG *)pc->data;
  HJMGLevel *coarsest = &mg->level[mg->nlevels - 1];
  char       words[256];

  PetscFunctionBegin;
  PetscCall(HJMGFindSlant(mg));
  HJMGChooseOperators(mg);
  PetscCall(HJMGTellSlow(pc));
  for (HJMGLevel *level = mg->level; level < coarsest; level++) {
    PetscCall(HJMGLinesSetUp(mg, level));
    PetscCall(HJMGSetUpSweeps(mg, level));
    PetscCall(HJMGAdviseK(mg, level, words, sizeof(words)));
    if (words[0]) PetscCall(PetscInfo(pc, "%s\n", words));
    PetscCall(HJMGSetUpRestriction(level));
  }
  if (!mg->settled && !mg->gather) {
    PetscCall(PetscInfo(pc,
                        "Many iterations are to be expected: the last grid, of %g points, has no coarser one (%s), and no way is known "
                        "that solves it\n",
                        (double)HJMGPoints(coarsest), mg->stop));
    PetscCall(HJMGSetUpCoarsestSweeps(mg, coarsest));
  }
  if (mg->squares.value) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(mg->level[0].op->ops->multigrid->number_create(&mg->squares));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Finds where the finest matrix lives, and where those of its arrays are that the operator reads; NULL where it has none */
static PetscErrorCode HJMGFindPlace(const PC_HJMG *mg, const PetscScalar **place, PetscMemType *lives)
{
  const HJMGLevel      *level = &mg->level[0];
  const HJCoefficients *c;

  PetscFunctionBegin;
  PetscCall((*mg->seen.get_memtype)(level->A, lives));
  PetscCall((*mg->seen.get_coefficients)(level->A, level->op->ops->mtype, &c));
  *place = c->value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Looks at the finest matrix: mg->seen. Nothing that a cycle needs is asked for by name later on */
static PetscErrorCode HJMGSee(PC_HJMG *mg)
{
  const PetscObject A = (PetscObject)mg->level[0].A;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction(A, HJ_GET_MEMTYPE, &mg->seen.get_memtype));
  PetscCall(PetscObjectQueryFunction(A, HJ_GET_COEFFICIENTS, &mg->seen.get_coefficients));
  PetscCheck(mg->seen.get_coefficients, PetscObjectComm(A), PETSC_ERR_ARG_WRONGSTATE,
             "The matrix that PCHJMG was set up for has become another type; set it up again");
  PetscCall(PetscObjectStateGet(A, &mg->seen.state));
  PetscCall(HJMGFindPlace(mg, &mg->seen.place, &mg->seen.lives));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a GPU runs cycles of zeros, products and sums, once for the same grids: kernels are loaded where they are first launched, and that,
   what is laid out for them and recording for the first time take several times as long as a solve. What comes a second time is recorded,
   and rotated cycles may come in x and y by turns */
static PetscErrorCode HJMGStart(PC pc)
{
  PC_HJMG         *mg    = (PC_HJMG *)pc->data;
  const HJMGLevel *level = &mg->level[0];
  PetscBool        done  = PETSC_FALSE;
  Vec              b, x, vx, vy = NULL;
  Mat              A = NULL;
  PetscScalar      dot;
  PetscReal        norm;

  PetscFunctionBegin;
  if (mg->started || mg->log || mg->nlevels < 2 || PetscMemTypeHost(level->op->ops->mtype) || PetscMemTypeHost(mg->seen.lives))
    PetscFunctionReturn(PETSC_SUCCESS);
  mg->started = PETSC_TRUE;
  PetscCall(MatCreateVecs(mg->placed && !HJMGIsSingle(mg) ? pc->pmat : level->A, &x, &b));
  PetscCall(HJMGGetFinest(pc, b, &A, &vy));
  PetscCall(VecSet(b, 0.0));
  vx = x;
  if (HJMGIsSingle(mg)) PetscCall(HJMGSingleApply(pc, b, x, &done));
  for (int i = 0; i < 2 && !done; i++) PetscCall(HJMGReplay(pc, HJ_MG_APPLY, b, vx, vy));
  if (!done && mg->all_placed == mg->placed) {
    PetscCall(HJMGRotatedStart(mg, HJ_MG_START_ZERO, b, &vx, &vy));
    for (int i = 0; i < 4; i++) {
      PetscCall(HJMGReplay(pc, HJ_MG_ROTATED, b, vx, vy));
      HJMGSwapVectorsIf(mg->steps[HJ_MG_ROTATED].in_y, &vx, &vy);
    }
  }
  PetscCall(MatMult(A, x, b));
  PetscCall(VecAXPY(b, 0.5, x));
  PetscCall(VecAYPX(b, 0.5, x)); /* not by 1, for which PETSc adds alone */
  PetscCall(VecTDot(b, x, &dot));
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of set-up, or what comes before the part that fails: mg->failure */
static PetscErrorCode HJMGSetUpAll(PC pc)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  PetscBool zero, all;

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
  PetscCall(HJMGSetUpShares(mg));
  PetscCall(HJMGMakeSteps(mg));
  PetscCall(HJMGFlowFindApart(pc));
  if (mg->changed >= HJ_MG_CHANGED_VALUES) PetscCall(HJMGCutSlow(pc));
  PetscCall(HJMGStepsPlaced(mg, &zero, &all));
  PetscCall(HJMGInsidePlace(pc, zero, all));
  PetscCall(HJMGSee(mg));
  PetscCall(HJMGSingleSetUp(pc));
  PetscCall(HJMGSetUpGraphs(pc));
  PetscCall(HJMGStart(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSetUp(PC pc)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  PetscInt  M, N;
  PetscBool ordered, system;

  PetscFunctionBegin;
  PetscCall(MatGetSize(pc->pmat, &M, &N));
  PetscCheck(M == N, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ,
             "PCHJMG needs a square matrix, this one is %" PetscInt_FMT " x %" PetscInt_FMT, M, N);
  PetscCall(HJMGOrderMake(pc, &ordered));
  if (ordered) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PCHJMG_SetUp, pc, 0, 0, 0));
  PetscCall(HJMGSystemMake(pc, &system));
  if (system) {
    PetscCall(PetscLogEventEnd(PCHJMG_SetUp, pc, 0, 0, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJFailureClear(pc, &mg->failure));
  PetscCall(HJMGSetUpAll(pc));
  if (HJHasFailed(&mg->failure)) PetscCall(HJMGDestroyGrids(mg)); /* the next set-up begins anew */
  else if (mg->grows && !mg->base && PetscMemTypeHost(mg->level[0].op->ops->mtype)) PetscCall(HJMGSystemMakeAlone(pc));
  mg->changed = HJ_MG_CHANGED_NOTHING;
  PetscCall(PetscLogEventEnd(PCHJMG_SetUp, pc, 0, 0, 0));
  PetscCall(HJFailureReport(pc, pc->erroriffailure, &mg->failure));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator of the finest grid with the values that its matrix has now, where the other one was; else mg->failure */
static PetscErrorCode HJMGRenewFinest(PC pc)
{
  PC_HJMG    *mg    = (PC_HJMG *)pc->data;
  HJMGLevel  *level = &mg->level[0];
  HJOperator *old   = level->op, *now;
  PetscBool   kept;

  PetscFunctionBegin;
  PetscCall(HJOperatorRefresh(level->op, level->A, &kept));
  if (!kept) {
    PetscCall(HJOperatorCreateInPlace(level->A, level->da, old->ops, old->halo_ops, PETSC_FALSE, PETSC_TRUE, &now, mg->failure.words,
                                      sizeof(mg->failure.words)));
    if (!now) PetscFunctionReturn(PETSC_SUCCESS);
    mg->failure.words[0]  = 0;
    now->exchange_timeout = old->exchange_timeout;
    PetscCall(HJOperatorDestroy(&old));
    level->op = now;
  }
  PetscCall(HJMGCheckBound(mg, level, level->op->stencil->gershgorin));
  if (HJHasFailed(&mg->failure)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGBeginBound(level));
  PetscCall(HJBoundEnd(level->op, &level->bound));
  PetscCall(HJMGCheckBound(mg, level, level->bound.emax));
  if (HJHasFailed(&mg->failure)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGRenewSkew(level)); /* also of stars, which may not be symmetric any more */
  PetscCall(HJMGFindSafeK(mg, level, level->bound.emax));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The smoother of the finest grid gets the bound and the weights of the new values, as that of PCMG does where PCMG is used again. Coarse
   grids stay what they were, and so does an inverse of the finest grid, which reads nothing of the matrix */
static PetscErrorCode HJMGRenewSmoother(PC pc)
{
  PC_HJMG   *mg    = (PC_HJMG *)pc->data;
  HJMGLevel *level = &mg->level[0];
  PetscBool  cheap;

  PetscFunctionBegin;
  PetscCall(PetscInfo(pc, "The matrix has changed, and products read it: the smoother of the finest grid does so too\n"));
  PetscCall(HJMGDestroyTranspose(mg));
  PetscCall(HJMGRenewFinest(pc));
  if (HJHasFailed(&mg->failure)) {
    PetscCall(HJMGDestroyGrids(mg));
    PetscCall(HJFailureReport(pc, pc->erroriffailure, &mg->failure));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (mg->nlevels > 1) {
    PetscCall(HJMGLinesSetUp(mg, level));
    PetscCall(HJMGSetUpSweeps(mg, level));
    PetscCall(HJMGSetUpRestriction(level));
  } else if (!mg->gather && !mg->inverse && !mg->factor) {
    PetscCall(HJMGSetUpCoarsest(pc, level, &cheap));
    if (!mg->settled) PetscCall(HJMGSetUpCoarsestSweeps(mg, level));
  }
  PetscCall(HJMGSetUpShares(mg));
  PetscCall(HJMGMakeSteps(mg));
  PetscCall(HJMGSee(mg));
  PetscCall(HJMGSingleSetUp(pc));
  PetscCall(HJMGSetUpGraphs(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGFollow(PC pc)
{
  PC_HJMG           *mg    = (PC_HJMG *)pc->data;
  const HJMGLevel   *level = &mg->level[0];
  const PetscScalar *place;
  PetscObjectState   state;
  PetscMemType       lives;
  PetscBool          moved;

  PetscFunctionBegin;
  if (HJHasFailed(&mg->failure)) PetscFunctionReturn(PETSC_SUCCESS);
  if (mg->inside) PetscCall(HJMGInsideFollow(pc));
  if (mg->converted) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectStateGet((PetscObject)level->A, &state));
  if (state != mg->seen.state) {
    PetscCall(HJMGRenewSmoother(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (PetscMemTypeHost(level->op->ops->mtype)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGFindPlace(mg, &place, &lives));
  if (place == mg->seen.place && lives == mg->seen.lives) PetscFunctionReturn(PETSC_SUCCESS);
  if (level->op->stencil->in_place) {
    PetscCall(HJMGRenewSmoother(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  moved          = (PetscBool)(lives != mg->seen.lives); /* the same on all ranks */
  mg->seen.place = place;
  mg->seen.lives = lives;
  if (moved) PetscCall(HJMGSetUpGraphs(pc));
  else PetscCall(HJMGDestroyGraphs(mg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

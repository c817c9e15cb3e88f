/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The hierarchy: the finest matrix as a stencil matrix, coarser grids by coarsening by 2, interpolations, Galerkin operators. Decides how
   far a grid is coarsened; smooths nothing.
*/
#include "hjmg.h"

/* Grids of so many points or fewer, by the number of directions that have more than one, are not coarsened where no side is longer than
   HJ_MG_SIDE: their sweeps cost less than launches and messages of more levels */
static const PetscInt HJMGSmall[4] = {1, 65, 1100, 1000};
#define HJ_MG_SIDE 65
/* Rows that are a diagonal alone are small where the others' diagonal is so many times theirs */
#define HJ_MG_SMALL_IDENTITY 100
/* Rounding of the sum of the sizes of a row, as a share of its diagonal */
#define HJ_MG_DEFINITE_SLACK HJ_BY_PRECISION(1e-12, 1e-5)
/* Nor are grids whose rows have no more than so much beside the diagonal, as a share of it: D^-1 A has its eigenvalues so close to 1, and
   8 sweeps leave a hundredth of the error */
#define HJ_MG_OTHERS 0.8
/* Rows whose entries beside the diagonal are together so many times it may make sweeps grow, if they are unsymmetric */
#define HJ_MG_DOMINATED 1.3

/* The coarse grid's matrix: a new one, or new values. A matrix knows by itself whether what was said of it is true */
static PetscErrorCode HJMGMakeProduct(const HJMGLevel *fine, MatReuse reuse, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(HJMatTransferSetSymmetric(fine->P, (PetscBool)(fine->op->stencil->storage == HJ_SYMMETRIC)));
  PetscCall(MatPtAP(fine->A, fine->P, reuse, PETSC_DEFAULT, A));
  PetscCall(HJMGPassSymmetry(fine, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGCheckBound(PC_HJMG *mg, const HJMGLevel *level, PetscReal emax)
{
  PetscFunctionBegin;
  if (emax == 0.0) PetscFunctionReturn(PETSC_SUCCESS); /* of rows that are zero */
  if (!(emax > 0.0) || PetscIsInfOrNanReal(emax)) PetscCall(HJFailureNoBound(emax, mg->base + (PetscInt)(level - mg->level), &mg->failure));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a coarse level, some of whose rows may be nothing but rounding, or have a diagonal that products cancel: arrays hold none that is 0.
   NULL where it has many such rows */
static PetscErrorCode HJMGMakeCoarseOperator(PC pc, const HJMGLevel *fine, HJMGLevel *coarse)
{
  const HJBackendOps *ops = coarse->op ? coarse->op->ops : NULL; /* of its vectors' memory */
  char                why[512];
  PetscBool           lifted;

  PetscFunctionBegin;
  coarse->lifted = 0;
  PetscCall(HJMGTryOperator(pc, coarse->A, coarse->da, &coarse->op, why, sizeof(why)));
  if (coarse->op) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGLiftVoids(fine, coarse, NULL, &lifted));
  PetscCall(HJMGLiftWeak(coarse->A, coarse->da, PETSC_TRUE, &coarse->lifted));
  PetscCall(HJMGTryOperator(pc, coarse->A, coarse->da, &coarse->op, why, sizeof(why)));
  if (!coarse->op && coarse->memory) PetscCall(ops->free(NULL, &coarse->memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Couplings of a level's points, and what they say of the next grid. Of the finest: whether rows that are a diagonal alone are much smaller
   than the others: bilinear interpolation would mix the two on coarse grids. A PC on fewer ranks is told so by the one that has the finest
   grid
*/
static PetscErrorCode HJMGMeasure(PC_HJMG *mg, HJMGLevel *level, HJCoarsening *c)
{
  const HJGrid         *grid = &level->op->grid;
  const HJBackendOps   *ops  = level->op->ops;
  const HJCoefficients *a;

  PetscFunctionBegin;
  level->skew = level->skew_rows = level->tried = -1;
  if (level->op->measured.is) PetscCall(HJCoarsenTake(PetscObjectComm((PetscObject)level->da), grid, &level->op->measured.of, c));
  else {
    PetscCall(HJCoefficientsIn(level->A, ops->mtype, &a));
    PetscCall(HJCoarsenMeasure(PetscObjectComm((PetscObject)level->da), ops, grid, a, c));
  }
  if (c->split >= 0) PetscCall(HJMGLinesSplit(mg, level, c));
  if (mg->base || level > mg->level) PetscFunctionReturn(PETSC_SUCCESS);
  mg->definite       = (PetscBool)(level->op->stencil->gershgorin <= 2.0 + HJ_MG_DEFINITE_SLACK);
  mg->small_identity = (PetscBool)(HJ_MG_SMALL_IDENTITY * c->least < c->coupled && c->least > 0.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The finest grid's DMDA: the user's where it is as those of the coarser grids, else one like it */
static PetscErrorCode HJMGMakeFinestDM(DM da, VecType vectype, DM *own)
{
  PetscInt  dof, width;
  HJCut     cut[3];
  VecType   has;
  PetscBool same = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(DMDAGetDof(da, &dof));
  PetscCall(DMDAGetStencilWidth(da, &width));
  PetscCall(HJGridGetCuts(da, cut));
  PetscCall(DMGetVecType(da, &has));
  PetscCall(PetscStrcmp(has, vectype, &same));
  for (int d = 0; d < 3; d++) same = (PetscBool)(same && (cut[d].boundary == DM_BOUNDARY_NONE || cut[d].boundary == DM_BOUNDARY_PERIODIC));
  if (same && dof == 1 && width == 1) {
    PetscCall(PetscObjectReference((PetscObject)da));
    *own = da;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJGridCloneDM(da, own));
  PetscCall(HJMGSetUpDM(da, vectype, *own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A program that sets the type of its matrices after it has read the options has what it sets: to be known by who asked for another */
static PetscErrorCode HJMGTellType(PC pc, DM da)
{
  PetscOptions options;
  const char  *prefix;
  char         name[PETSC_MAX_OPTION_NAME], asked[64] = "";
  MatType      has, set;
  PetscBool    read, stencil;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetOptions((PetscObject)da, &options));
  PetscCall(DMGetOptionsPrefix(da, &prefix));
  PetscCall(PetscSNPrintf(name, sizeof(name), "%sdm_mat_type", prefix ? prefix : ""));
  PetscCall(PetscOptionsUsed(options, name, &read)); /* else -options_left tells, and must go on to */
  if (read) PetscCall(PetscOptionsGetString(options, prefix, "-dm_mat_type", asked, sizeof(asked), NULL));
  PetscCall(DMGetMatType(da, &set));
  PetscCall(PetscStrcmp(set, asked, &stencil));
  if (stencil) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(asked, MATHJSTENCIL, &stencil));
  PetscCall(MatGetType(pc->pmat, &has));
  if (stencil)
    PetscCall(PetscInfo(pc,
                        "The matrix is %s and not " MATHJSTENCIL
                        ", as -%s asks: the program calls DMSetMatType() with %s after it has read the "
                        "options; PCHJMG copies its rows into a stencil matrix\n",
                        has, name, set));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The finest grid and the matrix on it, a stencil matrix: AIJ becomes one once, here and where it has new values */
static PetscErrorCode HJMGMakeFinestMatrix(PC pc, const HJBackendOps **ops)
{
  PC_HJMG    *mg    = (PC_HJMG *)pc->data;
  HJMGLevel  *level = &mg->level[0];
  DM          dm, da;
  VecType     vectype;
  char        why[512];
  const char *why_backend;

  PetscFunctionBegin;
  PetscCall(PCGetDM(pc, &dm));
  PetscCall(HJOperatorFindGrid(pc->pmat, dm, &da, why, sizeof(why)));
  if (da) PetscCall(HJStencilCheckOne(da, why, sizeof(why)));
  if (why[0]) da = NULL;
  if (!da) PetscCall(HJMGRefuse(pc, why));
  PetscCall(HJOperatorChooseBackend(pc->pmat, PC_HJACOBI_BACKEND_AUTO, 1, ops, &why_backend));
  PetscCall(MatGetVecType(pc->pmat, &vectype));
  if (PetscMemTypeHost((*ops)->mtype)) vectype = VECSTANDARD; /* of a matrix that is bound to the CPU: all levels are there */
  PetscCall(HJMGMakeFinestDM(da, vectype, &level->da));
  mg->nlevels = 1;
  PetscCall(PetscObjectTypeCompare((PetscObject)pc->pmat, MATHJSTENCIL, &mg->converted));
  mg->converted = (PetscBool)!mg->converted;
  if (!mg->converted) {
    PetscCall(PetscObjectReference((PetscObject)pc->pmat));
    level->A = pc->pmat;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGTellType(pc, da));
  PetscCall(HJMatReadAIJ(pc->pmat, level->da, &level->A, why, sizeof(why)));
  if (!level->A) PetscCall(HJMGRefuse(pc, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Level 0: the grid, the matrix, its operator, of finite numbers: else mg->failure */
static PetscErrorCode HJMGMakeFinest(PC pc)
{
  PC_HJMG            *mg    = (PC_HJMG *)pc->data;
  HJMGLevel          *level = &mg->level[0];
  const HJBackendOps *ops;
  char                why[512], *lacks;

  PetscFunctionBegin;
  PetscCall(HJMGMakeFinestMatrix(pc, &ops));
  PetscCall(HJMGLeaveKnownRows(pc, ops));
  PetscCall(HJMGTryOperator(pc, level->A, level->da, &level->op, why, sizeof(why)));
  PetscCall(PetscStrstr(why, HJ_STENCIL_NO_DIAGONAL, &lacks)); /* those may get one */
  if (!level->op && !lacks) PetscCall(HJMGRefuse(pc, why));
  if (level->op) PetscCall(HJMGCheckBound(mg, level, level->op->stencil->gershgorin));
  if (HJHasFailed(&mg->failure)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGLeaveZeroRows(pc));
  if (level->op) PetscCall(HJMGMeasure(mg, level, &level->coarsening));
  PetscCall(HJMGLiftFinest(pc));
  if (level->lifted || mg->mask) PetscCall(HJMGMeasure(mg, level, &level->coarsening));
  PetscCall(HJMGCheckBound(mg, level, level->op->stencil->gershgorin));
  if (HJHasFailed(&mg->failure)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGWantsStars(mg, &mg->stars));
  PetscCall(HJMGScaleRows(pc));
  if (mg->scale) PetscCall(HJMGMeasure(mg, level, &level->coarsening));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGFindSafeK(const PC_HJMG *mg, HJMGLevel *level, PetscReal emax)
{
  PetscFunctionBegin;
  PetscCall(HJMGFindSkew(mg, level));
  if (level->flows) level->safe_k = HJMGFlowSafeK(mg, level, emax);
  else level->safe_k = HJScheduleSafeK(level->skew, emax);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a grid needs no coarser one, and why: its diagonal dominates, or it has few points, no long side and no direction much weaker
   than others; or so few that its inverse is soon made, where convection limits the subiterations */
static PetscErrorCode HJMGIsSmall(PC_HJMG *mg, HJMGLevel *level, PetscBool *is)
{
  const HJGrid *grid    = &level->op->grid;
  PetscReal     points  = 1.0;
  PetscInt      longest = 1;
  PetscBool     weak;
  int           sides = 0;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    points *= (PetscReal)grid->N[d];
    longest = PetscMax(longest, grid->N[d]);
    sides += grid->N[d] > 1;
  }
  *is = (PetscBool)(points <= HJMGSmall[sides] && longest <= HJ_MG_SIDE && !HJCoarsenIsPartial(grid, &level->coarsening));
  PetscCall(PetscStrncpy(mg->stop, *is ? "few points" : "its diagonal dominates", sizeof(mg->stop)));
  if (level->coarsening.others <= HJ_MG_OTHERS) *is = PETSC_TRUE;
  PetscCall(HJMGWeakSuitsInverse(mg, HJ_DENSE_MAX, &weak));
  if (weak) {
    *is = PETSC_TRUE;
    PetscCall(PetscStrncpy(mg->stop, "few points, and diagonals that are weak beside their rows", sizeof(mg->stop)));
  }
  if (*is || !HJMGSuitsInverse(mg, HJ_MG_INVERSE_QUICK)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGFindSafeK(mg, level, 1.0 + level->coarsening.others));
  *is = (PetscBool)(level->flows || level->safe_k < HJ_MG_K);
  if (*is) PetscCall(PetscStrncpy(mg->stop, "few points, and much convection", sizeof(mg->stop)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether there may be one more level; else why not */
static PetscErrorCode HJMGWantsLevel(PC_HJMG *mg, PetscBool *wants)
{
  PetscBool small = PETSC_FALSE;

  PetscFunctionBegin;
  if (mg->max_levels != PETSC_DECIDE) {
    *wants = (PetscBool)(mg->nlevels < mg->max_levels);
    PetscCall(PetscStrncpy(mg->stop, "as many levels as asked for", sizeof(mg->stop)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGIsSmall(mg, &mg->level[mg->nlevels - 1], &small));
  *wants = (PetscBool)(!small && mg->nlevels < HJ_MG_MAX_LEVELS);
  if (!small && !*wants) PetscCall(PetscStrncpy(mg->stop, "there are as many levels as there may be", sizeof(mg->stop)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether all points of all ranks have the same row: then nothing jumps. Collective */
static PetscErrorCode HJMGHasOneRow(const HJMGLevel *level, PetscBool *one)
{
  const HJStencil *st   = level->op->stencil;
  const PetscBool  mine = (PetscBool)(st->storage == HJ_DICTIONARY && st->nrows == 1);
  PetscReal        row[2 * (HJ_MAX_NEIGHBORS + 2) + 1]; /* entries and their negatives, whose maxima say whether all ranks have them */
  const PetscInt   n = st->nslots + 1;

  PetscFunctionBegin;
  row[2 * n] = mine ? 0.0 : 1.0;
  for (PetscInt e = 0; e < n; e++) {
    row[e]     = !mine ? 0.0 : e < n - 1 ? PetscRealPart(st->rows[e]) : PetscRealPart(st->dinv_rows[0]);
    row[n + e] = -row[e];
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, row, (PetscMPIInt)(2 * n + 1), MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)level->da)));
  *one = (PetscBool)(row[2 * n] == 0.0);
  for (PetscInt e = 0; e < n; e++) *one = (PetscBool)(*one && row[e] == -row[n + e]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether interpolation of a level need not follow its rows */
static PetscErrorCode HJMGIsBilinear(PC_HJMG *mg, HJMGLevel *level, PetscBool *is)
{
  PetscFunctionBegin;
  *is = (PetscBool)(mg->transfer == PC_HJMG_TRANSFER_BILINEAR || mg->stars); /* stars are of the finest grid, of which all others come */
  if (mg->transfer == PC_HJMG_TRANSFER_BILINEAR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGFindSkew(mg, level));
  if (level->flows) *is = PETSC_FALSE;
  else if (!mg->stars && mg->transfer == PC_HJMG_TRANSFER_AUTO) PetscCall(HJMGHasOneRow(level, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The interpolation of a level: made where it is not there, its coefficients from the values that its matrix has now */
static PetscErrorCode HJMGMakeTransfer(PC_HJMG *mg, HJMGLevel *level, DM coarse, const HJTransfer *transfer)
{
  HJSetInterpolation set;
  PetscBool          symmetric, as_symmetric, bilinear, exact;
  PetscReal          limit = HJ_MG_JUMP;
  HJJump             jump;

  PetscFunctionBegin;
  if (!level->P) {
    PetscCall(HJMatCreateTransfer(coarse, level->da, transfer, &level->P));
    if (mg->stars) PetscCall(HJMatTransferSetStars(level->P));
  }
  PetscCall(PetscObjectQueryFunction((PetscObject)level->P, HJ_SET_INTERPOLATION, &set));
  level->follows_rows = PETSC_FALSE;
  level->jump         = -1.0;
  level->rough        = 0.0;
  if (!mg->base && level == mg->level) {
    mg->finest = HJMGPoints(level);
    mg->uneven = PETSC_FALSE;
  }
  PetscCall(HJMGMakeExactTransfer(mg, level, coarse, &exact));
  if (exact) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGIsBilinear(mg, level, &bilinear));
  if (bilinear) {
    PetscCall((*set)(level->P, NULL, PETSC_TRUE, limit, &jump));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  symmetric = as_symmetric = (PetscBool)(level->skew <= HJ_MG_SKEW);
  if (level->flows) as_symmetric = PETSC_TRUE;
  if (mg->transfer == PC_HJMG_TRANSFER_OPERATOR || mg->small_identity || level->flows) limit = -1.0; /* always */
  PetscCall((*set)(level->P, level->A, as_symmetric, limit, &jump));
  if (!jump.points && limit >= 0.0) { /* two points a line, which hang on one of them: nothing says whether they jump */
    limit = -1.0;
    PetscCall((*set)(level->P, level->A, as_symmetric, limit, &jump));
  }
  level->jump = jump.largest;
  if (!mg->base && level == mg->level) mg->uneven = (PetscBool)(jump.largest > HJ_MG_UNEVEN);
  level->rough = symmetric ? (PetscReal)jump.large / PetscMax((PetscReal)jump.points, 1.0) : 0.0;
  if (!mg->base && level == mg->level && level->rough > HJ_MG_ROUGH_FINEST) mg->finest = 0.0;
  if (!mg->base && level == mg->level + 1 && level->rough > HJ_MG_ROUGHER) mg->finest = 0.0;
  level->follows_rows = (PetscBool)(level->jump > limit);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGDestroyLevel(HJMGLevel *level)
{
  PetscFunctionBegin;
  PetscCall(HJRestrictDestroy(&level->restriction));
  PetscCall(HJWeightsReset(&level->w));
  PetscCall(HJWeightsReset(&level->rotated));
  PetscCall(HJMGLinesDestroy(&level->lines));
  PetscCall(MatDestroy(&level->A));
  PetscCall(MatDestroy(&level->P));
  PetscCall(MatDestroy(&level->R));
  PetscCall(VecDestroy(&level->x));
  PetscCall(VecDestroy(&level->b));
  PetscCall(VecDestroy(&level->r));
  if (level->memory) PetscCall(level->op->ops->free(NULL, &level->memory));
  PetscCall(HJOperatorDestroy(&level->op));
  PetscCall(DMDestroy(&level->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGCutGrids(PC_HJMG *mg, PetscInt l)
{
  HJMGLevel *last = &mg->level[l];

  PetscFunctionBegin;
  while (mg->nlevels > l + 1) PetscCall(HJMGDestroyLevel(&mg->level[--mg->nlevels]));
  PetscCall(last->op->ops->free(NULL, &mg->inverse));
  PetscCall(HJRestrictDestroy(&last->restriction));
  PetscCall(HJWeightsReset(&last->w));
  PetscCall(HJWeightsReset(&last->rotated));
  PetscCall(HJMGLinesDestroy(&last->lines));
  PetscCall(MatDestroy(&last->P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether there sweeps would grow, however few: convection, whose share each coarser grid doubles, has made rows whose entries beside the
   diagonal are much larger than it. Those of symmetric matrices may be so too, where sweeps are safe */
static PetscErrorCode HJMGGrows(const PC_HJMG *mg, HJMGLevel *level, PetscBool *grows)
{
  const PetscReal others = level->coarsening.others;

  PetscFunctionBegin;
  *grows = PETSC_FALSE;
  if (others <= HJ_MG_DOMINATED) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGFindSafeK(mg, level, 1.0 + others));
  *grows = (PetscBool)!level->safe_k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is measured of a coarse level, whose points that are rounding are lifted */
static PetscErrorCode HJMGMeasureCoarse(PC pc, const HJMGLevel *fine, HJMGLevel *coarse, HJCoarsening *c)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  PetscBool lifted;

  PetscFunctionBegin;
  PetscCall(HJMGMeasure(mg, coarse, c));
  PetscCall(HJMGLiftVoids(fine, coarse, c, &lifted));
  if (!lifted) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGMakeOperator(pc, coarse->A, coarse->da, &coarse->op));
  PetscCall(HJMGMeasure(mg, coarse, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors in a block begin at multiples of so many numbers: 256 bytes, as memory of a GPU does */
#define HJ_MG_ALIGN 32

/* Where a level's vectors begin in a block, from *at on; above: those of the grid above, in whose r b then lies, which is free from the
   restriction until this level's part of a cycle is done. NULL: it has its own */
static void HJMGPlaceVectors(HJMGLevel *level, PetscBool finest, const PetscCount above[3], PetscCount *at, PetscCount begin[3])
{
  const PetscCount n = (HJBoxSize(&level->op->grid.owned) + HJ_MG_ALIGN - 1) / HJ_MG_ALIGN * HJ_MG_ALIGN;

  level->borrows = (PetscBool)(above != NULL);
  for (int v = finest ? 2 : 0; v < 3; v++) {
    begin[v] = *at;
    if (v == 1 && above) begin[v] = above[2];
    else *at += n;
  }
}

/* Whether the right-hand side of the grid below can lie in a level's r: that of the finest grid takes turns with the solution, and where
   residual and restriction are not one pass r holds the residual */
static PetscBool HJMGLends(const PC_HJMG *mg, const HJMGLevel *level)
{
  return (PetscBool)(level > mg->level && !level->follows_rows && !HJGridHasNeighbors(&level->op->grid));
}

/* One block, but for levels whose matrices lie elsewhere: each allocation of a device ends in up to 2 MiB that nobody uses */
PetscErrorCode HJMGMakeVectors(PC_HJMG *mg)
{
  HJMGLevel          *first = mg->level, *end          = mg->level + mg->nlevels;
  PetscCount          begin[HJ_MG_MAX_LEVELS][3], size = 0;
  const HJBackendOps *ops;

  PetscFunctionBegin;
  while (first < end && first->r) first++;
  if (first == end) PetscFunctionReturn(PETSC_SUCCESS);
  ops = first->op->ops;
  for (HJMGLevel *level = first; level < end; level++) {
    const PetscInt  l     = (PetscInt)(level - mg->level);
    const PetscBool above = (PetscBool)(level > first && level[-1].op->ops == ops && HJMGLends(mg, level - 1));

    if (level->op->ops == ops) HJMGPlaceVectors(level, (PetscBool)!l, above ? begin[l - 1] : NULL, &size, begin[l]);
  }
  PetscCall(ops->alloc(NULL, size, &first->memory));
  for (HJMGLevel *level = first; level < end; level++) {
    Vec *v[3] = {&level->x, &level->b, &level->r};

    for (int i = level == mg->level ? 2 : 0; i < 3; i++) {
      if (level->op->ops == ops) PetscCall(HJVecCreateIn(level->A, ops, first->memory + begin[level - mg->level][i], v[i]));
      else PetscCall(MatCreateVecs(level->A, NULL, v[i]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGMakeLevel(PC pc, PetscBool *made)
{
  PC_HJMG   *mg   = (PC_HJMG *)pc->data;
  HJMGLevel *fine = &mg->level[mg->nlevels - 1], *coarse = fine + 1;
  HJTransfer transfer;
  VecType    vectype;

  PetscFunctionBegin;
  *made = PETSC_FALSE;
  if (mg->stopped) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJCoarsenDM(fine->da, &fine->coarsening, &coarse->da, mg->stop, sizeof(mg->stop)));
  if (!coarse->da) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMGetVecType(fine->da, &vectype));
  PetscCall(HJMGSetUpDM(fine->da, vectype, coarse->da));
  PetscCall(HJTransferSet(coarse->da, fine->da, &fine->coarsening, &transfer, mg->stop, sizeof(mg->stop)));
  if (mg->stop[0]) {
    PetscCall(DMDestroy(&coarse->da));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGMakeTransfer(mg, fine, coarse->da, &transfer));
  PetscCall(HJMGMakeProduct(fine, MAT_INITIAL_MATRIX, &coarse->A));
  PetscCall(HJMGMakeCoarseOperator(pc, fine, coarse));
  mg->stopped = (PetscBool)!coarse->op;
  if (mg->stopped) PetscCall(PetscStrncpy(mg->stop, "the next one has many points without a diagonal", sizeof(mg->stop)));
  else {
    PetscCall(HJMGCheckBound(mg, coarse, coarse->op->stencil->gershgorin));
    if (HJHasFailed(&mg->failure)) {
      PetscCall(HJMGDestroyLevel(coarse));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(HJMGMeasureCoarse(pc, fine, coarse, &coarse->coarsening));
    coarse->rough = 0.0; /* until it has an interpolation */
    PetscCall(PetscStrncpy(mg->stop, "the next one has so much convection that sweeps would grow", sizeof(mg->stop)));
    PetscCall(HJMGGrows(mg, coarse, &mg->stopped));
  }
  if (!mg->stopped) {
    PetscCall(PetscStrncpy(mg->stop, "the next one is a point whose equation is rounding", sizeof(mg->stop)));
    PetscCall(HJMGIsVoid(pc, coarse, &mg->stopped));
  }
  if (mg->stopped) {
    PetscCall(MatDestroy(&fine->P));
    PetscCall(MatDestroy(&fine->R));
    PetscCall(HJMGDestroyLevel(coarse));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  mg->stop[0] = 0;
  mg->nlevels++;
  *made = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGMakeGrids(PC pc)
{
  PC_HJMG  *mg    = (PC_HJMG *)pc->data;
  PetscBool wants = PETSC_FALSE, made = PETSC_TRUE, gather = PETSC_FALSE;
  PetscInt  nranks[3], next;

  PetscFunctionBegin;
  PetscCall(HJMGDestroyGrids(mg));
  PetscCall(HJMGLogSetUp(mg, 0, PETSC_TRUE));
  PetscCall(HJMGMakeFinest(pc));
  PetscCall(HJMGLogSetUp(mg, 0, PETSC_FALSE));
  while (made && !HJHasFailed(&mg->failure)) {
    PetscCall(HJMGGatherChoose(mg, PETSC_FALSE, nranks, &gather));
    if (gather) break;
    PetscCall(HJMGWantsLevel(mg, &wants));
    if (!wants) break;
    next = mg->nlevels;
    PetscCall(HJMGLogSetUp(mg, next, PETSC_TRUE));
    PetscCall(HJMGMakeLevel(pc, &made));
    PetscCall(HJMGLogSetUp(mg, next, PETSC_FALSE));
  }
  if (HJHasFailed(&mg->failure)) PetscFunctionReturn(PETSC_SUCCESS);
  if (!made) PetscCall(HJMGGatherChoose(mg, PETSC_TRUE, nranks, &gather)); /* ranks may be too thin, or too many */
  if (gather) PetscCall(HJMGGatherCreate(pc, nranks));
  PetscCall(PetscInfo(pc, "%" PetscInt_FMT " levels; the last is not coarsened: %s\n", mg->nlevels,
                      gather ? "it lies on fewer ranks below" : mg->stop));
  PetscCall(HJMGMakeVectors(mg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values of a level's matrix in its operator, and in what says how it is coarsened. same: it is coarsened as before */
static PetscErrorCode HJMGRefreshLevel(PC pc, HJMGLevel *level, PetscBool *same)
{
  PC_HJMG     *mg = (PC_HJMG *)pc->data;
  HJCoarsening now;
  PetscBool    grows = PETSC_FALSE, flows = level->flows;

  PetscFunctionBegin;
  if (level > mg->level) PetscCall(HJMGMeasureCoarse(pc, level - 1, level, &now));
  else PetscCall(HJMGMeasure(mg, level, &now));
  *same             = HJCoarsenSame(&level->op->grid, &level->coarsening, &now);
  level->coarsening = now;
  PetscCall(HJMGFindSkew(mg, level));
  if (level > mg->level) PetscCall(HJMGGrows(mg, level, &grows));
  *same = (PetscBool)(*same && !grows && level->flows == flows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the new values of the finest matrix have another form, or lead to other grids, all is made anew */
PetscErrorCode HJMGRefreshGrids(PC pc)
{
  PC_HJMG  *mg   = (PC_HJMG *)pc->data;
  PetscBool kept = PETSC_FALSE, is_void, same = PETSC_FALSE, stars = PETSC_FALSE, known = PETSC_TRUE, scales;
  char      why[512];

  PetscFunctionBegin;
  if (mg->inside) PetscCall(HJMGInsideRefresh(pc, &known));
  if (!known || mg->scale || mg->mask || mg->level[0].lifted) {
    PetscCall(HJMGMakeGrids(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (mg->converted && !mg->inside) PetscCall(HJMatReadAIJ(pc->pmat, mg->level[0].da, &mg->level[0].A, why, sizeof(why)));
  if (mg->level[0].A) PetscCall(HJOperatorRefresh(mg->level[0].op, mg->level[0].A, &kept));
  if (kept) PetscCall(HJMGCheckBound(mg, mg->level, mg->level[0].op->stencil->gershgorin));
  if (HJHasFailed(&mg->failure)) PetscFunctionReturn(PETSC_SUCCESS);
  if (kept) {
    PetscCall(HJMGRefreshLevel(pc, &mg->level[0], &same));
    PetscCall(HJMGWantsStars(mg, &stars));
    same = (PetscBool)(same && stars == mg->stars && !mg->stopped && !HJMGIsWeak(&mg->level[0]));
    PetscCall(HJMGFindSkew(mg, mg->level));
    PetscCall(HJMGFlowWantsScale(mg, mg->level, &scales));
    if (scales || HJMGMayScale(mg)) same = PETSC_FALSE;               /* rows may want to be scaled */
    if (mg->level[0].op->stencil->zero_diagonals) same = PETSC_FALSE; /* rows may be zeros */
  }
  for (HJMGLevel *fine = mg->level; fine < mg->level + mg->nlevels - 1 && same; fine++) {
    HJMGLevel *coarse = fine + 1;

    PetscCall(HJMGLogSetUp(mg, (PetscInt)(coarse - mg->level), PETSC_TRUE));
    PetscCall(HJMGMakeTransfer(mg, fine, coarse->da, NULL));
    PetscCall(HJMGMakeProduct(fine, MAT_REUSE_MATRIX, &coarse->A));
    PetscCall(HJOperatorRefresh(coarse->op, coarse->A, &kept));
    if (!kept) PetscCall(HJMGMakeCoarseOperator(pc, fine, coarse));
    same = (PetscBool)(coarse->op != NULL);
    if (same) {
      PetscCall(HJMGCheckBound(mg, coarse, coarse->op->stencil->gershgorin));
      if (HJHasFailed(&mg->failure)) PetscFunctionReturn(PETSC_SUCCESS);
      PetscCall(HJMGRefreshLevel(pc, coarse, &same));
    }
    PetscCall(HJMGIsVoid(pc, coarse, &is_void));
    same = (PetscBool)(same && !is_void);
    PetscCall(HJMGLogSetUp(mg, (PetscInt)(coarse - mg->level), PETSC_FALSE));
  }
  if (same) PetscCall(HJMGGatherRefresh(pc));
  else PetscCall(HJMGMakeGrids(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGDestroyGrids(PC_HJMG *mg)
{
  PetscFunctionBegin;
  PetscCall(HJMGDestroyTranspose(mg));
  PetscCall(HJMGSingleDestroy(mg));
  PetscCall(HJMGDestroySteps(mg));
  if (mg->nlevels && mg->level[0].op) { /* else set-up was refused */
    const HJBackendOps *ops = mg->level[0].op->ops;

    PetscCall(HJMGDestroyGraphs(mg));
    PetscCall(ops->free(NULL, &mg->inverse));
    PetscCall(ops->free(NULL, &mg->stage));
    PetscCall(ops->multigrid->number_destroy(&mg->squares));
  }
  for (HJMGLevel *level = mg->level; level < mg->level + mg->nlevels; level++) PetscCall(HJMGDestroyLevel(level));
  PetscCall(MatDestroy(&mg->factor));
  mg->nlevels = 0;
  mg->cut     = PETSC_FALSE;
  mg->stopped = PETSC_FALSE;
  mg->started = PETSC_FALSE;
  PetscCall(HJMGInsideDestroy(&mg->inside));
  mg->placed = mg->all_placed = PETSC_FALSE;
  PetscCall(VecDestroy(&mg->other));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&mg->copy[i])); /* of the points inside, or of all */
  PetscCall(VecDestroy(&mg->scale));
  PetscCall(VecDestroy(&mg->mask));
  PetscCall(VecDestroy(&mg->masked));
  mg->zero_rows = 0;
  PetscCall(VecDestroy(&mg->scaled));
  PetscCall(HJMGGatherDestroy(&mg->gather));
  PetscCall(HJHaloDestroy(&mg->fence));
  PetscCall(MatNullSpaceDestroy(&mg->constants));
  PetscCall(VecDestroy(&mg->shares));
  PetscFunctionReturn(PETSC_SUCCESS);
}

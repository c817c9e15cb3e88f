/*
   The hierarchy: the finest matrix as a stencil matrix, coarser grids by coarsening by 2, interpolations, Galerkin operators. Decides how
   far a grid is coarsened; smooths nothing.
*/
#include "hjmg.h"

/* Grids of so many points or fewer, by dimension, are not coarsened: their sweeps cost less than launches and messages of more levels */
static const PetscInt HJMGSmall[4] = {0, 65, 1100, 1000};
/* Seconds that a GPU waits for another's halo, as PCHJACOBI's default */
#define HJ_MG_TIMEOUT 300
/* Skew part of D^-1 A that is rounding */
#define HJ_MG_SKEW 1e-8
/* Coefficients jump where a fine point is coupled to one of its coarse neighbours 1.5 times as much as to the other, or more */
#define HJ_MG_JUMP 0.2
/* Grids of more points are not solved by sweeps alone, which would take very many */
#define HJ_MG_LARGEST 100000

/* The DMDA that the matrix lives on, from the PC, else from the matrix itself */
static PetscErrorCode HJMGFindGrid(PC pc, DM *da)
{
  DM   candidate[2];
  char why[256] = "no DM is attached to the PC or the matrix";

  PetscFunctionBegin;
  *da = NULL;
  PetscCall(PCGetDM(pc, &candidate[0]));
  PetscCall(MatGetDM(pc->pmat, &candidate[1]));
  for (int i = 1; i >= 0 && !*da; i--) {
    if (!candidate[i]) continue;
    PetscCall(HJStencilCheckDM(pc->pmat, candidate[i], why, sizeof(why)));
    if (!why[0]) *da = candidate[i];
  }
  PetscCheck(*da, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PCHJMG needs a matrix that is a stencil on a DMDA (%s); use -pc_type gamg, or attach the DMDA by KSPSetDM() or MatSetDM()",
             why);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A DMDA cut into ranks like another one, of N points; widths: of the ranks */
static PetscErrorCode HJMGCreateDM(DM like, const PetscInt N[3], PetscInt *const widths[3], VecType vectype, DM *da)
{
  PetscInt        dim, nranks[3];
  DMBoundaryType  b[3];
  DMDAStencilType stencil;
  const char     *prefix;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(like, &dim, NULL, NULL, NULL, &nranks[0], &nranks[1], &nranks[2], NULL, NULL, &b[0], &b[1], &b[2], &stencil));
  for (int d = 0; d < 3; d++)
    if (d >= dim || b[d] != DM_BOUNDARY_PERIODIC) b[d] = DM_BOUNDARY_NONE; /* the matrix has folded others */
  PetscCall(DMDACreate(PetscObjectComm((PetscObject)like), da));
  PetscCall(DMSetDimension(*da, dim));
  PetscCall(DMDASetSizes(*da, N[0], dim > 1 ? N[1] : 1, dim > 2 ? N[2] : 1));
  PetscCall(DMDASetNumProcs(*da, nranks[0], dim > 1 ? nranks[1] : PETSC_DECIDE, dim > 2 ? nranks[2] : PETSC_DECIDE));
  PetscCall(DMDASetBoundaryType(*da, b[0], b[1], b[2]));
  PetscCall(DMDASetDof(*da, 1));
  PetscCall(DMDASetStencilType(*da, stencil));
  PetscCall(DMDASetStencilWidth(*da, 1));
  PetscCall(DMDASetOwnershipRanges(*da, widths[0], dim > 1 ? widths[1] : NULL, dim > 2 ? widths[2] : NULL));
  PetscCall(DMGetOptionsPrefix(like, &prefix));
  PetscCall(DMSetOptionsPrefix(*da, prefix)); /* for options of the matrices */
  PetscCall(DMSetVecType(*da, vectype));
  PetscCall(DMSetMatType(*da, MATHJSTENCIL));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coarse points are the even ones. Their number in a direction, and on each of its ranks; a reason where it cannot be coarsened */
static PetscErrorCode HJMGCoarsenDirection(PetscInt d, PetscBool periodic, PetscInt nranks, PetscInt *N, PetscInt widths[], char reason[],
                                           size_t len)
{
  PetscInt start = 0;

  PetscFunctionBegin;
  if (periodic ? *N % 2 : *N % 2 == 0) {
    PetscCall(PetscSNPrintf(reason, len, "%" PetscInt_FMT " points in direction %" PetscInt_FMT " have no coarser grid; 2^n m %s have n",
                            *N, d, periodic ? "periodic points" : "+ 1 points"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt r = 0; r < nranks; r++) {
    const PetscInt end = start + widths[r];

    widths[r] = (end + 1) / 2 - (start + 1) / 2;
    if (!widths[r]) PetscCall(PetscStrncpy(reason, "a rank would own no point of the next grid", len));
    start = end;
  }
  *N = (*N + 1) / 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The next coarser grid; NULL and a reason where there is none. A direction of few points keeps them */
static PetscErrorCode HJMGCoarsen(DM fine, DM *coarse, char reason[], size_t len)
{
  PetscInt        dim, N[3], nranks[3];
  DMBoundaryType  b[3];
  const PetscInt *own[3];
  PetscInt       *widths[3] = {NULL, NULL, NULL};
  PetscBool       any       = PETSC_FALSE;
  VecType         vectype;

  PetscFunctionBegin;
  *coarse   = NULL;
  reason[0] = 0;
  PetscCall(DMDAGetInfo(fine, &dim, &N[0], &N[1], &N[2], &nranks[0], &nranks[1], &nranks[2], NULL, NULL, &b[0], &b[1], &b[2], NULL));
  PetscCall(DMDAGetOwnershipRanges(fine, &own[0], &own[1], &own[2]));
  for (PetscInt d = 0; d < dim; d++) {
    const PetscBool periodic = (PetscBool)(b[d] == DM_BOUNDARY_PERIODIC);

    PetscCall(PetscMalloc1(nranks[d], &widths[d]));
    PetscCall(PetscArraycpy(widths[d], own[d], nranks[d]));
    if (reason[0] || N[d] < (periodic ? 6 : 3)) continue;
    any = PETSC_TRUE;
    PetscCall(HJMGCoarsenDirection(d, periodic, nranks[d], &N[d], widths[d], reason, len));
  }
  if (!any) PetscCall(PetscStrncpy(reason, "no direction has points to spare", len));
  PetscCall(DMGetVecType(fine, &vectype));
  if (!reason[0]) PetscCall(HJMGCreateDM(fine, N, widths, vectype, coarse));
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(widths[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is known of the symmetry of one matrix is true of the other */
static PetscErrorCode HJMGPassSymmetry(Mat from, Mat to)
{
  PetscBool set, flag;

  PetscFunctionBegin;
  PetscCall(MatIsSymmetricKnown(from, &set, &flag));
  if (set) PetscCall(MatSetOption(to, MAT_SYMMETRIC, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix as a stencil matrix, into the one that is there or a new one */
static PetscErrorCode HJMGConvert(PC pc, MatReuse reuse, Mat *A)
{
  DM da = ((PC_HJMG *)pc->data)->level[0].da, was;

  PetscFunctionBegin;
  PetscCall(MatGetDM(pc->pmat, &was));
  PetscCall(PetscObjectReference((PetscObject)was));
  PetscCall(MatSetDM(pc->pmat, da)); /* MatConvert() takes the grid from there */
  PetscCall(MatConvert(pc->pmat, MATHJSTENCIL, reuse, A));
  PetscCall(MatSetDM(pc->pmat, was));
  PetscCall(DMDestroy(&was));
  PetscCall(HJMGPassSymmetry(pc->pmat, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator that smooths, in the memory where the finest matrix is; it reads the matrix, and names what is no stencil */
static PetscErrorCode HJMGMakeOperator(PC pc, Mat A, DM da, HJOperator **op)
{
  const PetscInt      tile[3] = {0, 0, 0};
  const HJBackendOps *ops;
  const HJHaloOps    *halo_ops;
  const char         *why_backend, *why_exchange;
  char                why[512];

  PetscFunctionBegin;
  PetscCall(HJOperatorDestroy(op));
  PetscCall(HJOperatorChooseBackend(A, PC_HJACOBI_BACKEND_AUTO, 1, &ops, &why_backend));
  PetscCall(HJOperatorChooseExchange(PetscObjectComm((PetscObject)pc), NULL, PC_HJACOBI_EXCHANGE_AUTO, ops, &halo_ops, &why_exchange));
  PetscCall(HJOperatorCreate(A, da, PETSC_DECIDE, tile, ops, halo_ops, op, why, sizeof(why)));
  PetscCheck(*op, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PCHJMG needs a matrix that is a stencil on a DMDA (%s); use -pc_type gamg", why);
  (*op)->exchange_timeout = HJ_MG_TIMEOUT;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Level 0: the grid, the matrix, its operator */
static PetscErrorCode HJMGMakeFinest(PC pc)
{
  PC_HJMG        *mg    = (PC_HJMG *)pc->data;
  HJMGLevel      *level = &mg->level[0];
  DM              da;
  VecType         vectype;
  PetscBool       stencil;
  PetscInt        N[3];
  const PetscInt *widths[3];

  PetscFunctionBegin;
  PetscCall(HJMGFindGrid(pc, &da));
  PetscCall(HJMGMakeOperator(pc, pc->pmat, da, &level->op));
  PetscCall(MatGetVecType(pc->pmat, &vectype));
  PetscCall(DMDAGetInfo(da, NULL, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetOwnershipRanges(da, &widths[0], &widths[1], &widths[2]));
  PetscCall(HJMGCreateDM(da, N, (PetscInt *const *)widths, vectype, &level->da));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc->pmat, MATHJSTENCIL, &stencil));
  mg->converted = (PetscBool)!stencil;
  if (stencil) {
    PetscCall(PetscObjectReference((PetscObject)pc->pmat));
    level->A = pc->pmat;
  } else {
    PetscCall(HJMGConvert(pc, MAT_INITIAL_MATRIX, &level->A));
  }
  mg->nlevels = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the last level, all ranks */
static PetscReal HJMGCountPoints(const PC_HJMG *mg)
{
  const PetscInt *N = mg->level[mg->nlevels - 1].op->grid.N;

  return (PetscReal)N[0] * N[1] * N[2];
}

/* Whether there may be one more level; else why not */
static PetscErrorCode HJMGWantsLevel(PC_HJMG *mg, PetscBool *wants)
{
  PetscFunctionBegin;
  *wants = PETSC_FALSE;
  if (mg->max_levels != PETSC_DECIDE) {
    *wants = (PetscBool)(mg->nlevels < mg->max_levels);
    PetscCall(PetscStrncpy(mg->stop, "as many levels as asked for", sizeof(mg->stop)));
  } else {
    *wants = (PetscBool)(HJMGCountPoints(mg) > HJMGSmall[mg->level[0].op->grid.dim] && mg->nlevels < HJ_MG_MAX_LEVELS);
    PetscCall(PetscStrncpy(mg->stop, "few points", sizeof(mg->stop)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether A is symmetric, but for the columns of rows that are a diagonal alone. Coarser operators are as the finest one is */
static PetscErrorCode HJMGIsSymmetric(PC_HJMG *mg, const HJMGLevel *level, PetscBool *symmetric)
{
  PetscBool set, flag;
  PetscReal skew;

  PetscFunctionBegin;
  PetscCall(MatIsSymmetricKnown(mg->level[0].A, &set, &flag));
  *symmetric = (PetscBool)(set && flag);
  if (*symmetric) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJBoundSkew(level->op, &skew));
  *symmetric = (PetscBool)(skew <= HJ_MG_SKEW);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether all points of all ranks have the same row: then nothing jumps. Collective */
static PetscErrorCode HJMGHasOneRow(const HJMGLevel *level, PetscBool *one)
{
  const HJStencil *st   = level->op->stencil;
  const PetscBool  mine = (PetscBool)(st->storage == HJ_DICTIONARY && st->nrows == 1);
  PetscReal        row[2 * (HJ_MAX_NEIGHBORS + 2) + 1]; /* entries and their negatives, whose maxima say whether all ranks have them */
  const PetscInt   n = st->nneighbors + 2;

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

/* The interpolation of a level: made where it is not there, its weights from the values that its matrix has now */
static PetscErrorCode HJMGMakeTransfer(PC_HJMG *mg, HJMGLevel *level, DM coarse, const HJTransfer *transfer)
{
  HJSetWeights set;
  PetscBool    symmetric, one = PETSC_FALSE;
  PetscReal    unused;

  PetscFunctionBegin;
  if (!level->P) PetscCall(HJMatCreateTransfer(coarse, level->da, transfer, &level->P));
  PetscCall(PetscObjectQueryFunction((PetscObject)level->P, HJ_SET_WEIGHTS, &set));
  level->weighted = PETSC_FALSE;
  level->jump     = -1.0;
  if (mg->transfer == PC_HJMG_TRANSFER_AUTO) PetscCall(HJMGHasOneRow(level, &one));
  if (mg->transfer == PC_HJMG_TRANSFER_BILINEAR || one) {
    PetscCall((*set)(level->P, NULL, PETSC_TRUE, &unused));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGIsSymmetric(mg, level, &symmetric));
  PetscCall((*set)(level->P, level->A, symmetric, &level->jump));
  level->weighted = (PetscBool)(mg->transfer == PC_HJMG_TRANSFER_OPERATOR || level->jump > HJ_MG_JUMP);
  if (!level->weighted) PetscCall((*set)(level->P, NULL, PETSC_TRUE, &unused));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGMakeLevel(PC pc, PetscBool *made)
{
  PC_HJMG   *mg   = (PC_HJMG *)pc->data;
  HJMGLevel *fine = &mg->level[mg->nlevels - 1], *coarse = fine + 1;
  HJTransfer transfer;

  PetscFunctionBegin;
  *made = PETSC_FALSE;
  PetscCall(HJMGCoarsen(fine->da, &coarse->da, mg->stop, sizeof(mg->stop)));
  if (!coarse->da) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJTransferSet(coarse->da, fine->da, &transfer, mg->stop, sizeof(mg->stop)));
  if (mg->stop[0]) {
    PetscCall(DMDestroy(&coarse->da));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGMakeTransfer(mg, fine, coarse->da, &transfer));
  PetscCall(MatPtAP(fine->A, fine->P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &coarse->A));
  PetscCall(HJMGPassSymmetry(fine->A, coarse->A));
  PetscCall(HJMGMakeOperator(pc, coarse->A, coarse->da, &coarse->op));
  PetscCall(MatCreateVecs(coarse->A, &coarse->x, &coarse->b));
  PetscCall(VecDuplicate(coarse->b, &coarse->r));
  mg->nlevels++;
  *made = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGMakeGrids(PC pc)
{
  PC_HJMG  *mg    = (PC_HJMG *)pc->data;
  PetscBool wants = PETSC_FALSE, made = PETSC_TRUE;
  PetscReal points;

  PetscFunctionBegin;
  PetscCall(HJMGDestroyGrids(mg));
  PetscCall(HJMGMakeFinest(pc));
  while (made) {
    PetscCall(HJMGWantsLevel(mg, &wants));
    if (!wants) break;
    PetscCall(HJMGMakeLevel(pc, &made));
  }
  points = HJMGCountPoints(mg);
  PetscCheck(made || points <= HJ_MG_LARGEST, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PCHJMG does not solve a grid of %g points by sweeps, and cannot coarsen it: %s; use such a grid, fewer ranks, or -pc_type "
             "gamg",
             (double)points, mg->stop);
  PetscCall(PetscInfo(pc, "%" PetscInt_FMT " levels; the last is not coarsened: %s\n", mg->nlevels, mg->stop));
  PetscCall(MatCreateVecs(mg->level[0].A, NULL, &mg->level[0].r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the new values of the finest matrix have another form all is made anew */
PetscErrorCode HJMGRefreshGrids(PC pc)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  PetscBool kept;

  PetscFunctionBegin;
  PetscCall(HJOperatorRefresh(mg->level[0].op, pc->pmat, &kept));
  if (!kept) {
    PetscCall(HJMGMakeGrids(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (mg->converted) PetscCall(HJMGConvert(pc, MAT_REUSE_MATRIX, &mg->level[0].A));
  for (HJMGLevel *fine = mg->level; fine < mg->level + mg->nlevels - 1; fine++) {
    HJMGLevel *coarse = fine + 1;

    PetscCall(HJMGMakeTransfer(mg, fine, coarse->da, NULL));
    PetscCall(MatPtAP(fine->A, fine->P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &coarse->A));
    PetscCall(HJMGPassSymmetry(fine->A, coarse->A));
    PetscCall(HJOperatorRefresh(coarse->op, coarse->A, &kept));
    if (!kept) PetscCall(HJMGMakeOperator(pc, coarse->A, coarse->da, &coarse->op));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGDestroyGrids(PC_HJMG *mg)
{
  PetscFunctionBegin;
  for (HJMGLevel *level = mg->level; level < mg->level + mg->nlevels; level++) {
    PetscCall(HJOperatorDestroy(&level->op));
    PetscCall(HJWeightsReset(&level->w));
    PetscCall(MatDestroy(&level->A));
    PetscCall(MatDestroy(&level->P));
    PetscCall(VecDestroy(&level->x));
    PetscCall(VecDestroy(&level->b));
    PetscCall(VecDestroy(&level->r));
    PetscCall(DMDestroy(&level->da));
  }
  mg->nlevels = 0;
  PetscCall(MatNullSpaceDestroy(&mg->constants));
  PetscFunctionReturn(PETSC_SUCCESS);
}

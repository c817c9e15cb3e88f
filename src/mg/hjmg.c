/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The type: creation, options, view, registration; setters, getters and their manual pages.
*/
#include "hjmg.h"

const char *const PCHJMGTransfers[] = {"auto", "bilinear", "operator", "PCHJMGTransfer", "PC_HJMG_TRANSFER_", NULL};

static PetscErrorCode PCHJMGSetK_HJMG(PC pc, PetscInt n, const PetscInt k[])
{
  PC_HJMG  *mg   = (PC_HJMG *)pc->data;
  PetscBool same = (PetscBool)(n == mg->nk);

  PetscFunctionBegin;
  PetscCheck(n >= 0 && n <= HJ_MG_MAX_LEVELS, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "The number of values %" PetscInt_FMT " must be between 0 and %d", n, HJ_MG_MAX_LEVELS);
  for (PetscInt i = 0; i < n; i++) {
    PetscCheck(k[i] > 0 && k[i] <= HJ_MAX_K, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "k = %" PetscInt_FMT " must be between 1 and %d", k[i], HJ_MAX_K);
    same = (PetscBool)(same && k[i] == mg->k[i]);
  }
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  mg->nk = n;
  PetscCall(PetscArraymove(mg->k, k, n));
  mg->changed     = PetscMax(mg->changed, HJ_MG_CHANGED_WEIGHTS);
  pc->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGGetK_HJMG(PC pc, PetscInt *n, const PetscInt *k[])
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  if (!mg->nk)
    for (PetscInt l = 0; l < mg->nlevels - 1; l++) mg->k[l] = mg->level[l].w.k;
  *n = mg->nk ? mg->nk : PetscMax(mg->nlevels - 1, 0);
  *k = mg->k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCHJMGSetK - Sets the number of subiterations before and after the correction from the coarser grid

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJMG`
.  n  - how many numbers there are, up to 64; 0, the default: the numbers are found, see `-ksp_view`
-  k  - the numbers, 1 to 1024, finest grid first; the last one is that of all coarser grids too

   Options Database Key:
.  -pc_hjmg_k <k_0,k_1,...> - subiterations

   Level: intermediate

   Note:
   They are an exact cycle of `PCHJACOBI` with the schedule chebyshev4. Four are one pass over memory, in 2D and 3D, on the CPU and the
   GPU; in 2D on a GPU a pass may have more, which costs little. How the coarsest grid is solved does not depend on them.

.seealso: `PCHJMG`, `PCHJMGGetK()`, `PCHJMGSetCoarseSolve()`, `PCHJacobiSetK()`
@*/
PetscErrorCode PCHJMGSetK(PC pc, PetscInt n, const PetscInt k[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, n, 2);
  if (n > 0) HJCheckPointer(k, 3);
  for (PetscInt i = 0; i < n; i++) PetscValidLogicalCollectiveInt(pc, k[i], 3);
  PetscTryMethod(pc, "PCHJMGSetK_C", (PC, PetscInt, const PetscInt[]), (pc, n, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   PCHJMGGetK - Gets the numbers of subiterations before and after the correction from the coarser grid

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJMG`

   Output Parameters:
+  n - how many numbers there are
-  k - the numbers, finest grid first; they are the preconditioner's, do not free them

   Level: intermediate

   Note:
   Where none were set they are those that set-up has found for plain cycles, on the grids that this rank has above the last one; before
   set-up there are 0.

.seealso: `PCHJMG`, `PCHJMGSetK()`
@*/
PetscErrorCode PCHJMGGetK(PC pc, PetscInt *n, const PetscInt *k[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  HJCheckPointer(n, 2);
  HJCheckPointer(k, 3);
  PetscUseMethod(pc, "PCHJMGGetK_C", (PC, PetscInt *, const PetscInt *[]), (pc, n, k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGSetLevels_HJMG(PC pc, PetscInt n)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  PetscCheck(n == PETSC_DECIDE || (n > 0 && n <= HJ_MG_MAX_LEVELS), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "The number of levels %" PetscInt_FMT " must be between 1 and %d, or PETSC_DECIDE", n, HJ_MG_MAX_LEVELS);
  if (mg->max_levels == n) PetscFunctionReturn(PETSC_SUCCESS);
  mg->max_levels  = n;
  mg->changed     = HJ_MG_CHANGED_GRIDS;
  pc->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGGetLevels_HJMG(PC pc, PetscInt *n)
{
  const PC_HJMG *mg = (const PC_HJMG *)pc->data;

  PetscFunctionBegin;
  if (mg->order) {
    PetscCall(PCHJMGGetLevels(HJMGOrderPC(mg->order), n));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *n = mg->system ? HJMGSystemLevels(mg->system) : mg->nlevels ? HJMGCountLevels(mg) : mg->max_levels;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCHJMGSetLevels - Sets the number of grids, with the finest

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJMG`
-  n  - number of grids, 1 to 64; fewer are made where a grid has no coarser one. `PETSC_DECIDE`: as many as lead to a small grid

   Options Database Key:
.  -pc_hjmg_levels <n> - number of grids

   Level: intermediate

.seealso: `PCHJMG`, `PCHJMGGetLevels()`
@*/
PetscErrorCode PCHJMGSetLevels(PC pc, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, n, 2);
  PetscTryMethod(pc, "PCHJMGSetLevels_C", (PC, PetscInt), (pc, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCHJMGGetLevels - Gets the number of grids

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJMG`

   Output Parameter:
.  n - number of grids; before `PCSetUp()` what was set, `PETSC_DECIDE` where nothing was

   Level: intermediate

.seealso: `PCHJMG`, `PCHJMGSetLevels()`
@*/
PetscErrorCode PCHJMGGetLevels(PC pc, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  HJCheckPointer(n, 2);
  PetscUseMethod(pc, "PCHJMGGetLevels_C", (PC, PetscInt *), (pc, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGSetTransfer_HJMG(PC pc, PCHJMGTransfer transfer)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  PetscCheck((int)transfer >= 0 && transfer <= PC_HJMG_TRANSFER_OPERATOR, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Unknown value %d; see the manual page of PCHJMGSetTransfer()", (int)transfer);
  if (mg->transfer == transfer) PetscFunctionReturn(PETSC_SUCCESS);
  mg->transfer    = transfer;
  mg->changed     = PetscMax(mg->changed, HJ_MG_CHANGED_VALUES);
  pc->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGGetTransfer_HJMG(PC pc, PCHJMGTransfer *transfer)
{
  PetscFunctionBegin;
  *transfer = ((PC_HJMG *)pc->data)->transfer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCHJMGSetTransfer - Sets how corrections are interpolated to the next finer grid

   Logically Collective

   Input Parameters:
+  pc       - the preconditioner, ignored if it is not `PCHJMG`
-  transfer - what the interpolation follows

   Options Database Key:
.  -pc_hjmg_transfer <auto,bilinear,operator> - default auto

   Level: intermediate

   Notes: `PC_HJMG_TRANSFER_OPERATOR` gives every fine point coefficients of its own, from the matrix (Dendy, Black box multigrid, J.
   Comput. Phys. 48, 1982): those of a point between two coarse ones are in proportion to how strongly it is coupled to each; those of
   points between more follow from its row. Unlike Dendy's, couplings by way of the points beside both count as well, since a point may hang
   on those more than on the two. Of a matrix that is not symmetric its symmetric part is taken, but the sum of a row, which says what
   becomes of constants, is its own. The weights are kept, one array over the coarse points for each of the 3, 9 or 27 fine points that one
   gives to; a cycle reads them twice, which bilinear interpolation saves.

   `PC_HJMG_TRANSFER_AUTO` decides on each grid: from the matrix where some point, away from the ends of the domain, is coupled to one of
   the two coarse points that it lies between at least 1.5 times as much as to the other, else bilinear. `-ksp_view` prints the largest
   difference of two such couplings, divided by their sum. On the CPU that is 1 too where there is a wall: where such a point has a 0
   for one of the two, or no couplings at all.

   Where coefficients come from the matrix, rows that are a diagonal alone give and get no correction, and keep their diagonal on coarser
   grids.

   Of several unknowns a point it is bilinear, and `PC_HJMG_TRANSFER_OPERATOR` is an error.

.seealso: `PCHJMG`, `PCHJMGGetTransfer()`, `PCHJMGTransfer`
@*/
PetscErrorCode PCHJMGSetTransfer(PC pc, PCHJMGTransfer transfer)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, transfer, 2);
  PetscTryMethod(pc, "PCHJMGSetTransfer_C", (PC, PCHJMGTransfer), (pc, transfer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCHJMGGetTransfer - Gets how corrections are interpolated to the next finer grid

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJMG`

   Output Parameter:
.  transfer - what the interpolation follows, as it was set

   Level: intermediate

.seealso: `PCHJMG`, `PCHJMGSetTransfer()`
@*/
PetscErrorCode PCHJMGGetTransfer(PC pc, PCHJMGTransfer *transfer)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  HJCheckPointer(transfer, 2);
  PetscUseMethod(pc, "PCHJMGGetTransfer_C", (PC, PCHJMGTransfer *), (pc, transfer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGSetRankPoints_HJMG(PC pc, PetscInt n)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  PetscCheck(n == PETSC_DECIDE || n >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "The number of points a rank %" PetscInt_FMT " must be at least 0, or PETSC_DECIDE", n);
  if (mg->rank_points == n) PetscFunctionReturn(PETSC_SUCCESS);
  mg->rank_points = n;
  mg->changed     = HJ_MG_CHANGED_GRIDS;
  pc->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGGetRankPoints_HJMG(PC pc, PetscInt *n)
{
  PetscFunctionBegin;
  *n = ((PC_HJMG *)pc->data)->rank_points;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCHJMGSetRankPoints - Sets how many points a rank must have on a coarse grid, so that the grid stays on these ranks

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJMG`
-  n  - points a rank, at least 0. `PETSC_DECIDE` (default): 4096 on a CPU, 150000 on GPUs, in 3D 65536, where messages cost more than work

   Options Database Key:
.  -pc_hjmg_rank_points <n> - points a rank

   Level: advanced

   Note:
   A coarse grid with fewer points a rank, and all grids below it, are moved to as many ranks as have more points, down to one. The others
   wait. With 0 only grids whose ranks are too thin for a coarser one are moved. The finest grid stays where it is.

.seealso: `PCHJMG`, `PCHJMGGetRankPoints()`, `PCTELESCOPE`
@*/
PetscErrorCode PCHJMGSetRankPoints(PC pc, PetscInt n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, n, 2);
  PetscTryMethod(pc, "PCHJMGSetRankPoints_C", (PC, PetscInt), (pc, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCHJMGGetRankPoints - Gets how many points a rank must have on a coarse grid, so that the grid stays on these ranks

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJMG`

   Output Parameter:
.  n - points a rank, `PETSC_DECIDE` where nothing was set

   Level: advanced

.seealso: `PCHJMG`, `PCHJMGSetRankPoints()`
@*/
PetscErrorCode PCHJMGGetRankPoints(PC pc, PetscInt *n)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  HJCheckPointer(n, 2);
  PetscUseMethod(pc, "PCHJMGGetRankPoints_C", (PC, PetscInt *), (pc, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGComposeSetters(PC pc, PetscBool on)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGSetK_C", on ? PCHJMGSetK_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGGetK_C", on ? PCHJMGGetK_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGSetLevels_C", on ? PCHJMGSetLevels_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGGetLevels_C", on ? PCHJMGGetLevels_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGSetRankPoints_C", on ? PCHJMGSetRankPoints_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGGetRankPoints_C", on ? PCHJMGGetRankPoints_HJMG : NULL));
  PetscCall(HJMGComposeHow(pc, on));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGSetTransfer_C", on ? PCHJMGSetTransfer_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGGetTransfer_C", on ? PCHJMGGetTransfer_HJMG : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_HJMG(PC pc, HJOptionItems PetscOptionsObject)
{
  PC_HJMG                *mg = (PC_HJMG *)pc->data;
  PetscInt                k[HJ_MG_MAX_LEVELS], nk = HJ_MG_MAX_LEVELS, n = mg->max_levels, points = mg->rank_points;
  PCHJMGTransfer          transfer = mg->transfer;
  const PCHJacobiExchange exchange = mg->exchange;
  const PetscReal         timeout  = mg->exchange_timeout;
  PetscBool               flg;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Multigrid by hierarchical Jacobi options");
  PetscCall(PetscOptionsIntArray("-pc_hjmg_k", "Subiterations before and after the correction", "PCHJMGSetK", k, &nk, &flg));
  if (flg) PetscCall(PCHJMGSetK(pc, nk, k));
  PetscCall(PetscOptionsInt("-pc_hjmg_levels", "Number of grids", "PCHJMGSetLevels", n, &n, &flg));
  if (flg) PetscCall(PCHJMGSetLevels(pc, n));
  PetscCall(PetscOptionsInt("-pc_hjmg_rank_points", "Points a rank on coarse grids", "PCHJMGSetRankPoints", points, &points, &flg));
  if (flg) PetscCall(PCHJMGSetRankPoints(pc, points));
  PetscCall(HJMGSetFromOptionsHow(pc, PetscOptionsObject));
  PetscCall(PetscOptionsEnum("-pc_hjmg_transfer", "What interpolation follows", "PCHJMGSetTransfer", PCHJMGTransfers, (PetscEnum)transfer,
                             (PetscEnum *)&transfer, &flg));
  if (flg) PetscCall(PCHJMGSetTransfer(pc, transfer));
  PetscCall(HJExchangeFromOptions(PetscOptionsObject, PetscObjectComm((PetscObject)pc), &mg->exchange, &mg->exchange_timeout));
  if (mg->exchange != exchange || mg->exchange_timeout != timeout) {
    mg->changed     = HJ_MG_CHANGED_GRIDS;
    pc->setupcalled = PETSC_FALSE;
  }
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGViewLevel(const PC_HJMG *mg, PetscInt l, PetscViewer viewer)
{
  const HJMGLevel *level     = &mg->level[l];
  const HJStencil *st        = level->op->stencil;
  const PetscInt  *N         = level->op->grid.N;
  const char      *storage[] = {"dictionary", "variable", "variable, symmetric half"};
  char             size[64], rows[32] = "", rotated[32] = "", words[256] = "";

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(size, sizeof(size), "%" PetscInt_FMT, N[0]));
  for (PetscInt d = 1; d < st->dim; d++) {
    const size_t used = strlen(size);

    PetscCall(PetscSNPrintf(size + used, sizeof(size) - used, " x %" PetscInt_FMT, N[d]));
  }
  if (st->storage == HJ_DICTIONARY)
    PetscCall(PetscSNPrintf(rows, sizeof(rows), " of %" PetscInt_FMT " row%s", st->nrows, st->nrows == 1 ? "" : "s"));
  if (level->rotated.k) PetscCall(PetscSNPrintf(rotated, sizeof(rotated), " (rotated %" PetscInt_FMT ")", level->rotated.k));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "level %" PetscInt_FMT ": %s, %" PetscInt_FMT " points, %s%s; k = %" PetscInt_FMT
                                   "%s, emax %g (%s); kernels: %s\n",
                                   mg->base + l, size, st->nslots, storage[st->storage], rows, level->w.k, rotated,
                                   (double)level->bound.emax, level->bound.source, level->op->ops->kernels(level->op->backend, NULL)));
  if (level->flows && level->w.k)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  convection: equal weights, after corrections alone, and %" PetscInt_FMT
                                     " visit%s a cycle; skew part of "
                                     "D^-1 A up to %.2g\n",
                                     HJMGFlowVisits(mg, l), HJMGFlowVisits(mg, l) == 1 ? "" : "s", (double)level->skew));
  if (level->lifted)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  diagonal: twice the sum of the row's other entries for %" PetscInt_FMT " that are zero or weak\n",
                                     level->lifted));
  if (l < mg->nlevels - 1) PetscCall(HJMGAdviseK(mg, level, words, sizeof(words)));
  if (words[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "  %s\n", words));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How a level is coarsened, and why: strengths are shares of the strongest */
static PetscErrorCode HJMGViewCoarsening(const HJMGLevel *level, PetscViewer viewer)
{
  const HJCoarsening *c         = &level->coarsening;
  const HJGrid       *grid      = &level->op->grid;
  const PetscReal     turns     = HJCoarsenTurns(c);
  PetscReal           strongest = 0.0;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < grid->dim; d++) strongest = PetscMax(strongest, c->strength[d]);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  couplings"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  for (PetscInt d = 0; d < grid->dim; d++)
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s%.3g", d ? " : " : " ", (double)(strongest > 0 ? c->strength[d] / strongest : 0.0)));
  for (PetscInt d = 0; d < grid->dim && level->P; d++)
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s%" PetscInt_FMT, d ? " x " : "; coarsened by ", c->factor[d]));
  for (PetscInt d = 0; d < grid->dim && level->P; d++) {
    if (c->factor[d] == 2 && c->first[d])
      PetscCall(
        PetscViewerASCIIPrintf(viewer, "; the first point in direction %" PetscInt_FMT " has %g of the next one", d, (double)c->before[d]));
    if (c->factor[d] == 2 && HJCoarsenHangs(grid, c, (int)d))
      PetscCall(
        PetscViewerASCIIPrintf(viewer, "; the last point in direction %" PetscInt_FMT " has %g of the one before", d, (double)c->last[d]));
  }
  if (turns >= HJ_MG_TURNS) PetscCall(PetscViewerASCIIPrintf(viewer, "; the strong direction turns (%.2g)", (double)turns));
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To a level, from the next coarser one */
static PetscErrorCode HJMGViewTransfer(const PC_HJMG *mg, PetscInt l, PetscViewer viewer)
{
  const HJMGLevel *level    = &mg->level[l];
  char             jump[96] = "";

  PetscFunctionBegin;
  if (l == mg->nlevels - 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (level->jump >= 0.0)
    PetscCall(PetscSNPrintf(jump, sizeof(jump), "; jump of coefficients %.2g of 1, large at %.2g of the points", (double)level->jump,
                            (double)level->rough));
  PetscCall(PetscViewerASCIIPrintf(viewer, "interpolation to level %" PetscInt_FMT ": %s%s\n", mg->base + l,
                                   level->follows_rows ? "coefficients from the matrix" : "bilinear", jump));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines that tell of each level, and of why the last is the coarsest */
static PetscErrorCode HJMGViewLevels(const PC_HJMG *mg, PetscViewer viewer)
{
  const PetscInt last = mg->nlevels - 1;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < last + !mg->gather; l++) {
    PetscCall(HJMGViewLevel(mg, l, viewer));
    PetscCall(HJMGLinesView(&mg->level[l], viewer));
    PetscCall(HJMGViewCoarsening(&mg->level[l], viewer));
    PetscCall(HJMGViewTransfer(mg, l, viewer));
  }
  if (mg->gather) {
    PetscCall(HJMGGatherView(mg->gather, HJMGViewLevels, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "the last level has no coarser grid: %s\n", mg->stop));
  if (mg->inverse) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "it is solved by the inverse of its matrix%s\n", mg->constants ? ", without constants" : ""));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "its sweeps %s%s\n",
                                   !mg->settled ? "are a smoother's, the system is not symmetric and definite, or nearly singular"
                                   : mg->level[last].w.k == HJ_MAX_K   ? "are as many as there may be, and leave more of the error"
                                   : mg->level[last].skew > HJ_MG_SKEW ? "leave a hundredth of the error, the diagonal dominates"
                                                                       : "leave a hundredth of the error (chebyshev)",
                                   mg->constants ? ", constants are removed" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficients that the sweeps have of their own, beside those of the matrix */
static PetscReal HJMGStencilBytes(const HJStencil *st)
{
  const PetscReal points = (PetscReal)HJBoxSize(&st->box);
  PetscReal       bytes  = st->index ? points : 0;

  for (PetscInt o = 1; o < st->nslots; o++)
    if (st->value[o] && !st->in_place) bytes += points * sizeof(PetscScalar);
  if (st->dinv) bytes += points * sizeof(PetscScalar);
  return bytes;
}

/* Of all levels on this rank: matrices, coefficients of sweeps, and vectors, without the matrix of the PC */
static PetscErrorCode HJMGBytes(const PC_HJMG *mg, PetscReal *bytes)
{
  const PC_HJMG *next = NULL;
  PetscReal      below;

  PetscFunctionBegin;
  *bytes = 0;
  for (const HJMGLevel *level = mg->level; level < mg->level + mg->nlevels; level++) {
    const PetscReal points = (PetscReal)HJBoxSize(&level->op->grid.owned);
    MatInfo         info;

    if (level->A && (level > mg->level || mg->converted)) {
      PetscCall(MatGetInfo(level->A, MAT_LOCAL, &info));
      *bytes += info.memory;
    }
    if (level->P) {
      PetscCall(MatGetInfo(level->P, MAT_LOCAL, &info));
      *bytes += info.memory;
    }
    if (level->restriction && level->restriction->residual) *bytes += points * sizeof(PetscScalar);
    if (level->At) {
      PetscCall(MatGetInfo(level->At, MAT_LOCAL, &info));
      *bytes += info.memory + HJMGStencilBytes(level->opt->stencil);
    }
    *bytes += HJMGStencilBytes(level->op->stencil);
    *bytes += points * sizeof(PetscScalar) * ((level->x != NULL) + (level->b && !level->borrows) + (level->r != NULL));
    *bytes += HJMGLinesBytes(level->lines);
    if (level->residual) *bytes += points * sizeof(PetscScalar);
  }
  *bytes += HJMGSingleBytes(mg);
  if (mg->inside) *bytes += HJMGInsideBytes(mg->inside);
  if (!mg->gather) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGGatherGetBelow(mg->gather, &next, &below));
  *bytes += below;
  if (next) PetscCall(HJMGBytes(next, &below));
  if (next) *bytes += below;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of all ranks, also as vectors of the finest grid */
static PetscErrorCode HJMGViewBytes(PC pc, PetscViewer viewer)
{
  const PC_HJMG  *mg = (const PC_HJMG *)pc->data;
  const PetscInt *N  = mg->level[0].op->grid.N;
  PetscReal       bytes;

  PetscFunctionBegin;
  PetscCall(HJMGBytes(mg, &bytes));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
  PetscCall(PetscViewerASCIIPrintf(viewer, "coefficients and vectors of all levels, beside the matrix: %g MB, %.3g vectors of level 0\n",
                                   (double)(bytes / 1e6), (double)(bytes / sizeof(PetscScalar) / N[0] / N[1] / N[2])));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_HJMG(PC pc, PetscViewer viewer)
{
  const PC_HJMG *mg = (const PC_HJMG *)pc->data;
  PetscInt       n;
  PetscBool      ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPushTab(viewer));
  if (!mg->nlevels) {
    if (HJHasFailed(&mg->failure)) PetscCall(PetscViewerASCIIPrintf(viewer, "set-up failed: %s\n", mg->failure.words));
    else PetscCall(PetscViewerASCIIPrintf(viewer, "not yet set up\n"));
    PetscCall(PetscViewerASCIIPopTab(viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCHJMGGetLevels(pc, &n));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "V-cycle on %" PetscInt_FMT " level%s, k subiterations chebyshev4 before and after; hjacobi %s\n", n,
                                   n == 1 ? "" : "s", HJACOBI_VERSION_STRING));
  if (mg->one_sided)
    PetscCall(PetscViewerASCIIPrintf(viewer, "rotated ones smooth after corrections alone, on the finest grid by chebyshev\n"));
  if (mg->operators == HJ_MG_STARS_COPIED)
    PetscCall(PetscViewerASCIIPrintf(viewer, "those that are not rotated smooth on the finest grid by chebyshev\n"));
  if (mg->operators == HJ_MG_SMOOTH)
    PetscCall(PetscViewerASCIIPrintf(viewer, "those that are not rotated smooth by chebyshev%s\n",
                                     mg->one_sided ? "" : ", on the finest grid by weights near it"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "transfer: %s; operators: %s%s\n", PCHJMGTransfers[mg->transfer],
                                   mg->stars ? "Galerkin products, summed into stars" : "Galerkin",
                                   mg->converted ? ", the matrix is kept a second time as " MATHJSTENCIL : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer, "backend: %s, where the matrix lies; cycles are %s%s\n", mg->level[0].op->ops->name,
                                   mg->not_recorded ? "launched operation by operation: " : "recorded as graphs where vectors come again",
                                   mg->not_recorded ? mg->not_recorded : ""));
  PetscCall(HJMGSingleView(mg, viewer));
  PetscCall(HJMGViewSteps(mg, viewer));
  PetscCall(HJMGInsideView(mg, viewer));
  if (mg->scale) PetscCall(PetscViewerASCIIPrintf(viewer, "rows are scaled to be as symmetric as they can be\n"));
  if (mg->mask)
    PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " rows are zeros: their unknowns are left alone\n", mg->zero_rows));
  if (HJGridHasNeighbors(&mg->level[0].op->grid))
    PetscCall(PetscViewerASCIIPrintf(viewer, "exchange: %s\n", mg->level[0].op->halo_ops->name));
  PetscCall(HJMGViewLevels(mg, viewer));
  PetscCall(HJMGViewBytes(pc, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Those of a PC that has levels of its own, or, made, of what does what it does in its place */
static void HJMGSetOperations(PC pc, PetscBool made)
{
  const PC_HJMG  *mg    = (const PC_HJMG *)pc->data;
  const PetscBool order = (PetscBool)(made && mg->order), system = (PetscBool)(made && mg->system);

  pc->ops->apply           = order ? PCApply_HJMGOrder : system ? PCApply_HJMGSystem : PCApply_HJMG;
  pc->ops->applytranspose  = order ? PCApplyTranspose_HJMGOrder : system ? PCApplyTranspose_HJMGSystem : PCApplyTranspose_HJMG;
  pc->ops->applyrichardson = PCApplyRichardson_HJMG; /* a KSP asks whether it is there before set-up tells of levels elsewhere */
  pc->ops->view            = order ? PCView_HJMGOrder : system ? PCView_HJMGSystem : PCView_HJMG;
}

static PetscErrorCode PCSetUp_HJMG(PC pc)
{
  PetscFunctionBegin;
  HJMGSetOperations(pc, PETSC_FALSE);
  PetscCall(HJMGSetUp(pc));
  HJMGSetOperations(pc, PETSC_TRUE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPreSolve_HJMG(PC pc, KSP ksp, Vec b, Vec x)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  mg->ksp = ksp;
  PetscCall(HJMGSingleSuits(ksp, &mg->flexible));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPostSolve_HJMG(PC pc, KSP ksp, Vec b, Vec x)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  mg->ksp      = NULL;
  mg->flexible = PETSC_FALSE;
  if (ksp->normtype != KSP_NORM_NONE) PetscCall(HJOperatorCheckExchanges()); /* else what was started may not have ended */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCReset_HJMG(PC pc)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  HJMGSetOperations(pc, PETSC_FALSE);
  PetscCall(HJMGOrderDestroy(pc));
  PetscCall(HJMGSystemDestroy(pc));
  PetscCall(HJMGDestroyGrids(mg));
  mg->failure.words[0] = 0;
  PetscCall(VecDestroy(&mg->residual));
  PetscCall(VecDestroy(&mg->correction));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_HJMG(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_HJMG(pc));
  PetscCall(PCHJMGComposeSetters(pc, PETSC_FALSE));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, HJ_RICHARDSON, NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, HJ_GET_SYSTEM, NULL));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   PCHJMG - geometric multigrid on structured grids, smoothed by cycles of `PCHJACOBI`: needs the matrix alone

   Options Database Keys:
+  -pc_hjmg_k <k_0,k_1,...>                      - subiterations before and after a correction, finest grid first; default: found
.  -pc_hjmg_levels <n>                           - number of grids; default: as many as lead to a small grid
.  -pc_hjmg_rank_points <n>                      - points a rank below which a coarse grid goes to fewer ranks; default: found
.  -pc_hjmg_log                                  - set-up and cycle of each level as events of `-log_view`
.  -pc_hjmg_transfer <auto,bilinear,operator>    - interpolation between grids
.  -pc_hjmg_smoother <auto,points,lines>         - what smooths
.  -pc_hjmg_galerkin <false>                     - Galerkin products on all coarse grids, no stars
.  -pc_hjmg_graph <true>                         - cycles as CUDA graphs on a GPU
.  -pc_hjmg_precision <auto,single,double>       - precision inside cycles
-  -pc_hjmg_coarse_solve <auto,sweeps,inverse>   - how the coarsest grid is solved

   Options Database Keys for tests and measurements, with the options prefix of the preconditioner:
+  -hj_exchange <auto,petscsf,nccl,ipc>    - transport of the halo of sweeps between ranks
-  -hj_exchange_timeout <t, default 300>   - seconds that a GPU waits for another's halo

   Level: intermediate

   Notes:
   For a `MATHJSTENCIL`, or an AIJ matrix on a `DMDA` that `PCHJACOBI` reads as a stencil (at most 27 points in a row), of which a copy as
   `MATHJSTENCIL` is kept. Any other matrix is an error: use `PCGAMG`. `-ksp_view` shows all grids, what was found of them, and their
   memory; `-info` says what was decided.

   Where a point has several unknowns the matrix is a `MATHJSTENCIL`, AIJ or BAIJ. `PCMG` runs the cycle, on grids that are coarsened as
   those of one unknown; a direction is as strong as in the component that is coupled least in it. Each component is interpolated
   bilinearly, coarse operators are `MatPtAP()`, smoothers `PCHJACOBI` with `k` of `-pc_hjmg_k` (4), and the coarsest grid is factored.
   Where such a matrix of up to 8 unknowns a point lies on a GPU the cycle is done there, and set-up on the CPU. The prefix of these parts
   is that of the preconditioner followed by `pc_hjmg_`; of the options above those of levels and of the coarsest grid apply as well. A row
   that is coupled to other points and has no diagonal, as in a saddle point, is an error: use `PCFIELDSPLIT` with one `PCHJMG` a field.

   `PCApply()` is one V-cycle. Coarse points are the even ones, counted from 0, or on the CPU the odd ones where a direction has an even
   number of points and its first point is nearer to a wall than its last one, or there is more land. A direction may have any number of
   points, and is coarsened where its couplings are about as strong as the strongest, so that directions that are weak on the whole grid
   cost levels and no iterations. All levels lie where the matrix lies, on the CPU or a GPU, coarse ones on fewer ranks
   (`PCHJMGSetRankPoints()`). For a grid larger than the memory of the GPU see the slabs of `PCHJACOBI`, in `PCMG`. On a GPU a cycle is one
   CUDA graph (`PCHJMGSetGraph()`).

   Interpolation is bilinear, or follows the rows of the matrix where coefficients jump (`PCHJMGSetTransfer()`). Coarse operators are
   Galerkin products, or stars where the finest matrix is one (`PCHJMGSetGalerkin()`). Before and after a correction there are `k`
   subiterations of `PCHJACOBI`, with weights that need no number from the user and a guaranteed bound of the eigenvalues, so that the cycle
   is symmetric if the matrix is; more of them on coarse grids where coefficients jump at many points, fewer where the diagonal does not
   dominate and they would make an error larger, as negative eigenvalues do. What costs iterations are jumps between regions that are
   thinner than the distance of coarse points. Where a direction is weak in one part of the grid and strong in another hjmg counts the
   points, leaves out of coarsening what is weak at most of them, and has more subiterations, or in 2D lines (`PCHJMGSetSmoother()`), with
   which cycles are no CUDA graph.

   The coarsest grid is solved by sweeps that leave a hundredth of the error, or by its inverse (`PCHJMGSetCoarseSolve()`), which may be
   the finest grid where it has few points. Null spaces need not be told: constants that were told (`MatSetNullSpace()`) are removed, and a
   grid of up to 350 points that is singular but for rounding is solved by its pseudoinverse.

   Each coarser grid doubles the share of convection in a row. Levels on which a polynomial would grow have subiterations of equal weights,
   after corrections alone, an interpolation from the rows of their own matrix, which takes values from upstream, and are visited twice from
   the level above; `-ksp_view` names them. With GMRES iterations then hardly grow with the Peclet number; where streamlines are closed they
   are some tens. Where `-pc_hjmg_k` or a bilinear transfer is asked for such levels have as many subiterations as do not grow, and a grid
   on which none is safe is not made. With much convection take upwind differences: central ones then have few levels.

   Under `KSPHJRICHARDSON` with `KSP_NORM_UNPRECONDITIONED`, and under `KSPRICHARDSON` without a monitor or a null space, cycles are
   rotated: the smoothing after the correction of one cycle and before that of the next are one list of subiterations, and the norm comes
   with the residual that the next cycle restricts. The solution is that of the cycles and the smoothing before the correction of one
   more. In 3D rotated cycles of symmetric matrices have no smoothing before corrections on coarse grids, unless `-pc_hjmg_k` sets `k` or a
   direction is not coarsened.

   Where all rows of the outermost layers of the grid are a diagonal alone, of any value, as those of Dirichlet points are, their unknowns
   are `b / d`, and on the CPU the grids are those of the points inside, whether these rows' columns are kept or eliminated; level 0 is then
   a copy. Elsewhere, and on a GPU, rows that are a diagonal alone should have one of about the size of the other rows', or their columns
   eliminated; where theirs is more than 100 times smaller the interpolation follows the rows of the matrix. Rows may be scaled by any
   factors, from point to point or smoothly, as rows divided by the volume of their cell are: where scaling them back makes the matrix much
   more symmetric, cycles are those of a copy that is scaled back. Skew parts that are small beside the diagonals, as Newton's method makes
   them, change nothing.

   Unknowns whose rows are zeros are left alone, and the residual keeps what the right-hand side has there. Where at most an eighth of the
   points have a diagonal that is zero, missing or less than a hundredth of the rest of the row, cycles are those of a copy that has
   twice the sum of the row there: for a Krylov method that needs no definite matrix, such as `KSPGMRES`.

   Where an entry is NaN or infinite, or a diagonal so small that its inverse is, the `KSP` ends with `KSP_DIVERGED_PC_FAILED`, and `SNES`
   and `TS` can take a smaller step; with `-ksp_error_if_not_converged` it is an error. Entries of 1e-300 to 1e300 do no harm.

   New values in the same matrix are taken into the grids that are there. A preconditioner that is used again
   (`KSPSetReusePreconditioner()`) for a matrix with new values stays what it was, where it keeps a copy of the matrix. Cycles read a
   `MATHJSTENCIL` itself: they do as `PCMG` does, whose smoother on the finest grid has the new values, with new bounds, while coarse grids
   stay what they were. What is solved is the system of the new values in any case; where they are several times the old ones, set up again.

   A subdomain of `PCASM` whose rows are sorted rank by rank (`PCASMSetDMSubdomains()`) is put in the order of its points, in a copy.
   `PCApplyTranspose()` of a matrix that is not symmetric keeps transposed matrices of all levels, made when it is called first.

.seealso: `PCCreate()`, `PCSetType()`, `PC`, `PCHJACOBI`, `KSPHJRICHARDSON`, `PCMG`, `PCGAMG`, `MATHJSTENCIL`, `PCHJMGSetK()`,
          `PCHJMGSetLevels()`, `PCHJMGSetGraph()`, `PCHJMGSetCoarseSolve()`, `PCHJMGSetTransfer()`, `PCHJMGSetSmoother()`,
          `PCHJMGSetPrecision()`, `PCHJMGSetGalerkin()`, `PCHJMGSetRankPoints()`
M*/
static PetscErrorCode PCCreate_HJMG(PC pc)
{
  PC_HJMG *mg;

  PetscFunctionBegin;
  PetscCall(PetscNew(&mg));
  pc->data             = (void *)mg;
  mg->max_levels       = PETSC_DECIDE;
  mg->rank_points      = PETSC_DECIDE;
  mg->graph            = PETSC_TRUE;
  mg->exchange_timeout = HJ_EXCHANGE_TIMEOUT;
  mg->launch_single    = HJMGSingleLaunch;
  mg->run              = HJMGRun;
  mg->solve            = HJMGSolveRotated;

  pc->ops->setup          = PCSetUp_HJMG;
  pc->ops->reset          = PCReset_HJMG;
  pc->ops->destroy        = PCDestroy_HJMG;
  pc->ops->presolve       = PCPreSolve_HJMG;
  pc->ops->postsolve      = PCPostSolve_HJMG;
  pc->ops->setfromoptions = PCSetFromOptions_HJMG;
  HJMGSetOperations(pc, PETSC_FALSE);
  PetscCall(PCHJMGComposeSetters(pc, PETSC_TRUE));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, HJ_RICHARDSON, HJMGRichardson));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, HJ_GET_SYSTEM, HJMGGetSystem));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCHJMGInitializePackage(void)
{
  PetscFunctionBegin;
  PetscCall(PCRegister(PCHJMG, PCCreate_HJMG));
  PetscCall(PetscLogEventRegister("PCHJMGSetUp", PC_CLASSID, &PCHJMG_SetUp));
  PetscCall(PetscLogEventRegister("PCHJMGCycle", PC_CLASSID, &PCHJMG_Cycle));
  PetscFunctionReturn(PETSC_SUCCESS);
}

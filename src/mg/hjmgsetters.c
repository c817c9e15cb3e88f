/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Setters, getters and their manual pages.
*/
#include "hjmg.h"
#include "operator/hjmethods.h"

const char *const PCHJMGTransfers[]    = {"auto", "bilinear", "operator", "PCHJMGTransfer", "PC_HJMG_TRANSFER_", NULL};
const char *const PCHJMGSmoothers[]    = {"auto", "points", "lines", "PCHJMGSmoother", "PC_HJMG_SMOOTHER_", NULL};
const char *const PCHJMGPrecisions[]   = {"auto", "single", "double", "PCHJMGPrecision", "PC_HJMG_PRECISION_", NULL};
const char *const PCHJMGCoarseSolves[] = {"auto", "sweeps", "inverse", "PCHJMGCoarseSolve", "PC_HJMG_COARSE_SOLVE_", NULL};

/* The next use of the PC sets up anew what this change asks for */
static PetscErrorCode HJMGChanged(PC pc, HJMGChange change)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  mg->changed     = PetscMax(mg->changed, change);
  pc->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  PetscCall(HJMGChanged(pc, HJ_MG_CHANGED_WEIGHTS));
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
  mg->max_levels = n;
  PetscCall(HJMGChanged(pc, HJ_MG_CHANGED_GRIDS));
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
HJ_PUBLIC_SETTER(PCHJMGSetLevels, PetscInt, Int)

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
HJ_PUBLIC_GETTER(PCHJMGGetLevels, PetscInt)

HJ_WORD_METHODS(PCHJMG, Transfer, HJMG, transfer, PC_HJMG_TRANSFER_OPERATOR, HJMGChanged, HJ_MG_CHANGED_VALUES)

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

   Of several unknowns a point that are coupled it is bilinear, and `PC_HJMG_TRANSFER_OPERATOR` is an error.

.seealso: `PCHJMG`, `PCHJMGGetTransfer()`, `PCHJMGTransfer`
@*/
HJ_PUBLIC_SETTER(PCHJMGSetTransfer, PCHJMGTransfer, Enum)

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
HJ_PUBLIC_GETTER(PCHJMGGetTransfer, PCHJMGTransfer)

static PetscErrorCode PCHJMGSetRankPoints_HJMG(PC pc, PetscInt n)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  PetscCheck(n == PETSC_DECIDE || n >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "The number of points a rank %" PetscInt_FMT " must be at least 0, or PETSC_DECIDE", n);
  if (mg->rank_points == n) PetscFunctionReturn(PETSC_SUCCESS);
  mg->rank_points = n;
  PetscCall(HJMGChanged(pc, HJ_MG_CHANGED_GRIDS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HJ_FIELD_GETTER(PCHJMGGetRankPoints_HJMG, PC_HJMG, PetscInt, rank_points)

/*@
   PCHJMGSetRankPoints - Sets how many points a rank must have on a coarse grid, so that the grid stays on these ranks

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJMG`
-  n  - points a rank, at least 0. `PETSC_DECIDE` (default): 4096 on a CPU, 150000 on GPUs, where messages cost more than work

   Options Database Key:
.  -pc_hjmg_rank_points <n> - points a rank

   Level: advanced

   Note:
   A coarse grid with fewer points a rank, and all grids below it, are moved to as many ranks as have more points, down to one. The others
   wait. With 0 only grids whose ranks are too thin for a coarser one are moved. The finest grid stays where it is.

.seealso: `PCHJMG`, `PCHJMGGetRankPoints()`, `PCTELESCOPE`
@*/
HJ_PUBLIC_SETTER(PCHJMGSetRankPoints, PetscInt, Int)

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
HJ_PUBLIC_GETTER(PCHJMGGetRankPoints, PetscInt)

static PetscErrorCode PCHJMGSetGraph_HJMG(PC pc, PetscBool graph)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  if (mg->graph == graph) PetscFunctionReturn(PETSC_SUCCESS);
  mg->graph = graph;
  if (mg->nlevels) PetscCall(HJMGSetUpGraphs(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HJ_FIELD_GETTER(PCHJMGGetGraph_HJMG, PC_HJMG, PetscBool, graph)

/*@
   PCHJMGSetGraph - Sets whether a GPU is given a cycle as one CUDA graph

   Logically Collective

   Input Parameters:
+  pc    - the preconditioner, ignored if it is not `PCHJMG`
-  graph - whether, default `PETSC_TRUE`

   Options Database Key:
.  -pc_hjmg_graph <bool, default true> - cycles as graphs

   Level: advanced

   Notes:
   The launches of a cycle are recorded when the same two vectors come a second time, as they do in `KSPRICHARDSON` and `KSPCG`, and
   replayed from then on: a launch of a graph takes less time than its kernels one by one, which matters on small grids and on coarse
   levels. The results are the same. Other solvers bring other vectors each time; up to 1,000,000 points they are copied to and from two
   that stay.

   Cycles of several GPUs are recorded where halos travel by `ipc`, as they do between the GPUs of one host. Cycles are launched one by one
   on the CPU, where halos travel otherwise, where PETSc removes constants from the coarsest grid, where a level is smoothed by lines, and
   under `-pc_hjmg_log` and `-log_view_gpu_time`. `-ksp_view` says so.

.seealso: `PCHJMG`, `PCHJMGGetGraph()`
@*/
HJ_PUBLIC_SETTER(PCHJMGSetGraph, PetscBool, Bool)

/*@
   PCHJMGGetGraph - Gets whether a GPU is given a cycle as one CUDA graph

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJMG`

   Output Parameter:
.  graph - whether, where that can be

   Level: advanced

.seealso: `PCHJMG`, `PCHJMGSetGraph()`
@*/
HJ_PUBLIC_GETTER(PCHJMGGetGraph, PetscBool)

static PetscErrorCode PCHJMGSetLog_HJMG(PC pc, PetscBool log)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  if (mg->log == log) PetscFunctionReturn(PETSC_SUCCESS);
  mg->log = log;
  if (mg->nlevels) PetscCall(HJMGSetUpGraphs(pc)); /* which have no events inside */
  PetscFunctionReturn(PETSC_SUCCESS);
}

HJ_FIELD_GETTER(PCHJMGGetLog_HJMG, PC_HJMG, PetscBool, log)

/*@
   PCHJMGSetLog - Sets whether each level has events of its own in `-log_view`

   Logically Collective

   Input Parameters:
+  pc  - the preconditioner, ignored if it is not `PCHJMG`
-  log - whether, default `PETSC_FALSE`

   Options Database Key:
.  -pc_hjmg_log <bool, default false> - events of levels

   Level: intermediate

   Notes:
   Set-up of level 2 is HJMGSetUp 2, its part of cycles HJMGCycle 2; level 0 is the finest. On a GPU the cycles are then not launched as
   graphs, and the times are those of launches unless `-log_view_gpu_time` is given. Levels on fewer ranks learn of it in the next set-up.

.seealso: `PCHJMG`, `PCHJMGGetLog()`, `PCHJMGSetGraph()`
@*/
HJ_PUBLIC_SETTER(PCHJMGSetLog, PetscBool, Bool)

/*@
   PCHJMGGetLog - Gets whether each level has events of its own in `-log_view`

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJMG`

   Output Parameter:
.  log - whether

   Level: intermediate

.seealso: `PCHJMG`, `PCHJMGSetLog()`
@*/
HJ_PUBLIC_GETTER(PCHJMGGetLog, PetscBool)

/* Sweeps may need more grids */
HJ_WORD_METHODS(PCHJMG, CoarseSolve, HJMG, coarse, PC_HJMG_COARSE_SOLVE_INVERSE, HJMGChanged, HJ_MG_CHANGED_GRIDS)

/*@
   PCHJMGSetCoarseSolve - Sets how the coarsest grid is solved

   Logically Collective

   Input Parameters:
+  pc    - the preconditioner, ignored if it is not `PCHJMG`
-  solve - how, see `PCHJMGCoarseSolve`

   Options Database Key:
.  -pc_hjmg_coarse_solve <auto, sweeps, inverse> - how

   Level: advanced

   Notes:
   By the inverse of its matrix, where that has at most 1152 rows, all of them on one rank: on a GPU one launch, which takes less time
   than sweeps; on the CPU sweeps are as quick from 128 rows on, and set-up is quicker. `PC_HJMG_COARSE_SOLVE_AUTO` chooses so, and takes
   the inverse where no number of sweeps is known to solve, or the grid is small and needs very many. Where there is no good inverse, or the
   grid is larger or on several ranks, sweeps solve it whatever was asked for.

   On the CPU `PC_HJMG_COARSE_SOLVE_AUTO` takes PETSc's factors of a symmetric and definite matrix whose rows differ, if it has 351 to 1152
   of them. Where coefficients jump by much set-up tries whether cycles on coarse grids converge quickly. Where they do not, one of these
   grids is the coarsest, and is factored: in 2D with up to 4300 points or a fourteenth of those of the finest grid, in 3D up to 5000.

   With several unknowns a point that are coupled, cycles that set-up sees grow are given up for factors of the finest grid, if that has up
   to 20000 unknowns, whatever was asked for.

.seealso: `PCHJMG`, `PCHJMGCoarseSolve`, `PCHJMGGetCoarseSolve()`
@*/
HJ_PUBLIC_SETTER(PCHJMGSetCoarseSolve, PCHJMGCoarseSolve, Enum)

/*@
   PCHJMGGetCoarseSolve - Gets how the coarsest grid is to be solved

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJMG`

   Output Parameter:
.  solve - how, see `PCHJMGCoarseSolve`

   Level: advanced

.seealso: `PCHJMG`, `PCHJMGCoarseSolve`, `PCHJMGSetCoarseSolve()`
@*/
HJ_PUBLIC_GETTER(PCHJMGGetCoarseSolve, PCHJMGCoarseSolve)

static PetscErrorCode PCHJMGSetGalerkin_HJMG(PC pc, PetscBool galerkin)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  if (mg->galerkin == galerkin) PetscFunctionReturn(PETSC_SUCCESS);
  mg->galerkin = galerkin;
  PetscCall(HJMGChanged(pc, HJ_MG_CHANGED_GRIDS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HJ_FIELD_GETTER(PCHJMGGetGalerkin_HJMG, PC_HJMG, PetscBool, galerkin)

/*@
   PCHJMGSetGalerkin - Sets whether the operators of all coarse grids are Galerkin products

   Logically Collective

   Input Parameters:
+  pc       - the preconditioner, ignored if it is not `PCHJMG`
-  galerkin - whether, default `PETSC_FALSE`

   Options Database Key:
.  -pc_hjmg_galerkin <bool, default false> - Galerkin products, no stars

   Level: advanced

   Notes:
   Where the finest matrix is one star of 5 or 7 points for all of its grid, symmetric and with a row sum of 0, the products, of 9 or 27
   points, are summed into stars unless this is set: entries that lead to points in a direction are added to that direction's entry, and
   the centre keeps the row sum. That is the product with the masses of the other directions lumped. It is the five-point or seven-point
   difference on the coarse grid away from the boundary. In 2D the points at the boundary may have other diagonals, as where walls are at
   another distance than the spacing, or without a flux. Sweeps over stars take a fraction of the time. Other matrices have Galerkin
   products in any case.

.seealso: `PCHJMG`, `PCHJMGGetGalerkin()`
@*/
HJ_PUBLIC_SETTER(PCHJMGSetGalerkin, PetscBool, Bool)

/*@
   PCHJMGGetGalerkin - Gets whether the operators of all coarse grids are to be Galerkin products

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJMG`

   Output Parameter:
.  galerkin - whether

   Level: advanced

.seealso: `PCHJMG`, `PCHJMGSetGalerkin()`
@*/
HJ_PUBLIC_GETTER(PCHJMGGetGalerkin, PetscBool)

HJ_WORD_METHODS(PCHJMG, Smoother, HJMG, smoother, PC_HJMG_SMOOTHER_LINES, HJMGChanged, HJ_MG_CHANGED_GRIDS)

/*@
   PCHJMGSetSmoother - Sets what smooths before and after a correction

   Logically Collective

   Input Parameters:
+  pc       - the preconditioner, ignored if it is not `PCHJMG`
-  smoother - what, see `PCHJMGSmoother`

   Options Database Key:
.  -pc_hjmg_smoother <auto, points, lines> - what

   Level: intermediate

   Notes:
   A subiteration by lines is x <- x + w T^-1 (b - A x), T the tridiagonal part of the matrix along a direction. Its k subiterations
   (`PCHJMGSetK()`) are those along one direction; the directions that are strong at some of the points follow one another, and come in the
   other order after a correction, so that the cycle is symmetric. Weights come from a guaranteed bound of the eigenvalues of T^-1 A.

   `PC_HJMG_SMOOTHER_AUTO` takes lines on grids of 2 dimensions whose strong direction is another one in another part of the grid, by 10
   times and more; and in 3 dimensions along one direction that is strong alone in one part and weak in another, as between layers: that one
   is not coarsened then; and along all where the strong direction jumps from part to part, as between patches of fibres. No line may end at
   another rank. Elsewhere it takes points, and more subiterations where directions ask for them, which in 3D take less time than lines.

   Lines are for symmetric matrices: with others `PC_HJMG_SMOOTHER_LINES` is an error. They end where the points of another rank begin, and
   where a period closes: where couplings are strong across such an end there are several times as many iterations. A level on which T is
   not positive definite is smoothed by points. `-ksp_view` says which levels have lines.

.seealso: `PCHJMG`, `PCHJMGSmoother`, `PCHJMGGetSmoother()`
@*/
HJ_PUBLIC_SETTER(PCHJMGSetSmoother, PCHJMGSmoother, Enum)

/*@
   PCHJMGGetSmoother - Gets what is to smooth before and after a correction

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJMG`

   Output Parameter:
.  smoother - what, see `PCHJMGSmoother`

   Level: intermediate

.seealso: `PCHJMG`, `PCHJMGSmoother`, `PCHJMGSetSmoother()`
@*/
HJ_PUBLIC_GETTER(PCHJMGGetSmoother, PCHJMGSmoother)

HJ_WORD_METHODS(PCHJMG, Precision, HJMG, precision, PC_HJMG_PRECISION_DOUBLE, HJMGChanged, HJ_MG_CHANGED_WEIGHTS)

/*@
   PCHJMGSetPrecision - Sets the precision of what a cycle works with

   Logically Collective

   Input Parameters:
+  pc        - the preconditioner, ignored if it is not `PCHJMG`
-  precision - which, see `PCHJMGPrecision`

   Options Database Key:
.  -pc_hjmg_precision <auto, single, double> - precision inside cycles

   Level: intermediate

   Notes:
   With `PC_HJMG_PRECISION_SINGLE` the vectors and coefficients that a cycle works with are single: half the bytes, and twice as many
   numbers at once. The matrix, the right-hand side, the solution, its residual, which every cycle gets anew, and what set-up computes are
   double, as is the solve of the coarsest grid. So the solution is as exact as in double, after as many iterations or one more; where
   coefficients jump by 1e6 CG may take two more. A correction that is rounded leaves a residual, which grows with the square of the number
   of points in a direction: from 2049 on in 2D a solve takes one iteration more. The coefficients are kept in both precisions. It pays on a
   CPU, and on a GPU under CG with coefficients that vary in 3D; other cycles on a GPU take as long in double, which makes the residual on
   its way.

   This is for `KSPRICHARDSON`, `KSPHJRICHARDSON`, `KSPCG`, `KSPHJCG`, `KSPFCG`, `KSPFGMRES` and `KSPGCR`, whose norm type is not
   `KSP_NORM_NONE`. Other methods, such as `KSPGMRES`, combine what they take for products with one and the same preconditioner, which one
   that rounds is not: they would stop at a residual that is not there, and have cycles in double, as `PCApplyTranspose()` and whoever calls
   `PCApply()` without a `KSP` have.

   Cycles are double too with several unknowns a point that are coupled, with lines (`PCHJMGSetSmoother()`), on the levels on fewer ranks,
   where a number is out of the range of single ones, and where the entries of the diagonal of a grid differ by more than 1e7; on GPUs also
   between ranks, in periodic directions, and where the finest matrix has not 5 points in 2D or 7 in 3D. A solver whose residual does not
   fall in three cycles goes on in double. `-ksp_view` and `-info` say so.

   `PC_HJMG_PRECISION_AUTO` is single where that is quicker, the entries of a grid's diagonal differ by 1e4 at most, and rounding adds less
   than 0.003 of a residual to the next one: iterations are those of double then. On a CPU that is from 4000 points a rank on, up to some
   400 a direction in 2D (a solve takes 0.6 to 0.9 of the time); on a GPU for `KSPCG` and `KSPHJCG` alone, in 3D, with coefficients that
   vary and 4 million points or more.

   Where PETSc itself was configured with `--with-precision=single` all is single, and `PC_HJMG_PRECISION_DOUBLE` is an error.

.seealso: `PCHJMG`, `PCHJMGPrecision`, `PCHJMGGetPrecision()`
@*/
HJ_PUBLIC_SETTER(PCHJMGSetPrecision, PCHJMGPrecision, Enum)

/*@
   PCHJMGGetPrecision - Gets the precision that was asked for of what a cycle works with

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJMG`

   Output Parameter:
.  precision - which, see `PCHJMGPrecision`

   Level: intermediate

.seealso: `PCHJMG`, `PCHJMGPrecision`, `PCHJMGSetPrecision()`
@*/
HJ_PUBLIC_GETTER(PCHJMGGetPrecision, PCHJMGPrecision)

PetscErrorCode HJMGComposeSetters(PC pc, PetscBool on)
{
  static const HJMethod methods[] = {
    HJ_METHODS(PCHJMG, K, HJMG),           HJ_METHODS(PCHJMG, Levels, HJMG),   HJ_METHODS(PCHJMG, RankPoints, HJMG),
    HJ_METHODS(PCHJMG, Transfer, HJMG),    HJ_METHODS(PCHJMG, Graph, HJMG),    HJ_METHODS(PCHJMG, Log, HJMG),
    HJ_METHODS(PCHJMG, Galerkin, HJMG),    HJ_METHODS(PCHJMG, Smoother, HJMG), HJ_METHODS(PCHJMG, Precision, HJMG),
    HJ_METHODS(PCHJMG, CoarseSolve, HJMG),
  };

  PetscFunctionBegin;
  PetscCall(HJMethodsCompose(pc, PETSC_STATIC_ARRAY_LENGTH(methods), methods, on));
  PetscFunctionReturn(PETSC_SUCCESS);
}

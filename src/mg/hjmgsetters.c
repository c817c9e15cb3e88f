/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Setters and getters that say how a cycle runs, and their manual pages. Those that say which cycle it is are in hjmg.c.
*/
#include "hjmg.h"

const char *const PCHJMGSmoothers[]    = {"auto", "points", "lines", "PCHJMGSmoother", "PC_HJMG_SMOOTHER_", NULL};
const char *const PCHJMGPrecisions[]   = {"auto", "single", "double", "PCHJMGPrecision", "PC_HJMG_PRECISION_", NULL};
const char *const PCHJMGCoarseSolves[] = {"auto", "sweeps", "inverse", "PCHJMGCoarseSolve", "PC_HJMG_COARSE_SOLVE_", NULL};

static PetscErrorCode PCHJMGSetGraph_HJMG(PC pc, PetscBool graph)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  if (mg->graph == graph) PetscFunctionReturn(PETSC_SUCCESS);
  mg->graph = graph;
  if (mg->nlevels) PetscCall(HJMGSetUpGraphs(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGGetGraph_HJMG(PC pc, PetscBool *graph)
{
  PetscFunctionBegin;
  *graph = ((PC_HJMG *)pc->data)->graph;
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
PetscErrorCode PCHJMGSetGraph(PC pc, PetscBool graph)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, graph, 2);
  PetscTryMethod(pc, "PCHJMGSetGraph_C", (PC, PetscBool), (pc, graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
PetscErrorCode PCHJMGGetGraph(PC pc, PetscBool *graph)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  HJCheckPointer(graph, 2);
  PetscUseMethod(pc, "PCHJMGGetGraph_C", (PC, PetscBool *), (pc, graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGSetLog_HJMG(PC pc, PetscBool log)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  if (mg->log == log) PetscFunctionReturn(PETSC_SUCCESS);
  mg->log = log;
  if (mg->nlevels) PetscCall(HJMGSetUpGraphs(pc)); /* which have no events inside */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGGetLog_HJMG(PC pc, PetscBool *log)
{
  PetscFunctionBegin;
  *log = ((PC_HJMG *)pc->data)->log;
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
PetscErrorCode PCHJMGSetLog(PC pc, PetscBool log)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, log, 2);
  PetscTryMethod(pc, "PCHJMGSetLog_C", (PC, PetscBool), (pc, log));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
PetscErrorCode PCHJMGGetLog(PC pc, PetscBool *log)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  HJCheckPointer(log, 2);
  PetscUseMethod(pc, "PCHJMGGetLog_C", (PC, PetscBool *), (pc, log));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGSetCoarseSolve_HJMG(PC pc, PCHJMGCoarseSolve solve)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  PetscCheck((int)solve >= 0 && solve <= PC_HJMG_COARSE_SOLVE_INVERSE, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Unknown value %d; see the manual page of PCHJMGSetCoarseSolve()", (int)solve);
  if (mg->coarse == solve) PetscFunctionReturn(PETSC_SUCCESS);
  mg->coarse      = solve;
  mg->changed     = HJ_MG_CHANGED_GRIDS; /* sweeps may need more of them */
  pc->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGGetCoarseSolve_HJMG(PC pc, PCHJMGCoarseSolve *solve)
{
  PetscFunctionBegin;
  *solve = ((PC_HJMG *)pc->data)->coarse;
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

.seealso: `PCHJMG`, `PCHJMGCoarseSolve`, `PCHJMGGetCoarseSolve()`
@*/
PetscErrorCode PCHJMGSetCoarseSolve(PC pc, PCHJMGCoarseSolve solve)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, solve, 2);
  PetscTryMethod(pc, "PCHJMGSetCoarseSolve_C", (PC, PCHJMGCoarseSolve), (pc, solve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
PetscErrorCode PCHJMGGetCoarseSolve(PC pc, PCHJMGCoarseSolve *solve)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  HJCheckPointer(solve, 2);
  PetscUseMethod(pc, "PCHJMGGetCoarseSolve_C", (PC, PCHJMGCoarseSolve *), (pc, solve));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGSetGalerkin_HJMG(PC pc, PetscBool galerkin)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  if (mg->galerkin == galerkin) PetscFunctionReturn(PETSC_SUCCESS);
  mg->galerkin    = galerkin;
  mg->changed     = HJ_MG_CHANGED_GRIDS;
  pc->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGGetGalerkin_HJMG(PC pc, PetscBool *galerkin)
{
  PetscFunctionBegin;
  *galerkin = ((PC_HJMG *)pc->data)->galerkin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
PetscErrorCode PCHJMGSetGalerkin(PC pc, PetscBool galerkin)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveBool(pc, galerkin, 2);
  PetscTryMethod(pc, "PCHJMGSetGalerkin_C", (PC, PetscBool), (pc, galerkin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
PetscErrorCode PCHJMGGetGalerkin(PC pc, PetscBool *galerkin)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  HJCheckPointer(galerkin, 2);
  PetscUseMethod(pc, "PCHJMGGetGalerkin_C", (PC, PetscBool *), (pc, galerkin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGSetSmoother_HJMG(PC pc, PCHJMGSmoother smoother)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  PetscCheck((int)smoother >= 0 && smoother <= PC_HJMG_SMOOTHER_LINES, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Unknown value %d; see the manual page of PCHJMGSetSmoother()", (int)smoother);
  if (mg->smoother == smoother) PetscFunctionReturn(PETSC_SUCCESS);
  mg->smoother    = smoother;
  mg->changed     = HJ_MG_CHANGED_GRIDS;
  pc->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGGetSmoother_HJMG(PC pc, PCHJMGSmoother *smoother)
{
  PetscFunctionBegin;
  *smoother = ((PC_HJMG *)pc->data)->smoother;
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
   is not coarsened then. No line may end at another rank. Elsewhere it takes points, and more subiterations where directions ask for them,
   which in 3D take less time than lines along all directions.

   Lines are for symmetric matrices: with others `PC_HJMG_SMOOTHER_LINES` is an error. They end where the points of another rank begin, and
   where a period closes: where couplings are strong across such an end there are several times as many iterations. A level on which T is
   not positive definite is smoothed by points. `-ksp_view` says which levels have lines.

.seealso: `PCHJMG`, `PCHJMGSmoother`, `PCHJMGGetSmoother()`
@*/
PetscErrorCode PCHJMGSetSmoother(PC pc, PCHJMGSmoother smoother)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, smoother, 2);
  PetscTryMethod(pc, "PCHJMGSetSmoother_C", (PC, PCHJMGSmoother), (pc, smoother));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
PetscErrorCode PCHJMGGetSmoother(PC pc, PCHJMGSmoother *smoother)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  HJCheckPointer(smoother, 2);
  PetscUseMethod(pc, "PCHJMGGetSmoother_C", (PC, PCHJMGSmoother *), (pc, smoother));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGSetPrecision_HJMG(PC pc, PCHJMGPrecision precision)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  PetscCheck((int)precision >= 0 && precision <= PC_HJMG_PRECISION_DOUBLE, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Unknown value %d; see the manual page of PCHJMGSetPrecision()", (int)precision);
  if (mg->precision == precision) PetscFunctionReturn(PETSC_SUCCESS);
  mg->precision   = precision;
  mg->changed     = PetscMax(mg->changed, HJ_MG_CHANGED_WEIGHTS);
  pc->setupcalled = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJMGGetPrecision_HJMG(PC pc, PCHJMGPrecision *precision)
{
  PetscFunctionBegin;
  *precision = ((PC_HJMG *)pc->data)->precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
   coefficients jump by 1e6 CG may take two more. The coefficients are kept in both precisions.

   This is for `KSPRICHARDSON`, `KSPHJRICHARDSON`, `KSPCG`, `KSPHJCG`, `KSPFCG`, `KSPFGMRES` and `KSPGCR`, whose norm type is not
   `KSP_NORM_NONE`. Other methods, such as `KSPGMRES`, combine what they take for products with one and the same preconditioner, which one
   that rounds is not: they would stop at a residual that is not there, and have cycles in double, as `PCApplyTranspose()` and whoever calls
   `PCApply()` without a `KSP` have.

   Cycles are double too with several unknowns a point, with lines (`PCHJMGSetSmoother()`), on the levels on fewer ranks, where a number is
   out of the range of single ones, and where the entries of the diagonal of a grid differ by more than 1e7; on GPUs also between ranks, in
   periodic directions, and where the finest matrix has not 5 points in 2D or 7 in 3D. A solver whose residual does not fall in three cycles
   goes on in double. `-ksp_view` and `-info` say so.

   `PC_HJMG_PRECISION_AUTO` is double.

.seealso: `PCHJMG`, `PCHJMGPrecision`, `PCHJMGGetPrecision()`
@*/
PetscErrorCode PCHJMGSetPrecision(PC pc, PCHJMGPrecision precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveEnum(pc, precision, 2);
  PetscTryMethod(pc, "PCHJMGSetPrecision_C", (PC, PCHJMGPrecision), (pc, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
PetscErrorCode PCHJMGGetPrecision(PC pc, PCHJMGPrecision *precision)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  HJCheckPointer(precision, 2);
  PetscUseMethod(pc, "PCHJMGGetPrecision_C", (PC, PCHJMGPrecision *), (pc, precision));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGComposeHow(PC pc, PetscBool on)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGSetGraph_C", on ? PCHJMGSetGraph_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGGetGraph_C", on ? PCHJMGGetGraph_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGSetLog_C", on ? PCHJMGSetLog_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGGetLog_C", on ? PCHJMGGetLog_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGSetGalerkin_C", on ? PCHJMGSetGalerkin_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGGetGalerkin_C", on ? PCHJMGGetGalerkin_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGSetSmoother_C", on ? PCHJMGSetSmoother_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGGetSmoother_C", on ? PCHJMGGetSmoother_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGSetPrecision_C", on ? PCHJMGSetPrecision_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGGetPrecision_C", on ? PCHJMGGetPrecision_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGSetCoarseSolve_C", on ? PCHJMGSetCoarseSolve_HJMG : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCHJMGGetCoarseSolve_C", on ? PCHJMGGetCoarseSolve_HJMG : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSetFromOptionsHow(PC pc, HJOptionItems PetscOptionsObject)
{
  PC_HJMG          *mg    = (PC_HJMG *)pc->data;
  PetscBool         graph = mg->graph, log = mg->log, galerkin = mg->galerkin, flg;
  PCHJMGCoarseSolve coarse    = mg->coarse;
  PCHJMGSmoother    smoother  = mg->smoother;
  PCHJMGPrecision   precision = mg->precision;

  PetscFunctionBegin;
  PetscCall(PetscOptionsEnum("-pc_hjmg_precision", "Precision inside cycles", "PCHJMGSetPrecision", PCHJMGPrecisions, (PetscEnum)precision,
                             (PetscEnum *)&precision, &flg));
  if (flg) PetscCall(PCHJMGSetPrecision(pc, precision));
  PetscCall(PetscOptionsEnum("-pc_hjmg_smoother", "What smooths", "PCHJMGSetSmoother", PCHJMGSmoothers, (PetscEnum)smoother,
                             (PetscEnum *)&smoother, &flg));
  if (flg) PetscCall(PCHJMGSetSmoother(pc, smoother));
  PetscCall(PetscOptionsBool("-pc_hjmg_graph", "Cycles as graphs on a GPU", "PCHJMGSetGraph", graph, &graph, &flg));
  if (flg) PetscCall(PCHJMGSetGraph(pc, graph));
  PetscCall(PetscOptionsBool("-pc_hjmg_log", "Events of each level for -log_view", "PCHJMGSetLog", log, &log, &flg));
  if (flg) PetscCall(PCHJMGSetLog(pc, log));
  PetscCall(PetscOptionsBool("-pc_hjmg_galerkin", "Galerkin products on all coarse grids", "PCHJMGSetGalerkin", galerkin, &galerkin, &flg));
  if (flg) PetscCall(PCHJMGSetGalerkin(pc, galerkin));
  PetscCall(PetscOptionsEnum("-pc_hjmg_coarse_solve", "How the coarsest grid is solved", "PCHJMGSetCoarseSolve", PCHJMGCoarseSolves,
                             (PetscEnum)coarse, (PetscEnum *)&coarse, &flg));
  if (flg) PetscCall(PCHJMGSetCoarseSolve(pc, coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The type: creation, options, registration.
*/
#include "hjmg.h"

/* Those that say how a cycle runs */
static PetscErrorCode HJMGSetFromOptionsHow(PC pc, HJOptionItems PetscOptionsObject)
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
  if (mg->system) PetscCall(HJMGSystemPreSolve(mg->system, ksp, PETSC_FALSE));
  PetscCall(HJMGSingleSuits(mg, ksp, &mg->flexible));
  if (mg->flexible) PetscCall(HJMGSingleSetUpLater(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCPostSolve_HJMG(PC pc, KSP ksp, Vec b, Vec x)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  mg->ksp      = NULL;
  mg->flexible = PETSC_FALSE;
  if (mg->system) PetscCall(HJMGSystemPreSolve(mg->system, ksp, PETSC_TRUE));
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
  PetscCall(HJMGComposeSetters(pc, PETSC_FALSE));
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

   Where a point has several unknowns the matrix is a `MATHJSTENCIL`, AIJ or BAIJ. Where no component has an entry in another one's columns,
   as the values say, each is preconditioned as one unknown a point, with all that follows: in cycles of its own, on vectors that are taken
   apart once and put together once. It keeps a copy of its rows; components with the same coefficients have one, and one hierarchy. As the
   solver all take turns, as the KSP tests the residual of all: in rotated cycles (below) where none has known layers or scaled rows.

   Else `PCMG` runs the cycle, on grids that are coarsened as
   those of one unknown; a direction is as strong as in the component that is coupled least in it. Each component is interpolated
   bilinearly, coarse operators are `MatPtAP()`, smoothers `PCHJACOBI` with `k` of `-pc_hjmg_k` (4, and with convection no more than are
   safe), and the coarsest grid is factored, with a larger diagonal where it is singular but for rounding. Set-up tries two cycles, but
   with `MAT_SPD`: where they grow, as with much convection, there is the finest grid alone, which is factored, if it has at most 20,000
   unknowns. Where such a matrix of up to 8 unknowns a point lies on a GPU the cycle is done there, and set-up too; of AIJ matrices rows are
   read on the CPU. The prefix of these parts is that of the preconditioner followed by `pc_hjmg_`; of the options above those of levels and
   of the coarsest grid apply as well. A row that is coupled to other points and has no diagonal, as in a saddle point, is an error: use
   `PCFIELDSPLIT` with one `PCHJMG` a field.

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
   points, leaves out of coarsening what is weak at most of them, and has more subiterations, or lines (`PCHJMGSetSmoother()`), with which
   cycles are no CUDA graph. On the CPU it has more where the strong direction of bilinear elements in 2D lies between x and y.

   The coarsest grid is solved by sweeps that leave a hundredth of the error, by its factors, or by its inverse (`PCHJMGSetCoarseSolve()`),
   which may be the finest grid where it has few points. Null spaces need not be told: constants that were told (`MatSetNullSpace()`) are
   removed, and a grid of up to 350 points that is singular but for rounding is solved by its pseudoinverse.

   Each coarser grid doubles the share of convection in a row. Levels on which a polynomial would grow have subiterations of equal weights,
   after corrections alone, an interpolation from the rows of their own matrix, which takes values from upstream, and are visited twice from
   the level above; `-ksp_view` names them. With GMRES iterations then hardly grow with the Peclet number; where streamlines are closed they
   are some tens. Where something flows inside parts that are strong beside what couples them, in 2D and 3D, set-up sees corrections that
   are many times too large, and there is smoothing before them too; where that does not help either the finest grid alone is factored, on
   the CPU and if it has at most 20,000 points. In 1D interpolation is exact, and residuals are restricted by the
   columns of the matrix. Where `-pc_hjmg_k` or a bilinear transfer is asked for such levels have as many subiterations as do not grow, and
   a grid on which none is safe is not made. With much convection take upwind differences: central ones then have few levels.

   Under `KSPHJRICHARDSON` with `KSP_NORM_UNPRECONDITIONED`, and under `KSPRICHARDSON` without a monitor or a null space, cycles are
   rotated: the smoothing after the correction of one cycle and before that of the next are one list of subiterations, and the norm comes
   with the residual that the next cycle restricts. The solution is that of the cycles and the smoothing before the correction of one
   more. In 3D rotated cycles of symmetric matrices have no smoothing before corrections on coarse grids, unless `-pc_hjmg_k` sets `k` or a
   direction is not coarsened.

   Where all rows of the outermost layers of the grid are a diagonal alone, of any value, as those of Dirichlet points are, their unknowns
   are `b / d`, and the grids are those of the points inside, whether these rows' columns are kept or eliminated; level 0 is then a copy of
   the matrix. On one rank cycles run on the points inside of the vectors themselves, on a GPU where these have one row; else on copies of
   them. Elsewhere rows that are a diagonal alone should have one of about the size of the other rows', or their columns
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
   stay what they were. Unknowns of boundary rows, as above, are always `b / d` of the new values. What is solved is the system of the new
   values in any case; where they are several times the old ones, set up again.

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
  mg->ngraphs          = HJ_MG_GRAPHS;
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
  PetscCall(HJMGComposeSetters(pc, PETSC_TRUE));
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

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   A smoother by lines: subiterations x <- x + w T^-1 (b - A x), T the tridiagonal part of A along a direction, some of a direction after
   those of another one. Decides which levels have it, and in which directions.
*/
#include "hjmg.h"
#include "core/hjlines.h"

struct _n_HJMGLines {
  const HJBackendOps *ops;
  PetscInt            n; /* directions */
  HJLines             along[3];
  PetscReal           bound[3]; /* of the eigenvalues of T^-1 A */
  HJWeights           w[3];
  PetscScalar        *work;
};

/* Subiterations along a direction, before and after a correction, by dimension: with 1 in 2D CG takes 6 iterations where the strong
   direction turns by 1e3, with 2 it takes 4 in more time. Where a direction is split its lines alone smooth, and there are more */
static const PetscInt HJMGLinesK[3] = {1, 1, 2};
#define HJ_MG_LINES_K_SPLIT 8
/*
   Where HJCoarsenTurns() is at least so much lines take less time than the subiterations of points that do as well, in 2D everywhere. In 3D
   points do where the strong direction turns slowly (65^3: 3 iterations for 10 with contrasts up to 1e6), or the spacing grows, but not
   where coefficients jump on the next grid too: patches of 16 points a side whose strong directions differ by 1e2, 1e3, 1e4 and 1e6 take 9,
   16, 25 and 27 iterations by lines in 0.9, 0.4, 0.2 and 0.09 of the time of 7, 11, 34 and 91 by points
*/
#define HJ_MG_LINES_TURNS    1.0
#define HJ_MG_LINES_TURNS_3D 2.0
#define HJ_MG_LINES_JUMP_3D  0.7

PetscErrorCode HJMGLinesDestroy(HJMGLines *lines)
{
  HJMGLines l = *lines;

  PetscFunctionBegin;
  if (!l) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < l->n; i++) {
    PetscCall(l->ops->multigrid->lines_destroy(&l->along[i]));
    PetscCall(HJWeightsReset(&l->w[i]));
  }
  PetscCall(l->ops->free(NULL, &l->work));
  PetscCall(PetscFree(l));
  *lines = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a direction is split, and not coarsened for that */
static PetscBool HJMGLinesIsSplit(const HJMGLevel *level)
{
  const HJCoarsening *c = &level->coarsening;

  return (PetscBool)(c->split >= 0 && c->factor[c->split] == 1);
}

/* Directions are smoothed by lines where they are strong alone at a larger share of the points */
#define HJ_MG_LINES_SHARE 0.01

/* The direction that is split, where it is not coarsened; else those that are strong alone somewhere, or all where none is */
static PetscInt HJMGLinesDirections(const HJMGLevel *level, PetscInt d[3])
{
  const HJGrid          *grid = &level->op->grid;
  const HJMeasureRatios *r    = &level->coarsening.ratios;
  PetscInt               n    = 0;

  if (HJMGLinesIsSplit(level)) d[n++] = level->coarsening.split;
  for (PetscInt e = 0; e < grid->dim && !HJMGLinesIsSplit(level); e++)
    if (grid->N[e] > 1 && r->alone[e] > HJ_MG_LINES_SHARE * r->points) d[n++] = e;
  if (n) return n;
  for (PetscInt e = 0; e < grid->dim; e++)
    if (grid->N[e] > 1) d[n++] = e;
  return n;
}

/* Whether lines may smooth a level. Where they would end at other ranks, or where a period closes, the strong couplings that they leave out
   there take 4 times as many iterations, and auto takes points */
static PetscBool HJMGLinesMay(const PC_HJMG *mg, const HJMGLevel *level)
{
  if (level->skew > HJ_MG_SKEW || mg->smoother == PC_HJMG_SMOOTHER_POINTS) return PETSC_FALSE;
  return (PetscBool)(mg->smoother == PC_HJMG_SMOOTHER_LINES || (!mg->nk && !HJGridHasNeighbors(&level->op->grid)));
}

/* Whether they are to. The last grid has no interpolation that could say whether coefficients jump */
static PetscBool HJMGLinesWanted(const PC_HJMG *mg, const HJMGLevel *level)
{
  const PetscReal  turns = HJCoarsenTurns(&level->coarsening);
  const HJMGLevel *next  = level + 2 < mg->level + mg->nlevels ? level + 1 : level;

  if (!HJMGLinesMay(mg, level)) return PETSC_FALSE;
  if (mg->smoother == PC_HJMG_SMOOTHER_LINES || HJMGLinesIsSplit(level)) return PETSC_TRUE;
  if (level->op->grid.dim == 2) return (PetscBool)(turns >= HJ_MG_LINES_TURNS);
  return (PetscBool)(level->op->grid.dim == 3 && turns >= HJ_MG_LINES_TURNS_3D && next->jump >= HJ_MG_LINES_JUMP_3D);
}

PetscErrorCode HJMGLinesSplit(const PC_HJMG *mg, HJMGLevel *level, HJCoarsening *c)
{
  PetscFunctionBegin;
  PetscCall(HJMGFindSkew(mg, level));
  if (HJMGLinesMay(mg, level)) HJCoarsenAcrossSplit(&level->op->grid, c);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A bound of the eigenvalues of T^-1 A where A is symmetric and not negative: if the lines have p colours, and no two lines of a colour are
   coupled, A is at most p times the blocks of the colours, which are T. Stars have 2, boxes 2 for each direction across, 3 where a period
   is an odd number of points, and twice as many where lines are cut into the parts of ranks. Where a line closes to a period A has more in
   its block than T
*/
static PetscReal HJMGLinesColours(const HJMGLevel *level, PetscInt d)
{
  const HJGrid *grid    = &level->op->grid;
  PetscReal     product = 1.0, most = 1.0, parts = HJGridHasNeighbors(grid) ? 2.0 : 1.0;

  if (grid->periodic[d]) return PETSC_MAX_REAL;
  for (PetscInt e = 0; e < grid->dim; e++) {
    const PetscReal colours = grid->periodic[e] && grid->N[e] % 2 ? 3.0 : 2.0;

    if (grid->N[e] == 1 || e == d) continue;
    product *= colours;
    most = PetscMax(most, colours);
  }
  return parts * (level->op->stencil->shape == HJ_BOX ? product : most);
}

static PetscErrorCode HJMGLinesMake(const PC_HJMG *mg, HJMGLevel *level, PetscInt n, const PetscInt d[3])
{
  const HJBackendOps   *ops = level->op->ops;
  const HJCoefficients *a;
  HJMGLines             l;
  PetscInt              longest = 0;

  PetscFunctionBegin;
  PetscCall(PetscNew(&l));
  level->lines = l;
  l->ops       = ops;
  PetscCall(HJCoefficientsIn(level->A, ops->mtype, &a));
  for (; l->n < n; l->n++) {
    PetscReal *bound = &l->bound[l->n];
    HJWeights *w     = &l->w[l->n];

    PetscCall(ops->multigrid->lines_create(&level->op->grid, d[l->n], &l->along[l->n]));
    PetscCall(ops->multigrid->lines_factor(&level->op->grid, a, &l->along[l->n], bound));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, bound, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)level->da)));
    if (mg->definite && *bound < PETSC_MAX_REAL) *bound = PetscMin(*bound, HJMGLinesColours(level, d[l->n]));
    longest = PetscMax(longest, HJBoxWidth(&level->op->grid.owned, (int)d[l->n]));
    w->k    = mg->nk                    ? mg->k[PetscMin(mg->base + (PetscInt)(level - mg->level), mg->nk - 1)]
              : HJMGLinesIsSplit(level) ? HJ_MG_LINES_K_SPLIT
                                        : HJMGLinesK[level->op->grid.dim - 1];
    PetscCall(PetscMalloc1(w->k, &w->w));
    PetscCall(HJScheduleFill(PetscObjectComm((PetscObject)level->da), PC_HJACOBI_SCHEDULE_CHEBYSHEV4, w->k, *bound / 11, *bound, 1, w->w));
  }
  PetscCall(ops->alloc(NULL, (PetscCount)longest * HJ_LINES_ABREAST, &l->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGLinesSetUp(const PC_HJMG *mg, HJMGLevel *level)
{
  PetscInt  d[3], n;
  PetscBool good = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(HJMGLinesDestroy(&level->lines));
  PetscCheck(mg->smoother != PC_HJMG_SMOOTHER_LINES || level->skew <= HJ_MG_SKEW, PetscObjectComm((PetscObject)level->da), PETSC_ERR_SUP,
             "PCHJMG smooths symmetric matrices alone by lines: leave -pc_hjmg_smoother lines out");
  if (!HJMGLinesWanted(mg, level)) PetscFunctionReturn(PETSC_SUCCESS);
  n = HJMGLinesDirections(level, d);
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGLinesMake(mg, level, n, d));
  for (PetscInt i = 0; i < n; i++) good = (PetscBool)(good && level->lines->bound[i] < PETSC_MAX_REAL);
  if (!good) PetscCall(HJMGLinesDestroy(&level->lines));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Along one direction; r: for residuals */
static PetscErrorCode HJMGLinesAlong(HJMGLines l, PetscInt i, Mat A, PetscBool zero, Vec b, Vec x, Vec r)
{
  const PetscLogDouble flops = 7.0 * (PetscLogDouble)l->along[i].size;
  HJVecArray           rv, xv;
  PetscBool            first;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < l->w[i].k; j++) {
    first = (PetscBool)(zero && !j);
    if (!first) PetscCall(MatResidual(A, b, x, r));
    PetscCall(HJVecOpen(l->ops, NULL, first ? HJ_READ : HJ_READ_WRITE, first ? b : r, NULL, &rv));
    PetscCall(HJVecOpen(l->ops, NULL, first ? HJ_WRITE : HJ_READ_WRITE, x, NULL, &xv));
    PetscCall(l->ops->multigrid->lines_solve(&l->along[i], l->w[i].w[j], first, rv.used, l->work, xv.used));
    PetscCall(HJVecClose(&xv));
    PetscCall(HJVecClose(&rv));
    PetscCall(HJLogFlops(l->ops, flops));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGLinesRun(HJMGLines l, Mat A, PetscBool after, PetscBool zero, Vec b, Vec x, Vec r)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < l->n; i++) PetscCall(HJMGLinesAlong(l, after ? l->n - 1 - i : i, A, (PetscBool)(zero && !i), b, x, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJMGHasLines(const PC_HJMG *mg)
{
  for (PetscInt l = 0; l < mg->nlevels; l++)
    if (mg->level[l].lines) return PETSC_TRUE;
  return PETSC_FALSE;
}

PetscReal HJMGLinesBytes(HJMGLines l)
{
  PetscReal n = 0.0;

  for (PetscInt i = 0; l && i < l->n; i++) n += 2.0 * (PetscReal)l->along[i].size;
  return n * sizeof(PetscScalar);
}

PetscErrorCode HJMGLinesView(const HJMGLevel *level, PetscViewer viewer)
{
  const HJMGLines l = level->lines;

  PetscFunctionBegin;
  if (!l) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPrintf(viewer, "smoothed by lines along"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  for (PetscInt i = 0; i < l->n; i++)
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s %c, k = %" PetscInt_FMT ", eigenvalues up to %g", i ? ";" : "", "xyz"[l->along[i].d],
                                     l -> w[i].k, (double)l->bound[i]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The cycle of PCMG on the levels of a matrix with several unknowns a point, of one rank on a GPU, as launches of this library alone, so
   that it can be recorded as a graph: smoothers, residuals and the solver of the coarsest grid are PCMG's own. Decides whether PCMG's cycle
   is one that it can do, and when it is recorded.
*/
#include "hjmgsystem.h"

typedef struct {
  PC  smoother; /* PCHJACOBI; of the coarsest grid its solver */
  Mat A, P;     /* P: to this grid from the next coarser one; NULL on the coarsest */
  Vec b, x, r;
} HJMGCycleLevel;

struct _n_HJMGSystemCycle {
  const HJArrayOps *ops;
  PetscInt          nlevels; /* finest first */
  HJMGCycleLevel    level[HJ_MG_MAX_LEVELS];
  HJGraph           graph;
  PetscInt          applied; /* since the graph was made, or forgotten */
  PetscLogDouble    flops;
  const char       *not_recorded; /* NULL: it is, from the second time on */
};

const char *HJMGSystemCycleNotRecorded(const HJMGSystemCycle c)
{
  return c->not_recorded;
}

/* Whether a level of PCMG is smoothed by one cycle of PCHJACOBI alone, whatever options have made of it */
static PetscErrorCode HJMGSystemIsPlain(KSP ksp, PetscBool *plain)
{
  PetscInt    its;
  KSPNormType norm;
  PetscBool   richardson, hjacobi;
  PC          pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPRICHARDSON, &richardson));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCHJACOBI, &hjacobi));
  PetscCall(KSPGetTolerances(ksp, NULL, NULL, NULL, &its));
  PetscCall(KSPGetNormType(ksp, &norm));
  *plain = (PetscBool)(richardson && hjacobi && its == 1 && norm == KSP_NORM_NONE);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of all levels, and of the coarsest whether it is solved by one call of its preconditioner */
static PetscErrorCode HJMGSystemSuitsCycle(PC mg, PetscInt nlevels, PetscBool *suits)
{
  KSP       ksp;
  PetscBool lu;
  PC        pc;

  PetscFunctionBegin;
  *suits = (PetscBool)(nlevels > 1);
  for (PetscInt l = 1; l < nlevels && *suits; l++) {
    PetscCall(PCMGGetSmoother(mg, l, &ksp));
    PetscCall(HJMGSystemIsPlain(ksp, suits));
  }
  if (!*suits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCMGGetCoarseSolve(mg, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCLU, &lu));
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPPREONLY, suits));
  *suits = (PetscBool)(*suits && lu);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGCycleLevelCreate(Mat A, Mat P, HJMGCycleLevel *level)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)A));
  level->A = A;
  PetscCall(MatCreateVecs(A, &level->x, &level->b));
  if (!P) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDuplicate(level->b, &level->r));
  PetscCall(PetscObjectReference((PetscObject)P));
  level->P = P;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSystemCycleCreate(const HJBackendOps *ops, PC mg, PetscInt nlevels, const Mat A[], const Mat P[], HJMGSystemCycle *cycle)
{
  HJMGSystemCycle c;
  PetscBool       suits;

  PetscFunctionBegin;
  *cycle = NULL;
  PetscCall(HJMGSystemSuitsCycle(mg, nlevels, &suits));
  if (!suits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&c));
  *cycle     = c;
  c->ops     = HJArraysIn(ops->mtype);
  c->nlevels = nlevels;
  for (PetscInt l = 0; l < nlevels; l++) {
    KSP ksp;

    PetscCall(HJMGCycleLevelCreate(A[l], l < nlevels - 1 ? P[l] : NULL, &c->level[l]));
    PetscCall(PCMGGetSmoother(mg, nlevels - 1 - l, &ksp));
    PetscCall(KSPGetPC(ksp, &c->level[l].smoother));
    PetscCall(PetscObjectReference((PetscObject)c->level[l].smoother));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether what travels across periods of a level does so by launches of this library */
static PetscErrorCode HJMGCycleTravels(const HJMGSystemCycle c, const HJMGCycleLevel *level, PetscBool smoothed, PetscBool *recorded)
{
  PetscErrorCode (*get)(Mat, const HJBackendOps *, HJExchange *);
  PCHJacobiExchange asked = PC_HJACOBI_EXCHANGE_AUTO;
  HJExchange        exchange;
  HJGrid            grid;
  DM                da;

  PetscFunctionBegin;
  PetscCall(MatGetDM(level->A, &da));
  PetscCall(HJGridCreate(da, &grid));
  if (!HJGridHasNeighbors(&grid)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectQueryFunction((PetscObject)level->A, HJ_GET_EXCHANGE, &get));
  PetscCall((*get)(level->A, c->ops->backend, &exchange));
  if (smoothed) PetscCall(PCHJacobiGetExchange(level->smoother, &asked));
  if (!exchange.ops->cycle || asked == PC_HJACOBI_EXCHANGE_PETSCSF) *recorded = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc itself starts, or does on the CPU, meanwhile would be missing in a graph */
static PetscErrorCode HJMGCycleFindObstacle(HJMGSystemCycle c)
{
  const PetscInt last     = c->nlevels - 1;
  PetscBool      recorded = PETSC_TRUE;
  void (*inverse)(void)   = NULL;
  Mat factors             = NULL;

  PetscFunctionBegin;
  for (PetscInt l = 0; l <= last; l++) PetscCall(HJMGCycleTravels(c, &c->level[l], (PetscBool)(l < last), &recorded));
  if (!recorded) c->not_recorded = "values travel between periodic ends, and not by ipc";
  PetscCall(PCFactorGetMatrix(c->level[last].smoother, &factors));
  if (factors) PetscCall(PetscObjectQueryFunction((PetscObject)factors, HJ_SOLVES_BY_INVERSE, &inverse));
  if (!inverse) c->not_recorded = "the coarsest grid is solved on the CPU";
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGCycleForget(HJMGSystemCycle c)
{
  PetscFunctionBegin;
  if (c->graph) PetscCall(c->ops->backend->multigrid->graph_destroy(&c->graph));
  c->applied      = 0;
  c->not_recorded = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSystemCycleRenew(HJMGSystemCycle c, PetscBool record)
{
  PetscFunctionBegin;
  PetscCall(HJMGCycleForget(c));
  if (!record) c->not_recorded = "asked for";
  else PetscCall(HJMGCycleFindObstacle(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSystemCycleDestroy(HJMGSystemCycle *cycle)
{
  HJMGSystemCycle c = *cycle;

  PetscFunctionBegin;
  if (!c) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGCycleForget(c));
  for (HJMGCycleLevel *level = c->level; level < c->level + c->nlevels; level++) {
    PetscCall(PCDestroy(&level->smoother));
    PetscCall(MatDestroy(&level->A));
    PetscCall(VecDestroy(&level->b));
    PetscCall(VecDestroy(&level->x));
    PetscCall(VecDestroy(&level->r));
    PetscCall(MatDestroy(&level->P));
  }
  PetscCall(PetscFree(*cycle));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From zero to the level's x, of its b */
static PetscErrorCode HJMGCycleLaunch(void *ctx)
{
  const HJMGSystemCycle c = (HJMGSystemCycle)ctx;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < c->nlevels; l++) {
    const HJMGCycleLevel *level = &c->level[l];

    PetscCall(PCApply(level->smoother, level->b, level->x));
    if (l == c->nlevels - 1) break;
    PetscCall(MatResidual(level->A, level->b, level->x, level->r));
    PetscCall(MatMultTranspose(level->P, level->r, level[1].b));
  }
  for (PetscInt l = c->nlevels - 2; l >= 0; l--) {
    const HJMGCycleLevel       *level = &c->level[l];
    PetscInt                    its;
    PCRichardsonConvergedReason reason;

    PetscCall(MatMultAdd(level->P, level[1].x, level->x, level->x));
    PetscCall(PCApplyRichardson(level->smoother, level->b, level->x, level->r, 0, 0, 0, 1, PETSC_FALSE, &its, &reason));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* c->graph stays NULL, and c->not_recorded says why, where it cannot be */
static PetscErrorCode HJMGCycleRecord(HJMGSystemCycle c)
{
  PetscFunctionBegin;
  PetscCall(HJMGCapture(c->ops->backend->multigrid, HJMGCycleLaunch, c, &c->graph, &c->flops, &c->not_recorded));
  for (const HJMGCycleLevel *level = c->level; level < c->level + c->nlevels && !c->graph; level++) {
    PetscCall(HJMGUnlock(level->b, 0));
    PetscCall(HJMGUnlock(level->x, 0));
    PetscCall(HJMGUnlock(level->r, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The graph has arrays of its own: those of a Krylov method are many */
PetscErrorCode HJMGSystemCycleApply(HJMGSystemCycle c, Vec b, Vec x)
{
  const HJMGCycleLevel *finest = c->level;

  PetscFunctionBegin;
  PetscCall(VecCopy(b, finest->b));
  if (c->applied++ && !c->graph && !c->not_recorded && !HJMGIsTimed()) PetscCall(HJMGCycleRecord(c));
  else if (c->graph) PetscCall(PetscLogGpuFlops(c->flops)); /* recording has counted them */
  if (c->graph) PetscCall(c->ops->backend->multigrid->graph_replay(c->graph));
  else PetscCall(HJMGCycleLaunch(c));
  PetscCall(VecCopy(finest->x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Levels on which convection, whose share each coarser grid doubles, makes polynomials grow. Decides which levels these are, the weights
   of their subiterations, and how often a cycle visits them; their interpolation follows the rows of their own matrix, so that values come
   from upstream, and coarse operators stay upwind.
*/
#include "hjmg.h"

/* Subiterations of the finest grid, the next one and those below, by dimension, of equal weights, after corrections; there are none before
   them. Closed streamlines ask for many: coarse grids halve an error along them at best, sweeps of the finest one spread it across. In 2D
   k = 8 on all levels takes twice as many iterations and more time */
static const PetscInt HJMGFlowK[3][3] = {{8, 8, 8}, {32, 16, 8}, {8, 8, 8}};
/* Where so many subiterations of a polynomial grow a level flows */
#define HJ_MG_FLOW_GROWS 8
/* The smallest weight, as a share of the one for symmetric matrices, that is tried for subiterations that are safe */
#define HJ_MG_FLOW_LEAST 0.25
/* Coarse rows of which the skew part does not say that any are safe are tried where their entries beside the diagonal are together no more
   than so many times it: with these weights, as shares of the usual one, until so many times a level's subiterations make a rough vector no
   larger. A few rows beside a point where a flow rests are so */
#define HJ_MG_FLOW_OTHERS 3.0
#define HJ_MG_FLOW_TRIED  4
static const PetscReal HJMGFlowShares[] = {1.0, 0.7, 0.5, 0.35};
/* A level that has so many times fewer points than the one above is visited twice from there, so many times in all at most. One that is
   handed to fewer ranks is visited once */
#define HJ_MG_FLOW_FEWER  3
#define HJ_MG_FLOW_VISITS 256

static PetscInt HJMGFlowLevelK(const PC_HJMG *mg, const HJMGLevel *level)
{
  return HJMGFlowK[level->op->grid.dim - 1][PetscMin(mg->base + (PetscInt)(level - mg->level), 2)];
}

/* The weight with which as many subiterations as the level has are safe by its skew part; 0: none */
static PetscReal HJMGFlowOmegaOfSkew(const PC_HJMG *mg, const HJMGLevel *level, PetscReal emax, PetscReal usual)
{
  PetscReal omega = usual;

  while (omega > HJ_MG_FLOW_LEAST * usual && HJScheduleSafeKJacobi(level->skew, emax, omega) < HJMGFlowLevelK(mg, level)) omega *= 0.9;
  return omega > HJ_MG_FLOW_LEAST * usual ? omega : 0.0;
}

/* Whether the diagonal dominates each row of the finest grid: no subiteration makes the largest error larger then, whatever the skew part
   is. Where a flow rests diagonals may be so much smaller than beside them that the skew part says nothing */
static PetscBool HJMGFlowIsDominated(const PC_HJMG *mg, const HJMGLevel *level)
{
  return (PetscBool)(mg->definite && !mg->base && level == mg->level);
}

/* Which spreads an error along a stream most evenly */
static PetscReal HJMGFlowUsual(const HJMGLevel *level, PetscReal emax)
{
  const PetscInt dim = level->op->grid.dim;

  return dim > 1 ? 4.0 * dim / ((2 * dim + 1) * emax) : 1.0 / emax;
}

/* The weight of a level's subiterations; 0: none is safe */
static PetscReal HJMGFlowOmega(const PC_HJMG *mg, const HJMGLevel *level, PetscReal emax)
{
  const PetscReal usual = HJMGFlowUsual(level, emax), omega = HJMGFlowOmegaOfSkew(mg, level, emax, usual);

  if (omega > 0.0) return omega;
  return HJMGFlowIsDominated(mg, level) ? PetscMin(usual, 1.0) : PetscMax(level->tried, 0.0) * usual;
}

PetscInt HJMGFlowSafeK(const PC_HJMG *mg, const HJMGLevel *level, PetscReal emax)
{
  const PetscInt k = HJScheduleSafeKJacobi(level->skew, emax, HJMGFlowOmega(mg, level, emax));

  return HJMGFlowIsDominated(mg, level) || level->tried > 0.0 ? PetscMax(k, HJMGFlowLevelK(mg, level)) : k;
}

/* Finds level->tried. The largest entry tells of a few rows, the sum of squares of all */
static PetscErrorCode HJMGFlowTry(const PC_HJMG *mg, HJMGLevel *level, PetscReal emax)
{
  const NormType types[2] = {NORM_INFINITY, NORM_2};
  HJWeights      w        = {.k = HJ_MG_FLOW_TRIED * HJMGFlowLevelK(mg, level)};
  PetscReal      before[2], after[2];
  Vec            b, x;

  PetscFunctionBegin;
  level->tried = 0.0;
  if (level->coarsening.others > HJ_MG_FLOW_OTHERS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(w.k, &w.w));
  PetscCall(MatCreateVecs(level->A, &x, &b));
  PetscCall(VecSet(b, 0.0));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(HJMGFlowShares) && level->tried == 0.0; s++) {
    for (PetscInt i = 0; i < w.k; i++) w.w[i] = HJMGFlowShares[s] * HJMGFlowUsual(level, emax);
    PetscCall(HJMGFillRough(level->op->ops, x));
    for (int i = 0; i < 2; i++) PetscCall(VecNorm(x, types[i], &before[i]));
    PetscCall(HJOperatorRun(level->op, &w, &(HJRun){.its = 1, .b = b, .x = x}));
    for (int i = 0; i < 2; i++) PetscCall(VecNorm(x, types[i], &after[i]));
    if (after[0] <= before[0] && after[1] <= before[1]) level->tried = HJMGFlowShares[s];
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(HJWeightsReset(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGFindFlow(const PC_HJMG *mg, HJMGLevel *level)
{
  const PetscReal emax = 1.0 + level->coarsening.others;

  PetscFunctionBegin;
  level->flows = (PetscBool)(!mg->nk && mg->transfer != PC_HJMG_TRANSFER_BILINEAR && level->skew > HJ_MG_SKEW &&
                             HJScheduleSafeK(level->skew, emax) < HJ_MG_FLOW_GROWS);
  if (!level->flows) PetscFunctionReturn(PETSC_SUCCESS);
  if (level->tried < 0.0 && mg->base + (level - mg->level) > 0 && HJMGFlowOmega(mg, level, emax) == 0.0)
    PetscCall(HJMGFlowTry(mg, level, emax));
  level->flows = (PetscBool)(HJMGFlowOmega(mg, level, emax) > 0.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSetUpFlowSweeps(const PC_HJMG *mg, HJMGLevel *level)
{
  const PetscReal omega = HJMGFlowOmega(mg, level, level->bound.emax);

  PetscFunctionBegin;
  PetscCall(HJWeightsReset(&level->w));
  PetscCall(HJWeightsReset(&level->rotated));
  level->w.k = omega > 0.0 ? HJMGFlowLevelK(mg, level) : 1; /* with a bound smaller than that of the rows there may be none that is safe */
  PetscCall(PetscMalloc1(level->w.k, &level->w.w));
  for (PetscInt i = 0; i < level->w.k; i++) level->w.w[i] = omega > 0.0 ? omega : 1.0 / level->bound.emax;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt HJMGFlowVisits(const PC_HJMG *mg, PetscInt l)
{
  PetscInt visits = 1;

  for (PetscInt i = 1; i <= PetscMin(l, mg->nlevels - 2); i++) {
    const PetscBool fewer = (PetscBool)(HJ_MG_FLOW_FEWER * HJMGPoints(&mg->level[i]) < HJMGPoints(&mg->level[i - 1]));

    if (mg->level[i].flows && mg->level[i - 1].flows && fewer && visits < HJ_MG_FLOW_VISITS) visits *= 2;
  }
  return visits;
}

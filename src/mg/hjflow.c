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

/* The weight of a level's subiterations; 0: none is safe */
static PetscReal HJMGFlowOmega(const PC_HJMG *mg, const HJMGLevel *level, PetscReal emax)
{
  const PetscInt  dim   = level->op->grid.dim;
  const PetscReal usual = dim > 1 ? 4.0 * dim / ((2 * dim + 1) * emax) : 1.0 / emax; /* which spreads an error along a stream most evenly */
  const PetscReal omega = HJMGFlowOmegaOfSkew(mg, level, emax, usual);

  return omega > 0.0 || !HJMGFlowIsDominated(mg, level) ? omega : PetscMin(usual, 1.0);
}

PetscInt HJMGFlowSafeK(const PC_HJMG *mg, const HJMGLevel *level, PetscReal emax)
{
  const PetscInt k = HJScheduleSafeKJacobi(level->skew, emax, HJMGFlowOmega(mg, level, emax));

  return HJMGFlowIsDominated(mg, level) ? PetscMax(k, HJMGFlowLevelK(mg, level)) : k;
}

void HJMGFindFlow(const PC_HJMG *mg, HJMGLevel *level)
{
  const PetscReal emax = 1.0 + level->coarsening.others;

  level->flows = (PetscBool)(!mg->nk && mg->transfer != PC_HJMG_TRANSFER_BILINEAR && level->skew > HJ_MG_SKEW &&
                             HJScheduleSafeK(level->skew, emax) < HJ_MG_FLOW_GROWS && HJMGFlowOmega(mg, level, emax) > 0.0);
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

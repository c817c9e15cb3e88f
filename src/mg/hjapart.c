/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Convection inside parts whose couplings are strong beside what couples them to others. Residuals that such a part answers with next to
   nothing are restricted to the coarse grid's constant, which it answers as weakly as it is coupled: a correction is as many times too
   large as coefficients differ. Smoothing before the correction takes these residuals away. Where diagonals are far apart subiterations
   themselves may grow with what flows from one part to another, the more the more there are of them. Decides where there is some.
*/
#include "hjmg.h"

/* How many times a cycle makes a rough vector larger, of which it sees the product with the matrix */
static PetscErrorCode HJMGFlowGrowth(PC_HJMG *mg, PetscReal *growth)
{
  const HJMGLevel *level = &mg->level[0];
  Vec              rough, b, x;
  PetscReal        norm[2];

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(level->A, &rough, &b));
  PetscCall(VecDuplicate(rough, &x));
  PetscCall(HJMGFillRough(level->op->ops, rough));
  PetscCall(MatMult(level->A, rough, b));
  PetscCall(HJMGLaunch(mg, HJ_MG_APPLY, b, x, level->r));
  PetscCall(VecNorm(rough, NORM_INFINITY, &norm[0])); /* squares may pass the range of numbers */
  PetscCall(VecNorm(mg->steps[HJ_MG_APPLY].in_y ? level->r : x, NORM_INFINITY, &norm[1]));
  *growth = norm[1] / norm[0];
  PetscCall(VecDestroy(&rough));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Half as many subiterations on levels that flow; whether there is one that has more than one still */
static PetscBool HJMGFlowHalve(PC_HJMG *mg)
{
  PetscBool more = PETSC_FALSE;

  for (PetscInt l = 0; l < mg->nlevels - 1; l++) {
    HJMGLevel *level = &mg->level[l];

    if (!level->flows || level->w.k < 2) continue;
    level->w.k /= 2; /* all weights are the same */
    more = PETSC_TRUE;
  }
  return more;
}

PetscErrorCode HJMGFlowFindApart(PC pc)
{
  PC_HJMG  *mg     = (PC_HJMG *)pc->data;
  PetscReal growth = 0.0;
  PetscBool flows  = PETSC_FALSE;

  PetscFunctionBegin;
  if (mg->changed < HJ_MG_CHANGED_WEIGHTS) PetscFunctionReturn(PETSC_SUCCESS);
  mg->grows = PETSC_FALSE;
  if (mg->flows_apart) {
    mg->flows_apart = PETSC_FALSE;
    PetscCall(HJMGMakeSteps(mg));
  }
  for (PetscInt l = 0; l < mg->nlevels - 1; l++)
    if (mg->level[l].flows && !mg->level[l].R) flows = PETSC_TRUE;
  if (flows) PetscCall(HJMGFlowGrowth(mg, &growth));
  mg->flows_apart = (PetscBool) !(growth <= HJ_MG_HIDES);
  if (!mg->flows_apart) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(pc,
                      "Corrections alone are %g times too large, as inside strong parts that flow: levels are smoothed before them too\n",
                      (double)growth));
  do {
    PetscCall(HJMGMakeSteps(mg));
    PetscCall(HJMGFlowGrowth(mg, &growth));
    PetscCall(PetscInfo(pc, "Cycles make a rough vector %g times larger, with k = %" PetscInt_FMT " on the finest level\n", (double)growth,
                        mg->level[0].w.k));
    mg->grows = (PetscBool) !(growth <= HJ_MG_HIDES);
  } while (mg->grows && HJMGFlowHalve(mg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

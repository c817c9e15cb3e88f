/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Whether the strong direction of a finest grid lies between those of its lines, where neither semicoarsening nor lines follow it. Decides
   how that is measured; what is done about it is hjsweeps.c's.
*/
#include "hjmg.h"

/* So many points of a rank say it, about */
#define HJ_MG_SLANT_POINTS 4096

/*
   With K the tensor of the diffusion that a row stands for, from its second moments: the root of K_xx K_yy / det K, which is 1 where K's
   directions are x and y, and half the root of the ratio of its eigenvalues where they lie at 45 degrees. 0: it stands for none
*/
static PetscReal HJMGSlantOfRow(const HJCoefficients *a, PetscCount p)
{
  PetscReal xx = 0.0, xy = 0.0, yy = 0.0, det;

  for (PetscInt slot = 1; slot < a->nslots; slot++) {
    const PetscReal v = -PetscRealPart(HJCoefficientAt(a, slot, p));
    PetscInt        off[3];

    HJSlotOffset(a, slot, off);
    xx += off[0] * off[0] * v;
    xy += off[0] * off[1] * v;
    yy += off[1] * off[1] * v;
  }
  det = xx * yy - xy * xy;
  return xx > 0.0 && yy > 0.0 && det > 0.0 ? PetscSqrtReal(xx * yy / det) : 0.0;
}

PetscErrorCode HJMGFindSlant(PC_HJMG *mg)
{
  const HJMGLevel      *level = &mg->level[0];
  const HJGrid         *grid  = &level->op->grid;
  const HJCoefficients *a;
  PetscReal             sum[2] = {0.0, 0.0};
  PetscInt              lo[2], hi[2], step;

  PetscFunctionBegin;
  if (mg->base) PetscFunctionReturn(PETSC_SUCCESS); /* the finest grid has said it */
  mg->slant = 0.0;
  if (grid->dim != 2 || mg->stars || level->skew > HJ_MG_SKEW || PetscMemTypeDevice(level->op->ops->mtype))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJCoefficientsIn(level->A, level->op->ops->mtype, &a));
  if (a->shape != HJ_BOX) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 2; d++) { /* rows at the ends of the domain stand for something else */
    lo[d] = PetscMax(0, grid->domain.lo[d] + 1);
    hi[d] = PetscMin(grid->owned.hi[d], grid->domain.hi[d] - 1);
  }
  step = 1 + (PetscInt)PetscSqrtReal((PetscReal)HJBoxSize(&grid->owned) / HJ_MG_SLANT_POINTS);
  for (PetscInt j = lo[1]; j < hi[1]; j += step) {
    for (PetscInt i = lo[0]; i < hi[0]; i += step) {
      sum[0] += HJMGSlantOfRow(a, HJBoxIndex(&grid->owned, i, j, 0));
      sum[1] += 1.0;
    }
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)level->da)));
  if (sum[1] > 0.0) mg->slant = sum[0] / sum[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Rows of a flow that is fast in one part of the grid and rests, or nearly so, in another. Restriction adds up rows, and where a stream
   enters a part at rest its rows, which are thousands of times larger, are all that is left of the others. They are divided by the roots of
   their diagonals: undivided, and divided by these themselves, GMRES takes 43 and 12 iterations for a flow around rest (255^2), with the
   roots 18; for two eddies (64 to 301 points a side) 20 to 117 and 19 to 57, with the roots 24 to 47. Where diffusion varies rows must not
   be divided: what flows out of a part would not be what flows into the next one. Decides which flows are so.
*/
#include "hjmg.h"

/* Diagonals that are no further apart than so many times are left as they are: fewer iterations are not to be had */
#define HJ_MG_FLOW_SPREAD 10.0
/* Diffusion that varies by no more than so many times counts as even */
#define HJ_MG_FLOW_EVEN 4.0

/* What a row says of diffusion: upwind differences have it on both sides of a point, and the stream on one. Ends of the grid say nothing */
static PetscReal HJMGDiffusionOfRow(const HJCoefficients *a, PetscCount p)
{
  PetscReal side[3][2] = {{0.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}}, sum = 0.0;

  for (PetscInt slot = 1; slot < a->nslots; slot++) {
    PetscInt off[3];

    HJSlotOffset(a, slot, off);
    for (int d = 0; d < 3; d++)
      if (off[d] && off[d] * off[d] == off[0] * off[0] + off[1] * off[1] + off[2] * off[2])
        side[d][off[d] > 0] = PetscAbsScalar(HJCoefficientAt(a, slot, p));
  }
  for (int d = 0; d < 3; d++) sum += PetscMin(side[d][0], side[d][1]);
  return sum;
}

/* The least and the largest of the rows' diagonals, and of what they say of diffusion; of other rows than those that are a diagonal alone.
   Zeros are no diffusion, and are left out */
static PetscErrorCode HJMGFlowExtremes(const HJMGLevel *level, PetscReal least[2], PetscReal most[2])
{
  const HJGrid         *grid = &level->op->grid;
  const PetscCount      n    = HJBoxSize(&grid->owned);
  const HJCoefficients *a;
  PetscReal             extreme[4] = {-PETSC_MAX_REAL, -PETSC_MAX_REAL, 0.0, 0.0};

  PetscFunctionBegin;
  PetscCall(HJCoefficientsIn(level->A, PETSC_MEMTYPE_HOST, &a));
  for (PetscCount p = 0; p < n; p++) {
    const PetscReal row[2] = {PetscAbsScalar(HJCoefficientAt(a, 0, p)), HJMGDiffusionOfRow(a, p)};
    PetscBool       alone  = PETSC_TRUE;

    for (PetscInt slot = 1; slot < a->nslots && alone; slot++) alone = (PetscBool)(HJCoefficientAt(a, slot, p) == 0.0);
    for (int i = 0; i < 2 && !alone; i++) {
      if (!i || row[i] > 0.0) extreme[i] = PetscMax(extreme[i], -row[i]);
      extreme[2 + i] = PetscMax(extreme[2 + i], row[i]);
    }
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, extreme, 4, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)level->da)));
  for (int i = 0; i < 2; i++) {
    least[i] = -extreme[i];
    most[i]  = extreme[2 + i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGFlowWantsScale(const PC_HJMG *mg, const HJMGLevel *level, PetscBool *wants)
{
  PetscReal least[2], most[2];

  PetscFunctionBegin;
  *wants = (PetscBool)(level->flows && mg->definite && !mg->on_fewer_ranks);
  if (!*wants) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGFlowExtremes(level, least, most));
  *wants = (PetscBool)(least[0] > 0.0 && most[0] / HJ_MG_FLOW_SPREAD > least[0]);
  if (most[1] > 0.0 && most[1] / HJ_MG_FLOW_EVEN > least[1]) *wants = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGMakeFlowScale(const HJMGLevel *level, Vec *scale)
{
  PetscScalar *v;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(level->A, scale, NULL));
  PetscCall(MatGetDiagonal(level->A, *scale));
  PetscCall(VecGetLocalSize(*scale, &n));
  PetscCall(VecGetArray(*scale, &v));
  for (PetscInt i = 0; i < n; i++) v[i] = v[i] != 0.0 ? 1.0 / PetscSqrtReal(PetscAbsScalar(v[i])) : 1.0;
  PetscCall(VecRestoreArray(*scale, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

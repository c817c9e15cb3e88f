/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Rows of zeros of the finest matrix, as points of a body in a flow may have. They say nothing of their unknowns, and the residual keeps
   what the right-hand side has there. Cycles leave these unknowns alone: they are those of a matrix that has a diagonal there, and no
   columns, for right-hand sides that are 0 there. Where the operator is another matrix than the preconditioner's, or all rows are zeros,
   nothing can be said of the residual: these rows have 1 on the diagonal then, as with PCJACOBI. So have those of coarser grids.
*/
#include "hjmg.h"

/* 0 at points whose rows are zeros, else 1. Returns how many there are on this rank */
static PetscInt HJMGFindZeroRows(const HJCoefficients *c, const HJGrid *grid, PetscScalar mask[])
{
  HJBox      inside[HJ_MAX_SLOTS];
  PetscCount point = 0;
  PetscInt   count = 0;

  for (PetscInt slot = 0; slot < c->nslots; slot++) inside[slot] = HJCoefficientsInside(c, slot, grid);
  for (PetscInt k = 0; k < grid->owned.hi[2]; k++) {
    for (PetscInt j = 0; j < grid->owned.hi[1]; j++) {
      for (PetscInt i = 0; i < grid->owned.hi[0]; i++, point++) {
        PetscInt slot = 0;

        while (slot < c->nslots && (!HJPointInside(&inside[slot], i, j, k) || HJCoefficientAt(c, slot, point) == 0.0)) slot++;
        mask[point] = slot == c->nslots ? 0.0 : 1.0;
        count += slot == c->nslots;
      }
    }
  }
  return count;
}

/* The level's matrix, in a copy where it is the user's, with a diagonal in place of zeros, and without these columns */
static PetscErrorCode HJMGFillZeroRows(PC_HJMG *mg, HJMGLevel *level)
{
  Mat       A = level->A;
  Vec       diagonal;
  PetscReal largest;

  PetscFunctionBegin;
  if (mg->converted) PetscCall(PetscObjectReference((PetscObject)A));
  else PetscCall(MatDuplicate(level->A, MAT_COPY_VALUES, &A));
  PetscCall(MatDiagonalScale(A, NULL, mg->mask));
  PetscCall(VecDuplicate(mg->mask, &diagonal));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecSet(mg->masked, 1.0));
  PetscCall(VecAXPY(mg->masked, -1.0, mg->mask));
  PetscCall(VecNorm(diagonal, NORM_INFINITY, &largest));
  PetscCall(VecAXPY(diagonal, largest > 0.0 ? largest : 1.0, mg->masked));
  PetscCall(MatDiagonalSet(A, diagonal, INSERT_VALUES));
  PetscCall(VecDestroy(&diagonal));
  PetscCall(MatDestroy(&level->A));
  level->A      = A;
  mg->converted = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGLeaveZeroRows(PC pc)
{
  PC_HJMG              *mg    = (PC_HJMG *)pc->data;
  HJMGLevel            *level = &mg->level[0];
  const HJCoefficients *c;
  HJGrid                grid;
  PetscScalar          *mask;
  PetscInt              count, n;

  PetscFunctionBegin;
  if (mg->on_fewer_ranks || pc->mat != pc->pmat || (level->op && !level->op->stencil->zero_diagonals)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJCoefficientsIn(level->A, PETSC_MEMTYPE_HOST, &c));
  PetscCall(HJGridCreate(level->da, &grid));
  PetscCall(MatCreateVecs(level->A, NULL, &mg->mask));
  PetscCall(VecGetArray(mg->mask, &mask));
  count = HJMGFindZeroRows(c, &grid, mask);
  PetscCall(VecRestoreArray(mg->mask, &mask));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)pc)));
  PetscCall(VecGetSize(mg->mask, &n));
  if (!count || count == n) {
    PetscCall(VecDestroy(&mg->mask));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscInfo(pc,
                      "%" PetscInt_FMT " rows are zeros: their unknowns are left alone, and the residual cannot be less than what the "
                      "right-hand side has there\n",
                      count));
  mg->zero_rows = count;
  PetscCall(VecDuplicate(mg->mask, &mg->masked));
  PetscCall(HJMGFillZeroRows(mg, level));
  if (level->op) PetscCall(HJMGMakeOperator(pc, level->A, level->da, &level->op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

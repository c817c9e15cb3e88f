/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Points whose diagonal is zero, missing, or next to nothing beside the rest of their row. Sweeps cannot divide by it: where they take 1 in
   its place, or the bound of the spectrum is as large as the row, they do nothing at all other points. Cycles are a preconditioner, and may
   be those of a matrix that has another diagonal at a few points. Decides which points these are, and what they get.
*/
#include "hjmg.h"
#include "core/hjmeasure.h"
#include "core/hjinterpolation.h"

/* More of them than this share of the coupled points are not a few: another diagonal would make another problem of it */
#define HJ_MG_WEAK_SHARE 0.125

PetscBool HJMGIsWeak(const HJMGLevel *level)
{
  return (PetscBool)(level->coarsening.others > HJ_MEASURE_WEAK);
}

PetscErrorCode HJMGWeakSuitsInverse(const PC_HJMG *mg, PetscInt most, PetscBool *suits)
{
  const HJMGLevel *level = &mg->level[mg->nlevels - 1];
  PetscMPIInt      size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)level->da), &size));
  *suits = (PetscBool)(size == 1 && HJMGIsWeak(level) && HJMGSuitsInverse(mg, most));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a point's row: the sum of all entries beside the diagonal, and of their sizes */
static void HJMGSumRow(const HJCoefficients *c, const HJBox inside[], const PetscInt p[3], PetscCount point, PetscScalar *sum,
                       PetscReal *others)
{
  *sum = *others = 0.0;
  for (PetscInt slot = 1; slot < c->nslots; slot++) {
    PetscScalar a;

    if (!HJPointInside(&inside[slot], p[0], p[1], p[2])) continue;
    a = HJCoefficientAt(c, slot, point);
    *sum += a;
    *others += PetscAbsScalar(a);
  }
}

/* Puts twice the sum of the row's sizes into d at each weak point, of the sign that makes the rest of the row sum to less; zero: only where
   it is 0. The sum itself would be the row of a point without boundary, and the matrix of cycles singular where all others are such rows.
   count: these points, and all that are coupled */
static void HJMGFindWeak(const HJCoefficients *c, const HJGrid *grid, PetscBool zero, PetscScalar d[], PetscInt64 count[2])
{
  HJBox      inside[HJ_MAX_SLOTS];
  PetscCount point = 0;

  count[0] = count[1] = 0;
  for (PetscInt slot = 0; slot < c->nslots; slot++) inside[slot] = HJCoefficientsInside(c, slot, grid);
  for (PetscInt k = 0; k < grid->owned.hi[2]; k++) {
    for (PetscInt j = 0; j < grid->owned.hi[1]; j++) {
      for (PetscInt i = 0; i < grid->owned.hi[0]; i++, point++) {
        const PetscInt p[3] = {i, j, k};
        PetscScalar    sum;
        PetscReal      others;

        HJMGSumRow(c, inside, p, point, &sum, &others);
        count[1] += others > 0.0;
        if (!HJMeasureIsWeak(PetscAbsScalar(d[point]), others) || (zero && d[point] != 0.0)) continue;
        count[0]++;
        d[point] = (PetscRealPart(sum) > 0.0 ? -2.0 : 2.0) * others;
      }
    }
  }
}

PetscErrorCode HJMGLiftWeak(Mat A, DM da, PetscBool zeros, PetscInt *lifted)
{
  const HJCoefficients *c;
  HJGrid                grid;
  Vec                   diagonal;
  PetscScalar          *d;
  PetscInt64            count[2];
  PetscBool             few_weak = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(HJCoefficientsIn(A, PETSC_MEMTYPE_HOST, &c));
  PetscCall(MatCreateVecs(A, NULL, &diagonal));
  for (int zero = 0; zero <= (int)zeros && !few_weak; zero++) {
    PetscCall(MatGetDiagonal(A, diagonal));
    PetscCall(VecGetArray(diagonal, &d));
    HJMGFindWeak(c, &grid, (PetscBool)zero, d, count);
    PetscCall(VecRestoreArray(diagonal, &d));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, count, 2, MPIU_INT64, MPI_SUM, PetscObjectComm((PetscObject)A)));
    few_weak = (PetscBool)(zero || count[0] <= HJ_MG_WEAK_SHARE * count[1]);
  }
  *lifted = few_weak ? (PetscInt)count[0] : 0;
  if (*lifted) PetscCall(MatDiagonalSet(A, diagonal, INSERT_VALUES));
  if (count[0])
    PetscCall(
      PetscInfo(A, "%" PetscInt64_FMT " of %" PetscInt64_FMT " points have a diagonal that is zero or weak beside their row: %s\n",
                count[0], count[1],
                *lifted ? "cycles are those of a matrix that has twice the sum of the row there" : "too many to give them another one"));
  PetscCall(VecDestroy(&diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGLiftFinest(PC pc)
{
  PC_HJMG   *mg    = (PC_HJMG *)pc->data;
  HJMGLevel *level = &mg->level[0];
  Mat        A     = level->A;
  PetscBool  suits = PETSC_FALSE;

  PetscFunctionBegin;
  if (level->op && mg->base) PetscFunctionReturn(PETSC_SUCCESS); /* on fewer ranks it is a coarse grid, as it is on all */
  if (level->op) PetscCall(HJMGWeakSuitsInverse(mg, HJ_MG_INVERSE_QUICK, &suits));
  if (suits || (level->op && !HJMGIsWeak(level))) PetscFunctionReturn(PETSC_SUCCESS);
  if (mg->converted) PetscCall(PetscObjectReference((PetscObject)A));
  else PetscCall(MatDuplicate(level->A, MAT_COPY_VALUES, &A));
  PetscCall(HJMGLiftWeak(A, level->da, (PetscBool)!level->op, &level->lifted));
  if (level->lifted) {
    PetscCall(MatDestroy(&level->A));
    PetscCall(PetscObjectReference((PetscObject)A));
    level->A      = A;
    mg->converted = PETSC_TRUE;
  }
  PetscCall(MatDestroy(&A));
  if (!level->op || level->lifted) PetscCall(HJMGMakeOperator(pc, level->A, level->da, &level->op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

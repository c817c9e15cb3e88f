/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Coarse points whose equation is rounding. Where part of the grid is coupled neither to the rest nor to a boundary, as a lake is, the
   matrix is singular, and on some coarse grid that part is one point: products leave there a diagonal that is 0, or tiny, of either sign.
   Decides which points these are.
*/
#include "hjmg.h"
#include "core/hjinterpolation.h"

static PetscErrorCode HJMGLargestDiagonal(Mat A, PetscReal *largest)
{
  Vec diagonal;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &diagonal));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecNorm(diagonal, NORM_INFINITY, largest));
  PetscCall(VecDestroy(&diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Constants that vectors of the null space leave of themselves, as a share, and that count as none */
#define HJ_MG_CONSTANTS_LEFT HJ_BY_PRECISION(1e-10, 1e-4)

PetscErrorCode HJMGNullSpaceHas(MatNullSpace null, Vec v, PetscBool *has)
{
  PetscReal norm[2];

  PetscFunctionBegin;
  PetscCall(VecNorm(v, NORM_2, &norm[0]));
  PetscCall(MatNullSpaceRemove(null, v));
  PetscCall(VecNorm(v, NORM_2, &norm[1]));
  *has = (PetscBool)(norm[1] <= HJ_MG_CONSTANTS_LEFT * norm[0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGToldConstants(PC pc, PetscBool *told)
{
  MatNullSpace null;
  PetscInt     nvecs = 0;
  Vec          ones;

  PetscFunctionBegin;
  *told = PETSC_FALSE;
  PetscCall(MatGetNullSpace(pc->pmat, &null));
  if (null) PetscCall(MatNullSpaceGetVecs(null, told, &nvecs, NULL));
  if (*told || !nvecs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(pc->pmat, &ones, NULL));
  PetscCall(VecSet(ones, 1.0));
  PetscCall(HJMGNullSpaceHas(null, ones, told));
  PetscCall(VecDestroy(&ones));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGIsVoid(PC pc, const HJMGLevel *coarse, PetscBool *is)
{
  PetscReal largest[2];
  PetscBool constants;

  PetscFunctionBegin;
  *is = PETSC_FALSE;
  if (HJMGPoints(coarse) > 1.0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGToldConstants(pc, &constants));
  if (constants) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < 2; i++) PetscCall(HJMGLargestDiagonal(coarse[-i].A, &largest[i]));
  *is = (PetscBool)(largest[0] <= HJ_MG_VOID * largest[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a point has no other entry than its diagonal */
static PetscBool HJMGIsAlone(const HJCoefficients *c, const HJGrid *grid, const PetscInt p[3], PetscCount point)
{
  for (PetscInt slot = 1; slot < c->nslots; slot++) {
    const HJBox inside = HJCoefficientsInside(c, slot, grid);

    if (HJPointInside(&inside, p[0], p[1], p[2]) && HJCoefficientAt(c, slot, point) != 0.0) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* The coarse diagonal d gets values of the fine one, f. Coarse points are on the rank that has the fine point */
static PetscErrorCode HJMGLift(const HJMGLevel *fine, const HJMGLevel *coarse, const PetscScalar f[], PetscScalar d[])
{
  HJCut                 cut[2][3];
  PetscCount            point = 0;
  HJGrid                grid;
  const HJCoefficients *c;

  PetscFunctionBegin;
  PetscCall(HJGridCreate(coarse->da, &grid));
  PetscCall(HJCoefficientsIn(coarse->A, PETSC_MEMTYPE_HOST, &c));
  PetscCall(HJGridGetCuts(coarse->da, cut[0]));
  PetscCall(HJGridGetCuts(fine->da, cut[1]));
  for (PetscInt k = 0; k < grid.owned.hi[2]; k++) {
    for (PetscInt j = 0; j < grid.owned.hi[1]; j++) {
      for (PetscInt i = 0; i < grid.owned.hi[0]; i++, point++) {
        const PetscInt p[3] = {i, j, k};
        PetscInt       q[3];
        PetscScalar    above;

        for (int e = 0; e < 3; e++) q[e] = HJCoarsenPoint(&fine->coarsening, e, cut[0][e].start + p[e]) - cut[1][e].start;
        above = f[((PetscCount)q[2] * cut[1][1].n + q[1]) * cut[1][0].n + q[0]];
        if (above == 0.0) above = fine->coarsening.coupled;
        if (PetscAbsScalar(d[point]) <= HJ_MG_VOID * PetscAbsScalar(above) && HJMGIsAlone(c, &grid, p, point)) d[point] = above;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGLiftVoids(const HJMGLevel *fine, HJMGLevel *coarse, const HJCoarsening *c, PetscBool *lifted)
{
  Vec                diagonal[2];
  const PetscScalar *f;
  PetscScalar       *d;

  PetscFunctionBegin;
  *lifted = (PetscBool)!c;
  if (c && c->least > 0.0 && c->least <= HJ_MG_VOID * fine->coarsening.coupled) *lifted = PETSC_TRUE;
  if (c && coarse->op->stencil->zero_diagonals) *lifted = PETSC_TRUE; /* what is 0 counts as 1, which is large where numbers are */
  if (c && HJMGPoints(coarse) <= 1.0) *lifted = PETSC_FALSE;
  if (!*lifted) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(coarse->A, NULL, &diagonal[0]));
  PetscCall(MatCreateVecs(fine->A, NULL, &diagonal[1]));
  PetscCall(MatGetDiagonal(coarse->A, diagonal[0]));
  PetscCall(MatGetDiagonal(fine->A, diagonal[1]));
  PetscCall(VecGetArray(diagonal[0], &d));
  PetscCall(VecGetArrayRead(diagonal[1], &f));
  PetscCall(HJMGLift(fine, coarse, f, d));
  PetscCall(VecRestoreArrayRead(diagonal[1], &f));
  PetscCall(VecRestoreArray(diagonal[0], &d));
  PetscCall(MatDiagonalSet(coarse->A, diagonal[0], INSERT_VALUES));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&diagonal[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Points of a system whose rows have nothing of other points, as those of identity rows at a wall or in a body. Sweeps solve them, and in
   units that need not be the others'. Decides which points these are, and takes them out of interpolation.
*/
#include "hjmg.h"

static PetscErrorCode HJMGPointIsKnown(Mat A, PetscInt dof, PetscInt point, PetscBool *is)
{
  PetscFunctionBegin;
  *is = PETSC_TRUE;
  for (PetscInt r = point * dof; r < (point + 1) * dof && *is; r++) {
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           n;

    PetscCall(MatGetRow(A, r, &n, &columns, &values));
    for (PetscInt e = 0; e < n && *is; e++) *is = (PetscBool)(values[e] == 0.0 || columns[e] / dof == point);
    PetscCall(MatRestoreRow(A, r, &n, &columns, &values));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGFindKnownPoints(Mat A, PetscInt dof, Vec *mask)
{
  PetscMPIInt  mine = 0, all;
  PetscInt     lo, hi;
  PetscScalar *m;
  PetscBool    is;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &lo, &hi));
  PetscCall(VecCreateMPI(PetscObjectComm((PetscObject)A), (hi - lo) / dof, PETSC_DETERMINE, mask));
  PetscCall(VecGetArrayWrite(*mask, &m));
  for (PetscInt point = lo / dof; point < hi / dof; point++) {
    PetscCall(HJMGPointIsKnown(A, dof, point, &is));
    m[point - lo / dof] = is ? 0.0 : 1.0;
    if (is) mine = 1;
  }
  PetscCall(VecRestoreArrayWrite(*mask, &m));
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  if (!all) PetscCall(VecDestroy(mask));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGKnownPointsAreSame(Vec a, Vec b, PetscBool *same)
{
  PetscFunctionBegin;
  *same = (PetscBool)(!a == !b);
  if (a && b) PetscCall(VecEqual(a, b, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coarse point of which a known one has the value, and that no other point would have anything of; -1: there is none. Coarse points
   are on the rank that has the fine point */
static PetscErrorCode HJMGBareCoarsePoint(Mat P, PetscInt row, const PetscScalar shares[], PetscInt first, PetscInt last, PetscInt *coarse)
{
  const PetscInt    *columns;
  const PetscScalar *values;
  PetscInt           n;

  PetscFunctionBegin;
  *coarse = -1;
  PetscCall(MatGetRow(P, row, &n, &columns, &values));
  for (PetscInt e = 0; e < n; e++)
    if (values[e] == 1.0 && columns[e] >= first && columns[e] < last && shares[columns[e] - first] == 0.0) *coarse = columns[e];
  PetscCall(MatRestoreRow(P, row, &n, &columns, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGLeaveKnownPoints(Mat P, Vec mask)
{
  PetscInt           lo, hi, first, last, coarse;
  Vec                shares, keep;
  PetscScalar       *k;
  const PetscScalar *s;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(P, &lo, &hi));
  PetscCall(MatGetOwnershipRangeColumn(P, &first, &last));
  PetscCall(MatCreateVecs(P, &shares, NULL));
  PetscCall(VecDuplicate(mask, &keep));
  PetscCall(VecCopy(mask, keep));
  PetscCall(MatMultTranspose(P, mask, shares));
  PetscCall(VecGetArrayRead(shares, &s));
  PetscCall(VecGetArray(keep, &k));
  for (PetscInt row = lo; row < hi; row++) {
    if (k[row - lo] != 0.0) continue;
    PetscCall(HJMGBareCoarsePoint(P, row, s, first, last, &coarse));
    if (coarse >= 0) k[row - lo] = 1.0; /* else its row and column in the product would be empty */
  }
  PetscCall(VecRestoreArray(keep, &k));
  PetscCall(VecRestoreArrayRead(shares, &s));
  PetscCall(MatDiagonalScale(P, keep, NULL));
  PetscCall(VecDestroy(&keep));
  PetscCall(VecDestroy(&shares));
  PetscFunctionReturn(PETSC_SUCCESS);
}

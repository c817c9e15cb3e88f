/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Rows of a matrix of any type that gives them, into another matrix. Decides nothing.
*/
#include "hjoperator.h"

PetscErrorCode HJPreallocateRows(Mat A, Mat B)
{
  PetscInt start, end, first, last, *own, *other;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(MatGetOwnershipRangeColumn(A, &first, &last));
  PetscCall(PetscCalloc2(end - start, &own, end - start, &other));
  for (PetscInt r = start; r < end; r++) {
    PetscInt        n;
    const PetscInt *columns;

    PetscCall(MatGetRow(A, r, &n, &columns, NULL));
    for (PetscInt e = 0; e < n; e++) ++*(columns[e] >= first && columns[e] < last ? &own[r - start] : &other[r - start]);
    PetscCall(MatRestoreRow(A, r, &n, &columns, NULL));
  }
  PetscCall(MatSeqAIJSetPreallocation(B, 0, own));
  PetscCall(MatMPIAIJSetPreallocation(B, 0, own, 0, other));
  PetscCall(PetscFree2(own, other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJCopyRows(Mat A, Mat B)
{
  PetscInt start, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt r = start; r < end; r++) {
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           n;

    PetscCall(MatGetRow(A, r, &n, &columns, &values));
    PetscCall(MatSetValues(B, 1, &r, n, columns, values, INSERT_VALUES));
    PetscCall(MatRestoreRow(A, r, &n, &columns, &values));
  }
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJCreateAIJ(Mat A, Mat *B)
{
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetSizes(*B, m, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*B, MATAIJ));
  PetscCall(HJPreallocateRows(A, *B));
  PetscCall(HJCopyRows(A, *B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The last grid of a system where its matrix is singular but for rounding. Decides whether factors solve it, and makes the pseudoinverse
   that does so in their place.
*/
#include "hjmg.h"

/* What factors make of a rough vector, times the diagonal, is at most so many times the vector. Of random systems that convection rules
   hardly any made it 1e9 to 1e10 times as large, and those that are singular 1e12 times and more */
#define HJ_MG_SYSTEM_LARGE 1e9

PetscErrorCode HJMGFactorsAreGood(KSP ksp, PetscBool *good)
{
  PC             pc;
  Mat            A;
  Vec            b, x, diagonal;
  PetscReal      norm[2];
  PetscBool      factors;
  PCFailedReason failed;

  PetscFunctionBegin;
  *good = PETSC_TRUE;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc, &factors, PCLU, PCREDUNDANT, ""));
  if (!factors) PetscFunctionReturn(PETSC_SUCCESS); /* options have others, whose business it is */
  PetscCall(PCGetFailedReason(pc, &failed));
  if (failed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &diagonal));
  PetscCall(HJMGFillRough(&HJBackendHost, b));
  PetscCall(PCApply(pc, b, x));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecPointwiseMult(x, x, diagonal));
  PetscCall(VecNorm(b, NORM_INFINITY, &norm[0])); /* squares may pass the range of numbers */
  PetscCall(VecNorm(x, NORM_INFINITY, &norm[1]));
  *good = (PetscBool)(norm[1] <= HJ_MG_SYSTEM_LARGE * norm[0]);
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of a distributed matrix on each rank, dense by columns */
static PetscErrorCode HJMGGetDense(Mat A, PetscInt n, PetscScalar a[])
{
  Mat                all, dense;
  const PetscScalar *v;
  PetscMPIInt        size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCall(MatCreateRedundantMatrix(A, size, MPI_COMM_NULL, MAT_INITIAL_MATRIX, &all));
  PetscCall(MatConvert(all, MATSEQDENSE, MAT_INITIAL_MATRIX, &dense));
  PetscCall(MatDenseGetArrayRead(dense, &v));
  PetscCall(PetscArraycpy(a, v, (size_t)n * n));
  PetscCall(MatDenseRestoreArrayRead(dense, &v));
  PetscCall(MatDestroy(&dense));
  PetscCall(MatDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a dense matrix is symmetric but for rounding, beside its diagonal */
static PetscBool HJMGDenseIsSymmetric(PetscInt n, const PetscScalar a[])
{
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < i; j++) {
      const PetscReal skew     = PetscAbsScalar(a[(size_t)i * n + j] - a[(size_t)j * n + i]);
      const PetscReal diagonal = PetscSqrtReal(PetscAbsScalar(a[(size_t)i * n + i])) * PetscSqrtReal(PetscAbsScalar(a[(size_t)j * n + j]));

      if (skew > HJ_MG_SKEW * diagonal) return PETSC_FALSE;
    }
  }
  return PETSC_TRUE;
}

PetscErrorCode HJMGSolveByPseudoinverse(KSP ksp, Mat rows, PetscInt *left)
{
  MPI_Comm     comm = PetscObjectComm((PetscObject)ksp);
  PetscInt     n, local, lo, rank = 0;
  PetscScalar *a, *inverse, *v;
  PetscBool    good = PETSC_FALSE;
  PetscMPIInt  all;
  Mat          A, B;
  PC           pc;

  PetscFunctionBegin;
  *left = -1;
  PetscCall(MatGetSize(rows, &n, NULL));
  if (n > HJ_MG_SVD_MOST) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc2((size_t)n * n, &a, (size_t)n * n, &inverse));
  PetscCall(HJMGGetDense(rows, n, a));
  /* By columns: the pseudoinverse of the transpose is the transpose of that */
  PetscCall(HJMGPseudoinverse(n, a, HJMGDenseIsSymmetric(n, a), HJ_MG_VOID, inverse, &rank, &good));
  all = (PetscMPIInt)good;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm));
  if (all) {
    PetscCall(MatGetLocalSize(rows, &local, NULL));
    PetscCall(MatGetOwnershipRange(rows, &lo, NULL));
    PetscCall(MatCreateDense(comm, local, local, n, n, NULL, &B));
    PetscCall(MatDenseGetArrayWrite(B, &v));
    for (PetscInt j = 0; j < n; j++) PetscCall(PetscArraycpy(&v[(size_t)j * local], &inverse[(size_t)j * n + lo], local));
    PetscCall(MatDenseRestoreArrayWrite(B, &v));
    PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCMAT));
    PetscCall(KSPGetOperators(ksp, &A, NULL));
    PetscCall(KSPSetOperators(ksp, A, B));
    PetscCall(KSPSetUp(ksp));
    PetscCall(MatDestroy(&B));
    *left = n - rank;
  }
  PetscCall(PetscFree2(a, inverse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

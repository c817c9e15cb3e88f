/*
   Bounds of the spectrum of D^-1 A: Gershgorin's from the rows, an estimate from a few steps of GMRES. Decides how each is made,
   not which one is used (src/pc).
*/
#include "hjoperator.h"
#include <petscksp.h>

PetscErrorCode HJGershgorin(Mat A, PetscBool *known, PetscReal *bound)
{
  PetscBool has_rows, upper_only;
  PetscInt  start, end;
  PetscReal local = 0;

  PetscFunctionBegin;
  *bound = 0;
  PetscCall(MatHasOperation(A, MATOP_GET_ROW, &has_rows));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &upper_only, MATSEQSBAIJ, MATMPISBAIJ, ""));
  *known = (PetscBool)(has_rows && !upper_only);
  if (!*known) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) {
    PetscInt           n;
    const PetscInt    *cols;
    const PetscScalar *vals;
    PetscReal          sum = 0, diagonal = 0;

    PetscCall(MatGetRow(A, i, &n, &cols, &vals));
    for (PetscInt j = 0; j < n; j++) {
      sum += PetscAbsScalar(vals[j]);
      if (cols[j] == i) diagonal = PetscAbsScalar(vals[j]);
    }
    PetscCall(MatRestoreRow(A, i, &n, &cols, &vals));
    local = PetscMax(local, sum / (diagonal > 0 ? diagonal : 1));
  }
  PetscCallMPI(MPI_Allreduce(&local, bound, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In [-1, 1); the finaliser of splitmix64 (Steele, Lea, Flood 2014) */
static PetscReal HJHash(PetscInt i)
{
  unsigned long long z = ((unsigned long long)i + 1) * 0x9e3779b97f4a7c15ULL;

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return (PetscReal)(z >> 11) / 4503599627370496.0 - 1; /* 53 bits over 2^52 */
}

/* Start vector in the natural order of the DMDA, which is the same on any number of ranks */
static PetscErrorCode HJFillStart_DA(DM da, PetscScalar a[])
{
  PetscInt dof, M[3], lo[3], n[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, NULL, &M[0], &M[1], &M[2], NULL, NULL, NULL, &dof, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      const PetscInt first = (((lo[2] + k) * M[1] + lo[1] + j) * M[0] + lo[0]) * dof;

      for (PetscInt i = 0; i < n[0] * dof; i++) *a++ = HJHash(first + i);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJFillStart(Vec v, DM dm)
{
  PetscScalar *a;
  PetscInt     n, start, nx, ny, nz, dof;
  PetscBool    da = PETSC_FALSE;
  PetscMPIInt  fits;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetOwnershipRange(v, &start, NULL));
  if (dm) PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &da));
  if (da) {
    PetscCall(DMDAGetDof(dm, &dof));
    PetscCall(DMDAGetCorners(dm, NULL, NULL, NULL, &nx, &ny, &nz));
    fits = n == dof * nx * ny * nz;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)v)));
    da = (PetscBool)fits;
  }
  PetscCall(VecGetArrayWrite(v, &a));
  if (da) PetscCall(HJFillStart_DA(dm, a));
  else
    for (PetscInt i = 0; i < n; i++) a[i] = HJHash(start + i);
  PetscCall(VecRestoreArrayWrite(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJScale(PC pc, Vec x, Vec y)
{
  Vec dinv;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &dinv));
  PetscCall(VecPointwiseMult(y, dinv, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJEstimatorCreate(Mat A, Vec dinv, const char prefix[], KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPAppendOptionsPrefix(*ksp, "pc_hjacobi_esteig_"));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, KSPGMRES));
  PetscCall(KSPSetPCSide(*ksp, PC_LEFT));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_PRECONDITIONED));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCSHELL));
  PetscCall(PCShellSetName(pc, "inverse diagonal"));
  PetscCall(PCShellSetContext(pc, dinv));
  PetscCall(PCShellSetApply(pc, HJScale));
  PetscCall(KSPSetSkipPCSetFromOptions(*ksp, PETSC_TRUE));
  PetscCall(KSPSetComputeEigenvalues(*ksp, PETSC_TRUE));
  PetscCall(KSPSetTolerances(*ksp, 1.e-12, 1.e-50, 1.e50, 10)); /* a test there must be: GMRES must not go on from a zero residual */
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJEstimateEmax(Mat A, Vec dinv, DM dm, const char prefix[], PetscReal *emax)
{
  KSP        ksp;
  Vec        b, x;
  PetscInt   n, found;
  PetscReal *re, *im;

  PetscFunctionBegin;
  PetscCall(HJEstimatorCreate(A, dinv, prefix, &ksp));
  PetscCall(MatCreateVecs(A, &x, &b));
  if (!dm) PetscCall(MatGetDM(A, &dm));
  PetscCall(HJFillStart(b, dm));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &n));
  PetscCall(PetscMalloc2(n, &re, n, &im));
  PetscCall(KSPComputeEigenvalues(ksp, n, re, im, &found));
  *emax = 0;
  for (PetscInt i = 0; i < found; i++) *emax = PetscMax(*emax, re[i]);
  PetscCall(PetscInfo(A, "Largest eigenvalue of D^-1 A after %" PetscInt_FMT " steps: %g\n", n, (double)*emax));
  PetscCall(PetscFree2(re, im));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

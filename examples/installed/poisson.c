/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "2D Poisson by CG + hjmg on a matrix stored as its stencil, set in the program; builds against an installed hjacobi\n";

/* Shows a program that links the library; one that only loads it needs none of the lines with HJ: -dll_append, -dm_mat_type, -pc_type */
#include <pchjacobi.h>
#include <petscdmda.h>
#include <petscksp.h>

static PetscErrorCode ComputeMatrix(KSP ksp, PETSC_UNUSED Mat A, Mat P, PETSC_UNUSED void *ctx)
{
  DM            da;
  DMDALocalInfo info;

  PetscFunctionBeginUser;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const PetscScalar v[5] = {4, -1, -1, -1, -1};
      MatStencil        row  = {.i = i, .j = j};
      /* PETSc drops columns with a negative index: points outside the grid */
      const PetscInt left = i > 0 ? i - 1 : -1, right = i < info.mx - 1 ? i + 1 : -1, down = j > 0 ? j - 1 : -1,
                     up       = j < info.my - 1 ? j + 1 : -1;
      const MatStencil col[5] = {row, {.i = left, .j = j}, {.i = right, .j = j}, {.i = i, .j = down}, {.i = i, .j = up}};

      PetscCall(MatSetValuesStencil(P, 1, &row, 5, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  return 0;
}

static PetscErrorCode ComputeRHS(PETSC_UNUSED KSP ksp, Vec b, PETSC_UNUSED void *ctx)
{
  PetscFunctionBeginUser;
  PetscCall(VecSet(b, 1.0));
  return 0;
}

int main(int argc, char **argv)
{
  DM                 da;
  KSP                ksp;
  PC                 pc;
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 65, 65, PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetMatType(da, MATHJSTENCIL));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(KSPSetComputeOperators(ksp, ComputeMatrix, NULL));
  PetscCall(KSPSetComputeRHS(ksp, ComputeRHS, NULL));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(PCHJMGSetK(pc, 2, (const PetscInt[]){6, 8})); /* as every option has its setter; by default the numbers are found */
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, NULL, NULL));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %" PetscInt_FMT " iterations\n", KSPConvergedReasons[reason], its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return reason > 0 ? 0 : 1;
}

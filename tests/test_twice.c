/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 */
/*
   A program that starts and ends PETSc twice, the plugin loaded by -dll_append each time: registration, options and events must come back.
*/
#include "hjtest.h"
#include <petscdmda.h>
#include <petscksp.h>

/* 2D Poisson, 5 cycles; the norm of the result */
static PetscErrorCode Smooth(PetscReal *norm)
{
  DM            da;
  Mat           A;
  Vec           x, b;
  KSP           ksp;
  PC            pc;
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 33, 33, PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      MatStencil  row = {.i = i, .j = j}, col[5];
      PetscInt    n   = 0;
      PetscScalar v[5];

      v[n] = 4, col[n++] = row;
      if (i > 0) v[n] = -1, col[n++] = (MatStencil){.i = i - 1, .j = j};
      if (i < 32) v[n] = -1, col[n++] = (MatStencil){.i = i + 1, .j = j};
      if (j > 0) v[n] = -1, col[n++] = (MatStencil){.i = i, .j = j - 1};
      if (j < 32) v[n] = -1, col[n++] = (MatStencil){.i = i, .j = j + 1};
      PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 5));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, "hjacobi"));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(VecNorm(x, NORM_2, norm));
  PetscCall(HJTestDestroy(&ksp, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One life of PETSc; code is the exit code once the last has ended */
static PetscErrorCode Live(const char *lib, PetscBool last, PetscReal *norm, PetscReal before, int *code)
{
  PetscLogEvent event;

  PetscCall(PetscInitializeNoArguments());
  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, "-pc_hjacobi_k 3"));
  PetscCall(PetscDLLibraryAppend(PETSC_COMM_WORLD, &PetscDLLibrariesLoaded, lib));
  PetscCall(Smooth(norm));
  PetscCall(PetscLogEventGetId("PCHJacobiCycle", &event));
  PetscCall(HJTestOK((PetscBool)(*norm > 0 && event >= 0), "life %d: smooths, the event is registered", last ? 2 : 1));
  if (last) {
    PetscCall(HJTestOK((PetscBool)(*norm == before), "both lives give the same result"));
    *code = HJTestDone();
  }
  PetscCall(PetscFinalize());
  return PETSC_SUCCESS;
}

int main(int argc, char **argv)
{
  const char *lib   = getenv("LIB") ? getenv("LIB") : "lib/libhjacobi.so";
  PetscReal   first = 0, second = 0;
  int         code = 1;

  if (MPI_Init(&argc, &argv)) return 1;
  if (Live(lib, PETSC_FALSE, &first, 0, &code) || Live(lib, PETSC_TRUE, &second, first, &code)) return 1;
  MPI_Finalize();
  return code;
}

#include <petscksp.h>
#include "hjelasticity.h"
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
int main(int argc, char **argv)
{
  PetscInt n = 65; DM da; Mat A; Vec b, x; PC pc;
  PetscCall(PetscInitialize(&argc, &argv, 0, 0)); PetscCall(PetscOptionsGetInt(0, 0, "-n", &n, 0));
  PetscCall(DMDACreate(PETSC_COMM_WORLD, &da)); PetscCall(DMSetDimension(da, 3)); PetscCall(DMDASetSizes(da, n, n, n)); PetscCall(DMDASetDof(da, 3)); PetscCall(DMDASetStencilWidth(da, 1)); PetscCall(DMDASetStencilType(da, DMDA_STENCIL_BOX)); PetscCall(DMSetMatType(da, "hjstencil")); PetscCall(DMSetVecType(da, "cuda")); PetscCall(DMSetUp(da)); PetscCall(DMCreateMatrix(da, &A));
  PetscCall(ElasticityFill(da, 0.3, 1.0, A));
  PetscCall(DMCreateGlobalVector(da, &b)); PetscCall(VecDuplicate(b, &x)); PetscCall(VecSetRandom(b, NULL));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc)); PetscCall(PCSetType(pc, "hjmg")); PetscCall(PCSetDM(pc, da)); PetscCall(PCSetOperators(pc, A, A)); PetscCall(PCSetFromOptions(pc)); PetscCall(PCSetUp(pc)); 
  for (int t = 0; t < 6; t++) { if (t == 5) { cudaDeviceSynchronize(); cudaProfilerStart(); } PetscCall(PCApply(pc, b, x)); if (t == 5) { PetscCall(MatMult(A, b, x)); cudaDeviceSynchronize(); cudaProfilerStop(); } }
  { PetscBool again = PETSC_FALSE; KSP ksp; PetscInt its; PetscReal nrm; Vec r; PetscCall(PetscOptionsGetBool(0, 0, "-again", &again, 0));
    for (int k = 0; k < 3 && again; k++) { PetscCall(MatScale(A, 2.0)); PetscCall(PCSetOperators(pc, A, A)); PetscCall(PCSetUp(pc)); for (int t = 0; t < 3; t++) PetscCall(PCApply(pc, b, x)); }
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp)); PetscCall(KSPSetOperators(ksp, A, A)); PetscCall(KSPSetType(ksp, KSPCG)); PetscCall(KSPSetPC(ksp, pc)); PetscCall(KSPSetTolerances(ksp, 1e-8, 1e-50, 1e50, 30)); PetscCall(KSPSolve(ksp, b, x)); PetscCall(KSPGetIterationNumber(ksp, &its)); PetscCall(VecDuplicate(b, &r)); PetscCall(MatMult(A, x, r)); PetscCall(VecAXPY(r, -1.0, b)); PetscCall(VecNorm(r, NORM_2, &nrm)); PetscReal bn; PetscCall(VecNorm(b, NORM_2, &bn)); PetscCall(PetscPrintf(PETSC_COMM_WORLD, "CG %d its, true residual %g\n", (int)its, (double)(nrm / bn))); }
  return PetscFinalize();
}

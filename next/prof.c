/* one cycle of hjmg, or one product, between cudaProfilerStart() and Stop(): ncu --profile-from-start off */
#include <petsc.h>
#include <math.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#ifndef PETSC_SUCCESS
#define PETSC_SUCCESS 0
#endif
int main(int argc, char **argv)
{
  PetscInt n[3] = {257, 257, 257}, dim = 3; PetscBool per = PETSC_FALSE, walls = PETSC_FALSE, kept = PETSC_FALSE, smooth = PETSC_FALSE, mult = PETSC_FALSE, view = PETSC_FALSE, rich = PETSC_FALSE; DM da; Mat A; Vec b, x; PC pc; char pct[64] = "hjmg";
  PetscCall(PetscInitialize(&argc, &argv, 0, 0));
  PetscCall(PetscOptionsGetInt(0, 0, "-n", n, 0)); PetscCall(PetscOptionsGetInt(0, 0, "-dim", &dim, 0)); PetscCall(PetscOptionsGetBool(0, 0, "-per", &per, 0)); PetscCall(PetscOptionsGetBool(0, 0, "-walls", &walls, 0)); PetscCall(PetscOptionsGetBool(0, 0, "-kept", &kept, 0)); PetscCall(PetscOptionsGetBool(0, 0, "-smooth", &smooth, 0)); PetscCall(PetscOptionsGetBool(0, 0, "-mult", &mult, 0)); PetscCall(PetscOptionsGetBool(0, 0, "-view", &view, 0)); PetscCall(PetscOptionsGetString(0, 0, "-pct", pct, 64, 0)); PetscCall(PetscOptionsGetBool(0, 0, "-rich", &rich, 0));
  n[1] = n[0]; n[2] = dim == 3 ? n[0] : 1;
  DMBoundaryType bt = per ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  if (dim == 3) PetscCall(DMDACreate3d(PETSC_COMM_WORLD, bt, bt, bt, DMDA_STENCIL_STAR, n[0], n[1], n[2], 1, 1, 1, 1, 1, 0, 0, 0, &da));
  else PetscCall(DMDACreate2d(PETSC_COMM_WORLD, bt, bt, DMDA_STENCIL_STAR, n[0], n[1], 1, 1, 1, 1, 0, 0, &da));
  PetscCall(DMSetMatType(da, "hjstencil")); PetscCall(DMSetVecType(da, "cuda")); PetscCall(DMSetUp(da)); PetscCall(DMCreateMatrix(da, &A));
#define K(i, j, k) (smooth ? exp(0.5 * sin(6.283185307 * (i) / n[0]) * cos(6.283185307 * (j) / n[0])) : 1.0)
#define WALL(p) (walls && (p[0] == 0 || p[1] == 0 || (dim == 3 && p[2] == 0) || p[0] == n[0] - 1 || p[1] == n[1] - 1 || (dim == 3 && p[2] == n[2] - 1)))
  for (PetscInt k = 0; k < n[2]; k++) for (PetscInt j = 0; j < n[1]; j++) for (PetscInt i = 0; i < n[0]; i++) {
    MatStencil row = {.i = i, .j = j, .k = k}, c[7]; PetscScalar v[7], d = 0; PetscInt m = 1, q[3] = {i, j, k}; PetscBool wall = (PetscBool)WALL(q);
    for (int e = 0; e < 2 * dim && !wall; e++) { PetscInt p[3] = {i, j, k}; int o[3] = {0, 0, 0}; o[e / 2] = e % 2 ? 1 : -1; for (int s = 0; s < 3; s++) p[s] += o[s]; PetscScalar w = K(i + 0.5 * o[0], j + 0.5 * o[1], k); d += w; if (!per && (p[e / 2] < 0 || p[e / 2] >= n[e / 2])) continue; if (WALL(p) && !kept) continue; c[m].i = p[0]; c[m].j = p[1]; c[m].k = p[2]; c[m].c = 0; v[m++] = -w; }
    if (wall) d = 2 * dim; c[0] = row; c[0].c = 0; v[0] = d;
    PetscCall(MatSetValuesStencil(A, 1, &row, m, c, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY)); PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY)); if (!kept) PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscCall(DMCreateGlobalVector(da, &b)); PetscCall(VecDuplicate(b, &x)); PetscCall(VecSetRandom(b, NULL));
  if (per) { MatNullSpace N; PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, 0, &N)); PetscCall(MatSetNullSpace(A, N)); PetscCall(MatNullSpaceRemove(N, b)); PetscCall(MatNullSpaceDestroy(&N)); }
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc)); PetscCall(PCSetType(pc, pct)); PetscCall(PCSetDM(pc, da)); PetscCall(PCSetOperators(pc, A, A)); PetscCall(PCSetFromOptions(pc)); PetscCall(PCSetUp(pc));
  if (view) PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  for (int t = 0; t < 6; t++) {
    if (t == 5) { cudaDeviceSynchronize(); cudaProfilerStart(); }
    if (mult) PetscCall(MatMult(A, b, x)); else PetscCall(PCApply(pc, b, x));
    if (t == 5) { cudaDeviceSynchronize(); cudaProfilerStop(); }
  }
  return PetscFinalize();
}

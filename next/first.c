/* What the first solve waits for: each step timed with the device waited for */
#include <petsc.h>
#include <petscdevice.h>
#include <time.h>
static double now(void) { struct timespec t; PetscDeviceContext c; PetscDeviceContextGetCurrentContext(&c); PetscDeviceContextSynchronize(c); clock_gettime(CLOCK_MONOTONIC, &t); return 1e3 * t.tv_sec + 1e-6 * t.tv_nsec; }
static double t0;
#define T(what, call) do { double a = now(); PetscCall(call); PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%9.3f %-28s %8.3f ms\n", a - t0, what, now() - a)); } while (0)
int main(int argc, char **argv)
{
  DM da; Mat A; Vec x, b, y, w[6]; KSP ksp; PC pc; PetscInt n = 4097, dim = 2, xs, ys, zs, xm, ym, zm; PetscBool touch = PETSC_FALSE, dots = PETSC_FALSE, apply = PETSC_FALSE;
  PetscCall(PetscInitialize(&argc, &argv, 0, 0));
  PetscCall(PetscOptionsGetInt(0, 0, "-n", &n, 0)); PetscCall(PetscOptionsGetInt(0, 0, "-dim", &dim, 0));
  PetscCall(PetscOptionsGetBool(0, 0, "-touch", &touch, 0)); PetscCall(PetscOptionsGetBool(0, 0, "-dots", &dots, 0)); PetscCall(PetscOptionsGetBool(0, 0, "-apply", &apply, 0));
  if (dim == 2) PetscCall(DMDACreate2d(PETSC_COMM_WORLD, 0, 0, DMDA_STENCIL_STAR, n, n, 1, 1, 1, 1, 0, 0, &da));
  else PetscCall(DMDACreate3d(PETSC_COMM_WORLD, 0, 0, 0, DMDA_STENCIL_STAR, n, n, n, 1, 1, 1, 1, 1, 0, 0, 0, &da));
  PetscCall(DMSetFromOptions(da)); PetscCall(DMSetUp(da)); PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMDAGetCorners(da, &xs, &ys, &zs, &xm, &ym, &zm));
  for (PetscInt k = zs; k < zs + zm; k++) for (PetscInt j = ys; j < ys + ym; j++) for (PetscInt i = xs; i < xs + xm; i++) {
    MatStencil r = {.i = i, .j = j, .k = k}, c[7]; PetscScalar v[7]; PetscInt m = 0; int d[7][3] = {{0,0,0},{-1,0,0},{1,0,0},{0,-1,0},{0,1,0},{0,0,-1},{0,0,1}};
    for (int e = 0; e < 1 + 2 * dim; e++) { PetscInt q[3] = {i + d[e][0], j + d[e][1], k + d[e][2]}; if (q[0] < 0 || q[1] < 0 || q[0] >= n || q[1] >= n || q[2] < 0 || (dim == 3 && q[2] >= n)) continue; c[m].i = q[0]; c[m].j = q[1]; c[m].k = q[2]; c[m].c = 0; v[m++] = e ? -1 : 2 * dim; }
    PetscCall(MatSetValuesStencil(A, 1, &r, m, c, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY)); PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY)); PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscCall(DMCreateGlobalVector(da, &b)); PetscCall(VecSet(b, 1.));
  PetscCall(VecDuplicate(b, &x));
  t0 = now();
  if (touch) { T("x set", VecSet(x, 0)); for (int i = 0; i < 6; i++) { PetscCall(VecDuplicate(b, &w[i])); T("another vector set", VecSet(w[i], 0)); } for (int i = 0; i < 6; i++) T("destroyed", VecDestroy(&w[i])); PetscCall(VecDuplicate(b, &y)); T("another", VecSet(y, 0)); PetscCall(VecDestroy(&y)); }
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp)); PetscCall(KSPSetOperators(ksp, A, A)); PetscCall(KSPSetDM(ksp, da)); PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE)); PetscCall(KSPSetFromOptions(ksp)); PetscCall(KSPGetPC(ksp, &pc));
  T("KSPSetUp", KSPSetUp(ksp));
  if (dots) { PetscScalar d; PetscReal r; T("dot", VecDot(b, b, &d)); T("dot", VecDot(b, b, &d)); T("norm", VecNorm(b, NORM_2, &r)); T("norm", VecNorm(b, NORM_2, &r)); T("axpy", VecAXPY(b, 0.5, b)); T("axpy", VecAXPY(b, 0.5, b)); }
  if (apply) { PetscCall(VecDuplicate(b, &y)); T("y set", VecSet(y, 0)); for (int i = 0; i < 4; i++) T("PCApply", PCApply(pc, b, y)); for (int i = 0; i < 3; i++) T("MatMult", MatMult(A, b, y)); }
  for (int i = 0; i < 4; i++) T("KSPSolve", KSPSolve(ksp, b, x));
  PetscInt its; PetscCall(KSPGetIterationNumber(ksp, &its)); PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d its\n", (int)its));
  PetscCall(KSPDestroy(&ksp)); PetscCall(VecDestroy(&x)); PetscCall(VecDestroy(&b)); PetscCall(MatDestroy(&A)); PetscCall(DMDestroy(&da));
  return PetscFinalize();
}

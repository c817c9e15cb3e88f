/* hjmg on a GPU beside the host: where one application and two cycles differ */
#include <petsc.h>
#include <math.h>
#ifndef PETSC_SUCCESS
#define PETSC_SUCCESS 0
#endif
#if PETSC_VERSION_LT(3,20,0)
#endif
static PetscErrorCode Compare(Vec a, Vec h, PetscInt n, const char *what)
{
  const PetscScalar *x, *y; PetscReal most = 0, size = 0; PetscInt at = 0, nbad = 0, lo[2] = {1 << 30, 1 << 30}, hi[2] = {-1, -1}; PetscInt N;
  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(a, &N)); PetscCall(VecGetArrayRead(a, &x)); PetscCall(VecGetArrayRead(h, &y));
  for (PetscInt i = 0; i < N; i++) size = PetscMax(size, fabs(y[i]));
  for (PetscInt i = 0; i < N; i++) { PetscReal d = fabs(x[i] - y[i]); if (!(d <= most)) { most = d; at = i; } if (!(d < 1e-9 * size)) { nbad++; PetscInt p[2] = {i % n, i / n}; for (int e = 0; e < 2; e++) { lo[e] = PetscMin(lo[e], p[e]); hi[e] = PetscMax(hi[e], p[e]); } } }
  PetscCall(VecRestoreArrayRead(a, &x)); PetscCall(VecRestoreArrayRead(h, &y));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s: differ by %g of %g at (%d,%d); %d points differ, in [%d,%d]x[%d,%d]\n", what, (double)most, (double)size, (int)(at % n), (int)(at / n), (int)nbad, (int)lo[0], (int)hi[0], (int)lo[1], (int)hi[1]));
  PetscFunctionReturn(0);
}
static PetscErrorCode Make(PetscInt n, PetscBool px, PetscBool py, PetscBool smooth, PetscBool walls, PetscBool singular, const char *type, DM *da, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, px ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE, py ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, 1, 1, 1, 1, 0, 0, da));
  PetscCall(DMSetMatType(*da, "hjstencil")); PetscCall(DMSetVecType(*da, type)); PetscCall(DMSetUp(*da)); PetscCall(DMCreateMatrix(*da, A));
#define K(i, j) (smooth ? exp(0.5 * sin(6.283185307 * (i) / n) * cos(6.283185307 * (j) / n)) : 1.0)
  for (PetscInt j = 0; j < n; j++) for (PetscInt i = 0; i < n; i++) {
    MatStencil row = {.i = i, .j = j}, c[5]; PetscScalar v[5], d = 0; PetscInt m = 1; int o[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}}; PetscBool wall = (PetscBool)(walls && (i == 0 || j == 0 || i == n - 1 || j == n - 1));
    for (int e = 0; e < 4 && !wall; e++) { PetscInt p[2] = {i + o[e][0], j + o[e][1]}; PetscScalar k = K(i + 0.5 * o[e][0], j + 0.5 * o[e][1]); d += k; if ((!px && (p[0] < 0 || p[0] >= n)) || (!py && (p[1] < 0 || p[1] >= n))) continue; if (walls && (p[0] == 0 || p[1] == 0 || p[0] == n - 1 || p[1] == n - 1)) continue; c[m].i = p[0]; c[m].j = p[1]; c[m].k = 0; c[m].c = 0; v[m++] = -k; }
    if (wall) d = 4; if (px && py && !smooth) d = 4; c[0] = row; v[0] = d; if (px && py && !singular) v[0] *= 1 + 1e-7;
    PetscCall(MatSetValuesStencil(*A, 1, &row, m, c, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY)); PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY)); PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(0);
}
int main(int argc, char **argv)
{
  PetscInt n = 256; PetscBool px = PETSC_TRUE, py = PETSC_TRUE, smooth = PETSC_FALSE, walls = PETSC_FALSE, view = PETSC_FALSE, singular = PETSC_FALSE, host = PETSC_TRUE; DM da[2]; Mat A[2]; Vec b[2], x[2]; char type[64] = "cuda"; PC pc[2]; PetscRandom r;
  PetscCall(PetscInitialize(&argc, &argv, 0, 0));
  PetscCall(PetscOptionsGetString(0, 0, "-type", type, 64, 0)); PetscCall(PetscOptionsGetInt(0, 0, "-n", &n, 0)); PetscCall(PetscOptionsGetBool(0, 0, "-px", &px, 0)); PetscCall(PetscOptionsGetBool(0, 0, "-py", &py, 0)); PetscCall(PetscOptionsGetBool(0, 0, "-smooth", &smooth, 0)); PetscCall(PetscOptionsGetBool(0, 0, "-walls", &walls, 0)); PetscCall(PetscOptionsGetBool(0, 0, "-view", &view, 0)); PetscCall(PetscOptionsGetBool(0, 0, "-singular", &singular, 0)); PetscCall(PetscOptionsGetBool(0, 0, "-host", &host, 0));
  for (int i = 0; i < 1 + host; i++) PetscCall(Make(n, px, py, smooth, walls, singular, i ? "standard" : type, &da[i], &A[i]));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &r));
  for (int i = 0; i < 1 + host; i++) { PetscScalar *v; const PetscScalar *w; PetscCall(DMCreateGlobalVector(da[i], &b[i])); PetscCall(VecDuplicate(b[i], &x[i])); PetscCall(VecGetArray(b[i], &v)); for (PetscInt k = 0; k < n * n; k++) v[k] = sin(12.9898 * k + 78.233 * (k % 1013)); PetscCall(VecRestoreArray(b[i], &v)); if (singular) { MatNullSpace N; PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, 0, &N)); PetscCall(MatSetNullSpace(A[i], N)); PetscCall(MatNullSpaceRemove(N, b[i])); PetscCall(MatNullSpaceDestroy(&N)); } }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "n %d, periods %d %d, %s%s\n", (int)n, px, py, smooth ? "smooth" : "constant", walls ? ", walls" : ""));
  for (int i = 0; i < 1 + host; i++) { PetscCall(PCCreate(PETSC_COMM_WORLD, &pc[i])); PetscCall(PCSetOptionsPrefix(pc[i], i ? "h_" : "a_")); PetscCall(PCSetType(pc[i], "hjmg")); PetscCall(PCSetDM(pc[i], da[i])); PetscCall(PCSetOperators(pc[i], A[i], A[i])); PetscCall(PCSetFromOptions(pc[i])); PetscCall(PCSetUp(pc[i])); }
  if (view) PetscCall(PCView(pc[0], PETSC_VIEWER_STDOUT_WORLD));
  for (int i = 0; i < 1 + host; i++) PetscCall(PCApply(pc[i], b[i], x[i]));
  if (host) PetscCall(Compare(x[0], x[1], n, "apply"));
  for (int i = 0; i < 1 + host; i++) { PetscInt its; PCRichardsonConvergedReason why; PetscCall(VecCopy(b[i], x[i])); PetscCall(PCApplyRichardson(pc[i], b[i], x[i], NULL, 0, 0, 0, 2, PETSC_FALSE, &its, &why)); }
  if (host) PetscCall(Compare(x[0], x[1], n, "two cycles"));
  for (int i = 0; i < 1 + host; i++) { KSP ksp; PetscInt its; PetscReal rn; PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp)); PetscCall(KSPSetOperators(ksp, A[i], A[i])); PetscCall(KSPSetType(ksp, KSPCG)); PetscCall(KSPSetPC(ksp, pc[i])); PetscCall(KSPSetTolerances(ksp, 1e-8, 1e-50, 1e50, 20)); PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED)); PetscCall(KSPSolve(ksp, b[i], x[i])); PetscCall(KSPGetIterationNumber(ksp, &its)); PetscCall(KSPGetResidualNorm(ksp, &rn)); PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  %s: CG %d its, residual %g\n", i ? "host" : "GPU", (int)its, (double)rn)); PetscCall(KSPDestroy(&ksp)); }
  return PetscFinalize();
}

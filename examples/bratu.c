/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] =
  "Bratu's equation, -div(grad u) = lambda e^u on a square, by Newton's method (SNES). Its solutions are known (Liouville 1853): for any\n\
f(z), analytic, e^u = 8 |f'|^2 / (lambda (1 + |f|^2)^2). With f = z + z^2 / 2 around the square, the error inside must fall by 4 from\n\
each grid to the next.\n\
  -n <65>        intervals of the coarsest grid are n + 1\n\
  -grids <3>     grids, each with twice the intervals of the one before\n\
  -lambda <4>\n\
  -solution_view binary:<file>   writes u of the last, for examples/pictures.py\n";

#include <petscdmda.h>
#include <petscsnes.h>
#include <petsctime.h>

typedef struct {
  PetscReal lambda;
} Bratu;

/* |f'|^2 = |1 + z|^2, |f|^2 = |z|^2 |1 + z / 2|^2 */
static PetscReal Exact(const Bratu *bratu, PetscReal x, PetscReal y)
{
  const PetscReal slope = PetscSqr(1 + x) + PetscSqr(y);
  const PetscReal f     = (PetscSqr(x) + PetscSqr(y)) * (PetscSqr(1 + x / 2) + PetscSqr(y / 2));

  return PetscLogReal(8 * slope / (bratu->lambda * PetscSqr(1 + f)));
}

/* u at a point, which on the boundary is known; points of the DMDA are those inside */
static PetscReal Value(const DMDALocalInfo *info, const Bratu *bratu, PetscScalar **u, PetscInt i, PetscInt j)
{
  const PetscReal h = 1.0 / (info->mx + 1);

  if (i < 0 || j < 0 || i >= info->mx || j >= info->my) return Exact(bratu, (i + 1) * h, (j + 1) * h);
  return u[j][i];
}

static PetscErrorCode Function(DMDALocalInfo *info, void *u_array, void *f_array, void *ctx)
{
  const Bratu    *bratu = (const Bratu *)ctx;
  const PetscReal h     = 1.0 / (info->mx + 1);
  PetscScalar   **u = (PetscScalar **)u_array, **f = (PetscScalar **)f_array;

  PetscFunctionBeginUser;
  for (PetscInt j = info->ys; j < info->ys + info->ym; j++) {
    for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
      f[j][i] = 4 * u[j][i] - Value(info, bratu, u, i - 1, j) - Value(info, bratu, u, i + 1, j) - Value(info, bratu, u, i, j - 1) -
                Value(info, bratu, u, i, j + 1) - h * h * bratu->lambda * PetscExpReal(u[j][i]);
    }
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode Jacobian(DMDALocalInfo *info, void *u_array, Mat J, Mat P, void *ctx)
{
  const Bratu    *bratu         = (const Bratu *)ctx;
  const PetscReal h             = 1.0 / (info->mx + 1);
  const PetscInt  offsets[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  PetscScalar   **u             = (PetscScalar **)u_array;

  PetscFunctionBeginUser;
  for (PetscInt j = info->ys; j < info->ys + info->ym; j++) {
    for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
      MatStencil  row = {.i = i, .j = j}, col[5] = {row};
      PetscScalar v[5] = {4 - h * h * bratu->lambda * PetscExpReal(u[j][i])};
      PetscInt    n    = 1;

      for (int d = 0; d < 4; d++) {
        const PetscInt p = i + offsets[d][0], q = j + offsets[d][1];

        if (p < 0 || p >= info->mx || q < 0 || q >= info->my) continue;
        col[n] = (MatStencil){.i = p, .j = q};
        v[n++] = -1;
      }
      PetscCall(MatSetValuesStencil(P, 1, &row, n, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  if (J != P) {
    PetscCall(MatAssemblyBegin(J, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(J, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode LargestError(DM da, const Bratu *bratu, Vec x, PetscReal *error)
{
  DMDALocalInfo info;
  PetscScalar **u;
  PetscReal     mine = 0;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArrayRead(da, x, &u));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      mine = PetscMax(mine, PetscAbsReal(u[j][i] - Exact(bratu, (i + 1.0) / (info.mx + 1), (j + 1.0) / (info.my + 1))));
    }
  }
  PetscCall(DMDAVecRestoreArrayRead(da, x, &u));
  PetscCallMPI(MPI_Allreduce(&mine, error, 1, MPIU_REAL, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

/* From u = 0 */
static PetscErrorCode SolveOnGrid(Bratu *bratu, PetscInt n, PetscBool last, PetscReal *error, PetscInt *its, PetscReal *norm)
{
  DM             da;
  SNES           snes;
  KSP            ksp;
  Vec            u;
  PetscInt       steps;
  PetscLogDouble begin, end;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMDASNESSetFunctionLocal(da, INSERT_VALUES, Function, bratu));
  PetscCall(DMDASNESSetJacobianLocal(da, Jacobian, bratu));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, da));
  PetscCall(SNESSetTolerances(snes, 1e-14, 1e-10, 1e-14, 20, 10000));
  PetscCall(SNESSetErrorIfNotConverged(snes, PETSC_TRUE));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, 1e-6, PETSC_DEFAULT, PETSC_DEFAULT, 2000));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(DMCreateGlobalVector(da, &u));
  PetscCall(PetscTime(&begin));
  PetscCall(SNESSolve(snes, NULL, u));
  PetscCall(PetscTime(&end));
  PetscCall(SNESGetIterationNumber(snes, &steps));
  PetscCall(SNESGetLinearSolveIterations(snes, its));
  PetscCall(LargestError(da, bratu, u, error));
  PetscCall(VecNorm(u, NORM_INFINITY, norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "bratu %" PetscInt_FMT "x%" PetscInt_FMT ": %" PetscInt_FMT " solves, %" PetscInt_FMT
                        " iterations, %.3f s, answer %.8e, ",
                        n, n, steps, *its, end - begin, (double)*norm));
  if (last) PetscCall(VecViewFromOptions(u, NULL, "-solution_view"));
  PetscCall(VecDestroy(&u));
  PetscCall(SNESDestroy(&snes));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Bratu     bratu = {4};
  PetscInt  n = 65, grids = 3, its;
  PetscReal error = 0, before, norm;
  PetscBool right = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-grids", &grids, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-lambda", &bratu.lambda, NULL));
  for (PetscInt grid = 0; grid < grids; grid++, n = 2 * n + 1) {
    before = error;
    PetscCall(SolveOnGrid(&bratu, n, (PetscBool)(grid == grids - 1), &error, &its, &norm));
    if (grid) right = (PetscBool)(right && before / error > 3.7 && before / error < 4.3);
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, error %.2e\n", right ? "right" : "WRONG", (double)error));
  }
  PetscCall(PetscFinalize());
  return right ? 0 : 1;
}

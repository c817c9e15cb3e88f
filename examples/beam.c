/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] =
  "A beam that is held at its left end and carries a load at the right one: elasticity in plane stress by bilinear finite elements, two\n\
unknowns a point. The displacements are known (Timoshenko and Goodier): their error must fall by 4 from each grid to the next.\n\
  -n <16>        elements over the height of the first grid, four times as many over the length\n\
  -grids <3>     grids, each with half the spacing of the one before\n\
  -solution_view binary:<file>   writes the displacements on the last grid, for examples/pictures.py\n";

#include <petscdmda.h>
#include <petscksp.h>
#include <petsctime.h>

#define LENGTH  4.0 /* m; the height is 1 */
#define MODULUS 1e3 /* N / m^2, for a thickness of 1 m */
#define POISSON 0.3
#define LOAD    1.0       /* N, downwards */
#define INERTIA (1. / 12) /* of the height */

/* At x from 0 to LENGTH, y from -1/2 to 1/2 */
static void Displacement(PetscReal x, PetscReal y, PetscReal u[2])
{
  const PetscReal scale = LOAD / (6 * MODULUS * INERTIA);

  u[0] = scale * y * ((6 * LENGTH - 3 * x) * x + (2 + POISSON) * (y * y - 0.25));
  u[1] = -scale * (3 * POISSON * y * y * (LENGTH - x) + (4 + 5 * POISSON) * x / 4 + (3 * LENGTH - x) * x * x);
}

/* Of a square element, whose size does not matter: corner 0 is the lower left one, 1 the lower right one, 2 and 3 lie above them */
static void Stiffness(PetscReal K[4][2][4][2])
{
  const PetscReal gauss[2] = {-1 / PetscSqrtReal(3.0), 1 / PetscSqrtReal(3.0)};
  const PetscReal c = MODULUS / (1 - POISSON * POISSON), shear = c * (1 - POISSON) / 2;

  for (int point = 0; point < 4; point++) {
    PetscReal gradient[4][2];

    for (int a = 0; a < 4; a++) {
      const PetscReal sx = a % 2 ? 1 : -1, sy = a / 2 ? 1 : -1;

      gradient[a][0] = sx * (1 + sy * gauss[point / 2]) / 4;
      gradient[a][1] = sy * (1 + sx * gauss[point % 2]) / 4;
    }
    for (int a = 0; a < 4; a++) {
      for (int b = 0; b < 4; b++) {
        const PetscReal *p = gradient[a], *q = gradient[b];

        for (int d = 0; d < 2; d++) {
          K[a][d][b][d] += c * p[d] * q[d] + shear * p[1 - d] * q[1 - d];
          K[a][d][b][1 - d] += c * POISSON * p[d] * q[1 - d] + shear * p[1 - d] * q[d];
        }
      }
    }
  }
}

/* The load of a point of the right end: the parabola of shear times the point's hat function, over its one or two elements there */
static PetscReal EndLoad(PetscInt n, PetscInt j)
{
  const PetscReal gauss = 1 / PetscSqrtReal(3.0), h = 1.0 / n;
  PetscReal       load = 0;

  for (PetscInt e = PetscMax(j - 1, 0); e <= PetscMin(j, n - 1); e++) {
    for (int g = -1; g <= 1; g += 2) {
      const PetscReal y = (e + 0.5 * (1 + g * gauss)) * h - 0.5, hat = 0.5 * (1 + (e == j ? -1 : 1) * g * gauss);

      load -= 0.5 * h * hat * LOAD / (2 * INERTIA) * (0.25 - y * y);
    }
  }
  return load;
}

/* Row d of a point: its entries, and what the points of the left end, whose displacement is known, leave of the right-hand side */
static void Row(const PetscReal K[4][2][4][2], const DMDALocalInfo *info, PetscInt i, PetscInt j, int d, PetscReal row[3][3][2],
                PetscScalar *b)
{
  const PetscInt n = info->my - 1;

  *b = d == 1 && i == info->mx - 1 ? EndLoad(n, j) : 0;
  for (int a = 0; a < 4; a++) {
    const PetscInt ei = i - a % 2, ej = j - a / 2;

    if (ei < 0 || ej < 0 || ei >= info->mx - 1 || ej >= n) continue;
    for (int c = 0; c < 4; c++) {
      const PetscInt p = ei + c % 2, q = ej + c / 2;
      PetscReal      known[2];

      Displacement(0, (PetscReal)q / n - 0.5, known);
      for (int e = 0; e < 2; e++) {
        if (p == 0) *b -= K[a][d][c][e] * known[e];
        else row[1 + c / 2 - a / 2][1 + c % 2 - a % 2][e] += K[a][d][c][e];
      }
    }
  }
}

static PetscErrorCode Discretise(DM da, Mat A, Vec b)
{
  DMDALocalInfo  info;
  PetscScalar ***rhs;
  PetscReal      K[4][2][4][2] = {{{{0}}}};

  PetscFunctionBeginUser;
  Stiffness(K);
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArrayDOF(da, b, &rhs));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      for (int d = 0; d < 2; d++) {
        MatStencil  at = {.i = i, .j = j, .c = d}, col[18];
        PetscScalar v[18];
        PetscReal   row[3][3][2] = {{{0}}}, known[2];
        PetscInt    n            = 0;

        Row(K, &info, i, j, d, row, &rhs[j][i][d]);
        if (i == 0) {
          Displacement(0, (PetscReal)j / (info.my - 1) - 0.5, known);
          PetscCall(PetscMemzero(row, sizeof(row)));
          row[1][1][d] = MODULUS;
          rhs[j][i][d] = MODULUS * known[d];
        }
        for (int k = 0; k < 18; k++) {
          const PetscReal value = row[k / 6][k / 2 % 3][k % 2];

          if (value == 0) continue;
          col[n] = (MatStencil){.i = i + k / 2 % 3 - 1, .j = j + k / 6 - 1, .c = k % 2};
          v[n++] = value;
        }
        PetscCall(MatSetValuesStencil(A, 1, &at, n, col, v, INSERT_VALUES));
      }
    }
  }
  PetscCall(DMDAVecRestoreArrayDOF(da, b, &rhs));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* Largest error of a displacement; *sag: the largest displacement downwards */
static PetscErrorCode Check(DM da, Vec x, PetscReal *error, PetscReal *sag)
{
  DMDALocalInfo  info;
  PetscScalar ***u;
  PetscReal      mine[2] = {0, 0}, all[2], known[2];

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArrayDOFRead(da, x, &u));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      Displacement(LENGTH * i / (info.mx - 1), (PetscReal)j / (info.my - 1) - 0.5, known);
      for (int d = 0; d < 2; d++) mine[0] = PetscMax(mine[0], PetscAbsReal(u[j][i][d] - known[d]));
      mine[1] = PetscMax(mine[1], -PetscRealPart(u[j][i][1]));
    }
  }
  PetscCall(DMDAVecRestoreArrayDOFRead(da, x, &u));
  PetscCallMPI(MPI_Allreduce(mine, all, 2, MPIU_REAL, MPI_MAX, PETSC_COMM_WORLD));
  *error = all[0];
  *sag   = all[1];
  PetscFunctionReturn(0);
}

/* What an algebraic multigrid wants to know: displacements without a strain */
static PetscErrorCode SetRigidModes(DM da, Mat A)
{
  Vec          coordinates;
  MatNullSpace modes;

  PetscFunctionBeginUser;
  PetscCall(DMDASetUniformCoordinates(da, 0, LENGTH, -0.5, 0.5, 0, 0));
  PetscCall(DMGetCoordinates(da, &coordinates));
  PetscCall(MatNullSpaceCreateRigidBody(coordinates, &modes));
  PetscCall(MatSetNearNullSpace(A, modes));
  PetscCall(MatNullSpaceDestroy(&modes));
  PetscFunctionReturn(0);
}

static PetscErrorCode SolveOnGrid(PetscInt n, PetscBool last, PetscReal *error)
{
  DM             da;
  Mat            A;
  Vec            x, b;
  KSP            ksp;
  PetscInt       its;
  PetscReal      sag;
  PetscLogDouble begin, end;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, 4 * n + 1, n + 1, PETSC_DECIDE,
                         PETSC_DECIDE, 2, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(Discretise(da, A, b));
  PetscCall(SetRigidModes(da, A));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 5000));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscTime(&begin));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscTime(&end));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(Check(da, x, error, &sag));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "beam %" PetscInt_FMT "x%" PetscInt_FMT ": 1 solves, %" PetscInt_FMT " iterations, %.3f s, answer %.8e, ",
                        4 * n + 1, n + 1, its, end - begin, (double)sag));
  if (last) PetscCall(VecViewFromOptions(x, NULL, "-solution_view"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt  n = 16, grids = 3;
  PetscReal error = 0, before;
  PetscBool right = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-grids", &grids, NULL));
  for (PetscInt grid = 0; grid < grids; grid++, n *= 2) {
    before = error;
    PetscCall(SolveOnGrid(n, (PetscBool)(grid == grids - 1), &error));
    right = (PetscBool)(right && error < 0.03 && (grid == 0 || (before / error > 3.7 && before / error < 4.3)));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, largest error %.2e m\n", right ? "right" : "WRONG", (double)error));
  }
  PetscCall(PetscFinalize());
  return right ? 0 : 1;
}

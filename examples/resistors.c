/* SPDX-License-Identifier: BSD-2-Clause */
static char help
  [] = "Resistances in a grid of 1 Ohm resistors, by one KSPMatSolve() with 9 right-hand sides: a current into each of 3 x 3 knots in the\n\
middle of a grid whose far ends are joined to the ground. In an endless grid they are known: 1/2 between neighbours, 2/pi over a\n\
diagonal, 4/pi - 1/2 a knight's move away. The error must fall by 4 from each grid to the next.\n\
  -n <63>        knots of the first grid in each direction\n\
  -grids <3>     grids, each with twice as many resistors as the one before\n\
  -solution_view binary:<file>   writes the voltages of the first knot's current on the last grid, for examples/pictures.py\n";

#include <petscdmda.h>
#include <petscksp.h>
#include <petsctime.h>

#define KNOTS 9

/* Between knots that are (x, y) apart, in an endless grid: Atkinson and van Steenwijk, 1999 */
static PetscReal Endless(PetscInt x, PetscInt y)
{
  const PetscReal known[3][3] = {{0, 0.5, 2 - 4 / PETSC_PI},
                                 {0.5, 2 / PETSC_PI, 4 / PETSC_PI - 0.5},
                                 {2 - 4 / PETSC_PI, 4 / PETSC_PI - 0.5, 8 / (3 * PETSC_PI)}};

  return known[PetscAbsInt(x)][PetscAbsInt(y)];
}

static PetscErrorCode Discretise(DM da, Mat A)
{
  const PetscInt offsets[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  DMDALocalInfo  info;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      MatStencil  row = {.i = i, .j = j}, col[5] = {row};
      PetscScalar v[5] = {4};
      PetscInt    n    = 1;

      for (int d = 0; d < 4; d++) {
        const PetscInt p = i + offsets[d][0], q = j + offsets[d][1];

        if (p < 0 || p >= info.mx || q < 0 || q >= info.my) continue;
        col[n] = (MatStencil){.i = p, .j = q};
        v[n++] = -1;
      }
      PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* rows[k]: PETSc's number of knot k, x fastest */
static PetscErrorCode Rows(DM da, PetscInt n, PetscInt rows[KNOTS])
{
  AO ao;

  PetscFunctionBeginUser;
  for (PetscInt k = 0; k < KNOTS; k++) rows[k] = n / 2 - 1 + k % 3 + n * (n / 2 - 1 + k / 3);
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(AOApplicationToPetsc(ao, KNOTS, rows));
  PetscFunctionReturn(0);
}

/* R = V_pp + V_qq - V_pq - V_qp. unequal: the most by which V differs from its transpose, over V (reciprocity) */
static PetscErrorCode Resistances(Mat V, const PetscInt rows[KNOTS], PetscReal *error, PetscReal *unequal)
{
  PetscScalar mine[KNOTS * KNOTS] = {0}, v[KNOTS * KNOTS];
  PetscInt    begin, end;

  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(V, &begin, &end));
  for (PetscInt k = 0; k < KNOTS; k++) {
    if (rows[k] < begin || rows[k] >= end) continue;
    for (PetscInt c = 0; c < KNOTS; c++) PetscCall(MatGetValues(V, 1, &rows[k], 1, &c, &mine[k * KNOTS + c]));
  }
  PetscCallMPI(MPI_Allreduce(mine, v, KNOTS * KNOTS, MPIU_SCALAR, MPI_SUM, PETSC_COMM_WORLD));
  *error = *unequal = 0;
  for (PetscInt p = 0; p < KNOTS; p++) {
    for (PetscInt q = 0; q < KNOTS; q++) {
      const PetscReal R = v[p * KNOTS + p] + v[q * KNOTS + q] - v[p * KNOTS + q] - v[q * KNOTS + p];

      *error   = PetscMax(*error, PetscAbsReal(R - Endless(p % 3 - q % 3, p / 3 - q / 3)));
      *unequal = PetscMax(*unequal, PetscAbsReal(v[p * KNOTS + q] / v[q * KNOTS + p] - 1));
    }
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode ViewColumn(DM da, Mat V)
{
  Vec x, column;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(MatDenseGetColumnVecRead(V, 0, &column));
  PetscCall(VecCopy(column, x));
  PetscCall(MatDenseRestoreColumnVecRead(V, 0, &column));
  PetscCall(VecViewFromOptions(x, NULL, "-solution_view"));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

static PetscErrorCode SolveOnGrid(PetscInt n, PetscBool last, PetscReal *error, PetscReal *unequal)
{
  DM             da;
  Mat            A, currents, V;
  KSP            ksp;
  PetscInt       rows[KNOTS], its, local, size, begin_row, end_row;
  PetscLogDouble begin, end;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Discretise(da, A));
  PetscCall(Rows(da, n, rows));
  PetscCall(MatGetLocalSize(A, &local, NULL));
  PetscCall(MatGetSize(A, &size, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, local, PETSC_DECIDE, size, KNOTS, NULL, &currents));
  PetscCall(MatGetOwnershipRange(currents, &begin_row, &end_row));
  for (PetscInt k = 0; k < KNOTS; k++) {
    if (rows[k] >= begin_row && rows[k] < end_row) PetscCall(MatSetValue(currents, rows[k], k, 1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(currents, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(currents, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(currents, MAT_DO_NOT_COPY_VALUES, &V));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_DEFAULT, PETSC_DEFAULT, 5000));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscTime(&begin));
  PetscCall(KSPMatSolve(ksp, currents, V));
  PetscCall(PetscTime(&end));
  PetscCall(KSPGetTotalIterations(ksp, &its));
  PetscCall(Resistances(V, rows, error, unequal));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "resistors %" PetscInt_FMT "x%" PetscInt_FMT ": %d solves, %" PetscInt_FMT " iterations, %.3f s, answer %.8e, ", n,
                        n, KNOTS, its, end - begin, (double)*error));
  if (last) PetscCall(ViewColumn(da, V));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&currents));
  PetscCall(MatDestroy(&V));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt  n = 63, grids = 3;
  PetscReal error = 0, before, unequal;
  PetscBool right = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-grids", &grids, NULL));
  for (PetscInt grid = 0; grid < grids; grid++, n = 2 * n + 1) {
    before = error;
    PetscCall(SolveOnGrid(n, (PetscBool)(grid == grids - 1), &error, &unequal));
    right = (PetscBool)(right && unequal < 1e-7 && (grid == 0 || (before / error > 3.7 && before / error < 4.3)));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, largest error %.2e Ohm\n", right ? "right" : "WRONG", (double)error));
  }
  PetscCall(PetscFinalize());
  return right ? 0 : 1;
}

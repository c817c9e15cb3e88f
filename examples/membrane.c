/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] =
  "Tones of a drum of three squares in the form of an L: the five smallest eigenvalues of -laplace, by SLEPc's shift and invert, each\n\
step of which is a solve. The third is 2 pi^2, whose error must fall by 4 from each grid to the next; the first, 9.6397238, belongs to a\n\
mode that is rough at the inner corner, where the error falls by 2 to 2.52. Options of the solver have no prefix.\n\
  -n <63>        points of the first grid in each direction, an odd number\n\
  -grids <3>     grids, each with half the spacing of the one before\n\
  -solution_view binary:<file>::append   writes the first three modes on the last grid, for examples/pictures.py\n";

#include <petscdmda.h>
#include <petsctime.h>
#include <slepceps.h>

#define MODES 5

typedef struct {
  PetscInt solves, iterations;
} Work;

static PetscErrorCode Count(KSP ksp, PETSC_UNUSED Vec b, PETSC_UNUSED Vec x, void *ctx)
{
  Work    *work = (Work *)ctx;
  PetscInt its;

  PetscFunctionBeginUser;
  PetscCall(KSPGetIterationNumber(ksp, &its));
  work->solves++;
  work->iterations += its;
  PetscFunctionReturn(0);
}

/* Points inside the square from 0 to 2, without the quarter above and right of its middle */
static PetscBool Inside(PetscInt n, PetscInt i, PetscInt j)
{
  return (PetscBool)(i >= 0 && j >= 0 && i < n && j < n && (i < n / 2 || j < n / 2));
}

/* Points of the quarter that is left out have rows of their diagonal alone: the largest eigenvalue, which nobody looks for */
static PetscErrorCode Discretise(DM da, Mat A)
{
  const PetscInt offsets[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  DMDALocalInfo  info;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      const PetscReal coupling = PetscSqr(0.5 * (info.mx + 1));
      MatStencil      row = {.i = i, .j = j}, col[5] = {row};
      PetscScalar     v[5] = {8 * coupling};
      PetscInt        n    = 1;

      if (Inside(info.mx, i, j)) v[0] = 4 * coupling;
      for (int d = 0; d < 4 && Inside(info.mx, i, j); d++) {
        const PetscInt p = i + offsets[d][0], q = j + offsets[d][1];

        if (!Inside(info.mx, p, q)) continue;
        col[n] = (MatStencil){.i = p, .j = q};
        v[n++] = -coupling;
      }
      PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode CreateSolver(Mat A, Work *work, EPS *eps)
{
  ST  st;
  KSP ksp;

  PetscFunctionBeginUser;
  PetscCall(EPSCreate(PETSC_COMM_WORLD, eps));
  PetscCall(EPSSetOperators(*eps, A, NULL));
  PetscCall(EPSSetProblemType(*eps, EPS_HEP));
  PetscCall(EPSSetWhichEigenpairs(*eps, EPS_TARGET_MAGNITUDE));
  PetscCall(EPSSetTarget(*eps, 0));
  PetscCall(EPSSetDimensions(*eps, MODES, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(EPSSetTolerances(*eps, 1e-9, PETSC_DEFAULT));
  PetscCall(EPSGetST(*eps, &st));
  PetscCall(STSetType(st, STSINVERT));
  PetscCall(STGetKSP(st, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, NULL));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-11, PETSC_DEFAULT, PETSC_DEFAULT, 5000));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetPostSolve(ksp, Count, work));
  PetscCall(EPSSetFromOptions(*eps));
  PetscFunctionReturn(0);
}

static PetscErrorCode ViewModes(EPS eps, Mat A)
{
  Vec x;

  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(A, &x, NULL));
  for (PetscInt k = 0; k < 3; k++) {
    DM  da;
    Vec mode;

    PetscCall(MatGetDM(A, &da));
    PetscCall(DMCreateGlobalVector(da, &mode));
    PetscCall(EPSGetEigenvector(eps, k, x, NULL));
    PetscCall(VecCopy(x, mode));
    PetscCall(VecViewFromOptions(mode, NULL, "-solution_view"));
    PetscCall(VecDestroy(&mode));
  }
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

static PetscErrorCode SolveOnGrid(PetscInt n, PetscBool last, PetscReal error[2])
{
  DM             da;
  Mat            A;
  EPS            eps;
  PetscInt       found;
  PetscScalar    tone[MODES] = {0};
  Work           work        = {0, 0};
  PetscLogDouble begin, end;

  PetscFunctionBeginUser;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Discretise(da, A));
  PetscCall(CreateSolver(A, &work, &eps));
  PetscCall(PetscTime(&begin));
  PetscCall(EPSSolve(eps));
  PetscCall(PetscTime(&end));
  PetscCall(EPSGetConverged(eps, &found));
  for (PetscInt k = 0; k < PetscMin(found, MODES); k++) PetscCall(EPSGetEigenvalue(eps, k, &tone[k], NULL));
  error[0] = PetscAbsReal(tone[0] - 9.6397238440219);
  error[1] = PetscAbsReal(tone[2] - 2 * PetscSqr(PETSC_PI));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "membrane %" PetscInt_FMT "x%" PetscInt_FMT ": %" PetscInt_FMT " solves, %" PetscInt_FMT
                        " iterations, %.3f s, answer %.8e, ",
                        n, n, work.solves, work.iterations, end - begin, (double)tone[0]));
  if (last && found >= 3) PetscCall(ViewModes(eps, A));
  PetscCall(EPSDestroy(&eps));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  PetscInt  n = 63, grids = 3;
  PetscReal error[2] = {0, 0}, before[2];
  PetscBool right    = PETSC_TRUE;

  PetscFunctionBeginUser;
  PetscCall(SlepcInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-grids", &grids, NULL));
  for (PetscInt grid = 0; grid < grids; grid++, n = 2 * n + 1) {
    before[0] = error[0];
    before[1] = error[1];
    PetscCall(SolveOnGrid(n, (PetscBool)(grid == grids - 1), error));
    right = (PetscBool)(right && error[0] < 0.2 && error[1] < 0.1 &&
                        (grid == 0 || (before[1] / error[1] > 3.7 && before[1] / error[1] < 4.3 && before[0] / error[0] > 2 &&
                                       before[0] / error[0] < 2.6)));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, errors of tones 1 and 3: %.2e, %.2e\n", right ? "right" : "WRONG", (double)error[0],
                          (double)error[1]));
  }
  PetscCall(SlepcFinalize());
  return right ? 0 : 1;
}

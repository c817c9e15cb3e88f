/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 3 4 */
/*
   Matrices that are hard for PCHJMG: convection, rows of very different scales, singular matrices of which nobody said so.
*/
#include "hjmgcase.h"
#include "hjcapture.h"

/* The rows of the first and last points in y become those of the identity */
static PetscErrorCode ZeroEndLines(DM da, Mat A)
{
  PetscInt   N, xs, ys, nx, ny, n = 0;
  MatStencil row[130];

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, NULL, NULL, &N, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &nx, &ny, NULL));
  for (PetscInt i = xs; i < xs + nx && !ys; i++) row[n++] = (MatStencil){.i = i};
  for (PetscInt i = xs; i < xs + nx && ys + ny == N; i++) row[n++] = (MatStencil){.i = i, .j = N - 1};
  PetscCall(MatZeroRowsStencil(A, n, row, 1.0, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of the boundary that are small beside the others, whose columns are kept: iterations and answer are those of rows of one size, also
   where coarse grids are on one rank, where no two rows are the same, and with a period of an odd number of points */
static PetscErrorCode TestSmallIdentity(PetscBool distinct, PetscInt rank_points, PetscBool odd)
{
  const Problem p = {2, {odd ? 13 : 65, odd ? 66 : 65, 1}, odd ? PERIODIC_FIRST : IDENTITY, CONSTANT, PETSC_FALSE};
  DM            da;
  Mat           A;
  Vec           b, d, x[2];
  PetscInt      n, its[2];
  PetscReal     diff, norm;
  PetscScalar  *scale;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_TRUE, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(VecDuplicate(b, &d));
  if (odd) PetscCall(ZeroEndLines(da, A));
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(VecGetLocalSize(d, &n));
  PetscCall(VecGetArray(d, &scale));
  for (PetscInt i = 0; i < n; i++) scale[i] = scale[i] == 1.0 ? 1.0 : 1e6 * (1.0 + distinct * 1e-3 * PetscSinReal((PetscReal)i));
  PetscCall(VecRestoreArray(d, &scale));
  for (int scaled = 0; scaled < 2; scaled++) {
    KSP ksp;
    PC  pc;

    if (scaled) {
      PetscCall(MatDiagonalScale(A, d, NULL));
      PetscCall(VecPointwiseMult(b, b, d));
    }
    PetscCall(VecDuplicate(b, &x[scaled]));
    PetscCall(ProblemKSP(da, A, odd ? KSPRICHARDSON : KSPGMRES, PCHJMG, &ksp, &pc));
    PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-12), 0.0, 1e10, 60));
    PetscCall(PCHJMGSetRankPoints(pc, rank_points));
    PetscCall(KSPSolve(ksp, b, x[scaled]));
    PetscCall(KSPGetIterationNumber(ksp, &its[scaled]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecNorm(x[0], NORM_2, &norm));
  PetscCall(VecAXPY(x[1], -1.0, x[0]));
  PetscCall(VecNorm(x[1], NORM_2, &diff));
  PetscCall(HJTestOK((PetscBool)(its[1] <= its[0] + 2 && its[1] < 60),
                     "small identity rows%s: %" PetscInt_FMT " iterations, of one size %" PetscInt_FMT,
                     distinct ? ", all rows distinct"
                     : odd    ? ", odd period"
                              : "",
                     its[1], its[0]));
  PetscCall(HJTestOK((PetscBool)(diff < HJTestDigits(1e-6) * norm), "small identity rows%s: the answer is that of rows of one size (%g)",
                     distinct ? ", all rows distinct"
                     : odd    ? ", odd period"
                              : "",
                     (double)(diff / norm)));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
  PetscCall(HJTestDestroy(&d, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -u'' + c u' by central differences in 1D: c is the share of the skew part of a row, which doubles from grid to grid */
static PetscErrorCode FillConvection(DM da, PetscReal c, Mat A)
{
  PetscInt n, first, count;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, NULL, &n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &first, NULL, NULL, &count, NULL, NULL));
  for (PetscInt i = first; i < first + count; i++) {
    const MatStencil  row = {.i = i}, col[3] = {{.i = i - 1}, {.i = i}, {.i = i + 1}};
    const PetscScalar v[3] = {-1.0 - c, 2.0, -1.0 + c};
    const PetscInt    lo = i ? 0 : 1, hi = i < n - 1 ? 3 : 2;

    PetscCall(MatSetValuesStencil(A, 1, &row, hi - lo, &col[lo], &v[lo], INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Convection that no coarse grid bears: what is said to be solved is. Grids go, and come back, with the values */
static PetscErrorCode TestConvection(void)
{
  const PetscReal share[] = {0.0, 0.3, 0.9, 0.0};
  DM              da;
  Mat             A;
  KSP             ksp;
  PC              pc;
  Vec             b, x, exact;
  PetscInt        levels[4];

  PetscFunctionBegin;
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, 278, 1, 1, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMCreateGlobalVector(da, &exact));
  PetscCall(ProblemVector(da, 1, exact));
  PetscCall(VecDuplicate(exact, &b));
  PetscCall(VecDuplicate(exact, &x));
  PetscCall(ProblemKSP(NULL, A, KSPGMRES, PCHJMG, &ksp, &pc));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), 0.0, 1e10, 60));
  for (int i = 0; i < 4; i++) {
    KSPConvergedReason reason;
    PetscReal          norm[2];

    PetscCall(FillConvection(da, share[i], A));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(MatMult(A, exact, b));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PCHJMGGetLevels(pc, &levels[i]));
    PetscCall(VecAXPY(x, -1.0, exact));
    PetscCall(VecNorm(x, NORM_2, &norm[0]));
    PetscCall(VecNorm(exact, NORM_2, &norm[1]));
    PetscCall(HJTestOK((PetscBool)(reason > 0 && norm[0] < HJTestDigits(1e-4) * norm[1]), "convection, share %g: solved, error %g",
                       (double)share[i], (double)(norm[0] / norm[1])));
  }
  PetscCall(HJTestOK((PetscBool)(levels[1] < levels[0] && levels[3] == levels[0]),
                     "convection: %" PetscInt_FMT ", %" PetscInt_FMT ", %" PetscInt_FMT ", %" PetscInt_FMT " levels", levels[0], levels[1],
                     levels[2], levels[3]));
  PetscCall(FillConvection(da, 0.3, A));
  for (PetscInt k = 1; k <= 64; k += 63) {
    PetscCall(PCHJMGSetK(pc, 1, &k));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetUp(ksp));
    CollectBegin();
    PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
    CollectEnd();
    PetscCall(HJTestOK((PetscBool)(!printed[0] || (strstr(printed, "is not safe for so unsymmetric a matrix") != NULL) == (k == 64)),
                       "convection: the view says whether k = %" PetscInt_FMT " is safe", k));
  }
  PetscCall(HJTestDestroy(&ksp, &exact, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that is not symmetric: set-up looks for no least eigenvalue, which it did in thousands of products. A small grid of much
   convection is solved by its inverse, on the CPU also where it is the finest, on any number of ranks */
static PetscErrorCode TestUnsettled(PetscInt n, PetscReal share)
{
  DM                 da;
  Mat                A;
  KSP                ksp;
  PC                 pc;
  Vec                b, x;
  PetscInt           its;
  PetscLogDouble     before, after;
  PetscBool          device;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, n, 1, 1, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(FillConvection(da, share, A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)b, &device, VECSEQCUDA, VECMPICUDA, ""));
  PetscCall(ProblemKSP(NULL, A, KSPGMRES, PCHJMG, &ksp, &pc));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), 0.0, 1e10, 60));
  PetscCall(PetscGetFlops(&before));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscGetFlops(&after));
  PetscCall(ProblemSolve(ksp, A, b, x, &its, &reason, NULL));
  PetscCall(HJTestOK((PetscBool)(after - before < 2000.0 * n), "set-up of %" PetscInt_FMT " points, convection %g: %g operations a point",
                     n, (double)share, (double)((after - before) / n)));
  PetscCall(HJTestOK((PetscBool)(reason > 0 && (its <= 5 || device)),
                     "%" PetscInt_FMT " points, convection %g: %" PetscInt_FMT " iterations", n, (double)share, its));
  PetscCall(HJTestDestroy(&ksp, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Differences of 5 points; at the boundary a one-sided equation, times scale: u is given where x is 0, and has no flux elsewhere */
static PetscErrorCode FillOneSided(DM da, PetscReal scale, Mat A)
{
  PetscInt N[2], lo[2], n[2];

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, NULL, &N[0], &N[1], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], NULL, &n[0], &n[1], NULL));
  for (PetscInt j = lo[1]; j < lo[1] + n[1]; j++) {
    for (PetscInt i = lo[0]; i < lo[0] + n[0]; i++) {
      const MatStencil  col[] = {{.i = i, .j = j}, {.i = i - 1, .j = j}, {.i = i + 1, .j = j}, {.i = i, .j = j - 1}, {.i = i, .j = j + 1}};
      const PetscScalar inner[] = {4, -1, -1, -1, -1}, outer[] = {scale, -scale};
      const MatStencil  pair[] = {col[0], j == 0 ? col[4] : j == N[1] - 1 ? col[3] : col[1]};
      const PetscBool   ends   = (PetscBool)(i == N[0] - 1 || j == 0 || j == N[1] - 1);

      if (i == 0) PetscCall(MatSetValuesStencil(A, 1, col, 1, col, outer, INSERT_VALUES));
      else if (ends) PetscCall(MatSetValuesStencil(A, 1, col, 2, pair, outer, INSERT_VALUES));
      else PetscCall(MatSetValuesStencil(A, 1, col, 5, col, inner, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The scale of the boundary's equations costs few iterations, whichever it is, and whichever it was */
static PetscErrorCode TestScaledRows(PetscBool stencil)
{
  const PetscReal    scales[] = {60.0, 1.0, 0.02};
  const char        *name     = stencil ? "hjstencil, equations of the boundary times" : "aij, equations of the boundary times";
  DM                 da;
  Mat                A;
  KSP                ksp;
  PC                 pc;
  Vec                b, x, exact;
  KSPConvergedReason reason;
  PetscReal          difference = 0;
  PetscBool          agree      = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 49, 34, PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                         NULL, NULL, &da));
  if (stencil) PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetMatType(da, stencil ? MATHJSTENCIL : MATAIJ));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMCreateGlobalVector(da, &exact));
  PetscCall(ProblemVector(da, 1, exact));
  PetscCall(VecDuplicate(exact, &b));
  PetscCall(VecDuplicate(exact, &x));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetTolerances(ksp, HJ_BY_PRECISION(1e-10, 1e-6), 0.0, 1e10, 60));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  for (int i = 0; i < 3; i++) {
    for (int method = 0; method < 3; method++) {
      PetscInt  its;
      PetscReal norm[2];

      PetscCall(KSPSetType(ksp, method ? KSPRICHARDSON : KSPGMRES));
      PetscCall(PCHJMGSetTransfer(pc, method > 1 ? PC_HJMG_TRANSFER_OPERATOR : PC_HJMG_TRANSFER_AUTO));
      PetscCall(KSPSetPCSide(ksp, method ? PC_LEFT : PC_RIGHT));
      if (!method) PetscCall(FillOneSided(da, scales[i], A));
      PetscCall(KSPSetOperators(ksp, A, A));
      PetscCall(MatMult(A, exact, b));
      PetscCall(ProblemSolve(ksp, A, b, x, &its, &reason, NULL));
      PetscCall(VecNorm(exact, NORM_2, &norm[0]));
      PetscCall(VecAXPY(x, -1.0, exact));
      PetscCall(VecNorm(x, NORM_2, &norm[1]));
      PetscCall(HJTestOK((PetscBool)(reason > 0 && its <= (method ? 20 : 10) && norm[1] < HJTestDigits(1e-5) * norm[0]),
                         "%s %g: %" PetscInt_FMT " iterations of %s, error %g", name, (double)scales[i], its,
                         (const char *[]){"gmres", "richardson", "richardson with coefficients from the rows"}[method],
                         (double)(norm[1] / norm[0])));
    }
    PetscCall(AdjointAgrees(pc, PCApplyTranspose, exact, b, ROUNDING, &agree, &difference));
    PetscCall(HJTestOK(agree, "%s %g: the transposed cycle is the transpose", name, (double)scales[i]));
  }
  CollectBegin();
  PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  CollectEnd();
  PetscCall(HJTestOK((PetscBool)!strstr(printed, "coarser grid: \n"), "%s %g: the view says why there is no coarser grid", name,
                     (double)scales[2]));
  PetscCall(HJTestDestroy(&ksp, &exact, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A singular matrix that nobody calls so, and is not symmetric, on grids down to one point, whose equation is then rounding: what is said
   to be solved is */
static PetscErrorCode TestVoid(void)
{
  DM                 da;
  Mat                A;
  KSP                ksp;
  PC                 pc;
  Vec                b, x, exact;
  PetscReal          norm;
  PetscInt           first, count, its;
  KSPConvergedReason reason;
  const PetscInt     n = 33;

  PetscFunctionBegin;
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, n, 1, 1, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMDAGetCorners(da, &first, NULL, NULL, &count, NULL, NULL));
  for (PetscInt i = first; i < first + count; i++) {
    const MatStencil  row = {.i = i}, col[3] = {{.i = i - 1}, {.i = i}, {.i = i + 1}};
    const PetscReal   left = i ? 1.0 + 0.2 * PetscSinReal(i) : 0.0, right = i < n - 1 ? 1.0 + 0.2 * PetscCosReal(3 * i) : 0.0;
    const PetscScalar v[3] = {-left, left + right, -right};
    const PetscInt    lo = i ? 0 : 1, hi = i < n - 1 ? 3 : 2;

    PetscCall(MatSetValuesStencil(A, 1, &row, hi - lo, &col[lo], &v[lo], INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(DMCreateGlobalVector(da, &exact));
  PetscCall(ProblemVector(da, 1, exact));
  PetscCall(VecDuplicate(exact, &b));
  PetscCall(VecDuplicate(exact, &x));
  PetscCall(MatMult(A, exact, b));
  PetscCall(ProblemKSP(NULL, A, KSPGMRES, PCHJMG, &ksp, &pc));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), 0.0, 1e10, 60));
  PetscCall(PCHJMGSetLevels(pc, 10));
  PetscCall(ProblemSolve(ksp, A, b, x, &its, &reason, &norm));
  PetscCall(HJTestOK((PetscBool)(reason > 0 && norm <= HJTestDigits(1e-7)), "singular and not said so, down to one point: residual %g",
                     (double)norm));
  PetscCall(HJTestDestroy(&ksp, &exact, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a matrix that is singular, of which nobody said so, and a right-hand side in its range */
static PetscErrorCode CheckSingular(KSP ksp, Mat A, Vec b, Vec x, const char what[])
{
  PetscInt           its;
  PetscReal          norm = 0;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(ProblemSolve(ksp, A, b, x, &its, &reason, &norm));
  PetscCall(HJTestOK((PetscBool)(reason > 0 && its <= 8 && norm <= HJTestDigits(1e-7)), "%s: %" PetscInt_FMT " iterations, residual %g",
                     what, its, (double)norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Singular, and nobody said so: rounding, here a shift, has made the eigenvalue of the constants negative. The inverse of the coarsest grid
   must not have it, or the cycle would be indefinite */
static PetscErrorCode TestRounding(void)
{
  const Problem p = {2, {65, 49, 1}, NEUMANN, VARYING, PETSC_FALSE};
  DM            da;
  Mat           A;
  KSP           ksp;
  PC            pc;
  Vec           b, x, exact;
  PetscScalar   dot;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_TRUE, &da, &A));
  PetscCall(MatShift(A, -1e-11));
  PetscCall(MakeKSP(A, KSPCG, 50, &ksp, &pc));
  PetscCall(PCHJMGSetCoarseSolve(pc, PC_HJMG_COARSE_SOLVE_INVERSE));
  PetscCall(DMCreateGlobalVector(da, &exact));
  PetscCall(ProblemVector(da, 1, exact));
  PetscCall(VecDuplicate(exact, &b));
  PetscCall(VecDuplicate(exact, &x));
  PetscCall(MatMult(A, exact, b));
  PetscCall(CheckSingular(ksp, A, b, x, "singular by rounding"));
  PetscCall(VecSet(b, 1.0));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecDot(b, x, &dot));
  PetscCall(HJTestOK((PetscBool)(PetscRealPart(dot) > 0), "its cycle is positive definite: %g", (double)PetscRealPart(dot)));
  PetscCall(HJTestDestroy(&ksp, &exact, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lakes of 3 x 3 points that nothing couples to one another, nor to a boundary */
static PetscErrorCode FillLakes(DM da, Mat A)
{
  PetscInt s[2], n[2];

  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], NULL, &n[0], &n[1], NULL));
  for (PetscInt j = s[1]; j < s[1] + n[1]; j++) {
    for (PetscInt i = s[0]; i < s[0] + n[0]; i++) {
      const PetscInt off[4][2] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
      MatStencil     row       = {.i = i, .j = j}, col[5];
      PetscScalar    v[5]      = {0.0};
      PetscInt       m         = 1;

      col[0] = row;
      for (int o = 0; o < 4; o++) {
        const PetscInt x = i + off[o][0], y = j + off[o][1];

        if (x < 0 || y < 0 || x / 3 != i / 3 || y / 3 != j / 3) continue;
        col[m] = (MatStencil){.i = x, .j = y};
        v[m]   = -1.0 - 0.9 * PetscSinReal((i + x) * 0.7 + (j + y) * 1.3);
        v[0] -= v[m++];
      }
      PetscCall(MatSetValuesStencil(A, 1, &row, m, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each lake has its own constants in the null space, and nobody said so: where it is one point of a coarse grid its equation is rounding,
   which must not make the cycle huge there, or indefinite. Also with new values */
static PetscErrorCode TestLakes(PetscBool stencil)
{
  const Problem p = {2, {39, 39, 1}, NEUMANN, CONSTANT, PETSC_FALSE};
  DM            da;
  Mat           A;
  KSP           ksp;
  PC            pc;
  Vec           b, x, lakes;
  PetscScalar **a, dot;
  PetscInt      s[2], n[2];
  PetscReal     largest;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, stencil, &da, &A));
  PetscCall(MakeKSP(A, KSPCG, 50, &ksp, &pc));
  PetscCall(ProblemVectors(da, &lakes, &b, &x));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], NULL, &n[0], &n[1], NULL));
  PetscCall(DMDAVecGetArray(da, lakes, &a));
  for (PetscInt j = s[1]; j < s[1] + n[1]; j++)
    for (PetscInt i = s[0]; i < s[0] + n[0]; i++) a[j][i] = PetscSinReal(1.0 + i / 3 + 3 * (j / 3));
  PetscCall(DMDAVecRestoreArray(da, lakes, &a));
  for (int again = 0; again < 2; again++) {
    PetscCall(FillLakes(da, A));
    if (again) PetscCall(MatScale(A, 1.7));
    PetscCall(ProblemVector(da, 1, x));
    PetscCall(MatMult(A, x, b));
    PetscCall(CheckSingular(ksp, A, b, x, "lakes"));
    PetscCall(PCApply(pc, lakes, x));
    PetscCall(VecDot(lakes, x, &dot));
    PetscCall(VecNorm(x, NORM_INFINITY, &largest));
    PetscCall(
      HJTestOK((PetscBool)(PetscRealPart(dot) > 0 && largest < 1e4), "a cycle of their constants is positive, up to %g", (double)largest));
  }
  PetscCall(HJTestDestroy(&ksp, &lakes, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(ProblemInitialize(&argc, &argv));
  PetscCall(TestConvection());
  for (int stencil = 0; stencil < 2; stencil++) PetscCall(TestScaledRows((PetscBool)stencil));
  PetscCall(TestUnsettled(40, 0.99));
  PetscCall(TestUnsettled(400, 0.05));
  PetscCall(TestVoid());
  PetscCall(TestRounding());
  for (int stencil = 0; stencil < 2; stencil++) PetscCall(TestLakes((PetscBool)stencil));
  PetscCall(TestSmallIdentity(PETSC_FALSE, PETSC_DECIDE, PETSC_FALSE));
  PetscCall(TestSmallIdentity(PETSC_FALSE, 100000, PETSC_FALSE));
  PetscCall(TestSmallIdentity(PETSC_TRUE, PETSC_DECIDE, PETSC_FALSE));
  PetscCall(TestSmallIdentity(PETSC_FALSE, PETSC_DECIDE, PETSC_TRUE));
  return HJTestEnd();
}

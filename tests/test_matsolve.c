/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   Preconditioners and solvers on MATHJSTENCIL: the iterations and answers of AIJ; values that change between solves; coarse operators;
   colouring.
*/
#include "hjcase.h"
#include <petscsnes.h>

static const struct {
  const char *name, *options;
} solvers[] = {
  {"hjacobi under CG", "-ksp_type cg -pc_type hjacobi -pc_hjacobi_operator stencil"},
  {"hjacobi alone", "-ksp_type richardson -pc_type hjacobi -pc_hjacobi_k 6"},
  {"Chebyshev with Jacobi", "-ksp_type chebyshev -pc_type jacobi -ksp_max_it 400"},
  {"CG with SOR", "-ksp_type cg -pc_type sor"},
  {"block Jacobi, ILU", "-ksp_type gmres -pc_type bjacobi"},
  {"algebraic multigrid", "-ksp_type gmres -pc_type gamg -pc_gamg_coarse_eq_limit 10"},
  {"block Jacobi, one block of all ranks", "-ksp_type gmres -pc_type bjacobi -pc_bjacobi_blocks 1 -sub_pc_type jacobi"},
  {"additive Schwarz", "-ksp_type gmres -pc_type asm -pc_asm_overlap 2"},
  {"redundant LU", "-ksp_type preonly -pc_type redundant -ksp_norm_type none"},
  {"telescope", "-ksp_type cg -pc_type telescope -telescope_pc_type jacobi"},
  {"multigrid, hjacobi", "-ksp_type cg -pc_type mg -pc_mg_levels 2 -mg_levels_ksp_type richardson "
                         "-mg_levels_pc_type hjacobi "
                         "-mg_levels_pc_hjacobi_operator stencil"},
  {"multigrid, Galerkin", "-ksp_type cg -pc_type mg -pc_mg_levels 2 -pc_mg_galerkin both"},
  {"multigrid, default smoother", "-ksp_type cg -pc_type mg -pc_mg_levels 2"},
  {"multigrid, hjmg below", "-ksp_type cg -pc_type mg -pc_mg_levels 2 -mg_levels_ksp_type richardson -mg_levels_pc_type hjacobi "
                            "-mg_coarse_pc_type hjmg"},
#if PetscDefined(HAVE_HYPRE)
  {"BoomerAMG", "-ksp_type cg -pc_type hypre"}, /* by MatConvert() to its own type */
#endif
};

/* Vectors lie where -backend says */
static PetscErrorCode GridOf(const Problem *p, DM *da)
{
  PetscFunctionBegin;
  PetscCall(ProblemDM(p, da));
  PetscCall(CaseSetVecType(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillRow(KSP ksp, Mat J, Mat P, void *ctx)
{
  const Problem *p = (const Problem *)ctx;
  DM             da;
  PetscInt       n[3];
  Problem        here = *p;

  PetscFunctionBegin;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(DMDAGetInfo(da, NULL, &n[0], &n[1], &n[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(PetscArraycpy(here.n, n, 3));
  PetscCall(ProblemFill(&here, da, 0, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RightHandSide(KSP ksp, Vec b, void *ctx)
{
  DM da;

  PetscFunctionBegin;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(ProblemVector(da, 1, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Problem *p, const char *mattype, const char *options, PetscInt *its, Vec *answer)
{
  KSP       ksp;
  DM        da;
  Vec       x;
  PetscBool gpu = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(ProblemOnGPU(&gpu));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(GridOf(p, &da));
  PetscCall(DMSetMatType(da, mattype));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(KSPSetComputeOperators(ksp, FillRow, p));
  PetscCall(KSPSetComputeRHS(ksp, RightHandSide, NULL));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, NULL, NULL));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetSolution(ksp, &x));
  PetscCall(VecDuplicate(x, answer));
  PetscCall(VecCopy(x, *answer));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscOptionsClear(NULL));
  if (gpu) PetscCall(PetscOptionsInsertString(NULL, "-backend cuda -options_left no"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSolvers(Problem *p)
{
  PetscFunctionBegin;
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(solvers); s++) {
    PetscInt  its[2];
    Vec       x[2];
    PetscReal diff;
    PetscBool agree = PETSC_FALSE;

    PetscCall(Solve(p, MATAIJ, solvers[s].options, &its[0], &x[0]));
    PetscCall(Solve(p, MATHJSTENCIL, solvers[s].options, &its[1], &x[1]));
    PetscCall(VecsAgree(x[1], x[0], HJTestDigits(1e-6), &agree, &diff));
    PetscCall(HJTestOK((PetscBool)(agree && its[0] == its[1]),
                       "%s, %" PetscInt_FMT "D %s: %" PetscInt_FMT " iterations, AIJ %" PetscInt_FMT " (%g)", solvers[s].name, p->dim,
                       p->box ? "box" : "star", its[1], its[0], (double)diff));
    PetscCall(VecDestroy(&x[0]));
    PetscCall(VecDestroy(&x[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One KSP, three sets of values, each through another storage; the answer is AIJ's every time */
static PetscErrorCode TestChangedValues(const char *pctype)
{
  Problem p[] = {{2, {17, 14, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                 {2, {17, 14, 1}, DIRICHLET, VARYING, PETSC_FALSE},
                 {2, {17, 14, 1}, DIRICHLET, JUMP, PETSC_FALSE}};
  DM      da;
  Mat     A[2];
  KSP     ksp[2];
  PC      pc;
  Vec     b, x[2];

  PetscFunctionBegin;
  PetscCall(GridOf(&p[0], &da));
  PetscCall(DMCreateMatrix(da, &A[0]));
  PetscCall(MatCreateHJStencil(da, &A[1]));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  for (int m = 0; m < 2; m++) {
    PetscCall(VecDuplicate(b, &x[m]));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp[m]));
    PetscCall(KSPSetOperators(ksp[m], A[m], A[m]));
    PetscCall(KSPSetType(ksp[m], KSPCG));
    PetscCall(KSPGetPC(ksp[m], &pc));
    PetscCall(PCSetType(pc, pctype));
  }
  for (int i = 0; i < 4; i++) {
    PetscInt  its[2];
    PetscReal diff;
    PetscBool agree = PETSC_FALSE;

    for (int m = 0; m < 2; m++) {
      PetscCall(MatZeroEntries(A[m]));
      PetscCall(ProblemFill(&p[i % 3], da, i, A[m]));
      PetscCall(KSPSolve(ksp[m], b, x[m]));
      PetscCall(KSPGetIterationNumber(ksp[m], &its[m]));
    }
    PetscCall(VecsAgree(x[1], x[0], HJTestDigits(1e-4), &agree, &diff));
    PetscCall(HJTestOK((PetscBool)(agree && its[0] == its[1]),
                       "%s, new values %d: %" PetscInt_FMT " iterations, AIJ %" PetscInt_FMT " (%g)", pctype, i, its[1], its[0],
                       (double)diff));
  }
  for (int m = 0; m < 2; m++) {
    PetscCall(HJTestDestroy(&x[m], &ksp[m], &A[m]));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest residual of a column of A X = B, of the column's norm */
static PetscErrorCode ColumnsResidual(Mat A, Mat B, Mat X, PetscReal *worst)
{
  PetscInt n;
  Vec      r;

  PetscFunctionBegin;
  *worst = 0;
  PetscCall(MatGetSize(B, NULL, &n));
  PetscCall(MatCreateVecs(A, NULL, &r));
  for (PetscInt c = 0; c < n; c++) {
    Vec       b, x;
    PetscReal norm[2];

    PetscCall(MatDenseGetColumnVecRead(B, c, &b));
    PetscCall(MatDenseGetColumnVecRead(X, c, &x));
    PetscCall(MatResidual(A, b, x, r));
    PetscCall(VecNorm(r, NORM_2, &norm[0]));
    PetscCall(VecNorm(b, NORM_2, &norm[1]));
    *worst = PetscMax(*worst, norm[0] / norm[1]);
    PetscCall(MatDenseRestoreColumnVecRead(X, c, &x));
    PetscCall(MatDenseRestoreColumnVecRead(B, c, &b));
  }
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several right-hand sides at once, then the transposed system */
static PetscErrorCode TestManySides(const char *pctype, const char *mattype)
{
  Problem   p = {2, {33, 29, 1}, DIRICHLET, CONVECTION, PETSC_FALSE};
  DM        da;
  Mat       A, B, X;
  KSP       ksp;
  PC        pc;
  Vec       b, x, r;
  PetscInt  n, N;
  PetscReal worst = 0, norm[2];

  PetscFunctionBegin;
  PetscCall(GridOf(&p, &da));
  PetscCall(DMSetMatType(da, mattype));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(ProblemFill(&p, da, 0, A));
  PetscCall(ProblemVectors(da, &b, &x, &r));
  PetscCall(ProblemKSP(NULL, A, KSPGMRES, pctype, &ksp, &pc));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-10), PETSC_DEFAULT, PETSC_DEFAULT, 400));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, N, 3, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(ColumnsResidual(A, B, X, &worst));
  PetscCall(HJTestOK((PetscBool)(worst <= HJTestDigits(1e-7)), "%s on %s, three right-hand sides at once: residual %g", pctype, mattype,
                     (double)worst));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(KSPSolveTranspose(ksp, b, x));
  PetscCall(MatMultTranspose(A, x, r));
  PetscCall(VecAXPY(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &norm[0]));
  PetscCall(VecNorm(b, NORM_2, &norm[1]));
  PetscCall(HJTestOK((PetscBool)(norm[0] <= HJTestDigits(1e-7) * norm[1]), "%s on %s, KSPSolveTranspose: residual %g", pctype, mattype,
                     (double)(norm[0] / norm[1])));
  PetscCall(HJTestDestroy(&B, &X, &b, &x, &r, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with an AIJ matrix, and again with new values */
static PetscErrorCode TestProducts(void)
{
  Problem   p = {2, {12, 10, 1}, DIRICHLET, VARYING, PETSC_TRUE};
  DM        da;
  Mat       A[2], P, C[2], D[2], E, T;
  Vec       b;
  PetscBool agree[2] = {PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(GridOf(&p, &da));
  PetscCall(DMCreateMatrix(da, &A[0]));
  PetscCall(MatCreateHJStencil(da, &A[1]));
  for (int m = 0; m < 2; m++) PetscCall(ProblemFill(&p, da, 0, A[m]));
  PetscCall(MatDuplicate(A[0], MAT_COPY_VALUES, &P));
  PetscCall(MatScale(P, 0.25));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  for (int m = 0; m < 2; m++) {
    PetscCall(MatPtAP(A[m], P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C[m]));
    PetscCall(MatMatMult(P, A[m], MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D[m]));
    PetscCall(MatScale(A[m], 3.0));
    PetscCall(MatPtAP(A[m], P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C[m]));
    PetscCall(MatMatMult(P, A[m], MAT_REUSE_MATRIX, PETSC_DEFAULT, &D[m]));
  }
  PetscCall(MatsAgree(C[1], C[0], &agree[0]));
  PetscCall(MatsAgree(D[1], D[0], &agree[1]));
  PetscCall(HJTestOK(agree[0], "MatPtAP, and again with new values"));
  PetscCall(HJTestOK(agree[1], "MatMatMult, and again with new values"));
  PetscCall(MatDestroy(&D[0]));
  PetscCall(MatDiagonalScale(A[1], b, NULL)); /* AIJ's own product on several ranks forgets new values of the second factor */
  PetscCall(MatMatTransposeMult(P, A[1], MAT_INITIAL_MATRIX, PETSC_DEFAULT, &E));
  for (int m = 0; m < 2; m++) {
    if (m) PetscCall(MatScale(A[1], 0.5));
    if (m) PetscCall(MatMatTransposeMult(P, A[1], MAT_REUSE_MATRIX, PETSC_DEFAULT, &E));
    PetscCall(MatTranspose(A[1], MAT_INITIAL_MATRIX, &T));
    PetscCall(MatMatMult(P, T, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D[0]));
    PetscCall(MatsAgree(E, D[0], &agree[m]));
    PetscCall(MatDestroy(&D[0]));
    PetscCall(MatDestroy(&T));
  }
  PetscCall(HJTestOK((PetscBool)(agree[0] && agree[1]), "MatMatTransposeMult, and again with new values"));
  PetscCall(MatDestroy(&E));
  for (int m = 0; m < 2; m++) {
    PetscCall(HJTestDestroy(&A[m], &C[m], &D[m]));
  }
  PetscCall(HJTestDestroy(&P, &b, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Bratu(DMDALocalInfo *info, PetscScalar **x, PetscScalar **f, void *ctx)
{
  PetscFunctionBegin;
  for (PetscInt j = info->ys; j < info->ys + info->ym; j++) {
    for (PetscInt i = info->xs; i < info->xs + info->xm; i++) {
      const PetscBool edge = (PetscBool)(i == 0 || j == 0 || i == info->mx - 1 || j == info->my - 1);

      f[j][i] = edge ? x[j][i] : 4.0 * x[j][i] - x[j][i - 1] - x[j][i + 1] - x[j - 1][i] - x[j + 1][i] - 0.02 * PetscExpScalar(x[j][i]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of one rank, which PETSc cuts as it does AIJ's: a partition by a package lets GASM give another answer */
static PetscErrorCode TestBlocks(Problem *p)
{
  PetscInt    its[2];
  PetscMPIInt size;
  Vec         x[2];
  PetscReal   diff;
  PetscBool   agree = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (int m = 0; m < 2; m++)
    PetscCall(Solve(p, m ? MATHJSTENCIL : MATAIJ, "-ksp_type gmres -pc_type gasm -pc_gasm_total_subdomains 4", &its[m], &x[m]));
  PetscCall(VecsAgree(x[1], x[0], HJTestDigits(1e-6), &agree, &diff));
  PetscCall(HJTestOK((PetscBool)(agree && its[0] == its[1]),
                     "GASM, four blocks on one rank: %" PetscInt_FMT " iterations, AIJ %" PetscInt_FMT " (%g)", its[1], its[0],
                     (double)diff));
  for (int m = 0; m < 2; m++) PetscCall(VecDestroy(&x[m]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The Jacobian by colouring, coloured by the DMDA */
static PetscErrorCode TestColouring(void)
{
  PetscInt its[2][2];

  PetscFunctionBegin;
  for (int m = 0; m < 2; m++) {
    SNES snes;
    DM   da;

    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 13, 11, PETSC_DECIDE, PETSC_DECIDE, 1,
                           1, NULL, NULL, &da));
    PetscCall(CaseSetVecType(da));
    PetscCall(DMSetUp(da));
    PetscCall(DMSetMatType(da, m ? MATHJSTENCIL : MATAIJ));
    PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
    PetscCall(SNESSetDM(snes, da));
    PetscCall(DMDASNESSetFunctionLocal(da, INSERT_VALUES, (PetscErrorCode(*)(DMDALocalInfo *, void *, void *, void *))Bratu, NULL));
    PetscCall(SNESSetFromOptions(snes));
    PetscCall(SNESSolve(snes, NULL, NULL));
    PetscCall(SNESGetIterationNumber(snes, &its[m][0]));
    PetscCall(SNESGetLinearSolveIterations(snes, &its[m][1]));
    PetscCall(SNESDestroy(&snes));
    PetscCall(DMDestroy(&da));
  }
  PetscCall(HJTestOK((PetscBool)(its[0][0] == its[1][0] && its[0][1] == its[1][1] && its[1][0] > 1),
                     "Jacobian by colouring: %" PetscInt_FMT " steps, %" PetscInt_FMT " linear iterations; AIJ %" PetscInt_FMT
                     ", %" PetscInt_FMT,
                     its[1][0], its[1][1], its[0][0], its[0][1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* LU and Cholesky of the matrix itself, and with new values; where PETSc has them for AIJ on so many ranks */
static PetscErrorCode TestFactors(void)
{
  const char *types[] = {PCLU, PCCHOLESKY, PCILU, PCICC};
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int t = 0; t < 4 && size == 1; t++) PetscCall(TestChangedValues(types[t]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Orderings and factors of grids on which rows have the same columns, which AIJ then takes together */
static PetscErrorCode TestOrderings(void)
{
  const Case  grids[] = {{.dim = 1, .n = {2, 1, 1}},
                         {.dim = 2, .n = {2, 9, 1}, .box = PETSC_TRUE, .kind = ARRAYS},
                         {.dim = 2, .n = {3, 8, 1}, .boundary = {DM_BOUNDARY_PERIODIC}, .box = PETSC_TRUE, .kind = ARRAYS}};
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t g = 0; g < PETSC_STATIC_ARRAY_LENGTH(grids) && size == 1; g++) {
    DM        da;
    Mat       A, B, L[2];
    IS        row, column;
    Vec       b, x[2];
    PetscInt  n, N;
    PetscReal diff;
    PetscBool agree = PETSC_FALSE;

    PetscCall(CaseCreate(&grids[g], &da, &A, &B));
    PetscCall(MatShift(A, 20.0)); /* no pivot is small */
    PetscCall(MatShift(B, 20.0));
    PetscCall(MatGetOrdering(A, MATORDERINGND, &row, &column));
    PetscCall(ISGetSize(row, &n));
    PetscCall(MatGetSize(A, &N, NULL));
    L[0] = A;
    L[1] = B;
    PetscCall(DMCreateGlobalVector(da, &b));
    PetscCall(ProblemVector(da, 1, b));
    for (int m = 0; m < 2; m++) {
      KSP ksp;
      PC  pc;

      PetscCall(VecDuplicate(b, &x[m]));
      if (n != N) continue; /* PETSc's factorisation would not end */
      PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
      PetscCall(KSPSetOperators(ksp, L[m], L[m]));
      PetscCall(KSPSetType(ksp, KSPPREONLY));
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(PCSetType(pc, PCLU));
      PetscCall(KSPSolve(ksp, b, x[m]));
      PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(VecsAgree(x[0], x[1], 64 * PETSC_MACHINE_EPSILON, &agree, &diff));
    PetscCall(HJTestOK((PetscBool)(agree && n == N),
                       "%" PetscInt_FMT "D, %" PetscInt_FMT " points in x: an ordering of %" PetscInt_FMT " of %" PetscInt_FMT
                       " rows, factors (%g)",
                       grids[g].dim, grids[g].n[0], n, N, (double)diff));
    PetscCall(ISDestroy(&row));
    PetscCall(ISDestroy(&column));
    for (int m = 0; m < 2; m++) PetscCall(VecDestroy(&x[m]));
    PetscCall(HJTestDestroy(&b, &A, &B, &da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of a five-point operator with a coefficient that has another value at each point, by the COO format; factor: of all values;
   known: the matrix is told that it is symmetric */
static PetscErrorCode FillCOO(DM da, Mat A, PetscReal factor, PetscBool known, PetscBool again)
{
  DMDALocalInfo          info;
  ISLocalToGlobalMapping ltog;
  PetscInt              *i, *j, n = 0;
  PetscScalar           *values;
  const PetscScalar     *v;
  Vec                    entries;
  VecType                type;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMGetLocalToGlobalMapping(da, &ltog));
  PetscCall(DMGetVecType(da, &type));
  PetscCall(PetscMalloc2(5 * info.xm * info.ym, &i, 5 * info.xm * info.ym, &j));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &entries));
  PetscCall(VecSetSizes(entries, 5 * info.xm * info.ym, PETSC_DETERMINE));
  PetscCall(VecSetType(entries, type));
  PetscCall(VecGetArrayWrite(entries, &values));
  for (PetscInt y = info.ys; y < info.ys + info.ym; y++) {
    for (PetscInt x = info.xs; x < info.xs + info.xm; x++) {
      const PetscInt row = (y - info.gys) * info.gxm + x - info.gxs, diagonal = n++, step[4] = {-info.gxm, -1, 1, info.gxm},
                     dx[4] = {0, -1, 1, 0}, dy[4] = {-1, 0, 0, 1};

      i[diagonal] = j[diagonal] = row;
      values[diagonal]          = 0;
      for (int o = 0; o < 4; o++) {
        const PetscReal c = factor *
                            (1 + (2 * x + dx[o]) / (2.0 * info.mx) + (2 * y + dy[o]) * (2 * y + dy[o]) / (4.0 * info.my * info.my));

        values[diagonal] += c;
        if (x + dx[o] < 0 || x + dx[o] >= info.mx || y + dy[o] < 0 || y + dy[o] >= info.my) continue;
        i[n]        = row;
        j[n]        = row + step[o];
        values[n++] = -c;
      }
    }
  }
  PetscCall(VecRestoreArrayWrite(entries, &values));
  PetscCall(ISLocalToGlobalMappingApply(ltog, n, i, i));
  PetscCall(ISLocalToGlobalMappingApply(ltog, n, j, j));
  if (!again) PetscCall(MatSetPreallocationCOO(A, n, i, j));
  PetscCall(VecGetArrayReadAndMemType(entries, &v, NULL));
  PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
  PetscCall(VecRestoreArrayReadAndMemType(entries, &v));
  if (known) PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscCall(VecDestroy(&entries));
  PetscCall(PetscFree2(i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A five-point operator whose coefficient is 1e4 times as large in a region; one rank */
static PetscErrorCode FillRegion(DM da, Mat A)
{
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt j = 0; j < info.my; j++) {
    for (PetscInt i = 0; i < info.mx; i++) {
      MatStencil  row = {.i = i, .j = j}, column[5] = {row};
      PetscScalar v[5] = {0.0};
      PetscInt    n    = 1;

      for (int e = 0; e < 4; e++) {
        const PetscInt    di = e < 2 ? 2 * e - 1 : 0, dj = e < 2 ? 0 : 2 * e - 5;
        const PetscReal   x = (1 + i + 0.5 * di) / (info.mx + 1), y = (1 + j + 0.5 * dj) / (info.my + 1);
        const PetscScalar c = x > 0.3 && x < 0.7 && y > 0.25 && y < 0.6 ? 1e4 : 1.0;

        v[0] += c;
        if (i + di < 0 || i + di >= info.mx || j + dj < 0 || j + dj >= info.my) continue;
        column[n] = (MatStencil){.i = i + di, .j = j + dj};
        v[n++]    = -c;
      }
      PetscCall(MatSetValuesStencil(A, 1, &row, n, column, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors of a matrix with a jump: the answer is right, and on a GPU it is made there */
static PetscErrorCode TestFactorsJump(void)
{
  const Case       grid  = {.dim = 2, .n = {33, 33, 1}};
  PetscBool        gpu   = PETSC_FALSE;
  PetscOffloadMask where = PETSC_OFFLOAD_CPU;
  PetscMPIInt      size;
  PetscReal        error, norm;
  DM               da;
  Mat              A;
  KSP              ksp;
  PC               pc;
  Vec              b, x, ones;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ProblemOnGPU(&gpu));
  PetscCall(CaseDM(&grid, &da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(FillRegion(da, A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &ones));
  PetscCall(VecSet(ones, 1.0));
  PetscCall(MatMult(A, ones, b));
  PetscCall(ProblemKSP(NULL, A, KSPPREONLY, PCLU, &ksp, &pc));
  PetscCall(KSPSolve(ksp, b, x));
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(VecGetOffloadMask(x, &where));
#endif
  PetscCall(VecAXPY(x, -1.0, ones));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  PetscCall(VecNorm(ones, NORM_INFINITY, &norm));
  /* the condition of the matrix is 4.3e6 */
  PetscCall(HJTestOK((PetscBool)(error <= 16 * 4.3e6 * PETSC_MACHINE_EPSILON * norm && (!gpu || where == PETSC_OFFLOAD_GPU)),
                     "factors of a matrix with a jump: error %g, the answer lies on the %s", (double)error,
                     where == PETSC_OFFLOAD_GPU ? "GPU" : "host"));
  PetscCall(HJTestDestroy(&b, &x, &ones, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Factors of a singular matrix, zero row sums, with PETSc's shift, as on the coarsest level: what A times something is has an answer */
static PetscErrorCode TestFactorsSingular(PetscInt n)
{
  Problem     p = {2, {n, n, 1}, NEUMANN, CONSTANT, PETSC_FALSE};
  PetscMPIInt size;
  PetscReal   error, norm;
  DM          da;
  Mat         A;
  KSP         ksp;
  PC          pc;
  Vec         b, x, r;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GridOf(&p, &da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(ProblemFill(&p, da, 0, A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(ProblemVector(da, 1, r));
  PetscCall(MatMult(A, r, b));
  PetscCall(ProblemKSP(NULL, A, KSPPREONLY, PCLU, &ksp, &pc));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONZERO));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_INFINITY, &error));
  PetscCall(VecNorm(b, NORM_INFINITY, &norm));
  PetscCall(HJTestOK((PetscBool)(error <= HJTestDigits(1e-8) * norm),
                     "factors of a singular matrix, %" PetscInt_FMT "^2: residual %g of %g", n, (double)error, (double)norm));
  PetscCall(HJTestDestroy(&b, &x, &r, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest difference between products with the matrix and with itself as AIJ on the host, of the largest value there */
static PetscErrorCode ProductError(Mat A, PetscReal *error)
{
  Mat       aij;
  Vec       x, y, z;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &aij));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(MatMult(A, x, y));
  PetscCall(MatMult(aij, x, z));
  PetscCall(VecNorm(z, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(y, -1.0, z));
  PetscCall(VecNorm(y, NORM_INFINITY, error));
  *error /= norm;
  PetscCall(HJTestDestroy(&x, &y, &z, &aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Multigrid with Galerkin products of a symmetric matrix, which is known to be or not: products are right on each level, and new values
   that make no other problem take the same iterations */
static PetscErrorCode TestGalerkinLevels(PetscInt n, PetscInt levels, PetscBool known)
{
  Problem   p = {2, {n, n, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM        da;
  Mat       A;
  KSP       ksp;
  PC        pc;
  Vec       b, x;
  PetscInt  its[3];
  PetscReal worst = 0;

  PetscFunctionBegin;
  PetscCall(GridOf(&p, &da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "galerkin_"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), PETSC_DEFAULT, PETSC_DEFAULT, 60));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCMGSetLevels(pc, levels, NULL));
  PetscCall(PCMGSetGalerkin(pc, PC_MG_GALERKIN_BOTH));
  PetscCall(PetscOptionsInsertString(NULL, "-galerkin_mg_levels_ksp_type richardson -galerkin_mg_levels_ksp_max_it 1 "
                                           "-galerkin_mg_levels_pc_type hjacobi -galerkin_mg_levels_pc_hjacobi_k 3"));
  PetscCall(KSPSetFromOptions(ksp));
  for (int i = 0; i < 3; i++) {
    PetscCall(FillCOO(da, A, i ? 2 : 1, known, (PetscBool)(i > 0)));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[i]));
    for (PetscInt l = 0; l < levels; l++) {
      KSP       smoother;
      Mat       C;
      PetscReal error;

      PetscCall(PCMGGetSmoother(pc, l, &smoother));
      PetscCall(KSPGetOperators(smoother, &C, NULL));
      PetscCall(ProductError(C, &error));
      if (error > 64 * PETSC_MACHINE_EPSILON)
        PetscCall(HJTestNote("filled %d times, level %" PetscInt_FMT ": products differ by %g", i + 1, l, (double)error));
      worst = PetscMax(worst, error);
    }
  }
  PetscCall(HJTestOK((PetscBool)(worst <= 64 * PETSC_MACHINE_EPSILON && its[0] < 12 && its[1] == its[0] && its[2] == its[0]),
                     "COO and Galerkin products, %s, %" PetscInt_FMT "^2, %" PetscInt_FMT " levels: %" PetscInt_FMT ", %" PetscInt_FMT
                     ", %" PetscInt_FMT " iterations; products of the levels %g",
                     known ? "known to be symmetric" : "not known", n, levels, its[0], its[1], its[2], (double)worst));
  PetscCall(HJTestDestroy(&b, &x, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem  p[] = {{2, {17, 17, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, {3, {9, 9, 9}, DIRICHLET, VARYING, PETSC_FALSE}};
  PetscInt n   = 257;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL)); /* points of the largest grid */
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(p); i++) PetscCall(TestSolvers(&p[i]));
  PetscCall(TestChangedValues(PCHJACOBI));
  PetscCall(TestChangedValues(PCBJACOBI));
  PetscCall(TestChangedValues(PCASM));
  for (int stencil = 0; stencil < 2; stencil++) {
    PetscCall(TestManySides(PCHJMG, stencil ? MATHJSTENCIL : MATAIJ));
    PetscCall(TestManySides(PCHJACOBI, stencil ? MATHJSTENCIL : MATAIJ));
  }
  PetscCall(TestBlocks(&p[0]));
  PetscCall(TestProducts());
  PetscCall(TestColouring());
  PetscCall(TestFactors());
  PetscCall(TestOrderings());
  PetscCall(TestFactorsJump());
  for (PetscInt points = 4; points < 34; points += points / 2) PetscCall(TestFactorsSingular(points));
  for (int known = 0; known < 2; known++) {
    PetscCall(TestGalerkinLevels(33, 4, (PetscBool)known));
    PetscCall(TestGalerkinLevels(n, 6, (PetscBool)known));
  }
  return HJTestEnd();
}

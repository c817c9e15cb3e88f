/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   hjacobi works wherever jacobi does: matrices that are no stencil run through MatMult(), and PCView says why. Setters, getters, reset,
   reuse.
*/
#include "hjproblem.h"
#include "hjcapture.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/backend/hjcuda.h"
#endif
#include <petscdmshell.h>

/* A fills the PC; R, an AIJ matrix of the same operator, gives the answer */
static PetscErrorCode TestMatrix(Mat A, Mat R, DM dm, const char *words, const char *name)
{
  PC               pc;
  Vec              b, x, y;
  PetscInt         k;
  const PetscReal *w;
  PetscBool        agree = PETSC_FALSE, holds;
  PetscReal        diff;
  PetscRandom      random;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  if (dm) PetscCall(PCSetDM(pc, dm));
  PetscCall(PCSetType(pc, PCHJACOBI));
  PetscCall(PCHJacobiSetK(pc, 5));
  PetscCall(PCSetUp(pc));
  PetscCall(MatCreateVecs(R, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecSetRandom(b, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PCApply(pc, b, x));
  PetscCall(PCHJacobiGetWeights(pc, &k, &w));
  PetscCall(VecSet(y, 0.0));
  PetscCall(NaiveCycles(R, 1, k, w, b, y));
  PetscCall(VecsAgree(x, y, 64 * PETSC_MACHINE_EPSILON * k * k, &agree, &diff));
  PetscCall(ViewHolds(pc, words, &holds));
  PetscCall(HJTestOK((PetscBool)(agree && holds), "%s: %s (%g)", name, words, (double)diff));
  PetscCall(HJTestDestroy(&pc, &b, &x, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMatrices(void)
{
  Problem     p = {2, {14, 11, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  DM          da, shell, two, small;
  Mat         A, B;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(TestMatrix(A, A, NULL, "operator: stencil", "AIJ on a DMDA, from MatGetDM()"));
  PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &B));
  PetscCall(TestMatrix(B, A, da, "operator: matrix through MatMult", "dense"));
  PetscCall(MatDestroy(&B));
  PetscCall(MatConvert(A, MATBAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(TestMatrix(B, A, da, "operator: matrix through MatMult", "BAIJ"));
  PetscCall(MatDestroy(&B));
  if (size == 1) { /* on more the product of PETSc 3.22 itself is another one than AIJ's */
    PetscCall(MatConvert(A, MATSELL, MAT_INITIAL_MATRIX, &B));
    PetscCall(TestMatrix(B, A, da, "operator: matrix through MatMult", "SELL"));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(MatCreateNest(PETSC_COMM_WORLD, 1, NULL, 1, NULL, &A, &B));
  PetscCall(TestMatrix(B, A, da, "operator: matrix through MatMult", "nest"));
  PetscCall(MatDestroy(&B));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatConvert(A, MATSBAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(TestMatrix(B, A, da, "operator: matrix through MatMult", "SBAIJ"));
  PetscCall(MatDestroy(&B));
  PetscCall(ProblemShell(A, &B));
  PetscCall(TestMatrix(B, A, da, "operator: matrix through MatMult", "shell with a diagonal"));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatSetDM(B, NULL));
  PetscCall(TestMatrix(B, A, NULL, "no DM is attached", "AIJ without a DM"));
  PetscCall(DMShellCreate(PETSC_COMM_WORLD, &shell));
  PetscCall(TestMatrix(B, A, shell, "operator: matrix through MatMult", "DMShell"));
  PetscCall(DMDestroy(&shell));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 20, 20, PETSC_DECIDE, PETSC_DECIDE, 1, 1,
                         NULL, NULL, &small));
  PetscCall(DMSetUp(small));
  PetscCall(TestMatrix(B, A, small, "operator: matrix through MatMult", "a DMDA of another size"));
  PetscCall(DMDestroy(&small));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 8, 9, PETSC_DECIDE, PETSC_DECIDE, 2, 1,
                         NULL, NULL, &two));
  PetscCall(DMSetUp(two));
  PetscCall(DMCreateMatrix(two, &B));
  PetscCall(MatShift(B, 3.0));
  PetscCall(TestMatrix(B, B, two, "unknowns: 2 a point, 2 entries of D^-1 and 0 of neighbours", "dof 2"));
  PetscCall(HJTestDestroy(&B, &two, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set-up reads a matrix and leaves it as it is: who else has pointers into its blocks, as MatFDColoring has, may go on using them */
static PetscErrorCode TestUntouched(void)
{
  Problem         p = {2, {9, 8, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  DM              da;
  Mat             A, B, block[2];
  PC              pc;
  PetscMPIInt     size;
  const PetscInt *columns;
  PetscObjectId   id[2][2] = {{0, 0}, {0, 0}};

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(MatConvert(A, MATBAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(ProblemPC(NULL, B, PCHJACOBI, &pc));
  for (int after = 0; after < 2; after++) {
    if (after) PetscCall(PCSetUp(pc));
    if (size > 1) PetscCall(MatMPIBAIJGetSeqBAIJ(B, &block[0], &block[1], &columns));
    for (int i = 0; i < 2 && size > 1; i++) PetscCall(PetscObjectGetId((PetscObject)block[i], &id[after][i]));
  }
  PetscCall(HJTestOK((PetscBool)(id[0][0] == id[1][0] && id[0][1] == id[1][1]), "set-up leaves the blocks of BAIJ where they are"));
  PetscCall(HJTestDestroy(&pc, &A, &B, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that cannot give its diagonal, or says that it can and is made of one that cannot */
static PetscErrorCode TestNoDiagonal(PetscBool within)
{
  Problem  p = {2, {14, 11, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  DM       da;
  Mat      A, S, B;
  PC       pc;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, n, n, PETSC_DETERMINE, PETSC_DETERMINE, A, &S));
  PetscCall(MatShellSetOperation(S, MATOP_MULT, (void (*)(void))ProblemShellMult));
  PetscCall(MatCreateComposite(PETSC_COMM_WORLD, 1, &S, &B));
  PetscCall(ProblemPC(NULL, within ? B : S, PCHJACOBI, &pc));
  ExpectError(PCSetUp(pc),
              within ? "... also within another matrix" : "a shell matrix without a diagonal is refused, and the cure is named",
              within ? "type composite" : "type shell", "MATOP_GET_DIAGONAL", "-dm_mat_type aij");
  PetscCall(HJTestDestroy(&pc, &B, &S, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set-up leaves a BAIJ matrix as it is, down to its arrays, to which a MatFDColoring has pointers; its bound is that of AIJ */
static PetscErrorCode TestBlocked(void)
{
  DM          da;
  Mat         A, B, off[2];
  PC          pc[2];
  PetscInt    n, size;
  PetscReal   emax[2];
  PetscMPIInt ranks;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 9, 8, PETSC_DECIDE, PETSC_DECIDE, 3, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetSize(A, &size, NULL));
  PetscCall(MatGetOwnershipRange(A, &n, NULL));
  PetscCall(MatSetValue(A, n, size - 1 - n, -0.5, ADD_VALUES)); /* another rank's column, where there is one */
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatShift(A, 3.0));
  PetscCall(MatConvert(A, MATBAIJ, MAT_INITIAL_MATRIX, &B));
  for (int i = 0; i < 2; i++) {
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc[i]));
    PetscCall(PCSetOperators(pc[i], i ? B : A, i ? B : A));
    PetscCall(PCSetType(pc[i], PCHJACOBI));
  }
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  off[0] = off[1] = NULL;
  if (ranks > 1) PetscCall(MatMPIBAIJGetSeqBAIJ(B, NULL, &off[0], NULL));
  for (int i = 0; i < 2; i++) {
    PetscCall(PCSetUp(pc[i]));
    PetscCall(PCHJacobiGetEigenvalues(pc[i], &emax[i], NULL));
    PetscCall(PCDestroy(&pc[i]));
  }
  if (ranks > 1) PetscCall(MatMPIBAIJGetSeqBAIJ(B, NULL, &off[1], NULL));
  PetscCall(HJTestOK((PetscBool)(off[0] == off[1]), "BAIJ with blocks of 3: set-up leaves the matrix's own parts where they are"));
  PetscCall(HJTestOK((PetscBool)(PetscAbsReal(emax[0] - emax[1]) <= 8 * PETSC_MACHINE_EPSILON * emax[0]), "... and emax is %g, of AIJ %g",
                     (double)emax[1], (double)emax[0]));
  PetscCall(HJTestDestroy(&A, &B, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A zero diagonal does as PCJACOBI does: 1 in D, the matrix as it is */
static PetscErrorCode TestZeroDiagonal(PetscBool variable, PCHJacobiOperator op)
{
  Problem     p = {2, {14, 11, 1}, DIRICHLET, variable ? VARYING : CONSTANT, PETSC_FALSE};
  DM          da;
  Mat         A;
  KSP         ksp;
  PC          pc;
  Vec         b, x[2];
  const char *types[] = {PCHJACOBI, PCJACOBI};
  PetscBool   agree = PETSC_FALSE, holds = PETSC_FALSE;
  PetscReal   diff;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(MatSetValue(A, 0, 0, 0.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  for (PetscInt i = 0; i < 2; i++) {
    PetscCall(VecDuplicate(b, &x[i]));
    PetscCall(ProblemKSP(da, A, KSPRICHARDSON, types[i], &ksp, &pc));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
    PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 3));
    PetscCall(PCHJacobiSetK(pc, 1));
    PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_JACOBI));
    PetscCall(PCHJacobiSetOmega(pc, 1.0));
    PetscCall(PCHJacobiSetOperator(pc, op));
    PetscCall(KSPSolve(ksp, b, x[i]));
    if (!i) PetscCall(ViewHolds(pc, "diagonal: 1 used for 1 zero entries", &holds));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecsAgree(x[0], x[1], 64 * PETSC_MACHINE_EPSILON, &agree, &diff));
  PetscCall(HJTestOK((PetscBool)(agree && holds), "zero diagonal, %s coefficients, operator %s: as PCJACOBI (%g), and PCView says so",
                     variable ? "variable" : "constant", op == PC_HJACOBI_OPERATOR_MATRIX ? "matrix" : "stencil", (double)diff));
  PetscCall(HJTestDestroy(&x[0], &x[1], &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestGetters(void)
{
  PC                 pc;
  PetscInt           k, overlap, tile[3], n, every;
  PetscReal          omega, emax, emin;
  const PetscReal    list[] = {0.5, 0.7, 0.9}, *w;
  PCHJacobiSchedule  schedule;
  PCHJacobiBackend   backend;
  PCHJacobiOperator  op;
  PCHJacobiExchange  exchange;
  PCHJacobiCheckNorm norm;
  PCHJacobiSlabType  slabs;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCHJACOBI));
  PetscCall(PCHJacobiGetK(pc, &k));
  PetscCall(PCHJacobiGetOverlap(pc, &overlap));
  PetscCall(PCHJacobiGetSchedule(pc, &schedule));
  PetscCall(HJTestOK((PetscBool)(k == 4 && overlap == PETSC_DECIDE && schedule == PC_HJACOBI_SCHEDULE_CHEBYSHEV4),
                     "defaults: k 4, exact, chebyshev4"));
  PetscCall(PCHJacobiSetOverlap(pc, 6));
  PetscCall(PCHJacobiSetTile(pc, 8, 9, 10));
  PetscCall(PCHJacobiSetOmega(pc, 0.6));
  PetscCall(PCHJacobiSetEigenvalues(pc, 1.9, 0.2));
  PetscCall(PCHJacobiSetBackend(pc, PC_HJACOBI_BACKEND_HOST));
  PetscCall(PCHJacobiSetOperator(pc, PC_HJACOBI_OPERATOR_STENCIL));
  PetscCall(PCHJacobiSetExchange(pc, PC_HJACOBI_EXCHANGE_PETSCSF));
  PetscCall(PCHJacobiSetCheckEvery(pc, 5));
  PetscCall(PCHJacobiSetCheckNorm(pc, PC_HJACOBI_CHECK_NORM_UPDATE_MAX));
  PetscCall(PCHJacobiSetSlabType(pc, PC_HJACOBI_SLAB_PYRAMID));
  PetscCall(PCHJacobiSetWeights(pc, 3, list));
  PetscCall(PCHJacobiGetK(pc, &k));
  PetscCall(PCHJacobiGetOverlap(pc, &overlap));
  PetscCall(PCHJacobiGetTile(pc, &tile[0], &tile[1], &tile[2]));
  PetscCall(PCHJacobiGetSchedule(pc, &schedule));
  PetscCall(PCHJacobiGetWeights(pc, &n, &w));
  PetscCall(PCHJacobiGetOmega(pc, &omega));
  PetscCall(PCHJacobiGetEigenvalues(pc, &emax, &emin));
  PetscCall(PCHJacobiGetBackend(pc, &backend));
  PetscCall(PCHJacobiGetOperator(pc, &op));
  PetscCall(PCHJacobiGetExchange(pc, &exchange));
  PetscCall(PCHJacobiGetCheckEvery(pc, &every));
  PetscCall(PCHJacobiGetCheckNorm(pc, &norm));
  PetscCall(PCHJacobiGetSlabType(pc, &slabs));
  PetscCall(HJTestOK((PetscBool)(k == 3 && n == 3 && w[0] == 0.5 && w[2] == (PetscReal)0.9 && schedule == PC_HJACOBI_SCHEDULE_CUSTOM),
                     "weights set k and the schedule"));
  PetscCall(HJTestOK((PetscBool)(overlap == 6 && tile[0] == 8 && tile[1] == 9 && tile[2] == 10 && omega == (PetscReal)0.6 &&
                                 emax == (PetscReal)1.9 && emin == (PetscReal)0.2),
                     "numbers come back"));
  PetscCall(HJTestOK((PetscBool)(backend == PC_HJACOBI_BACKEND_HOST && op == PC_HJACOBI_OPERATOR_STENCIL &&
                                 exchange == PC_HJACOBI_EXCHANGE_PETSCSF && every == 5 && norm == PC_HJACOBI_CHECK_NORM_UPDATE_MAX &&
                                 slabs == PC_HJACOBI_SLAB_PYRAMID),
                     "choices come back"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One PC used for another k, pattern and size; a second PC beside it does not notice */
static PetscErrorCode TestReuse(void)
{
  Problem   p[] = {{2, {14, 11, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                   {2, {14, 11, 1}, DIRICHLET, CONSTANT, PETSC_TRUE},
                   {3, {7, 6, 9}, NEUMANN, VARYING, PETSC_FALSE}};
  PC        pc, other;
  DM        da[3];
  Mat       A[3];
  PetscBool agree[2];
  PetscReal diff;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 3; i++) PetscCall(ProblemCreate(&p[i], &da[i], &A[i]));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCHJACOBI));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &other));
  PetscCall(PCSetType(other, PCHJACOBI));
  PetscCall(PCHJacobiSetK(other, 2));
  PetscCall(PCSetOperators(other, A[0], A[0]));
  PetscCall(PCSetUp(other));
  for (PetscInt i = 0; i < 4; i++) {
    const PetscInt   m       = i == 3 ? 0 : i;
    PC               both[2] = {pc, other};
    PetscInt         k;
    const PetscReal *w;

    if (m != (i ? i - 1 : 0)) PetscCall(PCReset(pc));
    PetscCall(PCSetOperators(pc, A[m], A[m]));
    PetscCall(PCHJacobiSetK(pc, 3 + i));
    for (PetscInt j = 0; j < 2; j++) {
      const PetscInt a = j ? 0 : m;
      Vec            b, x, y;

      PetscCall(MatCreateVecs(A[a], &x, &b));
      PetscCall(VecDuplicate(x, &y));
      PetscCall(ProblemVector(da[a], 1, b));
      PetscCall(PCApply(both[j], b, x));
      PetscCall(PCHJacobiGetWeights(both[j], &k, &w));
      PetscCall(VecSet(y, 0.0));
      PetscCall(NaiveCycles(A[a], 1, k, w, b, y));
      PetscCall(VecsAgree(x, y, 64 * PETSC_MACHINE_EPSILON * k * k, &agree[j], &diff));
      PetscCall(HJTestDestroy(&x, &y, &b));
    }
    PetscCall(HJTestOK((PetscBool)(agree[0] && agree[1]), "reuse %d, with another PC beside it", (int)i));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(PCDestroy(&other));
  for (PetscInt i = 0; i < 3; i++) {
    PetscCall(MatDestroy(&A[i]));
    PetscCall(DMDestroy(&da[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where a host matrix goes by itself: large grids in 1D, with half a million points a rank where there is a GPU */
static PetscErrorCode TestBackend(void)
{
  PetscBool   gpu = PETSC_FALSE, holds[3], named;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(HJCUDAAvailable(&gpu));
#endif
  for (int i = 0; i < 3; i++) { /* small; large with few subiterations; large */
    Problem p = {1, {!i || !gpu ? 5000 : 500000 * size, 1, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
    DM      da;
    Mat     A;
    PC      pc;

    PetscCall(ProblemCreate(&p, &da, &A));
    PetscCall(ProblemPC(NULL, A, PCHJACOBI, &pc));
    PetscCall(PCHJacobiSetK(pc, i == 1 ? 7 : 8));
    PetscCall(PCSetUp(pc));
    PetscCall(ViewHolds(pc,
                        gpu && i == 2 ? "backend: cuda (matrix on the host, so large that copies pay), kernels: 1D line" : "backend: host",
                        &holds[i]));
    if (!gpu || i < 2) {
      PetscCall(ViewHolds(pc, "kernels: blocks in cache", &named));
      holds[i] = (PetscBool)(holds[i] && named);
    }
    PetscCall(HJTestDestroy(&pc, &A, &da));
  }
  PetscCall(HJTestOK((PetscBool)(holds[0] && holds[1] && holds[2]),
                     "a host matrix goes to the GPU where copies pay, and the view names the kernels%s", gpu ? "" : " (no GPU here)"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Few distinct rows, some without a diagonal, are a dictionary; those of A^T are too many, and no arrays hold them: MatMultTranspose() */
static PetscErrorCode TestTransposeNoStencil(void)
{
  Problem   p = {2, {32, 30, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM        da;
  Mat       A;
  PC        pc;
  Vec       u, v;
  PetscInt  start, end;
  PetscReal difference = 0;
  PetscBool holds, agree = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(MatCreateVecs(A, &u, &v));
  PetscCall(VecGetOwnershipRange(u, &start, &end));
  for (PetscInt i = start; i < end; i++)
    PetscCall(VecSetValue(u, i, 1.0 + (PetscInt)(1e4 * PetscAbsReal(PetscSinReal(1.7 * i * i))) % 6, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(u));
  PetscCall(VecAssemblyEnd(u));
  PetscCall(MatDiagonalScale(A, u, NULL));
  for (PetscInt i = start; i < end; i += 11) PetscCall(MatSetValue(A, i, i, 0.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE)); /* which is not true */
  PetscCall(ProblemPC(NULL, A, PCHJACOBI, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHolds(pc, "dictionary", &holds));
  PetscCall(ProblemVector(da, 3, u));
  PetscCall(ProblemVector(da, 4, v));
  PetscCall(AdjointAgrees(pc, PCApplyTranspose, u, v, 1024 * PETSC_MACHINE_EPSILON, &agree, &difference));
  PetscCall(
    HJTestOK((PetscBool)(holds && agree), "A is a dictionary, A^T is no stencil: the transpose is the adjoint (%g)", (double)difference));
  PetscCall(HJTestDestroy(&pc, &u, &v, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was set and is not used shows */
static PetscErrorCode TestUnused(void)
{
  Problem   p = {2, {9, 8, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM        da;
  Mat       A;
  PC        pc;
  PetscBool holds;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(ProblemPC(NULL, A, PCHJACOBI, &pc));
  PetscCall(PCHJacobiSetOmega(pc, 0.75));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHolds(pc, "omega: 0.75 was set, but schedule jacobi alone takes it", &holds));
  PetscCall(HJTestOK(holds, "omega without schedule jacobi shows in the view"));
  PetscCall(PCHJacobiSetEigenvalues(pc, 2.5, PETSC_DECIDE));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHolds(pc, "emax 2.5 (set by the user; Gershgorin's bound is 2.)", &holds));
  PetscCall(HJTestOK(holds, "beside an emax of the user's stands that of the rows"));
  PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_JACOBI));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHolds(pc, "eigenvalues: set, but not needed by schedule jacobi", &holds));
  PetscCall(HJTestOK(holds, "eigenvalues that no weight is made from show in the view"));
  PetscCall(PCHJacobiSetWeights(pc, 2, (const PetscReal[]){0.5, 0.75}));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHolds(pc, "weights: 0.5 0.75", &holds));
  PetscCall(HJTestOK(holds, "weights of the user's show in the view"));
  PetscCall(HJTestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(TestMatrices());
  PetscCall(TestUntouched());
  PetscCall(TestNoDiagonal(PETSC_FALSE));
  PetscCall(TestNoDiagonal(PETSC_TRUE));
  PetscCall(TestBlocked());
  PetscCall(TestZeroDiagonal(PETSC_FALSE, PC_HJACOBI_OPERATOR_STENCIL));
  PetscCall(TestZeroDiagonal(PETSC_TRUE, PC_HJACOBI_OPERATOR_STENCIL));
  PetscCall(TestZeroDiagonal(PETSC_FALSE, PC_HJACOBI_OPERATOR_MATRIX));
  PetscCall(TestGetters());
  PetscCall(TestReuse());
  PetscCall(TestTransposeNoStencil());
  PetscCall(TestUnused());
  PetscCall(TestBackend());
  return HJTestEnd();
}

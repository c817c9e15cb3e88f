/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What the tests of bounds of eigenvalues share.
*/
#pragma once

#include "hjproblem.h"
#include "operator/hjoperator.h"

/* A coefficient of 1e4 inside a rectangle whose corners lie on odd points; what an estimate of few steps misses on its Galerkin levels */
#define CONTRAST 1e4

static PETSC_UNUSED PCHJacobiBackend backend = PC_HJACOBI_BACKEND_HOST;

static inline PETSC_UNUSED PetscErrorCode BoundBegin(int *argc, char ***argv)
{
  PetscBool cuda;

  PetscFunctionBegin;
  PetscCall(ProblemInitialize(argc, argv));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-pc_hjacobi_backend", &cuda));
  if (cuda) backend = PC_HJACOBI_BACKEND_CUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Interior points 1 or the contrast at the middle of a face; boundary points are rows of the diagonal alone and nobody's column */
static inline PETSC_UNUSED PetscErrorCode CreateJump(PetscInt dim, PetscInt n, PetscReal contrast, DM *da, Mat *A)
{
  Problem       p = {dim, {n, n, dim == 3 ? n : 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(ProblemDM(&p, da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(DMDAGetLocalInfo(*da, &info));
  for (PetscInt row = 0; row < info.xm * info.ym * info.zm; row++) {
    const PetscInt at[3] = {info.xs + row % info.xm, info.ys + row / info.xm % info.ym, info.zs + row / info.xm / info.ym};
    MatStencil     col[7];
    PetscScalar    v[7], diagonal = 0;
    PetscInt       m    = 1;
    PetscBool      edge = PETSC_FALSE;

    for (PetscInt d = 0; d < dim; d++) edge = (PetscBool)(edge || at[d] == 0 || at[d] == n - 1);
    for (PetscInt o = 0; o < 2 * dim; o++) {
      PetscInt  to[3] = {at[0], at[1], at[2]};
      PetscReal x[3], a;

      to[o / 2] += o % 2 ? 1 : -1;
      for (PetscInt d = 0; d < 3; d++) x[d] = 0.5 * (at[d] + to[d]) / (n - 1);
      a = x[0] > 0.3 && x[0] < 0.7 && x[1] > 0.25 && x[1] < 0.6 ? contrast : 1;
      diagonal += a;
      if (edge || to[o / 2] == 0 || to[o / 2] == n - 1) continue;
      col[m] = (MatStencil){.i = to[0], .j = to[1], .k = to[2]};
      v[m++] = -a;
    }
    col[0] = (MatStencil){.i = at[0], .j = at[1], .k = at[2]};
    v[0]   = diagonal;
    PetscCall(MatSetValuesStencil(*A, 1, col, m, col, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that lie on a GPU alone come to the host as well, for functions of PETSc that read them there without asking */
static inline PETSC_UNUSED PetscErrorCode FetchValues(Mat A)
{
  Mat       block[2] = {A, NULL};
  PetscBool parallel;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &parallel));
  if (parallel) PetscCall(MatMPIAIJGetSeqAIJ(A, &block[0], &block[1], NULL));
  for (int i = 0; i < 2 && block[i]; i++) {
    const PetscScalar *a;

    PetscCall(MatSeqAIJGetArrayRead(block[i], &a));
    PetscCall(MatSeqAIJRestoreArrayRead(block[i], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stops where C is not P^T A P */
static inline PETSC_UNUSED PetscErrorCode CheckGalerkin(DM coarse, Mat A, Mat P, Mat C)
{
  Vec       x, y, z, fine[2];
  PetscBool agree = PETSC_FALSE;
  PetscReal difference;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(P, &x, &fine[0]));
  PetscCall(VecDuplicate(fine[0], &fine[1]));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(ProblemVector(coarse, 11, x));
  PetscCall(MatMult(P, x, fine[0]));
  PetscCall(MatMult(A, fine[0], fine[1]));
  PetscCall(MatMultTranspose(P, fine[1], y));
  PetscCall(MatMult(C, x, z));
  /* sums of 27 products of sums of 27 products */
  PetscCall(VecsAgree(z, y, 1000 * PETSC_MACHINE_EPSILON, &agree, &difference));
  PetscCheck(agree, PETSC_COMM_WORLD, PETSC_ERR_LIB, "MatPtAP() returned another matrix, difference %g", (double)difference);
  PetscCall(HJTestDestroy(&fine[0], &fine[1], &x, &y, &z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The next coarser grid and the Galerkin matrix on it, in place of those given. The values of A are fetched first: with those on the GPU
   alone, MatPtAP() of PETSc 3.26.1 gave NaN in this test, in 3D, once. The cause is not known, and the same products alone came out right;
   so each one is checked
*/
static inline PETSC_UNUSED PetscErrorCode Coarsen(DM *da, Mat *A)
{
  DM  coarse;
  Mat P, C;

  PetscFunctionBegin;
  PetscCall(DMCoarsen(*da, PetscObjectComm((PetscObject)*da), &coarse));
  PetscCall(DMCreateInterpolation(coarse, *da, &P, NULL));
  PetscCall(FetchValues(*A));
  PetscCall(MatPtAP(*A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(CheckGalerkin(coarse, *A, P, C));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(A));
  PetscCall(DMDestroy(da));
  *da = coarse;
  *A  = C;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of A on every rank */
static inline PETSC_UNUSED PetscErrorCode GatherMatrix(Mat A, MatType type, Mat *B)
{
  Mat     *all;
  IS       rows;
  PetscInt N;

  PetscFunctionBegin;
  PetscCall(FetchValues(A));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, N, 0, 1, &rows));
  PetscCall(MatCreateSubMatrices(A, 1, &rows, &rows, MAT_INITIAL_MATRIX, &all));
  PetscCall(MatConvert(all[0], type, MAT_INITIAL_MATRIX, B));
  PetscCall(MatDestroySubMatrices(1, &all));
  PetscCall(ISDestroy(&rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   All of D^-1 A, or of its absolute values with a diagonal of 1, on every rank and on the host. Not dense: some BLAS spread what is in a
   vector that they fill
*/
static inline PETSC_UNUSED PetscErrorCode ScaledRows(Mat A, PetscBool absolute, Mat *B)
{
  Mat      whole;
  PetscInt N;

  PetscFunctionBegin;
  PetscCall(GatherMatrix(A, MATSEQAIJ, &whole));
  PetscCall(MatGetSize(whole, &N, NULL));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, N, N, 28, NULL, B)); /* 27 points, and the diagonal where there is none */
  for (PetscInt i = 0; i < N; i++) {
    PetscInt           n;
    const PetscInt    *col;
    const PetscScalar *v;
    PetscScalar        d = 1;

    PetscCall(MatGetRow(whole, i, &n, &col, &v));
    for (PetscInt j = 0; j < n; j++)
      if (col[j] == i && v[j] != 0) d = v[j];
    for (PetscInt j = 0; j < n; j++) PetscCall(MatSetValue(*B, i, col[j], absolute ? PetscAbsScalar(v[j] / d) : v[j] / d, INSERT_VALUES));
    PetscCall(MatRestoreRow(whole, i, &n, &col, &v));
    if (absolute) PetscCall(MatSetValue(*B, i, i, 1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDestroy(&whole));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest absolute eigenvalue of D^-1 A (or of its absolute values, diagonal 1) and the least that is not zero, by LAPACK on every rank */
static inline PETSC_UNUSED PetscErrorCode Spectrum(Mat A, PetscBool absolute, PetscReal *rho, PetscReal *least)
{
  Mat        B;
  KSP        ksp;
  PC         pc;
  PetscInt   N;
  PetscReal *re, *im;

  PetscFunctionBegin;
  PetscCall(ScaledRows(A, absolute, &B));
  PetscCall(MatGetSize(B, &N, NULL));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCNONE));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscMalloc2(N, &re, N, &im));
  PetscCall(KSPComputeEigenvaluesExplicitly(ksp, N, re, im));
  *rho   = 0;
  *least = PETSC_MAX_REAL;
  for (PetscInt i = 0; i < N; i++) {
    const PetscReal value = PetscSqrtReal(re[i] * re[i] + im[i] * im[i]);

    *rho = PetscMax(*rho, value);
    if (value > HJTestDigits(1e-10)) *least = PetscMin(*least, value);
  }
  PetscCall(PetscFree2(re, im));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of CG + multigrid to 1e-8; the options of the levels are those of the prefix */
static inline PETSC_UNUSED PetscErrorCode Multigrid(DM da, Mat A, PetscInt levels, const char prefix[], PetscInt *its,
                                                    KSPConvergedReason *reason)
{
  KSP ksp;
  PC  pc;
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), PETSC_DEFAULT, PETSC_DEFAULT, 200));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCMGSetLevels(pc, levels, NULL));
  PetscCall(PCMGSetGalerkin(pc, PC_MG_GALERKIN_BOTH));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscCall(HJTestDestroy(&b, &x, &ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode NewPC(Mat A, DM da, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(ProblemPC(da, A, PCHJACOBI, pc));
  PetscCall(PCHJacobiSetBackend(*pc, backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 3 4 */
/*
   PCHJMG as a solver and in one: iterations of CG, cycles under KSPRICHARDSON, rotated and one-sided ones, recorded ones, vectors of the
   host.
*/
#include "hjmgcase.h"

/* Iterations of CG to 1e-8, the same on any ranks, host and GPU; where the matrix is not symmetric of GMRES, at most: thin ranks have fewer
   levels then */
static const struct {
  Problem  p;
  PetscInt its;
} solves[] = {{{1, {257, 1, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, 5},   {{2, {65, 65, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, 6},
              {{2, {129, 129, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, 6}, {{2, {257, 129, 1}, DIRICHLET, CONSTANT, PETSC_TRUE}, 5},
              {{2, {129, 129, 1}, IDENTITY, VARYING, PETSC_FALSE}, 9},   {{2, {129, 97, 1}, NEUMANN, VARYING, PETSC_FALSE}, 6},
              {{2, {128, 96, 1}, PERIODIC, CONSTANT, PETSC_FALSE}, 6},   {{2, {129, 9, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, 5},
              {{3, {17, 17, 17}, DIRICHLET, CONSTANT, PETSC_FALSE}, 6},  {{3, {33, 33, 33}, DIRICHLET, VARYING, PETSC_FALSE}, 7},
              {{3, {32, 32, 32}, PERIODIC, CONSTANT, PETSC_FALSE}, 6},   {{2, {65, 65, 1}, DIRICHLET, CONVECTION, PETSC_FALSE}, 27}};

static PetscErrorCode TestConverges(const Problem *p, PetscBool stencil, PetscInt expected)
{
  DM                 da;
  Mat                A;
  PC                 pc;
  KSP                ksp;
  Vec                b, x;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          residual = 0.0;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(p, stencil, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ProblemVector(da, 1, b));
  if (IsSingular(p)) PetscCall(SayConstants(A, b));
  PetscCall(MakeKSP(A, IsSymmetric(p) ? KSPCG : KSPGMRES, 50, &ksp, &pc));
  PetscCall(PCHJMGSetK(pc, 1, (PetscInt[]){2}));
  PetscCall(ProblemSolve(ksp, A, b, x, &its, &reason, &residual));
  PetscCall(HJTestOK((PetscBool)(reason > 0 && (IsSymmetric(p) ? HJTestIterations(its, expected) : its <= expected + 2) &&
                                 residual < HJTestDigits(1e-6)),
                     "%s: %" PetscInt_FMT " iterations, %" PetscInt_FMT " expected, residual %g", Name(p, stencil), its, expected,
                     (double)residual));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of star hierarchies, and in 3D, plain cycles and rotated ones have subiterations of their own, on coarse grids that are on fewer ranks
   too; of AIJ, whose products take longer, others than of hjstencil */
static PetscErrorCode TestOwnK(void)
{
  static const Problem  p[]       = {{2, {129, 129, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                                     {3, {33, 33, 33}, DIRICHLET, CONSTANT, PETSC_FALSE},
                                     {3, {33, 33, 33}, DIRICHLET, VARYING, PETSC_FALSE},
                                     {3, {33, 33, 33}, DIRICHLET, CONSTANT, PETSC_FALSE}};
  static const PetscInt its[4][2] = {{4, 5}, {4, 4}, {5, 4}, {3, 4}};

  PetscFunctionBegin;
  for (int i = 0; i < 8; i++) {
    DM       da;
    Mat      A;
    KSP      ksp;
    PC       pc;
    Vec      b, x;
    PetscInt n;

    PetscCall(MakeMatrix(&p[i / 2], (PetscBool)(i < 6), &da, &A));
    PetscCall(DMCreateGlobalVector(da, &b));
    PetscCall(ProblemVector(da, 1, b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(MakeKSP(A, i % 2 ? KSPRICHARDSON : KSPCG, 50, &ksp, &pc));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    for (int again = 0; again < 2; again++) PetscCall(KSPSolve(ksp, b, x)); /* the second one begins in the vector where the first ended */
    PetscCall(KSPGetIterationNumber(ksp, &n));
    PetscCall(HJTestOK((PetscBool)HJTestIterations(n, its[i / 2][i % 2]),
                       "own k, %s, %s: %" PetscInt_FMT " cycles, %" PetscInt_FMT " expected", i < 6 ? "hjstencil" : "AIJ",
                       i % 2 ? "rotated" : "not rotated", n, its[i / 2][i % 2]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Watch(KSP ksp, PetscInt it, PetscReal norm, void *ctx)
{
  PetscFunctionBegin;
  ((PetscReal *)ctx)[it % 64] = norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A monitor keeps KSPRICHARDSON from handing its cycles to the PC: both ways do the same */
static PetscErrorCode TestRichardson(KSPNormType norm, const char *name, PetscInt max_it, PetscBool guess)
{
  const Problem p = {2, {65, 49, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  DM            da;
  Mat           A;
  Vec           b, x[2];
  PetscInt      its[2];
  PetscReal     diff, norms[64];
  PetscBool     agree = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_TRUE, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 2; i++) {
    KSP ksp;
    PC  pc;

    PetscCall(VecDuplicate(b, &x[i]));
    PetscCall(ProblemVector(da, 2, x[i]));
    PetscCall(MakeKSP(A, KSPRICHARDSON, max_it, &ksp, &pc));
    PetscCall(KSPSetNormType(ksp, norm));
    PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
    PetscCall(PCHJMGSetK(pc, 1, (PetscInt[]){2}));
    if (i) PetscCall(KSPMonitorSet(ksp, Watch, norms, NULL));
    PetscCall(KSPSolve(ksp, b, x[i]));
    PetscCall(KSPGetIterationNumber(ksp, &its[i]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecsAgree(x[0], x[1], ROUNDING, &agree, &diff));
  PetscCall(HJTestOK((PetscBool)(agree && its[0] == its[1]),
                     "richardson, norm %s, at most %" PetscInt_FMT " cycles%s: %" PetscInt_FMT ", PETSc's loop %" PetscInt_FMT " (%g)",
                     name, max_it, guess ? ", a guess" : "", its[0], its[1], (double)diff));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids for the rotated cycle: deep, of one level more than the coarsest, singular without a word of it, periodic, 3D */
static const Problem rotated[] = {{2, {129, 97, 1}, DIRICHLET, VARYING, PETSC_FALSE}, {2, {65, 65, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                                  {2, {65, 49, 1}, NEUMANN, VARYING, PETSC_FALSE},    {2, {64, 65, 1}, PERIODIC_FIRST, VARYING, PETSC_TRUE},
                                  {1, {257, 1, 1}, DIRICHLET, VARYING, PETSC_FALSE},  {3, {33, 17, 33}, DIRICHLET, CONSTANT, PETSC_FALSE},
                                  {3, {17, 33, 17}, DIRICHLET, VARYING, PETSC_FALSE}};

/* Cycles that are not rotated, of k subiterations before and after a correction, by KSPRICHARDSON without norms, then the smoothing before
   a correction by PCHJACOBI: x of its cycles, and its residual */
static PetscErrorCode UnrotatedCycles(Mat A, PetscInt k, PetscInt its, Vec b, Vec x, PetscReal *norm)
{
  Vec r;

  PetscFunctionBegin;
  for (int smooth = 0; smooth < 2 && its; smooth++) {
    KSP ksp;
    PC  pc;

    PetscCall(ProblemKSP(NULL, A, KSPRICHARDSON, smooth ? PCHJACOBI : PCHJMG, &ksp, &pc));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
    PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
    PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, smooth ? 1 : its));
    if (smooth) PetscCall(PCHJacobiSetK(pc, k));
    else PetscCall(PCHJMGSetK(pc, 1, &k));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, norm));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RotatedCycles(Mat A, PetscInt k, PetscReal rtol, PetscReal atol, PetscReal dtol, PetscInt max_it, PetscBool graph,
                                    PetscBool guess, Vec b, Vec x, PetscInt *its, KSPConvergedReason *reason, PetscReal norms[64],
                                    PetscInt *nnorms)
{
  KSP       ksp;
  PC        pc;
  PetscReal last;

  PetscFunctionBegin;
  PetscCall(ProblemKSP(NULL, A, KSPRICHARDSON, PCHJMG, &ksp, &pc));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
  PetscCall(KSPSetTolerances(ksp, rtol, atol, dtol, max_it));
  PetscCall(KSPConvergedDefaultSetUIRNorm(ksp)); /* relative to the initial residual, with a guess too */
  PetscCall(KSPSetResidualHistory(ksp, norms, 64, PETSC_TRUE));
  PetscCall(PCHJMGSetK(pc, 1, &k));
  PetscCall(PCHJMGSetGraph(pc, graph));
  PetscCall(PCHJMGSetPrecision(pc, ALL_DIGITS));
  PetscCall(ProblemSolve(ksp, A, b, x, its, reason, NULL));
  PetscCall(KSPGetResidualHistory(ksp, NULL, nnorms));
  PetscCall(KSPGetResidualNorm(ksp, &last));
  if (*nnorms != *its + 1 || last != norms[*its]) *its = -1; /* every case compares it */
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The history, the answer and the number of rotated cycles are those of plain ones and a smoothing; what stops stops where it should */
static PetscErrorCode TestRotated(const Problem *p, PetscInt k, PetscBool guess)
{
  DM                 da;
  Mat                A;
  Vec                b, x, y, start;
  PetscInt           its, n, stop;
  KSPConvergedReason reason;
  PetscReal          norms[64], plain[64], diff = 0, worst = 0;
  PetscBool          agree = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(p, PETSC_TRUE, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(VecDuplicate(b, &start));
  PetscCall(ProblemVector(da, 2, x));
  PetscCall(MatMult(A, x, b)); /* in the range also where A is singular */
  if (guess) PetscCall(ProblemVector(da, 3, start));
  PetscCall(VecCopy(start, x));
  PetscCall(RotatedCycles(A, k, HJTestDigits(1e-7), 0, PETSC_DEFAULT, 50, PETSC_TRUE, guess, b, x, &its, &reason, norms, &n));
  for (stop = 0; stop < 30; stop++) {
    PetscCall(VecCopy(start, y));
    PetscCall(UnrotatedCycles(A, k, stop, b, y, &plain[stop]));
    if (stop < n) worst = PetscMax(worst, PetscAbsReal(norms[stop] - plain[stop]) / (plain[stop] + HJTestDigits(1e-4) * plain[0]));
    if (plain[stop] <= HJTestDigits(1e-7) * plain[0]) break;
  }
  PetscCall(VecsAgree(x, y, p->boundary == NEUMANN ? HJTestDigits(1e-7) : HJ_BY_PRECISION(ROUNDING, HJTestDigits(1e-8)), &agree, &diff));
  PetscCall(HJTestOK((PetscBool)(agree && reason == KSP_CONVERGED_RTOL && its == stop && worst <= HJTestDigits(1e-8)),
                     "rotated%s: %" PetscInt_FMT " cycles, plain ones and a smoothing %" PetscInt_FMT
                     ", norms differ by %g, answers by %g: %s",
                     guess ? ", a guess" : "", its, stop, (double)worst, (double)diff, Name(p, PETSC_TRUE)));
  PetscCall(VecCopy(start, x));
  PetscCall(RotatedCycles(A, k, 0, 1.0001 * plain[2], PETSC_DEFAULT, 50, PETSC_TRUE, guess, b, x, &its, &reason, norms, &n));
  PetscCall(HJTestOK((PetscBool)(its == 2 && reason == KSP_CONVERGED_ATOL), "atol: 2 cycles"));
  PetscCall(VecCopy(start, x));
  PetscCall(RotatedCycles(A, k, 0, 0, PETSC_DEFAULT, 3, PETSC_TRUE, guess, b, x, &its, &reason, norms, &n));
  PetscCall(HJTestOK((PetscBool)(its == 3 && reason == KSP_DIVERGED_ITS), "at most 3 cycles are 3"));
  for (int i = 0; i < 2; i++) { /* a divtol that the start exceeds; no cycle allowed */
    PetscCall(VecCopy(start, x));
    PetscCall(RotatedCycles(A, k, 0, 0, i ? PETSC_DEFAULT : 0.5, i ? 0 : 50, PETSC_TRUE, guess, b, x, &its, &reason, norms, &n));
    PetscCall(VecsAgree(x, start, 0.0, &agree, &diff));
    PetscCall(HJTestOK((PetscBool)(agree && its == 0 && reason == (i ? KSP_DIVERGED_ITS : KSP_DIVERGED_DTOL)),
                       "%s: the start is the answer", i ? "no cycle" : "divtol"));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&start));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of rotated cycles */
static PetscErrorCode TestRotatedStreams(void)
{
  PetscBool   cuda = PETSC_FALSE;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(GetSizeAndDevice(&size, &cuda));
  for (PetscInt guess = 0; guess < 2 && cuda; guess++)
    PetscCall(TestRotated(size == 1 ? &streamed[0] : &streamed_cut, 4, (PetscBool)guess));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rotated cycle of 3D, where k is not set: the smoothing of the finest grid, then cycles of PCMG that smooth after corrections alone.
   Recorded ones give the same bits */
static PetscErrorCode SetFirstKind(PC pc, PetscInt k, PetscReal ratio)
{
  PetscReal emax;

  PetscFunctionBegin;
  PetscCall(PCHJacobiSetK(pc, k));
  PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_CHEBYSHEV));
  PetscCall(PCSetUp(pc));
  PetscCall(PCHJacobiGetEigenvalues(pc, &emax, NULL));
  PetscCall(PCHJacobiSetEigenvalues(pc, emax, emax / ratio));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOneSided(const Problem *p)
{
  const PetscBool constant = (PetscBool)(p->coefficient == CONSTANT);
  const PetscInt  its = 3, k = constant ? 8 : 6;
  const PetscReal ratio = constant ? 12 : 7;
  DM              da[2];
  Mat             A[2];
  KSP             ksp;
  PC              pc, finest;
  Vec             b, x[5];
  PetscReal       diff[2];
  PetscBool       agree = PETSC_FALSE, equal = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MakeMatrices(p, PETSC_TRUE, da, A));
  PetscCall(DMCreateGlobalVector(da[0], &b));
  PetscCall(ProblemVector(da[0], 1, b));
  for (int i = 0; i < 5; i++) PetscCall(VecDuplicate(b, &x[i]));
  for (int graph = 0; graph < 2; graph++) {
    PetscCall(ProblemKSP(NULL, A[0], KSPRICHARDSON, PCHJMG, &ksp, &pc));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-30), PETSC_DEFAULT, PETSC_DEFAULT, its));
    PetscCall(PCHJMGSetLevels(pc, 3));
    PetscCall(PCHJMGSetCoarseSolve(pc, PC_HJMG_COARSE_SOLVE_SWEEPS));
    PetscCall(PCHJMGSetTransfer(pc, PC_HJMG_TRANSFER_BILINEAR));
    PetscCall(PCHJMGSetGalerkin(pc, PETSC_TRUE));
    PetscCall(PCHJMGSetGraph(pc, (PetscBool)graph));
    PetscCall(PCHJMGSetPrecision(pc, ALL_DIGITS));
    for (int again = 0; again < 2; again++) PetscCall(KSPSolve(ksp, b, x[graph]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCHJACOBI));
  PetscCall(PCSetOperators(pc, A[1], A[1]));
  PetscCall(SetFirstKind(pc, k, ratio));
  PetscCall(PCApply(pc, b, x[2]));
  PetscCall(PCDestroy(&pc));
  PetscCall(MakePCMG(da[1], A[1], PETSC_TRUE, 4, 3, &pc));
  for (PetscInt l = 1; l < 3; l++) PetscCall(PCMGGetSmootherUp(pc, l, &ksp)); /* another one than that before the correction */
  PetscCall(PCSetUp(pc));
  for (PetscInt l = 1; l < 3; l++) {
    PC none;

    PetscCall(PCMGGetSmootherDown(pc, l, &ksp));
    PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 0));
    PetscCall(KSPGetPC(ksp, &none));
    PetscCall(PCSetType(none, PCNONE));
  }
  PetscCall(PCMGGetSmootherUp(pc, 2, &ksp));
  PetscCall(KSPGetPC(ksp, &finest));
  PetscCall(SetFirstKind(finest, k, ratio));
  for (PetscInt i = 0; i < its; i++) {
    PetscCall(MatMult(A[1], x[2], x[3]));
    PetscCall(VecAYPX(x[3], -1.0, b));
    PetscCall(PCApply(pc, x[3], x[4]));
    PetscCall(VecAXPY(x[2], 1.0, x[4]));
  }
  PetscCall(VecsAgree(x[0], x[2], ROUNDING, &agree, &diff[0]));
  PetscCall(VecsAgree(x[0], x[1], 0.0, &equal, &diff[1]));
  PetscCall(HJTestOK(agree, "one-sided cycles are PCMG's: %s (%g)", Name(p, PETSC_TRUE), (double)diff[0]));
  PetscCall(HJTestOK(equal, "recorded ones have the same bits (%g)", (double)diff[1]));
  PetscCall(PCDestroy(&pc));
  for (int i = 0; i < 5; i++) PetscCall(VecDestroy(&x[i]));
  PetscCall(VecDestroy(&b));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatDestroy(&A[i]));
    PetscCall(DMDestroy(&da[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Recorded cycles give the bits of those that are not, again and again, for vectors in turn, after new values; so do rotated ones */
static PetscErrorCode TestGraph(const Problem *p)
{
  DM                 da;
  Mat                A;
  PC                 pc[2];
  Vec                b[2], x[2][2];
  PetscBool          same = PETSC_TRUE, equal = PETSC_FALSE;
  PetscInt           its[2], n;
  KSPConvergedReason reason;
  PetscReal          norms[2][64];

  PetscFunctionBegin;
  PetscCall(MakeMatrix(p, PETSC_TRUE, &da, &A));
  for (int v = 0; v < 2; v++) {
    PetscCall(DMCreateGlobalVector(da, &b[v]));
    for (int g = 0; g < 2; g++) PetscCall(VecDuplicate(b[v], &x[g][v]));
  }
  for (int g = 0; g < 2; g++) {
    PetscCall(MakePC(A, 3, PETSC_DECIDE, &pc[g]));
    PetscCall(PCHJMGSetGraph(pc[g], (PetscBool)g));
  }
  for (int i = 0; i < 9; i++) {
    const int v = i < 3 ? 0 : i % 2;

    PetscCall(ProblemVector(da, i, b[v]));
    if (i == 6) {
      PetscCall(MatScale(A, 2.0));
      for (int g = 0; g < 2; g++) PetscCall(PCSetOperators(pc[g], A, A));
    }
    for (int g = 0; g < 2; g++) PetscCall(PCApply(pc[g], b[v], x[g][v]));
    PetscCall(VecEqual(x[0][v], x[1][v], &equal));
    same = (PetscBool)(same && equal);
  }
  PetscCall(HJTestOK(same, "recorded cycles are those that are not: %s", Name(p, PETSC_TRUE)));
  for (int g = 0; g < 2; g++) {
    PetscCall(ProblemVector(da, 1, x[g][0]));
    PetscCall(RotatedCycles(A, 2, 1e-6, 0, PETSC_DEFAULT, 12, (PetscBool)g, PETSC_TRUE, b[0], x[g][0], &its[g], &reason, norms[g], &n));
  }
  PetscCall(VecEqual(x[0][0], x[1][0], &equal));
  for (PetscInt i = 0; i < n; i++) equal = (PetscBool)(equal && norms[0][i] == norms[1][i]);
  PetscCall(HJTestOK((PetscBool)(equal && its[0] == its[1]), "recorded rotated cycles are those that are not: %" PetscInt_FMT, its[1]));
  for (int v = 0; v < 2; v++) {
    PetscCall(PCDestroy(&pc[v]));
    PetscCall(VecDestroy(&b[v]));
    for (int g = 0; g < 2; g++) PetscCall(VecDestroy(&x[g][v]));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Right-hand side and solution on the host, wherever the matrix is: solved as those of its own kind */
static PetscErrorCode TestHostVectors(void)
{
  const Problem p = {2, {65, 65, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM            da;
  Mat           A;
  KSP           ksp;
  PC            pc;
  Vec           b[2], x[2];
  PetscInt      n, its[2];
  PetscReal     diff;
  PetscBool     agree = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_TRUE, &da, &A));
  PetscCall(ProblemKSP(NULL, A, KSPRICHARDSON, PCHJMG, &ksp, &pc));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), 0.0, 1e10, 30));
  PetscCall(DMCreateGlobalVector(da, &b[0]));
  PetscCall(ProblemVector(da, 1, b[0]));
  PetscCall(VecGetLocalSize(b[0], &n));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &b[1]));
  PetscCall(VecSetSizes(b[1], n, PETSC_DETERMINE));
  PetscCall(VecSetType(b[1], VECSTANDARD));
  PetscCall(VecCopy(b[0], b[1]));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDuplicate(b[i], &x[i]));
    PetscCall(KSPSolve(ksp, b[i], x[i]));
    PetscCall(KSPGetIterationNumber(ksp, &its[i]));
  }
  PetscCall(VecCopy(x[1], b[0]));
  PetscCall(VecsAgree(x[0], b[0], HJTestDigits(1e-9), &agree, &diff));
  PetscCall(HJTestOK((PetscBool)(agree && its[0] == its[1]),
                     "host vectors: %" PetscInt_FMT " cycles, %" PetscInt_FMT " with the matrix's (%g)", its[1], its[0], (double)diff));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&b[i]));
    PetscCall(VecDestroy(&x[i]));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  int code;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemBackend());
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(solves); i++) {
    for (int stencil = i % 3 != 0; stencil < 2; stencil++) PetscCall(TestConverges(&solves[i].p, (PetscBool)stencil, solves[i].its));
  }
  for (int guess = 0; guess < 2; guess++) {
    PetscCall(TestRichardson(KSP_NORM_PRECONDITIONED, "preconditioned", 50, (PetscBool)guess));
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(rotated); i++) PetscCall(TestRotated(&rotated[i], 2, (PetscBool)guess));
    PetscCall(TestRichardson(KSP_NORM_PRECONDITIONED, "preconditioned", 3, (PetscBool)guess));
    PetscCall(TestRichardson(KSP_NORM_NONE, "none", 3, (PetscBool)guess));
  }
  PetscCall(TestRotatedStreams());
  PetscCall(TestOneSided(&(Problem){3, {33, 17, 33}, DIRICHLET, CONSTANT, PETSC_FALSE}));
  PetscCall(TestOneSided(&(Problem){3, {17, 33, 17}, DIRICHLET, VARYING, PETSC_FALSE}));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(rotated); i++) PetscCall(TestGraph(&rotated[i]));
  PetscCall(TestOwnK());
  PetscCall(TestHostVectors());
  code = HJTestDone();
  PetscCall(PetscFinalize());
  return code;
}

/* ranks: 1 2 3 4 */
/*
   PCHJMG: the cycle of PCMG with PCHJACOBI on the same grids, symmetry, convergence on all kinds of grids, its cycles under KSPRICHARDSON,
   null spaces, new values, what is refused.
*/
#include "hjproblem.h"
#include "hjcapture.h"
#include "hjdevices.h"
#include "operator/hjtransfers.h"

/* As much as sums in another order may change, through the sweeps of a few levels */
#define ROUNDING 1e-10

/* A matrix of the wanted type with the values of the problem */
static PetscErrorCode MakeMatrix(const Problem *p, PetscBool stencil, DM *da, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(ProblemDM(p, da));
  if (stencil) PetscCall(MatCreateHJStencil(*da, A));
  else PetscCall(DMCreateMatrix(*da, A));
  PetscCall(ProblemFill(p, *da, 0, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakePC(Mat A, PetscInt k, PetscInt levels, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, PCHJMG));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCHJMGSetK(*pc, 1, &k));
  PetscCall(PCHJMGSetLevels(*pc, levels));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To 1e-8 by hjmg, of which pc may set more */
static PetscErrorCode MakeKSP(Mat A, KSPType type, PetscInt max_it, KSP *ksp, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, max_it));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, PCHJMG));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *Name(const Problem *p, PetscBool stencil)
{
  static char name[128];

  (void)PetscSNPrintf(name, sizeof(name), "%s, %" PetscInt_FMT "D %s %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT ", %s, %s",
                      stencil ? "hjstencil" : "AIJ", p->dim, p->box ? "box" : "star", p->n[0], p->n[1], p->n[2],
                      BoundaryNames()[p->boundary], CoefficientNames()[p->coefficient]);
  return name;
}

static const Problem problems[] =
  {{1, {129, 1, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},     {1, {128, 1, 1}, PERIODIC, CONSTANT, PETSC_FALSE},
   {2, {33, 49, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},     {2, {33, 33, 1}, IDENTITY, VARYING, PETSC_FALSE},
   {2, {33, 41, 1}, NEUMANN, CONSTANT, PETSC_FALSE},       {2, {48, 32, 1}, PERIODIC, VARYING, PETSC_TRUE},
   {2, {32, 33, 1}, PERIODIC_FIRST, CONSTANT, PETSC_TRUE}, {2, {33, 33, 1}, DIRICHLET, CONVECTION, PETSC_FALSE},
   {3, {17, 17, 17}, DIRICHLET, CONSTANT, PETSC_FALSE},    {3, {17, 17, 25}, DIRICHLET, JUMP, PETSC_TRUE},
   {3, {17, 17, 16}, PERIODIC_LAST, VARYING, PETSC_FALSE}};

static PetscBool IsSymmetric(const Problem *p)
{
  return (PetscBool)(p->coefficient != CONVECTION && p->boundary != IDENTITY && p->boundary != MIRROR);
}

/* PCMG that describes the same cycle */
static PetscErrorCode MakePCMG(DM da, Mat A, PetscBool symmetric, PetscInt k, PetscInt levels, PC *pc)
{
  char options[512];

  PetscFunctionBegin;
  PetscCall(
    PetscSNPrintf(options, sizeof(options),
                  "-other_pc_mg_levels %" PetscInt_FMT " -other_pc_mg_galerkin both -other_mg_levels_ksp_type richardson "
                  "-other_mg_levels_ksp_max_it 1 -other_mg_levels_pc_type hjacobi -other_mg_levels_pc_hjacobi_k %" PetscInt_FMT
                  " -other_mg_levels_pc_hjacobi_schedule chebyshev4 -other_mg_coarse_ksp_type preonly -other_mg_coarse_pc_type hjacobi",
                  levels, k));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PetscSNPrintf(options, sizeof(options),
                          "-other_mg_coarse_pc_hjacobi_k %" PetscInt_FMT " -other_mg_coarse_pc_hjacobi_schedule chebyshev4", k));
  if (symmetric) {
    PetscCall(PetscOptionsInsertString(NULL, "-other_mg_coarse_pc_hjacobi_reduction 0.01 -other_mg_coarse_pc_hjacobi_schedule chebyshev"));
  } else {
    PetscCall(PetscOptionsInsertString(NULL, options));
    PetscCall(PetscOptionsClearValue(NULL, "-other_mg_coarse_pc_hjacobi_reduction"));
  }
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetOptionsPrefix(*pc, "other_"));
  PetscCall(PCSetType(*pc, PCMG));
  PetscCall(PCSetDM(*pc, da));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix for PCHJMG, and one whose coarse matrices PCMG makes */
static PetscErrorCode MakeMatrices(const Problem *p, PetscBool stencil, DM da[2], Mat A[2])
{
  PetscFunctionBegin;
  PetscCall(MakeMatrix(p, stencil, &da[0], &A[0]));
  PetscCall(ProblemDM(p, &da[1]));
  PetscCall(DMSetMatType(da[1], MATHJSTENCIL));
  PetscCall(DMCreateMatrix(da[1], &A[1]));
  PetscCall(ProblemFill(p, da[1], 0, A[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSameCycle(const Problem *p, PetscBool stencil, PetscInt k)
{
  const PetscInt levels = p->n[0] > 1000 ? 5 : 3;
  DM             da[2];
  Mat            A[2];
  PC             pc[2];
  Vec            b, x[2];
  PetscReal      diff;
  PetscBool      agree = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MakeMatrices(p, stencil, da, A));
  PetscCall(MakePC(A[0], k, levels, &pc[0]));
  PetscCall(PCHJMGSetCoarseSolve(pc[0], PC_HJMG_COARSE_SOLVE_SWEEPS));
  PetscCall(PCHJMGSetTransfer(pc[0], PC_HJMG_TRANSFER_BILINEAR));
  PetscCall(PCHJMGSetGalerkin(pc[0], PETSC_TRUE));
  PetscCall(MakePCMG(da[1], A[1], IsSymmetric(p), k, levels, &pc[1]));
  PetscCall(DMCreateGlobalVector(da[0], &b));
  PetscCall(ProblemVector(da[0], 1, b));
  if (p->boundary == PERIODIC || p->boundary == NEUMANN) { /* what the singular coarsest grid cannot take */
    PetscScalar sum;
    PetscInt    n;

    PetscCall(VecGetSize(b, &n));
    PetscCall(VecSum(b, &sum));
    PetscCall(VecShift(b, -sum / n));
  }
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDuplicate(b, &x[i]));
    PetscCall(PCSetUp(pc[i]));
    PetscCall(PCApply(pc[i], b, x[i]));
  }
  PetscCall(VecsAgree(x[0], x[1], ROUNDING, &agree, &diff));
  PetscCall(HJTestOK(agree, "a cycle of k = %" PetscInt_FMT " is PCMG's: %s (%g)", k, Name(p, stencil), (double)diff));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&x[i]));
    PetscCall(PCDestroy(&pc[i]));
    PetscCall(MatDestroy(&A[i]));
    PetscCall(DMDestroy(&da[i]));
  }
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* (M u, v) = (u, M^T v); also with new values, and where the matrix is said to be symmetric, truly or not */
static PetscErrorCode TestTranspose(const Problem *p, PetscBool inverse)
{
  DM          da;
  Mat         A;
  PC          pc;
  Vec         u, v, Mu, Mv;
  PetscScalar a, b;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(p, PETSC_TRUE, &da, &A));
  PetscCall(MakePC(A, 2, PETSC_DECIDE, &pc));
  if (inverse) PetscCall(PCHJMGSetCoarseSolve(pc, PC_HJMG_COARSE_SOLVE_INVERSE));
  PetscCall(DMCreateGlobalVector(da, &u));
  PetscCall(VecDuplicate(u, &v));
  PetscCall(VecDuplicate(u, &Mu));
  PetscCall(VecDuplicate(u, &Mv));
  PetscCall(ProblemVector(da, 1, u));
  PetscCall(ProblemVector(da, 2, v));
  for (int i = 0; i < 3; i++) {
    if (i == 1) PetscCall(MatScale(A, 2.0));
    if (i == 2) PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCApply(pc, u, Mu));
    PetscCall(PCApplyTranspose(pc, v, Mv));
    PetscCall(VecDot(Mu, v, &a));
    PetscCall(VecDot(u, Mv, &b));
    PetscCall(HJTestOK((PetscBool)(PetscAbsScalar(a - b) <= 1e-11 * PetscAbsScalar(a)), "transposed%s%s: %s (%g)",
                       inverse ? ", inverse" : "",
                       i == 2   ? ", said to be symmetric"
                       : i == 1 ? ", new values"
                                : "",
                       Name(p, PETSC_TRUE), (double)PetscAbsScalar((a - b) / a)));
  }
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&Mu));
  PetscCall(VecDestroy(&Mv));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  const PetscBool    singular = (PetscBool)(p->boundary == PERIODIC || p->boundary == NEUMANN);
  DM                 da;
  Mat                A;
  PC                 pc;
  KSP                ksp;
  Vec                b, x, r;
  MatNullSpace       null;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          norm[2];

  PetscFunctionBegin;
  PetscCall(MakeMatrix(p, stencil, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(ProblemVector(da, 1, b));
  if (singular) {
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &null));
    PetscCall(MatSetNullSpace(A, null));
    PetscCall(MatNullSpaceRemove(null, b));
    PetscCall(MatNullSpaceDestroy(&null));
  }
  PetscCall(MakeKSP(A, IsSymmetric(p) ? KSPCG : KSPGMRES, 50, &ksp, &pc));
  PetscCall(PCHJMGSetK(pc, 1, (PetscInt[]){2}));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &norm[0]));
  PetscCall(VecNorm(b, NORM_2, &norm[1]));
  PetscCall(HJTestOK((PetscBool)(reason > 0 && (IsSymmetric(p) ? its == expected : its <= expected + 2) && norm[0] < 1e-6 * norm[1]),
                     "%s: %" PetscInt_FMT " iterations, %" PetscInt_FMT " expected, residual %g", Name(p, stencil), its, expected,
                     (double)(norm[0] / norm[1])));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&r));
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
    PetscCall(HJTestOK((PetscBool)(n == its[i / 2][i % 2]), "own k, %s, %s: %" PetscInt_FMT " cycles, %" PetscInt_FMT " expected",
                       i < 6 ? "hjstencil" : "AIJ", i % 2 ? "rotated" : "plain", n, its[i / 2][i % 2]));
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

static PetscInt rotated_k = 2; /* subiterations before and after a correction */

/* Plain cycles, by KSPRICHARDSON without norms, then the smoothing before a correction by PCHJACOBI: x of its cycles, and its residual */
static PetscErrorCode PlainCycles(Mat A, PetscInt its, Vec b, Vec x, PetscReal *norm)
{
  Vec r;

  PetscFunctionBegin;
  for (int smooth = 0; smooth < 2 && its; smooth++) {
    KSP ksp;
    PC  pc;

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPRICHARDSON));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
    PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
    PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, smooth ? 1 : its));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, smooth ? PCHJACOBI : PCHJMG));
    if (smooth) PetscCall(PCHJacobiSetK(pc, rotated_k));
    else PetscCall(PCHJMGSetK(pc, 1, &rotated_k));
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

static PetscErrorCode RotatedCycles(Mat A, PetscReal rtol, PetscReal atol, PetscReal dtol, PetscInt max_it, PetscBool graph,
                                    PetscBool guess, Vec b, Vec x, PetscInt *its, KSPConvergedReason *reason, PetscReal norms[64],
                                    PetscInt *nnorms)
{
  KSP       ksp;
  PC        pc;
  PetscReal last;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
  PetscCall(KSPSetTolerances(ksp, rtol, atol, dtol, max_it));
  PetscCall(KSPConvergedDefaultSetUIRNorm(ksp)); /* relative to the initial residual, with a guess too */
  PetscCall(KSPSetResidualHistory(ksp, norms, 64, PETSC_TRUE));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(PCHJMGSetK(pc, 1, &rotated_k));
  PetscCall(PCHJMGSetGraph(pc, graph));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  PetscCall(KSPGetResidualHistory(ksp, NULL, nnorms));
  PetscCall(KSPGetResidualNorm(ksp, &last));
  if (*nnorms != *its + 1 || last != norms[*its]) *its = -1; /* every case compares it */
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The history, the answer and the number of rotated cycles are those of plain ones and a smoothing; what stops stops where it should */
static PetscErrorCode TestRotated(const Problem *p, PetscBool guess)
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
  PetscCall(RotatedCycles(A, 1e-7, 0, PETSC_DEFAULT, 50, PETSC_TRUE, guess, b, x, &its, &reason, norms, &n));
  for (stop = 0; stop < 30; stop++) {
    PetscCall(VecCopy(start, y));
    PetscCall(PlainCycles(A, stop, b, y, &plain[stop]));
    if (stop < n) worst = PetscMax(worst, PetscAbsReal(norms[stop] - plain[stop]) / (plain[stop] + 1e-4 * plain[0]));
    if (plain[stop] <= 1e-7 * plain[0]) break;
  }
  PetscCall(VecsAgree(x, y, p->boundary == NEUMANN ? 1e-7 : ROUNDING, &agree, &diff));
  PetscCall(HJTestOK((PetscBool)(agree && reason == KSP_CONVERGED_RTOL && its == stop && worst <= 1e-8),
                     "rotated%s: %" PetscInt_FMT " cycles, plain ones and a smoothing %" PetscInt_FMT
                     ", norms differ by %g, answers by %g: %s",
                     guess ? ", a guess" : "", its, stop, (double)worst, (double)diff, Name(p, PETSC_TRUE)));
  PetscCall(VecCopy(start, x));
  PetscCall(RotatedCycles(A, 0, 1.0001 * plain[2], PETSC_DEFAULT, 50, PETSC_TRUE, guess, b, x, &its, &reason, norms, &n));
  PetscCall(HJTestOK((PetscBool)(its == 2 && reason == KSP_CONVERGED_ATOL), "atol: 2 cycles"));
  PetscCall(VecCopy(start, x));
  PetscCall(RotatedCycles(A, 0, 0, PETSC_DEFAULT, 3, PETSC_TRUE, guess, b, x, &its, &reason, norms, &n));
  PetscCall(HJTestOK((PetscBool)(its == 3 && reason == KSP_DIVERGED_ITS), "at most 3 cycles are 3"));
  for (int i = 0; i < 2; i++) { /* a divtol that the start exceeds; no cycle allowed */
    PetscCall(VecCopy(start, x));
    PetscCall(RotatedCycles(A, 0, 0, i ? PETSC_DEFAULT : 0.5, i ? 0 : 50, PETSC_TRUE, guess, b, x, &its, &reason, norms, &n));
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

/* Cycles of the GPU, of which the later ones are recorded, are the host's: on grids below the finest all points inside have one row, those
   at the walls others, or all have their own. Sweeps begin with the correction and end with the residual, in patches that begin at even
   and odd points; over arrays, and on a T4, which is played and has no room for large patches, they stream, in strips that begin at
   even and odd columns */
static PetscErrorCode TestFrame(const Problem *p, PetscInt k, PetscBool t4)
{
  PetscBool agree = PETSC_FALSE;
  PetscReal diff;
  Vec       x[2];

  PetscFunctionBegin;
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(HJCUDASetDevice(t4 ? &HJTestDevices[0] : NULL));
#endif
  for (int i = 0; i < 2; i++) {
    PetscInt n;
    Vec      b, y;
    DM       da;
    Mat      A;
    PC       pc;

    if (i) PetscCall(PetscOptionsSetValue(NULL, "-dm_vec_type", VECSTANDARD));
    PetscCall(MakeMatrix(p, PETSC_TRUE, &da, &A));
    PetscCall(MakePC(A, k, PETSC_DECIDE, &pc));
    PetscCall(PCHJMGSetCoarseSolve(pc, PC_HJMG_COARSE_SOLVE_INVERSE)); /* by default the CPU takes sweeps */
    PetscCall(DMCreateGlobalVector(da, &b));
    PetscCall(VecDuplicate(b, &y));
    PetscCall(ProblemVector(da, 1, b));
    for (int again = 0; again < (i ? 1 : 3); again++) PetscCall(PCApply(pc, b, y));
    PetscCall(VecGetLocalSize(y, &n));
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, n, PETSC_DETERMINE, &x[i]));
    PetscCall(VecCopy(y, x[i]));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&b));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscCall(PetscOptionsSetValue(NULL, "-dm_vec_type", VECCUDA));
  PetscCall(VecsAgree(x[0], x[1], ROUNDING, &agree, &diff));
  PetscCall(HJTestOK(agree, "a cycle of k = %" PetscInt_FMT " is the host's%s (%g)", k, t4 ? ", as on a T4" : "", (double)diff));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(HJCUDASetDevice(NULL));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids whose sweeps stream on a GPU, begin with the correction from the coarser grid, or end with the residual for it, in strips that
   begin at even and odd columns; several ranks are cut into lines, of which the first may lie on a coarse one or not */
static PetscErrorCode TestCorrected(void)
{
  static const Problem one[2]    = {{2, {1025, 769, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                                    {2, {2049, 1537, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}},
                       cut       = {2, {1025, 2049, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                       arrays[2] = {{2, {1025, 769, 1}, DIRICHLET, VARYING, PETSC_FALSE},
                                    {3, {257, 161, 161}, DIRICHLET, VARYING, PETSC_FALSE}};
  PetscBool   cuda               = PETSC_FALSE;
  char        type[16]           = "";
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_vec_type", type, sizeof(type), NULL));
  PetscCall(PetscStrcmp(type, "cuda", &cuda));
  for (PetscInt k = 4; k <= 8 && cuda; k += 2) PetscCall(TestSameCycle(size == 1 ? &one[0] : &cut, PETSC_TRUE, k));
  for (PetscInt k = 6; k <= 8 && cuda; k++) PetscCall(TestFrame(size == 1 ? &one[1] : &cut, k, PETSC_FALSE));
  if (cuda && size == 1) PetscCall(TestFrame(&one[1], 8, PETSC_TRUE));
  for (PetscInt k = 4; k <= 8 && cuda && size == 1; k += 2) PetscCall(TestFrame(&arrays[0], k, PETSC_FALSE));
  for (PetscInt k = 3; k <= 4 && cuda && size == 1; k++) PetscCall(TestFrame(&arrays[1], k, PETSC_FALSE));
  for (PetscInt guess = 0; guess < 2 && cuda; guess++) {
    rotated_k = 4;
    PetscCall(TestRotated(size == 1 ? &one[0] : &cut, (PetscBool)guess));
    rotated_k = 2;
  }
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
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A[0], A[0]));
    PetscCall(KSPSetType(ksp, KSPRICHARDSON));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetTolerances(ksp, 1e-30, PETSC_DEFAULT, PETSC_DEFAULT, its));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCHJMG));
    PetscCall(PCHJMGSetLevels(pc, 3));
    PetscCall(PCHJMGSetCoarseSolve(pc, PC_HJMG_COARSE_SOLVE_SWEEPS));
    PetscCall(PCHJMGSetTransfer(pc, PC_HJMG_TRANSFER_BILINEAR));
    PetscCall(PCHJMGSetGalerkin(pc, PETSC_TRUE));
    PetscCall(PCHJMGSetGraph(pc, (PetscBool)graph));
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
    PetscCall(RotatedCycles(A, 1e-6, 0, PETSC_DEFAULT, 12, (PetscBool)g, PETSC_TRUE, b[0], x[g][0], &its[g], &reason, norms[g], &n));
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

/* With the inverse a cycle is that of PCMG whose coarsest grid is solved by sweeps without end, or factorised */
static PetscErrorCode TestInverse(void)
{
  const Problem inverses[] = {{2, {33, 49, 1}, DIRICHLET, VARYING, PETSC_FALSE}, {2, {33, 33, 1}, NEUMANN, VARYING, PETSC_TRUE},
                              {2, {32, 48, 1}, PERIODIC, CONSTANT, PETSC_FALSE}, {3, {9, 17, 9}, DIRICHLET, CONSTANT, PETSC_FALSE},
                              {2, {33, 33, 1}, IDENTITY, VARYING, PETSC_FALSE},  {2, {33, 33, 1}, DIRICHLET, CONVECTION, PETSC_FALSE}};
  PetscMPIInt   size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(inverses); i++) {
    const Problem  *p        = &inverses[i];
    const PetscBool singular = (PetscBool)(p->boundary == PERIODIC || p->boundary == NEUMANN);
    DM              da[2];
    Mat             A[2];
    PC              pc[2];
    Vec             b, x[2];
    PetscReal       diff;
    PetscBool       agree = PETSC_FALSE;

    PetscCall(MakeMatrices(p, PETSC_TRUE, da, A));
    PetscCall(DMCreateGlobalVector(da[0], &b));
    PetscCall(ProblemVector(da[0], 1, b));
    if (singular) {
      MatNullSpace null;

      PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &null));
      PetscCall(MatSetNullSpace(A[0], null));
      PetscCall(MatNullSpaceRemove(null, b));
      PetscCall(MatNullSpaceDestroy(&null));
    }
    PetscCall(MakePC(A[0], 3, 2, &pc[0]));
    PetscCall(PCHJMGSetCoarseSolve(pc[0], PC_HJMG_COARSE_SOLVE_INVERSE));
    PetscCall(PCHJMGSetTransfer(pc[0], PC_HJMG_TRANSFER_BILINEAR));
    PetscCall(PCHJMGSetGalerkin(pc[0], PETSC_TRUE));
    PetscCall(MakePCMG(da[1], A[1], PETSC_TRUE, 3, 2, &pc[1]));
    PetscCall(PetscOptionsInsertString(NULL, "-other_mg_coarse_pc_hjacobi_reduction 1e-12"));
    if (!IsSymmetric(p)) PetscCall(PetscOptionsInsertString(NULL, "-other_mg_coarse_pc_type redundant"));
    PetscCall(PCSetFromOptions(pc[1]));
    for (int v = 0; v < 2; v++) {
      PetscCall(VecDuplicate(b, &x[v]));
      PetscCall(PCApply(pc[v], b, x[v]));
      if (singular) {
        PetscScalar sum;
        PetscInt    n;

        PetscCall(VecGetSize(x[v], &n));
        PetscCall(VecSum(x[v], &sum));
        PetscCall(VecShift(x[v], -sum / n));
      }
    }
    PetscCall(VecsAgree(x[0], x[1], 1e-9, &agree, &diff));
    PetscCall(
      HJTestOK((PetscBool)(agree || size > 1), "the coarsest grid is solved to the end: %s (%g)", Name(p, PETSC_TRUE), (double)diff));
    PetscCall(PetscOptionsClearValue(NULL, "-other_mg_coarse_pc_hjacobi_reduction"));
    PetscCall(PetscOptionsSetValue(NULL, "-other_mg_coarse_pc_type", "hjacobi"));
    for (int v = 0; v < 2; v++) {
      PetscCall(VecDestroy(&x[v]));
      PetscCall(PCDestroy(&pc[v]));
      PetscCall(MatDestroy(&A[v]));
      PetscCall(DMDestroy(&da[v]));
    }
    PetscCall(VecDestroy(&b));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's malloc, but for so many bytes, rounded up, of which there is no room */
static PetscErrorCode (*real_malloc)(size_t, PetscBool, int, const char[], const char[], void **);
static size_t         no_room;
static PetscInt       refusals; /* so many times */
static PetscErrorCode Refuse(size_t bytes, PetscBool clear, int line, const char fun[], const char file[], void **p)
{
  if (!refusals || bytes < no_room || bytes >= no_room + 64) return (*real_malloc)(bytes, clear, line, fun, file, p);
  refusals--;
  *p = NULL;
  return PetscError(PETSC_COMM_SELF, line, fun, file, PETSC_ERR_MEM, PETSC_ERROR_INITIAL, "No room");
}

/* Where there is no memory for the inverse of the coarsest grid, of 17 x 17 points, or for making it, sweeps solve it. On one rank, on the
   host */
static PetscErrorCode TestNoRoom(void)
{
  const Problem p = {2, {33, 33, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  PetscMPIInt   size;
  PetscBool     gpu;
  DM            da;
  Mat           A;
  PC            pc;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-dm_vec_type", &gpu));
  if (size > 1 || gpu) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MakeMatrix(&p, PETSC_FALSE, &da, &A));
  for (int room = 1; room >= 0; room--) {
    PetscCall(MakePC(A, 3, 2, &pc));
    PetscCall(PCHJMGSetCoarseSolve(pc, PC_HJMG_COARSE_SOLVE_INVERSE));
    real_malloc = PetscTrMalloc;
    no_room     = room ? 0 : 17 * 17 * 17 * 17 * sizeof(PetscScalar);
    refusals    = 100;
    if (!room) PetscTrMalloc = Refuse;
    PetscCall(PCSetUp(pc));
    PetscTrMalloc = real_malloc;
    CollectBegin();
    PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
    CollectEnd();
    PetscCall(HJTestOK((PetscBool)(strstr(printed, room ? "by the inverse of its matrix" : "its sweeps leave a hundredth") != NULL),
                       "%s memory for the inverse of the coarsest grid", room ? "there is" : "there is no"));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* There is memory for the inverse, but none for its transpose beside it */
static PetscErrorCode TestNoRoomTransposed(void)
{
  const Problem p = {2, {33, 33, 1}, DIRICHLET, CONVECTION, PETSC_FALSE};
  PetscMPIInt   size;
  PetscBool     gpu;
  DM            da;
  Mat           A;
  PC            pc;
  Vec           u, v, Mu, Mv;
  PetscScalar   a, b;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-dm_vec_type", &gpu));
  if (size > 1 || gpu) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MakeMatrix(&p, PETSC_TRUE, &da, &A));
  PetscCall(MakePC(A, 3, 2, &pc));
  PetscCall(PCHJMGSetCoarseSolve(pc, PC_HJMG_COARSE_SOLVE_INVERSE));
  PetscCall(DMCreateGlobalVector(da, &u));
  PetscCall(VecDuplicate(u, &v));
  PetscCall(VecDuplicate(u, &Mu));
  PetscCall(VecDuplicate(u, &Mv));
  PetscCall(ProblemVector(da, 1, u));
  PetscCall(ProblemVector(da, 2, v));
  PetscCall(PCSetUp(pc));
  real_malloc   = PetscTrMalloc;
  no_room       = 17 * 17 * 17 * 17 * sizeof(PetscScalar);
  refusals      = 1;
  PetscTrMalloc = Refuse;
  PetscCall(PCApplyTranspose(pc, v, Mv));
  PetscTrMalloc = real_malloc;
  PetscCall(PCApply(pc, u, Mu));
  PetscCall(VecDot(Mu, v, &a));
  PetscCall(VecDot(u, Mv, &b));
  PetscCall(HJTestOK((PetscBool)(!refusals && PetscAbsScalar(a - b) <= 1e-11 * PetscAbsScalar(a)),
                     "transposed, no memory for the inverse's transpose (%g)", (double)PetscAbsScalar((a - b) / a)));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&Mu));
  PetscCall(VecDestroy(&Mv));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After new values, another k, other levels the cycle is that of a PC that is new */
static PetscErrorCode TestRefresh(PetscBool stencil)
{
  const Problem p[]   = {{2, {65, 33, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                         {2, {65, 33, 1}, DIRICHLET, VARYING, PETSC_FALSE},
                         {2, {65, 33, 1}, DIRICHLET, JUMP, PETSC_FALSE},
                         {2, {65, 33, 1}, DIRICHLET, CONVECTION, PETSC_FALSE}};
  const int     now[] = {0, 1, 2, 3, 1, 0}; /* of one row, symmetric, not symmetric */
  DM            da;
  Mat           A;
  PC            pc;
  Vec           b, x[2];

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p[0], stencil, &da, &A));
  PetscCall(MakePC(A, 3, 3, &pc));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 2; i++) PetscCall(VecDuplicate(b, &x[i]));
  for (int i = 0; i < 8; i++) {
    const PetscInt  k = i < 6 ? 3 : 2, levels = i < 7 ? 3 : 2;
    PC              fresh;
    PetscInt        n[2];
    const PetscInt *now_k;
    PetscReal       diff;
    PetscBool       agree = PETSC_FALSE;

    if (i < 6) {
      PetscCall(MatZeroEntries(A));
      PetscCall(ProblemFill(&p[now[i]], da, i, A));
    }
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCHJMGSetK(pc, 1, &k));
    PetscCall(PCHJMGSetLevels(pc, levels));
    PetscCall(MakePC(A, k, levels, &fresh));
    PetscCall(PCApply(pc, b, x[0]));
    PetscCall(PCApply(fresh, b, x[1]));
    PetscCall(PCHJMGGetK(pc, &n[0], &now_k));
    PetscCall(PCHJMGGetLevels(pc, &n[1]));
    PetscCall(VecsAgree(x[0], x[1], ROUNDING, &agree, &diff));
    PetscCall(HJTestOK((PetscBool)(agree && n[0] == 1 && now_k[0] == k && n[1] == levels), "%s, change %d: as a new one (%g)",
                       stencil ? "hjstencil" : "AIJ", i, (double)diff));
    PetscCall(PCDestroy(&fresh));
  }
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
  PetscCall(VecDestroy(&b));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A preconditioner that is used again for a matrix whose values, or the place of whose arrays, are other ones: it still preconditions */
static PetscErrorCode TestFollow(PetscInt dim)
{
  const Problem p[]    = {{dim, {45, dim > 1 ? 43 : 1, dim > 2 ? 21 : 1}, DIRICHLET, VARYING, PETSC_FALSE},
                          {dim, {45, dim > 1 ? 43 : 1, dim > 2 ? 21 : 1}, DIRICHLET, CONSTANT, PETSC_FALSE}};
  const char   *what[] = {"as it was", "scaled", "of one row", "of arrays again", "on the CPU", "back from there"};
  DM            da;
  Mat           A;
  KSP           ksp;
  PC            pc;
  Vec           b, x, r;
  PetscReal     size = 0;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p[0], PETSC_TRUE, &da, &A));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MakeKSP(A, KSPCG, 30, &ksp, &pc));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 6; i++) {
    KSPConvergedReason reason;
    PetscInt           its;
    PetscReal          norm;

    if (i == 1) PetscCall(MatScale(A, 1.5));
    if (i == 2 || i == 3) {
      PetscCall(MatZeroEntries(A));
      PetscCall(ProblemFill(&p[3 - i], da, 0, A));
    }
    PetscCall(MatGetDiagonal(A, r));
    PetscCall(VecNorm(r, NORM_2, &norm));
    if (!i) size = norm;
    if (i == 2) PetscCall(MatScale(A, size / norm));
    if (i > 3) PetscCall(MatBindToCPU(A, (PetscBool)(i == 4)));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(RelativeResidual(A, b, x, &norm));
    PetscCall(HJTestOK((PetscBool)(reason > 0 && norm <= 1e-6),
                       "%" PetscInt_FMT "D, used again for a matrix %s: %" PetscInt_FMT " iterations", dim, what[i], its));
  }
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A preconditioner that is used again for a matrix whose values have changed since: what comes out solves with the new ones. AIJ is
   preconditioned by what was; a stencil matrix, which products of the cycle read, as if the preconditioner were new */
static PetscErrorCode TestUsedAgain(PetscBool stencil, PetscInt dim)
{
  const Problem     p       = {dim, {33, dim > 1 ? 25 : 1, dim > 2 ? 17 : 1}, DIRICHLET, VARYING, PETSC_FALSE};
  const KSPNormType norms[] = {KSP_NORM_UNPRECONDITIONED, KSP_NORM_PRECONDITIONED, KSP_NORM_NONE, KSP_NORM_UNPRECONDITIONED};
  PetscInt          its[2];
  DM                da;
  Mat               A, B;
  Vec               b, x;
  PetscReal         norm = 0;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, stencil, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 4; i++) {
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    for (int fresh = 0; fresh < 2; fresh++) {
      KSP ksp;
      PC  pc;

      PetscCall(MakeKSP(B, i < 3 ? KSPRICHARDSON : KSPCG, norms[i] == KSP_NORM_NONE ? 20 : 40, &ksp, &pc));
      PetscCall(KSPSetNormType(ksp, norms[i]));
      PetscCall(PCSetDM(pc, da));
      PetscCall(KSPSetUp(ksp));
      PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
      if (!fresh) PetscCall(MatScale(B, 1.3)); /* what was still contracts errors, by about 0.3 */
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetIterationNumber(ksp, &its[fresh]));
      PetscCall(RelativeResidual(B, b, x, &norm));
      if (!fresh)
        PetscCall(HJTestOK((PetscBool)(norm <= 1e-6), "%" PetscInt_FMT "D %s, used again, %s, norm %s: residual %g", dim,
                           stencil ? "hjstencil" : "aij", i < 3 ? "richardson" : "cg", KSPNormTypes[norms[i]], (double)norm));
      PetscCall(KSPDestroy(&ksp));
    }
    PetscCall(HJTestOK((PetscBool)(!stencil || its[0] == its[1]), "%" PetscInt_FMT " iterations, anew %" PetscInt_FMT, its[0], its[1]));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coarse operators are stars where all points of a 2D grid have one row but for the diagonal of those at the boundary */
static PetscErrorCode TestFramed(void)
{
  static const Problem p = {2, {33, 41, 1}, NEUMANN, CONSTANT, PETSC_FALSE};
  static const struct {
    PetscInt    at[2];
    PetscScalar add; /* to the diagonal of a point */
    PetscBool   stars;
  } cases[] = {{{0, 0}, 0.0, PETSC_TRUE}, {{0, 5}, 3.0, PETSC_TRUE}, {{0, 5}, -1e-3, PETSC_FALSE}, {{31, 9}, 1.0, PETSC_FALSE}};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    const MatStencil point = {.i = cases[i].at[0], .j = cases[i].at[1]};
    PetscInt         lo[2], n[2];
    DM               da;
    Mat              A;
    PC               pc;
    PetscBool        holds = PETSC_FALSE;

    PetscCall(MakeMatrix(&p, PETSC_TRUE, &da, &A));
    PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], NULL, &n[0], &n[1], NULL));
    if (point.i >= lo[0] && point.i < lo[0] + n[0] && point.j >= lo[1] && point.j < lo[1] + n[1])
      PetscCall(MatSetValuesStencil(A, 1, &point, 1, &point, &cases[i].add, ADD_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MakePC(A, 3, 2, &pc));
    PetscCall(PCSetUp(pc));
    PetscCall(ViewHolds(pc, cases[i].stars ? "operators: Galerkin products, summed into stars" : "operators: Galerkin\n", &holds));
    PetscCall(HJTestOK(holds, "a diagonal at %" PetscInt_FMT ", %" PetscInt_FMT " plus %g: %s", point.i, point.j,
                       (double)PetscRealPart(cases[i].add), cases[i].stars ? "stars" : "no stars"));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids, and what the view says of them */
static PetscErrorCode TestGrids(void)
{
  static const struct {
    Problem     p;
    PetscInt    levels, made; /* asked for, made on one rank */
    const char *words;
  } grids[] =
    {{{2, {65, 65, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, PETSC_DECIDE, 2, "level 1: 33 x 33, 5 points, dictionary"},
     {{2, {65, 65, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, 1, 1, "as many levels as asked for"},
     {{2, {65, 64, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, PETSC_DECIDE, 2, "coarsened by 2 x 2; the last point in direction 1 has 0.5"},
     {{1, {390, 1, 1}, PERIODIC, CONSTANT, PETSC_FALSE}, PETSC_DECIDE, 4, "level 3: 49, 3 points"},
     {{1, {16, 1, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, 9, 5, "no direction has points to spare"},
     {{1, {16, 1, 1}, PERIODIC, CONSTANT, PETSC_FALSE}, 9, 4, "the next one is a point whose equation is rounding"},
     {{2, {129, 2, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, 4, 4, "level 3: 17 x 1"},
     {{2, {1, 1, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, PETSC_DECIDE, 1, "few points"}};
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t g = 0; g < PETSC_STATIC_ARRAY_LENGTH(grids) && size == 1; g++) {
    DM        da;
    Mat       A;
    PC        pc;
    PetscInt  n;
    PetscBool holds = PETSC_FALSE;

    PetscCall(MakeMatrix(&grids[g].p, PETSC_TRUE, &da, &A));
    PetscCall(MakePC(A, 2, grids[g].levels, &pc));
    PetscCall(ViewHolds(pc, "not yet set up", &holds));
    PetscCall(HJTestOK(holds, "view before set-up, %s", Name(&grids[g].p, PETSC_TRUE)));
    PetscCall(PCSetUp(pc));
    PetscCall(PCHJMGGetLevels(pc, &n));
    PetscCall(ViewHolds(pc, grids[g].words, &holds));
    PetscCall(HJTestOK((PetscBool)(holds && n == grids[g].made), "%" PetscInt_FMT " levels of %s", n, Name(&grids[g].p, PETSC_TRUE)));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* More ranks than a coarse grid has points for */
static PetscErrorCode TestThin(void)
{
  const Problem p = {2, {9, 9, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM            da;
  Mat           A;
  PC            pc;
  Vec           b, x;
  PetscReal     norm;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_TRUE, &da, &A));
  PetscCall(MakePC(A, 3, 8, &pc));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(PCApply(pc, b, x));
  PetscCall(RelativeResidual(A, b, x, &norm));
  PetscCall(HJTestOK((PetscBool)(norm < 0.1), "thin ranks: a cycle leaves %g of the residual", (double)norm));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUpWith(Mat A, DM da)
{
  PC             pc;
  PetscErrorCode code;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(PCSetOperators(pc, A, A));
  if (da) PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetErrorIfFailure(pc, PETSC_TRUE));
  code = PCSetUp(pc);
  if (!code) PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(code);
}

/* A matrix that is bound to the CPU while its vectors are on the GPU: all levels are on the CPU. Then it is on the GPU again */
static PetscErrorCode TestBound(PetscBool stencil)
{
  const Problem p = {2, {65, 49, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  DM            da;
  Mat           A;
  KSP           ksp;
  PC            pc;
  Vec           b, x;
  PetscInt      its[3] = {0};

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, stencil, &da, &A));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(MakeKSP(A, KSPCG, 30, &ksp, &pc));
  PetscCall(PCSetDM(pc, da));
  for (int i = 0; i < 3; i++) {
    if (i == 1) PetscCall(MatBindToCPU(A, PETSC_FALSE));
    if (i == 2) PetscCall(MatScale(A, 2.0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[i]));
  }
  PetscCall(HJTestOK((PetscBool)(its[0] < 8 && its[1] == its[0] && its[2] == its[0]),
                     "%s bound to the CPU, no longer, with new values: %" PetscInt_FMT ", %" PetscInt_FMT ", %" PetscInt_FMT " iterations",
                     stencil ? "hjstencil" : "aij", its[0], its[1], its[2]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two unknowns a point: refused with the cure, which solves */
static PetscErrorCode TestFields(void)
{
  const char        *options = "-fields_pc_type fieldsplit -fields_fieldsplit_0_pc_type hjmg -fields_fieldsplit_1_pc_type hjmg";
  DM                 da;
  Mat                A;
  KSP                ksp;
  Vec                b, x;
  DMDALocalInfo      info;
  PetscInt           its;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 33, 29, PETSC_DECIDE, PETSC_DECIDE, 2, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
      for (PetscInt c = 0; c < 2; c++) {
        const MatStencil  at = {.i = i, .j = j, .c = c}, column[6] = {at,
                                                                      {.i = i, .j = j, .c = 1 - c},
                                                                      {.i = i ? i - 1 : -1, .j = j, .c = c},
                                                                      {.i = i + 1 < info.mx ? i + 1 : -1, .j = j, .c = c},
                                                                      {.i = i, .j = j ? j - 1 : -1, .c = c},
                                                                      {.i = i, .j = j + 1 < info.my ? j + 1 : -1, .c = c}};
        const PetscScalar v[6] = {4.01, 0.005, -1.0, -1.0, -1.0, -1.0};

        for (int e = 0; e < 6; e++)
          if (column[e].i >= 0 && column[e].j >= 0) PetscCall(MatSetValuesStencil(A, 1, &at, 1, &column[e], &v[e], INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  ExpectError(SetUpWith(A, da), "two unknowns a point", "2 degrees of freedom", "-pc_type fieldsplit with hjmg for each field");
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "fields_"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 30));
  PetscCall(KSPSetFromOptions(ksp));
  {
    PC pc;

    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetDM(pc, da));
  }
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(HJTestOK((PetscBool)(reason > 0 && its <= 5), "one hjmg a field: %" PetscInt_FMT " iterations", its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRefused(void)
{
  const Problem p = {2, {33, 33, 1}, DIRICHLET, CONVECTION, PETSC_FALSE};
  DM            da;
  Mat           A, B;
  PC            pc;
  PetscInt      start, end;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_FALSE, &da, &A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatSetDM(B, NULL));
  ExpectError(SetUpWith(B, NULL), "no DMDA", "no DM is attached", "-pc_type gamg", "KSPSetDM()");
  PetscCall(HJTestOK((PetscBool)!SetUpWith(B, da), "a DMDA of the PC alone"));
  PetscCall(MatSetOption(B, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(B, &start, &end));
  PetscCall(MatSetValue(B, start, (start + 17 * 33) % (33 * 33), 1.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  ExpectError(SetUpWith(B, da), "a column too far", "PCHJMG needs a matrix that is a stencil", "-pc_type gamg");
  PetscCall(MakePC(A, 2, 2, &pc));
  PetscCall(MatDestroy(&B));
  PetscCall(MatCreateHJStencil(da, &B));
  PetscCall(ProblemFill(&p, da, 0, B));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  if (!start) PetscCall(MatSetValue(B, 5, 5, NAN, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  ExpectError(SetUpWith(B, NULL), "no number", "an entry of the matrix is NaN or infinite", "correct the matrix");
  PetscCall(PetscFPTrapPop());
  PetscCall(MatDestroy(&B));
  ExpectError(PCHJMGSetK(pc, 1, (PetscInt[]){0}), "k = 0", "k = 0 must be between 1 and 1024");
  ExpectError(PCHJMGSetK(pc, 1, (PetscInt[]){1025}), "k = 1025", "k = 1025 must be between 1 and 1024");
  ExpectError(PCHJMGSetLevels(pc, 0), "no level", "number of levels 0 must be between 1 and 64");
  ExpectError(PCHJMGSetLevels(pc, 65), "65 levels", "number of levels 65 must be between 1 and 64");
  ExpectError(PCHJMGSetK(pc, 65, NULL), "65 numbers without a place", "Null Pointer: Parameter # 3");
  ExpectError(PCHJMGSetK(pc, 65, (PetscInt[65]){0}), "65 numbers", "number of values 65 must be between 0 and 64");
  ExpectError(PCHJMGGetK(pc, NULL, NULL), "nowhere to put their number", "Null Pointer: Parameter # 2");
  ExpectError(PCHJMGGetK(pc, &(PetscInt){0}, NULL), "nowhere to put k", "Null Pointer: Parameter # 3");
  ExpectError(PCHJMGGetLevels(pc, NULL), "nowhere to put the levels", "Null Pointer: Parameter # 2");
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By options alone, on a DMDA whose boundaries the matrix has folded, and where Amat is another matrix */
static PetscErrorCode TestOptions(void)
{
  const Problem   p = {2, {65, 65, 1}, MIRROR, VARYING, PETSC_FALSE};
  DM              da;
  Mat             A, B;
  KSP             ksp;
  PC              pc;
  Vec             b, x;
  PetscInt        its, nk, levels;
  const PetscInt *k;
  PetscBool       is, log = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_FALSE, &da, &A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatShift(B, 0.1));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(PetscOptionsInsertString(NULL, "-own_pc_type hjmg -own_pc_hjmg_k 3,5 -own_pc_hjmg_levels 2 -own_ksp_type richardson "
                                           "-own_ksp_norm_type none -own_ksp_max_it 60 -own_pc_hjmg_log"));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "own_"));
  PetscCall(MatShift(A, 0.12));
  PetscCall(KSPSetOperators(ksp, A, B));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCHJMG, &is));
  PetscCall(PCHJMGGetK(pc, &nk, &k));
  PetscCall(PCHJMGGetLevels(pc, &levels));
  PetscCall(PCHJMGGetLog(pc, &log));
  PetscCall(HJTestOK((PetscBool)(is && its == 60 && nk == 2 && k[0] == 3 && k[1] == 5 && levels == 2 && log),
                     "options, its own number of cycles without norms"));
  {
    Vec       r;
    PetscReal norm[2];

    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1.0, b));
    PetscCall(VecNorm(r, NORM_2, &norm[0]));
    PetscCall(VecNorm(b, NORM_2, &norm[1]));
    PetscCall(HJTestOK((PetscBool)(norm[0] < 1e-6 * norm[1]), "the residual is Amat's (%g)", (double)(norm[0] / norm[1])));
    PetscCall(VecDestroy(&r));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several vectors in one call (host alone: dense matrices are), and a PC that is kept when values change */
static PetscErrorCode TestManyAndKept(void)
{
  const Problem p = {2, {65, 49, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  DM            da;
  Mat           A, B, X;
  PC            pc;
  Vec           b, x, y, column;
  PetscInt      n;
  PetscReal     diff;
  PetscBool     host, agree = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_TRUE, &da, &A));
  PetscCall(MakePC(A, 3, PETSC_DECIDE, &pc));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)b, &host, VECSEQ, VECMPI, ""));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(PCApply(pc, b, x));
  if (host) {
    PetscCall(VecGetLocalSize(b, &n));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, PETSC_DETERMINE, 3, NULL, &B));
    for (PetscInt i = 0; i < 3; i++) {
      PetscCall(MatDenseGetColumnVecWrite(B, i, &column));
      PetscCall(VecCopy(b, column));
      PetscCall(VecScale(column, 1 << i));
      PetscCall(MatDenseRestoreColumnVecWrite(B, i, &column));
    }
    PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
    PetscCall(PCMatApply(pc, B, X));
    PetscCall(MatDenseGetColumnVecRead(X, 2, &column));
    PetscCall(VecCopy(column, y));
    PetscCall(MatDenseRestoreColumnVecRead(X, 2, &column));
    PetscCall(VecScale(y, 0.25));
    PetscCall(VecsAgree(x, y, ROUNDING, &agree, &diff));
    PetscCall(HJTestOK(agree, "PCMatApply() (%g)", (double)diff));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&X));
  }
  PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
  PetscCall(MatScale(A, 2.0));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetUp(pc));
  PetscCall(PCSetReusePreconditioner(pc, PETSC_FALSE));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, b, y));
  PetscCall(VecScale(y, 2.0));
  PetscCall(VecsAgree(x, y, ROUNDING, &agree, &diff));
  PetscCall(HJTestOK(agree, "new values after a set-up that was left out (%g)", (double)diff));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A DMDA whose stencil is wider than the matrix: hjstencil does not take it, the PC's own grids do */
static PetscErrorCode TestWide(void)
{
  const Problem p = {2, {65, 65, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM            da, wide;
  Mat           A[2];
  Vec           b, x[2];
  PetscReal     diff;
  PetscBool     agree = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_FALSE, &da, &A[0]));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 65, 65, PETSC_DECIDE, PETSC_DECIDE, 1, 2,
                         NULL, NULL, &wide));
  PetscCall(DMSetFromOptions(wide));
  PetscCall(DMSetUp(wide));
  PetscCall(DMCreateMatrix(wide, &A[1]));
  PetscCall(ProblemFill(&p, wide, 0, A[1]));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 2; i++) {
    PC pc;

    PetscCall(VecDuplicate(b, &x[i]));
    PetscCall(MakePC(A[i], 3, 2, &pc));
    PetscCall(PCApply(pc, b, x[i]));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(VecsAgree(x[0], x[1], ROUNDING, &agree, &diff));
  PetscCall(HJTestOK(agree, "a DMDA of stencil width 2 (%g)", (double)diff));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&x[i]));
    PetscCall(MatDestroy(&A[i]));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(DMDestroy(&da));
  PetscCall(DMDestroy(&wide));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A power of a coordinate, from 1 to the number of points, on the grid of a DMDA */
static PetscErrorCode FillPower(DM da, int d, int power, Vec v)
{
  PetscInt     s[3], n[3], at = 0;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &n[0], &n[1], &n[2]));
  PetscCall(VecGetArrayWrite(v, &a));
  for (PetscInt k = 0; k < n[2]; k++)
    for (PetscInt j = 0; j < n[1]; j++)
      for (PetscInt i = 0; i < n[0]; i++) {
        const PetscReal x = 1.0 + s[d] + (d == 0 ? i : d == 1 ? j : k);

        a[at++] = power == 0 ? 1.0 : power == 1 ? x : x * x;
      }
  PetscCall(VecRestoreArrayWrite(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The star of a product has the product's values of 1, of coordinates and of their squares, which say all of its entries; it is symmetric,
   also after new values */
static PetscErrorCode TestStars(const Problem *p)
{
  DM          fine, coarse;
  Mat         A, P, C[2];
  Vec         v, y[2];
  PetscScalar dot[2];
  PetscReal   diff  = 0;
  PetscBool   agree = PETSC_FALSE, all = PETSC_TRUE;
  MatInfo     info;

  PetscFunctionBegin;
  PetscCall(ProblemDM(p, &fine));
  PetscCall(DMSetMatType(fine, MATHJSTENCIL));
  PetscCall(DMCreateMatrix(fine, &A));
  PetscCall(ProblemFill(p, fine, 0, A));
  PetscCall(DMCoarsen(fine, PetscObjectComm((PetscObject)fine), &coarse));
  PetscCall(DMCreateInterpolation(coarse, fine, &P, NULL));
  PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C[0]));
  PetscCall(HJMatTransferSetStars(P, PETSC_TRUE));
  PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C[1]));
  PetscCall(MatCreateVecs(C[0], &v, &y[0]));
  PetscCall(VecDuplicate(y[0], &y[1]));
  for (int again = 0; again < 2; again++) {
    for (int c = 0; c < 3 * p->dim; c++) {
      PetscCall(FillPower(coarse, c / 3, c % 3, v));
      for (int i = 0; i < 2; i++) PetscCall(MatMult(C[i], v, y[i]));
      PetscCall(VecsAgree(y[0], y[1], 1e-12, &agree, &diff));
      all = (PetscBool)(all && agree);
    }
    PetscCall(MatScale(A, 3.0));
    for (int i = 0; i < 2; i++) PetscCall(MatPtAP(A, P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C[i]));
  }
  PetscCall(ProblemVector(coarse, 1, v));
  PetscCall(ProblemVector(coarse, 2, y[0]));
  PetscCall(MatMult(C[1], v, y[1]));
  PetscCall(VecDot(y[1], y[0], &dot[0]));
  PetscCall(MatMult(C[1], y[0], y[1]));
  PetscCall(VecDot(y[1], v, &dot[1]));
  PetscCall(MatGetInfo(C[1], MAT_GLOBAL_SUM, &info));
  {
    PetscInt n;

    PetscCall(VecGetSize(v, &n));
    all = (PetscBool)(all && info.nz_used <= (1.0 + 2 * p->dim) * n && PetscAbsScalar(dot[0] - dot[1]) <= 1e-12 * PetscAbsScalar(dot[0]));
  }
  PetscCall(HJTestOK(all, "a star of a product: %s (%g)", Name(p, PETSC_TRUE), (double)diff));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&y[i]));
    PetscCall(MatDestroy(&C[i]));
  }
  PetscCall(VecDestroy(&v));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&coarse));
  PetscCall(DMDestroy(&fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, odd ? KSPRICHARDSON : KSPGMRES));
    PetscCall(KSPSetTolerances(ksp, 1e-12, 0.0, 1e10, 60));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetDM(pc, da));
    PetscCall(PCSetType(pc, PCHJMG));
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
  PetscCall(HJTestOK((PetscBool)(diff < 1e-6 * norm), "small identity rows%s: the answer is that of rows of one size (%g)",
                     distinct ? ", all rows distinct"
                     : odd    ? ", odd period"
                              : "",
                     (double)(diff / norm)));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&b));
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
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-8, 0.0, 1e10, 30));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
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
  PetscCall(VecsAgree(x[0], b[0], 1e-9, &agree, &diff));
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
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-8, 0.0, 1e10, 60));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
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
    PetscCall(HJTestOK((PetscBool)(reason > 0 && norm[0] < 1e-4 * norm[1]), "convection, share %g: solved, error %g", (double)share[i],
                       (double)(norm[0] / norm[1])));
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
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&exact));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
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
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetTolerances(ksp, 1e-8, 0.0, 1e10, 60));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(PetscGetFlops(&before));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscGetFlops(&after));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(HJTestOK((PetscBool)(after - before < 2000.0 * n), "set-up of %" PetscInt_FMT " points, convection %g: %g operations a point",
                     n, (double)share, (double)((after - before) / n)));
  PetscCall(HJTestOK((PetscBool)(reason > 0 && (its <= 5 || device)),
                     "%" PetscInt_FMT " points, convection %g: %" PetscInt_FMT " iterations", n, (double)share, its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
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
  PetscCall(KSPSetTolerances(ksp, 1e-10, 0.0, 1e10, 60));
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
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(KSPGetIterationNumber(ksp, &its));
      PetscCall(VecNorm(exact, NORM_2, &norm[0]));
      PetscCall(VecAXPY(x, -1.0, exact));
      PetscCall(VecNorm(x, NORM_2, &norm[1]));
      PetscCall(HJTestOK((PetscBool)(reason > 0 && its <= (method ? 20 : 10) && norm[1] < 1e-5 * norm[0]),
                         "%s %g: %" PetscInt_FMT " iterations of %s, error %g", name, (double)scales[i], its,
                         (const char *[]){"gmres", "richardson", "richardson with weights from the rows"}[method],
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
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&exact));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
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
  PetscInt           first, count;
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
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(ksp, 1e-8, 0.0, 1e10, 60));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(PCHJMGSetLevels(pc, 10));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(RelativeResidual(A, b, x, &norm));
  PetscCall(HJTestOK((PetscBool)(reason > 0 && norm <= 1e-7), "singular and not said so, down to one point: residual %g", (double)norm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&exact));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a matrix that is singular, of which nobody said so, and a right-hand side in its range */
static PetscErrorCode CheckSingular(KSP ksp, Mat A, Vec b, Vec x, const char what[])
{
  PetscInt           its;
  PetscReal          norm = 0;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(RelativeResidual(A, b, x, &norm));
  PetscCall(HJTestOK((PetscBool)(reason > 0 && its <= 8 && norm <= 1e-7), "%s: %" PetscInt_FMT " iterations, residual %g", what, its,
                     (double)norm));
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
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&exact));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
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
  PetscCall(DMCreateGlobalVector(da, &lakes));
  PetscCall(VecDuplicate(lakes, &b));
  PetscCall(VecDuplicate(lakes, &x));
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
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&lakes));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For tools that make everything slow, a part: 1: cycles on grids of all kinds, 2: corrections that sweeps add themselves, 3: inverses and
   rows that are scaled */
static PetscErrorCode TestFew(PetscInt part)
{
  PetscFunctionBegin;
  for (size_t i = 2; i < PETSC_STATIC_ARRAY_LENGTH(problems) && part == 1; i++) PetscCall(TestSameCycle(&problems[i], PETSC_TRUE, 3));
  if (part == 2) PetscCall(TestCorrected());
  if (part == 3) PetscCall(TestInverse());
  if (part == 3) PetscCall(TestScaledRows(PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt few = 0;
  int      code;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemBackend());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-few", &few, NULL));
  if (few) {
    PetscCall(TestFew(few));
    code = HJTestDone();
    PetscCall(PetscFinalize());
    return code;
  }
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i++) {
    for (int stencil = 0; stencil < 2; stencil++) PetscCall(TestSameCycle(&problems[i], (PetscBool)stencil, 3));
    for (int inverse = 0; inverse < 2; inverse++) PetscCall(TestTranspose(&problems[i], (PetscBool)inverse));
  }
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(solves); i++) {
    for (int stencil = i % 3 != 0; stencil < 2; stencil++) PetscCall(TestConverges(&solves[i].p, (PetscBool)stencil, solves[i].its));
  }
  for (int guess = 0; guess < 2; guess++) {
    PetscCall(TestRichardson(KSP_NORM_PRECONDITIONED, "preconditioned", 50, (PetscBool)guess));
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(rotated); i++) PetscCall(TestRotated(&rotated[i], (PetscBool)guess));
    PetscCall(TestRichardson(KSP_NORM_PRECONDITIONED, "preconditioned", 3, (PetscBool)guess));
    PetscCall(TestRichardson(KSP_NORM_NONE, "none", 3, (PetscBool)guess));
  }
  PetscCall(TestOneSided(&(Problem){3, {33, 17, 33}, DIRICHLET, CONSTANT, PETSC_FALSE}));
  PetscCall(TestOneSided(&(Problem){3, {17, 33, 17}, DIRICHLET, VARYING, PETSC_FALSE}));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(rotated); i++) PetscCall(TestGraph(&rotated[i]));
  for (int stencil = 0; stencil < 2; stencil++) PetscCall(TestRefresh((PetscBool)stencil));
  for (PetscInt dim = 1; dim <= 3; dim++) PetscCall(TestFollow(dim));
  for (PetscInt dim = 1; dim <= 3; dim++) {
    for (int stencil = 0; stencil < 2; stencil++) PetscCall(TestUsedAgain((PetscBool)stencil, dim));
  }
  for (int stencil = 0; stencil < 2; stencil++) PetscCall(TestBound((PetscBool)stencil));
  PetscCall(TestOwnK());
  PetscCall(TestInverse());
  PetscCall(TestNoRoom());
  PetscCall(TestNoRoomTransposed());
  PetscCall(TestCorrected());
  {
    const Problem stars[] = {{2, {33, 49, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                             {3, {17, 9, 17}, DIRICHLET, CONSTANT, PETSC_FALSE},
                             {2, {33, 33, 1}, NEUMANN, CONSTANT, PETSC_FALSE}};

    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(stars); i++) PetscCall(TestStars(&stars[i]));
  }
  PetscCall(TestFramed());
  PetscCall(TestGrids());
  PetscCall(TestThin());
  PetscCall(TestRefused());
  PetscCall(TestFields());
  PetscCall(TestOptions());
  PetscCall(TestManyAndKept());
  PetscCall(TestWide());
  PetscCall(TestHostVectors());
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
  code = HJTestDone();
  PetscCall(PetscFinalize());
  return code;
}

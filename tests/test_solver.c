/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   KSPRICHARDSON with hjacobi: the fast path stops like the slow one; and one smooth equals KSPCHEBYSHEV's of the same polynomial.
*/
#include "hjproblem.h"

static PetscErrorCode QuietMonitor(KSP ksp, PetscInt it, PetscReal norm, void *ctx)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateKSP(DM da, Mat A, KSPNormType norm, PetscReal rtol, PetscInt max_it, PetscBool guess, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(ProblemKSP(da, A, KSPRICHARDSON, PCHJACOBI, ksp, &pc));
  PetscCall(KSPSetNormType(*ksp, norm));
  PetscCall(KSPSetInitialGuessNonzero(*ksp, guess));
  PetscCall(KSPSetTolerances(*ksp, rtol, PETSC_DEFAULT, PETSC_DEFAULT, max_it));
  PetscCall(PCHJacobiSetK(pc, 6));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A monitor turns the fast path off: both must take the same number of cycles to the same answer for the same reason */
static PetscErrorCode TestStop(DM da, Mat A, KSPNormType norm, PetscReal rtol, PetscInt max_it, PetscBool guess, PetscInt overlap,
                               const char *name)
{
  Vec                b, x[2];
  PetscInt           its[2], few;
  KSPConvergedReason reason[2];
  PetscBool          agree = PETSC_FALSE;
  PetscReal          diff;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  for (PetscInt slow = 0; slow < 2; slow++) {
    KSP ksp;
    PC  pc;

    PetscCall(VecDuplicate(b, &x[slow]));
    PetscCall(ProblemVector(da, 2, x[slow]));
    PetscCall(CreateKSP(da, A, norm, rtol, max_it, guess, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCHJacobiSetOverlap(pc, overlap));
    PetscCall(PCHJacobiSetTile(pc, 9, 9, 9));
    if (slow) PetscCall(KSPMonitorSet(ksp, QuietMonitor, NULL, NULL));
    PetscCall(KSPSolve(ksp, b, x[slow]));
    PetscCall(KSPGetIterationNumber(ksp, &its[slow]));
    PetscCall(KSPGetConvergedReason(ksp, &reason[slow]));
    PetscCall(KSPDestroy(&ksp));
  }
  few = HJ_BY_PRECISION(0, its[1] / 100); /* what rounding makes of a slow convergence */
  PetscCall(VecsAgree(x[0], x[1], 64 * PETSC_MACHINE_EPSILON * PetscSqr(6) * PetscMax(its[1], 1), &agree, &diff));
  PetscCall(HJTestOK((PetscBool)(agree && PetscAbsInt(its[0] - its[1]) <= few && reason[0] == reason[1]),
                     "%s: %d and %d cycles, reasons %d and %d, difference %g", name, (int)its[0], (int)its[1], (int)reason[0],
                     (int)reason[1], (double)diff));
  for (PetscInt i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestStops(void)
{
  Problem p = {2, {23, 21, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  DM      da;
  Mat     A;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, &da, &A));
  for (PetscInt overlap = PETSC_DECIDE; overlap <= 2; overlap += overlap < 0 ? 1 : 2) {
    const char *mode = overlap < 0 ? "exact" : overlap ? "stale 2" : "stale 0";
    char        name[128];

    for (int guess = 0; guess < 2; guess++) {
      PetscCall(PetscSNPrintf(name, sizeof(name), "%s, unpreconditioned, %s guess", mode, guess ? "nonzero" : "zero"));
      PetscCall(TestStop(da, A, KSP_NORM_UNPRECONDITIONED, 1e-6, 10000, (PetscBool)guess, overlap, name));
      PetscCall(PetscSNPrintf(name, sizeof(name), "%s, preconditioned, %s guess", mode, guess ? "nonzero" : "zero"));
      PetscCall(TestStop(da, A, KSP_NORM_PRECONDITIONED, 1e-6, 10000, (PetscBool)guess, overlap, name));
      PetscCall(PetscSNPrintf(name, sizeof(name), "%s, iteration limit, %s guess", mode, guess ? "nonzero" : "zero"));
      PetscCall(TestStop(da, A, KSP_NORM_PRECONDITIONED, 1e-14, 7, (PetscBool)guess, overlap, name));
      PetscCall(PetscSNPrintf(name, sizeof(name), "%s, no norm, %s guess", mode, guess ? "nonzero" : "zero"));
      PetscCall(TestStop(da, A, KSP_NORM_NONE, 1e-14, 5, (PetscBool)guess, overlap, name));
    }
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Amat is another matrix than Pmat, or (reused) has got other values since the preconditioner was set up, which is used again: each cycle
   corrects for the residual of Amat, on the fast path as on the slow one */
static PetscErrorCode TestAmat(KSPNormType norm, PetscInt max_it, PetscBool guess, PetscInt every, PetscBool reused)
{
  Problem            p = {2, {23, 21, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  DM                 da;
  Mat                A, P;
  Vec                b, x[2];
  PetscInt           its[2];
  KSPConvergedReason reason[2];
  PetscBool          agree = PETSC_FALSE;
  PetscReal          diff;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(MatShift(A, 0.1));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  for (PetscInt slow = 0; slow < 2; slow++) {
    KSP ksp;
    PC  pc;

    PetscCall(VecDuplicate(b, &x[slow]));
    PetscCall(ProblemVector(da, 2, x[slow]));
    PetscCall(CreateKSP(da, A, norm, 1e-6, max_it, guess, &ksp));
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &P));
    PetscCall(MatShift(P, 0.2)); /* what preconditions well enough */
    PetscCall(KSPSetOperators(ksp, reused ? P : A, P));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCHJacobiSetCheckEvery(pc, every));
    if (slow) PetscCall(KSPMonitorSet(ksp, QuietMonitor, NULL, NULL));
    if (reused) {
      Mat shift;

      PetscCall(MatDuplicate(P, MAT_DO_NOT_COPY_VALUES, &shift));
      PetscCall(MatShift(shift, -0.2));
      PetscCall(KSPSetUp(ksp));
      PetscCall(KSPSetReusePreconditioner(ksp, PETSC_TRUE));
      PetscCall(MatAXPY(P, 1.0, shift, SAME_NONZERO_PATTERN)); /* of AIJ on several ranks only the blocks have another state */
      PetscCall(MatDestroy(&shift));
    }
    PetscCall(KSPSolve(ksp, b, x[slow]));
    PetscCall(KSPGetIterationNumber(ksp, &its[slow]));
    PetscCall(KSPGetConvergedReason(ksp, &reason[slow]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&P));
  }
  PetscCall(VecsAgree(x[0], x[1], every > 1 ? 1e-5 : 64 * PETSC_MACHINE_EPSILON * PetscSqr(6) * PetscMax(its[1], 1), &agree, &diff));
  PetscCall(HJTestOK((PetscBool)(agree && its[0] >= its[1] && its[0] < its[1] + every && reason[0] == reason[1] && reason[0] > 0),
                     "%s, %s, %s guess, a test every %d: %d and %d cycles, reasons %d and %d, difference %g",
                     reused ? "used again for new values" : "Amat other than Pmat", KSPNormTypes[norm], guess ? "nonzero" : "zero",
                     (int)every, (int)its[0], (int)its[1], (int)reason[0], (int)reason[1], (double)diff));
  PetscCall(HJTestDestroy(&x[0], &x[1], &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestAmats(void)
{
  PetscFunctionBegin;
  for (int reused = 0; reused < 2; reused++) {
    for (int guess = 0; guess < 2; guess++) {
      PetscCall(TestAmat(KSP_NORM_UNPRECONDITIONED, 2000, (PetscBool)guess, 1, (PetscBool)reused));
      PetscCall(TestAmat(KSP_NORM_PRECONDITIONED, 2000, (PetscBool)guess, 1, (PetscBool)reused));
      PetscCall(TestAmat(KSP_NORM_NONE, 7, (PetscBool)guess, 1, (PetscBool)reused));
    }
    PetscCall(TestAmat(KSP_NORM_UNPRECONDITIONED, 2000, PETSC_FALSE, 5, (PetscBool)reused));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* check_every: only multiples are tested; update_max: the largest change of the coming cycle */
static PetscErrorCode TestChecks(void)
{
  Problem            p = {1, {40, 1, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM                 da;
  Mat                A;
  KSP                ksp;
  PC                 pc;
  Vec                x, b;
  PetscInt           every[2];
  KSPConvergedReason reason;
  PetscReal          norm, first;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(ProblemVector(da, 1, b));
  for (PetscInt i = 0; i < 2; i++) {
    PetscCall(CreateKSP(da, A, KSP_NORM_UNPRECONDITIONED, 1e-5, 10000, PETSC_FALSE, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCHJacobiSetCheckEvery(pc, i ? 7 : 1));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &every[i]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(HJTestOK((PetscBool)(every[1] == 7 * ((every[0] + 6) / 7)), "check_every 7 stops at the next multiple: %d, %d", (int)every[0],
                     (int)every[1]));
  PetscCall(CreateKSP(da, A, KSP_NORM_PRECONDITIONED, 1e-5, 10000, PETSC_FALSE, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCHJacobiSetCheckNorm(pc, PC_HJACOBI_CHECK_NORM_UPDATE_MAX));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetResidualNorm(ksp, &norm));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecNorm(x, NORM_INFINITY, &first)); /* the first cycle's update from a zero guess is B b */
  PetscCall(HJTestOK((PetscBool)(reason == KSP_CONVERGED_RTOL && norm <= HJTestDigits(1e-5) * first),
                     "check_norm update_max stops at %g of %g", (double)norm, (double)first));
  PetscCall(HJTestDestroy(&ksp, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc has the fourth kinds from 3.19 on */
static PetscErrorCode SetKind(KSP ksp, PCHJacobiSchedule schedule)
{
  PetscFunctionBegin;
#if PETSC_VERSION_GE(3, 19, 0)
  PetscCall(KSPChebyshevSetKind(ksp, schedule == PC_HJACOBI_SCHEDULE_CHEBYSHEV    ? KSP_CHEBYSHEV_FIRST
                                     : schedule == PC_HJACOBI_SCHEDULE_CHEBYSHEV4 ? KSP_CHEBYSHEV_FOURTH
                                                                                  : KSP_CHEBYSHEV_OPT_FOURTH));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestChebyshev(DM da, Mat A, PCHJacobiSchedule schedule, PetscInt k)
{
  KSP                         ksp;
  PC                          pc;
  Vec                         b, x, y, w;
  PetscInt                    its;
  PetscBool                   agree = PETSC_FALSE;
  PetscReal                   diff;
  PCRichardsonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(ProblemVectors(da, &b, &x, &y, &w));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(ProblemVector(da, 2, x));
  PetscCall(VecCopy(x, y));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCHEBYSHEV));
  PetscCall(SetKind(ksp, schedule));
  PetscCall(KSPChebyshevSetEigenvalues(ksp, 2.0, 0.3));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, k));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(KSPSolve(ksp, b, y));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(ProblemPC(da, A, PCHJACOBI, &pc));
  PetscCall(PCHJacobiSetK(pc, k));
  PetscCall(PCHJacobiSetSchedule(pc, schedule));
  PetscCall(PCHJacobiSetEigenvalues(pc, 2.0, 0.3));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCApplyRichardson(pc, b, x, w, 0, 0, 0, 1, PETSC_FALSE, &its, &reason));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecsAgree(x, y, 64 * PETSC_MACHINE_EPSILON * PetscMax(16, k * k), &agree, &diff));
  PetscCall(HJTestOK(agree, "one smooth equals KSPCHEBYSHEV, %s, k = %d (%g)", PCHJacobiSchedules[schedule], (int)k, (double)diff));
  PetscCall(HJTestDestroy(&b, &x, &y, &w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestChebyshevs(void)
{
  Problem        p    = {3, {13, 12, 11}, DIRICHLET, CONSTANT, PETSC_FALSE};
  const PetscInt ks[] = {1, 2, 3, 4, 8, 16};
  DM             da;
  Mat            A;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, &da, &A));
  for (int s = PC_HJACOBI_SCHEDULE_CHEBYSHEV; s <= PC_HJACOBI_SCHEDULE_OPT_CHEBYSHEV4; s++) {
    if (PETSC_VERSION_LT(3, 19, 0) && s > PC_HJACOBI_SCHEDULE_CHEBYSHEV) continue;
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(ks); i++) PetscCall(TestChebyshev(da, A, (PCHJacobiSchedule)s, ks[i]));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(ProblemInitialize(&argc, &argv));
  PetscCall(TestStops());
  PetscCall(TestAmats());
  PetscCall(TestChecks());
  PetscCall(TestChebyshevs());
  return HJTestEnd();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   KSPHJRICHARDSON beside KSPRICHARDSON, its fast way and the loop that a monitor makes it go through: answers, histories, reasons, null
   spaces, what monitors see, and what it leaves to KSPRICHARDSON.
*/
#include "hjkspcase.h"

/* Beside KSPRICHARDSON without a monitor or a null space, which hands its iterations to the PC as well: the same bits */
static PetscErrorCode TestSame(void)
{
  const Problem     p[]     = {{2, {33, 49, 1}, DIRICHLET, VARYING, PETSC_FALSE}, {3, {17, 13, 17}, DIRICHLET, CONSTANT, PETSC_FALSE}};
  const KSPNormType norms[] = {KSP_NORM_UNPRECONDITIONED, KSP_NORM_PRECONDITIONED, KSP_NORM_NONE};
  Solve             s[2];

  PetscFunctionBegin;
  for (int i = 0; i < 12; i++) {
    const Case c = {.p = p[i / 6], .pc = i % 2 ? PCHJACOBI : PCHJMG, .norm = norms[i / 2 % 3], .guess = i / 2 % 2, .max_it = 12};

    PetscCall(RunCase(&c, KSPRICHARDSON, PETSC_FALSE, &s[0]));
    PetscCall(RunCase(&c, KSPHJRICHARDSON, PETSC_FALSE, &s[1]));
    PetscCall(CheckSame(&c, "KSPRICHARDSON", &s[1], &s[0], 0.0));
    PetscCall(VecDestroy(&s[0].x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Beside KSPRICHARDSON's own loop, where cycles are not rotated: null spaces, periods, guesses, matrices that differ */
static PetscErrorCode TestLoop(void)
{
  const Problem p[] = {{2, {33, 25, 1}, NEUMANN, VARYING, PETSC_FALSE},
                       {2, {32, 24, 1}, PERIODIC, CONSTANT, PETSC_FALSE},
                       {3, {12, 8, 12}, PERIODIC, VARYING, PETSC_FALSE},
                       {2, {33, 25, 1}, DIRICHLET, VARYING, PETSC_TRUE}};
  Solve         s[3];

  PetscFunctionBegin;
  for (int i = 0; i < 4 * 3 * 2; i++) {
    const PetscBool jacobi = (PetscBool)(i % 3 > 0);
    const Case      c      = {.p      = p[i / 6],
                              .pc     = jacobi ? PCHJACOBI : PCHJMG,
                              .norm   = i % 3 == 2 ? KSP_NORM_UNPRECONDITIONED : KSP_NORM_PRECONDITIONED,
                              .null   = (PetscBool)(i < 18),
                              .guess  = (PetscBool)(i / 3 % 2),
                              .more   = i / 6 % 2 ? 0.0 : 0.1,
                              .max_it = 20};

    PetscCall(RunCase(&c, KSPRICHARDSON, PETSC_TRUE, &s[0]));
    for (int watched = 0; watched < 2; watched++) {
      PetscCall(RunCase(&c, KSPHJRICHARDSON, (PetscBool)watched, &s[1 + watched]));
      PetscCall(CheckSame(&c, watched ? "its loop, watched" : "its loop", &s[1 + watched], &s[0], ROUNDING));
    }
    PetscCall(VecDestroy(&s[0].x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rotated cycles, with a null space: as many as KSPRICHARDSON makes where nobody said so, and the answer without it. Watched or not */
static PetscErrorCode TestRotated(void)
{
  const Problem p[] = {{2, {65, 49, 1}, NEUMANN, VARYING, PETSC_FALSE},
                       {2, {64, 48, 1}, PERIODIC, CONSTANT, PETSC_FALSE},
                       {3, {16, 12, 20}, PERIODIC, CONSTANT, PETSC_FALSE},
                       {3, {17, 13, 17}, NEUMANN, VARYING, PETSC_FALSE},
                       {2, {65, 65, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}};
  Solve         s[2];

  PetscFunctionBegin;
  for (int i = 0; i < 20; i++) {
    const PetscBool watched = (PetscBool)(i % 2);
    Case            c       = {.p      = p[i / 4],
                               .pc     = PCHJMG,
                               .norm   = KSP_NORM_UNPRECONDITIONED,
                               .guess  = (PetscBool)(i / 2 % 2),
                               .null   = IsSingular(&p[i / 4]),
                               .max_it = 30,
                               .again  = PETSC_TRUE};

    PetscCall(RunCase(&c, KSPHJRICHARDSON, watched, &s[1]));
    c.null = PETSC_FALSE;
    PetscCall(RunCase(&c, KSPRICHARDSON, PETSC_FALSE, &s[0]));
    c.null = IsSingular(&p[i / 4]);
    if (c.null) PetscCall(TakeConstants(&c, s[0].x));
    PetscCall(CheckSame(&c, watched ? "rotated, watched" : "rotated", &s[1], &s[0], ROUNDING));
    PetscCall(VecDestroy(&s[0].x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stops at the third iterate, which it finds where KSPBuildSolution() says */
static PetscErrorCode StopAtThird(KSP ksp, PetscInt it, PetscReal norm, KSPConvergedReason *reason, void *ctx)
{
  Mat       A;
  Vec       x, b;
  PetscReal relative, start;

  PetscFunctionBegin;
  PetscCall(KSPBuildSolution(ksp, NULL, &x));
  PetscCall(KSPGetRhs(ksp, &b));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(RelativeResidual(A, b, x, &relative));
  PetscCall(VecNorm(b, NORM_2, &start));
  *(PetscReal *)ctx = PetscMax(*(PetscReal *)ctx, PetscAbsReal(relative - norm / start));
  *reason           = it == 3 ? KSP_CONVERGED_HAPPY_BREAKDOWN : KSP_CONVERGED_ITERATING;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestUserTest(const Problem *p, PCType pctype)
{
  const Case         c = {.p = *p, .pc = pctype, .norm = KSP_NORM_UNPRECONDITIONED, .null = IsSingular(p), .max_it = 9};
  System             sys;
  KSP                ksp;
  PetscInt           its;
  KSPConvergedReason reason;
  PetscReal          worst = 0.0;

  PetscFunctionBegin;
  PetscCall(MakeSystem(&c, &sys));
  PetscCall(MakeSolver(&c, &sys, KSPHJRICHARDSON, &ksp));
  PetscCall(KSPSetConvergenceTest(ksp, StopAtThird, &worst, NULL));
  PetscCall(ProblemSolve(ksp, sys.A, sys.b, sys.x, &its, &reason, NULL));
  PetscCall(HJTestOK((PetscBool)(its == 3 && reason == KSP_CONVERGED_HAPPY_BREAKDOWN && worst < HJTestDigits(1e-10)),
                     "a user's test, %s, %s: %" PetscInt_FMT " iterations, its norms differ by %g", pctype, Name(p, PETSC_TRUE), its,
                     (double)worst));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DestroySystem(&sys));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What ends a solve at once, or never, does so here: 0 iterations, a right-hand side of zeros, a limit that converges, NaN */
static PetscErrorCode TestEnds(void)
{
  const Problem p = {2, {33, 25, 1}, DIRICHLET, VARYING, PETSC_FALSE}, singular = {2, {32, 24, 1}, PERIODIC, VARYING, PETSC_FALSE};
  const char   *names[] = {"0 iterations", "a right-hand side of zeros", "converged_maxits", "NaN in b", "NaN in the matrix"};

  PetscFunctionBegin;
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  for (int i = 0; i < 5 * 8; i++) {
    const int end = i / 8;
    Case      c   = {.p      = i / 4 % 2 ? singular : p,
                     .pc     = i % 2 ? PCHJACOBI : PCHJMG,
                     .norm   = i / 2 % 2 ? KSP_NORM_UNPRECONDITIONED : KSP_NORM_PRECONDITIONED,
                     .null   = (PetscBool)(i / 4 % 2),
                     .guess  = (PetscBool)(end == 2),
                     .max_it = end == 0 ? 0 : 3,
                     .end    = (End)(1 + end)};
    Solve     s[2];

    PetscCall(RunCase(&c, KSPRICHARDSON, PETSC_TRUE, &s[0]));
    PetscCall(RunCase(&c, KSPHJRICHARDSON, (PetscBool)(end == 4), &s[1]));
    c.loose = (PetscBool)(!(i % 2) && i / 2 % 2); /* rotated cycles are others */
    PetscCall(CheckSame(&c, names[end], &s[1], &s[0], ROUNDING));
    PetscCall(VecDestroy(&s[0].x));
  }
  PetscCall(PetscFPTrapPop());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where it is KSPRICHARDSON it says so, and makes the same bits */
static PetscErrorCode TestLeft(void)
{
  const struct {
    PCType      pc;
    KSPNormType norm;
    const char *options, *words;
    PetscBool   watched;
  } left[] = {{PCJACOBI, KSP_NORM_PRECONDITIONED, NULL, "as KSPRICHARDSON: the preconditioner has no cycles", PETSC_FALSE},
              {PCHJMG, KSP_NORM_PRECONDITIONED, "-ksp_richardson_scale 0.9", "as KSPRICHARDSON: corrections are scaled", PETSC_FALSE},
              {PCHJACOBI, KSP_NORM_PRECONDITIONED, "-ksp_richardson_self_scale", "as KSPRICHARDSON: corrections are scaled", PETSC_FALSE},
              {PCHJMG, KSP_NORM_NONE, NULL, "as KSPRICHARDSON: there is a monitor", PETSC_TRUE},
              {PCHJMG, KSP_NORM_UNPRECONDITIONED, NULL, "iterations and their tests are the preconditioner's", PETSC_FALSE}};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(left); i++) {
    Case  c = {.p       = {2, {33, 25, 1}, DIRICHLET, VARYING, PETSC_FALSE},
               .pc      = left[i].pc,
               .norm    = left[i].norm,
               .options = left[i].options,
               .max_it  = 6};
    Solve s[2];

    PetscCall(RunCase(&c, KSPRICHARDSON, left[i].watched, &s[0]));
    c.words = left[i].words;
    PetscCall(RunCase(&c, KSPHJRICHARDSON, left[i].watched, &s[1]));
    PetscCall(CheckSame(&c, left[i].words, &s[1], &s[0], 0.0));
    PetscCall(VecDestroy(&s[0].x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other types before and after, transposed systems between, KSPReset() and another matrix */
static PetscErrorCode TestReuse(void)
{
  const Case         c       = {.p = {2, {33, 25, 1}, NEUMANN, VARYING, PETSC_FALSE}, .pc = PCHJMG, .null = PETSC_TRUE, .max_it = 30};
  const KSPType      types[] = {KSPCG, KSPHJRICHARDSON, KSPGMRES, KSPHJRICHARDSON};
  System             sys;
  KSP                ksp;
  PetscInt           its;
  KSPConvergedReason reason;
  PetscReal          relative;
  PetscBool          good = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(MakeSystem(&c, &sys));
  PetscCall(MakeSolver(&c, &sys, KSPHJRICHARDSON, &ksp));
  for (int i = 0; i < 8; i++) {
    PetscCall(KSPSetType(ksp, types[i % 4]));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetPCSide(ksp, i % 4 == 2 ? PC_RIGHT : PC_LEFT));
    if (i == 4) PetscCall(KSPReset(ksp));
    if (i == 4) PetscCall(KSPSetOperators(ksp, sys.A, sys.A));
    PetscCall(ProblemSolve(ksp, sys.A, sys.b, sys.x, &its, &reason, &relative));
    good = (PetscBool)(good && reason > 0 && relative < HJTestDigits(1e-7));
    PetscCall(KSPSolveTranspose(ksp, sys.b, sys.x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(RelativeResidual(sys.A, sys.b, sys.x, &relative)); /* symmetric */
    good = (PetscBool)(good && reason > 0 && relative < HJTestDigits(1e-7));
  }
  PetscCall(HJTestOK(good, "types in turn, transposed systems, KSPReset()"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DestroySystem(&sys));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Problem user[] = {{2, {65, 49, 1}, DIRICHLET, VARYING, PETSC_FALSE}, {2, {64, 48, 1}, PERIODIC, CONSTANT, PETSC_FALSE}};

  PetscFunctionBeginUser;
  PetscCall(ProblemInitialize(&argc, &argv));
  PetscCall(TestSame());
  PetscCall(TestLoop());
  PetscCall(TestRotated());
  for (int i = 0; i < 4; i++) PetscCall(TestUserTest(&user[i / 2], i % 2 ? PCHJACOBI : PCHJMG));
  PetscCall(TestEnds());
  PetscCall(TestLeft());
  PetscCall(TestReuse());
  PetscCall(TestInside(KSPRICHARDSON, KSPHJRICHARDSON));
  PetscCall(TestAllNewValues(KSPRICHARDSON, KSPHJRICHARDSON));
  {
    const int code = HJTestDone();

    PetscCall(PetscFinalize());
    return code;
  }
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/* long: 1 */
/*
   Cycles of PCHJMG in single precision: the answer and, to one, the iterations that double has; when double takes their place. On a GPU
   they are for one rank, without periodicity, whose finest matrix is a star in 2D or 3D; others are double there. With a PETSc in single
   precision there is nothing to compare: all is single, and double is refused.
*/
#include "hjinterpolationcase.h"
#include "hjmgcase.h"

#define SINGLE "cycles in single precision"
#define DOUBLE "cycles in double precision"

typedef struct {
  PetscInt           its;
  KSPConvergedReason reason;
  PetscReal          residual;
  PetscBool          holds; /* the view afterwards has the words */
} Solved;

/* To rtol in the 2-norm of the residual, from zero, in a precision; x keeps the solution */
static PetscErrorCode Solve(Mat A, KSPType type, PCHJMGPrecision precision, PetscReal rtol, PetscInt max_it, const char *words, Vec b,
                            Vec x, Solved *s)
{
  KSP ksp;
  PC  pc;

  PetscFunctionBegin;
  PetscCall(MakeKSP(A, type, max_it, &ksp, &pc));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  if (!strcmp(type, KSPGMRES)) PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(ksp, rtol, HJ_BY_PRECISION(1e-300, 1e-30), PETSC_DEFAULT, max_it));
  PetscCall(PCHJMGSetPrecision(pc, precision));
  PetscCall(PCHJMGSetRankPoints(pc, 1));
  PetscCall(ProblemSolve(ksp, A, b, x, &s->its, &s->reason, &s->residual));
  PetscCall(ViewHolds(pc, words, &s->holds));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the backend of this run has single precision for all problems; for some: those that run on one rank */
static PetscErrorCode HasSingle(PetscBool *all, PetscBool *some)
{
  char        backend[32] = "host";
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscStrcmp(backend, "host", all));
  *some = (PetscBool)(*all || size == 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool IsForOneGPU(const Problem *p)
{
  for (int d = 0; d < p->dim; d++)
    if (ProblemIsPeriodic(p, d)) return PETSC_FALSE;
  return (PetscBool)(p->dim > 1 && !p->box);
}

static const Problem problems[] =
  {{1, {257, 1, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},     {2, {129, 97, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
   {2, {65, 65, 1}, IDENTITY, VARYING, PETSC_FALSE},       {2, {97, 65, 1}, NEUMANN, VARYING, PETSC_FALSE},
   {2, {96, 64, 1}, PERIODIC, CONSTANT, PETSC_TRUE},       {2, {65, 66, 1}, PERIODIC_FIRST, JUMP, PETSC_FALSE},
   {3, {33, 33, 33}, DIRICHLET, CONSTANT, PETSC_FALSE},    {3, {33, 33, 33}, DIRICHLET, VARYING, PETSC_FALSE},
   {3, {24, 24, 32}, PERIODIC_LAST, VARYING, PETSC_FALSE}, {3, {17, 33, 33}, DIRICHLET, CONSTANT, PETSC_TRUE}};

/* The true residual reaches 1e-12, as in double, and takes at most one iteration more */
static PetscErrorCode TestSame(const Problem *p, PetscBool stencil, PetscBool single)
{
  static const char *const types[] = {KSPRICHARDSON, KSPCG, KSPFGMRES};
  DM                       da;
  Mat                      A;
  Vec                      b, x;
  Solved                   s[2];

  PetscFunctionBegin;
  PetscCall(MakeMatrix(p, stencil, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ProblemVector(da, 1, b));
  if (IsSingular(p)) PetscCall(SayConstants(A, b));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    if (!strcmp(types[t], KSPCG) && !IsSymmetric(p)) continue;
    PetscCall(Solve(A, types[t], PC_HJMG_PRECISION_DOUBLE, 1e-12, 60, DOUBLE, b, x, &s[0]));
    PetscCall(Solve(A, types[t], PC_HJMG_PRECISION_SINGLE, 1e-12, 60, single ? SINGLE : DOUBLE, b, x, &s[1]));
    PetscCall(HJTestOK((PetscBool)(s[1].reason > 0 && s[0].holds && s[1].holds && s[1].its <= s[0].its + 1 && s[1].residual <= 1e-11),
                       "%s, %s: %" PetscInt_FMT " iterations, in double %" PetscInt_FMT ", residual %g", Name(p, stencil), types[t],
                       s[1].its, s[0].its, (double)s[1].residual));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Single or double, as auto decides, takes as many iterations as double. Its view has the words: of a solver, of CG */
static PetscErrorCode TestAuto(const Problem *p, const char *solver, const char *cg)
{
  const char *const types[] = {KSPRICHARDSON, KSPCG}, *const words[] = {solver, cg};
  DM     da;
  Mat    A;
  Vec    b, x;
  Solved s[2];

  PetscFunctionBegin;
  PetscCall(MakeMatrix(p, PETSC_TRUE, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ProblemVector(da, 1, b));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    PetscCall(Solve(A, types[t], PC_HJMG_PRECISION_DOUBLE, 1e-8, 60, DOUBLE, b, x, &s[0]));
    PetscCall(Solve(A, types[t], PC_HJMG_PRECISION_AUTO, 1e-8, 60, words[t], b, x, &s[1]));
    PetscCall(HJTestOK((PetscBool)(s[1].reason > 0 && s[1].holds && s[1].its == s[0].its && s[1].residual <= 1e-7),
                       "auto, %s, %s: %s, %" PetscInt_FMT " iterations, in double %" PetscInt_FMT, Name(p, PETSC_TRUE), types[t], words[t],
                       s[1].its, s[0].its));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Jumps up to 1e6 take at most two iterations more; larger ones are for double */
static const struct {
  Jumps       p;
  const char *words;
} jumps[] = {{{2, 129, REGION, 1e6, 1, HARMONIC, DIRICHLET, 0, 0}, SINGLE},
             {{2, 129, REGION, 1e6, 1, SAMPLED, DIRICHLET, 0, 0}, SINGLE},
             {{2, 129, BLOCKS, 1e6, 5, HARMONIC, DIRICHLET, 0, 0}, SINGLE},
             {{3, 33, REGION, 1e6, 1, HARMONIC, DIRICHLET, 0, 0}, SINGLE},
             {{3, 33, BLOCKS, 1e6, 5, SAMPLED, DIRICHLET, 0, 0}, SINGLE},
             {{2, 129, REGION, 1e9, 1, HARMONIC, DIRICHLET, 0, 0}, "differ by more"},
             {{3, 33, REGION, 1e12, 1, HARMONIC, DIRICHLET, 0, 0}, "differ by more"},
             {{2, 65, REGION, 1e-45, 1, HARMONIC, DIRICHLET, 0, 0}, "too large or too small"}};

static PetscErrorCode TestJumps(const Jumps *p, const char *words, PetscBool single)
{
  DM     da;
  Mat    A;
  Vec    b, x;
  Solved s[2];

  PetscFunctionBegin;
  PetscCall(JumpsCreate(p, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(Solve(A, KSPCG, PC_HJMG_PRECISION_DOUBLE, 1e-8, 60, DOUBLE, b, x, &s[0]));
  PetscCall(Solve(A, KSPCG, PC_HJMG_PRECISION_SINGLE, 1e-8, 60, single ? words : DOUBLE, b, x, &s[1]));
  PetscCall(HJTestOK((PetscBool)(s[1].reason > 0 && s[1].holds && s[1].its <= s[0].its + 2 && s[1].residual <= 1e-7),
                     "%" PetscInt_FMT "D, jump %g, %s: %" PetscInt_FMT " iterations of CG, in double %" PetscInt_FMT ", residual %g",
                     p->dim, (double)p->jump, words, s[1].its, s[0].its, (double)s[1].residual));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  DM  da;
  Mat A;
  Vec b, x[2];
} System;

static PetscErrorCode SystemCreate(PetscInt dim, Boundary boundary, System *s)
{
  const Problem p = {dim, {65, 33, dim > 2 ? 17 : 1}, boundary, VARYING, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_TRUE, &s->da, &s->A));
  PetscCall(DMCreateGlobalVector(s->da, &s->b));
  for (int i = 0; i < 2; i++) PetscCall(VecDuplicate(s->b, &s->x[i]));
  PetscCall(ProblemVector(s->da, 1, s->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SystemDestroy(System *s)
{
  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&s->x[i]));
  PetscCall(VecDestroy(&s->b));
  PetscCall(MatDestroy(&s->A));
  PetscCall(DMDestroy(&s->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Methods that want the same preconditioner each time, and who applies it by himself, have double, bit by bit */
static PetscErrorCode TestInflexible(PetscInt dim)
{
  System    s;
  Solved    how[2];
  PetscBool same[2];

  PetscFunctionBegin;
  PetscCall(SystemCreate(dim, DIRICHLET, &s));
  for (int i = 0; i < 2; i++)
    PetscCall(Solve(s.A, KSPGMRES, i ? PC_HJMG_PRECISION_SINGLE : PC_HJMG_PRECISION_DOUBLE, 1e-10, 60, "", s.b, s.x[i], &how[i]));
  PetscCall(VecEqual(s.x[0], s.x[1], &same[0]));
  for (int i = 0; i < 2; i++) {
    PC pc;

    PetscCall(MakePC(s.A, 4, 3, &pc));
    PetscCall(PCHJMGSetPrecision(pc, i ? PC_HJMG_PRECISION_SINGLE : PC_HJMG_PRECISION_DOUBLE));
    PetscCall(PCSetUp(pc));
    PetscCall(PCApply(pc, s.b, s.x[i]));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(VecEqual(s.x[0], s.x[1], &same[1]));
  PetscCall(HJTestOK((PetscBool)(how[1].reason > 0 && how[0].its == how[1].its && same[0] && same[1]),
                     "%" PetscInt_FMT "D, GMRES, PCApply(): those of double", dim));
  PetscCall(SystemDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The unit of the matrix and of the right-hand side is none of single's business. Powers of 2 round nothing */
static PetscErrorCode TestUnits(PetscInt dim, PetscReal unit, PetscReal side)
{
  static const char *const types[] = {KSPRICHARDSON, KSPCG};
  System                   s;
  Solved                   how[2];

  PetscFunctionBegin;
  PetscCall(SystemCreate(dim, DIRICHLET, &s));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    PetscBool same;

    PetscCall(Solve(s.A, types[t], PC_HJMG_PRECISION_SINGLE, 1e-10, 60, SINGLE, s.b, s.x[0], &how[0]));
    PetscCall(MatScale(s.A, unit));
    PetscCall(VecScale(s.b, side));
    PetscCall(Solve(s.A, types[t], PC_HJMG_PRECISION_SINGLE, 1e-10, 60, SINGLE, s.b, s.x[1], &how[1]));
    PetscCall(MatScale(s.A, 1.0 / unit));
    PetscCall(VecScale(s.b, 1.0 / side));
    PetscCall(VecScale(s.x[1], unit / side));
    PetscCall(VecEqual(s.x[0], s.x[1], &same));
    PetscCall(HJTestOK((PetscBool)(how[1].reason > 0 && how[0].its == how[1].its && how[0].holds == how[1].holds && same),
                       "%" PetscInt_FMT "D, %s, A times %g, b times %g: %" PetscInt_FMT " and %" PetscInt_FMT " iterations", dim, types[t],
                       (double)unit, (double)side, how[0].its, how[1].its));
  }
  PetscCall(SystemDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* More than double can reach is asked for: it goes on in double, and comes as far. A right-hand side of zeros */
static PetscErrorCode TestGoesOn(PetscInt dim, PetscBool single)
{
  System    s;
  Solved    how[2];
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(SystemCreate(dim, dim > 2 ? IDENTITY : DIRICHLET, &s));
  for (int i = 0; i < 2; i++)
    PetscCall(Solve(s.A, KSPRICHARDSON, i ? PC_HJMG_PRECISION_SINGLE : PC_HJMG_PRECISION_DOUBLE, 1e-30, 40,
                    single && i ? "did not fall" : DOUBLE, s.b, s.x[i], &how[i]));
  PetscCall(HJTestOK((PetscBool)(how[1].holds && how[1].its == 40 && how[1].residual <= 2.0 * how[0].residual),
                     "%" PetscInt_FMT "D, 1e-30 is asked for: %g, in double %g", dim, (double)how[1].residual, (double)how[0].residual));
  PetscCall(VecSet(s.b, 0.0));
  PetscCall(Solve(s.A, KSPCG, PC_HJMG_PRECISION_SINGLE, 1e-10, 40, single ? SINGLE : DOUBLE, s.b, s.x[0], &how[0]));
  PetscCall(VecNorm(s.x[0], NORM_INFINITY, &norm));
  PetscCall(HJTestOK((PetscBool)(how[0].holds && how[0].reason > 0 && norm == 0.0), "%" PetscInt_FMT "D, b = 0", dim));
  PetscCall(SystemDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, another precision, the getter */
static PetscErrorCode TestAgain(PetscBool single)
{
  const Problem   other = {2, {65, 33, 1}, DIRICHLET, JUMP, PETSC_FALSE};
  System          s;
  KSP             ksp;
  PC              pc;
  PCHJMGPrecision precision;
  PetscReal       residual[3];
  PetscBool       holds[3];

  PetscFunctionBegin;
  PetscCall(SystemCreate(2, DIRICHLET, &s));
  PetscCall(MakeKSP(s.A, KSPCG, 60, &ksp, &pc));
  PetscCall(PCHJMGSetRankPoints(pc, 1));
  for (int i = 0; i < 3; i++) {
    KSPConvergedReason reason;
    PetscInt           its;

    if (i == 1) PetscCall(ProblemFill(&other, s.da, 0, s.A));
    PetscCall(PCHJMGSetPrecision(pc, i < 2 ? PC_HJMG_PRECISION_SINGLE : PC_HJMG_PRECISION_DOUBLE));
    PetscCall(ProblemSolve(ksp, s.A, s.b, s.x[0], &its, &reason, &residual[i]));
    PetscCall(ViewHolds(pc, i < 2 && single ? SINGLE : DOUBLE, &holds[i]));
  }
  PetscCall(PCHJMGGetPrecision(pc, &precision));
  PetscCall(HJTestOK((PetscBool)(holds[0] && holds[1] && holds[2] && precision == PC_HJMG_PRECISION_DOUBLE && residual[0] < 1e-7 &&
                                 residual[1] < 1e-7 && residual[2] < 1e-7),
                     "new values, another precision: residuals %g, %g, %g", (double)residual[0], (double)residual[1], (double)residual[2]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(SystemDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PETSc in single precision: what is asked for changes nothing, but for double, which is refused */
static PetscErrorCode TestNoOther(void)
{
  const Problem p = {2, {65, 65, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  DM            da;
  Mat           A;
  Vec           b, x;
  Solved        s[2];

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_TRUE, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 2; i++) {
    PetscCall(Solve(A, KSPCG, i ? PC_HJMG_PRECISION_SINGLE : PC_HJMG_PRECISION_AUTO, HJTestDigits(1e-8), 60, SINGLE ": PETSc has no other",
                    b, x, &s[i]));
    PetscCall(HJTestOK((PetscBool)(s[i].reason > 0 && s[i].holds && s[i].its == s[0].its && s[i].residual <= HJTestDigits(1e-7)),
                       "%s: all is single, %" PetscInt_FMT " iterations, residual %g", i ? "single" : "auto", s[i].its,
                       (double)s[i].residual));
  }
  ExpectError(Solve(A, KSPCG, PC_HJMG_PRECISION_DOUBLE, HJTestDigits(1e-8), 60, "", b, x, &s[0]), "double", "single precision alone",
              "--with-precision=double");
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Problem tiny = {3, {15, 15, 15}, DIRICHLET, VARYING, PETSC_FALSE}, small = {3, {33, 33, 33}, DIRICHLET, VARYING, PETSC_FALSE},
                large = {3, {161, 161, 161}, DIRICHLET, VARYING, PETSC_FALSE}, wide = {2, {601, 601, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  const char *const quicker = "no quicker here", *const travel = "values travel between ranks";
  PetscBool all = PETSC_FALSE, some = PETSC_FALSE, only_long;
  int       code;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemBackend());
  PetscCall(HasSingle(&all, &some));
  PetscCall(HJTestLong(&only_long));
  if (only_long && (all || !some)) PetscCall(HJTestSkip("for one GPU"));
  else if (PetscDefined(USE_REAL_SINGLE)) PetscCall(TestNoOther());
  else if (only_long) PetscCall(TestAuto(&large, "no KSP has taken single", SINGLE));
  else {
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i++)
      PetscCall(TestSame(&problems[i], (PetscBool)(i % 2), (PetscBool)(all || (some && IsForOneGPU(&problems[i])))));
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(jumps); i++) PetscCall(TestJumps(&jumps[i].p, jumps[i].words, some));
    for (PetscInt dim = 2; dim <= 3; dim++) {
      PetscCall(TestInflexible(dim));
      PetscCall(TestGoesOn(dim, some));
      PetscCall(TestUnits(dim, PetscPowReal(2.0, -200), PetscPowReal(2.0, 150)));
      PetscCall(TestUnits(dim, PetscPowReal(2.0, 200), PetscPowReal(2.0, -150)));
    }
    PetscCall(TestAgain(some));
    PetscCall(TestAuto(&tiny, some ? quicker : travel, some ? quicker : travel));
    PetscCall(TestAuto(&small, all ? SINGLE : some ? quicker : travel, all ? SINGLE : some ? quicker : travel));
    if (all) PetscCall(TestAuto(&wide, "might cost iterations", "might cost iterations"));
  }
  code = only_long && (all || !some) ? 0 : HJTestDone();
  PetscCall(PetscFinalize());
  return code;
}

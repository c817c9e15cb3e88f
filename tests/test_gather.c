/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 3 4 */
/*
   PCHJMG with its coarse levels on fewer ranks: the cycle is that of all ranks, also with new values and options; thin ranks no longer end
   the hierarchy, and take the cycles of one rank; views, what is refused.
*/
#include "hjproblem.h"
#include "hjcapture.h"

/* As much as sums in another order may change, through the sweeps of a few levels and the estimate of the least eigenvalue */
#define ROUNDING HJTestDigits(1e-9)

static PetscErrorCode MakePC(Mat A, PetscInt levels, PetscInt rank_points, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, PCHJMG));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCHJMGSetK(*pc, 1, (PetscInt[]){2}));
  PetscCall(PCHJMGSetLevels(*pc, levels));
  PetscCall(PCHJMGSetRankPoints(*pc, rank_points));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *Name(const Problem *p)
{
  static char name[128];

  (void)PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT "D %s %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT ", %s, %s", p->dim,
                      p->box ? "box" : "star", p->n[0], p->n[1], p->n[2], BoundaryNames()[p->boundary], CoefficientNames()[p->coefficient]);
  return name;
}

/* Applies both to a vector, and compares */
static PetscErrorCode CompareCycles(PC one, PC other, DM da, PetscBool constants, const char *what, const Problem *p)
{
  Vec       b, x[2];
  PetscReal diff;
  PetscInt  n[2];
  PetscBool agree = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  if (constants) {
    PetscScalar sum;
    PetscInt    size;

    PetscCall(VecGetSize(b, &size));
    PetscCall(VecSum(b, &sum));
    PetscCall(VecShift(b, -sum / size));
  }
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDuplicate(b, &x[i]));
    PetscCall(PCApply(i ? other : one, b, x[i]));
    PetscCall(PCHJMGGetLevels(i ? other : one, &n[i]));
  }
  PetscCall(VecsAgree(x[0], x[1], ROUNDING, &agree, &diff));
  PetscCall(HJTestOK((PetscBool)(agree && n[0] == n[1]), "%s: %s, %" PetscInt_FMT " levels (%g)", what, Name(p), n[0], (double)diff));
  for (int i = 0; i < 2; i++) PetscCall(PCApplyTranspose(i ? other : one, b, x[i]));
  PetscCall(VecsAgree(x[0], x[1], ROUNDING, &agree, &diff));
  PetscCall(HJTestOK(agree, "transposed (%g)", (double)diff));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetConstants(Mat A)
{
  MatNullSpace null;

  PetscFunctionBegin;
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &null));
  PetscCall(MatSetNullSpace(A, null));
  PetscCall(MatNullSpaceDestroy(&null));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* k: PETSC_DECIDE, where coarse grids of stars have more subiterations, on fewer ranks too */
static PetscErrorCode TestSame(const Problem *p, PetscBool stencil, PetscInt k, PCHJMGTransfer transfer)
{
  const PetscBool constants = (PetscBool)(p->boundary == PERIODIC || p->boundary == NEUMANN);
  DM              da;
  Mat             A;
  PC              pc[2];
  PetscMPIInt     size;
  PetscBool       holds = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ProblemDM(p, &da));
  if (stencil) PetscCall(MatCreateHJStencil(da, &A));
  else PetscCall(DMCreateMatrix(da, &A));
  PetscCall(ProblemFill(p, da, 0, A));
  if (constants) PetscCall(SetConstants(A));
  for (int i = 0; i < 2; i++) {
    PetscCall(MakePC(A, 3, i ? 1000000 : 0, &pc[i]));
    PetscCall(PCHJMGSetK(pc[i], k == PETSC_DECIDE ? 0 : 1, &k));
    PetscCall(PCHJMGSetTransfer(pc[i], transfer));
    PetscCall(PCHJMGSetCoarseSolve(pc[i], PC_HJMG_COARSE_SOLVE_SWEEPS)); /* on one rank a GPU takes the inverse */
    PetscCall(PCSetUp(pc[i]));
  }
  PetscCall(CompareCycles(pc[0], pc[1], da, constants, stencil ? "hjstencil" : "AIJ", p));
  if (size > 1) PetscCall(ViewHolds(pc[1], "gathered on 1 rank:", &holds));
  else PetscCall(ViewHolds(pc[1], "level 1:", &holds));
  PetscCall(HJTestOK(holds, "the view says where"));
  PetscCall(ViewHolds(pc[1], "level 2:", &holds));
  PetscCall(HJTestOK(holds, "it numbers levels through"));
  PetscCall(HJTestDestroy(&pc[0], &pc[1], &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, another storage, other options reach the levels on fewer ranks */
static PetscErrorCode TestRefresh(void)
{
  const Problem p[] = {{2, {65, 33, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                       {2, {65, 33, 1}, DIRICHLET, VARYING, PETSC_FALSE},
                       {2, {65, 33, 1}, DIRICHLET, JUMP, PETSC_FALSE}};
  DM            da;
  Mat           A;
  PC            pc, fresh;

  PetscFunctionBegin;
  PetscCall(ProblemDM(&p[0], &da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(ProblemFill(&p[0], da, 0, A));
  PetscCall(MakePC(A, 3, 1000000, &pc));
  PetscCall(PCHJMGSetCoarseSolve(pc, PC_HJMG_COARSE_SOLVE_SWEEPS)); /* on one rank a GPU takes the inverse */
  for (int i = 0; i < 6; i++) {
    if (i < 4) {
      PetscCall(MatZeroEntries(A));
      PetscCall(ProblemFill(&p[i % 3], da, i, A));
      PetscCall(PCSetOperators(pc, A, A));
    }
    PetscCall(MakePC(A, i < 5 ? 3 : 4, 0, &fresh));
    PetscCall(PCHJMGSetCoarseSolve(fresh, PC_HJMG_COARSE_SOLVE_SWEEPS));
    if (i >= 4) {
      PetscCall(PCHJMGSetK(pc, 1, (PetscInt[]){3}));
      PetscCall(PCHJMGSetK(fresh, 1, (PetscInt[]){3}));
    }
    if (i == 5) PetscCall(PCHJMGSetLevels(pc, 4));
    PetscCall(PCSetUp(pc));
    PetscCall(PCSetUp(fresh));
    PetscCall(CompareCycles(pc, fresh, da, PETSC_FALSE, i < 4 ? "new values" : "new options", &p[i < 4 ? i % 3 : 0]));
    PetscCall(PCDestroy(&fresh));
  }
  PetscCall(HJTestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CG to 1e-8 with PCHJMG, and vectors, of which b is filled */
static PetscErrorCode CreateSolver(DM da, Mat A, KSP *ksp, PC *pc, Vec *b, Vec *x)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPSetTolerances(*ksp, HJTestDigits(1e-8), PETSC_DEFAULT, PETSC_DEFAULT, 50));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, PCHJMG));
  PetscCall(DMCreateGlobalVector(da, b));
  PetscCall(VecDuplicate(*b, x));
  PetscCall(ProblemVector(da, 1, *b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks that own one line of points: fewer have them, and the iterations of CG and the cycles as the solver are those of one rank. With a
   shift of a singular matrix also where sweeps are known to solve the last grid, but are many; there cycles are not counted, as x is so
   much larger than b that rounding may make one more */
static PetscErrorCode TestThin(PetscInt lines, PetscReal shift, PetscInt rank_points, const PetscInt expected[3], const char *words)
{
  const Problem p = {2, {shift > 0 ? 20 : 513, lines, 1}, shift > 0 ? NEUMANN : DIRICHLET, CONSTANT, PETSC_FALSE};
  DM            da;
  Mat           A;
  KSP           ksp;
  PC            pc;
  Vec           b, x;
  PetscInt      its;
  PetscReal     norm = 0, tested, of_b, of_x, rounding;
  PetscMPIInt   size;
  PetscBool     holds = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ProblemThinStrips(2, lines));
  PetscCall(ProblemDM(&p, &da));
  PetscCall(ProblemStrips(2, PETSC_FALSE));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(ProblemFill(&p, da, 0, A));
  PetscCall(MatShift(A, shift));
  PetscCall(CreateSolver(da, A, &ksp, &pc, &b, &x));
  PetscCall(PCHJMGSetK(pc, 1, (PetscInt[]){2}));
  PetscCall(PCHJMGSetRankPoints(pc, rank_points));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  if (size == 4) PetscCall(ViewHolds(pc, words, &holds));
  /* sweeps leave more of the last grid's error than an inverse, which a GPU takes for larger grids */
  PetscCall(HJTestOK((PetscBool)(holds && (HJTestIterations(its, expected[0]) || (shift > 0 && its < expected[0]))),
                     "thin ranks: %s, %" PetscInt_FMT " iterations, %" PetscInt_FMT " expected", Name(&p), its, expected[0]));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  for (int guess = 0; guess < 2; guess++) {
    PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)guess));
    PetscCall(VecSet(x, 1.0));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(KSPGetResidualNorm(ksp, &tested));
    PetscCall(RelativeResidual(A, b, x, &norm));
    PetscCall(VecNorm(b, NORM_2, &of_b));
    PetscCall(VecNorm(x, NORM_2, &of_x));
    rounding = 10 * PETSC_MACHINE_EPSILON * 8 * of_x / of_b; /* 8: the largest row sum of |A| */
    PetscCall(HJTestOK((PetscBool)((HJTestIterations(its, expected[1 + guess]) || shift > 0) && norm <= HJTestDigits(1.01e-8) + rounding &&
                                   PetscAbsReal(tested / of_b - norm) <= rounding),
                       "as the solver%s: %" PetscInt_FMT " cycles, %" PetscInt_FMT " expected, residual %g, tested %g",
                       guess ? " from ones" : "", its, expected[1 + guess], (double)norm, (double)(tested / of_b)));
  }
  PetscCall(HJTestDestroy(&b, &x, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers of subiterations count from the finest grid on, also where coarse grids are on fewer ranks; the last one is that of the rest */
static PetscErrorCode TestNumbers(void)
{
  const Problem     p       = {2, {65, 65, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  const PetscInt    k[]     = {2, 3, 5};
  const char *const words[] = {"k = 2, emax", "k = 3, emax", "k = 5, emax"};
  const PetscInt   *found;
  PetscInt          n;
  DM                da;
  Mat               A;
  PC                pc;
  PetscBool         holds = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(ProblemDM(&p, &da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(ProblemFill(&p, da, 0, A));
  PetscCall(MakePC(A, 5, 1000000, &pc));
  PetscCall(PCHJMGSetK(pc, 3, k));
  PetscCall(PCSetUp(pc));
  for (int i = 0; i < 3; i++) {
    PetscCall(ViewHolds(pc, words[i], &holds));
    PetscCall(HJTestOK(holds, "a list of k: %s", words[i]));
  }
  PetscCall(ViewHolds(pc, "k = 4, emax", &holds));
  PetscCall(HJTestOK((PetscBool)!holds, "and no other number"));
  PetscCall(PCHJMGGetK(pc, &n, &found));
  PetscCall(HJTestOK((PetscBool)(n == 3 && found[0] == 2 && found[1] == 3 && found[2] == 5), "the list comes back"));
  PetscCall(PCHJMGSetK(pc, 0, NULL));
  PetscCall(PCSetUp(pc));
  PetscCall(PCHJMGGetK(pc, &n, &found));
  PetscCall(HJTestOK((PetscBool)(n >= 1 && found[0] == 6), "numbers that are found again: %" PetscInt_FMT " on the finest grid", found[0]));
  PetscCall(HJTestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOptions(void)
{
  PC       pc;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, "-own_pc_type hjmg -own_pc_hjmg_rank_points 77"));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(PCHJMGGetRankPoints(pc, &n));
  PetscCall(HJTestOK((PetscBool)(n == PETSC_DECIDE), "rank_points is found by default"));
  PetscCall(PCSetOptionsPrefix(pc, "own_"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCHJMGGetRankPoints(pc, &n));
  PetscCall(HJTestOK((PetscBool)(n == 77), "-pc_hjmg_rank_points"));
  ExpectError(PCHJMGSetRankPoints(pc, -7), "rank_points -7", "points a rank -7 must be at least 0");
  ExpectError(PCHJMGGetRankPoints(pc, NULL), "nowhere to put them", "Null Pointer: Parameter # 2");
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks that own a plane or two, and a matrix that is not hjstencil, which has its own numbers of subiterations: iterations of one rank */
static PetscErrorCode TestThinAIJ(void)
{
  const Problem p = {3, {33, 33, 5}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM            da;
  Mat           A;
  KSP           ksp;
  PC            pc;
  Vec           b, x;
  PetscInt      its;

  PetscFunctionBegin;
  PetscCall(ProblemThinStrips(3, p.n[2]));
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(ProblemStrips(3, PETSC_FALSE));
  PetscCall(CreateSolver(da, A, &ksp, &pc, &b, &x));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(HJTestOK((PetscBool)HJTestIterations(its, 3), "thin ranks: %s, AIJ, %" PetscInt_FMT " iterations, 3 expected", Name(&p), its));
  PetscCall(HJTestDestroy(&b, &x, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Problem problems[] = {{1, {129, 1, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},    {2, {33, 49, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                              {2, {33, 41, 1}, NEUMANN, VARYING, PETSC_FALSE},       {2, {48, 32, 1}, PERIODIC, CONSTANT, PETSC_FALSE},
                              {2, {33, 33, 1}, IDENTITY, VARYING, PETSC_TRUE},       {2, {33, 33, 1}, DIRICHLET, CONVECTION, PETSC_FALSE},
                              {3, {17, 17, 17}, DIRICHLET, CONSTANT, PETSC_FALSE},   {3, {17, 25, 17}, DIRICHLET, JUMP, PETSC_TRUE},
                              {3, {17, 17, 16}, PERIODIC_LAST, VARYING, PETSC_FALSE}};

  PetscCall(ProblemInitialize(&argc, &argv));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i++) {
    PetscCall(TestSame(&problems[i], (PetscBool)(i % 3 != 1), 2, PC_HJMG_TRANSFER_AUTO));
    PetscCall(TestSame(&problems[i], PETSC_TRUE, PETSC_DECIDE, PC_HJMG_TRANSFER_BILINEAR));
    PetscCall(TestSame(&problems[i], PETSC_TRUE, PETSC_DECIDE, PC_HJMG_TRANSFER_OPERATOR));
  }
  PetscCall(TestRefresh());
  PetscCall(TestThin(5, 0, 0, (PetscInt[]){6, 7, 9}, "gathered on 2 ranks:"));
  PetscCall(TestThin(9, 0, 0, (PetscInt[]){6, 8, 8}, "gathered on 2 ranks:"));
  PetscCall(TestThin(9, 0, PETSC_DECIDE, (PetscInt[]){6, 8, 8}, "gathered on 1 rank:"));
  PetscCall(TestThin(5, HJTestDigits(1e-7), 0, (PetscInt[]){3, 8, 8}, "gathered on 2 ranks:"));
  PetscCall(TestThinAIJ());
  PetscCall(TestNumbers());
  PetscCall(TestOptions());
  return HJTestEnd();
}

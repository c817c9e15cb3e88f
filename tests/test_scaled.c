/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4, nan: 1 */
/*
   Matrices in other units: all entries times 1e-300 to 1e300, or each row times a number of its own, 1e-150 to 1e150. Nothing passes the
   range of numbers: the solution is the same, after as many iterations. So it is of right-hand sides whose squares pass it, which PETSc's
   own norms do not bear.
*/
#include "hjproblem.h"

/* Denormal numbers begin at 2^-1022, in single precision at 2^-126: entries of 2^-996, 1.5e-300, and 2^-90 have room for coarse grids */
static const int exponents[] = {HJ_BY_PRECISION(-996, -90), HJ_BY_PRECISION(-500, -50), HJ_BY_PRECISION(500, 50), HJ_BY_PRECISION(996, 90)};

static const char *Name(const Problem *p)
{
  static char name[128];

  (void)snprintf(name, sizeof(name), "%dD, %s, %s", (int)p->dim, BoundaryNames()[p->boundary], CoefficientNames()[p->coefficient]);
  return name;
}

static PetscErrorCode MakeProblem(const Problem *p, MatType type, DM *da, Mat *A, Vec *b, Vec *x)
{
  PetscFunctionBegin;
  PetscCall(ProblemDM(p, da));
  PetscCall(DMSetMatType(*da, type));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(ProblemFill(p, *da, 0, *A));
  if (p->boundary == PERIODIC) PetscCall(MatShift(*A, 0.1));
  PetscCall(MatCreateVecs(*A, x, b));
  PetscCall(ProblemVector(*da, 1, *b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(DM da, Mat A, KSPType type, KSPNormType norm, PCType pctype, Vec b, Vec x, PetscInt *its)
{
  KSP                ksp;
  PC                 pc;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(ProblemKSP(da, A, type, pctype, &ksp, &pc));
  PetscCall(KSPSetNormType(ksp, norm));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), 0.0, PETSC_DEFAULT, 1000));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecSet(x, 0.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  if (reason < 0) *its = -1;
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = scale y - x. norm: the sums of the sizes of x, and of that */
static PetscErrorCode ScaledDifference(Vec x, PetscReal scale, Vec y, PetscReal norm[2])
{
  PetscFunctionBegin;
  PetscCall(VecScale(y, scale));
  PetscCall(VecAXPY(y, -1.0, x));
  PetscCall(VecNorm(x, NORM_1, &norm[0]));
  PetscCall(VecNorm(y, NORM_1, &norm[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A power of two changes no digit but of what becomes denormal, late corrections and products of CG. b stays as it is, for KSPs square it;
   norms are those of residuals, which stay too */
static PetscErrorCode TestWhole(const Problem *p, MatType type, PCType pctype, KSPType ksptype)
{
  DM        da;
  Mat       A, B;
  Vec       b, x, y;
  PetscInt  its[2];
  PetscReal norm[2];

  PetscFunctionBegin;
  PetscCall(MakeProblem(p, type, &da, &A, &b, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(Solve(da, A, ksptype, KSP_NORM_UNPRECONDITIONED, pctype, b, x, &its[0]));
  for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(exponents); e++) {
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    PetscCall(MatScale(B, ldexp(1.0, exponents[e])));
    PetscCall(Solve(da, B, ksptype, KSP_NORM_UNPRECONDITIONED, pctype, b, y, &its[1]));
    PetscCall(ScaledDifference(x, ldexp(1.0, exponents[e]), y, norm));
    PetscCall(HJTestOK((PetscBool)(its[0] > 0 && its[0] == its[1] && norm[1] <= HJTestDigits(1e-12) * norm[0]),
                       "%s, %s, %s, %s times 2^%d: %" PetscInt_FMT " and %" PetscInt_FMT " iterations, difference %g", Name(p), type,
                       ksptype, pctype, exponents[e], its[0], its[1], (double)(norm[1] / norm[0])));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(HJTestDestroy(&b, &x, &y, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRightHandSide(const Problem *p, MatType type)
{
  DM        da;
  Mat       A;
  Vec       b, x, y;
  PetscInt  its[2];
  PetscReal norm[2];

  PetscFunctionBegin;
  PetscCall(MakeProblem(p, type, &da, &A, &b, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(Solve(da, A, KSPRICHARDSON, KSP_NORM_UNPRECONDITIONED, PCHJMG, b, x, &its[0]));
  for (int e = HJ_BY_PRECISION(-600, -70); e <= HJ_BY_PRECISION(600, 70); e += HJ_BY_PRECISION(1200, 140)) {
    PetscCall(VecScale(b, ldexp(1.0, e)));
    PetscCall(Solve(da, A, KSPRICHARDSON, KSP_NORM_UNPRECONDITIONED, PCHJMG, b, y, &its[1]));
    PetscCall(VecScale(b, ldexp(1.0, -e)));
    PetscCall(ScaledDifference(x, ldexp(1.0, -e), y, norm));
    PetscCall(HJTestOK((PetscBool)(its[0] > 0 && its[0] == its[1] && norm[1] == 0.0),
                       "%s, %s, right-hand side times 2^%d: %" PetscInt_FMT " and %" PetscInt_FMT " iterations, difference %g", Name(p),
                       type, e, its[0], its[1], (double)(norm[1] / norm[0])));
  }
  PetscCall(HJTestDestroy(&b, &x, &y, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar Power(PetscScalar number, PetscReal decades)
{
  return PetscPowReal(10.0, decades * PetscRealPart(number));
}

/* Rows scaled at random: at most two iterations more, by the preconditioned norm, as sums of other ones do not see small rows */
static PetscErrorCode TestRows(const Problem *p, MatType type, PetscReal decades)
{
  DM        da;
  Mat       A;
  Vec       b, x, exact;
  PetscInt  its[2];
  PetscReal norm[2];

  PetscFunctionBegin;
  PetscCall(MakeProblem(p, type, &da, &A, &b, &x));
  PetscCall(VecDuplicate(x, &exact));
  PetscCall(VecCopy(b, exact));
  for (int i = 0; i < 2; i++) {
    if (i) PetscCall(ProblemScale(da, 3, Power, decades, PETSC_FALSE, A));
    PetscCall(MatMult(A, exact, b));
    PetscCall(Solve(da, A, KSPGMRES, KSP_NORM_PRECONDITIONED, PCHJMG, b, x, &its[i]));
  }
  PetscCall(VecAXPY(x, -1.0, exact));
  PetscCall(VecNorm(x, NORM_2, &norm[0]));
  PetscCall(VecNorm(exact, NORM_2, &norm[1]));
  PetscCall(HJTestOK((PetscBool)(its[0] > 0 && its[1] > 0 && its[1] <= its[0] + 2 && norm[0] <= HJTestDigits(1e-6) * norm[1]),
                     "%s, %s, rows times 1e-%g to 1e%g: %" PetscInt_FMT " and %" PetscInt_FMT " iterations, error %g", Name(p), type,
                     (double)decades, (double)decades, its[0], its[1], (double)(norm[0] / norm[1])));
  PetscCall(HJTestDestroy(&b, &x, &exact, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const Problem problems[] = {
    {1, {200, 1, 1}, DIRICHLET, VARYING, PETSC_FALSE},  {2, {45, 41, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
    {2, {45, 41, 1}, IDENTITY, VARYING, PETSC_FALSE},   {2, {45, 41, 1}, DIRICHLET, JUMP, PETSC_FALSE},
    {2, {44, 42, 1}, PERIODIC, VARYING, PETSC_FALSE},   {2, {45, 41, 1}, DIRICHLET, CONVECTION, PETSC_FALSE},
    {3, {13, 12, 11}, DIRICHLET, VARYING, PETSC_FALSE}, {3, {13, 12, 11}, DIRICHLET, CONVECTION, PETSC_TRUE},
  };
  static const MatType types[] = {MATAIJ, MATHJSTENCIL};

  PetscCall(ProblemInitialize(&argc, &argv));
  for (int t = 0; t < 2; t++) {
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i++) {
      const Problem *p         = &problems[i];
      const KSPType  symmetric = p->coefficient == CONVECTION || p->boundary == IDENTITY ? KSPFGMRES : KSPCG;

      PetscCall(TestWhole(p, types[t], PCHJMG, symmetric));
      PetscCall(TestWhole(p, types[t], PCHJMG, KSPRICHARDSON));
      PetscCall(TestWhole(p, types[t], PCHJACOBI, symmetric));
      PetscCall(TestRightHandSide(p, types[t]));
      if (p->boundary == IDENTITY) continue;
      PetscCall(TestRows(p, types[t], HJ_BY_PRECISION(10.0, 4.0)));
      PetscCall(TestRows(p, types[t], HJ_BY_PRECISION(150.0, 15.0)));
    }
  }
  return HJTestEnd();
}

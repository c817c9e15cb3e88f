/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4, nan: 1 */
/*
   A matrix whose numbers leave no preconditioner, as one of them is NaN or infinite: set-up says so as PETSc's own preconditioners do, the
   KSP ends with KSP_DIVERGED_PC_FAILED, and good values are solved again; a time stepper takes a smaller step. As an error where that is
   asked for.
*/
#include "hjproblem.h"
#include "hjcapture.h"
#include <petscts.h>

static const Problem grid = {2, {40, 40, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};

/* The last row's diagonal, or the entry left of it, which one rank alone has; the others learn of it */
static PetscErrorCode Spoil(Mat A, PetscInt offset, PetscScalar value)
{
  PetscInt N, end;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(MatGetOwnershipRange(A, NULL, &end));
  if (end == N) PetscCall(MatSetValue(A, N - 1, N - 1 - offset, value, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Refill(const Problem *p, DM da, Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  PetscCall(ProblemFill(p, da, 0, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewKSP(DM da, Mat A, KSPType type, PCType pctype, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(ProblemKSP(da, A, type, pctype, ksp, &pc));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The reason with which a solve ends, and its iterations. A KSP that is not told of new values does not set up a PC that has failed */
static PetscErrorCode Solve(KSP ksp, Mat A, Vec b, Vec x, KSPConvergedReason *reason, PetscInt *its)
{
  PetscFunctionBegin;
  PetscCall(VecSet(x, 0.0));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(ProblemSolve(ksp, A, b, x, its, reason, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the KSP ended so, and its PC says why: to the program and in its view */
static PetscErrorCode Says(KSP ksp, KSPConvergedReason reason, PetscBool *says)
{
  PC             pc;
  PCFailedReason failed;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCGetFailedReason(pc, &failed));
  CollectBegin();
  PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
  CollectEnd();
  *says = (PetscBool)(reason == KSP_DIVERGED_PC_FAILED && failed == PC_SETUP_ERROR &&
                      (!printed[0] || strstr(printed, "an entry of the matrix is NaN or infinite")));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Good values, bad ones and good ones again, in one KSP; and where the bad ones come first */
static PetscErrorCode TestValues(PCType pctype, MatType type, Coefficient coefficient, PetscInt offset, PetscScalar value)
{
  Problem            p = grid;
  DM                 da;
  Mat                A;
  Vec                b, x;
  KSP                ksp;
  KSPConvergedReason reason[3];
  PetscInt           its[3];
  PetscBool          says;
  char               name[128];

  PetscFunctionBegin;
  p.coefficient = coefficient;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s, %s, %s, %g %s", pctype, type, CoefficientNames()[coefficient], (double)value,
                          offset ? "beside the diagonal" : "on the diagonal"));
  PetscCall(ProblemDM(&p, &da));
  PetscCall(DMSetMatType(da, type));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(ProblemFill(&p, da, 0, A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  for (PetscInt first = 0; first < 2; first++) {
    PetscCall(NewKSP(da, A, KSPGMRES, pctype, &ksp));
    if (!first) PetscCall(Solve(ksp, A, b, x, &reason[0], &its[0]));
    PetscCall(Spoil(A, offset, value));
    PetscCall(Solve(ksp, A, b, x, &reason[1], &its[1]));
    PetscCall(Says(ksp, reason[1], &says));
    PetscCall(HJTestOK(says, "%s: %s", name, first ? "the first values" : "new values"));
    PetscCall(Refill(&p, da, A));
    PetscCall(Solve(ksp, A, b, x, &reason[2], &its[2]));
    PetscCall(HJTestOK((PetscBool)(reason[0] > 0 && reason[2] > 0 && its[0] == its[2]),
                       "%s: good values then take %" PetscInt_FMT " iterations, as before %" PetscInt_FMT, name, its[2], its[0]));
    PetscCall(Spoil(A, offset, value));
    PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
    PetscCall(KSPSetOperators(ksp, A, A));
    ExpectError(KSPSolve(ksp, b, x), "so it does as an error", "NaN or infinite", "correct the matrix");
    PetscCall(Refill(&p, da, A));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(HJTestDestroy(&b, &x, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Quiet(KSP ksp, PetscInt it, PetscReal norm, void *ctx)
{
  return PETSC_SUCCESS;
}

/* All solvers see it, by whichever way they use the PC */
static PetscErrorCode TestSolvers(PCType pctype)
{
  static const struct {
    KSPType     type;
    KSPNormType norm;
    PetscBool   monitor, transpose; /* with a monitor KSPRICHARDSON runs its own loop */
  } cases[] = {
    {KSPCG, KSP_NORM_DEFAULT, PETSC_FALSE, PETSC_FALSE},
    {KSPBCGS, KSP_NORM_DEFAULT, PETSC_FALSE, PETSC_FALSE},
    {KSPFGMRES, KSP_NORM_DEFAULT, PETSC_FALSE, PETSC_FALSE},
    {KSPGMRES, KSP_NORM_DEFAULT, PETSC_FALSE, PETSC_TRUE},
    {KSPPREONLY, KSP_NORM_DEFAULT, PETSC_FALSE, PETSC_FALSE},
    {KSPCHEBYSHEV, KSP_NORM_DEFAULT, PETSC_FALSE, PETSC_FALSE},
    {KSPRICHARDSON, KSP_NORM_UNPRECONDITIONED, PETSC_FALSE, PETSC_FALSE},
    {KSPRICHARDSON, KSP_NORM_PRECONDITIONED, PETSC_FALSE, PETSC_FALSE},
    {KSPRICHARDSON, KSP_NORM_PRECONDITIONED, PETSC_TRUE, PETSC_FALSE},
    {KSPRICHARDSON, KSP_NORM_NONE, PETSC_FALSE, PETSC_FALSE},
  };
  DM                 da;
  Mat                A;
  Vec                b, x;
  KSP                ksp;
  KSPConvergedReason reason;
  PetscBool          says;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&grid, &da, &A));
  PetscCall(Spoil(A, 1, NAN));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); c++) {
    PetscCall(NewKSP(da, A, cases[c].type, pctype, &ksp));
    if (cases[c].norm != KSP_NORM_DEFAULT) PetscCall(KSPSetNormType(ksp, cases[c].norm));
    if (cases[c].monitor) PetscCall(KSPMonitorSet(ksp, Quiet, NULL, NULL));
    PetscCall(VecSet(x, 0.0));
    if (cases[c].transpose) PetscCall(KSPSolveTranspose(ksp, b, x));
    else PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(Says(ksp, reason, &says));
    PetscCall(HJTestOK(says, "%s, NaN: %s%s%s, norm %s", pctype, cases[c].type, cases[c].transpose ? " transposed" : "",
                       cases[c].monitor ? " with a monitor" : "",
                       cases[c].norm == KSP_NORM_DEFAULT ? "as it is" : KSPNormTypes[cases[c].norm]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(HJTestDestroy(&b, &x, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCMG, whose levels PCHJACOBI smooths, ends so too, by the word of its levels */
static PetscErrorCode TestLevels(MatType type)
{
  const Problem      p = {2, {41, 41, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  DM                 da, coarse;
  Mat                A, P;
  Vec                b, x;
  KSP                ksp, level;
  PC                 pc, smoother;
  KSPConvergedReason reason;
  PetscInt           its;
  PCFailedReason     failed;

  PetscFunctionBegin;
  PetscCall(ProblemDM(&p, &da));
  PetscCall(DMSetMatType(da, type));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(ProblemFill(&p, da, 0, A));
  PetscCall(Spoil(A, 1, NAN));
  PetscCall(DMCoarsen(da, PETSC_COMM_WORLD, &coarse));
  PetscCall(DMCreateInterpolation(coarse, da, &P, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(NewKSP(NULL, A, KSPFGMRES, PCMG, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCMGSetLevels(pc, 2, NULL));
  PetscCall(PCMGSetGalerkin(pc, PC_MG_GALERKIN_BOTH));
  PetscCall(PCMGSetInterpolation(pc, 1, P));
  for (PetscInt l = 0; l < 2; l++) {
    PetscCall(PCMGGetSmoother(pc, l, &level));
    PetscCall(KSPSetType(level, KSPRICHARDSON));
    PetscCall(KSPSetTolerances(level, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, l ? 1 : 8));
    PetscCall(KSPSetNormType(level, KSP_NORM_NONE));
    PetscCall(KSPGetPC(level, &smoother));
    PetscCall(PCSetType(smoother, PCHJACOBI));
  }
  PetscCall(Solve(ksp, A, b, x, &reason, &its));
  PetscCall(PCGetFailedReason(pc, &failed));
  PetscCall(HJTestOK((PetscBool)(reason == KSP_DIVERGED_PC_FAILED && failed == PC_SUBPC_ERROR), "levels of PCMG, %s: %s, %s", type,
                     KSPConvergedReasons[reason], PCFailedReasons[failed]));
  PetscCall(KSPReset(ksp)); /* PCMG itself does not forget */
  PetscCall(Refill(&p, da, A));
  PetscCall(PCMGSetInterpolation(pc, 1, P));
  PetscCall(PCSetFailedReason(pc, PC_NOERROR));
  PetscCall(Solve(ksp, A, b, x, &reason, &its));
  PetscCall(HJTestOK((PetscBool)(reason > 0), "levels of PCMG, %s: good values, %s", type, KSPConvergedReasons[reason]));
  PetscCall(HJTestDestroy(&ksp, &b, &x, &P, &A, &coarse, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a matrix that has products alone the estimate of its eigenvalues sees it */
static PetscErrorCode TestShell(void)
{
  DM                 da;
  Mat                A, S;
  Vec                b, x;
  KSP                ksp;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscBool          says;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&grid, &da, &A));
  PetscCall(ProblemShell(A, &S));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(NewKSP(NULL, S, KSPGMRES, PCHJACOBI, &ksp));
  PetscCall(Spoil(A, 1, NAN));
  PetscCall(Solve(ksp, S, b, x, &reason, &its));
  PetscCall(Says(ksp, reason, &says));
  PetscCall(HJTestOK(says, "a shell matrix, NaN"));
  PetscCall(Refill(&grid, da, A));
  PetscCall(MatAssemblyBegin(S, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(S, MAT_FINAL_ASSEMBLY));
  PetscCall(Solve(ksp, S, b, x, &reason, &its));
  PetscCall(HJTestOK((PetscBool)(reason > 0), "a shell matrix, good values: %s", KSPConvergedReasons[reason]));
  PetscCall(HJTestDestroy(&ksp, &b, &x, &S, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NaN in b or in the guess is nothing that a PC has to do with */
static PetscErrorCode TestVectors(PCType pctype, KSPType type)
{
  DM                 da;
  Mat                A;
  Vec                v[2]; /* b and x */
  KSP                ksp;
  KSPConvergedReason reason[3];

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&grid, &da, &A));
  PetscCall(MatCreateVecs(A, &v[1], &v[0]));
  PetscCall(NewKSP(da, A, type, pctype, &ksp));
  for (int i = 0; i < 3; i++) {
    PetscCall(VecSet(v[0], 1.0));
    PetscCall(VecSet(v[1], 0.5));
    if (i < 2) PetscCall(VecSetValue(v[i], 3, NAN, INSERT_VALUES));
    for (int k = 0; k < 2; k++) PetscCall(VecAssemblyBegin(v[k]));
    for (int k = 0; k < 2; k++) PetscCall(VecAssemblyEnd(v[k]));
    PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)(i > 0)));
    PetscCall(KSPSolve(ksp, v[0], v[1]));
    PetscCall(KSPGetConvergedReason(ksp, &reason[i]));
  }
  PetscCall(HJTestOK((PetscBool)(reason[0] == KSP_DIVERGED_NANORINF && reason[1] == KSP_DIVERGED_NANORINF && reason[2] > 0),
                     "%s, %s: NaN in b %s, in x %s, in neither %s", type, pctype, KSPConvergedReasons[reason[0]],
                     KSPConvergedReasons[reason[1]], KSPConvergedReasons[reason[2]]));
  PetscCall(HJTestDestroy(&ksp, &v[0], &v[1], &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* du/dt + K u = 0, whose Jacobian is no number for large steps */
typedef struct {
  Problem   p;
  DM        da;
  Mat       K;
  PetscReal least; /* shift, the inverse of the step, from which on it is one */
  PetscInt  bad;
} Flow;

static PetscErrorCode FlowFunction(TS ts, PetscReal t, Vec u, Vec udot, Vec f, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(MatMult(((Flow *)ctx)->K, u, f));
  PetscCall(VecAXPY(f, 1.0, udot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FlowJacobian(TS ts, PetscReal t, Vec u, Vec udot, PetscReal shift, Mat J, Mat P, void *ctx)
{
  Flow *flow = (Flow *)ctx;

  PetscFunctionBegin;
  PetscCall(Refill(&flow->p, flow->da, P));
  PetscCall(MatShift(P, shift));
  if (shift < flow->least) {
    PetscCall(Spoil(P, 1, INFINITY));
    flow->bad++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A time stepper takes a smaller step, in which SNES, KSP and PC go on as if nothing had been */
static PetscErrorCode TestStepper(PCType pctype, MatType type)
{
  Flow              flow = {.p = grid, .least = 90.0};
  TS                ts;
  SNES              snes;
  KSP               ksp;
  PC                pc;
  Mat               J;
  Vec               u;
  TSConvergedReason reason;
  PetscReal         norm[2];
  PetscInt          steps;

  PetscFunctionBegin;
  PetscCall(ProblemDM(&flow.p, &flow.da));
  PetscCall(DMSetMatType(flow.da, type));
  PetscCall(DMCreateMatrix(flow.da, &flow.K));
  PetscCall(ProblemFill(&flow.p, flow.da, 0, flow.K));
  PetscCall(DMCreateMatrix(flow.da, &J));
  PetscCall(MatCreateVecs(J, &u, NULL));
  PetscCall(VecSet(u, 1.0));
  PetscCall(TSCreate(PETSC_COMM_WORLD, &ts));
  PetscCall(TSSetDM(ts, flow.da));
  PetscCall(TSSetIFunction(ts, NULL, FlowFunction, &flow));
  PetscCall(TSSetIJacobian(ts, J, J, FlowJacobian, &flow));
  PetscCall(TSSetType(ts, TSBEULER));
  PetscCall(TSSetTimeStep(ts, 0.1));
  PetscCall(TSSetMaxTime(ts, 0.1));
  PetscCall(TSSetExactFinalTime(ts, TS_EXACTFINALTIME_MATCHSTEP));
  PetscCall(TSSetMaxSNESFailures(ts, -1));
  PetscCall(TSGetSNES(ts, &snes));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(TSSetFromOptions(ts));
  PetscCall(VecNorm(u, NORM_2, &norm[0]));
  PetscCall(TSSolve(ts, u));
  PetscCall(VecNorm(u, NORM_2, &norm[1]));
  PetscCall(TSGetConvergedReason(ts, &reason));
  PetscCall(TSGetStepNumber(ts, &steps));
  PetscCall(HJTestOK((PetscBool)(reason > 0 && flow.bad > 0 && steps > 1 && norm[1] < norm[0]),
                     "%s, %s: after %" PetscInt_FMT " bad Jacobians a time stepper is there in %" PetscInt_FMT " smaller steps", pctype,
                     type, flow.bad, steps));
  PetscCall(HJTestDestroy(&ts, &u, &J, &flow.K, &flow.da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PCType      pcs[]   = {PCHJACOBI, PCHJMG};
  static const MatType     types[] = {MATAIJ, MATHJSTENCIL};
  static const Coefficient kinds[] = {CONSTANT, VARYING, CONVECTION};

  PetscCall(ProblemInitialize(&argc, &argv));
  for (int p = 0; p < 2; p++) {
    for (int t = 0; t < 2; t++) {
      for (int k = 0; k < 3; k++) {
        PetscCall(TestValues(pcs[p], types[t], kinds[k], 0, NAN));
        PetscCall(TestValues(pcs[p], types[t], kinds[k], 1, -INFINITY));
      }
      PetscCall(TestStepper(pcs[p], types[t]));
    }
    PetscCall(TestSolvers(pcs[p]));
    PetscCall(TestVectors(pcs[p], KSPGMRES));
    PetscCall(TestVectors(pcs[p], KSPRICHARDSON));
  }
  for (int t = 0; t < 2; t++) PetscCall(TestLevels(types[t]));
  PetscCall(TestShell());
  return HJTestEnd();
}

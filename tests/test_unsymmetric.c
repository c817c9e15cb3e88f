/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   PCHJMG with matrices that are unsymmetric. Rows scaled smoothly or by jumps are found and scaled back, and take at most one iteration
   more than the symmetric matrix; small skew parts cost next to none; a flow is not taken for a scale. Upwind convection takes few
   iterations whatever the Peclet number, is transposed exactly, and keeps its answer when new values begin or end to flow.
*/
#include "hjflow.h"
#include "hjcapture.h"

static PetscErrorCode TestScaled(const Flow *f, MatType type)
{
  Flow      symmetric = *f;
  KSP       ksp;
  PC        pc;
  PetscInt  its[2];
  PetscReal error[2];
  PetscBool scaled;

  PetscFunctionBegin;
  symmetric.symmetric = PETSC_TRUE;
  PetscCall(FlowSolve(&symmetric, type, PCHJMG, &ksp, &its[0], &error[0]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(FlowSolve(f, type, PCHJMG, &ksp, &its[1], &error[1]));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(ViewHolds(pc, "rows are scaled to be as symmetric as they can be", &scaled));
  PetscCall(HJTestOK((PetscBool)(scaled && its[1] <= its[0] + 1 && error[1] < HJTestDigits(1e-6)),
                     "%s, identity %g, %s: %" PetscInt_FMT " iterations, symmetric %" PetscInt_FMT ", error %g", FlowName(f),
                     (double)f->identity, type, its[1], its[0], (double)error[1]));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solver that finds a scale takes none of the options of the user's */
static PetscErrorCode TestQuiet(const Flow *f)
{
  KSP         ksp;
  PetscInt    its;
  PetscReal   error;
  const char *first;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-ksp_converged_reason", NULL));
  CollectBegin();
  PetscCall(FlowSolve(f, MATHJSTENCIL, PCHJMG, &ksp, &its, &error));
  CollectEnd();
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_converged_reason"));
  first = strstr(printed, "Linear");
  PetscCall(HJTestOK((PetscBool)(!first || !strstr(first + 1, "Linear")), "%s: one solver says how it ended", FlowName(f)));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows are not scaled, and take so many iterations at most */
static PetscErrorCode TestSkew(const Flow *f, PetscInt most)
{
  KSP       ksp;
  PC        pc;
  PetscInt  its;
  PetscReal error;
  PetscBool scaled;

  PetscFunctionBegin;
  PetscCall(FlowSolve(f, MATHJSTENCIL, PCHJMG, &ksp, &its, &error));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(ViewHolds(pc, "rows are scaled", &scaled));
  PetscCall(HJTestOK((PetscBool)(!scaled && its <= most && error < HJTestDigits(1e-5)), "%s: %" PetscInt_FMT " iterations, error %g",
                     FlowName(f), its, (double)error));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Convection: levels that flow, few iterations of GMRES, a transposed cycle that is one, and Richardson's own cycles, which are rotated */
static PetscErrorCode TestFlow(const Flow *f, MatType type, PetscInt most)
{
  KSP       ksp;
  PC        pc;
  Mat       A;
  Vec       u, v;
  DM        da;
  PetscInt  its;
  PetscReal error, difference = 0.0;
  PetscBool flows, agrees     = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(FlowSolve(f, type, PCHJMG, &ksp, &its, &error));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(ViewHolds(pc, "convection: equal weights", &flows));
  PetscCall(HJTestOK((PetscBool)(flows && its <= most && error < HJTestDigits(1e-5)), "%s, %s: %" PetscInt_FMT " iterations, error %g",
                     FlowName(f), type, its, (double)error));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatGetDM(A, &da));
  PetscCall(MatCreateVecs(A, &u, &v));
  PetscCall(ProblemVector(da, 2, u));
  PetscCall(ProblemVector(da, 3, v));
  PetscCall(AdjointAgrees(pc, PCApplyTranspose, u, v, HJTestDigits(1e-10), &agrees, &difference));
  PetscCall(HJTestOK(agrees, "%s, %s: the transposed cycle is the transpose, but for %g", FlowName(f), type, (double)difference));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solver's own cycles, rotated and not, from zero and not: each of them goes on where the other ended */
static PetscErrorCode TestRichardson(const Flow *f)
{
  KSP                ksp;
  Mat                A;
  Vec                x, b;
  DM                 da;
  PetscInt           its[2];
  PetscReal          relative[2];
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(FlowSolve(f, MATHJSTENCIL, PCHJMG, &ksp, &its[0], &relative[0]));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatGetDM(A, &da));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(ProblemVector(da, 4, b));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-4), 0.0, PETSC_DEFAULT, 100));
  PetscCall(ProblemSolve(ksp, A, b, x, &its[0], &reason, &relative[0]));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-4), 0.0, PETSC_DEFAULT, its[0]));
  PetscCall(ProblemSolve(ksp, A, b, x, &its[1], &reason, &relative[1]));
  PetscCall(HJTestOK((PetscBool)(relative[0] < HJTestDigits(1.01e-4) && relative[1] < HJTestDigits(1e-2) * relative[0]),
                     "%s: %" PetscInt_FMT " cycles leave %g of the residual, as many more, not rotated, %g", FlowName(f), its[0],
                     (double)relative[0], (double)relative[1]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One PC for values that flow more, less and not at all: as many iterations as a new one takes */
static PetscErrorCode TestRefresh(void)
{
  const Problem    p            = {2, {65, 49, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  static PetscReal strengths[4] = {1.0, 1e-4, 1e-2, 1e-6};
  DM               da;
  Mat              A;
  Vec              x, b;
  KSP              ksp[2];
  PC               pc;

  PetscFunctionBegin;
  PetscCall(ProblemDM(&p, &da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 4; i++) {
    PetscInt           its[2];
    PetscReal          relative;
    KSPConvergedReason reason;

    PetscCall(FillRows(da, FlowRow, &(Flow){FLOW_RECIRCULATING, 2, {65, 49, 1}, strengths[i], PETSC_FALSE, 0.0}, 0, INSERT_VALUES, A));
    for (int fresh = 0; fresh < 2; fresh++) {
      if (fresh || !i) {
        PetscCall(ProblemKSP(da, A, KSPGMRES, PCHJMG, &ksp[fresh], &pc));
        PetscCall(KSPSetTolerances(ksp[fresh], HJTestDigits(1e-8), 0.0, PETSC_DEFAULT, 100));
      }
      PetscCall(KSPSetOperators(ksp[fresh], A, A));
      PetscCall(ProblemSolve(ksp[fresh], A, b, x, &its[fresh], &reason, &relative));
    }
    PetscCall(HJTestOK((PetscBool)(reason > 0 && its[0] == its[1]),
                       "diffusion becomes %g: %" PetscInt_FMT " iterations, anew %" PetscInt_FMT, (double)strengths[i], its[0], its[1]));
    PetscCall(KSPDestroy(&ksp[1]));
  }
  PetscCall(KSPDestroy(&ksp[0]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const Flow scaled[] = {
    {FLOW_VOLUMES, 1, {120, 1, 1}, 1.08, PETSC_FALSE, 0.0},  {FLOW_VOLUMES, 2, {65, 49, 1}, 1.1, PETSC_FALSE, 0.0},
    {FLOW_VOLUMES, 2, {64, 48, 1}, 1.02, PETSC_FALSE, 1e-9}, {FLOW_VOLUMES, 2, {64, 48, 1}, 1.02, PETSC_FALSE, 1.0},
    {FLOW_VOLUMES, 2, {64, 48, 1}, 1.02, PETSC_FALSE, 1e9},  {FLOW_VOLUMES, 3, {17, 16, 13}, 1.15, PETSC_FALSE, 0.0},
    {FLOW_CENTRE, 2, {65, 65, 1}, 1e-3, PETSC_FALSE, 0.0},   {FLOW_CENTRE, 2, {129, 65, 1}, 1e3, PETSC_FALSE, 0.0},
    {FLOW_CENTRE, 3, {17, 17, 17}, 1e-6, PETSC_FALSE, 0.0},
  };
  int code;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(ProblemBackend());
  PetscCall(PCHJacobiInitializePackage());
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(scaled); i++) PetscCall(TestScaled(&scaled[i], i % 2 ? MATAIJ : MATHJSTENCIL));
  PetscCall(TestQuiet(&scaled[1]));
  PetscCall(TestSkew(&(Flow){FLOW_NEWTON, 2, {97, 97, 1}, 0.1, PETSC_FALSE, 0.0}, 8));
  PetscCall(TestSkew(&(Flow){FLOW_NEWTON, 2, {97, 97, 1}, 0.4, PETSC_FALSE, 0.0}, 10));
  PetscCall(TestSkew(&(Flow){FLOW_OPEN, 2, {65, 65, 1}, 1e-2, PETSC_FALSE, 0.0}, 8));
  PetscCall(TestSkew(&(Flow){FLOW_RECIRCULATING, 2, {65, 65, 1}, 1e-2, PETSC_FALSE, 0.0}, 8));
  for (int e = 0; e < 3; e++) {
    const PetscReal diffusion = (const PetscReal[]){1e-3, 1e-4, 1e-6}[e];

    PetscCall(TestFlow(&(Flow){FLOW_OPEN, 2, {65, 64, 1}, diffusion, PETSC_FALSE, 0.0}, e % 2 ? MATAIJ : MATHJSTENCIL, 12));
    PetscCall(
      TestFlow(&(Flow){FLOW_RECIRCULATING, 2, {65, 65, 1}, diffusion, PETSC_FALSE, 0.0}, e % 2 ? MATHJSTENCIL : MATAIJ, e ? 20 : 12));
    PetscCall(TestFlow(&(Flow){FLOW_OPEN, 3, {17, 16, 17}, diffusion, PETSC_FALSE, 0.0}, MATHJSTENCIL, 12));
  }
  PetscCall(TestFlow(&(Flow){FLOW_ALONG, 2, {65, 64, 1}, 1e-4, PETSC_FALSE, 0.0}, MATHJSTENCIL, 12));
  PetscCall(TestFlow(&(Flow){FLOW_OPEN, 1, {2000, 1, 1}, 1e-4, PETSC_FALSE, 0.0}, MATHJSTENCIL, 10));
  PetscCall(TestFlow(&(Flow){FLOW_CHECKERS, 1, {2000, 1, 1}, 0.45, PETSC_FALSE, 0.0}, MATHJSTENCIL, 12));
  PetscCall(TestFlow(&(Flow){FLOW_CHECKERS, 1, {1001, 1, 1}, -0.3, PETSC_FALSE, 0.0}, MATAIJ, 12));
  PetscCall(TestFlow(&(Flow){FLOW_CHECKERS, 2, {49, 48, 1}, 0.45, PETSC_FALSE, 0.0}, MATHJSTENCIL, 32));
  PetscCall(TestFlow(&(Flow){FLOW_OPEN, 2, {64, 65, 1}, 1e-4, PETSC_FALSE, 1.0}, MATHJSTENCIL, 16));
  PetscCall(TestFlow(&(Flow){FLOW_CELLS, 2, {97, 96, 1}, 1e-6, PETSC_FALSE, 0.0}, MATHJSTENCIL, 28));
  PetscCall(TestFlow(&(Flow){FLOW_LENS, 2, {97, 96, 1}, 1e-6, PETSC_FALSE, 0.0}, MATHJSTENCIL, 14));
  PetscCall(TestFlow(&(Flow){FLOW_EDDIES, 2, {96, 97, 1}, 1e-6, PETSC_FALSE, 0.0}, MATAIJ, 20));
  PetscCall(TestRichardson(&(Flow){FLOW_OPEN, 2, {65, 64, 1}, 1e-4, PETSC_FALSE, 0.0}));
  PetscCall(TestRefresh());
  code = HJTestDone();
  PetscCall(PetscFinalize());
  return code;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   PCHJMG with matrices that are unsymmetric though nothing flows: rows scaled smoothly or by jumps are found and scaled back, and take at
   most one iteration more than the symmetric matrix; small skew parts cost next to none; a flow is not taken for a scale.
*/
#include "hjflow.h"

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
  PetscCall(HJTestOK((PetscBool)(scaled && its[1] <= its[0] + 1 && error[1] < 1e-6),
                     "%s, identity %g, %s: %" PetscInt_FMT " iterations, symmetric %" PetscInt_FMT ", error %g", FlowName(f),
                     (double)f->identity, type, its[1], its[0], (double)error[1]));
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
  PetscCall(HJTestOK((PetscBool)(!scaled && its <= most && error < 1e-5), "%s: %" PetscInt_FMT " iterations, error %g", FlowName(f), its,
                     (double)error));
  PetscCall(KSPDestroy(&ksp));
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
  PetscCall(TestSkew(&(Flow){FLOW_NEWTON, 2, {97, 97, 1}, 0.1, PETSC_FALSE, 0.0}, 8));
  PetscCall(TestSkew(&(Flow){FLOW_NEWTON, 2, {97, 97, 1}, 0.4, PETSC_FALSE, 0.0}, 10));
  PetscCall(TestSkew(&(Flow){FLOW_OPEN, 2, {65, 65, 1}, 1e-2, PETSC_FALSE, 0.0}, 8));
  PetscCall(TestSkew(&(Flow){FLOW_RECIRCULATING, 2, {65, 65, 1}, 1e-2, PETSC_FALSE, 0.0}, 8));
  code = HJTestDone();
  PetscCall(PetscFinalize());
  return code;
}

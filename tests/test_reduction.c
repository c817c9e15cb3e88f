/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Bounds and k that are found for a solver (-pc_hjacobi_reduction), against the true spectrum and what a cycle leaves. ranks: 1 2 4
*/
#include "hjboundcase.h"

/* || (I - B A) x ||_D / || x ||_D, each less its part along the constants if these are A's null space */
static PetscErrorCode CycleReduction(PC pc, Mat A, DM da, PetscBool singular, PetscReal *reduction)
{
  Vec         x, d, y, r, one;
  PetscScalar dot, all, norm[2];

  PetscFunctionBegin;
  PetscCall(ProblemVectors(da, &x, &d, &y, &r, &one));
  PetscCall(ProblemVector(da, 5, x));
  PetscCall(VecShift(x, 0.5)); /* smooth parts are what takes many subiterations */
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(VecSet(one, 1));
  PetscCall(MatMult(A, x, r));
  PetscCall(PCApply(pc, r, y));
  PetscCall(VecAYPX(y, -1, x));
  for (int i = 0; i < 2; i++) {
    Vec e = i ? x : y;

    PetscCall(VecPointwiseMult(r, d, e));
    PetscCall(VecDot(r, one, &dot));
    PetscCall(VecDot(d, one, &all));
    if (singular) PetscCall(VecAXPY(e, -dot / all, one));
    PetscCall(VecPointwiseMult(r, d, e));
    PetscCall(VecDot(r, e, &norm[i]));
  }
  *reduction = PetscSqrtReal(norm[0] / norm[1]);
  PetscCall(HJTestDestroy(&x, &d, &y, &r, &one));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   emin is the least nonzero eigenvalue over 1.2, k the least for a hundredth, and a cycle reduces the error of a symmetric matrix by a
   hundredth (where columns lead to identity rows eigenvectors are not orthogonal, and a sum of them may shrink by less)
*/
static PetscErrorCode CheckReduction(const char *name, Mat A, DM da, PetscBool singular, PetscBool symmetric)
{
  PetscReal emax, emin, rho, least, reduction = 1;
  PetscInt  k;
  PC        pc;

  PetscFunctionBegin;
  PetscCall(NewPC(A, da, &pc));
  PetscCall(PCHJacobiSetReduction(pc, 0.01));
  PetscCall(PCSetUp(pc));
  PetscCall(PCHJacobiGetEigenvalues(pc, &emax, &emin));
  PetscCall(PCHJacobiGetK(pc, &k));
  PetscCall(Spectrum(A, PETSC_FALSE, &rho, &least));
  PetscCall(CycleReduction(pc, A, da, singular, &reduction));
  PetscCall(HJTestOK((PetscBool)(PetscAbsReal(1.2 * emin - least) <= HJTestDigits(1e-6) * least),
                     "%s: emin %g, the least eigenvalue %g over 1.2", name, (double)emin, (double)least));
  PetscCall(HJTestOK((PetscBool)(HJScheduleReduction(k, emin, emax) <= 0.01 && (k == 1 || HJScheduleReduction(k - 1, emin, emax) > 0.01) &&
                                 (!symmetric || reduction <= 0.01)),
                     "%s: a cycle of the least k, %d, reduces the error to %g", name, (int)k, (double)reduction));
  PetscCall(HJTestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestReduction(void)
{
  const Problem poisson = {2, {17, 17, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, cube = {3, {6, 7, 5}, DIRICHLET, VARYING, PETSC_TRUE},
                neumann = {2, {15, 17, 1}, NEUMANN, JUMP, PETSC_FALSE}, periodic = {3, {6, 6, 6}, PERIODIC, CONSTANT, PETSC_FALSE},
                identity    = {2, {16, 17, 1}, IDENTITY, JUMP, PETSC_FALSE};
  const Problem *problems[] = {&poisson, &cube, &neumann, &periodic, &identity};
  char           name[64];
  DM             da;
  Mat            A;

  PetscFunctionBegin;
  for (int i = 0; i < 5; i++) {
    const Problem *p = problems[i];

    PetscCall(ProblemCreate(p, &da, &A));
    PetscCall(PetscSNPrintf(name, sizeof(name), "reduction, %dD %s %s", (int)p->dim, BoundaryNames()[p->boundary],
                            CoefficientNames()[p->coefficient]));
    PetscCall(
      CheckReduction(name, A, da, (PetscBool)(p->boundary == NEUMANN || p->boundary == PERIODIC), (PetscBool)(p->boundary != IDENTITY)));
  }
  PetscCall(CreateJump(2, 33, 100, &da, &A));
  PetscCall(Coarsen(&da, &A));
  PetscCall(CheckReduction("reduction, Galerkin grid of a jump", A, da, PETSC_FALSE, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where CG meets an indefinite matrix its last step is not a whole one: emin and k are those of the steps before, the same on all ranks */
static PetscErrorCode TestReductionIndefinite(void)
{
  const Problem square = {2, {33, 33, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  PetscReal     emax, emin[2], least, range[2];
  PetscInt      k[2];
  PetscBool     same = PETSC_TRUE;
  DM            da;
  Mat           A;
  PC            pc;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&square, &da, &A));
  PetscCall(MatShift(A, -0.1));
  for (int i = 0; i < 2; i++) {
    PetscCall(NewPC(A, da, &pc));
    PetscCall(PCHJacobiSetReduction(pc, 0.01));
    PetscCall(PCSetUp(pc));
    PetscCall(PCHJacobiGetEigenvalues(pc, &emax, &emin[i]));
    PetscCall(PCHJacobiGetK(pc, &k[i]));
    range[0] = emin[i];
    range[1] = -emin[i];
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, range, 2, MPIU_REAL, MPI_MAX, PETSC_COMM_WORLD));
    same = (PetscBool)(same && range[0] == -range[1]);
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(Spectrum(A, PETSC_FALSE, &range[0], &least));
  PetscCall(HJTestOK((PetscBool)(same && emin[0] == emin[1] && k[0] == k[1] && emin[0] > 0),
                     "reduction, an indefinite matrix: emin %g and k = %d on all ranks, in each set-up (the least eigenvalue is %g)",
                     (double)emin[0], (int)k[0], (double)least));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The option, its getter; more than 1024 subiterations; another schedule; and k as it was set once the reduction is off */
static PetscErrorCode TestReductionOption(void)
{
  const Problem line = {1, {600, 1, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  PetscReal     reduction;
  PetscInt      k[2];
  PetscBool     holds;
  DM            da;
  Mat           A;
  PC            pc;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&line, &da, &A));
  PetscCall(NewPC(A, da, &pc));
  PetscCall(PCSetOptionsPrefix(pc, "solver_"));
  PetscCall(PetscOptionsInsertString(NULL, "-solver_pc_hjacobi_reduction 0.01"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCHJacobiGetReduction(pc, &reduction));
  PetscCall(PCHJacobiGetK(pc, &k[0]));
  PetscCall(ViewHolds(pc, "asked for 0.01 (k found, emin: least Ritz value over 1.2)", &holds));
  PetscCall(PCHJacobiSetReduction(pc, 0));
  PetscCall(PCSetUp(pc));
  PetscCall(PCHJacobiGetK(pc, &k[1]));
  PetscCall(HJTestOK((PetscBool)(reduction == (PetscReal)0.01 && k[0] == 1024 && holds && k[1] == 4),
                     "-pc_hjacobi_reduction: k at most 1024, %d, and as set when it is off, %d", (int)k[0], (int)k[1]));
  PetscCall(PCHJacobiSetReduction(pc, 0.01));
  PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_JACOBI));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  k[0] = PCSetUp(pc);
  k[1] = PCHJacobiSetReduction(pc, 1);
  PetscCall(PetscPopErrorHandler());
  PetscCall(HJTestOK((PetscBool)(k[0] == PETSC_ERR_ARG_INCOMP && k[1] == PETSC_ERR_ARG_OUTOFRANGE), "refused: another schedule, 1"));
  PetscCall(HJTestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The option file as it is, on the coarsest Galerkin grid of a jump: no more iterations than with its factors; and where 1024
   subiterations are too few, it converges
*/
static PetscErrorCode TestCoarseSweeps(void)
{
  DM                 da;
  Mat                A;
  KSPConvergedReason reason[2];
  PetscInt           its[2];

  PetscFunctionBegin;
  PetscCall(
    PetscOptionsInsertString(NULL,
                             "-factors_mg_levels_ksp_type richardson -factors_mg_levels_pc_type hjacobi -factors_mg_levels_ksp_max_it 1 "
                             "-sweeps_mg_levels_ksp_type richardson -sweeps_mg_levels_pc_type hjacobi -sweeps_mg_levels_ksp_max_it 1"));
  PetscCall(PetscOptionsPrefixPush(NULL, "sweeps_"));
  PetscCall(PetscOptionsInsertFile(PETSC_COMM_WORLD, NULL, "config/options/coarse-sweeps.opts", PETSC_TRUE));
  PetscCall(PetscOptionsPrefixPop(NULL));
  for (PetscReal contrast = 1; contrast <= CONTRAST; contrast *= 100) {
    PetscCall(CreateJump(2, 65, contrast, &da, &A));
    PetscCall(Multigrid(da, A, 3, "factors_", &its[0], &reason[0]));
    PetscCall(Multigrid(da, A, 3, "sweeps_", &its[1], &reason[1]));
    PetscCall(HJTestOK((PetscBool)(reason[0] > 0 && reason[1] > 0 && (contrast == CONTRAST || its[1] <= its[0])),
                       "coarse-sweeps.opts, contrast %g: %d iterations, by factors %d", (double)contrast, (int)its[1], (int)its[0]));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(BoundBegin(&argc, &argv));
  PetscCall(TestReduction());
  PetscCall(TestReductionIndefinite());
  PetscCall(TestReductionOption());
  PetscCall(TestCoarseSweeps());
  return HJTestEnd();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Slabs inside PCHJACOBI and KSP: stop tests, restarts, levels of PCMG, what the view and the monitor say, memory that is not pinned. The
   device is the fake of test_slab.c, which is put into the PC after set-up.
   ranks: 1 2
*/
#define _GNU_SOURCE
#include "pc/hjpc.h"
#include "hjproblem.h"
#include "hjcapture.h"
#include "hjfakedevice.h"

static PCHJacobiSlabType slab_type;

/* From now on the cycles of this PC, which is set up on the host, are swept in slabs, of a memory that holds a share of what they need */
static PetscErrorCode UseSlabs(PC pc, PetscInt height)
{
  HJOperator  *op    = ((PC_HJacobi *)pc->data)->op;
  const size_t share = HJSlabsInCoreBytes(&op->grid, op->stencil) / (slab_type == PC_HJACOBI_SLAB_PYRAMID ? 1 : 2);

  PetscFunctionBegin;
  fake_memory = (size_t)1 << 40;
  PetscCall(HJOperatorSetSlabs(op, &FakeOps, share + 20 * FAKE_GRANULARITY, slab_type, height));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewKSP(DM da, Mat A, const char *options, PetscInt height, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(ProblemKSP(da, A, KSPRICHARDSON, PCHJACOBI, ksp, &pc));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPSetUp(*ksp));
  if (height) PetscCall(UseSlabs(pc, height));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With a stop test: as many cycles as at once, the same x, but for the first cycle from zero, which slabs do as any other */
static PetscErrorCode TestStop(DM da, Mat A, const char *norm, PetscInt every, PetscBool nonzero)
{
  KSP       ksp;
  Vec       b, x[2];
  PetscInt  its[2];
  PetscBool same = PETSC_FALSE;
  PetscReal diff;
  char      options[256];

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(PetscSNPrintf(options, sizeof(options), "-ksp_rtol 1e-2 -ksp_max_it 500 -pc_hjacobi_check_every %d %s", (int)every, norm));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDuplicate(b, &x[i]));
    PetscCall(ProblemVector(da, 2, x[i]));
    PetscCall(NewKSP(da, A, options, i ? PETSC_DECIDE : 0, &ksp));
    PetscCall(KSPSetInitialGuessNonzero(ksp, nonzero));
    PetscCall(KSPSolve(ksp, b, x[i]));
    PetscCall(KSPGetIterationNumber(ksp, &its[i]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecsAgree(x[1], x[0], 64 * PETSC_MACHINE_EPSILON * its[0] * 4, &same, &diff));
  PetscCall(HJTestOK((PetscBool)(same && its[0] == its[1] && its[0] > every && its[0] < 500 && !fake_pins),
                     "solve, %s, every %d, %s guess: %d cycles, at once %d (%g)", norm, (int)every, nonzero ? "nonzero" : "zero",
                     (int)its[1], (int)its[0], (double)diff));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve that is cut off and started again from its x: the x of one that goes on */
static PetscErrorCode TestRestart(DM da, Mat A, PetscInt height)
{
  KSP       ksp;
  Vec       b, x[2];
  PetscBool same = PETSC_FALSE;
  PetscReal diff;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDuplicate(b, &x[i]));
    for (int part = 0; part <= i; part++) { /* another process would read x from a file */
      PetscCall(NewKSP(da, A, "", height, &ksp));
      PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
      PetscCall(KSPSetInitialGuessNonzero(ksp, (PetscBool)(part > 0)));
      PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, !i ? 29 : part ? 18 : 11));
      PetscCall(KSPSolve(ksp, b, x[i]));
      PetscCall(KSPDestroy(&ksp));
    }
  }
  PetscCall(VecsAgree(x[1], x[0], 0, &same, &diff));
  PetscCall(HJTestOK(same, "restart after 11 of 29 cycles, height %d: the same x (%g)", (int)height, (double)diff));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The smoother of the levels of PCMG */
static PetscErrorCode TestLevels(DM da, Mat A)
{
  KSP       ksp, smoother;
  PC        pc, inner;
  Vec       b, x[2];
  PetscInt  its[2], levels;
  PetscBool same = PETSC_FALSE, slabs = PETSC_FALSE;
  PetscReal diff;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(PetscOptionsInsertString(NULL, "-l_pc_type mg -l_pc_mg_levels 2 -l_pc_mg_galerkin both -l_mg_levels_ksp_type richardson "
                                           "-l_mg_levels_ksp_max_it 2 -l_mg_levels_pc_type hjacobi -l_ksp_rtol 1e-8"));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDuplicate(b, &x[i]));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, "l_"));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetDM(pc, da));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSetUp(ksp));
    PetscCall(PCMGGetLevels(pc, &levels));
    PetscCall(PCMGGetSmoother(pc, levels - 1, &smoother));
    PetscCall(KSPGetPC(smoother, &inner));
    PetscCall(KSPSetUp(smoother));
    if (i) {
      PetscCall(UseSlabs(inner, 5));
      PetscCall(ViewHolds(inner, "slabs: swept by fake", &slabs));
    }
    PetscCall(KSPSolve(ksp, b, x[i]));
    PetscCall(KSPGetIterationNumber(ksp, &its[i]));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(VecsAgree(x[1], x[0], 0, &same, &diff));
  PetscCall(HJTestOK((PetscBool)(same && slabs && its[0] == its[1] && its[0] > 1),
                     "smoother of PCMG's finest level: %d iterations, at once %d (%g)", (int)its[1], (int)its[0], (double)diff));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A run says how far it is: lines that count up, of its total; then what the run took. The view says what was chosen */
static PetscErrorCode TestMonitor(DM da, Mat A)
{
  KSP         ksp;
  PC          pc;
  PC_HJacobi *hj;
  Vec         b, x;
  PetscMPIInt rank, size;
  PetscInt    lines = 0, wrong = 0, ends = 0;
  int         done = 0, total, last = 0;
  double      time, left;
  PetscBool   holds[5];
  char        type[16];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(NewKSP(da, A, "", 4, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  hj          = (PC_HJacobi *)pc->data;
  hj->monitor = PETSC_TRUE;
  for (int quick = 0; quick < 2; quick++) {
    const PetscScalar *ba;
    PetscScalar       *xa;

    CollectBegin();
    if (!quick) PetscCall(PCApplyRichardson(pc, b, x, x, 0, 0, 0, 10, PETSC_TRUE, &wrong, (PCRichardsonConvergedReason *)&total));
    else {
      PetscCall(HJSlabsSetProgress(hj->op->slabs, 0)); /* as in a run so long that a line is due after each round */
      PetscCall(VecGetArrayRead(b, &ba));
      PetscCall(VecGetArray(x, &xa));
      PetscCall(HJSlabsRun(hj->op->slabs, &hj->w, 40, PETSC_FALSE, ba, xa, NULL, &(PetscCount){0}));
      PetscCall(VecRestoreArray(x, &xa));
      PetscCall(VecRestoreArrayRead(b, &ba));
    }
    CollectEnd();
    for (char *line = strtok(printed, "\n"); line; line = strtok(NULL, "\n")) {
      if (sscanf(line, "hjacobi slabs %d of %d subiterations, time %lf s, about %lf s left", &done, &total, &time, &left) == 4) {
        if (!quick || total != 40 || done <= last || done >= 40 || time < 0 || left < 0) ends = 100;
        last = done;
        lines++;
      } else if (sscanf(line, "hjacobi %15s %d subiterations, 4 a visit, time %lf s, predicted %lf s", type, &done, &time, &left) == 4)
        ends += !strcmp(type, slab_type == PC_HJACOBI_SLAB_PYRAMID ? "pyramids" : "slabs");
    }
  }
  PetscCall(HJTestOK((PetscBool)(rank || (ends == 1 && lines == 9)),
                     "monitor: %d lines of a short run, %d of one whose ten rounds are long", (int)ends, (int)lines));
  PetscCall(ViewHolds(pc, "4 subiterations a visit", &holds[0]));
  PetscCall(ViewHolds(pc, "slabs: 80 subiterations so far, ", &holds[1]));
  PetscCall(ViewHolds(pc, slab_type == PC_HJACOBI_SLAB_PYRAMID ? "planes a pyramid" : "planes a skewed slab", &holds[4]));
  PetscCall(ViewHolds(pc, "slabs: on each rank, after a halo of depth 4", &holds[2]));
  PetscCall(ViewHolds(pc, "halo: depth", &holds[3]));
  PetscCall(HJTestOK((PetscBool)(rank || (holds[0] && holds[1] && holds[2] == (size > 1) && !holds[3] && holds[4])),
                     "view: what was chosen, the time"));
  PetscCall(HJTestDestroy(&ksp, &b, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays stay pinned during a solve, and no longer; without a pin copies are the same */
static PetscErrorCode TestPin(DM da, Mat A)
{
  KSP       ksp;
  Vec       b, x[2];
  PetscBool same = PETSC_FALSE;
  PetscReal diff;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDuplicate(b, &x[i]));
    fake_pageable = (PetscBool)i;
    PetscCall(NewKSP(da, A, "-ksp_norm_type none -ksp_max_it 12", 6, &ksp));
    PetscCall(KSPSolve(ksp, b, x[i]));
    PetscCall(KSPDestroy(&ksp));
    fake_pageable = PETSC_FALSE;
  }
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_norm_type"));
  PetscCall(VecsAgree(x[1], x[0], 0, &same, &diff));
  PetscCall(HJTestOK((PetscBool)(same && !fake_pins && !fake_used), "memory that is not pinned: the same x (%g)", (double)diff));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the matrix reach slabs that are there */
static PetscErrorCode TestRefresh(const Problem *p)
{
  DM        da;
  Mat       A;
  KSP       ksp;
  PC        pc;
  Vec       b, x[2];
  PetscBool same = PETSC_FALSE, slabs = PETSC_FALSE;
  PetscReal diff;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(p, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDuplicate(b, &x[i]));
    PetscCall(NewKSP(da, A, "-ksp_norm_type none -ksp_max_it 9", i ? 0 : 5, &ksp));
    if (!i) {
      PetscCall(KSPSolve(ksp, b, x[i]));
      PetscCall(MatZeroEntries(A));
      PetscCall(ProblemFill(p, da, 3, A));
    }
    PetscCall(KSPSolve(ksp, b, x[i]));
    PetscCall(KSPGetPC(ksp, &pc));
    if (!i) PetscCall(ViewHolds(pc, "slabs: swept by fake", &slabs));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_norm_type"));
  PetscCall(VecsAgree(x[0], x[1], 0, &same, &diff));
  PetscCall(HJTestOK((PetscBool)(same && slabs), "new values in the matrix (%g)", (double)diff));
  PetscCall(HJTestDestroy(&x[0], &x[1], &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Problem problems[] = {{3, {33, 31, 41}, DIRICHLET, VARYING, PETSC_FALSE}, {2, {65, 129, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}};

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  for (int i = 0; i < 2; i++) {
    DM  da;
    Mat A;

    slab_type = i ? PC_HJACOBI_SLAB_PYRAMID : PC_HJACOBI_SLAB_SKEWED;
    PetscCall(ProblemStrips(3, PETSC_FALSE));
    PetscCall(ProblemStrips(problems[i].dim, (PetscBool)i));
    PetscCall(ProblemCreate(&problems[i], &da, &A));
    PetscCall(TestRestart(da, A, i ? 7 : PETSC_DECIDE));
    PetscCall(TestPin(da, A));
    PetscCall(TestMonitor(da, A));
    PetscCall(TestLevels(da, A));
    PetscCall(TestStop(da, A, "-pc_hjacobi_check_norm update_max", 3, PETSC_FALSE));
    PetscCall(TestStop(da, A, "-pc_hjacobi_check_norm ksp -ksp_norm_type unpreconditioned", 2, PETSC_TRUE));
    PetscCall(PetscOptionsClearValue(NULL, "-ksp_norm_type"));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    PetscCall(TestRefresh(&problems[i]));
  }
  return HJTestEnd();
}

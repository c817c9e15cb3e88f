/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 */
/*
   What watches a solve: -pc_hjacobi_verify against a backend that is wrong in one value, -pc_hjacobi_monitor, the warning about
   KSPCHEBYSHEV; and cycles that are too many for 32 bits. Looks inside the PC, to put such a backend there.
*/
#include "pc/hjpc.h"
#include "hjproblem.h"
#include "hjcapture.h"

/* The table of the backend in use, but for its sweep */
static const HJBackendOps *right;
static HJBackendOps        other;
static PetscScalar         spoiled; /* 0: nothing */
static PetscCount          swept;   /* subiterations */

static PetscErrorCode SpoilingSweep(void *ctx, PetscInt n, const HJSweep s[])
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(right->sweep(ctx, n, s));
  if (!rank && spoiled != 0.0) PetscCall(right->copy(ctx, s[0].y, &spoiled, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountingSweep(void *ctx, PetscInt n, const HJSweep s[])
{
  PetscFunctionBegin;
  swept += s[0].count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Substitute(PC pc, PetscErrorCode (*sweep)(void *, PetscInt, const HJSweep[]))
{
  HJOperator *op = ((PC_HJacobi *)pc->data)->op;

  PetscFunctionBegin;
  right       = op->ops;
  other       = *right;
  other.sweep = sweep;
  other.name  = "substitute";
  op->ops     = &other;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One apply and one cycle of KSPRICHARDSON; whether both fail, with the words, or (NULL) neither */
static PetscErrorCode TestBoth(PC pc, Vec b, Vec x, Vec w, const char *words, const char *name)
{
  PetscBool                   ok = PETSC_TRUE;
  PetscInt                    its;
  PCRichardsonConvergedReason reason;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    PetscBool failed;

    CaptureError(i ? PCApplyRichardson(pc, b, x, w, 0, 0, 0, 2, PETSC_TRUE, &its, &reason) : PCApply(pc, b, x), &failed);
    ok = (PetscBool)(ok && (words ? failed && strstr(message, words) : !failed));
  }
  PetscCall(HJTestOK(ok, "%s%s%s", name, words ? ": " : "", message));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestVerify(DM da, Mat A)
{
  PC          pc;
  Vec         b, x, w;
  PetscBool   holds;
  PC_HJacobi *hj;

  PetscFunctionBegin;
  PetscCall(ProblemVectors(da, &b, &x, &w));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(ProblemPC(da, A, PCHJACOBI, &pc));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  hj = (PC_HJacobi *)pc->data;
  PetscCall(Substitute(pc, SpoilingSweep));
  spoiled = 1e-3;
  PetscCall(TestBoth(pc, b, x, w, NULL, "not asked for: a wrong value passes"));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_hjacobi_verify", NULL));
  PetscCall(PCSetFromOptions(pc));
  spoiled = 0.0;
  PetscCall(TestBoth(pc, b, x, w, NULL, "verify, asked for after set-up: the same values pass"));
  PetscCall(HJTestOK((PetscBool)(hj->host != NULL && hj->op->ops == &other), "... beside the operator that was there"));
  PetscCall(ViewHolds(pc, "verify: every cycle is compared with the host", &holds));
  PetscCall(HJTestOK(holds, "... and the view says so"));
  spoiled = 1e-3;
  PetscCall(TestBoth(pc, b, x, w, "substitute and host differ by", "verify: a wrong value"));
  spoiled = NAN;
  PetscCall(TestBoth(pc, b, x, w, "no finite number", "verify: NaN of the backend alone"));
  spoiled = INFINITY;
  PetscCall(TestBoth(pc, b, x, w, "no finite number", "verify: infinity of the backend alone"));
  spoiled = 0.0;
  PetscCall(VecDestroy(&b)); /* the errors above have left it locked for reading */
  PetscCall(VecDuplicate(x, &b));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(VecSetValue(b, 3, NAN, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(TestBoth(pc, b, x, w, NULL, "verify: NaN in the right-hand side is no error of the backend"));
  spoiled = 1e-3;
  PetscCall(TestBoth(pc, b, x, w, "-pc_hjacobi_verify", "... which does not hide a wrong value"));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_hjacobi_verify", "0"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(TestBoth(pc, b, x, w, NULL, "no longer asked for: a wrong value passes"));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjacobi_verify"));
  spoiled = 0.0;
  PetscCall(HJTestDestroy(&pc, &b, &x, &w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A line for each test, with the norm that the KSP keeps */
static PetscErrorCode TestMonitor(DM da, Mat A)
{
  KSP              ksp;
  PC               pc;
  Vec              b, x;
  PetscInt         its, n, lines = 0, wrong = 0;
  const PetscReal *history;
  PetscMPIInt      rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_hjacobi_monitor", NULL));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-3), PETSC_DEFAULT, PETSC_DEFAULT, 1000));
  PetscCall(KSPSetResidualHistory(ksp, NULL, 1000, PETSC_TRUE));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetType(pc, PCHJACOBI));
  PetscCall(KSPSetFromOptions(ksp));
  CollectBegin();
  PetscCall(KSPSolve(ksp, b, x));
  CollectEnd();
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjacobi_monitor"));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetResidualHistory(ksp, &history, &n));
  for (char *line = strtok(printed, "\n"); line; line = strtok(NULL, "\n")) {
    int    cycle;
    double norm, time;

    if (sscanf(line, "hjacobi cycle %d norm %lf time %lf s", &cycle, &norm, &time) != 3 || cycle != lines || time < 0 || lines >= n ||
        !(PetscAbsReal(norm - history[lines]) <= HJTestDigits(1e-11) * history[lines]))
      wrong++;
    lines++;
  }
  PetscCall(HJTestOK((PetscBool)(rank || (!wrong && lines == its + 1 && n == lines)),
                     "monitor: a line with norm and time for each of %d tests", (int)its + 1));
  PetscCall(KSPSetType(ksp, KSPCG)); /* two solves */
  CollectBegin();
  for (int i = 0; i < 2; i++) PetscCall(KSPSolve(ksp, b, x));
  CollectEnd();
  PetscCall(
    HJTestOK((PetscBool)(rank || (strstr(printed, "this KSP is cg; use -ksp_monitor") && !strstr(strchr(printed, '\n') + 1, "hjacobi"))),
             "under CG the monitor says once that it says nothing"));
  PetscCall(HJTestDestroy(&ksp, &b, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestInside(DM da, Mat A, KSPType type, PetscInt k, PetscBool said)
{
  const char *words = "-mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1";
  KSP         ksp;
  PC          pc;
  Vec         b, x;
  PetscBool   holds[2], info;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(ProblemKSP(da, A, type, PCHJACOBI, &ksp, &pc));
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 2));
  PetscCall(PCHJacobiSetK(pc, k));
  PetscCall(KSPSetFromOptions(ksp));
  CollectInfo(KSPSolve(ksp, b, x));
  info = rank ? said : (PetscBool)(strstr(printed, words) != NULL);
  PetscCall(ViewHolds(pc, said ? words : "schedule:", &holds[0]));
  PetscCall(KSPSetType(ksp, said ? KSPCG : KSPCHEBYSHEV));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(ViewHolds(pc, said || k == 1 ? "schedule:" : words, &holds[1]));
  PetscCall(HJTestOK((PetscBool)(holds[0] && holds[1] && info == said), "%s around k = %d: the view and -info %s", type, (int)k,
                     said ? "name the cure" : "say nothing of it"));
  PetscCall(HJTestDestroy(&ksp, &b, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ComputeOperators(KSP ksp, Mat A, Mat P, void *ctx)
{
  DM da;

  PetscFunctionBegin;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(ProblemFill((const Problem *)ctx, da, 0, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCMG's own choice of KSP on its levels */
static PetscErrorCode TestMultigrid(void)
{
  Problem   p = {2, {33, 33, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM        da;
  KSP       ksp;
  PC        pc;
  Vec       b, x;
  PetscBool holds;

  PetscFunctionBegin;
  PetscCall(ProblemDM(&p, &da));
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(
    PetscOptionsInsertString(NULL,
                             "-inside_pc_type mg -inside_pc_mg_levels 2 -inside_pc_mg_galerkin both -inside_mg_levels_pc_type hjacobi"));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "inside_"));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(KSPSetComputeOperators(ksp, ComputeOperators, &p));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(ViewHolds(pc, "inside KSPCHEBYSHEV, a polynomial of this polynomial", &holds));
  PetscCall(HJTestOK(holds, "-mg_levels_pc_type hjacobi alone: the view names the cure"));
  PetscCall(HJTestDestroy(&ksp, &b, &x, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EventInfo(PetscEventPerfInfo *info)
{
  PetscLogEvent event;

  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId("PCHJacobiCycle", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What -log_view shows of a cycle; vectors on the host, so that those of a GPU are copied. Between ranks PetscSF may copy what it sends,
   and logs that too */
static PetscErrorCode TestLog(DM da, Mat A)
{
  PC                          pc;
  Vec                         b, x, w;
  PetscInt                    n, its;
  PetscBool                   copied = PETSC_TRUE;
  PetscMPIInt                 size;
  PetscEventPerfInfo          before, zero, guess;
  PCRichardsonConvergedReason reason;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(VecCreateMPI(PETSC_COMM_WORLD, n, PETSC_DETERMINE, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &w));
  PetscCall(VecSet(b, 1.0));
  PetscCall(VecSet(x, 1.0));
  PetscCall(ProblemPC(da, A, PCHJACOBI, &pc));
  PetscCall(PCHJacobiSetK(pc, 5));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscCall(EventInfo(&before));
  PetscCall(PCApply(pc, b, x));
  PetscCall(EventInfo(&zero));
  PetscCall(PCApplyRichardson(pc, b, x, w, 0, 0, 0, 3, PETSC_FALSE, &its, &reason));
  PetscCall(EventInfo(&guess));
  PetscCall(HJTestOK((PetscBool)(zero.count == before.count + 1 && guess.count == zero.count + 1), "log: an event for each call"));
  PetscCall(HJTestOK((PetscBool)(zero.flops - before.flops == (14.0 * 4 + 2) * n && guess.flops - zero.flops == 14.0 * 15 * n),
                     "log: 14 flops a point and subiteration of 5 points, 2 for the first from zero"));
#if PetscDefined(HAVE_DEVICE)
  if (PetscMemTypeDevice(((PC_HJacobi *)pc->data)->op->ops->mtype)) {
    const PetscLogDouble bytes   = n * sizeof(PetscScalar);
    const PetscLogDouble more[4] = {zero.CpuToGpuSize - before.CpuToGpuSize - bytes, zero.GpuToCpuSize - before.GpuToCpuSize - bytes,
                                    guess.CpuToGpuSize - zero.CpuToGpuSize - 2 * bytes, guess.GpuToCpuSize - zero.GpuToCpuSize - bytes};

    for (int i = 0; i < 4; i++) copied = (PetscBool)(copied && more[i] >= 0 && (more[i] == 0 || size > 1));
  } else copied = (PetscBool)(guess.CpuToGpuSize == before.CpuToGpuSize && guess.GpuToCpuSize == before.GpuToCpuSize);
#endif
  PetscCall(HJTestOK(copied, "log: bytes that are copied to the GPU and back"));
  PetscCall(HJTestDestroy(&pc, &b, &x, &w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FifthFails(Mat S, Vec x, Vec y)
{
  PetscFunctionBegin;
  swept++;
  PetscCheck(swept < 5, PETSC_COMM_WORLD, PETSC_ERR_USER, "enough");
  PetscCall(VecCopy(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OnesDiagonal(Mat S, Vec d)
{
  PetscFunctionBegin;
  PetscCall(VecSet(d, 1.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 2^22 cycles of 1024 subiterations: 2^32, which 32 bits take for none */
static PetscErrorCode TestMany(DM da, Mat A)
{
  PC                          pc;
  Vec                         b, x, w;
  Mat                         S;
  PetscInt                    n, N, its;
  PetscMPIInt                 size;
  PetscBool                   failed;
  PCRichardsonConvergedReason reason;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ProblemVectors(da, &b, &x, &w));
  PetscCall(VecSet(b, 1.0));
  for (int shell = size > 1; shell < 2; shell++) { /* a sweep that only counts is quick where passes are long: on one rank */
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetType(pc, PCHJACOBI));
    PetscCall(PCHJacobiSetK(pc, 1024));
    PetscCall(PCHJacobiSetEigenvalues(pc, 2.0, 0.1));
    PetscCall(PCSetFromOptions(pc));
    swept = 0;
    if (!shell) {
      HJLimits *limits;

      PetscCall(PCSetOperators(pc, A, A));
      PetscCall(PCSetDM(pc, da));
      PetscCall(PCSetUp(pc));
      PetscCall(Substitute(pc, CountingSweep));
      limits             = &((PC_HJacobi *)pc->data)->op->limits;
      limits->best_count = limits->max_count = PETSC_INT_MAX;
      PetscCall(PCApplyRichardson(pc, b, x, w, 0, 0, 0, 1 << 22, PETSC_TRUE, &its, &reason));
      PetscCall(HJTestOK((PetscBool)(swept == (PetscCount)1 << 32), "2^22 cycles of 1024: all are swept"));
    } else {
      PetscCall(VecGetLocalSize(b, &n));
      PetscCall(VecGetSize(b, &N));
      PetscCall(MatCreateShell(PETSC_COMM_WORLD, n, n, N, N, NULL, &S));
      PetscCall(MatShellSetOperation(S, MATOP_MULT, (void (*)(void))FifthFails));
      PetscCall(MatShellSetOperation(S, MATOP_GET_DIAGONAL, (void (*)(void))OnesDiagonal));
      PetscCall(PCSetOperators(pc, S, S));
      PetscCall(PCSetUp(pc));
      CaptureError(PCApplyRichardson(pc, b, x, w, 0, 0, 0, 1 << 22, PETSC_FALSE, &its, &reason), &failed);
      PetscCall(HJTestOK((PetscBool)(failed && swept == 5), "2^22 cycles of 1024 through MatMult(): they begin"));
      PetscCall(MatDestroy(&S));
    }
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(HJTestDestroy(&b, &x, &w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem p = {2, {30, 26, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  DM      da;
  Mat     A;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemBackend());
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(TestVerify(da, A));
  PetscCall(TestMonitor(da, A));
  PetscCall(TestInside(da, A, KSPCHEBYSHEV, 4, PETSC_TRUE));
  PetscCall(TestInside(da, A, KSPCHEBYSHEV, 1, PETSC_FALSE));
  PetscCall(TestInside(da, A, KSPRICHARDSON, 4, PETSC_FALSE));
  PetscCall(TestMultigrid());
  PetscCall(TestLog(da, A));
  PetscCall(TestMany(da, A));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  return HJTestEnd();
}

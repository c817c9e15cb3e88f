/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   Choice of the halo's transport: what auto takes and says, what a transport that cannot be says, the same answer by each, of the
   smoother and of stencil matrices. More ranks than GPUs must work.
*/
#include "hjproblem.h"
#include "hjcapture.h"
#include "operator/hjoperator.h"
#include "operator/hjmove.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/backend/hjcuda.h"
#endif

static PetscErrorCode NewPC(DM da, Mat A, PCHJacobiExchange exchange, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetDM(*pc, da));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetType(*pc, PCHJACOBI));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCHJacobiSetExchange(*pc, exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the view says about the halo, the same on every rank; empty where there is none */
static PetscErrorCode HaloLine(PC pc, char line[], int len)
{
  FILE       *f = tmpfile();
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCheck(f, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "No temporary file");
  PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_WORLD, f, &viewer));
  PetscCall(PCView(pc, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  rewind(f);
  while (fgets(line, len, f) && !strstr(line, "halo:")) {}
  if (!strstr(line, "halo:")) line[0] = 0;
  line[strcspn(line, "\n")] = 0;
  fclose(f);
  PetscCallMPI(MPI_Bcast(line, len, MPI_CHAR, 0, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Three cycles from a nonzero guess and one from zero against the definition; the tolerance is that of 3 times k = 6 subiterations */
static PetscErrorCode TestAnswer(DM da, Mat A, PC pc, const char *name)
{
  Vec              b, x, y;
  PetscInt         k, its = 3, done;
  const PetscReal *w;
  PetscBool        agree = PETSC_FALSE;
  PetscReal        difference;

  PCRichardsonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(ProblemVector(da, 2, x));
  PetscCall(VecCopy(x, y));
  PetscCall(PCHJacobiGetWeights(pc, &k, &w));
  PetscCall(PCApplyRichardson(pc, b, x, y, 0, 0, 0, its, PETSC_FALSE, &done, &reason));
  PetscCall(ProblemVector(da, 2, y));
  PetscCall(NaiveCycles(A, its, k, w, b, y));
  PetscCall(VecsAgree(x, y, 20 * PETSC_MACHINE_EPSILON * its * its * k * k, &agree, &difference));
  PetscCall(HJTestOK(agree, "%s: %d cycles from a guess, off by %g", name, (int)its, (double)difference));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecSet(y, 0));
  PetscCall(NaiveCycles(A, 1, k, w, b, y));
  PetscCall(VecsAgree(x, y, 20 * PETSC_MACHINE_EPSILON * k * k, &agree, &difference));
  PetscCall(HJTestOK(agree, "%s: apply, off by %g", name, (double)difference));
  PetscCall(HJTestDestroy(&x, &y, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The transport works and the view names it, or (nccl, ipc) is refused with the reason and a way out */
static PetscErrorCode TestTransport(DM da, Mat A, PCHJacobiExchange exchange, PetscBool possible, char line[], int len)
{
  PC        pc;
  PetscBool failed;
  PetscInt  dim;
  char      name[256], refusal[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(refusal, sizeof(refusal), "-hj_exchange %s: ", PCHJacobiExchanges[exchange]));
  PetscCall(NewPC(da, A, exchange, &pc));
  CaptureError(PCSetUp(pc), &failed);
  PetscCall(DMGetDimension(da, &dim));
  PetscCall(PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT "D, %s", dim, PCHJacobiExchanges[exchange]));
  if (possible) {
    PetscCall(HJTestOK((PetscBool)!failed, "%s: set-up", name));
    if (!failed) PetscCall(HaloLine(pc, line, len));
    if (!failed) PetscCall(TestAnswer(da, A, pc, name));
  } else
    PetscCall(HJTestOK((PetscBool)(failed && strstr(message, refusal) && strstr(message, "use petscsf or auto")), "%s: refused: %s", name,
                       message));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HaveNCCL(MPI_Comm comm, PetscBool *available)
{
  PetscFunctionBegin;
  *available = PETSC_FALSE;
#if defined(HJACOBI_HAVE_NCCL)
  {
    const char *why;

    PetscCall(HJNCCLAvailable(comm, available, &why));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HaveIPC(MPI_Comm comm, PetscBool *available)
{
  PetscFunctionBegin;
  *available = PETSC_FALSE;
#if defined(HJACOBI_HAVE_CUDA)
  {
    const char *why;

    PetscCall(HJIPCAvailable(comm, available, &why));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A stencil matrix, the interpolation to its grid, and the Galerkin product of both; vectors of both grids */
typedef struct {
  DM  fine, coarse;
  Mat A, P, C;
  Vec x, y, z, b, u, v;
} Matrices;

static PetscErrorCode MatricesCreate(const Problem *p, Matrices *m)
{
  PetscFunctionBegin;
  PetscCall(ProblemDM(p, &m->fine));
  PetscCall(DMSetMatType(m->fine, MATHJSTENCIL));
  PetscCall(DMCreateMatrix(m->fine, &m->A));
  PetscCall(ProblemFill(p, m->fine, 0, m->A));
  PetscCall(DMCoarsen(m->fine, MPI_COMM_NULL, &m->coarse));
  PetscCall(DMCreateInterpolation(m->coarse, m->fine, &m->P, NULL));
  PetscCall(MatPtAP(m->A, m->P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &m->C));
  PetscCall(DMCreateGlobalVector(m->fine, &m->x));
  PetscCall(VecDuplicate(m->x, &m->y));
  PetscCall(VecDuplicate(m->x, &m->z));
  PetscCall(VecDuplicate(m->x, &m->b));
  PetscCall(DMCreateGlobalVector(m->coarse, &m->u));
  PetscCall(VecDuplicate(m->u, &m->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatricesDestroy(Matrices *m)
{
  PetscFunctionBegin;
  PetscCall(HJTestDestroy(&m->A, &m->P, &m->C, &m->x, &m->y, &m->z, &m->b, &m->u, &m->v, &m->coarse, &m->fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Steps in which the halos of all of them and of the smoother take turns, some many times; what they leave in x and u, and what the
   smoother makes of that x in z, which has no part in the steps */
static PetscErrorCode MatricesRun(const Problem *p, PCHJacobiExchange exchange, Vec *x, Vec *u, Vec *z)
{
  Matrices m;
  PC       pc;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-hj_exchange", PCHJacobiExchanges[exchange]));
  PetscCall(MatricesCreate(p, &m));
  PetscCall(NewPC(m.fine, m.A, exchange, &pc));
  PetscCall(ProblemVector(m.fine, 1, m.x));
  PetscCall(ProblemVector(m.fine, 2, m.b));
  for (int step = 0; step < 4; step++) {
    for (int i = 0; i <= step; i++) {
      PetscCall(MatMult(m.A, m.x, m.y));
      PetscCall(VecAXPBY(m.x, 0.125, 0.5, m.y));
    }
    PetscCall(MatResidual(m.A, m.b, m.x, m.y));
    PetscCall(MatMultTranspose(m.P, m.y, m.u));
    PetscCall(MatMult(m.C, m.u, m.v));
    PetscCall(MatMultTranspose(m.A, m.y, m.x));
    PetscCall(MatMultAdd(m.P, m.v, m.x, m.x));
    PetscCall(VecNormalize(m.x, NULL));
    PetscCall(PCApply(pc, m.x, m.z));
    PetscCall(MatShift(m.A, 0.25)); /* new values of all */
    PetscCall(MatPtAP(m.A, m.P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &m.C));
  }
  PetscCall(VecDuplicate(m.x, x));
  PetscCall(VecDuplicate(m.u, u));
  PetscCall(VecDuplicate(m.z, z));
  PetscCall(VecCopy(m.x, *x));
  PetscCall(VecCopy(m.u, *u));
  PetscCall(VecCopy(m.z, *z));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatricesDestroy(&m));
  PetscCall(PetscOptionsClearValue(NULL, "-hj_exchange"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A transport that cannot be is refused when the matrix is first used on the GPU */
static PetscErrorCode TestRefused(const Problem *p, PCHJacobiExchange exchange)
{
  DM        da;
  Mat       A;
  Vec       x, y;
  PetscBool failed;
  char      refusal[64];

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-hj_exchange", PCHJacobiExchanges[exchange]));
  PetscCall(PetscSNPrintf(refusal, sizeof(refusal), "-hj_exchange %s: ", PCHJacobiExchanges[exchange]));
  PetscCall(ProblemDM(p, &da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(ProblemVectors(da, &x, &y));
  CaptureError(MatMult(A, x, y), &failed);
  PetscCall(HJTestOK((PetscBool)(failed && strstr(message, refusal) && strstr(message, "use petscsf or auto")),
                     "stencil matrix, %s: refused: %s", PCHJacobiExchanges[exchange], message));
  PetscCall(PetscOptionsClearValue(NULL, "-hj_exchange"));
  PetscCall(HJTestDestroy(&x, &y, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By each transport the same bits, as all only copy values. The smoother's answer is the same to the rounding of k = 6 subiterations: a
   transport may want other regions, which other kernels sweep */
static PetscErrorCode TestMatrices(const Problem *p, PetscBool strips, PetscBool cuda)
{
  const PCHJacobiExchange exchanges[] = {PC_HJACOBI_EXCHANGE_AUTO, PC_HJACOBI_EXCHANGE_IPC, PC_HJACOBI_EXCHANGE_NCCL};
  Vec                     x[2], u[2], z[2];
  PetscReal               difference;
  PetscBool               have[3] = {PETSC_TRUE, PETSC_FALSE, PETSC_FALSE}, same[3];
  char                    name[128];

  PetscFunctionBegin;
  PetscCall(ProblemStrips(3, PETSC_FALSE));
  PetscCall(ProblemStrips(p->dim, strips));
  PetscCall(MatricesRun(p, PC_HJACOBI_EXCHANGE_PETSCSF, &x[0], &u[0], &z[0]));
  if (cuda) PetscCall(HaveIPC(PetscObjectComm((PetscObject)x[0]), &have[1]));
  if (cuda) PetscCall(HaveNCCL(PetscObjectComm((PetscObject)x[0]), &have[2]));
  for (int i = 0; i < 3; i++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "stencil matrices, %" PetscInt_FMT "D %s %s, %s", p->dim, p->box ? "box" : "star",
                            strips ? "in strips" : "in blocks", PCHJacobiExchanges[exchanges[i]]));
    if (i && !cuda) {
      PetscCall(HJTestNote("%s: left out, as it is a transport between GPUs, and the data are on the host", name));
    } else if (!have[i]) {
      PetscCall(TestRefused(p, exchanges[i]));
    } else {
      PetscCall(MatricesRun(p, exchanges[i], &x[1], &u[1], &z[1]));
      PetscCall(VecEqual(x[0], x[1], &same[0]));
      PetscCall(VecEqual(u[0], u[1], &same[1]));
      PetscCall(VecsAgree(z[0], z[1], 20 * PETSC_MACHINE_EPSILON * 6 * 6, &same[2], &difference));
      PetscCall(
        HJTestOK((PetscBool)(same[0] && same[1] && same[2]), "%s: the bits of petscsf, smoother off by %g", name, (double)difference));
      PetscCall(HJTestDestroy(&x[1], &u[1], &z[1]));
    }
  }
  PetscCall(HJTestDestroy(&x[0], &u[0], &z[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestAllMatrices(void)
{
  const Problem problems[] = {{.dim = 2, .n = {189, 171, 1}, .boundary = DIRICHLET, .coefficient = JUMP},
                              {.dim = 2, .n = {36, 52, 1}, .boundary = PERIODIC, .coefficient = VARYING},
                              {.dim = 2, .n = {65, 129, 1}, .boundary = DIRICHLET, .box = PETSC_TRUE},
                              {.dim = 3, .n = {41, 33, 45}, .boundary = NEUMANN},
                              {.dim = 3, .n = {29, 41, 37}, .boundary = DIRICHLET, .coefficient = CONVECTION}};
  char          type[32]   = "";
  PetscMPIInt   size;
  PetscBool     cuda;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_vec_type", type, sizeof(type), NULL));
  PetscCall(PetscStrcmp(type, "cuda", &cuda));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems) && size > 1; i++) {
    for (int strips = 0; strips < 2; strips++) PetscCall(TestMatrices(&problems[i], (PetscBool)strips, cuda));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProblem(const Problem *p, PetscBool strips)
{
  PetscMPIInt size;
  DM          da;
  Mat         A;
  char        line[512];
  PetscBool   nccl, ipc, why;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ProblemStrips(p->dim, strips));
  PetscCall(ProblemCreate(p, &da, &A));
  PetscCall(TestTransport(da, A, PC_HJACOBI_EXCHANGE_AUTO, PETSC_TRUE, line, sizeof(line)));
  if (size > 1) {
    ipc  = (PetscBool)(strstr(line, "exchange ipc (") != NULL);
    nccl = (PetscBool)(strstr(line, "exchange nccl (") != NULL);
    why  = (PetscBool)(strstr(line, ipc || nccl ? "a GPU for each rank" : "exchange petscsf (") && !strstr(line, "()"));
    PetscCall(HJTestOK(why, "auto says what it took and why: %.200s", strstr(line, "exchange")));
    PetscCall(TestTransport(da, A, PC_HJACOBI_EXCHANGE_PETSCSF, PETSC_TRUE, line, sizeof(line)));
    PetscCall(HJTestOK((PetscBool)(strstr(line, "exchange petscsf (asked for)") != NULL), "petscsf is what the view says"));
    PetscCall(TestTransport(da, A, PC_HJACOBI_EXCHANGE_IPC, ipc, line, sizeof(line)));
    if (ipc) PetscCall(HJTestOK((PetscBool)(strstr(line, "exchange ipc (asked for)") != NULL), "ipc is what the view says"));
    if (ipc) PetscCall(HaveNCCL(PetscObjectComm((PetscObject)da), &nccl)); /* auto did not ask */
    PetscCall(TestTransport(da, A, PC_HJACOBI_EXCHANGE_NCCL, nccl, line, sizeof(line)));
    if (nccl) PetscCall(HJTestOK((PetscBool)(strstr(line, "exchange nccl (asked for)") != NULL), "nccl is what the view says"));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The option of stencil matrices is read where halos travel through the host too */
static PetscErrorCode TestMatrixOption(void)
{
  const Problem p = {.dim = 2, .n = {30, 20, 1}, .boundary = DIRICHLET};
  DM            da;
  Mat           A = NULL;

  PetscFunctionBegin;
  PetscCall(ProblemDM(&p, &da));
  PetscCall(DMSetMatType(da, MATHJSTENCIL));
  PetscCall(PetscOptionsSetValue(NULL, "-hj_exchange", "foo"));
  ExpectError(DMCreateMatrix(da, &A), "a transport of matrices that is not known is refused", "foo", "-hj_exchange");
  PetscCall(PetscOptionsClearValue(NULL, "-hj_exchange"));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One rank exchanges with none, whatever is asked for: a PC of its own, or, of a PC of several ranks, coarse grids that are on one. What
   goes across a period does so by a transport that can be recorded, unless PetscSF is asked for. The choice is that of a backend in a GPU's
   memory; it looks at no more of it */
static PetscErrorCode TestOneRank(void)
{
  const PCHJacobiExchange exchanges[] = {PC_HJACOBI_EXCHANGE_AUTO, PC_HJACOBI_EXCHANGE_PETSCSF, PC_HJACOBI_EXCHANGE_IPC,
                                         PC_HJACOBI_EXCHANGE_NCCL};
  HJBackendOps            gpu         = HJBackendHost;
  PetscBool               there       = PETSC_FALSE;
  DM                      da;
  Mat                     A;

  PetscFunctionBegin;
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(HJCUDAAvailable(&there));
  if (!there) PetscFunctionReturn(PETSC_SUCCESS); /* transports ask the GPU */
#endif
  gpu.mtype = PETSC_MEMTYPE_DEVICE;
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 8, 9, 1, 1, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(MatShift(A, 1.0));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(exchanges); i++) {
    const HJHaloOps *ops = NULL;
    const char      *why = "", *name = PCHJacobiExchanges[exchanges[i]];
    const PetscBool  recorded = (PetscBool)(there && exchanges[i] != PC_HJACOBI_EXCHANGE_PETSCSF);
    PetscBool        failed[2];
    PC               pc;

    CaptureError(HJOperatorChooseExchange(PETSC_COMM_SELF, exchanges[i], &gpu, &ops, &why), &failed[0]);
    PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
    PetscCall(PCSetDM(pc, da));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetType(pc, PCHJACOBI));
    PetscCall(PCHJacobiSetExchange(pc, exchanges[i]));
    CaptureError(PCSetUp(pc), &failed[1]);
    PetscCall(PCDestroy(&pc));
    PetscCall(HJTestOK((PetscBool)(!failed[0] && !failed[1] && ops && (recorded ? ops->cycle != NULL : ops == &HJHaloPetscSF)),
                       "one rank takes %s, and its own points by %s: %s", name, ops ? ops->name : "nothing",
                       failed[0] || failed[1] ? message : why));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The time limit as a setting, which needs no new set-up; one that makes no sense is refused */
static PetscErrorCode TestTimeout(void)
{
  PC        pc;
  PetscReal first, second;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCHJACOBI));
  PetscCall(PCSetOptionsPrefix(pc, "own_"));
  PetscCall(PCHJacobiGetExchangeTimeout(pc, &first));
  PetscCall(PetscOptionsSetValue(NULL, "-own_hj_exchange_timeout", "2.5"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PetscOptionsClearValue(NULL, "-own_hj_exchange_timeout"));
  PetscCall(PCHJacobiGetExchangeTimeout(pc, &second));
  PetscCall(
    HJTestOK((PetscBool)(first == 300 && second == 2.5), "the exchange's time limit: %g, then %g s", (double)first, (double)second));
  ExpectError(PCHJacobiSetExchangeTimeout(pc, -1), "a negative time limit is refused", "must be from 0 (no limit)");
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(PetscOptionsSetValue(NULL, "-own_hj_exchange", "foo"));
  ExpectError(PCSetFromOptions(pc), "hjmg reads the option too", "foo", "-own_hj_exchange");
  PetscCall(PetscOptionsClearValue(NULL, "-own_hj_exchange"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(HJACOBI_HAVE_CUDA)
typedef struct {
  KSP ksp;
  Vec b, x;
} SolveCase;

static PetscErrorCode Solve(void *ctx)
{
  const SolveCase *c = (const SolveCase *)ctx;

  PetscFunctionBegin;
  PetscCall(KSPSolve(c->ksp, c->b, c->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve of 3 iterations whose last exchange waits in vain: norms are waited for after it, and no other exchange comes */
static PetscErrorCode TestLateSolve(PCType type)
{
  const Problem p = {.dim = 2, .n = {40, 31, 1}, .boundary = DIRICHLET};
  DM            da;
  Mat           A;
  SolveCase     c;
  PC            pc;
  PetscInt      its;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(MatCreateVecs(A, &c.x, &c.b));
  PetscCall(VecSet(c.b, 1.0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &c.ksp));
  PetscCall(KSPSetType(c.ksp, KSPCG));
  PetscCall(KSPSetOperators(c.ksp, A, A));
  PetscCall(KSPSetTolerances(c.ksp, 1e-30, 0, PETSC_DEFAULT, 3));
  PetscCall(KSPGetPC(c.ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(PCSetDM(pc, da));
  PetscCall(KSPSetUp(c.ksp));
  PetscCall(Solve(&c));
  PetscCall(HJIPCTryWait(0.1, PETSC_TRUE, Solve, &c));
  ExpectError(HJIPCTryWait(0.1, PETSC_FALSE, Solve, &c), "a solve with an exchange that waited in vain is an error", "Rank 7 did not");
  PetscCall(Solve(&c));
  PetscCall(KSPGetIterationNumber(c.ksp, &its));
  PetscCall(HJTestOK((PetscBool)(its == 3), "%s: the next solve, of other exchanges, does its %" PetscInt_FMT " iterations", type, its));
  PetscCall(HJTestDestroy(&c.ksp, &c.b, &c.x, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* On a GPU: a rank that answers, and one that never does, which must end in an error that names it */
static PetscErrorCode TestLate(void)
{
  PetscFunctionBegin;
#if defined(HJACOBI_HAVE_CUDA)
  PetscMPIInt size;
  PetscBool   available, used, failed[2];

  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(HJCUDAAvailable(&available));
  if (!available) PetscFunctionReturn(PETSC_SUCCESS);
  CaptureError(HJIPCTryWait(0.1, PETSC_TRUE, NULL, NULL), &failed[0]);
  CaptureError(HJIPCTryWait(0, PETSC_TRUE, NULL, NULL), &failed[1]);
  PetscCall(HJTestOK((PetscBool)(!failed[0] && !failed[1]), "a rank that answers is waited for, with a time limit and without"));
  ExpectError(HJIPCTryWait(0.1, PETSC_FALSE, NULL, NULL), "a rank that does not answer is named", "Rank 7 did not take part", "0.1 s");
  PetscCall(PetscOptionsHasName(NULL, NULL, "-dm_vec_type", &used));
  /* solves on the host do not wait for the device; with several ranks the next exchange finds the error, in the middle of a solve, which
     leaves vectors locked */
  if (!used || size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestLateSolve(PCHJACOBI));
  PetscCall(TestLateSolve(PCHJMG));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(HJACOBI_HAVE_CUDA)
static PetscErrorCode ExchangeOne(HJHalo halo, const PetscScalar *from, PetscScalar **got)
{
  const PetscScalar *arrays[] = {from, NULL};
  PetscScalar       *frame[]  = {NULL, NULL};

  PetscFunctionBegin;
  PetscCall(HJHaloBegin(halo, PETSC_MEMTYPE_CUDA, arrays, frame));
  PetscCall(HJHaloEnd(halo, PETSC_MEMTYPE_CUDA, arrays, frame));
  *got = frame[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A cycle of one exchange; recorded: and not run */
static PetscErrorCode CycleOfOne(HJHalo fence, HJHalo halo, const PetscScalar *from, PetscBool recorded)
{
  const HJMultigridOps *ops   = HJBackendCUDA.multigrid;
  HJGraph               graph = NULL;
  PetscScalar          *got;
  PetscBool             again;
  const char           *why;

  PetscFunctionBegin;
  if (recorded) PetscCall(ops->capture_begin(&graph));
  PetscCall(HJFenceCycle(fence, HJ_CYCLE_BEGIN));
  PetscCall(ExchangeOne(halo, from, &got));
  PetscCall(HJFenceCycle(fence, HJ_CYCLE_END));
  if (recorded) PetscCall(ops->capture_end(&graph, PETSC_TRUE, &again, &why));
  if (graph) PetscCall(ops->graph_destroy(&graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One value from the next rank */
static PetscErrorCode NextRanksHalo(HJExchange exchange, HJHalo *halo)
{
  PetscMPIInt  rank, size;
  PetscSFNode *remote;
  PetscSF      sf;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscMalloc1(1, &remote));
  *remote = (PetscSFNode){.rank = (rank + 1) % size, .index = 0};
  PetscCall(PetscSFCreate(PETSC_COMM_WORLD, &sf));
  PetscCall(PetscSFSetGraph(sf, 1, 1, NULL, PETSC_OWN_POINTER, remote, PETSC_OWN_POINTER));
  PetscCall(PetscSFSetUp(sf));
  PetscCall(HJHaloCreateFromSF(PetscObjectComm((PetscObject)sf), sf, 1, exchange.ops, halo));
  (*halo)->timeout = exchange.timeout;
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Between GPUs, outside of cycles: after one rank has recorded a cycle that others have not, as they replay theirs */
static PetscErrorCode TestUneven(void)
{
  const HJExchange exchange = {&HJHaloIPC, 10.0};
  PetscMPIInt      rank, size;
  PetscScalar     *own, *got, value;
  PetscBool        available, good = PETSC_TRUE;
  const char      *why;
  HJHalo           halo, fence;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(HJCUDAAvailable(&available));
  if (available) PetscCall(HJIPCAvailable(PETSC_COMM_WORLD, &available, &why));
  if (!available || size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(NextRanksHalo(exchange, &halo));
  PetscCall(HJFenceCreate(halo->comm, exchange, &fence));
  PetscCall(HJBackendCUDA.alloc(NULL, 1, &own));
  for (int i = 0; i < 6; i++) {
    value = 10 * i + rank;
    PetscCall(HJBackendCUDA.copy(NULL, own, &value, 1));
    if (!i) PetscCall(CycleOfOne(fence, halo, own, PETSC_FALSE));
    else if (i % 2 && rank == 0) PetscCall(CycleOfOne(fence, halo, own, PETSC_TRUE));
    PetscCall(ExchangeOne(halo, own, &got));
    PetscCall(HJBackendCUDA.multigrid->read(&value, got, 1));
    if (value != 10 * i + (rank + 1) % size) good = PETSC_FALSE;
  }
  PetscCall(HJOnAllRanks(PETSC_COMM_WORLD, &good));
  PetscCall(HJTestOK(good, "ipc: exchanges outside of cycles, some of which one rank alone has recorded"));
  PetscCall(HJBackendCUDA.free(NULL, &own));
  PetscCall(HJHaloDestroy(&fence));
  PetscCall(HJHaloDestroy(&halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode ApplyPC(void *pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(PCApply((PC)pc, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks so thin in x that all that a sweep reads is put together in a buffer first */
static PetscErrorCode TestTurns(void)
{
  Problem     p = {.dim = 2, .n = {0, 36000, 1}, .boundary = DIRICHLET};
  DM          da;
  Mat         A;
  PC          pc;
  Vec         b[2], y;
  PetscMPIInt size;
  PetscBool   same = PETSC_FALSE;
  char        ranks[16];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  p.n[0] = 6 * size;
  PetscCall(PetscSNPrintf(ranks, sizeof(ranks), "%d", (int)size));
  PetscCall(PetscOptionsSetValue(NULL, "-da_processors_x", ranks));
  PetscCall(PetscOptionsSetValue(NULL, "-da_processors_y", "1"));
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(PetscOptionsClearValue(NULL, "-da_processors_x"));
  PetscCall(PetscOptionsClearValue(NULL, "-da_processors_y"));
  PetscCall(NewPC(da, A, PC_HJACOBI_EXCHANGE_AUTO, &pc));
  PetscCall(PCHJacobiSetK(pc, 5));
  PetscCall(DMCreateGlobalVector(da, &y));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDuplicate(y, &b[i]));
    PetscCall(ProblemVector(da, i, b[i]));
  }
  PetscCall(ProblemTurns(ApplyPC, pc, b, y, &same));
  PetscCall(HJTestOK(same, "thin ranks: PCApply() of two vectors in turn, 200 times"));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&b[i]));
  PetscCall(HJTestDestroy(&y, &pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Problem problems[] = {{.dim = 2, .n = {190, 170, 1}, .boundary = DIRICHLET},
                              {.dim = 2, .n = {37, 53, 1}, .boundary = PERIODIC, .coefficient = VARYING},
                              {.dim = 3, .n = {41, 33, 46}, .boundary = NEUMANN},
                              {.dim = 2, .n = {701, 620, 1}, .boundary = DIRICHLET},
                              {.dim = 2, .n = {37, 53, 1}, .boundary = NEUMANN},
                              {.dim = 3, .n = {75, 70, 120}, .boundary = NEUMANN}};

  PetscCall(ProblemInitialize(&argc, &argv));
  for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) PetscCall(TestProblem(&problems[i], (PetscBool)(i > 2)));
  PetscCall(TestAllMatrices());
  PetscCall(ProblemStrips(3, PETSC_FALSE));
  PetscCall(TestTurns());
  PetscCall(TestMatrixOption());
  PetscCall(TestTimeout());
  PetscCall(TestOneRank());
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(TestUneven());
#endif
  PetscCall(TestLate());
  return HJTestEnd();
}

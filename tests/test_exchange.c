/* ranks: 1 2 4 */
/*
   Choice of the halo's transport: what auto takes and says, what a transport that cannot be says, the same answer by each. More ranks
   than GPUs must work.
*/
#include "hjproblem.h"
#include "hjcapture.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "../src/cuda/hjcuda.h"
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
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The transport works and the view names it, or (nccl, ipc) is refused with the reason and a way out */
static PetscErrorCode TestTransport(DM da, Mat A, PCHJacobiExchange exchange, PetscBool possible, char line[], int len)
{
  PC             pc;
  PetscErrorCode code;
  PetscInt       dim;
  char           name[256], refusal[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(refusal, sizeof(refusal), "-pc_hjacobi_exchange %s: ", PCHJacobiExchanges[exchange]));
  PetscCall(NewPC(da, A, exchange, &pc));
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Capture, NULL));
  code = PCSetUp(pc);
  PetscCall(PetscPopErrorHandler());
  PetscCall(DMGetDimension(da, &dim));
  PetscCall(PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT "D, %s", dim, PCHJacobiExchanges[exchange]));
  if (possible) {
    PetscCall(HJTestOK((PetscBool)!code, "%s: set-up", name));
    if (!code) PetscCall(HaloLine(pc, line, len));
    if (!code) PetscCall(TestAnswer(da, A, pc, name));
  } else
    PetscCall(
      HJTestOK((PetscBool)(code && strstr(message, refusal) && strstr(message, "use petscsf or auto")), "%s: refused: %s", name, message));
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

/* The time limit as a setting, which needs no new set-up; one that makes no sense is refused */
static PetscErrorCode TestTimeout(void)
{
  PC             pc;
  PetscReal      first, second;
  PetscErrorCode code;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCHJACOBI));
  PetscCall(PCHJacobiGetExchangeTimeout(pc, &first));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_hjacobi_exchange_timeout", "2.5"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjacobi_exchange_timeout"));
  PetscCall(PCHJacobiGetExchangeTimeout(pc, &second));
  PetscCall(
    HJTestOK((PetscBool)(first == 300 && second == 2.5), "the exchange's time limit: %g, then %g s", (double)first, (double)second));
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Capture, NULL));
  code = PCHJacobiSetExchangeTimeout(pc, -1);
  PetscCall(PetscPopErrorHandler());
  PetscCall(HJTestOK((PetscBool)(code && strstr(message, "must be from 0 (no limit)")), "a negative time limit is refused"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a GPU: a rank that answers, and one that never does, which must end in an error that names it */
static PetscErrorCode TestLate(void)
{
  PetscFunctionBegin;
#if defined(HJACOBI_HAVE_CUDA)
  PetscBool      available;
  PetscErrorCode code;

  PetscCall(HJCUDAAvailable(&available));
  if (!available) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJIPCTryWait(0.1, PETSC_TRUE));
  PetscCall(HJIPCTryWait(0, PETSC_TRUE));
  PetscCall(HJTestOK(PETSC_TRUE, "a rank that answers is waited for, with a time limit and without"));
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Capture, NULL));
  code = HJIPCTryWait(0.1, PETSC_FALSE);
  PetscCall(PetscPopErrorHandler());
  PetscCall(HJTestOK((PetscBool)(code && strstr(message, "Rank 7 did not take part") && strstr(message, "0.1 s")),
                     "a rank that does not answer is named: %s", message));
#endif
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
  int           code;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemBackend());
  for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) PetscCall(TestProblem(&problems[i], (PetscBool)(i > 2)));
  PetscCall(TestTimeout());
  PetscCall(TestLate());
  code = HJTestDone();
  PetscCall(PetscFinalize());
  return code;
}

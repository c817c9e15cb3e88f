/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 */
/*
   Options and setters before, between and after set-ups: what each makes anew, what is kept, what getters say, what -help prints. Looks
   inside the PC.
*/
#include "pc/hjpc.h"
#include "hjproblem.h"
#include "hjcapture.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/backend/hjcuda.h"
  #include "cuda/backend/hjslab_cuda.h"
#endif

static PetscErrorCode NewPC(DM da, Mat A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(ProblemPC(da, A, PCHJACOBI, pc));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PC_HJacobi *Inside(PC pc)
{
  return (PC_HJacobi *)pc->data;
}

/* Number of the events of a name so far */
static PetscErrorCode Count(const char *name, PetscInt *count)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId(name, &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *count = (PetscInt)info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the cycle of the PC is that of its weights, by the definition */
static PetscErrorCode Right(PC pc, DM da, Mat A, PetscBool *right)
{
  Vec              b, x, y;
  PetscInt         k;
  const PetscReal *w;
  PetscReal        diff;

  PetscFunctionBegin;
  PetscCall(ProblemVectors(da, &b, &x, &y));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(PCApply(pc, b, x));
  PetscCall(PCHJacobiGetWeights(pc, &k, &w));
  PetscCall(VecSet(y, 0.0));
  PetscCall(NaiveCycles(A, 1, k, w, b, y));
  PetscCall(VecsAgree(x, y, 64 * PETSC_MACHINE_EPSILON * PetscMax(16, k * k), right, &diff));
  PetscCall(HJTestDestroy(&b, &x, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The lists that come back are as long as they say, and may be given again */
static PetscErrorCode TestWeights(DM da, Mat A)
{
  const PetscReal  list[] = {0.5, 0.7, 0.9};
  PC               pc;
  PetscInt         n, again;
  const PetscReal *w;
  PetscReal        first, last;

  PetscFunctionBegin;
  PetscCall(NewPC(da, A, &pc));
  PetscCall(PCHJacobiGetWeights(pc, &n, &w));
  PetscCall(HJTestOK((PetscBool)(n == 0 && !w), "weights before set-up: none"));
  PetscCall(PCSetUp(pc));
  PetscCall(PCHJacobiSetK(pc, 1000));
  PetscCall(PCHJacobiGetWeights(pc, &n, NULL));
  PetscCall(HJTestOK((PetscBool)(n == 4), "k = 1000 after set-up: still the 4 weights that are in use"));
  PetscCall(PCSetUp(pc));
  PetscCall(PCHJacobiGetWeights(pc, &n, &w));
  PetscCall(HJTestOK((PetscBool)(n == 1000 && w[999] > 0), "after the next set-up: 1000 weights"));

  PetscCall(PCHJacobiSetWeights(pc, 3, list));
  PetscCall(PCHJacobiGetWeights(pc, &n, &w));
  PetscCall(
    HJTestOK((PetscBool)(n == 3 && w[0] == 0.5 && w[2] == (PetscReal)0.9), "weights given after set-up come back before the next one"));
  PetscCall(PCHJacobiSetWeights(pc, 2, w + 1)); /* part of the list that it holds */
  PetscCall(PCHJacobiGetWeights(pc, &n, &w));
  PetscCall(HJTestOK((PetscBool)(n == 2 && w[0] == (PetscReal)0.7 && w[1] == (PetscReal)0.9),
                     "weights may be set to a part of those that are there"));

  PetscCall(PCHJacobiSetK(pc, 5));
  PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_CHEBYSHEV4));
  PetscCall(PCSetUp(pc));
  PetscCall(PCHJacobiGetWeights(pc, &n, &w));
  first = w[0];
  last  = w[4];
  PetscCall(PCHJacobiSetWeights(pc, n, w));
  PetscCall(PCSetUp(pc));
  PetscCall(PCHJacobiGetWeights(pc, &again, &w));
  PetscCall(HJTestOK((PetscBool)(again == 5 && w[0] == first && w[4] == last), "the weights in use may be set"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each setter makes anew what depends on it, and no more */
static PetscErrorCode TestKept(DM da, Mat A)
{
  PC          pc;
  PetscBool   right[5], kept[5];
  PetscInt    before, after;
  PC_HJacobi *hj;
  HJOperator *op;
  PetscReal   emax[2];

  PetscFunctionBegin;
  PetscCall(NewPC(da, A, &pc));
  hj = Inside(pc);
  PetscCall(PCSetUp(pc));
  op = hj->op;
  PetscCall(Count("PCHJacobiSetUp", &before));
  PetscCall(PCHJacobiSetK(pc, 4));
  PetscCall(PCHJacobiSetTile(pc, 32, 32, 32));
  PetscCall(PCHJacobiSetOverlap(pc, PETSC_DECIDE));
  PetscCall(PCHJacobiSetCheckEvery(pc, 3));
  PetscCall(PCHJacobiSetCheckNorm(pc, PC_HJACOBI_CHECK_NORM_UPDATE_MAX));
  PetscCall(PCSetUp(pc));
  PetscCall(Count("PCHJacobiSetUp", &after));
  PetscCall(HJTestOK((PetscBool)(before == after && hj->op == op), "setters that change nothing that set-up makes: no set-up"));

  op->stencil->zero_diagonals = 77; /* a mark that reading the matrix takes away */
  PetscCall(PCHJacobiGetEigenvalues(pc, &emax[0], NULL));
  PetscCall(PCHJacobiSetK(pc, 6));
  PetscCall(Right(pc, da, A, &right[0]));
  kept[0] = (PetscBool)(hj->op == op && op->stencil->zero_diagonals == 77 && op->frames);
  PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_JACOBI));
  PetscCall(Right(pc, da, A, &right[1]));
  kept[1] = (PetscBool)(hj->op == op && op->stencil->zero_diagonals == 77);
  PetscCall(PCHJacobiSetOmega(pc, 0.5));
  PetscCall(Right(pc, da, A, &right[2]));
  kept[2] = (PetscBool)(hj->op == op && op->stencil->zero_diagonals == 77 && hj->w.w[5] == 0.5);
  PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_CHEBYSHEV4));
  PetscCall(PCHJacobiSetEigenvalues(pc, 2.5, 0.1));
  PetscCall(PCHJacobiGetEigenvalues(pc, &emax[1], NULL));
  PetscCall(Right(pc, da, A, &right[3]));
  kept[3] = (PetscBool)(hj->op == op && op->stencil->zero_diagonals == 77 && emax[1] == 2.5 && hj->use_emax == 2.5);
  PetscCall(PCHJacobiSetWeights(pc, 3, (const PetscReal[]){0.5, 0.7, 0.9}));
  PetscCall(Right(pc, da, A, &right[4]));
  kept[4] = (PetscBool)(hj->op == op && op->stencil->zero_diagonals == 77 && hj->w.k == 3);
  for (int i = 0; i < 5; i++)
    PetscCall(HJTestOK((PetscBool)(right[i] && kept[i]), "%s changed: new weights, the matrix is not read again",
                       ((const char *[]){"k", "schedule", "omega", "eigenvalues", "weights"})[i]));
  PetscCall(Count("PCHJacobiSetUp", &before));
  PetscCall(PCHJacobiSetWeights(pc, 3, (const PetscReal[]){0.5, 0.7, 0.9}));
  PetscCall(PCSetUp(pc));
  PetscCall(Count("PCHJacobiSetUp", &after));
  PetscCall(HJTestOK((PetscBool)(before == after), "the same weights again: no set-up"));
  PetscCall(PCHJacobiSetOverlap(pc, 2));
  PetscCall(PCSetUp(pc));
  PetscCall(HJTestOK((PetscBool)(hj->op && hj->op->overlap == 2 && hj->op->stencil->zero_diagonals == 0),
                     "overlap changed: the operator is made anew"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values and a setter at once: the values are read; with a new pattern or another matrix all is */
static PetscErrorCode TestValues(const Problem *p, DM da, Mat A)
{
  PC          pc;
  Mat         B;
  PetscBool   right;
  PC_HJacobi *hj;
  HJOperator *op;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(NewPC(da, B, &pc));
  hj = Inside(pc);
  PetscCall(PCSetUp(pc));
  op = hj->op;
  PetscCall(MatZeroEntries(B));
  PetscCall(ProblemFill(p, da, 3, B));
  PetscCall(PCHJacobiSetK(pc, 5));
  PetscCall(Right(pc, da, B, &right));
  PetscCall(HJTestOK((PetscBool)(right && hj->op == op), "k and the values changed: new values in the operator that is there"));
  PetscCall(PCHJacobiSetK(pc, 6));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(Right(pc, da, A, &right));
  PetscCall(HJTestOK(right, "k and the matrix changed: the other matrix is read"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCSetFromOptions() again and again, as programs do */
static PetscErrorCode TestSetFromOptions(DM da, Mat A)
{
  PC          pc;
  PetscInt    before, after;
  PC_HJacobi *hj;
  HJOperator *op;

  PetscFunctionBegin;
  PetscCall(
    PetscOptionsInsertString(NULL, "-pc_hjacobi_k 3 -pc_hjacobi_tile 16,8 -pc_hjacobi_weights 0.5,0.6,0.7 -pc_hjacobi_check_every 2"));
  PetscCall(NewPC(da, A, &pc));
  hj = Inside(pc);
  PetscCall(PCSetUp(pc));
  op = hj->op;
  PetscCall(Count("PCHJacobiSetUp", &before));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscCall(Count("PCHJacobiSetUp", &after));
  PetscCall(HJTestOK((PetscBool)(before == after && hj->op == op), "the same options read again: no set-up"));
  PetscCall(
    HJTestOK((PetscBool)(hj->tile[0] == 16 && hj->tile[1] == 8 && hj->tile[2] == 8), "a tile of two numbers: the last holds for z"));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjacobi_k"));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjacobi_tile"));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjacobi_weights"));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjacobi_check_every"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What one set-up leaves does not change the next one's defaults */
static PetscErrorCode TestForgets(DM da, Mat A)
{
  PC        pc[2];
  Mat       D;
  PetscReal emax, emin, first, second;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    PetscCall(NewPC(da, A, &pc[i]));
    PetscCall(PCHJacobiSetSchedule(pc[i], PC_HJACOBI_SCHEDULE_JACOBI));
  }
  PetscCall(PCSetUp(pc[0])); /* a stencil in 2D */
  PetscCall(PCHJacobiSetOperator(pc[0], PC_HJACOBI_OPERATOR_MATRIX));
  PetscCall(PCHJacobiSetOperator(pc[1], PC_HJACOBI_OPERATOR_MATRIX));
  PetscCall(PCSetUp(pc[0]));
  PetscCall(PCSetUp(pc[1]));
  PetscCall(
    HJTestOK((PetscBool)(Inside(pc[0])->use_omega == Inside(pc[1])->use_omega), "the default omega does not depend on an earlier set-up"));
  PetscCall(PCDestroy(&pc[1]));

  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &D));
  PetscCall(MatSetDM(D, NULL));
  PetscCall(NewPC(NULL, D, &pc[1]));
  PetscCall(PCHJacobiSetSchedule(pc[1], PC_HJACOBI_SCHEDULE_JACOBI));
  PetscCall(PCSetUp(pc[1]));
  first = Inside(pc[1])->use_omega;
  PetscCall(PCReset(pc[0]));
  PetscCall(PCHJacobiGetEigenvalues(pc[0], &emax, &emin));
  PetscCall(HJTestOK((PetscBool)(emax == PETSC_DECIDE && emin == PETSC_DECIDE), "PCReset() forgets the bounds"));
  PetscCall(PCSetDM(pc[0], NULL));
  PetscCall(PCSetOperators(pc[0], D, D));
  PetscCall(PCSetUp(pc[0]));
  second = Inside(pc[0])->use_omega;
  PetscCall(HJTestOK((PetscBool)(first == second), "... and the dimension: omega %g, %g of a new PC", (double)second, (double)first));
  PetscCall(HJTestDestroy(&pc[0], &pc[1], &D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the line of an option holds the words */
static PetscBool Says(const char *option, const char *words)
{
  const char *at = strstr(printed, option), *end = at ? strchr(at, '\n') : NULL, *found = at ? strstr(at, words) : NULL;

  return (PetscBool)(found && (!end || found < end));
}

static PetscErrorCode TestHelp(DM da, Mat A)
{
  PC          pc;
  PetscMPIInt rank;
  PetscBool   there = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetOptionsPrefix(pc, "help_")); /* PETSc prints the options of a prefix once */
  PetscCall(PCSetType(pc, PCHJACOBI));
  PetscCall(PCHJacobiSetTile(pc, 19, 18, 17));
  PetscCall(PCHJacobiSetEigenvalues(pc, 1.75, 0.125));
  PetscCall(PetscOptionsSetValue(NULL, "-help", NULL));
  CollectBegin();
  PetscCall(PCSetFromOptions(pc));
  CollectEnd();
  PetscCall(PetscOptionsClearValue(NULL, "-help"));
  PetscCall(PCDestroy(&pc));
  if (!rank) there = (PetscBool)(Says("_tile", "19") && Says("_eigenvalues", "0.125") && Says("_weights", "custom"));
  PetscCall(HJTestOK(there, "-help prints the values that are set"));
  PetscCall(HJTestOK((PetscBool)(rank || !Says("_weights", "<")), "... and no list of 1024 numbers"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A program that calls DMSetMatType() after it has read -dm_mat_type hjstencil has AIJ all the same: hjmg works, and -info tells. Without
   the call, or where nothing reads the option, nothing is told */
static PetscErrorCode TestTypeSet(PetscBool reads, PetscBool sets)
{
  const Problem p = {2, {17, 13, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  DM            da, other;
  Mat           A;
  PC            pc;
  PetscMPIInt   rank;
  PetscBool     told;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(ProblemCreate(&p, &other, &A));
  PetscCall(PetscOptionsInsertString(NULL, "-late_dm_mat_type hjstencil"));
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, p.n[0], p.n[1], PETSC_DECIDE,
                         PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetOptionsPrefix(da, "late_"));
  if (reads) PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  if (sets) PetscCall(DMSetMatType(da, MATAIJ));
  PetscCall(ProblemPC(da, A, PCHJMG, &pc));
  CollectInfo(PCSetUp(pc));
  told = (PetscBool)(strstr(printed, "-late_dm_mat_type asks: the program calls DMSetMatType() with aij") != NULL);
  PetscCall(HJTestOK((PetscBool)(rank || told == (PetscBool)(reads && sets)),
                     "-dm_mat_type hjstencil, %s, and a type %s: hjmg reads AIJ and %s", reads ? "read" : "not read",
                     sets ? "set after it" : "not set", reads && sets ? "tells" : "does not tell"));
  PetscCall(PetscOptionsUsed(NULL, "late_dm_mat_type", &told));
  PetscCall(HJTestOK((PetscBool)(told == reads), "... and -options_left %s", reads ? "does not" : "does"));
  PetscCall(PetscOptionsClearValue(NULL, "-late_dm_mat_type"));
  PetscCall(HJTestDestroy(&pc, &A, &da, &other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a GPU: what PETSc's vectors had serves set-up when they are gone, although PETSc keeps it for other vectors */
static PetscErrorCode TestFreedMemory(void)
{
  PetscFunctionBegin;
#if defined(HJACOBI_HAVE_CUDA) && PetscDefined(HAVE_CUDA)
  const PetscInt most     = 2000000000;
  char           type[16] = "";
  PetscMPIInt    size;
  size_t         bytes, granularity;
  PetscCount     left;
  PetscScalar   *p;
  Vec            v[32];
  PetscInt       n = 0;

  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_vec_type", type, sizeof(type), NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (strcmp(type, "cuda") || size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJSlabsCUDA.memory(&bytes, &granularity));
  left = (PetscCount)(bytes / sizeof(PetscScalar) / 8 * 6);
  for (; left > 0 && n < 32; n++, left -= most) {
    PetscCall(VecCreateSeqCUDA(PETSC_COMM_SELF, (PetscInt)PetscMin(left, most), &v[n]));
    PetscCall(VecSet(v[n], 1.0));
  }
  for (PetscInt i = 0; i < n; i++) PetscCall(VecDestroy(&v[i]));
  PetscCall(HJBackendCUDA.alloc(NULL, (PetscCount)(bytes / sizeof(*p) / 2), &p));
  PetscCall(HJTestOK((PetscBool)(p != NULL), "half of the memory, of which three quarters were PETSc's vectors'"));
  PetscCall(HJBackendCUDA.free(NULL, &p));
  ExpectError(HJBackendCUDA.alloc(NULL, (PetscCount)(bytes / sizeof(*p) * 2), &p), "twice the memory is refused", "out of memory",
              "asked for");
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The version of the library that runs, that of the header, and that of the views */
static PetscErrorCode TestVersion(DM da, Mat A)
{
  PetscInt  version[3] = {-1, -1, -1};
  PetscBool same;
  char      words[64];

  PetscFunctionBegin;
  PetscCall(PCHJacobiGetVersion(NULL, NULL, NULL));
  PetscCall(PCHJacobiGetVersion(&version[0], &version[1], &version[2]));
  PetscCall(PetscSNPrintf(words, sizeof(words), "; hjacobi %" PetscInt_FMT ".%" PetscInt_FMT ".%" PetscInt_FMT, version[0], version[1],
                          version[2]));
  PetscCall(PetscStrcmp(words, "; hjacobi " HJACOBI_VERSION_STRING, &same));
  PetscCall(HJTestOK((PetscBool)(same && version[0] == HJACOBI_VERSION_MAJOR && version[1] == HJACOBI_VERSION_MINOR &&
                                 version[2] == HJACOBI_VERSION_SUBMINOR),
                     "PCHJacobiGetVersion() gives the version of the header, %s", HJACOBI_VERSION_STRING));
  for (PetscInt i = 0; i < 2; i++) {
    PC        pc;
    PetscBool holds;

    PetscCall(NewPC(da, A, &pc));
    PetscCall(PCSetType(pc, i ? PCHJMG : PCHJACOBI));
    PetscCall(PCSetUp(pc));
    PetscCall(ViewHolds(pc, words, &holds));
    PetscCall(HJTestOK(holds, "and the view of %s has it", i ? PCHJMG : PCHJACOBI));
    PetscCall(PCDestroy(&pc));
  }
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
  PetscCall(TestWeights(da, A));
  PetscCall(TestKept(da, A));
  PetscCall(TestValues(&p, da, A));
  PetscCall(TestSetFromOptions(da, A));
  PetscCall(TestForgets(da, A));
  PetscCall(TestHelp(da, A));
  PetscCall(TestVersion(da, A));
  PetscCall(TestTypeSet(PETSC_TRUE, PETSC_TRUE));
  PetscCall(TestTypeSet(PETSC_TRUE, PETSC_FALSE));
  PetscCall(TestTypeSet(PETSC_FALSE, PETSC_TRUE));
  PetscCall(TestFreedMemory());
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  return HJTestEnd();
}

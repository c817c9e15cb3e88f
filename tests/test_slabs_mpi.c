/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Slabs on several ranks and on periodic grids: cycles equal those that are done at once, whatever the limit of memory.
   The device is a fake, see test_slab.c; with -backend cuda the GPU, through the PC.
   ranks: 1 2 3 4
*/
#define _GNU_SOURCE
#include "hjproblem.h"
#include "hjcapture.h"
#include "hjslabcase.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/backend/hjslab_cuda.h"
#endif

/* Ranks have limits of their own, from what holds all down to where no slab fits on one of them */
static PetscErrorCode TestLimits(const Problem *p, PetscInt k, PCHJacobiSlabType type, PetscInt asked)
{
  char        why[256];
  PetscMPIInt rank, wrong;
  SlabCase    c;
  PetscBool   failed = PETSC_FALSE, right = PETSC_TRUE, norms = PETSC_TRUE, same = PETSC_FALSE;
  PetscReal   diff = 0, largest = 0;
  PetscInt    high = 0, low = PETSC_INT_MAX, nlimits = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(SlabCaseCreate(p, k, &c));
  PetscCall(HJSlabsCreateOperator(c.A, c.da, asked, &c.op, why, sizeof(why)));
  fake_memory = (size_t)1 << 40;
  for (PetscReal share = type == PC_HJACOBI_SLAB_PYRAMID ? 16 : 4; !failed; share = share * 0.6 - 0.002) {
    const size_t limit = (size_t)(PetscMax(share, 0) * HJSlabsInCoreBytes(&c.op->grid, c.op->stencil)) + 4 * FAKE_GRANULARITY * (rank % 2);
    HJSlabs      slabs = NULL;
    HJSlabsInfo  info;

    fake_most  = 0;
    fake_count = nlimits % 2 ? 64 : 1 + nlimits % 3 + rank % 2;
    CaptureError(HJSlabsCreate(c.op, &FakeOps, limit, type, asked, &slabs), &failed);
    if (!failed) {
      HJSlabsGetInfo(slabs, &info);
      right = (PetscBool)(right && fake_most <= limit);
      high  = PetscMax(high, info.plan->height);
      low   = PetscMin(low, info.plan->height);
      for (PetscInt its = 1; its <= 3; its++) {
        PetscCall(CompareRuns(&c, slabs, its * its, (PetscBool)((its + nlimits) % 2), &same, &diff));
        right   = (PetscBool)(right && same);
        largest = PetscMax(largest, diff);
      }
      if (HJSlabsCanUpdate(slabs, &c.w)) {
        PetscCall(CompareUpdate(&c, slabs, &norms));
        PetscCall(CompareChecked(&c, slabs, 1 + nlimits % 4, 1 + nlimits % 6, HJSlabsCanLookAhead(slabs, &c.w), &norms));
      }
      nlimits++;
    } else if (asked < 0) {
      right = (PetscBool)(right && strstr(message, "The thinnest slab of this grid needs") && strstr(message, "-pc_hjacobi_device_memory"));
    }
    PetscCall(HJSlabsDestroy(&slabs));
  }
  wrong = !right;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  right = (PetscBool)!wrong;
  PetscCall(HJTestDetail("# message: %s", message));
  PetscCall(HJTestOK((PetscBool)(right && norms && nlimits > 0 && !fake_used && !fake_pins),
                     "%s, %dD %s %s %s k=%d height %d: %d limits, %d to %d subiterations a visit: the same values (%g)%s",
                     PCHJacobiSlabTypes[type], (int)p->dim, p->box ? "box" : "star", BoundaryNames()[p->boundary],
                     CoefficientNames()[p->coefficient], (int)k, (int)asked, (int)nlimits, (int)low, (int)high, (double)largest,
                     norms ? "" : ", wrong norms"));
  PetscCall(SlabCaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is no number on one rank is none in the norm of all, or some would stop and others not */
static PetscErrorCode TestNoNumber(void)
{
  const Problem      problem = {2, {37, 61, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  const NormType     types[] = {NORM_2, NORM_INFINITY};
  char               why[256];
  PetscMPIInt        rank, size, number = 0;
  SlabCase           c;
  HJSlabs            slabs = NULL;
  PetscScalar       *ba;
  const PetscScalar *xa;
  PetscReal          norm = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ProblemStrips(problem.dim, PETSC_TRUE));
  PetscCall(SlabCaseCreate(&problem, 2, &c));
  PetscCall(HJSlabsCreateOperator(c.A, c.da, PETSC_DECIDE, &c.op, why, sizeof(why)));
  fake_count = 64;
  PetscCall(HJSlabsCreate(c.op, &FakeOps, (size_t)1 << 30, PC_HJACOBI_SLAB_AUTO, PETSC_DECIDE, &slabs));
  PetscCall(VecGetArray(c.b, &ba));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  if (rank == size - 1) ba[100] = NAN;
  PetscCall(VecCopy(c.y, c.x));
  PetscCall(VecGetArrayRead(c.x, &xa));
  for (int i = 0; i < 2; i++) {
    PetscCall(HJSlabsUpdate(slabs, &c.w, ba, xa, types[i], &norm));
    if (!PetscIsNanReal(norm)) number = 1;
  }
  PetscCall(VecRestoreArrayRead(c.x, &xa));
  PetscCall(VecRestoreArray(c.b, &ba));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(PetscFPTrapPop());
  PetscCall(HJTestOK((PetscBool)!number, "NaN on the last rank: norms are NaN on all"));
  PetscCall(HJSlabsDestroy(&slabs));
  PetscCall(SlabCaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(HJACOBI_HAVE_CUDA)
/* The GPU, or ranks that share one, with little memory beside the host, through the PC */
static PetscErrorCode TestGPU(const Problem *p, const char *limit, PCHJacobiSlabType type, PetscInt its, PetscBool zero)
{
  DM                          da;
  Mat                         A;
  Vec                         b, x[2], work;
  PC                          pc;
  PetscBool                   agree = PETSC_FALSE, slabs = PETSC_FALSE;
  PetscReal                   diff;
  PetscInt                    done;
  PCRichardsonConvergedReason reason;
  char                        options[128];

  PetscFunctionBegin;
  PetscCall(ProblemCreate(p, &da, &A));
  PetscCall(ProblemVectors(da, &b, &work));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDuplicate(b, &x[i]));
    PetscCall(ProblemVector(da, 2, x[i]));
    PetscCall(PetscSNPrintf(options, sizeof(options), "-pc_hjacobi_backend %s -pc_hjacobi_device_memory %s -pc_hjacobi_slab_type %s",
                            i ? "cuda" : "host", i ? limit : "0", PCHJacobiSlabTypes[type]));
    PetscCall(CreatePC(da, A, options, &pc));
    PetscCall(PCApplyRichardson(pc, b, x[i], work, 0, 0, 0, its, zero, &done, &reason));
    if (i) PetscCall(ViewHolds(pc, "slabs: swept by cuda", &slabs));
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(VecsAgree(x[1], x[0], 64 * PETSC_MACHINE_EPSILON * its * 4, &agree, &diff));
  PetscCall(HJTestOK((PetscBool)(agree && slabs), "GPU, %s, %s: %dD %s %s %s, %d cycles%s (%g)", limit, PCHJacobiSlabTypes[type],
                     (int)p->dim, p->box ? "box" : "star", BoundaryNames()[p->boundary], CoefficientNames()[p->coefficient], (int)its,
                     zero ? " from zero" : "", (double)diff));
  PetscCall(HJTestDestroy(&b, &x[0], &x[1], &work, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As long in the slowest direction that ranks have as many planes as two have of the problem: those of few fit into the memory */
static PetscErrorCode Lengthen(Problem *p)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  p->n[p->dim - 1] *= (size + 1) / 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A right-hand side that is mapped for reading alone, as a file may be, cannot be pinned: copies are slower, the result is the same */
static PetscErrorCode TestPageable(void)
{
  Problem                     problem = {3, {101, 90, 100}, PERIODIC_LAST, CONSTANT, PETSC_FALSE};
  DM                          da;
  Mat                         A;
  Vec                         b, c, x[2], work;
  PC                          pc;
  PetscBool                   agree = PETSC_FALSE, slabs = PETSC_FALSE, said = PETSC_FALSE;
  PetscReal                   diff;
  PetscInt                    done, n;
  PetscScalar                *mapped;
  const PetscScalar          *ca;
  PCRichardsonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(Lengthen(&problem));
  PetscCall(ProblemStrips(problem.dim, PETSC_TRUE)); /* else copies are what is pinned */
  PetscCall(ProblemCreate(&problem, &da, &A));
  PetscCall(ProblemVectors(da, &c, &work));
  PetscCall(ProblemVector(da, 1, c));
  PetscCall(VecGetLocalSize(c, &n));
  mapped = (PetscScalar *)mmap(NULL, n * sizeof(PetscScalar), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  PetscCall(VecGetArrayRead(c, &ca));
  PetscCall(PetscArraycpy(mapped, ca, n));
  PetscCall(VecRestoreArrayRead(c, &ca));
  (void)mprotect(mapped, n * sizeof(PetscScalar), PROT_READ);
  PetscCall(VecCreateMPIWithArray(PETSC_COMM_WORLD, 1, n, PETSC_DETERMINE, mapped, &b));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDuplicate(c, &x[i]));
    PetscCall(
      CreatePC(da, A, i ? "-pc_hjacobi_backend cuda -pc_hjacobi_device_memory 10M" : "-pc_hjacobi_backend host -pc_hjacobi_device_memory 0",
               &pc));
    PetscCall(PetscInfoAllow((PetscBool)(i > 0)));
    PetscCall(PetscInfoSetFile(NULL, NULL));
    if (i) CollectBegin();
    PetscCall(PCApplyRichardson(pc, i ? b : c, x[i], work, 0, 0, 0, 5, PETSC_TRUE, &done, &reason));
    if (i) CollectEnd();
    PetscCall(PetscInfoAllow(PETSC_FALSE));
    if (i) PetscCall(ViewHolds(pc, "slabs: swept by cuda", &slabs));
    PetscCall(PCDestroy(&pc));
  }
  said = (PetscBool)(strstr(printed, "could not be pinned") != NULL);
  PetscCall(VecsAgree(x[1], x[0], 64 * PETSC_MACHINE_EPSILON * 5 * 4, &agree, &diff));
  PetscCall(HJTestOK((PetscBool)(agree && slabs), "GPU, b that cannot be pinned (%s): the same x (%g)", said ? "info says so" : "it was",
                     (double)diff));
  PetscCall(VecDestroy(&b));
  (void)munmap(mapped, n * sizeof(PetscScalar));
  PetscCall(HJTestDestroy(&c, &x[0], &x[1], &work, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory that the system cannot pin, as nobody may read it: no error, and -info says so */
static PetscErrorCode TestPinRefused(void)
{
  const size_t bytes  = (size_t)4 << 20;
  PetscBool    pinned = PETSC_TRUE;
  void        *at     = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  PetscFunctionBegin;
  CollectInfo(HJSlabsCUDA.pin(NULL, at, bytes, &pinned));
  (void)munmap(at, bytes);
  PetscCall(
    HJTestOK((PetscBool)(!pinned && strstr(printed, "4194304 bytes of host memory could not be pinned")), "GPU, no pin: %s", printed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A larger grid with one row, of n^3 points on each rank, beside the same cycles in core: what is chosen, predicted, measured */
static PetscErrorCode TestBig(PetscInt n, DMBoundaryType boundary, const char *limit)
{
  const MatStencil            at[7]  = {{0}, {.i = -1}, {.i = 1}, {.j = -1}, {.j = 1}, {.k = -1}, {.k = 1}};
  const PetscScalar           row[7] = {6.5, -1, -1, -1, -1, -1, -1};
  const PetscInt              its    = 60;
  DM                          da;
  Mat                         A;
  Vec                         b, x[2], work;
  PC                          pc;
  PetscBool                   agree = PETSC_FALSE, slabs = PETSC_FALSE;
  PetscReal                   diff;
  PetscInt                    done;
  PetscMPIInt                 size;
  PCRichardsonConvergedReason reason;
  char                        options[128];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, boundary, DM_BOUNDARY_NONE, boundary, DMDA_STENCIL_STAR, n, n, n * size, PETSC_DECIDE,
                         PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(MatHJStencilSetRow(A, 7, at, row));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(ProblemVectors(da, &b, &work));
  PetscCall(VecSetRandom(b, NULL));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDuplicate(b, &x[i]));
    PetscCall(PetscSNPrintf(options, sizeof(options),
                            "-pc_hjacobi_backend cuda -pc_hjacobi_eigenvalues 0.18,2 -pc_hjacobi_monitor %d -pc_hjacobi_device_memory %s",
                            i, i ? limit : "0"));
    PetscCall(CreatePC(da, A, options, &pc));
    PetscCall(PCApplyRichardson(pc, b, x[i], work, 0, 0, 0, its, PETSC_TRUE, &done, &reason));
    if (i) PetscCall(PCApplyRichardson(pc, b, work, work, 0, 0, 0, 3 * its, PETSC_TRUE, &done, &reason));
    if (i) PetscCall(ViewHolds(pc, "slabs: swept by cuda", &slabs));
    if (i) PetscCall(PCView(pc, PETSC_VIEWER_STDERR_WORLD)); /* for whoever runs this by hand */
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(VecsAgree(x[1], x[0], 64 * PETSC_MACHINE_EPSILON * its * 4, &agree, &diff));
  PetscCall(HJTestOK((PetscBool)(agree && slabs), "GPU, %s of %d^3 points a rank, %speriodic: as in core (%g)", limit, (int)n,
                     boundary == DM_BOUNDARY_PERIODIC ? "" : "not ", (double)diff));
  PetscCall(HJTestDestroy(&b, &x[0], &x[1], &work, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory that no slab fits into: all ranks say so, and how much it takes; so much is enough */
static PetscErrorCode TestTooSmall(void)
{
  Problem     problem = {3, {101, 90, 100}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM          da;
  Mat         A;
  PC          pc = NULL;
  PetscBool   failed, slabs = PETSC_FALSE;
  const char *words = "The thinnest slab of this grid needs ", *found;
  char        options[128];
  long        least = 0;

  PetscFunctionBegin;
  PetscCall(Lengthen(&problem));
  PetscCall(ProblemCreate(&problem, &da, &A));
  CaptureError(CreatePC(da, A, "-pc_hjacobi_backend cuda -pc_hjacobi_device_memory 1M", &pc), &failed);
  PetscCall(PCDestroy(&pc));
  found = strstr(message, words);
  if (found) least = atol(found + strlen(words));
  PetscCall(PetscSNPrintf(options, sizeof(options), "-pc_hjacobi_backend cuda -pc_hjacobi_device_memory %ld", least));
  PetscCall(CreatePC(da, A, options, &pc));
  PetscCall(ViewHolds(pc, "slabs: swept by cuda", &slabs));
  PetscCall(HJTestOK((PetscBool)(failed && least > 1048576 && slabs && strstr(message, "raise -pc_hjacobi_device_memory")), "GPU, 1M: %s",
                     message));
  PetscCall(HJTestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* few: for tools that make everything slow */
static PetscErrorCode TestGPUs(PetscBool few)
{
  Problem problems[] = {
    {3, {101, 90, 100}, DIRICHLET, CONSTANT, PETSC_FALSE}, {2, {1201, 801, 1}, PERIODIC, CONSTANT, PETSC_FALSE},
    {3, {101, 90, 100}, PERIODIC, CONSTANT, PETSC_FALSE},  {3, {101, 90, 100}, PERIODIC_LAST, VARYING, PETSC_FALSE},
    {3, {101, 90, 100}, IDENTITY, JUMP, PETSC_FALSE},      {2, {1201, 801, 1}, PERIODIC_FIRST, VARYING, PETSC_TRUE},
  };
  PetscInt n = 0; /* rings are of 2 MB at least */

  PetscFunctionBegin;
  if (!few) PetscCall(TestPinRefused()); /* tools report what a refused pin returns */
  if (!few) PetscCall(TestPageable());
  PetscCall(TestTooSmall());
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i++) {
    PetscCall(Lengthen(&problems[i]));
    for (int strips = few; strips < 2; strips++, n++) {
      const PetscBool arrays = (PetscBool)(problems[i].coefficient == VARYING);

      PetscCall(ProblemStrips(3, PETSC_FALSE));
      PetscCall(ProblemStrips(problems[i].dim, (PetscBool)strips));
      PetscCall(TestGPU(&problems[i], arrays ? "20M" : "10M", i % 2 == (size_t)strips ? PC_HJACOBI_SLAB_PYRAMID : PC_HJACOBI_SLAB_SKEWED,
                        few ? 3 : 11, (PetscBool)(n % 2)));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  const Problem problems[] = {
    {2, {37, 61, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},     {2, {37, 61, 1}, IDENTITY, JUMP, PETSC_FALSE},
    {2, {37, 61, 1}, NEUMANN, VARYING, PETSC_TRUE},         {2, {60, 40, 1}, PERIODIC, CONVECTION, PETSC_FALSE},
    {3, {17, 14, 29}, DIRICHLET, CONSTANT, PETSC_FALSE},    {3, {17, 14, 29}, IDENTITY, JUMP, PETSC_TRUE},
    {3, {17, 14, 29}, NEUMANN, VARYING, PETSC_FALSE},       {3, {17, 14, 29}, PERIODIC, CONSTANT, PETSC_FALSE},
    {3, {17, 14, 29}, PERIODIC_LAST, VARYING, PETSC_FALSE}, {3, {17, 14, 29}, PERIODIC_FIRST, JUMP, PETSC_TRUE},
    {3, {17, 14, 29}, PERIODIC, VARYING, PETSC_TRUE},       {2, {37, 61, 1}, PERIODIC_LAST, CONSTANT, PETSC_TRUE},
  };
  const PetscInt ks[] = {1, 4, 7, 16, 3}, heights[] = {PETSC_DECIDE, 3, 9};
  char           backend[16] = "host";
  PetscBool      few         = PETSC_FALSE;
  PetscMPIInt    size;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-few", &few, NULL));
#if defined(HJACOBI_HAVE_CUDA)
  if (!strcmp(backend, "cuda")) {
    PetscInt big = 0; /* points in each direction of a rank: only this */

    PetscCall(PetscOptionsGetInt(NULL, NULL, "-big", &big, NULL));
    if (big) PetscCall(TestBig(big, DM_BOUNDARY_NONE, "120M"));
    if (big) PetscCall(TestBig(big, DM_BOUNDARY_PERIODIC, "120M"));
    if (!big) PetscCall(TestGPUs(few));
    return HJTestEnd();
  }
#endif
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i++) {
    Problem p = problems[i];

    p.n[p.dim - 1] *= (size + 3) / 4; /* slabs of ranks with fewer planes than four have need more memory than these limits */
    for (size_t strips = 0; strips < (size > 1 ? 2 : 1); strips++) {
      if (size > 2 && (i + strips) % 2) continue;
      PetscCall(ProblemStrips(3, PETSC_FALSE));
      PetscCall(ProblemStrips(p.dim, (PetscBool)strips));
      PetscCall(TestLimits(&p, ks[(i + 2 * strips) % 5], PC_HJACOBI_SLAB_SKEWED, heights[(i + 2 * strips) % 3]));
      if ((i + strips + size) / 2 % 2)
        PetscCall(TestLimits(&p, ks[(i + 2 * strips) % 5], PC_HJACOBI_SLAB_PYRAMID, heights[(i + 2 * strips) % 3]));
    }
  }
  PetscCall(TestNoNumber());
  return HJTestEnd();
}

static char help[] = "Jacobi on a 3D grid in the host's memory, swept by a GPU of less memory in slabs (Kochurov et al. 2015).\n\
  -n <400>                points in each direction\n\
  -memory <2.5G>          of the GPU that slabs may take; the paper's card had so much\n\
  -heights <-1>           subiterations of a visit, a list; -1: the model's choice\n\
  -subiterations <400>    that are timed\n\
  -csv <file>  -commit <id>  -device <words>   what the CSV says of itself\n\
  -rates                  prints the rates that set-up measured\n\
  -incore <1>             1: all at once on the GPU first, whose values and rate slabs are held against\n";

/*
   Decides what is timed and what it is held against: copies both ways as measured in set-up, and the rate in core. Looks inside the PC for
   the plan.
*/
#include "../../src/pc/hjpc.h"
#include "report.h"
#include <petsctime.h>

static const char columns[] = "n,memory,asked_height,subiterations,repetitions,height,planes,bytes,updates_per_second,copies_per_second,"
                              "in_core_per_second,share_of_limit,seconds,predicted,pinning,setup,difference";

typedef struct {
  PetscInt    n, k, subiterations;
  const char *memory;
  DM          da;
  Mat         A;
  Vec         b, x, y; /* y: the values in core */
  PetscReal   incore;  /* points' updates a second; 0: not measured */
  Output      out;
} Bench;

/* Laplace with a source, as in the paper: 6 x - sum of the neighbours */
static PetscErrorCode BenchCreate(Bench *b)
{
  const MatStencil  at[7]  = {{0}, {.i = -1}, {.i = 1}, {.j = -1}, {.j = 1}, {.k = -1}, {.k = 1}};
  const PetscScalar row[7] = {6, -1, -1, -1, -1, -1, -1};
  PetscScalar      *a;
  PetscInt          m;

  PetscFunctionBegin;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, b->n, b->n, b->n, 1, 1,
                         1, 1, 1, NULL, NULL, NULL, &b->da));
  PetscCall(DMSetUp(b->da));
  PetscCall(MatCreateHJStencil(b->da, &b->A));
  PetscCall(MatHJStencilSetRow(b->A, 7, at, row));
  PetscCall(MatAssemblyBegin(b->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(b->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatGetLocalSize(b->A, &m, NULL));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, m, &b->b));
  PetscCall(VecDuplicate(b->b, &b->x));
  PetscCall(VecGetArray(b->b, &a));
  for (PetscInt i = 0; i < m; i++) a[i] = 1e-3 * (i % 1009 - 504);
  PetscCall(VecRestoreArray(b->b, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchPC(const Bench *b, const char *memory, PetscInt height, PC *pc)
{
  char options[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(options, sizeof(options), "-pc_hjacobi_device_memory %s", memory));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetOperators(*pc, b->A, b->A));
  PetscCall(PCSetDM(*pc, b->da));
  PetscCall(PCSetType(*pc, PCHJACOBI));
  PetscCall(PCHJacobiSetBackend(*pc, PC_HJACOBI_BACKEND_CUDA));
  PetscCall(PCHJacobiSetSchedule(*pc, PC_HJACOBI_SCHEDULE_JACOBI));
  PetscCall(PCHJacobiSetOmega(*pc, 1.0));
  PetscCall(PCHJacobiSetK(*pc, b->k));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCHJacobiSetSlabHeight(*pc, height));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchRun(const Bench *b, PC pc, Vec rhs, Vec x, PetscInt subiterations)
{
  PetscInt                    its;
  PCRichardsonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(PCApplyRichardson(pc, rhs, x, x, 0, 0, 0, subiterations / b->k, PETSC_FALSE, &its, &reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On vectors in device memory; a norm waits for the device */
static PetscErrorCode BenchInCore(Bench *b)
{
#if PetscDefined(HAVE_CUDA)
  PetscInt       m;
  PetscReal      norm;
  PetscLogDouble start, end;
  Vec            rhs, x;
  PC             pc;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(b->b, &m));
  PetscCall(VecCreate(PETSC_COMM_SELF, &rhs));
  PetscCall(VecSetSizes(rhs, m, m));
  PetscCall(VecSetType(rhs, VECSEQCUDA));
  PetscCall(VecDuplicate(rhs, &x));
  PetscCall(BenchPC(b, "0", PETSC_DECIDE, &pc));
  PetscCall(VecCopy(b->b, rhs));
  PetscCall(VecSet(x, 0.0));
  PetscCall(BenchRun(b, pc, rhs, x, b->subiterations));
  PetscCall(VecDuplicate(b->b, &b->y));
  PetscCall(VecCopy(x, b->y));
  PetscCall(BenchRun(b, pc, rhs, x, 2 * b->k));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(PetscTime(&start));
  PetscCall(BenchRun(b, pc, rhs, x, b->subiterations));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(PetscTime(&end));
  b->incore = (PetscReal)m * b->subiterations / (end - start);
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&rhs));
  PetscCall(VecDestroy(&x));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT "^3 in core: %.1f G updates/s\n", b->n, (double)b->incore / 1e9));
  PetscFunctionReturn(PETSC_SUCCESS);
#else
  return PETSC_SUCCESS;
#endif
}

/* Every 17th value, which takes one core of the host less long than the rest */
static PetscErrorCode BenchCompare(const Bench *b, PetscReal *difference, PetscReal *largest)
{
  const PetscScalar *x, *y;
  PetscInt           m;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(b->x, &m));
  PetscCall(VecGetArrayRead(b->x, &x));
  PetscCall(VecGetArrayRead(b->y, &y));
  *difference = *largest = 0;
  for (PetscInt i = 0; i < m; i += 17) {
    *difference = PetscMax(*difference, PetscAbsScalar(x[i] - y[i]));
    *largest    = PetscMax(*largest, PetscAbsScalar(y[i]));
  }
  PetscCall(VecRestoreArrayRead(b->y, &y));
  PetscCall(VecRestoreArrayRead(b->x, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchSlabs(Bench *b, PetscInt height)
{
  PetscLogDouble start, ready, end;
  PetscReal      difference = 0, largest = 0, updates, limit;
  HJSlabsInfo    info;
  PC             pc;

  PetscFunctionBegin;
  PetscCall(PetscTime(&start));
  PetscCall(BenchPC(b, b->memory, height, &pc));
  PetscCall(PetscTime(&ready));
  PetscCheck(((PC_HJacobi *)pc->data)->op->slabs, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "%s is enough for this grid; lower -memory",
             b->memory);
  PetscCall(VecSet(b->x, 0.0));
  PetscCall(PetscTime(&end));
  start += end - ready;
  PetscCall(BenchRun(b, pc, b->b, b->x, b->subiterations));
  PetscCall(PetscTime(&end));
  HJSlabsGetInfo(((PC_HJacobi *)pc->data)->op->slabs, &info);
  if (b->y) {
    PetscCall(BenchCompare(b, &difference, &largest));
    PetscCheck(difference <= 64 * PETSC_MACHINE_EPSILON * b->subiterations * largest, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Slabs and in core differ by %g of %g", (double)difference, (double)largest);
  }
  updates = (PetscReal)info.points * info.subiterations;
  limit   = info.points / info.plan->copy;
  if (b->incore > 0) limit = PetscMin(limit, b->incore);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%" PetscInt_FMT "^3 height %4" PetscInt_FMT " planes %3" PetscInt_FMT
                        " %5.0f MB: %6.1f G/s, limit %6.1f (copies %6.1f, sweeps %6.1f): %3.0f%%; "
                        "%.3f s, predicted %+.1f%%; pinning %.2f s, set-up %.2f s, all %.2f s; difference %.1e\n",
                        b->n, info.plan->height, info.plan->thickness, info.plan->bytes / 1e6, (double)(updates / info.measured / 1e9),
                        (double)limit / 1e9, info.points / (double)info.plan->copy / 1e9, info.points / (double)info.plan->sweep / 1e9,
                        (double)(100 * updates / info.measured / limit), (double)info.measured,
                        (double)(100 * (info.predicted / info.measured - 1)), (double)info.pinning, (double)info.setup,
                        (double)(end - start), (double)difference));
  PetscCall(OutputRow(PETSC_COMM_WORLD, &b->out));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, b->out.csv,
                         "%" PetscInt_FMT ",%s,%" PetscInt_FMT ",%" PetscInt_FMT ",1,%" PetscInt_FMT ",%" PetscInt_FMT
                         ",%zu,%g,%g,%g,%.3f,%g,%g,%g,%g,%g\n",
                         b->n, b->memory, height, b->subiterations, info.plan->height, info.plan->thickness, info.plan->bytes,
                         (double)(updates / info.measured), info.points / (double)info.plan->copy, (double)b->incore,
                         (double)(updates / info.measured / limit), (double)info.measured, (double)info.predicted, (double)info.pinning,
                         (double)info.setup, (double)difference));
  PetscCall(OutputFlush(&b->out));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What set-up measured: the rate of sweeps by their planes */
static PetscErrorCode BenchRates(Bench *b)
{
  HJSlabsInfo info;
  PC          pc;

  PetscFunctionBegin;
  PetscCall(BenchPC(b, b->memory, PETSC_DECIDE, &pc));
  HJSlabsGetInfo(((PC_HJacobi *)pc->data)->op->slabs, &info);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "copies %.1f GB/s; sweeps of %" PetscInt_FMT " by planes, G/s:",
                        1e-9 / (double)info.rates->copy_in, info.plan->count));
  for (PetscInt i = 0; i < info.rates->nsamples; i++)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %" PetscInt_FMT ": %.0f", info.rates->planes[i],
                          1e-9 * info.plan->count * info.rates->planes[i] * b->n * b->n / (double)info.rates->sweep[i]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench          b           = {.n = 400, .k = 4, .subiterations = 400};
  PetscInt       heights[64] = {PETSC_DECIDE}, nheights = 64;
  PetscBool      incore = PETSC_TRUE, rates = PETSC_FALSE, set;
  char           memory[32] = "2.5G";
  PetscLogDouble start, end;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &b.n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-subiterations", &b.subiterations, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-memory", memory, sizeof(memory), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-incore", &incore, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-rates", &rates, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-heights", heights, &nheights, &set));
  if (!set) nheights = 1;
  b.memory = memory;
  PetscCall(OutputOpen(columns, &b.out));
  PetscCall(PetscTime(&start));
  PetscCall(BenchCreate(&b));
  PetscCall(PetscTime(&end));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT "^3: grid, matrix and vectors made in %.1f s\n", b.n, (double)(end - start)));
  if (incore) PetscCall(BenchInCore(&b));
  if (rates) PetscCall(BenchRates(&b));
  for (PetscInt i = 0; i < nheights; i++) PetscCall(BenchSlabs(&b, heights[i]));
  PetscCall(VecDestroy(&b.b));
  PetscCall(VecDestroy(&b.x));
  PetscCall(VecDestroy(&b.y));
  PetscCall(MatDestroy(&b.A));
  PetscCall(DMDestroy(&b.da));
  PetscCall(PetscFinalize());
  return 0;
}

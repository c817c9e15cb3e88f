/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "Jacobi on a grid in the host's memory, swept by a GPU of less memory in slabs (Kochurov et al. 2015).\n\
  -cases <heights,paper>  heights: each of -heights beside its prediction; paper: its iterations, with norms; host: the CPU, all ranks\n\
  -n <800>                points in each direction; two or three numbers: of a grid in 2D, in 3D\n\
  -memory <2.5G>          of the GPU that slabs may take; the paper's card had so much\n\
  -heights <-1>           subiterations of a visit, a list; -1: the model's choice\n\
  -pyramids <list>        heights: the paper's pyramids of these heights too; -1: the model's choice among them\n\
  -subiterations <400>    that are timed\n\
  -iterations <8300>      paper: for which the time is scaled up; -paper <seconds>: what the paper took\n\
  -seconds <20>           paper: that are run, at most; -tolerance <0>: the largest update at which they end\n\
  -x <file>               x lies in this file and stays there, so that another call goes on from it, as in /dev/shm\n\
  -after <file>           waits for this file when the grid is made: of several runs one makes its grid while another measures\n\
  -csv <file>  -commit <id>  -device <words>   what the CSV says of itself\n\
  -bare                   without DMDA, matrix and PC, of which PETSc's part takes a minute and 36 bytes a point: the operator alone\n\
  -rates                  prints the rates that set-up measured\n\
  -incore <1>             1: all at once on the GPU first, whose values and rate slabs are held against\n";

/*
   Decides what is timed and what it is held against: copies both ways as measured in set-up, and the rate in core. Looks inside the PC for
   the plan.
*/
#define _GNU_SOURCE
#include "pc/hjpc.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/backend/hjslab_cuda.h"
  #include <petscdevice.h>
#endif
#include "report.h"
#include <fcntl.h>
#include <petsctime.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define TOUCH_THREADS 8

/* HEIGHTS needs a GPU */
enum { HEIGHTS, PAPER, HOST, NCASES };
static const char *const cases[NCASES] = {"heights", "paper", "host"};

static const char
  columns[] = "case,n,memory,asked_height,subiterations,repetitions,height,planes,bytes,updates_per_second,copies_per_second,"
              "in_core_per_second,share_of_limit,seconds,predicted,pinning,setup,difference,iterations,all_seconds,times_paper";

typedef struct {
  PetscInt          dim, N[3], k, subiterations, warm;
  char              size[32], name[32]; /* of the grid, for the CSV, for the user */
  PetscBool         host;               /* the host backend, on all ranks */
  PetscBool         bare;
  size_t            limit; /* memory, where it is bare */
  PCHJacobiSlabType type;
  const char       *memory, *file;
  DM                da;
  Mat               A;
  Vec               b, x, y; /* y: the values in core */
  PetscReal         incore;  /* points' updates a second; 0: not measured */
  Output            out;
} Bench;

/* What does the cycles: of pc, or, bare, by itself */
typedef struct {
  PC          pc;
  HJOperator *op;
  HJWeights  *w, own;
} Solver;

/* What a row says */
typedef struct {
  const char *name;
  PetscInt    asked, subiterations;
  HJSlabsInfo info;
  PetscReal   rate, limit, measured, predicted, difference, seconds, times;
  PetscInt    iterations;
} Row;

static PetscErrorCode BenchRow(Bench *b, const Row *r)
{
  const HJSlabPlan *p = r->info.plan;

  PetscFunctionBegin;
  PetscCall(OutputRow(PETSC_COMM_WORLD, &b->out));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, b->out.csv,
                         "%s,%s,%s,%" PetscInt_FMT ",%" PetscInt_FMT ",1,%" PetscInt_FMT ",%" PetscInt_FMT
                         ",%zu,%g,%g,%g,%.3f,%g,%g,%g,%g,%g,%" PetscInt_FMT ",%g,%g\n",
                         r->name, b->size, b->memory, r->asked, r->subiterations, p ? p->height : 0, p ? p->thickness : 0, p ? p->bytes : 0,
                         (double)r->rate, p ? (double)(r->info.points / p->copy) : 0., (double)b->incore,
                         r->limit > 0 ? (double)(r->rate / r->limit) : 0., (double)r->measured, (double)r->predicted,
                         (double)r->info.pinning, (double)r->info.setup, (double)r->difference, r->iterations, (double)r->seconds,
                         (double)r->times));
  PetscCall(OutputFlush(&b->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory of a virtual machine is slow when it is first written: by some threads, each its part */
static void *BenchTouch(void *part)
{
  memset(((char **)part)[0], 0, (size_t)(((char **)part)[1] - ((char **)part)[0]));
  return NULL;
}

static PetscErrorCode BenchTouchAll(char *a, size_t bytes)
{
  pthread_t thread[TOUCH_THREADS];
  char     *part[TOUCH_THREADS][2];

  PetscFunctionBegin;
  for (size_t i = 0; i < TOUCH_THREADS; i++) {
    part[i][0] = a + bytes / TOUCH_THREADS * i;
    part[i][1] = i == TOUCH_THREADS - 1 ? a + bytes : part[i][0] + bytes / TOUCH_THREADS;
    PetscCheck(!pthread_create(&thread[i], NULL, BenchTouch, part[i]), PETSC_COMM_SELF, PETSC_ERR_SYS, "a thread cannot be started");
  }
  for (int i = 0; i < TOUCH_THREADS; i++) (void)pthread_join(thread[i], NULL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory of a vector: not PETSc's, so that it can lie in a file, or in large pages */
static PetscErrorCode BenchMap(PetscInt m, const char *file, Vec *v)
{
  const size_t bytes = sizeof(PetscScalar) * (size_t)m;
  void        *a;

  PetscFunctionBegin;
  if (file) {
    const int fd = open(file, O_RDWR | O_CREAT, 0600);

    PetscCheck(fd >= 0 && !ftruncate(fd, (off_t)bytes), PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s cannot be made %zu bytes long", file,
               bytes);
    a = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
  } else {
    a = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (a != MAP_FAILED) (void)madvise(a, bytes, MADV_HUGEPAGE);
  }
  PetscCheck(a != MAP_FAILED, PETSC_COMM_SELF, PETSC_ERR_MEM, "no memory for %zu bytes", bytes);
  if (!file) PetscCall(BenchTouchAll((char *)a, bytes));
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, m, (PetscScalar *)a, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BenchUnmap(Vec *v)
{
  PetscScalar *a, *array;
  PetscInt     m;

  PetscFunctionBegin;
  if (!*v) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(*v, &m));
  PetscCall(VecGetArray(*v, &array));
  a = array;
  PetscCall(VecRestoreArray(*v, &array));
  PetscCall(VecDestroy(v));
  (void)munmap(a, sizeof(PetscScalar) * (size_t)m);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Laplace with a source, as in the paper: 6 x - sum of the neighbours, in 2D 4 x. Bare: the operator wants a small one */
static PetscErrorCode BenchCreate(Bench *b)
{
  const DMBoundaryType none   = DM_BOUNDARY_NONE;
  const MatStencil     at[7]  = {{0}, {.i = -1}, {.i = 1}, {.j = -1}, {.j = 1}, {.k = -1}, {.k = 1}};
  PetscScalar          row[7] = {2.0 * b->dim, -1, -1, -1, -1, -1, -1}, *a;
  PetscInt             m;

  PetscFunctionBegin;
  PetscCall(DMDACreate(PETSC_COMM_WORLD, &b->da));
  PetscCall(DMSetDimension(b->da, b->dim));
  if (b->bare) PetscCall(DMDASetSizes(b->da, 4, 4, b->dim == 3 ? 4 : 1));
  else PetscCall(DMDASetSizes(b->da, b->N[0], b->N[1], b->N[2]));
  PetscCall(DMDASetBoundaryType(b->da, none, none, none));
  PetscCall(DMDASetDof(b->da, 1));
  PetscCall(DMDASetStencilWidth(b->da, 1));
  PetscCall(DMDASetStencilType(b->da, DMDA_STENCIL_STAR));
  PetscCall(DMSetUp(b->da));
  PetscCall(MatCreateHJStencil(b->da, &b->A));
  PetscCall(MatHJStencilSetRow(b->A, 1 + 2 * b->dim, at, row));
  PetscCall(MatAssemblyBegin(b->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(b->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatGetLocalSize(b->A, &m, NULL));
  if (b->bare) m = b->N[0] * b->N[1] * b->N[2];
  if (!b->host) {
    PetscCall(BenchMap(m, NULL, &b->b));
    PetscCall(BenchMap(m, b->file, &b->x));
  } else {
    PetscCall(DMCreateGlobalVector(b->da, &b->b));
    PetscCall(VecDuplicate(b->b, &b->x));
  }
  PetscCall(VecGetArray(b->b, &a));
  for (PetscInt i = 0, v = -504; i < m; i++, v = v == 504 ? -504 : v + 1) a[i] = 1e-3 * v;
  PetscCall(VecRestoreArray(b->b, &a));
  if (b->host) PetscCall(VecSet(b->x, 0.0)); /* memory that was mapped is zero */
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
  PetscCall(PCHJacobiSetBackend(*pc, b->host ? PC_HJACOBI_BACKEND_HOST : PC_HJACOBI_BACKEND_CUDA));
  PetscCall(PCHJacobiSetSchedule(*pc, PC_HJACOBI_SCHEDULE_JACOBI));
  PetscCall(PCHJacobiSetOmega(*pc, 1.0));
  PetscCall(PCHJacobiSetK(*pc, b->k));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCHJacobiSetSlabType(*pc, b->type));
  PetscCall(PCHJacobiSetSlabHeight(*pc, height));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As set-up of the PC makes it from the matrix: one row, and a byte a point */
static PetscErrorCode BenchBare(const Bench *b, Solver *s)
{
  const PetscInt tile[3] = {1, 1, 1}, dim = b->dim;
  HJGrid         grid = {.dim = dim, .min_width = PETSC_INT_MAX};
  HJStencil     *st;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) grid.N[d] = grid.owned.hi[d] = grid.domain.hi[d] = b->N[d];
  PetscCall(PetscNew(&st));
  *st = (HJStencil){.dim = dim, .nslots = 1 + 2 * dim, .box = grid.owned, .mtype = PETSC_MEMTYPE_HOST, .nrows = 1, .gershgorin = 2};
  PetscCall(PetscMalloc1(7, &st->rows));
  PetscCall(PetscMalloc1(1, &st->dinv_rows));
  PetscCall(PetscCalloc1(HJBoxSize(&grid.owned), &st->index));
  for (PetscInt i = 0; i <= 2 * dim; i++) st->rows[i] = i ? -0.5 / dim : 1;
  st->dinv_rows[0] = 0.5 / dim;
  s->w->k          = b->k;
  PetscCall(PetscMalloc1(b->k, &s->w->w));
  for (PetscInt i = 0; i < b->k; i++) s->w->w[i] = 1;
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(HJOperatorCreateFromStencil(b->da, &grid, st, -1, tile, b->limit ? &HJBackendHost : &HJBackendCUDA, &HJHaloPetscSF, &s->op));
#else
  PetscCall(HJOperatorCreateFromStencil(b->da, &grid, st, -1, tile, &HJBackendHost, &HJHaloPetscSF, &s->op));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* memory 0: in core */
static PetscErrorCode BenchSolver(Bench *b, const char *memory, PetscInt height, Solver *s)
{
  char *unit;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  if (!b->bare) {
    PetscCall(BenchPC(b, memory, height, &s->pc));
    s->op = ((PC_HJacobi *)s->pc->data)->op;
    s->w  = &((PC_HJacobi *)s->pc->data)->w;
  } else {
    b->limit = (size_t)(strtod(memory, &unit) * (*unit == 'G' ? 1 << 30 : *unit == 'M' ? 1 << 20 : 1));
    s->w     = &s->own;
    PetscCall(BenchBare(b, s));
#if defined(HJACOBI_HAVE_CUDA)
    if (b->limit) PetscCall(HJOperatorSetSlabs(s->op, &HJSlabsCUDA, b->limit, b->type, height));
#endif
  }
  PetscCheck(s->op->slabs || *memory == '0', PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "%s is enough for this grid; lower -memory", memory);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolverDestroy(Solver *s)
{
  PetscFunctionBegin;
  if (!s->pc) PetscCall(HJOperatorDestroy(&s->op));
  PetscCall(HJWeightsReset(&s->own));
  PetscCall(PCDestroy(&s->pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* subiterations is a multiple of k */
static PetscErrorCode BenchRun(const Bench *b, const Solver *s, Vec rhs, Vec x, PetscInt subiterations)
{
  PetscInt                    its;
  PCRichardsonConvergedReason reason;

  PetscFunctionBegin;
  if (s->pc) PetscCall(PCApplyRichardson(s->pc, rhs, x, x, 0, 0, 0, subiterations / b->k, PETSC_FALSE, &its, &reason));
  else PetscCall(HJOperatorRun(s->op, s->w, &(HJRun){.its = subiterations / b->k, .b = rhs, .x = x}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The plan, what limits it, and what was measured beside it */
static void RowSet(const Bench *b, HJSlabs slabs, const HJSlabsInfo *before, Row *r)
{
  HJSlabsGetInfo(slabs, &r->info);
  r->subiterations = (PetscInt)(r->info.subiterations - before->subiterations);
  r->measured      = r->info.measured - before->measured;
  r->predicted     = r->info.predicted - before->predicted;
  r->rate          = (PetscReal)r->info.points * r->subiterations / r->measured;
  r->limit         = r->info.points / r->info.plan->copy;
  if (b->incore > 0) r->limit = PetscMin(r->limit, b->incore);
}

#if defined(HJACOBI_HAVE_CUDA)
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

/* On vectors in device memory; a norm waits for the device. Keeps what slabs' values are held against */
static PetscErrorCode BenchInCore(Bench *b)
{
  PetscInt       m;
  PetscReal      norm;
  PetscLogDouble start, end;
  Vec            rhs, x;
  Solver         solver;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(b->b, &m));
  PetscCall(VecCreate(PETSC_COMM_SELF, &rhs));
  PetscCall(VecSetSizes(rhs, m, m));
  PetscCall(VecSetType(rhs, VECSEQCUDA));
  PetscCall(VecDuplicate(rhs, &x));
  PetscCall(BenchSolver(b, "0", PETSC_DECIDE, &solver));
  PetscCall(VecCopy(b->b, rhs));
  PetscCall(VecSet(x, 0.0));
  PetscCall(BenchRun(b, &solver, rhs, x, b->warm));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(PetscTime(&start));
  PetscCall(BenchRun(b, &solver, rhs, x, b->subiterations));
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(PetscTime(&end));
  PetscCall(BenchMap(m, NULL, &b->y));
  PetscCall(VecCopy(x, b->y));
  b->incore = (PetscReal)m * b->subiterations / (end - start);
  PetscCall(SolverDestroy(&solver));
  PetscCall(VecDestroy(&rhs));
  PetscCall(VecDestroy(&x));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s in core: %.1f G updates/s\n", b->name, (double)b->incore / 1e9));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some subiterations that lay kernels out, then those that are timed: whole visits. Vectors are pinned already. best: the rate, if more */
static PetscErrorCode BenchHeight(Bench *b, PetscInt height, PetscReal *best)
{
  Row         r       = {.name = b->type == PC_HJACOBI_SLAB_PYRAMID ? "pyramids" : "heights", .asked = height};
  PetscReal   largest = 0;
  PetscInt    timed;
  HJSlabsInfo before;
  Solver      solver;

  PetscFunctionBegin;
  PetscCall(BenchSolver(b, b->memory, height, &solver));
  if (b->y) PetscCall(VecSet(b->x, 0.0));
  HJSlabsGetInfo(solver.op->slabs, &before);
  timed = PetscMax(b->subiterations / before.plan->height, 1) * before.plan->height / b->k * b->k;
  PetscCall(BenchRun(b, &solver, b->b, b->x, b->warm + b->subiterations - timed));
  HJSlabsGetInfo(solver.op->slabs, &before);
  PetscCall(BenchRun(b, &solver, b->b, b->x, timed));
  RowSet(b, solver.op->slabs, &before, &r);
  *best = PetscMax(*best, r.rate);
  if (b->y) {
    PetscCall(BenchCompare(b, &r.difference, &largest));
    PetscCheck(r.difference <= 64 * PETSC_MACHINE_EPSILON * (b->warm + b->subiterations) * largest, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Slabs and in core differ by %g of %g", (double)r.difference, (double)largest);
  }
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%s %s height %4" PetscInt_FMT "%s planes %3" PetscInt_FMT
                        " %5.0f MB: %6.1f G/s, limit %6.1f (copies %6.1f, sweeps %6.1f): %3.0f%%; "
                        "%.3f s, predicted %+.1f%%; set-up %.2f s; difference %.1e\n",
                        b->name, HJSlabIsPyramid(r.info.plan) ? "pyramid" : "slab", r.info.plan->height, height < 0 ? "*" : " ",
                        r.info.plan->thickness, r.info.plan->bytes / 1e6, (double)r.rate / 1e9, (double)r.limit / 1e9,
                        r.info.points / (double)r.info.plan->copy / 1e9, r.info.points / (double)r.info.plan->sweep / 1e9,
                        (double)(100 * r.rate / r.limit), (double)r.measured, (double)(100 * (r.predicted / r.measured - 1)),
                        (double)r.info.setup, (double)r.difference));
  PetscCall(BenchRow(b, &r));
  PetscCall(SolverDestroy(&solver));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sweep of heights on vectors that are pinned once, then one of pyramids */
static PetscErrorCode BenchHeights(Bench *b, PetscInt n, const PetscInt heights[], PetscInt npyramids, const PetscInt pyramids[],
                                   PetscBool incore)
{
  PetscReal          best[2] = {0, 0};
  const PetscScalar *a[2], *array;
  const Vec          v[2] = {b->b, b->x};
  PetscBool          pinned[2];
  PetscInt           m;
  PetscLogDouble     start, end;

  PetscFunctionBegin;
  PetscCall(PetscTime(&start));
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(VecGetLocalSize(b->b, &m));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecGetArrayRead(v[i], &array));
    a[i] = array;
    PetscCall(HJSlabsCUDA.pin(NULL, a[i], sizeof(PetscScalar) * (size_t)m, &pinned[i]));
    PetscCall(VecRestoreArrayRead(v[i], &array));
  }
  PetscCall(PetscTime(&end));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: page-locking %.2f s\n", b->name, (double)(end - start)));
  if (incore) PetscCall(BenchInCore(b));
  for (PetscInt i = 0; i < n; i++) PetscCall(BenchHeight(b, heights[i], &best[0]));
  b->type = PC_HJACOBI_SLAB_PYRAMID;
  for (PetscInt i = 0; i < npyramids; i++) PetscCall(BenchHeight(b, pyramids[i], &best[1]));
  b->type = PC_HJACOBI_SLAB_SKEWED;
  if (n && npyramids)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %.1f times as fast as by pyramids\n", b->name, (double)(best[0] / best[1])));
  for (int i = 0; i < 2; i++)
    if (pinned[i]) PetscCall(HJSlabsCUDA.unpin(NULL, a[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* What the paper's algorithm 1 stops by; *stop where the time is over too */
typedef struct {
  const Bench   *b;
  PetscReal      norm, tolerance, seconds;
  PetscLogDouble start;
} PaperTest;

static PetscErrorCode BenchPaperTest(void *ctx, PetscCount done, PetscReal norm, PetscBool *stop)
{
  PaperTest     *t = (PaperTest *)ctx;
  PetscLogDouble now;

  PetscFunctionBegin;
  PetscCall(PetscTime(&now));
  t->norm = norm;
  *stop   = (PetscBool)(norm <= t->tolerance || now - t->start >= t->seconds);
  if (t->b->file)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt64_FMT " subiterations: largest update %g\n", (PetscInt64)done, (double)norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   As the paper's algorithm 1: n subiterations, the largest update of the last, and so on. From a program's start to its end: set-up,
   page-locking, all. A share of the iterations where they take longer than seconds, and the time of all
*/
static PetscErrorCode BenchPaper(Bench *b, PetscInt height, PetscInt iterations, PetscReal paper, PetscReal tolerance, PetscReal seconds)
{
  Row                r    = {.name = "paper", .asked = height, .iterations = iterations};
  PaperTest          test = {.b = b, .tolerance = tolerance, .seconds = seconds};
  PetscCount         done;
  PetscLogDouble     start, end;
  HJSlabsInfo        before;
  const PetscScalar *rhs;
  PetscScalar       *x;
  Solver             solver;

  PetscFunctionBegin;
  PetscCall(PetscTime(&start));
  PetscCall(BenchSolver(b, b->memory, height, &solver));
  PetscCall(VecGetArrayRead(b->b, &rhs));
  PetscCall(VecGetArray(b->x, &x));
  HJSlabsGetInfo(solver.op->slabs, &before);
  PetscCall(PetscTime(&test.start));
  {
    const HJSlabCheck check = {.every = before.plan->height, .type = NORM_INFINITY, .test = BenchPaperTest, .ctx = &test};

    PetscCall(HJSlabsRun(solver.op->slabs, solver.w, iterations, PETSC_FALSE, rhs, x, &check, &done));
  }
  PetscCall(VecRestoreArray(b->x, &x));
  PetscCall(VecRestoreArrayRead(b->b, &rhs));
  PetscCall(PetscTime(&end));
  RowSet(b, solver.op->slabs, &before, &r);
  if (test.norm <= tolerance) r.iterations = (PetscInt)done;
  r.seconds = end - start + (r.iterations - done) * r.measured / done;
  r.times   = paper / r.seconds;
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD,
                "%s as algorithm 1: height %" PetscInt_FMT " planes %" PetscInt_FMT ", %" PetscInt64_FMT " of %" PetscInt_FMT
                " iterations, %.2f s (%.1f G/s, %.0f%% of the limit, predicted %+.1f%%), page-locking %.2f s, set-up %.2f s, in all "
                "%.2f s before the first; all iterations %.1f s%s: %.1f times the paper's %.0f s; largest update %g\n",
                b->name, r.info.plan->height, r.info.plan->thickness, (PetscInt64)done, r.iterations, (double)r.measured,
                (double)r.rate / 1e9, (double)(100 * r.rate / r.limit), (double)(100 * (r.predicted / r.measured - 1)),
                (double)r.info.pinning, (double)r.info.setup, (double)(test.start - start), (double)r.seconds,
                done < r.iterations ? " (scaled)" : "", (double)r.times, (double)paper, (double)test.norm));
  PetscCall(BenchRow(b, &r));
  PetscCall(SolverDestroy(&solver));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The host backend on all ranks */
static PetscErrorCode BenchHost(Bench *b, PetscInt iterations)
{
  Row            r = {.name = "host", .iterations = iterations, .subiterations = b->subiterations};
  PetscLogDouble start, end;
  PetscMPIInt    size;
  Solver         solver;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(BenchSolver(b, "0", PETSC_DECIDE, &solver));
  PetscCall(BenchRun(b, &solver, b->b, b->x, b->k));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&start));
  PetscCall(BenchRun(b, &solver, b->b, b->x, b->subiterations));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&end));
  r.measured = end - start;
  r.rate     = (PetscReal)b->N[0] * b->N[1] * b->N[2] * b->subiterations / r.measured;
  r.seconds  = r.measured * iterations / b->subiterations;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s on the host, %d ranks: %.2f G/s; %" PetscInt_FMT " iterations %.1f s\n", b->name, (int)size,
                        (double)r.rate / 1e9, iterations, (double)r.seconds));
  PetscCall(BenchRow(b, &r));
  PetscCall(SolverDestroy(&solver));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What set-up measured: the rate of sweeps by their planes */
static PetscErrorCode BenchRates(Bench *b)
{
  HJSlabsInfo info;
  Solver      solver;

  PetscFunctionBegin;
  PetscCall(BenchSolver(b, b->memory, PETSC_DECIDE, &solver));
  HJSlabsGetInfo(solver.op->slabs, &info);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "copies %.1f GB/s; sweeps of %" PetscInt_FMT " by planes, G/s:",
                        1e-9 / (double)info.rates->copy_in, info.plan->count));
  for (PetscInt i = 0; i < info.rates->nsamples; i++)
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, " %" PetscInt_FMT ": %.0f", info.rates->planes[i],
                  1e-9 * info.plan->count * info.rates->planes[i] * (info.points / b->N[b->dim - 1]) / (double)info.rates->sweep[i]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscCall(SolverDestroy(&solver));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The paper's iterations and seconds, where it has the grid; else as many as its 1000^3 would need by the square of n */
static void BenchPaperDefaults(PetscInt n, PetscInt *iterations, PetscReal *paper)
{
  *iterations = n == 800 ? 8300 : n == 900 ? 11200 : n == 1000 ? 12300 : (PetscInt)(12300e-6 * n * n);
  *paper      = n == 800 ? 1353 : n == 900 ? 2671 : n == 1000 ? 4218 : 0;
}

/* One number: a cube */
static PetscErrorCode BenchSize(Bench *b)
{
  PetscInt  n = 3;
  PetscBool set;

  PetscFunctionBegin;
  b->N[0] = 800;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", b->N, &n, &set));
  if (!set || n == 1) {
    b->N[1] = b->N[2] = b->N[0];
    PetscCall(PetscSNPrintf(b->size, sizeof(b->size), "%" PetscInt_FMT, b->N[0]));
    PetscCall(PetscSNPrintf(b->name, sizeof(b->name), "%" PetscInt_FMT "^3", b->N[0]));
  } else {
    if (n == 2) b->N[2] = 1;
    PetscCall(PetscSNPrintf(b->size, sizeof(b->size), "%" PetscInt_FMT "x%" PetscInt_FMT, b->N[0], b->N[1]));
    if (n == 3) PetscCall(PetscSNPrintf(b->size + strlen(b->size), sizeof(b->size) - strlen(b->size), "x%" PetscInt_FMT, b->N[2]));
    PetscCall(PetscStrncpy(b->name, b->size, sizeof(b->name)));
  }
  b->dim = set && n == 2 ? 2 : 3;
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench          b           = {.k = 4, .subiterations = 400, .type = PC_HJACOBI_SLAB_SKEWED};
  PetscInt       heights[64] = {PETSC_DECIDE}, nheights = 64, pyramids[64], npyramids = 64, iterations;
  PetscBool      incore = PETSC_TRUE, rates = PETSC_FALSE, wanted[NCASES], set, file, wait;
  PetscReal      paper, tolerance = 0, seconds = 20;
  char           memory[32] = "2.5G", path[PETSC_MAX_PATH_LEN], after[PETSC_MAX_PATH_LEN];
  PetscLogDouble start, end;

  (void)setvbuf(stdout, NULL, _IOLBF, 0); /* what is known is there where the time is over */
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(BenchSize(&b));
  BenchPaperDefaults(b.N[0], &iterations, &paper);
  PetscCall(ReadNames("-cases", NCASES, cases, HOST, wanted));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-subiterations", &b.subiterations, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-iterations", &iterations, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-paper", &paper, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &seconds, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-tolerance", &tolerance, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-memory", memory, sizeof(memory), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-x", path, sizeof(path), &file));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-after", after, sizeof(after), &wait));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-incore", &incore, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-rates", &rates, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-bare", &b.bare, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-heights", heights, &nheights, &set));
  if (!set) nheights = 1;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-pyramids", pyramids, &npyramids, &set));
  if (!set) npyramids = 0;
  b.memory = memory;
  b.host   = wanted[HOST];
  PetscCheck(!b.bare || !b.host, PETSC_COMM_WORLD, PETSC_ERR_ARG_INCOMP, "-bare is for the GPU; leave it out with -cases host");
  b.file = file ? path : NULL;
  b.warm = 128;
  PetscCall(OutputOpen(columns, &b.out));
  PetscCall(PetscTime(&start));
  PetscCall(BenchCreate(&b));
  PetscCall(PetscTime(&end));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: grid, matrix and vectors made in %.1f s\n", b.name, (double)(end - start)));
  while (wait && access(after, F_OK)) (void)usleep(100000);
  if (rates) PetscCall(BenchRates(&b));
  if (b.host) PetscCall(BenchHost(&b, iterations));
#if defined(HJACOBI_HAVE_CUDA)
  if (wanted[HEIGHTS]) PetscCall(BenchHeights(&b, nheights, heights, npyramids, pyramids, incore));
#else
  (void)incore;
  (void)pyramids;
#endif
  if (wanted[PAPER]) PetscCall(BenchPaper(&b, heights[0], iterations, paper, tolerance, seconds));
  PetscCall(BenchUnmap(&b.y));
  if (b.host) {
    PetscCall(VecDestroy(&b.b));
    PetscCall(VecDestroy(&b.x));
  } else {
    PetscCall(BenchUnmap(&b.b));
    PetscCall(BenchUnmap(&b.x));
  }
  PetscCall(MatDestroy(&b.A));
  PetscCall(DMDestroy(&b.da));
  PetscCall(PetscFinalize());
  return 0;
}

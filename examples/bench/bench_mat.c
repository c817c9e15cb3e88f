static char
  help[] = "The stencil matrix (hjstencil) beside AIJ, ratios measured in one run: products, transfers, CG + multigrid, set-up, memory.\n\
  -cases <mult2d,mult3d,transfer2d,transfer3d,mg2d,mg3d,small2d,small3d,jump2d,variable3d,whole3d,setup2d,setup3d,refresh2d,refresh3d>\n\
                       comma-separated; run in this order\n\
  -n2 <n> -n3 <n>      points in each direction, in place of those of the case (m 2^l + 1)\n\
  -k <list>            sweeps of hjacobi that are tried (default: a few)\n\
  -leave_out <list>    how many of the coarsest grids are left out, the next one then solved by hjacobi (default: 0, on GPUs 0 and some;\n\
                        on GPUs, where there are several, also as many as leave factors of at most 1152 points)\n\
  -peer_k <list> -peer_leave_out <list>   the same of hjacobi on AIJ, and of both methods on AIJ (default: those of -k, -leave_out)\n\
  -peer <1>            0: without AIJ, for a quick look\n\
  -cpu_time            the processor's time in place of the clock's, on a CPU that others use too; one rank\n\
  -repetitions <5>\n\
  -doors <values,arrays,row,coo>   by which the cases setup2d and setup3d fill hjstencil; COO of AIJ goes with coo\n\
  -budget <0>          seconds after which no other case is begun\n\
  -csv <file>  -commit <id>  -device <words>   what the CSV says of itself\n\
GPU: add -dm_vec_type cuda; AIJ is then aijcusparse\n";

/*
   Decides what is timed, how it is checked first, and which bar it is held against. Decides no problem (problem.h) and no way of filling
   a matrix (doors.h). A timing ends when the device is done (MachineTime()).
*/
#include "doors.h"
#include "machine.h"
#include "report.h"

typedef struct {
  PetscInt k[8], nk, leave_out[4], nleave;
} Tries;

typedef struct {
  PetscInt    repetitions, n[4];
  Tries       tries[2]; /* on hjstencil, on AIJ */
  PetscBool   cuda, peer, cpu_time, doors[4];
  const char *aij;
  Door        aij_door; /* the fastest of AIJ on so many ranks */
  PetscMPIInt size;
  Vec         probe; /* of the device whose end is waited for */
  Output      out;
} Bench;

/* What is measured of one matrix type */
typedef struct {
  const char *what, *type, *unit;
  PetscInt    k;       /* sweeps; 0: none */
  PetscReal   value;   /* 0: seconds are the value */
  PetscReal   peer;    /* how many times as good as AIJ; 0: not compared */
  PetscReal   bar;     /* of the value, or of peer; 0: none */
  PetscReal   reached; /* 1: the bar is met */
} Row;

static PetscErrorCode Report(Bench *b, const char *name, const Problem *p, const Times *t, Row r)
{
  const PetscReal median = t ? Median(t) : 0, spread = t ? Spread(t) : 0;
  const PetscInt  n = t ? t->n : 1;
  char            what[128];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), b->size > 1 ? "%s, %d ranks" : "%s", r.what, (int)b->size));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-10s %5" PetscInt_FMT "^%" PetscInt_FMT " %-44s %-11s", name, p->n, p->dim, what, r.type));
  if (r.k) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " k %-2" PetscInt_FMT, r.k));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "     "));
  if (t) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %10.4f ms +%3.0f%%", 1e3 * (double)median, 100 * (double)spread));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %19s", ""));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %9.4g %-7s", (double)r.value, r.unit));
  if (r.peer > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " aij x %.2f", (double)r.peer));
  if (r.bar > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  bar %g: %.2f", (double)r.bar, (double)r.reached));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscCall(OutputRow(PETSC_COMM_WORLD, &b->out));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, b->out.csv,
                         "%s,%" PetscInt_FMT ",%" PetscInt_FMT ",\"%s\",%s,%" PetscInt_FMT ",%" PetscInt_FMT
                         ",%.6g,%.4f,%.6g,%s,%.4f,%g,%.4f\n",
                         name, p->dim, p->n, what, r.type, n, r.k, (double)median, (double)spread, (double)r.value, r.unit, (double)r.peer,
                         (double)r.bar, (double)r.reached));
  PetscCall(OutputFlush(&b->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Polynomial, cheap, and another value at each point: no dictionary holds the rows */
static PetscReal CheapCoefficient(const PetscReal x[3])
{
  return 1 + x[0] + x[1] * x[1] + x[0] * x[2];
}

static PetscReal JumpCoefficient(const PetscReal x[3])
{
  return x[0] > 0.3 && x[0] < 0.7 && x[1] > 0.25 && x[1] < 0.6 ? 1e4 : 1;
}

static PetscErrorCode CheckSame(const char what[], PetscReal limit, Vec x, Vec y)
{
  PetscReal norm, difference;

  PetscFunctionBegin;
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(y, -1.0, x));
  PetscCall(VecNorm(y, NORM_INFINITY, &difference));
  PetscCheck(difference <= limit * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: hjstencil and AIJ differ by %g of %g", what,
             (double)difference, (double)norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Clock(const Bench *b, PetscLogDouble *seconds)
{
  PetscFunctionBegin;
  PetscCall(MachineTime(b->probe, (PetscBool)(b->cpu_time && !b->cuda), seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One of the operations that are timed alone */
typedef struct {
  enum { MULT, RESIDUAL, RESTRICT, INTERPOLATE_ADD, COPY } what;
  Mat A;
  Vec x, b, y; /* y = A x; y = b - A x; y = A^T x; y = y + A x; y = x */
} Operation;

static PetscErrorCode Operate(const Operation *o)
{
  PetscFunctionBegin;
  switch (o->what) {
  case MULT:
    PetscCall(MatMult(o->A, o->x, o->y));
    break;
  case RESIDUAL:
    PetscCall(MatResidual(o->A, o->b, o->x, o->y));
    break;
  case RESTRICT:
    PetscCall(MatRestrict(o->A, o->x, o->y));
    break;
  case INTERPOLATE_ADD:
    PetscCall(MatInterpolateAdd(o->A, o->x, o->y, o->y));
    break;
  default:
    PetscCall(VecCopy(o->x, o->y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each repetition lasts about 20 ms */
static PetscErrorCode TimeOperation(Bench *b, const Operation *o, Times *t)
{
  PetscLogDouble t0 = 0, t1 = 0;
  PetscInt       n = 1;

  PetscFunctionBegin;
  t->n = b->repetitions;
  for (PetscInt r = -2; r < t->n; r++) {
    PetscCall(Clock(b, &t0));
    for (PetscInt i = 0; i < n; i++) PetscCall(Operate(o));
    PetscCall(Clock(b, &t1));
    t->s[PetscMax(r, 0)] = (t1 - t0) / n;
    if (r < 0) n = (PetscInt)PetscClipInterval(0.02 * n / (t1 - t0 + 1e-6) + 1, 1, 500);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes a second of VecCopy() */
static PetscErrorCode TimeCopy(Bench *b, Vec x, Vec y, PetscReal *rate)
{
  const Operation o = {.what = COPY, .x = x, .y = y};
  Times           t;
  PetscInt        n;

  PetscFunctionBegin;
  PetscCall(TimeOperation(b, &o, &t));
  PetscCall(VecGetSize(x, &n));
  *rate = 2.0 * n * sizeof(PetscScalar) / Median(&t);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateGrid(const Problem *p, const char type[], PetscBool skip, DM *da)
{
  PetscFunctionBegin;
  PetscCall(ProblemCreateDM(PETSC_COMM_WORLD, p, da));
  PetscCall(DMSetMatType(*da, type));
  PetscCall(DMSetMatrixPreallocateSkip(*da, skip));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By the fastest door of each type: [0] hjstencil, [1] AIJ if peers are wanted */
static PetscErrorCode CreatePair(const Bench *b, const Problem *p, DM da[2], Mat A[2])
{
  PetscFunctionBegin;
  for (int i = 0; i < 1 + (int)b->peer; i++) {
    const Door door = i ? b->aij_door : DOOR_ARRAYS;

    PetscCall(CreateGrid(p, i ? b->aij : "hjstencil", (PetscBool)(door != DOOR_VALUES), &da[i]));
    PetscCall(DMCreateMatrix(da[i], &A[i]));
    PetscCall(DoorFill(p, door, da[i], A[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bytes: that must move for a point, so that of arrays the value is a part of the copy rate */
static PetscErrorCode ReportProduct(Bench *b, const char *name, const Problem *p, const char what[], const Times t[2], PetscReal copy,
                                    PetscReal bytes, PetscReal bar)
{
  const PetscReal points = PetscPowRealInt((PetscReal)p->n, (int)p->dim), rate = points / Median(&t[0]);
  Row             r = {.what = what, .type = "hjstencil", .unit = "Gpt/s", .value = rate / 1e9, .bar = bar};

  PetscFunctionBegin;
  if (b->peer) r.peer = Median(&t[1]) / Median(&t[0]);
  if (p->coefficient && b->cuda) {
    r.unit  = "of copy";
    r.value = rate * bytes / copy;
  }
  r.reached = b->cuda ? r.value / bar : r.peer / bar;
  if (!(bar > 0)) r.reached = 0;
  PetscCall(Report(b, name, p, &t[0], r));
  if (b->peer)
    PetscCall(Report(b, name, p, &t[1], (Row){.what = what, .type = b->aij, .unit = "Gpt/s", .value = points / Median(&t[1]) / 1e9}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunMult(Bench *b, const char *name, Problem p)
{
  static const PetscReal gpu_bar[2][2] = {{220, 146}, {190, 127}}; /* constant coefficients: 2D, 3D; MatMult, MatResidual */
  const PetscBool        arrays = (PetscBool)(p.coefficient != NULL), jump = (PetscBool)(p.coefficient == JumpCoefficient);
  DM                     da[2];
  Mat                    A[2];
  Vec                    x, rhs, y[2];
  Times                  t[2];
  PetscReal              copy;

  PetscFunctionBegin;
  PetscCall(CreatePair(b, &p, da, A));
  PetscCall(DMCreateGlobalVector(da[0], &x));
  for (int i = 0; i < 2; i++) PetscCall(VecDuplicate(x, &y[i]));
  PetscCall(VecDuplicate(x, &rhs));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(VecSetRandom(rhs, NULL));
  PetscCall(TimeCopy(b, x, y[0], &copy));
  for (int residual = 0; residual < 2; residual++) {
    const PetscReal bytes = 8 * (2 + residual + (arrays ? p.dim + 1 : 0)), bar = arrays ? 0.8 : gpu_bar[p.dim - 2][residual];
    char            what[64];

    for (int i = 0; i < 1 + (int)b->peer; i++) {
      const Operation o = {.what = residual ? RESIDUAL : MULT, .A = A[i], .x = x, .b = rhs, .y = y[i]};

      PetscCall(TimeOperation(b, &o, &t[i]));
    }
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s", residual ? "MatResidual" : "MatMult",
                            jump     ? "dictionary"
                            : arrays ? "arrays"
                                     : "constant"));
    if (b->peer) PetscCall(CheckSame(what, 64 * PETSC_MACHINE_EPSILON, y[1], y[0]));
    PetscCall(ReportProduct(b, name, &p, what, t, copy, bytes, b->cuda ? bar : residual ? 0 : arrays ? 1.2 : 2.5));
  }
  for (int i = 0; i < 1 + (int)b->peer; i++) {
    PetscCall(MatDestroy(&A[i]));
    PetscCall(DMDestroy(&da[i]));
  }
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&y[i]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&rhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunMultBoth(Bench *b, const char *name, Problem p)
{
  PetscFunctionBegin;
  PetscCall(RunMult(b, name, p));
  p.coefficient = CheapCoefficient;
  PetscCall(RunMult(b, name, p));
  p.coefficient = JumpCoefficient;
  if (!b->cuda) PetscCall(RunMult(b, name, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Interpolation from the next coarser grid, as PCMG gets it: the fine matrix exists before the grid is coarsened */
static PetscErrorCode CreateInterpolation(const Problem *p, const char type[], DM da[2], Mat *P)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(CreateGrid(p, type, PETSC_TRUE, &da[0]));
  PetscCall(DMCreateMatrix(da[0], &A));
  PetscCall(DMCoarsen(da[0], PETSC_COMM_WORLD, &da[1]));
  PetscCall(DMCreateInterpolation(da[1], da[0], P, NULL));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunTransfer(Bench *b, const char *name, Problem p)
{
  const PetscReal part = PetscPowRealInt(0.5, (int)p.dim), points = PetscPowRealInt((PetscReal)p.n, (int)p.dim);
  DM              da[2][2];
  Mat             P[2];
  Vec             fine[2], coarse[2], start;
  Times           t[2];
  PetscReal       copy;

  PetscFunctionBegin;
  for (int i = 0; i < 1 + (int)b->peer; i++) PetscCall(CreateInterpolation(&p, i ? b->aij : "hjstencil", da[i], &P[i]));
  for (int i = 0; i < 2; i++) {
    PetscCall(DMCreateGlobalVector(da[0][0], &fine[i]));
    PetscCall(DMCreateGlobalVector(da[0][1], &coarse[i]));
  }
  PetscCall(VecDuplicate(fine[0], &start));
  PetscCall(VecSetRandom(start, NULL));
  PetscCall(TimeCopy(b, start, fine[0], &copy));
  for (int add = 0; add < 2; add++) {
    const char     *what  = add ? "interpolation and add" : "restriction";
    const PetscReal bytes = 8 * (1 + add + part);
    Row             r     = {.what = what, .type = "hjstencil", .unit = "of copy", .bar = b->cuda ? 0.7 : 0};

    for (int i = 0; i < 1 + (int)b->peer; i++) {
      const Operation o = {.what = add ? INTERPOLATE_ADD : RESTRICT,
                           .A    = P[i],
                           .x    = add ? coarse[0] : start,
                           .y    = add ? fine[i] : coarse[i]};

      PetscCall(VecCopy(start, fine[i]));
      PetscCall(Operate(&o));
    }
    if (b->peer) PetscCall(CheckSame(what, 64 * PETSC_MACHINE_EPSILON, add ? fine[1] : coarse[1], add ? fine[0] : coarse[0]));
    for (int i = 0; i < 1 + (int)b->peer; i++) {
      const Operation o = {.what = add ? INTERPOLATE_ADD : RESTRICT,
                           .A    = P[i],
                           .x    = add ? coarse[1] : start,
                           .y    = add ? fine[i] : coarse[i]};

      PetscCall(TimeOperation(b, &o, &t[i]));
    }
    r.value = points * bytes / Median(&t[0]) / copy;
    if (b->peer) r.peer = Median(&t[1]) / Median(&t[0]);
    if (b->cuda) r.reached = r.value / r.bar;
    PetscCall(Report(b, name, &p, &t[0], r));
    if (!b->peer) continue;
    PetscCall(
      Report(b, name, &p, &t[1], (Row){.what = what, .type = b->aij, .unit = "of copy", .value = points * bytes / Median(&t[1]) / copy}));
  }
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&fine[i]));
    PetscCall(VecDestroy(&coarse[i]));
  }
  PetscCall(VecDestroy(&start));
  for (int i = 0; i < 1 + (int)b->peer; i++) {
    PetscCall(MatDestroy(&P[i]));
    PetscCall(DMDestroy(&da[i][0]));
    PetscCall(DMDestroy(&da[i][1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A program that leaves everything to DMDA and PCMG */
typedef struct {
  Problem     p;
  Door        door;
  const char *type;
  PetscBool   galerkin;
  const char *pctype; /* NULL: PCMG with hjacobi */
  PetscReal   grid;   /* seconds that the finest grid took */
} Program;

/* The first MatPtAP() of PETSc 3.26.1 was seen wrong where the values of aijcusparse lie on the GPU alone: they come to the host too */
static PetscErrorCode ComputeMatrix(KSP ksp, PETSC_UNUSED Mat A, Mat B, void *ctx)
{
  const Program *g = (const Program *)ctx;
  DM             da;
  PetscBool      aij;

  PetscFunctionBegin;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(DoorFill(&g->p, g->door, da, B));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)B, MATSEQAIJ, &aij));
  if (aij && g->galerkin) {
    const PetscScalar *values;

    PetscCall(MatSeqAIJGetArrayRead(B, &values));
    PetscCall(MatSeqAIJRestoreArrayRead(B, &values));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProgramStart(Bench *b, Program *g, KSP *ksp)
{
  char           options[256];
  PetscLogDouble t0 = 0, t1 = 0;
  DM             da;
  PC             pc;

  PetscFunctionBegin;
  PetscCall(PetscOptionsPrefixPush(NULL, "program_"));
  PetscCall(PetscSNPrintf(options, sizeof(options), PROBLEM_HJACOBI, (PetscInt)3));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PetscOptionsPrefixPop(NULL));
  PetscCall(Clock(b, &t0));
  PetscCall(CreateGrid(&g->p, g->type, (PetscBool)(g->door == DOOR_COO || g->door == DOOR_CSR), &da));
  PetscCall(Clock(b, &t1));
  g->grid = t1 - t0;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, "program_"));
  PetscCall(KSPSetDM(*ksp, da));
  PetscCall(DMDestroy(&da));
  PetscCall(KSPSetComputeOperators(*ksp, ComputeMatrix, g));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 100));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, g->pctype ? g->pctype : PCMG));
  if (!g->pctype) PetscCall(PCMGSetLevels(pc, ProblemLevels(&g->p), NULL));
  if (g->galerkin) PetscCall(PCMGSetGalerkin(pc, PC_MG_GALERKIN_BOTH));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From nothing to the end of a first V-cycle */
static PetscErrorCode ProgramCreate(Bench *b, Program *g, KSP *ksp, PetscReal *seconds)
{
  PetscLogDouble t0 = 0, t1 = 0;
  PC             pc;
  Vec            x, y;

  PetscFunctionBegin;
  PetscCall(Clock(b, &t0));
  PetscCall(ProgramStart(b, g, ksp));
  PetscCall(KSPSetUp(*ksp));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(KSPGetRhs(*ksp, &x));
  PetscCall(KSPGetSolution(*ksp, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(PCApply(pc, x, y));
  PetscCall(Clock(b, &t1));
  if (seconds) *seconds = t1 - t0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The grids and matrices of a solver that is ready, for other solvers on them */
static PetscErrorCode HierarchyOf(const Problem *p, KSP ksp, Hierarchy *h)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCMGGetLevels(pc, &h->n));
  for (PetscInt i = 0; i < h->n; i++) {
    KSP level;

    PetscCall(PCMGGetSmoother(pc, i, &level));
    PetscCall(KSPGetDM(level, &h->da[i]));
    PetscCall(KSPGetOperators(level, &h->A[i], NULL));
    if (i) PetscCall(PCMGGetInterpolation(pc, i, &h->P[i]));
    PetscCall(PetscObjectReference((PetscObject)h->da[i]));
    PetscCall(PetscObjectReference((PetscObject)h->A[i]));
    if (i) PetscCall(PetscObjectReference((PetscObject)h->P[i]));
  }
  PetscCall(ProblemCreateRHS(p, h->da[h->n - 1], &h->rhs));
  PetscCall(VecDuplicate(h->rhs, &h->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies between host and GPU until now, as -log_view counts them: but for single scalars */
typedef struct {
  PetscReal count, bytes;
} Copies;

static Copies CopiesNow(void)
{
  Copies c = {0, 0};

#if PetscDefined(HAVE_DEVICE) && PetscDefined(USE_LOG)
  c.count = petsc_ctog_ct + petsc_gtoc_ct;
  c.bytes = petsc_ctog_sz + petsc_gtoc_sz;
#endif
  return c;
}

/* The best of the numbers of sweeps and of coarsest grids that were tried */
typedef struct {
  PetscInt  k, leave_out, its;
  PetscBool factors; /* of the coarsest grid that is left, where some are left out; else hjacobi solves there */
  Times     t;
  Copies    copies; /* of one solve */
} Best;

/* Points of a coarsest grid whose factors are tried, at most: a GPU solves by their inverse there */
#define MOST_FACTORED 1152

/* What is tried with all numbers of sweeps and of coarsest grids */
typedef struct {
  const char *smoother; /* its options, with a place for the number of sweeps */
  KSPType     outer;
} Method;

/* One solver; its number of iterations and its times are kept if they are better */
static PetscErrorCode TrySolver(Bench *b, const Hierarchy *h, const Method *m, PetscInt k, PetscInt leave_out, PetscBool factors,
                                Best *best)
{
  char           prefix[32], options[512];
  KSP            ksp;
  PetscLogDouble t0 = 0, t1      = 0;
  PetscReal      residual, spent = 0;
  PetscBool      good;
  Best           now = {.k = k, .leave_out = leave_out, .factors = factors};
  Copies         before;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "try%" PetscInt_FMT "%s_", leave_out, factors ? "f" : ""));
  PetscCall(PetscOptionsPrefixPush(NULL, prefix));
  PetscCall(PetscSNPrintf(options, sizeof(options), m->smoother, k));
  PetscCall(PetscOptionsInsertString(NULL, options));
  if (leave_out && !factors)
    PetscCall(
      PetscOptionsInsertString(NULL, "-mg_coarse_ksp_type preonly -mg_coarse_pc_type hjacobi -mg_coarse_pc_hjacobi_reduction 0.01"));
  PetscCall(PetscOptionsPrefixPop(NULL));
  PetscCall(HierarchyCreateSolver(h, leave_out, prefix, &ksp));
  PetscCall(KSPSetType(ksp, m->outer));
  for (PetscInt i = leave_out; i < h->n; i++) { /* Galerkin's matrices do not know their grid */
    PC  pc;
    KSP level;

    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCMGGetSmoother(pc, i - leave_out, &level));
    PetscCall(KSPGetPC(level, &pc));
    PetscCall(PCSetDM(pc, h->da[i]));
  }
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, h->rhs, h->x));
  PetscCall(ProblemCheckResidual(ksp, &residual, &good));
  PetscCall(KSPGetIterationNumber(ksp, &now.its));
  if (good) {
    for (now.t.n = 0; now.t.n < b->repetitions && (now.t.n < 2 || spent < 2); now.t.n++) {
      before = CopiesNow();
      PetscCall(Clock(b, &t0));
      PetscCall(KSPSolve(ksp, h->rhs, h->x));
      PetscCall(Clock(b, &t1));
      now.t.s[now.t.n] = t1 - t0;
      now.copies       = (Copies){CopiesNow().count - before.count, CopiesNow().bytes - before.bytes};
      spent += t1 - t0;
    }
    if (!best->t.n || Median(&now.t) < Median(&best->t)) *best = now;
  } else
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "# %s, k %" PetscInt_FMT ", %" PetscInt_FMT " grids left out: true residual %g, not counted\n",
                          m->outer, k, leave_out, (double)residual));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TryAll(Bench *b, const Hierarchy *h, Method m, const Tries *t, Best *best)
{
  PetscInt rows = 0, factored = 0;

  PetscFunctionBegin;
  for (PetscInt l = 1; l < h->n - 1 && b->cuda && t->nleave > 1; l++) {
    PetscCall(MatGetSize(h->A[l], &rows, NULL));
    if (rows <= MOST_FACTORED) factored = l;
  }
  for (PetscInt i = 0; i < t->nk && factored; i++) PetscCall(TrySolver(b, h, &m, t->k[i], factored, PETSC_TRUE, best));
  for (PetscInt l = 0; l < t->nleave; l++)
    for (PetscInt i = 0; i < t->nk; i++)
      if (t->leave_out[l] < h->n - 1) PetscCall(TrySolver(b, h, &m, t->k[i], t->leave_out[l], PETSC_FALSE, best));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what: the solver; nothing where none reached 1e-8 */
static PetscErrorCode ReportSolve(Bench *b, const char *name, const Problem *p, const char what[], const char type[], const Best *best,
                                  PetscReal peer, PetscReal bar)
{
  char text[64];
  Row  r = {.what = text, .type = type, .k = best->k, .value = best->its, .unit = "its", .peer = peer, .bar = bar};

  PetscFunctionBegin;
  if (!best->t.n) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "# %s, %s: no number of sweeps reached 1e-8\n", what, type));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s, %" PetscInt_FMT " left out%s", what, best->leave_out, best->factors ? ", factors" : ""));
  if (bar > 0) r.reached = b->cuda ? bar / (1e3 * Median(&best->t)) : peer / bar;
  PetscCall(Report(b, name, p, &best->t, r));
  if (!b->cuda) PetscFunctionReturn(PETSC_SUCCESS);
  r = (Row){.what = "copies in this KSPSolve", .type = type, .k = best->k, .value = best->copies.count, .unit = "copies"};
  PetscCall(Report(b, name, p, NULL, r));
  r = (Row){.what = "their bytes", .type = type, .k = best->k, .value = best->copies.bytes, .unit = "bytes"};
  PetscCall(Report(b, name, p, NULL, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   bar: ms on a GPU, times as fast as hjacobi on AIJ on a CPU. MG alone is Richardson's iteration around PCMG: no dot products but the
   norm that stops it
*/
static PetscErrorCode RunSolve(Bench *b, const char *name, const Problem *p, PetscBool galerkin, PetscReal bar)
{
  enum { CG, ALONE, CG_AIJ, CHEBYSHEV_AIJ, METHODS };
  const char  *what[METHODS]   = {"CG + MG, hjacobi", "MG alone, hjacobi", "CG + MG, hjacobi", "CG + MG, chebyshev/jacobi"};
  const Method method[METHODS] = {{PROBLEM_HJACOBI, KSPCG},
                                  {PROBLEM_HJACOBI, KSPRICHARDSON},
                                  {PROBLEM_HJACOBI, KSPCG},
                                  {PROBLEM_CHEBYSHEV, KSPCG}};
  Best         best[METHODS]   = {{.k = 0}};
  Tries        chebyshev       = b->tries[1];

  PetscFunctionBegin;
  chebyshev.nk   = 2;
  chebyshev.k[0] = 2;
  chebyshev.k[1] = 3;
  for (int i = 0; i < 1 + (int)b->peer; i++) {
    Program   g = {.p = *p, .type = i ? b->aij : "hjstencil", .door = i ? b->aij_door : DOOR_ARRAYS, .galerkin = galerkin};
    Hierarchy h = {0};
    KSP       ksp;

    PetscCall(ProgramCreate(b, &g, &ksp, NULL));
    PetscCall(HierarchyOf(p, ksp, &h));
    PetscCall(KSPDestroy(&ksp));
    for (int m = 2 * i; m < 2 * i + 2; m++) {
      PetscCall(TryAll(b, &h, method[m], m == CHEBYSHEV_AIJ ? &chebyshev : &b->tries[i], &best[m]));
    }
    PetscCall(HierarchyDestroy(&h));
  }
  if (galerkin) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "# all with Galerkin's matrices\n"));
  for (int m = 0; m < (b->peer ? METHODS : CG_AIJ); m++) {
    const PetscReal peer = m < CG_AIJ && best[m].t.n && best[CG_AIJ].t.n ? Median(&best[CG_AIJ].t) / Median(&best[m].t) : 0;

    PetscCall(
      ReportSolve(b, name, p, what[m], m < CG_AIJ ? "hjstencil" : b->aij, &best[m], peer, m < CG_AIJ && (b->cuda || b->peer) ? bar : 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunMultigrid(Bench *b, const char *name, Problem p)
{
  PetscFunctionBegin;
  PetscCall(RunSolve(b, name, &p, PETSC_FALSE, !b->cuda ? 1.5 : p.dim == 2 ? 5.5 : 8.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunSmall(Bench *b, const char *name, Problem p)
{
  PetscFunctionBegin;
  PetscCall(RunSolve(b, name, &p, PETSC_FALSE, !b->cuda ? 0 : p.dim == 2 ? 1.0 : 1.2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunGalerkin(Bench *b, const char *name, Problem p)
{
  PetscFunctionBegin;
  if (p.dim == 2) p.coefficient = JumpCoefficient;
  else p.variable = PETSC_TRUE;
  PetscCall(RunSolve(b, name, &p, PETSC_TRUE, !b->cuda ? 1.5 : p.dim == 2 ? 6 : 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ClockOf(void *b, PetscLogDouble *seconds)
{
  PetscFunctionBegin;
  PetscCall(Clock((const Bench *)b, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the program needs on all levels whatever it fills, see DoorOwnTime() */
static PetscErrorCode TimeOwn(Bench *b, const Problem *p, Door door, PetscReal *own)
{
  DM da, coarse = NULL;

  PetscFunctionBegin;
  *own = 0;
  PetscCall(ProblemCreateDM(PETSC_COMM_WORLD, p, &da));
  for (PetscInt i = ProblemLevels(p); i > 0; i--) {
    PetscReal seconds = 0;

    PetscCall(DoorOwnTime(p, door, da, ClockOf, b, &seconds));
    *own += seconds;
    if (i > 1) PetscCall(DMCoarsen(da, PETSC_COMM_WORLD, &coarse));
    PetscCall(DMDestroy(&da));
    da     = coarse;
    coarse = NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of PETSc's coarser grids and injections in a stage, as its log has them; no grid has coordinates, whose own would count twice */
static PetscErrorCode TimeCoarseGrids(PetscLogStage stage, PetscReal *seconds)
{
  const char *names[] = {"DMCoarsen", "DMCreateInject"};

  PetscFunctionBegin;
  *seconds = 0;
  for (int i = 0; i < 2; i++) {
    PetscLogEvent      event;
    PetscEventPerfInfo info;

    PetscCall(PetscLogEventGetId(names[i], &event));
    PetscCheck(event >= 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "PETSc has no event %s", names[i]);
    PetscCall(PetscLogEventGetPerfInfo((int)stage, event, &info));
    PetscCheck(info.count > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "PETSc has logged no %s", names[i]);
    *seconds += info.time;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes on the host of a matrix: MatGetInfo() of AIJ counts entries, and one that is not ours may have its rows on the host. What it says
   of ours lies on the GPU where the vectors do, and is part of the memory measured there */
static PetscErrorCode AddMemory(const Bench *b, Mat A, PetscReal *bytes)
{
  MatInfo     info;
  MatType     type;
  PetscInt    rows;
  const char *name;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(MatGetType(A, &type));
  PetscCall(MatGetLocalSize(A, &rows, NULL));
  name = type;
  if (name[0] == 'h' && name[1] == 'j') *bytes += b->cuda ? 0 : info.memory;
  else *bytes += info.nz_allocated * (sizeof(PetscScalar) + sizeof(PetscInt)) + (rows + 1.0) * sizeof(PetscInt);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a hierarchy that one door made: seconds, of which PETSc needs some for the grids and the program some for itself, and bytes */
typedef struct {
  PetscReal seconds, grids, own, beyond, host, device, vectors;
} SetUp;

/* Bytes on the GPU of the vectors that PETSc makes for itself whatever the matrix is: the solver's two, a residual, and three on each
   coarser grid */
static PetscErrorCode BytesOfVectors(const Bench *b, const Hierarchy *h, PetscReal *bytes)
{
  PetscInt n[3];

  PetscFunctionBegin;
  *bytes = 0;
  for (PetscInt i = 0; i < h->n && b->cuda; i++) {
    PetscCall(DMDAGetCorners(h->da[i], NULL, NULL, NULL, &n[0], &n[1], &n[2]));
    *bytes += 3.0 * n[0] * n[1] * n[2] * sizeof(PetscScalar);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MeasureDoor(Bench *b, const Problem *p, const char type[], Door door, SetUp *s)
{
  Program       g    = {.p = *p, .type = type, .door = door};
  Hierarchy     h    = {0};
  Best          best = {.k = 0};
  KSP           ksp;
  PetscReal     before, after;
  PetscLogStage stage;
  char          name[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT "D %s by %s", p->dim, type, door_names[door]));
  PetscCall(PetscLogStageRegister(name, &stage));
  PetscCall(MachineDeviceMemory(&before));
  PetscCall(PetscLogStagePush(stage));
  PetscCall(ProgramCreate(b, &g, &ksp, &s->seconds));
  PetscCall(PetscLogStagePop());
  PetscCall(MachineDeviceMemory(&after));
  PetscCall(TimeCoarseGrids(stage, &s->grids));
  s->grids += g.grid;
  PetscCall(HierarchyOf(p, ksp, &h));
  PetscCall(KSPDestroy(&ksp));
  s->device = after - before;
  PetscCall(BytesOfVectors(b, &h, &s->vectors));
  s->beyond = s->seconds - s->grids - s->own;
  s->host   = 0;
  for (PetscInt i = 0; i < h.n; i++) {
    PetscCall(AddMemory(b, h.A[i], &s->host));
    if (i) PetscCall(AddMemory(b, h.P[i], &s->host));
  }
  PetscCall(TrySolver(b, &h, &(Method){PROBLEM_HJACOBI, KSPCG}, 3, 0, PETSC_FALSE, &best));
  PetscCheck(best.t.n, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "A hierarchy of %s by %s does not solve", type, door_names[door]);
  PetscCall(HierarchyDestroy(&h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bar: how many times as good as AIJ by MatSetValuesStencil(); 0: none */
static PetscErrorCode ReportSetUp(Bench *b, const char *name, const Problem *p, const char type[], Door door, const char format[],
                                  PetscReal value, const char unit[], PetscReal peer, PetscReal bar)
{
  char what[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), format, door_names[door]));
  PetscCall(Report(b, name, p, NULL,
                   (Row){.what    = what,
                         .type    = type,
                         .unit    = unit,
                         .value   = value,
                         .peer    = peer > 0 ? peer / value : 0,
                         .bar     = peer > 0 ? bar : 0,
                         .reached = peer > 0 && bar > 0 ? peer / value / bar : 0}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunDoor(Bench *b, const char *name, const Problem *p, const char type[], Door door, const SetUp *peer, SetUp *s)
{
  const PetscBool ours = (PetscBool)(type != b->aij);

  PetscFunctionBegin;
  PetscCall(TimeOwn(b, p, door, &s->own));
  PetscCall(MeasureDoor(b, p, type, door, s));
  PetscCall(
    ReportSetUp(b, name, p, type, door, "set-up by %s", s->seconds, "s", peer ? peer->seconds : 0, ours && door == DOOR_VALUES ? 3 : 0));
  PetscCall(ReportSetUp(b, name, p, type, door, "by %s: PETSc's grids", s->grids, "s", 0, 0));
  if (door != DOOR_ROW) PetscCall(ReportSetUp(b, name, p, type, door, "by %s: the program's own work", s->own, "s", 0, 0));
  PetscCall(ReportSetUp(b, name, p, type, door, "by %s: the rest of the set-up", s->beyond, "s", peer ? peer->beyond : 0,
                        ours && door != DOOR_VALUES ? (door == DOOR_COO ? 10 : 40) : 0));
  PetscCall(ReportSetUp(b, name, p, type, door, "by %s: matrices on the host", s->host / 1e6, "MB", 0, 0));
  if (b->cuda) PetscCall(ReportSetUp(b, name, p, type, door, "by %s: memory of the GPU", s->device / 1e6, "MB", 0, 0));
  PetscCall(ReportSetUp(b, name, p, type, door, "by %s: memory", (s->host + s->device) / 1e6, "MB",
                        peer ? (peer->host + peer->device) / 1e6 : 0, 0));
  PetscCall(ReportSetUp(b, name, p, type, door, "by %s: memory but for vectors", (s->host + s->device - s->vectors) / 1e6, "MB",
                        peer ? (peer->host + peer->device - peer->vectors) / 1e6 : 0,
                        door == DOOR_ARRAYS ? 2.5
                        : door == DOOR_ROW  ? 10
                                            : 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In this order, and as -doors calls them */
static const struct {
  const char *name;
  Door        door;
} our_doors[] = {{"values", DOOR_VALUES}, {"arrays", DOOR_ARRAYS}, {"row", DOOR_ROW}, {"coo", DOOR_COO}};

static PetscErrorCode RunSetUp(Bench *b, const char *name, Problem p)
{
  SetUp peer = {0}, s;

  PetscFunctionBegin;
  PetscCall(PetscLogDefaultBegin()); /* as -log_view does; cases that follow are timed with it */
  if (b->peer) PetscCall(RunDoor(b, name, &p, b->aij, DOOR_VALUES, NULL, &peer));
  if (b->peer && b->doors[3]) PetscCall(RunDoor(b, name, &p, b->aij, DOOR_COO, &peer, &s));
  for (int i = 0; i < 4; i++) {
    const Door door = our_doors[i].door;

    if (!b->doors[i]) continue;
    p.coefficient = door == DOOR_ARRAYS ? CheapCoefficient : NULL;
    PetscCall(RunDoor(b, name, &p, "hjstencil", door, b->peer ? &peer : NULL, &s));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values to a Galerkin hierarchy that is ready, until it is ready again */
static PetscErrorCode TimeRefresh(Bench *b, const Problem *p, const char type[], Times *t)
{
  Program        g = {.p = *p, .type = type, .door = DOOR_COO, .galerkin = PETSC_TRUE};
  Hierarchy      h = {0};
  Entries        c;
  KSP            ksp;
  PC             pc;
  PetscInt       its[2];
  PetscReal      residual;
  PetscBool      good;
  PetscLogDouble t0 = 0, t1 = 0;
  PetscLogStage  stage;
  char           name[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT "D %s new values", p->dim, type));
  PetscCall(PetscLogStageRegister(name, &stage));
  PetscCall(ProgramCreate(b, &g, &ksp, NULL));
  PetscCall(HierarchyOf(p, ksp, &h));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(HierarchyCreateSolver(&h, 0, "program_", &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCMGSetGalerkin(pc, PC_MG_GALERKIN_BOTH));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, h.rhs, h.x));
  PetscCall(KSPGetIterationNumber(ksp, &its[0]));
  PetscCall(EntriesCreate(p, h.da[h.n - 1], &c));
  for (t->n = 0; t->n < b->repetitions; t->n++) {
    PetscCall(VecScale(c.v, 2.0));
    PetscCall(PetscLogStagePush(stage));
    PetscCall(Clock(b, &t0));
    PetscCall(EntriesSetValues(&c, h.A[h.n - 1]));
    PetscCall(KSPSetOperators(ksp, h.A[h.n - 1], h.A[h.n - 1]));
    PetscCall(KSPSetUp(ksp));
    PetscCall(Clock(b, &t1));
    PetscCall(PetscLogStagePop());
    t->s[t->n] = t1 - t0;
  }
  PetscCall(KSPSolve(ksp, h.rhs, h.x));
  PetscCall(KSPGetIterationNumber(ksp, &its[1]));
  PetscCall(ProblemCheckResidual(ksp, &residual, &good));
  PetscCheck(good && its[0] == its[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB,
             "New values: %" PetscInt_FMT " iterations, %" PetscInt_FMT " before, true residual %g", its[1], its[0], (double)residual);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(EntriesDestroy(&c));
  PetscCall(HierarchyDestroy(&h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunRefresh(Bench *b, const char *name, Problem p)
{
  Times t[2];
  Row   r = {.what = "new values (COO) to a ready Galerkin hierarchy", .unit = "ms", .bar = b->cuda ? 10 : 0};

  PetscFunctionBegin;
  p.coefficient = CheapCoefficient;
  for (int i = 0; i < 1 + (int)b->peer; i++) PetscCall(TimeRefresh(b, &p, i ? b->aij : "hjstencil", &t[i]));
  r.type  = "hjstencil";
  r.value = 1e3 * Median(&t[0]);
  if (r.bar > 0) r.reached = r.bar / r.value;
  if (b->peer) r.peer = Median(&t[1]) / Median(&t[0]);
  PetscCall(Report(b, name, &p, &t[0], r));
  if (b->peer) PetscCall(Report(b, name, &p, &t[1], (Row){.what = r.what, .type = b->aij, .unit = "ms", .value = 1e3 * Median(&t[1])}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A program that solves once */
static PetscErrorCode TimeWhole(Bench *b, const Problem *p, const char type[], const char pctype[], Times *t, PetscInt *its)
{
  PetscLogDouble t0 = 0, t1 = 0;
  PetscReal      residual;
  PetscBool      good;

  PetscFunctionBegin;
  for (t->n = 0; t->n < PetscMin(b->repetitions, 3); t->n++) {
    Program g = {.p = *p, .type = type, .door = DOOR_VALUES, .pctype = pctype};
    DM      da;
    KSP     ksp;
    Vec     rhs, x;

    PetscCall(Clock(b, &t0));
    PetscCall(ProgramStart(b, &g, &ksp));
    PetscCall(KSPGetDM(ksp, &da));
    PetscCall(ProblemCreateRHS(p, da, &rhs));
    PetscCall(VecDuplicate(rhs, &x));
    PetscCall(KSPSolve(ksp, rhs, x));
    PetscCall(Clock(b, &t1));
    t->s[t->n] = t1 - t0;
    PetscCall(KSPGetIterationNumber(ksp, its));
    PetscCall(ProblemCheckResidual(ksp, &residual, &good));
    PetscCheck(good, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%s: true residual %g", type, (double)residual);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&rhs));
    PetscCall(VecDestroy(&x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunWhole(Bench *b, const char *name, Problem p)
{
  const char *what = "MatSetValuesStencil, set-up and one solve", *types[] = {"hjstencil", b->aij, "hyprestruct"};
  Times       t[3];
  PetscInt    its[3], n = PetscDefined(HAVE_HYPRE) && !b->cuda ? 3 : 2;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < (b->peer ? n : 1); i++) PetscCall(TimeWhole(b, &p, types[i], i == 2 ? "pfmg" : NULL, &t[i], &its[i]));
  for (PetscInt i = 0; i < (b->peer ? n : 1); i++) {
    Row r = {.what = i == 2 ? "the same with pfmg" : what, .type = types[i], .unit = "its", .value = its[i]};

    if (!i && b->peer) r.peer = Median(&t[1]) / Median(&t[0]);
    if (!i && b->peer && n == 3) r.reached = (r.bar = Median(&t[2])) / Median(&t[0]);
    PetscCall(Report(b, name, &p, &t[i], r));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In the order of importance; points in each direction on a CPU and on a GPU */
static const struct {
  const char *name;
  PetscErrorCode (*run)(Bench *, const char *, Problem);
  PetscInt dim, n[2];
} cases[] = {{"mult2d", RunMultBoth, 2, {2049, 4097}},     {"mult3d", RunMultBoth, 3, {161, 257}},
             {"transfer2d", RunTransfer, 2, {2049, 4097}}, {"transfer3d", RunTransfer, 3, {161, 257}},
             {"mg2d", RunMultigrid, 2, {1025, 4097}},      {"mg3d", RunMultigrid, 3, {97, 257}},
             {"small2d", RunSmall, 2, {257, 257}},         {"small3d", RunSmall, 3, {65, 65}},
             {"jump2d", RunGalerkin, 2, {1025, 2049}},     {"variable3d", RunGalerkin, 3, {65, 129}},
             {"whole3d", RunWhole, 3, {129, 129}},         {"refresh2d", RunRefresh, 2, {1025, 4097}},
             {"refresh3d", RunRefresh, 3, {65, 257}},      {"setup2d", RunSetUp, 2, {1025, 4097}},
             {"setup3d", RunSetUp, 3, {97, 257}}};

#define NCASES ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(cases))

static PetscErrorCode ReadDoors(Bench *b)
{
  char     *words[4] = {NULL};
  PetscInt  n = 4, found = 0;
  PetscBool given, same;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-doors", words, &n, &given));
  for (int i = 0; i < 4; i++) {
    b->doors[i] = (PetscBool)!given;
    for (PetscInt w = 0; w < n && given; w++) {
      PetscCall(PetscStrcmp(words[w], our_doors[i].name, &same));
      if (same) b->doors[i] = PETSC_TRUE;
      found += same;
    }
  }
  PetscCheck(!given || found == n, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-doors: values, arrays, row, coo are known");
  for (PetscInt w = 0; w < n && given; w++) PetscCall(PetscFree(words[w]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is not given stays */
static PetscErrorCode ReadTries(const char k[], const char leave_out[], Tries *t)
{
  PetscInt  n = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(t->k), nleave = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(t->leave_out);
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, k, t->k, &n, &given));
  if (given) t->nk = n;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, leave_out, t->leave_out, &nleave, &given));
  if (given) t->nleave = nleave;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadOptions(Bench *b)
{
  const Tries tries[2] = {{{2, 3, 4, 6}, 4, {0}, 1}, {{6, 7, 8, 10}, 4, {0, 2, 3, 4}, 4}}; /* on a CPU, on a GPU */
  char        type[32] = VECSTANDARD;

  PetscFunctionBegin;
  PetscCall(GetRepetitions(&b->repetitions));
  PetscCall(ReadDoors(b));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_vec_type", type, sizeof(type), NULL));
  PetscCall(PetscStrcmp(type, VECCUDA, &b->cuda));
  b->aij = b->cuda ? "aijcusparse" : MATAIJ;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &b->size));
  b->aij_door = b->size > 1 ? DOOR_VALUES : DOOR_CSR;
  PetscCall(VecCreate(PETSC_COMM_WORLD, &b->probe));
  PetscCall(VecSetSizes(b->probe, 1, PETSC_DETERMINE));
  PetscCall(VecSetType(b->probe, type));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n2", &b->n[2], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n3", &b->n[3], NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-peer", &b->peer, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-cpu_time", &b->cpu_time, NULL));
  b->tries[0] = tries[b->cuda];
  PetscCall(ReadTries("-k", "-leave_out", &b->tries[0]));
  b->tries[1] = b->tries[0];
  PetscCall(ReadTries("-peer_k", "-peer_leave_out", &b->tries[1]));
  PetscCall(OutputOpen("case,dim,n,what,matrix,repetitions,k,median_s,spread,value,unit,times_aij,bar,reached", &b->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench       b = {.repetitions = 5, .peer = PETSC_TRUE};
  const char *all[NCASES];
  char       *names[32] = {NULL};
  PetscInt    n         = 32;
  PetscBool   given, go;
  double      start;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ReadOptions(&b));
  for (PetscInt i = 0; i < NCASES; i++) all[i] = cases[i].name;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-cases", names, &n, &given));
  if (!given)
    for (n = 0; n < NCASES; n++) PetscCall(PetscStrallocpy(all[n], &names[n]));
  PetscCall(CheckCases(n, names, NCASES, all));
  for (PetscInt c = 0; c < NCASES; c++) {
    for (PetscInt i = 0; i < n; i++) {
      Problem p = {.dim = cases[c].dim, .n = b.n[cases[c].dim] ? b.n[cases[c].dim] : cases[c].n[b.cuda]};

      PetscCall(PetscStrcmp(cases[c].name, names[i], &go));
      if (go) PetscCall(OutputHasTime(PETSC_COMM_WORLD, &b.out, names[i], &go));
      if (!go) continue;
      start = MPI_Wtime();
      PetscCall(cases[c].run(&b, cases[c].name, p));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "# %s took %.0f s\n", cases[c].name, MPI_Wtime() - start));
    }
  }
  for (PetscInt i = 0; i < n; i++) PetscCall(PetscFree(names[i]));
  PetscCall(VecDestroy(&b.probe));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, b.out.csv));
  PetscCall(PetscFinalize());
  return 0;
}

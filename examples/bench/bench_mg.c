/* SPDX-License-Identifier: BSD-2-Clause */
static char help[] = "PCHJMG, the whole multigrid by -pc_type hjmg: solves to 1e-8 in the unpreconditioned 2-norm, set-up, memory.\n\
  -cases <constant2d,constant3d,cg2d,cg3d,variable2d,variable3d,jump2d,jump3d,anisotropy2d,anisotropy3d,blocks2d,blocks3d,setup2d,\n\
          setup3d,memory2d,memory3d,turning2d,cgaij2d,cgaij3d,setupaij2d,setupaij3d,host2d,host3d>\n\
                       comma-separated; run in this order\n\
  -scale <1>           spacings of all grids are so many times as wide (default on a CPU: 4)\n\
  -n2 <n> -n3 <n>      points in each direction, in place of those of the case, -scale as it is\n\
  -precisions <auto>   single,double: every solver with each of these, one after the other\n\
  -peer <1>            0: without PCMG, PCGAMG and hypre, which are measured on a CPU alone\n\
  -cpu_time            the processor's time in place of the clock's, on a CPU that others use too; one rank\n\
  -repetitions <10>\n\
  -budget <0>          seconds after which no other case is begun\n\
  -csv <file>  -commit <id>  -device <words>   what the CSV says of itself\n\
Options of PCHJMG are read without a prefix. GPU: add -dm_vec_type cuda\n";

/*
   Decides what is solved, how it is checked first, and which bar it is held against. Decides no coefficients (fields.h, problem.h) and no
   way of filling a matrix (fillings.h). Bars are those of one H200, but for host2d, host3d and the numbers of iterations.
*/
#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/device/hjscratch.h"
#endif
#include "fields.h"
#include "machine.h"
#include "report.h"

/* Seconds after which one more repetition is not begun */
#define ENOUGH 4.0

typedef struct {
  PetscInt  repetitions, scale, n[4];
  PetscBool peer;
  char     *precision[2]; /* of hjmg's cycles, each solver with each */
  PetscInt  nprecisions;
  Machine   machine;
  Output    out;
} Bench;

/* A grid, with what all solvers on it share */
typedef struct {
  PetscInt dim, n;
  DM       da;
  Vec      rhs, x;
} Grid;

/* What is measured: of the times alone, or of a value in a unit. Less is better */
typedef struct {
  const char *what, *unit;
  PetscInt    its; /* 0: none */
  PetscReal   value, bar;
} Row;

static PetscErrorCode Report(Bench *b, const char *name, const Grid *g, const Times *t, Row r)
{
  const PetscBool timed = (PetscBool)(t && t->n);
  char            what[128];
  PetscMPIInt     size;
  const PetscReal median = timed ? Median(t) : 0, spread = timed ? Spread(t) : 0, reached = r.value > 0 ? r.bar / r.value : 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscSNPrintf(what, sizeof(what), size > 1 ? "%s, %d ranks" : "%s", r.what, (int)size));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-12s %5" PetscInt_FMT "^%" PetscInt_FMT " %-40s %3" PetscInt_FMT " its", name, g->n, g->dim,
                        what, r.its));
  if (timed) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %9.3f ms +%3.0f%%", 1e3 * (double)median, 100 * (double)spread));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %18s", ""));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %9.4g %-7s", (double)r.value, r.unit));
  if (r.bar > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " bar %g: %.2f", (double)r.bar, (double)reached));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscCall(OutputRow(PETSC_COMM_WORLD, &b->out));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, b->out.csv,
                         "%s,%" PetscInt_FMT ",%" PetscInt_FMT ",\"%s\",%d,%" PetscInt_FMT ",%.6g,%.4f,%.6g,%s,%g,%.4f\n", name, g->dim,
                         g->n, what, timed ? (int)t->n : 0, r.its, (double)median, (double)spread, (double)r.value, r.unit, (double)r.bar,
                         (double)reached));
  PetscCall(OutputFlush(&b->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of a case on this machine */
static PetscInt Points(const Bench *b, PetscInt dim, PetscInt n)
{
  return b->n[dim] ? b->n[dim] : (n - 1) / b->scale + 1;
}

static PetscErrorCode GridCreate(PetscInt dim, PetscInt n, const char type[], Grid *g)
{
  const Problem p = {.dim = dim, .n = n};

  PetscFunctionBegin;
  g->dim = dim;
  g->n   = n;
  PetscCall(ProblemCreateDM(PETSC_COMM_WORLD, &p, &g->da));
  PetscCall(DMSetMatType(g->da, type));
  PetscCall(ProblemCreateRHS(&p, g->da, &g->rhs));
  PetscCall(VecDuplicate(g->rhs, &g->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GridDestroy(Grid *g)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&g->rhs));
  PetscCall(VecDestroy(&g->x));
  PetscCall(DMDestroy(&g->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The stencil matrix of a field, on the device once it was multiplied */
static PetscErrorCode GridCreateMatrix(const Grid *g, Field f, Mat *A)
{
  PetscFunctionBegin;
  f.dim = g->dim;
  f.n   = g->n;
  PetscCall(FieldSetUp(&f));
  PetscCall(DMCreateMatrix(g->da, A));
  PetscCall(FieldFill(&f, g->da, *A));
  PetscCall(FieldReset(&f));
  PetscCall(MatMult(*A, g->rhs, g->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolverCreate(Mat A, KSPType type, PCType pctype, const char prefix[], KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 200));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscBool good; /* the true residual is small enough; nothing is timed where it is not */
  PetscInt  its;
  Times     t;
} Solved;

static PetscErrorCode SolverTime(Bench *b, const char *name, const Grid *g, KSP ksp, Solved *s)
{
  PetscLogDouble     t0 = 0, t1      = 0;
  PetscReal          residual, spent = 0;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  s->t.n = 0;
  PetscCall(KSPSolve(ksp, g->rhs, g->x));
  PetscCall(KSPGetIterationNumber(ksp, &s->its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(ProblemCheckResidual(ksp, &residual, &s->good));
  s->good = (PetscBool)(s->good && reason > 0);
  if (!s->good)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "# %s: %s after %" PetscInt_FMT " iterations, true residual %g: not timed\n", name,
                          KSPConvergedReasons[reason], s->its, (double)residual));
  for (; s->good && s->t.n < b->repetitions && (s->t.n < 2 || spent < ENOUGH); s->t.n++) {
    PetscCall(MachineTime(&b->machine, &t0));
    PetscCall(KSPSolve(ksp, g->rhs, g->x));
    PetscCall(MachineTime(&b->machine, &t1));
    s->t.s[s->t.n] = t1 - t0;
    spent += t1 - t0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a solver is held against; 0: no bar */
typedef struct {
  PetscReal ms; /* on a GPU, at full size */
  PetscInt  its;
} Bar;

/* By hjmg. precision NULL: as options say */
static PetscErrorCode RunSolveIn(Bench *b, const char *name, const Grid *g, Mat A, KSPType type, const char what[], Bar bar,
                                 const char precision[], Solved *s)
{
  char      text[64];
  KSP       ksp;
  PC        pc;
  PetscBool single;
  Row       r = {.what = text, .unit = bar.its ? "its" : "ms"};

  PetscFunctionBegin;
  PetscCall(SolverCreate(A, type, PCHJMG, NULL, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PetscStrcmp(precision, "single", &single));
  if (precision) PetscCall(PCHJMGSetPrecision(pc, single ? PC_HJMG_PRECISION_SINGLE : PC_HJMG_PRECISION_DOUBLE));
  PetscCall(SolverTime(b, name, g, ksp, s));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s, %s%s%s", what, type[0] == 'c' ? "CG" : "the solver", precision ? ", " : "",
                          precision ? precision : ""));
  r.its = s->its;
  r.bar = bar.its ? bar.its : b->machine.cuda && b->scale == 1 ? bar.ms : 0;
  if (s->good) r.value = bar.its ? s->its : 1e3 * Median(&s->t);
  PetscCall(Report(b, name, g, &s->t, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunSolve(Bench *b, const char *name, const Grid *g, Mat A, KSPType type, const char what[], Bar bar, Solved *s)
{
  PetscFunctionBegin;
  if (!b->nprecisions) PetscCall(RunSolveIn(b, name, g, A, type, what, bar, NULL, s));
  for (PetscInt i = 0; i < b->nprecisions; i++) PetscCall(RunSolveIn(b, name, g, A, type, what, bar, b->precision[i], s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunField(Bench *b, const char *name, const Grid *g, Field f, KSPType type, const char what[], Bar bar, Solved *s)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(GridCreateMatrix(g, f, &A));
  PetscCall(RunSolve(b, name, g, A, type, what, bar, s));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunConstant(Bench *b, const char *name, PetscInt dim, PetscInt n)
{
  static const PetscInt  sizes[2][4] = {{4097, 1025, 257, 8193}, {257, 129, 65, 513}};
  static const PetscReal bars[2][4]  = {{3.4, 0.85, 0.42, 12}, {5.0, 1.5, 0.65, 37}};
  Solved                 s;

  PetscFunctionBegin;
  for (int i = 0; i < (b->n[dim] ? 1 : 4); i++) {
    Grid g;

    PetscCall(GridCreate(dim, Points(b, dim, sizes[dim - 2][i]), "hjstencil", &g));
    PetscCall(RunField(b, name, &g, (Field){.kind = FIELD_SAME}, KSPRICHARDSON, "constant", (Bar){.ms = bars[dim - 2][i]}, &s));
    PetscCall(GridDestroy(&g));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCG(Bench *b, const char *name, PetscInt dim, PetscInt n)
{
  Grid   g;
  Solved s;

  PetscFunctionBegin;
  PetscCall(GridCreate(dim, Points(b, dim, n), "hjstencil", &g));
  PetscCall(RunField(b, name, &g, (Field){.kind = FIELD_SAME}, KSPCG, "constant", (Bar){.ms = dim == 2 ? 5 : 7.5}, &s));
  PetscCall(GridDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An AIJ matrix, on a GPU aijcusparse, filled in the quickest way */
static PetscErrorCode CreateAIJ(const Bench *b, const Problem *p, Grid *g, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(GridCreate(p->dim, p->n, b->machine.cuda ? "aijcusparse" : MATAIJ, g));
  PetscCall(DMSetMatrixPreallocateSkip(g->da, PETSC_TRUE));
  PetscCall(DMCreateMatrix(g->da, A));
  PetscCall(FillingFill(p, FILLING_CSR, g->da, *A, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCGOnAIJ(Bench *b, const char *name, PetscInt dim, PetscInt n)
{
  const Problem p = {.dim = dim, .n = Points(b, dim, n)};
  Grid          g;
  Mat           A;
  Solved        s;

  PetscFunctionBegin;
  PetscCall(CreateAIJ(b, &p, &g, &A));
  PetscCall(RunSolve(b, name, &g, A, KSPCG, "constant, AIJ", (Bar){.ms = dim == 2 ? 7 : 10}, &s));
  PetscCall(MatDestroy(&A));
  PetscCall(GridDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunVariable(Bench *b, const char *name, PetscInt dim, PetscInt n)
{
  const Bar bar = {.ms = dim == 2 ? 8 : 12};
  Grid      g;
  Mat       A;
  Solved    s;

  PetscFunctionBegin;
  PetscCall(GridCreate(dim, Points(b, dim, n), "hjstencil", &g));
  PetscCall(GridCreateMatrix(&g, (Field){.kind = FIELD_SMOOTH}, &A));
  PetscCall(RunSolve(b, name, &g, A, KSPRICHARDSON, "variable", bar, &s));
  PetscCall(RunSolve(b, name, &g, A, KSPCG, "variable", bar, &s));
  PetscCall(MatDestroy(&A));
  PetscCall(GridDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A field of each ratio */
static PetscErrorCode RunRatios(Bench *b, const char *name, PetscInt dim, PetscInt n, FieldKind kind, const char format[], PetscInt bar)
{
  Grid   g;
  Solved s;
  char   what[64];

  PetscFunctionBegin;
  PetscCall(GridCreate(dim, Points(b, dim, n), "hjstencil", &g));
  for (PetscReal ratio = 1e2; ratio < 1e7; ratio *= 100) {
    PetscCall(PetscSNPrintf(what, sizeof(what), format, (double)ratio));
    PetscCall(RunField(b, name, &g, (Field){.kind = kind, .ratio = ratio}, KSPCG, what, (Bar){.its = bar}, &s));
  }
  PetscCall(GridDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunJump(Bench *b, const char *name, PetscInt dim, PetscInt n)
{
  PetscFunctionBegin;
  PetscCall(RunRatios(b, name, dim, n, FIELD_JUMP, "one region of %g", 8));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunTurning(Bench *b, const char *name, PetscInt dim, PetscInt n)
{
  PetscFunctionBegin;
  PetscCall(RunRatios(b, name, dim, n, FIELD_TURNING, "strong direction changes, %g", 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunBlocks(Bench *b, const char *name, PetscInt dim, PetscInt n)
{
  const Field harmonic = {.kind = FIELD_BLOCKS, .ratio = 1e6}, points = {.kind = FIELD_POINTS, .ratio = 1e6};
  const Field midpoint = {.kind = FIELD_BLOCKS, .ratio = 1e6, .midpoint = PETSC_TRUE};
  Grid        g;
  Solved      s;

  PetscFunctionBegin;
  PetscCall(GridCreate(dim, Points(b, dim, n), "hjstencil", &g));
  PetscCall(RunField(b, name, &g, harmonic, KSPCG, "blocks to 1e6, harmonic", (Bar){.its = 20}, &s));
  PetscCall(RunField(b, name, &g, midpoint, KSPCG, "blocks to 1e6, at midpoints", (Bar){.its = dim == 2 ? 40 : 60}, &s));
  PetscCall(RunField(b, name, &g, points, KSPCG, "each point to 1e6, harmonic", (Bar){0}, &s));
  PetscCall(GridDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One direction strong; in 3D also one weak. Times are compared with those of equal couplings on the same grid */
static PetscErrorCode RunAnisotropy(Bench *b, const char *name, PetscInt dim, PetscInt n)
{
  Grid   g;
  Solved s, isotropic;
  char   what[64];

  PetscFunctionBegin;
  PetscCall(GridCreate(dim, Points(b, dim, n), "hjstencil", &g));
  PetscCall(RunField(b, name, &g, (Field){.kind = FIELD_SAME}, KSPCG, "isotropic", (Bar){0}, &isotropic));
  for (PetscReal ratio = 1e2; ratio < 1e7; ratio *= 100) {
    for (int d = 0; d < dim; d++) {
      for (int weak = 0; weak < (dim == 3 ? 2 : 1); weak++) {
        Field f = {.kind = FIELD_SAME, .strength = {1, 1, 1}};

        f.strength[d] = weak ? 1 / ratio : ratio;
        PetscCall(PetscSNPrintf(what, sizeof(what), "direction %d %s, %g", d, weak ? "weak" : "strong", (double)ratio));
        PetscCall(RunField(b, name, &g, f, KSPCG, what, (Bar){.its = 12}, &s));
        if (!s.good || !isotropic.good) continue;
        PetscCall(PetscSNPrintf(what, sizeof(what), "direction %d %s, %g: of isotropic", d, weak ? "weak" : "strong", (double)ratio));
        PetscCall(
          Report(b, name, &g, NULL, (Row){.what = what, .value = Median(&s.t) / Median(&isotropic.t), .unit = "times", .bar = 2.5}));
      }
    }
  }
  PetscCall(GridDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds that PETSc's DMSetUp() takes for a grid and those below it, which no part of hjmg does */
static PetscErrorCode TimeGrids(Bench *b, PetscInt dim, PetscInt n, Times *t)
{
  PetscLogDouble t0 = 0, t1 = 0;

  PetscFunctionBegin;
  PetscCall(MachineTime(&b->machine, &t0));
  for (PetscInt m = n; m > 8; m = m / 2 + 1) {
    const Problem p = {.dim = dim, .n = m};
    DM            da;

    PetscCall(ProblemCreateDM(PETSC_COMM_WORLD, &p, &da));
    PetscCall(DMDestroy(&da));
  }
  PetscCall(MachineTime(&b->machine, &t1));
  t->n    = 1;
  t->s[0] = t1 - t0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set-up of new solvers on values that lie on the device, then with new values in the same matrix */
static PetscErrorCode RunSetUpOn(Bench *b, const char *name, const Grid *g, Mat A, const char type[], PetscBool bars)
{
  PetscLogDouble t0 = 0, t1 = 0;
  PetscReal      spent = 0;
  char           what[64];
  KSP            ksp;
  Times          t;
  Solved         s;

  PetscFunctionBegin;
  for (t.n = 0; t.n < b->repetitions && (t.n < 2 || spent < ENOUGH); t.n++) {
    PetscCall(SolverCreate(A, KSPCG, PCHJMG, NULL, &ksp));
    PetscCall(MachineTime(&b->machine, &t0));
    PetscCall(KSPSetUp(ksp));
    PetscCall(MachineTime(&b->machine, &t1));
    PetscCall(KSPDestroy(&ksp));
    t.s[t.n] = t1 - t0;
    spent += t1 - t0;
  }
  PetscCall(PetscSNPrintf(what, sizeof(what), "set-up%s", type));
  PetscCall(Report(b, name, g, &t, (Row){.what = what, .value = 1e3 * Median(&t), .unit = "ms", .bar = bars ? 8 : 0}));
  PetscCall(SolverCreate(A, KSPCG, PCHJMG, NULL, &ksp));
  PetscCall(KSPSolve(ksp, g->rhs, g->x));
  for (t.n = 0, spent = 0; t.n < b->repetitions && (t.n < 2 || spent < ENOUGH); t.n++) {
    PetscCall(MatScale(A, 1.25));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(MachineTime(&b->machine, &t0));
    PetscCall(KSPSetUp(ksp));
    PetscCall(MachineTime(&b->machine, &t1));
    t.s[t.n] = t1 - t0;
    spent += t1 - t0;
  }
  PetscCall(PetscSNPrintf(what, sizeof(what), "set-up with new values%s", type));
  PetscCall(Report(b, name, g, &t, (Row){.what = what, .value = 1e3 * Median(&t), .unit = "ms", .bar = bars ? 5 : 0}));
  PetscCall(SolverTime(b, name, g, ksp, &s));
  PetscCheck(s.good, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%s: a solver with new values does not solve", name);
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunSetUp(Bench *b, const char *name, PetscInt dim, PetscInt n)
{
  Grid  g;
  Mat   A;
  Times t;

  PetscFunctionBegin;
  PetscCall(GridCreate(dim, Points(b, dim, n), "hjstencil", &g));
  PetscCall(GridCreateMatrix(&g, (Field){.kind = FIELD_SMOOTH}, &A));
  PetscCall(RunSetUpOn(b, name, &g, A, "", (PetscBool)(b->machine.cuda && b->scale == 1)));
  PetscCall(TimeGrids(b, dim, g.n, &t));
  PetscCall(Report(b, name, &g, &t, (Row){.what = "PETSc's DMSetUp() of all grids", .value = 1e3 * Median(&t), .unit = "ms"}));
  PetscCall(MatDestroy(&A));
  PetscCall(GridDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunSetUpOnAIJ(Bench *b, const char *name, PetscInt dim, PetscInt n)
{
  const Problem p = {.dim = dim, .n = Points(b, dim, n), .variable = PETSC_TRUE};
  Grid          g;
  Mat           A;

  PetscFunctionBegin;
  PetscCall(CreateAIJ(b, &p, &g, &A));
  PetscCall(RunSetUpOn(b, name, &g, A, ", AIJ", PETSC_FALSE));
  PetscCall(MatDestroy(&A));
  PetscCall(GridDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A preconditioner that is ready, and was used */
static PetscErrorCode MakeReady(const Grid *g, Mat A, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(SolverCreate(A, KSPRICHARDSON, PCHJMG, NULL, ksp));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(PCApply(pc, g->rhs, g->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Device memory in use; trimmed: without what pools keep for later */
static PetscErrorCode UsedMemory(PetscBool trimmed, PetscReal *bytes)
{
  PetscFunctionBegin;
#if defined(HJACOBI_HAVE_CUDA)
  if (trimmed) PetscCall(HJPoolsTrim());
#endif
  PetscCall(MachineDeviceMemory(bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a ready preconditioner keeps beside the matrix and two vectors, in vectors of the finest grid: kernels are loaded by another one
   before. Then what set-up leaves in the library's pool for the next one, which is given back where memory is scarce */
static PetscErrorCode MeasureMemory(Bench *b, const char *name, const Grid *g, Field f, const char what[], PetscReal bar)
{
  const PetscReal bytes = PetscPowRealInt((PetscReal)g->n, (int)g->dim) * sizeof(PetscScalar);
  PetscReal       before, ready, pools;
  char            kept[64];
  Mat             A;
  KSP             ksp;

  PetscFunctionBegin;
  PetscCall(GridCreateMatrix(g, f, &A));
  PetscCall(MakeReady(g, A, &ksp));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(UsedMemory(PETSC_TRUE, &before));
  PetscCall(MakeReady(g, A, &ksp));
  PetscCall(UsedMemory(PETSC_FALSE, &pools));
  PetscCall(UsedMemory(PETSC_TRUE, &ready));
  PetscCall(
    Report(b, name, g, NULL, (Row){.what = what, .value = (ready - before) / bytes, .unit = "vectors", .bar = b->scale == 1 ? bar : 0}));
  PetscCall(PetscSNPrintf(kept, sizeof(kept), "%s, in pools", what));
  PetscCall(Report(b, name, g, NULL, (Row){.what = kept, .value = (pools - ready) / bytes, .unit = "vectors"}));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where coefficients vary the operators of the coarser grids come on top: 0.6 times the arrays of the finest */
static PetscErrorCode RunMemory(Bench *b, const char *name, PetscInt dim, PetscInt n)
{
  Grid g;

  PetscFunctionBegin;
  if (!b->machine.cuda) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "# %s is left out: the memory of a GPU is measured\n", name));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(GridCreate(dim, Points(b, dim, n), "hjstencil", &g));
  PetscCall(MeasureMemory(b, name, &g, (Field){.kind = FIELD_SAME}, "memory, constant", 2.2));
  PetscCall(MeasureMemory(b, name, &g, (Field){.kind = FIELD_SMOOTH}, "memory, variable", 2.2 + 0.6 * (2 * dim + 1)));
  PetscCall(GridDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One preconditioner of host2d and host3d, on the matrix type that it likes */
typedef struct {
  const char *what, *type, *pc, *options;
  PetscBool   slow; /* left out but for smooth coefficients */
} Peer;

/* Coefficients of host2d and host3d, and the seconds that hjmg may take for set-up and solve at 129^3 */
typedef struct {
  const char *what;
  Field       field;
  PetscReal   bar[2];
} HostField;

/* hjstencil is filled through its arrays or by one row, other types by MatSetValuesStencil(), which no set-up here counts */
static PetscErrorCode PeerMatrix(const Peer *peer, const Grid *g, Field f, Mat *A)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(peer->type, "hjstencil", &ours));
  if (ours) {
    PetscCall(GridCreateMatrix(g, f, A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  f.dim = g->dim;
  f.n   = g->n;
  PetscCall(DMCreateMatrix(g->da, A));
  PetscCall(FieldFillValues(&f, g->da, *A));
  PetscCall(MatMult(*A, g->rhs, g->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunPeer(Bench *b, const char *name, PetscInt dim, PetscInt n, const Peer *peer, const HostField *f)
{
  const PetscBool full = (PetscBool)(n == 129 && dim == 3);
  PetscLogDouble  t0 = 0, t1 = 0;
  PetscReal       spent = 0;
  Grid            g;
  Mat             A;
  KSP             ksp;
  Times           t;
  Solved          s;
  char            text[96], prefix[32];
  PetscBool       mg, ours;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(peer->pc, PCMG, &mg));
  PetscCall(PetscStrcmp(peer->what, "hjmg", &ours));
  PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "%s_", peer->pc));
  PetscCall(PetscOptionsPrefixPush(NULL, prefix));
  if (peer->options) PetscCall(PetscOptionsInsertString(NULL, peer->options));
  PetscCall(PetscOptionsPrefixPop(NULL));
  PetscCall(GridCreate(dim, n, peer->type, &g));
  PetscCall(PeerMatrix(peer, &g, f->field, &A));
  for (t.n = 0, ksp = NULL; t.n < PetscMin(b->repetitions, 3) && (t.n < 1 || spent < ENOUGH); t.n++) {
    PC pc;

    PetscCall(KSPDestroy(&ksp));
    PetscCall(SolverCreate(A, KSPCG, peer->pc, prefix, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    if (mg) PetscCall(PCSetDM(pc, g.da));
    PetscCall(MachineTime(&b->machine, &t0));
    PetscCall(KSPSetUp(ksp));
    PetscCall(KSPSetUpOnBlocks(ksp));
    PetscCall(MachineTime(&b->machine, &t1));
    t.s[t.n] = t1 - t0;
    spent += t1 - t0;
  }
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s, %s: set-up", peer->what, f->what));
  PetscCall(Report(b, name, &g, &t, (Row){.what = text, .value = Median(&t), .unit = "s", .bar = full && ours ? f->bar[0] : 0}));
  PetscCall(SolverTime(b, name, &g, ksp, &s));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s, %s: solve, CG", peer->what, f->what));
  PetscCall(
    Report(b, name, &g, &s.t,
           (Row){.what = text, .its = s.its, .value = s.good ? Median(&s.t) : 0, .unit = "s", .bar = full && ours ? f->bar[1] : 0}));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(GridDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A CPU at full size, beside others */
static PetscErrorCode RunHost(Bench *b, const char *name, PetscInt dim, PetscInt n)
{
  static const Peer peers[] =
    {{.what = "hjmg", .type = "hjstencil", .pc = PCHJMG},
     {.what = "hjmg on AIJ", .type = MATAIJ, .pc = PCHJMG, .slow = PETSC_TRUE},
     {.what    = "PCMG, hjacobi",
      .type    = "hjstencil",
      .pc      = PCMG,
      .options = "-pc_mg_levels 6 -pc_mg_galerkin both -mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1 -mg_levels_pc_type hjacobi "
                 "-mg_levels_pc_hjacobi_k 4"},
     {.what = "hypre PFMG", .type = "hyprestruct", .pc = "pfmg"},
     {.what = "PCGAMG", .type = MATAIJ, .pc = PCGAMG, .slow = PETSC_TRUE},
     {.what = "hypre BoomerAMG", .type = MATAIJ, .pc = "hypre", .options = "-pc_hypre_type boomeramg", .slow = PETSC_TRUE}};
  static const HostField fields[] = {{"constant", {.kind = FIELD_SAME}, {0.6, 0.35}},
                                     {"smooth", {.kind = FIELD_SMOOTH}, {0, 0}},
                                     {"jump of 1e4", {.kind = FIELD_JUMP, .ratio = 1e4}, {0, 0}},
                                     {"x 100 times as strong", {.kind = FIELD_SAME, .strength = {100, 1, 1}}, {0, 0}}};
  const PetscInt         npeers   = b->peer ? (PetscInt)PETSC_STATIC_ARRAY_LENGTH(peers) : 2;

  PetscFunctionBegin;
  if (b->machine.cuda) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "# %s is left out: it is for a CPU\n", name));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (b->n[dim]) n = b->n[dim];
  for (PetscInt f = 0; f < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(fields); f++) {
    for (PetscInt i = 0; i < npeers; i++) {
      const PetscBool pfmg = (PetscBool)!strcmp(peers[i].pc, "pfmg");

      if (!PetscDefined(HAVE_HYPRE) && (pfmg || !strcmp(peers[i].pc, "hypre"))) continue;
      if (pfmg && dim < 3) continue; /* MATHYPRESTRUCT is for 3D alone */
      if (peers[i].slow && fields[f].field.kind != FIELD_SMOOTH) continue;
      PetscCall(RunPeer(b, name, dim, n, &peers[i], &fields[f]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   In the order of importance; n: points in each direction on a GPU, 0: several sizes. What does not say otherwise is solved under CG.
   constant: one row for all, hjmg as the solver; four sizes. cg, cgaij: the same under CG; with AIJ, on a GPU aijcusparse.
   variable: another coefficient at each point, as the solver and under CG. jump: one region of 1e2, 1e4, 1e6.
   anisotropy: one direction stronger than the others, in 3D also one weaker, by 1e2, 1e4, 1e6; turning: it differs between regions.
   blocks: random blocks of 5 to 12 points in each direction, values from 1 to 1e6: harmonic means on faces, values at midpoints of faces;
   a random value at each point.
   setup, setupaij: KSPSetUp() with values that lie where the matrix does, then with new values; PETSc's DMSetUp() of grids of these sizes.
   memory: of the GPU, that a ready PC holds beside the matrix and the two vectors of PCApply(), kernels apart; what its set-up leaves in
   the library's pool.
   host: set-up and solve on a CPU at full size, beside PCMG with hjacobi, PCGAMG and, where PETSc has it, hypre. Matrices are filled first.
*/
static const struct {
  const char *name;
  PetscErrorCode (*run)(Bench *, const char *, PetscInt, PetscInt);
  PetscInt dim, n;
} cases[] = {{"constant2d", RunConstant, 2, 0},
             {"constant3d", RunConstant, 3, 0},
             {"cg2d", RunCG, 2, 4097},
             {"cg3d", RunCG, 3, 257},
             {"variable2d", RunVariable, 2, 4097},
             {"variable3d", RunVariable, 3, 257},
             {"jump2d", RunJump, 2, 1025},
             {"jump3d", RunJump, 3, 129},
             {"anisotropy2d", RunAnisotropy, 2, 1025},
             {"anisotropy3d", RunAnisotropy, 3, 129},
             {"blocks2d", RunBlocks, 2, 1025},
             {"blocks3d", RunBlocks, 3, 129},
             {"setup2d", RunSetUp, 2, 4097},
             {"setup3d", RunSetUp, 3, 257},
             {"memory2d", RunMemory, 2, 4097},
             {"memory3d", RunMemory, 3, 257},
             {"turning2d", RunTurning, 2, 1025},
             {"cgaij2d", RunCGOnAIJ, 2, 4097},
             {"cgaij3d", RunCGOnAIJ, 3, 257},
             {"setupaij2d", RunSetUpOnAIJ, 2, 4097},
             {"setupaij3d", RunSetUpOnAIJ, 3, 257},
             {"host2d", RunHost, 2, 1025},
             {"host3d", RunHost, 3, 129}};

#define NCASES ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(cases))

static PetscErrorCode ReadOptions(Bench *b)
{
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(GetRepetitions(&b->repetitions));
  PetscCall(MachineOpen(&b->machine));
  b->scale = b->machine.cuda ? 1 : 4;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-scale", &b->scale, NULL));
  PetscCheck(b->scale > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-scale must be at least 1");
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n2", &b->n[2], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n3", &b->n[3], NULL));
  if (b->n[2] || b->n[3]) b->scale = PetscMax(b->scale, 2); /* the bars are those of other sizes */
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-peer", &b->peer, NULL));
  b->nprecisions = PETSC_STATIC_ARRAY_LENGTH(b->precision);
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-precisions", b->precision, &b->nprecisions, &given));
  if (!given) b->nprecisions = 0;
  PetscCall(OutputOpen("case,dim,n,what,repetitions,iterations,median_s,spread,value,unit,bar,reached", &b->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench       b = {.repetitions = 10, .peer = PETSC_TRUE};
  const char *names[NCASES];
  PetscBool   wanted[NCASES];

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ReadOptions(&b));
  for (PetscInt c = 0; c < NCASES; c++) names[c] = cases[c].name;
  PetscCall(ReadNames("-cases", NCASES, names, NCASES, wanted));
  for (PetscInt c = 0; c < NCASES; c++) {
    if (wanted[c]) PetscCall(OutputHasTime(PETSC_COMM_WORLD, &b.out, names[c], &wanted[c]));
    if (wanted[c]) PetscCall(cases[c].run(&b, names[c], cases[c].dim, cases[c].n));
  }
  PetscCall(MachineClose(&b.machine));
  for (PetscInt i = 0; i < b.nprecisions; i++) PetscCall(PetscFree(b.precision[i]));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, b.out.csv));
  PetscCall(PetscFinalize());
  return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
static char
  help[] = "Scaling over ranks (a GPU each): the smoother and CG + multigrid, for each halo transport; all rank counts in one run.\n\
  -ranks <1,2,4,...>    rank counts; the others wait\n\
  -cases <weak2d,weak3d,strong2d,strong3d,mg2d,mg3d,mgstrong2d,mgstrong3d,\n\
          hjmg2d,hjmg3d,hjmgstrong2d,hjmgstrong3d,\n\
          hjmgvariable2d,hjmgvariable3d,hjmgvariablestrong2d,hjmgvariablestrong3d>\n\
  -w2 <8193> -w3 <385>  points in each direction on one rank; more ranks: as many a rank\n\
  -s2 <16385> -s3 <513> points in each direction, any number of ranks\n\
  -m2 <4097> -m3 <257>  multigrid (2^m + 1): mg and hjmg as -w2 and -w3, mgstrong and hjmgstrong as -s2 and -s3\n\
  -dm_mat_type <aijcusparse>   hjstencil: matrices are filled by arrays; their halos travel by -hj_exchange\n\
  -k <8> -cycles <4>    subiterations a cycle and cycles a call of the smoother\n\
  -peer_sweeps <2,4> -our_sweeps <2,4,6>   smoothing sweeps of multigrid; -peer_sweeps 0: ours alone\n\
  -gather <0>           coarsest levels of multigrid that PCTELESCOPE gathers on one rank, where there are several\n\
  -peer_leave_out <0> -our_leave_out <0>   coarsest levels that are left out; we solve the coarsest grid by sweeps then\n\
  -coarse_sweeps <0>    that many; 0: twice the intervals of its shortest direction\n\
  -our_hjmg <false>     a cycle of hjmg takes the place of all grids below our finest\n\
  -peer_<option> -our_<option>   for one of the two solvers, as -our_mg_levels_7_pc_hjacobi_k 8\n\
  -strips <true>        cut the slowest direction alone: what a rank sends is contiguous; false: PETSc cuts\n\
  -copies <true>        sweeps write the next halo, where backend and transport can\n\
  -exchanges <petscsf,nccl,ipc>   transports, of those that are there\n\
  -warm <1>             seconds of work before a smoother is timed: GPUs lower their clocks under load\n\
  -backend <auto>       host or cuda; auto: cuda where there is a GPU\n\
  -budget <0>           seconds after which no other case is begun\n\
  -repetitions <5>  -csv <file>  -commit <id>  -device <words>\n";

/*
   Decides what is timed, checks answers first, writes a table and CSV. The smoother's coefficients are made here and not read from a
   matrix, so that its grids may be large. This one looks inside the library, to time the exchange and the sweeps apart.
*/
#include "fillings.h"
#include "report.h"
#include "operator/hjoperator.h"
#include <petscdevice.h>

#define NCASES   16
#define NSOLVERS 3 /* that hjmg is timed in */
static const char *const cases[NCASES] =
  {"weak2d", "weak3d", "strong2d",     "strong3d",     "mg2d",           "mg3d",           "mgstrong2d",           "mgstrong3d",
   "hjmg2d", "hjmg3d", "hjmgstrong2d", "hjmgstrong3d", "hjmgvariable2d", "hjmgvariable3d", "hjmgvariablestrong2d", "hjmgvariablestrong3d"};

/* The order of Bench.exchanges */
enum { PETSCSF, NCCL, IPC, NEXCHANGES };
static const char *const exchanges[NEXCHANGES] = {"petscsf", "nccl", "ipc"};

typedef struct {
  PetscInt w[4], s[4], m[4]; /* by dimension */
  PetscInt k, cycles, repetitions, peer_sweeps[8], npeer, our_sweeps[8], nour, gather, peer_leave_out, our_leave_out, coarse_sweeps;
  Output   out;
  const HJBackendOps *backend;
  MPI_Comm            comm; /* of the ranks that take part, PETSc's own: keeps NCCL's communicator alive from case to case */
  PetscMPIInt         size;
  PetscBool           strips, copies, our_hjmg, wanted[NCASES], exchanges[NEXCHANGES];
  PetscReal           warm;
  const HJHaloOps    *transport[3];
  int                 ntransports;
} Bench;

/*
   A line of the table. efficiency: time or rate a rank over that of one rank in this run; ratio: to the peer; both 0 where there is none.
   hidden < 0: none
*/
typedef struct {
  const char *name, *what, *exchange, *unit;
  PetscInt    n[3], k;
  Times       t;
  PetscReal   rate, efficiency, ratio, alone, without, hidden;
} Row;

static PetscErrorCode Report(Bench *b, const Row *r)
{
  const PetscReal median = Median(&r->t), spread = Spread(&r->t);
  char            grid[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(grid, sizeof(grid), "%" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT, r->n[0], r->n[1], r->n[2]));
  PetscCall(PetscPrintf(b->comm, "%-8s %d %-17s %-8s %-40s %2" PetscInt_FMT " %10.3f ms +%3.0f%% %8.1f %-5s", r->name, b->size, grid,
                        r->exchange, r->what, r->k, 1e3 * (double)median, 100 * (double)spread, (double)r->rate, r->unit));
  if (r->efficiency > 0) PetscCall(PetscPrintf(b->comm, " eff %5.3f", (double)r->efficiency));
  if (r->ratio > 0) PetscCall(PetscPrintf(b->comm, " ratio %5.2f", (double)r->ratio));
  if (r->hidden >= 0) PetscCall(PetscPrintf(b->comm, " exchange %.3f ms, hidden %.0f%%", 1e3 * (double)r->alone, 100 * (double)r->hidden));
  PetscCall(PetscPrintf(b->comm, "\n"));
  PetscCall(OutputRow(b->comm, &b->out));
  PetscCall(PetscFPrintf(b->comm, b->out.csv,
                         "%s,%s,%d,%" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ",%s,%s,%" PetscInt_FMT ",%" PetscInt_FMT
                         ",%.6g,%.4f,%.6g,%s,%.4f,%.4f,%.6g,%.6g,%.4f\n",
                         b->backend->name, r->name, b->size, r->n[0], r->n[1], r->n[2], r->exchange, r->what, r->k, r->t.n, (double)median,
                         (double)spread, (double)r->rate, r->unit, (double)r->efficiency, (double)r->ratio, (double)r->alone,
                         (double)r->without, (double)PetscMax(r->hidden, 0)));
  PetscCall(OutputFlush(&b->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A clock read when all ranks' devices are done */
static PetscErrorCode Clock(const Bench *b, PetscLogDouble *t)
{
  PetscDeviceContext dctx;

  PetscFunctionBegin;
  if (PetscMemTypeDevice(b->backend->mtype)) { /* else PETSc would look for a GPU that may not be there */
    PetscCall(PetscDeviceContextGetCurrentContext(&dctx));
    PetscCall(PetscDeviceContextSynchronize(dctx));
  }
  PetscCallMPI(MPI_Barrier(b->comm));
  *t = MPI_Wtime();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   As many points a rank as n^dim. Strips: the slowest direction grows; else directions double in turn, slowest first, and what is left of
   the ranks goes to it
*/
static void WeakSize(const Bench *b, PetscInt dim, PetscInt n, PetscInt size[3])
{
  PetscInt factor[3] = {1, 1, 1}, ranks = b->size, d = dim - 1;

  for (; !b->strips && ranks % 2 == 0; ranks /= 2) {
    factor[d] *= 2;
    d = d ? d - 1 : dim - 1;
  }
  factor[dim - 1] *= ranks;
  for (int i = 0; i < 3; i++) size[i] = i < dim ? (n - 1) * factor[i] + 1 : 1;
}

static PetscErrorCode CreateDM(const Bench *b, PetscInt dim, const PetscInt n[3], DM *da)
{
  PetscFunctionBegin;
  PetscCall(DMDACreate(b->comm, da));
  PetscCall(DMSetDimension(*da, dim));
  PetscCall(DMDASetSizes(*da, n[0], n[1], n[2]));
  if (b->strips) PetscCall(DMDASetNumProcs(*da, 1, dim == 2 ? b->size : 1, dim == 3 ? b->size : 1));
  PetscCall(DMDASetDof(*da, 1));
  PetscCall(DMDASetStencilWidth(*da, 1));
  PetscCall(DMDASetStencilType(*da, DMDA_STENCIL_STAR));
#if PetscDefined(HAVE_CUDA)
  if (PetscMemTypeDevice(b->backend->mtype)) {
    PetscCall(DMSetVecType(*da, VECCUDA));
    PetscCall(DMSetMatType(*da, MATAIJCUSPARSE));
  }
#endif
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Poisson, zero outside the grid: one row everywhere */
static PetscErrorCode CreateOp(const Bench *b, DM da, const HJHaloOps *transport, HJOperator **op)
{
  const PetscInt tile[3] = {32, 32, 32};
  HJGrid         grid;
  HJStencil     *st;

  PetscFunctionBegin;
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(PetscNew(&st));
  st->dim        = grid.dim;
  st->shape      = HJ_STAR;
  st->storage    = HJ_DICTIONARY;
  st->nslots     = 1 + 2 * grid.dim;
  st->box        = HJGridPadded(&grid, HJPlanPad(&grid, -1));
  st->mtype      = PETSC_MEMTYPE_HOST;
  st->nrows      = 1;
  st->gershgorin = 2;
  PetscCall(PetscMalloc1(st->nslots, &st->rows));
  PetscCall(PetscMalloc1(1, &st->dinv_rows));
  PetscCall(PetscCalloc1(HJBoxSize(&st->box), &st->index));
  st->rows[0]      = 1;
  st->dinv_rows[0] = 0.5 / grid.dim;
  for (PetscInt o = 1; o < st->nslots; o++) st->rows[o] = -st->dinv_rows[0];
  PetscCall(HJOperatorCreateFromStencil(da, &grid, st, -1, tile, b->backend, transport, op));
  (*op)->limits.copies = (PetscBool)((*op)->limits.copies && b->copies);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = scale v; v is an eigenvector of D^-1 A that changes sign from point to point, so that a wrong ghost point shows */
static PetscErrorCode SetEigenvector(DM da, PetscReal scale, Vec x, PetscReal *lambda)
{
  DMDALocalInfo info;
  PetscInt      N[3], lo[3], n[3];
  PetscReal    *sine[3];
  PetscScalar  *a;
  PetscCount    at = 0;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  N[0] = info.mx, N[1] = info.my, N[2] = info.mz;
  lo[0] = info.xs, lo[1] = info.ys, lo[2] = info.zs;
  n[0] = info.xm, n[1] = info.ym, n[2] = info.zm;
  *lambda = 1;
  for (int d = 0; d < 3; d++) {
    const PetscInt64 mode = d < info.dim ? (3 + d) * (N[d] + 1) / 8 : 1, period = 2 * ((PetscInt64)N[d] + 1);

    PetscCall(PetscMalloc1(n[d], &sine[d]));
    for (PetscInt i = 0; i < n[d]; i++)
      sine[d][i] = d < info.dim ? PetscSinReal(2 * PETSC_PI * (PetscReal)(mode * (lo[d] + i + 1) % period) / period) : 1;
    if (d < info.dim) *lambda -= PetscCosReal(2 * PETSC_PI * mode / period) / info.dim;
  }
  PetscCall(VecGetArrayWrite(x, &a));
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      for (PetscInt i = 0; i < n[0]; i++) a[at++] = scale * sine[2][k] * sine[1][j] * sine[0][i];
    }
  }
  PetscCall(VecRestoreArrayWrite(x, &a));
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(sine[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From x = v, D^-1 b = v / 2 the cycles stay on v. Rounding: eps times the subiterations, and 10 for the length of a row's sum */
static PetscErrorCode CheckAnswer(const Bench *b, DM da, HJOperator *op, HJWeights *w, Vec rhs, Vec x, Vec y)
{
  PetscReal lambda = 0, alpha = 1, difference;

  PetscFunctionBegin;
  PetscCall(SetEigenvector(da, 1, x, &lambda));
  PetscCall(VecCopy(x, y));
  PetscCall(VecCopy(x, rhs));
  PetscCall(VecScale(rhs, (PetscReal)op->grid.dim)); /* D is 2 dim */
  PetscCall(HJOperatorRun(op, w, &(HJRun){.its = b->cycles, .b = rhs, .x = x}));
  for (PetscInt j = 0; j < b->cycles * b->k; j++) alpha += w->w[j % b->k] * (0.5 - lambda * alpha);
  PetscCall(VecAXPY(x, -alpha, y));
  PetscCall(VecNorm(x, NORM_INFINITY, &difference));
  PetscCheck(difference <= 10 * PETSC_MACHINE_EPSILON * b->k * b->cycles, b->comm, PETSC_ERR_PLIB, "Answer on %d ranks by %s is off by %g",
             b->size, op->halo_ops->name, (double)difference);
  PetscCall(VecCopy(y, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Seconds of one run of the cycles; runs follow one another until a timing is long enough for the clock. warm: seconds of untimed runs,
   until clocks and power are those of steady work
*/
static PetscErrorCode TimeCycles(const Bench *b, HJOperator *op, HJWeights *w, Vec rhs, Vec x, PetscReal warm, Times *t)
{
  PetscLogDouble t0 = 0, t1 = 0;
  PetscInt       runs = 1;

  PetscFunctionBegin;
  t->n = b->repetitions;
  for (PetscInt r = -2; r < t->n; r++) { /* the first warms up, the second says how many */
    PetscCall(Clock(b, &t0));
    for (PetscInt i = 0; i < runs; i++) PetscCall(HJOperatorRun(op, w, &(HJRun){.its = b->cycles, .b = rhs, .x = x}));
    PetscCall(Clock(b, &t1));
    if (r >= 0) t->s[r] = (t1 - t0) / runs;
    if (r == -1) {
      PetscInt n[] = {(PetscInt)PetscMin(PetscCeilReal(0.02 / (t1 - t0)), 100), (PetscInt)(warm / (t1 - t0))};

      PetscCallMPI(MPI_Bcast(n, 2, MPIU_INT, 0, b->comm));
      runs = n[0];
      for (PetscInt i = 0; i < n[1]; i++) PetscCall(HJOperatorRun(op, w, &(HJRun){.its = b->cycles, .b = rhs, .x = x}));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NoSweep(PETSC_UNUSED void *ctx, PETSC_UNUSED PetscInt n, PETSC_UNUSED const HJSweep s[])
{
  return PETSC_SUCCESS;
}

static PetscErrorCode NoCopy(PETSC_UNUSED void *ctx, PETSC_UNUSED PetscScalar *to, PETSC_UNUSED const PetscScalar *from,
                             PETSC_UNUSED PetscCount n)
{
  return PETSC_SUCCESS;
}

static PetscErrorCode NoExchange(PETSC_UNUSED HJHalo halo, PETSC_UNUSED PetscMemType mtype, PETSC_UNUSED const PetscScalar *const from[2],
                                 PETSC_UNUSED PetscScalar *frame[2])
{
  return PETSC_SUCCESS;
}

/* The same passes without the exchange, then the exchange without sweeps; what the vectors hold after this is of no use */
static PetscErrorCode TimeApart(const Bench *b, HJOperator *op, HJWeights *w, Vec rhs, Vec x, Row *row)
{
  const HJHaloOps     none = {.name = "none", .begin = NoExchange, .end = NoExchange}, *transport = op->halo_ops;
  const HJBackendOps *backend = op->ops;
  const PetscBool     copies  = op->limits.copies;
  HJBackendOps        idle    = *backend;
  Times               t;

  PetscFunctionBegin;
  for (HJFrames f = op->frames; f; f = f->next)
    if (f->halo) f->halo->ops = &none;
  PetscCall(TimeCycles(b, op, w, rhs, x, 0, &t));
  row->without = Median(&t);
  for (HJFrames f = op->frames; f; f = f->next)
    if (f->halo) f->halo->ops = transport;
  idle.sweep        = NoSweep;
  idle.copy         = NoCopy;
  op->ops           = &idle;
  op->limits.copies = PETSC_FALSE; /* all travels in the exchange */
  PetscCall(TimeCycles(b, op, w, rhs, x, 0, &t));
  row->alone        = Median(&t);
  op->ops           = backend;
  op->limits.copies = copies;
  row->hidden       = PetscMin(1, PetscMax(0, 1 - (Median(&row->t) - row->without) / row->alone));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* one: seconds on one rank in this run, kept from rank count to rank count */
static PetscErrorCode BenchSmoother(Bench *b, const char *name, PetscInt dim, PetscBool weak, PetscReal *one)
{
  Row       row = {.name = name, .what = "smoother", .unit = "Gup/s", .k = b->k};
  DM        da;
  Vec       x, y, rhs;
  HJWeights w = {.k = b->k};

  PetscFunctionBegin;
  if (weak) WeakSize(b, dim, b->w[dim], row.n);
  else
    for (int d = 0; d < 3; d++) row.n[d] = d < dim ? b->s[dim] : 1;
  PetscCall(CreateDM(b, dim, row.n, &da));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &rhs));
  PetscCall(PetscMalloc1(b->k, &w.w));
  PetscCall(HJScheduleFill(PETSC_COMM_WORLD, PC_HJACOBI_SCHEDULE_CHEBYSHEV4, b->k, 0, 2, 0, w.w));
  for (int i = 0; i < b->ntransports; i++) {
    HJOperator *op;

    PetscCall(CreateOp(b, da, b->transport[i], &op));
    PetscCall(CheckAnswer(b, da, op, &w, rhs, x, y));
    PetscCall(TimeCycles(b, op, &w, rhs, x, b->warm, &row.t));
    if (b->size == 1) *one = Median(&row.t);
    row.exchange   = b->size == 1 ? "none" : b->transport[i]->name;
    row.rate       = (PetscReal)row.n[0] * row.n[1] * row.n[2] * b->k * b->cycles / Median(&row.t) / 1e9;
    row.efficiency = *one / Median(&row.t) / (weak ? 1 : b->size);
    row.hidden     = -1;
    if (b->size > 1) PetscCall(TimeApart(b, op, &w, rhs, x, &row));
    PetscCall(Report(b, &row));
    PetscCall(HJOperatorDestroy(&op));
  }
  PetscCall(PetscFree(w.w));
  PetscCall(PetscFree(w.cycled));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&rhs));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All that the solvers share. gathered: levels on one rank, of which the finest is the coarsest that all ranks have */
typedef struct {
  Hierarchy h;
  PetscInt  gathered;
} Levels;

/* PETSc's, or ours by a transport. The first so many levels are left out */
typedef struct {
  const char *prefix, *exchange; /* of its options; NULL for PETSc's */
  PetscInt    sweeps, leave_out;
  PetscBool   hjmg; /* solves the coarsest grid that is left */
} Solver;

static PetscErrorCode FillMatrix(const Problem *p, DM da, Mat A)
{
  PetscBool stencil;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATHJSTENCIL, &stencil));
  PetscCall(FillingFill(p, stencil ? FILLING_ARRAYS : FILLING_VALUES, da, A, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LevelsCreate(const Bench *b, Problem *p, const PetscInt n[3], Levels *l)
{
  PetscInt levels;
  DM       da;

  PetscFunctionBegin;
  l->gathered = b->size > 1 ? b->gather : 0;
  levels      = ProblemLevels(p) - (l->gathered ? l->gathered - 1 : 0);
  PetscCheck(l->gathered >= 0 && l->gathered != 1 && levels > 1, b->comm, PETSC_ERR_ARG_OUTOFRANGE,
             "-gather must be 0, or from 2 to %" PetscInt_FMT ", one less than there are levels", ProblemLevels(p) - 1);
  if (b->our_hjmg && !b->npeer) levels = 2; /* the coarsest grids have too few points for the ranks, PETSc says */
  PetscCall(CreateDM(b, p->dim, n, &da));
  PetscCall(HierarchyCreate(p, da, levels, FillMatrix, &l->h));
  PetscCall(DMDestroy(&da));
  if (l->gathered)
    PetscCall(DMKSPSetComputeOperators(l->h.da[0], ProblemComputeMatrix, p)); /* PCTELESCOPE makes the gathered levels by it */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Smoothers of levels whose prefix has been pushed */
static PetscErrorCode InsertSmoother(const char *exchange, PetscInt sweeps)
{
  char options[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(options, sizeof(options), exchange ? PROBLEM_HJACOBI : PROBLEM_CHEBYSHEV, sweeps));
  PetscCall(PetscOptionsInsertString(NULL, options));
  if (exchange) PetscCall(PetscOptionsSetValue(NULL, "-mg_levels_hj_exchange", exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coarsest grid of ours, where levels are left out */
static PetscErrorCode InsertCoarsest(const Bench *b, const Levels *l, const Solver *s)
{
  const PetscInt finer = l->h.n - 1 + (l->gathered ? l->gathered - 1 : 0) - s->leave_out; /* levels above it */
  PetscInt       dim, n[3];

  PetscFunctionBegin;
  if (!s->exchange || !(s->leave_out || s->hjmg)) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->hjmg) {
    PetscCall(PetscOptionsInsertString(NULL, "-mg_coarse_ksp_type preonly -mg_coarse_pc_type hjmg"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMDAGetInfo(l->h.da[l->h.n - 1], &dim, &n[0], &n[1], &n[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(ProblemSolveCoarsest(dim, n, finer, b->coarse_sweeps));
  if (!l->gathered) PetscCall(PetscOptionsSetValue(NULL, "-mg_coarse_hj_exchange", s->exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCTELESCOPE's and those of the levels that it gathers */
static PetscErrorCode InsertGathered(const Bench *b, const Levels *l, const Solver *s)
{
  char options[256];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(options, sizeof(options),
                          "-ksp_type preonly -pc_type telescope -pc_telescope_reduction_factor %d -telescope_ksp_type preonly "
                          "-telescope_pc_type mg -telescope_pc_mg_levels %" PetscInt_FMT,
                          b->size, l->gathered - s->leave_out));
  PetscCall(PetscOptionsPrefixPush(NULL, "mg_coarse_"));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PetscOptionsPrefixPush(NULL, "telescope_"));
  if (PetscMemTypeDevice(b->backend->mtype))
    PetscCall(PetscOptionsInsertString(NULL, "-repart_dm_vec_type cuda -repart_dm_mat_type aijcusparse"));
  PetscCall(InsertSmoother(s->exchange ? "auto" : NULL, s->sweeps));
  PetscCall(InsertCoarsest(b, l, s));
  PetscCall(PetscOptionsPrefixPop(NULL));
  PetscCall(PetscOptionsPrefixPop(NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode InsertOptions(const Bench *b, const Levels *l, const Solver *s)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsPrefixPush(NULL, s->prefix));
  PetscCall(InsertSmoother(s->exchange, s->sweeps));
  if (l->gathered) PetscCall(InsertGathered(b, l, s));
  else PetscCall(InsertCoarsest(b, l, s));
  PetscCall(PetscOptionsPrefixPop(NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(const Bench *b, const Levels *l, const Solver *s, KSP *ksp)
{
  const PetscInt most  = (l->gathered ? l->gathered : l->h.n) - 2,
                 first = l->gathered ? 0 : s->leave_out; /* PCMG of one level would not be multigrid */
  PC  pc;
  KSP coarse;

  PetscFunctionBegin;
  PetscCheck(s->leave_out >= 0 && s->leave_out <= most, b->comm, PETSC_ERR_ARG_OUTOFRANGE,
             "-%sleave_out must be from 0 to %" PetscInt_FMT " here", s->prefix, most);
  PetscCall(InsertOptions(b, l, s));
  PetscCall(HierarchyCreateSolver(&l->h, first, s->prefix, ksp));
  if (l->gathered) {
    PetscCall(KSPGetPC(*ksp, &pc));
    PetscCall(PCMGGetSmoother(pc, 0, &coarse));
    PetscCall(KSPGetPC(coarse, &pc));
    PetscCall(PCSetDM(pc, l->h.da[0]));
  }
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Names the solver of a row, -ksp_knoll, other weights, and levels whose sweeps are not the row's, as -our_mg_levels_7_pc_hjacobi_k 8 or
   -peer_mg_levels_7_ksp_max_it 3 asks. Call after InsertOptions(): where a level has no option of its own PETSc finds that of all levels
*/
static PetscErrorCode NameSolver(const Levels *l, const Solver *s, char what[], size_t size)
{
  size_t    used;
  MatType   type;
  PetscBool knoll, given;
  char      schedule[32];

  PetscFunctionBegin;
  PetscCall(DMGetMatType(l->h.da[0], &type));
  PetscCall(PetscSNPrintf(what, size, "%s %s", s->exchange ? "richardson/hjacobi" : "chebyshev/jacobi", type));
  PetscCall(PetscStrlen(what, &used));
  if (l->gathered) PetscCall(PetscSNPrintf(what + used, size - used, " gathered %" PetscInt_FMT, l->gathered));
  PetscCall(PetscStrlen(what, &used));
  if (s->hjmg) PetscCall(PetscSNPrintf(what + used, size - used, " hjmg below"));
  else if (s->leave_out) PetscCall(PetscSNPrintf(what + used, size - used, " left out %" PetscInt_FMT, s->leave_out));
  PetscCall(PetscStrlen(what, &used));
  PetscCall(PetscOptionsHasName(NULL, s->prefix, "-ksp_knoll", &knoll));
  if (knoll) PetscCall(PetscSNPrintf(what + used, size - used, " knoll"));
  PetscCall(PetscStrlen(what, &used));
  PetscCall(PetscOptionsGetString(NULL, s->prefix, "-mg_levels_pc_hjacobi_schedule", schedule, sizeof(schedule), &given));
  if (given) PetscCall(PetscSNPrintf(what + used, size - used, " %s", schedule));
  for (PetscInt level = 1; level < l->h.n; level++) {
    PetscInt sweeps = s->sweeps;
    char     option[64];

    PetscCall(PetscSNPrintf(option, sizeof(option), "-mg_levels_%" PetscInt_FMT "_%s", level, s->exchange ? "pc_hjacobi_k" : "ksp_max_it"));
    PetscCall(PetscOptionsGetInt(NULL, s->prefix, option, &sweeps, NULL));
    PetscCall(PetscStrlen(what, &used));
    if (sweeps != s->sweeps)
      PetscCall(PetscSNPrintf(what + used, size - used, " level %" PetscInt_FMT ": k %" PetscInt_FMT, level, sweeps));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TimeSolver(const Bench *b, const Levels *l, const Solver *s, Times *t, PetscInt *its)
{
  KSP                ksp;
  PetscLogDouble     t0 = 0, t1 = 0;
  PetscReal          residual;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  t->n = b->repetitions;
  PetscCall(CreateSolver(b, l, s, &ksp));
  for (PetscInt r = -1; r < t->n; r++) {
    PetscCall(Clock(b, &t0));
    PetscCall(KSPSolve(ksp, l->h.rhs, l->h.x));
    PetscCall(Clock(b, &t1));
    if (r >= 0) t->s[r] = t1 - t0;
    if (r >= 0) continue;
    PetscCall(ProblemTrueResidual(ksp, &residual));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCheck(reason > 0 && residual < 1.01e-8, b->comm, PETSC_ERR_NOT_CONVERGED,
               "%" PetscInt_FMT " sweeps of %s solver: reason %d, true residual %g", s->sweeps, s->exchange ? "our" : "PETSc's",
               (int)reason, (double)residual);
  }
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Each number of sweeps of PETSc's smoother, then of ours by each transport; ratio: to the best of PETSc's, if it was run. one: best
   seconds of ours on one rank
*/
static PetscErrorCode BenchMultigrid(Bench *b, const char *name, PetscInt dim, PetscBool weak, PetscReal *one)
{
  Problem   p = {.dim = dim};
  char      what[256];
  Row       row  = {.name = name, .what = what, .unit = "its", .hidden = -1};
  PetscReal peer = PETSC_MAX_REAL, ours = PETSC_MAX_REAL;
  Levels    l = {0};
  PetscInt  its;

  PetscFunctionBegin;
  if (weak) WeakSize(b, dim, b->m[dim], row.n);
  else
    for (int d = 0; d < 3; d++) row.n[d] = d < dim ? b->m[dim] : 1;
  p.n = row.n[0]; /* the shortest direction */
  PetscCall(LevelsCreate(b, &p, row.n, &l));
  for (int i = -1; i < b->ntransports; i++) {
    const PetscInt n = i < 0 ? b->npeer : b->nour;
    Solver         s = {.prefix = "peer_", .leave_out = b->peer_leave_out};

    row.exchange = i < 0 ? "petsc" : b->size == 1 ? "none" : b->transport[i]->name;
    if (i >= 0)
      s = (Solver){.prefix    = "our_",
                   .exchange  = b->size == 1 ? "auto" : row.exchange,
                   .leave_out = b->our_hjmg ? l.h.n - 2 : b->our_leave_out,
                   .hjmg      = b->our_hjmg};
    for (PetscInt j = 0; j < n; j++) {
      row.k = s.sweeps = i < 0 ? b->peer_sweeps[j] : b->our_sweeps[j];
      PetscCall(TimeSolver(b, &l, &s, &row.t, &its));
      PetscCall(NameSolver(&l, &s, what, sizeof(what)));
      row.rate = (PetscReal)its;
      if (i < 0) peer = PetscMin(peer, Median(&row.t));
      else ours = PetscMin(ours, Median(&row.t));
      row.ratio      = i < 0 || !b->npeer ? 0 : peer / Median(&row.t);
      row.efficiency = i < 0 || b->size == 1 ? 0 : *one / Median(&row.t) / (weak ? 1 : b->size);
      PetscCall(Report(b, &row));
    }
  }
  if (b->size == 1) *one = ours;
  PetscCall(HierarchyDestroy(&l.h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By PCHJMG and little else, until the residual is 1e-8 of what it was. Cycles are
   recorded in the solves before those that are timed */
static PetscErrorCode TimeHJMG(const Bench *b, Mat A, KSPType type, Vec rhs, Vec x, Times *t, PetscInt *its)
{
  KSP                ksp;
  PC                 pc;
  PetscLogDouble     t0 = 0, t1 = 0;
  PetscReal          residual;
  KSPConvergedReason reason;
  PetscBool          good;

  PetscFunctionBegin;
  PetscCall(KSPCreate(b->comm, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 100));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(KSPSetFromOptions(ksp));
  t->n = b->repetitions;
  for (PetscInt r = -2; r < t->n; r++) {
    PetscCall(Clock(b, &t0));
    PetscCall(KSPSolve(ksp, rhs, x));
    PetscCall(Clock(b, &t1));
    if (r >= 0) t->s[r] = t1 - t0;
  }
  PetscCall(ProblemCheckResidual(ksp, &residual, &good));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCheck(reason > 0 && good, b->comm, PETSC_ERR_NOT_CONVERGED, "PCHJMG under %s: reason %d, true residual %g", type, (int)reason,
             (double)residual);
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCHJMG as the solver, under CG and under hjcg, on one row for all points, or variable coefficients in arrays. one: seconds of each on one
   rank */
static PetscErrorCode BenchHJMG(Bench *b, const char *name, PetscInt dim, PetscBool weak, PetscBool variable, PetscReal one[NSOLVERS])
{
  const KSPType     types[NSOLVERS] = {KSPRICHARDSON, KSPCG, KSPHJCG};
  const char *const words[NSOLVERS] = {"hjmg as the solver", "hjmg under CG", "hjmg under hjcg"};
  Problem           p               = {.dim = dim, .variable = variable};
  Row               row             = {.name = name, .unit = "its", .hidden = -1};
  DM                da;
  Mat               A;
  Vec               rhs, x;
  PetscInt          its;

  PetscFunctionBegin;
  if (weak) WeakSize(b, dim, b->m[dim], row.n);
  else
    for (int d = 0; d < 3; d++) row.n[d] = d < dim ? b->m[dim] : 1;
  p.n = row.n[0];
  PetscCall(CreateDM(b, dim, row.n, &da));
  PetscCall(DMSetMatType(da, MATHJSTENCIL));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(FillingFill(&p, variable ? FILLING_ARRAYS : FILLING_ROW, da, A, NULL));
  PetscCall(ProblemCreateRHS(&p, da, &rhs));
  PetscCall(VecDuplicate(rhs, &x));
  PetscCall(MatMult(A, rhs, x)); /* the matrix follows the vectors to the GPU */
  row.exchange = b->size == 1 ? "none" : "auto";
  for (int i = 0; i < NSOLVERS; i++) {
    PetscCall(TimeHJMG(b, A, types[i], rhs, x, &row.t, &its));
    row.what       = words[i];
    row.rate       = (PetscReal)its;
    row.efficiency = b->size == 1 ? 0 : one[i] / Median(&row.t) / (weak ? 1 : b->size);
    if (b->size == 1) one[i] = Median(&row.t);
    PetscCall(Report(b, &row));
  }
  PetscCall(VecDestroy(&rhs));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds a transport that is there, if it is wanted */
static PetscErrorCode AddTransport(Bench *b, const HJHaloOps *ops, PetscBool wanted, PetscBool available, const char *why)
{
  PetscFunctionBegin;
  if (!available) PetscCall(PetscPrintf(b->comm, "# no %s: %s\n", ops->name, why));
  else if (wanted || b->size == 1) b->transport[b->ntransports++] = ops;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FindTransports(Bench *b)
{
  PetscFunctionBegin;
  b->ntransports = 0;
  PetscCall(AddTransport(b, &HJHaloPetscSF, b->exchanges[PETSCSF], PETSC_TRUE, NULL));
#if defined(HJACOBI_HAVE_CUDA)
  if (PetscMemTypeDevice(b->backend->mtype) && b->size > 1) {
    PetscBool   available;
    const char *why;

  #if defined(HJACOBI_HAVE_NCCL)
    PetscCall(HJNCCLAvailable(b->comm, &available, &why));
    PetscCall(AddTransport(b, &HJHaloNCCL, b->exchanges[NCCL], available, why));
  #endif
    PetscCall(HJIPCAvailable(b->comm, &available, &why));
    PetscCall(AddTransport(b, &HJHaloIPC, b->exchanges[IPC], available, why));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCase(Bench *b, const char *name, PetscReal *one)
{
  const size_t    len  = strlen(name);
  const PetscInt  dim  = name[len - 2] - '0';
  const PetscBool weak = (PetscBool)!strstr(name, "strong");
  PetscBool       go   = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(OutputHasTime(b->comm, &b->out, name, &go));
  if (!go) PetscFunctionReturn(PETSC_SUCCESS);
  if (name[0] == 'h') PetscCall(BenchHJMG(b, name, dim, weak, (PetscBool)(strstr(name, "variable") != NULL), one));
  else if (name[0] == 'm') PetscCall(BenchMultigrid(b, name, dim, weak, one));
  else PetscCall(BenchSmoother(b, name, dim, weak, one));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunRanks(Bench *b, PetscMPIInt ranks, PetscReal one[][NSOLVERS])
{
  PetscMPIInt rank;
  MPI_Comm    some;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &some));
  if (rank < ranks) {
    PetscCall(PetscCommDuplicate(some, &b->comm, NULL));
    b->size = ranks;
    PetscCall(FindTransports(b));
    for (PetscInt i = 0; i < NCASES; i++)
      if (b->wanted[i]) PetscCall(RunCase(b, cases[i], one[i]));
    PetscCall(PetscCommDestroy(&b->comm));
    PetscCallMPI(MPI_Comm_free(&some));
  }
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChooseBackend(Bench *b)
{
  char      backend[16] = "auto";
  PetscBool cuda        = PETSC_FALSE, host;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscStrcmp(backend, "host", &host));
  b->backend = &HJBackendHost;
#if defined(HJACOBI_HAVE_CUDA) && PetscDefined(HAVE_CUDA)
  PetscCall(HJCUDAAvailable(&cuda));
  if (cuda && !host) b->backend = &HJBackendCUDA;
#endif
  PetscCheck(cuda || backend[0] != 'c', PETSC_COMM_WORLD, PETSC_ERR_SUP, "-backend cuda: no GPU, or built without CUDA");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadOptions(Bench *b)
{
  char      name[8];
  PetscBool flg;

  PetscFunctionBegin;
  for (int d = 2; d < 4; d++) {
    PetscCall(PetscSNPrintf(name, sizeof(name), "-w%d", d));
    PetscCall(PetscOptionsGetInt(NULL, NULL, name, &b->w[d], NULL));
    PetscCall(PetscSNPrintf(name, sizeof(name), "-s%d", d));
    PetscCall(PetscOptionsGetInt(NULL, NULL, name, &b->s[d], NULL));
    PetscCall(PetscSNPrintf(name, sizeof(name), "-m%d", d));
    PetscCall(PetscOptionsGetInt(NULL, NULL, name, &b->m[d], NULL));
  }
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-k", &b->k, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cycles", &b->cycles, NULL));
  PetscCall(GetRepetitions(&b->repetitions));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-gather", &b->gather, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-peer_leave_out", &b->peer_leave_out, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-our_leave_out", &b->our_leave_out, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-coarse_sweeps", &b->coarse_sweeps, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-our_hjmg", &b->our_hjmg, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-strips", &b->strips, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-copies", &b->copies, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-warm", &b->warm, NULL));
  PetscCall(ReadNames("-cases", NCASES, cases, 6, b->wanted)); /* the others are for whoever asks */
  PetscCall(ReadNames("-exchanges", NEXCHANGES, exchanges, NEXCHANGES, b->exchanges));
  b->npeer = b->nour = 8;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-peer_sweeps", b->peer_sweeps, &b->npeer, &flg));
  if (!flg) b->npeer = 2;
  if (!b->peer_sweeps[0]) b->npeer = 0;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-our_sweeps", b->our_sweeps, &b->nour, &flg));
  if (!flg) b->nour = 3;
  PetscCall(
    OutputOpen("backend,case,ranks,nx,ny,nz,exchange,what,k,repetitions,median_s,spread,rate,unit,efficiency,ratio,exchange_alone_s,"
               "without_exchange_s,hidden",
               &b->out));
  PetscCall(ChooseBackend(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Bench       b                     = {.w           = {0, 0, 8193, 385},
                                       .s           = {0, 0, 16385, 513},
                                       .m           = {0, 0, 4097, 257},
                                       .k           = 8,
                                       .cycles      = 4,
                                       .strips      = PETSC_TRUE,
                                       .copies      = PETSC_TRUE,
                                       .warm        = 1,
                                       .repetitions = 5,
                                       .peer_sweeps = {2, 4},
                                       .our_sweeps  = {2, 4, 6}};
  PetscReal   one[NCASES][NSOLVERS] = {{0}};
  PetscInt    ranks[16], nranks = 16;
  PetscMPIInt size;
  PetscBool   given;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ReadOptions(&b));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-ranks", ranks, &nranks, &given));
  if (!given)
    for (nranks = 0; nranks < 16 && (1 << nranks) <= size; nranks++) ranks[nranks] = 1 << nranks;
  for (PetscInt i = 0; i < nranks; i++) PetscCall(RunRanks(&b, (PetscMPIInt)PetscMin(ranks[i], size), one));
  PetscCall(PetscFClose(PETSC_COMM_WORLD, b.out.csv));
  PetscCall(PetscFinalize());
  return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Cases of bench_mat: CG + multigrid at its best of many numbers of sweeps and coarsest grids, new values, a program that solves once.
*/
#pragma once

#include "matrows.h"

/* A program that leaves everything to DMDA and PCMG */
typedef struct {
  Problem     p;
  Filling     filling;
  const char *type;
  PetscBool   galerkin;
  const char *pctype; /* NULL: PCMG with hjacobi */
  PetscReal   grid;   /* seconds that the finest grid took */
  FillingOwn *own;    /* DoorFill()'s */
} Program;

/* The first MatPtAP() of PETSc 3.26.1 was seen wrong where the values of aijcusparse lie on the GPU alone: they come to the host too */
static PetscErrorCode ComputeMatrix(KSP ksp, PETSC_UNUSED Mat A, Mat B, void *ctx)
{
  const Program *g = (const Program *)ctx;
  DM             da;
  PetscBool      aij;

  PetscFunctionBegin;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(FillingFill(&g->p, g->filling, da, B, g->own));
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
  PetscCall(MachineTime(&b->machine, &t0));
  PetscCall(CreateGrid(&g->p, g->type, (PetscBool)(g->filling == FILLING_COO || g->filling == FILLING_CSR), &da));
  PetscCall(MachineTime(&b->machine, &t1));
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
  PetscCall(MachineTime(&b->machine, &t0));
  PetscCall(ProgramStart(b, g, ksp));
  PetscCall(KSPSetUp(*ksp));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(KSPGetRhs(*ksp, &x));
  PetscCall(KSPGetSolution(*ksp, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(PCApply(pc, x, y));
  PetscCall(MachineTime(&b->machine, &t1));
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

/* What solves the coarsest grid that is left, where some are left out */
typedef enum {
  COARSEST_SWEEPS,
  COARSEST_FACTORS,
  COARSEST_HJMG /* a cycle of it */
} Coarsest;

static const char *const coarsest_names[] = {"", ", factors", ", hjmg"};

/* One of the solvers that are tried: sweeps on the finest grid, on those below it (0: as many, with hjmg its own numbers), on the
   second (0: as below), grids left out, weights of first kind on all grids, and a cycle of multigrid as the initial guess */
typedef struct {
  PetscInt  k, below, second, leave_out;
  Coarsest  coarsest;
  PetscBool first, knoll;
} Attempt;

/*
   Eigenvalues of D^-1 A of Galerkin's matrices in 3D, smooth coefficients: where those are constant the largest are 1.19, 1.41, 1.48, below
   1.5 on all coarse grids; the bound that hjacobi finds by itself is 2. Given where the second grid has fewer sweeps than those below it
*/
#define COARSE_EIGENVALUES "0.2,1.6"

/* The best attempt */
typedef struct {
  Attempt  a;
  PetscInt its;
  Times    t;
  Copies   copies; /* of one solve */
} Best;

/* Points of a coarsest grid whose factors are tried, at most: a GPU solves by their inverse there */
#define MOST_FACTORED 1152

/* What is tried with all numbers of sweeps and of coarsest grids */
typedef struct {
  const char *smoother; /* its options, with a place for the number of sweeps */
  KSPType     outer;
  PetscBool   ours;  /* hjacobi smooths: hjmg may solve below the finest grid, and grids below it may have other numbers of sweeps */
  PetscBool   known; /* the coarse grids have COARSE_EIGENVALUES */
  PetscBool   first; /* weights of first kind too */
  PetscBool   knoll; /* and, with those where they are tried, CG from a cycle's result, which may take an iteration less */
} Method;

/* Each attempt has a prefix of its own, so that it finds no options of others; without "_1_", for which PETSc would look in many ways */
static PetscErrorCode InsertAttempt(const Hierarchy *h, const Method *m, const Attempt *a, char prefix[], size_t size)
{
  const PetscInt finest = h->n - 1 - a->leave_out;
  char           options[512];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(prefix, size, "l%" PetscInt_FMT "c%dk%" PetscInt_FMT "b%" PetscInt_FMT "s%" PetscInt_FMT "f%dn%d_", a->leave_out,
                          (int)a->coarsest, a->k, a->below, a->second, (int)a->first, (int)a->knoll));
  PetscCall(PetscOptionsPrefixPush(NULL, prefix));
  PetscCall(PetscSNPrintf(options, sizeof(options), m->smoother, a->below ? a->below : a->k));
  PetscCall(PetscOptionsInsertString(NULL, options));
  if (a->first) PetscCall(PetscOptionsInsertString(NULL, "-mg_levels_pc_hjacobi_schedule chebyshev"));
  if (a->knoll) PetscCall(PetscOptionsInsertString(NULL, "-ksp_knoll"));
  if (a->below) {
    PetscCall(PetscSNPrintf(options, sizeof(options), "-mg_levels_%" PetscInt_FMT "_pc_hjacobi_k %" PetscInt_FMT, finest, a->k));
    PetscCall(PetscOptionsInsertString(NULL, options));
  }
  if (a->second) {
    PetscCall(PetscSNPrintf(options, sizeof(options), "-mg_levels_%" PetscInt_FMT "_pc_hjacobi_k %" PetscInt_FMT, finest - 1, a->second));
    PetscCall(PetscOptionsInsertString(NULL, options));
    for (PetscInt l = 1; l < finest; l++) {
      PetscCall(PetscSNPrintf(options, sizeof(options), "-mg_levels_%" PetscInt_FMT "_pc_hjacobi_eigenvalues " COARSE_EIGENVALUES, l));
      PetscCall(PetscOptionsInsertString(NULL, options));
    }
  }
  if (a->coarsest == COARSEST_HJMG) {
    PetscCall(PetscOptionsInsertString(NULL, "-mg_coarse_ksp_type preonly -mg_coarse_pc_type hjmg"));
    PetscCall(PetscSNPrintf(options, sizeof(options), "-mg_coarse_pc_hjmg_k %" PetscInt_FMT, a->below));
    if (a->below) PetscCall(PetscOptionsInsertString(NULL, options)); /* else its own numbers */
  } else if (a->leave_out && a->coarsest == COARSEST_SWEEPS)
    PetscCall(
      PetscOptionsInsertString(NULL, "-mg_coarse_ksp_type preonly -mg_coarse_pc_type hjacobi -mg_coarse_pc_hjacobi_reduction 0.01"));
  PetscCall(PetscOptionsPrefixPop(NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Galerkin's matrices do not know their grid */
static PetscErrorCode SetGrids(const Hierarchy *h, PetscInt leave_out, KSP ksp)
{
  PC  pc;
  KSP level;

  PetscFunctionBegin;
  for (PetscInt i = leave_out; i < h->n; i++) {
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCMGGetSmoother(pc, i - leave_out, &level));
    PetscCall(KSPGetPC(level, &pc));
    PetscCall(PCSetDM(pc, h->da[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What follows the name of a solver */
static PetscErrorCode AttemptName(const Attempt *a, size_t size, char name[])
{
  char below[32] = "", second[64] = "";

  PetscFunctionBegin;
  if (a->below) PetscCall(PetscSNPrintf(below, sizeof(below), ", below %" PetscInt_FMT, a->below));
  if (a->second)
    PetscCall(PetscSNPrintf(second, sizeof(second), " (second %" PetscInt_FMT ") by eigenvalues " COARSE_EIGENVALUES, a->second));
  PetscCall(PetscSNPrintf(name, size, "%s%s, %" PetscInt_FMT " left out%s%s%s", a->knoll ? ", knoll" : "", a->first ? ", first kind" : "",
                          a->leave_out, coarsest_names[a->coarsest], below, second));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReportAttempt(const Method *m, const Best *now)
{
  char name[128];

  PetscFunctionBegin;
  PetscCall(AttemptName(&now->a, sizeof(name), name));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "# %s, k %" PetscInt_FMT "%s: %" PetscInt_FMT " its, %.4f ms\n", m->outer, now->a.k, name,
                        now->its, 1e3 * (double)Median(&now->t)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solver; its number of iterations and its times are kept if they are better */
static PetscErrorCode TrySolver(Bench *b, const Hierarchy *h, const Method *m, Attempt a, Best *best)
{
  char           prefix[64];
  KSP            ksp;
  PetscLogDouble t0 = 0, t1      = 0;
  PetscReal      residual, spent = 0;
  PetscBool      good;
  Best           now = {.a = a};
  Copies         before;

  PetscFunctionBegin;
  PetscCall(InsertAttempt(h, m, &a, prefix, sizeof(prefix)));
  PetscCall(HierarchyCreateSolver(h, a.leave_out, prefix, &ksp));
  PetscCall(KSPSetType(ksp, m->outer));
  PetscCall(SetGrids(h, a.leave_out, ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, h->rhs, h->x));
  PetscCall(ProblemCheckResidual(ksp, &residual, &good));
  PetscCall(KSPGetIterationNumber(ksp, &now.its));
  if (good) {
    for (now.t.n = 0; now.t.n < b->repetitions && (now.t.n < 2 || spent < 2); now.t.n++) {
      before = CopiesNow();
      PetscCall(MachineTime(&b->machine, &t0));
      PetscCall(KSPSolve(ksp, h->rhs, h->x));
      PetscCall(MachineTime(&b->machine, &t1));
      now.t.s[now.t.n] = t1 - t0;
      now.copies       = (Copies){CopiesNow().count - before.count, CopiesNow().bytes - before.bytes};
      spent += t1 - t0;
    }
    if (b->attempts) PetscCall(ReportAttempt(m, &now));
    if (!best->t.n || Median(&now.t) < Median(&best->t)) *best = now;
  } else
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "# %s, k %" PetscInt_FMT ", %" PetscInt_FMT " grids left out: true residual %g, not counted\n",
                          m->outer, a.k, a.leave_out, (double)residual));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With one number of sweeps on the finest grid, and one kind of weights */
static PetscErrorCode TryAllOf(Bench *b, const Hierarchy *h, const Method *m, const Tries *t, Attempt a, Best *best)
{
  PetscInt rows = 0, factored = 0;

  PetscFunctionBegin;
  for (PetscInt l = 1; l < h->n - 1 && t->nleave > 1; l++) {
    PetscCall(MatGetSize(h->A[l], &rows, NULL));
    if (rows <= MOST_FACTORED) factored = l;
  }
  for (PetscInt j = 0; j < t->nbelow && t->nleave > 1; j++) {
    if (t->below[j] && !m->ours) continue;
    a.below     = t->below[j];
    a.leave_out = factored;
    a.coarsest  = COARSEST_FACTORS;
    if (factored && a.below != a.k) PetscCall(TrySolver(b, h, m, a, best));
    if (factored && a.first && m->known && a.below > 2) {
      a.second = 2;
      PetscCall(TrySolver(b, h, m, a, best));
      a.second = 0;
    }
    a.leave_out = h->n - 2;
    a.coarsest  = COARSEST_HJMG;
    if (m->ours) PetscCall(TrySolver(b, h, m, a, best));
  }
  a.below    = 0;
  a.coarsest = COARSEST_SWEEPS;
  for (PetscInt l = 0; l < t->nleave; l++) {
    a.leave_out = t->leave_out[l];
    if (a.leave_out < h->n - 1) PetscCall(TrySolver(b, h, m, a, best));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TryAll(Bench *b, const Hierarchy *h, const Method *m, const Tries *t, Best *best)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < t->nk; i++) {
    PetscCall(TryAllOf(b, h, m, t, (Attempt){.k = t->k[i]}, best));
    if (m->first) PetscCall(TryAllOf(b, h, m, t, (Attempt){.k = t->k[i], .first = PETSC_TRUE}, best));
    if (m->knoll) PetscCall(TryAllOf(b, h, m, t, (Attempt){.k = t->k[i], .first = m->first, .knoll = PETSC_TRUE}, best));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what: the solver; nothing where none reached 1e-8 */
static PetscErrorCode ReportSolve(Bench *b, const char *name, const Problem *p, const char what[], const char type[], const Best *best,
                                  PetscReal peer, PetscReal bar)
{
  char text[160], tried[128];
  Row  r = {.what = text, .type = type, .k = best->a.k, .value = best->its, .unit = "its", .peer = peer, .bar = bar};

  PetscFunctionBegin;
  if (!best->t.n) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "# %s, %s: no number of sweeps reached 1e-8\n", what, type));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(AttemptName(&best->a, sizeof(tried), tried));
  PetscCall(PetscSNPrintf(text, sizeof(text), "%s%s", what, tried));
  if (bar > 0) r.reached = b->machine.cuda ? bar / (1e3 * Median(&best->t)) : peer / bar;
  PetscCall(Report(b, name, p, &best->t, r));
  if (!b->machine.cuda) PetscFunctionReturn(PETSC_SUCCESS);
  r = (Row){.what = "copies in this KSPSolve", .type = type, .k = best->a.k, .value = best->copies.count, .unit = "copies"};
  PetscCall(Report(b, name, p, NULL, r));
  r = (Row){.what = "their bytes", .type = type, .k = best->a.k, .value = best->copies.bytes, .unit = "bytes"};
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
  const char     *what[METHODS] = {"CG + MG, hjacobi", "MG alone, hjacobi", "CG + MG, hjacobi", "CG + MG, chebyshev/jacobi"};
  const PetscBool gpu = b->machine.cuda, known = (PetscBool)(galerkin && p->dim == 3), first = (PetscBool)(galerkin && gpu);
  const Method    cg              = {PROBLEM_HJACOBI, KSPCG, PETSC_TRUE, known, gpu, gpu};
  const Method    alone           = {PROBLEM_HJACOBI, KSPRICHARDSON, PETSC_TRUE, known, first, PETSC_FALSE};
  const Method    method[METHODS] = {cg, alone, cg, {.smoother = PROBLEM_CHEBYSHEV, .outer = KSPCG, .knoll = gpu}};
  Best            best[METHODS]   = {{.its = 0}};
  Tries           chebyshev       = b->tries[1];

  PetscFunctionBegin;
  chebyshev.nk   = 2;
  chebyshev.k[0] = 2;
  chebyshev.k[1] = 3;
  for (int i = 0; i < 1 + (int)b->peer; i++) {
    Program   g = {.p = *p, .type = i ? b->aij : "hjstencil", .filling = i ? b->aij_filling : FILLING_ARRAYS, .galerkin = galerkin};
    Hierarchy h = {0};
    KSP       ksp;

    PetscCall(ProgramCreate(b, &g, &ksp, NULL));
    PetscCall(HierarchyOf(p, ksp, &h));
    PetscCall(KSPDestroy(&ksp));
    for (int m = 2 * i; m < 2 * i + 2; m++) PetscCall(TryAll(b, &h, &method[m], method[m].ours ? &b->tries[i] : &chebyshev, &best[m]));
    PetscCall(HierarchyDestroy(&h));
  }
  if (galerkin) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "# all with Galerkin's matrices\n"));
  for (int m = 0; m < (b->peer ? METHODS : CG_AIJ); m++) {
    const PetscReal peer = m < CG_AIJ && best[m].t.n && best[CG_AIJ].t.n ? Median(&best[CG_AIJ].t) / Median(&best[m].t) : 0;

    PetscCall(ReportSolve(b, name, p, what[m], m < CG_AIJ ? "hjstencil" : b->aij, &best[m], peer,
                          m < CG_AIJ && (b->machine.cuda || b->peer) ? bar : 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunMultigrid(Bench *b, const char *name, Problem p)
{
  PetscFunctionBegin;
  PetscCall(RunSolve(b, name, &p, PETSC_FALSE, !b->machine.cuda ? 1.5 : p.dim == 2 ? 5.5 : 8.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunSmall(Bench *b, const char *name, Problem p)
{
  PetscFunctionBegin;
  PetscCall(RunSolve(b, name, &p, PETSC_FALSE, !b->machine.cuda ? 0 : p.dim == 2 ? 1.0 : 1.2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunGalerkin(Bench *b, const char *name, Problem p)
{
  PetscFunctionBegin;
  if (p.dim == 2) p.coefficient = JumpCoefficient;
  else p.variable = PETSC_TRUE;
  PetscCall(RunSolve(b, name, &p, PETSC_TRUE, !b->machine.cuda ? 1.5 : p.dim == 2 ? 6 : 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values to a Galerkin hierarchy that is ready, until it is ready again */
static PetscErrorCode TimeRefresh(Bench *b, const Problem *p, const char type[], Times *t)
{
  Program        g = {.p = *p, .type = type, .filling = FILLING_COO, .galerkin = PETSC_TRUE};
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
    PetscCall(MachineTime(&b->machine, &t0));
    PetscCall(EntriesSetValues(&c, h.A[h.n - 1]));
    PetscCall(KSPSetOperators(ksp, h.A[h.n - 1], h.A[h.n - 1]));
    PetscCall(KSPSetUp(ksp));
    PetscCall(MachineTime(&b->machine, &t1));
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
  Row   r = {.what = "new values (COO) to a ready Galerkin hierarchy", .unit = "ms", .bar = b->machine.cuda ? 10 : 0};

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
    Program g = {.p = *p, .type = type, .filling = FILLING_VALUES, .pctype = pctype};
    DM      da;
    KSP     ksp;
    Vec     rhs, x;

    PetscCall(MachineTime(&b->machine, &t0));
    PetscCall(ProgramStart(b, &g, &ksp));
    PetscCall(KSPGetDM(ksp, &da));
    PetscCall(ProblemCreateRHS(p, da, &rhs));
    PetscCall(VecDuplicate(rhs, &x));
    PetscCall(KSPSolve(ksp, rhs, x));
    PetscCall(MachineTime(&b->machine, &t1));
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
  PetscInt    its[3], n = PetscDefined(HAVE_HYPRE) && !b->machine.cuda ? 3 : 2;

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

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Cases of bench_mat: set-up from nothing to the first V-cycle by each way of filling a matrix.
*/
#pragma once

#include "matsolves.h"

#define SETUP_RUNS 3 /* of hjstencil filled in one way, at most; AIJ takes too long for more than one */

static PetscErrorCode ClockOf(void *machine, PetscLogDouble *seconds)
{
  PetscFunctionBegin;
  PetscCall(MachineTime((const Machine *)machine, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the program needs on all levels, where that is measured apart from the set-up */
static PetscErrorCode TimeOwn(const Problem *p, Filling filling, FillingOwn *own)
{
  DM da, coarse = NULL;

  PetscFunctionBegin;
  PetscCall(ProblemCreateDM(PETSC_COMM_WORLD, p, &da));
  for (PetscInt i = ProblemLevels(p); i > 0; i--) {
    PetscCall(FillingTimeOwn(p, filling, da, own));
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
  if (name[0] == 'h' && name[1] == 'j') *bytes += b->machine.cuda ? 0 : info.memory;
  else *bytes += info.nz_allocated * (sizeof(PetscScalar) + sizeof(PetscInt)) + (rows + 1.0) * sizeof(PetscInt);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a hierarchy that was filled in one way: seconds, of which PETSc needs some for the grids and the program some for itself, and bytes */
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
  for (PetscInt i = 0; i < h->n && b->machine.cuda; i++) {
    PetscCall(DMDAGetCorners(h->da[i], NULL, NULL, NULL, &n[0], &n[1], &n[2]));
    *bytes += 3.0 * n[0] * n[1] * n[2] * sizeof(PetscScalar);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* run: the how manieth of this filling */
static PetscErrorCode MeasureFilling(Bench *b, const Problem *p, const char type[], Filling filling, PetscInt run, SetUp *s)
{
  FillingOwn    own  = {ClockOf, &b->machine, 0};
  Program       g    = {.p = *p, .type = type, .filling = filling, .own = &own};
  Hierarchy     h    = {0};
  Best          best = {.its = 0};
  KSP           ksp;
  PetscReal     before, after;
  PetscLogStage stage;
  char          name[64];

  PetscFunctionBegin;
  PetscCall(
    PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT "D %s by %s, run %" PetscInt_FMT, p->dim, type, filling_names[filling], run));
  PetscCall(PetscLogStageRegister(name, &stage));
  if (filling != FILLING_ARRAYS) PetscCall(TimeOwn(p, filling, &own));
  PetscCall(MachineDeviceMemory(&before));
  PetscCall(PetscLogStagePush(stage));
  PetscCall(ProgramCreate(b, &g, &ksp, &s->seconds));
  PetscCall(PetscLogStagePop());
  PetscCall(MachineDeviceMemory(&after));
  s->own = own.seconds;
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
  PetscCall(TrySolver(b, &h, &(Method){.smoother = PROBLEM_HJACOBI, .outer = KSPCG}, (Attempt){.k = 3}, &best));
  PetscCheck(best.t.n, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "A hierarchy of %s by %s does not solve", type, filling_names[filling]);
  PetscCall(HierarchyDestroy(&h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* t: of several runs, or NULL; bar: how many times as good as AIJ by MatSetValuesStencil(), 0: none */
static PetscErrorCode ReportSetUp(Bench *b, const char *name, const Problem *p, const char type[], Filling filling, const Times *t,
                                  const char format[], PetscReal value, const char unit[], PetscReal peer, PetscReal bar)
{
  char what[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), format, filling_names[filling]));
  PetscCall(Report(b, name, p, t,
                   (Row){.what    = what,
                         .type    = type,
                         .unit    = unit,
                         .value   = value,
                         .peer    = peer > 0 ? peer / value : 0,
                         .bar     = peer > 0 ? bar : 0,
                         .reached = peer > 0 && bar > 0 ? peer / value / bar : 0}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The run whose rest of the set-up is the median, with the most memory of all runs, as later ones find some that the library's own pool
   has kept; rests: of all runs */
static PetscErrorCode MeasureRuns(Bench *b, const Problem *p, const char type[], Filling filling, Times *rests, SetUp *s)
{
  SetUp runs[SETUP_RUNS] = {{0}};

  PetscFunctionBegin;
  rests->n = type == b->aij ? 1 : PetscMin(b->repetitions, SETUP_RUNS);
  for (PetscInt r = 0; r < rests->n; r++) {
    PetscCall(MeasureFilling(b, p, type, filling, r, &runs[r]));
    rests->s[r] = runs[r].beyond;
  }
  *s = runs[0];
  for (PetscInt r = 1; r < rests->n; r++)
    if (runs[r].beyond == Median(rests)) *s = runs[r];
  for (PetscInt r = 0; r < rests->n; r++) {
    s->host   = PetscMax(s->host, runs[r].host);
    s->device = PetscMax(s->device, runs[r].device);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunFilling(Bench *b, const char *name, const Problem *p, const char type[], Filling filling, const SetUp *peer,
                                 SetUp *s)
{
  const PetscBool ours = (PetscBool)(type != b->aij);
  Times           rests;

  PetscFunctionBegin;
  PetscCall(MeasureRuns(b, p, type, filling, &rests, s));
  PetscCall(ReportSetUp(b, name, p, type, filling, NULL, "set-up by %s", s->seconds, "s", peer ? peer->seconds : 0,
                        ours && filling == FILLING_VALUES ? 3 : 0));
  PetscCall(ReportSetUp(b, name, p, type, filling, NULL, "by %s: PETSc's grids", s->grids, "s", 0, 0));
  if (filling != FILLING_ROW) PetscCall(ReportSetUp(b, name, p, type, filling, NULL, "by %s: the program's own work", s->own, "s", 0, 0));
  PetscCall(ReportSetUp(b, name, p, type, filling, &rests, "by %s: the rest of the set-up", s->beyond, "s", peer ? peer->beyond : 0,
                        ours && filling != FILLING_VALUES ? (filling == FILLING_COO ? 10 : 40) : 0));
  PetscCall(ReportSetUp(b, name, p, type, filling, NULL, "by %s: matrices on the host", s->host / 1e6, "MB", 0, 0));
  if (b->machine.cuda) PetscCall(ReportSetUp(b, name, p, type, filling, NULL, "by %s: memory of the GPU", s->device / 1e6, "MB", 0, 0));
  PetscCall(ReportSetUp(b, name, p, type, filling, NULL, "by %s: memory", (s->host + s->device) / 1e6, "MB",
                        peer ? (peer->host + peer->device) / 1e6 : 0, 0));
  PetscCall(ReportSetUp(b, name, p, type, filling, NULL, "by %s: memory but for vectors", (s->host + s->device - s->vectors) / 1e6, "MB",
                        peer ? (peer->host + peer->device - peer->vectors) / 1e6 : 0,
                        filling == FILLING_ARRAYS ? 2.5
                        : filling == FILLING_ROW  ? 10
                                                  : 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunSetUp(Bench *b, const char *name, Problem p)
{
  SetUp peer = {0}, s;

  PetscFunctionBegin;
  PetscCall(PetscLogDefaultBegin()); /* as -log_view does; cases that follow are timed with it */
  if (b->peer) PetscCall(RunFilling(b, name, &p, b->aij, FILLING_VALUES, NULL, &peer));
  if (b->peer && b->fillings[3]) PetscCall(RunFilling(b, name, &p, b->aij, FILLING_COO, &peer, &s));
  for (int i = 0; i < FILLINGS; i++) {
    const Filling filling = our_fillings[i];

    if (!b->fillings[i]) continue;
    p.coefficient = filling == FILLING_ARRAYS ? CheapCoefficient : NULL;
    PetscCall(RunFilling(b, name, &p, "hjstencil", filling, b->peer ? &peer : NULL, &s));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Cycles as graphs: recorded when the same arrays come a second time, then replayed. Decides when; the backend records.
*/
#include "hjmg.h"
#if PetscDefined(HAVE_CUDA)
  #include <petsc/private/logimpl.h>
#endif

PetscLogEvent PCHJMG_Cycle;

/* Up to so many points a cycle as a graph and copies of two vectors take less time than its launches one by one */
#define HJ_MG_COPIED_POINTS 1000000

static PetscErrorCode HJMGForget(PC_HJMG *mg, HJMGGraph *g)
{
  PetscFunctionBegin;
  if (g->graph) PetscCall(mg->level[0].op->ops->multigrid->graph_destroy(&g->graph));
  PetscCall(PetscMemzero(g, sizeof(*g)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGDestroyGraphs(PC_HJMG *mg)
{
  PetscFunctionBegin;
  for (int i = 0; i < HJ_MG_GRAPHS_MOST; i++) PetscCall(HJMGForget(mg, &mg->graphs[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A cycle is being recorded, by this PC or by one whose levels are a part of it */
static PetscBool hj_recording;

/* Whether all that travels in a cycle does so by a transport that can be recorded. The same on all ranks */
static PetscErrorCode HJMGTravels(const PC_HJMG *mg, PetscBool *recorded)
{
  PetscErrorCode (*get)(Mat, const HJBackendOps *, HJExchange *);

  PetscFunctionBegin;
  *recorded = PETSC_TRUE;
  for (const HJMGLevel *level = mg->level; level < mg->level + mg->nlevels; level++) {
    HJExchange exchange; /* of products and transfers */

    if (!HJGridHasNeighbors(&level->op->grid)) continue;
    PetscCall(PetscObjectQueryFunction((PetscObject)level->A, HJ_GET_EXCHANGE, &get));
    PetscCall((*get)(level->A, level->op->ops, &exchange));
    if (!level->op->halo_ops->cycle || !exchange.ops->cycle) *recorded = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSetUpGraphs(PC pc)
{
  PC_HJMG            *mg       = (PC_HJMG *)pc->data;
  const HJOperator   *op       = mg->level[0].op;
  const HJBackendOps *ops      = op->ops;
  const MPI_Comm      comm     = PetscObjectComm((PetscObject)mg->level[0].da);
  PetscBool           recorded = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(HJMGDestroyGraphs(mg));
  PetscCall(HJMGTravels(mg, &recorded));
  mg->not_recorded = NULL;
  if (!ops->multigrid->capture_begin) mg->not_recorded = "on the CPU there is nothing to record";
  else if (!mg->graph) mg->not_recorded = "asked for";
  else if (mg->log) mg->not_recorded = "levels are logged";
  else if (PetscMemTypeHost(mg->seen.lives)) mg->not_recorded = "products with the finest matrix are done on the CPU, to which it is bound";
  else if (mg->constants && !mg->inverse) mg->not_recorded = "PETSc removes constants, and waits for it";
  else if (HJMGHasLines(mg)) mg->not_recorded = "a level is smoothed by lines";
  else if (!recorded) mg->not_recorded = "values travel between ranks or periodic ends, and not by ipc";
  else if (mg->gather) PetscCall(HJMGGatherNotRecorded(mg->gather, comm, &mg->not_recorded));
  if (mg->not_recorded) PetscCall(HJHaloDestroy(&mg->fence));
  else if (!mg->fence) PetscCall(HJFenceCreate(comm, (HJExchange){op->halo_ops, op->exchange_timeout}, &mg->fence));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJMGIsTimed(void)
{
#if PetscDefined(HAVE_CUDA) && PETSC_VERSION_GE(3, 20, 0)
  return PetscLogGpuTimeFlag;
#else
  return PETSC_FALSE;
#endif
}

PetscErrorCode HJMGUnlock(Vec v, PetscInt was)
{
  PetscInt now = was;

  PetscFunctionBegin;
  if (v) PetscCall(VecLockGet(v, &now));
  for (; now > was; now--) PetscCall(VecLockReadPop(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGCapture(const HJMultigridOps *ops, PetscErrorCode (*launch)(void *), void *ctx, HJGraph *graph, PetscLogDouble *flops,
                           const char **why)
{
  PetscBool again = PETSC_TRUE;

  PetscFunctionBegin;
  while (again) {
    PetscErrorCode ierr;
    PetscLogDouble before, after;

    PetscCall(PetscGetFlops(&before));
    PetscCall(ops->capture_begin(graph));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    hj_recording = PETSC_TRUE;
    ierr         = (*launch)(ctx);
    hj_recording = PETSC_FALSE;
    PetscCall(PetscPopErrorHandler());
    PetscCall(PetscGetFlops(&after));
    *flops = after - before;
    PetscCall(ops->capture_end(graph, (PetscBool)!ierr, &again, why));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What HJMGLaunch() is called with */
typedef struct {
  PC_HJMG *mg;
  HJMGKind kind;
  Vec      b, x, y;
} HJMGCycleCall;

static PetscErrorCode HJMGLaunchCall(void *ctx)
{
  const HJMGCycleCall *c = (const HJMGCycleCall *)ctx;

  PetscFunctionBegin;
  PetscCall(HJMGLaunch(c->mg, c->kind, c->b, c->x, c->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* g->graph stays NULL, and mg->not_recorded says why, where it cannot be */
static PetscErrorCode HJMGRecord(PC pc, HJMGGraph *g, Vec b, Vec x, Vec y)
{
  PC_HJMG      *mg   = (PC_HJMG *)pc->data;
  HJMGCycleCall call = {mg, g->kind, b, x, y};
  PetscInt      lock[2];

  PetscFunctionBegin;
  PetscCall(VecLockGet(b, &lock[0]));
  PetscCall(VecLockGet(x, &lock[1]));
  PetscCall(HJMGCapture(mg->level[0].op->ops->multigrid, HJMGLaunchCall, &call, &g->graph, &g->flops, &mg->not_recorded));
  if (!g->graph) {
    PetscCall(PetscInfo(pc, "Cycles are not recorded: %s\n", mg->not_recorded));
    PetscCall(HJMGUnlock(b, lock[0]));
    PetscCall(HJMGUnlock(x, lock[1]));
    PetscCall(HJMGUnlock(y, 0));
    for (HJMGLevel *level = mg->level; level < mg->level + mg->nlevels; level++) {
      PetscCall(HJMGUnlock(level->x, 0));
      PetscCall(HJMGUnlock(level->b, 0));
      PetscCall(HJMGUnlock(level->r, 0));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entry of two arrays; where there is none *seen is false and the one that was not used for the longest time becomes theirs */
static PetscErrorCode HJMGFindGraph(PC_HJMG *mg, HJMGKind kind, const PetscScalar *const a[3], HJMGGraph **found, PetscBool *seen)
{
  HJMGGraph *oldest = mg->graphs;

  PetscFunctionBegin;
  *seen  = PETSC_FALSE;
  *found = NULL;
  for (HJMGGraph *g = mg->graphs; g < mg->graphs + mg->ngraphs && !*found; g++) {
    if (g->x && g->kind == kind && g->b == a[0] && g->x == a[1] && g->y == a[2]) *found = g;
    if (g->used < oldest->used) oldest = g;
  }
  *seen = (PetscBool)(*found != NULL);
  if (!*seen) {
    PetscCall(HJMGForget(mg, oldest));
    oldest->kind = kind;
    oldest->b    = a[0];
    oldest->x    = a[1];
    oldest->y    = a[2];
    *found       = oldest;
  }
  (*found)->used = ++mg->clock;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool HJMGFromZero(HJMGKind kind)
{
  return (PetscBool)(kind == HJ_MG_APPLY || kind == HJ_MG_ROTATED_PART || kind == HJ_MG_SINGLE_APPLY);
}

/* Addresses of b, x and y on the device, and whether all are there. PETSc then knows that x and y are written */
static PetscErrorCode HJMGTouch(HJMGKind kind, Vec b, Vec x, Vec y, const PetscScalar *a[3], PetscBool *device)
{
  const PetscBool    zero = HJMGFromZero(kind);
  const PetscScalar *ba;
  PetscScalar       *xa, *ya;
  PetscMemType       mtype[3];

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(b, &ba, &mtype[0]));
  if (zero) PetscCall(VecGetArrayWriteAndMemType(x, &xa, &mtype[1]));
  else PetscCall(VecGetArrayAndMemType(x, &xa, &mtype[1]));
  PetscCall(VecGetArrayWriteAndMemType(y, &ya, &mtype[2]));
  a[0]    = ba;
  a[1]    = xa;
  a[2]    = ya;
  *device = (PetscBool)(PetscMemTypeDevice(mtype[0]) && PetscMemTypeDevice(mtype[1]) && PetscMemTypeDevice(mtype[2]));
  PetscCall(VecRestoreArrayWriteAndMemType(y, &ya));
  if (zero) PetscCall(VecRestoreArrayWriteAndMemType(x, &xa));
  else PetscCall(VecRestoreArrayAndMemType(x, &xa));
  PetscCall(VecRestoreArrayReadAndMemType(b, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *done is false where the launches are to be made one by one. *g is the entry of the arrays, NULL where they are not on the device; *seen:
   it was there already */
static PetscErrorCode HJMGReplayRecorded(PC pc, HJMGKind kind, Vec b, Vec x, Vec y, HJMGGraph **g, PetscBool *seen, PetscBool *done)
{
  PC_HJMG           *mg = (PC_HJMG *)pc->data;
  const PetscScalar *a[3];
  PetscBool          device = PETSC_FALSE;

  PetscFunctionBegin;
  *done = *seen = PETSC_FALSE;
  *g            = NULL;
  PetscCall(HJMGTouch(kind, b, x, y, a, &device));
  if (!device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGFindGraph(mg, kind, a, g, seen));
  if (!*seen) PetscFunctionReturn(PETSC_SUCCESS);
  if (!(*g)->graph) PetscCall(HJMGRecord(pc, *g, b, x, y));
  else PetscCall(PetscLogGpuFlops((*g)->flops)); /* recording has counted them */
  if (!(*g)->graph) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJFenceCycle(mg->fence, HJ_CYCLE_REPLAY));
  PetscCall(mg->level[0].op->ops->multigrid->graph_replay((*g)->graph));
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors like one of those that cycles run on, which may be of the whole grid or of the points inside */
static PetscErrorCode HJMGMakeCopies(PC_HJMG *mg, Vec like)
{
  PetscInt n, is;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(like, &n));
  for (int i = 0; i < 2; i++) {
    if (mg->copy[i]) PetscCall(VecGetLocalSize(mg->copy[i], &is));
    if (mg->copy[i] && is != n) PetscCall(VecDestroy(&mg->copy[i]));
    if (!mg->copy[i]) PetscCall(VecDuplicate(like, &mg->copy[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on vectors that come every time */
static PetscErrorCode HJMGReplayCopied(PC pc, HJMGKind kind, Vec b, Vec x, Vec y)
{
  PC_HJMG   *mg = (PC_HJMG *)pc->data;
  HJMGGraph *g;
  PetscBool  seen, done;

  PetscFunctionBegin;
  PetscCall(HJMGMakeCopies(mg, x));
  PetscCall(VecCopy(b, mg->copy[0]));
  PetscCall(HJMGReplayRecorded(pc, kind, mg->copy[0], mg->copy[1], y, &g, &seen, &done));
  if (!done) PetscCall(HJMGLaunch(mg, kind, mg->copy[0], mg->copy[1], y));
  PetscCall(VecCopy(mg->copy[1], x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Transposed cycles are seldom asked for, and launched */
PetscErrorCode HJMGReplay(PC pc, HJMGKind kind, Vec b, Vec x, Vec y)
{
  PC_HJMG        *mg      = (PC_HJMG *)pc->data;
  const PetscBool records = (PetscBool)(kind != HJ_MG_TRANSPOSED && !mg->not_recorded && !hj_recording && !HJMGIsTimed());
  const PetscBool small   = (PetscBool)(HJBoxSize(&mg->level[0].op->grid.owned) <= HJ_MG_COPIED_POINTS);
  HJMGGraph      *g       = NULL;
  PetscBool       done = PETSC_FALSE, seen = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PCHJMG_Cycle, pc, 0, 0, 0));
  if (records) PetscCall(HJMGReplayRecorded(pc, kind, b, x, y, &g, &seen, &done));
  if (!done && g && !seen && small && HJMGFromZero(kind)) PetscCall(HJMGReplayCopied(pc, kind, b, x, y));
  else if (!done) PetscCall(HJMGLaunch(mg, kind, b, x, y));
  PetscCall(PetscLogEventEnd(PCHJMG_Cycle, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Interpolation between the grids of two DMDAs: says whether it is one that the backends do and which ghosts it needs, fills them, calls
   the backend.
*/
#include "hjtransfers.h"
#include "hjvectors.h"
#include "hjoperator.h"
#include "core/hjinterpolation.h"
#include "core/hjsingle.h"

typedef struct {
  PetscInt        dim, dof, width;
  HJCut           cut[3];
  DMDAStencilType stencil;
} HJTransferInfo;

static PetscErrorCode HJTransferGetInfo(DM da, HJTransferInfo *info)
{
  PetscFunctionBegin;
  PetscCall(DMGetDimension(da, &info->dim));
  PetscCall(DMDAGetDof(da, &info->dof));
  PetscCall(DMDAGetStencilWidth(da, &info->width));
  PetscCall(DMDAGetStencilType(da, &info->stencil));
  PetscCall(HJGridGetCuts(da, info->cut));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Refinement in a direction, 0: neither 1 nor 2. first: of any number of points, of which that one is the first coarse one; -1: DMDA's */
static PetscInt HJTransferFactor(PetscBool periodic, PetscInt first, PetscInt coarse, PetscInt fine)
{
  if (fine == coarse) return 1;
  if (first >= 0) return (fine + 1 - first) / 2 == coarse ? 2 : 0;
  return periodic ? (fine == 2 * coarse ? 2 : 0) : (coarse > 1 && fine == 2 * coarse - 1 ? 2 : 0);
}

/* Why not, from what all ranks know; empty: it can be */
static PetscErrorCode HJTransferCheckInfo(DM coarse, DM fine, const HJCoarsening *how, HJTransfer *t, char reason[], size_t len)
{
  HJTransferInfo        c, f;
  DMDAInterpolationType type;
  PetscMPIInt           result;

  PetscFunctionBegin;
  PetscCall(HJTransferGetInfo(coarse, &c));
  PetscCall(HJTransferGetInfo(fine, &f));
  PetscCall(DMDAGetInterpolationType(coarse, &type));
  PetscCallMPI(MPI_Comm_compare(PetscObjectComm((PetscObject)coarse), PetscObjectComm((PetscObject)fine), &result));
  if (c.dim != f.dim || c.dof != f.dof || c.width != f.width || c.stencil != f.stencil)
    PetscCall(PetscStrncpy(reason, "the two DMDAs differ in more than their sizes", len));
  else if (c.dof > HJ_TRANSFER_DOF) PetscCall(PetscSNPrintf(reason, len, "more than %d degrees of freedom a point", HJ_TRANSFER_DOF));
  else if (type != DMDA_Q1) PetscCall(PetscStrncpy(reason, "the interpolation is not Q1", len));
  else if (result != MPI_IDENT && result != MPI_CONGRUENT) PetscCall(PetscStrncpy(reason, "the two DMDAs have other ranks", len));
  for (int d = 0; d < c.dim && !reason[0]; d++) {
    const HJCut *cc = &c.cut[d], *fc = &f.cut[d];

    t->factor[d] = HJTransferFactor((PetscBool)(cc->boundary == DM_BOUNDARY_PERIODIC), how ? how->first[d] : -1, cc->N, fc->N);
    if (cc->boundary != fc->boundary || cc->boundary == DM_BOUNDARY_TWIST)
      PetscCall(PetscStrncpy(reason, "the two DMDAs differ in their boundaries, or one is twisted", len));
    else if (cc->nranks != fc->nranks) PetscCall(PetscStrncpy(reason, "the two DMDAs are cut into other ranks", len));
    else if (!t->factor[d])
      PetscCall(PetscSNPrintf(reason, len, "%" PetscInt_FMT " points are no refinement by 1 or 2 of %" PetscInt_FMT, fc->N, cc->N));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of a grid that this rank reads below and above its own in a direction */
static void HJTransferReach(const HJTransfer *t, PetscBool fine, int d, PetscInt reach[2])
{
  const PetscInt f = t->factor[d], shift = HJTransferShift(t, d), nc = HJBoxWidth(&t->coarse.owned, d), nf = HJBoxWidth(&t->fine.owned, d);

  if (fine) { /* from f * 0 - (f - 1) to f * (nc - 1) + (f - 1) */
    reach[0] = shift + f - 1;
    reach[1] = f * nc - shift - nf;
  } else { /* the places of the first and the last fine point, rounded down and up */
    reach[0] = f == 2 && shift < 0 ? (1 - shift) / 2 : -shift;
    reach[1] = (nf - 1 + shift + f - 1) / f - (nc - 1);
  }
}

/* Thickness of the ghosts of a grid, on the sides of a direction */
static void HJTransferThickness(const HJTransfer *t, PetscBool fine, int d, PetscInt thick[2])
{
  HJTransferReach(t, fine, d, thick);
  for (int side = 0; side < 2; side++) thick[side] = PetscMax(thick[side], 1);
}

/* Ranks may cut the two grids at other places; all ranks say the same. depth: of the coarse and of the fine grid's ghosts */
static PetscErrorCode HJTransferGetDepths(MPI_Comm comm, const HJTransfer *t, PetscInt depth[2])
{
  PetscFunctionBegin;
  depth[0] = depth[1] = 1;
  for (int fine = 0; fine < 2; fine++) {
    for (int d = 0; d < t->coarse.dim; d++) {
      PetscInt thick[2];

      HJTransferThickness(t, (PetscBool)fine, d, thick);
      for (int side = 0; side < 2; side++) depth[fine] = PetscMax(depth[fine], thick[side]);
    }
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, depth, 2, MPIU_INT, MPI_MAX, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferSet(DM coarse, DM fine, const HJCoarsening *how, HJTransfer *t, char reason[], size_t len)
{
  PetscInt depth[2];
  HJCut    cut[2][3];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(t, sizeof(*t)));
  reason[0] = 0;
  for (int d = 0; d < 3; d++) {
    t->factor[d] = 1;
    t->before[d] = how ? how->before[d] : 0.5;
    t->last[d]   = how ? how->last[d] : 0.5;
  }
  PetscCall(HJTransferCheckInfo(coarse, fine, how, t, reason, len));
  if (reason[0]) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) t->first[d] = how && t->factor[d] == 2 ? how->first[d] : 0;
  PetscCall(HJGridCreate(coarse, &t->coarse));
  PetscCall(HJGridCreate(fine, &t->fine));
  PetscCall(HJGridGetCuts(coarse, cut[0]));
  PetscCall(HJGridGetCuts(fine, cut[1]));
  t->points = t->fine.domain;
  for (int d = 0; d < 3; d++) {
    t->coarse_start[d] = cut[0][d].start;
    t->fine_start[d]   = cut[1][d].start;
    if (!HJTransferAdjoins(t, d)) continue;
    t->points.lo[d] = -t->fine_start[d];
    t->points.hi[d] = t->fine.N[d] - t->fine_start[d];
  }
  PetscCall(HJTransferGetDepths(PetscObjectComm((PetscObject)coarse), t, depth));
  if (depth[0] > 1 || depth[0] > t->coarse.min_width || depth[1] > t->fine.min_width)
    PetscCall(PetscStrncpy(reason, "the ranks cut the two DMDAs at places too far from each other", len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void HJTransferShellSet(const HJTransfer *t, PetscBool fine, HJShell *s)
{
  PetscInt thick[3][2] = {{1, 1}, {1, 1}, {1, 1}};

  for (int d = 0; d < t->coarse.dim; d++) HJTransferThickness(t, fine, d, thick[d]);
  HJShellSetThick(t->coarse.dim, fine ? &t->fine.owned : &t->coarse.owned, thick, s);
}

PetscErrorCode HJTransfersCreate(DM coarse, DM fine, const HJTransfer *t, const HJBackendOps *ops, HJExchange exchange, HJTransfers **out)
{
  HJTransfers *op;
  PetscInt     depth[2];

  PetscFunctionBegin;
  PetscCall(PetscNew(&op));
  *out         = op;
  op->transfer = *t;
  op->ops      = ops;
  PetscCall(HJTransferGetDepths(PetscObjectComm((PetscObject)coarse), t, depth));
  for (int s = 0; s < 2; s++) {
    HJTransferShellSet(t, (PetscBool)s, &op->ghosts[s].shell);
    PetscCall(HJGhostsCreate(s ? fine : coarse, s ? &t->fine : &t->coarse, depth[s], ops, exchange, &op->ghosts[s]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJTransfersFreeCoefficients(HJTransfers *op)
{
  PetscFunctionBegin;
  PetscCall(op->ops->free(NULL, &op->coefficient));
  PetscCall(op->ops->free(NULL, &op->coefficient_ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJTransfersFreeKeep(HJTransfers *op)
{
  PetscFunctionBegin;
  PetscCall(op->ops->free(NULL, &op->keep));
  PetscCall(op->ops->free(NULL, &op->keep_ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransfersDestroy(HJTransfers **op)
{
  PetscFunctionBegin;
  if (!*op) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJTransfersFreeKeep(*op));
  for (int s = 0; s < 2; s++) PetscCall(HJGhostsDestroy(&(*op)->ghosts[s]));
  PetscCall(HJTransfersFreeCoefficients(*op));
  PetscCall(PetscFree(*op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransfersAllocCoefficients(HJTransfers *op)
{
  const PetscInt nslots = HJColumnsSlots(&op->transfer);

  PetscFunctionBegin;
  if (op->coefficient) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(op->ops->alloc(NULL, nslots * HJBoxSize(&op->transfer.coarse.owned), &op->coefficient));
  PetscCall(op->ops->alloc(NULL, nslots * op->ghosts[0].shell.size, &op->coefficient_ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransfersGetGhosts(HJTransfers *op, PetscInt n, const PetscScalar *arrays, PetscScalar *ghost)
{
  HJGhosts        *s       = &op->ghosts[0];
  const PetscCount npoints = HJBoxSize(&op->transfer.coarse.owned);

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    const PetscScalar *from = NULL;

    PetscCall(HJGhostsGet(s, HJNumberAt(op->ops, arrays, i * npoints), &from));
    PetscCall(op->ops->copy(NULL, HJNumberAt(op->ops, ghost, i * s->shell.size), from, s->shell.size));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransfersSetCoefficients(HJTransfers *op, const PetscScalar *coefficient)
{
  const PetscInt nslots = HJColumnsSlots(&op->transfer);

  PetscFunctionBegin;
  if (!coefficient) {
    PetscCall(HJTransfersFreeCoefficients(op));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJTransfersAllocCoefficients(op));
  if (op->ops->single)
    PetscCall(op->ops->single->round(nslots * HJBoxSize(&op->transfer.coarse.owned), 1.0, coefficient, op->coefficient, NULL));
  else PetscCall(op->ops->copy(NULL, op->coefficient, coefficient, nslots * HJBoxSize(&op->transfer.coarse.owned)));
  PetscCall(HJTransfersGetGhosts(op, nslots, op->coefficient, op->coefficient_ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransfersSetKeep(HJTransfers *op, Vec keep)
{
  HJGhosts        *g   = &op->ghosts[1];
  const PetscInt   dof = op->transfer.fine.dof;
  const PetscCount n   = dof * HJBoxSize(&op->transfer.fine.owned);
  HJVecArray       array;

  PetscFunctionBegin;
  if (!keep) {
    PetscCall(HJTransfersFreeKeep(op));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!op->keep) {
    PetscCall(op->ops->alloc(NULL, n, &op->keep));
    PetscCall(op->ops->alloc(NULL, dof * g->shell.size, &op->keep_ghost));
  }
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, keep, NULL, &array));
  PetscCall(op->ops->copy(NULL, op->keep, array.used, n));
  PetscCall(HJVecClose(&array));
  PetscCall(HJGhostsBegin(g, op->keep));
  PetscCall(HJGhostsEnd(g, op->keep));
  PetscCall(op->ops->copy(NULL, op->keep_ghost, g->frame[0], dof * g->shell.size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransfersKeep(HJTransfers *op, Vec mask, Vec keep)
{
  HJTransferKeep k = {.transfer = &op->transfer};
  PetscScalar   *shares;
  HJVecArray     ma, ka;

  PetscFunctionBegin;
  PetscCall(HJTransfersFreeKeep(op));
  PetscCall(op->ops->multigrid->scratch(op->transfer.coarse.dof * HJBoxSize(&op->transfer.coarse.owned), PETSC_FALSE, &shares));
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, mask, NULL, &ma));
  PetscCall(HJVecOpen(op->ops, NULL, HJ_WRITE, keep, NULL, &ka));
  PetscCall(HJTransfersRun(op, PETSC_TRUE, NULL, ma.used, NULL, shares));
  k.mask   = ma.used;
  k.shares = shares;
  k.keep   = ka.used;
  PetscCall(op->ops->multigrid->keep_points(&k));
  PetscCall(HJVecClose(&ka));
  PetscCall(HJVecClose(&ma));
  PetscCall(op->ops->multigrid->unscratch(&shares));
  PetscCall(HJTransfersSetKeep(op, keep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t HJTransfersBytes(const HJTransfers *op)
{
  const size_t dof = (size_t)op->transfer.fine.dof;
  size_t       n   = dof * (op->ghosts[0].shell.size + op->ghosts[1].shell.size);

  if (op->keep) n += dof * (HJBoxSize(&op->transfer.fine.owned) + op->ghosts[1].shell.size);
  if (op->coefficient) n += (size_t)HJColumnsSlots(&op->transfer) * (HJBoxSize(&op->transfer.coarse.owned) + op->ghosts[0].shell.size);
  return n * (op->ops->single ? sizeof(float) : sizeof(PetscScalar));
}

typedef PetscErrorCode (*HJTransferKernel)(const HJTransferProduct *);

static HJTransferKernel HJTransfersKernel(const HJTransfers *op, PetscBool transpose)
{
  const HJMultigridOps *ops = op->ops->multigrid;

  if (op->transfer.fine.dof > 1) return transpose ? ops->interpolate_points_transpose : ops->interpolate_points;
  if (op->coefficient) return transpose ? ops->interpolate_transpose_variable : ops->interpolate_variable;
  return transpose ? ops->interpolate_transpose : ops->interpolate;
}

/* Whether nothing beside a rank's own points is needed, the images of which are its neighbours */
static PetscBool HJTransfersAreAlone(const HJTransfers *op, HJTransferKernel run, const HJTransferProduct *p)
{
  const HJMultigridOps *ops = op->ops->multigrid;

  return (PetscBool)(run == ops->interpolate && !op->keep && ops->interpolates_alone && ops->interpolates_alone(p));
}

PetscErrorCode HJTransfersRun(HJTransfers *op, PetscBool transpose, const HJBox *lies, const PetscScalar *x, const PetscScalar *b,
                              PetscScalar *y)
{
  HJGhosts              *from   = &op->ghosts[transpose ? 1 : 0];
  HJTransferProduct      p      = {.transfer = &op->transfer, .shell = &from->shell, .x = x, .b = b, .y = y, .lies = lies};
  const HJTransferKernel run    = HJTransfersKernel(op, transpose);
  const PetscBool        device = (PetscBool)PetscMemTypeDevice(op->ops->mtype);

  PetscFunctionBegin;
  p.coefficient       = op->coefficient;
  p.coefficient_ghost = op->coefficient_ghost;
  p.keep              = op->keep;
  p.keep_ghost        = op->keep_ghost;
  if (!HJTransfersAreAlone(op, run, &p)) {
    PetscCall(HJGhostsGet(from, x, &p.ghost));
    p.exchanged = HJGhostsExchanged(from);
  }
  if (device) PetscCall(PetscLogGpuTimeBegin());
  PetscCall(run(&p));
  if (device) PetscCall(PetscLogGpuTimeEnd());
  PetscCall(HJLogFlops(op->ops, 3.0 * (PetscLogDouble)HJBoxSize(&op->transfer.fine.owned) * op->transfer.fine.dof));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransfersApply(HJTransfers *op, PetscBool transpose, const HJBox *lies, Vec x, Vec b, Vec y)
{
  const PetscBool update = (PetscBool)(b == y);
  HJVecArray      xa, ba, ya;

  PetscFunctionBegin;
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, x, NULL, &xa));
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, update ? NULL : b, NULL, &ba));
  PetscCall(HJVecOpen(op->ops, NULL, update ? HJ_READ_WRITE : HJ_WRITE, y, NULL, &ya));
  PetscCall(HJTransfersRun(op, transpose, lies, xa.used, update ? ya.used : ba.used, ya.used));
  PetscCall(HJVecClose(&ya));
  PetscCall(HJVecClose(&ba));
  PetscCall(HJVecClose(&xa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

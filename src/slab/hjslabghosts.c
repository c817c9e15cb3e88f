/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Ghosts of slabs: other ranks' planes, and copies of vectors with ghosts at the sides of each plane.
*/
#include "hjslabghosts.h"
#include "operator/hjghosts.h"

#define HJ_SLAB_MESSAGE ((PetscCount)1 << 30) /* points of a message, at most: MPI counts them in an int */

/* Whether vectors on this grid must be copied */
static PetscBool HJSlabGhostsCopy(const HJGrid *grid)
{
  for (int d = 0; d < grid->dim - 1; d++)
    if (grid->neighbor[d][0] || grid->neighbor[d][1]) return PETSC_TRUE;
  return PETSC_FALSE;
}

HJBox HJSlabGhostsBox(const HJGrid *grid, PetscInt depth)
{
  const PetscInt dir = grid->dim - 1;
  HJBox          box = HJGridPadded(grid, depth);

  box.lo[dir] = grid->owned.lo[dir];
  box.hi[dir] = grid->owned.hi[dir];
  return box;
}

PetscErrorCode HJSlabGhostsCreate(const HJOperator *op, const HJGrid *grid, PetscInt depth, HJSlabGhosts *g)
{
  const HJExchange exchange    = {&HJHaloPetscSF, op->exchange_timeout};
  PetscInt         thick[3][2] = {{0, 0}, {0, 0}, {0, 0}};

  PetscFunctionBegin;
  PetscCall(PetscMemzero(g, sizeof(*g)));
  g->grid   = *grid;
  g->depth  = depth;
  g->dir    = grid->dim - 1;
  g->copied = HJSlabGhostsCopy(grid);
  g->box    = HJGridPadded(grid, depth);
  for (int d = 0; d < grid->dim; d++)
    for (int side = 0; side < 2; side++) thick[d][side] = grid->neighbor[d][side] ? depth : 0;
  HJShellSetThick(grid->dim, &grid->owned, thick, &g->shell);
  if (HJGridHasNeighbors(grid)) PetscCall(HJShellCreateHalo(op->da, grid, depth, &g->shell, exchange, &g->halo));
  if (g->halo) PetscCall(PetscObjectGetNewTag((PetscObject)g->halo->pattern, &g->tag));
  for (int i = 0; i < 2; i++) {
    if (g->shell.size) PetscCall(PetscMalloc1(g->shell.size, &g->ghost[i]));
    if (g->copied) PetscCall(PetscMalloc1(HJBoxSize(&g->box), &g->copy[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabGhostsDestroy(HJSlabGhosts *g)
{
  PetscFunctionBegin;
  PetscCall(HJHaloDestroy(&g->halo));
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscFree(g->ghost[i]));
    PetscCall(PetscFree(g->copy[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The points of part, line by line, from an array over one box to an array over another */
static void HJSlabGhostsMove(const HJBox *part, const HJBox *from_box, const PetscScalar *from, const HJBox *to_box, PetscScalar *to)
{
  if (HJBoxEmpty(part)) return;
  for (PetscInt k = part->lo[2]; k < part->hi[2]; k++)
    for (PetscInt j = part->lo[1]; j < part->hi[1]; j++)
      memcpy(to + HJBoxIndex(to_box, part->lo[0], j, k), from + HJBoxIndex(from_box, part->lo[0], j, k),
             (size_t)HJBoxWidth(part, 0) * sizeof(PetscScalar));
}

/* Ghosts that are there, into the copies */
static void HJSlabGhostsFill(HJSlabGhosts *g, int vector, const PetscScalar *ghost)
{
  for (int d = 0; d < g->grid.dim; d++)
    for (int side = 0; side < 2; side++)
      HJSlabGhostsMove(&g->shell.box[d][side], &g->shell.box[d][side], ghost + g->shell.at[d][side], &g->box, g->copy[vector]);
}

/* The points of a run from one on that are a message; 0: it has no more */
static PetscMPIInt HJSlabGhostsMessage(const HJHaloRun *run, PetscCount at)
{
  return at < run->n ? (PetscMPIInt)PetscMin(run->n - at, HJ_SLAB_MESSAGE) : 0;
}

/* Whole planes, which lie in one piece on both ranks, from one array to the other: PetscSF would pack and unpack */
static PetscErrorCode HJSlabGhostsMessages(HJSlabGhosts *g, const PetscScalar *from, PetscScalar *to)
{
  const HJHalo halo = g->halo;
  MPI_Request  request[2 * HJ_HALO_MAX_RUNS];
  PetscMPIInt  rank, nrequests = 1;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(halo->comm, &rank));
  for (PetscInt i = 0; i < halo->nrecv; i++)
    if (halo->recv[i].rank == rank) PetscCall(PetscArraycpy(to + halo->recv[i].to, from + halo->recv[i].from, halo->recv[i].n));
  for (PetscCount at = 0; nrequests; at += HJ_SLAB_MESSAGE) {
    nrequests = 0;
    for (PetscInt i = 0; i < halo->nrecv; i++) {
      const HJHaloRun  *run = &halo->recv[i];
      const PetscMPIInt n   = HJSlabGhostsMessage(run, at);

      if (n && run->rank != rank)
        PetscCallMPI(MPI_Irecv(to + run->to + at, n, MPIU_SCALAR, run->rank, g->tag, halo->comm, &request[nrequests++]));
    }
    for (PetscInt i = 0; i < halo->nsend; i++) {
      const HJHaloRun  *run = &halo->send[i];
      const PetscMPIInt n   = HJSlabGhostsMessage(run, at);

      if (n && run->rank != rank)
        PetscCallMPI(MPI_Isend(from + run->from + at, n, MPIU_SCALAR, run->rank, g->tag, halo->comm, &request[nrequests++]));
    }
    PetscCallMPI(MPI_Waitall(nrequests, request, MPI_STATUSES_IGNORE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabGhostsExchange(HJSlabGhosts *g, const PetscScalar *x, const PetscScalar *b)
{
  const PetscScalar *from[] = {x, b};
  PetscScalar       *frame[2];

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PCHJacobi_Halo, 0, 0, 0, 0));
  PetscCall(PetscArraycpy(frame, g->ghost, 2));
  if (g->halo->direct) {
    for (int i = 0; i < 2; i++)
      if (from[i]) PetscCall(HJSlabGhostsMessages(g, from[i], frame[i]));
  } else {
    PetscCall(HJHaloBegin(g->halo, PETSC_MEMTYPE_HOST, from, frame));
    PetscCall(HJHaloEnd(g->halo, PETSC_MEMTYPE_HOST, from, frame));
  }
  for (int i = 0; i < 2 && g->copied; i++)
    if (from[i]) HJSlabGhostsFill(g, i, frame[i]);
  PetscCall(PetscLogEventEnd(PCHJacobi_Halo, 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabGhostsBegin(HJSlabGhosts *g, const PetscScalar *x, const PetscScalar *b)
{
  PetscFunctionBegin;
  PetscCall(HJSlabGhostsExchange(g, x, b));
  if (g->copied && x) HJSlabGhostsMove(&g->grid.owned, &g->grid.owned, x, &g->box, g->copy[0]);
  if (g->copied && b) HJSlabGhostsMove(&g->grid.owned, &g->grid.owned, b, &g->box, g->copy[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Others see no more of x than what lies near them */
PetscErrorCode HJSlabGhostsNext(HJSlabGhosts *g, PetscScalar *x)
{
  HJBox rest = g->grid.owned;

  PetscFunctionBegin;
  for (int d = (int)g->grid.dim - 1; d >= 0 && g->copied; d--) {
    HJBox part = rest;

    if (g->grid.neighbor[d][0]) {
      part.hi[d] = rest.lo[d] = PetscMin(g->depth, rest.hi[d]);
      HJSlabGhostsMove(&part, &g->box, g->copy[0], &g->grid.owned, x);
      part = rest;
    }
    if (g->grid.neighbor[d][1]) {
      part.lo[d] = rest.hi[d] = PetscMax(rest.hi[d] - g->depth, rest.lo[d]);
      HJSlabGhostsMove(&part, &g->box, g->copy[0], &g->grid.owned, x);
    }
  }
  PetscCall(HJSlabGhostsExchange(g, x, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabGhostsEnd(HJSlabGhosts *g, PetscScalar *x)
{
  PetscFunctionBegin;
  if (g->copied) HJSlabGhostsMove(&g->grid.owned, &g->box, g->copy[0], &g->grid.owned, x);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void HJSlabGhostsPlanes(const HJSlabGhosts *g, int vector, PetscScalar *array, HJSlabPlanes *p)
{
  const HJBox *own = &g->grid.owned;

  p->at[0] = g->copied || !g->ghost[vector] ? NULL : g->ghost[vector] + g->shell.at[g->dir][0];
  p->at[1] = g->copied ? g->copy[vector] : array;
  p->at[2] = g->copied || !g->ghost[vector] ? NULL : g->ghost[vector] + g->shell.at[g->dir][1];
  p->lo[0] = g->box.lo[g->dir];
  p->lo[1] = g->copied ? g->box.lo[g->dir] : own->lo[g->dir];
  p->lo[2] = g->copied ? g->box.hi[g->dir] : own->hi[g->dir];
  p->lo[3] = g->box.hi[g->dir];
}

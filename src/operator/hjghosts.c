/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Ghosts: the halo of a shell is planned once; each exchange begins and ends by itself, so that work can be done meanwhile.
*/
#include "hjghosts.h"
#include "hjoperator.h"
#include "core/hjmultigrid.h"

PetscLogEvent PCHJacobi_Halo;

PetscErrorCode HJShellCreateHalo(DM da, const HJGrid *grid, PetscInt depth, const HJShell *shell, HJExchange exchange, HJHalo *halo)
{
  HJBox      boxes[6];
  PetscCount offsets[6];

  PetscFunctionBegin;
  for (int b = 0; b < 2 * grid->dim; b++) {
    boxes[b]   = shell->box[b / 2][b % 2];
    offsets[b] = shell->at[b / 2][b % 2];
  }
  PetscCall(HJHaloCreate(da, grid, depth, 2 * grid->dim, boxes, offsets, exchange.ops, halo));
  (*halo)->timeout = exchange.timeout;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGhostsCreate(DM da, const HJGrid *grid, PetscInt depth, const HJBackendOps *ops, HJExchange exchange, HJGhosts *g)
{
  PetscFunctionBegin;
  g->ops = ops;
  PetscCall(ops->multigrid->alloc_zeros(grid->dof * g->shell.size, &g->ghost));
  g->frame[0] = g->ghost;
  if (HJGridHasNeighbors(grid)) PetscCall(HJShellCreateHalo(da, grid, depth, &g->shell, exchange, &g->halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGhostsDestroy(HJGhosts *g)
{
  PetscFunctionBegin;
  PetscCall(HJHaloDestroy(&g->halo));
  if (g->ops) PetscCall(g->ops->free(NULL, &g->ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGhostsBegin(HJGhosts *g, const PetscScalar x[])
{
  const PetscScalar *from[] = {x, NULL};

  PetscFunctionBegin;
  if (!g->halo) PetscFunctionReturn(PETSC_SUCCESS);
  g->frame[0] = g->ghost;
  PetscCall(PetscLogEventBegin(PCHJacobi_Halo, 0, 0, 0, 0));
  PetscCall(HJHaloBegin(g->halo, g->ops->mtype, from, g->frame));
  PetscCall(PetscLogEventEnd(PCHJacobi_Halo, 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGhostsEnd(HJGhosts *g, const PetscScalar x[])
{
  const PetscScalar *from[] = {x, NULL};

  PetscFunctionBegin;
  if (!g->halo) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PCHJacobi_Halo, 0, 0, 0, 0));
  PetscCall(HJHaloEnd(g->halo, g->ops->mtype, from, g->frame));
  PetscCall(PetscLogEventEnd(PCHJacobi_Halo, 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJGhostsExchanged(const HJGhosts *g)
{
  return (PetscBool)(g->halo && g->halo->ops->one_launch);
}

PetscErrorCode HJGhostsGet(HJGhosts *g, const PetscScalar x[], const PetscScalar *ghost[])
{
  PetscFunctionBegin;
  PetscCall(HJGhostsBegin(g, x));
  PetscCall(HJGhostsEnd(g, x));
  *ghost = g->frame[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJPlanesCreate(DM da, const HJGrid *grid, PetscInt depth, PetscBool both, const HJBackendOps *ops, HJExchange exchange,
                              HJPlanes **out)
{
  const int  slow = (int)grid->dim - 1;
  HJBox      box[2];
  PetscCount at[2] = {0, 0};
  HJPlanes  *p;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  p->ops   = ops;
  p->depth = depth;
  for (int side = 0; side < 2; side++) {
    box[side]          = grid->owned;
    box[side].lo[slow] = side ? grid->owned.hi[slow] : grid->owned.lo[slow] - depth;
    box[side].hi[slow] = box[side].lo[slow] + depth;
    p->size[side]      = HJBoxSize(&box[side]);
    p->neighbor[side]  = grid->neighbor[slow][side];
  }
  at[1] = p->size[0];
  PetscCall(HJHaloCreate(da, grid, depth, 2, box, at, exchange.ops, &p->halo));
  p->halo->timeout = exchange.timeout;
  for (int i = 0; i < (both ? 2 : 1); i++) PetscCall(ops->alloc(NULL, p->halo->size, &p->buffer[i]));
  *out = p;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJPlanesDestroy(HJPlanes **p)
{
  PetscFunctionBegin;
  if (!*p) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJHaloDestroy(&(*p)->halo));
  for (int i = 0; i < 2; i++) PetscCall((*p)->ops->free(NULL, &(*p)->buffer[i]));
  PetscCall(PetscFree(*p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJPlanesGet(HJPlanes *p, const PetscScalar x[], const PetscScalar b[], const PetscScalar *xside[2],
                           const PetscScalar *bside[2])
{
  const PetscScalar  *from[]  = {x, b};
  PetscScalar        *frame[] = {p->buffer[0], p->buffer[1]};
  const PetscScalar **to[]    = {xside, bside};

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PCHJacobi_Halo, 0, 0, 0, 0));
  PetscCall(HJHaloBegin(p->halo, p->ops->mtype, from, frame));
  PetscCall(HJHaloEnd(p->halo, p->ops->mtype, from, frame));
  PetscCall(PetscLogEventEnd(PCHJacobi_Halo, 0, 0, 0, 0));
  for (int i = 0; i < (b ? 2 : 1); i++) {
    for (int side = 0; side < 2; side++) to[i][side] = p->neighbor[side] ? frame[i] + (side ? p->size[0] : 0) : NULL;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

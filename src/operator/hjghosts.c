/*
   Ghosts: the halo of a shell is planned once; each exchange begins and ends by itself, so that work can be done meanwhile.
*/
#include "hjghosts.h"
#include "hjoperator.h"
#include "../core/hjmultigrid.h"

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
  PetscCall(ops->multigrid->alloc_zeros(g->shell.size, &g->ghost));
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

PetscErrorCode HJGhostsGet(HJGhosts *g, const PetscScalar x[], const PetscScalar *ghost[])
{
  PetscFunctionBegin;
  PetscCall(HJGhostsBegin(g, x));
  PetscCall(HJGhostsEnd(g, x));
  *ghost = g->frame[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

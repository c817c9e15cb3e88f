/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Ghost points of the stencil's arrays: a PetscSF between the ranks' padded boxes, which follow from the ownership ranges.
   Knows no matrix entry; the vectors' halo is another room's.
*/
#include "hjstencil_impl.h"

/* Padded box of a rank one step away (side 0: low, 1: this rank, 2: high) in one direction, in that rank's own coordinates */
typedef struct {
  PetscInt lo, width;
} HJPadSide;

/* Where a coordinate of this rank's box lies: which side, and its place in the box there */
static PetscBool HJPadLocate(const HJRows *rows, int d, PetscInt q, int *side)
{
  *side = q < 0 ? 0 : q < rows->width[d] ? 1 : 2;
  return (PetscBool)(*side == 1 || rows->grid->neighbor[d][*side / 2]);
}

static PetscInt HJPadDepth(const HJGrid *grid, const HJStencil *st)
{
  for (int d = 0; d < grid->dim; d++) {
    if (grid->neighbor[d][1]) return st->box.hi[d] - grid->owned.hi[d] - HJStencilLayer(st, d, 1);
    if (grid->neighbor[d][0]) return -st->box.lo[d] - HJStencilLayer(st, d, 0);
  }
  return 0;
}

static void HJPadSides(const HJRows *rows, const HJStencil *st, HJPadSide sides[3][3])
{
  const HJGrid  *grid  = rows->grid;
  const PetscInt depth = HJPadDepth(grid, st);

  for (int d = 0; d < 3; d++) {
    const PetscBool periodic = grid->periodic[d];

    for (int s = 0; s < 3; s++) {
      const PetscInt low  = periodic || rows->start[d][s] > 0 ? depth : 0;
      const PetscInt high = periodic || rows->start[d][s] + rows->other[d][s] < grid->N[d] ? depth : 0;

      sides[d][s].lo    = d < grid->dim ? -low - HJStencilLayer(st, d, 0) : 0;
      sides[d][s].width = rows->other[d][s] + (d < grid->dim ? low + high + HJStencilLayer(st, d, 0) + HJStencilLayer(st, d, 1) : 0);
    }
  }
}

/* Ghost points of the box and, where asked for, whom they are copies of; returns their number */
static PetscInt HJPadFill(const HJRows *rows, const HJStencil *st, PetscInt *local, PetscSFNode *remote)
{
  HJPadSide sides[3][3];
  PetscInt  n = 0, p[3];

  HJPadSides(rows, st, sides);
  for (p[2] = st->box.lo[2]; p[2] < st->box.hi[2]; p[2]++) {
    for (p[1] = st->box.lo[1]; p[1] < st->box.hi[1]; p[1]++) {
      int s[3];

      if (!HJPadLocate(rows, 2, p[2], &s[2]) || !HJPadLocate(rows, 1, p[1], &s[1])) continue;
      for (p[0] = st->box.lo[0]; p[0] < st->box.hi[0]; p[0]++) {
        if (p[0] == 0 && s[1] == 1 && s[2] == 1) p[0] = rows->width[0];
        if (p[0] == st->box.hi[0] || !HJPadLocate(rows, 0, p[0], &s[0])) continue;
        if (local) {
          PetscInt at[3];

          for (int d = 0; d < 3; d++) at[d] = p[d] + (s[d] == 0 ? rows->other[d][0] : s[d] == 2 ? -rows->width[d] : 0) - sides[d][s[d]].lo;
          local[n]        = (PetscInt)HJBoxIndex(&st->box, p[0], p[1], p[2]);
          remote[n].rank  = (rows->at[2][s[2]] * rows->nranks[1] + rows->at[1][s[1]]) * rows->nranks[0] + rows->at[0][s[0]];
          remote[n].index = (at[2] * sides[1][s[1]].width + at[1]) * sides[0][s[0]].width + at[0];
        }
        n++;
      }
    }
  }
  return n;
}

PetscErrorCode HJPadCreate(const HJRows *rows, const HJStencil *st, PetscSF *sf)
{
  PetscInt     n, *local;
  PetscSFNode *remote;

  PetscFunctionBegin;
  *sf = NULL;
  if (!HJGridHasNeighbors(rows->grid) || HJPadDepth(rows->grid, st) + (st->storage == HJ_SYMMETRIC) == 0)
    PetscFunctionReturn(PETSC_SUCCESS);
  n = HJPadFill(rows, st, NULL, NULL);
  PetscCall(PetscMalloc1(n, &local));
  PetscCall(PetscMalloc1(n, &remote));
  (void)HJPadFill(rows, st, local, remote);
  PetscCall(PetscSFCreate(rows->comm, sf));
  PetscCall(PetscSFSetGraph(*sf, (PetscInt)HJBoxSize(&st->box), n, local, PETSC_OWN_POINTER, remote, PETSC_OWN_POINTER));
  PetscCall(PetscSFSetUp(*sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJPadFillGhosts(const HJRows *rows, const HJStencil *st, MPI_Datatype type, PetscInt n, void *const arrays[])
{
  PetscSF sf;

  PetscFunctionBegin;
  PetscCall(HJPadCreate(rows, st, &sf));
  for (PetscInt i = 0; i < n && sf; i++) {
    if (!arrays[i]) continue;
    PetscCall(PetscSFBcastBegin(sf, type, arrays[i], arrays[i], MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(sf, type, arrays[i], arrays[i], MPI_REPLACE));
  }
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

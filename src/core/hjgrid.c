/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The grid of this rank, read from a DMDA, and the boxes and ghost DMDA that follow from it.
   Decides where neighbours lie and how deep a halo may be; knows no matrix and no plan.
*/
#include "hjcoefficients.h"
#include "hjmultigrid.h"

HJBox HJGridPadded(const HJGrid *grid, PetscInt depth)
{
  HJBox box = grid->owned;

  for (int d = 0; d < 3; d++) {
    if (grid->neighbor[d][0]) box.lo[d] -= depth;
    if (grid->neighbor[d][1]) box.hi[d] += depth;
  }
  return box;
}

HJBox HJGridGrow(const HJGrid *grid, const HJBox *box, PetscInt depth)
{
  HJBox grown = *box;

  for (int d = 0; d < grid->dim; d++) {
    grown.lo[d] = PetscMax(box->lo[d] - depth, grid->domain.lo[d]);
    grown.hi[d] = PetscMin(box->hi[d] + depth, grid->domain.hi[d]);
  }
  return grown;
}

void HJCoefficientsHalve(HJCoefficients *c, const PetscInt n[3])
{
  const PetscCount line = c->dim > 1 ? n[0] : 0, plane = c->dim > 2 ? line * n[1] : 0, zeros = plane + line + 1; /* the longest way */
  PetscCount       at = c->npoints + zeros;

  c->half     = PETSC_TRUE;
  c->begin[0] = 0;
  for (PetscInt s = 1; s < c->nslots; s++) {
    PetscInt off[3];

    if (!HJSlotIsUpper(c, s)) continue;
    HJSlotOffset(c, s, off);
    c->begin[s]                    = at;
    c->begin[HJSlotOpposite(c, s)] = at - (off[2] * plane + off[1] * line + off[0]);
    at += c->npoints + zeros;
  }
  c->begin[c->nslots] = at;
}

HJEntries HJEntriesOf(const HJCoefficients *c)
{
  HJEntries e;

  memset(&e, 0, sizeof(e));
  e.dim     = c->dim;
  e.nslots  = c->nslots;
  e.storage = c->storage;
  e.value   = c->value;
  e.rows    = PetscMemTypeHost(c->mtype) ? c->rows : c->device_rows;
  e.index   = c->index;
  for (PetscInt s = 0; s < c->nslots; s++) {
    for (int d = 0; d < 3; d++) e.off[s][d] = (signed char)HJShapeStep(c->dim, c->shape, s, d);
    e.begin[s] = HJSlotBegin(c, s);
    if (c->storage == HJ_COEFFICIENTS_ROW) e.row[s] = c->rows[s];
  }
  return e;
}

void HJShellSetThick(PetscInt dim, const HJBox *owned, const PetscInt thick[3][2], HJShell *s)
{
  HJBox box = *owned; /* grows direction by direction */

  s->dim  = dim;
  s->size = 0;
  for (int d = 0; d < 3; d++) {
    s->width[d] = HJBoxWidth(owned, d);
    for (int side = 0; side < 2; side++) {
      HJBox *part = &s->box[d][side];

      *part          = box;
      part->lo[d]    = side ? s->width[d] : -thick[d][0];
      part->hi[d]    = side ? s->width[d] + thick[d][1] : 0;
      s->at[d][side] = s->size;
      if (d < dim) s->size += HJBoxSize(part);
    }
    if (d >= dim) continue;
    box.lo[d] -= thick[d][0];
    box.hi[d] += thick[d][1];
  }
}

void HJShellSet(const HJGrid *grid, HJShell *s)
{
  const PetscInt one[3][2] = {{1, 1}, {1, 1}, {1, 1}};

  HJShellSetThick(grid->dim, &grid->owned, one, s);
}

PetscErrorCode HJGridGetCuts(DM da, HJCut cut[3])
{
  static const PetscInt one = 1;
  PetscInt              dim, nranks[3], start[3], n[3], offset[3];
  DMBoundaryType        boundary[3];
  const PetscInt       *widths[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &dim, NULL, NULL, NULL, &nranks[0], &nranks[1], &nranks[2], NULL, NULL, &boundary[0], &boundary[1],
                        &boundary[2], NULL));
  PetscCall(DMDAGetCorners(da, &start[0], &start[1], &start[2], &n[0], &n[1], &n[2]));
  PetscCall(DMDAGetOffset(da, &offset[0], &offset[1], &offset[2], NULL, NULL, NULL));
  PetscCall(DMDAGetOwnershipRanges(da, &widths[0], &widths[1], &widths[2]));
  for (int d = 0; d < 3; d++) {
    HJCut *c = &cut[d];

    *c = (HJCut){.N = 1, .nranks = 1, .n = 1, .widths = &one, .boundary = DM_BOUNDARY_NONE};
    if (d >= dim) continue;
    *c = (HJCut){0, nranks[d], start[d] - offset[d], n[d], offset[d], widths[d], boundary[d]};
    for (PetscInt r = 0; widths[d] && r < nranks[d]; r++) c->N += widths[d][r]; /* there are none before DMSetUp() */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGridCreate(DM da, HJGrid *grid)
{
  HJCut cut[3];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(grid, sizeof(*grid)));
  PetscCall(DMGetDimension(da, &grid->dim));
  PetscCall(DMDAGetDof(da, &grid->dof));
  PetscCall(HJGridGetCuts(da, cut));
  grid->min_width = PETSC_INT_MAX;
  for (int d = 0; d < 3; d++) {
    const HJCut    *c        = &cut[d];
    const PetscBool periodic = (PetscBool)(c->boundary == DM_BOUNDARY_PERIODIC);

    grid->N[d]           = c->N;
    grid->owned.hi[d]    = c->n;
    grid->domain.lo[d]   = periodic ? -HJ_ENDLESS : -c->start;
    grid->domain.hi[d]   = periodic ? HJ_ENDLESS : c->N - c->start;
    grid->periodic[d]    = periodic;
    grid->neighbor[d][0] = (PetscBool)(periodic || c->start > 0);
    grid->neighbor[d][1] = (PetscBool)(periodic || c->start + c->n < c->N);
    for (PetscInt p = 0; p < c->nranks && (periodic || c->nranks > 1); p++) grid->min_width = PetscMin(grid->min_width, c->widths[p]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc refuses mirrored boundaries with a box stencil, and the matrix has folded mirrored and ghosted columns already */
static DMBoundaryType HJGhostBoundary(DMBoundaryType b)
{
  return b == DM_BOUNDARY_PERIODIC ? b : DM_BOUNDARY_NONE;
}

PetscErrorCode HJGridGetRanks(DM da, PetscInt nranks[3])
{
  PetscInt dim;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &dim, NULL, NULL, NULL, &nranks[0], &nranks[1], &nranks[2], NULL, NULL, NULL, NULL, NULL, NULL));
  for (PetscInt d = dim; d < 3; d++) nranks[d] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGridCreateDM(MPI_Comm comm, DM like, const PetscInt N[3], const PetscInt nranks[3], const PetscInt *const widths[3],
                              DMDAStencilType stencil, PetscInt width, DM *da)
{
  PetscInt       dim, dof;
  DMBoundaryType b[3];
  VecType        vectype;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(like, &dim, NULL, NULL, NULL, NULL, NULL, NULL, &dof, NULL, &b[0], &b[1], &b[2], NULL));
  PetscCall(DMGetVecType(like, &vectype));
  PetscCall(DMDACreate(comm, da));
  PetscCall(DMSetDimension(*da, dim));
  PetscCall(DMDASetSizes(*da, N[0], dim > 1 ? N[1] : 1, dim > 2 ? N[2] : 1));
  PetscCall(DMDASetNumProcs(*da, nranks[0], dim > 1 ? nranks[1] : PETSC_DECIDE, dim > 2 ? nranks[2] : PETSC_DECIDE));
  PetscCall(DMDASetBoundaryType(*da, HJGhostBoundary(b[0]), dim > 1 ? HJGhostBoundary(b[1]) : DM_BOUNDARY_NONE,
                                dim > 2 ? HJGhostBoundary(b[2]) : DM_BOUNDARY_NONE));
  PetscCall(DMDASetDof(*da, dof));
  PetscCall(DMDASetStencilType(*da, stencil));
  PetscCall(DMDASetStencilWidth(*da, width));
  PetscCall(DMDASetOwnershipRanges(*da, widths[0], dim > 1 ? widths[1] : NULL, dim > 2 ? widths[2] : NULL));
  PetscCall(DMSetVecType(*da, vectype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGridCloneDM(DM like, DM *da)
{
  PetscInt        N[3], nranks[3];
  HJCut           cut[3];
  const PetscInt *widths[3];
  DMDAStencilType type;

  PetscFunctionBegin;
  PetscCall(HJGridGetCuts(like, cut));
  PetscCall(DMDAGetStencilType(like, &type));
  for (int d = 0; d < 3; d++) {
    N[d]      = cut[d].N;
    nranks[d] = cut[d].nranks;
    widths[d] = cut[d].widths;
  }
  PetscCall(HJGridCreateDM(PetscObjectComm((PetscObject)like), like, N, nranks, (const PetscInt *const *)widths, type, 1, da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Couplings of each component of a matrix with several unknowns a point, and which of them cannot be relaxed point by point.
*/
#include "hjstencil_impl.h"

typedef struct {
  const HJGrid   *grid;
  PetscInt        nslots, off[HJ_MAX_SLOTS][3], row_start;
  const PetscInt *n;
  HJMeasure      *measure; /* [dof] */
  PetscInt        saddle;  /* row; -1: none */
} HJSystemMeasures;

static PetscErrorCode HJSystemMeasureVisit(const HJBlockRow *row, void *ctx)
{
  HJSystemMeasures  *m   = (HJSystemMeasures *)ctx;
  const HJGrid      *g   = m->grid;
  const PetscInt     dof = g->dof, p[3] = {row->i, row->j, row->k};
  const unsigned int ends = HJMeasureEnds(g->dim, g->domain.lo, g->domain.hi, p);

  PetscFunctionBegin;
  for (PetscInt c = 0; c < dof; c++) {
    HJMeasure   *to = &m->measure[c];
    HJMeasureRow r;
    PetscReal    size, coupled = 0.0;

    memset(&r, 0, sizeof(r));
    for (PetscInt o = 0; o < m->nslots; o++) {
      const PetscScalar *a = row->a + (o * dof + c) * dof;

      if (HJMeasureInside(ends, m->off[o])) HJMeasureRowAdd(&r, o, m->off[o], PetscRealPart(a[c]));
      for (PetscInt d = 0; d < dof && o; d++) coupled += PetscAbsScalar(a[d]);
    }
    size = PetscAbsReal(r.diagonal);
    if (size == 0.0 && coupled > 0.0 && m->saddle < 0)
      m->saddle = m->row_start + ((row->k * m->n[1] + row->j) * m->n[0] + row->i) * dof + c;
    HJMeasureAdd(&to->sums, &r, g->dim, ends);
    to->largest = PetscMax(to->largest, HJMeasureOthers(size, r.others));
    HJMeasureSizes(r.diagonal, (PetscBool)(r.others > 0.0), &to->alone, &to->coupled);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJStencilMeasureSystem(Mat P, DM da, const HJGrid *grid, HJMeasure measure[], char saddle[], char reason[], size_t len)
{
  HJRows           rows;
  HJSystemMeasures m;

  PetscFunctionBegin;
  PetscCall(HJRowsOpenBlocks(P, grid, da, &rows, reason, len));
  if (reason[0]) PetscFunctionReturn(PETSC_SUCCESS);
  m = (HJSystemMeasures){.grid      = grid,
                         .nslots    = rows.nslots,
                         .row_start = rows.row_start,
                         .n         = rows.width,
                         .measure   = measure,
                         .saddle    = -1};
  for (PetscInt o = 0; o < m.nslots; o++) HJShapeOffset(grid->dim, HJ_BOX, o, m.off[o]);
  for (PetscInt c = 0; c < grid->dof; c++) measure[c] = (HJMeasure){.grid = grid};
  PetscCall(HJRowsForEachBlock(&rows, HJSystemMeasureVisit, &m));
  PetscCall(HJRowsBlameWide(&rows, reason, len));
  PetscCall(HJRowsBlame(&rows, m.saddle, -1, "has no diagonal, and its unknown is coupled to others'", saddle, len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

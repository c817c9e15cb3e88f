/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Which unknowns of points with several cannot be relaxed point by point.
*/
#include "hjstencil_impl.h"

typedef struct {
  PetscInt        dof, nslots, row_start;
  const PetscInt *n;
  PetscInt        saddle; /* row; -1: none */
} HJSaddle;

static PetscErrorCode HJSaddleVisit(const HJBlockRow *row, void *ctx)
{
  HJSaddle      *s   = (HJSaddle *)ctx;
  const PetscInt dof = s->dof;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < dof && s->saddle < 0; c++) {
    PetscBool coupled = PETSC_FALSE;

    for (PetscInt o = 1; o < s->nslots; o++)
      for (PetscInt d = 0; d < dof; d++) coupled = (PetscBool)(coupled || PetscAbsScalar(row->a[(o * dof + c) * dof + d]) > 0.0);
    if (row->a[c * dof + c] == 0.0 && coupled) s->saddle = s->row_start + ((row->k * s->n[1] + row->j) * s->n[0] + row->i) * dof + c;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJStencilFindSaddle(Mat P, DM da, const HJGrid *grid, char saddle[], size_t len)
{
  HJRows   rows;
  HJSaddle s;

  PetscFunctionBegin;
  PetscCall(HJRowsOpenBlocks(P, grid, da, PETSC_MEMTYPE_HOST, &rows, saddle, len));
  if (saddle[0]) PetscFunctionReturn(PETSC_SUCCESS);
  s = (HJSaddle){.dof = grid->dof, .nslots = rows.nslots, .row_start = rows.row_start, .n = rows.width, .saddle = -1};
  PetscCall(HJRowsForEachBlock(&rows, HJSaddleVisit, &s));
  PetscCall(HJRowsBlame(&rows, s.saddle, -1, "has no diagonal, and its unknown is coupled to others'", saddle, len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

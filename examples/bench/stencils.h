/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Stencils in the host's memory that bench_sweep puts on a backend: a dictionary whose rows differ as those of real matrices do, or arrays.
*/
#pragma once

#include "core/hjcore.h"

typedef enum { ROWS_ONE, ROWS_IDENTITY, ROWS_JUMP, ROWS_SIDES } RowsType;

#define MAX_ROWS 65

/* Coefficient arrays: that of an offset, symmetric: belongs to the edge between two points. Sums of a row stay below 1 */
static inline PetscScalar EdgeValue(const HJStencil *st, const PetscInt p[3], PetscInt o)
{
  PetscInt q[3], off[3];

  HJShapeOffset(st->dim, st->shape, o, off);
  for (int d = 0; d < 3; d++) q[d] = HJShapeIsUpper(st->dim, st->shape, o) ? p[d] : p[d] + off[d];
  if (!HJShapeIsUpper(st->dim, st->shape, o)) o = HJShapeOpposite(st->dim, st->shape, o);
  return -(1.0 + 0.0625 * ((7 * q[0] + 13 * q[1] + 29 * q[2] + 5 * (o - 1)) & 15)) / (2 * (st->nslots - 1));
}

static inline PetscBool OnBoundary(const HJBox *dom, PetscInt dim, const PetscInt p[3])
{
  for (int d = 0; d < dim; d++) {
    if (p[d] == dom->lo[d] || p[d] == dom->hi[d] - 1) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

static inline PetscBool Inside(const HJBox *b, const PetscInt p[3])
{
  return (PetscBool)(p[0] >= b->lo[0] && p[0] < b->hi[0] && p[1] >= b->lo[1] && p[1] < b->hi[1] && p[2] >= b->lo[2] && p[2] < b->hi[2]);
}

static inline void PointOf(const HJBox *b, PetscCount at, PetscInt p[3])
{
  p[0] = b->lo[0] + (PetscInt)(at % HJBoxWidth(b, 0));
  p[1] = b->lo[1] + (PetscInt)(at / HJBoxWidth(b, 0) % HJBoxWidth(b, 1));
  p[2] = b->lo[2] + (PetscInt)(at / HJBoxWidth(b, 0) / HJBoxWidth(b, 1));
}

/* The offsets of p across which the coefficient is 1e4, a bit each; elsewhere it is 1. It is that of the midpoint between the two points */
static inline PetscInt HighOffsets(const HJStencil *st, const HJBox *dom, const PetscInt p[3])
{
  const PetscReal lo[3] = {0.3, 0.25, 0.4}, hi[3] = {0.7, 0.6, 0.8};
  PetscInt        high = 0, off[3];

  for (PetscInt e = 1; e < st->nslots; e++) {
    PetscBool in = PETSC_TRUE;

    HJShapeOffset(st->dim, st->shape, e, off);
    for (int d = 0; d < st->dim; d++) {
      const PetscReal at = p[d] + 0.5 * off[d], width = HJBoxWidth(dom, d) - 1;

      in = (PetscBool)(in && at > lo[d] * width && at < hi[d] * width);
    }
    if (in) high |= 1 << (e - 1);
  }
  return high;
}

/* The neighbours of p on the domain's boundary, a bit each: their columns are eliminated */
static inline PetscInt EliminatedOffsets(const HJStencil *st, const HJBox *dom, const PetscInt p[3])
{
  PetscInt eliminated = 0, off[3], q[3];

  for (PetscInt e = 1; e < st->nslots; e++) {
    HJShapeOffset(st->dim, st->shape, e, off);
    for (int d = 0; d < 3; d++) q[d] = p[d] + off[d];
    if (OnBoundary(dom, st->dim, q)) eliminated |= 1 << (e - 1);
  }
  return eliminated;
}

/* The row of a point of a star: added to the dictionary where it is new. key: a bit an offset whose coefficient is high, then a bit an
   offset whose column is eliminated; -1 the identity */
static inline PetscErrorCode RowOf(HJStencil *st, PetscInt key, PetscInt keys[MAX_ROWS], PetscInt *row)
{
  PetscScalar *values = st->rows + st->nrows * st->nslots, sum = 0.0;

  PetscFunctionBegin;
  for (*row = 0; *row < st->nrows && keys[*row] != key;) ++*row;
  if (*row < st->nrows) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(*row < MAX_ROWS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "More than %d rows", MAX_ROWS);
  for (PetscInt e = 1; e < st->nslots && key >= 0; e++) sum += key >> (e - 1) & 1 ? 1e4 : 1.0;
  for (PetscInt e = 1; e < st->nslots && key >= 0; e++)
    values[e] = key >> (st->nslots - 1 + e - 1) & 1 ? 0.0 : -(key >> (e - 1) & 1 ? 1e4 : 1.0) / sum;
  values[0]                = 1.0;
  st->dinv_rows[st->nrows] = key < 0 ? 1.0 : 1.0 / sum;
  keys[st->nrows++]        = key;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sides of the domain that a point lies on, as a number: as many as a Galerkin product of one row has rows */
static inline PetscInt SidesOf(const HJBox *dom, PetscInt dim, const PetscInt p[3])
{
  PetscInt sides = 0;

  for (int d = 0; d < dim; d++) sides = 3 * sides + (p[d] == dom->lo[d] ? 1 : p[d] == dom->hi[d] - 1 ? 2 : 0);
  return sides;
}

static inline PetscErrorCode FillDictionary(const HJGrid *grid, RowsType rows, HJStencil *st)
{
  const HJBox     *dom = &grid->domain;
  const PetscCount n   = HJBoxSize(&st->box);
  PetscInt         keys[MAX_ROWS];

  PetscFunctionBegin;
  PetscCheck(rows != ROWS_JUMP || st->shape == HJ_STAR, PETSC_COMM_SELF, PETSC_ERR_SUP, "-rows jump is for stars");
  PetscCall(PetscCalloc3(MAX_ROWS * st->nslots, &st->rows, MAX_ROWS, &st->dinv_rows, n, &st->index));
  for (PetscCount i = 0; i < n; i++) {
    PetscInt p[3], row;

    PointOf(&st->box, i, p);
    PetscCall(RowOf(st,
                    rows == ROWS_SIDES                                ? SidesOf(dom, st->dim, p)
                    : rows != ROWS_ONE && OnBoundary(dom, st->dim, p) ? -1
                    : rows == ROWS_JUMP ? HighOffsets(st, dom, p) | EliminatedOffsets(st, dom, p) << (st->nslots - 1)
                                        : 0,
                    keys, &row));
    st->index[i] = (unsigned char)row;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FillArrays(HJStencil *st)
{
  const PetscCount n = HJBoxSize(&st->box);

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &st->dinv));
  for (PetscInt e = 1; e < st->nslots; e++) {
    if (HJStencilHas(st, e)) PetscCall(PetscMalloc1(n, &st->value[e]));
  }
  for (PetscCount i = 0; i < n; i++) {
    PetscInt p[3];

    PointOf(&st->box, i, p);
    st->dinv[i] = 1.0 / (st->nslots - 1);
    for (PetscInt e = 1; e < st->nslots; e++) {
      if (st->value[e]) st->value[e][i] = (st->nslots - 1) * EdgeValue(st, p, e);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* rows: of a dictionary */
static inline PetscErrorCode StencilCreate(const HJGrid *grid, HJShape shape, HJStorage storage, RowsType rows, HJStencil *st)
{
  const PetscInt dim = grid->dim;

  PetscFunctionBegin;
  st->dim     = dim;
  st->shape   = dim == 1 ? HJ_STAR : shape;
  st->storage = storage;
  st->nslots  = HJShapeSlots(dim, st->shape);
  st->mtype   = PETSC_MEMTYPE_HOST;
  st->box     = HJGridPadded(grid, dim == 3 ? 8 : 16);
  for (int d = 0; d < dim && storage == HJ_SYMMETRIC; d++) {
    st->box.lo[d]--;
    if (st->shape == HJ_BOX) st->box.hi[d]++;
  }
  if (storage == HJ_DICTIONARY) PetscCall(FillDictionary(grid, rows, st));
  else PetscCall(FillArrays(st));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode StencilDestroy(HJStencil *st)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(st->rows, st->dinv_rows, st->index));
  for (PetscInt i = 1; i < st->nslots; i++) PetscCall(PetscFree(st->value[i]));
  PetscCall(PetscFree(st->dinv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Storage of a stencil matrix: arrays while it is filled; at assembly one row, a dictionary or arrays, as core/hjdistinct.h decides.
*/
#include "hjmat.h"
#include "operator/hjpairs.h"

PetscErrorCode HJMatSetZero(Mat A)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)A->data;
  HJCoefficients *c  = &hj->c;

  PetscFunctionBegin;
  PetscCall(HJMatFree(A));
  c->storage = HJ_COEFFICIENTS_ROW;
  c->nrows   = 1;
  HJMatForgetTouched(A);
  PetscCall(PetscCalloc1(c->nslots, &c->rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The slots of several unknowns a point; present: [offsets][dof][dof], NULL: all. There must be no coefficient */
static PetscErrorCode HJMatSetSlots(Mat A, const unsigned char *present)
{
  Mat_HJStencil  *hj      = (Mat_HJStencil *)A->data;
  HJCoefficients *c       = &hj->c;
  const PetscInt  offsets = HJCoefficientsOffsets(c), size = c->dof * c->dof;
  PetscInt        n = 0;

  PetscFunctionBegin;
  for (PetscInt s = 0; s < c->nslots && hj->use; s++) PetscCall(VecDestroy(&hj->use[s].vec));
  PetscCall(PetscFree(hj->use));
  for (PetscInt e = 0; e < offsets * size; e++) n += !present || present[e];
  c->nslots = n;
  PetscCall(PetscCalloc1(n, &hj->use));
  if (c->dof == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree(hj->entry));
  PetscCall(PetscFree(hj->place));
  PetscCall(PetscMalloc1(offsets * size, &hj->place));
  PetscCall(PetscMalloc1(n, &hj->entry));
  n = 0;
  for (PetscInt e = 0; e < offsets * size; e++) hj->place[e] = !present || present[e] ? n++ : -1;
  for (PetscInt e = 0; e < offsets * size; e++)
    if (hj->place[e] >= 0) hj->entry[hj->place[e]] = (HJEntry){e / size, e % size / c->dof, e % c->dof};
  c->entry = hj->entry;
  c->place = hj->place;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMatSetShapeOf(Mat A, HJShape shape, const unsigned char *present)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)A->data;
  HJCoefficients *c  = &hj->c;

  PetscFunctionBegin;
  PetscCall(HJMatFree(A));
  if (c->nslots && c->shape != shape && c->dim > 1) { /* another pattern */
    PetscCall(MatDestroy(&hj->aij));
    PetscCall(HJCOODestroy(&hj->coo));
    A->nonzerostate++;
  }
  c->dim     = hj->grid.dim;
  c->dof     = hj->grid.dof;
  c->shape   = c->dim == 1 ? HJ_STAR : shape;
  c->npoints = HJBoxSize(&hj->grid.owned);
  PetscCall(HJMatSetSlots(A, present));
  PetscCall(PetscArrayzero(hj->hint, HJ_MAX_SLOTS));
  for (PetscInt o = 0; o < HJCoefficientsOffsets(c); o++) {
    PetscInt off[3];

    HJShapeOffset(c->dim, c->shape, o, off);
    hj->delta[o] = (off[2] * hj->gwidth[1] + off[1]) * hj->gwidth[0] + off[0];
  }
  PetscCall(PetscFree2(hj->row_columns, hj->row_values));
  PetscCall(PetscMalloc2(HJCoefficientsOffsets(c) * c->dof, &hj->row_columns, HJCoefficientsOffsets(c) * c->dof, &hj->row_values));
  PetscCall(HJMatSetZero(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatSetShape(Mat A, HJShape shape)
{
  PetscFunctionBegin;
  PetscCall(HJMatSetShapeOf(A, shape, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several unknowns a point: the slots of another matrix of the same shape */
static PetscErrorCode HJMatSetSlotsLike(Mat A, Mat B)
{
  Mat_HJStencil *hb = (Mat_HJStencil *)B->data;
  unsigned char *present;
  const PetscInt n = HJCoefficientsOffsets(&hb->c) * hb->c.dof * hb->c.dof;

  PetscFunctionBegin;
  if (hb->c.dof == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n, &present));
  for (PetscInt e = 0; e < n; e++) present[e] = hb->place[e] >= 0;
  PetscCall(HJMatSetShapeOf(A, hb->c.shape, present));
  PetscCall(PetscFree(present));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatSetPairsLike(Mat A, Mat B)
{
  Mat_HJStencil        *hj = (Mat_HJStencil *)A->data;
  const HJCoefficients *b  = &((Mat_HJStencil *)B->data)->c;
  const PetscInt        n = HJShapeSlots(b->dim, HJ_BOX) * b->dof * b->dof, dof = b->dof;
  unsigned char        *present;
  PetscBool             same = (PetscBool)(hj->c.shape == HJ_BOX || b->dim == 1);

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &present));
  for (PetscInt e = 0; e < n; e++) {
    present[e] = HJPairsHave(b, e / dof % dof, e % dof);
    same       = (PetscBool)(same && present[e] == (hj->place[e] >= 0));
  }
  if (!same) PetscCall(HJMatSetShapeOf(A, HJ_BOX, present));
  PetscCall(PetscFree(present));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatGetSlot(Mat A, const HJArrayOps *ops, PetscInt slot, PetscScalar array[])
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)A->data;
  HJCoefficients *c;
  HJBox           keep;

  PetscFunctionBegin;
  PetscCall(HJMatGetIn(A, ops, &c));
  keep = HJCoefficientsInside(c, slot, &hj->grid);
  if (c->storage == HJ_COEFFICIENTS_ARRAYS) PetscCall(ops->copy(array, c->value + HJSlotBegin(c, slot), c->npoints * sizeof(*array)));
  else PetscCall(ops->slot(c, slot, hj->grid.owned.hi, &keep, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of other slots, which hold all that is not zero; present: as for HJMatSetSlots() */
static PetscErrorCode HJMatMoveArrays(Mat A, HJShape shape, const unsigned char *present)
{
  Mat_HJStencil    *hj    = (Mat_HJStencil *)A->data;
  HJEntry          *entry = hj->entry;
  HJSlotUse        *use   = hj->use;
  const HJArrayOps *ops;
  HJCoefficients    old, *c;
  const size_t      bytes = (size_t)hj->c.npoints * sizeof(PetscScalar);

  PetscFunctionBegin;
  PetscCall(HJMatCheckArrays(A));
  if (hj->valid == PETSC_OFFLOAD_CPU) { /* values are being set, there */
    ops = &HJArraysHost;
    c   = &hj->c;
  } else PetscCall(HJMatGetHome(A, &ops, &c));
  PetscCall(HJMatExpandIn(A, ops));
  old       = *c;
  c->value  = NULL;
  hj->entry = NULL;
  hj->use   = NULL;
  PetscCall(HJMatSetShapeOf(A, shape, present));
  PetscCall(HJMatExpandIn(A, ops));
  PetscCall(HJMatGetIn(A, ops, &c));
  for (PetscInt s = 0; s < old.nslots; s++) {
    const PetscInt slot = HJSlotLike(&hj->c, &old, s);

    if (slot < 0) continue;
    PetscCall(ops->copy(c->value + slot * old.npoints, old.value + s * old.npoints, bytes));
    hj->use[slot].touched = use[s].touched;
  }
  PetscCall(ops->free(&old.value));
  PetscCall(PetscFree(entry));
  PetscCall(PetscFree(use));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatReshape(Mat A, HJShape shape)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  if (hj->c.shape != shape && hj->c.dim > 1) PetscCall(HJMatMoveArrays(A, shape, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether all coefficients are zero, as they are before a matrix is filled */
static PetscBool HJCoefficientsAreZero(const HJCoefficients *c)
{
  PetscInt n = c->nrows * c->nslots, i = 0;

  if (c->storage == HJ_COEFFICIENTS_ARRAYS) return PETSC_FALSE;
  while (i < n && c->rows[i] == 0.0) i++;
  return (PetscBool)(i == n);
}

PetscErrorCode HJMatAddSlots(Mat A)
{
  HJCoefficients *c = &((Mat_HJStencil *)A->data)->c;

  PetscFunctionBegin;
  if (!c->entry || c->nslots == HJCoefficientsOffsets(c) * c->dof * c->dof) PetscFunctionReturn(PETSC_SUCCESS);
  if (HJCoefficientsAreZero(c)) PetscCall(HJMatSetShape(A, c->shape));
  else PetscCall(HJMatMoveArrays(A, c->shape, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatSetOneRow(Mat A, const PetscScalar row[])
{
  Mat_HJStencil  *hj   = (Mat_HJStencil *)A->data;
  HJCoefficients *c    = &hj->c;
  const PetscInt  size = c->dof * c->dof, n = HJCoefficientsOffsets(c) * size;
  unsigned char  *present;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &present));
  for (PetscInt e = 0; e < n; e++) present[e] = row[e] != 0.0 || (e < size && e % (c->dof + 1) == 0);
  if (c->entry) PetscCall(HJMatSetShapeOf(A, c->shape, present));
  else PetscCall(HJMatSetZero(A));
  for (PetscInt s = 0; s < c->nslots; s++) c->rows[s] = row[HJSlotEntry(c, s)];
  PetscCall(PetscFree(present));
  if (!HJMatIsFinite(c->nslots, c->rows)) PetscCall(HJMatExpand(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several unknowns a point: what is not zero everywhere, on any rank; the diagonal is always there. Collective */
static PetscErrorCode HJMatFindPresent(Mat A, const HJSlotHolds holds[], unsigned char *present)
{
  const HJCoefficients *c    = &((Mat_HJStencil *)A->data)->c;
  const PetscInt        size = c->dof * c->dof, n = HJCoefficientsOffsets(c) * size;

  PetscFunctionBegin;
  for (PetscInt e = 0; e < n; e++) present[e] = (e < size && e % (c->dof + 1) == 0) || (c->place[e] >= 0 && holds[c->place[e]].nonzero);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, present, (PetscMPIInt)n, MPI_UNSIGNED_CHAR, MPI_MAX, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several unknowns a point: arrays of what is not zero everywhere, and what they hold. Collective */
static PetscErrorCode HJMatDropSlots(Mat A, const HJArrayOps *ops, HJSlotHolds **holds)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)A->data;
  const PetscInt  n  = HJCoefficientsOffsets(&hj->c) * hj->c.dof * hj->c.dof;
  HJCoefficients *c;
  HJSlotHolds    *all;
  unsigned char  *present;
  PetscBool       kept = PETSC_TRUE;
  PetscInt        m    = 0;

  PetscFunctionBegin;
  PetscCall(HJMatGetIn(A, ops, &c));
  PetscCall(PetscMalloc1(c->nslots, &all));
  PetscCall(PetscMalloc1(n, &present));
  PetscCall(ops->holds(c, &hj->grid, all));
  PetscCall(HJMatFindPresent(A, all, present));
  PetscCall(PetscCalloc1(n, holds));
  for (PetscInt e = 0; e < n; e++) {
    kept = (PetscBool)(kept && present[e] == (c->place[e] >= 0));
    if (!present[e]) continue;
    if (c->place[e] >= 0) (*holds)[m] = all[c->place[e]];
    else (*holds)[m].same = (*holds)[m].inside = PETSC_TRUE; /* of another rank's: 0 here */
    m++;
  }
  if (!kept) PetscCall(HJMatMoveArrays(A, hj->c.shape, present));
  PetscCall(PetscFree(present));
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatExpandIn(Mat A, const HJArrayOps *ops)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)A->data;
  HJCoefficients *c;
  PetscScalar    *value;

  PetscFunctionBegin;
  PetscCall(HJMatGetIn(A, ops, &c));
  if (c->storage != HJ_COEFFICIENTS_ARRAYS || c->half) {
    const size_t bytes = (size_t)c->nslots * c->npoints * sizeof(*value);

    if (HJCoefficientsAreZero(c)) PetscCall(ops->alloc_zeros(bytes, &value));
    else {
      PetscCall(ops->alloc(bytes, &value));
      for (PetscInt s = 0; s < c->nslots; s++) PetscCall(HJMatGetSlot(A, ops, s, value + s * c->npoints));
    }
    PetscCall(HJMatFree(A));
    hj->c.storage = c->storage = HJ_COEFFICIENTS_ARRAYS;
    c->value                   = value;
  }
  hj->changed = PETSC_TRUE;
  PetscCall(HJMatTouched(A, ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatExpand(Mat A)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  PetscCall(HJMatCheckSetUp(A));
  hj->changed = PETSC_TRUE;
  if (hj->c.storage == HJ_COEFFICIENTS_ARRAYS && !hj->c.half && hj->valid == PETSC_OFFLOAD_CPU) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMatCheckCheckedOut(A));
  PetscCall(HJMatExpandIn(A, &HJArraysHost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What leads outside the domain is set to 0, and what leads to another offset's points is added to that offset */
static PetscErrorCode HJMatTidySlot(Mat A, const HJArrayOps *ops, PetscInt slot)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)A->data;
  HJCoefficients *c;
  PetscScalar    *a;
  PetscInt        off[3], to;
  HJBox           keep;

  PetscFunctionBegin;
  PetscCall(HJMatGetIn(A, ops, &c));
  a = c->value + HJSlotBegin(c, slot);
  HJSlotOffset(c, slot, off);
  keep = HJCoefficientsInside(c, slot, &hj->grid);
  PetscCall(ops->slot(c, slot, hj->grid.owned.hi, &keep, a));
  if (HJLayoutIsOwnOffset(&hj->layout, off)) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < hj->layout.dim; d++) {
    if (hj->layout.periodic[d] && hj->layout.N[d] <= 2 && off[d]) off[d] = hj->layout.N[d] == 1 ? 0 : -1;
  }
  to = HJSlotOfEntry(c, HJSlotAt(c, off), HJSlotRow(c, slot), HJSlotColumn(c, slot)); /* users got arrays where all have a slot */
  PetscCall(ops->combine(c->npoints, 1.0, a, 1.0, c->value + HJSlotBegin(c, to)));
  PetscCall(ops->zero(a, c->npoints * sizeof(*a)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After users wrote to arrays */
static PetscErrorCode HJMatTidy(Mat A, const HJArrayOps *ops)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  for (PetscInt s = 0; s < hj->c.nslots; s++)
    if (hj->use[s].touched) PetscCall(HJMatTidySlot(A, ops, s));
  HJMatForgetTouched(A);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows may hold at one point what leads outside the domain there, and products multiply it by 0 */
PetscBool HJMatIsFinite(PetscInt n, const PetscScalar a[])
{
  PetscInt s = 0;

  while (s < n && !PetscIsInfOrNanScalar(a[s])) s++;
  return (PetscBool)(s == n);
}

/* Rows in place of arrays, with an index in the memory of ops */
static PetscErrorCode HJMatSetRows(Mat A, const HJArrayOps *ops, PetscInt n, const HJDistinctRow row[], unsigned char *index)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)A->data;
  HJCoefficients *c  = ops == &HJArraysHost ? &hj->c : &hj->d;

  PetscFunctionBegin;
  PetscCall(HJMatFree(A));
  PetscCall(PetscMalloc1(n * hj->c.nslots, &hj->c.rows));
  for (PetscInt m = 0; m < n; m++) PetscCall(PetscArraycpy(hj->c.rows + m * hj->c.nslots, row[m].a, hj->c.nslots));
  hj->c.nrows   = n;
  hj->c.storage = HJ_COEFFICIENTS_DICTIONARY;
  c->index      = index;
  PetscCall(HJMatTouched(A, ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of this rank, or another dictionary -> dictionary, where that is possible;
   unknown: slots that no point of the first row has inside the domain */
static PetscErrorCode HJMatTryDictionary(Mat A, const HJArrayOps *ops, unsigned int *unknown)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)A->data;
  HJCoefficients *c;
  HJDistinctRow  *rows, *merged;
  PetscInt        nrows, n = -1;
  unsigned char  *map, *index;
  void           *ids;

  PetscFunctionBegin;
  PetscCall(HJMatGetIn(A, ops, &c));
  PetscCall(ops->scan(c, &hj->grid, &nrows, &rows, &ids));
  PetscCall(PetscMalloc2(PetscMax(nrows, 0), &map, HJ_MAX_ROWS, &merged));
  if (nrows > 0) HJDistinctMerge(c->nslots, nrows, rows, &n, merged, map);
  if (HJStoresRows(HJ_FOR_PRODUCTS, c->nslots, n, merged, c->npoints)) {
    PetscCall(ops->alloc((size_t)c->npoints, &index));
    PetscCall(ops->number(c->npoints, &ids, nrows, map, index));
    PetscCall(HJMatSetRows(A, ops, n, merged, index));
    *unknown = merged[0].outside;
  } else PetscCall(ops->number(c->npoints, &ids, 0, NULL, NULL));
  PetscCall(PetscFree2(map, merged));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One row on all ranks? mine: this one has row[], but for those that it does not know, has[]. Where they agree *same is true, and row[] is
   it */
static PetscErrorCode HJMatCompareRow(MPI_Comm comm, PetscInt n, PetscBool mine, const PetscBool has[], PetscScalar row[], PetscBool *same)
{
  PetscReal *extreme;
  PetscBool  number = PETSC_TRUE; /* a maximum may pass over what is none */

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(2 * n + 1, &extreme));
  for (PetscInt s = 0; s < n; s++) {
    extreme[2 * s]     = mine && has[s] ? row[s] : PETSC_MIN_REAL;
    extreme[2 * s + 1] = mine && has[s] ? -row[s] : PETSC_MIN_REAL;
    number             = (PetscBool)(number && !PetscIsNanReal(extreme[2 * s]));
  }
  extreme[2 * n] = mine && number ? 0 : 1;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, extreme, (PetscMPIInt)(2 * n + 1), MPIU_REAL, MPIU_MAX, comm));
  *same = (PetscBool)(extreme[2 * n] == 0);
  for (PetscInt s = 0; s < n && *same; s++) {
    const PetscBool any = (PetscBool)(extreme[2 * s] > PETSC_MIN_REAL || extreme[2 * s + 1] > PETSC_MIN_REAL);

    if (any && extreme[2 * s] != -extreme[2 * s + 1]) *same = PETSC_FALSE;
    row[s] = any ? extreme[2 * s] : 0.0;
  }
  PetscCall(PetscFree(extreme));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The one row of a dictionary, if it has no more, and that of the other ranks; unknown: a bit for each slot that it does not know */
static PetscErrorCode HJMatCompareDictionary(MPI_Comm comm, const HJCoefficients *c, unsigned int unknown, PetscBool *same,
                                             PetscScalar row[])
{
  PetscBool has[HJ_MAX_SLOTS];

  PetscFunctionBegin;
  for (PetscInt s = 0; s < c->nslots; s++) {
    has[s] = (PetscBool) !(unknown >> s & 1);
    row[s] = c->rows[s];
  }
  PetscCall(HJMatCompareRow(comm, c->nslots, (PetscBool)(c->nrows == 1), has, row, same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several unknowns a point: arrays, the same on all ranks, become one row where that holds them. Collective */
static PetscErrorCode HJMatTryOneRow(Mat A, const HJSlotHolds holds[])
{
  HJCoefficients *c = &((Mat_HJStencil *)A->data)->c;
  PetscScalar    *row;
  PetscBool      *has, mine = PETSC_TRUE, same;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(c->nslots, &row, c->nslots, &has));
  for (PetscInt s = 0; s < c->nslots; s++) {
    mine   = (PetscBool)(mine && holds[s].same);
    has[s] = holds[s].inside;
    row[s] = holds[s].number;
  }
  PetscCall(HJMatCompareRow(PetscObjectComm((PetscObject)A), c->nslots, mine, has, row, &same));
  if (same && HJMatIsFinite(c->nslots, row)) {
    PetscCall(HJMatSetZero(A));
    PetscCall(PetscArraycpy(c->rows, row, c->nslots));
  }
  PetscCall(PetscFree2(row, has));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other ranks need more than one row */
static PetscErrorCode HJMatAddIndex(Mat A, const HJArrayOps *ops)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)A->data;
  HJCoefficients *c  = ops == &HJArraysHost ? &hj->c : &hj->d;

  PetscFunctionBegin;
  if (hj->c.storage == HJ_COEFFICIENTS_DICTIONARY) PetscFunctionReturn(PETSC_SUCCESS);
  hj->c.storage = HJ_COEFFICIENTS_DICTIONARY;
  PetscCall(ops->alloc_zeros((size_t)hj->c.npoints, &c->index));
  PetscCall(HJMatTouched(A, ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the storage is chosen: where the coefficients are. Arrays that the host filled go to the device first, which is faster at that */
static PetscErrorCode HJMatFindMemory(Mat A, const HJArrayOps **ops)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;
  PetscBool      device;

  PetscFunctionBegin;
  PetscCall(HJMatOnDevice(A, &device));
  if (device && hj->valid == PETSC_OFFLOAD_CPU && hj->c.storage == HJ_COEFFICIENTS_ARRAYS) {
    PetscCall(HJMatGetDevice(A));
    PetscCall(HJMatTouched(A, hj->device));
  }
  *ops = device && hj->valid != PETSC_OFFLOAD_CPU ? hj->device : &HJArraysHost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that lives on the device keeps no copy on the host */
static PetscErrorCode HJMatSettle(Mat A)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;
  PetscBool      device;

  PetscFunctionBegin;
  PetscCall(HJMatOnDevice(A, &device));
  if (device) {
    PetscCall(HJMatGetDevice(A));
    PetscCall(HJMatTouched(A, hj->device));
  } else PetscCall(HJMatGetHost(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatChooseStorage(Mat A, PetscBool merges)
{
  Mat_HJStencil    *hj      = (Mat_HJStencil *)A->data;
  HJCoefficients   *c       = &hj->c;
  MPI_Comm          comm    = PetscObjectComm((PetscObject)A);
  unsigned int      unknown = 0;
  PetscScalar       row[HJ_MAX_SLOTS];
  PetscBool         same = PETSC_FALSE, arrays;
  HJSlotHolds      *holds;
  const HJArrayOps *ops = &HJArraysHost;

  PetscFunctionBegin;
  PetscCall(HJMatFindMemory(A, &ops));
  PetscCall(HJMatTidy(A, ops));
  if (c->dof == 1 && (c->storage == HJ_COEFFICIENTS_ARRAYS || merges)) PetscCall(HJMatTryDictionary(A, ops, &unknown));
  if (c->storage != HJ_COEFFICIENTS_ARRAYS && !HJMatIsFinite(c->nrows * c->nslots, c->rows)) PetscCall(HJMatExpandIn(A, ops));
  arrays = (PetscBool)(c->storage == HJ_COEFFICIENTS_ARRAYS);
  PetscCall(HJOnAnyRank(comm, &arrays));
  if (arrays) {
    PetscCall(HJMatExpandIn(A, ops));
    if (c->dof > 1) {
      PetscCall(HJMatDropSlots(A, ops, &holds));
      PetscCall(HJMatTryOneRow(A, holds));
      PetscCall(PetscFree(holds));
    }
  } else if (c->dof == 1) {
    PetscCall(HJMatCompareDictionary(comm, c, unknown, &same, row));
    if (same) {
      PetscCall(HJMatSetZero(A));
      PetscCall(PetscArraycpy(c->rows, row, c->nslots));
    } else PetscCall(HJMatAddIndex(A, ops));
  }
  PetscCall(HJMatSettle(A));
  hj->changed = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatChoose(Mat A)
{
  PetscBool changed = ((Mat_HJStencil *)A->data)->changed;

  PetscFunctionBegin;
  PetscCall(HJOnAnyRank(PetscObjectComm((PetscObject)A), &changed));
  if (changed) PetscCall(HJMatChooseStorage(A, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatCopyCoefficients(Mat from, Mat to)
{
  Mat_HJStencil    *hf = (Mat_HJStencil *)from->data, *ht = (Mat_HJStencil *)to->data;
  const HJArrayOps *ops;
  HJCoefficients   *cf, *ct;

  PetscFunctionBegin;
  PetscCall(HJMatGetHome(from, &ops, &cf));
  if (ops != &HJArraysHost && !ht->device) {
    ops = &HJArraysHost;
    PetscCall(HJMatGetIn(from, ops, &cf));
  }
  PetscCall(HJMatSetSlotsLike(to, from));
  PetscCall(HJMatFree(to));
  ct            = ops == &HJArraysHost ? &ht->c : &ht->d;
  ht->c.storage = cf->storage;
  if (cf->half) HJCoefficientsHalve(&ht->c, ht->grid.owned.hi);
  ht->c.nrows = cf->nrows;
  if (cf->nrows) {
    PetscCall(PetscMalloc1(cf->nrows * cf->nslots, &ht->c.rows));
    PetscCall(PetscArraycpy(ht->c.rows, cf->rows, cf->nrows * cf->nslots));
  }
  PetscCall(HJArraysTransfer(ops, ops, cf, ct));
  PetscCall(HJMatTouched(to, ops));
  PetscCall(HJMatSettle(to));
  ht->changed = hf->changed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

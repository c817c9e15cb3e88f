/*
   Storage of a stencil matrix: arrays while it is filled; at assembly one row, a dictionary or arrays, whichever is the smallest that
   holds the coefficients.
*/
#include "hjmat.h"

/* Distinct rows that are looked at before arrays are taken; where a row leads outside the domain it counts as another one until rows are
   merged */
#define HJ_MAX_DISTINCT 2048
#define HJ_HASH_SIZE    8192
/* A dictionary pays from so many points for each of its rows on */
#define HJ_POINTS_PER_ROW 4

typedef struct {
  PetscScalar  a[HJ_MAX_SLOTS]; /* 0 where it leads outside the domain */
  unsigned int inside;          /* bit per slot */
} HJDistinctRow;

typedef struct {
  PetscInt        n; /* -1: too many */
  HJDistinctRow  *row;
  unsigned short *table; /* hash -> 1 + row */
  unsigned short *id;    /* [npoints] */
} HJDistinctRows;

PetscErrorCode HJCoefficientsFree(HJCoefficients *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(c->rows));
  PetscCall(PetscFree(c->index));
  PetscCall(PetscFree(c->value));
  c->nrows = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJCoefficientsCopy(const HJCoefficients *from, HJCoefficients *to)
{
  PetscFunctionBegin;
  *to      = *from;
  to->rows = to->value = NULL;
  to->index            = NULL;
  if (from->rows) {
    PetscCall(PetscMalloc1(from->nrows * from->nslots, &to->rows));
    PetscCall(PetscArraycpy(to->rows, from->rows, from->nrows * from->nslots));
  }
  if (from->index) {
    PetscCall(PetscMalloc1(from->npoints, &to->index));
    PetscCall(PetscArraycpy(to->index, from->index, from->npoints));
  }
  if (from->value) {
    PetscCall(PetscMalloc1(from->nslots * from->npoints, &to->value));
    PetscCall(PetscArraycpy(to->value, from->value, from->nslots * from->npoints));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t HJCoefficientsBytes(const HJCoefficients *c)
{
  return (size_t)c->nrows * c->nslots * sizeof(PetscScalar) + (c->index ? (size_t)c->npoints : 0) +
         (c->value ? (size_t)c->npoints * c->nslots * sizeof(PetscScalar) : 0);
}

PetscErrorCode HJMatSetZero(Mat A)
{
  HJCoefficients *c = &((Mat_HJStencil *)A->data)->c;

  PetscFunctionBegin;
  PetscCall(HJCoefficientsFree(c));
  c->storage                          = HJ_COEFFICIENTS_ROW;
  c->nrows                            = 1;
  ((Mat_HJStencil *)A->data)->touched = 0;
  PetscCall(PetscCalloc1(c->nslots, &c->rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatSetShape(Mat A, HJShape shape)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)A->data;
  HJCoefficients *c  = &hj->c;

  PetscFunctionBegin;
  PetscCall(HJCoefficientsFree(c));
  if (c->nslots && c->shape != shape && c->dim > 1) { /* another pattern */
    PetscCall(MatDestroy(&hj->aij));
    PetscCall(HJCOOReset(&hj->coo));
    A->nonzerostate++;
  }
  c->dim     = hj->grid.dim;
  c->shape   = c->dim == 1 ? HJ_STAR : shape;
  c->nslots  = c->shape == HJ_STAR ? 1 + 2 * c->dim : c->dim == 2 ? 9 : 27;
  c->npoints = HJBoxSize(&hj->grid.owned);
  for (PetscInt i = 0; i < HJ_MAX_CODES; i++) hj->slot[i] = -1;
  PetscCall(PetscArrayzero(hj->hint, HJ_MAX_SLOTS));
  for (PetscInt s = 0; s < c->nslots; s++) {
    PetscInt off[3];

    HJSlotOffset(c, s, off);
    hj->slot[HJOffsetCode(off)] = s;
    hj->delta[s]                = (off[2] * hj->gwidth[1] + off[1]) * hj->gwidth[0] + off[0];
  }
  PetscCall(HJMatSetZero(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of the owned box whose neighbour at an offset is in the domain */
static HJBox HJMatInside(const HJGrid *grid, const PetscInt off[3])
{
  HJBox box = grid->owned;

  for (int d = 0; d < grid->dim; d++) {
    box.lo[d] = PetscMax(box.lo[d], grid->domain.lo[d] - off[d]);
    box.hi[d] = PetscMin(box.hi[d], grid->domain.hi[d] - off[d]);
  }
  return box;
}

/* Sets the points of the owned box that are not in keep to 0 */
static void HJMatClearOutside(const HJGrid *grid, const HJBox *keep, PetscScalar *a)
{
  const PetscInt n = HJBoxWidth(&grid->owned, 0);

  for (PetscInt k = 0; k < grid->owned.hi[2]; k++) {
    for (PetscInt j = 0; j < grid->owned.hi[1]; j++, a += n) {
      const PetscBool out = (PetscBool)(k < keep->lo[2] || k >= keep->hi[2] || j < keep->lo[1] || j >= keep->hi[1]);

      if (out) memset(a, 0, n * sizeof(*a));
      else if (keep->lo[0] > 0) a[0] = 0.0;
      if (keep->hi[0] < n) a[n - 1] = 0.0;
    }
  }
}

PetscErrorCode HJMatGetSlot(Mat A, PetscInt slot, PetscScalar array[])
{
  Mat_HJStencil        *hj = (Mat_HJStencil *)A->data;
  const HJCoefficients *c  = &hj->c;
  PetscInt              off[3];
  HJBox                 keep;

  PetscFunctionBegin;
  if (c->storage == HJ_COEFFICIENTS_ARRAYS) {
    PetscCall(PetscArraycpy(array, c->value + slot * c->npoints, c->npoints));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  HJSlotOffset(c, slot, off);
  keep = HJMatInside(&hj->grid, off);
  for (PetscCount p = 0; p < c->npoints; p++) array[p] = HJCoefficientAt(c, slot, p);
  HJMatClearOutside(&hj->grid, &keep, array);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatReshape(Mat A, HJShape shape)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;
  HJCoefficients old;
  PetscScalar   *value;
  PetscInt       slot[HJ_MAX_SLOTS];

  PetscFunctionBegin;
  if (hj->c.shape == shape || hj->c.dim == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMatExpand(A));
  old         = hj->c;
  hj->c.value = NULL;
  PetscCall(HJMatSetShape(A, shape));
  PetscCall(HJCoefficientsFree(&hj->c));
  PetscCall(PetscCalloc1(hj->c.nslots * hj->c.npoints, &value));
  for (PetscInt s = 0; s < old.nslots; s++) {
    PetscInt off[3];

    HJSlotOffset(&old, s, off);
    slot[s] = hj->slot[HJOffsetCode(off)];
    if (slot[s] >= 0) PetscCall(PetscArraycpy(value + slot[s] * old.npoints, old.value + s * old.npoints, old.npoints));
  }
  PetscCall(HJCoefficientsFree(&old));
  hj->c.value   = value;
  hj->c.storage = HJ_COEFFICIENTS_ARRAYS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatExpand(Mat A)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)A->data;
  HJCoefficients *c  = &hj->c;
  PetscScalar    *value;

  PetscFunctionBegin;
  hj->changed = PETSC_TRUE;
  if (c->storage == HJ_COEFFICIENTS_ARRAYS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(c->nslots * c->npoints, &value));
  for (PetscInt s = 0; s < c->nslots; s++) PetscCall(HJMatGetSlot(A, s, value + s * c->npoints));
  PetscCall(HJCoefficientsFree(c));
  c->value   = value;
  c->storage = HJ_COEFFICIENTS_ARRAYS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What leads outside the domain is set to 0, and what leads to another offset's points is added to that offset */
static PetscErrorCode HJMatTidySlot(Mat A, PetscInt slot)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)A->data;
  HJCoefficients *c  = &hj->c;
  PetscScalar    *a  = c->value + slot * c->npoints, *own;
  PetscInt        off[3];
  HJBox           keep;

  PetscFunctionBegin;
  HJSlotOffset(c, slot, off);
  keep = HJMatInside(&hj->grid, off);
  HJMatClearOutside(&hj->grid, &keep, a);
  if (HJLayoutIsOwnCode(&hj->layout, off)) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < hj->layout.dim; d++) {
    if (hj->layout.periodic[d] && hj->layout.N[d] <= 2 && off[d]) off[d] = hj->layout.N[d] == 1 ? 0 : -1;
  }
  own = c->value + hj->slot[HJOffsetCode(off)] * c->npoints;
  for (PetscCount p = 0; p < c->npoints; p++) {
    own[p] += a[p];
    a[p] = 0.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After users wrote to arrays */
static PetscErrorCode HJMatTidy(Mat A)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  for (PetscInt s = 0; s < hj->c.nslots; s++)
    if (hj->touched >> s & 1) PetscCall(HJMatTidySlot(A, s));
  hj->touched = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static unsigned int HJRowHash(const PetscScalar a[], PetscInt n, unsigned int inside)
{
  unsigned long long h = inside, bits;

  for (PetscInt s = 0; s < n; s++) {
    const PetscScalar v = a[s] + 0.0; /* -0 is 0 */

    memcpy(&bits, &v, sizeof(bits));
    h = (h ^ bits) * 0x9e3779b97f4a7c15ULL;
    h ^= h >> 29;
  }
  return (unsigned int)(h % HJ_HASH_SIZE);
}

/* The number of a row, a new one where it was not seen; n is -1 afterwards where there are too many */
static unsigned short HJDistinctFind(HJDistinctRows *rows, const PetscScalar a[], PetscInt nslots, unsigned int inside)
{
  for (unsigned int h = HJRowHash(a, nslots, inside);; h = (h + 1) % HJ_HASH_SIZE) {
    PetscInt       s = 0;
    HJDistinctRow *r;

    if (!rows->table[h]) {
      if (rows->n == HJ_MAX_DISTINCT) {
        rows->n = -1;
        return 0;
      }
      r         = rows->row + rows->n;
      r->inside = inside;
      for (s = 0; s < nslots; s++) r->a[s] = a[s];
      rows->table[h] = (unsigned short)++rows->n;
      return (unsigned short)(rows->n - 1);
    }
    r = rows->row + rows->table[h] - 1;
    if (r->inside != inside) continue;
    while (s < nslots && r->a[s] == a[s]) s++;
    if (s == nslots) return rows->table[h] - 1;
  }
}

/* Bit per slot: the neighbour of the point is in the domain */
static unsigned int HJMatInsideBits(const Mat_HJStencil *hj, const HJBox inside[], PetscInt i, PetscInt j, PetscInt k)
{
  unsigned int bits = 0;

  for (PetscInt s = 0; s < hj->c.nslots; s++) {
    const HJBox *b = inside + s;

    if (i >= b->lo[0] && i < b->hi[0] && j >= b->lo[1] && j < b->hi[1] && k >= b->lo[2] && k < b->hi[2]) bits |= 1u << s;
  }
  return bits;
}

/* Whether the point's row is a[] */
static PetscBool HJMatSameRow(const HJCoefficients *c, PetscCount p, const PetscScalar a[])
{
  for (PetscInt s = 0; s < c->nslots; s++) {
    if (c->value[s * c->npoints + p] != a[s]) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Distinct rows of the arrays, and which one each point has */
static void HJMatScan(const Mat_HJStencil *hj, HJDistinctRows *rows)
{
  const HJCoefficients *c = &hj->c;
  const PetscInt       *n = hj->grid.owned.hi;
  HJBox                 inside[HJ_MAX_SLOTS];
  PetscScalar           a[HJ_MAX_SLOTS];
  PetscCount            p    = 0;
  unsigned short        last = 0;

  for (PetscInt s = 0; s < c->nslots; s++) {
    PetscInt off[3];

    HJSlotOffset(c, s, off);
    inside[s] = HJMatInside(&hj->grid, off);
  }
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      unsigned int bits = 0;

      for (PetscInt i = 0; i < n[0]; i++, p++) {
        if (i < 2 || i == n[0] - 1) bits = HJMatInsideBits(hj, inside, i, j, k);
        if (!rows->n || rows->row[last].inside != bits || !HJMatSameRow(c, p, rows->row[last].a)) {
          for (PetscInt s = 0; s < c->nslots; s++) a[s] = c->value[s * c->npoints + p];
          last = HJDistinctFind(rows, a, c->nslots, bits);
          if (rows->n < 0) return;
        }
        rows->id[p] = last;
      }
    }
  }
}

/* Joins rows that agree where both lead inside the domain; map gives each its number. Returns how many are left, -1: too many */
static PetscInt HJDistinctMerge(const HJDistinctRows *rows, PetscInt nslots, HJDistinctRow merged[], PetscInt map[])
{
  PetscInt n = 0;

  for (PetscInt i = 0; i < rows->n; i++) {
    const HJDistinctRow *r = rows->row + i;
    PetscInt             m;

    for (m = 0; m < n; m++) {
      const unsigned int both = merged[m].inside & r->inside;
      PetscInt           s    = 0;

      while (s < nslots && (!(both >> s & 1) || merged[m].a[s] == r->a[s])) s++;
      if (s == nslots) break;
    }
    if (m == HJ_MAX_ROWS) return -1;
    if (m == n) merged[n++] = *r;
    for (PetscInt s = 0; s < nslots; s++) {
      if (r->inside >> s & 1) merged[m].a[s] = r->a[s];
    }
    merged[m].inside |= r->inside;
    map[i] = m;
  }
  return n;
}

/* Arrays of this rank -> dictionary, where that is possible; known: slots that some point of the first row has inside the domain */
static PetscErrorCode HJMatTryDictionary(Mat_HJStencil *hj, unsigned int *known)
{
  HJCoefficients *c = &hj->c;
  HJDistinctRows  rows;
  HJDistinctRow  *merged;
  PetscInt       *map, n = -1;

  PetscFunctionBegin;
  rows.n = 0;
  PetscCall(
    PetscMalloc5(HJ_MAX_DISTINCT, &rows.row, c->npoints, &rows.id, HJ_MAX_DISTINCT, &map, HJ_MAX_ROWS, &merged, HJ_HASH_SIZE, &rows.table));
  PetscCall(PetscArrayzero(rows.table, HJ_HASH_SIZE));
  HJMatScan(hj, &rows);
  if (rows.n > 0) n = HJDistinctMerge(&rows, c->nslots, merged, map);
  if (n == 1 || (n > 1 && n <= c->npoints / HJ_POINTS_PER_ROW)) {
    PetscCall(PetscMalloc1(c->npoints, &c->index));
    for (PetscCount p = 0; p < c->npoints; p++) c->index[p] = (unsigned char)map[rows.id[p]];
    PetscCall(PetscFree(c->value));
    PetscCall(PetscMalloc1(n * c->nslots, &c->rows));
    for (PetscInt m = 0; m < n; m++) PetscCall(PetscArraycpy(c->rows + m * c->nslots, merged[m].a, c->nslots));
    c->nrows   = n;
    c->storage = HJ_COEFFICIENTS_DICTIONARY;
    *known     = merged[0].inside;
  }
  PetscCall(PetscFree5(rows.row, rows.id, map, merged, rows.table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One row on all ranks? Where they agree *same is true and row[] is it */
static PetscErrorCode HJMatCompareRow(MPI_Comm comm, const HJCoefficients *c, unsigned int known, PetscBool *same, PetscScalar row[])
{
  PetscReal extreme[2 * HJ_MAX_SLOTS + 1];
  PetscBool number = PETSC_TRUE; /* a maximum may pass over what is none */

  PetscFunctionBegin;
  for (PetscInt s = 0; s < HJ_MAX_SLOTS; s++) {
    const PetscBool has = (PetscBool)(c->nrows == 1 && s < c->nslots && (known >> s & 1));

    extreme[2 * s]     = has ? c->rows[s] : PETSC_MIN_REAL;
    extreme[2 * s + 1] = has ? -c->rows[s] : PETSC_MIN_REAL;
    number             = (PetscBool)(number && !PetscIsNanReal(extreme[2 * s]));
  }
  extreme[2 * HJ_MAX_SLOTS] = c->nrows == 1 && number ? 0 : 1;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, extreme, 2 * HJ_MAX_SLOTS + 1, MPIU_REAL, MPIU_MAX, comm));
  *same = (PetscBool)(extreme[2 * HJ_MAX_SLOTS] == 0);
  for (PetscInt s = 0; s < c->nslots && *same; s++) {
    const PetscBool has = (PetscBool)(extreme[2 * s] > PETSC_MIN_REAL || extreme[2 * s + 1] > PETSC_MIN_REAL);

    if (has && extreme[2 * s] != -extreme[2 * s + 1]) *same = PETSC_FALSE;
    row[s] = has ? extreme[2 * s] : 0.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatChoose(Mat A)
{
  Mat_HJStencil  *hj      = (Mat_HJStencil *)A->data;
  HJCoefficients *c       = &hj->c;
  MPI_Comm        comm    = PetscObjectComm((PetscObject)A);
  PetscMPIInt     changed = hj->changed, any[2];
  unsigned int    known   = ~0u;
  PetscScalar     row[HJ_MAX_SLOTS];
  PetscBool       same = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&changed, &any[0], 1, MPI_INT, MPI_MAX, comm));
  if (!any[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMatTidy(A));
  if (c->storage == HJ_COEFFICIENTS_ARRAYS) PetscCall(HJMatTryDictionary(hj, &known));
  changed = c->storage == HJ_COEFFICIENTS_ARRAYS;
  PetscCallMPI(MPI_Allreduce(&changed, &any[1], 1, MPI_INT, MPI_MAX, comm));
  if (any[1]) PetscCall(HJMatExpand(A));
  else {
    PetscCall(HJMatCompareRow(comm, c, known, &same, row));
    if (same) {
      PetscCall(HJMatSetZero(A));
      PetscCall(PetscArraycpy(c->rows, row, c->nslots));
    } else if (!c->index) {
      PetscCall(PetscCalloc1(c->npoints, &c->index));
      c->storage = HJ_COEFFICIENTS_DICTIONARY;
    }
  }
  hj->changed = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Distinct rows by a hash. Decides which rows are one, and which may be made one.
*/
#include "hjdistinct.h"

PetscErrorCode HJDistinctCreate(PetscInt max, size_t bytes, size_t words, HJDistinct *d)
{
  PetscFunctionBegin;
  *d = (HJDistinct){.max = max, .bytes = bytes, .words = words, .places = 2};
  while (d->places < 4 * max) d->places *= 2;
  PetscCall(PetscMalloc(max * bytes, (void **)&d->item));
  PetscCall(PetscCalloc1(d->places, &d->table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJDistinctDestroy(HJDistinct *d)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(d->item));
  PetscCall(PetscFree(d->table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt HJDistinctFind(HJDistinct *d, const void *item)
{
  const char *key  = (const char *)item;
  uint64_t    hash = 0;
  size_t      place;

  for (size_t w = 0; w < d->words; w++) {
    uint64_t word;

    memcpy(&word, key + 8 * w, 8);
    if (word) hash += HJMixBits(word + w); /* most are 0 */
  }
  for (place = HJMixBits(hash) % (size_t)d->places; d->table[place]; place = (place + 1) % (size_t)d->places) {
    if (!memcmp(d->item + (size_t)(d->table[place] - 1) * d->bytes, key, 8 * d->words)) return d->table[place] - 1;
  }
  if (d->n == d->max) return -1;
  memcpy(d->item + (size_t)d->n * d->bytes, key, d->bytes);
  d->table[place] = (unsigned short)++d->n;
  return d->n - 1;
}

PetscErrorCode HJDistinctCreateRows(PetscInt nslots, HJDistinct *d)
{
  PetscFunctionBegin;
  PetscCall(HJDistinctCreate(HJ_MAX_RAW_ROWS, sizeof(HJDistinctRow), 1 + ((size_t)nslots * sizeof(PetscScalar) + 7) / 8, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt HJDistinctFindRow(HJDistinct *d, const HJDistinctRow *row)
{
  const PetscInt n = d->n, number = HJDistinctFind(d, row);

  if (number == n && !row->outside && d->ninner++ == HJ_MAX_ROWS) return -1;
  return number;
}

PetscErrorCode HJDistinctTakeRows(HJDistinct *d, PetscInt *n, HJDistinctRow **rows)
{
  PetscFunctionBegin;
  *n      = d->n;
  *rows   = (HJDistinctRow *)d->item;
  d->item = NULL;
  PetscCall(HJDistinctDestroy(d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bit per slot: the neighbour of the point is outside the domain */
static unsigned int HJOutsideBits(PetscInt nslots, const HJBox inside[], PetscInt i, PetscInt j, PetscInt k)
{
  unsigned int bits = 0;

  for (PetscInt s = 0; s < nslots; s++) {
    const HJBox *b = inside + s;

    if (i < b->lo[0] || i >= b->hi[0] || j < b->lo[1] || j >= b->hi[1] || k < b->lo[2] || k >= b->hi[2]) bits |= 1u << s;
  }
  return bits;
}

/* Whether the point's row is this one, whose neighbours outside the domain are the point's */
static PetscBool HJIsRow(const HJCoefficients *c, PetscCount p, const HJDistinctRow *row)
{
  if (c->storage == HJ_COEFFICIENTS_ARRAYS) {
    for (PetscInt s = 0; s < c->nslots; s++) {
      if (c->value[HJSlotBegin(c, s) + p] != row->a[s]) return PETSC_FALSE;
    }
    return PETSC_TRUE;
  }
  return (PetscBool)(p > 0 && (c->storage == HJ_COEFFICIENTS_ROW || c->index[p] == c->index[p - 1]));
}

/* The points of this rank, line by line. false: too many rows */
static PetscBool HJDistinctScanPoints(const HJCoefficients *c, const HJGrid *grid, HJDistinct *d, unsigned short id[])
{
  const PetscInt *n    = grid->owned.hi;
  HJDistinctRow  *rows = (HJDistinctRow *)d->item;
  HJBox           inside[HJ_MAX_SLOTS];
  PetscCount      p    = 0;
  PetscInt        last = -1;

  for (PetscInt s = 0; s < c->nslots; s++) inside[s] = HJCoefficientsInside(c, s, grid);
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      unsigned int outside = 0;

      for (PetscInt i = 0; i < n[0]; i++, p++) {
        if (i < 2 || i == n[0] - 1) outside = HJOutsideBits(c->nslots, inside, i, j, k);
        if (last < 0 || rows[last].outside != outside || !HJIsRow(c, p, &rows[last])) {
          HJDistinctRow row = {.outside = outside};

          for (PetscInt s = 0; s < c->nslots; s++)
            if (!(outside >> s & 1)) HJDistinctRowSet(&row, s, HJCoefficientAt(c, s, p));
          last = HJDistinctFindRow(d, &row);
          if (last < 0) return PETSC_FALSE;
        }
        rows[last].count++;
        id[p] = (unsigned short)last;
      }
    }
  }
  return PETSC_TRUE;
}

PetscErrorCode HJDistinctScan(const HJCoefficients *c, const HJGrid *grid, PetscInt *n, HJDistinctRow **rows, unsigned short id[])
{
  HJDistinct d;
  PetscBool  fits;

  PetscFunctionBegin;
  PetscCall(HJDistinctCreateRows(c->nslots, &d));
  fits = HJDistinctScanPoints(c, grid, &d, id);
  PetscCall(HJDistinctTakeRows(&d, n, rows));
  if (!fits) *n = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJDistinctAgree(PetscInt nslots, const HJDistinctRow *x, const HJDistinctRow *y)
{
  const unsigned int both = ~(x->outside | y->outside);

  if ((x->nonzero ^ y->nonzero) & both) return PETSC_FALSE;
  for (PetscInt s = 0; s < nslots; s++) {
    if ((both >> s & 1) && memcmp(&x->a[s], &y->a[s], sizeof(x->a[s]))) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

static void HJDistinctJoin(PetscInt nslots, HJDistinctRow *x, const HJDistinctRow *y)
{
  const unsigned int gain = x->outside & ~y->outside;

  for (PetscInt s = 0; s < nslots; s++) {
    if (gain >> s & 1) x->a[s] = y->a[s];
  }
  x->nonzero |= y->nonzero & gain;
  x->outside &= y->outside;
  x->count += y->count;
}

static PetscInt HJPopulation(unsigned int bits)
{
  PetscInt n = 0;

  for (; bits; bits &= bits - 1) n++;
  return n;
}

void HJDistinctMerge(PetscInt nslots, PetscInt n, const HJDistinctRow in[], PetscInt *nout, HJDistinctRow out[], unsigned char map[])
{
  *nout = 0;
  for (PetscInt level = 0; level < nslots; level++) {
    for (PetscInt i = 0; i < n; i++) {
      PetscInt o = 0;

      if (HJPopulation(in[i].outside) != level) continue;
      while (o < *nout && !HJDistinctAgree(nslots, &out[o], &in[i])) o++;
      if (o == HJ_MAX_ROWS) {
        *nout = -1;
        return;
      }
      if (map) map[i] = (unsigned char)o;
      if (o < *nout) HJDistinctJoin(nslots, &out[o], &in[i]);
      else out[(*nout)++] = in[i];
    }
  }
}

/* Products: points for each row */
#define HJ_POINTS_PER_ROW 4

PetscBool HJStoresRows(HJStorageUse use, PetscInt nslots, PetscInt n, const HJDistinctRow row[], PetscCount npoints)
{
  if (use == HJ_FOR_SWEEPS) return (PetscBool)(n >= 0);
  if (n < 1) return PETSC_FALSE;
  for (PetscInt m = 0; m < n; m++)
    for (PetscInt s = 0; s < nslots; s++)
      if (PetscIsInfOrNanScalar(row[m].a[s])) return PETSC_FALSE;
  return (PetscBool)(n == 1 || n <= npoints / HJ_POINTS_PER_ROW);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   y = |D^-1 A| x of the host backend, or |D^-1 (A - A^T)| 1, for bounds of the spectrum: line by line, one neighbour at a time. Used in
   set-up alone.
*/
#include "hjhostkernels.h"

/* Points that are done at a time: their sums stay in the first-level cache */
#define HJ_CHUNK 512

/* Of these so many in which entries that are 0 are looked for at once */
#define HJ_SKEW_SOME 16

typedef struct {
  const HJGrid        *grid;
  const HJStencil     *st;
  const HJHostKernels *kernels;
  PetscBool            skew;
  /* dictionary: absolute coefficients [nslots][nrows], of slot 0 1 a row, NaN where the diagonal is infinite; skew: coefficients of A
     itself, then the inverse diagonal */
  PetscScalar *table;
  PetscScalar  ones[HJ_CHUNK];
  /* of each neighbour: where it is; its slot that leads back; the array of its coefficients (NULL: a dictionary), and how far there the
     place is from the point's. period: points of a direction whose neighbour on both sides is this rank itself, whose coefficients are
     those of the period; else 0 */
  PetscInt           off[HJ_MAX_SLOTS][3], back[HJ_MAX_SLOTS], period[3];
  const PetscScalar *value[HJ_MAX_SLOTS];
  PetscCount         shift[HJ_MAX_SLOTS];
} HJAbsolute;

/* An infinite diagonal shows in a dictionary's centre that is NaN */
static PetscErrorCode HJAbsoluteCreate(const HJGrid *grid, const HJStencil *st, PetscBool skew, HJAbsolute *a)
{
  const PetscInt width = st->nslots;

  PetscFunctionBegin;
  a->grid    = grid;
  a->st      = st;
  a->skew    = skew;
  a->kernels = HJHostPickKernels();
  a->table   = NULL;
  for (PetscInt i = 0; i < HJ_CHUNK; i++) a->ones[i] = 1;
  for (int d = 0; d < 3; d++) a->period[d] = HJGridPeriod(grid, d);
  for (PetscInt o = 1; o < st->nslots; o++) {
    HJShapeOffset(st->dim, st->shape, o, a->off[o]);
    a->back[o]  = HJGridSlotBack(grid, st->shape, o);
    a->value[o] = HJStencilArray(st, o, &a->shift[o]);
  }
  if (st->storage == HJ_DICTIONARY) {
    PetscCall(PetscMalloc1(width * st->nrows, &a->table));
    for (PetscInt r = 0; r < st->nrows; r++) {
      const PetscScalar *row = st->rows + r * width;

      for (PetscInt o = 1; o < st->nslots; o++) a->table[o * st->nrows + r] = skew ? row[o] / st->dinv_rows[r] : PetscAbsScalar(row[o]);
      a->table[r] = skew ? st->dinv_rows[r] : row[0] == row[0] ? 1 : row[0];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a_ij of the point at a place in the arrays; HJ_SYMMETRIC has no skew part */
static inline PetscScalar HJSkewEntry(const HJAbsolute *a, PetscInt o, PetscCount at)
{
  return a->table ? a->table[o * a->st->nrows + a->st->index[at]] : a->st->value[o][at];
}

/* Whether the row of a point is its diagonal alone */
static PetscBool HJSkewIsAlone(const HJAbsolute *a, const PetscInt p[3])
{
  const HJStencil *st = a->st;

  const PetscCount at = HJBoxIndex(&st->box, p[0], p[1], p[2]);

  for (PetscInt o = 1; o < st->nslots; o++) {
    const PetscInt *off = a->off[o];

    if (HJSkewEntry(a, o, at) != 0 && HJPointInside(&a->grid->domain, p[0] + off[0], p[1] + off[1], p[2] + off[2])) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* a_ij of n points from a place in the arrays on, in room where they are those of rows */
static const PetscScalar *HJSkewEntries(const HJAbsolute *a, PetscInt o, PetscCount at, PetscInt n, PetscScalar room[])
{
  const HJStencil *st = a->st;

  if (!a->table) return st->value[o] + at;
  for (PetscInt i = 0; i < n; i++) room[i] = a->table[o * st->nrows + st->index[at + i]];
  return room;
}

/* u - v of n entries; whether some of them are 0 */
static PetscBool HJSkewSubtract(PetscInt n, const PetscScalar *restrict u, const PetscScalar *restrict v, PetscScalar *restrict difference)
{
  PetscInt zeros = 0;

  for (PetscInt i = 0; i < n; i++) {
    difference[i] = u[i] - v[i];
    zeros |= (u[i] == 0) | (v[i] == 0);
  }
  return (PetscBool)(zeros != 0);
}

/* a_ij - a_ji of n points from p on and their neighbours o from q on, all in the domain, n <= HJ_CHUNK */
static void HJSkewDifferences(const HJAbsolute *a, const PetscInt p[3], const PetscInt q[3], PetscInt n, PetscInt o,
                              PetscScalar *difference)
{
  const HJStencil   *st = a->st;
  PetscScalar        room[2][HJ_CHUNK];
  const PetscScalar *own   = HJSkewEntries(a, o, HJBoxIndex(&st->box, p[0], p[1], p[2]), n, room[0]);
  const PetscScalar *other = HJSkewEntries(a, a->back[o], HJBoxIndex(&st->box, q[0], q[1], q[2]), n, room[1]);

  for (PetscInt first = 0; first < n; first += HJ_SKEW_SOME) {
    const PetscInt some = PetscMin(HJ_SKEW_SOME, n - first);

    if (!HJSkewSubtract(some, own + first, other + first, difference + first)) continue;
    for (PetscInt i = first; i < first + some; i++) {
      const PetscInt here[3] = {p[0] + i, p[1], p[2]}, there[3] = {q[0] + i, q[1], q[2]};

      if ((own[i] == 0 && HJSkewIsAlone(a, here)) || (other[i] == 0 && HJSkewIsAlone(a, there))) difference[i] = 0;
    }
  }
}

/* Where the neighbour o of points from p on lies, and for which of them, [lo, hi), it lies on the same side of the ends of a period in x.
   The first one that is not done yet is lo. false: outside the domain */
static PetscBool HJAbsoluteFind(const HJAbsolute *a, const PetscInt p[3], PetscInt o, PetscInt *lo, PetscInt *hi, PetscInt q[3])
{
  const HJBox   *domain = &a->grid->domain;
  const PetscInt n      = a->period[0];

  for (int d = 0; d < 3; d++) q[d] = p[d] + a->off[o][d];
  if (q[1] < domain->lo[1] || q[1] >= domain->hi[1] || q[2] < domain->lo[2] || q[2] >= domain->hi[2]) return PETSC_FALSE;
  *lo = PetscMax(domain->lo[0] - q[0], *lo);
  *hi = PetscMin(domain->hi[0] - q[0], *hi);
  q[0] += *lo;
  if (n && q[0] < 0) *hi = PetscMin(*hi, *lo - q[0]);
  else if (n && q[0] < n) *hi = PetscMin(*hi, *lo + n - q[0]);
  return PETSC_TRUE;
}

/* The neighbour o of the points [lo, hi) of those from p on, added to their sums; q is where that of the first is. at: place of p in the
   arrays; xat: p in x, where x has no ghosts */
static void HJAbsolutePiece(const HJAbsolute *a, const HJSweep *s, const PetscInt p[3], PetscCount at, const PetscScalar *xat, PetscInt lo,
                            PetscInt hi, const PetscInt q[3], PetscInt o, PetscScalar *sum)
{
  const HJStencil   *st  = a->st;
  const PetscInt    *off = a->off[o];
  PetscInt           here[3];
  const PetscScalar *x = a->ones;
  PetscScalar        difference[HJ_CHUNK];

  for (int d = 0; d < 3; d++) here[d] = d < 2 && s->wraps[d] ? HJPeriodWrap(a->period[d], q[d]) : q[d];
  if (xat) x = xat + ((PetscCount)off[2] * HJBoxWidth(&s->box, 1) + off[1]) * HJBoxWidth(&s->box, 0) + off[0] + lo;
  else if (s->x) x = HJSweepLine(s, st->dim, 1, s->x, s->xghost, here);
  if (a->skew) {
    const PetscInt own[3] = {p[0] + lo, p[1], p[2]};

    for (int d = 0; d < 3; d++) here[d] = HJPeriodWrap(a->period[d], q[d]);
    HJSkewDifferences(a, own, here, hi - lo, o, difference);
    a->kernels->absolute(hi - lo, difference, x, sum + lo);
  } else if (a->table) a->kernels->absolute_indexed(hi - lo, a->table + o * st->nrows, st->index + at + lo, x, sum + lo);
  else a->kernels->absolute(hi - lo, a->value[o] + at + a->shift[o] + lo, x, sum + lo);
}

/* The neighbour o of n points from p on, added to their sums; only those whose neighbour is in the domain */
static void HJAbsoluteNeighbor(const HJAbsolute *a, const HJSweep *s, const PetscInt p[3], PetscCount at, const PetscScalar *xat,
                               PetscInt n, PetscInt o, PetscScalar *sum)
{
  PetscInt q[3];

  for (PetscInt lo = 0, hi = n; lo < n; lo = hi, hi = n) {
    if (!HJAbsoluteFind(a, p, o, &lo, &hi, q) || lo >= hi) return;
    HJAbsolutePiece(a, s, p, at, xat, lo, hi, q, o, sum);
  }
}

/* n points from p on; returns the largest y / x. An infinite diagonal shows in an inverse diagonal of zero too */
static PetscReal HJAbsolutePoints(const HJAbsolute *a, const HJSweep *s, const PetscInt p[3], PetscInt n)
{
  const HJStencil   *st     = a->st;
  const PetscCount   at     = HJBoxIndex(&st->box, p[0], p[1], p[2]);
  const PetscScalar *x      = s->x ? HJSweepLine(s, st->dim, 1, s->x, s->xghost, p) : a->ones;
  const PetscBool    in_one = (PetscBool)(s->x && !s->ghosts && !s->wraps[0] && !s->wraps[1]);
  PetscScalar        sum[HJ_CHUNK], scale[HJ_CHUNK];

  memset(sum, 0, n * sizeof(*sum));
  for (PetscInt o = 1; o < st->nslots; o++) HJAbsoluteNeighbor(a, s, p, at, in_one ? x : NULL, n, o, sum);
  for (PetscInt i = 0; i < n && a->table; i++) scale[i] = a->table[st->index[at + i]];
  return a->kernels->absolute_ratio(n, a->table ? scale : st->dinv + at, x, sum, s->y + HJBoxIndex(&s->ybox, p[0], p[1], p[2]));
}

PetscErrorCode HJHostAbsolute(const HJGrid *grid, const HJStencil *st, PetscInt n, const HJSweep s[], PetscBool skew, PetscReal *ratio)
{
  HJAbsolute a;
  PetscInt   p[3];

  PetscFunctionBegin;
  PetscCall(HJAbsoluteCreate(grid, st, skew, &a));
  *ratio = 0;
  for (const HJSweep *t = s; t < s + n; t++) {
    for (p[2] = t->write.lo[2]; p[2] < t->write.hi[2]; p[2]++) {
      for (p[1] = t->write.lo[1]; p[1] < t->write.hi[1]; p[1]++) {
        for (p[0] = t->write.lo[0]; p[0] < t->write.hi[0]; p[0] += HJ_CHUNK) {
          const PetscReal here = HJAbsolutePoints(&a, t, p, PetscMin(HJ_CHUNK, t->write.hi[0] - p[0]));

          *ratio = PetscMax(*ratio, here);
        }
      }
    }
  }
  PetscCall(PetscFree(a.table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

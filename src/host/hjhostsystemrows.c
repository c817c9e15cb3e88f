/* SPDX-License-Identifier: BSD-2-Clause */
/*
   y = |D^-1 A| x of points with several unknowns, or |D^-1 (A - A^T)| 1, for bounds of the spectrum: line by line, a block of each
   neighbour at a time. Used in set-up alone.
*/
#include "hjhostsweep.h"
#include "core/hjblock.h"

/* Points that are done at a time where there are arrays: their blocks stay in cache */
#define HJ_CHUNK 64

typedef struct {
  const HJHost *h;
  PetscBool     skew;
  PetscInt     *first, *order;             /* [nslots + 1], [nentries]: the entries of A by slots */
  PetscInt     *at;                        /* [nslots][dof][dof] entry of A; -1: there is none */
  PetscScalar  *block[2], *inverse, *work; /* a block each */
  PetscScalar  *blocks;                    /* [dof][dof][HJ_CHUNK] */
} HJSystemRows;

static inline PetscScalar HJSystemEntry(const HJStencil *st, PetscInt e, PetscCount at)
{
  return st->storage == HJ_DICTIONARY ? st->rows[(PetscCount)st->index[at] * st->nentries + e] : *HJStencilValues(st, e, at);
}

static void HJSystemInverse(const HJStencil *st, PetscCount at, PetscScalar *inverse)
{
  memset(inverse, 0, (size_t)(st->dof * st->dof) * sizeof(*inverse));
  for (PetscInt e = 0; e < st->ninverse; e++) inverse[st->entry[e].row * st->dof + st->entry[e].column] = HJSystemEntry(st, e, at);
}

/* A's block of a slot at a point; where there are arrays D is made from its inverse */
static void HJSystemBlock(const HJSystemRows *a, PetscInt slot, PetscCount at, PetscScalar *block)
{
  const HJStencil *st   = &a->h->st;
  const PetscInt   size = st->dof * st->dof;

  if (st->storage == HJ_DICTIONARY) {
    const PetscInt nslots = HJShapeSlots(st->dim, HJ_BOX), place = HJShapeBoxSlot(st->dim, st->shape, slot);

    memcpy(block, st->blocks + ((PetscCount)st->index[at] * nslots + place) * size, (size_t)size * sizeof(*block));
    return;
  }
  memset(block, 0, (size_t)size * sizeof(*block));
  if (!slot) {
    HJSystemInverse(st, at, a->work);
    (void)HJBlockInvert(st->dof, a->work, block);
  }
  for (PetscInt i = a->first[slot]; i < a->first[slot + 1]; i++) {
    const HJEntry *e = &st->entry[a->order[i]];

    block[e->row * st->dof + e->column] = *HJStencilValues(st, a->order[i], at);
  }
}

static PetscErrorCode HJSystemRowsCreate(const HJHost *h, PetscBool skew, HJSystemRows *a)
{
  const HJStencil *st   = &h->st;
  const PetscInt   size = st->dof * st->dof;
  PetscInt         n    = 0;

  PetscFunctionBegin;
  a->h    = h;
  a->skew = skew;
  PetscCall(PetscMalloc2(st->nslots + 1, &a->first, st->nentries, &a->order));
  PetscCall(PetscMalloc4(size, &a->block[0], size, &a->block[1], size, &a->inverse, size, &a->work));
  for (PetscInt o = 0; o < st->nslots; o++) {
    a->first[o] = n;
    for (PetscInt e = st->ninverse; e < st->nentries; e++)
      if (st->entry[e].slot == o) a->order[n++] = e;
  }
  a->first[st->nslots] = n;
  PetscCall(PetscMalloc2(st->nslots * size, &a->at, size * HJ_CHUNK, &a->blocks));
  for (PetscInt i = 0; i < st->nslots * size; i++) a->at[i] = -1;
  for (PetscInt e = st->ninverse; e < st->nentries; e++)
    a->at[(st->entry[e].slot * st->dof + st->entry[e].row) * st->dof + st->entry[e].column] = e;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSystemRowsDestroy(HJSystemRows *a)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(a->first, a->order));
  PetscCall(PetscFree2(a->at, a->blocks));
  PetscCall(PetscFree4(a->block[0], a->block[1], a->inverse, a->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   a_cd - a_dc of two components, after a scaling of one of them that makes the two as large as each other. It would change no eigenvalue:
   where one of them is 0, or both are of one sign, the two alone turn none from the real axis
*/
static inline PetscScalar HJSystemBalanced(PetscScalar a, PetscScalar that)
{
  const PetscReal size = PetscAbsScalar(a) > 0.0 ? PetscSqrtReal(PetscAbsScalar(a)) * PetscSqrtReal(PetscAbsScalar(that)) : 0.0;

  if ((a > 0.0) == (that > 0.0)) return 0.0;
  return a > 0.0 ? 2.0 * size : -2.0 * size;
}

/* Whether a point's row of one component is its diagonal alone */
static PetscBool HJSystemIsAlone(const HJSystemRows *a, PetscCount at, PetscInt c)
{
  const HJStencil *st = &a->h->st;

  for (PetscInt e = 0; e < st->nentries; e++) {
    const PetscBool diagonal = (PetscBool)(e < st->ninverse && st->entry[e].column == c);

    if (st->entry[e].row == c && !diagonal && HJSystemEntry(st, e, at) != 0.0) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* A_o - (A_back)^T of a point and its neighbour, without rows and columns that are a diagonal alone */
static void HJSystemDifference(const HJSystemRows *a, PetscInt slot, PetscCount at, PetscCount to)
{
  const HJStencil *st  = &a->h->st;
  const PetscInt   dof = st->dof;
  PetscScalar     *own = a->block[0], *other = a->block[1];

  HJSystemBlock(a, slot, at, own);
  HJSystemBlock(a, HJGridSlotBack(&a->h->grid, st->shape, slot), to, other);
  for (PetscInt c = 0; c < dof; c++) {
    for (PetscInt d = 0; d < dof; d++) {
      PetscScalar    *v    = &own[c * dof + d];
      const PetscReal that = other[d * dof + c];

      if (c != d) *v = HJSystemBalanced(*v, that);
      else if ((*v == 0.0 && that != 0.0 && HJSystemIsAlone(a, at, c)) || (that == 0.0 && *v != 0.0 && HJSystemIsAlone(a, to, d))) *v = 0.0;
      else *v -= that;
    }
  }
}

/* The block of D^-1 A, or D^-1 (A - A^T), of a slot; to: the neighbour's place */
static void HJSystemScaled(const HJSystemRows *a, PetscInt slot, PetscCount at, PetscCount to, PetscScalar *scaled)
{
  if (a->skew) HJSystemDifference(a, slot, at, to);
  else HJSystemBlock(a, slot, at, a->block[0]);
  HJSystemInverse(&a->h->st, at, a->inverse);
  HJBlockMultiply(a->h->st.dof, a->inverse, a->block[0], scaled);
}

/* What the neighbours of n points that have one row of a dictionary, which is scaled, add to their sums. x: the neighbours'; NULL: 1 */
static void HJSystemAddScaled(const HJSystemRows *a, PetscInt slot, PetscInt row, PetscInt n, const PetscScalar *x, PetscScalar *sum)
{
  const HJStencil *st  = &a->h->st;
  const PetscInt   dof = st->dof;

  for (PetscInt m = a->first[slot]; m < a->first[slot + 1]; m++) {
    const HJEntry  *e    = &st->entry[a->order[m]];
    const PetscReal size = PetscAbsScalar(st->rows[(PetscCount)row * st->nentries + a->order[m]]);

    for (PetscInt i = 0; i < n; i++) sum[i * dof + e->row] += size * (x ? x[i * dof + e->column] : 1.0);
  }
}

/* What a point's neighbour adds to its sums, but for a dictionary's rows without skew. x: the neighbour's; NULL: 1 */
static void HJSystemAddNeighbor(const HJSystemRows *a, PetscInt slot, PetscCount at, PetscCount to, const PetscScalar *x, PetscScalar *sum)
{
  const PetscInt dof = a->h->st.dof;

  HJSystemScaled(a, slot, at, to, a->work);
  for (PetscInt c = 0; c < dof; c++) {
    for (PetscInt d = 0; d < dof; d++) sum[c] += PetscAbsScalar(a->work[c * dof + d]) * (x ? x[d] : 1.0);
  }
}

/* Of n points one entry of A, or of A - A^T, whose rows and columns of a diagonal alone count as 0 */
static void HJSystemEntries(const HJSystemRows *a, PetscInt slot, PetscInt c, PetscInt d, PetscCount at, PetscCount to, PetscInt n,
                            PetscScalar v[])
{
  const HJStencil   *st    = &a->h->st;
  const PetscInt     own   = a->at[(slot * st->dof + c) * st->dof + d];
  const PetscInt     other = a->at[(HJGridSlotBack(&a->h->grid, st->shape, slot) * st->dof + d) * st->dof + c];
  const PetscScalar *there = other < 0 || !a->skew ? NULL : HJStencilValues(st, other, to);

  if (own < 0) memset(v, 0, n * sizeof(*v));
  else memcpy(v, HJStencilValues(st, own, at), n * sizeof(*v));
  for (PetscInt i = 0; i < n && a->skew; i++) {
    const PetscScalar that = there ? there[i] : 0.0;

    if (c != d) v[i] = HJSystemBalanced(v[i], that);
    else if ((v[i] == 0.0 && that != 0.0 && HJSystemIsAlone(a, at + i, c)) || (that == 0.0 && v[i] != 0.0 && HJSystemIsAlone(a, to + i, d)))
      v[i] = 0.0;
    else v[i] -= that;
  }
}

/* HJSystemAddNeighbor() of n <= HJ_CHUNK points of a line where there are arrays, of a slot that is not the point's own */
static void HJSystemAddNeighbors(const HJSystemRows *a, PetscInt slot, PetscCount at, PetscCount to, PetscInt n, const PetscScalar *x,
                                 PetscScalar *sum)
{
  const HJStencil *st  = &a->h->st;
  const PetscInt   dof = st->dof, back = HJGridSlotBack(&a->h->grid, st->shape, slot);
  PetscScalar      v[HJ_CHUNK];

  memset(a->blocks, 0, (size_t)(dof * dof * HJ_CHUNK) * sizeof(*v));
  for (PetscInt l = 0; l < dof; l++) {
    for (PetscInt d = 0; d < dof; d++) {
      if (a->at[(slot * dof + l) * dof + d] < 0 && (!a->skew || a->at[(back * dof + d) * dof + l] < 0)) continue;
      HJSystemEntries(a, slot, l, d, at, to, n, v);
      for (PetscInt e = 0; e < st->ninverse; e++) {
        const PetscScalar *restrict inverse = HJStencilValues(st, e, at);
        PetscScalar *restrict block         = a->blocks + (st->entry[e].row * dof + d) * HJ_CHUNK;

        if (st->entry[e].column != l) continue;
        for (PetscInt i = 0; i < n; i++) block[i] += inverse[i] * v[i];
      }
    }
  }
  for (PetscInt c = 0; c < dof; c++) {
    for (PetscInt d = 0; d < dof; d++) {
      const PetscScalar *block = a->blocks + (c * dof + d) * HJ_CHUNK;

      for (PetscInt i = 0; i < n; i++) sum[i * dof + c] += PetscAbsScalar(block[i]) * (x ? x[i * dof + d] : 1.0);
    }
  }
}

/* HJSystemAddNeighbor() of n points of a line */
static void HJSystemAddPoints(const HJSystemRows *a, PetscInt slot, PetscCount at, PetscCount to, PetscInt n, const PetscScalar *x,
                              PetscScalar *sum)
{
  const HJStencil     *st  = &a->h->st;
  const PetscInt       dof = st->dof;
  const unsigned char *own = st->index ? st->index + at : NULL, *other = st->index ? st->index + to : NULL;
  PetscInt             step;

  for (PetscInt i = 0; i < n && st->storage == HJ_VARIABLE && slot; i += step) {
    step = PetscMin(HJ_CHUNK, n - i);
    HJSystemAddNeighbors(a, slot, at + i, to + i, step, x ? x + i * dof : NULL, sum + i * dof);
  }
  for (PetscInt i = 0; i < n && (st->storage == HJ_DICTIONARY || !slot); i += step) {
    step = 1;
    if (!a->skew && st->storage == HJ_DICTIONARY) {
      while (i + step < n && own[i + step] == own[i]) step++;
      HJSystemAddScaled(a, slot, own[i], step, x ? x + i * dof : NULL, sum + i * dof);
      continue;
    }
    HJSystemAddNeighbor(a, slot, at + i, to + i, x ? x + i * dof : NULL, sum + i * dof);
    if (st->storage == HJ_VARIABLE) continue;
    for (; i + step < n && own[i + step] == own[i] && other[i + step] == other[i]; step++) /* what was added is in a->work */
      for (PetscInt e = 0; e < dof * dof; e++) sum[(i + step) * dof + e / dof] += PetscAbsScalar(a->work[e]);
  }
}

/* n points from p on; returns the largest y / x. y holds the sums meanwhile */
static PetscReal HJSystemLine(const HJSystemRows *a, const HJSweep *s, const PetscInt p[3], PetscInt n)
{
  const HJStencil   *st     = &a->h->st;
  const HJBox       *domain = &a->h->grid.domain;
  const PetscInt     dof    = st->dof;
  const PetscScalar *x      = s->x ? HJSweepLine(s, st->dim, dof, s->x, s->xghost, p) : NULL;
  PetscScalar       *y      = s->y + dof * HJBoxIndex(&s->ybox, p[0], p[1], p[2]);
  PetscReal          ratio  = 0.0;

  for (PetscInt i = 0; i < n * dof; i++) y[i] = x ? x[i] : 1.0; /* the diagonal counts as 1 */
  for (PetscInt o = a->skew ? 0 : 1; o < st->nslots; o++) {
    PetscInt           q[3], lo, hi, first[3];
    const PetscScalar *there = NULL;
    PetscCount         at    = HJBoxIndex(&st->box, p[0], p[1], p[2]), to;

    HJShapeOffset(st->dim, st->shape, o, q);
    for (int d = 0; d < 3; d++) q[d] += p[d];
    lo = PetscMax(domain->lo[0] - q[0], 0);
    hi = PetscMin(domain->hi[0] - q[0], n);
    if (q[1] < domain->lo[1] || q[1] >= domain->hi[1] || q[2] < domain->lo[2] || q[2] >= domain->hi[2] || lo >= hi) continue;
    first[0] = q[0] + lo;
    first[1] = q[1];
    first[2] = q[2];
    to       = HJBoxIndex(&st->box, q[0], q[1], q[2]);
    if (x) there = HJSweepLine(s, st->dim, dof, s->x, s->xghost, first);
    HJSystemAddPoints(a, o, at + lo, to + lo, hi - lo, there, y + lo * dof);
  }
  for (PetscInt i = 0; i < n * dof; i++) {
    const PetscReal here = x ? y[i] / x[i] : y[i];

    ratio = here <= PETSC_MAX_REAL ? PetscMax(ratio, here) : HUGE_VAL;
    if (ratio > PETSC_MAX_REAL) break;
  }
  return ratio;
}

PetscErrorCode HJHostSystemAbsolute(const HJHost *h, PetscInt n, const HJSweep s[], PetscBool skew, PetscReal *ratio)
{
  HJSystemRows a;
  PetscInt     p[3];

  PetscFunctionBegin;
  PetscCall(HJSystemRowsCreate(h, skew, &a));
  *ratio = 0;
  for (const HJSweep *t = s; t < s + n; t++) {
    p[0] = t->write.lo[0];
    for (p[2] = t->write.lo[2]; p[2] < t->write.hi[2]; p[2]++) {
      for (p[1] = t->write.lo[1]; p[1] < t->write.hi[1]; p[1]++)
        *ratio = PetscMax(*ratio, HJSystemLine(&a, t, p, HJBoxWidth(&t->write, 0)));
    }
  }
  PetscCall(HJSystemRowsDestroy(&a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

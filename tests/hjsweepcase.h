/* SPDX-License-Identifier: BSD-2-Clause */
/*
   A rank's grid, fields on it and a backend; sweeps of it against a plain loop over the definition in hjcore.h. No Mat, no DM: one process
   plays a rank anywhere in a domain.
*/
#pragma once

#include "host/hjhost.h"
#include "core/hjmultigrid.h"
#include "hjdevices.h"

#define HJ_TEST_MAX_COUNT 20

#define HJ_TEST_LONGEST 40

#define HJ_TEST_POISON -777.25

#define HJ_TEST_SPARE 32

/* A GPU must take 3D tiles of so many points; larger ones it may refuse. The host takes all */
#define HJ_TEST_LARGE_TILE 8192

/*
   A rank's grid: owned points, and how many the domain has beyond them on each side (-1: no end, periodic). Dictionaries: 1 row, 2 (the
   other on the domain's boundary), 5 (at random), 6 (walls, see WallRow()), 9 (a frame, see FrameRow()), 10 or more (materials, see
   MaterialRow()), 0: 7, -1: 1 row
   whose coefficients are the same at -x and +x, and at -z and +z. Arrays: 9 (a frame, see FillFrame())
*/
typedef struct {
  HJStorage storage;
  HJShape   shape;
  PetscInt  dim, n[3], before[3], after[3];
  PetscInt  rows;
} HJCase;

/* Added to the rows of a case: weights of 1, and a first row with which a subiteration is the mean of the neighbours times a number; in 2D
   and 3D no row couples points but in x */
#define HJ_TEST_MEANS 100

#define HJ_TEST_LINES 200

/* An array over a box, on the host and for the backend; the latter is NULL where the test alone needs it */
typedef struct {
  HJBox        box;
  PetscScalar *host, *dev;
} HJField;

/* An array of the backend that no field uses */
typedef struct {
  PetscCount   n;
  PetscScalar *dev;
} HJSpare;

typedef struct {
  const HJBackendOps *ops;
  void               *ctx;
  HJGrid              grid;
  HJStencil           st;
  HJLimits            limits;
  PetscReal           w[HJ_TEST_LONGEST];
  unsigned long long  seed;
  HJSpare             spare[HJ_TEST_SPARE];
  int                 nspare;
} HJTester;

static inline PETSC_UNUSED PetscScalar Random(HJTester *t, PetscReal lo, PetscReal hi)
{
  t->seed = t->seed * 6364136223846793005ULL + 1442695040888963407ULL;
  return lo + (hi - lo) * (PetscReal)(t->seed >> 11) / 9007199254740992.0;
}

static inline PETSC_UNUSED PetscBool Inside(const HJBox *b, const PetscInt p[3])
{
  return (PetscBool)(p[0] >= b->lo[0] && p[0] < b->hi[0] && p[1] >= b->lo[1] && p[1] < b->hi[1] && p[2] >= b->lo[2] && p[2] < b->hi[2]);
}

/* The box grown by depth in the grid's directions, not cut */
static inline PETSC_UNUSED HJBox Grown(const HJTester *t, HJBox b, PetscInt lo, PetscInt hi)
{
  for (int d = 0; d < t->st.dim; d++) {
    b.lo[d] -= lo;
    b.hi[d] += hi;
  }
  return b;
}

static inline PETSC_UNUSED HJBox Cut(HJBox a, const HJBox *b)
{
  for (int d = 0; d < 3; d++) {
    a.lo[d] = PetscMax(a.lo[d], b->lo[d]);
    a.hi[d] = PetscMin(a.hi[d], b->hi[d]);
  }
  return a;
}

/* The point after p in an array over the box */
static inline PETSC_UNUSED void NextPoint(const HJBox *b, PetscInt p[3])
{
  for (int d = 0; d < 3; d++) {
    if (++p[d] < b->hi[d]) return;
    p[d] = b->lo[d];
  }
}

#define HJ_TEST_FIRST(b)                                                                                                                   \
  {                                                                                                                                        \
    (b)->lo[0], (b)->lo[1], (b)->lo[2]                                                                                                     \
  }

static inline PETSC_UNUSED void FillGrid(const HJCase *c, HJGrid *g)
{
  memset(g, 0, sizeof(*g));
  g->dim       = c->dim;
  g->min_width = PETSC_INT_MAX;
  for (int d = 0; d < 3; d++) {
    g->owned.hi[d] = c->n[d];
    g->N[d]        = c->n[d] + (c->before[d] > 0 ? c->before[d] : 0) + (c->after[d] > 0 ? c->after[d] : 0);
    g->periodic[d] = (PetscBool)(c->before[d] < 0 && c->after[d] < 0);
    for (int side = 0; side < 2; side++) g->neighbor[d][side] = (PetscBool)((side ? c->after : c->before)[d] != 0);
    g->domain.lo[d] = c->before[d] < 0 ? -HJ_ENDLESS : -c->before[d];
    g->domain.hi[d] = c->after[d] < 0 ? HJ_ENDLESS : c->n[d] + c->after[d];
    if (c->before[d] || c->after[d]) g->min_width = PetscMin(g->min_width, c->n[d]);
  }
}

/* Rows 1 to 5 on the domain's boundary, which change from wall to wall and along y */
static inline PETSC_UNUSED unsigned char WallRow(const HJTester *t, const PetscInt p[3])
{
  const HJBox    *domain = &t->grid.domain;
  const PetscBool low = (PetscBool)(p[0] == domain->lo[0]), high = (PetscBool)(p[0] == domain->hi[0] - 1);
  PetscBool       other = PETSC_FALSE;

  for (int d = 1; d < t->st.dim; d++) other = (PetscBool)(other || p[d] == domain->lo[d] || p[d] == domain->hi[d] - 1);
  if (other) return low || high ? 5 : 1;
  if (low) return p[1] >= 40 && p[1] < 80 ? 2 : p[1] == 101 ? 4 : 1;
  return high && (p[1] < 60 || p[1] >= 75) ? 3 : 0;
}

/* A row for each of first, inner and last line by first, inner and last column */
static inline PETSC_UNUSED unsigned char FrameRow(const HJTester *t, const PetscInt p[3])
{
  const HJBox *domain = &t->grid.domain;
  int          at[2];

  for (int d = 0; d < 2; d++) at[d] = p[d] == domain->lo[d] ? 0 : p[d] == domain->hi[d] - 1 ? 2 : 1;
  return (unsigned char)(3 * at[1] + at[0]);
}

static inline PETSC_UNUSED PetscBool OneOf(PetscInt i, PetscInt n, const PetscInt list[])
{
  for (PetscInt k = 0; k < n; k++)
    if (list[k] == i) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* Materials 0 to 2, which differ in the inverse diagonal alone, in blocks, and changing with each row or column. Other rows lie between
   blocks, one or two points wide, on the domain's boundary and beside it, and on points here and there */
static inline PETSC_UNUSED unsigned char MaterialRow(HJTester *t, const PetscInt p[3])
{
  const PetscInt column[] = {17, 46, 47, 130, 131, 203, 330, 417, 418, 419, 560, 640}, row[] = {5, 23, 70, 71, 150, 212, 213, 401, 555};
  const HJBox   *domain = &t->grid.domain;
  PetscInt       wall   = 2;

  for (int d = 0; d < t->st.dim; d++) wall = PetscMin(wall, PetscMax(0, PetscMin(p[d] - domain->lo[d], domain->hi[d] - 1 - p[d])));
  if (wall < 2) return (unsigned char)(3 + wall);
  if (Random(t, 0.0, 1.0) < 1e-4) return (unsigned char)(8 + PetscAbsInt(p[0] + 7 * p[1]) % (t->st.nrows - 8));
  if (p[1] % 90 < 60 && OneOf(p[0], PETSC_STATIC_ARRAY_LENGTH(column), column)) return (unsigned char)(5 + (p[0] & 1));
  if (p[0] % 300 < 200 && OneOf(p[1], PETSC_STATIC_ARRAY_LENGTH(row), row)) return 7;
  if (p[1] >= 250 && p[1] < 270) return (unsigned char)(p[1] % 3);
  if (p[1] >= 300 && p[1] < 330) return (unsigned char)(p[0] & 1);
  return (unsigned char)(((p[0] > 17) + (p[0] > 130) + (p[0] > 330) + (p[1] > 70) + (p[1] > 150)) % 3);
}

/* Rows 1 and 2 become the same as row 0 but for the inverse diagonal; row 2 is rounded otherwise */
static inline PETSC_UNUSED void MakeMaterials(HJStencil *st)
{
  const PetscInt nrow = st->nslots;

  for (PetscInt o = 0; o < nrow; o++) {
    st->rows[nrow + o]     = st->rows[o];
    st->rows[2 * nrow + o] = st->rows[o] * (o % 2 ? 1 + PETSC_MACHINE_EPSILON : 1);
  }
  st->dinv_rows[1] = 1e-2 * st->dinv_rows[0];
  st->dinv_rows[2] = 1.7 * st->dinv_rows[0];
}

/* The first neighbour that is at the same place as neighbour o, or would be if x or z, or both, had the other sign */
static inline PETSC_UNUSED PetscInt Mirrored(const HJStencil *st, PetscInt o)
{
  PetscInt off[3], other[3];

  HJShapeOffset(st->dim, st->shape, o, off);
  for (PetscInt m = 1; m < o; m++) {
    HJShapeOffset(st->dim, st->shape, m, other);
    if (PetscAbsInt(other[0]) == PetscAbsInt(off[0]) && other[1] == off[1] && PetscAbsInt(other[2]) == PetscAbsInt(off[2])) return m;
  }
  return o;
}

/*
   Rows, and which of them a point has. Most have that of the interior; those on the domain's boundary have the identity, but for one
   face; in a corner rows jump, and on a few points any row may be
*/
static inline PETSC_UNUSED PetscErrorCode FillDictionary(HJTester *t, PetscInt rows)
{
  HJStencil     *st   = &t->st;
  const PetscInt nrow = st->nslots;
  PetscInt       p[3] = HJ_TEST_FIRST(&st->box);

  PetscFunctionBegin;
  st->nrows = rows ? PetscAbsInt(rows) : 8;
  PetscCall(PetscCalloc3(st->nrows * nrow, &st->rows, st->nrows, &st->dinv_rows, HJBoxSize(&st->box), &st->index));
  for (PetscInt r = 0; r < st->nrows; r++) {
    st->rows[r * nrow] = r == 6 && rows != 9 ? 0.0 : 1.0;
    st->dinv_rows[r]   = r == 1 ? 1.0 : Random(t, 0.5, 1.0);
    for (PetscInt o = 1; o < nrow && r != 1; o++) {
      PetscInt off[3];

      HJShapeOffset(st->dim, st->shape, o, off);
      st->rows[r * nrow + o] = r == 7 && off[st->dim - 1] < 0 ? 0.0 : Random(t, -1.0, 0.2) / (r == 6 ? 10 * nrow : nrow);
      if (rows < 0) st->rows[r * nrow + o] = st->rows[r * nrow + Mirrored(st, o)];
    }
  }
  if (rows >= 10) MakeMaterials(st);
  for (PetscCount i = 0; i < HJBoxSize(&st->box) && st->nrows > 1; i++, NextPoint(&st->box, p)) {
    PetscInt edges = 0; /* directions in which the point is at the domain's end */

    for (int d = 0; d < st->dim; d++) edges += p[d] == t->grid.domain.lo[d] || p[d] == t->grid.domain.hi[d] - 1;
    if (rows >= 10) st->index[i] = MaterialRow(t, p);
    else if (rows == 6) st->index[i] = WallRow(t, p);
    else if (rows == 9) st->index[i] = FrameRow(t, p);
    else if (rows == 5) st->index[i] = (unsigned char)Random(t, 0.0, 4.999);
    else if (rows) st->index[i] = edges > 0;
    else if (edges) st->index[i] = edges == 1 && p[st->dim - 1] == t->grid.domain.lo[st->dim - 1] ? 7 : 1;
    else if (p[0] + p[1] + p[2] < 12) st->index[i] = (unsigned char)(2 + (p[0] > p[1]));
    else if (Random(t, 0.0, 1.0) < 0.02) st->index[i] = (unsigned char)(4 + ((p[0] + p[1]) & 1) + (p[2] & 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a point is at an end of the domain */
static inline PETSC_UNUSED PetscBool AtEnd(const HJTester *t, const PetscInt p[3])
{
  for (int d = 0; d < t->st.dim; d++)
    if (p[d] == t->grid.domain.lo[d] || p[d] == t->grid.domain.hi[d] - 1) return PETSC_TRUE;
  return PETSC_FALSE;
}

static inline PETSC_UNUSED PetscErrorCode FillArrays(HJTester *t)
{
  HJStencil       *st = &t->st;
  const PetscCount n  = HJBoxSize(&st->box);

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &st->dinv));
  for (PetscCount i = 0; i < n; i++) st->dinv[i] = Random(t, 0.5, 1.0);
  for (PetscInt o = 1; o < st->nslots; o++) {
    if (!HJStencilHas(st, o)) continue;
    PetscInt p[3] = HJ_TEST_FIRST(&st->box), q[3], off[3];

    PetscCall(PetscMalloc1(n, &st->value[o]));
    HJShapeOffset(st->dim, st->shape, o, off);
    for (PetscCount i = 0; i < n; i++, NextPoint(&st->box, p)) {
      for (int d = 0; d < 3; d++) q[d] = p[d] + off[d];
      st->value[o][i] = Inside(&t->grid.domain, p) && Inside(&t->grid.domain, q) ? Random(t, -1.0, 0.2) / st->nslots : 0.0;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays that are symmetric, but that points at the domain's ends have no neighbours, and are those of the points beside them */
static inline PETSC_UNUSED void FillFrame(HJTester *t)
{
  HJStencil *st   = &t->st;
  PetscInt   p[3] = HJ_TEST_FIRST(&st->box), q[3], off[3];

  for (PetscCount i = 0; i < HJBoxSize(&st->box); i++, NextPoint(&st->box, p)) {
    for (PetscInt o = 1; o < st->nslots; o++) {
      const PetscInt opposite = HJShapeOpposite(st->dim, st->shape, o);

      HJShapeOffset(st->dim, st->shape, o, off);
      for (int d = 0; d < 3; d++) q[d] = p[d] + off[d];
      if (AtEnd(t, p)) st->value[o][i] = 0.0;
      else if (o < opposite && Inside(&st->box, q) && !AtEnd(t, q))
        st->value[o][i] = st->value[opposite][HJBoxIndex(&st->box, q[0], q[1], q[2])];
    }
  }
}

/* Coefficients beside a period of one rank are those of the points that they are images of, which a backend may read in their place */
static inline PETSC_UNUSED void FillImages(HJTester *t)
{
  HJStencil *st   = &t->st;
  PetscInt   p[3] = HJ_TEST_FIRST(&st->box);

  for (PetscCount i = 0; i < HJBoxSize(&st->box); i++, NextPoint(&st->box, p)) {
    PetscInt   q[3];
    PetscCount from;

    for (int d = 0; d < 3; d++) q[d] = t->grid.periodic[d] ? (p[d] % t->grid.N[d] + t->grid.N[d]) % t->grid.N[d] : p[d];
    from = HJBoxIndex(&st->box, q[0], q[1], q[2]);
    if (st->index) st->index[i] = st->index[from];
    if (st->dinv) st->dinv[i] = st->dinv[from];
    for (PetscInt o = 1; o < st->nslots; o++)
      if (st->value[o]) st->value[o][i] = st->value[o][from];
  }
}

static inline PETSC_UNUSED PetscErrorCode Create(const HJBackendOps *ops, const HJCase *c, PetscInt pad, HJTester *t)
{
  PetscFunctionBegin;
  memset(t, 0, sizeof(*t));
  t->ops  = ops;
  t->seed = 1;
  FillGrid(c, &t->grid);
  t->st.dim     = c->dim;
  t->st.dof     = 1;
  t->grid.dof   = 1;
  t->st.shape   = c->shape;
  t->st.storage = c->storage;
  t->st.nslots  = HJShapeSlots(c->dim, c->shape);
  t->st.mtype   = PETSC_MEMTYPE_HOST;
  t->st.box     = HJGridPadded(&t->grid, pad);
  if (c->storage == HJ_SYMMETRIC) t->st.box = Grown(t, t->st.box, 1, c->shape == HJ_BOX);
  if (c->storage == HJ_DICTIONARY) PetscCall(FillDictionary(t, c->rows % HJ_TEST_MEANS));
  else PetscCall(FillArrays(t));
  if (c->storage == HJ_VARIABLE && c->rows == 9) FillFrame(t);
  FillImages(t);
  for (PetscInt o = 1; o < t->st.nslots && c->rows % HJ_TEST_LINES >= HJ_TEST_MEANS; o++)
    t->st.rows[o] = -0.97 / (PetscReal)(t->st.nslots - 1);
  for (PetscInt r = 0; r < t->st.nrows && c->rows >= HJ_TEST_LINES; r++)
    for (PetscInt o = 3; o < t->st.nslots; o++) t->st.rows[r * t->st.nslots + o] = 0.0;
  for (PetscInt j = 0; j < HJ_TEST_LONGEST; j++) t->w[j] = c->rows % HJ_TEST_LINES >= HJ_TEST_MEANS ? 1.0 : Random(t, 0.3, 1.0);
  PetscCall(ops->create(&t->grid, &t->st, &t->ctx));
  PetscCall(ops->limits(t->ctx, &t->limits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode Destroy(HJTester *t)
{
  PetscFunctionBegin;
  for (int i = 0; i < t->nspare; i++) PetscCall(t->ops->free(t->ctx, &t->spare[i].dev));
  PetscCall(t->ops->destroy(&t->ctx));
  PetscCall(PetscFree3(t->st.rows, t->st.dinv_rows, t->st.index));
  for (PetscInt o = 1; o < t->st.nslots; o++) PetscCall(PetscFree(t->st.value[o]));
  PetscCall(PetscFree(t->st.dinv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An array of the backend, one that was given back where the length is the same: allocation takes long on a GPU that others use */
static inline PETSC_UNUSED PetscErrorCode GetArray(HJTester *t, PetscCount n, PetscScalar **dev)
{
  PetscFunctionBegin;
  for (int i = 0; i < t->nspare; i++) {
    if (t->spare[i].n != n) continue;
    *dev        = t->spare[i].dev;
    t->spare[i] = t->spare[--t->nspare];
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(t->ops->alloc(t->ctx, n, dev));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keeps the arrays that were given back last */
static inline PETSC_UNUSED PetscErrorCode GiveArray(HJTester *t, PetscCount n, PetscScalar *dev)
{
  PetscFunctionBegin;
  if (t->nspare == HJ_TEST_SPARE) {
    PetscCall(t->ops->free(t->ctx, &t->spare[0].dev));
    t->nspare--;
    for (int i = 0; i < t->nspare; i++) t->spare[i] = t->spare[i + 1];
  }
  t->spare[t->nspare++] = (HJSpare){n, dev};
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random values on the points of valid, 0 outside the domain, NaN on others: a backend may read them, but never use them */
static inline PETSC_UNUSED PetscErrorCode FieldCreate(HJTester *t, const HJBox *box, const HJBox *valid, HJField *f)
{
  PetscInt p[3] = HJ_TEST_FIRST(box);

  PetscFunctionBegin;
  f->box = *box;
  PetscCall(PetscMalloc1(HJBoxSize(box), &f->host));
  PetscCall(GetArray(t, HJBoxSize(box), &f->dev));
  for (PetscCount i = 0; i < HJBoxSize(box); i++, NextPoint(box, p))
    f->host[i] = !Inside(&t->grid.domain, p) ? 0.0 : Inside(valid, p) ? Random(t, -1.0, 1.0) : NAN;
  PetscCall(t->ops->copy(t->ctx, f->dev, f->host, HJBoxSize(box)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The part of another field on box, NaN on other points of the domain */
static inline PETSC_UNUSED PetscErrorCode FieldCreateFrom(HJTester *t, const HJField *from, const HJBox *box, PetscBool device, HJField *f)
{
  PetscInt p[3] = HJ_TEST_FIRST(box);

  PetscFunctionBegin;
  f->box = *box;
  f->dev = NULL;
  PetscCall(PetscMalloc1(HJBoxSize(box), &f->host));
  for (PetscCount i = 0; i < HJBoxSize(box); i++, NextPoint(box, p))
    f->host[i] = Inside(&from->box, p) ? from->host[HJBoxIndex(&from->box, p[0], p[1], p[2])] : Inside(&t->grid.domain, p) ? NAN : 0.0;
  if (device) {
    PetscCall(GetArray(t, HJBoxSize(box), &f->dev));
    PetscCall(t->ops->copy(t->ctx, f->dev, f->host, HJBoxSize(box)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode Poison(HJTester *t, HJField *f)
{
  PetscFunctionBegin;
  for (PetscCount i = 0; i < HJBoxSize(&f->box); i++) f->host[i] = HJ_TEST_POISON;
  if (f->dev) PetscCall(t->ops->copy(t->ctx, f->dev, f->host, HJBoxSize(&f->box)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points that no sweep has written */
static inline PETSC_UNUSED PetscErrorCode FieldCreatePoisoned(HJTester *t, const HJBox *box, PetscBool device, HJField *f)
{
  PetscFunctionBegin;
  f->box = *box;
  f->dev = NULL;
  PetscCall(PetscMalloc1(HJBoxSize(box), &f->host));
  if (device) PetscCall(GetArray(t, HJBoxSize(box), &f->dev));
  PetscCall(Poison(t, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode FieldDestroy(HJTester *t, HJField *f)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(f->host));
  if (f->dev) PetscCall(GiveArray(t, HJBoxSize(&f->box), f->dev));
  f->dev = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where neighbour o of a point at place at of the field, and at place c of the coefficients, and its coefficient lie */
typedef struct {
  PetscInt           off[3];
  PetscCount         x;     /* from at on */
  PetscCount         c;     /* from c on, but for a dictionary */
  const PetscScalar *value; /* its array; of a dictionary, its place in the first row */
} HJNeighbor;

static inline PETSC_UNUSED void FillNeighbors(const HJTester *t, const HJBox *fbox, HJNeighbor list[HJ_MAX_NEIGHBORS])
{
  const HJStencil *st = &t->st;

  for (PetscInt o = 1; o < st->nslots; o++) {
    HJNeighbor     *n   = &list[o - 1];
    const PetscBool own = HJStencilHas(st, o); /* else the coefficient is the neighbour's */

    HJShapeOffset(st->dim, st->shape, o, n->off);
    n->x     = n->off[0] + HJBoxWidth(fbox, 0) * (n->off[1] + (PetscCount)HJBoxWidth(fbox, 1) * n->off[2]);
    n->c     = own ? 0 : n->off[0] + HJBoxWidth(&st->box, 0) * (n->off[1] + (PetscCount)HJBoxWidth(&st->box, 1) * n->off[2]);
    n->value = st->storage == HJ_DICTIONARY ? st->rows + o : st->value[own ? o : HJShapeOpposite(st->dim, st->shape, o)];
  }
}

/* One subiteration at one point; from is over fbox, values not in known are 0; known is NULL where those of all neighbours are */
static inline PETSC_UNUSED PetscScalar Update(const HJTester *t, PetscReal w, const PetscInt p[3], const HJNeighbor list[],
                                              const HJBox *known, const HJBox *fbox, const PetscScalar *from, PetscScalar b)
{
  const HJStencil *st   = &t->st;
  const PetscBool  rows = (PetscBool)(st->storage == HJ_DICTIONARY);
  const PetscCount at = HJBoxIndex(fbox, p[0], p[1], p[2]), c = HJBoxIndex(&st->box, p[0], p[1], p[2]);
  const PetscCount first = rows ? st->nslots * st->index[c] : 0;
  PetscScalar      sum   = 0.0;

  for (PetscInt o = 1; o < st->nslots; o++) {
    const HJNeighbor *n    = &list[o - 1];
    const PetscInt    q[3] = {p[0] + n->off[0], p[1] + n->off[1], p[2] + n->off[2]};

    if (!known || Inside(known, q)) sum += n->value[rows ? first : c + n->c] * from[at + n->x];
  }
  if (rows) return from[at] + w * (st->dinv_rows[st->index[c]] * b - st->rows[first] * from[at] - sum);
  return from[at] + w * (st->dinv[c] * (b - sum) - from[at]);
}

/* Subiteration j on the points of box, from one array over fbox to another */
static inline PETSC_UNUSED void NaiveStep(const HJTester *t, const HJSweep *s, PetscInt j, const HJBox *box, const HJField *b,
                                          const HJBox *fbox, const PetscScalar *from, PetscScalar *to)
{
  const HJBox known = Cut(*fbox, &t->grid.domain), inner = Grown(t, known, -1, -1);
  PetscInt    p[3] = HJ_TEST_FIRST(box);
  HJNeighbor  list[HJ_MAX_NEIGHBORS];

  FillNeighbors(t, fbox, list);
  for (PetscCount i = 0; i < HJBoxSize(box); i++, NextPoint(box, p)) {
    const PetscScalar here = b->host[HJBoxIndex(&b->box, p[0], p[1], p[2])];

    to[HJBoxIndex(fbox, p[0], p[1], p[2])] = Update(t, s->w[j], p, list, Inside(&inner, p) ? NULL : &known, fbox, from, here);
  }
}

/* count subiterations on tile, with what x holds around it in the grown box (exact: on fewer points each time); own receives the results */
static inline PETSC_UNUSED PetscErrorCode Naive(const HJTester *t, const HJSweep *s, const HJBox *tile, const HJBox *own, PetscBool shrink,
                                                const HJField *x, const HJField *b, HJField *y)
{
  const HJBox  fbox = Grown(t, *tile, shrink ? s->count + 1 : 1, shrink ? s->count + 1 : 1);
  PetscInt     p[3] = HJ_TEST_FIRST(&fbox), q[3] = HJ_TEST_FIRST(own);
  PetscScalar *from, *to;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(HJBoxSize(&fbox), &from, HJBoxSize(&fbox), &to));
  for (PetscCount i = 0; i < HJBoxSize(&fbox); i++, NextPoint(&fbox, p)) {
    if (x && Inside(&x->box, p) && Inside(&t->grid.domain, p)) from[i] = x->host[HJBoxIndex(&x->box, p[0], p[1], p[2])];
    to[i] = from[i];
  }
  for (PetscInt j = 0; j < s->count; j++) {
    HJBox        now  = shrink ? Cut(Grown(t, *tile, s->count - 1 - j, s->count - 1 - j), &t->grid.domain) : *tile;
    PetscScalar *swap = from;

    NaiveStep(t, s, j, &now, b, &fbox, from, to);
    from = to;
    to   = swap;
  }
  for (PetscCount i = 0; i < HJBoxSize(own); i++, NextPoint(own, q))
    y->host[HJBoxIndex(&y->box, q[0], q[1], q[2])] = from[HJBoxIndex(&fbox, q[0], q[1], q[2])];
  /* from and to may have changed places: the first of the pair is the lower address that PetscCalloc2() gave */
  if (s->count % 2) PetscCall(PetscFree2(to, from));
  else PetscCall(PetscFree2(from, to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode NaiveStale(const HJTester *t, const HJSweep *s, const HJField *x, const HJField *b, HJField *y)
{
  PetscInt n[3] = {1, 1, 1};

  PetscFunctionBegin;
  for (int d = 0; d < t->st.dim; d++) n[d] = HJTileCount(HJBoxWidth(&s->cover, d), s->tile[d], s->overlap);
  for (PetscInt i = 0; i < n[0] * n[1] * n[2]; i++) {
    const PetscInt at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
    HJBox          tile = s->write, own = s->write;

    for (int d = 0; d < t->st.dim; d++) HJTileRange(s, d, at[d], &tile.lo[d], &tile.hi[d], &own.lo[d], &own.hi[d]);
    PetscCall(Naive(t, s, &tile, &own, PETSC_FALSE, x, b, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest error over what two subsequent roundings allow; infinite if a point that must stay was written */
static inline PETSC_UNUSED PetscErrorCode Compare(const HJTester *t, PetscInt count, const HJField *want, HJField *got, PetscReal *worst)
{
  PetscReal scale = 1.0, tol;

  PetscFunctionBegin;
  for (PetscCount i = 0; i < HJBoxSize(&want->box); i++) {
    if (want->host[i] != HJ_TEST_POISON) scale = PetscMax(scale, PetscAbsScalar(want->host[i]));
  }
  /* each subiteration rounds nslots + 3 terms, in two ways; rows amplify earlier errors by little more than 1 */
  tol = 2.0 * PETSC_MACHINE_EPSILON * count * (t->st.nslots + 3) * scale;
  PetscCall(t->ops->copy(t->ctx, got->host, got->dev, HJBoxSize(&got->box)));
  for (PetscCount i = 0; i < HJBoxSize(&want->box); i++) {
    const PetscReal err = PetscAbsScalar(want->host[i] - got->host[i]) / tol;

    if (want->host[i] == HJ_TEST_POISON && got->host[i] != HJ_TEST_POISON) *worst = PETSC_INFINITY;
    if (!(err <= *worst)) *worst = PetscIsNanReal(err) ? PETSC_INFINITY : err;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One sweep, which is to make want in y; gives both back */
static inline PETSC_UNUSED PetscErrorCode CheckSweep(HJTester *t, const HJSweep *s, HJField *want, HJField *y, PetscReal *worst)
{
  PetscFunctionBegin;
  PetscCall(t->ops->sweep(t->ctx, 1, s));
  PetscCall(Compare(t, s->count, want, y, worst));
  PetscCall(FieldDestroy(t, y));
  PetscCall(FieldDestroy(t, want));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode CheckStale(HJTester *t, PetscInt count, const PetscInt tile[3], PetscInt overlap, PetscBool zero,
                                                     PetscReal *worst)
{
  const HJBox owned = t->grid.owned, need = HJGridPadded(&t->grid, overlap / 2 + 1);
  HJBox       cover = owned;
  HJField     x, b, y, want;
  HJSweep     s = {.write = owned, .box = need, .ybox = owned, .count = count, .w = t->w, .overlap = overlap};

  PetscFunctionBegin;
  for (int d = 0; d < t->st.dim; d++) {
    if (t->grid.neighbor[d][0]) cover.lo[d] -= HJTileOverlap(tile[d], overlap) / 2;
    if (t->grid.neighbor[d][1]) cover.hi[d] += HJTileOverlap(tile[d], overlap) / 2;
  }
  s.cover = cover;
  PetscCall(FieldCreate(t, &need, &need, &x));
  PetscCall(FieldCreate(t, &need, &cover, &b));
  PetscCall(FieldCreatePoisoned(t, &owned, PETSC_TRUE, &y));
  PetscCall(FieldCreatePoisoned(t, &owned, PETSC_FALSE, &want));
  for (int d = 0; d < 3; d++) s.tile[d] = tile[d];
  s.x = zero ? NULL : x.dev;
  s.b = b.dev;
  s.y = y.dev;
  PetscCall(NaiveStale(t, &s, zero ? NULL : &x, &b, &want));
  PetscCall(CheckSweep(t, &s, &want, &y, worst));
  PetscCall(FieldDestroy(t, &x));
  PetscCall(FieldDestroy(t, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED const char *const StorageNames[] = {"dictionary", "variable", "symmetric"};

/* Whether -dim, -storage and -max_count leave this case in the test: compute-sanitizer takes minutes for all of them */
static PETSC_UNUSED PetscInt only_dim = 0, only_storage = -1, max_count = HJ_TEST_MAX_COUNT;

/* Starts a test of sweeps: its options, and the backend that -backend names; NULL: it needs a GPU that is not there, and is skipped */
static inline PETSC_UNUSED PetscErrorCode SweepBegin(int *argc, char ***argv, const HJBackendOps **ops)
{
  char      backend[16] = "host";
  PetscBool available   = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscInitialize(argc, argv, NULL, NULL));
  *ops = &HJBackendHost;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &only_dim, NULL));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-storage", StorageNames, 3, &only_storage, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-max_count", &max_count, NULL));
  PetscCall(HJTestSetLimits());
  if (strcmp(backend, "cuda")) PetscFunctionReturn(PETSC_SUCCESS);
  *ops = NULL;
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(HJCUDAAvailable(&available));
  if (available) *ops = &HJBackendCUDA;
#endif
  if (!available) PetscCall(HJTestSkip("no GPU"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscBool Wanted(const HJCase *c)
{
  return (PetscBool)((!only_dim || c->dim == only_dim) && (only_storage < 0 || (PetscInt)c->storage == only_storage));
}

static inline PETSC_UNUSED PetscErrorCode TestStale(const HJBackendOps *ops, const HJCase *c, const PetscInt tile[3], PetscInt overlap)
{
  const PetscInt counts[] = {1, 2, 5, 16};
  HJTester       t;
  PetscReal      worst = 0.0;
  char           reason[256];
  PetscBool      refused, large = PETSC_FALSE;
  size_t         bytes;

  PetscFunctionBegin;
  if (!Wanted(c)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJTestGetSharedMemory(&bytes));
  PetscCall(Create(ops, c, overlap / 2 + 1, &t));
  PetscCall(ops->check_tile(t.ctx, tile, reason, sizeof(reason)));
  refused = (PetscBool)(reason[0] != 0);
  if (PetscMemTypeDevice(ops->mtype)) /* two copies of a tile and its ring */
    large = (PetscBool)(c->dim == 3 ? tile[0] * tile[1] * tile[2] > HJ_TEST_LARGE_TILE
                                    : c->dim == 2 && 2 * sizeof(PetscScalar) * (size_t)((tile[0] + 2) * (tile[1] + 2)) > bytes);
  for (int i = 0; i < 4 && counts[i] <= max_count && !reason[0]; i++) {
    PetscCall(CheckStale(&t, counts[i], tile, overlap, PETSC_FALSE, &worst));
    PetscCall(CheckStale(&t, counts[i], tile, overlap, PETSC_TRUE, &worst));
  }
  if (worst > 1.0) PetscCall(HJTestNote("error / tolerance %g", (double)worst));
  if (refused) PetscCall(HJTestNote("refused: %s", reason));
  PetscCall(HJTestOK((PetscBool)(refused ? large : worst <= 1.0),
                     "%s stale %" PetscInt_FMT "D %s %s, %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT ", tile %" PetscInt_FMT
                     " x %" PetscInt_FMT " x %" PetscInt_FMT ", overlap %" PetscInt_FMT,
                     ops->name, c->dim, c->shape == HJ_BOX ? "box" : "star",
                     c->rows % HJ_TEST_LINES >= HJ_TEST_MEANS ? "means" : StorageNames[c->storage], c->n[0], c->n[1], c->n[2], tile[0],
                     tile[1], tile[2], overlap));
  PetscCall(Destroy(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

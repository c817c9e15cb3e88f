/*
   A backend's sweep() against a plain loop over the definition in hjcore.h. No Mat, no DM: one process plays a rank anywhere in a domain.
   Run with -backend host (default) or cuda; -limits NAME plays a GPU of hjdevices.h; -periodic leaves out all but periodic grids,
   -tiles all but stale tiles that a GPU holds in registers.
   long: 1, once: 1
*/
#include "host/hjhost.h"
#include "core/hjmultigrid.h"
#include "hjdevices.h"

#define HJ_TEST_MAX_COUNT 20
#define HJ_TEST_LONGEST   40
#define HJ_TEST_POISON    -777.25
#define HJ_TEST_SPARE     32
/* A GPU must take 3D tiles of so many points; larger ones it may refuse. The host takes all */
#define HJ_TEST_LARGE_TILE 8192

/*
   A rank's grid: owned points, and how many the domain has beyond them on each side (-1: no end, periodic). Dictionaries: 1 row, 2 (the
   other on the domain's boundary), 5 (at random), 6 (walls, see WallRow()), 9 (a frame, see FrameRow()), 10 or more (materials, see
   MaterialRow()), 0: 7, -1: 1 row
   whose coefficients are the same at -x and +x, and at -z and +z
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

static PetscScalar Random(HJTester *t, PetscReal lo, PetscReal hi)
{
  t->seed = t->seed * 6364136223846793005ULL + 1442695040888963407ULL;
  return lo + (hi - lo) * (PetscReal)(t->seed >> 11) / 9007199254740992.0;
}

static PetscBool Inside(const HJBox *b, const PetscInt p[3])
{
  return (PetscBool)(p[0] >= b->lo[0] && p[0] < b->hi[0] && p[1] >= b->lo[1] && p[1] < b->hi[1] && p[2] >= b->lo[2] && p[2] < b->hi[2]);
}

/* The box grown by depth in the grid's directions, not cut */
static HJBox Grown(const HJTester *t, HJBox b, PetscInt lo, PetscInt hi)
{
  for (int d = 0; d < t->st.dim; d++) {
    b.lo[d] -= lo;
    b.hi[d] += hi;
  }
  return b;
}

static HJBox Cut(HJBox a, const HJBox *b)
{
  for (int d = 0; d < 3; d++) {
    a.lo[d] = PetscMax(a.lo[d], b->lo[d]);
    a.hi[d] = PetscMin(a.hi[d], b->hi[d]);
  }
  return a;
}

/* The point after p in an array over the box */
static void NextPoint(const HJBox *b, PetscInt p[3])
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

static void FillGrid(const HJCase *c, HJGrid *g)
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
static unsigned char WallRow(const HJTester *t, const PetscInt p[3])
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
static unsigned char FrameRow(const HJTester *t, const PetscInt p[3])
{
  const HJBox *domain = &t->grid.domain;
  int          at[2];

  for (int d = 0; d < 2; d++) at[d] = p[d] == domain->lo[d] ? 0 : p[d] == domain->hi[d] - 1 ? 2 : 1;
  return (unsigned char)(3 * at[1] + at[0]);
}

static PetscBool OneOf(PetscInt i, PetscInt n, const PetscInt list[])
{
  for (PetscInt k = 0; k < n; k++)
    if (list[k] == i) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* Materials 0 to 2, which differ in the inverse diagonal alone, in blocks, and changing with each row or column. Other rows lie between
   blocks, one or two points wide, on the domain's boundary and beside it, and on points here and there */
static unsigned char MaterialRow(HJTester *t, const PetscInt p[3])
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
static void MakeMaterials(HJStencil *st)
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
static PetscInt Mirrored(const HJStencil *st, PetscInt o)
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
static PetscErrorCode FillDictionary(HJTester *t, PetscInt rows)
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

static PetscErrorCode FillArrays(HJTester *t)
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

static PetscErrorCode Create(const HJBackendOps *ops, const HJCase *c, PetscInt pad, HJTester *t)
{
  PetscFunctionBegin;
  memset(t, 0, sizeof(*t));
  t->ops  = ops;
  t->seed = 1;
  FillGrid(c, &t->grid);
  t->st.dim     = c->dim;
  t->st.shape   = c->shape;
  t->st.storage = c->storage;
  t->st.nslots  = HJShapeSlots(c->dim, c->shape);
  t->st.mtype   = PETSC_MEMTYPE_HOST;
  t->st.box     = HJGridPadded(&t->grid, pad);
  if (c->storage == HJ_SYMMETRIC) t->st.box = Grown(t, t->st.box, 1, c->shape == HJ_BOX);
  if (c->storage == HJ_DICTIONARY) PetscCall(FillDictionary(t, c->rows % HJ_TEST_MEANS));
  else PetscCall(FillArrays(t));
  for (PetscInt o = 1; o < t->st.nslots && c->rows % HJ_TEST_LINES >= HJ_TEST_MEANS; o++)
    t->st.rows[o] = -0.97 / (PetscReal)(t->st.nslots - 1);
  for (PetscInt r = 0; r < t->st.nrows && c->rows >= HJ_TEST_LINES; r++)
    for (PetscInt o = 3; o < t->st.nslots; o++) t->st.rows[r * t->st.nslots + o] = 0.0;
  for (PetscInt j = 0; j < HJ_TEST_LONGEST; j++) t->w[j] = c->rows % HJ_TEST_LINES >= HJ_TEST_MEANS ? 1.0 : Random(t, 0.3, 1.0);
  PetscCall(ops->create(&t->grid, &t->st, &t->ctx));
  PetscCall(ops->limits(t->ctx, &t->limits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(HJTester *t)
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
static PetscErrorCode GetArray(HJTester *t, PetscCount n, PetscScalar **dev)
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
static PetscErrorCode GiveArray(HJTester *t, PetscCount n, PetscScalar *dev)
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
static PetscErrorCode FieldCreate(HJTester *t, const HJBox *box, const HJBox *valid, HJField *f)
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
static PetscErrorCode FieldCreateFrom(HJTester *t, const HJField *from, const HJBox *box, PetscBool device, HJField *f)
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

static PetscErrorCode Poison(HJTester *t, HJField *f)
{
  PetscFunctionBegin;
  for (PetscCount i = 0; i < HJBoxSize(&f->box); i++) f->host[i] = HJ_TEST_POISON;
  if (f->dev) PetscCall(t->ops->copy(t->ctx, f->dev, f->host, HJBoxSize(&f->box)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points that no sweep has written */
static PetscErrorCode FieldCreatePoisoned(HJTester *t, const HJBox *box, PetscBool device, HJField *f)
{
  PetscFunctionBegin;
  f->box = *box;
  f->dev = NULL;
  PetscCall(PetscMalloc1(HJBoxSize(box), &f->host));
  if (device) PetscCall(GetArray(t, HJBoxSize(box), &f->dev));
  PetscCall(Poison(t, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FieldDestroy(HJTester *t, HJField *f)
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

static void FillNeighbors(const HJTester *t, const HJBox *fbox, HJNeighbor list[HJ_MAX_NEIGHBORS])
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
static PetscScalar Update(const HJTester *t, PetscReal w, const PetscInt p[3], const HJNeighbor list[], const HJBox *known,
                          const HJBox *fbox, const PetscScalar *from, PetscScalar b)
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
static void NaiveStep(const HJTester *t, const HJSweep *s, PetscInt j, const HJBox *box, const HJField *b, const HJBox *fbox,
                      const PetscScalar *from, PetscScalar *to)
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
static PetscErrorCode Naive(const HJTester *t, const HJSweep *s, const HJBox *tile, const HJBox *own, PetscBool shrink, const HJField *x,
                            const HJField *b, HJField *y)
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

static PetscErrorCode NaiveStale(const HJTester *t, const HJSweep *s, const HJField *x, const HJField *b, HJField *y)
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
static PetscErrorCode Compare(const HJTester *t, PetscInt count, const HJField *want, HJField *got, PetscReal *worst)
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

/* Parts of x and b: the ghost planes below, the home, the ghost planes above; s reads them, x where it is not NULL there */
static PetscErrorCode PartsCreate(HJTester *t, const HJBox box[3], const HJField *x, const HJField *b, HJField fx[3], HJField fb[3],
                                  HJSweep *s)
{
  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) {
    PetscCall(FieldCreateFrom(t, x, &box[i], PETSC_TRUE, &fx[i]));
    PetscCall(FieldCreateFrom(t, b, &box[i], PETSC_TRUE, &fb[i]));
  }
  s->ghosts = PETSC_TRUE;
  s->b      = fb[1].dev;
  if (s->x) s->x = fx[1].dev;
  for (int side = 0; side < 2; side++) {
    s->xghost[side] = s->x ? fx[2 * side].dev : NULL;
    s->bghost[side] = fb[2 * side].dev;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PartsDestroy(HJTester *t, HJField fx[3], HJField fb[3])
{
  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) {
    PetscCall(FieldDestroy(t, &fx[i]));
    PetscCall(FieldDestroy(t, &fb[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The owned points in one sweep; x and b hold the planes of ybox, those below and above lie apart; the outer planes of y are copied */
static PetscErrorCode CheckGhosts(HJTester *t, const HJSweep *whole, const HJField *x, const HJField *b, const HJField *want, HJField *y,
                                  PetscReal *worst)
{
  const PetscInt d = t->st.dim - 1;
  HJSweep        s = *whole;
  HJField        fx[3], fb[3], copy[2], want_copy[2];
  HJBox          box[3] = {s.box, s.box, s.box};

  PetscFunctionBegin;
  if (!t->limits.ghosts) PetscFunctionReturn(PETSC_SUCCESS);
  box[0].hi[d] = box[1].lo[d] = PetscMax(s.box.lo[d], s.ybox.lo[d]);
  box[2].lo[d] = box[1].hi[d] = PetscMin(s.box.hi[d], s.ybox.hi[d]);
  PetscCall(PartsCreate(t, box, x, b, fx, fb, &s));
  s.ncopies = PetscMin(s.count, HJBoxWidth(&s.write, d));
  for (int side = 0; side < 2 && t->limits.copies; side++) {
    HJBox planes = s.ybox;

    planes.lo[d] = side ? s.write.hi[d] - s.ncopies : s.write.lo[d];
    planes.hi[d] = planes.lo[d] + s.ncopies;
    PetscCall(FieldCreateFrom(t, want, &planes, PETSC_FALSE, &want_copy[side]));
    PetscCall(FieldCreatePoisoned(t, &planes, PETSC_TRUE, &copy[side]));
    s.copy[side] = copy[side].dev;
  }
  PetscCall(Poison(t, y));
  PetscCall(t->ops->sweep(t->ctx, 1, &s));
  PetscCall(Compare(t, s.count, want, y, worst));
  for (int side = 0; side < 2 && t->limits.copies; side++) {
    PetscCall(Compare(t, s.count, &want_copy[side], &copy[side], worst));
    PetscCall(FieldDestroy(t, &want_copy[side]));
    PetscCall(FieldDestroy(t, &copy[side]));
  }
  PetscCall(PartsDestroy(t, fx, fb));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The owned points in one sweep that writes to x itself, whose ghost planes lie apart */
static PetscErrorCode CheckGhostsInPlace(HJTester *t, PetscInt count, const HJField *x, const HJField *b, const HJField *want,
                                         PetscReal *worst)
{
  const PetscInt d      = t->st.dim - 1;
  HJSweep        s      = {.write = t->grid.owned, .ybox = t->grid.owned, .count = count, .w = t->w, .overlap = -1, .x = x->dev};
  HJBox          box[3] = {t->grid.owned, t->grid.owned, t->grid.owned};
  HJField        fx[3], fb[3], owned;

  PetscFunctionBegin;
  if (!t->limits.ghosts || count > t->limits.in_place) PetscFunctionReturn(PETSC_SUCCESS);
  for (int side = 0; side < 2; side++) {
    box[2 * side].lo[d] = side ? s.ybox.hi[d] : s.ybox.lo[d] - (t->grid.neighbor[d][0] ? count : 0);
    box[2 * side].hi[d] = side ? s.ybox.hi[d] + (t->grid.neighbor[d][1] ? count : 0) : s.ybox.lo[d];
  }
  s.box       = t->grid.owned;
  s.box.lo[d] = box[0].lo[d];
  s.box.hi[d] = box[2].hi[d];
  PetscCall(PartsCreate(t, box, x, b, fx, fb, &s));
  PetscCall(FieldCreateFrom(t, want, &s.write, PETSC_FALSE, &owned));
  s.y = fx[1].dev;
  PetscCall(t->ops->sweep(t->ctx, 1, &s));
  PetscCall(Compare(t, count, &owned, &fx[1], worst));
  PetscCall(PartsDestroy(t, fx, fb));
  PetscCall(FieldDestroy(t, &owned));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether other ranks lie along the slowest direction alone */
static PetscBool IsCutIntoLines(const HJTester *t)
{
  PetscBool is = (PetscBool)(t->grid.min_width < PETSC_INT_MAX);

  for (int d = 0; d < t->st.dim - 1; d++) is = (PetscBool)(is && !t->grid.neighbor[d][0] && !t->grid.neighbor[d][1]);
  return is;
}

/* The owned points in one sweep, then with ghost arrays, then cut into three regions with arrays of their own */
static PetscErrorCode CheckExact(HJTester *t, PetscInt count, PetscBool zero, PetscReal *worst)
{
  const HJBox owned = t->grid.owned, need = Grown(t, owned, zero ? count - 1 : count, zero ? count - 1 : count),
              box  = Cut(Grown(t, owned, count + 1, count + 2), &t->grid.domain);
  const HJBox ybox = Grown(t, owned, 1, 2);
  HJField     x, b, y, want, fx[3], fb[3];
  HJSweep     s[3];
  PetscInt    cut[4] = {0, PetscMin(t->limits.slab[0], owned.hi[0] / 3), owned.hi[0] - owned.hi[0] / 4, owned.hi[0]};

  PetscFunctionBegin;
  cut[2] = PetscMax(cut[1], cut[2]);
  PetscCall(FieldCreate(t, &box, &need, &x));
  PetscCall(FieldCreate(t, &box, &need, &b));
  PetscCall(FieldCreatePoisoned(t, &ybox, PETSC_TRUE, &y));
  PetscCall(FieldCreatePoisoned(t, &ybox, PETSC_FALSE, &want));
  memset(s, 0, sizeof(s));
  s[0] = (HJSweep){.write   = owned,
                   .box     = box,
                   .ybox    = ybox,
                   .x       = zero ? NULL : x.dev,
                   .b       = b.dev,
                   .y       = y.dev,
                   .count   = count,
                   .w       = t->w,
                   .overlap = -1};
  PetscCall(Naive(t, s, &owned, &owned, PETSC_TRUE, zero ? NULL : &x, &b, &want));
  PetscCall(t->ops->sweep(t->ctx, 1, s));
  PetscCall(Compare(t, count, &want, &y, worst));
  PetscCall(CheckGhosts(t, s, &x, &b, &want, &y, worst));
  if (!zero && IsCutIntoLines(t)) PetscCall(CheckGhostsInPlace(t, count, &x, &b, &want, worst));
  PetscCall(Poison(t, &y));
  for (int r = 0; r < 3; r++) {
    HJBox part = owned, frame;

    part.lo[0] = cut[r];
    part.hi[0] = cut[r + 1];
    frame      = Grown(t, part, count, count);
    PetscCall(FieldCreateFrom(t, &x, &frame, PETSC_TRUE, &fx[r]));
    PetscCall(FieldCreateFrom(t, &b, &frame, PETSC_TRUE, &fb[r]));
    s[r]       = s[0];
    s[r].write = part;
    s[r].box   = frame;
    s[r].x     = zero ? NULL : fx[r].dev;
    s[r].b     = fb[r].dev;
  }
  PetscCall(t->ops->sweep(t->ctx, 3, s));
  PetscCall(Compare(t, count, &want, &y, worst));
  for (int r = 0; r < 3; r++) {
    PetscCall(FieldDestroy(t, &fx[r]));
    PetscCall(FieldDestroy(t, &fb[r]));
  }
  PetscCall(FieldDestroy(t, &x));
  PetscCall(FieldDestroy(t, &b));
  PetscCall(FieldDestroy(t, &y));
  PetscCall(FieldDestroy(t, &want));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fills the points of a larger box with those of from that are as far inside the other end of periodic directions, all around */
static PetscErrorCode FieldCreateAround(HJTester *t, const HJField *from, const HJBox *box, HJField *f)
{
  PetscInt p[3] = HJ_TEST_FIRST(box);

  PetscFunctionBegin;
  f->box = *box;
  PetscCall(PetscMalloc1(HJBoxSize(box), &f->host));
  PetscCall(t->ops->alloc(t->ctx, HJBoxSize(box), &f->dev));
  for (PetscCount i = 0; i < HJBoxSize(box); i++, NextPoint(box, p)) {
    PetscInt q[3];

    for (int d = 0; d < 3; d++) q[d] = p[d] + (p[d] < 0 ? t->grid.N[d] : p[d] >= t->grid.N[d] ? -t->grid.N[d] : 0);
    f->host[i] = from->host[HJBoxIndex(&from->box, q[0], q[1], q[2])];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A rank that is its own neighbour: x and b hold the owned points alone, and are their own ghosts */
static PetscErrorCode CheckWraps(HJTester *t, PetscInt count, PetscBool zero, PetscReal *worst)
{
  const PetscInt   last  = t->st.dim - 1;
  const HJBox      owned = t->grid.owned, around = HJGridPadded(&t->grid, count);
  const PetscCount plane = HJBoxSize(&owned) / HJBoxWidth(&owned, (int)last);
  HJField          x, b, y, want, xaround, baround;
  HJSweep          s = {.write = owned, .box = owned, .ybox = owned, .count = count, .w = t->w, .overlap = -1};

  PetscFunctionBegin;
  PetscCall(FieldCreate(t, &owned, &owned, &x));
  PetscCall(FieldCreate(t, &owned, &owned, &b));
  PetscCall(FieldCreate(t, &owned, &owned, &y));
  PetscCall(FieldCreate(t, &owned, &owned, &want));
  PetscCall(FieldCreateAround(t, &x, &around, &xaround));
  PetscCall(FieldCreateAround(t, &b, &around, &baround));
  PetscCall(Poison(t, &y));
  s.x      = zero ? NULL : x.dev;
  s.b      = b.dev;
  s.y      = y.dev;
  s.ghosts = t->grid.periodic[last];
  for (int d = 0; d < last; d++) s.wraps[d] = t->grid.periodic[d];
  if (s.ghosts) {
    s.box.lo[last] -= count;
    s.box.hi[last] += count;
    s.bghost[0] = s.b + HJBoxSize(&owned) - count * plane;
    s.bghost[1] = s.b;
    s.xghost[0] = zero ? NULL : s.x + HJBoxSize(&owned) - count * plane;
    s.xghost[1] = s.x;
  }
  PetscCall(Naive(t, &s, &owned, &owned, PETSC_TRUE, zero ? NULL : &xaround, &baround, &want));
  PetscCall(t->ops->sweep(t->ctx, 1, &s));
  PetscCall(Compare(t, count, &want, &y, worst));
  if (!zero && count <= t->limits.in_place) {
    s.y = x.dev;
    PetscCall(t->ops->sweep(t->ctx, 1, &s));
    PetscCall(Compare(t, count, &want, &x, worst));
  }
  for (int i = 0; i < 6; i++) PetscCall(FieldDestroy(t, (HJField *[]){&x, &b, &y, &want, &xaround, &baround}[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One sweep, which is to make want in y; gives both back */
static PetscErrorCode CheckSweep(HJTester *t, const HJSweep *s, HJField *want, HJField *y, PetscReal *worst)
{
  PetscFunctionBegin;
  PetscCall(t->ops->sweep(t->ctx, 1, s));
  PetscCall(Compare(t, s->count, want, y, worst));
  PetscCall(FieldDestroy(t, y));
  PetscCall(FieldDestroy(t, want));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sweep that writes to the array that it reads; only for grids without neighbours */
static PetscErrorCode CheckInPlace(HJTester *t, PetscInt count, PetscReal *worst)
{
  const HJBox owned = t->grid.owned;
  HJField     x, b, y, want;
  HJSweep     s = {.write = owned, .box = owned, .ybox = owned, .count = count, .w = t->w, .overlap = -1};

  PetscFunctionBegin;
  PetscCall(FieldCreate(t, &owned, &owned, &x));
  PetscCall(FieldCreate(t, &owned, &owned, &b));
  PetscCall(FieldCreateFrom(t, &x, &owned, PETSC_TRUE, &y));
  PetscCall(FieldCreatePoisoned(t, &owned, PETSC_FALSE, &want));
  s.x = y.dev;
  s.b = b.dev;
  s.y = y.dev;
  PetscCall(Naive(t, &s, &owned, &owned, PETSC_TRUE, &x, &b, &want));
  PetscCall(CheckSweep(t, &s, &want, &y, worst));
  PetscCall(FieldDestroy(t, &x));
  PetscCall(FieldDestroy(t, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckStale(HJTester *t, PetscInt count, const PetscInt tile[3], PetscInt overlap, PetscBool zero, PetscReal *worst)
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

/* Cycles at once in the array that they read, beside one after another; *done: whether the backend does these at once */
static PetscErrorCode CheckStaleCycles(HJTester *t, PetscInt count, const PetscInt tile[3], PetscInt overlap, PetscBool zero,
                                       PetscBool *done, PetscReal *worst)
{
  const HJBox owned = t->grid.owned;
  const int   n     = 4; /* an even number */
  HJField     x, b, y, work, want[2];
  HJSweep     s = {.write = owned, .box = owned, .ybox = owned, .count = count, .w = t->w, .overlap = overlap, .cover = owned};

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!t->ops->multigrid->stale_cycles || t->grid.min_width < PETSC_INT_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(FieldCreate(t, &owned, &owned, &x));
  PetscCall(FieldCreate(t, &owned, &owned, &b));
  PetscCall(FieldCreateFrom(t, &x, &owned, PETSC_TRUE, &y));
  PetscCall(FieldCreatePoisoned(t, &owned, PETSC_TRUE, &work));
  for (int i = 0; i < 2; i++) PetscCall(FieldCreatePoisoned(t, &owned, PETSC_FALSE, &want[i]));
  for (int d = 0; d < 3; d++) s.tile[d] = tile[d];
  for (int i = 0; i < n; i++) PetscCall(NaiveStale(t, &s, i ? &want[(i + 1) % 2] : zero ? NULL : &x, &b, &want[i % 2]));
  s.x = zero ? NULL : y.dev;
  s.b = b.dev;
  s.y = y.dev;
  PetscCall(t->ops->multigrid->stale_cycles(t->ctx, &s, work.dev, n, done));
  if (*done) PetscCall(Compare(t, n * count, &want[(n - 1) % 2], &y, worst));
  for (int i = 0; i < 6; i++) PetscCall(FieldDestroy(t, (HJField *[]){&x, &b, &y, &work, &want[0], &want[1]}[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const StorageNames[] = {"dictionary", "variable", "symmetric"};

/* Whether -dim, -storage and -max_count leave this case in the test: compute-sanitizer takes minutes for all of them */
static PetscInt only_dim = 0, only_storage = -1, max_count = HJ_TEST_MAX_COUNT;

static PetscBool Wanted(const HJCase *c)
{
  return (PetscBool)((!only_dim || c->dim == only_dim) && (only_storage < 0 || (PetscInt)c->storage == only_storage));
}

/* A sweep from a zero guess of more subiterations than any other, where the backend has one */
static PetscErrorCode CheckMostFromZero(HJTester *t, PetscReal *worst)
{
  const PetscInt most = t->limits.from_zero;

  PetscFunctionBegin;
  if (most > t->limits.max_count && most <= max_count) PetscCall(CheckExact(t, most, PETSC_TRUE, worst));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Counts from 1 to max in steps */
static PetscErrorCode TestExact(const HJBackendOps *ops, const HJCase *c, PetscInt max, PetscInt step)
{
  HJTester  t;
  PetscReal worst = 0.0;
  PetscInt  count = 1;

  PetscFunctionBegin;
  if (!Wanted(c)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Create(ops, c, max, &t));
  if (t.limits.max_count <= step) step = 1;
  max = PetscMin(max, PetscMin(t.limits.max_count, max_count));
  for (; count <= max && worst <= 1.0; count += step) {
    PetscCall(CheckExact(&t, count, PETSC_FALSE, &worst));
    PetscCall(CheckExact(&t, count, PETSC_TRUE, &worst));
    if (t.grid.min_width == PETSC_INT_MAX && count <= t.limits.in_place) PetscCall(CheckInPlace(&t, count, &worst));
  }
  if (count > t.limits.max_count && worst <= 1.0) PetscCall(CheckMostFromZero(&t, &worst));
  if (worst > 1.0) PetscCall(HJTestNote("count %" PetscInt_FMT ", error / tolerance %g", count - step, (double)worst));
  PetscCall(HJTestOK((PetscBool)(worst <= 1.0),
                     "%s exact %" PetscInt_FMT "D %s %s, %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT ", beyond %" PetscInt_FMT
                     " %" PetscInt_FMT ", to k = %" PetscInt_FMT,
                     ops->name, c->dim, c->shape == HJ_BOX ? "box" : "star",
                     c->rows < 0    ? "one mirrored row"
                     : c->rows == 1 ? "one row"
                     : c->rows == 2 ? "two rows"
                     : c->rows == 5 ? "random rows"
                     : c->rows == 9 ? "a frame"
                     : c->rows > 9  ? "materials"
                     : c->rows      ? "walls"
                                    : StorageNames[c->storage],
                     c->n[0], c->n[1], c->n[2], c->before[0], c->after[0], max));
  PetscCall(Destroy(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestStale(const HJBackendOps *ops, const HJCase *c, const PetscInt tile[3], PetscInt overlap)
{
  const PetscInt counts[] = {1, 2, 5, 16};
  HJTester       t;
  PetscReal      worst = 0.0;
  char           reason[256];
  PetscBool      refused, large = PETSC_FALSE, at_once = PETSC_FALSE;
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
    PetscCall(CheckStaleCycles(&t, counts[i], tile, overlap, PETSC_FALSE, &at_once, &worst));
    PetscCall(CheckStaleCycles(&t, counts[i], tile, overlap, PETSC_TRUE, &at_once, &worst));
  }
  if (worst > 1.0) PetscCall(HJTestNote("error / tolerance %g", (double)worst));
  if (refused) PetscCall(HJTestNote("refused: %s", reason));
  PetscCall(HJTestOK((PetscBool)(refused ? large : worst <= 1.0),
                     "%s stale %" PetscInt_FMT "D %s %s, %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT ", tile %" PetscInt_FMT
                     " x %" PetscInt_FMT " x %" PetscInt_FMT ", overlap %" PetscInt_FMT "%s",
                     ops->name, c->dim, c->shape == HJ_BOX ? "box" : "star",
                     c->rows % HJ_TEST_LINES >= HJ_TEST_MEANS ? "means" : StorageNames[c->storage], c->n[0], c->n[1], c->n[2], tile[0],
                     tile[1], tile[2], overlap, at_once ? ", also many at once" : ""));
  PetscCall(Destroy(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every shape and storage, with the end of the domain, another rank, a thin one, or a periodic image beyond each side */
static PetscErrorCode TestAll(const HJBackendOps *ops)
{
  const struct {
    PetscInt n[3], before[3], after[3];
  } places[3][4] = {
    {{{61, 1, 1}, {0, 0, 0}, {0, 0, 0}},
     {{40, 1, 1}, {30, 0, 0}, {3, 0, 0}},
     {{25, 1, 1}, {-1, 0, 0}, {-1, 0, 0}},
     {{1, 1, 1}, {0, 0, 0}, {0, 0, 0}}},
    {{{37, 29, 1}, {0, 0, 0}, {0, 0, 0}},
     {{33, 26, 1}, {30, 0, 0}, {3, 40, 0}},
     {{23, 31, 1}, {-1, 2, 0}, {-1, 0, 0}},
     {{1, 43, 1}, {0, 0, 0}, {0, 21, 0}}},
    {{{17, 13, 11}, {0, 0, 0}, {0, 0, 0}},
     {{12, 9, 10}, {30, 0, 2}, {2, 30, 0}},
     {{9, 12, 8}, {-1, 0, -1}, {-1, 4, -1}},
     {{5, 1, 19}, {0, 0, 3}, {9, 0, 0}}},
  };
  const PetscInt steps[3] = {1, 1, 4};

  PetscFunctionBegin;
  for (PetscInt dim = 1; dim <= 3; dim++) {
    for (int shape = 0; shape < (dim > 1 ? 2 : 1); shape++) {
      for (int storage = 0; storage < 3; storage++) {
        for (int place = 0; place < 4; place++) {
          HJCase         c       = {.storage = (HJStorage)storage, .shape = (HJShape)shape, .dim = dim};
          const PetscInt tile[3] = {8, 6, 7}, wide[3] = {32, 32, 32};

          for (int d = 0; d < 3; d++) {
            c.n[d]      = places[dim - 1][place].n[d];
            c.before[d] = places[dim - 1][place].before[d];
            c.after[d]  = places[dim - 1][place].after[d];
          }
          PetscCall(TestExact(ops, &c, HJ_TEST_MAX_COUNT, steps[dim - 1]));
          PetscCall(TestStale(ops, &c, tile, place % 2 ? 0 : 4));
          PetscCall(TestStale(ops, &c, wide, place % 2 ? 2 : 6));
          c.rows = 1;
          if (storage == HJ_DICTIONARY) PetscCall(TestExact(ops, &c, HJ_TEST_MAX_COUNT, steps[dim - 1]));
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Large enough for several blocks or chunks in each direction */
static PetscErrorCode TestLarge(const HJBackendOps *ops)
{
  const HJCase large[] = {
    {HJ_DICTIONARY, HJ_STAR, 1, {70001, 1, 1}, {0, 0, 0}, {50, 0, 0}, 0},
    {HJ_DICTIONARY, HJ_STAR, 2, {300, 517, 1}, {0, 0, 0}, {0, 0, 0}, 0},
    {HJ_DICTIONARY, HJ_STAR, 2, {1030, 90, 1}, {-1, 0, 0}, {-1, 30, 0}, 0},
    {HJ_DICTIONARY, HJ_STAR, 2, {517, 420, 1}, {0, 20, 0}, {0, 33, 0}, 1},
    {HJ_DICTIONARY, HJ_BOX, 2, {300, 217, 1}, {0, 0, 0}, {0, 20, 0}, 1},
    {HJ_VARIABLE, HJ_STAR, 2, {300, 217, 1}, {0, 0, 0}, {0, 0, 0}, 0},
    {HJ_VARIABLE, HJ_STAR, 2, {300, 217, 1}, {0, 30, 0}, {0, 20, 0}, 0},
    {HJ_SYMMETRIC, HJ_STAR, 2, {517, 120, 1}, {0, 40, 0}, {0, 0, 0}, 0},
    {HJ_DICTIONARY, HJ_BOX, 2, {300, 217, 1}, {0, 0, 0}, {0, 0, 0}, 0},
    {HJ_DICTIONARY, HJ_STAR, 3, {70, 65, 40}, {0, 0, 0}, {0, 0, 0}, 0},
    {HJ_DICTIONARY, HJ_STAR, 3, {131, 70, 33}, {0, 20, 0}, {0, 0, 20}, 0},
    {HJ_VARIABLE, HJ_STAR, 3, {70, 65, 40}, {0, 0, 0}, {0, 0, 0}, 0},
    {HJ_SYMMETRIC, HJ_STAR, 3, {70, 65, 40}, {0, 0, 0}, {0, 0, 0}, 0},
    {HJ_DICTIONARY, HJ_BOX, 3, {70, 65, 40}, {0, 0, 0}, {0, 0, 0}, 0},
    {HJ_DICTIONARY, HJ_STAR, 3, {131, 70, 33}, {0, 0, 0}, {0, 0, 0}, 1},
    {HJ_DICTIONARY, HJ_STAR, 3, {131, 75, 40}, {0, 20, 0}, {0, 0, 20}, 1},
    {HJ_DICTIONARY, HJ_STAR, 3, {58, 45, 80}, {-1, 0, 10}, {-1, 3, 2}, 1},
    {HJ_DICTIONARY, HJ_STAR, 3, {100, 75, 40}, {0, 20, 0}, {0, 0, 20}, 2},
    {HJ_DICTIONARY, HJ_STAR, 3, {95, 70, 45}, {0, 0, 0}, {0, 3, 0}, 2},
    {HJ_DICTIONARY, HJ_STAR, 3, {129, 75, 50}, {0, 0, 0}, {0, 0, 9}, 6},
    {HJ_DICTIONARY, HJ_STAR, 3, {131, 75, 40}, {-1, 0, 0}, {-1, 3, 0}, 2},
  };
  const PetscInt tile[3] = {32, 32, 32};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(large); i++) {
    PetscCall(TestExact(ops, &large[i], 12, large[i].dim == 3 ? 7 : 5));
    if (large[i].dim < 3) PetscCall(TestStale(ops, &large[i], tile, 8));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 2D grids that a GPU cuts into patches, of each shape, whose last ones begin at even and odd points, and in the middle of others */
static PetscErrorCode TestPatches(const HJBackendOps *ops)
{
  const PetscInt rows[] = {9, 1, 2}, n[][2] = {{32, 33}, {65, 65}, {130, 67}, {141, 143}, {64, 320}, {257, 210}, {316, 317}, {64, 1600}};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(n); i++) {
    for (size_t k = 0; k < (i < 3 ? PETSC_STATIC_ARRAY_LENGTH(rows) : 1); k++) {
      const HJCase c = {HJ_DICTIONARY, HJ_STAR, 2, {n[i][0], n[i][1], 1}, {0, 0, 0}, {0, 0, 0}, rows[k]};

      PetscCall(TestExact(ops, &c, 16, i < 3 ? 1 : 5));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tiles that a GPU holds in registers: lines of 1D grids and of 2D grids cut one point thin, and squares, at widths that fill lanes and
   not; means of neighbours with weights of 1 are kernels of their own */
static PetscErrorCode TestRegisters(const HJBackendOps *ops)
{
  const struct {
    PetscInt dim, n[2], before[2], after[2], tile[2], overlap;
  } cases[] = {
    {1, {1000, 1}, {0, 0}, {0, 0}, {32, 1}, 4},    {1, {777, 1}, {30, 0}, {9, 0}, {200, 1}, 8},
    {1, {90, 1}, {-1, 0}, {-1, 0}, {64, 1}, 0},    {2, {256, 9}, {0, 0}, {0, 0}, {32, 1}, 4},
    {2, {201, 7}, {0, 0}, {0, 0}, {32, 1}, 6},     {2, {130, 6}, {20, 5}, {12, 7}, {32, 1}, 8},
    {2, {96, 8}, {-1, -1}, {-1, -1}, {13, 1}, 2},  {2, {300, 5}, {0, 0}, {0, 0}, {256, 1}, 30},
    {2, {129, 4}, {0, 3}, {0, 0}, {57, 1}, 0},     {2, {130, 120}, {0, 0}, {0, 0}, {32, 32}, 4},
    {2, {101, 97}, {12, 9}, {8, 20}, {32, 32}, 2}, {2, {80, 90}, {-1, 0}, {-1, 0}, {24, 20}, 6},
    {2, {140, 130}, {0, 0}, {0, 0}, {64, 64}, 10}, {2, {100, 130}, {0, 20}, {0, 0}, {30, 61}, 12},
    {2, {333, 250}, {0, 0}, {0, 0}, {32, 32}, 6},  {2, {201, 171}, {0, 0}, {0, 0}, {21, 28}, 8},
    {2, {129, 98}, {0, 0}, {0, 0}, {32, 32}, 0},   {2, {94, 93}, {0, 0}, {0, 0}, {32, 32}, 2},
    {2, {250, 248}, {0, 0}, {0, 0}, {8, 8}, 2},
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    for (int kind = 0; kind < (cases[i].tile[1] > 1 ? 4 : 8); kind++) {
      const PetscInt tile[3] = {cases[i].tile[0], cases[i].tile[1], 1};
      HJCase         c       = {.storage = HJ_DICTIONARY, .shape = HJ_STAR, .dim = cases[i].dim};

      c.rows = kind % 2 + (kind / 2 % 2 ? HJ_TEST_MEANS : 0) + (kind / 4 ? HJ_TEST_LINES : 0);
      for (int d = 0; d < 3; d++) {
        c.n[d]      = d < 2 ? cases[i].n[d] : 1;
        c.before[d] = d < 2 ? cases[i].before[d] : 0;
        c.after[d]  = d < 2 ? cases[i].after[d] : 0;
      }
      PetscCall(TestStale(ops, &c, tile, cases[i].overlap));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Grids that the CUDA backend streams: it takes smaller ones as a whole. Few counts each, the loop over the definition
   is slow; on the host these say no more than TestLarge(), and run in the long run alone
*/
static PetscErrorCode TestStreams(const HJBackendOps *ops)
{
  const struct {
    HJCase   c;
    PetscInt max, step;
  } streams[] = {
    {{HJ_DICTIONARY, HJ_STAR, 2, {700, 310, 1}, {0, 20, 0}, {0, 0, 0}, 1}, 8, 1},
    {{HJ_DICTIONARY, HJ_STAR, 2, {900, 700, 1}, {0, 0, 0}, {0, 0, 0}, 6}, 4, 1},
    {{HJ_DICTIONARY, HJ_STAR, 2, {901, 700, 1}, {0, 30, 0}, {0, 9, 0}, 6}, 8, 7},
    {{HJ_DICTIONARY, HJ_STAR, 2, {900, 700, 1}, {0, 0, 0}, {0, 0, 0}, 0}, 8, 7},
    {{HJ_DICTIONARY, HJ_BOX, 2, {900, 700, 1}, {0, 0, 0}, {0, 0, 0}, 6}, 4, 3},
    {{HJ_DICTIONARY, HJ_BOX, 3, {97, 81, 45}, {0, 0, 0}, {0, 0, 0}, 1}, 2, 1},
    {{HJ_DICTIONARY, HJ_BOX, 3, {97, 81, 45}, {0, 0, 0}, {0, 0, 0}, -1}, 2, 1},
    {{HJ_DICTIONARY, HJ_BOX, 3, {61, 33, 21}, {-1, 0, 10}, {-1, 3, 2}, 1}, 2, 1},
    {{HJ_DICTIONARY, HJ_BOX, 3, {56, 35, 19}, {0, -1, 1}, {30, -1, 0}, -1}, 2, 1},
    {{HJ_DICTIONARY, HJ_BOX, 3, {3, 70, 40}, {0, 2, 0}, {0, 0, 5}, 1}, 2, 1},
    {{HJ_DICTIONARY, HJ_BOX, 3, {75, 66, 2}, {0, 0, 9}, {4, 0, 9}, -1}, 2, 1},
    {{HJ_DICTIONARY, HJ_BOX, 3, {129, 75, 50}, {0, 0, 0}, {0, 0, 9}, 2}, 2, 1},
    {{HJ_VARIABLE, HJ_STAR, 3, {103, 75, 41}, {0, 20, 0}, {0, 0, 20}, 0}, 3, 1},
    {{HJ_VARIABLE, HJ_STAR, 3, {67, 51, 97}, {-1, 0, 0}, {-1, 4, 0}, 0}, 3, 1},
    {{HJ_SYMMETRIC, HJ_STAR, 3, {67, 51, 97}, {0, 0, 0}, {0, 0, 0}, 0}, 3, 1},
    {{HJ_SYMMETRIC, HJ_STAR, 3, {103, 75, 41}, {-1, 0, 5}, {-1, 0, 0}, 0}, 3, 1},
    {{HJ_SYMMETRIC, HJ_STAR, 3, {201, 131, 29}, {0, 0, 4}, {0, 0, 0}, 0}, 3, 2},
    {{HJ_VARIABLE, HJ_BOX, 3, {167, 151, 40}, {0, 0, 0}, {0, 0, 0}, 0}, 2, 1},
    {{HJ_SYMMETRIC, HJ_BOX, 3, {103, 105, 93}, {0, 0, 0}, {0, 0, 0}, 0}, 2, 1},
    {{HJ_SYMMETRIC, HJ_BOX, 3, {3, 530, 630}, {0, 0, 0}, {0, 0, 0}, 0}, 2, 2},
    /* more planes than a launch has blocks in y */
    {{HJ_DICTIONARY, HJ_STAR, 3, {3, 2, 70000}, {0, 0, 0}, {0, 0, 0}, 6}, 3, 1},
    {{HJ_DICTIONARY, HJ_STAR, 3, {3, 2, 70000}, {0, 0, 3}, {0, 0, 0}, 1}, 3, 1},
    {{HJ_DICTIONARY, HJ_BOX, 3, {3, 2, 70000}, {0, 0, 0}, {0, 0, 0}, 6}, 2, 1},
    {{HJ_DICTIONARY, HJ_STAR, 2, {901, 600, 1}, {0, 0, 0}, {0, 0, 0}, 10}, 8, 3},
    {{HJ_DICTIONARY, HJ_STAR, 2, {700, 603, 1}, {-1, 0, 0}, {-1, 0, 0}, 10}, 7, 3},
    {{HJ_DICTIONARY, HJ_STAR, 2, {680, 617, 1}, {30, 21, 0}, {3, 40, 0}, 40}, 10, 9},
    {{HJ_DICTIONARY, HJ_STAR, 2, {645, 611, 1}, {0, 0, 0}, {0, 0, 0}, 5}, 8, 7},
    {{HJ_DICTIONARY, HJ_BOX, 2, {700, 600, 1}, {0, 0, 0}, {0, 0, 0}, 10}, 5, 2},
    {{HJ_DICTIONARY, HJ_BOX, 2, {650, 617, 1}, {30, 21, 0}, {9, 40, 0}, 40}, 6, 5},
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(streams); i++) PetscCall(TestExact(ops, &streams[i].c, streams[i].max, streams[i].step));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Periodic grids of one rank, in every direction and in some, at the limits of what kernels take. Those whose sweeps this backend does not
   wrap are left out: on the host that is all but those periodic in the slowest direction alone
*/
static PetscErrorCode TestPeriodic(const HJBackendOps *ops)
{
  const struct {
    HJCase   c;
    PetscInt max, step;
  } grids[] = {
    {{HJ_DICTIONARY, HJ_STAR, 1, {70001, 1, 1}, {-1, 0, 0}, {-1, 0, 0}, 1}, 20, 19},
    {{HJ_DICTIONARY, HJ_STAR, 1, {19, 1, 1}, {-1, 0, 0}, {-1, 0, 0}, 0}, 19, 6},
    {{HJ_DICTIONARY, HJ_STAR, 1, {1, 1, 1}, {-1, 0, 0}, {-1, 0, 0}, 1}, 1, 1},
    {{HJ_VARIABLE, HJ_STAR, 2, {37, 29, 1}, {0, -1, 0}, {0, -1, 0}, 0}, 15, 2},
    {{HJ_DICTIONARY, HJ_BOX, 2, {29, 3, 1}, {0, -1, 0}, {0, -1, 0}, 0}, 3, 1},
    {{HJ_SYMMETRIC, HJ_BOX, 3, {17, 13, 11}, {0, 0, -1}, {0, 0, -1}, 0}, 7, 2},
    {{HJ_DICTIONARY, HJ_STAR, 3, {17, 13, 1}, {0, 0, -1}, {0, 0, -1}, 1}, 1, 1},
    {{HJ_VARIABLE, HJ_STAR, 2, {37, 29, 1}, {-1, -1, 0}, {-1, -1, 0}, 0}, 15, 2},
    {{HJ_DICTIONARY, HJ_STAR, 2, {7, 9, 1}, {-1, -1, 0}, {-1, -1, 0}, 1}, 7, 1},
    {{HJ_DICTIONARY, HJ_BOX, 2, {200, 190, 1}, {-1, 0, 0}, {-1, 0, 0}, 9}, 20, 6},
    {{HJ_SYMMETRIC, HJ_BOX, 2, {256, 250, 1}, {-1, -1, 0}, {-1, -1, 0}, 0}, 16, 3},
    {{HJ_VARIABLE, HJ_BOX, 2, {1, 30, 1}, {-1, -1, 0}, {-1, -1, 0}, 0}, 1, 1},
    {{HJ_VARIABLE, HJ_BOX, 3, {17, 13, 11}, {-1, -1, -1}, {-1, -1, -1}, 0}, 8, 1},
    {{HJ_SYMMETRIC, HJ_STAR, 3, {30, 27, 33}, {-1, -1, 0}, {-1, -1, 0}, 0}, 8, 3},
    {{HJ_VARIABLE, HJ_STAR, 3, {3, 27, 4}, {-1, 0, -1}, {-1, 0, -1}, 0}, 3, 1},
    {{HJ_DICTIONARY, HJ_STAR, 2, {700, 310, 1}, {-1, -1, 0}, {-1, -1, 0}, 1}, 10, 3},
    {{HJ_DICTIONARY, HJ_STAR, 2, {448, 450, 1}, {-1, 0, 0}, {-1, 0, 0}, 1}, 10, 9},
    {{HJ_DICTIONARY, HJ_STAR, 2, {309, 700, 1}, {0, -1, 0}, {0, -1, 0}, 1}, 10, 9},
    {{HJ_DICTIONARY, HJ_STAR, 2, {128, 1800, 1}, {-1, -1, 0}, {-1, -1, 0}, 1}, 8, 7},
    {{HJ_DICTIONARY, HJ_STAR, 2, {151, 1400, 1}, {-1, -1, 0}, {-1, -1, 0}, 1}, 8, 7},
    {{HJ_DICTIONARY, HJ_STAR, 2, {5, 40100, 1}, {0, -1, 0}, {0, -1, 0}, 1}, 8, 7},
    {{HJ_DICTIONARY, HJ_STAR, 2, {40100, 5, 1}, {-1, -1, 0}, {-1, -1, 0}, 1}, 5, 2},
    {{HJ_DICTIONARY, HJ_STAR, 2, {200100, 1, 1}, {-1, -1, 0}, {-1, -1, 0}, 1}, 1, 1},
    {{HJ_DICTIONARY, HJ_STAR, 2, {901, 700, 1}, {0, -1, 0}, {0, -1, 0}, 10}, 6, 5},
    {{HJ_DICTIONARY, HJ_STAR, 2, {640, 1000, 1}, {0, -1, 0}, {0, -1, 0}, 6}, 6, 5},
    {{HJ_DICTIONARY, HJ_STAR, 2, {130, 5000, 1}, {0, -1, 0}, {0, -1, 0}, 5}, 6, 5},
    {{HJ_DICTIONARY, HJ_BOX, 2, {700, 310, 1}, {-1, -1, 0}, {-1, -1, 0}, 1}, 6, 5},
    {{HJ_DICTIONARY, HJ_BOX, 2, {700, 900, 1}, {0, -1, 0}, {0, -1, 0}, 10}, 5, 4},
    {{HJ_VARIABLE, HJ_STAR, 2, {517, 420, 1}, {-1, -1, 0}, {-1, -1, 0}, 0}, 6, 5},
    {{HJ_SYMMETRIC, HJ_STAR, 2, {517, 420, 1}, {-1, -1, 0}, {-1, -1, 0}, 0}, 8, 7},
    {{HJ_SYMMETRIC, HJ_STAR, 2, {517, 420, 1}, {-1, 0, 0}, {-1, 0, 0}, 0}, 8, 7},
    {{HJ_DICTIONARY, HJ_STAR, 3, {64, 70, 75}, {-1, -1, -1}, {-1, -1, -1}, 1}, 4, 1},
    {{HJ_DICTIONARY, HJ_STAR, 3, {160, 16, 120}, {-1, -1, -1}, {-1, -1, -1}, 1}, 4, 1},
    {{HJ_DICTIONARY, HJ_STAR, 3, {70, 38, 50}, {-1, -1, -1}, {-1, -1, -1}, 1}, 4, 1},
    {{HJ_DICTIONARY, HJ_STAR, 3, {66, 269, 40}, {-1, -1, -1}, {-1, -1, -1}, 2}, 4, 3},
    {{HJ_DICTIONARY, HJ_STAR, 3, {130, 77, 33}, {-1, 0, 0}, {-1, 0, 0}, 1}, 4, 1},
    {{HJ_DICTIONARY, HJ_STAR, 3, {75, 130, 33}, {0, -1, 0}, {0, -1, 0}, 1}, 4, 1},
    {{HJ_DICTIONARY, HJ_STAR, 3, {75, 130, 33}, {0, 0, -1}, {0, 0, -1}, 1}, 4, 3},
    {{HJ_DICTIONARY, HJ_STAR, 3, {240, 330, 4}, {-1, -1, -1}, {-1, -1, -1}, 1}, 4, 3},
    {{HJ_DICTIONARY, HJ_STAR, 3, {97, 81, 45}, {-1, -1, -1}, {-1, -1, -1}, 0}, 4, 1},
    {{HJ_DICTIONARY, HJ_STAR, 3, {97, 81, 45}, {-1, -1, 0}, {-1, -1, 0}, 2}, 4, 1},
    {{HJ_DICTIONARY, HJ_BOX, 3, {97, 81, 45}, {-1, -1, -1}, {-1, -1, -1}, 1}, 2, 1},
    {{HJ_DICTIONARY, HJ_BOX, 3, {64, 16, 300}, {-1, -1, -1}, {-1, -1, -1}, -1}, 2, 1},
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(grids); i++) {
    const HJCase *c = &grids[i].c;
    HJTester      t;
    PetscReal     worst = 0.0;
    PetscInt      max, count = 1;

    if (!Wanted(c)) continue;
    PetscCall(Create(ops, c, grids[i].max, &t));
    max = PetscMin(grids[i].max, PetscMin(t.limits.max_count, max_count));
    for (; count <= max && t.limits.wraps && worst <= 1.0; count += grids[i].step) {
      PetscCall(CheckWraps(&t, count, PETSC_FALSE, &worst));
      PetscCall(CheckWraps(&t, count, PETSC_TRUE, &worst));
    }
    if (worst > 1.0) PetscCall(HJTestNote("count %" PetscInt_FMT ", error / tolerance %g", count - grids[i].step, (double)worst));
    if (t.limits.wraps)
      PetscCall(HJTestOK((PetscBool)(worst <= 1.0),
                         "%s wraps %" PetscInt_FMT "D %s %s, %" PetscInt_FMT " rows, %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
                         ", periodic %d %d %d, to k = %" PetscInt_FMT,
                         ops->name, c->dim, c->shape == HJ_BOX ? "box" : "star", StorageNames[c->storage], t.st.nrows, c->n[0], c->n[1],
                         c->n[2], t.grid.periodic[0], t.grid.periodic[1], t.grid.periodic[2], max));
    PetscCall(Destroy(&t));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Small 3D grids (or the largest of them), sweeps of many lengths in turn with the same backend: what one leaves behind must not be taken
   for the next one's
*/
static PetscErrorCode TestSmall(const HJBackendOps *ops, PetscBool largest)
{
  const PetscInt counts[]   = {2, HJ_TEST_LONGEST, 3, 8, 5},
                 sizes[][3] = {{17, 17, 17}, {33, 33, 33}, {31, 45, 18}, {1, 40, 33}, {19, 1, 1}, {2, 9, 35}, {65, 65, 65}};
  const struct {
    HJStorage storage;
    HJShape   shape;
  } kinds[] = {{HJ_DICTIONARY, HJ_STAR}, {HJ_DICTIONARY, HJ_BOX}, {HJ_VARIABLE, HJ_BOX}, {HJ_SYMMETRIC, HJ_BOX}};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(sizes); i++) {
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(kinds); k++) {
      HJCase    c = {.storage = kinds[k].storage, .shape = kinds[k].shape, .dim = 3};
      HJTester  t;
      PetscReal worst = 0.0;

      for (int d = 0; d < 3; d++) c.n[d] = sizes[i][d];
      if (!Wanted(&c) || largest != (PetscBool)(c.n[0] == 65)) continue;
      /* arrays: larger ones say more of a GPU alone, which takes these as a whole too */
      if (c.storage != HJ_DICTIONARY && c.n[0] * c.n[1] * c.n[2] > (ops == &HJBackendHost ? 10000 : 40000)) continue;
      PetscCall(Create(ops, &c, 0, &t));
      for (size_t j = 0; j < PETSC_STATIC_ARRAY_LENGTH(counts); j++) {
        const PetscInt count = PetscMin(counts[j], PetscMin(t.limits.max_count, c.n[0] * c.n[1] * c.n[2] > 100000 ? 8 : max_count * 2));

        PetscCall(CheckExact(&t, count, PETSC_FALSE, &worst));
        PetscCall(CheckExact(&t, count, PETSC_TRUE, &worst));
        if (count <= t.limits.in_place) PetscCall(CheckInPlace(&t, count, &worst));
      }
      PetscCall(HJTestOK((PetscBool)(worst <= 1.0),
                         "%s exact 3D %s %s, %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT " in turn, at most %" PetscInt_FMT
                         " subiterations",
                         ops->name, c.shape == HJ_BOX ? "box" : "star", StorageNames[c.storage], c.n[0], c.n[1], c.n[2],
                         PetscMin(HJ_TEST_LONGEST, t.limits.max_count)));
      PetscCall(Destroy(&t));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other values with so many distinct rows, most points with the first one */
static PetscErrorCode NewRows(HJTester *t, PetscInt nrows)
{
  HJStencil       *st    = &t->st;
  const PetscInt   width = st->nslots;
  const PetscCount n     = HJBoxSize(&st->box);

  PetscFunctionBegin;
  PetscCall(PetscFree3(st->rows, st->dinv_rows, st->index));
  PetscCall(PetscCalloc3(nrows * width, &st->rows, nrows, &st->dinv_rows, n, &st->index));
  st->nrows = nrows;
  for (PetscInt r = 0; r < nrows; r++) {
    st->rows[r * width] = 1.0;
    st->dinv_rows[r]    = Random(t, 0.5, 1.0);
    for (PetscInt o = 1; o < width; o++) st->rows[r * width + o] = Random(t, -1.0, 0.2) / width;
  }
  for (PetscCount i = 0; i < n; i++)
    st->index[i] = (unsigned char)(i < nrows ? i : Random(t, 0.0, 1.0) < 0.05 ? (PetscInt)Random(t, 0.0, (PetscReal)nrows) : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the same grid, with more rows and fewer: kernels and limits are chosen again. 256 rows leave no number for points
   without one */
static PetscErrorCode TestRefresh(const HJBackendOps *ops)
{
  const HJCase   cases[] = {{HJ_DICTIONARY, HJ_STAR, 1, {70001, 1, 1}, {0, 0, 0}, {0, 0, 0}, 2},
                            {HJ_DICTIONARY, HJ_STAR, 2, {900, 700, 1}, {0, 0, 0}, {0, 0, 0}, 2},
                            {HJ_DICTIONARY, HJ_STAR, 3, {103, 75, 41}, {0, 0, 0}, {0, 0, 0}, 2},
                            {HJ_DICTIONARY, HJ_BOX, 3, {103, 75, 41}, {0, 0, 0}, {0, 0, 0}, 2},
                            {HJ_DICTIONARY, HJ_STAR, 3, {33, 33, 33}, {0, 0, 0}, {0, 0, 0}, 2}};
  const PetscInt rows[]  = {1, 255, 256, 9};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    HJTester  t;
    PetscReal worst = 0.0;

    if (!Wanted(&cases[i])) continue;
    PetscCall(Create(ops, &cases[i], 4, &t));
    PetscCall(CheckExact(&t, PetscMin(2, t.limits.max_count), PETSC_FALSE, &worst));
    for (size_t j = 0; j < PETSC_STATIC_ARRAY_LENGTH(rows); j++) {
      PetscCall(NewRows(&t, rows[j]));
      PetscCall(ops->refresh(t.ctx, &t.st));
      PetscCall(ops->limits(t.ctx, &t.limits));
      PetscCall(CheckExact(&t, PetscMin(2, t.limits.max_count), PETSC_FALSE, &worst));
      PetscCall(CheckExact(&t, PetscMin(3, t.limits.max_count), PETSC_TRUE, &worst));
    }
    if (worst > 1.0) PetscCall(HJTestNote("error / tolerance %g", (double)worst));
    PetscCall(HJTestOK((PetscBool)(worst <= 1.0), "%s refreshed %" PetscInt_FMT "D %s: 2, 1, 255, 256, 9 rows", ops->name, cases[i].dim,
                       cases[i].shape == HJ_BOX ? "box" : "star"));
    PetscCall(Destroy(&t));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values whose interfaces lie elsewhere: every point takes the row of the one that is so far from it */
static PetscErrorCode MoveRows(HJTester *t, PetscInt far)
{
  const HJBox   *box  = &t->st.box;
  PetscInt       p[3] = {box->lo[0], box->lo[1], box->lo[2]}, q[3];
  unsigned char *index;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(HJBoxSize(box), &index));
  for (PetscCount i = 0; i < HJBoxSize(box); i++, NextPoint(box, p)) {
    for (int d = 0; d < 3; d++) q[d] = PetscMin(p[d] + (d < t->st.dim ? far : 0), box->hi[d] - 1);
    index[i] = t->st.index[HJBoxIndex(box, q[0], q[1], q[2])];
  }
  PetscCall(PetscArraycpy(t->st.index, index, HJBoxSize(box)));
  PetscCall(PetscFree(index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a backend keeps of where rows change is made again for new values */
static PetscErrorCode TestMoved(const HJBackendOps *ops)
{
  const HJCase   cases[] = {{HJ_DICTIONARY, HJ_STAR, 2, {901, 600, 1}, {0, 3, 0}, {0, 0, 0}, 10},
                            {HJ_DICTIONARY, HJ_BOX, 2, {700, 603, 1}, {-1, 0, 0}, {-1, 0, 0}, 10}};
  const PetscInt far[]   = {0, 1, 3, 40};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    HJTester  t;
    PetscReal worst = 0.0;

    if (!Wanted(&cases[i])) continue;
    PetscCall(Create(ops, &cases[i], 4, &t));
    for (size_t j = 0; j < PETSC_STATIC_ARRAY_LENGTH(far); j++) {
      PetscCall(MoveRows(&t, far[j]));
      PetscCall(ops->refresh(t.ctx, &t.st));
      PetscCall(CheckExact(&t, PetscMin(3, t.limits.max_count), PETSC_FALSE, &worst));
    }
    if (worst > 1.0) PetscCall(HJTestNote("error / tolerance %g", (double)worst));
    PetscCall(
      HJTestOK((PetscBool)(worst <= 1.0), "%s refreshed 2D %s: interfaces move", ops->name, cases[i].shape == HJ_BOX ? "box" : "star"));
    PetscCall(Destroy(&t));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const HJBackendOps *ops         = &HJBackendHost;
  char                backend[16] = "host";
  PetscBool           only_long, only_periodic = PETSC_FALSE, only_tiles = PETSC_FALSE;
  int                 failed;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(HJTestLong(&only_long));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-periodic", &only_periodic));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-tiles", &only_tiles));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &only_dim, NULL));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-storage", StorageNames, 3, &only_storage, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-max_count", &max_count, NULL));
  PetscCall(HJTestSetLimits());
  if (!strcmp(backend, "cuda")) {
    PetscBool available = PETSC_FALSE;

#if defined(HJACOBI_HAVE_CUDA)
    PetscCall(HJCUDAAvailable(&available));
    ops = &HJBackendCUDA;
#endif
    if (!available) {
      PetscCall(HJTestSkip("no GPU"));
      PetscCall(PetscFinalize());
      return 0;
    }
  }
  if (!only_long && !only_periodic && !only_tiles) {
    PetscCall(TestAll(ops));
    PetscCall(TestLarge(ops));
    PetscCall(TestPatches(ops));
    PetscCall(TestSmall(ops, PETSC_FALSE));
  }
  if (!only_long && !only_periodic) PetscCall(TestRegisters(ops));
  if (!only_long && !only_tiles) PetscCall(TestPeriodic(ops));
  if (!only_periodic && !only_tiles && (only_long || ops != &HJBackendHost)) {
    PetscCall(TestStreams(ops));
    PetscCall(TestRefresh(ops));
    PetscCall(TestMoved(ops));
    PetscCall(TestSmall(ops, PETSC_TRUE));
  }
  failed = HJTestDone();
  PetscCall(PetscFinalize());
  return failed;
}

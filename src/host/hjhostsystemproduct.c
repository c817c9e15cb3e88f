/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Products of a matrix with several unknowns a point, line by line: the lines around a line are taken apart into components with the points
   before and after them. A component that is coupled to no other is done by the kernels of one unknown a point, and so has their numbers.
*/
#include "hjhostproduct.h"

/* The slots of one component's row */
typedef struct {
  PetscInt first, n; /* in order[] */
  int      alone;    /* the shape whose neighbours they all are, of the component itself; -1: none */
} HJSystemRow;

/* Lines are done together until they have so many points, and at least so many lines: the array of a slot is then read in long pieces, and
   the points before and after are few */
#define HJ_SYSTEM_POINTS 2048
#define HJ_SYSTEM_LINES  4
/* Arrays that are read at a time: more than that a CPU does not fetch ahead */
#define HJ_SYSTEM_ARRAYS 8

typedef struct {
  const HJProduct     *p;
  const HJHostKernels *kernels;
  PetscInt             n, dof, width; /* points of a line, with those before and after */
  PetscInt             together;      /* lines that are done together */
  HJSystemRow         *row;           /* [dof] */
  PetscInt            *order;         /* [nslots] slots, by the order of columns in the rows of AIJ; those of a row alone by offsets */
  PetscInt            *dy;            /* [nslots] 0 to 2: the line that a slot leads to */
  const PetscScalar  **array, **x;    /* [nslots] a slot's array, and where its neighbours' lines would lie that have number 0 */
  const PetscScalar  **factors, **terms;
  PetscScalar         *constants; /* [nslots] */
  PetscScalar         *lines;     /* [planes][together + 2][dof][width], a line at its number modulo together + 2 */
  PetscScalar         *b, *y[2];  /* [together][n] of a component; b is 0 where there is none */
} HJSystemProduct;

/* Whether a row is one of one unknown a point: its slots are then sorted as those are */
static int HJSystemRowAlone(const HJCoefficients *a, PetscInt c, PetscInt n, PetscInt order[])
{
  for (int shape = a->shape == HJ_BOX; shape >= 0; shape--) {
    const PetscInt m   = HJShapeSlots(a->dim, (HJShape)shape);
    PetscBool      all = (PetscBool)(n == m);

    for (PetscInt o = 0; o < m && all; o++) {
      PetscInt off[3];

      HJShapeOffset(a->dim, (HJShape)shape, o, off);
      order[o] = HJSlotOfEntry(a, HJSlotAt(a, off), c, c);
      all      = (PetscBool)(order[o] >= 0);
    }
    if (all) return shape;
  }
  return -1;
}

static void HJSystemProductSetRow(HJSystemProduct *s, PetscInt c, PetscInt first)
{
  const HJCoefficients *a     = s->p->a;
  PetscInt             *order = s->order + first, n = 0;

  for (PetscInt slot = 0; slot < a->nslots; slot++) n += a->entry[slot].row == c;
  s->row[c] = (HJSystemRow){.first = first, .n = n, .alone = HJSystemRowAlone(a, c, n, order)};
  if (s->row[c].alone >= 0) return;
  n = 0;
  for (int place = 0; place < HJ_MAX_SLOTS; place++) {
    const PetscInt offset = HJSlotAt(a, (PetscInt[3]){place % 3 - 1, place / 3 % 3 - 1, place / 9 - 1});

    for (PetscInt column = 0; column < a->dof && offset >= 0; column++) {
      const PetscInt slot = HJSlotOfEntry(a, offset, c, column);

      if (slot >= 0) order[n++] = slot;
    }
  }
}

static PetscErrorCode HJSystemProductOpen(const HJProduct *p, HJSystemProduct *s)
{
  const HJCoefficients *a      = p->a;
  const PetscInt        planes = a->dim > 2 ? 3 : 1;
  const PetscInt       *n      = p->shell->width;
  PetscInt              first  = 0, size;

  PetscFunctionBegin;
  *s          = (HJSystemProduct){.p = p, .kernels = HJHostPickKernels(), .n = n[0], .dof = a->dof, .width = n[0] + 2};
  s->together = PetscMin(n[1], PetscMax(HJ_SYSTEM_LINES, HJ_SYSTEM_POINTS / n[0]));
  size        = s->together * s->n;
  PetscCall(PetscMalloc3(s->dof, &s->row, a->nslots, &s->order, a->nslots, &s->constants));
  PetscCall(PetscMalloc5(a->nslots, &s->dy, a->nslots, &s->array, a->nslots, &s->x, a->nslots, &s->factors, a->nslots, &s->terms));
  PetscCall(PetscMalloc4(planes * (s->together + 2) * s->dof * s->width, &s->lines, size, &s->b, size, &s->y[0], size, &s->y[1]));
  PetscCall(PetscArrayzero(s->b, size));
  for (PetscInt c = 0; c < s->dof; c++) {
    HJSystemProductSetRow(s, c, first);
    first += s->row[c].n;
  }
  for (PetscInt e = 0; e < a->nslots; e++) {
    const PetscInt slot = s->order[e];
    PetscInt       off[3];

    HJSlotOffset(a, slot, off);
    s->dy[e] = off[1] + 1;
    s->x[e] = s->lines + (PetscCount)(((planes / 2 + off[2]) * (s->together + 2)) * s->dof + a->entry[slot].column) * s->width + 1 + off[0];
    s->array[e]     = a->storage == HJ_COEFFICIENTS_ARRAYS ? a->value + HJSlotBegin(a, slot) : NULL;
    s->constants[e] = a->storage == HJ_COEFFICIENTS_ROW ? a->rows[slot] : 0.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSystemProductClose(HJSystemProduct *s)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(s->row, s->order, s->constants));
  PetscCall(PetscFree5(s->dy, s->array, s->x, s->factors, s->terms));
  PetscCall(PetscFree4(s->lines, s->b, s->y[0], s->y[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the first point of a component of the line l around line j lies */
static inline PetscScalar *HJSystemLine(const HJSystemProduct *s, PetscInt j, PetscInt l, PetscInt c)
{
  const PetscInt plane = s->p->a->dim > 2 ? l / 3 : 0, ring = s->together + 2, at = (j + l % 3 - 1 + ring) % ring;

  return s->lines + ((plane * ring + at) * s->dof + c) * s->width + 1;
}

/* Takes the line l around line j of plane k apart */
static void HJSystemSpread(const HJSystemProduct *s, PetscInt j, PetscInt k, PetscInt l)
{
  const HJProduct   *p    = s->p;
  const HJShellLine  line = HJShellGetLine(p->shell, j + l % 3 - 1, k + l / 3 - 1);
  const PetscScalar *from = (line.ghost ? p->ghost : p->x) + s->dof * line.at;

  for (PetscInt c = 0; c < s->dof; c++) {
    PetscScalar *to = HJSystemLine(s, j, l, c);

    to[-1]   = p->ghost[s->dof * line.before[0] + c];
    to[s->n] = p->ghost[s->dof * line.before[1] + c];
    for (PetscInt i = 0; i < s->n; i++) to[i] = from[i * s->dof + c];
  }
}

/* The lines that line j of plane k needs, but for those that line j - 1 left */
static void HJSystemSpreadNext(const HJSystemProduct *s, PetscInt j, PetscInt k)
{
  const HJCoefficients *a = s->p->a;

  for (PetscInt l = 0; l < 9; l++) {
    const int       dy = l % 3 - 1, dz = l / 3 - 1;
    const PetscBool there = (PetscBool)(j > 0 && dy < 1 && HJHostProductNeedsLine(a, dy + 1, dz));

    if (HJHostProductNeedsLine(a, dy, dz) && !there) HJSystemSpread(s, j, k, l);
  }
}

/* A component of line j as one unknown a point has it; at: its first point, b and y: on the line */
static void HJSystemAlone(const HJSystemProduct *s, PetscInt c, PetscInt j, PetscCount at, const PetscScalar *b, PetscScalar *y)
{
  const HJCoefficients *a     = s->p->a;
  const HJSystemRow    *row   = &s->row[c];
  const PetscInt       *order = s->order + row->first;
  HJHostRow             r     = {.n = s->n, .b = s->p->b ? b : NULL, .y = y, .w = s->p->alpha, .c = s->constants + row->first};

  for (PetscInt l = 0; l < 9; l++) r.x[l] = HJSystemLine(s, j, l, c);
  if (a->storage == HJ_COEFFICIENTS_ARRAYS) {
    r.centre = a->value + HJSlotBegin(a, order[0]) + at;
    for (PetscInt e = 1; e < row->n; e++) r.v[e - 1] = a->value + HJSlotBegin(a, order[e]) + at;
  }
  s->kernels->product[s->p->b ? 1 : 0][a->storage][row->alone][a->dim - 1](&r);
}

/* The terms first to last - 1 of a component of line j, whose first point is at */
static void HJSystemSetTerms(const HJSystemProduct *s, PetscInt first, PetscInt last, PetscInt j, PetscCount at)
{
  const PetscInt ring = s->together + 2;
  PetscCount     line[3];

  for (PetscInt dy = 0; dy < 3; dy++) line[dy] = (PetscCount)((j + dy - 1 + ring) % ring) * s->dof * s->width;
  for (PetscInt q = first; q < last; q++) {
    s->terms[q - first]   = s->x[q] + line[s->dy[q]];
    s->factors[q - first] = s->array[q] + at;
  }
}

/* y = b + alpha times the row's products, of a component of lines lo to hi - 1, where it has one row for all points */
static const PetscScalar *HJSystemSumRow(const HJSystemProduct *s, PetscInt c, PetscInt lo, PetscInt hi)
{
  const HJSystemRow *row = &s->row[c];

  for (PetscInt j = lo; j < hi; j++) {
    PetscScalar *y = s->y[0] + (j - lo) * s->n, *b = s->b + (j - lo) * s->n;

    HJSystemSetTerms(s, row->first, row->first + row->n, j, 0);
    s->kernels->sum(s->n, row->n, s->constants + row->first, s->terms, y);
    for (PetscInt i = 0; i < s->n; i++) y[i] = b[i] + s->p->alpha * y[i];
  }
  return s->y[0];
}

/* b / -alpha, in s->b, less the products of arrays, some arrays at a time */
static const PetscScalar *HJSystemSumArrays(const HJSystemProduct *s, PetscInt c, PetscInt lo, PetscInt hi, PetscCount at)
{
  const HJSystemRow *row  = &s->row[c];
  const PetscInt     end  = row->first + row->n;
  const PetscScalar *from = s->b;
  PetscScalar       *to   = s->y[0];

  for (PetscInt first = row->first, last; first < end; first = last) {
    last = PetscMin(first + HJ_SYSTEM_ARRAYS, end);
    for (PetscInt j = lo; j < hi; j++) {
      const PetscInt i = (j - lo) * s->n;

      HJSystemSetTerms(s, first, last, j, at + i);
      s->kernels->sum_less(s->n, last - first, s->factors, s->terms, from + i, to + i);
    }
    from = to;
    to   = from == s->y[0] ? s->y[1] : s->y[0];
  }
  return from;
}

/* Lines lo to hi - 1 of plane k */
static void HJSystemProductLines(const HJSystemProduct *s, PetscInt lo, PetscInt hi, PetscInt k)
{
  const HJProduct *p    = s->p;
  const PetscInt   size = (hi - lo) * s->n, dof = s->dof;
  const PetscCount at = ((PetscCount)k * p->shell->width[1] + lo) * s->n;

  for (PetscInt c = 0; c < dof; c++) {
    const PetscBool   alone = (PetscBool)(s->row[c].alone >= 0), less = (PetscBool)(!alone && p->a->storage == HJ_COEFFICIENTS_ARRAYS);
    const PetscScalar scale = less ? -p->alpha : 1.0, *b = p->b ? p->b + at * dof + c : NULL, *from = s->y[0];
    PetscScalar      *y = p->y + at * dof + c;

    for (PetscInt i = 0; i < size && b; i++) s->b[i] = b[i * dof] / scale; /* without b it is 0 */
    if (less) from = HJSystemSumArrays(s, c, lo, hi, at);
    else if (!alone) from = HJSystemSumRow(s, c, lo, hi);
    for (PetscInt j = lo, i = 0; j < hi && alone; j++, i += s->n) HJSystemAlone(s, c, j, at + i, s->b + i, s->y[0] + i);
    for (PetscInt i = 0; i < size; i++) y[i * dof] = scale * from[i];
  }
}

PetscErrorCode HJHostSystemProduct(const HJProduct *p)
{
  HJSystemProduct s;

  PetscFunctionBegin;
  PetscCall(HJSystemProductOpen(p, &s));
  for (PetscInt k = 0; k < p->shell->width[2]; k++) {
    for (PetscInt lo = 0, hi; lo < p->shell->width[1]; lo = hi) {
      hi = PetscMin(lo + s.together, p->shell->width[1]);
      for (PetscInt j = lo; j < hi; j++) HJSystemSpreadNext(&s, j, k);
      HJSystemProductLines(&s, lo, hi, k);
    }
  }
  PetscCall(HJSystemProductClose(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

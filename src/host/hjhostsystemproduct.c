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

typedef struct {
  const HJProduct     *p;
  const HJHostKernels *kernels;
  PetscInt             n, dof, width; /* points of a line, with those before and after */
  HJSystemRow         *row;           /* [dof] */
  PetscInt            *order;         /* [nslots] slots, by the order of columns in the rows of AIJ; those of a row alone by offsets */
  PetscInt            *line, *side;   /* [nslots] number of the line as in HJHostRow; points along it */
  const PetscScalar  **factors, **terms;
  PetscScalar         *constants; /* [nslots] */
  PetscScalar         *lines;     /* [planes][3][dof][width], a line at its number modulo 3 */
  PetscScalar         *b, *y;     /* [n] of a component */
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

/* The place of a slot's column in a row of AIJ */
static inline PetscInt HJSystemColumn(const HJCoefficients *a, PetscInt slot)
{
  PetscInt off[3];

  HJSlotOffset(a, slot, off);
  return ((off[2] * 3 + off[1]) * 3 + off[0]) * a->dof + a->entry[slot].column;
}

static void HJSystemProductSetRow(HJSystemProduct *s, PetscInt c, PetscInt first)
{
  const HJCoefficients *a     = s->p->a;
  PetscInt             *order = s->order + first, n = 0;

  for (PetscInt slot = 0; slot < a->nslots; slot++) n += a->entry[slot].row == c;
  s->row[c] = (HJSystemRow){.first = first, .n = n, .alone = HJSystemRowAlone(a, c, n, order)};
  if (s->row[c].alone >= 0) return;
  n = 0;
  for (PetscInt slot = 0; slot < a->nslots; slot++) {
    const PetscInt column = HJSystemColumn(a, slot);
    PetscInt       q      = n;

    if (a->entry[slot].row != c) continue;
    for (n++; q > 0 && HJSystemColumn(a, order[q - 1]) > column; q--) order[q] = order[q - 1];
    order[q] = slot;
  }
}

static PetscErrorCode HJSystemProductOpen(const HJProduct *p, HJSystemProduct *s)
{
  const HJCoefficients *a      = p->a;
  const PetscInt        planes = a->dim > 2 ? 3 : 1;
  PetscInt              first  = 0;

  PetscFunctionBegin;
  *s = (HJSystemProduct){.p = p, .kernels = HJHostPickKernels(), .n = p->shell->width[0], .dof = a->dof, .width = p->shell->width[0] + 2};
  PetscCall(PetscMalloc5(s->dof, &s->row, a->nslots, &s->order, a->nslots, &s->line, a->nslots, &s->side, a->nslots, &s->constants));
  PetscCall(
    PetscMalloc5(a->nslots, &s->factors, a->nslots, &s->terms, planes * 3 * s->dof * s->width, &s->lines, s->n, &s->b, s->n, &s->y));
  for (PetscInt c = 0; c < s->dof; c++) {
    HJSystemProductSetRow(s, c, first);
    first += s->row[c].n;
  }
  for (PetscInt e = 0; e < a->nslots; e++) {
    PetscInt off[3];

    HJSlotOffset(a, s->order[e], off);
    s->line[e]      = (off[2] + 1) * 3 + off[1] + 1;
    s->side[e]      = off[0];
    s->constants[e] = a->storage == HJ_COEFFICIENTS_ROW ? a->rows[s->order[e]] : 0.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSystemProductClose(HJSystemProduct *s)
{
  PetscFunctionBegin;
  PetscCall(PetscFree5(s->row, s->order, s->line, s->side, s->constants));
  PetscCall(PetscFree5(s->factors, s->terms, s->lines, s->b, s->y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the first point of a component of the line dy, dz away from line j lies */
static inline PetscScalar *HJSystemLine(const HJSystemProduct *s, PetscInt j, PetscInt l, PetscInt c)
{
  const PetscInt plane = s->p->a->dim > 2 ? l / 3 : 0, at = (j + l % 3 - 1 + 3) % 3;

  return s->lines + ((plane * 3 + at) * s->dof + c) * s->width + 1;
}

/* Takes a line dy, dz away from line j of plane k apart */
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

/* y of a component as one unknown a point has it */
static void HJSystemAlone(const HJSystemProduct *s, PetscInt c, PetscInt j, PetscCount at)
{
  const HJCoefficients *a     = s->p->a;
  const HJSystemRow    *row   = &s->row[c];
  const PetscInt       *order = s->order + row->first;
  HJHostRow             r     = {.n = s->n, .b = s->p->b ? s->b : NULL, .y = s->y, .w = s->p->alpha, .c = s->constants + row->first};

  for (PetscInt l = 0; l < 9; l++) r.x[l] = HJSystemLine(s, j, l, c);
  if (a->storage == HJ_COEFFICIENTS_ARRAYS) {
    r.centre = a->value + HJSlotBegin(a, order[0]) + at;
    for (PetscInt e = 1; e < row->n; e++) r.v[e - 1] = a->value + HJSlotBegin(a, order[e]) + at;
  }
  s->kernels->product[s->p->b ? 1 : 0][a->storage][row->alone][a->dim - 1](&r);
}

/* y = b - sum of the row's products, b being what makes it alpha times what is asked for */
static void HJSystemSum(const HJSystemProduct *s, PetscInt c, PetscInt j, PetscCount at)
{
  const HJCoefficients *a   = s->p->a;
  const HJSystemRow    *row = &s->row[c];

  for (PetscInt e = 0; e < row->n; e++) {
    const PetscInt q = row->first + e;

    s->terms[e] = HJSystemLine(s, j, s->line[q], a->entry[s->order[q]].column) + s->side[q];
    if (a->storage == HJ_COEFFICIENTS_ARRAYS) s->factors[e] = a->value + HJSlotBegin(a, s->order[q]) + at;
  }
  if (a->storage == HJ_COEFFICIENTS_ARRAYS) s->kernels->sum_less(s->n, row->n, s->factors, s->terms, s->b, s->y);
  else s->kernels->sum(s->n, row->n, s->constants + row->first, s->terms, s->y);
}

/* Line j of plane k */
static void HJSystemProductLine(const HJSystemProduct *s, PetscInt j, PetscInt k)
{
  const HJProduct *p     = s->p;
  const PetscCount at    = ((PetscCount)k * p->shell->width[1] + j) * s->n;
  const PetscBool  rows  = (PetscBool)(p->a->storage != HJ_COEFFICIENTS_ARRAYS);
  const PetscReal  alpha = p->alpha;

  for (PetscInt c = 0; c < s->dof; c++) {
    const PetscScalar *b = p->b ? p->b + at * s->dof + c : NULL;
    PetscScalar       *y = p->y + at * s->dof + c;

    for (PetscInt i = 0; i < s->n; i++) s->b[i] = b ? b[i * s->dof] : 0.0;
    if (s->row[c].alone >= 0) HJSystemAlone(s, c, j, at);
    else {
      for (PetscInt i = 0; i < s->n && alpha != -1.0 && !rows; i++) s->b[i] = -s->b[i] / alpha;
      HJSystemSum(s, c, j, at);
      for (PetscInt i = 0; i < s->n && alpha != -1.0 && !rows; i++) s->y[i] *= -alpha;
      for (PetscInt i = 0; i < s->n && rows; i++) s->y[i] = s->b[i] + alpha * s->y[i];
    }
    for (PetscInt i = 0; i < s->n; i++) y[i * s->dof] = s->y[i];
  }
}

PetscErrorCode HJHostSystemProduct(const HJProduct *p)
{
  HJSystemProduct s;

  PetscFunctionBegin;
  PetscCall(HJSystemProductOpen(p, &s));
  for (PetscInt k = 0; k < p->shell->width[2]; k++) {
    for (PetscInt j = 0; j < p->shell->width[1]; j++) {
      HJSystemSpreadNext(&s, j, k);
      HJSystemProductLine(&s, j, k);
    }
  }
  PetscCall(HJSystemProductClose(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

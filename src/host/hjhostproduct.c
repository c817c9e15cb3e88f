/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Products of a matrix of stencil coefficients with a vector, line by line. The lines around a line lie in the vector or among its ghosts;
   its first and last point, whose neighbours along the line are ghosts, are done apart.
*/
#include "hjhostproduct.h"

/* Points of a dictionary's line that are one run from so many on; shorter ones look their rows up one by one */
#define HJ_PRODUCT_MIN_RUN 16

/* First place after i whose row is not that of i, at most n */
static PetscInt HJProductRunEnd(const unsigned char *index, PetscInt i, PetscInt n)
{
  PetscInt e = i + 1;

  /* All, or all but the one before a wall: most lines, found quickly */
  if (e == n) return n;
  if (!memcmp(index + e, index + i, (size_t)(n - 1 - e))) return index[n - 1] == index[i] ? n : n - 1;
  while (e + 8 < n && !memcmp(index + e, index + e - 1, 8)) e += 8;
  while (e < n && index[e] == index[i]) e++;
  return e;
}

/* n points by one row, by so many farther on than r is, which goes there; row < 0: each looks up its own */
static void HJProductRow(const HJHostProductArgs *p, HJHostRow *r, PetscInt by, PetscInt n, PetscInt row)
{
  r->n = n;
  r->y += by;
  if (r->b) r->b += by;
  for (int i = 0; i < p->nlines; i++) r->x[p->line[i]] += by;
  r->index += by;
  r->c = p->a->rows + (row >= 0 ? row * p->a->nslots : 0);
  (*p->kernel[row >= 0 ? HJ_COEFFICIENTS_ROW : HJ_COEFFICIENTS_DICTIONARY])(r);
}

/* A dictionary's points, run by run */
static void HJProductRuns(const HJHostProductArgs *p, HJHostRow *r)
{
  const unsigned char *index = r->index;
  const PetscInt       n     = r->n;
  PetscInt             mixed = 0, here = 0; /* first point that waits for a run to end; where r is */

  for (PetscInt i = 0, end; i < n; i = end) {
    end = HJProductRunEnd(index, i, n);
    if (end - i < HJ_PRODUCT_MIN_RUN && end < n) continue;
    if (end - i < HJ_PRODUCT_MIN_RUN) i = end;
    if (mixed < i) {
      HJProductRow(p, r, mixed - here, i - mixed, -1);
      here = mixed;
    }
    if (i < end) {
      HJProductRow(p, r, i - here, end - i, index[i]);
      here = i;
    }
    mixed = end;
  }
}

/* Points whose neighbours along the line can be read; at: place of the first in the arrays. Changes r */
static void HJProductPoints(const HJHostProductArgs *p, HJHostRow *r, PetscCount at)
{
  const HJCoefficients *a = p->a;

  r->c = a->rows;
  if (a->storage == HJ_COEFFICIENTS_DICTIONARY) {
    r->index = a->index + at;
    HJProductRuns(p, r);
  } else if (a->storage == HJ_COEFFICIENTS_ARRAYS) {
    r->centre = a->value + at;
    for (PetscInt o = 1; o < a->nslots; o++) r->v[o - 1] = a->value + HJSlotBegin(a, o) + at;
    (*p->kernel[HJ_COEFFICIENTS_ARRAYS])(r);
  } else (*p->kernel[HJ_COEFFICIENTS_ROW])(r);
}

/* Points [lo, lo + n) of a line whose row is r, their neighbours from x on */
static void HJProductPart(const HJHostProductArgs *p, HJHostRow *r, const PetscScalar *const x[9], PetscInt lo, PetscInt n, PetscCount at)
{
  const PetscScalar *b = r->b;
  PetscScalar       *y = r->y;

  for (int i = 0; i < p->nlines; i++) r->x[p->line[i]] = x[p->line[i]];
  r->n = n;
  r->y = y + lo;
  if (b) r->b = b + lo;
  HJProductPoints(p, r, at + lo);
  r->y = y;
  r->b = b;
}

/* The first or last point of a line, at place i. Its neighbours from x on are not needed where its row is a diagonal alone, as at walls */
static void HJProductEnd(const HJHostProductArgs *p, HJHostRow *r, const PetscScalar *const x[9], const PetscScalar *own, PetscInt i,
                         PetscCount at)
{
  const PetscInt row = p->few ? p->a->index[at + i] : 0;

  if (p->few && p->alone[row]) r->y[i] = r->w * (p->a->rows[row * p->a->nslots] * own[i]);
  else HJProductPart(p, r, x, i, 1, at);
}

void HJHostProductLine(const HJHostProductArgs *p, HJHostRow *r, const PetscScalar ends[2][9][3], PetscCount at)
{
  const PetscInt     n   = p->n;
  const PetscScalar *own = r->x[4];
  const PetscScalar *x[3][9]; /* of the first point, the last, and those between */

  for (int i = 0; i < p->nlines; i++) {
    const int l = p->line[i];

    for (int side = 0; side < 2; side++) x[side][l] = HJHostProductNeedsEnds(p->a, l) ? ends[side][l] + 1 : r->x[l] + (side ? n - 1 : 0);
    x[2][l] = r->x[l] + 1;
  }
  HJProductEnd(p, r, x[0], own, 0, at);
  if (n > 1) HJProductEnd(p, r, x[1], own, n - 1, at);
  if (n > 2) HJProductPart(p, r, x[2], 1, n - 2, at);
}

void HJHostProductSet(const HJCoefficients *a, PetscInt n, PetscBool b, HJHostProductArgs *p)
{
  *p = (HJHostProductArgs){.a = a, .n = n};
  for (int t = 0; t < 3; t++) p->kernel[t] = HJHostPickKernels()->product[b ? 1 : 0][t][a->shape == HJ_BOX][a->dim - 1];
  for (int l = 0; l < 9; l++)
    if (HJHostProductNeedsLine(a, l % 3 - 1, l / 3 - 1)) p->line[p->nlines++] = l;
  p->few = (PetscBool)(a->storage == HJ_COEFFICIENTS_DICTIONARY && !b);
  for (PetscInt m = 0; m < a->nrows && p->few; m++) {
    PetscInt s = 1;

    while (s < a->nslots && a->rows[m * a->nslots + s] == 0.0) s++;
    p->alone[m] = s == a->nslots;
  }
}

/* Most lines have no ghosts but before and after them */
void HJHostProductOwnLine(const HJProduct *p, HJHostProductArgs *args, PetscInt j, PetscInt k)
{
  const HJShell   *s      = p->shell;
  const PetscInt   n      = args->n;
  const PetscCount at     = ((PetscCount)k * s->width[1] + j) * n;
  const PetscBool  inside = (PetscBool)((s->dim < 2 || (j > 0 && j < s->width[1] - 1)) && (s->dim < 3 || (k > 0 && k < s->width[2] - 1)));
  HJHostRow       *r      = &args->row;
  PetscScalar      end[2][9][3];

  r->y = p->y + at;
  r->b = p->b ? p->b + at : NULL;
  r->w = p->alpha;
  for (int i = 0; i < args->nlines; i++) {
    const int  l = args->line[i], dy = l % 3 - 1, dz = l / 3 - 1;
    PetscCount before[2];

    if (inside) r->x[l] = p->x + at + ((PetscCount)dz * s->width[1] + dy) * n;
    else {
      const HJShellLine line = HJShellGetLine(s, j + dy, k + dz);

      r->x[l] = (line.ghost ? p->ghost : p->x) + line.at;
    }
    if (!HJHostProductNeedsEnds(args->a, l)) continue;
    for (int side = 0; side < 2; side++) before[side] = HJShellIndex(s, side ? n : -1, j + dy, k + dz);
    HJHostProductEnds(r->x[l], n, p->ghost[before[0]], p->ghost[before[1]], end[0][l], end[1][l]);
  }
  HJHostProductLine(args, r, end, at);
}

PetscErrorCode HJHostProduct(const HJProduct *p)
{
  const HJShell    *s = p->shell;
  HJHostProductArgs args;

  PetscFunctionBegin;
  if (p->region == HJ_PRODUCT_INTERIOR) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->a->entry) {
    PetscCall(HJHostSystemProduct(p));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  HJHostProductSet(p->a, s->width[0], (PetscBool)(p->b != NULL), &args);
  for (PetscInt k = 0; k < s->width[2]; k++)
    for (PetscInt j = 0; j < s->width[1]; j++) HJHostProductOwnLine(p, &args, j, k);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* to[i] += alpha times the slot's coefficient at the point times x, over n points from at on; to: component 0 of the first */
static void HJProductScatter(const HJProduct *p, PetscInt slot, PetscInt n, PetscCount at, PetscScalar *to)
{
  const HJCoefficients *a = p->a;
  const PetscScalar    *x = p->x + at * HJCoefficientsDof(a);

  if (a->entry) {
    const PetscInt     dof = a->dof, row = a->entry[slot].row, column = a->entry[slot].column;
    const PetscBool    one = (PetscBool)(a->storage == HJ_COEFFICIENTS_ROW);
    const PetscScalar *c   = one ? a->rows + slot : a->value + HJSlotBegin(a, slot) + at;

    for (PetscInt i = 0; i < n; i++) to[i * dof + column] += p->alpha * c[one ? 0 : i] * x[i * dof + row];
  } else if (a->storage == HJ_COEFFICIENTS_ARRAYS) {
    const PetscScalar *c = a->value + HJSlotBegin(a, slot) + at;

    for (PetscInt i = 0; i < n; i++) to[i] += p->alpha * c[i] * x[i];
  } else if (a->storage == HJ_COEFFICIENTS_ROW) {
    const PetscScalar c = p->alpha * a->rows[slot];

    for (PetscInt i = 0; i < n; i++) to[i] += c * x[i];
  } else {
    const PetscScalar   *c     = a->rows + slot;
    const unsigned char *index = a->index + at;

    for (PetscInt i = 0; i < n; i++) to[i] += p->alpha * c[index[i] * a->nslots] * x[i];
  }
}

/* What the points of a line give to their neighbours at one offset */
static void HJProductScatterLine(const HJProduct *p, PetscInt slot, PetscInt j, PetscInt k)
{
  const PetscInt   n = p->shell->width[0], dof = HJCoefficientsDof(p->a);
  const PetscCount at = ((PetscCount)k * p->shell->width[1] + j) * n;
  HJShellLine      line;
  PetscInt         off[3], lo, hi; /* points [lo, hi) have their neighbour on the line */
  PetscScalar     *to;

  HJSlotOffset(p->a, slot, off);
  line = HJShellGetLine(p->shell, j + off[1], k + off[2]);
  to   = (line.ghost ? p->ghost : p->y) + dof * line.at;
  lo   = off[0] < 0;
  hi   = n - (off[0] > 0);
  HJProductScatter(p, slot, hi - lo, at + lo, to + dof * (lo + off[0]));
  if (lo) HJProductScatter(p, slot, 1, at, p->ghost + dof * line.before[0]);
  if (hi < n) HJProductScatter(p, slot, 1, at + n - 1, p->ghost + dof * line.before[1]);
}

/* What ghosts returned, point by point in one order */
static void HJProductAddReturns(const HJProduct *p)
{
  const HJProductReturns *r   = p->returns;
  const PetscInt          dof = HJCoefficientsDof(p->a);

  for (PetscInt i = 0; i < r->n; i++) {
    for (PetscInt v = r->first[i]; v < r->first[i + 1]; v++)
      for (PetscInt l = 0; l < dof; l++) p->y[r->point[i] * dof + l] += r->value[v * dof + l];
  }
}

PetscErrorCode HJHostProductTranspose(const HJProduct *p)
{
  const HJCoefficients *a   = p->a;
  const HJShell        *s   = p->shell;
  const PetscInt        dof = HJCoefficientsDof(a);

  PetscFunctionBegin;
  if (p->region == HJ_PRODUCT_RETURNS) {
    HJProductAddReturns(p);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscArrayzero(p->ghost, s->size * dof));
  if (!p->b) PetscCall(PetscArrayzero(p->y, a->npoints * dof));
  else if (p->b != p->y) PetscCall(PetscArraycpy(p->y, p->b, a->npoints * dof));
  for (PetscInt k = 0; k < s->width[2]; k++) {
    for (PetscInt j = 0; j < s->width[1]; j++) {
      for (PetscInt slot = 0; slot < a->nslots; slot++) HJProductScatterLine(p, slot, j, k);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

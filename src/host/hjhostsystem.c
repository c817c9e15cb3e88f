/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Lines of points with several unknowns: which lines a row multiplies, and by what. A component that is coupled to no other is done by the
   kernels of one unknown a point, and so has their numbers.
*/
#include "hjhostsweep.h"
#include "core/hjblock.h"

void HJHostSystemSpread(PetscInt dof, PetscInt n, const PetscScalar *from, PetscScalar *to, PetscCount apart)
{
  for (PetscInt c = 0; c < dof; c++, to += apart)
    for (PetscInt i = 0; i < n; i++) to[i] = from[i * dof + c];
}

void HJHostSystemJoin(PetscInt dof, PetscInt n, const PetscScalar *from, PetscCount apart, PetscScalar *to)
{
  for (PetscInt c = 0; c < dof; c++, from += apart)
    for (PetscInt i = 0; i < n; i++) to[i * dof + c] = from[i];
}

/* The shape whose neighbours are all of component c's, which are c's own; -1: there is none */
static int HJHostSystemAlone(const HJStencil *st, PetscInt c, const HJHostComponent *p)
{
  const HJEntry *e = st->entry + p->first;

  if (p->ninverse != 1 || st->entry[p->inverse].column != c) return -1;
  for (int shape = st->shape == HJ_BOX; shape >= 0; shape--) {
    PetscBool is = (PetscBool)(p->n == HJShapeSlots(st->dim, (HJShape)shape) - 1);

    for (PetscInt o = 1; o <= p->n && is; o++)
      is = (PetscBool)(e[o - 1].column == c &&
                       HJShapeBoxSlot(st->dim, st->shape, e[o - 1].slot) == HJShapeBoxSlot(st->dim, (HJShape)shape, o));
    if (is) return shape;
  }
  return -1;
}

PetscErrorCode HJHostSystemSet(HJHost *h)
{
  const HJStencil *st      = &h->st;
  PetscInt         inverse = 0, first = st->ninverse;

  PetscFunctionBegin;
  PetscCall(HJHostSystemReset(h));
  h->width = 0;
  PetscCall(PetscMalloc1(st->dof, &h->component));
  PetscCall(PetscMalloc2(st->nentries, &h->line, st->nentries, &h->side));
  PetscCall(PetscMalloc2(st->nentries + 1, &h->terms, st->nentries + 1, &h->factors));
  for (PetscInt c = 0; c < st->dof; c++) {
    HJHostComponent *p = &h->component[c];

    *p = (HJHostComponent){.inverse = inverse, .first = first, .table = h->width};
    while (inverse < st->ninverse && st->entry[inverse].row == c) inverse++;
    while (first < st->nentries && st->entry[first].row == c) first++;
    p->ninverse = inverse - p->inverse;
    p->n        = first - p->first;
    p->alone    = HJHostSystemAlone(st, c, p);
    h->width += p->ninverse + 1 + p->n;
  }
  for (PetscInt e = 0; e < st->nentries; e++) {
    PetscInt off[3];

    HJShapeOffset(st->dim, st->shape, st->entry[e].slot, off);
    h->line[e] = (off[2] + 1) * 3 + off[1] + 1;
    h->side[e] = off[0];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHostSystemReset(HJHost *h)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(h->component));
  PetscCall(PetscFree2(h->line, h->side));
  PetscCall(PetscFree2(h->terms, h->factors));
  PetscCall(PetscFree(h->lines));
  h->lines_size = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factors of b, of x and of the neighbours of each component, [count][component][nrows], times the weight */
PetscErrorCode HJHostSystemFillTable(HJHost *h, const HJSweep *s)
{
  const HJStencil *st = &h->st;
  PetscScalar     *to;

  PetscFunctionBegin;
  PetscCall(HJHostReserve(&h->table, &h->table_size, (PetscCount)s->count * st->nrows * h->width));
  to = h->table;
  for (PetscInt j = 0; j < s->count; j++) {
    for (const HJHostComponent *p = h->component; p < h->component + st->dof; p++) {
      for (PetscInt r = 0; r < st->nrows; r++) {
        const PetscScalar *row = st->rows + r * st->nentries;

        for (PetscInt e = 0; e < p->ninverse; e++) *to++ = s->w[j] * row[p->inverse + e];
        *to++ = 1.0 - s->w[j];
        for (PetscInt e = 0; e < p->n; e++) *to++ = -s->w[j] * row[p->first + e];
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHostSystemReserveLines(HJHost *h, PetscInt n)
{
  PetscFunctionBegin;
  PetscCall(HJHostReserve(&h->lines, &h->lines_size, (PetscCount)3 * h->st.dof * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The lines that a component is summed from, at point lo: those of b that D^-1 needs, its own, the neighbours' */
static PetscInt HJHostSystemTerms(const HJHost *h, const HJHostRow *line, PetscInt c, PetscInt lo, PetscBool zero)
{
  const HJHostComponent *p     = &h->component[c];
  const HJEntry         *entry = h->st.entry;
  PetscInt               m     = 0;

  for (PetscInt e = p->inverse; e < p->inverse + p->ninverse; e++) h->terms[m++] = line->b + entry[e].column * line->bnext + lo;
  if (zero) return m;
  h->terms[m++] = line->x[4] + c * line->xnext + lo;
  for (PetscInt e = p->first; e < p->first + p->n; e++)
    h->terms[m++] = line->x[h->line[e]] + entry[e].column * line->xnext + h->side[e] + lo;
  return m;
}

/* The same as a row of one unknown a point */
static HJHostRow HJHostSystemRow(const HJHostRow *line, PetscInt c, PetscInt lo, PetscInt n, PetscBool zero)
{
  HJHostRow r = {.n = n, .b = line->b + c * line->bnext + lo, .y = line->y + c * line->ynext + lo, .w = line->w};

  for (int l = 0; l < 9 && !zero; l++) r.x[l] = line->x[l] ? line->x[l] + c * line->xnext + lo : NULL;
  return r;
}

void HJHostSystemRun(const HJHost *h, const HJHostRow *line, int row, PetscInt lo, PetscInt hi, PetscCount at, PetscBool zero)
{
  const HJHostKernels *k = h->kernels;
  const PetscInt       d = h->st.dim - 1;

  for (PetscInt c = 0; c < h->st.dof; c++) {
    const HJHostComponent *p     = &h->component[c];
    const PetscInt         width = p->ninverse + 1 + p->n;
    HJHostRow              r     = HJHostSystemRow(line, c, lo, hi - lo, zero);
    PetscInt               m;

    r.c     = line->c + p->table * h->st.nrows + (row < 0 ? 0 : (PetscCount)row * width);
    r.index = h->st.index + at + lo;
    if (p->alone >= 0 && row >= 0) (zero ? k->constant_zero : k->constant[p->alone][d])(&r);
    else if (p->alone >= 0) (zero ? k->indexed_zero[p->alone][d] : k->indexed[p->alone][d])(&r);
    else {
      m = HJHostSystemTerms(h, line, c, lo, zero);
      if (row >= 0) k->sum(r.n, m, r.c, h->terms, r.y);
      else k->sum_indexed(r.n, m, width, r.c, r.index, h->terms, r.y);
    }
  }
}

/* b less what the neighbours add, of all components that another one's D^-1 or their own needs, in the last lines of h->lines */
static void HJHostSystemResidual(const HJHost *h, const HJHostRow *line, PetscCount at, PetscScalar *sums)
{
  const HJStencil *st = &h->st;

  for (PetscInt c = 0; c < st->dof; c++) {
    const HJHostComponent *p = &h->component[c];

    for (PetscInt e = 0; e < p->n; e++) {
      const PetscInt entry = p->first + e;

      h->terms[e]   = line->x[h->line[entry]] + st->entry[entry].column * line->xnext + h->side[entry];
      h->factors[e] = HJStencilValues(st, entry, at);
    }
    h->kernels->sum_less(line->n, p->n, h->factors, h->terms, line->b + c * line->bnext, sums + c * line->n);
  }
}

void HJHostSystemVariable(const HJHost *h, const HJHostRow *line, PetscCount at, PetscBool zero)
{
  const HJStencil *st   = &h->st;
  PetscScalar     *sums = h->lines + 2 * st->dof * line->n;
  PetscBool        done = PETSC_FALSE;

  for (PetscInt c = 0; c < st->dof; c++) {
    const HJHostComponent *p = &h->component[c];
    HJHostRow              r = HJHostSystemRow(line, c, 0, line->n, zero);

    r.dinv = HJStencilValues(st, p->inverse, at);
    if (p->alone >= 0) {
      for (PetscInt e = 0; e < p->n; e++) r.v[e] = HJStencilValues(st, p->first + e, at);
      (zero ? h->kernels->variable_zero : h->kernels->variable[p->alone][st->dim - 1])(&r);
      continue;
    }
    if (!done && !zero) HJHostSystemResidual(h, line, at, sums);
    done = PETSC_TRUE;
    for (PetscInt e = 0; e < p->ninverse; e++) {
      const PetscInt column = st->entry[p->inverse + e].column;

      h->factors[e] = HJStencilValues(st, p->inverse + e, at);
      h->terms[e]   = zero ? line->b + column * line->bnext : sums + column * line->n;
    }
    h->kernels->sum_relaxed(r.n, p->ninverse, h->factors, h->terms, r.w, zero ? NULL : r.x[4], r.y);
  }
}

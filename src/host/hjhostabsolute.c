/*
   y = |D^-1 A| x of the host backend, for bounds of the spectrum: line by line, one neighbour at a time. Used in set-up alone.
*/
#include "hjhostkernels.h"

/* Points that are done at a time: their sums stay in the first-level cache */
#define HJ_CHUNK 512

/*
   Sums of |a| x over one neighbour of n points; index: the points' rows in a table with a row every stride, NULL: one coefficient a
   point; x NULL: 1
*/
static void HJAbsoluteAdd(PetscInt n, const PetscScalar *a, const unsigned char *index, PetscInt stride, const PetscScalar *x,
                          PetscScalar *sum)
{
  if (index && x)
    for (PetscInt i = 0; i < n; i++) sum[i] += PetscAbsScalar(a[index[i] * stride]) * x[i];
  else if (index)
    for (PetscInt i = 0; i < n; i++) sum[i] += PetscAbsScalar(a[index[i] * stride]);
  else if (x)
    for (PetscInt i = 0; i < n; i++) sum[i] += PetscAbsScalar(a[i]) * x[i];
  else
    for (PetscInt i = 0; i < n; i++) sum[i] += PetscAbsScalar(a[i]);
}

/* The neighbour o of n points from p on, added to their sums; only those whose neighbour is in the domain */
static void HJAbsoluteNeighbor(const HJGrid *grid, const HJStencil *st, const HJSweep *s, const PetscInt p[3], PetscInt n, PetscInt o,
                               PetscScalar *sum)
{
  const PetscBool own = (PetscBool)(st->storage != HJ_SYMMETRIC || HJStencilUpper(st, o)); /* else the coefficient is the neighbour's */
  PetscInt        off[3], q[3], lo, hi;
  PetscCount      at;

  HJStencilOffset(st->dim, st->shape, o, off);
  for (int d = 0; d < 3; d++) q[d] = p[d] + off[d];
  if (q[1] < grid->domain.lo[1] || q[1] >= grid->domain.hi[1] || q[2] < grid->domain.lo[2] || q[2] >= grid->domain.hi[2]) return;
  lo = PetscMax(grid->domain.lo[0] - q[0], 0);
  hi = PetscMin(grid->domain.hi[0] - q[0], n);
  if (lo >= hi) return;
  q[0] += lo;
  at = own ? HJBoxIndex(&st->box, p[0] + lo, p[1], p[2]) : HJBoxIndex(&st->box, q[0], q[1], q[2]);
  if (st->storage == HJ_DICTIONARY)
    HJAbsoluteAdd(hi - lo, st->rows + 1 + o, st->index + at, 1 + st->nneighbors, s->x ? HJSweepLine(s, st->dim, s->x, s->xghost, q) : NULL,
                  sum + lo);
  else
    HJAbsoluteAdd(hi - lo, st->value[own ? o : HJStencilOpposite(st, o)] + at, NULL, 0,
                  s->x ? HJSweepLine(s, st->dim, s->x, s->xghost, q) : NULL, sum + lo);
}

/*
   n points from p on; returns the largest y / x, infinity where one is no finite number. An infinite diagonal shows in
   an inverse diagonal of zero, or in a dictionary's centre that is NaN
*/
static PetscReal HJAbsolutePoints(const HJGrid *grid, const HJStencil *st, const HJSweep *s, const PetscInt p[3], PetscInt n)
{
  const PetscScalar   *x          = s->x ? HJSweepLine(s, st->dim, s->x, s->xghost, p) : NULL;
  const PetscBool      dictionary = (PetscBool)(st->storage == HJ_DICTIONARY);
  const PetscCount     at         = HJBoxIndex(&st->box, p[0], p[1], p[2]);
  const PetscScalar   *diagonal   = dictionary ? st->rows : st->dinv + at; /* centres, or inverse diagonal */
  const unsigned char *index      = dictionary ? st->index + at : NULL;
  PetscScalar         *y = s->y + HJBoxIndex(&s->ybox, p[0], p[1], p[2]), sum[HJ_CHUNK] = {0};
  PetscReal            ratio = 0;

  for (PetscInt o = 0; o < st->nneighbors; o++) HJAbsoluteNeighbor(grid, st, s, p, n, o, sum);
  for (PetscInt i = 0; i < n; i++) {
    const PetscScalar here = x ? x[i] : 1, d = dictionary ? diagonal[index[i] * (1 + st->nneighbors)] : diagonal[i];

    y[i] = here + (dictionary ? 1 : PetscAbsScalar(d)) * sum[i];
    if ((dictionary ? d == d : d != 0) && y[i] / here <= PETSC_MAX_REAL) ratio = PetscMax(y[i] / here, ratio);
    else ratio = HUGE_VAL; /* PETSC_INFINITY is finite */
  }
  return ratio;
}

PetscErrorCode HJHostAbsolute(const HJGrid *grid, const HJStencil *st, PetscInt n, const HJSweep s[], PetscReal *ratio)
{
  PetscInt p[3];

  PetscFunctionBegin;
  *ratio = 0;
  for (const HJSweep *t = s; t < s + n; t++) {
    for (p[2] = t->write.lo[2]; p[2] < t->write.hi[2]; p[2]++) {
      for (p[1] = t->write.lo[1]; p[1] < t->write.hi[1]; p[1]++) {
        for (p[0] = t->write.lo[0]; p[0] < t->write.hi[0]; p[0] += HJ_CHUNK) {
          const PetscReal here = HJAbsolutePoints(grid, st, t, p, PetscMin(HJ_CHUNK, t->write.hi[0] - p[0]));

          *ratio = PetscMax(*ratio, here);
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The scale of rows that are those of a symmetric matrix, but for rounding: from a point to the next one along a tree of pairs. Decides
   nothing: whoever asks looks whether it is one.
*/
#include "hjmg.h"

/* log|a / b|; the quotient may pass the range of numbers */
PetscReal HJMGLogQuotient(PetscReal a, PetscReal b)
{
  const PetscReal q = PetscAbsReal(a / b);

  return q > 1.0 / PETSC_MAX_REAL && q < PETSC_MAX_REAL ? PetscLogReal(q) : PetscLogReal(PetscAbsReal(a)) - PetscLogReal(PetscAbsReal(b));
}

/* The points of this rank, and for each slot by how many points its entry leads further */
typedef struct {
  const HJGrid         *grid;
  const HJCoefficients *a, *at;
  PetscInt              width[3], off[HJ_MAX_SLOTS][3], step[HJ_MAX_SLOTS];
  char                 *seen;
  PetscInt             *queue;
} HJMGTree;

/* The neighbours of a point that were not seen before, to the end of the queue. A pair says log(s_i) - log(s_j) */
static void HJMGTreeGrow(HJMGTree *t, PetscInt p, PetscScalar *logs, PetscInt *tail)
{
  const PetscInt at[3] = {p % t->width[0], p / t->width[0] % t->width[1], p / t->width[0] / t->width[1]};

  for (PetscInt s = 1; s < t->a->nslots; s++) {
    const PetscInt *off = t->off[s], q = p + t->step[s];
    PetscReal       a, b;

    if (!HJPointInside(&t->grid->owned, at[0] + off[0], at[1] + off[1], at[2] + off[2]) || t->seen[q]) continue;
    a = PetscRealPart(HJCoefficientAt(t->a, s, p));
    b = PetscRealPart(HJCoefficientAt(t->at, s, p));
    if (!(a > 0.0 ? b > 0.0 : a < 0.0 && b < 0.0)) continue;
    logs[q]             = a == b ? logs[p] : logs[p] - HJMGLogQuotient(a, b);
    t->seen[q]          = 1;
    t->queue[(*tail)++] = q;
  }
}

PetscErrorCode HJMGScaleAlongTree(const HJGrid *grid, const HJCoefficients *a, const HJCoefficients *at, Vec logs)
{
  const PetscCount n = HJBoxSize(&grid->owned);
  HJMGTree         t = {.grid = grid, .a = a, .at = at};
  PetscScalar     *v;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) t.width[d] = HJBoxWidth(&grid->owned, d);
  for (PetscInt s = 0; s < a->nslots; s++) {
    HJSlotOffset(a, s, t.off[s]);
    t.step[s] = t.off[s][0] + t.width[0] * (t.off[s][1] + t.width[1] * t.off[s][2]);
  }
  PetscCall(PetscCalloc1(n, &t.seen));
  PetscCall(PetscMalloc1(n, &t.queue));
  PetscCall(VecGetArray(logs, &v));
  for (PetscInt p = 0; p < n; p++) {
    PetscInt  tail = 1;
    PetscReal mean = 0.0;

    if (t.seen[p]) continue;
    t.seen[p]  = 1;
    t.queue[0] = p;
    v[p]       = 0.0;
    for (PetscInt head = 0; head < tail; head++) HJMGTreeGrow(&t, t.queue[head], v, &tail);
    for (PetscInt i = 0; i < tail; i++) mean += PetscRealPart(v[t.queue[i]]) / tail;
    for (PetscInt i = 0; i < tail; i++) v[t.queue[i]] -= mean;
  }
  PetscCall(VecRestoreArray(logs, &v));
  PetscCall(PetscFree(t.queue));
  PetscCall(PetscFree(t.seen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

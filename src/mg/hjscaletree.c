/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The scale of rows that are those of a symmetric matrix, but for rounding: from a point to the next one along a tree of pairs. Decides
   nothing: whoever asks looks whether it is one, here or in another way.
*/
#include "hjmg.h"
#include "core/hjagree.h"

/* log|a / b|; the quotient may pass the range of numbers */
PetscReal HJMGLogQuotient(PetscReal a, PetscReal b)
{
  const PetscReal q = PetscAbsReal(a / b);

  return q > 1.0 / PETSC_MAX_REAL && q < PETSC_MAX_REAL ? PetscLogReal(q) : PetscLogReal(PetscAbsReal(a)) - PetscLogReal(PetscAbsReal(b));
}

/* The points of this rank, and for each slot by how many points its entry leads further */
typedef struct {
  const HJGrid         *grid;
  const HJCoefficients *a;
  PetscInt              width[3], off[HJ_MAX_SLOTS][3], step[HJ_MAX_SLOTS], back[HJ_MAX_SLOTS];
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
    b = PetscRealPart(HJCoefficientAt(t->a, t->back[s], q));
    if (!(a > 0.0 ? b > 0.0 : a < 0.0 && b < 0.0)) continue;
    logs[q]             = a == b ? logs[p] : logs[p] - HJMGLogQuotient(a, b);
    t->seen[q]          = 1;
    t->queue[(*tail)++] = q;
  }
}

static HJMGTree HJMGTreeSet(const HJGrid *grid, const HJCoefficients *a)
{
  HJMGTree t = {.grid = grid, .a = a};

  for (int d = 0; d < 3; d++) t.width[d] = HJBoxWidth(&grid->owned, d);
  for (PetscInt s = 0; s < a->nslots; s++) {
    HJSlotOffset(a, s, t.off[s]);
    t.step[s] = t.off[s][0] + t.width[0] * (t.off[s][1] + t.width[1] * t.off[s][2]);
    t.back[s] = HJGridSlotBack(grid, a->shape, s);
  }
  return t;
}

/* Whether entry s of all points makes a pair with one of this rank, which scales make the same but for so much of it */
static PetscBool HJMGTreeAgrees(const HJMGTree *t, PetscInt s, PetscReal rounding, const PetscScalar scale[], PetscScalar count[])
{
  const HJBox     inside = HJCoefficientsInside(t->a, s, t->grid);
  const PetscInt *off    = t->off[s];
  PetscCount      p      = 0;

  for (PetscInt k = 0; k < t->width[2]; k++) {
    for (PetscInt j = 0; j < t->width[1]; j++) {
      for (PetscInt i = 0; i < t->width[0]; i++, p++) {
        const PetscReal a = PetscRealPart(HJCoefficientAt(t->a, s, p));
        PetscReal       b;

        if (a == 0.0 || !HJPointInside(&inside, i, j, k)) continue;
        if (!HJPointInside(&t->grid->owned, i + off[0], j + off[1], k + off[2])) return PETSC_FALSE;
        b = PetscRealPart(HJCoefficientAt(t->a, t->back[s], p + t->step[s]));
        if (!(a > 0.0 ? b > 0.0 : b < 0.0)) return PETSC_FALSE;
        if (!(PetscAbsReal(a * scale[p] - b * scale[p + t->step[s]]) <= rounding * PetscAbsReal(a * scale[p]))) return PETSC_FALSE;
        count[p] += 1.0;
      }
    }
  }
  return PETSC_TRUE;
}

PetscErrorCode HJMGScaleAgrees(const HJGrid *grid, const HJCoefficients *a, PetscReal rounding, Vec scale, Vec count, PetscBool *agrees)
{
  const HJMGTree     t = HJMGTreeSet(grid, a);
  const PetscScalar *by;
  PetscScalar       *n;

  PetscFunctionBegin;
  *agrees = PETSC_TRUE;
  PetscCall(VecSet(count, 0.0));
  PetscCall(VecGetArrayRead(scale, &by));
  PetscCall(VecGetArray(count, &n));
  for (PetscInt s = 1; s < a->nslots && *agrees; s++) *agrees = HJMGTreeAgrees(&t, s, rounding, by, n);
  PetscCall(VecRestoreArray(count, &n));
  PetscCall(VecRestoreArrayRead(scale, &by));
  PetscCall(HJOnAllRanks(PetscObjectComm((PetscObject)scale), agrees));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGScaleCompare(const HJGrid *grid, const HJCoefficients *a, Vec x, Vec y, PetscReal *squares, PetscReal *product)
{
  const HJMGTree     t = HJMGTreeSet(grid, a);
  const PetscScalar *u, *v;
  PetscReal          sum[2] = {0.0, 0.0};

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &u));
  PetscCall(VecGetArrayRead(y, &v));
  for (PetscInt s = 1; s < a->nslots; s++) {
    const HJBox inside = HJCoefficientsInside(a, s, grid);
    PetscCount  p      = 0;

    for (PetscInt k = 0; k < t.width[2]; k++) {
      for (PetscInt j = 0; j < t.width[1]; j++) {
        for (PetscInt i = 0; i < t.width[0]; i++, p++) {
          const PetscCount q = p + t.step[s];

          if (!HJPointInside(&inside, i, j, k) || HJCoefficientAt(a, s, p) == 0.0) continue;
          sum[0] += PetscRealPart((u[p] - u[q]) * (u[p] - u[q]));
          sum[1] += PetscRealPart((u[p] - u[q]) * (v[p] - v[q]));
        }
      }
    }
  }
  PetscCall(VecRestoreArrayRead(y, &v));
  PetscCall(VecRestoreArrayRead(x, &u));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)x)));
  *squares = sum[0];
  *product = sum[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGScaleAlongTree(const HJGrid *grid, const HJCoefficients *a, Vec logs)
{
  const PetscCount n = HJBoxSize(&grid->owned);
  HJMGTree         t = HJMGTreeSet(grid, a);
  PetscScalar     *v;

  PetscFunctionBegin;
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

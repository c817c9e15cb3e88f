/*
   Interpolation with weights of its own at every point, its transpose, these weights, and Galerkin products with them, on the host.
*/
#include "hjhostkernels.h"
#include "../core/hjtransfer.h"
#include "../core/hjweights.h"

/* A coarse line: its columns, and those of the ghosts before and after it */
typedef struct {
  const PetscScalar *x, *weight[3]; /* weight: of the points px = -1, 0, 1 along it, in the lines that are dealt with */
} HJWeightedLine;

/* Weights of the points (px, py, pz) beside a line of columns, px = -1, 0, 1; the middle alone where the line is not refined */
static void HJWeightedLineSet(const HJColumns *w, const PetscScalar *weight, PetscCount stride, int py, int pz, HJWeightedLine *l)
{
  for (int px = -1; px <= 1; px++) l->weight[px + 1] = px && !w->step[0] ? NULL : weight + HJColumnsSlot(w, px, py, pz) * stride;
}

/* What one column gives to the fine line, which has n points; c: its place */
static void HJWeightedSpreadPoint(const HJColumns *w, const HJWeightedLine *l, PetscInt c, PetscInt place, PetscInt n, PetscScalar *y)
{
  for (int px = -1; px <= 1; px++) {
    const PetscInt f = w->factor[0] * c + w->base[0] + px;

    if (l->weight[px + 1] && f >= 0 && f < n) y[f] += l->weight[px + 1][place] * l->x[place];
  }
}

/* What a coarse line gives to a fine line that lies (py, pz) beside it */
static void HJWeightedSpread(const HJTransferProduct *p, const HJColumns *w, PetscInt j, PetscInt k, int py, int pz, PetscInt n,
                             PetscScalar *y)
{
  const HJShellLine line = HJShellGetLine(p->shell, j, k);
  HJWeightedLine    own, ends;
  const PetscInt    nc = w->nc[0];

  own.x = (line.ghost ? p->ghost : p->x) + line.at;
  HJWeightedLineSet(w, (line.ghost ? p->weight_ghost : p->weight) + line.at, line.ghost ? p->shell->size : w->n, py, pz, &own);
  ends.x = p->ghost;
  HJWeightedLineSet(w, p->weight_ghost, p->shell->size, py, pz, &ends);
  if (HJPointInside(&w->domain, -1, j, k)) HJWeightedSpreadPoint(w, &ends, -1, line.before[0], n, y);
  if (HJPointInside(&w->domain, nc, j, k)) HJWeightedSpreadPoint(w, &ends, nc, line.before[1], n, y);
  if (!w->step[0]) {
    for (PetscInt c = 0; c < nc; c++) HJWeightedSpreadPoint(w, &own, c, c, n, y);
    return;
  }
  for (PetscInt c = 0; c < PetscMin(nc, 1); c++) HJWeightedSpreadPoint(w, &own, c, c, n, y);
  for (PetscInt c = 1; c < nc - 1; c++) {
    PetscScalar *f = y + 2 * c + w->base[0];

    f[-1] += own.weight[0][c] * own.x[c];
    f[0] += own.weight[1][c] * own.x[c];
    f[1] += own.weight[2][c] * own.x[c];
  }
  for (PetscInt c = PetscMax(nc - 1, 1); c < nc; c++) HJWeightedSpreadPoint(w, &own, c, c, n, y);
}

/* The coarse lines on and around a fine line in a direction, and how far it lies beside them */
static int HJWeightedParents(const HJColumns *w, int d, PetscInt fine, PetscInt parent[2], int beside[2])
{
  const PetscInt place = fine - w->base[d];

  parent[0] = w->factor[d] == 2 ? (place - (place & 1)) / 2 : place;
  beside[0] = w->factor[d] == 2 && (place & 1);
  if (!beside[0]) return 1;
  parent[1] = parent[0] + 1;
  beside[1] = -1;
  return 2;
}

PetscErrorCode HJHostInterpolateWeighted(const HJTransferProduct *p)
{
  const HJColumns w    = HJColumnsSet(p->transfer, p->shell, p->weight, p->weight_ghost);
  const HJBox    *fine = &p->transfer->fine.owned;
  const PetscInt  n    = fine->hi[0];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < fine->hi[2]; k++) {
    for (PetscInt j = 0; j < fine->hi[1]; j++) {
      const PetscCount at = HJBoxIndex(fine, 0, j, k);
      PetscInt         cj[2], ck[2];
      int              py[2], pz[2];
      const int        nj = HJWeightedParents(&w, 1, j, cj, py), nk = HJWeightedParents(&w, 2, k, ck, pz);
      PetscScalar     *y = p->y + at;

      if (!p->b) PetscCall(PetscArrayzero(y, n));
      else if (p->b != p->y) PetscCall(PetscArraycpy(y, p->b + at, n));
      for (int m = 0; m < nj * nk; m++) {
        if (HJPointInside(&w.domain, 0, cj[m % nj], ck[m / nj]))
          HJWeightedSpread(p, &w, cj[m % nj], ck[m / nj], py[m % nj], pz[m / nj], n, y);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a fine line, (py, pz) beside a coarse one, gives to it */
static void HJWeightedGather(const HJTransferProduct *p, const HJColumns *w, PetscInt fj, PetscInt fk, int py, int pz, PetscCount at,
                             PetscScalar *y)
{
  const HJShellLine  line = HJShellGetLine(p->shell, fj, fk);
  const PetscScalar *x    = (line.ghost ? p->ghost : p->x) + line.at;
  const PetscInt     n = p->shell->width[0], nc = w->nc[0], f0 = w->base[0], f = w->factor[0];
  PetscInt           lo = 0, hi = nc; /* points whose fine ones are all owned */
  HJWeightedLine     l;

  HJWeightedLineSet(w, w->weight + at, w->n, py, pz, &l);
  while (lo < hi && f * lo + f0 - (f - 1) < 0) lo++;
  while (lo < hi && f * (hi - 1) + f0 + (f - 1) >= n) hi--;
  for (PetscInt c = 0; c < nc; c++) {
    if (c == lo) c = hi;
    if (c >= nc) break;
    for (int px = 1 - (int)f; px < f; px++) y[c] += l.weight[px + 1][c] * HJShellAt(p->shell, p->x, p->ghost, f * c + f0 + px, fj, fk);
  }
  if (f == 1) {
    for (PetscInt c = lo; c < hi; c++) y[c] += l.weight[1][c] * x[c + f0];
    return;
  }
  for (PetscInt c = lo; c < hi; c++) {
    const PetscScalar *r = x + 2 * c + f0;

    y[c] += l.weight[0][c] * r[-1] + l.weight[1][c] * r[0] + l.weight[2][c] * r[1];
  }
}

PetscErrorCode HJHostInterpolateTransposeWeighted(const HJTransferProduct *p)
{
  const HJColumns w      = HJColumnsSet(p->transfer, NULL, p->weight, NULL);
  const HJBox    *coarse = &p->transfer->coarse.owned, *domain = &p->transfer->fine.domain;
  const int       more[2] = {w.step[1] != 0, w.step[2] != 0};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < coarse->hi[2]; k++) {
    for (PetscInt j = 0; j < coarse->hi[1]; j++) {
      const PetscCount at = HJBoxIndex(coarse, 0, j, k);
      PetscScalar     *y  = p->y + at;

      if (!p->b) PetscCall(PetscArrayzero(y, coarse->hi[0]));
      else if (p->b != p->y) PetscCall(PetscArraycpy(y, p->b + at, coarse->hi[0]));
      for (int pz = -more[1]; pz <= more[1]; pz++) {
        for (int py = -more[0]; py <= more[0]; py++) {
          const PetscInt fj = w.factor[1] * j + w.base[1] + py, fk = w.factor[2] * k + w.base[2] + pz;

          if (fj >= domain->lo[1] && fj < domain->hi[1] && fk >= domain->lo[2] && fk < domain->hi[2])
            HJWeightedGather(p, &w, fj, fk, py, pz, at, y);
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHostCouplings(const HJWeightsFill *f)
{
  const HJColumns w = HJColumnsSet(f->t, NULL, NULL, NULL);
  const HJFine    a = HJFineSet(f->t, f->shell, f->symmetric, f->symmetric_ghost);
  const PetscInt *n = f->t->coarse.owned.hi;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      for (PetscInt i = 0; i < n[0]; i++) HJCouplingsFill(&w, &a, i, j, k, f->coupling + HJBoxIndex(&f->t->coarse.owned, i, j, k));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHostWeights(const HJWeightsFill *f)
{
  const HJColumns couplings = HJColumnsSet(f->t, f->coarse_shell, f->coupling, f->coupling_ghost);
  HJWeightPlan    plan;
  const HJColumns w    = HJColumnsSet(f->t, NULL, f->weight, NULL);
  const HJFine    rows = HJFineSet(f->t, f->shell, f->a, f->ghost), a = HJFineSet(f->t, f->shell, f->symmetric, f->symmetric_ghost);
  const PetscInt *n = f->t->coarse.owned.hi;

  PetscFunctionBegin;
  *f->difference = 0.0;
  HJWeightPlanSet(&w, &a, &plan);
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      for (PetscInt i = 0; i < n[0]; i++)
        HJColumnFill(&w, &couplings, &plan, &rows, f->a == f->symmetric ? &rows : &a, i, j, k,
                     f->weight + HJBoxIndex(&f->t->coarse.owned, i, j, k), f->difference);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHostGalerkinWeighted(const HJGalerkin *g)
{
  const HJTransfer *t   = g->t;
  const HJColumns   w   = HJColumnsSet(t, g->weight_shell, g->weight, g->weight_ghost);
  const HJFine      a   = HJFineSet(t, g->shell, g->fine, g->ghost);
  const PetscInt   *n   = t->coarse.owned.hi;
  const int         dim = (int)t->coarse.dim;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(g->coarse, HJGalerkinSlots(dim) * w.n));
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      for (int code = 0; code < (int)HJGalerkinSlots(dim); code++) {
        const int    q[3] = {code % 3 - 1, dim > 1 ? code / 3 % 3 - 1 : 0, dim > 2 ? code / 9 - 1 : 0};
        PetscScalar *to   = g->coarse + HJBoxIndex(&t->coarse.owned, 0, j, k);

        to += w.n * HJGalerkinSlot(dim, HJGalerkinFold(&t->coarse, 0, q[0]), HJGalerkinFold(&t->coarse, 1, q[1]),
                                   HJGalerkinFold(&t->coarse, 2, q[2]));
        for (PetscInt i = 0; i < n[0]; i++) to[i] += HJWeightedEntry(&w, &a, i, j, k, q);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

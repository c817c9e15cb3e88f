/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Interpolation with coefficients of its own at every point, its transpose, these coefficients, and Galerkin products with them, on the
   host.
*/
#include "hjhostpaths.h"
#include "core/hjtransfer.h"

/* A coarse line: its columns, and those of the ghosts before and after it */
typedef struct {
  const PetscScalar *x, *coefficient[3]; /* coefficient: of the points px = -1, 0, 1 along it, in the lines that are dealt with */
} HJInterpolationLine;

/* Coefficients of the points (px, py, pz) beside a line of columns, px = -1, 0, 1; the middle alone where the line is not refined */
static void HJInterpolationLineSet(const HJColumns *w, const PetscScalar *coefficient, PetscCount stride, int py, int pz,
                                   HJInterpolationLine *l)
{
  for (int px = -1; px <= 1; px++) l->coefficient[px + 1] = px && !w->step[0] ? NULL : coefficient + HJColumnsSlot(w, px, py, pz) * stride;
}

/* What one column gives to the fine line, which has n points; c: its place */
static void HJInterpolationSpreadPoint(const HJColumns *w, const HJInterpolationLine *l, PetscInt c, PetscInt place, PetscInt n,
                                       PetscScalar *y)
{
  for (int px = -1; px <= 1; px++) {
    const PetscInt f = w->factor[0] * c + w->base[0] + px;

    if (l->coefficient[px + 1] && f >= 0 && f < n) y[f] += l->coefficient[px + 1][place] * l->x[place];
  }
}

/* The columns of a line but the first and the last; f: the fine point of the first. Two fine points at a time */
static void HJInterpolationSpreadInner(const HJInterpolationLine *l, PetscInt nc, PetscScalar *restrict f)
{
  const PetscScalar *restrict x = l->x, *restrict before = l->coefficient[0], *restrict here = l->coefficient[1],
                              *restrict after = l->coefficient[2];

  f[1] += before[1] * x[1];
  for (PetscInt c = 1; c < nc - 2; c++) {
    f[2 * c] += here[c] * x[c];
    f[2 * c + 1] = (f[2 * c + 1] + after[c] * x[c]) + before[c + 1] * x[c + 1];
  }
  f[2 * nc - 4] += here[nc - 2] * x[nc - 2];
  f[2 * nc - 3] += after[nc - 2] * x[nc - 2];
}

/* What a coarse line gives to a fine line that lies (py, pz) beside it */
static void HJInterpolationSpread(const HJTransferProduct *p, const HJColumns *w, PetscInt j, PetscInt k, int py, int pz, PetscInt n,
                                  PetscScalar *y)
{
  const HJShellLine   line = HJShellGetLine(p->shell, j, k);
  HJInterpolationLine own, ends;
  const PetscInt      nc = w->nc[0];

  own.x = (line.ghost ? p->ghost : p->x) + line.at;
  HJInterpolationLineSet(w, (line.ghost ? p->coefficient_ghost : p->coefficient) + line.at, line.ghost ? p->shell->size : w->n, py, pz,
                         &own);
  ends.x = p->ghost;
  HJInterpolationLineSet(w, p->coefficient_ghost, p->shell->size, py, pz, &ends);
  if (HJPointInside(&w->domain, -1, j, k)) HJInterpolationSpreadPoint(w, &ends, -1, line.before[0], n, y);
  if (HJPointInside(&w->domain, nc, j, k)) HJInterpolationSpreadPoint(w, &ends, nc, line.before[1], n, y);
  if (!w->step[0]) {
    for (PetscInt c = 0; c < nc; c++) HJInterpolationSpreadPoint(w, &own, c, c, n, y);
    return;
  }
  for (PetscInt c = 0; c < PetscMin(nc, 1); c++) HJInterpolationSpreadPoint(w, &own, c, c, n, y);
  if (nc > 2) HJInterpolationSpreadInner(&own, nc, y + w->base[0]);
  for (PetscInt c = PetscMax(nc - 1, 1); c < nc; c++) HJInterpolationSpreadPoint(w, &own, c, c, n, y);
}

/* The coarse lines on and around a fine line in a direction, and how far it lies beside them */
static int HJInterpolationParents(const HJColumns *w, int d, PetscInt fine, PetscInt parent[2], int beside[2])
{
  const PetscInt place = fine - w->base[d];

  parent[0] = w->factor[d] == 2 ? (place - (place & 1)) / 2 : place;
  beside[0] = w->factor[d] == 2 && (place & 1);
  if (!beside[0]) return 1;
  parent[1] = parent[0] + 1;
  beside[1] = -1;
  return 2;
}

PetscErrorCode HJHostInterpolateVariable(const HJTransferProduct *p)
{
  const HJColumns w    = HJColumnsSet(p->transfer, p->shell, p->coefficient, p->coefficient_ghost);
  const HJBox    *fine = &p->transfer->fine.owned;
  const PetscInt  n    = fine->hi[0];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < fine->hi[2]; k++) {
    for (PetscInt j = 0; j < fine->hi[1]; j++) {
      const PetscCount at = HJBoxIndex(fine, 0, j, k);
      PetscInt         cj[2], ck[2];
      int              py[2], pz[2];
      const int        nj = HJInterpolationParents(&w, 1, j, cj, py), nk = HJInterpolationParents(&w, 2, k, ck, pz);
      PetscScalar     *y = p->y + at;

      if (!p->b) PetscCall(PetscArrayzero(y, n));
      else if (p->b != p->y) PetscCall(PetscArraycpy(y, p->b + at, n));
      for (int m = 0; m < nj * nk; m++) {
        if (HJPointInside(&w.domain, 0, cj[m % nj], ck[m / nj]))
          HJInterpolationSpread(p, &w, cj[m % nj], ck[m / nj], py[m % nj], pz[m / nj], n, y);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a fine line, (py, pz) beside a coarse one, gives to it */
static void HJInterpolationGather(const HJTransferProduct *p, const HJColumns *w, PetscInt fj, PetscInt fk, int py, int pz, PetscCount at,
                                  PetscScalar *y)
{
  const HJShellLine   line = HJShellGetLine(p->shell, fj, fk);
  const PetscScalar  *x    = (line.ghost ? p->ghost : p->x) + line.at;
  const PetscInt      n = p->shell->width[0], nc = w->nc[0], f0 = w->base[0], f = w->factor[0];
  PetscInt            lo = 0, hi = nc; /* points whose fine ones are all owned */
  HJInterpolationLine l;

  HJInterpolationLineSet(w, w->coefficient + at, w->n, py, pz, &l);
  while (lo < hi && f * lo + f0 - (f - 1) < 0) lo++;
  while (lo < hi && f * (hi - 1) + f0 + (f - 1) >= n) hi--;
  for (PetscInt c = 0; c < nc; c++) {
    if (c == lo) c = hi;
    if (c >= nc) break;
    for (int px = 1 - (int)f; px < f; px++) y[c] += l.coefficient[px + 1][c] * HJShellAt(p->shell, p->x, p->ghost, f * c + f0 + px, fj, fk);
  }
  if (f == 1) {
    for (PetscInt c = lo; c < hi; c++) y[c] += l.coefficient[1][c] * x[c + f0];
    return;
  }
  for (PetscInt c = lo; c < hi; c++) {
    const PetscScalar *r = x + 2 * c + f0;

    y[c] += l.coefficient[0][c] * r[-1] + l.coefficient[1][c] * r[0] + l.coefficient[2][c] * r[1];
  }
}

PetscErrorCode HJHostInterpolateTransposeVariable(const HJTransferProduct *p)
{
  const HJColumns w      = HJColumnsSet(p->transfer, NULL, p->coefficient, NULL);
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
            HJInterpolationGather(p, &w, fj, fk, py, pz, at, y);
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !defined(HJ_FLOAT) /* set-up is done in double */
/* One of the six sides of a coarse point: where the fine point next to it lies, and the way back */
typedef struct {
  int d, side, up[3], down[3];
} HJSide;

static HJSide HJSideOf(int number)
{
  HJSide s = {.d = number / 2, .side = number % 2 ? 1 : -1};

  s.up[s.d]   = s.side;
  s.down[s.d] = -s.side;
  return s;
}

/* Whether a coarse line's fine points on a side have coefficients, but for those at its ends */
static PetscBool HJSideIsInside(const HJHostPaths *p, const HJSide *s, PetscInt j, PetscInt k)
{
  const HJColumns *w = p->w;

  return HJPointInside(&w->points, 0, w->factor[1] * j + w->base[1] + s->up[1], w->factor[2] * k + w->base[2] + s->up[2]);
}

/* The points of a coarse line whose couplings on all sides are found together */
static void HJCouplingsRange(const HJHostPaths *p, PetscInt j, PetscInt k, PetscInt *lo, PetscInt *hi)
{
  *lo = 0;
  *hi = p->w->nc[0];
  for (int number = 0; number < 6; number++) {
    const HJSide s = HJSideOf(number);
    PetscInt     first, last;

    if (!p->w->step[s.d] || !HJSideIsInside(p, &s, j, k)) continue;
    HJHostPathsRange(p, s.up, j, k, &first, &last);
    *lo = PetscMax(*lo, first);
    *hi = PetscMin(*hi, last);
  }
  *hi = PetscMax(*lo, *hi);
}

PetscErrorCode HJHostCouplings(const HJInterpolationFill *f)
{
  const HJColumns w = HJColumnsSet(f->t, NULL, NULL, NULL);
  const HJFine    a = HJFineSet(f->t, f->shell, f->symmetric, f->symmetric_ghost);
  const PetscInt *n = f->t->coarse.owned.hi;
  HJHostPaths     paths;

  PetscFunctionBegin;
  PetscCall(HJHostPathsCreate(&w, &a, &paths));
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      const PetscInt at[3] = {0, w.factor[1] * j + w.base[1], w.factor[2] * k + w.base[2]};
      PetscScalar   *line  = f->coupling + HJBoxIndex(&f->t->coarse.owned, 0, j, k);
      PetscInt       lo, hi;

      HJCouplingsRange(&paths, j, k, &lo, &hi);
      for (int number = 0; number < 6 && lo < hi; number++) {
        const HJSide s = HJSideOf(number);
        PetscScalar *to;

        if (!w.step[s.d]) continue;
        to = line + HJCouplingsPlace(&w, s.d, s.side) * w.n + lo;
        if (HJSideIsInside(&paths, &s, j, k)) HJHostPathsRun(&paths, s.up, s.down, j, k, lo, hi, to);
        else memset(to, 0, (hi - lo) * sizeof(*to));
      }
      for (PetscInt i = 0; i < n[0]; i++)
        if (i < lo || i >= hi || HJIsIsland(&w, &a, (const PetscInt[3]){w.factor[0] * i + w.base[0], at[1], at[2]}))
          HJCouplingsFill(&w, &a, i, j, k, line + i);
    }
  }
  PetscCall(HJHostPathsDestroy(&paths));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The couplings of a point between two coarse ones, the first of which is (i, j, k), as HJJumpFind() takes them */
static void HJJumpTakeBetween(const HJHostPaths *p, const HJFine *rows, const int up[3], PetscInt i, PetscInt j, PetscInt k, PetscReal own,
                              PetscReal other, HJJump *jump)
{
  const HJColumns *w       = p->w;
  const PetscInt   at[3]   = {w->factor[0] * i + w->base[0], w->factor[1] * j + w->base[1], w->factor[2] * k + w->base[2]};
  const int        down[3] = {-up[0], -up[1], -up[2]};
  const HJFineRow  r       = HJFineRowAt(rows, at[0] + up[0], at[1] + up[1], at[2] + up[2]);

  if (!(own > 0.0) || !(other > 0.0)) HJJumpTakeWall(w, rows, &r, down, own, other, HJJumpCoupled(w, rows, up, i, j, k), jump);
  else if (p->a == rows || !HJFineRowIsDiagonal(rows, &r)) HJJumpTake(own, other, HJJumpCoupled(w, rows, up, i, j, k), jump);
}

/* HJJumpFind() of a coarse line. value: two lines */
static void HJJumpFindLine(const HJHostPaths *p, const HJFine *rows, PetscInt j, PetscInt k, PetscScalar *value[2], HJJump *jump)
{
  const HJColumns *w = p->w;

  for (int d = 0; d < 3; d++) {
    const HJSide s  = HJSideOf(2 * d + 1);
    PetscInt     lo = 0, hi = w->nc[0];

    if (!w->step[d]) continue;
    while (lo < hi && !HJPointInside(&w->inner, lo, j, k)) lo++;
    while (lo < hi && !HJPointInside(&w->inner, hi - 1 + s.up[0], j + s.up[1], k + s.up[2])) hi--;
    if (lo >= hi) continue;
    HJHostPathsRun(p, s.up, s.down, j, k, lo, hi, value[0]);
    HJHostPathsRun(p, s.up, s.up, j, k, lo, hi, value[1]);
    for (PetscInt i = lo; i < hi; i++) {
      const PetscReal own = PetscRealPart(value[0][i - lo]), other = PetscRealPart(value[1][i - lo]);

      HJJumpTakeBetween(p, rows, s.up, i, j, k, own, other, jump);
    }
  }
}

PetscErrorCode HJHostJump(const HJInterpolationFill *f)
{
  const HJColumns w    = HJColumnsSet(f->t, f->coarse_shell, f->coupling, f->coupling_ghost);
  const HJFine    rows = HJFineSet(f->t, f->shell, f->a, f->ghost), s = HJFineSet(f->t, f->shell, f->symmetric, f->symmetric_ghost);
  const HJFine   *a       = f->a == f->symmetric ? &rows : &s;
  const PetscInt *n       = f->t->coarse.owned.hi;
  const PetscBool short_x = (PetscBool)(w.step[0] && w.inner.lo[0] == w.domain.lo[0]); /* the ends of its lines count */
  PetscScalar    *value[2];
  HJHostPaths     paths;

  PetscFunctionBegin;
  *f->jump = (HJJump){.largest = 0.0};
  PetscCall(HJHostPathsCreate(&w, a, &paths));
  PetscCall(PetscMalloc2(n[0], &value[0], n[0], &value[1]));
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      if (!f->coupling && !short_x) {
        HJJumpFindLine(&paths, &rows, j, k, value, f->jump);
        continue;
      }
      for (PetscInt i = 0; i < n[0]; i++) {
        if (f->coupling) HJJumpAdd(&w, &rows, a, i, j, k, f->jump);
        else HJJumpFind(&w, &rows, a, i, j, k, f->jump);
      }
    }
  }
  PetscCall(PetscFree2(value[0], value[1]));
  PetscCall(HJHostPathsDestroy(&paths));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of a slot along the owned points of a fine line: in place where they are there, else in work */
static const PetscScalar *HJEntriesAlong(const HJFine *a, PetscInt slot, PetscInt j, PetscInt k, PetscScalar *work)
{
  const HJShellLine line = HJShellGetLine(&a->shell, j, k);

  if (a->e.storage == HJ_COEFFICIENTS_ARRAYS) {
    if (line.ghost) return a->ghost + slot * a->shell.size + line.at;
    return a->e.value + a->e.begin[slot] + line.at;
  }
  if (!line.ghost) HJHostFineLine(a, slot, j, k, work);
  for (PetscInt i = 0; i < a->nf[0] && line.ghost; i++) {
    const HJFineRow r = HJFineRowAt(a, i, j, k);

    work[i] = HJFineEntry(a, &r, slot);
  }
  return work;
}

/* The points [lo, hi) of a coarse line, whose fine points are all owned along it, where coefficients are those of the rows themselves */
typedef struct {
  const HJColumns           *w, *couplings;
  const HJInterpolationPlan *plan;
  const HJFine              *a;
  const HJHostKernels       *kernels;
  PetscInt                   lo, hi;
  PetscScalar               *entry; /* a fine line */
  HJHostRowSums              sums;  /* of the points from lo on */
} HJColumnLine;

/* Sums of the rows of fine points p beside those of the line, as HJInterpolationSumsOf() has them. use: NULL where no point has a
   coefficient yet */
static void HJColumnLineSums(HJColumnLine *l, const int p[3], const signed char use[], PetscInt j, PetscInt k, const PetscScalar *column)
{
  const HJColumns *w  = l->w;
  const PetscInt   fi = w->factor[0] * l->lo + w->base[0] + p[0], fj = w->factor[1] * j + w->base[1] + p[1],
                 fk = w->factor[2] * k + w->base[2] + p[2];

  for (PetscInt slot = 0; slot < l->a->e.nslots; slot++) {
    const PetscScalar *entry = HJEntriesAlong(l->a, slot, fj, fk, l->entry) + fi;
    const int          to    = use ? use[slot] : HJ_INTERPOLATION_AWAY;

    if (!slot) l->kernels->row_sums_begin(l->hi - l->lo, w->factor[0], entry, &l->sums);
    else if (to == HJ_INTERPOLATION_ALONG) l->kernels->row_sums_along(l->hi - l->lo, w->factor[0], entry, &l->sums);
    else l->kernels->row_sums_to(l->hi - l->lo, w->factor[0], entry, to < 0 ? NULL : column + to * w->n + l->lo, &l->sums);
  }
}

/* HJColumnFill() of the line; to: the column of its first point */
static void HJColumnLineFill(HJColumnLine *l, PetscInt j, PetscInt k, PetscScalar *to)
{
  static const int     here[3] = {0, 0, 0};
  const HJColumns     *w       = l->w;
  const HJHostRowSums *s       = &l->sums;
  const PetscScalar   *alone   = l->couplings->coefficient + HJBoxIndex(&(HJBox){.hi = {w->nc[0], w->nc[1], w->nc[2]}}, 0, j, k);

  HJColumnLineSums(l, here, NULL, j, k, to);
  for (PetscInt i = l->lo; i < l->hi; i++)
    to[i] = s->couples[i - l->lo] > 0.0 ? 1.0 : w->nslots > 1 && PetscRealPart(alone[i]) < 0.0 ? HJ_INTERPOLATION_ISLAND : 0.0;
  for (PetscInt m = 0; m < l->plan->np; m++) {
    const int       p[3] = {l->plan->p[m][0], l->plan->p[m][1], l->plan->p[m][2]}, far = l->plan->far[m];
    PetscScalar    *c  = to + l->plan->slot[m] * w->n;
    const PetscBool is = HJPointInside(&w->points, 0, w->factor[1] * j + w->base[1] + p[1], w->factor[2] * k + w->base[2] + p[2]);

    if (is) HJColumnLineSums(l, p, l->plan->use[m], j, k, to);
    for (PetscInt i = l->lo, n = 0; i < l->hi; i++, n++) {
      const HJInterpolationSums sums = {s->near[n], s->all[n], s->centre[n], s->repelled[n], s->size[n], s->sign[n], PETSC_TRUE};

      c[i] = 0.0;
      if (!is || to[i] == 0.0 || !(s->couples[n] > 0.0)) continue;
      if (far == 1) c[i] = HJInterpolationBetween(l->couplings, p[0] ? 0 : p[1] ? 1 : 2, p, i, j, k, &sums);
      else c[i] = HJInterpolationAcross(far, &sums);
    }
  }
}

/* The points of a coarse line whose fine points, and those beside them along it, are all owned */
static void HJColumnsInnerRange(const HJColumns *w, PetscInt nf, PetscInt *lo, PetscInt *hi)
{
  const PetscInt f = w->factor[0];

  while (*lo < *hi && f * *lo + w->base[0] - (f - 1) < 0) (*lo)++;
  while (*lo < *hi && f * (*hi - 1) + w->base[0] + (f - 1) >= nf) (*hi)--;
}

PetscErrorCode HJHostInterpolationFill(const HJInterpolationFill *f)
{
  const HJColumns     couplings = HJColumnsSet(f->t, f->coarse_shell, f->coupling, f->coupling_ghost);
  HJInterpolationPlan plan;
  const HJColumns     w    = HJColumnsSet(f->t, NULL, f->coefficient, NULL);
  const HJFine        rows = HJFineSet(f->t, f->shell, f->a, f->ghost), a = HJFineSet(f->t, f->shell, f->symmetric, f->symmetric_ghost);
  const PetscInt     *n = f->t->coarse.owned.hi;
  HJColumnLine        l = {.w = &w, .couplings = &couplings, .plan = &plan, .a = &rows, .kernels = HJHostPickKernels(), .hi = n[0]};
  PetscReal          *work;

  PetscFunctionBegin;
  HJInterpolationPlanSet(&w, &a, &plan);
  if (f->a == f->symmetric) HJColumnsInnerRange(&w, rows.nf[0], &l.lo, &l.hi);
  else l.hi = 0;
  PetscCall(PetscMalloc2(rows.nf[0], &l.entry, 7 * (size_t)n[0], &work));
  l.sums = (HJHostRowSums){work, work + n[0], work + 2 * n[0], work + 3 * n[0], work + 4 * n[0], work + 5 * n[0], work + 6 * n[0]};
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      PetscScalar *to = f->coefficient + HJBoxIndex(&f->t->coarse.owned, 0, j, k);

      if (l.lo < l.hi) HJColumnLineFill(&l, j, k, to);
      for (PetscInt i = 0; i < n[0]; i++) {
        if (i < l.lo || i >= l.hi) HJColumnFill(&w, &couplings, &plan, &rows, f->a == f->symmetric ? &rows : &a, i, j, k, to + i);
      }
    }
  }
  PetscCall(PetscFree2(l.entry, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What an entry of a fine point gives to a coarse one: by a coefficient of a column of the line around it, along points further */
typedef struct {
  PetscInt code, line, slot, along;
} HJProductTerm;

/* How the lines around a coarse one lie, and which entries of it have arrays: HJColumnsStep() in y and z, to the lines before it, itself,
   and after it; 1 where there is a line, and an array */
typedef struct {
  PetscInt step[2][3], line[9], to[27];
} HJProductForm;

  /* Terms of lines of a form: of the point p and a slot of its row from begin[27 slot + HJProductPoint(p)] to the next one */
  #define HJ_PRODUCT_TERMS (13 * 13 * 13)
typedef struct {
  HJProductForm form;
  PetscInt      begin[27 * HJ_MAX_SLOTS + 1];
  HJProductTerm term[HJ_PRODUCT_TERMS];
} HJProductPlan;

/* A coarse line of a product: its points [lo, hi) look at owned fine points and columns alone along it */
typedef struct {
  const HJTransfer    *t;
  const HJGalerkin    *g;
  const HJHostKernels *kernels;
  HJProductPlan       *plan; /* of the line before, most often of this one too */
  HJColumns            w;
  HJFine               a;
  PetscInt             lo, hi;
  PetscScalar         *to[27];  /* of each entry, x fastest: the points of the line; NULL: it has no array */
  const PetscScalar   *near[9]; /* slot 0 of the columns of the lines around it, NULL outside the domain; */
  PetscCount           stride[9];
  PetscScalar         *entry, *partial; /* [fine points of a line], [coarse ones] */
} HJProductLine;

static int HJProductPoint(const int p[3])
{
  return 9 * (p[2] + 1) + 3 * (p[1] + 1) + p[0] + 1;
}

/* The terms of a point and a slot, n of them before */
static PetscInt HJProductPlanAdd(const HJProductLine *l, const int p[3], PetscInt slot, PetscInt n)
{
  const HJColumns   *w    = &l->w;
  HJProductPlan     *plan = l->plan;
  const signed char *off  = l->a.e.off[slot];

  for (int code = 0; code < 27; code++) {
    const int q[3] = {code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1}, line = 3 * (q[2] + 1) + q[1] + 1;
    const int x = HJColumnPlace(w->factor[0], p[0], off[0], q[0]), y = HJColumnPlace(plan->form.step[0][q[1] + 1], p[1], off[1], q[1]),
              z = HJColumnPlace(plan->form.step[1][q[2] + 1], p[2], off[2], q[2]);

    if (!plan->form.to[code] || !plan->form.line[line] || x < -1 || x > 1 || y < -1 || y > 1 || z < -1 || z > 1) continue;
    plan->term[n++] = (HJProductTerm){code, line, HJColumnsSlot(w, x, y, z), q[0]};
  }
  return n;
}

/* The plan of the line, once it is known how that lies */
static void HJProductPlanSet(HJProductLine *l, const HJProductForm *form)
{
  const HJColumns *w       = &l->w;
  const int        more[3] = {w->step[0] != 0, w->step[1] != 0, w->step[2] != 0};
  PetscInt         n       = 0;

  if (!memcmp(form, &l->plan->form, sizeof(*form))) return;
  l->plan->form = *form;
  for (PetscInt slot = 0; slot < l->a.e.nslots; slot++) {
    for (int point = 0; point < 27; point++) {
      const int p[3] = {point % 3 - 1, point / 3 % 3 - 1, point / 9 - 1};

      l->plan->begin[27 * slot + point] = n;
      if (PetscAbsInt(p[0]) <= more[0] && PetscAbsInt(p[1]) <= more[1] && PetscAbsInt(p[2]) <= more[2]) n = HJProductPlanAdd(l, p, slot, n);
    }
  }
  l->plan->begin[27 * l->a.e.nslots] = n;
}

/* Adds what an entry of the fine points p beside the line gives */
static void HJProductLineAdd(HJProductLine *l, const int p[3], PetscInt slot, const PetscScalar *entry)
{
  const HJColumns     *w    = &l->w;
  const HJProductPlan *plan = l->plan;
  const PetscInt       at = 27 * slot + HJProductPoint(p), n = plan->begin[at + 1] - plan->begin[at];
  const PetscScalar   *other[27];
  PetscScalar         *to[27];

  for (PetscInt m = 0; m < n; m++) {
    const HJProductTerm *t = &plan->term[plan->begin[at] + m];

    other[m] = l->near[t->line] + t->slot * l->stride[t->line] + t->along + l->lo;
    to[m]    = l->to[t->code] + l->lo;
  }
  if (n)
    l->kernels->galerkin_columns(l->hi - l->lo, w->factor[0], l->near[4] + HJColumnsSlot(w, p[0], p[1], p[2]) * l->stride[4] + l->lo,
                                 entry + w->factor[0] * l->lo + w->base[0] + p[0], l->partial, n, other, to);
}

/* The points [lo, hi) of the line j, k */
static void HJProductLineRun(HJProductLine *l, PetscInt j, PetscInt k)
{
  const HJColumns *w       = &l->w;
  const int        more[3] = {w->step[0] != 0, w->step[1] != 0, w->step[2] != 0};
  const HJBox     *points  = &w->points;
  HJProductForm    form    = {.line = {0}};

  for (int q = -1; q <= 1; q++) {
    form.step[0][q + 1] = HJColumnsStep(w, 1, j, q);
    form.step[1][q + 1] = HJColumnsStep(w, 2, k, q);
  }
  for (int code = 0; code < 27; code++) form.to[code] = l->to[code] != NULL;
  for (int line = 0; line < 9; line++) {
    const PetscInt y = j + line % 3 - 1, z = k + line / 3 - 1;
    HJShellLine    at;

    l->near[line] = NULL;
    if (!HJPointInside(&w->domain, 0, y, z)) continue;
    at              = HJShellGetLine(&w->shell, y, z);
    l->near[line]   = (at.ghost ? w->ghost : w->coefficient) + at.at;
    l->stride[line] = at.ghost ? w->shell.size : w->n;
    form.line[line] = 1;
  }
  HJProductPlanSet(l, &form);
  for (int pz = -more[2]; pz <= more[2]; pz++) {
    for (int py = -more[1]; py <= more[1]; py++) {
      const PetscInt fj = w->factor[1] * j + w->base[1] + py, fk = w->factor[2] * k + w->base[2] + pz;

      if (fj < points->lo[1] || fj >= points->hi[1] || fk < points->lo[2] || fk >= points->hi[2]) continue;
      for (PetscInt slot = 0; slot < l->a.e.nslots; slot++) {
        const PetscScalar *entry = HJEntriesAlong(&l->a, slot, fj, fk, l->entry);

        for (int px = -more[0]; px <= more[0]; px++) HJProductLineAdd(l, (const int[]){px, py, pz}, slot, entry);
      }
    }
  }
}

/* One point of the line, all entries */
static void HJProductLinePoint(const HJProductLine *l, PetscInt i, PetscInt j, PetscInt k)
{
  for (int code = 0; code < 27; code++) {
    const int q[3] = {code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1};

    if (l->to[code]) l->to[code][i] += HJInterpolationEntry(&l->w, &l->a, i, j, k, q);
  }
}

/* Where the entries of the points of a line go: entries that lead to the same points to one of them */
static void HJProductLineSet(HJProductLine *l, PetscInt j, PetscInt k)
{
  const HJGrid *coarse = &l->t->coarse;

  for (int code = 0; code < 27; code++) {
    int q[3] = {code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1};

    l->to[code] = NULL;
    if ((coarse->dim < 2 && q[1]) || (coarse->dim < 3 && q[2])) continue;
    for (int d = 0; d < 3; d++) q[d] = HJGalerkinFold(coarse, d, q[d]);
    l->to[code] = HJGalerkinTo(l->g, HJShapeSlot(coarse->dim, HJ_BOX, q[0], q[1], q[2]));
    if (l->to[code]) l->to[code] += HJBoxIndex(&coarse->owned, 0, j, k);
  }
}

PetscErrorCode HJHostGalerkinVariable(const HJGalerkin *g)
{
  const PetscInt *n = g->t->coarse.owned.hi;
  HJProductLine   l = {.t = g->t, .g = g, .kernels = HJHostPickKernels(), .lo = 1, .hi = n[0] - 1};

  PetscFunctionBegin;
  l.w = HJColumnsSet(g->t, g->coefficient_shell, g->coefficient, g->coefficient_ghost);
  l.a = HJFineSet(g->t, g->shell, g->fine, g->ghost);
  HJColumnsInnerRange(&l.w, l.a.nf[0], &l.lo, &l.hi);
  PetscCall(PetscArrayzero(g->coarse, g->half ? HJCoefficientsSize(g->half) : HJShapeSlots(g->t->coarse.dim, HJ_BOX) * l.w.n));
  PetscCall(PetscMalloc2(l.a.nf[0], &l.entry, n[0], &l.partial));
  PetscCall(PetscNew(&l.plan));
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      const PetscScalar *centre = g->coefficient + HJBoxIndex(&g->t->coarse.owned, 0, j, k);

      HJProductLineSet(&l, j, k);
      if (l.lo < l.hi) HJProductLineRun(&l, j, k);
      for (PetscInt i = 0; i < n[0]; i++) { /* the ends of the line, and rows that are a diagonal alone */
        if (i < l.lo || i >= PetscMax(l.hi, l.lo)) HJProductLinePoint(&l, i, j, k);
        else if (centre[i] == 0.0) l.to[13][i] += HJInterpolationEntry(&l.w, &l.a, i, j, k, (const int[3]){0, 0, 0});
      }
    }
  }
  PetscCall(PetscFree(l.plan));
  PetscCall(PetscFree2(l.entry, l.partial));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

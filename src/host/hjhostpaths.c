/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Couplings of fine points to coarse ones directly and by way of the points beside both, for a piece of a coarse line at a time. Each
   coupling on the way is read along its line first, then all points are done at once.
*/
#include "hjhostpaths.h"

/* Planes that hold all points around those on both sides of a coarse plane */
#define HJ_PATHS_PLANES 5

/* Lines of HJHostPaths.work: HJScaleOfRow() of the diagonals, and the couplings of HJHostPath */
#define HJ_PATHS_WORK 6

PetscErrorCode HJHostPathsCreate(const HJColumns *w, const HJFine *a, HJHostPaths *p)
{
  const PetscInt nlines = HJ_PATHS_PLANES * (a->e.dim > 2 ? a->nf[1] : 1);

  PetscFunctionBegin;
  *p = (HJHostPaths){.w = w, .a = a, .kernels = HJHostPickKernels()};
  PetscCall(PetscMalloc1(HJ_PATHS_WORK * (size_t)w->nc[0], &p->work));
  if (a->e.storage == HJ_COEFFICIENTS_ARRAYS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1((size_t)nlines * a->e.nslots * a->nf[0], &p->lines));
  PetscCall(PetscMalloc1(nlines, &p->held));
  for (PetscInt l = 0; l < nlines; l++) p->held[l] = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHostPathsDestroy(HJHostPaths *p)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(p->work));
  PetscCall(PetscFree(p->lines));
  PetscCall(PetscFree(p->held));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void HJHostFineLine(const HJFine *a, PetscInt slot, PetscInt j, PetscInt k, PetscScalar *to)
{
  const signed char   *off   = a->e.off[slot];
  const PetscInt       n     = a->nf[0];
  const unsigned char *index = a->e.storage == HJ_COEFFICIENTS_ROW ? NULL : a->e.index + ((PetscCount)k * a->nf[1] + j) * n;

  if (!HJPointInside(&a->domain, 0, j + off[1], k + off[2])) {
    memset(to, 0, n * sizeof(*to));
    return;
  }
  if (a->e.storage == HJ_COEFFICIENTS_ROW) {
    for (PetscInt i = 0; i < n; i++) to[i] = a->e.row[slot];
  } else {
    for (PetscInt i = 0; i < n; i++) to[i] = a->e.rows[(PetscCount)index[i] * a->e.nslots + slot];
  }
  if (off[0] < a->domain.lo[0]) to[0] = 0.0;
  if (n - 1 + off[0] >= a->domain.hi[0]) to[n - 1] = 0.0;
}

/* Entries of an owned line, as HJFineRow has them */
static const PetscScalar *HJPathsLine(const HJHostPaths *p, PetscInt j, PetscInt k, PetscCount *stride)
{
  const HJFine    *a    = p->a;
  const PetscCount line = (PetscCount)k * a->nf[1] + j;
  const PetscInt   at   = a->e.dim > 2 ? k % HJ_PATHS_PLANES * a->nf[1] + j : j % HJ_PATHS_PLANES;
  PetscScalar     *here;

  *stride = 0;
  if (a->e.storage == HJ_COEFFICIENTS_ARRAYS) return a->e.value + line * a->nf[0];
  *stride = a->nf[0];
  here    = p->lines + (PetscCount)at * a->e.nslots * a->nf[0];
  for (PetscInt slot = 0; slot < a->e.nslots && p->held[at] != line; slot++) HJHostFineLine(a, slot, j, k, here + slot * a->nf[0]);
  p->held[at] = line;
  return here;
}

/* Fine points along a line next to which others are looked at */
static PetscInt HJPathsReach(const HJColumns *w, int d)
{
  return w->step[d] ? 1 : 0;
}

void HJHostPathsRange(const HJHostPaths *p, const int up[3], PetscInt j, PetscInt k, PetscInt *lo, PetscInt *hi)
{
  const HJColumns *w     = p->w;
  const HJFine    *a     = p->a;
  const PetscInt   at[3] = {0, w->factor[1] * j + w->base[1] + up[1], w->factor[2] * k + w->base[2] + up[2]};
  const PetscInt   first = w->base[0] + up[0], reach = HJPathsReach(w, 0);

  *lo = *hi = 0;
  for (int d = 1; d < 3; d++) {
    const PetscInt first_line = PetscMax(at[d] - HJPathsReach(w, d), a->domain.lo[d]),
                   last_line  = PetscMin(at[d] + HJPathsReach(w, d), a->domain.hi[d] - 1);

    if (at[d] < 0 || at[d] >= a->nf[d] || first_line < 0 || last_line >= a->nf[d]) return;
  }
  while (*lo < w->nc[0] && w->factor[0] * *lo + first - reach < 0) (*lo)++;
  for (*hi = w->nc[0]; *hi > *lo && w->factor[0] * (*hi - 1) + first + reach >= a->nf[0];) (*hi)--;
}

/* One line of fine points, and what is looked for at them */
typedef struct {
  const HJHostPaths *p;
  PetscInt           first, j, k, n; /* of the fine points; coarse ones */
  const PetscScalar *scale;
} HJPathsPiece;

/* Couplings of the points that lie (x, y, z) beside a piece to those o beside them; PETSC_FALSE: none has any */
static PetscBool HJPathsCouplings(const HJPathsPiece *c, int x, int y, int z, const int o[3], PetscScalar *to)
{
  const HJColumns   *w       = c->p->w;
  const HJFine      *a       = c->p->a;
  const int          more[3] = {!w->step[0], a->e.dim > 1 && !w->step[1], a->e.dim > 2 && !w->step[2]};
  const PetscScalar *line, *entry[27];
  PetscCount         stride;
  PetscInt           n = 0;

  line = HJPathsLine(c->p, c->j + y, c->k + z, &stride) + c->first + x;
  for (int oz = o[2] - more[2]; oz <= o[2] + more[2]; oz++) {
    for (int oy = o[1] - more[1]; oy <= o[1] + more[1]; oy++) {
      for (int ox = o[0] - more[0]; ox <= o[0] + more[0]; ox++) {
        const int slot = HJFineSlot(a, ox, oy, oz);

        if (slot >= 0) entry[n++] = line + (stride ? slot * stride : a->e.begin[slot]);
      }
    }
  }
  if (n) c->p->kernels->path_couplings(c->n, w->factor[0], n, entry, c->scale, to);
  return (PetscBool)(n > 0);
}

/* Paths by way of the points (x, y, z) beside those of a piece */
static void HJPathsAdd(const HJPathsPiece *c, const int t[3], int x, int y, int z, PetscScalar *const work[5], PetscScalar *to)
{
  HJHostPath path = {.n = c->n, .sum = to};

  if (HJPathsCouplings(c, 0, 0, 0, (const int[3]){x, y, z}, work[0])) path.over = work[0];
  if (HJPathsCouplings(c, 0, 0, 0, (const int[3]){x + t[0], y + t[1], z + t[2]}, work[1])) path.aslant = work[1];
  if (!path.over && !path.aslant) return;
  if (HJPathsCouplings(c, x + t[0], y + t[1], z + t[2], (const int[3]){-x, -y, -z}, work[2])) path.last = work[2];
  if (path.over && HJPathsCouplings(c, x, y, z, (const int[3]){t[0] - x, t[1] - y, t[2] - z}, work[3])) path.back = work[3];
  if (path.over && path.last && HJPathsCouplings(c, x, y, z, t, work[4])) path.along = work[4];
  c->p->kernels->path_add(&path);
}

void HJHostPathsRun(const HJHostPaths *p, const int up[3], const int t[3], PetscInt j, PetscInt k, PetscInt lo, PetscInt hi,
                    PetscScalar *to)
{
  const HJColumns   *w     = p->w;
  const int          e[3]  = {w->step[0] && !t[0], w->step[1] && !t[1], w->step[2] && !t[2]};
  PetscScalar       *scale = p->work, *work[5];
  const PetscScalar *diagonal;
  PetscCount         stride;
  HJPathsPiece       c = {.p     = p,
                          .first = w->factor[0] * lo + w->base[0] + up[0],
                          .j     = w->factor[1] * j + w->base[1] + up[1],
                          .k     = w->factor[2] * k + w->base[2] + up[2],
                          .n     = hi - lo,
                          .scale = scale};

  for (int l = 0; l < 5; l++) work[l] = p->work + (size_t)(l + 1) * w->nc[0];
  diagonal = HJPathsLine(p, c.j, c.k, &stride) + c.first;
  for (PetscInt i = 0; i < c.n; i++) scale[i] = HJScaleOfRow(PetscRealPart(diagonal[w->factor[0] * i]));
  memset(to, 0, c.n * sizeof(*to));
  if (HJPathsCouplings(&c, 0, 0, 0, t, to))
    for (PetscInt i = 0; i < c.n; i++) to[i] = PetscMax(to[i], 0.0);
  for (int z = -e[2]; z <= e[2]; z++) {
    for (int y = -e[1]; y <= e[1]; y++) {
      for (int x = -e[0]; x <= e[0]; x++) {
        if ((!x && !y && !z) || c.j + y < p->a->domain.lo[1] || c.j + y >= p->a->domain.hi[1] || c.k + z < p->a->domain.lo[2] ||
            c.k + z >= p->a->domain.hi[2])
          continue;
        HJPathsAdd(&c, t, x, y, z, work, to);
      }
    }
  }
}

/*
   Residual and restriction in one pass: each fine line's residual is made while it is in the cache, gathered along the line, and added to
   the coarse lines next to it.
*/
#include "hjproduct.h"
#include "../core/hjrestriction.h"

typedef struct {
  const HJRestriction *p;
  HJHostProductArgs    product;
  PetscInt             n[3], nc[3];
  PetscScalar         *zero, *r, *sum; /* a line of zeros; the residual, with a point before and after it; gathered */
} HJHostRestriction;

/* Where a line or point beyond the ends of the fine grid is; -1: nowhere */
static PetscInt HJRestrictWrap(const HJGrid *grid, int d, PetscInt i, PetscInt n)
{
  if (i >= 0 && i < n) return i;
  return grid->periodic[d] ? (i + n) % n : -1;
}

/* The residual on a fine line, and the points beside it */
static void HJRestrictResidualLine(const HJHostRestriction *h, PetscInt j, PetscInt k)
{
  const HJRestriction *p    = h->p;
  const HJGrid        *fine = &p->transfer->fine;
  const PetscInt       n    = h->n[0];
  const PetscCount     at   = ((PetscCount)k * h->n[1] + j) * n;
  const PetscBool      wrap = fine->periodic[0];
  HJHostRow            r    = {.y = h->r + 1, .b = p->b + at, .w = -1.0};
  PetscScalar          end[2][9][3];

  for (int l = 0; l < 9; l++) {
    const int          dy = l % 3 - 1, dz = l / 3 - 1;
    PetscInt           lj, lk;
    const PetscScalar *x = h->zero;

    if (!HJHostProductNeedsLine(p->a, dy, dz)) continue;
    lj = HJRestrictWrap(fine, 1, j + dy, h->n[1]);
    lk = HJRestrictWrap(fine, 2, k + dz, h->n[2]);
    if (lj >= 0 && lk >= 0) x = p->x + ((PetscCount)lk * h->n[1] + lj) * n;
    r.x[l] = x;
    HJHostProductEnds(x, n, wrap ? x[n - 1] : 0.0, wrap ? x[0] : 0.0, end[0][l], end[1][l]);
  }
  HJHostProductLine(&h->product, &r, end, at);
  h->r[0]     = wrap ? h->r[n] : 0.0;
  h->r[n + 1] = 0.0; /* beyond the last coarse point, or not read */
}

/* The coarse lines, at most two, that a fine line gives to, and its weight */
static PetscInt HJRestrictParents(const HJHostRestriction *h, int d, PetscInt fine, PetscInt coarse[2], PetscScalar *w)
{
  const HJTransfer *t = h->p->transfer;
  PetscInt          above;

  *w        = 1.0;
  coarse[0] = fine / t->factor[d];
  if (fine % t->factor[d] == 0) return 1;
  *w    = 0.5;
  above = HJRestrictWrap(&t->coarse, d, coarse[0] + 1, h->nc[d]);
  if (above < 0) return 1;
  coarse[1] = above;
  return 2;
}

static void HJRestrictLine(const HJHostRestriction *h, PetscInt j, PetscInt k)
{
  const PetscInt     nc = h->nc[0];
  const PetscScalar *r = h->r + 1, *sum = r;
  PetscScalar        wj, wk;
  PetscInt           cj[2], ck[2];
  const PetscInt     nj = HJRestrictParents(h, 1, j, cj, &wj), nk = HJRestrictParents(h, 2, k, ck, &wk);

  if (h->p->transfer->factor[0] == 2) {
    for (PetscInt i = 0; i < nc; i++) h->sum[i] = r[2 * i] + 0.5 * (r[2 * i - 1] + r[2 * i + 1]);
    sum = h->sum;
  }
  for (PetscInt c = 0; c < nj * nk; c++) {
    PetscScalar *y = h->p->y + ((PetscCount)ck[c / nj] * h->nc[1] + cj[c % nj]) * nc;

    for (PetscInt i = 0; i < nc; i++) y[i] += wj * wk * sum[i];
  }
}

PetscErrorCode HJHostRestrictResidual(const HJRestriction *p)
{
  HJHostRestriction h     = {.p = p};
  PetscReal         norm2 = 0.0;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    h.n[d]  = HJBoxWidth(&p->transfer->fine.owned, d);
    h.nc[d] = HJBoxWidth(&p->transfer->coarse.owned, d);
  }
  HJHostProductSet(p->a, h.n[0], PETSC_TRUE, &h.product);
  PetscCall(PetscCalloc3(h.n[0], &h.zero, h.n[0] + 2, &h.r, h.nc[0], &h.sum));
  PetscCall(PetscArrayzero(p->y, HJBoxSize(&p->transfer->coarse.owned)));
  for (PetscInt k = 0; k < h.n[2]; k++) {
    for (PetscInt j = 0; j < h.n[1]; j++) {
      PetscReal line = 0.0;

      HJRestrictResidualLine(&h, j, k);
      for (PetscInt i = 1; i <= h.n[0] && p->norm2; i++) line += h.r[i] * h.r[i];
      norm2 += line;
      HJRestrictLine(&h, j, k);
    }
  }
  if (p->norm2) p->norm2[0] = norm2;
  PetscCall(PetscFree3(h.zero, h.r, h.sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

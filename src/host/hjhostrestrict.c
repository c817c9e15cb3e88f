/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Residual and restriction in one pass: each fine line's residual is made while it is in the cache, gathered along the line, and added to
   the coarse lines next to it.
*/
#include "hjhostproduct.h"
#include "core/hjrestriction.h"

typedef struct {
  const HJRestriction *p;
  HJHostProductArgs    product;
  PetscInt             n[3], nc[3];
  PetscScalar          scale[3][2];    /* see HJTransferGetScale() */
  int                  slow;           /* the direction that is cut; -1: none */
  PetscScalar         *zero, *r, *sum; /* a line of zeros; the residual, with a point before and after it; gathered */
} HJHostRestriction;

/* Where a line or point beyond the ends of the fine grid is; -1: nowhere */
static PetscInt HJRestrictWrap(const HJGrid *grid, int d, PetscInt i, PetscInt n)
{
  if (i >= 0 && i < n) return i;
  return grid->periodic[d] ? (i + n) % n : -1;
}

/* A line of values on the fine grid, of the rank or of its neighbours' planes beside it; of zeros outside the domain */
static const PetscScalar *HJRestrictGetLine(const HJHostRestriction *h, const PetscScalar *own, const PetscScalar *const beside[2],
                                            PetscInt j, PetscInt k)
{
  const HJGrid *fine  = &h->p->transfer->fine;
  PetscInt      at[3] = {0, j, k};

  for (int d = 1; d < 3; d++) {
    const PetscBool below = (PetscBool)(at[d] < 0);

    if (at[d] >= 0 && at[d] < h->n[d]) continue;
    if (d != h->slow) at[d] = HJRestrictWrap(fine, d, at[d], h->n[d]);
    else {
      at[d] += below ? HJ_CUT_PLANES : -h->n[d];
      own = beside[below ? 0 : 1];
    }
    if (at[d] < 0 || !own) return h->zero;
  }
  return own + HJBoxIndex(HJGridLies(fine, h->p->lies), 0, at[1], at[2]);
}

/* The residual on a fine line, and the points beside it */
static void HJRestrictResidualLine(HJHostRestriction *h, PetscInt j, PetscInt k)
{
  const HJRestriction *p    = h->p;
  const PetscInt       n    = h->n[0];
  const PetscBool      wrap = p->transfer->fine.periodic[0];
  HJHostRow           *r    = &h->product.row;
  PetscScalar          end[2][9][3];

  r->y = h->r + 1;
  r->b = HJRestrictGetLine(h, p->b, p->cut.b, j, k);
  r->w = -1.0;
  for (int l = 0; l < 9; l++) {
    const int          dy = l % 3 - 1, dz = l / 3 - 1;
    const PetscScalar *x;

    if (!HJHostProductNeedsLine(p->a, dy, dz)) continue;
    r->x[l] = x = HJRestrictGetLine(h, p->x, p->cut.x, j + dy, k + dz);
    HJHostProductEnds(x, n, wrap ? x[n - 1] : 0.0, wrap ? x[0] : 0.0, end[0][l], end[1][l]);
  }
  HJHostProductLine(&h->product, r, end, ((PetscCount)k * h->n[1] + j) * n); /* one row for all where k or j is another rank's */
  h->r[0]     = wrap ? h->r[n] : 0.0;
  h->r[n + 1] = 0.0; /* beyond the last coarse point, or not read */
}

/* The coarse lines, at most two, that a fine line gives to, and its coefficient */
static PetscInt HJRestrictParents(const HJHostRestriction *h, int d, PetscInt fine, PetscInt coarse[2], PetscScalar *w)
{
  const HJTransfer *t     = h->p->transfer;
  const PetscInt    place = fine + HJTransferShift(t, d); /* -2 or more */
  PetscInt          n     = 0;

  *w        = 1.0;
  coarse[0] = place;
  if (t->factor[d] == 1) return 1;
  if (place % 2) *w = HJ_HALF * (fine == 0 ? h->scale[d][0] : fine == h->n[d] - 1 ? h->scale[d][1] : (PetscScalar)1.0);
  for (PetscInt c = (place + 2) / 2 - 1; c <= (place + 3) / 2 - 1; c++) {
    const PetscInt to = d != h->slow ? HJRestrictWrap(&t->coarse, d, c, h->nc[d]) : c < h->nc[d] ? c : -1;

    if (to >= 0) coarse[n++] = to;
  }
  return n;
}

/* Gathers the residual of a line; what hangs in it is scaled */
static void HJRestrictLine(const HJHostRestriction *h, PetscInt j, PetscInt k)
{
  const PetscInt     nc = h->nc[0];
  const PetscScalar *r = h->r + 1 + h->p->transfer->first[0], *sum = r;
  PetscScalar        wj, wk;
  PetscInt           cj[2], ck[2];
  const PetscInt     nj = HJRestrictParents(h, 1, j, cj, &wj), nk = HJRestrictParents(h, 2, k, ck, &wk);

  if (h->p->transfer->factor[0] == 2) {
    h->r[1] *= h->scale[0][0];
    h->r[h->n[0]] *= h->scale[0][1];
    for (PetscInt i = 0; i < nc; i++) h->sum[i] = r[2 * i] + HJ_HALF * (r[2 * i - 1] + r[2 * i + 1]);
    sum = h->sum;
  }
  for (PetscInt c = 0; c < nj * nk; c++) {
    PetscScalar *y = h->p->y + ((PetscCount)ck[c / nj] * h->nc[1] + cj[c % nj]) * nc;

    for (PetscInt i = 0; i < nc; i++) y[i] += wj * wk * sum[i];
  }
}

PetscErrorCode HJHostRestrictResidual(const HJRestriction *p)
{
  HJHostRestriction h     = {.p = p, .slow = p->cut.cut ? (int)p->transfer->fine.dim - 1 : -1};
  PetscReal         norm2 = 0.0;
  PetscInt          lo[3] = {0}, hi[3];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    h.n[d]  = HJBoxWidth(&p->transfer->fine.owned, d);
    h.nc[d] = HJBoxWidth(&p->transfer->coarse.owned, d);
    HJTransferGetScale(p->transfer, d, h.scale[d]);
    lo[d] = d == h.slow && p->cut.x[0] ? -1 : 0;
    hi[d] = d == h.slow && p->cut.x[1] ? h.n[d] + 1 : h.n[d];
  }
  HJHostProductSet(p->a, h.n[0], PETSC_TRUE, &h.product);
  PetscCall(PetscCalloc3(h.n[0], &h.zero, h.n[0] + 2, &h.r, h.nc[0], &h.sum));
  PetscCall(PetscArrayzero(p->y, HJBoxSize(&p->transfer->coarse.owned)));
  for (PetscInt k = lo[2]; k < hi[2]; k++) {
    for (PetscInt j = lo[1]; j < hi[1]; j++) {
      const PetscBool own  = (PetscBool)(k >= 0 && k < h.n[2] && j >= 0 && j < h.n[1]);
      PetscReal       line = 0.0;

      HJRestrictResidualLine(&h, j, k);
      for (PetscInt i = 1; i <= h.n[0] && p->norm2 && own; i++) line += h.r[i] * h.r[i];
      norm2 += line;
      HJRestrictLine(&h, j, k);
    }
  }
  if (p->norm2) p->norm2[0] = norm2;
  PetscCall(PetscFree3(h.zero, h.r, h.sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

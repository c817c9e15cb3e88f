/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Interpolation and its transpose where a point has several unknowns, line by line: what lies around a line of the result is summed over a
   stretch of it, all unknowns of its points at once, then along the line.
*/
#include "hjhostkernels.h"
#include "core/hjtransfer.h"

/* Points of a stretch, so that their sums are in the first-level cache */
static PetscInt HJPointsStretch(PetscInt dof, PetscInt factor, PetscInt more)
{
  return PetscMax((HJ_TRANSFER_ROOM / dof - more) / factor, 1);
}

/* sum += w x, or w keep x, of n numbers */
static void HJPointsAdd(PetscInt n, PetscReal w, const PetscScalar *restrict x, const PetscScalar *restrict keep, PetscScalar *restrict sum)
{
  if (keep) {
    for (PetscInt i = 0; i < n; i++) sum[i] += w * keep[i] * x[i];
  } else {
    for (PetscInt i = 0; i < n; i++) sum[i] += w * x[i];
  }
}

/* The same of the points [lo, hi) of a line of the source; keeps: what is kept of them */
static void HJPointsAddLine(const HJTransferProduct *p, PetscBool keeps, PetscInt j, PetscInt k, PetscReal w, PetscInt lo, PetscInt hi,
                            PetscScalar *sum)
{
  const HJShell    *s     = p->shell;
  const PetscInt    dof   = p->transfer->fine.dof;
  const PetscInt    first = PetscMin(PetscMax(lo, 0), hi), last = PetscMax(PetscMin(hi, s->width[0]), first);
  const HJShellLine line = HJShellGetLine(s, j, k);

  for (PetscInt i = lo, n; i < hi; i += n) {
    const PetscBool  owned = (PetscBool)(i == first && first < last), ghost = (PetscBool)(!owned || line.ghost);
    const PetscCount at = dof * (owned ? line.at + i : HJShellIndex(s, i, j, k));

    n = owned ? last - first : 1;
    HJPointsAdd(n * dof, w, (ghost ? p->ghost : p->x) + at, keeps ? (ghost ? p->keep_ghost : p->keep) + at : NULL, sum + (i - lo) * dof);
  }
}

/* The unknowns of fine points [lo, hi) of a line from the sums of the coarse ones, the first of which is c0 */
static void HJPointsSpread(const HJTransferProduct *p, const PetscScalar *sum, PetscInt c0, PetscCount at, PetscInt lo, PetscInt hi)
{
  const PetscInt dof = p->transfer->fine.dof;

  for (PetscInt i = lo; i < hi; i++) {
    PetscInt           c;
    PetscReal          w;
    const PetscInt     two  = HJTransferParents(p->transfer, 0, i, &c, &w) > 1;
    const PetscScalar *from = sum + (c - c0) * dof;
    const PetscCount   to   = (at + i) * dof;

    for (PetscInt l = 0; l < dof; l++) {
      const PetscScalar v = w * (two ? from[l] + from[l + dof] : from[l]);

      p->y[to + l] = (p->b ? p->b[to + l] : 0.0) + (p->keep ? p->keep[to + l] * v : v);
    }
  }
}

static void HJPointsInterpolateLine(const HJTransferProduct *p, PetscInt j, PetscInt k)
{
  const HJTransfer *t = p->transfer;
  const PetscInt    n = HJBoxWidth(&t->fine.owned, 0), dof = t->fine.dof, stretch = t->factor[0] * HJPointsStretch(dof, 1, 2);
  const PetscCount  at = ((PetscCount)k * HJBoxWidth(&t->fine.owned, 1) + j) * n;
  PetscScalar       sum[HJ_TRANSFER_ROOM];
  PetscReal         wj, wk, w;
  PetscInt          cj, ck, c0, c1, c2;
  const PetscInt    nj = HJTransferParents(t, 1, j, &cj, &wj), nk = HJTransferParents(t, 2, k, &ck, &wk);

  for (PetscInt lo = 0; lo < n; lo += stretch) {
    const PetscInt hi = PetscMin(lo + stretch, n);

    (void)HJTransferParents(t, 0, lo, &c0, &w);
    c2 = HJTransferParents(t, 0, hi - 1, &c1, &w);
    c1 += c2;
    memset(sum, 0, (c1 - c0) * dof * sizeof(*sum));
    for (PetscInt c = 0; c < nj * nk; c++) HJPointsAddLine(p, PETSC_FALSE, cj + c % nj, ck + c / nj, wj * wk, c0, c1, sum);
    HJPointsSpread(p, sum, c0, at, lo, hi);
  }
}

PetscErrorCode HJHostInterpolatePoints(const HJTransferProduct *p)
{
  const HJBox *fine = &p->transfer->fine.owned;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < fine->hi[2]; k++) {
    for (PetscInt j = 0; j < fine->hi[1]; j++) HJPointsInterpolateLine(p, j, k);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The unknowns of coarse points [lo, hi) of a line from the sums of the fine ones, the first of which is f0 */
static void HJPointsGather(const HJTransferProduct *p, const PetscScalar *sum, PetscInt f0, PetscCount at, PetscInt lo, PetscInt hi)
{
  const HJTransfer *t   = p->transfer;
  const PetscInt    dof = t->fine.dof, f = t->factor[0];

  for (PetscInt c = lo; c < hi; c++) {
    const PetscInt   i  = f * c - HJTransferShift(t, 0);
    const PetscCount to = (at + c) * dof;

    for (PetscInt l = 0; l < dof; l++) p->y[to + l] = p->b ? p->b[to + l] : 0.0;
    for (PetscInt off = 1 - f; off <= f - 1; off++) {
      const PetscReal w = HJTransferCoefficient(t, 0, i + off, off);

      HJPointsAdd(dof, w, sum + (i + off - f0) * dof, NULL, p->y + to);
    }
  }
}

static void HJPointsGatherLine(const HJTransferProduct *p, PetscInt j, PetscInt k)
{
  const HJTransfer *t = p->transfer;
  const PetscInt    n = HJBoxWidth(&t->coarse.owned, 0), dof = t->fine.dof, f = t->factor[0], stretch = HJPointsStretch(dof, f, 1);
  const PetscInt    reach[2] = {t->factor[1] - 1, t->factor[2] - 1};
  const PetscInt    fj = t->factor[1] * j - HJTransferShift(t, 1), fk = t->factor[2] * k - HJTransferShift(t, 2);
  const PetscCount  at = ((PetscCount)k * HJBoxWidth(&t->coarse.owned, 1) + j) * n;
  PetscScalar       sum[HJ_TRANSFER_ROOM];

  for (PetscInt lo = 0; lo < n; lo += stretch) {
    const PetscInt hi = PetscMin(lo + stretch, n), f0 = f * lo - HJTransferShift(t, 0) - (f - 1),
                   f1 = f * (hi - 1) - HJTransferShift(t, 0) + f;

    memset(sum, 0, (f1 - f0) * dof * sizeof(*sum));
    for (PetscInt dk = -reach[1]; dk <= reach[1]; dk++) {
      for (PetscInt dj = -reach[0]; dj <= reach[0]; dj++) {
        const PetscReal w = HJTransferCoefficient(t, 1, fj + dj, dj) * HJTransferCoefficient(t, 2, fk + dk, dk);

        if (w != 0.0) HJPointsAddLine(p, (PetscBool)(p->keep != NULL), fj + dj, fk + dk, w, f0, f1, sum);
      }
    }
    HJPointsGather(p, sum, f0, at, lo, hi);
  }
}

PetscErrorCode HJHostInterpolatePointsTranspose(const HJTransferProduct *p)
{
  const HJBox *coarse = &p->transfer->coarse.owned;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < coarse->hi[2]; k++) {
    for (PetscInt j = 0; j < coarse->hi[1]; j++) HJPointsGatherLine(p, j, k);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHostKeepPoints(const HJTransferKeep *k)
{
  const PetscInt  *n = k->transfer->fine.owned.hi, dof = k->transfer->fine.dof;
  const PetscCount size = HJBoxSize(&k->transfer->fine.owned);

  PetscFunctionBegin;
  for (PetscCount p = 0; p < size; p++) {
    const PetscInt at[3] = {(PetscInt)(p % n[0]), (PetscInt)(p / n[0] % n[1]), (PetscInt)(p / n[0] / n[1])};

    for (PetscInt l = 0; l < dof; l++) k->keep[p * dof + l] = HJTransferKeeps(k, at, l, k->mask[p * dof + l]) ? 1.0 : 0.0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

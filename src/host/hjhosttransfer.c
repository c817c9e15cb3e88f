/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Interpolation and its transpose, line by line: the lines of the source around a line of the result are summed over a stretch of it, then
   its points are interpolated, or gathered, along the line.
*/
#include "hjhostkernels.h"
#include "core/hjtransfer.h"

/* Coarse points of a stretch, which are in the first-level cache with the fine ones above them */
#define HJ_TRANSFER_STRETCH 256

/* Quotient rounded down, of a refinement of 1 or 2 */
static PetscInt HJTransferDivide(PetscInt place, PetscInt factor)
{
  return factor == 1 ? place : (place - (place & 1)) / 2;
}

/* sum[i - lo] += w times the source at i of a line, i in [lo, hi) */
static void HJTransferAddLine(const HJTransferProduct *p, PetscInt j, PetscInt k, PetscScalar w, PetscInt lo, PetscInt hi, PetscScalar *sum)
{
  const HJShell     *s     = p->shell;
  const PetscInt     first = PetscMin(PetscMax(lo, 0), hi), last = PetscMax(PetscMin(hi, s->width[0]), first);
  const HJShellLine  line = HJShellGetLine(s, j, k);
  const PetscScalar *x    = (line.ghost ? p->ghost : p->x) + line.at;

  for (PetscInt i = lo; i < first; i++) sum[i - lo] += w * p->ghost[HJShellIndex(s, i, j, k)];
  for (PetscInt i = first; i < last; i++) sum[i - lo] += w * x[i];
  for (PetscInt i = last; i < hi; i++) sum[i - lo] += w * p->ghost[HJShellIndex(s, i, j, k)];
}

/* Fine points [lo, hi) of a line from the sums of the coarse ones, the first of which is c0 */
static void HJTransferSpread(const HJTransfer *t, const PetscScalar *sum, PetscInt c0, const PetscScalar *b, PetscScalar *y, PetscInt lo,
                             PetscInt hi)
{
  const PetscInt f = t->factor[0], shift = HJTransferShift(t, 0);
  PetscInt       i = lo;

  if (f == 1) {
    for (; i < hi; i++) y[i] = (b ? b[i] : HJ_ZERO) + sum[i + shift - c0];
    return;
  }
  if (i < hi && ((i + shift) & 1)) {
    const PetscInt c = HJTransferDivide(i + shift, 2) - c0;

    y[i] = (b ? b[i] : HJ_ZERO) + HJ_HALF * (sum[c] + sum[c + 1]);
    i++;
  }
  sum += (i + shift) / 2 - c0;
  for (PetscInt c = 0; c < (hi - i) / 2; c++) {
    const PetscInt    e    = i + 2 * c;
    const PetscScalar even = b ? b[e] : HJ_ZERO, odd = b ? b[e + 1] : HJ_ZERO;

    y[e]     = even + sum[c];
    y[e + 1] = odd + HJ_HALF * (sum[c] + sum[c + 1]);
  }
  if ((hi - i) % 2) y[hi - 1] = (b ? b[hi - 1] : HJ_ZERO) + sum[(hi - i) / 2];
}

static void HJTransferInterpolateLine(const HJTransferProduct *p, PetscInt j, PetscInt k)
{
  const HJTransfer *t = p->transfer;
  const PetscInt    n = HJBoxWidth(&t->fine.owned, 0), shift = HJTransferShift(t, 0);
  const PetscCount  at = HJBoxIndex(HJGridLies(&t->fine, p->lies), 0, j, k);
  PetscScalar       sum[HJ_TRANSFER_STRETCH + 2];
  PetscReal         wj, wk;
  PetscInt          cj, ck;
  const PetscInt    nj = HJTransferParents(t, 1, j, &cj, &wj), nk = HJTransferParents(t, 2, k, &ck, &wk);

  for (PetscInt lo = 0; lo < n; lo += t->factor[0] * HJ_TRANSFER_STRETCH) {
    const PetscInt hi = PetscMin(lo + t->factor[0] * HJ_TRANSFER_STRETCH, n), c0 = HJTransferDivide(lo + shift, t->factor[0]),
                   c1 = HJTransferDivide(hi - 1 + shift + t->factor[0] - 1, t->factor[0]) + 1;

    for (PetscInt c = 0; c < c1 - c0; c++) sum[c] = 0.0;
    for (PetscInt c = 0; c < nj * nk; c++) HJTransferAddLine(p, cj + c % nj, ck + c / nj, wj * wk, c0, c1, sum);
    if (HJTransferBeginning(t, 0) == lo) sum[0] = (2.0 * t->before[0] - 1.0) * sum[1];
    if (HJTransferHanging(t, 0) < hi) sum[c1 - 1 - c0] = (2.0 * t->last[0] - 1.0) * sum[c1 - 2 - c0]; /* the mean with it is last */
    HJTransferSpread(t, sum, c0, p->b ? p->b + at : NULL, p->y + at, lo, hi);
  }
}

PetscErrorCode HJHostInterpolate(const HJTransferProduct *p)
{
  const HJBox *fine = &p->transfer->fine.owned;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < fine->hi[2]; k++) {
    for (PetscInt j = 0; j < fine->hi[1]; j++) HJTransferInterpolateLine(p, j, k);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coarse points [lo, hi) of a line from the sums of the fine ones, the first of which is next to the first of them */
static void HJTransferGather(PetscInt f, const PetscScalar *sum, const PetscScalar *b, PetscScalar *y, PetscInt lo, PetscInt hi)
{
  for (PetscInt c = lo; c < hi; c++) {
    const PetscScalar *s = sum + f * (c - lo);

    y[c] = (b ? b[c] : HJ_ZERO) + (f == 1 ? s[0] : s[1] + HJ_HALF * (s[0] + s[2]));
  }
}

/* The sums of a line, from f0 on, that have another coefficient than one half: those of no point, and of those that hang */
static void HJTransferEndSums(const HJTransfer *t, PetscInt f0, PetscInt f1, PetscScalar *sum)
{
  if (t->factor[0] == 1) return;
  if (f0 < t->points.lo[0]) sum[0] = 0.0;
  if (f1 > t->points.hi[0]) sum[f1 - 1 - f0] = 0.0;
  if (HJTransferBeginning(t, 0) == f0) sum[0] *= 2.0 * t->before[0];
  if (HJTransferHanging(t, 0) < f1) sum[HJTransferHanging(t, 0) - f0] *= 2.0 * t->last[0];
}

static void HJTransferGatherLine(const HJTransferProduct *p, PetscInt j, PetscInt k)
{
  const HJTransfer *t = p->transfer;
  const PetscInt    n = HJBoxWidth(&t->coarse.owned, 0), f = t->factor[0], reach[2] = {t->factor[1] - 1, t->factor[2] - 1},
                 fj = t->factor[1] * j - HJTransferShift(t, 1), fk = t->factor[2] * k - HJTransferShift(t, 2);
  const PetscCount at = ((PetscCount)k * HJBoxWidth(&t->coarse.owned, 1) + j) * n;
  PetscScalar      sum[2 * HJ_TRANSFER_STRETCH + 1];

  for (PetscInt lo = 0; lo < n; lo += HJ_TRANSFER_STRETCH) {
    const PetscInt hi = PetscMin(lo + HJ_TRANSFER_STRETCH, n), f0 = f * lo - HJTransferShift(t, 0) - (f - 1),
                   f1 = f * (hi - 1) - HJTransferShift(t, 0) + f;

    for (PetscInt i = 0; i < f1 - f0; i++) sum[i] = 0.0;
    for (PetscInt dk = -reach[1]; dk <= reach[1]; dk++) {
      for (PetscInt dj = -reach[0]; dj <= reach[0]; dj++) {
        const PetscReal w = HJTransferCoefficient(t, 1, fj + dj, dj) * HJTransferCoefficient(t, 2, fk + dk, dk);

        if (w != 0.0) HJTransferAddLine(p, fj + dj, fk + dk, w, f0, f1, sum);
      }
    }
    HJTransferEndSums(t, f0, f1, sum);
    HJTransferGather(f, sum, p->b ? p->b + at : NULL, p->y + at, lo, hi);
  }
}

PetscErrorCode HJHostInterpolateTranspose(const HJTransferProduct *p)
{
  const HJBox *coarse = &p->transfer->coarse.owned;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < coarse->hi[2]; k++) {
    for (PetscInt j = 0; j < coarse->hi[1]; j++) HJTransferGatherLine(p, j, k);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

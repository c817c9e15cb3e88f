/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Couplings of a grid's points by direction. Inner points that share a row are measured once for all of them, others a piece of a line at a
   time, and those at the ends of the domain one by one.
*/
#include "core/hjmeasure.h"
#include "hjhostkernels.h"

/* The row of a point; slots whose neighbour is no point are left out */
static void HJMeasureGetRow(const HJCoefficients *a, PetscCount point, unsigned int ends, PetscInt off[][3], HJMeasureRow *row)
{
  memset(row, 0, sizeof(*row));
  for (PetscInt slot = 0; slot < a->nslots; slot++) {
    if (HJMeasureInside(ends, off[slot])) HJMeasureRowAdd(row, slot, off[slot], PetscRealPart(HJCoefficientAt(a, slot, point)));
  }
}

/* Adds n times what was measured of one row */
static void HJMeasureScale(PetscReal n, const HJMeasureSums *one, HJMeasureSums *sums)
{
  for (PetscInt i = 0; i < HJ_MEASURE_SUMS; i++) ((double *)sums)[i] += n * ((const double *)one)[i];
}

/* n points that compare so */
static void HJMeasureAddRatios(PetscInt dim, HJMeasureClass c, PetscReal n, HJMeasureRatios *r)
{
  for (PetscInt d = 0; d < dim; d++)
    if (c.step[d] >= 0) r->weaker[d][c.step[d]] += n;
  if (c.alone >= 0) r->alone[c.alone] += n;
  r->points += n;
}

static void HJMeasureRowRatios(PetscInt dim, const HJMeasureRow *row, PetscReal n, HJMeasureRatios *r)
{
  if (row->others > 0.0) HJMeasureAddRatios(dim, HJMeasureClassifyRow(dim, row), n, r);
}

/* Points of a piece, whose sums are in the first-level cache */
#define HJ_MEASURE_PIECE 128

/* The same of a piece. Where no direction is weak, as most often, only that is found: in loops over all of it, beyond n zeros, which a
   compiler can do for several points at once */
static void HJMeasurePieceRatios(PetscInt dim, PetscInt n, const PetscReal part[3][2][HJ_MEASURE_PIECE], const PetscReal others[],
                                 PetscReal coupled, HJMeasureRatios *r)
{
  PetscReal strongest[HJ_MEASURE_PIECE], weakest[HJ_MEASURE_PIECE];
  PetscInt  any = 0;

  for (PetscInt i = 0; i < HJ_MEASURE_PIECE; i++) {
    const PetscReal lo = fabs(part[0][0][i]), hi = fabs(part[0][1][i]);

    strongest[i] = weakest[i] = lo < hi ? hi : lo;
  }
  for (PetscInt d = 1; d < dim; d++) {
    for (PetscInt i = 0; i < HJ_MEASURE_PIECE; i++) {
      const PetscReal lo = fabs(part[d][0][i]), hi = fabs(part[d][1][i]), most = lo < hi ? hi : lo;

      strongest[i] = strongest[i] < most ? most : strongest[i];
      weakest[i]   = most < weakest[i] ? most : weakest[i];
    }
  }
  for (PetscInt i = 0; i < n; i++) any |= strongest[i] > HJ_MEASURE_RATIO * weakest[i];
  if (!any) r->points += coupled;
  for (PetscInt i = 0; i < n && any; i++) {
    const PetscReal below[3] = {part[0][0][i], part[1][0][i], part[2][0][i]}, above[3] = {part[0][1][i], part[1][1][i], part[2][1][i]};

    if (others[i] > 0.0) HJMeasureAddRatios(dim, HJMeasureClassify(dim, below, above), 1.0, r);
  }
}

/* n points that lie at no end of the domain */
static void HJMeasurePiece(const HJCoefficients *a, PetscInt dim, const PetscInt off[][3], PetscCount at, PetscInt n, HJMeasure *m)
{
  PetscReal part[3][2][HJ_MEASURE_PIECE], others[HJ_MEASURE_PIECE], scale[HJ_MEASURE_PIECE], coupled = 0.0;

  memset(part, 0, sizeof(part));
  memset(others, 0, sizeof(others));
  for (PetscInt slot = 1; slot < a->nslots; slot++) {
    const PetscScalar *restrict v = a->value + HJSlotBegin(a, slot) + at;

    for (PetscInt d = 0; d < dim; d++) {
      PetscReal *restrict to = part[d][off[slot][d] > 0];

      for (PetscInt i = 0; i < n && off[slot][d]; i++) to[i] += PetscRealPart(v[i]);
    }
    for (PetscInt i = 0; i < n; i++) others[i] += PetscAbsScalar(v[i]);
  }
  for (PetscInt i = 0; i < n; i++) {
    const PetscReal size = PetscAbsScalar(a->value[at + i]);

    scale[i] = others[i] > 0.0 ? HJMeasureInverse(size, others[i]) : 0.0;
    coupled += others[i] > 0.0 ? 2.0 : 0.0;
    m->largest = PetscMax(m->largest, HJMeasureOthers(size, others[i]));
    HJMeasureSizes(PetscRealPart(a->value[at + i]), (PetscBool)(others[i] > 0.0), &m->alone, &m->coupled);
  }
  for (PetscInt d = 0; d < dim; d++) {
    PetscReal sum = 0.0;

    for (PetscInt i = 0; i < n; i++) sum += scale[i] * (PetscAbsReal(part[d][0][i]) + PetscAbsReal(part[d][1][i]));
    m->sums.coupling[d] += sum;
    m->sums.sides[d] += coupled;
  }
  HJMeasurePieceRatios(dim, n, part, others, 0.5 * coupled, &m->ratios);
}

PetscErrorCode HJHostMeasure(HJMeasure *m)
{
  const HJCoefficients *a    = m->a;
  const HJGrid         *g    = m->grid;
  const PetscBool       rows = (PetscBool)(a->storage != HJ_COEFFICIENTS_ARRAYS);
  PetscInt              off[HJ_MAX_SLOTS][3];
  PetscCount            inner[HJ_MAX_ROWS] = {0}, point = 0;
  HJMeasureRow          row;

  PetscFunctionBegin;
  memset(&m->sums, 0, sizeof(m->sums));
  memset(&m->ratios, 0, sizeof(m->ratios));
  memset(&m->first, 0, sizeof(m->first));
  m->largest = m->alone = m->coupled = 0.0;
  for (PetscInt slot = 0; slot < a->nslots; slot++) HJSlotOffset(a, slot, off[slot]);
  for (PetscInt k = 0; k < g->owned.hi[2]; k++) {
    for (PetscInt j = 0; j < g->owned.hi[1]; j++) {
      for (PetscInt i = 0; i < g->owned.hi[0]; i++, point++) {
        const PetscInt     p[3] = {i, j, k};
        const unsigned int ends = HJMeasureEnds(g->dim, g->domain.lo, g->domain.hi, p);
        const PetscInt     n    = PetscMin(PetscMin(g->owned.hi[0], g->domain.hi[0] - 1) - i, HJ_MEASURE_PIECE);

        if (!rows && !ends) {
          HJMeasurePiece(a, g->dim, off, point, n, m);
          i += n - 1;
          point += n - 1;
          continue;
        }
        if (rows && !ends) {
          inner[a->storage == HJ_COEFFICIENTS_ROW ? 0 : a->index[point]]++;
          continue;
        }
        HJMeasureGetRow(a, point, ends, off, &row);
        HJMeasureAdd(&m->sums, &row, g->dim, ends);
        HJMeasureAddFirst(&m->first, &row, g->dim, ends);
        HJMeasureRowRatios(g->dim, &row, 1.0, &m->ratios);
        m->largest = PetscMax(m->largest, HJMeasureOthers(PetscAbsReal(row.diagonal), row.others));
        HJMeasureSizes(row.diagonal, (PetscBool)(row.others > 0.0), &m->alone, &m->coupled);
      }
    }
  }
  for (PetscInt r = 0; r < a->nrows && rows; r++) {
    HJMeasureSums one;

    if (!inner[r]) continue;
    memset(&one, 0, sizeof(one));
    memset(&row, 0, sizeof(row));
    for (PetscInt slot = 0; slot < a->nslots; slot++) HJMeasureRowAdd(&row, slot, off[slot], PetscRealPart(a->rows[r * a->nslots + slot]));
    HJMeasureAdd(&one, &row, g->dim, 0);
    HJMeasureRowRatios(g->dim, &row, (PetscReal)inner[r], &m->ratios);
    m->largest = PetscMax(m->largest, HJMeasureOthers(PetscAbsReal(row.diagonal), row.others));
    HJMeasureSizes(row.diagonal, (PetscBool)(row.others > 0.0), &m->alone, &m->coupled);
    HJMeasureScale((PetscReal)inner[r], &one, &m->sums);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

/* What the points hold on to across the ends of directions at which they lie: HJMeasureAdd(), HJMeasureAddFirst() */
static void HJMeasurePieceEnds(PetscInt dim, const HJHostMeasurePiece *piece, HJMeasureSums *sums, HJMeasureFirst *first)
{
  for (PetscInt d = 0; d < dim; d++) {
    const unsigned int at   = piece->ends >> (2 * d) & 3u;
    const int          more = (piece->ends & ~(3u << (2 * d))) != 0;

    for (PetscInt i = 0; i < piece->n && at; i++) {
      if (at & 1) first->hold[more][d] += HJMeasureHold(piece->part[d][2][i], piece->part[d][1][i]);
      if (at & 2) sums->hold[more][d] += HJMeasureHold(piece->part[d][0][i], piece->part[d][1][i]);
    }
    if (at & 1) first->ends[more][d] += piece->n;
    if (at & 2) sums->ends[more][d] += piece->n;
    for (int side = 0; side < 2; side++)
      if (at >> side & 1) first->coupled[side][d] += piece->coupled;
  }
}

/* The parts of rows from a point on; slots whose neighbour is no point are left out */
static void HJMeasurePieceRead(const HJCoefficients *a, PetscInt dim, const PetscInt off[][3], PetscCount at, HJHostMeasurePiece *piece)
{
  const HJHostKernels *kernels = HJHostPickKernels();
  const PetscInt       n       = piece->n;
  PetscReal            ones[HJ_MEASURE_PIECE];

  for (PetscInt d = 0; d < 3; d++) {
    for (int s = 0; s < 3; s++) memset(piece->part[d][s], 0, n * sizeof(PetscReal));
    for (PetscInt i = 0; i < n; i++) piece->part[d][1][i] = PetscRealPart(a->value[at + i]);
  }
  memset(piece->others, 0, n * sizeof(PetscReal));
  for (PetscInt i = 0; i < n; i++) ones[i] = 1.0;
  for (PetscInt slot = 1; slot < a->nslots; slot++) {
    const PetscScalar *v = a->value + HJSlotBegin(a, slot) + at;

    if (!HJMeasureInside(piece->ends, off[slot])) continue;
    for (PetscInt d = 0; d < dim; d++) {
      if (off[slot][d] || piece->ends >> (2 * d) & 3u) kernels->galerkin_add(n, 1.0, v, piece->part[d][1 + off[slot][d]]);
    }
    kernels->absolute(n, v, ones, piece->others);
  }
}

/* Points from one on that lie at no end of their line */
static void HJMeasureAddPiece(const HJCoefficients *a, PetscInt dim, const PetscInt off[][3], PetscCount at, HJHostMeasurePiece *piece,
                              HJMeasure *m)
{
  HJMeasurePieceRead(a, dim, off, at, piece);
  piece->coupled = 0.0;
  for (PetscInt i = 0; i < piece->n; i++) {
    const PetscReal size = PetscAbsScalar(a->value[at + i]), others = piece->others[i];

    piece->scale[i] = others > 0.0 ? HJMeasureInverse(size, others) : 0.0;
    piece->coupled += others > 0.0 ? 1.0 : 0.0;
    m->largest = PetscMax(m->largest, HJMeasureOthers(size, others));
    HJMeasureSizes(PetscRealPart(a->value[at + i]), (PetscBool)(others > 0.0), &m->alone, &m->coupled);
  }
  for (PetscInt d = 0; d < dim; d++) {
    const unsigned int ends = piece->ends >> (2 * d) & 3u;
    PetscReal          sum  = 0.0;

    for (PetscInt i = 0; i < piece->n; i++)
      sum += piece->scale[i] * (PetscAbsReal(piece->part[d][0][i]) + PetscAbsReal(piece->part[d][2][i]));
    m->sums.coupling[d] += sum;
    m->sums.sides[d] += piece->coupled * (2 - (ends & 1) - (ends >> 1));
  }
  m->ratios.points += piece->coupled;
  HJHostPickKernels()->measure_ratios(dim, piece, &m->ratios);
  if (piece->ends) HJMeasurePieceEnds(dim, piece, &m->sums, &m->first);
}

PetscErrorCode HJHostMeasure(HJMeasure *m)
{
  const HJCoefficients *a    = m->a;
  const HJGrid         *g    = m->grid;
  const PetscBool       rows = (PetscBool)(a->storage != HJ_COEFFICIENTS_ARRAYS);
  PetscInt              off[HJ_MAX_SLOTS][3];
  PetscCount            inner[HJ_MAX_ROWS] = {0}, point = 0;
  HJMeasureRow          row;
  HJHostMeasurePiece    piece;

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

        if (!rows && !(ends & 3u)) {
          piece.n    = PetscMin(PetscMin(g->owned.hi[0], g->domain.hi[0] - 1) - i, HJ_MEASURE_PIECE);
          piece.ends = ends;
          HJMeasureAddPiece(a, g->dim, off, point, &piece, m);
          i += piece.n - 1;
          point += piece.n - 1;
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

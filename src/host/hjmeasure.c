/*
   Couplings of a grid's points by direction. Inner points that share a row are measured once for all of them.
*/
#include "../core/hjmeasure.h"
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
  for (PetscInt i = 0; i < HJ_MEASURE_SUMS; i++) ((PetscReal *)sums)[i] += n * ((const PetscReal *)one)[i];
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
  for (PetscInt slot = 0; slot < a->nslots; slot++) HJSlotOffset(a, slot, off[slot]);
  for (PetscInt k = 0; k < g->owned.hi[2]; k++) {
    for (PetscInt j = 0; j < g->owned.hi[1]; j++) {
      for (PetscInt i = 0; i < g->owned.hi[0]; i++, point++) {
        const PetscInt     p[3] = {i, j, k};
        const unsigned int ends = HJMeasureEnds(g->dim, g->domain.lo, g->domain.hi, p);

        if (rows && !ends) {
          inner[a->storage == HJ_COEFFICIENTS_ROW ? 0 : a->index[point]]++;
          continue;
        }
        HJMeasureGetRow(a, point, ends, off, &row);
        HJMeasureAdd(&m->sums, &row, g->dim, ends);
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
    HJMeasureScale((PetscReal)inner[r], &one, &m->sums);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

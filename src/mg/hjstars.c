/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Where coarse operators are stars: 5 or 7 points in place of the 9 or 27 of Galerkin products. Decides whether; src/mat makes them.
*/
#include "hjmg.h"
#include "core/hjmeasure.h"

/* Row sums, times the diagonal, that count as 0: rounding of a row's own entries */
#define HJ_MG_ROW_SUM HJ_BY_PRECISION(1e-12, 1e-5)

/* The same in opposite directions, and its sum is 0: the part of a product that leads to corners is then that of a mass, which may be
   lumped */
static PetscBool HJMGIsBalanced(const HJCoefficients *c, const PetscScalar row[])
{
  PetscScalar sum = 0.0;

  for (PetscInt s = 0; s < c->nslots; s++) {
    if (row[s] != row[HJSlotOpposite(c, s)]) return PETSC_FALSE;
    sum += row[s];
  }
  return (PetscBool)(PetscAbsScalar(sum) <= HJ_MG_ROW_SUM * PetscAbsScalar(row[0]));
}

/* Whether a point at these ends of the domain has the inner row's entries for its neighbours, and a diagonal that dominates them */
static PetscBool HJMGSuitsEnds(const HJCoefficients *c, const PetscScalar inner[], const PetscScalar row[], unsigned int ends)
{
  PetscReal sum = PetscRealPart(row[0] / inner[0]);

  for (PetscInt s = 1; s < c->nslots; s++) {
    PetscInt off[3];

    HJSlotOffset(c, s, off);
    if (!HJMeasureInside(ends, off)) continue;
    if (row[s] != inner[s]) return PETSC_FALSE;
    sum -= PetscAbsScalar(row[s] / inner[0]);
  }
  return (PetscBool)(sum >= -HJ_MG_ROW_SUM);
}

/* Whether all points of a 2D grid inside the domain have the inner row, number base, and those at its ends one that suits it: walls at
   another distance than the spacing, or without a flux. On the host */
static PetscBool HJMGIsFramed(const HJCoefficients *c, const HJGrid *g, const PetscScalar inner[], PetscInt base)
{
  const PetscInt *n = g->owned.hi;

  for (PetscInt j = 0; j < n[1]; j++) {
    const unsigned char *index = c->index + (PetscCount)j * n[0];
    const PetscBool      line  = (PetscBool)(j == g->domain.lo[1] || j == g->domain.hi[1] - 1);
    unsigned int         other = 0;

    for (PetscInt i = 1; i < n[0] - 1 && !line; i++) other |= index[i] ^ (unsigned int)base;
    if (other) return PETSC_FALSE;
    for (PetscInt i = 0; i < n[0]; i += line ? 1 : PetscMax(n[0] - 1, 1)) {
      const unsigned int ends = HJMeasureEnds(2, g->domain.lo, g->domain.hi, (const PetscInt[3]){i, j, 0});

      if (ends ? !HJMGSuitsEnds(c, inner, c->rows + index[i] * c->nslots, ends) : index[i] != base) return PETSC_FALSE;
    }
  }
  return PETSC_TRUE;
}

/* The same on all ranks, of dictionaries with one balanced row. Points come to the host only where rows may be those of a frame. In 3D,
   where rotated cycles smooth after corrections alone, stars may diverge beside walls that are near. Collective */
static PetscErrorCode HJMGFindFrame(const HJMGLevel *level, const HJCoefficients *c, PetscBool *framed)
{
  const HJGrid  *g    = &level->op->grid;
  const MPI_Comm comm = PetscObjectComm((PetscObject)level->da);
  PetscInt       base = 0, balanced = 0;
  PetscReal      row[11]; /* entries and their negatives, whose maxima say whether all ranks have them; whether one has others */
  PetscScalar    inner[5];

  PetscFunctionBegin;
  *framed = PETSC_FALSE;
  if (g->dim != 2) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt r = 0; r < c->nrows && c->storage == HJ_COEFFICIENTS_DICTIONARY; r++) {
    if (!HJMGIsBalanced(c, c->rows + r * c->nslots)) continue;
    base = r;
    balanced++;
  }
  for (PetscInt s = 0; s < 5; s++) { /* a rank may have points at the ends alone */
    row[s]     = balanced ? PetscRealPart(c->rows[base * c->nslots + s]) : PETSC_MIN_REAL;
    row[5 + s] = balanced ? -row[s] : PETSC_MIN_REAL;
  }
  row[10] = c->storage != HJ_COEFFICIENTS_DICTIONARY || balanced > 1 ? 1.0 : 0.0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, row, 11, MPIU_REAL, MPIU_MAX, comm));
  for (PetscInt s = 0; s < 5; s++) {
    if (row[s] != -row[5 + s] || row[10] > 0.0) PetscFunctionReturn(PETSC_SUCCESS);
    inner[s] = row[s];
  }
  PetscCall(HJCoefficientsIn(level->A, PETSC_MEMTYPE_HOST, &c));
  row[10] = HJMGIsFramed(c, g, inner, balanced ? base : -1) ? 0.0 : 1.0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &row[10], 1, MPIU_REAL, MPIU_MAX, comm));
  *framed = (PetscBool)(row[10] == 0.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One balanced star for all points of the finest grid; in 2D for all but those at the ends of the domain. Collective */
PetscErrorCode HJMGWantsStars(PC_HJMG *mg, PetscBool *wants)
{
  const HJCoefficients *c;

  PetscFunctionBegin;
  *wants = mg->stars;
  if (mg->base) PetscFunctionReturn(PETSC_SUCCESS); /* on fewer ranks: as above */
  *wants = PETSC_FALSE;
  if (mg->galerkin || mg->transfer == PC_HJMG_TRANSFER_OPERATOR) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJCoefficientsIn(mg->level[0].A, mg->level[0].op->ops->mtype, &c));
  if (c->shape != HJ_STAR || c->dim == 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (c->storage == HJ_COEFFICIENTS_ROW) *wants = HJMGIsBalanced(c, c->rows);
  else PetscCall(HJMGFindFrame(&mg->level[0], c, wants));
  PetscFunctionReturn(PETSC_SUCCESS);
}

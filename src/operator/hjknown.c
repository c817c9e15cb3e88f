/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Outermost layers whose rows are a diagonal alone: layer after layer, as long as all points of one are so. Surfaces alone are looked at.
*/
#include "hjknown.h"

/* Fewer points than this are not left inside a direction */
#define HJ_KNOWN_LEAST 3

/* Whether an entry of a row leads to a point of the domain that is in the box, or (in false) that is not, and is not 0 */
static PetscBool HJKnownCouples(const HJGrid *grid, const HJCoefficients *c, PetscInt i, PetscInt j, PetscInt k, const HJBox *box,
                                PetscBool in)
{
  const PetscCount at = HJBoxIndex(&grid->owned, i, j, k);

  for (PetscInt s = 1; s < c->nslots; s++) {
    PetscInt off[3];

    if (HJCoefficientAt(c, s, at) == 0.0) continue;
    HJSlotOffset(c, s, off);
    if (HJPointInside(&grid->domain, i + off[0], j + off[1], k + off[2]) && HJPointInside(box, i + off[0], j + off[1], k + off[2]) == in)
      return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Whether all points of a box have a row that is a diagonal alone, which is not 0 */
static PetscBool HJKnownIsAlone(const HJGrid *grid, const HJCoefficients *c, const HJBox *box)
{
  for (PetscInt k = box->lo[2]; k < box->hi[2]; k++) {
    for (PetscInt j = box->lo[1]; j < box->hi[1]; j++) {
      for (PetscInt i = box->lo[0]; i < box->hi[0]; i++) {
        if (HJCoefficientAt(c, 0, HJBoxIndex(&grid->owned, i, j, k)) == 0.0) return PETSC_FALSE;
        if (HJKnownCouples(grid, c, i, j, k, &grid->domain, PETSC_TRUE)) return PETSC_FALSE;
      }
    }
  }
  return PETSC_TRUE;
}

static HJBox HJKnownCut(HJBox box, const HJBox *by)
{
  for (int d = 0; d < 3; d++) {
    box.lo[d] = PetscMax(box.lo[d], by->lo[d]);
    box.hi[d] = PetscMax(PetscMin(box.hi[d], by->hi[d]), box.lo[d]);
  }
  return box;
}

/* The outermost layers that are left: those that are known on this rank, or that it has no part of */
static void HJKnownTryLayers(const HJGrid *grid, const HJCoefficients *c, const HJKnown *known, PetscMPIInt is[3][2])
{
  for (int d = 0; d < 3; d++) {
    for (int side = 0; side < 2; side++) {
      HJBox layer = known->domain;

      is[d][side] = 0;
      if (d >= grid->dim || grid->periodic[d] || HJBoxWidth(&known->domain, d) <= HJ_KNOWN_LEAST) continue;
      if (side) layer.lo[d] = layer.hi[d] - 1;
      else layer.hi[d] = layer.lo[d] + 1;
      layer       = HJKnownCut(layer, &grid->owned);
      is[d][side] = HJKnownIsAlone(grid, c, &layer);
    }
  }
}

/* Whether a row at the ends of what is inside has entries in columns of known rows */
static PetscBool HJKnownIsKept(const HJGrid *grid, const HJCoefficients *c, const HJKnown *known)
{
  for (int d = 0; d < grid->dim; d++) {
    for (int side = 0; side < 2; side++) {
      HJBox face = known->domain;

      if (!known->layers[d][side]) continue;
      if (side) face.lo[d] = face.hi[d] - 1;
      else face.hi[d] = face.lo[d] + 1;
      face = HJKnownCut(face, &grid->owned);
      for (PetscInt k = face.lo[2]; k < face.hi[2]; k++) {
        for (PetscInt j = face.lo[1]; j < face.hi[1]; j++) {
          for (PetscInt i = face.lo[0]; i < face.hi[0]; i++)
            if (HJKnownCouples(grid, c, i, j, k, &known->domain, PETSC_FALSE)) return PETSC_TRUE;
        }
      }
    }
  }
  return PETSC_FALSE;
}

PetscErrorCode HJKnownFind(MPI_Comm comm, const HJGrid *grid, const HJCoefficients *c, HJKnown *known)
{
  PetscMPIInt is[3][2], answer[2];
  PetscBool   more = (PetscBool)(c->storage != HJ_COEFFICIENTS_ROW); /* the same on all ranks */

  PetscFunctionBegin;
  PetscCall(PetscMemzero(known, sizeof(*known)));
  known->domain = grid->domain;
  while (more) {
    HJKnownTryLayers(grid, c, known, is);
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, is, 6, MPI_INT, MPI_MIN, comm));
    more = PETSC_FALSE;
    for (int d = 0; d < grid->dim; d++) {
      for (int side = 0; side < 2; side++) {
        if (!is[d][side] || HJBoxWidth(&known->domain, d) <= HJ_KNOWN_LEAST) continue;
        known->layers[d][side]++;
        if (side) known->domain.hi[d]--;
        else known->domain.lo[d]++;
        known->any = more = PETSC_TRUE;
      }
    }
  }
  known->inside = HJKnownCut(grid->owned, &known->domain);
  if (!known->any) PetscFunctionReturn(PETSC_SUCCESS);
  answer[0] = HJBoxEmpty(&known->inside);
  answer[1] = HJKnownIsKept(grid, c, known);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, answer, 2, MPI_INT, MPI_MAX, comm));
  known->any  = (PetscBool)!answer[0];
  known->kept = (PetscBool)answer[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJKnownSame(const HJKnown *a, const HJKnown *b)
{
  for (int d = 0; d < 3; d++)
    if (a->layers[d][0] != b->layers[d][0] || a->layers[d][1] != b->layers[d][1]) return PETSC_FALSE;
  return (PetscBool)(a->any == b->any && a->kept == b->kept);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Residual and restriction in one pass over the fine grid, where a rank needs no other one's points. Decides nothing.
*/
#pragma once

#include "hjtransfer.h"

/* Scalars behind norm2 */
#define HJ_RESTRICTION_NORM 8192

/*
   y = P^T (b - A x) on the coarse grid. Both grids are one rank's: their neighbours are periodic images of themselves, or there are none.
   Or they are cut in the slowest direction alone, which is refined, and cut says where the planes beside the rank's own are.
   x, b and y are different arrays. lies: x and b hold the points of this box, in coordinates of the fine grid, not of its own alone; the
   backend places() such; NULL: its own.

   norm2, unless it is NULL, points to HJ_RESTRICTION_NORM scalars in the backend's memory that were 0 before they were first used so. The
   first gets the sum of the squares of b - A x over the fine grid, the same in every call with the same numbers; the others are the
   backend's. Launches that share it must not run at the same time.
*/
#define HJ_CUT_PLANES 2

/* Planes of a rank's neighbours in the slowest direction, HJ_CUT_PLANES on either side, in the order of the grid; the first of b below and
   the last of b above are not read. NULL: there is no neighbour, or the grid is not cut */
typedef struct {
  PetscBool          cut;
  const PetscScalar *x[2], *b[2];
} HJRestrictionCut;

/* Whether the rows of a grid that is cut are known, all being one, and there is code for it */
#define HJ_RESTRICTS_CUT(dim, is_box, is_one_row) ((is_one_row) && (dim) > 1 && !((dim) == 3 && (is_box)))

struct _n_HJRestriction {
  const HJTransfer     *transfer;
  const HJCoefficients *a; /* of the fine grid */
  const PetscScalar    *x, *b;
  PetscScalar          *y, *norm2;
  HJRestrictionCut      cut; /* of one row for all points, a star or in 2D */
  const HJBox          *lies;
};

/* Whether the two grids are such */
static inline PetscBool HJTransferIsOneRank(const HJTransfer *t)
{
  const PetscBool coarse = (PetscBool)(!HJGridHasNeighbors(&t->coarse) || HJGridIsWrapped(&t->coarse));

  for (int d = 0; d < t->fine.dim; d++)
    if (HJTransferAdjoins(t, d)) return PETSC_FALSE;

  return (PetscBool)(coarse && (!HJGridHasNeighbors(&t->fine) || HJGridIsWrapped(&t->fine)));
}

/* Which own fine plane the first own coarse one lies on */
static inline PetscInt HJTransferFirst(const HJTransfer *t)
{
  return -HJTransferShift(t, (int)t->fine.dim - 1);
}

/* Whether they are of a rank of several that are cut in the slowest direction alone, at places that both share. Ranks may differ */
static inline PetscBool HJTransferIsCut(const HJTransfer *t)
{
  const int      slow  = (int)t->fine.dim - 1;
  const PetscInt first = HJTransferFirst(t), n = HJBoxWidth(&t->fine.owned, slow), nc = HJBoxWidth(&t->coarse.owned, slow);

  if (slow < 1 || n == t->fine.N[slow] || n < HJ_CUT_PLANES || nc < 1 || first < 0 || first > 1) return PETSC_FALSE;
  for (int d = 0; d <= slow; d++) {
    if (t->factor[d] != 2 || HJTransferAdjoins(t, d)) return PETSC_FALSE;
    if (d < slow && (t->fine.periodic[d] || HJBoxWidth(&t->fine.owned, d) != t->fine.N[d])) return PETSC_FALSE;
  }
  return (PetscBool)(n - first == 2 * nc || n - first == 2 * nc - 1);
}

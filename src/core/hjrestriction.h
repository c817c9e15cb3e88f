/*
   Residual and restriction in one pass over the fine grid, where a rank needs no other one's points. Decides nothing.
*/
#pragma once

#include "hjtransfer.h"

/* Scalars behind norm2 */
#define HJ_RESTRICTION_NORM 8192

/*
   y = P^T (b - A x) on the coarse grid. Both grids are one rank's: their neighbours are periodic images of themselves, or there are none.
   Without periodicity the fine grid has 2 (N - 1) + 1 or 2 N points in a direction of refinement 2; the last one of the latter lies beyond
   the last coarse point and gives it one half. x, b and y are different arrays.

   norm2, unless it is NULL, points to HJ_RESTRICTION_NORM scalars in the backend's memory that were 0 before they were first used so. The
   first gets the sum of the squares of b - A x over the fine grid, the same in every call with the same numbers; the others are the
   backend's. Launches that share it must not run at the same time.
*/
struct _n_HJRestriction {
  const HJTransfer     *transfer;
  const HJCoefficients *a; /* of the fine grid */
  const PetscScalar    *x, *b;
  PetscScalar          *y, *norm2;
};

/* Whether the two grids are such */
static inline PetscBool HJTransferIsOneRank(const HJTransfer *t)
{
  const PetscBool coarse = (PetscBool)(!HJGridHasNeighbors(&t->coarse) || HJGridIsWrapped(&t->coarse));

  return (PetscBool)(coarse && (!HJGridHasNeighbors(&t->fine) || HJGridIsWrapped(&t->fine)));
}

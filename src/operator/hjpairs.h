/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Coefficients of several unknowns a point pair by pair: what the rows of one component have of another one, as a matrix with one unknown a
   point, which all that set-up does is made for. Decides nothing.
*/
#pragma once

#include "core/hjarrays.h"
#include "core/hjmultigrid.h"

typedef struct {
  const HJArrayOps     *ops; /* in whose memory both lie */
  const HJCoefficients *a;
  HJCoefficients        one; /* arrays of the pair that was got last */
} HJPairs;

PETSC_INTERN PetscErrorCode HJPairsOpen(const HJArrayOps *, const HJCoefficients *, HJPairs *);
/* Whether any entry of a row's component leads to one of a column's, the same on all ranks */
PETSC_INTERN PetscBool HJPairsHave(const HJCoefficients *, PetscInt row, PetscInt column);
/* Whether no entry leads from one component to another: then these are matrices of their own. The same on all ranks */
PETSC_INTERN PetscBool HJPairsAreAlone(const HJCoefficients *);
/* pairs->one from now on, on the points of a grid */
PETSC_INTERN PetscErrorCode HJPairsGet(HJPairs *, const HJGrid *, PetscInt row, PetscInt column);
PETSC_INTERN PetscErrorCode HJPairsClose(HJPairs *);

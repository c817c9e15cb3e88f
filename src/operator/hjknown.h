/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Rows that are a diagonal alone, in the outermost layers of a grid, as boundary points often have them: their unknowns are b / d, and what
   is left is the matrix of the points inside. Finds the layers; decides nothing else.
*/
#pragma once

#include "core/hjarrays.h"

typedef struct {
  PetscInt  layers[3][2]; /* outermost layers of the whole grid, on the low and the high side, that are known; the same on all ranks */
  HJBox     domain;       /* the points in none of them, of all ranks, in local coordinates */
  HJBox     inside;       /* those of this rank */
  PetscBool any;          /* there are such layers, and each rank has points inside */
  PetscBool kept;         /* rows inside have entries in their columns */
} HJKnown;

/* Collective. Of coefficients in the memory of these */
PETSC_INTERN PetscErrorCode HJKnownFind(MPI_Comm, const HJArrayOps *, const HJGrid *, const HJCoefficients *, HJKnown *);
/* Whether two of them are the same layers */
PETSC_INTERN PetscBool HJKnownSame(const HJKnown *, const HJKnown *);
/* The known points of a rank, in the memory of a backend */
typedef struct {
  const HJArrayOps *arrays;
  PetscCount        n;
  PetscCount       *at;       /* [n] where they lie among the owned ones */
  Vec               inverse;  /* [n] of their diagonals */
  Vec               value[2]; /* [n] for a moment */
  HJAnswer          some;
  PetscScalar      *stage[2]; /* of the whole grid, for vectors that lie elsewhere */
} HJKnownPoints;

/* type: of vectors there */
PETSC_INTERN PetscErrorCode HJKnownPointsCreate(MPI_Comm, const HJKnown *, const HJArrayOps *, const HJBox *owned, VecType type,
                                                HJKnownPoints *);
PETSC_INTERN PetscErrorCode HJKnownPointsDestroy(HJKnownPoints *);
/* The inverse, of the diagonal of a matrix of the whole grid */
PETSC_INTERN PetscErrorCode HJKnownPointsInvert(HJKnownPoints *, Mat);
/* Values of these points, from a vector of the whole grid, or, out, to it */
PETSC_INTERN PetscErrorCode HJKnownPointsMove(HJKnownPoints *, PetscBool out, Vec whole, Vec points);
/* Collective. Whether the values of b and, unless it is NULL, x are 0 at these points; not where one is no number. It is asked first, which
   does not wait for a device, and may be told when more was started */
PETSC_INTERN PetscErrorCode HJKnownPointsAskZero(HJKnownPoints *, Vec b, Vec x);
PETSC_INTERN PetscErrorCode HJKnownPointsAreZero(HJKnownPoints *, PetscBool *zero);
/* x = p inverse b + q x at these points of vectors of the whole grid, which lie there; other, where it is not NULL, is an array like x */
PETSC_INTERN PetscErrorCode HJKnownPointsMix(HJKnownPoints *points, PetscScalar p, Vec b, PetscScalar q, Vec x, PetscScalar *other);
/* The points that a vector of the whole grid of one rank holds, in coordinates of the points inside */
PETSC_INTERN HJBox HJKnownLies(const HJKnown *, const HJGrid *);
/* Collective. A DMDA of the points inside of that of all, on the ranks that have them; not set up */
PETSC_INTERN PetscErrorCode HJKnownCreateDM(const HJKnown *, DM, DM *inner);
/* Collective. The rows of the points inside, without columns of others, as a stencil matrix on the DMDA of these points: a new one where *B
   is NULL, else with new values; src/mat makes it */
PETSC_INTERN PetscErrorCode HJMatCreateInside(Mat A, const HJKnown *, DM inner, Mat *B);

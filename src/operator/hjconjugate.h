/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Passes of conjugate gradients on the grid of products: backend, halo and sums over ranks put together. Knows no KSP.
*/
#pragma once

#include "hjproducts.h"

/* What a solve has of its own */
typedef struct {
  HJKrylovSums  sums;  /* of all ranks; of a device as of the last HJConjugateFetch() */
  HJKrylovSums *there; /* those that passes make: sums, where the backend is the host */
  PetscScalar  *ghost; /* of the direction, in the backend's memory; NULL where there are no neighbours */
} HJConjugate;

/* Collective, where the backend has krylov. Vectors of all passes lie where its memory is */
PETSC_INTERN PetscErrorCode HJConjugateBegin(HJProducts *, HJConjugate *);
PETSC_INTERN PetscErrorCode HJConjugateEnd(HJProducts *, HJConjugate *);
/* Collective. (z, z) and (r, z) */
PETSC_INTERN PetscErrorCode HJConjugateSums(HJProducts *, HJConjugate *, Vec z, Vec r);
/* Collective. direction() and (p, A p). z has A p afterwards where update() reads it */
PETSC_INTERN PetscErrorCode HJConjugateDirection(HJProducts *, const HJCoefficients *, HJConjugate *, PetscBool first, Vec z, Vec before,
                                                 Vec p);
/* Collective. update(), of what HJConjugateDirection() has made; squares: (r, r) is asked for */
PETSC_INTERN PetscErrorCode HJConjugateUpdate(HJProducts *, const HJCoefficients *, HJConjugate *, PetscBool squares, Vec z, Vec p, Vec x,
                                              Vec r);
/* What passes have left, after all of them */
PETSC_INTERN PetscErrorCode HJConjugateFetch(HJProducts *, HJConjugate *);

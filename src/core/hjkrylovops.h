/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The part of the backend table that a Krylov method needs: vectors and sums in one pass over memory.
*/
#pragma once

#include "hjcoefficients.h"

/* All arrays lie in the backend's memory. Sums are of this rank */
struct _n_HJKrylovOps {
  /* p = z + beta p, or z where beta is 0 and p is not read; then the product, whose x is p, and whose y may be z. *dot: the sum of p y. The
     product is of all points, without b */
  PetscErrorCode (*direction)(const HJProduct *, PetscScalar beta, const PetscScalar *z, PetscScalar *p, PetscScalar *dot);
  /* x += alpha p, r -= alpha w; *squares: the sum of r r */
  PetscErrorCode (*update)(PetscInt n, PetscScalar alpha, const PetscScalar *p, const PetscScalar *w, PetscScalar *x, PetscScalar *r,
                           PetscScalar *squares);
  /* The sums of z z and z r */
  PetscErrorCode (*sums)(PetscInt n, const PetscScalar *z, const PetscScalar *r, PetscScalar sums[2]);
};

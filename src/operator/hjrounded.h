/* SPDX-License-Identifier: BSD-2-Clause */
/*
   A level of a hierarchy in single precision: sweeps, the residual, the interpolation to its grid, on arrays. Its numbers are those of a
   level in double precision, rounded once. Decides nothing.
*/
#pragma once

#include "hjoperator.h"
#include "hjproducts.h"
#include "hjtransfers.h"
#include "core/hjrestriction.h"
#include "core/hjsingle.h"

typedef struct {
  HJOperator    *op;
  HJCoefficients a; /* of the matrix: index is that of the matrix, the rest its own */
  HJProducts    *products;
  HJTransfers   *P;              /* from the next coarser grid; NULL on the coarsest */
  PetscBool      one_pass;       /* residual and restriction are */
  PetscScalar   *x, *b, *r;      /* vectors of the level, of float; x and r take turns */
  PetscReal      scale;          /* the matrix was multiplied by it */
  HJRange        range, inverse; /* of the numbers that were rounded, of this rank: coefficients; the inverse diagonal */
} HJRounded;

/* Collective. Of scale times A, scale a power of 2, from an operator that sweeps exactly with A, on a backend that has another one in
   single precision, and an interpolation P from the grid of coarse; both NULL: none. Valid as long as the values of A and P */
PETSC_INTERN PetscErrorCode HJRoundedCreate(const HJOperator *, Mat A, Mat P, DM coarse, PetscReal scale, HJRounded *);
PETSC_INTERN PetscErrorCode HJRoundedDestroy(HJRounded *);
/* Collective. coarse = P^T (b - A x), or, x NULL, P^T b; work is overwritten, and none of the others */
PETSC_INTERN PetscErrorCode HJRoundedRestrict(HJRounded *, const PetscScalar *b, const PetscScalar *x, PetscScalar *work,
                                              PetscScalar *coarse);
/* Bytes of the numbers of this rank */
PETSC_INTERN PetscReal HJRoundedBytes(const HJRounded *);

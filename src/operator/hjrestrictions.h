/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Residual and restriction of matrices in one call: in one pass over the fine grid where a rank needs no other one's points, or those of
   whole planes, and knows their rows, else one after the other. Decides which of the two.
*/
#pragma once

#include "core/hjrestriction.h"
#include "host/hjhost.h"
#include "hjghosts.h"
#include "hjoperator.h"
#include "hjvectors.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/backend/hjcuda.h"
#endif

typedef struct {
  Mat                 A, P; /* not references of its own */
  const HJBackendOps *ops;
  const HJTransfer   *transfer;     /* NULL: not in one pass */
  PetscBool           variable;     /* P has coefficients of its own */
  PetscBool           faster_apart; /* a product and a restriction take less time, where there is no norm */
  PetscBool           apart;        /* the last one was not in one pass */
  HJGetCoefficients   coefficients;
  PetscScalar        *stage[3]; /* for b, x and y that lie elsewhere; NULL: none has come */
  PetscScalar        *norm2;    /* [HJ_RESTRICTION_NORM] in the backend's memory */
  Vec                 residual; /* made when first needed: not in one pass, and nobody has room for it */
  HJPlanes           *planes;   /* where the grids are cut into planes, else NULL */
} HJRestrict;

/* Collective. Valid as long as A and P */
PETSC_INTERN PetscErrorCode HJRestrictCreate(Mat A, Mat P, const HJBackendOps *, HJExchange, HJRestrict **);
/* After new values of A: what is faster */
PETSC_INTERN PetscErrorCode HJRestrictRefresh(HJRestrict *);
/* Whether it serves these, with new values */
PETSC_INTERN PetscErrorCode HJRestrictIsOf(const HJRestrict *, Mat A, Mat P, const HJBackendOps *, PetscBool *);
PETSC_INTERN PetscErrorCode HJRestrictDestroy(HJRestrict **);
/* The row that all points of A have, on the host; NULL where they have not, or there is no restriction in one pass */
PETSC_INTERN PetscErrorCode HJRestrictGetRow(const HJRestrict *, const PetscScalar **row);
/* Collective. y = P^T (b - A x); norm: the sum of squares of this rank's b - A x is the first of norm2; where apart says so the caller
   finds b - A x in work instead, in which y may not lie, or, where that is NULL, in residual. lies: as HJRun's, of x and b */
PETSC_INTERN PetscErrorCode HJRestrictApply(HJRestrict *, const HJBox *lies, Vec b, Vec x, Vec y, Vec work, PetscBool norm);
/* Whether sweeps can be run on b and x that hold more points than the grid of this operator, from which it restricts; and, in all, whether
   the restriction and the interpolation take such ones too */
PETSC_INTERN PetscErrorCode HJRestrictPlaces(const HJRestrict *, const HJOperator *, PetscBool *sweep, PetscBool *all);

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Products of coefficients on a grid with vectors: halo and backend put together. Knows no Mat.
*/
#pragma once

#include "hjghosts.h"
#include "core/hjkrylovops.h"
#include "host/hjhost.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/backend/hjcuda.h"
#endif

typedef struct {
  HJGrid              grid;
  const HJBackendOps *ops;
  HJGhosts            ghosts; /* of x */
  PetscBool           split;  /* the interior is done while the halo travels */
  PetscScalar        *given;  /* [ghosts.shell.size][dof] what A^T gives to ghosts; made, like all below, when first needed */
  HJProductReturns    returns;
  HJHalo              sums;          /* of a device's conjugate gradients, from rank to rank; NULL: on one, or not yet */
  PetscScalar        *sums_of_ranks; /* where they come */
  PetscScalar        *stage[3];      /* owned points: of vectors that do not lie in the backend's memory */
} HJProducts;

/* Collective. For coefficients on the grid of a DMDA, in the memory of a backend that has products */
PETSC_INTERN PetscErrorCode HJProductsCreate(DM, const HJGrid *, const HJBackendOps *, HJExchange, HJProducts **);
PETSC_INTERN PetscErrorCode HJProductsDestroy(HJProducts **);
/*
   Collective. y = b + alpha A x, or with A^T; b may be NULL (without it) or y. Coefficients lie in the backend's memory; a vector may lie
   elsewhere, which costs copies
*/
PETSC_INTERN PetscErrorCode HJProductsApply(HJProducts *, const HJCoefficients *, PetscBool transpose, PetscScalar alpha, Vec x, Vec b,
                                            Vec y);
/* Collective. The product itself, of arrays in the backend's memory; fills in the ghosts and the region */
PETSC_INTERN PetscErrorCode HJProductsForward(HJProducts *, HJProduct *);

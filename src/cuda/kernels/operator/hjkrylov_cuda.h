/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes of conjugate gradients, for the backend's table: see HJKrylovOps. The header is plain C */
#pragma once

#include "core/hjkrylovops.h"

PETSC_INTERN PetscErrorCode HJKrylovSums_CUDA(PetscInt n, const PetscScalar *z, const PetscScalar *r, HJKrylovSums *);
PETSC_INTERN PetscErrorCode HJKrylovGhosts_CUDA(PetscCount n, PetscBool first, const HJKrylovSums *, const PetscScalar *z, PetscScalar *p);
PETSC_INTERN PetscErrorCode HJKrylovTotal_CUDA(PetscInt nranks, const PetscScalar *parts, PetscInt n, PetscScalar *sums);
/* *multiplied false: the product, and then HJKrylovDot_CUDA(), are the caller's */
PETSC_INTERN PetscErrorCode HJKrylovDirection_CUDA(const HJProduct *, PetscBool neighbors, PetscBool first, HJKrylovSums *,
                                                   const PetscScalar *z, const PetscScalar *before, PetscScalar *p, PetscBool *multiplied);
PETSC_INTERN PetscErrorCode HJKrylovDot_CUDA(const HJProduct *, HJKrylovSums *);
PETSC_INTERN PetscErrorCode HJKrylovUpdate_CUDA(const HJProduct *, PetscBool neighbors, HJKrylovSums *, PetscScalar *x, PetscScalar *r);
PETSC_INTERN PetscErrorCode HJKrylovBegin_CUDA(HJKrylovSums **);
PETSC_INTERN PetscErrorCode HJKrylovFetch_CUDA(const HJKrylovSums *, HJKrylovSums *host);
PETSC_INTERN PetscErrorCode HJKrylovEnd_CUDA(HJKrylovSums **);

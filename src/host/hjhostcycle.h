/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries of the host's table for cycles on several grids */
#pragma once

#include "core/hjmultigrid.h"

PETSC_INTERN PetscErrorCode HJHostNumberCreate(HJNumber *);
PETSC_INTERN PetscErrorCode HJHostNumberDestroy(HJNumber *);
PETSC_INTERN PetscErrorCode HJHostNumberSquares(PetscCount n, const PetscScalar *, HJNumber *);
PETSC_INTERN PetscErrorCode HJHostNumberSend(HJNumber *);
PETSC_INTERN PetscErrorCode HJHostNumberWait(const HJNumber *, PetscScalar *);
PETSC_INTERN PetscErrorCode HJHostFillDense(const HJGrid *, const HJCoefficients *, PetscBool constants, PetscScalar *a,
                                            PetscScalar *shift);
PETSC_INTERN PetscErrorCode HJHostInvert(PetscInt n, PetscScalar *a, PetscScalar *work);
PETSC_INTERN PetscErrorCode HJHostMultiplyDense(PetscInt n, const PetscScalar *a, const PetscScalar *x, PetscScalar *y);

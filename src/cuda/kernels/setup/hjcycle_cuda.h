/* SPDX-License-Identifier: BSD-2-Clause */
/* What a cycle on several grids needs on a GPU besides sweeps, products and transfers, for the backend's table */
#pragma once

#include "core/hjmultigrid.h"

PetscErrorCode HJNumberCreate_CUDA(HJNumber *);
PetscErrorCode HJNumberDestroy_CUDA(HJNumber *);
PetscErrorCode HJNumberSquares_CUDA(PetscCount n, const PetscScalar *, HJNumber *);
PetscErrorCode HJNumberSend_CUDA(HJNumber *);
PetscErrorCode HJNumberWait_CUDA(const HJNumber *, PetscScalar *);
PetscErrorCode HJFillDense_CUDA(const HJGrid *, const HJCoefficients *, PetscBool constants, PetscScalar *a, PetscScalar *shift);
PetscErrorCode HJInvert_CUDA(PetscInt n, PetscScalar *a, PetscScalar *work);
PetscErrorCode HJMultiplyDense_CUDA(PetscInt n, const PetscScalar *a, const PetscScalar *x, PetscScalar *y);
/* For HJSingleOps */
PETSC_INTERN PetscErrorCode HJMultiplyDenseSingle_CUDA(PetscInt n, PetscReal scale, const PetscReal *a, const void *x, void *y);

/* SPDX-License-Identifier: BSD-2-Clause */
/* The backend's smoother by lines, for its table */
#pragma once

#include "core/hjlines.h"
#include "core/hjmultigrid.h"

PETSC_INTERN PetscErrorCode HJLinesCreate_CUDA(const HJGrid *, PetscInt d, HJLines *);
PETSC_INTERN PetscErrorCode HJLinesDestroy_CUDA(HJLines *);
PETSC_INTERN PetscErrorCode HJLinesFactor_CUDA(const HJGrid *, const HJCoefficients *, HJLines *, PetscReal *bound);
PETSC_INTERN PetscErrorCode HJLinesSolve_CUDA(const HJLines *, PetscReal w, PetscBool zero, PetscScalar *r, PetscScalar *work,
                                              PetscScalar *x);

/* SPDX-License-Identifier: BSD-2-Clause */
/* The GPU's part of what works between two grids of a hierarchy. The header is plain C */
#pragma once

#include "core/hjmultigrid.h"

PETSC_INTERN const HJMultigridOps HJMultigridCUDA;

/* What its set-up needs (hjcuda.cu) */
PETSC_INTERN PetscErrorCode HJAllocZeros_CUDA(PetscCount, PetscScalar **);
PETSC_INTERN PetscErrorCode HJScratch_CUDA(PetscCount, PetscBool zero, PetscScalar **);
PETSC_INTERN PetscErrorCode HJUnscratch_CUDA(PetscScalar **);
PETSC_INTERN PetscErrorCode HJAbsoluteLater_CUDA(void *, PetscInt, const HJSweep[], PetscReal *);
PETSC_INTERN PetscErrorCode HJRead_CUDA(PetscReal *, const PetscReal *, PetscCount);

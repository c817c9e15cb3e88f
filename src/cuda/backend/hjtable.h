/* SPDX-License-Identifier: BSD-2-Clause */
/* The ordered table of all families of kernels, and what is chosen and launched at once */
#pragma once

#include "cuda/kernels/hjkernel.h"
#include "core/hjrestriction.h"

/* The first that does what is asked for; NULL: none does */
const HJFamily *HJTableChoose(const HJDevice *, const HJAsk *);

/* For HJBackendOps and HJMultigridOps */
PETSC_INTERN PetscErrorCode HJProduct_CUDA(const HJProduct *);
PETSC_INTERN PetscErrorCode HJInterpolate_CUDA(const HJTransferProduct *);
PETSC_INTERN PetscBool      HJInterpolatesAlone_CUDA(const HJTransferProduct *);
PETSC_INTERN PetscErrorCode HJRestrictResidual_CUDA(const HJRestriction *);
PETSC_INTERN PetscErrorCode HJRestrictsApart_CUDA(const HJCoefficients *, PetscBool *);

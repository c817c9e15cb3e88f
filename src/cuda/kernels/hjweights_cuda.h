/* Interpolation with weights of its own at every point, for the backend's table. The header is plain C */
#pragma once

#include "../../core/hjmultigrid.h"

PETSC_INTERN PetscErrorCode HJInterpolateWeighted_CUDA(const HJTransferProduct *);
PETSC_INTERN PetscErrorCode HJInterpolateTransposeWeighted_CUDA(const HJTransferProduct *);
PETSC_INTERN PetscErrorCode HJGalerkinWeighted_CUDA(const HJGalerkin *);
PETSC_INTERN PetscErrorCode HJTransferCouplings_CUDA(const HJWeightsFill *);
PETSC_INTERN PetscErrorCode HJTransferJump_CUDA(const HJWeightsFill *);
PETSC_INTERN PetscErrorCode HJTransferWeights_CUDA(const HJWeightsFill *);

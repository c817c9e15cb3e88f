/* SPDX-License-Identifier: BSD-2-Clause */
/* Interpolation with coefficients of its own at every point, for the backend's table. The header is plain C */
#pragma once

#include "core/hjmultigrid.h"

PETSC_INTERN PetscErrorCode HJInterpolateVariable_CUDA(const HJTransferProduct *);
PETSC_INTERN PetscErrorCode HJInterpolateTransposeVariable_CUDA(const HJTransferProduct *);
PETSC_INTERN PetscErrorCode HJGalerkinVariable_CUDA(const HJGalerkin *);
PETSC_INTERN PetscErrorCode HJTransferCouplings_CUDA(const HJInterpolationFill *);
PETSC_INTERN PetscErrorCode HJTransferJump_CUDA(const HJInterpolationFill *);
PETSC_INTERN PetscErrorCode HJInterpolationFill_CUDA(const HJInterpolationFill *);

#if defined(__CUDACC__)
/* hjjump.cu: jump() of one rank's arrays; whether it takes them, and a launch that adds to a HJJump of zeros in device memory */
bool           HJJumpArraysTakes(const HJInterpolationFill *);
PetscErrorCode HJJumpArraysLaunch(const HJDevice *, const HJInterpolationFill *, cudaStream_t, void *jump);
#endif

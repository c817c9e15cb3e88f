/* Interpolation with weights of its own at every point, for the backend's table. The header is plain C */
#pragma once

#include "core/hjmultigrid.h"

PETSC_INTERN PetscErrorCode HJInterpolateWeighted_CUDA(const HJTransferProduct *);
PETSC_INTERN PetscErrorCode HJInterpolateTransposeWeighted_CUDA(const HJTransferProduct *);
PETSC_INTERN PetscErrorCode HJGalerkinWeighted_CUDA(const HJGalerkin *);
PETSC_INTERN PetscErrorCode HJTransferCouplings_CUDA(const HJWeightsFill *);
PETSC_INTERN PetscErrorCode HJTransferJump_CUDA(const HJWeightsFill *);
PETSC_INTERN PetscErrorCode HJTransferWeights_CUDA(const HJWeightsFill *);

#if defined(__CUDACC__)
/* hjjump.cu: jump() of one rank's arrays; whether it takes them, and a launch that adds to a HJJump of zeros in device memory */
bool           HJJumpArraysTakes(const HJWeightsFill *);
PetscErrorCode HJJumpArraysLaunch(const HJDevice *, const HJWeightsFill *, cudaStream_t, void *jump);
#endif

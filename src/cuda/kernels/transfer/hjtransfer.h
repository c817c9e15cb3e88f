/* Interpolation and its transpose on arrays in device memory, for the backend's table. On PETSc's current stream, no wait */
#pragma once

#include "core/hjtransfer.h"

PetscErrorCode HJInterpolate_CUDA(const HJTransferProduct *);
PetscErrorCode HJInterpolateTranspose_CUDA(const HJTransferProduct *);
/* y = y + P x on one rank, see hjinterpolateadd.cu; whether it is such */
bool           HJInterpolateAddTakes(const HJTransferProduct *);
PetscErrorCode HJInterpolateAdd_CUDA(const HJTransferProduct *);

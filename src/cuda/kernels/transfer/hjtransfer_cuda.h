/* SPDX-License-Identifier: BSD-2-Clause */
/* The transpose of interpolation, and what several unknowns a point have, on arrays in device memory, for the backend's table. On PETSc's
   current stream, no wait */
#pragma once

#include "core/hjmultigrid.h"
#include "core/hjtransfer.h"

PetscErrorCode HJInterpolateTranspose_CUDA(const HJTransferProduct *);
/* Several unknowns a point */
PetscErrorCode HJInterpolatePoints_CUDA(const HJTransferProduct *);
PetscErrorCode HJInterpolatePointsTranspose_CUDA(const HJTransferProduct *);
PetscErrorCode HJKeepPoints_CUDA(const HJTransferKeep *);

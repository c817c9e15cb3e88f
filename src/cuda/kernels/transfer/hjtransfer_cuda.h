/* SPDX-License-Identifier: BSD-2-Clause */
/* The transpose of interpolation on arrays in device memory, for the backend's table. On PETSc's current stream, no wait */
#pragma once

#include "core/hjmultigrid.h"
#include "core/hjtransfer.h"

PetscErrorCode HJInterpolateTranspose_CUDA(const HJTransferProduct *);
/* HJMultigridOps' multiply_points() */
PetscErrorCode HJMultiplyPoints_CUDA(const HJPointRows *, PetscInt dof, PetscBool add, const PetscScalar *x, PetscScalar *y);

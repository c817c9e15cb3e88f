/* SPDX-License-Identifier: BSD-2-Clause */
/* Products with |D^-1 A| that do not wait for the device */
#pragma once

#include "cuda/kernels/hjkernel.h"

/* On at most HJD_MAX_SWEEPS sweeps; the largest y / x goes to ratio, in device memory, where it is larger than what is there */
PetscErrorCode HJAbsoluteStart_CUDA(HJ_CUDA *, cudaStream_t, int nsweeps, const HJDSweep *, PetscBool skew, PetscReal *ratio);

/* The same where points have several unknowns, whose stencil was made in device memory; called by the former */
PETSC_INTERN PetscErrorCode HJSystemAbsoluteStart_CUDA(const HJ_CUDA *, cudaStream_t, int nsweeps, const HJDSweep *, PetscBool skew,
                                                       PetscReal *ratio);

/* The backend's absolute() on at most HJD_MAX_SWEEPS sweeps; waits for the device */
PetscErrorCode HJAbsoluteLaunch_CUDA(HJ_CUDA *, cudaStream_t, int nsweeps, const HJDSweep *, PetscBool skew, PetscReal *ratio);

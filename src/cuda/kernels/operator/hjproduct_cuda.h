/* SPDX-License-Identifier: BSD-2-Clause */
/* Products of coefficients with vectors on the GPU: see HJBackendOps */
#pragma once

#include "core/hjcoefficients.h"

#include "cuda/device/hjgpu.h"

PETSC_INTERN PetscErrorCode HJProductTranspose_CUDA(const HJProduct *);
/* The same of points with several unknowns */
PetscErrorCode HJSystemTranspose_CUDA(const HJProduct *, cudaStream_t);

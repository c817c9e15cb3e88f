/* SPDX-License-Identifier: BSD-2-Clause */
/* Products of coefficients with vectors on the GPU: see HJBackendOps */
#pragma once

#include "core/hjcoefficients.h"

PETSC_INTERN PetscErrorCode HJProductTranspose_CUDA(const HJProduct *);

/* SPDX-License-Identifier: BSD-2-Clause */
/* Stencils of points with several unknowns in device memory: see hjsystems.cu */
#pragma once

#include "cuda/kernels/hjkernel.h"

/* Memory for a stencil's arrays; what is left of HJ_CUDA's stencil is set but for rows */
PETSC_INTERN PetscErrorCode HJSystemAlloc_CUDA(HJ_CUDA *, const HJStencil *);
/* Its numbers. Waits: the caller may change its own afterwards */
PETSC_INTERN PetscErrorCode HJSystemUpload_CUDA(HJ_CUDA *, const HJStencil *, cudaStream_t);

/* SPDX-License-Identifier: BSD-2-Clause */
/* Device memory that is needed for a moment, in the order of a stream */
#pragma once

#include <petscsys.h>
#include <cuda_runtime_api.h>

/* Not initialised; to be freed in the same stream */
PETSC_INTERN PetscErrorCode HJScratchAlloc(cudaStream_t, size_t bytes, void **);
PETSC_INTERN PetscErrorCode HJScratchFree(cudaStream_t, void *);
/* Gives the device what nobody uses of our own pool and of the one that PETSc takes its vectors from, which keeps all that it ever had.
   Waits for the device: what was freed in the order of a stream is used until then */
PETSC_INTERN PetscErrorCode HJPoolsTrim(void);

/* A number in page-locked memory of the host */
PETSC_INTERN PetscErrorCode HJPinnedAlloc(double **);
PETSC_INTERN PetscErrorCode HJPinnedFree(double **);

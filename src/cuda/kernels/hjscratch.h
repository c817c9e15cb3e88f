/* Device memory that is needed for a moment, in the order of a stream */
#pragma once

#include <petscsys.h>
#include <cuda_runtime_api.h>

/* Not initialised; to be freed in the same stream */
PETSC_INTERN PetscErrorCode HJScratchAlloc(cudaStream_t, size_t bytes, void **);
PETSC_INTERN PetscErrorCode HJScratchFree(cudaStream_t, void *);

/* What a cycle on several grids needs on a GPU besides sweeps, products and transfers, for the backend's table */
#pragma once

#include "core/hjmultigrid.h"
#include <cuda_runtime_api.h>

PetscErrorCode HJNumberCreate_CUDA(HJNumber *);
PetscErrorCode HJNumberDestroy_CUDA(HJNumber *);
PetscErrorCode HJNumberSquares_CUDA(PetscCount n, const PetscScalar *, HJNumber *);
PetscErrorCode HJNumberSend_CUDA(HJNumber *);
PetscErrorCode HJNumberWait_CUDA(const HJNumber *, PetscScalar *);
PetscErrorCode HJFillDense_CUDA(const HJGrid *, const HJCoefficients *, PetscBool constants, PetscScalar *a, PetscScalar *shift);
PetscErrorCode HJInvert_CUDA(PetscInt n, PetscScalar *a, PetscScalar *work);
PetscErrorCode HJMultiplyDense_CUDA(PetscInt n, const PetscScalar *a, const PetscScalar *x, PetscScalar *y);

PetscErrorCode HJCaptureBegin_CUDA(HJGraph *);
PetscErrorCode HJCaptureEnd_CUDA(HJGraph *, PetscBool ok, PetscBool *again, const char **why);
PetscErrorCode HJGraphReplay_CUDA(HJGraph);
PetscErrorCode HJGraphDestroy_CUDA(HJGraph *);
/* The stream that is being recorded; NULL: none is */
PETSC_INTERN cudaStream_t HJCaptureStream(void);
/* A launch has a number that the next run must not have again: where it is recorded, two graphs take turns */
PETSC_INTERN void HJCaptureCounts(void);

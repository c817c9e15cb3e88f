/* GPU backend. The header is plain C: CUDA stays inside this room */
#pragma once

#include "../core/hjcore.h"

PETSC_INTERN const HJBackendOps HJBackendCUDA;
/* Whether a device and its driver are there at run time; never an error */
PETSC_INTERN PetscErrorCode HJCUDAAvailable(PetscBool *);

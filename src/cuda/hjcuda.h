/* GPU backend. The header is plain C: CUDA stays inside this room */
#pragma once

#include "../core/hjcore.h"
#include "exchange/hjexchange.h"

PETSC_INTERN const HJBackendOps HJBackendCUDA;
/* Whether a device and its driver are there at run time; never an error */
PETSC_INTERN PetscErrorCode HJCUDAAvailable(PetscBool *);
/* Who reads the matrix's rows in device memory; NULL where they are not there (type, bound to the CPU, a PETSc without CUDA). The same on all ranks */
PETSC_INTERN PetscErrorCode HJCUDAGetReader(Mat, const HJRowReader **);

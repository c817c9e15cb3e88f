/* GPU backend. The header is plain C: CUDA stays inside this room */
#pragma once

#include "../core/hjcore.h"
#include "../core/hjhalo.h"

PETSC_INTERN const HJBackendOps HJBackendCUDA;
/* Whether a device and its driver are there at run time; never an error */
PETSC_INTERN PetscErrorCode HJCUDAAvailable(PetscBool *);
/* Who reads the matrix's rows in device memory; NULL where they are not there (type, bound to the CPU, a PETSc without CUDA). The same on all ranks */
PETSC_INTERN PetscErrorCode HJCUDAGetReader(Mat, const HJRowReader **);
/* Halos written straight into the peers' memory, on one host; for communicators where HJIPCAvailable() says so */
PETSC_INTERN const HJHaloOps HJHaloIPC;
/* Collective. Whether every rank has a GPU of its own and all reach one another's memory, or why not; the sentence lives as long as the communicator */
PETSC_INTERN PetscErrorCode HJIPCAvailable(MPI_Comm, PetscBool *, const char **);
#if defined(HJACOBI_HAVE_NCCL)
/* Halos from GPU to GPU; for communicators where HJNCCLAvailable() says so */
PETSC_INTERN const HJHaloOps HJHaloNCCL;
/* Collective. Whether libnccl is there at run time and every rank has a GPU of its own, or why not; the sentence lives as long as the communicator */
PETSC_INTERN PetscErrorCode HJNCCLAvailable(MPI_Comm, PetscBool *, const char **);
#endif

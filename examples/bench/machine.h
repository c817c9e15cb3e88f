/*
   What benchmarks ask of the machine: the time when a device is done, the memory of a GPU. Decides nothing.
*/
#pragma once

#include "../problem.h"
#include <sys/resource.h>
#if defined(HJACOBI_HAVE_CUDA) && PetscDefined(HAVE_CUDA)
  #include <cuda_runtime_api.h>
  #include <petscdevice.h>
#endif

/* The same on all ranks, so that they repeat equally often. probe: a short vector of the device whose end is waited for: a dot product
   needs its result on the host. cpu_time: the processor's time in place of the clock's; one rank */
static inline PetscErrorCode MachineTime(Vec probe, PetscBool cpu_time, PetscLogDouble *seconds)
{
  PetscScalar dot;

  PetscFunctionBegin;
  if (cpu_time) {
    struct rusage r;

    PetscCheck(!getrusage(RUSAGE_SELF, &r), PETSC_COMM_SELF, PETSC_ERR_SYS, "getrusage() fails");
    *seconds = r.ru_utime.tv_sec + r.ru_stime.tv_sec + 1e-6 * (r.ru_utime.tv_usec + r.ru_stime.tv_usec);
  } else {
    PetscCall(VecDot(probe, probe, &dot));
    PetscCallMPI(MPI_Barrier(PetscObjectComm((PetscObject)probe)));
    *seconds = MPI_Wtime();
    PetscCallMPI(MPI_Bcast(seconds, 1, MPI_DOUBLE, 0, PetscObjectComm((PetscObject)probe)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes in use on the GPU, by whomever; 0 without one */
static inline PetscErrorCode MachineDeviceMemory(PetscReal *bytes)
{
  PetscFunctionBegin;
  *bytes = 0;
#if defined(HJACOBI_HAVE_CUDA) && PetscDefined(HAVE_CUDA)
  {
    size_t free_bytes = 0, all_bytes = 0;

    if (PetscDeviceInitialized(PETSC_DEVICE_CUDA) && cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess)
      *bytes = (PetscReal)(all_bytes - free_bytes);
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

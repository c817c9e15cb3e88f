/* SPDX-License-Identifier: BSD-2-Clause */
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

typedef struct {
  PetscBool cuda;     /* vectors lie on a GPU: -dm_vec_type cuda */
  PetscBool cpu_time; /* the processor's time in place of the clock's: -cpu_time; one rank, not on a GPU */
  Vec       probe;    /* a short vector where the others lie: its dot product, which the host needs, comes when the device is done */
} Machine;

static inline PetscErrorCode MachineOpen(Machine *m)
{
  char type[32] = VECSTANDARD;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_vec_type", type, sizeof(type), NULL));
  PetscCall(PetscStrcmp(type, VECCUDA, &m->cuda));
  m->cpu_time = PETSC_FALSE;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-cpu_time", &m->cpu_time, NULL));
  PetscCall(VecCreate(PETSC_COMM_WORLD, &m->probe));
  PetscCall(VecSetSizes(m->probe, 1, PETSC_DETERMINE));
  PetscCall(VecSetType(m->probe, type));
  PetscCall(VecSet(m->probe, 1.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode MachineClose(Machine *m)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&m->probe));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* When the device is done with what it was given; the same on all ranks, so that they repeat equally often */
static inline PetscErrorCode MachineTime(const Machine *m, PetscLogDouble *seconds)
{
  PetscScalar dot;

  PetscFunctionBegin;
  if (m->cpu_time && !m->cuda) {
    struct rusage r;

    PetscCheck(!getrusage(RUSAGE_SELF, &r), PETSC_COMM_SELF, PETSC_ERR_SYS, "getrusage() fails");
    *seconds = r.ru_utime.tv_sec + r.ru_stime.tv_sec + 1e-6 * (r.ru_utime.tv_usec + r.ru_stime.tv_usec);
  } else {
    PetscCall(VecDot(m->probe, m->probe, &dot));
    PetscCallMPI(MPI_Barrier(PetscObjectComm((PetscObject)m->probe)));
    *seconds = MPI_Wtime();
    PetscCallMPI(MPI_Bcast(seconds, 1, MPI_DOUBLE, 0, PetscObjectComm((PetscObject)m->probe)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The grid of a KSP that has a matrix of its own */
static inline PETSC_UNUSED PetscErrorCode MachineSetDM(KSP ksp, DM da)
{
  PetscFunctionBegin;
  PetscCall(KSPSetDM(ksp, da));
#if PETSC_VERSION_GE(3, 25, 0)
  PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
#else
  PetscCall(KSPSetDMActive(ksp, PETSC_FALSE));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes in use on the GPU, by whomever, without those that the device's pool keeps for later; 0 without one */
static inline PetscErrorCode MachineDeviceMemory(PetscReal *bytes)
{
  PetscFunctionBegin;
  *bytes = 0;
#if defined(HJACOBI_HAVE_CUDA) && PetscDefined(HAVE_CUDA)
  {
    size_t        free_bytes = 0, all_bytes = 0;
    cudaMemPool_t pool;
    int           device;

    if (PetscDeviceInitialized(PETSC_DEVICE_CUDA) && cudaDeviceSynchronize() == cudaSuccess && cudaGetDevice(&device) == cudaSuccess &&
        cudaDeviceGetMemPool(&pool, device) == cudaSuccess && cudaMemPoolTrimTo(pool, 0) == cudaSuccess &&
        cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess)
      *bytes = (PetscReal)(all_bytes - free_bytes);
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Halo transports between GPUs. The header is plain C: CUDA and NCCL stay inside this room */
#pragma once

#include "core/hjtransport.h"

/* Halos written straight into the peers' memory, on one host; for communicators where HJIPCAvailable() says so */
PETSC_INTERN const HJHaloOps HJHaloIPC;
/*
   Collective. Whether every rank has a GPU of its own and all reach one another's memory, or why not; the sentence lives as long as the
   communicator
*/
PETSC_INTERN PetscErrorCode HJIPCAvailable(MPI_Comm, PetscBool *, const char **);
/* Without waiting: an error where an exchange that has ended, of any halo of this process, waited in vain, and no call said so yet */
PETSC_INTERN PetscErrorCode HJIPCCheck(void);
/* For tests: two exchanges with a rank 7 that answers, or never does; then, while they may still run, what the test does, or, where that is
   NULL, the end of the exchanges and HJIPCCheck() */
PETSC_INTERN PetscErrorCode HJIPCTryWait(PetscReal timeout, PetscBool answer, PetscErrorCode (*then)(void *), void *ctx);
#if defined(HJACOBI_HAVE_NCCL)
/* Halos from GPU to GPU; for communicators where HJNCCLAvailable() says so */
PETSC_INTERN const HJHaloOps HJHaloNCCL;
/*
   Collective. Whether libnccl is there at run time and every rank has a GPU of its own, or why not; the sentence lives as long as the
   communicator
*/
PETSC_INTERN PetscErrorCode HJNCCLAvailable(MPI_Comm, PetscBool *, const char **);
#endif

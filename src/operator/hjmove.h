/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Vectors from one distribution over ranks to another one, and cycles of several ranks as a whole. Decides no transport.
*/
#pragma once

#include "hjoperator.h"

/* Entries of the ranks' vectors go to places of other vectors, as a PetscSF says */
typedef struct _n_HJMove *HJMove;

/* Collective. From roots to leaves, so many on this rank, all of them; the PetscSF is set up, on this communicator */
PETSC_INTERN PetscErrorCode HJMoveCreate(MPI_Comm, PetscSF, PetscInt leaves, const HJBackendOps *, HJExchange, HJMove *);
/* Collective. Arrays in the backend's memory; from may be NULL where there are no roots, to where there are no leaves, not both */
PETSC_INTERN PetscErrorCode HJMoveRun(HJMove, const PetscScalar *from, PetscScalar *to);
PETSC_INTERN PetscErrorCode HJMoveDestroy(HJMove *);

/*
   Collective. What cycle() of a transport asks for: a halo by which all ranks wait for one another, where nothing travels. NULL on one
   rank, and where the transport has no cycle(). Destroyed as halos are
*/
PETSC_INTERN PetscErrorCode HJFenceCreate(MPI_Comm, HJExchange, HJHalo *fence);
/* Nothing where there is no fence */
PETSC_INTERN PetscErrorCode HJFenceCycle(HJHalo fence, HJCyclePart);

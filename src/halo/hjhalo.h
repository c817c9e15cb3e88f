/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Fills the frames of a plan's regions from the ranks' vectors: made once, replayed. PetscSF here; other transports fill the same table.

   What travels between ranks is found here; between GPUs it travels by cuda/exchange.
*/
#pragma once

#include "core/hjagree.h"
#include "core/hjtransport.h"

/*
   Collective. Owned points of the ranks -> places of a frame buffer that holds the boxes at their offsets. Places deeper than depth
   around the owned points or outside the domain are never written. depth 0 copies own points alone. Where the grid has several unknowns
   a point a place holds them all
*/
PETSC_INTERN PetscErrorCode HJHaloCreate(DM da, const HJGrid *grid, PetscInt depth, PetscInt nboxes, const HJBox boxes[],
                                         const PetscCount offsets[], const HJHaloOps *ops, HJHalo *halo);
/* Collective. The same from a PetscSF that is set up: entries of the ranks' vectors -> a buffer of so many places. A communicator whose
   ranks are numbered as the PetscSF's */
PETSC_INTERN PetscErrorCode HJHaloCreateFromSF(MPI_Comm, PetscSF, PetscInt leaves, const HJHaloOps *ops, HJHalo *halo);
/* Of x and b, see HJHaloOps */
PETSC_INTERN PetscErrorCode HJHaloBegin(HJHalo, PetscMemType, const PetscScalar *const from[2], PetscScalar *frame[2]);
PETSC_INTERN PetscErrorCode HJHaloEnd(HJHalo, PetscMemType, const PetscScalar *const from[2], PetscScalar *frame[2]);
PETSC_INTERN PetscErrorCode HJHaloDestroy(HJHalo *);

/* The latter for arrays of a backend in single precision */
PETSC_INTERN const HJHaloOps HJHaloPetscSF, HJHaloPetscSFSingle;

/*
   Interpolation between the grids of two DMDAs and its transpose: halo and backend put together. Knows no Mat.
*/
#pragma once

#include "hjghosts.h"
#include "../core/hjtransfer.h"
#include "../host/hjhost.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "../cuda/hjcuda.h"
#endif

typedef struct {
  HJTransfer          transfer;
  const HJBackendOps *ops;
  /* Of the coarse grid, for the interpolation, and of the fine one, for its transpose */
  HJGhosts ghosts[2];
} HJTransfers;

/* Collective. The interpolation between two DMDAs; where it is not one that this room does, reason says why, the same on all ranks. last
   NULL: DMDA's, else directions may have any number of points, and these are the weights of those that hang */
PETSC_INTERN PetscErrorCode HJTransferSet(DM coarse, DM fine, const PetscReal last[3], HJTransfer *, char reason[], size_t len);
/* Collective. For vectors in the backend's memory, with a transport of its ghosts */
PETSC_INTERN PetscErrorCode HJTransfersCreate(DM coarse, DM fine, const HJTransfer *, const HJBackendOps *, HJExchange, HJTransfers **);
PETSC_INTERN PetscErrorCode HJTransfersDestroy(HJTransfers **);
/* Collective. y = b + P x, or with P^T; b may be NULL (without it) or y */
PETSC_INTERN PetscErrorCode HJTransfersApply(HJTransfers *, PetscBool transpose, Vec x, Vec b, Vec y);
/* Collective. The interpolation as a matrix, MATHJTRANSFER; src/mat makes it */
PETSC_INTERN PetscErrorCode HJMatCreateTransfer(DM coarse, DM fine, const HJTransfer *, Mat *);

/*
   Interpolation between the grids of two DMDAs and its transpose: halo and backend put together. Knows no Mat.
*/
#pragma once

#include "../core/hjtransfer.h"
#include "../halo/hjhalo.h"
#include "../host/hjhost.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "../cuda/hjcuda.h"
#endif

/* What one of the two grids gives to the other: the coarse one to interpolation, the fine one to its transpose */
typedef struct {
  DM           da;
  HJShell      shell;
  PetscInt     depth; /* points that the shell is thick at most, on any rank */
  HJHalo       halo;  /* NULL where there are no neighbours */
  PetscScalar *ghost; /* [shell.size], 0 outside the domain; allocated at set-up */
} HJTransferSide;

typedef struct {
  HJTransfer          transfer;
  const HJBackendOps *ops;
  HJTransferSide      side[2]; /* coarse, fine */
} HJTransfers;

/* Collective. The interpolation between two DMDAs; where it is not one that this room does, reason says why, the same on all ranks */
PETSC_INTERN PetscErrorCode HJTransferSet(DM coarse, DM fine, HJTransfer *, char reason[], size_t len);
/* Collective. For vectors in the backend's memory, with a transport of its ghosts */
PETSC_INTERN PetscErrorCode HJTransfersCreate(DM coarse, DM fine, const HJTransfer *, const HJBackendOps *, HJExchange, HJTransfers **);
PETSC_INTERN PetscErrorCode HJTransfersDestroy(HJTransfers **);
/* Collective. y = b + P x, or with P^T; b may be NULL (without it) or y */
PETSC_INTERN PetscErrorCode HJTransfersApply(HJTransfers *, PetscBool transpose, Vec x, Vec b, Vec y);
/* Collective. The interpolation as a matrix, MATHJTRANSFER; src/mat makes it */
PETSC_INTERN PetscErrorCode HJMatCreateTransfer(DM coarse, DM fine, const HJTransfer *, Mat *);
/* Whether MatPtAP() with it, of few distinct rows, gives a star in place of a box: what leads to points in a direction is summed into the
   entry of that direction, and row sums stay. For rows that are one symmetric star on the finest grid, whose row sums are 0 */
PETSC_INTERN PetscErrorCode HJMatTransferSetStars(Mat, PetscBool);

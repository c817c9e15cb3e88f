/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Interpolation between the grids of two DMDAs and its transpose: halo and backend put together. Knows no Mat.
*/
#pragma once

#include "hjcoarsen.h"
#include "hjghosts.h"
#include "core/hjtransfer.h"
#include "host/hjhost.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/backend/hjcuda.h"
#endif

typedef struct {
  HJTransfer          transfer;
  const HJBackendOps *ops;
  /* Of the coarse grid, for the interpolation, and of the fine one, for its transpose */
  HJGhosts ghosts[2];
  /* See hjinterpolation.h, NULL: bilinear. Of the owned coarse points, and of the ghosts of the coarse grid, in the backend's memory */
  PetscScalar *coefficient, *coefficient_ghost;
  PetscScalar *keep, *keep_ghost; /* of several unknowns a point, as HJTransferProduct's; NULL: all are kept */
} HJTransfers;

/* Collective. The interpolation between two DMDAs; where it is not one that this room does, reason says why, the same on all ranks.
   Without a coarsening it is DMDA's, else directions may have any number of points, and it says which are coarse, and what those that hang
   have */
PETSC_INTERN PetscErrorCode HJTransferSet(DM coarse, DM fine, const HJCoarsening *, HJTransfer *, char reason[], size_t len);
/* Collective. For vectors in the backend's memory, with a transport of its ghosts */
PETSC_INTERN PetscErrorCode HJTransfersCreate(DM coarse, DM fine, const HJTransfer *, const HJBackendOps *, HJExchange, HJTransfers **);
PETSC_INTERN PetscErrorCode HJTransfersDestroy(HJTransfers **);
/* Collective. y = b + P x, or with P^T; b may be NULL (without it) or y. lies: as HJRun's, of a y that P x is added to; NULL: the rank's
   own points */
PETSC_INTERN PetscErrorCode HJTransfersApply(HJTransfers *, PetscBool transpose, const HJBox *lies, Vec x, Vec b, Vec y);
/* Collective. The same of arrays in the backend's memory */
PETSC_INTERN PetscErrorCode HJTransfersRun(HJTransfers *, PetscBool transpose, const HJBox *lies, const PetscScalar *x,
                                           const PetscScalar *b, PetscScalar *y);
/* Room for coefficients */
PETSC_INTERN PetscErrorCode HJTransfersAllocCoefficients(HJTransfers *);
/* Collective. Ghosts of n arrays over the owned coarse points, [n][shell.size] of the coarse side, in the backend's memory */
PETSC_INTERN PetscErrorCode HJTransfersGetGhosts(HJTransfers *, PetscInt n, const PetscScalar *arrays, PetscScalar *ghost);
/* Collective. With coefficients of their own at every point, copied from the host or the backend's memory, or, to one in
   single precision, rounded; NULL: bilinear again */
PETSC_INTERN PetscErrorCode HJTransfersSetCoefficients(HJTransfers *, const PetscScalar *);
/* Collective. Of several unknowns a point: keep from a mask of the fine unknowns, see HJTransferKeep; NULL: all are kept */
PETSC_INTERN PetscErrorCode HJTransfersKeep(HJTransfers *, Vec mask, Vec keep);
/* Collective. The same of a Vec that has been filled by the former; NULL: all are kept */
PETSC_INTERN PetscErrorCode HJTransfersSetKeep(HJTransfers *, Vec keep);
/* What the coefficients and the ghosts take */
PETSC_INTERN size_t HJTransfersBytes(const HJTransfers *);
/* Collective. The interpolation as a matrix, MATHJTRANSFER; src/mat makes it */
PETSC_INTERN PetscErrorCode HJMatCreateTransfer(DM coarse, DM fine, const HJTransfer *, Mat *);

/*
   Collective. A matrix that interpolates composes this function: its coefficients from the rows of a matrix on the fine grid, instead of
   bilinear ones; again with new values. symmetric: the matrix is, but for columns of rows that are a diagonal alone; else its symmetric
   part is taken. Where the jump of the coefficients is not more than limit the interpolation is bilinear. A matrix NULL: bilinear again
*/
#define HJ_SET_INTERPOLATION "MatHJTransferSetInterpolation_C"
typedef PetscErrorCode (*HJSetInterpolation)(Mat, Mat A, PetscBool symmetric, PetscReal limit, HJJump *);
/* A matrix that interpolates composes this function too: what does so in one memory, with the coefficients that there are. Collective where
   it is not made yet */
#define HJ_GET_TRANSFERS "MatHJTransferGetTransfers_C"
typedef PetscErrorCode (*HJGetTransfers)(Mat, PetscBool device, HJTransfers **);
/* Collective. Of several unknowns a point: unknowns of the fine grid where a Vec is 0 have no part in the interpolation, but for those by
   way of which alone a coarse one has any; NULL: all have */
PETSC_INTERN PetscErrorCode HJMatTransferLeave(Mat, Vec);
/* Collective. For grids of one direction: P^T restricts as the columns of A want it, minus the entry of a coarse point's row for the point
   beside it over the diagonal there. Where the interpolation is exact, P^T A P is what elimination of the points between leaves, and
   residuals that are restricted so are its right-hand side */
PETSC_INTERN PetscErrorCode HJMatTransferSetColumns(Mat P, Mat A);
/* From now on MatPtAP() with it, of few distinct rows, gives a star in place of a box: what leads to points in a direction is summed into
   the entry of that direction, and row sums stay. For rows that are one symmetric star on the finest grid, whose row sums are 0 */
PETSC_INTERN PetscErrorCode HJMatTransferSetStars(Mat);
/* Whether its products are of symmetric matrices; of those on one rank without periodicity half the coefficients are then kept */
PETSC_INTERN PetscErrorCode HJMatTransferSetSymmetric(Mat, PetscBool);

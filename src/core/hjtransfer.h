/*
   Where two grids of a hierarchy lie in each other: DMDA's Q1 interpolation, refinement 1 or 2 in each direction. Decides nothing.
*/
#pragma once

#include "hjcore.h"

/*
   In direction d the fine point with the global number I lies at coarse I / factor[d]. Without periodicity the fine grid has
   factor (N - 1) + 1 points where the coarse one has N, else factor N. start: global number of this rank's first point, which the grids'
   local coordinates count from.
*/
typedef struct {
  HJGrid   coarse, fine;
  PetscInt factor[3], coarse_start[3], fine_start[3];
} HJTransfer;

/* A matrix that interpolates so composes this function: PetscErrorCode (*)(Mat, const HJTransfer **), valid as long as the matrix */
#define HJ_GET_TRANSFER "MatHJTransferGetTransfer_C"

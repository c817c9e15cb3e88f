/*
   Where two grids of a hierarchy lie in each other: DMDA's Q1 interpolation, refinement 1 or 2 in each direction. Decides nothing.
*/
#pragma once

#include "hjcoefficients.h"
#include "hjmultigrid.h"

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

/* Fine local coordinate i lies at place i + shift in units of fine points from coarse local coordinate 0 */
static inline PetscInt HJTransferShift(const HJTransfer *t, int d)
{
  return t->fine_start[d] - t->factor[d] * t->coarse_start[d];
}

/*
   y = b + P x on the fine grid, or y = b + P^T x on the coarse one; b may be NULL (without it) or y. shell and ghost are those of x. Around
   the coarse grid the shell is one point thick; around the fine grid it holds every fine point next to one that lies on an owned coarse
   point. Ghosts outside the domain count as 0: on the host they are 0, a device does not read them.
*/
struct _n_HJTransferProduct {
  const HJTransfer  *transfer;
  const HJShell     *shell;
  const PetscScalar *x, *ghost, *b;
  PetscScalar       *y;
  const PetscScalar *weight, *weight_ghost; /* see hjweights.h: ghosts are not read by the transpose. NULL: bilinear */
};

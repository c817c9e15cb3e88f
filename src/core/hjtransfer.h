/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Where two grids of a hierarchy lie in each other: DMDA's Q1 interpolation, refinement 1 or 2 in each direction. Decides nothing.
*/
#pragma once

#include "hjcoefficients.h"
#include "hjmultigrid.h"

/*
   In direction d the fine point with the global number I lies at coarse (I - first[d]) / factor[d]. Where the coarse grid has N points the
   fine one has factor (N - 1) + 1, or factor N where the direction is periodic, and first is 0: that is DMDA's interpolation. PCHJMG also
   halves directions of other sizes, and has the odd points coarse in some without periodicity: there first is 1. Without periodicity a
   last point beyond the last coarse one hangs on it alone, with coefficient last[d], and a first point before the first coarse one with
   before[d]. In a periodic direction of 2 N - 1 points the first and the last point are both coarse, and neighbours: no point lies between
   the last one and the image of the first. start: global number of this rank's first point, which the grids' local coordinates count from.
*/
typedef struct {
  HJGrid    coarse, fine;
  HJBox     points; /* the fine grid's domain; of a periodic direction of 2 N - 1 points one period, beyond which none is looked at */
  PetscInt  factor[3], first[3], coarse_start[3], fine_start[3];
  PetscReal before[3], last[3];
} HJTransfer;

/* A matrix that interpolates so composes this function: PetscErrorCode (*)(Mat, const HJTransfer **), valid as long as the matrix;
   and PetscErrorCode (*)(Mat, PetscBool *): whether it interpolates with coefficients of its own, see hjinterpolation.h */
#define HJ_GET_TRANSFER     "MatHJTransferGetTransfer_C"
#define HJ_HAS_COEFFICIENTS "MatHJTransferHasCoefficients_C"

/* Fine local coordinate i lies at place i + shift in units of fine points from coarse local coordinate 0 */
static inline PetscInt HJTransferShift(const HJTransfer *t, int d)
{
  return t->fine_start[d] - t->first[d] - t->factor[d] * t->coarse_start[d];
}

/* Whether the first fine point has one coarse point beside it, and is none */
static inline PetscBool HJTransferBegins(const HJTransfer *t, int d)
{
  return (PetscBool)(t->first[d] != 0);
}

/* Whether the last fine point has one coarse point beside it, and is none */
static inline PetscBool HJTransferHangs(const HJTransfer *t, int d)
{
  return (PetscBool)(t->factor[d] == 2 && !t->fine.periodic[d] && t->fine.N[d] == 2 * t->coarse.N[d] + t->first[d]);
}

/* Whether the first and the last point of a period are coarse */
static inline PetscBool HJTransferAdjoins(const HJTransfer *t, int d)
{
  return (PetscBool)(t->factor[d] == 2 && t->fine.periodic[d] && t->fine.N[d] == 2 * t->coarse.N[d] - 1);
}

/* Local coordinates of the first and of the last fine point where it hangs; where it does not, one that no point has */
static inline PetscInt HJTransferBeginning(const HJTransfer *t, int d)
{
  return HJTransferBegins(t, d) ? t->points.lo[d] : HJ_ENDLESS;
}

static inline PetscInt HJTransferHanging(const HJTransfer *t, int d)
{
  return HJTransferHangs(t, d) ? t->points.hi[d] - 1 : HJ_ENDLESS;
}

/* A point that hangs is as one between a coarse point and one beyond it that is 0, times this: twice its coefficient. Of this rank's first
   and last points of a direction; 1 where they do not hang */
static inline void HJTransferGetScale(const HJTransfer *t, int d, PetscScalar scale[2])
{
  scale[0] = HJTransferBegins(t, d) && !t->fine_start[d] ? (PetscScalar)(2 * t->before[d]) : (PetscScalar)1.0;
  scale[1] = HJTransferHangs(t, d) && t->fine_start[d] + HJBoxWidth(&t->fine.owned, d) == t->fine.N[d] ? (PetscScalar)(2 * t->last[d])
                                                                                                       : (PetscScalar)1.0;
}

/*
   How much coefficients jump: |u - v| / (u + v) of the couplings u and v of a fine point to the two coarse ones that it lies between, the
   ends of the domain apart. Its largest value; how many are large, of how many points, each counted for both coarse ones
*/
#define HJ_JUMP_LARGE 0.5
typedef struct {
  PetscReal  largest;
  PetscInt64 large, points;
} HJJump;

/*
   y = b + P x on the fine grid, or y = b + P^T x on the coarse one; b may be NULL (without it) or y. shell and ghost are those of x. Around
   the coarse grid the shell is one point thick; around the fine grid it holds every fine point next to one that lies on an owned coarse
   point. Ghosts outside the domain count as 0: on the host they are 0, a device does not read them. lies, of y = y + P x alone: y holds the
   points of this box, as a restriction's x does.
*/
struct _n_HJTransferProduct {
  const HJTransfer  *transfer;
  const HJShell     *shell;
  const PetscScalar *x, *ghost, *b;
  PetscScalar       *y;
  PetscBool          exchanged;                       /* as HJSweep's */
  const PetscScalar *coefficient, *coefficient_ghost; /* see hjinterpolation.h: ghosts are not read by the transpose. NULL: bilinear */
  const HJBox       *lies;
};

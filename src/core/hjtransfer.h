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

/* Numbers of a stretch of a line that the host sums up, and so many unknowns a point at most, with three points in it */
#define HJ_TRANSFER_ROOM 1032
#define HJ_TRANSFER_DOF  (HJ_TRANSFER_ROOM / 3)

/* Fine local coordinate i lies at place i + shift in units of fine points from coarse local coordinate 0 */
static inline HJ_HOST_DEVICE PetscInt HJTransferShift(const HJTransfer *t, int d)
{
  return t->fine_start[d] - t->first[d] - t->factor[d] * t->coarse_start[d];
}

/* Whether the first fine point has one coarse point beside it, and is none */
static inline HJ_HOST_DEVICE PetscBool HJTransferBegins(const HJTransfer *t, int d)
{
  return (PetscBool)(t->first[d] != 0);
}

/* Whether the last fine point has one coarse point beside it, and is none */
static inline HJ_HOST_DEVICE PetscBool HJTransferHangs(const HJTransfer *t, int d)
{
  return (PetscBool)(t->factor[d] == 2 && !t->fine.periodic[d] && t->fine.N[d] == 2 * t->coarse.N[d] + t->first[d]);
}

/* Whether the first and the last point of a period are coarse */
static inline PetscBool HJTransferAdjoins(const HJTransfer *t, int d)
{
  return (PetscBool)(t->factor[d] == 2 && t->fine.periodic[d] && t->fine.N[d] == 2 * t->coarse.N[d] - 1);
}

/* Local coordinates of the first and of the last fine point where it hangs; where it does not, one that no point has */
static inline HJ_HOST_DEVICE PetscInt HJTransferBeginning(const HJTransfer *t, int d)
{
  return HJTransferBegins(t, d) ? t->points.lo[d] : HJ_ENDLESS;
}

static inline HJ_HOST_DEVICE PetscInt HJTransferHanging(const HJTransfer *t, int d)
{
  return HJTransferHangs(t, d) ? t->points.hi[d] - 1 : HJ_ENDLESS;
}

/* The coarse points that a fine one lies on or between in a direction, the first of them and the coefficient of each, of 1 or 2 */
static inline HJ_HOST_DEVICE PetscInt HJTransferParents(const HJTransfer *t, int d, PetscInt fine, PetscInt *coarse, PetscReal *coefficient)
{
  const PetscInt  place  = fine + HJTransferShift(t, d);
  const PetscBool begins = (PetscBool)(fine == HJTransferBeginning(t, d)), hangs = (PetscBool)(fine == HJTransferHanging(t, d));
  PetscBool       on;

  *coarse      = t->factor[d] == 1 ? place : (place - (place & 1)) / 2;
  on           = (PetscBool)(place == t->factor[d] * *coarse);
  *coefficient = begins ? t->before[d] : hangs ? t->last[d] : on ? 1.0 : 0.5;
  if (begins) (*coarse)++;
  return on || begins || hangs ? 1 : 2;
}

/* Coefficient of the fine point that lies off beside a coarse one */
static inline HJ_HOST_DEVICE PetscReal HJTransferCoefficient(const HJTransfer *t, int d, PetscInt fine, PetscInt off)
{
  if (!off) return 1.0;
  if (fine < t->points.lo[d] || fine >= t->points.hi[d]) return 0.0;
  return fine == HJTransferBeginning(t, d) ? t->before[d] : fine == HJTransferHanging(t, d) ? t->last[d] : 0.5;
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
  /* Several unknowns a point: 1 or 0 for each unknown of the fine grid and of its shell, what P x and the x of P^T x are multiplied with.
     NULL: 1 everywhere */
  const PetscScalar *keep, *keep_ghost;
};

/*
   Of several unknowns a point, all arrays with so many numbers a point. mask: 0 at fine points that are to have no part in the
   interpolation, shares: P^T mask. keep is that mask, but 1 where a coarse point would have no part in anything: at the fine one that has
   its value
*/
struct _n_HJTransferKeep {
  const HJTransfer  *transfer;
  const PetscScalar *mask, *shares;
  PetscScalar       *keep;
};

/* Whether an unknown of a fine point of this rank is kept. A coarse point is on the rank that has the fine point which it lies on */
static inline HJ_HOST_DEVICE PetscBool HJTransferKeeps(const HJTransferKeep *k, const PetscInt fine[3], PetscInt l, PetscScalar mask)
{
  const HJTransfer *t    = k->transfer;
  const PetscInt   *n    = t->coarse.owned.hi;
  PetscInt          c[3] = {0, 0, 0}, parents = 1;
  PetscReal         w = 1.0;

  if (mask != 0.0) return PETSC_TRUE;
  for (int d = 0; d < 3; d++) {
    PetscReal coefficient;

    parents *= HJTransferParents(t, d, fine[d], &c[d], &coefficient);
    w *= coefficient;
  }
  if (parents > 1 || w != 1.0 || !HJPointInside(&t->coarse.owned, c[0], c[1], c[2])) return PETSC_FALSE;
  return (PetscBool)(k->shares[(((PetscCount)c[2] * n[1] + c[1]) * n[0] + c[0]) * t->fine.dof + l] == 0.0);
}

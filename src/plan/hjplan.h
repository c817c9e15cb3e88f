/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Passes, halo depth, regions: pure arithmetic, no PETSc object, no backend. Made in set-up, replayed by apply.

   How many subiterations a pass has, how deep the halo is and which points wait for it is decided in hjplan.c. hjslab.h has the same for
   grids larger than the GPU's memory: types of slabs, their heights and thicknesses, and the model that predicts their time.
*/
#pragma once

#include "core/hjcore.h"

/* A list of total subiterations cut into passes of nearly equal length */
typedef struct {
  PetscCount total; /* subiterations: its * k */
  PetscCount npasses;
  PetscInt   depth; /* halo depth of x, the deepest pass; b and the coefficients need one less (stale: likewise) */
  PetscBool  zero_guess;
  PetscBool  pointwise; /* the first subiteration, from zero, is a pass of its own */
  PetscBool  in_place;  /* the last pass writes to the array that it reads: no copy after an odd number of passes */
  PetscInt   overlap;   /* < 0: exact */
} HJPlan;

typedef struct {
  PetscCount first;
  PetscInt   count;
} HJPass;

/* Subiterations of the longest pass: its weights are a list, which must not grow without end where a backend can do any number at once */
#define HJ_MAX_PASS 65536

/* its cycles of k, its * k at most HJ_COUNT_MAX; exact (overlap < 0) splits and merges as limits and the thinnest rank allow, stale
   makes one pass a cycle */
PETSC_INTERN void HJPlanFill(const HJGrid *grid, const HJLimits *limits, PetscInt k, PetscInt its, PetscInt overlap, PetscBool zero_guess,
                             HJPlan *plan);
/* Where arrays of coefficients are what passes read: from a zero guess the first subiteration reads none but the diagonal's. It becomes a
   pass of its own where the others fit into one pass less. On grids without neighbours alone: others need it in their halo */
PETSC_INTERN void   HJPlanBeginPointwise(const HJGrid *grid, const HJLimits *limits, HJPlan *plan);
PETSC_INTERN HJPass HJPlanGetPass(const HJPlan *plan, PetscCount p);
/* Deepest pad of the coefficients that any plan on this grid can need */
PETSC_INTERN PetscInt HJPlanPad(const HJGrid *grid, PetscInt overlap);

/*
   The rank's points, cut into regions that are swept apart. Without neighbours: one region, read in place. With neighbours: an interior
   that reads the vectors in place while the halo travels, and slabs along the sides with arrays of their own ("frames") that hold
   copies and ghost points; on grids too thin for that, and stale, one framed region. Where neighbours lie across the slowest direction
   alone and the backend's sweeps take ghost arrays: one region, in place but for its ghost planes. On a rank that is its own neighbour,
   where the backend's sweeps wrap: one region in place, whose ghost planes are the owned planes at the other end.
*/
#define HJ_MAX_REGIONS 7
typedef struct {
  PetscInt   n;
  PetscBool  framed[HJ_MAX_REGIONS]; /* else in place: box is the owned box (ghosts: and the ghost planes) */
  HJBox      box[HJ_MAX_REGIONS];    /* points that the arrays hold */
  HJBox      write[HJ_MAX_REGIONS];  /* a partition of the owned points */
  PetscCount offset[HJ_MAX_REGIONS]; /* of the region's array in the frame buffer */
  PetscBool  ghosts;                 /* the one region is in place; the frame buffer holds ghost[0], then ghost[1] */
  HJBox      ghost[2];               /* planes below and above the owned ones, either may be empty */
  PetscBool  wraps;                  /* the one region is in place, no value is moved; ghosts: planes of the vector itself */
  PetscCount size;                   /* of the frame buffer */
} HJRegions;

/* ghosts: the backend and the transport want them; wraps: the backend's sweeps can */
PETSC_INTERN void HJPlanRegions(const HJGrid *grid, const HJPlan *plan, const PetscInt slab[3], PetscBool ghosts, PetscBool wraps,
                                HJRegions *regions);
/* Bytes of slow memory that the plan moves for the owned points, for PCView and the tests; coefficient_bytes: a point and pass */
PETSC_INTERN PetscLogDouble HJPlanBytes(const HJGrid *grid, const HJPlan *plan, PetscReal coefficient_bytes);

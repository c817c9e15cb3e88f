/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What slabs are made of, for the two files that make and run them.
*/
#pragma once

#include "hjslabs.h"
#include "hjslabghosts.h"

#define HJ_SLAB_PINS (4 + HJ_MAX_NEIGHBORS + 1) /* arrays: x, b, ghosts of both, coefficients */

/* Where the planes of an array of coefficients lie on the host */
typedef struct {
  const char *array;
  PetscInt    slot; /* of HJStencil's value[]; 0: dinv, -1: index */
} HJSlabArray;

struct _n_HJSlabs {
  const HJSlabOps *ops;
  void            *device;
  MPI_Comm         comm;
  HJGrid           grid;
  PetscBool        wraps; /* the device's sweeps do, across all directions but the slowest that are periodic: these have no ghosts */
  HJBox            box;   /* points of a plane that travels; all planes of this rank */
  HJSlabGhosts     ghosts;
  const HJStencil *stencil; /* the operator's */
  PetscInt         dir;     /* the slowest direction */
  HJSlabShape      shape;
  HJSlabRates      rates;
  HJSlabPlan       plan;
  size_t           limit;
  PetscInt         asked_height;
  PetscInt         narrays;
  HJSlabArray      array[HJ_MAX_NEIGHBORS + 1];
  char            *ring[2], *coefficient[HJ_MAX_NEIGHBORS + 1], *constant; /* constant: the index of a grid of one row, all zero */
  const void      *pinned[HJ_SLAB_PINS];
  size_t           pinned_bytes[HJ_SLAB_PINS];
  PetscBool        keep;
  PetscCount       subiterations;
  PetscReal        setup, predicted, measured, pinning;
  PetscReal        every; /* seconds between lines on the progress of a run, at least; < 0: none */
  PetscLogDouble   shown; /* when the last line was, or the run began */
  PetscLogDouble   start; /* of the run */
};

/* Where the operator's arrays of coefficients are now: they may move at a refresh */
PETSC_INTERN void HJSlabsSetArrays(HJSlabs);
/* A slab of so many planes as the device sees it: ends of the domain that it does not touch are far away */
PETSC_INTERN HJGrid HJSlabsGrid(const HJSlabs, PetscInt planes);
/*
   count subiterations on the planes [lo, hi) of a round, from one ring of x to the other; low: of the slab if it were not cut; left: those
   that the round has to do after them, for which ghosts at the sides of a plane are still needed. The device counts planes from where slabs
   that look alike have the same numbers: in the middle of the grid, or as far from the end that they touch
*/
PETSC_INTERN PetscErrorCode HJSlabsSweep(HJSlabs, const HJSlabPlan *, PetscInt lo, PetscInt hi, PetscInt low, PetscInt left,
                                         PetscCount more, PetscInt from, PetscBool zero, PetscInt count, const PetscReal *w);

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What slabs of a rank see of other ranks' values, or of periodic images: where the planes of a vector lie on the host, and how they get
   there. Decides whether vectors are read in place; how deep ghosts are is the plan's.
*/
#pragma once

#include "operator/hjoperator.h"

/* Planes of a vector in local coordinates, those of piece i from lo[i] to lo[i + 1] - 1: others' below, the rank's own, others' above */
typedef struct {
  PetscScalar *at[3];
  PetscInt     lo[4];
} HJSlabPlanes;

/*
   Where others lie across the slowest direction alone, own planes are those of the vector, and others' come into arrays of their own. Else
   the planes of a copy of the vector hold ghosts at their sides.
*/
typedef struct {
  HJGrid       grid;
  PetscInt     depth, dir;
  PetscBool    copied;
  HJBox        box; /* points of the copy */
  HJShell      shell;
  HJHalo       halo;
  PetscMPIInt  tag;
  PetscScalar *ghost[2], *copy[2]; /* of x, of b: the shell; the copy */
} HJSlabGhosts;

/* Points of a plane that travels: own ones, and depth ghosts at the sides where others lie; all own planes */
PETSC_INTERN HJBox HJSlabGhostsBox(const HJGrid *, PetscInt depth);
/* Collective. grid: the operator's, without the directions in which the device's sweeps wrap */
PETSC_INTERN PetscErrorCode HJSlabGhostsCreate(const HJOperator *, const HJGrid *grid, PetscInt depth, HJSlabGhosts *);
PETSC_INTERN PetscErrorCode HJSlabGhostsDestroy(HJSlabGhosts *);
/* Collective. Ghosts of x and b, either may be NULL; copies of own values. Planes of x and b are as HJSlabGhostsPlanes() says */
PETSC_INTERN PetscErrorCode HJSlabGhostsBegin(HJSlabGhosts *, const PetscScalar *x, const PetscScalar *b);
/* Collective. Ghosts of x after a round, whose result lies in its planes */
PETSC_INTERN PetscErrorCode HJSlabGhostsNext(HJSlabGhosts *, PetscScalar *x);
/* x gets the result of the last round */
PETSC_INTERN PetscErrorCode HJSlabGhostsEnd(HJSlabGhosts *, PetscScalar *x);
/* vector: 0 for x, 1 for b; array: its own */
PETSC_INTERN void HJSlabGhostsPlanes(const HJSlabGhosts *, int vector, PetscScalar *array, HJSlabPlanes *);

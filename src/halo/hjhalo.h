/*
   Fills the frames of a plan's regions from the ranks' vectors: made once, replayed. PetscSF here; other transports fill the same table.
*/
#pragma once

#include "../core/hjcore.h"

typedef struct _n_HJHalo *HJHalo;

/* What a transport does; begin and end bracket work that touches neither the frame nor, in begin, changes x */
typedef struct {
  const char *name;
  PetscErrorCode (*create)(HJHalo);
  PetscErrorCode (*begin)(HJHalo, PetscMemType, const PetscScalar *, PetscScalar *);
  PetscErrorCode (*end)(HJHalo, PetscMemType, const PetscScalar *, PetscScalar *);
  PetscErrorCode (*destroy)(HJHalo);
} HJHaloOps;

/* Owned points of ranks -> places of a frame buffer. Depth of every box at most depth; boxes may leave the domain (those places stay 0) */
PETSC_INTERN PetscErrorCode HJHaloCreate(DM da, const HJGrid *grid, PetscInt depth, PetscInt nboxes, const HJBox boxes[], const PetscCount offsets[], const HJHaloOps *ops, HJHalo *halo);
PETSC_INTERN PetscErrorCode HJHaloBegin(HJHalo, PetscMemType, const PetscScalar *x, PetscScalar *frame);
PETSC_INTERN PetscErrorCode HJHaloEnd(HJHalo, PetscMemType, const PetscScalar *x, PetscScalar *frame);
PETSC_INTERN PetscErrorCode HJHaloDestroy(HJHalo *);

PETSC_INTERN const HJHaloOps HJHaloPetscSF;

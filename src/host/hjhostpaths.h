/* SPDX-License-Identifier: BSD-2-Clause */
/* How strongly fine points between coarse ones are coupled to them, line by line: HJCouplingOfPaths() of core/hjinterpolation.h on the host
   */
#pragma once

#include "hjhostkernels.h"
#include "core/hjinterpolation.h"

typedef struct {
  const HJColumns     *w;
  const HJFine        *a;
  const HJHostKernels *kernels;
  /* Where coefficients are no arrays: the lines of a few planes (in 2D a few lines) as arrays, [line][nslots][points]; held: which line
     each is */
  PetscScalar *lines;
  PetscCount  *held;
  PetscScalar *work; /* HJ_PATHS_WORK lines of coarse points */
} HJHostPaths;

/* Entries of a slot along the owned points of a fine line, where coefficients are rows; as HJFineEntry() */
PETSC_INTERN void           HJHostFineLine(const HJFine *, PetscInt slot, PetscInt j, PetscInt k, PetscScalar *to);
PETSC_INTERN PetscErrorCode HJHostPathsCreate(const HJColumns *, const HJFine *, HJHostPaths *);
PETSC_INTERN PetscErrorCode HJHostPathsDestroy(HJHostPaths *);
/* The coarse points [lo, hi) of a line whose fine points, up beside them in one direction, and those around these can be read; lo is hi
   where not even their lines can be */
PETSC_INTERN void HJHostPathsRange(const HJHostPaths *, const int up[3], PetscInt j, PetscInt k, PetscInt *lo, PetscInt *hi);
/* Of these fine points the couplings to the points t beside them into to[0], to[1], ... */
PETSC_INTERN void HJHostPathsRun(const HJHostPaths *, const int up[3], const int t[3], PetscInt j, PetscInt k, PetscInt lo, PetscInt hi,
                                 PetscScalar *to);

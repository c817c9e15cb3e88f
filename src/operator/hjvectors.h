/* SPDX-License-Identifier: BSD-2-Clause */
/*
   A vector's values in the memory of a backend, wherever the vector lies; memory that can be done without. Decides nothing.
*/
#pragma once

#include "core/hjcore.h"

typedef enum { HJ_READ, HJ_WRITE, HJ_READ_WRITE } HJAccess;

/* A vector's own array, and the one that serves in its place in the backend's memory */
typedef struct {
  const HJBackendOps *ops;
  void               *backend;
  HJAccess            access;
  Vec                 v;
  PetscScalar        *own, *used;
} HJVecArray;

/*
   backend: the context that the backend copies with, or NULL. stage: memory of the backend, of the local size, that a vector which lies
   elsewhere is copied to, allocated here when it is first needed; NULL where such a vector is an error. Of a Vec that is NULL used is NULL
*/
PETSC_INTERN PetscErrorCode HJVecOpen(const HJBackendOps *, void *backend, HJAccess, Vec, PetscScalar **stage, HJVecArray *);
/* The same without a copy: *here is false, and used not to be used, where the vector lies elsewhere */
PETSC_INTERN PetscErrorCode HJVecOpenHere(const HJBackendOps *, HJAccess, Vec, HJVecArray *, PetscBool *here);
/* A vector of a matrix's rows whose values are the given ones in the memory of a backend, which outlive it */
PETSC_INTERN PetscErrorCode HJVecCreateIn(Mat, const HJBackendOps *, PetscScalar *values, Vec *);
/* Whether both vectors are read in the memory of a backend without a copy of ours */
PETSC_INTERN PetscErrorCode HJVecsAreIn(const HJBackendOps *, Vec, Vec, PetscBool *are);
/* What was written to used is the vector's */
PETSC_INTERN PetscErrorCode HJVecClose(HJVecArray *);
/* n numbers of the backend's memory, not initialised; scratch: for a moment, as HJMultigridOps says. *p is NULL where there is no memory */
PETSC_INTERN PetscErrorCode HJAllocIfRoom(const HJBackendOps *, PetscCount n, PetscBool scratch, PetscScalar **p);
/* Counts them for PETSc's log as those of the CPU or of a GPU */
PETSC_INTERN PetscErrorCode HJLogFlops(const HJBackendOps *, PetscLogDouble);

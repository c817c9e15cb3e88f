/*
   The part of the backend table that works between two grids of a hierarchy, and that of its set-up.
*/
#pragma once

#include "hjcore.h"

typedef struct _n_HJTransferProduct HJTransferProduct; /* hjtransfer.h */
typedef struct _n_HJGalerkin        HJGalerkin;        /* hjgalerkin.h */
typedef struct _n_HJMeasure         HJMeasure;         /* hjmeasure.h */
typedef struct _n_HJRestriction     HJRestriction;     /* hjrestriction.h */

/* All arrays lie in the backend's memory; on a device all runs on PETSc's current stream */
struct _n_HJMultigridOps {
  PetscErrorCode (*interpolate)(const HJTransferProduct *);
  PetscErrorCode (*interpolate_transpose)(const HJTransferProduct *);
  PetscErrorCode (*galerkin)(const HJGalerkin *);
  PetscErrorCode (*measure)(HJMeasure *); /* fills its sums; waits for a device */
  /* Set-up only: memory for a moment, zeroed or not initialised. What is given back may serve what is started afterwards */
  PetscErrorCode (*scratch)(PetscCount, PetscBool zero, PetscScalar **);
  PetscErrorCode (*unscratch)(PetscScalar **);
  /* Set-up only: absolute() without skew that does not wait. The largest y / x goes to a place in the backend's memory, where it is larger
     than what is there, which is 0 or more */
  PetscErrorCode (*absolute_later)(void *, PetscInt, const HJSweep[], PetscReal *);
  /* A few numbers of the backend's memory to the host, when all that was started before is done */
  PetscErrorCode (*read)(PetscReal *to, const PetscReal *from, PetscCount);
  PetscErrorCode (*restrict_residual)(const HJRestriction *);
};

/* A DMDA of N points cut into ranks like another one, of these widths: dof 1, periodic where the other is, else without boundary */
PETSC_INTERN PetscErrorCode HJGridCreateDM(DM like, const PetscInt N[3], const PetscInt *const widths[3], DMDAStencilType, PetscInt width,
                                           DM *);

/*
   The part of the backend table that works between two grids of a hierarchy.
*/
#pragma once

#include "hjcore.h"

typedef struct _n_HJTransferProduct HJTransferProduct; /* hjtransfer.h */
typedef struct _n_HJGalerkin        HJGalerkin;        /* hjgalerkin.h */
typedef struct _n_HJMeasure         HJMeasure;         /* hjmeasure.h */

/* All arrays lie in the backend's memory; on a device all runs on PETSc's current stream */
struct _n_HJMultigridOps {
  PetscErrorCode (*interpolate)(const HJTransferProduct *);
  PetscErrorCode (*interpolate_transpose)(const HJTransferProduct *);
  PetscErrorCode (*galerkin)(const HJGalerkin *);
  PetscErrorCode (*measure)(HJMeasure *); /* fills its sums; waits for a device */
};

/* A DMDA of N points cut into ranks like another one, of these widths: dof 1, periodic where the other is, else without boundary */
PETSC_INTERN PetscErrorCode HJGridCreateDM(DM like, const PetscInt N[3], const PetscInt *const widths[3], DMDAStencilType, PetscInt width,
                                           DM *);

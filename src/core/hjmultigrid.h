/*
   The part of the backend table that works between two grids of a hierarchy.
*/
#pragma once

#include "hjcore.h"

typedef struct _n_HJTransferProduct HJTransferProduct; /* hjtransfer.h */
typedef struct _n_HJGalerkin        HJGalerkin;        /* hjgalerkin.h */
typedef struct _n_HJRestriction     HJRestriction;     /* hjrestriction.h */

/* All arrays lie in the backend's memory; on a device all runs on PETSc's current stream */
struct _n_HJMultigridOps {
  PetscErrorCode (*interpolate)(const HJTransferProduct *);
  PetscErrorCode (*interpolate_transpose)(const HJTransferProduct *);
  PetscErrorCode (*galerkin)(const HJGalerkin *);
  PetscErrorCode (*restrict_residual)(const HJRestriction *);
};

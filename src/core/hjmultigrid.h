/*
   The part of the backend table that works between two grids of a hierarchy.
*/
#pragma once

#include "hjcore.h"

typedef struct _n_HJTransferProduct HJTransferProduct; /* hjtransfer.h */
typedef struct _n_HJGalerkin        HJGalerkin;        /* hjgalerkin.h */
typedef struct _n_HJWeightsFill     HJWeightsFill;     /* hjweights.h */

/* All arrays lie in the backend's memory; on a device all runs on PETSc's current stream */
struct _n_HJMultigridOps {
  PetscErrorCode (*interpolate)(const HJTransferProduct *);
  PetscErrorCode (*interpolate_transpose)(const HJTransferProduct *);
  PetscErrorCode (*galerkin)(const HJGalerkin *);
  /* The same with weights of their own at every point, and these weights. The last three: in set-up alone; weights waits for a device */
  PetscErrorCode (*interpolate_weighted)(const HJTransferProduct *);
  PetscErrorCode (*interpolate_transpose_weighted)(const HJTransferProduct *);
  PetscErrorCode (*galerkin_weighted)(const HJGalerkin *);
  PetscErrorCode (*couplings)(const HJWeightsFill *);
  PetscErrorCode (*weights)(const HJWeightsFill *);
};

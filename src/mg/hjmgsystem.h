/* SPDX-License-Identifier: BSD-2-Clause */
/* The cycle of one rank on a GPU for a matrix with several unknowns a point: see hjmgsystemcycle.c */
#pragma once

#include "hjmg.h"
#include "operator/hjvectors.h"

typedef struct _n_HJMGSystemCycle *HJMGSystemCycle;

/* Of a PCMG that is set up, finest level first: matrices, and interpolations, but for the coarsest. NULL: PCMG's own cycle is to be done */
PETSC_INTERN PetscErrorCode HJMGSystemCycleCreate(const HJBackendOps *, PC mg, PetscInt nlevels, const Mat A[], const Mat P[],
                                                  HJMGSystemCycle *);
/* Arrays that cycles read are others from now on; record: cycles are recorded, where that can be */
PETSC_INTERN PetscErrorCode HJMGSystemCycleRenew(HJMGSystemCycle, PetscBool record);
PETSC_INTERN PetscErrorCode HJMGSystemCycleApply(HJMGSystemCycle, Vec b, Vec x);
PETSC_INTERN const char    *HJMGSystemCycleNotRecorded(const HJMGSystemCycle);
PETSC_INTERN PetscErrorCode HJMGSystemCycleDestroy(HJMGSystemCycle *);

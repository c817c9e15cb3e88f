/* SPDX-License-Identifier: BSD-2-Clause */
/* Components that are not coupled to one another: see hjcomponents.c */
#pragma once

#include "hjmg.h"

typedef struct _n_HJMGComponents *HJMGComponents;

/* Whether no component of a stencil matrix is coupled to another. The same on all ranks */
PETSC_INTERN PetscErrorCode HJMGComponentsAreAlone(Mat, PetscBool *are);
/* Collective. Of a stencil matrix on a DMDA; they are then to be set up. New values: *kept is false where other components share them */
PETSC_INTERN PetscErrorCode HJMGComponentsCreate(PC, DM, Mat, HJMGComponents *);
PETSC_INTERN PetscErrorCode HJMGComponentsRefresh(PC, HJMGComponents, Mat, PetscBool *kept);
PETSC_INTERN PetscErrorCode HJMGComponentsSetUp(HJMGComponents, PCFailedReason *);
/* x = a cycle for b; or its cycles from what x holds, or from zero */
PETSC_INTERN PetscErrorCode HJMGComponentsApply(HJMGComponents, PetscBool transposed, Vec b, Vec x);
PETSC_INTERN PetscErrorCode HJMGComponentsAdvance(HJMGComponents, Vec b, Vec x, PetscInt its, PetscBool zero);
/* Whether all have rotated cycles on vectors of the whole grid; such cycles, as HJMGSystemSolve() says */
PETSC_INTERN PetscBool      HJMGComponentsRotate(const HJMGComponents);
PETSC_INTERN PetscErrorCode HJMGComponentsSolve(HJMGComponents, KSP, Vec b, Vec x, PetscInt its, PetscBool zero, PetscInt *it);
/* Before a solve, and after it */
PETSC_INTERN PetscErrorCode HJMGComponentsPreSolve(HJMGComponents, KSP, PetscBool post);
PETSC_INTERN PetscInt       HJMGComponentsLevels(const HJMGComponents);
PETSC_INTERN PetscErrorCode HJMGComponentsView(const HJMGComponents, PetscViewer);
PETSC_INTERN PetscErrorCode HJMGComponentsDestroy(HJMGComponents *);

/* SPDX-License-Identifier: BSD-2-Clause */
/* What a reader does where points have several unknowns, see HJRowReader. Waits for the device */
#pragma once

#include "core/hjreader.h"

PETSC_INTERN PetscErrorCode HJSystemScan_CUDA(const HJCoefficients *, const HJGrid *, PetscInt max, HJSystemRows *);
PETSC_INTERN PetscErrorCode HJSystemNumber_CUDA(const HJSystemRows *, const HJGrid *, const HJBox *, const unsigned char map[],
                                                unsigned char *index);
PETSC_INTERN PetscErrorCode HJSystemFree_CUDA(HJSystemRows *);
/* HJArrayOps' few() */
PETSC_INTERN PetscErrorCode HJSystemFew_CUDA(const HJCoefficients *, const HJGrid *, HJFewRows *);
PETSC_INTERN PetscErrorCode HJSystemFill_CUDA(const HJCoefficients *, const HJGrid *, const HJStencil *, PetscCount *singular,
                                              PetscReal *gershgorin);

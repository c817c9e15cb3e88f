/* SPDX-License-Identifier: BSD-2-Clause */
/* See HJSingleOps, the table of a device. The header is plain C */
#pragma once

#include "core/hjsingle.h"

PETSC_INTERN const HJSingleOps HJSingleCUDA;

PETSC_INTERN PetscBool      HJAdvances_CUDA(const HJCoefficients *, const HJGrid *);
PETSC_INTERN PetscErrorCode HJAdvance_CUDA(const HJAdvance *);

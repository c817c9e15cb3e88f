/* SPDX-License-Identifier: BSD-2-Clause */
/* See HJSingleOps. The header is plain C */
#pragma once

#include "core/hjsingle.h"

PETSC_INTERN PetscBool      HJAdvances_CUDA(const HJCoefficients *, const HJGrid *);
PETSC_INTERN PetscErrorCode HJAdvance_CUDA(const HJAdvance *);

/* SPDX-License-Identifier: BSD-2-Clause */
/* The backend's measure(), for its table */
#pragma once

#include "core/hjmeasure.h"

PETSC_INTERN PetscErrorCode HJMeasure_CUDA(HJMeasure *);

/* SPDX-License-Identifier: BSD-2-Clause */
/* The backend's galerkin(), for its table */
#pragma once

#include "core/hjgalerkin.h"

PETSC_INTERN PetscErrorCode HJGalerkin_CUDA(const HJGalerkin *);

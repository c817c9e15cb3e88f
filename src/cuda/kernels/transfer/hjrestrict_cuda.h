/* SPDX-License-Identifier: BSD-2-Clause */
/* Residual and restriction in one pass on arrays in device memory, for the backend's table. On PETSc's current stream, no wait */
#pragma once

#include "core/hjrestriction.h"

/* Whether a product and a restriction take less time */
PetscBool HJRestrictsApart_CUDA(const HJCoefficients *);

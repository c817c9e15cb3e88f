/* SPDX-License-Identifier: BSD-2-Clause */
/* The GPU as a device for slabs. The header is plain C */
#pragma once

#include "core/hjslabops.h"

PETSC_INTERN const HJSlabOps HJSlabsCUDA;

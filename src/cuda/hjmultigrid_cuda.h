/* The GPU's part of what works between two grids of a hierarchy. The header is plain C */
#pragma once

#include "../core/hjmultigrid.h"

PETSC_INTERN const HJMultigridOps HJMultigridCUDA;

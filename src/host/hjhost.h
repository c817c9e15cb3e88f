/* CPU backend: the truth that the GPU is compared with */
#pragma once

#include "core/hjarrays.h"

PETSC_INTERN const HJBackendOps HJBackendHost;
PETSC_INTERN const HJArrayOps   HJArraysHost;

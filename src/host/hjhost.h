/* CPU backend: the truth that the GPU is compared with */
#pragma once

#include "../core/hjcore.h"

PETSC_INTERN const HJBackendOps HJBackendHost;

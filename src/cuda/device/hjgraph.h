/* SPDX-License-Identifier: BSD-2-Clause */
/* Launches recorded as graphs, see HJMultigridOps */
#pragma once

#include "core/hjmultigrid.h"
#include <cuda_runtime_api.h>

PetscErrorCode HJCaptureBegin_CUDA(HJGraph *);
PetscErrorCode HJCaptureEnd_CUDA(HJGraph *, PetscBool ok, PetscBool *again, const char **why);
PetscErrorCode HJGraphReplay_CUDA(HJGraph);
PetscErrorCode HJGraphDestroy_CUDA(HJGraph *);
/* A launch has a number that the next run must not have again: where it is recorded, two graphs take turns */
PETSC_INTERN void HJCaptureCounts(void);

/* SPDX-License-Identifier: BSD-2-Clause */
/* Of a dictionary: which points have one row (hjlayers.cu) */
#pragma once

#include <petscsys.h>

/* Of an index of n points in each direction: the row of the one in the middle, and how many outermost layers have points with another one.
   Waits for the device */
PETSC_INTERN PetscErrorCode HJLayersFind_CUDA(const unsigned char *index, const int n[3], int *layers, int *row);

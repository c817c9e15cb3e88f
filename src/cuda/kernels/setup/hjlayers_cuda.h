/* SPDX-License-Identifier: BSD-2-Clause */
/* Of a dictionary: which points have one row (hjlayers.cu) */
#pragma once

#include "core/hjcoefficients.h"

/* Of an index of n points in each direction: the row of the one in the middle, and how many outermost layers have points with another one.
   Waits for the device */
PETSC_INTERN PetscErrorCode HJLayersFind_CUDA(const unsigned char *index, const int n[3], int *layers, int *row);

/* The same of coefficients, layers at least 1, and whether the other rows are those of walls. Waits for the device */
PETSC_INTERN PetscErrorCode HJFrameFind_CUDA(const HJCoefficients *c, const HJGrid *grid, HJFrame *frame);

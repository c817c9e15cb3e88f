/* SPDX-License-Identifier: BSD-2-Clause */
/* Dictionaries of 2D stars whose points inside have one row, those on each side another one, and each corner its own */
#pragma once

#include "cuda/kernels/hjkernel.h"

/* What a launch finds: points whose row is not that of their class, and the rows of the classes, as HJFrame2D's */
typedef struct {
  int           bad;
  unsigned char row[9];
} HJFrame2DFound;

/* Looks, where there may be a frame of more than one row; *found in device memory is 0 */
PetscErrorCode HJFrame2DLook(const HJ_CUDA *, cudaStream_t, HJFrame2DFound *found);
/* Sets st.frame and, where there is one, frame; found: on the host, 0 where nothing was looked for. After main_row */
void HJFrame2DTake(HJ_CUDA *, const HJFrame2DFound *found);

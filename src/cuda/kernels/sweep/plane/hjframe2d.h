/* SPDX-License-Identifier: BSD-2-Clause */
/* Dictionaries of 2D stars whose points inside have one row, those on each side another one, and each corner its own */
#pragma once

#include "cuda/kernels/hjkernel.h"

/* Set-up only, after main_row: waits. Sets st.frame and, where there is one, frame */
PetscErrorCode HJFrame2DFind(HJ_CUDA *, cudaStream_t);

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What kernels on coefficients as a matrix has them share: the slots of a stencil, and the choice of an instance by dimension and shape.
*/
#pragma once

#include "cuda/kernels/hjkernel.h"

/* Offset of a slot in direction d */
__host__ __device__ constexpr int HJDSlotOffset(int dim, bool box, int slot, int d)
{
  return (int)HJShapeStep(dim, box ? HJ_BOX : HJ_STAR, slot, d);
}

/* Slot of an offset, -1: the shape has none */
__host__ __device__ constexpr int HJDSlot(int dim, bool box, int dx, int dy, int dz)
{
  return (dim < 2 && dy) || (dim < 3 && dz) ? -1 : (int)HJShapeSlot(dim, box ? HJ_BOX : HJ_STAR, dx, dy, dz);
}

/* Calls LAUNCH(dim, box) with compile-time constants for coefficients *a; HJDDispatch() is for a stencil and its storage */
#define HJDDispatchShape(a, LAUNCH)                                                                                                        \
  do {                                                                                                                                     \
    if ((a)->dim == 1) LAUNCH(1, false);                                                                                                   \
    else if ((a)->dim == 2 && (a)->shape == HJ_STAR) LAUNCH(2, false);                                                                     \
    else if ((a)->dim == 2) LAUNCH(2, true);                                                                                               \
    else if ((a)->shape == HJ_STAR) LAUNCH(3, false);                                                                                      \
    else LAUNCH(3, true);                                                                                                                  \
  } while (0)

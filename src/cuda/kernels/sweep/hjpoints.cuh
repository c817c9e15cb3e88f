/*
   What kernels on coefficients as a matrix has them share: the slots of a stencil, and the choice of an instance by dimension and shape.
*/
#pragma once

#include "cuda/kernels/hjkernel.h"

/* Offset of a slot in direction d */
__host__ __device__ constexpr int HJDSlotOffset(int dim, bool box, int slot, int d)
{
  return slot ? HJDOffset(dim, box, slot - 1, d) : 0;
}

/* Slot of an offset, -1: the shape has none */
__host__ __device__ constexpr int HJDSlot(int dim, bool box, int dx, int dy, int dz)
{
  for (int s = 0; s <= HJDNeighbors(dim, box); s++)
    if (HJDSlotOffset(dim, box, s, 0) == dx && HJDSlotOffset(dim, box, s, 1) == dy && HJDSlotOffset(dim, box, s, 2) == dz) return s;
  return -1;
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

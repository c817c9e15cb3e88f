/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The one numbering of a row's entries. A slot is an entry of the row of a point: slot 0 is the point's own, the others lead to neighbours.
   A star has -x +x -y +y -z +z from 1 on; a box has all 3^dim - 1 neighbours from 1 on, x fastest, z slowest. Decides nothing.
*/
#pragma once

#include <petscsys.h>

/* A function that nvcc compiles for the host and the device, and one that it can call for constants too */
#if defined(__CUDACC__)
  #define HJ_HOST_DEVICE __host__ __device__
  #define HJ_CONSTANT    constexpr HJ_HOST_DEVICE
#else
  #define HJ_HOST_DEVICE
  #define HJ_CONSTANT static inline
#endif

typedef enum { HJ_STAR, HJ_BOX } HJShape; /* 1D: HJ_STAR, whose slots are a box's as well */

#define HJ_MAX_SLOTS     27
#define HJ_MAX_NEIGHBORS (HJ_MAX_SLOTS - 1)

HJ_CONSTANT PetscInt HJShapeSlots(PetscInt dim, HJShape shape)
{
  return shape == HJ_STAR ? 1 + 2 * dim : dim == 3 ? 27 : dim == 2 ? 9 : 3;
}

/* Points, -1, 0 or 1, that a slot leads away in direction d */
HJ_CONSTANT PetscInt HJShapeStep(PetscInt dim, HJShape shape, PetscInt slot, int d)
{
  const PetscInt half = dim == 3 ? 13 : dim == 2 ? 4 : 1, place = !slot ? half : slot - (slot <= half); /* the centre's is half */

  if (shape == HJ_STAR) return !slot || (slot - 1) / 2 != d ? 0 : slot % 2 ? -1 : 1;
  return d == 0 ? place % 3 - 1 : d == 1 ? (dim > 1 ? place / 3 % 3 - 1 : 0) : (dim > 2 ? place / 9 - 1 : 0);
}

static inline HJ_HOST_DEVICE void HJShapeOffset(PetscInt dim, HJShape shape, PetscInt slot, PetscInt off[3])
{
  for (int d = 0; d < 3; d++) off[d] = HJShapeStep(dim, shape, slot, d);
}

/* The slot that leads x, y, z points away, each -1, 0 or 1; what is said of directions that the grid has not is
   not looked at. -1: a star has no such slot */
HJ_CONSTANT PetscInt HJShapeSlot(PetscInt dim, HJShape shape, PetscInt x, PetscInt y, PetscInt z)
{
  const PetscInt place = x + (dim > 1 ? 3 * y : 0) + (dim > 2 ? 9 * z : 0); /* from the centre's on */

  if (shape == HJ_BOX) return !place ? 0 : place + (dim == 3 ? 13 : dim == 2 ? 4 : 1) + (place < 0);
  return !place ? 0 : place == -1 ? 1 : place == 1 ? 2 : place == -3 ? 3 : place == 3 ? 4 : place == -9 ? 5 : place == 9 ? 6 : -1;
}

/* The slot of a box that leads where a slot of a shape does */
HJ_CONSTANT PetscInt HJShapeBoxSlot(PetscInt dim, HJShape shape, PetscInt slot)
{
  return HJShapeSlot(dim, HJ_BOX, HJShapeStep(dim, shape, slot, 0), HJShapeStep(dim, shape, slot, 1), HJShapeStep(dim, shape, slot, 2));
}

/* The slot of the opposite offset */
HJ_CONSTANT PetscInt HJShapeOpposite(PetscInt dim, HJShape shape, PetscInt slot)
{
  return !slot ? 0 : shape == HJ_STAR ? 1 + ((slot - 1) ^ 1) : HJShapeSlots(dim, shape) - slot;
}

/* Whether a slot leads to a later point */
HJ_CONSTANT PetscBool HJShapeIsUpper(PetscInt dim, HJShape shape, PetscInt slot)
{
  return (PetscBool)(shape == HJ_STAR ? slot > 0 && slot % 2 == 0 : slot > HJShapeSlots(dim, shape) / 2);
}

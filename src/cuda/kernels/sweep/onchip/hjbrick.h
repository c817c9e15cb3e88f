/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Bricks: a 3D grid that lies in the registers and shared memory of all multiprocessors at once (hjbrick.cu).
*/
#pragma once

#include "cuda/kernels/hjkernel.h"

/* A value that one block gives to others, and the number of the exchange that it belongs to */
typedef struct __align__(16)
{
  PetscScalar        value;
  unsigned long long epoch;
}
HJSlot;

/* A 3D sweep cut into bricks, one a block, all on the device at once */
typedef struct {
  HJDBox cover;
  int    own[3], more[3]; /* points of a brick; the first more bricks have one more */
  int    strip, strips;   /* points of a thread in z, threads above each other */
  int    n[3], threads;   /* bricks; threads of a block */
  int    px, plane;       /* doubles of a line and of a plane in shared memory */
  int    buffer;          /* and of a brick with its ring: there are two */
  int    period[3];       /* points of directions that wrap, all of them in the cover; else 0. Of a star */
  bool   frozen;          /* some of the ring is in the domain, but in no brick */
  size_t smem_bytes;
} HJBricks;

/* The main row, and which rows it can stand in for: those without neighbours that have its diagonal, bit by bit */
typedef struct {
  int         main_row;
  unsigned    alone[HJ_MAX_ROWS / 32];
  PetscScalar dinv, row[1 + HJD_MAX_NEIGHBORS];
} HJBrickRows;

void HJBrickRowsSet(const HJ_CUDA *, HJBrickRows *);
/* Fills all below cover for it, for a box or a star; false: not on this device. The slots of a sweep are two arrays of HJBricksSlots() */
bool HJBricksFit(const HJDevice *, bool box, HJBricks *);
/* A constant coefficients' sweep; epoch: larger by count for each one that uses the slots, not 0 */
PetscErrorCode HJBrickRun_CUDA(HJ_CUDA *, cudaStream_t, const HJDSweep *, const HJBricks *, const HJBrickRows *, int count,
                               const PetscReal *w, HJSlot *, unsigned long long epoch);

static inline long long HJBricksSlots(const HJBricks *lay)
{
  return (long long)HJDWidth(lay->cover, 0) * HJDWidth(lay->cover, 1) * HJDWidth(lay->cover, 2);
}

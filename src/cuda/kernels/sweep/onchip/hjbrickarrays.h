/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Bricks of a box's coefficient arrays: hjbrickarrays.cu.
*/
#pragma once

#include "hjbrick.h"

/* Fills all below cover for it; false: not on this device, or too many points */
bool HJBrickArraysFit(const HJDevice *, HJBricks *);
/* A sweep without ghosts, copies, or points that wrap. Slots and epoch are HJBrickRun_CUDA()'s */
PetscErrorCode HJBrickArraysRun_CUDA(const HJ_CUDA *, cudaStream_t, const HJDSweep *, const HJBricks *, int count, const PetscReal *w,
                                     HJSlot *, unsigned long long epoch);

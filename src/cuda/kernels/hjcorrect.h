/* 2D sweeps that begin with x + P c, P bilinear interpolation from a grid of half as many intervals, or restrict the residual of their
   result to it (hjstream2d.cu) */
#pragma once

#include "hjkernel.h"
#include "../../core/hjmultigrid.h"

/* Whether a sweep of so many subiterations can, on all points of a domain without neighbours */
bool HJStream2DCorrects(HJ_CUDA *, int count);
bool HJStream2DRestricts(HJ_CUDA *, int count);
/* Set for the next sweep of the family that it returns */
const HJFamily *HJStream2DSetCoarser(const HJCoarser *);

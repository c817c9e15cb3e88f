/* 2D sweeps that begin with x + P c, P bilinear interpolation from a grid of half as many intervals (hjstream2d.cu) */
#pragma once

#include "hjkernel.h"

/* Whether a sweep of so many subiterations can, on all points of a domain without neighbours */
bool HJStream2DCorrects(const HJ_CUDA *, int count);
/* Sets c, of n points, for the next sweep of the family that it returns */
const HJFamily *HJStream2DSetCorrection(const double *c, const int n[2]);

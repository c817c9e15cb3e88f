/* 2D sweeps that begin with x + P c, P bilinear interpolation from a grid of half as many intervals, or restrict the residual of their
   result to it (hjstream2d.cu); 3D sweeps from a zero guess that leave their residual (hjstream3d.cu) */
#pragma once

#include "cuda/kernels/hjkernel.h"
#include "core/hjmultigrid.h"

/* Whether a sweep of so many subiterations can, on all points of a domain without neighbours */
bool HJStream2DCorrects(HJ_CUDA *, int count);
bool HJStream2DRestricts(HJ_CUDA *, int count);
bool HJStream3DLeavesResidual(HJ_CUDA *, int count);

/* The same of small grids, see hjpatch2d.cu: whether it takes a sweep with a correction, from x to another array, or one with a
   restriction */
bool HJPatch2DTakes(HJ_CUDA *, int count, bool restricts);
/* Whether it takes these sweeps, which are those of exact ones alone */
bool                  HJPatch2DSweeps(HJ_CUDA *, PetscInt nsweeps, const HJSweep *);
extern const HJFamily HJFamilyPatch2D;

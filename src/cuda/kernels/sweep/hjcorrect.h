/* 2D sweeps that begin with x + P c, P bilinear interpolation from a grid of half as many intervals, or restrict the residual of their
   result to it (hjstream2d.cu); 3D sweeps from a zero guess that leave their residual (hjstream3d.cu) */
#pragma once

#include "cuda/kernels/hjkernel.h"
#include "core/hjmultigrid.h"

/* Whether a sweep of so many subiterations can, on all points of a domain without neighbours */
bool HJStream2DCorrects(HJ_CUDA *, int count);
bool HJStream2DRestricts(HJ_CUDA *, int count);
/* Set for the next sweep of the family that it returns */
const HJFamily *HJStream2DSetCoarser(const HJCoarser *);
/* Most subiterations of a sweep from a zero guess where they are more than from another one, else 0 */
int             HJStream3DMostFromZero(HJ_CUDA *);
bool            HJStream3DLeavesResidual(HJ_CUDA *, int count);
const HJFamily *HJStream3DSetResidual(double *);

/* The same of small grids, see hjpatch2d.cu: whether it takes a sweep with a correction, from x to another array, or one with a
   restriction */
bool HJPatch2DTakes(HJ_CUDA *, int count, bool restricts);
/* coarser NULL: neither */
PetscErrorCode HJPatch2DRun(HJ_CUDA *, cudaStream_t, const HJDSweep *, int count, const double *w, const HJCoarser *coarser);
/* Whether it takes these sweeps, which are those of exact ones alone */
bool                  HJPatch2DSweeps(HJ_CUDA *, PetscInt nsweeps, const HJSweep *);
extern const HJFamily HJFamilyPatch2D;

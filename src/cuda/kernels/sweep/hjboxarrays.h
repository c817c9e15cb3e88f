/*
   Sweeps with 27 arrays of coefficients: of one subiteration, those that are no others', and products (hjboxarrays.cu); of two
   (hjstream3d_pairs.cu).
*/
#pragma once

#include "cuda/kernels/hjkernel.h"
#include "core/hjcoefficients.h"

bool           HJBoxArraysTakes(const HJ_CUDA *, int nsweeps, const HJDSweep *);
PetscErrorCode HJBoxArraysLaunch(const HJ_CUDA *, cudaStream_t, const HJDSweep *, double w);
/* Whether it does a product, and that */
bool           HJBoxArraysMultiplies(const HJProduct *);
PetscErrorCode HJBoxArraysMultiply(const HJProduct *, cudaStream_t);

extern const HJFamily HJFamilyStream3DPairs;

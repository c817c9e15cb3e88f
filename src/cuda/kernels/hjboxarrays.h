/*
   Sweeps with 27 arrays of coefficients: of one subiteration, those that are no others' (hjboxarrays.cu); of two
   (hjstream3d_pairs.cu).
*/
#pragma once

#include "hjkernel.h"

bool           HJBoxArraysTakes(const HJ_CUDA *, int nsweeps, const HJDSweep *);
PetscErrorCode HJBoxArraysLaunch(const HJ_CUDA *, cudaStream_t, const HJDSweep *, double w);

extern const HJFamily HJFamilyStream3DPairs;

/* A subiteration with 27 arrays of coefficients, for sweeps that are no others' */
#pragma once

#include "hjkernel.h"

bool           HJBoxArraysTakes(const HJ_CUDA *, int nsweeps, const HJDSweep *);
PetscErrorCode HJBoxArraysLaunch(const HJ_CUDA *, cudaStream_t, const HJDSweep *, double w);

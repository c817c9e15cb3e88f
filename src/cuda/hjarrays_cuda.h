/* Distinct rows of coefficients in device memory, found by what reads the rows of matrices there (hjextract.cu), see HJArrayOps */
#pragma once

#include "../core/hjarrays.h"

PETSC_INTERN PetscErrorCode HJArraysScan_CUDA(const HJCoefficients *, const HJGrid *, PetscInt max, PetscInt *n, HJDistinctRow[],
                                              void **ids);
PETSC_INTERN PetscErrorCode HJArraysNumber_CUDA(PetscCount, void **ids, PetscInt n, const unsigned char map[], unsigned char *index);

/* SPDX-License-Identifier: BSD-2-Clause */
/* What HJArrayOps of device memory takes from other files */
#pragma once

#include "core/hjarrays.h"

/*
   Between the host and the device in any direction, or inside (hjcuda.cu). ctx: the backend's of an operator, whose pinned buffers make
   large copies fast, or NULL
*/
PETSC_INTERN PetscErrorCode HJCopyBytes_CUDA(void *ctx, void *to, const void *from, size_t bytes);
/* Distinct rows, found by what reads the rows of matrices (hjextract.cu) */
PETSC_INTERN PetscErrorCode HJArraysScan_CUDA(const HJCoefficients *, const HJGrid *, PetscInt *n, HJDistinctRow **, void **ids);
PETSC_INTERN PetscErrorCode HJArraysNumber_CUDA(PetscCount, void **ids, PetscInt n, const unsigned char map[], unsigned char *index);
/* Entries of COO lists (hjcoo.cu) */
PETSC_INTERN PetscErrorCode HJArraysPut_CUDA(const HJCOOList *, const PetscScalar *entries, PetscBool add, PetscScalar *value);
PETSC_INTERN PetscErrorCode HJArraysFind_CUDA(const HJCOOGrid *, PetscCount, const PetscInt i[], const PetscInt j[], PetscInt which[],
                                              PetscInt max, PetscInt others[], PetscInt *nothers, PetscBool *twice);
PETSC_INTERN PetscErrorCode HJArraysFindMore_CUDA(PetscInt, const PetscCount turn[], const PetscInt entry[], PetscInt which[],
                                                  PetscBool *twice);

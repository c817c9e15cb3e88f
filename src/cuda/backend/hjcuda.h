/* SPDX-License-Identifier: BSD-2-Clause */
/*
   GPU backend. The header is plain C: CUDA stays inside this room

   hjtable.cu has the ordered table that chooses the kernels of sweeps, products and transfers; tests/test_table.c asserts it for five GPUs.
   hjslab.cu sweeps slabs. hjextract.cu reads the rows of a matrix that lies on the GPU (what they mean is decided in stencil/), hjarrays.cu
   works on the arrays of a stencil matrix, hjcoo.cu fills them by COO.
*/
#pragma once

#include "core/hjarrays.h"
#include "core/hjmultigrid.h"
#include "cuda/exchange/hjexchange.h"
#include "cuda/device/hjdevice.h"

/* What cycles need is built a second time for float (CUDA_TWICE of the makefile), and this table alone is seen of it */
#if defined(HJ_FLOAT)
  #define HJBackendCUDA HJBackendCUDASingle
#endif
PETSC_INTERN const HJBackendOps HJBackendCUDA, HJBackendCUDASingle;
/* There only with a PETSc that has CUDA, and 32-bit indices */
PETSC_INTERN const HJArrayOps HJArraysCUDA;
/* Whether a device and its driver are there at run time; never an error */
PETSC_INTERN PetscErrorCode HJCUDAAvailable(PetscBool *);
/*
   Who reads the matrix's rows in device memory; NULL where they are not there (type, bound to the CPU, a PETSc without CUDA). The same
   on all ranks
*/
PETSC_INTERN PetscErrorCode HJCUDAGetReader(Mat, const HJRowReader **);

/*
   What the backend would say of an operator on such a device: pure arithmetic, which looks at the stencil's shape, storage and number
   of rows alone
*/
PETSC_INTERN PetscErrorCode HJCUDAPredict(const HJDevice *, const HJGrid *, const HJStencil *, HJLimits *);
/* The family of kernels that takes sweeps of a kind, of so many subiterations, or, of HJ_STALE, with such tiles. NULL: none does */
PETSC_INTERN const char *HJCUDAPredictKernels(const HJDevice *, const HJGrid *, const HJStencil *, HJKind, PetscInt count,
                                              const PetscInt tile[3]);
/* The same of other kinds, and the one of these that is meant */
PETSC_INTERN const char *HJCUDAPredictOther(const HJDevice *, HJKind, const HJProduct *, const HJTransferProduct *, const HJRestriction *);

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Differences between PETSc 3.18 and 3.26, and between its precisions, and what this library refuses to be built with. Nothing else tests
   the version.
*/
#pragma once

#include <petscsys.h>
#include <stdint.h>

#if PETSC_VERSION_LT(3, 18, 0)
  #error "hjacobi needs PETSc 3.18 or later"
#endif
#if defined(PETSC_USE_COMPLEX)
  #error "hjacobi supports real scalars only: choose a PETSc configured without --with-scalar-type=complex"
#endif
#if !defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_REAL_SINGLE)
  #error "hjacobi supports double and single precision only: choose a PETSc configured with --with-precision=double"
#endif

/* A limit that rounding or the range of numbers sets: the one for a PETSc in double precision, the one in single */
#if PetscDefined(USE_REAL_SINGLE)
  #define HJ_BY_PRECISION(in_double, in_single) (in_single)
#else
  #define HJ_BY_PRECISION(in_double, in_single) (in_double)
#endif

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS ((PetscErrorCode)0)
#endif
#if PETSC_VERSION_LT(3, 20, 0)
typedef ptrdiff_t PetscCount;
  #define PetscAssertPointer PetscValidPointer
#endif
#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_INT_MAX PETSC_MAX_INT
#endif
#define HJ_COUNT_MAX PTRDIFF_MAX /* of PetscCount, which has no such name before 3.22 */

/* PetscOptionItems is a pointer from 3.23 on */
#if PETSC_VERSION_LT(3, 23, 0)
typedef PetscOptionItems *HJOptionItems;
#else
typedef PetscOptionItems HJOptionItems;
#endif

/* PCSetDiagonalScale() is no more from 3.26 on */
#define HJ_PC_MAY_SCALE PETSC_VERSION_LT(3, 26, 0)

/* The orthogonalization of GMRES is that of all KSPs from 3.26 on */
#if PETSC_VERSION_LT(3, 26, 0)
  #define KSPOrthogonalizationSet                 KSPGMRESSetOrthogonalization
  #define KSPOrthogonalizationModifiedGramSchmidt KSPGMRESModifiedGramSchmidtOrthogonalization
#endif

/* Whether a KSP may stop at negative curvature, as from 3.19 on it may */
#if PETSC_VERSION_LT(3, 19, 0)
  #define HJ_KSP_STOPS_AT_CURVATURE(ksp) PETSC_FALSE
#else
  #define HJ_KSP_STOPS_AT_CURVATURE(ksp) (ksp)->converged_neg_curve
#endif

/* Numbers of ranks in PetscSFGetRootRanks() and PetscSFGetLeafRanks() */
#if PETSC_VERSION_LT(3, 22, 0)
typedef PetscInt HJSFCount;
#else
typedef PetscMPIInt      HJSFCount;
#endif

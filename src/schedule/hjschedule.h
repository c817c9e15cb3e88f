/* SPDX-License-Identifier: BSD-2-Clause */
/*
   k, kind of polynomial and eigenvalue bounds of D^-1 A -> the weights w_1 ... w_k of a cycle. Knows no grid, no backend.

   A new polynomial goes into hjschedule.c, with its name in include/pchjacobi.h and its proof in tests/test_schedule.c.
*/
#pragma once

#include "core/hjcore.h"
#include "pchjacobi.h"

#define HJ_MAX_K               1024
#define HJ_MAX_OPT_CHEBYSHEV4K 16

/* The same on all ranks of the communicator, errors too. Weights w[0 .. k-1] of a schedule other than custom: reciprocal roots in Leja
   order. emin is used by chebyshev alone, omega by jacobi alone */
PETSC_INTERN PetscErrorCode HJScheduleFill(MPI_Comm, PCHJacobiSchedule kind, PetscInt k, PetscReal emin, PetscReal emax, PetscReal omega,
                                           PetscReal w[]);
/* Largest value of the first-kind polynomial of degree k on [emin, emax], and the least k for which it is at most reduction (0 <
   reduction < 1) */
PETSC_INTERN PetscReal HJScheduleReduction(PetscInt k, PetscReal emin, PetscReal emax);
PETSC_INTERN PetscReal HJScheduleLeastK(PetscReal reduction, PetscReal emin, PetscReal emax);
/* The same where eigenvalues lie in a disc around 1 with a radius below 1 and weights are 1; where they have imaginary parts up to skew
   besides and the polynomial is that of [1 - radius, 1 + radius]. PETSC_MAX_REAL where none does */
PETSC_INTERN PetscReal HJScheduleDiscK(PetscReal reduction, PetscReal radius);
PETSC_INTERN PetscReal HJScheduleFlatK(PetscReal reduction, PetscReal radius, PetscReal skew);
/* Largest k, 0 to HJ_MAX_K, for which chebyshev4 grows little or nothing where eigenvalues from 0 to emax have imaginary parts up to
   skew */
PETSC_INTERN PetscInt HJScheduleSafeK(PetscReal skew, PetscReal emax);
/* The same of jacobi, whose weights are omega */
PETSC_INTERN PetscInt HJScheduleSafeKJacobi(PetscReal skew, PetscReal emax, PetscReal omega);

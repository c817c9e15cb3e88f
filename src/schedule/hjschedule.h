/*
   k, kind of polynomial and eigenvalue bounds of D^-1 A -> the weights w_1 ... w_k of a cycle. Knows no grid, no backend.
*/
#pragma once

#include "../core/hjcore.h"
#include "../../include/pchjacobi.h"

#define HJ_MAX_K               1024
#define HJ_MAX_OPT_CHEBYSHEV4K 16

/* Weights w[0 .. k-1] of a schedule other than custom: reciprocal roots in Leja order. emin is used by chebyshev alone, omega by jacobi alone */
PETSC_INTERN PetscErrorCode HJScheduleFill(PCHJacobiSchedule kind, PetscInt k, PetscReal emin, PetscReal emax, PetscReal omega, PetscReal w[]);
/* Collective. max over rows of sum_j |a_ij| / |a_ii| (zero diagonal as 1); *known is false where A gives no rows */
PETSC_INTERN PetscErrorCode HJGershgorin(Mat A, PetscBool *known, PetscReal *bound);
/*
   Collective. Estimate of the largest eigenvalue of D^-1 A, made as KSPCHEBYSHEV makes it (GMRES, 10 steps); dinv: inverse diagonal.
   The start vector is a hash of the global index, where dm is a DMDA of A's layout of the natural index, so that the number of ranks
   does not matter. dm may be NULL: then the DM of A, if it has one. Options: prefix (that of the PC, may be NULL) followed by pc_hjacobi_esteig_
*/
PETSC_INTERN PetscErrorCode HJEstimateEmax(Mat A, Vec dinv, DM dm, const char prefix[], PetscReal *emax);

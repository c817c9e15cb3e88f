/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Cycles on a grid that stays in the host's memory, by a device that sees slabs of it. Decides what travels when; heights and thicknesses
   come from plan, sweeps and copies from the device's table.
*/
#pragma once

#include "core/hjslabops.h"
#include "plan/hjslab.h"
#include "operator/hjoperator.h"

/* Why an operator on the host cannot be swept in slabs; empty: it can */
PETSC_INTERN void HJSlabsRefuse(const HJOperator *, char why[], size_t len);
/* Collective. Nine tenths of a rank's share of the memory that its device has now: ranks may have one device together */
PETSC_INTERN PetscErrorCode HJSlabsFreeMemory(MPI_Comm, const HJSlabOps *, size_t *);
/*
   Collective. The operator on the host that slabs are made for: its coefficients reach far enough beyond a rank for visits of height
   subiterations, or, where that is PETSC_DECIDE, of as many as may pay. *op is NULL, and why says so, where the matrix is no stencil
*/
PETSC_INTERN PetscErrorCode HJSlabsCreateOperator(Mat, DM, PetscInt height, HJOperator **op, char why[], size_t len);
/* Bytes that the operator's cycles would need on a device, with x and b on the host: what slabs are for where there are not so many */
PETSC_INTERN size_t HJSlabsInCoreBytes(const HJGrid *, const HJStencil *);
/*
   Collective. Measures the device and makes a plan for at most limit bytes; an error with the least bytes where no slab fits. height:
   subiterations of a visit, PETSC_DECIDE: the model's choice; fewer where coefficients or thin ranks reach less far. The operator is one on
   the host, whose coefficients are read at each run
*/
PETSC_INTERN PetscErrorCode HJSlabsCreate(const HJOperator *, const HJSlabOps *, size_t limit, PCHJacobiSlabType, PetscInt height,
                                          HJSlabs *);
/* After new values in the coefficients, which may have other kernels */
PETSC_INTERN PetscErrorCode HJSlabsRenew(const HJOperator *, HJSlabs *);
/* Called after done subiterations, when they are in x; *stop: the run ends with them */
typedef PetscErrorCode (*HJSlabTest)(void *ctx, PetscCount done, PetscReal norm, PetscBool *stop);
/*
   Tests of a run, after every so many subiterations and after its last. The norm (2 or infinity) is of what the last sweep before has
   changed; with ahead, which is a cycle or 0, of what that cycle would change where HJSlabsCanLookAhead(). Meanwhile the device goes on
*/
typedef struct {
  PetscCount every;
  PetscInt   ahead;
  NormType   type;
  HJSlabTest test;
  void      *ctx;
} HJSlabCheck;
/* Collective. total subiterations on arrays in the host's memory; zero: x is not read. Tests, or NULL, have the norms of all ranks;
   *done: subiterations. No tests where x and b travel from copies */
PETSC_INTERN PetscErrorCode HJSlabsRun(HJSlabs, HJWeights *, PetscCount total, PetscBool zero, const PetscScalar *b, PetscScalar *x,
                                       const HJSlabCheck *, PetscCount *done);
/* Whether a cycle is one sweep, as HJSlabsUpdate() needs it; and one that a visit can look ahead */
PETSC_INTERN PetscBool HJSlabsCanUpdate(const HJSlabs, const HJWeights *);
PETSC_INTERN PetscBool HJSlabsCanLookAhead(const HJSlabs, const HJWeights *);
/* Collective. The norm (2 or infinity) of what the coming cycle would add to x, which stays as it is */
PETSC_INTERN PetscErrorCode HJSlabsUpdate(HJSlabs, HJWeights *, const PetscScalar *b, const PetscScalar *x, NormType, PetscReal *);
/* From now on a device whose memory does not hold the operator runs its cycles, slab by slab; see HJSlabsCreate() */
PETSC_INTERN PetscErrorCode HJOperatorSetSlabs(HJOperator *, const HJSlabOps *, size_t limit, PCHJacobiSlabType, PetscInt height);
/* its cycles of an operator that has slabs, with tests, NULL: without; *done: those that it did */
PETSC_INTERN PetscErrorCode HJOperatorRunSlabs(HJOperator *, HJWeights *, PetscInt its, PetscBool zero, Vec b, Vec x, const HJSlabCheck *,
                                               PetscInt *done);
/* The norm of what the coming cycle would add to x, where HJSlabsCanUpdate() */
PETSC_INTERN PetscErrorCode HJOperatorUpdateNorm(HJOperator *, HJWeights *, Vec b, Vec x, NormType, PetscReal *);
/* From now until HJSlabsRelease() arrays stay pinned from one run to the next: the caller keeps them */
PETSC_INTERN PetscErrorCode HJSlabsKeep(HJSlabs);
PETSC_INTERN PetscErrorCode HJSlabsRelease(HJSlabs);
/* Runs print a line on how far they are, at most every so many seconds; < 0: none, the default */
PETSC_INTERN PetscErrorCode HJSlabsSetProgress(HJSlabs, PetscReal every);
PETSC_INTERN PetscErrorCode HJSlabsDestroy(HJSlabs *);

typedef struct {
  const HJSlabShape *shape;
  const HJSlabPlan  *plan;
  const char        *device, *kernels;
  const HJSlabRates *rates;
  PetscReal          setup; /* seconds that it took to measure and to search */
  size_t             limit;
  PetscCount         points;                       /* of the grid, all ranks */
  PetscInt           depth;                        /* planes of ghosts before a round; 0: there are no neighbours */
  PetscBool          copied;                       /* x and b travel from copies with ghosts */
  PetscCount         subiterations;                /* of all runs so far */
  PetscReal          predicted, measured, pinning; /* seconds of them; of pinning memory, which is not in measured */
} HJSlabsInfo;
PETSC_INTERN void HJSlabsGetInfo(const HJSlabs, HJSlabsInfo *);

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   PCHJACOBI, hierarchical Jacobi on DMDA grids, PCHJMG, multigrid that it smooths, and MATHJSTENCIL, matrices stored as
   their stencil, with their interpolation MATHJTRANSFER: a PETSc plugin. The only public header.
*/
#pragma once

#include <petscpc.h>

/* The makefile takes the version from the string */
#define HJACOBI_VERSION_MAJOR    0
#define HJACOBI_VERSION_MINOR    1
#define HJACOBI_VERSION_SUBMINOR 0
#define HJACOBI_VERSION_STRING   "0.1.0"

#define PCHJACOBI       "hjacobi"
#define PCHJMG          "hjmg"
#define MATHJSTENCIL    "hjstencil"
#define MATHJTRANSFER   "hjtransfer"
#define KSPHJRICHARDSON "hjrichardson"
#define KSPHJCG         "hjcg"

/*E
   PCHJacobiSchedule - polynomial whose reciprocal roots are the weights of a `PCHJACOBI` cycle

   Values:
+  `PC_HJACOBI_SCHEDULE_JACOBI`         - every weight is omega
.  `PC_HJACOBI_SCHEDULE_CHEBYSHEV`      - first kind on [emin, emax]
.  `PC_HJACOBI_SCHEDULE_CHEBYSHEV4`     - fourth kind, emax only (Lottes 2023)
.  `PC_HJACOBI_SCHEDULE_OPT_CHEBYSHEV4` - optimised fourth kind, emax only, k at most 16 (Lottes 2023)
-  `PC_HJACOBI_SCHEDULE_CUSTOM`         - the list given to `PCHJacobiSetWeights()`

   Level: intermediate

.seealso: `PCHJACOBI`, `PCHJacobiSetSchedule()`
E*/
typedef enum {
  PC_HJACOBI_SCHEDULE_JACOBI,
  PC_HJACOBI_SCHEDULE_CHEBYSHEV,
  PC_HJACOBI_SCHEDULE_CHEBYSHEV4,
  PC_HJACOBI_SCHEDULE_OPT_CHEBYSHEV4,
  PC_HJACOBI_SCHEDULE_CUSTOM
} PCHJacobiSchedule;
PETSC_EXTERN const char *const PCHJacobiSchedules[];

/*E
   PCHJacobiBackend - where the cycles of `PCHJACOBI` run

   Values:
+  `PC_HJACOBI_BACKEND_AUTO` - where the data is
.  `PC_HJACOBI_BACKEND_HOST` - the CPU
-  `PC_HJACOBI_BACKEND_CUDA` - the GPU

   Level: intermediate

.seealso: `PCHJACOBI`, `PCHJacobiSetBackend()`
E*/
typedef enum { PC_HJACOBI_BACKEND_AUTO, PC_HJACOBI_BACKEND_HOST, PC_HJACOBI_BACKEND_CUDA } PCHJacobiBackend;
PETSC_EXTERN const char *const PCHJacobiBackends[];

/*E
   PCHJacobiSlabType - how `PCHJACOBI` sweeps a grid that is larger than the memory of the GPU

   Values:
+  `PC_HJACOBI_SLAB_AUTO`    - the type with the least predicted time (the default)
.  `PC_HJACOBI_SLAB_SKEWED`  - slabs that move by a plane with each subiteration; nothing is done twice
-  `PC_HJACOBI_SLAB_PYRAMID` - slabs that overlap and shrink (Kochurov, Vorotnikova and Golovashkin 2015)

   Level: advanced

.seealso: `PCHJACOBI`, `PCHJacobiSetSlabType()`
E*/
typedef enum { PC_HJACOBI_SLAB_AUTO, PC_HJACOBI_SLAB_SKEWED, PC_HJACOBI_SLAB_PYRAMID } PCHJacobiSlabType;
PETSC_EXTERN const char *const PCHJacobiSlabTypes[];

/*E
   PCHJMGCoarseSolve - how `PCHJMG` solves its coarsest grid

   Values:
+  `PC_HJMG_COARSE_SOLVE_AUTO`    - by the inverse on a GPU, by sweeps on the CPU
.  `PC_HJMG_COARSE_SOLVE_SWEEPS`  - by as many sweeps as leave a hundredth of the error
-  `PC_HJMG_COARSE_SOLVE_INVERSE` - by the inverse of its matrix, where that is small and on one rank

   Level: advanced

.seealso: `PCHJMG`, `PCHJMGSetCoarseSolve()`
E*/
typedef enum { PC_HJMG_COARSE_SOLVE_AUTO, PC_HJMG_COARSE_SOLVE_SWEEPS, PC_HJMG_COARSE_SOLVE_INVERSE } PCHJMGCoarseSolve;
PETSC_EXTERN const char *const PCHJMGCoarseSolves[];

/*E
   PCHJacobiOperator - how `PCHJACOBI` applies the operator

   Values:
+  `PC_HJACOBI_OPERATOR_AUTO`    - stencil where it can be, else matrix
.  `PC_HJACOBI_OPERATOR_STENCIL` - coefficients on the grid of a `DMDA`
-  `PC_HJACOBI_OPERATOR_MATRIX`  - `MatMult()`

   Level: intermediate

.seealso: `PCHJACOBI`, `PCHJacobiSetOperator()`
E*/
typedef enum { PC_HJACOBI_OPERATOR_AUTO, PC_HJACOBI_OPERATOR_STENCIL, PC_HJACOBI_OPERATOR_MATRIX } PCHJacobiOperator;
PETSC_EXTERN const char *const PCHJacobiOperators[];

/*E
   PCHJMGTransfer - how `PCHJMG` interpolates from a grid to the next finer one

   Values:
+  `PC_HJMG_TRANSFER_AUTO`     - by the rows of the matrix where its coefficients jump, else bilinear
.  `PC_HJMG_TRANSFER_BILINEAR` - by the grid alone, as `DMDA` does
-  `PC_HJMG_TRANSFER_OPERATOR` - by the rows of the matrix (black box multigrid, Dendy 1982)

   Level: intermediate

.seealso: `PCHJMG`, `PCHJMGSetTransfer()`
E*/
typedef enum { PC_HJMG_TRANSFER_AUTO, PC_HJMG_TRANSFER_BILINEAR, PC_HJMG_TRANSFER_OPERATOR } PCHJMGTransfer;
PETSC_EXTERN const char *const PCHJMGTransfers[];

/*E
   PCHJMGSmoother - what `PCHJMG` smooths with

   Values:
+  `PC_HJMG_SMOOTHER_AUTO`   - (default) what takes less time, found for each level
.  `PC_HJMG_SMOOTHER_POINTS` - subiterations of `PCHJACOBI`
-  `PC_HJMG_SMOOTHER_LINES`  - solves along the lines of the directions that are strong somewhere, one direction after another

   Level: intermediate

.seealso: `PCHJMG`, `PCHJMGSetSmoother()`
E*/
typedef enum { PC_HJMG_SMOOTHER_AUTO, PC_HJMG_SMOOTHER_POINTS, PC_HJMG_SMOOTHER_LINES } PCHJMGSmoother;
PETSC_EXTERN const char *const PCHJMGSmoothers[];

/*E
   PCHJMGPrecision - the precision of what a cycle of `PCHJMG` works with

   Values:
+  `PC_HJMG_PRECISION_AUTO`   - (default) single where it is quicker and takes no more iterations, else double
.  `PC_HJMG_PRECISION_SINGLE` - single where that can be: the residual on the finest grid, its norm and the solution are double
-  `PC_HJMG_PRECISION_DOUBLE` - double; an error where PETSc itself is single

   Level: intermediate

.seealso: `PCHJMG`, `PCHJMGSetPrecision()`
E*/
typedef enum { PC_HJMG_PRECISION_AUTO, PC_HJMG_PRECISION_SINGLE, PC_HJMG_PRECISION_DOUBLE } PCHJMGPrecision;
PETSC_EXTERN const char *const PCHJMGPrecisions[];

/*E
   PCHJacobiExchange - transport of the halo of `PCHJACOBI` between ranks

   Values:
+  `PC_HJACOBI_EXCHANGE_AUTO`    - the fastest that is there
.  `PC_HJACOBI_EXCHANGE_PETSCSF` - `PetscSF`
.  `PC_HJACOBI_EXCHANGE_NCCL`    - NCCL, GPUs only
-  `PC_HJACOBI_EXCHANGE_IPC`     - CUDA IPC, GPUs of one host that reach one another's memory

   Level: advanced

.seealso: `PCHJACOBI`, `PCHJacobiSetExchange()`
E*/
typedef enum { PC_HJACOBI_EXCHANGE_AUTO, PC_HJACOBI_EXCHANGE_PETSCSF, PC_HJACOBI_EXCHANGE_NCCL, PC_HJACOBI_EXCHANGE_IPC } PCHJacobiExchange;
PETSC_EXTERN const char *const PCHJacobiExchanges[];

/*E
   PCHJacobiCheckNorm - norm of the stop test of `KSPRICHARDSON` with `PCHJACOBI`

   Values:
+  `PC_HJACOBI_CHECK_NORM_KSP`        - the norm type of the `KSP`
-  `PC_HJACOBI_CHECK_NORM_UPDATE_MAX` - largest change of any point in a cycle

   Level: advanced

.seealso: `PCHJACOBI`, `PCHJacobiSetCheckNorm()`
E*/
typedef enum { PC_HJACOBI_CHECK_NORM_KSP, PC_HJACOBI_CHECK_NORM_UPDATE_MAX } PCHJacobiCheckNorm;
PETSC_EXTERN const char *const PCHJacobiCheckNorms[];

PETSC_EXTERN PetscErrorCode PCHJacobiInitializePackage(void);
PETSC_EXTERN PetscErrorCode PCHJacobiFinalizePackage(void);
PETSC_EXTERN PetscErrorCode PCHJacobiGetVersion(PetscInt *, PetscInt *, PetscInt *);

PETSC_EXTERN PetscErrorCode PCHJacobiSetK(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCHJacobiGetK(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCHJacobiSetOverlap(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCHJacobiGetOverlap(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCHJacobiSetTile(PC, PetscInt, PetscInt, PetscInt);
PETSC_EXTERN PetscErrorCode PCHJacobiGetTile(PC, PetscInt *, PetscInt *, PetscInt *);
PETSC_EXTERN PetscErrorCode PCHJacobiSetSchedule(PC, PCHJacobiSchedule);
PETSC_EXTERN PetscErrorCode PCHJacobiGetSchedule(PC, PCHJacobiSchedule *);
PETSC_EXTERN PetscErrorCode PCHJacobiSetWeights(PC, PetscInt, const PetscReal[]);
PETSC_EXTERN PetscErrorCode PCHJacobiGetWeights(PC, PetscInt *, const PetscReal *[]);
PETSC_EXTERN PetscErrorCode PCHJacobiSetOmega(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCHJacobiGetOmega(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCHJacobiSetEigenvalues(PC, PetscReal, PetscReal);
PETSC_EXTERN PetscErrorCode PCHJacobiGetEigenvalues(PC, PetscReal *, PetscReal *);
PETSC_EXTERN PetscErrorCode PCHJacobiSetReduction(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCHJacobiGetReduction(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCHJacobiSetBackend(PC, PCHJacobiBackend);
PETSC_EXTERN PetscErrorCode PCHJacobiGetBackend(PC, PCHJacobiBackend *);
PETSC_EXTERN PetscErrorCode PCHJacobiSetOperator(PC, PCHJacobiOperator);
PETSC_EXTERN PetscErrorCode PCHJacobiGetOperator(PC, PCHJacobiOperator *);
PETSC_EXTERN PetscErrorCode PCHJacobiSetExchange(PC, PCHJacobiExchange);
PETSC_EXTERN PetscErrorCode PCHJacobiGetExchange(PC, PCHJacobiExchange *);
PETSC_EXTERN PetscErrorCode PCHJacobiSetExchangeTimeout(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCHJacobiGetExchangeTimeout(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCHJacobiSetDeviceMemory(PC, size_t);
PETSC_EXTERN PetscErrorCode PCHJacobiGetDeviceMemory(PC, size_t *);
PETSC_EXTERN PetscErrorCode PCHJacobiSetSlabType(PC, PCHJacobiSlabType);
PETSC_EXTERN PetscErrorCode PCHJacobiGetSlabType(PC, PCHJacobiSlabType *);
PETSC_EXTERN PetscErrorCode PCHJacobiSetSlabHeight(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCHJacobiGetSlabHeight(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCHJacobiSetCheckEvery(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCHJacobiGetCheckEvery(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCHJacobiSetCheckNorm(PC, PCHJacobiCheckNorm);
PETSC_EXTERN PetscErrorCode PCHJacobiGetCheckNorm(PC, PCHJacobiCheckNorm *);

PETSC_EXTERN PetscErrorCode PCHJMGSetK(PC, PetscInt, const PetscInt[]);
PETSC_EXTERN PetscErrorCode PCHJMGGetK(PC, PetscInt *, const PetscInt *[]);
PETSC_EXTERN PetscErrorCode PCHJMGSetLevels(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCHJMGGetLevels(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCHJMGSetRankPoints(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCHJMGGetRankPoints(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCHJMGSetGraph(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCHJMGGetGraph(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCHJMGSetLog(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCHJMGGetLog(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCHJMGSetGalerkin(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCHJMGGetGalerkin(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCHJMGSetCoarseSolve(PC, PCHJMGCoarseSolve);
PETSC_EXTERN PetscErrorCode PCHJMGGetCoarseSolve(PC, PCHJMGCoarseSolve *);
PETSC_EXTERN PetscErrorCode PCHJMGSetTransfer(PC, PCHJMGTransfer);
PETSC_EXTERN PetscErrorCode PCHJMGGetTransfer(PC, PCHJMGTransfer *);
PETSC_EXTERN PetscErrorCode PCHJMGSetSmoother(PC, PCHJMGSmoother);
PETSC_EXTERN PetscErrorCode PCHJMGGetSmoother(PC, PCHJMGSmoother *);
PETSC_EXTERN PetscErrorCode PCHJMGSetPrecision(PC, PCHJMGPrecision);
PETSC_EXTERN PetscErrorCode PCHJMGGetPrecision(PC, PCHJMGPrecision *);

PETSC_EXTERN PetscErrorCode MatCreateHJStencil(DM, Mat *);
PETSC_EXTERN PetscErrorCode MatHJStencilSetRow(Mat, PetscInt, const MatStencil[], const PetscScalar[]);
PETSC_EXTERN PetscErrorCode MatHJStencilGetArray(Mat, PetscInt, PetscInt, PetscInt, void *);
PETSC_EXTERN PetscErrorCode MatHJStencilRestoreArray(Mat, PetscInt, PetscInt, PetscInt, void *);
PETSC_EXTERN PetscErrorCode MatHJStencilGetArrayAndMemType(Mat, PetscInt, PetscInt, PetscInt, PetscScalar **, PetscMemType *);
PETSC_EXTERN PetscErrorCode MatHJStencilGetArrayDOF(Mat, PetscInt, PetscInt, PetscInt, PetscInt, PetscInt, void *);
PETSC_EXTERN PetscErrorCode MatHJStencilRestoreArrayDOF(Mat, PetscInt, PetscInt, PetscInt, PetscInt, PetscInt, void *);
PETSC_EXTERN PetscErrorCode MatHJStencilRestoreArrayAndMemType(Mat, PetscInt, PetscInt, PetscInt, PetscScalar **);

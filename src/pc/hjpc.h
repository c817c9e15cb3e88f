/*
   PETSc glue: what the PC remembers, and the two operators that run its cycles. Kernels, coefficients, passes are decided in other rooms.
*/
#pragma once

#include <petsc/private/kspimpl.h>
#include <petsc/private/pcimpl.h>
#include "../../include/pchjacobi.h"
#include "../core/hjcore.h"
#include "../stencil/hjstencil.h"
#include "../schedule/hjschedule.h"
#include "../plan/hjplan.h"
#include "../halo/hjhalo.h"
#include "../host/hjhost.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "../cuda/hjcuda.h"
#endif

PETSC_INTERN PetscLogEvent PCHJacobi_SetUp, PCHJacobi_Cycle, PCHJacobi_Halo;

/* The schedule, and as sweeps take it: repeated, so that the slice of every pass is contiguous */
typedef struct {
  PetscInt   k;
  PetscReal *w;      /* [k] */
  PetscReal *cycled; /* [len] */
  PetscInt   len;
} HJWeights;

PETSC_INTERN PetscErrorCode HJWeightsExtend(HJWeights *, PetscInt);

/* Regions, frames and halo of one depth */
typedef struct _n_HJFrames *HJFrames;
struct _n_HJFrames {
  PetscInt     depth;
  HJRegions    regions;
  HJHalo       halo;                 /* NULL where there are no neighbours */
  PetscScalar *buffer[2], *frame[2]; /* of x and b: own memory; where the last exchange left the values */
  HJFrames     next;
};

/* Cycles on stencil coefficients with one backend */
typedef struct {
  DM                  da;
  HJGrid              grid;
  HJStencil          *stencil;
  PetscInt            overlap, tile[3];
  const HJBackendOps *ops;
  const HJHaloOps    *halo_ops;
  void               *backend;
  HJLimits            limits;
  HJFrames            frames;                   /* list, one for each depth in use */
  PetscScalar        *work, *stage_x, *stage_b; /* owned points, backend memory; allocated at first use */
} HJStencilOp;

PETSC_INTERN PetscErrorCode HJStencilOpCreate(DM, const HJGrid *, HJStencil *, PetscInt, const PetscInt[3], const HJBackendOps *, const HJHaloOps *, HJStencilOp **);
PETSC_INTERN PetscErrorCode HJStencilOpPrepare(HJStencilOp *, const HJWeights *, PetscInt, PetscBool);
PETSC_INTERN PetscErrorCode HJStencilOpRun(HJStencilOp *, HJWeights *, PetscInt, PetscBool, Vec, Vec);
PETSC_INTERN PetscErrorCode HJStencilOpDestroy(HJStencilOp **);

/* Cycles through MatMult(); the Mat is not owned */
typedef struct {
  Vec dinv, r;
} HJMatrixOp;

PETSC_INTERN PetscErrorCode HJInverseDiagonal(Mat, Vec *, PetscInt *);
PETSC_INTERN PetscErrorCode HJMatrixOpCreate(Mat, PetscInt *, HJMatrixOp **);
PETSC_INTERN PetscErrorCode HJMatrixOpRun(HJMatrixOp *, Mat, PetscBool, const HJWeights *, PetscInt, PetscBool, Vec, Vec);
PETSC_INTERN PetscErrorCode HJMatrixOpDestroy(HJMatrixOp **);

typedef struct {
  /* options */
  PetscInt           k, overlap, tile[3], nweights, check_every;
  PetscBool          tile_set;
  PetscReal         *weights;           /* custom */
  PetscReal          omega, emax, emin; /* as set by the user, PETSC_DECIDE where not */
  PCHJacobiSchedule  schedule;
  PCHJacobiBackend   backend;
  PCHJacobiOperator  op;
  PCHJacobiExchange  exchange;
  PCHJacobiCheckNorm check_norm;
  PetscBool          verify, monitor;
  /* made by set-up */
  HJWeights      w;
  HJStencilOp   *stencil, *transpose, *host; /* transpose: made at first use, NULL if A is symmetric; host: for verify */
  HJMatrixOp    *matrix;
  PetscReal      use_omega, use_emax, use_emin;
  PetscInt       zero_diagonals;
  PetscInt       dim;
  const char    *bound;    /* where emax comes from */
  char           why[512]; /* why the operator is a matrix */
  const char    *why_backend, *why_exchange;
  KSP            ksp;   /* the KSP that is being solved, from presolve */
  PetscLogDouble start; /* of that solve, for the monitor */
} PC_HJacobi;

PETSC_INTERN PetscErrorCode PCSetUp_HJacobi(PC);
PETSC_INTERN PetscErrorCode PCReset_HJacobi(PC);
PETSC_INTERN PetscErrorCode PCApply_HJacobi(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCApplyTranspose_HJacobi(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCApplyRichardson_HJacobi(PC, Vec, Vec, Vec, PetscReal, PetscReal, PetscReal, PetscInt, PetscBool, PetscInt *, PCRichardsonConvergedReason *);
PETSC_INTERN PetscErrorCode PCPreSolve_HJacobi(PC, KSP, Vec, Vec);
PETSC_INTERN PetscErrorCode PCPostSolve_HJacobi(PC, KSP, Vec, Vec);
PETSC_INTERN PetscErrorCode PCView_HJacobi(PC, PetscViewer);
PETSC_INTERN PetscErrorCode PCHJacobiComposeSetters(PC, PetscBool);
PETSC_INTERN PetscErrorCode PCHJacobiTransposeOp(PC, HJStencilOp **);

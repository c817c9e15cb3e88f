/*
   PETSc glue: what PCHJMG remembers. Levels are made of DMDAs, stencil matrices, their interpolation and operators that smooth; products,
   kernels and coefficients are decided in other rooms.
*/
#pragma once

#include <petsc/private/kspimpl.h>
#include <petsc/private/pcimpl.h>
#include "../../include/pchjacobi.h"
#include "../operator/hjcoarsen.h"
#include "../operator/hjoperator.h"
#include "../operator/hjtransfers.h"

PETSC_INTERN PetscLogEvent PCHJMG_SetUp, PCHJMG_Cycle;

#define HJ_MG_MAX_LEVELS 64
/* What the sweeps of the coarsest grid leave of the error */
#define HJ_MG_REDUCTION 0.01

/* One grid. The finest is level 0 */
typedef struct {
  DM           da; /* distributed like the matrix; the PC's own, but for the finest where the user's will do */
  Mat          A;
  Mat          P; /* interpolation from the next coarser grid; NULL on the coarsest */
  HJOperator  *op;
  HJCoarsening coarsening; /* to the next coarser grid; on the coarsest what it would be */
  HJBound      bound;
  HJWeights    w;
  Vec          x, b, r; /* x and b: not on the finest */
} HJMGLevel;

/* What was changed since the last set-up; each asks the next set-up for all that those before it ask for */
typedef enum { HJ_MG_CHANGED_NOTHING, HJ_MG_CHANGED_WEIGHTS, HJ_MG_CHANGED_VALUES, HJ_MG_CHANGED_GRIDS } HJMGChange;

/* Which matrix set-up read, in which state, and the grids that it might be on; 0: none */
typedef struct {
  PetscObjectId    id, dm[2];
  PetscObjectState values, pattern;
} HJMGState;

typedef struct {
  /* options */
  PetscInt k, max_levels; /* PETSC_DECIDE: as many as lead to a small grid */
  /* made by set-up */
  HJMGChange   changed;
  HJMGState    read;
  PetscInt     nlevels;
  HJMGLevel    level[HJ_MG_MAX_LEVELS];
  PetscBool    converted;            /* A of the finest level is a copy of the matrix */
  char         stop[256];            /* why there is no coarser grid */
  PetscBool    settled;              /* the least eigenvalue of the coarsest grid is known, and with it how many sweeps solve it */
  MatNullSpace constants;            /* of the coarsest grid, where the matrix has the constants in its null space; else NULL */
  KSP          ksp;                  /* the KSP that is being solved, from presolve to postsolve */
  Vec          residual, correction; /* of the solver; made when first needed */
} PC_HJMG;

/* Collective. The finest matrix and its DMDA, the coarser grids, interpolations and Galerkin operators; an error where it is no stencil */
PETSC_INTERN PetscErrorCode HJMGMakeGrids(PC);
/* Collective. The grid below the last one, interpolation, Galerkin operator. *made is false where it has none, and mg->stop says why */
PETSC_INTERN PetscErrorCode HJMGMakeLevel(PC, PetscBool *made);
/* Collective. New values in the matrices that are there */
PETSC_INTERN PetscErrorCode HJMGRefreshGrids(PC);
PETSC_INTERN PetscErrorCode HJMGDestroyGrids(PC_HJMG *);
PETSC_INTERN PetscErrorCode PCSetUp_HJMG(PC);
PETSC_INTERN PetscErrorCode PCApply_HJMG(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCApplyTranspose_HJMG(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCApplyRichardson_HJMG(PC, Vec, Vec, Vec, PetscReal, PetscReal, PetscReal, PetscInt, PetscBool, PetscInt *,
                                                   PCRichardsonConvergedReason *);

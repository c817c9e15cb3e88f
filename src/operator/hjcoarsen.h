/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The next coarser grid of a hierarchy: which directions are halved, from the couplings of the points, and its DMDA.
*/
#pragma once

#include "core/hjmeasure.h"

/* A grid's directions. The same on all ranks */
typedef struct {
  PetscReal       strength[3]; /* mean coupling to a neighbour, as a share of the diagonal */
  PetscReal       last[3];     /* coefficient of a last point that hangs, see HJTransfer */
  PetscInt        factor[3];   /* by which the directions are to be coarsened */
  PetscReal       others;      /* largest sum of the sizes of a row's other entries, as a share of its diagonal */
  PetscReal       least;       /* the smallest diagonal of rows that are one alone; 0: none is */
  PetscReal       coupled;     /* the largest diagonal of the other rows */
  HJMeasureRatios ratios;
  PetscInt        split;     /* a direction that is strong at some points and weak at others, as no other one is; -1: none is so */
  PetscInt        first[3];  /* the first coarse point of a direction that is halved, 0 or 1 */
  PetscReal       before[3]; /* coefficient of a first point that hangs */
  PetscReal       inside;    /* the share of points that lie at no end of a direction of few points, where there are such */
} HJCoarsening;

/* Global number of the fine point that a coarse one lies on */
static inline PetscInt HJCoarsenPoint(const HJCoarsening *c, int d, PetscInt coarse)
{
  return c->factor[d] * coarse + (c->factor[d] == 2 ? c->first[d] : 0);
}

/* Whether a direction that is halved has a last point that hangs */
static inline PetscBool HJCoarsenHangs(const HJGrid *grid, const HJCoarsening *c, int d)
{
  return (PetscBool)(!grid->periodic[d] && (grid->N[d] - c->first[d]) % 2 == 0);
}

/* A direction is not halved where another one is so many times as strong: see HJCoarsenChoose() */
#define HJ_COARSEN_RATIO HJ_MEASURE_RATIO

/* Collective. Coefficients in the backend's memory */
PETSC_INTERN PetscErrorCode HJCoarsenMeasure(MPI_Comm, const HJBackendOps *, const HJGrid *, const HJCoefficients *, HJCoarsening *);
/* The same from what this rank measured */
PETSC_INTERN PetscErrorCode HJCoarsenTake(MPI_Comm, const HJGrid *, const HJMeasure *, HJCoarsening *);
/* Collective. Of a stencil matrix with several unknowns a point: a direction is as strong as in the component that is coupled least in it,
   but for those that are coupled to no neighbour. saddle as in HJStencilFindSaddle() */
PETSC_INTERN PetscErrorCode HJCoarsenMeasureSystem(Mat, DM da, HJCoarsening *, char saddle[], size_t len);
/* Whether two of them lead to the same grid and interpolation */
PETSC_INTERN PetscBool HJCoarsenSame(const HJGrid *, const HJCoarsening *, const HJCoarsening *);
/* Whether a direction that has points to spare is not halved */
PETSC_INTERN PetscBool HJCoarsenIsPartial(const HJGrid *, const HJCoarsening *);
/* The mean over all points of the root of how many times weaker than the strongest direction one that is halved is there, in steps of 2 and
   0 where it is not weak; of the direction of which that is largest. Where it is not small the strong direction is another one in another
   part of the grid, and as many more subiterations reach the coarse grid there */
PETSC_INTERN PetscReal HJCoarsenTurns(const HJCoarsening *);
/* Coarsens the other directions, and not split, for a smoother that solves along its lines */
PETSC_INTERN void HJCoarsenAcrossSplit(const HJGrid *, HJCoarsening *);
/* Collective. A DMDA of the coarse points, each on the rank that has the fine one, not set up; NULL and a reason where there is none */
PETSC_INTERN PetscErrorCode HJCoarsenDM(DM fine, const HJCoarsening *, DM *coarse, char reason[], size_t len);

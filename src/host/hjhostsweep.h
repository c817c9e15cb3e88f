/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What the host backend keeps of an operator. hjhost.c decides the order of lines, hjhostsystem.c does those of points with several
   unknowns.
*/
#pragma once

#include "hjhostkernels.h"

/* Points along a line of the stencil's box, from first to the first of the next run, with one row; row < 0: each looks up its own */
typedef struct {
  PetscInt first;
  int      row;
} HJLineRun;

/* A line of arrays: a bit for each slot, to an earlier point, whose coefficients are read where those of the opposite slot lie. Of the slot
   along the line a few points may have others, with which they are done again */
#define HJ_MIRROR_EXCEPT 2
typedef struct {
  unsigned int slots;
  PetscInt     nexcept, except[HJ_MIRROR_EXCEPT];
  PetscScalar  value[HJ_MIRROR_EXCEPT];
} HJLineMirror;

/* The entries of one component's row: those of D^-1 from inverse on, then those of neighbours from first on */
typedef struct {
  PetscInt   inverse, ninverse, first, n;
  int        alone; /* it is coupled to no other component, and has all neighbours of a shape, which this is; else -1 */
  PetscCount table; /* dictionary: where its part of the table begins, in numbers for each subiteration and each row */
} HJHostComponent;

typedef struct {
  HJGrid               grid;
  HJStencil            st; /* its arrays belong to the caller and stay until destroy or refresh */
  const HJHostKernels *kernels;
  PetscReal            cache;               /* MiB */
  int                  shape, tdim, sdim;   /* star or box; directions of the lines in a plane, and of the stream */
  PetscInt             period[3];           /* points of a direction whose neighbour on both sides is this rank itself; else 0 */
  HJLineRun           *runs;                /* dictionary */
  PetscCount          *line_runs;           /* first run of each line */
  unsigned char        alone[HJ_MAX_ROWS];  /* of each row: it is a diagonal alone */
  const PetscScalar   *array[HJ_MAX_SLOTS]; /* variable: coefficients of each slot, and how far from the point they lie */
  PetscCount           shift[HJ_MAX_SLOTS];
  HJLineMirror        *mirrors;              /* of each line, see hjhostmirror.c; NULL: there are none */
  const PetscScalar   *mirror[HJ_MAX_SLOTS]; /* where mirrored coefficients of each slot lie, and how far from the point */
  PetscCount           mirror_shift[HJ_MAX_SLOTS];
  PetscInt             mirror_along; /* the slot along the line */
  PetscScalar         *work, *table; /* levels in flight; weighted rows [count][nrows][1 + nslots] */
  PetscCount           work_size, table_size;
  /* several unknowns a point */
  PetscInt            width; /* numbers of the table for each subiteration and each row */
  HJHostComponent    *component;
  PetscInt           *line, *side;      /* [nentries] number of the line that an entry leads to, and how far along it */
  const PetscScalar **terms, **factors; /* [width] lines that a row multiplies, and arrays of its coefficients */
  PetscScalar        *lines;            /* a line of b, of the result, and of a sum, of each component */
  PetscCount          lines_size;
} HJHost;

/* Grows, never shrinks: applies after the first allocate nothing */
static inline PetscErrorCode HJHostReserve(PetscScalar **p, PetscCount *size, PetscCount need)
{
  PetscFunctionBegin;
  if (need > *size) {
    PetscCall(PetscFree(*p));
    *size = 0;
    PetscCall(PetscMalloc1(need, p));
    *size = need;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PETSC_INTERN PetscErrorCode HJHostFindMirrors(HJHost *);
PETSC_INTERN PetscErrorCode HJHostSystemSet(HJHost *);
PETSC_INTERN PetscErrorCode HJHostSystemReset(HJHost *);
PETSC_INTERN PetscErrorCode HJHostSystemFillTable(HJHost *, const HJSweep *);
/* Room for lines of n points */
PETSC_INTERN PetscErrorCode HJHostSystemReserveLines(HJHost *, PetscInt n);
/* The points [lo, hi) of a line as HJHostRun() of hjhost.c */
PETSC_INTERN void HJHostSystemRun(const HJHost *, const HJHostRow *line, int row, PetscInt lo, PetscInt hi, PetscCount at, PetscBool zero);
/* A line with arrays, which begins at place at of their box */
PETSC_INTERN void HJHostSystemVariable(const HJHost *, const HJHostRow *line, PetscCount at, PetscBool zero);
/* n points of dof components in turn to lines that are so far apart, and back */
PETSC_INTERN void           HJHostSystemSpread(PetscInt dof, PetscInt n, const PetscScalar *from, PetscScalar *to, PetscCount apart);
PETSC_INTERN void           HJHostSystemJoin(PetscInt dof, PetscInt n, const PetscScalar *from, PetscCount apart, PetscScalar *to);
PETSC_INTERN PetscErrorCode HJHostSystemAbsolute(const HJHost *, PetscInt, const HJSweep[], PetscBool skew, PetscReal *);

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Ghosts of values on a rank's points: their memory and the halo that fills them. Decides nothing; which ghosts there are is the shell's.
*/
#pragma once

#include "core/hjcoefficients.h"
#include "halo/hjhalo.h"

typedef struct {
  HJShell             shell;
  const HJBackendOps *ops;
  HJHalo              halo;     /* NULL where there are no neighbours */
  PetscScalar        *ghost;    /* [shell.size][dof] in the backend's memory, 0 outside the domain */
  PetscScalar        *frame[2]; /* where the last exchange left the ghosts; the second is not used */
} HJGhosts;

/* Collective. The halo that fills a shell which is at most depth points thick, on any rank */
PETSC_INTERN PetscErrorCode HJShellCreateHalo(DM, const HJGrid *, PetscInt depth, const HJShell *, HJExchange, HJHalo *);

/* Collective. Memory and halo for a shell that is set; the grid is that of the DMDA */
PETSC_INTERN PetscErrorCode HJGhostsCreate(DM, const HJGrid *, PetscInt depth, const HJBackendOps *, HJExchange, HJGhosts *);
PETSC_INTERN PetscErrorCode HJGhostsDestroy(HJGhosts *);
/* Collective. An exchange of values x on the owned points, in the backend's memory, begins, or ends and leaves the ghosts in frame[0] */
PETSC_INTERN PetscErrorCode HJGhostsBegin(HJGhosts *, const PetscScalar x[]);
PETSC_INTERN PetscErrorCode HJGhostsEnd(HJGhosts *, const PetscScalar x[]);
/* Whether what reads no ghosts need not wait for an exchange that has just ended, see HJSweep */
PETSC_INTERN PetscBool HJGhostsExchanged(const HJGhosts *);
/* Both, one after the other. The ghosts are valid until the next exchange */
PETSC_INTERN PetscErrorCode HJGhostsGet(HJGhosts *, const PetscScalar x[], const PetscScalar *ghost[]);

/* The planes beside those of a rank in the slowest direction, depth of them on either side, in the order of the grid */
typedef struct {
  const HJBackendOps *ops;
  HJHalo              halo;
  PetscInt            depth;
  PetscCount          size[2];     /* values below and above */
  PetscBool           neighbor[2]; /* whether there are any */
  PetscScalar        *buffer[2];   /* where a transport leaves those of x and of b that has no memory of its own */
} HJPlanes;

/* Collective. The grid is that of the DMDA; both: of b, too */
PETSC_INTERN PetscErrorCode HJPlanesCreate(DM, const HJGrid *, PetscInt depth, PetscBool both, const HJBackendOps *, HJExchange,
                                           HJPlanes **);
PETSC_INTERN PetscErrorCode HJPlanesDestroy(HJPlanes **);
/* Collective. Those of x, and of b unless it is NULL, below and above; NULL: there are none. Valid until the next exchange */
PETSC_INTERN PetscErrorCode HJPlanesGet(HJPlanes *, const PetscScalar x[], const PetscScalar b[], const PetscScalar *xside[2],
                                        const PetscScalar *bside[2]);

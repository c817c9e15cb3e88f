/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What a halo transport gets and gives: shared by src/halo (pattern, PetscSF) and by transports in other rooms. Decides nothing.
*/
#pragma once

#include "hjcore.h"
#include <petscsf.h>

typedef struct _n_HJHalo *HJHalo;

/* n consecutive numbers of one rank's vector, the first of them number from, which go to consecutive ones of another rank's frame
   buffer, the first of them number to */
typedef struct {
  PetscMPIInt rank; /* the other rank, or this one itself where the domain is periodic */
  PetscCount  from, to, n;
} HJHaloRun;

#define HJ_HALO_MAX_RUNS 4

/*
   A transport carries two vectors, x and b, to the frame buffers of the ranks that need their entries. from[] are the arrays of the
   vectors; one of them is NULL where that vector does not travel this time. All ranks name the same vectors.

   frame[] are the frame buffers. begin() gets buffers that the caller owns. end() may put its own memory in their place; the values there
   stay until the second exchange of that vector after this one. Between begin() and end() the caller may read from[] and must not touch
   frame[]. Where both of from[] are NULL the ranks wait for one another, and end() is not called.

   What is exchanged between cycle() with HJ_CYCLE_BEGIN and with HJ_CYCLE_END can be recorded as a graph and replayed, and on another rank
   be launched one by one meanwhile. All halos that are used there then belong to the ranks of the halo that cycle() gets. Cycles may be
   nested.
*/
typedef enum { HJ_CYCLE_BEGIN, HJ_CYCLE_END, HJ_CYCLE_REPLAY } HJCyclePart;

typedef struct {
  const char *name;
  PetscErrorCode (*create)(HJHalo); /* called when pattern and comm are set; makes data */
  PetscErrorCode (*begin)(HJHalo, PetscMemType, const PetscScalar *const from[2], PetscScalar *frame[2]);
  PetscErrorCode (*end)(HJHalo, PetscMemType, const PetscScalar *const from[2], PetscScalar *frame[2]);
  PetscErrorCode (*destroy)(HJHalo);
  /* Tells the sweep before the next exchange of x where to copy the first planes of x (copy[0]) and the last ones (copy[1]), so that
     the exchange itself only waits; an entry is NULL where no rank lies on that side. NULL in place of the function: the transport cannot
     do this */
  PetscErrorCode (*target)(HJHalo, PetscScalar *copy[2]);
  /* A pass waits for the exchange and then sweeps all points at once, which takes less time than to sweep the interior meanwhile */
  PetscBool one_launch;
  /* A cycle begins, after all ranks have done what came before it, or ends; or one that was recorded is about to be replayed. NULL: what
     this transport does cannot be recorded */
  PetscErrorCode (*cycle)(HJHalo, HJCyclePart);
  PetscBool single; /* numbers that travel are float */
} HJHaloOps;

/* Seconds that an exchange waits for a peer where no option says otherwise; manual pages name it */
#define HJ_EXCHANGE_TIMEOUT 300

/* What a halo is made with */
typedef struct {
  const HJHaloOps *ops;
  PetscReal        timeout; /* see HJHalo's */
} HJExchange;

/* A stencil matrix composes this function: PetscErrorCode (*)(Mat, const HJBackendOps *, HJExchange *), collective: how its halos, and
   those of the interpolation to its grid, travel in the memory of a backend */
#define HJ_GET_EXCHANGE "MatHJStencilGetExchange_C"

struct _n_HJHalo {
  const HJHaloOps *ops;
  MPI_Comm         comm;
  /* Set up. Its roots are the owned entries of the ranks' vectors, its leaves the places of the frame buffer, those of own points too.
     PetscSFGetRootRanks() says from whom this rank reads, PetscSFGetLeafRanks() who reads from it */
  PetscSF      pattern;
  PetscInt     dof;  /* numbers at an entry and at a place, which follow one another */
  PetscCount   size; /* numbers of the frame buffer */
  MPI_Datatype unit; /* what lies at a place */
  /* On every rank all that comes in, and all that goes out, are at most HJ_HALO_MAX_RUNS runs, which need no packing: those of send and
     recv. Two ranks have the runs between them in the same order */
  PetscBool direct;
  PetscBool with_next; /* what travels is not read before another exchange between the same ranks has begun, and may travel with that */
  PetscReal timeout;   /* seconds that an exchange may wait for a peer, where the transport can tell; 0: without end */
  PetscInt  nsend, nrecv;
  HJHaloRun send[HJ_HALO_MAX_RUNS], recv[HJ_HALO_MAX_RUNS];
  void     *data; /* the transport's own */
};

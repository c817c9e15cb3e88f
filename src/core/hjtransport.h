/*
   What a halo transport gets and gives: shared by src/halo (pattern, PetscSF) and by transports in other rooms. Decides nothing.
*/
#pragma once

#include "hjcore.h"
#include <petscsf.h>

typedef struct _n_HJHalo *HJHalo;

/* Entries from, from + 1, ... of one rank's vector that go to places to, to + 1, ... of another's frame buffer */
typedef struct {
  PetscMPIInt rank; /* the other one, or this one itself */
  PetscCount  from, to, n;
} HJHaloRun;

#define HJ_HALO_MAX_RUNS 4

/*
   A transport carries x and b: from[] are their vectors, NULL where one does not travel now. Their frames go in as the caller's buffers; end() may put
   others in their place, which hold the values until the second next exchange of that vector. Between begin and end from may be read and frame may not
   be touched. All ranks call for the same vectors
*/
typedef struct {
  const char *name;
  PetscErrorCode (*create)(HJHalo); /* pattern and comm are set; fills data */
  PetscErrorCode (*begin)(HJHalo, PetscMemType, const PetscScalar *const from[2], PetscScalar *frame[2]);
  PetscErrorCode (*end)(HJHalo, PetscMemType, const PetscScalar *const from[2], PetscScalar *frame[2]);
  PetscErrorCode (*destroy)(HJHalo);
  /* Where the sweep before the next exchange of x shall copy x's first and last planes, for each of the peers below and above; NULL where there is none. That
     exchange then only waits. NULL: the transport cannot */
  PetscErrorCode (*target)(HJHalo, PetscScalar *copy[2]);
  PetscBool whole; /* so quick that a pass waits for it and sweeps all points in one launch: less than what the split would cost */
} HJHaloOps;

struct _n_HJHalo {
  const HJHaloOps *ops;
  MPI_Comm         comm;
  PetscSF          pattern; /* set up; roots: owned entries of the ranks' vectors, leaves: places of the frame buffer, own points too.
                               PetscSFGetRootRanks(): whom this rank reads from, PetscSFGetLeafRanks(): who reads from it */
  PetscCount       size;    /* of the frame buffer */
  PetscBool        direct;  /* on every rank all that comes in, and all that goes out, are a few runs: no packing */
  PetscInt         nsend, nrecv;
  HJHaloRun        send[HJ_HALO_MAX_RUNS], recv[HJ_HALO_MAX_RUNS]; /* direct; between two ranks in the same order on both */
  void            *data;                                           /* the transport's own */
};

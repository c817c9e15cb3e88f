/*
   What a halo transport gets and gives: shared by src/halo (pattern, PetscSF) and by transports in other rooms. Decides nothing.
*/
#pragma once

#include "hjcore.h"
#include <petscsf.h>

typedef struct _n_HJHalo *HJHalo;

/* A transport; between begin and end x may be read and frame may not be touched */
typedef struct {
  const char *name;
  PetscErrorCode (*create)(HJHalo); /* pattern and comm are set; fills data */
  PetscErrorCode (*begin)(HJHalo, PetscMemType, const PetscScalar *x, PetscScalar *frame);
  PetscErrorCode (*end)(HJHalo, PetscMemType, const PetscScalar *x, PetscScalar *frame);
  PetscErrorCode (*destroy)(HJHalo);
  PetscBool whole; /* so quick that a pass waits for it and sweeps all regions in one launch: less than what the split would cost */
} HJHaloOps;

struct _n_HJHalo {
  const HJHaloOps *ops;
  MPI_Comm         comm;
  PetscSF          pattern; /* set up; roots: owned entries of the ranks' vectors, leaves: places of the frame buffer, own points too.
                               PetscSFGetRootRanks(): whom this rank reads from, PetscSFGetLeafRanks(): who reads from it */
  void            *data;    /* the transport's own */
};

/*
   Work on coefficient arrays in one memory, for the host and for a device: what a stencil matrix is filled, scaled and added with.
   Decides nothing.
*/
#pragma once

#include "hjcoefficients.h"

/* One of the rows that the points of a rank have; 0 in slots that lead outside the domain */
typedef struct {
  PetscScalar  a[HJ_MAX_SLOTS];
  unsigned int inside; /* bit per slot */
} HJDistinctRow;

/* Entries of a COO list by the places that they go to: those of place[m] are entry[first[m]] to entry[first[m + 1] - 1], in their order */
typedef struct {
  PetscInt    n;
  PetscCount *place; /* [n] */
  PetscInt   *first; /* [n + 1] */
  PetscInt   *entry;
} HJCOOList;

/* Calls for a device are launched on PETSc's current stream and do not wait, but for those that fill memory of the host */
typedef struct {
  const HJBackendOps *backend;
  PetscErrorCode (*alloc)(size_t bytes, void *address);             /* not initialised */
  PetscErrorCode (*free)(void *address);                            /* sets what it points to to NULL */
  PetscErrorCode (*copy)(void *to, const void *from, size_t bytes); /* between host and this memory in any direction, or inside */
  PetscErrorCode (*zero)(void *, size_t bytes);
  /* y = a x + b y; x NULL stands for 1 everywhere; y is not read where b is 0 */
  PetscErrorCode (*combine)(PetscCount, PetscScalar a, const PetscScalar *x, PetscScalar b, PetscScalar *y);
  PetscErrorCode (*multiply)(PetscCount, const PetscScalar *x, PetscScalar *y); /* y = x y, each by each */
  /* Coefficients of one slot at n points, 0 outside the box keep */
  PetscErrorCode (*slot)(const HJCoefficients *, PetscInt slot, const PetscInt n[3], const HJBox *keep, PetscScalar *);
  /* Values at the points that an offset leads to, of an array over the owned points and its ghosts */
  PetscErrorCode (*shifted)(const HJShell *, const PetscInt off[3], const PetscScalar *x, const PetscScalar *ghost, PetscScalar *);
  /* to[i] = from[which[i]] */
  PetscErrorCode (*gather)(PetscCount, const PetscCount *which, const PetscScalar *from, PetscScalar *to);
  /* Adds the entries of a list, which lies in this memory too, to value[], one after another at each place */
  PetscErrorCode (*add)(const HJCOOList *, const PetscScalar *entries, PetscScalar *value);
  /*
     At most max distinct rows of coefficients on the points of a grid, in rows[max], and which one each point has, in *ids; rows that lead
     outside the domain in other slots are others. *n: their number, -1 where there are more
  */
  PetscErrorCode (*scan)(const HJCoefficients *, const HJGrid *, PetscInt max, PetscInt *n, HJDistinctRow rows[], void **ids);
  /* index[] = map[] of each point's row, and frees the ids; index NULL: only frees them */
  PetscErrorCode (*number)(PetscCount, void **ids, PetscInt n, const unsigned char map[], unsigned char *index);
} HJArrayOps;

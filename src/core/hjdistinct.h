/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The distinct rows that the points of a rank have, few on many grids: found by a hash, then merged where they differ only in what leads
   outside the domain. Decides whether coefficients are stored as such.
*/
#pragma once

#include "hjcoefficients.h"

/* Most rows that are told apart before they are merged: at the domain's ends they differ in up to 3^dim ways. And of those with all
   neighbours in the domain, which never merge, HJ_MAX_ROWS */
#define HJ_MAX_RAW_ROWS 4096

/* Hash of a word */
static inline HJ_HOST_DEVICE uint64_t HJMixBits(uint64_t h)
{
  h *= 0x9E3779B97F4A7C15u;
  h ^= h >> 29;
  h *= 0xBF58476D1CE4E5B9u;
  return h ^ (h >> 32);
}

/* A row of one or more points, see HJDistinctRowSet(): all but the count makes it another one. Of as many slots as a row has. Words of 8
   bytes are compared: there are as many numbers as fill these */
typedef struct {
  unsigned int outside, nonzero;                                   /* bit per slot: leads outside the domain; is not 0 */
  PetscScalar  a[HJ_BY_PRECISION(HJ_MAX_SLOTS, HJ_MAX_SLOTS + 1)]; /* 0, and not -0, outside the domain and where nothing was set */
  PetscCount   count;                                              /* points that have this row */
} HJDistinctRow;

static inline HJ_HOST_DEVICE void HJDistinctRowSet(HJDistinctRow *row, PetscInt slot, PetscScalar v)
{
  if (v == 0.0) return;
  row->a[slot] = v;
  row->nonzero |= 1u << slot;
}

/* Distinct items, numbered in the order in which they come: two are one if the words that they begin with have the same bits */
typedef struct {
  PetscInt        n, max, ninner; /* ninner: rows with all neighbours in the domain */
  size_t          bytes, words;   /* of an item; of 8 bytes that are compared */
  char           *item;           /* [max] */
  PetscInt        places;         /* of the table, a power of 2 */
  unsigned short *table;          /* hash -> 1 + number */
} HJDistinct;

PETSC_INTERN PetscErrorCode HJDistinctCreate(PetscInt max, size_t bytes, size_t words, HJDistinct *);
/* The number of an item; -1: it would be one too many */
PETSC_INTERN PetscInt       HJDistinctFind(HJDistinct *, const void *item);
PETSC_INTERN PetscErrorCode HJDistinctDestroy(HJDistinct *);

/* The same for rows of so many slots. What was found becomes the caller's, to be freed with PetscFree() */
PETSC_INTERN PetscErrorCode HJDistinctCreateRows(PetscInt nslots, HJDistinct *);
PETSC_INTERN PetscInt       HJDistinctFindRow(HJDistinct *, const HJDistinctRow *);
PETSC_INTERN PetscErrorCode HJDistinctTakeRows(HJDistinct *, PetscInt *n, HJDistinctRow **);

/* Of coefficients on the host: the rows of the owned points, in the order of their first points, and which one each point has; *n is -1
   where there are too many. PetscFree() frees the rows */
PETSC_INTERN PetscErrorCode HJDistinctScan(const HJCoefficients *, const HJGrid *, PetscInt *n, HJDistinctRow **, unsigned short id[]);

/* Whether two rows of so many slots agree where both lead inside the domain */
PETSC_INTERN PetscBool HJDistinctAgree(PetscInt nslots, const HJDistinctRow *, const HJDistinctRow *);
/* Joins n rows that agree to *nout <= HJ_MAX_ROWS; more are -1. Rows inside the domain come first, then ends, edges, corners. map: where
   each row went; NULL: not wanted */
PETSC_INTERN void HJDistinctMerge(PetscInt nslots, PetscInt n, const HJDistinctRow in[], PetscInt *nout, HJDistinctRow out[],
                                  unsigned char map[]);

/* What coefficients are stored for: products of the matrix, or sweeps */
typedef enum { HJ_FOR_PRODUCTS, HJ_FOR_SWEEPS } HJStorageUse;

/*
   The decision of storage: whether the distinct rows of npoints points, merged to n (-1: too many), are stored with an index in place of an
   array for each slot. All other rules follow from what the values are: a row for all points needs no index, symmetric arrays are halved.

   Of products rows take less memory from four points each on. They must be finite: at some points a part of a row leads outside the domain,
   and is multiplied by 0 there. Sweeps have rows wherever they fit: kernels keep them on the chip, and a row, unlike an array, can have a
   diagonal that is 0.
*/
PETSC_INTERN PetscBool HJStoresRows(HJStorageUse, PetscInt nslots, PetscInt n, const HJDistinctRow[], PetscCount npoints);

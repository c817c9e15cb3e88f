/* SPDX-License-Identifier: BSD-2-Clause */
/*
   How a matrix that lies in device memory is read: a reader looks at the rows where they lie and fills arrays there. It decides nothing:
   which rows are one, how they are numbered, which storage holds them is the stencil room's. Without a reader (NULL) the host reads rows.
*/
#pragma once

#include "hjcore.h"
#include "hjdistinct.h"

/* What the columns of a point's neighbours follow from, see HJRowsSetLine() */
typedef struct {
  PetscInt    dim, nslots, row_start; /* nslots: of a box */
  PetscInt    width[3], N[3], neighbor[3][2];
  PetscInt    start[3][3], other[3][3]; /* first point and width of the previous rank, this and the next */
  signed char order[HJ_MAX_SLOTS];      /* who gets a column that several slots share */
  PetscReal   slack;                    /* see HJIsSame() */
} HJRowLayout;

/* Of this rank; rows are global, PETSC_INT_MAX: none */
typedef struct {
  PetscBool      rows_fit, box;         /* not more distinct rows than HJDistinctCreateRows() has; some nonzero outside the star */
  PetscInt       n;                     /* distinct rows if rows_fit */
  HJDistinctRow *row;                   /* [n] by the slots of a box, in the order of their first points; the caller's to PetscFree() */
  PetscInt       wide_row, wide_column; /* first nonzero more than one point away */
} HJRowScan;

typedef struct {
  PetscBool fits;                  /* no nonzero without an array */
  PetscReal gershgorin;            /* max of sum |a_ij| |dinv_i| */
  PetscInt  zero_row;              /* first without a diagonal */
  PetscInt  wide_row, wide_column; /* first with a nonzero too far */
  /* in: couplings of the points are wanted as well, NULL: they are not; out: NULL where they were not found */
  struct _n_HJMeasure *measure;
} HJRowFill;

/* Several unknowns a point: the distinct rows of a stencil matrix, in the order of their first points; outside says what leads out of the
   domain, too, as HJDistinctRow's by the slots of a box */
typedef struct {
  PetscInt      n;     /* -1: they are too many */
  PetscCount   *first; /* [n] */
  unsigned int *outside;
  PetscScalar  *rows; /* [n][nslots] */
  void         *ids;  /* the reader's */
} HJSystemRows;

/* Calls return when their work is done */
struct HJRowReader {
  PetscMemType mtype;
  PetscErrorCode (*open)(Mat, Mat, const PetscInt *, const HJRowLayout *,
                         void **); /* diagonal and off-diagonal block (NULL on one rank) and its columns */
  PetscErrorCode (*scan)(void *, HJRowScan *);
  PetscErrorCode (*number)(void *, PetscInt, const unsigned char *, const HJBox *,
                           unsigned char *);                      /* number of each scanned row -> owned points of an array over the box */
  PetscErrorCode (*fill)(void *, const HJStencil *, HJRowFill *); /* owned points of value[] and dinv */
  PetscErrorCode (*coefficients)(void *, const HJCoefficients *, HJRowFill *); /* of AIJ: every number of all slots, in device memory */
  PetscErrorCode (*compare)(void *, const HJStencil *,
                            PetscBool *); /* HJ_SYMMETRIC: whether the lower entries are those of the upper half */
  PetscErrorCode (*close)(void **);
  PetscErrorCode (*alloc)(size_t, void **); /* zeroed, the size in bytes rounded up to 8 */
  PetscErrorCode (*free)(void *);
  /*
     Several unknowns a point, of arrays in this memory on a grid whose neighbours are all this rank. At most so many distinct rows; the
     number of each point's to an array over the box; what system_scan() has made is freed. Values of a stencil; the first point whose block
     has no inverse, or the number of points, and the largest row's sum, as HJStencil's gershgorin
  */
  PetscErrorCode (*system_scan)(const HJCoefficients *, const HJGrid *, PetscInt max, HJSystemRows *);
  PetscErrorCode (*system_number)(const HJSystemRows *, const HJGrid *, const HJBox *, const unsigned char map[], unsigned char *index);
  PetscErrorCode (*system_free)(HJSystemRows *);
  PetscErrorCode (*system_fill)(const HJCoefficients *, const HJGrid *, const HJStencil *, PetscCount *singular, PetscReal *gershgorin);
};

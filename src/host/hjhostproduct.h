/* SPDX-License-Identifier: BSD-2-Clause */
/* A line of a product on the host, for those who know where the lines around it lie */
#pragma once

#include "hjhostkernels.h"

typedef struct {
  const HJCoefficients *a;
  PetscInt              n; /* points of a line */
  HJHostRowFn           kernel[3];
  int                   nlines, line[9];    /* the lines around a line that the shape needs, as numbers of HJHostRow */
  PetscBool             few;                /* a dictionary, and lines have no b: */
  unsigned char         alone[HJ_MAX_ROWS]; /* of each row, it is a diagonal alone */
  HJHostRow             row;                /* of a line: those around it that the shape does not have stay unset */
} HJHostProductArgs;

/* y = b + alpha A x, of all points, on the line (j, k) */
PETSC_INTERN void HJHostProductOwnLine(const HJProduct *, HJHostProductArgs *, PetscInt j, PetscInt k);
/* b: whether lines have a b */
PETSC_INTERN void HJHostProductSet(const HJCoefficients *, PetscInt n, PetscBool b, HJHostProductArgs *);
/*
   y = b + w A x on a line: of r the lines around it (x, from their first points on; unset where the shape needs none), b, y and w are set.
   ends: of these lines the three points around the first point, and around the last; unset where HJHostProductNeedsEnds() is false. at:
   place of the first point in the coefficients. Changes r
*/
PETSC_INTERN void HJHostProductLine(const HJHostProductArgs *, HJHostRow *r, const PetscScalar ends[2][9][3], PetscCount at);

/* Whether the stencil has neighbours on the line (dy, dz) away */
static inline PetscBool HJHostProductNeedsLine(const HJCoefficients *a, int dy, int dz)
{
  if ((dy && a->dim < 2) || (dz && a->dim < 3)) return PETSC_FALSE;
  return (PetscBool)(a->shape == HJ_BOX || !dy || !dz);
}

/* Whether neighbours along the line l are needed */
static inline PetscBool HJHostProductNeedsEnds(const HJCoefficients *a, int l)
{
  return (PetscBool)(a->shape == HJ_BOX || l == 4);
}

/* The three points around the first and around the last point of a line, from the points before and after it */
static inline void HJHostProductEnds(const PetscScalar *x, PetscInt n, PetscScalar before, PetscScalar after, PetscScalar first[3],
                                     PetscScalar last[3])
{
  first[0] = before;
  first[1] = x[0];
  first[2] = n > 1 ? x[1] : after;
  last[0]  = n > 1 ? x[n - 2] : before;
  last[1]  = x[n - 1];
  last[2]  = after;
}

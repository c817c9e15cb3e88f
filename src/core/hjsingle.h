/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What a backend in single precision has besides: its numbers from those of the solver, and back. Decides nothing.
*/
#pragma once

#include "hjcoefficients.h"

/* What was seen of numbers that were rounded: the least, but for zeros, and the largest of their sizes. A NaN makes the largest one
   infinite */
typedef struct {
  PetscReal least, largest;
} HJRange;

/* Whether float holds such numbers with all its digits */
static inline PetscBool HJRangeFits(const HJRange *range)
{
  return (PetscBool)(range->least > 1.2e-38 && range->largest < 3.4e38);
}

/* What a device remembers of numbers that it has seen, in its memory, zeros at first: these numbers, and others that are its own, among
   them the scale that numbers are rounded with */
enum { HJ_SEEN_SQUARES, HJ_SEEN_BAD };

/* y = x + c, r = b - A y on a rank's own points; r is rounded, and seen. c is scale times e as it was before it was rounded; x NULL: 0 */
typedef struct {
  const HJGrid         *grid;
  const HJCoefficients *a;
  const PetscReal      *x, *b;
  const void           *e;
  PetscReal             scale, *y, *seen;
  void                 *rounded;
} HJAdvance;

/* Arrays named single hold float, the others double */
struct _n_HJSingleOps {
  /* The sum of squares of n numbers, and the largest size; infinite where there is NaN */
  PetscErrorCode (*measure)(PetscCount n, const PetscReal *x, PetscReal *squares, PetscReal *largest);
  /* single = scale x; range, unless it is NULL, takes what is seen of the scaled numbers, and where it does not fit then they are 0 */
  PetscErrorCode (*round)(PetscCount n, PetscReal scale, const PetscReal *x, void *single, HJRange *range);
  /* x = scale single, or x + scale single */
  PetscErrorCode (*widen)(PetscCount n, PetscReal scale, const void *single, PetscBool add, PetscReal *x);
  /* The sum of squares of n numbers, which is NaN or infinite where one of them is */
  PetscErrorCode (*measure_single)(PetscCount n, const void *single, PetscReal *squares);
  /*
     What does not wait for a device, which has no measure() and measure_single(); NULL on the host.
     nseen: numbers that it remembers. see: of n numbers, none of which is bad so far. round_seen: to sizes up to 1, those last seen.
     widen_seen: what has come of these, times scale; remembers whether one is bad: no finite number. multiply_dense: y = scale A x of
     single numbers, as that of HJMultigridOps. advances: whether advance() is there for a matrix
  */
  PetscCount nseen;
  PetscErrorCode (*see)(PetscCount n, const PetscReal *x, PetscReal *seen);
  PetscErrorCode (*round_seen)(PetscCount n, const PetscReal *x, PetscReal *seen, void *single);
  PetscErrorCode (*widen_seen)(PetscCount n, PetscReal scale, const void *single, PetscReal *seen, PetscReal *x);
  PetscErrorCode (*multiply_dense)(PetscInt n, PetscReal scale, const PetscReal *a, const void *x, void *y);
  PetscBool (*advances)(const HJCoefficients *, const HJGrid *);
  PetscErrorCode (*advance)(const HJAdvance *);
};

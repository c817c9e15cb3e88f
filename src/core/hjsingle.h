/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What a backend in single precision has besides: its numbers from those of the solver, and back. Decides nothing.
*/
#pragma once

#include "hjcore.h"

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
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Numbers of double precision in single, and back, line of cache by line of cache.
*/
#include "hjhost.h"
#include "core/hjsingle.h"

#define HJ_ROUND_LANES 8 /* sums and sizes that do not wait for one another */

/* The size of a number, with NaN the largest one */
static inline PetscReal HJRoundSize(PetscReal x)
{
  const PetscReal size = PetscAbsReal(x);

  return size == size ? size : HUGE_VAL;
}

static PetscErrorCode HJHostRoundMeasure(PetscCount n, const PetscReal *x, PetscReal *squares, PetscReal *largest)
{
  PetscReal  sum[HJ_ROUND_LANES] = {0}, most[HJ_ROUND_LANES] = {0};
  PetscCount i = 0;

  PetscFunctionBegin;
  for (; i + HJ_ROUND_LANES <= n; i += HJ_ROUND_LANES) {
    for (int l = 0; l < HJ_ROUND_LANES; l++) {
      const PetscReal size = PetscAbsReal(x[i + l]);

      sum[l] += size * size;
      most[l] = size > most[l] ? size : most[l];
    }
  }
  for (; i < n; i++) {
    sum[0] += x[i] * x[i];
    most[0] = PetscMax(most[0], PetscAbsReal(x[i]));
  }
  for (int l = 1; l < HJ_ROUND_LANES; l++) {
    sum[0] += sum[l];
    most[0] = PetscMax(most[0], most[l]);
  }
  *squares = sum[0];
  *largest = sum[0] == sum[0] ? most[0] : HUGE_VAL; /* a comparison with NaN is false, a sum with it NaN */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostRoundNumbers(PetscCount n, PetscReal scale, const PetscReal *x, void *single, HJRange *range)
{
  float *to = (float *)single;

  PetscFunctionBegin;
  for (PetscCount i = 0; i < n && range; i++) {
    const PetscReal size = HJRoundSize(scale * x[i]);

    range->largest = PetscMax(range->largest, size);
    if (size > 0.0) range->least = PetscMin(range->least, size);
  }
  if (range && !HJRangeFits(range)) memset(to, 0, (size_t)n * sizeof(*to)); /* none is made that would be infinite */
  else
    for (PetscCount i = 0; i < n; i++) to[i] = (float)(scale * x[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostRoundWiden(PetscCount n, PetscReal scale, const void *single, PetscBool add, PetscReal *x)
{
  const float *from = (const float *)single;

  PetscFunctionBegin;
  if (add)
    for (PetscCount i = 0; i < n; i++) x[i] += scale * from[i];
  else
    for (PetscCount i = 0; i < n; i++) x[i] = scale * from[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostRoundMeasureSingle(PetscCount n, const void *single, PetscReal *squares)
{
  const float *x                   = (const float *)single;
  PetscReal    sum[HJ_ROUND_LANES] = {0};
  PetscCount   i                   = 0;

  PetscFunctionBegin;
  for (; i + HJ_ROUND_LANES <= n; i += HJ_ROUND_LANES)
    for (int l = 0; l < HJ_ROUND_LANES; l++) sum[l] += (PetscReal)x[i + l] * x[i + l];
  for (; i < n; i++) sum[0] += (PetscReal)x[i] * x[i];
  for (int l = 1; l < HJ_ROUND_LANES; l++) sum[0] += sum[l];
  *squares = sum[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJSingleOps HJSingleHost = {.measure        = HJHostRoundMeasure,
                                  .round          = HJHostRoundNumbers,
                                  .widen          = HJHostRoundWiden,
                                  .measure_single = HJHostRoundMeasureSingle};

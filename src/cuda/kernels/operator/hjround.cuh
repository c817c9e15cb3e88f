/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What kernels see of the numbers that they make, in the device's memory, and the scale that these are rounded with.
*/
#pragma once

#include "hjsums.cuh"
#include "core/hjsingle.h"

/* The first numbers are those of core/hjsingle.h. scale: of the last numbers that were rounded; next: of those that are rounded next */
typedef struct {
  double     squares, bad, largest, scale, next;
  HJSumsRoom room;
} HJSizes;
static_assert(offsetof(HJSizes, squares) == HJ_SEEN_SQUARES * sizeof(double) && offsetof(HJSizes, bad) == HJ_SEEN_BAD * sizeof(double), "");

/* A power of 2, which rounds nothing, that makes numbers at most 1 */
static __device__ __forceinline__ double HJSizesScale(double largest)
{
  int exponent;

  if (!(largest > 0) || !isfinite(largest)) return 1;
  (void)frexp(largest, &exponent);
  return ldexp(1.0, max(min(-exponent, 1000), -1000));
}

/* Sums of squares and largest sizes of all threads. rounded: numbers were rounded with the next scale */
template <int THREADS> static __device__ void HJSizesTake(HJSizes *sizes, double squares, double largest, bool rounded)
{
  if (!HJSumsTake<THREADS, true>(&sizes->room, squares, largest)) return;
  sizes->squares = squares;
  sizes->largest = largest;
  if (rounded) sizes->scale = sizes->next;
  sizes->next = HJSizesScale(largest);
}

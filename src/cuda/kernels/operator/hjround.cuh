/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What kernels see of the numbers that they make, in the device's memory, and the scale that these are rounded with.
*/
#pragma once

#include "cuda/kernels/hjkernel.h"
#include "core/hjsingle.h"

/* The first numbers are those of core/hjsingle.h. scale: of the last numbers that were rounded; next: of those that are rounded next; part:
   of each block, sums and then largest sizes */
typedef struct {
  double   squares, bad, largest, scale, next;
  unsigned count[2]; /* blocks that are done; not used */
  double   part[2 * HJ_SUM_BLOCKS];
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

/* Sum of the first number, largest of the second over the block, in thread 0 */
template <int THREADS> static __device__ __forceinline__ void HJSizesOfBlock(double &squares, double &largest)
{
  __shared__ double s_part[2][THREADS / 32];

  for (int o = 16; o; o /= 2) {
    squares += __shfl_down_sync(~0u, squares, o);
    largest = fmax(largest, __shfl_down_sync(~0u, largest, o));
  }
  if (threadIdx.x % 32 == 0) {
    s_part[0][threadIdx.x / 32] = squares;
    s_part[1][threadIdx.x / 32] = largest;
  }
  __syncthreads();
  for (int w = 1; w < THREADS / 32 && !threadIdx.x; w++) {
    squares += s_part[0][w];
    largest = fmax(largest, s_part[1][w]);
  }
  __syncthreads();
}

/* The last block to finish takes all blocks' numbers together, always in the same order. At most HJ_SUM_BLOCKS blocks; the counter begins
   and ends at 0. rounded: numbers were rounded with the next scale */
template <int THREADS> static __device__ void HJSizesTake(HJSizes *sizes, double squares, double largest, bool rounded)
{
  __shared__ bool s_last;

  HJSizesOfBlock<THREADS>(squares, largest);
  if (!threadIdx.x) {
    sizes->part[blockIdx.x]                 = squares;
    sizes->part[HJ_SUM_BLOCKS + blockIdx.x] = largest;
    __threadfence();
    s_last = atomicInc(&sizes->count[0], gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!s_last) return;
  __threadfence();
  squares = largest = 0;
  for (int b = threadIdx.x; b < (int)gridDim.x; b += THREADS) {
    squares += __ldcg(&sizes->part[b]);
    largest = fmax(largest, __ldcg(&sizes->part[HJ_SUM_BLOCKS + b]));
  }
  HJSizesOfBlock<THREADS>(squares, largest);
  if (threadIdx.x) return;
  sizes->squares = squares;
  sizes->largest = largest;
  if (rounded) sizes->scale = sizes->next;
  sizes->next = HJSizesScale(largest);
}

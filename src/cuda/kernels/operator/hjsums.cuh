/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Two numbers of all threads of a kernel: the sum of the first, and the sum of the second, or the largest of it. Every run gives the same
   bits.
*/
#pragma once

#include "cuda/kernels/hjkernel.h"

/* Memory of a device, zeros at first. part: of each block, first numbers, then second ones */
typedef struct {
  unsigned count[2]; /* blocks that are done; not used */
  double   part[2 * HJ_SUM_BLOCKS];
} HJSumsRoom;

template <bool LARGEST> __device__ __forceinline__ double HJSumsBoth(double a, double b)
{
  return LARGEST ? fmax(a, b) : a + b;
}

/* Over the block, in thread 0 */
template <int THREADS, bool LARGEST> static __device__ __forceinline__ void HJSumsOfBlock(double &first, double &second)
{
  __shared__ double s_part[2][THREADS / 32];

  for (int o = 16; o; o /= 2) {
    first += __shfl_down_sync(~0u, first, o);
    second = HJSumsBoth<LARGEST>(second, __shfl_down_sync(~0u, second, o));
  }
  if (threadIdx.x % 32 == 0) {
    s_part[0][threadIdx.x / 32] = first;
    s_part[1][threadIdx.x / 32] = second;
  }
  __syncthreads();
  for (int w = 1; w < THREADS / 32 && !threadIdx.x; w++) {
    first += s_part[0][w];
    second = HJSumsBoth<LARGEST>(second, s_part[1][w]);
  }
  __syncthreads();
}

/* True in one thread, which has those of all blocks then: the last block to finish takes them together, always in the same order. At most
   HJ_SUM_BLOCKS blocks; the counter begins and ends at 0 */
template <int THREADS, bool LARGEST> static __device__ bool HJSumsTake(HJSumsRoom *room, double &first, double &second)
{
  __shared__ bool s_last;

  HJSumsOfBlock<THREADS, LARGEST>(first, second);
  if (!threadIdx.x) {
    room->part[blockIdx.x]                 = first;
    room->part[HJ_SUM_BLOCKS + blockIdx.x] = second;
    __threadfence();
    s_last = atomicInc(&room->count[0], gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!s_last) return false;
  __threadfence();
  first = second = 0;
  for (int b = threadIdx.x; b < (int)gridDim.x; b += THREADS) {
    first += __ldcg(&room->part[b]);
    second = HJSumsBoth<LARGEST>(second, __ldcg(&room->part[HJ_SUM_BLOCKS + b]));
  }
  HJSumsOfBlock<THREADS, LARGEST>(first, second);
  return !threadIdx.x;
}

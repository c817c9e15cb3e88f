/*
   What the star kernels that keep their planes in registers share: rows at the edges of warps, passed on through shared memory.
*/
#pragma once

#include "hjstream3d.cuh"

/* Barriers between two warps. Before compute capability 9.0 a barrier of the whole block ends each step instead */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  #define HJ3_PAIRS 1
#else
  #define HJ3_PAIRS 0
#endif

/*
   First and last row of each warp and level, for the warps beside it in y: two sets, of even and odd steps. A warp calls Wait(z ^ 1), reads, puts, Done(z)
   in step z of a pair: who has seen its neighbour's Done(z) may put again in the next step z.
*/
template <int L, int NW> struct HJ3Edges {
  static constexpr int LEVEL = (NW + 1) * 2 * HJ3_TX, SET = (L - 1) * LEVEL; /* zeros, first and last of each warp, zeros */
  static constexpr int BYTES = 16 * SET + 16 * NW;                           /* two barriers a warp */

  double  *es; /* this lane's place in the row before the warp's first */
  unsigned bar, beside[2], phase;

  __device__ HJ3Edges(double *sm) : bar(0), beside{0, 0}, phase(0)
  {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;

    es = sm + warp * 2 * HJ3_TX + 2 * lane;
    for (int i = threadIdx.x; i < 2 * SET; i += 32 * NW) sm[i] = 0;
#if HJ3_PAIRS
    const unsigned bars = (unsigned)__cvta_generic_to_shared(sm + 2 * SET);

    bar       = bars + 16 * warp;
    beside[0] = warp > 0 ? bar - 16 : 0;
    beside[1] = warp < NW - 1 ? bar + 16 : 0;
    if (lane < 2)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar + 8 * lane), "r"(32 * ((warp > 0) + (warp < NW - 1))) : "memory");
#endif
    __syncthreads();
  }

  /* Until the neighbours' step before is done; z: of that step. The vote tells the assembler that the warp stays together */
  __device__ __forceinline__ void Wait(int z)
  {
#if HJ3_PAIRS
    unsigned done;

    do
      asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                   : "=r"(done)
                   : "r"(bar + 8 * z), "r"(phase ^ z)
                   : "memory");
    while (!__all_sync(~0u, done));
    phase ^= z ^ 1;
#endif
  }

  __device__ __forceinline__ double2 Outside(int j, int z, int side) const
  {
    return *(const double2 *)(es + z * SET + (j - 1) * LEVEL + side * 3 * HJ3_TX);
  }

  __device__ __forceinline__ void Put(int j, int z, bool last, double v0, double v1) const
  {
    *(double2 *)(es + z * SET + (j - 1) * LEVEL + (last ? 2 : 1) * HJ3_TX) = make_double2(v0, v1);
  }

  __device__ __forceinline__ void Done(int z) const
  {
#if HJ3_PAIRS
    for (int i = 0; i < 2; i++) {
      if (beside[i]) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(beside[i] + 8 * z) : "memory");
    }
#endif
  }

  /* What the step has loaded is there for the next one */
  static __device__ __forceinline__ void EndStep()
  {
    HJ3CopyWait();
#if HJ3_PAIRS
    __syncwarp();
#else
    __syncthreads();
#endif
  }
};

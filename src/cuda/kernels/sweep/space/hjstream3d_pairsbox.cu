/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Two subiterations a launch with arrays of a box, see hjstream3d_pairs.cuh. The 27 values of x around a thread's place are in registers;
   three planes are one run of instructions, so that none of these moves.
*/
#include "hjstream3d_pairs.cuh"

template <bool SYM, bool ZERO>
__global__ void __launch_bounds__(HJ3_PAIR_BOX_THREADS, 1) HJ3PairBox_Kernel(const __grid_constant__ HJ3PairArgs p)
{
  extern __shared__ PetscScalar s_f[]; /* three planes of the first subiteration's results, with a ring of zeros */
  const HJ3PairPlace            t  = HJ3PairLocate<1>(p);
  const int                     oi = t.i - p.write.lo[0], oj = t.j - p.write.lo[1], ok = t.r0 - p.write.lo[2], px = t.px, plane = t.plane;
  PetscScalar *const            f  = s_f + t.at;
  const PetscScalar            *xp = p.x + ok * p.nxy + (long long)oj * p.nx + oi, *bp = p.b + ok * p.nxy + (long long)oj * p.nx + oi;
  PetscScalar                  *yp   = p.y + (ok - 1) * p.nyxy + (long long)oj * p.ny + oi; /* of the plane before */
  long long                     at   = ok * p.cxy + (long long)oj * p.cx + oi;
  unsigned                      in   = 0;
  int                           slot = 0;
  PetscScalar                   v[3][9], up[9], sum = 0.0, before = 0.0, dbefore = 0.0, bbefore = 0.0;

  for (int q = threadIdx.x; q < 3 * plane; q += blockDim.x) s_f[q] = 0.0;
#pragma unroll
  for (int q = 0; q < 9; q++) {
    up[q] = v[0][q] = v[1][q] = 0.0;
    if (t.active && HJ3PairInside(p, t.i + q % 3 - 1, t.j + q / 3 - 1)) in |= 1u << q;
  }
  __syncthreads();
  HJDAwaitInput();
  HJDLetNextStart();
  if (!ZERO) {
#pragma unroll
    for (int q = 0; q < 9; q++) {
      if (in >> q & 1) v[1][q] = xp[(q / 3 - 1) * p.nx + q % 3 - 1];
      if ((in >> q & 1) && t.r0 > p.domain.lo[2]) v[0][q] = xp[(q / 3 - 1) * p.nx + q % 3 - 1 - p.nxy];
    }
  }
#pragma unroll 3
  for (int r = t.r0; r <= t.k1; r++) {
    const bool  there = r < p.domain.hi[2];
    PetscScalar c[26], g[9], now = 0.0, dinv = 0.0, b = 0.0;

    if (there && t.active) {
      if (r + HJ3_PAIR_BOX_AHEAD < t.end && threadIdx.x % HJ3_PAIR_SECTOR == 0) {
#pragma unroll
        for (int o = SYM ? 13 : 0; o < 26; o++) HJ3PairPrefetch(p.value[o] + at + HJ3_PAIR_BOX_AHEAD * p.cxy);
        HJ3PairPrefetch(p.dinv + at + HJ3_PAIR_BOX_AHEAD * p.cxy);
        HJ3PairPrefetch(bp + HJ3_PAIR_BOX_AHEAD * p.nxy);
        if (!ZERO && r + HJ3_PAIR_BOX_AHEAD + 1 < p.domain.hi[2]) HJ3PairPrefetch(xp + (HJ3_PAIR_BOX_AHEAD + 1) * p.nxy);
      }
      b    = *bp;
      dinv = p.dinv[at];
#pragma unroll
      for (int q = 0; q < 9; q++)
        v[2][q] = !ZERO && (in >> q & 1) && r + 1 < p.domain.hi[2] ? xp[p.nxy + (q / 3 - 1) * p.nx + q % 3 - 1] : HJ_ZERO;
#pragma unroll
      for (int o = 0; o < 26; o++) c[o] = !ZERO || t.own ? p.value[o][at] : HJ_ZERO;
      if (ZERO) now = p.w[0] * dinv * b;
      else {
        PetscScalar a[3] = {0.0, 0.0, 0.0};

#pragma unroll
        for (int o = 0; o < 26; o++) {
          const int q = o < 13 ? o : o + 1;

          a[q / 9] = fma(c[o], v[q / 9][q % 9], a[q / 9]);
        }
        now = fma(p.w[0], dinv * (b - (a[0] + a[1] + a[2])) - v[1][4], v[1][4]);
      }
      f[slot * plane] = now;
    } else {
      if (t.mine) f[slot * plane] = 0.0; /* beyond the domain's end */
#pragma unroll
      for (int o = 0; o < 26; o++) c[o] = 0.0;
    }
    __syncthreads();
    if (t.own) {
      const PetscScalar *here = f + slot * plane, *below = f + (slot ? slot - 1 : 2) * plane;
      PetscScalar        s0 = 0.0, s1 = 0.0;

#pragma unroll
      for (int q = 0; q < 9; q++) g[q] = here[(q / 3 - 1) * px + q % 3 - 1];
      if (r > t.k0) {
#pragma unroll
        for (int q = 0; q < 9; q++) sum = fma(up[q], g[q], sum);
        *yp = fma(p.w[1], dbefore * (bbefore - sum) - before, before);
      }
#pragma unroll
      for (int q = 0; q < 9; q++) {
        s0 = fma(c[q], below[(q / 3 - 1) * px + q % 3 - 1], s0);
        if (q != 4) s1 = fma(c[9 + (q < 4 ? q : q - 1)], g[q], s1);
        up[q] = c[17 + q];
      }
      sum     = s0 + s1;
      before  = now;
      dbefore = dinv;
      bbefore = b;
    }
#pragma unroll
    for (int q = 0; q < 9; q++) {
      v[0][q] = v[1][q];
      v[1][q] = v[2][q];
    }
    slot = slot == 2 ? 0 : slot + 1;
    xp += p.nxy;
    bp += p.nxy;
    yp += p.nyxy;
    at += p.cxy;
  }
}

const HJ3PairKernels HJ3PairBox = {{{(const void *)HJ3PairBox_Kernel<false, false>, (const void *)HJ3PairBox_Kernel<false, true>},
                                    {(const void *)HJ3PairBox_Kernel<true, false>, (const void *)HJ3PairBox_Kernel<true, true>}},
                                   1,
                                   3,
                                   HJ3_PAIR_BOX_THREADS,
                                   1};

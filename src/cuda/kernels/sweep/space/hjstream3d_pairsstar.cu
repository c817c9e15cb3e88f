/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Two and three subiterations a launch with arrays of a star, see hjstream3d_pairs.cuh. Above its own point only the same column is read:
   the second subiteration of plane r - 1 follows the first of plane r at once, and so on.
*/
#include "hjstream3d_pairs.cuh"

/* What a thread reads of plane r: coefficients, b, x beside its point and x above it */
template <bool SYM, bool ZERO> struct HJ3PairStarPlane {
  PetscScalar c[6], dinv, b, side[4], above;

  __device__ __forceinline__ void Load(const HJ3PairArgs &p, const HJ3PairPlace &t, int r, unsigned in, const PetscScalar *x,
                                       const PetscScalar *bp, long long at)
  {
#pragma unroll
    for (int o = 0; o < 6; o++) c[o] = 0.0;
#pragma unroll
    for (int o = 0; o < 4; o++) side[o] = 0.0;
    dinv = b = above = 0.0;
    if (r >= t.end || !t.active) return;
    if (r + HJ3_PAIR_AHEAD < t.end && threadIdx.x % HJ3_PAIR_SECTOR == 0) {
#pragma unroll
      for (int o = SYM ? 1 : 0; o < 6; o += SYM ? 2 : 1) HJ3PairPrefetch(p.value[o] + at + HJ3_PAIR_AHEAD * p.cxy);
      HJ3PairPrefetch(p.dinv + at + HJ3_PAIR_AHEAD * p.cxy);
      HJ3PairPrefetch(bp + HJ3_PAIR_AHEAD * p.nxy);
      if (!ZERO && r + HJ3_PAIR_AHEAD + 1 < p.domain.hi[2]) HJ3PairPrefetch(x + (HJ3_PAIR_AHEAD + 1) * p.nxy);
    }
    b    = *bp;
    dinv = p.dinv[at];
#pragma unroll
    for (int o = 0; o < 6; o++) c[o] = p.value[o][at];
    if (ZERO) return;
    if (r + 1 < p.domain.hi[2]) above = x[p.nxy];
#pragma unroll
    for (int o = 0; o < 4; o++)
      if (in >> o & 1) side[o] = x[HJDOffset(3, false, o, 1) * p.nx + HJDOffset(3, false, o, 0)];
  }
};

template <bool SYM, bool ZERO>
__global__ void __launch_bounds__(HJ3_PAIR_STAR_THREADS, HJ3_PAIR_STAR_BLOCKS) HJ3PairStar_Kernel(const __grid_constant__ HJ3PairArgs p)
{
  extern __shared__ PetscScalar s_f[]; /* two planes of the first subiteration's results, with a ring of zeros */
  const HJ3PairPlace            t  = HJ3PairLocate<1>(p);
  const int                     oi = t.i - p.write.lo[0], oj = t.j - p.write.lo[1], ok = t.r0 - p.write.lo[2];
  const PetscScalar            *xp = p.x + ok * p.nxy + (long long)oj * p.nx + oi, *bp = p.b + ok * p.nxy + (long long)oj * p.nx + oi;
  PetscScalar                  *yp = p.y + (ok - 1) * p.nyxy + (long long)oj * p.ny + oi, *f = s_f + t.at; /* y: of the plane before */
  long long                     at    = ok * p.cxy + (long long)oj * p.cx + oi;
  unsigned                      in    = 0;
  int                           other = t.plane;
  PetscScalar                   x0 = 0.0, x1 = 0.0, up = 0.0, sum = 0.0, before = 0.0, dbefore = 0.0,
              bbefore = 0.0; /* x at the place in planes r - 1 and r */
  HJ3PairStarPlane<SYM, ZERO> next;

  for (int q = threadIdx.x; q < 2 * t.plane; q += blockDim.x) s_f[q] = 0.0;
#pragma unroll
  for (int o = 0; o < 4; o++) {
    if (t.active && HJ3PairInside(p, t.i + HJDOffset(3, false, o, 0), t.j + HJDOffset(3, false, o, 1))) in |= 1u << o;
  }
  __syncthreads();
  HJDAwaitInput();
  HJDLetNextStart();
  if (!ZERO && t.active) {
    x1 = *xp;
    if (t.r0 > p.domain.lo[2]) x0 = xp[-p.nxy];
  }
  next.Load(p, t, t.r0, in, xp, bp, at);
#pragma unroll 2
  for (int r = t.r0; r <= t.k1; r++) {
    const HJ3PairStarPlane<SYM, ZERO> q   = next;
    PetscScalar                       now = 0.0;

    xp += p.nxy;
    bp += p.nxy;
    at += p.cxy;
    next.Load(p, t, r + 1, in, xp, bp, at); /* while this plane is computed */
    if (r < p.domain.hi[2] && t.active) {
      if (ZERO) now = p.w[0] * q.dinv * q.b;
      else {
        const PetscScalar ends = fma(q.c[4], x0, q.c[5] * q.above);
        PetscScalar       side = 0.0;

#pragma unroll
        for (int o = 0; o < 4; o++) side = fma(q.c[o], q.side[o], side);
        now = fma(p.w[0], q.dinv * (q.b - (side + ends)) - x1, x1);
      }
    }
    if (t.mine) *f = now; /* 0 beyond the domain's end */
    __syncthreads();
    if (t.own) {
      if (r > t.k0) *yp = fma(p.w[1], dbefore * (bbefore - fma(up, now, sum)) - before, before);
      sum = q.c[4] * before;
#pragma unroll
      for (int o = 0; o < 4; o++) sum = fma(q.c[o], f[HJDOffset(3, false, o, 1) * t.px + HJDOffset(3, false, o, 0)], sum);
      up      = q.c[5];
      before  = now;
      dbefore = q.dinv;
      bbefore = q.b;
    }
    x0 = x1;
    x1 = q.above;
    f += other;
    other = -other;
    yp += p.nyxy;
  }
}

const HJ3PairKernels HJ3PairStar = {{{(const void *)HJ3PairStar_Kernel<false, false>, (const void *)HJ3PairStar_Kernel<false, true>},
                                     {(const void *)HJ3PairStar_Kernel<true, false>, (const void *)HJ3PairStar_Kernel<true, true>}},
                                    1,
                                    2,
                                    HJ3_PAIR_STAR_THREADS,
                                    HJ3_PAIR_STAR_BLOCKS};

template <bool SYM, bool ZERO>
__global__ void __launch_bounds__(HJ3_TRIPLE_THREADS, 1) HJ3TripleStar_Kernel(const __grid_constant__ HJ3PairArgs p)
{
  extern __shared__ PetscScalar s_f[]; /* two planes of the first subiteration's results, two of the second's, with a ring of zeros */
  const HJ3PairPlace            t  = HJ3PairLocate<2>(p);
  const int                     oi = t.i - p.write.lo[0], oj = t.j - p.write.lo[1], ok = t.r0 - p.write.lo[2];
  const PetscScalar            *xp = p.x + ok * p.nxy + (long long)oj * p.nx + oi, *bp = p.b + ok * p.nxy + (long long)oj * p.nx + oi;
  PetscScalar                  *yp = p.y + (ok - 2) * p.nyxy + (long long)oj * p.ny + oi, *f = s_f + t.at; /* y: two planes before */
  long long                     at    = ok * p.cxy + (long long)oj * p.cx + oi;
  unsigned                      in    = 0;
  int                           other = t.plane;
  /* x at the place in planes r - 1 and r. Of planes r - 1 and r - 2: what the next subiteration adds up, its coefficient above, inverse
     diagonal, b, and the value that it starts from */
  PetscScalar x0 = 0.0, x1 = 0.0, c[5] = {0.0, 0.0, 0.0, 0.0, 0.0}, sum[2] = {0.0, 0.0}, up[2] = {0.0, 0.0}, dinv[2] = {0.0, 0.0},
              b[2] = {0.0, 0.0}, before[2] = {0.0, 0.0};
  HJ3PairStarPlane<SYM, ZERO> next;

  for (int q = threadIdx.x; q < 4 * t.plane; q += blockDim.x) s_f[q] = 0.0;
#pragma unroll
  for (int o = 0; o < 4; o++) {
    if (t.active && HJ3PairInside(p, t.i + HJDOffset(3, false, o, 0), t.j + HJDOffset(3, false, o, 1))) in |= 1u << o;
  }
  __syncthreads();
  HJDAwaitInput();
  HJDLetNextStart();
  if (!ZERO && t.active) {
    x1 = *xp;
    if (t.r0 > p.domain.lo[2]) x0 = xp[-p.nxy];
  }
  next.Load(p, t, t.r0, in, xp, bp, at);
#pragma unroll 1
  for (int r = t.r0; r <= t.k1 + 1; r++) {
    const HJ3PairStarPlane<SYM, ZERO> q     = next;
    PetscScalar                       first = 0.0, s0, s1;

    xp += p.nxy;
    bp += p.nxy;
    at += p.cxy;
    next.Load(p, t, r + 1, in, xp, bp, at); /* while this plane is computed */
    if (r < p.domain.hi[2] && t.active) {
      if (ZERO) first = p.w[0] * q.dinv * q.b;
      else {
        const PetscScalar ends = fma(q.c[4], x0, q.c[5] * q.above);
        PetscScalar       side = 0.0;

#pragma unroll
        for (int o = 0; o < 4; o++) side = fma(q.c[o], q.side[o], side);
        first = fma(p.w[0], q.dinv * (q.b - (side + ends)) - x1, x1);
      }
    }
    /* outside the domain all is 0, and stays so */
    const PetscScalar second = fma(p.w[1], dinv[0] * (b[0] - fma(up[0], first, sum[0])) - before[0], before[0]);

    if (t.own && r - 2 >= t.k0) *yp = fma(p.w[2], dinv[1] * (b[1] - fma(up[1], second, sum[1])) - before[1], before[1]);
    if (t.mine) {
      f[0]           = first;
      f[2 * t.plane] = second;
    }
    __syncthreads();
    s0 = q.c[4] * before[0];
    s1 = c[4] * before[1];
    if (t.active) {
#pragma unroll
      for (int o = 0; o < 4; o++) {
        const int away = HJDOffset(3, false, o, 1) * t.px + HJDOffset(3, false, o, 0);

        s0 = fma(q.c[o], f[away], s0);
        s1 = fma(c[o], f[2 * t.plane + away], s1);
      }
    }
    sum[1]    = s1;
    up[1]     = up[0];
    dinv[1]   = dinv[0];
    b[1]      = b[0];
    before[1] = second;
    sum[0]    = s0;
    up[0]     = q.c[5];
    dinv[0]   = q.dinv;
    b[0]      = q.b;
    before[0] = first;
#pragma unroll
    for (int o = 0; o < 5; o++) c[o] = q.c[o];
    x0 = x1;
    x1 = q.above;
    f += other;
    other = -other;
    yp += p.nyxy;
  }
}

const HJ3PairKernels HJ3TripleStar = {{{(const void *)HJ3TripleStar_Kernel<false, false>, (const void *)HJ3TripleStar_Kernel<false, true>},
                                       {(const void *)HJ3TripleStar_Kernel<true, false>, (const void *)HJ3TripleStar_Kernel<true, true>}},
                                      2,
                                      4,
                                      HJ3_TRIPLE_THREADS,
                                      1};

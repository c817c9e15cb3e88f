/*
   Two subiterations a launch with arrays of a star, see hjstream3d_pairs.cuh.
*/
#include "hjstream3d_pairs.cuh"

#define HJ3_PAIR_STAR_THREADS 512
#define HJ3_PAIR_STAR_BLOCKS  2 /* one computes while another waits */

template <bool SYM, bool ZERO>
__global__ void __launch_bounds__(HJ3_PAIR_STAR_THREADS, HJ3_PAIR_STAR_BLOCKS) HJ3PairStar_Kernel(const __grid_constant__ HJ3PairArgs p)
{
  extern __shared__ double s_f[]; /* two planes of the first subiteration's results, with a ring of zeros */
  const HJ3PairPlace       t  = HJ3PairLocate(p);
  const int                oi = t.i - p.write.lo[0], oj = t.j - p.write.lo[1], ok = t.r0 - p.write.lo[2];
  const double            *xp = p.x + ok * p.nxy + (long long)oj * p.nx + oi, *bp = p.b + ok * p.nxy + (long long)oj * p.nx + oi;
  double                  *yp = p.y + (ok - 1) * p.nyxy + (long long)oj * p.ny + oi, *f = s_f + t.at; /* y: of the plane before */
  long long                at    = ok * p.cxy + (long long)oj * p.cx + oi;
  unsigned                 in    = 0;
  int                      other = t.plane;
  double x0 = 0.0, x1 = 0.0, up = 0.0, sum = 0.0, before = 0.0, dbefore = 0.0, bbefore = 0.0; /* x at the place in planes r - 1 and r */

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
#pragma unroll 1
  for (int r = t.r0; r <= t.k1; r++) {
    double c[6], now = 0.0, dinv = 0.0, b = 0.0, x2 = 0.0;

#pragma unroll
    for (int o = 0; o < 6; o++) c[o] = 0.0;
    if (r < p.domain.hi[2] && t.active) {
      if (r + HJ3_PAIR_AHEAD < min(t.k1 + 1, p.domain.hi[2]) && threadIdx.x % HJ3_PAIR_SECTOR == 0) {
#pragma unroll
        for (int o = SYM ? 1 : 0; o < 6; o += SYM ? 2 : 1) HJ3PairPrefetch(p.value[o] + at + HJ3_PAIR_AHEAD * p.cxy);
        HJ3PairPrefetch(p.dinv + at + HJ3_PAIR_AHEAD * p.cxy);
        HJ3PairPrefetch(bp + HJ3_PAIR_AHEAD * p.nxy);
        if (!ZERO && r + HJ3_PAIR_AHEAD + 1 < p.domain.hi[2]) HJ3PairPrefetch(xp + (HJ3_PAIR_AHEAD + 1) * p.nxy);
      }
      b    = *bp;
      dinv = p.dinv[at];
#pragma unroll
      for (int o = 0; o < 6; o++)
        if (!ZERO || t.own) c[o] = p.value[o][at];
      if (ZERO) now = p.w[0] * dinv * b;
      else {
        double side = 0.0;

        if (r + 1 < p.domain.hi[2]) x2 = xp[p.nxy];
#pragma unroll
        for (int o = 0; o < 4; o++) {
          const double v = in >> o & 1 ? xp[HJDOffset(3, false, o, 1) * p.nx + HJDOffset(3, false, o, 0)] : 0.0;

          side = fma(c[o], v, side);
        }
        now = fma(p.w[0], dinv * (b - (side + fma(c[4], x0, c[5] * x2))) - x1, x1);
      }
    }
    if (t.mine) *f = now; /* 0 beyond the domain's end */
    __syncthreads();
    if (t.own) {
      if (r > t.k0) *yp = fma(p.w[1], dbefore * (bbefore - fma(up, now, sum)) - before, before);
      sum = c[4] * before;
#pragma unroll
      for (int o = 0; o < 4; o++) sum = fma(c[o], f[HJDOffset(3, false, o, 1) * t.px + HJDOffset(3, false, o, 0)], sum);
      up      = c[5];
      before  = now;
      dbefore = dinv;
      bbefore = b;
    }
    x0 = x1;
    x1 = x2;
    f += other;
    other = -other;
    xp += p.nxy;
    bp += p.nxy;
    yp += p.nyxy;
    at += p.cxy;
  }
}

const HJ3PairKernels HJ3PairStar = {{{(const void *)HJ3PairStar_Kernel<false, false>, (const void *)HJ3PairStar_Kernel<false, true>},
                                     {(const void *)HJ3PairStar_Kernel<true, false>, (const void *)HJ3PairStar_Kernel<true, true>}},
                                    2,
                                    HJ3_PAIR_STAR_THREADS,
                                    HJ3_PAIR_STAR_BLOCKS};

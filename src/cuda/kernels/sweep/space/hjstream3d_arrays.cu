/* SPDX-License-Identifier: BSD-2-Clause */
/*
   3D star, one coefficient array per offset (variable; symmetric: upper half), for devices without clusters and bulk copies: how a
   block streams one piece through two levels. A warp holds one row, a lane the points lane and lane + 32 of it. Planes of x and of the
   residual lie in shared memory; coefficients are read once, a plane ahead, straight into registers, and stay there, scaled by the
   inverse diagonal, for the second level. Decides nothing about where pieces lie.
*/
#include "hjstream3d.cuh"

template <int NW, bool SYM> struct HJ3ArraysBlock : HJ3Block<1, NW, 3, 0> {
  typedef HJ3Block<1, NW, 3, 0> Base; /* slots of x: landing, newest, one with neighbours */
  using Base::g, Base::f, Base::xs, Base::slot, Base::lane, Base::warp, Base::py, Base::PX;
  static constexpr int PE = HJ3_TX + 2, SE = (NW + 2) * PE; /* a plane of the residual with zeros around */
  static constexpr int BYTES = Base::READ_BYTES + 2 * HJ_BYTES * SE + sizeof(HJ3Fixed);

  PetscScalar *es;
  unsigned     in, out, read;       /* a bit for each of the two points: has a residual, is written, has coefficients that may be read */
  long long    bat, cat;            /* this lane's place in b and the coefficients, in the plane that is read next */
  int          ni;                  /* row length of the coefficients */
  int2         zc;                  /* planes of them that may be read */
  PetscScalar  k[2][7], b[2];       /* coefficients of plane r - 1, inverse diagonal last, and b */
  PetscScalar  C[2][6];             /* of plane r - 2, times the inverse diagonal */
  PetscScalar  x1[2], r1[2], r2[2]; /* x of plane r - 2, residual of r - 2 and r - 3 */

  __device__ HJ3ArraysBlock(const HJ3Args &args, PetscScalar *sm)
      : Base(args, sm, (HJ3Fixed *)(sm + Base::READ_BYTES / HJ_BYTES + 2 * SE)), es(sm + Base::READ_BYTES / HJ_BYTES)
  {
  }

  /* Plane r of b and coefficients, r one more than the last time; the symmetric coefficient below came with the plane before */
  __device__ __forceinline__ void LoadCoefficients(int r)
  {
    const bool         there = HJ3In(zc, r), bthere = HJ3In(f.zb, r);
    const PetscScalar *bp = HJDHome(f.home.x, f.home.y, f.b, f.bghost, r) + bat;

    HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      const bool        now = there && (read >> v & 1);
      const long long   at  = cat + 32 * v;
      const PetscScalar up  = k[v][5];

      b[v]                                           = bthere && (in >> v & 1) ? bp[32 * v] : HJ_ZERO;
      HJ3_UNROLL for (int a = 0; a < 7; a++) k[v][a] = 0;
      if (SYM) k[v][4] = up;
      if (!now) continue;
      k[v][0] = SYM ? g.value[1][at - 1] : g.value[0][at];
      k[v][1] = g.value[1][at];
      k[v][2] = SYM ? g.value[3][at - ni] : g.value[2][at];
      k[v][3] = g.value[3][at];
      if (!SYM) k[v][4] = g.value[4][at];
      k[v][5] = g.value[5][at];
      k[v][6] = g.dinv[at];
    }
    bat += f.sz;
    cat += f.si;
  }

  /* Returns the first plane of x that a step takes in: the second that is read */
  __device__ int Start(const HJ3Piece &q)
  {
    const HJDSweep &s   = g.sweep[q.sweep];
    const int       row = q.y + warp, c = q.x + lane, inner = max(g.depth - 1, 0);
    const int2      rx = HJ3Reach(s, 0, q.own_lo[0], q.own_hi[0], inner), ry = HJ3Reach(s, 1, q.own_lo[1], q.own_hi[1], inner);

    for (int i = threadIdx.x; i < 2 * SE; i += 32 * NW) es[i] = 0;
    const int r0 = Base::template Start<false>(q, 1, 0);

    in   = Base::Bits(rx, ry, c, c + 32, row);
    out  = Base::Bits(make_int2(q.own_lo[0], q.own_hi[0]), make_int2(q.own_lo[1], q.own_hi[1]), c, c + 32, row);
    read = in & Base::Bits(make_int2(g.sbox.lo[0], g.sbox.hi[0]), make_int2(g.sbox.lo[1], g.sbox.hi[1]), c, c + 32, row);
    ni   = f.ni;
    zc  = make_int2(max(max(q.z0 - inner - SYM, s.domain.lo[2] - SYM), g.sbox.lo[2]), min(min(q.z1 + inner, s.domain.hi[2]), g.sbox.hi[2]));
    bat = HJDIndex(s.box, c, row, r0);
    cat = HJDIndex(g.sbox, c, row, r0);
    py  = s.y + HJDIndex(s.ybox, c, row, r0 - 1);
    HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      k[v][5] = SYM && HJ3In(zc, r0 - 1) && (read >> v & 1) ? g.value[5][cat - f.si + 32 * v] : HJ_ZERO;
      x1[v] = r1[v] = r2[v]                          = 0;
      HJ3_UNROLL for (int a = 0; a < 6; a++) C[v][a] = 0;
    }
    LoadCoefficients(r0);
    this->LoadX(r0 + 1, 1);
    slot = 1;
    HJCopyWaitAll();
    __syncthreads();
    return r0 + 1;
  }

  /* The residual of this lane's point in plane r - 1, where it and its neighbours have come; x: the point itself */
  __device__ __forceinline__ PetscScalar Residual(int r, int v, PetscScalar &x) const
  {
    const PetscScalar *mid = this->X(1), *newest = this->X(0);
    const int          c = lane + 32 * v;
    PetscScalar        t = b[v];

    x = mid[c];
    t = fma(-k[v][0], mid[c ? c - 1 : HJ3_TX], t);
    t = fma(-k[v][1], mid[c < HJ3_TX - 1 ? c + 1 : HJ3_TX + 1], t);
    t = fma(-k[v][2], mid[c - PX], t);
    t = fma(-k[v][3], mid[c + PX], t);
    t = fma(-k[v][4], x1[v], t);
    t = fma(-k[v][5], r < f.zx.y ? newest[c] : HJ_ZERO, t);
    t = fma(k[v][6], t, -x);
    return (in >> v & 1) && this->Active(0, r - 1) ? t : HJ_ZERO;
  }

  /* Plane r of x has arrived: residual of plane r - 1, y of plane r - 2. y = x + (w0 + w1) r - w0 w1 T r */
  __device__ __forceinline__ void Step(int r)
  {
    const PetscScalar  sum = g.w[0] + g.w[1], product = g.w[0] * g.w[1];
    PetscScalar       *e      = es + (r & 1) * SE + (warp + 1) * PE + 1 + lane;
    const PetscScalar *before = es + (~r & 1) * SE + (warp + 1) * PE + 1 + lane;
    const bool         writes = r - 2 >= f.z0 && r - 2 < f.z1;

    this->LoadX(r + 1, this->NextSlot());
    HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      const PetscScalar *m = before + 32 * v;
      PetscScalar        x, o, t = r1[v];

      t = fma(C[v][0], m[-1], t);
      t = fma(C[v][1], m[1], t);
      t = fma(C[v][2], m[-PE], t);
      t = fma(C[v][3], m[PE], t);
      t = fma(C[v][4], r2[v], t);
      o = Residual(r, v, x);
      t = fma(C[v][5], o, t);
      if (writes && (out >> v & 1)) {
        const PetscScalar y = fma(-product, t, fma(sum, r1[v], x1[v]));

        py[32 * v] = y;
        this->Copy(r - 2, py + 32 * v, y);
      }
      HJ3_UNROLL for (int a = 0; a < 6; a++) C[v][a] = k[v][6] * k[v][a];
      e[32 * v]                                      = o;
      r2[v]                                          = r1[v];
      r1[v]                                          = o;
      x1[v]                                          = x;
    }
    LoadCoefficients(r);
    py += f.sy;
    slot = this->NextSlot();
    HJCopyWaitAll();
    __syncthreads();
  }
};

template <int NW, bool SYM> static __global__ void __launch_bounds__(32 * NW, 1) HJ3Arrays_Kernel(const __grid_constant__ HJ3Args g)
{
  extern __shared__ __align__(16) PetscScalar sm[];
  HJ3ArraysBlock<NW, SYM>                     block(g, sm);

  for (int i = g.first[blockIdx.x]; i < g.first[blockIdx.x + 1]; i++) {
    const HJ3Piece q = g.piece[i];

    for (int r = block.Start(q); r < q.z1 + 2; r++) block.Step(r);
    __syncthreads();
  }
}

template <int NW, bool SYM> static cudaError_t HJ3ArraysLaunch(cudaStream_t stream, int blocks, const HJ3Args *g, const void *)
{
  const int   bytes = HJ3ArraysBlock<NW, SYM>::BYTES;
  cudaError_t e     = cudaFuncSetAttribute(HJ3Arrays_Kernel<NW, SYM>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e != cudaSuccess) return e;
  HJ3Arrays_Kernel<NW, SYM><<<blocks, 32 * NW, bytes, stream>>>(*g);
  return cudaGetLastError();
}

#define HJ3_ARRAYS_KERNEL(NW, SYM)                                                                                                         \
  {                                                                                                                                        \
    NW, 2, HJ3ArraysBlock<NW, SYM>::BYTES, HJ3ArraysLaunch<NW, SYM>                                                                        \
  }

const HJ3Kernel HJ3KernelVariable2  = HJ3_ARRAYS_KERNEL(HJ3_ARRAYS_WARPS, false);
const HJ3Kernel HJ3KernelSymmetric2 = HJ3_ARRAYS_KERNEL(HJ3_ARRAYS_WARPS, true);

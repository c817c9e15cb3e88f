/*
   3D star, one coefficient array per offset (variable; symmetric: upper half): how a block streams one piece through two levels. Coefficients pass through
   shared memory once, for the first level, and stay in registers for the second, one plane later. Decides nothing about where pieces lie.
*/
#include "hjstream3d.cuh"

template <int R, int NW, bool SYM> struct HJ3VariableBlock : HJ3Block<R, NW, 3, 2> {
  typedef HJ3Block<R, NW, 3, 2> Base; /* slots of x: landing, newest, one with neighbours */
  using Base::g, Base::f, Base::bs, Base::slot, Base::lane, Base::warp, Base::own, Base::py, Base::SB, Base::TY, Base::Load2, Base::XRow;
  static constexpr int NA = SYM ? 4 : 7, ROWS = TY + SYM, RING = (ROWS + 1) / 2 * 2; /* symmetric: one row and column more on the low side */
  static constexpr int SA = ROWS * HJ3_TX, SC = NA * SA + SYM * RING;                /* an array, a slot */
  static constexpr int SE    = (NW + 1) * 2 * HJ3_TX;                                /* edge rows of f_1: zeros, first and last of each warp, zeros */
  static constexpr int BYTES = Base::READ_BYTES + 16 * (SC + SE) + sizeof(HJ3Fixed);

  double   *cs, *es;
  unsigned  cbits; /* 2 bits a row; 2 more for the row outside the tile; bit 31 for the column outside */
  int2      zc;    /* planes of coefficients that may be read */
  long long place; /* of this thread in plane r of a coefficient array */
  double    A[2][2][R][2];
  double    c[7][R][2]; /* of the plane before: -x +x -y +y -z +z, inverse diagonal */

  __device__ HJ3VariableBlock(const HJ3Args &args, double *sm) : Base(args, sm, (HJ3Fixed *)(sm + Base::READ_BYTES / 8 + 2 * (SC + SE))), cs(sm + Base::READ_BYTES / 8), es(cs + 2 * SC) {}

  __device__ void SetCoefficients(const HJ3Piece &q)
  {
    const HJDSweep &s     = g.sweep[q.sweep];
    const int       inner = max(g.depth - 1, 0), row = q.y + warp * R, col = q.x + lane, r0 = max(q.z0 - g.depth, s.domain.lo[2]);
    int2            reach[3];

    for (int d = 0; d < 3; d++) {
      reach[d]   = HJ3Reach(s, d, d < 2 ? q.own_lo[d] : q.z0, d < 2 ? q.own_hi[d] : q.z1, inner);
      reach[d].x = max(reach[d].x - SYM, g.sbox.lo[d]);
      reach[d].y = min(reach[d].y, g.sbox.hi[d]);
    }
    zc    = reach[2];
    cbits = Base::Bits(reach[0], reach[1], col, col + 32, row);
    if (SYM && warp == 0 && HJ3In(reach[1], row - 1)) cbits |= (unsigned)HJ3In(reach[0], col) << (2 * R) | (unsigned)HJ3In(reach[0], col + 32) << (2 * R + 1);
    if (SYM && lane < R && HJ3In(reach[1], row + lane) && HJ3In(reach[0], q.x - 1)) cbits |= 1u << 31;
    place                                                                                                                           = HJDIndex(g.sbox, col, row, r0 - SYM);
    HJ3_UNROLL for (int a = 0; a < 7; a++) HJ3_UNROLL for (int i = 0; i < R; i++) HJ3_UNROLL for (int v = 0; v < 2; v++) c[a][i][v] = 0;
  }

  __device__ int Start(const HJ3Piece &q)
  {
    HJ3_UNROLL for (int j = 0; j < 2; j++) HJ3_UNROLL for (int i = 0; i < R; i++) HJ3_UNROLL for (int v = 0; v < 2; v++) A[j][0][i][v] = A[j][1][i][v] = 0;
    for (int i = threadIdx.x; i < 2 * (SC + SE); i += 32 * NW) cs[i] = 0;
    SetCoefficients(q);
    const int r0 = Base::template Start<false>(q, 2, 0);

    if (SYM) { /* the -z coefficients of the first plane are the +z ones of the plane before */
      LoadC(r0 - 1, 1);
      HJ3CopyWait();
      __syncthreads();
    }
    return r0;
  }

  static __device__ __forceinline__ const double *Array(const HJ3Args &g, int a) { return SYM ? (a < 3 ? g.value[2 * a + 1] : g.dinv) : (a < 6 ? g.value[a < 6 ? a : 0] : g.dinv); }

  __device__ __forceinline__ void LoadC(int r, int to)
  {
    double         *d  = cs + to * SC + (warp * R + SYM) * HJ3_TX + lane;
    const long long ni = f.ni;

    if (r >= zc.x && r < zc.y) {
      const double *from[NA];

      HJ3_UNROLL for (int a = 0; a < NA; a++)
      {
        from[a] = Array(g, a) + place;
        asm volatile("" : "+l"(from[a])); /* else each copy fetches its own base, one wait after the other */
      }
      HJ3_UNROLL for (int a = 0; a < NA; a++) HJ3_UNROLL for (int i = SYM ? -1 : 0; i < R; i++)
      {
        const int k = i < 0 ? R : i;

        if (cbits >> (2 * k) & 1) HJ3Copy8(d + a * SA + i * HJ3_TX, from[a] + i * ni);
        if (cbits >> (2 * k + 1) & 1) HJ3Copy8(d + a * SA + i * HJ3_TX + 32, from[a] + i * ni + 32);
      }
      if (SYM && cbits >> 31) HJ3Copy8(cs + to * SC + NA * SA + warp * R + lane, Array(g, 0) + place + lane * ni - lane - 1);
    }
    place += f.si;
  }

  /* Coefficients of row i of plane r - 1; below: of the +y array in row i - 1 */
  __device__ __forceinline__ void Coefficients(int z, int i, double2 &below, double k[7][2]) const
  {
    const double *q = cs + z * SC + (warp * R + SYM + i) * HJ3_TX + 2 * lane;

    if (SYM) {
      const double2 x = Load2(q), y = Load2(q + SA), u = Load2(q + 2 * SA), di = Load2(q + 3 * SA);
      const double2 side = HJ3Beside(x, cs[z * SC + NA * SA + warp * R + i], 0.);

      k[0][0] = side.x, k[0][1] = x.x, k[1][0] = x.x, k[1][1] = x.y;
      k[2][0] = below.x, k[2][1] = below.y, k[3][0] = y.x, k[3][1] = y.y;
      k[4][0] = c[5][i][0], k[4][1] = c[5][i][1], k[5][0] = u.x, k[5][1] = u.y;
      k[6][0] = di.x, k[6][1] = di.y;
      below = y;
    } else {
      HJ3_UNROLL for (int a = 0; a < 7; a++)
      {
        const double2 t = Load2(q + a * SA);

        k[a][0] = t.x;
        k[a][1] = t.y;
      }
    }
  }

  /* Sum over the four neighbours in the plane */
  static __device__ __forceinline__ double Four(const double m[R][2], int i, int v, double2 side, double2 up, double2 down, double w, double e, double s, double n)
  {
    double t = w * (v ? m[i][0] : side.x);

    t = fma(e, v ? side.y : m[i][1], t);
    t = fma(s, i ? m[i ? i - 1 : 0][v] : v ? up.y : up.x, t);
    return fma(n, i < R - 1 ? m[i < R - 1 ? i + 1 : i][v] : v ? down.y : down.x, t);
  }

  /* y of plane r - 2 but for the newest plane of f_1 */
  __device__ __forceinline__ void Begin(int z)
  {
    const double  w01 = g.w[0] * g.w[1], w = g.w[0] + g.w[1] - w01;
    const double *q  = es + (z ^ 1) * SE + warp * 2 * HJ3_TX + 2 * lane;
    const double2 up = Load2(q), down = Load2(q + 3 * HJ3_TX);

    HJ3_UNROLL for (int i = 0; i < R; i++)
    {
      const double2 side = HJ3Beside(make_double2(A[1][z ^ 1][i][0], A[1][z ^ 1][i][1]), 0., 0.);

      HJ3_UNROLL for (int v = 0; v < 2; v++)
      {
        const double t = Four(A[1][z ^ 1], i, v, side, up, down, c[0][i][v], c[1][i][v], c[2][i][v], c[3][i][v]);

        A[1][z][i][v] = fma(-w01 * c[6][i][v], t, fma(w, A[1][z ^ 1][i][v], A[1][z][i][v]));
      }
    }
  }

  /* f_1 of plane r - 1, then y of plane r - 2 */
  __device__ __forceinline__ void Finish(int z, int r)
  {
    const bool    active = this->Active(0, r - 1), there = r >= f.zx.x && r < f.zx.y, write = r - 2 >= f.z0 && r - 2 < f.z1;
    const double  w01 = g.w[0] * g.w[1];
    const double2 up = XRow(1, -1), down = XRow(1, R);
    double2       below = make_double2(0, 0);

    if (SYM) below = Load2(cs + (z ^ 1) * SC + SA + warp * R * HJ3_TX + 2 * lane);
    HJ3_UNROLL for (int i = 0; i < R; i++)
    {
      const double  ring = this->XRing(1, i);
      const double2 side = HJ3Beside(make_double2(A[0][z ^ 1][i][0], A[0][z ^ 1][i][1]), ring, ring);
      const double2 b    = Load2(bs + (z ^ 1) * SB + (warp * R + i) * HJ3_TX + 2 * lane);
      const double2 n    = there ? XRow(0, i) : make_double2(0, 0);
      double        k[7][2];

      Coefficients(z ^ 1, i, below, k);
      HJ3_UNROLL for (int v = 0; v < 2; v++)
      {
        const double x = A[0][z ^ 1][i][v], nv = v ? n.y : n.x;
        double       t = Four(A[0][z ^ 1], i, v, side, up, down, k[0][v], k[1][v], k[2][v], k[3][v]);

        t              = fma(k[4][v], A[0][z][i][v], t);
        t              = fma(k[5][v], nv, t);
        const double o = active ? fma(k[6][v], (v ? b.y : b.x) - t, -x) : 0.;

        if (write && (own >> (2 * i + v) & 1)) {
          const double y = fma(-w01 * c[6][i][v] * c[5][i][v], o, A[1][z][i][v]);

          py[(long long)i * f.ny + v] = y;
          this->Copy(r - 2, py + (long long)i * f.ny + v, y);
        }
        A[1][z ^ 1][i][v]                                 = fma(-w01 * k[6][v] * k[4][v], A[1][z ^ 1][i][v], x);
        A[1][z][i][v]                                     = o;
        A[0][z][i][v]                                     = nv;
        HJ3_UNROLL for (int a = 0; a < 7; a++) c[a][i][v] = k[a][v];
      }
    }
    py += f.sy;
  }

  /* Plane r of x arrives */
  __device__ __forceinline__ void Step(int z, int r)
  {
    const int next = this->NextSlot();

    this->LoadX(r + 1, next);
    this->LoadB(r, z);
    LoadC(r, z);
    Begin(z);
    Finish(z, r);
    double *q = es + z * SE + warp * 2 * HJ3_TX + HJ3_TX + 2 * lane;

    *(double2 *)q            = make_double2(A[1][z][0][0], A[1][z][0][1]);
    *(double2 *)(q + HJ3_TX) = make_double2(A[1][z][R - 1][0], A[1][z][R - 1][1]);
    slot                     = next;
    HJ3CopyWait();
    __syncthreads();
  }
};

template <int R, int NW, bool SYM> static __global__ void __launch_bounds__(32 * NW, 1) HJ3Variable_Kernel(const __grid_constant__ HJ3Args g)
{
  extern __shared__ __align__(16) double sm[];
  HJ3VariableBlock<R, NW, SYM>           k(g, sm);

  for (int i = g.first[blockIdx.x]; i < g.first[blockIdx.x + 1]; i++) {
    const HJ3Piece q  = g.piece[i];
    const int      r0 = k.Start(q);

    for (int r = r0; r < q.z1 + 2; r += 2) {
      k.Step(0, r);
      k.Step(1, r + 1);
    }
  }
}

template <int R, int NW, bool SYM> static cudaError_t HJ3VariableLaunch(cudaStream_t stream, int blocks, const HJ3Args *g, const void *)
{
  const int   bytes = HJ3VariableBlock<R, NW, SYM>::BYTES;
  cudaError_t e     = cudaFuncSetAttribute(HJ3Variable_Kernel<R, NW, SYM>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e != cudaSuccess) return e;
  HJ3Variable_Kernel<R, NW, SYM><<<blocks, 32 * NW, bytes, stream>>>(*g);
  return cudaGetLastError();
}

#define HJ3_VARIABLE_KERNEL(R, NW, SYM)                                                                                                                                                                                                                  \
  {                                                                                                                                                                                                                                                      \
    HJ3VariableBlock<R, NW, SYM>::TY, 2, HJ3VariableBlock<R, NW, SYM>::BYTES, HJ3VariableLaunch<R, NW, SYM>                                                                                                                                              \
  }

const HJ3Kernel HJ3KernelVariable  = HJ3_VARIABLE_KERNEL(1, 18, false);
const HJ3Kernel HJ3KernelSymmetric = HJ3_VARIABLE_KERNEL(1, 20, true);

/*
   3D star, dictionary: how a block streams one piece through 3 or 4 levels. A lane holds 2 points in x and R rows in y of two planes of
   each level; x neighbours come by shuffle, the first and last row of a warp through shared memory, read one step later, so that
   one barrier a plane serves all levels. Decides nothing about where pieces lie: hjstream3d.cu does.
*/
#include "hjstream3d.cuh"

template <int L, int R, int NW, bool TABLE, bool ZERO> struct HJ3StarBlock : HJ3Block<R, NW, L == 4 ? 5 : 3, ZERO ? 0 : 2> {
  typedef HJ3Block<R, NW, L == 4 ? 5 : 3, ZERO ? 0 : 2> Base; /* slots of x: landing, newest, one with neighbours; 4 levels: y's share of x too */
  using Base::g, Base::f, Base::xs, Base::bs, Base::slot, Base::lane, Base::warp, Base::own, Base::py, Base::SB, Base::NI, Base::Load2, Base::XRow;
  static constexpr int SE    = (L - 1) * (NW + 1) * 2 * HJ3_TX; /* edge rows: zeros, first and last of each warp, zeros */
  static constexpr int BYTES = Base::READ_BYTES + 16 * SE + sizeof(HJ3Fixed);

  const HJ3Star &p;
  double        *es;
  const double  *tab;
  double         A[L][2][R][2];
  unsigned       ix[L][NI];

  __device__ HJ3StarBlock(const HJ3Args &args, const HJ3Star &p_, double *sm) : Base(args, sm, (HJ3Fixed *)(sm + Base::READ_BYTES / 8 + 2 * SE)), p(p_), es(sm + Base::READ_BYTES / 8), tab(sm + BYTES / 8) {}

  __device__ int Start(const HJ3Piece &q)
  {
    HJ3_UNROLL for (int j = 0; j < L; j++) HJ3_UNROLL for (int i = 0; i < R; i++) HJ3_UNROLL for (int v = 0; v < 2; v++) A[j][0][i][v] = A[j][1][i][v] = 0;
    HJ3_UNROLL for (int j = 0; j < L; j++) HJ3_UNROLL for (int i = 0; i < NI; i++) ix[j][i]                                                            = 0x01010101u * g.nrows;
    return Base::template Start<ZERO>(q, L, 0);
  }

  /* The row above (side 0) or below the warp's, of the plane that level j holds */
  __device__ __forceinline__ double2 Outside(int j, int z, int side) const
  {
    if (j == 0) return XRow(1, side ? R : -1);
    return Load2(es + (z ^ 1) * SE + ((j - 1) * (NW + 1) + warp) * 2 * HJ3_TX + side * 3 * HJ3_TX + 2 * lane);
  }

  __device__ __forceinline__ const double *Row(int j, int i, int v) const { return tab + 9 * Base::RowOf(ix[j], i, v); }

  /* Coefficient o of level j; of the table: the operator's own, see Advance() */
  __device__ __forceinline__ double Coef(int j, const double *row, int o) const { return TABLE ? row[o] : p.c[j][o]; }

  /* Sums of row i in level j over the plane itself and the one before it; last: row i - 1 of the last level, whose place has new contents */
  __device__ __forceinline__ void Sum(int j, int z, int i, const double last[2], double t[2]) const
  {
    const auto   &m    = A[j][z ^ 1];
    const double  ring = j ? 0. : this->XRing(1, i);
    const double2 side = HJ3Beside(make_double2(m[i][0], m[i][1]), ring, ring);
    const double2 up   = i == 0 ? Outside(j, z, 0) : j == L - 1 ? make_double2(last[0], last[1]) : make_double2(m[i ? i - 1 : 0][0], m[i ? i - 1 : 0][1]);
    const double2 down = i == R - 1 ? Outside(j, z, 1) : make_double2(m[i < R - 1 ? i + 1 : i][0], m[i < R - 1 ? i + 1 : i][1]);

    HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      const double *row = TABLE ? Row(j, i, v) : nullptr;

      t[v] = fma(Coef(j, row, 0), m[i][v], t[v]);
      t[v] = fma(Coef(j, row, 3), v ? up.y : up.x, t[v]);
      t[v] = fma(Coef(j, row, 4), v ? down.y : down.x, t[v]);
      if (j < L - 1) t[v] = fma(Coef(j, row, 5), A[j][z][i][v], t[v]);
      t[v] = fma(Coef(j, row, 1), v ? m[i][0] : side.x, t[v]);
      t[v] = fma(Coef(j, row, 2), v ? side.y : m[i][1], t[v]);
    }
  }

  /* Puts into the last level's older plane what y's next plane takes from all before it: x and earlier levels, and the plane before */
  __device__ __forceinline__ void Share(int z, int i)
  {
    constexpr int J     = L - 1;
    const double2 first = L == 4 ? XRow(3, i) : make_double2(A[0][z][i][0], A[0][z][i][1]);

    HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      double t = TABLE ? -g.w[J] * g.w[J - 1] * Row(J - 1, i, v)[5] * A[J][z ^ 1][i][v] : p.c[J][5] * A[J][z ^ 1][i][v];

      t = fma(TABLE ? 1. : p.s[0], v ? first.y : first.x, t);
      t = fma(TABLE ? g.w[0] : p.s[1], L == 4 ? A[1][z][i][v] : A[1][z ^ 1][i][v], t);
      if (L == 4) t = fma(TABLE ? g.w[1] : p.s[2], A[L / 2][z ^ 1][i][v], t);
      A[J][z ^ 1][i][v] = t;
    }
  }

  /* The newest plane passes through all levels: each value completes the sum of the level above */
  template <bool FULL> __device__ __forceinline__ void Advance(int z, int r, int i, const double2 &b, const double m[L][2], const double t[L][2], double n[2])
  {
    constexpr int J = L - 1;

    HJ3_UNROLL for (int j = 0; j < L; j++) HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      const double *row = TABLE ? Row(j, i, v) : nullptr;
      double        o   = fma(Coef(j, row, 6), n[v], t[j][v]);

      A[j][z][i][v] = n[v];
      if (j == J) {
        if (TABLE) o = fma(-g.w[J] * g.w[J - 1], o, m[j][v]);
        if ((FULL || (r - L >= f.z0 && r - L < f.z1)) && (own >> (2 * i + v) & 1)) {
          py[(long long)i * f.ny + v] = o;
          if (!FULL) this->Copy(r - L, py + (long long)i * f.ny + v, o);
        }
      } else {
        if (TABLE) o = j ? fma(-g.w[j ? j - 1 : 0], o, m[j][v]) : fma(row[7], v ? b.y : b.x, -o);
        n[v] = FULL || this->Active(j, r - 1 - j) ? o : 0.;
      }
    }
  }

  template <bool FULL> __device__ __forceinline__ void OneRow(int z, int r, int i, double last[2])
  {
    constexpr int J = L - 1;
    double2       b = make_double2(0, 0), x = b;
    double        m[L][2], t[L][2], n[2];

    if (FULL || (r >= f.zx.x && r < f.zx.y)) x = XRow(0, i);
    if (!ZERO) b = Load2(bs + (z ^ 1) * SB + (warp * R + i) * HJ3_TX + 2 * lane);
    n[0] = x.x;
    n[1] = x.y;
    HJ3_UNROLL for (int j = 0; j < L; j++)
    {
      HJ3_UNROLL for (int v = 0; v < 2; v++)
      {
        m[j][v] = A[j][z ^ 1][i][v];
        t[j][v] = TABLE ? 0. : j == J ? A[j][z][i][v] : j == 0 && !ZERO ? p.b * (v ? b.y : b.x) : 0.;
        if (TABLE && j == J) m[j][v] = fma(g.w[J] + g.w[J - 1], m[j][v], A[j][z][i][v]);
      }
      Sum(j, z, i, last, t[j]);
    }
    last[0] = A[J][z ^ 1][i][0];
    last[1] = A[J][z ^ 1][i][1];
    Share(z, i);
    Advance<FULL>(z, r, i, b, m, t, n);
  }

  /* Plane r of x arrives; level j makes plane r - 1 - j. FULL: nothing outside the domain or the piece is near, and no plane that is copied */
  template <bool FULL> __device__ __forceinline__ void Step(int z, int r)
  {
    const int next = this->NextSlot();
    double    last[2];
    unsigned  rows[NI];

    this->LoadX(r + 1, next);
    if (!ZERO) this->LoadB(r, z);
    if (TABLE) this->LoadRows(r, rows);
    HJ3_UNROLL for (int i = 0; i < R; i++)
    {
      OneRow<FULL>(z, r, i, last);
      if (i == 0 || i == R - 1) HJ3_UNROLL for (int j = 1; j < L; j++)
        {
          double *q = es + z * SE + ((j - 1) * (NW + 1) + warp) * 2 * HJ3_TX + HJ3_TX + 2 * lane;

          if (i == 0) *(double2 *)q = make_double2(A[j][z][i][0], A[j][z][i][1]);
          if (i == R - 1) *(double2 *)(q + HJ3_TX) = make_double2(A[j][z][i][0], A[j][z][i][1]);
        }
    }
    if (TABLE) HJ3_UNROLL for (int i = 0; i < NI; i++)
      {
        HJ3_UNROLL for (int j = L - 1; j > 0; j--) ix[j][i] = ix[j - 1][i];
        ix[0][i]                                            = rows[i];
      }
    py += f.sy;
    slot = next;
    HJ3CopyWait();
    __syncthreads();
  }

  __device__ void Run(const HJ3Piece &q)
  {
    int r = Start(q);

    if (threadIdx.x == 0) {
      f.from = max(f.z0, f.copy_lo) + L;
      f.to   = min(f.zb.y, min(f.z1, f.copy_hi) + L) - 1;
    }
    __syncthreads();
    for (; r < f.z1 + L; r += 2) {
      if (r >= f.from && r < f.to) {
        Step<true>(0, r);
        Step<true>(1, r + 1);
      } else {
        Step<false>(0, r);
        Step<false>(1, r + 1);
      }
    }
    __syncthreads();
  }
};

/* Rows padded to 9 doubles, so that the points of a warp that use different rows use different banks */
static __device__ void HJ3TableLoad(double *tab, const HJ3Args &g)
{
  for (int i = threadIdx.x; i < 9 * (g.nrows + 1); i += blockDim.x) {
    const int r = i / 9, o = i % 9;

    tab[i] = r == g.nrows ? (double)(o == 0) : o < 7 ? g.rows[7 * r + o] : o == 7 ? g.dinv_rows[r] : 0.;
  }
}

template <int L, int R, int NW, bool TABLE, bool ZERO> static __global__ void __launch_bounds__(32 * NW, 1) HJ3Star_Kernel(const __grid_constant__ HJ3Args g, const __grid_constant__ HJ3Star p)
{
  typedef HJ3StarBlock<L, R, NW, TABLE, ZERO> Block;
  extern __shared__ __align__(16) double sm[];
  Block                                  k(g, p, sm);

  for (int i = threadIdx.x; i < 2 * Block::SE; i += 32 * NW) k.es[i] = 0;
  if (TABLE) HJ3TableLoad(const_cast<double *>(k.tab), g);
  for (int c = g.first[blockIdx.x]; c < g.first[blockIdx.x + 1]; c++) k.Run(g.piece[c]);
}

template <int L, int R, int NW, bool TABLE, bool ZERO> static cudaError_t HJ3StarLaunch(cudaStream_t stream, int blocks, const HJ3Args *g, const void *p)
{
  typedef HJ3StarBlock<L, R, NW, TABLE, ZERO> Block;
  const int                                   bytes = Block::BYTES + (TABLE ? 72 * (g->nrows + 1) : 0);
  cudaError_t                                 e     = cudaFuncSetAttribute(HJ3Star_Kernel<L, R, NW, TABLE, ZERO>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e != cudaSuccess) return e;
  HJ3Star_Kernel<L, R, NW, TABLE, ZERO><<<blocks, 32 * NW, bytes, stream>>>(*g, *(const HJ3Star *)p);
  return cudaGetLastError();
}

#define HJ3_STAR_KERNEL(L, R, NW, TABLE, ZERO)                                                                                                                                                                                                           \
  {                                                                                                                                                                                                                                                      \
    HJ3StarBlock<L, R, NW, TABLE, ZERO>::TY, L, HJ3StarBlock<L, R, NW, TABLE, ZERO>::BYTES + (TABLE ? 72 * 256 : 0), HJ3StarLaunch<L, R, NW, TABLE, ZERO>                                                                                                \
  }

const HJ3Kernel HJ3KernelStar4     = HJ3_STAR_KERNEL(4, 4, 8, false, false);
const HJ3Kernel HJ3KernelStar3     = HJ3_STAR_KERNEL(3, 5, 8, false, false);
const HJ3Kernel HJ3KernelStar3Zero = HJ3_STAR_KERNEL(3, 6, 8, false, true);
const HJ3Kernel HJ3KernelStarTable = HJ3_STAR_KERNEL(4, 4, 8, true, false);

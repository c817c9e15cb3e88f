/*
   3D star, dictionary: how a block streams one piece through 3 or 4 levels. A lane holds 2 points in x and R rows in y of two
   planes of each level; x neighbours come by shuffle, the first and last row of a warp through shared memory, read one step later, so that
   a warp meets its two neighbours once a plane for all levels. Decides nothing about where pieces lie: hjstream3d.cu does.
*/
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
    if (lane < 2) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar + 8 * lane), "r"(32 * ((warp > 0) + (warp < NW - 1))) : "memory");
#endif
    __syncthreads();
  }

  /* Until the neighbours' step before is done; z: of that step. The vote tells the assembler that the warp stays together */
  __device__ __forceinline__ void Wait(int z)
  {
#if HJ3_PAIRS
    unsigned done;

    do asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(done) : "r"(bar + 8 * z), "r"(phase ^ z) : "memory");
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

template <int L, int R, int NW, bool TABLE, bool ZERO> struct HJ3StarBlock : HJ3Block<R, NW, 3, ZERO ? 0 : L == 4 ? 3 : 2> {
  static constexpr int           NB = ZERO ? 0 : L == 4 ? 3 : 2;
  typedef HJ3Block<R, NW, 3, NB> Base; /* slots of x: landing, newest, one with neighbours; of b: landing, level 0's, 4 levels: level 1's */
  typedef HJ3Edges<L, NW>        Edges;
  using Base::g, Base::f, Base::xs, Base::bs, Base::slot, Base::lane, Base::warp, Base::own, Base::py, Base::SB, Base::NI, Base::Load2, Base::XRow;
  static constexpr int BYTES = Base::READ_BYTES + Edges::BYTES + sizeof(HJ3Fixed);

  const HJ3Star &p;
  Edges          edges;
  const double  *tab;
  double         A[L][2][R][2];
  unsigned       ix[L][NI];
  int            bslot; /* of plane r - 1 */

  __device__ HJ3StarBlock(const HJ3Args &args, const HJ3Star &p_, double *sm) : Base(args, sm, (HJ3Fixed *)(sm + (Base::READ_BYTES + Edges::BYTES) / 8)), p(p_), edges(sm + Base::READ_BYTES / 8), tab(sm + BYTES / 8) {}

  /* The first two planes only go to level 0: nothing is made of them alone. Returns the third */
  __device__ int Start(const HJ3Piece &q)
  {
    const int r0 = Base::template Start<ZERO, 3>(q, L - 2, 1);

    HJ3_UNROLL for (int j = 0; j < L; j++) HJ3_UNROLL for (int i = 0; i < R; i++) HJ3_UNROLL for (int v = 0; v < 2; v++) A[j][0][i][v] = A[j][1][i][v] = 0;
    HJ3_UNROLL for (int i = 0; i < R; i++) HJ3_UNROLL for (int z = 0; z < 2; z++)
    {
      const double2 x = XRow(2 - z, i);

      A[0][z][i][0] = x.x;
      A[0][z][i][1] = x.y;
    }
    if (TABLE) {
      HJ3_UNROLL for (int j = 1; j < L; j++) HJ3_UNROLL for (int i = 0; i < NI; i++) ix[j][i] = 0x01010101u * g.nrows;
      this->LoadRows(r0 + 1, ix[0]);
    }
    bslot = 1;
    return r0 + 2;
  }

  /* The row above (side 0) or below the warp's, of the plane that level j holds */
  __device__ __forceinline__ double2 Outside(int j, int z, int side) const
  {
    if (j == 0) return XRow(1, side ? R : -1);
    return edges.Outside(j, z ^ 1, side);
  }

  __device__ __forceinline__ const double *Row(int j, int i, int v) const { return tab + 9 * Base::RowOf(ix[j], i, v); }

  /* Coefficient o of level j; of the table: the operator's own, see Advance() */
  __device__ __forceinline__ double Coef(int j, const double *row, int o) const { return TABLE ? row[o] : p.c[j][o]; }

  /* Sums of row i in level j over the plane itself, m, and the one before it */
  __device__ __forceinline__ void Sum(int j, int z, int i, const double m[R][2], double t[2]) const
  {
    double        lo = __shfl_up_sync(~0u, m[i][1], 1), hi = __shfl_down_sync(~0u, m[i][0], 1);
    const bool    inside[2] = {j == 0 || lane > 0, j == 0 || lane < 31}; /* levels above are 0 outside the tile */
    const double2 up        = i == 0 ? Outside(j, z, 0) : make_double2(m[i ? i - 1 : 0][0], m[i ? i - 1 : 0][1]);
    const double2 down      = i == R - 1 ? Outside(j, z, 1) : make_double2(m[i < R - 1 ? i + 1 : i][0], m[i < R - 1 ? i + 1 : i][1]);

    if (j == 0) {
      const double ring = this->XRing(1, i);

      if (lane == 0) lo = ring;
      if (lane == 31) hi = ring;
    }
    HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      const double *row = TABLE ? Row(j, i, v) : nullptr;

      t[v] = fma(Coef(j, row, 0), m[i][v], t[v]);
      t[v] = fma(Coef(j, row, 3), v ? up.y : up.x, t[v]);
      t[v] = fma(Coef(j, row, 4), v ? down.y : down.x, t[v]);
      if (j < L - 1) t[v] = fma(Coef(j, row, 5), A[j][z][i][v], t[v]);
      if (v || inside[0]) t[v] = fma(Coef(j, row, 1), v ? m[i][0] : lo, t[v]);
      if (!v || inside[1]) t[v] = fma(Coef(j, row, 2), v ? hi : m[i][1], t[v]);
    }
  }

  /* Puts into the last level's older plane what y's next plane takes from all before it: earlier levels, and the plane before */
  __device__ __forceinline__ void Share(int z, int i)
  {
    constexpr int J = L - 1;

    HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      double t = TABLE ? -g.w[J] * g.w[J - 1] * Row(J - 1, i, v)[5] * A[J][z ^ 1][i][v] : p.c[J][5] * A[J][z ^ 1][i][v];

      if (L == 4) {
        t += A[1][z][i][v];
        t = fma(TABLE ? g.w[1] : p.s[2], A[L / 2][z ^ 1][i][v], t);
      } else {
        t = fma(p.s[0], A[0][z][i][v], t);
        t = fma(p.s[1], A[1][z ^ 1][i][v], t);
      }
      A[J][z ^ 1][i][v] = t;
    }
  }

  /* The newest plane passes through all levels: each value completes the sum of the level above */
  template <bool FULL> __device__ __forceinline__ void Advance(int z, int r, unsigned live, unsigned write, int i, unsigned ny, const double2 b[2], const double m[L][2], const double t[L][2], double n[2])
  {
    constexpr int J = L - 1;

    HJ3_UNROLL for (int j = 0; j < L; j++) HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      const double *row = TABLE ? Row(j, i, v) : nullptr;
      double        o   = fma(Coef(j, row, 6), n[v], t[j][v]);

      A[j][z][i][v] = n[v];
      if (j == J) {
        if (TABLE) o = fma(-g.w[J] * g.w[J - 1], o, m[j][v]);
        HJ3StoreIf(write & 1u << (2 * i + v), py + (unsigned long long)ny * i + v, o);
        if (!FULL && (write & 1u << (2 * i + v))) this->Copy(r - L, py + (unsigned long long)ny * i + v, o);
      } else {
        if (TABLE && j < 2) o = fma(row[7], v ? b[j].y : b[j].x, -o);
        if (TABLE && j == 0) o = fma(g.w[0], o, m[j][v]);
        if (TABLE && j == 2) o = fma(-g.w[1], o, m[j][v]);
        n[v] = live >> j & 1 ? o : 0.;
      }
    }
  }

  /* Bits: level j has values in the plane that it makes, the last one writes, x can be read */
  __device__ unsigned Live(int r) const
  {
    unsigned bits = (unsigned)(r - L >= f.z0 && r - L < f.z1) << (L - 1) | (unsigned)HJ3In(f.zx, r) << L;

    HJ3_UNROLL for (int j = 0; j < L - 1; j++) bits |= (unsigned)this->Active(j, r - 1 - j) << j;
    return bits;
  }

  /* last: the last level's newest plane */
  template <bool FULL> __device__ __forceinline__ void OneRow(int z, int r, unsigned live, unsigned write, int i, unsigned ny, const double last[R][2])
  {
    constexpr int J    = L - 1;
    double2       b[2] = {make_double2(0, 0), make_double2(0, 0)}, x = b[0];
    double        m[L][2], t[L][2], n[2];

    if (live >> L & 1) x = XRow(0, i);
    if (!ZERO) b[0] = Load2(bs + (L == 4 ? bslot : z ^ 1) * SB + (warp * R + i) * HJ3_TX + 2 * lane);
    if (L == 4) b[1] = Load2(bs + (bslot ? bslot - 1 : NB - 1) * SB + (warp * R + i) * HJ3_TX + 2 * lane);
    n[0] = x.x;
    n[1] = x.y;
    HJ3_UNROLL for (int j = 0; j < L; j++)
    {
      HJ3_UNROLL for (int v = 0; v < 2; v++)
      {
        m[j][v] = j == J ? last[i][v] : A[j][z ^ 1][i][v];
        t[j][v] = TABLE ? 0. : j == J ? A[j][z][i][v] : (j == 0 && !ZERO) || (j == 1 && L == 4) ? p.b[j] * (v ? b[j].y : b[j].x) : 0.;
        if (TABLE && j == J) m[j][v] = fma(g.w[J] + g.w[J - 1], m[j][v], A[j][z][i][v]);
      }
      Sum(j, z, i, j == J ? last : A[j][z ^ 1], t[j]);
    }
    Share(z, i);
    Advance<FULL>(z, r, live, write, i, ny, b, m, t, n);
  }

  /* Plane r of x arrives; level j makes plane r - 1 - j. FULL: nothing outside the domain or the piece is near, no ghosts, and nothing to copy. Rows at the edge first: neighbours wait for
     them; one run of instructions suits the table better */
  template <bool FULL> __device__ __forceinline__ void Step(int z, int r)
  {
    const int      next = this->NextSlot(), bnext = bslot + 1 == NB ? 0 : bslot + 1, ny = f.ny;
    const unsigned live = FULL ? ~0u : Live(r), write = live >> (L - 1) & 1 ? this->Masks(own) : 0;
    double         last[R][2];
    unsigned       rows[NI];

    edges.Wait(z ^ 1);
    this->template LoadX<FULL>(r + 1, next);
    if (!ZERO) this->template LoadB<FULL>(r, L == 4 ? bnext : z);
    if (TABLE) this->LoadRows(r, rows);
    HJ3_UNROLL for (int i = 0; i < R; i++) HJ3_UNROLL for (int v = 0; v < 2; v++) last[i][v] = A[L - 1][z ^ 1][i][v];
    HJ3_UNROLL for (int k = 0; k < R; k++)
    {
      const int i = TABLE || k == 0 ? k : k == 1 ? R - 1 : k - 1;

      OneRow<FULL>(z, r, live, write, i, ny, last);
      if (i == 0 || i == R - 1) HJ3_UNROLL for (int j = 1; j < L; j++) edges.Put(j, z, i > 0, A[j][z][i][0], A[j][z][i][1]);
      if (k == (TABLE ? R - 1 : 1)) edges.Done(z);
    }
    if (TABLE) HJ3_UNROLL for (int i = 0; i < NI; i++)
      {
        HJ3_UNROLL for (int j = L - 1; j > 0; j--) ix[j][i] = ix[j - 1][i];
        ix[0][i]                                            = rows[i];
      }
    py += f.sy;
    slot  = next;
    bslot = bnext;
    edges.EndStep();
  }

  __device__ void Run(const HJ3Piece &q)
  {
    int r = Start(q);

    if (threadIdx.x == 0) {
      f.from = max(max(f.z0, f.copy_lo) + L, f.home.x);
      f.to   = min(min(f.zb.y - 1, min(f.zx.y, f.home.y) - 2), f.copy_hi + L - 1); /* of the first of two steps */
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

const HJ3Kernel HJ3KernelStar4     = HJ3_STAR_KERNEL(4, 5, 8, false, false);
const HJ3Kernel HJ3KernelStar3     = HJ3_STAR_KERNEL(3, 5, 8, false, false);
const HJ3Kernel HJ3KernelStar3Zero = HJ3_STAR_KERNEL(3, 6, 8, false, true);
const HJ3Kernel HJ3KernelStarTable = HJ3_STAR_KERNEL(4, 4, 8, true, false);

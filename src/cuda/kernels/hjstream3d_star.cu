/*
   3D star, dictionary: how a block streams one piece through 3 or 4 levels. A lane holds 2 points in x and R rows in y of two
   planes of each level; x neighbours come by shuffle, the first and last row of a warp through shared memory, read one step later, so that
   a warp meets its two neighbours once a plane for all levels. Decides nothing about where pieces lie: hjstream3d.cu does.
*/
#include "hjstream3d_edges.cuh"

template <int L, int R, int NW, bool ZERO> struct HJ3StarBlock : HJ3Block<R, NW, 3, ZERO ? 0 : L == 4 ? 3 : 2> {
  static constexpr int           NB = ZERO ? 0 : L == 4 ? 3 : 2;
  typedef HJ3Block<R, NW, 3, NB> Base; /* slots of x: landing, newest, one with neighbours; of b: landing, level 0's, 4 levels: level 1's */
  typedef HJ3Edges<L, NW>        Edges;
  using Base::g, Base::f, Base::xs, Base::bs, Base::slot, Base::lane, Base::warp, Base::own, Base::py, Base::SB, Base::Load2, Base::XRow;
  static constexpr int BYTES = Base::READ_BYTES + Edges::BYTES + sizeof(HJ3Fixed);

  const HJ3Star &p;
  Edges          edges;
  double         A[L][2][R][2];
  int            bslot; /* of plane r - 1 */

  __device__ HJ3StarBlock(const HJ3Args &args, const HJ3Star &p_, double *sm)
      : Base(args, sm, (HJ3Fixed *)(sm + (Base::READ_BYTES + Edges::BYTES) / 8)), p(p_), edges(sm + Base::READ_BYTES / 8)
  {
  }

  /* The first two planes only go to level 0: nothing is made of them alone. Returns the third */
  __device__ int Start(const HJ3Piece &q)
  {
    const int r0 = Base::template Start<ZERO, 3>(q, L - 2, 1);

    HJ3_UNROLL for (int j = 0; j < L; j++) HJ3_UNROLL for (int i = 0; i < R; i++) HJ3_UNROLL for (int v = 0; v < 2; v++)
      A[j][0][i][v] = A[j][1][i][v] = 0;
    HJ3_UNROLL for (int i = 0; i < R; i++) HJ3_UNROLL for (int z = 0; z < 2; z++)
    {
      const double2 x = XRow(2 - z, i);

      A[0][z][i][0] = x.x;
      A[0][z][i][1] = x.y;
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
      t[v] = fma(p.c[j][0], m[i][v], t[v]);
      t[v] = fma(p.c[j][3], v ? up.y : up.x, t[v]);
      t[v] = fma(p.c[j][4], v ? down.y : down.x, t[v]);
      if (j < L - 1) t[v] = fma(p.c[j][5], A[j][z][i][v], t[v]);
      if (v || inside[0]) t[v] = fma(p.c[j][1], v ? m[i][0] : lo, t[v]);
      if (!v || inside[1]) t[v] = fma(p.c[j][2], v ? hi : m[i][1], t[v]);
    }
  }

  /* Puts into the last level's older plane what y's next plane takes from all before it: earlier levels, and the plane before */
  __device__ __forceinline__ void Share(int z, int i)
  {
    constexpr int J = L - 1;

    HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      double t = p.c[J][5] * A[J][z ^ 1][i][v];

      if (L == 4) {
        t += A[1][z][i][v];
        t = fma(p.s[2], A[L / 2][z ^ 1][i][v], t);
      } else {
        t = fma(p.s[0], A[0][z][i][v], t);
        t = fma(p.s[1], A[1][z ^ 1][i][v], t);
      }
      A[J][z ^ 1][i][v] = t;
    }
  }

  /* The newest plane passes through all levels: each value completes the sum of the level above */
  template <bool FULL>
  __device__ __forceinline__ void Advance(int z, int r, unsigned live, unsigned write, int i, unsigned ny, const double t[L][2],
                                          double n[2])
  {
    constexpr int J = L - 1;

    HJ3_UNROLL for (int j = 0; j < L; j++) HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      const double o = fma(p.c[j][6], n[v], t[j][v]);

      A[j][z][i][v] = n[v];
      if (j == J) {
        HJ3StoreIf(write & 1u << (2 * i + v), py + (unsigned long long)ny * i + v, o);
        if (!FULL && (write & 1u << (2 * i + v))) this->Copy(r - L, py + (unsigned long long)ny * i + v, o);
      } else {
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
  template <bool FULL>
  __device__ __forceinline__ void OneRow(int z, int r, unsigned live, unsigned write, int i, unsigned ny, const double last[R][2])
  {
    constexpr int J    = L - 1;
    double2       b[2] = {make_double2(0, 0), make_double2(0, 0)}, x = b[0];
    double        t[L][2], n[2];

    if (live >> L & 1) x = XRow(0, i);
    if (!ZERO) b[0] = Load2(bs + (L == 4 ? bslot : z ^ 1) * SB + (warp * R + i) * HJ3_TX + 2 * lane);
    if (L == 4) b[1] = Load2(bs + (bslot ? bslot - 1 : NB - 1) * SB + (warp * R + i) * HJ3_TX + 2 * lane);
    n[0] = x.x;
    n[1] = x.y;
    HJ3_UNROLL for (int j = 0; j < L; j++)
    {
      HJ3_UNROLL for (int v = 0; v < 2; v++)
      {
        t[j][v] = j == J ? A[j][z][i][v] : (j == 0 && !ZERO) || (j == 1 && L == 4) ? p.b[j] * (v ? b[j].y : b[j].x) : 0.;
      }
      Sum(j, z, i, j == J ? last : A[j][z ^ 1], t[j]);
    }
    Share(z, i);
    Advance<FULL>(z, r, live, write, i, ny, t, n);
  }

  /* Plane r of x arrives; level j makes plane r - 1 - j. FULL: nothing outside the domain or the piece is near, no ghosts, and nothing to copy. Rows at the edge first: neighbours wait for
     them */
  template <bool FULL> __device__ __forceinline__ void Step(int z, int r)
  {
    const int      next = this->NextSlot(), bnext = bslot + 1 == NB ? 0 : bslot + 1, ny = f.ny;
    const unsigned live = FULL ? ~0u : Live(r), write = live >> (L - 1) & 1 ? this->Masks(own) : 0;
    double         last[R][2];

    edges.Wait(z ^ 1);
    this->template LoadX<FULL>(r + 1, next);
    if (!ZERO) this->template LoadB<FULL>(r, L == 4 ? bnext : z);
    HJ3_UNROLL for (int i = 0; i < R; i++) HJ3_UNROLL for (int v = 0; v < 2; v++) last[i][v] = A[L - 1][z ^ 1][i][v];
    HJ3_UNROLL for (int k = 0; k < R; k++)
    {
      const int i = k == 0 ? k : k == 1 ? R - 1 : k - 1;

      OneRow<FULL>(z, r, live, write, i, ny, last);
      if (i == 0 || i == R - 1) HJ3_UNROLL for (int j = 1; j < L; j++) edges.Put(j, z, i > 0, A[j][z][i][0], A[j][z][i][1]);
      if (k == 1) edges.Done(z);
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

template <int L, int R, int NW, bool ZERO>
static __global__ void __launch_bounds__(32 * NW, 1) HJ3Star_Kernel(const __grid_constant__ HJ3Args g, const __grid_constant__ HJ3Star p)
{
  typedef HJ3StarBlock<L, R, NW, ZERO> Block;
  extern __shared__ __align__(16) double sm[];
  Block                                  k(g, p, sm);

  for (int c = g.first[blockIdx.x]; c < g.first[blockIdx.x + 1]; c++) k.Run(g.piece[c]);
}

template <int L, int R, int NW, bool ZERO>
static cudaError_t HJ3StarLaunch(cudaStream_t stream, int blocks, const HJ3Args *g, const void *p)
{
  typedef HJ3StarBlock<L, R, NW, ZERO> Block;
  const int                            bytes = Block::BYTES;
  cudaError_t e = cudaFuncSetAttribute(HJ3Star_Kernel<L, R, NW, ZERO>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e != cudaSuccess) return e;
  HJ3Star_Kernel<L, R, NW, ZERO><<<blocks, 32 * NW, bytes, stream>>>(*g, *(const HJ3Star *)p);
  return cudaGetLastError();
}

#define HJ3_STAR_KERNEL(L, R, NW, ZERO)                                                                                                    \
  {                                                                                                                                        \
    HJ3StarBlock<L, R, NW, ZERO>::TY, L, HJ3StarBlock<L, R, NW, ZERO>::BYTES, HJ3StarLaunch<L, R, NW, ZERO>                                \
  }

const HJ3Kernel HJ3KernelStar4     = HJ3_STAR_KERNEL(4, 5, 8, false);
const HJ3Kernel HJ3KernelStar3     = HJ3_STAR_KERNEL(3, 5, 8, false);
const HJ3Kernel HJ3KernelStar3Zero = HJ3_STAR_KERNEL(3, 6, 8, true);

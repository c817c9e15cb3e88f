/*
   3D star, constant coefficients, one or two levels: work for the memory. Each warp streams a tile of its own, a column a lane, without regard for other
   warps; what two of them read comes from the caches. Decides nothing about where pieces lie: hjstream3d.cu does.
*/
#include "hjstream3d.cuh"

/* 0 where bit is 0 */
static __device__ __forceinline__ double HJ3LoadIf(unsigned bit, const double *src)
{
  double v;

  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\tmov.f64 %0, 0d0000000000000000;\n\t@p ld.global.f64 %0, [%2];\n\t}" : "=d"(v) : "r"(bit), "l"(src));
  return v;
}

/*
   L levels, R rows a warp, NX by NY warps a block. Plane z of a level is complete when plane z + 1 of the level below comes: sum then lacks that plane's share
   alone, and before has what plane z + 1 takes from earlier ones. So a plane is used up at once; meanwhile the next one is fetched. TOGETHER: the block's
   warps start each second plane at once, so that they share more in the caches, at the price of waiting.
*/
template <int L, int R, int NX, int NY, bool ZERO, bool TOGETHER> struct HJ3FewWarp {
  static constexpr int COLUMNS = 32 - 2 * L, ROWS = R + 2 * L, MID = ROWS - 2; /* columns that are written; rows of x; of b and level 0 */

  const HJ3Args &g;
  const HJ3Star &p;
  double         x[2][ROWS], b[2][MID], sum[L][MID], before[L][MID]; /* x, b: planes by turns */
  unsigned       xbits, bbits, inside, own;                          /* a bit a row: this lane's point is read, read in b, in the domain, written */
  int            z0, z1, dlo, dhi;
  int2           zx, zb;     /* planes of x and b that may be read */
  unsigned       nx, ny;     /* row lengths of box, ybox */
  long long      at, sz, sy; /* this lane's place in the first row of the plane of x that is read next; plane strides of box, ybox */
  double        *py;         /* and in y, in the plane that is written next */

  __device__ HJ3FewWarp(const HJ3Args &args, const HJ3Star &star) : g(args), p(star) {}

  /* Of rows from the given one on */
  static __device__ unsigned Bits(int2 rx, int2 ry, int column, int row, int rows)
  {
    const int from = max(ry.x - row, 0), to = min(ry.y - row, rows);

    return HJ3In(rx, column) && from < to ? (1u << to) - (1u << from) : 0;
  }

  __device__ void Start(const HJ3Piece &q, const HJDSweep &s)
  {
    const int  warp = threadIdx.x >> 5, row = q.own_lo[1] + warp / NX * R, first = q.own_lo[0] + warp % NX * COLUMNS, column = first - L + (threadIdx.x & 31);
    const int2 ox = make_int2(first, min(first + COLUMNS, q.own_hi[0])), oy = make_int2(row, min(row + R, q.own_hi[1]));
    const bool any = ox.x < ox.y && oy.x < oy.y;

    xbits  = any ? Bits(HJ3Reach(s, 0, ox.x, ox.y, g.depth), HJ3Reach(s, 1, oy.x, oy.y, g.depth), column, row - L, ROWS) : 0;
    bbits  = any ? Bits(HJ3Reach(s, 0, ox.x, ox.y, L - 1), HJ3Reach(s, 1, oy.x, oy.y, L - 1), column, row - L + 1, MID) : 0;
    inside = Bits(make_int2(s.domain.lo[0], s.domain.hi[0]), make_int2(s.domain.lo[1], s.domain.hi[1]), column, row - L + 1, MID);
    own    = any ? Bits(ox, oy, column, row, R) : 0;
    z0     = q.z0;
    z1     = q.z1;
    dlo    = s.domain.lo[2];
    dhi    = s.domain.hi[2];
    zx     = HJ3Reach(s, 2, z0, z1, g.depth);
    zb     = HJ3Reach(s, 2, z0, z1, L - 1);
    nx     = HJDWidth(s.box, 0);
    ny     = HJDWidth(s.ybox, 0);
    sz     = (long long)nx * HJDWidth(s.box, 1);
    sy     = (long long)ny * HJDWidth(s.ybox, 1);
    at     = HJDIndex(s.box, column, row - L, z0 - L);
    py     = s.y + HJDIndex(s.ybox, column, row, z0);

    HJ3_UNROLL for (int j = 0; j < L; j++) HJ3_UNROLL for (int i = 0; i < MID; i++) sum[j][i] = before[j][i] = 0;
  }

  /* Plane r of x and b, r one more than the last time */
  __device__ __forceinline__ void Fetch(const HJDSweep &s, int to, int r)
  {
    const unsigned xnow = HJ3In(zx, r) ? xbits : 0, bnow = HJ3In(zb, r) ? bbits : 0;
    const double  *px = HJDHome(s, ZERO ? s.b : s.x, ZERO ? s.bghost : s.xghost, r) + at, *pb = HJDHome(s, s.b, s.bghost, r) + at + nx;

    HJ3_UNROLL for (int i = 0; i < ROWS; i++)
    {
      x[to][i] = HJ3LoadIf(xnow & 1u << i, px + (unsigned long long)nx * i);
      if (!ZERO && i < MID) b[to][i] = HJ3LoadIf(bnow & 1u << i, pb + (unsigned long long)nx * i);
    }
    at += sz;
  }

  /* What row i of level j gives, now that it is there as v: to its own plane of the next level, and to the one after, which starts with v0 */
  __device__ __forceinline__ void Give(int j, int i, double up, double v, double down, double v0)
  {
    const double *c  = p.c[j];
    const double  lo = __shfl_up_sync(~0u, v, 1), hi = __shfl_down_sync(~0u, v, 1);
    double        t = fma(c[0], v, before[j][i]);

    t            = fma(c[3], up, t);
    t            = fma(c[4], down, t);
    t            = fma(c[1], lo, t);
    sum[j][i]    = fma(c[2], hi, t);
    before[j][i] = fma(c[5], v, v0);
  }

  /* The copies of plane r, from what this thread has just written */
  __device__ __forceinline__ void Copy(const HJDSweep &s, int r) const
  {
#pragma unroll 1
    for (int i = 0; i < 2 * R; i++) {
      const double *from = py + (unsigned long long)ny * (i >> 1);

      if (own & 1u << (i >> 1) && (i & 1 ? r >= s.copy_hi : r < s.copy_lo)) s.copy[i & 1][from - s.y] = *from;
    }
  }

  /* Plane r of x and b has come: level j makes plane r - 1 - j */
  __device__ __forceinline__ void Step(const HJDSweep &s, int now, int r)
  {
    const unsigned live = r > dlo && r <= dhi ? inside : 0, write = r - L >= z0 && r - L < z1 ? own : 0;
    double         f[MID];

    Fetch(s, now ^ 1, r + 1);
    HJ3_UNROLL for (int i = 0; i < MID; i++)
    {
      f[i] = fma(p.c[0][6], x[now][i + 1], sum[0][i]);
      Give(0, i, x[now][i], x[now][i + 1], x[now][i + 2], 0.);
      if (!ZERO) sum[0][i] = fma(p.b[0], b[now][i], sum[0][i]);
      if (L == 1) HJ3StoreIf(write & 1u << i, py + (unsigned long long)ny * i, f[i]);
      else f[i] = live & 1u << i ? f[i] : 0.;
      if (L == 2 && i >= 2) {
        HJ3StoreIf(write & 1u << (i - 2), py + (unsigned long long)ny * (i - 2), fma(p.c[1][6], f[i - 1], sum[1][i - 2]));
        Give(1, i - 2, f[i - 2], f[i - 1], f[i], p.s[0] * x[now][i]);
      }
    }
    if (r - L < z0) return;
    if (write && (r - L < s.copy_lo || r - L >= s.copy_hi)) Copy(s, r - L);
    py += sy;
  }

  __device__ void Run(const HJ3Piece &q)
  {
    const HJDSweep &s = g.sweep[q.sweep];

    Start(q, s);
    Fetch(s, 0, z0 - L);
#pragma unroll 1
    for (int r = z0 - L; r < z1 + L; r += 2) {
      if (TOGETHER) __syncthreads();
      Step(s, 0, r);
      Step(s, 1, r + 1);
    }
  }
};

template <int L, int R, int NX, int NY, int BLOCKS, bool ZERO, bool TOGETHER> static __global__ void __launch_bounds__(32 * NX * NY, BLOCKS) HJ3Few_Kernel(const __grid_constant__ HJ3Args g, const __grid_constant__ HJ3Star p)
{
  HJ3FewWarp<L, R, NX, NY, ZERO, TOGETHER> k(g, p);

  for (int c = g.first[blockIdx.x]; c < g.first[blockIdx.x + 1]; c++) k.Run(g.piece[c]);
}

template <int L, int R, int NX, int NY, int BLOCKS, bool ZERO, bool TOGETHER> static cudaError_t HJ3FewLaunch(cudaStream_t stream, int blocks, const HJ3Args *g, const void *p)
{
  HJ3Few_Kernel<L, R, NX, NY, BLOCKS, ZERO, TOGETHER><<<blocks, 32 * NX * NY, 0, stream>>>(*g, *(const HJ3Star *)p);
  return cudaGetLastError();
}

#define HJ3_FEW_KERNEL(L, R, NX, NY, BLOCKS, ZERO, TOGETHER)                                                                                                                                                                                             \
  {                                                                                                                                                                                                                                                      \
    (R) * (NY), L, 0, HJ3FewLaunch<L, R, NX, NY, BLOCKS, ZERO, TOGETHER>, NULL, HJ3FewWarp<L, R, NX, NY, ZERO, TOGETHER>::COLUMNS *(NX), BLOCKS                                                                                                          \
  }

const HJ3Kernel HJ3KernelStar2     = HJ3_FEW_KERNEL(2, 7, 1, 2, 6, false, false);
const HJ3Kernel HJ3KernelStar2Zero = HJ3_FEW_KERNEL(2, 5, 2, 2, 4, true, false);
const HJ3Kernel HJ3KernelStar1     = HJ3_FEW_KERNEL(1, 5, 2, 2, 5, false, true);
const HJ3Kernel HJ3KernelStar1Zero = HJ3_FEW_KERNEL(1, 6, 2, 2, 5, true, true);

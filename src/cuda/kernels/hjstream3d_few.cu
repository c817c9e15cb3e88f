/*
   3D star, dictionary, one to three levels: work for the memory. Each warp streams a tile of its own, a column a lane, without regard for other
   warps; what two of them read comes from the caches. Decides nothing about where pieces lie: hjstream3d.cu does.
*/
#include "hjstream3d.cuh"

/* 0 where bit is 0 */
static __device__ __forceinline__ double HJ3LoadIf(unsigned bit, const double *src)
{
  double v;

  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\tmov.f64 %0, 0d0000000000000000;\n\t@p ld.global.f64 %0, [%2];\n\t}"
               : "=d"(v)
               : "r"(bit), "l"(src));
  return v;
}

/* The same; other where bit is 0 */
static __device__ __forceinline__ unsigned HJ3WordIf(unsigned bit, const unsigned *src, unsigned other)
{
  unsigned v;

  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\tmov.u32 %0, %3;\n\t@p ld.global.nc.u32 %0, [%2];\n\t}"
               : "=r"(v)
               : "r"(bit), "l"(src), "r"(other));
  return v;
}

/* Rows of the dictionary that the points of a step have: the main one; one a lane; any */
typedef enum { HJ3_MAIN, HJ3_STRAIGHT, HJ3_MIXED } HJ3Rows;

/*
   L levels, R rows a warp, NX by NY warps a block. Plane z of a level is complete when plane z + 1 of the level below comes: sum then lacks that plane's share
   alone, and before has what plane z + 1 takes from earlier ones. So a plane is used up at once; meanwhile the next one is fetched. TOGETHER: the block's
   warps start each second plane at once, so that they share more in the caches, at the price of waiting.
   TABLE: several rows. Where all points of a step have the main one, it is taken from the kernel's parameters, else each point takes its own from a table in
   shared memory, or a lane one for all its points. Level 0 then keeps the plane itself in before, b comes a plane later, and a zero guess makes x from b when
   that comes. Three levels: TABLE alone.
*/
template <int L, int R, int NX, int NY, bool ZERO, bool TOGETHER, bool TABLE> struct HJ3FewWarp {
  static constexpr int COLUMNS = 32 - 2 * L, ROWS = R + 2 * L, MID = ROWS - 2; /* columns that are written; rows of x; of b and level 0 */
  static constexpr int NUMBERS = ZERO ? ROWS : MID, WORDS = (NUMBERS + 3) / 4; /* rows whose numbers are needed; words of them */
  static constexpr int WARPS = NX * NY;

  const HJ3Args &g;
  const HJ3Star &p;
  double         x[2][ROWS], b[TABLE ? 1 : 2][MID], sum[L][MID], before[L][MID]; /* x, b: planes by turns */
  unsigned       xbits, bbits, inside, own; /* a bit a row: this lane's point is read, read in b, in the domain, written */
  int            z0, z1, dlo, dhi;
  int2           zx, zb;     /* planes of x and b that may be read */
  unsigned       nx, ny;     /* row lengths of box, ybox */
  long long      at, sz, sy; /* this lane's place in the first row of the plane of x that is read next; plane strides of box, ybox */
  double        *py;         /* and in y, in the plane that is written next */
  /* TABLE alone */
  const double *tab;
  const int    *flag;                 /* HJ3Args' alike of the plane after later */
  unsigned      number[L + 1][WORDS]; /* rows of the last planes, the newest first, a byte each */
  unsigned      fresh[WORDS];         /* of the plane that is being read */
  unsigned      mixed;                /* whether those in number differ, a bit a plane */
  int           coming, later;        /* HJ3Args' alike of the plane that is being read, of the one after */

  __device__ HJ3FewWarp(const HJ3Args &args, const HJ3Star &star, const double *table) : g(args), p(star), tab(table) {}

  /* Of rows from the given one on */
  static __device__ unsigned Bits(int2 rx, int2 ry, int column, int row, int rows)
  {
    const int from = max(ry.x - row, 0), to = min(ry.y - row, rows);

    return HJ3In(rx, column) && from < to ? (1u << to) - (1u << from) : 0;
  }

  __device__ void Start(const HJ3Piece &q, const HJDSweep &s)
  {
    const int warp = threadIdx.x >> 5, row = q.own_lo[1] + warp / NX * R, first = q.own_lo[0] + warp % NX * COLUMNS,
              column = first - L + (threadIdx.x & 31);
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
    HJ3_UNROLL for (int i = 0; i < MID && TABLE; i++) b[0][i]                                                = 0;
  }

  __device__ const int *Flags(int piece) const { return (const int *)g.row_scan + ((long long)piece * WARPS + (threadIdx.x >> 5)) * g.planes; }

  __device__ void StartNumbers(int piece)
  {
    flag                                                                                            = Flags(piece);
    coming                                                                                          = *flag++;
    later                                                                                           = *flag++;
    mixed                                                                                           = 0;
    HJ3_UNROLL for (int k = 0; k <= L; k++) HJ3_UNROLL for (int i = 0; i < WORDS; i++) number[k][i] = 0x01010101u * p.row;
  }

  /* The numbers of this lane's points in plane r, main where they do not matter; of a piece just started */
  __device__ void Numbers(const HJDSweep &s, const HJ3Piece &q, int r, unsigned main, unsigned (&to)[WORDS]) const
  {
    const int warp = threadIdx.x >> 5, row = q.own_lo[1] + warp / NX * R - L + !ZERO,
              column          = q.own_lo[0] + warp % NX * COLUMNS - L + (threadIdx.x & 31);
    const int2           z    = HJ3Reach(s, 2, z0, z1, ZERO ? g.depth : L - 1);
    const bool           in   = HJ3In(z, r) && r >= g.sbox.lo[2] && r < g.sbox.hi[2];
    const unsigned       bits = in ? (ZERO ? xbits : bbits) &
                                 Bits(make_int2(g.sbox.lo[0], g.sbox.hi[0]), make_int2(g.sbox.lo[1], g.sbox.hi[1]), column, row, NUMBERS)
                                   : 0;
    const unsigned char *at   = g.index + HJDIndex(g.sbox, column, row, r);

    for (int i = 0; i < WORDS; i++) to[i] = 0x01010101u * main;
    for (int i = 0; i < 4 * WORDS; i++) {
      const int k = min(i, NUMBERS - 1);

      if (bits & 1u << k) to[i / 4] ^= (main ^ at[(long long)HJDWidth(g.sbox, 0) * k]) << 8 * (i % 4);
    }
  }

  /* The numbers of one more plane */
  __device__ __forceinline__ void FetchNumbers()
  {
    const unsigned *src = (const unsigned *)g.row_scan + 32ll * coming + (threadIdx.x & 31);

    HJ3_UNROLL for (int i = 0; i < WORDS; i++) fresh[i] = HJ3WordIf(coming, src + 32 * i, 0x01010101u * p.row);
  }

  __device__ __forceinline__ void KeepNumbers()
  {
    HJ3_UNROLL for (int k = L; k > 0; k--) HJ3_UNROLL for (int i = 0; i < WORDS; i++) number[k][i] = number[k - 1][i];
    HJ3_UNROLL for (int i = 0; i < WORDS; i++) number[0][i]                                        = fresh[i];
    mixed                                                                                          = mixed << 1 | (coming != 0);
    coming                                                                                         = later;
    later                                                                                          = *flag++;
  }

  /* Whether all this lane's points have one row */
  __device__ __forceinline__ bool Straight() const
  {
    unsigned other = 0;

    HJ3_UNROLL for (int k = 0; k <= L; k++) HJ3_UNROLL for (int i = 0; i < WORDS; i++)
      other |= number[k][i] ^ 0x01010101u * (number[0][0] & 255);
    return !other;
  }

  /* The table's row of row i of b, in the plane that came back planes before the newest */
  __device__ __forceinline__ const double *RowOf(int back, int i) const
  {
    const int at = i + ZERO;

    return tab + HJ3_ROW * (number[back][at / 4] >> 8 * (at % 4) & 255);
  }

  /* TABLE: what follows from a row's length is worked out anew where it is used */
  static __device__ __forceinline__ unsigned Length(unsigned n) { return TABLE ? HJ3Fresh(n) : n; }

  /* TABLE: adds b of plane r - 1, the last that has come, to what has come of that plane of level 0 */
  __device__ __forceinline__ void TakeB()
  {
    if (__any_sync(~0u, mixed & 2)) {
      HJ3_UNROLL for (int i = 0; i < MID; i++) sum[0][i] = fma(-p.m[0] * RowOf(1, i)[7], b[0][i], sum[0][i]);
    } else {
      HJ3_UNROLL for (int i = 0; i < MID; i++) sum[0][i] = fma(p.b[0], b[0][i], sum[0][i]);
    }
  }

  /* Plane r of x and b, r one more than the last time; TABLE: b a plane behind */
  __device__ __forceinline__ void Fetch(const HJDSweep &s, int to, int r)
  {
    const unsigned xnow = HJ3In(zx, r) ? xbits : 0, bnow = HJ3In(zb, r - TABLE) ? bbits : 0, nx = Length(this->nx);
    const double  *px = HJDHome(s, ZERO ? s.b : s.x, ZERO ? s.bghost : s.xghost, r) + at,
                 *pb  = HJDHome(s, s.b, s.bghost, r - TABLE) + at + nx - (TABLE ? sz : 0);

    HJ3_UNROLL for (int i = 0; i < ROWS; i++)
    {
      x[to][i] = HJ3LoadIf(xnow & 1u << i, px + (unsigned long long)nx * i);
      if (!ZERO && i < MID) b[TABLE ? 0 : to][i] = HJ3LoadIf(bnow & 1u << i, pb + (unsigned long long)nx * i);
    }
    at += sz;
    if (TABLE) FetchNumbers();
  }

  /* What row i of level j gives, now that it is there as v: to its own plane of the next level, and to the one after, which starts with v0 */
  __device__ __forceinline__ void Give(int j, int i, double up, double v, double down, double v0)
  {
    const double *c  = p.c[j];
    const double  lo = __shfl_up_sync(~0u, v, 1), hi = __shfl_down_sync(~0u, v, 1);
    double        t = fma(c[0], v, TABLE && j == 0 ? c[5] * before[j][i] : before[j][i]);

    t            = fma(c[3], up, t);
    t            = fma(c[4], down, t);
    t            = fma(c[1], lo, t);
    sum[j][i]    = fma(c[2], hi, t);
    before[j][i] = TABLE && j == 0 ? v : fma(c[5], v, v0);
  }

  /* The same where points have rows of their own: this one's and, but for level 0, that of the one after */
  __device__ __forceinline__ void GiveOwn(int j, int i, double up, double v, double down, double v0, const double *row, const double *after)
  {
    const double lo = __shfl_up_sync(~0u, v, 1), hi = __shfl_down_sync(~0u, v, 1);
    double       t = row[0] * v;

    t = fma(row[3], up, t);
    t = fma(row[4], down, t);
    t = fma(row[1], lo, t);
    t = fma(row[2], hi, t);
    if (j == 0) t = fma(row[5], before[0][i], t);
    sum[j][i]    = fma(p.m[j], t, j ? fma(p.a[j], v, before[j][i]) : p.a[0] * v);
    before[j][i] = j ? fma(p.m[j] * after[5], v, v0) : v;
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
  template <HJ3Rows KIND> __device__ __forceinline__ void Plane(const HJDSweep &s, int now, int r, unsigned live, unsigned write)
  {
    constexpr bool MIXED = KIND != HJ3_MAIN;
    const unsigned ny    = Length(this->ny);
    double         f[L][MID], own[8], was[MID]; /* f: of level j + 1; was: plane r - 1 of level 0 */
    auto           RowOf = [&](int back, int i) { return KIND == HJ3_STRAIGHT ? own : this->RowOf(back, i); };
    auto           Next  = [&](int j, int k, double v) { return fma(MIXED ? p.m[j] * RowOf(j + 1, k + j)[6] : p.c[j][6], v, sum[j][k]); };

    if (KIND == HJ3_STRAIGHT) {
      HJ3_UNROLL for (int o = 0; o < 8; o++) own[o] = this->RowOf(0, 0)[o];
    }
    HJ3_UNROLL for (int i = 0; i < ROWS && TABLE && ZERO; i++) x[now][i] *= MIXED ? RowOf(0, i - 1)[7] : p.dinv;
    HJ3_UNROLL for (int i = 0; i < MID; i++)
    {
      f[0][i] = Next(0, i, x[now][i + 1]);
      was[i]  = before[0][i];
      if (MIXED) GiveOwn(0, i, x[now][i], x[now][i + 1], x[now][i + 2], 0., RowOf(0, i), NULL);
      else Give(0, i, x[now][i], x[now][i + 1], x[now][i + 2], 0.);
      if (!TABLE && !ZERO) sum[0][i] = fma(p.b[0], b[now][i], sum[0][i]);
      if (L == 1) HJ3StoreIf(write & 1u << i, py + (unsigned long long)ny * i, f[0][i]);
      else f[0][i] = live & 1u << i ? f[0][i] : 0.;
      HJ3_UNROLL for (int j = 1; j < L && i >= 2 * j; j++)
      {
        const int k = i - 2 * j; /* row of level j */

        if (j == L - 1) HJ3StoreIf(write & 1u << k, py + (unsigned long long)ny * k, Next(j, k, f[j - 1][k + 1]));
        else f[j][k] = HJ3In(make_int2(dlo, dhi), r - 1 - j) && inside & 1u << (k + j) ? Next(j, k, f[j - 1][k + 1]) : 0.;
        const double v = f[j - 1][k + 1], share = j < L - 1 ? 0.
                                                  : L == 2  ? p.s[0] * x[now][i]
                                                            : fma(p.s[1], f[0][i - 2], p.s[0] * was[i - 2]);
        if (MIXED) GiveOwn(j, k, f[j - 1][k], v, f[j - 1][k + 2], share, RowOf(j, k + j), RowOf(j - 1, k + j));
        else Give(j, k, f[j - 1][k], v, f[j - 1][k + 2], share);
      }
    }
  }

  __device__ __forceinline__ void Step(const HJDSweep &s, int now, int r)
  {
    const unsigned live = r > dlo && r <= dhi ? inside : 0, write = r - L >= z0 && r - L < z1 ? own : 0;

    if (TABLE && !ZERO) TakeB();
    Fetch(s, now ^ 1, r + 1);
    if (!TABLE || !__any_sync(~0u, mixed & ((2u << L) - 1))) Plane<HJ3_MAIN>(s, now, r, live, write);
    else if (__all_sync(~0u, Straight())) Plane<HJ3_STRAIGHT>(s, now, r, live, write);
    else Plane<HJ3_MIXED>(s, now, r, live, write);
    if (TABLE) KeepNumbers();
    if (r - L < z0) return;
    if (write && (r - L < s.copy_lo || r - L >= s.copy_hi)) Copy(s, r - L);
    py += sy;
  }

  __device__ void Run(int piece)
  {
    const HJ3Piece &q = g.piece[piece];
    const HJDSweep &s = g.sweep[q.sweep];

    Start(q, s);
    if (TABLE) StartNumbers(piece);
    Fetch(s, 0, z0 - L);
    if (TABLE) KeepNumbers();
#pragma unroll 1
    for (int r = z0 - L; r < z1 + L; r += 2) {
      if (TOGETHER) __syncthreads();
      Step(s, 0, r);
      Step(s, 1, r + 1);
    }
  }
};

template <int L, int R, int NX, int NY, int BLOCKS, bool ZERO, bool TOGETHER>
static __global__ void __launch_bounds__(32 * NX * NY, BLOCKS)
  HJ3Few_Kernel(const __grid_constant__ HJ3Args g, const __grid_constant__ HJ3Star p)
{
  HJ3FewWarp<L, R, NX, NY, ZERO, TOGETHER, false> k(g, p, NULL);

  for (int c = g.first[blockIdx.x]; c < g.first[blockIdx.x + 1]; c++) k.Run(c);
}

template <int L, int R, int NX, int NY, int BLOCKS, bool ZERO, bool TOGETHER>
static __global__ void __launch_bounds__(32 * NX * NY, BLOCKS)
  HJ3FewTable_Kernel(const __grid_constant__ HJ3Args g, const __grid_constant__ HJ3Star p)
{
  extern __shared__ __align__(16) double         sm[];
  HJ3FewWarp<L, R, NX, NY, ZERO, TOGETHER, true> k(g, p, sm);

  HJ3TableLoad(sm, g);
  for (int c = g.first[blockIdx.x]; c < g.first[blockIdx.x + 1]; c++) k.Run(c);
}

/* Makes HJ3Args' alike, one block a piece and plane. First without numbers: counts in n the planes that differ, and numbers them from 1 on; then fills numbers, rows behind the first from times 32 */
template <int L, int R, int NX, int NY, bool ZERO>
static __global__ void HJ3FewAlike_Kernel(const __grid_constant__ HJ3Args g, const __grid_constant__ HJ3Star p, int *flags, int *n,
                                          unsigned *numbers, int from)
{
  typedef HJ3FewWarp<L, R, NX, NY, ZERO, false, true> Warp;
  Warp                                                k(g, p, NULL);
  const HJ3Piece                                     &q    = g.piece[blockIdx.x];
  int                                                *at   = flags + (k.Flags(blockIdx.x) - (const int *)g.row_scan) + blockIdx.y;
  const int                                           lane = threadIdx.x & 31;
  unsigned                                            words[Warp::WORDS];
  bool                                                differ = false;

  k.Start(q, g.sweep[q.sweep]);
  k.Numbers(g.sweep[q.sweep], q, q.z0 - L + blockIdx.y, p.row, words);
  if (!numbers) {
    for (int i = 0; i < Warp::WORDS; i++) differ = differ || words[i] != 0x01010101u * p.row;
    differ = __any_sync(~0u, differ);
    if (lane == 0) *at = differ ? 1 + atomicAdd(n, 1) : 0;
  } else if (*at) {
    const int to = from + (*at - 1) * Warp::WORDS;

    for (int i = 0; i < Warp::WORDS; i++) numbers[32ll * (to + i) + lane] = words[i];
    if (lane == 0) numbers[at - flags] = to;
  } else if (lane == 0) numbers[at - flags] = 0;
}

template <int L, int R, int NX, int NY, int BLOCKS, bool ZERO, bool TOGETHER, bool TABLE>
static cudaError_t HJ3FewLaunch(cudaStream_t stream, int blocks, const HJ3Args *g, const void *p)
{
  if constexpr (TABLE)
    HJ3FewTable_Kernel<L, R, NX, NY, BLOCKS, ZERO, TOGETHER>
      <<<blocks, 32 * NX * NY, 8 * HJ3_ROW *(g->nrows + 1), stream>>>(*g, *(const HJ3Star *)p);
  else HJ3Few_Kernel<L, R, NX, NY, BLOCKS, ZERO, TOGETHER><<<blocks, 32 * NX * NY, 0, stream>>>(*g, *(const HJ3Star *)p);
  return cudaGetLastError();
}

template <int L, int R, int NX, int NY, bool ZERO>
static PetscErrorCode HJ3FewCompare(cudaStream_t stream, int pieces, const HJ3Args *g, int row, unsigned char **alike)
{
  const dim3   grid(pieces, g->planes), block(32 * NX * NY);
  const size_t flags = ((size_t)pieces * g->planes * NX * NY + 31) / 32;
  HJ3Star      p;
  int         *d_flags, n;

  PetscFunctionBegin;
  memset(&p, 0, sizeof(p));
  p.row = row;
  PetscCall(HJAlloc(128 * (flags + 1), (void **)&d_flags));
  PetscCallCUDA(cudaMemsetAsync(d_flags + 32 * flags, 0, sizeof(n), stream));
  HJ3FewAlike_Kernel<L, R, NX, NY, ZERO><<<grid, block, 0, stream>>>(*g, p, d_flags, d_flags + 32 * flags, NULL, 0);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&n, d_flags + 32 * flags, sizeof(n), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(HJAlloc(128 * (flags + (size_t)n * HJ3FewWarp<L, R, NX, NY, ZERO, false, true>::WORDS), (void **)alike));
  HJ3FewAlike_Kernel<L, R, NX, NY, ZERO><<<grid, block, 0, stream>>>(*g, p, d_flags, NULL, (unsigned *)*alike, (int)flags);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCallCUDA(cudaFree(d_flags));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define HJ3_FEW_KERNEL(L, R, NX, NY, BLOCKS, ZERO, TOGETHER, TABLE)                                                                        \
  {                                                                                                                                        \
    (R) * (NY), L, 0, HJ3FewLaunch<L, R, NX, NY, BLOCKS, ZERO, TOGETHER, TABLE>, NULL,                                                     \
      HJ3FewWarp<L, R, NX, NY, ZERO, TOGETHER, TABLE>::COLUMNS *(NX), BLOCKS, TABLE ? HJ3FewCompare<L, R, NX, NY, ZERO> : NULL             \
  }

const HJ3Kernel HJ3KernelStar2      = HJ3_FEW_KERNEL(2, 7, 1, 2, 6, false, false, false);
const HJ3Kernel HJ3KernelStar2Zero  = HJ3_FEW_KERNEL(2, 5, 2, 2, 4, true, false, false);
const HJ3Kernel HJ3KernelStar1      = HJ3_FEW_KERNEL(1, 5, 2, 2, 5, false, true, false);
const HJ3Kernel HJ3KernelStar1Zero  = HJ3_FEW_KERNEL(1, 6, 2, 2, 5, true, true, false);
const HJ3Kernel HJ3KernelTable3     = HJ3_FEW_KERNEL(3, 4, 1, 2, 4, false, false, true);
const HJ3Kernel HJ3KernelTable2     = HJ3_FEW_KERNEL(2, 8, 1, 2, 4, false, false, true);
const HJ3Kernel HJ3KernelTable1     = HJ3_FEW_KERNEL(1, 5, 2, 2, 4, false, true, true);
const HJ3Kernel HJ3KernelTable3Zero = HJ3_FEW_KERNEL(3, 5, 1, 2, 4, true, false, true);
const HJ3Kernel HJ3KernelTable2Zero = HJ3_FEW_KERNEL(2, 8, 1, 2, 4, true, false, true);
const HJ3Kernel HJ3KernelTable1Zero = HJ3_FEW_KERNEL(1, 7, 2, 2, 3, true, true, true);

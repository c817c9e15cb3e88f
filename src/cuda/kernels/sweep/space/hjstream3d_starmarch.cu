/* SPDX-License-Identifier: BSD-2-Clause */
/*
   3D star, dictionary, one to three levels, where the memory is the limit: warps that march alone. Decides nothing about where pieces lie:
   hjstream3d.cu does.
*/
#include "hjstream3d_march.cuh"

/* What src points to, or other where bit is 0 */
static __device__ __forceinline__ unsigned HJ3WordIf(unsigned bit, const unsigned *src, unsigned other)
{
  unsigned v;

  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\tmov.u32 %0, %3;\n\t@p ld.global.nc.u32 %0, [%2];\n\t}"
               : "=r"(v)
               : "r"(bit), "l"(src), "r"(other));
  return v;
}

/* Rows of the dictionary that the points of a step have: HJ3Star's alone; one for all points of a lane; any */
typedef enum { HJ3_MAIN, HJ3_STRAIGHT, HJ3_MIXED } HJ3Rows;

/*
   L levels; a warp has R rows of points, a block NX by NY warps.

   Plane z of a level is complete when plane z + 1 of the level below has come. Two arrays hold what has come so far: sum is plane z without
   the share of plane z + 1, and before is what plane z + 1 takes from earlier planes and levels. So each plane is used up as soon as it is
   there, while the next one is being fetched.

   TOGETHER: the warps of a block start every second plane together. They then share more of what the caches hold, but wait for each other.

   TABLE: the dictionary has several rows, which are in a table in shared memory. Where all points of a step have HJ3Star's row, its
   coefficients come from the kernel's parameters. Elsewhere each point takes its row from the table, or each lane one row for all its
   points. Three things then differ: before of level 0 is the plane itself, b comes one plane later than x, and with a zero guess x is made
   from b when b has come. Three levels are for TABLE alone.
*/
template <int L, int R, int NX, int NY, bool ZERO, bool TOGETHER, bool TABLE, bool WRAP>
struct HJ3StarMarch : HJ3March<L, R, NX, NY, WRAP> {
  typedef HJ3March<L, R, NX, NY, WRAP> Base;
  using Base::g, Base::xbits, Base::bbits, Base::inside, Base::own, Base::z0, Base::z1, Base::zx, Base::zb, Base::at, Base::sz, Base::py,
    Base::ROWS, Base::MID, Base::COLUMNS;
  static constexpr int NUMBERS = ZERO ? ROWS : MID, WORDS = (NUMBERS + 3) / 4; /* points of a lane whose row number is needed; in words */
  static constexpr int WARPS = NX * NY;

  const HJ3Star &p;
  PetscScalar    x[2][ROWS], b[TABLE ? 1 : 2][MID], sum[L][MID], before[L][MID]; /* x, b: planes by turns */
  /* TABLE alone; for places see Places() */
  const PetscScalar *tab;
  const int         *place;                 /* place of the plane after the next */
  unsigned           number[L + 1][WORDS];  /* row numbers of the last planes, the newest first, a byte each */
  unsigned           fresh[WORDS];          /* row numbers of the plane that is being read */
  unsigned           mixed;                 /* a bit for each plane, the newest lowest: it has other rows than HJ3Star's */
  int                place_now, place_next; /* of the plane that is being read, and of the one after */

  __device__ HJ3StarMarch(const HJ3Args &args, const HJ3Star &star, const PetscScalar *table) : Base(args), p(star), tab(table) {}

  __device__ void Start(const HJ3Piece &q, const HJDSweep &s)
  {
    Base::Start(q, s);
    HJ3_UNROLL for (int j = 0; j < L; j++) HJ3_UNROLL for (int i = 0; i < MID; i++) sum[j][i] = before[j][i] = 0;
    HJ3_UNROLL for (int i = 0; i < MID && TABLE; i++) b[0][i]                                                = 0;
  }

  /*
     HJ3Args' row_scan is of int here. It begins with places, [piece][warp][planes], from plane z0 - L on. A place is 0 where all points of
     the plane that the warp needs have HJ3Star's row. Else the warp's row numbers lie 32 times place ints from the beginning: [WORDS][lane]
  */
  __device__ const int *Places(int piece) const
  {
    return (const int *)g.row_scan + ((long long)piece * WARPS + (threadIdx.x >> 5)) * g.planes;
  }

  __device__ void StartNumbers(int piece)
  {
    place                                                                                           = Places(piece);
    place_now                                                                                       = *place++;
    place_next                                                                                      = *place++;
    mixed                                                                                           = 0;
    HJ3_UNROLL for (int k = 0; k <= L; k++) HJ3_UNROLL for (int i = 0; i < WORDS; i++) number[k][i] = HJ3FourTimes(p.row);
  }

  /* The row numbers of this lane's points in plane r, main where they do not matter; of a piece just started */
  __device__ void ReadNumbers(const HJDSweep &s, const HJ3Piece &q, int r, unsigned main, unsigned (&to)[WORDS]) const
  {
    const int warp = threadIdx.x >> 5, row = q.own_lo[1] + warp / NX * R - L + !ZERO,
              column          = q.own_lo[0] + warp % NX * COLUMNS - L + (threadIdx.x & 31);
    const int2           z    = HJ3Reach(s, 2, z0, z1, ZERO ? g.depth : L - 1);
    const bool           in   = HJ3In(z, r) && r >= g.sbox.lo[2] && r < g.sbox.hi[2];
    const unsigned       bits = in ? (ZERO ? xbits : bbits) & Base::Bits(make_int2(g.sbox.lo[0], g.sbox.hi[0]),
                                                                         make_int2(g.sbox.lo[1], g.sbox.hi[1]), column, row, NUMBERS)
                                   : 0;
    const unsigned char *at   = g.index + HJDIndex(g.sbox, column, row, r);

    for (int i = 0; i < WORDS; i++) to[i] = HJ3FourTimes(main);
    for (int i = 0; i < 4 * WORDS; i++) {
      const int k = min(i, NUMBERS - 1);

      if (bits & 1u << k) to[i / 4] ^= (main ^ at[(long long)HJDWidth(g.sbox, 0) * k]) << 8 * (i % 4);
    }
  }

  /* Reads the row numbers of one more plane */
  __device__ __forceinline__ void FetchNumbers()
  {
    const unsigned *src = (const unsigned *)g.row_scan + 32ll * place_now + (threadIdx.x & 31);

    HJ3_UNROLL for (int i = 0; i < WORDS; i++) fresh[i] = HJ3WordIf(place_now, src + 32 * i, HJ3FourTimes(p.row));
  }

  /* The plane whose numbers have been read is now the newest */
  __device__ __forceinline__ void KeepNumbers()
  {
    HJ3_UNROLL for (int k = L; k > 0; k--) HJ3_UNROLL for (int i = 0; i < WORDS; i++) number[k][i] = number[k - 1][i];
    HJ3_UNROLL for (int i = 0; i < WORDS; i++) number[0][i]                                        = fresh[i];
    mixed                                                                                          = mixed << 1 | (place_now != 0);
    place_now                                                                                      = place_next;
    place_next                                                                                     = *place++;
  }

  /* Whether all this lane's points have one row of the dictionary */
  __device__ __forceinline__ bool Straight() const
  {
    unsigned other = 0;

    HJ3_UNROLL for (int k = 0; k <= L; k++) HJ3_UNROLL for (int i = 0; i < WORDS; i++)
      other |= number[k][i] ^ HJ3FourTimes(number[0][0] & 255);
    return !other;
  }

  /* The table's row for this lane's point in row i of b, of the plane that came back planes before the newest */
  __device__ __forceinline__ const PetscScalar *RowOf(int back, int i) const
  {
    const int at = i + ZERO;

    return tab + HJ3_ROW * (number[back][at / 4] >> 8 * (at % 4) & 255);
  }

  /* With TABLE, what follows from a row's length is worked out anew where it is used: that costs fewer registers */
  static __device__ __forceinline__ unsigned Length(unsigned n) { return TABLE ? HJ3Fresh(n) : n; }

  /* TABLE: adds b of plane r - 1, the newest of b, to the sum of that plane in level 0 */
  __device__ __forceinline__ void TakeB()
  {
    if (__any_sync(~0u, mixed & 2)) {
      HJ3_UNROLL for (int i = 0; i < MID; i++) sum[0][i] = fma(-p.m[0] * RowOf(1, i)[7], b[0][i], sum[0][i]);
    } else {
      HJ3_UNROLL for (int i = 0; i < MID; i++) sum[0][i] = fma(p.b[0], b[0][i], sum[0][i]);
    }
  }

  /* From a row of a plane of x to where it would lie if no row before it had wrapped */
  __device__ __forceinline__ long long Wrapped(int split, int i) const { return WRAP && i >= split ? sz : 0; }

  /* Reads plane r of x and b, r one more than the last time. With TABLE b is one plane behind */
  __device__ __forceinline__ void Fetch(const HJDSweep &s, int to, int r)
  {
    const unsigned     xnow = HJ3In(zx, r) ? xbits : 0, bnow = HJ3In(zb, r - TABLE) ? bbits : 0, nx = Length(Base::nx);
    const PetscScalar *px = HJDHome(s, ZERO ? s.b : s.x, ZERO ? s.bghost : s.xghost, r) + at,
                      *pb = HJDHome(s, s.b, s.bghost, r - TABLE) + at + nx - (TABLE ? sz : 0);
    const int split       = this->Split() ? this->Split() : ROWS;

    HJ3_UNROLL for (int i = 0; i < ROWS; i++)
    {
      x[to][i] = HJ3LoadIf(xnow & 1u << i, px + (unsigned long long)nx * i - Wrapped(split, i));
      if (!ZERO && i < MID) b[TABLE ? 0 : to][i] = HJ3LoadIf(bnow & 1u << i, pb + (unsigned long long)nx * i - Wrapped(split, i + 1));
    }
    at += sz;
    if (TABLE) FetchNumbers();
  }

  /*
     Row i of level j has come as v, and its neighbours up and down in y. Its own plane of the next level gets its share, and then lacks the
     plane after it alone; the plane after starts with v0 and the share of v
  */
  __device__ __forceinline__ void Give(int j, int i, PetscScalar up, PetscScalar v, PetscScalar down, PetscScalar v0)
  {
    const PetscScalar *c  = p.c[j];
    const PetscScalar  lo = __shfl_up_sync(~0u, v, 1), hi = __shfl_down_sync(~0u, v, 1);
    PetscScalar        t = fma(c[0], v, TABLE && j == 0 ? c[5] * before[j][i] : before[j][i]);

    t            = fma(c[3], up, t);
    t            = fma(c[4], down, t);
    t            = fma(c[1], lo, t);
    sum[j][i]    = fma(c[2], hi, t);
    before[j][i] = TABLE && j == 0 ? v : fma(c[5], v, v0);
  }

  /* The same where points have rows of their own: row of the dictionary is this point's, after that of the point in the plane after it */
  __device__ __forceinline__ void GiveOwn(int j, int i, PetscScalar up, PetscScalar v, PetscScalar down, PetscScalar v0,
                                          const PetscScalar *row, const PetscScalar *after)
  {
    const PetscScalar lo = __shfl_up_sync(~0u, v, 1), hi = __shfl_down_sync(~0u, v, 1);
    PetscScalar       t = row[0] * v;

    t = fma(row[3], up, t);
    t = fma(row[4], down, t);
    t = fma(row[1], lo, t);
    t = fma(row[2], hi, t);
    if (j == 0) t = fma(row[5], before[0][i], t);
    sum[j][i]    = fma(p.m[j], t, j ? fma(p.a[j], v, before[j][i]) : p.a[0] * v);
    before[j][i] = j ? fma(p.m[j] * after[5], v, v0) : v;
  }

  /* Plane r of x and b has come, and level j makes plane r - 1 - j. now: where in x it is. live: bits of level 0 in the domain */
  template <HJ3Rows KIND> __device__ __forceinline__ void Plane(const HJDSweep &s, int now, int r, unsigned live, unsigned write)
  {
    constexpr bool MIXED = KIND != HJ3_MAIN;
    const unsigned ny    = Length(Base::ny);
    PetscScalar    f[L][MID], own[8], was[MID]; /* f: of level j + 1; was: plane r - 1 of level 0 */
    auto           RowOf = [&](int back, int i) { return KIND == HJ3_STRAIGHT ? own : this->RowOf(back, i); };
    auto Next = [&](int j, int k, PetscScalar v) { return fma(MIXED ? p.m[j] * RowOf(j + 1, k + j)[6] : p.c[j][6], v, sum[j][k]); };

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
      else f[0][i] = live & 1u << i ? f[0][i] : HJ_ZERO;
      HJ3_UNROLL for (int j = 1; j < L && i >= 2 * j; j++)
      {
        const int k = i - 2 * j; /* row of level j */

        if (j == L - 1) HJ3StoreIf(write & 1u << k, py + (unsigned long long)ny * k, Next(j, k, f[j - 1][k + 1]));
        else f[j][k] = HJ3In(make_int2(this->dlo, this->dhi), r - 1 - j) && inside & 1u << (k + j) ? Next(j, k, f[j - 1][k + 1]) : HJ_ZERO;
        const PetscScalar v = f[j - 1][k + 1], share = j < L - 1 ? HJ_ZERO
                                                       : L == 2  ? p.s[0] * x[now][i]
                                                                 : fma(p.s[1], f[0][i - 2], p.s[0] * was[i - 2]);
        if (MIXED) GiveOwn(j, k, f[j - 1][k], v, f[j - 1][k + 2], share, RowOf(j, k + j), RowOf(j - 1, k + j));
        else Give(j, k, f[j - 1][k], v, f[j - 1][k + 2], share);
      }
    }
  }

  __device__ __forceinline__ void Step(const HJDSweep &s, int now, int r)
  {
    const unsigned live = r > this->dlo && r <= this->dhi ? inside : 0, write = r - L >= z0 && r - L < z1 ? own : 0;

    if (TABLE && !ZERO) TakeB();
    Fetch(s, now ^ 1, r + 1);
    if (!TABLE || !__any_sync(~0u, mixed & ((2u << L) - 1))) Plane<HJ3_MAIN>(s, now, r, live, write);
    else if (__all_sync(~0u, Straight())) Plane<HJ3_STRAIGHT>(s, now, r, live, write);
    else Plane<HJ3_MIXED>(s, now, r, live, write);
    if (TABLE) KeepNumbers();
    if (r - L < z0) return;
    if (write && (r - L < s.copy_lo || r - L >= s.copy_hi)) this->Copy(s, r - L);
    py += this->sy;
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

/* Whether what a block of rows rows reads for a piece meets an end in y that wraps */
static __device__ bool HJ3MarchMeetsEnd(const HJ3Args &g, const HJ3Piece &q, int levels, int rows)
{
  const int wrap = g.sweep[q.sweep].wrap[1];

  return wrap && (q.own_lo[1] < levels || q.own_lo[1] + rows + levels > wrap);
}

/* WRAP: for sweeps that wrap. Most pieces of those do without the part that costs time */
template <int L, int R, int NX, int NY, int BLOCKS, bool ZERO, bool TOGETHER, bool TABLE, bool WRAP>
static __global__ void __launch_bounds__(32 * NX * NY, BLOCKS)
  HJ3StarMarch_Kernel(const __grid_constant__ HJ3Args g, const __grid_constant__ HJ3Star p)
{
  extern __shared__ __align__(16) PetscScalar tab[];

  if (TABLE) HJ3TableLoad(tab, g);
  for (int c = g.first[blockIdx.x]; c < g.first[blockIdx.x + 1]; c++) {
    if (WRAP && HJ3MarchMeetsEnd(g, g.piece[c], L, R * NY)) HJ3StarMarch<L, R, NX, NY, ZERO, TOGETHER, TABLE, true>(g, p, tab).Run(c);
    else HJ3StarMarch<L, R, NX, NY, ZERO, TOGETHER, TABLE, false>(g, p, tab).Run(c);
  }
}

/*
   Makes the row_scan of a piece and plane a block, in two launches. The first, without numbers, counts in n the planes that need row
   numbers, and writes to places how many each is, from 1 on. The second fills numbers from those; row numbers begin there at from, counted
   in 32 words
*/
template <int L, int R, int NX, int NY, bool ZERO>
static __global__ void HJ3StarMarchScan_Kernel(const __grid_constant__ HJ3Args g, const __grid_constant__ HJ3Star p, int *places, int *n,
                                               unsigned *numbers, int from)
{
  typedef HJ3StarMarch<L, R, NX, NY, ZERO, false, true, false> Warp;
  Warp                                                         k(g, p, NULL);
  const HJ3Piece                                              &q  = g.piece[blockIdx.x];
  int                                                         *at = places + (k.Places(blockIdx.x) - (const int *)g.row_scan) + blockIdx.y;
  const int                                                    lane = threadIdx.x & 31;
  unsigned                                                     words[Warp::WORDS];
  bool                                                         differ = false;

  k.Start(q, g.sweep[q.sweep]);
  k.ReadNumbers(g.sweep[q.sweep], q, q.z0 - L + blockIdx.y, p.row, words);
  if (!numbers) {
    for (int i = 0; i < Warp::WORDS; i++) differ = differ || words[i] != HJ3FourTimes(p.row);
    differ = __any_sync(~0u, differ);
    if (lane == 0) *at = differ ? 1 + atomicAdd(n, 1) : 0;
  } else if (*at) {
    const int to = from + (*at - 1) * Warp::WORDS;

    for (int i = 0; i < Warp::WORDS; i++) numbers[32ll * (to + i) + lane] = words[i];
    if (lane == 0) numbers[at - places] = to;
  } else if (lane == 0) numbers[at - places] = 0;
}

template <int L, int R, int NX, int NY, bool ZERO>
static PetscErrorCode HJ3StarMarchScan(cudaStream_t stream, int pieces, const HJ3Args *g, int row, unsigned char **row_scan)
{
  const dim3   grid(pieces, g->planes), block(32 * NX * NY);
  const size_t line = 32 * sizeof(int), lines = ((size_t)pieces * g->planes * NX * NY + 31) / 32; /* of places; the line after them is n */
  HJ3Star      p;
  int         *d_places, *d_n, n;

  PetscFunctionBegin;
  memset(&p, 0, sizeof(p));
  p.row = row;
  PetscCall(HJAlloc((lines + 1) * line, (void **)&d_places));
  d_n = d_places + 32 * lines;
  PetscCallCUDA(cudaMemsetAsync(d_n, 0, sizeof(n), stream));
  HJ3StarMarchScan_Kernel<L, R, NX, NY, ZERO><<<grid, block, 0, stream>>>(*g, p, d_places, d_n, NULL, 0);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&n, d_n, sizeof(n), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(HJAlloc((lines + (size_t)n * HJ3StarMarch<L, R, NX, NY, ZERO, false, true, false>::WORDS) * line, (void **)row_scan));
  HJ3StarMarchScan_Kernel<L, R, NX, NY, ZERO><<<grid, block, 0, stream>>>(*g, p, d_places, NULL, (unsigned *)*row_scan, (int)lines);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCallCUDA(cudaFree(d_places));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int L, int R, int NX, int NY, int BLOCKS, bool ZERO, bool TOGETHER, bool TABLE>
static cudaError_t HJ3StarMarchLaunch(cudaStream_t stream, int blocks, const HJ3Args *g, const void *p)
{
  const HJLaunch how    = {dim3(blocks), dim3(32 * NX * NY), TABLE ? (size_t)HJ3TableBytes(g->nrows) : 0, stream};
  void          *args[] = {(void *)g, (void *)p};

  const bool wraps = g->sweep[0].wrap[0] || g->sweep[0].wrap[1];

  return HJLaunchKernel(&how,
                        wraps ? (const void *)HJ3StarMarch_Kernel<L, R, NX, NY, BLOCKS, ZERO, TOGETHER, TABLE, true>
                              : (const void *)HJ3StarMarch_Kernel<L, R, NX, NY, BLOCKS, ZERO, TOGETHER, TABLE, false>,
                        args);
}

template <int L, int R, int NX, int NY, int BLOCKS, bool ZERO, bool TOGETHER, bool TABLE> static constexpr HJ3Kernel HJ3StarMarchKernel()
{
  HJ3Kernel k = {R * NY, L, 0, HJ3StarMarchLaunch<L, R, NX, NY, BLOCKS, ZERO, TOGETHER, TABLE>};

  k.columns = HJ3StarMarch<L, R, NX, NY, ZERO, TOGETHER, TABLE, false>::COLUMNS * NX;
  k.blocks  = BLOCKS;
  if constexpr (TABLE) k.scan_rows = HJ3StarMarchScan<L, R, NX, NY, ZERO>;
  return k;
}

const HJ3Kernel HJ3KernelStar2      = HJ3StarMarchKernel<HJ3_MARCH_2, false, false, false>();
const HJ3Kernel HJ3KernelStar2Zero  = HJ3StarMarchKernel<HJ3_MARCH_2_ZERO, true, false, false>();
const HJ3Kernel HJ3KernelStar1      = HJ3StarMarchKernel<HJ3_MARCH_1, false, true, false>();
const HJ3Kernel HJ3KernelStar1Zero  = HJ3StarMarchKernel<HJ3_MARCH_1_ZERO, true, true, false>();
const HJ3Kernel HJ3KernelTable3     = HJ3StarMarchKernel<HJ3_MARCH_TABLE_3, false, false, true>();
const HJ3Kernel HJ3KernelTable2     = HJ3StarMarchKernel<HJ3_MARCH_TABLE_2, false, false, true>();
const HJ3Kernel HJ3KernelTable1     = HJ3StarMarchKernel<HJ3_MARCH_TABLE_1, false, true, true>();
const HJ3Kernel HJ3KernelTable3Zero = HJ3StarMarchKernel<HJ3_MARCH_TABLE_3_ZERO, true, false, true>();
const HJ3Kernel HJ3KernelTable2Zero = HJ3StarMarchKernel<HJ3_MARCH_TABLE_2_ZERO, true, false, true>();
const HJ3Kernel HJ3KernelTable1Zero = HJ3StarMarchKernel<HJ3_MARCH_TABLE_1_ZERO, true, true, true>();

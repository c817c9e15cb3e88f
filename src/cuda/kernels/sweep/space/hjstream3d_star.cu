/* SPDX-License-Identifier: BSD-2-Clause */
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
   First and last row of each warp and level, for the warps beside it in y: two sets, of even and odd steps. In step z of a pair a warp
   calls Wait(z ^ 1), reads its neighbours' rows, puts its own and calls Done(z). A warp that has seen its neighbours' Done(z) may put again
   in the next step z.
*/
template <int L, int NW> struct HJ3Edges {
  static constexpr int LEVEL = (NW + 1) * 2 * HJ3_TX, SET = (L - 1) * LEVEL; /* zeros, first and last of each warp, zeros */
  static constexpr int BYTES = 2 * HJ_BYTES * SET + 16 * NW;                 /* two barriers a warp */

  PetscScalar *es; /* this lane's place in the row before the warp's first */
  unsigned     bar, beside[2], phase;

  __device__ HJ3Edges(PetscScalar *sm) : bar(0), beside{0, 0}, phase(0)
  {
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31;

    es = sm + warp * 2 * HJ3_TX + 2 * lane;
    for (int i = threadIdx.x; i < 2 * SET; i += 32 * NW) sm[i] = 0;
#if HJ3_PAIRS
    const unsigned bars = (unsigned)__cvta_generic_to_shared(sm + 2 * SET);

    bar       = bars + 16 * warp;
    beside[0] = warp > 0 ? bar - 16 : 0;
    beside[1] = warp < NW - 1 ? bar + 16 : 0;
    if (lane < 2)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar + 8 * lane), "r"(32 * ((warp > 0) + (warp < NW - 1))) : "memory");
#endif
    __syncthreads();
  }

  /* Waits for the neighbours' step before this one; z is that step's. The vote tells the assembler that the warp stays together */
  __device__ __forceinline__ void Wait(int z)
  {
#if HJ3_PAIRS
    unsigned done;

    do
      asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
                   : "=r"(done)
                   : "r"(bar + 8 * z), "r"(phase ^ z)
                   : "memory");
    while (!__all_sync(~0u, done));
    phase ^= z ^ 1;
#endif
  }

  __device__ __forceinline__ HJScalar2 Outside(int j, int z, int side) const
  {
    return *(const HJScalar2 *)(es + z * SET + (j - 1) * LEVEL + side * 3 * HJ3_TX);
  }

  __device__ __forceinline__ void Put(int j, int z, bool last, PetscScalar v0, PetscScalar v1) const
  {
    *(HJScalar2 *)(es + z * SET + (j - 1) * LEVEL + (last ? 2 : 1) * HJ3_TX) = HJScalar2Of(v0, v1);
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
    HJCopyWaitAll();
#if HJ3_PAIRS
    __syncwarp();
#else
    __syncthreads();
#endif
  }
};

/* A block that knows the row numbers of its points in the last 4 planes, and where they are the same as elsewhere */
template <int R, int NW, int NB, bool WRAP, bool TURNED> struct HJ3NumberedBlock : HJ3Block<R, NW, 3, NB, WRAP, TURNED> {
  typedef HJ3Block<R, NW, 3, NB, WRAP, TURNED> Base;
  using Base::g, Base::f, Base::lane, Base::warp, Base::NI;
  static constexpr int      NUMBER_BYTES = 4 * 4 * NI * 32 * NW;
  static constexpr unsigned ROWS         = (1u << R) - 1; /* a bit for each of a warp's rows of points */

  unsigned          *numbers; /* this thread's row numbers of the last 4 planes, [plane % 4][NI] */
  const PetscScalar *tab;
  unsigned           repeats; /* a bit for each of 32 planes: HJ3Args' row_scan */
  unsigned           same;    /* R bits a plane, the newest lowest: a row of points has the numbers that it has in the plane before */
  unsigned           flat;    /* all rows of the newest plane have the same numbers */

  __device__ HJ3NumberedBlock(const HJ3Args &args, PetscScalar *sm, HJ3Fixed *fixed, unsigned *words, const PetscScalar *table)
      : Base(args, sm, fixed), numbers(words + threadIdx.x), tab(table)
  {
  }

  __device__ __forceinline__ unsigned &Word(int r, int i) const { return numbers[((r & 3) * NI + i) * 32 * NW]; }

  /* Of a lane's two points in row i of plane r: the lower two bytes */
  __device__ __forceinline__ unsigned Numbers(int r, int i) const { return Word(r, i / 2) >> (16 * (i & 1)) & 0xffff; }

  __device__ __forceinline__ const PetscScalar *RowOf(unsigned pair, int v) const { return tab + HJ3_ROW * (pair >> (8 * v) & 255); }

  /* Reads the numbers of plane r; a point that needs none gets the row after the last, which keeps zeros */
  __device__ __forceinline__ void ReadNumbers(int r)
  {
    const HJ3Piece &q  = g.piece[f.piece];
    const HJDSweep &s  = g.sweep[q.sweep];
    const int2      bx = HJ3Reach(s, 0, q.own_lo[0], q.own_hi[0], g.depth - 1), by = HJ3Reach(s, 1, q.own_lo[1], q.own_hi[1], g.depth - 1);
    const int       x = q.x + 2 * lane, y = q.y + warp * R, lo = max(by.x, g.sbox.lo[1]) - y,
              hi               = HJ3In(f.zi, r) ? min(by.y, g.sbox.hi[1]) - y : lo;
    const bool           in[2] = {x >= max(bx.x, g.sbox.lo[0]) && x < min(bx.y, g.sbox.hi[0]),
                                  x + 1 >= max(bx.x, g.sbox.lo[0]) && x + 1 < min(bx.y, g.sbox.hi[0])};
    const unsigned char *at    = g.index + HJDIndex(g.sbox, x, y, r);
    unsigned             rows[R][2], bits = 0, other = 0;

    HJ3_UNROLL for (int i = 0; i < R; i++) HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      rows[i][v] = g.nrows;
      if (in[v] && i >= lo && i < hi) rows[i][v] = at[(long long)f.ni * i + v];
    }
    HJ3_UNROLL for (int i = 0; i < R; i++)
    {
      const unsigned pair = rows[i][0] | rows[i][1] << 8;

      bits |= (unsigned)!!__all_sync(~0u, pair == Numbers(r - 1, i)) << i;
      other |= pair ^ (rows[0][0] | rows[0][1] << 8);
    }
    same = same << R | bits;
    flat = __all_sync(~0u, !other);
    HJ3_UNROLL for (int i = 0; i < R; i += 2)
      Word(r, i / 2) = rows[i][0] | rows[i][1] << 8 |
                       (i + 1 < R ? rows[i + 1 < R ? i + 1 : i][0] << 16 | rows[i + 1 < R ? i + 1 : i][1] << 24 : 0);
  }

  /* The bits of the 32 planes that plane r is one of; they begin at a multiple of 32 */
  __device__ __forceinline__ void LoadRepeats(int r)
  {
    const int at = (r & ~31) + lane - f.scan_from;

    repeats = __ballot_sync(~0u, at >= 0 && at < g.planes && g.row_scan[(long long)g.planes * f.piece + at]);
  }

  __device__ __forceinline__ unsigned Repeats(int r) const { return repeats >> (r & 31) & 1; }

  /* Plane r has the numbers of the plane before */
  __device__ __forceinline__ void RepeatNumbers(int r)
  {
    HJ3_UNROLL for (int i = 0; i < NI; i++) Word(r, i) = Word(r - 1, i);
    same                                               = same << R | ROWS;
  }

  __device__ __forceinline__ void TakeNumbers(int r)
  {
    if ((r & 31) == 0) LoadRepeats(r);
    if (__all_sync(~0u, Repeats(r))) RepeatNumbers(r);
    else ReadNumbers(r);
  }

  /* Rows of points that have the same numbers in each of the planes of levels levels */
  __device__ __forceinline__ unsigned Straight(int levels) const
  {
    unsigned bits = ROWS;

    HJ3_UNROLL for (int j = 0; j < levels - 1; j++) bits &= same >> (j * R);
    return bits;
  }

  /* For a piece whose first two planes are r0 and r0 + 1. In the domain they count as the same, since what they make there is not used */
  __device__ __forceinline__ void StartNumbers(int r0)
  {
    HJ3_UNROLL for (int k = 0; k < 4; k++) HJ3_UNROLL for (int i = 0; i < NI; i++) Word(k, i) = HJ3FourTimes(g.nrows);
    same                                                                                      = 0;
    ReadNumbers(r0);
    ReadNumbers(r0 + 1);
    if (r0 >= f.dlo) same = ~0u;
    LoadRepeats(r0 + 2);
  }
};

/*
   Three sources of coefficients. Pair(j, back, v, o) gives coefficients o and o + 1 of a lane's point v, for level j, in the plane that
   came back planes before the newest. Here there is one row for all points, in the kernel's parameters, with the level's weights
*/
struct HJ3OneRow {
  const HJ3Star &p;

  __device__ __forceinline__ HJScalar2 Pair(int j, int, int, int o) const
  {
    return HJScalar2Of(p.c[j][o], o < 6 ? p.c[j][o + 1] : HJ_ZERO);
  }
};

/* Each of the two points has one row in all planes, in registers */
struct HJ3KeptRows {
  PetscScalar c[2][8];

  __device__ __forceinline__ HJScalar2 Pair(int, int, int v, int o) const { return HJScalar2Of(c[v][o], c[v][o + 1]); }
};

/* Each point has a row of its own in each plane, in the table */
template <int L> struct HJ3TableRows {
  const PetscScalar *row[L + 1][2];

  __device__ __forceinline__ HJScalar2 Pair(int, int back, int v, int o) const { return *(const HJScalar2 *)(row[back][v] + o); }
};

/*
   TABLE: the dictionary has several rows, and L is 4. The rows are in a table in shared memory. Along walls in x each of a lane's two
   columns of points keeps one row in all rows of points and planes of the warp: a step then takes the coefficients from the table once. At
   walls in y each row of points takes its own. At walls in z and at jumps each level takes them for each point.
*/
template <int L, int R, int NW, bool ZERO, bool TABLE, bool WRAP, bool TURNED>
struct HJ3StarBlock : HJ3NumberedBlock<R, NW,
                                       ZERO     ? 0
                                       : L == 4 ? 3
                                                : 2,
                                       WRAP, TURNED> {
  static constexpr int J = L - 1, NB = ZERO ? 0 : L == 4 ? 3 : 2;
  /* Slots of x: a plane lands, the newest, one with its neighbours. Of b: where a plane lands, level 0's, of 4 levels level 1's */
  typedef HJ3NumberedBlock<R, NW, NB, WRAP, TURNED> Base;
  typedef HJ3Edges<L, NW>                           Edges;
  using Base::g, Base::f, Base::bs, Base::slot, Base::lane, Base::warp, Base::own, Base::py, Base::SB, Base::Load2, Base::XRow;
  static constexpr int NUMBERS_AT = Base::READ_BYTES + Edges::BYTES, FIXED_AT = NUMBERS_AT + (TABLE ? Base::NUMBER_BYTES : 0);
  static constexpr int BYTES = FIXED_AT + sizeof(HJ3Fixed); /* and the table, if there is one */

  const HJ3Star &p;
  Edges          edges;
  PetscScalar    A[L][2][R][2]; /* two planes of each level */
  int            bslot;         /* of plane r - 1 */

  __device__ HJ3StarBlock(const HJ3Args &args, const HJ3Star &star, PetscScalar *sm)
      : Base(args, sm, (HJ3Fixed *)(sm + FIXED_AT / HJ_BYTES), (unsigned *)(sm + NUMBERS_AT / HJ_BYTES), sm + BYTES / HJ_BYTES), p(star),
        edges(sm + Base::READ_BYTES / HJ_BYTES)
  {
  }

  /* The first two planes only go to level 0: nothing is made of them alone. Returns the third, which arrives in the first step */
  __device__ int Start(int piece)
  {
    const HJ3Piece q  = g.piece[piece];
    const int      r0 = Base::template Start<ZERO, 3>(q, L - 2, 1);

    if (threadIdx.x == 0) {
      f.piece     = piece;
      f.scan_from = q.z0 - g.depth;
      f.from      = max(max(TABLE ? f.zb.x : f.z0 + L, f.home.x), f.copy_lo + L);
      f.to        = min(min(f.zb.y - 1, min(f.zx.y, f.home.y) - 2), f.copy_hi + L - 1); /* of the first of two steps */
    }
    if (TABLE) {
      __syncthreads();
      this->StartNumbers(r0);
    }
    HJ3_UNROLL for (int j = 0; j < L; j++) HJ3_UNROLL for (int i = 0; i < R; i++) HJ3_UNROLL for (int v = 0; v < 2; v++)
      A[j][0][i][v] = A[j][1][i][v] = 0;
    HJ3_UNROLL for (int z = 0; z < 2; z++) HJ3_UNROLL for (int i = 0; i < R; i++)
    {
      const HJScalar2 x = XRow(2 - z, i);

      A[0][z][i][0] = x.x;
      A[0][z][i][1] = x.y;
    }
    bslot = 1;
    __syncthreads(); /* x has been read, and its slots may be filled again */
    return r0 + 2;
  }

  /* The row above (side 0) or below the warp's, of the plane that level j holds */
  __device__ __forceinline__ HJScalar2 Outside(int j, int z, int side) const
  {
    if (j == 0) return XRow(1, side ? R : -1);
    return edges.Outside(j, z ^ 1, side);
  }

  /* Adds to t the sums of row i in level j over the plane itself, m, and the one before it */
  template <class C> __device__ __forceinline__ void Sum(int j, int z, int i, const C &c, const PetscScalar m[R][2], PetscScalar t[2]) const
  {
    PetscScalar     lo = __shfl_up_sync(~0u, m[i][1], 1), hi = __shfl_down_sync(~0u, m[i][0], 1);
    const bool      inside[2] = {j == 0 || lane > 0, j == 0 || lane < 31}; /* levels above are 0 outside the tile */
    const HJScalar2 up        = i == 0 ? Outside(j, z, 0) : HJScalar2Of(m[i ? i - 1 : 0][0], m[i ? i - 1 : 0][1]);
    const HJScalar2 down      = i == R - 1 ? Outside(j, z, 1) : HJScalar2Of(m[i < R - 1 ? i + 1 : i][0], m[i < R - 1 ? i + 1 : i][1]);

    if (j == 0) {
      const PetscScalar ring = this->XRing(1, i);

      if (lane == 0) lo = ring;
      if (lane == 31) hi = ring;
    }
    HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      const HJScalar2 c01 = c.Pair(j, j + 1, v, 0), c23 = c.Pair(j, j + 1, v, 2), c45 = c.Pair(j, j + 1, v, 4);

      t[v] = fma(c01.x, m[i][v], t[v]);
      t[v] = fma(c23.y, v ? up.y : up.x, t[v]);
      t[v] = fma(c45.x, v ? down.y : down.x, t[v]);
      if (j < J) t[v] = fma(c45.y, A[j][z][i][v], t[v]);
      if (v || inside[0]) t[v] = fma(c01.y, v ? m[i][0] : lo, t[v]);
      if (!v || inside[1]) t[v] = fma(c23.x, v ? hi : m[i][1], t[v]);
    }
  }

  /* Puts into the last level's older plane what y's next plane takes from all before it: earlier levels, and the plane before */
  template <class C> __device__ __forceinline__ void Share(int z, int i, const C &c)
  {
    HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      PetscScalar t = L == 4 ? A[J - 2][z][i][v] : p.s[J - 2] * A[J - 2][z][i][v];

      t                 = fma((TABLE ? p.m[J] : (PetscScalar)1) * c.Pair(J, J, v, 4).y, A[J][z ^ 1][i][v], t);
      A[J][z ^ 1][i][v] = fma(p.s[J - 1], A[J - 1][z ^ 1][i][v], t);
    }
  }

  /* Whether level j takes in the right-hand side */
  static __device__ __forceinline__ constexpr bool TakesB(int j) { return (j == 0 && !ZERO) || (j == 1 && L == 4); }

  /* A bit for each level but the last: it has values in the plane that it makes; with TABLE, b of that plane can be read. Then one for x */
  __device__ __forceinline__ unsigned Live(int r) const
  {
    unsigned bits = (unsigned)HJ3In(f.zx, r) << J;

    HJ3_UNROLL for (int j = 0; j < J; j++) bits |= (unsigned)(TABLE ? HJ3In(f.zb, r - 1 - j) : this->Active(j, r - 1 - j)) << j;
    return bits;
  }

  /* TABLE: what level j makes from its sum. base: what the point itself adds */
  __device__ __forceinline__ PetscScalar Weigh(int j, PetscScalar sum, PetscScalar base, PetscScalar dinv, PetscScalar b) const
  {
    if (TakesB(j)) sum = fma(-dinv, b, sum);
    return j == 1 ? -sum : fma(p.m[j], sum, base);
  }

  /* last: the last level's newest plane. FULL: as Step()'s */
  template <bool FULL, class C>
  __device__ __forceinline__ void OneRow(int z, int r, unsigned live, unsigned write, int i, unsigned ny, const C &c,
                                         const PetscScalar last[R][2])
  {
    HJScalar2   b[L], x = HJScalar2Of(0, 0);
    PetscScalar base[L][2], t[L][2], n[2];

    if (live >> J & 1) x = XRow(0, i);
    HJ3_UNROLL for (int j = 0; j < L; j++)
    {
      const int from = L < 4 ? z ^ 1 : j == 0 ? bslot : bslot ? bslot - 1 : NB - 1;

      b[j] = HJScalar2Of(0, 0);
      if (TakesB(j) && (!TABLE || live >> j & 1)) b[j] = Load2(bs + from * SB + (warp * R + i) * HJ3_TX + 2 * lane);
    }
    n[0] = x.x;
    n[1] = x.y;
    HJ3_UNROLL for (int j = 0; j < L; j++)
    {
      HJ3_UNROLL for (int v = 0; v < 2; v++)
      {
        const PetscScalar before = A[J][z][i][v];

        base[j][v] = j == J ? fma(p.a[J], last[i][v], before) : A[j][z ^ 1][i][v];
        t[j][v]    = TABLE ? HJ_ZERO : j == J ? before : TakesB(j) ? p.b[j] * (v ? b[j].y : b[j].x) : HJ_ZERO;
      }
      Sum(j, z, i, c, j == J ? last : A[j][z ^ 1], t[j]);
    }
    Share(z, i, c);
    HJ3_UNROLL for (int j = 0; j < L; j++) HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      const HJScalar2   c67 = c.Pair(j, j + 1, v, 6);
      const PetscScalar sum = fma(c67.x, n[v], t[j][v]);

      A[j][z][i][v] = n[v];
      if (TABLE) n[v] = Weigh(j, sum, base[j][v], c67.y, v ? b[j].y : b[j].x);
      else n[v] = j == J || live >> j & 1 ? sum : HJ_ZERO;
    }
    HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      PetscScalar *at = py + (unsigned long long)ny * i + v;

      HJ3StoreIf(write & 1u << (2 * i + v), at, n[v]);
      if (!FULL && (write & 1u << (2 * i + v))) this->Copy(r - L, at, n[v]);
    }
  }

  __device__ __forceinline__ HJ3KeptRows KeepRows(unsigned pair) const
  {
    HJ3KeptRows kept;

    HJ3_UNROLL for (int v = 0; v < 2; v++) HJ3_UNROLL for (int o = 0; o < 8; o += 2)
    {
      const HJScalar2 t = Load2(this->RowOf(pair, v) + o);

      kept.c[v][o]     = t.x;
      kept.c[v][o + 1] = t.y;
    }
    return kept;
  }

  /*
     Plane r of x arrives, and level j makes plane r - 1 - j. FULL: nothing that is read is out of range or a ghost, and nothing is copied;
     all levels are in the domain and the piece, or with TABLE all planes and rows of points of the warp have the same rows of the
     dictionary. straight: as Straight(). Rows at the edge come first: neighbours wait for them
  */
  template <bool FULL> __device__ __forceinline__ void Step(int z, int r, unsigned straight)
  {
    const int      next = this->NextSlot(), bnext = bslot + 1 == NB ? 0 : bslot + 1;
    const bool     writes = (FULL && !TABLE) || (r - L >= f.z0 && (FULL || r - L < f.z1));
    const unsigned live = FULL ? ~0u : Live(r), write = writes ? this->Masks(own) : 0, ny = f.ny;
    PetscScalar    last[R][2];
    HJ3KeptRows    kept;

    edges.Wait(z ^ 1);
    if (FULL && TABLE) kept = KeepRows(this->Numbers(r - 1, 0));
    this->template LoadX<FULL>(r + 1, next);
    if (!ZERO) this->template LoadB<FULL>(r, L == 4 ? bnext : z);
    HJ3_UNROLL for (int i = 0; i < R; i++) HJ3_UNROLL for (int v = 0; v < 2; v++) last[i][v] = A[J][z ^ 1][i][v];
    HJ3_UNROLL for (int k = 0; k < R; k++)
    {
      const int i = k == 0 ? k : k == 1 ? R - 1 : k - 1;

      if constexpr (!TABLE) {
        OneRow<FULL>(z, r, live, write, i, ny, HJ3OneRow{p}, last);
      } else if (FULL) {
        OneRow<true>(z, r, live, write, i, ny, kept, last);
      } else if (__all_sync(~0u, straight >> i & 1)) {
        OneRow<false>(z, r, live, write, i, ny, KeepRows(this->Numbers(r - 1, i)), last);
      } else {
        HJ3TableRows<L> rows;

        HJ3_UNROLL for (int j = 1; j <= L; j++) HJ3_UNROLL for (int v = 0; v < 2; v++)
          rows.row[j][v] = this->RowOf(this->Numbers(r - j, i), v);
        OneRow<false>(z, r, live, write, i, ny, rows, last);
      }
      if (i == 0 || i == R - 1) HJ3_UNROLL for (int j = 1; j < L; j++) edges.Put(j, z, i > 0, A[j][z][i][0], A[j][z][i][1]);
      if (k == 1) edges.Done(z);
    }
    py += f.sy;
    slot  = next;
    bslot = bnext;
  }

  /* Two planes a turn: the levels' planes change places */
  __device__ void Run(int piece)
  {
    for (int r = Start(piece); r < f.z1 + L; r += 2) {
      bool full = r >= f.from && r < f.to;

      /* the rows of both planes are those of the plane before */
      if (TABLE) full = __all_sync(~0u, full && this->flat && this->Straight(L) == this->ROWS && (r & 31) && this->Repeats(r));
      if (full) {
        Step<true>(0, r, this->ROWS);
        if (TABLE) this->RepeatNumbers(r);
        Edges::EndStep();
        Step<true>(1, r + 1, this->ROWS);
      } else {
        Step<false>(0, r, this->Straight(L));
        if (TABLE) this->TakeNumbers(r);
        Edges::EndStep();
        Step<false>(1, r + 1, this->Straight(L));
      }
      if (TABLE && r + 2 < f.z1 + L) this->TakeNumbers(r + 1);
      Edges::EndStep();
    }
    __syncthreads();
  }
};

/* HJ3Args' row_scan; one block a piece and plane */
static __global__ void HJ3StarScan_Kernel(const __grid_constant__ HJ3Args g, unsigned char *row_scan)
{
  const HJ3Piece  q      = g.piece[blockIdx.x];
  const HJDSweep &s      = g.sweep[q.sweep];
  const int       margin = max(g.depth - 1, 0), z = q.z0 - g.depth + blockIdx.y;
  const int2      rx = HJ3Reach(s, 0, q.own_lo[0], q.own_hi[0], margin), ry = HJ3Reach(s, 1, q.own_lo[1], q.own_hi[1], margin),
             rz = HJ3Reach(s, 2, q.z0, q.z1, margin);
  const int x0 = max(rx.x, g.sbox.lo[0]), x1 = min(rx.y, g.sbox.hi[0]), y0 = max(ry.x, g.sbox.lo[1]), y1 = min(ry.y, g.sbox.hi[1]),
            w           = x1 - x0;
  const long long plane = HJDIndex(g.sbox, g.sbox.lo[0], g.sbox.lo[1], g.sbox.lo[2] + 1);
  bool            same  = z - 1 >= max(rz.x, g.sbox.lo[2]) && z < min(rz.y, g.sbox.hi[2]);

  for (int i = threadIdx.x; same && i < w * (y1 - y0); i += blockDim.x) {
    const unsigned char *at = g.index + HJDIndex(g.sbox, x0 + i % w, y0 + i / w, z);

    same = *at == *(at - plane);
  }
  same = __syncthreads_and(same);
  if (threadIdx.x == 0) row_scan[(long long)blockIdx.x * g.planes + blockIdx.y] = same;
}

static PetscErrorCode HJ3StarScan(cudaStream_t stream, int pieces, const HJ3Args *g, int, unsigned char **row_scan)
{
  PetscFunctionBegin;
  PetscCall(HJAlloc((size_t)pieces * g->planes, (void **)row_scan));
  HJ3StarScan_Kernel<<<dim3(pieces, g->planes), 256, 0, stream>>>(*g, *row_scan);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int L, int R, int NW, bool ZERO, bool TABLE, bool WRAP, bool TURNED>
static __global__ void __launch_bounds__(32 * NW, 1) HJ3Star_Kernel(const __grid_constant__ HJ3Args g, const __grid_constant__ HJ3Star p)
{
  extern __shared__ __align__(16) PetscScalar       sm[];
  HJ3StarBlock<L, R, NW, ZERO, TABLE, WRAP, TURNED> k(g, p, sm);

  if (TABLE) HJ3TableLoad(const_cast<PetscScalar *>(k.tab), g);
  for (int c = g.first[blockIdx.x]; c < g.first[blockIdx.x + 1]; c++) k.Run(c);
}

template <int L, int R, int NW, bool ZERO, bool TABLE, bool WRAP, bool TURNED>
static cudaError_t HJ3StarLaunch(cudaStream_t stream, int blocks, const HJ3Args *g, const void *p)
{
  const int      bytes  = HJ3StarBlock<L, R, NW, ZERO, TABLE, WRAP, TURNED>::BYTES + (TABLE ? HJ3TableBytes(g->nrows) : 0);
  const HJLaunch how    = {dim3(blocks), dim3(32 * NW), (size_t)bytes, stream};
  void          *args[] = {(void *)g, (void *)p};

  return HJLaunchKernel(&how, (const void *)HJ3Star_Kernel<L, R, NW, ZERO, TABLE, WRAP, TURNED>, args);
}

template <int L, int R, int NW, bool ZERO, bool TABLE, bool WRAP = false, bool TURNED = false> static constexpr HJ3Kernel HJ3StarKernel()
{
  typedef HJ3StarBlock<L, R, NW, ZERO, TABLE, WRAP, TURNED> Block;
  HJ3Kernel k = {Block::TY, L, Block::BYTES, HJ3StarLaunch<L, R, NW, ZERO, TABLE, WRAP, TURNED>};

  if constexpr (TABLE) {
    k.scan_rows = HJ3StarScan;
    k.row_bytes = HJ3TableBytes(0);
  }
  k.aligned = WRAP ? R : 0;
  k.turned  = TURNED;
  return k;
}

const HJ3Kernel HJ3KernelStar4      = HJ3StarKernel<HJ3_STAR_4, false, false>();
const HJ3Kernel HJ3KernelStar3      = HJ3StarKernel<HJ3_STAR_3, false, false>();
const HJ3Kernel HJ3KernelStar3Zero  = HJ3StarKernel<HJ3_STAR_3_ZERO, true, false>();
const HJ3Kernel HJ3KernelTable4     = HJ3StarKernel<HJ3_TABLE_4, false, true>();
const HJ3Kernel HJ3KernelStar4Of32  = HJ3StarKernel<HJ3_STAR_4_LOW, false, false>();
const HJ3Kernel HJ3KernelTable4Of24 = HJ3StarKernel<HJ3_TABLE_4_LOW, false, true>();

const HJ3Kernel HJ3KernelStar4Wraps      = HJ3StarKernel<HJ3_STAR_4, false, false, true>();
const HJ3Kernel HJ3KernelStar3Wraps      = HJ3StarKernel<HJ3_STAR_3, false, false, true>();
const HJ3Kernel HJ3KernelStar3ZeroWraps  = HJ3StarKernel<HJ3_STAR_3_ZERO, true, false, true>();
const HJ3Kernel HJ3KernelTable4Wraps     = HJ3StarKernel<HJ3_TABLE_4, false, true, true>();
const HJ3Kernel HJ3KernelStar4Of32Wraps  = HJ3StarKernel<HJ3_STAR_4_LOW, false, false, true>();
const HJ3Kernel HJ3KernelTable4Of24Wraps = HJ3StarKernel<HJ3_TABLE_4_LOW, false, true, true>();

const HJ3Kernel HJ3KernelTurned3  = HJ3StarKernel<HJ3_STAR_3, false, false, false, true>();
const HJ3Kernel HJ3KernelTurned40 = HJ3StarKernel<4, 5, 8, false, false, false, true>();
const HJ3Kernel HJ3KernelTurned35 = HJ3StarKernel<4, 5, 7, false, false, false, true>();
const HJ3Kernel HJ3KernelTurned30 = HJ3StarKernel<4, 5, 6, false, false, false, true>();
const HJ3Kernel HJ3KernelTurned25 = HJ3StarKernel<4, 5, 5, false, false, false, true>();
const HJ3Kernel HJ3KernelTurned20 = HJ3StarKernel<4, 5, 4, false, false, false, true>();
const HJ3Kernel HJ3KernelTurned15 = HJ3StarKernel<4, 5, 3, false, false, false, true>();

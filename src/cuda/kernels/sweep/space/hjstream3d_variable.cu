/* SPDX-License-Identifier: BSD-2-Clause */
/*
   3D star, one coefficient array per offset (variable; symmetric: upper half): how a block streams one piece through three levels. A warp
   holds one row, a lane V points of it, 32 apart. Coefficients land in shared memory by bulk copies, one a row and array, are read once,
   for level 1, and stay in registers, scaled by the inverse diagonal, for the levels above. A warp waits for the others of its block where
   it reads their rows, not where it ends; where there are many, all wait at the end, which is quicker then. The blocks of a cluster share
   the rows of a tile and send each other theirs beside the cuts. From a zero guess there are kernels that leave the residual too, or do
   four subiterations. Decides nothing about where pieces lie.
*/
#include "hjstream3d.cuh"

/* 16-byte words */
__device__ __forceinline__ void HJ3CopyBulk(PetscScalar *dst, const PetscScalar *src, int bytes, unsigned bar)
{
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                 (unsigned)__cvta_generic_to_shared(dst)),
               "l"(src), "r"(bytes), "r"(bar)
               : "memory");
}

/* Over the warp */
__device__ __forceinline__ int HJ3Sum(int v)
{
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(~0u, v);
#else
  return v;
#endif
}

/* One warp's arrival, and the bytes that its copies bring */
__device__ __forceinline__ void HJ3Expect(unsigned bar, int bytes)
{
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}

__device__ __forceinline__ void HJ3Wait(unsigned bar, unsigned phase)
{
  asm volatile("{\n.reg .pred p;\nagain%=:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra again%=;\n}" ::"r"(bar),
               "r"(phase)
               : "memory");
}

/* Arrives once for this thread when its copies so far have come */
__device__ __forceinline__ void HJ3ArriveCopied(unsigned bar)
{
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
}

__device__ __forceinline__ void HJ3Arrive(unsigned bar)
{
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}

/* 1 / v, or 0 for 0, by Newton's method */
__device__ __forceinline__ PetscScalar HJ3Reciprocal(PetscScalar v)
{
  PetscScalar r = HJInverseStart(v);

  for (int k = 0; k < HJ_NEWTON_STEPS; k++) r = fma(fma(-v, r, (PetscScalar)1), r, r);
  return v != 0 ? r : 0;
}

/* What this thread wrote comes before bulk copies to the same place */
__device__ __forceinline__ void HJ3CopyFence()
{
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* The same for what another block of the cluster sent; then sets the barrier for as many bytes again */
__device__ __forceinline__ void HJ3WaitEdge(unsigned bar, unsigned phase, bool first, int bytes)
{
  asm volatile("{\n.reg .pred p;\nagain%=:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n@!p bra again%=;\n}" ::
                 "r"(bar),
               "r"(phase)
               : "memory");
  if (first) HJ3Expect(bar, bytes);
}

__device__ __forceinline__ unsigned HJ3ClusterRank()
{
  unsigned rank;

  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/* To the same place in another block of the cluster */
__device__ __forceinline__ void HJ3Send(PetscScalar *dst, PetscScalar v, unsigned bar, unsigned block)
{
  asm volatile("{\n.reg .b32 d, b;\nmapa.shared::cluster.u32 d, %0, %3;\nmapa.shared::cluster.u32 b, %2, "
               "%3;\nst.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b" HJ_PTX_BITS
               " [d], %1, [b];\n}" ::"r"((unsigned)__cvta_generic_to_shared(dst)),
               HJ_PTX_BITS_REG(HJBitsOf(v)), "r"(bar), "r"(block)
               : "memory");
}

__device__ __forceinline__ void HJ3ClusterSync()
{
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* HJCopyNumber(), or a zero */
__device__ __forceinline__ void HJ3CopyOr0(PetscScalar *dst, const PetscScalar *src, bool copy)
{
  asm volatile("cp.async.ca.shared.global [%0], [%1], " HJ_PTX_BYTES ", %2;" ::"r"((unsigned)__cvta_generic_to_shared(dst)), "l"(src),
               "r"(copy ? HJ_BYTES : 0));
}

/* A sweep of three subiterations from x; from a zero guess, which leaves the residual too; of four from a zero guess */
enum { HJ3_FROM_X, HJ3_LEAVES, HJ3_FROM_ZERO };

/*
   A bulk copy moves whole 16-byte words: every row lies in shared memory as in its array, further in by its shift, as many numbers as the
   array's row starts after the beginning of a word
*/
template <int NW, int V, bool SYM, int KIND> struct HJ3VariableBlock : HJ3Block<1, NW, 3, 2> {
  typedef HJ3Block<1, NW, 3, 2> Base; /* slots of x: landing, newest, one with neighbours */
  using Base::g, Base::f, Base::xs, Base::lane, Base::warp, Base::py;
  static constexpr int  TX    = 32 * V;
  static constexpr bool START = KIND != HJ3_FROM_X, LEAVES = KIND == HJ3_LEAVES;
  static constexpr int  NA = SYM ? 4 : 7, B = NA, X = NA + 1, XFAR = NA + 2,
                       YFAR = NA + 3; /* what a pair of lanes copies: an array of coefficients, b, x, rows outside the tile */
  static constexpr int DX = NA + 3 + SYM, DXFAR = DX + 1; /* start: the inverse diagonal as x */
  static constexpr int PAIRS = DX + 2 * START /* after them two lanes that put zeros beside x */, EDGE = 2 * HJ_BYTES * TX;
  static constexpr int MASK = 16 / HJ_BYTES - 1,
                       LAST = MASK == 1 ? 31 : 30; /* numbers of a word but one: shifts are no larger; see shift */
  static constexpr int PC = TX + (HJ_BYTES == 8 ? 2 + 2 * SYM : 4), PX = TX + (HJ_BYTES == 8 ? 4 : 8),
                       PE = TX + 2; /* row lengths, whole words but for PE; symmetric: one column and row more on the low side */
  static constexpr int SC = ((NA + 1) * NW + SYM) * PC, SX = (NW + 2) * PX, SL = (NW + 2) * PE, SE = 2 * SL;
  static constexpr int STEPS    = 6,
                       BARRIERS = 8; /* two slots of cs; two of what each of the blocks beside this one sends; from STEPS on: ends of
                                                  steps, and one that keeps what follows aligned */
  static constexpr int NUMBERS = 2 * SC + 3 * (1 + START) * SX + 2 * SE, BYTES = HJ_BYTES * NUMBERS + 8 * BARRIERS + sizeof(HJ3Fixed);
  static constexpr int FLAGS = 2 * PAIRS + 2, ACTIVE1 = 1, ACTIVE2 = 2, THERE = 4, WRITE = 8, MORE = 16,
                       WRITEX = 32;                                        /* what the lanes from FLAGS on tell, see SetFlags() */
  static constexpr int WRITES = 3, PHASE = 6, EDGE_BIT = 1 << 8, SLOT = 9; /* of bits */

  PetscScalar *cs, *es, *ds; /* coefficients and b; rows of f_1 and f_2 with zeros around; start: the inverse diagonal */
  unsigned     bar;          /* shared address of the barriers */
  /* valid points; from bit WRITES on: points to write; from PHASE on: phases of the barriers of cs; EDGE_BIT: a row beside another block;
     from SLOT on: slot of the newest plane of x */
  unsigned           bits;
  const PetscScalar *from;        /* first (even lane) or last point of the row that this pair of lanes copies next */
  int                to;          /* its place in a slot and, from bit 16 on, points of the row */
  int                step, steps; /* the number of steps in which this is so, counted from the first of them */
  unsigned           shift; /* shifts of what came with the newest plane of x, two bits a pair; last two bits: of the plane of x before */
  PetscScalar        C1[6][V], C2[3][V],
    u[V];           /* T of plane r - 2; its +-y and +z of plane r - 3 times w[1] w[2]; symmetric: +z coefficient of plane r - 2 */
  PetscScalar D[V]; /* start: diagonal of plane r - 2 */
  PetscScalar xp[V], f1[V], f2[V], t2[V], y[V]; /* x, f_1 of plane r - 2, f_2 of r - 3; sums for f_2 of r - 2, y of r - 3 */

  __device__ HJ3VariableBlock(const HJ3Args &args, PetscScalar *sm)
      : Base(args, sm, (HJ3Fixed *)(sm + NUMBERS + 8 * BARRIERS / HJ_BYTES)), cs(sm + 3 * SX), es(cs + 2 * SC), ds(es + 2 * SE),
        bar((unsigned)__cvta_generic_to_shared(sm + NUMBERS)), bits(0)
  {
    if (warp == 0 ? blockIdx.x % args.cluster > 0 : warp == NW - 1 && (blockIdx.x + 1) % args.cluster > 0) bits = EDGE_BIT;
    if (threadIdx.x <= STEPS) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar + 8 * threadIdx.x), "r"(threadIdx.x < 2       ? 33 * NW
                                                                                               : threadIdx.x < STEPS ? 1
                                                                                                                     : 32 * NW)
                   : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      if (threadIdx.x > 1 && threadIdx.x < STEPS) HJ3Expect(bar + 8 * threadIdx.x, EDGE);
    }
  }

  static __device__ __forceinline__ const PetscScalar *Array(const HJ3Args &g, int a)
  {
    return a == NA - 1 ? g.dinv : g.value[SYM ? 2 * a + 1 : a];
  }
  static __device__ __forceinline__ constexpr int Place(int a) { return (a * NW + (SYM && a > 0)) * PC; }

  /* Which row this lane's pair copies */
  __device__ void SetCopy(const HJ3Piece &q, const HJDSweep &s, int r0)
  {
    const int pair = lane / 2 < PAIRS ? lane / 2 : X, isd = START && (pair == DX || pair == DXFAR),
              isfar = pair == XFAR || (isd && pair == DXFAR), isx = pair == X || pair == XFAR || isd, coef = isd || (!isx && pair != B),
              depth = isx ? g.depth : max(g.depth - 1, 0);
    const int row = pair == YFAR || (isfar && warp == 0) ? q.y - 1 : isfar ? q.y + NW : q.y + warp, base = q.x - (isx || SYM);
    int2      reach[3];

    for (int d = 0; d < 3; d++) {
      reach[d] = HJ3Reach(s, d, d < 2 ? q.own_lo[d] : q.z0, d < 2 ? q.own_hi[d] : q.z1, depth);
      if (coef) reach[d] = make_int2(max(reach[d].x - (SYM && !isd), g.sbox.lo[d]), min(reach[d].y, g.sbox.hi[d]));
    }
    const int     lo = max(reach[0].x, base), hi = min(reach[0].y, q.x + TX + isx), c = lane & 1 ? hi - 1 : lo;
    const HJDBox &box = coef ? g.sbox : s.box;

    from = (pair == B ? s.b
            : isd     ? g.dinv
            : isx     ? (START ? s.b : s.x)
                      : Array(g, pair == YFAR ? 1 : pair)) +
           HJDIndex(box, c, row, r0 - 1 + isx);
    to    = (isx ? (row - q.y + 1) * PX : Place(pair == YFAR ? 1 : pair) + (row - q.y) * PC) + c - base + (hi - lo) * 65536;
    step  = r0 - 1 - reach[2].x + isx;
    steps = max(reach[2].y - reach[2].x, 0);
    if (lane >= FLAGS || hi <= lo || !HJ3In(reach[1], row) || (isx && !START && !s.x) || (isfar && warp > 0 && warp < NW - 1) ||
        (START && (pair == NA - 1 || pair == B)) || (pair == YFAR && warp > 0))
      steps = 0;
    if (lane / 2 == PAIRS && (lane & 1 ? hi > q.x + TX : lo == base)) steps = 0;
  }

  /*
     Steps in which f_1 has values, f_2 has values, the newest plane of x is one that may be read, y (start: the residual) is written,
     another step follows, x is written (start): a lane each
  */
  __device__ void SetFlags(const HJ3Piece &q, const HJDSweep &s, int r0)
  {
    const int what   = lane - FLAGS,
              margin = what < 2    ? max(g.depth - 1 - what, 0)
                       : what == 2 ? g.depth
                                   : 0,
              lag    = what < 2    ? 1 + what
                       : what == 2 ? 0
                       : what == 3 ? 3
                                   : 2; /* of MORE and WRITEX */
    const int lo     = max(q.z0 - margin, what == 2 ? max(s.domain.lo[2], s.box.lo[2]) : s.domain.lo[2]),
              hi     = min(q.z1 + margin, what == 2 ? min(s.domain.hi[2], s.box.hi[2]) : s.domain.hi[2]);

    if (what < 0) return;
    step  = r0 - 1 - lag - (what != 4 ? lo : r0 - 4);
    steps = max(what != 4 ? hi - lo : hi - r0 + 4, 0);
  }

  __device__ void Start(const HJ3Piece &q)
  {
    const HJDSweep &s   = g.sweep[q.sweep];
    const int       row = q.y + warp, r0 = max(q.z0 - g.depth, s.domain.lo[2]), inner = max(g.depth - 1, 0);

    if (threadIdx.x == 0) {
      Base::template SetFixed<false>(q, s);
      if (LEAVES) f.copy[0] = g.residual - s.y;
    }
    {
      const int2 rx = HJ3Reach(s, 0, q.own_lo[0], q.own_hi[0], inner), ry = HJ3Reach(s, 1, q.own_lo[1], q.own_hi[1], inner);

      bits = (bits & (3 << PHASE | EDGE_BIT)) | 2 << SLOT;
      HJ3_UNROLL for (int v = 0; v < V; v++)
      {
        const int c = q.x + lane + 32 * v;

        bits |= (unsigned)(HJ3In(rx, c) && HJ3In(ry, row)) << v;
        bits |= (unsigned)(c >= q.own_lo[0] && c < q.own_hi[0] && row >= q.own_lo[1] && row < q.own_hi[1]) << (WRITES + v);
      }
    }
    py = s.y + HJDIndex(s.ybox, q.x + lane, row, r0 - 3);
    for (int i = threadIdx.x; i < NUMBERS / 2; i += 32 * NW) ((HJScalar2 *)xs)[i] = HJScalar2Of(0, 0);
    HJ3_UNROLL for (int v = 0; v < V; v++)
    {
      HJ3_UNROLL for (int a = 0; a < 6; a++) C1[a][v] = 0;
      HJ3_UNROLL for (int a = 0; a < 3; a++) C2[a][v] = 0;
      D[v] = u[v] = xp[v] = f1[v] = f2[v] = t2[v] = y[v] = 0;
    }
    SetCopy(q, s, r0);
    SetFlags(q, s, r0);
    shift = 0;
    HJ3CopyFence();
    HJ3ClusterSync();
    if (bits & EDGE_BIT) {
      HJ3_UNROLL for (int v = 0; v < V; v++) Send(1, v, 0., 0.);
    }
    Copy(1);
    HJCopyWaitAll();
    __syncthreads();
  }

  /* The barrier of what comes from the block below (above 0) or above (1) */
  __device__ __forceinline__ unsigned EdgeBar(int z, int above) const { return bar + 16 + 8 * z + 16 * above; }

  /* This warp's row of f_1 and f_2 to the block beside it */
  __device__ __forceinline__ void Send(int z, int v, PetscScalar v1, PetscScalar v2)
  {
    const int    above = warp > 0;
    unsigned     to    = HJ3ClusterRank() + (above ? 1 : -1);
    PetscScalar *e     = es + z * SE + (above ? 0 : NW + 1) * PE + 1 + lane + 32 * v;

    HJ3Send(e, v1, EdgeBar(z, !above), to);
    HJ3Send(e + SL, v2, EdgeBar(z, !above), to);
  }

  /* Plane r + 1 of x and plane r of b and coefficients; returns what of SetFlags() holds */
  __device__ __forceinline__ unsigned Copy(int z)
  {
    const bool isd = START && (lane / 2 == DX || lane / 2 == DXFAR), isx = lane / 2 == X || lane / 2 == XFAR || lane / 2 == PAIRS,
               zero = lane / 2 == PAIRS, go = (unsigned)step < (unsigned)steps;
    const int      place = (int)((size_t)from / HJ_BYTES) & MASK, by = MASK == 1 ? (place ^ to) & 1 : (place - to) & MASK;
    const unsigned flags = __ballot_sync(~0u, go) >> FLAGS;

    bits  = bits >> SLOT == 2 ? bits & ((1 << SLOT) - 1) : bits + (1 << SLOT);
    shift = (__ballot_sync(~0u, MASK == 1 ? by : by >> (lane & 1) & 1) & ~(MASK << LAST)) | Shift(shift, X) << LAST;
    {
      PetscScalar *d    = (isd ? ds + (bits >> SLOT) * SX : isx ? xs + (bits >> SLOT) * SX : cs + z * SC) + (to & 65535) + by;
      const int    head = Head(place), bytes = go && lane < 2 * PAIRS && !(lane & 1) ? HJ_BYTES * (((to >> 16) - head) & ~MASK) : 0,
                sum = HJ3Sum(bytes);

      if (lane == 0) HJ3Expect(bar + 8 * z, sum);
      if (bytes) HJ3CopyBulk(d + head, from + head, bytes, bar + 8 * z);
      if (MASK == 1) {
        if (go && lane < FLAGS && (zero || place != (lane & 1))) HJ3CopyOr0(zero ? d + (lane & 1 ? 1 : -1) : d, from, !zero);
      } else if (go && lane < FLAGS) {
        const int step = lane & 1 ? -1 : 1, n = zero ? 1 : lane & 1 ? ((to >> 16) - head) & MASK : head;

        HJ3_UNROLL for (int u = 0; u < MASK; u++) if (u < n) HJ3CopyOr0(zero ? d - step : d + step * u, from + step * u, !zero);
      }
      HJ3ArriveCopied(bar + 8 * z);
    }
    from += isx || lane / 2 == B ? f.sz : f.si;
    step++;
    return flags;
  }

  __device__ __forceinline__ void Wait(int z)
  {
    HJ3Wait(bar + 8 * z, bits >> (PHASE + z) & 1);
    bits ^= 1u << (PHASE + z);
  }

  /* Waits for what was copied and sent ahead */
  __device__ void Finish()
  {
    if (bits & EDGE_BIT) HJ3WaitEdge(EdgeBar(1, warp > 0), bits >> (PHASE + 1) & 1, lane == 0, EDGE);
    Wait(1);
  }

  static __device__ __forceinline__ int Shift(unsigned shifts, int pair) { return shifts >> (2 * pair) & MASK; }

  /* How much larger the shift is of the row that begins n numbers before, or after, one of that shift */
  static __device__ __forceinline__ int Before(int by, int n) { return MASK == 1 ? (n & 1 ? 1 - 2 * by : 0) : ((by - n) & MASK) - by; }
  static __device__ __forceinline__ int After(int by, int n) { return ((by + n) & MASK) - by; }

  /* Points of this pair's row before the first whole word; of an odd lane place is that of the last one */
  __device__ __forceinline__ int Head(int place) const
  {
    const int n = to >> 16;

    return MASK == 1 ? place : min(-(lane & 1 ? place - n + 1 : place) & MASK, n);
  }

  /* What the rows above and below add to the sums of f_2 and y */
  __device__ __forceinline__ void Begin(int z)
  {
    const PetscScalar *q = es + (z ^ 1) * SE + warp * PE + 1 + lane;

    if (bits & EDGE_BIT) HJ3WaitEdge(EdgeBar(z ^ 1, warp > 0), bits >> (PHASE + (z ^ 1)) & 1, lane == 0, EDGE);
    HJ3_UNROLL for (int v = 0; v < V; v++)
    {
      t2[v] = fma(C1[2][v], q[32 * v], fma(C1[3][v], q[32 * v + 2 * PE], t2[v]));
      y[v]  = fma(-C2[0][v], q[32 * v + SL], fma(-C2[1][v], q[32 * v + SL + 2 * PE], y[v]));
    }
  }

  /* Coefficients of the points of plane r - 1, inverse diagonal last */
  __device__ __forceinline__ void Coefficients(int z, unsigned shifts, int v, PetscScalar k[7]) const
  {
    const PetscScalar *q = cs + z * SC + warp * PC + lane + SYM + 32 * v, *p[NA];

    HJ3_UNROLL for (int a = 0; a < NA; a++) p[a] = q + Place(a) + Shift(shifts, a);
    if (SYM) {
      k[0] = p[0][-1];
      k[1] = p[0][0];
      k[2] = p[1][Before(Shift(shifts, 1), f.ni) - PC];
      k[3] = p[1][0];
      k[4] = u[v];
      k[5] = p[2][0];
      k[6] = START ? HJ_ZERO : p[3][0];
    } else {
      HJ3_UNROLL for (int a = 0; a < 7; a++) k[a] = p[a < NA ? a : 0][0];
    }
  }

  /* f_1 of plane r - 1; newest: these points in plane r of x */
  __device__ __forceinline__ PetscScalar First(int z, unsigned now, int v, PetscScalar newest, PetscScalar &x, PetscScalar k[7]) const
  {
    const int          before = (bits >> (SLOT + 1) ? 0 : (bits >> SLOT) + 1) * SX + (warp + 1) * PX + 1 + lane + 32 * v;
    const int          by = now >> LAST, below = Before(by, f.nx), above = MASK == 1 ? below : After(by, f.nx);
    const PetscScalar *q = xs + before + by;
    PetscScalar        t = START ? HJ_ZERO : cs[z * SC + warp * PC + lane + SYM + Place(B) + Shift(now, B) + 32 * v];

    Coefficients(z, now, v, k);
    if (START) k[6] = ds[before + (MASK == 1 ? Shift(now, DX) ^ ((int)f.si & 1) : (Shift(now, DX) - (int)f.si) & MASK)];
    x = q[0];
    t = fma(-k[0], q[-1], t);
    t = fma(-k[1], q[1], t);
    t = fma(-k[2], q[below - PX], t);
    t = fma(-k[3], q[above + PX], t);
    t = fma(-k[4], xp[v], t);
    t = fma(-k[5], newest, t);
    return fma(k[6], t, START ? g.share * x : -x); /* start: D^-1 b is x divided by the first weight */
  }

  /* Start: the plane of the right-hand side that has arrived becomes that of the first subiteration's results, at this lane's points and
     the places around the tile that it looks after; slot: where it lies. Returns the former */
  __device__ __forceinline__ void First0(int slot, unsigned now, bool there, PetscScalar o[V])
  {
    const PetscScalar  w   = g.w[0];
    const int          to  = slot * SX + (warp + 1) * PX + 1 + lane;
    PetscScalar       *own = xs + to + Shift(now, X);
    const PetscScalar *d   = ds + to + Shift(now, DX);

    HJ3_UNROLL for (int v = 0; v < V; v++) o[v] = 0;
    if (!there) return;
    HJ3_UNROLL for (int v = 0; v < V; v++) o[v]        = w * d[32 * v] * own[32 * v];
    HJ3_UNROLL for (int v = 0; v < V; v++) own[32 * v] = o[v];
    if (lane == 0) own[-1] *= w * d[-1];
    if (lane == 31) own[TX - 31] *= w * d[TX - 31];
    if (warp == 0 || warp == NW - 1) {
      const int far = slot * SX + (warp ? NW + 1 : 0) * PX + 1 + lane;

      own = xs + far + Shift(now, XFAR);
      d   = ds + far + Shift(now, DXFAR);
      HJ3_UNROLL for (int v = 0; v < V; v++) own[32 * v] *= w * d[32 * v];
    }
  }

  /* Plane r of x has arrived: f_1 of plane r - 1, f_2 of r - 2, y of r - 3. Start: from a zero guess, x of plane r - 2 and the residual of
     r - 3; the first subiteration's results are x, and w has the weights of the others */
  __device__ __forceinline__ bool Step(int z)
  {
    const PetscScalar w0 = g.w[START], w1 = LEAVES ? g.w[2] : g.w[1 + START] + g.w[2 + START] - g.w[1 + START] * g.w[2 + START],
                      w2       = LEAVES ? g.w[2] : g.w[1 + START] * g.w[2 + START];
    const int          arrived = bits >> SLOT;
    const unsigned     now     = shift;
    const PetscScalar *newest  = xs + (bits >> SLOT) * SX + (warp + 1) * PX + 1 + Shift(now, X) + lane;
    PetscScalar        k[V][7], x[V], o1[V], o2[V], first[V], *e = es + z * SE + (warp + 1) * PE + 1 + lane;

    if (NW <= 16) HJ3Wait(bar + 8 * STEPS, z ^ 1);
    const unsigned flags = Copy(z);
    Begin(z);
    Wait(z ^ 1);
    if (START) First0(arrived, now, flags & THERE, first);
    /* first all that is read, then what others wait for, then what goes to memory: no read waits for a write before it */
    HJ3_UNROLL for (int v = 0; v < V; v++)
    {
      o1[v] = First(z ^ 1, now, v, START ? first[v] : flags & THERE ? newest[32 * v] : HJ_ZERO, x[v], k[v]);
      if (!(bits >> v & 1) || !(flags & ACTIVE1)) o1[v] = 0;
    }
    HJ3_UNROLL for (int v = 0; v < V; v++)
    {
      t2[v] = fma(C1[5][v], o1[v], t2[v]);
      o2[v] = fma(-w0, t2[v], fma(-w0, f1[v], f1[v]));
      if (!(bits >> v & 1) || !(flags & ACTIVE2)) o2[v] = 0;
      e[32 * v]      = o1[v];
      e[32 * v + SL] = o2[v];
    }
    if (bits & EDGE_BIT) {
      HJ3_UNROLL for (int v = 0; v < V; v++) Send(z, v, o1[v], o2[v]);
    }
    if (START) HJ3CopyFence();
    __syncwarp();
    if (NW <= 16) HJ3Arrive(bar + 8 * STEPS); /* every lane: racecheck takes what the others wrote for unordered if only one arrives */
    HJ3_UNROLL for (int v = 0; v < V; v++)
    {
      if ((flags & WRITE) && (bits >> (WRITES + v) & 1)) py[32 * v + (LEAVES ? f.copy[0] : 0)] = fma(-C2[2][v], o2[v], y[v]);
      y[v] = fma(w0, f1[v], fma(w1, o2[v], xp[v]));
      if (LEAVES) {
        if ((flags & WRITEX) && (bits >> (WRITES + v) & 1)) py[32 * v + f.sy] = y[v];
        y[v] = fma(-w2, o2[v], o2[v]);
      }
    }
    py += f.sy;
    HJ3_UNROLL for (int v = 0; v < V; v++)
    {
      y[v] = fma(-w2, fma(C1[0][v], e[32 * v + SL - 1], fma(C1[1][v], e[32 * v + SL + 1], C1[4][v] * f2[v])), y[v]);
      if (LEAVES) y[v] *= D[v];
      C2[0][v] = (LEAVES ? w2 * D[v] : w2) * C1[2][v];
      C2[1][v] = (LEAVES ? w2 * D[v] : w2) * C1[3][v];
      C2[2][v] = (LEAVES ? w2 * D[v] : w2) * C1[5][v];
      if (LEAVES) D[v] = HJ3Reciprocal(k[v][6]);
      if (NW > 16) Coefficients(z ^ 1, now, v, k[v]); /* once more: with less than 128 registers they do not stay meanwhile */
      HJ3_UNROLL for (int a = 0; a < 6; a++) C1[a][v] = k[v][6] * k[v][a];
      t2[v]                                           = fma(C1[0][v], e[32 * v - 1], fma(C1[1][v], e[32 * v + 1], C1[4][v] * f1[v]));
      f1[v]                                           = o1[v];
      f2[v]                                           = o2[v];
      xp[v]                                           = x[v];
      u[v]                                            = k[v][5];
    }
    if (NW > 16) __syncthreads();
    return flags & MORE;
  }
};

template <int NW, int V, bool SYM, int KIND>
static __global__ void __launch_bounds__(32 * NW, NW > 8 ? 1 : 2) HJ3Variable_Kernel(const __grid_constant__ HJ3Args g)
{
#if __CUDA_ARCH__ >= 900 /* HJ3VariableClusters() refuses code for others */
  extern __shared__ __align__(16) PetscScalar sm[];
  HJ3VariableBlock<NW, V, SYM, KIND>          k(g, sm);
  const int                                   unit = blockIdx.x / g.cluster;

  for (int i = g.first[unit]; i < g.first[unit + 1]; i++) {
    HJ3Piece q = g.piece[i];

    q.y += blockIdx.x % g.cluster * NW;
    k.Start(q);
    do k.Step(0);
    while (k.Step(1));
    k.Finish();
    __syncthreads();
  }
#endif
}

template <int NW, int V, bool SYM, int KIND>
static cudaError_t HJ3VariableLaunch(cudaStream_t stream, int blocks, const HJ3Args *g, const void *)
{
  const HJLaunch how    = {dim3(blocks), dim3(32 * NW), HJ3VariableBlock<NW, V, SYM, KIND>::BYTES, stream, g->cluster};
  void          *args[] = {(void *)g};

  return HJLaunchKernel(&how, (const void *)HJ3Variable_Kernel<NW, V, SYM, KIND>, args);
}

template <int NW, int V, bool SYM, int KIND> static int HJ3VariableClusters(int cluster)
{
  const void         *kernel = (const void *)HJ3Variable_Kernel<NW, V, SYM, KIND>;
  const HJLaunch      how    = {dim3(cluster), dim3(32 * NW), HJ3VariableBlock<NW, V, SYM, KIND>::BYTES, NULL, cluster};
  cudaFuncAttributes  code;
  cudaLaunchConfig_t  config;
  cudaLaunchAttribute attr[3];
  int                 n;

  if (cluster <= (NW > 8 ? 2 : 8) && cudaFuncGetAttributes(&code, kernel) == cudaSuccess && code.ptxVersion >= 90 &&
      HJLaunchConfig(&how, kernel, &config, attr) == cudaSuccess && cudaOccupancyMaxActiveClusters(&n, kernel, &config) == cudaSuccess)
    return n;
  (void)cudaGetLastError();
  return 0;
}

#define HJ3_VARIABLE_KERNEL(NW, V, SYM, KIND)                                                                                              \
  {                                                                                                                                        \
    NW, 3, HJ3VariableBlock<NW, V, SYM, KIND>::BYTES, HJ3VariableLaunch<NW, V, SYM, KIND>, HJ3VariableClusters<NW, V, SYM, KIND>, 0,       \
      NW > 8 ? 1 : 2, NULL, 0, 0, false, 32 * V                                                                                            \
  }

const HJ3Kernel HJ3KernelVariable       = HJ3_VARIABLE_KERNEL(HJ3_VARIABLE_WARPS, HJ3_VARIABLE_COLUMNS, false, HJ3_FROM_X);
const HJ3Kernel HJ3KernelSymmetric      = HJ3_VARIABLE_KERNEL(HJ3_SYMMETRIC_WARPS, HJ3_SYMMETRIC_COLUMNS, true, HJ3_FROM_X);
const HJ3Kernel HJ3KernelSymmetricStart = HJ3_VARIABLE_KERNEL(HJ3_SYMMETRIC_WARPS, HJ3_SYMMETRIC_COLUMNS, true, HJ3_LEAVES);
const HJ3Kernel HJ3KernelSymmetricZero  = HJ3_VARIABLE_KERNEL(HJ3_SYMMETRIC_WARPS, HJ3_SYMMETRIC_COLUMNS, true, HJ3_FROM_ZERO);

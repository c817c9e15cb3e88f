/*
   3D star, dictionary with rows that differ: how a block streams one piece through 4 levels. As hjstream3d_star.cu, but a step begins with the
   coefficients of each lane's two columns of points, from a table in shared memory: along walls in x they are the same for all rows and
   planes of a warp. Where rows of points differ, at walls in y, each takes its own; where planes do, at walls in z and at jumps, each level and point.
   Decides nothing about where pieces lie.
*/
#include "hjstream3d_edges.cuh"

template <int R, int NW> struct HJ3TableBlock : HJ3Block<R, NW, 3, 3> {
  static constexpr int           L = 4, J = L - 1, NB = 3;
  typedef HJ3Block<R, NW, 3, NB> Base; /* slots as in hjstream3d_star.cu */
  typedef HJ3Edges<L, NW>        Edges;
  static constexpr unsigned      ROWS = (1u << R) - 1; /* of a warp */
  using Base::g, Base::f, Base::bs, Base::slot, Base::lane, Base::warp, Base::own, Base::py, Base::SB, Base::NI, Base::Load2, Base::XRow;
  static constexpr int INDEX_BYTES = 4 * 4 * NI * 32 * NW;
  static constexpr int BYTES       = Base::READ_BYTES + Edges::BYTES + INDEX_BYTES + sizeof(HJ3Fixed);

  Edges         edges;
  unsigned     *index; /* this thread's row numbers of the last 4 planes, [plane % 4][NI] */
  const double *tab;
  double        A[L][2][R][2];
  unsigned      alike; /* a bit for each of 32 planes: see HJ3Args */
  unsigned      same;  /* R bits a plane, the newest lowest: a row of points has the numbers that it has in the plane before */
  unsigned      flat;  /* all rows of the newest plane have the same numbers */
  int           bslot; /* of plane r - 1 */

  __device__ HJ3TableBlock(const HJ3Args &args, double *sm)
      : Base(args, sm, (HJ3Fixed *)(sm + (Base::READ_BYTES + Edges::BYTES + INDEX_BYTES) / 8)), edges(sm + Base::READ_BYTES / 8),
        index((unsigned *)(sm + (Base::READ_BYTES + Edges::BYTES) / 8) + threadIdx.x), tab(sm + BYTES / 8)
  {
  }

  __device__ __forceinline__ unsigned &Index(int r, int i) const { return index[((r & 3) * NI + i) * 32 * NW]; }

  /* Of row i of points: the lower two bytes */
  __device__ __forceinline__ unsigned Numbers(int r, int i) const { return Index(r, i / 2) >> (16 * (i & 1)) & 0xffff; }

  /* The numbers of one more plane; all else is the row after the last, which keeps zeros */
  __device__ __forceinline__ void NewRows(int r)
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
      const unsigned numbers = rows[i][0] | rows[i][1] << 8;

      bits |= (unsigned)!!__all_sync(~0u, numbers == Numbers(r - 1, i)) << i;
      other |= numbers ^ (rows[0][0] | rows[0][1] << 8);
    }
    same = same << R | bits;
    flat = __all_sync(~0u, !other);
    HJ3_UNROLL for (int i = 0; i < R; i += 2)
      Index(r, i / 2) = rows[i][0] | rows[i][1] << 8 |
                        (i + 1 < R ? rows[i + 1 < R ? i + 1 : i][0] << 16 | rows[i + 1 < R ? i + 1 : i][1] << 24 : 0);
  }

  /* The flags of 32 planes, the first a multiple of 32 */
  __device__ __forceinline__ void LoadAlike(int r)
  {
    const int at = (r & ~31) + lane - f.flags;

    alike = __ballot_sync(~0u, at >= 0 && at < g.planes && g.alike[(long long)g.planes * f.piece + at]);
  }

  __device__ __forceinline__ unsigned Alike(int r) const { return alike >> (r & 31) & 1; }

  __device__ __forceinline__ void SameRows(int r)
  {
    HJ3_UNROLL for (int i = 0; i < NI; i++) Index(r, i) = Index(r - 1, i);
    same                                                = same << R | ROWS;
  }

  __device__ __forceinline__ void TakeRows(int r)
  {
    if ((r & 31) == 0) LoadAlike(r);
    if (__all_sync(~0u, Alike(r))) SameRows(r);
    else NewRows(r);
  }

  /* Rows of points with the same numbers in all planes */
  __device__ __forceinline__ unsigned Straight() const
  {
    unsigned bits = ROWS;

    HJ3_UNROLL for (int j = 0; j < L - 1; j++) bits &= same >> (j * R);
    return bits;
  }

  /* The first planes need not be right where they lie in the domain, and are taken for like the others. Returns the first plane that arrives in a step */
  __device__ int Start(const HJ3Piece &q, int piece)
  {
    const int r0 = Base::template Start<false, 3>(q, L - 2, 0);

    if (threadIdx.x == 0) {
      f.piece = piece;
      f.flags = q.z0 - g.depth;
      f.from  = max(max(f.zb.x, f.home.x), f.copy_lo + L);
      f.to    = min(min(f.zb.y, min(f.zx.y, f.home.y) - 1), f.copy_hi + L) - 1; /* of the first of two steps */
    }
    __syncthreads();
    HJ3_UNROLL for (int j = 0; j < L; j++) HJ3_UNROLL for (int i = 0; i < R; i++) HJ3_UNROLL for (int v = 0; v < 2; v++)
      A[j][0][i][v] = A[j][1][i][v]                                                            = 0;
    HJ3_UNROLL for (int k = 0; k < 4; k++) HJ3_UNROLL for (int i = 0; i < NI; i++) Index(k, i) = 0x01010101u * g.nrows;
    same                                                                                       = 0;
    HJ3_UNROLL for (int z = 0; z < 2; z++)
    {
      NewRows(r0 + z);
      HJ3_UNROLL for (int i = 0; i < R; i++)
      {
        const double2 x = XRow(2 - z, i);

        HJ3_UNROLL for (int v = 0; v < 2; v++) A[0][z][i][v] = v ? x.y : x.x;
      }
    }
    __syncthreads(); /* x has been read, and its slots may be filled again */
    if (r0 >= f.dlo) same = ~0u;
    LoadAlike(r0 + 2);
    bslot = 1;
    return r0 + 2;
  }

  /* f_j's weight in y, and in f_{j+1} = f_j - W(j) T f_j */
  __device__ __forceinline__ double U(int j) const { return j < 2 ? 1 : g.w[j - 1]; }
  __device__ __forceinline__ double W(int j) const { return g.w[j - 1]; }

  /* The row above (side 0) or below the warp's, of the plane that level j holds */
  __device__ __forceinline__ double2 Outside(int j, int z, int side) const
  {
    if (j == 0) return XRow(1, side ? R : -1);
    return edges.Outside(j, z ^ 1, side);
  }

  /* Sums of row i in level j over the plane itself, m, and the one before it; c: of both points */
  template <class C> __device__ __forceinline__ void Sum(int j, int z, int i, const C c[2], const double m[R][2], double t[2]) const
  {
    const bool    ring = j == 0;
    double        lo = __shfl_up_sync(~0u, m[i][1], 1), hi = __shfl_down_sync(~0u, m[i][0], 1);
    const bool    inside[2] = {ring || lane > 0, ring || lane < 31}; /* other levels are 0 outside the tile */
    const double2 up        = i == 0 ? Outside(j, z, 0) : make_double2(m[i ? i - 1 : 0][0], m[i ? i - 1 : 0][1]);
    const double2 down      = i == R - 1 ? Outside(j, z, 1) : make_double2(m[i < R - 1 ? i + 1 : i][0], m[i < R - 1 ? i + 1 : i][1]);

    if (ring) {
      const double x = this->XRing(1, i);

      if (lane == 0) lo = x;
      if (lane == 31) hi = x;
    }
    HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      const double2 c01 = c[v].Pair(0), c23 = c[v].Pair(2), c45 = c[v].Pair(4);

      t[v] = c01.x * m[i][v];
      t[v] = fma(c23.y, v ? up.y : up.x, t[v]);
      t[v] = fma(c45.x, v ? down.y : down.x, t[v]);
      if (j < J) t[v] = fma(c45.y, A[j][z][i][v], t[v]);
      if (v || inside[0]) t[v] = fma(c01.y, v ? m[i][0] : lo, t[v]);
      if (!v || inside[1]) t[v] = fma(c23.x, v ? hi : m[i][1], t[v]);
    }
  }

  /* Puts into the last level's older plane what y's next plane takes from all before it: earlier levels, and the plane before */
  template <class C> __device__ __forceinline__ void Share(int z, int i, const C c[2])
  {
    HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      double t = -W(L) * W(J) * c[v].Pair(4).y * A[J][z ^ 1][i][v];

      t                 = fma(U(J - 2), A[J - 2][z][i][v], t);
      A[J][z ^ 1][i][v] = fma(U(J - 1), A[J - 1][z ^ 1][i][v], t);
    }
  }

  /* f_{j+1} from the sum and the point itself */
  __device__ __forceinline__ double Next(int j, double sum, double m, double dinv, const double2 b[2], int v) const
  {
    if (j < 2) {
      const double o = fma(dinv, v ? b[j].y : b[j].x, -sum);

      return j == 0 ? fma(g.w[0], o, m) : o;
    }
    return fma(-W(j), sum, m);
  }

  /* Coefficients of a point: in registers, or in the table */
  struct Kept {
    double                             c[8];
    __device__ __forceinline__ double2 Pair(int o) const { return make_double2(c[o], c[o + 1]); }
  };
  struct Row {
    const double                      *row;
    __device__ __forceinline__ double2 Pair(int o) const { return Load2(row + o); }
  };

  __device__ __forceinline__ Row RowOf(unsigned numbers, int v) const { return {tab + HJ3_ROW * (numbers >> (8 * v) & 255)}; }

  __device__ __forceinline__ void KeepRow(unsigned numbers, Kept c[2]) const
  {
    HJ3_UNROLL for (int v = 0; v < 2; v++) HJ3_UNROLL for (int o = 0; o < 8; o += 2)
    {
      const double2 t = RowOf(numbers, v).Pair(o);

      c[v].c[o]     = t.x;
      c[v].c[o + 1] = t.y;
    }
  }

  /* Bits: x, b of level 0 and b of level 1 can be read; y is written */
  __device__ __forceinline__ unsigned Live(int r) const
  {
    return (unsigned)HJ3In(f.zx, r) | (unsigned)HJ3In(f.zb, r - 1) << 1 | (unsigned)HJ3In(f.zb, r - 2) << 2 |
           (unsigned)(r - L >= f.z0 && r - L < f.z1) << 3;
  }

  /* c: of plane r - j, [j][v]; last: the last level's newest plane. FULL: as Step()'s */
  template <bool FULL, class C>
  __device__ __forceinline__ void OneRow(int z, int r, unsigned live, unsigned write, int i, unsigned ny, const C c[L + 1][2],
                                         const double last[R][2])
  {
    double2 b[2] = {make_double2(0, 0), make_double2(0, 0)}, x = b[0];
    double  m[L][2], t[L][2], n[2];

    if (FULL || live & 1) x = XRow(0, i);
    if (FULL || live & 2) b[0] = Load2(bs + bslot * SB + (warp * R + i) * HJ3_TX + 2 * lane);
    if (FULL || live & 4) b[1] = Load2(bs + (bslot ? bslot - 1 : NB - 1) * SB + (warp * R + i) * HJ3_TX + 2 * lane);
    HJ3_UNROLL for (int v = 0; v < 2; v++) n[v] = v ? x.y : x.x;
    HJ3_UNROLL for (int j = 0; j < L; j++)
    {
      HJ3_UNROLL for (int v = 0; v < 2; v++) m[j][v] = j == J ? fma(W(J) + W(L), last[i][v], A[j][z][i][v]) : A[j][z ^ 1][i][v];
      Sum(j, z, i, c[j + 1], j == J ? last : A[j][z ^ 1], t[j]);
    }
    Share(z, i, c[J]);
    HJ3_UNROLL for (int j = 0; j < L; j++) HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      const double2 c67 = c[j + 1][v].Pair(6);
      const double  o   = fma(c67.x, n[v], t[j][v]);

      A[j][z][i][v] = n[v];
      n[v]          = j == J ? fma(-W(J) * W(L), o, m[J][v]) : Next(j, o, m[j][v], c67.y, b, v);
    }
    HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      double *at = py + (unsigned long long)ny * i + v;

      HJ3StoreIf(write & 1u << (2 * i + v), at, n[v]);
      if (!FULL && (write & 1u << (2 * i + v))) this->Copy(r - L, at, n[v]);
    }
  }

  /* The same where all planes have the coefficients c */
  template <bool FULL>
  __device__ __forceinline__ void StraightRow(int z, int r, unsigned live, unsigned write, int i, unsigned ny, const Kept c[2],
                                              const double last[R][2])
  {
    Kept all[L + 1][2];

    HJ3_UNROLL for (int j = 0; j <= L; j++) HJ3_UNROLL for (int v = 0; v < 2; v++) all[j][v] = c[v];
    OneRow<FULL>(z, r, live, write, i, ny, all, last);
  }

  __device__ __forceinline__ void MixedRow(int z, int r, unsigned live, unsigned write, int i, unsigned ny, const double last[R][2])
  {
    Row c[L + 1][2];

    HJ3_UNROLL for (int j = 1; j <= L; j++) HJ3_UNROLL for (int v = 0; v < 2; v++) c[j][v] = RowOf(Numbers(r - j, i), v);
    OneRow<false>(z, r, live, write, i, ny, c, last);
  }

  /* Plane r of x arrives; level j makes plane r - 1 - j. FULL: all rows and planes of the warp have the same numbers, nothing that is read is out of range or a
     ghost, and nothing to copy. Rows at the edge first: neighbours wait for them */
  template <bool FULL> __device__ __forceinline__ void Step(int z, int r, unsigned straight)
  {
    const int      next = this->NextSlot(), bnext = bslot + 1 == NB ? 0 : bslot + 1;
    const unsigned live = FULL ? (unsigned)(r - L >= f.z0) << 3 : Live(r), write = live & 8 ? this->Masks(own) : 0, ny = f.ny;
    double         last[R][2];
    Kept           c[2];

    edges.Wait(z ^ 1);
    if (FULL) KeepRow(Numbers(r - 1, 0), c);
    this->template LoadX<FULL>(r + 1, next);
    this->template LoadB<FULL>(r, bnext);
    HJ3_UNROLL for (int i = 0; i < R; i++) HJ3_UNROLL for (int v = 0; v < 2; v++) last[i][v] = A[J][z ^ 1][i][v];
    HJ3_UNROLL for (int k = 0; k < R; k++)
    {
      const int i = k == 0 ? k : k == 1 ? R - 1 : k - 1;

      if (FULL) {
        StraightRow<true>(z, r, live, write, i, ny, c, last);
      } else if (__all_sync(~0u, straight >> i & 1)) {
        KeepRow(Numbers(r - 1, i), c);
        StraightRow<false>(z, r, live, write, i, ny, c, last);
      } else {
        MixedRow(z, r, live, write, i, ny, last);
      }
      if (i == 0 || i == R - 1) HJ3_UNROLL for (int j = 1; j < L; j++) edges.Put(j, z, i > 0, A[j][z][i][0], A[j][z][i][1]);
      if (k == 1) edges.Done(z);
    }
    py += f.sy;
    slot  = next;
    bslot = bnext;
  }

  __device__ void Run(int piece)
  {
    const HJ3Piece q = g.piece[piece];

    for (int r = Start(q, piece); r < f.z1 + L; r += 2) {
      /* the second step's rows are those of the first */
      if (__all_sync(~0u, flat && Straight() == ROWS && r >= f.from && r < f.to && (r & 31) && Alike(r))) {
        Step<true>(0, r, ROWS);
        SameRows(r);
        Edges::EndStep();
        Step<true>(1, r + 1, ROWS);
      } else {
        Step<false>(0, r, Straight());
        TakeRows(r);
        Edges::EndStep();
        Step<false>(1, r + 1, Straight());
      }
      if (r + 2 < f.z1 + L) TakeRows(r + 1);
      Edges::EndStep();
    }
    __syncthreads();
  }
};

/* HJ3Args' alike; one block a piece and plane */
static __global__ void HJ3TableAlike_Kernel(const __grid_constant__ HJ3Args g, unsigned char *alike)
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
  if (threadIdx.x == 0) alike[(long long)blockIdx.x * g.planes + blockIdx.y] = same;
}

static PetscErrorCode HJ3TableCompare(cudaStream_t stream, int pieces, const HJ3Args *g, int, unsigned char **alike)
{
  PetscFunctionBegin;
  PetscCall(HJAlloc((size_t)pieces * g->planes, (void **)alike));
  HJ3TableAlike_Kernel<<<dim3(pieces, g->planes), 256, 0, stream>>>(*g, *alike);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <int R, int NW> static __global__ void __launch_bounds__(32 * NW, 1) HJ3Table_Kernel(const __grid_constant__ HJ3Args g)
{
  extern __shared__ __align__(16) double sm[];
  HJ3TableBlock<R, NW>                   k(g, sm);

  HJ3TableLoad(const_cast<double *>(k.tab), g);
  for (int c = g.first[blockIdx.x]; c < g.first[blockIdx.x + 1]; c++) k.Run(c);
}

template <int R, int NW> static cudaError_t HJ3TableLaunch(cudaStream_t stream, int blocks, const HJ3Args *g, const void *)
{
  const int   bytes = HJ3TableBlock<R, NW>::BYTES + 8 * HJ3_ROW * (g->nrows + 1);
  cudaError_t e     = cudaFuncSetAttribute(HJ3Table_Kernel<R, NW>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);

  if (e != cudaSuccess) return e;
  HJ3Table_Kernel<R, NW><<<blocks, 32 * NW, bytes, stream>>>(*g);
  return cudaGetLastError();
}

typedef HJ3TableBlock<4, 8> HJ3Table;

const HJ3Kernel HJ3KernelTable4 = {HJ3Table::TY,   HJ3Table::L, HJ3Table::BYTES + 8 * HJ3_ROW * 256, HJ3TableLaunch<4, 8>, NULL, 0, 0,
                                   HJ3TableCompare};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What the files of the 3D streaming family share: pieces, kernel arguments, small device helpers.
   A block streams along z through columns of tiles; hjstream3d.cu cuts the sweeps into pieces, the kernel files know how one is done.

   All kernels work on residuals: r_0 = D^-1 b - T x, r_{j+1} = r_j - w_j T r_j, y = x + sum_j w_j r_j with T = D^-1 A. The right-hand side
   is then read once a pass, not once a subiteration. Level j holds two planes of f_0 = x, f_j = r_{j-1}, or from a zero guess with a star
   f_j = r_j. The star of 4 levels has f_1 = x + w_0 r_0 and f_2 = r_1 = D^-1 b - T f_1 instead: x is then needed by level 0 alone, and a
   block keeps fewer planes of x and b.
*/
#pragma once

#include "cuda/kernels/hjkernel.h"
#include "cuda/device/hjcopy.cuh"

#define HJ3_MAX_LEVELS 4
#define HJ3_TX         64 /* columns of a tile: two a lane */
#define HJ3_ROW        10 /* doubles of a row of the table in shared memory: pairs are aligned, and rows begin in different banks */

/* Planes [z0, z1) of one column of tiles: values are computed on the tile that starts at (x, y), written on own */
typedef struct {
  int sweep, x, y, z0, z1;
  int own_lo[2], own_hi[2];
} HJ3Piece;

typedef struct {
  HJDSweep        sweep[HJD_MAX_SWEEPS];
  const HJ3Piece *piece;
  const int      *first; /* [units + 1] pieces of a unit: a cluster of blocks that share a tile, its rows split among them */
  int             cluster;
  int             depth; /* ring around own that is read; 0: none */
  /*
     What the kernel's scan_rows() has found. Star of 4 levels: a byte for each piece and plane, [piece][planes], from plane z0 - depth on;
     not zero where all that a piece needs of the plane has the same rows as in the plane before. Marching warps: see HJ3StarMarch
  */
  const unsigned char *row_scan;
  int                  planes;
  int                  nrows;
  HJDBox               sbox;
  const PetscScalar   *rows, *dinv_rows;
  const unsigned char *index;
  const PetscScalar   *value[6], *dinv; /* star: -x +x -y +y -z +z; NULL where not stored */
  PetscScalar          w[HJ3_MAX_LEVELS];
  PetscScalar         *residual; /* of a kernel that ends with it */
  PetscScalar          share;    /* of a zero guess's kernel for arrays: D^-1 b less the first subiteration's x, divided by that */
} HJ3Args;

/* Constant coefficients with weights: level j is the sum of c[j][o] f_o, plus b[j] times the right-hand side; s: weights of f_j in y */
typedef struct {
  PetscScalar c[HJ3_MAX_LEVELS][7], s[HJ3_MAX_LEVELS], b[2];
  PetscScalar m[HJ3_MAX_LEVELS], a[HJ3_MAX_LEVELS]; /* what c is made of: m times the row, and a on the diagonal */
  PetscScalar dinv;
  int         row;
} HJ3Star;

typedef struct {
  PetscScalar c[2][27], b; /* lexicographic, z slowest, centre included */
} HJ3Box;

/* One kernel as hjstream3d.cu sees it */
typedef struct {
  int    rows;   /* of a block's tile */
  int    levels; /* planes between reading and writing */
  size_t smem_bytes;
  cudaError_t (*launch)(cudaStream_t, int, const HJ3Args *, const void *); /* blocks, arguments, constant coefficients or NULL */
  int (*clusters)(int); /* that run at once on the device, of blocks; NULL: the kernel knows none */
  int columns; /* that a block writes, as many rows as above: its warps read what is beside them on their own; 0: tiles of HJ3_TX columns */
  int blocks;  /* that run at once on a multiprocessor; 0: one */
  /* Makes HJ3Args' row_scan, on the device: number of pieces, arguments, HJ3Star's row. NULL: the kernel needs none */
  PetscErrorCode (*scan_rows)(cudaStream_t, int, const HJ3Args *, int, unsigned char **);
  int  row_bytes; /* of shared memory more for each row of the dictionary, and one more row; 0: none, or in smem_bytes */
  int  aligned;   /* where y wraps, tiles begin a multiple of so many rows from its ends, so that no warp's rows meet one; 0: anywhere */
  bool turned;    /* directions 1 and 2 of all boxes and pieces have changed places: it streams along y */
  int  width;     /* columns of a tile; 0: HJ3_TX */
} HJ3Kernel;

/* Constant star kernels by levels; zero guess: they start from the right-hand side */
extern const HJ3Kernel HJ3KernelStar4, HJ3KernelStar3, HJ3KernelStar3Zero;
/* The same for sweeps that wrap; the others take those as they are */
extern const HJ3Kernel HJ3KernelStar4Wraps, HJ3KernelStar3Wraps, HJ3KernelStar3ZeroWraps, HJ3KernelTable4Wraps, HJ3KernelStar4Of32Wraps,
  HJ3KernelTable4Of24Wraps;
extern const HJ3Kernel HJ3KernelStar2, HJ3KernelStar2Zero, HJ3KernelStar1, HJ3KernelStar1Zero;
/* Row of each point from a table in shared memory; take points outside the domain anywhere in their tile */
extern const HJ3Kernel HJ3KernelTable4, HJ3KernelTable3, HJ3KernelTable2, HJ3KernelTable1, HJ3KernelTable3Zero, HJ3KernelTable2Zero,
  HJ3KernelTable1Zero;
/* Of so many rows, for devices with less shared memory */
extern const HJ3Kernel HJ3KernelStar4Of32, HJ3KernelTable4Of24;
/* For thin slabs, turned; of 3 levels, of 4 and so many rows */
extern const HJ3Kernel HJ3KernelTurned3, HJ3KernelTurned40, HJ3KernelTurned35, HJ3KernelTurned30, HJ3KernelTurned25, HJ3KernelTurned20,
  HJ3KernelTurned15;
/* Two levels; Of: as above */
extern const HJ3Kernel HJ3KernelBox, HJ3KernelBoxTable, HJ3KernelBoxTableOf16, HJ3KernelBoxTableOf12;
/* Three levels, for clusters; two levels for any device */
extern const HJ3Kernel HJ3KernelVariable, HJ3KernelSymmetric, HJ3KernelVariable2, HJ3KernelSymmetric2;
/* From a zero guess: three subiterations, and their residual; four */
extern const HJ3Kernel HJ3KernelSymmetricStart, HJ3KernelSymmetricZero;

#define HJ3_UNROLL _Pragma("unroll")

__device__ __forceinline__ void HJ3StoreIf(unsigned bit, PetscScalar *dst, PetscScalar v)
{
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %0, 0;\n\t@p st.global." HJ_PTX " [%1], %2;\n\t}" ::"r"(bit), "l"(dst), HJ_PTX_REG(v));
}

/* Hides a value's origin: what follows from it is worked out anew where it is used. Keeping it through the loop costs more registers */
template <class T> __device__ __forceinline__ T HJ3Fresh(T v)
{
  if constexpr (sizeof(T) == 8) asm volatile("" : "+l"(v));
  else asm volatile("" : "+r"(v));
  return v;
}

/* Bytes of the table of a block: nrows rows, and one more */
static constexpr int HJ3TableBytes(int nrows)
{
  return HJ_BYTES * HJ3_ROW * (nrows + 1);
}

/* The table of a block: rows, D^-1 after each; a row of zeros after the last */
__device__ inline void HJ3TableLoad(PetscScalar *tab, const HJ3Args &g)
{
  for (int i = threadIdx.x; i < HJ3_ROW * (g.nrows + 1); i += blockDim.x) {
    const int r = i / HJ3_ROW, o = i % HJ3_ROW;

    tab[i] = r == g.nrows ? (PetscScalar)(o == 0) : o < 7 ? g.rows[7 * r + o] : o == 7 ? g.dinv_rows[r] : HJ_ZERO;
  }
  __syncthreads();
}

/* Four row numbers, a byte each, that are all row */
__device__ __forceinline__ unsigned HJ3FourTimes(unsigned row)
{
  return 0x01010101u * row;
}

/* From a row of points to the next in an array over box, from a plane to the next, and a point's place. TURNED: as HJ3Kernel's */
template <bool TURNED> __device__ __forceinline__ int HJ3RowStride(const HJDBox &b)
{
  return TURNED ? HJDWidth(b, 0) * HJDWidth(b, 2) : HJDWidth(b, 0);
}

template <bool TURNED> __device__ __forceinline__ long long HJ3PlaneStride(const HJDBox &b)
{
  return TURNED ? HJDWidth(b, 0) : (long long)HJDWidth(b, 0) * HJDWidth(b, 1);
}

template <bool TURNED> __device__ __forceinline__ long long HJ3Place(const HJDBox &b, int i, int j, int k)
{
  if (!TURNED) return HJDIndex(b, i, j, k);
  return ((long long)(j - b.lo[1]) * HJDWidth(b, 2) + (k - b.lo[2])) * HJDWidth(b, 0) + (i - b.lo[0]);
}

/* Range of planes, or of columns, that may be read: own grown by depth, cut at box and domain; where s wraps, all of it */
__device__ __forceinline__ int2 HJ3Reach(const HJDSweep &s, int d, int lo, int hi, int depth)
{
  if (d < 2 && s.wrap[d]) return make_int2(lo - depth, hi + depth);
  return make_int2(max(lo - depth, max(s.box.lo[d], s.domain.lo[d])), min(hi + depth, min(s.box.hi[d], s.domain.hi[d])));
}

__device__ __forceinline__ bool HJ3In(int2 r, int i)
{
  return i >= r.x && i < r.y;
}

/* The neighbours of a lane's two points in x; first and last lane get lo and hi, which come from outside the tile */
__device__ __forceinline__ HJScalar2 HJ3Beside(HJScalar2 v, PetscScalar lo, PetscScalar hi)
{
  const int         lane = threadIdx.x & 31;
  const PetscScalar l = __shfl_up_sync(~0u, v.y, 1), h = __shfl_down_sync(~0u, v.x, 1);

  return HJScalar2Of(lane ? l : lo, lane < 31 ? h : hi);
}

/* What is the same for a whole piece, kept in shared memory to save registers */
struct alignas(16) HJ3Fixed {
  const PetscScalar *x, *b;
  long long          sz, sy;           /* plane strides of box, ybox */
  int                nx, ny;           /* and of rows */
  int                from, to;         /* steps that need no checks */
  int                piece, scan_from; /* the piece's number; the first plane that HJ3Args' row_scan has */
  int                z0, z1, dlo, dhi;
  int2               zx, zb, zi; /* planes of x, b, index that may be read */
  int                ni;         /* row length and plane stride of the stencil's box */
  long long          si;
  int2               home; /* planes that lie in x and b, those below and above in the ghosts */
  const PetscScalar *xghost[2], *bghost[2];
  int                copy_lo, copy_hi; /* planes below, and from, these are written twice, see HJDSweep */
  long long          copy[2];          /* from a place in y to the other */
};

/*
   Of rows next to each other, from the given one on, the first that lies in the array as far behind the one before as the direction has
   points; more than there are: none. A direction that wraps has more points than that
*/
__device__ __forceinline__ int HJ3WrapsAt(int row, int wrap)
{
  return !wrap || row >= wrap ? INT_MAX : row < 0 ? -row : wrap - row;
}

/*
   Reading and the ranges of a block: R rows a warp, NW warps, NX slots for planes of x with a ring around the tile, NB slots for b. WRAP:
   for sweeps that wrap, with tiles so that no warp's rows meet an end in y. TURNED: as HJ3Kernel's
*/
template <int R, int NW, int NX, int NB, bool WRAP = false, bool TURNED = false> struct HJ3Block {
  static constexpr int TY = R * NW, PX = HJ3_TX + 2, SX = (TY + 2) * PX, SB = TY * HJ3_TX;
  static constexpr int READ_BYTES = (HJ_BYTES * (NX * SX + NB * SB) + 15) / 16 *
                                    16;              /* cleared for each piece: what may not be read stays 0 */
  static constexpr int      NI    = (2 * R + 3) / 4; /* words of row numbers, 4 points each */
  static constexpr unsigned APART = 1u << 30;        /* in xbits and bbits: an end in x that wraps lies between the lane's points */

  const HJ3Args       &g;
  PetscScalar         *xs, *bs;
  HJ3Fixed            &f;
  int                  lane, warp, slot;         /* slot of plane r */
  unsigned             xbits, bbits, ibits, own; /* 2 bits a row; x: 2 more for the row outside, bit 31 for the columns outside; APART */
  long long            at;                       /* place of this thread in plane r + 1 of x and b */
  int                  far_from;                 /* from there to the row outside the tile, */
  int                  ring_from, ring_to; /* and to the point of the columns outside that this thread loads; the latter in the slot too */
  PetscScalar         *py;                 /* plane that is written next */
  const unsigned char *pi;                 /* plane whose row numbers are read next */

  __device__ HJ3Block(const HJ3Args &args, PetscScalar *sm, HJ3Fixed *fixed)
      : g(args), xs(sm), bs(sm + NX * SX), f(*fixed), lane(threadIdx.x & 31), warp(threadIdx.x >> 5)
  {
  }

  /* Bits of the points at columns c0 and c1 of the warp's rows */
  static __device__ unsigned Bits(int2 rx, int2 ry, int c0, int c1, int row)
  {
    unsigned bits = 0;

    HJ3_UNROLL for (int i = 0; i < R; i++) if (HJ3In(ry, row + i)) bits |= (unsigned)HJ3In(rx, c0) << (2 * i) | (unsigned)HJ3In(rx, c1)
                                                                                                                  << (2 * i + 1);
    return bits;
  }

  __device__ void SetReach(const HJ3Piece &q, const HJDSweep &s)
  {
    const int  row = q.y + warp * R, far = warp == 0 ? q.y - 1 : q.y + TY, c = q.x + lane, c2 = q.x + 2 * lane, inner = max(g.depth - 1, 0);
    const int2 xx = HJ3Reach(s, 0, q.own_lo[0], q.own_hi[0], g.depth), xy = HJ3Reach(s, 1, q.own_lo[1], q.own_hi[1], g.depth);
    const int2 bx = HJ3Reach(s, 0, q.own_lo[0], q.own_hi[0], inner), by = HJ3Reach(s, 1, q.own_lo[1], q.own_hi[1], inner);

    xbits = Bits(xx, xy, c, c + 32, row);
    if ((warp == 0 || warp == NW - 1) && HJ3In(xy, far))
      xbits |= (unsigned)HJ3In(xx, c) << (2 * R) | (unsigned)HJ3In(xx, c + 32) << (2 * R + 1);
    if (lane < (warp == 0 || warp == NW - 1 ? 2 * R + 2 : 2 * R) && HJ3In(xy, lane < 2 * R ? row + lane / 2 : far) &&
        HJ3In(xx, lane & 1 ? q.x + HJ3_TX : q.x - 1))
      xbits |= 1u << 31;
    bbits = Bits(bx, by, c, c + 32, row);
    own   = Bits(make_int2(q.own_lo[0], q.own_hi[0]), make_int2(q.own_lo[1], q.own_hi[1]), c2, c2 + 1, row);
    {
      const int2 ixr = make_int2(max(bx.x, g.sbox.lo[0]), min(bx.y, g.sbox.hi[0])),
                 iyr = make_int2(max(by.x, g.sbox.lo[1]), min(by.y, g.sbox.hi[1]));

      ibits = Bits(ixr, iyr, c2, c2 + 1, row);
    }
  }

  template <bool ZERO> __device__ void SetFixed(const HJ3Piece &q, const HJDSweep &s)
  {
    f.z0  = q.z0;
    f.z1  = q.z1;
    f.dlo = s.domain.lo[2];
    f.dhi = s.domain.hi[2];
    f.zb  = HJ3Reach(s, 2, q.z0, q.z1, max(g.depth - 1, 0));
    f.zx  = HJ3Reach(s, 2, q.z0, q.z1, g.depth);
    f.zi  = make_int2(max(f.zb.x, g.sbox.lo[2]), min(f.zb.y, g.sbox.hi[2]));
    f.nx  = HJ3RowStride<TURNED>(s.box);
    f.ny  = HJ3RowStride<TURNED>(s.ybox);
    f.ni  = HJDWidth(g.sbox, 0);
    f.sz  = HJ3PlaneStride<TURNED>(s.box);
    f.sy  = HJ3PlaneStride<TURNED>(s.ybox);
    f.si  = (long long)f.ni * HJDWidth(g.sbox, 1);

    f.home = make_int2(s.home_lo, s.home_hi);
    f.x    = ZERO ? s.b : s.x;
    f.b    = s.b;
    for (int i = 0; i < 2; i++) {
      f.xghost[i] = ZERO ? s.bghost[i] : s.xghost[i];
      f.bghost[i] = s.bghost[i];
      f.copy[i]   = s.copy[i] - s.y;
    }
    f.copy_lo = s.copy_lo;
    f.copy_hi = s.copy_hi;
  }

  /* Where this thread reads in plane r0, and from there on */
  __device__ void SetPlaces(const HJ3Piece &q, const HJDSweep &s, int row, int r0)
  {
    const int i = lane < 2 * R ? lane / 2
                  : warp       ? R
                               : -1,
              c = lane & 1 ? HJ3_TX : -1, nx = HJ3RowStride<TURNED>(s.box), far = warp ? R : -1;

    at        = HJ3Place<TURNED>(s.box, q.x + lane, row, r0);
    far_from  = far * nx;
    ring_from = i * nx + c - lane;
    ring_to   = i * PX + HJ3_TX + (lane & 1) - lane;
    if (WRAP) {
      const int column = HJDWrap(q.x + lane, s.wrap[0]), line = HJDWrap(row, s.wrap[1]);

      at        = HJDIndex(s.box, column, line, r0);
      far_from  = (HJDWrap(row + far, s.wrap[1]) - line) * nx;
      ring_from = (HJDWrap(row + i, s.wrap[1]) - line) * nx + HJDWrap(q.x + c, s.wrap[0]) - column;
      if (HJDWrap(q.x + lane + 32, s.wrap[0]) != column + 32) {
        xbits |= APART;
        bbits |= APART;
      }
    }
  }

  /* From the lane's first point of a row to its second; bits are xbits or bbits. A launch that wraps has one sweep */
  __device__ __forceinline__ int ToSecond(unsigned bits) const { return WRAP && bits & APART ? 32 - g.sweep[0].wrap[0] : 32; }

  /*
     Sets all up so that planes r0, ... of x lie in slots 0 to FIRST - 1 and rows are read from plane r0 + ahead on; lag: planes between r0
     and what is written then. FIRST > 1: plane r0 may be before the domain, and slot 1 of b holds the last but one of the planes.
  */
  template <bool ZERO, int FIRST = 1> __device__ int Start(const HJ3Piece &q, int lag, int ahead)
  {
    const HJDSweep &s = g.sweep[q.sweep];
    const int row = q.y + warp * R, r0 = FIRST > 1 ? max(q.z0 - max(g.depth, 1), s.domain.lo[2] - 1) : max(q.z0 - g.depth, s.domain.lo[2]);

    if (threadIdx.x == 0) SetFixed<ZERO>(q, s);
    SetReach(q, s);
    if (!ZERO && !s.x) xbits = 0;
    SetPlaces(q, s, row, r0);
    py = s.y + HJ3Place<TURNED>(s.ybox, q.x + 2 * lane, row, r0 - lag);
    pi = g.index + HJDIndex(g.sbox, q.x + 2 * lane, row, r0 + ahead);
    for (int i = threadIdx.x; i < READ_BYTES / (2 * HJ_BYTES); i += 32 * NW) ((HJScalar2 *)xs)[i] = HJScalar2Of(0, 0);
    slot = FIRST - 1;
    __syncthreads();
    HJ3_UNROLL for (int i = 0; i < FIRST; i++) LoadX(r0 + i, i);
    if (FIRST > 1 && !ZERO) LoadB(r0 + FIRST - 2, 1);
    HJCopyWaitAll();
    __syncthreads();
    return r0;
  }

  /* The same bits, from what changes with each plane: else the assembler tests all bits once and keeps the outcomes through the loop */
  __device__ __forceinline__ unsigned Masks(unsigned bits) const { return bits | HJ3Fresh((unsigned)slot) >> 8; }

  /* Reads plane r of x, r one more than the last time. Points that may not be read stay 0. SURE: r may be read and is no ghost */
  template <bool SURE = false> __device__ __forceinline__ void LoadX(int r, int to)
  {
    const PetscScalar *from = HJ3Fresh((SURE ? f.x : HJDHome(f.home.x, f.home.y, f.x, f.xghost, r)) + at);
    const unsigned     bits = Masks(xbits), nx = f.nx;
    const int          second = ToSecond(bits);
    PetscScalar       *d      = xs + to * SX + (warp * R + 1) * PX + lane;

    if (SURE || (r >= f.zx.x && r < f.zx.y)) {
      const PetscScalar *far = HJ3Fresh(from + far_from);

      HJ3_UNROLL for (int i = 0; i < R; i++)
      {
        const PetscScalar *row = HJ3Fresh(from + (unsigned long long)nx * i);

        HJCopyNumberIf(bits & 1u << (2 * i), d + i * PX, row);
        HJCopyNumberIf(bits & 2u << (2 * i), d + i * PX + 32, row + second);
      }
      HJCopyNumberIf(bits & 1u << (2 * R), d + (warp ? R : -1) * PX, far);
      HJCopyNumberIf(bits & 2u << (2 * R), d + (warp ? R : -1) * PX + 32, far + second);
      HJCopyNumberIf(bits & 1u << 31, d + ring_to, from + ring_from);
    }
    at += f.sz;
  }

  /* Reads plane r of b, when plane r + 1 of x was the last */
  template <bool SURE = false> __device__ __forceinline__ void LoadB(int r, int to)
  {
    const PetscScalar *from = HJ3Fresh((SURE ? f.b : HJDHome(f.home.x, f.home.y, f.b, f.bghost, r)) + (at - 2 * f.sz));
    const unsigned     bits = Masks(bbits), nx = f.nx;
    const int          second = ToSecond(bits);
    PetscScalar       *d      = bs + to * SB + warp * R * HJ3_TX + lane;

    if (SURE || (r >= f.zb.x && r < f.zb.y)) {
      HJ3_UNROLL for (int i = 0; i < R; i++)
      {
        const PetscScalar *row = HJ3Fresh(from + (unsigned long long)nx * i);

        HJCopyNumberIf(bits & 1u << (2 * i), d + i * HJ3_TX, row);
        HJCopyNumberIf(bits & 2u << (2 * i), d + i * HJ3_TX + 32, row + second);
      }
    }
  }

  /* The copies of what has been written to q in plane r */
  __device__ __forceinline__ void Copy(int r, PetscScalar *q, PetscScalar v) const
  {
    if (r < f.copy_lo) q[f.copy[0]] = v;
    if (r >= f.copy_hi) q[f.copy[1]] = v;
  }

  /* Row numbers of plane r; all else is the row after the last, which keeps zeros */
  __device__ __forceinline__ void LoadRows(int r, unsigned (&to)[NI])
  {
    const int  ni   = f.ni;
    const bool sure = r >= f.zi.x && r < f.zi.y;

    HJ3_UNROLL for (int i = 0; i < NI; i++) to[i] = 0;
    HJ3_UNROLL for (int i = 0; i < R; i++) HJ3_UNROLL for (int v = 0; v < 2; v++)
    {
      unsigned row = g.nrows;

      if (sure && (ibits >> (2 * i + v) & 1)) row = pi[(long long)i * ni + v];
      to[i / 2] |= row << (8 * (2 * (i & 1) + v));
    }
    pi += f.si;
  }

  __device__ __forceinline__ int  Margin(int j) const { return max(g.depth - 1 - j, 0); }
  __device__ __forceinline__ bool Active(int j, int q) const
  {
    return q >= max(f.dlo, f.z0 - Margin(j)) && q < min(f.dhi, f.z1 + Margin(j));
  }

  static __device__ __forceinline__ HJScalar2 Load2(const PetscScalar *q) { return *(const HJScalar2 *)q; }

  /* This lane's points of row i in the plane that came back planes before r, and the points outside the tile beside row i */
  __device__ __forceinline__ const PetscScalar *X(int back) const
  {
    return xs + (slot < back ? slot + NX - back : slot - back) * SX + (warp * R + 1) * PX;
  }
  __device__ __forceinline__ HJScalar2   XRow(int back, int i) const { return Load2(X(back) + i * PX + 2 * lane); }
  __device__ __forceinline__ PetscScalar XRing(int back, int i) const { return X(back)[i * PX + HJ3_TX + (lane == 31)]; }

  __device__ __forceinline__ int NextSlot() const { return slot + 1 == NX ? 0 : slot + 1; }

  __device__ __forceinline__ static int RowOf(const unsigned (&ix)[NI], int i, int v) { return ix[i / 2] >> (8 * (2 * (i & 1) + v)) & 255; }
};

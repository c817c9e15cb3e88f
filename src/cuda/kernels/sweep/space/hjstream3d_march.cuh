/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Warps that march alone along z: each streams a tile of its own, a column of points a lane, and exchanges nothing with other warps. What
   two of them read comes from the caches. Here is where such a warp reads and writes, not what it computes.
*/
#pragma once

#include "hjstream3d.cuh"

/* What src points to, or 0 where bit is 0 */
static __device__ __forceinline__ PetscScalar HJ3LoadIf(unsigned bit, const PetscScalar *src)
{
  PetscScalar v;

  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %1, 0;\n\tmov." HJ_PTX " %0, " HJ_PTX_ZERO ";\n\t@p ld.global." HJ_PTX
               " %0, [%2];\n\t}"
               : "=" HJ_PTX_REG(v)
               : "r"(bit), "l"(src));
  return v;
}

/* L levels, R rows a warp, NX by NY warps a block. WRAP: rows of a warp may meet an end in y that wraps */
template <int L, int R, int NX, int NY, bool WRAP> struct HJ3March {
  static constexpr int COLUMNS = 32 - 2 * L, ROWS = R + 2 * L, MID = ROWS - 2; /* columns that are written; rows of x; of b and level 0 */
  static constexpr int SPLIT_SHIFT = 16;                                       /* in xbits */
  static_assert(ROWS <= SPLIT_SHIFT, "bits");

  const HJ3Args &g;
  unsigned       xbits, bbits, inside, own; /* a bit a row: this lane's point is read, read in b, in the domain, written; see Split() */
  int            z0, z1, dlo, dhi;
  int2           zx, zb;     /* planes of x and b that may be read */
  unsigned       nx, ny;     /* row lengths of box, ybox */
  long long      at, sz, sy; /* this lane's place in the first row of the plane of x that is read next; plane strides of box, ybox */
  PetscScalar   *py;         /* and in y, in the plane that is written next */

  __device__ HJ3March(const HJ3Args &args) : g(args) {}

  /* A bit for each of rows rows from the given one on: whether this column of it lies in the ranges */
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
    at     = HJDIndex(s.box, HJDWrap(column, s.wrap[0]), WRAP ? HJDWrap(row - L, s.wrap[1]) : row - L, z0 - L);
    py     = s.y + HJDIndex(s.ybox, column, row, z0);
    if (WRAP && HJ3WrapsAt(row - L, s.wrap[1]) < ROWS) xbits |= (unsigned)HJ3WrapsAt(row - L, s.wrap[1]) << SPLIT_SHIFT;
  }

  /* Rows of x from this on, of which there is at least one before it, lie a plane behind the others; 0: there are none */
  __device__ __forceinline__ int Split() const { return WRAP ? (int)(xbits >> SPLIT_SHIFT) : 0; }

  /* The copies of plane r, from what this thread has just written to y */
  __device__ __forceinline__ void Copy(const HJDSweep &s, int r) const
  {
#pragma unroll 1
    for (int i = 0; i < 2 * R; i++) {
      const PetscScalar *from = py + (unsigned long long)ny * (i >> 1);

      if (own & 1u << (i >> 1) && (i & 1 ? r >= s.copy_hi : r < s.copy_lo)) s.copy[i & 1][from - s.y] = *from;
    }
  }
};

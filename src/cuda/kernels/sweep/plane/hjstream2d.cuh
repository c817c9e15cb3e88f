/* SPDX-License-Identifier: BSD-2-Clause */
/*
   2D exact streaming: how a warp walks through the grid. One warp is one block; it holds 128 adjacent columns, 4 a lane, and goes along
   y; every level (subiteration) keeps two rows in registers and lags one row behind the level before it. Rows land in shared memory by
   cp.async of a number each, some rows ahead. The layout of tiles, weights and the choice of kernel are decided in hjstream2d.cu.

   Two subiterations make a pair:  r = b - M x,  x' = x + (w1 + w2) r - w1 w2 M r.  This is the same polynomial, and b is read by every
   other level only. Levels 0, 2, ... make r, levels 1, 3, ... make x'; the last of an odd number is an ordinary subiteration.
*/
#pragma once

#include "cuda/kernels/hjkernel.h"
#include "cuda/device/hjcopy.cuh"

/* Warps of float take half the registers and shared memory: there are more of them (3c7e4f0; not timed beside others) */
#define HJ2D_BLOCKS(blocks) (HJ_BYTES == 8 ? (blocks) : (blocks)*3 / 2)
/* An entry of a table of kernels whose last arguments are one of hjtuning.h's lists */
#define HJ2DTuned(entry, ...) entry(__VA_ARGS__)

#define HJ2D_COLUMNS      128 /* a direction that wraps has at least so many, so that a strip meets one of its ends */
#define HJ2D_MAX_LEVELS   10
#define HJ2D_ROW_BYTES    (HJ2D_COLUMNS * HJ_BYTES)
#define HJ2D_SM_BYTES     (228 * 1024) /* shared memory of the multiprocessor that HJ2DShare() counts with */
#define HJ2D_GROUP_SHIFT  2            /* a flag says which rows of a dictionary a patch of 4 x 32 points has */
#define HJ2D_GROUP_ROWS   (1 << HJ2D_GROUP_SHIFT)
#define HJ2D_GROUP_COLS   32
#define HJ2D_SCALED       1 /* flags: the patch has rows other than the base row */
#define HJ2D_OTHER        2 /* ... that differ from it not in the inverse diagonal alone */
#define HJ2D_MIXED        4 /* ... and those change within a column */
#define HJ2D_VARIES       8 /* rows change within a column */
#define HJ2D_FLAGS        4 /* bits; in those above: how many patches follow along y whose columns have the same rows */
#define HJ2D_MOST_LIKE    7
#define HJ2D_COARSE_ROWS  4 /* of a correction: those that a row of points lies between, and those that are in flight; a power of 2 */
#define HJ2D_COARSE_BYTES (66 * HJ_BYTES) /* 65 values, of 128 columns from an even or an odd one on */
#define HJ2D_NOWHERE      (-(1 << 30))
#define HJ2D_RESIDUAL     (HJ2D_MAX_LEVELS / 2 + 2) /* set of factors of the residual that is restricted: minus the matrix's own row */

/* avail: box cut at the domain's end: all that may be read; everything outside counts as 0 */
typedef struct {
  const PetscScalar *x[3], *b[3]; /* rows below home, home, above: ghosts, see HJDSweep */
  PetscScalar       *y;
  int                home_lo, home_hi;
  int                copy_lo, copy_hi; /* rows below, and from, these are written twice, see HJDSweep */
  long long          copy[2];          /* from a place in y to the other */
  int                write_lo[2], write_hi[2], avail_lo[2], avail_hi[2];
  int                box_lo[2], box_nx, ybox_lo[2], ybox_nx;
  int                wrap;                             /* columns after which x and b begin again; 0: they do not */
  int                strip_first, strip_last, nstrips; /* first column of the first and of the last strip */
} HJ2DSweep;

/* The strips of a sweep, cut into chunks of rows; blocks are numbered strip by strip, then chunk by chunk */
typedef struct {
  int       first_block, sweep, nstrips, chunk;
  long long saved; /* in place: where the region's saved points begin */
} HJ2DRegion;

/* What one warp does where chunks are cut by what their rows cost: rows [y0, y1) of a strip */
typedef struct {
  int       sweep, strip, y0, y1, look; /* look: it looks up every row of points */
  long long saved;                      /* in place: where its saved points begin */
} HJ2DChunk;

/* Bit r: row r of the dictionary differs from the base row in the inverse diagonal alone, but for rounding */
typedef struct {
  unsigned bits[256 / 32];
} HJ2DLike;

/* Parameters of every kernel of this family */
typedef struct {
  PetscScalar          c[(HJ2D_RESIDUAL + 1) * 9]; /* factors of the base row: centre, then neighbours; see HJ2DFactors() */
  int                  exchanged; /* blocks whose rows are all home need not wait for the kernel before, which fills ghosts */
  int                  nregions, margin, zero_guess, nrows; /* margin: width of the ring, the number of levels, more with a restriction */
  int                  coef_lo[2], coef_hi[2], coef_nx;     /* box of the coefficients */
  int                  flag_nx, flag_y0, base;
  const unsigned char *index, *flags; /* flags NULL: one row only */
  const HJ2DChunk     *chunks;        /* of each block, with flags */
  HJ2DLike             like;
  int                  table_rows;      /* dictionaries of at most so many rows are kept in shared memory */
  const PetscScalar   *table;           /* dictionary: of each row minus its coefficients, then the inverse diagonal, all over dinv_base */
  const PetscScalar   *value[4], *dinv; /* variable: W E S N; symmetric: E N, of a box E NW N NE */
  PetscScalar          sum[HJ2D_MAX_LEVELS / 2], product[HJ2D_MAX_LEVELS / 2],
    single; /* w1 + w2, w1 w2 of each pair, with a dictionary times dinv_base and its square; w of the last of an odd number */
  PetscScalar dinv_base, single_dinv, w0, scale; /* scale: of the first input, 1 or w0 dinv_base */
  /* HJ2D_CORRECTED: what is interpolated: lines below coarse_n[1] own ones, these, lines above; each as if it began with own line 0 */
  const PetscScalar *coarse[3];
  PetscScalar       *restricted; /* HJ2D_RESTRICTED: over coarse_n points; see HJCoarser */
  int                coarse_n[2];
  /* Places of the first and the last point of each direction where these hang, HJ2D_NOWHERE where they do not or scale is 1 */
  int          end_at[2][2];
  PetscScalar  end_scale[2][2]; /* see HJTransferGetScale() */
  PetscScalar *saved;           /* in place: what the warps read of each other's points, before they are written */
  HJ2DRegion   region[HJD_MAX_SWEEPS];
  HJ2DSweep    sweep[HJD_MAX_SWEEPS];
} HJ2DArgs;
static_assert(sizeof(HJ2DArgs) <= 4096, "kernel parameters");

/* Which set of factors a level takes: 0 makes r, i + 1 the x' of pair i, and the last is that of a single subiteration */
__host__ __device__ constexpr int HJ2DFactors(int levels, int j)
{
  return j % 2 ? j / 2 + 1 : j < levels - 1 ? 0 : levels / 2 + 1;
}

/*
   Shared memory of each of some blocks, bytes, so that no more of them fit into carve KB of a multiprocessor (1 KB a block is the
   driver's). The asynchronous copies go through the L1 cache, which is what shared memory leaves of 256 KB: with less than about 90 KB
   of L1 they lose up to a third.
*/
__host__ __device__ constexpr int HJ2DShare(int blocks, int carve)
{
  return carve * 1024 / blocks / 128 * 128 - 1024;
}

/* From the fourth on: with a correction; with a restriction of the residual, from a zero guess; the same of sweeps that wrap */
enum { HJ2D_ONE, HJ2D_MANY, HJ2D_WRAP, HJ2D_CORRECTED, HJ2D_RESTRICTED, HJ2D_WRAP_CORRECTED, HJ2D_WRAP_RESTRICTED, HJ2D_VARIANTS };

/* That which wraps, of one with a correction or a restriction */
__host__ __device__ constexpr int HJ2DWrapped(int variant)
{
  return variant == HJ2D_CORRECTED ? HJ2D_WRAP_CORRECTED : HJ2D_WRAP_RESTRICTED;
}

__host__ __device__ constexpr bool HJ2DWraps(int variant)
{
  return variant == HJ2D_WRAP || variant == HJ2D_WRAP_CORRECTED || variant == HJ2D_WRAP_RESTRICTED;
}

__host__ __device__ constexpr bool HJ2DCorrects(int variant)
{
  return variant == HJ2D_CORRECTED || variant == HJ2D_WRAP_CORRECTED;
}

__host__ __device__ constexpr bool HJ2DRestricts(int variant)
{
  return variant == HJ2D_RESTRICTED || variant == HJ2D_WRAP_RESTRICTED;
}

typedef struct {
  int levels, blocks, smem_bytes; /* blocks: that shall share a multiprocessor of HJ2D_SM_BYTES */
  int least_bytes;                /* of a block, where a multiprocessor has less */
  /* [HJ2D_MANY]: for dictionaries of more than one row, NULL: too deep for them; [HJ2D_WRAP]: of one row, or arrays, for sweeps that wrap,
     or that have ghosts and write to x itself, on at least 128 columns; in_place NULL: cannot write to x itself */
  const void *kernel[HJ2D_VARIANTS], *in_place[HJ2D_VARIANTS];
} HJ2DKernel;

/* Ascending in levels, closed by levels = 0 */
extern const HJ2DKernel HJ2DCorrectedKernels[], HJ2DRestrictedKernels[], HJ2DStarKernels[], HJ2DBoxKernels[], HJ2DVariableKernels[],
  HJ2DSymmetricKernels[], HJ2DSymmetricBoxKernels[];

/* Chooses so many chunks, for kernels of many rows, and sets g->chunks; chunk: rows of one if all had as many. The device memory behind
   them is the caller's */
PETSC_INTERN PetscErrorCode HJ2DCutChunks(cudaStream_t, int nchunks, int chunk, HJ2DArgs *g, void **memory);

/* In place: points that warps save which have so many rows: margin columns on either side of their own, then their own columns in the
   margin rows below and above */
__host__ __device__ constexpr long long HJ2DSaved(long long rows, long long nwarps, int margin)
{
  return 2 * margin * (rows + nwarps * (2 * margin + HJ2D_COLUMNS));
}

#if defined(__CUDACC__)

/* Columns of all strips but the last follow each other, with a margin */
__device__ __forceinline__ int HJ2DFirstColumn(const HJ2DSweep &s, int strip, int margin)
{
  return strip < s.nstrips - 1 ? s.strip_first + strip * (HJ2D_COLUMNS - 2 * margin) : s.strip_last;
}

/* The work of one warp; columns count from x0. Shared memory is addressed by its 32-bit window */
struct HJ2DWarp {
  const HJ2DSweep   *s;
  const PetscScalar *x, *b;                                                 /* at the next row to fetch, column lane */
  PetscScalar       *y;                                                     /* at the next row to write, column lane */
  unsigned           smem, writes;                                          /* bit v: column lane + 32 v is written */
  int                lane, look, x0, width, y0, y1, row_lo, row_hi, c0, c1; /* columns [c0, c1) are its own */
  PetscScalar       *saved;                                                 /* in place: what this warp saves */
  /* In a strip with columns that wrap, of a lane whose first (above 0), or last (below 0) is one: from there to where it lies */
  int shift;
  int seam; /* the next row to fetch that lies in other arrays than the one before */
};

/* Of all lanes of a strip, see HJ2DWarp; one with columns that wrap is 128 columns wide, and has such columns at one end */
__device__ __forceinline__ int HJ2DShift(const HJ2DSweep &s, int x0, int lane)
{
  return !s.wrap ? 0 : x0 + lane < 0 ? s.wrap : x0 + lane + 96 >= s.wrap ? -s.wrap : 0;
}

/* The block's chunk, where all of a region's have as many rows */
__device__ __forceinline__ HJ2DChunk HJ2DEqualChunk(const HJ2DArgs &g)
{
  int i = g.nregions - 1;

  while (g.region[i].first_block > (int)blockIdx.x) i--;
  const HJ2DRegion &q = g.region[i];
  /* shuffled, so that the compiler keeps what it reads there out of the uniform registers: they are short, and loops over rows get 5%
     longer */
  const int        sweep = __shfl_sync(0xffffffffu, q.sweep, threadIdx.x), block = blockIdx.x - q.first_block;
  const HJ2DSweep &s = g.sweep[sweep];
  const int        y = s.write_lo[1] + block / q.nstrips * q.chunk;

  return {sweep, block % q.nstrips, y, min(s.write_hi[1], y + q.chunk), 0, q.saved + block * HJ2DSaved(q.chunk, 1, g.margin)};
}

/* CUT: chunks are cut by what their rows cost */
template <bool CUT> __device__ __forceinline__ HJ2DWarp HJ2DLocate(const HJ2DArgs &g, void *smem)
{
  HJ2DWarp w;

  if (CUT) HJDAwaitInput(); /* for the chunks */
  const HJ2DChunk  chunk = CUT ? g.chunks[blockIdx.x] : HJ2DEqualChunk(g);
  const HJ2DSweep &s     = g.sweep[chunk.sweep];
  const int        strip = chunk.strip, step = HJ2D_COLUMNS - 2 * g.margin;
  w.s                    = &s;
  w.smem                 = (unsigned)__cvta_generic_to_shared(smem);
  w.lane                 = threadIdx.x;
  w.look                 = chunk.look;
  w.x0                   = HJ2DFirstColumn(s, strip, g.margin);
  w.width                = min(HJ2D_COLUMNS, s.avail_hi[0] - w.x0);
  w.y0                   = chunk.y0;
  w.y1                   = chunk.y1;
  w.row_lo               = max(w.y0 - g.margin, s.avail_lo[1]);
  w.row_hi               = min(w.y1 + g.margin, s.avail_hi[1]);
  w.c0                   = (strip ? s.strip_first + strip * step + g.margin : s.write_lo[0]) - w.x0;
  w.c1                   = strip < s.nstrips - 1 ? HJ2D_COLUMNS - g.margin : s.write_hi[0] - w.x0;
  const long long offset = (long long)(w.row_lo - s.box_lo[1]) * s.box_nx + (w.x0 - s.box_lo[0]) + w.lane;
  const int       place  = (w.row_lo >= s.home_lo) + (w.row_lo >= s.home_hi);
  w.x                    = s.x[place] + offset;
  w.b                    = s.b[place] + offset;
  w.seam                 = place == 0 ? s.home_lo : place == 1 ? s.home_hi : INT_MAX;
  w.y                    = s.y + (long long)(w.y0 - s.ybox_lo[1]) * s.ybox_nx + (w.x0 - s.ybox_lo[0]) + w.lane;
  w.writes               = 0;
  for (int v = 0; v < 4; v++) w.writes |= (unsigned)(w.lane + 32 * v >= w.c0 && w.lane + 32 * v < w.c1) << v;
  w.shift = HJ2DShift(s, w.x0, w.lane);
  w.saved = g.saved + chunk.saved;
  if (!CUT && (!g.exchanged || w.row_lo < s.home_lo || w.row_hi > s.home_hi)) HJDAwaitInput();
  return w;
}

/* Before a row is fetched that lies in other arrays than the row before; X: x is where b is, else not in the sweep's arrays */
template <bool X> __device__ __forceinline__ void HJ2DCross(HJ2DWarp &w)
{
  const int place = w.seam == w.s->home_hi ? 2 : 1;

  if (X) w.x += w.s->x[place] - w.s->x[place - 1];
  w.b += w.s->b[place] - w.s->b[place - 1];
  w.seam = place == 1 ? w.s->home_hi : INT_MAX;
}

/* Rows in shared memory are permuted so that the four points of a lane are two 16-byte words that lie in different banks for all lanes:
   column c = lane + 32 v goes to byte HJ2DPlace(lane) + 128 v, and lane l finds its points at bytes 16 l and 512 + 16 l. Of float they
   are one such word, and columns lie in order */
__device__ __forceinline__ unsigned HJ2DPlace(int lane)
{
  return HJ_BYTES == 4 ? 4 * lane : (lane >> 1 & 1) * 512 + (lane >> 2) * 16 + (lane & 1) * 8;
}

__device__ __forceinline__ void HJ2DGet(unsigned row, int lane, PetscScalar u[4])
{
  #if defined(HJ_FLOAT)
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(u[0]), "=f"(u[1]), "=f"(u[2]), "=f"(u[3]) : "r"(row + 16 * lane));
  #else
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(u[0]), "=d"(u[1]) : "r"(row + 16 * lane));
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(u[2]), "=d"(u[3]) : "r"(row + 16 * lane + 512));
  #endif
}

__device__ __forceinline__ void HJ2DSet(unsigned row, int lane, const PetscScalar u[4])
{
  #if defined(HJ_FLOAT)
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(row + 16 * lane), "f"(u[0]), "f"(u[1]), "f"(u[2]), "f"(u[3]) : "memory");
  #else
  asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(row + 16 * lane), "d"(u[0]), "d"(u[1]) : "memory");
  asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(row + 16 * lane + 512), "d"(u[2]), "d"(u[3]) : "memory");
  #endif
}

/* Starts the copy of columns [lo, hi) of one row, others are left as they are; src is the row at column lane */
__device__ __forceinline__ void HJ2DFetch(unsigned row, const PetscScalar *src, int lane, int lo, int hi)
{
  #pragma unroll
  for (int v = 0; v < 4; v++) {
    if ((unsigned)(lane + 32 * v - lo) < (unsigned)(hi - lo)) HJCopyNumber(row + HJ2DPlace(lane) + 128 * v, src + 32 * v);
  }
}

__device__ __forceinline__ void HJ2DFetchAll(unsigned row, const PetscScalar *src, int lane)
{
  #pragma unroll
  for (int v = 0; v < 4; v++) HJCopyNumber(row + HJ2DPlace(lane) + 128 * v, src + 32 * v);
}

/* The same of a strip that may wrap; shift is HJ2DWarp's */
__device__ __forceinline__ void HJ2DFetchShifted(unsigned row, const PetscScalar *src, int lane, int shift)
{
  HJCopyNumber(row + HJ2DPlace(lane), src + max(shift, 0));
  HJCopyNumber(row + HJ2DPlace(lane) + 128, src + 32);
  HJCopyNumber(row + HJ2DPlace(lane) + 256, src + 64);
  HJCopyNumber(row + HJ2DPlace(lane) + 384, src + 96 + min(shift, 0));
}

__device__ __forceinline__ void HJ2DClear(unsigned row, int lane)
{
  #pragma unroll
  for (int v = 0; v < 4; v++)
    asm volatile("st.shared." HJ_PTX " [%0], %1;" ::"r"(row + HJ_BYTES * lane + 32 * HJ_BYTES * v), HJ_PTX_REG(HJ_ZERO) : "memory");
}

/* The points to the left and to the right of the lane's four. Outside the strip is either outside the domain or of no matter */
__device__ __forceinline__ void HJ2DEdges(const PetscScalar u[4], int lane, PetscScalar e[2])
{
  const PetscScalar left = __shfl_up_sync(0xffffffffu, u[3], 1), right = __shfl_down_sync(0xffffffffu, u[0], 1);

  e[0] = lane == 0 ? HJ_ZERO : left;
  e[1] = lane == 31 ? HJ_ZERO : right;
}

__device__ __forceinline__ void HJ2DPutCopies(const HJ2DWarp &w, int row, const PetscScalar t[4])
{
  for (int side = 0; side < 2; side++) {
    if (side ? row < w.s->copy_hi : row >= w.s->copy_lo) continue;
  #pragma unroll
    for (int v = 0; v < 4; v++)
      if (w.writes >> v & 1) w.y[w.s->copy[side] + 32 * v] = t[v];
  }
}

/* Writes a row through shared memory, so that lanes write adjacent points */
__device__ __forceinline__ void HJ2DPut(HJ2DWarp &w, unsigned stage, int row, const PetscScalar u[4])
{
  if (row < w.y0 || row >= w.y1) return;
  __syncwarp();
  HJ2DSet(stage, w.lane, u);
  __syncwarp();
  PetscScalar t[4];
  #pragma unroll
  for (int v = 0; v < 4; v++) {
    asm volatile("ld.shared." HJ_PTX " %0, [%1];" : "=" HJ_PTX_REG(t[v]) : "r"(stage + HJ2DPlace(w.lane) + 128 * v));
    if (w.writes >> v & 1) w.y[32 * v] = t[v];
  }
  if (row < w.s->copy_lo || row >= w.s->copy_hi) HJ2DPutCopies(w, row, t);
  w.y += w.s->ybox_nx;
}

#endif

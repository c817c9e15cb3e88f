/*
   2D exact streaming: how a warp walks through the grid. One warp is one block; it holds 128 adjacent columns, 4 a lane, and goes along y; every level
   (subiteration) keeps two rows in registers and lags one row behind the level before it. Rows land in shared memory by 8-byte cp.async, some rows ahead.
   The layout of tiles, weights and the choice of kernel are decided in hjstream2d.cu.

   Two subiterations make a pair:  r = b - M x,  x' = x + (w1 + w2) r - w1 w2 M r.  This is the same polynomial, and b is read by every other level only.
*/
#pragma once

#include "hjcuda_impl.h"

#define HJ2D_COLUMNS     128
#define HJ2D_MAX_LEVELS  10
#define HJ2D_MAX_REGIONS (3 * HJD_MAX_SWEEPS)
#define HJ2D_GROUP_ROWS  16 /* a flag says whether a patch of 16 x 32 points has rows other than the base row */
#define HJ2D_GROUP_COLS  32

/* avail: box cut at the domain's end: all that may be read; everything outside counts as 0 */
typedef struct {
  const double *x, *b;
  double       *y;
  int           write_lo[2], write_hi[2], avail_lo[2], avail_hi[2];
  int           box_lo[2], box_nx, ybox_lo[2], ybox_nx;
  int           strip_first, strip_last, nstrips; /* first column of the first and of the last strip */
} HJ2DSweep;

/* Strips strip0 ... strip0 + nstrips - 1 of a sweep, cut into chunks of rows; blocks are numbered strip by strip, then chunk by chunk */
typedef struct {
  int first_block, sweep, strip0, nstrips, chunk;
} HJ2DRegion;

/* Parameters of every kernel of this family */
typedef struct {
  int                  nregions, margin, zero_guess, half; /* margin: levels that widen the ring; half: the last pair is one subiteration */
  int                  coef_lo[2], coef_hi[2], coef_nx;    /* box of the coefficients */
  int                  flag_nx, flag_y0, base;
  const unsigned char *index, *flags;          /* flags NULL: one row only */
  const double        *rows, *dinv_rows;       /* dictionary */
  const double        *value[4], *dinv;        /* variable: W E S N; symmetric: E N */
  double               c[HJ2D_MAX_LEVELS][9];  /* base row: factor of the centre, then of the neighbours, for each level */
  double               sum[HJ2D_MAX_LEVELS / 2], product[HJ2D_MAX_LEVELS / 2]; /* w1 + w2, w1 w2 of each pair */
  double               dinv_base, dinv_base_inverse, w0, scale; /* scale: of the first input in fast steps, 1 or w0 dinv_base */
  HJ2DRegion           region[HJ2D_MAX_REGIONS];
  HJ2DSweep            sweep[HJD_MAX_SWEEPS];
} HJ2DArgs;
static_assert(sizeof(HJ2DArgs) <= 4096, "kernel parameters");

typedef struct {
  int         levels;
  const void *kernel;
  int         smem_bytes;
} HJ2DKernel;

/* Ascending in levels, closed by levels = 0 */
extern const HJ2DKernel HJ2DStarKernels[], HJ2DBoxKernels[], HJ2DVariableKernels[], HJ2DSymmetricKernels[];

#if defined(__CUDACC__)

/* The work of one warp; columns count from x0 */
struct HJ2DWarp {
  const HJ2DSweep *s;
  int              lane, x0, width, write_c0, write_c1, y0, y1, row_lo, row_hi;
};

__device__ __forceinline__ HJ2DWarp HJ2DLocate(const HJ2DArgs &g)
{
  HJ2DWarp w;
  int      i = g.nregions - 1;

  while (g.region[i].first_block > (int)blockIdx.x) i--;
  const HJ2DRegion &q     = g.region[i];
  const HJ2DSweep  &s     = g.sweep[q.sweep];
  const int         block = blockIdx.x - q.first_block, strip = q.strip0 + block % q.nstrips, step = HJ2D_COLUMNS - 2 * g.margin;
  w.s                     = &s;
  w.lane                  = threadIdx.x;
  w.x0                    = strip < s.nstrips - 1 ? s.strip_first + strip * step : s.strip_last;
  w.width                 = min(HJ2D_COLUMNS, s.avail_hi[0] - w.x0);
  w.write_c0              = (strip ? s.strip_first + strip * step + g.margin : s.write_lo[0]) - w.x0;
  w.write_c1              = strip < s.nstrips - 1 ? HJ2D_COLUMNS - g.margin : s.write_hi[0] - w.x0;
  w.y0                    = s.write_lo[1] + block / q.nstrips * q.chunk;
  w.y1                    = min(s.write_hi[1], w.y0 + q.chunk);
  w.row_lo                = max(w.y0 - g.margin, s.avail_lo[1]);
  w.row_hi                = min(w.y1 + g.margin, s.avail_hi[1]);
  return w;
}

__device__ __forceinline__ void HJ2DCopy8(double *dst, const double *src)
{
  #if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"((unsigned)__cvta_generic_to_shared(dst)), "l"(src));
  #else
  *dst = *src;
  #endif
}

__device__ __forceinline__ void HJ2DCopyCommit()
{
  #if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;");
  #endif
}

template <int N> __device__ __forceinline__ void HJ2DCopyWait()
{
  #if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(N));
  #endif
}

/* Rows in shared memory are permuted so that the four points of a lane are two 16-byte words that lie in different banks for all lanes:
   column c = lane + 32 v goes to HJ2DPlace(lane) + 16 v, and lane l finds its points in words l and 32 + l */
__device__ __forceinline__ int HJ2DPlace(int lane)
{
  return (lane >> 1 & 1) * 64 + (lane >> 2) * 2 + (lane & 1);
}

__device__ __forceinline__ void HJ2DGet(const double *row, int lane, double u[4])
{
  const double2 lo = ((const double2 *)row)[lane], hi = ((const double2 *)row)[lane + 32];

  u[0] = lo.x;
  u[1] = lo.y;
  u[2] = hi.x;
  u[3] = hi.y;
}

/* Starts the copy of columns [lo, hi) of one row; src is the row's address at column lane, the others are left as they are */
__device__ __forceinline__ void HJ2DFetch(double *place, const double *src, int lane, int lo, int hi)
{
  #pragma unroll
  for (int v = 0; v < 4; v++) {
    if ((unsigned)(lane + 32 * v - lo) < (unsigned)(hi - lo)) HJ2DCopy8(place + 16 * v, src + 32 * v);
  }
}

__device__ __forceinline__ void HJ2DClear(double *place)
{
  #pragma unroll
  for (int v = 0; v < 4; v++) place[16 * v] = 0;
}

/* The points to the left and to the right of the lane's four. Outside the strip is either outside the domain or of no matter */
__device__ __forceinline__ void HJ2DEdges(const double u[4], int lane, double e[2])
{
  const double left = __shfl_up_sync(0xffffffffu, u[3], 1), right = __shfl_down_sync(0xffffffffu, u[0], 1);

  e[0] = lane == 0 ? 0. : left;
  e[1] = lane == 31 ? 0. : right;
}

/* Writes a row through shared memory, so that lanes write adjacent points */
__device__ __forceinline__ void HJ2DPut(const HJ2DWarp &w, double *stage, int row, const double u[4])
{
  if (row < w.y0 || row >= w.y1) return;
  double *dst = w.s->y + (long long)(row - w.s->ybox_lo[1]) * w.s->ybox_nx + (w.x0 - w.s->ybox_lo[0]) + w.lane;

  __syncwarp();
  ((double2 *)stage)[w.lane]      = make_double2(u[0], u[1]);
  ((double2 *)stage)[w.lane + 32] = make_double2(u[2], u[3]);
  __syncwarp();
  #pragma unroll
  for (int v = 0; v < 4; v++) {
    const int c = w.lane + 32 * v;
    if (c >= w.write_c0 && c < w.write_c1) dst[32 * v] = stage[HJ2DPlace(w.lane) + 16 * v];
  }
}

#endif

/*
   Many stale cycles of 2D tiles in one launch, where all tiles are on the device at once, a warp each: x and b stay in registers (see
   hjtile2d.cuh). After each cycle a tile writes the points that its neighbours need to one of two arrays in turn, says so, waits for its
   neighbours, and reads its ring and what they own. Takes what hjtile2d.cu takes, where all tiles have the main row and a warp holds one.
*/
#include "hjtile2d.cuh"

#define HJ_TS_CYCLES 4096 /* of a launch */

typedef struct {
  HJTile2DArgs p;
  int          cycles;  /* even, so that the last one writes to the array that was read first */
  double      *to[2];   /* work, x */
  unsigned    *arrived; /* of each tile: cycles that are in to[] */
} HJTiles2DArgs;

__device__ __forceinline__ unsigned HJTiles2DLoadArrived(const unsigned *at)
{
#if __CUDA_ARCH__ >= 700
  unsigned n;

  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(n) : "l"(at) : "memory");
  return n;
#else
  return *(const volatile unsigned *)at;
#endif
}

__device__ __forceinline__ void HJTiles2DStoreArrived(unsigned *at, unsigned n)
{
#if __CUDA_ARCH__ >= 700
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(at), "r"(n) : "memory");
#else
  __threadfence();
  *(volatile unsigned *)at = n;
#endif
}

__device__ __forceinline__ void HJTiles2DRest()
{
#if __CUDA_ARCH__ >= 700
  __nanosleep(20);
#endif
}

/* Says that cycle n of this tile is written, and waits until it is of the tiles around it: a lane watches one of them */
__device__ __forceinline__ void HJTiles2DMeet(const HJTiles2DArgs &a, unsigned n)
{
  const int me = threadIdx.x < 4 ? (int)threadIdx.x : (int)threadIdx.x + 1, nx = a.p.lay.ntiles[0], ny = a.p.lay.ntiles[1];
  const int i = (int)blockIdx.x % nx + me % 3 - 1, j = (int)blockIdx.x / nx + me / 3 - 1;

  __syncwarp();
  if (threadIdx.x == 0) {
    __threadfence();
    HJTiles2DStoreArrived(a.arrived + blockIdx.x, n);
  }
  if (threadIdx.x < 8 && i >= 0 && i < nx && j >= 0 && j < ny) {
    while (HJTiles2DLoadArrived(a.arrived + j * nx + i) < n) HJTiles2DRest();
  }
  __syncwarp();
  __threadfence();
}

/* A load or store that is done or not without a branch, so that many are under way; past the first-level cache */
__device__ __forceinline__ void HJTiles2DLoadIf(unsigned yes, const double *from, double *v)
{
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %2, 0;\n\t@p ld.global.cg.f64 %0, [%1];\n\t}"
               : "+d"(*v)
               : "l"(from), "r"(yes)
               : "memory");
}

__device__ __forceinline__ void HJTiles2DStoreIf(unsigned yes, double *to, double v)
{
  asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, %2, 0;\n\t@p st.global.cg.f64 [%0], %1;\n\t}" ::"l"(to), "d"(v), "r"(yes) : "memory");
}

/* Bit 4 r + v of a lane's points: others need it; another tile owns it */
__device__ __forceinline__ void HJTiles2DBits(const HJTile2DArgs &p, const HJDBox &t, const HJDBox &own, int i0, int j0, unsigned *give,
                                              unsigned *take)
{
  const int ox = HJTileOverlap(p.lay.tile[0], p.lay.overlap), oy = HJTileOverlap(p.lay.tile[1], p.lay.overlap);

  *give = *take = 0;
#pragma unroll
  for (int q = 0; q < HJ_T2_ROWS * HJ_T2_COLS; q++) {
    const int  i = i0 + q % HJ_T2_COLS, j = j0 + q / HJ_T2_COLS;
    const bool near  = i <= t.lo[0] + ox || i >= t.hi[0] - 1 - ox || j <= t.lo[1] + oy || j >= t.hi[1] - 1 - oy,
               owned = HJDInside(own, i, j, own.lo[2]);

    *give |= (unsigned)(near && owned) << q;
    *take |= (unsigned)(!owned && i < t.hi[0] && j < t.hi[1]) << q;
  }
}

/* The ring beside a lane's points, 0 elsewhere and beyond the domain; a tile is wider than a lane's columns */
typedef struct {
  double side[HJ_T2_ROWS], below[HJ_T2_COLS], above[HJ_T2_COLS];
} HJTiles2DRing;

__device__ __forceinline__ void HJTiles2DReadRing(const HJTile2DArgs &p, const double *x, const HJDBox &t, int i0, int j0,
                                                  HJTiles2DRing *ring)
{
  const bool left = i0 == t.lo[0], right = i0 < t.hi[0] && i0 + HJ_T2_COLS >= t.hi[0], low = j0 == t.lo[1],
             high     = j0 < t.hi[1] && j0 + HJ_T2_ROWS >= t.hi[1];
  const bool    side  = (left && t.lo[0] > p.s.domain.lo[0]) || (right && t.hi[0] < p.s.domain.hi[0]);
  const int     width = HJDWidth(p.s.box, 0);
  const double *at    = x + HJDIndex(p.s.box, left ? i0 - 1 : t.hi[0], j0, p.s.box.lo[2]),
               *below = x + HJDIndex(p.s.box, i0, j0 - 1, p.s.box.lo[2]), *above = x + HJDIndex(p.s.box, i0, t.hi[1], p.s.box.lo[2]);

#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    ring->side[r] = 0.0;
    HJTiles2DLoadIf(side && j0 + r < t.hi[1], at + (long long)r * width, &ring->side[r]);
  }
#pragma unroll
  for (int v = 0; v < HJ_T2_COLS; v++) {
    ring->below[v] = ring->above[v] = 0.0;
    HJTiles2DLoadIf(low && i0 + v < t.hi[0] && t.lo[1] > p.s.domain.lo[1], below + v, &ring->below[v]);
    HJTiles2DLoadIf(high && i0 + v < t.hi[0] && t.hi[1] < p.s.domain.hi[1], above + v, &ring->above[v]);
  }
}

/* b of shared memory less what the ring adds to each subiteration */
__device__ __forceinline__ void HJTiles2DMakeB(const HJTile2DArgs &p, const HJDBox &t, int i0, int j0, const double *s_b,
                                               const HJTiles2DRing *ring, double b[HJ_T2_ROWS][HJ_T2_COLS])
{
  const bool left = i0 == t.lo[0], right = i0 < t.hi[0] && i0 + HJ_T2_COLS >= t.hi[0];
  const int  last = (HJDWidth(t, 0) - 1) % HJ_T2_COLS, top = (HJDWidth(t, 1) - 1) % HJ_T2_ROWS;

#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) {
      double rhs = s_b[32 * (HJ_T2_COLS * r + v) + threadIdx.x];

      if (v == 0) rhs = fma(left ? -p.row[1] : 0.0, ring->side[r], rhs);
      if (v == last) rhs = fma(right ? -p.row[2] : 0.0, ring->side[r], rhs);
      if (r == 0) rhs = fma(-p.row[3], ring->below[v], rhs);
      if (r == top) rhs = fma(-p.row[4], ring->above[v], rhs);
      b[r][v] = rhs;
    }
  }
}

template <bool MEAN> __global__ void __launch_bounds__(32, 11) HJTiles2D_Kernel(const __grid_constant__ HJTiles2DArgs a)
{
  __shared__ double   s_b[32 * HJ_T2_ROWS * HJ_T2_COLS];
  __shared__ double2  s_last[64];
  const HJTile2DArgs &p  = a.p;
  HJTile2DPlace       at = {(int)threadIdx.x % HJ_T2_LANES, (int)threadIdx.x / HJ_T2_LANES, HJ_T2_WARP, 0};
  HJDBox              t, own;
  double              x[HJ_T2_ROWS][HJ_T2_COLS], b[HJ_T2_ROWS][HJ_T2_COLS];
  unsigned            give, take;

  HJTileRange_CUDA<2>(p.lay, p.s.write, blockIdx.x, t, own);
  const int       i0 = t.lo[0] + at.lane * HJ_T2_COLS, j0 = t.lo[1] + at.strip * HJ_T2_ROWS, k = own.lo[2], width = HJDWidth(p.s.box, 0);
  const bool      full = HJDWidth(t, 0) % HJ_T2_COLS == 0 && HJDWidth(t, 1) % HJ_T2_ROWS == 0;
  const long long here = HJDIndex(p.s.box, i0, j0, k);

  HJTiles2DBits(p, t, own, i0, j0, &give, &take);
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    const int hi = j0 + r < t.hi[1] ? t.hi[0] : t.lo[0];

    HJTileGet<HJ_T2_COLS>(p.s.b + HJDIndex(p.s.box, i0, j0 + r, k), p.pairs_b, i0, hi, b[r]);
    HJTileGet<HJ_T2_COLS>(p.s.x + HJDIndex(p.s.box, i0, j0 + r, k), p.pairs_x, i0, p.s.x ? hi : t.lo[0], x[r]);
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) {
      at.active |= (unsigned)(i0 + v < hi) << (HJ_T2_COLS * r + v);
      s_b[32 * (HJ_T2_COLS * r + v) + threadIdx.x] = p.dinv * b[r][v];
    }
  }
  for (int c = 0;; c++) {
    const double *const from = c ? a.to[(c - 1) & 1] : p.s.x;
    double *const       to   = a.to[c & 1];
    HJTiles2DRing       ring = {};

    if (c) {
#pragma unroll
      for (int q = 0; q < HJ_T2_ROWS * HJ_T2_COLS; q++)
        HJTiles2DLoadIf(take >> q & 1, from + here + (long long)(q / HJ_T2_COLS) * width + q % HJ_T2_COLS,
                        &x[q / HJ_T2_COLS][q % HJ_T2_COLS]);
    }
    if (from) HJTiles2DReadRing(p, from, t, i0, j0, &ring);
    HJTiles2DMakeB(p, t, i0, j0, s_b, &ring, b);
    HJTile2DPut<32>(s_last, threadIdx.x, b[HJ_T2_ROWS - 1]);
    if (full) HJTile2DCycle<HJ_T2_LANES, true, MEAN, true>(p, NULL, s_last, at, x, b);
    else HJTile2DCycle<HJ_T2_LANES, true, MEAN, false>(p, NULL, s_last, at, x, b);
    if (c + 1 == a.cycles) break;
#pragma unroll
    for (int q = 0; q < HJ_T2_ROWS * HJ_T2_COLS; q++)
      HJTiles2DStoreIf(give >> q & 1, to + here + (long long)(q / HJ_T2_COLS) * width + q % HJ_T2_COLS, x[q / HJ_T2_COLS][q % HJ_T2_COLS]);
    HJTiles2DMeet(a, c + 1);
  }
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    const int hi = j0 + r >= own.lo[1] && j0 + r < own.hi[1] ? own.hi[0] : own.lo[0];

    HJTilePut<HJ_T2_COLS>(p.s.y + HJDIndex(p.s.ybox, i0, j0 + r, k), p.pairs_y, i0, own.lo[0], hi, x[r]);
  }
}

/* Whether all tiles are on the device at once, and only neighbours share points */
static PetscErrorCode HJTiles2DFit(const HJ_CUDA *cuda, const HJTileLists *l, int count, const void *kernel, bool *fit)
{
  const int o = l->lay.overlap, tiles = l->lay.ntiles[0] * l->lay.ntiles[1];
  int       blocks = 0;

  PetscFunctionBegin;
  *fit = cuda->device.cooperative && !l->n[1] && count > 0;
  for (int d = 0; d < 2; d++) {
    const int size = l->lay.tile[d], shared = HJTileOverlap(size, o), n = l->lay.ntiles[d];

    *fit = *fit && size <= 32 && (n == 1 || 2 * shared + 2 <= size);
    if (!d) *fit = *fit && HJDWidth(l->lay.cover, d) - (n - 1) * (size - shared) > HJ_T2_COLS; /* the last one's width */
  }
  if (!*fit) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 32, 0));
  *fit = tiles <= (long long)blocks * cuda->device.nsm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTiles2DRun(HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *s, HJTileLists *l, int count, const double *w, double *work,
                            PetscCount cycles, PetscBool *done)
{
  const size_t  flags = (size_t)l->lay.ntiles[0] * l->lay.ntiles[1] * sizeof(unsigned);
  HJTiles2DArgs a;
  HJTile2DArgs *p      = &a.p;
  void         *args[] = {(void *)&a}, *kernel;
  bool          fit;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  for (int o = 0; o < 5; o++) p->row[o] = cuda->st.h_rows[5 * cuda->main_row + o];
  kernel = HJTileIsMean(p->row, 1, 4, count, w) && w[0] == 1.0 ? (void *)HJTiles2D_Kernel<true> : (void *)HJTiles2D_Kernel<false>;
  PetscCall(HJTiles2DFit(cuda, l, count, kernel, &fit));
  if (!fit || cycles % 2) PetscFunctionReturn(PETSC_SUCCESS);
  const HJLaunch how = {dim3(l->lay.ntiles[0] * l->lay.ntiles[1]), dim3(32), 0, stream, 0, false, true};
  p->s               = *s;
  p->lay             = l->lay;
  p->list            = NULL;
  p->count           = count;
  p->dinv            = cuda->st.h_dinv_rows[cuda->main_row];
  p->pairs_b         = HJTilePairs(&l->lay, 2, &s->box, s->b);
  p->pairs_y         = HJTilePairs(&l->lay, 2, &s->ybox, s->y);
  a.to[0]            = work;
  a.to[1]            = s->y;
  if (!l->d_arrived) PetscCall(HJAlloc(flags, (void **)&l->d_arrived));
  a.arrived = l->d_arrived;
  for (int j = 0; j < PetscMin(count, HJD_MAX_COUNT); j++) p->w[j] = w[j];
  PetscCall(HJWeights_CUDA(cuda, stream, count, w, &p->d_w));
  for (; cycles > 0; cycles -= a.cycles, p->s.x = s->y) {
    a.cycles   = (int)PetscMin(cycles, HJ_TS_CYCLES);
    p->pairs_x = HJTilePairs(&l->lay, 2, &s->box, p->s.x);
    PetscCallCUDA(cudaMemsetAsync(l->d_arrived, 0, flags, stream));
    PetscCallCUDA(HJLaunchKernel(&how, kernel, args));
  }
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

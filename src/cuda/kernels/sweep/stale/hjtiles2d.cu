/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Many stale cycles of 2D tiles in one launch, where all tiles are on the device at once, a warp each: x and b stay in registers (see
   hjtile2d.cuh). After each cycle a tile writes the points that its neighbours need to one of two arrays in turn, says so, waits for its
   neighbours, and reads its ring and what they own. Takes what hjtile2d.cu takes, where all tiles have the main row and a warp holds one.
*/
#include "hjtile2d.cuh"

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

/* Says that cycle n of this tile is written: what the other lanes wrote before __syncwarp() is released with it */
__device__ __forceinline__ void HJTiles2DArrive(const HJTiles2DArgs &a, unsigned n)
{
  __syncwarp();
  if (threadIdx.x == 0) HJTiles2DStoreArrived(a.arrived + blockIdx.x, n);
}

/* Waits until cycle n of the tiles around this one is written: a lane watches one of them. All lanes leave together, as the compiler sees:
   shuffles cost more where it does not */
__device__ __forceinline__ void HJTiles2DAwait(const HJTiles2DArgs &a, unsigned n)
{
  const int me = threadIdx.x < 4 ? (int)threadIdx.x : (int)threadIdx.x + 1, nx = a.p.lay.ntiles[0], ny = a.p.lay.ntiles[1];
  const int i = (int)blockIdx.x % nx + me % 3 - 1, j = (int)blockIdx.x / nx + me / 3 - 1;
  bool      waits = threadIdx.x < 8 && i >= 0 && i < nx && j >= 0 && j < ny;

  do {
    if (waits) waits = HJTiles2DLoadArrived(a.arrived + j * nx + i) < n;
  } while (__any_sync(~0u, waits));
  __syncwarp();
#if __CUDA_ARCH__ < 700
  __threadfence();
#endif
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

/* What a lane writes and reads between cycles */
typedef struct {
  unsigned give, take; /* bit 4 r + v, of its points: others need it; another tile owns it */
  unsigned ring;       /* of the points of the ring beside it: bits r to the left, 8 + r to the right, 16 + v below, 20 + v above */
  int      last, top;  /* of the tile's last column and row, within their lanes */
} HJTiles2DPart;

__device__ __forceinline__ void HJTiles2DSetPart(const HJTile2DArgs &p, const HJDBox &t, const HJDBox &own, int i0, int j0,
                                                 HJTiles2DPart *part)
{
  const int ox = HJTileOverlap(p.lay.tile[0], p.lay.overlap), oy = HJTileOverlap(p.lay.tile[1], p.lay.overlap);

  *part = {0, 0, 0, (HJDWidth(t, 0) - 1) % HJ_T2_COLS, (HJDWidth(t, 1) - 1) % HJ_T2_ROWS};
#pragma unroll
  for (int q = 0; q < HJ_T2_ROWS * HJ_T2_COLS; q++) {
    const int  i = i0 + q % HJ_T2_COLS, j = j0 + q / HJ_T2_COLS;
    const bool near  = i <= t.lo[0] + ox || i >= t.hi[0] - 1 - ox || j <= t.lo[1] + oy || j >= t.hi[1] - 1 - oy,
               owned = HJDInside(own, i, j, own.lo[2]);

    part->give |= (unsigned)(near && owned) << q;
    part->take |= (unsigned)(!owned && i < t.hi[0] && j < t.hi[1]) << q;
  }
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    if (j0 + r >= t.hi[1] || i0 >= t.hi[0]) continue;
    part->ring |= (unsigned)(i0 == t.lo[0] && t.lo[0] > p.s.domain.lo[0]) << r;
    part->ring |= (unsigned)(i0 + HJ_T2_COLS >= t.hi[0] && t.hi[0] < p.s.domain.hi[0]) << (8 + r);
  }
#pragma unroll
  for (int v = 0; v < HJ_T2_COLS; v++) {
    if (i0 + v >= t.hi[0] || j0 >= t.hi[1]) continue;
    part->ring |= (unsigned)(j0 == t.lo[1] && t.lo[1] > p.s.domain.lo[1]) << (16 + v);
    part->ring |= (unsigned)(j0 + HJ_T2_ROWS >= t.hi[1] && t.hi[1] < p.s.domain.hi[1]) << (20 + v);
  }
}

/* The ring beside a lane's points; 0 elsewhere and beyond the domain */
typedef struct {
  double left[HJ_T2_ROWS], right[HJ_T2_ROWS], below[HJ_T2_COLS], above[HJ_T2_COLS];
} HJTiles2DRing;

/* at: the lane's first point */
__device__ __forceinline__ void HJTiles2DRead(const HJTiles2DPart &part, const double *at, int width, double x[HJ_T2_ROWS][HJ_T2_COLS],
                                              HJTiles2DRing *ring)
{
  const double *row = at;

#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++, row += width) {
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) HJTiles2DLoadIf(part.take & 1u << (HJ_T2_COLS * r + v), row + v, &x[r][v]);
    HJTiles2DLoadIf(part.ring & 1u << r, row - 1, &ring->left[r]);
    HJTiles2DLoadIf(part.ring & 256u << r, row + part.last + 1, &ring->right[r]);
  }
  row = at + (long long)(part.top + 1) * width;
#pragma unroll
  for (int v = 0; v < HJ_T2_COLS; v++) {
    HJTiles2DLoadIf(part.ring & 1u << (16 + v), at - width + v, &ring->below[v]);
    HJTiles2DLoadIf(part.ring & 1u << (20 + v), row + v, &ring->above[v]);
  }
}

__device__ __forceinline__ void HJTiles2DWrite(const HJTiles2DPart &part, double *row, int width, const double x[HJ_T2_ROWS][HJ_T2_COLS])
{
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++, row += width) {
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) HJTiles2DStoreIf(part.give & 1u << (HJ_T2_COLS * r + v), row + v, x[r][v]);
  }
}

/* b of shared memory less what the ring adds to each subiteration; SAVED rows go to shared memory */
template <int SAVED>
__device__ __forceinline__ void HJTiles2DMakeB(const HJTile2DArgs &p, const HJTiles2DPart &part, const double2 s_b[HJ_T2_ROWS][64],
                                               double2 *s_rows, const HJTiles2DRing *ring, double b[HJ_T2_ROWS][HJ_T2_COLS])
{
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    HJTile2DGet<32>(s_b[r], threadIdx.x, b[r]);
    b[r][0] = fma(-p.row[1], ring->left[r], b[r][0]);
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) {
      if (v == part.last) b[r][v] = fma(-p.row[2], ring->right[r], b[r][v]);
      if (r == 0) b[r][v] = fma(-p.row[3], ring->below[v], b[r][v]);
      if (r == part.top) b[r][v] = fma(-p.row[4], ring->above[v], b[r][v]);
    }
    if (HJTile2DSaved<SAVED>(r) >= 0) HJTile2DPut<32>(s_rows + 64 * HJTile2DSaved<SAVED>(r), threadIdx.x, b[r]);
  }
}

/* The same where b is 0, a tile ends where its lanes do, and the four coefficients are the same */
template <int SAVED>
__device__ __forceinline__ void HJTiles2DMakeRim(double coefficient, double2 *s_rows, const HJTiles2DRing *ring,
                                                 double b[HJ_T2_ROWS][HJ_T2_COLS])
{
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    const bool top = r == HJ_T2_ROWS - 1;

#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) {
      const double beside = v == 0                ? ring->left[r]
                            : v == HJ_T2_COLS - 1 ? ring->right[r]
                                                  : 0.0,
                   rows   = r == 0 ? ring->below[v]
                            : top  ? ring->above[v]
                                   : 0.0;

      b[r][v] = coefficient * (v && v + 1 < HJ_T2_COLS ? rows : r && !top ? beside : beside + rows);
    }
    if (HJTile2DSaved<SAVED>(r) >= 0) HJTile2DPut<32>(s_rows + 64 * HJTile2DSaved<SAVED>(r), threadIdx.x, b[r]);
  }
}

/* b times the inverse diagonal into shared memory, x into registers */
__device__ __forceinline__ void HJTiles2DStart(const HJTile2DArgs &p, const HJDBox &t, int i0, int j0, double2 s_b[HJ_T2_ROWS][64],
                                               double x[HJ_T2_ROWS][HJ_T2_COLS])
{
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    const int hi = j0 + r < t.hi[1] ? t.hi[0] : t.lo[0];
    double    b[HJ_T2_COLS];

    HJTileGet<HJ_T2_COLS>(p.s.b + HJDIndex(p.s.box, i0, j0 + r, t.lo[2]), p.pairs_b, i0, hi, b);
    HJTileGet<HJ_T2_COLS>(p.s.x + HJDIndex(p.s.box, i0, j0 + r, t.lo[2]), p.pairs_x, i0, p.s.x ? hi : t.lo[0], x[r]);
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) b[v] *= p.dinv;
    HJTile2DPut<32>(s_b[r], threadIdx.x, b);
  }
}

__device__ __forceinline__ void HJTiles2DEnd(const HJTile2DArgs &p, const HJDBox &own, int i0, int j0,
                                             const double x[HJ_T2_ROWS][HJ_T2_COLS])
{
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    const int hi = j0 + r >= own.lo[1] && j0 + r < own.hi[1] ? own.hi[0] : own.lo[0];

    HJTilePut<HJ_T2_COLS>(p.s.y + HJDIndex(p.s.ybox, i0, j0 + r, own.lo[2]), p.pairs_y, i0, own.lo[0], hi, x[r]);
  }
}

/* The tile of a block: its points of this thread, and where these are in arrays */
typedef struct {
  HJTile2DPlace at;
  HJTiles2DPart part;
  int           i0, j0, width;
  long long     here;
} HJTiles2DTile;

/* x: what HJTiles2DStart() leaves there */
template <bool MEAN>
__device__ __forceinline__ HJTiles2DTile HJTiles2DBegin(const HJTile2DArgs &p, const HJDBox &t, const HJDBox &own,
                                                        double2 s_b[HJ_T2_ROWS][64], double x[HJ_T2_ROWS][HJ_T2_COLS])
{
  HJTiles2DTile tile;

  tile.at    = {(int)threadIdx.x % HJ_T2_LANES, (int)threadIdx.x / HJ_T2_LANES, HJ_T2_WARP};
  tile.i0    = t.lo[0] + tile.at.lane * HJ_T2_COLS;
  tile.j0    = t.lo[1] + tile.at.strip * HJ_T2_ROWS;
  tile.width = HJDWidth(p.s.box, 0);
  tile.here  = HJDIndex(p.s.box, tile.i0, tile.j0, own.lo[2]);
  HJTile2DFind(p, t, tile.i0, tile.j0, HJ_T2_LANES, false, MEAN, &tile.at);
  HJTiles2DSetPart(p, t, own, tile.i0, tile.j0, &tile.part);
  HJTiles2DStart(p, t, tile.i0, tile.j0, s_b, x);
  return tile;
}

/* Any weights and rows */
template <bool WHOLE>
__device__ __forceinline__ void HJTiles2DCycles(const HJTiles2DArgs &a, const HJDBox &t, const HJDBox &own, double2 s_b[HJ_T2_ROWS][64],
                                                double2 *s_rows)
{
  const HJTile2DArgs &p = a.p;
  double              x[HJ_T2_ROWS][HJ_T2_COLS], b[HJ_T2_ROWS][HJ_T2_COLS];
  const HJTiles2DTile tile = HJTiles2DBegin<false>(p, t, own, s_b, x);

  for (int c = 0;; c++) {
    const double *const from = c ? a.to[(c - 1) & 1] : p.s.x;
    HJTiles2DRing       ring = {};

    if (from) HJTiles2DRead(tile.part, from + tile.here, tile.width, x, &ring);
    HJTiles2DMakeB<1>(p, tile.part, s_b, s_rows, &ring, b);
    HJTile2DCycle<HJ_T2_LANES, true, false, 1, false, WHOLE>(p, NULL, s_rows, tile.at, x, b);
    if (c + 1 == a.cycles) break;
    HJTiles2DWrite(tile.part, a.to[c & 1] + tile.here, tile.width, x);
    HJTiles2DArrive(a, c + 1);
    HJTiles2DAwait(a, c + 1);
  }
  HJTiles2DEnd(p, own, tile.i0, tile.j0, x);
}

__global__ void __launch_bounds__(32, 12) HJTiles2D_Kernel(const __grid_constant__ HJTiles2DArgs a)
{
  __shared__ double2 s_b[HJ_T2_ROWS][64], s_rows[64];
  HJDBox             t, own;

  HJTileRange_CUDA<2>(a.p.lay, a.p.s.write, blockIdx.x, t, own);
  if (HJTile2DWhole(t)) HJTiles2DCycles<true>(a, t, own, s_b, s_rows);
  else HJTiles2DCycles<false>(a, t, own, s_b, s_rows);
}

/*
   HJTileIsMean() with weights of 1, and tiles that end where their lanes do, but for the last ones: a cycle is that without b, plus what b
   alone makes of 0, which is found once
*/
template <int SAVED, bool WHOLE>
__device__ __forceinline__ void HJTiles2DMeans(const HJTiles2DArgs &a, const HJDBox &t, const HJDBox &own, double2 s_b[HJ_T2_ROWS][64],
                                               double2 *s_rows)
{
  const HJTile2DArgs &p                         = a.p;
  double              x[HJ_T2_ROWS][HJ_T2_COLS] = {}, b[HJ_T2_ROWS][HJ_T2_COLS];
  const HJTiles2DTile tile                      = HJTiles2DBegin<true>(p, t, own, s_b, b);

  HJTile2DCycle<HJ_T2_LANES, true, true, HJ_T2_ROWS, false, WHOLE>(p, NULL, s_b[0], tile.at, x, b);
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    HJTile2DPut<32>(s_b[r], threadIdx.x, x[r]);
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) x[r][v] = b[r][v];
  }
  for (int c = 0;; c++) {
    const double *const from = c ? a.to[(c - 1) & 1] : p.s.x;
    HJTiles2DRing       ring = {};

    if (from) HJTiles2DRead(tile.part, from + tile.here, tile.width, x, &ring);
    HJTiles2DMakeRim<SAVED>(-p.row[1], s_rows, &ring, b);
    HJTile2DCycle<HJ_T2_LANES, true, true, SAVED, true, WHOLE>(p, NULL, s_rows, tile.at, x, b);
#pragma unroll
    for (int r = 0; r < HJ_T2_ROWS; r++) {
      double alone[HJ_T2_COLS];

      HJTile2DGet<32>(s_b[r], threadIdx.x, alone);
#pragma unroll
      for (int v = 0; v < HJ_T2_COLS; v++) x[r][v] += alone[v];
    }
    if (c + 1 == a.cycles) break;
    HJTiles2DWrite(tile.part, a.to[c & 1] + tile.here, tile.width, x);
    HJTiles2DArrive(a, c + 1);
    HJTiles2DAwait(a, c + 1);
  }
  HJTiles2DEnd(p, own, tile.i0, tile.j0, x);
}

/* MANY: more blocks fit on a multiprocessor, with fewer registers each */
template <bool MANY> __global__ void __launch_bounds__(32, MANY ? 16 : 12) HJTiles2DMean_Kernel(const __grid_constant__ HJTiles2DArgs a)
{
  __shared__ double2 s_b[HJ_T2_ROWS][64], s_rows[64 * (MANY ? 2 : 1)];
  HJDBox             t, own;

  HJTileRange_CUDA<2>(a.p.lay, a.p.s.write, blockIdx.x, t, own);
  if (HJTile2DWhole(t)) HJTiles2DMeans<MANY ? 2 : 1, true>(a, t, own, s_b, s_rows);
  else HJTiles2DMeans<MANY ? 2 : 1, false>(a, t, own, s_b, s_rows);
}

/* *kernel: one that has all tiles on the device at once; NULL where there is none, or where others than neighbours share points */
static PetscErrorCode HJTiles2DChoose(const HJ_CUDA *cuda, const HJTileLists *l, int count, bool mean, const void **kernel)
{
  const void *const kernels[] = {(void *)HJTiles2DMean_Kernel<false>, (void *)HJTiles2DMean_Kernel<true>, (void *)HJTiles2D_Kernel};
  const int         whole[2]  = {HJ_T2_COLS, HJ_T2_ROWS};
  bool              fit       = cuda->device.cooperative && !l->n[1] && count > 0;

  PetscFunctionBegin;
  *kernel = NULL;
  for (int d = 0; d < 2; d++) {
    const int size = l->lay.tile[d], shared = HJTileOverlap(size, l->lay.overlap);

    fit  = fit && size <= 32 && (l->lay.ntiles[d] == 1 || 2 * shared + 2 <= size);
    mean = mean && (l->lay.ntiles[d] == 1 || size % whole[d] == 0);
  }
  for (int i = mean ? 0 : 2; fit && i < 3 && !*kernel; i++) {
    int blocks = 0;

    PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernels[i], 32, 0));
    if (l->lay.ntiles[0] * (long long)l->lay.ntiles[1] <= blocks * (long long)cuda->device.nsm) *kernel = kernels[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTiles2DRun(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *lists, double *work, PetscCount cycles,
                            PetscBool *done)
{
  HJTileLists    *l     = (HJTileLists *)lists; /* its flags are made when they are first needed */
  const HJDSweep *s     = pass->sweep;
  const int       count = pass->count;
  const double   *w     = pass->w;
  const size_t    flags = (size_t)l->lay.ntiles[0] * l->lay.ntiles[1] * sizeof(unsigned);
  HJTiles2DArgs   a;
  HJTile2DArgs   *p      = &a.p;
  void           *args[] = {(void *)&a};
  const void     *kernel;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  for (int o = 0; o < 5; o++) p->row[o] = cuda->st.h_rows[5 * cuda->main_row + o];
  PetscCall(HJTiles2DChoose(cuda, l, count, HJTileIsMean(p->row, 1, 4, count, w) && w[0] == 1.0, &kernel));
  if (!kernel || cycles % 2) PetscFunctionReturn(PETSC_SUCCESS);
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

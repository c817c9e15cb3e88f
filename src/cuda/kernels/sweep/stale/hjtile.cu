/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Tiles in shared memory: loads a tile and its ring, does all subiterations, writes the points that the tile owns. Stale sweeps get
   exactly the tiles asked for; hjonchip.cu makes exact sweeps of small grids from tiles that overlap enough. Any dimension, shape, storage.
*/
#include "hjtile.h"
#include "cuda/kernels/hjfamilies.h"
#include "cuda/kernels/sweep/hjcoefficient.cuh"
#include <cooperative_groups.h>

typedef struct {
  HJDStencil       st;
  HJDSweep         s;
  HJTileLayout     lay;
  int              count, main_row;
  const int       *list;                             /* numbers of the tiles to do; NULL: all */
  bool             pointwise;                        /* start from w[0] dinv b, ring included */
  bool             ghosts;                           /* the sweep has ghost arrays */
  PetscScalar      dinv, row[1 + HJD_MAX_NEIGHBORS]; /* the main row */
  PetscScalar      w[HJD_MAX_COUNT];
  const PetscReal *d_w; /* weights in device memory, if not NULL */
} HJTileArgs;

/* Box of this block's part of the tile, owned box, and whether the part above belongs to another block of the cluster */
template <int DIM> __device__ bool HJTileBoxes(const HJTileArgs &p, int block, HJDBox &t, HJDBox &own)
{
  const int tile = block / p.lay.cluster, rank = block % p.lay.cluster;
  bool      more;

  HJTileRange_CUDA<DIM>(p.lay, p.s.write, p.list ? p.list[tile] : tile, t, own);
  t.lo[DIM - 1] += rank * p.lay.height;
  more          = rank + 1 < p.lay.cluster && t.lo[DIM - 1] + p.lay.height < t.hi[DIM - 1];
  t.hi[DIM - 1] = max(t.lo[DIM - 1], min(t.hi[DIM - 1], t.lo[DIM - 1] + p.lay.height));
  return more;
}

/* The inverse diagonal of a row; the main row's is at hand: no load that waits for the index */
__device__ __forceinline__ PetscScalar HJTileDinv(const HJTileArgs &p, int r)
{
  return r == p.main_row ? p.dinv : p.st.dinv_rows[r];
}

/*
   Values at the start of the first subiteration that the tile does, in both buffers: the ring stays, the second buffer needs it too.
   Lanes along x, lines of the tile in turn; a batch's loads are all in flight before the first is used.
*/
template <int DIM, int STORAGE, bool POINTWISE, bool GHOSTS>
__device__ void HJTileLoad(const HJTileArgs &p, const HJDBox &t, int px, int plane, PetscScalar *s_x, int buffer)
{
  constexpr int BATCH = 4, M = DIM - 1;
  const int nx = DIM > 1 ? HJDWidth(t, 0) + 2 : 1, ny = DIM > 2 ? HJDWidth(t, 1) + 2 : 1, nm = HJDWidth(t, M) > 0 ? HJDWidth(t, M) + 2 : 0;
  const int lanes = DIM == 1  ? 1
                    : nx > 16 ? 32
                    : nx > 8  ? 16
                              : 8,
            step = blockDim.x / lanes, step_m = step / ny, step_j = step - step_m * ny;
  const int lo_j = DIM > 2 ? p.s.domain.lo[1] - t.lo[1] + 1 : 0, hi_j = DIM > 2 ? p.s.domain.hi[1] - t.lo[1] + 1 : 1,
            lo_m = p.s.domain.lo[M] - t.lo[M] + 1, hi_m = min(nm, p.s.domain.hi[M] - t.lo[M] + 1);
  const long long sj = HJDWidth(p.s.box, 0), cj = HJDWidth(p.st.box, 0),
                  sm      = DIM == 1   ? 1
                            : DIM == 2 ? sj
                                       : sj * HJDWidth(p.s.box, 1),
                  cm      = DIM == 1   ? 1
                            : DIM == 2 ? cj
                                       : cj * HJDWidth(p.st.box, 1);
  const PetscScalar *from = POINTWISE ? p.s.b : p.s.x;

  for (int i = threadIdx.x % lanes; i < nx; i += lanes) {
    const bool      inside = from && (DIM == 1 || (t.lo[0] - 1 + i >= p.s.domain.lo[0] && t.lo[0] - 1 + i < p.s.domain.hi[0]));
    const int       i0 = t.lo[0] - 1 + i, j0 = t.lo[1] - (DIM > 1), k0 = t.lo[2] - (DIM > 2);
    const long long at = HJDIndex(p.s.box, DIM > 1 ? HJDWrap(i0, p.s.wrap[0]) : i0, j0, k0), ca = HJDIndex(p.st.box, i0, j0, k0);
    int             m = threadIdx.x / lanes / ny, j = threadIdx.x / lanes - m * ny;

    while (m < nm) {
      PetscScalar x[BATCH], d[BATCH];
      int         q[BATCH], r[BATCH];

#pragma unroll
      for (int v = 0; v < BATCH; v++) {
        const bool read = inside && j >= lo_j && j < hi_j && m >= lo_m && m < hi_m;
        const int  line = DIM > 2 ? HJDWrap(j0 + j, p.s.wrap[1]) - j0 : j;

        q[v] = m < nm ? m * plane + j * px + i : -1;
        x[v] = read ? (GHOSTS ? HJDHome(p.s, from, POINTWISE ? p.s.bghost : p.s.xghost, t.lo[M] - 1 + m) : from)[at + line * sj + m * sm]
                    : HJ_ZERO;
        d[v] = POINTWISE && STORAGE != HJ_DICTIONARY && read ? p.st.dinv[ca + j * cj + m * cm] : HJ_ZERO;
        r[v] = POINTWISE && STORAGE == HJ_DICTIONARY && read ? p.st.index[ca + j * cj + m * cm] : p.main_row;
        j += step_j;
        m += step_m + (j >= ny);
        j -= j >= ny ? ny : 0;
      }
#pragma unroll
      for (int v = 0; v < BATCH; v++) {
        if (POINTWISE) x[v] *= p.w[0] * (STORAGE == HJ_DICTIONARY ? HJTileDinv(p, r[v]) : d[v]);
        if (q[v] >= 0) s_x[q[v]] = s_x[q[v] + buffer] = x[v];
      }
    }
  }
}

/* start - sum_o a_o x_o at strip point s; coef(o) gives a_o; at points to the strip's first point in shared memory */
template <int DIM, bool BOX, typename C>
__device__ __forceinline__ PetscScalar HJTileRest(PetscScalar start, const PetscScalar *at, int s, PetscScalar below, PetscScalar above,
                                                  int px, int plane, const C &coef)
{
  PetscScalar rest = start, sum = 0.0; /* two chains of additions: latency */

#pragma unroll
  for (int o = 0; o < HJDNeighbors(DIM, BOX); o++) {
    const int dm = HJDOffset(DIM, BOX, o, DIM - 1), dx = DIM > 1 ? HJDOffset(DIM, BOX, o, 0) : 0,
              dy       = DIM > 2 ? HJDOffset(DIM, BOX, o, 1) : 0;
    const bool lateral = dx || dy;

    const PetscScalar v = lateral ? at[(s + dm) * plane + dy * px + dx] : dm < 0 ? below : above;

    if (o % 2) sum = fma(coef(o), v, sum);
    else rest = fma(-coef(o), v, rest);
  }
  return rest - sum;
}

__device__ __forceinline__ void HJTileSync(int cluster)
{
#if __CUDA_ARCH__ >= 900
  if (cluster > 1) {
    cooperative_groups::this_cluster().sync();
    return;
  }
#endif
  __syncthreads();
}

/* The same place in the shared memory of another block of the cluster */
__device__ __forceinline__ void HJTilePush(PetscScalar *at, int rank, PetscScalar v)
{
#if __CUDA_ARCH__ >= 900
  *cooperative_groups::this_cluster().map_shared_rank(at, rank) = v;
#endif
}

/* One subiteration of a strip, in place: its own old values below are kept, the others come from cur. len: points that are the tile's,
   FULL: all of them. MAIN: all have the main row */
template <int DIM, bool BOX, int STORAGE, int STRIP, bool MAIN, bool FULL>
__device__ __forceinline__ void HJTileStrip(const HJTileArgs &p, PetscScalar w, const PetscScalar *cur, int len, int px, int plane,
                                            long long ca, unsigned long long rows, const PetscScalar db[STRIP], const PetscScalar dv[STRIP],
                                            PetscScalar x[STRIP])
{
  constexpr int     NN  = HJDNeighbors(DIM, BOX);
  const int         sx  = HJDWidth(p.st.box, 0);
  const long long   sxy = (long long)sx * HJDWidth(p.st.box, 1), step = DIM == 1 ? 1 : DIM == 2 ? sx : sxy;
  const PetscScalar last  = cur[(FULL ? STRIP : max(len, 0)) * plane];
  PetscScalar       below = cur[-plane];

#pragma unroll
  for (int s = 0; s < STRIP; s++) {
    const PetscScalar t = x[s], above = s + 1 == STRIP || (!FULL && s + 1 == len) ? last : x[s + 1 < STRIP ? s + 1 : s];
    PetscScalar       y;

    if constexpr (MAIN) {
      y = HJTileRest<DIM, BOX>(fma(-p.row[0], t, db[s]), cur, s, below, above, px, plane, [&](int o) { return p.row[1 + o]; });
    } else if constexpr (STORAGE == HJ_DICTIONARY) {
      const PetscScalar *row = p.st.rows + (int)(rows >> (8 * s) & 255) * (1 + NN);

      y = HJTileRest<DIM, BOX>(fma(-__ldg(row), t, db[s]), cur, s, below, above, px, plane, [&](int o) { return __ldg(row + 1 + o); });
    } else {
      const long long at   = ca + (FULL ? s : min(s, len - 1)) * step;
      const auto      coef = [&](int o) { return HJDCoefficient<DIM, BOX, STORAGE>(p.st, nullptr, o, at, sx, sxy); };

      y = fma(dv[s], HJTileRest<DIM, BOX>(0.0, cur, s, below, above, px, plane, coef), db[s] - t);
    }
    y     = fma(w, y, t);
    x[s]  = FULL || s < len ? y : t;
    below = t;
  }
}

template <int DIM, bool BOX, int STORAGE, int STRIP, int THREADS>
__global__ void __launch_bounds__(THREADS, 1) HJTile_Kernel(const __grid_constant__ HJTileArgs p)
{
  constexpr int                 M = DIM - 1;
  extern __shared__ PetscScalar s_x[];
  HJDBox                        t, own;
  const bool                    more = HJTileBoxes<DIM>(p, blockIdx.x, t, own);
  const int                     wx = DIM > 1 ? HJDWidth(t, 0) : 1, ncol = wx * (DIM > 2 ? HJDWidth(t, 1) : 1), h = HJDWidth(t, M);
  const int                     px = DIM > 1 ? wx + p.lay.pad : 1, plane = px * (DIM > 2 ? HJDWidth(t, 1) + 2 : 1);
  const int                     strip = threadIdx.x / ncol, col = threadIdx.x - strip * ncol, s0 = strip * STRIP, len = min(STRIP, h - s0);
  const int cj = DIM > 2 ? col / wx : 0, ci = col - cj * wx, buffer = (int)(p.lay.smem_bytes / (2 * sizeof(PetscScalar)));
  const int i = t.lo[0] + (DIM > 1 ? ci : s0), j = t.lo[1] + (DIM > 2 ? cj : DIM == 2 ? s0 : 0), k = t.lo[2] + (DIM > 2 ? s0 : 0);
  const int at               = len > 0 ? (s0 + 1) * plane + (DIM > 2 ? (cj + 1) * px : 0) + (DIM > 1 ? ci + 1 : 0)
                                       : plane + (DIM > 2 ? px : 0) + (DIM > 1),
            rank             = blockIdx.x % p.lay.cluster;
  const long long    step    = DIM == 1 ? 1 : DIM == 2 ? HJDWidth(p.st.box, 0) : (long long)HJDWidth(p.st.box, 0) * HJDWidth(p.st.box, 1);
  const long long    ca      = len > 0 ? HJDIndex(p.st.box, i, j, k) : 0;
  unsigned long long rows    = 0;
  bool               uniform = true;
  PetscScalar        x[STRIP], db[STRIP], dv[STRIP];

#pragma unroll
  for (int s = 0; s < STRIP; s++) {
    const int r = STORAGE == HJ_DICTIONARY && s < len ? p.st.index[ca + s * step] : p.main_row;

    uniform = uniform && r == p.main_row;
    rows |= (unsigned long long)r << (8 * s);
    x[s] = db[s] = 0.0;
    dv[s]        = STORAGE != HJ_DICTIONARY && s < len ? p.st.dinv[ca + s * step] : HJ_ZERO;
  }
#pragma unroll
  for (int s = 0; s < STRIP; s++) {
    if (STORAGE == HJ_DICTIONARY) dv[s] = HJTileDinv(p, (int)(rows >> (8 * s) & 255));
  }
  uniform         = __all_sync(~0u, uniform || len <= 0);
  const bool full = __all_sync(~0u, len == STRIP || len <= 0);

  HJDAwaitInput();
  HJDLetNextStart();
  const int          bi = DIM > 1 ? HJDWrap(i, p.s.wrap[0]) : i, bj = DIM > 2 ? HJDWrap(j, p.s.wrap[1]) : j;
  const PetscScalar *b  = p.s.b + (len > 0 ? HJDIndex(p.s.box, bi, bj, k) : 0);
  const long long    bs = DIM == 1 ? 1 : DIM == 2 ? HJDWidth(p.s.box, 0) : (long long)HJDWidth(p.s.box, 0) * HJDWidth(p.s.box, 1);
#pragma unroll
  for (int s = 0; s < STRIP; s++)
    db[s] = s < len ? (p.ghosts ? b + (HJDHome(p.s, p.s.b, p.s.bghost,
                                               (DIM == 1   ? i
                                                : DIM == 2 ? j
                                                           : k) +
                                                 s) -
                                       p.s.b)
                                : b)[s * bs]
                    : HJ_ZERO;
  if (p.ghosts && p.pointwise) HJTileLoad<DIM, STORAGE, true, true>(p, t, px, plane, s_x, buffer);
  else if (p.ghosts) HJTileLoad<DIM, STORAGE, false, true>(p, t, px, plane, s_x, buffer);
  else if (p.pointwise) HJTileLoad<DIM, STORAGE, true, false>(p, t, px, plane, s_x, buffer);
  else HJTileLoad<DIM, STORAGE, false, false>(p, t, px, plane, s_x, buffer);
#pragma unroll
  for (int s = 0; s < STRIP; s++) db[s] *= dv[s];
  HJTileSync(p.lay.cluster);
#pragma unroll
  for (int s = 0; s < STRIP; s++) {
    if (s < len) x[s] = s_x[at + s * plane];
  }
  for (int n = p.pointwise ? 1 : 0, from = 0; n < p.count; n++) {
    const PetscScalar w = p.d_w ? (PetscScalar)p.d_w[n] : p.w[n];

    if (STORAGE == HJ_DICTIONARY && uniform && full)
      HJTileStrip<DIM, BOX, STORAGE, STRIP, STORAGE == HJ_DICTIONARY, true>(p, w, s_x + from + at, len, px, plane, ca, rows, db, dv, x);
    else if (STORAGE == HJ_DICTIONARY && uniform)
      HJTileStrip<DIM, BOX, STORAGE, STRIP, STORAGE == HJ_DICTIONARY, false>(p, w, s_x + from + at, len, px, plane, ca, rows, db, dv, x);
    else if (len > 0) HJTileStrip<DIM, BOX, STORAGE, STRIP, false, false>(p, w, s_x + from + at, len, px, plane, ca, rows, db, dv, x);
    if (n + 1 == p.count) break;
    from = from ? 0 : buffer;
    if (full && len > 0) {
#pragma unroll
      for (int s = 0; s < STRIP; s++) s_x[from + at + s * plane] = x[s];
    } else if (!full) {
#pragma unroll
      for (int s = 0; s < STRIP; s++) {
        if (s < len) s_x[from + at + s * plane] = x[s];
      }
    }
    if (p.lay.cluster > 1) {
      if (rank && s0 == 0 && len > 0) HJTilePush(s_x + from + at + p.lay.height * plane, rank - 1, x[0]);
#pragma unroll
      for (int s = 0; s < STRIP; s++) {
        if (more && len > 0 && s0 + s == h - 1) HJTilePush(s_x + from + at - (s0 + 1) * plane, rank + 1, x[s]);
      }
    }
    HJTileSync(p.lay.cluster);
  }
#pragma unroll
  for (int s = 0; s < STRIP; s++) {
    const int yi = i + (DIM == 1 ? s : 0), yj = j + (DIM == 2 ? s : 0), yk = k + (DIM == 3 ? s : 0);

    if (s < len && HJDInside(own, yi, yj, yk)) HJDStore(p.s, DIM == 1 ? yi : DIM == 2 ? yj : yk, HJDIndex(p.s.ybox, yi, yj, yk), x[s]);
  }
}

/* Shared memory holds whole strips: the last one's points beyond the tile are read, and not used. Lines that are 16 doubles longer than
   the tile keep a warp that wraps from one to the next free of bank conflicts; 2 are enough for the ring */
static bool HJTileLayoutTry(const HJDevice *device, int dim, int cluster, int strip, int most, HJTileLayout *lay)
{
  const int       h = (lay->tile[dim - 1] + cluster - 1) / cluster, strips = (h + strip - 1) / strip;
  const long long ncol = dim == 1 ? 1 : (long long)lay->tile[0] * (dim > 2 ? lay->tile[1] : 1), threads = ncol * strips;

  for (lay->pad = 16; lay->pad >= 2 && threads <= most; lay->pad -= 14) {
    const long long plane = dim == 1 ? 1 : (lay->tile[0] + (long long)lay->pad) * (dim > 2 ? lay->tile[1] + 2 : 1),
                    bytes = 2 * (long long)sizeof(PetscScalar) * plane * (strips * strip + 2);

    if (bytes > (long long)device->smem_block) continue;
    lay->cluster    = cluster;
    lay->height     = h;
    lay->strip      = strip;
    lay->threads    = (int)(threads + 31) / 32 * 32;
    lay->smem_bytes = (size_t)bytes;
    return true;
  }
  return false;
}

bool HJTileLayoutFit(const HJDevice *device, const HJDStencil *st, HJTileLayout *lay)
{
  const bool dictionary = st->storage == HJ_DICTIONARY;
  const int  strip      = dictionary && st->shape == HJ_STAR ? HJ_TILE_LONG : HJ_TILE_SHORT;

  if (dictionary && HJTileLayoutTry(device, st->dim, 1, HJ_TILE_SHORT, HJ_TILE_FEW, lay)) return true;
  for (int c = 1; c <= (device->clusters ? HJ_TILE_MAX_CLUSTER : 1); c *= 2) {
    if (HJTileLayoutTry(device, st->dim, c, strip, HJ_TILE_MANY, lay)) return true;
  }
  return false;
}

template <typename K> static PetscErrorCode HJTileLaunchKernel(K kernel, const HJTileArgs &p, int ntiles, bool overlap, cudaStream_t stream)
{
  const HJLaunch how =
    {dim3(ntiles * p.lay.cluster), dim3(p.lay.threads), p.lay.smem_bytes, stream, p.lay.cluster > 1 ? p.lay.cluster : 0, overlap};
  void *args[] = {(void *)&p};

  PetscFunctionBegin;
  PetscCallCUDA(HJLaunchKernel(&how, (const void *)kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Allocates when a longer schedule is first seen; copies when the weights change */
PetscErrorCode HJWeights_CUDA(HJ_CUDA *cuda, cudaStream_t stream, int count, const PetscReal *w, const PetscReal **d_w)
{
  PetscBool same = PETSC_FALSE;

  PetscFunctionBegin;
  *d_w = NULL;
  if (count <= HJD_MAX_COUNT) PetscFunctionReturn(PETSC_SUCCESS);
  if (count > cuda->max_w) {
    PetscCallCUDA(cudaFree(cuda->d_w));
    PetscCall(PetscFree(cuda->h_w));
    PetscCall(PetscMalloc1(count, &cuda->h_w));
    PetscCall(HJAlloc(count * sizeof(PetscReal), (void **)&cuda->d_w));
    cuda->max_w = count;
    cuda->n_w   = 0;
  }
  if (cuda->n_w == count) PetscCall(PetscArraycmp(cuda->h_w, w, count, &same));
  if (!same) {
    PetscCall(PetscArraycpy(cuda->h_w, w, count));
    PetscCallCUDA(cudaMemcpyAsync(cuda->d_w, w, count * sizeof(PetscReal), cudaMemcpyHostToDevice,
                                  stream)); /* pageable: CUDA has taken a copy when this returns */
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)(count * sizeof(PetscReal))));
    cuda->n_w = count;
  }
  *d_w = cuda->d_w;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTileRun_CUDA(HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *s, const HJTileLayout *lay, const int *list, int ntiles,
                              int count, const PetscReal *w, bool exact)
{
  HJTileArgs p;

  PetscFunctionBegin;
  p.st        = cuda->st;
  p.s         = *s;
  p.lay       = *lay;
  p.count     = count;
  p.list      = list;
  p.main_row  = cuda->main_row;
  p.dinv      = p.st.storage == HJ_DICTIONARY ? p.st.h_dinv_rows[cuda->main_row] : HJ_ZERO;
  p.pointwise = exact && !s->x;
  p.ghosts    = s->bghost[0] || s->bghost[1];
  for (int o = 0; o <= p.st.nneighbors && p.st.storage == HJ_DICTIONARY; o++)
    p.row[o] = p.st.h_rows[p.main_row * (1 + p.st.nneighbors) + o];
  for (int j = 0; j < PetscMin(count, HJD_MAX_COUNT); j++) p.w[j] = w[j];
  PetscCall(HJWeights_CUDA(cuda, stream, count, w, &p.d_w));
#define HJTileLaunchOne(dim, box, storage)                                                                                                 \
  do {                                                                                                                                     \
    if (storage == HJ_DICTIONARY && lay->threads <= HJ_TILE_FEW && lay->strip == HJ_TILE_SHORT)                                            \
      PetscCall(                                                                                                                           \
        HJTileLaunchKernel(HJTile_Kernel<dim, box, HJ_DICTIONARY, HJ_TILE_SHORT, HJ_TILE_FEW>, p, ntiles, cuda->device.cc >= 90, stream)); \
    else                                                                                                                                   \
      PetscCall(HJTileLaunchKernel(HJTile_Kernel<dim, box, storage, storage == HJ_DICTIONARY && !box ? HJ_TILE_LONG : HJ_TILE_SHORT,       \
                                                 HJ_TILE_MANY>,                                                                            \
                                   p, ntiles, cuda->device.cc >= 90, stream));                                                             \
  } while (0)
  HJDDispatch(cuda->st, HJTileLaunchOne);
#undef HJTileLaunchOne
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if !defined(HJ_FLOAT)
static int HJTileTakes(const HJDevice *device, const HJAsk *ask)
{
  HJTileLayout lay;

  if (ask->kind != HJ_STALE) return 0;
  for (int d = 0; d < 3; d++) lay.tile[d] = ask->tile[d];
  return HJTileLayoutFit(device, ask->st, &lay);
}

PetscErrorCode HJTileLayoutStale(const HJ_CUDA *cuda, const HJGeometry *geometry, int number, HJTileLayout *lay)
{
  const HJDBox *cover  = &geometry->cover[number];
  long long     blocks = 1;

  PetscFunctionBegin;
  lay->overlap = geometry->overlap;
  lay->cover   = *cover;
  for (int d = 0; d < 3; d++) {
    const bool used = d < cuda->st.dim;

    lay->ntiles[d] = used ? (int)HJTileCount(HJDWidth(*cover, d), geometry->tile[d], geometry->overlap) : 1;
    lay->tile[d]   = used ? (lay->ntiles[d] == 1 ? HJDWidth(*cover, d) : geometry->tile[d]) : 1;
    blocks *= lay->ntiles[d];
  }
  PetscCheck(HJTileLayoutFit(&cuda->device, &cuda->st, lay), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "tile %d,%d,%d is too large for the fast memory of this device", lay->tile[0], lay->tile[1], lay->tile[2]);
  PetscCheck(blocks * lay->cluster <= INT_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP, "%lld tiles are too many for a launch: use larger ones",
             blocks);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One HJTileLayout a sweep */
static PetscErrorCode HJTileLayouts(HJ_CUDA *cuda, cudaStream_t, const HJDSweep *, const HJGeometry *geometry, void **layout)
{
  HJTileLayout *lay;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(geometry->nsweeps, &lay));
  *layout = lay;
  for (int i = 0; i < geometry->nsweeps; i++) PetscCall(HJTileLayoutStale(cuda, geometry, i, &lay[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJTileLayoutsDestroy(void *layout)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJTileLaunch(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *layout)
{
  const HJTileLayout *lay = (const HJTileLayout *)layout;

  PetscFunctionBegin;
  for (int i = 0; i < pass->nsweeps; i++, lay++)
    PetscCall(HJTileRun_CUDA(cuda, stream, &pass->sweep[i], lay, NULL, lay->ntiles[0] * lay->ntiles[1] * lay->ntiles[2], pass->count,
                             pass->w, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJFamily HJFamilyTile = {
  .name           = "tiles",
  .takes          = HJTileTakes,
  .launch         = HJTileLaunch,
  .layout         = HJTileLayouts,
  .layout_destroy = HJTileLayoutsDestroy,
};
#endif

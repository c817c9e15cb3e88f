/*
   Tiles in shared memory: loads a tile and its ring, does all subiterations, writes the points that the tile owns. Stale sweeps get
   exactly the tiles asked for; hjonchip.cu makes exact sweeps of small grids from tiles that overlap enough. Any dimension, shape, storage.
*/
#include "hjcuda_impl.h"
#include <cooperative_groups.h>

/* Points of a thread: a strip in the tile's last direction, kept in registers */
#define HJ_TILE_STRIP       4
#define HJ_TILE_MAX_THREADS 1024
#define HJ_TILE_MAX_CLUSTER 8

typedef struct {
  HJDStencil   st;
  HJDSweep     s;
  HJTileLayout lay;
  int          count, main_row;
  bool         pointwise; /* start from w[0] dinv b, ring included */
  double       row[1 + HJD_MAX_NEIGHBORS];
  double       w[HJD_MAX_COUNT];
} HJTileArgs;

/* Box of this block's part of the tile, owned box, and whether the part above belongs to another block of the cluster */
template <int DIM> __device__ bool HJTileBoxes(const HJTileArgs &p, int block, HJDBox &t, HJDBox &own)
{
  const int rank = block % p.lay.cluster, step_hi = p.lay.overlap / 2;
  bool      more;

  t   = p.s.write;
  own = p.s.write;
  block /= p.lay.cluster;
#pragma unroll
  for (int d = 0; d < DIM; d++) {
    const int at = block % p.lay.ntiles[d], step = p.lay.tile[d] - p.lay.overlap;

    block /= p.lay.ntiles[d];
    t.lo[d] = p.lay.cover.lo[d] + at * step;
    t.hi[d] = min(t.lo[d] + p.lay.tile[d], p.lay.cover.hi[d]);
    if (at) own.lo[d] = t.lo[d] + step_hi;
    if (at < p.lay.ntiles[d] - 1) own.hi[d] = t.lo[d] + step + step_hi;
  }
  t.lo[DIM - 1] += rank * p.lay.height;
  more          = rank + 1 < p.lay.cluster && t.lo[DIM - 1] + p.lay.height < t.hi[DIM - 1];
  t.hi[DIM - 1] = max(t.lo[DIM - 1], min(t.hi[DIM - 1], t.lo[DIM - 1] + p.lay.height));
  return more;
}

/* Value at the start of the first subiteration that the tile does */
template <int DIM, bool BOX, int STORAGE> __device__ double HJTileStart(const HJTileArgs &p, int i, int j, int k)
{
  if (!HJDInside(p.s.domain, i, j, k)) return 0.0;
  if (p.pointwise) {
    const long long at = HJDIndex(p.st.box, i, j, k);

    return p.w[0] * ((STORAGE == HJ_DICTIONARY ? p.st.dinv_rows[p.st.index[at]] : p.st.dinv[at]) * p.s.b[HJDIndex(p.s.box, i, j, k)]);
  }
  return p.s.x ? p.s.x[HJDIndex(p.s.box, i, j, k)] : 0.0;
}

/* Both buffers: the ring stays, the second buffer needs it too */
template <int DIM, bool BOX, int STORAGE> __device__ void HJTileLoad(const HJTileArgs &p, const HJDBox &t, int px, int plane, double *s_x, int buffer)
{
  const int h = HJDWidth(t, DIM - 1), n = h > 0 ? plane * (h + 2) : 0;

#pragma unroll 4
  for (int q = threadIdx.x; q < n; q += blockDim.x) {
    const int    m = q / plane, c = q - m * plane, j = DIM > 2 ? c / px : 0, i = c - j * px;
    const double x = DIM == 1   ? HJTileStart<DIM, BOX, STORAGE>(p, t.lo[0] - 1 + m, t.lo[1], t.lo[2])
                     : DIM == 2 ? HJTileStart<DIM, BOX, STORAGE>(p, t.lo[0] - 1 + i, t.lo[1] - 1 + m, t.lo[2])
                                : HJTileStart<DIM, BOX, STORAGE>(p, t.lo[0] - 1 + i, t.lo[1] - 1 + j, t.lo[2] - 1 + m);

    s_x[q]          = x;
    s_x[q + buffer] = x;
  }
}

/* sum_o a_o x_o at strip point s; coef(o) gives a_o; at points to the strip's first point in shared memory */
template <int DIM, bool BOX, typename C> __device__ __forceinline__ double HJTileSum(const double *at, int s, double below, double above, int px, int plane, const C &coef)
{
  double sum = 0.0;

#pragma unroll
  for (int o = 0; o < HJDNeighbors(DIM, BOX); o++) {
    const int  dm = HJDOffset(DIM, BOX, o, DIM - 1), dx = DIM > 1 ? HJDOffset(DIM, BOX, o, 0) : 0, dy = DIM > 2 ? HJDOffset(DIM, BOX, o, 1) : 0;
    const bool lateral = dx || dy;

    sum += coef(o) * (lateral ? at[(s + dm) * plane + dy * px + dx] : dm < 0 ? below : above);
  }
  return sum;
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
__device__ __forceinline__ void HJTilePush(double *at, int rank, double v)
{
#if __CUDA_ARCH__ >= 900
  *cooperative_groups::this_cluster().map_shared_rank(at, rank) = v;
#endif
}

template <int DIM, bool BOX, int STORAGE> __global__ void __launch_bounds__(HJ_TILE_MAX_THREADS) HJTile_Kernel(const __grid_constant__ HJTileArgs p)
{
  constexpr int            NN = HJDNeighbors(DIM, BOX), M = DIM - 1;
  extern __shared__ double s_x[];
  HJDBox                   t, own;
  const bool               more = HJTileBoxes<DIM>(p, blockIdx.x, t, own);
  const int                wx = DIM > 1 ? HJDWidth(t, 0) : 1, ncol = wx * (DIM > 2 ? HJDWidth(t, 1) : 1), h = HJDWidth(t, M);
  const int                px = DIM > 1 ? wx + 2 : 1, plane = px * (DIM > 2 ? HJDWidth(t, 1) + 2 : 1);
  const int                strip = threadIdx.x / ncol, col = threadIdx.x - strip * ncol, s0 = strip * HJ_TILE_STRIP, len = min(HJ_TILE_STRIP, h - s0);
  const int                cj = DIM > 2 ? col / wx : 0, ci = col - cj * wx, buffer = (int)(p.lay.smem_bytes / (2 * sizeof(double)));
  const int                i = t.lo[0] + (DIM > 1 ? ci : s0), j = t.lo[1] + (DIM > 2 ? cj : DIM == 2 ? s0 : 0), k = t.lo[2] + (DIM > 2 ? s0 : 0);
  const int                at  = (s0 + 1) * plane + (DIM > 2 ? (cj + 1) * px : 0) + (DIM > 1 ? ci + 1 : 0);
  const int                sx  = HJDWidth(p.st.box, 0);
  const long long          sxy = (long long)sx * HJDWidth(p.st.box, 1), step = DIM == 1 ? 1 : DIM == 2 ? sx : sxy;
  const long long          ca      = len > 0 ? HJDIndex(p.st.box, i, j, k) : 0;
  int                      rows    = 0;
  bool                     uniform = true;
  double                   x[HJ_TILE_STRIP], db[HJ_TILE_STRIP], dv[HJ_TILE_STRIP];

#pragma unroll
  for (int s = 0; s < HJ_TILE_STRIP; s++) {
    if (s < len) {
      const int r = STORAGE == HJ_DICTIONARY ? p.st.index[ca + s * step] : 0;

      if (STORAGE == HJ_DICTIONARY) uniform = uniform && r == p.main_row;
      rows |= r << (8 * s);
      dv[s] = STORAGE == HJ_DICTIONARY ? p.st.dinv_rows[r] : p.st.dinv[ca + s * step];
      db[s] = dv[s] * p.s.b[HJDIndex(p.s.box, i + (DIM == 1 ? s : 0), j + (DIM == 2 ? s : 0), k + (DIM == 3 ? s : 0))];
    }
  }
  uniform = __all_sync(~0u, uniform);
  HJTileLoad<DIM, BOX, STORAGE>(p, t, px, plane, s_x, buffer);
  HJTileSync(p.lay.cluster);
#pragma unroll
  for (int s = 0; s < HJ_TILE_STRIP; s++) x[s] = s < len ? s_x[at + s * plane] : 0.0;
  for (int n = p.pointwise ? 1 : 0, from = 0; n < p.count; n++) {
    const double *cur = s_x + from + at;
    double        y[HJ_TILE_STRIP];

    if (len > 0) {
      const double first = cur[-plane], last = cur[len * plane], w = p.w[n];

#pragma unroll
      for (int s = 0; s < HJ_TILE_STRIP; s++) {
        if (s < len) {
          const double below = s ? x[s - 1] : first, above = s + 1 < HJ_TILE_STRIP && s + 1 < len ? x[s + 1] : last;

          if constexpr (STORAGE == HJ_DICTIONARY) {
            if (uniform) {
              y[s] = x[s] + w * (db[s] - p.row[0] * x[s] - HJTileSum<DIM, BOX>(cur, s, below, above, px, plane, [&](int o) { return p.row[1 + o]; }));
            } else {
              const double *row = p.st.rows + (rows >> (8 * s) & 255) * (1 + NN);

              y[s] = x[s] + w * (db[s] - row[0] * x[s] - HJTileSum<DIM, BOX>(cur, s, below, above, px, plane, [&](int o) { return __ldg(row + 1 + o); }));
            }
          } else {
            y[s] = x[s] + w * (db[s] - x[s] - dv[s] * HJTileSum<DIM, BOX>(cur, s, below, above, px, plane, [&](int o) {
                                                const bool upper = BOX ? o >= NN / 2 : o % 2 == 1;

                                                if (STORAGE == HJ_VARIABLE || upper) return p.st.value[o][ca + s * step];
                                                return p.st.value[BOX ? NN - 1 - o : o ^ 1][ca + s * step + HJDOffset(DIM, BOX, o, 0) + (long long)HJDOffset(DIM, BOX, o, 1) * sx + HJDOffset(DIM, BOX, o, 2) * sxy];
                                              }));
          }
        }
      }
#pragma unroll
      for (int s = 0; s < HJ_TILE_STRIP; s++) {
        if (s < len) x[s] = y[s];
      }
    }
    if (n + 1 == p.count) break;
    from = from ? 0 : buffer;
#pragma unroll
    for (int s = 0; s < HJ_TILE_STRIP; s++) {
      if (s < len) {
        const int rank = blockIdx.x % p.lay.cluster;

        s_x[from + at + s * plane] = x[s];
        if (rank && s0 + s == 0) HJTilePush(s_x + from + at + p.lay.height * plane, rank - 1, x[s]);
        if (more && s0 + s == h - 1) HJTilePush(s_x + from + at - (s0 + 1) * plane, rank + 1, x[s]);
      }
    }
    HJTileSync(p.lay.cluster);
  }
#pragma unroll
  for (int s = 0; s < HJ_TILE_STRIP; s++) {
    const int yi = i + (DIM == 1 ? s : 0), yj = j + (DIM == 2 ? s : 0), yk = k + (DIM == 3 ? s : 0);

    if (s < len && HJDInside(own, yi, yj, yk)) p.s.y[HJDIndex(p.s.ybox, yi, yj, yk)] = x[s];
  }
}

bool HJTileLayoutFit(const HJ_CUDA *cuda, HJTileLayout *lay)
{
  const int       dim  = cuda->st.dim;
  const long long ncol = dim == 1 ? 1 : (long long)lay->tile[0] * (dim > 2 ? lay->tile[1] : 1), plane = dim == 1 ? 1 : (lay->tile[0] + 2LL) * (dim > 2 ? lay->tile[1] + 2 : 1);

  for (int c = 1; c <= (cuda->cc >= 90 ? HJ_TILE_MAX_CLUSTER : 1); c *= 2) {
    const int       h       = (lay->tile[dim - 1] + c - 1) / c;
    const long long threads = ncol * ((h + HJ_TILE_STRIP - 1) / HJ_TILE_STRIP), bytes = 2 * (long long)sizeof(double) * plane * (h + 2);

    if (threads > HJ_TILE_MAX_THREADS || bytes > (long long)cuda->smem_block) continue;
    lay->cluster    = c;
    lay->height     = h;
    lay->threads    = (int)(threads + 31) / 32 * 32;
    lay->smem_bytes = (size_t)bytes;
    return true;
  }
  return false;
}

PetscErrorCode HJTileCheck_CUDA(const HJ_CUDA *cuda, const PetscInt tile[3], char reason[], size_t len)
{
  HJTileLayout lay;
  int          n = 0;

  PetscFunctionBegin;
  reason[0] = 0;
  for (int d = 0; d < 3; d++) lay.tile[d] = d >= cuda->st.dim ? 1 : cuda->grid.neighbor[d][0] || cuda->grid.neighbor[d][1] ? (int)tile[d] : (int)PetscMin(tile[d], cuda->grid.N[d]);
  if (HJTileLayoutFit(cuda, &lay)) PetscFunctionReturn(PETSC_SUCCESS);
  do {
    n++;
    for (int d = 0; d < cuda->st.dim; d++) lay.tile[d] = n + 1;
  } while (HJTileLayoutFit(cuda, &lay));
  PetscCall(PetscSNPrintf(reason, len, "tile %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT " is too large for the fast memory of this device; the largest has %d points in each direction", tile[0], tile[1], tile[2], n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename K> static PetscErrorCode HJTileLaunchKernel(K kernel, const HJTileArgs &p, cudaStream_t stream)
{
  cudaLaunchConfig_t  config = {};
  cudaLaunchAttribute attr[1];

  PetscFunctionBegin;
  config.gridDim          = dim3(p.lay.ntiles[0] * p.lay.ntiles[1] * p.lay.ntiles[2] * p.lay.cluster);
  config.blockDim         = dim3(p.lay.threads);
  config.dynamicSmemBytes = p.lay.smem_bytes;
  config.stream           = stream;
  if (p.lay.cluster > 1) {
    attr[0].id               = cudaLaunchAttributeClusterDimension;
    attr[0].val.clusterDim.x = p.lay.cluster;
    attr[0].val.clusterDim.y = attr[0].val.clusterDim.z = 1;
    config.attrs                                        = attr;
    config.numAttrs                                     = 1;
  }
  if (p.lay.smem_bytes > 48 * 1024) PetscCallCUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)p.lay.smem_bytes));
  PetscCallCUDA(cudaLaunchKernelEx(&config, kernel, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTileRun_CUDA(HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *s, const HJTileLayout *lay, int count, const double *w, bool exact)
{
  HJTileArgs p;

  PetscFunctionBegin;
  PetscCheck(count <= HJD_MAX_COUNT, PETSC_COMM_SELF, PETSC_ERR_SUP, "%d subiterations in one sweep: at most %d", count, HJD_MAX_COUNT);
  p.st        = cuda->st;
  p.s         = *s;
  p.lay       = *lay;
  p.count     = count;
  p.main_row  = cuda->main_row;
  p.pointwise = exact && !s->x;
  for (int o = 0; o <= p.st.nneighbors && p.st.storage == HJ_DICTIONARY; o++) p.row[o] = p.st.h_rows[p.main_row * (1 + p.st.nneighbors) + o];
  for (int j = 0; j < count; j++) p.w[j] = w[j];
#define HJTileLaunchOne(dim, box, storage) PetscCall(HJTileLaunchKernel(HJTile_Kernel<dim, box, storage>, p, stream))
  HJDDispatch(cuda->st, HJTileLaunchOne);
#undef HJTileLaunchOne
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTileLaunch_CUDA(HJ_CUDA *cuda, cudaStream_t stream, int n, const HJSweep *s, const HJDSweep *ds)
{
  PetscFunctionBegin;
  for (int i = 0; i < n; i++) {
    HJTileLayout lay;

    lay.overlap = (int)s[i].overlap;
    for (int d = 0; d < 3; d++) {
      lay.cover.lo[d] = (int)s[i].cover.lo[d];
      lay.cover.hi[d] = (int)s[i].cover.hi[d];
      lay.ntiles[d]   = d < cuda->st.dim ? (int)HJTileCount(HJBoxWidth(&s[i].cover, d), s[i].tile[d], s[i].overlap) : 1;
      lay.tile[d]     = d < cuda->st.dim ? (lay.ntiles[d] == 1 ? HJDWidth(lay.cover, d) : (int)s[i].tile[d]) : 1;
    }
    PetscCheck(HJTileLayoutFit(cuda, &lay), PETSC_COMM_SELF, PETSC_ERR_SUP, "tile %d,%d,%d is too large for the fast memory of this device", lay.tile[0], lay.tile[1], lay.tile[2]);
    PetscCall(HJTileRun_CUDA(cuda, stream, &ds[i], &lay, (int)s[i].count, s[i].w, false));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

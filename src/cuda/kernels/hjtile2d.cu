/*
   Stale 2D tiles, star with constant coefficients, up to 64 points wide: the whole tile in registers. A lane holds 4 adjacent columns of
   a strip of 8 rows; x neighbours come by shuffle, the strips' first and last rows go through shared memory. Tiles that touch other rows,
   or are too narrow, are listed once for a geometry and left to hjtile.cu.
*/
#include "hjkernel.h"

#define HJ_T2_ROWS   8
#define HJ_T2_COLS   4
#define HJ_T2_STRIPS 8

typedef struct {
  HJDSweep      s;
  HJTileLayout  lay;
  const int    *list;
  int           count;
  double        dinv, row[5];
  double        w[HJD_MAX_COUNT];
  const double *d_w; /* weights in device memory, if not NULL */
} HJTile2DArgs;

typedef struct {
  HJTileLayout lay; /* what the lists belong to */
  int          generation, allocated, n[2];
  int         *d_list; /* [2][ntiles]: this file's tiles, the others */
  int         *d_n;
} HJTile2DData;

static __global__ void HJTile2DList_Kernel(HJDStencil st, HJTileLayout lay, int ntiles, int main_row, int *list, int *n)
{
  HJDBox t, own;
  int    other = 0;

  HJTileRange_CUDA<2>(lay, lay.cover, blockIdx.x, t, own);
  const int wx = HJDWidth(t, 0), size = wx * HJDWidth(t, 1);
  for (int q = threadIdx.x; q < size; q += blockDim.x)
    other |= st.index[HJDIndex(st.box, t.lo[0] + q % wx, t.lo[1] + q / wx, 0)] != main_row;
  other = __syncthreads_or(other) || wx <= HJ_T2_COLS;
  if (!threadIdx.x) list[other * ntiles + atomicAdd(&n[other], 1)] = blockIdx.x;
}

/* One subiteration of a strip, in place. FULL: all points of the strip are the tile's; else bit 4 r + v of active says so */
template <int LANES, bool FULL>
__device__ __forceinline__ void HJTile2DStrip(const HJTile2DArgs &p, double w, int lane, int last, unsigned active,
                                              double x[HJ_T2_ROWS][HJ_T2_COLS], const double b[HJ_T2_ROWS][HJ_T2_COLS],
                                              const double ring[HJ_T2_ROWS], double below[HJ_T2_COLS], const double above[HJ_T2_COLS])
{
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    double left = __shfl_up_sync(~0u, x[r][HJ_T2_COLS - 1], 1, LANES), right = __shfl_down_sync(~0u, x[r][0], 1, LANES);

    if (lane == 0) left = ring[r];
    if (lane == last) right = ring[r];
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) {
      const double t = x[r][v], east = v + 1 < HJ_T2_COLS ? x[r][v + 1] : right, north = r + 1 < HJ_T2_ROWS ? x[r + 1][v] : above[v];
      double       sum = fma(-p.row[0], t, b[r][v]);

      sum      = fma(-p.row[3], below[v], sum);
      sum      = fma(-p.row[4], north, sum);
      sum      = fma(-p.row[2], east, sum);
      sum      = fma(-p.row[1], left, sum);
      sum      = fma(w, sum, t);
      x[r][v]  = FULL || (active >> (HJ_T2_COLS * r + v) & 1) ? sum : t;
      left     = t;
      below[v] = t;
    }
  }
}

template <int LANES> __device__ __forceinline__ void HJTile2DPut(double2 *row, int lane, const double v[HJ_T2_COLS])
{
  row[lane]         = make_double2(v[0], v[1]);
  row[lane + LANES] = make_double2(v[2], v[3]);
}

template <int LANES> __device__ __forceinline__ void HJTile2DGet(const double2 *row, int lane, double v[HJ_T2_COLS])
{
  const double2 u = row[lane], t = row[lane + LANES];

  v[0] = u.x;
  v[1] = u.y;
  v[2] = t.x;
  v[3] = t.y;
}

/* s_edge[buffer][strip + 1][first row, last row]: the ring's rows lie at strips -1 and nstrips, in both buffers */
template <int LANES> struct HJTile2DEdge {
  double2 row[2][HJ_T2_STRIPS + 2][2][2 * LANES];
};

template <int LANES, bool FULL>
__device__ __forceinline__ void HJTile2DCycle(const HJTile2DArgs &p, HJTile2DEdge<LANES> &s_edge, int lane, int strip, int last,
                                              unsigned active, double x[HJ_T2_ROWS][HJ_T2_COLS], const double b[HJ_T2_ROWS][HJ_T2_COLS],
                                              const double ring[HJ_T2_ROWS])
{
  for (int n = 0; n < p.count; n++) {
    const int buf = n & 1;
    double    below[HJ_T2_COLS], above[HJ_T2_COLS];

    HJTile2DPut<LANES>(s_edge.row[buf][strip + 1][0], lane, x[0]);
    HJTile2DPut<LANES>(s_edge.row[buf][strip + 1][1], lane, x[HJ_T2_ROWS - 1]);
    __syncthreads();
    HJTile2DGet<LANES>(s_edge.row[buf][strip][1], lane, below);
    HJTile2DGet<LANES>(s_edge.row[buf][strip + 2][0], lane, above);
    HJTile2DStrip<LANES, FULL>(p, p.d_w ? p.d_w[n] : p.w[n], lane, last, active, x, b, ring, below, above);
  }
}

/* Points [lo, hi) in each direction are read, others are 0 */
__device__ __forceinline__ double HJTile2DRead(const HJDSweep &s, const int lo[2], const int hi[2], int i, int j)
{
  return s.x && i >= lo[0] && i < hi[0] && j >= lo[1] && j < hi[1] ? s.x[HJDIndex(s.box, i, j, 0)] : 0.0;
}

template <int LANES>
__global__ void __launch_bounds__(LANES *HJ_T2_STRIPS, LANES == 16 ? 2 : 4) HJTile2D_Kernel(const __grid_constant__ HJTile2DArgs p)
{
  __shared__ HJTile2DEdge<LANES> s_edge;
  const int                      lane = threadIdx.x % LANES, strip = threadIdx.x / LANES, nstrips = blockDim.x / LANES;
  HJDBox                         t, own;
  unsigned                       active = 0;
  double                         x[HJ_T2_ROWS][HJ_T2_COLS], b[HJ_T2_ROWS][HJ_T2_COLS], ring[HJ_T2_ROWS], edge[HJ_T2_COLS];

  HJTileRange_CUDA<2>(p.lay, p.s.write, p.list[blockIdx.x], t, own);
  const int wx = HJDWidth(t, 0), h = HJDWidth(t, 1), last = (wx - 1) / HJ_T2_COLS, i0 = t.lo[0] + lane * HJ_T2_COLS,
            j0    = t.lo[1] + strip * HJ_T2_ROWS;
  const int lo[2] = {max(t.lo[0] - 1, p.s.domain.lo[0]), max(t.lo[1] - 1, p.s.domain.lo[1])},
            hi[2] = {min(t.hi[0] + 1, p.s.domain.hi[0]), min(t.hi[1] + 1, p.s.domain.hi[1])};

#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
    ring[r] = HJTile2DRead(p.s, lo, hi, lane ? i0 + HJ_T2_COLS : i0 - 1, j0 + r);
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) {
      const bool mine = i0 + v < t.hi[0] && j0 + r < t.hi[1];

      x[r][v] = HJTile2DRead(p.s, lo, hi, i0 + v, j0 + r);
      b[r][v] = mine ? p.dinv * p.s.b[HJDIndex(p.s.box, i0 + v, j0 + r, 0)] : 0.0;
      active |= (unsigned)mine << (HJ_T2_COLS * r + v);
    }
  }
  if (strip == 0 || strip == nstrips - 1) {
#pragma unroll
    for (int side = 0; side < 2; side++) {
      if (strip == side * (nstrips - 1)) {
#pragma unroll
        for (int v = 0; v < HJ_T2_COLS; v++) edge[v] = HJTile2DRead(p.s, lo, hi, i0 + v, side ? j0 + HJ_T2_ROWS : j0 - 1);
        HJTile2DPut<LANES>(s_edge.row[0][side * (nstrips + 1)][1 - side], lane, edge);
        HJTile2DPut<LANES>(s_edge.row[1][side * (nstrips + 1)][1 - side], lane, edge);
      }
    }
  }
  if (wx % HJ_T2_COLS == 0 && h == nstrips * HJ_T2_ROWS) HJTile2DCycle<LANES, true>(p, s_edge, lane, strip, last, active, x, b, ring);
  else HJTile2DCycle<LANES, false>(p, s_edge, lane, strip, last, active, x, b, ring);
#pragma unroll
  for (int r = 0; r < HJ_T2_ROWS; r++) {
#pragma unroll
    for (int v = 0; v < HJ_T2_COLS; v++) {
      if (HJDInside(own, i0 + v, j0 + r, own.lo[2])) p.s.y[HJDIndex(p.s.ybox, i0 + v, j0 + r, own.lo[2])] = x[r][v];
    }
  }
}

/* Made again when the geometry or the values change; waits for the device then, and only then */
static PetscErrorCode HJTile2DLists(HJ_CUDA *cuda, cudaStream_t stream, const HJTileLayout *lay, HJTile2DData **out)
{
  HJTile2DData *data   = (HJTile2DData *)cuda->tile_data;
  const int     ntiles = lay->ntiles[0] * lay->ntiles[1];
  PetscBool     same   = PETSC_FALSE;

  PetscFunctionBegin;
  if (!data) {
    PetscCall(PetscNew(&data));
    cuda->tile_data = data;
    PetscCall(HJAlloc(sizeof(data->n), (void **)&data->d_n));
  }
  *out = data;
  if (data->generation == cuda->generation) PetscCall(PetscMemcmp(&data->lay, lay, sizeof(*lay), &same));
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  if (data->allocated < ntiles) {
    PetscCallCUDA(cudaFree(data->d_list));
    PetscCall(HJAlloc(2 * sizeof(int) * ntiles, (void **)&data->d_list));
    data->allocated = ntiles;
  }
  PetscCallCUDA(cudaMemsetAsync(data->d_n, 0, sizeof(data->n), stream));
  HJTile2DList_Kernel<<<ntiles, 128, 0, stream>>>(cuda->st, *lay, ntiles, cuda->main_row, data->d_list, data->d_n);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(data->n, data->d_n, sizeof(data->n), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  data->lay        = *lay;
  data->generation = cuda->generation;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTile2DRun_CUDA(HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *s, const HJTileLayout *lay, int count, const double *w,
                                const int **others, int *nothers)
{
  const HJDStencil *st     = &cuda->st;
  const int         ntiles = lay->ntiles[0] * lay->ntiles[1];
  HJTile2DData     *data   = NULL;
  HJTile2DArgs      p;

  PetscFunctionBegin;
  if (st->dim != 2 || st->shape != HJ_STAR || st->storage != HJ_DICTIONARY || lay->tile[0] > 64 || lay->tile[1] > HJ_T2_ROWS * HJ_T2_STRIPS)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJTile2DLists(cuda, stream, lay, &data));
  *others  = data->d_list + ntiles;
  *nothers = data->n[1];
  if (!data->n[0]) PetscFunctionReturn(PETSC_SUCCESS);
  p.s     = *s;
  p.lay   = *lay;
  p.list  = data->d_list;
  p.count = count;
  p.dinv  = st->h_dinv_rows[cuda->main_row];
  for (int o = 0; o < 5; o++) p.row[o] = st->h_rows[5 * cuda->main_row + o];
  for (int j = 0; j < PetscMin(count, HJD_MAX_COUNT); j++) p.w[j] = w[j];
  PetscCall(HJWeights_CUDA(cuda, stream, count, w, &p.d_w));
  const int strips = (lay->tile[1] + HJ_T2_ROWS - 1) / HJ_T2_ROWS;
  if (lay->tile[0] <= 32) HJTile2D_Kernel<8><<<data->n[0], (8 * strips + 31) / 32 * 32, 0, stream>>>(p);
  else HJTile2D_Kernel<16><<<data->n[0], (16 * strips + 31) / 32 * 32, 0, stream>>>(p);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTile2DDestroy_CUDA(HJ_CUDA *cuda)
{
  HJTile2DData *data = (HJTile2DData *)cuda->tile_data;

  PetscFunctionBegin;
  if (data) {
    PetscCallCUDA(cudaFree(data->d_list));
    PetscCallCUDA(cudaFree(data->d_n));
  }
  PetscCall(PetscFree(data));
  cuda->tile_data = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

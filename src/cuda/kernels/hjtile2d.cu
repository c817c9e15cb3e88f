/*
   Stale 2D tiles, star with constant coefficients, up to 64 points wide: the whole tile in registers. A lane holds 4 adjacent columns of
   a strip of 8 rows; x neighbours come by shuffle, the strips' first and last rows go through shared memory. Tiles that touch other rows,
   or are too narrow, are listed once for a geometry and left to hjtile.cu.
*/
#include "hjkernel.h"

#define HJ_T2_ROWS   8
#define HJ_T2_COLS   4
#define HJ_T2_STRIPS 8
#define HJ_T2_LANES  8 /* of tiles up to 32 points wide; twice as many for wider ones */

typedef struct {
  HJDSweep      s;
  HJTileLayout  lay;
  const int    *list;
  int           count;
  double        dinv, row[5];
  double        w[HJD_MAX_COUNT];
  const double *d_w; /* weights in device memory, if not NULL */
} HJTile2DArgs;

/* Layout of one sweep */
typedef struct {
  HJTileLayout lay;
  int          n[2];
  int         *d_list; /* [2][ntiles]: this file's tiles, the others */
} HJTile2DLayout;

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
__global__ void __launch_bounds__(LANES *HJ_T2_STRIPS, LANES == HJ_T2_LANES ? 4 : 2) HJTile2D_Kernel(const __grid_constant__ HJTile2DArgs p)
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

/* Waits for the device */
static PetscErrorCode HJTile2DLists(HJ_CUDA *cuda, cudaStream_t stream, HJTile2DLayout *l)
{
  const int ntiles = l->lay.ntiles[0] * l->lay.ntiles[1];
  int      *d_n;

  PetscFunctionBegin;
  PetscCall(HJAlloc((2 * (size_t)ntiles + 2) * sizeof(int), (void **)&l->d_list));
  d_n = l->d_list + 2 * (size_t)ntiles;
  PetscCallCUDA(cudaMemsetAsync(d_n, 0, sizeof(l->n), stream));
  HJTile2DList_Kernel<<<ntiles, 128, 0, stream>>>(cuda->st, l->lay, ntiles, cuda->main_row, l->d_list, d_n);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(l->n, d_n, sizeof(l->n), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One HJTile2DLayout a sweep; d_list of one that is not used is NULL */
static PetscErrorCode HJTile2DLayouts(HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *, const HJGeometry *geometry, void **layout)
{
  HJTile2DLayout *l;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(HJD_MAX_SWEEPS, &l));
  *layout = l;
  for (int i = 0; i < geometry->nsweeps; i++) {
    PetscCall(HJTileLayoutStale(cuda, geometry, i, &l[i].lay));
    PetscCall(HJTile2DLists(cuda, stream, &l[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJTile2DLayoutsDestroy(void *layout)
{
  HJTile2DLayout *l = (HJTile2DLayout *)layout;

  PetscFunctionBegin;
  for (int i = 0; i < HJD_MAX_SWEEPS; i++) PetscCallCUDA(cudaFree(l[i].d_list));
  PetscCall(PetscFree(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* hjtile.cu must be able to do those that are not this file's */
static bool HJTile2DTakes(const HJDevice *device, const HJDStencil *st, const int tile[3])
{
  HJTileLayout lay;

  for (int d = 0; d < 3; d++) lay.tile[d] = tile[d];
  return st->dim == 2 && st->shape == HJ_STAR && st->storage == HJ_DICTIONARY && tile[0] <= 2 * HJ_T2_LANES * HJ_T2_COLS &&
         tile[1] <= HJ_T2_ROWS * HJ_T2_STRIPS && HJTileLayoutFit(device, st, &lay);
}

static PetscErrorCode HJTile2DRun(const HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *s, const HJTile2DLayout *l, int count,
                                  const double *w, const double *d_w)
{
  const HJDStencil *st     = &cuda->st;
  const int         strips = (l->lay.tile[1] + HJ_T2_ROWS - 1) / HJ_T2_ROWS;
  HJTile2DArgs      p;

  PetscFunctionBegin;
  p.s     = *s;
  p.lay   = l->lay;
  p.list  = l->d_list;
  p.count = count;
  p.dinv  = st->h_dinv_rows[cuda->main_row];
  p.d_w   = d_w;
  for (int o = 0; o < 5; o++) p.row[o] = st->h_rows[5 * cuda->main_row + o];
  for (int j = 0; j < PetscMin(count, HJD_MAX_COUNT); j++) p.w[j] = w[j];
  if (l->lay.tile[0] <= HJ_T2_LANES * HJ_T2_COLS)
    HJTile2D_Kernel<HJ_T2_LANES><<<l->n[0], (HJ_T2_LANES * strips + 31) / 32 * 32, 0, stream>>>(p);
  else HJTile2D_Kernel<2 * HJ_T2_LANES><<<l->n[0], (2 * HJ_T2_LANES * strips + 31) / 32 * 32, 0, stream>>>(p);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJTile2DLaunch(HJ_CUDA *cuda, cudaStream_t stream, int n, const HJDSweep *s, int count, const double *w,
                                     const void *layout)
{
  const HJTile2DLayout *l = (const HJTile2DLayout *)layout;
  const double         *d_w;

  PetscFunctionBegin;
  PetscCall(HJWeights_CUDA(cuda, stream, count, w, &d_w));
  for (int i = 0; i < n; i++, l++) {
    const int *others = l->d_list + (size_t)l->lay.ntiles[0] * l->lay.ntiles[1];

    if (l->n[0]) PetscCall(HJTile2DRun(cuda, stream, &s[i], l, count, w, d_w));
    if (l->n[1]) PetscCall(HJTileRun_CUDA(cuda, stream, &s[i], &l->lay, others, l->n[1], count, w, false));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJFamily HJFamilyTile2D =
  {"2D tiles in registers", NULL,        NULL,       HJTile2DLaunch, HJTile2DLayouts, HJTile2DLayoutsDestroy, NULL, NULL, NULL,
   HJTile2DTakes,           PETSC_FALSE, PETSC_FALSE};

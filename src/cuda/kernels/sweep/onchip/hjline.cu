/* SPDX-License-Identifier: BSD-2-Clause */
/*
   1D, constant coefficients: a warp holds 512 adjacent points in registers for a whole pass and throws away as many at each end as the
   pass has subiterations. Chunks with other rows or the domain's end read the row table. Decides the chunk; nothing about passes.
*/
#include "cuda/kernels/hjfamilies.h"

#define HJ_LINE_CHUNK (32 * HJ_LINE_POINTS)

typedef struct {
  HJDStencil           st;
  HJDSweep             s[HJD_MAX_SWEEPS];
  int                  first[HJD_MAX_SWEEPS + 1]; /* chunk of each sweep, all sweeps in a row */
  int                  nsweeps, count, margin;
  const unsigned char *flag; /* [segment of st.box]: 1 if a row differs from the main one */
  PetscScalar          dinv;
  PetscScalar          low[HJD_MAX_COUNT], mid[HJD_MAX_COUNT], high[HJD_MAX_COUNT], w[HJD_MAX_COUNT]; /* main row times weights */
} HJLineArgs;

typedef struct {
  unsigned char *d_flag;
  int            generation;
} HJLineData;

static __global__ void HJLineFlag_Kernel(const unsigned char *index, int n, int main_row, unsigned char *flag)
{
  const int i = blockIdx.x * HJ_LINE_SEGMENT + threadIdx.x;
  const int r = __syncthreads_or(i < n && index[i] != main_row);

  if (!threadIdx.x) flag[blockIdx.x] = r != 0;
}

/* From one point a lane, strided by 32, to 16 adjacent points a lane, and back; a spare number after each 16 keeps banks apart */
__device__ __forceinline__ void HJLineGather(PetscScalar *s_q, int lane, PetscScalar v[HJ_LINE_POINTS])
{
  __syncwarp();
#pragma unroll
  for (int i = 0; i < HJ_LINE_POINTS; i++) s_q[lane + 32 * i + (lane + 32 * i) / HJ_LINE_POINTS] = v[i];
  __syncwarp();
#pragma unroll
  for (int i = 0; i < HJ_LINE_POINTS; i++) v[i] = s_q[lane * (HJ_LINE_POINTS + 1) + i];
}

__device__ __forceinline__ void HJLineScatter(PetscScalar *s_q, int lane, PetscScalar v[HJ_LINE_POINTS])
{
  __syncwarp();
#pragma unroll
  for (int i = 0; i < HJ_LINE_POINTS; i++) s_q[lane * (HJ_LINE_POINTS + 1) + i] = v[i];
  __syncwarp();
#pragma unroll
  for (int i = 0; i < HJ_LINE_POINTS; i++) v[i] = s_q[lane + 32 * i + (lane + 32 * i) / HJ_LINE_POINTS];
}

/* Row of a point; the main one where no row is known: such points are too far to matter */
__device__ __forceinline__ int HJLineRow(const HJLineArgs &p, int i, int main_row)
{
  return i >= p.st.box.lo[0] && i < p.st.box.hi[0] ? p.st.index[i - p.st.box.lo[0]] : main_row;
}

__device__ void HJLineFast(const HJLineArgs &p, int from, PetscScalar x[HJ_LINE_POINTS], const PetscScalar db[HJ_LINE_POINTS])
{
  for (int n = from; n < p.count; n++) {
    const PetscScalar low = p.low[n], mid = p.mid[n], high = p.high[n], w = p.w[n], right = __shfl_down_sync(~0u, x[0], 1);
    PetscScalar       prev = __shfl_up_sync(~0u, x[HJ_LINE_POINTS - 1], 1);

#pragma unroll
    for (int i = 0; i < HJ_LINE_POINTS; i++) {
      const PetscScalar t = x[i], next = i + 1 < HJ_LINE_POINTS ? x[i + 1] : right;

      x[i] = fma(mid, t, fma(low, prev, fma(high, next, w * db[i])));
      prev = t;
    }
  }
}

/* Any rows, any end of the domain */
__device__ void HJLineSlow(const HJLineArgs &p, const HJDSweep &s, int at, int main_row, int from, PetscScalar x[HJ_LINE_POINTS],
                           const PetscScalar db[HJ_LINE_POINTS])
{
  for (int n = from; n < p.count; n++) {
    const PetscScalar w = p.w[n], right = __shfl_down_sync(~0u, x[0], 1);
    PetscScalar       prev = __shfl_up_sync(~0u, x[HJ_LINE_POINTS - 1], 1);

#pragma unroll
    for (int i = 0; i < HJ_LINE_POINTS; i++) {
      const PetscScalar  t = x[i], next = i + 1 < HJ_LINE_POINTS ? x[i + 1] : right;
      const PetscScalar *row = p.st.rows + 3 * HJLineRow(p, at + i, main_row);

      x[i] = at + i >= s.domain.lo[0] && at + i < s.domain.hi[0] ? t + w * (db[i] - row[0] * t - row[1] * prev - row[2] * next) : HJ_ZERO;
      prev = t;
    }
  }
}

__global__ void __launch_bounds__(32 * HJ_LINE_WARPS, 3) HJLine_Kernel(const __grid_constant__ HJLineArgs p, int main_row)
{
  __shared__ PetscScalar s_all[HJ_LINE_WARPS][HJ_LINE_CHUNK + HJ_LINE_CHUNK / HJ_LINE_POINTS];
  const int    lane = threadIdx.x % 32, chunk = blockIdx.x * HJ_LINE_WARPS + threadIdx.x / 32, useful = HJ_LINE_CHUNK - 2 * p.margin;
  PetscScalar *s_q = s_all[threadIdx.x / 32], x[HJ_LINE_POINTS], b[HJ_LINE_POINTS];
  int          v   = 0;

  if (chunk >= p.first[p.nsweeps]) return;
  while (chunk >= p.first[v + 1]) v++;
  const HJDSweep &s  = p.s[v];
  const int       lo = s.write.lo[0] + (chunk - p.first[v]) * useful - p.margin, at = lo + lane * HJ_LINE_POINTS;
  const int       valid_lo = max(s.box.lo[0], s.domain.lo[0]), valid_hi = min(s.box.hi[0], s.domain.hi[0]);
  const int       own_lo = max(lo + p.margin, s.write.lo[0]), own_hi = min(lo + p.margin + useful, s.write.hi[0]);
  const int       segment = (max(lo, p.st.box.lo[0]) - p.st.box.lo[0]) / HJ_LINE_SEGMENT + lane;
  const bool      other   = lane <= HJ_LINE_CHUNK / HJ_LINE_SEGMENT &&
                     segment * HJ_LINE_SEGMENT < min(lo + HJ_LINE_CHUNK, p.st.box.hi[0]) - p.st.box.lo[0] && p.flag[segment];
  const bool fast = !__any_sync(~0u, other) && lo >= s.domain.lo[0] && lo + HJ_LINE_CHUNK <= s.domain.hi[0];

#pragma unroll
  for (int i = 0; i < HJ_LINE_POINTS; i++) {
    const int  q      = lo + lane + 32 * i;
    const bool inside = q >= valid_lo && q < valid_hi;

    b[i] = inside ? HJDHome(s, s.b, s.bghost, q)[q - s.box.lo[0]] : HJ_ZERO;
    x[i] = inside && s.x ? HJDHome(s, s.x, s.xghost, q)[q - s.box.lo[0]] : HJ_ZERO;
  }
  HJLineGather(s_q, lane, b);
  if (s.x) HJLineGather(s_q, lane, x);
#pragma unroll
  for (int i = 0; i < HJ_LINE_POINTS; i++) {
    b[i] *= fast ? p.dinv : p.st.dinv_rows[HJLineRow(p, at + i, main_row)];
    if (!s.x) x[i] = p.w[0] * b[i];
  }
  if (fast) HJLineFast(p, s.x ? 0 : 1, x, b);
  else HJLineSlow(p, s, at, main_row, s.x ? 0 : 1, x, b);
  HJLineScatter(s_q, lane, x);
#pragma unroll
  for (int i = 0; i < HJ_LINE_POINTS; i++) {
    const int q = lo + lane + 32 * i;

    if (q >= own_lo && q < own_hi) HJDStore(s, q, q - s.ybox.lo[0], x[i]);
  }
}

static int HJLineTakes(const HJDevice *, const HJAsk *ask)
{
  return ask->kind == HJ_EXACT && ask->st->dim == 1 && ask->st->storage == HJ_DICTIONARY ? HJD_MAX_COUNT : 0;
}

static int HJLineBestCount(const HJDevice *, const HJGrid *, const HJDStencil *)
{
  return HJ_LINE_BEST;
}

/* Flags follow the row index: made again after each refresh */
static PetscErrorCode HJLineFlags(HJ_CUDA *cuda, cudaStream_t stream, const unsigned char **flag)
{
  HJLineData *data     = (HJLineData *)cuda->family_data;
  const int   n        = HJDWidth(cuda->st.box, 0);
  const int   segments = (n + HJ_LINE_SEGMENT - 1) / HJ_LINE_SEGMENT;

  PetscFunctionBegin;
  if (!data) {
    PetscCall(PetscNew(&data));
    cuda->family_data = data;
    PetscCall(HJAlloc(segments, (void **)&data->d_flag));
  }
  if (data->generation != cuda->generation) {
    HJLineFlag_Kernel<<<segments, HJ_LINE_SEGMENT, 0, stream>>>(cuda->st.index, n, cuda->main_row, data->d_flag);
    PetscCallCUDA(cudaGetLastError());
    data->generation = cuda->generation;
  }
  *flag = data->d_flag;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJLineLaunch(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *)
{
  const PetscScalar *row = cuda->st.h_rows + 3 * cuda->main_row;
  const PetscReal   *w   = pass->w;
  const HJDSweep    *s   = pass->sweep;
  const int          n = pass->nsweeps, count = pass->count;
  HJLineArgs         p;
  int                useful;

  PetscFunctionBegin;
  PetscCheck(count <= HJD_MAX_COUNT, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d subiterations in a 1D sweep", count);
  p.st       = cuda->st;
  p.nsweeps  = n;
  p.count    = count;
  p.margin   = s[0].x ? count : count - 1;
  p.dinv     = cuda->st.h_dinv_rows[cuda->main_row];
  p.first[0] = 0;
  useful     = HJ_LINE_CHUNK - 2 * p.margin;
  for (int i = 0; i < n; i++) {
    p.s[i]         = s[i];
    p.first[i + 1] = p.first[i] + (HJDWidth(s[i].write, 0) + useful - 1) / useful;
  }
  for (int j = 0; j < count; j++) {
    p.w[j]    = w[j];
    p.mid[j]  = 1.0 - w[j] * row[0];
    p.low[j]  = -w[j] * row[1];
    p.high[j] = -w[j] * row[2];
  }
  PetscCall(HJLineFlags(cuda, stream, &p.flag));
  if (!p.first[n]) PetscFunctionReturn(PETSC_SUCCESS);
  HJLine_Kernel<<<(p.first[n] + HJ_LINE_WARPS - 1) / HJ_LINE_WARPS, 32 * HJ_LINE_WARPS, 0, stream>>>(p, cuda->main_row);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJLineDestroy(HJ_CUDA *cuda)
{
  HJLineData *data = (HJLineData *)cuda->family_data;

  PetscFunctionBegin;
  if (data) PetscCallCUDA(cudaFree(data->d_flag));
  PetscCall(PetscFree(data));
  cuda->family_data = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJFamily HJFamilyLine = {
  .name       = "1D line",
  .takes      = HJLineTakes,
  .best_count = HJLineBestCount,
  .launch     = HJLineLaunch,
  .destroy    = HJLineDestroy,
  .wraps      = HJWrapsSlowest,
  .ghosts     = true,
  .copies     = true,
};

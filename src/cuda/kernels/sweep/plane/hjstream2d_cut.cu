/* SPDX-License-Identifier: BSD-2-Clause */
/*
   2D exact streaming with a dictionary of several rows: where strips are cut into chunks, so that all chunks cost about the same. A row of
   points that looks its coefficients up costs three times as much as one with the base row, and all of a wave wait for its slowest warp.
   Worked out on the device when values are new; how many chunks there are was decided before, in hjstream2d.cu.
*/
#include "hjstream2d.cuh"

#define HJ2D_CUT_THREADS 256
#define HJ2D_CUT_BATCH   16 /* loads do not pass stores */

typedef struct {
  int        nstrips, ngroups, nchunks, is_short;
  long long *cost; /* of each strip's groups, ngroups + 1 a strip; then of all groups before */
  int       *n;    /* chunks of each strip */
  HJ2DChunk *chunks;
} HJ2DCut;
static_assert(sizeof(HJ2DArgs) + sizeof(HJ2DCut) <= 4096, "kernel parameters");

/* A strip among those of all sweeps */
typedef struct {
  const HJ2DSweep *s;
  int              sweep, strip, x0, width, group0; /* group0: that costs begin with */
  long long        rows;                            /* of the strips before */
} HJ2DStrip;

static __host__ __device__ int HJ2DFirstGroup(const HJ2DSweep *s, int margin)
{
  const int row = s->write_lo[1] - margin;

  return (row > s->avail_lo[1] ? row : s->avail_lo[1]) >> HJ2D_GROUP_SHIFT;
}

static __device__ HJ2DStrip HJ2DFindStrip(const HJ2DArgs &g, int i)
{
  HJ2DStrip t = {g.sweep, 0, i, 0, 0, 0, 0};

  for (; t.strip >= t.s->nstrips; t.s++, t.sweep++) {
    t.strip -= t.s->nstrips;
    t.rows += (long long)t.s->nstrips * (t.s->write_hi[1] - t.s->write_lo[1]);
  }
  t.rows += (long long)t.strip * (t.s->write_hi[1] - t.s->write_lo[1]);
  t.x0     = HJ2DFirstColumn(*t.s, t.strip, g.margin);
  t.width  = min(HJ2D_COLUMNS, t.s->avail_hi[0] - t.x0);
  t.group0 = HJ2DFirstGroup(t.s, g.margin);
  return t;
}

/* The flags of a strip in a group of rows */
static __device__ unsigned HJ2DStripFlag(const HJ2DArgs &g, const HJ2DStrip &t, int group)
{
  const int first = max(0, (t.x0 - g.coef_lo[0]) / HJ2D_GROUP_COLS),
            end   = min(g.flag_nx - 1, (t.x0 + t.width - 1 - g.coef_lo[0]) / HJ2D_GROUP_COLS);
  unsigned flag = 0, like = HJ2D_MOST_LIKE;

  if (group < g.flag_y0 || group > (g.coef_hi[1] - 1) >> HJ2D_GROUP_SHIFT) return like << HJ2D_FLAGS;
  for (int i = first; i <= end; i++) {
    const unsigned f = g.flags[(long long)(group - g.flag_y0) * g.flag_nx + i];

    flag |= f & ((1 << HJ2D_FLAGS) - 1);
    like = min(like, f >> HJ2D_FLAGS);
  }
  return flag | like << HJ2D_FLAGS;
}

/* One thread a group; HJ2DConstant::Group() says where rows are looked up */
static __global__ void HJStream2DCost_Kernel(const __grid_constant__ HJ2DArgs g, HJ2DCut cut)
{
  const long long i    = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const int       back = (g.margin + HJ2D_GROUP_ROWS - 1) >> HJ2D_GROUP_SHIFT;

  if (i >= (long long)cut.nstrips * cut.ngroups) return;
  const HJ2DStrip t     = HJ2DFindStrip(g, (int)(i / cut.ngroups));
  const int       group = t.group0 + (int)(i % cut.ngroups);
  const unsigned  own   = HJ2DStripFlag(g, t, group);
  unsigned        flag  = own;
  bool            look  = false;

  for (int k = 0; k <= back; k++) {
    const unsigned before = HJ2DStripFlag(g, t, group - k - 1);

    look = look || (flag & HJ2D_MIXED) || (k < back && before >> HJ2D_FLAGS == 0 && ((flag | before) & HJ2D_OTHER));
    flag = before;
  }
  cut.cost[i + i / cut.ngroups] = HJ2D_GROUP_ROWS * (look                ? HJ2D_COST_LOOK
                                                     : own & HJ2D_OTHER  ? HJ2D_COST_OWN
                                                     : own & HJ2D_SCALED ? HJ2D_COST_SCALED
                                                                         : HJ2D_COST_BASE);
}

/* Replaces the costs of a strip's groups by their sums, and returns what all cost */
static __device__ long long HJ2DSumCosts(const HJ2DCut &cut, int strip)
{
  long long *p = cut.cost + (long long)strip * (cut.ngroups + 1), sum = 0;

  for (int first = 0; first < cut.ngroups; first += HJ2D_CUT_BATCH) {
    long long c[HJ2D_CUT_BATCH];
#pragma unroll
    for (int u = 0; u < HJ2D_CUT_BATCH; u++) c[u] = first + u < cut.ngroups ? p[first + u] : 0;
#pragma unroll
    for (int u = 0; u < HJ2D_CUT_BATCH; u++) {
      if (first + u < cut.ngroups) p[first + u] = sum;
      sum += c[u];
    }
  }
  return p[cut.ngroups] = sum;
}

/* Whether short chunks of this strip look up every row */
static __device__ bool HJ2DLooks(const HJ2DCut &cut, int strip)
{
  const long long all = cut.cost[(long long)(strip + 1) * (cut.ngroups + 1) - 1];

  return cut.is_short && all >= (long long)HJ2D_COST_OWN * HJ2D_GROUP_ROWS * cut.ngroups;
}

/* What a strip's rows before this one cost */
static __device__ long long HJ2DCostBefore(const HJ2DCut &cut, const HJ2DStrip &t, int strip, int row)
{
  const long long *p = cut.cost + (long long)strip * (cut.ngroups + 1);
  const int        r = max(0, min(row - t.group0 * HJ2D_GROUP_ROWS, cut.ngroups * HJ2D_GROUP_ROWS)), i = r >> HJ2D_GROUP_SHIFT,
            part = r & (HJ2D_GROUP_ROWS - 1);

  return p[i] + (part ? (p[i + 1] - p[i]) / HJ2D_GROUP_ROWS * part : 0);
}

/* The last row before which a strip's rows cost at most this */
static __device__ int HJ2DRowAt(const HJ2DCut &cut, const HJ2DStrip &t, int strip, long long cost)
{
  const long long *p  = cut.cost + (long long)strip * (cut.ngroups + 1);
  int              lo = 0, hi = cut.ngroups;

  while (lo < hi) {
    const int mid = (lo + hi + 1) / 2;

    if (p[mid] <= cost) lo = mid;
    else hi = mid - 1;
  }
  const int part = lo < cut.ngroups ? (int)((cost - p[lo]) * HJ2D_GROUP_ROWS / (p[lo + 1] - p[lo])) : 0;
  return (t.group0 + lo) * HJ2D_GROUP_ROWS + part;
}

/* The place of a strip's chunk k: first the first chunks of all strips, so that neighbours run together */
static __device__ int HJ2DChunkPlace(const HJ2DCut &cut, int strip, int k)
{
  int place = 0;

  for (int i = 0; i < cut.nstrips; i++) place += min(cut.n[i], k) + (i < strip && cut.n[i] > k);
  return place;
}

/* Cuts a strip into chunks that cost at most this, where one row does not cost more, and returns their number, at most one too many */
template <bool WRITE> static __device__ int HJ2DCutStrip(const HJ2DArgs &g, const HJ2DCut &cut, int strip, long long most)
{
  const HJ2DStrip t    = HJ2DFindStrip(g, strip);
  const int       end  = t.s->write_hi[1];
  const bool      look = HJ2DLooks(cut, strip);
  int             n = 0, others = 0;

  for (int i = 0; i < strip && WRITE; i++) others += cut.n[i];
  for (int y = t.s->write_lo[1], next; y < end && n <= cut.nchunks; y = next, n++) {
    const int       lo    = max(y - g.margin, t.s->avail_lo[1]);
    const long long limit = HJ2DCostBefore(cut, t, strip, lo) + most;

    next = look                                                     ? lo + (int)(most / HJ2D_COST_LOOK)
           : limit >= HJ2DCostBefore(cut, t, strip, end + g.margin) ? end + g.margin
                                                                    : HJ2DRowAt(cut, t, strip, limit);
    next = min(end, max(y + 1, next - g.margin));
    if (WRITE) {
      const long long saved = HJ2DSaved(t.rows + y - t.s->write_lo[1], others + n, g.margin);

      cut.chunks[HJ2DChunkPlace(cut, strip, n)] = {t.sweep, t.strip, y, next, look, saved};
    }
  }
  return n;
}

/* Whether there are chunks enough if none costs more than this */
static __device__ bool HJ2DEnough(const HJ2DArgs &g, const HJ2DCut &cut, long long most)
{
  int n = 0;

  for (int strip = threadIdx.x; strip < cut.nstrips; strip += HJ2D_CUT_THREADS) {
    cut.n[strip] = HJ2DCutStrip<false>(g, cut, strip, most);
    n            = min(n + cut.n[strip], cut.nchunks + 1);
  }
  __shared__ int s_n;
  if (threadIdx.x == 0) s_n = 0;
  __syncthreads();
  atomicAdd(&s_n, n);
  __syncthreads();
  const bool enough = s_n <= cut.nchunks;
  __syncthreads();
  return enough;
}

/* One block */
static __global__ void __launch_bounds__(HJ2D_CUT_THREADS) HJStream2DCut_Kernel(const __grid_constant__ HJ2DArgs g, HJ2DCut cut)
{
  __shared__ unsigned long long s_all;
  if (threadIdx.x == 0) s_all = 0;
  __syncthreads();
  for (int strip = threadIdx.x; strip < cut.nstrips; strip += HJ2D_CUT_THREADS)
    atomicAdd(&s_all, (unsigned long long)HJ2DSumCosts(cut, strip));
  for (int i = threadIdx.x; i < cut.nchunks; i += HJ2D_CUT_THREADS) cut.chunks[i] = {};
  __syncthreads();
  long long high = (long long)s_all / cut.nchunks + 2 * g.margin * HJ2D_COST_BASE + 1, low = high - high / 4;

  while (!HJ2DEnough(g, cut, high)) {
    low = high;
    high += high / 4 + 1;
  }
  while (high - low > high / HJ2D_CUT_SHARE + 1) {
    const long long most = low + (high - low) / 2;

    if (HJ2DEnough(g, cut, most)) high = most;
    else low = most;
  }
  HJ2DEnough(g, cut, high);
  for (int strip = threadIdx.x; strip < cut.nstrips; strip += HJ2D_CUT_THREADS) HJ2DCutStrip<true>(g, cut, strip, high);
}

PetscErrorCode HJ2DCutChunks(cudaStream_t stream, int nchunks, int chunk, HJ2DArgs *g, void **memory)
{
  HJ2DCut cut = {0, 0, nchunks, chunk < HJ2D_SHORT, NULL, NULL, NULL};

  PetscFunctionBegin;
  for (int i = 0; i < g->nregions; i++) {
    const HJ2DSweep *s    = &g->sweep[g->region[i].sweep];
    const int        last = (s->write_hi[1] + g->margin - 1) >> HJ2D_GROUP_SHIFT;

    cut.nstrips += s->nstrips;
    cut.ngroups = PetscMax(cut.ngroups, last - HJ2DFirstGroup(s, g->margin) + 1);
  }
  const size_t chunk_bytes = nchunks * sizeof(HJ2DChunk), cost_bytes = (size_t)cut.nstrips * (cut.ngroups + 1) * sizeof(long long);
  PetscCall(HJAlloc(chunk_bytes + cost_bytes + cut.nstrips * sizeof(int), memory));
  cut.chunks        = (HJ2DChunk *)*memory;
  cut.cost          = (long long *)((char *)*memory + chunk_bytes);
  cut.n             = (int *)((char *)*memory + chunk_bytes + cost_bytes);
  g->chunks         = cut.chunks;
  const long long n = (long long)cut.nstrips * cut.ngroups;
  HJStream2DCost_Kernel<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(*g, cut);
  PetscCallCUDA(cudaGetLastError());
  HJStream2DCut_Kernel<<<1, HJ2D_CUT_THREADS, 0, stream>>>(*g, cut);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

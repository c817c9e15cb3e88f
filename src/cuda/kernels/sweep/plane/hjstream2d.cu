/* SPDX-License-Identifier: BSD-2-Clause */
/*
   2D exact streaming, host side: which kernel runs, which strips and chunks its warps take, what the levels' coefficients are, and
   where the dictionary has only its base row. How a warp works is in hjstream2d.cuh and the files that include it.
*/
#include "hjstream2d_coarser.cuh"
#include "cuda/device/hjgrown.h"
#include "cuda/kernels/hjfamilies.h"
#include "hjstream2d_frame.h"

#define HJ2D_MAX_KERNELS HJ2D_MAX_LEVELS
#define HJ2D_FEW_ROWS    2 /* the interior's, and the identity on the domain's boundary */

typedef struct {
  int            generation; /* of the values that flags and table were computed from */
  unsigned char *flags;
  PetscScalar   *table;
  int            nrows; /* that table has room for */
  HJ2DLike       like;
  int            blocks_sm[2][HJ2D_VARIANTS][HJ2D_MAX_KERNELS]; /* by place in the table, [1] in place, variant; 0: not known */
  HJGrown       *saved;                                         /* in place */
} HJ2DData;

/* Layout of a launch: all arguments but pointers to vectors and weights */
typedef struct {
  HJ2DArgs    g;
  const void *function, *save; /* save: in place, the kernel before it */
  void       *chunks;          /* in device memory, where the rows of a dictionary decide; else NULL */
  int         nblocks, smem_bytes, levels;
  bool        coarser; /* it has to do with the coarser grid */
} HJ2DLayout;

static __device__ __forceinline__ bool IsOther(const HJ2DLike &like, int id)
{
  return !(like.bits[id >> 5] >> (id & 31) & 1);
}

/* One warp a patch says which rows it has, and how far along y they stay as they are */
static __global__ void HJStream2DFlag_Kernel(const unsigned char *index, HJDBox box, int base, HJ2DLike like, int flag_nx, int flag_ny,
                                             unsigned char *flags)
{
  const long long patch = (long long)blockIdx.x * blockDim.y + threadIdx.y;
  const int       px = patch % flag_nx, py = patch / flag_nx, i = box.lo[0] + px * HJ2D_GROUP_COLS + (int)threadIdx.x;
  const int       group = (box.lo[1] >> HJ2D_GROUP_SHIFT) + py, next = (group + 1) * HJ2D_GROUP_ROWS;
  const int       first = max(next - HJ2D_GROUP_ROWS, box.lo[1]);
  unsigned        flag  = 0;
  int             j     = first;

  if (py >= flag_ny) return;
  const int begin = i < box.hi[0] ? index[HJDIndex(box, i, first, 0)] : base;
  for (; j < min(next + HJ2D_MOST_LIKE * HJ2D_GROUP_ROWS, box.hi[1]); j++) {
    const int  id     = i < box.hi[0] ? index[HJDIndex(box, i, j, 0)] : base;
    const bool varies = __any_sync(0xffffffffu, id != begin);

    if (varies && j >= next) break;
    if (varies) flag |= HJ2D_SCALED | HJ2D_VARIES;
    if (id != begin && (IsOther(like, id) || IsOther(like, begin))) flag |= HJ2D_MIXED;
    if (id != base) flag |= HJ2D_SCALED;
    if (IsOther(like, id)) flag |= HJ2D_OTHER;
  }
  for (int bit = 1; bit <= HJ2D_VARIES; bit *= 2) {
    if (__any_sync(0xffffffffu, flag & bit)) flag |= bit;
  }
  if (flag & HJ2D_VARIES) j = next;
  if (threadIdx.x == 0) flags[patch] = flag | max(0, (j >> HJ2D_GROUP_SHIFT) - group - 1) << HJ2D_FLAGS;
}

/* HJ2DArgs::table, one block */
static __global__ void HJStream2DTable_Kernel(const PetscScalar *rows, const PetscScalar *dinv_rows, int nrows, int row, int base,
                                              PetscScalar *table)
{
  for (int i = threadIdx.x; i < nrows * (row + 1); i += blockDim.x) {
    const int r = i / (row + 1), o = i % (row + 1);

    table[i] = (o < row ? -rows[r * row + o] : dinv_rows[r]) / dinv_rows[base];
  }
}

static int HJStream2DFlagRows(const HJDBox *box)
{
  return ((box->hi[1] - 1) >> HJ2D_GROUP_SHIFT) - (box->lo[1] >> HJ2D_GROUP_SHIFT) + 1;
}

static int HJStream2DFlagColumns(const HJDBox *box)
{
  return (box->hi[0] - box->lo[0] + HJ2D_GROUP_COLS - 1) / HJ2D_GROUP_COLS;
}

static bool HJStream2DIsMany(const HJDStencil *st)
{
  return st->storage == HJ_DICTIONARY && st->nrows > 1;
}

/* Of the variants that have to do with the coarser grid */
static const HJ2DKernel *HJStream2DCoarserTable(const HJDStencil *st, int variant)
{
  if (st->storage == HJ_SYMMETRIC && st->shape == HJ_BOX) return HJ2DCorrects(variant) ? HJ2DBoxCorrectedKernels : HJ2DBoxRestrictedKernels;
  if (st->storage == HJ_SYMMETRIC) return HJ2DCorrects(variant) ? HJ2DSymmetricCorrectedKernels : HJ2DSymmetricRestrictedKernels;
  if (st->nrows > 1) return HJ2DCorrects(variant) ? HJ2DFrameCorrectedKernels : HJ2DFrameRestrictedKernels;
  return HJ2DCorrects(variant) ? HJ2DCorrectedKernels : HJ2DRestrictedKernels;
}

static const HJ2DKernel *HJStream2DTable(const HJDStencil *st)
{
  if (st->dim != 2) return NULL;
  if (st->shape == HJ_BOX)
    return st->storage == HJ_DICTIONARY ? HJ2DBoxKernels : st->storage == HJ_SYMMETRIC ? HJ2DSymmetricBoxKernels : NULL;
  return st->storage == HJ_DICTIONARY ? HJ2DStarKernels : st->storage == HJ_VARIABLE ? HJ2DVariableKernels : HJ2DSymmetricKernels;
}

/* Bytes for a block: its share of the multiprocessor, in proportion where that has less than an H200's */
static int HJStream2DBytes(const HJDevice *device, const HJ2DKernel *k)
{
  const long long share = (k->smem_bytes + 1024LL) * (long long)PetscMin(device->smem_sm, HJ2D_SM_BYTES) / HJ2D_SM_BYTES / 128 * 128 - 1024;

  return (int)PetscMax(k->least_bytes, share);
}

static bool HJStream2DFits(const HJDevice *device, const HJ2DKernel *k)
{
  return HJStream2DBytes(device, k) <= (long long)device->smem_block;
}

static HJ2DLike HJStream2DFindLike(const HJDStencil *st, int base)
{
  const int          n    = 1 + st->nneighbors;
  const PetscScalar *b    = st->h_rows + base * n;
  HJ2DLike           like = {};

  for (int r = 0; r < st->nrows; r++) {
    bool same = true;

    /* a row over its diagonal is rounded twice */
    for (int o = 0; o < n; o++) same = same && PetscAbsReal(st->h_rows[r * n + o] - b[o]) <= 2 * HJ_EPSILON * PetscAbsReal(b[o]);
    if (same) like.bits[r >> 5] |= 1u << (r & 31);
  }
  return like;
}

static PetscErrorCode HJStream2DFlags(HJ_CUDA *cu, cudaStream_t stream, HJ2DData *data)
{
  const HJDStencil *st = &cu->st;
  const int         nx = HJStream2DFlagColumns(&st->box), ny = HJStream2DFlagRows(&st->box), row = 1 + st->nneighbors;
  const long long   npatches = (long long)nx * ny;

  PetscFunctionBegin;
  if (!data->flags) PetscCall(HJAlloc(npatches, (void **)&data->flags));
  if (data->nrows < st->nrows) {
    PetscCallCUDA(cudaFree(data->table));
    data->nrows = 0;
    PetscCall(HJAlloc(st->nrows * (row + 1) * sizeof(PetscScalar), (void **)&data->table));
    data->nrows = st->nrows;
  }
  data->like = HJStream2DFindLike(st, cu->main_row);
  HJStream2DTable_Kernel<<<1, 256, 0, stream>>>(st->rows, st->dinv_rows, st->nrows, row, cu->main_row, data->table);
  PetscCallCUDA(cudaGetLastError());
  HJStream2DFlag_Kernel<<<(unsigned)((npatches + 7) / 8), dim3(32, 8), 0, stream>>>(st->index, st->box, cu->main_row, data->like, nx, ny,
                                                                                    data->flags);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJStream2DData(HJ_CUDA *cu, cudaStream_t stream, HJ2DData **data)
{
  PetscFunctionBegin;
  if (!cu->family_data) {
    PetscCall(PetscNew(data));
    (*data)->generation = cu->generation - 1;
    cu->family_data     = *data;
  }
  *data = (HJ2DData *)cu->family_data;
  if ((*data)->generation != cu->generation) {
    if (cu->st.storage == HJ_DICTIONARY && cu->st.nrows > 1) PetscCall(HJStream2DFlags(cu, stream, *data));
    (*data)->generation = cu->generation;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficients of each level from the base row and the weights that remain (a zero guess uses up the first) */
static void HJStream2DLevels(const HJDStencil *st, int base, int levels, const PetscReal *w, HJ2DArgs *g)
{
  g->single = levels % 2 ? w[levels - 1] : 0;
  for (int i = 0; i < levels / 2; i++) {
    g->sum[i]     = w[2 * i] + w[2 * i + 1];
    g->product[i] = w[2 * i] * w[2 * i + 1];
  }
  if (st->storage != HJ_DICTIONARY) return;
  const PetscScalar *row = st->h_rows + base * (1 + st->nneighbors);
  g->dinv_base           = st->h_dinv_rows[base];
  g->single_dinv         = g->single * g->dinv_base;
  for (int i = 0; i < levels / 2; i++) {
    g->sum[i] *= g->dinv_base;
    g->product[i] *= g->dinv_base * g->dinv_base;
  }
  for (int j = 0; j < levels; j++) {
    for (int o = 0; o <= st->nneighbors; o++) {
      PetscScalar *c = &g->c[HJ2DFactors(levels, j) * (1 + st->nneighbors) + o];

      if (j % 2) *c = (o ? 0 : g->sum[j / 2]) - g->product[j / 2] / g->dinv_base * row[o];
      else if (j < levels - 1) *c = -row[o] / g->dinv_base;
      else *c = (o ? 0 : 1) - g->single * row[o];
    }
  }
}

static void HJStream2DPointers(const HJDSweep *in, HJ2DSweep *s)
{
  s->x[0]    = in->xghost[0];
  s->x[1]    = in->x;
  s->x[2]    = in->xghost[1];
  s->b[0]    = in->bghost[0];
  s->b[1]    = in->b;
  s->b[2]    = in->bghost[1];
  s->y       = in->y;
  s->home_lo = in->home_lo;
  s->home_hi = in->home_hi;
  s->copy_lo = in->copy_lo;
  s->copy_hi = in->copy_hi;
  for (int side = 0; side < 2; side++) s->copy[side] = in->copy[side] ? in->copy[side] - in->y : 0;
}

/* Strips: each gives 128 - 2 margin columns, more where it ends at the domain's end */
static void HJStream2DStrips(const HJDSweep *in, int margin, HJ2DSweep *s)
{
  const int step = HJ2D_COLUMNS - 2 * margin;

  s->box_nx  = HJDWidth(in->box, 0);
  s->ybox_nx = HJDWidth(in->ybox, 0);
  for (int d = 0; d < 2; d++) {
    s->write_lo[d] = in->write.lo[d];
    s->write_hi[d] = in->write.hi[d];
    s->box_lo[d]   = in->box.lo[d];
    s->ybox_lo[d]  = in->ybox.lo[d];
    s->avail_lo[d] = PetscMax(in->box.lo[d], in->domain.lo[d]);
    s->avail_hi[d] = PetscMin(in->box.hi[d], in->domain.hi[d]);
  }
  s->wrap = in->wrap[0];
  if (s->wrap) {
    s->avail_lo[0] = s->write_lo[0] - margin;
    s->avail_hi[0] = s->write_hi[0] + margin;
  }
  s->strip_last  = PetscMax(s->avail_hi[0] - HJ2D_COLUMNS, s->avail_lo[0]);
  s->strip_first = PetscMax(s->avail_lo[0], PetscMin(s->write_lo[0] - margin, s->strip_last));
  /* enough strips to reach the end of write, but none beyond the one that ends at avail_hi */
  s->nstrips = 1 + (PetscMax(0, PetscMin(s->strip_last - s->strip_first, s->write_hi[0] - (s->strip_first + HJ2D_COLUMNS - margin))) +
                    step - 1) /
                     step;
  s->strip_last = PetscMin(s->strip_last, s->strip_first + (s->nstrips - 1) * step);
}

/* Chunks of a region, then its blocks */
static int HJStream2DRegionBlocks(const HJ2DArgs *g, HJ2DRegion *q, int chunk)
{
  const HJ2DSweep *s = &g->sweep[q->sweep];

  q->chunk = chunk;
  return q->nstrips * ((s->write_hi[1] - s->write_lo[1] + chunk - 1) / chunk);
}

static int HJStream2DBlocks(HJ2DArgs *g, int chunk)
{
  int n = 0;

  for (int i = 0; i < g->nregions; i++) n += HJStream2DRegionBlocks(g, &g->region[i], chunk);
  return n;
}

/* Rows of a chunk, so that whole waves of blocks end together; extra: rows that a chunk costs besides its own. Returns the number of
   blocks */
static int HJStream2DChunks(HJ2DArgs *g, int slots, int extra)
{
  int    height = 1, chunk = 1, nblocks = 0;
  double best = PETSC_MAX_REAL;

  for (int i = 0; i < g->nregions; i++) {
    const HJ2DSweep *s = &g->sweep[g->region[i].sweep];

    height = PetscMax(height, s->write_hi[1] - s->write_lo[1]);
  }
  const int least = (HJStream2DBlocks(g, height) + slots - 1) / slots;
  for (int waves = least; waves < least + HJ2D_WAVES; waves++) {
    int lo = 1, hi = height;
    while (lo < hi) {
      const int mid = (lo + hi) / 2;
      if (HJStream2DBlocks(g, mid) <= waves * slots) hi = mid;
      else lo = mid + 1;
    }
    const double cost = (double)waves * (lo + extra) * (1 + lo / HJ2D_DRIFT);
    if (cost < best) {
      best  = cost;
      chunk = lo;
    }
    if (lo < 4 * extra) break; /* shorter ones only cost more */
  }
  for (int i = 0; i < g->nregions; i++) {
    g->region[i].first_block = nblocks;
    nblocks += HJStream2DRegionBlocks(g, &g->region[i], chunk);
  }
  return nblocks;
}

static void HJStream2DStencil(const HJ_CUDA *cu, const HJ2DData *data, HJ2DArgs *g)
{
  const HJDStencil *st = &cu->st;

  g->base    = cu->main_row;
  g->nrows   = st->nrows;
  g->flags   = st->nrows > 1 ? data->flags : NULL;
  g->index   = st->index;
  g->like    = data->like;
  g->table   = data->table;
  g->dinv    = st->dinv;
  g->flag_nx = HJStream2DFlagColumns(&st->box);
  g->flag_y0 = st->box.lo[1] >> HJ2D_GROUP_SHIFT;
  g->coef_nx = HJDWidth(st->box, 0);
  for (int d = 0; d < 2; d++) {
    g->coef_lo[d] = st->box.lo[d];
    g->coef_hi[d] = st->box.hi[d];
  }
  for (int o = 0; o < 4; o++)
    g->value[o] = st->storage == HJ_VARIABLE                           ? st->value[o]
                  : st->storage == HJ_SYMMETRIC && st->shape == HJ_BOX ? st->value[4 + o]
                  : st->storage == HJ_SYMMETRIC && o < 2               ? st->value[2 * o + 1]
                                                                       : NULL;
}

/* The value of x at a point, which may be a ghost or lie beyond columns that wrap */
static __device__ __forceinline__ PetscScalar HJ2DSource(const HJ2DSweep &s, int column, int row)
{
  return s.x[(row >= s.home_lo) + (row >= s.home_hi)][(long long)(row - s.box_lo[1]) * s.box_nx + HJDWrap(column, s.wrap) - s.box_lo[0]];
}

/* In place, before the sweep: what each warp will read of its neighbours' points, as HJ2DConstant::FetchSaved() expects it. Blocks as
   the sweep's */
template <int VARIANT> static __global__ void __launch_bounds__(256) HJStream2DSave_Kernel(const __grid_constant__ HJ2DArgs g)
{
  constexpr int  BATCH = 8; /* loads do not pass stores */
  const HJ2DWarp w     = HJ2DLocate<VARIANT == HJ2D_MANY>(g, NULL);
  const int      own = w.c1 - w.c0, m = g.margin, below = w.y0 - w.row_lo, rows = w.row_hi - w.row_lo, beside = 2 * m * rows,
            n           = w.y0 < w.y1 ? beside + (rows - (w.y1 - w.y0)) * own : 0;
  const long long    nx = w.s->box_nx;
  const PetscScalar *x  = w.s->x[1] + (long long)(w.row_lo - w.s->box_lo[1]) * nx + (w.x0 - w.s->box_lo[0]);

  HJDLetNextStart();
  for (int first = threadIdx.x; first < n; first += 256 * BATCH) {
    PetscScalar t[BATCH];
#pragma unroll
    for (int u = 0; u < BATCH; u++) {
      const int i = first + 256 * u, q = i < beside ? i / (2 * m) : (i - beside) / own,
                k = i < beside ? i - q * 2 * m : i - beside - q * own;
      const int r = i < beside || q < below ? q : q + w.y1 - w.y0,
                c = i >= beside || k >= m ? (i < beside ? w.c1 - m : w.c0) + k : w.c0 - m + k;
      t[u] = i < n && c >= 0 && c < w.width ? (VARIANT == HJ2D_WRAP ? HJ2DSource(*w.s, w.x0 + c, w.row_lo + r) : x[r * nx + c]) : HJ_ZERO;
    }
#pragma unroll
    for (int u = 0; u < BATCH; u++) {
      if (first + 256 * u < n) w.saved[first + 256 * u] = t[u];
    }
  }
}

static const void *const HJ2DSaveKernels[HJ2D_CORRECTED] = {(const void *)HJStream2DSave_Kernel<HJ2D_ONE>,
                                                            (const void *)HJStream2DSave_Kernel<HJ2D_MANY>,
                                                            (const void *)HJStream2DSave_Kernel<HJ2D_WRAP>};

/* Its blocks start while the kernel before finishes, where the device can */
static PetscErrorCode HJStream2DLaunchKernel(const HJ_CUDA *cu, cudaStream_t stream, const void *kernel, int nblocks, int nthreads,
                                             int smem_bytes, HJ2DArgs *g)
{
  const HJLaunch how    = {dim3(nblocks), dim3(nthreads), (size_t)smem_bytes, stream, 0, cu->device.cc >= 90};
  void          *args[] = {g};

  PetscFunctionBegin;
  PetscCallCUDA(HJLaunchKernel(&how, kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In place: where the points of each region are saved */
static PetscErrorCode HJStream2DSave(HJ2DData *data, int nblocks, HJ2DArgs *g)
{
  long long n = 0;

  PetscFunctionBegin;
  for (int i = 0; i < g->nregions; i++) {
    HJ2DRegion      *q    = &g->region[i];
    const HJ2DSweep *s    = &g->sweep[q->sweep];
    const int        rows = s->write_hi[1] - s->write_lo[1], blocks = HJStream2DRegionBlocks(g, q, q->chunk);

    q->saved = n;
    n += g->chunks ? HJ2DSaved((long long)q->nstrips * rows, 0, g->margin) : HJ2DSaved((long long)blocks * q->chunk, blocks, g->margin);
  }
  if (g->chunks) n += HJ2DSaved(0, nblocks, g->margin);
  PetscCall(HJGrow(&data->saved, n * sizeof(PetscScalar), NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of a kernel that a multiprocessor holds */
static PetscErrorCode HJStream2DOccupancy(const HJ_CUDA *cu, const HJ2DKernel *k, const void *kernel, int smem_bytes, int *blocks)
{
  const long long sm    = (long long)cu->device.smem_sm;
  const int       carve = (int)PetscMin(100, k->blocks * (smem_bytes + 1024) * 100LL / sm);

  PetscFunctionBegin;
  if (*blocks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem_bytes));
  /* the rest is L1 cache; a multiprocessor changes the split only when it is empty, and the kernels of a sweep in place follow each
     other */
  PetscCallCUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, carve));
  for (const void *save : HJ2DSaveKernels) PetscCallCUDA(cudaFuncSetAttribute(save, cudaFuncAttributePreferredSharedMemoryCarveout, carve));
  PetscCallCUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, 32, smem_bytes));
  *blocks = (int)PetscMin(*blocks, PetscMax(1, sm / (smem_bytes + 1024)));
  PetscCheck(*blocks, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a 2D sweep of %d levels does not run here", k->levels);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void HJStream2DRegion(const HJDSweep *sweep, int i, HJ2DArgs *g)
{
  HJ2DSweep *s = &g->sweep[i];

  if (sweep->write.hi[0] <= sweep->write.lo[0] || sweep->write.hi[1] <= sweep->write.lo[1]) return;
  HJStream2DStrips(sweep, g->margin, s);
  g->region[g->nregions++] = {0, i, s->nstrips, 0, 0};
}

/* The variant that has to do with the coarser grid. Kernels of one row know no wrap where the slowest direction alone is a period */
static int HJStream2DCoarserVariant(const HJGrid *grid, const HJDStencil *st, int variant)
{
  const bool wraps = HJGridPeriod(grid, 0) || (st->storage != HJ_DICTIONARY && HJGridIsWrapped(grid));

  return wraps ? HJ2DWrapped(variant) : variant;
}

static int HJStream2DVariant(const HJ_CUDA *cu, const HJDSweep *sweeps, const HJGeometry *geometry)
{
  const bool in_place = !geometry->zero && geometry->in_place, ghosts = HJDWidth(sweeps[0].box, 1) > HJDWidth(sweeps[0].ybox, 1);

  if (geometry->corrects) return HJStream2DCoarserVariant(&cu->grid, &cu->st, HJ2D_CORRECTED);
  if (geometry->restricts) return HJStream2DCoarserVariant(&cu->grid, &cu->st, HJ2D_RESTRICTED);
  if (geometry->wraps || (in_place && ghosts)) return HJ2D_WRAP;
  return HJStream2DIsMany(&cu->st) ? HJ2D_MANY : HJ2D_ONE;
}

static PetscErrorCode HJStream2DLayoutCreate(HJ_CUDA *cu, cudaStream_t stream, const HJDSweep *sweeps, const HJGeometry *geometry,
                                             void **layout)
{
  const int         variant = HJStream2DVariant(cu, sweeps, geometry);
  const HJ2DKernel *table = variant < HJ2D_CORRECTED ? HJStream2DTable(&cu->st) : HJStream2DCoarserTable(&cu->st, variant), *k = table;
  const bool        in_place = !geometry->zero && geometry->in_place;
  const int         needed   = PetscMax(geometry->count - geometry->zero, 1);
  HJ2DData         *data;
  HJ2DLayout       *l;
  int              *blocks;

  PetscFunctionBegin;
  PetscCall(PetscNew(&l));
  *layout = l;
  PetscCall(HJStream2DData(cu, stream, &data));
  while (k->levels && k->levels != needed) k++;
  PetscCheck(k->levels, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d subiterations in one 2D sweep are too many", geometry->count);
  l->smem_bytes   = HJStream2DBytes(&cu->device, k);
  l->levels       = needed;
  l->coarser      = variant >= HJ2D_CORRECTED;
  l->g.margin     = HJ2DRestricts(variant) ? needed + 2 : needed; /* a coarse row needs residuals beside it, and these the result */
  l->g.zero_guess = geometry->zero;
  l->function     = in_place ? k->in_place[variant] : k->kernel[variant];
  l->save         = in_place ? HJ2DSaveKernels[variant] : NULL;
  blocks          = &data->blocks_sm[in_place][variant][k - table];
  PetscCall(HJStream2DOccupancy(cu, k, l->function, l->smem_bytes, blocks));
  HJStream2DStencil(cu, data, &l->g);
  for (int d = 0; d < 2; d++) { /* as the sweep's coordinates, see HJDSweep */
    l->g.coef_lo[d] -= geometry->first[d];
    l->g.coef_hi[d] -= geometry->first[d];
  }
  l->g.table_rows = (l->smem_bytes - k->least_bytes) / (int)((cu->st.nneighbors + 2) * sizeof(PetscScalar));
  for (int i = 0; i < geometry->nsweeps; i++) HJStream2DRegion(&sweeps[i], i, &l->g);
  if (!l->g.nregions) PetscFunctionReturn(PETSC_SUCCESS);
  const int slots = cu->device.nsm * PetscMin(*blocks, k->blocks);
  l->nblocks      = HJStream2DChunks(&l->g, slots, 2 * l->g.margin);
  if (variant == HJ2D_MANY) {
    l->nblocks = (l->nblocks + slots - 1) / slots * slots;
    PetscCall(HJ2DCutChunks(stream, l->nblocks, l->g.region[0].chunk, &l->g, &l->chunks));
  }
  if (in_place) PetscCall(HJStream2DSave(data, l->nblocks, &l->g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJStream2DLayoutDestroy(void *layout)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(((HJ2DLayout *)layout)->chunks));
  PetscCall(PetscFree(layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void HJStream2DCoarser(const HJGrid *grid, const HJCoarser *c, HJ2DArgs *g)
{
  g->coarse[0]  = c->beside[0] ? c->beside[0] + c->depth * c->n[0] : NULL;
  g->coarse[1]  = c->correction;
  g->coarse[2]  = c->beside[1] ? c->beside[1] - c->n[1] * c->n[0] : NULL;
  g->restricted = c->restricted;
  for (int d = 0; d < 2; d++) {
    g->coarse_n[d] = (int)c->n[d];
    for (int side = 0; side < 2; side++) {
      g->end_at[d][side]    = c->scale[d][side] == 1 ? HJ2D_NOWHERE : (int)((side ? grid->owned.hi[d] - 1 : 0) - c->first[d]);
      g->end_scale[d][side] = c->scale[d][side];
    }
  }
  for (int o = 0; o < 5; o++) g->c[HJ2D_RESIDUAL * 5 + o] = c->row ? -c->row[o] : g->c[o];
}

static PetscErrorCode HJStream2DLaunch(HJ_CUDA *cu, cudaStream_t stream, const HJDPass *pass, const void *layout)
{
  const HJDSweep   *sweeps = pass->sweep;
  const PetscReal  *w      = pass->w;
  const HJ2DLayout *l      = (const HJ2DLayout *)layout;
  const HJ2DData   *data   = (const HJ2DData *)cu->family_data;
  const int         zero   = l->g.zero_guess;
  const PetscReal   none   = 0; /* weight of a level that a zero guess of one subiteration does not need */
  HJ2DArgs          g      = l->g;

  PetscFunctionBegin;
  if (!g.nregions) PetscFunctionReturn(PETSC_SUCCESS);
  HJStream2DLevels(&cu->st, cu->main_row, l->levels, pass->count > zero ? w + zero : &none, &g);
  g.w0    = w[0];
  g.scale = zero ? w[0] * g.dinv_base : 1;
  g.saved = data->saved ? (PetscScalar *)data->saved->memory : NULL;
  /* the exchange itself has waited for what came before it */
  g.exchanged = pass->nsweeps == 1 && sweeps[0].exchanged && !l->save;
  if (l->coarser) HJStream2DCoarser(&cu->grid, pass->coarser, &g);
  for (int i = 0; i < pass->nsweeps; i++) HJStream2DPointers(&sweeps[i], &g.sweep[i]);
  if (l->save) PetscCall(HJStream2DLaunchKernel(cu, stream, l->save, l->nblocks, 256, 0, &g));
  PetscCall(HJStream2DLaunchKernel(cu, stream, l->function, l->nblocks, 32, l->smem_bytes, &g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJStream2DDestroy(HJ_CUDA *cu)
{
  HJ2DData *data = (HJ2DData *)cu->family_data;

  PetscFunctionBegin;
  if (data) {
    PetscCallCUDA(cudaFree(data->flags));
    PetscCallCUDA(cudaFree(data->table));
    PetscCall(HJGrownFree(&data->saved));
  }
  PetscCall(PetscFree(data));
  cu->family_data = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int HJStream2DMaxCount(const HJDevice *device, const HJGrid *, const HJDStencil *st)
{
  const HJ2DKernel *table   = HJStream2DTable(st);
  const int         variant = HJStream2DIsMany(st) ? HJ2D_MANY : HJ2D_ONE;
  int               n       = 0;

  for (int k = 0; table && table[k].kernel[variant] && HJStream2DFits(device, &table[k]); k++) n = table[k].levels;
  return n;
}

static int HJStream2DBestCount(const HJDevice *device, const HJGrid *grid, const HJDStencil *st)
{
  const int most = HJStream2DMaxCount(device, grid, st);

  if (st->storage != HJ_DICTIONARY) return most;
  return st->shape == HJ_BOX ? PetscMin(HJ2D_BOX_BEST, most) : st->nrows > HJ2D_FEW_ROWS ? PetscMin(HJ2D_ROWS_BEST, most) : most;
}

static int HJStream2DInPlace(const HJDevice *device, const HJGrid *grid, const HJDStencil *st)
{
  const HJ2DKernel *table   = HJStream2DTable(st);
  const bool        ghosts  = grid->neighbor[1][0] || grid->neighbor[1][1];
  const int         variant = HJGridHasNeighbors(grid) ? HJ2D_WRAP : HJStream2DIsMany(st) ? HJ2D_MANY : HJ2D_ONE;
  int               n       = 0;

  /* with ghosts HJ2D_WRAP's kernels alone can */
  if (ghosts && (HJStream2DIsMany(st) || HJBoxWidth(&grid->owned, 0) < HJ2D_COLUMNS)) return 0;
  for (int k = 0; table && table[k].levels && HJStream2DFits(device, &table[k]); k++) n = table[k].in_place[variant] ? table[k].levels : n;
  return PetscMin(n, HJStream2DMaxCount(device, grid, st));
}

/* In x sweeps of a dictionary of several rows do not wrap: their kernels have no registers left for it */
static bool HJStream2DWraps(const HJDevice *, const HJGrid *grid, const HJDStencil *st)
{
  return !grid->periodic[0] || (!HJStream2DIsMany(st) && HJBoxWidth(&grid->owned, 0) >= HJ2D_COLUMNS);
}

/* Whether its rows are those of a frame, on a grid that the kernels of frames take: where it is cut into lines the first and the last one
   known are the domain's or one of those inside, for ranks are no thinner than what a sweep reads */
static bool HJStream2DIsFrame(const HJGrid *grid, const HJDStencil *st)
{
  return st->frame && HJDWidth(st->box, 0) >= 2 * HJ2D_COLUMNS && HJDWidth(st->box, 1) >= HJ2D_COLUMNS && grid->min_width >= HJ2D_COLUMNS;
}

/* Sweeps that have to do with the coarser grid */
static bool HJStream2DHas(const HJDevice *device, const HJGrid *grid, const HJDStencil *st, int plain, int levels)
{
  const int         variant   = HJStream2DCoarserVariant(grid, st, plain);
  const HJ2DKernel *k         = HJStream2DCoarserTable(st, variant);
  const bool        whole     = HJBoxWidth(&grid->owned, 0) >= HJ2D_COLUMNS && (!HJGridHasNeighbors(grid) || HJGridIsWrapped(grid));
  const bool        symmetric = st->storage == HJ_SYMMETRIC && whole;

  if (st->dim != 2 || !(symmetric || (st->storage == HJ_DICTIONARY && st->shape == HJ_STAR))) return false;
  while (k->levels && k->levels != levels) k++;
  if (!k->levels || !k->kernel[variant] || !HJStream2DFits(device, k)) return false;
  return symmetric || st->nrows == 1 || (HJStream2DIsFrame(grid, st) && !HJGridIsWrapped(grid));
}

static int HJStream2DTakes(const HJDevice *device, const HJAsk *ask)
{
  const HJGrid     *grid = ask->grid;
  const HJDStencil *st   = ask->st;

  switch (ask->kind) {
  case HJ_EXACT:
    return HJStream2DMaxCount(device, grid, st);
  case HJ_SLAB: /* a launch is laid out by the index, which is another for each slab */
    return st->storage == HJ_DICTIONARY && st->nrows == 1 ? HJStream2DMaxCount(device, grid, st) : 0;
  case HJ_CORRECTS:
    if (HJGridPeriod(grid, 0) && !HJStream2DWraps(device, grid, st)) return 0;
    return HJStream2DHas(device, grid, st, HJ2D_CORRECTED, ask->count);
  case HJ_RESTRICTS:
    if (HJBoxWidth(&grid->owned, 0) < HJ2D_COLUMNS) return 0;
    return HJStream2DHas(device, grid, st, HJ2D_RESTRICTED, ask->count - 1);
  default:
    return 0;
  }
}

const HJFamily HJFamilyStream2D = {
  .name           = "2D stream",
  .takes          = HJStream2DTakes,
  .best_count     = HJStream2DBestCount,
  .launch         = HJStream2DLaunch,
  .layout         = HJStream2DLayoutCreate,
  .layout_destroy = HJStream2DLayoutDestroy,
  .destroy        = HJStream2DDestroy,
  .in_place       = HJStream2DInPlace,
  .wraps          = HJStream2DWraps,
  .ghosts         = true,
  .copies         = true,
  .only_beside    = true,
  .placed         = true,
  .needs_no_index = true,
};

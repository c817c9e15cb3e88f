/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Stencils of points with several unknowns from the arrays of a stencil matrix in device memory, on one rank: few distinct rows, found by a
   hash and compared afterwards, or the arrays of a stencil with the inverse of each point's block. A thread does a point.
*/
#include "cuda/kernels/hjsystem.cuh"
#include "cuda/device/hjscratch.h"
#include "core/hjblock.h"
#include "hjlayers_cuda.h"
#include "hjsystemread.h"

#define HJ_SYSTEM_PLACES 2048 /* of the table of distinct rows, a power of 2, several times as many as are told apart */
#define HJ_SYSTEM_PROBES 64

typedef struct {
  unsigned long long key[HJ_SYSTEM_PLACES];   /* hash of a row; 0: nothing is there */
  unsigned int       first[HJ_SYSTEM_PLACES]; /* point */
  int                n;
  int                end; /* there are too many, or two rows share a hash */
} HJSystemTable;

/* Arrays of a matrix: slots of an offset are from[o] to from[o + 1] - 1 */
typedef struct {
  const double   *value;
  long long       npoints;
  int             n[3], nslots;
  HJDBox          domain;
  HJSystemEntries e;
  short           from[HJ_MAX_SLOTS + 1], box[HJ_MAX_SLOTS]; /* box: slot of a box of each offset */
} HJSystemFine;

/* What a reader keeps between a scan and what is made of it */
typedef struct {
  unsigned short *d_id;  /* [npoints] place in the table */
  unsigned short *place; /* [n] of each row */
} HJSystemIds;

static HJSystemFine HJSystemFineOf(const HJCoefficients *c, const HJGrid *grid)
{
  HJSystemFine f = {};
  HJBox        domain;

  f.value   = c->value;
  f.npoints = c->npoints;
  f.nslots  = (int)c->nslots;
  for (int d = 0; d < 3; d++) { /* a periodic direction has no end */
    f.n[d]       = (int)grid->owned.hi[d];
    domain.lo[d] = PetscMax(grid->domain.lo[d], -2);
    domain.hi[d] = PetscMin(grid->domain.hi[d], grid->owned.hi[d] + 2);
  }
  f.domain = HJDBoxFrom(&domain);
  HJSystemEntriesSet(c->dim, c->shape, c->dof, c->nslots, c->entry, &f.e);
  for (PetscInt s = 0; s < c->nslots; s++) f.from[c->entry[s].slot + 1]++;
  for (int o = 0; o < f.e.noffsets; o++) {
    f.from[o + 1] += f.from[o];
    f.box[o] = (short)HJShapeBoxSlot(c->dim, c->shape, o);
  }
  return f;
}

/* Whether an offset leads out of the domain from a point */
static __device__ __forceinline__ bool HJSystemLeaves(const HJSystemFine &f, int o, const int at[3])
{
  return !HJDInside(f.domain, at[0] + f.e.off[o][0], at[1] + f.e.off[o][1], at[2] + f.e.off[o][2]);
}

static __device__ __forceinline__ void HJSystemAt(const int n[3], long long p, int at[3])
{
  const long long line = p / n[0];

  at[0] = (int)(p - line * n[0]);
  at[2] = (int)(line / n[1]);
  at[1] = (int)(line - (long long)at[2] * n[1]);
}

static __device__ unsigned long long HJSystemHash(const HJSystemFine &f, long long p)
{
  unsigned long long h = 1;
  int                at[3];

  HJSystemAt(f.n, p, at);
  for (int o = 0; o < f.e.noffsets; o++) {
    if (HJSystemLeaves(f, o, at)) h = HJMixBits(h + 2 * o + 3);
    else
      for (int s = f.from[o]; s < f.from[o + 1]; s++)
        h = HJMixBits(h + (unsigned long long)__double_as_longlong(f.value[s * f.npoints + p]) * 3 + 1);
  }
  return h | 1;
}

/* The place of a hash in the table, -1: there is none */
static __device__ int HJSystemInsert(HJSystemTable *table, unsigned long long key, int max)
{
  for (int probe = 0; probe < HJ_SYSTEM_PROBES; probe++) {
    const int          place = (int)((key >> 20) + probe) & (HJ_SYSTEM_PLACES - 1);
    unsigned long long there = *(volatile unsigned long long *)&table->key[place];

    if (!there) {
      there = atomicCAS(&table->key[place], 0ULL, key);
      if (!there && atomicAdd(&table->n, 1) >= max) return -1;
      if (!there) there = key;
    }
    if (there == key) return place;
  }
  return -1;
}

static __global__ void __launch_bounds__(HJ_SETUP_THREADS)
  HJSystemScan_Kernel(const __grid_constant__ HJSystemFine f, int max, HJSystemTable *table, unsigned short *id)
{
  for (long long p = blockIdx.x * (long long)blockDim.x + threadIdx.x; p < f.npoints; p += (long long)gridDim.x * blockDim.x) {
    if (*(volatile int *)&table->end) return;
    const int place = HJSystemInsert(table, HJSystemHash(f, p), max);

    if (place < 0) {
      table->end = 1;
      return;
    }
    id[p] = (unsigned short)place;
    if (p < *(volatile unsigned int *)&table->first[place]) atomicMin(&table->first[place], (unsigned int)p);
  }
}

/* Whether each point has the row of the first one with its hash */
static __global__ void __launch_bounds__(HJ_SETUP_THREADS)
  HJSystemCompare_Kernel(const __grid_constant__ HJSystemFine f, HJSystemTable *table, const unsigned short *id)
{
  for (long long p = blockIdx.x * (long long)blockDim.x + threadIdx.x; p < f.npoints && !table->end;
       p += (long long)gridDim.x * blockDim.x) {
    const long long q    = table->first[id[p]];
    bool            same = true;
    int             at[3], there[3];

    HJSystemAt(f.n, p, at);
    HJSystemAt(f.n, q, there);
    for (int o = 0; o < f.e.noffsets; o++) {
      const bool leaves = HJSystemLeaves(f, o, at);

      same = same && leaves == HJSystemLeaves(f, o, there);
      for (int s = f.from[o]; s < f.from[o + 1] && !leaves; s++)
        same = same && __double_as_longlong(f.value[s * f.npoints + p]) == __double_as_longlong(f.value[s * f.npoints + q]);
    }
    if (!same) table->end = 1;
  }
}

static __global__ void HJSystemGather_Kernel(const __grid_constant__ HJSystemFine f, int n, const long long *first, double *rows)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n * f.nslots; i += gridDim.x * blockDim.x)
    rows[i] = f.value[(long long)(i % f.nslots) * f.npoints + first[i / f.nslots]];
}

static unsigned HJSystemReadBlocks(long long n)
{
  return (unsigned)PetscMin((n + HJ_SETUP_THREADS - 1) / HJ_SETUP_THREADS, 1LL << 20);
}

static int HJSystemOrder(const void *a, const void *b)
{
  const unsigned int *x = (const unsigned int *)a, *y = (const unsigned int *)b;

  return x[0] < y[0] ? -1 : x[0] > y[0];
}

/* The rows of a table in the order of their first points, and what each has outside the domain */
static PetscErrorCode HJSystemSort(const HJSystemTable *table, const HJGrid *grid, const HJSystemFine *f, HJSystemRows *out)
{
  HJSystemIds *ids = (HJSystemIds *)out->ids;
  unsigned int pair[HJ_SYSTEM_PLACES][2]; /* first point, place */
  int          n = 0;

  PetscFunctionBegin;
  for (int i = 0; i < HJ_SYSTEM_PLACES; i++) {
    if (!table->key[i]) continue;
    pair[n][0]   = table->first[i];
    pair[n++][1] = (unsigned int)i;
  }
  qsort(pair, n, sizeof(pair[0]), HJSystemOrder);
  out->n = n;
  PetscCall(PetscMalloc1(n, &out->first));
  PetscCall(PetscCalloc1(n, &out->outside));
  PetscCall(PetscMalloc1((size_t)n * f->nslots, &out->rows));
  PetscCall(PetscMalloc1(n, &ids->place));
  for (int i = 0; i < n; i++) {
    const PetscInt *w     = grid->owned.hi;
    const PetscInt  p     = (PetscInt)pair[i][0];
    const PetscInt  at[3] = {p % w[0], p / w[0] % w[1], p / w[0] / w[1]};

    out->first[i] = p;
    ids->place[i] = (unsigned short)pair[i][1];
    for (PetscInt s = 0; s < HJShapeSlots(grid->dim, HJ_BOX); s++) {
      PetscInt off[3];

      HJShapeOffset(grid->dim, HJ_BOX, s, off);
      if (!HJPointInside(&grid->domain, at[0] + off[0], at[1] + off[1], at[2] + off[2])) out->outside[i] |= 1u << s;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSystemGather(cudaStream_t stream, const HJSystemFine *f, HJSystemRows *out)
{
  const size_t bytes = (size_t)out->n * f->nslots * sizeof(double);
  long long   *first, *d_first;
  double      *d_rows;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(out->n, &first));
  for (PetscInt i = 0; i < out->n; i++) first[i] = out->first[i];
  PetscCall(HJScratchAlloc(stream, bytes, (void **)&d_rows));
  PetscCall(HJScratchAlloc(stream, out->n * sizeof(*first), (void **)&d_first));
  PetscCallCUDA(cudaMemcpyAsync(d_first, first, out->n * sizeof(*first), cudaMemcpyHostToDevice, stream));
  HJSystemGather_Kernel<<<HJSystemReadBlocks((long long)out->n * f->nslots), HJ_SETUP_THREADS, 0, stream>>>(*f, (int)out->n, d_first,
                                                                                                            d_rows);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(out->rows, d_rows, bytes, cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(HJScratchFree(stream, d_rows));
  PetscCall(HJScratchFree(stream, d_first));
  PetscCall(PetscFree(first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSystemScan_CUDA(const HJCoefficients *c, const HJGrid *grid, PetscInt max, HJSystemRows *out)
{
  const HJSystemFine f = HJSystemFineOf(c, grid);
  HJSystemIds       *ids;
  HJSystemTable     *table, *d_table;
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCall(PetscNew(&ids));
  out->ids = ids;
  out->n   = -1;
  PetscCall(PetscNew(&table));
  for (int i = 0; i < HJ_SYSTEM_PLACES; i++) table->first[i] = UINT_MAX;
  PetscCall(HJStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(HJScratchAlloc(stream, c->npoints * sizeof(*ids->d_id), (void **)&ids->d_id));
  PetscCall(HJScratchAlloc(stream, sizeof(*table), (void **)&d_table));
  PetscCallCUDA(cudaMemcpyAsync(d_table, table, sizeof(*table), cudaMemcpyHostToDevice, stream));
  HJSystemScan_Kernel<<<HJSystemReadBlocks(c->npoints), HJ_SETUP_THREADS, 0, stream>>>(f, (int)max, d_table, ids->d_id);
  PetscCallCUDA(cudaGetLastError());
  HJSystemCompare_Kernel<<<HJSystemReadBlocks(c->npoints), HJ_SETUP_THREADS, 0, stream>>>(f, d_table, ids->d_id);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(table, d_table, sizeof(*table), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(HJScratchFree(stream, d_table));
  if (!table->end) {
    PetscCall(HJSystemSort(table, grid, &f, out));
    PetscCall(HJSystemGather(stream, &f, out));
  }
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscFree(table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSystemFree_CUDA(HJSystemRows *rows)
{
  HJSystemIds *ids = (HJSystemIds *)rows->ids;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscFree(rows->first));
  PetscCall(PetscFree(rows->outside));
  PetscCall(PetscFree(rows->rows));
  if (!ids) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  PetscCall(HJScratchFree(stream, ids->d_id));
  PetscCall(PetscFree(ids->place));
  PetscCall(PetscFree(rows->ids));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A place of a box around the points of a rank that is its own neighbour, as one of these points */
static __device__ __forceinline__ long long HJSystemWrapped(const HJDBox &box, const int n[3], long long place, int at[3])
{
  const int w[3] = {HJDWidth(box, 0), HJDWidth(box, 1), HJDWidth(box, 2)};

  HJSystemAt(w, place, at);
  for (int d = 0; d < 3; d++) at[d] = (at[d] + box.lo[d] + n[d] * HJ_MAX_PAD) % n[d];
  return ((long long)at[2] * n[1] + at[1]) * n[0] + at[0];
}

static __global__ void HJSystemNumber_Kernel(HJDBox box, int nx, int ny, int nz, const unsigned short *id, const unsigned char *map,
                                             unsigned char *index)
{
  const int       n[3] = {nx, ny, nz};
  const long long size = (long long)HJDWidth(box, 0) * HJDWidth(box, 1) * HJDWidth(box, 2);

  for (long long b = blockIdx.x * (long long)blockDim.x + threadIdx.x; b < size; b += (long long)gridDim.x * blockDim.x) {
    int at[3];

    index[b] = map[id[HJSystemWrapped(box, n, b, at)]];
  }
}

PetscErrorCode HJSystemNumber_CUDA(const HJSystemRows *rows, const HJGrid *grid, const HJBox *box, const unsigned char map[],
                                   unsigned char *index)
{
  const HJSystemIds *ids = (const HJSystemIds *)rows->ids;
  const PetscInt    *n   = grid->owned.hi;
  unsigned char      number[HJ_SYSTEM_PLACES], *d_map;
  cudaStream_t       stream;

  PetscFunctionBegin;
  memset(number, 0, sizeof(number));
  for (PetscInt i = 0; i < rows->n; i++) number[ids->place[i]] = map[i];
  PetscCall(HJStream(&stream));
  PetscCall(HJScratchAlloc(stream, sizeof(number), (void **)&d_map));
  PetscCallCUDA(cudaMemcpyAsync(d_map, number, sizeof(number), cudaMemcpyHostToDevice, stream));
  HJSystemNumber_Kernel<<<HJSystemReadBlocks(HJBoxSize(box)), HJ_SETUP_THREADS, 0, stream>>>(HJDBoxFrom(box), (int)n[0], (int)n[1],
                                                                                             (int)n[2], ids->d_id, d_map, index);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaStreamSynchronize(stream)); /* number is on the stack */
  PetscCall(HJScratchFree(stream, d_map));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSystemFew_CUDA(const HJCoefficients *c, const HJGrid *grid, HJFewRows *few)
{
  const int     width[3] = {(int)grid->owned.hi[0], (int)grid->owned.hi[1], (int)grid->owned.hi[2]};
  HJSystemRows  found    = {};
  unsigned char map[HJ_MAX_ROWS];

  PetscFunctionBegin;
  memset(few, 0, sizeof(*few));
  if (!c->npoints) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < HJ_MAX_ROWS; i++) map[i] = (unsigned char)i;
  PetscCall(HJSystemScan_CUDA(c, grid, HJ_MAX_ROWS, &found));
  if (found.n > 0 && found.n <= c->npoints / HJ_SYSTEM_FEW) {
    const size_t bytes = (size_t)found.n * c->nslots * sizeof(*few->rows);
    int          layers, row;

    PetscCall(HJAlloc((size_t)c->npoints, (void **)&few->which));
    PetscCall(HJAlloc(bytes, (void **)&few->rows));
    PetscCallCUDA(cudaMemcpy(few->rows, found.rows, bytes, cudaMemcpyHostToDevice));
    PetscCall(HJSystemNumber_CUDA(&found, grid, &grid->owned, map, few->which));
    PetscCall(HJLayersFind_CUDA(few->which, width, &layers, &row));
    PetscCall(PetscMalloc1(c->nslots, &few->main));
    PetscCall(PetscArraycpy(few->main, found.rows + (size_t)row * c->nslots, c->nslots));
    few->n      = found.n;
    few->layers = PetscMax(layers, 1);
  }
  PetscCall(HJSystemFree_CUDA(&found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  unsigned long long gershgorin; /* bits of a double that is not negative */
  unsigned int       singular;   /* point */
} HJSystemFilled;

typedef struct {
  HJSystemFine f;
  HJDBox       box;
  int          ninverse, nentries;
  const int   *slot; /* [nentries] of f that is copied; of the first ninverse place in the inverse */
  double      *values;
} HJSystemFillArgs;

/* The block of a point, with 1 on the diagonal of a row of zeros */
static __device__ void HJSystemOwnBlock(const HJSystemFine &f, long long p, double *block)
{
  const int dof = f.e.dof;

  for (int r = 0; r < dof; r++) {
    bool zero = true;

    for (int c = 0; c < dof; c++) block[r * dof + c] = f.e.mask[0][r] >> c & 1 ? f.value[HJSystemEntry(f.e, 0, r, c) * f.npoints + p] : 0.0;
    if (block[r * dof + r] != 0.0) continue;
    for (int o = 0; o < f.e.noffsets && zero; o++)
      for (int c = 0; c < dof && zero; c++)
        zero = !(f.e.mask[o][r] >> c & 1) || f.value[HJSystemEntry(f.e, o, r, c) * f.npoints + p] == 0.0;
    if (zero) block[r * dof + r] = 1.0;
  }
}

/* The largest sum of a row of |D^-1 A|, infinity where it is no number */
static __device__ double HJSystemRowSums(const HJSystemFine &f, long long p, const double *inverse)
{
  const int dof  = f.e.dof;
  double    most = 0.0;

  for (int r = 0; r < dof; r++) {
    double sum = 1.0;

    for (int e = 0; e < dof * dof; e++) sum += 0.0 * fabs(inverse[e]);
    for (int o = 1; o < f.e.noffsets; o++) { /* arrays are 0 where they lead outside */
      for (int c = 0; c < dof; c++) {
        double entry = 0.0;

        for (int l = 0; l < dof; l++)
          if (f.e.mask[o][l] >> c & 1) entry += inverse[r * dof + l] * f.value[HJSystemEntry(f.e, o, l, c) * f.npoints + p];
        sum += fabs(entry);
      }
    }
    most = sum <= most ? most : sum <= PETSC_MAX_REAL ? sum : HUGE_VAL;
  }
  return most;
}

static __global__ void __launch_bounds__(HJ_SETUP_THREADS)
  HJSystemFill_Kernel(const __grid_constant__ HJSystemFillArgs g, HJSystemFilled *filled)
{
  const int       w    = HJDWidth(g.box, 0);
  const long long size = (long long)w * HJDWidth(g.box, 1) * HJDWidth(g.box, 2);

  for (long long b = blockIdx.x * (long long)blockDim.x + threadIdx.x; b < size; b += (long long)gridDim.x * blockDim.x) {
    double          block[HJ_DEVICE_DOF * HJ_DEVICE_DOF], inverse[HJ_DEVICE_DOF * HJ_DEVICE_DOF];
    int             at[3];
    const long long p  = HJSystemWrapped(g.box, g.f.n, b, at);
    double         *to = g.values + b / w * g.nentries * w + b % w;

    HJSystemOwnBlock(g.f, p, block);
    if (!HJBlockInvert(g.f.e.dof, block, inverse)) atomicMin(&filled->singular, (unsigned int)p);
    else atomicMax(&filled->gershgorin, (unsigned long long)__double_as_longlong(HJSystemRowSums(g.f, p, inverse)));
    for (int e = 0; e < g.nentries; e++) {
      to[(long long)e * w] = e < g.ninverse ? inverse[g.slot[e]] : g.f.value[g.slot[e] * g.f.npoints + p];
    }
  }
}

PetscErrorCode HJSystemFill_CUDA(const HJCoefficients *c, const HJGrid *grid, const HJStencil *st, PetscCount *singular,
                                 PetscReal *gershgorin)
{
  HJSystemFillArgs g      = {HJSystemFineOf(c, grid), HJDBoxFrom(&st->box), (int)st->ninverse, (int)st->nentries, NULL, st->values};
  HJSystemFilled   filled = {0, UINT_MAX}, *d_filled;
  int             *slot, *d_slot;
  cudaStream_t     stream;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(st->nentries, &slot));
  for (PetscInt e = 0; e < st->nentries; e++) {
    const HJEntry *entry = &st->entry[e];
    PetscInt       off[3];

    HJShapeOffset(st->dim, st->shape, entry->slot, off);
    slot[e] = (int)(e < st->ninverse ? entry->row * st->dof + entry->column
                                     : HJSlotOfEntry(c, HJSlotAt(c, off), entry->row, entry->column));
  }
  PetscCall(HJStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(HJScratchAlloc(stream, st->nentries * sizeof(*slot), (void **)&d_slot));
  PetscCall(HJScratchAlloc(stream, sizeof(filled), (void **)&d_filled));
  PetscCallCUDA(cudaMemcpyAsync(d_slot, slot, st->nentries * sizeof(*slot), cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaMemcpyAsync(d_filled, &filled, sizeof(filled), cudaMemcpyHostToDevice, stream));
  g.slot = d_slot;
  HJSystemFill_Kernel<<<HJSystemReadBlocks(HJBoxSize(&st->box)), HJ_SETUP_THREADS, 0, stream>>>(g, d_filled);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&filled, d_filled, sizeof(filled), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(HJScratchFree(stream, d_slot));
  PetscCall(HJScratchFree(stream, d_filled));
  PetscCall(PetscLogGpuTimeEnd());
  PetscCall(PetscFree(slot));
  *singular = filled.singular;
  memcpy(gershgorin, &filled.gershgorin, sizeof(*gershgorin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Reads the rows of AIJCUSPARSE matrices, and of stencil matrices in device memory, where they lie: finds the distinct ones, numbers the
   points, fills coefficient arrays on the device. Decides nothing about them (src/stencil and src/mat do); the matrix is never copied to
   the host. A thread takes whole rows, so values and sums come out with the same bits as on the host.
*/
#include "hjcuda.h"
#include "cuda/kernels/setup/hjsystemread.h"
#include "cuda/kernels/sweep/hjpoints.cuh"
#include "cuda/kernels/setup/hjmeasure.cuh"
#include "cuda/device/hjscratch.h"
#include "core/hjarrays.h"
#include "core/hjreader.h"
#include "hjarrays_cuda.h"

#include <cfloat>
#include <cmath>
#include <stddef.h>
#include <string.h>

#if PetscDefined(HAVE_CUDA) && !PetscDefined(USE_64BIT_INDICES)

  #define HJ_SLOTS 16384
  #define HJ_NONE  0x7fffffff

typedef unsigned long long HJWord;

/* The points whose rows are read, by slots of a box */
struct HJDPoints {
  HJRowLayout  l;
  unsigned int edge[3][2]; /* slots that lead out of this rank's points on that side */
  unsigned int star;       /* slots that a star has too */
  int          n;          /* below 2^31: to be counted up to in steps of many points it takes unsigned numbers */
};

/* Rows of an AIJ matrix */
struct HJDRows : HJDPoints {
  const PetscInt *Ai, *Aj, *Bi, *Bj, *garray;
  const double   *Aa, *Ba;
};

/* Rows of a stencil matrix */
struct HJDCoefficients : HJDPoints {
  HJEntries   e;
  signed char box[HJ_MAX_SLOTS]; /* slot of a box of each of the matrix */
};

/* Distinct rows while they are looked for, by the hash of the row */
typedef struct {
  HJWord   key[HJ_SLOTS]; /* 0: free */
  unsigned first[HJ_SLOTS];
  HJWord   wide; /* row and entry */
  int      n, ninner, full, box;
} HJDTable;

typedef struct {
  HJWord wide, gershgorin; /* bits of a double >= 0 are in its order */
  int    zero_row, misfit;
} HJDFill;

/* When a scan may end because there are too many rows */
typedef enum {
  HJ_SCAN_ALL,
  HJ_SCAN_BOX, /* when a nonzero outside the star was seen, or there is no place for one */
  HJ_SCAN_FEW  /* at once */
} HJScanEnd;

typedef struct {
  HJDRows         rows;
  HJDCoefficients c;
  PetscBool       is_stencil; /* c is read, else rows */
  HJScanEnd       end;        /* of scans */
  PetscBool       compared;   /* halves of points whose neighbours are all this rank's, when arrays were filled */
  Mat             A, B;
  cudaStream_t    stream;
  int             blocks;
  PetscInt       *d_garray;
  unsigned short *d_id; /* slot, then entry, of each point */
} HJReadContext;

typedef struct {
  int          p[3];
  bool         inner; /* all neighbours are this rank's */
  unsigned int outside;
} HJDPoint;

static __device__ HJDPoint HJPointOfRow(const HJDPoints &g, int r)
{
  HJDPoint q;

  q.p[0]    = r % g.l.width[0];
  q.p[1]    = r / g.l.width[0] % g.l.width[1];
  q.p[2]    = r / g.l.width[0] / g.l.width[1];
  q.inner   = true;
  q.outside = 0;
  #pragma unroll
  for (int d = 0; d < 3; d++) {
    const bool low = q.p[d] == 0, high = q.p[d] == g.l.width[d] - 1;

    if (d < g.l.dim && (low || high)) q.inner = false;
    if (low && !g.l.neighbor[d][0]) q.outside |= g.edge[d][0];
    if (high && !g.l.neighbor[d][1]) q.outside |= g.edge[d][1];
  }
  return q;
}

/* Column of the point that slot c leads to, which is in the domain; as HJRowsSetLine() */
static __device__ int HJColumnOfSlot(const HJDRows &g, const HJDPoint &q, int c)
{
  int s[3], at[3];

  #pragma unroll
  for (int d = 0; d < 3; d++) {
    const int to = q.p[d] + HJShapeStep(g.l.dim, HJ_BOX, c, d);

    s[d]  = to < 0 ? 0 : to >= g.l.width[d] ? 2 : 1;
    at[d] = s[d] == 0 ? to + g.l.other[d][0] : s[d] == 1 ? to : to - g.l.width[d];
  }
  return g.l.start[2][s[2]] * g.l.N[0] * g.l.N[1] +
         g.l.other[2][s[2]] * (g.l.start[1][s[1]] * g.l.N[0] + g.l.other[1][s[1]] * g.l.start[0][s[0]]) +
         (at[2] * g.l.other[1][s[1]] + at[1]) * g.l.other[0][s[0]] + at[0];
}

/* Neighbour that a column of row r leads to; -1: none */
static __device__ int HJSlotOfColumn(const HJDRows &g, const HJDPoint &q, int r, int column)
{
  if (q.inner) {
    const int nx = g.l.width[0], plane = nx * g.l.width[1], delta = column - g.l.row_start - r;
    const int dz = g.l.dim < 3 ? 0 : (delta > nx + 1) - (delta < -nx - 1), line = delta - dz * plane;
    const int dy = g.l.dim < 2 ? 0 : (line > 1) - (line < -1), dx = line - dy * nx;

    return dx < -1 || dx > 1 ? -1 : HJShapeSlot(g.l.dim, HJ_BOX, dx, dy, dz);
  }
  for (int n = 0; n < g.l.nslots; n++) {
    const int c = g.l.order[n];

    if (!(q.outside >> c & 1) && HJColumnOfSlot(g, q, c) == column) return c;
  }
  return -1;
}

/* Entries of one row: those of the diagonal block, then those of the other */
struct HJDRow {
  int        a, b, na, nnz;
  __device__ HJDRow(const HJDRows &g, int r)
      : a(g.Ai[r]), b(g.Bi ? g.Bi[r] : 0), na(g.Ai[r + 1] - a), nnz(na + (g.Bi ? g.Bi[r + 1] - b : 0))
  {
  }
  __device__ int    column(const HJDRows &g, int t) const { return t < na ? g.l.row_start + g.Aj[a + t] : g.garray[g.Bj[b + t - na]]; }
  __device__ double value(const HJDRows &g, int t) const { return t < na ? g.Aa[a + t] : g.Ba[b + t - na]; }
  __device__ int    slot(const HJDRows &g, const HJDPoint &q, int r, int t) const { return HJSlotOfColumn(g, q, r, column(g, t)); }
};

/* Coefficients of one point, 0 where they lead outside the domain */
struct HJDStencilRow {
  int           nnz, at;
  unsigned int  outside;
  const double *row;
  __device__    HJDStencilRow(const HJDCoefficients &g, const HJDPoint &q, int r)
      : nnz(g.e.nslots), at(r), outside(q.outside), row(g.e.index ? g.e.rows + g.e.index[r] * g.e.nslots : g.e.row)
  {
  }
  __device__ double value(const HJDCoefficients &g, int t) const
  {
    if (outside >> g.box[t] & 1) return 0.0;
    return g.e.value ? g.e.value[g.e.begin[t] + at] : row[t];
  }
  __device__ int slot(const HJDCoefficients &g, const HJDPoint &, int, int t) const { return g.box[t]; }
};

static __device__ HJDRow HJRowOf(const HJDRows &g, const HJDPoint &, int r)
{
  return HJDRow(g, r);
}

static __device__ HJDStencilRow HJRowOf(const HJDCoefficients &g, const HJDPoint &q, int r)
{
  return HJDStencilRow(g, q, r);
}

/* Slot of a hash, made if need be; -1 where there are too many */
static __device__ int HJTableFind(HJDTable *table, HJWord key, bool inner)
{
  for (int n = 0, slot = (int)(key % HJ_SLOTS); n < HJ_SLOTS; n++, slot = (slot + 1) % HJ_SLOTS) {
    HJWord found = *(volatile HJWord *)&table->key[slot];

    if (found == key) return slot;
    if (*(volatile int *)&table->full) return -1;
    if (!found) {
      found = atomicCAS(&table->key[slot], 0ull, key);
      if (!found) {
        if (atomicAdd(&table->n, 1) >= HJ_MAX_RAW_ROWS || (inner && atomicAdd(&table->ninner, 1) >= HJ_MAX_ROWS)) {
          *(volatile int *)&table->full = 1;
          return -1;
        }
        return slot;
      }
      if (found == key) return slot;
    }
  }
  return -1;
}

/* Every point's slot; rows too wide; nonzeros outside the star. The same hash is not yet the same row */
template <class Rows>
static __global__ void HJScan_Kernel(const __grid_constant__ Rows g, HJDTable *table, unsigned short *id, HJWord seed, HJScanEnd end)
{
  HJWord last = 0;
  int    slot = -1;
  bool   box  = false;

  for (unsigned r = blockIdx.x * blockDim.x + threadIdx.x; r < (unsigned)g.n; r += gridDim.x * blockDim.x) {
    const HJDPoint q    = HJPointOfRow(g, r);
    const auto     row  = HJRowOf(g, q, r);
    HJWord         hash = HJMixBits(q.outside + 1 + seed);

    if (end != HJ_SCAN_ALL && (box || end == HJ_SCAN_FEW) && *(volatile int *)&table->full) break;
    for (int t = 0; t < row.nnz; t++) {
      const double v = row.value(g, t);
      int          c;

      if (v == 0.0) continue;
      c = row.slot(g, q, r, t);
      if (c < 0) atomicMin(&table->wide, (HJWord)r << 32 | (unsigned)t);
      else {
        box = box || !(g.star >> c & 1);
        hash += HJMixBits(HJMixBits((HJWord)__double_as_longlong(v) + seed) +
                          (HJWord)c); /* a sum, for columns come in another order near other ranks */
      }
    }
    hash = HJMixBits(hash) | 1;
    if (hash != last || slot < 0) slot = *(volatile int *)&table->full ? -1 : HJTableFind(table, last = hash, !q.outside);
    if (slot < 0) continue;
    id[r] = (unsigned short)slot;
    if (*(volatile unsigned *)&table->first[slot] > (unsigned)r) atomicMin(&table->first[slot], (unsigned)r);
  }
  if (box) table->box = 1;
}

/* The distinct rows: entry e is that of its first point */
template <class Rows> static __global__ void HJEntries_Kernel(const __grid_constant__ Rows g, int n, HJDistinctRow *entry)
{
  const int e = blockIdx.x * blockDim.x + threadIdx.x;

  if (e < n) {
    const int      r   = (int)entry[e].count;
    const HJDPoint q   = HJPointOfRow(g, r);
    const auto     row = HJRowOf(g, q, r);

    entry[e].outside = q.outside;
    entry[e].count   = 0;
    for (int t = 0; t < row.nnz; t++) {
      const double v = row.value(g, t);
      const int    c = v == 0.0 ? -1 : row.slot(g, q, r, t);

      if (c >= 0) HJDistinctRowSet(&entry[e], c, v);
    }
  }
}

template <class Rows> static __device__ bool HJRowIs(const Rows &g, int r, const HJDistinctRow &e)
{
  const HJDPoint q       = HJPointOfRow(g, r);
  const auto     row     = HJRowOf(g, q, r);
  unsigned int   nonzero = 0;
  bool           same    = q.outside == e.outside;

  for (int t = 0; t < row.nnz; t++) {
    const double v = row.value(g, t);
    const int    c = v == 0.0 ? -1 : row.slot(g, q, r, t);

    if (c < 0) continue;
    nonzero |= 1u << c;
    same = same && __double_as_longlong(v) == __double_as_longlong(e.a[c]);
  }
  return same && nonzero == e.nonzero;
}

/* From slots to entries; counts the points of each entry, and the rows that are not their entry's */
template <class Rows>
static __global__ void HJVerify_Kernel(const __grid_constant__ Rows g, const unsigned short *entry_of_slot, HJDistinctRow *entry,
                                       unsigned short *id, int *differ)
{
  static_assert(sizeof(PetscCount) == sizeof(HJWord), "counted with 64-bit atomics");
  int run = 0, last = 0;

  for (unsigned r = blockIdx.x * blockDim.x + threadIdx.x; r < (unsigned)g.n; r += gridDim.x * blockDim.x) {
    const int e = entry_of_slot[id[r]];

    if (!HJRowIs(g, r, entry[e])) *differ = 1;
    id[r] = (unsigned short)e;
    if (e != last && run) {
      atomicAdd((HJWord *)&entry[last].count, (HJWord)run);
      run = 0;
    }
    last = e;
    run++;
  }
  if (run) atomicAdd((HJWord *)&entry[last].count, (HJWord)run);
}

static __global__ void HJNumber_Kernel(const __grid_constant__ HJDPoints g, const unsigned short *id, const unsigned char *number,
                                       HJDBox box, unsigned char *index)
{
  for (unsigned r = blockIdx.x * blockDim.x + threadIdx.x; r < (unsigned)g.n; r += gridDim.x * blockDim.x) {
    index[HJDIndex(box, r % g.l.width[0], r / g.l.width[0] % g.l.width[1], r / g.l.width[0] / g.l.width[1])] = number[id[r]];
  }
}

typedef struct {
  HJDBox       box;
  double      *value[HJ_MAX_SLOTS]; /* by slot of a box; NULL: none */
  double      *dinv;                /* NULL: none */
  unsigned int missing;             /* slots that must be zero */
} HJDArrays;

template <class Rows>
static __global__ void HJFill_Kernel(const __grid_constant__ Rows g, const __grid_constant__ HJDArrays to, HJDFill *fill)
{
  double bound = 0.0;

  for (unsigned r = blockIdx.x * blockDim.x + threadIdx.x; r < (unsigned)g.n; r += gridDim.x * blockDim.x) {
    const HJDPoint  q       = HJPointOfRow(g, r);
    const auto      row     = HJRowOf(g, q, r);
    const long long at      = HJDIndex(to.box, q.p[0], q.p[1], q.p[2]);
    unsigned int    present = 0;
    double          sum = 0.0, d = 0.0;

    for (int t = 0; t < row.nnz; t++) {
      const double v = row.value(g, t);
      const int    c = row.slot(g, q, r, t);

      sum += fabs(v);
      if (c >= 0) {
        present |= 1u << c;
        if (c == 0) d = v;
        if (to.value[c]) to.value[c][at] = v;
        if (v != 0.0 && (to.missing >> c & 1)) fill->misfit = 1;
      } else if (v != 0.0) atomicMin(&fill->wide, (HJWord)r << 32 | (unsigned)t);
    }
    for (int c = 0; c < g.l.nslots; c++) {
      if (to.value[c] && !(present >> c & 1)) to.value[c][at] = 0.0;
    }
    if (d == 0.0) atomicMin(&fill->zero_row, (int)r);
    d = HJDiagonalInverse(d);
    sum *= fabs(d);
    if (!(sum <= bound)) bound = sum <= DBL_MAX ? sum : HUGE_VAL;
    if (to.dinv) to.dinv[at] = d;
  }
  if (bound > 0.0) atomicMax(&fill->gershgorin, (HJWord)__double_as_longlong(bound));
}

typedef struct {
  HJDBox  box;
  double *value[HJ_MAX_SLOTS], *dinv; /* by slot of the matrix, NULL: none */
} HJDSlotArrays;

/*
   HJFill_Kernel() for a stencil matrix of arrays whose slots are the stencil's. Of a half the lower entries are compared here with the
   upper ones of the neighbours that are this rank's, in the matrix itself. A thread has a point of every gridDim.y * blockDim.y-th line.
   MEASURE: couplings too, a part a block
*/
template <int DIM, bool BOX, bool MEASURE>
static __global__ void __launch_bounds__(HJ_FILL_THREADS)
  HJFillSlots_Kernel(const __grid_constant__ HJDCoefficients g, const __grid_constant__ HJDSlotArrays to, bool half, HJDFill *fill,
                     HJMeasurePart *partial)
{
  constexpr int              NN = HJDNeighbors(DIM, BOX);
  const int                  i = blockIdx.x * blockDim.x + threadIdx.x, nx = g.l.width[0], ny = g.l.width[1], lines = ny * g.l.width[2];
  double                     bound = 0.0;
  HJMeasureOwn               mine  = {};
  __shared__ HJMeasureCounts s_counts;

  if (MEASURE) HJMeasureBegin((int)(threadIdx.y * blockDim.x + threadIdx.x), &s_counts);
  for (int line = blockIdx.y * blockDim.y + threadIdx.y; line < lines && i < nx; line += gridDim.y * blockDim.y) {
    const int       p[3] = {i, DIM == 3 ? line % ny : line, DIM == 3 ? line / ny : 0}, r = line * nx + i;
    const long long at   = HJDIndex(to.box, p[0], p[1], p[2]);
    const double    here = g.e.value[r], d = HJDiagonalInverse(here);
    double          sum  = fabs(here);
    bool            same = true;
    unsigned        ends = 0; /* see HJMeasureAdd() */
    HJMeasureRow    row  = {};

    if (MEASURE) {
      const PetscInt none[3] = {0, 0, 0};

      HJMeasureRowAdd(&row, 0, none, here);
  #pragma unroll
      for (int c = 0; c < DIM; c++)
        ends |= (unsigned)(p[c] == 0 && !g.l.neighbor[c][0]) << (2 * c) | (unsigned)(p[c] == g.l.width[c] - 1 && !g.l.neighbor[c][1])
                                                                            << (2 * c + 1);
    }
  #pragma unroll
    for (int o = 0; o < NN; o++) {
      bool inside = true, own = true; /* in the domain; of this rank */

  #pragma unroll
      for (int c = 0; c < DIM; c++) {
        const int off = HJDOffset(DIM, BOX, o, c);

        if (off < 0 && p[c] == 0) own = false, inside = inside && g.l.neighbor[c][0];
        if (off > 0 && p[c] == g.l.width[c] - 1) own = false, inside = inside && g.l.neighbor[c][1];
      }
      const double v = inside ? g.e.value[g.e.begin[1 + o] + r] : 0.0;

      sum += fabs(v);
      if (MEASURE) {
        const PetscInt off[3] = {HJDOffset(DIM, BOX, o, 0), DIM > 1 ? HJDOffset(DIM, BOX, o, 1) : 0,
                                 DIM > 2 ? HJDOffset(DIM, BOX, o, 2) : 0};

        HJMeasureRowAdd(&row, 1 + o, off, v);
      }
      if (to.value[1 + o]) to.value[1 + o][at] = v;
      if (half && own && (BOX ? o < NN / 2 : o % 2 == 0)) {
        const int opposite = BOX ? NN - 1 - o : o ^ 1;
        const int to_point = r + HJDOffset(DIM, BOX, o, 0) + nx * (HJDOffset(DIM, BOX, o, 1) + ny * HJDOffset(DIM, BOX, o, 2));

        same = same && HJIsSame(v, g.e.value[g.e.begin[1 + opposite] + to_point], d, g.l.slack);
      }
    }
    if (here == 0.0) atomicMin(&fill->zero_row, r);
    if (!same) fill->misfit = 1;
    sum *= fabs(d);
    if (!(sum <= bound)) bound = sum <= DBL_MAX ? sum : HUGE_VAL;
    to.dinv[at] = d;
    if (MEASURE) HJMeasurePoint(&mine, &s_counts, &row, DIM, ends);
  }
  if (MEASURE) HJMeasurePut(threadIdx.y * blockDim.x + threadIdx.x, &mine, &s_counts, partial + blockIdx.y * gridDim.x + blockIdx.x);
  #pragma unroll
  for (int s = 16; s > 0; s /= 2) bound = fmax(bound, __shfl_down_sync(0xffffffffu, bound, s));
  if (threadIdx.x % 32 == 0 && bound > 0.0) atomicMax(&fill->gershgorin, (HJWord)__double_as_longlong(bound));
}

/* value[] holds the upper half; the lower entry of a point that leads to another is that one's upper entry. edges: of points with
   neighbours that are not this rank's */
template <class Rows>
static __global__ void HJCompare_Kernel(const __grid_constant__ Rows g, const __grid_constant__ HJDArrays to, unsigned int lower,
                                        bool edges, int *differ)
{
  for (unsigned r = blockIdx.x * blockDim.x + threadIdx.x; r < (unsigned)g.n; r += gridDim.x * blockDim.x) {
    const HJDPoint q = HJPointOfRow(g, r);

    if (edges && q.inner) continue;
    const auto   row     = HJRowOf(g, q, r);
    unsigned int present = 0;
    bool         same    = true;

    for (int t = 0; t < row.nnz + g.l.nslots; t++) {
      const bool   stored = t < row.nnz; /* else a lower slot without an entry, whose counterpart has to be zero */
      const int    c      = stored ? row.slot(g, q, r, t) : t - row.nnz;
      const double v      = stored ? row.value(g, t) : 0.0;

      if (c < 0 || !(lower >> c & 1) || (!stored && (present >> c & 1))) continue;
      present |= 1u << c;
      same = same && HJIsSame(v,
                              to.value[HJShapeOpposite(g.l.dim, HJ_BOX, c)]
                                      [HJDIndex(to.box, q.p[0] + HJShapeStep(g.l.dim, HJ_BOX, c, 0),
                                                q.p[1] + HJShapeStep(g.l.dim, HJ_BOX, c, 1), q.p[2] + HJShapeStep(g.l.dim, HJ_BOX, c, 2))],
                              to.dinv[HJDIndex(to.box, q.p[0], q.p[1], q.p[2])], g.l.slack);
    }
    if (!same) *differ = 1;
  }
}

  /* A kernel on the rows that a context reads */
  #define HJ_READ_LAUNCH(kernel, blocks, ...)                                                                                              \
    do {                                                                                                                                   \
      if (ctx->is_stencil) kernel<<<blocks, HJ_THREADS, 0, ctx->stream>>>(ctx->c, __VA_ARGS__);                                            \
      else kernel<<<blocks, HJ_THREADS, 0, ctx->stream>>>(ctx->rows, __VA_ARGS__);                                                         \
    } while (0)

static PetscErrorCode HJReadBlock(Mat A, const PetscInt **i, const PetscInt **j, const double **a)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, i, j));
  PetscCall(MatSeqAIJCUSPARSEGetArrayRead(A, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJReadUnblock(Mat A, const PetscInt **i, const PetscInt **j, const double **a)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUSPARSERestoreArrayRead(A, a));
  PetscCall(MatSeqAIJCUSPARSERestoreIJ(A, PETSC_FALSE, i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJReadAlloc(size_t bytes, void **array)
{
  const size_t words = (bytes + sizeof(HJWord) - 1) / sizeof(HJWord);
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCall(HJAlloc(words * sizeof(HJWord), array));
  PetscCallCUDA(cudaMemsetAsync(*array, 0, words * sizeof(HJWord), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zeros that are needed while rows are read alone; freed by HJScratchFree() */
static PetscErrorCode HJReadScratch(const HJReadContext *ctx, size_t bytes, void **array)
{
  PetscFunctionBegin;
  PetscCall(HJScratchAlloc(ctx->stream, bytes, array));
  PetscCallCUDA(cudaMemsetAsync(*array, 0, bytes, ctx->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJReadFree(void *array)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void HJReadSetSlots(HJDPoints *rows)
{
  for (PetscInt s = 0; s < HJShapeSlots(rows->l.dim, HJ_STAR); s++) rows->star |= 1u << HJShapeBoxSlot(rows->l.dim, HJ_STAR, s);
  for (PetscInt s = 0; s < rows->l.nslots; s++) {
    for (int d = 0; d < 3; d++) {
      const PetscInt step = HJShapeStep(rows->l.dim, HJ_BOX, s, d);

      if (step) rows->edge[d][step > 0] |= 1u << s;
    }
  }
}

/* Ready to read rows of points, which are set afterwards */
static PetscErrorCode HJReadCreate(const HJRowLayout *layout, HJReadContext **out)
{
  HJReadContext *ctx;
  HJDevice       device;

  PetscFunctionBegin;
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCall(PetscNew(&ctx));
  *out = ctx;
  PetscCall(HJStream(&ctx->stream));
  PetscCall(HJDeviceRead(&device));
  ctx->rows.l = *layout;
  ctx->rows.n = layout->width[0] * layout->width[1] * layout->width[2];
  ctx->blocks = PetscMin(8 * device.nsm, (ctx->rows.n + HJ_THREADS - 1) / HJ_THREADS);
  HJReadSetSlots(&ctx->rows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficients in device memory */
static void HJReadSetCoefficients(HJReadContext *ctx, const HJCoefficients *c)
{
  HJDCoefficients *to = &ctx->c;

  ctx->is_stencil               = PETSC_TRUE;
  ctx->end                      = c->shape == HJ_STAR ? HJ_SCAN_FEW : HJ_SCAN_BOX;
  *static_cast<HJDPoints *>(to) = ctx->rows;
  to->e                         = HJEntriesOf(c);
  for (PetscInt s = 0; s < c->nslots; s++) to->box[s] = (signed char)HJShapeBoxSlot(c->dim, c->shape, s);
}

static PetscErrorCode HJReadOpen(Mat A, Mat B, const PetscInt *garray, const HJRowLayout *layout, void **out)
{
  HJReadContext        *ctx;
  HJGetCoefficients     get;
  const HJCoefficients *c;
  PetscInt              nghosts = 0;

  PetscFunctionBegin;
  PetscCall(HJReadCreate(layout, &ctx));
  *out = ctx;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, HJ_GET_COEFFICIENTS, &get));
  if (get) {
    PetscCall((*get)(A, PETSC_MEMTYPE_CUDA, &c));
    HJReadSetCoefficients(ctx, c);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  ctx->A = A;
  PetscCall(HJReadBlock(A, &ctx->rows.Ai, &ctx->rows.Aj, &ctx->rows.Aa));
  if (B) PetscCall(MatGetSize(B, NULL, &nghosts));
  if (nghosts) {
    ctx->B = B;
    PetscCall(HJReadBlock(B, &ctx->rows.Bi, &ctx->rows.Bj, &ctx->rows.Ba));
    PetscCall(HJAlloc(nghosts * sizeof(PetscInt), (void **)&ctx->d_garray));
    PetscCallCUDA(cudaMemcpyAsync(ctx->d_garray, garray, nghosts * sizeof(PetscInt), cudaMemcpyHostToDevice, ctx->stream));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)(nghosts * sizeof(PetscInt))));
    ctx->rows.garray = ctx->d_garray;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJReadClose(void **out)
{
  HJReadContext *ctx = (HJReadContext *)*out;

  PetscFunctionBegin;
  if (ctx->A) PetscCall(HJReadUnblock(ctx->A, &ctx->rows.Ai, &ctx->rows.Aj, &ctx->rows.Aa));
  if (ctx->B) PetscCall(HJReadUnblock(ctx->B, &ctx->rows.Bi, &ctx->rows.Bj, &ctx->rows.Ba));
  PetscCallCUDA(cudaFree(ctx->d_garray));
  PetscCall(HJScratchFree(ctx->stream, ctx->d_id));
  PetscCall(PetscFree(*out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJReadFirst(HJReadContext *ctx, HJWord seed, HJDTable *table)
{
  HJDTable *d_table;

  PetscFunctionBegin;
  PetscCall(HJScratchAlloc(ctx->stream, sizeof(*d_table), (void **)&d_table));
  PetscCallCUDA(cudaMemsetAsync(d_table, 0, sizeof(*d_table), ctx->stream));
  PetscCallCUDA(cudaMemsetAsync(d_table->first, 0xff, sizeof(d_table->first), ctx->stream));
  PetscCallCUDA(cudaMemsetAsync(&d_table->wide, 0xff, sizeof(d_table->wide), ctx->stream));
  HJ_READ_LAUNCH(HJScan_Kernel, ctx->blocks, d_table, ctx->d_id, seed, ctx->end);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(
    cudaMemcpyAsync(&table->wide, &d_table->wide, sizeof(*table) - offsetof(HJDTable, wide), cudaMemcpyDeviceToHost, ctx->stream));
  PetscCallCUDA(cudaStreamSynchronize(ctx->stream));
  if (!table->full) { /* the rest is not looked at otherwise */
    PetscCallCUDA(cudaMemcpyAsync(table, d_table, offsetof(HJDTable, wide), cudaMemcpyDeviceToHost, ctx->stream));
    PetscCallCUDA(cudaStreamSynchronize(ctx->stream));
  }
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)(table->full ? sizeof(*table) - offsetof(HJDTable, wide) : sizeof(*table))));
  PetscCall(HJScratchFree(ctx->stream, d_table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Slots in the order of the first points of their rows */
static PetscErrorCode HJReadOrder(const HJDTable *table, int n, HJDistinctRow *entry, unsigned short *entry_of_slot)
{
  PetscInt *first, *slot, m = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &first, n, &slot));
  for (int s = 0; s < HJ_SLOTS; s++) {
    if (!table->key[s]) continue;
    first[m]  = (PetscInt)table->first[s];
    slot[m++] = s;
  }
  PetscCall(PetscSortIntWithArray(n, first, slot));
  for (int e = 0; e < n; e++) {
    entry[e].count         = first[e];
    entry_of_slot[slot[e]] = (unsigned short)e;
  }
  PetscCall(PetscFree2(first, slot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The distinct rows with their counts; *same is false where two of them have one hash */
static PetscErrorCode HJReadEntries(HJReadContext *ctx, const HJDTable *table, HJDistinctRow *entry, PetscBool *same)
{
  const size_t    bytes = table->n * sizeof(HJDistinctRow);
  unsigned short *entry_of_slot, *d_entry_of_slot;
  HJDistinctRow  *d_entry;
  int            *d_differ, differ;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(HJ_SLOTS, &entry_of_slot));
  PetscCall(PetscMemzero(entry, bytes));
  PetscCall(HJReadOrder(table, table->n, entry, entry_of_slot));
  PetscCall(HJReadScratch(ctx, HJ_SLOTS * sizeof(*entry_of_slot), (void **)&d_entry_of_slot));
  PetscCall(HJReadScratch(ctx, bytes, (void **)&d_entry));
  PetscCall(HJReadScratch(ctx, sizeof(int), (void **)&d_differ));
  PetscCallCUDA(cudaMemcpyAsync(d_entry_of_slot, entry_of_slot, HJ_SLOTS * sizeof(*entry_of_slot), cudaMemcpyHostToDevice, ctx->stream));
  PetscCallCUDA(cudaMemcpyAsync(d_entry, entry, bytes, cudaMemcpyHostToDevice, ctx->stream));
  HJ_READ_LAUNCH(HJEntries_Kernel, (table->n + HJ_THREADS - 1) / HJ_THREADS, table->n, d_entry);
  HJ_READ_LAUNCH(HJVerify_Kernel, ctx->blocks, d_entry_of_slot, d_entry, ctx->d_id, d_differ);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(entry, d_entry, bytes, cudaMemcpyDeviceToHost, ctx->stream));
  PetscCallCUDA(cudaMemcpyAsync(&differ, d_differ, sizeof(differ), cudaMemcpyDeviceToHost, ctx->stream));
  PetscCallCUDA(cudaStreamSynchronize(ctx->stream));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)(bytes + HJ_SLOTS * sizeof(*entry_of_slot))));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
  PetscCall(HJScratchFree(ctx->stream, d_entry_of_slot));
  PetscCall(HJScratchFree(ctx->stream, d_entry));
  PetscCall(HJScratchFree(ctx->stream, d_differ));
  PetscCall(PetscFree(entry_of_slot));
  *same = (PetscBool)!differ;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJReadInts(const HJReadContext *ctx, PetscInt *to, const PetscInt *from, PetscInt n)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(to, from, n * sizeof(*to), cudaMemcpyDeviceToHost, ctx->stream));
  PetscCallCUDA(cudaStreamSynchronize(ctx->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A global row from a row and entry that the device found, and the entry's column */
static PetscErrorCode HJReadWide(const HJReadContext *ctx, HJWord wide, PetscInt *row, PetscInt *column)
{
  const HJDRows *g = &ctx->rows;
  const PetscInt r = (PetscInt)(wide >> 32), t = (PetscInt)(wide & 0xffffffffu);
  PetscInt       a[2], b;

  PetscFunctionBegin;
  *row = *column = PETSC_INT_MAX;
  if (wide == ~0ull) PetscFunctionReturn(PETSC_SUCCESS);
  *row = g->l.row_start + r;
  PetscCall(HJReadInts(ctx, a, g->Ai + r, 2));
  if (t < a[1] - a[0]) {
    PetscCall(HJReadInts(ctx, column, g->Aj + a[0] + t, 1));
    *column += g->l.row_start;
  } else {
    PetscCall(HJReadInts(ctx, &b, g->Bi + r, 1));
    PetscCall(HJReadInts(ctx, &b, g->Bj + b + t - (a[1] - a[0]), 1));
    PetscCall(HJReadInts(ctx, column, g->garray + b, 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Places along a direction that differ in what leads outside the domain there, in their order */
typedef struct {
  int          n, count[3];
  unsigned int outside[3];
} HJReadEnds;

static HJReadEnds HJReadEndsOf(const HJDPoints *g, int d)
{
  const int          w    = (int)g->l.width[d];
  const unsigned int low  = d < g->l.dim && !g->l.neighbor[d][0] ? g->edge[d][0] : 0,
                     high = d < g->l.dim && !g->l.neighbor[d][1] ? g->edge[d][1] : 0;
  HJReadEnds e            = {w < 3 ? w : 3, {1, w < 3 ? 1 : w - 2, 1}, {low, w == 2 ? high : 0, high}};

  if (w == 1) e.outside[0] = low | high;
  return e;
}

/* Of one row for all points the entries follow from the grid alone */
static PetscErrorCode HJReadScanRow(const HJReadContext *ctx, HJRowScan *scan)
{
  const HJDCoefficients *c = &ctx->c;
  const HJReadEnds       x = HJReadEndsOf(c, 0), y = HJReadEndsOf(c, 1), z = HJReadEndsOf(c, 2);

  PetscFunctionBegin;
  scan->rows_fit = PETSC_TRUE;
  scan->box      = PETSC_FALSE;
  scan->n        = 0;
  scan->wide_row = scan->wide_column = PETSC_INT_MAX;
  PetscCall(PetscCalloc1(3 * 3 * 3, &scan->row));
  for (int m = 0; m < x.n * y.n * z.n; m++) {
    const int          i = m % x.n, j = m / x.n % y.n, k = m / x.n / y.n;
    const unsigned int outside = x.outside[i] | y.outside[j] | z.outside[k];
    HJDistinctRow     *e       = scan->row;

    while (e < scan->row + scan->n && e->outside != outside) e++;
    e->count += (PetscCount)x.count[i] * y.count[j] * z.count[k];
    if (e < scan->row + scan->n) continue;
    scan->n++;
    e->outside = outside;
    for (int s = 0; s < c->e.nslots; s++) {
      const int slot = c->box[s];

      if (!(outside >> slot & 1)) HJDistinctRowSet(e, slot, c->e.row[s]);
    }
    if (e->nonzero & ~c->star) scan->box = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJReadScan(void *vctx, HJRowScan *scan)
{
  HJReadContext *ctx  = (HJReadContext *)vctx;
  PetscBool      same = PETSC_FALSE;
  HJDTable      *table;

  PetscFunctionBegin;
  static_assert(HJ_MAX_RAW_ROWS < HJ_SLOTS, "distinct rows fit into the table");
  if (ctx->is_stencil && ctx->c.e.storage == HJ_COEFFICIENTS_ROW) {
    PetscCall(HJReadScanRow(ctx, scan));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogGpuTimeBegin());
  PetscCall(PetscNew(&table));
  if (!ctx->d_id) PetscCall(HJReadScratch(ctx, ctx->rows.n * sizeof(*ctx->d_id), (void **)&ctx->d_id));
  scan->row = NULL;
  scan->n   = 0;
  for (HJWord seed = 0; !same; seed++) { /* again, with other hashes, where two rows had the same: once in 2^40 matrices */
    PetscCheck(seed < 16, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Different rows have equal hashes");
    PetscCall(HJReadFirst(ctx, seed, table));
    scan->rows_fit = (PetscBool)(!table->full && table->wide == ~0ull);
    same           = PETSC_TRUE;
    if (!scan->rows_fit) break;
    PetscCall(PetscFree(scan->row));
    PetscCall(PetscMalloc1(table->n, &scan->row));
    PetscCall(HJReadEntries(ctx, table, scan->row, &same));
    scan->n = table->n;
  }
  scan->box = (PetscBool)(table->box != 0);
  PetscCall(HJReadWide(ctx, table->wide, &scan->wide_row, &scan->wide_column));
  PetscCall(PetscFree(table));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJReadNumber(void *vctx, PetscInt n, const unsigned char *number, const HJBox *box, unsigned char *index)
{
  HJReadContext *ctx = (HJReadContext *)vctx;
  unsigned char *d_number;

  PetscFunctionBegin;
  if (!ctx->d_id) { /* one row for all points: what leads outside the domain makes no other number */
    for (PetscInt e = 1; e < n; e++) PetscCheck(number[e] == number[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "One row has two numbers");
    if (index) PetscCallCUDA(cudaMemsetAsync(index, number[0], (size_t)HJBoxSize(box), ctx->stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJReadScratch(ctx, n, (void **)&d_number));
  PetscCallCUDA(cudaMemcpyAsync(d_number, number, n, cudaMemcpyHostToDevice, ctx->stream));
  HJNumber_Kernel<<<ctx->blocks, HJ_THREADS, 0, ctx->stream>>>(ctx->rows, ctx->d_id, d_number, HJDBoxFrom(box), index);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaStreamSynchronize(ctx->stream));
  PetscCall(HJScratchFree(ctx->stream, d_number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HJDArrays HJReadArrays(const HJStencil *st)
{
  HJDArrays to = {};

  to.box     = HJDBoxFrom(&st->box);
  to.dinv    = st->dinv;
  to.missing = ~0u;
  for (PetscInt s = 0; s < st->nslots; s++) {
    const PetscInt box = HJShapeBoxSlot(st->dim, st->shape, s);

    to.value[box] = st->value[s];
    to.missing &= ~(1u << box);
  }
  return to;
}

/* Of a stencil matrix whose arrays are those of the stencil and the centre's. part: of so many blocks, NULL: not wanted */
static PetscErrorCode HJReadFillSlots(HJReadContext *ctx, const HJStencil *st, const dim3 grid, const dim3 block, HJDFill *fill,
                                      HJMeasurePart *partial)
{
  const bool    half = st->storage == HJ_SYMMETRIC;
  HJDSlotArrays to   = {};

  PetscFunctionBegin;
  to.box  = HJDBoxFrom(&st->box);
  to.dinv = st->dinv;
  for (PetscInt s = 1; s < st->nslots; s++)
    to.value[s] = st->value[s] == ctx->c.e.value + ctx->c.e.begin[s] ? NULL : st->value[s]; /* NULL: in place */
  #define HJFillLaunchOne(dim, box)                                                                                                        \
    do {                                                                                                                                   \
      if (partial) HJFillSlots_Kernel<dim, box, true><<<grid, block, 0, ctx->stream>>>(ctx->c, to, half, fill, partial);                   \
      else HJFillSlots_Kernel<dim, box, false><<<grid, block, 0, ctx->stream>>>(ctx->c, to, half, fill, partial);                          \
    } while (0)
  HJDDispatchShape(st, HJFillLaunchOne);
  #undef HJFillLaunchOne
  ctx->compared = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of HJFillSlots_Kernel(), at most so many */
static dim3 HJReadBlocks(const HJReadContext *ctx, const dim3 block, unsigned most)
{
  const int      nx = (int)ctx->c.l.width[0], lines = (int)(ctx->c.l.width[1] * ctx->c.l.width[2]);
  const unsigned across = (nx + block.x - 1) / block.x, down = (lines + block.y - 1) / block.y;

  return dim3(across, PetscMin(down, PetscMax(most / across, 1u)));
}

static const HJDFill HJ_FILL_START = {~0ull, 0, HJ_NONE, 0};

static PetscErrorCode HJReadFound(const HJReadContext *ctx, const HJDFill *fill, HJRowFill *out)
{
  PetscFunctionBegin;
  out->fits     = (PetscBool)!fill->misfit;
  out->zero_row = fill->zero_row == HJ_NONE ? PETSC_INT_MAX : ctx->rows.l.row_start + fill->zero_row;
  memcpy(&out->gershgorin, &fill->gershgorin, sizeof(out->gershgorin));
  PetscCall(HJReadWide(ctx, fill->wide, &out->wide_row, &out->wide_column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJReadFill(void *vctx, const HJStencil *st, HJRowFill *out)
{
  HJReadContext *ctx = (HJReadContext *)vctx;
  dim3           block(HJ_FILL_THREADS), grid;
  size_t         bytes;
  const bool     slots = ctx->is_stencil && ctx->c.e.value && ctx->c.e.nslots == st->nslots;

  struct Found {
    HJDFill       fill;
    HJMeasurePart partial[HJ_MEASURE_BLOCKS];
  } * found, *d_found;

  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  if (slots && ctx->c.l.width[1] * ctx->c.l.width[2] >= 8) block = dim3(32, HJ_FILL_THREADS / 32);
  if (slots) grid = HJReadBlocks(ctx, block, out->measure ? HJ_MEASURE_BLOCKS : 2 * (unsigned)ctx->blocks);
  if (!slots || grid.x * grid.y > HJ_MEASURE_BLOCKS) out->measure = NULL;
  if (slots && !out->measure) grid = HJReadBlocks(ctx, block, 2 * (unsigned)ctx->blocks);
  bytes = sizeof(HJDFill) + (out->measure ? grid.x * grid.y * sizeof(HJMeasurePart) : 0);
  PetscCall(PetscMalloc(bytes, (void **)&found));
  PetscCall(HJScratchAlloc(ctx->stream, bytes, (void **)&d_found));
  found->fill = HJ_FILL_START;
  PetscCallCUDA(cudaMemcpyAsync(d_found, found, sizeof(HJDFill), cudaMemcpyHostToDevice, ctx->stream));
  if (slots) PetscCall(HJReadFillSlots(ctx, st, grid, block, &d_found->fill, out->measure ? d_found->partial : NULL));
  else HJ_READ_LAUNCH(HJFill_Kernel, ctx->blocks, HJReadArrays(st), &d_found->fill);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(found, d_found, bytes, cudaMemcpyDeviceToHost, ctx->stream));
  PetscCallCUDA(cudaStreamSynchronize(ctx->stream));
  PetscCall(HJScratchFree(ctx->stream, d_found));
  PetscCall(HJReadFound(ctx, &found->fill, out));
  if (out->measure) HJMeasureSum((int)(grid.x * grid.y), found->partial, out->measure);
  PetscCall(PetscFree(found));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJReadCoefficients(void *vctx, const HJCoefficients *c, HJRowFill *out)
{
  const HJReadContext *ctx  = (const HJReadContext *)vctx;
  HJDFill              fill = HJ_FILL_START, *d_fill;
  HJDArrays            to   = {};

  PetscFunctionBegin;
  PetscCall(PetscLogGpuTimeBegin());
  for (int d = 0; d < 3; d++) to.box.hi[d] = (int)ctx->rows.l.width[d];
  to.missing = ~0u;
  for (PetscInt s = 0; s < c->nslots; s++) {
    const PetscInt box = HJShapeBoxSlot(c->dim, c->shape, s);

    to.value[box] = c->value + HJSlotBegin(c, s);
    to.missing &= ~(1u << box);
  }
  PetscCall(HJScratchAlloc(ctx->stream, sizeof(fill), (void **)&d_fill));
  PetscCallCUDA(cudaMemcpyAsync(d_fill, &fill, sizeof(fill), cudaMemcpyHostToDevice, ctx->stream));
  HJFill_Kernel<<<ctx->blocks, HJ_THREADS, 0, ctx->stream>>>(ctx->rows, to, d_fill);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&fill, d_fill, sizeof(fill), cudaMemcpyDeviceToHost, ctx->stream));
  PetscCallCUDA(cudaStreamSynchronize(ctx->stream));
  PetscCall(HJScratchFree(ctx->stream, d_fill));
  PetscCall(HJReadFound(ctx, &fill, out));
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJReadCompare(void *vctx, const HJStencil *st, PetscBool *same)
{
  HJReadContext *ctx    = (HJReadContext *)vctx;
  unsigned int   lower  = 0;
  PetscBool      others = PETSC_FALSE;
  int           *d_differ, differ;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) others = (PetscBool)(others || ctx->rows.l.neighbor[d][0] || ctx->rows.l.neighbor[d][1]);
  *same = PETSC_TRUE;
  if (ctx->compared && !others) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogGpuTimeBegin());
  for (PetscInt s = 1; s < st->nslots; s++) {
    if (!st->value[s]) lower |= 1u << HJShapeBoxSlot(st->dim, st->shape, s);
  }
  PetscCall(HJReadScratch(ctx, sizeof(int), (void **)&d_differ));
  HJ_READ_LAUNCH(HJCompare_Kernel, ctx->blocks, HJReadArrays(st), lower, (bool)ctx->compared, d_differ);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&differ, d_differ, sizeof(differ), cudaMemcpyDeviceToHost, ctx->stream));
  PetscCallCUDA(cudaStreamSynchronize(ctx->stream));
  PetscCall(HJScratchFree(ctx->stream, d_differ));
  *same = (PetscBool)!differ;
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const HJRowReader HJRowReaderCUDA = {
  .mtype         = PETSC_MEMTYPE_CUDA,
  .open          = HJReadOpen,
  .scan          = HJReadScan,
  .number        = HJReadNumber,
  .fill          = HJReadFill,
  .coefficients  = HJReadCoefficients,
  .compare       = HJReadCompare,
  .close         = HJReadClose,
  .alloc         = HJReadAlloc,
  .free          = HJReadFree,
  .system_scan   = HJSystemScan_CUDA,
  .system_number = HJSystemNumber_CUDA,
  .system_free   = HJSystemFree_CUDA,
  .system_fill   = HJSystemFill_CUDA,
};

static HJRowLayout HJScanLayout(const HJGrid *grid)
{
  HJRowLayout l;

  memset(&l, 0, sizeof(l));
  l.dim    = grid->dim;
  l.nslots = HJShapeSlots(grid->dim, HJ_BOX);
  for (int d = 0; d < 3; d++) {
    l.width[d] = grid->owned.hi[d];
    l.N[d]     = grid->N[d];
    for (int side = 0; side < 2; side++) l.neighbor[d][side] = grid->neighbor[d][side];
  }
  return l;
}

PetscErrorCode HJArraysScan_CUDA(const HJCoefficients *c, const HJGrid *grid, PetscInt *n, HJDistinctRow **rows, void **ids)
{
  const HJRowLayout layout = HJScanLayout(grid);
  HJReadContext    *ctx;
  HJRowScan         scan;

  PetscFunctionBegin;
  PetscCall(HJReadCreate(&layout, &ctx));
  HJReadSetCoefficients(ctx, c);
  ctx->end = HJ_SCAN_FEW;
  PetscCall(HJReadScan(ctx, &scan));
  *n    = scan.rows_fit ? scan.n : -1;
  *rows = scan.row;
  *ids  = ctx;
  for (PetscInt r = 0; r < *n; r++) { /* from the slots of a box */
    const HJDistinctRow from = scan.row[r];
    HJDistinctRow       to   = {};

    to.count = from.count;
    for (PetscInt s = 0; s < c->nslots; s++) {
      HJDistinctRowSet(&to, s, from.a[ctx->c.box[s]]);
      to.outside |= (from.outside >> ctx->c.box[s] & 1u) << s;
    }
    (*rows)[r] = to;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJArraysNumber_CUDA(PetscCount npoints, void **ids, PetscInt n, const unsigned char map[], unsigned char *index)
{
  const HJReadContext *ctx = (const HJReadContext *)*ids;
  const HJBox          box = {{0, 0, 0}, {ctx->rows.l.width[0], ctx->rows.l.width[1], ctx->rows.l.width[2]}};

  PetscFunctionBegin;
  if (index) PetscCall(HJReadNumber(*ids, n, map, &box, index));
  PetscCall(HJReadClose(ids));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode HJCUDAGetReader(Mat A, const HJRowReader **reader)
{
  PetscFunctionBegin;
  *reader = NULL;
#if PetscDefined(HAVE_CUDA) && !PetscDefined(USE_64BIT_INDICES)
  {
    PetscBool    on_gpu, bound;
    HJGetMemType where;
    PetscMemType mtype = PETSC_MEMTYPE_HOST;

    PetscCall(PetscObjectTypeCompareAny((PetscObject)A, &on_gpu, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
    PetscCall(MatBoundToCPU(A, &bound));
    if (on_gpu && !bound) *reader = &HJRowReaderCUDA;
    PetscCall(PetscObjectQueryFunction((PetscObject)A, HJ_GET_MEMTYPE, &where));
    if (where) PetscCall((*where)(A, &mtype));
    if (PetscMemTypeDevice(mtype)) *reader = &HJRowReaderCUDA;
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What a cycle on several grids needs on a GPU besides sweeps, products and transfers: the norm of a residual, and the inverse of the
   coarsest grid's matrix, made and applied.
*/
#include "cuda/kernels/hjkernel.h"
#include "hjcycle_cuda.h"
#include "cuda/device/hjscratch.h"

#define HJ_ROW_LOADS  (HJ_DENSE_MAX / HJ_ROW_THREADS)
#define HJ_PIVOT_ROWS (HJ_PIVOTS / HJ_PIVOT_Y) /* of a thread */

PetscErrorCode HJNumberCreate_CUDA(HJNumber *number)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCall(HJAlloc((HJ_SUM_BLOCKS + 2) * sizeof(double), (void **)&number->room));
  PetscCallCUDA(cudaMemsetAsync(number->room, 0, (HJ_SUM_BLOCKS + 2) * sizeof(double), stream));
  number->value = number->room + HJ_SUM_BLOCKS + 1;
  PetscCall(HJPinnedAlloc(&number->host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJNumberDestroy_CUDA(HJNumber *number)
{
  PetscFunctionBegin;
  if (!number->room) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaFree(number->room));
  PetscCall(HJPinnedFree(&number->host));
  number->value = number->room = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sum over the block, in thread 0 */
static __device__ __forceinline__ double HJBlockSum(double v)
{
  __shared__ double s_sum[32];
  const int         warps = (blockDim.x + 31) / 32;

  for (int o = 16; o; o /= 2) v += __shfl_down_sync(~0u, v, o);
  if (threadIdx.x % 32 == 0) s_sum[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  v = (int)threadIdx.x < warps ? s_sum[threadIdx.x] : 0;
  for (int o = 16; o; o /= 2) v += __shfl_down_sync(~0u, v, o);
  return v;
}

/* The last block to finish sums what all have left in room, always in the same order. The counter behind it begins and ends at 0 */
static __global__ void __launch_bounds__(HJ_SUM_THREADS) HJSquares_Kernel(long long n, const double *x, double *room, double *sum)
{
  __shared__ bool s_last;
  unsigned       *count = (unsigned *)(room + HJ_SUM_BLOCKS);
  const long long step  = (long long)gridDim.x * HJ_SUM_THREADS;
  long long       i     = blockIdx.x * (long long)HJ_SUM_THREADS + threadIdx.x;
  double          v[4]  = {0, 0, 0, 0};

  HJDAwaitInput();
  HJDLetNextStart();
  for (; i + 3 * step < n; i += 4 * step) {
    double a[4];

#pragma unroll
    for (int u = 0; u < 4; u++) a[u] = x[i + u * step];
#pragma unroll
    for (int u = 0; u < 4; u++) v[u] = fma(a[u], a[u], v[u]);
  }
  for (; i < n; i += step) v[0] = fma(x[i], x[i], v[0]);
  const double mine = HJBlockSum((v[0] + v[1]) + (v[2] + v[3]));
  if (!threadIdx.x) {
    room[blockIdx.x] = mine;
    __threadfence();
    s_last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!s_last) return;
  __threadfence();
  double all = 0;
  for (int b = threadIdx.x; b < (int)gridDim.x; b += HJ_SUM_THREADS) all += __ldcg(room + b);
  all = HJBlockSum(all);
  if (!threadIdx.x) *sum = all;
}

PetscErrorCode HJNumberSquares_CUDA(PetscCount n, const PetscScalar *x, HJNumber *number)
{
  const long long per = 8 * HJ_SUM_THREADS;
  cudaStream_t    stream;
  int             blocks = (int)PetscMax(PetscMin((n + per - 1) / per, HJ_SUM_BLOCKS), 1);
  HJLaunch        how    = {dim3(blocks), dim3(HJ_SUM_THREADS), 0, NULL, 0, true, false};
  long long       m      = n;
  void           *args[] = {&m, (void *)&x, &number->room, &number->value};

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  how.stream = stream;
  PetscCallCUDA(HJLaunchKernel(&how, (const void *)HJSquares_Kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJNumberSend_CUDA(HJNumber *number)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCallCUDA(cudaMemcpyAsync(number->host, number->value, sizeof(double), cudaMemcpyDeviceToHost, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The caller decides by the number what to do next */
PetscErrorCode HJNumberWait_CUDA(const HJNumber *number, PetscScalar *value)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  *value = *number->host;
  PetscCall(PetscLogGpuToCpu(sizeof(double)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The inverse of a square by Gauss and Jordan, in its place, by a block */
static __device__ __forceinline__ void HJSquareInvert(double s_square[HJ_PIVOTS][HJ_PIVOTS + 1])
{
  const int x = threadIdx.x;

  for (int q = 0; q < HJ_PIVOTS; q++) {
    double part[HJ_PIVOT_ROWS], row;

    __syncthreads();
    row = (x == q ? 1.0 : s_square[q][x]) * (1.0 / s_square[q][q]);
#pragma unroll
    for (int u = 0; u < HJ_PIVOT_ROWS; u++) part[u] = s_square[threadIdx.y + u * HJ_PIVOT_Y][q];
    __syncthreads();
#pragma unroll
    for (int u = 0; u < HJ_PIVOT_ROWS; u++) {
      const int y = threadIdx.y + u * HJ_PIVOT_Y;

      s_square[y][x] = y == q ? row : fma(-part[u], row, x == q ? 0.0 : s_square[y][x]);
    }
  }
  __syncthreads();
}

/* That of the first pivots' square; beyond the matrix it is that of 1 */
static __global__ void __launch_bounds__(HJ_PIVOTS *HJ_PIVOT_Y) HJSquare_Kernel(int n, const double *a, double *inverse)
{
  __shared__ double s_square[HJ_PIVOTS][HJ_PIVOTS + 1];
  const int         x = threadIdx.x;

  HJDAwaitInput();
  HJDLetNextStart();
#pragma unroll
  for (int u = 0; u < HJ_PIVOT_ROWS; u++) {
    const int y = threadIdx.y + u * HJ_PIVOT_Y;

    s_square[y][x] = y < n && x < n ? a[(long long)y * n + x] : x == y;
  }
  HJSquareInvert(s_square);
#pragma unroll
  for (int u = 0; u < HJ_PIVOT_ROWS; u++) {
    const int y = threadIdx.y + u * HJ_PIVOT_Y;

    inverse[y * HJ_PIVOTS + x] = s_square[y][x];
  }
}

/* Adds sign times what rows of s_left have of s_right */
template <int SIGN>
static __device__ __forceinline__ void HJPivotMultiply(const double s_left[HJ_PIVOTS][HJ_PIVOTS],
                                                       const double s_right[HJ_PIVOTS][HJ_PIVOTS + 1], double sum[HJ_PIVOT_ROWS])
{
#pragma unroll 4
  for (int q = 0; q < HJ_PIVOTS; q += 2) {
    const double r[2] = {s_right[q][threadIdx.x], s_right[q + 1][threadIdx.x]};

#pragma unroll
    for (int u = 0; u < HJ_PIVOT_ROWS; u++) {
      const double2 l = *(const double2 *)&s_left[threadIdx.y + u * HJ_PIVOT_Y][q];

      sum[u] = fma(SIGN * l.y, r[1], fma(SIGN * l.x, r[0], sum[u]));
    }
  }
}

/* A step of Gauss and Jordan from a to out for HJ_PIVOTS pivots at once: each block does a square of out.
   The first block does that of the next step's pivots, and its inverse, while the others work */
static __global__ void __launch_bounds__(HJ_PIVOTS *HJ_PIVOT_Y)
  HJPivot_Kernel(int n, int p, const double *inverse, const double *a, double *out, double *inverse_next)
{
  __shared__ __align__(16) double s_inverse[HJ_PIVOTS][HJ_PIVOTS], s_column[HJ_PIVOTS][HJ_PIVOTS];
  __shared__ double               s_row[HJ_PIVOTS][HJ_PIVOTS + 1];
  const int                       next = p / HJ_PIVOTS + 1, x = threadIdx.x;
  int                             bx = blockIdx.x, by = blockIdx.y;

  if (next < (int)gridDim.x && bx == by && (bx == 0 || bx == next)) bx = by = bx ? 0 : next;
  const int  j = bx * HJ_PIVOTS + x, i0 = by * HJ_PIVOTS;
  const bool in_columns = bx * HJ_PIVOTS == p, in_rows = i0 == p;
  double     own[HJ_PIVOT_ROWS], row[HJ_PIVOT_ROWS]    = {};

  HJDAwaitInput();
  HJDLetNextStart();
#pragma unroll
  for (int u = 0; u < HJ_PIVOT_ROWS; u++) {
    const int y = threadIdx.y + u * HJ_PIVOT_Y, i = i0 + y;

    s_inverse[y][x] = inverse[y * HJ_PIVOTS + x];
    s_column[y][x]  = i < n && p + x < n ? a[(long long)i * n + p + x] : 0.0;
    s_row[y][x]     = in_columns ? x == y : p + y < n && j < n ? a[(long long)(p + y) * n + j] : 0.0;
    own[u]          = in_columns || i >= n || j >= n ? 0.0 : a[(long long)i * n + j];
  }
  __syncthreads();
  HJPivotMultiply<1>(s_inverse, s_row, row);
  __syncthreads();
#pragma unroll
  for (int u = 0; u < HJ_PIVOT_ROWS; u++) s_row[threadIdx.y + u * HJ_PIVOT_Y][x] = row[u];
  __syncthreads();
  if (!in_rows) HJPivotMultiply<-1>(s_column, s_row, own);
#pragma unroll
  for (int u = 0; u < HJ_PIVOT_ROWS; u++) {
    const int i = i0 + (int)threadIdx.y + u * HJ_PIVOT_Y;

    if (i < n && j < n) out[(long long)i * n + j] = in_rows ? row[u] : own[u];
  }
  if (bx != next || by != next) return;
  __syncthreads();
#pragma unroll
  for (int u = 0; u < HJ_PIVOT_ROWS; u++) {
    const int y = threadIdx.y + u * HJ_PIVOT_Y;

    s_row[y][x] = i0 + y < n && j < n ? own[u] : x == y;
  }
  HJSquareInvert(s_row);
#pragma unroll
  for (int u = 0; u < HJ_PIVOT_ROWS; u++) {
    const int y = threadIdx.y + u * HJ_PIVOT_Y;

    inverse_next[y * HJ_PIVOTS + x] = s_row[y][x];
  }
}

PetscErrorCode HJInvert_CUDA(PetscInt n, PetscScalar *a, PetscScalar *work)
{
  const unsigned squares = (unsigned)((n + HJ_PIVOTS - 1) / HJ_PIVOTS);
  const dim3     threads(HJ_PIVOTS, HJ_PIVOT_Y);
  HJLaunch       one = {dim3(1), threads, 0, NULL, 0, true, false}, all = {dim3(squares, squares), threads, 0, NULL, 0, true, false};
  cudaStream_t   stream;
  int            m    = (int)n;
  double        *from = a, *to = work, *room, *inverse, *next;
  void          *square[] = {&m, &from, &inverse};

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  one.stream = all.stream = stream;
  PetscCall(HJScratchAlloc(stream, 2 * HJ_PIVOTS * HJ_PIVOTS * sizeof(*room), (void **)&room));
  inverse = room;
  next    = room + HJ_PIVOTS * HJ_PIVOTS;
  PetscCallCUDA(HJLaunchKernel(&one, (const void *)HJSquare_Kernel, square));
  for (int p = 0; p < m; p += HJ_PIVOTS) {
    void   *step[] = {&m, &p, &inverse, &from, &to, &next};
    double *other  = from;

    PetscCallCUDA(HJLaunchKernel(&all, (const void *)HJPivot_Kernel, step));
    from    = to;
    to      = other;
    other   = inverse;
    inverse = next;
    next    = other;
  }
  if (from != a) PetscCallCUDA(cudaMemcpyAsync(a, from, (size_t)n * n * sizeof(double), cudaMemcpyDeviceToDevice, stream));
  PetscCall(HJScratchFree(stream, room));
  PetscCallCUDA(cudaStreamSynchronize(stream)); /* who multiplies by it reads it early, see HJDense_Kernel() */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static __global__ void HJShiftDense_Kernel(long long n, double shift, double *a)
{
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) a[i] = shift;
}

typedef struct {
  HJEntries e;
  int       n, N[3];
  bool      periodic[3];
  double   *a;
} HJDenseArgs;

/* A thread has a row: several offsets may lead to one point of a periodic grid */
static __global__ void HJAddDense_Kernel(const __grid_constant__ HJDenseArgs p)
{
  const int r = blockIdx.x * blockDim.x + threadIdx.x, at[3] = {r % p.N[0], r / p.N[0] % p.N[1], r / p.N[0] / p.N[1]};

  for (int s = 0; s < p.e.nslots && r < p.n; s++) {
    int  to[3];
    bool there = true;

    for (int d = 0; d < 3; d++) {
      to[d] = at[d] + p.e.off[s][d];
      if (to[d] >= 0 && to[d] < p.N[d]) continue;
      there = there && p.periodic[d];
      to[d] += to[d] < 0 ? p.N[d] : -p.N[d];
    }
    if (there) p.a[(long long)r * p.n + (to[2] * p.N[1] + to[1]) * p.N[0] + to[0]] += HJEntryAt(&p.e, s, r);
  }
}

/* The largest size on the diagonal. Waits for the device */
static PetscErrorCode HJDenseLargest(cudaStream_t stream, const HJCoefficients *c, double *largest)
{
  const int n = (int)(c->value ? c->npoints : c->nrows), step = c->value ? 1 : (int)c->nslots;
  double   *d;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1((size_t)n * step, &d));
  if (c->value) {
    PetscCallCUDA(cudaMemcpyAsync(d, c->value, n * sizeof(*d), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCall(PetscLogGpuToCpu((PetscLogDouble)(n * sizeof(*d))));
  } else PetscCall(PetscArraycpy(d, c->rows, (size_t)n * step));
  for (int i = 0; i < n; i++) *largest = PetscMax(*largest, PetscAbsReal(d[i * step]));
  PetscCall(PetscFree(d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJFillDense_CUDA(const HJGrid *grid, const HJCoefficients *c, PetscBool constants, PetscScalar *a, PetscScalar *shift)
{
  HJDenseArgs  p = {};
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  *shift = 0.0;
  if (constants) PetscCall(HJDenseLargest(stream, c, shift));
  p.n = (int)c->npoints;
  p.e = HJEntriesOf(c);
  p.a = a;
  for (int d = 0; d < 3; d++) {
    p.N[d]        = (int)grid->N[d];
    p.periodic[d] = grid->periodic[d];
  }
  HJShiftDense_Kernel<<<512, 256, 0, stream>>>((long long)p.n * p.n, *shift / p.n, a);
  PetscCallCUDA(cudaGetLastError());
  HJAddDense_Kernel<<<(p.n + 63) / 64, 64, 0, stream>>>(p);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = scale A x. A block has a row, which no kernel before it writes: it is read before these are done. Sums are double */
template <typename T> static __device__ __forceinline__ void HJDenseRow(int n, double scale, const double *a, const T *x, T *y)
{
  const double *row = a + (long long)blockIdx.x * n;
  double        v[HJ_ROW_LOADS], sum = 0;

#pragma unroll
  for (int u = 0; u < HJ_ROW_LOADS; u++) {
    const int j = threadIdx.x + u * HJ_ROW_THREADS;

    v[u] = j < n ? __ldcg(row + j) : 0.0;
  }
  HJDAwaitInput();
  HJDLetNextStart();
#pragma unroll
  for (int u = 0; u < HJ_ROW_LOADS; u++) {
    const int j = threadIdx.x + u * HJ_ROW_THREADS;

    if (j < n) sum = fma(v[u], (double)__ldcg(x + j), sum);
  }
  sum = HJBlockSum(sum);
  if (!threadIdx.x) y[blockIdx.x] = (T)(scale * sum);
}

static __global__ void __launch_bounds__(HJ_ROW_THREADS) HJDense_Kernel(int n, const double *a, const double *x, double *y)
{
  HJDenseRow(n, 1, a, x, y);
}

static __global__ void __launch_bounds__(HJ_ROW_THREADS)
  HJDenseSingle_Kernel(int n, double scale, const double *a, const float *x, float *y)
{
  HJDenseRow(n, scale, a, x, y);
}

static PetscErrorCode HJDenseLaunch(PetscInt n, const void *kernel, void **args)
{
  HJLaunch how = {dim3((unsigned)n), dim3(HJ_ROW_THREADS), 0, NULL, 0, true, false};

  PetscFunctionBegin;
  PetscCheck(n <= HJ_DENSE_MAX, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d rows, a dense matrix has at most %d", (int)n, HJ_DENSE_MAX);
  PetscCall(HJStream(&how.stream));
  PetscCallCUDA(HJLaunchKernel(&how, kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMultiplyDense_CUDA(PetscInt n, const PetscScalar *a, const PetscScalar *x, PetscScalar *y)
{
  int   m      = (int)n;
  void *args[] = {&m, (void *)&a, (void *)&x, &y};

  PetscFunctionBegin;
  PetscCall(HJDenseLaunch(n, (const void *)HJDense_Kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMultiplyDenseSingle_CUDA(PetscInt n, PetscReal scale, const PetscReal *a, const void *x, void *y)
{
  int   m      = (int)n;
  void *args[] = {&m, &scale, (void *)&a, (void *)&x, &y};

  PetscFunctionBegin;
  PetscCall(HJDenseLaunch(n, (const void *)HJDenseSingle_Kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

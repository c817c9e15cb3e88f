/*
   What a cycle on several grids needs on a GPU besides sweeps, products and transfers: the norm of a residual, and the inverse of the
   coarsest grid's matrix, made and applied.
*/
#include "hjkernel.h"
#include "hjcycle_cuda.h"

#define HJ_SUM_THREADS 512
#define HJ_SUM_BLOCKS  1024 /* at most */
#define HJ_ROW_THREADS 128
#define HJ_ROW_LOADS   (HJ_DENSE_MAX / HJ_ROW_THREADS)
#define HJ_PIVOT_X     32
#define HJ_PIVOT_Y     8
#define HJ_PIVOT_ROWS  4 /* of a thread */

static __global__ void HJSquares_Kernel(long long n, const double *x, double *room, double *sum);

PetscErrorCode HJNumberCreate_CUDA(HJNumber *number)
{
  PetscFunctionBegin;
  PetscCall(HJAlloc(sizeof(double), (void **)&number->value));
  PetscCall(HJAlloc((HJ_SUM_BLOCKS + 1) * sizeof(double), (void **)&number->room));
  PetscCallCUDA(cudaMemset(number->room, 0, (HJ_SUM_BLOCKS + 1) * sizeof(double)));
  PetscCallCUDA(cudaMallocHost((void **)&number->host, sizeof(double)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJNumberDestroy_CUDA(HJNumber *number)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(number->value));
  PetscCallCUDA(cudaFree(number->room));
  PetscCallCUDA(cudaFreeHost(number->host));
  number->value = number->room = number->host = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether this GPU and this code have what HJLaunch's overlap asks for */
static bool HJCanOverlap(void)
{
  static int can = -1;

  if (can < 0) {
    int                device = 0, major = 0;
    cudaFuncAttributes code = {};

    (void)cudaGetDevice(&device);
    (void)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
    (void)cudaFuncGetAttributes(&code, HJSquares_Kernel);
    can = major >= 9 && code.ptxVersion >= 90;
  }
  return can > 0;
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
  HJLaunch        how    = {dim3(blocks), dim3(HJ_SUM_THREADS), 0, NULL, 0, HJCanOverlap(), false};
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

/* One step of Gauss and Jordan from a to out, see HJHostInvert() */
static __global__ void __launch_bounds__(HJ_PIVOT_X *HJ_PIVOT_Y) HJPivot_Kernel(int n, int p, const double *a, double *out)
{
  const int j = blockIdx.x * HJ_PIVOT_X + threadIdx.x, i0 = blockIdx.y * HJ_PIVOT_Y * HJ_PIVOT_ROWS + threadIdx.y;

  HJDAwaitInput();
  HJDLetNextStart();
  if (j >= n) return;
  const double pivot = 1.0 / a[(long long)p * n + p], r = (j == p ? 1.0 : a[(long long)p * n + j]) * pivot;
#pragma unroll
  for (int u = 0; u < HJ_PIVOT_ROWS; u++) {
    const int i = i0 + u * HJ_PIVOT_Y;

    if (i >= n) break;
    const double own          = j == p ? 0.0 : a[(long long)i * n + j];
    out[(long long)i * n + j] = i == p ? r : fma(-a[(long long)i * n + p], r, own);
  }
}

PetscErrorCode HJInvert_CUDA(PetscInt n, PetscScalar *a, PetscScalar *work)
{
  const int rows = HJ_PIVOT_Y * HJ_PIVOT_ROWS;
  HJLaunch  how =
    {dim3((n + HJ_PIVOT_X - 1) / HJ_PIVOT_X, (n + rows - 1) / rows), dim3(HJ_PIVOT_X, HJ_PIVOT_Y), 0, NULL, 0, HJCanOverlap(), false};
  cudaStream_t stream;
  int          m    = (int)n;
  double      *from = a, *to = work;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  how.stream = stream;
  for (int p = 0; p < m; p++) {
    void   *args[] = {&m, &p, &from, &to};
    double *other  = from;

    PetscCallCUDA(HJLaunchKernel(&how, (const void *)HJPivot_Kernel, args));
    from = to;
    to   = other;
  }
  if (from != a) PetscCallCUDA(cudaMemcpyAsync(a, from, (size_t)n * n * sizeof(double), cudaMemcpyDeviceToDevice, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream)); /* who multiplies by it reads it early, see HJDense_Kernel() */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block has a row, which no kernel before it writes: it is read before these are done */
static __global__ void __launch_bounds__(HJ_ROW_THREADS) HJDense_Kernel(int n, const double *a, const double *x, double *y)
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

    if (j < n) sum = fma(v[u], __ldcg(x + j), sum);
  }
  sum = HJBlockSum(sum);
  if (!threadIdx.x) y[blockIdx.x] = sum;
}

PetscErrorCode HJMultiplyDense_CUDA(PetscInt n, const PetscScalar *a, const PetscScalar *x, PetscScalar *y)
{
  HJLaunch     how = {dim3((unsigned)n), dim3(HJ_ROW_THREADS), 0, NULL, 0, HJCanOverlap(), false};
  cudaStream_t stream;
  int          m      = (int)n;
  void        *args[] = {&m, (void *)&a, (void *)&x, &y};

  PetscFunctionBegin;
  PetscCheck(n <= HJ_DENSE_MAX, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d rows, a dense matrix has at most %d", m, HJ_DENSE_MAX);
  PetscCall(HJStream(&stream));
  how.stream = stream;
  PetscCallCUDA(HJLaunchKernel(&how, (const void *)HJDense_Kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Numbers of double precision in single, and back, and what is seen of them on the way.
*/
#include "cuda/device/hjscratch.h"
#include "hjround_cuda.h"
#include "cuda/kernels/setup/hjcycle_cuda.h"
#include "hjround.cuh"

#define HJ_ROUND_THREADS 256

/* Every thread's first number and the distance to its next ones */
#define HJRoundFor(i, n)                                                                                                                   \
  for (long long i = (long long)blockIdx.x * HJ_ROUND_THREADS + threadIdx.x; i < n; i += (long long)gridDim.x * HJ_ROUND_THREADS)

/* Bits of numbers that are not negative are in their order, with NaN the largest. range: the least size but for zeros, the largest one */
static __global__ void __launch_bounds__(HJ_ROUND_THREADS)
  HJRange_Kernel(long long n, PetscReal scale, const PetscScalar *x, unsigned long long *range)
{
  unsigned long long least = ~0ull, largest = 0;

  HJDAwaitInput();
  HJDLetNextStart();
  HJRoundFor(i, n)
  {
    const unsigned long long size = (unsigned long long)__double_as_longlong(fabs(scale * x[i]));

    largest = max(largest, size);
    if (size) least = min(least, size);
  }
  for (int o = 16; o; o /= 2) {
    least   = min(least, __shfl_down_sync(~0u, least, o));
    largest = max(largest, __shfl_down_sync(~0u, largest, o));
  }
  if (threadIdx.x % 32) return;
  atomicMin(&range[0], least);
  atomicMax(&range[1], largest);
}

/* By the scale, or, where there are sizes, by the next one of these */
static __global__ void __launch_bounds__(HJ_ROUND_THREADS)
  HJRound_Kernel(long long n, PetscReal scale, HJSizes *sizes, const PetscScalar *x, float *single)
{
  HJDAwaitInput();
  HJDLetNextStart();
  if (sizes) scale = sizes->next;
  HJRoundFor(i, n) single[i] = (float)(scale * x[i]);
  if (sizes && !blockIdx.x && !threadIdx.x) sizes->scale = scale;
}

/* The same back: sizes say what they were rounded with */
static __global__ void __launch_bounds__(HJ_ROUND_THREADS)
  HJWiden_Kernel(long long n, PetscReal scale, HJSizes *sizes, const float *single, bool add, PetscScalar *x)
{
  bool bad = false;

  HJDAwaitInput();
  HJDLetNextStart();
  if (sizes) scale /= sizes->scale;
  HJRoundFor(i, n)
  {
    const double v = scale * single[i];

    bad  = bad || !isfinite(v);
    x[i] = add ? x[i] + v : v;
  }
  if (sizes && bad) sizes->bad = 1;
}

static __global__ void __launch_bounds__(HJ_ROUND_THREADS) HJSizes_Kernel(long long n, const PetscScalar *x, HJSizes *sizes)
{
  double squares = 0, largest = 0;

  HJDAwaitInput();
  HJDLetNextStart();
  if (!blockIdx.x && !threadIdx.x) sizes->bad = 0;
  HJRoundFor(i, n)
  {
    squares = fma(x[i], x[i], squares);
    largest = fmax(largest, fabs(x[i]));
  }
  HJSizesTake<HJ_ROUND_THREADS>(sizes, squares, largest, false);
}

static PetscErrorCode HJRoundLaunch(const void *kernel, PetscCount n, void **args)
{
  HJLaunch how = {dim3((unsigned)PetscMax(PetscMin((n + 4 * HJ_ROUND_THREADS - 1) / (4 * HJ_ROUND_THREADS), HJ_SUM_BLOCKS), 1)),
                  dim3(HJ_ROUND_THREADS),
                  0,
                  NULL,
                  0,
                  true,
                  false};

  PetscFunctionBegin;
  PetscCall(HJStream(&how.stream));
  PetscCallCUDA(HJLaunchKernel(&how, kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Waits for the device */
static PetscErrorCode HJRoundRange(PetscCount n, PetscReal scale, const PetscReal *x, HJRange *range)
{
  unsigned long long found[2] = {~0ull, 0}, *d_found;
  double             size[2];
  long long          m      = n;
  void              *args[] = {&m, &scale, (void *)&x, &d_found};
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCall(HJScratchAlloc(stream, sizeof(found), (void **)&d_found));
  PetscCallCUDA(cudaMemcpyAsync(d_found, found, sizeof(found), cudaMemcpyHostToDevice, stream));
  PetscCall(HJRoundLaunch((const void *)HJRange_Kernel, n, args));
  PetscCallCUDA(cudaMemcpyAsync(found, d_found, sizeof(found), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(HJScratchFree(stream, d_found));
  memcpy(size, found, sizeof(size));
  if (found[0] != ~0ull && size[0] < range->least) range->least = size[0];
  if (!(size[1] <= range->largest)) range->largest = size[1] == size[1] ? size[1] : HUGE_VAL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJRound_CUDA(PetscCount n, PetscReal scale, const PetscReal *x, void *single, HJRange *range)
{
  long long m      = n;
  HJSizes  *none   = NULL;
  void     *args[] = {&m, &scale, &none, (void *)&x, &single};

  PetscFunctionBegin;
  if (range) PetscCall(HJRoundRange(n, scale, x, range));
  PetscCall(HJRoundLaunch((const void *)HJRound_Kernel, n, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJWiden_CUDA(PetscCount n, PetscReal scale, const void *single, PetscBool add, PetscReal *x)
{
  long long m      = n;
  HJSizes  *none   = NULL;
  bool      adds   = add;
  void     *args[] = {&m, &scale, &none, (void *)&single, &adds, &x};

  PetscFunctionBegin;
  PetscCall(HJRoundLaunch((const void *)HJWiden_Kernel, n, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSee_CUDA(PetscCount n, const PetscReal *x, PetscReal *seen)
{
  long long m      = n;
  void     *args[] = {&m, (void *)&x, &seen};

  PetscFunctionBegin;
  PetscCall(HJRoundLaunch((const void *)HJSizes_Kernel, n, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJRoundSeen_CUDA(PetscCount n, const PetscReal *x, PetscReal *seen, void *single)
{
  long long m      = n;
  PetscReal none   = 1;
  void     *args[] = {&m, &none, &seen, (void *)&x, &single};

  PetscFunctionBegin;
  PetscCall(HJRoundLaunch((const void *)HJRound_Kernel, n, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJWidenSeen_CUDA(PetscCount n, PetscReal scale, const void *single, PetscReal *seen, PetscReal *x)
{
  long long m      = n;
  bool      add    = false;
  void     *args[] = {&m, &scale, &seen, (void *)&single, &add, &x};

  PetscFunctionBegin;
  PetscCall(HJRoundLaunch((const void *)HJWiden_Kernel, n, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJSingleOps HJSingleCUDA = {.round          = HJRound_CUDA,
                                  .widen          = HJWiden_CUDA,
                                  .nseen          = (sizeof(HJSizes) + sizeof(PetscReal) - 1) / sizeof(PetscReal),
                                  .see            = HJSee_CUDA,
                                  .round_seen     = HJRoundSeen_CUDA,
                                  .widen_seen     = HJWidenSeen_CUDA,
                                  .multiply_dense = HJMultiplyDenseSingle_CUDA,
                                  .advances       = HJAdvances_CUDA,
                                  .advance        = HJAdvance_CUDA};

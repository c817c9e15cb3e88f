/* SPDX-License-Identifier: BSD-2-Clause */
/* The papers' plain kernels on a GPU, see classic.h. Decides nothing */
#include "classic.h"

#define Check(call)                                                                                                                        \
  do {                                                                                                                                     \
    const cudaError_t error_ = (call);                                                                                                     \
    PetscCheck(error_ == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "%s", cudaGetErrorString(error_));                                   \
  } while (0)

static __global__ void Line(int n, long long total, double h2, const PetscScalar *b, const PetscScalar *x, PetscScalar *y)
{
  const long long p = blockIdx.x * (long long)blockDim.x + threadIdx.x;

  if (p >= total) return;
  const int    i    = (int)(p % n);
  const double left = i > 0 ? x[p - 1] : 0, right = i < n - 1 ? x[p + 1] : 0;
  y[p] = 0.5 * (h2 * b[p] + left + right);
}

static __global__ void Plane(int n, double h2, const PetscScalar *b, const PetscScalar *x, PetscScalar *y)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;

  if (i >= n || j >= n) return;
  const long long p   = (long long)j * n + i;
  double          sum = h2 * b[p];
  if (i > 0) sum += x[p - 1];
  if (i < n - 1) sum += x[p + 1];
  if (j > 0) sum += x[p - n];
  if (j < n - 1) sum += x[p + n];
  y[p] = 0.25 * sum;
}

/* Seconds of what launch() does to the null stream */
template <typename Launch> static PetscErrorCode Time(Launch launch, double *seconds)
{
  cudaEvent_t event[2];
  float       ms = 0;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) Check(cudaEventCreate(&event[i]));
  Check(cudaEventRecord(event[0]));
  PetscCall(launch());
  Check(cudaEventRecord(event[1]));
  Check(cudaEventSynchronize(event[1]));
  Check(cudaEventElapsedTime(&ms, event[0], event[1]));
  for (int i = 0; i < 2; i++) Check(cudaEventDestroy(event[i]));
  *seconds = 1e-3 * ms;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ClassicGPU(int dim, int n, int copies, const int block[2], double h2, const PetscScalar *b, PetscScalar *x, PetscScalar *y,
                          int its, double *seconds)
{
  const long long total = (long long)n * (dim == 1 ? copies : n);
  PetscScalar    *from = x, *to = y;

  PetscFunctionBegin;
  PetscCall(Time(
    [&]() {
      for (int i = 0; i < its; i++) {
        if (dim == 1) Line<<<(unsigned)((total + block[0] - 1) / block[0]), block[0]>>>(n, total, h2, b, from, to);
        else Plane<<<dim3((n + block[0] - 1) / block[0], (n + block[1] - 1) / block[1]), dim3(block[0], block[1])>>>(n, h2, b, from, to);
        PetscScalar *swap = from;
        from = to, to = swap;
      }
      return PETSC_SUCCESS;
    },
    seconds));
  Check(cudaGetLastError());
  if (from != x) Check(cudaMemcpy(x, from, total * sizeof(*x), cudaMemcpyDeviceToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static __global__ void Fill(int n, PetscScalar *A)
{
  for (long long q = blockIdx.x * (long long)blockDim.x + threadIdx.x; q < (long long)n * n; q += (long long)gridDim.x * blockDim.x)
    A[q] = DenseEntry(n, (int)(q % n), (int)(q / n));
}

PetscErrorCode FillDenseGPU(int n, PetscScalar *A)
{
  PetscFunctionBegin;
  Fill<<<4096, 256>>>(n, A);
  Check(cudaGetLastError());
  Check(cudaDeviceSynchronize());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The squares of a block's updates are summed in shared memory, then added to one number, as the notes on dense Jacobi have it */
static __global__ void Dense(int n, const PetscScalar *A, const PetscScalar *b, const PetscScalar *x, PetscScalar *y, double *squares)
{
  extern __shared__ double partial[];
  const int                i   = blockIdx.x * blockDim.x + threadIdx.x;
  double                   sum = 0, change = 0;

  for (int j = 0; i < n && j < n; j++)
    if (j != i) sum += A[(long long)j * n + i] * x[j];
  if (i < n) {
    y[i]   = (b[i] - sum) / A[(long long)i * n + i];
    change = y[i] - x[i];
  }
  partial[threadIdx.x] = change * change;
  for (int half = blockDim.x / 2; half; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
  }
  if (!threadIdx.x) atomicAdd(squares, partial[0]);
}

PetscErrorCode ClassicDenseGPU(int n, const PetscScalar *A, const PetscScalar *b, PetscScalar *x, PetscScalar *y, int its, double *seconds)
{
  const int    threads = 128;
  double      *squares;
  PetscScalar *from = x, *to = y;

  PetscFunctionBegin;
  Check(cudaMalloc(&squares, sizeof(double)));
  PetscCall(Time(
    [&]() {
      for (int i = 0; i < its; i++) {
        double change;

        Check(cudaMemsetAsync(squares, 0, sizeof(double)));
        Dense<<<(n + threads - 1) / threads, threads, threads * sizeof(double)>>>(n, A, b, from, to, squares);
        Check(cudaMemcpy(&change, squares, sizeof(double), cudaMemcpyDeviceToHost));
        PetscScalar *swap = from;
        from = to, to = swap;
      }
      return PETSC_SUCCESS;
    },
    seconds));
  if (from != x) Check(cudaMemcpy(x, from, n * sizeof(*x), cudaMemcpyDeviceToDevice));
  Check(cudaFree(squares));
  PetscFunctionReturn(PETSC_SUCCESS);
}

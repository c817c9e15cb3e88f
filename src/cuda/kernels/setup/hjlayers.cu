/* SPDX-License-Identifier: BSD-2-Clause */
/* How many outermost layers of a grid have points whose row is not the one that all others have. Used in set-up alone */
#include "cuda/device/hjgpu.h"
#include "cuda/device/hjscratch.h"
#include "hjlayers_cuda.h"

typedef struct {
  const unsigned char *index;
  int                  n[3];
  long long            npoints, middle;
} HJLayersArgs;

/* The row in the middle, and the largest distance from the ends, counted from 1, of a point with another one */
typedef struct {
  int row, most;
} HJLayersFound;

static __global__ void __launch_bounds__(HJ_SETUP_THREADS) HJLayers_Kernel(const __grid_constant__ HJLayersArgs p, HJLayersFound *found)
{
  const int row = p.index[p.middle];

  if (!blockIdx.x && !threadIdx.x) found->row = row;
  for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < p.npoints; at += (long long)gridDim.x * blockDim.x) {
    const int point[3] = {(int)(at % p.n[0]), (int)(at / p.n[0] % p.n[1]), (int)(at / p.n[0] / p.n[1])};
    int       depth    = INT_MAX;

    if (p.index[at] == row) continue;
    for (int d = 0; d < 3; d++)
      if (p.n[d] > 1) depth = min(depth, 1 + min(point[d], p.n[d] - 1 - point[d]));
    if (depth > *(volatile int *)&found->most) atomicMax(&found->most, depth);
  }
}

PetscErrorCode HJLayersFind_CUDA(const unsigned char *index, const int n[3], int *layers, int *row)
{
  HJLayersArgs  p     = {index, {n[0], n[1], n[2]}, (long long)n[0] * n[1] * n[2]};
  HJLayersFound found = {0, 0}, *d_found;
  cudaStream_t  stream;

  PetscFunctionBegin;
  if (p.npoints) {
    const long long blocks = PetscMin((p.npoints + HJ_SETUP_THREADS - 1) / HJ_SETUP_THREADS, 1LL << 30);

    p.middle = ((long long)(n[2] / 2) * n[1] + n[1] / 2) * n[0] + n[0] / 2;
    PetscCall(HJStream(&stream));
    PetscCall(HJScratchAlloc(stream, sizeof(found), (void **)&d_found));
    PetscCallCUDA(cudaMemsetAsync(d_found, 0, sizeof(found), stream));
    HJLayers_Kernel<<<(unsigned)blocks, HJ_SETUP_THREADS, 0, stream>>>(p, d_found);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUDA(cudaMemcpyAsync(&found, d_found, sizeof(found), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCall(HJScratchFree(stream, d_found));
  }
  *layers = found.most;
  *row    = found.row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

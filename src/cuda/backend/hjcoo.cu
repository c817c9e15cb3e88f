/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Entries of COO lists in device memory: their places, from indices of the host or the device, and their values. Decides nothing: which
   entries have no place, or two one, is told to the caller.
*/
#include "hjcuda.h"
#include "hjarrays_cuda.h"
#include "cuda/kernels/hjkernel.h"
#include "cuda/device/hjscratch.h"
#include <algorithm>

#if PetscDefined(HAVE_CUDA) && !PetscDefined(USE_64BIT_INDICES)

static unsigned HJCOOBlocks(long long n)
{
  return (unsigned)PetscMin((n + HJ_COO_THREADS - 1) / HJ_COO_THREADS, 1LL << 30);
}

/* A warp does the points of a run in one slot */
static __global__ void HJPut_Kernel(const __grid_constant__ HJCOOList list, const PetscScalar *entries, bool add, PetscScalar *value)
{
  const long long warps = gridDim.x * (long long)blockDim.x / HJ_COO_RUN, runs = (list.npoints + HJ_COO_RUN - 1) / HJ_COO_RUN;
  const int       lane = threadIdx.x % HJ_COO_RUN;

  for (long long w = (blockIdx.x * (long long)blockDim.x + threadIdx.x) / HJ_COO_RUN; w < runs * list.nslots; w += warps) {
    const long long point = w / list.nslots * HJ_COO_RUN + lane, at = w % list.nslots * list.npoints + point;

    if (point < list.npoints) {
      const int    e = list.which[w * HJ_COO_RUN + lane];
      const double v = e < 0 ? 0.0 : entries[e];

      value[at] = (add ? value[at] : 0.0) + v;
    }
  }
}

typedef struct {
  int twice, nothers;
} HJFound;

static __device__ int HJCOOSlot(const HJCOOGrid &g, int row, int column)
{
  int off[3];

  if (column < g.start || column >= g.end) return -1;
  row -= g.start;
  column -= g.start;
  #pragma unroll
  for (int d = 0; d < 3; d++) {
    int delta = d == 2 ? column - row : column % g.n[d] - row % g.n[d];

    if (d < 2) {
      row /= g.n[d];
      column /= g.n[d];
    }
    if (g.N[d] > 1 && delta == g.N[d] - 1) delta = -1; /* as HJLayoutOffset() */
    else if (g.N[d] > 2 && delta == 1 - g.N[d]) delta = 1;
    if (delta < -1 || delta > 1) return -1;
    off[d] = delta;
  }
  return HJShapeSlot(g.dim, g.shape, off[0], off[1], off[2]);
}

/* Entries first ... first + n - 1; others has room for max */
static __global__ void HJFind_Kernel(const __grid_constant__ HJCOOGrid g, long long n, int first, const int *i, const int *j, int *which,
                                     int max, int *others, HJFound *found)
{
  for (long long m = blockIdx.x * (long long)blockDim.x + threadIdx.x; m < n; m += gridDim.x * (long long)blockDim.x) {
    const int  row = i[m], column = j[m], e = first + (int)m;
    const bool mine = row >= g.start && row < g.end;
    const int  slot = mine ? HJCOOSlot(g, row, column) : -1;

    if (row < 0 || column < 0) continue;
    if (slot >= 0) {
      if (atomicExch(&which[HJCOOTurn(g.nslots, slot, row - g.start)], e) >= 0) found->twice = 1;
    } else {
      const int at = atomicAdd(&found->nothers, 1);

      if (at < max) others[at] = e;
    }
  }
}

static __global__ void HJFindMore_Kernel(int n, const PetscCount *turn, const int *entry, int *which, int *twice)
{
  const int m = blockIdx.x * blockDim.x + threadIdx.x;

  if (m < n && atomicExch(&which[turn[m]], entry[m]) >= 0) *twice = 1;
}

PetscErrorCode HJArraysPut_CUDA(const HJCOOList *list, const PetscScalar *entries, PetscBool add, PetscScalar *value)
{
  const long long n = HJCOOTurns(list->nslots, list->npoints);
  cudaStream_t    stream;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  PetscCall(PetscLogGpuTimeBegin());
  HJPut_Kernel<<<HJCOOBlocks(n), HJ_COO_THREADS, 0, stream>>>(*list, entries, (bool)add, value);
  PetscCallCUDA(cudaGetLastError());
  PetscCall(PetscLogGpuTimeEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJArraysFind_CUDA(const HJCOOGrid *g, PetscCount n, const PetscInt i[], const PetscInt j[], PetscInt which[], PetscInt max,
                                 PetscInt others[], PetscInt *nothers, PetscBool *twice)
{
  const PetscCount chunk = PetscMin(HJ_COO_CHUNK, n);
  const size_t     room  = (2 * (size_t)chunk + max) * sizeof(int) + sizeof(HJFound);
  cudaStream_t     stream;
  HJFound         *d_found, found;
  int             *d_i, *d_j, *d_others;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCall(HJScratchAlloc(stream, room, (void **)&d_found));
  d_others = (int *)(d_found + 1);
  d_i      = d_others + max;
  d_j      = d_i + chunk;
  PetscCallCUDA(cudaMemsetAsync(d_found, 0, sizeof(*d_found), stream));
  PetscCallCUDA(cudaMemsetAsync(which, 0xff, HJCOOTurns(g->nslots, (PetscCount)g->n[0] * g->n[1] * g->n[2]) * sizeof(int), stream));
  for (PetscCount first = 0; first < n; first += chunk) {
    const PetscCount m = PetscMin(chunk, n - first);

    PetscCallCUDA(cudaMemcpyAsync(d_i, i + first, m * sizeof(int), cudaMemcpyDefault, stream));
    PetscCallCUDA(cudaMemcpyAsync(d_j, j + first, m * sizeof(int), cudaMemcpyDefault, stream));
    HJFind_Kernel<<<HJCOOBlocks(m), HJ_COO_THREADS, 0, stream>>>(*g, m, (int)first, d_i, d_j, which, (int)max, d_others, d_found);
    PetscCallCUDA(cudaGetLastError());
  }
  PetscCallCUDA(cudaMemcpyAsync(&found, d_found, sizeof(found), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)(2 * n * sizeof(int))));
  *twice   = (PetscBool)found.twice;
  *nothers = found.nothers > max ? -1 : found.nothers;
  if (*nothers > 0) {
    PetscCallCUDA(cudaMemcpyAsync(others, d_others, *nothers * sizeof(int), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    std::sort(others, others + *nothers);
  }
  PetscCall(HJScratchFree(stream, d_found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJArraysFindMore_CUDA(PetscInt n, const PetscCount turn[], const PetscInt entry[], PetscInt which[], PetscBool *twice)
{
  cudaStream_t stream;
  PetscCount  *d_turn;
  int         *d_entry, two;

  PetscFunctionBegin;
  *twice = PETSC_FALSE;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  PetscCall(HJScratchAlloc(stream, n * (sizeof(*d_turn) + sizeof(*d_entry)) + sizeof(int), (void **)&d_turn));
  d_entry = (int *)(d_turn + n);
  PetscCallCUDA(cudaMemsetAsync(d_entry + n, 0, sizeof(int), stream));
  PetscCallCUDA(cudaMemcpyAsync(d_turn, turn, n * sizeof(*turn), cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaMemcpyAsync(d_entry, entry, n * sizeof(*entry), cudaMemcpyHostToDevice, stream));
  HJFindMore_Kernel<<<HJCOOBlocks(n), HJ_COO_THREADS, 0, stream>>>((int)n, d_turn, d_entry, which, d_entry + n);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&two, d_entry + n, sizeof(two), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(HJScratchFree(stream, d_turn));
  *twice = (PetscBool)two;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

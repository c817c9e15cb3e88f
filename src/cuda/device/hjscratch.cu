/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Device memory: what is kept, by cudaMalloc(), and what set-up needs for a moment, from a block and a pool of our own: cudaMalloc() and
   cudaFree() take as long as the whole set-up of a small grid, and the latter waits for the device. Decides how much the pool keeps, and
   when it gives that back.
*/
#include "hjgpu.h"
#include "hjscratch.h"

/* Small pieces come from one block, for which a pool would take 32 MiB, and more time: so many of two sizes */
#define HJ_SCRATCH_SIZES 2

static cudaMemPool_t hj_scratch; /* NULL: none yet */
static const struct {
  int    n;
  size_t bytes;
} hj_pieces[HJ_SCRATCH_SIZES] = {{64, 4096}, {4, (size_t)256 << 10}};
static char              *hj_small;                        /* the block; NULL: none yet */
static unsigned long long hj_small_used[HJ_SCRATCH_SIZES]; /* a bit for each piece */
static cudaStream_t       hj_small_stream;                 /* in whose order pieces are used again */

static PetscErrorCode HJScratchDestroy(void)
{
  PetscFunctionBegin;
  (void)cudaMemPoolDestroy(hj_scratch); /* the device may be gone at the end of the process */
  hj_scratch = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJScratchCreate(void)
{
  cudaMemPoolProps   props = {};
  unsigned long long kept  = HJ_SCRATCH_KEPT;

  PetscFunctionBegin;
  props.allocType     = cudaMemAllocationTypePinned;
  props.location.type = cudaMemLocationTypeDevice;
  PetscCallCUDA(cudaGetDevice(&props.location.id));
  PetscCallCUDA(cudaMemPoolCreate(&hj_scratch, &props));
  PetscCallCUDA(cudaMemPoolSetAttribute(hj_scratch, cudaMemPoolAttrReleaseThreshold, &kept));
  PetscCall(PetscRegisterFinalize(HJScratchDestroy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJPoolsTrim(void)
{
  cudaMemPool_t theirs;
  int           device, pools;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device));
  if (!pools) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaDeviceSynchronize());
  PetscCallCUDA(cudaDeviceGetMemPool(&theirs, device));
  PetscCallCUDA(cudaMemPoolTrimTo(theirs, 0));
  if (hj_scratch) PetscCallCUDA(cudaMemPoolTrimTo(hj_scratch, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From a pool, or, where that is NULL, by cudaMalloc(); once more after pools were trimmed */
static PetscErrorCode HJAllocFrom(cudaMemPool_t pool, cudaStream_t stream, size_t bytes, void **p)
{
  cudaError_t err = cudaErrorMemoryAllocation;

  PetscFunctionBegin;
  *p = NULL;
  for (int i = 0; i < 2 && err == cudaErrorMemoryAllocation; i++) {
    if (i) PetscCall(HJPoolsTrim());
    err = pool ? cudaMallocFromPoolAsync(p, bytes ? bytes : 1, pool, stream) : cudaMalloc(p, bytes ? bytes : 1);
    if (err == cudaErrorMemoryAllocation) (void)cudaGetLastError();
  }
  PetscCheck(err != cudaErrorMemoryAllocation, PETSC_COMM_SELF, PETSC_ERR_MEM, "The device is out of memory: asked for %zu bytes", bytes);
  PetscCallCUDA(err);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJAlloc(size_t bytes, void **p)
{
  PetscFunctionBegin;
  PetscCall(HJAllocFrom(NULL, NULL, bytes, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJUpload_CUDA(const void *to, const void *from, size_t bytes, PetscMemType mtype, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (to == from) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMemcpyAsync((void *)to, from, bytes, cudaMemcpyDefault, stream));
  if (PetscMemTypeHost(mtype)) PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJScratchDestroySmall(void)
{
  PetscFunctionBegin;
  (void)cudaFree(hj_small);
  hj_small = NULL;
  for (int c = 0; c < HJ_SCRATCH_SIZES; c++) hj_small_used[c] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *p is NULL where no piece serves */
static PetscErrorCode HJScratchTakeSmall(cudaStream_t stream, size_t bytes, void **p)
{
  size_t at = 0;

  PetscFunctionBegin;
  *p = NULL;
  if (!hj_small) {
    for (int c = 0; c < HJ_SCRATCH_SIZES; c++) at += hj_pieces[c].n * hj_pieces[c].bytes;
    PetscCall(HJAlloc(at, (void **)&hj_small));
    PetscCall(PetscRegisterFinalize(HJScratchDestroySmall));
    hj_small_stream = stream;
  }
  if (hj_small_stream != stream) PetscFunctionReturn(PETSC_SUCCESS);
  at = 0;
  for (int c = 0; c < HJ_SCRATCH_SIZES; at += hj_pieces[c].n * hj_pieces[c].bytes, c++) {
    for (int i = 0; i < hj_pieces[c].n && bytes <= hj_pieces[c].bytes; i++) {
      if (hj_small_used[c] >> i & 1) continue;
      hj_small_used[c] |= 1ull << i;
      *p = hj_small + at + i * hj_pieces[c].bytes;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether it was one */
static bool HJScratchGiveSmall(const void *p)
{
  const char *from = hj_small;

  for (int c = 0; c < HJ_SCRATCH_SIZES && hj_small; from += hj_pieces[c].n * hj_pieces[c].bytes, c++) {
    if ((const char *)p < from || (const char *)p >= from + hj_pieces[c].n * hj_pieces[c].bytes) continue;
    hj_small_used[c] &= ~(1ull << ((const char *)p - from) / hj_pieces[c].bytes);
    return true;
  }
  return false;
}

PetscErrorCode HJScratchAlloc(cudaStream_t stream, size_t bytes, void **p)
{
  int device, pools;

  PetscFunctionBegin;
  PetscCall(HJScratchTakeSmall(stream, bytes, p));
  if (*p) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device));
  if (pools && !hj_scratch) PetscCall(HJScratchCreate());
  PetscCall(HJAllocFrom(hj_scratch, stream, bytes, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJScratchFree(cudaStream_t stream, void *p)
{
  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  if (HJScratchGiveSmall(p)) PetscFunctionReturn(PETSC_SUCCESS);
  if (hj_scratch) PetscCallCUDA(cudaFreeAsync(p, stream));
  else PetscCallCUDA(cudaFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

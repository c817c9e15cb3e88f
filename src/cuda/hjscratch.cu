/*
   Device memory that set-up needs for a moment, from a pool of our own: cudaMalloc() and cudaFree() take as long as the whole set-up of a
   small grid, and the latter waits for the device. Decides how much the pool keeps.
*/
#include "kernels/hjkernel.h"
#include "kernels/hjscratch.h"

#define HJ_SCRATCH_KEPT ((unsigned long long)256 << 20) /* bytes that the pool does not give back */

static cudaMemPool_t hj_scratch; /* NULL: none yet */

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

PetscErrorCode HJScratchAlloc(cudaStream_t stream, size_t bytes, void **p)
{
  int         device, pools;
  cudaError_t err;

  PetscFunctionBegin;
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device));
  if (!pools) {
    PetscCall(HJAlloc(bytes, p));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!hj_scratch) PetscCall(HJScratchCreate());
  err = cudaMallocFromPoolAsync(p, bytes ? bytes : 1, hj_scratch, stream);
  if (err == cudaErrorMemoryAllocation) (void)cudaGetLastError();
  PetscCheck(err != cudaErrorMemoryAllocation, PETSC_COMM_SELF, PETSC_ERR_MEM, "The device is out of memory: asked for %zu bytes", bytes);
  PetscCallCUDA(err);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJScratchFree(cudaStream_t stream, void *p)
{
  PetscFunctionBegin;
  if (!p) PetscFunctionReturn(PETSC_SUCCESS);
  if (hj_scratch) PetscCallCUDA(cudaFreeAsync(p, stream));
  else PetscCallCUDA(cudaFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Copies between pageable host memory and the device: through two pinned buffers, so that the host fills or empties one while the other
   travels, or with the host's pages locked meanwhile. What is copied when is the caller's.
*/
#include "hjgpu.h"

struct HJStage {
  char       *pinned[2];
  cudaEvent_t done[2]; /* the buffer's last copy has ended */
};

static PetscErrorCode HJStageFree(HJStage *stage)
{
  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    if (stage->done[i]) PetscCallCUDA(cudaEventDestroy(stage->done[i]));
    if (stage->pinned[i]) PetscCallCUDA(cudaFreeHost(stage->pinned[i]));
  }
  PetscCall(PetscFree(stage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NULL where the system has no memory to lock: CUDA then copies through buffers of its own */
static PetscErrorCode HJStageGet(HJStage **stage)
{
  HJStage    *s;
  cudaError_t err = cudaSuccess;

  PetscFunctionBegin;
  if (*stage) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&s));
  for (int i = 0; i < 2 && err == cudaSuccess; i++) {
    err = cudaMallocHost((void **)&s->pinned[i], HJ_STAGE_BYTES);
    if (err == cudaSuccess) err = cudaEventCreateWithFlags(&s->done[i], cudaEventDisableTiming);
  }
  if (err == cudaSuccess) {
    *stage = s;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  (void)cudaGetLastError(); /* what is more than a refusal the copies meet too */
  PetscCall(HJStageFree(s));
  PetscCall(PetscInfo(NULL, "No memory was locked for copies between host and GPU (%s): they are slower\n", cudaGetErrorString(err)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJStageWithout(cudaStream_t stream, void *to, const void *from, size_t bytes)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream)); /* the host's array is the caller's again when this returns */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The host's array may be changed when this returns; the copy itself goes on in the stream */
PetscErrorCode HJStageIn_CUDA(HJStage **kept, cudaStream_t stream, void *to, const void *from, size_t bytes)
{
  HJStage *stage;
  int      i = 0;

  PetscFunctionBegin;
  PetscCall(HJStageGet(kept));
  stage = *kept;
  if (!stage) {
    PetscCall(HJStageWithout(stream, to, from, bytes));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (size_t at = 0; at < bytes; at += HJ_STAGE_BYTES, i ^= 1) {
    const size_t part = PetscMin(HJ_STAGE_BYTES, bytes - at);

    PetscCallCUDA(cudaEventSynchronize(stage->done[i]));
    memcpy(stage->pinned[i], (const char *)from + at, part);
    PetscCallCUDA(cudaMemcpyAsync((char *)to + at, stage->pinned[i], part, cudaMemcpyHostToDevice, stream));
    PetscCallCUDA(cudaEventRecord(stage->done[i], stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The host's array is filled when this returns */
PetscErrorCode HJStageOut_CUDA(HJStage **kept, cudaStream_t stream, void *to, const void *from, size_t bytes)
{
  HJStage     *stage;
  const size_t parts = (bytes + HJ_STAGE_BYTES - 1) / HJ_STAGE_BYTES;

  PetscFunctionBegin;
  PetscCall(HJStageGet(kept));
  stage = *kept;
  if (!stage) {
    PetscCall(HJStageWithout(stream, to, from, bytes));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (size_t p = 0; p <= parts; p++) {
    if (p < parts) {
      const size_t at = p * HJ_STAGE_BYTES;

      PetscCallCUDA(cudaMemcpyAsync(stage->pinned[p % 2], (const char *)from + at, PetscMin(HJ_STAGE_BYTES, bytes - at),
                                    cudaMemcpyDeviceToHost, stream));
      PetscCallCUDA(cudaEventRecord(stage->done[p % 2], stream));
    }
    if (p > 0) {
      const size_t at = (p - 1) * HJ_STAGE_BYTES;

      PetscCallCUDA(cudaEventSynchronize(stage->done[(p - 1) % 2]));
      memcpy((char *)to + at, stage->pinned[(p - 1) % 2], PetscMin(HJ_STAGE_BYTES, bytes - at));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   For memory of huge pages, as the coefficients' is: locking them takes half as long as copying them through a buffer. The host's array,
   one of the two, may be changed when this returns
*/
PetscErrorCode HJStageLocked_CUDA(cudaStream_t stream, void *to, const void *from, size_t bytes, const void *host)
{
  cudaPointerAttributes attr;
  cudaError_t           err = cudaErrorNotSupported;

  PetscFunctionBegin;
  PetscCallCUDA(cudaPointerGetAttributes(&attr, host));
  if (bytes >= HJ_STAGE_BYTES && attr.type == cudaMemoryTypeUnregistered) {
    err = cudaHostRegister((void *)host, bytes, cudaHostRegisterDefault);
    if (err != cudaSuccess) (void)cudaGetLastError(); /* too much to lock, or pages that others lock: copied as it is */
  }
  PetscCall(HJStageWithout(stream, to, from, bytes));
  if (err == cudaSuccess) PetscCallCUDA(cudaHostUnregister((void *)host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJStageDestroy_CUDA(HJStage **stage)
{
  PetscFunctionBegin;
  if (*stage) PetscCall(HJStageFree(*stage));
  *stage = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Copies between pageable host memory and the device through two pinned buffers, so that the host fills or empties one while the other
   travels. Decides the size of the buffers; what is copied when is the caller's.
*/
#include "kernels/hjkernel.h"

#define HJ_STAGE_BYTES ((size_t)8 << 20) /* long enough for the full rate of PCIe, short enough to start early */

struct HJStage {
  char       *pinned[2];
  cudaEvent_t done[2]; /* the buffer's last copy has ended */
};

static PetscErrorCode HJStageGet(HJ_CUDA *cuda, HJStage **stage)
{
  PetscFunctionBegin;
  if (!cuda->stage) {
    PetscCall(PetscNew(&cuda->stage));
    for (int i = 0; i < 2; i++) {
      PetscCallCUDA(cudaMallocHost((void **)&cuda->stage->pinned[i], HJ_STAGE_BYTES));
      PetscCallCUDA(cudaEventCreateWithFlags(&cuda->stage->done[i], cudaEventDisableTiming));
    }
  }
  *stage = cuda->stage;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The host's array may be changed when this returns; the copy itself goes on in the stream */
PetscErrorCode HJStageIn_CUDA(HJ_CUDA *cuda, cudaStream_t stream, void *to, const void *from, size_t bytes)
{
  HJStage *stage;
  int      i = 0;

  PetscFunctionBegin;
  PetscCall(HJStageGet(cuda, &stage));
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
PetscErrorCode HJStageOut_CUDA(HJ_CUDA *cuda, cudaStream_t stream, void *to, const void *from, size_t bytes)
{
  HJStage     *stage;
  const size_t parts = (bytes + HJ_STAGE_BYTES - 1) / HJ_STAGE_BYTES;

  PetscFunctionBegin;
  PetscCall(HJStageGet(cuda, &stage));
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

PetscErrorCode HJStageDestroy_CUDA(HJ_CUDA *cuda)
{
  PetscFunctionBegin;
  if (!cuda->stage) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < 2; i++) {
    PetscCallCUDA(cudaEventDestroy(cuda->stage->done[i]));
    PetscCallCUDA(cudaFreeHost(cuda->stage->pinned[i]));
  }
  PetscCall(PetscFree(cuda->stage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

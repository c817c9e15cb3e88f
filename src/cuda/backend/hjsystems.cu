/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Stencils of points with several unknowns in device memory: the host's arrays as they are, line by line, or its rows and their index.
*/
#include "hjsystems_cuda.h"
#include "cuda/kernels/hjsystem.cuh"

PetscErrorCode HJSystemAlloc_CUDA(HJ_CUDA *cuda, const HJStencil *st)
{
  const size_t n = (size_t)HJBoxSize(&st->box);

  PetscFunctionBegin;
  if (st->storage == HJ_DICTIONARY) {
    PetscCall(HJAlloc(n, (void **)&cuda->d_index));
    cuda->st.index = cuda->d_index;
  } else PetscCall(HJAlloc(st->nentries * n * sizeof(*st->values), (void **)&cuda->d_values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* [nrows][nentries], here and on the device */
static PetscErrorCode HJSystemCopyRows(HJ_CUDA *cuda, const HJStencil *st)
{
  const size_t n = (size_t)st->nrows * st->nentries;

  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(cuda->d_rows));
  PetscCall(PetscFree(cuda->h_rows));
  PetscCall(PetscMalloc1(n, &cuda->h_rows));
  PetscCall(PetscArraycpy(cuda->h_rows, st->rows, n));
  PetscCall(HJAlloc(n * sizeof(*st->rows), (void **)&cuda->d_rows));
  cuda->st.nrows  = (int)st->nrows;
  cuda->st.rows   = cuda->d_rows;
  cuda->st.h_rows = cuda->h_rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSystemUpload_CUDA(HJ_CUDA *cuda, const HJStencil *st, cudaStream_t stream)
{
  const size_t n = (size_t)HJBoxSize(&st->box), rows = (size_t)st->nrows * st->nentries * sizeof(*st->rows),
               values = st->nentries * n * sizeof(*st->values);

  PetscFunctionBegin;
  HJSystemEntriesSet(st->dim, st->shape, st->dof, st->nentries, st->entry, &cuda->system);
  if (st->storage == HJ_DICTIONARY) {
    PetscCall(HJSystemCopyRows(cuda, st));
    PetscCallCUDA(cudaMemcpyAsync(cuda->d_rows, st->rows, rows, cudaMemcpyHostToDevice, stream));
    PetscCallCUDA(cudaMemcpyAsync(cuda->d_index, st->index, n, cudaMemcpyHostToDevice, stream));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)(rows + n)));
  } else {
    PetscCallCUDA(cudaMemcpyAsync(cuda->d_values, st->values, values, cudaMemcpyHostToDevice, stream));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)values));
  }
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Stencils of points with several unknowns in device memory: the stencil's arrays, where they are made there, else copies, line by line; or
   its rows and their index.
*/
#include "hjsystems_cuda.h"
#include "cuda/kernels/hjsystem.cuh"

PetscErrorCode HJSystemAlloc_CUDA(HJ_CUDA *cuda, const HJStencil *st)
{
  const size_t n = (size_t)HJBoxSize(&st->box);

  PetscFunctionBegin;
  if (PetscMemTypeDevice(st->mtype)) PetscFunctionReturn(PETSC_SUCCESS); /* arrays are shared: the stencil outlives this */
  if (st->storage == HJ_DICTIONARY) PetscCall(HJAlloc(n, (void **)&cuda->d_index));
  else PetscCall(HJAlloc(st->nentries * n * sizeof(*st->values), (void **)&cuda->d_values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* [nrows][nentries], here and on the device, and where bounds are made there A's blocks */
static PetscErrorCode HJSystemCopyRows(HJ_CUDA *cuda, const HJStencil *st, cudaStream_t stream)
{
  const size_t n      = (size_t)st->nrows * st->nentries;
  const size_t blocks = (size_t)st->nrows * HJShapeSlots(st->dim, HJ_BOX) * st->dof * st->dof * sizeof(*st->blocks);

  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(cuda->d_rows));
  PetscCall(PetscFree(cuda->h_rows));
  PetscCall(PetscMalloc1(n, &cuda->h_rows));
  PetscCall(PetscArraycpy(cuda->h_rows, st->rows, n));
  PetscCall(HJAlloc(n * sizeof(*st->rows), (void **)&cuda->d_rows));
  cuda->st.nrows  = (int)st->nrows;
  cuda->st.rows   = cuda->d_rows;
  cuda->st.h_rows = cuda->h_rows;
  PetscCall(HJUpload_CUDA(cuda->d_rows, cuda->h_rows, n * sizeof(*st->rows), PETSC_MEMTYPE_HOST, stream));
  if (PetscMemTypeHost(st->mtype)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaFree(cuda->d_blocks));
  PetscCall(HJAlloc(blocks, (void **)&cuda->d_blocks));
  PetscCall(HJUpload_CUDA(cuda->d_blocks, st->blocks, blocks, PETSC_MEMTYPE_HOST, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSystemUpload_CUDA(HJ_CUDA *cuda, const HJStencil *st, cudaStream_t stream)
{
  const PetscBool device = (PetscBool)PetscMemTypeDevice(st->mtype);
  const size_t    n      = (size_t)HJBoxSize(&st->box);

  PetscFunctionBegin;
  HJSystemEntriesSet(st->dim, st->shape, st->dof, st->nentries, st->entry, &cuda->system);
  if (st->storage == HJ_DICTIONARY) {
    PetscCall(HJSystemCopyRows(cuda, st, stream));
    cuda->st.index = device ? st->index : cuda->d_index;
    PetscCall(HJUpload_CUDA(cuda->st.index, st->index, n, st->mtype, stream));
  } else {
    cuda->values = device ? st->values : cuda->d_values;
    PetscCall(HJUpload_CUDA(cuda->values, st->values, st->nentries * n * sizeof(*st->values), st->mtype, stream));
  }
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

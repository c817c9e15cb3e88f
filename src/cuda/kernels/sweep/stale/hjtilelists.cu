/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Which tiles of a stale sweep have the main row at all their points: the families of tiles in registers do these, and leave the others to
   hjtile.cu. Made once for a geometry.
*/
#include "hjtile.cuh"

static __global__ void HJTileLists_Kernel(HJDStencil st, HJTileLayout lay, int ntiles, int main_row, int *list, int *n)
{
  HJDBox t, own;
  int    other = 0;

  if (st.dim == 1) HJTileRange_CUDA<1>(lay, lay.cover, blockIdx.x, t, own);
  else HJTileRange_CUDA<2>(lay, lay.cover, blockIdx.x, t, own);
  const int wx = HJDWidth(t, 0), size = wx * (st.dim == 1 ? 1 : HJDWidth(t, 1));
  for (int q = threadIdx.x; q < size; q += blockDim.x)
    other |= st.index[HJDIndex(st.box, t.lo[0] + q % wx, t.lo[1] + q / wx, t.lo[2])] != main_row;
  other = __syncthreads_or(other);
  if (!threadIdx.x) list[other * ntiles + atomicAdd(&n[other], 1)] = blockIdx.x;
}

static PetscErrorCode HJTileListsFill(HJ_CUDA *cuda, cudaStream_t stream, HJTileLists *l)
{
  const int ntiles = l->lay.ntiles[0] * l->lay.ntiles[1];
  int      *d_n;

  PetscFunctionBegin;
  PetscCall(HJAlloc((2 * (size_t)ntiles + 2) * sizeof(int), (void **)&l->d_list));
  d_n = l->d_list + 2 * (size_t)ntiles;
  PetscCallCUDA(cudaMemsetAsync(d_n, 0, sizeof(l->n), stream));
  HJTileLists_Kernel<<<ntiles, 64, 0, stream>>>(cuda->st, l->lay, ntiles, cuda->main_row, l->d_list, d_n);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(l->n, d_n, sizeof(l->n), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTileListsCreate(HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *, const HJGeometry *geometry, void **layout)
{
  HJTileLists *l;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(HJD_MAX_SWEEPS, &l));
  *layout = l;
  for (int i = 0; i < geometry->nsweeps; i++) {
    PetscCall(HJTileLayoutStale(cuda, geometry, i, &l[i].lay));
    PetscCall(HJTileListsFill(cuda, stream, &l[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTileListsDestroy(void *layout)
{
  HJTileLists *l = (HJTileLists *)layout;

  PetscFunctionBegin;
  for (int i = 0; i < HJD_MAX_SWEEPS; i++) PetscCallCUDA(cudaFree(l[i].d_list));
  PetscCall(PetscFree(l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTileListsLaunch(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *layout, HJTileListsRunner run)
{
  const HJTileLists *l     = (const HJTileLists *)layout;
  const int          count = pass->count;
  const PetscScalar *w     = pass->w, *d_w;

  PetscFunctionBegin;
  PetscCall(HJWeights_CUDA(cuda, stream, count, w, &d_w));
  for (int i = 0; i < pass->nsweeps; i++, l++) {
    const HJDSweep *s      = &pass->sweep[i];
    const int      *others = l->d_list + (size_t)l->lay.ntiles[0] * l->lay.ntiles[1];

    if (l->n[0]) PetscCall((*run)(cuda, stream, s, l, count, w, d_w));
    if (l->n[1]) PetscCall(HJTileRun_CUDA(cuda, stream, s, &l->lay, others, l->n[1], count, w, false));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

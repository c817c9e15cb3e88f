/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Which dictionaries are those of a frame, see hjframe2d.h: grids below one of constant coefficients, whose walls lie less than a spacing
   beyond the first and last points.
*/
#include "hjframe2d.h"
#include "cuda/device/hjscratch.h"

typedef struct {
  int           bad; /* points whose row is not that of their class */
  unsigned char row[9];
} HJFrame2DFound;

static __global__ void HJFrame2D_Kernel(const unsigned char *index, int nx, int ny, int base, HJFrame2DFound *found)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int       n = 0;

  for (int j = blockIdx.y; i < nx && j < ny; j += gridDim.y) {
    const int       side = i == 0 ? 0 : i == nx - 1 ? nx - 1 : 1, end = j == 0 ? 0 : j == ny - 1 ? ny - 1 : 1;
    const int       column = i == 0 ? 0 : i == nx - 1 ? 2 : 1, line = j == 0 ? 0 : j == ny - 1 ? 2 : 1;
    const long long like = (long long)end * nx + side;
    const int       row  = index[like];

    n += index[(long long)j * nx + i] != (side == 1 && end == 1 ? base : row);
    if (i == side && j == end) found->row[3 * line + column] = row;
  }
  if (n) atomicAdd(&found->bad, n);
}

PetscErrorCode HJFrame2DFind(HJ_CUDA *cuda, cudaStream_t stream)
{
  HJDStencil     *st = &cuda->st;
  const int       nx = HJDWidth(st->box, 0), ny = HJDWidth(st->box, 1);
  HJFrame2DFound *d_found, found                = {};

  PetscFunctionBegin;
  st->frame = HJ_NO_FRAME;
  if (st->storage != HJ_DICTIONARY || st->dim != 2 || st->shape != HJ_STAR || st->nrows > 9 || nx < 3 || ny < 3)
    PetscFunctionReturn(PETSC_SUCCESS);
  if (st->nrows > 1) {
    PetscCall(HJScratchAlloc(stream, sizeof(found), (void **)&d_found));
    PetscCallCUDA(cudaMemsetAsync(d_found, 0, sizeof(found), stream));
    HJFrame2D_Kernel<<<dim3((nx + 255) / 256, PetscMin(ny, 128)), 256, 0, stream>>>(st->index, nx, ny, cuda->main_row, d_found);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUDA(cudaMemcpyAsync(&found, d_found, sizeof(found), cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream)); /* the host decides by it */
    PetscCall(HJScratchFree(stream, d_found));
  }
  if (found.bad) PetscFunctionReturn(PETSC_SUCCESS);
  st->frame = HJ_FRAME_REGULAR;
  for (int k = 0; k < 9; k++) {
    cuda->frame.row[k] = found.row[k];
    if (st->h_rows[5 * found.row[k]] != 1.0) st->frame = HJ_FRAME;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

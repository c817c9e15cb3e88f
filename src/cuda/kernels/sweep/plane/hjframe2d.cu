/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Which dictionaries are those of a frame, see hjframe2d.h: grids below one of constant coefficients, whose walls lie less than a spacing
   beyond the first and last points.
*/
#include "hjframe2d.h"

static __global__ void HJFrame2D_Kernel(const unsigned char *index, int nx, int ny, HJFrame2DFound *found)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int       n = 0;

  for (int j = blockIdx.y; i < nx && j < ny; j += gridDim.y) {
    const int       side = i == 0 ? 0 : i == nx - 1 ? nx - 1 : 1, end = j == 0 ? 0 : j == ny - 1 ? ny - 1 : 1;
    const int       column = i == 0 ? 0 : i == nx - 1 ? 2 : 1, line = j == 0 ? 0 : j == ny - 1 ? 2 : 1;
    const long long like = (long long)end * nx + side;
    const int       row  = index[like];

    n += index[(long long)j * nx + i] != row;
    if (i == side && j == end) found->row[3 * line + column] = row;
  }
  if (n) atomicAdd(&found->bad, n);
}

static bool HJFrame2DMayBe(const HJDStencil *st)
{
  return st->storage == HJ_DICTIONARY && st->dim == 2 && st->shape == HJ_STAR && st->nrows <= 9 && HJDWidth(st->box, 0) >= 3 &&
         HJDWidth(st->box, 1) >= 3;
}

PetscErrorCode HJFrame2DLook(const HJ_CUDA *cuda, cudaStream_t stream, HJFrame2DFound *found)
{
  const HJDStencil *st = &cuda->st;
  const int         nx = HJDWidth(st->box, 0), ny = HJDWidth(st->box, 1);

  PetscFunctionBegin;
  if (st->nrows == 1 || !HJFrame2DMayBe(st)) PetscFunctionReturn(PETSC_SUCCESS);
  HJFrame2D_Kernel<<<dim3((nx + 255) / 256, PetscMin(ny, 128)), 256, 0, stream>>>(st->index, nx, ny, found);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

void HJFrame2DTake(HJ_CUDA *cuda, const HJFrame2DFound *found)
{
  HJDStencil *st = &cuda->st;

  st->frame = HJ_NO_FRAME;
  if (!HJFrame2DMayBe(st) || found->bad || found->row[4] != cuda->main_row) return;
  st->frame = HJ_FRAME_REGULAR;
  for (int k = 0; k < 9; k++) {
    cuda->frame.row[k] = found->row[k];
    if (st->h_rows[5 * found->row[k]] != 1.0) st->frame = HJ_FRAME;
  }
}

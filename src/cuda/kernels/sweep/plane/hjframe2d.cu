/*
   Which dictionaries are those of a frame, see hjframe2d.h: grids below one of constant coefficients, whose walls lie less than a spacing
   beyond the first and last points.
*/
#include "cuda/device/hjgraph.h"
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

static PetscErrorCode HJFrame2DCreate(HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *, const HJGeometry *, void **layout)
{
  const HJDStencil *st = &cuda->st;
  const int         nx = HJDWidth(st->box, 0), ny = HJDWidth(st->box, 1);
  HJFrame2DFound   *d_found, found                = {};
  HJFrame2D        *frame;

  PetscFunctionBegin;
  PetscCall(PetscNew(&frame));
  *layout = frame;
  if (st->storage != HJ_DICTIONARY || st->dim != 2 || nx < 3 || ny < 3) PetscFunctionReturn(PETSC_SUCCESS);
  if (st->nrows == 1) {
    frame->is = true; /* all rows are number 0 */
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJScratchAlloc(stream, sizeof(found), (void **)&d_found));
  PetscCallCUDA(cudaMemsetAsync(d_found, 0, sizeof(found), stream));
  HJFrame2D_Kernel<<<dim3((nx + 255) / 256, PetscMin(ny, 128)), 256, 0, stream>>>(st->index, nx, ny, cuda->main_row, d_found);
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(&found, d_found, sizeof(found), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream)); /* the host decides by it */
  PetscCall(HJScratchFree(stream, d_found));
  frame->is = !found.bad;
  for (int k = 0; k < 9; k++) frame->row[k] = found.row[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJFrame2DDestroy(void *layout)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Not in the table of families: the cache of layouts forgets what it has found when there are new values */
static const HJFamily HJFamilyFrame2D = {.name = "frame of rows", .layout = HJFrame2DCreate, .layout_destroy = HJFrame2DDestroy};

const HJFrame2D *HJFrame2DGet(HJ_CUDA *cuda)
{
  HJGeometry   geometry;
  cudaStream_t stream;
  const void  *layout;

  for (const HJCached *c = cuda->layouts; c; c = c->next)
    if (c->family == &HJFamilyFrame2D) return (const HJFrame2D *)c->layout;
  memset(&geometry, 0, sizeof(geometry));
  if (HJCaptureStream() || HJStream(&stream) || HJLayoutGet(cuda, stream, &HJFamilyFrame2D, NULL, &geometry, &layout)) return NULL;
  return (const HJFrame2D *)layout;
}

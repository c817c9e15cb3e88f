/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Adds a correction of single precision to a solution of double, makes the residual, and rounds that for the next correction, in one pass:
   y = x + c e, r = b - A y, of which the sum of squares and the largest size are seen. For stars on one rank without periodicity.
*/
#include "hjmarch.cuh"
#include "hjround_cuda.h"
#include "hjround.cuh"

typedef struct {
  HJMarch            march;
  const PetscScalar *x, *b; /* x NULL: it is 0 */
  const float       *e;
  PetscScalar       *y, factor;
  float             *rounded;
  HJSizes           *sizes;
} HJAdvanceArgs;

/* See HJMarchRun() */
struct HJAdvanceBody {
  typedef double More;

  const HJAdvanceArgs &p;
  double               scale, next, squares, largest;

  __device__ __forceinline__ double Load(long long at) const { return fma(scale, (double)__ldg(p.e + at), p.x ? __ldg(p.x + at) : 0.0); }

  __device__ __forceinline__ double Ahead(long long at) const { return __ldg(p.b + at); }

  __device__ __forceinline__ void Use(long long at, double here, double sum, double b)
  {
    const double r = b - sum;

    p.y[at]       = here;
    p.rounded[at] = (float)(next * r);
    squares       = fma(r, r, squares);
    largest       = fmax(largest, fabs(r));
  }
};

template <int DIM, int READ> __global__ void HJMarchBounds(DIM) HJAdvance_Kernel(const __grid_constant__ HJAdvanceArgs p)
{
  HJDAwaitInput();
  HJDLetNextStart();
  HJAdvanceBody body = {p, p.factor / p.sizes->scale, p.sizes->next, 0, 0};

  HJMarchRun<DIM, READ>(p.march, body);
  HJSizesTake<HJ_MARCH_THREADS>(p.sizes, body.squares, body.largest, true);
}

PetscBool HJAdvances_CUDA(const HJCoefficients *a, const HJGrid *grid)
{
  return (PetscBool)(HJMarchTakes(a) && !HJGridHasNeighbors(grid));
}

PetscErrorCode HJAdvance_CUDA(const HJAdvance *advance)
{
  const HJCoefficients *a        = advance->a;
  const HJBox          *own      = &advance->grid->owned;
  const PetscInt        width[3] = {HJBoxWidth(own, 0), HJBoxWidth(own, 1), HJBoxWidth(own, 2)};
  HJAdvanceArgs         p        = {};
  void                 *args[]   = {&p};
  HJLaunch              how      = {};
  HJDevice              device;

  PetscFunctionBegin;
  PetscCall(HJStream(&how.stream));
  PetscCall(HJDeviceRead(&device));
  p.x         = advance->x;
  p.b         = advance->b;
  p.e         = (const float *)advance->e;
  p.y         = advance->y;
  p.factor    = advance->scale;
  p.rounded   = (float *)advance->rounded;
  p.sizes     = (HJSizes *)advance->seen;
  how.grid    = dim3(HJMarchSet(a, width, device.nsm, &p.march));
  how.block   = dim3(HJ_MARCH_THREADS);
  how.overlap = true;
  PetscCallCUDA(HJLaunchKernel(&how, HJMarchKernel(HJAdvance_Kernel, a), args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

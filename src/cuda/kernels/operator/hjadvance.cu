/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Adds a correction of single precision to a solution of double, makes the residual, and rounds that for the next correction, in one pass:
   y = x + c e, r = b - A y, of which the sum of squares and the largest size are seen. For stars on one rank without periodicity.

   A warp marches along the slowest direction through a column of tiles: a lane has a point in x, or ROWS of them beside each other in 3D,
   in PLANES planes at once. The first and the last lane only help. Decides how a grid is cut into such columns.
*/
#include "core/hjcoefficients.h"
#include "hjround_cuda.h"
#include "hjround.cuh"

#define HJ_ADVANCE_THREADS 256
#define HJ_ADVANCE_OWN     30 /* lanes that write */

/* How coefficients are read: HJCoefficientStorage */
typedef struct {
  const double        *x, *b; /* x NULL: it is 0 */
  const float         *e;
  double              *y, factor, row[7];
  float               *rounded;
  HJSizes             *sizes;
  const double        *value, *rows;
  const unsigned char *index;
  long long            begin[7];
  int                  n[3], tiles[3], chunk; /* n[1] is 1 in 2D; tiles in x, in y, chunks along the slowest direction */
} HJAdvanceArgs;

/* Points at i, of ROWS rows and, in 3D, those around them, in plane s */
template <int DIM, int ROWS>
__device__ __forceinline__ void HJAdvanceLoad(const HJAdvanceArgs &p, double scale, bool in, int i, int m0, int s,
                                              double v[ROWS + 2 * (DIM > 2)])
{
  constexpr int H = DIM > 2;

#pragma unroll
  for (int c = 0; c < ROWS + 2 * H; c++) {
    const int       m     = m0 + c - H;
    const bool      there = in && s >= 0 && s < p.n[2] && m >= 0 && m < p.n[1];
    const long long at    = ((long long)s * p.n[1] + m) * p.n[0] + i;

    v[c] = there ? fma(scale, (double)__ldg(p.e + at), p.x ? __ldg(p.x + at) : 0.0) : 0.0;
  }
}

template <int READ>
__device__ __forceinline__ double HJAdvanceCoefficient(const HJAdvanceArgs &p, int slot, long long at, const double *row)
{
  return READ == HJ_COEFFICIENTS_ROW          ? p.row[slot]
         : READ == HJ_COEFFICIENTS_DICTIONARY ? __ldg(row + slot)
                                              : __ldg(p.value + p.begin[slot] + at);
}

/* What a point's star gives; beside: in x, then in y in 3D, then along the slowest direction */
template <int DIM, int READ>
__device__ __forceinline__ double HJAdvanceSum(const HJAdvanceArgs &p, long long at, double v, const double beside[2 * DIM])
{
  const double *row = READ == HJ_COEFFICIENTS_DICTIONARY ? p.rows + (int)__ldg(p.index + at) * (1 + 2 * DIM) : NULL;
  double        sum = HJAdvanceCoefficient<READ>(p, 0, at, row) * v;

#pragma unroll
  for (int o = 0; o < 2 * DIM; o++) sum = fma(HJAdvanceCoefficient<READ>(p, 1 + o, at, row), beside[o], sum);
  return sum;
}

template <int DIM, int READ, int ROWS, int PLANES>
__global__ void __launch_bounds__(HJ_ADVANCE_THREADS, DIM > 2 ? 2 : 4) HJAdvance_Kernel(const __grid_constant__ HJAdvanceArgs p)
{
  constexpr int H    = DIM > 2;
  const int     lane = threadIdx.x % 32, ntiles = p.tiles[0] * p.tiles[1] * p.tiles[2], warps = gridDim.x * (HJ_ADVANCE_THREADS / 32);
  double        squares = 0, largest = 0;

  HJDAwaitInput();
  HJDLetNextStart();
  const double scale = p.factor / p.sizes->scale, next = p.sizes->next;

  for (int tile = blockIdx.x * (HJ_ADVANCE_THREADS / 32) + threadIdx.x / 32; tile < ntiles; tile += warps) {
    const int  i = tile % p.tiles[0] * HJ_ADVANCE_OWN + lane - 1, m0 = tile / p.tiles[0] % p.tiles[1] * ROWS;
    const int  s0 = tile / p.tiles[0] / p.tiles[1] * p.chunk, s1 = min(s0 + p.chunk, p.n[2]);
    const bool in = i >= 0 && i < p.n[0], mine = in && lane > 0 && lane <= HJ_ADVANCE_OWN;
    double     v[PLANES + 2][ROWS + 2 * H];

    HJAdvanceLoad<DIM, ROWS>(p, scale, in, i, m0, s0 - 1, v[0]);
    HJAdvanceLoad<DIM, ROWS>(p, scale, in, i, m0, s0, v[1]);
    for (int s = s0; s < s1; s += PLANES) {
      double b[PLANES][ROWS];

#pragma unroll
      for (int k = 0; k < PLANES; k++) {
        HJAdvanceLoad<DIM, ROWS>(p, scale, in, i, m0, s + k + 1, v[k + 2]);
#pragma unroll
        for (int q = 0; q < ROWS; q++)
          b[k][q] = mine && s + k < s1 && m0 + q < p.n[1] ? __ldg(p.b + ((long long)(s + k) * p.n[1] + m0 + q) * p.n[0] + i) : 0.0;
      }
#pragma unroll
      for (int k = 0; k < PLANES; k++) {
#pragma unroll
        for (int q = 0; q < ROWS; q++) {
          const double    here = v[k + 1][q + H];
          const long long at   = ((long long)(s + k) * p.n[1] + m0 + q) * p.n[0] + i;
          double          beside[2 * DIM];

          beside[0] = __shfl_up_sync(~0u, here, 1);
          beside[1] = __shfl_down_sync(~0u, here, 1);
          if (DIM > 2) {
            beside[2] = v[k + 1][q];
            beside[3] = v[k + 1][q + 2 * H];
          }
          beside[2 * DIM - 2] = v[k][q + H];
          beside[2 * DIM - 1] = v[k + 2][q + H];
          if (!mine || s + k >= s1 || m0 + q >= p.n[1]) continue;
          const double r = b[k][q] - HJAdvanceSum<DIM, READ>(p, at, here, beside);

          p.y[at]       = here;
          p.rounded[at] = (float)(next * r);
          squares       = fma(r, r, squares);
          largest       = fmax(largest, fabs(r));
        }
      }
#pragma unroll
      for (int c = 0; c < ROWS + 2 * H; c++) {
        v[0][c] = v[PLANES][c];
        v[1][c] = v[PLANES + 1][c];
      }
    }
  }
  HJSizesTake<HJ_ADVANCE_THREADS>(p.sizes, squares, largest, true);
}

/* Chunks so long that all warps have as many tiles */
static int HJAdvanceCut(HJAdvanceArgs *p, int rows, int planes, int blocks)
{
  const long long warps = 2LL * blocks * (HJ_ADVANCE_THREADS / 32);

  p->tiles[0]      = (p->n[0] + HJ_ADVANCE_OWN - 1) / HJ_ADVANCE_OWN;
  p->tiles[1]      = (p->n[1] + rows - 1) / rows;
  const int parts  = (int)PetscMax(warps / ((long long)p->tiles[0] * p->tiles[1]), 1);
  p->chunk         = PetscMax((p->n[2] + parts - 1) / parts, 4);
  p->chunk         = (p->chunk + planes - 1) / planes * planes;
  p->tiles[2]      = (p->n[2] + p->chunk - 1) / p->chunk;
  const int needed = (int)(((long long)p->tiles[0] * p->tiles[1] * p->tiles[2] + HJ_ADVANCE_THREADS / 32 - 1) / (HJ_ADVANCE_THREADS / 32));
  return PetscMin(needed, blocks);
}

template <int DIM, int READ> static PetscErrorCode HJAdvanceLaunch(HJAdvanceArgs p, cudaStream_t stream)
{
  constexpr int rows = DIM > 2 ? 4 : 1, planes = DIM > 2 ? 1 : 4;
  HJLaunch      how = {};
  HJDevice      device;
  void         *args[] = {&p};

  PetscFunctionBegin;
  PetscCall(HJDeviceRead(&device));
  how.grid    = dim3(HJAdvanceCut(&p, rows, planes, PetscMin(device.nsm * (DIM > 2 ? 2 : 4), HJ_SUM_BLOCKS)));
  how.block   = dim3(HJ_ADVANCE_THREADS);
  how.stream  = stream;
  how.overlap = true;
  PetscCallCUDA(HJLaunchKernel(&how, (const void *)HJAdvance_Kernel<DIM, READ, rows, planes>, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJAdvances_CUDA(const HJCoefficients *a, const HJGrid *grid)
{
  return (PetscBool)(a->dim > 1 && a->shape == HJ_STAR && !a->entry && !HJGridHasNeighbors(grid));
}

PetscErrorCode HJAdvance_CUDA(const HJAdvance *advance)
{
  const HJCoefficients *a = advance->a;
  HJAdvanceArgs         p = {};
  cudaStream_t          stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  p.x       = advance->x;
  p.b       = advance->b;
  p.e       = (const float *)advance->e;
  p.y       = advance->y;
  p.factor  = advance->scale;
  p.rounded = (float *)advance->rounded;
  p.sizes   = (HJSizes *)advance->seen;
  p.value   = a->value;
  p.rows    = a->device_rows;
  p.index   = a->index;
  p.n[0]    = (int)HJBoxWidth(&advance->grid->owned, 0);
  p.n[1]    = a->dim > 2 ? (int)HJBoxWidth(&advance->grid->owned, 1) : 1;
  p.n[2]    = (int)HJBoxWidth(&advance->grid->owned, (int)a->dim - 1);
  for (int s = 0; s < a->nslots; s++) {
    p.begin[s] = HJSlotBegin(a, s);
    if (a->storage == HJ_COEFFICIENTS_ROW) p.row[s] = a->rows[s];
  }
#define HJAdvanceLaunchOne(dim)                                                                                                            \
  do {                                                                                                                                     \
    if (a->storage == HJ_COEFFICIENTS_ROW) PetscCall((HJAdvanceLaunch<dim, HJ_COEFFICIENTS_ROW>(p, stream)));                              \
    else if (a->storage == HJ_COEFFICIENTS_DICTIONARY) PetscCall((HJAdvanceLaunch<dim, HJ_COEFFICIENTS_DICTIONARY>(p, stream)));           \
    else PetscCall((HJAdvanceLaunch<dim, HJ_COEFFICIENTS_ARRAYS>(p, stream)));                                                             \
  } while (0)
  if (a->dim > 2) HJAdvanceLaunchOne(3);
  else HJAdvanceLaunchOne(2);
#undef HJAdvanceLaunchOne
  PetscFunctionReturn(PETSC_SUCCESS);
}

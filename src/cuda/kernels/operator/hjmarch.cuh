/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Products of a star's coefficients with a vector that is made on the way, on one rank without periodicity, for kernels that do more with
   them. A warp marches along the slowest direction through a column of tiles: a lane has a point in x, or ROWS of them beside each other in
   3D, in PLANES planes at once. The first and the last lane only help. Decides how a grid is cut into such columns.
*/
#pragma once

#include "core/hjcoefficients.h"
#include "cuda/kernels/hjkernel.h"

#define HJ_MARCH_THREADS 256
#define HJ_MARCH_OWN     30 /* lanes that have a point */
#define HJ_MARCH_ROWS    4  /* in 3D, in one plane */
#define HJ_MARCH_PLANES  4  /* in 2D, where there is one row */

/* n[1] is 1 in 2D; tiles in x, in y, chunks along the slowest direction */
typedef struct {
  const PetscScalar   *value, *rows;
  const unsigned char *index;
  double               row[7];
  long long            begin[7];
  int                  n[3], tiles[3], chunk;
} HJMarch;

static bool HJMarchTakes(const HJCoefficients *a)
{
  return a->dim > 1 && a->shape == HJ_STAR && !a->entry;
}

/* How coefficients are read: HJCoefficientStorage */
template <int READ> __device__ __forceinline__ double HJMarchCoefficient(const HJMarch &p, int slot, long long at, const PetscScalar *row)
{
  return READ == HJ_COEFFICIENTS_ROW          ? p.row[slot]
         : READ == HJ_COEFFICIENTS_DICTIONARY ? __ldg(row + slot)
                                              : __ldg(p.value + p.begin[slot] + at);
}

/* What a point's star gives; beside: in x, then in y in 3D, then along the slowest direction, 0 outside the domain. An array's coefficients
   that lead there are of no matter, and may be no numbers */
template <int DIM, int READ>
__device__ __forceinline__ double HJMarchSum(const HJMarch &p, long long at, double v, const double beside[2 * DIM],
                                             const bool inside[2 * DIM])
{
  const PetscScalar *row = READ == HJ_COEFFICIENTS_DICTIONARY ? p.rows + (int)__ldg(p.index + at) * (1 + 2 * DIM) : NULL;
  double             sum = HJMarchCoefficient<READ>(p, 0, at, row) * v;

#pragma unroll
  for (int o = 0; o < 2 * DIM; o++) {
    if (READ != HJ_COEFFICIENTS_ARRAYS || inside[o]) sum = fma(HJMarchCoefficient<READ>(p, 1 + o, at, row), beside[o], sum);
  }
  return sum;
}

/* Points at i, of ROWS rows and, in 3D, those around them, in plane s */
template <int DIM, int ROWS, class BODY>
__device__ __forceinline__ void HJMarchLoad(const HJMarch &p, const BODY &body, bool in, int i, int m0, int s,
                                            double v[ROWS + 2 * (DIM > 2)])
{
  constexpr int H = DIM > 2;

#pragma unroll
  for (int c = 0; c < ROWS + 2 * H; c++) {
    const int       m     = m0 + c - H;
    const bool      there = in && s >= 0 && s < p.n[2] && m >= 0 && m < p.n[1];
    const long long at    = ((long long)s * p.n[1] + m) * p.n[0] + i;

    v[c] = there ? body.Load(at) : 0.0;
  }
}

/* BODY: Load(at) is the vector at a point; Ahead(at) what else is read of a point, and Use(at, vector, product, ahead) takes it all */
template <int DIM, int READ, class BODY> __device__ __forceinline__ void HJMarchRun(const HJMarch &p, BODY &body)
{
  constexpr int H = DIM > 2, ROWS = DIM > 2 ? HJ_MARCH_ROWS : 1, PLANES = DIM > 2 ? 1 : HJ_MARCH_PLANES;
  const int     lane = threadIdx.x % 32, ntiles = p.tiles[0] * p.tiles[1] * p.tiles[2], warps = gridDim.x * (HJ_MARCH_THREADS / 32);

  for (int tile = blockIdx.x * (HJ_MARCH_THREADS / 32) + threadIdx.x / 32; tile < ntiles; tile += warps) {
    const int  i = tile % p.tiles[0] * HJ_MARCH_OWN + lane - 1, m0 = tile / p.tiles[0] % p.tiles[1] * ROWS;
    const int  s0 = tile / p.tiles[0] / p.tiles[1] * p.chunk, s1 = min(s0 + p.chunk, p.n[2]);
    const bool in = i >= 0 && i < p.n[0], mine = in && lane > 0 && lane <= HJ_MARCH_OWN;
    double     v[PLANES + 2][ROWS + 2 * H];

    HJMarchLoad<DIM, ROWS>(p, body, in, i, m0, s0 - 1, v[0]);
    HJMarchLoad<DIM, ROWS>(p, body, in, i, m0, s0, v[1]);
    for (int s = s0; s < s1; s += PLANES) {
      typename BODY::More more[PLANES][ROWS];

#pragma unroll
      for (int k = 0; k < PLANES; k++) {
        HJMarchLoad<DIM, ROWS>(p, body, in, i, m0, s + k + 1, v[k + 2]);
#pragma unroll
        for (int q = 0; q < ROWS; q++) {
          more[k][q] = {};
          if (mine && s + k < s1 && m0 + q < p.n[1]) more[k][q] = body.Ahead(((long long)(s + k) * p.n[1] + m0 + q) * p.n[0] + i);
        }
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
          const bool inside[] = {i > 0,
                                 i + 1 < p.n[0],
                                 DIM > 2 ? m0 + q > 0 : s + k > 0,
                                 DIM > 2 ? m0 + q + 1 < p.n[1] : s + k + 1 < p.n[2],
                                 s + k > 0,
                                 s + k + 1 < p.n[2]};
          if (!mine || s + k >= s1 || m0 + q >= p.n[1]) continue;
          body.Use(at, here, HJMarchSum<DIM, READ>(p, at, here, beside, inside), more[k][q]);
        }
      }
#pragma unroll
      for (int c = 0; c < ROWS + 2 * H; c++) {
        v[0][c] = v[PLANES][c];
        v[1][c] = v[PLANES + 1][c];
      }
    }
  }
}

/* Blocks of a kernel that runs HJMarchRun() */
#define HJMarchBounds(dim) __launch_bounds__(HJ_MARCH_THREADS, (dim) > 2 ? 2 : 4)

/* Where the array of a slot begins in value. Of a symmetric matrix a point's coefficient before it is the one after it of the point that it
   leads to */
static long long HJMarchBegin(const HJCoefficients *a, int slot, const PetscInt width[3])
{
  const long long away[3] = {1, width[0], (long long)width[0] * width[1]};

  return slot % 2 && a->symmetric && !a->half ? HJSlotBegin(a, slot + 1) - away[slot / 2] : HJSlotBegin(a, slot);
}

/* Of coefficients over so many points in each direction; chunks so long that all warps have as many tiles. Returns the number of blocks */
static int HJMarchSet(const HJCoefficients *a, const PetscInt width[3], int nsm, HJMarch *p)
{
  const int rows = a->dim > 2 ? HJ_MARCH_ROWS : 1, planes = a->dim > 2 ? 1 : HJ_MARCH_PLANES, each = HJ_MARCH_THREADS / 32;
  const int blocks = PetscMin(nsm * (a->dim > 2 ? 2 : 4), HJ_SUM_BLOCKS);

  p->value = a->value;
  p->rows  = a->device_rows;
  p->index = a->index;
  p->n[0]  = (int)width[0];
  p->n[1]  = a->dim > 2 ? (int)width[1] : 1;
  p->n[2]  = (int)width[a->dim - 1];
  for (int s = 0; s < a->nslots; s++) {
    p->begin[s] = HJMarchBegin(a, s, width);
    if (a->storage == HJ_COEFFICIENTS_ROW) p->row[s] = a->rows[s];
  }
  p->tiles[0]     = (p->n[0] + HJ_MARCH_OWN - 1) / HJ_MARCH_OWN;
  p->tiles[1]     = (p->n[1] + rows - 1) / rows;
  const int parts = (int)PetscMax(2LL * blocks * each / ((long long)p->tiles[0] * p->tiles[1]), 1);
  p->chunk        = PetscMax((p->n[2] + parts - 1) / parts, 4);
  p->chunk        = (p->chunk + planes - 1) / planes * planes;
  p->tiles[2]     = (p->n[2] + p->chunk - 1) / p->chunk;
  return PetscMin((int)(((long long)p->tiles[0] * p->tiles[1] * p->tiles[2] + each - 1) / each), blocks);
}

/* One of three kernels, by storage */
#define HJMarchPick(kernel, dim, storage)                                                                                                  \
  ((storage) == HJ_COEFFICIENTS_ROW          ? (const void *)kernel<dim, HJ_COEFFICIENTS_ROW>                                              \
   : (storage) == HJ_COEFFICIENTS_DICTIONARY ? (const void *)kernel<dim, HJ_COEFFICIENTS_DICTIONARY>                                       \
                                             : (const void *)kernel<dim, HJ_COEFFICIENTS_ARRAYS>)
#define HJMarchKernel(kernel, a) ((a)->dim > 2 ? HJMarchPick(kernel, 3, (a)->storage) : HJMarchPick(kernel, 2, (a)->storage))

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   How many outermost layers of a grid have points whose row is not the one that all others have, and whether these rows are those of walls,
   which a kernel need not read then. Used in set-up alone
*/
#include "cuda/device/hjgpu.h"
#include "cuda/device/hjscratch.h"
#include "hjlayers_cuda.h"

typedef struct {
  const unsigned char *index;
  int                  n[3];
  long long            npoints, middle;
} HJLayersArgs;

/* The row in the middle, and the largest distance from the ends, counted from 1, of a point with another one */
typedef struct {
  int row, most;
} HJLayersFound;

static __global__ void __launch_bounds__(HJ_SETUP_THREADS) HJLayers_Kernel(const __grid_constant__ HJLayersArgs p, HJLayersFound *found)
{
  const int row = p.index[p.middle];

  if (!blockIdx.x && !threadIdx.x) found->row = row;
  for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < p.npoints; at += (long long)gridDim.x * blockDim.x) {
    const int point[3] = {(int)(at % p.n[0]), (int)(at / p.n[0] % p.n[1]), (int)(at / p.n[0] / p.n[1])};
    int       depth    = INT_MAX;

    if (p.index[at] == row) continue;
    for (int d = 0; d < 3; d++)
      if (p.n[d] > 1) depth = min(depth, 1 + min(point[d], p.n[d] - 1 - point[d]));
    if (depth > *(volatile int *)&found->most) atomicMax(&found->most, depth);
  }
}

static unsigned HJLayersBlocks(long long npoints)
{
  return (unsigned)PetscMin((npoints + HJ_SETUP_THREADS - 1) / HJ_SETUP_THREADS, 1LL << 30);
}

/* Zeros on the device, to which a kernel adds what it finds */
static PetscErrorCode HJFoundBegin(cudaStream_t stream, size_t bytes, void **d_found)
{
  PetscFunctionBegin;
  PetscCall(HJScratchAlloc(stream, bytes, d_found));
  PetscCallCUDA(cudaMemsetAsync(*d_found, 0, bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Waits for it */
static PetscErrorCode HJFoundEnd(cudaStream_t stream, size_t bytes, void *d_found, void *found)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaGetLastError());
  PetscCallCUDA(cudaMemcpyAsync(found, d_found, bytes, cudaMemcpyDeviceToHost, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(HJScratchFree(stream, d_found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJLayersFind_CUDA(const unsigned char *index, const int n[3], int *layers, int *row)
{
  HJLayersArgs  p     = {index, {n[0], n[1], n[2]}, (long long)n[0] * n[1] * n[2]};
  HJLayersFound found = {0, 0}, *d_found;
  cudaStream_t  stream;

  PetscFunctionBegin;
  if (p.npoints) {
    p.middle = ((long long)(n[2] / 2) * n[1] + n[1] / 2) * n[0] + n[0] / 2;
    PetscCall(HJStream(&stream));
    PetscCall(HJFoundBegin(stream, sizeof(found), (void **)&d_found));
    HJLayers_Kernel<<<HJLayersBlocks(p.npoints), HJ_SETUP_THREADS, 0, stream>>>(p, d_found);
    PetscCall(HJFoundEnd(stream, sizeof(found), d_found, &found));
  }
  *layers = found.most;
  *row    = found.row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets of ends: bit 2 d + 1 for the one after a point in direction d, 2 d for the one before it */
#define HJ_END_SETS 64

typedef struct {
  const unsigned char *index;
  int                  n[3], row;
  long long            npoints;
  unsigned             walls, outside;     /* the ends of the box with walls; beyond which nothing is */
  unsigned long long   alone[HJ_MAX_ROWS]; /* of each row a bit for each set of ends beyond which nothing is: it is a wall's there */
  short dropped[HJ_END_SETS]; /* the row of a point beside these walls without the entries that lead there; -1: there is none */
} HJWallsArgs;

/* wrong: bit 0 some point has another row than columns that are kept ask for, bit 1 than columns that are dropped */
static __global__ void __launch_bounds__(HJ_SETUP_THREADS) HJWalls_Kernel(const __grid_constant__ HJWallsArgs p, int *wrong)
{
  int is = 0;

  for (long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x; at < p.npoints; at += (long long)gridDim.x * blockDim.x) {
    const int point[3] = {(int)(at % p.n[0]), (int)(at / p.n[0] % p.n[1]), (int)(at / p.n[0] / p.n[1])}, row = p.index[at];
    unsigned  on = 0, beside = 0;

    for (int d = 0; d < 3; d++) {
      on |= (point[d] == 0) << 2 * d | (point[d] == p.n[d] - 1) << (2 * d + 1);
      beside |= (point[d] == 1) << 2 * d | (point[d] == p.n[d] - 2) << (2 * d + 1);
    }
    if (on & p.walls) is |= p.alone[row] >> (on & p.outside) & 1 ? 0 : 3;
    else is |= (row != p.row ? 1 : 0) | (row != p.dropped[beside & p.walls] ? 2 : 0);
  }
  if (is & ~*(volatile int *)wrong) atomicOr(wrong, is);
}

/* Whether a slot leads beyond one of a set of ends */
static bool HJSlotLeads(const HJCoefficients *c, PetscInt slot, unsigned ends)
{
  for (int d = 0; d < (int)c->dim; d++) {
    const PetscInt step = HJShapeStep(c->dim, c->shape, slot, d);

    if (step && (ends >> (2 * d + (step > 0)) & 1)) return true;
  }
  return false;
}

/* Whether a row is a diagonal alone, but for what leads beyond ends where nothing is */
static bool HJRowIsAlone(const HJCoefficients *c, int row, unsigned outside)
{
  for (PetscInt slot = 1; slot < c->nslots; slot++)
    if (!(c->rows[row * c->nslots + slot] == HJ_ZERO) && !HJSlotLeads(c, slot, outside)) return false;
  return true;
}

/* The row that is another one without the entries that lead beyond ends, -1: there is none such */
static int HJRowWithout(const HJCoefficients *c, int other, unsigned ends)
{
  const PetscScalar *row = c->rows + other * c->nslots;

  for (int r = 0; r < c->nrows; r++) {
    PetscInt slot = 0;

    while (slot < c->nslots && c->rows[r * c->nslots + slot] == (HJSlotLeads(c, slot, ends) ? HJ_ZERO : row[slot])) slot++;
    if (slot == c->nslots) return r;
  }
  return -1;
}

/* The ends in the middle of which a point has a diagonal alone, the same at all; *wall: the row of one of them */
static PetscErrorCode HJWallsFind(const HJCoefficients *c, const HJWallsArgs *p, cudaStream_t stream, unsigned *walls, int *wall)
{
  PetscFunctionBegin;
  *walls = 0;
  for (int e = 0; e < 2 * (int)c->dim; e++) {
    int           at[3] = {p->n[0] / 2, p->n[1] / 2, p->n[2] / 2};
    unsigned char row;

    at[e / 2] = e % 2 ? p->n[e / 2] - 1 : 0;
    PetscCallCUDA(
      cudaMemcpyAsync(&row, p->index + ((long long)at[2] * p->n[1] + at[1]) * p->n[0] + at[0], 1, cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    if (!HJRowIsAlone(c, row, p->outside & 1u << e) || (*walls && c->rows[row * c->nslots] != c->rows[*wall * c->nslots])) continue;
    *walls |= 1u << e;
    *wall = row;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJFrameFind_CUDA(const HJCoefficients *c, const HJGrid *grid, HJFrame *frame)
{
  HJWallsArgs  p = {.index = c->index, .npoints = (long long)c->npoints};
  int          layers, wall, wrong = 0, *d_wrong;
  cudaStream_t stream;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    p.n[d] = (int)HJBoxWidth(&grid->owned, d);
    for (int side = 0; side < 2; side++) {
      const bool ends = side ? grid->owned.hi[d] == grid->domain.hi[d] : grid->owned.lo[d] == grid->domain.lo[d];

      if (ends && !grid->periodic[d]) p.outside |= 1u << (2 * d + side);
    }
  }
  PetscCall(HJLayersFind_CUDA(c->index, p.n, &layers, &p.row));
  memset(frame, 0, sizeof(*frame));
  frame->layers = PetscMax(layers, 1);
  frame->row    = p.row;
  frame->wall   = -1;
  if (layers < 1 || layers > 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStream(&stream));
  PetscCall(HJWallsFind(c, &p, stream, &p.walls, &wall));
  if (!p.walls) PetscFunctionReturn(PETSC_SUCCESS);
  for (unsigned ends = 0; ends < HJ_END_SETS; ends++) {
    p.dropped[ends] = (short)HJRowWithout(c, p.row, ends);
    for (int r = 0; r < c->nrows; r++)
      if (c->rows[r * c->nslots] == c->rows[wall * c->nslots] && HJRowIsAlone(c, r, ends & p.outside)) p.alone[r] |= 1ull << ends;
  }
  PetscCall(HJFoundBegin(stream, sizeof(wrong), (void **)&d_wrong));
  HJWalls_Kernel<<<HJLayersBlocks(p.npoints), HJ_SETUP_THREADS, 0, stream>>>(p, d_wrong);
  PetscCall(HJFoundEnd(stream, sizeof(wrong), d_wrong, &wrong));
  if (wrong == 3) PetscFunctionReturn(PETSC_SUCCESS);
  frame->wall    = wall;
  frame->dropped = (PetscBool)(wrong & 1);
  for (int e = 0; e < 6; e++) frame->at[e / 2][e % 2] = (PetscBool)(p.walls >> e & 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What the kernels for residual and restriction in one share: their parameters, how blocks add up a norm, how many planes a block does.
   Which kernel runs is the table's.
*/
#pragma once

#include <limits.h>
#include "cuda/kernels/hjfamilies.h"
#include "core/hjrestriction.h"

/* Blocks that may leave a part of the norm; the first place has the sum, the second a counter */
#define HJ_RESTRICT_PARTS (HJ_RESTRICTION_NORM - 2)

/* How coefficients are read: HJCoefficientStorage, and arrays of a symmetric matrix */
enum { HJ_RESTRICT_ROW, HJ_RESTRICT_DICTIONARY, HJ_RESTRICT_ARRAYS, HJ_RESTRICT_SYMMETRIC };

/* Directions: x, middle, slowest */
typedef struct {
  const PetscScalar   *x, *b;
  const PetscScalar   *beside_x[2], *beside_b[2]; /* planes of the ranks below and above, NULL: there is none; see HJRestrictionCut */
  PetscScalar         *y, *norm2;
  PetscScalar          row[HJ_MAX_SLOTS];
  const PetscScalar   *value, *rows;
  const unsigned char *index;
  long long            npoints;
  int                  n[3], nc[3], line, plane; /* fine and coarse points; from a line of x and b to the next, and from a plane */
  int                  two[3], periodic[3];      /* two: refinement is 2 */
  int                  tile[3], tiles[3], all;   /* coarse points of a tile; tiles */
  int                  cut, first[3];            /* the grid is cut into planes; fine place of the first coarse one in each direction */
  PetscScalar          scale[3][2];              /* see HJTransferGetScale() */
  long long            begin[HJ_MAX_SLOTS];      /* of the array of each slot in value */
  bool                 half;                     /* see HJCoefficients */
} HJRestrictArgs;

/* Which direction of a grid is x, the middle or the slowest one */
__host__ __device__ constexpr int HJRestrictDirection(int dim, int d)
{
  return dim == 3 || d == 0 ? d : dim == 2 && d == 2 ? 1 : 2;
}

/* Offset of a slot in direction d */
template <int DIM, bool BOX> __host__ __device__ constexpr int HJRestrictOffset(int slot, int d)
{
  return slot ? HJDOffset(DIM, BOX, slot - 1, HJRestrictDirection(DIM, d)) : 0;
}

/* Planes of a grid that is cut are counted from the one that the first coarse plane lies on. Where such a plane of x or b is; NULL: outside
   the domain */
static __device__ __forceinline__ const PetscScalar *HJRestrictCutPlane(const HJRestrictArgs &p, const PetscScalar *own,
                                                                        const PetscScalar *const beside[2], int s)
{
  s += p.first[2];
  if ((unsigned)s < (unsigned)p.n[2]) return own + (long long)s * p.plane;
  const PetscScalar *q = beside[s < 0 ? 0 : 1];

  return q ? q + (long long)(s < 0 ? s + HJ_CUT_PLANES : s - p.n[2]) * p.plane : NULL;
}

/* Whether such a plane is the rank's own */
static __device__ __forceinline__ bool HJRestrictIsOwn(const HJRestrictArgs &p, int s)
{
  return (unsigned)(s + p.first[2]) < (unsigned)p.n[2];
}

/* Whether coarse planes [lo, hi) need own fine ones alone. They need not wait for the kernel before, which is the exchange of those beside:
   it has waited for what came before it */
static __device__ __forceinline__ bool HJRestrictIsHome(const HJRestrictArgs &p, int lo, int hi)
{
  return lo > 0 && 2 * hi + p.first[2] < p.n[2];
}

/* Planes from the first coarse one on, with those above the rank's own; whether there is one below */
template <bool CUT> static __device__ __forceinline__ int HJRestrictEnd(const HJRestrictArgs &p)
{
  return p.n[2] - p.first[2] + (CUT && p.beside_x[1] ? HJ_CUT_PLANES : 0);
}

template <bool CUT> static __device__ __forceinline__ bool HJRestrictHasBelow(const HJRestrictArgs &p)
{
  return p.first[2] || (CUT && p.beside_x[0]);
}

/* What a point's residual is multiplied by where it is gathered: of those that hang. i: its place in a direction, of the rank's own */
static __device__ __forceinline__ PetscScalar HJRestrictScale(const HJRestrictArgs &p, int d, int i)
{
  return i == 0 ? p.scale[d][0] : i == p.n[d] - 1 ? p.scale[d][1] : (PetscScalar)1.0;
}

/* Sums up the blocks' parts of the norm in one order; the last block to come does it */
static __device__ void HJRestrictAddNorm(const HJRestrictArgs &p, PetscScalar sum)
{
  __shared__ PetscScalar s_part[32];
  __shared__ bool        s_last;
  const int              lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = (blockDim.x + 31) / 32;

  for (int round = 0; round < 2; round++) {
#pragma unroll
    for (int o = 16; o; o /= 2) sum += __shfl_down_sync(0xffffffffu, sum, o);
    if (lane == 0) s_part[warp] = sum;
    __syncthreads();
    if (warp == 0) {
      sum = lane < warps ? s_part[lane] : HJ_ZERO;
#pragma unroll
      for (int o = 16; o; o /= 2) sum += __shfl_down_sync(0xffffffffu, sum, o);
    }
    if (round) break;
    if (threadIdx.x == 0) {
      p.norm2[2 + blockIdx.x] = sum;
      __threadfence();
      s_last = atomicInc((unsigned *)(p.norm2 + 1), gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!s_last) return;
    __threadfence();
    sum = 0.0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += blockDim.x) sum += __ldcg(p.norm2 + 2 + i);
  }
  if (threadIdx.x == 0) p.norm2[0] = sum;
}

/* Coarse planes of a block, so that the waves of so many blocks at once have the fewest fine planes to do; a block reads some more than
   its own */
static inline int HJRestrictPlanes(const HJRestrictArgs &p, int tiles, int slots)
{
  long long least = LLONG_MAX;
  int       best  = p.nc[2];

  for (int chunks = 1; chunks <= p.nc[2] && (chunks == 1 || (long long)tiles * chunks <= HJ_RESTRICT_PARTS); chunks++) {
    const int       planes = (p.nc[2] + chunks - 1) / chunks, blocks = tiles * ((p.nc[2] + planes - 1) / planes);
    const long long cost = (long long)((blocks + slots - 1) / slots) * ((planes << p.two[2]) + 3);

    if (cost >= least) continue;
    least = cost;
    best  = planes;
  }
  return best;
}

/* The grids alone, and all */
void           HJRestrictGetGrids(const HJRestriction *, HJRestrictArgs *);
PetscErrorCode HJRestrictGetArgs(const HJRestriction *, HJRestrictArgs *);
/* Whether the kernels of hjrestrictpairs.cu fit the grids, and so those of a grid that is cut */
bool HJRestrictFitsPairs(const HJRestriction *, const HJRestrictArgs *);

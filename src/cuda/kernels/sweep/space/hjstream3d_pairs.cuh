/* SPDX-License-Identifier: BSD-2-Clause */
/*
   3D, coefficient arrays, ranks without neighbours: two subiterations a launch, of a star also three, so that coefficients come from memory
   once for all. What these kernels share. Decides nothing.

   A thread has a point in x and y, of a tile and the ring around it, and marches in z. In plane r it does the first subiteration; the
   result goes to shared memory, where the second finds its neighbours. What that one adds up in plane r needs the planes r - 1 and r, so
   it waits for plane r + 1 with the coefficients that lead there alone.
*/
#pragma once

#include "cuda/kernels/hjkernel.h"

#define HJ3_PAIR_SECTOR 4 /* doubles that come with one */

/* Points that a block writes, at most, threads in x and y, planes; and the number of blocks */
typedef struct {
  int own[3], n[3], bx, by;
} HJ3PairLayout;

typedef struct {
  const PetscScalar *x, *b, *dinv;             /* at write's first point; x NULL: zero guess */
  const PetscScalar *value[HJD_MAX_NEIGHBORS]; /* of the offset, also where it is stored as that of the opposite one */
  PetscScalar       *y, w[3];
  HJDBox             write, domain;
  HJ3PairLayout      lay;
  int                nx, cx, ny; /* row lengths of x and b, of coefficients, of y */
  long long          nxy, cxy, nyxy;
} HJ3PairArgs;

/* [symmetric][zero guess], and what they take: planes of tile and ring in shared memory, threads of a block, at most, and blocks of a
   multiprocessor */
typedef struct {
  const void *kernel[2][2];
  int         ring, planes, threads, blocks; /* ring: of a tile, as wide as the number of subiterations less one */
} HJ3PairKernels;

extern const HJ3PairKernels HJ3PairBox, HJ3PairStar, HJ3TripleStar;

#if defined(__CUDACC__)

/* A thread's place; rows and planes count from those of the domain */
typedef struct {
  int  i, j, k0, k1, r0, end; /* the point, planes to write, the first plane that is computed, and that after the last */
  int  px, plane, at;         /* row length and size of a plane in shared memory, this thread's place in one */
  bool mine, active, own; /* there is a place in shared memory; the point is in the tile or its ring, and the domain; it is the tile's */
} HJ3PairPlace;

template <int RING> static __device__ __forceinline__ HJ3PairPlace HJ3PairLocate(const HJ3PairArgs &p)
{
  const int    tx = threadIdx.x % p.lay.bx, ty = threadIdx.x / p.lay.bx;
  const int    x0 = p.write.lo[0] + blockIdx.x * p.lay.own[0], x1 = min(x0 + p.lay.own[0], p.write.hi[0]);
  const int    y0 = p.write.lo[1] + blockIdx.y * p.lay.own[1], y1 = min(y0 + p.lay.own[1], p.write.hi[1]);
  HJ3PairPlace t;

  t.k0     = p.write.lo[2] + blockIdx.z * p.lay.own[2];
  t.k1     = min(t.k0 + p.lay.own[2], p.write.hi[2]);
  t.i      = max(x0 - RING, p.domain.lo[0]) + tx;
  t.j      = max(y0 - RING, p.domain.lo[1]) + ty;
  t.r0     = max(t.k0 - RING, p.domain.lo[2]);
  t.end    = min(t.k1 + RING, p.domain.hi[2]);
  t.px     = p.lay.bx + 2;
  t.plane  = t.px * (p.lay.by + 2);
  t.at     = (ty + 1) * t.px + tx + 1;
  t.mine   = ty < p.lay.by;
  t.active = t.mine && t.i < min(x1 + RING, p.domain.hi[0]) && t.j < min(y1 + RING, p.domain.hi[1]);
  t.own    = t.active && t.i >= x0 && t.i < x1 && t.j >= y0 && t.j < y1;
  return t;
}

static __device__ __forceinline__ bool HJ3PairInside(const HJ3PairArgs &p, int i, int j)
{
  return i >= p.domain.lo[0] && i < p.domain.hi[0] && j >= p.domain.lo[1] && j < p.domain.hi[1];
}

static __device__ __forceinline__ void HJ3PairPrefetch(const PetscScalar *p)
{
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
}

#endif

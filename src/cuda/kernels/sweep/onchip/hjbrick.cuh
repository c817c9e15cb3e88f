/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What the kernels of bricks share: a brick's points, the slots through which blocks give each other the layer around it, and how a grid
   is cut. Decides no kernel.
*/
#pragma once

#include "hjbrick.h"

#define HJ_BRICK_SHELL 3 /* points around a box's brick that a thread receives, at most */

/* Fills own, more and n: as many bricks as there are multiprocessors */
void HJBricksCut(const HJDevice *, HJBricks *);
/* Fills all else for strips of so many points; false: that takes more threads or shared memory than there are */
bool HJBricksTry(size_t smem_block, bool box, int strip, int threads, HJBricks *);

/*
   One access of 16 bytes each, so that value and epoch belong together; a relaxed one is enough: nothing else is read on its word. Only
   where on is not 0: predicates in place of branches, so that all loads of a strip are in flight at once
*/
__device__ __forceinline__ void HJSlotStore(const char *at, unsigned on, PetscScalar v, unsigned long long epoch)
{
#if HJ_SLOT_WORDS && __CUDA_ARCH__ >= 700
  asm volatile("{ .reg .b128 t; .reg .pred q; setp.ne.u32 q, %3, 0; mov.b128 t, {%1, %2}; @q st.relaxed.gpu.global.b128 [%0], t; }" ::"l"(
                 at),
               "l"((long long)HJBitsOf(v)), "l"(epoch), "r"(on)
               : "memory");
#endif
}

__device__ __forceinline__ void HJSlotLoad(const char *at, unsigned on, long long *v, unsigned long long *epoch)
{
#if HJ_SLOT_WORDS && __CUDA_ARCH__ >= 700
  asm volatile("{ .reg .b128 t; .reg .pred q; setp.ne.u32 q, %3, 0; mov.b128 t, {%0, %1}; @q ld.relaxed.gpu.global.b128 t, [%2]; mov.b128 "
               "{%0, %1}, t; }"
               : "+l"(*v), "+l"(*epoch)
               : "l"(at), "r"(on));
#endif
}

/* A thread's strip in the brick; ox and oy say on which side the points around the brick are that are this thread's to read */
typedef struct {
  int i, j, k, len; /* first point, number of points */
  int ox, oy;
  int lo[3], hi[3]; /* the brick */
} HJStrip;

/* N points that other blocks own, once all of the warp's have arrived; 0 where on(u) is 0. at: slots by u */
template <int N, typename At, typename On>
__device__ __forceinline__ void HJSlotsReceive(const At &at, const On &on, unsigned long long epoch, PetscScalar v[N])
{
  unsigned long long got[N];
  long long          bits[N];
  bool               wait;

#pragma unroll
  for (int u = 0; u < N; u++) {
    bits[u] = 0;
    got[u]  = epoch;
  }
  do {
    wait = false;
#pragma unroll
    for (int u = 0; u < N; u++) HJSlotLoad(at(u), on(u), &bits[u], &got[u]);
#pragma unroll
    for (int u = 0; u < N; u++) wait = wait || got[u] != epoch;
  } while (__any_sync(~0u, wait));
#pragma unroll
  for (int u = 0; u < N; u++) v[u] = HJFromBits(bits[u]);
}

/* A point of a box's ring that another block owns: its slot, and its place in shared memory */
typedef struct {
  int      from, to;
  unsigned on;
} HJBrickPoint;

/* q / d of small numbers: an integer division takes four times as long */
__device__ __forceinline__ int HJBrickDivide(int q, int d)
{
  return (int)__fdividef(q + 0.5f, d);
}

/* Point q of the ring: the planes below and above come first, then plane by plane the lines around the others */
__device__ __forceinline__ HJBrickPoint HJBrickShell(const HJBricks &lay, const HJStrip &t, int q)
{
  const int w[3] = {t.hi[0] - t.lo[0], t.hi[1] - t.lo[1], t.hi[2] - t.lo[2]}, wx = w[0] + 2, size = wx * (w[1] + 2),
            around = 2 * (wx + w[1]);
  const bool ends  = q < 2 * size;
  const int  rest = ends ? q < size ? q : q - size : q - 2 * size, d = ends ? wx : around, line = HJBrickDivide(rest, d),
            at = rest - line * d, beside = at - 2 * wx;
  const int    x = ends ? at : beside < 0 ? (at < wx ? at : at - wx) : beside < w[1] ? 0 : w[0] + 1;
  const int    y = ends ? line : beside < 0 ? (at < wx ? 0 : w[1] + 1) : beside < w[1] ? beside + 1 : beside - w[1] + 1;
  const int    z = ends ? (q < size ? 0 : w[2] + 1) : line + 1, i = t.lo[0] + x - 1, j = t.lo[1] + y - 1, k = t.lo[2] + z - 1;
  HJBrickPoint shell;

  shell.on   = z <= w[2] + ends && HJDInside(lay.cover, i, j, k);
  shell.to   = z * lay.plane + y * lay.px + x;
  shell.from = shell.on ? (int)HJDIndex(lay.cover, i, j, k) * (int)sizeof(HJSlot) : 0;
  return shell;
}

/* A box's ring, into shared memory */
__device__ __forceinline__ void HJShellReceive(const HJBrickPoint shell[HJ_BRICK_SHELL], const char *slot, unsigned long long epoch,
                                               PetscScalar *s_at)
{
  PetscScalar v[HJ_BRICK_SHELL];

  HJSlotsReceive<HJ_BRICK_SHELL>([&](int u) { return slot + shell[u].from; }, [&](int u) { return shell[u].on; }, epoch, v);
#pragma unroll
  for (int u = 0; u < HJ_BRICK_SHELL; u++) {
    if (shell[u].on) s_at[shell[u].to] = v[u];
  }
}

/* Bricks of a direction differ by a point at most */
__device__ __forceinline__ void HJBrickRange(const HJBricks &lay, HJStrip &t)
{
  const int at[3] = {(int)blockIdx.x, (int)blockIdx.y, (int)blockIdx.z};

#pragma unroll
  for (int d = 0; d < 3; d++) {
    t.lo[d] = lay.cover.lo[d] + at[d] * lay.own[d] + min(at[d], lay.more[d]);
    t.hi[d] = t.lo[d] + lay.own[d] + (at[d] < lay.more[d]);
  }
}

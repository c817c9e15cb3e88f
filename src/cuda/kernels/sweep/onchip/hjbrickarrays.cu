/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Small 3D grids whose coefficients are arrays of a box, as hjbrick.cu does those of a dictionary: one brick a block, all subiterations in
   one launch. A thread has one point and keeps its coefficients in registers, so that they are read once. Rings come through slots.
   hjonchip.cu decides when; ranks with neighbours are not for this file.
*/
#include "hjbrick.cuh"
#include "hjbrickarrays.h"

/* Arrays are pointed to as if they began at (0, 0, 0), with so many points a line and a plane */
typedef struct {
  const PetscScalar *b, *x, *dinv, *value[HJD_MAX_NEIGHBORS];
  PetscScalar       *y;
  int                line, plane, cline, cplane, yline, yplane; /* of x and b, of coefficients, of y */
  HJBricks           lay;
  HJDBox             write, domain;
  int                count;
  HJSlot            *slot[2];
  unsigned long long epoch; /* of the first exchange */
  PetscScalar        w[HJD_MAX_COUNT];
} HJBrickArraysArgs;

/* What of the ring is in no brick: 0 beyond the domain, else as it is at the start, in both buffers */
static __device__ __noinline__ void HJBrickArraysFrozen(const HJBrickArraysArgs &p, PetscScalar *s_x)
{
  HJStrip t;

  HJBrickRange(p.lay, t);
  const int wx = t.hi[0] - t.lo[0] + 2, wy = t.hi[1] - t.lo[1] + 2, wz = t.hi[2] - t.lo[2] + 2;

  for (int q = threadIdx.x; q < wx * wy * wz; q += blockDim.x) {
    const int i = t.lo[0] + q % wx - 1, j = t.lo[1] + q / wx % wy - 1, k = t.lo[2] + q / wx / wy - 1, from = i + j * p.line + k * p.plane;
    PetscScalar *at = s_x + q / wx / wy * p.lay.plane + q / wx % wy * p.lay.px + q % wx;

    if (HJDInside(p.lay.cover, i, j, k) || !HJDInside(p.domain, i, j, k)) continue;
    *at              = p.x ? p.x[from] : p.w[0] * p.dinv[i + j * p.cline + k * p.cplane] * p.b[from];
    at[p.lay.buffer] = *at;
  }
}

template <bool SYM>
__global__ void __launch_bounds__(HJ_BRICKARRAYS_THREADS, 1) HJBrickArrays_Kernel(const __grid_constant__ HJBrickArraysArgs p)
{
  constexpr int                 NN = HJDNeighbors(3, true);
  extern __shared__ PetscScalar s_x[];
  const HJBricks               &lay = p.lay;
  HJStrip                       t;
  HJBrickPoint                  shell[HJ_BRICK_SHELL];
  PetscScalar                   c[NN];

  HJBrickRange(lay, t);
  const int  w0 = t.hi[0] - t.lo[0], w1 = t.hi[1] - t.lo[1], n = w0 * w1 * (t.hi[2] - t.lo[2]), q = min((int)threadIdx.x, n - 1);
  const bool mine = (int)threadIdx.x < n; /* the others help to receive */
  const int  z = HJBrickDivide(q, w0 * w1), y = HJBrickDivide(q - z * w0 * w1, w0), i = t.lo[0] + q - (z * w1 + y) * w0, j = t.lo[1] + y,
            k    = t.lo[2] + z;
  const int from = i + j * p.line + k * p.plane, ca = i + j * p.cline + k * p.cplane;

#pragma unroll
  for (int o = 0; o < NN; o++) {
    const int away = HJDOffset(3, true, o, 0) + HJDOffset(3, true, o, 1) * p.cline + HJDOffset(3, true, o, 2) * p.cplane;

    c[o] = SYM && o < NN / 2 ? p.value[NN - 1 - o][ca + away] : p.value[o][ca];
  }
  const PetscScalar dinv = p.dinv[ca], b = p.b[from], given = p.x ? p.x[from] : HJ_ZERO;

  for (int s = threadIdx.x; s < lay.buffer; s += blockDim.x)
    ((HJScalar2 *)s_x)[s] = HJScalar2Of(0.0, 0.0); /* two buffers of 8-byte words */
#pragma unroll
  for (int u = 0; u < HJ_BRICK_SHELL; u++) shell[u] = HJBrickShell(lay, t, threadIdx.x + u * blockDim.x);
  __syncthreads();
  if (lay.frozen) HJBrickArraysFrozen(p, s_x);

  const bool edge = (i == t.lo[0] && i > lay.cover.lo[0]) || (i == t.hi[0] - 1 && t.hi[0] < lay.cover.hi[0]) ||
                    (j == t.lo[1] && j > lay.cover.lo[1]) || (j == t.hi[1] - 1 && t.hi[1] < lay.cover.hi[1]) ||
                    (k == t.lo[2] && k > lay.cover.lo[2]) || (k == t.hi[2] - 1 && t.hi[2] < lay.cover.hi[2]);
  const unsigned send = mine && edge;
  const int   to = (int)HJDIndex(lay.cover, i, j, k) * (int)sizeof(HJSlot), at = ((z + 1) * lay.plane) + (y + 1) * lay.px + i - t.lo[0] + 1;
  PetscScalar x   = p.x ? given : p.w[0] * dinv * b;
  int         now = 0;

  for (int m = p.x ? 0 : 1, e = 0; m < p.count; m++, e++) {
    const PetscScalar       *cur    = s_x + now + at;
    const unsigned long long epoch  = p.epoch + e;
    PetscScalar              sum[2] = {0.0, 0.0}; /* two chains of additions: latency */

    HJSlotStore((const char *)p.slot[e & 1] + to, send, x, epoch);
    if (mine) s_x[now + at] = x;
    HJShellReceive(shell, (const char *)p.slot[e & 1], epoch, s_x + now);
    __syncthreads();
#pragma unroll
    for (int o = 0; o < NN; o++) {
      const PetscScalar v = cur[HJDOffset(3, true, o, 2) * lay.plane + HJDOffset(3, true, o, 1) * lay.px + HJDOffset(3, true, o, 0)];

      sum[o % 2] = fma(c[o], v, sum[o % 2]);
    }
    x   = fma(p.w[m], dinv * (b - (sum[0] + sum[1])) - x, x);
    now = now ? 0 : lay.buffer;
  }
  if (mine && HJDInside(p.write, i, j, k)) p.y[i + j * p.yline + k * p.yplane] = x;
}

bool HJBrickArraysFit(const HJDevice *device, HJBricks *lay)
{
  if (!device->cooperative) return false;
  HJBricksCut(device, lay);
  return HJBricksTry(device->smem_block, true, 1, HJ_BRICKARRAYS_THREADS, lay);
}

PetscErrorCode HJBrickArraysRun_CUDA(const HJ_CUDA *cuda, cudaStream_t stream, const HJDSweep *s, const HJBricks *lay, int count,
                                     const PetscReal *w, HJSlot *slot, unsigned long long epoch)
{
  const HJDStencil *st      = &cuda->st;
  const HJLaunch    how     = {dim3(lay->n[0], lay->n[1], lay->n[2]), dim3(lay->threads), lay->smem_bytes, stream, 0, false, true};
  const long long   corigin = HJDIndex(st->box, 0, 0, 0), origin = HJDIndex(s->box, 0, 0, 0);
  HJBrickArraysArgs p;
  void             *args[] = {(void *)&p};

  PetscFunctionBegin;
  p.lay        = *lay;
  p.lay.frozen = false;
  for (int d = 0; d < 3; d++) p.lay.frozen = p.lay.frozen || lay->cover.lo[d] > s->domain.lo[d] || lay->cover.hi[d] < s->domain.hi[d];
  for (int o = 0; o < HJD_MAX_NEIGHBORS; o++) p.value[o] = st->value[o] ? st->value[o] + corigin : NULL;
  p.dinv    = st->dinv + corigin;
  p.b       = s->b + origin;
  p.x       = s->x ? s->x + origin : NULL;
  p.y       = s->y + HJDIndex(s->ybox, 0, 0, 0);
  p.line    = HJDWidth(s->box, 0);
  p.plane   = p.line * HJDWidth(s->box, 1);
  p.cline   = HJDWidth(st->box, 0);
  p.cplane  = p.cline * HJDWidth(st->box, 1);
  p.yline   = HJDWidth(s->ybox, 0);
  p.yplane  = p.yline * HJDWidth(s->ybox, 1);
  p.write   = s->write;
  p.domain  = s->domain;
  p.count   = count;
  p.slot[0] = slot;
  p.slot[1] = slot + HJBricksSlots(lay);
  p.epoch   = epoch;
  for (int j = 0; j < count; j++) p.w[j] = w[j];
  PetscCallCUDA(
    HJLaunchKernel(&how, st->storage == HJ_SYMMETRIC ? (const void *)HJBrickArrays_Kernel<true> : (const void *)HJBrickArrays_Kernel<false>,
                   args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

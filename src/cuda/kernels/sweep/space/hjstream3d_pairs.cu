/* SPDX-License-Identifier: BSD-2-Clause */
/*
   3D, coefficient arrays: two or three subiterations a launch. Decides how a grid is cut into columns of tiles and pieces of planes, and
   which operators take this; the kernels are in hjstream3d_pairsbox.cu and hjstream3d_pairsstar.cu.
*/
#include "cuda/kernels/hjfamilies.h"
#include "hjstream3d_pairs.cuh"

#define HJ3_PAIR_MOST 65535 /* blocks of a launch in y and z */

static const HJ3PairKernels *HJ3PairChoose(const HJDStencil *st, int count)
{
  return st->shape == HJ_BOX ? &HJ3PairBox : count == 2 ? &HJ3PairStar : &HJ3TripleStar;
}

/* Points of the ring around the widest of n tiles in a direction */
static int HJ3PairRing(const HJDSweep *s, int ring, int d, int n)
{
  const int lo = PetscMin(ring, s->write.lo[d] - s->domain.lo[d]), hi = PetscMin(ring, s->domain.hi[d] - s->write.hi[d]);

  return n == 1 ? lo + hi : n == 2 ? ring + PetscMax(lo, hi) : 2 * ring;
}

/* Points in y of tiles whose ring leaves them room for as many as can be */
static void HJ3PairCutY(const HJDSweep *s, const HJ3PairKernels *k, HJ3PairLayout *l)
{
  const int n = HJDWidth(s->write, 1), most = k->threads / l->bx;
  int       tiles = 1;

  while (tiles < 3 && tiles * (most - HJ3PairRing(s, k->ring, 1, tiles)) < n) tiles++;
  l->own[1] = PetscMin(n, most - HJ3PairRing(s, k->ring, 1, tiles));
  l->n[1]   = (n + l->own[1] - 1) / l->own[1];
  l->own[1] = (n + l->n[1] - 1) / l->n[1];
  l->by     = l->own[1] + HJ3PairRing(s, k->ring, 1, l->n[1]);
}

/* Tiles and pieces that take the fewest planes' time; a piece costs the planes beyond its ends, and about two to begin and to end */
static HJ3PairLayout HJ3PairCut(const HJDSweep *s, const HJ3PairKernels *k, int processors)
{
  const int     nx = HJDWidth(s->write, 0), nz = HJDWidth(s->write, 2), slots = processors * k->blocks;
  HJ3PairLayout best  = {};
  long long     least = 0;

  for (int tiles = 1; tiles <= nx; tiles++) {
    HJ3PairLayout l;

    l.own[0] = (nx + tiles - 1) / tiles;
    l.n[0]   = (nx + l.own[0] - 1) / l.own[0];
    l.bx     = l.own[0] + HJ3PairRing(s, k->ring, 0, l.n[0]);
    if (l.bx > k->threads / (2 * k->ring + 1)) continue;
    if (l.bx < HJ3_PAIR_LEAST && best.bx) break;
    HJ3PairCutY(s, k, &l);
    for (int pieces = 1; pieces <= PetscMax(nz / 4, 1); pieces++) {
      l.own[2]               = (nz + pieces - 1) / pieces;
      l.n[2]                 = (nz + l.own[2] - 1) / l.own[2];
      const long long blocks = (long long)l.n[0] * l.n[1] * l.n[2], time = (blocks + slots - 1) / slots * (l.own[2] + 2 * k->ring + 2);

      if (best.bx && time >= least) continue;
      best  = l;
      least = time;
    }
  }
  return best;
}

/* One HJ3PairLayout a sweep */
static PetscErrorCode HJ3PairLayoutCreate(HJ_CUDA *cuda, cudaStream_t, const HJDSweep *s, const HJGeometry *geometry, void **layout)
{
  HJ3PairLayout *l;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(geometry->nsweeps, &l));
  *layout = l;
  for (int i = 0; i < geometry->nsweeps; i++) l[i] = HJ3PairCut(&s[i], HJ3PairChoose(&cuda->st, geometry->count), cuda->device.nsm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJ3PairLayoutDestroy(void *layout)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(layout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void HJ3PairSetArgs(const HJDStencil *st, const HJDSweep *s, const HJ3PairLayout *lay, HJ3PairArgs *p)
{
  const long long from  = HJDIndex(s->box, s->write.lo[0], s->write.lo[1], s->write.lo[2]),
                  cfrom = HJDIndex(st->box, s->write.lo[0], s->write.lo[1], s->write.lo[2]);

  p->cx  = HJDWidth(st->box, 0);
  p->cxy = (long long)p->cx * HJDWidth(st->box, 1);
  for (int o = 0; o < st->nneighbors; o++) {
    const bool      box = st->shape == HJ_BOX, lower = box ? o < 13 : o % 2 == 0;
    const long long away = HJDOffset(3, box, o, 2) * p->cxy + HJDOffset(3, box, o, 1) * (long long)p->cx + HJDOffset(3, box, o, 0);

    p->value[o] = cfrom + (st->storage == HJ_SYMMETRIC && lower ? st->value[box ? 25 - o : o ^ 1] + away : st->value[o]);
  }
  p->dinv   = st->dinv + cfrom;
  p->x      = s->x ? s->x + from : NULL;
  p->b      = s->b + from;
  p->y      = s->y + HJDIndex(s->ybox, s->write.lo[0], s->write.lo[1], s->write.lo[2]);
  p->write  = s->write;
  p->domain = s->domain;
  p->lay    = *lay;
  p->nx     = HJDWidth(s->box, 0);
  p->nxy    = (long long)p->nx * HJDWidth(s->box, 1);
  p->ny     = HJDWidth(s->ybox, 0);
  p->nyxy   = (long long)p->ny * HJDWidth(s->ybox, 1);
}

static PetscErrorCode HJ3PairLaunch(HJ_CUDA *cuda, cudaStream_t stream, const HJDPass *pass, const void *layout)
{
  const HJDSweep       *s     = pass->sweep;
  const int             count = pass->count;
  const HJ3PairKernels *k     = HJ3PairChoose(&cuda->st, count);
  const HJ3PairLayout  *l     = (const HJ3PairLayout *)layout;
  HJ3PairArgs           p;
  void                 *args[] = {&p};

  PetscFunctionBegin;
  PetscCheck(count == 1 + k->ring, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d subiterations in a sweep of %d", count, 1 + k->ring);
  for (int i = 0; i < pass->nsweeps; i++, l++) {
    const HJLaunch how = {dim3(l->n[0], l->n[1], l->n[2]),
                          dim3((l->bx * l->by + 31) / 32 * 32),
                          k->planes * sizeof(PetscScalar) * (l->bx + 2) * (l->by + 2),
                          stream,
                          0,
                          cuda->device.cc >= 90};

    HJ3PairSetArgs(&cuda->st, &s[i], l, &p);
    for (int j = 0; j < count; j++) p.w[j] = pass->w[j];
    PetscCallCUDA(HJLaunchKernel(&how, k->kernel[cuda->st.storage == HJ_SYMMETRIC][!s[i].x], args));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int HJ3PairBestCount(const HJDevice *, const HJGrid *grid, const HJDStencil *st)
{
  if (st->dim < 3 || st->storage == HJ_DICTIONARY || HJGridHasNeighbors(grid)) return 0;
  if (HJBoxWidth(&grid->owned, 1) > HJ3_PAIR_MOST || HJBoxWidth(&grid->owned, 2) > HJ3_PAIR_MOST) return 0;
  if (st->shape == HJ_BOX) return HJBoxSize(&grid->owned) >= HJ3_PAIR_BOX ? 2 : 0;
  return HJBoxSize(&grid->owned) < (st->storage == HJ_SYMMETRIC ? HJ3_PAIR_HALF : HJ3_PAIR_STAR) ? 3 : 0;
}

static int HJ3PairTakes(const HJDevice *device, const HJAsk *ask)
{
  return ask->kind == HJ_EXACT ? HJ3PairBestCount(device, ask->grid, ask->st) : 0;
}

const HJFamily HJFamilyStream3DPairs = {
  .name           = "3D stream of coefficient arrays by columns",
  .takes          = HJ3PairTakes,
  .best_count     = HJ3PairBestCount,
  .launch         = HJ3PairLaunch,
  .layout         = HJ3PairLayoutCreate,
  .layout_destroy = HJ3PairLayoutDestroy,
};

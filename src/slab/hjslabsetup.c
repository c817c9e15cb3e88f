/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Slabs of an operator and a device are made: how far coefficients and ghosts reach, what is measured of the device, the plan that follows.
*/
#include "hjslabsimpl.h"

#define HJ_SLAB_THICKEST  96 /* planes of the thickest sweep that is measured, unless so many are short */
#define HJ_SLAB_EACH      40 /* up to so many each thickness is measured: kernels' tiles are as high as some */
#define HJ_SLAB_MAX_COUNT 64
#define HJ_SLAB_DEPTH     64 /* subiterations of a visit, at most, where other ranks' planes are needed */
#define HJ_SLAB_COPY      ((size_t)64 << 20)
#define HJ_SLAB_REPEATS   4

void HJSlabsRefuse(const HJOperator *op, char why[], size_t len)
{
  why[0] = 0;
  if (op->overlap >= 0) (void)PetscSNPrintf(why, len, "slabs are swept in exact mode alone; leave -pc_hjacobi_overlap unset");
  else if (op->grid.dim < 2)
    (void)PetscSNPrintf(why, len, "slabs of a grid with one direction are not swept; use -pc_hjacobi_backend host");
}

/*
   What is done twice grows with the height, and so do arrays of coefficients: with these shares of the thinnest rank's width, by the number
   of directions that are cut, arrays become half as large again. The operator's own passes need a few
*/
static PetscInt HJSlabsPad(const HJGrid *grid, PetscInt height)
{
  static const PetscInt share[4] = {1, 4, 9, 14};
  PetscInt              cuts     = 0, some;

  if (!HJGridHasNeighbors(grid)) return 0;
  for (int d = 0; d < grid->dim; d++) cuts += grid->neighbor[d][0] || grid->neighbor[d][1]; /* the same on all ranks */
  some = height > 0 ? height : PetscMin(grid->min_width / share[cuts], HJ_SLAB_DEPTH);
  return PetscMin(grid->min_width, PetscMax(some, HJPlanPad(grid, -1)));
}

PetscErrorCode HJSlabsCreateOperator(Mat A, DM da, PetscInt height, HJOperator **op, char why[], size_t len)
{
  const PetscInt tile[3] = {1, 1, 1};
  HJGrid         grid;
  HJStencil     *st;

  PetscFunctionBegin;
  *op = NULL;
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(HJStencilCreate(A, da, &grid, HJSlabsPad(&grid, height), NULL, &st, why, len));
  if (!st) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJOperatorCreateFromStencil(da, &grid, st, -1, tile, &HJBackendHost, &HJHaloPetscSF, op));
  (*op)->pad = HJSlabsPad(&grid, height);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabsFreeMemory(MPI_Comm comm, const HJSlabOps *ops, size_t *bytes)
{
  unsigned char mine[HJ_SLAB_IDENTITY], *all;
  size_t        granularity, sharing = 1; /* this rank, and those that have its device too */
  PetscMPIInt   rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscMalloc1((size_t)size * HJ_SLAB_IDENTITY, &all));
  PetscCall(ops->identify(mine));
  PetscCall(ops->memory(bytes, &granularity));
  PetscCallMPI(MPI_Allgather(mine, HJ_SLAB_IDENTITY, MPI_BYTE, all, HJ_SLAB_IDENTITY, MPI_BYTE, comm)); /* none takes memory before */
  for (PetscMPIInt r = 0; r < size; r++)
    if (r != rank && !memcmp(mine, all + (size_t)r * HJ_SLAB_IDENTITY, HJ_SLAB_IDENTITY)) sharing++;
  *bytes = *bytes / 10 * 9 / sharing;
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of coefficients, and the bytes that a point has in each */
static PetscInt HJSlabsArrays(const HJStencil *st)
{
  return st->storage == HJ_DICTIONARY ? 1 : st->storage == HJ_VARIABLE ? st->nslots : st->nslots / 2 + 1;
}

static size_t HJSlabsCoefficientSize(const HJStencil *st)
{
  return st->storage == HJ_DICTIONARY ? 1 : sizeof(PetscScalar);
}

size_t HJSlabsInCoreBytes(const HJGrid *grid, const HJStencil *st)
{
  const HJBox box = HJGridPadded(grid, HJPlanPad(grid, -1)); /* those of slabs may reach farther */

  return 3 * sizeof(PetscScalar) * (size_t)HJBoxSize(&grid->owned) +
         HJSlabsArrays(st) * HJSlabsCoefficientSize(st) * (size_t)HJBoxSize(&box);
}

/* For rounds of a height up to depth, where there are neighbours */
static void HJSlabsSetDepth(HJSlabs s, PetscInt depth)
{
  s->box               = HJSlabGhostsBox(&s->grid, depth);
  s->shape.plane       = (size_t)(HJBoxSize(&s->box) / s->shape.n) * sizeof(PetscScalar);
  s->shape.most_height = depth;
}

static PetscErrorCode HJSlabsSetShape(HJSlabs s)
{
  const HJStencil *st    = s->stencil;
  HJSlabShape     *shape = &s->shape;
  size_t           available;

  PetscFunctionBegin;
  PetscCall(s->ops->memory(&available, &shape->granularity));
  shape->n     = HJBoxWidth(&s->grid.owned, (int)s->dir);
  shape->waits = HJGridHasNeighbors(&s->grid);
  for (int side = 0; side < 2; side++) shape->ghosts[side] = s->grid.neighbor[s->dir][side] ? 1 : 0;
  HJSlabsSetDepth(s, 0);
  shape->ncoefficients     = HJSlabsArrays(st);
  shape->coefficient_plane = (size_t)(HJBoxSize(&st->box) / PetscMax(HJBoxWidth(&st->box, (int)s->dir), 1)) * HJSlabsCoefficientSize(st);
  if (st->storage == HJ_DICTIONARY && st->nrows == 1) {
    shape->constant_plane = shape->coefficient_plane;
    shape->ncoefficients  = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of each ring: the device's ring() or ring_free() */
static PetscErrorCode HJSlabsForEachRing(HJSlabs s, PetscErrorCode (*call)(void *, size_t, char **))
{
  const HJSlabPlan *p = &s->plan;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) PetscCall((*call)(s->device, p->ring[i], &s->ring[i]));
  for (PetscInt i = 0; i < s->shape.ncoefficients; i++) PetscCall((*call)(s->device, p->ring[HJ_SLAB_COEFFICIENTS], &s->coefficient[i]));
  if (p->constant) PetscCall((*call)(s->device, p->constant, &s->constant));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds a byte, while both directions are in use as much as in a run: a plane leaves for each that comes, in several arrays */
static PetscErrorCode HJSlabsMeasureCopies(HJSlabs s)
{
  const PetscInt arrays = s->shape.ncoefficients + 2;
  const size_t   bytes  = PetscMin(HJ_SLAB_COPY, s->plan.ring[HJ_SLAB_X]) / 2;
  PetscLogDouble start  = 0, end;
  char          *host;
  PetscBool      pinned;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(2 * bytes, &host));
  PetscCall(PetscArrayzero(host, 2 * bytes));
  PetscCall(s->ops->pin(s->device, host, 2 * bytes, &pinned));
  for (int i = 0; i <= HJ_SLAB_REPEATS; i++) {
    if (i < 2) { /* the first is not counted */
      PetscCall(s->ops->wait(s->device));
      PetscCall(PetscTime(&start));
    }
    for (PetscInt a = 0; a < arrays; a++) {
      PetscCall(s->ops->copy(s->device, HJ_SLAB_IN, s->ring[HJ_SLAB_X], host, bytes));
      if (!a) PetscCall(s->ops->copy(s->device, HJ_SLAB_OUT, host + bytes, s->ring[HJ_SLAB_X] + bytes, bytes));
    }
  }
  PetscCall(s->ops->wait(s->device));
  PetscCall(PetscTime(&end));
  if (pinned) PetscCall(s->ops->unpin(s->device, host));
  PetscCall(PetscFree(host));
  s->rates.copy_in = s->rates.copy_out = (end - start) / HJ_SLAB_REPEATS / bytes / arrays;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sweep in the middle of the grid, if that is thick enough; the rings hold zeros */
static PetscErrorCode HJSlabsMeasureSweep(HJSlabs s, PetscInt planes, PetscReal *seconds)
{
  const HJSlabPlan *p  = &s->plan;
  const PetscInt    lo = p->n > planes + 2 * p->count ? p->count + 1 : p->ghosts[0] * p->count;
  PetscReal         w[HJ_SLAB_MAX_COUNT];
  PetscLogDouble    start = 0, end;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < p->count; i++) w[i] = 1;
  for (int i = 0; i <= HJ_SLAB_REPEATS; i++) {
    if (i < 2) {
      PetscCall(s->ops->wait(s->device));
      PetscCall(PetscTime(&start));
    }
    PetscCall(HJSlabsSweep(s, p, lo, lo + planes, lo, PetscMax(s->shape.most_height - p->count, 0) / 2, p->height + p->count + 1, i % 2,
                           PETSC_FALSE, p->count, w));
  }
  PetscCall(s->ops->wait(s->device));
  PetscCall(PetscTime(&end));
  *seconds = (end - start) / HJ_SLAB_REPEATS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The thickness that is measured after this one */
static PetscInt HJSlabsThinner(PetscInt planes)
{
  if (planes > HJ_SLAB_THICKEST) return PetscMax(planes / 2, HJ_SLAB_THICKEST);
  return PetscMin(planes - 1, PetscMax(planes * 15 / 16, HJ_SLAB_EACH));
}

/*
   Copies, and sweeps, as long as fit, of slabs from thin to thick: kernels do some numbers of planes as quickly as the next. Short planes
   may be swept by thousands: up to so many bytes as copies are measured with, which are more than caches hold
*/
static PetscErrorCode HJSlabsMeasure(HJSlabs s)
{
  const PetscInt enough = (PetscInt)PetscMax(HJ_SLAB_THICKEST, HJ_SLAB_COPY / s->shape.plane);
  PetscInt       height = PetscMin(s->shape.best_count, s->shape.max_count), most;
  HJSlabRates   *r      = &s->rates;

  PetscFunctionBegin;
  while (height > 1 && !HJSlabThickest(&s->shape, PC_HJACOBI_SLAB_SKEWED, height, s->limit)) height--;
  most = PetscMin(HJSlabThickest(&s->shape, PC_HJACOBI_SLAB_SKEWED, height, s->limit), enough);
  HJSlabPlanSet(&s->shape, PC_HJACOBI_SLAB_SKEWED, height, most, &s->plan);
  PetscCall(HJSlabsForEachRing(s, s->ops->ring));
  PetscCall(HJSlabsMeasureCopies(s));
  for (PetscInt planes = most, i; planes > 0 && r->nsamples < HJ_SLAB_SAMPLES; planes = HJSlabsThinner(planes)) {
    for (i = r->nsamples++; i > 0; i--) { /* thinner ones come first */
      r->planes[i] = r->planes[i - 1];
      r->sweep[i]  = r->sweep[i - 1];
    }
    r->planes[0] = planes;
    PetscCall(HJSlabsMeasureSweep(s, planes, &r->sweep[0]));
  }
  PetscCall(HJSlabsForEachRing(s, s->ops->ring_free));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the ghosts of a round cost, for the prediction alone: a subiteration's share is nearly the same for all heights. Collective */
static PetscErrorCode HJSlabsMeasureExchange(HJSlabs s)
{
  PetscLogDouble start = 0, end;
  PetscReal      plan[3];
  PetscScalar   *x;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(HJBoxSize(&s->grid.owned), &x));
  for (int i = 0; i <= HJ_SLAB_REPEATS; i++) {
    if (i < 2) PetscCall(PetscTime(&start)); /* the first is not counted */
    PetscCall(HJSlabGhostsNext(&s->ghosts, x));
  }
  PetscCall(PetscTime(&end));
  PetscCall(PetscFree(x));
  s->rates.exchange = (end - start) / HJ_SLAB_REPEATS / s->plan.height;
  plan[0]           = s->plan.seconds + s->rates.exchange;
  plan[1]           = s->plan.copy;
  plan[2]           = s->plan.sweep;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, plan, 3, MPIU_REAL, MPIU_MAX, s->comm));
  s->plan.seconds = plan[0];
  s->plan.copy    = plan[1];
  s->plan.sweep   = plan[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The deepest ghosts up to depth with which each rank has memory for the thinnest slab; whole: bytes of the grid at once. Collective */
static PetscErrorCode HJSlabsFitDepth(HJSlabs s, PetscInt depth, size_t whole)
{
  const PetscInt64 limit = (PetscInt64)s->limit;
  PetscInt64       need[3];

  PetscFunctionBegin;
  for (;; depth /= 2) {
    HJSlabsSetDepth(s, depth);
    need[0] = (PetscInt64)HJSlabLeastBytes(&s->shape);
    need[1] = need[0] - limit; /* of the rank that lacks most */
    need[2] = (PetscInt64)whole;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, need, 3, MPIU_INT64, MPI_MAX, s->comm));
    if (need[1] <= 0) PetscFunctionReturn(PETSC_SUCCESS);
    if (depth > 1) continue;
    PetscCheck(need[0] < need[2], s->comm, PETSC_ERR_MEM,
               "This grid needs %" PetscInt64_FMT
               " bytes of device memory, and slabs of its few planes need more; there may be %" PetscInt64_FMT
               ". Raise -pc_hjacobi_device_memory, use -pc_hjacobi_backend host, or make the longest direction the slowest",
               need[2], need[0] - need[1]);
    SETERRQ(s->comm, PETSC_ERR_MEM,
            "The thinnest slab of this grid needs %" PetscInt64_FMT " bytes of device memory, and there may be %" PetscInt64_FMT
            "; raise -pc_hjacobi_device_memory or use -pc_hjacobi_backend host",
            need[0], need[0] - need[1]);
  }
}

/* All ranks do rounds of the same height. Collective */
static PetscErrorCode HJSlabsPlan(HJSlabs s, PetscInt height, PetscInt depth, size_t whole)
{
  HJSlabPlan plan;
  PetscInt   least;

  PetscFunctionBegin;
  PetscCall(HJSlabsFitDepth(s, depth, whole));
  if (s->shape.waits) {
    height             = height > 0 ? PetscMin(height, s->shape.most_height) : height;
    s->shape.max_count = PetscMin(s->shape.max_count, s->shape.most_height);
  }
  s->shape.best_count = PetscMin(s->shape.best_count, s->shape.max_count);
  PetscCall(HJSlabsMeasure(s));
  PetscCall(HJSlabSearch(&s->shape, &s->rates, s->limit, height, &plan));
  least = plan.height;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPIU_INT, MPI_MIN, s->comm));
  PetscCheck(least, s->comm, PETSC_ERR_MEM,
             "Slabs of height %" PetscInt_FMT " do not fit into %zu bytes of device memory; lower -pc_hjacobi_slab_height, or raise "
             "-pc_hjacobi_device_memory",
             height, s->limit);
  if (s->shape.waits) {
    HJSlabsSetDepth(s, least);
    PetscCall(HJSlabSearch(&s->shape, &s->rates, s->limit, least, &plan));
  }
  s->plan = plan;
  PetscCall(HJSlabsForEachRing(s, s->ops->ring));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks whose devices differ must cut cycles into sweeps alike. Collective */
static PetscErrorCode HJSlabsCreateDevice(HJSlabs s)
{
  const HJGrid grid = HJSlabsGrid(s, PetscMin(s->shape.n, HJ_SLAB_THICKEST));
  HJLimits     limits;
  PetscInt     least[2];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&limits, sizeof(limits)));
  PetscCall(s->ops->create(&grid, s->stencil, &limits, &s->device));
  least[0] = PetscMin(limits.max_count, HJ_SLAB_MAX_COUNT);
  least[1] = limits.best_count;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, least, 2, MPIU_INT, MPI_MIN, s->comm));
  s->shape.max_count  = least[0];
  s->shape.best_count = PetscMin(least[0], least[1]);
  s->wraps            = (PetscBool)(s->wraps && limits.wraps);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Directions in which sweeps wrap need no ghosts */
static PetscErrorCode HJSlabsWrap(HJSlabs s)
{
  PetscFunctionBegin;
  if (!s->wraps) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < s->dir; d++) s->grid.neighbor[d][0] = s->grid.neighbor[d][1] = PETSC_FALSE;
  s->grid.min_width = s->grid.periodic[s->dir] ? s->grid.N[s->dir] : PETSC_INT_MAX;
  PetscCall(HJSlabsSetShape(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabsCreate(const HJOperator *op, const HJSlabOps *ops, size_t limit, PCHJacobiSlabType type, PetscInt height,
                             HJSlabs *out)
{
  HJSlabs        s;
  PetscInt       deepest;
  PetscLogDouble start, end;

  PetscFunctionBegin;
  PetscCall(PetscTime(&start));
  PetscCall(PetscNew(&s));
  *out            = s;
  s->ops          = ops;
  s->comm         = PetscObjectComm((PetscObject)op->da);
  s->grid         = op->grid;
  s->stencil      = op->stencil;
  s->dir          = op->grid.dim - 1;
  s->limit        = limit;
  s->asked_height = height;
  s->every        = -1;
  s->shape.type   = type;
  PetscCall(HJSlabsSetShape(s));
  HJSlabsSetArrays(s);
  s->wraps = HJGridIsWrapped(&s->grid);
  PetscCall(HJSlabsCreateDevice(s));
  PetscCall(HJSlabsWrap(s));
  deepest = HJGridHasNeighbors(&s->grid) ? PetscMin(s->grid.min_width, op->pad + 1) : 0;
  PetscCall(HJSlabsPlan(s, height, height > 0 ? PetscMin(height, deepest) : deepest, HJSlabsInCoreBytes(&op->grid, op->stencil)));
  PetscCall(HJSlabGhostsCreate(op, &s->grid, s->shape.most_height, &s->ghosts));
  if (s->shape.waits) PetscCall(HJSlabsMeasureExchange(s));
  PetscCall(PetscTime(&end));
  s->setup = end - start;
  PetscCall(PetscInfo(op->da,
                      "Slabs: %" PetscInt_FMT " planes, %" PetscInt_FMT
                      " subiterations a visit, %zu bytes of device memory; found in %g s\n",
                      s->plan.thickness, s->plan.height, s->plan.bytes, (double)(end - start)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabsRenew(const HJOperator *op, HJSlabs *s)
{
  const HJSlabOps        *ops    = (*s)->ops;
  const size_t            limit  = (*s)->limit;
  const PCHJacobiSlabType type   = (*s)->shape.type;
  const PetscInt          height = (*s)->asked_height;

  PetscFunctionBegin;
  PetscCall(HJSlabsDestroy(s));
  PetscCall(HJSlabsCreate(op, ops, limit, type, height, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabsDestroy(HJSlabs *sp)
{
  HJSlabs s = *sp;

  PetscFunctionBegin;
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJSlabsRelease(s));
  if (s->device) PetscCall(HJSlabsForEachRing(s, s->ops->ring_free));
  if (s->device) PetscCall(s->ops->destroy(&s->device));
  PetscCall(HJSlabGhostsDestroy(&s->ghosts));
  PetscCall(PetscFree(*sp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void HJSlabsGetInfo(const HJSlabs s, HJSlabsInfo *info)
{
  info->shape         = &s->shape;
  info->plan          = &s->plan;
  info->device        = s->ops->name;
  info->kernels       = s->ops->kernels(s->device);
  info->rates         = &s->rates;
  info->setup         = s->setup;
  info->limit         = s->limit;
  info->points        = (PetscCount)s->grid.N[0] * s->grid.N[1] * s->grid.N[2];
  info->depth         = s->shape.most_height;
  info->copied        = s->ghosts.copied;
  info->subiterations = s->subiterations;
  info->predicted     = s->predicted;
  info->measured      = s->measured;
  info->pinning       = s->pinning;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Visits of slabs (plan/hjslab.h): what comes, is swept and leaves, and what waits for what.
*/
#include "hjslabsimpl.h"

#define HJ_SLAB_MIN_PIN ((size_t)1 << 20) /* smaller arrays are not worth it */

void HJSlabsSetArrays(HJSlabs s)
{
  const HJStencil *st = s->stencil;

  s->narrays = 0;
  if (!s->shape.ncoefficients) return;
  if (st->storage == HJ_DICTIONARY) {
    s->array[s->narrays++] = (HJSlabArray){(const char *)st->index, -1};
    return;
  }
  s->array[s->narrays++] = (HJSlabArray){(const char *)st->dinv, 0};
  for (PetscInt o = 1; o < st->nslots; o++)
    if (st->value[o]) s->array[s->narrays++] = (HJSlabArray){(const char *)st->value[o], o};
}

HJGrid HJSlabsGrid(const HJSlabs s, PetscInt planes)
{
  HJGrid grid = s->grid;

  grid.owned.lo[s->dir]  = 0;
  grid.owned.hi[s->dir]  = planes;
  grid.domain.lo[s->dir] = -HJ_ENDLESS;
  grid.domain.hi[s->dir] = HJ_ENDLESS;
  for (int d = 0; d < 3; d++) grid.periodic[d] = (PetscBool)(s->wraps && d < s->dir && s->grid.periodic[d]); /* else ghosts are there */
  return grid;
}

/* Where the plane of a coordinate begins in a ring */
static char *HJSlabsAt(char *ring, size_t bytes, size_t plane, PetscCount coordinate)
{
  return ring + (size_t)coordinate * plane % bytes;
}

/* The same for x, of whose two places other tells */
static PetscScalar *HJSlabsXAt(const HJSlabs s, PetscBool other, PetscCount coordinate)
{
  return (PetscScalar *)HJSlabsAt(s->ring[HJ_SLAB_X], s->plan.ring[HJ_SLAB_X], s->shape.plane, coordinate + (other ? s->plan.other : 0));
}

/* The coefficients of the planes [lo, hi), whose coordinate is so much larger, for a device that counts them from base on */
static HJStencil HJSlabsStencil(const HJSlabs s, PetscInt lo, PetscInt hi, PetscCount more, PetscInt base)
{
  HJStencil st = *s->stencil;

  st.box.lo[s->dir] = lo - base;
  st.box.hi[s->dir] = hi - base;
  st.index          = (unsigned char *)s->constant;
  for (PetscInt i = 0; i < s->narrays; i++) {
    char *at = HJSlabsAt(s->coefficient[i], s->plan.ring[HJ_SLAB_COEFFICIENTS], s->shape.coefficient_plane, lo + more);

    if (s->array[i].slot < 0) st.index = (unsigned char *)at;
    else if (!s->array[i].slot) st.dinv = (PetscScalar *)at;
    else st.value[s->array[i].slot] = (PetscScalar *)at;
  }
  return st;
}

/* The plane of a round where this rank's begin */
static PetscInt HJSlabsOwn(const HJSlabPlan *p)
{
  return p->ghosts[0] * p->height;
}

/* Planes of coefficients that a round needs; the one below the first, too, where it exists */
static void HJSlabsCoefficients(const HJSlabs s, const HJSlabPlan *p, PetscInt *lo, PetscInt *hi)
{
  *lo = PetscMax(s->stencil->box.lo[s->dir] + HJSlabsOwn(p), -1);
  *hi = PetscMin(s->stencil->box.hi[s->dir] + HJSlabsOwn(p), p->n);
}

PetscErrorCode HJSlabsSweep(HJSlabs s, const HJSlabPlan *p, PetscInt lo, PetscInt hi, PetscInt low, PetscInt left, PetscCount more,
                            PetscInt from, PetscBool zero, PetscInt count, const PetscReal *w)
{
  const PetscInt d = s->dir, width = HJSlabWidth(p, left);
  const size_t   plane   = s->shape.plane;
  const PetscInt read[2] = {PetscMax(lo - count, 0), PetscMin(hi + count, p->n)};
  const PetscInt base    = (!read[0] ? 0 : read[1] == p->n ? p->n - width : low) - p->count;
  HJGrid         grid    = HJSlabsGrid(s, width + 2 * p->count);
  HJSweep        sweep;
  HJStencil      st;
  PetscInt       first, end;

  PetscFunctionBegin;
  if (!read[0] && !p->ghosts[0]) grid.domain.lo[d] = -base;
  if (read[1] == p->n && !p->ghosts[1]) grid.domain.hi[d] = p->n - base;
  PetscCall(PetscMemzero(&sweep, sizeof(sweep)));
  sweep.write       = HJGridPadded(&s->grid, left);
  sweep.ybox        = s->box;
  sweep.box         = s->box;
  sweep.write.lo[d] = sweep.ybox.lo[d] = lo - base;
  sweep.write.hi[d] = sweep.ybox.hi[d] = hi - base;
  sweep.box.lo[d]                      = read[0] - base;
  sweep.box.hi[d]                      = read[1] - base;
  sweep.x                              = zero ? NULL : HJSlabsXAt(s, from, read[0] + more);
  sweep.b                              = (PetscScalar *)HJSlabsAt(s->ring[HJ_SLAB_B], p->ring[HJ_SLAB_B], plane, read[0] + more);
  sweep.y                              = HJSlabsXAt(s, (PetscBool)!from, lo + more);
  sweep.count                          = count;
  sweep.w                              = w;
  sweep.overlap                        = -1;
  for (int i = 0; i < 3; i++) sweep.tile[i] = 1;
  for (PetscInt i = 0; i < d; i++) sweep.wraps[i] = grid.periodic[i];
  sweep.cover = sweep.write;
  /* coefficients of a symmetric half are read one plane lower */
  HJSlabsCoefficients(s, p, &first, &end);
  st = HJSlabsStencil(s, PetscMax(read[0] - 1, first), PetscMin(read[1], end), more, base);
  PetscCall(s->ops->sweep(s->device, &grid, &st, &sweep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Planes between the host's array and a ring, cut where the ring ends: a copy stays in one mapping of it */
static PetscErrorCode HJSlabsCopy(HJSlabs s, HJSlabQueue queue, char *ring, size_t bytes, size_t plane, PetscCount coordinate, char *host,
                                  PetscCount planes)
{
  const size_t all = (size_t)planes * plane, at = (size_t)coordinate * plane % bytes, first = PetscMin(all, bytes - at);

  PetscFunctionBegin;
  for (int part = 0; part < 2; part++) {
    const size_t n     = part ? all - first : first;
    char        *there = part ? ring : ring + at, *here = host + (part ? first : 0);

    if (!n) continue;
    if (queue == HJ_SLAB_IN) PetscCall(s->ops->copy(s->device, queue, there, here, n));
    else PetscCall(s->ops->copy(s->device, queue, here, there, n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Planes [lo, hi) of a round between the host, where they may lie in several arrays, and a ring */
static PetscErrorCode HJSlabsCopyPlanes(HJSlabs s, HJSlabQueue queue, const HJSlabPlan *p, PetscInt ring, PetscCount more,
                                        const HJSlabPlanes *host, PetscInt lo, PetscInt hi)
{
  const PetscInt own = HJSlabsOwn(p);

  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) {
    const PetscInt first = PetscMax(lo - own, host->lo[i]), end = PetscMin(hi - own, host->lo[i + 1]);

    if (end > first)
      PetscCall(HJSlabsCopy(s, queue, s->ring[ring], s->plan.ring[ring], s->shape.plane, first + own + more,
                            (char *)host->at[i] + (size_t)(first - host->lo[i]) * s->shape.plane, end - first));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A round of a run: height subiterations, after which planes leave. Where norms are asked for, it does so many ahead beside, whose result
   stays on the device, and the norm is that of what they would change; 0: of what the last sweep has changed. height 0: x stays as it is
*/
typedef struct {
  HJSlabPlan   plan;
  HJSlabPlanes x, b;
  PetscInt     height, ahead, visits;
  PetscCount   first;      /* subiterations before it */
  PetscCount   visit;      /* the run's visit that is its first */
  PetscCount   more;       /* coordinate of its plane 0 */
  PetscInt     last;       /* height of the round before; 0: there is none */
  PetscCount   last_visit; /* the first of the round before */
  PetscCount   last_end;   /* the one after its last */
  PetscInt     nmarks;
  PetscBool    zero;
  PetscBool    norms;
} HJSlabRound;

/* By how much the coordinates of a visit's planes are larger than their numbers */
static PetscCount HJSlabsMore(const HJSlabRound *r, PetscInt v)
{
  return r->more + (PetscCount)v * (r->plan.stride - r->plan.thickness);
}

/* Of a visit of the run */
static PetscInt HJSlabsMark(const HJSlabRound *r, PetscCount visit)
{
  return (PetscInt)(visit % r->nmarks);
}

/* What comes for visit v of a round: b, coefficients, then x */
static PetscErrorCode HJSlabsCopyIn(HJSlabs s, const HJSlabRound *r, PetscInt v)
{
  const HJSlabPlan *p      = &r->plan;
  const size_t      cplane = s->shape.coefficient_plane;
  const PetscInt    zero   = s->stencil->box.lo[s->dir] + HJSlabsOwn(p);
  const PetscCount  more   = HJSlabsMore(r, v);
  PetscInt          lo, hi, clo, chi, first, end;

  PetscFunctionBegin;
  HJSlabRange(p, v, 0, &lo, &hi);
  if (hi > lo) {
    PetscCall(HJSlabsCopyPlanes(s, HJ_SLAB_IN, p, HJ_SLAB_B, more, &r->b, lo, hi));
    HJSlabsCoefficients(s, p, &first, &end);
    clo = PetscMax(lo - (!v || HJSlabIsPyramid(p)), first); /* the one below, where no visit before has left it */
    chi = PetscMin(hi, end);
    for (PetscInt i = 0; i < s->narrays && chi > clo; i++)
      PetscCall(HJSlabsCopy(s, HJ_SLAB_IN, s->coefficient[i], p->ring[HJ_SLAB_COEFFICIENTS], cplane, clo + more,
                            (char *)s->array[i].array + (clo - zero) * cplane, chi - clo));
  }
  /* planes of x come where those were that the visit before the last left */
  if (r->visit + v > 1) PetscCall(s->ops->await(s->device, HJ_SLAB_IN, HJ_SLAB_OUT, HJSlabsMark(r, r->visit + v - 2)));
  if (r->zero || hi <= lo) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->last)
    PetscCall(s->ops->await(s->device, HJ_SLAB_IN, HJ_SLAB_OUT, HJSlabsMark(r, r->last_visit + HJSlabLastNeeded(p, r->last, v))));
  PetscCall(HJSlabsCopyPlanes(s, HJ_SLAB_IN, p, HJ_SLAB_X, more, &r->x, lo, hi));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sweep of a visit: count subiterations after first; from: whether planes lie in the other place before it */
static PetscErrorCode HJSlabsVisitSweep(HJSlabs s, const HJSlabRound *r, PetscInt v, PetscInt first, PetscInt count, PetscInt from,
                                        const HJWeights *w)
{
  const HJSlabPlan *p = &r->plan;
  const PetscInt    j = first + count;
  PetscInt          lo, hi;

  PetscFunctionBegin;
  HJSlabRange(p, v, j, &lo, &hi);
  if (hi > lo)
    PetscCall(HJSlabsSweep(s, p, lo, hi, HJSlabLow(p, v, j), p->height - j, HJSlabsMore(r, v), from, (PetscBool)(r->zero && !first), count,
                           w->cycled + (r->first + first) % w->k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Planes that have the subiterations of the round leave */
static PetscErrorCode HJSlabsCopyOut(HJSlabs s, const HJSlabRound *r, PetscInt v)
{
  const HJSlabPlan *p     = &r->plan;
  const PetscCount  place = HJSlabSweeps(p, r->height) % 2 ? p->other : 0;
  PetscInt          lo, hi;

  PetscFunctionBegin;
  HJSlabLeaving(p, v, r->height, &lo, &hi);
  if (r->height && hi > lo) PetscCall(HJSlabsCopyPlanes(s, HJ_SLAB_OUT, p, HJ_SLAB_X, HJSlabsMore(r, v) + place, &r->x, lo, hi));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sweeps of visit v of a round, and the norms of the round with its last */
static PetscErrorCode HJSlabsVisitSweeps(HJSlabs s, const HJSlabRound *r, PetscInt v, const HJWeights *w)
{
  const HJSlabPlan *p      = &r->plan;
  const PetscInt    sweeps = HJSlabSweeps(p, r->height), last = (sweeps + (r->ahead > 0)) % 2;
  PetscInt          lo, hi;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < sweeps; i++) {
    const HJPass pass = HJSlabGetSweep(p, r->height, i);

    PetscCall(HJSlabsVisitSweep(s, r, v, (PetscInt)pass.first, pass.count, i % 2, w));
  }
  if (r->ahead) PetscCall(HJSlabsVisitSweep(s, r, v, r->height, r->ahead, sweeps % 2, w));
  if (!r->norms) PetscFunctionReturn(PETSC_SUCCESS);
  HJSlabRange(p, v, p->height, &lo, &hi);
  if (hi > lo)
    PetscCall(s->ops->difference(s->device, HJSlabsXAt(s, last, lo + HJSlabsMore(r, v)),
                                 HJSlabsXAt(s, (PetscBool)!last, lo + HJSlabsMore(r, v)),
                                 (PetscCount)(s->shape.plane / sizeof(PetscScalar)) * (hi - lo)));
  if (v == r->visits - 1) PetscCall(s->ops->send_norms(s->device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Visit of a run: of the last planes of one round, and of the first of the next. What leaves is not handed to the device yet */
static PetscErrorCode HJSlabsVisit(HJSlabs s, PetscInt n, const HJSlabRound r[], PetscCount visit, const HJWeights *w)
{
  const HJSlabOps *ops  = s->ops;
  const PetscInt   mark = HJSlabsMark(r, visit);

  PetscFunctionBegin;
  /* planes come where those were that the visit before the last read */
  if (visit > 1) PetscCall(ops->await(s->device, HJ_SLAB_IN, HJ_SLAB_SWEEPS, HJSlabsMark(r, visit - 2)));
  for (PetscInt i = 0; i < n; i++) PetscCall(HJSlabsCopyIn(s, &r[i], (PetscInt)(visit - r[i].visit)));
  PetscCall(ops->mark(s->device, HJ_SLAB_IN, mark));
  PetscCall(ops->await(s->device, HJ_SLAB_SWEEPS, HJ_SLAB_IN, mark));
  for (PetscInt i = 0; i < n; i++) PetscCall(HJSlabsVisitSweeps(s, &r[i], (PetscInt)(visit - r[i].visit), w));
  PetscCall(ops->mark(s->device, HJ_SLAB_SWEEPS, mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabsVisitLeaves(HJSlabs s, PetscInt n, const HJSlabRound r[], PetscCount visit)
{
  const PetscInt mark = HJSlabsMark(r, visit);

  PetscFunctionBegin;
  PetscCall(s->ops->await(s->device, HJ_SLAB_OUT, HJ_SLAB_SWEEPS, mark));
  if (HJSlabLeavesLate(&r->plan, (PetscInt)(visit - r->visit)))
    PetscCall(s->ops->await(s->device, HJ_SLAB_OUT, HJ_SLAB_IN, HJSlabsMark(r, visit + 1)));
  for (PetscInt i = 0; i < n; i++) PetscCall(HJSlabsCopyOut(s, &r[i], (PetscInt)(visit - r[i].visit)));
  PetscCall(s->ops->mark(s->device, HJ_SLAB_OUT, mark));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* After a visit: what leaves now, of it or of the one before */
static PetscErrorCode HJSlabsVisitEnd(HJSlabs s, PetscInt n, const HJSlabRound r[], PetscCount visit)
{
  const PetscInt v = (PetscInt)(visit - r->visit);

  PetscFunctionBegin;
  if (v && HJSlabLeavesLate(&r->plan, v - 1)) PetscCall(HJSlabsVisitLeaves(s, n, r, visit - 1));
  if (!HJSlabLeavesLate(&r->plan, v)) PetscCall(HJSlabsVisitLeaves(s, n, r, visit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabsUnpin(HJSlabs s, int i)
{
  PetscFunctionBegin;
  if (s->pinned[i]) PetscCall(s->ops->unpin(s->device, s->pinned[i]));
  s->pinned[i] = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Slot i is for one array after another: x, b, coefficients do not share one */
static PetscErrorCode HJSlabsPin(HJSlabs s, int i, const void *array, size_t bytes)
{
  PetscLogDouble start, end;
  PetscBool      pinned;

  PetscFunctionBegin;
  if (s->pinned[i] == array && s->pinned_bytes[i] == bytes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJSlabsUnpin(s, i));
  if (bytes < HJ_SLAB_MIN_PIN) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscTime(&start));
  PetscCall(s->ops->pin(s->device, array, bytes, &pinned));
  PetscCall(PetscTime(&end));
  s->pinning += end - start;
  if (pinned) s->pinned[i] = array;
  s->pinned_bytes[i] = bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabsPinAll(HJSlabs s, const PetscScalar *b, const PetscScalar *x)
{
  const size_t bytes        = s->shape.plane * (size_t)s->shape.n,
               coefficients = s->shape.coefficient_plane * (size_t)HJBoxWidth(&s->stencil->box, (int)s->dir);

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    const PetscScalar *own = i ? b : x, *ghost = s->ghosts.ghost[i];

    if (s->ghosts.copied) PetscCall(HJSlabsPin(s, i, s->ghosts.copy[i], (size_t)HJBoxSize(&s->ghosts.box) * sizeof(PetscScalar)));
    else PetscCall(HJSlabsPin(s, i, own, bytes));
    if (ghost && !s->ghosts.copied) PetscCall(HJSlabsPin(s, 2 + i, ghost, (size_t)s->ghosts.shell.size * sizeof(PetscScalar)));
  }
  for (PetscInt i = 0; i < s->narrays; i++) PetscCall(HJSlabsPin(s, 4 + (int)i, s->array[i].array, coefficients));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabsKeep(HJSlabs s)
{
  PetscFunctionBegin;
  s->keep = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabsRelease(HJSlabs s)
{
  PetscFunctionBegin;
  s->keep = PETSC_FALSE;
  for (int i = 0; i < HJ_SLAB_PINS; i++) PetscCall(HJSlabsUnpin(s, i));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ghosts for the first round of a run; x NULL: it is not read */
static PetscErrorCode HJSlabsBegin(HJSlabs s, const PetscScalar *b, const PetscScalar *x)
{
  PetscFunctionBegin;
  if (s->shape.waits) PetscCall(HJSlabGhostsBegin(&s->ghosts, x, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first round of a run, without its height. b is only read, and x where the round is for norms */
static void HJSlabsStart(HJSlabs s, const PetscScalar *b, const PetscScalar *x, HJSlabRound *r)
{
  memset(r, 0, sizeof(*r));
  HJSlabGhostsPlanes(&s->ghosts, 0, (PetscScalar *)x, &r->x);
  HJSlabGhostsPlanes(&s->ghosts, 1, (PetscScalar *)b, &r->b);
}

/* A line on how far the device is, when the round before r is done, which it has had for long */
static PetscErrorCode HJSlabsShow(HJSlabs s, const HJSlabRound *r, PetscCount total)
{
  PetscLogDouble now;

  PetscFunctionBegin;
  if (s->every < 0 || !r->first) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(s->ops->reach(s->device, HJ_SLAB_OUT, HJSlabsMark(r, r->last_end - 1)));
  PetscCall(PetscTime(&now));
  if (now - s->shown < s->every) PetscFunctionReturn(PETSC_SUCCESS);
  s->shown = now;
  PetscCall(PetscPrintf(s->comm, "hjacobi slabs %" PetscInt64_FMT " of %" PetscInt64_FMT " subiterations, time %g s, about %g s left\n",
                        (PetscInt64)r->first, (PetscInt64)total, (double)(now - s->start),
                        (double)((now - s->start) / r->first * (total - r->first))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What is left of a segment in as few rounds as may be, alike, their sweeps as long as they may be and odd in number. The look ahead reads
   what its own subiterations and as many more are needed for, in a place where else only planes that leave are so far back
*/
static PetscInt HJSlabsRoundHeight(const HJSlabPlan *p, PetscCount left, PetscInt ahead)
{
  const PetscCount rounds = (left + 2 * ahead + p->height - 1) / p->height;
  PetscCount       sweeps;

  if (rounds == 1) return (PetscInt)left;
  sweeps = ((left + rounds - 1) / rounds + p->count - 1) / p->count;
  if (sweeps % 2 == 0 && (sweeps + 1) * p->count <= p->height) sweeps++;
  return (PetscInt)PetscMin(PetscMin(sweeps * p->count, p->height), left - (rounds - 1));
}

/* A run: segments of every subiterations, the last may be shorter, each of some rounds and with a test */
typedef struct {
  PetscCount         total, every;
  const HJSlabCheck *check; /* NULL: there are no tests */
} HJSlabRun;

/* Sets up the round that begins after r->first subiterations */
static void HJSlabsSetRound(const HJSlabs s, const HJSlabRun *run, HJSlabRound *r)
{
  const PetscCount left  = PetscMin(run->every - r->first % run->every, run->total - r->first);
  const PetscInt   ahead = run->check ? run->check->ahead : 0;

  r->height = HJSlabsRoundHeight(&s->plan, left, ahead);
  r->norms  = (PetscBool)(run->check && r->height == left);
  r->ahead  = r->norms ? ahead : 0;
  r->plan   = HJSlabGetRound(&s->plan, r->height + r->ahead);
  r->visits = HJSlabVisits(&r->plan, r->plan.height);
}

/* The round after r; where there is none it has no height */
static HJSlabRound HJSlabsNextRound(const HJSlabs s, const HJSlabRun *run, const HJSlabRound *r)
{
  HJSlabRound next = *r;
  PetscInt    distance;

  next.first += r->height;
  next.height = 0;
  if (next.first < run->total) HJSlabsSetRound(s, run, &next);
  distance = HJSlabDistance(&r->plan, r->height, next.height);
  next.visit += distance;
  next.more += (PetscCount)distance * s->plan.stride;
  next.last       = s->plan.waits ? 0 : r->height;
  next.last_visit = r->visit;
  next.last_end   = r->visit + r->visits;
  next.zero       = PETSC_FALSE;
  return next;
}

/* Of all differences since the last time, of all ranks */
static PetscErrorCode HJSlabsGetNorm(HJSlabs s, NormType type, PetscReal *norm)
{
  PetscReal squares, largest;

  PetscFunctionBegin;
  PetscCall(s->ops->norms(s->device, &squares, &largest));
  if (s->shape.waits) {
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPIU_REAL, MPIU_SUM, s->comm));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPIU_REAL, MPIU_MAX, s->comm));
  }
  if (PetscIsNanReal(squares)) largest = squares; /* a maximum may pass over NaN, on some ranks alone; a sum does not */
  *norm = type == NORM_INFINITY ? largest : PetscSqrtReal(squares);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The test after a round, when its norm and its x are there; meanwhile the device goes on with what was begun */
static PetscErrorCode HJSlabsCheck(HJSlabs s, const HJSlabRun *run, const HJSlabRound *r, PetscBool *stop)
{
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(s->ops->reach(s->device, HJ_SLAB_OUT, HJSlabsMark(r, r->visit + r->visits - 1)));
  PetscCall(HJSlabsGetNorm(s, run->check->type, &norm));
  PetscCall((*run->check->test)(run->check->ctx, r->first + r->height, norm, stop));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Visits of one round after another without a gap. A test waits for the round that it is for; what the visits that come meanwhile change on
   the host is handed to the device after it, when the run does not end
*/
static PetscErrorCode HJSlabsRounds(HJSlabs s, const HJWeights *w, const HJSlabRun *run, PetscBool zero, const PetscScalar *b,
                                    PetscScalar *x, PetscCount *done)
{
  const HJSlabPlan *p     = &s->plan;
  PetscBool         stop  = PETSC_FALSE;
  PetscCount        visit = 0;
  HJSlabRound       r[3]; /* the last that has ended, if its test has yet to come; that at hand; the next */

  PetscFunctionBegin;
  PetscCall(HJSlabsBegin(s, b, zero ? NULL : x));
  HJSlabsStart(s, b, x, &r[1]);
  r[1].nmarks = 2 * HJSlabVisits(p, p->height) + 2; /* a round waits for visits of the one before */
  r[1].more   = p->height + p->count + 1;           /* so that no coordinate is negative */
  r[1].zero   = zero;
  HJSlabsSetRound(s, run, &r[1]);
  r[2] = HJSlabsNextRound(s, run, &r[1]);
  r[0] = r[1], r[0].norms = PETSC_FALSE;
  for (; r[1].height && !stop; visit++) {
    const PetscInt n = r[2].height && visit >= r[2].visit ? 2 : 1;

    PetscCall(HJSlabsVisit(s, n, &r[1], visit, w));
    if (r[0].norms) PetscCall(HJSlabsCheck(s, run, &r[0], &stop));
    r[0].norms = PETSC_FALSE;
    *done      = r[1].first;
    if (stop) break;
    PetscCall(HJSlabsVisitEnd(s, n, &r[1], visit));
    if (visit < r[1].visit + r[1].visits - 1) continue;
    PetscCall(HJSlabsShow(s, &r[1], run->total));
    r[0]  = r[1];
    r[1]  = r[2];
    *done = r[1].first;
    if (!r[1].height) break;
    r[2] = HJSlabsNextRound(s, run, &r[1]);
    if (!p->waits && r[1].visits > 1) continue; /* the norms of a round of one visit would come before those at hand are read */
    if (r[0].norms) PetscCall(HJSlabsCheck(s, run, &r[0], &stop));
    r[0].norms = PETSC_FALSE;
    if (p->waits && !stop) { /* others' planes, for the next */
      PetscCall(s->ops->wait(s->device));
      PetscCall(HJSlabGhostsNext(&s->ghosts, x));
    }
  }
  if (r[0].norms) PetscCall(HJSlabsCheck(s, run, &r[0], &stop));
  PetscCall(s->ops->wait(s->device));
  PetscCall(HJSlabGhostsEnd(&s->ghosts, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a run of so many subiterations takes, of the rank that takes longest */
static PetscErrorCode HJSlabsPredict(HJSlabs s, PetscCount total, PetscReal *predicted)
{
  const PetscCount rounds = (total + s->plan.height - 1) / s->plan.height;

  PetscFunctionBegin;
  *predicted = 0;
  if (!total) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJSlabPredict(&s->shape, &s->rates, &s->plan, (PetscInt)((total + rounds - 1) / rounds), rounds, predicted));
  if (s->shape.waits) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, predicted, 1, MPIU_REAL, MPIU_MAX, s->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabsRun(HJSlabs s, HJWeights *w, PetscCount total, PetscBool zero, const PetscScalar *b, PetscScalar *x,
                          const HJSlabCheck *check, PetscCount *done)
{
  const HJSlabRun run = {.total = total, .every = check ? PetscMin(check->every, total) : total, .check = check};
  PetscLogDouble  end;
  PetscReal       predicted;

  PetscFunctionBegin;
  PetscCheck(!check || !s->ghosts.copied, s->comm, PETSC_ERR_SUP, "Norms of planes with ghosts at their sides are not taken");
  PetscCheck(!check || !check->ahead || (check->ahead == w->k && HJSlabsCanLookAhead(s, w)), s->comm, PETSC_ERR_SUP,
             "%" PetscInt_FMT " subiterations are not looked ahead in visits of %" PetscInt_FMT, check ? check->ahead : 0, s->plan.height);
  *done = 0;
  if (total < 1) PetscFunctionReturn(PETSC_SUCCESS);
  HJSlabsSetArrays(s);
  PetscCall(HJWeightsExtend(w, w->k + s->plan.count + 1));
  PetscCall(HJSlabsPinAll(s, b, x));
  if (check && zero) PetscCall(PetscArrayzero(x, HJBoxSize(&s->grid.owned))); /* what is not read is not there to compare with */
  PetscCall(PetscTime(&s->start));
  s->shown = s->start;
  PetscCall(HJSlabsRounds(s, w, &run, (PetscBool)(zero && !check), b, x, done));
  PetscCall(PetscTime(&end));
  PetscCall(HJSlabsPredict(s, *done, &predicted));
  s->predicted += predicted;
  s->measured += end - s->start;
  s->subiterations += *done;
  if (!s->keep) PetscCall(HJSlabsRelease(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabsSetProgress(HJSlabs s, PetscReal every)
{
  PetscFunctionBegin;
  s->every = every;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJSlabsCanUpdate(const HJSlabs s, const HJWeights *w)
{
  return (PetscBool)(!s->ghosts.copied && w->k <= s->plan.height && HJSlabSweeps(&s->plan, w->k) == 1);
}

/* No sweep may be shorter than the one before */
PetscBool HJSlabsCanLookAhead(const HJSlabs s, const HJWeights *w)
{
  return (PetscBool)(HJSlabsCanUpdate(s, w) && w->k == s->plan.count && 2 * w->k < s->plan.height);
}

PetscErrorCode HJSlabsUpdate(HJSlabs s, HJWeights *w, const PetscScalar *b, const PetscScalar *x, NormType type, PetscReal *norm)
{
  HJSlabRound r;

  PetscFunctionBegin;
  HJSlabsSetArrays(s);
  PetscCall(HJWeightsExtend(w, w->k + s->plan.count + 1));
  PetscCall(HJSlabsPinAll(s, b, x));
  PetscCall(HJSlabsBegin(s, b, x));
  HJSlabsStart(s, b, x, &r);
  r.ahead  = w->k;
  r.norms  = PETSC_TRUE;
  r.plan   = HJSlabGetRound(&s->plan, r.ahead);
  r.visits = HJSlabVisits(&r.plan, r.ahead);
  r.nmarks = r.visits;
  r.more   = s->plan.height + s->plan.count + 1;
  for (PetscInt v = 0; v < r.visits; v++) {
    PetscCall(HJSlabsVisit(s, 1, &r, v, w));
    PetscCall(HJSlabsVisitEnd(s, 1, &r, v));
  }
  PetscCall(s->ops->wait(s->device));
  PetscCall(HJSlabsGetNorm(s, type, norm));
  if (!s->keep) PetscCall(HJSlabsRelease(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

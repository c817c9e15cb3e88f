/*
   Visits of skewed slabs (plan/hjslab.h): what comes, is swept and leaves, and what waits for what.
*/
#include "hjslabs.h"

#define HJ_SLAB_PINS      (2 + HJ_MAX_NEIGHBORS + 1) /* arrays: x, b, coefficients */
#define HJ_SLAB_THICKEST  96                         /* planes of the thickest sweep that is measured */
#define HJ_SLAB_MAX_COUNT 64
#define HJ_SLAB_COPY      ((size_t)64 << 20)
#define HJ_SLAB_MIN_PIN   ((size_t)1 << 20) /* smaller arrays are not worth it */
#define HJ_SLAB_REPEATS   3

/* Where the planes of an array of coefficients lie on the host */
typedef struct {
  const char *array;
  PetscInt    neighbor; /* of HJStencil's value[]; -1: dinv, -2: index */
} HJSlabArray;

struct _n_HJSlabs {
  const HJSlabOps *ops;
  void            *device;
  HJGrid           grid;
  const HJStencil *stencil; /* the operator's */
  PetscInt         dir;     /* the slowest direction */
  HJSlabShape      shape;
  HJSlabRates      rates;
  HJSlabPlan       plan;
  size_t           limit;
  PetscInt         asked_height;
  PetscInt         narrays;
  HJSlabArray      array[HJ_MAX_NEIGHBORS + 1];
  char            *ring[3], *coefficient[HJ_MAX_NEIGHBORS + 1], *constant; /* constant: the index of a grid of one row, all zero */
  const void      *pinned[HJ_SLAB_PINS];
  size_t           pinned_bytes[HJ_SLAB_PINS];
  PetscBool        keep;
  PetscCount       subiterations;
  PetscReal        setup, predicted, measured, pinning;
};

void HJSlabsRefuse(const HJOperator *op, char why[], size_t len)
{
  PetscMPIInt size = 1;

  why[0] = 0;
  (void)MPI_Comm_size(PetscObjectComm((PetscObject)op->da), &size);
  if (op->overlap >= 0) (void)PetscSNPrintf(why, len, "slabs are swept in exact mode alone; leave -pc_hjacobi_overlap unset");
  else if (size > 1) (void)PetscSNPrintf(why, len, "slabs are swept on one rank alone, and there are %d; use one rank", (int)size);
  else if (HJGridHasNeighbors(&op->grid))
    (void)PetscSNPrintf(why, len, "slabs of a periodic grid are not swept; use -pc_hjacobi_backend host");
  else if (op->grid.dim < 2)
    (void)PetscSNPrintf(why, len, "slabs of a grid with one direction are not swept; use -pc_hjacobi_backend host");
}

/* Bytes of the coefficients of a plane: all arrays, and their number and the bytes of one */
static size_t HJSlabsCoefficientBytes(const HJStencil *st, PetscInt *narrays, size_t *plane)
{
  const PetscInt   d      = st->dim - 1;
  const PetscCount points = HJBoxSize(&st->box) / PetscMax(HJBoxWidth(&st->box, d), 1);

  *narrays = st->storage == HJ_DICTIONARY ? 1 : st->storage == HJ_VARIABLE ? st->nneighbors + 1 : st->nneighbors / 2 + 1;
  *plane   = points * (st->storage == HJ_DICTIONARY ? 1 : sizeof(PetscScalar));
  return *narrays * *plane;
}

size_t HJSlabsInCoreBytes(const HJGrid *grid, const HJStencil *st)
{
  PetscInt narrays;
  size_t   plane;

  return 3 * sizeof(PetscScalar) * (size_t)HJBoxSize(&grid->owned) +
         HJSlabsCoefficientBytes(st, &narrays, &plane) * (size_t)HJBoxWidth(&st->box, (int)st->dim - 1);
}

static PetscErrorCode HJSlabsSetShape(HJSlabs s)
{
  const HJStencil *st    = s->stencil;
  HJSlabShape     *shape = &s->shape;
  size_t           available;

  PetscFunctionBegin;
  PetscCall(s->ops->memory(&available, &shape->granularity));
  shape->n     = HJBoxWidth(&s->grid.owned, (int)s->dir);
  shape->plane = (size_t)(HJBoxSize(&s->grid.owned) / shape->n) * sizeof(PetscScalar);
  (void)HJSlabsCoefficientBytes(st, &shape->ncoefficients, &shape->coefficient_plane);
  if (st->storage == HJ_DICTIONARY && st->nrows == 1) {
    shape->constant_plane = shape->coefficient_plane;
    shape->ncoefficients  = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arrays may move at a refresh */
static void HJSlabsSetArrays(HJSlabs s)
{
  const HJStencil *st = s->stencil;

  s->narrays = 0;
  if (!s->shape.ncoefficients) return;
  if (st->storage == HJ_DICTIONARY) {
    s->array[s->narrays++] = (HJSlabArray){(const char *)st->index, -2};
    return;
  }
  s->array[s->narrays++] = (HJSlabArray){(const char *)st->dinv, -1};
  for (PetscInt o = 0; o < st->nneighbors; o++)
    if (st->value[o]) s->array[s->narrays++] = (HJSlabArray){(const char *)st->value[o], o};
}

/* A slab of so many planes as the device sees it: ends of the domain that it does not touch are far away */
static HJGrid HJSlabsGrid(const HJSlabs s, PetscInt planes)
{
  HJGrid grid = s->grid;

  grid.owned.lo[s->dir]  = 0;
  grid.owned.hi[s->dir]  = planes;
  grid.domain.lo[s->dir] = -HJ_ENDLESS;
  grid.domain.hi[s->dir] = HJ_ENDLESS;
  return grid;
}

static PetscErrorCode HJSlabsFreeRings(HJSlabs s)
{
  const HJSlabPlan *p = &s->plan;

  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) PetscCall(s->ops->ring_free(s->device, p->ring[i], &s->ring[i]));
  for (PetscInt i = 0; i < s->shape.ncoefficients; i++)
    PetscCall(s->ops->ring_free(s->device, p->ring[HJ_SLAB_COEFFICIENTS], &s->coefficient[i]));
  if (p->constant) PetscCall(s->ops->ring_free(s->device, p->constant, &s->constant));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabsAllocRings(HJSlabs s)
{
  const HJSlabPlan *p = &s->plan;

  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) PetscCall(s->ops->ring(s->device, p->ring[i], &s->ring[i]));
  for (PetscInt i = 0; i < s->shape.ncoefficients; i++)
    PetscCall(s->ops->ring(s->device, p->ring[HJ_SLAB_COEFFICIENTS], &s->coefficient[i]));
  if (p->constant) PetscCall(s->ops->ring(s->device, p->constant, &s->constant));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the plane of a coordinate begins in a ring */
static char *HJSlabsAt(char *ring, size_t bytes, size_t plane, PetscCount coordinate)
{
  return ring + (size_t)coordinate * plane % bytes;
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

    if (s->array[i].neighbor == -2) st.index = (unsigned char *)at;
    else if (s->array[i].neighbor == -1) st.dinv = (PetscScalar *)at;
    else st.value[s->array[i].neighbor] = (PetscScalar *)at;
  }
  return st;
}

/*
   count subiterations on the planes [lo, hi), from one ring of x to the other; low: of the slab if it were not cut. The device counts
   planes from where slabs that look alike have the same numbers: in the middle of the grid, or as far from the end that they touch
*/
static PetscErrorCode HJSlabsSweep(HJSlabs s, PetscInt lo, PetscInt hi, PetscInt low, PetscCount more, PetscInt from, PetscBool zero,
                                   PetscInt count, const PetscReal *w)
{
  const HJSlabPlan *p       = &s->plan;
  const PetscInt    d       = s->dir;
  const size_t      plane   = s->shape.plane;
  const PetscInt    read[2] = {PetscMax(lo - count, 0), PetscMin(hi + count, p->n)};
  const PetscInt    base    = (!read[0] ? 0 : read[1] == p->n ? p->n - p->thickness : low) - p->count;
  HJGrid            grid    = HJSlabsGrid(s, p->thickness + 2 * p->count);
  HJSweep           sweep;
  HJStencil         st;

  PetscFunctionBegin;
  if (!read[0]) grid.domain.lo[d] = -base;
  if (read[1] == p->n) grid.domain.hi[d] = p->n - base;
  PetscCall(PetscMemzero(&sweep, sizeof(sweep)));
  sweep.write = sweep.box = s->grid.owned;
  sweep.write.lo[d]       = lo - base;
  sweep.write.hi[d]       = hi - base;
  sweep.ybox              = sweep.write;
  sweep.box.lo[d]         = read[0] - base;
  sweep.box.hi[d]         = read[1] - base;
  sweep.x                 = zero ? NULL : (PetscScalar *)HJSlabsAt(s->ring[from], p->ring[from], plane, read[0] + more);
  sweep.b                 = (PetscScalar *)HJSlabsAt(s->ring[HJ_SLAB_B], p->ring[HJ_SLAB_B], plane, read[0] + more);
  sweep.y                 = (PetscScalar *)HJSlabsAt(s->ring[!from], p->ring[!from], plane, lo + more);
  sweep.count             = count;
  sweep.w                 = w;
  sweep.overlap           = -1;
  for (int i = 0; i < 3; i++) sweep.tile[i] = 1;
  sweep.cover = sweep.write;
  /* coefficients of a symmetric half are read one plane lower */
  st = HJSlabsStencil(s, PetscMax(read[0] - 1, s->stencil->box.lo[d]), PetscMin(read[1], s->stencil->box.hi[d]), more, base);
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

/* A round of a run */
typedef struct {
  PetscInt   height, visits;
  PetscCount first;      /* subiterations before it */
  PetscCount visit;      /* visits before it, in the run */
  PetscCount more;       /* coordinate of its plane 0 */
  PetscInt   last;       /* height of the round before; 0: there is none */
  PetscCount last_visit; /* the first of the round before */
  PetscInt   nmarks;
  PetscBool  zero;
  PetscBool  stays; /* the result does not leave */
  PetscBool  norms; /* how much the last sweep changes is asked for */
} HJSlabRound;

static PetscErrorCode HJSlabsCopyIn(HJSlabs s, const HJSlabRound *r, PetscInt v, const PetscScalar *b, PetscScalar *x)
{
  const HJSlabPlan *p     = &s->plan;
  const size_t      plane = s->shape.plane, cplane = s->shape.coefficient_plane;
  const PetscInt    zero = s->stencil->box.lo[s->dir];
  PetscInt          lo, hi, clo, chi;

  PetscFunctionBegin;
  HJSlabRange(p, v, 0, &lo, &hi);
  if (hi > lo) {
    if (!r->zero)
      PetscCall(HJSlabsCopy(s, HJ_SLAB_IN, s->ring[HJ_SLAB_X], p->ring[HJ_SLAB_X], plane, lo + r->more, (char *)x + lo * plane, hi - lo));
    PetscCall(HJSlabsCopy(s, HJ_SLAB_IN, s->ring[HJ_SLAB_B], p->ring[HJ_SLAB_B], plane, lo + r->more, (char *)b + lo * plane, hi - lo));
    clo = v ? lo : zero;
    chi = hi == p->n ? s->stencil->box.hi[s->dir] : hi;
    for (PetscInt i = 0; i < s->narrays; i++)
      PetscCall(HJSlabsCopy(s, HJ_SLAB_IN, s->coefficient[i], p->ring[HJ_SLAB_COEFFICIENTS], cplane, clo + r->more,
                            (char *)s->array[i].array + (clo - zero) * cplane, chi - clo));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabsVisit(HJSlabs s, const HJSlabRound *r, PetscInt v, const HJWeights *w, const PetscScalar *b, PetscScalar *x)
{
  const HJSlabPlan *p      = &s->plan;
  const HJSlabOps  *ops    = s->ops;
  const PetscCount  visit  = r->visit + v;
  const PetscInt    sweeps = HJSlabSweeps(p, r->height), mark = (PetscInt)(visit % r->nmarks), out = sweeps % 2;
  const size_t      plane = s->shape.plane;
  PetscInt          lo, hi;

#define HJSlabsMark(visit) ((PetscInt)((visit) % r->nmarks))
  PetscFunctionBegin;
  /* planes come where those were that the visit before the last read, and, of an even number of sweeps, those that it left */
  if (visit > 1) PetscCall(ops->await(s->device, HJ_SLAB_IN, HJ_SLAB_SWEEPS, HJSlabsMark(visit - 2)));
  if (visit > 1) PetscCall(ops->await(s->device, HJ_SLAB_IN, HJ_SLAB_OUT, HJSlabsMark(visit - 2)));
  HJSlabRange(p, v, 0, &lo, &hi);
  if (r->last && hi > lo)
    PetscCall(ops->await(s->device, HJ_SLAB_IN, HJ_SLAB_OUT, HJSlabsMark(r->last_visit + HJSlabLastNeeded(p, r->last, v))));
  PetscCall(HJSlabsCopyIn(s, r, v, b, x));
  PetscCall(ops->mark(s->device, HJ_SLAB_IN, mark));

  PetscCall(ops->await(s->device, HJ_SLAB_SWEEPS, HJ_SLAB_IN, mark));
  if (visit > 1) PetscCall(ops->await(s->device, HJ_SLAB_SWEEPS, HJ_SLAB_OUT, HJSlabsMark(visit - 2)));
  for (PetscInt i = 0; i < sweeps; i++) {
    const HJPass   pass = HJSlabGetSweep(p, r->height, i);
    const PetscInt j    = (PetscInt)pass.first + pass.count;

    HJSlabRange(p, v, j, &lo, &hi);
    if (hi > lo)
      PetscCall(HJSlabsSweep(s, lo, hi, HJSlabLow(p, v, j), r->more, i % 2, (PetscBool)(r->zero && !i), pass.count,
                             w->cycled + (r->first + pass.first) % w->k));
  }
  HJSlabRange(p, v, r->height, &lo, &hi);
  if (r->norms && hi > lo)
    PetscCall(ops->difference(s->device, (PetscScalar *)HJSlabsAt(s->ring[out], p->ring[out], plane, lo + r->more),
                              (PetscScalar *)HJSlabsAt(s->ring[!out], p->ring[!out], plane, lo + r->more),
                              (PetscCount)(plane / sizeof(PetscScalar)) * (hi - lo)));
  PetscCall(ops->mark(s->device, HJ_SLAB_SWEEPS, mark));

  PetscCall(ops->await(s->device, HJ_SLAB_OUT, HJ_SLAB_SWEEPS, mark));
  if (!r->stays && hi > lo)
    PetscCall(HJSlabsCopy(s, HJ_SLAB_OUT, s->ring[out], p->ring[out], plane, lo + r->more, (char *)x + lo * plane, hi - lo));
  PetscCall(ops->mark(s->device, HJ_SLAB_OUT, mark));
#undef HJSlabsMark
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
  PetscCall(HJSlabsPin(s, 0, x, bytes));
  PetscCall(HJSlabsPin(s, 1, b, bytes));
  for (PetscInt i = 0; i < s->narrays; i++) PetscCall(HJSlabsPin(s, 2 + (int)i, s->array[i].array, coefficients));
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

/* Rounds of nearly equal height; the plan's rings hold any up to the plan's */
static PetscErrorCode HJSlabsRounds(HJSlabs s, const HJWeights *w, PetscCount total, PetscBool zero, PetscBool norms, const PetscScalar *b,
                                    PetscScalar *x)
{
  const HJSlabPlan *p      = &s->plan;
  const PetscCount  rounds = (total + p->height - 1) / p->height;
  HJSlabRound       r;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&r, sizeof(r)));
  r.nmarks = 2 * HJSlabVisits(p, p->height) + 2; /* a round waits for visits of the one before */
  r.more   = p->height + p->count + 1;           /* so that no coordinate is negative */
  for (PetscCount i = 0; i < rounds; i++) {
    r.height = (PetscInt)(total / rounds + (i < total % rounds));
    r.visits = HJSlabVisits(p, r.height);
    r.zero   = (PetscBool)(zero && !i);
    r.norms  = (PetscBool)(norms && i == rounds - 1);
    for (PetscInt v = 0; v < r.visits; v++) PetscCall(HJSlabsVisit(s, &r, v, w, b, x));
    r.last       = r.height;
    r.last_visit = r.visit;
    r.first += r.height;
    r.visit += r.visits;
    r.more += (PetscCount)r.visits * p->thickness;
  }
  PetscCall(s->ops->wait(s->device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal HJSlabsNorm(NormType type, PetscReal squares, PetscReal largest)
{
  return type == NORM_INFINITY ? largest : PetscSqrtReal(squares);
}

PetscErrorCode HJSlabsRun(HJSlabs s, HJWeights *w, PetscCount total, PetscBool zero, const PetscScalar *b, PetscScalar *x)
{
  PetscFunctionBegin;
  PetscCall(HJSlabsRunNorm(s, w, total, zero, b, x, NORM_INFINITY, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabsRunNorm(HJSlabs s, HJWeights *w, PetscCount total, PetscBool zero, const PetscScalar *b, PetscScalar *x,
                              NormType type, PetscReal *norm)
{
  PetscLogDouble start, end;
  PetscReal      predicted, squares, largest;
  PetscCount     rounds;

  PetscFunctionBegin;
  if (total < 1) PetscFunctionReturn(PETSC_SUCCESS);
  HJSlabsSetArrays(s);
  PetscCall(HJWeightsExtend(w, w->k + s->plan.count + 1));
  PetscCall(HJSlabsPinAll(s, b, x));
  rounds = (total + s->plan.height - 1) / s->plan.height;
  PetscCall(HJSlabPredict(&s->shape, &s->rates, &s->plan, (PetscInt)((total + rounds - 1) / rounds), rounds, &predicted));
  if (norm && zero) PetscCall(PetscMemzero(x, s->shape.plane * (size_t)s->shape.n)); /* what is not read is not there to compare with */
  PetscCall(PetscTime(&start));
  PetscCall(HJSlabsRounds(s, w, total, (PetscBool)(zero && !norm), (PetscBool)(norm != NULL), b, x));
  if (norm) {
    PetscCall(s->ops->norms(s->device, &squares, &largest));
    *norm = HJSlabsNorm(type, squares, largest);
  }
  PetscCall(PetscTime(&end));
  s->predicted += predicted;
  s->measured += end - start;
  s->subiterations += total;
  if (!s->keep) PetscCall(HJSlabsRelease(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJSlabsCanUpdate(const HJSlabs s, const HJWeights *w)
{
  return (PetscBool)(w->k <= s->plan.height && HJSlabSweeps(&s->plan, w->k) == 1);
}

PetscErrorCode HJSlabsUpdate(HJSlabs s, HJWeights *w, const PetscScalar *b, const PetscScalar *x, NormType type, PetscReal *norm)
{
  HJSlabRound r = {.height = w->k, .norms = PETSC_TRUE, .stays = PETSC_TRUE, .more = s->plan.height + s->plan.count + 1};
  PetscReal   squares, largest;

  PetscFunctionBegin;
  HJSlabsSetArrays(s);
  PetscCall(HJWeightsExtend(w, w->k + s->plan.count + 1));
  PetscCall(HJSlabsPinAll(s, b, x));
  r.visits = HJSlabVisits(&s->plan, r.height);
  r.nmarks = r.visits;
  for (PetscInt v = 0; v < r.visits; v++) PetscCall(HJSlabsVisit(s, &r, v, w, b, (PetscScalar *)x)); /* nothing is written to x */
  PetscCall(s->ops->norms(s->device, &squares, &largest));
  PetscCall(s->ops->wait(s->device));
  *norm = HJSlabsNorm(type, squares, largest);
  if (!s->keep) PetscCall(HJSlabsRelease(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds a byte, while both directions are in use as much as in a run: a plane leaves for each that comes, in several arrays */
static PetscErrorCode HJSlabsMeasureCopies(HJSlabs s)
{
  const PetscInt arrays = s->shape.ncoefficients + 2;
  const size_t   bytes  = PetscMin(PetscMin(HJ_SLAB_COPY, s->plan.ring[HJ_SLAB_X]), s->plan.ring[HJ_SLAB_Y]) / 2;
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
      if (!a) PetscCall(s->ops->copy(s->device, HJ_SLAB_OUT, host + bytes, s->ring[HJ_SLAB_Y], bytes));
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
  const PetscInt    lo = p->n > planes + 2 * p->count ? p->count + 1 : 0;
  PetscReal         w[HJ_SLAB_MAX_COUNT];
  PetscLogDouble    start = 0, end;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < p->count; i++) w[i] = 1;
  for (int i = 0; i <= HJ_SLAB_REPEATS; i++) {
    if (i < 2) {
      PetscCall(s->ops->wait(s->device));
      PetscCall(PetscTime(&start));
    }
    PetscCall(HJSlabsSweep(s, lo, lo + planes, lo, p->height + p->count + 1, i % 2, PETSC_FALSE, p->count, w));
  }
  PetscCall(s->ops->wait(s->device));
  PetscCall(PetscTime(&end));
  *seconds = (end - start) / HJ_SLAB_REPEATS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies, and sweeps of slabs from thin to thick: kernels do some numbers of planes as quickly as the next */
static PetscErrorCode HJSlabsMeasure(HJSlabs s)
{
  const PetscInt count = PetscMin(s->shape.best_count, s->shape.max_count), height = HJSlabThickest(&s->shape, count, s->limit) ? count : 1,
                 most = PetscMin(HJSlabThickest(&s->shape, height, s->limit), HJ_SLAB_THICKEST);
  HJSlabRates *r      = &s->rates;

  PetscFunctionBegin;
  HJSlabPlanSet(&s->shape, height, most, &s->plan);
  PetscCall(HJSlabsAllocRings(s));
  PetscCall(HJSlabsMeasureCopies(s));
  for (PetscInt planes = most, i; planes > 0 && r->nsamples < HJ_SLAB_SAMPLES; planes = PetscMin(planes - 1, planes * 15 / 16)) {
    for (i = r->nsamples++; i > 0; i--) { /* thinner ones come first */
      r->planes[i] = r->planes[i - 1];
      r->sweep[i]  = r->sweep[i - 1];
    }
    r->planes[0] = planes;
    PetscCall(HJSlabsMeasureSweep(s, planes, &r->sweep[0]));
  }
  PetscCall(HJSlabsFreeRings(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabsPlan(HJSlabs s, PetscInt height)
{
  const size_t least = HJSlabLeastBytes(&s->shape);
  HJSlabPlan   plan;

  PetscFunctionBegin;
  PetscCheck(least <= s->limit, PETSC_COMM_SELF, PETSC_ERR_MEM,
             "The thinnest slab of this grid needs %zu bytes of device memory, and there may be %zu; raise -pc_hjacobi_device_memory or "
             "use "
             "-pc_hjacobi_backend host",
             least, s->limit);
  PetscCall(HJSlabsMeasure(s));
  PetscCall(HJSlabSearch(&s->shape, &s->rates, s->limit, height, &plan));
  PetscCheck(plan.height, PETSC_COMM_SELF, PETSC_ERR_MEM,
             "Slabs of height %" PetscInt_FMT " do not fit into %zu bytes of device memory; lower -pc_hjacobi_slab_height, or raise "
             "-pc_hjacobi_device_memory",
             height, s->limit);
  s->plan = plan;
  PetscCall(HJSlabsAllocRings(s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabsCreate(const HJOperator *op, const HJSlabOps *ops, size_t limit, PetscInt height, HJSlabs *out)
{
  HJSlabs        s;
  HJLimits       limits;
  HJGrid         grid;
  PetscLogDouble start, end;

  PetscFunctionBegin;
  PetscCall(PetscTime(&start));
  PetscCall(PetscNew(&s));
  *out            = s;
  s->ops          = ops;
  s->grid         = op->grid;
  s->stencil      = op->stencil;
  s->dir          = op->grid.dim - 1;
  s->limit        = limit;
  s->asked_height = height;
  PetscCall(HJSlabsSetShape(s));
  HJSlabsSetArrays(s);
  grid = HJSlabsGrid(s, PetscMin(s->shape.n, HJ_SLAB_THICKEST));
  PetscCall(PetscMemzero(&limits, sizeof(limits)));
  PetscCall(ops->create(&grid, s->stencil, &limits, &s->device));
  s->shape.max_count  = PetscMin(limits.max_count, HJ_SLAB_MAX_COUNT);
  s->shape.best_count = PetscMin(limits.best_count, s->shape.max_count);
  PetscCall(HJSlabsPlan(s, height));
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
  const HJSlabOps *ops    = (*s)->ops;
  const size_t     limit  = (*s)->limit;
  const PetscInt   height = (*s)->asked_height;

  PetscFunctionBegin;
  PetscCall(HJSlabsDestroy(s));
  PetscCall(HJSlabsCreate(op, ops, limit, height, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabsDestroy(HJSlabs *sp)
{
  HJSlabs s = *sp;

  PetscFunctionBegin;
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJSlabsRelease(s));
  if (s->device) PetscCall(HJSlabsFreeRings(s));
  if (s->device) PetscCall(s->ops->destroy(&s->device));
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
  info->points        = HJBoxSize(&s->grid.owned);
  info->subiterations = s->subiterations;
  info->predicted     = s->predicted;
  info->measured      = s->measured;
  info->pinning       = s->pinning;
}

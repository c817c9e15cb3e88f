/*
   Visits of skewed slabs (plan/hjslab.h): what comes, is swept and leaves, and what waits for what.
*/
#include "hjslabs.h"
#include "hjslabghosts.h"

#define HJ_SLAB_PINS      (4 + HJ_MAX_NEIGHBORS + 1) /* arrays: x, b, ghosts of both, coefficients */
#define HJ_SLAB_THICKEST  96                         /* planes of the thickest sweep that is measured */
#define HJ_SLAB_EACH      40                         /* up to so many each thickness is measured: kernels' tiles are as high as some */
#define HJ_SLAB_MAX_COUNT 64
#define HJ_SLAB_DEPTH     64 /* subiterations of a visit, at most, where other ranks' planes are needed */
#define HJ_SLAB_COPY      ((size_t)64 << 20)
#define HJ_SLAB_MIN_PIN   ((size_t)1 << 20) /* smaller arrays are not worth it */
#define HJ_SLAB_REPEATS   4

/* Where the planes of an array of coefficients lie on the host */
typedef struct {
  const char *array;
  PetscInt    neighbor; /* of HJStencil's value[]; -1: dinv, -2: index */
} HJSlabArray;

struct _n_HJSlabs {
  const HJSlabOps *ops;
  void            *device;
  MPI_Comm         comm;
  HJGrid           grid;
  HJBox            box; /* points of a plane that travels; all planes of this rank */
  HJSlabGhosts     ghosts;
  const HJStencil *stencil; /* the operator's */
  PetscInt         dir;     /* the slowest direction */
  HJSlabShape      shape;
  HJSlabRates      rates;
  HJSlabPlan       plan;
  size_t           limit;
  PetscInt         asked_height;
  PetscInt         narrays;
  HJSlabArray      array[HJ_MAX_NEIGHBORS + 1];
  char            *ring[2], *coefficient[HJ_MAX_NEIGHBORS + 1], *constant; /* constant: the index of a grid of one row, all zero */
  const void      *pinned[HJ_SLAB_PINS];
  size_t           pinned_bytes[HJ_SLAB_PINS];
  PetscBool        keep;
  PetscCount       subiterations;
  PetscReal        setup, predicted, measured, pinning;
  PetscReal        every; /* seconds between lines on the progress of a run, at least; < 0: none */
  PetscLogDouble   shown; /* when the last line was, or the run began */
  PetscLogDouble   start; /* of the run */
};

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
  return st->storage == HJ_DICTIONARY ? 1 : st->storage == HJ_VARIABLE ? st->nneighbors + 1 : st->nneighbors / 2 + 1;
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
  for (int d = 0; d < 3; d++) grid.periodic[d] = PETSC_FALSE; /* ghosts are there already */
  return grid;
}

static PetscErrorCode HJSlabsFreeRings(HJSlabs s)
{
  const HJSlabPlan *p = &s->plan;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) PetscCall(s->ops->ring_free(s->device, p->ring[i], &s->ring[i]));
  for (PetscInt i = 0; i < s->shape.ncoefficients; i++)
    PetscCall(s->ops->ring_free(s->device, p->ring[HJ_SLAB_COEFFICIENTS], &s->coefficient[i]));
  if (p->constant) PetscCall(s->ops->ring_free(s->device, p->constant, &s->constant));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabsAllocRings(HJSlabs s)
{
  const HJSlabPlan *p = &s->plan;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) PetscCall(s->ops->ring(s->device, p->ring[i], &s->ring[i]));
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

    if (s->array[i].neighbor == -2) st.index = (unsigned char *)at;
    else if (s->array[i].neighbor == -1) st.dinv = (PetscScalar *)at;
    else st.value[s->array[i].neighbor] = (PetscScalar *)at;
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

/*
   count subiterations on the planes [lo, hi) of a round, from one ring of x to the other; low: of the slab if it were not cut; left: those
   that the round has to do after them, for which ghosts at the sides of a plane are still needed. The device counts planes from where slabs
   that look alike have the same numbers: in the middle of the grid, or as far from the end that they touch
*/
static PetscErrorCode HJSlabsSweep(HJSlabs s, const HJSlabPlan *p, PetscInt lo, PetscInt hi, PetscInt low, PetscInt left, PetscCount more,
                                   PetscInt from, PetscBool zero, PetscInt count, const PetscReal *w)
{
  const PetscInt d       = s->dir;
  const size_t   plane   = s->shape.plane;
  const PetscInt read[2] = {PetscMax(lo - count, 0), PetscMin(hi + count, p->n)};
  const PetscInt base    = (!read[0] ? 0 : read[1] == p->n ? p->n - p->thickness : low) - p->count;
  HJGrid         grid    = HJSlabsGrid(s, p->thickness + 2 * p->count);
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

/* A round of a run */
typedef struct {
  HJSlabPlan   plan;
  HJSlabPlanes x, b;
  PetscInt     height, visits;
  PetscCount   first;      /* subiterations before it */
  PetscCount   visit;      /* visits before it, in the run */
  PetscCount   more;       /* coordinate of its plane 0 */
  PetscInt     last;       /* height of the round before; 0: there is none */
  PetscCount   last_visit; /* the first of the round before */
  PetscInt     nmarks;
  PetscBool    zero;
  PetscBool    stays; /* the result does not leave */
  PetscBool    norms; /* how much the last sweep changes is asked for */
} HJSlabRound;

/* Of a visit of the run */
static PetscInt HJSlabsMark(const HJSlabRound *r, PetscCount visit)
{
  return (PetscInt)(visit % r->nmarks);
}

static PetscErrorCode HJSlabsCopyIn(HJSlabs s, const HJSlabRound *r, PetscInt v)
{
  const HJSlabPlan *p      = &r->plan;
  const size_t      cplane = s->shape.coefficient_plane;
  const PetscInt    zero   = s->stencil->box.lo[s->dir] + HJSlabsOwn(p);
  PetscInt          lo, hi, clo, chi, first, end;

  PetscFunctionBegin;
  HJSlabRange(p, v, 0, &lo, &hi);
  if (hi > lo) {
    PetscCall(HJSlabsCopyPlanes(s, HJ_SLAB_IN, p, HJ_SLAB_B, r->more, &r->b, lo, hi));
    HJSlabsCoefficients(s, p, &first, &end);
    clo = v ? PetscMax(lo, first) : first;
    chi = PetscMin(hi, end);
    for (PetscInt i = 0; i < s->narrays && chi > clo; i++)
      PetscCall(HJSlabsCopy(s, HJ_SLAB_IN, s->coefficient[i], p->ring[HJ_SLAB_COEFFICIENTS], cplane, clo + r->more,
                            (char *)s->array[i].array + (clo - zero) * cplane, chi - clo));
  }
  /* planes of x come where those were that the visit before the last left */
  if (r->visit + v > 1) PetscCall(s->ops->await(s->device, HJ_SLAB_IN, HJ_SLAB_OUT, HJSlabsMark(r, r->visit + v - 2)));
  if (r->zero || hi <= lo) PetscFunctionReturn(PETSC_SUCCESS);
  if (r->last)
    PetscCall(s->ops->await(s->device, HJ_SLAB_IN, HJ_SLAB_OUT, HJSlabsMark(r, r->last_visit + HJSlabLastNeeded(p, r->last, v))));
  PetscCall(HJSlabsCopyPlanes(s, HJ_SLAB_IN, p, HJ_SLAB_X, r->more, &r->x, lo, hi));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabsVisit(HJSlabs s, const HJSlabRound *r, PetscInt v, const HJWeights *w)
{
  const HJSlabPlan *p      = &r->plan;
  const HJSlabOps  *ops    = s->ops;
  const PetscCount  visit  = r->visit + v;
  const PetscInt    sweeps = HJSlabSweeps(p, r->height), mark = HJSlabsMark(r, visit), out = sweeps % 2;
  const size_t      plane = s->shape.plane;
  PetscInt          lo, hi;

  PetscFunctionBegin;
  /* planes come where those were that the visit before the last read */
  if (visit > 1) PetscCall(ops->await(s->device, HJ_SLAB_IN, HJ_SLAB_SWEEPS, HJSlabsMark(r, visit - 2)));
  PetscCall(HJSlabsCopyIn(s, r, v));
  PetscCall(ops->mark(s->device, HJ_SLAB_IN, mark));

  PetscCall(ops->await(s->device, HJ_SLAB_SWEEPS, HJ_SLAB_IN, mark));
  for (PetscInt i = 0; i < sweeps; i++) {
    const HJPass   pass = HJSlabGetSweep(p, r->height, i);
    const PetscInt j    = (PetscInt)pass.first + pass.count;

    HJSlabRange(p, v, j, &lo, &hi);
    if (hi > lo)
      PetscCall(HJSlabsSweep(s, p, lo, hi, HJSlabLow(p, v, j), r->height - j, r->more, i % 2, (PetscBool)(r->zero && !i), pass.count,
                             w->cycled + (r->first + pass.first) % w->k));
  }
  HJSlabRange(p, v, r->height, &lo, &hi);
  if (r->norms && hi > lo)
    PetscCall(ops->difference(s->device, HJSlabsXAt(s, out, lo + r->more), HJSlabsXAt(s, (PetscBool)!out, lo + r->more),
                              (PetscCount)(plane / sizeof(PetscScalar)) * (hi - lo)));
  PetscCall(ops->mark(s->device, HJ_SLAB_SWEEPS, mark));

  PetscCall(ops->await(s->device, HJ_SLAB_OUT, HJ_SLAB_SWEEPS, mark));
  if (!r->stays && hi > lo) PetscCall(HJSlabsCopyPlanes(s, HJ_SLAB_OUT, p, HJ_SLAB_X, r->more + (out ? p->other : 0), &r->x, lo, hi));
  PetscCall(ops->mark(s->device, HJ_SLAB_OUT, mark));
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

/* A line on how far the device is, when the round before the one that has just been handed to it is done */
static PetscErrorCode HJSlabsShow(HJSlabs s, const HJSlabRound *r, PetscCount total)
{
  const PetscCount done = r->first - r->last;
  PetscLogDouble   now;

  PetscFunctionBegin;
  if (s->every < 0 || !done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(s->ops->reach(s->device, HJ_SLAB_OUT, (PetscInt)((r->last_visit - 1) % r->nmarks)));
  PetscCall(PetscTime(&now));
  if (now - s->shown < s->every) PetscFunctionReturn(PETSC_SUCCESS);
  s->shown = now;
  PetscCall(PetscPrintf(s->comm, "hjacobi slabs %" PetscInt64_FMT " of %" PetscInt64_FMT " subiterations, time %g s, about %g s left\n",
                        (PetscInt64)done, (PetscInt64)total, (double)(now - s->start), (double)((now - s->start) / done * (total - done))));
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
  PetscCall(HJSlabsBegin(s, b, zero ? NULL : x));
  HJSlabsStart(s, b, x, &r);
  r.nmarks = 2 * HJSlabVisits(p, p->height) + 2; /* a round waits for visits of the one before */
  r.more   = p->height + p->count + 1;           /* so that no coordinate is negative */
  for (PetscCount i = 0; i < rounds; i++) {
    if (p->waits && i) {
      PetscCall(s->ops->wait(s->device));
      PetscCall(HJSlabGhostsNext(&s->ghosts, x));
      r.last = 0;
    }
    r.height = (PetscInt)(total / rounds + (i < total % rounds));
    r.plan   = HJSlabGetRound(p, r.height);
    r.visits = HJSlabVisits(&r.plan, r.height);
    r.zero   = (PetscBool)(zero && !i);
    r.norms  = (PetscBool)(norms && i == rounds - 1);
    for (PetscInt v = 0; v < r.visits; v++) PetscCall(HJSlabsVisit(s, &r, v, w));
    r.last       = r.height;
    r.last_visit = r.visit;
    r.first += r.height;
    r.visit += r.visits;
    r.more += (PetscCount)r.visits * p->thickness;
    PetscCall(HJSlabsShow(s, &r, total));
  }
  PetscCall(s->ops->wait(s->device));
  PetscCall(HJSlabGhostsEnd(&s->ghosts, x));
  PetscFunctionReturn(PETSC_SUCCESS);
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

PetscErrorCode HJSlabsRun(HJSlabs s, HJWeights *w, PetscCount total, PetscBool zero, const PetscScalar *b, PetscScalar *x)
{
  PetscFunctionBegin;
  PetscCall(HJSlabsRunNorm(s, w, total, zero, b, x, NORM_INFINITY, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabsRunNorm(HJSlabs s, HJWeights *w, PetscCount total, PetscBool zero, const PetscScalar *b, PetscScalar *x,
                              NormType type, PetscReal *norm)
{
  PetscLogDouble end;
  PetscReal      predicted;
  PetscCount     rounds;

  PetscFunctionBegin;
  PetscCheck(!norm || !s->ghosts.copied, s->comm, PETSC_ERR_SUP, "Norms of planes with ghosts at their sides are not taken");
  if (total < 1) PetscFunctionReturn(PETSC_SUCCESS);
  HJSlabsSetArrays(s);
  PetscCall(HJWeightsExtend(w, w->k + s->plan.count + 1));
  PetscCall(HJSlabsPinAll(s, b, x));
  rounds = (total + s->plan.height - 1) / s->plan.height;
  PetscCall(HJSlabPredict(&s->shape, &s->rates, &s->plan, (PetscInt)((total + rounds - 1) / rounds), rounds, &predicted));
  if (norm && zero) PetscCall(PetscArrayzero(x, HJBoxSize(&s->grid.owned))); /* what is not read is not there to compare with */
  if (s->shape.waits) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &predicted, 1, MPIU_REAL, MPIU_MAX, s->comm));
  PetscCall(PetscTime(&s->start));
  s->shown = s->start;
  PetscCall(HJSlabsRounds(s, w, total, (PetscBool)(zero && !norm), (PetscBool)(norm != NULL), b, x));
  if (norm) PetscCall(HJSlabsGetNorm(s, type, norm));
  PetscCall(PetscTime(&end));
  s->predicted += predicted;
  s->measured += end - s->start;
  s->subiterations += total;
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

PetscErrorCode HJSlabsUpdate(HJSlabs s, HJWeights *w, const PetscScalar *b, const PetscScalar *x, NormType type, PetscReal *norm)
{
  HJSlabRound r;

  PetscFunctionBegin;
  HJSlabsSetArrays(s);
  PetscCall(HJWeightsExtend(w, w->k + s->plan.count + 1));
  PetscCall(HJSlabsPinAll(s, b, x));
  PetscCall(HJSlabsBegin(s, b, x));
  HJSlabsStart(s, b, x, &r);
  r.height = w->k;
  r.plan   = HJSlabGetRound(&s->plan, r.height);
  r.norms = r.stays = PETSC_TRUE;
  r.more            = s->plan.height + s->plan.count + 1;
  r.visits          = HJSlabVisits(&r.plan, r.height);
  r.nmarks          = r.visits;
  for (PetscInt v = 0; v < r.visits; v++) PetscCall(HJSlabsVisit(s, &r, v, w));
  PetscCall(HJSlabsGetNorm(s, type, norm));
  PetscCall(s->ops->wait(s->device));
  if (!s->keep) PetscCall(HJSlabsRelease(s));
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
  return PetscMin(planes - 1, PetscMax(planes * 15 / 16, HJ_SLAB_EACH));
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
  for (PetscInt planes = most, i; planes > 0 && r->nsamples < HJ_SLAB_SAMPLES; planes = HJSlabsThinner(planes)) {
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

/* The deepest ghosts up to depth with which the memory of each rank holds the thinnest slab. Collective */
static PetscErrorCode HJSlabsFitDepth(HJSlabs s, PetscInt depth)
{
  PetscInt64 need[2];

  PetscFunctionBegin;
  for (;; depth /= 2) {
    HJSlabsSetDepth(s, depth);
    need[0] = (PetscInt64)HJSlabLeastBytes(&s->shape);
    need[1] = need[0] - (PetscInt64)s->limit; /* of the rank that lacks most */
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, need, 2, MPIU_INT64, MPI_MAX, s->comm));
    if (need[1] <= 0) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCheck(depth > 1, s->comm, PETSC_ERR_MEM,
               "The thinnest slab of this grid needs %" PetscInt64_FMT " bytes of device memory, and there may be %" PetscInt64_FMT
               "; raise -pc_hjacobi_device_memory or use -pc_hjacobi_backend host",
               need[0], need[0] - need[1]);
  }
}

/* All ranks do rounds of the same height. Collective */
static PetscErrorCode HJSlabsPlan(HJSlabs s, PetscInt height, PetscInt depth)
{
  HJSlabPlan plan;
  PetscInt   least;

  PetscFunctionBegin;
  PetscCall(HJSlabsFitDepth(s, depth));
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
  PetscCall(HJSlabsAllocRings(s));
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
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSlabsCreate(const HJOperator *op, const HJSlabOps *ops, size_t limit, PetscInt height, HJSlabs *out)
{
  const PetscInt deepest = HJGridHasNeighbors(&op->grid) ? PetscMin(op->grid.min_width, op->pad + 1) : 0;
  HJSlabs        s;
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
  PetscCall(HJSlabsSetShape(s));
  HJSlabsSetArrays(s);
  PetscCall(HJSlabsCreateDevice(s));
  PetscCall(HJSlabsPlan(s, height, height > 0 ? PetscMin(height, deepest) : deepest));
  PetscCall(HJSlabGhostsCreate(op, s->shape.most_height, &s->ghosts));
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

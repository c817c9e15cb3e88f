/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Rates of a backend's sweep(), product(), interpolation or restriction alone, for whoever tunes kernels: no Mat, no DM, no halo. Answers
   are checked at a few points first.
     bench_sweep -backend host|cuda -dim 2 -n 4097 -k 4,8,16 -storage dictionary|variable|symmetric -shape star|box -guess zero|nonzero
                 -rows one|identity|jump|sides -periodic -overlap -1 -tile 32 -reps 5 -limits t4|rtx4090|a100|h200|b200
                 -operation sweep|product|residual|transposed -case sweep|interpolate|restrict|residual_restrict
   -reps 0 only checks, for sanitizers; -leaves_residual: 3D sweeps from a zero guess that leave their residual, where there are such.
*/
#include "host/hjhost.h"
#include "core/hjrestriction.h"
#include "report.h"
#include "stencils.h"
#include "../../tests/hjdevices.h"

static const char *const StorageTypes[]   = {"dictionary", "variable", "symmetric", "HJStorage", "HJ_", NULL};
static const char *const ShapeTypes[]     = {"star", "box", "HJShape", "HJ_", NULL};
static const char *const GuessTypes[]     = {"nonzero", "zero", "guess", "", NULL};
static const char *const CaseTypes[]      = {"sweep", "interpolate", "restrict", "residual_restrict", "case", "", NULL};
static const char *const RowsTypes[]      = {"one", "identity", "jump", "sides", "rows", "ROWS_", NULL};
static const char *const OperationTypes[] = {"sweep", "product", "residual", "transposed", "operation", "", NULL};

typedef enum { CASE_SWEEP, CASE_INTERPOLATE, CASE_RESTRICT, CASE_RESIDUAL_RESTRICT } CaseType;
typedef enum { SWEEP, PRODUCT, RESIDUAL, TRANSPOSED } Operation;

typedef struct {
  PetscInt  dim, n, ncounts, counts[16], overlap, tile, reps;
  PetscEnum storage, shape, zero_guess, rows, what;
  Operation operation;
  PetscBool periodic; /* in all directions */
  PetscBool leaves;
  char      backend[16];
} Options;

typedef struct {
  const HJBackendOps *ops;
  void               *ctx;
  HJGrid              grid;
  HJStencil           st;
  PetscScalar        *x, *b, *y; /* in the backend's memory */
  PetscScalar        *host_b, *host_x;
  PetscBool           leaves; /* sweeps leave their residual, in x */
} Bench;

static PetscErrorCode GetOptions(Options *o)
{
  PetscFunctionBegin;
  *o = (Options){.dim = 2, .n = 4097, .ncounts = 16, .overlap = -1, .tile = 32, .reps = 5, .backend = "host"};
  PetscOptionsBegin(PETSC_COMM_SELF, NULL, "Rates of sweeps", NULL);
  PetscCall(PetscOptionsString("-backend", "host or cuda", NULL, o->backend, o->backend, sizeof(o->backend), NULL));
  PetscCall(PetscOptionsRangeInt("-dim", "Dimension", NULL, o->dim, &o->dim, NULL, 1, 3));
  PetscCall(PetscOptionsInt("-n", "Points in each direction", NULL, o->n, &o->n, NULL));
  PetscCall(PetscOptionsIntArray("-k", "Subiterations of a sweep", NULL, o->counts, &o->ncounts, NULL));
  PetscCall(PetscOptionsEnum("-storage", "Coefficients", NULL, StorageTypes, o->storage, &o->storage, NULL));
  PetscCall(PetscOptionsEnum("-shape", "Stencil", NULL, ShapeTypes, o->shape, &o->shape, NULL));
  PetscCall(PetscOptionsEnum("-guess", "Initial guess", NULL, GuessTypes, o->zero_guess, &o->zero_guess, NULL));
  PetscCall(PetscOptionsEnum("-rows",
                             "Dictionary: one row; identity rows on the boundary; those and a coefficient that jumps; others on each side",
                             NULL, RowsTypes, o->rows, &o->rows, NULL));
  PetscCall(PetscOptionsEnum("-operation", "Sweeps, or products of the coefficients", NULL, OperationTypes, (PetscEnum)o->operation,
                             (PetscEnum *)&o->operation, NULL));
  PetscCall(PetscOptionsEnum("-case", "What is measured", NULL, CaseTypes, o->what, &o->what, NULL));
  PetscCall(PetscOptionsBool("-periodic", "In all directions; -rows one, exact", NULL, o->periodic, &o->periodic, NULL));
  PetscCall(PetscOptionsBool("-leaves_residual", "With the residual, in 3D; -guess zero, exact", NULL, o->leaves, &o->leaves, NULL));
  PetscCall(PetscOptionsInt("-overlap", "Overlap of stale tiles, -1 for exact sweeps", NULL, o->overlap, &o->overlap, NULL));
  PetscCall(PetscOptionsInt("-tile", "Stale tiles in each direction", NULL, o->tile, &o->tile, NULL));
  PetscCall(
    PetscOptionsRangeInt("-reps", "Repetitions, the median counts; 0: only checked", NULL, o->reps, &o->reps, NULL, 0, MAX_REPETITIONS));
  PetscOptionsEnd();
  PetscCheck(o->reps || (o->operation == SWEEP && (CaseType)o->what == CASE_SWEEP), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "-reps 0, to check and not to measure, is for sweeps alone");
  if (!o->ncounts) {
    o->ncounts   = 1;
    o->counts[0] = 8;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(const HJBackendOps *ops, const Options *o, Bench *be)
{
  PetscCount n;

  PetscFunctionBegin;
  memset(be, 0, sizeof(*be));
  be->ops            = ops;
  be->grid.dim       = o->dim;
  be->grid.min_width = PETSC_INT_MAX;
  for (int d = 0; d < 3; d++) be->grid.N[d] = be->grid.owned.hi[d] = be->grid.domain.hi[d] = d < o->dim ? o->n : 1;
  for (int d = 0; d < o->dim && o->periodic; d++) {
    be->grid.periodic[d] = be->grid.neighbor[d][0] = be->grid.neighbor[d][1] = PETSC_TRUE;
    be->grid.domain.lo[d]                                                    = -HJ_ENDLESS;
    be->grid.domain.hi[d]                                                    = HJ_ENDLESS;
    be->grid.min_width                                                       = o->n;
  }
  PetscCall(StencilCreate(&be->grid, (HJShape)o->shape, (HJStorage)o->storage, (RowsType)o->rows, &be->st));
  PetscCall(ops->create(&be->grid, &be->st, &be->ctx));
  n = HJBoxSize(&be->grid.owned);
  PetscCall(PetscMalloc2(n, &be->host_x, n, &be->host_b));
  for (PetscCount i = 0; i < n; i++) {
    be->host_x[i] = (PetscReal)(i * 7919 % 1009) / 1009.0;
    be->host_b[i] = (PetscReal)(i * 104729 % 997) / 997.0;
  }
  PetscCall(ops->alloc(be->ctx, n, &be->x));
  PetscCall(ops->alloc(be->ctx, n, &be->y));
  PetscCall(ops->alloc(be->ctx, n, &be->b));
  PetscCall(ops->copy(be->ctx, be->x, be->host_x, n));
  PetscCall(ops->copy(be->ctx, be->y, be->host_x, n));
  PetscCall(ops->copy(be->ctx, be->b, be->host_b, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Bench *be)
{
  PetscFunctionBegin;
  PetscCall(be->ops->free(be->ctx, &be->x));
  PetscCall(be->ops->free(be->ctx, &be->y));
  PetscCall(be->ops->free(be->ctx, &be->b));
  PetscCall(be->ops->destroy(&be->ctx));
  PetscCall(PetscFree2(be->host_x, be->host_b));
  PetscCall(StencilDestroy(&be->st));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where a point's value is in an array over the owned points; beyond the end of a periodic direction it is a point at the other one */
static PetscCount PlaceOf(const Bench *be, const PetscInt p[3])
{
  const PetscInt *n = be->grid.N;

  return HJBoxIndex(&be->grid.owned, (p[0] + n[0]) % n[0], (p[1] + n[1]) % n[1], (p[2] + n[2]) % n[2]);
}

/* Periodic: the ghost planes of an array are its own at the other end */
static void PlaceGhosts(const Bench *be, HJSweep *s)
{
  const int        last = (int)be->grid.dim - 1;
  const PetscCount at   = HJBoxSize(&be->grid.owned) / be->grid.N[last] * (be->grid.N[last] - s->count);

  if (!s->ghosts) return;
  s->xghost[0] = s->x ? s->x + at : NULL;
  s->xghost[1] = s->x;
  s->bghost[0] = s->b + at;
  s->bghost[1] = s->b;
}

/* The value at c after count subiterations, from the points that it depends on */
static PetscErrorCode NaivePoint(const Bench *be, const HJSweep *s, const PetscInt c[3], PetscScalar *value)
{
  const HJStencil *st  = &be->st;
  HJBox            box = {{c[0], c[1], c[2]}, {c[0] + 1, c[1] + 1, c[2] + 1}};
  PetscScalar     *from, *to;

  PetscFunctionBegin;
  box = HJGridGrow(&be->grid, &box, s->count);
  PetscCall(PetscCalloc2(HJBoxSize(&box), &from, HJBoxSize(&box), &to));
  for (PetscCount i = 0; i < HJBoxSize(&box) && s->x; i++) {
    PetscInt p[3];

    PointOf(&box, i, p);
    from[i] = be->host_x[PlaceOf(be, p)];
  }
  for (PetscInt j = 0; j < s->count; j++) {
    for (PetscCount i = 0; i < HJBoxSize(&box); i++) {
      PetscInt           p[3], q[3], off[3];
      PetscScalar        sum = from[i], dinv = 1.0 / (st->nslots - 1);
      const PetscScalar *row = NULL;

      PointOf(&box, i, p);
      if (st->index) {
        const PetscInt number = st->index[HJBoxIndex(&st->box, p[0], p[1], p[2])];

        row  = st->rows + number * st->nslots;
        dinv = st->dinv_rows[number];
      }
      for (PetscInt e = 1; e < st->nslots; e++) {
        HJShapeOffset(st->dim, st->shape, e, off);
        for (int d = 0; d < 3; d++) q[d] = p[d] + off[d];
        if (Inside(&box, q)) sum += (row ? row[e] : EdgeValue(st, p, e)) * from[HJBoxIndex(&box, q[0], q[1], q[2])];
      }
      to[i] = from[i] + s->w[j] * (dinv * be->host_b[PlaceOf(be, p)] - sum);
    }
    PetscCall(PetscArraycpy(from, to, HJBoxSize(&box)));
  }
  *value = from[HJBoxIndex(&box, c[0], c[1], c[2])];
  PetscCall(PetscFree2(from, to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Exact sweeps only: tests/test_sweep.c compares the stale ones */
static PetscErrorCode Check(const Bench *be, const HJSweep *s)
{
  const PetscInt   places[] = {0, 1, 31, 500, 4000};
  const HJBox     *owned    = &be->grid.owned;
  const PetscCount n        = HJBoxSize(owned);
  PetscScalar     *y, *r;
  HJSweep          more = *s;

  PetscFunctionBegin;
  if (s->overlap >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc2(n, &y, n, &r));
  PetscCall(be->ops->copy(be->ctx, y, s->y, n));
  PetscCall(be->ops->copy(be->ctx, r, be->x, n));
  more.count++;
  for (int i = 0; i < 5; i++) {
    PetscInt    c[3];
    PetscScalar want = 0.0, got;

    for (int d = 0; d < 3; d++) c[d] = PetscMin(places[(i + d) % 5], owned->hi[d] - 1);
    PetscCall(NaivePoint(be, s, c, &want));
    got = y[HJBoxIndex(owned, c[0], c[1], c[2])];
    PetscCheck(PetscAbsScalar(want - got) <= 4.0 * PETSC_MACHINE_EPSILON * s->count * (s->count + be->st.nslots - 1), PETSC_COMM_SELF,
               PETSC_ERR_PLIB, "Wrong answer at %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ": %g instead of %g", c[0], c[1], c[2],
               (double)got, (double)want);
    if (!be->leaves) continue;
    PetscCall(NaivePoint(be, &more, c, &got)); /* arrays: a diagonal of as many as there are neighbours */
    want = (be->st.nslots - 1) * (got - want);
    got  = r[HJBoxIndex(owned, c[0], c[1], c[2])];
    PetscCheck(PetscAbsScalar(want - got) <= 8.0 * PETSC_MACHINE_EPSILON * more.count * (be->st.nslots - 1) * (be->st.nslots - 1),
               PETSC_COMM_SELF, PETSC_ERR_PLIB, "Wrong residual at %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ": %g instead of %g",
               c[0], c[1], c[2], (double)got, (double)want);
  }
  PetscCall(PetscFree2(y, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of each of n calls, back to back. A number that is copied to the host waits for the device */
static PetscErrorCode TimeCalls(const Bench *be, PetscErrorCode (*run)(const Bench *, void *), void *ctx, PetscInt n,
                                PetscLogDouble *seconds)
{
  PetscLogDouble start, end;
  PetscScalar    one;

  PetscFunctionBegin;
  PetscCall(be->ops->copy(be->ctx, &one, be->y, 1));
  PetscCall(PetscTime(&start));
  for (PetscInt i = 0; i < n; i++) PetscCall(run(be, ctx));
  PetscCall(be->ops->copy(be->ctx, &one, be->y, 1));
  PetscCall(PetscTime(&end));
  *seconds = (end - start) / n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A call's, from as many, and an even number, as take a tenth of a second */
static PetscErrorCode Measure(const Bench *be, PetscErrorCode (*run)(const Bench *, void *), void *ctx, Times *t)
{
  PetscLogDouble seconds = 0.0;
  PetscInt       n;

  PetscFunctionBegin;
  PetscCall(TimeCalls(be, run, ctx, 2, &seconds));
  n = 2 * (1 + (PetscInt)(0.05 / seconds));
  for (PetscInt i = 0; i < t->n; i++) {
    PetscCall(TimeCalls(be, run, ctx, n, &seconds));
    t->s[i] = seconds;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the others are held against: y = x */
static PetscErrorCode RunCopy(const Bench *be, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(be->ops->copy(be->ctx, be->y, be->x, HJBoxSize(&be->grid.owned)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Sweep(const Bench *be, const HJSweep *s)
{
  HJSweep t = *s;

  PetscFunctionBegin;
  if (be->leaves) t.residual = be->x;
  PetscCall(be->ops->sweep(be->ctx, 1, &t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From a nonzero guess the next sweep goes on from the result of this one */
static PetscErrorCode RunSweep(const Bench *be, void *ctx)
{
  HJSweep     *s = (HJSweep *)ctx;
  PetscScalar *y = s->y;

  PetscFunctionBegin;
  PetscCall(Sweep(be, s));
  if (!s->x) PetscFunctionReturn(PETSC_SUCCESS);
  s->y = (PetscScalar *)s->x;
  s->x = y;
  PlaceGhosts(be, s);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const Bench *be, const Options *o, PetscInt count)
{
  const HJBox *owned = &be->grid.owned;
  HJSweep      s     = {.write   = *owned,
                        .box     = *owned,
                        .ybox    = *owned,
                        .x       = o->zero_guess ? NULL : be->x,
                        .b       = be->b,
                        .y       = be->y,
                        .count   = count,
                        .overlap = o->overlap,
                        .cover   = *owned};
  PetscReal   *w;
  Times        t           = {.n = o->reps};
  char         reason[256] = "";

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) s.tile[d] = o->tile;
  s.ghosts = o->periodic;
  for (int d = 0; d < o->dim - 1; d++) s.wraps[d] = o->periodic;
  if (o->periodic) {
    s.box.lo[o->dim - 1] -= count;
    s.box.hi[o->dim - 1] += count;
  }
  PlaceGhosts(be, &s);
  PetscCall(PetscMalloc1(count + 1, &w));
  for (PetscInt j = 0; j < count; j++) w[j] = 0.6 + 0.4 / (1 + j);
  w[count] = 1.0; /* one more tells the residual */
  s.w      = w;
  if (o->overlap >= 0) PetscCall(be->ops->check_tile(be->ctx, s.tile, reason, sizeof(reason)));
  PetscCheck(!reason[0], PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "%s", reason);
  PetscCall(be->ops->copy(be->ctx, be->x, be->host_x, HJBoxSize(owned)));
  PetscCall(Sweep(be, &s));
  PetscCall(Check(be, &s));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%s %" PetscInt_FMT "D n %" PetscInt_FMT "%s %s %s (%" PetscInt_FMT " rows) %s k %" PetscInt_FMT ": ",
                        be->ops->name, o->dim, o->n, o->periodic ? " periodic" : "", ShapeTypes[be->st.shape], StorageTypes[be->st.storage],
                        be->st.nrows, GuessTypes[o->zero_guess], count));
  if (o->reps) {
    PetscCall(Measure(be, RunSweep, &s, &t));
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%.4f ms +%.0f%%, %.4g G updates/s", 1e3 * (double)Median(&t), 100 * (double)Spread(&t),
                          1e-9 * count * HJBoxSize(owned) / (double)Median(&t)));
  } else PetscCall(PetscPrintf(PETSC_COMM_SELF, "checked"));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s\n", o->leaves ? ", with residual" : "",
                        be->ops->kernels(be->ctx, o->overlap < 0 ? NULL : s.tile)));
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Most subiterations of a sweep: of one from a zero guess they may be more */
static PetscInt MostSwept(const Options *o, const HJLimits *limits)
{
  return o->zero_guess && !o->periodic ? PetscMax(limits->max_count, limits->from_zero) : limits->max_count;
}

static PetscBool LeavesResidual(const Bench *be, const Options *o, PetscInt count)
{
  return (PetscBool)(o->zero_guess && !o->periodic && o->overlap < 0 && be->ops->can && be->ops->can(be->ctx, HJ_LEAVES_RESIDUAL, count));
}

/* Doubles behind so many bytes */
static PetscErrorCode ToBackend(const Bench *be, const void *from, size_t bytes, void **to)
{
  const PetscCount n = (PetscCount)(bytes / sizeof(PetscScalar) + 1);
  PetscScalar     *padded, *memory;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(n, &padded));
  memcpy(padded, from, bytes);
  PetscCall(be->ops->alloc(be->ctx, n, &memory));
  PetscCall(be->ops->copy(be->ctx, memory, padded, n));
  PetscCall(PetscFree(padded));
  *to = memory;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a slot at a point of the matrix: what sweeps have as rows, or arrays that are 0 where they lead outside */
static PetscScalar SlotValue(const Bench *be, const HJCoefficients *a, PetscInt slot, const PetscInt p[3])
{
  const PetscInt row = a->storage == HJ_COEFFICIENTS_DICTIONARY ? be->st.index[HJBoxIndex(&be->st.box, p[0], p[1], p[2])] : 0;
  PetscInt       off[3], q[3];

  HJSlotOffset(a, slot, off);
  for (int d = 0; d < 3; d++) q[d] = p[d] + off[d];
  if (!Inside(&be->grid.domain, q)) return 0.0;
  if (a->storage != HJ_COEFFICIENTS_ARRAYS) return be->st.rows[row * a->nslots + slot];
  return slot ? EdgeValue(&be->st, p, slot - 1) : 1.0;
}

/* The coefficients in the backend's memory; be has a dictionary */
static PetscErrorCode CreateCoefficients(const Bench *be, const Options *o, HJCoefficients *a)
{
  const HJStencil *st = &be->st;
  PetscScalar     *value;

  PetscFunctionBegin;
  memset(a, 0, sizeof(*a));
  a->dim       = st->dim;
  a->shape     = st->shape;
  a->nslots    = st->nslots;
  a->npoints   = HJBoxSize(&st->box);
  a->mtype     = be->ops->mtype;
  a->storage   = (HJStorage)o->storage != HJ_DICTIONARY ? HJ_COEFFICIENTS_ARRAYS
                 : st->nrows == 1                       ? HJ_COEFFICIENTS_ROW
                                                        : HJ_COEFFICIENTS_DICTIONARY;
  a->symmetric = (PetscBool)((HJStorage)o->storage == HJ_SYMMETRIC);
  a->rows      = st->rows;
  a->nrows     = st->nrows;
  if (a->storage == HJ_COEFFICIENTS_DICTIONARY) {
    PetscCall(ToBackend(be, st->rows, a->nrows * a->nslots * sizeof(PetscScalar), (void **)&a->device_rows));
    PetscCall(ToBackend(be, st->index, a->npoints, (void **)&a->index));
  }
  if (a->storage != HJ_COEFFICIENTS_ARRAYS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(a->nslots * a->npoints, &value));
  for (PetscCount i = 0; i < a->npoints; i++) {
    PetscInt p[3];

    PointOf(&st->box, i, p);
    for (PetscInt s = 0; s < a->nslots; s++) value[s * a->npoints + i] = SlotValue(be, a, s, p);
  }
  PetscCall(be->ops->alloc(be->ctx, a->nslots * a->npoints, &a->value));
  PetscCall(be->ops->copy(be->ctx, a->value, value, a->nslots * a->npoints));
  PetscCall(PetscFree(value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyCoefficients(const Bench *be, HJCoefficients *a)
{
  PetscScalar *index = (PetscScalar *)a->index;

  PetscFunctionBegin;
  PetscCall(be->ops->free(be->ctx, &index));
  PetscCall(be->ops->free(be->ctx, &a->device_rows));
  PetscCall(be->ops->free(be->ctx, &a->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckProduct(const Bench *be, const HJProduct *p, PetscBool transpose)
{
  const PetscInt        places[] = {0, 1, 31, 100, 255, 4000};
  const HJBox          *owned    = &be->grid.owned;
  const HJCoefficients *a        = p->a;
  PetscScalar          *y;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(a->npoints, &y));
  PetscCall(be->ops->copy(be->ctx, y, p->y, a->npoints));
  for (int i = 0; i < 36; i++) {
    PetscInt    c[3], q[3], off[3];
    PetscScalar want = 0.0, got;

    for (int d = 0; d < 3; d++) c[d] = PetscMin(places[(i + d * (1 + i / 6)) % 6], owned->hi[d] - 1);
    for (PetscInt s = 0; s < a->nslots; s++) {
      HJSlotOffset(a, s, off);
      for (int d = 0; d < 3; d++) q[d] = c[d] + off[d];
      if (Inside(owned, q))
        want += SlotValue(be, a, transpose ? HJSlotOpposite(a, s) : s, transpose ? q : c) * be->host_x[HJBoxIndex(owned, q[0], q[1], q[2])];
    }
    want = p->alpha * want + (p->b ? be->host_b[HJBoxIndex(owned, c[0], c[1], c[2])] : 0.0);
    got  = y[HJBoxIndex(owned, c[0], c[1], c[2])];
    PetscCheck(PetscAbsScalar(want - got) <= 16.0 * PETSC_MACHINE_EPSILON * a->nslots, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Wrong answer at %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ": %g instead of %g", c[0], c[1], c[2], (double)got,
               (double)want);
  }
  PetscCall(PetscFree(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunProduct(const Bench *be, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(be->ops->product((const HJProduct *)ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunTransposed(const Bench *be, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(be->ops->product_transpose((const HJProduct *)ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes of a point that must move: x and y, b, coefficients */
static PetscInt ProductBytes(const HJCoefficients *a, PetscBool b)
{
  const PetscInt arrays = a->symmetric ? 1 + a->nslots / 2 : a->nslots;

  return (b ? 24 : 16) + (a->storage == HJ_COEFFICIENTS_ARRAYS ? 8 * arrays : a->storage == HJ_COEFFICIENTS_DICTIONARY ? 1 : 0);
}

static PetscErrorCode RunProducts(const Bench *be, const Options *o)
{
  const char *const storage[] = {"one row", "dictionary", "arrays"};
  const PetscBool   transpose = (PetscBool)(o->operation == TRANSPOSED);
  HJShell           shell;
  HJCoefficients    a;
  HJProduct         p = {.a = &a, .shell = &shell, .alpha = o->operation == RESIDUAL ? -1.0 : 1.0, .x = be->x, .y = be->y};
  PetscErrorCode (*product)(const Bench *, void *) = transpose ? RunTransposed : RunProduct;
  Times        t = {.n = o->reps}, copy = {.n = o->reps};
  PetscScalar *zero;
  PetscReal    rate, copy_rate;

  PetscFunctionBegin;
  HJShellSet(&be->grid, &shell);
  PetscCall(PetscCalloc1(shell.size, &zero));
  PetscCall(ToBackend(be, zero, shell.size * sizeof(PetscScalar), (void **)&p.ghost));
  PetscCall(PetscFree(zero));
  PetscCall(CreateCoefficients(be, o, &a));
  if (o->operation == RESIDUAL) p.b = be->b;
  PetscCall(product(be, &p));
  PetscCall(CheckProduct(be, &p, transpose));
  PetscCall(Measure(be, product, &p, &t));
  PetscCall(Measure(be, RunCopy, NULL, &copy));
  rate      = 1e-9 * a.npoints / Median(&t);
  copy_rate = 16e-9 * a.npoints / Median(&copy);
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%s %" PetscInt_FMT "D n %" PetscInt_FMT " %s %s%s %s: %.4f ms +%.0f%%, %.4g G points/s, %" PetscInt_FMT
                        " B a point: %.4g GB/s, %.0f%% of a copy (%.4g)\n",
                        be->ops->name, o->dim, o->n, ShapeTypes[a.shape], storage[a.storage], a.symmetric ? ", symmetric" : "",
                        OperationTypes[o->operation], 1e3 * (double)Median(&t), 100 * (double)Spread(&t), (double)rate,
                        ProductBytes(&a, (PetscBool)(p.b != NULL)), (double)(ProductBytes(&a, (PetscBool)(p.b != NULL)) * rate),
                        (double)(100 * ProductBytes(&a, (PetscBool)(p.b != NULL)) * rate / copy_rate), (double)copy_rate));
  PetscCall(DestroyCoefficients(be, &a));
  PetscCall(be->ops->free(be->ctx, &p.ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The grid, and the one with half of its points */
static PetscErrorCode SetTransfer(const Bench *be, HJTransfer *t, HJShell *shell, PetscBool transpose)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(t, sizeof(*t)));
  t->fine = t->coarse = be->grid;
  for (int d = 0; d < 3; d++) {
    const PetscBool used = (PetscBool)(d < be->grid.dim);

    PetscCheck(!used || be->grid.N[d] % 2, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-n must be odd");
    t->factor[d]   = used ? 2 : 1;
    t->coarse.N[d] = t->coarse.owned.hi[d] = t->coarse.domain.hi[d] = (be->grid.N[d] + 1) / 2;
  }
  t->points = t->fine.domain;
  HJShellSet(transpose ? &t->fine : &t->coarse, shell);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sum of the points of the other grid that a point is made from, their weights halved for each direction that leads between two points */
static PetscScalar TransferPoint(const HJTransfer *t, PetscBool transpose, const PetscInt p[3], const PetscScalar *x)
{
  const HJBox *from = transpose ? &t->fine.owned : &t->coarse.owned;
  PetscScalar  sum  = 0.0;

  for (PetscCount i = 0; i < 27; i++) {
    const PetscInt off[3] = {(PetscInt)(i % 3) - 1, (PetscInt)(i / 3 % 3) - 1, (PetscInt)(i / 9) - 1};
    PetscInt       q[3];
    PetscReal      w = 1.0;

    for (int d = 0; d < 3; d++) {
      const PetscInt f = t->factor[d];

      if (transpose) q[d] = f * p[d] + off[d];
      else q[d] = (p[d] + off[d]) / f;
      if (off[d]) w *= f == 2 && (transpose || p[d] % 2) ? 0.5 : 0.0;
      else if (!transpose && f == 2 && p[d] % 2) w = 0.0;
    }
    if (w > 0.0 && Inside(from, q)) sum += w * x[HJBoxIndex(from, q[0], q[1], q[2])];
  }
  return sum;
}

static PetscErrorCode CheckTransfer(const Bench *be, const HJTransfer *t, PetscBool transpose, const PetscScalar *result)
{
  const PetscInt   places[] = {0, 1, 30, 67, 500};
  const HJBox     *to       = transpose ? &t->coarse.owned : &t->fine.owned;
  const PetscCount n        = HJBoxSize(to);
  PetscScalar     *y;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &y));
  PetscCall(be->ops->copy(be->ctx, y, (PetscScalar *)result, n));
  for (int i = 0; i < 5; i++) {
    PetscInt    p[3];
    PetscScalar want, got;

    for (int d = 0; d < 3; d++) p[d] = PetscMin(places[(i + 2 * d) % 5], to->hi[d] - 1);
    got  = y[HJBoxIndex(to, p[0], p[1], p[2])];
    want = TransferPoint(t, transpose, p, be->host_x) + (transpose ? 0.0 : be->host_b[HJBoxIndex(to, p[0], p[1], p[2])]);
    PetscCheck(PetscAbsScalar(want - got) <= 64 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Wrong answer at %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ": %g instead of %g", p[0], p[1], p[2], (double)got,
               (double)want);
  }
  PetscCall(PetscFree(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunInterpolate(const Bench *be, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(be->ops->multigrid->interpolate((const HJTransferProduct *)ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunRestrict(const Bench *be, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(be->ops->multigrid->interpolate_transpose((const HJTransferProduct *)ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y += P x, or y = P^T x; bytes are those that must move */
static PetscErrorCode RunTransfer(const Bench *be, const Options *o)
{
  const PetscBool   transpose = (PetscBool)((CaseType)o->what == CASE_RESTRICT);
  const PetscCount  fine      = HJBoxSize(&be->grid.owned);
  PetscCount        coarse;
  HJTransfer        t;
  HJShell           shell;
  HJTransferProduct p     = {.transfer = &t, .shell = &shell, .x = be->x, .b = transpose ? NULL : be->y, .y = be->y};
  Times             times = {.n = o->reps}, copy = {.n = o->reps};
  PetscErrorCode (*run)(const Bench *, void *) = transpose ? RunRestrict : RunInterpolate;
  PetscScalar *ghost, *zero;
  double       rate, bytes;

  PetscFunctionBegin;
  PetscCall(SetTransfer(be, &t, &shell, transpose));
  coarse = HJBoxSize(&t.coarse.owned);
  PetscCall(PetscCalloc1(shell.size, &zero));
  PetscCall(ToBackend(be, zero, shell.size * sizeof(PetscScalar), (void **)&ghost));
  PetscCall(PetscFree(zero));
  p.ghost = ghost;
  PetscCall(be->ops->copy(be->ctx, be->y, be->host_b, fine));
  PetscCall(run(be, &p));
  PetscCall(CheckTransfer(be, &t, transpose, be->y));
  PetscCall(Measure(be, run, &p, &times));
  PetscCall(Measure(be, RunCopy, NULL, &copy));
  bytes = sizeof(PetscScalar) * ((transpose ? 1.0 : 2.0) * fine + coarse);
  rate  = bytes / (double)Median(&times);
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%s %" PetscInt_FMT "D n %" PetscInt_FMT " %s: %.4f ms +%.0f%%, %.4g GB/s, %.0f%% of a copy's, %.4g G points/s\n",
                        be->ops->name, o->dim, o->n, CaseTypes[o->what], 1e3 * (double)Median(&times), 100 * (double)Spread(&times),
                        1e-9 * rate, 100 * rate * (double)Median(&copy) / (2.0 * sizeof(PetscScalar) * fine),
                        1e-9 * fine / (double)Median(&times)));
  PetscCall(be->ops->free(be->ctx, &ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Residual and restriction in one, and apart */
typedef struct {
  HJRestriction     one;
  HJProduct         residual;
  HJTransferProduct restriction;
} Restrictions;

static PetscErrorCode RunFused(const Bench *be, void *ctx)
{
  HJRestriction one = *(const HJRestriction *)ctx;

  PetscFunctionBegin;
  one.norm2 = NULL;
  PetscCall(be->ops->multigrid->restrict_residual(&one));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunFusedNorm(const Bench *be, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(be->ops->multigrid->restrict_residual((const HJRestriction *)ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The fused one against the two apart at all points, and its norm */
static PetscErrorCode CheckRestrictions(const Bench *be, Restrictions *r)
{
  const PetscCount n = HJBoxSize(&be->grid.owned), nc = HJBoxSize(&r->one.transfer->coarse.owned);
  PetscScalar     *y, *residual, *want, norm2, sum = 0.0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &residual, nc, &want, nc, &y));
  PetscCall(RunProduct(be, &r->residual));
  PetscCall(CheckProduct(be, &r->residual, PETSC_FALSE));
  PetscCall(RunRestrict(be, &r->restriction));
  PetscCall(be->ops->copy(be->ctx, residual, be->y, n));
  PetscCall(be->ops->copy(be->ctx, want, r->one.y, nc));
  PetscCall(RunFusedNorm(be, &r->one));
  PetscCall(be->ops->copy(be->ctx, y, r->one.y, nc));
  PetscCall(be->ops->copy(be->ctx, &norm2, r->one.norm2, 1));
  for (PetscCount i = 0; i < n; i++) sum += residual[i] * residual[i];
  PetscCheck(PetscAbsScalar(sum - norm2) <= n * PETSC_MACHINE_EPSILON * sum, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Wrong norm: %g instead of %g", (double)norm2, (double)sum);
  for (PetscCount i = 0; i < nc; i++)
    PetscCheck(PetscAbsScalar(y[i] - want[i]) <= 512 * PETSC_MACHINE_EPSILON, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Wrong answer at coarse point %" PetscInt_FMT ": %g instead of %g", (PetscInt)i, (double)y[i], (double)want[i]);
  PetscCall(PetscFree3(residual, want, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P^T (b - A x); bytes are those that must move in the fused one */
static PetscErrorCode RunRestrictions(const Bench *be, const Options *o)
{
  const char *const storage[] = {"one row", "dictionary", "arrays"};
  const PetscCount  n         = HJBoxSize(&be->grid.owned);
  HJCoefficients    a;
  HJTransfer        t;
  HJShell           shell;
  PetscScalar      *zero, *ghost, *y;
  Restrictions      r     = {.one         = {.transfer = &t, .a = &a, .x = be->x, .b = be->b},
                             .residual    = {.a = &a, .shell = &shell, .alpha = -1.0, .x = be->x, .b = be->b, .y = be->y},
                             .restriction = {.transfer = &t, .shell = &shell, .x = be->y}};
  Times             fused = {.n = o->reps}, norm = fused, residual = fused, restriction = fused, copy = fused;
  double            bytes;

  PetscFunctionBegin;
  PetscCall(SetTransfer(be, &t, &shell, PETSC_TRUE));
  PetscCall(CreateCoefficients(be, o, &a));
  PetscCall(PetscCalloc1(shell.size + HJ_RESTRICTION_NORM, &zero));
  PetscCall(ToBackend(be, zero, shell.size * sizeof(PetscScalar), (void **)&ghost));
  PetscCall(ToBackend(be, zero, HJ_RESTRICTION_NORM * sizeof(PetscScalar), (void **)&r.one.norm2));
  PetscCall(be->ops->alloc(be->ctx, HJBoxSize(&t.coarse.owned), &y));
  r.one.y = r.restriction.y = y;
  r.residual.ghost          = ghost;
  r.restriction.ghost       = ghost;
  PetscCall(CheckRestrictions(be, &r));
  PetscCall(Measure(be, RunFused, &r.one, &fused));
  PetscCall(Measure(be, RunFusedNorm, &r.one, &norm));
  PetscCall(Measure(be, RunProduct, &r.residual, &residual));
  PetscCall(Measure(be, RunRestrict, &r.restriction, &restriction));
  PetscCall(Measure(be, RunCopy, NULL, &copy));
  bytes = (double)(ProductBytes(&a, PETSC_FALSE) * n + 8 * HJBoxSize(&t.coarse.owned));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "%s %" PetscInt_FMT "D n %" PetscInt_FMT " %s %s%s: residual and restriction %.1f us, with norm %.1f, %.4g GB/s, "
                        "%.0f%% of a copy's; apart %.1f + %.1f\n",
                        be->ops->name, o->dim, o->n, ShapeTypes[a.shape], storage[a.storage], a.symmetric ? ", symmetric" : "",
                        1e6 * (double)Median(&fused), 1e6 * (double)Median(&norm), 1e-9 * bytes / (double)Median(&fused),
                        100 * bytes / (double)Median(&fused) / (16.0 * n / (double)Median(&copy)), 1e6 * (double)Median(&residual),
                        1e6 * (double)Median(&restriction)));
  PetscCall(PetscFree(zero));
  PetscCall(DestroyCoefficients(be, &a));
  PetscCall(be->ops->free(be->ctx, &ghost));
  PetscCall(be->ops->free(be->ctx, &y));
  PetscCall(be->ops->free(be->ctx, &r.one.norm2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const HJBackendOps *ops = NULL;
  HJLimits            limits;
  Options             o;
  Bench               be;
  PetscInt            most;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(GetOptions(&o));
  if (!strcmp(o.backend, "host")) ops = &HJBackendHost;
#if defined(HJACOBI_HAVE_CUDA)
  if (!strcmp(o.backend, "cuda")) ops = &HJBackendCUDA;
#endif
  PetscCheck(ops, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Backend %s is not built in", o.backend);
  if (o.operation != SWEEP || (CaseType)o.what == CASE_RESIDUAL_RESTRICT) {
    Options rows = o;

    rows.storage = (PetscEnum)HJ_DICTIONARY; /* whose values products take too */
    PetscCall(Create(ops, &rows, &be));
    if ((CaseType)o.what == CASE_RESIDUAL_RESTRICT) PetscCall(RunRestrictions(&be, &o));
    else PetscCall(RunProducts(&be, &o));
    PetscCall(Destroy(&be));
    PetscCall(PetscFinalize());
    return 0;
  }
  PetscCall(Create(ops, &o, &be));
  PetscCall(ops->limits(be.ctx, &limits));
  PetscCheck(!o.periodic || (limits.wraps && o.overlap < 0 && (RowsType)o.rows == ROWS_ONE), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "-periodic is for exact sweeps that wrap, and one row: leave it out, or choose others");
  most      = MostSwept(&o, &limits);
  be.leaves = o.leaves;
  if ((CaseType)o.what != CASE_SWEEP) PetscCall(RunTransfer(&be, &o));
  for (PetscInt i = 0; i < o.ncounts && (CaseType)o.what == CASE_SWEEP; i++) {
    if (o.leaves && !LeavesResidual(&be, &o, o.counts[i]))
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "k %" PetscInt_FMT ": no such sweep leaves its residual\n", o.counts[i]));
    else if (o.overlap < 0 && o.counts[i] > most)
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "k %" PetscInt_FMT ": the backend sweeps at most %" PetscInt_FMT "\n", o.counts[i], most));
    else PetscCall(Run(&be, &o, o.counts[i]));
  }
  PetscCall(Destroy(&be));
  PetscCall(PetscFinalize());
  return 0;
}

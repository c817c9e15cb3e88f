/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Coefficients as one array per neighbour, all of them or the upper half. Decides whether a matrix is as symmetric as the half needs.
   Which column leads to which neighbour is hjrows.c's.
*/
#include "hjstencil_impl.h"

typedef struct {
  HJStencil   *st;
  PetscInt     width[2], row_start;
  PetscInt     box[HJ_MAX_SLOTS]; /* slot of a box of each of st's */
  unsigned int missing;           /* bit per slot of a box that st has no array for */
  PetscBool    fits;
  PetscReal    gershgorin, slack;
  PetscInt     zero_row; /* first without a diagonal, -1: none */
} HJFill;

/* Places outside the domain, in the extra layers of HJ_SYMMETRIC */
static void HJValuesZeroOutside(const HJGrid *grid, const HJBox *box, PetscScalar *a)
{
  const PetscInt  width = HJBoxWidth(box, 0);
  const PetscInt *lo = grid->domain.lo, *hi = grid->domain.hi;

  for (PetscInt k = box->lo[2]; k < box->hi[2]; k++) {
    for (PetscInt j = box->lo[1]; j < box->hi[1]; j++) {
      PetscScalar *line = a + HJBoxIndex(box, box->lo[0], j, k);

      if (k < lo[2] || k >= hi[2] || j < lo[1] || j >= hi[1]) memset(line, 0, width * sizeof(*a));
      if (box->lo[0] < lo[0]) line[0] = 0.0;
      if (box->hi[0] > hi[0]) line[width - 1] = 0.0;
    }
  }
}

PetscErrorCode HJArrayAlloc(const HJStencil *st, size_t bytes, void *array)
{
  PetscFunctionBegin;
  if (st->reader) PetscCall(st->reader->alloc(bytes, (void **)array));
  else PetscCall(PetscMalloc(bytes, (void **)array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJArrayFree(const HJStencil *st, void *array)
{
  PetscFunctionBegin;
  if (!st->reader) PetscCall(PetscFree(*(void **)array));
  else if (*(void **)array) PetscCall(st->reader->free(*(void **)array));
  *(void **)array = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJValuesAlloc(const HJGrid *grid, HJStencil *st)
{
  const PetscCount size = HJBoxSize(&st->box);

  PetscFunctionBegin;
  for (PetscInt o = 1; o < st->nslots && !st->in_place; o++) {
    if (!HJStencilHas(st, o)) continue;
    PetscCall(HJArrayAlloc(st, size * sizeof(PetscScalar), &st->value[o]));
    if (!st->reader) HJValuesZeroOutside(grid, &st->box, st->value[o]);
  }
  PetscCall(HJArrayAlloc(st, size * sizeof(PetscScalar), &st->dinv));
  if (!st->reader) HJValuesZeroOutside(grid, &st->box, st->dinv);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJValuesFree(HJStencil *st)
{
  PetscFunctionBegin;
  for (PetscInt o = 0; o < HJ_MAX_SLOTS; o++) {
    if (st->in_place) st->value[o] = NULL;
    else PetscCall(HJArrayFree(st, &st->value[o]));
  }
  st->in_place = PETSC_FALSE;
  PetscCall(HJArrayFree(st, &st->dinv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void HJFillSetUp(const HJRows *rows, HJStencil *st, HJFill *fill)
{
  fill->st         = st;
  fill->width[0]   = rows->width[0];
  fill->width[1]   = rows->width[1];
  fill->row_start  = rows->row_start;
  fill->missing    = (1u << rows->nslots) - 1;
  fill->fits       = PETSC_TRUE;
  fill->gershgorin = 0.0;
  fill->zero_row   = -1;
  fill->slack      = rows->slack;
  for (PetscInt o = 0; o < st->nslots; o++) {
    fill->box[o] = HJShapeBoxSlot(st->dim, st->shape, o);
    fill->missing &= ~(1u << fill->box[o]);
  }
}

/* Inverse diagonal and bound of the rows first .. first + n - 1 */
static void HJFillDiagonal(HJFill *fill, const HJRowRun *run, PetscInt first, PetscInt n, PetscInt t, PetscScalar *dinv)
{
  const PetscScalar *val   = run->val + (size_t)first * run->nnz;
  PetscReal          bound = fill->gershgorin;

  HJRunCopy(run, first, n, t, dinv);
  for (PetscInt m = 0; m < n; m++) {
    PetscReal sum = 0.0;

    if (dinv[m] == 0.0 && fill->zero_row < 0)
      fill->zero_row = fill->row_start + (run->k * fill->width[1] + run->j) * fill->width[0] + run->i + first + m;
    dinv[m] = HJDiagonalInverse(dinv[m]);
    for (PetscInt e = 0; e < run->nnz; e++) sum += PetscAbsScalar(val[(size_t)m * run->nnz + e]);
    bound = HJLargerBound(bound, sum * PetscAbsScalar(dinv[m]));
  }
  fill->gershgorin = bound;
}

static PetscErrorCode HJFillVisit(const HJRowRun *run, void *ctx)
{
  HJFill    *fill = (HJFill *)ctx;
  HJStencil *st   = fill->st;
  PetscInt   place[HJ_MAX_SLOTS];

  PetscFunctionBegin;
  if (!HJRunPlaces(run, fill->missing, place)) fill->fits = PETSC_FALSE;
  for (PetscInt first = 0; first < run->n; first += HJ_CHUNK) {
    const PetscInt   n  = PetscMin(HJ_CHUNK, run->n - first);
    const PetscCount to = HJBoxIndex(&st->box, run->i + first, run->j, run->k);

    for (PetscInt o = 1; o < st->nslots; o++) {
      if (st->value[o]) HJRunCopy(run, first, n, place[fill->box[o]], st->value[o] + to);
    }
    HJFillDiagonal(fill, run, first, n, place[0], st->dinv + to);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the matrix is a stencil matrix whose arrays are those of st and the centre's; outside the domain they are 0 */
static PetscBool HJFillIsDirect(const HJRows *rows, const HJStencil *st)
{
  return (PetscBool)(rows->c && rows->c->storage == HJ_COEFFICIENTS_ARRAYS && rows->c->nslots == st->nslots);
}

/* Inverse diagonal and bound of n <= HJ_CHUNK points from place p on, of slot after slot */
static void HJFillDiagonalDirect(HJFill *fill, const HJCoefficients *c, PetscCount p, PetscInt n, PetscScalar *dinv)
{
  const PetscScalar *diagonal      = c->value + p;
  PetscReal          sum[HJ_CHUNK] = {0}, bound = fill->gershgorin;
  PetscInt           zeros = 0, none = 0;

  for (PetscInt s = 0; s < c->nslots; s++) {
    const PetscScalar *a = c->value + HJSlotBegin(c, s) + p;

    for (PetscInt m = 0; m < n; m++) sum[m] += PetscAbsScalar(a[m]);
  }
  for (PetscInt m = 0; m < n; m++) {
    zeros += diagonal[m] == 0.0;
    dinv[m] = HJDiagonalInverse(diagonal[m]);
    sum[m] *= PetscAbsScalar(dinv[m]);
    none += !(sum[m] <= PETSC_MAX_REAL);
  }
  for (PetscInt m = 0; m < n; m++) bound = sum[m] > bound ? sum[m] : bound;
  fill->gershgorin = none ? (PetscReal)HUGE_VAL : bound;
  for (PetscInt m = 0; m < n && zeros && fill->zero_row < 0; m++) {
    if (diagonal[m] == 0.0) fill->zero_row = fill->row_start + (PetscInt)p + m;
  }
}

/* All rows, array by array */
static void HJFillDirect(const HJRows *rows, HJFill *fill)
{
  const HJCoefficients *c  = rows->c;
  const PetscInt       *n  = rows->width;
  HJStencil            *st = fill->st;
  PetscCount            p  = 0;

  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      for (PetscInt i = 0; i < n[0]; i += HJ_CHUNK) {
        const PetscInt   m  = PetscMin(HJ_CHUNK, n[0] - i);
        const PetscCount to = HJBoxIndex(&st->box, i, j, k);

        for (PetscInt o = 1; o < st->nslots; o++) {
          if (st->value[o]) memcpy(st->value[o] + to, c->value + HJSlotBegin(c, o) + p, m * sizeof(PetscScalar));
        }
        HJFillDiagonalDirect(fill, c, p, m, st->dinv + to);
        p += m;
      }
    }
  }
}

/* HJFillCompare() of all rows, array by array */
static void HJFillCompareDirect(const HJRows *rows, HJFill *fill)
{
  const HJCoefficients *c  = rows->c;
  const PetscInt       *n  = rows->width;
  HJStencil            *st = fill->st;
  PetscCount            p  = 0;

  for (PetscInt k = 0; k < n[2] && fill->fits; k++) {
    for (PetscInt j = 0; j < n[1]; j++, p += n[0]) {
      PetscInt differ;

      for (PetscInt o = 1; o < st->nslots; o++) {
        const PetscScalar *lower = c->value + HJSlotBegin(c, o) + p, *upper;
        PetscCount         shift;

        if (st->value[o]) continue;
        upper = HJStencilArray(st, o, &shift) + HJBoxIndex(&st->box, 0, j, k);
        upper += shift;
        differ = 0;
        for (PetscInt i = 0; i < n[0]; i++) differ |= !(lower[i] == upper[i]);
        if (differ && fill->slack > 0) {
          const PetscScalar *dinv = st->dinv + HJBoxIndex(&st->box, 0, j, k);

          differ = 0;
          for (PetscInt i = 0; i < n[0]; i++) differ |= !HJIsSame(lower[i], upper[i], dinv[i], fill->slack);
        }
        if (differ) fill->fits = PETSC_FALSE;
      }
    }
  }
}

/* HJ_SYMMETRIC: compares the lower entries with the upper ones of the points they lead to; ghost points are filled by now */
static PetscErrorCode HJFillCompare(const HJRowRun *run, void *ctx)
{
  HJFill          *fill = (HJFill *)ctx;
  HJStencil       *st   = fill->st;
  const PetscCount at   = HJBoxIndex(&st->box, run->i, run->j, run->k);

  PetscFunctionBegin;
  for (PetscInt o = 1; o < st->nslots && fill->fits; o++) {
    const PetscScalar *upper, *dinv = st->dinv + at, *val = NULL;
    PetscBool          same = PETSC_TRUE;
    PetscCount         shift;

    if (st->value[o]) continue;
    upper = HJStencilArray(st, o, &shift) + at;
    upper += shift;
    for (PetscInt t = 0; t < run->nnz; t++) {
      if (run->slot[t] == fill->box[o]) val = run->val + t;
    }
    for (PetscInt m = 0; m < run->n; m++)
      same = (PetscBool)(same & HJIsSame(upper[m], val ? val[(size_t)m * run->nnz] : 0.0, dinv[m], fill->slack));
    fill->fits = same;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJFillRead(HJRows *rows, HJFill *fill)
{
  HJRowFill read = {.measure = rows->measure};

  PetscFunctionBegin;
  PetscCall(rows->reader->fill(rows->readctx, fill->st, &read));
  fill->fits       = read.fits;
  fill->gershgorin = read.gershgorin;
  if (read.zero_row < PETSC_INT_MAX) fill->zero_row = read.zero_row;
  HJRowsFoundWide(rows, read.wide_row, read.wide_column);
  rows->measure = read.measure;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJValuesFitInPlace(const HJRows *rows, const HJStencil *st)
{
  const HJCoefficients *c = rows->shared;

  return (PetscBool)(c && c->storage == HJ_COEFFICIENTS_ARRAYS && c->nslots == st->nslots && !HJGridHasNeighbors(rows->grid));
}

/* The arrays that the matrix has now */
static void HJFillInPlace(const HJRows *rows, HJStencil *st)
{
  for (PetscInt o = 1; o < st->nslots; o++) st->value[o] = !HJStencilHas(st, o) ? NULL : rows->shared->value + HJSlotBegin(rows->shared, o);
}

static PetscErrorCode HJFillIsSymmetric(HJRows *rows, HJFill *fill)
{
  PetscBool same;

  PetscFunctionBegin;
  if (rows->reader) {
    PetscCall(rows->reader->compare(rows->readctx, fill->st, &same));
    fill->fits = (PetscBool)(fill->fits && same);
  } else if (HJFillIsDirect(rows, fill->st)) HJFillCompareDirect(rows, fill);
  else PetscCall(HJRowsForEach(rows, HJFillCompare, fill));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJValuesFill(HJRows *rows, HJStencil *st, PetscBool *fits, PetscInt *zero_row)
{
  HJFill fill;
  void  *arrays[HJ_MAX_SLOTS];

  PetscFunctionBegin;
  if (st->in_place) HJFillInPlace(rows, st);
  HJFillSetUp(rows, st, &fill);
  if (!rows->reader) rows->measure = NULL;
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF)); /* what leaves the range of numbers has no finite bound, which is said */
  if (rows->reader) PetscCall(HJFillRead(rows, &fill));
  else if (HJFillIsDirect(rows, st)) HJFillDirect(rows, &fill);
  else PetscCall(HJRowsForEach(rows, HJFillVisit, &fill));
  PetscCall(PetscFPTrapPop());
  for (PetscInt o = 0; o < st->nslots; o++) arrays[o] = o ? st->value[o] : st->dinv;
  PetscCall(HJPadFillGhosts(rows, st, MPIU_SCALAR, st->nslots, arrays));
  if (st->storage == HJ_SYMMETRIC && rows->wide_row < 0) PetscCall(HJFillIsSymmetric(rows, &fill));
  *fits = (PetscBool)(fill.fits && fill.zero_row < 0 && rows->wide_row < 0);
  PetscCall(HJOnAllRanks(rows->comm, fits));
  PetscCallMPI(MPI_Allreduce(&fill.gershgorin, &st->gershgorin, 1, MPIU_REAL, MPIU_MAX, rows->comm));
  *zero_row = fill.zero_row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Rounds the coefficients of a matrix, of its sweeps and of an interpolation, and calls the backend that works with them.
*/
#include "hjrounded.h"
#include "hjvectors.h"

/* scale times n numbers into the memory of a backend in single precision */
static PetscErrorCode HJRoundArray(const HJBackendOps *ops, PetscCount n, PetscReal scale, const PetscScalar *from, PetscScalar **to,
                                   HJRange *range)
{
  PetscFunctionBegin;
  PetscCall(ops->alloc(NULL, n, to));
  PetscCall(ops->single->round(n, scale, from, *to, range));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of rows, which are always on the host */
static PetscErrorCode HJRoundRows(PetscCount n, PetscReal scale, const PetscScalar *from, PetscScalar **to, HJRange *range)
{
  PetscFunctionBegin;
  PetscCall(HJRoundArray(HJBackendHost.in_single, n, scale, from, to, range));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Those of an array over a box that lie in a part of it */
static PetscErrorCode HJRoundPart(const HJBackendOps *ops, const HJBox *box, const HJBox *part, PetscReal scale, const PetscScalar *from,
                                  PetscScalar **to, HJRange *range)
{
  const PetscInt x = part->lo[0];

  PetscFunctionBegin;
  if (HJBoxSize(part) == HJBoxSize(box)) {
    PetscCall(HJRoundArray(ops, HJBoxSize(box), scale, from, to, range));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(ops->alloc(NULL, HJBoxSize(part), to));
  for (PetscInt k = part->lo[2]; k < part->hi[2]; k++) {
    for (PetscInt j = part->lo[1]; j < part->hi[1]; j++)
      PetscCall(ops->single->round(HJBoxWidth(part, 0), scale, from + HJBoxIndex(box, x, j, k),
                                   HJNumberAt(ops, *to, HJBoxIndex(part, x, j, k)), range));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJRoundCoefficients(const HJBackendOps *ops, const HJCoefficients *from, HJRounded *l)
{
  HJCoefficients  *a = &l->a;
  const PetscCount n = from->nrows * from->nslots;

  PetscFunctionBegin;
  *a      = *from;
  a->rows = a->device_rows = a->value = NULL;
  if (a->storage == HJ_COEFFICIENTS_ARRAYS)
    PetscCall(HJRoundArray(ops, HJCoefficientsSize(from), l->scale, from->value, &a->value, &l->range));
  else PetscCall(HJRoundRows(n, l->scale, from->rows, &a->rows, &l->range));
  if (from->device_rows) PetscCall(HJRoundArray(ops, n, l->scale, from->device_rows, &a->device_rows, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of sweeps are those of the matrix where that has them as sweeps read them, see HJStencilCreateInPlace() */
static PetscErrorCode HJRoundStencil(const HJBackendOps *ops, const HJGrid *grid, const HJStencil *from, HJRounded *l, HJStencil **out)
{
  const PetscCount size   = HJBoxSize(&from->box);
  const PetscBool  shared = (PetscBool)(l->a.storage == HJ_COEFFICIENTS_ARRAYS && l->a.nslots == from->nslots && !HJGridHasNeighbors(grid));
  HJStencil       *st;

  PetscFunctionBegin;
  PetscCall(PetscNew(&st));
  *out     = st;
  *st      = *from;
  st->rows = st->dinv_rows = st->dinv = NULL;
  for (PetscInt o = 0; o < HJ_MAX_SLOTS; o++) st->value[o] = NULL;
  if (st->storage == HJ_DICTIONARY) {
    PetscCall(HJRoundRows(st->nrows * st->nslots, 1.0, from->rows, &st->rows, &l->range));
    PetscCall(HJRoundRows(st->nrows, 1.0 / l->scale, from->dinv_rows, &st->dinv_rows, &l->inverse));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  st->in_place = shared;
  if (shared) st->box = grid->owned;
  for (PetscInt o = 1; o < st->nslots; o++) {
    if (!HJStencilHas(st, o)) continue;
    if (shared) st->value[o] = HJNumberAt(ops, l->a.value, HJSlotBegin(&l->a, o));
    else PetscCall(HJRoundArray(ops, size, l->scale, from->value[o], &st->value[o], &l->range));
  }
  PetscCall(HJRoundPart(ops, &from->box, &st->box, 1.0 / l->scale, from->dinv, &st->dinv, &l->inverse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What interpolates in double says how it does */
static PetscErrorCode HJRoundTransfers(const HJBackendOps *ops, HJExchange exchange, DM fine, Mat P, DM coarse, HJRounded *l)
{
  HJGetTransfers get;
  HJTransfers   *from;
  PetscBool      apart = PETSC_FALSE;

  PetscFunctionBegin;
  if (!P) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_GET_TRANSFERS, &get));
  PetscCall((*get)(P, (PetscBool)PetscMemTypeDevice(ops->mtype), &from));
  PetscCall(HJTransfersCreate(coarse, fine, &from->transfer, ops, exchange, &l->P));
  if (from->coefficient) PetscCall(HJTransfersSetCoefficients(l->P, from->coefficient));
  if (ops->multigrid->restricts_apart) PetscCall(ops->multigrid->restricts_apart(&l->a, &apart));
  l->one_pass = (PetscBool)(!apart && !from->coefficient && HJTransferIsOneRank(&l->P->transfer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRoundedCreate(const HJOperator *from, Mat A, Mat P, DM coarse, PetscReal scale, HJRounded *l)
{
  const HJBackendOps   *ops      = from->ops->in_single;
  const HJExchange      exchange = {&HJHaloPetscSFSingle, from->exchange_timeout};
  const HJCoefficients *a;
  HJStencil            *st = NULL;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(l, sizeof(*l)));
  l->scale       = scale;
  l->range.least = l->inverse.least = PETSC_MAX_REAL;
  PetscCall(HJCoefficientsIn(A, ops->mtype, &a));
  PetscCall(HJRoundCoefficients(ops, a, l));
  PetscCall(HJRoundStencil(ops, &from->grid, from->stencil, l, &st));
  PetscCall(HJOperatorCreateFromStencil(from->da, &from->grid, st, PETSC_DECIDE, from->tile, ops, exchange.ops, &l->op));
  l->op->exchange_timeout = from->exchange_timeout;
  PetscCall(HJProductsCreate(from->da, &from->grid, ops, exchange, &l->products));
  PetscCall(HJRoundTransfers(ops, exchange, from->da, P, coarse, l));
  for (int i = 0; i < 3; i++) PetscCall(ops->alloc(NULL, HJOperatorSize(l->op), (PetscScalar * *[]){&l->x, &l->b, &l->r}[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRoundedDestroy(HJRounded *l)
{
  const HJBackendOps *ops;

  PetscFunctionBegin;
  if (!l->op) PetscFunctionReturn(PETSC_SUCCESS);
  ops = l->op->ops;
  for (int i = 0; i < 3; i++) PetscCall(ops->free(NULL, (PetscScalar * *[]){&l->x, &l->b, &l->r}[i]));
  PetscCall(HJTransfersDestroy(&l->P));
  PetscCall(HJProductsDestroy(&l->products));
  l->op->stencil->index = NULL; /* that of the operator in double */
  PetscCall(HJOperatorDestroy(&l->op));
  PetscCall(ops->free(NULL, &l->a.value));
  PetscCall(ops->free(NULL, &l->a.device_rows));
  PetscCall(HJBackendHost.free(NULL, &l->a.rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = b - A x */
static PetscErrorCode HJRoundedResidual(HJRounded *l, const PetscScalar *b, const PetscScalar *x, PetscScalar *y)
{
  HJProduct p = {.a = &l->a, .shell = &l->products->ghosts.shell, .region = HJ_PRODUCT_ALL, .alpha = -1.0, .x = x, .b = b, .y = y};

  PetscFunctionBegin;
  PetscCall(HJProductsForward(l->products, &p));
  PetscCall(HJLogFlops(l->op->ops, 2.0 * l->a.nslots * l->a.npoints));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRoundedRestrict(HJRounded *l, const PetscScalar *b, const PetscScalar *x, PetscScalar *work, PetscScalar *coarse)
{
  const HJMultigridOps *ops = l->op->ops->multigrid;
  const HJRestriction   r   = {.transfer = &l->P->transfer, .a = &l->a, .x = x, .b = b, .y = coarse};

  PetscFunctionBegin;
  if (x && l->one_pass) {
    PetscCall(ops->restrict_residual(&r));
    PetscCall(HJLogFlops(l->op->ops, (2.0 * l->a.nslots + 3.0) * l->a.npoints));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (x) PetscCall(HJRoundedResidual(l, b, x, work));
  PetscCall(HJTransfersRun(l->P, PETSC_TRUE, NULL, x ? work : b, NULL, coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscReal HJRoundedBytes(const HJRounded *l)
{
  const HJStencil *st     = l->op->stencil;
  PetscReal        points = 3.0 * (PetscReal)HJOperatorSize(l->op);

  if (l->a.value) points += (PetscReal)HJCoefficientsSize(&l->a);
  for (PetscInt o = 1; o < st->nslots && !st->in_place; o++) points += st->value[o] ? (PetscReal)HJBoxSize(&st->box) : 0.0;
  if (st->dinv) points += (PetscReal)HJBoxSize(&st->box);
  return points * sizeof(float) + (l->P ? (PetscReal)HJTransfersBytes(l->P) : 0.0);
}

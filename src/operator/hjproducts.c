/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Products of coefficients with vectors: fills the ghosts, then calls the backend; the transposed one the other way round. Decides whether
   the interior is done while the halo travels, and stages vectors that lie elsewhere than the backend's memory.
*/
#include "hjproducts.h"
#include "hjvectors.h"
#include "hjoperator.h"

/* From so many points on the interior takes longer than a second launch costs */
#define HJ_PRODUCT_SPLIT_POINTS 500000

PetscErrorCode HJProductsCreate(DM da, const HJGrid *grid, const HJBackendOps *ops, HJExchange exchange, HJProducts **out)
{
  HJProducts *op;

  PetscFunctionBegin;
  PetscCall(PetscNew(&op));
  op->grid = *grid;
  op->ops  = ops;
  HJShellSet(grid, &op->ghosts.shell);
  PetscCall(HJGhostsCreate(da, grid, 1, ops, exchange, &op->ghosts));
  op->split = (PetscBool)(op->ghosts.halo && PetscMemTypeDevice(ops->mtype) && !exchange.ops->one_launch &&
                          HJBoxSize(&grid->owned) >= HJ_PRODUCT_SPLIT_POINTS);
  *out      = op; /* not before: what is half made must not be found again */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJProductsFreeInts(HJProducts *op, PetscInt **array)
{
  PetscScalar *memory = (PetscScalar *)*array;

  PetscFunctionBegin;
  PetscCall(op->ops->free(NULL, &memory));
  *array = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJProductsDestroy(HJProducts **opp)
{
  HJProducts *op = *opp;

  PetscFunctionBegin;
  if (!op) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJGhostsDestroy(&op->ghosts));
  PetscCall(HJHaloDestroy(&op->sums));
  PetscCall(op->ops->free(NULL, &op->sums_of_ranks));
  PetscCall(op->ops->free(NULL, &op->given));
  PetscCall(op->ops->free(NULL, &op->returns.value));
  PetscCall(HJProductsFreeInts(op, &op->returns.point));
  PetscCall(HJProductsFreeInts(op, &op->returns.first));
  for (int i = 0; i < 3; i++) PetscCall(op->ops->free(NULL, &op->stage[i]));
  PetscCall(PetscFree(*opp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers into the backend's memory, which is given out in scalars */
static PetscErrorCode HJProductsSetInts(HJProducts *op, PetscInt n, const PetscInt from[], PetscInt **to)
{
  const PetscCount len = (PetscCount)(n * sizeof(PetscInt) / sizeof(PetscScalar) + 1);
  PetscScalar     *padded, *memory;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(len, &padded));
  PetscCall(PetscMemcpy(padded, from, n * sizeof(PetscInt)));
  PetscCall(op->ops->alloc(NULL, len, &memory));
  PetscCall(op->ops->copy(NULL, memory, padded, len));
  PetscCall(PetscFree(padded));
  *to = (PetscInt *)memory;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. Which points get how much: each ghost that is a copy of a point has a place of its own, so that sums have one order */
static PetscErrorCode HJProductsSetReturns(HJProducts *op)
{
  const PetscInt n = (PetscInt)HJBoxSize(&op->grid.owned), *degree;
  PetscInt      *point, *first, m = 0;

  PetscFunctionBegin;
  PetscCall(PetscSFComputeDegreeBegin(op->ghosts.halo->pattern, &degree));
  PetscCall(PetscSFComputeDegreeEnd(op->ghosts.halo->pattern, &degree));
  for (PetscInt i = 0; i < n; i++) m += degree[i] > 0;
  PetscCall(PetscMalloc2(m, &point, m + 1, &first));
  op->returns.n = m;
  first[m = 0]  = 0;
  for (PetscInt i = 0; i < n; i++) {
    if (!degree[i]) continue;
    point[m]     = i;
    first[m + 1] = first[m] + degree[i];
    m++;
  }
  PetscCall(HJProductsSetInts(op, m, point, &op->returns.point));
  PetscCall(HJProductsSetInts(op, m + 1, first, &op->returns.first));
  PetscCall(op->ops->alloc(NULL, op->grid.dof * (PetscCount)first[m], &op->returns.value));
  PetscCall(PetscFree2(point, first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJProductsTransposed(HJProducts *op, HJProduct *p)
{
  PetscSF      multi;
  MPI_Datatype unit;

  PetscFunctionBegin;
  if (!op->given) {
    PetscCall(op->ops->alloc(NULL, op->grid.dof * op->ghosts.shell.size, &op->given));
    if (op->ghosts.halo) PetscCall(HJProductsSetReturns(op));
  }
  p->ghost = op->given;
  PetscCall(op->ops->product_transpose(p));
  if (!op->ghosts.halo) PetscFunctionReturn(PETSC_SUCCESS);
  unit = op->ghosts.halo->unit;
  PetscCall(PetscSFGetMultiSF(op->ghosts.halo->pattern, &multi));
  PetscCall(PetscLogEventBegin(PCHJacobi_Halo, 0, 0, 0, 0));
  PetscCall(PetscSFReduceWithMemTypeBegin(multi, unit, op->ops->mtype, op->given, op->ops->mtype, op->returns.value, MPI_REPLACE));
  PetscCall(PetscSFReduceEnd(multi, unit, op->given, op->returns.value, MPI_REPLACE));
  PetscCall(PetscLogEventEnd(PCHJacobi_Halo, 0, 0, 0, 0));
  p->region  = HJ_PRODUCT_RETURNS;
  p->returns = &op->returns;
  PetscCall(op->ops->product_transpose(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJProductsForward(HJProducts *op, HJProduct *p)
{
  PetscFunctionBegin;
  PetscCall(HJGhostsBegin(&op->ghosts, p->x));
  if (op->split) {
    p->region = HJ_PRODUCT_INTERIOR;
    PetscCall(op->ops->product(p));
    p->region = HJ_PRODUCT_BOUNDARY;
  }
  PetscCall(HJGhostsEnd(&op->ghosts, p->x));
  p->ghost     = op->ghosts.frame[0];
  p->exchanged = HJGhostsExchanged(&op->ghosts);
  PetscCall(op->ops->product(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficients whose product is that of A^T: where one row serves all points, the row turned round; false where there are none. What is
   known of symmetry ends where ghosts begin */
static PetscBool HJProductsTurn(const HJProducts *op, const HJCoefficients *a, PetscScalar row[HJ_MAX_SLOTS], HJCoefficients *turned)
{
  *turned = *a;
  if (a->symmetric && !op->ghosts.halo) return PETSC_TRUE;
  if (a->storage != HJ_COEFFICIENTS_ROW || a->entry) return PETSC_FALSE;
  for (PetscInt s = 0; s < a->nslots; s++) row[s] = a->rows[HJSlotOpposite(a, s)];
  turned->rows = row;
  return PETSC_TRUE;
}

PetscErrorCode HJProductsApply(HJProducts *op, const HJCoefficients *a, PetscBool transpose, PetscScalar alpha, Vec x, Vec b, Vec y)
{
  HJProduct       p      = {.a = a, .shell = &op->ghosts.shell, .region = HJ_PRODUCT_ALL, .alpha = alpha};
  const PetscBool update = (PetscBool)(b == y);
  HJVecArray      xa, ba, ya;
  HJCoefficients  turned;
  PetscScalar     row[HJ_MAX_SLOTS];

  PetscFunctionBegin;
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, x, &op->stage[0], &xa));
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, update ? NULL : b, &op->stage[1], &ba));
  PetscCall(HJVecOpen(op->ops, NULL, update ? HJ_READ_WRITE : HJ_WRITE, y, &op->stage[2], &ya));
  p.x       = xa.used;
  p.y       = ya.used;
  p.b       = update ? ya.used : ba.used;
  transpose = (PetscBool)(transpose && !a->half); /* it is its own */
  if (transpose && HJProductsTurn(op, a, row, &turned)) {
    p.a       = &turned;
    transpose = PETSC_FALSE;
  }
  if (transpose) PetscCall(HJProductsTransposed(op, &p));
  else PetscCall(HJProductsForward(op, &p));
  PetscCall(HJLogFlops(op->ops, 2.0 * a->nslots * a->npoints));
  PetscCall(HJVecClose(&ya));
  PetscCall(HJVecClose(&ba));
  PetscCall(HJVecClose(&xa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

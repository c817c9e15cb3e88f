/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Residual and restriction of matrices: asks them for coefficients and grids, and the backend for one pass over them; where one of these is
   not to be had, MatResidual() and MatMultTranspose().
*/
#include "hjrestrictions.h"

/* Collective. The planes of grids that are cut into planes on all ranks */
static PetscErrorCode HJRestrictSetUpCut(HJRestrict *op, HJExchange exchange)
{
  PetscBool cut = HJTransferIsCut(op->transfer);
  DM        da;

  PetscFunctionBegin;
  PetscCall(HJOnAllRanks(PetscObjectComm((PetscObject)op->A), &cut));
  if (!cut) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetDM(op->A, &da));
  PetscCall(HJPlanesCreate(da, &op->transfer->fine, HJ_CUT_PLANES, PETSC_TRUE, op->ops, exchange, &op->planes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRestrictCreate(Mat A, Mat P, const HJBackendOps *ops, HJExchange exchange, HJRestrict **out)
{
  PetscErrorCode (*transfer)(Mat, const HJTransfer **), (*has_coefficients)(Mat, PetscBool *);
  HJRestrict *op;
  PetscBool   alone;

  PetscFunctionBegin;
  PetscCall(PetscNew(&op));
  *out    = op;
  op->A   = A;
  op->P   = P;
  op->ops = ops;
  PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_GET_TRANSFER, &transfer));
  PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_HAS_COEFFICIENTS, &has_coefficients));
  if (has_coefficients) PetscCall((*has_coefficients)(P, &op->variable));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, HJ_GET_COEFFICIENTS, &op->coefficients));
  if (!transfer || !op->coefficients || !ops->multigrid || !ops->multigrid->restrict_residual) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*transfer)(P, &op->transfer));
  alone = HJTransferIsOneRank(op->transfer);
  if (!op->variable && !alone) PetscCall(HJRestrictSetUpCut(op, exchange));
  if (op->variable || !(alone || op->planes)) op->transfer = NULL;
  if (!op->transfer) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ops->multigrid->alloc_zeros(HJ_RESTRICTION_NORM, &op->norm2));
  PetscCall(HJRestrictRefresh(op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRestrictRefresh(HJRestrict *op)
{
  const HJMultigridOps *ops = op->ops->multigrid;
  const HJCoefficients *a;

  PetscFunctionBegin;
  op->faster_apart = PETSC_FALSE;
  if (!op->transfer || !ops->restricts_apart) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*op->coefficients)(op->A, op->ops->mtype, &a));
  PetscCall(ops->restricts_apart(a, &op->faster_apart));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRestrictIsOf(const HJRestrict *op, Mat A, Mat P, const HJBackendOps *ops, PetscBool *is)
{
  PetscErrorCode (*has_coefficients)(Mat, PetscBool *);
  PetscBool variable = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_HAS_COEFFICIENTS, &has_coefficients));
  if (has_coefficients) PetscCall((*has_coefficients)(P, &variable));
  *is = (PetscBool)(op->A == A && op->P == P && op->ops == ops && op->variable == variable);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRestrictDestroy(HJRestrict **op)
{
  PetscFunctionBegin;
  if (!*op) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJPlanesDestroy(&(*op)->planes));
  PetscCall((*op)->ops->free(NULL, &(*op)->norm2));
  for (int s = 0; s < 3; s++) PetscCall((*op)->ops->free(NULL, &(*op)->stage[s]));
  PetscCall(VecDestroy(&(*op)->residual));
  PetscCall(PetscFree(*op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRestrictGetRow(const HJRestrict *op, const PetscScalar **row)
{
  const HJCoefficients *a;

  PetscFunctionBegin;
  *row = NULL;
  if (!op->transfer) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*op->coefficients)(op->A, op->ops->mtype, &a));
  if (a->storage == HJ_COEFFICIENTS_ROW) *row = a->rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJRestrictApart(HJRestrict *op, Vec b, Vec x, Vec y, Vec work)
{
  PetscFunctionBegin;
  if (!work && !op->residual) PetscCall(VecDuplicate(b, &op->residual));
  if (!work) work = op->residual;
  PetscCall(MatResidual(op->A, b, x, work));
  PetscCall(MatMultTranspose(op->P, work, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRestrictPlaces(const HJRestrict *op, const HJOperator *sweeps, PetscBool *sweep, PetscBool *all)
{
  const HJMultigridOps *ops = op->ops->multigrid;
  HJRestriction         r   = {.transfer = op->transfer};

  PetscFunctionBegin;
  *sweep = *all = PETSC_FALSE;
  if (!op->transfer || !ops->places) PetscFunctionReturn(PETSC_SUCCESS);
  if (HJGridHasNeighbors(&sweeps->grid) || sweeps->slabs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*op->coefficients)(op->A, op->ops->mtype, &r.a));
  *sweep = ops->places(sweeps->backend, NULL);
  *all   = ops->places(sweeps->backend, &r);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays in the backend's memory */
static PetscErrorCode HJRestrictRun(HJRestrict *op, const HJCoefficients *a, const HJBox *lies, const PetscScalar *b, const PetscScalar *x,
                                    PetscScalar *y, PetscBool norm)
{
  HJRestriction   r      = {.transfer = op->transfer, .a = a, .x = x, .b = b, .y = y, .norm2 = norm ? op->norm2 : NULL, .lies = lies};
  const PetscBool device = (PetscBool)PetscMemTypeDevice(op->ops->mtype);

  PetscFunctionBegin;
  if (op->planes) {
    r.cut.cut = PETSC_TRUE;
    PetscCall(HJPlanesGet(op->planes, x, b, r.cut.x, r.cut.b));
  }
  if (device) PetscCall(PetscLogGpuTimeBegin());
  PetscCall(op->ops->multigrid->restrict_residual(&r));
  if (device) PetscCall(PetscLogGpuTimeEnd());
  PetscCall(HJLogFlops(op->ops, (2.0 * a->nslots + 3.0 + (norm ? 2.0 : 0.0)) * a->npoints));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRestrictApply(HJRestrict *op, const HJBox *lies, Vec b, Vec x, Vec y, Vec work, PetscBool norm)
{
  const HJCoefficients *a = NULL;
  HJVecArray            ba, xa, ya;

  PetscFunctionBegin;
  if (op->transfer) PetscCall((*op->coefficients)(op->A, op->ops->mtype, &a));
  op->apart = (PetscBool)(!a || (!norm && op->faster_apart) ||
                          (op->planes && !HJ_RESTRICTS_CUT(a->dim, a->shape == HJ_BOX, a->storage == HJ_COEFFICIENTS_ROW)));
  if (op->apart) {
    PetscCall(HJRestrictApart(op, b, x, y, work));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, b, &op->stage[0], &ba));
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, x, &op->stage[1], &xa));
  PetscCall(HJVecOpen(op->ops, NULL, HJ_WRITE, y, &op->stage[2], &ya));
  PetscCall(HJRestrictRun(op, a, lies, ba.used, xa.used, ya.used, norm));
  PetscCall(HJVecClose(&ya));
  PetscCall(HJVecClose(&xa));
  PetscCall(HJVecClose(&ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

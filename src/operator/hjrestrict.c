/*
   Residual and restriction of matrices: asks them for coefficients and grids, and the backend for one pass over them; where one of these is
   not to be had, MatResidual() and MatMultTranspose().
*/
#include "hjrestrict.h"

PetscErrorCode HJRestrictCreate(Mat A, Mat P, const HJBackendOps *ops, HJRestrict **out)
{
  PetscErrorCode (*transfer)(Mat, const HJTransfer **);
  HJRestrict  *op;
  PetscScalar *zero;

  PetscFunctionBegin;
  PetscCall(PetscNew(&op));
  *out    = op;
  op->A   = A;
  op->P   = P;
  op->ops = ops;
  PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_GET_TRANSFER, &transfer));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, HJ_GET_COEFFICIENTS, &op->coefficients));
  if (!transfer || !op->coefficients || !ops->multigrid || !ops->multigrid->restrict_residual) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*transfer)(P, &op->transfer));
  if (!HJTransferIsOneRank(op->transfer)) op->transfer = NULL;
  if (!op->transfer) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ops->alloc(NULL, HJ_RESTRICTION_NORM, &op->norm2));
  PetscCall(PetscCalloc1(HJ_RESTRICTION_NORM, &zero));
  PetscCall(ops->copy(NULL, op->norm2, zero, HJ_RESTRICTION_NORM));
  PetscCall(PetscFree(zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRestrictDestroy(HJRestrict **op)
{
  PetscFunctionBegin;
  if (!*op) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*op)->ops->free(NULL, &(*op)->norm2));
  PetscCall(VecDestroy(&(*op)->residual));
  PetscCall(PetscFree(*op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJRestrictApart(HJRestrict *op, Vec b, Vec x, Vec y, PetscBool norm)
{
  PetscFunctionBegin;
  if (!op->residual) PetscCall(VecDuplicate(b, &op->residual));
  PetscCall(MatResidual(op->A, b, x, op->residual));
  PetscCall(MatMultTranspose(op->P, op->residual, y));
  if (!norm) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecNorm(op->residual, NORM_2, &op->norm));
  op->there = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays in the backend's memory */
static PetscErrorCode HJRestrictRun(HJRestrict *op, const PetscScalar *b, const PetscScalar *x, PetscScalar *y, PetscBool norm)
{
  HJRestriction  r = {.transfer = op->transfer, .x = x, .b = b, .y = y, .norm2 = norm ? op->norm2 : NULL};
  PetscLogDouble flops;

  PetscFunctionBegin;
  PetscCall((*op->coefficients)(op->A, op->ops->mtype, &r.a));
  flops = (2.0 * r.a->nslots + 3.0 + (norm ? 2.0 : 0.0)) * r.a->npoints;
  if (PetscMemTypeHost(op->ops->mtype)) {
    PetscCall(op->ops->multigrid->restrict_residual(&r));
    PetscCall(PetscLogFlops(flops));
  } else {
    PetscCall(PetscLogGpuTimeBegin());
    PetscCall(op->ops->multigrid->restrict_residual(&r));
    PetscCall(PetscLogGpuTimeEnd());
    PetscCall(PetscLogGpuFlops(flops));
  }
  if (norm) op->there = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJRestrictRun_Host(HJRestrict *op, Vec b, Vec x, Vec y, PetscBool norm)
{
  const PetscScalar *ba, *xa;
  PetscScalar       *ya;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(b, &ba));
  PetscCall(VecGetArrayRead(x, &xa));
  PetscCall(VecGetArrayWrite(y, &ya));
  PetscCall(HJRestrictRun(op, ba, xa, ya, norm));
  PetscCall(VecRestoreArrayWrite(y, &ya));
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(VecRestoreArrayRead(b, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *done is false where a vector does not lie on the device */
static PetscErrorCode HJRestrictRun_Device(HJRestrict *op, Vec b, Vec x, Vec y, PetscBool norm, PetscBool *done)
{
  const PetscScalar *ba, *xa;
  PetscScalar       *ya;
  PetscMemType       mtype[3];

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(b, &ba, &mtype[0]));
  PetscCall(VecGetArrayReadAndMemType(x, &xa, &mtype[1]));
  PetscCall(VecGetArrayWriteAndMemType(y, &ya, &mtype[2]));
  *done = (PetscBool)(PetscMemTypeDevice(mtype[0]) && PetscMemTypeDevice(mtype[1]) && PetscMemTypeDevice(mtype[2]));
  if (*done) PetscCall(HJRestrictRun(op, ba, xa, ya, norm));
  PetscCall(VecRestoreArrayWriteAndMemType(y, &ya));
  PetscCall(VecRestoreArrayReadAndMemType(x, &xa));
  PetscCall(VecRestoreArrayReadAndMemType(b, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRestrictApply(HJRestrict *op, Vec b, Vec x, Vec y, PetscBool norm)
{
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  if (op->transfer && PetscMemTypeHost(op->ops->mtype)) {
    PetscCall(HJRestrictRun_Host(op, b, x, y, norm));
    done = PETSC_TRUE;
  } else if (op->transfer) PetscCall(HJRestrictRun_Device(op, b, x, y, norm, &done));
  if (!done) PetscCall(HJRestrictApart(op, b, x, y, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRestrictGetNorm(HJRestrict *op, PetscReal *norm)
{
  PetscScalar norm2;

  PetscFunctionBegin;
  if (op->there) {
    PetscCall(op->ops->copy(NULL, &norm2, op->norm2, 1));
    op->norm  = PetscSqrtReal(PetscRealPart(norm2));
    op->there = PETSC_FALSE;
  }
  *norm = op->norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

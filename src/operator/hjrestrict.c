/*
   Residual and restriction of matrices: asks them for coefficients and grids, and the backend for one pass over them; where one of these is
   not to be had, MatResidual() and MatMultTranspose().
*/
#include "hjrestrict.h"
#include "hjoperator.h"

/* Collective. The halo of grids that are cut into planes on all ranks */
static PetscErrorCode HJRestrictSetUpCut(HJRestrict *op, HJExchange exchange)
{
  const HJGrid *fine = &op->transfer->fine;
  const int     slow = (int)fine->dim - 1;
  HJBox         box[2];
  PetscCount    at[2];
  PetscMPIInt   cut = HJTransferIsCut(op->transfer) ? 1 : 0;
  DM            da;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &cut, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)op->A)));
  op->cut = (PetscBool)(cut == 1);
  if (!op->cut) PetscFunctionReturn(PETSC_SUCCESS);
  for (int side = 0; side < 2; side++) {
    box[side]          = fine->owned;
    box[side].lo[slow] = side ? fine->owned.hi[slow] : -HJ_CUT_PLANES;
    box[side].hi[slow] = box[side].lo[slow] + HJ_CUT_PLANES;
    at[side]           = side * HJBoxSize(&box[0]);
  }
  PetscCall(MatGetDM(op->A, &da));
  PetscCall(HJHaloCreate(da, fine, HJ_CUT_PLANES, 2, box, at, exchange.ops, &op->halo));
  op->halo->timeout = exchange.timeout;
  for (int i = 0; i < 2; i++) PetscCall(op->ops->alloc(NULL, op->halo->size, &op->plane[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRestrictCreate(Mat A, Mat P, const HJBackendOps *ops, HJExchange exchange, HJRestrict **out)
{
  PetscErrorCode (*transfer)(Mat, const HJTransfer **), (*has_weights)(Mat, PetscBool *);
  HJRestrict *op;

  PetscFunctionBegin;
  PetscCall(PetscNew(&op));
  *out    = op;
  op->A   = A;
  op->P   = P;
  op->ops = ops;
  PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_GET_TRANSFER, &transfer));
  PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_HAS_WEIGHTS, &has_weights));
  if (has_weights) PetscCall((*has_weights)(P, &op->weighted));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, HJ_GET_COEFFICIENTS, &op->coefficients));
  if (!transfer || !op->coefficients || !ops->multigrid || !ops->multigrid->restrict_residual) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*transfer)(P, &op->transfer));
  if (!op->weighted && !HJTransferIsOneRank(op->transfer)) PetscCall(HJRestrictSetUpCut(op, exchange));
  if (op->weighted || (!op->cut && !HJTransferIsOneRank(op->transfer))) op->transfer = NULL;
  if (!op->transfer) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ops->multigrid->alloc_zeros(HJ_RESTRICTION_NORM, &op->norm2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRestrictIsOf(const HJRestrict *op, Mat A, Mat P, const HJBackendOps *ops, PetscBool *is)
{
  PetscErrorCode (*has_weights)(Mat, PetscBool *);
  PetscBool weighted = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_HAS_WEIGHTS, &has_weights));
  if (has_weights) PetscCall((*has_weights)(P, &weighted));
  *is = (PetscBool)(op->A == A && op->P == P && op->ops == ops && op->weighted == weighted);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRestrictDestroy(HJRestrict **op)
{
  PetscFunctionBegin;
  if (!*op) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJHaloDestroy(&(*op)->halo));
  for (int i = 0; i < 2; i++) PetscCall((*op)->ops->free(NULL, &(*op)->plane[i]));
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

static PetscErrorCode HJRestrictApart(HJRestrict *op, Vec b, Vec x, Vec y)
{
  PetscFunctionBegin;
  if (!op->residual) PetscCall(VecDuplicate(b, &op->residual));
  PetscCall(MatResidual(op->A, b, x, op->residual));
  PetscCall(MatMultTranspose(op->P, op->residual, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The planes of the neighbours, of those that there are */
static PetscErrorCode HJRestrictGetPlanes(HJRestrict *op, HJRestriction *r)
{
  const HJGrid      *fine    = &op->transfer->fine;
  const int          slow    = (int)fine->dim - 1;
  const PetscScalar *from[]  = {r->x, r->b};
  PetscScalar       *frame[] = {op->plane[0], op->plane[1]};

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PCHJacobi_Halo, 0, 0, 0, 0));
  PetscCall(HJHaloBegin(op->halo, op->ops->mtype, from, frame));
  PetscCall(HJHaloEnd(op->halo, op->ops->mtype, from, frame));
  PetscCall(PetscLogEventEnd(PCHJacobi_Halo, 0, 0, 0, 0));
  r->cut.cut   = PETSC_TRUE;
  r->cut.first = -HJTransferShift(op->transfer, slow);
  for (int side = 0; side < 2; side++) {
    if (!fine->neighbor[slow][side]) continue;
    r->cut.x[side] = frame[0] + side * (op->halo->size / 2);
    r->cut.b[side] = frame[1] + side * (op->halo->size / 2);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays in the backend's memory */
static PetscErrorCode HJRestrictRun(HJRestrict *op, const HJCoefficients *a, const PetscScalar *b, const PetscScalar *x, PetscScalar *y,
                                    PetscBool norm)
{
  HJRestriction        r     = {.transfer = op->transfer, .a = a, .x = x, .b = b, .y = y, .norm2 = norm ? op->norm2 : NULL};
  const PetscLogDouble flops = (2.0 * a->nslots + 3.0 + (norm ? 2.0 : 0.0)) * a->npoints;

  PetscFunctionBegin;
  if (op->cut) PetscCall(HJRestrictGetPlanes(op, &r));
  if (PetscMemTypeHost(op->ops->mtype)) {
    PetscCall(op->ops->multigrid->restrict_residual(&r));
    PetscCall(PetscLogFlops(flops));
  } else {
    PetscCall(PetscLogGpuTimeBegin());
    PetscCall(op->ops->multigrid->restrict_residual(&r));
    PetscCall(PetscLogGpuTimeEnd());
    PetscCall(PetscLogGpuFlops(flops));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRestrictApply(HJRestrict *op, Vec b, Vec x, Vec y, PetscBool norm)
{
  const HJCoefficients *a = NULL;
  HJVecArray            ba, xa, ya;

  PetscFunctionBegin;
  if (op->transfer) PetscCall((*op->coefficients)(op->A, op->ops->mtype, &a));
  /* where the grids are cut a rank knows others' rows if all are one */
  op->apart = (PetscBool)(!a || (op->cut && (a->storage != HJ_COEFFICIENTS_ROW || (a->shape == HJ_BOX && a->dim == 3))));
  if (op->apart) {
    PetscCall(HJRestrictApart(op, b, x, y));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, b, &op->stage[0], &ba));
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, x, &op->stage[1], &xa));
  PetscCall(HJVecOpen(op->ops, NULL, HJ_WRITE, y, &op->stage[2], &ya));
  PetscCall(HJRestrictRun(op, a, ba.used, xa.used, ya.used, norm));
  PetscCall(HJVecClose(&ya));
  PetscCall(HJVecClose(&xa));
  PetscCall(HJVecClose(&ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

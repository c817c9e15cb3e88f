/*
   Products of coefficients with vectors: fills the ghosts, then calls the backend; the transposed one the other way round.
*/
#include "hjproduct.h"
#include "hjoperator.h"

PetscErrorCode HJProductsCreate(DM da, const HJGrid *grid, const HJBackendOps *ops, const HJHaloOps *halo_ops, HJProducts **out)
{
  HJProducts *op;
  HJBox       boxes[6];
  PetscCount  offsets[6];

  PetscFunctionBegin;
  PetscCall(PetscNew(&op));
  *out     = op;
  op->grid = *grid;
  op->ops  = ops;
  HJShellSet(grid, &op->shell);
  PetscCall(PetscCalloc1(op->shell.size, &op->ghost));
  if (!HJGridHasNeighbors(grid)) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < grid->dim; d++) {
    for (int side = 0; side < 2; side++) {
      boxes[2 * d + side]   = op->shell.box[d][side];
      offsets[2 * d + side] = op->shell.at[d][side];
    }
  }
  PetscCall(HJHaloCreate(da, grid, 1, 2 * grid->dim, boxes, offsets, halo_ops, &op->halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJProductsDestroy(HJProducts **op)
{
  PetscFunctionBegin;
  if (!*op) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJHaloDestroy(&(*op)->halo));
  PetscCall(PetscFree((*op)->ghost));
  PetscCall(PetscFree(*op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJProductsFillGhosts(HJProducts *op, const PetscScalar *x)
{
  const PetscScalar *from[]  = {x, NULL};
  PetscScalar       *frame[] = {op->ghost, NULL};

  PetscFunctionBegin;
  if (!op->halo) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(PCHJacobi_Halo, 0, 0, 0, 0));
  PetscCall(HJHaloBegin(op->halo, op->ops->mtype, from, frame));
  PetscCall(HJHaloEnd(op->halo, op->ops->mtype, from, frame));
  PetscCall(PetscLogEventEnd(PCHJacobi_Halo, 0, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJProductsGetGhosts(HJProducts *op, const PetscScalar x[], const PetscScalar *ghost[])
{
  PetscFunctionBegin;
  PetscCall(HJProductsFillGhosts(op, x));
  *ghost = op->ghost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ghost points that were given something hand it to the points that they are copies of */
static PetscErrorCode HJProductsReturnGhosts(HJProducts *op, PetscScalar *y)
{
  PetscFunctionBegin;
  if (op->halo) {
    PetscCall(PetscLogEventBegin(PCHJacobi_Halo, 0, 0, 0, 0));
    PetscCall(PetscSFReduceWithMemTypeBegin(op->halo->pattern, MPIU_SCALAR, op->ops->mtype, op->ghost, op->ops->mtype, y, MPIU_SUM));
    PetscCall(PetscSFReduceEnd(op->halo->pattern, MPIU_SCALAR, op->ghost, y, MPIU_SUM));
    PetscCall(PetscLogEventEnd(PCHJacobi_Halo, 0, 0, 0, 0));
  }
  PetscCall(PetscArrayzero(op->ghost, op->shell.size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJProductsRun(HJProducts *op, const HJCoefficients *a, PetscBool transpose, PetscScalar alpha, Vec x, Vec b, Vec y)
{
  HJProduct          p = {.a = a, .shell = &op->shell, .alpha = alpha, .ghost = op->ghost};
  const PetscScalar *xa, *ba = NULL;
  const PetscBool    update = (PetscBool)(b == y);

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(x, &xa));
  if (b && !update) PetscCall(VecGetArrayRead(b, &ba));
  if (update) PetscCall(VecGetArray(y, &p.y));
  else PetscCall(VecGetArrayWrite(y, &p.y));
  p.x = xa;
  p.b = update ? p.y : ba;
  if (transpose) {
    PetscCall(PetscArrayzero(op->ghost, op->shell.size));
    PetscCall(op->ops->product_transpose(&p));
    PetscCall(HJProductsReturnGhosts(op, p.y));
  } else {
    PetscCall(HJProductsFillGhosts(op, xa));
    PetscCall(op->ops->product(&p));
  }
  PetscCall(PetscLogFlops(2.0 * a->nslots * a->npoints));
  if (update) PetscCall(VecRestoreArray(y, &p.y));
  else PetscCall(VecRestoreArrayWrite(y, &p.y));
  if (b && !update) PetscCall(VecRestoreArrayRead(b, &ba));
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJProductsApply(HJProducts *op, const HJCoefficients *a, PetscScalar alpha, Vec x, Vec b, Vec y)
{
  PetscFunctionBegin;
  PetscCall(HJProductsRun(op, a, PETSC_FALSE, alpha, x, b, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJProductsApplyTranspose(HJProducts *op, const HJCoefficients *a, PetscScalar alpha, Vec x, Vec b, Vec y)
{
  PetscFunctionBegin;
  PetscCall(HJProductsRun(op, a, PETSC_TRUE, alpha, x, b, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

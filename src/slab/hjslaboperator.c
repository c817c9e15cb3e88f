/* SPDX-License-Identifier: BSD-2-Clause */
/*
   An operator whose cycles are run in slabs: what it calls in place of its backend, and cycles on vectors.
*/
#include "hjslabs.h"

/* Wherever the vectors lie, their arrays on the host are what travels */
PetscErrorCode HJOperatorRunSlabs(HJOperator *op, HJWeights *w, PetscInt its, PetscBool zero, Vec b, Vec x, const HJSlabCheck *check,
                                  PetscInt *done)
{
  const PetscScalar *ba;
  PetscScalar       *xa;
  PetscCount         total;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(b, &ba));
  if (zero) PetscCall(VecGetArrayWrite(x, &xa));
  else PetscCall(VecGetArray(x, &xa));
  PetscCall(HJSlabsRun(op->slabs, w, (PetscCount)its * w->k, zero, ba, xa, check, &total));
  *done = (PetscInt)(total / w->k);
  PetscCall(HJOperatorLogFlops(op, total, zero));
  if (zero) PetscCall(VecRestoreArrayWrite(x, &xa));
  else PetscCall(VecRestoreArray(x, &xa));
  PetscCall(VecRestoreArrayRead(b, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorUpdateNorm(HJOperator *op, HJWeights *w, Vec b, Vec x, NormType type, PetscReal *norm)
{
  const PetscScalar *ba, *xa;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(b, &ba));
  PetscCall(VecGetArrayRead(x, &xa));
  PetscCall(HJSlabsUpdate(op->slabs, w, ba, xa, type, norm));
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(VecRestoreArrayRead(b, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSlabsRunAll(HJOperator *op, HJWeights *w, PetscInt its, PetscBool zero, Vec b, Vec x)
{
  PetscInt done;

  PetscFunctionBegin;
  PetscCall(HJOperatorRunSlabs(op, w, its, zero, b, x, NULL, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const HJSlabsOps HJOperatorSlabs = {.run     = HJSlabsRunAll,
                                           .release = HJSlabsRelease,
                                           .renew   = HJSlabsRenew,
                                           .destroy = HJSlabsDestroy};

PetscErrorCode HJOperatorSetSlabs(HJOperator *op, const HJSlabOps *ops, size_t limit, PCHJacobiSlabType type, PetscInt height)
{
  PetscFunctionBegin;
  PetscCall(HJSlabsDestroy(&op->slabs));
  op->slabs_ops = &HJOperatorSlabs;
  PetscCall(HJSlabsCreate(op, ops, limit, type, height, &op->slabs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

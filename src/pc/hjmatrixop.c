/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The same subiterations through MatMult(), for every matrix that is no stencil on a DMDA. PETSc's objects do the work.
*/
#include "hjpc.h"

PetscErrorCode HJMatrixOpCreate(Mat A, PetscInt *zeros, HJMatrixOp **out)
{
  HJMatrixOp *op;

  PetscFunctionBegin;
  PetscCall(PetscNew(&op));
  *out = op;
  PetscCall(HJInverseDiagonal(A, &op->dinv, zeros));
  PetscCall(VecDuplicate(op->dinv, &op->r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x <- x + w_j D^-1 (b - A x), or with A^T; the first from a zero guess is pointwise */
PetscErrorCode HJMatrixOpRun(HJMatrixOp *op, Mat A, PetscBool transpose, const HJWeights *w, PetscInt its, PetscBool zero, Vec b, Vec x)
{
  const PetscCount total = (PetscCount)its * w->k;

  PetscFunctionBegin;
  if (zero && !total) PetscCall(VecSet(x, 0.0));
  for (PetscCount j = 0; j < total; j++) {
    const PetscReal wj = w->w[j % w->k];

    if (zero && !j) {
      PetscCall(VecPointwiseMult(x, op->dinv, b));
      PetscCall(VecScale(x, wj));
      continue;
    }
    if (transpose) PetscCall(MatMultTranspose(A, x, op->r));
    else PetscCall(MatMult(A, x, op->r));
    PetscCall(VecAYPX(op->r, -1.0, b));
    PetscCall(VecPointwiseMult(op->r, op->r, op->dinv));
    PetscCall(VecAXPY(x, wj, op->r));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatrixOpDestroy(HJMatrixOp **op)
{
  PetscFunctionBegin;
  if (!*op) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecDestroy(&(*op)->dinv));
  PetscCall(VecDestroy(&(*op)->r));
  PetscCall(PetscFree(*op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

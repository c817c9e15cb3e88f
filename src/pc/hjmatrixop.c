/*
   The same subiterations through MatMult(), for every matrix that is no stencil on a DMDA. PETSc's objects do the work.
*/
#include "hjpc.h"

/* The diagonal, or an error that names the cure: a matrix may have the operation and be made of one that does not */
static PetscErrorCode HJGetDiagonal(Mat A, Vec d)
{
  PetscErrorCode code = PETSC_SUCCESS;
  PetscBool      has;
  MatType        type;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(MatHasOperation(A, MATOP_GET_DIAGONAL, &has));
  if (has) {
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    code = MatGetDiagonal(A, d);
    PetscCall(PetscPopErrorHandler());
    has = (PetscBool)(code != PETSC_ERR_SUP);
  }
  PetscCheck(has, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "PCHJACOBI needs the diagonal, which this matrix of type %s does not give; use an assembled matrix (-dm_mat_type aij, or the "
             "second "
             "of KSPSetOperators()), or give a shell matrix MATOP_GET_DIAGONAL by MatShellSetOperation()",
             type);
  if (code) PetscCall(MatGetDiagonal(A, d)); /* says why */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D^-1 as PCJACOBI makes it: 1 where the diagonal is zero; *zeros counts those on all ranks */
PetscErrorCode HJInverseDiagonal(Mat A, Vec *dinv, PetscInt *zeros)
{
  PetscScalar *d;
  PetscInt     n, count = 0;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, dinv));
  PetscCall(HJGetDiagonal(A, *dinv));
  PetscCall(VecReciprocal(*dinv)); /* leaves zeros */
  PetscCall(VecGetLocalSize(*dinv, &n));
  PetscCall(VecGetArray(*dinv, &d));
  for (PetscInt i = 0; i < n; i++) {
    if (d[i] != 0.0) continue;
    d[i] = 1.0;
    count++;
  }
  PetscCall(VecRestoreArray(*dinv, &d));
  PetscCallMPI(MPI_Allreduce(&count, zeros, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  if (*zeros) PetscCall(PetscInfo(A, "Zero detected in diagonal of matrix, using 1 at those %" PetscInt_FMT " locations\n", *zeros));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Between stencil matrices and AIJ. Everything else goes through AIJ.
*/
#include "mat/base/hjmat.h"

PetscErrorCode MatConvert_HJStencil(Mat A, MatType type, MatReuse reuse, Mat *out)
{
  Mat       B;
  PetscBool aij;

  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX) {
    B = *out;
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)B, &aij, MATSEQAIJ, MATMPIAIJ, ""));
    if (aij) {
      PetscCall(MatZeroEntries(B));
      PetscCall(HJCopyRows(A, B));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  } else {
    PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &B));
    PetscCall(MatSetSizes(B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
    PetscCall(MatSetBlockSizesFromMats(B, A, A));
    PetscCall(MatSetType(B, type));
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)B, &aij, MATSEQAIJ, MATMPIAIJ, ""));
    if (aij) {
      PetscCall(HJPreallocateRows(A, B));
      PetscCall(HJCopyRows(A, B));
      PetscCall(HJMatSetNumbering(A, B));
    } else PetscCall(MatDestroy(&B));
  }
  if (!aij) {
    Mat rows;

    PetscCall(HJMatGetAIJ(A, &rows));
    PetscCall(MatConvert(rows, type, reuse == MAT_INPLACE_MATRIX ? MAT_INITIAL_MATRIX : reuse, &B));
  }
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &B));
  else *out = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatGetAIJ(Mat A, Mat *aij)
{
  Mat_HJStencil   *hj = (Mat_HJStencil *)A->data;
  PetscObjectState state;
  PetscBool        set, symmetric;
  const char      *prefix;

  PetscFunctionBegin;
  PetscCheck(A->assembled, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "Not for an unassembled matrix; call MatAssemblyBegin/End()");
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (!hj->aij) {
    PetscCall(PetscInfo(A, "The matrix is also kept as AIJ, for an operation that needs its rows\n"));
    PetscCall(MatConvert_HJStencil(A, MATAIJ, MAT_INITIAL_MATRIX, &hj->aij));
  } else if (state != hj->aij_state) PetscCall(MatConvert_HJStencil(A, MATAIJ, MAT_REUSE_MATRIX, &hj->aij));
  hj->aij_state = state;
  PetscCall(MatIsSymmetricKnown(A, &set, &symmetric));
  if (set) PetscCall(MatSetOption(hj->aij, MAT_SYMMETRIC, symmetric));
  PetscCall(MatIsSPDKnown(A, &set, &symmetric));
  if (set) PetscCall(MatSetOption(hj->aij, MAT_SPD, symmetric));
  PetscCall(MatGetOptionsPrefix(A, &prefix));
  PetscCall(MatSetOptionsPrefix(hj->aij, prefix));
  PetscCall(MatSetErrorIfFailure(hj->aij, A->erroriffailure));
  *aij = hj->aij;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether some nonzero leads to a diagonal neighbour. Collective */
static PetscErrorCode HJMatNeedsBox(Mat A, const HJLayout *l, PetscBool *box)
{
  PetscInt start, end;

  PetscFunctionBegin;
  *box = PETSC_FALSE;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt r = start; r < end; r++) {
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           n, at[3], to[3];

    PetscCall(MatGetRow(A, r, &n, &columns, &values));
    (void)HJLayoutLocate(l, r / l->dof, at);
    for (PetscInt e = 0; e < n; e++) {
      PetscInt off[3];

      if (values[e] == 0.0) continue;
      (void)HJLayoutLocate(l, columns[e] / l->dof, to);
      if (HJLayoutOffset(l, at, to, off) && HJShapeSlot(l->dim, HJ_STAR, off[0], off[1], off[2]) < 0) *box = PETSC_TRUE;
    }
    PetscCall(MatRestoreRow(A, r, &n, &columns, &values));
  }
  PetscCall(HJOnAnyRank(PetscObjectComm((PetscObject)A), box));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row by row, from any matrix that gives its rows */
static PetscErrorCode HJMatFillByRows(Mat A, Mat B)
{
  PetscBool box = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(HJMatNeedsBox(A, &((Mat_HJStencil *)B->data)->layout, &box));
  if (box) PetscCall(HJMatReshape(B, HJ_BOX));
  PetscCall(MatZeroEntries(B));
  PetscCall(HJCopyRows(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From AIJ, array by array, at the speed of memory, on the device where both matrices lie there and have one unknown a point; of several
   from BAIJ too. Or a reason why A is no stencil */
static PetscErrorCode HJMatFillByArrays(Mat A, Mat B, char why[], size_t len)
{
  Mat_HJStencil     *hj     = (Mat_HJStencil *)B->data;
  const PetscBool    system = (PetscBool)(hj->c.dof > 1);
  const HJRowReader *reader = NULL;
  PetscBool          device, fits = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(HJMatOnDevice(B, &device));
  if (device && !system) PetscCall(HJOperatorChooseReader(A, hj->device->backend, &reader));
  why[0] = 0;
  for (int box = 0; box < 2 && !fits && !why[0]; box++) {
    if (box || system) PetscCall(HJMatSetShape(B, box ? HJ_BOX : hj->c.shape)); /* and all slots */
    PetscCall(HJMatAllocArrays(B, reader ? reader->mtype : PETSC_MEMTYPE_HOST, PETSC_FALSE));
    PetscCall(HJStencilReadCoefficients(A, hj->da, &hj->grid, reader, reader ? &hj->d : &hj->c, &fits, why, len));
  }
  HJMatForgetTouched(B);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMatFillFrom(Mat A, Mat B)
{
  PetscBool aij;
  char      why[256];

  PetscFunctionBegin;
  PetscCall(HJMatCheckArrays(B));
  if (((Mat_HJStencil *)B->data)->c.dof == 1) PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  else PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, MATSEQBAIJ, MATMPIBAIJ, ""));
  if (aij) PetscCall(HJMatFillByArrays(A, B, why, sizeof(why)));
  if (!aij || why[0]) PetscCall(HJMatFillByRows(A, B)); /* which knows what becomes of entries that have no place */
  else {
    PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix without values on the grid of da, of whose points the rows of A are */
static PetscErrorCode HJMatCreateOn(Mat A, DM da, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetSizes(*B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetType(*B, MATHJSTENCIL));
  PetscCall(MatSetDM(*B, da));
  PetscCall(MatSetUp(*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatReadAIJ(Mat A, DM da, Mat *B, char why[], size_t len)
{
  PetscBool set, flag;

  PetscFunctionBegin;
  if (!*B) PetscCall(HJMatCreateOn(A, da, B));
  PetscCall(HJMatFillByArrays(A, *B, why, len));
  if (why[0]) PetscCall(MatDestroy(B));
  if (!*B) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatIsSymmetricKnown(A, &set, &flag));
  if (set) PetscCall(MatSetOption(*B, MAT_SYMMETRIC, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc does not look at the matrix that is to be reused */
static PetscErrorCode HJMatCheckReuse(Mat A, Mat B)
{
  PetscBool stencil;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)B, MATHJSTENCIL, &stencil));
  PetscCheck(stencil && A->rmap->N == B->rmap->N && A->rmap->n == B->rmap->n, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
             "The matrix to reuse is a %s with %" PetscInt_FMT " rows, a " MATHJSTENCIL " with %" PetscInt_FMT
             ", distributed in the same way, was asked for; use MAT_INITIAL_MATRIX",
             ((PetscObject)B)->type_name, B->rmap->N, A->rmap->N);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvertFrom_HJStencil(Mat A, MatType type, MatReuse reuse, Mat *out)
{
  Mat       B;
  DM        da;
  PetscBool rows, upper;

  PetscFunctionBegin;
  PetscCall(MatHasOperation(A, MATOP_GET_ROW, &rows));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &upper, MATSEQSBAIJ, MATMPISBAIJ, ""));
  PetscCheck(rows && !upper, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "A matrix of type %s does not give its rows%s; convert it to AIJ first", ((PetscObject)A)->type_name, upper ? " whole" : "");
  PetscCall(MatGetDM(A, &da));
  PetscCheck(da, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "A matrix of type " MATHJSTENCIL " needs the DMDA whose points its rows are; call MatSetDM() on the matrix that is converted");
  if (reuse == MAT_REUSE_MATRIX) {
    B = *out;
    PetscCall(HJMatCheckReuse(A, B));
    PetscCall(MatSetUp(B));
  } else PetscCall(HJMatCreateOn(A, da, &B));
  PetscCall(HJMatFillFrom(A, B));
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &B));
  else *out = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

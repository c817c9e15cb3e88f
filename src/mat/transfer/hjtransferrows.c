/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The rows of a MATHJTRANSFER, which it does not store, and what it has AIJ do that is made of them.
*/
#include "hjtransferimpl.h"

/* Adds to the entry of a column, or makes one in the order of columns */
static void HJRowAdd(PetscInt *n, PetscInt *columns, PetscScalar *values, PetscInt column, PetscScalar v)
{
  PetscInt q = 0;

  while (q < *n && columns[q] < column) q++;
  if (q < *n && columns[q] == column) {
    values[q] += v;
    return;
  }
  for (PetscInt e = (*n)++; e > q; e--) {
    columns[e] = columns[e - 1];
    values[e]  = values[e - 1];
  }
  columns[q] = column;
  values[q]  = v;
}

/* What a coarse point gives to a fine one, both by their global coordinates; false: there is no such coarse point */
static PetscBool HJTransferEntry(const HJTransfer *t, const HJColumns *w, const PetscInt fine[3], const PetscInt coarse[3], PetscScalar *v)
{
  PetscInt c[3];
  int      p[3];
  HJColumn column;

  for (int d = 0; d < 3; d++) {
    c[d] = coarse[d] - t->coarse_start[d];
    p[d] = (int)(fine[d] - t->first[d] - t->factor[d] * coarse[d]);
  }
  if (!HJPointInside(&t->coarse.domain, c[0], c[1], c[2])) return PETSC_FALSE;
  column = HJColumnsAt(w, c[0], c[1], c[2]);
  *v     = column.at[HJColumnsSlot(w, p[0], p[1], p[2]) * column.stride];
  return PETSC_TRUE;
}

PetscErrorCode MatGetRow_HJTransfer(Mat P, PetscInt row, PetscInt *n, PetscInt **columns, PetscScalar **values)
{
  Mat_HJTransfer   *tr  = (Mat_HJTransfer *)P->data;
  const HJTransfer *t   = &tr->transfer;
  const PetscInt    dof = t->fine.dof, own = row - P->rmap->rstart;
  PetscInt          left = own / dof, first[3], number[3], place[3], count = 0;
  PetscReal         coefficient = 1.0;
  HJColumns         w           = {.nslots = 0};

  PetscFunctionBegin;
  PetscCheck(own >= 0 && own < P->rmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Row %" PetscInt_FMT " is another rank's; this one has the rows %" PetscInt_FMT " to %" PetscInt_FMT, row, P->rmap->rstart,
             P->rmap->rend - 1);
  if (tr->keep) {
    const PetscScalar *keep;

    PetscCall(VecGetArrayRead(tr->keep, &keep));
    coefficient = PetscRealPart(keep[own]);
    PetscCall(VecRestoreArrayRead(tr->keep, &keep));
  }
  for (int d = 0; d < 3; d++) {
    const PetscInt width = HJBoxWidth(&t->fine.owned, d), at = t->fine_start[d] + left % width;

    left /= width;
    place[d]  = at;
    first[d]  = (at - t->first[d]) / t->factor[d]; /* the first point, where it hangs, has the first coarse one */
    number[d] = (at - t->first[d]) % t->factor[d] ? 2 : 1;
    if (number[d] == 2) coefficient *= 0.5;
    if (HJTransferBegins(t, d) && !at) {
      number[d] = 1;
      coefficient *= 2.0 * t->before[d];
    }
    if (HJTransferHangs(t, d) && at == t->fine.N[d] - 1) {
      number[d] = 1;
      coefficient *= 2.0 * t->last[d];
    }
  }
  if (tr->variable) {
    PetscCheck(tr->host && tr->host->coefficient, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "The weights of this interpolation are on the GPU alone; call MatConvert() to " MATAIJ " for its rows");
    w = HJColumnsSet(t, &tr->host->ghosts[0].shell, tr->host->coefficient, tr->host->coefficient_ghost);
  }
  for (PetscInt c = 0; c < number[0] * number[1] * number[2]; c++) {
    const PetscInt at[3] = {first[0] + c % number[0], first[1] + c / number[0] % number[1], first[2] + c / number[0] / number[1]};

    PetscScalar v = coefficient;

    if (tr->variable && !HJTransferEntry(t, &w, place, at, &v)) continue;
    HJRowAdd(&count, tr->row_columns, tr->row_values, HJLayoutPoint(&tr->columns, at) * dof + own % dof, v);
  }
  *n = count;
  if (columns) *columns = tr->row_columns;
  if (values) *values = tr->row_values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferGetAIJ(Mat P, Mat *aij)
{
  Mat_HJTransfer *tr   = (Mat_HJTransfer *)P->data;
  HJTransfers    *host = NULL;

  PetscFunctionBegin;
  if (!tr->aij) {
    if (tr->variable) PetscCall(HJTransferGetOps(P, PETSC_FALSE, &host));
    PetscCall(PetscInfo(P, "The interpolation is also kept as AIJ, for an operation that needs its rows\n"));
    PetscCall(HJCreateAIJ(P, &tr->aij));
  }
  *aij = tr->aij;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatConvert_HJTransfer(Mat P, MatType type, MatReuse reuse, Mat *out)
{
  Mat B, aij = NULL;

  PetscFunctionBegin;
  PetscCall(HJTransferGetAIJ(P, &aij));
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatConvert(aij, type, MAT_REUSE_MATRIX, out));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatConvert(aij, type, MAT_INITIAL_MATRIX, &B));
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(P, &B));
  else *out = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreateSubMatrix_HJTransfer(Mat P, IS rows, IS columns, MatReuse reuse, Mat *sub)
{
  Mat aij = NULL;

  PetscFunctionBegin;
  PetscCall(HJTransferGetAIJ(P, &aij));
  PetscCall(MatCreateSubMatrix(aij, rows, columns, reuse, sub));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreateSubMatrices_HJTransfer(Mat P, PetscInt n, const IS rows[], const IS columns[], MatReuse reuse, Mat *sub[])
{
  Mat aij = NULL;

  PetscFunctionBegin;
  PetscCall(HJTransferGetAIJ(P, &aij));
  PetscCall(MatCreateSubMatrices(aij, n, rows, columns, reuse, sub));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatTranspose_HJTransfer(Mat P, MatReuse reuse, Mat *T)
{
  Mat aij = NULL;

  PetscFunctionBegin;
  PetscCheck(reuse != MAT_INPLACE_MATRIX, PetscObjectComm((PetscObject)P), PETSC_ERR_SUP,
             "A matrix of type " MATHJTRANSFER " cannot become its transpose; use MAT_INITIAL_MATRIX, or MatMultTranspose()");
  PetscCall(HJTransferGetAIJ(P, &aij));
  PetscCall(MatTranspose(aij, reuse, T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatNorm_HJTransfer(Mat P, NormType type, PetscReal *norm)
{
  Mat aij = NULL;

  PetscFunctionBegin;
  PetscCall(HJTransferGetAIJ(P, &aij));
  PetscCall(MatNorm(aij, type, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What a MATHJTRANSFER is made of, for those who ask: its halo and backend in one memory, its grids, its coefficients.
*/
#include "hjtransferimpl.h"

PetscErrorCode HJTransferCopyCoefficients(const HJTransfers *from, HJTransfers *to)
{
  const PetscCount n = HJColumnsSlots(&from->transfer) * HJBoxSize(&from->transfer.coarse.owned);
  PetscScalar     *host;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &host));
  PetscCall(from->ops->copy(NULL, host, from->coefficient, n));
  PetscCall(HJTransfersSetCoefficients(to, host));
  PetscCall(PetscFree(host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferGetOps(Mat P, PetscBool device, HJTransfers **op)
{
  Mat_HJTransfer     *tr   = (Mat_HJTransfer *)P->data;
  const HJBackendOps *ops  = &HJBackendHost;
  HJTransfers       **here = device ? &tr->device : &tr->host;
  HJExchange          exchange;

  PetscFunctionBegin;
  if (!*here) {
#if defined(HJACOBI_HAVE_CUDA)
    if (device) ops = &HJBackendCUDA;
#endif
    PetscCall(HJMatChooseExchange(tr->fine, ops, &exchange));
    PetscCall(HJTransfersCreate(tr->coarse, tr->fine, &tr->transfer, ops, exchange, here));
    if (tr->keep) PetscCall(HJTransfersSetKeep(*here, tr->keep));
  }
  if (tr->variable && !(*here)->coefficient) PetscCall(HJTransferCopyCoefficients(tr->variable, *here));
  *op = *here;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferHasCoefficients(Mat P, PetscBool *has)
{
  PetscFunctionBegin;
  *has = (PetscBool) !!((Mat_HJTransfer *)P->data)->variable;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferGetVariable(Mat P, const HJArrayOps *ops, HJTransfers **op)
{
  PetscFunctionBegin;
  *op = NULL;
  if (((Mat_HJTransfer *)P->data)->variable) PetscCall(HJTransferGetOps(P, (PetscBool)!PetscMemTypeHost(ops->backend->mtype), op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferIsOnGrid(Mat P, Mat A, PetscBool *same)
{
  const HJGrid     *grid = &((Mat_HJStencil *)A->data)->grid;
  const HJTransfer *t    = &((Mat_HJTransfer *)P->data)->transfer;

  PetscFunctionBegin;
  *same = (PetscBool)(grid->dof == t->fine.dof);
  for (int d = 0; d < 3; d++) {
    if (grid->N[d] != t->fine.N[d] || grid->owned.hi[d] != t->fine.owned.hi[d] || grid->periodic[d] != t->fine.periodic[d] ||
        ((Mat_HJStencil *)A->data)->layout.lo[d] != t->fine_start[d])
      *same = PETSC_FALSE;
  }
  PetscCall(HJOnAllRanks(PetscObjectComm((PetscObject)A), same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The column of an owned coarse point that restricts, to[slot * n], from the row of its fine point, whose columns were divided by the
   diagonal. Where that is a diagonal alone it is 0, as that which interpolates */
static void HJTransferFillColumn(const HJColumns *w, const HJGrid *grid, const HJCoefficients *a, const PetscInt c[3], PetscScalar *to)
{
  const PetscInt   at[3] = {w->factor[0] * c[0] + w->base[0], w->factor[1] * c[1] + w->base[1], w->factor[2] * c[2] + w->base[2]};
  const PetscInt  *nf    = grid->owned.hi;
  const PetscCount point = ((PetscCount)at[2] * nf[1] + at[1]) * nf[0] + at[0];

  for (PetscInt s = 1; s < a->nslots; s++) {
    const HJBox       inside = HJCoefficientsInside(a, s, grid);
    const PetscScalar entry  = HJPointInside(&inside, at[0], at[1], at[2]) ? HJCoefficientAt(a, s, point) : 0.0;
    PetscInt          off[3];

    if (entry == 0.0) continue;
    to[0] = 1.0;
    HJSlotOffset(a, s, off);
    if (!HJPointInside(&w->points, at[0] + off[0], at[1] + off[1], at[2] + off[2])) continue;
    to[HJColumnsSlot(w, (int)off[0], (int)off[1], (int)off[2]) * w->n] = -entry;
  }
}

PetscErrorCode HJMatTransferSetColumns(Mat P, Mat A)
{
  Mat_HJTransfer       *tr   = (Mat_HJTransfer *)P->data;
  const HJGrid         *grid = &tr->transfer.fine;
  const HJColumns       w    = HJColumnsSet(&tr->transfer, NULL, NULL, NULL);
  const HJArrayOps     *ops;
  HJCoefficients       *home;
  const HJCoefficients *a;
  HJTransfers          *op = NULL, *other;
  Mat                   B;
  Vec                   diagonal;
  PetscScalar          *columns;
  PetscCount            n = 0;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatCreateVecs(A, &diagonal, NULL));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecReciprocal(diagonal));
  PetscCall(MatDiagonalScale(B, NULL, diagonal));
  PetscCall(HJCoefficientsIn(B, PETSC_MEMTYPE_HOST, &a));
  PetscCall(PetscCalloc1(w.nslots * w.n, &columns));
  for (PetscInt k = 0; k < w.nc[2]; k++)
    for (PetscInt j = 0; j < w.nc[1]; j++)
      for (PetscInt i = 0; i < w.nc[0]; i++) HJTransferFillColumn(&w, grid, a, (const PetscInt[3]){i, j, k}, columns + n++);
  PetscCall(HJMatGetHome(A, &ops, &home));
  tr->variable = NULL; /* nothing is to be copied from the old ones */
  PetscCall(HJTransferGetOps(P, (PetscBool)!PetscMemTypeHost(ops->backend->mtype), &op));
  PetscCall(HJTransfersSetCoefficients(op, columns));
  tr->variable = op;
  other        = op == tr->host ? tr->device : tr->host;
  if (other) PetscCall(HJTransfersSetCoefficients(other, NULL)); /* copied again when it is used */
  PetscCall(MatDestroy(&tr->aij));
  PetscCall(PetscObjectStateIncrease((PetscObject)P));
  PetscCall(PetscFree(columns));
  PetscCall(VecDestroy(&diagonal));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

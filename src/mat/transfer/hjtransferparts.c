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

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Passes of conjugate gradients. The ghosts of a direction are made of those of the preconditioned residual, as the points that they are
   copies of are, so that one exchange serves a direction and what else multiplies it. Sums of a device go from rank to rank by the
   transport of its halos, those of the host by MPI.
*/
#include "hjconjugate.h"
#include "hjoperator.h"
#include "hjvectors.h"

/* Collective. The sums of all ranks, side by side, on each */
static PetscErrorCode HJConjugateShare(HJProducts *op)
{
  const HJHalo halo = op->ghosts.halo;
  PetscMPIInt  size = 1;
  PetscSFNode *remote;
  PetscSF      sf;

  PetscFunctionBegin;
  if (halo) PetscCallMPI(MPI_Comm_size(halo->comm, &size));
  if (op->sums || size == 1 || !op->ops->krylov->begin) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(HJ_KRYLOV_SHARED * size, &remote));
  for (PetscMPIInt i = 0; i < HJ_KRYLOV_SHARED * size; i++)
    remote[i] = (PetscSFNode){.rank = i / HJ_KRYLOV_SHARED, .index = i % HJ_KRYLOV_SHARED};
  PetscCall(PetscSFCreate(halo->comm, &sf));
  PetscCall(PetscSFSetGraph(sf, HJ_KRYLOV_SHARED, HJ_KRYLOV_SHARED * size, NULL, PETSC_OWN_POINTER, remote, PETSC_OWN_POINTER));
  PetscCall(PetscSFSetUp(sf));
  PetscCall(HJHaloCreateFromSF(halo->comm, sf, HJ_KRYLOV_SHARED * size, halo->ops, &op->sums));
  op->sums->timeout = halo->timeout;
  PetscCall(PetscSFDestroy(&sf));
  PetscCall(op->ops->alloc(NULL, HJ_KRYLOV_SHARED * size, &op->sums_of_ranks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJConjugateBegin(HJProducts *op, HJConjugate *c)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(&c->sums, sizeof(c->sums)));
  c->there = &c->sums;
  c->ghost = NULL;
  PetscCall(HJConjugateShare(op));
  if (op->ops->krylov->begin) PetscCall(op->ops->krylov->begin(&c->there));
  if (op->ghosts.halo) PetscCall(op->ops->multigrid->scratch(op->ghosts.shell.size, PETSC_FALSE, &c->ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJConjugateEnd(HJProducts *op, HJConjugate *c)
{
  PetscFunctionBegin;
  if (op->ops->krylov->end) PetscCall(op->ops->krylov->end(&c->there));
  if (c->ghost) PetscCall(op->ops->multigrid->unscratch(&c->ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. Sums of this rank, one or two of HJConjugate's there from the first on, become those of all */
static PetscErrorCode HJConjugateTotal(HJProducts *op, PetscInt n, PetscScalar *first)
{
  const PetscScalar *from[]  = {first, NULL};
  PetscScalar       *parts[] = {op->sums_of_ranks, NULL};
  PetscMPIInt        size;

  PetscFunctionBegin;
  if (!op->ghosts.halo) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(op->ghosts.halo->comm, &size));
  if (op->sums) {
    PetscCall(HJHaloBegin(op->sums, op->ops->mtype, from, parts));
    PetscCall(HJHaloEnd(op->sums, op->ops->mtype, from, parts));
    PetscCall(op->ops->krylov->total(size, parts[0], n, first));
  } else if (size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, first, (PetscMPIInt)n, MPIU_SCALAR, MPIU_SUM, op->ghosts.halo->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJConjugateSums(HJProducts *op, HJConjugate *c, Vec z, Vec r)
{
  HJVecArray za, ra;
  PetscInt   n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(r, &n));
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, z, NULL, &za));
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, r, NULL, &ra));
  PetscCall(op->ops->krylov->sums(n, za.used, ra.used, c->there));
  PetscCall(HJVecClose(&ra));
  PetscCall(HJVecClose(&za));
  PetscCall(HJConjugateTotal(op, 2, &c->there->rz));
  PetscCall(HJLogFlops(op->ops, 4.0 * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJConjugateDirection(HJProducts *op, const HJCoefficients *a, HJConjugate *c, PetscBool first, Vec z, Vec before, Vec p)
{
  HJProduct          product = {.a = a, .shell = &op->ghosts.shell, .region = HJ_PRODUCT_ALL, .alpha = 1.0};
  const PetscScalar *from;
  const PetscBool    apart = (PetscBool)(before != p && !first), neighbors = (PetscBool)(c->ghost != NULL);
  HJVecArray         za, qa, pa;

  PetscFunctionBegin;
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ_WRITE, z, NULL, &za));
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, apart ? before : NULL, NULL, &qa));
  PetscCall(HJVecOpen(op->ops, NULL, first || apart ? HJ_WRITE : HJ_READ_WRITE, p, NULL, &pa));
  PetscCall(HJGhostsGet(&op->ghosts, za.used, &from));
  if (neighbors) PetscCall(op->ops->krylov->ghosts(op->ghosts.shell.size, first, c->there, from, c->ghost));
  product.ghost = neighbors ? c->ghost : op->ghosts.frame[0];
  product.x     = pa.used;
  product.y     = za.used;
  PetscCall(op->ops->krylov->direction(&product, neighbors, first, c->there, za.used, apart ? qa.used : pa.used, pa.used));
  PetscCall(HJVecClose(&pa));
  PetscCall(HJVecClose(&qa));
  PetscCall(HJVecClose(&za));
  PetscCall(HJConjugateTotal(op, 1, &c->there->pw));
  PetscCall(HJLogFlops(op->ops, (2.0 * a->nslots + 4.0) * a->npoints));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJConjugateUpdate(HJProducts *op, const HJCoefficients *a, HJConjugate *c, PetscBool squares, Vec z, Vec p, Vec x, Vec r)
{
  HJProduct  product = {.a      = a,
                        .shell  = &op->ghosts.shell,
                        .region = HJ_PRODUCT_ALL,
                        .alpha  = 1.0,
                        .ghost  = c->ghost ? c->ghost : op->ghosts.frame[0]};
  HJVecArray za, pa, xa, ra;

  PetscFunctionBegin;
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ_WRITE, x, NULL, &xa));
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ_WRITE, r, NULL, &ra));
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, p, NULL, &pa));
  PetscCall(HJVecOpen(op->ops, NULL, HJ_READ, z, NULL, &za));
  product.x = pa.used;
  product.y = za.used;
  PetscCall(op->ops->krylov->update(&product, (PetscBool)(c->ghost != NULL), c->there, xa.used, ra.used));
  PetscCall(HJVecClose(&za));
  PetscCall(HJVecClose(&pa));
  PetscCall(HJVecClose(&ra));
  PetscCall(HJVecClose(&xa));
  if (squares) PetscCall(HJConjugateTotal(op, 1, &c->there->rr));
  PetscCall(HJLogFlops(op->ops, 6.0 * a->npoints));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJConjugateFetch(HJProducts *op, HJConjugate *c)
{
  PetscFunctionBegin;
  if (!op->ops->krylov->fetch) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(op->ops->krylov->fetch(c->there, &c->sums));
  PetscCall(HJOperatorCheckExchanges());
  PetscFunctionReturn(PETSC_SUCCESS);
}

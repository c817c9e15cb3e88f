/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Moves are halos whose pattern is given, and whose buffer is the whole vector. A transport that has a buffer of its own leaves it there,
   from where it is copied. A fence is a halo between all ranks through which nothing is sent.
*/
#include "hjmove.h"

struct _n_HJMove {
  const HJBackendOps *ops;
  HJHalo              halo;
  PetscInt            leaves;
};

PetscErrorCode HJMoveCreate(MPI_Comm comm, PetscSF sf, PetscInt leaves, const HJBackendOps *ops, HJExchange exchange, HJMove *m)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(m));
  (*m)->ops    = ops;
  (*m)->leaves = leaves;
  PetscCall(HJHaloCreateFromSF(comm, sf, leaves, exchange.ops, &(*m)->halo));
  (*m)->halo->timeout = exchange.timeout;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMoveRun(HJMove m, const PetscScalar *from, PetscScalar *to)
{
  const PetscScalar *arrays[] = {from ? from : to, NULL}; /* NULL would say that nothing travels, on any rank */
  PetscScalar       *frame[]  = {to, NULL};

  PetscFunctionBegin;
  PetscCall(HJHaloBegin(m->halo, m->ops->mtype, arrays, frame));
  PetscCall(HJHaloEnd(m->halo, m->ops->mtype, arrays, frame));
  if (m->leaves && frame[0] != to) PetscCall(m->ops->copy(NULL, to, frame[0], m->leaves));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMoveDestroy(HJMove *m)
{
  PetscFunctionBegin;
  if (!*m) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJHaloDestroy(&(*m)->halo));
  PetscCall(PetscFree(*m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJFenceCreate(MPI_Comm comm, HJExchange exchange, HJHalo *fence)
{
  PetscMPIInt  rank, size;
  PetscSFNode *remote;
  PetscSF      sf;

  PetscFunctionBegin;
  *fence = NULL;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (size == 1 || !exchange.ops->cycle) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(size, &remote));
  for (PetscMPIInt r = 0; r < size; r++) remote[r] = (PetscSFNode){.rank = r, .index = rank};
  PetscCall(PetscSFCreate(comm, &sf));
  PetscCall(PetscSFSetGraph(sf, size, size, NULL, PETSC_OWN_POINTER, remote, PETSC_OWN_POINTER));
  PetscCall(PetscSFSetUp(sf));
  PetscCall(HJHaloCreateFromSF(comm, sf, size, exchange.ops, fence));
  (*fence)->timeout = exchange.timeout;
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJFenceCycle(HJHalo fence, HJCyclePart part)
{
  PetscFunctionBegin;
  if (fence) PetscCall(fence->ops->cycle(fence, part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Opens and closes vectors: the accesses that PETSc's vectors have, and copies to and from a backend's memory where they lie elsewhere.
*/
#include "hjvectors.h"
#include "core/hjmultigrid.h"

static PetscErrorCode HJVecGet(HJVecArray *a, PetscBool device, PetscMemType *mtype)
{
  PetscFunctionBegin;
  *mtype = PETSC_MEMTYPE_HOST;
  if (!device) {
    if (a->access == HJ_READ) PetscCall(VecGetArrayRead(a->v, (const PetscScalar **)&a->own));
    else if (a->access == HJ_WRITE) PetscCall(VecGetArrayWrite(a->v, &a->own));
    else PetscCall(VecGetArray(a->v, &a->own));
  } else if (a->access == HJ_READ) PetscCall(VecGetArrayReadAndMemType(a->v, (const PetscScalar **)&a->own, mtype));
  else if (a->access == HJ_WRITE) PetscCall(VecGetArrayWriteAndMemType(a->v, &a->own, mtype));
  else PetscCall(VecGetArrayAndMemType(a->v, &a->own, mtype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJVecsAreIn(const HJBackendOps *ops, Vec a, Vec b, PetscBool *are)
{
  const Vec v[] = {a, b};

  PetscFunctionBegin;
  *are = PETSC_TRUE;
  for (int i = 0; i < 2 && *are; i++) {
    const PetscScalar *values;
    PetscMemType       mtype;

    PetscCall(VecGetArrayReadAndMemType(v[i], &values, &mtype));
    *are = (PetscBool)(!PetscMemTypeDevice(mtype) == !PetscMemTypeDevice(ops->mtype));
    PetscCall(VecRestoreArrayReadAndMemType(v[i], &values));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJVecOpenHere(const HJBackendOps *ops, HJAccess access, Vec v, HJVecArray *a, PetscBool *here)
{
  const PetscBool device = (PetscBool)PetscMemTypeDevice(ops->mtype);
  PetscMemType    mtype;

  PetscFunctionBegin;
  *a    = (HJVecArray){.ops = ops, .access = access, .v = v};
  *here = PETSC_TRUE;
  if (!v) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJVecGet(a, device, &mtype));
  a->used = a->own;
  *here   = (PetscBool)(!device || PetscMemTypeDevice(mtype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJVecOpen(const HJBackendOps *ops, void *backend, HJAccess access, Vec v, PetscScalar **stage, HJVecArray *a)
{
  PetscBool here;
  PetscInt  n;

  PetscFunctionBegin;
  PetscCall(HJVecOpenHere(ops, access, v, a, &here));
  if (here) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(stage, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A vector that is to be used on a GPU lies on the host");
  PetscCall(VecGetLocalSize(v, &n));
  if (!*stage) PetscCall(ops->alloc(backend, n, stage));
  a->backend = backend;
  a->used    = *stage;
  if (access != HJ_WRITE) PetscCall(ops->copy(backend, a->used, a->own, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJVecClose(HJVecArray *a)
{
  PetscInt n;

  PetscFunctionBegin;
  if (!a->v) PetscFunctionReturn(PETSC_SUCCESS);
  if (a->used != a->own && a->access != HJ_READ) {
    PetscCall(VecGetLocalSize(a->v, &n));
    PetscCall(a->ops->copy(a->backend, a->own, a->used, n));
  }
  if (!PetscMemTypeDevice(a->ops->mtype)) {
    if (a->access == HJ_READ) PetscCall(VecRestoreArrayRead(a->v, (const PetscScalar **)&a->own));
    else if (a->access == HJ_WRITE) PetscCall(VecRestoreArrayWrite(a->v, &a->own));
    else PetscCall(VecRestoreArray(a->v, &a->own));
  } else if (a->access == HJ_READ) PetscCall(VecRestoreArrayReadAndMemType(a->v, (const PetscScalar **)&a->own));
  else if (a->access == HJ_WRITE) PetscCall(VecRestoreArrayWriteAndMemType(a->v, &a->own));
  else PetscCall(VecRestoreArrayAndMemType(a->v, &a->own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJVecCreateIn(Mat A, const HJBackendOps *ops, PetscScalar *values, Vec *v)
{
  const PetscBool device = (PetscBool)PetscMemTypeDevice(ops->mtype);
  MPI_Comm        comm   = PetscObjectComm((PetscObject)A);
  PetscMPIInt     size;
  PetscInt        n, N;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatGetSize(A, &N, NULL));
  if (!device && size > 1) PetscCall(VecCreateMPIWithArray(comm, 1, n, N, values, v));
  else if (!device) PetscCall(VecCreateSeqWithArray(comm, 1, n, values, v));
#if PetscDefined(HAVE_CUDA)
  else if (size > 1) PetscCall(VecCreateMPICUDAWithArrays(comm, 1, n, N, NULL, values, v));
  else PetscCall(VecCreateSeqCUDAWithArrays(comm, 1, n, NULL, values, v));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJAllocIfRoom(const HJBackendOps *ops, PetscCount n, PetscBool scratch, PetscScalar **p)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  if (scratch) ierr = ops->multigrid->scratch(n, PETSC_FALSE, p);
  else ierr = ops->alloc(NULL, n, p);
  PetscCall(PetscPopErrorHandler());
  if (ierr == PETSC_ERR_MEM) *p = NULL;
  else PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJLogFlops(const HJBackendOps *ops, PetscLogDouble flops)
{
  PetscFunctionBegin;
  if (PetscMemTypeDevice(ops->mtype)) PetscCall(PetscLogGpuFlops(flops));
  else PetscCall(PetscLogFlops(flops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Which backend and which halo transport serve a matrix, and why.
*/
#include "hjoperator.h"
#include "core/hjcoefficients.h"

const char *const PCHJacobiExchanges[] = {"auto", "petscsf", "nccl", "ipc", "PCHJacobiExchange", "PC_HJACOBI_EXCHANGE_", NULL};

const HJArrayOps *HJArraysIn(PetscMemType mtype)
{
  if (PetscMemTypeHost(mtype)) return &HJArraysHost;
#if defined(HJACOBI_HAVE_CUDA) && PetscDefined(HAVE_CUDA) && !PetscDefined(USE_64BIT_INDICES)
  return &HJArraysCUDA;
#else
  return NULL;
#endif
}

PetscErrorCode HJCoefficientsIn(Mat A, PetscMemType wanted, const HJCoefficients **c)
{
  HJGetCoefficients get;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, HJ_GET_COEFFICIENTS, &get));
  PetscCheck(get, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "Not a matrix whose coefficients can be read");
  PetscCall((*get)(A, wanted, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJCoefficientsHome(Mat A, const HJArrayOps **ops, const HJCoefficients **c)
{
  HJGetMemType where;
  PetscMemType mtype = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, HJ_GET_MEMTYPE, &where));
  if (where) PetscCall((*where)(A, &mtype));
  PetscCall(HJCoefficientsIn(A, mtype, c));
  *ops = HJArraysIn(mtype);
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(HJACOBI_HAVE_CUDA)
/*
   Host vectors travel to the GPU and back each apply. From this many subiterations on that is less than what the GPU saves, on grids
   whose work also makes up for starting a GPU: an H200 beside a core of its host (bench_gpu -cases staged)
*/
  #define HJ_STAGE_K      8
  #define HJ_STAGE_POINTS 500000

/* Whether all ranks have a GPU, enough points to copy, and whether any rank's part is bound to the CPU. Collective */
static PetscErrorCode HJFindGPU(Mat A, PetscBool *available, PetscBool *large, PetscBool *bound)
{
  PetscInt n[3];

  PetscFunctionBegin;
  PetscCall(HJCUDAAvailable(available));
  PetscCall(MatGetLocalSize(A, &n[1], NULL));
  PetscCall(MatBoundToCPU(A, bound));
  n[0] = *available ? 1 : 0;
  n[2] = *bound ? 0 : 1;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, n, 3, MPIU_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
  *available = (PetscBool)(n[0] == 1);
  *large     = (PetscBool)(n[1] >= HJ_STAGE_POINTS);
  *bound     = (PetscBool)(n[2] == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the rows of the matrix lie in device memory */
static PetscErrorCode HJMatIsOnGPU(Mat A, PetscBool *on_gpu)
{
  PetscMemType mtype = PETSC_MEMTYPE_HOST;
  HJGetMemType where;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)A, on_gpu, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, HJ_GET_MEMTYPE, &where));
  if (where) PetscCall((*where)(A, &mtype));
  *on_gpu = (PetscBool)(*on_gpu || PetscMemTypeDevice(mtype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJChooseGPU(Mat A, PetscBool forced, PetscInt k, const HJBackendOps **ops, const char **why)
{
  PetscBool available, large, on_gpu = PETSC_FALSE, bound = PETSC_FALSE, pays;

  PetscFunctionBegin;
  PetscCall(HJFindGPU(A, &available, &large, &bound));
  PetscCheck(available || !forced, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "-pc_hjacobi_backend cuda: no GPU or no driver on this machine; use host or auto");
  PetscCall(HJMatIsOnGPU(A, &on_gpu));
  pays = (PetscBool)(!on_gpu && large && k >= HJ_STAGE_K);
  if (forced || (available && (on_gpu ? !bound : pays))) *ops = &HJBackendCUDA;
  if (!forced)
    *why = !available ? "no GPU here"
           : !on_gpu  ? (pays ? "matrix on the host, so large that copies pay" : "matrix on the host")
           : bound    ? "matrix bound to the CPU"
                      : "matrix on the GPU";
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscBool HJOperatorCanBeOnDevice(PetscInt dof, PetscInt overlap)
{
  return (PetscBool)(dof == 1 || (dof <= HJ_DEVICE_DOF && overlap < 0));
}

PetscErrorCode HJOperatorChooseBackend(Mat A, PCHJacobiBackend asked, PetscInt k, const HJBackendOps **ops, const char **why)
{
  PetscFunctionBegin;
  *ops = &HJBackendHost;
  *why = "asked for";
  if (asked == PC_HJACOBI_BACKEND_HOST) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(HJChooseGPU(A, (PetscBool)(asked == PC_HJACOBI_BACKEND_CUDA), k, ops, why));
#else
  PetscCheck(asked != PC_HJACOBI_BACKEND_CUDA, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "-pc_hjacobi_backend cuda: built without CUDA; use host or auto, or build with nvcc in the PATH");
  *why = "built without CUDA";
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJSlabOps *HJOperatorChooseSlabs(const HJBackendOps *ops)
{
#if defined(HJACOBI_HAVE_CUDA)
  if (ops == &HJBackendCUDA) return &HJSlabsCUDA;
#endif
  return NULL;
}

PetscErrorCode HJExchangeCheckTimeout(MPI_Comm comm, PetscReal timeout)
{
  PetscFunctionBegin;
  PetscCheck(timeout >= 0 && timeout <= 1e9, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "-hj_exchange_timeout %g must be from 0 (no limit) to 1e9 seconds", (double)timeout);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJExchangeFromOptions(HJOptionItems PetscOptionsObject, MPI_Comm comm, PCHJacobiExchange *exchange, PetscReal *timeout)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsEnum("-hj_exchange", "Transport of the halo", "PCHJacobiSetExchange", PCHJacobiExchanges, (PetscEnum)*exchange,
                             (PetscEnum *)exchange, NULL));
  PetscCall(PetscOptionsReal("-hj_exchange_timeout", "Seconds that a GPU waits for another's halo", "PCHJacobiSetExchangeTimeout", *timeout,
                             timeout, NULL));
  PetscCall(HJExchangeCheckTimeout(comm, *timeout));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorChooseExchange(MPI_Comm comm, PCHJacobiExchange asked, const HJBackendOps *backend, const HJHaloOps **ops,
                                        const char **why)
{
  PetscBool   available = PETSC_FALSE;
  PetscMPIInt size;

  PetscFunctionBegin;
  *ops = &HJHaloPetscSF;
  *why = "asked for";
  if (asked == PC_HJACOBI_EXCHANGE_PETSCSF) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size == 1) asked = PC_HJACOBI_EXCHANGE_AUTO; /* to itself, across a period, whatever can be recorded: else cycles are not */
  *why = "the others are for GPUs, the backend is host";
#if defined(HJACOBI_HAVE_CUDA)
  if (PetscMemTypeDevice(backend->mtype) && asked != PC_HJACOBI_EXCHANGE_NCCL) {
    PetscCall(HJIPCAvailable(comm, &available, why));
    if (available) *ops = &HJHaloIPC;
  }
  if (PetscMemTypeDevice(backend->mtype) && !available && asked != PC_HJACOBI_EXCHANGE_IPC) {
  #if defined(HJACOBI_HAVE_NCCL)
    PetscCall(HJNCCLAvailable(comm, &available, why));
    if (available) *ops = &HJHaloNCCL;
  #else
    if (asked == PC_HJACOBI_EXCHANGE_NCCL) *why = "built without NCCL";
  #endif
  }
#endif
  PetscCheck(available || asked == PC_HJACOBI_EXCHANGE_AUTO, comm, PETSC_ERR_SUP, "-hj_exchange %s: %s; use petscsf or auto",
             PCHJacobiExchanges[asked], *why);
  if (asked != PC_HJACOBI_EXCHANGE_AUTO) *why = "asked for";
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorCheckExchanges(void)
{
  PetscFunctionBegin;
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(HJIPCCheck());
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorFindGrid(Mat A, DM dm, DM *da, char why[], size_t len)
{
  DM           candidate[2] = {dm, NULL};
  HJGetMemType own;

  PetscFunctionBegin;
  *da = NULL;
  PetscCall(PetscStrncpy(why, "no DM is attached to the PC or the matrix", len));
  PetscCall(MatGetDM(A, &candidate[1]));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, HJ_GET_MEMTYPE, &own));
  if (own) candidate[0] = candidate[1];
  for (int i = 0; i < 2 && !*da; i++) {
    if (!candidate[i] || (i && candidate[1] == candidate[0])) continue;
    PetscCall(HJStencilCheckDM(A, candidate[i], why, len));
    if (!why[0]) *da = candidate[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

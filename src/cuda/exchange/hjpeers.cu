/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Shared by the transports between GPUs: the attribute of a communicator that remembers what it can do, and packing. See hjpeers.h.
*/
#include "hjpeers.h"

static int    HJCommKeyval = MPI_KEYVAL_INVALID;
static HJComm HJComms; /* all that live: PETSc closes this library before it frees its own communicators */

static int MPIAPI HJCommDelete(MPI_Comm mpi, int keyval, void *attribute, void *unused)
{
  HJComm  c = (HJComm)attribute;
  HJComm *at;

  for (at = &HJComms; *at && *at != c; at = &(*at)->next) {}
  if (*at) *at = c->next;
  if (c->nccl_comm) c->nccl_free(c->nccl_comm);
  free(c);
  return MPI_SUCCESS;
}

static PetscErrorCode HJCommFinalize(void)
{
  PetscFunctionBegin;
  while (HJComms) PetscCallMPI(MPI_Comm_delete_attr(HJComms->mpi, HJCommKeyval));
  PetscCallMPI(MPI_Comm_free_keyval(&HJCommKeyval));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJCommGet(MPI_Comm comm, HJComm *c)
{
  int found = 0;

  PetscFunctionBegin;
  if (HJCommKeyval == MPI_KEYVAL_INVALID) {
    PetscCallMPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, HJCommDelete, &HJCommKeyval, NULL));
    PetscCall(PetscRegisterFinalize(HJCommFinalize));
  }
  PetscCallMPI(MPI_Comm_get_attr(comm, HJCommKeyval, (void *)c, &found));
  if (found) PetscFunctionReturn(PETSC_SUCCESS);
  /* Not PETSc's memory: the attribute may be deleted when PETSc is gone */
  *c = (HJComm)calloc(1, sizeof(**c));
  PetscCheck(*c, PETSC_COMM_SELF, PETSC_ERR_MEM, "Out of memory");
  (*c)->mpi  = comm;
  (*c)->next = HJComms;
  HJComms    = *c;
  PetscCallMPI(MPI_Comm_set_attr(comm, HJCommKeyval, *c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJCommAgree(HJComm c, HJCan *can, PetscBool mine, const char why[])
{
  int ok = mine ? 1 : 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_LAND, c->mpi));
  if (!ok) {
    can->available = PETSC_FALSE;
    PetscCall(PetscStrncpy(can->why, why, sizeof(can->why)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int HJCompareUUID(const void *a, const void *b)
{
  return memcmp(a, b, sizeof(cudaUUID_t));
}

PetscErrorCode HJCommCheckDevices(HJComm c, HJCan *can)
{
  struct cudaDeviceProp prop;
  cudaUUID_t           *all;
  int                   device;
  PetscMPIInt           size;
  PetscBool             distinct = PETSC_TRUE;

  PetscFunctionBegin;
#if PetscDefined(HAVE_CUDA)
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA)); /* PETSc gives the ranks their devices */
#endif
  PetscCallMPI(MPI_Comm_size(c->mpi, &size));
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaGetDeviceProperties(&prop, device));
  PetscCall(PetscMalloc1(size, &all));
  PetscCallMPI(MPI_Allgather(&prop.uuid, sizeof(cudaUUID_t), MPI_BYTE, all, sizeof(cudaUUID_t), MPI_BYTE, c->mpi));
  qsort(all, size, sizeof(cudaUUID_t), HJCompareUUID);
  for (PetscMPIInt i = 1; i < size; i++) distinct = (PetscBool)(distinct && HJCompareUUID(&all[i - 1], &all[i]));
  PetscCall(PetscFree(all));
  PetscCall(HJCommAgree(c, can, distinct, "ranks share a GPU"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static __global__ void HJGather_Kernel(PetscCount n, const PetscInt *__restrict__ from, const PetscScalar *__restrict__ in,
                                       const PetscInt *__restrict__ to, PetscScalar *__restrict__ out)
{
  const PetscCount i = (PetscCount)blockIdx.x * HJGATHER_THREADS + threadIdx.x;

  HJDLetNextStart(); /* at once: what needs not what is gathered here need not wait for what comes before it either */
  HJDAwaitInput();
  if (i < n) out[to ? to[i] : i] = in[from ? from[i] : i];
}

PetscErrorCode HJGather(cudaStream_t stream, PetscCount n, const PetscInt *from, const PetscScalar *in, const PetscInt *to,
                        PetscScalar *out)
{
  HJLaunch how    = {};
  void    *args[] = {&n, &from, &in, &to, &out};

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  how.grid    = dim3((unsigned)((n + HJGATHER_THREADS - 1) / HJGATHER_THREADS));
  how.block   = dim3(HJGATHER_THREADS);
  how.stream  = stream;
  how.overlap = true;
  PetscCallCUDA(HJLaunchKernel(&how, (const void *)HJGather_Kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJPeersUpload(void *to, const void *from, size_t bytes)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The numbers of n entries, dof each */
static PetscErrorCode HJUploadList(PetscInt dof, PetscCount n, const PetscInt *list, PetscInt **d_list)
{
  PetscInt *numbers;

  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(dof * n, &numbers));
  for (PetscCount i = 0; i < dof * n; i++) numbers[i] = list[i / dof] * dof + (PetscInt)(i % dof);
  PetscCall(HJAlloc(dof * n * sizeof(PetscInt), (void **)d_list));
  PetscCall(HJPeersUpload(*d_list, numbers, dof * n * sizeof(PetscInt)));
  PetscCall(PetscFree(numbers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The other ranks of a list by ranks, of entries of dof numbers; self is the place of this rank in it, or n */
static PetscErrorCode HJPeersCreate(PetscMPIInt me, PetscInt dof, PetscMPIInt n, const PetscMPIInt ranks[], const PetscInt offset[],
                                    const PetscInt list[], PetscMPIInt *self, HJPeers *side)
{
  PetscInt *index;

  PetscFunctionBegin;
  *self = n;
  PetscCall(PetscMalloc2(n, &side->rank, n + 1, &side->first));
  PetscCall(PetscMalloc1(n ? offset[n] : 0, &index));
  side->first[0] = 0;
  for (PetscMPIInt r = 0; r < n; r++) {
    const PetscInt count = offset[r + 1] - offset[r];

    if (ranks[r] == me) {
      *self = r;
    } else if (count) {
      PetscCall(PetscArraycpy(index + side->first[side->n], list + offset[r], count));
      side->rank[side->n]      = ranks[r];
      side->first[side->n + 1] = side->first[side->n] + count;
      side->n++;
    }
  }
  PetscCall(HJUploadList(dof, side->first[side->n], index, &side->d_index));
  for (PetscMPIInt r = 0; r <= side->n; r++) side->first[r] *= dof;
  PetscCall(PetscFree(index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJPackingCreate(HJHalo halo, HJPacking *p)
{
  PetscMPIInt        me, nroots, nleaves, self;
  const PetscMPIInt *root_ranks, *leaf_ranks;
  const PetscInt    *root_offset, *leaf_offset, *leaf_place, *root_entry, *sent;
  HJSFCount          nr, nl;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(halo->comm, &me));
  PetscCall(PetscSFGetRootRanks(halo->pattern, &nr, &root_ranks, &root_offset, &leaf_place, &root_entry));
  PetscCall(PetscSFGetLeafRanks(halo->pattern, &nl, &leaf_ranks, &leaf_offset, &sent));
  nroots = (PetscMPIInt)nr, nleaves = (PetscMPIInt)nl;
  PetscCall(HJPeersCreate(me, halo->dof, nleaves, leaf_ranks, leaf_offset, sent, &self, &p->send));
  PetscCall(HJPeersCreate(me, halo->dof, nroots, root_ranks, root_offset, leaf_place, &self, &p->recv));
  if (self < nroots) {
    p->nself = root_offset[self + 1] - root_offset[self];
    PetscCall(HJUploadList(halo->dof, p->nself, root_entry + root_offset[self], &p->d_self_from));
    PetscCall(HJUploadList(halo->dof, p->nself, leaf_place + root_offset[self], &p->d_self_to));
    p->nself *= halo->dof;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJPackingDestroy(HJPacking *p)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaFree(p->d_self_from));
  PetscCallCUDA(cudaFree(p->d_self_to));
  for (HJPeers *side : {&p->send, &p->recv}) {
    PetscCallCUDA(cudaFree(side->d_index));
    PetscCall(PetscFree2(side->rank, side->first));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJPackingSpread(const HJPacking *p, cudaStream_t stream, const PetscScalar *own, const PetscScalar *arrived,
                               PetscScalar *frame)
{
  PetscFunctionBegin;
  PetscCall(HJGather(stream, p->nself, p->d_self_from, own, p->d_self_to, frame));
  if (arrived) PetscCall(HJGather(stream, p->recv.first[p->recv.n], NULL, arrived, p->recv.d_index, frame));
  PetscFunctionReturn(PETSC_SUCCESS);
}

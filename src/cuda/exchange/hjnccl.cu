/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Halo transport between GPUs through NCCL, which is looked for at run time. Decides whether a communicator can use it; which entry goes
   where comes from the pattern of src/halo. All is done in PETSc's current stream: the sweeps wait for the halo anyway.
*/
#include "hjpeers.h"

#if defined(HJACOBI_HAVE_NCCL)
  #include <dlfcn.h>
  #include <nccl.h>

typedef struct {
  ncclResult_t (*GetUniqueId)(ncclUniqueId *);
  ncclResult_t (*CommInitRank)(ncclComm_t *, int, ncclUniqueId, int);
  ncclResult_t (*CommDestroy)(ncclComm_t);
  ncclResult_t (*Send)(const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
  ncclResult_t (*Recv)(void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
  ncclResult_t (*GroupStart)(void);
  ncclResult_t (*GroupEnd)(void);
  const char *(*GetErrorString)(ncclResult_t);
} HJNCCLFunctions;

static HJNCCLFunctions hj_nccl;

  #define PetscCallNCCL(...)                                                                                                               \
    do {                                                                                                                                   \
      const ncclResult_t hj_err_ = __VA_ARGS__;                                                                                            \
      PetscCheck(hj_err_ == ncclSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "NCCL error %d: %s", (int)hj_err_,                                \
                 hj_nccl.GetErrorString(hj_err_));                                                                                         \
    } while (0)

/* True: all functions were found */
static PetscBool HJNCCLLoad(void)
{
  const struct {
    const char *name;
    void      **place;
  } symbols[]   = {{"ncclGetUniqueId", (void **)&hj_nccl.GetUniqueId},
                   {"ncclCommInitRank", (void **)&hj_nccl.CommInitRank},
                   {"ncclCommDestroy", (void **)&hj_nccl.CommDestroy},
                   {"ncclSend", (void **)&hj_nccl.Send},
                   {"ncclRecv", (void **)&hj_nccl.Recv},
                   {"ncclGroupStart", (void **)&hj_nccl.GroupStart},
                   {"ncclGroupEnd", (void **)&hj_nccl.GroupEnd},
                   {"ncclGetErrorString", (void **)&hj_nccl.GetErrorString}};
  void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);

  if (!library) return PETSC_FALSE;
  for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
    *symbols[i].place = dlsym(library, symbols[i].name);
    if (!*symbols[i].place) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* Late in a program that is ending: what fails here has nobody to tell */
static void HJNCCLCommFree(void *comm)
{
  (void)hj_nccl.CommDestroy((ncclComm_t)comm);
}

/* Collective */
static PetscErrorCode HJNCCLCommInit(HJComm c, PetscMPIInt rank, PetscMPIInt size)
{
  ncclUniqueId id;
  ncclComm_t   comm;
  ncclResult_t status = ncclSuccess;
  char         why[160];

  PetscFunctionBegin;
  if (rank == 0) status = hj_nccl.GetUniqueId(&id);
  PetscCall(HJCommAgree(c, &c->nccl, (PetscBool)(status == ncclSuccess), "ncclGetUniqueId() failed; NCCL_DEBUG=WARN says more"));
  if (!c->nccl.available) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, c->mpi));
  status = hj_nccl.CommInitRank(&comm, size, id, rank);
  if (status == ncclSuccess) {
    c->nccl_comm = comm;
    c->nccl_free = HJNCCLCommFree;
  }
  PetscCall(PetscSNPrintf(why, sizeof(why), "%s; NCCL_DEBUG=WARN says more",
                          status == ncclSuccess ? "ncclCommInitRank() failed on another rank" : hj_nccl.GetErrorString(status)));
  PetscCall(HJCommAgree(c, &c->nccl, (PetscBool)(status == ncclSuccess), why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJNCCLAvailable(MPI_Comm comm, PetscBool *available, const char **why)
{
  HJComm      c;
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCall(HJCommGet(comm, &c));
  if (!c->nccl.known) {
    c->nccl.known = c->nccl.available = PETSC_TRUE;
    PetscCall(PetscStrncpy(c->nccl.why, "NCCL, a GPU for each rank", sizeof(c->nccl.why)));
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    PetscCallMPI(MPI_Comm_size(comm, &size));
    PetscCall(HJCommAgree(c, &c->nccl, (PetscBool)(size > 1), "one rank"));
    if (c->nccl.available) PetscCall(HJCommAgree(c, &c->nccl, HJNCCLLoad(), "no libnccl.so.2 here"));
    if (c->nccl.available) PetscCall(HJCommCheckDevices(c, &c->nccl));
    if (c->nccl.available) PetscCall(HJNCCLCommInit(c, rank, size));
  }
  *available = c->nccl.available;
  *why       = c->nccl.why;
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  ncclComm_t  comm;
  PetscMPIInt me;
  HJPacking   pack;              /* where the runs are too many */
  double     *send[2], *recv[2]; /* packed x and b */
} HJHalo_NCCL;

/* Inside a group: one vector, straight from it and into its frame */
static PetscErrorCode HJNCCLRuns(const HJHalo halo, cudaStream_t stream, const double *from, double *frame)
{
  const HJHalo_NCCL *h = (const HJHalo_NCCL *)halo->data;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < halo->nsend; i++) {
    const HJHaloRun *r = &halo->send[i];

    if (r->rank == h->me)
      PetscCallCUDA(cudaMemcpyAsync(frame + r->to, from + r->from, r->n * sizeof(double), cudaMemcpyDeviceToDevice, stream));
    else PetscCallNCCL(hj_nccl.Send(from + r->from, (size_t)r->n, ncclFloat64, r->rank, h->comm, stream));
  }
  for (PetscInt i = 0; i < halo->nrecv; i++) {
    const HJHaloRun *r = &halo->recv[i];

    if (r->rank != h->me) PetscCallNCCL(hj_nccl.Recv(frame + r->to, (size_t)r->n, ncclFloat64, r->rank, h->comm, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Inside a group: what was packed goes out, what the others packed comes in */
static PetscErrorCode HJNCCLPacked(const HJHalo_NCCL *h, cudaStream_t stream, const double *send, double *recv)
{
  const HJPeers *s = &h->pack.send, *r = &h->pack.recv;

  PetscFunctionBegin;
  for (PetscMPIInt p = 0; p < s->n; p++)
    PetscCallNCCL(hj_nccl.Send(send + s->first[p], (size_t)(s->first[p + 1] - s->first[p]), ncclFloat64, s->rank[p], h->comm, stream));
  for (PetscMPIInt p = 0; p < r->n; p++)
    PetscCallNCCL(hj_nccl.Recv(recv + r->first[p], (size_t)(r->first[p + 1] - r->first[p]), ncclFloat64, r->rank[p], h->comm, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHaloBegin_NCCL(HJHalo halo, PetscMemType mtype, const PetscScalar *const from[2], PetscScalar *frame[2])
{
  HJHalo_NCCL *h = (HJHalo_NCCL *)halo->data;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  for (int i = 0; i < 2 && !halo->direct; i++)
    if (from[i]) PetscCall(HJGather(stream, h->pack.send.first[h->pack.send.n], h->pack.send.d_index, from[i], NULL, h->send[i]));
  PetscCallNCCL(hj_nccl.GroupStart());
  for (int i = 0; i < 2; i++) {
    if (!from[i]) continue;
    if (halo->direct) PetscCall(HJNCCLRuns(halo, stream, from[i], frame[i]));
    else PetscCall(HJNCCLPacked(h, stream, h->send[i], h->recv[i]));
  }
  PetscCallNCCL(hj_nccl.GroupEnd());
  for (int i = 0; i < 2 && !halo->direct; i++)
    if (from[i]) PetscCall(HJPackingSpread(&h->pack, stream, from[i], h->recv[i], frame[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHaloEnd_NCCL(HJHalo halo, PetscMemType mtype, const PetscScalar *const from[2], PetscScalar *frame[2])
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NCCL connects peers when they first meet, which allocates: now, not in apply. What travels does not matter */
static PetscErrorCode HJNCCLConnect(HJHalo halo)
{
  HJHalo_NCCL *h = (HJHalo_NCCL *)halo->data;
  double      *one;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCall(HJAlloc(2 * sizeof(double), (void **)&one));
  PetscCallNCCL(hj_nccl.GroupStart());
  for (PetscInt i = 0; i < (halo->direct ? halo->nsend : h->pack.send.n); i++) {
    const PetscMPIInt rank = halo->direct ? halo->send[i].rank : h->pack.send.rank[i];

    if (rank != h->me) PetscCallNCCL(hj_nccl.Send(one, 1, ncclFloat64, rank, h->comm, stream));
  }
  for (PetscInt i = 0; i < (halo->direct ? halo->nrecv : h->pack.recv.n); i++) {
    const PetscMPIInt rank = halo->direct ? halo->recv[i].rank : h->pack.recv.rank[i];

    if (rank != h->me) PetscCallNCCL(hj_nccl.Recv(one + 1, 1, ncclFloat64, rank, h->comm, stream));
  }
  PetscCallNCCL(hj_nccl.GroupEnd());
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCallCUDA(cudaFree(one));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHaloCreate_NCCL(HJHalo halo)
{
  HJHalo_NCCL *h;
  HJComm       c;
  PetscBool    available;
  const char  *why;

  PetscFunctionBegin;
  PetscCall(PetscNew(&h));
  halo->data = h;
  PetscCall(HJNCCLAvailable(halo->comm, &available, &why)); /* who chose the transport may have asked for another communicator */
  PetscCheck(available, halo->comm, PETSC_ERR_SUP, "Exchange nccl: %s; use petscsf or auto", why);
  PetscCall(HJCommGet(halo->comm, &c));
  h->comm = (ncclComm_t)c->nccl_comm;
  PetscCallMPI(MPI_Comm_rank(halo->comm, &h->me));
  if (!halo->direct) {
    PetscCall(HJPackingCreate(halo, &h->pack));
    for (int i = 0; i < 2; i++) {
      PetscCall(HJAlloc(h->pack.send.first[h->pack.send.n] * sizeof(double), (void **)&h->send[i]));
      PetscCall(HJAlloc(h->pack.recv.first[h->pack.recv.n] * sizeof(double), (void **)&h->recv[i]));
    }
  }
  PetscCall(HJNCCLConnect(halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHaloDestroy_NCCL(HJHalo halo)
{
  HJHalo_NCCL *h = (HJHalo_NCCL *)halo->data;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    PetscCallCUDA(cudaFree(h->send[i]));
    PetscCallCUDA(cudaFree(h->recv[i]));
  }
  PetscCall(HJPackingDestroy(&h->pack));
  PetscCall(PetscFree(halo->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJHaloOps HJHaloNCCL = {.name       = "nccl",
                              .create     = HJHaloCreate_NCCL,
                              .begin      = HJHaloBegin_NCCL,
                              .end        = HJHaloEnd_NCCL,
                              .destroy    = HJHaloDestroy_NCCL,
                              .one_launch = PETSC_TRUE};
#endif

/*
   Halo transport between GPUs through NCCL, which is looked for at run time. Decides whether a communicator can use it, and in which streams the halo
   travels; which entry goes where comes from the pattern of src/halo.
*/
#include "hjcuda_impl.h"

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

/* What a communicator keeps, as an attribute */
typedef struct _n_HJNCCLComm *HJNCCLComm;
struct _n_HJNCCLComm {
  MPI_Comm     mpi;
  PetscBool    available;
  char         why[160];
  ncclComm_t   nccl;
  cudaStream_t copy, wire; /* packing and unpacking; sends and receives. Both ahead of the sweeps in priority */
  HJNCCLComm   next;
};

static HJNCCLFunctions hj_nccl;
static int             HJNCCLKeyval = MPI_KEYVAL_INVALID;
static HJNCCLComm      HJNCCLComms; /* all that live: PETSc closes this library before it frees its own communicators */

  #define PetscCallNCCL(...)                                                                                                                                                                                                                             \
    do {                                                                                                                                                                                                                                                 \
      const ncclResult_t hj_err_ = __VA_ARGS__;                                                                                                                                                                                                          \
      PetscCheck(hj_err_ == ncclSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "NCCL error %d: %s", (int)hj_err_, hj_nccl.GetErrorString(hj_err_));                                                                                                            \
    } while (0)

/* True: all functions were found */
static PetscBool HJNCCLLoad(void)
{
  const struct {
    const char *name;
    void      **place;
  } symbols[] =
    {{"ncclGetUniqueId", (void **)&hj_nccl.GetUniqueId}, {"ncclCommInitRank", (void **)&hj_nccl.CommInitRank}, {"ncclCommDestroy", (void **)&hj_nccl.CommDestroy},      {"ncclSend", (void **)&hj_nccl.Send}, {"ncclRecv", (void **)&hj_nccl.Recv},
     {"ncclGroupStart", (void **)&hj_nccl.GroupStart},   {"ncclGroupEnd", (void **)&hj_nccl.GroupEnd},         {"ncclGetErrorString", (void **)&hj_nccl.GetErrorString}};
  void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);

  if (!library) return PETSC_FALSE;
  for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
    *symbols[i].place = dlsym(library, symbols[i].name);
    if (!*symbols[i].place) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

static int MPIAPI HJNCCLCommDelete(MPI_Comm mpi, int keyval, void *attribute, void *unused)
{
  HJNCCLComm  c = (HJNCCLComm)attribute;
  HJNCCLComm *at;

  for (at = &HJNCCLComms; *at && *at != c; at = &(*at)->next) {}
  if (*at) *at = c->next;
  /* Late in a program that is ending: what fails here has nobody to tell */
  if (c->nccl) (void)hj_nccl.CommDestroy(c->nccl);
  if (c->copy) (void)cudaStreamDestroy(c->copy);
  if (c->wire) (void)cudaStreamDestroy(c->wire);
  free(c);
  return MPI_SUCCESS;
}

static PetscErrorCode HJNCCLFinalize(void)
{
  PetscFunctionBegin;
  while (HJNCCLComms) PetscCallMPI(MPI_Comm_delete_attr(HJNCCLComms->mpi, HJNCCLKeyval));
  PetscCallMPI(MPI_Comm_free_keyval(&HJNCCLKeyval));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. One rank's refusal is everyone's */
static PetscErrorCode HJNCCLAgree(HJNCCLComm c, PetscBool mine, const char why[])
{
  int ok = mine ? 1 : 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_LAND, c->mpi));
  if (!ok) {
    c->available = PETSC_FALSE;
    PetscCall(PetscStrncpy(c->why, why, sizeof(c->why)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int HJNCCLCompareUUID(const void *a, const void *b)
{
  return memcmp(a, b, sizeof(cudaUUID_t));
}

/* Collective. NCCL refuses or hangs where ranks share a GPU */
static PetscErrorCode HJNCCLCheckDevices(HJNCCLComm c, PetscMPIInt size)
{
  struct cudaDeviceProp prop;
  cudaUUID_t           *all;
  int                   device;
  PetscBool             distinct = PETSC_TRUE;

  PetscFunctionBegin;
  #if PetscDefined(HAVE_CUDA)
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA)); /* PETSc gives the ranks their devices */
  #endif
  PetscCallCUDA(cudaGetDevice(&device));
  PetscCallCUDA(cudaGetDeviceProperties(&prop, device));
  PetscCall(PetscMalloc1(size, &all));
  PetscCallMPI(MPI_Allgather(&prop.uuid, sizeof(cudaUUID_t), MPI_BYTE, all, sizeof(cudaUUID_t), MPI_BYTE, c->mpi));
  qsort(all, size, sizeof(cudaUUID_t), HJNCCLCompareUUID);
  for (PetscMPIInt i = 1; i < size; i++) distinct = (PetscBool)(distinct && HJNCCLCompareUUID(&all[i - 1], &all[i]));
  PetscCall(PetscFree(all));
  PetscCall(HJNCCLAgree(c, distinct, "ranks share a GPU"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective */
static PetscErrorCode HJNCCLCommInit(HJNCCLComm c, PetscMPIInt rank, PetscMPIInt size)
{
  ncclUniqueId id;
  ncclResult_t status = ncclSuccess;
  char         why[160];
  int          least, greatest;

  PetscFunctionBegin;
  if (rank == 0) status = hj_nccl.GetUniqueId(&id);
  PetscCall(HJNCCLAgree(c, (PetscBool)(status == ncclSuccess), "ncclGetUniqueId() failed; NCCL_DEBUG=WARN says more"));
  if (!c->available) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, c->mpi));
  status = hj_nccl.CommInitRank(&c->nccl, size, id, rank);
  if (status != ncclSuccess) c->nccl = NULL;
  PetscCall(PetscSNPrintf(why, sizeof(why), "%s; NCCL_DEBUG=WARN says more", status == ncclSuccess ? "ncclCommInitRank() failed on another rank" : hj_nccl.GetErrorString(status)));
  PetscCall(HJNCCLAgree(c, (PetscBool)(status == ncclSuccess), why));
  if (!c->available) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  PetscCallCUDA(cudaStreamCreateWithPriority(&c->copy, cudaStreamNonBlocking, greatest));
  PetscCallCUDA(cudaStreamCreateWithPriority(&c->wire, cudaStreamNonBlocking, greatest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJNCCLCommCreate(MPI_Comm comm, HJNCCLComm *out)
{
  HJNCCLComm  c;
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  /* Not PETSc's memory: the attribute may be deleted when PETSc is gone */
  c = (HJNCCLComm)calloc(1, sizeof(*c));
  PetscCheck(c, PETSC_COMM_SELF, PETSC_ERR_MEM, "Out of memory");
  if (HJNCCLKeyval == MPI_KEYVAL_INVALID) {
    PetscCallMPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, HJNCCLCommDelete, &HJNCCLKeyval, NULL));
    PetscCall(PetscRegisterFinalize(HJNCCLFinalize));
  }
  c->mpi      = comm;
  c->next     = HJNCCLComms;
  HJNCCLComms = c;
  PetscCallMPI(MPI_Comm_set_attr(comm, HJNCCLKeyval, c));
  c->available = PETSC_TRUE;
  PetscCall(PetscStrncpy(c->why, "NCCL, a GPU for each rank", sizeof(c->why)));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(HJNCCLAgree(c, (PetscBool)(size > 1), "one rank"));
  if (c->available) PetscCall(HJNCCLAgree(c, HJNCCLLoad(), "no libnccl.so.2 here"));
  if (c->available) PetscCall(HJNCCLCheckDevices(c, size));
  if (c->available) PetscCall(HJNCCLCommInit(c, rank, size));
  *out = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJNCCLCommGet(MPI_Comm comm, HJNCCLComm *c)
{
  int found = 0;

  PetscFunctionBegin;
  if (HJNCCLKeyval != MPI_KEYVAL_INVALID) PetscCallMPI(MPI_Comm_get_attr(comm, HJNCCLKeyval, (void *)c, &found));
  if (!found) PetscCall(HJNCCLCommCreate(comm, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJNCCLAvailable(MPI_Comm comm, PetscBool *available, const char **why)
{
  HJNCCLComm c;

  PetscFunctionBegin;
  PetscCall(HJNCCLCommGet(comm, &c));
  *available = c->available;
  *why       = c->why;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One direction of the exchange: peer p has the entries first[p] ... first[p + 1] of the buffers and of index */
typedef struct {
  PetscMPIInt n, *rank;
  PetscCount *first;
  PetscInt   *d_index;
} HJNCCLSide;

/* One exchange that may be under way; b's and x's are at the same time */
typedef struct {
  PetscScalar *frame; /* NULL: free */
  double      *send, *recv;
  cudaEvent_t  ready, packed, arrived, done;
} HJNCCLSlot;

typedef struct {
  HJNCCLComm comm;
  HJNCCLSide send, recv;
  PetscCount nself; /* entries that this rank itself holds */
  PetscInt  *d_self_from, *d_self_to;
  HJNCCLSlot slot[2];
} HJHalo_NCCL;

  #define HJNCCL_THREADS 256

/* An index that is NULL counts up */
static __global__ void HJGather_Kernel(PetscCount n, const PetscInt *__restrict__ from, const double *__restrict__ in, const PetscInt *__restrict__ to, double *__restrict__ out)
{
  const PetscCount i = (PetscCount)blockIdx.x * HJNCCL_THREADS + threadIdx.x;

  if (i < n) out[to ? to[i] : i] = in[from ? from[i] : i];
}

static PetscErrorCode HJGather(cudaStream_t stream, PetscCount n, const PetscInt *from, const double *in, const PetscInt *to, double *out)
{
  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  HJGather_Kernel<<<(unsigned)((n + HJNCCL_THREADS - 1) / HJNCCL_THREADS), HJNCCL_THREADS, 0, stream>>>(n, from, in, to, out);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJNCCLUpload(PetscCount n, const PetscInt *list, PetscInt **d_list)
{
  PetscFunctionBegin;
  if (!n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallCUDA(cudaMalloc((void **)d_list, n * sizeof(PetscInt)));
  PetscCallCUDA(cudaMemcpy(*d_list, list, n * sizeof(PetscInt), cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The other ranks of a list by ranks; self is the place of this rank in it, or n */
static PetscErrorCode HJNCCLSideCreate(PetscMPIInt me, PetscMPIInt n, const PetscMPIInt ranks[], const PetscInt offset[], const PetscInt list[], PetscMPIInt *self, HJNCCLSide *side)
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
  PetscCall(HJNCCLUpload(side->first[side->n], index, &side->d_index));
  PetscCall(PetscFree(index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJNCCLSlotCreate(const HJHalo_NCCL *h, HJNCCLSlot *slot)
{
  const size_t nsend = (size_t)h->send.first[h->send.n], nrecv = (size_t)h->recv.first[h->recv.n];
  cudaEvent_t *events[] = {&slot->ready, &slot->packed, &slot->arrived, &slot->done};

  PetscFunctionBegin;
  if (nsend) PetscCallCUDA(cudaMalloc((void **)&slot->send, nsend * sizeof(double)));
  if (nrecv) PetscCallCUDA(cudaMalloc((void **)&slot->recv, nrecv * sizeof(double)));
  for (int i = 0; i < 4; i++) PetscCallCUDA(cudaEventCreateWithFlags(events[i], cudaEventDisableTiming));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What was packed goes out, what the others packed comes in */
static PetscErrorCode HJNCCLTransfer(const HJHalo_NCCL *h, const HJNCCLSlot *slot)
{
  PetscFunctionBegin;
  PetscCallNCCL(hj_nccl.GroupStart());
  for (PetscMPIInt p = 0; p < h->send.n; p++) PetscCallNCCL(hj_nccl.Send(slot->send + h->send.first[p], (size_t)(h->send.first[p + 1] - h->send.first[p]), ncclFloat64, h->send.rank[p], h->comm->nccl, h->comm->wire));
  for (PetscMPIInt p = 0; p < h->recv.n; p++) PetscCallNCCL(hj_nccl.Recv(slot->recv + h->recv.first[p], (size_t)(h->recv.first[p + 1] - h->recv.first[p]), ncclFloat64, h->recv.rank[p], h->comm->nccl, h->comm->wire));
  PetscCallNCCL(hj_nccl.GroupEnd());
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHaloCreate_NCCL(HJHalo halo)
{
  HJHalo_NCCL       *h;
  PetscMPIInt        me, nroots, nleaves, self;
  const PetscMPIInt *root_ranks, *leaf_ranks;
  const PetscInt    *root_offset, *leaf_offset, *leaf_place, *root_entry, *sent;
  HJSFCount          nr, nl;

  PetscFunctionBegin;
  PetscCall(PetscNew(&h));
  halo->data = h;
  PetscCall(HJNCCLCommGet(halo->comm, &h->comm));
  PetscCheck(h->comm->available, halo->comm, PETSC_ERR_SUP, "Exchange nccl: %s; use petscsf or auto", h->comm->why);
  PetscCallMPI(MPI_Comm_rank(halo->comm, &me));
  PetscCall(PetscSFGetRootRanks(halo->pattern, &nr, &root_ranks, &root_offset, &leaf_place, &root_entry));
  PetscCall(PetscSFGetLeafRanks(halo->pattern, &nl, &leaf_ranks, &leaf_offset, &sent));
  nroots = (PetscMPIInt)nr, nleaves = (PetscMPIInt)nl;
  PetscCall(HJNCCLSideCreate(me, nleaves, leaf_ranks, leaf_offset, sent, &self, &h->send));
  PetscCall(HJNCCLSideCreate(me, nroots, root_ranks, root_offset, leaf_place, &self, &h->recv));
  if (self < nroots) {
    h->nself = root_offset[self + 1] - root_offset[self];
    PetscCall(HJNCCLUpload(h->nself, root_entry + root_offset[self], &h->d_self_from));
    PetscCall(HJNCCLUpload(h->nself, leaf_place + root_offset[self], &h->d_self_to));
  }
  for (int i = 0; i < 2; i++) PetscCall(HJNCCLSlotCreate(h, &h->slot[i]));
  /* NCCL connects peers when they first meet, which allocates: now, not in apply */
  PetscCall(HJNCCLTransfer(h, &h->slot[0]));
  PetscCallCUDA(cudaStreamSynchronize(h->comm->wire));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Pack, then send and receive. The current stream waits for the packing: then x may change, and the sweep that comes next and fills the GPU becomes ready
   no earlier than NCCL's kernel, which is ahead in priority; NCCL would else wait until the sweep leaves it room
*/
static PetscErrorCode HJHaloBegin_NCCL(HJHalo halo, PetscMemType mtype, const PetscScalar *x, PetscScalar *frame)
{
  HJHalo_NCCL *h    = (HJHalo_NCCL *)halo->data;
  HJNCCLSlot  *slot = h->slot[0].frame ? &h->slot[1] : &h->slot[0];
  cudaStream_t copy = h->comm->copy, wire = h->comm->wire, current;

  PetscFunctionBegin;
  PetscCheck(!slot->frame, PETSC_COMM_SELF, PETSC_ERR_PLIB, "More than two exchanges at the same time");
  slot->frame = frame;
  PetscCall(HJStream(&current));
  PetscCallCUDA(cudaEventRecord(slot->ready, current));
  PetscCallCUDA(cudaStreamWaitEvent(copy, slot->ready, 0));
  PetscCall(HJGather(copy, h->send.first[h->send.n], h->send.d_index, x, NULL, slot->send));
  PetscCallCUDA(cudaEventRecord(slot->packed, copy));
  PetscCallCUDA(cudaStreamWaitEvent(wire, slot->packed, 0));
  PetscCall(HJNCCLTransfer(h, slot));
  PetscCallCUDA(cudaEventRecord(slot->arrived, wire));
  PetscCallCUDA(cudaStreamWaitEvent(current, slot->packed, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Own points, then what arrives, into the frame. The slot's buffers are free for whatever comes later on the copy stream */
static PetscErrorCode HJHaloEnd_NCCL(HJHalo halo, PetscMemType mtype, const PetscScalar *x, PetscScalar *frame)
{
  HJHalo_NCCL *h    = (HJHalo_NCCL *)halo->data;
  HJNCCLSlot  *slot = h->slot[0].frame == frame ? &h->slot[0] : &h->slot[1];
  cudaStream_t copy = h->comm->copy, current;

  PetscFunctionBegin;
  PetscCheck(slot->frame == frame, PETSC_COMM_SELF, PETSC_ERR_PLIB, "End of an exchange that was not begun");
  slot->frame = NULL;
  PetscCall(HJStream(&current));
  PetscCall(HJGather(copy, h->nself, h->d_self_from, x, h->d_self_to, frame));
  PetscCallCUDA(cudaStreamWaitEvent(copy, slot->arrived, 0));
  PetscCall(HJGather(copy, h->recv.first[h->recv.n], NULL, slot->recv, h->recv.d_index, frame));
  PetscCallCUDA(cudaEventRecord(slot->done, copy));
  PetscCallCUDA(cudaStreamWaitEvent(current, slot->done, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHaloDestroy_NCCL(HJHalo halo)
{
  HJHalo_NCCL *h = (HJHalo_NCCL *)halo->data;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    HJNCCLSlot *s = &h->slot[i];

    PetscCallCUDA(cudaFree(s->send));
    PetscCallCUDA(cudaFree(s->recv));
    PetscCallCUDA(cudaEventDestroy(s->ready));
    PetscCallCUDA(cudaEventDestroy(s->packed));
    PetscCallCUDA(cudaEventDestroy(s->arrived));
    PetscCallCUDA(cudaEventDestroy(s->done));
  }
  PetscCallCUDA(cudaFree(h->d_self_from));
  PetscCallCUDA(cudaFree(h->d_self_to));
  PetscCallCUDA(cudaFree(h->send.d_index));
  PetscCallCUDA(cudaFree(h->recv.d_index));
  PetscCall(PetscFree2(h->send.rank, h->send.first));
  PetscCall(PetscFree2(h->recv.rank, h->recv.first));
  PetscCall(PetscFree(halo->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJHaloOps HJHaloNCCL = {"nccl", HJHaloCreate_NCCL, HJHaloBegin_NCCL, HJHaloEnd_NCCL, HJHaloDestroy_NCCL, PETSC_TRUE};
#endif

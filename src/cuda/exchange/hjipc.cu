/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Halo transport between the GPUs of one host: every rank writes straight into its peers' buffers, which CUDA IPC maps at set-up; apply
   needs neither MPI nor the host. Decides whether a communicator can use it and when a buffer may be written again; which entry goes
   where comes from the pattern of src/halo.

   One kernel is one exchange, or two: it writes what the peers need, raises this rank's flag at each of them and waits for theirs. Flags
   hold the number of the exchange. The two vectors have two buffers each, used in turn: who writes the one of exchange e + 2 has seen the
   flag of exchange e + 1, and a rank raises that one behind the sweeps that read exchange e. A halo has buffers and flags of its own, so
   that halos do not meet.

   Launches may be recorded and replayed: the number of an exchange is counted on the device, and which buffer is whose turn depends inside
   a cycle on the cycle alone. So the first exchange of a cycle may write the buffer that the last one before it was read from: all ranks
   wait for one another where a cycle begins, and again before an exchange outside of cycles of a halo that cycles use too, which always
   takes the same buffer.

   A peer that has died would never raise its flag. Who has waited too long says so in a word of host memory and goes on; what it then
   computes is of no use, and the next call that sees the word is an error: the next exchange, whoever has waited for a norm and asks
   HJIPCCheck(), or the end of the halo.
*/
#include "hjpeers.h"

#define HJIPC_FLAG 32      /* unsigneds from flag to flag: a line each */
#define HJIPC_PAGE 2097152 /* what CUDA maps: smaller allocations share it, and would be mapped with others */

/* Entries of this rank's vector for one rank's buffers */
typedef struct {
  const PetscInt *index; /* NULL: from, from + 1, ... */
  PetscCount      from, n;
  double         *to;     /* in the first of the four buffers */
  PetscCount      stride; /* from buffer to buffer */
} HJIPCRun;

typedef struct {
  const HJIPCRun    *run;
  int                nruns, npeers, vectors, longest; /* longest: entries of a run, at most */
  const double      *from[2];                         /* by blockIdx.z */
  int                slot[2];                         /* which of the four buffers */
  unsigned          *own, *counter;
  unsigned          *number; /* of the last exchange */
  unsigned *const   *peer;
  unsigned          *late; /* counter's neighbour and, in host memory, the same again: 0, or which peer did not come, from 1 on */
  unsigned          *h_late;
  unsigned long long limit; /* ns that a flag is waited for; 0: without end */
} HJIPCArgs;

/* One exchange, or two of different halos; layers: of blocks in z for each, one a vector, at least one; the second's 0: there is one */
typedef struct {
  HJIPCArgs exchange[2];
  int       layers[2];
} HJIPCLaunchArgs;

static __device__ __forceinline__ void HJIPCRaise(unsigned *flag, unsigned number)
{
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(number) : "memory");
}

static __device__ __forceinline__ bool HJIPCRaised(const unsigned *flag, unsigned number)
{
  unsigned seen;

  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
  return (int)(seen - number) >= 0; /* numbers wrap around */
}

static __device__ __forceinline__ unsigned long long HJIPCNow()
{
  unsigned long long now;

  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

/* Peer p's flag. Once somebody was late nobody is waited for any more: launches that are already under way end at once */
static __device__ void HJIPCAwait(const HJIPCArgs &a, unsigned number, int p)
{
  const unsigned    *flag  = a.own + p * HJIPC_FLAG;
  unsigned long long start = 0;

  for (unsigned n = 1; !HJIPCRaised(flag, number); n++) {
    if (!a.limit || n % HJIPC_SPINS) continue;
    if (!start) start = HJIPCNow();
    if (*(volatile unsigned *)a.late) return;
    if (HJIPCNow() - start < a.limit) continue;
    atomicExch(a.late, p + 1);
    HJIPCRaise(a.h_late, p + 1);
    return;
  }
}

/* Blocks in y: runs, in z: vectors. The last block of an exchange to be done raises the flags and waits, so that no block is in the way of
   others. What is read first does not change, or not before that block is the last */
static __global__ void __launch_bounds__(HJIPC_THREADS) HJIPC_Kernel(const __grid_constant__ HJIPCLaunchArgs all)
{
  const int        second = (int)blockIdx.z >= all.layers[0], vector = blockIdx.z - (second ? all.layers[0] : 0);
  const HJIPCArgs &a      = all.exchange[second];
  const unsigned   blocks = gridDim.x * gridDim.y * all.layers[second];
  unsigned        *flag   = (int)threadIdx.x < a.npeers ? a.peer[threadIdx.x] : NULL;
  HJIPCRun         r      = {};
  __shared__ bool  s_last;

  if ((int)blockIdx.y < a.nruns) r = a.run[blockIdx.y];
  HJDAwaitInput();
  HJDLetNextStart();
  const unsigned number = 1 + *(volatile unsigned *)a.number;

  if ((int)blockIdx.y < a.nruns) {
    const double    *from = a.from[vector] + r.from;
    double          *to   = r.to + a.slot[vector] * r.stride;
    const PetscCount step = (PetscCount)gridDim.x * HJIPC_THREADS;

    for (PetscCount i = (PetscCount)blockIdx.x * HJIPC_THREADS + threadIdx.x; i < r.n; i += HJIPC_UNROLL * step) {
      double v[HJIPC_UNROLL];

#pragma unroll
      for (int u = 0; u < HJIPC_UNROLL; u++)
        if (i + u * step < r.n) v[u] = from[r.index ? r.index[i + u * step] : i + u * step];
#pragma unroll
      for (int u = 0; u < HJIPC_UNROLL; u++)
        if (i + u * step < r.n) to[i + u * step] = v[u];
    }
  }
  __syncthreads();
  if (blocks > 1) { /* one alone need not ask */
    if (threadIdx.x == 0) {
      __threadfence_system();
      s_last = atomicAdd(a.counter, 1) == blocks - 1;
      __threadfence_system();
    }
    __syncthreads();
    if (!s_last) return;
    if (threadIdx.x == 0) *a.counter = 0;
  }
  if (threadIdx.x == 0) *a.number = number;
  for (int p = threadIdx.x; p < a.npeers; p += HJIPC_THREADS) HJIPCRaise(p < HJIPC_THREADS ? flag : a.peer[p], number);
  for (int p = threadIdx.x; p < a.npeers; p += HJIPC_THREADS) HJIPCAwait(a, number, p);
}

/*
   What a rank tells a peer: its memory, where its four buffers begin, how long each is, where the peer's flag is, and where what the peer
   packs begins
*/
typedef struct {
  cudaIpcMemHandle_t memory;
  PetscInt64         buffers, stride, flag, first;
} HJIPCCard;

typedef struct _n_HJHalo_IPC HJHalo_IPC;
struct _n_HJHalo_IPC {
  PetscMPIInt npeers, *rank; /* ascending; who sends to this rank or receives from it, itself not */
  HJIPCCard  *card;          /* the peers' */
  char      **mapped;        /* their memory */
  char       *memory;        /* flags, counters, four buffers */
  PetscCount  buffers, stride;
  HJIPCRun   *run, *d_run;
  int         nruns;
  PetscCount  longest;
  unsigned  **d_peer;
  unsigned   *h_late;  /* see HJIPCArgs; the device's address is the same */
  PetscReal   timeout; /* of the last exchange */
  bool        told;    /* that a peer was late was an error of some call */
  bool        written; /* sweeps have put x into the peers' next buffers */
  int         turn[2]; /* buffer of the last exchange of each vector */
  HJPacking   pack;    /* where the runs are too many: buffers hold what arrives, packed */
  PetscInt64  cycle;   /* the last one that used it, 0: none */
  PetscInt64  outer;   /* of cycle(): the one that was under way when its own began */
  HJHalo_IPC *next;    /* of all halos of this process */
};

static HJHalo_IPC *hj_halos;

static PetscInt64 hj_cycle, hj_cycles; /* the one that is under way, 0: none; how many there were */

/* Collective. Whether all ranks can map the others' memory: tried */
static PetscErrorCode HJIPCTry(HJComm c)
{
  MPI_Comm            host;
  PetscMPIInt         rank, size, nhost;
  cudaIpcMemHandle_t *handle;
  void               *mine = NULL;
  cudaError_t         err  = cudaSuccess;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(c->mpi, &rank));
  PetscCallMPI(MPI_Comm_size(c->mpi, &size));
  PetscCallMPI(MPI_Comm_split_type(c->mpi, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &host));
  PetscCallMPI(MPI_Comm_size(host, &nhost));
  PetscCallMPI(MPI_Comm_free(&host));
  PetscCall(HJCommAgree(c, &c->ipc, (PetscBool)(nhost == size), "ranks are on several hosts"));
  if (c->ipc.available) PetscCall(HJCommCheckDevices(c, &c->ipc));
  if (!c->ipc.available || size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJAlloc(HJIPC_PAGE, &mine));
  PetscCall(PetscCalloc1(size, &handle));
  err = cudaIpcGetMemHandle(&handle[rank], mine);
  PetscCall(HJCommAgree(c, &c->ipc, (PetscBool)(err == cudaSuccess), "CUDA IPC is not to be had here"));
  PetscCallMPI(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, handle, sizeof(*handle), MPI_BYTE, c->mpi));
  for (PetscMPIInt p = 0; p < size && c->ipc.available && err == cudaSuccess; p++) {
    void *at;

    if (p == rank) continue;
    err = cudaIpcOpenMemHandle(&at, handle[p], cudaIpcMemLazyEnablePeerAccess);
    if (err == cudaSuccess) PetscCallCUDA(cudaIpcCloseMemHandle(at));
  }
  (void)cudaGetLastError(); /* a refusal is not an error of this process */
  if (c->ipc.available) PetscCall(HJCommAgree(c, &c->ipc, (PetscBool)(err == cudaSuccess), "GPUs do not reach one another's memory"));
  PetscCall(PetscFree(handle));
  PetscCallCUDA(cudaFree(mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJIPCAvailable(MPI_Comm comm, PetscBool *available, const char **why)
{
  HJComm c;

  PetscFunctionBegin;
  PetscCall(HJCommGet(comm, &c));
  if (!c->ipc.known) {
    c->ipc.known = c->ipc.available = PETSC_TRUE;
    PetscCall(PetscStrncpy(c->ipc.why, "CUDA IPC, a GPU for each rank, one host", sizeof(c->ipc.why)));
    PetscCall(HJIPCTry(c));
  }
  *available = c->ipc.available;
  *why       = c->ipc.why;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJIPCFindPeers(HJHalo halo, HJHalo_IPC *h)
{
  HJSFCount          n[2];
  const PetscMPIInt *ranks[2];
  const PetscInt    *unused[3];
  PetscMPIInt        me;
  PetscInt           m = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(halo->comm, &me));
  PetscCall(PetscSFGetRootRanks(halo->pattern, &n[0], &ranks[0], &unused[0], &unused[1], &unused[2]));
  PetscCall(PetscSFGetLeafRanks(halo->pattern, &n[1], &ranks[1], &unused[0], &unused[1]));
  PetscCall(PetscMalloc1(n[0] + n[1], &h->rank));
  for (int i = 0; i < 2; i++) {
    for (PetscInt r = 0; r < n[i]; r++)
      if (ranks[i][r] != me) h->rank[m++] = ranks[i][r];
  }
  PetscCall(PetscSortRemoveDupsMPIInt(&m, h->rank));
  h->npeers = (PetscMPIInt)m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the packed entries of a peer begin in this rank's buffers */
static PetscCount HJIPCFirst(const HJHalo_IPC *h, PetscMPIInt rank)
{
  for (PetscMPIInt p = 0; p < h->pack.recv.n; p++)
    if (h->pack.recv.rank[p] == rank) return h->pack.recv.first[p];
  return 0;
}

/* Cards are exchanged when the memory is clean: from then on peers may write */
static PetscErrorCode HJIPCExchangeCards(HJHalo halo, HJHalo_IPC *h)
{
  HJIPCCard   *mine;
  MPI_Request *request;
  PetscMPIInt  tag;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetNewTag((PetscObject)halo->pattern, &tag));
  PetscCall(PetscCalloc2(h->npeers, &h->card, h->npeers, &h->mapped));
  PetscCall(PetscCalloc2(h->npeers, &mine, 2 * h->npeers, &request));
  for (PetscMPIInt p = 0; p < h->npeers; p++) {
    PetscCallCUDA(cudaIpcGetMemHandle(&mine[p].memory, h->memory));
    mine[p].buffers = h->buffers;
    mine[p].stride  = h->stride;
    mine[p].flag    = (PetscInt64)p * HJIPC_FLAG * sizeof(unsigned);
    mine[p].first   = HJIPCFirst(h, h->rank[p]);
    PetscCallMPI(MPI_Irecv(&h->card[p], sizeof(HJIPCCard), MPI_BYTE, h->rank[p], tag, halo->comm, &request[p]));
    PetscCallMPI(MPI_Isend(&mine[p], sizeof(HJIPCCard), MPI_BYTE, h->rank[p], tag, halo->comm, &request[h->npeers + p]));
  }
  PetscCallMPI(MPI_Waitall(2 * h->npeers, request, MPI_STATUSES_IGNORE));
  for (PetscMPIInt p = 0; p < h->npeers; p++)
    PetscCallCUDA(cudaIpcOpenMemHandle((void **)&h->mapped[p], h->card[p].memory, cudaIpcMemLazyEnablePeerAccess));
  PetscCall(PetscFree2(mine, request));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscMPIInt HJIPCPeer(const HJHalo_IPC *h, PetscMPIInt rank)
{
  PetscMPIInt p = 0;

  while (p < h->npeers && h->rank[p] != rank) p++;
  return p;
}

/* A run to a peer, or to this rank itself (peer == npeers); place: in the first buffer */
static HJIPCRun HJIPCRunTo(const HJHalo_IPC *h, PetscMPIInt peer, const PetscInt *index, PetscCount from, PetscCount n, PetscCount place)
{
  const bool self = peer == h->npeers;
  char      *base = self ? h->memory + h->buffers : h->mapped[peer] + h->card[peer].buffers;

  return {index, from, n, (double *)base + place, self ? h->stride : (PetscCount)h->card[peer].stride};
}

static PetscErrorCode HJIPCSetRuns(HJHalo halo, HJHalo_IPC *h)
{
  HJIPCRun  *run;
  unsigned **flag;

  PetscFunctionBegin;
  h->nruns = (int)(halo->direct ? halo->nsend : h->pack.send.n);
  PetscCall(PetscMalloc1(h->nruns, &run));
  PetscCall(PetscMalloc1(h->npeers, &flag));
  h->run = run;
  for (int i = 0; i < h->nruns; i++) {
    const HJPeers    *s    = &h->pack.send;
    const PetscMPIInt peer = HJIPCPeer(h, halo->direct ? halo->send[i].rank : s->rank[i]);

    if (halo->direct) run[i] = HJIPCRunTo(h, peer, NULL, halo->send[i].from, halo->send[i].n, halo->send[i].to);
    else run[i] = HJIPCRunTo(h, peer, s->d_index + s->first[i], 0, s->first[i + 1] - s->first[i], (PetscCount)h->card[peer].first);
    h->longest = PetscMax(h->longest, run[i].n);
  }
  for (PetscMPIInt p = 0; p < h->npeers; p++) flag[p] = (unsigned *)(h->mapped[p] + h->card[p].flag);
  PetscCall(HJAlloc(h->nruns * sizeof(*run), (void **)&h->d_run));
  PetscCall(HJAlloc(h->npeers * sizeof(*flag), (void **)&h->d_peer));
  PetscCall(HJPeersUpload(h->d_run, run, h->nruns * sizeof(*run)));
  PetscCall(HJPeersUpload(h->d_peer, flag, h->npeers * sizeof(*flag)));
  PetscCall(PetscFree(flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Flags, all lowered, counter and buffers of so many doubles each */
static PetscErrorCode HJIPCAlloc(HJHalo_IPC *h, PetscCount size)
{
  cudaStream_t stream;
  size_t       bytes;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  h->buffers = ((h->npeers + 1) * HJIPC_FLAG * sizeof(unsigned) + 4095) / 4096 * 4096;
  h->stride  = (size + 15) / 16 * 16;
  bytes      = (h->buffers + 4 * h->stride * sizeof(double) + HJIPC_PAGE - 1) / HJIPC_PAGE * HJIPC_PAGE;
  PetscCall(HJAlloc(bytes, (void **)&h->memory));
  PetscCallCUDA(cudaMemsetAsync(h->memory, 0, bytes, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCallCUDA(cudaHostAlloc((void **)&h->h_late, sizeof(*h->h_late), cudaHostAllocMapped | cudaHostAllocPortable));
  *h->h_late = 0;
  h->next    = hj_halos;
  hj_halos   = h;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJIPCFree(HJHalo_IPC *h)
{
  HJHalo_IPC **at = &hj_halos;

  PetscFunctionBegin;
  while (*at && *at != h) at = &(*at)->next;
  if (*at) *at = h->next;
  PetscCallCUDA(cudaFree(h->memory));
  PetscCallCUDA(cudaFree(h->d_run));
  PetscCallCUDA(cudaFree(h->d_peer));
  PetscCallCUDA(cudaFreeHost(h->h_late));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHaloCreate_IPC(HJHalo halo)
{
  HJHalo_IPC *h;
  PetscBool   available;
  const char *why;

  PetscFunctionBegin;
  PetscCall(PetscNew(&h));
  halo->data = h;
  PetscCall(HJIPCAvailable(halo->comm, &available, &why)); /* who chose the transport may have asked for another communicator */
  PetscCheck(available, halo->comm, PETSC_ERR_SUP, "Exchange ipc: %s; use petscsf or auto", why);
  PetscCall(HJIPCFindPeers(halo, h));
  if (!halo->direct) PetscCall(HJPackingCreate(halo, &h->pack));
  PetscCall(HJIPCAlloc(h, halo->direct ? halo->size : h->pack.recv.first[h->pack.recv.n]));
  PetscCall(HJIPCExchangeCards(halo, h));
  PetscCall(HJIPCSetRuns(halo, h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without waiting: what an exchange that has ended left */
static PetscErrorCode HJIPCCheckLate(HJHalo_IPC *h)
{
  const unsigned late = *(volatile unsigned *)h->h_late;

  PetscFunctionBegin;
  h->told = h->told || late;
  PetscCheck(!late, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "Rank %d did not take part in a halo exchange within %g s: it has ended or does other work. Where it only is slow: "
             "-hj_exchange_timeout with more seconds, or 0 to wait without end",
             h->rank[late - 1], (double)h->timeout);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJIPCCheck(void)
{
  PetscFunctionBegin;
  for (HJHalo_IPC *h = hj_halos; h; h = h->next)
    if (!h->told) PetscCall(HJIPCCheckLate(h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An exchange: who is told, who is waited for, and how long */
static HJIPCArgs HJIPCNext(HJHalo_IPC *h, PetscReal timeout)
{
  HJIPCArgs a;

  a.run      = h->d_run;
  a.nruns    = h->nruns;
  a.vectors  = 0;
  a.longest  = (int)h->longest;
  a.npeers   = h->npeers;
  h->timeout = timeout;
  a.own      = (unsigned *)h->memory;
  a.counter  = a.own + h->npeers * HJIPC_FLAG;
  a.late     = a.counter + 1;
  a.number   = a.counter + 2;
  a.h_late   = h->h_late;
  a.limit    = (unsigned long long)(1e9 * timeout);
  a.peer     = h->d_peer;
  return a;
}

/* An exchange that goes with the next one, see HJHalo; nobody reads what it brings if none comes */
static struct {
  HJIPCArgs a;
  bool      any;
} hj_held;

/* Blocks start while the kernel before finishes, where the device can */
static PetscErrorCode HJIPCLaunch(HJIPCArgs a, cudaStream_t stream)
{
  const bool      two  = hj_held.any;
  const int       runs = PetscMax(a.nruns, two ? hj_held.a.nruns : 1), longest = PetscMax(a.longest, two ? hj_held.a.longest : 1);
  const int       each   = HJIPC_THREADS * HJIPC_UNROLL;
  HJIPCLaunchArgs all    = {{a, hj_held.a}, {PetscMax(a.vectors, 1), two ? PetscMax(hj_held.a.vectors, 1) : 0}};
  HJLaunch        how    = {};
  void           *args[] = {&all};

  PetscFunctionBegin;
  how.grid    = dim3(PetscMin(256, (PetscMax(longest, 1) + each - 1) / each), PetscMax(runs, 1), all.layers[0] + all.layers[1]);
  how.block   = dim3(HJIPC_THREADS);
  how.stream  = stream;
  how.overlap = true;
  hj_held.any = false;
  PetscCallCUDA(HJLaunchKernel(&how, (const void *)HJIPC_Kernel, args));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All peers are waited for. Nothing travels */
static PetscErrorCode HJIPCFence(HJHalo_IPC *h, PetscReal timeout, cudaStream_t stream)
{
  HJIPCArgs a = HJIPCNext(h, timeout);

  PetscFunctionBegin;
  a.nruns = a.longest = 0;
  PetscCall(HJIPCLaunch(a, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJIPCTryWait(PetscReal timeout, PetscBool answer, PetscErrorCode (*then)(void *), void *ctx)
{
  HJHalo_IPC     h    = {};
  PetscMPIInt    rank = 7;
  PetscErrorCode ierr = PETSC_SUCCESS;
  unsigned      *flag;
  cudaStream_t   stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  h.npeers = 1;
  h.rank   = &rank;
  PetscCall(HJIPCAlloc(&h, 0));
  flag = (unsigned *)h.memory + (answer ? 0 : HJIPC_FLAG + 8); /* this rank's own, or one that nobody looks at */
  PetscCall(HJAlloc(sizeof(flag), (void **)&h.d_peer));
  PetscCall(HJPeersUpload(h.d_peer, &flag, sizeof(flag)));
  for (int i = 0; i < 2; i++) PetscCall(HJIPCFence(&h, timeout, stream));
  if (then) ierr = (*then)(ctx);
  PetscCallCUDA(cudaStreamSynchronize(stream));
  if (!then) ierr = HJIPCCheck();
  PetscCall(HJIPCFree(&h));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double *HJIPCBuffer(const HJHalo_IPC *h, int vector)
{
  return (double *)(h->memory + h->buffers) + (2 * vector + h->turn[vector]) * h->stride;
}

/* In a cycle the first turn is always the same. Outside of cycles nobody knows which buffer replays have used last, and ranks have seen
   other turns, as one may have replayed what another has recorded or launched: where all wait for one another turns begin anew */
static PetscErrorCode HJIPCTakeTurns(HJHalo_IPC *h, PetscReal timeout, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (!hj_cycle && h->cycle && !h->written) {
    PetscCall(HJIPCFence(h, timeout, stream));
    h->turn[0] = h->turn[1] = 0;
  }
  if (hj_cycle && h->cycle != hj_cycle) {
    h->cycle   = hj_cycle;
    h->turn[0] = h->turn[1] = 0;
    h->written              = false; /* by a cycle that could not be recorded to its end */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHaloCycle_IPC(HJHalo halo, HJCyclePart part)
{
  HJHalo_IPC  *h = (HJHalo_IPC *)halo->data;
  cudaStream_t stream;

  PetscFunctionBegin;
  switch (part) {
  case HJ_CYCLE_BEGIN:
    PetscCall(HJStream(&stream));
    hj_held.any = false; /* of a cycle that ended in an error */
    PetscCall(HJIPCFence(h, halo->timeout, stream));
    h->outer = hj_cycle;
    hj_cycle = ++hj_cycles;
    break;
  case HJ_CYCLE_END:
    hj_cycle = h->outer;
    break;
  case HJ_CYCLE_REPLAY:
    PetscCall(HJIPCCheck());
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHaloBegin_IPC(HJHalo halo, PetscMemType mtype, const PetscScalar *const from[2], PetscScalar *frame[2])
{
  HJHalo_IPC  *h = (HJHalo_IPC *)halo->data;
  HJIPCArgs    a;
  cudaStream_t stream;
  int          nvectors = 0;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCall(HJIPCCheckLate(h));
  PetscCall(HJIPCTakeTurns(h, halo->timeout, stream));
  a = HJIPCNext(h, halo->timeout);
  for (int i = 0; i < 2; i++) {
    if (!from[i]) continue;
    h->turn[i] ^= 1;
    if (i == 0 && h->written) continue;
    a.from[nvectors]   = from[i];
    a.slot[nvectors++] = 2 * i + h->turn[i];
  }
  h->written = false;
  if (!nvectors) a.nruns = a.longest = 0;
  a.vectors = nvectors;
  if (halo->with_next && halo->direct && !hj_held.any) hj_held = {a, true};
  else PetscCall(HJIPCLaunch(a, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHaloEnd_IPC(HJHalo halo, PetscMemType mtype, const PetscScalar *const from[2], PetscScalar *frame[2])
{
  HJHalo_IPC  *h = (HJHalo_IPC *)halo->data;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(HJStream(&stream));
  PetscCall(HJIPCCheckLate(h));
  for (int i = 0; i < 2; i++) {
    if (!from[i]) continue;
    if (halo->direct) frame[i] = HJIPCBuffer(h, i);
    else PetscCall(HJPackingSpread(&h->pack, stream, from[i], HJIPCBuffer(h, i), frame[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The peers' next buffers are free: what was in them is behind the last exchange */
static PetscErrorCode HJHaloTarget_IPC(HJHalo halo, PetscScalar *copy[2])
{
  HJHalo_IPC *h = (HJHalo_IPC *)halo->data;

  PetscFunctionBegin;
  copy[0] = copy[1] = NULL;
  if (!halo->direct) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < h->nruns; i++) {
    const int side = h->run[i].from == 0 && !copy[0] ? 0 : 1;

    copy[side] = h->run[i].to + (h->turn[0] ^ 1) * h->run[i].stride;
  }
  h->written = true;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. Memory must not go while a peer has it mapped */
static PetscErrorCode HJHaloDestroy_IPC(HJHalo halo)
{
  HJHalo_IPC    *h = (HJHalo_IPC *)halo->data;
  PetscErrorCode late;

  PetscFunctionBegin;
  PetscCallCUDA(cudaDeviceSynchronize());
  late = h->told ? PETSC_SUCCESS : HJIPCCheckLate(h);
  for (PetscMPIInt p = 0; p < h->npeers; p++) PetscCallCUDA(cudaIpcCloseMemHandle(h->mapped[p]));
  PetscCallMPI(MPI_Barrier(halo->comm));
  PetscCall(HJIPCFree(h));
  PetscCall(HJPackingDestroy(&h->pack));
  PetscCall(PetscFree(h->rank));
  PetscCall(PetscFree(h->run));
  PetscCall(PetscFree2(h->card, h->mapped));
  PetscCall(PetscFree(halo->data));
  PetscCall(late);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJHaloOps HJHaloIPC = {.name       = "ipc",
                             .create     = HJHaloCreate_IPC,
                             .begin      = HJHaloBegin_IPC,
                             .end        = HJHaloEnd_IPC,
                             .destroy    = HJHaloDestroy_IPC,
                             .target     = HJHaloTarget_IPC,
                             .one_launch = PETSC_TRUE,
                             .cycle      = HJHaloCycle_IPC};

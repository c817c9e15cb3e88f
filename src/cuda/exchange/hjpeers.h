/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What transports between GPUs share: what a communicator keeps, and the packing of entries that do not lie together. Decides no stream
   and no transport.
*/
#pragma once

#include "hjexchange.h"
#include "cuda/device/hjgpu.h"

/* Whether a transport can be used on a communicator, and why or why not */
typedef struct {
  PetscBool known, available;
  char      why[160];
} HJCan;

/* What a communicator keeps, as an attribute */
typedef struct _n_HJComm *HJComm;
struct _n_HJComm {
  MPI_Comm mpi;
  HJCan    ipc, nccl;
  void    *nccl_comm; /* of hjnccl.cu, with what frees it */
  void (*nccl_free)(void *);
  HJComm next;
};

PetscErrorCode HJCommGet(MPI_Comm, HJComm *);
/* Collective. One rank's refusal is everyone's: *can is available as long as all say so */
PetscErrorCode HJCommAgree(HJComm, HJCan *, PetscBool mine, const char why[]);
/* Collective. Refuses where ranks share a GPU */
PetscErrorCode HJCommCheckDevices(HJComm, HJCan *);

/* Set-up: to the device in PETSc's stream, and waits. A copy in the legacy stream has no order with work in a stream that does not block */
PetscErrorCode HJPeersUpload(void *to, const void *from, size_t bytes);

/* One direction of an exchange: peer p has the entries first[p] ... first[p + 1] of the buffers and of index */
typedef struct {
  PetscMPIInt n, *rank;
  PetscCount *first;
  PetscInt   *d_index;
} HJPeers;

typedef struct {
  HJPeers    send, recv;
  PetscCount nself; /* entries that this rank itself holds */
  PetscInt  *d_self_from, *d_self_to;
} HJPacking;

PetscErrorCode HJPackingCreate(HJHalo, HJPacking *);
PetscErrorCode HJPackingDestroy(HJPacking *);
/* Own entries, and what has arrived packed (NULL: nothing), to their places */
PetscErrorCode HJPackingSpread(const HJPacking *, cudaStream_t, const PetscScalar *own, const PetscScalar *arrived, PetscScalar *frame);
/* out[to[i]] = in[from[i]]; an index that is NULL counts up */
PetscErrorCode HJGather(cudaStream_t, PetscCount n, const PetscInt *from, const PetscScalar *in, const PetscInt *to, PetscScalar *out);

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What a device does for slabs: memory as rings, copies and sweeps that run beside each other, in three queues.
*/
#pragma once

#include "hjcore.h"

/* Each does its work in order; one waits for another only through marks. HJ_SLAB_SWEEPS is the queue of the backend's own sweeps */
typedef enum { HJ_SLAB_IN, HJ_SLAB_SWEEPS, HJ_SLAB_OUT, HJ_SLAB_QUEUES } HJSlabQueue;

#define HJ_SLAB_IDENTITY 16
/*
   All but pin(), reach() and wait() may return before the work is done. A mark is the number of a place in a queue, from 0; it may be set
   anew, and await() means the last time that it was set before.
*/
typedef struct {
  const char *name;
  PetscErrorCode (*identify)(unsigned char identity[HJ_SLAB_IDENTITY]); /* the same on ranks that have one device together */
  /* Bytes that may be had now, and of which a ring is a multiple */
  PetscErrorCode (*memory)(size_t *available, size_t *granularity);
  /* For sweeps of a stencil of this shape, storage, number of rows; grid: a slab of usual size. Fills the limits */
  PetscErrorCode (*create)(const HJGrid *grid, const HJStencil *, HJLimits *, void **);
  const char *(*kernels)(void *);
  /* Zeroed memory: base[i] and base[i + bytes] are the same for 0 <= i < bytes */
  PetscErrorCode (*ring)(void *, size_t bytes, char **base);
  PetscErrorCode (*ring_free)(void *, size_t bytes, char **base);
  PetscErrorCode (*copy)(void *, HJSlabQueue, void *to, const void *from, size_t bytes);
  PetscErrorCode (*mark)(void *, HJSlabQueue, PetscInt mark);
  PetscErrorCode (*await)(void *, HJSlabQueue, HJSlabQueue other, PetscInt mark);
  PetscErrorCode (*reach)(void *, HJSlabQueue, PetscInt mark); /* the host waits until the queue has come to the mark */
  /* A sweep of the backend, exact, where the coefficients and the ends of the domain lie as grid and stencil say. weights are copied */
  PetscErrorCode (*sweep)(void *, const HJGrid *, const HJStencil *, const HJSweep *);
  /*
     After the sweeps before it: adds the n differences y - x to the norms. These, of all since the last time, are sent to the host; norms()
     reads them once the host has reached a mark of the sweeps that was set after they were sent, and before others are sent
  */
  PetscErrorCode (*difference)(void *, const PetscScalar *y, const PetscScalar *x, PetscCount n);
  PetscErrorCode (*send_norms)(void *);
  PetscErrorCode (*norms)(void *, PetscReal *squares, PetscReal *largest);
  /* Makes copies from and to a host's array quick; *pinned: whether it did, and unpin() must be called */
  PetscErrorCode (*pin)(void *, const void *, size_t bytes, PetscBool *pinned);
  PetscErrorCode (*unpin)(void *, const void *);
  PetscErrorCode (*wait)(void *); /* for all queues */
  PetscErrorCode (*destroy)(void **);
} HJSlabOps;

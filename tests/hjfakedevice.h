/* SPDX-License-Identifier: BSD-2-Clause */
/*
   A device for slabs that is none: its memory is the host's, and limited; its sweeps are those of the host backend. What is put into its
   queues is done late, or some of it early, queue by queue in an order drawn at random among all that the marks allow: what does not wait
   for what it needs gets it wrong. And all that two queues do with the same bytes, one of them writing, must be in an order that marks and
   the host make.
*/
#pragma once

#include <sys/mman.h>
#include <unistd.h>
#include "slab/hjslabs.h"

#define FAKE_GRANULARITY 4096

typedef struct {
  enum { FAKE_COPY, FAKE_MARK, FAKE_AWAIT, FAKE_SWEEP, FAKE_DIFFERENCE, FAKE_NORMS } kind;
  void       *to;
  const void *from;
  size_t      bytes;
  HJSlabQueue other;
  PetscInt    mark;
  PetscCount  times; /* await: how often the mark must have been set */
  HJGrid      grid;
  HJStencil   stencil;
  HJSweep     sweep;
  PetscReal   w[64];
} FakeWork;

#define FAKE_MARKS 4096
#define FAKE_RINGS 64

/* When a queue has read or written bytes: its work so far */
typedef struct {
  HJSlabQueue q;
  PetscCount  stamp;
  const char *lo, *hi;
  PetscBool   writes;
} FakeAccess;

typedef struct {
  FakeWork  *work[HJ_SLAB_QUEUES];
  PetscInt   n[HJ_SLAB_QUEUES], done[HJ_SLAB_QUEUES], size[HJ_SLAB_QUEUES];
  PetscCount asked[HJ_SLAB_QUEUES][FAKE_MARKS], set[HJ_SLAB_QUEUES][FAKE_MARKS];
  PetscReal  squares, largest, sent[2];
  /* clock[q][p]: so much of the work of queue p is done before what queue q does next; marked: the same of a mark of q */
  PetscCount  clock[HJ_SLAB_QUEUES][HJ_SLAB_QUEUES], marked[HJ_SLAB_QUEUES][FAKE_MARKS][HJ_SLAB_QUEUES];
  FakeAccess *access; /* those that are not before all that is yet to come */
  PetscInt    naccess, maxaccess;
  const char *ring[FAKE_RINGS];
  size_t      ring_bytes[FAKE_RINGS];
} Fake;

static size_t    fake_memory, fake_used, fake_most; /* bytes that there are, are in use, were in use at most */
static int       fake_pins;                         /* arrays that are pinned now */
static unsigned  fake_random = 1;
static PetscInt  fake_count  = 64; /* subiterations of a sweep, at most */
static PetscBool fake_pageable;    /* no array can be pinned */

static inline PetscErrorCode FakeIdentify(unsigned char identity[HJ_SLAB_IDENTITY])
{
  memset(identity, 7, HJ_SLAB_IDENTITY);
  return PETSC_SUCCESS;
}

static inline PetscErrorCode FakeMemory(size_t *available, size_t *granularity)
{
  *available   = fake_memory - fake_used;
  *granularity = FAKE_GRANULARITY;
  return PETSC_SUCCESS;
}

static inline PetscErrorCode FakeCreate(const HJGrid *grid, const HJStencil *st, HJLimits *limits, void **ctx)
{
  Fake *f;
  void *backend;

  PetscFunctionBegin;
  PetscCall(PetscNew(&f));
  PetscCall(HJBackendHost.create(grid, st, &backend));
  PetscCall(HJBackendHost.limits(backend, limits));
  limits->max_count = PetscMin(limits->max_count, fake_count);
  PetscCall(HJBackendHost.destroy(&backend));
  *ctx = f;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline const char *FakeKernels(void *ctx)
{
  return "those of the host";
}

static inline PetscErrorCode FakeRing(void *ctx, size_t bytes, char **base)
{
  Fake *f    = (Fake *)ctx;
  int   fd   = memfd_create("ring", 0);
  int   slot = 0;

  PetscFunctionBegin;
  fake_used += bytes;
  fake_most = PetscMax(fake_most, fake_used);
  PetscCheck(fake_used <= fake_memory, PETSC_COMM_SELF, PETSC_ERR_MEM, "The fake device is out of memory");
  PetscCheck(fd >= 0 && !ftruncate(fd, (off_t)bytes), PETSC_COMM_SELF, PETSC_ERR_SYS, "no memory for a ring");
  *base = (char *)mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 2; i++) {
    const void *p = mmap(*base + i * bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);

    PetscCheck(p == *base + i * bytes, PETSC_COMM_SELF, PETSC_ERR_SYS, "no address for a ring");
  }
  (void)close(fd);
  while (slot < FAKE_RINGS - 1 && f->ring[slot]) slot++;
  f->ring[slot]       = *base;
  f->ring_bytes[slot] = bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FakeRingFree(void *ctx, size_t bytes, char **base)
{
  PetscFunctionBegin;
  if (!*base) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < FAKE_RINGS; i++)
    if (((Fake *)ctx)->ring[i] == *base) ((Fake *)ctx)->ring[i] = NULL;
  (void)munmap(*base, 2 * bytes);
  fake_used -= bytes;
  *base = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FakeAdd(Fake *f, HJSlabQueue q, FakeWork **work)
{
  PetscFunctionBegin;
  if (f->n[q] == f->size[q]) {
    f->size[q] = 2 * f->size[q] + 64;
    PetscCall(PetscRealloc(f->size[q] * sizeof(FakeWork), &f->work[q]));
  }
  *work = &f->work[q][f->n[q]++];
  PetscCall(PetscMemzero(*work, sizeof(**work)));
  f->clock[q][q]++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From now on a queue comes after what a mark came after */
static inline void FakeOrder(Fake *f, HJSlabQueue q, const PetscCount marked[])
{
  for (int p = 0; p < HJ_SLAB_QUEUES; p++) f->clock[q][p] = PetscMax(f->clock[q][p], marked[p]);
}

/* Forgets what is before all that may come */
static inline void FakeForget(Fake *f)
{
  PetscInt n = 0;

  for (PetscInt i = 0; i < f->naccess; i++) {
    const FakeAccess a    = f->access[i];
    PetscBool        open = PETSC_FALSE;

    for (int q = 0; q < HJ_SLAB_QUEUES; q++) open = (PetscBool)(open || a.stamp > f->clock[q][a.q]);
    if (open) f->access[n++] = a;
  }
  f->naccess = n;
}

/* The last work that was added to a queue reads or writes so many bytes */
static inline PetscErrorCode FakeTouch(Fake *f, HJSlabQueue q, const void *at, size_t bytes, PetscBool writes)
{
  FakeAccess now = {q, f->clock[q][q], (const char *)at, (const char *)at + bytes, writes};

  PetscFunctionBegin;
  if (!at) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < FAKE_RINGS; i++) { /* both places of a ring are the same bytes */
    const char  *base = f->ring[i];
    const size_t size = f->ring_bytes[i];

    if (!base || now.lo < base || now.lo >= base + 2 * size) continue;
    PetscCheck(bytes <= size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "more bytes than the ring has");
    if (now.lo >= base + size) now.lo -= size, now.hi -= size;
    if (now.hi > base + size) {
      PetscCall(FakeTouch(f, q, base, (size_t)(now.hi - base) - size, writes));
      now.hi = base + size;
    }
  }
  for (PetscInt i = 0; i < f->naccess; i++) {
    const FakeAccess *a = &f->access[i];

    PetscCheck(a->lo >= now.hi || now.lo >= a->hi || !(a->writes || writes) || a->stamp <= f->clock[q][a->q], PETSC_COMM_SELF,
               PETSC_ERR_PLIB, "queue %d does not wait for queue %d, which %s the same bytes", (int)q, (int)a->q,
               a->writes ? "writes" : "reads");
  }
  if (f->naccess >= 256) FakeForget(f);
  if (f->naccess == f->maxaccess) {
    f->maxaccess = 2 * f->maxaccess + 64;
    PetscCall(PetscRealloc(f->maxaccess * sizeof(FakeAccess), &f->access));
  }
  f->access[f->naccess++] = now;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FakeCopy(void *ctx, HJSlabQueue q, void *to, const void *from, size_t bytes)
{
  FakeWork *work = NULL;

  PetscFunctionBegin;
  PetscCall(FakeAdd((Fake *)ctx, q, &work));
  work->kind  = FAKE_COPY;
  work->to    = to;
  work->from  = from;
  work->bytes = bytes;
  PetscCall(FakeTouch((Fake *)ctx, q, from, bytes, PETSC_FALSE));
  PetscCall(FakeTouch((Fake *)ctx, q, to, bytes, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FakeDo(Fake *f, HJSlabQueue q)
{
  FakeWork *work = &f->work[q][f->done[q]];
  void     *backend;

  PetscFunctionBegin;
  if (work->kind == FAKE_AWAIT && f->set[work->other][work->mark] < work->times) PetscFunctionReturn(PETSC_SUCCESS);
  if (work->kind == FAKE_COPY) memcpy(work->to, work->from, work->bytes);
  if (work->kind == FAKE_MARK) f->set[q][work->mark]++;
  if (work->kind == FAKE_SWEEP) {
    work->sweep.w = work->w;
    PetscCall(HJBackendHost.create(&work->grid, &work->stencil, &backend));
    PetscCall(HJBackendHost.sweep(backend, 1, &work->sweep));
    PetscCall(HJBackendHost.destroy(&backend));
  }
  for (size_t i = 0; work->kind == FAKE_DIFFERENCE && i < work->bytes; i++) {
    const PetscReal d = PetscAbsScalar(((PetscScalar *)work->to)[i] - ((const PetscScalar *)work->from)[i]);

    f->squares += d * d;
    f->largest = PetscMax(f->largest, d);
  }
  if (work->kind == FAKE_NORMS) {
    f->sent[0] = f->squares;
    f->sent[1] = f->largest;
    f->squares = f->largest = 0;
  }
  f->done[q]++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline unsigned FakeDraw(unsigned n)
{
  fake_random = fake_random * 1664525u + 1013904223u;
  return (fake_random >> 16) % n;
}

static inline PetscErrorCode FakeMark(void *ctx, HJSlabQueue q, PetscInt mark)
{
  Fake     *f    = (Fake *)ctx;
  FakeWork *work = NULL;

  PetscFunctionBegin;
  PetscCheck(mark < FAKE_MARKS, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "too many marks");
  PetscCall(FakeAdd(f, q, &work));
  work->kind = FAKE_MARK;
  work->mark = mark;
  f->asked[q][mark]++;
  PetscCall(PetscArraycpy(f->marked[q][mark], f->clock[q], HJ_SLAB_QUEUES));
  for (unsigned n = FakeDraw(8) ? 0 : FakeDraw(200); n; n--) { /* by now the device may have done some of it */
    const HJSlabQueue some = (HJSlabQueue)FakeDraw(HJ_SLAB_QUEUES);

    if (f->done[some] < f->n[some]) PetscCall(FakeDo(f, some));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FakeAwait(void *ctx, HJSlabQueue q, HJSlabQueue other, PetscInt mark)
{
  Fake     *f    = (Fake *)ctx;
  FakeWork *work = NULL;

  PetscFunctionBegin;
  PetscCall(FakeAdd(f, q, &work));
  work->kind  = FAKE_AWAIT;
  work->other = other;
  work->mark  = mark;
  work->times = f->asked[other][mark];
  FakeOrder(f, q, f->marked[other][mark]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FakeSweep(void *ctx, const HJGrid *grid, const HJStencil *st, const HJSweep *s)
{
  Fake        *f      = (Fake *)ctx;
  const size_t points = (size_t)HJBoxSize(&st->box), read = (size_t)HJBoxSize(&s->box) * sizeof(PetscScalar);
  FakeWork    *work = NULL;

  PetscFunctionBegin;
  PetscCall(FakeAdd(f, HJ_SLAB_SWEEPS, &work));
  work->kind    = FAKE_SWEEP;
  work->grid    = *grid;
  work->stencil = *st;
  work->sweep   = *s;
  PetscCall(PetscArraycpy(work->w, s->w, s->count));
  PetscCall(FakeTouch(f, HJ_SLAB_SWEEPS, s->x, read, PETSC_FALSE));
  PetscCall(FakeTouch(f, HJ_SLAB_SWEEPS, s->b, read, PETSC_FALSE));
  PetscCall(FakeTouch(f, HJ_SLAB_SWEEPS, s->y, (size_t)HJBoxSize(&s->ybox) * sizeof(PetscScalar), PETSC_TRUE));
  if (st->storage == HJ_DICTIONARY) {
    if (st->nrows > 1) PetscCall(FakeTouch(f, HJ_SLAB_SWEEPS, st->index, points, PETSC_FALSE));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(FakeTouch(f, HJ_SLAB_SWEEPS, st->dinv, points * sizeof(PetscScalar), PETSC_FALSE));
  for (PetscInt o = 1; o < st->nslots; o++)
    PetscCall(FakeTouch(f, HJ_SLAB_SWEEPS, st->value[o], points * sizeof(PetscScalar), PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One queue goes on for a while, then another: all orders that the marks allow, those that run far ahead more often than by turns */
static inline PetscErrorCode FakeWait(void *ctx)
{
  Fake    *f     = (Fake *)ctx;
  PetscInt stuck = 0;

  PetscFunctionBegin;
  for (;;) {
    PetscInt q, before, left = 0;

    q      = (PetscInt)FakeDraw(HJ_SLAB_QUEUES);
    before = f->done[q];
    for (unsigned n = FakeDraw(64); n && f->done[q] < f->n[q]; n--) PetscCall(FakeDo(f, (HJSlabQueue)q));
    for (int i = 0; i < HJ_SLAB_QUEUES; i++) left += f->n[i] - f->done[i];
    if (!left) break;
    stuck = f->done[q] == before ? stuck + 1 : 0;
    PetscCheck(stuck < 10000, PETSC_COMM_SELF, PETSC_ERR_PLIB, "all queues wait for each other");
  }
  for (int i = 0; i < HJ_SLAB_QUEUES; i++) f->n[i] = f->done[i] = 0;
  for (int i = 0; i < HJ_SLAB_QUEUES; i++)
    for (int q = 0; q < HJ_SLAB_QUEUES; q++) f->clock[q][i] = f->clock[i][i];
  f->naccess = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other queues do what they must, and what they happen to do */
static inline PetscErrorCode FakeReach(void *ctx, HJSlabQueue q, PetscInt mark)
{
  Fake *f = (Fake *)ctx;

  PetscFunctionBegin;
  for (PetscInt turn = 0; f->set[q][mark] < f->asked[q][mark]; turn++) {
    PetscInt p;

    PetscCheck(turn < 1000000, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a mark is not reached");
    p = (PetscInt)FakeDraw(HJ_SLAB_QUEUES);
    if (f->done[p] < f->n[p]) PetscCall(FakeDo(f, (HJSlabQueue)p));
  }
  for (int p = 0; p < HJ_SLAB_QUEUES; p++) FakeOrder(f, (HJSlabQueue)p, f->marked[q][mark]); /* what the host adds comes later */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FakeDifference(void *ctx, const PetscScalar *y, const PetscScalar *x, PetscCount n)
{
  FakeWork *work = NULL;

  PetscFunctionBegin;
  PetscCall(FakeAdd((Fake *)ctx, HJ_SLAB_SWEEPS, &work));
  work->kind  = FAKE_DIFFERENCE;
  work->to    = (void *)y;
  work->from  = x;
  work->bytes = (size_t)n;
  PetscCall(FakeTouch((Fake *)ctx, HJ_SLAB_SWEEPS, y, work->bytes * sizeof(*y), PETSC_FALSE));
  PetscCall(FakeTouch((Fake *)ctx, HJ_SLAB_SWEEPS, x, work->bytes * sizeof(*x), PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FakeSendNorms(void *ctx)
{
  FakeWork *work = NULL;

  PetscFunctionBegin;
  PetscCall(FakeAdd((Fake *)ctx, HJ_SLAB_SWEEPS, &work));
  work->kind = FAKE_NORMS;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FakeNorms(void *ctx, PetscReal *squares, PetscReal *largest)
{
  Fake *f = (Fake *)ctx;

  PetscFunctionBegin;
  *squares   = f->sent[0];
  *largest   = f->sent[1];
  f->sent[0] = f->sent[1] = PETSC_INFINITY; /* read once */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FakePin(void *ctx, const void *array, size_t bytes, PetscBool *pinned)
{
  PetscFunctionBegin;
  *pinned = (PetscBool)!fake_pageable;
  if (*pinned) fake_pins++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FakeUnpin(void *ctx, const void *array)
{
  PetscFunctionBegin;
  fake_pins--;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FakeDestroy(void **ctx)
{
  Fake *f = (Fake *)*ctx;

  PetscFunctionBegin;
  for (int i = 0; i < HJ_SLAB_QUEUES; i++) PetscCall(PetscFree(f->work[i]));
  PetscCall(PetscFree(f->access));
  PetscCall(PetscFree(f));
  *ctx = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const HJSlabOps FakeOps = {
  .name       = "fake",
  .identify   = FakeIdentify,
  .memory     = FakeMemory,
  .create     = FakeCreate,
  .kernels    = FakeKernels,
  .ring       = FakeRing,
  .ring_free  = FakeRingFree,
  .copy       = FakeCopy,
  .mark       = FakeMark,
  .await      = FakeAwait,
  .reach      = FakeReach,
  .sweep      = FakeSweep,
  .difference = FakeDifference,
  .send_norms = FakeSendNorms,
  .norms      = FakeNorms,
  .pin        = FakePin,
  .unpin      = FakeUnpin,
  .wait       = FakeWait,
  .destroy    = FakeDestroy,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The COO format: each entry's place is found once, values go there as often as they come.
*/
#include "mat/base/hjmat.h"
#include <petscdevice.h>

/* An entry for each place is kept where at least one place of so many has one, else lists of the places that have */
#define HJ_COO_SPARSE 4
/* Entries that a device may leave to the host: those whose columns are other ranks' points */
#define HJ_COO_OTHERS ((PetscCount)1 << 22)

/* An array from the memory of one to that of another */
static PetscErrorCode HJCOOMoveArray(const HJArrayOps *from, const HJArrayOps *to, size_t bytes, void *address)
{
  void            **array = (void **)address, *moved;
  const HJArrayOps *copy  = to == &HJArraysHost ? from : to;

  PetscFunctionBegin;
  if (!*array) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(to->alloc(bytes, &moved));
  PetscCall(copy->copy(moved, *array, bytes));
  PetscCall(from->free(array));
  *array = moved;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJCOOMove(HJCOO *coo, const HJArrayOps *ops)
{
  HJCOOList   *list    = &coo->list;
  const size_t entries = (size_t)coo->nlocal;

  PetscFunctionBegin;
  if (coo->ops == ops) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJCOOMoveArray(coo->ops, ops, list->n * sizeof(*list->place), &list->place));
  PetscCall(HJCOOMoveArray(coo->ops, ops, (list->n + 1) * sizeof(*list->first), &list->first));
  PetscCall(HJCOOMoveArray(coo->ops, ops, entries * sizeof(*list->entry), &list->entry));
  PetscCall(HJCOOMoveArray(coo->ops, ops, HJCOOTurns(list->nslots, list->npoints) * sizeof(*list->which), &list->which));
  PetscCall(HJCOOMoveArray(coo->ops, ops, coo->nremote * sizeof(*coo->remote), &coo->remote));
  PetscCall(HJCOOMoveArray(coo->ops, ops, coo->nremote * sizeof(*coo->send), &coo->send));
  coo->ops = ops;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of other ranks' rows: leaves of an SF whose roots are all places in value[] of their owners */
static PetscErrorCode HJCOOSetRemote(Mat A, PetscInt n, PetscSFNode *nodes)
{
  Mat_HJStencil *hj    = (Mat_HJStencil *)A->data;
  PetscBool      any   = (PetscBool)(n > 0);
  PetscCount     roots = hj->c.nslots * hj->c.npoints;

  PetscFunctionBegin;
  PetscCall(HJOnAnyRank(PetscObjectComm((PetscObject)A), &any));
  if (!any) {
    PetscCall(PetscFree(nodes));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(roots <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "COO entries of other ranks' rows need %" PetscInt_FMT
             " coefficients a rank at most; use more ranks or a PETSc with 64-bit indices",
             (PetscInt)PETSC_INT_MAX);
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &hj->coo->sf));
  PetscCall(PetscSFSetGraph(hj->coo->sf, (PetscInt)roots, n, NULL, PETSC_OWN_POINTER, nodes, PETSC_OWN_POINTER));
  PetscCall(PetscSFSetUp(hj->coo->sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of a rank, which number the places of its arrays */
static PetscInt HJCOOPoints(const HJLayout *l, PetscMPIInt rank)
{
  return l->ranges[rank + 1] - l->ranges[rank];
}

/* Entries sorted by their places, those of one place in their order; place[e] is -1 for those that are left out */
static PetscErrorCode HJCOOSort(PetscCount n, const PetscCount place[], PetscCount nplaces, HJCOOList *list)
{
  PetscInt *next, at = 0;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(nplaces, &next));
  list->n = 0;
  for (PetscCount e = 0; e < n; e++) {
    if (place[e] >= 0 && !next[place[e]]++) list->n++;
  }
  PetscCall(PetscMalloc1(list->n, &list->place));
  PetscCall(PetscMalloc1(list->n + 1, &list->first));
  for (PetscCount p = 0, m = 0; p < nplaces; p++) {
    const PetscInt count = next[p];

    if (!count) continue;
    list->place[m]   = p;
    list->first[m++] = at;
    next[p]          = at;
    at += count;
  }
  list->first[list->n] = at;
  PetscCall(PetscMalloc1(at, &list->entry));
  for (PetscCount e = 0; e < n; e++) {
    if (place[e] >= 0) list->entry[next[place[e]]++] = (PetscInt)e;
  }
  PetscCall(PetscFree(next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row that entries come for, and what its place tells of its columns: where all its neighbours are this rank's points, numbers of
   columns less that of the row say which slot they have */
typedef struct {
  PetscInt  row, at[3], entry;           /* of this rank's rows the coordinates; entries of the row that have come */
  PetscBool inside;                      /* all neighbours are this rank's points */
  PetscInt  nslots, delta[HJ_MAX_SLOTS]; /* column less row, of each slot */
  PetscInt  hint[HJ_MAX_SLOTS];          /* slot that an entry of the last row had at the same turn */
} HJCOORow;

static void HJCOORowInit(const Mat_HJStencil *hj, HJCOORow *r)
{
  const PetscInt *n = hj->grid.owned.hi;

  memset(r, 0, sizeof(*r));
  r->row    = -2;
  r->nslots = HJCoefficientsOffsets(&hj->c);
  for (PetscInt s = 0; s < r->nslots; s++) {
    PetscInt off[3];

    HJShapeOffset(hj->c.dim, hj->c.shape, s, off);
    r->delta[s] = (off[2] * n[1] + off[1]) * n[0] + off[0];
  }
}

/* Another row; rows mostly come one after another */
static void HJCOORowNext(const Mat_HJStencil *hj, PetscInt row, HJCOORow *r)
{
  const PetscInt *n = hj->grid.owned.hi, point = row - hj->layout.start;

  if (row == r->row + 1 && r->at[0] + 1 < n[0]) r->at[0]++;
  else {
    r->at[0] = point % n[0];
    r->at[1] = point / n[0] % n[1];
    r->at[2] = point / n[0] / n[1];
  }
  r->row    = row;
  r->entry  = 0;
  r->inside = PETSC_TRUE;
  for (int d = 0; d < hj->layout.dim; d++) r->inside = (PetscBool)(r->inside && r->at[d] > 0 && r->at[d] < n[d] - 1);
}

/* Slot of a column of a row inside, -1: none */
static inline PetscInt HJCOORowSlot(HJCOORow *r, PetscInt column)
{
  const PetscInt delta = column - r->row, turn = r->entry++;
  PetscInt       s = turn < HJ_MAX_SLOTS ? r->hint[turn] : 0;

  if (r->delta[s] != delta)
    for (s = 0; s < r->nslots && r->delta[s] != delta;) s++;
  if (s == r->nslots) return -1;
  if (turn < HJ_MAX_SLOTS) r->hint[turn] = s;
  return s;
}

/* Where entries go, while it is looked for: which[] or place[], whichever is not NULL, and nodes of other ranks for the entries remote[] */
typedef struct {
  PetscInt    *which;
  PetscCount  *place; /* [n], -1 where an entry goes nowhere or to another rank */
  PetscSFNode *nodes;
  PetscBool    twice; /* some place of which[] got two entries */
} HJCOOSearch;

static void HJCOOTake(const HJCOO *coo, HJCOOSearch *s, PetscCount e, PetscInt slot, PetscInt point)
{
  if (s->place) s->place[e] = slot * coo->list.npoints + point;
  else {
    PetscInt *to = s->which + HJCOOTurn(coo->list.nslots, slot, point);

    s->twice = (PetscBool)(s->twice || *to >= 0);
    *to      = (PetscInt)e;
  }
}

static void HJCOOTakeRemote(Mat A, HJCOOSearch *s, PetscCount e, PetscMPIInt owner, PetscInt slot, PetscInt point)
{
  Mat_HJStencil *hj  = (Mat_HJStencil *)A->data;
  HJCOO         *coo = hj->coo;

  s->nodes[coo->nremote].rank  = owner;
  s->nodes[coo->nremote].index = slot * HJCOOPoints(&hj->layout, owner) + point;
  coo->remote[coo->nremote++]  = e;
}

/* Where each entry goes; ends early where which[] cannot hold them */
static PetscErrorCode HJCOOFind(Mat A, const PetscInt i[], const PetscInt j[], HJCOOSearch *s)
{
  Mat_HJStencil *hj  = (Mat_HJStencil *)A->data;
  HJCOO         *coo = hj->coo;
  HJCOORow       r;
  PetscMPIInt    rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
  HJCOORowInit(hj, &r);
  coo->nremote = 0;
  for (PetscCount e = 0; e < coo->n && !s->twice; e++) {
    const PetscBool mine  = (PetscBool)(hj->c.dof == 1 && i[e] >= hj->layout.start && i[e] < hj->layout.end);
    PetscMPIInt     owner = rank;
    PetscInt        point = i[e] - hj->layout.start, slot = -1;

    if (s->place) s->place[e] = -1;
    if (i[e] < 0 || j[e] < 0) continue;
    if (mine && i[e] != r.row) HJCOORowNext(hj, i[e], &r);
    if (mine && r.inside) slot = HJCOORowSlot(&r, j[e]);
    if (slot < 0) PetscCall(HJMatFindPlace(A, i[e], j[e], PETSC_FALSE, &owner, &point, &slot));
    if (slot < 0) continue;
    if (owner == rank) HJCOOTake(coo, s, e, slot, point);
    else HJCOOTakeRemote(A, s, e, owner, slot, point);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for entries of other ranks' rows, at most so many */
static PetscErrorCode HJCOOAllocRemote(HJCOO *coo, PetscCount n, HJCOOSearch *s)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &coo->remote));
  PetscCall(PetscMalloc1(n, &coo->send));
  PetscCall(PetscMalloc1(n, &s->nodes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the host: one entry for each place where that serves, else lists of them */
static PetscErrorCode HJCOOFindHost(Mat A, const PetscInt i[], const PetscInt j[], HJCOOSearch *s)
{
  Mat_HJStencil   *hj      = (Mat_HJStencil *)A->data;
  HJCOO           *coo     = hj->coo;
  const PetscCount places  = HJCOOTurns(coo->list.nslots, coo->list.npoints);
  PetscCount       nremote = 0;

  PetscFunctionBegin;
  coo->ops = &HJArraysHost;
  for (PetscCount e = 0; e < coo->n; e++) {
    if (i[e] >= 0 && (i[e] < A->rmap->rstart || i[e] >= A->rmap->rend)) nremote++;
  }
  PetscCall(HJCOOAllocRemote(coo, nremote, s));
  if (places / HJ_COO_SPARSE <= coo->n) {
    PetscCall(PetscMalloc1(places, &s->which));
    for (PetscCount p = 0; p < places; p++) s->which[p] = -1;
    PetscCall(HJCOOFind(A, i, j, s));
    if (!s->twice) {
      coo->list.which = s->which;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(PetscFree(s->which));
    s->twice = PETSC_FALSE;
  }
  PetscCall(PetscMalloc1(coo->n, &s->place));
  PetscCall(HJCOOFind(A, i, j, s));
  PetscCall(HJCOOSort(coo->n, s->place, coo->list.nslots * coo->list.npoints, &coo->list));
  coo->nlocal = coo->list.first[coo->list.n];
  PetscCall(PetscFree(s->place));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static HJCOOGrid HJCOOGridOf(const Mat_HJStencil *hj)
{
  HJCOOGrid g;

  g.start  = hj->layout.start;
  g.end    = hj->layout.end;
  g.dim    = hj->c.dim;
  g.shape  = hj->c.shape;
  g.nslots = hj->c.nslots;
  for (int d = 0; d < 3; d++) {
    g.n[d] = hj->grid.owned.hi[d];
    g.N[d] = hj->layout.periodic[d] ? hj->layout.N[d] : 0;
  }
  return g;
}

/* Entries that were not found where the matrix lies: those near other ranks, and those that have no place, which are errors here */
static PetscErrorCode HJCOOFindOthers(Mat A, const PetscInt i[], const PetscInt j[], PetscInt n, const PetscInt others[], HJCOOSearch *s)
{
  HJCOO            *coo = ((Mat_HJStencil *)A->data)->coo;
  const HJArrayOps *ops = coo->ops;
  PetscInt         *entry, m = 0;
  PetscCount       *turn;
  PetscMPIInt       rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
  PetscCall(PetscMalloc2(n, &turn, n, &entry));
  for (PetscInt o = 0; o < n; o++) {
    const PetscInt e = others[o];
    PetscMPIInt    owner;
    PetscInt       point, slot;

    PetscCall(HJMatFindPlace(A, i[e], j[e], PETSC_FALSE, &owner, &point, &slot));
    if (slot < 0) continue;
    if (owner != rank) HJCOOTakeRemote(A, s, e, owner, slot, point);
    else {
      turn[m]    = HJCOOTurn(coo->list.nslots, slot, point);
      entry[m++] = e;
    }
  }
  PetscCall(ops->find_more(m, turn, entry, coo->list.which, &s->twice));
  PetscCall(PetscFree2(turn, entry));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the matrix lives on a device: one entry for each place; *found is false where that does not serve */
static PetscErrorCode HJCOOFindDevice(Mat A, const HJArrayOps *ops, const PetscInt i[], const PetscInt j[], HJCOOSearch *s,
                                      PetscBool *found)
{
  Mat_HJStencil   *hj     = (Mat_HJStencil *)A->data;
  HJCOO           *coo    = hj->coo;
  const PetscCount places = HJCOOTurns(coo->list.nslots, coo->list.npoints);
  const HJCOOGrid  g      = HJCOOGridOf(hj);
  const PetscInt   max    = (PetscInt)PetscMin(coo->n / 4, HJ_COO_OTHERS);
  PetscInt        *others, n;

  PetscFunctionBegin;
  *found = PETSC_FALSE;
  if (!ops->find || hj->c.entry || places / HJ_COO_SPARSE > coo->n) PetscFunctionReturn(PETSC_SUCCESS);
  coo->ops = ops;
  PetscCall(ops->alloc(places * sizeof(*coo->list.which), &coo->list.which));
  PetscCall(PetscMalloc1(max, &others));
  PetscCall(ops->find(&g, coo->n, i, j, coo->list.which, max, others, &n, &s->twice));
  if (n >= 0 && !s->twice) {
    PetscCall(HJCOOAllocRemote(coo, n, s));
    PetscCall(HJCOOFindOthers(A, i, j, n, others, s));
    PetscCall(HJCOOMoveArray(&HJArraysHost, ops, n * sizeof(*coo->remote), &coo->remote));
    PetscCall(HJCOOMoveArray(&HJArraysHost, ops, n * sizeof(*coo->send), &coo->send));
    *found = (PetscBool)!s->twice;
  }
  PetscCall(PetscFree(others));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJCOOFindAll(Mat A, const PetscInt i[], const PetscInt j[], HJCOOSearch *s)
{
  Mat_HJStencil *hj   = (Mat_HJStencil *)A->data;
  HJCOO         *coo  = hj->coo;
  const HJCOO    none = {.n = coo->n, .refct = 1, .list = {.nslots = hj->c.nslots, .npoints = hj->c.npoints}};
  PetscBool      device, found = PETSC_FALSE;

  PetscFunctionBegin;
  *coo = none;
  PetscCall(HJMatOnDevice(A, &device));
  if (device) PetscCall(HJCOOFindDevice(A, hj->device, i, j, s, &found));
  if (found) PetscFunctionReturn(PETSC_SUCCESS);
  if (device) { /* begin again */
    PetscCall(PetscFree(s->nodes));
    PetscCall(HJCOOReset(coo));
    PetscCall(PetscMemzero(s, sizeof(*s)));
    *coo = none;
  }
  PetscCall(HJCOOFindHost(A, i, j, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetPreallocationCOO_HJStencil(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  Mat_HJStencil *hj;
  HJCOOSearch    s;

  PetscFunctionBegin;
  PetscCall(MatSetUp(A));
  hj = (Mat_HJStencil *)A->data;
  PetscCheck(n <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "A rank has more than %" PetscInt_FMT " COO entries; use more ranks or a PETSc with 64-bit indices", (PetscInt)PETSC_INT_MAX);
  PetscCall(HJMatCheckArrays(A));
  PetscCall(HJCOODestroy(&hj->coo));
  PetscCall(PetscNew(&hj->coo));
  hj->coo->n = n;
  PetscCall(HJMatAddSlots(A));
  PetscCall(PetscMemzero(&s, sizeof(s)));
  PetscCall(HJCOOFindAll(A, i, j, &s));
  PetscCall(HJCOOSetRemote(A, (PetscInt)hj->coo->nremote, s.nodes));
  PetscCall(HJMatSetZero(A));
  PetscCall(HJMatTakeView(A)); /* no assembly is needed afterwards */
  hj->changed  = PETSC_TRUE;
  A->assembled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The user's values in the memory of ops: themselves where they are there, else a copy that the caller frees */
static PetscErrorCode HJCOOGetEntries(const HJCOO *coo, const HJArrayOps *device_ops, const PetscScalar v[], PetscScalar **entries,
                                      PetscBool *copied)
{
  const size_t bytes  = (size_t)coo->n * sizeof(*v);
  PetscMemType mtype  = PETSC_MEMTYPE_HOST;
  PetscBool    device = PetscMemTypeDevice(coo->ops->backend->mtype) ? PETSC_TRUE : PETSC_FALSE, there;

  PetscFunctionBegin;
  if (v) PetscCall(PetscGetMemType(v, &mtype));
  there    = PetscMemTypeDevice(mtype) ? PETSC_TRUE : PETSC_FALSE;
  *copied  = (PetscBool)(there != device);
  *entries = (PetscScalar *)v;
  if (!*copied) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(device_ops, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "MatSetValuesCOO() with values in GPU memory, and the library was built without CUDA; copy the values to the host first");
  PetscCall(coo->ops->alloc(bytes, entries));
  PetscCall(device_ops->copy(*entries, v, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of this rank's rows, then those that other ranks send; insert: in place of what is there */
static PetscErrorCode HJCOOAdd(const HJCOO *coo, const PetscScalar *entries, PetscBool insert, PetscScalar *value)
{
  const PetscMemType mtype  = coo->ops->backend->mtype;
  const PetscCount   places = coo->list.nslots * coo->list.npoints;

  PetscFunctionBegin;
  if (coo->list.which) PetscCall(coo->ops->put(&coo->list, entries, (PetscBool)!insert, value));
  else {
    if (insert) PetscCall(coo->ops->zero(value, (size_t)places * sizeof(PetscScalar)));
    PetscCall(coo->ops->add(&coo->list, entries, value));
  }
  if (!coo->sf) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(coo->ops->gather(coo->nremote, coo->remote, entries, coo->send));
  PetscCall(PetscSFReduceWithMemTypeBegin(coo->sf, MPIU_SCALAR, mtype, coo->send, mtype, value, MPIU_SUM));
  PetscCall(PetscSFReduceEnd(coo->sf, MPIU_SCALAR, coo->send, value, MPIU_SUM));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetValuesCOO_HJStencil(Mat A, const PetscScalar v[], InsertMode mode)
{
  Mat_HJStencil    *hj  = (Mat_HJStencil *)A->data;
  HJCOO            *coo = hj->coo;
  const HJArrayOps *ops;
  HJCoefficients   *c;
  PetscScalar      *entries;
  PetscBool         copied = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCheck(coo && coo->ops, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "Call MatSetPreallocationCOO() before MatSetValuesCOO(), and again after the stencil has changed between star and box");
  PetscCall(HJMatCheckArrays(A));
  if (hj->c.nslots != coo->list.nslots) { /* those that were zero everywhere have gone */
    if (mode == INSERT_VALUES) PetscCall(HJMatSetZero(A));
    PetscCall(HJMatAddSlots(A));
  }
  PetscCall(HJMatGetHome(A, &ops, &c));
  if (mode == INSERT_VALUES) {
    PetscCall(HJMatAllocArrays(A, ops->backend->mtype, PETSC_FALSE));
    HJMatForgetTouched(A);
  } else PetscCall(HJMatExpandIn(A, ops));
  PetscCall(HJCOOMove(coo, ops));
  PetscCall(HJCOOGetEntries(coo, hj->device, v, &entries, &copied));
  PetscCall(HJCOOAdd(coo, entries, (PetscBool)(mode == INSERT_VALUES), c->value));
  if (copied) PetscCall(ops->free(&entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

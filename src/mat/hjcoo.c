/*
   The COO format: each entry's place is found once, values go there as often as they come.
*/
#include "hjmat.h"
#include <petscdevice.h>

PetscErrorCode HJCOOReset(HJCOO *coo)
{
  PetscFunctionBegin;
  if (coo->ops) {
    PetscCall(coo->ops->free(&coo->list.place));
    PetscCall(coo->ops->free(&coo->list.first));
    PetscCall(coo->ops->free(&coo->list.entry));
    PetscCall(coo->ops->free(&coo->remote));
    PetscCall(coo->ops->free(&coo->send));
  }
  PetscCall(PetscSFDestroy(&coo->sf));
  PetscCall(PetscMemzero(coo, sizeof(*coo)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t HJCOOBytes(const HJCOO *coo)
{
  return (size_t)coo->nlocal * sizeof(PetscInt) + (size_t)coo->list.n * (sizeof(PetscCount) + sizeof(PetscInt)) +
         (size_t)coo->nremote * (sizeof(PetscCount) + sizeof(PetscScalar));
}

/* An array from the memory of one to that of another */
static PetscErrorCode HJCOOMoveArray(const HJArrayOps *from, const HJArrayOps *to, size_t bytes, void *address)
{
  void            **array = (void **)address, *moved;
  const HJArrayOps *copy  = to == &HJArraysHost ? from : to;

  PetscFunctionBegin;
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
  PetscCall(HJCOOMoveArray(coo->ops, ops, coo->nremote * sizeof(*coo->remote), &coo->remote));
  PetscCall(HJCOOMoveArray(coo->ops, ops, coo->nremote * sizeof(*coo->send), &coo->send));
  coo->ops = ops;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of other ranks' rows: leaves of an SF whose roots are all places in value[] of their owners */
static PetscErrorCode HJCOOSetRemote(Mat A, PetscInt n, PetscSFNode *nodes)
{
  Mat_HJStencil *hj    = (Mat_HJStencil *)A->data;
  PetscMPIInt    mine  = n > 0, any;
  PetscCount     roots = hj->c.nslots * hj->c.npoints;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  if (!any) {
    PetscCall(PetscFree(nodes));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(roots <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "COO entries of other ranks' rows need %" PetscInt_FMT
             " coefficients a rank at most; use more ranks or a PETSc with 64-bit indices",
             (PetscInt)PETSC_INT_MAX);
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &hj->coo.sf));
  PetscCall(PetscSFSetGraph(hj->coo.sf, (PetscInt)roots, n, NULL, PETSC_OWN_POINTER, nodes, PETSC_OWN_POINTER));
  PetscCall(PetscSFSetUp(hj->coo.sf));
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
  r->nslots = hj->c.nslots;
  for (PetscInt s = 0; s < r->nslots; s++) {
    PetscInt off[3];

    HJSlotOffset(&hj->c, s, off);
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

/* Where each entry goes: a place of this rank, -1, or a node of another rank for the entries remote[] */
static PetscErrorCode HJCOOFind(Mat A, const PetscInt i[], const PetscInt j[], PetscCount place[], PetscSFNode nodes[])
{
  Mat_HJStencil *hj  = (Mat_HJStencil *)A->data;
  HJCOO         *coo = &hj->coo;
  HJCOORow       r;
  PetscMPIInt    rank;
  PetscCount     n = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
  HJCOORowInit(hj, &r);
  for (PetscCount e = 0; e < coo->n; e++) {
    const PetscBool mine  = (PetscBool)(i[e] >= hj->layout.start && i[e] < hj->layout.end);
    PetscMPIInt     owner = rank;
    PetscInt        point = i[e] - hj->layout.start, slot = -1;

    place[e] = -1;
    if (i[e] < 0 || j[e] < 0) continue;
    if (mine && i[e] != r.row) HJCOORowNext(hj, i[e], &r);
    if (mine && r.inside) slot = HJCOORowSlot(&r, j[e]);
    if (slot < 0) PetscCall(HJMatFindPlace(A, i[e], j[e], PETSC_FALSE, &owner, &point, &slot));
    if (slot < 0) continue;
    if (owner == rank) place[e] = slot * hj->c.npoints + point;
    else {
      nodes[n].rank    = owner;
      nodes[n].index   = slot * HJCOOPoints(&hj->layout, owner) + point;
      coo->remote[n++] = e;
    }
  }
  coo->nremote = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetPreallocationCOO_HJStencil(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  Mat_HJStencil *hj;
  HJCOO         *coo;
  PetscSFNode   *nodes;
  PetscCount    *place, nremote = 0;

  PetscFunctionBegin;
  PetscCall(MatSetUp(A));
  hj  = (Mat_HJStencil *)A->data;
  coo = &hj->coo;
  PetscCheck(n <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "A rank has more than %" PetscInt_FMT " COO entries; use more ranks or a PETSc with 64-bit indices", (PetscInt)PETSC_INT_MAX);
  PetscCall(HJMatCheckArrays(A));
  PetscCall(HJCOOReset(coo));
  coo->n   = n;
  coo->ops = &HJArraysHost;
  for (PetscCount e = 0; e < n; e++) {
    if (i[e] >= 0 && (i[e] < hj->layout.start || i[e] >= hj->layout.end)) nremote++;
  }
  PetscCall(PetscMalloc1(n, &place));
  PetscCall(PetscMalloc1(nremote, &coo->remote));
  PetscCall(PetscMalloc1(nremote, &coo->send));
  PetscCall(PetscMalloc1(nremote, &nodes));
  PetscCall(HJCOOFind(A, i, j, place, nodes));
  PetscCall(HJCOOSort(n, place, hj->c.nslots * hj->c.npoints, &coo->list));
  coo->nlocal = coo->list.first[coo->list.n];
  PetscCall(PetscFree(place));
  PetscCall(HJCOOSetRemote(A, (PetscInt)coo->nremote, nodes));
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

/* Entries of this rank's rows, then those that other ranks send */
static PetscErrorCode HJCOOAdd(const HJCOO *coo, const PetscScalar *entries, PetscScalar *value)
{
  const PetscMemType mtype = coo->ops->backend->mtype;

  PetscFunctionBegin;
  PetscCall(coo->ops->add(&coo->list, entries, value));
  if (!coo->sf) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(coo->ops->gather(coo->nremote, coo->remote, entries, coo->send));
  PetscCall(PetscSFReduceWithMemTypeBegin(coo->sf, MPIU_SCALAR, mtype, coo->send, mtype, value, MPIU_SUM));
  PetscCall(PetscSFReduceEnd(coo->sf, MPIU_SCALAR, coo->send, value, MPIU_SUM));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetValuesCOO_HJStencil(Mat A, const PetscScalar v[], InsertMode mode)
{
  Mat_HJStencil    *hj  = (Mat_HJStencil *)A->data;
  HJCOO            *coo = &hj->coo;
  const HJArrayOps *ops;
  HJCoefficients   *c;
  PetscScalar      *entries;
  PetscBool         copied;

  PetscFunctionBegin;
  PetscCheck(coo->ops, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "Call MatSetPreallocationCOO() before MatSetValuesCOO(), and again after the stencil has changed between star and box");
  PetscCall(HJMatCheckArrays(A));
  PetscCall(HJMatGetHome(A, &ops, &c));
  if (mode == INSERT_VALUES) {
    PetscCall(HJMatAllocArrays(A, ops->backend->mtype));
    PetscCall(ops->zero(c->value, (size_t)c->nslots * c->npoints * sizeof(PetscScalar)));
    hj->touched = 0;
  } else PetscCall(HJMatExpandIn(A, ops));
  PetscCall(HJCOOMove(coo, ops));
  PetscCall(HJCOOGetEntries(coo, hj->device, v, &entries, &copied));
  PetscCall(HJCOOAdd(coo, entries, c->value));
  if (copied) PetscCall(ops->free(&entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   MatSetValues() in all its forms, and assembly: entries of other ranks' rows travel there, and the storage is chosen.
*/
#include "mat/base/hjmat.h"

typedef struct {
  PetscInt    row, column;
  PetscScalar value;
} HJEntryIJV;

/* An entry that no offset holds is an error */
static PetscErrorCode HJMatUnfit(Mat A, PetscInt row, PetscInt column, const PetscInt at[3], PetscBool near)
{
  Mat_HJStencil  *hj    = (Mat_HJStencil *)A->data;
  const PetscInt *first = hj->layout.offset;

  PetscFunctionBegin;
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
          "Row %" PetscInt_FMT " (grid point %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ") has a nonzero in column %" PetscInt_FMT
          ", %s, which a %s stencil of width 1 cannot hold; use %s-dm_mat_type aij",
          row, first[0] + at[0], first[1] + at[1], first[2] + at[2], column,
          near ? "a diagonal neighbour" : "more than one grid point away", hj->c.shape == HJ_STAR ? "star" : "box",
          near ? "a DMDA with DMDA_STENCIL_BOX, or " : "");
}

PetscErrorCode HJMatFindPlace(Mat A, PetscInt row, PetscInt column, PetscBool zero, PetscMPIInt *owner, PetscInt *point, PetscInt *slot)
{
  Mat_HJStencil *hj  = (Mat_HJStencil *)A->data;
  const PetscInt dof = hj->layout.dof;
  PetscInt       at[3], to[3], off[3], offset = -1;
  PetscBool      near;

  PetscFunctionBegin;
  *slot = -1;
  PetscCheck(row < A->rmap->N && column < A->cmap->N, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Row %" PetscInt_FMT ", column %" PetscInt_FMT ": the matrix has %" PetscInt_FMT " rows and columns", row, column, A->rmap->N);
  *owner = HJLayoutLocate(&hj->layout, row / dof, at);
  *point = row / dof - hj->layout.ranges[*owner];
  (void)HJLayoutLocate(&hj->layout, column / dof, to);
  near = HJLayoutOffset(&hj->layout, at, to, off);
  if (near) offset = HJSlotAt(&hj->c, off);
  if (offset < 0 && !zero && !hj->drop_unfit) PetscCall(HJMatUnfit(A, row, column, at, near));
  *slot = HJSlotOfEntry(&hj->c, offset, row % dof, column % dof);
  if (offset < 0 || *slot >= 0 || zero) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMatAddSlots(A));
  *slot = HJSlotOfEntry(&hj->c, offset, row % dof, column % dof);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline void HJMatPut(HJCoefficients *c, PetscInt slot, PetscInt point, PetscScalar v, InsertMode mode)
{
  PetscScalar *to = c->value + HJSlotBegin(c, slot) + point;

  if (mode == ADD_VALUES) *to += v;
  else *to = v;
}

static PetscErrorCode HJMatSendLater(Mat A, PetscInt row, PetscInt column, PetscScalar v, InsertMode mode)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;
  HJEntryIJV    *e;

  PetscFunctionBegin;
  if (hj->drop_others || (v == 0.0 && mode == ADD_VALUES)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!A->nooffprocentries, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
             "Row %" PetscInt_FMT " is another rank's, and MAT_NO_OFF_PROC_ENTRIES promised that there are none; unset it", row);
  if (!hj->stash) PetscCall(PetscSegBufferCreate(sizeof(*e), 256, &hj->stash));
  PetscCall(PetscSegBufferGet(hj->stash, 1, &e));
  e->row    = row;
  e->column = column;
  e->value  = v;
  hj->nstash++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetValues_HJStencil(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], const PetscScalar v[],
                                      InsertMode mode)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  PetscCall(HJMatExpand(A));
  for (PetscInt i = 0; i < m; i++) {
    const PetscBool mine = (PetscBool)(rows[i] >= A->rmap->rstart && rows[i] < A->rmap->rend);

    if (rows[i] < 0) continue;
    for (PetscInt j = 0; j < n; j++) {
      const PetscScalar value = !v ? 0.0 : hj->column_oriented ? v[j * m + i] : v[i * n + j];
      PetscMPIInt       owner;
      PetscInt          point, slot;

      if (columns[j] < 0) continue;
      PetscCall(HJMatFindPlace(A, rows[i], columns[j], (PetscBool)(value == 0.0), &owner, &point, &slot));
      if (slot < 0) continue;
      if (mine) HJMatPut(&hj->c, slot, point, value, mode);
      else PetscCall(HJMatSendLater(A, rows[i], columns[j], value, mode));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By numbers of the process' own mapping, as MatSetValuesLocal() does it for any matrix */
static PetscErrorCode HJMatSetMappedValues(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[],
                                           const PetscScalar v[], InsertMode mode)
{
  PetscInt  on_stack[256], *all = on_stack;
  PetscInt *r, *c;

  PetscFunctionBegin;
  if (m + n > (PetscInt)PETSC_STATIC_ARRAY_LENGTH(on_stack)) PetscCall(PetscMalloc1(m + n, &all));
  r = all;
  c = all + m;
  if (A->rmap->mapping) PetscCall(ISLocalToGlobalMappingApply(A->rmap->mapping, m, rows, r));
  else PetscCall(PetscArraycpy(r, rows, m));
  if (A->cmap->mapping) PetscCall(ISLocalToGlobalMappingApply(A->cmap->mapping, n, columns, c));
  else PetscCall(PetscArraycpy(c, columns, n));
  PetscCall(MatSetValues_HJStencil(A, m, r, n, c, v, mode));
  if (all != on_stack) PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The owned point of a ghosted point's local number, where all its neighbours are ghosted points at one place: the offsets follow from
   differences of numbers there */
static PetscBool HJMatIsSimple(const Mat_HJStencil *hj, PetscInt local, PetscInt *point)
{
  const PetscInt *w = hj->gwidth, *n = hj->grid.owned.hi;
  const PetscInt  i = local % w[0] + hj->glo[0], jk = local / w[0], j = jk % w[1] + hj->glo[1], k = jk / w[1] + hj->glo[2];
  const HJBox    *b = &hj->simple;

  *point = (k * n[1] + j) * n[0] + i;
  return (PetscBool)(i >= b->lo[0] && i < b->hi[0] && j >= b->lo[1] && j < b->hi[1] && k >= b->lo[2] && k < b->hi[2]);
}

/* The offset of the shape from a simple point to another, the j-th of a row; -1: there is none */
static inline PetscInt HJMatFindOffset(Mat_HJStencil *hj, PetscInt j, PetscInt delta)
{
  const PetscInt offsets = HJCoefficientsOffsets(&hj->c);
  PetscInt       o       = j < HJ_MAX_SLOTS ? hj->hint[j] : 0;

  if (hj->delta[o] != delta)
    for (o = 0; o < offsets && hj->delta[o] != delta;) o++;
  if (o == offsets) return -1;
  if (j < HJ_MAX_SLOTS) hj->hint[j] = o;
  return o;
}

PetscErrorCode MatSetValuesLocal_HJStencil(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[],
                                           const PetscScalar v[], InsertMode mode)
{
  Mat_HJStencil *hj  = (Mat_HJStencil *)A->data;
  const PetscInt dof = hj->layout.dof;

  PetscFunctionBegin;
  if (A->rmap->mapping != hj->ltog || A->cmap->mapping != hj->ltog || !v || hj->column_oriented) {
    PetscCall(HJMatSetMappedValues(A, m, rows, n, columns, v, mode));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMatExpand(A));
  for (PetscInt i = 0; i < m; i++) {
    const PetscInt local = dof == 1 ? rows[i] : rows[i] / dof;
    PetscInt       point;

    if (rows[i] < 0) continue;
    if (!HJMatIsSimple(hj, local, &point)) {
      PetscCall(HJMatSetMappedValues(A, 1, rows + i, n, columns, v + i * n, mode));
      continue;
    }
    for (PetscInt j = 0; j < n; j++) {
      const PetscInt to = dof == 1 ? columns[j] : columns[j] / dof;
      PetscInt       offset, s;

      if (columns[j] < 0) continue;
      offset = HJMatFindOffset(hj, j, to - local);
      s      = HJSlotOfEntry(&hj->c, offset, rows[i] - local * dof, columns[j] - to * dof);
      if (s >= 0) HJMatPut(&hj->c, s, point, v[i * n + j], mode);
      else if (offset < 0 || v[i * n + j] != 0.0) PetscCall(HJMatSetMappedValues(A, 1, rows + i, 1, columns + j, v + i * n + j, mode));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of points by the numbers of the unknowns that these stand for */
static PetscErrorCode HJMatSetUnblocked(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[],
                                        const PetscScalar v[], InsertMode mode)
{
  const PetscInt dof = ((Mat_HJStencil *)A->data)->layout.dof;
  PetscInt      *r, *c;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(m * dof, &r, n * dof, &c));
  for (PetscInt i = 0; i < m * dof; i++) r[i] = rows[i / dof] < 0 ? -1 : rows[i / dof] * dof + i % dof;
  for (PetscInt j = 0; j < n * dof; j++) c[j] = columns[j / dof] < 0 ? -1 : columns[j / dof] * dof + j % dof;
  PetscCall(HJMatSetMappedValues(A, m * dof, r, n * dof, c, v, mode));
  PetscCall(PetscFree2(r, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The block at v, whose rows are apart numbers from one another, for an offset of a point */
static PetscErrorCode HJMatPutBlock(Mat A, PetscInt offset, PetscInt point, PetscInt apart, const PetscScalar v[], InsertMode mode)
{
  HJCoefficients *c   = &((Mat_HJStencil *)A->data)->c;
  const PetscInt  dof = c->dof, first = offset * dof * dof;
  PetscBool       fits = PETSC_TRUE;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < dof; i++) {
    for (PetscInt j = 0; j < dof; j++) fits = (PetscBool)(fits && (c->place[first + i * dof + j] >= 0 || v[i * apart + j] == 0.0));
  }
  if (!fits) PetscCall(HJMatAddSlots(A));
  for (PetscInt i = 0; i < dof; i++) {
    for (PetscInt j = 0; j < dof; j++) {
      const PetscInt slot = c->place[first + i * dof + j];

      if (slot >= 0) HJMatPut(c, slot, point, v[i * apart + j], mode);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetValuesBlockedLocal_HJStencil(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[],
                                                  const PetscScalar v[], InsertMode mode)
{
  Mat_HJStencil *hj  = (Mat_HJStencil *)A->data;
  const PetscInt dof = hj->layout.dof;

  PetscFunctionBegin;
  if (A->rmap->mapping != hj->ltog || A->cmap->mapping != hj->ltog || !v || hj->column_oriented || !hj->c.entry) {
    PetscCall(HJMatSetUnblocked(A, m, rows, n, columns, v, mode));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMatExpand(A));
  for (PetscInt i = 0; i < m; i++) {
    PetscInt point;

    if (rows[i] < 0) continue;
    if (!HJMatIsSimple(hj, rows[i], &point)) {
      PetscCall(HJMatSetUnblocked(A, 1, rows + i, n, columns, v + i * dof * n * dof, mode));
      continue;
    }
    for (PetscInt j = 0; j < n; j++) {
      const PetscScalar *block  = v + (i * dof * n + j) * dof;
      const PetscInt     offset = columns[j] < 0 ? -1 : HJMatFindOffset(hj, j, columns[j] - rows[i]);

      if (columns[j] < 0) continue;
      if (offset >= 0) PetscCall(HJMatPutBlock(A, offset, point, n * dof, block, mode));
      for (PetscInt e = 0; e < dof * dof && offset < 0; e++) {
        const PetscInt row = rows[i] * dof + e / dof, column = columns[j] * dof + e % dof;

        PetscCall(HJMatSetMappedValues(A, 1, &row, 1, &column, block + e / dof * n * dof + e % dof, mode));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatGetValues_HJStencil(Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], PetscScalar v[])
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  PetscCall(HJMatGetHost(A));
  for (PetscInt i = 0; i < m; i++) {
    if (rows[i] < 0) continue;
    PetscCheck(rows[i] >= A->rmap->rstart && rows[i] < A->rmap->rend, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Row %" PetscInt_FMT " is another rank's; MatGetValues() gives this rank's rows, %" PetscInt_FMT " to %" PetscInt_FMT,
               rows[i], A->rmap->rstart, A->rmap->rend - 1);
    for (PetscInt j = 0; j < n; j++) {
      PetscMPIInt owner;
      PetscInt    point, slot;

      if (columns[j] < 0) continue;
      PetscCall(HJMatFindPlace(A, rows[i], columns[j], PETSC_TRUE, &owner, &point, &slot));
      v[hj->column_oriented ? j * m + i : i * n + j] = slot < 0 ? 0.0 : HJCoefficientAt(&hj->c, slot, point);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sorted by owner; count[r] of rank r */
static PetscErrorCode HJMatSortStash(const HJLayout *l, PetscInt n, const HJEntryIJV in[], HJEntryIJV out[], PetscInt first[])
{
  PetscInt at[3], *next;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(first, l->size + 1));
  for (PetscInt e = 0; e < n; e++) first[HJLayoutLocate(l, in[e].row / l->dof, at) + 1]++;
  for (PetscMPIInt r = 0; r < l->size; r++) first[r + 1] += first[r];
  PetscCall(PetscMalloc1(l->size, &next));
  PetscCall(PetscArraycpy(next, first, l->size));
  for (PetscInt e = 0; e < n; e++) out[next[HJLayoutLocate(l, in[e].row / l->dof, at)]++] = in[e];
  PetscCall(PetscFree(next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Hands the entries of others' rows to their owners; what arrives here is received[] */
static PetscErrorCode HJMatTravel(Mat A, PetscInt n, const HJEntryIJV mine[], PetscInt *nreceived, HJEntryIJV **received)
{
  const HJLayout *l    = &((Mat_HJStencil *)A->data)->layout;
  MPI_Comm        comm = PetscObjectComm((PetscObject)A);
  HJEntryIJV     *out;
  PetscInt       *first, *counts, *from_counts;
  PetscMPIInt     nto = 0, nfrom, *to, *from, tag;
  MPI_Request    *request;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(n, &out, l->size + 1, &first, l->size, &to, l->size, &counts));
  PetscCall(HJMatSortStash(l, n, mine, out, first));
  for (PetscMPIInt r = 0; r < l->size; r++) {
    if (first[r + 1] == first[r]) continue;
    to[nto]       = r;
    counts[nto++] = first[r + 1] - first[r];
  }
  PetscCall(PetscCommBuildTwoSided(comm, 1, MPIU_INT, nto, to, counts, &nfrom, &from, &from_counts));
  *nreceived = 0;
  for (PetscMPIInt i = 0; i < nfrom; i++) *nreceived += from_counts[i];
  PetscCall(PetscMalloc1(*nreceived, received));
  PetscCall(PetscMalloc1(nto + nfrom, &request));
  PetscCall(PetscObjectGetNewTag((PetscObject)A, &tag));
  *nreceived = 0;
  for (PetscMPIInt i = 0; i < nfrom; i++) {
    const size_t bytes = from_counts[i] * sizeof(HJEntryIJV);

    PetscCheck(bytes <= PETSC_MPI_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "Rank %d has %" PetscInt_FMT " entries for this rank's rows; call MatAssemblyBegin/End(MAT_FLUSH_ASSEMBLY) more often",
               from[i], from_counts[i]);
    PetscCallMPI(MPI_Irecv(*received + *nreceived, (PetscMPIInt)bytes, MPI_BYTE, from[i], tag, comm, &request[i]));
    *nreceived += from_counts[i];
  }
  for (PetscMPIInt i = 0; i < nto; i++)
    PetscCallMPI(
      MPI_Isend(out + first[to[i]], (PetscMPIInt)(counts[i] * sizeof(HJEntryIJV)), MPI_BYTE, to[i], tag, comm, &request[nfrom + i]));
  PetscCallMPI(MPI_Waitall(nto + nfrom, request, MPI_STATUSES_IGNORE));
  PetscCall(PetscFree(request));
  PetscCall(PetscFree(from));
  PetscCall(PetscFree(from_counts));
  PetscCall(PetscFree4(out, first, to, counts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries that were set for other ranks' rows */
static PetscErrorCode HJMatDeliver(Mat A)
{
  Mat_HJStencil *hj   = (Mat_HJStencil *)A->data;
  MPI_Comm       comm = PetscObjectComm((PetscObject)A);
  PetscInt       say[3], hear[3], nreceived = 0;
  HJEntryIJV    *mine = NULL, *received;

  PetscFunctionBegin;
  if (A->nooffprocentries || hj->layout.size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  say[0] = hj->nstash;
  say[1] = A->insertmode == ADD_VALUES;
  say[2] = A->insertmode == INSERT_VALUES;
  PetscCallMPI(MPI_Allreduce(say, hear, 3, MPIU_INT, MPI_MAX, comm));
  PetscCheck(!hear[1] || !hear[2], comm, PETSC_ERR_ARG_WRONGSTATE,
             "Some ranks inserted values and others added; all must do the same between two assemblies");
  if (!hear[0]) PetscFunctionReturn(PETSC_SUCCESS);
  if (say[0]) PetscCall(PetscSegBufferExtractInPlace(hj->stash, &mine));
  PetscCall(HJMatTravel(A, say[0], mine, &nreceived, &received));
  hj->nstash = 0;
  if (nreceived) PetscCall(HJMatExpand(A));
  for (PetscInt e = 0; e < nreceived; e++) {
    const HJEntryIJV *r = received + e;
    PetscMPIInt       owner;
    PetscInt          point, slot;

    PetscCall(HJMatFindPlace(A, r->row, r->column, (PetscBool)(r->value == 0.0), &owner, &point, &slot));
    if (slot >= 0) HJMatPut(&hj->c, slot, point, r->value, hear[1] ? ADD_VALUES : INSERT_VALUES);
  }
  PetscCall(PetscFree(received));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatAssemblyEnd_HJStencil(Mat A, MatAssemblyType type)
{
  PetscFunctionBegin;
  PetscCall(HJMatCheckSetUp(A));
  PetscCall(HJMatTakeView(A));
  PetscCall(HJMatDeliver(A));
  if (type == MAT_FLUSH_ASSEMBLY) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMatCheckArrays(A));
  PetscCall(HJMatChoose(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Distinct rows of a matrix: few on many grids. Decides when there are few enough, which rows may be one, and how they are numbered.
   Rows that differ only where they lead outside the domain are one: x is zero there.
*/
#include "hjstencil_impl.h"

/* Number of rows from m on that are bitwise equal to row m */
static PetscInt HJRunEqual(const HJRowRun *run, PetscInt m)
{
  const PetscScalar *v   = run->val;
  const size_t       row = run->nnz * sizeof(*v);
  PetscInt           end = m + 1, block = 1;

  while (end < run->n) {
    const PetscInt n = PetscMin(block, run->n - end);

    if (memcmp(v + (size_t)end * run->nnz, v + (size_t)(end - 1) * run->nnz, n * row)) {
      if (n == 1) break;
      block = 1;
    } else {
      end += n;
      block = PetscMin(2 * block, 64);
    }
  }
  return end - m;
}

/* What is read row by row */
typedef struct {
  HJDictionary *dict;
  HJDistinct    distinct;
} HJDictionaryRead;

static void HJDictionaryLookForBox(HJDictionary *dict, const HJRowRun *run)
{
  for (PetscInt t = 0; t < run->nnz && !dict->box; t++) {
    if (run->slot[t] < 0 || (dict->star >> run->slot[t] & 1)) continue;
    for (PetscInt m = 0; m < run->n; m++) {
      if (run->val[m * run->nnz + t] != 0.0) dict->box = PETSC_TRUE;
    }
  }
}

static PetscErrorCode HJDictionaryVisit(const HJRowRun *run, void *ctx)
{
  HJDictionaryRead *read  = (HJDictionaryRead *)ctx;
  HJDictionary     *dict  = read->dict;
  const PetscInt    first = (run->k * dict->width[1] + run->j) * dict->width[0] + run->i;

  PetscFunctionBegin;
  HJDictionaryLookForBox(dict, run);
  for (PetscInt m = 0, n; m < run->n && dict->rows_fit; m += n) {
    HJDistinctRow row = {.outside = run->outside};
    PetscInt      id;

    for (PetscInt t = 0; t < run->nnz; t++)
      if (run->slot[t] >= 0) HJDistinctRowSet(&row, run->slot[t], run->val[(size_t)m * run->nnz + t]);
    id = HJDistinctFindRow(&read->distinct, &row);
    if (id < 0) {
      dict->rows_fit = PETSC_FALSE;
      break;
    }
    n = HJRunEqual(run, m);
    for (PetscInt q = m; q < m + n && dict->id; q++) dict->id[first + q] = (unsigned short)id;
    ((HJDistinctRow *)read->distinct.item)[id].count += run->alike / run->n * n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of AIJ, or one row for all points, which is another one where it leads outside the domain */
static PetscErrorCode HJDictionaryReadRows(HJRows *rows, HJDictionary *dict)
{
  HJDictionaryRead read = {.dict = dict};

  PetscFunctionBegin;
  PetscCall(HJDistinctCreateRows(dict->nslots, &read.distinct));
  PetscCall((HJRowsAreOne(rows) ? HJRowsForEachKind : HJRowsForEach)(rows, HJDictionaryVisit, &read));
  PetscCall(HJDistinctTakeRows(&read.distinct, &dict->n, &dict->row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the slots of c to those of a box. What leads outside the domain in a direction leads there in others too */
static void HJDictionaryToBox(const HJCoefficients *c, HJDistinctRow *row)
{
  HJDistinctRow to = {.count = row->count};

  if (c->shape == HJ_BOX) return;
  for (PetscInt s = 0; s < c->nslots; s++) HJDistinctRowSet(&to, HJShapeBoxSlot(c->dim, HJ_STAR, s), row->a[s]);
  for (PetscInt s = 1; s < HJShapeSlots(c->dim, HJ_BOX); s++) {
    for (int d = 0; d < c->dim; d++) {
      const PetscInt step = HJShapeStep(c->dim, HJ_BOX, s, d);

      if (step && (row->outside >> (2 * d + 1 + (step > 0)) & 1)) to.outside |= 1u << s;
    }
  }
  *row = to;
}

/* Whether some coefficient that a star has no slot for is not 0 */
static PetscBool HJDictionaryNeedsBox(const HJDictionary *dict, const HJCoefficients *c)
{
  for (PetscInt s = 0; s < c->nslots; s++) {
    if (dict->star >> HJShapeBoxSlot(c->dim, c->shape, s) & 1) continue;
    for (PetscCount p = 0; p < c->npoints; p++)
      if (HJCoefficientAt(c, s, p) != 0.0) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Coefficients of a stencil matrix */
static PetscErrorCode HJDictionaryReadCoefficients(const HJRows *rows, HJDictionary *dict)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(HJDistinctScan(rows->c, rows->grid, &n, &dict->row, dict->id));
  dict->rows_fit = (PetscBool)(n >= 0);
  if (!dict->rows_fit) dict->box = HJDictionaryNeedsBox(dict, rows->c);
  for (PetscInt i = 0; i < n; i++) {
    HJDictionaryToBox(rows->c, dict->row + i);
    if (dict->row[i].nonzero & ~dict->star) dict->box = PETSC_TRUE;
  }
  dict->n = PetscMax(n, 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows where the reader reads */
static PetscErrorCode HJDictionaryScan(HJRows *rows, HJDictionary *dict)
{
  HJRowScan scan;

  PetscFunctionBegin;
  PetscCall(rows->reader->scan(rows->readctx, &scan));
  dict->rows_fit = scan.rows_fit;
  dict->box      = scan.box;
  dict->n        = scan.n;
  dict->row      = scan.row;
  HJRowsFoundWide(rows, scan.wide_row, scan.wide_column);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJDictionaryCreate(HJRows *rows, HJDictionary *dict)
{
  PetscMPIInt mine[2], any[2];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(dict, sizeof(*dict)));
  dict->rows     = rows;
  dict->nslots   = rows->nslots;
  dict->rows_fit = PETSC_TRUE;
  for (int d = 0; d < 3; d++) dict->width[d] = rows->width[d];
  for (PetscInt n = 0; n < HJShapeSlots(rows->grid->dim, HJ_STAR); n++) dict->star |= 1u << rows->order[n];
  if (!rows->reader && !HJRowsAreOne(rows)) PetscCall(PetscMalloc1(HJBoxSize(&rows->grid->owned), &dict->id));
  if (rows->reader) PetscCall(HJDictionaryScan(rows, dict));
  else if (rows->c && dict->id) PetscCall(HJDictionaryReadCoefficients(rows, dict));
  else PetscCall(HJDictionaryReadRows(rows, dict));
  mine[0] = !dict->rows_fit;
  mine[1] = dict->box;
  PetscCallMPI(MPI_Allreduce(mine, any, 2, MPI_INT, MPI_MAX, rows->comm));
  dict->rows_fit = (PetscBool)!any[0];
  dict->box      = (PetscBool)any[1];
  if (!dict->rows_fit) PetscCall(PetscFree(dict->id));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJDictionaryDestroy(HJDictionary *dict)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(dict->row));
  PetscCall(PetscFree(dict->id));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of one rank or several, as they travel: those that are not there do not */
typedef struct {
  PetscInt      n; /* -1: more than HJ_MAX_ROWS */
  HJDistinctRow row[HJ_MAX_ROWS];
} HJRowList;

static int HJRowListBytes(PetscInt n)
{
  return (int)(offsetof(HJRowList, row) + (size_t)PetscMax(n, 0) * sizeof(HJDistinctRow));
}

/* Both lists' entries to the first; work: two more lists */
static void HJRowListJoin(PetscInt nslots, HJRowList *list, const HJRowList *other, HJDistinctRow *work)
{
  PetscInt n = list->n;

  if (n < 0 || other->n < 0) {
    list->n = -1;
    return;
  }
  memcpy(work, list->row, (size_t)n * sizeof(HJDistinctRow));
  memcpy(work + n, other->row, (size_t)other->n * sizeof(HJDistinctRow));
  HJDistinctMerge(nslots, n + other->n, work, &list->n, list->row, NULL);
}

/* Joins all ranks' lists on all ranks by a tree: log2 of the ranks messages one after another, none longer than HJ_MAX_ROWS entries.
   The order does not depend on which messages come first */
static PetscErrorCode HJRowListReduce(MPI_Comm comm, PetscInt nslots, HJRowList *list)
{
  PetscMPIInt    size, rank, tag;
  HJRowList     *other;
  HJDistinctRow *work;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscCommGetNewTag(comm, &tag));
  PetscCall(PetscMalloc2(1, &other, 2 * HJ_MAX_ROWS, &work));
  for (PetscMPIInt step = 1; step < size; step *= 2) {
    if (rank % (2 * step)) {
      PetscCallMPI(MPI_Send(list, HJRowListBytes(list->n), MPI_BYTE, rank - step, tag, comm));
      break;
    }
    if (rank + step >= size) continue;
    PetscCallMPI(MPI_Recv(other, (int)sizeof(*other), MPI_BYTE, rank + step, tag, comm, MPI_STATUS_IGNORE));
    HJRowListJoin(nslots, list, other, work);
  }
  PetscCall(PetscFree2(other, work));
  PetscCallMPI(MPI_Bcast(&list->n, 1, MPIU_INT, 0, comm));
  PetscCallMPI(MPI_Bcast(list->row, HJRowListBytes(list->n) - HJRowListBytes(0), MPI_BYTE, 0, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The most frequent first, else as they are */
static void HJRowsSort(PetscInt n, const HJDistinctRow *in, HJDistinctRow *out)
{
  PetscInt order[HJ_MAX_ROWS];

  for (PetscInt o = 0, q; o < n; o++) {
    for (q = o; q > 0 && in[order[q - 1]].count < in[o].count; q--) order[q] = order[q - 1];
    order[q] = o;
  }
  for (PetscInt o = 0; o < n; o++) out[o] = in[order[o]];
}

/* All ranks' merged entries, the most frequent first; map leads there from this rank's n */
static PetscErrorCode HJRowsGather(MPI_Comm comm, PetscInt nslots, PetscInt n, const HJDistinctRow *mine, PetscInt *nout,
                                   HJDistinctRow *out, PetscInt *map)
{
  HJRowList *list;

  PetscFunctionBegin;
  PetscCall(PetscNew(&list));
  list->n = n;
  PetscCall(PetscArraycpy(list->row, mine, n));
  PetscCall(HJRowListReduce(comm, nslots, list));
  *nout = list->n;
  HJRowsSort(list->n, list->row, out);
  PetscCall(PetscFree(list));
  for (PetscInt i = 0; i < n && *nout >= 0; i++) {
    /* the entry that this one was joined to, or one that serves its points as well: they agree inside the domain, and no more leads
       out of it */
    map[i] = 0;
    while (map[i] < *nout && ((out[map[i]].outside & ~mine[i].outside) || !HJDistinctAgree(nslots, &out[map[i]], &mine[i]))) map[i]++;
    PetscCheck(map[i] < *nout, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Row %" PetscInt_FMT " of this rank is in no row of all ranks", i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bounds and zero diagonals come from the rows as they are: a merged row may have coefficients that no single row has */
static PetscErrorCode HJDictionaryBounds(const HJRows *rows, const HJDictionary *dict, HJStencil *st)
{
  PetscReal gershgorin = 0.0;
  PetscInt  zero       = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < dict->n; i++) {
    const HJDistinctRow *e   = dict->row + i;
    const PetscReal      d   = PetscAbsScalar(e->a[0]);
    PetscReal            sum = 0.0;

    for (PetscInt m = 1; m < dict->nslots; m++) { /* in the order of columns */
      if (m == dict->nslots / 2 + 1) sum += d;
      sum += PetscAbsScalar(e->a[m]);
    }
    gershgorin = HJLargerBound(gershgorin, d > 0.0 ? sum / d : sum);
    if (d == 0.0) zero += (PetscInt)e->count;
  }
  PetscCallMPI(MPI_Allreduce(&gershgorin, &st->gershgorin, 1, MPIU_REAL, MPIU_MAX, rows->comm));
  PetscCallMPI(MPI_Allreduce(&zero, &st->zero_diagonals, 1, MPIU_INT, MPI_SUM, rows->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void HJDictionaryScale(const HJRows *rows, PetscInt n, const HJDistinctRow *entry, HJStencil *st)
{
  st->nrows = n;
  for (PetscInt r = 0; r < n; r++) {
    const PetscScalar d   = entry[r].a[0];
    PetscScalar      *row = st->rows + r * st->nslots;

    st->dinv_rows[r] = HJDiagonalInverse(d);
    row[0]           = d != 0.0 ? d / d : 0.0; /* NaN where d is not finite */
    for (PetscInt o = 1; o < st->nslots; o++) {
      row[o] = entry[r].a[HJShapeBoxSlot(st->dim, st->shape, o)] * st->dinv_rows[r];
    }
  }
}

static PetscErrorCode HJDictionaryIndex(const HJRows *rows, const HJDictionary *dict, const unsigned char *number, HJStencil *st)
{
  const PetscInt       *n  = rows->width;
  const unsigned short *id = dict->id;

  PetscFunctionBegin;
  if (rows->reader) PetscCall(rows->reader->number(rows->readctx, dict->n, number, &st->box, st->index));
  else if (!id) { /* one row: no point has another, ghosts neither */
    for (PetscInt i = 1; i < dict->n; i++)
      PetscCheck(number[i] == number[0], PETSC_COMM_SELF, PETSC_ERR_PLIB, "The row of all points became several");
    memset(st->index, number[0], (size_t)HJBoxSize(&st->box));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt k = 0; k < n[2] && !rows->reader; k++) {
    for (PetscInt j = 0; j < n[1]; j++, id += n[0]) {
      unsigned char *index = st->index + HJBoxIndex(&st->box, 0, j, k);

      for (PetscInt i = 0; i < n[0]; i++) index[i] = number[id[i]];
    }
  }
  PetscCall(HJPadFillGhosts(rows, st, MPI_UNSIGNED_CHAR, 1, (void *const[]){st->index}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJDictionaryFill(HJRows *rows, HJDictionary *dict, HJStencil *st, PetscBool *fits)
{
  PetscInt       n, nall = -1, allmap[HJ_MAX_ROWS];
  HJDistinctRow *merged, *all;
  unsigned char *map, *number;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(dict->n, &map, HJ_MAX_ROWS, &merged, HJ_MAX_ROWS, &all, dict->n, &number));
  HJDistinctMerge(dict->nslots, dict->n, dict->row, &n, merged, map);
  *fits = (PetscBool)(n >= 0);
  PetscCall(HJOnAllRanks(rows->comm, fits));
  if (*fits) {
    PetscCall(HJRowsGather(rows->comm, dict->nslots, n, merged, &nall, all, allmap));
    *fits = HJStoresRows(HJ_FOR_SWEEPS, dict->nslots, nall, all, HJBoxSize(&rows->grid->owned));
  }
  if (*fits) {
    for (PetscInt i = 0; i < dict->n; i++) number[i] = (unsigned char)allmap[map[i]];
    PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF)); /* what leaves the range of numbers has no finite bound, which is said */
    HJDictionaryScale(rows, nall, all, st);
    PetscCall(HJDictionaryBounds(rows, dict, st));
    PetscCall(PetscFPTrapPop());
    PetscCall(HJDictionaryIndex(rows, dict, number, st));
  }
  PetscCall(PetscFree4(map, merged, all, number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

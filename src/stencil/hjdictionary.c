/*
   Distinct rows of a matrix: few on many grids. Decides when there are few enough, which rows may be one, and how they are numbered.
   Rows that differ only where they lead outside the domain are one: x is zero there.
*/
#include "hjstencil_impl.h"

/* Rows at the domain's ends differ in up to 3^dim ways before they are merged */
#define HJ_RAW_ROWS   4096
#define HJ_HASH_SLOTS 16384

static inline uint64_t HJBits(PetscScalar v)
{
  uint64_t          bits;
  const PetscScalar positive = v + 0.0; /* -0 is 0 */

  memcpy(&bits, &positive, sizeof(bits));
  return bits;
}

/* Whether an entry is row m of the run, whose nonzeros are known */
static PetscBool HJEntryIs(const HJEntry *e, const HJRowRun *run, const PetscScalar *val, unsigned int nonzero)
{
  if (e->nonzero != nonzero || e->outside != run->outside) return PETSC_FALSE;
  for (PetscInt t = 0; t < run->nnz; t++) {
    if (run->slot[t] >= 0 && HJBits(e->a[(int)run->slot[t]]) != HJBits(val[t])) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

static PetscErrorCode HJDictionaryAdd(HJDictionary *dict, const HJRowRun *run, const PetscScalar *val, unsigned int nonzero)
{
  HJEntry *e;

  PetscFunctionBegin;
  if (dict->n == dict->max) {
    dict->max = PetscMax(64, 4 * dict->max);
    PetscCall(PetscRealloc(dict->max * sizeof(*dict->entry), &dict->entry));
  }
  e = dict->entry + dict->n++;
  PetscCall(PetscMemzero(e, sizeof(*e)));
  e->nonzero = nonzero;
  e->outside = run->outside;
  for (PetscInt t = 0; t < run->nnz; t++) {
    if (run->slot[t] >= 0) e->a[(int)run->slot[t]] = val[t] + 0.0;
  }
  if (!run->outside) dict->ninner++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entry of one row, -1 where there is no more room */
static PetscErrorCode HJDictionaryFind(HJDictionary *dict, const HJRowRun *run, const PetscScalar *val, PetscInt *id)
{
  unsigned int nonzero = 0;
  uint64_t     hash    = HJMixBits(run->outside + 1);
  size_t       place;

  PetscFunctionBegin;
  for (PetscInt t = 0; t < run->nnz; t++) {
    if (run->slot[t] < 0 || val[t] == 0.0) continue;
    nonzero |= 1u << run->slot[t];
    hash += HJMixBits(HJBits(val[t]) + (uint64_t)run->slot[t]); /* a sum, for columns come in another order near other ranks */
  }
  for (place = HJMixBits(hash) % HJ_HASH_SLOTS; dict->table[place]; place = (place + 1) % HJ_HASH_SLOTS) {
    if (HJEntryIs(dict->entry + dict->table[place] - 1, run, val, nonzero)) break;
  }
  *id = (PetscInt)dict->table[place] - 1;
  if (*id < 0 && dict->n < HJ_RAW_ROWS && (run->outside || dict->ninner < HJ_MAX_ROWS)) {
    PetscCall(HJDictionaryAdd(dict, run, val, nonzero));
    dict->table[place] = (unsigned short)dict->n;
    *id                = dict->n - 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  HJDictionary  *dict  = (HJDictionary *)ctx;
  HJRows        *rows  = dict->rows;
  const PetscInt first = (run->k * dict->width[1] + run->j) * dict->width[0] + run->i;

  PetscFunctionBegin;
  HJDictionaryLookForBox(dict, run);
  for (PetscInt m = 0, n; m < run->n && dict->few; m += n) {
    PetscInt id;

    PetscCall(HJDictionaryFind(dict, run, run->val + (size_t)m * run->nnz, &id));
    if (id < 0) {
      dict->few = PETSC_FALSE;
      break;
    }
    n = HJRunEqual(run, m);
    for (PetscInt q = m; q < m + n && dict->id; q++) dict->id[first + q] = (unsigned short)id;
    dict->entry[id].count += run->alike / run->n * n;
  }
  rows->stop = (PetscBool)(!dict->few && (dict->box || (rows->c && rows->c->shape == HJ_STAR)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJDictionaryRead(HJRows *rows, HJDictionary *dict)
{
  HJRowScan scan;

  PetscFunctionBegin;
  PetscCall(rows->reader->scan(rows->readctx, HJ_RAW_ROWS, HJ_MAX_ROWS, &scan));
  dict->few   = scan.few;
  dict->box   = scan.box;
  dict->n     = scan.n;
  dict->entry = scan.entry;
  if (scan.wide_row < PETSC_INT_MAX) {
    rows->wide_row    = scan.wide_row;
    rows->wide_column = scan.wide_column;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJDictionaryCreate(HJRows *rows, HJDictionary *dict)
{
  PetscMPIInt mine[2], any[2];

  PetscFunctionBegin;
  PetscCall(PetscMemzero(dict, sizeof(*dict)));
  dict->rows   = rows;
  dict->nslots = rows->nslots;
  dict->few    = PETSC_TRUE;
  for (int d = 0; d < 3; d++) dict->width[d] = rows->width[d];
  for (PetscInt n = 0; n < 1 + 2 * rows->grid->dim; n++) dict->star |= 1u << rows->order[n];
  if (rows->reader) PetscCall(HJDictionaryRead(rows, dict));
  else {
    PetscCall(PetscCalloc1(HJ_HASH_SLOTS, &dict->table));
    if (!HJRowsAreOne(rows)) PetscCall(PetscMalloc1(HJBoxSize(&rows->grid->owned), &dict->id));
    PetscCall((HJRowsAreOne(rows) ? HJRowsForEachKind : HJRowsForEach)(rows, HJDictionaryVisit, dict));
  }
  mine[0] = !dict->few;
  mine[1] = dict->box;
  PetscCallMPI(MPI_Allreduce(mine, any, 2, MPI_INT, MPI_MAX, rows->comm));
  dict->few = (PetscBool)!any[0];
  dict->box = (PetscBool)any[1];
  PetscCall(PetscFree(dict->table));
  if (!dict->few) PetscCall(PetscFree(dict->id));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJDictionaryDestroy(HJDictionary *dict)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(dict->entry));
  PetscCall(PetscFree(dict->table));
  PetscCall(PetscFree(dict->id));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt HJPopulation(unsigned int bits)
{
  PetscInt n = 0;

  for (; bits; bits &= bits - 1) n++;
  return n;
}

/* Whether two rows agree in all slots that stay in the domain for both */
static PetscBool HJEntryAgree(const HJEntry *x, const HJEntry *y, PetscInt nslots)
{
  const unsigned int both = ~(x->outside | y->outside);

  if ((x->nonzero ^ y->nonzero) & both) return PETSC_FALSE;
  for (PetscInt c = 0; c < nslots; c++) {
    if ((both >> c & 1) && HJBits(x->a[c]) != HJBits(y->a[c])) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

static void HJEntryJoin(HJEntry *x, const HJEntry *y, PetscInt nslots)
{
  const unsigned int gain = x->outside & ~y->outside;

  for (PetscInt c = 0; c < nslots; c++) {
    if (gain >> c & 1) x->a[c] = y->a[c];
  }
  x->nonzero |= y->nonzero & gain;
  x->outside &= y->outside;
  x->count += y->count;
}

/*
   Joins n entries to *nout <= HJ_MAX_ROWS; more are -1. Rows inside the domain come first, then ends, edges, corners. map, if wanted:
   where each entry went
*/
static void HJEntriesMerge(PetscInt nslots, PetscInt n, const HJEntry *in, PetscInt *nout, HJEntry *out, PetscInt *map)
{
  *nout = 0;
  for (PetscInt level = 0; level < nslots; level++) {
    for (PetscInt i = 0; i < n; i++) {
      PetscInt o = 0;

      if (HJPopulation(in[i].outside) != level) continue;
      while (o < *nout && !HJEntryAgree(&out[o], &in[i], nslots)) o++;
      if (o == HJ_MAX_ROWS) {
        *nout = -1;
        return;
      }
      if (map) map[i] = o;
      if (o < *nout) HJEntryJoin(&out[o], &in[i], nslots);
      else out[(*nout)++] = in[i];
    }
  }
}

/* Entries of one rank or several, as they travel: those that are not there do not */
typedef struct {
  PetscInt n; /* -1: more than HJ_MAX_ROWS */
  HJEntry  entry[HJ_MAX_ROWS];
} HJEntryList;

static int HJEntryListBytes(PetscInt n)
{
  return (int)(offsetof(HJEntryList, entry) + (size_t)PetscMax(n, 0) * sizeof(HJEntry));
}

/* Both lists' entries to the first; work: two more lists */
static void HJEntryListJoin(PetscInt nslots, HJEntryList *list, const HJEntryList *other, HJEntry *work)
{
  PetscInt n = list->n;

  if (n < 0 || other->n < 0) {
    list->n = -1;
    return;
  }
  memcpy(work, list->entry, (size_t)n * sizeof(HJEntry));
  memcpy(work + n, other->entry, (size_t)other->n * sizeof(HJEntry));
  HJEntriesMerge(nslots, n + other->n, work, &list->n, list->entry, NULL);
}

/* Joins all ranks' lists on all ranks by a tree: log2 of the ranks messages one after another, none longer than HJ_MAX_ROWS entries.
   The order does not depend on which messages come first */
static PetscErrorCode HJEntryListReduce(MPI_Comm comm, PetscInt nslots, HJEntryList *list)
{
  PetscMPIInt  size, rank, tag;
  HJEntryList *other;
  HJEntry     *work;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(PetscCommGetNewTag(comm, &tag));
  PetscCall(PetscMalloc2(1, &other, 2 * HJ_MAX_ROWS, &work));
  for (PetscMPIInt step = 1; step < size; step *= 2) {
    if (rank % (2 * step)) {
      PetscCallMPI(MPI_Send(list, HJEntryListBytes(list->n), MPI_BYTE, rank - step, tag, comm));
      break;
    }
    if (rank + step >= size) continue;
    PetscCallMPI(MPI_Recv(other, (int)sizeof(*other), MPI_BYTE, rank + step, tag, comm, MPI_STATUS_IGNORE));
    HJEntryListJoin(nslots, list, other, work);
  }
  PetscCall(PetscFree2(other, work));
  PetscCallMPI(MPI_Bcast(&list->n, 1, MPIU_INT, 0, comm));
  PetscCallMPI(MPI_Bcast(list->entry, HJEntryListBytes(list->n) - HJEntryListBytes(0), MPI_BYTE, 0, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The most frequent first, else as they are */
static void HJEntriesSort(PetscInt n, const HJEntry *in, HJEntry *out)
{
  PetscInt order[HJ_MAX_ROWS];

  for (PetscInt o = 0, q; o < n; o++) {
    for (q = o; q > 0 && in[order[q - 1]].count < in[o].count; q--) order[q] = order[q - 1];
    order[q] = o;
  }
  for (PetscInt o = 0; o < n; o++) out[o] = in[order[o]];
}

/* All ranks' merged entries, the most frequent first; map leads there from this rank's n */
static PetscErrorCode HJEntriesGather(MPI_Comm comm, PetscInt nslots, PetscInt n, const HJEntry *mine, PetscInt *nout, HJEntry *out,
                                      PetscInt *map)
{
  HJEntryList *list;

  PetscFunctionBegin;
  PetscCall(PetscNew(&list));
  list->n = n;
  PetscCall(PetscArraycpy(list->entry, mine, n));
  PetscCall(HJEntryListReduce(comm, nslots, list));
  *nout = list->n;
  HJEntriesSort(list->n, list->entry, out);
  PetscCall(PetscFree(list));
  for (PetscInt i = 0; i < n && *nout >= 0; i++) {
    /* the entry that this one was joined to, or one that serves its points as well: they agree inside the domain, and no more leads
       out of it */
    map[i] = 0;
    while (map[i] < *nout && ((out[map[i]].outside & ~mine[i].outside) || !HJEntryAgree(&out[map[i]], &mine[i], nslots))) map[i]++;
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
    const HJEntry  *e   = dict->entry + i;
    const PetscReal d   = PetscAbsScalar(e->a[0]);
    PetscReal       sum = 0.0;

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

static void HJDictionaryScale(const HJRows *rows, PetscInt n, const HJEntry *entry, HJStencil *st)
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
  PetscSF               sf;

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
  PetscCall(HJPadCreate(rows, st, &sf));
  if (sf) {
    PetscCall(PetscSFBcastBegin(sf, MPI_UNSIGNED_CHAR, st->index, st->index, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(sf, MPI_UNSIGNED_CHAR, st->index, st->index, MPI_REPLACE));
  }
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJDictionaryFill(HJRows *rows, HJDictionary *dict, HJStencil *st, PetscBool *fits)
{
  PetscInt       n, nall = -1, *map, allmap[HJ_MAX_ROWS];
  PetscMPIInt    many, any;
  HJEntry       *merged, *all;
  unsigned char *number;

  PetscFunctionBegin;
  *fits = PETSC_FALSE;
  PetscCall(PetscMalloc4(dict->n, &map, HJ_MAX_ROWS, &merged, HJ_MAX_ROWS, &all, dict->n, &number));
  HJEntriesMerge(dict->nslots, dict->n, dict->entry, &n, merged, map);
  many = n < 0;
  PetscCallMPI(MPI_Allreduce(&many, &any, 1, MPI_INT, MPI_MAX, rows->comm));
  if (!any) {
    PetscCall(HJEntriesGather(rows->comm, dict->nslots, n, merged, &nall, all, allmap));
    *fits = (PetscBool)(nall >= 0);
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

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   From a matrix with several unknowns a point to a stencil: which entries are not 0 anywhere, whether few distinct rows hold them or
   arrays, and the inverse of each point's block. Which column leads to which neighbour is hjrows.c's. Where a stencil matrix lies on a
   device and no other rank has neighbours of its points a reader looks at the rows there, and the arrays are there.
*/
#include "hjstencil_impl.h"
#include "core/hjblock.h"
#include "core/hjdistinct.h"

/* Distinct rows that a rank tells apart before those that differ only in what leads outside the domain are made one, where they take no
   more memory than this */
#define HJ_SYSTEM_ROWS  512
#define HJ_SYSTEM_BYTES ((size_t)64 << 20)

/* The rows of a point as they are compared: what leads outside the domain, one bit a slot, and [slots of a box][dof][dof] numbers */
typedef struct {
  PetscInt        dof, nslots, width; /* width: numbers of a point's rows */
  size_t          bytes;              /* of an item: an unsigned 64-bit number, then the rows, then zeros up to a multiple of 8 */
  PetscBool       rows_fit;           /* there are no more than HJ_SYSTEM_ROWS of them */
  HJDistinct      distinct;
  PetscCount      first[HJ_SYSTEM_ROWS]; /* point of each item */
  PetscBool       one;                   /* the matrix has one row for all points */
  unsigned short *id;                    /* [owned] item of each point; NULL where it has */
  HJSystemRows    found;                 /* by the reader of st; then there are no ids either */
  unsigned char  *present;               /* [width] 1: not 0 at some point */
  char           *item;
  PetscScalar    *work;     /* three blocks */
  PetscInt        known;    /* items that have a first point */
  PetscInt        singular; /* row of the first point whose block has no inverse; -1: none */
  PetscReal       gershgorin;
  PetscInt        row_start;
  const PetscInt *n; /* points of this rank */
  HJStencil      *st;
} HJSystem;

static inline uint64_t HJItemOutside(const char *item)
{
  uint64_t outside;

  memcpy(&outside, item, sizeof(outside));
  return outside;
}

static inline const PetscScalar *HJItemRows(const char *item)
{
  return (const PetscScalar *)(item + sizeof(uint64_t));
}

static PetscBool HJSystemRowIsZero(const HJSystem *s, const PetscScalar *a, PetscInt row)
{
  for (PetscInt o = 0; o < s->nslots; o++)
    for (PetscInt d = 0; d < s->dof; d++)
      if (a[(o * s->dof + row) * s->dof + d] != 0.0) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* D^-1 into s->work, and what the rows say of Gershgorin's bound. Whether D has an inverse; of a row of zeros its diagonal counts as 1, as
   PCJACOBI's does */
static PetscBool HJSystemInvert(HJSystem *s, const PetscScalar *a)
{
  const PetscInt dof = s->dof, size = dof * dof;
  PetscScalar   *inverse = s->work, *block = s->work + size;
  PetscBool      is;

  memcpy(block, a, size * sizeof(*a));
  for (PetscInt c = 0; c < dof; c++)
    if (block[c * dof + c] == 0.0 && HJSystemRowIsZero(s, a, c)) block[c * dof + c] = 1.0;
  is = HJBlockInvert(dof, block, inverse);
  for (PetscInt c = 0; c < dof && is; c++) {
    PetscReal sum = 0.0;

    for (PetscInt e = 0; e < size; e++) sum += 0.0 * PetscAbsScalar(inverse[e]); /* NaN where one is not finite */
    for (PetscInt o = 1; o < s->nslots; o++) {
      for (PetscInt d = 0; d < dof; d++) {
        PetscScalar entry = 0.0;

        for (PetscInt l = 0; l < dof; l++) entry += inverse[c * dof + l] * a[(o * dof + l) * dof + d];
        sum += PetscAbsScalar(entry);
      }
    }
    s->gershgorin = HJLargerBound(s->gershgorin, 1.0 + sum);
  }
  return is;
}

static void HJSystemFoundSingular(HJSystem *s, PetscCount point)
{
  if (s->singular < 0) s->singular = s->row_start + (PetscInt)point * s->dof;
}

static PetscErrorCode HJSystemScanVisit(const HJBlockRow *row, void *ctx)
{
  HJSystem        *s       = (HJSystem *)ctx;
  const uint64_t   outside = row->outside;
  const PetscCount point   = ((PetscCount)row->k * s->n[1] + row->j) * s->n[0] + row->i;
  PetscInt         number;

  PetscFunctionBegin;
  for (PetscInt e = 0; e < s->width; e++) s->present[e] |= row->a[e] != 0.0;
  if (!s->rows_fit) PetscFunctionReturn(PETSC_SUCCESS);
  memcpy(s->item, &outside, sizeof(outside));
  memcpy(s->item + sizeof(outside), row->a, s->width * sizeof(PetscScalar));
  number = HJDistinctFind(&s->distinct, s->item);
  if (number < 0) s->rows_fit = PETSC_FALSE;
  if (!s->rows_fit) PetscFunctionReturn(PETSC_SUCCESS);
  if (number == s->distinct.n - 1 && number == s->known) s->first[s->known++] = point;
  for (PetscInt i = 0; s->id && i < row->n; i++) s->id[point + i] = (unsigned short)number;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of what a reader finds: items of few distinct rows, and which entries are not 0 anywhere, which a matrix's slots say */
static PetscErrorCode HJSystemScanDevice(const HJRows *rows, const HJRowReader *reader, HJSystem *s)
{
  const HJCoefficients *c = rows->c;

  PetscFunctionBegin;
  for (PetscInt e = 0; e < c->nslots; e++)
    s->present[(HJShapeBoxSlot(c->dim, c->shape, c->entry[e].slot) * s->dof + c->entry[e].row) * s->dof + c->entry[e].column] = 1;
  if (!s->rows_fit) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(reader->system_scan(c, rows->grid, HJ_SYSTEM_ROWS, &s->found));
  s->rows_fit = (PetscBool)(s->found.n >= 0);
  for (PetscInt i = 0; i < s->found.n; i++) {
    const uint64_t outside = s->found.outside[i];
    PetscScalar   *a       = (PetscScalar *)(s->item + sizeof(outside));

    memset(s->item, 0, s->bytes);
    memcpy(s->item, &outside, sizeof(outside));
    for (PetscInt e = 0; e < c->nslots; e++) {
      const PetscInt slot = HJShapeBoxSlot(c->dim, c->shape, c->entry[e].slot);

      a[(slot * s->dof + c->entry[e].row) * s->dof + c->entry[e].column] = outside >> slot & 1 ? 0.0 : s->found.rows[i * c->nslots + e];
    }
    PetscCheck(HJDistinctFind(&s->distinct, s->item) == i, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Rows that were found to be different are not");
    s->first[i] = s->found.first[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads all rows. What there is anywhere, and whether no rank has too many rows, is the same on all ranks afterwards. Collective */
static PetscErrorCode HJSystemScan(HJRows *rows, const HJRowReader *reader, HJSystem *s)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  s->dof       = rows->dof;
  s->nslots    = rows->nslots;
  s->width     = s->nslots * s->dof * s->dof;
  s->bytes     = sizeof(uint64_t) + (s->width * sizeof(PetscScalar) + 7) / 8 * 8;
  s->one       = HJRowsAreOneBlock(rows);
  s->rows_fit  = (PetscBool)(s->one || HJ_SYSTEM_ROWS * s->bytes <= HJ_SYSTEM_BYTES);
  s->singular  = -1;
  s->row_start = rows->row_start;
  s->n         = rows->width;
  PetscCall(HJDistinctCreate(s->one ? HJ_MAX_SLOTS : s->rows_fit ? HJ_SYSTEM_ROWS : 1, s->bytes, s->bytes / 8, &s->distinct));
  if (!s->one && !reader) PetscCall(PetscMalloc1(HJBoxSize(&rows->grid->owned), &s->id));
  PetscCall(PetscCalloc1(s->width, &s->present));
  PetscCall(PetscCalloc1(s->bytes, &s->item));
  PetscCall(PetscMalloc1(3 * s->dof * s->dof, &s->work));
  if (reader && !s->one) PetscCall(HJSystemScanDevice(rows, reader, s));
  else PetscCall(HJRowsForEachBlock(rows, HJSystemScanVisit, s));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, s->present, (PetscMPIInt)s->width, MPI_UNSIGNED_CHAR, MPI_MAX, rows->comm));
  PetscCall(HJOnAllRanks(rows->comm, &s->rows_fit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSystemDestroy(const HJRowReader *reader, HJSystem *s)
{
  PetscFunctionBegin;
  if (reader) PetscCall(reader->system_free(&s->found));
  PetscCall(HJDistinctDestroy(&s->distinct));
  PetscCall(PetscFree(s->id));
  PetscCall(PetscFree(s->present));
  PetscCall(PetscFree(s->item));
  PetscCall(PetscFree(s->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether an item serves the points of another: the same inside the domain, and no more leads out of it */
static PetscBool HJItemServes(const HJSystem *s, const char *item, const char *other)
{
  const uint64_t outside = HJItemOutside(other);
  const size_t   size    = s->dof * s->dof * sizeof(PetscScalar);

  if (HJItemOutside(item) & ~outside) return PETSC_FALSE;
  for (PetscInt o = 0; o < s->nslots; o++) {
    if (outside >> o & 1) continue;
    if (memcmp((const char *)HJItemRows(item) + o * size, (const char *)HJItemRows(other) + o * size, size)) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

static PetscInt HJItemFind(const HJSystem *s, PetscInt n, const char *list, const char *item)
{
  for (PetscInt i = 0; i < n; i++)
    if (HJItemServes(s, list + i * s->bytes, item)) return i;
  return -1;
}

static int HJItemCountOutside(const char *item)
{
  int n = 0;

  for (uint64_t bits = HJItemOutside(item); bits; bits &= bits - 1) n++;
  return n;
}

/* Of n items those that serve all, at most HJ_MAX_ROWS: *nout, else -1. Those with all neighbours come first */
static void HJItemsMerge(const HJSystem *s, PetscInt n, const char *in, PetscInt *nout, char *out)
{
  *nout = 0;
  for (int outside = 0; outside < HJ_MAX_SLOTS; outside++) {
    for (PetscInt i = 0; i < n && *nout >= 0; i++) {
      const char *item = in + i * s->bytes;

      if (HJItemCountOutside(item) != outside || HJItemFind(s, *nout, out, item) >= 0) continue;
      if (*nout == HJ_MAX_ROWS) *nout = -1;
      else memcpy(out + (*nout)++ * s->bytes, item, s->bytes);
    }
  }
}

/* The items of all ranks; *n is -1 where there are too many. list: HJ_MAX_ROWS of them. Collective */
static PetscErrorCode HJItemsGather(MPI_Comm comm, const HJSystem *s, PetscInt *n, char *list)
{
  PetscMPIInt  size, mine, *bytes, *first, most = HJ_MAX_ROWS;
  PetscInt64   all = 0;
  char        *gathered;
  MPI_Datatype type;

  PetscFunctionBegin;
  HJItemsMerge(s, s->distinct.n, s->distinct.item, n, list);
  PetscCallMPI(MPI_Comm_size(comm, &size));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc2(size, &bytes, size + 1, &first));
  mine = (PetscMPIInt)*n;
  PetscCallMPI(MPI_Allgather(&mine, 1, MPI_INT, bytes, 1, MPI_INT, comm));
  first[0] = 0;
  for (PetscMPIInt r = 0; r < size; r++) {
    if (bytes[r] < 0) most = -1;
    all += PetscMax(bytes[r], 0);
    first[r + 1] = (PetscMPIInt)all;
  }
  *n = -1;
  if (most > 0 && all <= 64 * HJ_MAX_ROWS) { /* ranks that have other rows than one another have many */
    PetscCall(PetscMalloc(all * s->bytes, (void **)&gathered));
    PetscCallMPI(MPI_Type_contiguous((PetscMPIInt)s->bytes, MPI_BYTE, &type));
    PetscCallMPI(MPI_Type_commit(&type));
    PetscCallMPI(MPI_Allgatherv(list, mine, type, gathered, bytes, first, type, comm));
    PetscCallMPI(MPI_Type_free(&type));
    HJItemsMerge(s, (PetscInt)all, gathered, n, list);
    PetscCall(PetscFree(gathered));
  }
  PetscCall(PetscFree2(bytes, first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries that are present, [slots of a box][dof][dof], those of slot 0 as D^-1 */
static PetscErrorCode HJSystemSetEntries(const HJSystem *s, HJStencil *st, const unsigned char *present)
{
  const PetscInt dof = s->dof;

  PetscFunctionBegin;
  st->nentries = 0;
  for (PetscInt e = 0; e < s->width; e++) st->nentries += present[e];
  PetscCall(PetscMalloc1(st->nentries, &st->entry));
  st->nentries = 0;
  for (PetscInt inverse = 1; inverse >= 0; inverse--) {
    for (PetscInt c = 0; c < dof; c++) {
      for (PetscInt o = inverse ? 0 : 1; o < (inverse ? 1 : st->nslots); o++) {
        const unsigned char *p = present + (HJShapeBoxSlot(st->dim, st->shape, o) * dof + c) * dof;

        for (PetscInt d = 0; d < dof; d++)
          if (p[d]) st->entry[st->nentries++] = (HJEntry){o, c, d};
      }
    }
    if (inverse) st->ninverse = st->nentries;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscInt HJEntryPlace(const HJStencil *st, const HJEntry *e)
{
  return (HJShapeBoxSlot(st->dim, st->shape, e->slot) * st->dof + e->row) * st->dof + e->column;
}

/* The rows of D^-1 A, whose slot 0 holds D^-1, from those of A */
static void HJSystemScale(HJSystem *s, const PetscScalar *a, PetscScalar *scaled)
{
  const PetscInt size = s->dof * s->dof;

  (void)HJSystemInvert(s, a);
  memcpy(scaled, s->work, size * sizeof(*a));
  for (PetscInt o = 1; o < s->nslots; o++) HJBlockMultiply(s->dof, s->work, a + o * size, scaled + o * size);
}

/* What st holds of HJ_DICTIONARY but the index, from n items */
static PetscErrorCode HJSystemFillRows(HJSystem *s, PetscInt n, const char *list, HJStencil *st)
{
  PetscScalar   *scaled;
  unsigned char *present;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n * s->width, &scaled));
  PetscCall(PetscCalloc1(s->width, &present));
  PetscCall(PetscMalloc1(n * s->width, &st->blocks));
  st->nrows = n;
  for (PetscInt r = 0; r < n; r++) {
    PetscScalar *row = scaled + r * s->width;

    memcpy(st->blocks + r * s->width, HJItemRows(list + r * s->bytes), s->width * sizeof(PetscScalar));
    HJSystemScale(s, st->blocks + r * s->width, row);
    for (PetscInt e = 0; e < s->width; e++) present[e] |= row[e] != 0.0;
  }
  PetscCall(HJSystemSetEntries(s, st, present));
  PetscCall(PetscMalloc1(n * st->nentries, &st->rows));
  for (PetscInt r = 0; r < n; r++) {
    for (PetscInt e = 0; e < st->nentries; e++) st->rows[r * st->nentries + e] = scaled[r * s->width + HJEntryPlace(st, &st->entry[e])];
  }
  PetscCall(PetscFree(scaled));
  PetscCall(PetscFree(present));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row of each point of the box. Collective */
static PetscErrorCode HJSystemFillIndex(const HJRows *rows, const HJSystem *s, PetscInt n, const char *list, HJStencil *st)
{
  const PetscInt  *w       = rows->width;
  const PetscCount npoints = HJBoxSize(&rows->grid->owned);
  unsigned char    number[HJ_SYSTEM_ROWS];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < s->distinct.n; i++) number[i] = (unsigned char)HJItemFind(s, n, list, s->distinct.item + i * s->bytes);
  PetscCall(HJArrayAlloc(st, (size_t)HJBoxSize(&st->box), &st->index));
  if (s->one) { /* which serves all */
    if (!st->reader) PetscCall(PetscArrayzero(st->index, HJBoxSize(&st->box)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (st->reader) {
    PetscCall(st->reader->system_number(&s->found, rows->grid, &st->box, number, st->index));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscCount p = 0; p < npoints; p++) st->index[HJBoxIndex(&st->box, p % w[0], p / w[0] % w[1], p / w[0] / w[1])] = number[s->id[p]];
  PetscCall(HJPadFillGhosts(rows, st, MPI_UNSIGNED_CHAR, 1, (void *const[]){st->index}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSystemTryDictionary(const HJRows *rows, HJSystem *s, HJStencil *st, PetscBool *fits)
{
  PetscInt n = -1;
  char    *list;

  PetscFunctionBegin;
  *fits = PETSC_FALSE;
  if (!s->rows_fit) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc(HJ_MAX_ROWS * s->bytes, (void **)&list));
  PetscCall(HJItemsGather(rows->comm, s, &n, list));
  if (n >= 0) {
    *fits       = PETSC_TRUE;
    st->storage = HJ_DICTIONARY;
    for (PetscInt i = 0; i < s->distinct.n && s->singular < 0; i++) /* in the order of their first points */
      if (!HJSystemInvert(s, HJItemRows(s->distinct.item + i * s->bytes))) HJSystemFoundSingular(s, s->first[i]);
    PetscCall(HJSystemFillRows(s, n, list, st));
    PetscCall(HJSystemFillIndex(rows, s, n, list, st));
  }
  PetscCall(PetscFree(list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSystemFillVisit(const HJBlockRow *row, void *ctx)
{
  HJSystem        *s  = (HJSystem *)ctx;
  const HJStencil *st = s->st;
  const PetscCount to = HJBoxIndex(&st->box, row->i, row->j, row->k);

  PetscFunctionBegin;
  if (!HJSystemInvert(s, row->a)) HJSystemFoundSingular(s, ((PetscCount)row->k * s->n[1] + row->j) * s->n[0] + row->i);
  for (PetscInt e = 0; e < st->nentries; e++) {
    const HJEntry    *entry  = &st->entry[e];
    const PetscScalar v      = e < st->ninverse ? s->work[entry->row * s->dof + entry->column] : row->a[HJEntryPlace(st, entry)];
    PetscScalar      *values = HJStencilValues(st, e, to);

    for (PetscInt i = 0; i < row->n; i++) values[i] = v;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the inverse of D may have entries, from where D has some */
static void HJSystemCloseBlock(const HJSystem *s, unsigned char *present)
{
  const PetscInt dof = s->dof;

  for (PetscInt c = 0; c < dof; c++) present[c * dof + c] = 1;
  for (PetscInt l = 0; l < dof; l++) {
    for (PetscInt c = 0; c < dof; c++) {
      for (PetscInt d = 0; d < dof; d++) present[c * dof + d] |= present[c * dof + l] & present[l * dof + d];
    }
  }
}

/* By the reader */
static PetscErrorCode HJSystemFillDevice(const HJRows *rows, HJSystem *s, HJStencil *st)
{
  PetscCount singular;
  PetscReal  gershgorin;

  PetscFunctionBegin;
  PetscCall(st->reader->system_fill(rows->c, rows->grid, st, &singular, &gershgorin));
  if (singular < HJBoxSize(&rows->grid->owned)) HJSystemFoundSingular(s, singular);
  s->gershgorin = HJLargerBound(s->gershgorin, gershgorin);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of the entries that are present. Collective */
static PetscErrorCode HJSystemFillArrays(HJRows *rows, HJSystem *s, HJStencil *st)
{
  const PetscInt   n    = HJBoxWidth(&st->box, 0);
  const PetscCount size = HJBoxSize(&st->box);
  PetscScalar     *array;
  PetscSF          sf;

  PetscFunctionBegin;
  st->storage = HJ_VARIABLE;
  HJSystemCloseBlock(s, s->present);
  PetscCall(HJSystemSetEntries(s, st, s->present));
  PetscCall(HJArrayAlloc(st, st->nentries * size * sizeof(PetscScalar), &st->values));
  s->st = st;
  if (st->reader) {
    PetscCall(HJSystemFillDevice(rows, s, st));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJRowsForEachBlock(rows, HJSystemFillVisit, s));
  PetscCall(HJPadCreate(rows, st, &sf));
  PetscCall(PetscMalloc1(sf ? size : 0, &array));
  for (PetscInt e = 0; e < st->nentries && sf; e++) {
    for (PetscCount line = 0; line < size; line += n) PetscCall(PetscArraycpy(array + line, HJStencilValues(st, e, line), n));
    PetscCall(PetscSFBcastBegin(sf, MPIU_SCALAR, array, array, MPI_REPLACE));
    PetscCall(PetscSFBcastEnd(sf, MPIU_SCALAR, array, array, MPI_REPLACE));
    for (PetscCount line = 0; line < size; line += n) PetscCall(PetscArraycpy(HJStencilValues(st, e, line), array + line, n));
  }
  PetscCall(PetscFree(array));
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether some nonzero lies outside the star */
static HJShape HJSystemShape(const HJRows *rows, const HJSystem *s)
{
  const PetscInt size = s->dof * s->dof, dim = rows->grid->dim;
  unsigned int   star = 0;

  for (PetscInt o = 0; o < HJShapeSlots(dim, HJ_STAR); o++) star |= 1u << HJShapeBoxSlot(dim, HJ_STAR, o);
  for (PetscInt e = 0; e < s->width; e++)
    if (s->present[e] && !(star >> e / size & 1)) return HJ_BOX;
  return HJ_STAR;
}

static PetscErrorCode HJSystemMake(HJRows *rows, PetscInt pad, const HJRowReader *reader, HJSystem *s, HJStencil *st)
{
  PetscBool fits;

  PetscFunctionBegin;
  st->dim    = rows->grid->dim;
  st->dof    = rows->dof;
  st->shape  = HJSystemShape(rows, s);
  st->nslots = HJShapeSlots(st->dim, st->shape);
  st->reader = reader;
  st->mtype  = reader ? reader->mtype : PETSC_MEMTYPE_HOST;
  st->box    = HJGridPadded(rows->grid, pad);
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF)); /* what leaves the range of numbers has no finite bound, which is said */
  PetscCall(HJSystemTryDictionary(rows, s, st, &fits));
  if (!fits) PetscCall(HJSystemFillArrays(rows, s, st));
  PetscCall(PetscFPTrapPop());
  PetscCallMPI(MPI_Allreduce(&s->gershgorin, &st->gershgorin, 1, MPIU_REAL, MPIU_MAX, rows->comm));
  PetscCall(HJRowsBlame(rows, s->singular, -1, "begins a singular diagonal block", st->singular, sizeof(st->singular)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether all neighbours of a rank's points are its own */
static PetscBool HJSystemIsAlone(const HJGrid *grid)
{
  return (PetscBool)(!HJGridHasNeighbors(grid) || HJGridIsWrapped(grid));
}

PetscErrorCode HJSystemCreate(Mat P, DM da, const HJGrid *grid, PetscInt pad, const HJRowReader *reader, HJStencil **st, char reason[],
                              size_t len)
{
  HJRows   rows;
  HJSystem s;

  PetscFunctionBegin;
  *st = NULL;
  if (reader && !HJSystemIsAlone(grid)) reader = NULL;
  PetscCall(HJRowsOpenBlocks(P, grid, da, reader ? reader->mtype : PETSC_MEMTYPE_HOST, &rows, reason, len));
  if (reason[0]) PetscFunctionReturn(PETSC_SUCCESS);
  if (!rows.c || (HJRowsAreOne(&rows) && !HJRowsAreOneBlock(&rows))) reader = NULL; /* rows of AIJ, and rows, are read on the host */
  PetscCall(HJSystemScan(&rows, reader, &s));
  PetscCall(HJRowsBlameWide(&rows, reason, len));
  if (!reason[0]) {
    PetscCall(PetscNew(st));
    PetscCall(HJSystemMake(&rows, pad, reader, &s, *st));
  }
  PetscCall(HJSystemDestroy(reader, &s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJSystemFree(HJStencil *st)
{
  PetscFunctionBegin;
  PetscCall(HJArrayFree(st, &st->values));
  PetscCall(PetscFree(st->entry));
  PetscCall(PetscFree(st->blocks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

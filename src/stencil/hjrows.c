/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Rows of an AIJ or stencil matrix on a DMDA as runs of rows with equal stencils. Decides which column leads to which neighbour; keeps no
   coefficient.
   Columns follow from the ownership ranges alone: PETSc numbers the points of a DMDA rank by rank, x fastest inside and among ranks.
*/
#include "hjstencil_impl.h"

static PetscErrorCode HJRowsOpenBlock(Mat A, const PetscInt **i, const PetscInt **j, const PetscScalar **a)
{
  PetscInt  n;
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, i, j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "The matrix does not give its rows");
  PetscCall(MatSeqAIJGetArrayRead(A, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJRowsCloseBlock(Mat A, const PetscInt **i, const PetscInt **j, const PetscScalar **a)
{
  PetscInt  n;
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJRestoreArrayRead(A, a));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, i, j, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJRowsSetGrid(HJRows *rows, DM da)
{
  HJCut cut[3];

  PetscFunctionBegin;
  PetscCall(HJGridGetCuts(da, cut));
  for (int d = 0; d < 3; d++) {
    const HJCut *c   = &cut[d];
    PetscInt     sum = 0, here = 0;

    rows->width[d]  = c->n;
    rows->nranks[d] = c->nranks;
    rows->offset[d] = c->offset;
    while (sum < c->start) sum += c->widths[here++];
    for (int s = 0; s < 3; s++) {
      const PetscInt at = (here + s - 1 + c->nranks) % c->nranks;

      rows->at[d][s]    = at;
      rows->other[d][s] = c->widths[at];
      for (PetscInt p = 0; p < at; p++) rows->start[d][s] += c->widths[p];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Along how many directions a slot of a box leads away */
static PetscInt HJRowsFar(PetscInt dim, PetscInt slot)
{
  PetscInt far = 0;

  for (int d = 0; d < 3; d++) far += HJShapeStep(dim, HJ_BOX, slot, d) != 0;
  return far;
}

/* The order in which a column's slot is looked for. Where a period has one point several slots lead to a column: the one that leads along
   the fewest directions has it, in the row of either point, and in stencil matrices */
static void HJRowsSetOrder(HJRows *rows)
{
  const PetscInt dim = rows->grid->dim;
  PetscInt       n   = 0;

  rows->nslots = HJShapeSlots(dim, HJ_BOX);
  for (PetscInt s = 0; s < HJShapeSlots(dim, HJ_STAR); s++) rows->order[n++] = (signed char)HJShapeBoxSlot(dim, HJ_STAR, s);
  for (PetscInt far = 2; far <= dim; far++) {
    for (PetscInt s = 1; s < rows->nslots; s++)
      if (HJRowsFar(dim, s) == far) rows->order[n++] = (signed char)s;
  }
}

static PetscErrorCode HJRowsOpenReader(HJRows *rows)
{
  HJRowLayout l;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&l, sizeof(l)));
  l.dim       = rows->grid->dim;
  l.nslots    = rows->nslots;
  l.row_start = rows->row_start;
  l.slack     = rows->slack;
  for (int d = 0; d < 3; d++) {
    l.width[d] = rows->width[d];
    l.N[d]     = rows->grid->N[d];
    for (int s = 0; s < 2; s++) l.neighbor[d][s] = rows->grid->neighbor[d][s];
    for (int s = 0; s < 3; s++) {
      l.start[d][s] = rows->start[d][s];
      l.other[d][s] = rows->other[d][s];
    }
  }
  PetscCall(PetscArraycpy(l.order, rows->order, rows->nslots));
  PetscCall(rows->reader->open(rows->A, rows->B, rows->garray, &l, &rows->readctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of a stencil matrix whose rows are put together at a time */
#define HJ_ROWS_CHUNK 128

/* A matrix that composes its coefficients is read from them, by the reader where there is one; *found is false where it does not */
static PetscErrorCode HJRowsOpenCoefficients(HJRows *rows, Mat P, PetscBool *found)
{
  HJGetCoefficients get;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_GET_COEFFICIENTS, &get));
  *found = (PetscBool)(get != NULL);
  if (!get || rows->reader) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*get)(P, PETSC_MEMTYPE_HOST, &rows->c));
  PetscCall(PetscMalloc2(rows->c->nslots, &rows->slot, HJ_ROWS_CHUNK * rows->c->nslots, &rows->val));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What all rows have that are read on the grid of a DMDA */
static PetscErrorCode HJRowsInit(Mat P, const HJGrid *grid, DM da, HJRows *rows)
{
  PetscFunctionBegin;
  *rows = (HJRows){.grid = grid, .dof = grid->dof, .wide_row = -1, .wide_column = -1, .comm = PetscObjectComm((PetscObject)P)};
  PetscCall(MatGetOwnershipRange(P, &rows->row_start, &rows->row_end));
  PetscCall(HJRowsSetGrid(rows, da));
  HJRowsSetOrder(rows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRowsOpen(Mat P, const HJGrid *grid, DM da, const HJRowReader *reader, HJRows *rows, char reason[], size_t len)
{
  PetscBool seq, mpi, known, symmetric;
  MatType   type;

  PetscFunctionBegin;
  PetscCall(HJRowsInit(P, grid, da, rows));
  PetscCall(MatIsSymmetricKnown(P, &known, &symmetric));
  rows->slack  = known && symmetric ? HJ_SLACK : 0;
  rows->reader = reader;
  reason[0]    = 0;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)P, MATSEQAIJ, &seq));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)P, MATMPIAIJ, &mpi));
  if (!seq && !mpi) PetscCall(HJRowsOpenCoefficients(rows, P, &seq));
  if (!seq && !mpi) {
    PetscCall(MatGetType(P, &type));
    PetscCall(PetscSNPrintf(reason, len, "the matrix type is %s, a stencil needs an AIJ or hjstencil matrix", type));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(P, &rows->A, &rows->B, &rows->garray));
  else rows->A = P;
  if (rows->c) PetscFunctionReturn(PETSC_SUCCESS);
  if (reader) {
    PetscCall(HJRowsOpenReader(rows));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJRowsOpenBlock(rows->A, &rows->Ai, &rows->Aj, &rows->Aa));
  if (rows->B) PetscCall(HJRowsOpenBlock(rows->B, &rows->Bi, &rows->Bj, &rows->Ba));
  for (PetscInt r = 0; r < rows->row_end - rows->row_start; r++) {
    rows->max_nnz = PetscMax(rows->max_nnz, rows->Ai[r + 1] - rows->Ai[r] + (rows->B ? rows->Bi[r + 1] - rows->Bi[r] : 0));
  }
  PetscCall(PetscMalloc2(rows->max_nnz, &rows->slot, rows->max_nnz, &rows->val));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRowsOpenBlocks(Mat P, const HJGrid *grid, DM da, PetscMemType mtype, HJRows *rows, char reason[], size_t len)
{
  PetscBool         known;
  MatType           type;
  HJGetCoefficients get;

  PetscFunctionBegin;
  PetscCall(HJRowsInit(P, grid, da, rows));
  rows->P   = P;
  reason[0] = 0;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)P, &known, MATSEQAIJ, MATMPIAIJ, MATSEQBAIJ, MATMPIBAIJ, ""));
  PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_GET_COEFFICIENTS, &get));
  if (!known && !get) {
    PetscCall(MatGetType(P, &type));
    PetscCall(PetscSNPrintf(reason, len,
                            "the matrix type is %s, a stencil of several degrees of freedom at a point needs an AIJ, BAIJ or hjstencil "
                            "matrix",
                            type));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (get) PetscCall((*get)(P, mtype, &rows->c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRowsClose(HJRows *rows)
{
  PetscFunctionBegin;
  if (!rows->A) PetscFunctionReturn(PETSC_SUCCESS);
  if (rows->reader) {
    PetscCall(rows->reader->close(&rows->readctx));
    rows->A = rows->B = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscFree2(rows->slot, rows->val));
  if (rows->c) {
    rows->A = NULL;
    rows->c = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJRowsCloseBlock(rows->A, &rows->Ai, &rows->Aj, &rows->Aa));
  if (rows->B) PetscCall(HJRowsCloseBlock(rows->B, &rows->Bi, &rows->Bj, &rows->Ba));
  rows->A = rows->B = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which rank owns coordinate q (0: the previous one, 1: this one, 2: the next), and the place there; PETSC_FALSE outside the domain */
static PetscBool HJRowsLocate(const HJRows *rows, int d, PetscInt q, int *s, PetscInt *at)
{
  *s  = q < 0 ? 0 : q >= rows->width[d] ? 2 : 1;
  *at = *s == 0 ? q + rows->other[d][0] : *s == 1 ? q : q - rows->width[d];
  return (PetscBool)(*s == 1 || rows->grid->neighbor[d][*s / 2]);
}

/* Columns of the line (j, k) and the lines around it: that of the first point on each rank along x, -1 for a line outside the domain */
static void HJRowsSetLine(HJRows *rows, PetscInt j, PetscInt k)
{
  const PetscInt *N = rows->grid->N, dim = rows->grid->dim;

  for (PetscInt l = 0; l < 9; l++) {
    const PetscInt dy = l % 3, dz = l / 3; /* 1: on the line */
    int            sy, sz;
    PetscInt       y, z;
    PetscBool      inside;

    if ((dim < 2 && dy != 1) || (dim < 3 && dz != 1)) continue;
    inside = HJRowsLocate(rows, 1, j + dy - 1, &sy, &y);
    inside = (PetscBool)(HJRowsLocate(rows, 2, k + dz - 1, &sz, &z) && inside);
    for (int s = 0; s < 3; s++) {
      const PetscInt first = rows->start[2][sz] * N[0] * N[1] +
                             rows->other[2][sz] * (rows->start[1][sy] * N[0] + rows->other[1][sy] * rows->start[0][s]);

      rows->line[s][dz][dy] = inside ? first + (z * rows->other[1][sy] + y) * rows->other[0][s] : -1;
    }
  }
}

/* Fills column[] for point i of the line; returns the slots that lead outside the domain */
static unsigned int HJRowsSetPoint(HJRows *rows, PetscInt i)
{
  unsigned int outside = 0;
  int          rank[3];
  PetscInt     at[3];
  PetscBool    inside[3];

  for (PetscInt x = 0; x < 3; x++) inside[x] = HJRowsLocate(rows, 0, i + x - 1, &rank[x], &at[x]);
  for (PetscInt s = 0; s < rows->nslots; s++) {
    PetscInt off[3], first;

    HJShapeOffset(rows->grid->dim, HJ_BOX, s, off);
    first           = rows->line[rank[off[0] + 1]][off[2] + 1][off[1] + 1];
    rows->column[s] = inside[off[0] + 1] && first >= 0 ? first + at[off[0] + 1] : -1;
    outside |= (unsigned int)(rows->column[s] < 0) << s;
  }
  return outside;
}

/* The same from the point before, where neither has a neighbour along the line that is not this rank's */
static void HJRowsMovePoint(HJRows *rows)
{
  for (PetscInt s = 0; s < rows->nslots; s++) rows->column[s] += rows->column[s] >= 0;
}

static signed char HJRowsFind(const HJRows *rows, PetscInt column)
{
  for (PetscInt n = 0; n < rows->nslots; n++) {
    if (rows->column[(int)rows->order[n]] == column) return rows->order[n];
  }
  return -1;
}

/* A run of one row */
static void HJRowsClassify(HJRows *rows, PetscInt i, PetscInt j, PetscInt k, HJRowRun *run)
{
  const PetscInt r  = (k * rows->width[1] + j) * rows->width[0] + i;
  const PetscInt na = rows->Ai[r + 1] - rows->Ai[r], nb = rows->B ? rows->Bi[r + 1] - rows->Bi[r] : 0;

  run->i       = i;
  run->j       = j;
  run->k       = k;
  run->n       = 1;
  run->nnz     = na + nb;
  run->slot    = rows->slot;
  run->val     = rows->Aa + rows->Ai[r];
  run->outside = HJRowsSetPoint(rows, i);
  for (PetscInt t = 0; t < na + nb; t++) {
    const PetscInt column = t < na ? rows->row_start + rows->Aj[rows->Ai[r] + t] : rows->garray[rows->Bj[rows->Bi[r] + t - na]];

    rows->slot[t] = HJRowsFind(rows, column);
    if (nb) rows->val[t] = t < na ? rows->Aa[rows->Ai[r] + t] : rows->Ba[rows->Bi[r] + t - na];
    if (rows->slot[t] < 0 && (nb ? rows->val : run->val)[t] != 0.0 && rows->wide_row < 0) {
      rows->wide_row    = rows->row_start + r;
      rows->wide_column = column;
    }
  }
  if (nb) run->val = rows->val;
}

/* Number of rows from r on, at most max, whose columns are those of row r moved along */
static PetscInt HJRowsAlike(const HJRows *rows, PetscInt r, PetscInt max)
{
  const PetscInt  nnz = rows->Ai[r + 1] - rows->Ai[r], *c = rows->Aj + rows->Ai[r];
  const PetscInt *Ai = rows->Ai + r;
  PetscInt        n  = 1;

  if (rows->B && rows->Bi[r + max] != rows->Bi[r]) return 1;
  while (n < max && Ai[n + 1] - Ai[n] == nnz) n++;
  for (PetscInt m = 1; m < n;) {
    const PetscInt end = PetscMin(m + 64, n);
    PetscInt       bad = 0;

    for (PetscInt e = m * nnz; e < end * nnz; e++) bad |= c[e] - c[e - nnz] - 1;
    if (bad) {
      for (PetscInt e = m * nnz;; e++) {
        if (c[e] != c[e - nnz] + 1) return e / nnz;
      }
    }
    m = end;
  }
  return n;
}

/* A point with all neighbours in this rank's box is one where columns differ from rows by fixed numbers */
static void HJRowsExtend(HJRows *rows, HJRowRun *run)
{
  const PetscInt r = (run->k * rows->width[1] + run->j) * rows->width[0] + run->i;

  run->n = HJRowsAlike(rows, r, rows->width[0] - 1 - run->i);
  for (PetscInt t = 0; t < run->nnz; t++) {
    if (run->slot[t] >= 0) continue;
    for (PetscInt m = 0; m < run->n; m++) {
      if (run->val[m * run->nnz + t] != 0.0) run->n = m;
    }
  }
}

/* A run of a stencil matrix: the points share what leads outside the domain */
static void HJRowsFillRun(HJRows *rows, HJRowRun *run)
{
  const HJCoefficients *c  = rows->c;
  const PetscCount      at = ((PetscCount)run->k * rows->width[1] + run->j) * rows->width[0] + run->i;
  PetscInt              from[HJ_MAX_SLOTS];

  run->nnz     = 0;
  run->slot    = rows->slot;
  run->val     = rows->val;
  run->outside = HJRowsSetPoint(rows, run->i);
  for (PetscInt s = 0; s < c->nslots; s++) {
    const PetscInt slot = HJShapeBoxSlot(c->dim, c->shape, s);

    if (run->outside >> slot & 1) continue;
    from[run->nnz]         = s;
    rows->slot[run->nnz++] = (signed char)slot;
  }
  for (PetscInt t = 0; t < run->nnz; t++) {
    for (PetscInt m = 0; m < run->n; m++) rows->val[m * run->nnz + t] = HJCoefficientAt(c, from[t], at + m);
  }
}

static PetscErrorCode HJRowsForEachCoefficient(HJRows *rows, HJVisit visit, void *ctx)
{
  const PetscInt *n = rows->width;
  HJRowRun        run;

  PetscFunctionBegin;
  for (run.k = 0; run.k < n[2]; run.k++) {
    for (run.j = 0; run.j < n[1]; run.j++) {
      HJRowsSetLine(rows, run.j, run.k);
      for (run.i = 0; run.i < n[0]; run.i += run.n) {
        run.n     = run.i > 0 && run.i < n[0] - 1 ? PetscMin(HJ_ROWS_CHUNK, n[0] - 1 - run.i) : 1;
        run.alike = run.n;
        HJRowsFillRun(rows, &run);
        PetscCall(visit(&run, ctx));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJRowsAreOne(const HJRows *rows)
{
  return (PetscBool)(rows->c && rows->c->storage == HJ_COEFFICIENTS_ROW);
}

PetscBool HJRowsAreOneBlock(const HJRows *rows)
{
  PetscBool one = HJRowsAreOne(rows);

  for (int d = 0; d < rows->grid->dim; d++) one = (PetscBool)(one && rows->grid->N[d] > 2);
  return one;
}

/* Of n coordinates the first, the second for all up to the last but one, the last: the points from i on that are like point i */
static PetscInt HJRowsLikeCoordinate(PetscInt i, PetscInt n)
{
  return i > 0 && i < n - 1 ? n - 1 - i : 1;
}

PetscErrorCode HJRowsForEachKind(HJRows *rows, HJVisit visit, void *ctx)
{
  const PetscInt *n = rows->width;
  PetscInt        alike[3];
  HJRowRun        run;

  PetscFunctionBegin;
  run.n = 1;
  for (run.k = 0; run.k < n[2]; run.k += alike[2]) {
    alike[2] = HJRowsLikeCoordinate(run.k, n[2]);
    for (run.j = 0; run.j < n[1]; run.j += alike[1]) {
      alike[1] = HJRowsLikeCoordinate(run.j, n[1]);
      HJRowsSetLine(rows, run.j, run.k);
      for (run.i = 0; run.i < n[0]; run.i += alike[0]) {
        alike[0]  = HJRowsLikeCoordinate(run.i, n[0]);
        run.alike = (PetscCount)alike[0] * alike[1] * alike[2];
        HJRowsFillRun(rows, &run);
        PetscCall(visit(&run, ctx));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRowsForEach(HJRows *rows, HJVisit visit, void *ctx)
{
  const PetscInt *n = rows->width;
  HJRowRun        run;

  PetscFunctionBegin;
  if (rows->c) {
    PetscCall(HJRowsForEachCoefficient(rows, visit, ctx));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      const PetscBool inner = (PetscBool)((rows->grid->dim < 3 || (k > 0 && k < n[2] - 1)) &&
                                          (rows->grid->dim < 2 || (j > 0 && j < n[1] - 1)));

      HJRowsSetLine(rows, j, k);
      for (PetscInt i = 0; i < n[0]; i += run.n) {
        HJRowsClassify(rows, i, j, k, &run);
        if (rows->wide_row >= 0) PetscFunctionReturn(PETSC_SUCCESS);
        if (inner && i > 0 && i < n[0] - 1 && run.val != rows->val) HJRowsExtend(rows, &run);
        run.alike = run.n;
        PetscCall(visit(&run, ctx));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Into a, which is all 0, the rows from row on of the point whose columns are set */
static PetscErrorCode HJRowsReadBlock(HJRows *rows, PetscInt row, PetscScalar *a)
{
  const PetscInt     dof = rows->dof;
  const PetscInt    *columns;
  const PetscScalar *values;
  PetscInt           n;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < dof; c++) {
    PetscInt    last = -1; /* the columns of a point mostly follow one another */
    signed char slot = -1;

    PetscCall(MatGetRow(rows->P, row + c, &n, &columns, &values));
    for (PetscInt e = 0; e < n; e++) {
      const PetscInt point = columns[e] / dof;

      if (values[e] == 0.0) continue;
      if (point != last) slot = HJRowsFind(rows, last = point);
      if (slot >= 0) a[(slot * dof + c) * dof + columns[e] % dof] = values[e];
      else if (rows->wide_row < 0) {
        rows->wide_row    = row + c;
        rows->wide_column = columns[e];
      }
    }
    PetscCall(MatRestoreRow(rows->P, row + c, &n, &columns, &values));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of a point of a stencil matrix */
static void HJRowsCopyBlock(const HJRows *rows, PetscCount point, unsigned int outside, PetscScalar *a)
{
  const HJCoefficients *c = rows->c;

  for (PetscInt s = 0; s < c->nslots; s++) {
    const HJEntry *e    = &c->entry[s];
    const PetscInt slot = HJShapeBoxSlot(c->dim, c->shape, e->slot);

    if (!(outside >> slot & 1)) a[(slot * c->dof + e->row) * c->dof + e->column] = HJCoefficientAt(c, s, point);
  }
}

/* Of a line of a stencil matrix's arrays: whether each point has the same numbers as the one before it. Others have no such points */
static void HJRowsFindRepeats(const HJRows *rows, PetscCount line, unsigned char repeats[])
{
  const HJCoefficients *c = rows->c;
  const PetscInt        n = rows->width[0];

  memset(repeats, c && c->storage == HJ_COEFFICIENTS_ARRAYS, n);
  for (PetscInt s = 0; c && c->storage == HJ_COEFFICIENTS_ARRAYS && s < c->nslots; s++) {
    const PetscScalar *a = c->value + HJSlotBegin(c, s) + line;

    for (PetscInt i = 1; i < n; i++) repeats[i] &= a[i] == a[i - 1];
  }
}

PetscErrorCode HJRowsForEachBlock(HJRows *rows, HJVisitBlock visit, void *ctx)
{
  const PetscInt *n = rows->width, size = rows->nslots * rows->dof * rows->dof;
  const PetscBool one = HJRowsAreOneBlock(rows);
  PetscScalar    *a;
  unsigned char  *repeats;
  HJBlockRow      point;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(size, &a, n[0], &repeats));
  point.a = a;
  for (point.k = 0; point.k < n[2]; point.k += one ? HJRowsLikeCoordinate(point.k, n[2]) : 1) {
    for (point.j = 0; point.j < n[1]; point.j += one ? HJRowsLikeCoordinate(point.j, n[1]) : 1) {
      const PetscInt line = (point.k * n[1] + point.j) * n[0];

      HJRowsSetLine(rows, point.j, point.k);
      HJRowsFindRepeats(rows, line, repeats);
      for (point.i = 0; point.i < n[0] && rows->wide_row < 0; point.i += one ? HJRowsLikeCoordinate(point.i, n[0]) : point.n) {
        point.n = 1;
        while (point.i > 0 && point.i + point.n < n[0] - 1 && repeats[point.i + point.n]) point.n++;
        if (point.i > 1 && point.i < n[0] - 1) HJRowsMovePoint(rows);
        else point.outside = HJRowsSetPoint(rows, point.i);
        PetscCall(PetscArrayzero(a, size));
        if (rows->c) HJRowsCopyBlock(rows, line + point.i, point.outside, a);
        else PetscCall(HJRowsReadBlock(rows, rows->row_start + (line + point.i) * rows->dof, a));
        if (rows->wide_row < 0) PetscCall((*visit)(&point, ctx));
      }
    }
  }
  PetscCall(PetscFree2(a, repeats));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRowsBlame(const HJRows *rows, PetscInt row, PetscInt column, const char complaint[], char reason[], size_t len)
{
  PetscInt  mine = row < 0 ? PETSC_INT_MAX : row, first, what[4] = {-1, -1, -1, -1}, all[4];
  PetscInt *p = what + 1;
  char      where[128];

  PetscFunctionBegin;
  reason[0] = 0;
  PetscCallMPI(MPI_Allreduce(&mine, &first, 1, MPIU_INT, MPI_MIN, rows->comm));
  if (first == PETSC_INT_MAX) PetscFunctionReturn(PETSC_SUCCESS);
  if (first == mine) {
    const PetscInt r = (row - rows->row_start) / rows->dof;

    what[0] = column;
    p[0]    = r % rows->width[0];
    p[1]    = r / rows->width[0] % rows->width[1];
    p[2]    = r / rows->width[0] / rows->width[1];
    for (int d = 0; d < 3; d++) p[d] += rows->start[d][1] + rows->offset[d];
  }
  PetscCallMPI(MPI_Allreduce(what, all, 4, MPIU_INT, MPI_MAX, rows->comm));
  PetscCall(PetscSNPrintf(where, sizeof(where), "row %" PetscInt_FMT " (grid point %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT ")",
                          first, all[1], all[2], all[3]));
  if (all[0] >= 0) PetscCall(PetscSNPrintf(reason, len, "%s %s %" PetscInt_FMT, where, complaint, all[0]));
  else PetscCall(PetscSNPrintf(reason, len, "%s %s", where, complaint));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJRowsBlameWide(const HJRows *rows, char reason[], size_t len)
{
  PetscFunctionBegin;
  PetscCall(HJRowsBlame(rows, rows->wide_row, rows->wide_column, "has a nonzero more than one grid point away, in column", reason, len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the coefficients of a point are those of its neighbours on this rank towards it */
static PetscBool HJRowsPointSymmetric(const HJRows *rows, PetscInt r)
{
  const HJCoefficients *c    = rows->c;
  const PetscInt       *n    = rows->width;
  const PetscInt        p[3] = {r % n[0], r / n[0] % n[1], r / n[0] / n[1]};

  for (PetscInt s = 1; s < c->nslots; s++) {
    const PetscInt opposite = HJSlotOpposite(c, s);
    PetscInt       off[3], q[3];

    HJSlotOffset(c, s, off);
    for (int d = 0; d < 3; d++) q[d] = p[d] + off[d];
    if (q[0] < 0 || q[0] >= n[0] || q[1] < 0 || q[1] >= n[1] || q[2] < 0 || q[2] >= n[2]) continue;
    if (HJCoefficientAt(c, s, r) != HJCoefficientAt(c, opposite, ((PetscCount)q[2] * n[1] + q[1]) * n[0] + q[0])) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

PetscErrorCode HJRowsSampleSymmetric(const HJRows *rows, PetscBool *symmetric)
{
  const PetscInt n = rows->row_end - rows->row_start, step = 1 + n / 4096;

  PetscFunctionBegin;
  *symmetric = PETSC_TRUE;
  if (rows->slack > 0) PetscFunctionReturn(PETSC_SUCCESS); /* as good as known */
  for (PetscInt r = 0; r < n && *symmetric && rows->c; r += step) *symmetric = HJRowsPointSymmetric(rows, r);
  if (rows->c) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt r = 0; r < n && *symmetric; r += step) {
    for (PetscInt e = rows->Ai[r]; e < rows->Ai[r + 1]; e++) {
      const PetscInt c = rows->Aj[e];
      PetscScalar    v = 0.0;

      for (PetscInt f = rows->Ai[c]; f < rows->Ai[c + 1]; f++) {
        if (rows->Aj[f] == r) v = rows->Aa[f];
      }
      if (v != rows->Aa[e]) *symmetric = PETSC_FALSE;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

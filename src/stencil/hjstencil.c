/* SPDX-License-Identifier: BSD-2-Clause */
/*
   From a matrix to a stencil: decides shape, storage and box, and whether a stencil that is there can take new values.
   How rows are read, merged and stored is in the other files of this room.
*/
#include "hjstencil_impl.h"

static PetscErrorCode HJStencilCheckSizes(Mat P, DM dm, char reason[], size_t len)
{
  PetscInt    dof, m, n, most = HJ_ENDLESS - 2 * HJ_MAX_PAD;
  PetscMPIInt mine[2], all[2];
  HJCut       cut[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetDof(dm, &dof));
  PetscCall(HJGridGetCuts(dm, cut));
  PetscCall(MatGetLocalSize(P, &m, &n));
  mine[0] = m == dof * cut[0].n * cut[1].n * cut[2].n && n == m;
  mine[1] = cut[0].n < most && cut[1].n < most && cut[2].n < most;
  PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)P)));
  PetscCall(MatGetSize(P, &m, &n));
  if (!all[0])
    PetscCall(PetscSNPrintf(reason, len,
                            "the matrix (%" PetscInt_FMT " x %" PetscInt_FMT ") is not of the DMDA's size, or distributed in another way",
                            m, n));
  else if (!all[1])
    PetscCall(PetscSNPrintf(reason, len, "a rank has %" PetscInt_FMT " points or more in one direction: use more ranks", most));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJStencilCheckDM(Mat P, DM dm, char reason[], size_t len)
{
  PetscBool   isda = PETSC_FALSE, twisted = PETSC_FALSE;
  HJCut       cut[3];
  PetscMPIInt compare;

  PetscFunctionBegin;
  reason[0] = 0;
  if (dm) PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &isda));
  if (!isda) {
    PetscCall(PetscSNPrintf(reason, len, dm ? "the DM is no DMDA" : "there is no DMDA"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallMPI(MPI_Comm_compare(PetscObjectComm((PetscObject)P), PetscObjectComm((PetscObject)dm), &compare));
  PetscCall(HJGridGetCuts(dm, cut));
  for (int d = 0; d < 3; d++) twisted = (PetscBool)(twisted || cut[d].boundary == DM_BOUNDARY_TWIST);
  if (compare != MPI_IDENT && compare != MPI_CONGRUENT) PetscCall(PetscSNPrintf(reason, len, "matrix and DMDA live on different ranks"));
  else if (twisted) PetscCall(PetscSNPrintf(reason, len, "the DMDA has a twisted boundary"));
  else PetscCall(HJStencilCheckSizes(P, dm, reason, len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJStencilCheckOne(DM da, char reason[], size_t len)
{
  PetscInt dof;

  PetscFunctionBegin;
  PetscCall(DMDAGetDof(da, &dof));
  reason[0] = 0;
  if (dof > 1)
    PetscCall(PetscSNPrintf(reason, len, "the DMDA has %" PetscInt_FMT " degrees of freedom at a point, a stencil matrix has 1", dof));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJStencilReset(HJStencil *st)
{
  PetscFunctionBegin;
  PetscCall(HJValuesFree(st));
  PetscCall(HJSystemFree(st));
  PetscCall(PetscFree(st->rows));
  PetscCall(PetscFree(st->dinv_rows));
  PetscCall(HJArrayFree(st, &st->index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJStencilDestroy(HJStencil **st)
{
  PetscFunctionBegin;
  if (!*st) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStencilReset(*st));
  PetscCall(PetscFree(*st));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Its index, unless it is of one row where a stencil may have none */
static PetscErrorCode HJStencilAllocIndex(const HJRows *rows, HJStencil *st)
{
  const PetscBool one = (PetscBool)(rows->shared && rows->shared->storage == HJ_COEFFICIENTS_ROW && !HJGridHasNeighbors(rows->grid));

  PetscFunctionBegin;
  if (!st->index && !one) PetscCall(HJArrayAlloc(st, (size_t)HJBoxSize(&st->box), &st->index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJStencilTryDictionary(HJRows *rows, HJDictionary *dict, PetscInt pad, HJStencil *st, PetscBool *fits)
{
  PetscFunctionBegin;
  *fits = PETSC_FALSE;
  if (!dict->rows_fit) PetscFunctionReturn(PETSC_SUCCESS);
  st->storage = HJ_DICTIONARY;
  st->box     = HJGridPadded(rows->grid, pad);
  PetscCall(PetscMalloc1(HJ_MAX_ROWS * st->nslots, &st->rows));
  PetscCall(PetscMalloc1(HJ_MAX_ROWS, &st->dinv_rows));
  PetscCall(HJStencilAllocIndex(rows, st));
  PetscCall(HJDictionaryFill(rows, dict, st, fits));
  if (!*fits) PetscCall(HJStencilReset(st));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJStencilTryValues(HJRows *rows, HJStorage storage, PetscInt pad, HJStencil *st, PetscBool *fits, PetscInt *zero_row)
{
  PetscFunctionBegin;
  st->storage  = storage;
  st->box      = HJGridPadded(rows->grid, pad);
  st->in_place = HJValuesFitInPlace(rows, st);
  for (int d = 0; d < 3 && !st->in_place; d++) {
    st->box.lo[d] -= HJStencilLayer(st, d, 0);
    st->box.hi[d] += HJStencilLayer(st, d, 1);
  }
  PetscCall(HJValuesAlloc(rows->grid, st));
  PetscCall(HJValuesFill(rows, st, fits, zero_row));
  if (!*fits) PetscCall(HJStencilReset(st));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the half storage is worth a try: its extra layer must exist, and a sample of the rows be symmetric */
static PetscErrorCode HJStencilMaybeSymmetric(const HJRows *rows, PetscInt pad, PetscBool *maybe)
{
  PetscFunctionBegin;
  *maybe = PETSC_FALSE;
  if (rows->grid->min_width < pad + 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (rows->reader) *maybe = PETSC_TRUE;
  else PetscCall(HJRowsSampleSymmetric(rows, maybe));
  PetscCall(HJOnAllRanks(rows->comm, maybe));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tries the storages from the smallest to the largest */
static PetscErrorCode HJStencilLoad(HJRows *rows, HJDictionary *dict, PetscInt pad, HJStencil *st, char reason[], size_t len)
{
  PetscBool fits, maybe;
  PetscInt  zero_row = -1;

  PetscFunctionBegin;
  st->dim    = rows->grid->dim;
  st->dof    = 1;
  st->shape  = dict->box ? HJ_BOX : HJ_STAR;
  st->nslots = HJShapeSlots(st->dim, st->shape);
  st->reader = rows->reader;
  st->mtype  = rows->reader ? rows->reader->mtype : PETSC_MEMTYPE_HOST;
  PetscCall(HJStencilTryDictionary(rows, dict, pad, st, &fits));
  PetscCall(HJDictionaryDestroy(dict));
  if (fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStencilMaybeSymmetric(rows, pad, &maybe));
  if (maybe) PetscCall(HJStencilTryValues(rows, HJ_SYMMETRIC, pad, st, &fits, &zero_row));
  if (!fits) PetscCall(HJStencilTryValues(rows, HJ_VARIABLE, pad, st, &fits, &zero_row));
  if (!fits)
    PetscCall(
      HJRowsBlame(rows, zero_row, -1, HJ_STENCIL_NO_DIAGONAL ", which only a grid of at most 256 distinct rows can have", reason, len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coefficients of a stencil matrix where the reader reads them */
static PetscErrorCode HJStencilShare(Mat P, HJRows *rows)
{
  HJGetCoefficients get;

  PetscFunctionBegin;
  if (!rows->reader) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_GET_COEFFICIENTS, &get));
  if (get) PetscCall((*get)(P, rows->reader->mtype, &rows->shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the shape and the storage of a stencil matrix's arrays are those of the stencil */
static PetscBool HJStencilIsKnown(const HJRows *rows, PetscBool is_box)
{
  const HJCoefficients *c = rows->shared;

  return (PetscBool)(c && c->storage == HJ_COEFFICIENTS_ARRAYS && (c->shape == HJ_STAR || is_box));
}

/* Arrays that were found to be symmetric: the matrix need not look for itself */
static PetscErrorCode HJStencilTell(const HJStencil *st, Mat P)
{
  HJFoundSymmetric found;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_FOUND_SYMMETRIC, &found));
  if (found && st->storage == HJ_SYMMETRIC) PetscCall((*found)(P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJStencilMake(Mat P, DM da, const HJGrid *grid, PetscInt pad, const HJRowReader *reader, PetscBool in_place,
                                    PetscBool is_box, HJMeasured *measured, HJStencil **st, char reason[], size_t len)
{
  HJRows       rows;
  HJDictionary dict;
  PetscBool    known;

  PetscFunctionBegin;
  *st = NULL;
  PetscCall(HJStencilCheckDM(P, da, reason, len));
  if (reason[0]) PetscFunctionReturn(PETSC_SUCCESS);
  if (grid->dof > 1) {
    PetscCall(HJSystemCreate(P, da, grid, pad, reader, st, reason, len));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJRowsOpen(P, grid, da, reader, &rows, reason, len));
  if (reason[0]) PetscFunctionReturn(PETSC_SUCCESS);
  if (in_place) PetscCall(HJStencilShare(P, &rows));
  if (measured) rows.measure = &measured->of;
  known = HJStencilIsKnown(&rows, is_box);
  if (known) {
    PetscCall(PetscMemzero(&dict, sizeof(dict)));
    dict.box = (PetscBool)(rows.shared->shape == HJ_BOX);
  } else PetscCall(HJDictionaryCreate(&rows, &dict));
  PetscCall(HJRowsBlameWide(&rows, reason, len));
  if (!reason[0]) {
    PetscCall(PetscNew(st));
    PetscCall(HJStencilLoad(&rows, &dict, pad, *st, reason, len));
    if (reason[0] && known) { /* few distinct rows may have what arrays cannot hold */
      reason[0] = 0;
      PetscCall(HJDictionaryCreate(&rows, &dict));
      PetscCall(HJStencilLoad(&rows, &dict, pad, *st, reason, len));
    }
    if (reason[0]) PetscCall(HJStencilDestroy(st));
    else if ((*st)->zero_diagonals)
      PetscCall(
        PetscInfo(P, "%" PetscInt_FMT " rows have a zero or missing diagonal: taken as 1, as PCJACOBI does\n", (*st)->zero_diagonals));
  }
  if (*st) PetscCall(HJStencilTell(*st, P));
  if (measured) measured->is = (PetscBool)(*st && (*st)->storage != HJ_DICTIONARY && rows.measure);
  PetscCall(HJDictionaryDestroy(&dict));
  PetscCall(HJRowsClose(&rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJStencilCreate(Mat P, DM da, const HJGrid *grid, PetscInt pad, const HJRowReader *reader, HJStencil **st, char reason[],
                               size_t len)
{
  PetscFunctionBegin;
  PetscCall(HJStencilMake(P, da, grid, pad, reader, PETSC_FALSE, PETSC_FALSE, NULL, st, reason, len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJStencilCreateInPlace(Mat P, DM da, const HJGrid *grid, PetscInt pad, const HJRowReader *reader, PetscBool is_box,
                                      HJMeasured *measured, HJStencil **st, char reason[], size_t len)
{
  PetscFunctionBegin;
  PetscCall(HJStencilMake(P, da, grid, pad, reader, PETSC_TRUE, is_box, measured, st, reason, len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJStencilRefreshDictionary(HJRows *rows, HJStencil *st, PetscBool *kept)
{
  HJDictionary dict;
  PetscBool    wide;

  PetscFunctionBegin;
  PetscCall(HJDictionaryCreate(rows, &dict));
  wide = (PetscBool)(rows->wide_row >= 0);
  PetscCall(HJOnAnyRank(rows->comm, &wide));
  *kept = (PetscBool)(!wide && dict.rows_fit && (!dict.box || st->shape == HJ_BOX));
  if (*kept) PetscCall(HJStencilAllocIndex(rows, st));
  if (*kept) PetscCall(HJDictionaryFill(rows, &dict, st, kept));
  PetscCall(HJDictionaryDestroy(&dict));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJStencilRefresh(HJStencil *st, Mat P, DM da, const HJGrid *grid, const HJRowReader *reader, HJMeasured *measured,
                                PetscBool *kept)
{
  HJRows   rows;
  PetscInt zero_row;
  char     reason[256];

  PetscFunctionBegin;
  *kept = PETSC_FALSE;
  if (measured) measured->is = PETSC_FALSE;
  if (reader != st->reader || st->dof > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStencilCheckDM(P, da, reason, sizeof(reason)));
  if (reason[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJRowsOpen(P, grid, da, reader, &rows, reason, sizeof(reason)));
  if (reason[0]) PetscFunctionReturn(PETSC_SUCCESS);
  if (st->in_place || (st->storage == HJ_DICTIONARY && !st->index)) PetscCall(HJStencilShare(P, &rows));
  if (measured) rows.measure = &measured->of;
  if (st->storage == HJ_DICTIONARY) PetscCall(HJStencilRefreshDictionary(&rows, st, kept));
  else if (!st->in_place || HJValuesFitInPlace(&rows, st)) PetscCall(HJValuesFill(&rows, st, kept, &zero_row));
  if (*kept) PetscCall(HJStencilTell(st, P));
  if (measured) measured->is = (PetscBool)(*kept && st->storage != HJ_DICTIONARY && rows.measure);
  PetscCall(HJRowsClose(&rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

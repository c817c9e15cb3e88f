/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The rows of an AIJ matrix as a stencil matrix stores them, one array per slot, neither scaled nor padded. Decides whether a star or a box
   holds them. Which column leads to which neighbour is hjrows.c's.
*/
#include "hjstencil_impl.h"

typedef struct {
  HJCoefficients *c;
  PetscInt        width[2], box[HJ_MAX_SLOTS]; /* box: slot of a box of each of c's */
  unsigned int    missing;                     /* bit per slot of a box that c has no array for */
  PetscBool       fits;
} HJCoefficientFill;

static PetscErrorCode HJCoefficientVisit(const HJRowRun *run, void *ctx)
{
  HJCoefficientFill *fill = (HJCoefficientFill *)ctx;
  HJCoefficients    *c    = fill->c;
  const PetscCount   to   = ((PetscCount)run->k * fill->width[1] + run->j) * fill->width[0] + run->i;
  PetscInt           place[HJ_MAX_SLOTS];

  PetscFunctionBegin;
  if (!HJRunPlaces(run, fill->missing, place)) fill->fits = PETSC_FALSE;
  for (PetscInt first = 0; first < run->n; first += HJ_CHUNK) {
    const PetscInt n = PetscMin(HJ_CHUNK, run->n - first);

    for (PetscInt s = 0; s < c->nslots; s++) HJRunCopy(run, first, n, place[fill->box[s]], c->value + HJSlotBegin(c, s) + to + first);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void HJCoefficientFillSetUp(const HJRows *rows, HJCoefficients *c, HJCoefficientFill *fill)
{
  fill->c        = c;
  fill->width[0] = rows->width[0];
  fill->width[1] = rows->width[1];
  fill->missing  = (1u << rows->nslots) - 1;
  fill->fits     = PETSC_TRUE;
  for (PetscInt s = 0; s < c->nslots; s++) {
    fill->box[s] = HJShapeBoxSlot(c->dim, c->shape, s);
    fill->missing &= ~(1u << fill->box[s]);
  }
}

/* Where the reader reads */
static PetscErrorCode HJCoefficientsRead(HJRows *rows, HJCoefficientFill *fill)
{
  HJRowFill read = {.measure = NULL};

  PetscFunctionBegin;
  PetscCall(rows->reader->coefficients(rows->readctx, fill->c, &read));
  fill->fits = read.fits;
  HJRowsFoundWide(rows, read.wide_row, read.wide_column);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several unknowns a point */
typedef struct {
  HJCoefficients *c;
  PetscInt        width[2], *entry; /* [slots] place in the rows of a point */
  unsigned int    missing;
  PetscBool       fits;
} HJSystemFill;

static PetscErrorCode HJSystemVisit(const HJBlockRow *row, void *ctx)
{
  HJSystemFill    *fill = (HJSystemFill *)ctx;
  HJCoefficients  *c    = fill->c;
  const PetscCount to   = ((PetscCount)row->k * fill->width[1] + row->j) * fill->width[0] + row->i;
  const PetscInt   size = c->dof * c->dof;

  PetscFunctionBegin;
  for (PetscInt s = 0; s < c->nslots; s++) c->value[HJSlotBegin(c, s) + to] = row->a[fill->entry[s]];
  for (PetscInt o = 0; fill->missing >> o; o++) {
    if (!(fill->missing >> o & 1)) continue;
    for (PetscInt e = 0; e < size; e++) fill->fits = (PetscBool)(fill->fits && row->a[o * size + e] == 0.0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSystemReadCoefficients(Mat P, DM da, const HJGrid *grid, HJCoefficients *c, PetscBool *fits, char reason[],
                                               size_t len)
{
  HJRows       rows;
  HJSystemFill fill = {.c = c, .fits = PETSC_TRUE};

  PetscFunctionBegin;
  PetscCall(HJRowsOpenBlocks(P, grid, da, PETSC_MEMTYPE_HOST, &rows, reason, len));
  if (reason[0]) PetscFunctionReturn(PETSC_SUCCESS);
  fill.width[0] = rows.width[0];
  fill.width[1] = rows.width[1];
  fill.missing  = (1u << rows.nslots) - 1;
  PetscCall(PetscMalloc1(c->nslots, &fill.entry));
  for (PetscInt s = 0; s < c->nslots; s++) {
    const PetscInt box = HJShapeBoxSlot(c->dim, c->shape, c->entry[s].slot);

    fill.entry[s] = (box * c->dof + c->entry[s].row) * c->dof + c->entry[s].column;
    fill.missing &= ~(1u << box);
  }
  PetscCall(HJRowsForEachBlock(&rows, HJSystemVisit, &fill));
  PetscCall(PetscFree(fill.entry));
  PetscCall(HJRowsBlameWide(&rows, reason, len));
  *fits = fill.fits;
  PetscCall(HJOnAllRanks(PetscObjectComm((PetscObject)P), fits));
  if (reason[0]) *fits = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJStencilReadCoefficients(Mat P, DM da, const HJGrid *grid, const HJRowReader *reader, HJCoefficients *c, PetscBool *fits,
                                         char reason[], size_t len)
{
  HJRows            rows;
  HJCoefficientFill fill;

  PetscFunctionBegin;
  *fits = PETSC_FALSE;
  if (grid->dof > 1) {
    PetscCall(HJSystemReadCoefficients(P, da, grid, c, fits, reason, len));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJRowsOpen(P, grid, da, reader, &rows, reason, len));
  if (reason[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!rows.c, PetscObjectComm((PetscObject)P), PETSC_ERR_PLIB, "Only rows of AIJ matrices are read here");
  HJCoefficientFillSetUp(&rows, c, &fill);
  if (reader) PetscCall(HJCoefficientsRead(&rows, &fill));
  else PetscCall(HJRowsForEach(&rows, HJCoefficientVisit, &fill));
  PetscCall(HJRowsBlameWide(&rows, reason, len));
  PetscCall(HJRowsClose(&rows));
  *fits = fill.fits;
  PetscCall(HJOnAllRanks(PetscObjectComm((PetscObject)P), fits));
  if (reason[0]) *fits = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

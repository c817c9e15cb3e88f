/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 7 */
/*
   What becomes of a stencil with new values, single entries, rounding, many distinct rows; the reasons given where a matrix is none.
*/
#include "hjstencilcase.h"

/* Values of another kind in the same pattern */
static PetscErrorCode CheckRefresh(const char *name, Kind from, Kind to, PetscBool expected)
{
  Case       c = {"", 2, {37, 23, 1}, NONE, PETSC_FALSE, from, 2, HJ_DICTIONARY, 0};
  DM         da;
  Mat        A;
  HJGrid     grid;
  HJStencil *st;
  PetscBool  kept;
  char       reason[256];

  PetscFunctionBegin;
  PetscCall(CreateDM(&c, 1, &da));
  PetscCall(CreateMat(&c, da, &A));
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(HJStencilCreate(A, da, &grid, 2, NULL, &st, reason, sizeof(reason)));
  PetscCall(MatZeroEntries(A));
  c.kind = to;
  PetscCall(FillMat(&c, da, A));
  if (from == to) PetscCall(MatScale(A, 3.0));
  PetscCall(HJStencilRefresh(st, A, da, &grid, NULL, NULL, &kept));
  PetscCall(HJTestOK((PetscBool)(kept == expected), "refresh %s: %s", name, expected ? "kept" : "not kept"));
  if (kept) PetscCall(CheckStencil(name, A, da, &grid, st, 2));
  PetscCall(HJStencilDestroy(&st));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries at places that a case does not set: 2D, one entry in the row of a point, or its diagonal */
static PetscErrorCode CheckEntry(const char *name, Kind kind, PetscInt di, PetscInt dj, PetscScalar v, InsertMode mode,
                                 const char *expected, HJShape shape)
{
  const Case     c    = {"", 2, {37, 23, 1}, NONE, PETSC_FALSE, kind, 2, HJ_DICTIONARY, 0};
  const PetscInt p[3] = {20, 11, 0};
  DM             da;
  Mat            A;
  AO             ao;
  HJGrid         grid;
  HJStencil     *st;
  PetscInt       start, end, row = p[1] * 37 + p[0], col = (p[1] + dj) * 37 + p[0] + di;
  char           reason[256], full[256];

  PetscFunctionBegin;
  PetscCall(CreateDM(&c, 1, &da));
  PetscCall(CreateMat(&c, da, &A));
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(AOApplicationToPetsc(ao, 1, &row));
  PetscCall(AOApplicationToPetsc(ao, 1, &col));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  if (row >= start && row < end) PetscCall(MatSetValues(A, 1, &row, 1, &col, &v, mode));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(HJStencilCreate(A, da, &grid, 2, NULL, &st, reason, sizeof(reason)));
  PetscCall(CheckDevice(name, A, da, &grid, 2, st, reason));
  if (expected) {
    PetscCall(PetscSNPrintf(full, sizeof(full), expected, row, col));
    PetscCall(HJTestOK((PetscBool)(!st && !strcmp(reason, full)), "%s: %s", name, reason));
  } else {
    PetscCall(HJTestOK((PetscBool)(st && st->shape == shape), "%s: shape %s", name, reason));
    if (st) PetscCall(CheckStencil(name, A, da, &grid, st, 2));
    if (st && mode == INSERT_VALUES && !di && !dj) PetscCall(HJTestOK((PetscBool)(st->zero_diagonals == 1), "%s: one zero diagonal", name));
  }
  PetscCall(HJStencilDestroy(&st));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An entry differs from that opposite to it by so large a part: of a matrix that is known to be symmetric, rounding may do that */
static PetscErrorCode CheckRounding(const char *name, MatType type, PetscReal part, PetscBool known, HJStorage expected)
{
  const Case  c   = {"", 3, {13, 11, 9}, NONE, PETSC_TRUE, EDGES, 1, expected, 0};
  PetscInt    row = (5 * 11 + 4) * 13 + 6, col = row + 1, start, end;
  PetscScalar v = 0;
  DM          da;
  Mat         A, B;
  AO          ao;
  HJGrid      grid;
  HJStencil  *st;
  char        reason[256];
  PetscBool   is_aij;

  PetscFunctionBegin;
  PetscCall(CreateDM(&c, 1, &da));
  PetscCall(CreateMat(&c, da, &A));
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(AOApplicationToPetsc(ao, 1, &row));
  PetscCall(AOApplicationToPetsc(ao, 1, &col));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  if (row >= start && row < end) {
    PetscCall(MatGetValue(A, row, col, &v));
    v *= 1 + part;
    PetscCall(MatSetValue(A, row, col, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetDM(A, da));
  PetscCall(MatConvert(A, type, MAT_INITIAL_MATRIX, &B));
  if (known) PetscCall(MatSetOption(B, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(HJStencilCreate(B, da, &grid, 1, NULL, &st, reason, sizeof(reason)));
  if (grid.min_width < 2 && expected == HJ_SYMMETRIC) expected = HJ_VARIABLE; /* the half needs a neighbour's layer beside the padding */
  PetscCall(HJTestOK((PetscBool)(st && st->storage == expected), "%s, %s: storage %d %s", name, type, st ? (int)st->storage : -1, reason));
  PetscCall(PetscStrcmp(type, MATAIJ, &is_aij));
  if (is_aij) PetscCall(CheckDevice(name, B, da, &grid, 1, st, reason)); /* rows of a stencil matrix are read in another way */
  PetscCall(HJStencilDestroy(&st));
  PetscCall(HJTestDestroy(&B, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckReason(const char *name, Mat A, DM dm, const char *expected)
{
  char reason[256];

  PetscFunctionBegin;
  PetscCall(HJStencilCheckDM(A, dm, reason, sizeof(reason)));
  PetscCall(HJTestOK((PetscBool)!strcmp(reason, expected), "%s: %s", name, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckReasonType(const char *name, Mat A, DM da, const char *expected)
{
  HJGrid     grid;
  HJStencil *st;
  char       reason[256];

  PetscFunctionBegin;
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(HJStencilCreate(A, da, &grid, 1, NULL, &st, reason, sizeof(reason)));
  PetscCall(HJTestOK((PetscBool)(!st && !strncmp(reason, expected, strlen(expected))), "%s: %s", name, reason));
  PetscCall(HJStencilDestroy(&st));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckReasons(void)
{
  const Case c      = {"", 2, {37, 23, 1}, NONE, PETSC_FALSE, CONSTANT, 2, HJ_DICTIONARY, 0},
             bigger = {"", 2, {38, 23, 1}, NONE, PETSC_FALSE, CONSTANT, 2, HJ_DICTIONARY, 0};
  DM          da, dof2, other, plain;
  Mat         A, B, D;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CreateDM(&c, 1, &da));
  PetscCall(CreateDM(&c, 2, &dof2));
  PetscCall(CreateDM(&bigger, 1, &other));
  PetscCall(DMCreate(PETSC_COMM_WORLD, &plain));
  PetscCall(CreateMat(&c, da, &A));
  PetscCall(CheckReason("good DM", A, da, ""));
  PetscCall(CheckReason("no DM", A, NULL, "there is no DMDA"));
  PetscCall(CheckReason("other DM", A, plain, "the DM is no DMDA"));
  PetscCall(CheckReason("larger DMDA", A, other, "the matrix (851 x 851) is not of the DMDA's size, or distributed in another way"));
  PetscCall(DMCreateMatrix(dof2, &B));
  PetscCall(CheckReason("dof 1 for dof 2", A, dof2, "the matrix (851 x 851) is not of the DMDA's size, or distributed in another way"));
  PetscCall(MatDestroy(&B));
  if (size > 1) {
    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 851, 851, 1, NULL, &B));
    PetscCall(CheckReason("ranks", B, da, "matrix and DMDA live on different ranks"));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &D));
  PetscCall(CheckReasonType("dense", D, da,
                            size > 1 ? "the matrix type is mpidense, a stencil needs an AIJ or hjstencil matrix"
                                     : "the matrix type is seqdense, a stencil needs an AIJ or hjstencil matrix"));
  PetscCall(MatDestroy(&D));
  PetscCall(MatConvert(A, MATBAIJ, MAT_INITIAL_MATRIX, &D));
  PetscCall(CheckReasonType("BAIJ", D, da,
                            size > 1 ? "the matrix type is mpibaij, a stencil needs an AIJ or hjstencil matrix"
                                     : "the matrix type is seqbaij, a stencil needs an AIJ or hjstencil matrix"));
  PetscCall(HJTestDestroy(&D, &A, &da, &dof2, &other, &plain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's set-up refuses TWIST in some dimensions: the boundary type is all that is read */
static PetscErrorCode CheckTwist(void)
{
  DM  da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_TWIST, 61, 1, 1, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 61, 61, 1, NULL, 0, NULL, &A));
  PetscCall(CheckReason("twist", A, da, "the DMDA has a twisted boundary"));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many distinct rows over all ranks, each rank with some of them: all ranks have the same rows in the same order, the most frequent
   first */
static PetscErrorCode CheckGathered(PetscInt nrows, PetscInt points)
{
  const Case   c = {"", 1, {points, 1, 1}, NONE, PETSC_FALSE, CONSTANT, 3, HJ_DICTIONARY, 0};
  DM           da;
  Mat          A;
  HJGrid       grid;
  HJStencil   *st;
  char         reason[256];
  PetscInt     start, end, wrong = 0, all;
  PetscScalar *rows;
  PetscBool    many = (PetscBool)(nrows > HJ_MAX_ROWS);

  PetscFunctionBegin;
  PetscCall(CreateDM(&c, 1, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt i = start; i < end; i++) { /* row 0 most often, then the others one after another */
    const PetscInt which = i % 2 ? 0 : i / 2 % nrows;

    for (PetscInt j = PetscMax(i - 1, 0); j <= PetscMin(i + 1, points - 1); j++)
      PetscCall(MatSetValue(A, i, j, j == i ? 2.0 + 0.01 * which : -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(HJStencilCreate(A, da, &grid, PetscMin(2, grid.min_width), NULL, &st, reason, sizeof(reason)));
  wrong += !st || (many ? st->storage == HJ_DICTIONARY : st->storage != HJ_DICTIONARY || st->nrows != nrows);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  if (!wrong && !many) {
    PetscCall(PetscMalloc1(3 * nrows, &rows));
    PetscCall(PetscArraycpy(rows, st->rows, 3 * nrows));
    PetscCallMPI(MPI_Bcast(rows, (PetscMPIInt)(3 * nrows), MPIU_SCALAR, 0, PETSC_COMM_WORLD));
    wrong += memcmp(rows, st->rows, 3 * nrows * sizeof(*rows)) != 0 || st->dinv_rows[0] != 0.5;
    PetscCall(PetscFree(rows));
    for (PetscInt i = start; i < end; i++) {
      const PetscInt which = i % 2 ? 0 : i / 2 % nrows;

      wrong += st->dinv_rows[st->index[i - start - st->box.lo[0]]] != (PetscScalar)(1.0 / (PetscScalar)(2.0 + 0.01 * which));
    }
  }
  PetscCallMPI(MPI_Allreduce(&wrong, &all, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(HJTestOK((PetscBool)!all, "%d rows on all ranks together, %d points: %s", (int)nrows, (int)points,
                     many ? "too many for a dictionary" : "all ranks have the same in the same order"));
  PetscCall(HJStencilDestroy(&st));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  int failed;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscLogDefaultBegin()); /* CopiesToHost() */
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(CheckRefresh("dictionary", CONSTANT, CONSTANT, PETSC_TRUE));
  PetscCall(CheckRefresh("dictionary, more rows", CONSTANT, JUMP, PETSC_TRUE));
  PetscCall(CheckRefresh("dictionary, too many rows", CONSTANT, POINTS, PETSC_FALSE));
  PetscCall(CheckRefresh("symmetric", EDGES, EDGES, PETSC_TRUE));
  PetscCall(CheckRefresh("symmetric, no more", EDGES, POINTS, PETSC_FALSE));
  PetscCall(CheckRefresh("variable", POINTS, EDGES, PETSC_TRUE));
  PetscCall(CheckEntry("explicit zero off the star", CONSTANT, 1, 1, 0.0, ADD_VALUES, NULL, HJ_STAR));
  PetscCall(CheckEntry("explicit zero far away", POINTS, 3, 0, 0.0, ADD_VALUES, NULL, HJ_STAR));
  PetscCall(CheckEntry("one corner", CONSTANT, 1, 1, 0.5, ADD_VALUES, NULL, HJ_BOX));
  PetscCall(CheckEntry("one corner", POINTS, 1, 1, 0.5, ADD_VALUES, NULL, HJ_BOX));
  PetscCall(CheckEntry("one unsymmetric entry", EDGES, 1, 0, 0.5, ADD_VALUES, NULL, HJ_STAR));
  for (int stencil = 0; stencil < 2; stencil++) {
    const MatType type = stencil ? MATHJSTENCIL : MATAIJ;

    PetscCall(CheckRounding("rounded, symmetry not known", type, 8 * PETSC_MACHINE_EPSILON, PETSC_FALSE, HJ_VARIABLE));
    PetscCall(CheckRounding("rounded, known to be symmetric", type, 8 * PETSC_MACHINE_EPSILON, PETSC_TRUE, HJ_SYMMETRIC));
    PetscCall(CheckRounding("wrongly known to be symmetric", type, HJTestDigits(1e-6), PETSC_TRUE, HJ_VARIABLE));
  }
  PetscCall(CheckEntry("zero diagonal", CONSTANT, 0, 0, 0.0, INSERT_VALUES, NULL, HJ_STAR));
  PetscCall(CheckEntry("zero diagonal", POINTS, 0, 0, 0.0, INSERT_VALUES,
                       "row %" PetscInt_FMT
                       " (grid point 20,11,0) has no diagonal, which only a grid of at most 256 distinct rows can have",
                       HJ_STAR));
  PetscCall(CheckEntry("wide", CONSTANT, 2, 0, 0.5, ADD_VALUES,
                       "row %" PetscInt_FMT " (grid point 20,11,0) has a nonzero more than one grid point away, in column %" PetscInt_FMT,
                       HJ_STAR));
  PetscCall(CheckEntry("wide", POINTS, 0, -2, 0.5, ADD_VALUES,
                       "row %" PetscInt_FMT " (grid point 20,11,0) has a nonzero more than one grid point away, in column %" PetscInt_FMT,
                       HJ_STAR));
  PetscCall(CheckGathered(2, 61));
  PetscCall(CheckGathered(255, 1500));
  PetscCall(CheckGathered(256, 600));
  PetscCall(CheckGathered(257, 600));
  PetscCall(CheckReasons());
  PetscCall(CheckTwist());
  failed = HJTestDone();
  PetscCall(PetscFinalize());
  return failed;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   MATHJSTENCIL, filled in all ways that there are, again and again, with one point and many: it is the AIJ matrix. What it knows of its
   values: test_matclaims.c; from AIJ: test_matconvert.c; what it refuses: test_matrefused.c.
*/
#include "hjcolors.h"
#include "hjmatcase.h"

static const char *const ways[] =
  {"MatSetValuesStencil, inserted", "MatSetValuesLocal",          "MatSetValues",    "MatSetValuesBlocked",
   "MatSetValuesBlockedLocal",      "MatSetValuesBlockedStencil", "column oriented", "added in two assemblies with a flush"};

static PetscErrorCode FillBy(const Case *c, DM da, Way way, Mat A)
{
  PetscInt s[3], w[3];

  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  if (way == COLUMNS) PetscCall(MatSetOption(A, MAT_ROW_ORIENTED, PETSC_FALSE));
  for (int pass = 0; pass < (way == TWICE ? 2 : 1); pass++) {
    PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
    for (PetscInt p = 0; p < w[0] * w[1] * w[2]; p++) {
      const PetscInt at[3] = {s[0] + p % w[0], s[1] + p / w[0] % w[1], s[2] + p / w[0] / w[1]};
      MatStencil     col[27];
      PetscScalar    v[27];
      const PetscInt n = CaseRow(c, at, 0, col, v);

      for (PetscInt e = 0; e < n && way == TWICE; e++) v[e] *= 0.5;
      PetscCall(SetRow(A, da, way, at, n, col, v));
    }
    if (way == TWICE) {
      PetscCall(MatAssemblyBegin(A, pass ? MAT_FINAL_ASSEMBLY : MAT_FLUSH_ASSEMBLY));
      PetscCall(MatAssemblyEnd(A, pass ? MAT_FINAL_ASSEMBLY : MAT_FLUSH_ASSEMBLY));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  if (way == COLUMNS) PetscCall(MatSetOption(A, MAT_ROW_ORIENTED, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each entry of the AIJ matrix is set by a rank that has nothing to do with its row; insert: by that one alone, else a half each by it
   and the owner */
static PetscErrorCode FillFromOthers(Mat B, PetscBool insert, Mat A)
{
  Mat        *all;
  IS          is;
  PetscInt    N;
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatZeroEntries(A));
  PetscCall(MatGetSize(B, &N, NULL));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, N, 0, 1, &is));
  PetscCall(MatCreateSubMatrices(B, 1, &is, &is, MAT_INITIAL_MATRIX, &all));
  for (PetscInt r = 0; r < N; r++) {
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           n;

    PetscCall(MatGetRow(all[0], r, &n, &columns, &values));
    for (PetscInt e = 0; e < n; e++) {
      const PetscScalar v = insert ? values[e] : values[e] * 0.5;

      if ((r + e) % size == rank) PetscCall(MatSetValues(A, 1, &r, 1, &columns[e], &v, insert ? INSERT_VALUES : ADD_VALUES));
      if ((r + e + 1) % size == rank && !insert) PetscCall(MatSetValues(A, 1, &r, 1, &columns[e], &v, ADD_VALUES));
    }
    PetscCall(MatRestoreRow(all[0], r, &n, &columns, &values));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDestroySubMatrices(1, &all));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillArray(const Case *c, DM da, PetscInt o, Mat A)
{
  const PetscInt off[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};
  PetscInt       s[3], w[3];
  void          *array;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  PetscCall(MatHJStencilGetArray(A, off[0], off[1], off[2], &array));
  for (PetscInt p = 0; p < w[0] * w[1] * w[2]; p++) {
    const PetscInt    at[3] = {s[0] + p % w[0], s[1] + p / w[0] % w[1], s[2] + p / w[0] / w[1]};
    const PetscScalar v     = Entry(c, at, o, 0);

    if (c->dim == 1) ((PetscScalar *)array)[at[0]] = v;
    else if (c->dim == 2) ((PetscScalar **)array)[at[1]][at[0]] = v;
    else ((PetscScalar ***)array)[at[2]][at[1]][at[0]] = v;
  }
  PetscCall(MatHJStencilRestoreArray(A, off[0], off[1], off[2], &array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same where the matrix lives */
static PetscErrorCode FillArrayThere(const Case *c, DM da, PetscInt o, Mat A)
{
  const PetscInt     off[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};
  PetscInt           s[3], w[3];
  PetscScalar       *array, *a;
  const PetscScalar *from;
  PetscMemType       mtype;
  Vec                values;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  PetscCall(DMCreateGlobalVector(da, &values));
  PetscCall(VecGetArrayWrite(values, &a));
  for (PetscInt p = 0; p < w[0] * w[1] * w[2]; p++) {
    const PetscInt at[3] = {s[0] + p % w[0], s[1] + p / w[0] % w[1], s[2] + p / w[0] / w[1]};

    a[p] = Entry(c, at, o, 0);
  }
  PetscCall(VecRestoreArrayWrite(values, &a));
  PetscCall(MatHJStencilGetArrayAndMemType(A, off[0], off[1], off[2], &array, &mtype));
  PetscCall(VecGetArrayRead(values, &from));
  if (PetscMemTypeHost(mtype)) PetscCall(PetscArraycpy(array, from, w[0] * w[1] * w[2]));
#if defined(HJACOBI_HAVE_CUDA)
  else PetscCall(HJBackendCUDA.copy(NULL, array, from, w[0] * w[1] * w[2]));
#endif
  PetscCall(VecRestoreArrayRead(values, &from));
  PetscCall(MatHJStencilRestoreArrayAndMemType(A, off[0], off[1], off[2], &array));
  PetscCall(VecDestroy(&values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What leads outside the domain is written too, and must not matter */
static PetscErrorCode FillByArrays(const Case *c, DM da, PetscBool there, Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  for (PetscInt o = 0; o < 27; o++) {
    const PetscInt off[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};

    if ((c->dim < 3 && off[2]) || (c->dim < 2 && off[1])) continue;
    if (!c->box && PetscAbs(off[0]) + PetscAbs(off[1]) + PetscAbs(off[2]) > 1) continue;
    if (there) PetscCall(FillArrayThere(c, da, o, A));
    else PetscCall(FillArray(c, da, o, A));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillByRow(const Case *c, Mat A)
{
  MatStencil     off[27];
  PetscScalar    v[27];
  PetscInt       n     = 0;
  const PetscInt at[3] = {0, 0, 0};

  PetscFunctionBegin;
  for (PetscInt o = 0; o < 27; o++) {
    const PetscInt d[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};

    if ((c->dim < 3 && d[2]) || (c->dim < 2 && d[1])) continue;
    if (!c->box && PetscAbs(d[0]) + PetscAbs(d[1]) + PetscAbs(d[2]) > 1) continue;
    off[n] = (MatStencil){.i = d[0], .j = d[1], .k = d[2]};
    v[n++] = Entry(c, at, o, 0);
  }
  PetscCall(MatHJStencilSetRow(A, n, off, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckConversions(DM da, Mat A, Mat B, const char *name)
{
  Mat         C, D;
  PetscViewer viewer;
  char        file[PETSC_MAX_PATH_LEN];
  PetscBool   equal;

  PetscFunctionBegin;
  PetscCall(MatConvert(B, MATHJSTENCIL, MAT_INITIAL_MATRIX, &C));
  PetscCall(Check(C, B, name, "MatConvert from AIJ"));
  PetscCall(MatEqual(A, C, &equal));
  PetscCall(HJTestOK(equal, "%s: MatEqual", name));
  PetscCall(MatScale(C, 2.0));
  PetscCall(MatConvert(B, MATHJSTENCIL, MAT_REUSE_MATRIX, &C));
  PetscCall(Check(C, B, name, "MatConvert from AIJ again"));
  PetscCall(MatConvert(C, MATDENSE, MAT_INITIAL_MATRIX, &D));
  PetscCall(Check(D, B, name, "MatConvert to dense"));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &D));
  PetscCall(MatSetDM(D, da));
  PetscCall(MatConvert(D, MATHJSTENCIL, MAT_INPLACE_MATRIX, &D));
  PetscCall(Check(D, B, name, "MatConvert in place from AIJ"));
  PetscCall(MatConvert(D, MATAIJ, MAT_INPLACE_MATRIX, &D));
  PetscCall(Check(D, B, name, "MatConvert in place to AIJ"));
  PetscCall(MatDestroy(&D));
  PetscCall(BinaryFile(file, sizeof(file)));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_WRITE, &viewer));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
  PetscCall(DMSetMatType(da, MATAIJ));
  PetscCall(DMCreateMatrix(da, &D));
  PetscCall(MatLoad(D, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(RemoveBinaryFile(file));
  PetscCall(Check(D, B, name, "binary view, loaded as AIJ"));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFillings(const Case *c)
{
  DM        da;
  Mat       A, B;
  char      name[256];
  PetscBool holds;

  PetscFunctionBegin;
  PetscCall(CaseName(c, name, sizeof(name)));
  PetscCall(CaseCreate(c, &da, &A, &B));
  for (int way = LOCAL; way < NWAYS; way++) {
    PetscCall(FillBy(c, da, (Way)way, A));
    PetscCall(Check(A, B, name, ways[way]));
  }
  PetscCall(FillFromOthers(B, PETSC_TRUE, A));
  PetscCall(Check(A, B, name, "inserted by other ranks"));
  PetscCall(FillFromOthers(B, PETSC_FALSE, A));
  PetscCall(Check(A, B, name, "added by other ranks"));
  for (int whole = 0; whole < 2; whole++) {
    PetscCall(FillByCOO(B, (PetscBool)whole, PETSC_FALSE, A));
    PetscCall(Check(A, B, name, whole ? "COO, one entry a place" : "COO"));
    PetscCall(FillByCOO(B, (PetscBool)whole, PETSC_TRUE, A));
    PetscCall(Check(A, B, name, whole ? "COO, one entry a place, values where the vectors lie" : "COO, values where the vectors lie"));
  }
  if (c->boundary[0] != DM_BOUNDARY_MIRROR) { /* which leads to an offset that is there */
    PetscCall(FillByArrays(c, da, PETSC_FALSE, A));
    PetscCall(Check(A, B, name, "arrays"));
    PetscCall(FillByArrays(c, da, PETSC_TRUE, A));
    PetscCall(Check(A, B, name, "arrays where the matrix lives"));
    PetscCall(MatInfoHolds(A, c->kind == ROW ? "storage: one row for all points" : "storage:", &holds));
    PetscCall(HJTestOK(holds, "%s: and the storage is chosen there", name));
    if (c->kind == ROW) {
      PetscCall(FillByRow(c, A));
      PetscCall(Check(A, B, name, "one row"));
      PetscCall(MatInfoHolds(A, "storage: one row for all points", &holds));
      PetscCall(HJTestOK(holds, "%s: set and stored as one row", name));
    }
  }
  PetscCall(CheckConversions(da, A, B, name));
  PetscCall(HJTestDestroy(&A, &B, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that are zero, memory that is what it is, a matrix bound to the CPU, entries of other ranks that are to be ignored */
static PetscErrorCode TestSmall(void)
{
  Case      c = {2, {40, 30, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ROW};
  DM        da;
  Mat       A, B;
  MatInfo   info[3];
  IS        kept[2];
  PetscInt  N, rows[] = {0, 7, 8};
  PetscReal norm;
  PetscBool same = PETSC_FALSE, good = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(CaseCreate(&c, &da, &A, &B));
  PetscCall(MatBindToCPU(A, PETSC_TRUE));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info[0]));
  PetscCall(CaseMakeCopy(A));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info[1]));
  PetscCall(MatGetInfo(B, MAT_GLOBAL_SUM, &info[2]));
  PetscCall(HJTestOK((PetscBool)(info[0].memory < 8000 && info[1].memory > info[0].memory + (4 + sizeof(PetscScalar)) * info[2].nz_used &&
                                 info[0].nz_used == info[2].nz_used),
                     "MatGetInfo: %g bytes for one row, %g with AIJ beside it; %g entries", info[0].memory, info[1].memory,
                     info[0].nz_used));
  PetscCall(MatFindNonzeroRows(A, &kept[0]));
  PetscCall(MatSetOption(B, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(MatZeroRows(A, 3, rows, 0.0, NULL, NULL));
  PetscCall(MatZeroRows(B, 3, rows, 0.0, NULL, NULL));
  PetscCall(MatFindNonzeroRows(A, &kept[1]));
  PetscCall(ISGetSize(kept[1], &N));
  PetscCall(MatsAgree(A, B, &same));
  PetscCall(HJTestOK((PetscBool)(!kept[0] && N == 1197 && same), "MatFindNonzeroRows"));
  PetscCall(ISDestroy(&kept[1]));
  PetscCall(MatSetOption(A, MAT_IGNORE_OFF_PROC_ENTRIES, PETSC_TRUE));
  PetscCall(MatSetOption(B, MAT_IGNORE_OFF_PROC_ENTRIES, PETSC_TRUE));
  PetscCall(SetOne(A, 1199, 1199, 5.0));
  PetscCall(SetOne(B, 1199, 1199, 5.0));
  PetscCall(MatsAgree(A, B, &good));
  PetscCall(HJTestOK(good, "MAT_IGNORE_OFF_PROC_ENTRIES"));
  PetscCall(MatResetPreallocation(A));
  PetscCall(MatNorm(A, NORM_1, &norm));
  PetscCall(HJTestOK((PetscBool)(norm == 0.0), "MatResetPreallocation"));
  PetscCall(HJTestDestroy(&A, &B, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ColorBy(Mat B, DM da, Mat A)
{
  ISColoring is;

  PetscFunctionBegin;
  PetscCall(DMCreateColoring(da, IS_COLORING_GLOBAL, &is));
  PetscCall(ColorsRecover(is, A, B));
  PetscCall(ISColoringDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatCopy() of AIJ gives what it knows of the numbering too: where that is a copy of the matrix, the numbering stays */
static PetscErrorCode TestFillAgain(void)
{
  enum { COPIED, RANDOM, COLORED, IN_PLACE, AGAIN };
  const char *names[AGAIN] = {"a copy of its own AIJ", "random values", "finite differences", "a conversion to AIJ in place"};
  Case        c            = {2, {12, 10, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS};
  DM          da;
  Mat         A, B, C;
  char        what[128];

  PetscFunctionBegin;
  PetscCall(CaseCreate(&c, &da, &A, &B));
  for (int i = 0; i < AGAIN; i++) {
    if (i == COPIED) {
      PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &C));
      PetscCall(MatCopy(C, A, SAME_NONZERO_PATTERN));
      PetscCall(MatDestroy(&C));
    } else if (i == RANDOM) PetscCall(MatSetRandom(A, NULL));
    else if (i == COLORED) PetscCall(ColorBy(B, da, A));
    else PetscCall(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
    for (int m = 0; m < 2; m++) {
      PetscCall(MatZeroEntries(m ? A : B));
      PetscCall(CaseFill(&c, da, 3 + i, m ? A : B));
    }
    PetscCall(PetscSNPrintf(what, sizeof(what), "filled by MatSetValuesStencil() after %s", names[i]));
    PetscCall(Check(A, B, "2D star", what));
  }
  PetscCall(HJTestDestroy(&A, &B, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One row as the first call for a matrix that nobody set up; what was known of symmetry is forgotten */
static PetscErrorCode TestFirstRow(void)
{
  const MatStencil  off[] = {{.j = 1}, {.j = -1}, {0}};
  const PetscScalar v[] = {-1.0, -1.0, 4.0}, skew[] = {-1.0, -3.0, 4.0};
  DM                da;
  Mat               A, B;
  PetscInt          n;
  PetscBool         equal, symmetric[3], known = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(NewDM(1, 1, DMDA_STENCIL_STAR, &da));
  PetscCall(MatCreateHJStencil(da, &B));
  PetscCall(MatHJStencilSetRow(B, 3, off, v));
  PetscCall(MatGetLocalSize(B, &n, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, n, n, PETSC_DECIDE, PETSC_DECIDE));
  PetscCall(MatSetType(A, MATHJSTENCIL));
  PetscCall(MatSetDM(A, da));
  PetscCall(MatHJStencilSetRow(A, 3, off, v));
  PetscCall(MatEqual(A, B, &equal));
  PetscCall(HJTestOK(equal, "one row for a matrix that is not set up"));
  PetscCall(MatIsSymmetric(A, 0.0, &symmetric[0]));
  PetscCall(MatHJStencilSetRow(A, 3, off, skew));
  PetscCall(MatIsSymmetricKnown(A, &known, &symmetric[1]));
  PetscCall(MatIsSymmetric(A, 1.5, &symmetric[1]));
  PetscCall(MatIsSymmetric(A, 2.0, &symmetric[2]));
  equal = (PetscBool)(symmetric[0] && !known && !symmetric[1] && symmetric[2]);
  PetscCall(HJTestOK(equal, "another row forgets what was known of symmetry"));
  PetscCall(HJTestDestroy(&A, &B, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks of one point, a coefficient that is no number, a diagonal set while arrays wait for assembly */
static PetscErrorCode TestOnePoint(void)
{
  DM           da;
  Mat          A;
  PetscScalar *array, d;
  PetscInt     row, start;
  PetscReal    norm;
  PetscMPIInt  size;
  Vec          v;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, size, 1, 1, NULL, &da));
  PetscCall(CaseSetVecType(da));
  PetscCall(DMSetUp(da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(MatGetOwnershipRange(A, &row, NULL));
  d = NAN;
  PetscCall(MatSetValues(A, 1, &row, 1, &row, &d, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  d = 0.0;
  PetscCall(MatGetValues(A, 1, &row, 1, &row, &d));
  PetscCall(HJTestOK((PetscBool)(d != d), "a coefficient that is no number stays one"));
  PetscCall(MatHJStencilGetArray(A, 1, 0, 0, &array));
  PetscCall(DMDAGetCorners(da, &start, NULL, NULL, NULL, NULL, NULL));
  array[start] = 3.0;
  PetscCall(MatHJStencilRestoreArray(A, 1, 0, 0, &array));
  PetscCall(MatCreateVecs(A, &v, NULL));
  PetscCall(VecSet(v, 2.0));
  PetscCall(MatDiagonalSet(A, v, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatNorm(A, NORM_INFINITY, &norm));
  PetscCall(HJTestOK((PetscBool)(norm == (size > 1 ? 5.0 : 2.0)), "a diagonal set before arrays are assembled"));
  PetscCall(HJTestDestroy(&v, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A x where A has the centre i + 2 j + 1 and, if east, -1 to the right; none of the others was filled */
static PetscErrorCode CheckLarge(Mat A, DM da, PetscBool east, const char name[])
{
  PetscScalar **x, **y;
  Vec           vx, vy;
  PetscInt      s[2], w[2], wrong = 0, N;

  PetscFunctionBegin;
  PetscCall(ProblemVectors(da, &vx, &vy));
  PetscCall(DMDAGetInfo(da, NULL, &N, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], NULL, &w[0], &w[1], NULL));
  PetscCall(DMDAVecGetArray(da, vx, &x));
  for (PetscInt j = s[1]; j < s[1] + w[1]; j++)
    for (PetscInt i = s[0]; i < s[0] + w[0]; i++) x[j][i] = i % 7 + j % 5;
  PetscCall(DMDAVecRestoreArray(da, vx, &x));
  PetscCall(MatMult(A, vx, vy));
  PetscCall(DMDAVecGetArray(da, vy, &y));
  for (PetscInt j = s[1]; j < s[1] + w[1]; j++) {
    for (PetscInt i = s[0]; i < s[0] + w[0]; i++)
      wrong += y[j][i] != (i + 2 * j + 1) * (PetscScalar)(i % 7 + j % 5) - (east && i + 1 < N ? (i + 1) % 7 + j % 5 : 0);
  }
  PetscCall(DMDAVecRestoreArray(da, vy, &y));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(HJTestOK((PetscBool)!wrong, "%s: %d points are wrong", name, (int)wrong));
  PetscCall(VecDestroy(&vx));
  PetscCall(VecDestroy(&vy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of so many bytes come from the system: zero where nobody wrote, also when others were there before */
static PetscErrorCode TestLarge(void)
{
  const PetscInt n = 470;
  DM             da;
  Mat            A;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(
    DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n * size, 1, size, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMSetMatType(da, MATHJSTENCIL));
  PetscCall(DMCreateMatrix(da, &A));
  for (int east = 1; east >= 0; east--) {
    PetscScalar **array;
    PetscInt      s[2], w[2];

    PetscCall(MatZeroEntries(A));
    PetscCall(DMDAGetCorners(da, &s[0], &s[1], NULL, &w[0], &w[1], NULL));
    for (PetscInt o = 0; o < 1 + east; o++) {
      PetscCall(MatHJStencilGetArray(A, o, 0, 0, &array));
      for (PetscInt j = s[1]; j < s[1] + w[1]; j++)
        for (PetscInt i = s[0]; i < s[0] + w[0]; i++) array[j][i] = o ? -1 : i + 2 * j + 1;
      PetscCall(MatHJStencilRestoreArray(A, o, 0, 0, &array));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(
      CheckLarge(A, da, (PetscBool)east, east ? "large arrays, two of five filled" : "large arrays, one filled after other values"));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const DMBoundaryType none = DM_BOUNDARY_NONE, periodic = DM_BOUNDARY_PERIODIC, mirror = DM_BOUNDARY_MIRROR;
  Case                 cases[] = {{1, {37, 1, 1}, {none, none, none}, PETSC_FALSE, ARRAYS},
                                  {1, {4, 1, 1}, {periodic, none, none}, PETSC_FALSE, ROW},
                                  {2, {13, 11, 1}, {none, periodic, none}, PETSC_FALSE, DICTIONARY},
                                  {2, {9, 2, 1}, {none, periodic, none}, PETSC_TRUE, ARRAYS},
                                  {2, {12, 8, 1}, {mirror, mirror, none}, PETSC_FALSE, ARRAYS},
                                  {2, {14, 10, 1}, {none, none, none}, PETSC_TRUE, ROW},
                                  {3, {6, 7, 5}, {none, none, none}, PETSC_FALSE, ARRAYS},
                                  {3, {5, 4, 6}, {periodic, none, DM_BOUNDARY_GHOSTED}, PETSC_TRUE, ARRAYS},
                                  {3, {1, 6, 4}, {periodic, periodic, periodic}, PETSC_TRUE, ROW}};
  PetscMPIInt          size;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  cases[1].n[0] = PetscMax(cases[1].n[0], size); /* PETSc refuses ranks without points */
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) PetscCall(TestFillings(&cases[i]));
  PetscCall(TestSmall());
  PetscCall(TestLarge());
  PetscCall(TestFirstRow());
  PetscCall(TestOnePoint());
  PetscCall(TestFillAgain());
  return HJTestEnd();
}

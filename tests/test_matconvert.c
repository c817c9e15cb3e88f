/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   MATHJSTENCIL from AIJ, on the host and on the GPU, with rows of any order and length; from a file.
*/
#include "hjmatcase.h"

/* Written and loaded again; on several ranks a matrix that was not yet assembled is refused */
static PetscErrorCode TestLoad(void)
{
  Case        c = {2, {12, 10, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS};
  DM          da;
  Mat         A, B;
  PetscViewer viewer;
  char        file[PETSC_MAX_PATH_LEN];
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CaseCreate(&c, &da, &A, &B));
  PetscCall(BinaryFile(file, sizeof(file)));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_WRITE, &viewer));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatDestroy(&A));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
  if (size > 1)
    ExpectErrorBy(CheckSomeRank, MatLoad(A, viewer), "MatLoad of a new matrix on several ranks", "load it as AIJ", "MatConvert()");
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
  PetscCall(MatLoad(A, viewer));
  PetscCall(Check(A, B, "2D star", "binary view, loaded"));
  for (int m = 0; m < 2; m++) PetscCall(CaseFill(&c, da, 3, m ? A : B));
  PetscCall(Check(A, B, "2D star", "loaded, and filled by MatSetValuesStencil()"));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(RemoveBinaryFile(file));
  PetscCall(HJTestDestroy(&A, &B, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Made by MatConvert(), not by DMCreateMatrix(): it knows the numbering of its DMDA all the same */
static PetscErrorCode TestConvertedFill(void)
{
  Case      c = {2, {12, 10, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS};
  DM        da;
  Mat       A, B;
  PetscBool holds = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(CaseCreate(&c, &da, &A, &B));
  PetscCall(MatDestroy(&A));
  PetscCall(MatConvert(B, MATHJSTENCIL, MAT_INITIAL_MATRIX, &A));
  for (int m = 0; m < 2; m++) PetscCall(CaseFill(&c, da, 3, m ? A : B));
  PetscCall(Check(A, B, "2D star", "converted, and filled by MatSetValuesStencil()"));
  PetscCall(ObjectViewHolds((PetscObject)A, PETSC_VIEWER_DEFAULT, "type: seqaij", &holds));
  PetscCall(HJTestOK((PetscBool)!holds, "a view of all entries has one head"));
  PetscCall(HJTestDestroy(&A, &B, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A random matrix as AIJ. Every third line has rows that are a diagonal alone, entries that are left out, zeros, and zeros that no offset
   holds; lines between them are whole */
static PetscErrorCode RaggedCreate(const Case *c, DM da, PetscInt salt, Mat *B)
{
  PetscInt s[3], w[3], n, N, row;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  n = w[0] * w[1] * w[2];
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, n, n, PETSC_DETERMINE, PETSC_DETERMINE, 28, NULL, 28, NULL, B));
  PetscCall(MatSetOption(*B, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(*B, &row, NULL));
  PetscCall(MatGetSize(*B, &N, NULL));
  for (PetscInt p = 0; p < n; p++, row++) {
    const PetscInt  at[3] = {s[0] + p % w[0], s[1] + p / w[0] % w[1], s[2] + p / w[0] / w[1]}, far = (row + N / 2) % N;
    const PetscBool ragged = (PetscBool)((at[1] + at[2]) % 3 == 1 || c->dim == 1);
    MatStencil      col[27];
    PetscScalar     v[27];
    PetscInt        entries = CaseRow(c, at, salt, col, v), kept = 0;

    for (PetscInt e = 0; e < entries; e++) {
      const PetscReal r = Random(at[0], at[1], at[2], 60 + e, 0), alone = Random(at[0], at[1], at[2], 59, 0);
      const PetscBool self = (PetscBool)(col[e].i == at[0] && col[e].j == at[1] && col[e].k == at[2]);

      if (ragged && !self && (r < -0.7 || alone < -0.7)) continue;
      if (ragged && r > 0.8) v[e] = 0.0;
      col[kept] = col[e];
      v[kept++] = v[e];
    }
    PetscCall(SetRow(*B, da, GLOBAL, at, kept, col, v));
    if (ragged) PetscCall(MatSetValue(*B, row, far, 0.0, ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same entries by MatSetValues(), row by row */
static PetscErrorCode FillByRows(Mat B, Mat A)
{
  PetscInt start, end, n;

  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  PetscCall(MatGetOwnershipRange(B, &start, &end));
  for (PetscInt r = start; r < end; r++) {
    const PetscInt    *columns;
    const PetscScalar *values;

    PetscCall(MatGetRow(B, r, &n, &columns, &values));
    PetscCall(MatSetValues(A, 1, &r, n, columns, values, INSERT_VALUES));
    PetscCall(MatRestoreRow(B, r, &n, &columns, &values));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every nonzero to the last bit; a box has more columns than a star */
static PetscErrorCode SameRows(Mat A, Mat B, PetscBool *same)
{
  PetscInt    start, end;
  PetscMPIInt mine = 1, all;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt r = start; r < end; r++) {
    const Mat   M[2] = {A, B};
    PetscInt    n[2] = {0, 0}, column[2][27];
    PetscScalar value[2][27];

    for (int m = 0; m < 2; m++) {
      const PetscInt    *columns;
      const PetscScalar *values;
      PetscInt           entries;

      PetscCall(MatGetRow(M[m], r, &entries, &columns, &values));
      for (PetscInt e = 0; e < entries; e++) {
        if (values[e] == 0.0) continue;
        column[m][n[m]]  = columns[e];
        value[m][n[m]++] = values[e];
      }
      PetscCall(MatRestoreRow(M[m], r, &entries, &columns, &values));
    }
    if (n[0] != n[1] || memcmp(column[0], column[1], n[0] * sizeof(column[0][0])) || memcmp(value[0], value[1], n[0] * sizeof(value[0][0])))
      mine = 0;
  }
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  *same = (PetscBool)all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With -backend cuda an AIJ matrix becomes aijcusparse */
static PetscErrorCode ToDevice(Mat *B)
{
  PetscBool gpu = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(ProblemOnGPU(&gpu));
#if PetscDefined(HAVE_CUDA)
  if (gpu) PetscCall(MatConvert(*B, MATAIJCUSPARSE, MAT_INPLACE_MATRIX, B));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatConvert() of a case's matrix on a grid of one shape or the other, then into what is there */
static PetscErrorCode TestConvertedRows(const Case *c, PetscBool box)
{
  Case      wide = *c, grid = *c;
  DM        da[2];
  Mat       B, C = NULL, D;
  char      name[256];
  PetscBool same = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(CaseName(c, name, sizeof(name)));
  wide.box = (PetscBool)(c->box || box);
  grid.box = box;
  PetscCall(CaseDM(&wide, &da[0]));
  PetscCall(CaseDM(&grid, &da[1]));
  PetscCall(MatCreateHJStencil(da[0], &D));
  for (PetscInt again = 0; again < 2; again++) {
    PetscCall(RaggedCreate(c, da[0], 5 * again, &B));
    PetscCall(ToDevice(&B));
    PetscCall(MatSetDM(B, da[1]));
    PetscCall(MatConvert(B, MATHJSTENCIL, again ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &C));
    PetscCall(FillByRows(B, D));
    PetscCall(SameRows(C, D, &same));
    PetscCall(HJTestOK(same, "%s on a %s grid: converted as row by row%s", name, box ? "box" : "star", again ? ", again" : ""));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(HJTestDestroy(&C, &D, &da[0], &da[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids thin enough for two offsets to lead to one column among them */
static PetscErrorCode TestAllConvertedRows(void)
{
  const DMBoundaryType none = DM_BOUNDARY_NONE, periodic = DM_BOUNDARY_PERIODIC;
  const Case           thin[] = {{3, {1, 6, 5}, {periodic, periodic, none}, PETSC_TRUE, ARRAYS},
                                 {3, {2, 1, 7}, {periodic, periodic, periodic}, PETSC_TRUE, ARRAYS},
                                 {3, {3, 3, 3}, {periodic, periodic, periodic}, PETSC_TRUE, ARRAYS},
                                 {3, {1, 2, 4}, {none, none, periodic}, PETSC_TRUE, ARRAYS},
                                 {2, {2, 8, 1}, {periodic, none, none}, PETSC_FALSE, ARRAYS},
                                 {2, {4, 2, 1}, {none, none, none}, PETSC_TRUE, ARRAYS}};
  PetscRandom          random;

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(thin); i++) PetscCall(TestConvertedRows(&thin[i], thin[i].box));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetSeed(random, 4711));
  PetscCall(PetscRandomSeed(random));
  for (PetscInt i = 0; i < 72; i++) {
    Case      c;
    PetscBool box = (PetscBool)(i / 18 % 2);

    PetscCall(RandomCase(random, i, &c));
    for (int d = 0; d < 3; d++) box = (PetscBool)(box && c.boundary[d] != DM_BOUNDARY_MIRROR); /* PETSc has none with a box */
    PetscCall(TestConvertedRows(&c, box));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the rows lie on a GPU the arrays are filled there: fewer bytes travel than there are in one array, though PETSc sends where rows
   of a block for other ranks begin */
static PetscErrorCode TestConvertedThere(void)
{
#if PetscDefined(HAVE_CUDA) && PetscDefined(USE_LOG)
  const Case     c     = {2, {300, 280, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS};
  PetscBool      gpu   = PETSC_FALSE;
  PetscLogDouble bytes = 0;
  PetscInt       n;
  DM             da;
  Mat            B, C;
  Vec            x, y;

  PetscFunctionBegin;
  PetscCall(ProblemOnGPU(&gpu));
  if (!gpu) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CaseDM(&c, &da));
  PetscCall(RaggedCreate(&c, da, 0, &B));
  PetscCall(ToDevice(&B));
  PetscCall(MatSetDM(B, da));
  PetscCall(MatCreateVecs(B, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(B, x, y)); /* now its rows are on the GPU */
  bytes -= petsc_ctog_sz + petsc_gtoc_sz;
  PetscCall(MatConvert(B, MATHJSTENCIL, MAT_INITIAL_MATRIX, &C));
  bytes += petsc_ctog_sz + petsc_gtoc_sz;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(
    HJTestOK((PetscBool)(bytes < n * sizeof(PetscScalar)), "converted from aijcusparse on the GPU: %g bytes travel", (double)bytes));
  PetscCall(HJTestDestroy(&x, &y, &B, &C, &da));
#else
  PetscFunctionBegin;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A nonzero far away in the first row of each rank, in a column that is another point's: refused, by rows that make a box in those words */
static PetscErrorCode TestConvertedUnfit(PetscBool box)
{
  Case      c = {2, {12, 12, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, box, ARRAYS};
  DM        da, star;
  Mat       A, B, C;
  AO        ao;
  PetscInt  s[3], row, far;
  PetscBool good = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(CaseDM(&c, &da));
  c.box = PETSC_FALSE;
  PetscCall(CaseDM(&c, &star));
  c.box = box;
  PetscCall(RaggedCreate(&c, da, 0, &B));
  PetscCall(MatSetDM(B, star));
  PetscCall(MatConvert(B, MATHJSTENCIL, MAT_INITIAL_MATRIX, &A));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], NULL, NULL, NULL));
  far = 12 * s[1] + (s[0] + 6) % 12;
  PetscCall(AOApplicationToPetsc(ao, 1, &far));
  PetscCall(MatGetOwnershipRange(B, &row, NULL));
  PetscCall(MatSetValue(B, row, far, 7.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscCall(ToDevice(&B));
  PetscCall(MatSetOption(C, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  PetscCall(MatConvert(B, MATHJSTENCIL, MAT_REUSE_MATRIX, &C));
  PetscCall(SameRows(A, C, &good));
  PetscCall(HJTestOK(good, "a nonzero that no offset holds is left out where MAT_NEW_NONZERO_LOCATIONS is off"));
  PetscCall(MatSetOption(C, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  ExpectErrorBy(CheckSomeRank, MatConvert(B, MATHJSTENCIL, MAT_REUSE_MATRIX, &C), "and refused else", "has a nonzero in column",
                "more than one grid point away", box ? "a box stencil" : "a star stencil", "use -dm_mat_type aij");
  PetscCall(HJTestDestroy(&A, &B, &C, &da, &star));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(TestLoad());
  PetscCall(TestConvertedFill());
  PetscCall(TestAllConvertedRows());
  PetscCall(TestConvertedThere());
  for (int box = 0; box < 2; box++) PetscCall(TestConvertedUnfit((PetscBool)box));
  return HJTestEnd();
}

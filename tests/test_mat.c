/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   MATHJSTENCIL against AIJ: every operation on random stencils over dimension, shape, boundary and storage.
*/
#include "hjcase.h"

/* What an operation makes of a matrix that it may change: a vector, the matrix, or both */
typedef PetscErrorCode (*Operation)(DM, Mat, Vec);

static PetscErrorCode OpMult(DM da, Mat A, Vec y)
{
  Vec x;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(y, &x));
  PetscCall(ProblemVector(da, 1, x));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpMultAdd(DM da, Mat A, Vec y)
{
  Vec x, z;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(y, &x));
  PetscCall(VecDuplicate(y, &z));
  PetscCall(ProblemVector(da, 1, x));
  PetscCall(ProblemVector(da, 2, z));
  PetscCall(MatMultAdd(A, x, z, y));
  PetscCall(MatMultAdd(A, x, y, y)); /* in place */
  PetscCall(MatMultTransposeAdd(A, x, y, z));
  PetscCall(MatMultTransposeAdd(A, x, z, z));
  PetscCall(VecAXPY(y, 0.5, z));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpMultTranspose(DM da, Mat A, Vec y)
{
  Vec x;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(y, &x));
  PetscCall(ProblemVector(da, 1, x));
  PetscCall(MatMultTranspose(A, x, y));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpResidual(DM da, Mat A, Vec y)
{
  Vec x, b;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(y, &x));
  PetscCall(VecDuplicate(y, &b));
  PetscCall(ProblemVector(da, 1, x));
  PetscCall(ProblemVector(da, 2, b));
  PetscCall(MatResidual(A, b, x, y));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpDiagonal(DM da, Mat A, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatGetDiagonal(A, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpDiagonalSet(DM da, Mat A, Vec y)
{
  PetscFunctionBegin;
  PetscCall(ProblemVector(da, 3, y));
  PetscCall(MatDiagonalSet(A, y, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpDiagonalScale(DM da, Mat A, Vec y)
{
  Vec left;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(y, &left));
  PetscCall(ProblemVector(da, 3, y));
  PetscCall(ProblemVector(da, 4, left));
  PetscCall(MatDiagonalScale(A, left, y));
  PetscCall(MatDiagonalScale(A, NULL, left));
  PetscCall(VecDestroy(&left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpScaleShift(DM da, Mat A, Vec y)
{
  PetscFunctionBegin;
  PetscCall(VecSet(y, 0.0));
  PetscCall(MatScale(A, -1.5));
  PetscCall(MatShift(A, 2.25));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpAXPY(DM da, Mat A, Vec y)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(ProblemVector(da, 5, y));
  PetscCall(MatDiagonalScale(B, y, NULL));
  PetscCall(MatAXPY(A, 0.75, B, SAME_NONZERO_PATTERN));
  PetscCall(MatAYPX(A, 2.0, B, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpCopy(DM da, Mat A, Vec y)
{
  Mat B;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &B));
  PetscCall(MatCopy(A, B, SAME_NONZERO_PATTERN));
  PetscCall(MatZeroEntries(A));
  PetscCall(MatShift(B, 1.0));
  PetscCall(MatCopy(B, A, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&B));
  PetscCall(OpMult(da, A, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpTranspose(DM da, Mat A, Vec y)
{
  Mat T;

  PetscFunctionBegin;
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatScale(A, 0.5));
  PetscCall(MatTranspose(A, MAT_REUSE_MATRIX, &T));
  PetscCall(OpMult(da, T, y));
  PetscCall(MatCopy(T, A, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every third row of the whole, named by rank 0 alone: most are other ranks' */
static PetscErrorCode SomeRows(Mat A, PetscInt *n, PetscInt **rows)
{
  PetscInt    N;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(PetscMalloc1(N, rows));
  *n = 0;
  for (PetscInt i = 1; i < N && !rank; i += 3) (*rows)[(*n)++] = i;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpZeroRows(DM da, Mat A, Vec y)
{
  PetscInt n, *rows;
  Vec      x;

  PetscFunctionBegin;
  PetscCall(SomeRows(A, &n, &rows));
  PetscCall(VecDuplicate(y, &x));
  PetscCall(ProblemVector(da, 1, x));
  PetscCall(ProblemVector(da, 2, y));
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(MatZeroRows(A, n, rows, 3.0, x, y));
  PetscCall(VecDestroy(&x));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpZeroRowsColumns(DM da, Mat A, Vec y)
{
  PetscInt n, *rows;
  Vec      x;

  PetscFunctionBegin;
  PetscCall(SomeRows(A, &n, &rows));
  PetscCall(VecDuplicate(y, &x));
  PetscCall(ProblemVector(da, 1, x));
  PetscCall(ProblemVector(da, 2, y));
  PetscCall(MatZeroRowsColumns(A, n, rows, 3.0, x, y));
  PetscCall(VecDestroy(&x));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpZeroRowsStencil(DM da, Mat A, Vec y)
{
  PetscInt   s[3];
  MatStencil row;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], NULL, NULL, NULL));
  row = (MatStencil){.i = s[0], .j = s[1], .k = s[2]};
  PetscCall(VecSet(y, 0.0));
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(MatZeroRowsStencil(A, 1, &row, 1.0, NULL, NULL));
  PetscCall(MatZeroRowsColumnsStencil(A, 1, &row, 2.0, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows named by an index set and by local numbers: the first and the last that are points of the domain, ghosts where there are some */
static PetscErrorCode OpZeroRowsBySets(DM da, Mat A, Vec y)
{
  ISLocalToGlobalMapping ltog;
  const PetscInt        *global;
  PetscInt               start, end, n, local[2] = {-1, -1};
  IS                     is;
  Vec                    x;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(DMGetLocalToGlobalMapping(da, &ltog));
  PetscCall(ISLocalToGlobalMappingGetSize(ltog, &n));
  PetscCall(ISLocalToGlobalMappingGetIndices(ltog, &global));
  for (PetscInt i = 0; i < n; i++) {
    if (global[i] < 0) continue;
    if (local[0] < 0) local[0] = i;
    local[1] = i;
  }
  PetscCall(ISLocalToGlobalMappingRestoreIndices(ltog, &global));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, PetscMin(2, end - start), start, 1, &is));
  PetscCall(VecDuplicate(y, &x));
  PetscCall(ProblemVector(da, 1, x));
  PetscCall(ProblemVector(da, 2, y));
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(MatZeroRowsIS(A, is, 3.0, x, y));
  PetscCall(MatZeroRowsColumnsIS(A, is, 2.0, x, y));
  PetscCall(MatZeroRowsLocal(A, 1, &local[0], 1.5, x, y));
  PetscCall(MatZeroRowsColumnsLocal(A, 1, &local[1], 2.5, x, y));
  PetscCall(ISDestroy(&is));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows without entries, whether a diagonal is missing, and A^T A by a product of matrices */
static PetscErrorCode OpZeroFound(DM da, Mat A, Vec y)
{
  PetscInt  start, end, first = 0;
  IS        zero = NULL;
  Mat       B, C;
  Vec       x;
  PetscBool missing = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  first = start;
  PetscCall(MatSetOption(B, MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
  PetscCall(MatZeroRows(B, 1, &first, 0.0, NULL, NULL));
  PetscCall(MatFindZeroRows(B, &zero));
#if PETSC_VERSION_LT(3, 23, 0)
  PetscCall(MatMissingDiagonal(A, &missing, NULL));
#endif
  PetscCall(MatTransposeMatMult(A, A, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(VecDuplicate(y, &x));
  PetscCall(ProblemVector(da, 1, x));
  PetscCall(MatMult(C, x, y));
  PetscCall(VecScale(y, 1.0 / 64)); /* values of A go up to 8 */
  if (zero) PetscCall(ISGetLocalSize(zero, &first));
  PetscCall(VecShift(y, missing));
  PetscCall(VecSetValue(y, start, zero ? first : 0, ADD_VALUES));
  PetscCall(VecAssemblyBegin(y));
  PetscCall(VecAssemblyEnd(y));
  PetscCall(ISDestroy(&zero));
  PetscCall(HJTestDestroy(&x, &B, &C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Sweeps(DM da, Mat A, int flag, PetscReal omega, PetscInt its, PetscInt lits, Vec y)
{
  Vec b;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(y, &b));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(ProblemVector(da, 2, y));
  PetscCall(MatSOR(A, b, omega, (MatSORType)flag, 0.0, its, lits, y));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpSORSymmetric(DM da, Mat A, Vec y)
{
  PetscFunctionBegin;
  PetscCall(Sweeps(da, A, SOR_LOCAL_SYMMETRIC_SWEEP | SOR_ZERO_INITIAL_GUESS, 1.0, 2, 1, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpSORForward(DM da, Mat A, Vec y)
{
  PetscFunctionBegin;
  PetscCall(Sweeps(da, A, SOR_LOCAL_FORWARD_SWEEP, 1.3, 1, 2, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OpSORBackward(DM da, Mat A, Vec y)
{
  PetscFunctionBegin;
  PetscCall(Sweeps(da, A, SOR_LOCAL_BACKWARD_SWEEP, 0.9, 2, 1, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norms, and an entry of each row, as numbers of a vector */
static PetscErrorCode OpNumbers(DM da, Mat A, Vec y)
{
  PetscReal norm[3];
  PetscInt  start, end;

  PetscFunctionBegin;
  PetscCall(MatNorm(A, NORM_1, &norm[0]));
  PetscCall(MatNorm(A, NORM_INFINITY, &norm[1]));
  PetscCall(MatNorm(A, NORM_FROBENIUS, &norm[2]));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  for (PetscInt r = start; r < end; r++) {
    const PetscInt     column = start + (r - start + 1) % (end - start);
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           n;
    PetscScalar        v, sum = 0.0;

    PetscCall(MatGetValues(A, 1, &r, 1, &column, &v));
    PetscCall(MatGetRow(A, r, &n, &columns, &values));
    for (PetscInt e = 0; e < n; e++) sum += values[e] * (1 + columns[e] % 17);
    PetscCall(MatRestoreRow(A, r, &n, &columns, &values));
    PetscCall(VecSetValue(y, r, v + sum + norm[r % 3], INSERT_VALUES));
  }
  PetscCall(VecAssemblyBegin(y));
  PetscCall(VecAssemblyEnd(y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest and smallest entries of rows, norms of columns, and whether the transpose is one. Each kind of entry has a vector of its own:
   PETSc 3.26 sends a vector's page-locked values to the GPU without waiting, and writes of the host right after VecAXPY() overtake them */
static PetscErrorCode OpRowsAndColumns(DM da, Mat A, Vec y)
{
  PetscErrorCode (*const entry[])(Mat, Vec, PetscInt[]) = {MatGetRowMaxAbs, MatGetRowMinAbs, MatGetRowMax, MatGetRowMin};
  Vec        v;
  Mat        T;
  PetscReal *norms;
  PetscInt   N, start, end;
  PetscBool  transposed[2];

  PetscFunctionBegin;
  PetscCall(VecSet(y, 0.0));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(entry); i++) {
    PetscCall(VecDuplicate(y, &v));
    PetscCall((*entry[i])(A, v, NULL));
    PetscCall(VecAXPY(y, i + 1.0, v));
    PetscCall(VecDestroy(&v));
  }
  PetscCall(MatGetSize(A, NULL, &N));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(PetscMalloc1(N, &norms));
  PetscCall(MatGetColumnNorms(A, NORM_2, norms));
  for (PetscInt r = start; r < end; r++) PetscCall(VecSetValue(y, r, norms[r], ADD_VALUES));
  PetscCall(VecAssemblyBegin(y));
  PetscCall(VecAssemblyEnd(y));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatIsTranspose(A, T, 0.0, &transposed[0]));
  PetscCall(MatShift(T, 0.5));
  PetscCall(MatIsTranspose(A, T, 0.25, &transposed[1]));
  PetscCall(VecShift(y, transposed[0] + 2.0 * transposed[1]));
  PetscCall(MatDestroy(&T));
  PetscCall(PetscFree(norms));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The even rows and columns as a matrix, and what is left after overlap grew */
static PetscErrorCode OpSubMatrix(DM da, Mat A, Vec y)
{
  IS       is, own;
  Mat      B, *C;
  PetscInt start, end, n;
  Vec      x, z;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, (end - start + 1) / 2, start, 2, &is));
  PetscCall(MatCreateSubMatrix(A, is, is, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatScale(A, 2.0));
  PetscCall(MatCreateSubMatrix(A, is, is, MAT_REUSE_MATRIX, &B));
  PetscCall(MatCreateVecs(B, &x, &z));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(B, x, z));
  PetscCall(VecSet(y, 0.0));
  PetscCall(VecISCopy(y, is, SCATTER_FORWARD, z));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&z));
  PetscCall(ISDestroy(&is));
  PetscCall(MatDestroy(&B));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, end - start, start, 1, &own));
  PetscCall(MatIncreaseOverlap(A, 1, &own, 1));
  PetscCall(MatCreateSubMatrices(A, 1, &own, &own, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatCreateVecs(C[0], &x, &z));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(C[0], x, z));
  PetscCall(ISGetLocalSize(own, &n));
  PetscCall(VecShift(y, (PetscReal)n));
  PetscCall(VecSum(z, (PetscScalar[]){0.0}));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&z));
  PetscCall(MatDestroySubMatrices(1, &C));
  PetscCall(ISDestroy(&own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This rank's rows and columns as a matrix of its own, and values that are kept aside and taken back */
static PetscErrorCode OpKept(DM da, Mat A, Vec y)
{
  Mat                B;
  Vec                x, z;
  const PetscScalar *from;
  PetscScalar       *to;
  PetscInt           n;
  PetscMPIInt        size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscCall(MatSetOption(A, MAT_SUBSET_OFF_PROC_ENTRIES, PETSC_FALSE)); /* an error of PETSc's for AIJ on one */
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));                 /* AIJ asks for it */
  PetscCall(MatStoreValues(A));
  PetscCall(MatGetMultiProcBlock(A, PETSC_COMM_SELF, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatScale(A, 2.0));
  PetscCall(MatGetMultiProcBlock(A, PETSC_COMM_SELF, MAT_REUSE_MATRIX, &B));
  PetscCall(MatCreateVecs(B, &x, &z));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(B, x, z)); /* AIJ's block on several ranks has its values from A */
  PetscCall(MatRetrieveValues(A));
  PetscCall(VecGetLocalSize(y, &n));
  PetscCall(VecGetArrayRead(z, &from));
  PetscCall(VecGetArrayWrite(y, &to));
  PetscCall(PetscArraycpy(to, from, n));
  PetscCall(VecRestoreArrayWrite(y, &to));
  PetscCall(VecRestoreArrayRead(z, &from));
  PetscCall(HJTestDestroy(&x, &z, &B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct {
  const char *name;
  Operation   run;
} operations[] = {
  {"MatMult", OpMult},
  {"MatMultAdd, MatMultTransposeAdd", OpMultAdd},
  {"MatMultTranspose", OpMultTranspose},
  {"MatResidual", OpResidual},
  {"MatGetDiagonal", OpDiagonal},
  {"MatDiagonalSet", OpDiagonalSet},
  {"MatDiagonalScale", OpDiagonalScale},
  {"MatScale, MatShift", OpScaleShift},
  {"MatAXPY, MatAYPX", OpAXPY},
  {"MatDuplicate, MatCopy, MatZeroEntries", OpCopy},
  {"MatTranspose", OpTranspose},
  {"MatZeroRows", OpZeroRows},
  {"MatZeroRowsColumns", OpZeroRowsColumns},
  {"MatZeroRowsStencil, MatZeroRowsColumnsStencil", OpZeroRowsStencil},
  {"MatZeroRowsIS, MatZeroRowsLocal, and with columns", OpZeroRowsBySets},
  {"MatFindZeroRows, MatMissingDiagonal, MatTransposeMatMult", OpZeroFound},
  {"MatSOR, symmetric from zero", OpSORSymmetric},
  {"MatSOR, forward", OpSORForward},
  {"MatSOR, backward", OpSORBackward},
  {"MatNorm, MatGetValues, MatGetRow", OpNumbers},
  {"MatGetRowMax and its kin, MatGetColumnNorms, MatIsTranspose", OpRowsAndColumns},
  {"MatCreateSubMatrix, MatCreateSubMatrices, overlap", OpSubMatrix},
  {"MatGetMultiProcBlock, MatStoreValues", OpKept},
};

/* The AIJ copy that was made before the matrix changed is the matrix of now */
static PetscErrorCode CopyFollows(Mat a, Mat b, PetscBool *follows)
{
  PetscInt start, end;
  IS       rows;
  Mat      copy;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(a, &start, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, end - start, start, 1, &rows));
  PetscCall(MatCreateSubMatrix(a, rows, rows, MAT_INITIAL_MATRIX, &copy));
  PetscCall(MatsAgree(copy, b, follows));
  PetscCall(MatDestroy(&copy));
  PetscCall(ISDestroy(&rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOperation(DM da, Mat A, Mat B, size_t op, PetscBool *good)
{
  Mat       a, b;
  Vec       x, y;
  PetscReal diff;
  PetscBool same = PETSC_FALSE, follows = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &a));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &b));
  PetscCall(CaseMakeCopy(a));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall((*operations[op].run)(da, a, x));
  PetscCall((*operations[op].run)(da, b, y));
  PetscCall(VecsAgree(x, y, 1024 * PETSC_MACHINE_EPSILON, good, &diff));
  PetscCall(MatsAgree(a, b, &same));
  PetscCall(CopyFollows(a, b, &follows));
  if (!*good || !same || !follows)
    PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr, "# %s: vector off by %g, matrix %s, its copy %s\n", operations[op].name, (double)diff,
                           same ? "right" : "wrong", follows ? "right" : "wrong"));
  *good = (PetscBool)(*good && same && follows);
  PetscCall(HJTestDestroy(&x, &y, &a, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *const stored[] = {"storage: one row for all points", "storage: dictionary", "storage: one array per offset"};

/* Whether the storage follows from the kind: a mirrored boundary, and two points that are neighbours on both sides, add up entries; few
   points make no dictionary */
static PetscErrorCode CaseStorageIsSure(const Case *c, PetscBool *sure)
{
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  *sure = (PetscBool)(c->kind == ROW || c->n[0] * c->n[1] * c->n[2] >= (c->kind == DICTIONARY ? 100 : 16) * size);
  for (PetscInt d = 0; d < c->dim && c->kind != ARRAYS; d++)
    *sure = (PetscBool)(*sure && c->boundary[d] != DM_BOUNDARY_MIRROR && (c->boundary[d] != DM_BOUNDARY_PERIODIC || c->n[d] > 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One test line a case: filling, storage and all operations */
static PetscErrorCode TestCase(const Case *c)
{
  DM        da;
  Mat       A, B;
  char      name[256];
  PetscBool good = PETSC_FALSE, all = PETSC_FALSE, sure = PETSC_FALSE, holds;

  PetscFunctionBegin;
  PetscCall(CaseName(c, name, sizeof(name)));
  PetscCall(CaseCreate(c, &da, &A, &B));
  PetscCall(MatsAgree(A, B, &all));
  if (!all) PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr, "# filling is wrong\n"));
  for (size_t op = 0; op < PETSC_STATIC_ARRAY_LENGTH(operations); op++) {
    PetscCall(TestOperation(da, A, B, op, &good));
    all = (PetscBool)(all && good);
  }
  PetscCall(HJTestOK(all, "%s: every operation is AIJ's", name));
  PetscCall(CaseStorageIsSure(c, &sure));
  if (sure) {
    PetscCall(MatInfoHolds(A, stored[c->kind], &holds));
    PetscCall(HJTestOK(holds, "%s: %s", name, stored[c->kind]));
  }
  PetscCall(HJTestDestroy(&A, &B, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const Case galerkin[] = {{2, {17, 13, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS},
                                {2, {16, 13, 1}, {DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS},
                                {3, {9, 11, 13}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS},
                                {3, {9, 9, 9}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS}};

/* An operation that needs the grid's own numbers, which a product does not have */
static PetscBool NeedsNumbers(size_t op)
{
  return (PetscBool)(strstr(operations[op].name, "Stencil") || strstr(operations[op].name, "Local"));
}

/* A becomes A + A^T, and is known to be symmetric */
static PetscErrorCode Symmetrize(Mat A)
{
  Mat T;

  PetscFunctionBegin;
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatAXPY(A, 1.0, T, SAME_NONZERO_PATTERN));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Galerkin's matrix of one that is known to be symmetric, on one rank half of the arrays, beside that of one that is not */
static PetscErrorCode TestGalerkin(const Case *c)
{
  DM          da, coarse;
  Mat         A, B, P, C, D;
  MatInfo     info[2];
  char        name[256];
  PetscMPIInt size;
  PetscBool   good = PETSC_FALSE, all = PETSC_TRUE, half;

  PetscFunctionBegin;
  PetscCall(CaseName(c, name, sizeof(name)));
  PetscCall(CaseCreate(c, &da, &A, &B));
  PetscCall(MatDestroy(&B));
  PetscCall(DMSetMatType(da, MATHJSTENCIL));
  PetscCall(DMCoarsen(da, PETSC_COMM_WORLD, &coarse));
  PetscCall(DMCreateInterpolation(coarse, da, &P, NULL));
  PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  PetscCall(Symmetrize(A));
  PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(MatConvert(C, MATAIJ, MAT_INITIAL_MATRIX, &B));
  for (size_t op = 0; op < PETSC_STATIC_ARRAY_LENGTH(operations); op++) {
    if (NeedsNumbers(op)) continue;
    PetscCall(TestOperation(coarse, C, B, op, &good));
    all = (PetscBool)(all && good);
  }
  PetscCall(HJTestOK(all, "%s, Galerkin's matrix of a symmetric one: every operation is AIJ's", name));
  PetscCall(MatDestroy(&B));

  PetscCall(Symmetrize(D)); /* P^T A P + (P^T A P)^T has all arrays */
  PetscCall(MatsAgree(C, D, &good));
  PetscCall(MatGetInfo(C, MAT_GLOBAL_SUM, &info[0]));
  PetscCall(MatGetInfo(D, MAT_GLOBAL_SUM, &info[1]));
  PetscCall(HJTestOK(good, "%s: it is that of all arrays", name));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  half = (PetscBool)(size == 1 && c->boundary[0] != DM_BOUNDARY_PERIODIC);
  PetscCall(HJTestOK((PetscBool)(half == (info[0].memory < 0.75 * info[1].memory)), "%s: %s of the arrays", name, half ? "half" : "all"));
  PetscCall(HJTestDestroy(&C, &D, &P, &A, &coarse, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscRandom random;
  PetscInt    n = 36;
  Case        c;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(PetscOptionsSetValue(NULL, "-mat_no_inode", NULL)); /* AIJ's SOR by blocks of rows of one pattern is another method */
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &n, NULL));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetSeed(random, 20));
  PetscCall(PetscRandomSeed(random));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(RandomCase(random, i, &c));
    PetscCall(TestCase(&c));
  }
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(galerkin); i++) PetscCall(TestGalerkin(&galerkin[i]));
  PetscCall(PetscRandomDestroy(&random));
  return HJTestEnd();
}

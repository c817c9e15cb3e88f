/* SPDX-License-Identifier: BSD-2-Clause */
/* Ways to fill a MATHJSTENCIL with several unknowns a point, what comes out of it, and what is refused. ranks: 1 2 4 */
#include "hjsystemcase.h"
#include "hjcapture.h"
#include "hjmatcase.h"

/* Passes where A and B, of which one is AIJ, hold the same */
static PetscErrorCode Same(Mat A, Mat B, const char *what)
{
  Mat       a;
  PetscReal largest;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &a));
  PetscCall(MatAXPY(a, -1.0, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(a, NORM_INFINITY, &largest));
  PetscCall(HJTestDetail("# largest difference %g", (double)largest));
  PetscCall(HJTestOK((PetscBool)(largest == 0), "%s", what));
  PetscCall(MatDestroy(&a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const System full = {.dim      = 2,
                            .n        = {9, 8, 1},
                            .dof      = 3,
                            .boundary = {DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE},
                            .box      = PETSC_TRUE,
                            .kind     = SYSTEM_ARRAYS,
                            .coupling = SYSTEM_FULL};

/* Elements of four points, each of one rank, whose points are mostly others' too */
static PetscErrorCode Elements(DM da, PetscInt dof, Way way, Mat A)
{
  const PetscInt         size = 4 * dof;
  PetscInt               nel, nen;
  const PetscInt        *e;
  PetscScalar           *v;
  ISLocalToGlobalMapping map;

  PetscFunctionBegin;
  PetscCall(DMDASetElementType(da, DMDA_ELEMENT_Q1));
  PetscCall(DMDAGetElements(da, &nel, &nen, &e));
  PetscCall(DMGetLocalToGlobalMapping(da, &map));
  PetscCall(PetscMalloc1(size * size, &v));
  for (PetscInt m = 0; m < nel; m++) {
    PetscInt local[4], scalars[64], global[64];

    for (PetscInt p = 0; p < 4; p++) {
      local[p] = e[4 * m + p];
      for (PetscInt c = 0; c < dof; c++) scalars[p * dof + c] = local[p] * dof + c;
    }
    for (PetscInt i = 0; i < size * size; i++) v[i] = 1 + (i * 7) % 13; /* whole numbers: sums have one value */
    if (way == BLOCKED_LOCAL) PetscCall(MatSetValuesBlockedLocal(A, 4, local, 4, local, v, ADD_VALUES));
    else if (way == LOCAL) PetscCall(MatSetValuesLocal(A, size, scalars, size, scalars, v, ADD_VALUES));
    else {
      PetscCall(ISLocalToGlobalMappingApplyBlock(map, 4, local, global));
      if (way == BLOCKED) PetscCall(MatSetValuesBlocked(A, 4, global, 4, global, v, ADD_VALUES));
      else {
        PetscCall(ISLocalToGlobalMappingApply(map, size, scalars, global));
        PetscCall(MatSetValues(A, size, global, size, global, v, ADD_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(DMDARestoreElements(da, &nel, &nen, &e));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of other ranks travel */
static PetscErrorCode TestElements(void)
{
  const Way   ways[]  = {LOCAL, GLOBAL, BLOCKED, BLOCKED_LOCAL};
  const char *names[] = {"MatSetValuesLocal", "MatSetValues", "MatSetValuesBlocked", "MatSetValuesBlockedLocal"};
  System      s       = full;
  DM          da[2];
  Mat         A, B;
  char        name[128];

  PetscFunctionBegin;
  s.boundary[0] = DM_BOUNDARY_NONE;
  PetscCall(SystemDM(&s, s.dof, MATHJSTENCIL, &da[0]));
  PetscCall(SystemDM(&s, s.dof, MATAIJ, &da[1]));
  PetscCall(DMCreateMatrix(da[1], &B));
  PetscCall(Elements(da[1], s.dof, GLOBAL, B));
  for (int w = 0; w < 4; w++) {
    PetscCall(DMCreateMatrix(da[0], &A));
    for (int again = 0; again < 2; again++) {
      PetscCall(MatZeroEntries(A));
      PetscCall(Elements(da[0], s.dof, ways[w], A));
      PetscCall(PetscSNPrintf(name, sizeof(name), "elements by %s%s", names[w], again ? ", again" : ""));
      PetscCall(Same(A, B, name));
    }
    PetscCall(MatDestroy(&A));
  }
  PetscCall(MatDestroy(&B));
  for (int m = 0; m < 2; m++) PetscCall(DMDestroy(&da[m]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of a point and its neighbour on the right: full ones, and whole rows at once */
static PetscErrorCode TestBlockedStencil(void)
{
  DM          da[2];
  Mat         M[2];
  PetscInt    lo[3], w[3];
  PetscScalar v[2 * 9];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 18; i++) v[i] = 1 + i;
  for (int m = 0; m < 2; m++) {
    PetscCall(SystemDM(&full, full.dof, m ? MATAIJ : MATHJSTENCIL, &da[m]));
    PetscCall(DMCreateMatrix(da[m], &M[m]));
    PetscCall(DMDAGetCorners(da[m], &lo[0], &lo[1], &lo[2], &w[0], &w[1], &w[2]));
    for (PetscInt j = lo[1]; j < lo[1] + w[1]; j++) {
      for (PetscInt i = lo[0]; i < lo[0] + w[0]; i++) {
        const MatStencil row = {.i = i, .j = j}, col[2] = {row, {.i = i + 1, .j = j}};

        v[0] = i + 100 * j;
        PetscCall(MatSetValuesBlockedStencil(M[m], 1, &row, 2, col, v, INSERT_VALUES));
      }
    }
    PetscCall(MatAssemblyBegin(M[m], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(M[m], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(Same(M[0], M[1], "MatSetValuesBlockedStencil"));
  for (int m = 0; m < 2; m++) {
    PetscCall(MatDestroy(&M[m]));
    PetscCall(DMDestroy(&da[m]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the view says of storage */
static PetscErrorCode Stored(Mat A, const char *words, const char *what)
{
  PetscBool holds;

  PetscFunctionBegin;
  PetscCall(ObjectViewHolds((PetscObject)A, PETSC_VIEWER_ASCII_INFO, words, &holds));
  PetscCall(HJTestOK(holds, "%s", what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Few entries, then one more by one rank, then few again */
static PetscErrorCode TestSlots(void)
{
  System   s = {2, {9, 8, 1}, 2, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, SYSTEM_ARRAYS, SYSTEM_POINT};
  DM       da[2];
  Mat      A, B;
  PetscInt start;

  PetscFunctionBegin;
  PetscCall(SystemCreate(&s, MATHJSTENCIL, &da[0], &A));
  PetscCall(SystemCreate(&s, MATAIJ, &da[1], &B));
  PetscCall(Stored(A, "12 of 20 entries", "reaction and diffusion of two species: 12 arrays"));
  for (int m = 0; m < 2; m++) {
    Mat M = m ? B : A;

    PetscCall(MatGetOwnershipRange(M, &start, NULL));
    if (!start) PetscCall(MatSetValue(M, 0, 3, 5.0, INSERT_VALUES)); /* of another component, to the right */
    PetscCall(MatAssemblyBegin(M, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(M, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(Same(A, B, "an entry where there was no array"));
  PetscCall(Stored(A, "13 of 20 entries", "it gets one"));
  PetscCall(MatZeroEntries(A));
  PetscCall(SystemFill(&s, da[0], -1, A));
  PetscCall(MatZeroEntries(B));
  PetscCall(SystemFill(&s, da[1], -1, B));
  PetscCall(Same(A, B, "new values"));
  PetscCall(Stored(A, "12 of 20 entries", "an array of zeros goes"));
  PetscCall(HJTestDestroy(&A, &B, &da[0], &da[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All entries of B, by ranks in turn */
static PetscErrorCode TestCOO(void)
{
  System       s = full;
  DM           da[2];
  Mat          A, B;
  PetscInt     N, n = 0, *i, *j, start, end;
  PetscScalar *v;

  PetscFunctionBegin;
  s.coupling = SYSTEM_ALONE;
  PetscCall(SystemCreate(&s, MATAIJ, &da[1], &B));
  PetscCall(SystemDM(&s, s.dof, MATHJSTENCIL, &da[0]));
  PetscCall(DMCreateMatrix(da[0], &A));
  PetscCall(MatGetSize(B, &N, NULL));
  PetscCall(MatGetOwnershipRange(B, &start, &end));
  PetscCall(PetscMalloc3(3 * (end - start) * 27, &i, 3 * (end - start) * 27, &j, 3 * (end - start) * 27, &v));
  for (PetscInt r = start; r < end; r++) {
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           nnz;

    PetscCall(MatGetRow(B, r, &nnz, &columns, &values));
    for (PetscInt e = 0; e < nnz; e++) { /* another rank's row gets something where there is nothing, and loses it again */
      const PetscInt other = (r + N / 2) % N / s.dof * s.dof;

      i[n]     = r;
      j[n]     = columns[e];
      v[n]     = values[e];
      i[n + 1] = i[n + 2] = other;
      j[n + 1] = j[n + 2] = other + 1;
      v[n + 1]            = e ? 0.0 : 8.0;
      v[n + 2]            = e ? 0.0 : -8.0;
      n += 3;
    }
    PetscCall(MatRestoreRow(B, r, &nnz, &columns, &values));
  }
  PetscCall(MatSetPreallocationCOO(A, n, i, j));
  for (int again = 0; again < 2; again++) {
    PetscCall(MatSetValuesCOO(A, v, INSERT_VALUES));
    PetscCall(Same(A, B, again ? "COO, again" : "COO"));
  }
  PetscCall(MatSetValuesCOO(A, v, ADD_VALUES));
  PetscCall(MatScale(B, 2.0));
  PetscCall(Same(A, B, "COO, added"));
  PetscCall(PetscFree3(i, j, v));
  PetscCall(HJTestDestroy(&A, &B, &da[0], &da[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each entry's array, and one row for all points */
static PetscErrorCode TestArrays(void)
{
  System       s = full;
  DM           da[2];
  Mat          A, B;
  PetscInt     lo[3], w[3];
  MatStencil   offsets[9];
  PetscScalar *blocks;

  PetscFunctionBegin;
  s.kind = SYSTEM_ROW;
  PetscCall(SystemCreate(&s, MATAIJ, &da[1], &B));
  PetscCall(SystemDM(&s, s.dof, MATHJSTENCIL, &da[0]));
  PetscCall(DMCreateMatrix(da[0], &A));
  PetscCall(DMDAGetCorners(da[0], &lo[0], &lo[1], &lo[2], &w[0], &w[1], &w[2]));
  PetscCall(PetscMalloc1(9 * s.dof * s.dof, &blocks));
  for (PetscInt o = 0; o < 9; o++) {
    const PetscInt at[3] = {0, 0, 0};

    offsets[o] = (MatStencil){.i = o % 3 - 1, .j = o / 3 - 1};
    for (PetscInt c = 0; c < s.dof; c++) {
      for (PetscInt d = 0; d < s.dof; d++) {
        PetscScalar **a;

        blocks[(o * s.dof + c) * s.dof + d] = SystemEntry(&s, at, o + 9, c, d);
        PetscCall(MatHJStencilGetArrayDOF(A, offsets[o].i, offsets[o].j, 0, c, d, &a));
        for (PetscInt j = lo[1]; j < lo[1] + w[1]; j++)
          for (PetscInt i = lo[0]; i < lo[0] + w[0]; i++) a[j][i] = blocks[(o * s.dof + c) * s.dof + d];
        PetscCall(MatHJStencilRestoreArrayDOF(A, offsets[o].i, offsets[o].j, 0, c, d, &a));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(Same(A, B, "MatHJStencilGetArrayDOF"));
  PetscCall(Stored(A, "one row for all points", "arrays that are one number each become one row"));
  PetscCall(MatZeroEntries(A));
  PetscCall(MatHJStencilSetRow(A, 9, offsets, blocks));
  PetscCall(Same(A, B, "MatHJStencilSetRow"));
  PetscCall(Stored(A, "one row for all points", "which needs no array"));
  {
    PetscScalar **a;

    ExpectErrorBy(CheckSomeRank, MatHJStencilGetArray(A, 0, 0, 0, &a), "an array of an offset is refused", "3 unknowns a point",
                  "MatHJStencilGetArrayDOF()");
    ExpectErrorBy(CheckSomeRank, MatHJStencilGetArrayDOF(A, 0, 0, 0, 3, 0, &a), "a component that there is not", "3 unknowns");
  }
  PetscCall(PetscFree(blocks));
  PetscCall(HJTestDestroy(&A, &B, &da[0], &da[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc's solvers ask of it */
static PetscErrorCode TestBlocks(void)
{
  DM                 da[2];
  Mat                M[2], block[2];
  const PetscScalar *inverse[2];
  PetscInt           n;
  PetscReal          largest = 0, difference;

  PetscFunctionBegin;
  for (int m = 0; m < 2; m++) {
    PetscCall(SystemCreate(&full, m ? MATAIJ : MATHJSTENCIL, &da[m], &M[m]));
    PetscCall(MatInvertBlockDiagonal(M[m], &inverse[m]));
  }
  PetscCall(MatGetLocalSize(M[0], &n, NULL));
  for (PetscInt i = 0; i < n * full.dof; i++) largest = PetscMax(largest, PetscAbsScalar(inverse[0][i] - inverse[1][i]));
  PetscCall(HJTestOK((PetscBool)(largest == 0), "MatInvertBlockDiagonal"));
  for (int m = 0; m < 2; m++) PetscCall(MatGetDiagonalBlock(M[m], &block[m]));
  PetscCall(MatConvert(block[0], MATAIJ, MAT_INITIAL_MATRIX, &block[0]));
  PetscCall(MatAXPY(block[0], -1.0, block[1], DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(block[0], NORM_INFINITY, &difference));
  PetscCall(HJTestOK((PetscBool)(difference == 0), "MatGetDiagonalBlock"));
  PetscCall(MatDestroy(&block[0]));
  for (int m = 0; m < 2; m++) {
    PetscCall(MatDestroy(&M[m]));
    PetscCall(DMDestroy(&da[m]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Written in the natural order of points, and loaded again */
static PetscErrorCode TestLoad(void)
{
  DM          da[2];
  Mat         A, B;
  PetscViewer viewer;
  char        file[PETSC_MAX_PATH_LEN];

  PetscFunctionBegin;
  PetscCall(SystemCreate(&full, MATHJSTENCIL, &da[0], &A));
  PetscCall(SystemCreate(&full, MATAIJ, &da[1], &B));
  PetscCall(BinaryFile(file, sizeof(file)));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_WRITE, &viewer));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatZeroEntries(A));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
  PetscCall(MatLoad(A, viewer));
  PetscCall(Same(A, B, "binary view, loaded"));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(RemoveBinaryFile(file));
  PetscCall(HJTestDestroy(&A, &B, &da[0], &da[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveWith(const System *s, const char *type, const char *pctype, PetscReal *residual, PetscInt *its)
{
  DM        da;
  Mat       A;
  KSP       ksp;
  PC        pc;
  Vec       x, b, r;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(SystemCreate(s, type, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(SystemVector(da, s->dof, -1, 1, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(PCSetDM(pc, da));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_2, residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  *residual /= norm;
  PetscCall(HJTestDestroy(&ksp, &x, &b, &r, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Preconditioners have the iterations that they have with AIJ */
static PetscErrorCode TestSolve(SystemKind kind)
{
  const char *pcs[] = {PCHJACOBI, PCHJMG, PCPBJACOBI, PCSOR, PCBJACOBI};
  System      s     = full;

  PetscFunctionBegin;
  s.kind = kind;
  for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(pcs); p++) {
    PetscReal residual[2];
    PetscInt  its[2];

    for (int m = 0; m < 2; m++) PetscCall(SolveWith(&s, m ? MATAIJ : MATHJSTENCIL, pcs[p], &residual[m], &its[m]));
    PetscCall(HJTestDetail("# %d, %d iterations, residuals %g, %g", (int)its[0], (int)its[1], (double)residual[0], (double)residual[1]));
    PetscCall(HJTestOK((PetscBool)(its[0] == its[1] && residual[0] < HJTestDigits(1e-4)), "%s, kind %d: as with AIJ", pcs[p], (int)kind));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(TestElements());
  PetscCall(TestBlockedStencil());
  PetscCall(TestSlots());
  PetscCall(TestCOO());
  PetscCall(TestArrays());
  PetscCall(TestBlocks());
  PetscCall(TestLoad());
  PetscCall(TestSolve(SYSTEM_ARRAYS));
  PetscCall(TestSolve(SYSTEM_ROW));
  {
    const int code = HJTestDone();

    PetscCall(PetscFinalize());
    return code;
  }
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   Grids, entries and calls that MATHJSTENCIL refuses, and the sentences with which it does; which stencil it takes of a DMDA.
*/
#include "hjmatcase.h"

static PetscErrorCode NewMat(DM da, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(DMSetMatType(da, MATHJSTENCIL));
  PetscCall(DMCreateMatrix(da, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRefusedGrids(void)
{
  DM  da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(NewDM(1, 2, DMDA_STENCIL_BOX, &da));
  ExpectErrorBy(CheckSomeRank, NewMat(da, &A), "width 2 is refused", "2 points wide", "-dm_mat_type aij");
  PetscCall(DMDestroy(&da));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, 5, 5, PETSC_DECIDE, PETSC_DECIDE));
  PetscCall(MatSetType(A, MATHJSTENCIL));
  ExpectErrorBy(CheckSomeRank, MatSetUp(A), "a matrix without a DMDA is refused", "needs a DMDA", "MatCreateHJStencil()", "-mat_type aij");
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Point 0,0 and its column two points away, diagonal neighbour, and on other ranks */
static PetscErrorCode TestUnfit(void)
{
  DM        da;
  Mat       A;
  AO        ao;
  PetscInt  at[] = {0, 2, 13, 143, 141};
  Case      c    = {2, {12, 12, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ROW};
  PetscBool good = PETSC_FALSE;
  Mat       B;

  PetscFunctionBegin;
  PetscCall(CaseCreate(&c, &da, &A, &B));
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(AOApplicationToPetsc(ao, 5, at));
  PetscCall(SetOne(A, at[0], at[1], 0.0));
  PetscCall(SetOne(A, at[3], at[4], 0.0));
  PetscCall(MatsAgree(A, B, &good));
  PetscCall(HJTestOK(good, "zeros that no offset holds are ignored"));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  PetscCall(SetOne(A, at[0], at[1], 7.0));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  PetscCall(MatsAgree(A, B, &good));
  PetscCall(HJTestOK(good, "and all of them with MAT_NEW_NONZERO_LOCATIONS off"));
  ExpectErrorBy(CheckSomeRank, SetOne(A, at[0], at[1], 1.0), "a nonzero two points away is refused", "Row 0 (grid point 0,0,0)",
                "more than one grid point away", "star stencil", "-dm_mat_type aij");
  PetscCall(MatDestroy(&A));
  PetscCall(MatCreateHJStencil(da, &A));
  ExpectErrorBy(CheckSomeRank, SetOne(A, at[0], at[2], 1.0), "a nonzero at a diagonal neighbour is refused", "Row 0 (grid point 0,0,0)",
                "DMDA_STENCIL_BOX", "-dm_mat_type aij");
  PetscCall(MatDestroy(&A));
  PetscCall(MatCreateHJStencil(da, &A));
  ExpectErrorBy(CheckSomeRank, SetOne(A, at[3], at[4], 1.0), "a nonzero too far in another rank's row is refused", "(grid point 11,11,0)",
                "-dm_mat_type aij");
  PetscCall(HJTestDestroy(&A, &B, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A star grid's matrix can become a box by what is added to it or copied into it, also after its rows were asked for as AIJ */
static PetscErrorCode TestShapes(void)
{
  Case      star = {2, {12, 10, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS}, box = star;
  DM        da[2];
  Mat       A[2], B[2], C, block;
  PetscBool good[3] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBegin;
  box.box = PETSC_TRUE;
  PetscCall(CaseCreate(&star, &da[0], &A[0], &B[0]));
  PetscCall(CaseCreate(&box, &da[1], &A[1], &B[1]));
  PetscCall(CaseMakeCopy(A[0]));
  PetscCall(MatSetDM(B[1], da[0]));
  PetscCall(MatConvert(B[1], MATHJSTENCIL, MAT_INITIAL_MATRIX, &C));
  PetscCall(Check(C, B[1], "box on a star grid", "MatConvert from AIJ"));
  PetscCall(MatDuplicate(A[0], MAT_COPY_VALUES, &block));
  PetscCall(MatCopy(C, block, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatsAgree(block, B[1], &good[0]));
  PetscCall(MatCopy(A[0], block, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatsAgree(block, B[0], &good[1]));
  PetscCall(MatDestroy(&block));
  PetscCall(MatAXPY(A[0], 2.0, C, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatAXPY(B[0], 2.0, B[1], DIFFERENT_NONZERO_PATTERN));
  PetscCall(CaseMakeCopy(A[0]));
  PetscCall(MatsAgree(A[0], B[0], &good[2]));
  PetscCall(HJTestOK((PetscBool)(good[0] && good[1]), "a box copied into a star, and a star into a box"));
  PetscCall(HJTestOK(good[2], "a box added to a star"));
  for (int i = 0; i < 2; i++) {
    PetscCall(HJTestDestroy(&A[i], &B[i], &da[i]));
  }
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BadCOO(Mat A)
{
  PetscInt i[] = {0}, j[] = {5};

  PetscFunctionBegin;
  PetscCall(MatSetPreallocationCOO(A, 1, i, j));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BadSOR(Mat A, int flag)
{
  Vec            x, b;
  PetscErrorCode code;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(VecSet(x, 0.0));
  code = MatSOR(A, b, 1.0, (MatSORType)flag, 0.0, 1, 1, x);
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(code);
}

static PetscErrorCode FactorInPlace(Mat A)
{
  PC             pc;
  PetscErrorCode code;

  PetscFunctionBegin;
  PetscCall(ProblemPC(NULL, A, PCLU, &pc));
  PetscCall(PCFactorSetUseInPlace(pc, PETSC_TRUE));
  code = PCSetUp(pc);
  PetscFunctionReturn(code);
}

/* Rank 0 inserts and the others add, each in its own rows */
static PetscErrorCode MixedModes(Mat A)
{
  const PetscScalar v = 2.0;
  PetscInt          row;
  PetscMPIInt       rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatGetOwnershipRange(A, &row, NULL));
  PetscCall(MatSetValues(A, 1, &row, 1, &row, &v, rank ? ADD_VALUES : INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRefusedCalls(void)
{
  DM                da;
  Mat               A;
  const PetscInt    first = 0;
  PetscScalar     **array, **again, *checked_out;
  const PetscScalar v[] = {1.0};
  const MatStencil  off = {.i = 1, .j = 1};
  PetscReal         norm;
  PetscMPIInt       size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, 2, 2, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(A, MATHJSTENCIL));
  ExpectErrorBy(CheckSomeRank, MatSetValues(A, 1, &first, 1, &first, v, ADD_VALUES), "values before set-up", "MatSetUp()");
  ExpectErrorBy(CheckSomeRank, MatSetValuesLocal(A, 1, &first, 1, &first, v, ADD_VALUES), "local values before set-up", "MatSetUp()");
  PetscCall(MatDestroy(&A));
  PetscCall(NewDM(1, 1, DMDA_STENCIL_STAR, &da));
  PetscCall(NewMat(da, &A));
  ExpectErrorBy(CheckSomeRank, MatSetValuesCOO(A, v, INSERT_VALUES), "COO values without a pattern", "MatSetPreallocationCOO()");
  ExpectErrorBy(CheckSomeRank, BadCOO(A), "a COO entry too far", "more than one grid point away", "-dm_mat_type aij");
  ExpectErrorBy(CheckSomeRank, MatHJStencilSetRow(A, 1, &off, v), "a row with an offset that the stencil has not", "no offset 1,1,0",
                "DMDA_STENCIL_BOX");
  ExpectErrorBy(CheckSomeRank, MatHJStencilGetArray(A, 0, 2, 0, &array), "an array of such an offset", "no offset 0,2,0",
                "-dm_mat_type aij");
  PetscCall(MatHJStencilGetArray(A, 0, 0, 0, &array));
  ExpectErrorBy(CheckSomeRank, MatHJStencilGetArray(A, 0, 0, 0, &again), "an array that is in use", "MatHJStencilRestoreArray()");
  ExpectErrorBy(CheckSomeRank, MatZeroEntries(A), "zeroed while an array is in use", "offset 0,0,0", "MatHJStencilRestoreArray()");
  PetscCall(MatHJStencilRestoreArray(A, 0, 0, 0, &array));
  ExpectErrorBy(CheckSomeRank, MatHJStencilRestoreArray(A, 0, 0, 0, &array), "an array that is not in use", "MatHJStencilGetArray()");
  PetscCall(MatHJStencilGetArrayAndMemType(A, 0, 0, 0, &checked_out, NULL));
  ExpectErrorBy(CheckSomeRank, MatHJStencilGetArrayAndMemType(A, 0, 0, 0, &checked_out, NULL), "an array that is in use where it lies",
                "MatHJStencilRestoreArrayAndMemType()");
  ExpectErrorBy(CheckSomeRank, MatHJStencilGetArray(A, 1, 0, 0, &again), "an array beside one in use where it lies",
                "MatHJStencilRestoreArrayAndMemType()");
  ExpectErrorBy(CheckSomeRank, MatZeroEntries(A), "zeroed while an array is in use where it lies", "MatHJStencilRestoreArrayAndMemType()");
  PetscCall(MatHJStencilRestoreArrayAndMemType(A, 0, 0, 0, &checked_out));
  ExpectErrorBy(CheckSomeRank, MatHJStencilRestoreArrayAndMemType(A, 0, 0, 0, &checked_out), "an array that is not in use where it lies",
                "MatHJStencilGetArrayAndMemType()");
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  ExpectErrorBy(CheckSomeRank, BadSOR(A, SOR_LOCAL_FORWARD_SWEEP), "SOR with a zero diagonal", "Zero diagonal in row",
                "-pc_sor_diagonal_shift");
  PetscCall(MatShift(A, 2.0));
  ExpectErrorBy(CheckSomeRank, BadSOR(A, SOR_EISENSTAT | SOR_ZERO_INITIAL_GUESS), "Eisenstat's SOR", "-pc_type sor");
  if (size > 1) ExpectErrorBy(CheckSomeRank, BadSOR(A, SOR_FORWARD_SWEEP), "SOR across ranks", "-pc_sor_local_symmetric");
  if (size == 1) ExpectErrorBy(CheckSomeRank, FactorInPlace(A), "factors in place", "-pc_factor_in_place", "-dm_mat_type aij");
  ExpectErrorBy(CheckSomeRank, MatNorm(A, NORM_2, &norm), "the 2-norm", "NORM_FROBENIUS");
  if (size > 1) ExpectErrorBy(CheckSomeRank, MixedModes(A), "values inserted on one rank and added on others", "all must do the same");
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(TestShapes());
  PetscCall(TestRefusedGrids());
  PetscCall(TestUnfit());
  PetscCall(TestRefusedCalls());
  return HJTestEnd();
}

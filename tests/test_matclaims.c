/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   What MATHJSTENCIL knows of its values: where they lie, symmetry and claims of it, true and false, after sums, new values and overflow.
*/
#include "hjmatcase.h"

static PetscErrorCode LivesOnGPU(Mat A, PetscBool *gpu)
{
  PetscErrorCode (*get)(Mat, PetscMemType *);
  PetscMemType mtype;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, HJ_GET_MEMTYPE, &get));
  PetscCall((*get)(A, &mtype));
  *gpu = PetscMemTypeDevice(mtype) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix lives where its vectors do, unless it is bound to the CPU; bound and freed again it has the same values */
static PetscErrorCode TestPlace(void)
{
  Case      c = {2, {33, 21, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS};
  DM        da;
  Mat       A, B;
  PetscBool gpu = PETSC_FALSE, lives[3], good[3] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(ProblemOnGPU(&gpu));
  for (c.kind = ROW; c.kind <= ARRAYS; c.kind++) {
    PetscCall(CaseCreate(&c, &da, &A, &B));
    for (int i = 0; i < 3; i++) {
      if (i) PetscCall(MatBindToCPU(A, (PetscBool)(i == 1)));
      PetscCall(LivesOnGPU(A, &lives[i]));
      PetscCall(MatScale(A, -2.0));
      PetscCall(MatScale(B, -2.0));
      PetscCall(MatsAgree(A, B, &good[i]));
    }
    PetscCall(HJTestOK((PetscBool)(lives[0] == gpu && !lives[1] && lives[2] == gpu && good[0] && good[1] && good[2]),
                       "%s: a matrix lives where its vectors do, and moves with MatBindToCPU()", KindNames()[c.kind]));
    PetscCall(HJTestDestroy(&A, &B, &da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is known of symmetry serves transposed products, and is forgotten when rows are scaled; also on thin periodic grids */
static PetscErrorCode TestSymmetry(PetscInt ny)
{
  Case      c = {2, {14, ny, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS};
  DM        da;
  Mat       M[2], T;
  Vec       x, left, y[2];
  PetscReal diff;
  PetscBool symmetric = PETSC_FALSE, good[2] = {PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(CaseCreate(&c, &da, &M[0], &M[1]));
  PetscCall(ProblemVectors(da, &x, &left));
  PetscCall(ProblemVector(da, 1, x));
  PetscCall(ProblemVector(da, 2, left));
  for (int m = 0; m < 2; m++) {
    PetscCall(VecDuplicate(x, &y[m]));
    PetscCall(MatTranspose(M[m], MAT_INITIAL_MATRIX, &T));
    PetscCall(MatAXPY(M[m], 1.0, T, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatDestroy(&T));
  }
  PetscCall(MatIsSymmetric(M[0], 0.0, &symmetric));
  for (int scaled = 0; scaled < 2; scaled++) {
    for (int m = 0; m < 2; m++) {
      if (scaled) PetscCall(MatDiagonalScale(M[m], left, NULL));
      PetscCall(MatMultTranspose(M[m], x, y[m]));
    }
    PetscCall(VecsAgree(y[0], y[1], 64 * PETSC_MACHINE_EPSILON, &good[scaled], &diff));
  }
  PetscCall(
    HJTestOK((PetscBool)(symmetric && good[0] && good[1]), "transposed products of a symmetric matrix, and after its rows are scaled"));
  for (int m = 0; m < 2; m++) {
    PetscCall(VecDestroy(&y[m]));
    PetscCall(MatDestroy(&M[m]));
  }
  PetscCall(HJTestDestroy(&x, &left, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The AIJ copy follows a sum, and COO places do not outlive the shape that they are places of */
static PetscErrorCode TestAfterSum(void)
{
  Case        star = {2, {12, 10, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS}, box = star;
  DM          da[2];
  Mat         A[2], B[2], aij;
  PetscBool   equal, holds;
  PetscScalar one = 1.0;

  PetscFunctionBegin;
  box.box = PETSC_TRUE;
  PetscCall(CaseCreate(&star, &da[0], &A[0], &B[0]));
  PetscCall(CaseCreate(&box, &da[1], &A[1], &B[1]));
  PetscCall(MatConvert(A[0], MATDENSE, MAT_INITIAL_MATRIX, &aij));
  PetscCall(MatDestroy(&aij));
  PetscCall(MatAXPY(A[0], 1.0, A[0], SAME_NONZERO_PATTERN));
  PetscCall(MatScale(B[0], 2.0));
  PetscCall(MatConvert(A[0], MATDENSE, MAT_INITIAL_MATRIX, &aij)); /* through the copy */
  PetscCall(Check(aij, B[0], "AIJ copy", "after MatAXPY"));
  PetscCall(MatDestroy(&aij));
  PetscCall(MatDestroy(&A[0]));
  PetscCall(MatCreateHJStencil(da[0], &A[0]));
  PetscCall(FillByCOO(B[0], PETSC_FALSE, PETSC_FALSE, A[0]));
  PetscCall(MatInfoHolds(A[0], "storage:", &holds));
  PetscCall(HJTestOK(holds, "COO: the storage shows without assembly"));
  PetscCall(MatCopy(A[1], A[0], DIFFERENT_NONZERO_PATTERN));
  ExpectErrorBy(CheckSomeRank, MatSetValuesCOO(A[0], &one, INSERT_VALUES), "COO values after another shape", "MatSetPreallocationCOO()");
  PetscCall(MatEqual(A[0], A[1], &equal));
  PetscCall(HJTestOK(equal, "and nothing was written"));
  for (int i = 0; i < 2; i++) {
    PetscCall(HJTestDestroy(&A[i], &B[i], &da[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products, transposed ones and Galerkin's of a matrix beside those of AIJ with the same values, which takes no claim for true */
static PetscErrorCode ClaimedProducts(DM da, Mat A, PetscBool *right)
{
  DM        coarse;
  Mat       P, C, B, Pa, Ca;
  PetscBool equal[3];

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(DMCoarsen(da, PETSC_COMM_WORLD, &coarse));
  PetscCall(DMCreateInterpolation(coarse, da, &P, NULL));
  PetscCall(MatConvert(P, MATAIJ, MAT_INITIAL_MATRIX, &Pa));
  PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(MatPtAP(B, Pa, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &Ca));
  PetscCall(MatMultEqual(A, B, 3, &equal[0]));
  PetscCall(MatMultTransposeEqual(A, B, 3, &equal[1]));
  PetscCall(MatsAgree(C, Ca, &equal[2]));
  *right = (PetscBool)(equal[0] && equal[1] && equal[2]);
  PetscCall(HJTestDestroy(&Ca, &C, &Pa, &P, &B, &coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A matrix that is said to be symmetric and is not, as those are whose rows of boundary points are identities and whose columns were left,
   or which are scaled by rows: also with new values
*/
static PetscErrorCode TestFalseClaim(const Problem *p, MatOption claim, PetscBool eternal)
{
  DM        da;
  Mat       A;
  Vec       left;
  PetscBool right[3];

  PetscFunctionBegin;
  PetscCall(ProblemDM(p, &da));
  PetscCall(CaseSetVecType(da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(MatCreateVecs(A, &left, NULL));
  PetscCall(ProblemVector(da, 3, left));
  for (int fill = 0; fill < 3; fill++) {
    if (fill < 2) PetscCall(ProblemFill(p, da, fill, A));
    if (!fill || !eternal) PetscCall(MatSetOption(A, claim, PETSC_TRUE));
    if (!fill && eternal) PetscCall(MatSetOption(A, claim == MAT_SPD ? MAT_SPD_ETERNAL : MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
    if (fill == 2) PetscCall(MatDiagonalScale(A, left, NULL));
    PetscCall(ClaimedProducts(da, A, &right[fill]));
  }
  PetscCall(HJTestOK((PetscBool)(right[0] && right[1] && right[2]),
                     "%" PetscInt_FMT "D %s, boundary %d, falsely said to be %s%s: products are right, with new values, with scaled rows",
                     p->dim, p->box ? "box" : "star", (int)p->boundary, MatOptions[claim], eternal ? ", eternally" : ""));
  PetscCall(HJTestDestroy(&left, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of one row for all points */
static PetscErrorCode TestFalseRow(void)
{
  const MatStencil  off[] = {{0}, {.i = 1}, {.i = -1}, {.j = 1}, {.j = -1}};
  const PetscScalar v[]   = {4.0, -1.5, -0.5, -1.0, -1.0};
  const Problem     p     = {2, {17, 13, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM                da;
  Mat               A;
  PetscBool         right;

  PetscFunctionBegin;
  PetscCall(ProblemDM(&p, &da));
  PetscCall(CaseSetVecType(da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(MatHJStencilSetRow(A, 5, off, v));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(ClaimedProducts(da, A, &right));
  PetscCall(HJTestOK(right, "a row that is falsely said to be symmetric: products are right"));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestFalseClaims(void)
{
  const Problem p[] = {
    {1, {65, 1, 1}, IDENTITY, VARYING, PETSC_FALSE},      {2, {41, 33, 1}, IDENTITY, VARYING, PETSC_FALSE},
    {2, {37, 29, 1}, IDENTITY, CONSTANT, PETSC_FALSE},    {2, {33, 25, 1}, IDENTITY, VARYING, PETSC_TRUE},
    {3, {11, 13, 9}, IDENTITY, VARYING, PETSC_FALSE},     {3, {9, 11, 13}, IDENTITY, JUMP, PETSC_TRUE},
    {3, {13, 9, 11}, DIRICHLET, CONVECTION, PETSC_FALSE}, {2, {32, 24, 1}, PERIODIC, CONVECTION, PETSC_FALSE},
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(p); i++) {
    PetscCall(TestFalseClaim(&p[i], i % 2 ? MAT_SPD : MAT_SYMMETRIC, PETSC_FALSE));
    PetscCall(TestFalseClaim(&p[i], i % 2 ? MAT_SYMMETRIC : MAT_SPD, PETSC_TRUE));
  }
  PetscCall(TestFalseRow());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two rows added in place: no symmetry is left of what was known, and who reads the matrix sees that it changed. A copy's symmetry is
   forgotten with its first new values */
static PetscErrorCode TestSum(void)
{
  const MatStencil  off[] = {{.j = 1}, {.j = -1}, {0}};
  const PetscScalar v[] = {-1.0, -1.0, 4.0}, skew[] = {1.0, -1.0, 0.0};
  DM                da;
  Mat               A, B, X, block;
  PetscReal         norm[2];
  PetscBool         symmetric, equal, known;

  PetscFunctionBegin;
  PetscCall(NewDM(1, 1, DMDA_STENCIL_STAR, &da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(MatHJStencilSetRow(A, 3, off, v));
  PetscCall(MatCreateHJStencil(da, &X));
  PetscCall(MatHJStencilSetRow(X, 3, off, skew));
  PetscCall(MatIsSymmetric(A, 0.0, &symmetric));
  PetscCall(CaseMakeCopy(A));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatAXPY(B, 1.0, X, SAME_NONZERO_PATTERN));
  PetscCall(MatAXPY(A, 1.0, X, SAME_NONZERO_PATTERN));
  PetscCall(MatMultTransposeEqual(A, B, 3, &equal));
  PetscCall(HJTestOK((PetscBool)(symmetric && equal), "transposed products after a skew row was added to a symmetric one"));
  PetscCall(MatGetDiagonalBlock(A, &block));
  PetscCall(MatNorm(block, NORM_FROBENIUS, &norm[0]));
  PetscCall(MatGetDiagonalBlock(B, &block));
  PetscCall(MatNorm(block, NORM_FROBENIUS, &norm[1]));
  PetscCall(HJTestOK((PetscBool)(norm[0] == norm[1]), "the diagonal block follows a sum"));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatSetOption(B, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(SetOne(B, 0, 1, 7.0));
  PetscCall(MatIsSymmetricKnown(B, &known, &symmetric));
  PetscCall(HJTestOK((PetscBool)!known, "new values of a copy forget what was known of symmetry"));
  PetscCall(HJTestDestroy(&A, &B, &X, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that overflow where they lead inside only; squares that overflow */
static PetscErrorCode TestOverflow(void)
{
  const MatStencil   off[] = {{.i = 1}, {0}};
  const PetscScalar  v[]   = {HJ_BY_PRECISION(1e200, 1e30), 1.0};
  DM                 da;
  Mat                A;
  Vec                x, y;
  const PetscScalar *a;
  PetscInt           n, finite = 0;
  PetscReal          norm;

  PetscFunctionBegin;
  PetscCall(NewDM(1, 1, DMDA_STENCIL_STAR, &da));
  PetscCall(MatCreateHJStencil(da, &A));
  PetscCall(MatHJStencilSetRow(A, 2, off, v));
  PetscCall(MatNorm(A, NORM_FROBENIUS, &norm));
  norm = norm / HJ_BY_PRECISION(1e200, 1e30) - PetscSqrtReal(12 * 11);
  PetscCall(HJTestOK((PetscBool)(PetscAbsReal(norm) <= HJTestDigits(1e-13)), "a norm whose squares overflow"));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  PetscCall(MatScale(A, HJ_BY_PRECISION(1e200, 1e30)));
  PetscCall(PetscFPTrapPop());
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(A, x, y));
  PetscCall(VecGetLocalSize(y, &n));
  PetscCall(VecGetArrayRead(y, &a));
  for (PetscInt i = 0; i < n; i++) finite += !PetscIsInfOrNanScalar(a[i]);
  PetscCall(VecRestoreArrayRead(y, &a));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &finite, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(HJTestOK((PetscBool)(finite == 12), "what overflowed does not lead outside"));
  ExpectErrorBy(CheckSomeRank, MatResidual(A, y, x, x), "a residual in place of x", "different vectors");
  PetscCall(HJTestDestroy(&x, &y, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of x only the values in the rows that become zero are read */
static PetscErrorCode TestKnownValues(void)
{
  Case      c = {2, {12, 10, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS};
  DM        da;
  Mat       M[2];
  Vec       x, b[2];
  PetscInt  row;
  PetscReal diff;
  PetscBool good = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(CaseCreate(&c, &da, &M[0], &M[1]));
  PetscCall(MatGetOwnershipRange(M[0], &row, NULL));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  PetscCall(VecSet(x, NAN));
  PetscCall(VecSetValue(x, row, 2.0, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(x));
  PetscCall(VecAssemblyEnd(x));
  for (int m = 0; m < 2; m++) {
    PetscCall(VecDuplicate(x, &b[m]));
    PetscCall(ProblemVector(da, 2, b[m]));
    PetscCall(MatZeroRowsColumns(M[m], 1, &row, 3.0, x, b[m]));
  }
  PetscCall(PetscFPTrapPop());
  PetscCall(VecsAgree(b[0], b[1], 64 * PETSC_MACHINE_EPSILON, &good, &diff));
  PetscCall(HJTestOK(good, "MatZeroRowsColumns() with values that are known in these rows alone"));
  for (int m = 0; m < 2; m++) {
    PetscCall(VecDestroy(&b[m]));
    PetscCall(MatDestroy(&M[m]));
  }
  PetscCall(VecDestroy(&x));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices that are to be reused by MatConvert(): one that cannot be, one that is not yet set up, one whose array the user has */
static PetscErrorCode TestReused(void)
{
  Case          c[] = {{2, {12, 10, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS},
                       {2, {12, 11, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ROW}};
  DM            da[2];
  Mat           A[2], B[2], C;
  MatInfo       info;
  PetscInt      n;
  PetscScalar **array;
  Vec           d;
  PetscBool     failed;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) PetscCall(CaseCreate(&c[i], &da[i], &A[i], &B[i]));
  PetscCall(MatDuplicate(B[0], MAT_COPY_VALUES, &C));
  ExpectErrorBy(CheckSomeRank, MatConvert(B[0], MATHJSTENCIL, MAT_REUSE_MATRIX, &C), "an AIJ matrix is not reused", "with 120 rows",
                "MAT_INITIAL_MATRIX");
  PetscCall(MatDestroy(&C));
  ExpectErrorBy(CheckSomeRank, MatConvert(B[0], MATHJSTENCIL, MAT_REUSE_MATRIX, &A[1]), "a matrix of another size is not reused",
                "with 132 rows", "MAT_INITIAL_MATRIX");
  PetscCall(MatCreate(PETSC_COMM_WORLD, &C));
  PetscCall(MatGetLocalSize(B[0], &n, NULL));
  PetscCall(MatSetSizes(C, n, n, 120, 120));
  PetscCall(MatSetType(C, MATHJSTENCIL));
  CaptureError(MatGetInfo(C, MAT_LOCAL, &info), &failed); /* newer PETSc sets the matrix up for this */
  PetscCall(HJTestOK((PetscBool)(failed ? strstr(message, "MatSetDM()") != NULL : info.nz_used == 0),
                     "MatGetInfo() of a matrix that is not set up"));
  PetscCall(DMCreateGlobalVector(da[0], &d));
  ExpectErrorBy(CheckSomeRank, MatDiagonalSet(C, d, ADD_VALUES), "a diagonal before set-up", "MatSetUp()");
  PetscCall(VecDestroy(&d));
  PetscCall(MatSetDM(C, da[0]));
  PetscCall(MatConvert(B[0], MATHJSTENCIL, MAT_REUSE_MATRIX, &C));
  PetscCall(Check(C, B[0], "2D box", "MatConvert to a matrix that is not set up"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatHJStencilGetArray(A[0], 0, 0, 0, &array));
  ExpectErrorBy(CheckSomeRank, MatConvert(B[0], MATHJSTENCIL, MAT_REUSE_MATRIX, &A[0]), "converted while an array is in use",
                "MatHJStencilRestoreArray()");
  PetscCall(MatHJStencilRestoreArray(A[0], 0, 0, 0, &array));
  for (int i = 0; i < 2; i++) {
    PetscCall(HJTestDestroy(&A[i], &B[i], &da[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(TestPlace());
  PetscCall(TestSymmetry(12));
  PetscCall(TestSymmetry(2));
  PetscCall(TestFalseClaims());
  PetscCall(TestAfterSum());
  PetscCall(TestSum());
  PetscCall(TestOverflow());
  PetscCall(TestKnownValues());
  PetscCall(TestReused());
  return HJTestEnd();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* MATHJSTENCIL with several unknowns a point, against AIJ: filling, products, sums, rows, conversions; on random grids and boundaries.
   ranks: 1 2 3 4 */
#include "hjcolors.h"
#include "hjsystemcase.h"
#include "hjcapture.h"

/* Largest entry of A - B, as AIJ */
static PetscErrorCode Difference(Mat A, Mat B, PetscReal *largest)
{
  Mat a;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &a));
  PetscCall(MatAXPY(a, -1.0, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(a, NORM_INFINITY, largest));
  PetscCall(MatDestroy(&a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest difference of two vectors, by the largest number in the second */
static PetscErrorCode VecDifference(Vec x, Vec y, PetscReal *largest)
{
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(VecNorm(y, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(x, -1.0, y));
  PetscCall(VecNorm(x, NORM_INFINITY, largest));
  *largest /= norm > 0 ? norm : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Agree(Mat A, Mat B, const char *name, const char *what)
{
  PetscReal largest;

  PetscFunctionBegin;
  PetscCall(Difference(A, B, &largest));
  PetscCall(HJTestDetail("# largest difference %g", (double)largest));
  PetscCall(HJTestOK((PetscBool)(largest == 0), "%s: %s", name, what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef PetscErrorCode (*Product)(Mat, Vec, Vec, Vec);

static PetscErrorCode Mult(Mat A, Vec x, Vec b, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatMult(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultTranspose(Mat A, Vec x, Vec b, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatMultTranspose(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Residual(Mat A, Vec x, Vec b, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatResidual(A, b, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultAddInPlace(Mat A, Vec x, Vec b, Vec y)
{
  PetscFunctionBegin;
  PetscCall(VecCopy(b, y));
  PetscCall(MatMultAdd(A, x, y, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MultTransposeAddInPlace(Mat A, Vec x, Vec b, Vec y)
{
  PetscFunctionBegin;
  PetscCall(VecCopy(b, y));
  PetscCall(MatMultTransposeAdd(A, x, y, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Diagonal(Mat A, Vec x, Vec b, Vec y)
{
  PetscFunctionBegin;
  PetscCall(MatGetDiagonal(A, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProducts(const System *s, DM da, Mat A, Mat B, const char *name)
{
  const Product all[] = {Mult, MatMultAdd, MultTranspose, MatMultTransposeAdd, Residual, MultAddInPlace, MultTransposeAddInPlace, Diagonal};
  const char   *which[] = {"MatMult",
                           "MatMultAdd",
                           "MatMultTranspose",
                           "MatMultTransposeAdd",
                           "MatResidual",
                           "MatMultAdd in place",
                           "MatMultTransposeAdd in place",
                           "MatGetDiagonal"};
  PetscBool     good    = PETSC_TRUE;
  Vec           x, b, y, z;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(VecDuplicate(b, &z));
  PetscCall(SystemVector(da, s->dof, -1, 1, x));
  PetscCall(SystemVector(da, s->dof, -1, 2, b));
  for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(all); p++) {
    PetscReal largest;

    PetscCall((*all[p])(B, x, b, z));
    PetscCall((*all[p])(A, x, b, y));
    PetscCall(VecDifference(y, z, &largest));
    good = (PetscBool)(good && largest <= (all[p] == Diagonal ? 0 : 20 * PETSC_MACHINE_EPSILON));
    PetscCall(HJTestDetail("# %s: %g", which[p], (double)largest));
  }
  PetscCall(HJTestOK(good, "%s: products", name));
  PetscCall(HJTestDestroy(&x, &b, &y, &z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestNorms(Mat A, Mat B, const char *name)
{
  const NormType types[] = {NORM_1, NORM_INFINITY, NORM_FROBENIUS};
  PetscBool      good    = PETSC_TRUE;
  PetscInt       n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) {
    PetscReal a, b;

    PetscCall(MatNorm(A, types[t], &a));
    PetscCall(MatNorm(B, types[t], &b));
    PetscCall(HJTestDetail("# norm %d: %.17g %.17g", (int)types[t], (double)a, (double)b));
    good = (PetscBool)(good && PetscAbsReal(a - b) <=
                                 HJ_BY_PRECISION(n, 100 * n) * PETSC_MACHINE_EPSILON * b); /* sums of n rows; AIJ adds up entries */
  }
  PetscCall(HJTestOK(good, "%s: norms", name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each of these changes both matrices */
static PetscErrorCode TestChanges(const System *s, DM da, Mat A, Mat B, const char *name)
{
  Vec l, r;
  Mat C, D;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &r, &l));
  PetscCall(SystemVector(da, s->dof, -1, 3, l));
  PetscCall(SystemVector(da, s->dof, -1, 4, r));
  for (int m = 0; m < 2; m++) {
    Mat M = m ? B : A;

    PetscCall(MatDiagonalScale(M, l, NULL)); /* two at once are multiplied in another order */
    PetscCall(MatDiagonalScale(M, NULL, r));
    PetscCall(MatScale(M, 0.5));
    PetscCall(MatShift(M, 2.0));
    PetscCall(MatDiagonalSet(M, l, ADD_VALUES));
  }
  PetscCall(Agree(A, B, name, "MatDiagonalScale, MatScale, MatShift, MatDiagonalSet"));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(MatDuplicate(B, MAT_COPY_VALUES, &D));
  PetscCall(MatDiagonalSet(C, l, INSERT_VALUES));
  PetscCall(MatDiagonalSet(D, l, INSERT_VALUES));
  PetscCall(Agree(C, D, name, "MatDuplicate, MatDiagonalSet"));
  PetscCall(MatAXPY(C, 4.0, A, SAME_NONZERO_PATTERN));
  PetscCall(MatAXPY(D, 4.0, B, SAME_NONZERO_PATTERN));
  PetscCall(Agree(C, D, name, "MatAXPY"));
  PetscCall(MatZeroEntries(C));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAXPY(C, 2.0, A, SAME_NONZERO_PATTERN));
  PetscCall(MatCopy(B, D, SAME_NONZERO_PATTERN));
  PetscCall(MatScale(D, 2.0));
  PetscCall(Agree(C, D, name, "MatZeroEntries, MatAXPY to zeros"));
  PetscCall(MatCopy(A, C, SAME_NONZERO_PATTERN));
  PetscCall(Agree(C, B, name, "MatCopy"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatTranspose(B, MAT_INITIAL_MATRIX, &D));
  PetscCall(Agree(C, D, name, "MatTranspose"));
  PetscCall(HJTestDestroy(&C, &D, &l, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestConversions(DM da, Mat A, Mat B, const char *name)
{
  Mat       C, D;
  PetscInt  bs[2];
  PetscBool type;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATBAIJ, MAT_INITIAL_MATRIX, &C));
  PetscCall(MatConvert(C, MATAIJ, MAT_INITIAL_MATRIX, &D));
  PetscCall(Agree(A, D, name, "to BAIJ"));
  PetscCall(MatDestroy(&D));
  PetscCall(MatSetDM(C, da));
  PetscCall(MatConvert(C, MATHJSTENCIL, MAT_INITIAL_MATRIX, &D));
  PetscCall(Agree(D, B, name, "from BAIJ"));
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatConvert(B, MATHJSTENCIL, MAT_INITIAL_MATRIX, &C));
  PetscCall(PetscObjectTypeCompare((PetscObject)C, MATHJSTENCIL, &type));
  PetscCall(MatGetBlockSize(A, &bs[0]));
  PetscCall(MatGetBlockSize(B, &bs[1]));
  PetscCall(HJTestOK((PetscBool)(type && bs[0] == bs[1]), "%s: type and block size", name));
  PetscCall(Agree(C, B, name, "from AIJ"));
  PetscCall(MatConvert(A, MATHJSTENCIL, MAT_REUSE_MATRIX, &C));
  PetscCall(Agree(C, B, name, "from itself"));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some rows of other ranks too */
static PetscErrorCode TestZeroRows(const System *s, DM da, Mat A, Mat B, const char *name)
{
  PetscInt  N, rows[20], n = 0;
  PetscReal largest;
  PetscBool good = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &N, NULL));
  for (PetscInt r = 1; r < N && n < 20; r += 1 + N / 20) rows[n++] = r;
  for (int columns = 0; columns < 2; columns++) {
    Mat C[2];
    Vec x, b[2];

    PetscCall(MatCreateVecs(A, &x, &b[0]));
    PetscCall(VecDuplicate(b[0], &b[1]));
    PetscCall(SystemVector(da, s->dof, -1, 5, x));
    for (int m = 0; m < 2; m++) {
      PetscCall(SystemVector(da, s->dof, -1, 6, b[m]));
      PetscCall(MatDuplicate(m ? B : A, MAT_COPY_VALUES, &C[m]));
      if (columns) PetscCall(MatZeroRowsColumns(C[m], n, rows, 3.0, x, b[m]));
      else PetscCall(MatZeroRows(C[m], n, rows, 3.0, x, b[m]));
    }
    PetscCall(Agree(C[0], C[1], name, columns ? "MatZeroRowsColumns" : "MatZeroRows"));
    PetscCall(VecDifference(b[0], b[1], &largest));
    good = (PetscBool)(good && largest <= 20 * PETSC_MACHINE_EPSILON);
    for (int m = 0; m < 2; m++) {
      PetscCall(MatDestroy(&C[m]));
      PetscCall(VecDestroy(&b[m]));
    }
    PetscCall(VecDestroy(&x));
  }
  PetscCall(HJTestOK(good, "%s: what leaves the equations with them", name));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Colours that a MatColoring finds from the matrix, which AIJ gives with rows of the same columns as one: each row has one all the same */
static PetscErrorCode TestColors(Mat A, Mat B, MatColoringType type, const char *name)
{
  MatColoring coloring;
  ISColoring  is;
  Mat         C;
  PetscInt    rows, n;
  PetscReal   largest, norm;
  PetscBool   all;
  char        what[64];

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  PetscCall(MatColoringCreate(C, &coloring));
  PetscCall(MatColoringSetType(coloring, type));
  PetscCall(MatColoringApply(coloring, &is));
  PetscCall(ISColoringGetColors(is, &n, NULL, NULL));
  PetscCall(MatGetLocalSize(C, &rows, NULL));
  all = (PetscBool)(n == rows);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPIU_BOOL, MPI_LAND, PETSC_COMM_WORLD));
  PetscCall(PetscSNPrintf(what, sizeof(what), "colours of type %s, one for each row", type));
  PetscCall(HJTestOK(all, "%s: %s", name, what));
  if (all) {
    PetscCall(ColorsRecover(is, C, B));
    PetscCall(Difference(C, B, &largest));
    PetscCall(MatNorm(B, NORM_INFINITY, &norm));
    PetscCall(HJTestDetail("# largest difference %g of %g", (double)largest, (double)norm));
    PetscCall(HJTestOK((PetscBool)(largest <= 100 * PETSC_SQRT_MACHINE_EPSILON * norm), "%s: finite differences in them", name));
  }
  PetscCall(ISColoringDestroy(&is));
  PetscCall(MatColoringDestroy(&coloring));
  PetscCall(MatDestroy(&C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRandom(PetscInt which)
{
  const MatColoringType colorings[] = {MATCOLORINGSL, MATCOLORINGLF, MATCOLORINGID};

  System s;
  DM     da[2];
  Mat    A, B;
  char   name[256];

  PetscFunctionBegin;
  PetscCall(SystemRandomCase(which, &s));
  PetscCall(SystemName(&s, name, sizeof(name)));
  PetscCall(SystemCreate(&s, MATHJSTENCIL, &da[0], &A));
  PetscCall(SystemCreate(&s, MATAIJ, &da[1], &B));
  PetscCall(Agree(A, B, name, "MatSetValuesStencil"));
  PetscCall(TestProducts(&s, da[0], A, B, name));
  PetscCall(TestNorms(A, B, name));
  PetscCall(TestConversions(da[0], A, B, name));
  if (which % 4 == 0) PetscCall(TestColors(A, B, colorings[which / 4 % 3], name)); /* 1D, 2D and 3D in turn */
  PetscCall(TestZeroRows(&s, da[0], A, B, name));
  PetscCall(TestChanges(&s, da[0], A, B, name));
  PetscCall(HJTestDestroy(&A, &B, &da[0], &da[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Most points have one row, the others lie at the ends: a GPU reads these few rows, and does small grids in another way */
static PetscErrorCode TestLayers(void)
{
  const DMBoundaryType none = DM_BOUNDARY_NONE, periodic = DM_BOUNDARY_PERIODIC;
  const System         all[] = {{2, {40, 33, 1}, 2, {none, periodic, none}, PETSC_TRUE, SYSTEM_LAYERS, SYSTEM_FULL},
                                {2, {35, 34, 1}, 5, {none, none, none}, PETSC_FALSE, SYSTEM_LAYERS, SYSTEM_POINT},
                                {2, {251, 201, 1}, 2, {none, none, none}, PETSC_TRUE, SYSTEM_LAYERS, SYSTEM_FULL},
                                {2, {237, 215, 1}, 3, {none, periodic, none}, PETSC_FALSE, SYSTEM_LAYERS, SYSTEM_POINT},
                                {3, {20, 17, 16}, 3, {none, none, none}, PETSC_TRUE, SYSTEM_LAYERS, SYSTEM_FULL},
                                {3, {42, 36, 35}, 2, {none, none, none}, PETSC_FALSE, SYSTEM_LAYERS, SYSTEM_FULL},
                                {3, {38, 37, 37}, 2, {none, none, none}, PETSC_TRUE, SYSTEM_LAYERS, SYSTEM_FULL}};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(all); i++) {
    const System *s = &all[i];
    char          name[64];
    DM            da[2];
    Mat           A, B;

    PetscCall(PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT "D %s, %" PetscInt_FMT " unknowns, few rows", s->dim,
                            s->box ? "box" : "star", s->dof));
    PetscCall(SystemCreate(s, MATHJSTENCIL, &da[0], &A));
    PetscCall(SystemCreate(s, MATAIJ, &da[1], &B));
    PetscCall(TestProducts(s, da[0], A, B, name));
    PetscCall(MatScale(A, 3.0));
    PetscCall(MatScale(B, 3.0));
    PetscCall(TestProducts(s, da[0], A, B, name));
    PetscCall(HJTestDestroy(&A, &B, &da[0], &da[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A component that is coupled to no other: the numbers of one unknown a point, bit by bit */
static PetscErrorCode TestAlone(PetscInt dim, PetscBool box, SystemKind kind)
{
  System    s    = {.dim = dim, .n = {17, dim > 1 ? 9 : 1, dim > 2 ? 7 : 1}, .dof = 3, .box = box, .kind = kind, .coupling = SYSTEM_ALONE};
  PetscBool good = PETSC_TRUE, gpu;
  DM        da[2];
  Mat       A, B;
  Vec       x, y, u, v, part;

  PetscFunctionBegin;
  PetscCall(ProblemOnGPU(&gpu)); /* whose kernels sum one row of 27 points in another order */
  PetscCall(SystemCreate(&s, MATHJSTENCIL, &da[0], &A));
  PetscCall(ProblemVectors(da[0], &x, &y));
  PetscCall(SystemVector(da[0], s.dof, -1, 1, x));
  PetscCall(MatMult(A, x, y));
  PetscCall(SystemDM(&s, 1, MATHJSTENCIL, &da[1]));
  for (PetscInt c = 0; c < s.dof; c++) {
    PetscReal largest;

    PetscCall(DMCreateMatrix(da[1], &B));
    PetscCall(SystemFill(&s, da[1], c, B));
    PetscCall(ProblemVectors(da[1], &u, &v, &part));
    PetscCall(SystemVector(da[1], s.dof, c, 1, u));
    PetscCall(MatMult(B, u, v));
    PetscCall(VecStrideGather(y, c, part, INSERT_VALUES));
    PetscCall(VecDifference(part, v, &largest));
    good = (PetscBool)(good && largest <= (gpu && box && dim == 3 ? 20 * PETSC_MACHINE_EPSILON : 0));
    PetscCall(HJTestDetail("# component %d: %g", (int)c, (double)largest));
    PetscCall(HJTestDestroy(&u, &v, &part, &B));
  }
  PetscCall(HJTestOK(good, "%" PetscInt_FMT "D %s, kind %d: decoupled components have the products of one unknown a point", dim,
                     box ? "box" : "star", (int)kind));
  PetscCall(HJTestDestroy(&x, &y, &A, &da[0], &da[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  for (PetscInt which = 0; which < 36; which++) PetscCall(TestRandom(which));
  PetscCall(TestLayers());
  for (PetscInt dim = 1; dim <= 3; dim++) {
    for (int box = 0; box < (dim > 1 ? 2 : 1); box++) {
      PetscCall(TestAlone(dim, (PetscBool)box, SYSTEM_ARRAYS));
      PetscCall(TestAlone(dim, (PetscBool)box, SYSTEM_ROW));
    }
  }
  {
    const int code = HJTestDone();

    PetscCall(PetscFinalize());
    return code;
  }
}

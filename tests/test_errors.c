/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4, nan: 1 */
/*
   Bad input: each refusal is an error whose message names the cure; and what must not be an error.
*/
#include "hjproblem.h"
#include "hjcapture.h"

static PetscErrorCode NewPC(DM da, Mat A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  if (A) PetscCall(PCSetOperators(*pc, A, A));
  if (da) PetscCall(PCSetDM(*pc, da));
  PetscCall(PCSetType(*pc, PCHJACOBI));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the program's PETSc says of itself; a test lies here, in the place of the library's function of that name */
static PetscInt lie_minor = 0;
PetscErrorCode  PetscGetVersionNumber(PetscInt *major, PetscInt *minor, PetscInt *subminor, PetscInt *release)
{
  if (major) *major = PETSC_VERSION_MAJOR;
  if (minor) *minor = PETSC_VERSION_MINOR + lie_minor;
  if (subminor) *subminor = PETSC_VERSION_SUBMINOR;
  if (release) *release = PETSC_VERSION_RELEASE;
  return PETSC_SUCCESS;
}

/* Before the package is registered */
static PetscErrorCode TestOtherPETSc(void)
{
  PC        pc;
  PetscBool is;

  PetscFunctionBegin;
  lie_minor = 1;
  ExpectError(PCHJacobiInitializePackage(), "another PETSc than the library was built with", "was built with PETSc", "runs PETSc",
              "make PETSC_DIR=");
  lie_minor = 0;
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(NewPC(NULL, NULL, &pc));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc, PCHJACOBI, &is));
  PetscCall(HJTestOK(is, "the right one is taken after that"));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PC with the given options; errors of options come from here too */
static PetscErrorCode WithOptions(DM da, Mat A, const char *options)
{
  const char *const names[] = {"k",           "overlap",  "tile",    "schedule",      "weights",  "omega",
                               "eigenvalues", "operator", "backend", "device_memory", "reduction"};
  PC                pc;
  PetscErrorCode    code;

  PetscFunctionBegin;
  PetscCall(NewPC(da, A, &pc));
  PetscCall(PCSetOptionsPrefix(pc, "bad_"));
  PetscCall(PetscOptionsInsertString(NULL, options));
  code = PCSetFromOptions(pc);
  if (!code) code = PCSetUp(pc);
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(names); i++) {
    char name[64];

    PetscCall(PetscSNPrintf(name, sizeof(name), "-bad_pc_hjacobi_%s", names[i]));
    PetscCall(PetscOptionsClearValue(NULL, name));
  }
  PetscFunctionReturn(code);
}

static PetscErrorCode TestSetters(DM da, Mat A)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(NewPC(da, A, &pc));
  ExpectError(PCHJacobiSetK(pc, 0), "k = 0", "k = 0 must be at least 1");
  ExpectError(PCHJacobiSetK(pc, -3), "k = -3", "k = -3 must be at least 1");
  ExpectError(PCHJacobiSetK(pc, 1025), "k = 1025", "at most 1024");
  ExpectError(PCHJacobiSetOverlap(pc, 3), "odd overlap", "overlap = 3 must be even");
  ExpectError(PCHJacobiSetOverlap(pc, -4), "negative overlap", "overlap = -4 must not be negative", "PETSC_DECIDE");
  ExpectError(PCHJacobiSetTile(pc, 32, 0, 32), "tile 0", "tile = 0 in direction 1 must be at least 1");
  ExpectError(PCHJacobiSetOmega(pc, -0.5), "negative omega", "omega = -0.5 must be positive");
  ExpectError(PCHJacobiSetEigenvalues(pc, 0.5, 0.5), "emax <= emin", "emax = 0.5 must be larger than emin = 0.5");
  ExpectError(PCHJacobiSetEigenvalues(pc, 0.1, 0.5), "emax < emin", "emax = 0.1 must be larger");
  ExpectError(PCHJacobiSetEigenvalues(pc, 0.5, 0.1), "emax below the mean", "emax = 0.5 is too low", "D^-1 A", "mean 1");
  ExpectError(PCHJacobiSetSlabHeight(pc, 0), "slab_height = 0", "slab_height = 0 must be from 1");
  ExpectError(PCHJacobiSetCheckEvery(pc, 0), "check_every = 0", "check_every = 0 must be at least 1");
  ExpectError(PCHJacobiSetWeights(pc, 0, NULL), "no weights", "number of weights 0");
  ExpectError(PCHJacobiSetWeights(pc, 2, NULL), "weights without a list", "Null Pointer: Parameter # 3");
  ExpectError(PCHJacobiSetWeights(pc, 2, (const PetscReal[]){0.5, NAN}), "a weight that is no number", "weight 2 = ", "must be finite");
  ExpectError(PCHJacobiSetWeights(pc, 2, (const PetscReal[]){INFINITY, 0.5}), "an infinite weight", "weight 1 = ", "must be finite");
  ExpectError(PCHJacobiSetWeights(pc, 2, (const PetscReal[]){0, 0}), "weights of 0 alone", "all 2 weights are 0");
  ExpectError(PCHJacobiSetOmega(pc, INFINITY), "infinite omega", "omega = inf", "must be positive and finite");
  ExpectError(PCHJacobiSetOmega(pc, NAN), "omega that is no number", "omega = nan", "must be positive");
  ExpectError(PCHJacobiSetOmega(pc, HJ_BY_PRECISION(1e-300, 1e-30)), "omega that does nothing",
              HJ_BY_PRECISION("omega = 1e-300 is too small", "omega = 1e-30 is too small"), "converged");
  ExpectError(PCHJacobiSetWeights(pc, 2, (const PetscReal[]){0, HJ_BY_PRECISION(-1e-300, -1e-30)}), "weights next to 0",
              "all 2 weights are 0 or next to it");
  ExpectError(PCHJacobiSetEigenvalues(pc, HJ_BY_PRECISION(1e300, 1e30), PETSC_DECIDE), "emax of cycles that do nothing",
              HJ_BY_PRECISION("emax = 1e+300 is too high", "emax = 1e+30 is too high"), "leave emax");
  ExpectError(PCHJacobiSetEigenvalues(pc, PETSC_DECIDE, HJ_BY_PRECISION(1e-300, 1e-30)), "emin that is rounding",
              HJ_BY_PRECISION("emin = 1e-300 is too low", "emin = 1e-30 is too low"), "leave emin");
  ExpectError(PCHJacobiSetEigenvalues(pc, INFINITY, 0.1), "infinite emax", "emax = inf", "must be positive and finite");
  ExpectError(PCHJacobiSetEigenvalues(pc, 2.0, NAN), "emin that is no number", "emin = nan", "must be positive");
  ExpectError(PCHJacobiGetK(pc, NULL), "nowhere to put k", "Null Pointer: Parameter # 2");
  ExpectError(PCHJacobiGetOverlap(pc, NULL), "nowhere to put the overlap", "Null Pointer: Parameter # 2");
  ExpectError(PCHJacobiGetSchedule(pc, NULL), "nowhere to put the schedule", "Null Pointer: Parameter # 2");
  ExpectError(PCHJacobiGetOmega(pc, NULL), "nowhere to put omega", "Null Pointer: Parameter # 2");
  ExpectError(PCHJacobiGetBackend(pc, NULL), "nowhere to put the backend", "Null Pointer: Parameter # 2");
  ExpectError(PCHJacobiGetOperator(pc, NULL), "nowhere to put the operator", "Null Pointer: Parameter # 2");
  ExpectError(PCHJacobiGetExchange(pc, NULL), "nowhere to put the exchange", "Null Pointer: Parameter # 2");
  ExpectError(PCHJacobiGetExchangeTimeout(pc, NULL), "nowhere to put the timeout", "Null Pointer: Parameter # 2");
  ExpectError(PCHJacobiGetCheckEvery(pc, NULL), "nowhere to put check_every", "Null Pointer: Parameter # 2");
  ExpectError(PCHJacobiGetCheckNorm(pc, NULL), "nowhere to put check_norm", "Null Pointer: Parameter # 2");
  ExpectError(PCHJacobiGetSlabType(pc, NULL), "nowhere to put slab_type", "Null Pointer: Parameter # 2");
  ExpectError(PCHJacobiSetSchedule(pc, (PCHJacobiSchedule)77), "schedule out of range", "Unknown value 77");
  ExpectError(PCHJacobiSetBackend(pc, (PCHJacobiBackend)77), "backend out of range", "Unknown value 77");
  ExpectError(PCHJacobiSetSlabType(pc, (PCHJacobiSlabType)77), "slab type out of range", "Unknown value 77");
  PetscCall(PCSetType(pc, PCHJMG));
  ExpectError(PCHJMGSetCoarseSolve(pc, (PCHJMGCoarseSolve)77), "coarse solve out of range", "Unknown value 77");
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* More weights than a cycle may have subiterations: none is lost in silence */
static PetscErrorCode TestManyWeights(DM da, Mat A)
{
  char options[2200] = "-bad_pc_hjacobi_weights 1";

  PetscFunctionBegin;
  for (int i = 1; i < 1025; i++) PetscCall(PetscStrlcat(options, ",1", sizeof(options)));
  ExpectError(WithOptions(da, A, options), "1025 weights", "must be 1 to 1024");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOptions(DM da, Mat A)
{
  PetscFunctionBegin;
  ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_device_memory 2.5Q"), "bytes in no unit", "device_memory 2.5Q", "K, M, G or T");
  ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_device_memory -3"), "negative bytes", "device_memory -3", "number of bytes");
  ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_device_memory 1e17T"), "more bytes than there are numbers", "device_memory 1e17T");
  ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_k 0"), "option k 0", "k = 0 must be at least 1");
  ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_schedule opt_chebyshev4 -bad_pc_hjacobi_k 17"), "opt_chebyshev4, k = 17", "chebyshev4",
              "16");
  ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_overlap 8 -bad_pc_hjacobi_tile 8"), "overlap >= tile",
              "overlap = 8 must be smaller than the tile", "-pc_hjacobi_tile");
  ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_schedule gauss"), "unknown schedule", "gauss");
  ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_backend opencl"), "unknown backend", "opencl");
  ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_eigenvalues 2.0,0.1"), "emin above emax", "emax = 0.1 must be larger than emin = 2");
  ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_eigenvalues 2.0"), "one eigenvalue", "takes two numbers");
  ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_eigenvalues 0.1,2,3"), "three eigenvalues", "takes two numbers");
  ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_tile 8,8,8,8"), "four directions", "takes one to three numbers");
  ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_weights 1,1 -bad_pc_hjacobi_k 5"), "two weights, k = 5", "2 weights", "-pc_hjacobi_k 5");
  ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_weights 1,1 -bad_pc_hjacobi_schedule jacobi"), "weights and jacobi",
              "schedule jacobi has weights of its own", "custom");
  ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_weights 1,1 -bad_pc_hjacobi_reduction 0.1"), "weights and a reduction",
              "reduction needs -pc_hjacobi_schedule chebyshev, not custom");
  PetscCall(TestManyWeights(da, A));
  ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_schedule custom"), "custom without weights", "custom needs k = 4 weights and has 0");
  ExpectError(WithOptions(NULL, A, "-bad_pc_hjacobi_operator matrix -bad_pc_hjacobi_overlap 2"), "stale without tiles",
              "overlap needs tiles");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOperators(DM da, Mat A)
{
  PC          pc;
  Mat         R, W;
  PetscMPIInt size;
  PetscInt    n;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(NewPC(NULL, NULL, &pc));
  ExpectError(PCSetUp(pc), "no operators set", "atrix");
  PetscCall(PCDestroy(&pc));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, 12, 9, 1, NULL, 0, NULL, &R));
  PetscCall(MatAssemblyBegin(R, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(R, MAT_FINAL_ASSEMBLY));
  PetscCall(NewPC(NULL, R, &pc));
  ExpectError(PCSetUp(pc), "matrix not square", "square matrix", "12 x 9");
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&R));

  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, n, n, PETSC_DETERMINE, PETSC_DETERMINE, NULL, &R));
  ExpectError(WithOptions(NULL, R, ""), "a shell without a diagonal", "matrix of type shell does not give", "MatShellSetOperation()",
              "MATOP_GET_DIAGONAL", "KSPSetOperators()");
  PetscCall(MatDestroy(&R));
  PetscCall(MatCreateSBAIJ(PETSC_COMM_WORLD, 1, n, n, PETSC_DETERMINE, PETSC_DETERMINE, 1, NULL, 0, NULL, &R));
  PetscCall(MatAssemblyBegin(R, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(R, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetDM(R, da));
  ExpectError(MatConvert(R, MATHJSTENCIL, MAT_INITIAL_MATRIX, &W), "rows of the upper half alone are no stencil",
              "sbaij does not give its rows whole", "convert it to AIJ first");
  PetscCall(MatDestroy(&R));

  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &W));
  PetscCall(MatSetDM(W, NULL));
  ExpectError(WithOptions(NULL, W, "-bad_pc_hjacobi_operator stencil"), "stencil without a DM", "-pc_hjacobi_operator stencil", "no DM",
              "use auto or matrix");
  PetscCall(MatSetOption(W, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetOption(W, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetSize(W, &n, NULL));
  PetscCall(MatSetValue(W, 0, n - 1, -0.5, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(W, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(W, MAT_FINAL_ASSEMBLY));
  ExpectError(WithOptions(da, W, "-bad_pc_hjacobi_operator stencil"), "stencil with a column too far", "-pc_hjacobi_operator stencil",
              "row 0");
  PetscCall(MatDestroy(&W));
  if (size > 1)
    ExpectError(WithOptions(da, A, "-bad_pc_hjacobi_overlap 30 -bad_pc_hjacobi_tile 32"), "stale, ranks too thin",
                "needs ranks at least 16 points wide", "exact mode");
  PetscCall(NewPC(da, A, &pc));
  PetscCall(PCHJacobiSetOverlap(pc, 2));
  {
    Vec u, v;

    PetscCall(MatCreateVecs(A, &u, &v));
    ExpectError(PCApplyTranspose(pc, u, v), "transpose of a stale cycle", "transpose of a stale cycle", "exact mode");
    PetscCall(VecDestroy(&u));
    PetscCall(VecDestroy(&v));
  }
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestNaN(DM da, Mat A)
{
  KSP                ksp;
  PC                 pc;
  Vec                x, b;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(VecSetValue(b, 3, NAN, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscCall(ProblemKSP(da, A, KSPRICHARDSON, PCHJACOBI, &ksp, &pc));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(HJTestOK((PetscBool)(reason == KSP_DIVERGED_NANORINF), "NaN in b: the KSP diverges with its reason"));
  PetscCall(HJTestDestroy(&ksp, &x, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of that type with all entries bad, or (offset 0, 1) the last row's diagonal or the entry left of it: each rank refuses it */
static PetscErrorCode TestBadEntry(DM da, Mat A, MatType type, PetscScalar bad, PetscInt offset, const char *name)
{
  PetscInt N, start, end;
  Mat      B;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, type, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatGetSize(B, &N, NULL));
  PetscCall(MatGetOwnershipRange(B, &start, &end));
  if (offset < 0) { /* not by MatScale(): some BLAS makes 0 of NaN */
    Vec all;

    PetscCall(MatCreateVecs(B, &all, NULL));
    PetscCall(VecSet(all, bad));
    PetscCall(MatDiagonalScale(B, all, NULL));
    PetscCall(VecDestroy(&all));
  } else if (end == N) PetscCall(MatSetValue(B, N - 1, N - 1 - offset, bad, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  for (PetscInt matrix = 0; matrix < 2; matrix++) {
    char what[128];
    PC   pc;

    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s, %s = %g, %s operator", type, name,
                            offset < 0    ? "all entries"
                            : offset == 0 ? "a diagonal"
                                          : "an entry",
                            (double)bad, matrix ? "matrix" : "stencil"));
    PetscCall(NewPC(da, B, &pc));
    PetscCall(PCHJacobiSetOperator(pc, matrix ? PC_HJACOBI_OPERATOR_MATRIX : PC_HJACOBI_OPERATOR_STENCIL));
    PetscCall(PCSetErrorIfFailure(pc, PETSC_TRUE));
    ExpectError(PCSetUp(pc), what, "NaN or infinite", "bound");
    ExpectError(PCSetUp(pc), "so it does when it is asked again", "NaN or infinite", "bound");
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each storage of a stencil, and the matrix type */
static PetscErrorCode TestBadMatrix(Coefficient coefficient)
{
  const Problem p = {2, {30, 30, 1}, DIRICHLET, coefficient, PETSC_FALSE};
  DM            da;
  Mat           A;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, &da, &A));
  for (PetscInt offset = -1; offset < 2; offset++) {
    for (PetscInt bad = 0; bad < 2; bad++) {
      const PetscScalar value = bad ? -INFINITY : NAN;

      PetscCall(TestBadEntry(da, A, MATSAME, value, offset, CoefficientNames()[coefficient]));
      PetscCall(TestBadEntry(da, A, MATHJSTENCIL, value, offset, CoefficientNames()[coefficient]));
    }
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pointers of a stencil matrix that lead nowhere */
static PetscErrorCode TestFillings(DM da)
{
  const MatStencil  centre = {.i = 0};
  const PetscScalar four   = 4;
  Mat               A;

  PetscFunctionBegin;
  PetscCall(MatCreateHJStencil(da, &A));
  ExpectError(MatHJStencilGetArray(A, 0, 0, 0, NULL), "nowhere to put an array", "Null Pointer: Parameter # 5");
  ExpectError(MatHJStencilRestoreArray(A, 0, 0, 0, NULL), "no array to give back", "Null Pointer: Parameter # 5");
  ExpectError(MatHJStencilGetArrayAndMemType(A, 0, 0, 0, NULL, NULL), "nowhere to put a pointer", "Null Pointer: Parameter # 5");
  ExpectError(MatHJStencilRestoreArrayAndMemType(A, 0, 0, 0, NULL), "no pointer to give back", "Null Pointer: Parameter # 5");
  ExpectError(MatHJStencilSetRow(A, 1, NULL, &four), "a row without offsets", "Null Pointer: Parameter # 3");
  ExpectError(MatHJStencilSetRow(A, 1, &centre, NULL), "a row without values", "Null Pointer: Parameter # 4");
  ExpectError(MatHJStencilSetRow(A, -1, &centre, &four), "a row of -1 entries", "number of entries -1");
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setters on another type, with arguments that PCHJACOBI refuses, do nothing */
static PetscErrorCode TestIgnored(Mat A)
{
  PC        pc;
  Vec       b, x, d;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(ProblemPC(NULL, A, PCJACOBI, &pc));
  PetscCall(PCHJacobiSetK(pc, 7));
  PetscCall(PCHJacobiSetOverlap(pc, 3));
  PetscCall(PCHJacobiSetTile(pc, 0, 0, 0));
  PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_JACOBI));
  PetscCall(PCHJacobiSetWeights(pc, 0, NULL));
  PetscCall(PCHJacobiSetEigenvalues(pc, 1.0, 2.0));
  PetscCall(PCHJacobiSetBackend(pc, PC_HJACOBI_BACKEND_CUDA));
  PetscCall(PCSetUp(pc));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &d));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(PCApply(pc, b, x));
  PetscCall(MatGetDiagonal(A, d));
  PetscCall(VecReciprocal(d));
  PetscCall(VecPointwiseMult(d, d, b));
  PetscCall(VecEqual(x, d, &same));
  PetscCall(HJTestOK(same, "setters on another PC type are ignored: PCJACOBI divides by the diagonal"));
  PetscCall(HJTestDestroy(&b, &x, &d, &pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Problem p = {2, {30, 30, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM      da;
  Mat     A;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestOtherPETSc());
  PetscCall(ProblemBackend());
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(TestSetters(da, A));
  PetscCall(TestOptions(da, A));
  PetscCall(TestOperators(da, A));
  PetscCall(TestNaN(da, A));
  for (int c = CONSTANT; c <= CONVECTION; c++) PetscCall(TestBadMatrix((Coefficient)c));
  PetscCall(TestFillings(da));
  PetscCall(TestIgnored(A));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  return HJTestEnd();
}

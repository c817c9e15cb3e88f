/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 3 4 */
/*
   MATHJTRANSFER: it is the AIJ matrix that DMDA makes, entry by entry and as a product, for every shape, boundary and refinement; what it
   cannot be stays AIJ; multigrid with it takes the iterations of AIJ.
*/
#include "hjcase.h"
#include "hjcapture.h"

typedef struct {
  PetscInt  dim, n[3], factor[3]; /* coarse points */
  PetscBool periodic[3];
} Grids;

static PetscErrorCode GridsName(const Grids *g, char name[], size_t len)
{
  char part[64];

  PetscFunctionBegin;
  name[0] = 0;
  for (PetscInt d = 0; d < g->dim; d++) {
    PetscCall(PetscSNPrintf(part, sizeof(part), "%s%" PetscInt_FMT "%s by %" PetscInt_FMT, d ? ", " : "", g->n[d],
                            g->periodic[d] ? " periodic" : "", g->factor[d]));
    PetscCall(PetscStrlcat(name, part, len));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscInt FinePoints(const Grids *g, PetscInt d)
{
  return g->periodic[d] ? g->factor[d] * g->n[d] : g->factor[d] * (g->n[d] - 1) + 1;
}

static PetscErrorCode GridsDM(const Grids *g, PetscBool fine, PetscInt dof, DM *da)
{
  PetscInt       n[3];
  DMBoundaryType b[3];

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    n[d] = fine && d < g->dim ? FinePoints(g, d) : g->n[d];
    b[d] = g->periodic[d] ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  }
  PetscCall(DMDACreate(PETSC_COMM_WORLD, da));
  PetscCall(DMSetDimension(*da, g->dim));
  PetscCall(DMDASetSizes(*da, n[0], n[1], n[2]));
  PetscCall(DMDASetBoundaryType(*da, b[0], b[1], b[2]));
  PetscCall(DMDASetDof(*da, dof));
  PetscCall(DMDASetStencilWidth(*da, 1));
  PetscCall(DMDASetStencilType(*da, DMDA_STENCIL_BOX));
  PetscCall(DMDASetRefinementFactor(*da, g->factor[0], g->factor[1], g->factor[2]));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The two DMDAs, one made by PETSc from the other, whose matrices are stencil matrices */
static PetscErrorCode GridsCreate(const Grids *g, PetscBool coarsen, DM *coarse, DM *fine)
{
  DM *first = coarsen ? fine : coarse;
  Mat A;

  PetscFunctionBegin;
  PetscCall(GridsDM(g, coarsen, 1, first));
  PetscCall(DMSetMatType(*first, MATHJSTENCIL));
  PetscCall(DMCreateMatrix(*first, &A));
  PetscCall(MatDestroy(&A));
  if (coarsen) PetscCall(DMCoarsen(*fine, MPI_COMM_NULL, coarse));
  else PetscCall(DMRefine(*coarse, MPI_COMM_NULL, fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum { WITHOUT, OTHER, IN_PLACE } Addend;

static const struct {
  const char *name;
  PetscBool   transpose;
  Addend      addend;
} products[] = {
  {"MatInterpolate", PETSC_FALSE, WITHOUT},
  {"MatMultAdd", PETSC_FALSE, OTHER},
  {"MatInterpolateAdd in place", PETSC_FALSE, IN_PLACE},
  {"MatMultTranspose", PETSC_TRUE, WITHOUT},
  {"MatMultTransposeAdd", PETSC_TRUE, OTHER},
  {"MatMultTransposeAdd in place", PETSC_TRUE, IN_PLACE},
};

/* y = P x, or with P^T; b added from another vector or from y itself */
static PetscErrorCode RunProduct(size_t which, Mat P, Vec x, Vec b, Vec y)
{
  const PetscBool transpose = products[which].transpose;
  const Addend    addend    = products[which].addend;

  PetscFunctionBegin;
  if (addend == IN_PLACE) PetscCall(VecCopy(b, y));
  if (transpose && addend == WITHOUT) PetscCall(MatMultTranspose(P, x, y));
  else if (transpose) PetscCall(MatMultTransposeAdd(P, x, addend == OTHER ? b : y, y));
  else if (addend == WITHOUT) PetscCall(MatInterpolate(P, x, y));
  else if (addend == OTHER) PetscCall(MatMultAdd(P, x, b, y));
  else PetscCall(MatInterpolateAdd(P, x, y, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A sum of at most 27 products of numbers in [-1, 1] */
static PetscErrorCode ProductsAgree(DM coarse, DM fine, Mat P, Mat Q, PetscBool *all)
{
  PetscFunctionBegin;
  *all = PETSC_TRUE;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(products); i++) {
    DM        from = products[i].transpose ? fine : coarse, to = products[i].transpose ? coarse : fine;
    Vec       x, b, y[2];
    PetscReal diff;

    PetscCall(DMCreateGlobalVector(from, &x));
    PetscCall(ProblemVectors(to, &b, &y[0], &y[1]));
    PetscCall(ProblemVector(from, 1, x));
    PetscCall(ProblemVector(to, 2, b));
    PetscCall(RunProduct(i, P, x, b, y[0]));
    PetscCall(RunProduct(i, Q, x, b, y[1]));
    PetscCall(VecAXPY(y[0], -1.0, y[1]));
    PetscCall(VecNorm(y[0], NORM_INFINITY, &diff));
    if (!(diff <= 64 * PETSC_MACHINE_EPSILON)) {
      *all = PETSC_FALSE;
      PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr, "# %s is off by %g\n", products[i].name, (double)diff));
    }
    PetscCall(HJTestDestroy(&x, &b, &y[0], &y[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every weight is a power of one half: the entries are the same to the bit */
static PetscErrorCode EntriesAgree(Mat P, Mat Q, PetscBool *agree)
{
  Mat       D;
  PetscReal diff;
  MatInfo   info[2];

  PetscFunctionBegin;
  PetscCall(MatGetInfo(P, MAT_GLOBAL_SUM, &info[0]));
  PetscCall(MatConvert(P, MATAIJ, MAT_INITIAL_MATRIX, &D));
  PetscCall(MatGetInfo(D, MAT_GLOBAL_SUM, &info[1]));
  PetscCall(MatAXPY(D, -1.0, Q, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(D, NORM_INFINITY, &diff));
  *agree = (PetscBool)(diff == 0.0 && info[0].nz_used == info[1].nz_used);
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode VectorsEqual(Vec x, Vec y, PetscBool *equal)
{
  PetscReal diff;

  PetscFunctionBegin;
  PetscCall(VecAXPY(x, -1.0, y));
  PetscCall(VecNorm(x, NORM_INFINITY, &diff));
  *equal = (PetscBool)(diff <= 8 * PETSC_MACHINE_EPSILON);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether ranks are so thin that another rank's points two away may be needed */
static PetscErrorCode RanksAreThin(DM fine, PetscBool *thin)
{
  PetscInt        dim, nranks[3];
  const PetscInt *widths[3];

  PetscFunctionBegin;
  *thin = PETSC_FALSE;
  PetscCall(DMDAGetInfo(fine, &dim, NULL, NULL, NULL, &nranks[0], &nranks[1], &nranks[2], NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetOwnershipRanges(fine, &widths[0], &widths[1], &widths[2]));
  for (PetscInt d = 0; d < dim; d++) {
    for (PetscInt r = 0; r < nranks[d] && nranks[d] > 1; r++) *thin = (PetscBool)(*thin || widths[d][r] < 2);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestGrids(const Grids *g, PetscBool coarsen)
{
  DM        coarse, fine;
  Mat       P, Q, copy;
  Vec       scale[2];
  char      name[256];
  PetscBool ours, thin, entries = PETSC_FALSE, same[2] = {PETSC_FALSE, PETSC_FALSE}, scaled = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(GridsName(g, name, sizeof(name)));
  PetscCall(GridsCreate(g, coarsen, &coarse, &fine));
  PetscCall(RanksAreThin(fine, &thin));
  PetscCall(DMCreateInterpolation(coarse, fine, &P, &scale[0]));
  PetscCall(PetscObjectTypeCompare((PetscObject)P, MATHJTRANSFER, &ours));
  PetscCall(DMSetMatType(coarse, MATAIJ));
  PetscCall(DMCreateInterpolation(coarse, fine, &Q, &scale[1]));
  PetscCall(EntriesAgree(P, Q, &entries));
  PetscCall(ProductsAgree(coarse, fine, P, Q, &same[0]));
  PetscCall(MatDuplicate(P, MAT_COPY_VALUES, &copy));
  PetscCall(ProductsAgree(coarse, fine, copy, Q, &same[1]));
  PetscCall(VectorsEqual(scale[0], scale[1], &scaled));
  PetscCall(HJTestOK((PetscBool)((ours || thin) && entries && same[0] && same[1] && scaled), "%s, by %s: %s%s%s%s%s", name,
                     coarsen ? "DMCoarsen" : "DMRefine", ours ? "stored as nothing" : "AIJ", entries ? "" : ", wrong entries",
                     same[0] ? "" : ", wrong products", same[1] ? "" : ", a wrong copy", scaled ? "" : ", a wrong scale"));
  PetscCall(HJTestDestroy(&P, &Q, &copy, &scale[0], &scale[1], &coarse, &fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on all ranks */
static PetscErrorCode RandomGrids(PetscRandom random, PetscInt which, Grids *g)
{
  PetscMPIInt size;
  PetscReal   r[3];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  g->dim = 1 + which % 3;
  for (PetscInt d = 0; d < 3; d++) {
    for (PetscInt i = 0; i < 3; i++) PetscCall(PetscRandomGetValueReal(random, &r[i]));
    g->n[d]        = d < g->dim ? PetscMax(size, 2) + (PetscInt)(r[0] * (g->dim == 1 ? 700 : g->dim == 2 ? 40 : 8)) : 1;
    g->periodic[d] = (PetscBool)(d < g->dim && r[1] < 0.5);
    g->factor[d]   = d < g->dim && r[2] < 0.75 ? 2 : 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One coarse point: in directions without refinement, and of a periodic one, which PETSc's own interpolation refuses */
static PetscErrorCode TestOnePoint(void)
{
  const Grids g = {2, {1, 2, 1}, {2, 2, 2}, {PETSC_TRUE, PETSC_FALSE, PETSC_FALSE}};
  DM          coarse, fine;
  Mat         A, P;
  Vec         x, y;
  PetscScalar sum;
  PetscInt    n;
  PetscReal   largest;

  PetscFunctionBegin;
  PetscCall(GridsDM(&g, PETSC_FALSE, 1, &coarse));
  PetscCall(GridsDM(&g, PETSC_TRUE, 1, &fine));
  PetscCall(DMSetMatType(fine, MATHJSTENCIL));
  PetscCall(DMSetMatType(coarse, MATHJSTENCIL));
  PetscCall(DMCreateMatrix(coarse, &A));
  PetscCall(DMCreateInterpolation(coarse, fine, &P, NULL));
  PetscCall(MatCreateVecs(P, &x, &y));
  PetscCall(VecSet(x, 3.0));
  PetscCall(MatMult(P, x, y));
  PetscCall(VecGetSize(y, &n));
  PetscCall(VecShift(y, -3.0));
  PetscCall(VecNorm(y, NORM_INFINITY, &largest));
  PetscCall(VecSet(y, 1.0));
  PetscCall(MatMultTranspose(P, y, x));
  PetscCall(VecSum(x, &sum));
  PetscCall(HJTestOK((PetscBool)(largest == 0.0 && PetscRealPart(sum) == n), "one periodic coarse point: constants stay, sums too"));
  PetscCall(HJTestDestroy(&x, &y, &A, &P, &coarse, &fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What stays PETSc's own AIJ */
static PetscErrorCode TestOthers(void)
{
  const Grids grids[] = {{2, {9, 7, 1}, {3, 2, 1}, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}},
                         {2, {8, 8, 1}, {2, 2, 1}, {PETSC_TRUE, PETSC_TRUE, PETSC_FALSE}},
                         {2, {9, 9, 1}, {2, 2, 1}, {PETSC_TRUE, PETSC_FALSE, PETSC_FALSE}}};
  const char *what[]  = {"refinement by 3", "interpolation Q0", "matrices of type AIJ on the coarse grid"};

  PetscFunctionBegin;
  for (int i = 0; i < 3; i++) {
    DM        coarse, fine;
    Mat       P;
    PetscBool ours, aij;

    PetscCall(GridsCreate(&grids[i], PETSC_FALSE, &coarse, &fine));
    if (i == 1) PetscCall(DMDASetInterpolationType(coarse, DMDA_Q0));
    if (i == 2) PetscCall(DMSetMatType(coarse, MATAIJ));
    PetscCall(DMCreateInterpolation(coarse, fine, &P, NULL));
    PetscCall(PetscObjectTypeCompare((PetscObject)P, MATHJTRANSFER, &ours));
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)P, &aij, MATSEQAIJ, MATMPIAIJ, ""));
    PetscCall(HJTestOK((PetscBool)(!ours && aij), "%s: it stays AIJ", what[i]));
    PetscCall(HJTestDestroy(&P, &coarse, &fine));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with AIJ matrices, and again; a submatrix; a view */
static PetscErrorCode TestProducts(void)
{
  const Grids g = {2, {9, 8, 1}, {2, 2, 1}, {PETSC_FALSE, PETSC_TRUE, PETSC_FALSE}};
  DM          coarse, fine;
  Mat         A, P[2], C[2], B[2], S[2];
  IS          rows, columns;
  PetscReal   diff[3];
  PetscInt    range[4];
  PetscBool   holds = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(GridsCreate(&g, PETSC_TRUE, &coarse, &fine));
  PetscCall(DMCreateInterpolation(coarse, fine, &P[0], NULL));
  PetscCall(MatConvert(P[0], MATAIJ, MAT_INITIAL_MATRIX, &P[1]));
  PetscCall(DMSetMatType(fine, MATAIJ));
  PetscCall(DMCreateMatrix(fine, &A));
  PetscCall(MatShift(A, 2.0));
  PetscCall(MatGetOwnershipRange(P[0], &range[0], &range[1]));
  PetscCall(MatGetOwnershipRangeColumn(P[0], &range[2], &range[3]));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, (range[1] - range[0]) / 2, range[0], 2, &rows));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, range[3] - range[2], range[2], 1, &columns));
  for (int m = 0; m < 2; m++) {
    PetscCall(MatPtAP(A, P[m], MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C[m]));
    PetscCall(MatMatMult(A, P[m], MAT_INITIAL_MATRIX, PETSC_DEFAULT, &B[m]));
    PetscCall(MatCreateSubMatrix(P[m], rows, columns, MAT_INITIAL_MATRIX, &S[m]));
  }
  PetscCall(MatScale(A, 3.0));
  for (int m = 0; m < 2; m++) {
    PetscCall(MatPtAP(A, P[m], MAT_REUSE_MATRIX, PETSC_DEFAULT, &C[m]));
    PetscCall(MatMatMult(A, P[m], MAT_REUSE_MATRIX, PETSC_DEFAULT, &B[m]));
  }
  PetscCall(MatAXPY(C[0], -1.0, C[1], SAME_NONZERO_PATTERN));
  PetscCall(MatAXPY(B[0], -1.0, B[1], SAME_NONZERO_PATTERN));
  PetscCall(MatAXPY(S[0], -1.0, S[1], SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(C[0], NORM_INFINITY, &diff[0]));
  PetscCall(MatNorm(B[0], NORM_INFINITY, &diff[1]));
  PetscCall(MatNorm(S[0], NORM_INFINITY, &diff[2]));
  PetscCall(HJTestOK((PetscBool)(diff[0] == 0.0 && diff[1] == 0.0), "MatPtAP and MatMatMult of an AIJ matrix with it, twice"));
  PetscCall(HJTestOK((PetscBool)(diff[2] == 0.0), "MatCreateSubMatrix"));
  PetscCall(ObjectViewHolds((PetscObject)P[0], PETSC_VIEWER_ASCII_INFO, "fine grid 17x16", &holds));
  PetscCall(HJTestOK(holds, "MatView says the grids"));
  ExpectError(MatScale(P[0], 2.0), "MatScale", "no entries that could be changed", "MatConvert()");
  ExpectError(MatZeroEntries(P[0]), "MatZeroEntries", "no entries that could be changed", "MatConvert()");
  for (int m = 0; m < 2; m++) {
    PetscCall(HJTestDestroy(&P[m], &C[m], &B[m], &S[m]));
  }
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(HJTestDestroy(&A, &coarse, &fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillOperator(KSP ksp, Mat J, Mat P, void *ctx)
{
  Problem p = *(Problem *)ctx;
  DM      da;

  PetscFunctionBegin;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(DMDAGetInfo(da, NULL, &p.n[0], &p.n[1], &p.n[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(ProblemFill(&p, da, 0, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillRightHandSide(KSP ksp, Vec b, void *ctx)
{
  DM da;

  PetscFunctionBegin;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(ProblemVector(da, 1, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of CG with multigrid, and whether every level's interpolation is ours */
static PetscErrorCode Solve(Problem *p, const char *mattype, PetscBool galerkin, PetscInt *its, PetscBool *ours)
{
  KSP      ksp;
  PC       pc;
  DM       da;
  PetscInt levels;

  PetscFunctionBegin;
  PetscCall(ProblemDM(p, &da));
  PetscCall(DMSetMatType(da, mattype));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetComputeOperators(ksp, FillOperator, p));
  PetscCall(KSPSetComputeRHS(ksp, FillRightHandSide, NULL));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCMGSetLevels(pc, 3, NULL));
  PetscCall(PCMGSetGalerkin(pc, galerkin ? PC_MG_GALERKIN_BOTH : PC_MG_GALERKIN_NONE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, NULL, NULL));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(PCMGGetLevels(pc, &levels));
  *ours = PETSC_TRUE;
  for (PetscInt l = 1; l < levels; l++) {
    Mat       P;
    PetscBool same;

    PetscCall(PCMGGetInterpolation(pc, l, &P));
    PetscCall(PetscObjectTypeCompare((PetscObject)P, MATHJTRANSFER, &same));
    *ours = (PetscBool)(*ours && same);
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSolves(void)
{
  Problem p[] = {{2, {33, 17, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                 {3, {17, 17, 9}, DIRICHLET, VARYING, PETSC_FALSE},
                 {2, {33, 32, 1}, PERIODIC_LAST, CONSTANT, PETSC_TRUE}};

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, "-mg_levels_ksp_type richardson -mg_levels_pc_type hjacobi -mg_coarse_pc_type redundant"));
  for (int i = 0; i < 6; i++) {
    PetscInt  its[2];
    PetscBool ours[2] = {PETSC_TRUE, PETSC_FALSE};

    PetscCall(Solve(&p[i / 2], MATAIJ, (PetscBool)(i % 2), &its[0], &ours[0]));
    PetscCall(Solve(&p[i / 2], MATHJSTENCIL, (PetscBool)(i % 2), &its[1], &ours[1]));
    PetscCall(HJTestOK((PetscBool)(its[0] == its[1] && ours[1] && !ours[0]),
                       "multigrid %" PetscInt_FMT "D, %s operators: %" PetscInt_FMT " iterations, AIJ %" PetscInt_FMT "%s", p[i / 2].dim,
                       i % 2 ? "Galerkin" : "own", its[1], its[0], ours[1] ? "" : ", an interpolation is AIJ"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operations that have a halo */
typedef enum { MULT, RESIDUAL, RESTRICT, INTERPOLATE, NREPEATED } RepeatedWhat;
static const char *const repeated_names[] = {"MatMult", "MatResidual", "restriction", "interpolation and add"};

typedef struct {
  RepeatedWhat what;
  Mat          A, P;
  Vec          b; /* of the result's size */
} Repeated;

static PetscErrorCode Repeat(void *ctx, Vec x, Vec y)
{
  const Repeated *r = (const Repeated *)ctx;

  PetscFunctionBegin;
  if (r->what == MULT) PetscCall(MatMult(r->A, x, y));
  else if (r->what == RESIDUAL) PetscCall(MatResidual(r->A, r->b, x, y));
  else if (r->what == RESTRICT) PetscCall(MatMultTranspose(r->P, x, y));
  else {
    PetscCall(VecCopy(r->b, y));
    PetscCall(MatMultAdd(r->P, x, y, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRepeatedOne(const char *name, RepeatedWhat what, Mat A, Mat P, PetscRandom random)
{
  Repeated  r = {what, A, P, NULL};
  Vec       x[2], y;
  PetscBool same = PETSC_FALSE;

  PetscFunctionBegin;
  if (what == RESTRICT) PetscCall(MatCreateVecs(P, &y, &x[0]));
  else if (what == INTERPOLATE) PetscCall(MatCreateVecs(P, &x[0], &y));
  else PetscCall(MatCreateVecs(A, &x[0], &y));
  PetscCall(VecDuplicate(x[0], &x[1]));
  PetscCall(VecDuplicate(y, &r.b));
  PetscCall(VecSetRandom(r.b, random));
  for (int i = 0; i < 2; i++) PetscCall(VecSetRandom(x[i], random));
  PetscCall(ProblemTurns(Repeat, &r, x, y, &same));
  PetscCall(HJTestOK(same, "%s: %s of two vectors in turn, 200 times", name, repeated_names[what]));
  PetscCall(HJTestDestroy(&x[0], &x[1], &r.b, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRepeatedOn(const Grids *g, PetscBool strips, PetscBool arrays, PetscRandom random)
{
  const MatStencil  one[] = {{.i = 0}, {.i = 1}, {.j = -1}};
  const PetscScalar row[] = {4, -1, -2};
  char              name[64];
  DM                coarse, fine;
  Mat               A, P;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT "D%s, %s", g->dim, strips ? " strips" : "", arrays ? "arrays" : "one row"));
  PetscCall(ProblemStrips(g->dim, strips));
  PetscCall(GridsCreate(g, PETSC_FALSE, &coarse, &fine));
  PetscCall(ProblemStrips(g->dim, PETSC_FALSE));
  PetscCall(DMCreateMatrix(fine, &A));
  if (arrays) PetscCall(MatSetRandom(A, random));
  else PetscCall(MatHJStencilSetRow(A, 3, one, row));
  PetscCall(DMCreateInterpolation(coarse, fine, &P, NULL));
  for (int what = 0; what < NREPEATED; what++) PetscCall(TestRepeatedOne(name, (RepeatedWhat)what, A, P, random));
  PetscCall(HJTestDestroy(&A, &P, &coarse, &fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A GPU has 8 or 16 times as many points, which take it longer than a halo does */
static PetscErrorCode TestRepeated(PetscRandom random)
{
  PetscBool gpu = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(ProblemOnGPU(&gpu));
  for (int i = 0; i < 8; i++) {
    Grids g = {2, {97, 81, 1}, {2, 2, 1}, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}};

    if (i / 4) g = (Grids){3, {25, 21, 17}, {2, 2, 2}, {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}};
    for (PetscInt d = 0; d < g.dim && gpu; d++) g.n[d] = 4 * (g.n[d] - 1) / (g.dim - 1) + 1;
    PetscCall(TestRepeatedOn(&g, (PetscBool)(i / 2 % 2 == 0), (PetscBool)(i % 2), random));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscRandom random;
  PetscInt    n = 36;
  Grids       g;
  PetscMPIInt size;

  PetscCall(ProblemInitialize(&argc, &argv));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &n, NULL));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetSeed(random, 16));
  PetscCall(PetscRandomSeed(random));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(RandomGrids(random, i, &g));
    PetscCall(TestGrids(&g, (PetscBool)(i / 3 % 2)));
  }
  PetscCall(TestRepeated(random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size == 1) PetscCall(TestOnePoint());
  PetscCall(TestOthers());
  PetscCall(TestProducts());
  PetscCall(TestSolves());
  return HJTestEnd();
}

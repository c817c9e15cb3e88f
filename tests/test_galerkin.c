/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Galerkin products of MATHJSTENCIL and MATHJTRANSFER: P^T A P is AIJ's with PETSc's own interpolation, over dimensions, shapes,
   boundaries, refinements and storages; with new values; symmetric stays symmetric; whole PCMG solves take AIJ's iterations.
   ranks: 1 2 3 4
*/
#include "hjcase.h"
#include "hjcoefficients.h"
#include "operator/hjgalerkins.h"
#include "operator/hjtransfers.h"

/* A grid, and how it is refined */
typedef struct {
  Case     coarse;
  PetscInt factor[3];
} Product;

static PetscBool on_device; /* -backend cuda: vectors and matrices are there */

/* Coarse and fine DMDA, with stencil matrices */
static PetscErrorCode ProductDMs(const Product *p, DM *coarse, DM *fine, Case *c)
{
  PetscFunctionBegin;
  PetscCall(CaseDM(&p->coarse, coarse));
  if (on_device) PetscCall(DMSetVecType(*coarse, VECCUDA));
  PetscCall(DMSetMatType(*coarse, MATHJSTENCIL));
  PetscCall(DMDASetRefinementFactor(*coarse, p->factor[0], p->factor[1], p->factor[2]));
  PetscCall(DMRefine(*coarse, PETSC_COMM_WORLD, fine));
  PetscCall(DMSetMatType(*fine, MATHJSTENCIL));
  *c = p->coarse;
  PetscCall(DMDAGetInfo(*fine, NULL, &c->n[0], &c->n[1], &c->n[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc interpolates from no grid of one point in a direction */
static PetscBool PETScInterpolates(const Case *coarse)
{
  for (PetscInt d = 0; d < coarse->dim; d++)
    if (coarse->n[d] < 2) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* Interpolation and matrix of one type: MATHJSTENCIL or MATAIJ; P NULL: no interpolation */
static PetscErrorCode ProductMats(DM coarse, DM fine, MatType type, const Case *c, Mat *A, Mat *P)
{
  PetscFunctionBegin;
  PetscCall(DMSetMatType(coarse, type));
  PetscCall(DMSetMatType(fine, type));
  PetscCall(DMCreateMatrix(fine, A));
  PetscCall(CaseFill(c, fine, 0, *A));
  if (P) PetscCall(DMCreateInterpolation(coarse, fine, P, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProductName(const Product *p, char name[], size_t len)
{
  char grid[256];

  PetscFunctionBegin;
  PetscCall(CaseName(&p->coarse, grid, sizeof(grid)));
  PetscCall(PetscSNPrintf(name, len, "coarse %s, refined by %d,%d,%d", grid, (int)p->factor[0], (int)p->factor[1], (int)p->factor[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The product, new values with it, and what it is */
static PetscErrorCode TestProduct(const Product *p)
{
  DM        coarse, fine, da;
  Mat       A, P, C, B, Q, D, H;
  Case      c;
  char      name[320];
  PetscBool ours = PETSC_FALSE, good = PETSC_FALSE, again = PETSC_FALSE, back = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(ProductName(p, name, sizeof(name)));
  PetscCall(ProductDMs(p, &coarse, &fine, &c));
  PetscCall(MatCreateHJStencil(coarse, &H)); /* DMCreateInterpolation() is ours from now on */
  PetscCall(ProductMats(coarse, fine, MATHJSTENCIL, &c, &A, &P));
  PetscCall(ProductMats(coarse, fine, MATAIJ, &c, &B, PETScInterpolates(&p->coarse) ? &Q : NULL));
  if (!PETScInterpolates(&p->coarse)) PetscCall(MatConvert(P, MATAIJ, MAT_INITIAL_MATRIX, &Q));
  PetscCall(PetscObjectTypeCompare((PetscObject)P, MATHJTRANSFER, &ours));
  PetscCall(MatPtAP(B, Q, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(MatsAgree(C, D, &good));
  for (PetscInt salt = 1; salt >= 0; salt--) { /* other values, and the first ones again */
    PetscCall(MatZeroEntries(A));
    PetscCall(MatZeroEntries(B));
    PetscCall(CaseFill(&c, fine, salt, A));
    PetscCall(CaseFill(&c, fine, salt, B));
    PetscCall(MatPtAP(A, P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
    PetscCall(MatPtAP(B, Q, MAT_REUSE_MATRIX, PETSC_DEFAULT, &D));
    PetscCall(MatsAgree(C, D, salt ? &again : &back));
  }
  PetscCall(HJTestOK((PetscBool)(good && again && back), "%s: P^T A P is AIJ's%s%s%s", name, good ? "" : ", at first it is not",
                     again ? "" : ", with new values it is not", back ? "" : ", with the old values it is not"));
  if (ours) {
    PetscCall(PetscObjectTypeCompare((PetscObject)C, MATHJSTENCIL, &ours));
    PetscCall(MatGetDM(C, &da));
    PetscCall(HJTestOK((PetscBool)(ours && da == coarse), "%s: it is a stencil matrix on the coarse grid", name));
  }
  PetscCall(HJTestDestroy(&A, &B, &C, &D, &H, &P, &Q, &fine, &coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coarse arrays on the host of a backend's product with coefficients on the host */
static PetscErrorCode RunBackend(const HJBackendOps *ops, HJGalerkins *op, const HJCoefficients *a, PetscScalar *coarse)
{
  const PetscCount n = HJShapeSlots(a->dim, HJ_BOX) * HJBoxSize(&op->transfer.coarse.owned);
  HJCoefficients   here;
  PetscScalar     *y, *ghost = NULL;
  HJGalerkin       g = {.t = &op->transfer, .shell = &op->shell, .fine = &here};

  PetscFunctionBegin;
  PetscCall(HJGalerkinsGetGhosts(op, &HJArraysHost, a, &g.ghost));
  if (g.ghost) PetscCall(ToBackend(ops, g.ghost, a->nslots * op->shell.size * sizeof(PetscScalar), &ghost));
  PetscCall(CoefficientsUpload(ops, a, &here));
  PetscCall(ops->alloc(NULL, n, &y));
  g.ghost  = ghost;
  g.coarse = y;
  PetscCall(ops->multigrid->galerkin(&g));
  PetscCall(ops->copy(NULL, coarse, y, n));
  PetscCall(ops->free(NULL, &y));
  PetscCall(ops->free(NULL, &ghost));
  PetscCall(CoefficientsFree(ops, &here));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coefficients as arrays */
static PetscErrorCode AsArrays(const HJGalerkins *op, const HJCoefficients *a, HJCoefficients *arrays)
{
  PetscFunctionBegin;
  *arrays         = *a;
  arrays->storage = HJ_COEFFICIENTS_ARRAYS;
  arrays->rows    = NULL;
  arrays->index   = NULL;
  PetscCall(PetscMalloc1(a->nslots * a->npoints, &arrays->value));
  for (PetscInt s = 0; s < a->nslots; s++) {
    const HJBox keep = HJCoefficientsInside(a, s, &op->transfer.fine);

    PetscCall(HJArraysHost.slot(a, s, op->transfer.fine.owned.hi, &keep, arrays->value + s * a->npoints));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The backend's arrays, from the storage that the matrix has and from arrays, are the host's from that storage */
static PetscErrorCode TestBackend(const Product *p)
{
  const HJBackendOps   *ops = &HJBackendHost;
  const HJCoefficients *a;
  HJCoefficients        arrays;
  HJGetCoefficients     get;
  HJTransfer            t;
  HJGalerkins          *op;
  PetscScalar          *y[3];
  PetscReal             worst = 0.0, size = 0.0;
  PetscCount            n;
  DM                    coarse, fine;
  Mat                   A;
  Case                  c;
  char                  name[320], reason[256];

  PetscFunctionBegin;
#if defined(HJACOBI_HAVE_CUDA)
  if (on_device) ops = &HJBackendCUDA;
#endif
  PetscCall(ProductName(p, name, sizeof(name)));
  PetscCall(ProductDMs(p, &coarse, &fine, &c));
  PetscCall(HJTransferSet(coarse, fine, NULL, &t, reason, sizeof(reason)));
  if (!reason[0]) {
    PetscCall(ProductMats(coarse, fine, MATHJSTENCIL, &c, &A, NULL));
    PetscCall(PetscObjectQueryFunction((PetscObject)A, HJ_GET_COEFFICIENTS, &get));
    PetscCall((*get)(A, PETSC_MEMTYPE_HOST, &a));
    PetscCall(HJGalerkinsCreate(fine, &t, (HJExchange){&HJHaloPetscSF, 0}, &op));
    PetscCall(AsArrays(op, a, &arrays));
    n = HJShapeSlots(a->dim, HJ_BOX) * HJBoxSize(&t.coarse.owned);
    PetscCall(PetscMalloc3(n, &y[0], n, &y[1], n, &y[2]));
    PetscCall(RunBackend(&HJBackendHost, op, a, y[0]));
    PetscCall(RunBackend(ops, op, a, y[1]));
    PetscCall(RunBackend(ops, op, &arrays, y[2]));
    for (PetscCount i = 0; i < n; i++) {
      size  = PetscMax(size, PetscAbsScalar(y[0][i]));
      worst = PetscMax(worst, PetscMax(PetscAbsScalar(y[0][i] - y[1][i]), PetscAbsScalar(y[0][i] - y[2][i])));
    }
    PetscCall(HJTestOK((PetscBool)(worst <= 32 * PETSC_MACHINE_EPSILON * size), "%s: %s's arrays are the host's, from any storage (%g)",
                       name, ops->name, (double)(worst / size)));
    PetscCall(PetscFree3(y[0], y[1], y[2]));
    PetscCall(PetscFree(arrays.value));
    PetscCall(HJGalerkinsDestroy(&op));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(DMDestroy(&fine));
  PetscCall(DMDestroy(&coarse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRandomProducts(PetscInt n)
{
  PetscRandom random;
  Product     p;
  PetscReal   r;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetSeed(random, 12));
  PetscCall(PetscRandomSeed(random));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(RandomCase(random, i, &p.coarse));
    for (PetscInt d = 0; d < 3; d++) {
      PetscCall(PetscRandomGetValueReal(random, &r));
      p.factor[d] = d < p.coarse.dim && r < 0.75 ? 2 : 1;
      if (d < p.coarse.dim) p.coarse.n[d] = PetscMax(p.coarse.n[d], 2);
      if (p.coarse.boundary[d] == DM_BOUNDARY_MIRROR) p.coarse.boundary[d] = DM_BOUNDARY_NONE; /* DMDA does not refine it as a grid */
    }
    PetscCall(TestProduct(&p));
    PetscCall(TestBackend(&p));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids of few points, periodic or not */
static PetscErrorCode TestThinProducts(void)
{
  const DMBoundaryType N = DM_BOUNDARY_NONE, P = DM_BOUNDARY_PERIODIC;
  const Product        products[] = {
           {{1, {1, 1, 1}, {P, N, N}, PETSC_FALSE, ARRAYS}, {2, 1, 1}},
           {{1, {2, 1, 1}, {P, N, N}, PETSC_FALSE, ROW}, {2, 1, 1}},
           {{1, {2, 1, 1}, {N, N, N}, PETSC_FALSE, ARRAYS}, {2, 1, 1}},
           {{1, {1, 1, 1}, {N, N, N}, PETSC_FALSE, ARRAYS}, {1, 1, 1}},
           {{2, {1, 1, 1}, {P, P, N}, PETSC_TRUE, ARRAYS}, {2, 2, 1}},
           {{2, {2, 1, 1}, {P, P, N}, PETSC_TRUE, ROW}, {2, 2, 1}},
           {{2, {2, 2, 1}, {P, P, N}, PETSC_TRUE, ARRAYS}, {2, 1, 1}},
           {{2, {2, 9, 1}, {P, N, N}, PETSC_FALSE, ROW}, {1, 2, 1}},
           {{2, {40, 2, 1}, {N, P, N}, PETSC_TRUE, DICTIONARY}, {2, 2, 1}},
           {{3, {2, 2, 2}, {P, P, P}, PETSC_TRUE, ARRAYS}, {2, 2, 2}},
           {{3, {1, 2, 5}, {P, P, N}, PETSC_TRUE, ARRAYS}, {2, 2, 2}},
           {{3, {7, 1, 2}, {N, P, P}, PETSC_FALSE, ROW}, {2, 2, 2}},
           {{3, {12, 6, 7}, {N, N, N}, PETSC_TRUE, ARRAYS}, {1, 1, 1}},
           {{3, {70, 2, 2}, {N, N, N}, PETSC_FALSE, ARRAYS}, {2, 2, 2}},
           {{2, {150, 9, 1}, {N, N, N}, PETSC_FALSE, ROW}, {2, 2, 1}},
           {{3, {20, 14, 11}, {N, P, N}, PETSC_FALSE, DICTIONARY}, {2, 2, 2}}, /* coarse rows are too many for a dictionary */
           {{2, {300, 12, 1}, {N, N, N}, PETSC_FALSE, ARRAYS}, {1, 2, 1}},
  };
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(products); i++) {
    const PetscInt *n = products[i].coarse.n;

    if (n[0] * n[1] * n[2] < 8 * size && size > 1) continue;
    PetscCall(TestProduct(&products[i]));
    PetscCall(TestBackend(&products[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One row for all points makes few coarse rows, over levels; periodic in all directions one */
static PetscErrorCode TestStorage(DMBoundaryType boundary, const char *storage)
{
  DM        coarse, fine, middle;
  Mat       A, C[2], P;
  Product   p = {{2, {17, 17, 1}, {boundary, boundary, DM_BOUNDARY_NONE}, PETSC_FALSE, ROW}, {2, 2, 1}};
  Case      c;
  PetscBool holds[2] = {PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBegin;
  if (boundary == DM_BOUNDARY_PERIODIC) p.coarse.n[0] = p.coarse.n[1] = 16;
  PetscCall(ProductDMs(&p, &coarse, &middle, &c));
  PetscCall(DMRefine(middle, PETSC_COMM_WORLD, &fine));
  PetscCall(DMDAGetInfo(fine, NULL, &c.n[0], &c.n[1], &c.n[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  for (int l = 0; l < 2; l++) { /* refining hands on what a stencil matrix on the coarse grid sets */
    DM da = l ? coarse : middle;

    PetscCall(MatCreateHJStencil(da, &A));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(MatCreateHJStencil(fine, &A));
  PetscCall(CaseFill(&c, fine, 0, A));
  for (int l = 0; l < 2; l++) {
    PetscCall(DMCreateInterpolation(l ? coarse : middle, l ? middle : fine, &P, NULL));
    PetscCall(MatPtAP(l ? C[0] : A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C[l]));
    PetscCall(MatInfoHolds(C[l], storage, &holds[l]));
    PetscCall(MatDestroy(&P));
  }
  PetscCall(HJTestOK((PetscBool)(holds[0] && holds[1]), "two levels below one row for all points, %s: %s",
                     boundary == DM_BOUNDARY_PERIODIC ? "periodic" : "not periodic", storage));
  PetscCall(HJTestDestroy(&A, &C[0], &C[1], &coarse, &middle, &fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1 or the root of the jump, by regions of the grid */
static PetscScalar RootOfJump(PetscScalar number, PetscReal jump)
{
  return PetscRealPart(number) > 0.2 ? PetscSqrtReal(jump) : 1.0;
}

static PetscErrorCode ProblemMat(const Problem *p, MatType type, PetscReal jump, DM *da, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(ProblemDM(p, da));
  PetscCall(DMSetMatType(*da, type));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(ProblemFill(p, *da, 0, *A));
  if (jump != 1.0) PetscCall(ProblemScale(*da, 3, RootOfJump, jump, PETSC_TRUE, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of very different sizes: the product is AIJ's row by row, and symmetric */
static PetscErrorCode TestSymmetric(const Problem *p, PetscReal jump)
{
  DM        fine, coarse, da;
  Mat       A, P, C, B, Q, D;
  PetscReal worst = 0.0;
  PetscInt  start, end;
  PetscBool symmetric;
  MatType   types[] = {MATHJSTENCIL, MATAIJ};

  PetscFunctionBegin;
  PetscCall(ProblemMat(p, types[0], jump, &fine, &A));
  PetscCall(DMCoarsen(fine, PETSC_COMM_WORLD, &coarse));
  PetscCall(DMCreateInterpolation(coarse, fine, &P, NULL));
  PetscCall(MatPtAP(A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(MatDestroy(&P));
  PetscCall(DMDestroy(&coarse));
  PetscCall(ProblemMat(p, types[1], jump, &da, &B));
  PetscCall(DMCoarsen(da, PETSC_COMM_WORLD, &coarse));
  PetscCall(DMCreateInterpolation(coarse, da, &Q, NULL));
  PetscCall(MatPtAP(B, Q, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  PetscCall(MatGetOwnershipRange(D, &start, &end));
  for (PetscInt r = start; r < end; r++) {
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           n;
    PetscReal          size = 0.0;

    PetscCall(MatGetRow(D, r, &n, &columns, &values));
    for (PetscInt e = 0; e < n; e++) size = PetscMax(size, PetscAbsScalar(values[e]));
    for (PetscInt e = 0; e < n; e++) {
      PetscScalar v;

      PetscCall(MatGetValues(C, 1, &r, 1, &columns[e], &v));
      worst = PetscMax(worst, PetscAbsScalar(v - values[e]) / size);
    }
    PetscCall(MatRestoreRow(D, r, &n, &columns, &values));
  }
  PetscCall(MatConvert(C, MATAIJ, MAT_INPLACE_MATRIX, &C));
  PetscCall(MatIsSymmetric(C, 64 * PETSC_MACHINE_EPSILON * 100 * jump, &symmetric));
  PetscCall(HJTestOK((PetscBool)(worst <= 64 * PETSC_MACHINE_EPSILON), "%dD, %s, entries that jump by %g: rows are AIJ's", (int)p->dim,
                     p->box ? "box" : "star", (double)jump));
  if (p->boundary != IDENTITY && p->coefficient != CONVECTION)
    PetscCall(HJTestOK(symmetric, "%dD, %s, entries that jump by %g: symmetric", (int)p->dim, p->box ? "box" : "star", (double)jump));
  PetscCall(HJTestDestroy(&A, &B, &C, &D, &Q, &coarse, &fine, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations, and those with new values; whether the level below the finest has a stencil matrix */
static PetscErrorCode Solve(const Problem *p, MatType type, PetscReal jump, PetscInt its[2], PetscBool *stencil)
{
  DM  da;
  Mat A, below;
  KSP ksp, level;
  PC  pc;
  Vec x, b;

  PetscFunctionBegin;
  PetscCall(ProblemMat(p, type, jump, &da, &A));
  PetscCall(ProblemVectors(da, &x, &b));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetDM(pc, da));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  for (int s = 0; s < 2; s++) {
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[s]));
    PetscCall(MatZeroEntries(A));
    PetscCall(ProblemFill(p, da, 5, A));
  }
  PetscCall(PCMGGetSmoother(pc, 1, &level));
  PetscCall(KSPGetOperators(level, &below, NULL));
  PetscCall(PetscObjectTypeCompare((PetscObject)below, MATHJSTENCIL, stencil));
  PetscCall(HJTestDestroy(&ksp, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSolve(const Problem *p, const char *smoother, const char *galerkin, PetscReal jump)
{
  PetscInt  its[2][2];
  PetscBool stencil = PETSC_FALSE, unused;

  PetscFunctionBegin;
  PetscCall(PetscOptionsSetValue(NULL, "-mg_levels_pc_type", smoother));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_mg_galerkin", galerkin));
  PetscCall(Solve(p, MATHJSTENCIL, jump, its[0], &stencil));
  PetscCall(Solve(p, MATAIJ, jump, its[1], &unused));
  PetscCall(HJTestOK((PetscBool)(stencil && its[0][0] == its[1][0] && its[0][1] == its[1][1]),
                     "GMRES, PCMG with -pc_mg_galerkin %s and %s, %dD %s, %s, %s, jump %g: %d and %d iterations, those of AIJ %d and %d%s",
                     galerkin, smoother, (int)p->dim, p->box ? "box" : "star", BoundaryNames()[p->boundary],
                     CoefficientNames()[p->coefficient], (double)jump, (int)its[0][0], (int)its[0][1], (int)its[1][0], (int)its[1][1],
                     stencil ? "" : ", no stencil matrix below"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSolves(void)
{
  const Problem problems[] = {
    {2, {33, 25, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},  {2, {33, 33, 1}, IDENTITY, JUMP, PETSC_FALSE},
    {2, {29, 33, 1}, DIRICHLET, CONVECTION, PETSC_TRUE}, {3, {17, 13, 21}, DIRICHLET, VARYING, PETSC_FALSE},
    {3, {17, 17, 17}, IDENTITY, CONSTANT, PETSC_FALSE},  {2, {32, 33, 1}, PERIODIC_FIRST, VARYING, PETSC_FALSE},
    {1, {257, 1, 1}, DIRICHLET, JUMP, PETSC_FALSE},
  };

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, "-ksp_type gmres -ksp_rtol 1e-8 -ksp_max_it 200 -pc_type mg -pc_mg_levels 3 "
                                           "-mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1"));
  PetscCall(PetscOptionsInsertString(NULL, HJ_BY_PRECISION("", "-ksp_rtol 3e-4")));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i++) {
    PetscCall(TestSolve(&problems[i], i % 2 ? PCHJACOBI : PCJACOBI, i % 3 ? "both" : "pmat", 1.0));
    PetscCall(TestSymmetric(&problems[i], 1e6));
  }
  PetscCall(TestSolve(&problems[0], PCHJACOBI, "both", 1e6));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt n = 36;

  PetscCall(ProblemInitialize(&argc, &argv));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &n, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-dm_vec_type", &on_device));
  PetscCall(TestRandomProducts(n));
  PetscCall(TestThinProducts());
  PetscCall(TestStorage(DM_BOUNDARY_NONE, "storage: dictionary"));
  PetscCall(TestStorage(DM_BOUNDARY_PERIODIC, "storage: one row for all points"));
  PetscCall(TestSolves());
  return HJTestEnd();
}

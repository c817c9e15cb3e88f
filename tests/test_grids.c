/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   Grids as programs write them, solved by hjmg in as many iterations as those that the headline is measured on: boundary points that are
   rows of the diagonal alone, of any value, with their columns dropped or kept, beside the points inside alone; and any number of points.
*/
#include "hjmgcase.h"

typedef enum { INSIDE, DROPPED, KEPT } Rows;

typedef struct {
  PetscInt  dim, n; /* points in each direction, boundary rows not counted */
  PetscBool smooth; /* a coefficient of its own at every point */
  Rows      rows;
  PetscReal identity; /* value of the rows that are a diagonal alone */
  PetscInt  times;    /* the first direction has so many times as many points; 0: as many */
  PetscBool swept;    /* sweeps solve the coarsest grid, as they do on the CPU; else what the backend chooses */
} Case;

static PetscInt CasePoints(const Case *c, int d)
{
  return !d && c->times ? c->times * c->n : c->n;
}

static const char *CaseName(const Case *c)
{
  static const char *const rows[] = {"inside", "dropped", "kept"};
  static char              name[96];

  (void)PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT "D %" PetscInt_FMT ", %s, %s, %g", c->dim, c->n,
                      c->smooth ? "smooth" : "constant", rows[c->rows], (double)c->identity);
  return name;
}

/* Whether a point is on the boundary; at counts from the wall, 0 */
static PetscBool IsBoundary(const Case *c, const PetscInt at[3])
{
  for (int d = 0; d < c->dim; d++)
    if (at[d] == 0 || at[d] == CasePoints(c, d) + 1) return PETSC_TRUE;
  return PETSC_FALSE;
}

static PetscInt CaseRow(const void *ctx, const PetscInt point[3], PETSC_UNUSED PetscInt salt, MatStencil col[27], PetscScalar v[27])
{
  const Case    *c     = (const Case *)ctx;
  const PetscInt shift = c->rows == INSIDE ? 1 : 0, at[3] = {point[0] + shift, point[1] + shift, c->dim > 2 ? point[2] + shift : 0};
  PetscInt       n = 1;

  col[0] = (MatStencil){.i = point[0], .j = point[1], .k = point[2]};
  v[0]   = IsBoundary(c, at) ? c->identity : 0;
  for (int d = 0; d < c->dim && !IsBoundary(c, at); d++) {
    for (int side = -1; side <= 1; side += 2) {
      const PetscInt to[3] = {at[0] + (d == 0 ? side : 0), at[1] + (d == 1 ? side : 0), at[2] + (d == 2 ? side : 0)};
      PetscReal      x[3], a = 1;

      for (int e = 0; e < 3; e++) x[e] = 0.5 * (at[e] + to[e]) / (CasePoints(c, e) + 1);
      if (c->smooth) a = 1 + x[0] + x[1] * x[1] + x[0] * x[2];
      v[0] += a;
      if (IsBoundary(c, to) && c->rows != KEPT) continue;
      col[n] = (MatStencil){.i = to[0] - shift, .j = to[1] - shift, .k = c->dim > 2 ? to[2] - shift : 0};
      v[n++] = -a;
    }
  }
  return n;
}

static PetscErrorCode CaseCreate(const Case *c, DM *da, Mat *A)
{
  const Problem grid = {c->dim,
                        {CasePoints(c, 0) + (c->rows == INSIDE ? 0 : 2), c->n + (c->rows == INSIDE ? 0 : 2), 1},
                        DIRICHLET,
                        CONSTANT,
                        PETSC_FALSE};
  Problem       p    = grid;

  PetscFunctionBegin;
  if (c->dim > 2) p.n[2] = p.n[1];
  PetscCall(ProblemDM(&p, da));
  PetscCall(MatCreateHJStencil(*da, A));
  PetscCall(FillRows(*da, CaseRow, c, 0, INSERT_VALUES, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values that depend on the place alone; of boundary points the value times their diagonal */
static PetscErrorCode CaseVector(const Case *c, DM da, PetscReal value, Vec b)
{
  const PetscInt shift = c->rows == INSIDE ? 1 : 0;
  PetscScalar   *a;
  PetscInt       s[3], w[3], m = 0;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  PetscCall(VecGetArray(b, &a));
  for (PetscInt k = s[2]; k < s[2] + w[2]; k++) {
    for (PetscInt j = s[1]; j < s[1] + w[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + w[0]; i++) {
        const PetscInt at[3] = {i + shift, j + shift, c->dim > 2 ? k + shift : 0};

        a[m++] = IsBoundary(c, at) ? value * c->identity
                                   : 1 + PetscSinReal(9.0 * at[0] / (c->n + 1)) + ((7 * at[0] + 3 * at[1] + 5 * at[2]) % 11) / 11.0;
      }
    }
  }
  PetscCall(VecRestoreArray(b, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations to 1e-8, -1 where it does not converge; the true residual, as a share of b, and the largest distance of a boundary point's
   unknown from value */
static PetscErrorCode CaseSolve(const Case *c, KSPType type, PetscReal value, PetscInt *its, PetscReal *residual, PetscReal *distance)
{
  DM                 da;
  Mat                A;
  KSP                ksp;
  PC                 pc;
  Vec                b, x, r;
  PetscReal          norm;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(CaseCreate(c, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(CaseVector(c, da, value, b));
  PetscCall(MakeKSP(A, type, 40, &ksp, &pc));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  if (c->swept) PetscCall(PCHJMGSetCoarseSolve(pc, PC_HJMG_COARSE_SOLVE_SWEEPS));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (reason <= 0) *its = -1;
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, residual));
  PetscCall(VecNorm(b, NORM_2, &norm));
  *residual /= norm;
  {
    const PetscScalar *a;
    PetscInt           s[3], w[3], m = 0;

    *distance = 0;
    PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
    PetscCall(VecGetArrayRead(x, &a));
    for (PetscInt k = s[2]; k < s[2] + w[2]; k++) {
      for (PetscInt j = s[1]; j < s[1] + w[1]; j++) {
        for (PetscInt i = s[0]; i < s[0] + w[0]; i++, m++) {
          const PetscInt at[3] = {i, j, k};

          if (c->rows != INSIDE && IsBoundary(c, at)) *distance = PetscMax(*distance, PetscAbsScalar(a[m] - value));
        }
      }
    }
    PetscCall(VecRestoreArrayRead(x, &a));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, distance, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  }
  for (int i = 0; i < 3; i++) PetscCall(VecDestroy((Vec *[]){&b, &x, &r}[i]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with the whole matrix, beside those of AIJ. On a GPU the points inside are done apart from the others */
static PetscErrorCode TestProducts(PetscInt dim, PetscInt n)
{
  PetscFunctionBegin;
  for (Rows rows = DROPPED; rows <= KEPT; rows++) {
    const Case c = {.dim = dim, .n = n, .rows = rows, .identity = 7.0};
    DM         da;
    Mat        A, B;
    Vec        x, y, want;
    PetscReal  norm[2];

    PetscCall(CaseCreate(&c, &da, &A));
    PetscCall(DMCreateGlobalVector(da, &x));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(VecDuplicate(x, &want));
    PetscCall(CaseVector(&c, da, 2.0, x));
    PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
    for (int more = 0; more < 2; more++) {
      PetscCall(more ? MatMultAdd(A, x, x, y) : MatMult(A, x, y));
      PetscCall(more ? MatMultAdd(B, x, x, want) : MatMult(B, x, want));
      PetscCall(VecAXPY(y, -1.0, want));
      PetscCall(VecNorm(y, NORM_INFINITY, &norm[more]));
    }
    /* sums of at most 9 products of at most 7 and 14 */
    PetscCall(HJTestOK((PetscBool)(norm[0] <= 9 * 9 * 98 * PETSC_MACHINE_EPSILON && norm[1] <= 10 * 10 * 98 * PETSC_MACHINE_EPSILON),
                       "%s: products differ from AIJ's by %.1e, %.1e", CaseName(&c), (double)norm[0], (double)norm[1]));
    for (int i = 0; i < 3; i++) PetscCall(VecDestroy((Vec *[]){&x, &y, &want}[i]));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As many iterations as without boundary rows, whatever their value is */
static PetscErrorCode TestBoundaryRows(PetscInt dim, PetscInt n, PetscBool smooth)
{
  static const PetscReal values[] = {1, 4, 1e-12, 1e12};

  PetscFunctionBegin;
  for (int t = 0; t < 3; t++) {
    const KSPType type   = (const KSPType[]){KSPRICHARDSON, KSPCG, KSPGMRES}[t];
    const Case    inside = {dim, n, smooth, INSIDE, 1, 0, PETSC_FALSE};
    PetscInt      want, its;
    PetscReal     residual, distance;

    PetscCall(CaseSolve(&inside, type, 0, &want, &residual, &distance));
    for (Rows rows = DROPPED; rows <= KEPT; rows++) {
      for (size_t v = 0; v < PETSC_STATIC_ARRAY_LENGTH(values) && (rows == DROPPED || t != 1); v++) {
        const Case c = {dim, n, smooth, rows, values[v], 0, PETSC_FALSE};

        PetscCall(CaseSolve(&c, type, 0, &its, &residual, &distance));
        PetscCall(HJTestOK((PetscBool)(its == want && residual < HJTestDigits(1.1e-8) && distance == 0),
                           "%s, %s: %" PetscInt_FMT " iterations, %" PetscInt_FMT " inside alone, residual %.1e", CaseName(&c), type, its,
                           want, (double)residual));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With values on the boundary: they are taken at once, and the norm before the first cycle is that of the whole residual */
static PetscErrorCode TestValues(PetscInt dim, PetscInt n)
{
  PetscFunctionBegin;
  for (Rows rows = DROPPED; rows <= KEPT; rows++) {
    for (int t = 0; t < 2; t++) {
      const KSPType type = (const KSPType[]){KSPRICHARDSON, KSPGMRES}[t];
      const Case    c    = {dim, n, PETSC_FALSE, rows, 2.0, 0, PETSC_FALSE};
      PetscInt      its;
      PetscReal     residual, distance;

      PetscCall(CaseSolve(&c, type, 3.0, &its, &residual, &distance));
      PetscCall(HJTestOK((PetscBool)(its > 0 && its <= 6 && residual < HJTestDigits(1.1e-8) && distance < HJTestDigits(1e-6)),
                         "%s, %s, 3 on the boundary: %" PetscInt_FMT " iterations, residual %.1e, distance %.1e", CaseName(&c), type, its,
                         (double)residual, (double)distance));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers of points that are not 2^m + 1 take as many iterations. inverse: one solves the coarsest grid, as a GPU chooses by itself, which
   is another cycle than that which these numbers are of: 2^m + 1 points, the first of each dimension, may take more, and others as many */
static PetscErrorCode TestSizes(PetscBool swept, PetscBool inverse)
{
  static const struct {
    Case     c;
    PetscInt its[2];
  } known[] = {
    {{2, 65, PETSC_TRUE, INSIDE, 1, 0, PETSC_FALSE}, {5, 4}},  {{2, 64, PETSC_TRUE, INSIDE, 1, 0, PETSC_FALSE}, {5, 4}},
    {{2, 63, PETSC_TRUE, INSIDE, 1, 0, PETSC_FALSE}, {5, 4}},  {{2, 50, PETSC_FALSE, INSIDE, 1, 8, PETSC_FALSE}, {5, 4}},
    {{3, 33, PETSC_FALSE, INSIDE, 1, 0, PETSC_FALSE}, {5, 5}}, {{3, 32, PETSC_FALSE, INSIDE, 1, 0, PETSC_FALSE}, {5, 5}},
    {{3, 31, PETSC_FALSE, INSIDE, 1, 0, PETSC_FALSE}, {5, 5}},
  };

  PetscInt most[4][2] = {{0}};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(known); i++) {
    for (int t = 0; t < 2; t++) {
      const KSPType type = (const KSPType[]){KSPRICHARDSON, KSPCG}[t];
      Case          c    = known[i].c;
      PetscInt      its, bound, *first = &most[c.dim][t];
      PetscReal     residual, distance;

      c.swept = swept;
      PetscCall(CaseSolve(&c, type, 0, &its, &residual, &distance));
      if (!*first) *first = its;
      bound = inverse ? PetscMax(known[i].its[t], *first) : known[i].its[t];
      PetscCall(HJTestOK((PetscBool)(its > 0 && its <= bound && residual < HJTestDigits(1.1e-8)),
                         "%s, %d times as long, %s%s: %d iterations, at most %d, residual %.1e", CaseName(&c), (int)PetscMax(c.times, 1),
                         type, swept ? ", swept" : "", (int)its, (int)bound, (double)residual));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cycles that run on the vectors of all points, as a view says */
#define ALL_PLACED  "and cycles run there"
#define ZERO_PLACED "and cycles from zero run there"
#define NOT_PLACED  "run there"

/* Unknowns of the points inside after a solve of so many iterations, 0: to 1e-8; guess: from what b is. *places: the view has these words,
   which grids of the points inside alone are not asked. Of one rank */
static PetscErrorCode CaseUnknowns(const Case *c, KSPType type, PetscInt its, PetscBool guess, PetscScalar *values, const char words[],
                                   PetscBool *places)
{
  DM  da;
  Mat A;
  KSP ksp;
  PC  pc;
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(CaseCreate(c, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(CaseVector(c, da, 0, b));
  PetscCall(VecCopy(b, x));
  PetscCall(MakeKSP(A, type, its ? its : 40, &ksp, &pc));
  PetscCall(KSPSetNormType(ksp, its ? KSP_NORM_NONE : KSP_NORM_UNPRECONDITIONED));
  if (its) PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
  PetscCall(KSPSolve(ksp, b, x));
  if (c->rows != INSIDE) PetscCall(ViewHolds(pc, words, places));
  {
    const PetscInt     edge = c->rows == INSIDE ? 0 : 1, n0 = CasePoints(c, 0), line = n0 + 2 * edge;
    const PetscScalar *a;

    PetscCall(VecGetArrayRead(x, &a));
    for (PetscInt k = 0; k < (c->dim > 2 ? c->n : 1); k++) {
      for (PetscInt j = 0; j < c->n; j++) {
        const PetscScalar *from = a + ((c->dim > 2 ? k + edge : 0) * (c->n + 2 * edge) + j + edge) * line + edge;

        for (PetscInt i = 0; i < n0; i++) *values++ = from[i];
      }
    }
    PetscCall(VecRestoreArrayRead(x, &a));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cycles on the points inside of vectors of all points are those of a grid of these points alone; times as a case's; words: which cycles.
   On one rank */
static PetscErrorCode TestPlaces(PetscInt dim, PetscInt n, PetscInt times, PetscBool smooth, const char words[])
{
  static const struct {
    KSPType   type;
    PetscInt  its;
    PetscBool guess;
  } ways[] = {
    {KSPRICHARDSON, 0, PETSC_FALSE}, {KSPRICHARDSON, 0, PETSC_TRUE}, {KSPRICHARDSON, 3, PETSC_FALSE},
    {KSPRICHARDSON, 2, PETSC_TRUE},  {KSPCG, 0, PETSC_FALSE},        {KSPCG, 0, PETSC_TRUE},
  };
  Case           c       = {dim, n, smooth, INSIDE, 3, times, PETSC_FALSE};
  const PetscInt npoints = CasePoints(&c, 0) * n * (dim > 2 ? n : 1);
  PetscBool      expected;
  PetscScalar   *want, *got;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(words, NOT_PLACED, &expected));
  expected = (PetscBool)!expected;
  PetscCall(PetscMalloc2(npoints, &want, npoints, &got));
  for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(ways); w++) {
    PetscBool places = PETSC_FALSE;

    c.rows = INSIDE;
    PetscCall(CaseUnknowns(&c, ways[w].type, ways[w].its, ways[w].guess, want, words, &places));
    for (c.rows = DROPPED; c.rows <= KEPT; c.rows++) {
      PetscReal error = 0, largest = 0;

      if (c.rows == KEPT && ways[w].type[0] == 'c') continue;
      PetscCall(CaseUnknowns(&c, ways[w].type, ways[w].its, ways[w].guess, got, words, &places));
      for (PetscInt i = 0; i < npoints; i++) {
        largest = PetscMax(largest, PetscAbsScalar(want[i]));
        error   = PetscMax(error, PetscAbsScalar(got[i] - want[i]));
      }
      PetscCall(HJTestOK((PetscBool)(error <= HJTestDigits(1e-11) * largest && places == expected),
                         "%s, %s, %d cycles%s: unknowns differ by %.1e of %.1e, %s%s", CaseName(&c), ways[w].type, (int)ways[w].its,
                         ways[w].guess ? " from a guess" : "", (double)error, (double)largest, places ? "" : "not: ", words));
    }
  }
  PetscCall(PetscFree2(want, got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its cycles of hjacobi, k = 4, on a case's right-hand side, from 0 or from what it is; of the stencil or through MatMult() */
static PetscErrorCode CaseSweeps(const Case *c, PetscReal value, PetscInt its, PetscBool guess, PetscBool stencil, Vec *x)
{
  DM  da;
  Mat A;
  KSP ksp;
  PC  pc;
  Vec b;

  PetscFunctionBegin;
  PetscCall(CaseCreate(c, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, x));
  PetscCall(CaseVector(c, da, value, b));
  PetscCall(VecCopy(b, *x));
  PetscCall(ProblemKSP(NULL, A, KSPRICHARDSON, PCHJACOBI, &ksp, &pc));
  PetscCall(PCHJacobiSetK(pc, 4));
  if (!stencil) PetscCall(PCHJacobiSetOperator(pc, PC_HJACOBI_OPERATOR_MATRIX));
  PetscCall(PCHJacobiSetEigenvalues(pc, 2.0, 0.2));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetConvergenceTest(ksp, KSPConvergedSkip, NULL, NULL));
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, its));
  PetscCall(KSPSetInitialGuessNonzero(ksp, guess));
  PetscCall(KSPSolve(ksp, b, *x));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* hjacobi's cycles leave known rows out where they can, and are the same: beside those through products with the whole matrix. On a GPU's
   large grids cycles from zero begin before it is known whether the boundary's values are 0 */
static PetscErrorCode TestSweeps(PetscInt dim, PetscInt n, PetscBool smooth, Rows first)
{
  PetscFunctionBegin;
  for (Rows rows = first; rows <= KEPT; rows++) {
    for (int way = 0; way < 8; way++) {
      const Case c = {dim, n, smooth, rows, 3, 0, PETSC_FALSE};
      Vec        x[2];
      PetscReal  norm, error;

      for (int s = 0; s < 2; s++) PetscCall(CaseSweeps(&c, way & 1 ? 5 : 0, way & 2 ? 3 : 1, (PetscBool)(way & 4), (PetscBool)s, &x[s]));
      PetscCall(VecNorm(x[0], NORM_INFINITY, &norm));
      PetscCall(VecAXPY(x[0], -1.0, x[1]));
      PetscCall(VecNorm(x[0], NORM_INFINITY, &error));
      PetscCall(HJTestOK((PetscBool)(error <= HJTestDigits(1e-12) * norm),
                         "%s, %d cycles of hjacobi%s, %d on the boundary: differ by %.1e of %.1e", CaseName(&c), way & 2 ? 3 : 1,
                         way & 4 ? " from a guess" : "", way & 1 ? 5 : 0, (double)error, (double)norm));
      for (int s = 0; s < 2; s++) PetscCall(VecDestroy(&x[s]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values that have boundary rows, and others that have none, on one grid: each is solved, twice, as by a new PC */
static PetscErrorCode TestTurned(void)
{
  static const Case cases[] = {
    {2, 63, PETSC_FALSE, DROPPED, 1, 0, PETSC_FALSE}, {2, 65, PETSC_FALSE, INSIDE, 1, 0, PETSC_FALSE},
    {2, 63, PETSC_FALSE, KEPT, 1, 0, PETSC_FALSE},    {2, 63, PETSC_FALSE, DROPPED, 2, 0, PETSC_FALSE},
    {2, 65, PETSC_TRUE, INSIDE, 1, 0, PETSC_FALSE},
  };
  const KSPType types[] = {KSPRICHARDSON, KSPGMRES};

  PetscFunctionBegin;
  for (int t = 0; t < 2; t++) {
    DM        da;
    Mat       A;
    KSP       ksp;
    PC        pc;
    Vec       b, x, r;
    PetscReal norm[2];
    PetscInt  its;

    PetscCall(CaseCreate(&cases[0], &da, &A));
    PetscCall(DMCreateGlobalVector(da, &b));
    PetscCall(VecDuplicate(b, &x));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MakeKSP(A, types[t], 40, &ksp, &pc));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
      PetscCall(MatZeroEntries(A));
      PetscCall(FillRows(da, CaseRow, &cases[i], 0, INSERT_VALUES, A));
      PetscCall(CaseVector(&cases[i], da, 0, b));
      for (int again = 0; again < 2; again++) PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetIterationNumber(ksp, &its));
      PetscCall(MatResidual(A, b, x, r));
      PetscCall(VecNorm(r, NORM_2, &norm[0]));
      PetscCall(VecNorm(b, NORM_2, &norm[1]));
      PetscCall(HJTestOK((PetscBool)(its <= 6 && norm[0] < HJTestDigits(1.1e-8) * norm[1]),
                         "%s after others, %s: %d iterations, residual %.1e", CaseName(&cases[i]), types[t], (int)its,
                         (double)(norm[0] / norm[1])));
    }
    PetscCall(KSPDestroy(&ksp));
    for (int i = 0; i < 3; i++) PetscCall(VecDestroy((Vec *[]){&b, &x, &r}[i]));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;
  PetscBool   cuda = PETSC_FALSE;
  int         failed;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemBackend());
  PetscCall(GetSizeAndDevice(&size, &cuda));
  PetscCall(TestBoundaryRows(2, 63, PETSC_FALSE));
  PetscCall(TestBoundaryRows(2, 65, PETSC_TRUE));
  PetscCall(TestBoundaryRows(3, 15, PETSC_FALSE));
  PetscCall(TestBoundaryRows(3, 17, PETSC_TRUE));
  PetscCall(TestSizes(PETSC_FALSE, cuda));
  if (cuda) PetscCall(TestSizes(PETSC_TRUE, PETSC_FALSE));
  PetscCall(TestProducts(2, 201));
  PetscCall(TestProducts(3, 22));
  if (cuda) PetscCall(TestProducts(3, 97)); /* there only so many points pay for two launches */
  PetscCall(TestValues(2, 63));
  PetscCall(TestValues(3, 15));
  PetscCall(TestTurned());
  PetscCall(TestSweeps(2, 47, PETSC_FALSE, DROPPED));
  PetscCall(TestSweeps(3, 14, PETSC_FALSE, DROPPED));
  PetscCall(TestSweeps(2, 46, PETSC_TRUE, DROPPED));
  PetscCall(TestSweeps(3, 13, PETSC_TRUE, DROPPED));
  if (cuda) PetscCall(TestSweeps(2, 600, PETSC_FALSE, DROPPED));
  if (cuda) PetscCall(TestSweeps(3, 71, PETSC_FALSE, DROPPED));
  if (cuda && size == 1) PetscCall(TestSweeps(2, 1450, PETSC_FALSE, KEPT));
  if (cuda && size == 1) PetscCall(TestSweeps(2, 1450, PETSC_TRUE, KEPT));
  if (cuda && size == 1) PetscCall(TestSweeps(3, 126, PETSC_FALSE, KEPT));
  if (size == 1) {
    PetscCall(TestPlaces(2, 63, 0, PETSC_FALSE, cuda ? NOT_PLACED : ALL_PLACED));
    PetscCall(TestPlaces(2, 62, 0, PETSC_TRUE, cuda ? NOT_PLACED : ALL_PLACED));
    PetscCall(TestPlaces(3, 16, 0, PETSC_FALSE, cuda ? NOT_PLACED : ALL_PLACED));
    PetscCall(TestPlaces(3, 15, 0, PETSC_TRUE, cuda ? NOT_PLACED : ALL_PLACED));
    if (cuda) { /* there on larger grids alone, of one row, or of arrays cycles from zero */
      PetscCall(TestPlaces(2, 511, 0, PETSC_FALSE, ALL_PLACED));
      PetscCall(TestPlaces(2, 512, 0, PETSC_TRUE, ZERO_PLACED));
      PetscCall(TestPlaces(2, 50, 100, PETSC_FALSE, ALL_PLACED)); /* no patches: so thin */
      PetscCall(TestPlaces(3, 69, 0, PETSC_FALSE, ALL_PLACED));
      PetscCall(TestPlaces(3, 70, 0, PETSC_FALSE, ALL_PLACED));
    }
  }
  failed = HJTestDone();
  PetscCall(PetscFinalize());
  return failed;
}

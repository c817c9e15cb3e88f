/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 3 4 */
/*
   Interpolation with coefficients from the rows of a matrix: they are those of the definition, the same on any ranks and backend; its
   products, P^T A P and rows are those of the AIJ matrix. Rows of all kinds: test_interpolationrows.c. How it solves: test_jumps.c.
*/
#include "hjinterpolationcase.h"

/* The definition on one rank, row by row: what the fine point f gets from coarse point c */
typedef struct {
  const Weighted *w;
  Mat             S, A; /* AIJ: the symmetric part, and the matrix where it is another one */
} Definition;

static PetscReal EntryIn(const Definition *def, Mat A, const PetscInt at[3], const PetscInt off[3])
{
  const PetscInt *n = def->w->c.n;
  PetscInt        row, column, from[3], to[3];
  PetscScalar     v;

  for (int d = 0; d < 3; d++) {
    from[d] = at[d];
    to[d]   = at[d] + off[d];
    if (def->w->c.boundary[d] == DM_BOUNDARY_PERIODIC) {
      from[d] = (from[d] + 2 * n[d]) % n[d];
      to[d]   = (to[d] + 2 * n[d]) % n[d];
    } else if (to[d] < 0 || to[d] >= n[d] || from[d] < 0 || from[d] >= n[d]) return 0.0;
  }
  row    = (from[2] * n[1] + from[1]) * n[0] + from[0];
  column = (to[2] * n[1] + to[1]) * n[0] + to[0];
  (void)MatGetValues(A, 1, &row, 1, &column, &v);
  return PetscRealPart(v);
}

static PetscReal EntryOf(const Definition *def, const PetscInt at[3], const PetscInt off[3])
{
  return EntryIn(def, def->S, at, off);
}

/* The sum of a row: entries that are met by none count half, where others are met */
static PetscReal RowSumOf(const Definition *def, const PetscInt f[3])
{
  PetscReal sum[2] = {0.0, 0.0};
  PetscInt  met    = 0;

  for (PetscInt o = 0; o < 27; o++) {
    const PetscInt  off[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1}, back[3] = {-off[0], -off[1], -off[2]};
    const PetscInt  at[3] = {f[0] + off[0], f[1] + off[1], f[2] + off[2]};
    const PetscReal there = EntryIn(def, def->A, at, back);

    sum[there == 0.0] += EntryIn(def, def->A, f, off);
    if (o != 13) met += there != 0.0;
  }
  return sum[0] + (met ? 0.5 : 1.0) * sum[1];
}

/* From a point to the one o beside it, summed over directions that are not refined */
static PetscReal CouplingOf(const Definition *def, const PetscInt at[3], PetscInt x, PetscInt y, PetscInt z)
{
  const PetscInt o[3] = {x, y, z};
  PetscReal      sum  = 0.0;

  for (PetscInt code = 0; code < 27; code++) {
    const PetscInt off[3] = {code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1};
    PetscBool      counts = PETSC_TRUE;

    for (int d = 0; d < 3; d++) counts = (PetscBool)(counts && (def->w->factor[d] == 2 ? off[d] == o[d] : d < def->w->c.dim || !off[d]));
    if (counts) sum -= EntryOf(def, at, off);
  }
  return sum;
}

static PetscReal Series(PetscReal a, PetscReal b, PetscReal c)
{
  return a > 0 && b > 0 && c > 0 ? 1 / (1 / a + 1 / b + 1 / c) : 0.0;
}

/* A fine point's to the coarse point t beside it: directly, and on three kinds of ways by points that lie e beside both */
static PetscReal PathsOf(const Definition *def, const PetscInt f[3], const PetscInt t[3])
{
  PetscReal sum = PetscMax(CouplingOf(def, f, t[0], t[1], t[2]), 0.0);

  for (PetscInt code = 0; code < 27; code++) {
    const PetscInt e[3] = {code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1};
    PetscInt       beside[3], corner[3];
    PetscBool      there = (PetscBool)(code != 13);
    PetscReal      last, over;

    for (int d = 0; d < 3; d++) {
      beside[d] = f[d] + e[d];
      corner[d] = beside[d] + t[d];
      if (e[d] && (t[d] || def->w->factor[d] == 1)) there = PETSC_FALSE;
    }
    if (!there) continue;
    last = CouplingOf(def, corner, -e[0], -e[1], -e[2]);
    over = CouplingOf(def, f, e[0], e[1], e[2]);
    sum += Series(CouplingOf(def, f, e[0] + t[0], e[1] + t[1], e[2] + t[2]), last, PETSC_MAX_REAL);
    sum += Series(over, CouplingOf(def, beside, t[0] - e[0], t[1] - e[1], t[2] - e[2]), PETSC_MAX_REAL);
    sum += Series(over, CouplingOf(def, beside, t[0], t[1], t[2]), last);
  }
  return sum;
}

/* Of the coarse point's coupling in that to both */
static PetscReal ShareOf(const Definition *def, const PetscInt f[3], const PetscInt p[3])
{
  const PetscInt t[3] = {-p[0], -p[1], -p[2]};
  PetscReal      own, other;

  for (int d = 0; d < 3; d++)
    if (p[d] && def->w->c.boundary[d] != DM_BOUNDARY_PERIODIC && (f[d] + p[d] < 0 || f[d] + p[d] >= def->w->c.n[d])) return 1.0;
  own   = PathsOf(def, f, t);
  other = PathsOf(def, f, p);
  return own + other > 0.0 ? own / (own + other) : 0.5;
}

static PetscReal WeightOf(const Definition *def, const PetscInt f[3], const PetscInt c[3])
{
  PetscInt  here[3], p[3], q[3], refined = 0;
  PetscReal out = 0.0, along = 0.0, near = 0.0, repelled = 0.0;

  for (int d = 0; d < 3; d++) {
    here[d] = def->w->factor[d] * c[d] + def->w->first[d];
    p[d]    = f[d] - here[d];
    refined += p[d] != 0;
  }
  if (IsIdentity(def->w, f) || IsIdentity(def->w, here)) return 0.0;
  if (!refined) return 1.0;
  for (PetscInt o = 0; o < 27; o++) {
    const PetscInt off[3]  = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};
    PetscBool      towards = PETSC_TRUE, stays = PETSC_TRUE;
    PetscReal      a;

    if ((def->w->c.dim < 2 && off[1]) || (def->w->c.dim < 3 && off[2])) continue;
    if (!def->w->c.box && PetscAbs(off[0]) + PetscAbs(off[1]) + PetscAbs(off[2]) > 1) continue;
    a = EntryOf(def, f, off);
    for (int d = 0; d < 3; d++) {
      const PetscInt step = p[d] ? off[d] : 0;

      q[d]    = f[d] + step;
      stays   = (PetscBool)(stays && !step);
      towards = (PetscBool)(towards && (!step || step == -p[d]));
    }
    if (stays) along += a;
    else out -= a;
    if (!stays && towards && refined > 1 && a < 0.0) near -= a * WeightOf(def, q, c);
    if (!stays) repelled += PetscMax(a, 0.0);
  }
  if (def->A) along = out + RowSumOf(def, f);
  if (refined == 1) return ShareOf(def, f, p) * (out > 0.0 && along > out ? out / along : 1.0);
  return near / (PetscMax(out, along) + repelled);
}

/* On one rank; periodic directions of fewer than 4 points, where entries lead to the same points, are left to the products */
static PetscErrorCode TestDefinition(const Weighted *w, const char *name)
{
  Grids      g;
  Mat        P, T;
  Definition def   = {.w = w};
  PetscReal  worst = 0.0;
  PetscInt   n[3];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++)
    if (w->c.boundary[d] == DM_BOUNDARY_PERIODIC && w->c.n[d] < 4) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GridsCreate(PETSC_COMM_SELF, w, &g));
  PetscCall(MatConvert(g.P, MATAIJ, MAT_INITIAL_MATRIX, &P));
  PetscCall(MatConvert(g.A, MATAIJ, MAT_INITIAL_MATRIX, &def.S));
  if (!w->symmetric) {
    PetscCall(MatDuplicate(def.S, MAT_COPY_VALUES, &def.A));
    PetscCall(MatTranspose(def.S, MAT_INITIAL_MATRIX, &T));
    PetscCall(MatAXPY(def.S, 1.0, T, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatScale(def.S, 0.5));
    PetscCall(MatDestroy(&T));
  }
  for (int d = 0; d < 3; d++) n[d] = g.t.coarse.N[d];
  for (PetscInt row = 0; row < w->c.n[0] * w->c.n[1] * w->c.n[2]; row++) {
    const PetscInt     f[3] = {row % w->c.n[0], row / w->c.n[0] % w->c.n[1], row / w->c.n[0] / w->c.n[1]};
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           m;

    PetscCall(MatGetRow(P, row, &m, &columns, &values));
    for (PetscInt e = 0; e < m; e++) {
      PetscInt c[3] = {columns[e] % n[0], columns[e] / n[0] % n[1], columns[e] / n[0] / n[1]};

      for (int d = 0; d < 3; d++)
        if (f[d] - w->first[d] - w->factor[d] * c[d] > 1) c[d] += n[d]; /* a periodic image */
      worst = PetscMax(worst, PetscAbsReal(PetscRealPart(values[e]) - WeightOf(&def, f, c)));
    }
    PetscCall(MatRestoreRow(P, row, &m, &columns, &values));
  }
  PetscCall(HJTestOK((PetscBool)(worst <= HJTestDigits(1e-9)), "%s: weights of the definition (%g)", name, (double)worst));
  PetscCall(HJTestDestroy(&P, &def.S, &def.A));
  PetscCall(GridsDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values of all ranks in the natural order, on every rank; freed by the caller */
static PetscErrorCode AllNatural(DM da, Vec x, Vec *all)
{
  Vec        natural;
  VecScatter scatter;

  PetscFunctionBegin;
  PetscCall(DMDACreateNaturalVector(da, &natural));
  PetscCall(DMDAGlobalToNaturalBegin(da, x, INSERT_VALUES, natural));
  PetscCall(DMDAGlobalToNaturalEnd(da, x, INSERT_VALUES, natural));
  PetscCall(VecScatterCreateToAll(natural, &scatter, all));
  PetscCall(VecScatterBegin(scatter, natural, *all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, natural, *all, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecDestroy(&natural));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P x, or P^T x, b added where it is there; in place: b is the result */
static PetscErrorCode Apply(Mat P, PetscBool transpose, PetscBool in_place, Vec x, Vec b, Vec y)
{
  PetscFunctionBegin;
  if (in_place) PetscCall(VecCopy(b, y));
  if (transpose) PetscCall(b ? MatMultTransposeAdd(P, x, in_place ? y : b, y) : MatMultTranspose(P, x, y));
  else PetscCall(b ? MatMultAdd(P, x, in_place ? y : b, y) : MatMult(P, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All products are AIJ's, and those of one rank on the host */
static PetscErrorCode TestProducts(const Weighted *w, const Grids *g, Mat P, const char *what, const char *name)
{
  Grids     alone;
  Mat       Q;
  PetscBool same = PETSC_TRUE, serial = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(GridsCreate(PETSC_COMM_SELF, w, &alone));
  PetscCall(MatBindToCPU(alone.P, PETSC_TRUE));
  serial = (PetscBool)(PetscAbsReal(alone.jump.largest - g->jump.largest) <= 64 * PETSC_MACHINE_EPSILON &&
                       alone.jump.points == g->jump.points); /* of several ranks it is found in another way */
  PetscCall(MatConvert(P, MATAIJ, MAT_INITIAL_MATRIX, &Q));
  for (int m = 0; m < 6; m++) {
    const PetscBool transpose = (PetscBool)(m / 3);
    DM              from = transpose ? g->fine : g->coarse, to = transpose ? g->coarse : g->fine;
    Vec             x, b, y[2], all, xs, bs, ys;
    PetscReal       diff[2];
    PetscBool       agree = PETSC_FALSE;

    PetscCall(DMCreateGlobalVector(from, &x));
    PetscCall(DMCreateGlobalVector(to, &b));
    for (int i = 0; i < 2; i++) PetscCall(VecDuplicate(b, &y[i]));
    PetscCall(ProblemVector(from, 1, x));
    PetscCall(ProblemVector(to, 2, b));
    PetscCall(Apply(P, transpose, (PetscBool)(m % 3 == 2), x, m % 3 ? b : NULL, y[0]));
    PetscCall(Apply(Q, transpose, PETSC_FALSE, x, m % 3 ? b : NULL, y[1]));
    PetscCall(VecsAgree(y[0], y[1], 64 * PETSC_MACHINE_EPSILON, &agree, &diff[0]));
    same = (PetscBool)(same && agree);
    PetscCall(DMCreateGlobalVector(transpose ? alone.fine : alone.coarse, &xs));
    PetscCall(ProblemVectors(transpose ? alone.coarse : alone.fine, &bs, &ys));
    PetscCall(AllNatural(from, x, &all));
    PetscCall(VecCopy(all, xs));
    PetscCall(VecDestroy(&all));
    PetscCall(AllNatural(to, b, &all));
    PetscCall(VecCopy(all, bs));
    PetscCall(VecDestroy(&all));
    PetscCall(Apply(alone.P, transpose, PETSC_FALSE, xs, m % 3 ? bs : NULL, ys));
    PetscCall(AllNatural(to, y[0], &all));
    PetscCall(VecCopy(all, bs));
    PetscCall(VecsAgree(bs, ys, HJTestDigits(1e-9), &agree, &diff[1]));
    serial = (PetscBool)(serial && agree);
    if (!same || !serial) PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr, "# product %d: %g %g\n", m, (double)diff[0], (double)diff[1]));
    PetscCall(HJTestDestroy(&all, &xs, &bs, &ys, &x, &b));
    for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&y[i]));
  }
  PetscCall(HJTestOK((PetscBool)(same && serial), "%s: products%s are AIJ's, and one rank's%s%s", name, what, same ? "" : ", not AIJ's",
                     serial ? "" : ", not one rank's"));
  PetscCall(MatDestroy(&Q));
  PetscCall(GridsDestroy(&alone));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P^T A P is AIJ's, but for the points of rows that are a diagonal alone, which keep theirs; symmetric if A is */
static PetscErrorCode TestGalerkin(const Weighted *w, const Grids *g, const char *name)
{
  Mat                C, D, B, Q, T;
  Vec                scale, diagonal;
  const PetscScalar *sizes;
  PetscReal          worst = 0.0, skew = 0.0;
  PetscInt           start, end, lost = 0;
  PetscBool          ours = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatPtAP(g->A, g->P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(MatPtAP(g->A, g->P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
  PetscCall(PetscObjectTypeCompare((PetscObject)C, MATHJSTENCIL, &ours));
  PetscCall(MatConvert(C, MATAIJ, MAT_INPLACE_MATRIX, &C));
  PetscCall(MatConvert(g->A, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatConvert(g->P, MATAIJ, MAT_INITIAL_MATRIX, &Q));
  PetscCall(MatPtAP(B, Q, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  PetscCall(MatAXPY(D, -1.0, C, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatTranspose(C, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatAXPY(T, -1.0, C, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatCreateVecs(Q, &scale, &diagonal));
  PetscCall(MatGetDiagonal(B, diagonal));
  PetscCall(MatMultTranspose(Q, diagonal, scale)); /* as large as the terms that a row is summed from, coefficients are not negative */
  PetscCall(VecGetArrayRead(scale, &sizes));
  PetscCall(MatGetOwnershipRange(D, &start, &end));
  for (PetscInt r = start; r < end; r++) {
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscInt           m, many = 0;
    PetscReal          size = PetscRealPart(sizes[r - start]), diff = 0.0, own = 0.0, odd = 0.0;

    PetscCall(MatGetRow(C, r, &m, &columns, &values));
    for (PetscInt e = 0; e < m; e++) {
      many += columns[e] != r && values[e] != 0.0;
      if (columns[e] == r) own = PetscRealPart(values[e]);
    }
    PetscCall(MatRestoreRow(C, r, &m, &columns, &values));
    PetscCall(MatGetRow(D, r, &m, &columns, &values));
    for (PetscInt e = 0; e < m; e++) diff = PetscMax(diff, PetscAbsScalar(values[e]));
    PetscCall(MatRestoreRow(D, r, &m, &columns, &values));
    PetscCall(MatGetRow(T, r, &m, &columns, &values));
    for (PetscInt e = 0; e < m; e++) odd = PetscMax(odd, PetscAbsScalar(values[e]));
    PetscCall(MatRestoreRow(T, r, &m, &columns, &values));
    if (diff == own && own != 0.0 && !many) lost += own != 3.0; /* AIJ's row is empty */
    else if (diff > 0.0 || odd > 0.0) {
      /* a row of one point whose sum is 0 may have no size */
      worst = PetscMax(worst, diff / size);
      skew  = PetscMax(skew, odd / size);
    }
  }
  PetscCall(VecRestoreArrayRead(scale, &sizes));
  PetscCall(VecDestroy(&scale));
  PetscCall(VecDestroy(&diagonal));
  PetscCall(HJTestOK((PetscBool)(ours && !lost && worst <= 1024 * PETSC_MACHINE_EPSILON), "%s: P^T A P is AIJ's (%g)%s", name,
                     (double)worst, lost ? ", identity rows are lost" : ""));
  if (w->symmetric) PetscCall(HJTestOK((PetscBool)(skew <= 1024 * PETSC_MACHINE_EPSILON), "%s: it is symmetric (%g)", name, (double)skew));
  PetscCall(HJTestDestroy(&C, &D, &B, &Q, &T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in place, and bilinear again */
static PetscErrorCode TestAgain(const Weighted *w, const Grids *g, const char *name)
{
  HJSetInterpolation set;
  Mat                P, Q, R, B;
  PetscReal          diff[4];
  HJJump             unused, jump, limited[2];

  PetscFunctionBegin;
  PetscCall(MatZeroEntries(g->A));
  PetscCall(WeightedFill(w, g->fine, 3, g->A));
  PetscCall(PetscObjectQueryFunction((PetscObject)g->P, HJ_SET_INTERPOLATION, &set));
  PetscCall((*set)(g->P, g->A, w->symmetric, -1.0, &unused));
  PetscCall(HJMatCreateTransfer(g->coarse, g->fine, &g->t, &P));
  PetscCall(MatConvert(P, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall((*set)(P, g->A, w->symmetric, -1.0, &jump));
  PetscCall(MatConvert(P, MATAIJ, MAT_INITIAL_MATRIX, &Q));
  PetscCall(MatConvert(g->P, MATAIJ, MAT_INITIAL_MATRIX, &R));
  PetscCall(MatAXPY(R, -1.0, Q, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(R, NORM_INFINITY, &diff[0]));
  PetscCall(MatDestroy(&R));
  PetscCall((*set)(g->P, NULL, PETSC_TRUE, -1.0, &unused));
  PetscCall(MatConvert(g->P, MATAIJ, MAT_INITIAL_MATRIX, &R));
  PetscCall(MatAXPY(R, -1.0, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(R, NORM_INFINITY, &diff[1]));
  for (int more = 0; more < 2; more++) { /* bilinear up to the jump; with coefficients where it is larger */
    PetscCall((*set)(P, g->A, w->symmetric, more ? jump.largest - 1e-3 : jump.largest, &limited[more]));
    PetscCall(MatDestroy(&R));
    PetscCall(MatConvert(P, MATAIJ, MAT_INITIAL_MATRIX, &R));
    PetscCall(MatAXPY(R, -1.0, more ? Q : B, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatNorm(R, NORM_INFINITY, &diff[2 + more]));
  }
  PetscCall(HJTestOK((PetscBool)(diff[0] == 0.0 && diff[1] == 0.0 && diff[2] == 0.0 && diff[3] == 0.0 &&
                                 limited[0].largest == jump.largest && limited[1].largest == jump.largest),
                     "%s: new values, and bilinear again (%g, %g); with a jump of %g (%g, %g) bilinear up to it (%g, %g)", name,
                     (double)diff[0], (double)diff[1], (double)jump.largest, (double)limited[0].largest, (double)limited[1].largest,
                     (double)diff[2], (double)diff[3]));
  PetscCall(HJTestDestroy(&P, &Q, &R, &B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On one rank with no periodic direction: what the host finds for lines of points is exactly what it finds for each alone */
static PetscErrorCode TestLines(const Weighted *w, const char *name)
{
  Grids                 g;
  HJGetCoefficients     get;
  const HJCoefficients *a;
  HJShell               shell;
  HJColumns             columns;
  HJFine                fine;
  HJJump                jump[2] = {{.largest = 0.0}, {.largest = 0.0}};
  HJInterpolationFill   f       = {.shell = &shell, .coarse_shell = &shell, .jump = &jump[0]};
  PetscScalar          *each, *lines;
  PetscCount            n;
  PetscBool             same = PETSC_TRUE;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++)
    if (w->c.boundary[d] == DM_BOUNDARY_PERIODIC) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(GridsCreate(PETSC_COMM_SELF, w, &g));
  PetscCall(PetscObjectQueryFunction((PetscObject)g.A, HJ_GET_COEFFICIENTS, &get));
  PetscCall((*get)(g.A, PETSC_MEMTYPE_HOST, &a));
  HJGalerkinShellSet(&g.t, &shell);
  f.t = &g.t;
  f.a = f.symmetric = a;
  columns           = HJColumnsSet(&g.t, &shell, NULL, NULL);
  fine              = HJFineSet(&g.t, &shell, a, NULL);
  n                 = 6 * columns.n;
  PetscCall(PetscCalloc2(n, &each, n, &lines));
  for (PetscInt k = 0; k < columns.nc[2]; k++) {
    for (PetscInt j = 0; j < columns.nc[1]; j++) {
      for (PetscInt i = 0; i < columns.nc[0]; i++) {
        HJCouplingsFill(&columns, &fine, i, j, k, each + HJBoxIndex(&g.t.coarse.owned, i, j, k));
        HJJumpFind(&columns, &fine, &fine, i, j, k, &jump[1]);
      }
    }
  }
  PetscCall(HJHostJump(&f));
  f.coupling = lines;
  PetscCall(HJHostCouplings(&f));
  for (PetscCount c = 0; c < n; c++) same = (PetscBool)(same && each[c] == lines[c]); /* zeros may have either sign */
  PetscCall(
    HJTestOK((PetscBool)(same && jump[0].largest == jump[1].largest && jump[0].large == jump[1].large && jump[0].points == jump[1].points),
             "%s: couplings of lines %s; jump %g, %g at %d, %d points", name, same ? "are those of points" : "differ",
             (double)jump[0].largest, (double)jump[1].largest, (int)jump[0].points, (int)jump[1].points));
  PetscCall(PetscFree2(each, lines));
  PetscCall(GridsDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestWeighted(const Weighted *w)
{
  Grids g;
  Mat   copy;
  char  grid[256], name[320];

  PetscFunctionBegin;
  PetscCall(CaseName(&w->c, grid, sizeof(grid)));
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s%s%s, coarsened by %d,%d,%d from %d,%d,%d on", grid, w->symmetric ? ", symmetric" : "",
                          w->identity ? ", identity rows" : "", (int)w->factor[0], (int)w->factor[1], (int)w->factor[2], (int)w->first[0],
                          (int)w->first[1], (int)w->first[2]));
  PetscCall(GridsCreate(PETSC_COMM_WORLD, w, &g));
  if (g.coarse) {
    PetscCall(TestDefinition(w, name));
    PetscCall(TestLines(w, name));
    PetscCall(TestProducts(w, &g, g.P, "", name));
    PetscCall(MatDuplicate(g.P, MAT_COPY_VALUES, &copy));
    PetscCall(TestProducts(w, &g, copy, " of a copy", name));
    PetscCall(MatDestroy(&copy));
    PetscCall(TestGalerkin(w, &g, name));
    PetscCall(TestAgain(w, &g, name));
  }
  PetscCall(GridsDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRandom(PetscInt n)
{
  PetscRandom random;
  PetscReal   r;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetSeed(random, 5));
  PetscCall(PetscRandomSeed(random));
  for (PetscInt i = 0; i < n; i++) {
    Weighted w = {.symmetric = (PetscBool)(i % 2), .identity = (PetscBool)(i / 2 % 2), .mixed = (PetscBool)(i / 4 % 2)};

    PetscCall(RandomCase(random, i, &w.c));
    for (PetscInt d = 0; d < 3; d++) {
      PetscCall(PetscRandomGetValueReal(random, &r));
      w.factor[d] = d < w.c.dim && r < 0.75 ? 2 : 1;
      if (w.c.boundary[d] != DM_BOUNDARY_PERIODIC) w.c.boundary[d] = DM_BOUNDARY_NONE;
      else if (w.factor[d] == 2) w.c.n[d] += w.c.n[d] == 1; /* a period of any other number of points */
    }
    if (w.c.kind == ROW) w.identity = PETSC_FALSE;
    if (w.c.n[0] * w.c.n[1] * w.c.n[2] == 1) continue;
    for (PetscInt d = 0; d < 3 && i % 3; d++)
      w.first[d] = w.factor[d] == 2 && w.c.boundary[d] == DM_BOUNDARY_NONE && w.c.n[d] > 1 && (i + d) % 4 ? 1 : 0;
    PetscCall(TestWeighted(&w));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt ncases = 36;

  PetscCall(ProblemInitialize(&argc, &argv));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &ncases, NULL));
  PetscCall(TestRandom(ncases));
  return HJTestEnd();
}

/* ranks: 1 2 3 4 */
/*
   Interpolation with weights from the rows of a matrix: the weights are those of the definition, the same on any ranks and backend; its
   products, P^T A P and rows are those of the AIJ matrix; constants, identity rows, rows without couplings; iterations of CG with PCHJMG
   where coefficients jump.
*/
#include "hjcase.h"
#include "hjcapture.h"
#include "core/hjweights.h"
#include "host/hjhostkernels.h"
#include "operator/hjtransfers.h"

/* Random stencils on a grid, some rows of which are a diagonal alone, and how it is coarsened */
typedef struct {
  Case      c;
  PetscInt  factor[3];
  PetscBool symmetric, identity, mixed; /* mixed: couplings of both signs, as Galerkin products have them */
} Weighted;

/* A DMDA of a communicator */
static PetscErrorCode GridDM(MPI_Comm comm, const Case *c, const PetscInt n[3], const PetscInt nranks[3], const PetscInt *const widths[3],
                             DM *da)
{
  PetscFunctionBegin;
  PetscCall(DMDACreate(comm, da));
  PetscCall(DMSetDimension(*da, c->dim));
  PetscCall(DMDASetSizes(*da, n[0], n[1], n[2]));
  PetscCall(DMDASetBoundaryType(*da, c->boundary[0], c->boundary[1], c->boundary[2]));
  PetscCall(DMDASetDof(*da, 1));
  PetscCall(DMDASetStencilWidth(*da, 1));
  PetscCall(DMDASetStencilType(*da, c->box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR));
  if (widths) {
    PetscCall(DMDASetNumProcs(*da, nranks[0], c->dim > 1 ? nranks[1] : PETSC_DECIDE, c->dim > 2 ? nranks[2] : PETSC_DECIDE));
    PetscCall(DMDASetOwnershipRanges(*da, widths[0], c->dim > 1 ? widths[1] : NULL, c->dim > 2 ? widths[2] : NULL));
  }
  PetscCall(CaseSetVecType(*da));
  PetscCall(DMSetMatType(*da, MATHJSTENCIL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coarse points are the even ones, of any number of points; where a rank would have none there is no coarse grid */
static PetscErrorCode Coarsen(DM fine, const Weighted *w, DM *coarse, HJTransfer *t)
{
  PetscInt        n[3] = {1, 1, 1}, nranks[3], *widths[3] = {NULL, NULL, NULL};
  const PetscInt *own[3];
  PetscBool       empty = PETSC_FALSE;
  char            reason[256];

  PetscFunctionBegin;
  *coarse = NULL;
  PetscCall(DMDAGetInfo(fine, NULL, NULL, NULL, NULL, &nranks[0], &nranks[1], &nranks[2], NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetOwnershipRanges(fine, &own[0], &own[1], &own[2]));
  for (PetscInt d = 0; d < w->c.dim; d++) {
    PetscInt start = 0;

    PetscCall(PetscMalloc1(nranks[d], &widths[d]));
    for (PetscInt r = 0; r < nranks[d]; r++) {
      const PetscInt end = start + own[d][r], f = w->factor[d];

      widths[d][r] = (end + f - 1) / f - (start + f - 1) / f;
      if (!widths[d][r] || (own[d][r] < 2 && nranks[d] > 1)) empty = PETSC_TRUE;
      start = end;
    }
    n[d] = (start + w->factor[d] - 1) / w->factor[d];
  }
  if (!empty) {
    PetscCall(GridDM(PetscObjectComm((PetscObject)fine), &w->c, n, nranks, (const PetscInt *const *)widths, coarse));
    PetscCall(DMSetUp(*coarse));
    PetscCall(HJTransferSet(*coarse, fine, (const PetscReal[]){0.5, 0.5, 0.5}, t, reason, sizeof(reason)));
    if (reason[0]) PetscCall(DMDestroy(coarse));
  }
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(widths[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool IsIdentity(const Weighted *w, const PetscInt at[3])
{
  PetscInt p[3];

  for (int d = 0; d < 3; d++) p[d] = ((at[d] % w->c.n[d]) + w->c.n[d]) % w->c.n[d];
  return (PetscBool)(w->identity && Random(p[0], p[1], p[2], 77, 0) > 0.8);
}

/* Couplings of very different sizes; symmetric ones are those of the pair of points, whichever is first */
static PetscReal PairEntry(const Weighted *w, const PetscInt at[3], const PetscInt off[3], PetscInt salt)
{
  PetscInt  sum[3];
  PetscReal a;

  for (int d = 0; d < 3; d++) {
    sum[d] = 2 * at[d] + off[d];
    if (w->c.boundary[d] == DM_BOUNDARY_PERIODIC) sum[d] = (sum[d] + 2 * w->c.n[d]) % (2 * w->c.n[d]);
    if (w->c.kind == ROW) sum[d] = PetscAbs(off[d]);
    if (w->c.kind == DICTIONARY) sum[d] = sum[d] / 8 % 2 + 2 * PetscAbs(off[d]);
  }
  a = -PetscPowReal(10.0, 3 * Random(sum[0], sum[1], sum[2], 1, salt));
  if (w->mixed && Random(sum[0], sum[1], sum[2], 3, salt) > 0.5) a = -a;
  return w->symmetric ? a : a * (1 + 0.5 * Random(at[0] + 3 * off[0], at[1] + 5 * off[1], at[2] + 7 * off[2], 2, salt));
}

static PetscErrorCode WeightedFill(const Weighted *w, DM da, PetscInt salt, Mat A)
{
  PetscInt s[3], n[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &n[0], &n[1], &n[2]));
  for (PetscInt k = s[2]; k < s[2] + n[2]; k++) {
    for (PetscInt j = s[1]; j < s[1] + n[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + n[0]; i++) {
        const PetscInt   at[3] = {i, j, k};
        const MatStencil row   = {.i = i, .j = j, .k = k};
        MatStencil       col[27];
        PetscScalar      v[27], sum = 0.0;
        PetscInt         m, centre  = -1;

        m = CaseRow(&w->c, at, salt, col, v);
        for (PetscInt e = 0; e < m; e++) {
          const PetscInt off[3] = {col[e].i - i, col[e].j - j, col[e].k - k};

          if (!off[0] && !off[1] && !off[2]) {
            centre = e;
            continue;
          }
          v[e] = PairEntry(w, at, off, salt);
          sum += PetscAbsScalar(v[e]);
        }
        v[centre] = sum * (1 + 0.01 * PetscMax(Random(i, j, k, 5, salt), 0.0)); /* half of the rows have a positive sum */
        if (w->c.kind == ROW) v[centre] = 30.0;
        if (IsIdentity(w, at)) {
          col[0] = col[centre];
          v[0]   = 3.0;
          m      = 1;
        }
        PetscCall(MatSetValuesStencil(A, 1, &row, m, col, v, ADD_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids, matrix and interpolation on a communicator; coarse is NULL where there is none */
typedef struct {
  DM         fine, coarse;
  HJTransfer t;
  Mat        A, P;
  HJJump     jump;
} Grids;

static PetscErrorCode GridsCreate(MPI_Comm comm, const Weighted *w, Grids *g)
{
  HJSetWeights set;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(g, sizeof(*g)));
  PetscCall(GridDM(comm, &w->c, w->c.n, NULL, NULL, &g->fine));
  PetscCall(DMSetUp(g->fine));
  PetscCall(Coarsen(g->fine, w, &g->coarse, &g->t));
  if (!g->coarse) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateHJStencil(g->fine, &g->A));
  PetscCall(WeightedFill(w, g->fine, 0, g->A));
  PetscCall(HJMatCreateTransfer(g->coarse, g->fine, &g->t, &g->P));
  PetscCall(PetscObjectQueryFunction((PetscObject)g->P, HJ_SET_WEIGHTS, &set));
  PetscCall((*set)(g->P, g->A, w->symmetric, -1.0, &g->jump));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GridsDestroy(Grids *g)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&g->A));
  PetscCall(MatDestroy(&g->P));
  PetscCall(DMDestroy(&g->coarse));
  PetscCall(DMDestroy(&g->fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
    if (p[d] && def->w->c.boundary[d] != DM_BOUNDARY_PERIODIC && f[d] + p[d] >= def->w->c.n[d]) return 1.0;
  own   = PathsOf(def, f, t);
  other = PathsOf(def, f, p);
  return own + other > 0.0 ? own / (own + other) : 0.5;
}

static PetscReal WeightOf(const Definition *def, const PetscInt f[3], const PetscInt c[3])
{
  PetscInt  here[3], p[3], q[3], refined = 0;
  PetscReal out = 0.0, along = 0.0, near = 0.0, repelled = 0.0;

  for (int d = 0; d < 3; d++) {
    p[d]    = f[d] - def->w->factor[d] * c[d];
    here[d] = def->w->factor[d] * c[d];
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
        if (f[d] - w->factor[d] * c[d] > 1) c[d] += n[d]; /* a periodic image */
      worst = PetscMax(worst, PetscAbsReal(PetscRealPart(values[e]) - WeightOf(&def, f, c)));
    }
    PetscCall(MatRestoreRow(P, row, &m, &columns, &values));
  }
  PetscCall(HJTestOK((PetscBool)(worst <= 1e-9), "%s: weights of the definition (%g)", name, (double)worst));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&def.S));
  PetscCall(MatDestroy(&def.A));
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
    PetscCall(DMCreateGlobalVector(transpose ? alone.coarse : alone.fine, &bs));
    PetscCall(VecDuplicate(bs, &ys));
    PetscCall(AllNatural(from, x, &all));
    PetscCall(VecCopy(all, xs));
    PetscCall(VecDestroy(&all));
    PetscCall(AllNatural(to, b, &all));
    PetscCall(VecCopy(all, bs));
    PetscCall(VecDestroy(&all));
    PetscCall(Apply(alone.P, transpose, PETSC_FALSE, xs, m % 3 ? bs : NULL, ys));
    PetscCall(AllNatural(to, y[0], &all));
    PetscCall(VecCopy(all, bs));
    PetscCall(VecsAgree(bs, ys, 1e-9, &agree, &diff[1]));
    serial = (PetscBool)(serial && agree);
    if (!same || !serial) PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr, "# product %d: %g %g\n", m, (double)diff[0], (double)diff[1]));
    PetscCall(VecDestroy(&all));
    PetscCall(VecDestroy(&xs));
    PetscCall(VecDestroy(&bs));
    PetscCall(VecDestroy(&ys));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
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
  PetscCall(MatMultTranspose(Q, diagonal, scale)); /* as large as the terms that a row is summed from, weights are not negative */
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
  PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&D));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&Q));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in place, and bilinear again */
static PetscErrorCode TestAgain(const Weighted *w, const Grids *g, const char *name)
{
  HJSetWeights set;
  Mat          P, Q, R, B;
  PetscReal    diff[4];
  HJJump       unused, jump, limited[2];

  PetscFunctionBegin;
  PetscCall(MatZeroEntries(g->A));
  PetscCall(WeightedFill(w, g->fine, 3, g->A));
  PetscCall(PetscObjectQueryFunction((PetscObject)g->P, HJ_SET_WEIGHTS, &set));
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
  for (int more = 0; more < 2; more++) { /* bilinear up to the jump; with weights where it is larger */
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
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(&Q));
  PetscCall(MatDestroy(&R));
  PetscCall(MatDestroy(&B));
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
  HJWeightsFill         f       = {.shell = &shell, .coarse_shell = &shell, .jump = &jump[0]};
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
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s%s%s, coarsened by %d,%d,%d", grid, w->symmetric ? ", symmetric" : "",
                          w->identity ? ", identity rows" : "", (int)w->factor[0], (int)w->factor[1], (int)w->factor[2]));
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
    PetscCall(TestWeighted(&w));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two products of the same values: as arrays of all slots and as a half */
typedef struct {
  Mat all, half;
} Halves;

/* Both are the same matrix, and the half is one in memory and in what it does */
static PetscErrorCode HalvesAgree(const Halves *h, PetscBool is_half, PetscBool *good)
{
  MatInfo   info[2];
  PetscBool agree = PETSC_FALSE, same = PETSC_TRUE;
  PetscReal diff;
  Vec       x, y[2];
  Mat       B;

  PetscFunctionBegin;
  PetscCall(MatConvert(h->all, MATAIJ, MAT_INITIAL_MATRIX, &B));
  PetscCall(MatsAgree(h->half, B, &agree));
  PetscCall(MatDestroy(&B));
  PetscCall(MatGetInfo(h->all, MAT_LOCAL, &info[0]));
  PetscCall(MatGetInfo(h->half, MAT_LOCAL, &info[1]));
  *good = (PetscBool)(agree && is_half == (PetscBool)(info[1].memory != info[0].memory));
  PetscCall(MatCreateVecs(h->all, &x, &y[0]));
  PetscCall(VecDuplicate(y[0], &y[1]));
  PetscCall(VecSetRandom(x, NULL));
  for (int m = 0; m < 3; m++) {
    for (int i = 0; i < 2; i++) {
      Mat A = i ? h->half : h->all;

      PetscCall(m == 0 ? MatMult(A, x, y[i]) : m == 1 ? MatMultTranspose(A, x, y[i]) : MatGetDiagonal(A, y[i]));
    }
    PetscCall(VecsAgree(y[0], y[1], 64 * PETSC_MACHINE_EPSILON, &same, &diff));
    *good = (PetscBool)(*good && same);
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y[0]));
  PetscCall(VecDestroy(&y[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of symmetric matrices that keep half the coefficients: those that keep all, also of one another; changed as others are */
static PetscErrorCode TestHalf(const Weighted *w)
{
  Grids        g;
  Halves       first, second, copy;
  HJTransfer   t;
  HJSetWeights set;
  HJJump       jump[2];
  PetscBool    good[5] = {PETSC_FALSE}, larger;
  DM           coarser;
  Mat          P;
  Vec          scale;
  PetscScalar  v   = 2.5;
  PetscInt     row = 0;

  PetscFunctionBegin;
  PetscCall(GridsCreate(PETSC_COMM_SELF, w, &g));
  PetscCall(MatPtAP(g.A, g.P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &first.all));
  PetscCall(HJMatTransferSetSymmetric(g.P, PETSC_TRUE));
  PetscCall(MatPtAP(g.A, g.P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &first.half));
  PetscCall(HalvesAgree(&first, PETSC_TRUE, &good[0]));
  PetscCall(Coarsen(g.coarse, w, &coarser, &t));
  PetscCall(HJMatCreateTransfer(coarser, g.coarse, &t, &P));
  PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_SET_WEIGHTS, &set));
  PetscCall((*set)(P, first.all, PETSC_TRUE, -1.0, &jump[0]));
  PetscCall(MatPtAP(first.all, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &second.all));
  PetscCall((*set)(P, first.half, PETSC_TRUE, -1.0, &jump[1]));
  PetscCall(HJMatTransferSetSymmetric(P, PETSC_TRUE));
  PetscCall(MatPtAP(first.half, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &second.half));
  PetscCall(HalvesAgree(&second, PETSC_TRUE, &good[1]));
  good[1] = (PetscBool)(good[1] && jump[0].points == jump[1].points && PetscAbsReal(jump[0].largest - jump[1].largest) <= 1e-12);
  PetscCall((*set)(P, NULL, PETSC_TRUE, 0.0, &jump[0])); /* bilinear */
  PetscCall(MatPtAP(first.half, P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &second.half));
  PetscCall(HJMatTransferSetSymmetric(P, PETSC_FALSE));
  PetscCall(MatPtAP(first.all, P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &second.all));
  PetscCall(HalvesAgree(&second, PETSC_TRUE, &good[2]));
  for (int i = 0; i < 2; i++) {
    Mat *C = i ? &copy.half : &copy.all;

    PetscCall(MatDuplicate(i ? first.half : first.all, MAT_COPY_VALUES, C));
    PetscCall(MatScale(*C, 1.5));
    PetscCall(MatShift(*C, 0.25));
  }
  PetscCall(HalvesAgree(&copy, PETSC_TRUE, &good[4]));
  for (int i = 0; i < 2; i++) {
    Mat C = i ? copy.half : copy.all;

    PetscCall(MatCreateVecs(C, &scale, NULL));
    PetscCall(VecSet(scale, 1.0));
    PetscCall(VecSetValue(scale, 0, 3.0, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(scale));
    PetscCall(VecAssemblyEnd(scale));
    PetscCall(MatDiagonalScale(C, scale, NULL)); /* no longer symmetric */
    PetscCall(MatSetValues(C, 1, &row, 1, &row, &v, ADD_VALUES));
    PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
    PetscCall(VecDestroy(&scale));
  }
  PetscCall(HalvesAgree(&copy, PETSC_FALSE, &larger));
  good[4] = (PetscBool)(good[4] && larger);
  PetscCall(HJMatTransferSetSymmetric(g.P, PETSC_FALSE));
  PetscCall(MatPtAP(g.A, g.P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &first.half)); /* no longer known to be symmetric */
  PetscCall(HalvesAgree(&first, PETSC_FALSE, &good[3]));
  PetscCall(HJTestOK((PetscBool)(good[0] && good[1] && good[2] && good[3] && good[4]),
                     "%dD %d x %d x %d, refined by %d,%d,%d: a half is what all slots are%s%s%s%s%s", (int)w->c.dim, (int)w->c.n[0],
                     (int)w->c.n[1], (int)w->c.n[2], (int)w->factor[0], (int)w->factor[1], (int)w->factor[2],
                     good[0] ? "" : ", not the first product", good[1] ? "" : ", not the second", good[2] ? "" : ", not the bilinear one",
                     good[3] ? "" : ", not all of it", good[4] ? "" : ", not when changed"));
  for (int i = 0; i < 2; i++) {
    PetscCall(MatDestroy(i ? &first.half : &first.all));
    PetscCall(MatDestroy(i ? &second.half : &second.all));
    PetscCall(MatDestroy(i ? &copy.half : &copy.all));
  }
  PetscCall(MatDestroy(&P));
  PetscCall(DMDestroy(&coarser));
  PetscCall(GridsDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On one rank, as halves are; thin grids too, on which offsets lead outside at both ends */
static PetscErrorCode TestHalves(void)
{
  const Weighted cases[] = {
    {.c = {1, {41, 1, 1}, {DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS}, .factor = {2, 1, 1}, .symmetric = PETSC_TRUE},
    {.c = {2, {70, 43, 1}, {DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS}, .factor = {2, 2, 1}, .symmetric = PETSC_TRUE},
    {.c = {2, {30, 29, 1}, {DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS}, .factor = {1, 2, 1}, .symmetric = PETSC_TRUE},
    {.c = {2, {2, 19, 1}, {DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS}, .factor = {1, 2, 1}, .symmetric = PETSC_TRUE},
    {.c = {2, {19, 3, 1}, {DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS}, .factor = {2, 2, 1}, .symmetric = PETSC_TRUE, .mixed = PETSC_TRUE},
    {.c = {3, {21, 18, 13}, {DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS}, .factor = {2, 2, 2}, .symmetric = PETSC_TRUE},
    {.c = {3, {9, 14, 11}, {DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS}, .factor = {2, 1, 2}, .symmetric = PETSC_TRUE},
    {.c = {3, {5, 3, 4}, {DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS}, .factor = {2, 2, 2}, .symmetric = PETSC_TRUE},
    {.c = {3, {2, 1, 12}, {DM_BOUNDARY_NONE}, PETSC_TRUE, ARRAYS}, .factor = {2, 1, 2}, .symmetric = PETSC_TRUE},
  };
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases) && size == 1; i++) PetscCall(TestHalf(&cases[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where coefficients jump, and how couplings follow from them */
typedef enum { EVEN, SMOOTH, REGION, SEAM, BLOCKS } Medium;
typedef enum { HARMONIC, SAMPLED } Face;

typedef struct {
  PetscInt  dim, n;
  Medium    medium;
  PetscReal jump;
  PetscInt  block; /* points of a block, BLOCKS */
  Face      face;
  Boundary  boundary; /* any but MIRROR */
  PetscReal reaction; /* added to the diagonal */
  PetscInt  thin;     /* points in x; 0: n, as in the others */
} Jumps;

static PetscInt JumpsPoints(const Jumps *p, int d)
{
  return d == 0 && p->thin ? p->thin : p->n;
}

static PetscBool JumpsIsPeriodic(const Jumps *p, int d)
{
  const Problem grid = {.dim = p->dim, .boundary = p->boundary};

  return ProblemIsPeriodic(&grid, d);
}

/* In [0, 1), of three numbers */
static PetscReal Chance(PetscInt i, PetscInt j, PetscInt k)
{
  const PetscReal x = 43758.5453 * PetscSinReal(12.9898 * i + 78.233 * j + 37.719 * k + 1.0);

  return x - PetscFloorReal(x);
}

static PetscReal Conductivity(const Jumps *p, const PetscReal at[3])
{
  PetscReal c[3];
  PetscBool in = PETSC_TRUE;

  for (int d = 0; d < 3; d++) {
    c[d] = at[d] + (p->medium == SEAM && JumpsIsPeriodic(p, d) ? p->n / 2 : 0); /* what lies across the seam */
    if (JumpsIsPeriodic(p, d)) c[d] = c[d] < 0.0 ? c[d] + p->n : c[d] >= p->n ? c[d] - p->n : c[d];
  }
  if (p->medium == EVEN) return 1.0;
  if (p->medium == SMOOTH) return PetscExpReal(2 * PetscSinReal(3 * c[0] / p->n + 2 * c[1] / p->n - c[2] / p->n));
  if (p->medium == BLOCKS)
    return PetscPowReal(p->jump, Chance((PetscInt)(c[0] / p->block), (PetscInt)(c[1] / p->block), (PetscInt)(c[2] / p->block)));
  for (PetscInt d = 0; d < p->dim; d++) in = (PetscBool)(in && c[d] > 0.31 * p->n && c[d] < 0.64 * p->n);
  return in ? p->jump : 1.0;
}

static PetscReal Coupling(const Jumps *p, const PetscInt at[3], int d, int o)
{
  PetscReal c[2][3], mid[3];

  for (int e = 0; e < 3; e++) {
    c[0][e] = at[e];
    c[1][e] = at[e] + (e == d ? o : 0);
    mid[e]  = 0.5 * (c[0][e] + c[1][e]);
    if (!JumpsIsPeriodic(p, e)) mid[e] = PetscMax(mid[e], 0.0);
  }
  if (p->face == SAMPLED) return Conductivity(p, mid);
  if ((at[d] + o < 0 || at[d] + o >= JumpsPoints(p, d)) && !JumpsIsPeriodic(p, d)) return Conductivity(p, c[0]);
  return 2 / (1 / Conductivity(p, c[0]) + 1 / Conductivity(p, c[1]));
}

static PetscErrorCode JumpsFill(const Jumps *p, DM da, Mat A)
{
  PetscInt s[3], w[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  for (PetscInt k = s[2]; k < s[2] + w[2]; k++) {
    for (PetscInt j = s[1]; j < s[1] + w[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + w[0]; i++) {
        const PetscInt at[3] = {i, j, k};
        MatStencil     row   = {.i = i, .j = j, .k = k}, col[7];
        PetscScalar    v[7], diagonal = p->reaction;
        PetscInt       n    = 1;
        PetscBool      edge = PETSC_FALSE;

        for (int d = 0; d < p->dim; d++) {
          edge = (PetscBool)(edge || !at[d] || at[d] == JumpsPoints(p, d) - 1);
          for (int o = -1; o <= 1; o += 2) {
            const PetscBool out = (PetscBool)((at[d] + o < 0 || at[d] + o >= JumpsPoints(p, d)) && !JumpsIsPeriodic(p, d));
            const PetscReal a   = Coupling(p, at, d, o);

            if (out && p->boundary == NEUMANN) continue;
            diagonal += a;
            if (out) continue;
            col[n] = (MatStencil){.i = i + (d == 0 ? o : 0), .j = j + (d == 1 ? o : 0), .k = k + (d == 2 ? o : 0)};
            v[n++] = -a;
          }
        }
        if (edge && p->boundary == IDENTITY) n = 1;
        col[0] = row;
        v[0]   = diagonal;
        PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode JumpsCreate(const Jumps *p, DM *da, Mat *A)
{
  Problem grid = {p->dim, {JumpsPoints(p, 0), p->dim > 1 ? p->n : 1, p->dim > 2 ? p->n : 1}, p->boundary, CONSTANT, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(ProblemDM(&grid, da));
  PetscCall(MatCreateHJStencil(*da, A));
  PetscCall(JumpsFill(p, *da, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of CG to 1e-8 in the true residual; whether the view of the PC holds the words; seconds of a solve without set-up, or NULL */
static PetscErrorCode Iterations(const Jumps *p, PCHJMGTransfer transfer, PetscInt levels, const char *words, PetscInt *its,
                                 PetscBool *holds, PetscLogDouble *seconds)
{
  DM           da;
  Mat          A;
  KSP          ksp;
  PC           pc;
  Vec          b, x;
  MatNullSpace null;

  PetscFunctionBegin;
  PetscCall(JumpsCreate(p, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 300));
  if ((p->boundary == NEUMANN || p->boundary == PERIODIC) && p->reaction == 0.0) {
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &null));
    PetscCall(MatSetNullSpace(A, null));
    PetscCall(MatNullSpaceRemove(null, b));
    PetscCall(MatNullSpaceDestroy(&null));
  }
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(PCHJMGSetTransfer(pc, transfer));
  PetscCall(PCHJMGSetLevels(pc, levels));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  if (words) PetscCall(ViewHolds(pc, words, holds));
  if (seconds) {
    PetscLogDouble end;
    PetscReal      norm;

    PetscCall(PetscTime(seconds));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(VecNorm(x, NORM_2, &norm)); /* waits for a device */
    PetscCall(PetscTime(&end));
    *seconds = end - *seconds;
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define FROM_MATRIX "interpolation to level 0: weights from the matrix"
#define FROM_GRID   "interpolation to level 0: bilinear"

/* Iterations, the same on any ranks; what auto chooses. The region that is sampled jumps at coarse points alone on the first grids. Bars
   of the library are 8 iterations for one region; for blocks 20 with means, and with samples 40 in 2D, 60 in 3D */
static const struct {
  Jumps       p;
  PetscInt    levels, its;
  const char *words;
} solves[] = {
  {{1, 257, EVEN, 1, 1, HARMONIC, DIRICHLET, 0, 0}, 4, 4, FROM_GRID},
  {{1, 257, BLOCKS, 1e6, 5, HARMONIC, DIRICHLET, 0, 0}, 4, 4, FROM_MATRIX},
  {{2, 129, EVEN, 1, 1, HARMONIC, DIRICHLET, 0, 0}, 4, 4, FROM_GRID},
  {{2, 129, EVEN, 1, 1, HARMONIC, IDENTITY, 0, 0}, 4, 4, FROM_GRID},
  {{2, 129, EVEN, 1, 1, HARMONIC, NEUMANN, 0.1, 0}, 4, 4, FROM_GRID},
  {{2, 129, SMOOTH, 1, 1, HARMONIC, DIRICHLET, 0, 0}, 4, 3, FROM_GRID},
  {{2, 129, REGION, 1e2, 1, HARMONIC, DIRICHLET, 0, 0}, 6, 5, FROM_MATRIX},
  {{2, 129, REGION, 1e6, 1, HARMONIC, DIRICHLET, 0, 0}, 6, 5, FROM_MATRIX},
  {{2, 129, REGION, 1e-6, 1, HARMONIC, DIRICHLET, 0, 0}, 6, 5, FROM_MATRIX},
  {{2, 257, REGION, 1e6, 1, SAMPLED, DIRICHLET, 0, 0}, 7, 4, FROM_GRID},
  {{2, 257, BLOCKS, 1e6, 5, HARMONIC, DIRICHLET, 0, 0}, 4, 8, FROM_MATRIX},
  {{2, 513, BLOCKS, 1e6, 5, HARMONIC, DIRICHLET, 0, 0}, 5, 9, FROM_MATRIX},
  {{2, 257, BLOCKS, 1e6, 5, SAMPLED, DIRICHLET, 0, 0}, 4, 12, FROM_MATRIX},
  {{2, 257, BLOCKS, 1e6, 8, SAMPLED, DIRICHLET, 0, 0}, 4, 16, FROM_MATRIX},
  {{2, 257, BLOCKS, 1e6, 13, SAMPLED, IDENTITY, 0, 0}, 4, 8, FROM_MATRIX},
  {{2, 257, BLOCKS, 1e6, 5, HARMONIC, NEUMANN, 0, 0}, 4, 8, FROM_MATRIX},
  {{3, 33, EVEN, 1, 1, HARMONIC, DIRICHLET, 0, 0}, 3, 4, FROM_GRID},
  {{3, 33, EVEN, 1, 1, HARMONIC, IDENTITY, 0, 0}, 3, 4, FROM_GRID},
  {{3, 65, REGION, 1e6, 1, HARMONIC, DIRICHLET, 0, 0}, 4, 5, FROM_MATRIX},
  {{3, 65, BLOCKS, 1e6, 5, HARMONIC, DIRICHLET, 0, 0}, 4, 7, FROM_MATRIX},
  {{3, 65, BLOCKS, 1e6, 5, SAMPLED, DIRICHLET, 0, 0}, 4, 13, FROM_MATRIX},
  {{2, 101, SEAM, 1e6, 1, HARMONIC, PERIODIC_FIRST, 0, 0}, 6, 5, FROM_MATRIX},
  {{2, 101, SEAM, 1e-6, 1, HARMONIC, PERIODIC, 0, 0}, 5, 5, FROM_MATRIX},
  {{2, 101, BLOCKS, 1e6, 5, HARMONIC, PERIODIC, 0, 0}, 5, 9, FROM_MATRIX},
  {{2, 101, BLOCKS, 1e6, 7, SAMPLED, PERIODIC_LAST, 0, 0}, 5, 10, FROM_MATRIX},
  {{3, 33, REGION, 1e6, 1, HARMONIC, PERIODIC_LAST, 0, 0}, 4, 5, FROM_MATRIX},
  {{3, 33, SEAM, 1e6, 1, HARMONIC, PERIODIC, 0, 0}, 3, 5, FROM_MATRIX},
  {{3, 33, BLOCKS, 1e6, 5, HARMONIC, PERIODIC_FIRST, 0, 0}, 3, 6, FROM_MATRIX},
};

static PetscErrorCode TestSolves(void)
{
  static const char *const media[] = {"even", "smooth", "one region", "a region across the seam", "blocks"};

  PetscBool gpu = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(CaseOnGPU(&gpu));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(solves); i++) {
    const Jumps *p = &solves[i].p;
    PetscInt     its;
    PetscBool    holds = PETSC_FALSE;

    PetscCall(Iterations(p, PC_HJMG_TRANSFER_AUTO, solves[i].levels, solves[i].words, &its, &holds, NULL));
    /* On a GPU the coarsest grid is solved to the end, which may save one */
    if (its != solves[i].its && !(gpu && its == solves[i].its - 1)) holds = PETSC_FALSE;
    PetscCall(HJTestOK(holds, "%dD, %d points, %s of %d, jump %g, %s, %s: %d iterations, %d expected", (int)p->dim, (int)p->n,
                       media[p->medium], (int)p->block, (double)p->jump, p->face == SAMPLED ? "sampled" : "means",
                       BoundaryNames()[p->boundary], (int)its, (int)solves[i].its));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Jumps are seen too on grids of few points in a direction, where most or all of them lie at an end */
static PetscErrorCode TestThin(void)
{
  static const struct {
    PetscInt dim, n, thin, its;
  } cases[] = {{2, 513, 3, 5}, {3, 33, 3, 6}, {3, 33, 6, 8}};

  PetscBool gpu = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(CaseOnGPU(&gpu));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    const Jumps p     = {.dim      = cases[i].dim,
                         .n        = cases[i].n,
                         .medium   = BLOCKS,
                         .jump     = 1e6,
                         .block    = 5,
                         .face     = HARMONIC,
                         .boundary = NEUMANN,
                         .thin     = cases[i].thin};
    PetscBool   holds = PETSC_FALSE;
    PetscInt    its;

    PetscCall(Iterations(&p, PC_HJMG_TRANSFER_AUTO, PETSC_DECIDE, FROM_MATRIX, &its, &holds, NULL));
    if (its != cases[i].its && !(gpu && its == cases[i].its - 1)) holds = PETSC_FALSE;
    PetscCall(HJTestOK(holds, "%dD, %d points, %d in x, blocks: %d iterations, %d expected", (int)p.dim, (int)p.n, (int)p.thin, (int)its,
                       (int)cases[i].its));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the problems of a dimension, on other grids, with as many levels as lead to a small one */
static PetscErrorCode PrintIterations(PetscInt n)
{
  PetscInt dim = 2;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dim", &dim, NULL));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(solves); i++) {
    Jumps          p = solves[i].p;
    PetscInt       its;
    PetscBool      unused;
    PetscLogDouble seconds;

    if (p.dim != dim || p.medium < REGION) continue;
    p.n = n;
    PetscCall(Iterations(&p, PC_HJMG_TRANSFER_AUTO, PETSC_DECIDE, NULL, &its, &unused, &seconds));
    PetscCall(HJTestNote("%dD %d, %s %d, jump %g, %s, %s: %d iterations, %.4f s", (int)dim, (int)n, p.medium < BLOCKS ? "region" : "blocks",
                         (int)p.block, (double)p.jump, p.face == SAMPLED ? "sampled" : "means", BoundaryNames()[p.boundary], (int)its,
                         seconds));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Weights of smooth problems cost at most an iteration more than bilinear interpolation: reactions, boundaries of all kinds */
static PetscErrorCode TestEven(void)
{
  static const Jumps problems[] = {{2, 129, EVEN, 1, 1, HARMONIC, DIRICHLET, 0, 0},   {2, 129, EVEN, 1, 1, HARMONIC, IDENTITY, 0, 0},
                                   {2, 129, EVEN, 1, 1, HARMONIC, NEUMANN, 0, 0},     {2, 129, EVEN, 1, 1, HARMONIC, NEUMANN, 0.1, 0},
                                   {2, 129, EVEN, 1, 1, HARMONIC, DIRICHLET, 0.1, 0}, {2, 129, EVEN, 1, 1, HARMONIC, DIRICHLET, 10, 0},
                                   {2, 129, SMOOTH, 1, 1, HARMONIC, DIRICHLET, 0, 0}, {3, 33, EVEN, 1, 1, HARMONIC, DIRICHLET, 0, 0},
                                   {3, 33, EVEN, 1, 1, HARMONIC, NEUMANN, 0, 0}};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i++) {
    const Jumps *p = &problems[i];
    PetscInt     its[2];
    PetscBool    unused;

    PetscCall(Iterations(p, PC_HJMG_TRANSFER_OPERATOR, 4, NULL, &its[0], &unused, NULL));
    PetscCall(Iterations(p, PC_HJMG_TRANSFER_BILINEAR, 4, NULL, &its[1], &unused, NULL));
    PetscCall(HJTestOK((PetscBool)(its[0] <= its[1] + 1), "%dD, %s, %s, reaction %g: %d iterations, bilinear %d", (int)p->dim,
                       p->medium == EVEN ? "even" : "smooth", BoundaryNames()[p->boundary], (double)p->reaction, (int)its[0], (int)its[1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where coefficients jump at many points coarse grids have more subiterations, of symmetric matrices alone: polynomials of high degree may
   grow at complex eigenvalues */
static PetscErrorCode TestMany(PetscBool symmetric)
{
  const Jumps p = {2, 65, BLOCKS, 1e6, 5, HARMONIC, DIRICHLET, 0, 0};
  DM          da;
  Mat         A;
  PC          pc;
  Vec         d;
  PetscRandom random;
  PetscBool   many = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(JumpsCreate(&p, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &d));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(PetscRandomSetInterval(random, 1.0, 1.5));
  PetscCall(VecSetRandom(d, random));
  PetscCall(PetscRandomDestroy(&random));
  if (!symmetric) PetscCall(MatDiagonalScale(A, d, NULL));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCHJMGSetLevels(pc, 4));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHolds(pc, "k = 16,", &many));
  PetscCall(HJTestOK((PetscBool)(many == symmetric), "jumps at many points, %ssymmetric: coarse grids have %s subiterations",
                     symmetric ? "" : "un", many ? "more" : "no more"));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&d));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the weights of a matrix keep constants; then the coarse grid and the Galerkin product take the place of the fine ones */
static PetscErrorCode KeepConstants(DM *da, Mat *A, PetscReal *worst, HJJump *jump)
{
  DM           coarse;
  Mat          P, product;
  Vec          x, y;
  HJTransfer   t;
  HJSetWeights set;
  char         reason[256];

  PetscFunctionBegin;
  PetscCall(DMCoarsen(*da, PETSC_COMM_WORLD, &coarse));
  PetscCall(HJTransferSet(coarse, *da, NULL, &t, reason, sizeof(reason)));
  PetscCall(HJMatCreateTransfer(coarse, *da, &t, &P));
  PetscCall(PetscObjectQueryFunction((PetscObject)P, HJ_SET_WEIGHTS, &set));
  PetscCall((*set)(P, *A, PETSC_TRUE, -1.0, jump));
  PetscCall(MatCreateVecs(P, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(P, x, y));
  PetscCall(VecShift(y, -1.0));
  PetscCall(VecNorm(y, NORM_INFINITY, worst));
  PetscCall(MatPtAP(*A, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &product));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&P));
  PetscCall(MatDestroy(A));
  PetscCall(DMDestroy(da));
  *A  = product;
  *da = coarse;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows without a sum: constants stay, on coarse grids too, whose products have couplings of both signs; and again where the signs of all
   entries are the others */
static PetscErrorCode TestConstants(PetscInt dim, PetscReal sign)
{
  const Jumps p = {dim, dim < 3 ? 65 : 33, BLOCKS, 1e6, 3, SAMPLED, NEUMANN, 0, 0};
  DM          da;
  Mat         A;
  HJJump      jump;
  PetscReal   worst;

  PetscFunctionBegin;
  PetscCall(JumpsCreate(&p, &da, &A));
  PetscCall(MatScale(A, sign));
  for (int level = 0; level < 3; level++) {
    PetscCall(KeepConstants(&da, &A, &worst, &jump));
    /* a row's sum is rounding of its largest entry, 1e6 times what is left of it after the others */
    PetscCall(HJTestOK((PetscBool)(worst <= 1e-8 && jump.largest > 0.9 && jump.largest <= 1.0),
                       "%dD, sign %g, level %d: constants stay (%g), the jump is %g", (int)dim, (double)sign, level, (double)worst,
                       (double)jump.largest));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Couplings in one direction alone, or none at all: no weight is NaN, and where nothing says more they are bilinear */
static PetscErrorCode TestUncoupled(PetscBool lines)
{
  Weighted     w = {.c         = {2, {17, 16, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ARRAYS},
                    .factor    = {2, 2, 1},
                    .symmetric = PETSC_TRUE};
  Grids        g;
  HJSetWeights set;
  Vec          x, y;
  PetscReal    least, most;
  HJJump       jump;

  PetscFunctionBegin;
  PetscCall(GridsCreate(PETSC_COMM_WORLD, &w, &g));
  PetscCall(MatZeroEntries(g.A));
  if (lines) {
    PetscInt s[3], n[3];

    PetscCall(DMDAGetCorners(g.fine, &s[0], &s[1], &s[2], &n[0], &n[1], &n[2]));
    for (PetscInt j = s[1]; j < s[1] + n[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + n[0]; i++) {
        const MatStencil  row = {.i = i, .j = j}, col[3] = {{.i = i, .j = j}, {.i = i - 1, .j = j}, {.i = i + 1, .j = j}};
        const PetscScalar v[] = {2.0, -1.0, -1.0};

        PetscCall(MatSetValuesStencil(g.A, 1, &row, 1, col, v, INSERT_VALUES));
        if (i) PetscCall(MatSetValuesStencil(g.A, 1, &row, 1, col + 1, v + 1, INSERT_VALUES));
        if (i < 16) PetscCall(MatSetValuesStencil(g.A, 1, &row, 1, col + 2, v + 2, INSERT_VALUES));
      }
    }
    PetscCall(MatAssemblyBegin(g.A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(g.A, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(PetscObjectQueryFunction((PetscObject)g.P, HJ_SET_WEIGHTS, &set));
  PetscCall((*set)(g.P, g.A, PETSC_TRUE, -1.0, &jump));
  PetscCall(MatCreateVecs(g.P, &x, &y));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(g.P, x, y));
  PetscCall(VecMin(y, NULL, &least));
  PetscCall(VecMax(y, NULL, &most));
  PetscCall(HJTestOK((PetscBool)(lines ? PetscAbsReal(least - 1) < 1e-14 && PetscAbsReal(most - 1) < 1e-14 : least == 0.0 && most == 0.0),
                     "%s: a constant becomes %g to %g", lines ? "couplings along lines alone" : "no entry at all", (double)least,
                     (double)most));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(GridsDestroy(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRefused(void)
{
  const Jumps    p = {2, 33, EVEN, 1, 1, HARMONIC, DIRICHLET, 0, 0};
  DM             da;
  Mat            A;
  PC             pc;
  PCHJMGTransfer transfer;
  PetscBool      holds = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(JumpsCreate(&p, &da, &A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCHJMGSetLevels(pc, 2));
  PetscCall(PCHJMGGetTransfer(pc, &transfer));
  PetscCall(HJTestOK((PetscBool)(transfer == PC_HJMG_TRANSFER_AUTO), "auto is the default"));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_hjmg_transfer", "operator"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjmg_transfer"));
  PetscCall(PCHJMGGetTransfer(pc, &transfer));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHolds(pc, FROM_MATRIX, &holds));
  PetscCall(HJTestOK((PetscBool)(transfer == PC_HJMG_TRANSFER_OPERATOR && holds), "-pc_hjmg_transfer operator"));
  PetscCall(PCHJMGSetTransfer(pc, PC_HJMG_TRANSFER_BILINEAR));
  PetscCall(PCSetUp(pc));
  PetscCall(ViewHolds(pc, FROM_GRID, &holds));
  PetscCall(HJTestOK(holds, "bilinear after the matrix's"));
  ExpectError(PCHJMGSetTransfer(pc, (PCHJMGTransfer)7), "an unknown transfer", "Unknown value 7", "PCHJMGSetTransfer()");
  ExpectError(PCHJMGGetTransfer(pc, NULL), "nowhere to put the transfer", "Null Pointer: Parameter # 2");
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  ncases = 36, n = 0;
  PetscBool solve = PETSC_TRUE;
  int       code;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemBackend());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &ncases, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solve", &solve, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL)); /* another number of points: iterations are printed, not asserted */
  if (n) PetscCall(PrintIterations(n));
  else {
    PetscCall(TestRandom(ncases));
    PetscCall(TestHalves());
    if (solve) PetscCall(TestSolves());
    if (solve) PetscCall(TestThin());
    if (solve) PetscCall(TestEven());
    for (PetscInt dim = 1; dim <= 3; dim++) PetscCall(TestConstants(dim, dim % 2 ? 1.0 : -1.0));
    PetscCall(TestMany(PETSC_TRUE));
    PetscCall(TestMany(PETSC_FALSE));
    PetscCall(TestUncoupled(PETSC_TRUE));
    PetscCall(TestUncoupled(PETSC_FALSE));
    PetscCall(TestRefused());
  }
  code = HJTestDone();
  PetscCall(PetscFinalize());
  return code;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   A residual and its restriction in one pass, in every storage, shape, dimension, boundary and refinement: against sums written out point
   by point; and from matrices, on any number of ranks, against MatResidual() and MatMultTranspose().
   ranks: 1 2 3 4
*/
#include "hjcase.h"
#include "hjcoefficients.h"
#include "operator/hjoperator.h"
#include "operator/hjrestrictions.h"
#include "core/hjrestriction.h"

typedef struct {
  Case      c; /* n: fine points */
  PetscBool symmetric, even[3];
  PetscInt  factor[3], nc[3], first[3];
  PetscBool halves; /* points that hang have half of a coarse one; else a share of their own */
} RestrictCase;

typedef struct {
  const HJBackendOps *ops;
  HJTransfer          t;
  HJCoefficients      host, a; /* a: in the backend's memory */
  PetscScalar        *x, *b;   /* on the host */
} Setup;

/* Where a neighbour is; false: outside the domain */
static PetscBool Neighbor(const HJGrid *grid, const PetscInt at[3], const PetscInt off[3], PetscInt to[3])
{
  for (int d = 0; d < 3; d++) {
    to[d] = at[d] + off[d];
    if (to[d] >= 0 && to[d] < grid->N[d]) continue;
    if (!grid->periodic[d]) return PETSC_FALSE;
    to[d] = (to[d] + grid->N[d]) % grid->N[d];
  }
  return PETSC_TRUE;
}

static void SetGrid(const RestrictCase *rc, const PetscInt n[3], HJGrid *grid)
{
  memset(grid, 0, sizeof(*grid));
  grid->dim       = rc->c.dim;
  grid->min_width = PETSC_INT_MAX;
  for (int d = 0; d < 3; d++) {
    grid->N[d] = grid->owned.hi[d] = grid->domain.hi[d] = n[d];
    grid->periodic[d] = grid->neighbor[d][0] = grid->neighbor[d][1] = (PetscBool)(rc->c.boundary[d] == DM_BOUNDARY_PERIODIC);
    if (!grid->periodic[d]) continue;
    grid->domain.lo[d] = -HJ_ENDLESS;
    grid->domain.hi[d] = HJ_ENDLESS;
    grid->min_width    = PetscMin(grid->min_width, n[d]);
  }
}

/* Of a slot at a point; symmetric: the lower half is that of the neighbour, seen from there */
static PetscScalar Value(const RestrictCase *rc, const HJCoefficients *a, const HJGrid *grid, PetscInt slot, const PetscInt point[3])
{
  PetscInt at[3] = {point[0], point[1], point[2]}, off[3];

  HJSlotOffset(a, slot, off);
  if (rc->symmetric && off[0] + 3 * off[1] + 9 * off[2] < 0) {
    (void)Neighbor(grid, point, off, at);
    slot = HJSlotOpposite(a, slot);
  }
  if (rc->c.kind == ROW) return Random(0, 0, 0, slot, 3);
  if (rc->c.kind == DICTIONARY) return Random((at[0] / 30 + at[1] / 7 + at[2] / 3) % 3, 0, 0, slot, 3);
  return Random(at[0], at[1], at[2], slot, 3);
}

static void PointOf(const PetscInt n[3], PetscCount i, PetscInt at[3])
{
  at[0] = (PetscInt)(i % n[0]);
  at[1] = (PetscInt)(i / n[0] % n[1]);
  at[2] = (PetscInt)(i / n[0] / n[1]);
}

/* Arrays hold 0 where they lead outside; rows keep what they have elsewhere */
static PetscErrorCode Fill(const RestrictCase *rc, Setup *s)
{
  HJCoefficients *a    = &s->host;
  const HJGrid   *grid = &s->t.fine;

  PetscFunctionBegin;
  PetscCall(CoefficientsCreate(&rc->c, rc->symmetric, HJBoxSize(&grid->owned), a));
  for (PetscInt i = 0; i < a->nrows; i++) {
    const PetscInt at[3] = {30 * i, 0, 0};

    for (PetscInt slot = 0; slot < a->nslots; slot++) a->rows[i * a->nslots + slot] = Value(rc, a, grid, slot, at);
  }
  for (PetscCount n = 0; n < a->npoints; n++) {
    PetscInt at[3], to[3], off[3];

    PointOf(grid->N, n, at);
    if (a->index) a->index[n] = (unsigned char)((at[0] / 30 + at[1] / 7 + at[2] / 3) % 3);
    for (PetscInt slot = 0; slot < a->nslots && a->value; slot++) {
      HJSlotOffset(a, slot, off);
      a->value[slot * a->npoints + n] = Neighbor(grid, at, off, to) ? Value(rc, a, grid, slot, at) : 0.0;
    }
  }
  PetscCall(PetscMalloc2(a->npoints, &s->x, a->npoints, &s->b));
  for (PetscCount n = 0; n < a->npoints; n++) {
    s->x[n] = Random((PetscInt)n, 0, 0, 0, 1);
    s->b[n] = Random((PetscInt)n, 0, 0, 0, 2);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetupDestroy(Setup *s)
{
  PetscFunctionBegin;
  PetscCall(CoefficientsFree(s->ops, &s->a));
  PetscCall(CoefficientsDestroy(&s->host));
  PetscCall(PetscFree2(s->x, s->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A fine point gives one to the coarse point on it, one half to those beside it in a direction; one that hangs its own share */
static PetscErrorCode Wanted(const Setup *s, PetscScalar *y, PetscReal *norm2)
{
  const HJCoefficients *a = &s->host;
  const PetscInt       *f = s->t.factor;
  PetscInt              at[3], off[3], to[3];

  PetscFunctionBegin;
  *norm2 = 0.0;
  PetscCall(PetscArrayzero(y, HJBoxSize(&s->t.coarse.owned)));
  for (PetscCount n = 0; n < a->npoints; n++) {
    PetscScalar r = s->b[n];

    PointOf(s->t.fine.N, n, at);
    for (PetscInt slot = 0; slot < a->nslots; slot++) {
      HJSlotOffset(a, slot, off);
      if (Neighbor(&s->t.fine, at, off, to)) r -= HJCoefficientAt(a, slot, n) * s->x[HJBoxIndex(&s->t.fine.owned, to[0], to[1], to[2])];
    }
    *norm2 += r * r;
    for (int o = 0; o < 8; o++) {
      PetscInt    base[3], up[3];
      PetscScalar w = 1.0;

      for (int d = 0; d < 3; d++) {
        base[d] = at[d] < s->t.first[d] ? -1 : (at[d] - s->t.first[d]) / f[d];
        up[d]   = o >> d & 1;
        if ((at[d] - s->t.first[d]) % f[d]) w *= 0.5;
        else if (up[d]) w = 0.0;
        if (HJTransferBegins(&s->t, d) && at[d] == 0) w *= 2 * s->t.before[d];
        if (HJTransferHangs(&s->t, d) && at[d] == s->t.fine.N[d] - 1) w *= 2 * s->t.last[d];
      }
      if (w != 0.0 && Neighbor(&s->t.coarse, base, up, to)) y[HJBoxIndex(&s->t.coarse.owned, to[0], to[1], to[2])] += w * r;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Difference(PetscCount n, const PetscScalar *x, const PetscScalar *y)
{
  PetscReal worst = 0.0;

  for (PetscCount i = 0; i < n; i++) {
    const PetscReal diff = PetscAbsScalar(x[i] - y[i]);

    if (!(diff <= worst)) worst = diff;
  }
  return worst;
}

static PetscErrorCode RestrictCaseName(const RestrictCase *rc, char name[], size_t len)
{
  PetscFunctionBegin;
  PetscCall(CaseName(&rc->c, name, len));
  PetscCall(PetscSNPrintf(name + strlen(name), len - strlen(name), "%s, refined by %d,%d,%d from %d,%d,%d on",
                          rc->symmetric ? ", symmetric" : "", (int)rc->factor[0], (int)rc->factor[1], (int)rc->factor[2], (int)rc->first[0],
                          (int)rc->first[1], (int)rc->first[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the norm twice, the same to the bit, and without it */
static PetscErrorCode TestCase(const RestrictCase *rc, const HJBackendOps *ops)
{
  Setup         s = {.ops = ops};
  HJRestriction r = {.transfer = &s.t, .a = &s.a};
  PetscScalar  *zero, *want, *got;
  PetscReal     norm2, found[2], diff[3], tol, most;
  PetscCount    n, nc;
  char          name[256];
  PetscScalar  *x, *b;

  PetscFunctionBegin;
  SetGrid(rc, rc->c.n, &s.t.fine);
  SetGrid(rc, rc->nc, &s.t.coarse);
  for (int d = 0; d < 3; d++) {
    s.t.factor[d] = rc->factor[d];
    s.t.first[d]  = rc->first[d];
    s.t.before[d] = rc->halves ? 0.5 : 0.3 + 0.1 * d;
    s.t.last[d]   = rc->halves ? 0.5 : 0.2 + 0.1 * d;
  }
  n  = HJBoxSize(&s.t.fine.owned);
  nc = HJBoxSize(&s.t.coarse.owned);
  PetscCall(Fill(rc, &s));
  PetscCall(CoefficientsUpload(ops, &s.host, &s.a));
  PetscCall(PetscMalloc2(nc, &want, nc, &got));
  PetscCall(PetscCalloc1(HJ_RESTRICTION_NORM, &zero));
  PetscCall(Wanted(&s, want, &norm2));
  PetscCall(ToBackend(ops, s.x, n * sizeof(PetscScalar), &x));
  PetscCall(ToBackend(ops, s.b, n * sizeof(PetscScalar), &b));
  PetscCall(ops->alloc(NULL, nc, &r.y));
  PetscCall(ToBackend(ops, zero, HJ_RESTRICTION_NORM * sizeof(PetscScalar), &r.norm2));
  r.x = x;
  r.b = b;
  for (int i = 0; i < 3; i++) {
    PetscScalar *norm = r.norm2;

    for (PetscCount c = 0; c < nc; c++) got[c] = PETSC_MAX_REAL;
    PetscCall(ops->copy(NULL, r.y, got, nc));
    if (i == 2) r.norm2 = NULL;
    PetscCall(ops->multigrid->restrict_residual(&r));
    r.norm2 = norm;
    PetscCall(ops->copy(NULL, got, r.y, nc));
    diff[i] = Difference(nc, got, want);
    if (i < 2) PetscCall(ops->copy(NULL, &found[i], r.norm2, 1));
  }
  /* a residual is at most 1 + nslots, and off by nslots + 1 roundings of it; y sums at most 8 times that, in at most 27 steps */
  most = 1.0 + s.a.nslots;
  tol  = 8 * PETSC_MACHINE_EPSILON * most * (s.a.nslots + 28);
  PetscCall(RestrictCaseName(rc, name, sizeof(name)));
  PetscCall(HJTestOK((PetscBool)(diff[0] <= tol && diff[1] <= tol && diff[2] <= tol && found[0] == found[1] &&
                                 PetscAbsReal(found[0] - norm2) <= norm2 * PETSC_MACHINE_EPSILON * (n + 2) +
                                                                     2 * n * most * most * (s.a.nslots + 1) * PETSC_MACHINE_EPSILON),
                     "%s: off by %.1e, %.1e, without norm %.1e <= %.1e; norm2 %g, %g, wanted %g", name, (double)diff[0], (double)diff[1],
                     (double)diff[2], (double)tol, (double)found[0], (double)found[1], (double)norm2));
  PetscCall(ops->free(NULL, &x));
  PetscCall(ops->free(NULL, &b));
  PetscCall(ops->free(NULL, &r.y));
  PetscCall(ops->free(NULL, &r.norm2));
  PetscCall(PetscFree2(want, got));
  PetscCall(PetscFree(zero));
  PetscCall(SetupDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fine points of so many coarse ones; a direction with one coarse point is refined only if it is periodic or even */
static void SetSizes(RestrictCase *rc)
{
  for (int d = 0; d < 3; d++) {
    const PetscInt beyond = rc->c.boundary[d] == DM_BOUNDARY_PERIODIC || rc->even[d] ? 0 : 1;

    if (d >= rc->c.dim) rc->nc[d] = rc->factor[d] = 1;
    rc->c.n[d] = rc->factor[d] == 1 ? rc->nc[d] : 2 * rc->nc[d] - beyond + (rc->first[d] ? 1 : 0);
  }
}

static PetscErrorCode TestRandom(const HJBackendOps *ops, PetscInt cases)
{
  PetscRandom random;
  PetscReal   r[4];

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  for (PetscInt i = 0; i < cases; i++) {
    RestrictCase rc = {.c = {.dim = 1 + i % 3, .kind = (Kind)(i / 3 % 3)}};

    rc.c.box     = (PetscBool)(rc.c.dim > 1 && i / 9 % 2);
    rc.symmetric = (PetscBool)(rc.c.kind == ARRAYS && i / 18 % 2);
    for (PetscInt d = 0; d < 3; d++) {
      const PetscInt most = rc.c.dim == 1 ? 900 : rc.c.dim == 2 ? (d ? 60 : 200) : d ? 14 : 40;

      for (int k = 0; k < 4; k++) PetscCall(PetscRandomGetValueReal(random, &r[k]));
      rc.factor[d]     = r[0] < 0.75 ? 2 : 1;
      rc.nc[d]         = 1 + (PetscInt)(r[1] * (i % 5 ? most : 3));
      rc.c.boundary[d] = d < rc.c.dim && r[2] < 0.4 ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
      rc.even[d]       = (PetscBool)(r[3] < 0.4);
      rc.first[d]      = d < rc.c.dim && rc.factor[d] == 2 && r[2] >= 0.7;
    }
    rc.halves = (PetscBool)(i % 4 == 1);
    SetSizes(&rc);
    PetscCall(TestCase(&rc, ops));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids that a GPU does by its kernels for large ones; only: this one of the 30 operators, or -1 */
static PetscErrorCode TestLarge(const HJBackendOps *ops, PetscInt only)
{
  const PetscInt sizes[][3]   = {{100000, 1, 1}, {200, 170, 1}, {1030, 259, 1}, {57, 61, 39}, {17, 75, 17}};
  const PetscInt factors[][3] = {{2, 2, 2}, {1, 2, 2}, {2, 1, 2}, {2, 2, 1}, {2, 2, 2}};

  PetscFunctionBegin;
  for (int i = 0; i < 5; i++) {
    for (int which = 0; which < 30; which++) {
      RestrictCase rc = {.c = {.dim = i == 0 ? 1 : i < 3 ? 2 : 3, .kind = (Kind)(which % 3)}};
      const int    f  = which / 6;

      rc.c.box     = (PetscBool)(rc.c.dim > 1 && which / 3 % 2);
      rc.symmetric = (PetscBool)(rc.c.kind == ARRAYS && (f % 2 || (rc.c.box && !f && i == 4)));
      if ((rc.c.dim == 1 && which > 8) || (only >= 0 && which != only)) continue;
      if (rc.c.kind == ARRAYS && (i == 2 || i == 3)) continue; /* they take longest to fill */
      for (int d = 0; d < 3; d++) {
        rc.even[d]       = (PetscBool)((which + i + d) % 3 == 1);
        rc.factor[d]     = factors[f][d];
        rc.nc[d]         = sizes[i][d];
        rc.c.boundary[d] = f && d < rc.c.dim && (which + d) % 5 > 2 ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
        rc.first[d]      = d < rc.c.dim && rc.factor[d] == 2 && rc.c.boundary[d] == DM_BOUNDARY_NONE && (which / 2 + i + 2 * d) % 4 > 1;
      }
      rc.halves = (PetscBool)(which % 4 == 1);
      SetSizes(&rc);
      PetscCall(TestCase(&rc, ops));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That of the last call that was asked for it */
static PetscErrorCode GetNorm(const HJRestrict *op, PetscReal *norm)
{
  PetscScalar norm2;

  PetscFunctionBegin;
  if (op->apart) {
    PetscCall(VecNorm(op->residual, NORM_2, norm));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(op->ops->copy(NULL, &norm2, op->norm2, 1));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &norm2, 1, MPIU_SCALAR, MPIU_SUM, PetscObjectComm((PetscObject)op->A)));
  *norm = PetscSqrtReal(PetscRealPart(norm2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The DMDA of the fine points, whose planes are cut as the coarse ones are; or, shifted, below every cut one plane less */
static PetscErrorCode CutAsCoarse(const Case *c, DM coarse, PetscBool shifted, DM *fine)
{
  const int       slow = (int)c->dim - 1;
  const PetscInt *own[3];
  PetscInt       *widths[3] = {NULL, NULL, NULL}, n[3], ranks, start = 0;

  PetscFunctionBegin;
  PetscCall(HJGridGetRanks(coarse, n));
  ranks = n[slow];
  PetscCall(DMDAGetOwnershipRanges(coarse, &own[0], &own[1], &own[2]));
  PetscCall(PetscMalloc1(ranks, &widths[slow]));
  for (PetscInt r = 0, end = 0; r < ranks; r++) {
    end += 2 * own[slow][r];
    widths[slow][r] = (r == ranks - 1 ? c->n[slow] : end - (shifted ? 1 : 0)) - start;
    start += widths[slow][r];
  }
  PetscCall(CaseNewDM(c, fine));
  PetscCall(DMDASetNumProcs(*fine, n[0], n[1], n[2]));
  PetscCall(DMDASetOwnershipRanges(*fine, widths[0], widths[1], widths[2]));
  PetscCall(DMSetMatType(*fine, MATHJSTENCIL));
  PetscCall(CaseSetVecType(*fine));
  PetscCall(DMSetUp(*fine));
  PetscCall(PetscFree(widths[slow]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether some rank has fewer planes of a grid than a pass asks of its neighbours */
static PetscErrorCode IsThin(DM da, PetscInt dim, PetscBool *thin)
{
  const PetscInt *widths[3];
  PetscInt        n[3];

  PetscFunctionBegin;
  PetscCall(HJGridGetRanks(da, n));
  PetscCall(DMDAGetOwnershipRanges(da, &widths[0], &widths[1], &widths[2]));
  *thin = PETSC_FALSE;
  for (PetscInt r = 0; r < n[dim - 1]; r++) *thin = (PetscBool)(*thin || widths[dim - 1][r] < HJ_CUT_PLANES);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fine matrix and interpolation of a DMDA and its refinement, on all ranks. planes: these are cut into planes, and do it in one pass, if
   they are thick enough */
static PetscErrorCode TestMatrices(const HJBackendOps *ops, const RestrictCase *rc, PetscBool planes)
{
  Case        c[2] = {rc->c, rc->c};
  DM          coarse, fine;
  Mat         A, P;
  Vec         b, x, r, y, want;
  HJRestrict *op;
  PetscReal   norm[3], diff, scale;
  HJExchange  exchange = {.timeout = HJ_EXCHANGE_TIMEOUT};
  const char *why;
  PetscMPIInt size;
  PetscBool   thin = PETSC_FALSE;
  char        name[256];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) c[0].n[d] = rc->nc[d];
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CaseNewDM(&c[0], &coarse));
  if (planes) PetscCall(DMDASetNumProcs(coarse, 1, rc->c.dim == 2 ? size : 1, rc->c.dim == 3 ? size : 1));
  PetscCall(CaseSetVecType(coarse));
  PetscCall(DMSetUp(coarse));
  PetscCall(DMDASetRefinementFactor(coarse, rc->factor[0], rc->factor[1], rc->factor[2]));
  PetscCall(DMSetMatType(coarse, MATHJSTENCIL));
  PetscCall(DMCreateMatrix(coarse, &A));
  PetscCall(MatDestroy(&A));
  if (planes) PetscCall(CutAsCoarse(&c[1], coarse, rc->even[0], &fine));
  else PetscCall(DMRefine(coarse, MPI_COMM_NULL, &fine));
  PetscCall(IsThin(fine, rc->c.dim, &thin));
  PetscCall(MatCreateHJStencil(fine, &A));
  PetscCall(CaseFill(&c[1], fine, 0, A));
  PetscCall(DMCreateInterpolation(coarse, fine, &P, NULL));
  PetscCall(ProblemVectors(fine, &b, &x, &r));
  PetscCall(ProblemVectors(coarse, &y, &want));
  PetscCall(ProblemVector(fine, 1, b));
  PetscCall(ProblemVector(fine, 2, x));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(MatMultTranspose(P, r, want));
  PetscCall(VecNorm(r, NORM_2, &norm[0]));
  PetscCall(VecNorm(r, NORM_INFINITY, &scale));
  PetscCall(HJOperatorChooseExchange(PETSC_COMM_WORLD, PC_HJACOBI_EXCHANGE_AUTO, ops, &exchange.ops, &why));
  PetscCall(HJRestrictCreate(A, P, ops, exchange, &op));
  PetscCall(HJRestrictApply(op, NULL, b, x, y, NULL, PETSC_TRUE));
  PetscCall(GetNorm(op, &norm[1]));
  PetscCall(HJRestrictApply(op, NULL, b, x, y, NULL, PETSC_FALSE));
  PetscCall(GetNorm(op, &norm[2]));
  PetscCall(VecAXPY(y, -1.0, want));
  PetscCall(VecNorm(y, NORM_INFINITY, &diff));
  PetscCall(RestrictCaseName(rc, name, sizeof(name)));
  /* a sum of at most 28 products that is at most 60 large, the weights of 27 such ones sum up to 8 */
  PetscCall(
    HJTestOK((PetscBool)(diff <= 8 * 56 * 60 * PETSC_MACHINE_EPSILON && PetscAbsReal(norm[1] - norm[0]) <= HJTestDigits(1e-13) * norm[0] &&
                         norm[2] == norm[1] && (!op->apart || (size > 1 && (thin || !planes)))),
             "matrices, %s, %s: off by %.1e where residuals are %g, norm by %.1e", name, op->apart ? "apart" : "in one pass", (double)diff,
             (double)scale, (double)(norm[1] - norm[0])));
  PetscCall(HJRestrictDestroy(&op));
  PetscCall(HJTestDestroy(&b, &x, &r, &y, &want, &A, &P, &coarse, &fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestAllMatrices(const HJBackendOps *ops)
{
  PetscFunctionBegin;
  for (int i = 0; i < 12; i++) {
    RestrictCase rc = {.c = {.dim = 1 + i % 3, .kind = (Kind)(i / 3 % 3)}};

    rc.c.box = (PetscBool)(rc.c.dim > 1 && i % 2);
    for (PetscInt d = 0; d < 3; d++) {
      rc.factor[d]     = d < rc.c.dim && (i + d) % 4 ? 2 : 1;
      rc.nc[d]         = 9 + d;
      rc.c.boundary[d] = d < rc.c.dim && (i + d) % 3 == 2 ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
    }
    SetSizes(&rc);
    PetscCall(TestMatrices(ops, &rc, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids cut into planes, small and large, whose last rank may have a plane that hangs, or first rank the images of the last one's */
static PetscErrorCode TestPlanes(const HJBackendOps *ops)
{
  const PetscInt sizes[][3] = {{9, 11, 1}, {14, 17, 1}, {400, 150, 1}, {331, 160, 1}, {5, 6, 13}, {9, 4, 16}, {30, 23, 37}, {41, 18, 40}};

  PetscFunctionBegin;
  for (int i = 0; i < 16; i++) {
    RestrictCase rc = {.c = {.dim = i % 8 < 4 ? 2 : 3, .kind = ROW}};

    rc.c.box = (PetscBool)(rc.c.dim == 2 && i % 2);
    for (PetscInt d = 0; d < 3; d++) {
      rc.factor[d]     = 2;
      rc.nc[d]         = sizes[i % 8][d];
      rc.c.boundary[d] = i >= 8 && d == rc.c.dim - 1 ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
    }
    SetSizes(&rc);
    rc.even[0] = (PetscBool)(i % 3 == 1); /* the cuts are shifted */
    PetscCall(TestMatrices(ops, &rc, PETSC_TRUE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const HJBackendOps *ops         = &HJBackendHost;
  char                backend[16] = "host";
  PetscInt            cases = 120, only = -1;
  PetscBool           large = PETSC_TRUE, gpu;
  PetscMPIInt         size;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemOnGPU(&gpu));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-large", &large, NULL));
#if defined(HJACOBI_HAVE_CUDA)
  if (!strcmp(backend, "cuda")) ops = &HJBackendCUDA;
#endif
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, NULL)); /* of the large ones: under a slow checker */
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size == 1) PetscCall(TestRandom(ops, cases));
  if (size == 1 && large) PetscCall(TestLarge(ops, only));
  PetscCall(TestAllMatrices(ops));
  PetscCall(TestPlanes(ops));
  return HJTestEnd();
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Matrices on grids that are coarsened, and coefficients that jump, for the tests of interpolation from the rows of a matrix.
*/
#pragma once

#include "hjcase.h"
#include "hjcapture.h"
#include "core/hjinterpolation.h"
#include "host/hjhostkernels.h"
#include "operator/hjtransfers.h"

/* Random stencils on a grid, some rows of which are a diagonal alone, and how it is coarsened: from first on */
typedef struct {
  Case      c;
  PetscInt  factor[3], first[3];
  PetscBool symmetric, identity, mixed; /* mixed: couplings of both signs, as Galerkin products have them */
} Weighted;

/* A DMDA of a communicator */
static inline PETSC_UNUSED PetscErrorCode GridDM(MPI_Comm comm, const Case *c, const PetscInt n[3], const PetscInt nranks[3],
                                                 const PetscInt *const widths[3], DM *da)
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

/* Coarse points are the even or the odd ones, of any number of points; where a rank would have none there is no coarse grid */
static inline PETSC_UNUSED PetscErrorCode Coarsen(DM fine, const Weighted *w, DM *coarse, HJTransfer *t)
{
  PetscInt        n[3] = {1, 1, 1}, nranks[3], *widths[3] = {NULL, NULL, NULL};
  const PetscInt *own[3];
  PetscBool       empty = PETSC_FALSE;
  HJCoarsening    how   = {.before = {0.5, 0.5, 0.5}, .last = {0.5, 0.5, 0.5}};
  char            reason[256];

  PetscFunctionBegin;
  *coarse = NULL;
  for (int d = 0; d < 3; d++) how.first[d] = w->first[d];
  PetscCall(DMDAGetInfo(fine, NULL, NULL, NULL, NULL, &nranks[0], &nranks[1], &nranks[2], NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetOwnershipRanges(fine, &own[0], &own[1], &own[2]));
  for (PetscInt d = 0; d < w->c.dim; d++) {
    PetscInt start = -w->first[d];

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
    PetscCall(HJTransferSet(*coarse, fine, &how, t, reason, sizeof(reason)));
    if (reason[0]) PetscCall(DMDestroy(coarse));
  }
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(widths[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscBool IsIdentity(const Weighted *w, const PetscInt at[3])
{
  PetscInt p[3];

  for (int d = 0; d < 3; d++) p[d] = ((at[d] % w->c.n[d]) + w->c.n[d]) % w->c.n[d];
  return (PetscBool)(w->identity && Random(p[0], p[1], p[2], 77, 0) > 0.8);
}

/* Couplings of very different sizes; symmetric ones are those of the pair of points, whichever is first */
static inline PETSC_UNUSED PetscReal PairEntry(const Weighted *w, const PetscInt at[3], const PetscInt off[3], PetscInt salt)
{
  PetscInt  sum[3];
  PetscReal a;

  for (int d = 0; d < 3; d++) {
    sum[d] = 2 * at[d] + off[d];
    if (w->c.boundary[d] == DM_BOUNDARY_PERIODIC) sum[d] = (sum[d] + 2 * w->c.n[d]) % (2 * w->c.n[d]);
    if (w->c.kind == ROW) sum[d] = PetscAbs(off[d]);
    if (w->c.kind == DICTIONARY) sum[d] = sum[d] / 8 % 2 + 2 * PetscAbs(off[d]);
  }
  a = -PetscPowReal(10.0, HJ_BY_PRECISION(3, 1.3) * Random(sum[0], sum[1], sum[2], 1, salt));
  if (w->mixed && Random(sum[0], sum[1], sum[2], 3, salt) > 0.5) a = -a;
  return w->symmetric ? a : a * (1 + 0.5 * Random(at[0] + 3 * off[0], at[1] + 5 * off[1], at[2] + 7 * off[2], 2, salt));
}

static inline PETSC_UNUSED PetscInt WeightedRow(const void *ctx, const PetscInt at[3], PetscInt salt, MatStencil col[27], PetscScalar v[27])
{
  const Weighted *w      = (const Weighted *)ctx;
  PetscInt        centre = -1, m = CaseRow(&w->c, at, salt, col, v);
  PetscScalar     sum = 0.0;

  for (PetscInt e = 0; e < m; e++) {
    const PetscInt off[3] = {col[e].i - at[0], col[e].j - at[1], col[e].k - at[2]};

    if (!off[0] && !off[1] && !off[2]) {
      centre = e;
      continue;
    }
    v[e] = PairEntry(w, at, off, salt);
    sum += PetscAbsScalar(v[e]);
  }
  v[centre] = sum * (1 + 0.01 * PetscMax(Random(at[0], at[1], at[2], 5, salt), 0.0)); /* half of the rows have a positive sum */
  if (w->c.kind == ROW) v[centre] = 30.0;
  if (!IsIdentity(w, at)) return m;
  col[0] = col[centre];
  v[0]   = 3.0;
  return 1;
}

static inline PETSC_UNUSED PetscErrorCode WeightedFill(const Weighted *w, DM da, PetscInt salt, Mat A)
{
  PetscFunctionBegin;
  PetscCall(FillRows(da, WeightedRow, w, salt, ADD_VALUES, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids, matrix and interpolation on a communicator; coarse is NULL where there is none */
typedef struct {
  DM         fine, coarse;
  HJTransfer t;
  Mat        A, P;
  HJJump     jump;
} Grids;

static inline PETSC_UNUSED PetscErrorCode GridsCreate(MPI_Comm comm, const Weighted *w, Grids *g)
{
  HJSetInterpolation set;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(g, sizeof(*g)));
  PetscCall(GridDM(comm, &w->c, w->c.n, NULL, NULL, &g->fine));
  PetscCall(DMSetUp(g->fine));
  PetscCall(Coarsen(g->fine, w, &g->coarse, &g->t));
  if (!g->coarse) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateHJStencil(g->fine, &g->A));
  PetscCall(WeightedFill(w, g->fine, 0, g->A));
  PetscCall(HJMatCreateTransfer(g->coarse, g->fine, &g->t, &g->P));
  PetscCall(PetscObjectQueryFunction((PetscObject)g->P, HJ_SET_INTERPOLATION, &set));
  PetscCall((*set)(g->P, g->A, w->symmetric, -1.0, &g->jump));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode GridsDestroy(Grids *g)
{
  PetscFunctionBegin;
  PetscCall(HJTestDestroy(&g->A, &g->P, &g->coarse, &g->fine));
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

static inline PETSC_UNUSED PetscInt JumpsPoints(const Jumps *p, int d)
{
  return d == 0 && p->thin ? p->thin : p->n;
}

static inline PETSC_UNUSED PetscBool JumpsIsPeriodic(const Jumps *p, int d)
{
  const Problem grid = {.dim = p->dim, .boundary = p->boundary};

  return ProblemIsPeriodic(&grid, d);
}

/* In [0, 1), of three numbers */
static inline PETSC_UNUSED PetscReal Chance(PetscInt i, PetscInt j, PetscInt k)
{
  const PetscReal x = 43758.5453 * PetscSinReal(12.9898 * i + 78.233 * j + 37.719 * k + 1.0);

  return x - PetscFloorReal(x);
}

static inline PETSC_UNUSED PetscReal Conductivity(const Jumps *p, const PetscReal at[3])
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

static inline PETSC_UNUSED PetscReal Coupling(const Jumps *p, const PetscInt at[3], int d, int o)
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

static inline PETSC_UNUSED PetscInt JumpsRow(const void *ctx, const PetscInt at[3], PetscInt salt, MatStencil col[27], PetscScalar v[27])
{
  const Jumps *p        = (const Jumps *)ctx;
  PetscScalar  diagonal = p->reaction;
  PetscInt     n        = 1;
  PetscBool    edge     = PETSC_FALSE;

  for (int d = 0; d < p->dim; d++) {
    edge = (PetscBool)(edge || !at[d] || at[d] == JumpsPoints(p, d) - 1);
    for (int o = -1; o <= 1; o += 2) {
      const PetscBool out = (PetscBool)((at[d] + o < 0 || at[d] + o >= JumpsPoints(p, d)) && !JumpsIsPeriodic(p, d));
      const PetscReal a   = Coupling(p, at, d, o);

      if (out && p->boundary == NEUMANN) continue;
      diagonal += a;
      if (out) continue;
      col[n] = (MatStencil){.i = at[0] + (d == 0 ? o : 0), .j = at[1] + (d == 1 ? o : 0), .k = at[2] + (d == 2 ? o : 0)};
      v[n++] = -a;
    }
  }
  if (edge && p->boundary == IDENTITY) n = 1;
  col[0] = (MatStencil){.i = at[0], .j = at[1], .k = at[2]};
  v[0]   = diagonal;
  return n;
}

static inline PETSC_UNUSED PetscErrorCode JumpsCreate(const Jumps *p, DM *da, Mat *A)
{
  Problem grid = {p->dim, {JumpsPoints(p, 0), p->dim > 1 ? p->n : 1, p->dim > 2 ? p->n : 1}, p->boundary, CONSTANT, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(ProblemDM(&grid, da));
  PetscCall(MatCreateHJStencil(*da, A));
  PetscCall(FillRows(*da, JumpsRow, p, 0, INSERT_VALUES, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define FROM_MATRIX "interpolation to level 0: coefficients from the matrix"

#define FROM_GRID "interpolation to level 0: bilinear"

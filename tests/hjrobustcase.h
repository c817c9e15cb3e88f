/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Problems whose strong direction is another one in another part of the grid, or which have walls inside: finite volumes on stretched
   grids, oceans with land, layers, points of random conductance. Every coupling depends on global coordinates alone.
*/
#pragma once

#include "hjproblem.h"

typedef enum {
  CHEBYSHEV, /* x and y have the spacing of Chebyshev points, z that of tanh: thin cells at all walls */
  GROWING,   /* spacing grows from cell to cell from the middle outwards in all directions */
  LAYERS,    /* conductance 1e3 in one half of x, 1e-3 in the other, 1 between layers */
  SPHERE,    /* an ocean with a sphere of land in it */
  RIDGE,     /* and with a ridge that reaches from the bottom to one layer below the surface */
  GLOBE,     /* an ocean in longitude and latitude, thin layers at the surface, numbered from the bottom */
  SURFACE,   /* the same, numbered from the surface */
  POINTS,    /* blocks of 2 points of random conductance */
  TURNING,   /* the strong direction turns from x to y, or to z, and back */
  CHECKERS,  /* blocks of 4 points whose conductances take turns */
  ISLANDS,   /* an ocean in which one point of 20 is land */
  DIAGONAL   /* 2D, 9 points: the strong direction lies at 30 degrees to x */
} RobustKind;

static const char *const robust_names[] =
  {"chebyshev and tanh",     "growing",       "two layers", "ocean, sphere", "ocean, ridge", "globe",
   "globe from the surface", "random points", "turning",    "checkers",      "islands",      "diagonal"};

typedef struct {
  RobustKind kind;
  PetscInt   dim, n[3];
  PetscReal  by;      /* GROWING: factor from cell to cell; POINTS, TURNING, CHECKERS, DIAGONAL: ratio of the largest to the smallest */
  PetscBool  divided; /* rows are divided by the volume of their cell */
} Robust;

/* Place of face i of n, 0 to 1 */
static inline PetscReal RobustFace(const Robust *p, PetscInt d, PetscReal i)
{
  const PetscReal s = i / p->n[d];

  switch (p->kind) {
  case CHEBYSHEV:
    return d < 2 ? 0.5 * (1.0 - PetscCosReal(PETSC_PI * s)) : 0.5 * (1.0 + PetscTanhReal(2.5 * (2.0 * s - 1.0)) / PetscTanhReal(2.5));
  case GLOBE:
  case SURFACE:
    return d < 2 ? s : (PetscPowReal(100.0, p->kind == GLOBE ? 1.0 - s : s) - 1.0) / 99.0;
  default:
    return s;
  }
}

/* Width of a cell */
static inline PetscReal RobustWidth(const Robust *p, PetscInt d, PetscInt i)
{
  if (p->kind == GROWING) return PetscPowReal(p->by, PetscAbsReal(i - 0.5 * (p->n[d] - 1)));
  return PetscAbsReal(RobustFace(p, d, i + 1) - RobustFace(p, d, i));
}

/* In [0, 1), of three numbers */
static inline PetscReal RobustChance(PetscInt i, PetscInt j, PetscInt k)
{
  const PetscReal x = 43758.5453 * PetscSinReal(12.9898 * i + 78.233 * j + 37.719 * k + 1.0);

  return x - PetscFloorReal(x);
}

static inline PetscBool RobustIsLand(const Robust *p, const PetscInt at[3])
{
  PetscReal x[3];

  for (int d = 0; d < 3; d++) x[d] = (at[d] + 0.5) / p->n[d] - 0.5;
  if (p->kind == SPHERE) return (PetscBool)(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] < 0.04);
  if (p->kind == ISLANDS) return (PetscBool)(RobustChance(at[0], at[1], at[2]) < 0.05);
  if (p->kind == RIDGE) return (PetscBool)(at[2] < p->n[2] - 2 && PetscAbsReal(x[0] - 0.1 * PetscSinReal(6 * x[1])) < 0.06);
  if (p->kind == GLOBE || p->kind == SURFACE) {
    const PetscReal coast = 0.3 * PetscSinReal(7 * x[0]) * PetscCosReal(5 * x[1]) + 0.25 * PetscSinReal(13 * x[0] + 9 * x[1]);
    const PetscReal depth = PetscMax(0.0, PetscMin(1.0, 0.7 + 1.6 * coast));

    return (PetscBool)(RobustFace(p, 2, p->kind == GLOBE ? at[2] + 1 : at[2]) > depth);
  }
  return PETSC_FALSE;
}

static inline PetscReal RobustConductance(const Robust *p, const PetscInt at[3], PetscInt d)
{
  PetscReal h = 0;

  switch (p->kind) {
  case LAYERS:
    return d == 2 ? 1.0 : at[0] < p->n[0] / 2 ? 1e3 : 1e-3;
  case POINTS:
    return PetscPowReal(p->by, RobustChance(at[0] / 2, at[1] / 2, at[2] / 2));
  case CHECKERS:
    return (at[0] / 4 + at[1] / 4 + at[2] / 4) % 2 ? p->by : 1.0;
  case TURNING:
    for (int e = 0; e < p->dim; e++) h += (at[e] + 0.5) / p->n[e] * (e + 1);
    h = PetscCosReal(PETSC_PI * (h + (PetscReal)d / p->dim));
    return 1.0 + (p->by - 1.0) * PetscPowReal(h * h, 4);
  default:
    return 1.0;
  }
}

/* Sizes of a cell; those of the globe in radii, between 80 degrees south and north, 4 km deep */
static inline void RobustSizes(const Robust *p, const PetscInt at[3], PetscReal h[3])
{
  for (int e = 0; e < 3; e++) h[e] = e < p->dim ? RobustWidth(p, e, at[e]) : 1.0;
  if (p->kind != GLOBE && p->kind != SURFACE) return;
  h[0] *= 2 * PETSC_PI * PetscCosReal((160.0 * ((at[1] + 0.5) / p->n[1]) - 80.0) * PETSC_PI / 180);
  h[1] *= 160 * PETSC_PI / 180;
  h[2] *= 6e-4;
}

/* Of half a cell in direction d, from its middle to its face */
static inline PetscReal RobustHalf(const Robust *p, const PetscInt at[3], PetscInt d)
{
  PetscReal h[3];

  if (p->kind == LAYERS || p->kind == POINTS || p->kind == TURNING || p->kind == CHECKERS) return 2.0 * RobustConductance(p, at, d);
  RobustSizes(p, at, h);
  return 2.0 * h[0] * h[1] * h[2] / (h[d] * h[d]);
}

/* What the free surface of an ocean adds to a row: area / (g dt^2), a step of a day */
static inline PetscReal RobustStorage(const Robust *p, const PetscInt at[3])
{
  PetscReal h[3];

  if (!(p->kind == GLOBE && at[2] == p->n[2] - 1) && !(p->kind == SURFACE && !at[2])) return 0.0;
  RobustSizes(p, at, h);
  return h[0] * h[1] / 11500;
}

/* Whether nothing flows through the ends of the grid on a side: else values are 0 there */
static inline PetscBool RobustIsClosed(const Robust *p, PetscInt d, PetscInt side)
{
  switch (p->kind) {
  case SPHERE:
  case RIDGE:
  case ISLANDS:
    return (PetscBool)(!(d == p->dim - 1 && side > 0)); /* the surface is open */
  case GLOBE:
  case SURFACE:
    return PETSC_TRUE;
  case LAYERS:
    return (PetscBool)(d > 0);
  default:
    return PETSC_FALSE;
  }
}

/* -div(Q diag(by, 1) Q^T grad u) by bilinear elements, times 6 */
static inline PetscInt RobustDiagonalRow(const Robust *p, const PetscInt at[3], MatStencil col[27], PetscScalar v[27])
{
  const PetscReal c = PetscSqrtReal(0.75), s = 0.5, xx = p->by * c * c + s * s, yy = p->by * s * s + c * c, xy = (p->by - 1.0) * c * s;
  PetscInt        n = 1;

  col[0] = (MatStencil){.i = at[0], .j = at[1]};
  v[0]   = 8 * (xx + yy);
  for (int o = 0; o < 9; o++) {
    const PetscInt x = o % 3 - 1, y = o / 3 - 1, i = at[0] + x, j = at[1] + y;

    if (o == 4 || i < 0 || i >= p->n[0] || j < 0 || j >= p->n[1]) continue;
    col[n] = (MatStencil){.i = i, .j = j};
    v[n++] = x && y ? -(xx + yy) - 3.0 * x * y * xy : x ? 2 * yy - 4 * xx : 2 * xx - 4 * yy;
  }
  return n;
}

static inline PETSC_UNUSED PetscInt RobustRow(const void *ctx, const PetscInt at[3], PetscInt salt, MatStencil col[27], PetscScalar v[27])
{
  const Robust   *p    = (const Robust *)ctx;
  const PetscBool land = RobustIsLand(p, at);
  PetscInt        n    = 1;
  PetscReal       h[3];

  (void)salt;
  if (p->kind == DIAGONAL) return RobustDiagonalRow(p, at, col, v);
  col[0] = (MatStencil){.i = at[0], .j = at[1], .k = at[2]};
  v[0]   = land ? 1.0 : RobustStorage(p, at);
  for (PetscInt d = 0; d < p->dim; d++) {
    for (PetscInt side = -1; side <= 1; side += 2) {
      PetscInt  to[3] = {at[0] + (d == 0) * side, at[1] + (d == 1) * side, at[2] + (d == 2) * side};
      PetscReal here = RobustHalf(p, at, d), there, a = 0.0;

      if (to[d] < 0 || to[d] >= p->n[d]) {
        if (!land && !RobustIsClosed(p, d, side)) v[0] += here;
        continue;
      }
      there = RobustHalf(p, to, d);
      if (p->kind == POINTS) a = 0.5 * (side < 0 ? there : here); /* at midpoints, which lie in the block of the lower point */
      else if (!land && !RobustIsLand(p, to)) a = here * there / (here + there);
      col[n] = (MatStencil){.i = to[0], .j = to[1], .k = to[2]};
      v[n++] = -a;
      v[0] += a;
    }
  }
  if (v[0] == 0.0) v[0] = 1.0; /* land all around */
  RobustSizes(p, at, h);
  for (PetscInt i = 0; i < n && p->divided && !land; i++) v[i] /= h[0] * h[1] * h[2];
  return n;
}

static inline PETSC_UNUSED PetscErrorCode RobustCreate(const Robust *p, MatType type, DM *da, Mat *A)
{
  const Problem grid = {p->dim, {p->n[0], p->n[1], p->n[2]}, DIRICHLET, CONSTANT, (PetscBool)(p->kind == DIAGONAL)};

  PetscFunctionBegin;
  PetscCall(ProblemDM(&grid, da));
  if (type) PetscCall(DMSetMatType(*da, type));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(FillRows(*da, RobustRow, p, 0, INSERT_VALUES, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  DIAGONAL,  /* 2D, 9 points: the strong direction lies at 30 degrees to x */
  DIAGONAL45,
  SLANTING,  /* 2D, 9 points: the strong direction turns by half a turn from side to side */
  PATCHES,   /* blocks of 16 points in which one direction, another one in the next, is strong */
  BOUNDARY,  /* layers along one wall, the thinnest as much thinner than the thickest */
  FRACTURES, /* planes of one point's thickness, in all directions */
  FIELD,     /* logarithms of conductance have a correlation length of 4 points */
  INCLINED,  /* layers of 5 points, of random conductance, that are inclined */
  SPIRAL,    /* an ocean with a spiral wall of one point's thickness */
  ESTUARY,   /* land with channels that get thinner, three points and one wide */
  CHANNEL,   /* one channel of three points' width, to and fro */
  ROBIN,     /* values in a small weight at two walls, no flux through the others */
  LABYRINTH, /* walls of land 16 points apart, each with a gap of one point */
  MAZE,      /* passages of 3 points' width, walls of one */
  LSHAPE,    /* a quarter of the grid, or an eighth, is land */
  WANDERING, /* layers of 2 points that wander up and down */
  SWIRL,     /* 2D, 9 points: the strong direction goes around the middle */
  BASIN,     /* spacing grows from the middle outwards in x and y, with coasts and islands */
  DISCS,     /* discs, or balls, of random size and place */
  WELLS,     /* lines of one point's thickness along the last direction, 8 points apart */
  SHEETS,    /* layers of one point's thickness with holes, 8 points apart, as much less conducting */
  PERFORATED /* points of a lattice have the value 0 */
} RobustKind;

static const char *const robust_names[] = {"chebyshev and tanh",
                                           "growing",
                                           "two layers",
                                           "ocean, sphere",
                                           "ocean, ridge",
                                           "globe",
                                           "globe from the surface",
                                           "random points",
                                           "turning",
                                           "checkers",
                                           "islands",
                                           "diagonal",
                                           "diagonal, 45 degrees",
                                           "slanting",
                                           "patches",
                                           "boundary layers",
                                           "fractures",
                                           "field",
                                           "inclined layers",
                                           "spiral",
                                           "estuary",
                                           "channel",
                                           "mixed walls",
                                           "labyrinth",
                                           "maze",
                                           "L shape",
                                           "wandering layers",
                                           "swirl",
                                           "basin",
                                           "discs",
                                           "wells",
                                           "sheets",
                                           "perforated"};

typedef struct {
  RobustKind kind;
  PetscInt   dim, n[3];
  PetscReal  by;      /* GROWING: factor from cell to cell; ROBIN: the weight; others: ratio of the largest to the smallest */
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
  if (p->kind == BOUNDARY) return d == p->dim - 1 ? PetscPowReal(p->by, (PetscReal)i / (p->n[d] - 1)) / p->by : 1.0 / p->n[d];
  if (p->kind == GROWING || (p->kind == BASIN && d < 2)) return PetscPowReal(p->by, PetscAbsReal(i - 0.5 * (p->n[d] - 1)));
  return PetscAbsReal(RobustFace(p, d, i + 1) - RobustFace(p, d, i));
}

/* In [0, 1), of three numbers */
static inline PetscReal RobustChance(PetscInt i, PetscInt j, PetscInt k)
{
  const PetscReal x = 43758.5453 * PetscSinReal(12.9898 * i + 78.233 * j + 37.719 * k + 1.0);

  return x - PetscFloorReal(x);
}

/* Of a plane that lies across the grid; the distance in points */
static inline PetscReal RobustPlane(const Robust *p, const PetscInt at[3], PetscInt number)
{
  PetscReal normal[3] = {0, 0, 0}, size = 0, place = 0;

  for (int d = 0; d < p->dim; d++) {
    normal[d] = RobustChance(number, d, 1) - 0.5;
    size += normal[d] * normal[d];
  }
  for (int d = 0; d < p->dim; d++) place += normal[d] / PetscSqrtReal(size) * (at[d] - p->n[d] * (0.1 + 0.8 * RobustChance(number, d, 2)));
  return PetscAbsReal(place);
}

/* Random numbers, interpolated between every fourth point */
static inline PetscReal RobustField(const Robust *p, const PetscInt at[3])
{
  PetscReal sum = 0;

  for (int corner = 0; corner < 1 << p->dim; corner++) {
    PetscInt  c[3] = {0, 0, 0};
    PetscReal w    = 1;

    for (int d = 0; d < p->dim; d++) {
      c[d] = at[d] / 4 + (corner >> d & 1);
      w *= corner >> d & 1 ? at[d] % 4 / 4.0 : 1 - at[d] % 4 / 4.0;
    }
    sum += w * RobustChance(c[0], c[1], c[2]);
  }
  return sum;
}

static inline PetscBool RobustIsLand(const Robust *p, const PetscInt at[3])
{
  PetscReal x[3];

  for (int d = 0; d < 3; d++) x[d] = (at[d] + 0.5) / p->n[d] - 0.5;
  if (p->kind == SPHERE) return (PetscBool)(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] < 0.04);
  if (p->kind == SPIRAL) {
    const PetscReal radius = PetscSqrtReal(x[0] * x[0] + x[1] * x[1]), turn = atan2(x[1], x[0]) / (2 * PETSC_PI), step = 16.0 / p->n[0];
    const PetscReal place = radius / step - turn;

    return (PetscBool)(radius > 0.02 && radius < 0.47 && (place - PetscFloorReal(place)) * 16 < 1.6);
  }
  if (p->kind == ESTUARY) {
    for (PetscInt width = 6, period = 64; width > 0; width /= 2, period /= 2) {
      const PetscInt across = period > 32 || period == 16 ? at[0] : at[1];

      if (across % period >= period / 2 && across % period < period / 2 + width) return PETSC_FALSE;
    }
    return PETSC_TRUE;
  }
  if (p->kind == LABYRINTH) return (PetscBool)(at[1] % 16 == 15 && at[0] != (PetscInt)(p->n[0] * RobustChance(at[1], 3, 5)));
  if (p->kind == MAZE) {
    const PetscBool last = (PetscBool)(at[0] / 4 + 1 >= p->n[0] / 4);
    const PetscBool up   = (PetscBool)(last || (RobustChance(at[0] / 4, at[1] / 4, 7) < 0.5 && at[1] / 4 + 1 < p->n[1] / 4));

    return (PetscBool)((at[0] % 4 == 3 && (up || at[1] % 4 == 3)) || (at[1] % 4 == 3 && !up));
  }
  if (p->kind == LSHAPE) return (PetscBool)(x[0] > 0.03 && x[1] > 0.07 && (p->dim < 3 || x[2] > 0.01));
  if (p->kind == BASIN)
    return (PetscBool)(PetscSinReal(13 * x[0]) * PetscCosReal(11 * x[1]) > 0.7 || RobustChance(at[0] / 3, at[1] / 3, 9) < 0.02);
  if (p->kind == CHANNEL) return (PetscBool)(at[1] % 4 == 3 && (at[1] / 4 % 2 ? at[0] > 2 : at[0] < p->n[0] - 3));
  if (p->kind == ISLANDS) return (PetscBool)(RobustChance(at[0], at[1], at[2]) < 0.05);
  if (p->kind == RIDGE) return (PetscBool)(at[2] < p->n[2] - 2 && PetscAbsReal(x[0] - 0.1 * PetscSinReal(6 * x[1])) < 0.06);
  if (p->kind == GLOBE || p->kind == SURFACE) {
    const PetscReal coast = 0.3 * PetscSinReal(7 * x[0]) * PetscCosReal(5 * x[1]) + 0.25 * PetscSinReal(13 * x[0] + 9 * x[1]);
    const PetscReal depth = PetscMax(0.0, PetscMin(1.0, 0.7 + 1.6 * coast));

    return (PetscBool)(RobustFace(p, 2, p->kind == GLOBE ? at[2] + 1 : at[2]) > depth);
  }
  return PETSC_FALSE;
}

static inline PetscBool RobustIsKnown(const Robust *p, const PetscInt at[3])
{
  return (PetscBool)(p->kind == PERFORATED && at[0] % 7 == 3 && at[1] % 7 == 3 && (p->dim < 3 || at[2] % 7 == 3));
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
  case PATCHES:
    return (at[0] / 16 + at[1] / 16 + at[2] / 16) % p->dim == d ? p->by : 1.0;
  case FRACTURES:
    for (PetscInt number = 0; number < 12; number++)
      if (RobustPlane(p, at, number) < 0.7) return p->by;
    return 1.0;
  case WANDERING:
    h = p->n[p->dim - 1] / 5.0 * PetscSinReal(9.0 * at[0] / p->n[0] + (p->dim > 2 ? 5.0 * at[1] / p->n[1] : 0.0));
    for (int layer = 0; layer < 5; layer++)
      if (PetscAbsReal(at[p->dim - 1] - h - p->n[p->dim - 1] * (0.17 * layer + 0.1)) < 1.0) return p->by;
    return 1.0;
  case DISCS:
    for (PetscInt number = 0; number < 60; number++) {
      PetscReal distance = 0;

      for (int e = 0; e < p->dim; e++) distance += PetscSqr(at[e] - p->n[e] * RobustChance(number, e, 3));
      if (distance < PetscSqr(1.0 + p->n[0] / 20.0 * RobustChance(number, 4, 3))) return p->by;
    }
    return 1.0;
  case WELLS:
    return at[0] % 8 == 3 && (p->dim < 3 || at[1] % 8 == 4) ? p->by : 1.0;
  case SHEETS:
    return at[p->dim - 1] % 8 == 5 && RobustChance(at[0] / 4, at[1] / (p->dim > 2 ? 4 : 8), at[2] / 8) > 0.1 ? 1.0 / p->by : 1.0;
  case FIELD:
    return PetscPowReal(p->by, RobustField(p, at));
  case INCLINED:
    h = (at[p->dim - 1] + 0.3 * at[0] + (p->dim > 2 ? 0.2 * at[1] : 0.0)) / 5;
    return PetscPowReal(p->by, RobustChance((PetscInt)h, 0, 0));
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

  if (p->kind == LAYERS || p->kind == POINTS || p->kind == TURNING || p->kind == CHECKERS ||
      (p->kind >= PATCHES && p->kind != BOUNDARY && p->kind != BASIN))
    return 2.0 * RobustConductance(p, at, d);
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
  case SPIRAL:
  case ESTUARY:
  case CHANNEL:
  case LABYRINTH:
  case MAZE:
  case BASIN:
    return (PetscBool)(!(d == p->dim - 1 && side > 0)); /* the surface is open */
  case GLOBE:
  case SURFACE:
    return PETSC_TRUE;
  case LAYERS:
  case ROBIN:
    return (PetscBool)(d > 0);
  default:
    return PETSC_FALSE;
  }
}

static inline PetscBool RobustIsNine(const Robust *p)
{
  return (PetscBool)((p->kind >= DIAGONAL && p->kind <= SLANTING) || p->kind == SWIRL);
}

/* The angle between the strong direction and x, in an element whose first corner this is */
static inline PetscReal RobustAngle(const Robust *p, PetscInt i, PetscInt j)
{
  if (p->kind == SWIRL) return PETSC_PI / 2 + atan2(j - 0.47 * p->n[1], i - 0.52 * p->n[0]);
  if (p->kind == SLANTING) return PETSC_PI * ((PetscReal)i / p->n[0] + 0.3 * j / p->n[1]);
  return p->kind == DIAGONAL45 ? PETSC_PI / 4 : PETSC_PI / 6;
}

/* -div(Q diag(by, 1) Q^T grad u) by bilinear elements, times 6 */
static inline PetscInt RobustDiagonalRow(const Robust *p, const PetscInt at[3], MatStencil col[27], PetscScalar v[27])
{
  PetscReal sum[9] = {0};
  PetscInt  n      = 1;

  for (int e = 0; e < 4; e++) {
    const int       x = e % 2, y = e / 2; /* which corner of the element the point is */
    const PetscReal angle = RobustAngle(p, at[0] - x, at[1] - y), c = PetscCosReal(angle), s = PetscSinReal(angle);
    const PetscReal xx = p->by * c * c + s * s, yy = p->by * s * s + c * c, xy = (p->by - 1.0) * c * s;

    for (int f = 0; f < 4; f++) {
      const int dx = f % 2 - x, dy = f / 2 - y;

      sum[3 * (dy + 1) + dx + 1] += (dx ? -1 : 1) * (dy ? 1 : 2) * xx + (dy ? -1 : 1) * (dx ? 1 : 2) * yy +
                                    1.5 * xy * ((2 * x - 1) * (2 * (y + dy) - 1) + (2 * (x + dx) - 1) * (2 * y - 1));
    }
  }
  col[0] = (MatStencil){.i = at[0], .j = at[1]};
  v[0]   = sum[4];
  for (int o = 0; o < 9; o++) {
    const PetscInt i = at[0] + o % 3 - 1, j = at[1] + o / 3 - 1;

    if (o == 4 || i < 0 || i >= p->n[0] || j < 0 || j >= p->n[1]) continue;
    col[n] = (MatStencil){.i = i, .j = j};
    v[n++] = sum[o];
  }
  return n;
}

static inline PETSC_UNUSED PetscInt RobustRow(const void *ctx, const PetscInt at[3], PetscInt salt, MatStencil col[27], PetscScalar v[27])
{
  const Robust   *p    = (const Robust *)ctx;
  const PetscBool land = (PetscBool)(RobustIsLand(p, at) || RobustIsKnown(p, at));
  PetscInt        n    = 1;
  PetscReal       h[3];

  (void)salt;
  if (RobustIsNine(p)) return RobustDiagonalRow(p, at, col, v);
  col[0] = (MatStencil){.i = at[0], .j = at[1], .k = at[2]};
  v[0]   = land ? 1.0 : RobustStorage(p, at);
  for (PetscInt d = 0; d < p->dim; d++) {
    for (PetscInt side = -1; side <= 1; side += 2) {
      PetscInt  to[3] = {at[0] + (d == 0) * side, at[1] + (d == 1) * side, at[2] + (d == 2) * side};
      PetscReal here = RobustHalf(p, at, d), there, a = 0.0;

      if (to[d] < 0 || to[d] >= p->n[d]) {
        if (!land && !RobustIsClosed(p, d, side)) v[0] += p->kind == ROBIN ? p->by : here;
        continue;
      }
      there = RobustHalf(p, to, d);
      if (RobustIsKnown(p, to)) v[0] += here * there / (here + there);
      if (p->kind == POINTS) a = 0.5 * (side < 0 ? there : here); /* at midpoints, which lie in the block of the lower point */
      else if (!land && !RobustIsLand(p, to) && !RobustIsKnown(p, to)) a = here * there / (here + there);
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
  const Problem grid = {p->dim, {p->n[0], p->n[1], p->n[2]}, DIRICHLET, CONSTANT, RobustIsNine(p)};

  PetscFunctionBegin;
  PetscCall(ProblemDM(&grid, da));
  if (type) PetscCall(DMSetMatType(*da, type));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(FillRows(*da, RobustRow, p, 0, INSERT_VALUES, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

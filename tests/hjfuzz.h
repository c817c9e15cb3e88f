/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Random problems on DMDAs. Problem i of a seed is the same on any number of ranks (but for grids of fewer points than ranks) and on any
   backend. Every rank makes all rows, in natural order, so that what a problem is (symmetric, singular, mild) is read from its numbers.
*/
#pragma once

#include "hjproblem.h"
#include <stdint.h>

typedef enum { WALL_ZERO, WALL_FLUX, WALL_IDENTITY } Wall; /* a zero outside that was eliminated, no flux, identity rows */
typedef enum { CELLS_CONSTANT, CELLS_SMOOTH, CELLS_HALVES, CELLS_BALL, CELLS_STRIPES, CELLS_CHECKER, CELLS_RANDOM, CELLS_KINDS } Cells;
typedef enum { FLOW_NONE, FLOW_UPWIND, FLOW_CENTRAL, FLOW_RANDOM } Flow; /* what makes it unsymmetric */
typedef enum { KNOWN_NONE, KNOWN_POINTS, KNOWN_BODY } Known;
typedef enum { BAD_NONE, BAD_DIAGONAL, BAD_MATRIX, BAD_RHS } Bad;
typedef enum { NULL_LEFT_ALONE, NULL_CONSTANT, NULL_VECTORS } Null; /* how a null space is told to the matrix */
typedef enum { FILL_INSERT, FILL_ADD, FILL_CONVERT } Fill;

#define FUZZ_OFFSETS 27
#define FUZZ_PARTS   4 /* most null vectors that are given to a matrix */
#define FUZZ_DOF     3 /* most unknowns a point */

typedef struct {
  uint64_t       key, state; /* of per-point numbers; of the next random number */
  PetscInt       dim, n[3];
  DMBoundaryType boundary[3];
  Wall           wall[3][2];
  PetscBool      box, positive_corners;
  Cells          cells;
  PetscReal      contrast, axis[3], stretch[3]; /* stretch: ratio of two cells beside one another */
  Flow           flow;
  PetscReal      peclet, closed; /* closed: share of couplings that are 0 */
  PetscBool      lake;           /* a box without couplings to what is outside */
  Known          known;
  PetscReal      known_share, known_value;
  PetscBool      keep_columns;
  PetscInt       body[3][2];
  PetscReal      shift, scale, row_decades; /* shift: relative to the mean diagonal */
  PetscBool      scale_columns;
  Bad            bad;
  PetscReal      bad_value;
  Null           null_space;
  PetscBool      stencil_matrix, dropped;
  Fill           fill;
  const char    *pc, *ksp;
  PCSide         side;
  KSPNormType    norm;
  PetscReal      rtol;
  PetscBool      guess, again, reuse, defaults, both; /* both: also with the matrix in the other type */
  PetscReal      again_scale;
  PetscInt       k, levels, transfer, schedule, coarse_solve, rank_points;
  PetscBool      single, own; /* cycles in single precision; the KSP is hjrichardson or hjcg */
  PetscInt       dof;         /* blocks are a point's coefficients times one small matrix, and a reaction at the point */
  PetscReal block[FUZZ_DOF][FUZZ_DOF], reaction[FUZZ_DOF][FUZZ_DOF], mixed; /* mixed: of the components at corners, as derivatives are */
  PetscBool blocked;                                                        /* BAIJ in place of AIJ */
  PetscBool through_matmult;                                                /* hjacobi's cycles, as in a block of PCASM */
  /* Made from the above */
  PetscInt     salt, points;
  PetscScalar *a;                         /* points x 27 */
  PetscReal    mean;                      /* diagonal */
  PetscInt    *part;                      /* of each point: couplings lead from one point of a part to all others */
  PetscInt     nparts, nnull;             /* nnull: how many of them have a null vector, the constant there */
  PetscInt    *null_part;                 /* the first nnull numbers of such parts */
  PetscBool    symmetric, dominant;       /* before columns are scaled; weakly by rows, positive diagonal */
  PetscBool    mild, hard, unsafe, alike; /* alike: rounding decides nothing */
  char         text[640];
} Fuzz;

/* The finalizer of splitmix64 */
static inline uint64_t FuzzMix(uint64_t z)
{
  z += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/* double: below 1 also where PETSc's numbers are single */
static inline double FuzzUnit(uint64_t z)
{
  return (double)(FuzzMix(z) >> 11) / 9007199254740992.0;
}

static inline double Uniform(Fuzz *f, double low, double high)
{
  return low + (high - low) * FuzzUnit(f->state++);
}

static inline PetscInt Below(Fuzz *f, PetscInt n)
{
  return (PetscInt)Uniform(f, 0, n);
}

static inline PetscBool Chance(Fuzz *f, PetscReal share)
{
  return (PetscBool)(Uniform(f, 0, 1) < share);
}

/* In single precision as many of these as are a tolerance there, see HJTestDigits() */
static inline PetscReal Decades(Fuzz *f, double low, double high)
{
  return HJTestDigits(pow(10.0, Uniform(f, low, high)));
}

/* A number in [0, 1) of a point or a pair of points; it is another one for each use */
static inline double PointUnit(const Fuzz *f, uint64_t use, PetscInt i, PetscInt j)
{
  return FuzzUnit(f->key ^ FuzzMix(FuzzMix(use) + 7919 * (uint64_t)PetscMin(i, j)) ^ FuzzMix(31 * (uint64_t)PetscMax(i, j) + use));
}

static inline void FuzzOffset(PetscInt o, PetscInt off[3])
{
  off[0] = o % 3 - 1;
  off[1] = o / 3 % 3 - 1;
  off[2] = o / 9 - 1;
}

static inline void FuzzPoint(const Fuzz *f, PetscInt natural, PetscInt at[3])
{
  at[0] = natural % f->n[0];
  at[1] = natural / f->n[0] % f->n[1];
  at[2] = natural / f->n[0] / f->n[1];
}

static inline PetscInt FuzzNatural(const Fuzz *f, const PetscInt at[3])
{
  return at[0] + f->n[0] * (at[1] + f->n[1] * at[2]);
}

/* Where an offset leads: to is wrapped or mirrored; *out: a direction in which it leaves the grid, else -1. Whether it is in the stencil */
static inline PetscBool FuzzNeighbor(const Fuzz *f, const PetscInt at[3], PetscInt o, PetscInt to[3], PetscInt *out)
{
  PetscInt off[3], far = 0;

  FuzzOffset(o, off);
  *out = -1;
  for (PetscInt d = 0; d < 3; d++) {
    to[d] = at[d] + off[d];
    far += PetscAbs(off[d]);
    if (d >= f->dim && off[d]) return PETSC_FALSE;
    if (to[d] >= 0 && to[d] < f->n[d]) continue;
    if (f->boundary[d] == DM_BOUNDARY_PERIODIC) to[d] = (to[d] + f->n[d]) % f->n[d];
    else if (f->boundary[d] == DM_BOUNDARY_MIRROR) to[d] = to[d] < 0 ? 1 : f->n[d] - 2;
    else *out = d;
  }
  return (PetscBool)(far > 0 && (f->box || far == 1));
}

static inline PetscReal FuzzCell(const Fuzz *f, const PetscInt at[3])
{
  PetscReal c[3], r = 0.0, sum = 0.0;

  for (PetscInt d = 0; d < 3; d++) {
    c[d] = (at[d] + 0.5) / f->n[d];
    sum += c[d];
    r += PetscSqr(c[d] - 0.45);
  }
  switch (f->cells) {
  case CELLS_SMOOTH:
    return 1.5 + PetscSinReal(5 * c[0] + 3 * c[1] * c[1] + 2 * c[2] + f->salt);
  case CELLS_HALVES:
    return sum > 1.3 ? f->contrast : 1.0;
  case CELLS_BALL:
    return r < 0.06 ? f->contrast : 1.0;
  case CELLS_STRIPES:
    return (at[f->dim - 1] / 3) % 2 ? f->contrast : 1.0;
  case CELLS_CHECKER:
    return (at[0] / 2 + at[1] / 2 + at[2] / 2) % 2 ? f->contrast : 1.0;
  case CELLS_RANDOM:
    return PetscPowReal(f->contrast, PointUnit(f, 1 + 100 * (uint64_t)f->salt, FuzzNatural(f, at), 0));
  default:
    return 1.0;
  }
}

static inline PetscBool FuzzInBody(const Fuzz *f, const PetscInt at[3])
{
  for (PetscInt d = 0; d < f->dim; d++)
    if (at[d] < f->body[d][0] || at[d] >= f->body[d][1]) return PETSC_FALSE;
  return PETSC_TRUE;
}

static inline PetscBool FuzzKnown(const Fuzz *f, const PetscInt at[3])
{
  for (PetscInt d = 0; d < f->dim; d++) {
    if (f->boundary[d] == DM_BOUNDARY_PERIODIC || f->boundary[d] == DM_BOUNDARY_MIRROR) continue;
    if ((at[d] == 0 && f->wall[d][0] == WALL_IDENTITY) || (at[d] == f->n[d] - 1 && f->wall[d][1] == WALL_IDENTITY)) return PETSC_TRUE;
  }
  if (f->known == KNOWN_POINTS) return (PetscBool)(PointUnit(f, 2, FuzzNatural(f, at), 0) < f->known_share);
  return (PetscBool)(f->known == KNOWN_BODY && FuzzInBody(f, at));
}

/* Size of cell i of a direction whose cells grow by the ratio from the first one to the middle, and shrink again in periods */
static inline PetscReal FuzzWidth(const Fuzz *f, PetscInt d, PetscInt i)
{
  const PetscInt far = f->boundary[d] == DM_BOUNDARY_PERIODIC ? PetscMin(i, f->n[d] - 1 - i) : i;

  return PetscPowReal(f->stretch[d], (PetscReal)far);
}

/* Minus the coupling of a point to the one that offset o leads to, which may be outside */
static inline PetscReal FuzzLink(const Fuzz *f, const PetscInt at[3], PetscInt o, const PetscInt to[3], PetscInt out)
{
  const PetscInt i = FuzzNatural(f, at), j = out < 0 ? FuzzNatural(f, to) : i;
  PetscReal      here = FuzzCell(f, at), there = out < 0 ? FuzzCell(f, to) : here, a = 2.0 * here * there / (here + there);
  PetscInt       off[3], far = 0;

  FuzzOffset(o, off);
  for (PetscInt d = 0; d < f->dim; d++) {
    const PetscReal w = FuzzWidth(f, d, at[d]), v = out < 0 ? FuzzWidth(f, d, to[d]) : w;

    far += PetscAbs(off[d]);
    a *= off[d] ? f->axis[d] * 2.0 / (w + v) : 0.5 * (w + v);
  }
  if (far > 1) a *= f->positive_corners ? -0.02 : 0.2;
  if (out < 0 && f->closed > 0.0 && PointUnit(f, 3, i, j) < f->closed) return 0.0;
  if (out < 0 && f->lake && FuzzInBody(f, at) != FuzzInBody(f, to)) return 0.0;
  for (PetscInt d = 0; d < f->dim; d++) {
    const PetscReal turn = f->cells == CELLS_SMOOTH ? PetscCosReal(4.0 * at[(d + 1) % f->dim] / f->n[(d + 1) % f->dim]) : 1.0 - 0.6 * d;

    if (f->flow == FLOW_UPWIND) a *= 1.0 + f->peclet * PetscMax(0.0, -off[d] * turn);
    if (f->flow == FLOW_CENTRAL) a *= 1.0 - 0.5 * f->peclet * off[d] * turn;
  }
  if (f->flow == FLOW_RANDOM) a *= 0.5 + PointUnit(f, 5 + (uint64_t)o + 100 * (uint64_t)f->salt, i, 0);
  return a;
}

/* Rows as they are before they are scaled */
static inline void FuzzRows(Fuzz *f)
{
  PetscReal mean = 0.0;

  for (PetscInt i = 0; i < f->points; i++) {
    PetscScalar *a = &f->a[FUZZ_OFFSETS * i], diagonal = 0.0;
    PetscInt     at[3], to[3], off[3], out;

    FuzzPoint(f, i, at);
    for (PetscInt o = 0; o < FUZZ_OFFSETS; o++) {
      PetscReal link;

      a[o] = 0.0;
      if (!FuzzNeighbor(f, at, o, to, &out)) continue;
      FuzzOffset(o, off);
      if (out >= 0 && f->wall[out][off[out] > 0] != WALL_ZERO) continue;
      link = FuzzLink(f, at, o, to, out);
      diagonal += link;
      if (out < 0 && (f->keep_columns || !FuzzKnown(f, to))) a[o] = -link;
    }
    mean += PetscAbsScalar(diagonal) / f->points;
    a[13] = diagonal;
  }
  f->mean = mean;
  for (PetscInt i = 0; i < f->points; i++) {
    PetscScalar *a = &f->a[FUZZ_OFFSETS * i];
    PetscInt     at[3];

    FuzzPoint(f, i, at);
    a[13] += f->shift * mean;
    if (!FuzzKnown(f, at)) continue;
    for (PetscInt o = 0; o < FUZZ_OFFSETS; o++) a[o] = 0.0;
    a[13] = f->known_value;
  }
}

/* Factor of a row, or of a column */
static inline PetscReal FuzzScale(const Fuzz *f, PetscInt natural)
{
  return f->row_decades > 0.0 ? PetscPowReal(10.0, f->row_decades * (2.0 * PointUnit(f, 4, natural, 0) - 1.0)) : 1.0;
}

static inline PetscInt FuzzRoot(PetscInt *part, PetscInt i)
{
  while (part[i] != i) i = part[i] = part[part[i]];
  return i;
}

/* The same of blocks: dominant stands for definite */
static inline void FuzzLookAtBlocks(Fuzz *f)
{
  PetscBool reacts = PETSC_FALSE;

  for (PetscInt c = 0; c < f->dof; c++) {
    for (PetscInt d = 0; d < f->dof; d++) {
      if (f->block[c][d] != f->block[d][c] || f->reaction[c][d] != f->reaction[d][c]) f->symmetric = PETSC_FALSE;
      if (f->reaction[c][d] != 0.0) reacts = PETSC_TRUE;
    }
  }
  if (f->mixed != 0.0) f->dominant = PETSC_FALSE;
  if (reacts || f->mixed != 0.0) f->nnull = 0;
}

/* Symmetric, dominant, and the parts that hang together, of which those are singular whose rows all have the sum 0 */
static inline PetscErrorCode FuzzLook(Fuzz *f)
{
  PetscBool *regular;

  PetscFunctionBegin;
  f->symmetric = f->dominant = PETSC_TRUE;
  f->nparts = f->nnull = 0;
  PetscCall(PetscCalloc1(f->points, &regular));
  for (PetscInt i = 0; i < f->points; i++) f->part[i] = i;
  for (PetscInt i = 0; i < f->points; i++) {
    const PetscScalar *a   = &f->a[FUZZ_OFFSETS * i];
    PetscReal          sum = 0.0, size = 0.0;
    PetscInt           at[3], to[3], out;

    FuzzPoint(f, i, at);
    for (PetscInt o = 0; o < FUZZ_OFFSETS; o++) {
      sum += a[o];
      size += PetscAbsScalar(a[o]);
      if (a[o] == 0.0 || !FuzzNeighbor(f, at, o, to, &out)) continue;
      f->part[FuzzRoot(f->part, i)] = FuzzRoot(f->part, FuzzNatural(f, to));
      if (PetscAbsScalar(a[o] - f->a[FUZZ_OFFSETS * FuzzNatural(f, to) + 26 - o]) > HJTestDigits(1e-14) * PetscAbsScalar(a[o]))
        f->symmetric = PETSC_FALSE;
    }
    if (2.0 * a[13] < size * (1.0 - HJTestDigits(1e-13))) f->dominant = PETSC_FALSE;
    if (PetscAbsReal(sum) > HJTestDigits(1e-12) * size) regular[i] = PETSC_TRUE;
  }
  for (PetscInt i = 0; i < f->points; i++) f->part[i] = FuzzRoot(f->part, i);
  for (PetscInt i = 0; i < f->points; i++)
    if (regular[i]) regular[f->part[i]] = PETSC_TRUE;
  for (PetscInt i = 0; i < f->points; i++) {
    if (f->part[i] != i) continue;
    f->nparts++;
    if (!regular[i]) f->null_part[f->nnull++] = i;
  }
  PetscCall(PetscFree(regular));
  if (f->dof > 1) FuzzLookAtBlocks(f);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is done to the rows last: factors, and what must not be in a matrix */
static inline void FuzzSpoil(Fuzz *f)
{
  const PetscInt bad = (PetscInt)(FuzzUnit(f->key + 11) * f->points);

  for (PetscInt i = 0; i < f->points; i++) {
    PetscInt at[3], to[3], out;

    FuzzPoint(f, i, at);
    for (PetscInt o = 0; o < FUZZ_OFFSETS; o++) {
      PetscScalar *a = &f->a[FUZZ_OFFSETS * i + o];

      if (*a == 0.0) continue;
      (void)FuzzNeighbor(f, at, o, to, &out);
      *a *= f->scale * FuzzScale(f, i) * (f->scale_columns ? FuzzScale(f, FuzzNatural(f, to)) : 1.0);
      if (f->salt) *a *= f->again_scale;
    }
  }
  if (f->bad == BAD_DIAGONAL || f->bad == BAD_MATRIX) f->nnull = 0; /* the constants are no longer in it */
  if (f->bad == BAD_DIAGONAL) f->a[FUZZ_OFFSETS * bad + 13] = 0.0;
  if (f->bad == BAD_MATRIX) f->a[FUZZ_OFFSETS * bad + 13] = f->bad_value;
}

/* Fills a with the values of that salt */
static inline PetscErrorCode FuzzMake(Fuzz *f, PetscInt salt)
{
  PetscFunctionBegin;
  f->salt = salt;
  FuzzRows(f);
  PetscCall(FuzzLook(f));
  FuzzSpoil(f);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Least points of a rank: PETSc mirrors inside the rank at the boundary, where a single point has no other */
static inline PetscInt FuzzThinnest(const Fuzz *f, PetscInt d)
{
  return f->boundary[d] == DM_BOUNDARY_MIRROR ? 2 : 1;
}

/* The ways to cut a grid among the ranks; their number, at most `most` */
static inline PetscInt FuzzCuts(const Fuzz *f, PetscInt most, PetscInt cuts[][3])
{
  PetscMPIInt size  = 1;
  PetscInt    ncuts = 0, m[3];

  (void)MPI_Comm_size(PETSC_COMM_WORLD, &size);
  for (m[0] = 1; m[0] <= size; m[0]++) {
    for (m[1] = 1; m[0] * m[1] <= size; m[1]++) {
      PetscBool can;

      m[2] = size / (m[0] * m[1]);
      can  = (PetscBool)(m[0] * m[1] * m[2] == size);
      for (PetscInt d = 0; d < 3; d++) can = (PetscBool)(can && m[d] * FuzzThinnest(f, d) <= f->n[d]);
      if (!can || ncuts == most) continue;
      for (PetscInt d = 0; d < 3; d++) cuts[ncuts][d] = m[d];
      ncuts++;
    }
  }
  return ncuts;
}

static inline void FuzzDrawGrid(Fuzz *f)
{
  const PetscInt most = Chance(f, 0.03) ? 60000 : Chance(f, 0.3) ? 300 : 3000;
  PetscMPIInt    size;
  PetscInt       cuts[1][3];

  f->dim = 1 + Below(f, 3);
  do {
    for (PetscInt d = 0; d < 3; d++) f->n[d] = d >= f->dim ? 1 : Chance(f, 0.3) ? 1 + Below(f, 12) : 1 + Below(f, 60);
    if (f->dim == 1 && Chance(f, 0.3)) f->n[0] = 1 + Below(f, 3000);
  } while (f->n[0] * f->n[1] * f->n[2] > most);
  f->box = Chance(f, 0.35);
  for (PetscInt d = 0; d < 3; d++) {
    const PetscInt kind = Below(f, 10);

    f->boundary[d] = kind < 6 ? DM_BOUNDARY_NONE : kind < 7 ? DM_BOUNDARY_GHOSTED : kind < 9 ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_MIRROR;
    /* PETSc has no mirror with a box, none in 3D, and none of a point alone */
    if (f->boundary[d] == DM_BOUNDARY_MIRROR && (f->box || f->dim > 2 || f->n[d] < 3)) f->boundary[d] = DM_BOUNDARY_PERIODIC;
    if (d >= f->dim) f->boundary[d] = DM_BOUNDARY_NONE;
    for (PetscInt e = 0; e < 2; e++) f->wall[d][e] = (Wall)Below(f, 3);
    if (Chance(f, 0.4)) f->wall[d][0] = f->wall[d][1] = (Wall)(f->wall[0][0]);
  }
  if (Chance(f, 0.2))
    for (PetscInt d = 0; d < 3; d++) f->wall[d][0] = f->wall[d][1] = WALL_FLUX;
  (void)MPI_Comm_size(PETSC_COMM_WORLD, &size);
  if (!FuzzCuts(f, 1, cuts)) f->n[0] = 2 * size;
  f->points = f->n[0] * f->n[1] * f->n[2];
}

static inline void FuzzDrawCoefficients(Fuzz *f)
{
  f->cells    = Chance(f, 0.3) ? CELLS_CONSTANT : (Cells)Below(f, CELLS_KINDS);
  f->contrast = f->cells <= CELLS_SMOOTH ? 1.0 : Decades(f, 1, 8) * (Chance(f, 0.1) ? HJTestDigits(1e-4) : 1.0);
  for (PetscInt d = 0; d < 3; d++) f->axis[d] = f->stretch[d] = 1.0;
  if (Chance(f, 0.25))
    for (PetscInt d = 0; d < f->dim; d++) f->axis[d] = Decades(f, -2.5, 0.5);
  if (Chance(f, 0.15))
    for (PetscInt d = 0; d < f->dim; d++) f->stretch[d] = Uniform(f, 0.9, 1.25);
  f->positive_corners = (PetscBool)(f->box && Chance(f, 0.1));
  f->flow             = Chance(f, 0.75) ? FLOW_NONE : (Flow)(1 + Below(f, 3));
  f->peclet           = Chance(f, 0.5) ? Uniform(f, 0, 1) : Decades(f, -1, 2.5);
  if (f->flow == FLOW_NONE || f->flow == FLOW_RANDOM) f->peclet = 0.0;
  f->closed = Chance(f, 0.08) ? Uniform(f, 0.02, 0.5) : 0.0;
  f->lake   = Chance(f, 0.05);
  f->known  = Chance(f, 0.8) ? KNOWN_NONE : (Known)(1 + Below(f, 2));
  for (PetscInt d = 0; d < 3; d++) {
    f->body[d][0] = Below(f, f->n[d]);
    f->body[d][1] = PetscMin(f->n[d], f->body[d][0] + 1 + f->n[d] / 3);
  }
  f->known_share  = Chance(f, 0.5) ? 0.3 : 0.02;
  f->known_value  = Chance(f, 0.5) ? 1.0 : Decades(f, -9, 9);
  f->keep_columns = Chance(f, 0.5);
  if (f->known && Chance(f, 0.05)) f->known_value = 0.0;
  f->shift         = Chance(f, 0.8) ? 0.0 : Decades(f, -6, 1) * (Chance(f, 0.3) ? -0.02 : 1.0);
  f->scale         = Chance(f, 0.85) ? 1.0 : Decades(f, HJ_BY_PRECISION(-150, -25), HJ_BY_PRECISION(150, 25));
  f->row_decades   = Chance(f, 0.9) ? 0.0 : Uniform(f, 0, HJ_BY_PRECISION(6, 2.5));
  f->scale_columns = Chance(f, 0.5);
  f->bad           = Chance(f, 0.94) ? BAD_NONE : (Bad)(1 + Below(f, 3));
  f->bad_value     = Chance(f, 0.5) ? NAN : INFINITY;
}

/* Makes a small grid of what was drawn, and the same star everywhere, which has ways of its own */
static inline void FuzzDrawPlain(Fuzz *f)
{
  PetscMPIInt size = 1;
  PetscInt    cuts[1][3];

  for (PetscInt d = 0; d < f->dim; d++) {
    f->n[d]        = 1 + Below(f, 16);
    f->boundary[d] = DM_BOUNDARY_NONE;
    f->wall[d][0] = f->wall[d][1] = WALL_ZERO;
    f->axis[d]                    = Chance(f, 0.5) ? 1.0 : Decades(f, -2, 0);
    f->stretch[d]                 = 1.0;
  }
  f->box   = PETSC_FALSE;
  f->cells = CELLS_CONSTANT;
  f->flow  = FLOW_NONE;
  f->known = KNOWN_NONE;
  f->bad   = BAD_NONE;
  f->lake  = PETSC_FALSE;
  f->shift = f->closed = f->row_decades = f->peclet = 0.0;
  f->contrast                                       = 1.0;
  (void)MPI_Comm_size(PETSC_COMM_WORLD, &size);
  if (!FuzzCuts(f, 1, cuts)) f->n[0] = 2 * size;
  f->points = f->n[0] * f->n[1] * f->n[2];
}

/* What is drawn here may look at the rows of salt 0 */
static inline void FuzzDrawSolver(Fuzz *f)
{
  const KSPNormType cg_norms[] = {KSP_NORM_PRECONDITIONED, KSP_NORM_UNPRECONDITIONED, KSP_NORM_NATURAL};
  const PetscInt    kind       = Below(f, 10);

  f->stencil_matrix = Chance(f, 0.5);
  f->dropped        = (PetscBool)(!f->stencil_matrix && Chance(f, 0.3));
  f->fill           = (Fill)Below(f, 3);
  f->null_space     = (Null)Below(f, 3);
  f->pc             = Chance(f, 0.75) ? PCHJMG : PCHJACOBI;
  f->side           = Chance(f, 0.5) ? PC_LEFT : PC_RIGHT;
  f->norm           = f->side == PC_LEFT ? KSP_NORM_PRECONDITIONED : KSP_NORM_UNPRECONDITIONED;
  if (f->symmetric && (f->row_decades == 0.0 || f->scale_columns) && kind < 6 && (f->dominant || Chance(f, 0.1))) {
    f->ksp  = KSPCG;
    f->side = PC_LEFT;
    f->norm = cg_norms[Below(f, 3)];
  } else if (kind < 7) f->ksp = KSPGMRES;
  else if (kind < 8) f->ksp = KSPBCGS;
  else if (kind < 9) {
    f->ksp  = KSPFGMRES;
    f->side = PC_RIGHT;
    f->norm = KSP_NORM_UNPRECONDITIONED;
  } else {
    f->ksp  = KSPRICHARDSON;
    f->side = PC_LEFT;
    f->norm = cg_norms[Below(f, 2)];
  }
  f->rtol         = Chance(f, 0.7) ? HJTestDigits(1e-8) : Decades(f, -10, -4);
  f->guess        = Chance(f, 0.15);
  f->again        = Chance(f, 0.25);
  f->again_scale  = Chance(f, 0.3) ? Decades(f, -6, 6) : 1.0;
  f->reuse        = Chance(f, 0.3);
  f->defaults     = Chance(f, 0.75);
  f->k            = Chance(f, 0.6) ? 1 + Below(f, 8) : 1 + Below(f, 64);
  f->levels       = Chance(f, 0.5) ? 1 + Below(f, 4) : PETSC_DECIDE;
  f->transfer     = Below(f, 3);
  f->schedule     = Below(f, f->k > 16 ? 3 : 4);
  f->coarse_solve = Below(f, 3);
  f->rank_points  = Chance(f, 0.5) ? PETSC_DECIDE : Below(f, 300);
  f->both         = Chance(f, 0.2);
}

/* What came later, from numbers of its own, so that problems stay what they were. Blocks are definite, and so are the symmetric parts of
   reactions */
static inline void FuzzDrawMore(Fuzz *f)
{
  const PetscReal couples = Chance(f, 0.3) ? 0.0 : Uniform(f, -0.3, 0.45), turns = Chance(f, 0.6) ? 0.0 : Uniform(f, -1, 1);
  const PetscReal differ = Chance(f, 0.7) ? 0.0 : Uniform(f, -2, 2), reacts = Chance(f, 0.5) ? 0.0 : Decades(f, -4, 3);

  f->single  = Chance(f, 0.2);
  f->own     = Chance(f, 0.5);
  f->dof     = Chance(f, 0.8) ? 1 : 2 + Below(f, FUZZ_DOF - 1);
  f->mixed   = f->box && f->dof >= 2 && Chance(f, 0.3) ? 0.5 : 0.0;
  f->blocked = Chance(f, 0.3);
  for (PetscInt c = 0; c < f->dof; c++) {
    for (PetscInt d = 0; d < f->dof; d++) {
      f->block[c][d]    = (c == d ? 1.0 : couples) * PetscPowReal(10.0, 0.5 * differ * (c + d));
      f->reaction[c][d] = reacts * (c == d ? 1.0 : couples + (c < d ? turns : -turns));
    }
  }
  f->through_matmult = Chance(f, 0.25);
}

static inline void FuzzSay(Fuzz *f, const char *format, ...)
{
  const size_t used = strlen(f->text);
  va_list      args;

  va_start(args, format);
  (void)vsnprintf(f->text + used, sizeof(f->text) - used, format, args);
  va_end(args);
}

/* In words that -kind looks for */
static inline void FuzzDescribe(Fuzz *f)
{
  static const char *const cells[] = {"constant", "smooth", "halves", "ball", "stripes", "checker", "random"};
  static const char *const flows[] = {"", "upwind", "central", "random entries"}, *const walls[] = {"zero", "flux", "identity"};
  static const char *const bads[] = {"", "zero diagonal", "bad entry", "bad rhs"}, *const nulls[] = {"not told", "constant", "vectors"};

  f->text[0] = 0;
  FuzzSay(f, "%s %s%s %s %s%s%s, %dx%dx%d %s;", f->pc, f->own ? "hj" : "", f->ksp, f->side == PC_LEFT ? "left" : "right",
          KSPNormTypes[f->norm], f->guess ? " guess" : "", f->again ? f->reuse ? " reuse" : " again" : "", (int)f->n[0], (int)f->n[1],
          (int)f->n[2], f->box ? "box" : "star");
  for (PetscInt d = 0; d < f->dim; d++) {
    FuzzSay(f, " %s", DMBoundaryTypes[f->boundary[d]]);
    if (f->boundary[d] == DM_BOUNDARY_NONE || f->boundary[d] == DM_BOUNDARY_GHOSTED)
      FuzzSay(f, "(%s %s)", walls[f->wall[d][0]], walls[f->wall[d][1]]);
  }
  FuzzSay(f, "; %s", cells[f->cells]);
  if (f->contrast != 1.0) FuzzSay(f, " %.1g", (double)f->contrast);
  if (f->axis[0] != 1.0 || f->axis[1] != 1.0)
    FuzzSay(f, ", axes %.2g %.2g %.2g", (double)f->axis[0], (double)f->axis[1], (double)f->axis[2]);
  if (f->stretch[0] != 1.0) FuzzSay(f, ", stretched %.2g %.2g %.2g", (double)f->stretch[0], (double)f->stretch[1], (double)f->stretch[2]);
  if (f->positive_corners) FuzzSay(f, ", positive corners");
  if (f->flow) FuzzSay(f, ", %s %.2g", flows[f->flow], (double)f->peclet);
  if (f->closed > 0.0) FuzzSay(f, ", closed %.2g", (double)f->closed);
  if (f->lake) FuzzSay(f, ", lake");
  if (f->known == KNOWN_POINTS) FuzzSay(f, ", known points %.2g", (double)f->known_share);
  if (f->known == KNOWN_BODY) FuzzSay(f, ", known body");
  FuzzSay(f, ", known value %.2g %s", (double)f->known_value, f->keep_columns ? "kept" : "cut");
  if (f->shift != 0.0) FuzzSay(f, ", shift %.2g", (double)f->shift);
  if (f->scale != 1.0) FuzzSay(f, ", scale %.2g", (double)f->scale);
  if (f->row_decades > 0.0) FuzzSay(f, ", %s scaled 10^%.2g", f->scale_columns ? "rows and columns" : "rows", (double)f->row_decades);
  if (f->bad) FuzzSay(f, ", %s %g", bads[f->bad], (double)(f->bad == BAD_DIAGONAL ? 0.0 : f->bad_value));
  if (f->nnull) FuzzSay(f, ", singular (%d of %d parts, %s)", (int)f->nnull, (int)f->nparts, nulls[f->null_space]);
  if (f->dof > 1) {
    FuzzSay(f, ", system of %d (couples %.2g %.2g %.2g, mixed %.2g, reacts %.2g %.2g %.2g)", (int)f->dof, (double)f->block[0][1],
            (double)f->block[1][0], (double)f->block[1][1], (double)f->mixed, (double)f->reaction[0][0], (double)f->reaction[0][1],
            (double)f->reaction[1][0]);
  }
  if (f->through_matmult) FuzzSay(f, ", through MatMult");
  FuzzSay(f, ", %s%s%s%s", f->single ? "single, " : "",
          f->stencil_matrix ? "hjstencil"
          : f->blocked      ? "baij"
                            : "aij",
          f->dropped ? " dropped" : "",
          f->fill == FILL_INSERT ? ""
          : f->fill == FILL_ADD  ? " add"
                                 : " convert");
  if (!f->defaults) {
    FuzzSay(f, ", options k %d levels %d transfer %d schedule %d coarse %d rank_points %d", (int)f->k, (int)f->levels, (int)f->transfer,
            (int)f->schedule, (int)f->coarse_solve, (int)f->rank_points);
  }
  FuzzSay(f, "%s%s", f->symmetric ? "" : ", unsymmetric", f->mild ? ", mild" : f->hard ? ", hard" : "");
  if (f->unsafe) FuzzSay(f, ", unsafe");
}

/* What may be asked of a solver of it. A left preconditioner may miss much of the error where coefficients differ by more than 1e6, the
   matrix is far from normal or indefinite, or sweeps were asked for, and rounding leaves more; numbers of sweeps that are asked for may
   grow where eigenvalues are complex or negative. Convection over rows that are a diagonal alone and of another size is no mild problem,
   as the page of PCHJMG says; nor is CG where a mirror makes the matrix unsymmetric: the row of the last point has its neighbour twice,
   which has it once. For 7 unknowns KSPCG takes 405 iterations with PCJACOBI and as many without (38850-262) */
static inline void FuzzJudge(Fuzz *f)
{
  const PetscReal value = PetscMax(f->known_value, f->known_value != 0.0 ? 1.0 / f->known_value : PETSC_MAX_REAL);
  PetscReal       ratio = PetscMax(f->contrast, 1.0 / f->contrast);
  PetscBool       known = (PetscBool)(f->known != KNOWN_NONE), mirrored = PETSC_FALSE;

  for (PetscInt d = 0; d < f->dim; d++) {
    ratio *= PetscMax(f->axis[d], 1.0 / f->axis[d]) * PetscPowReal(PetscMax(f->stretch[d], 1.0 / f->stretch[d]), (PetscReal)f->n[d]);
    if (f->wall[d][0] == WALL_IDENTITY || f->wall[d][1] == WALL_IDENTITY) known = PETSC_TRUE;
    if (f->boundary[d] == DM_BOUNDARY_MIRROR) mirrored = PETSC_TRUE;
  }
  f->hard = (PetscBool)(ratio > HJTestDigits(1e6) || (f->row_decades > 1.0 && f->scale_columns) || f->flow == FLOW_RANDOM || !f->dominant ||
                        !f->defaults);
  f->unsafe = (PetscBool)(!f->defaults && (!f->symmetric || !f->dominant || f->bad));
  f->alike  = (PetscBool)(ratio <= HJTestDigits(1e6) && !f->unsafe && !f->nnull && !f->bad && f->scale == 1.0 && f->row_decades == 0.0 &&
                         f->flow != FLOW_RANDOM);
  f->mild   = (PetscBool)(ratio <= HJTestDigits(1e6) && f->dominant && !f->nnull && f->peclet <= 1.0 && !f->bad && f->defaults &&
                        f->scale > HJ_BY_PRECISION(1e-100, 1e-15) && f->scale < HJ_BY_PRECISION(1e100, 1e15) &&
                        f->row_decades <= (f->scale_columns ? 0.0 : HJ_BY_PRECISION(3.0, 1.3)) && f->flow != FLOW_RANDOM &&
                        !(f->flow && known && value > 100.0) && !(mirrored && !strcmp(f->ksp, KSPCG)));
}

/* Problem `number` of a seed; FuzzDestroy() it */
static inline PetscErrorCode FuzzCreate(uint64_t seed, PetscInt number, Fuzz *f)
{
  uint64_t state;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(f, sizeof(*f)));
  f->key   = FuzzMix(seed * 1000003u + (uint64_t)number);
  f->state = FuzzMix(f->key);
  FuzzDrawGrid(f);
  FuzzDrawCoefficients(f);
  if (Chance(f, 0.08)) FuzzDrawPlain(f);
  state    = f->state;
  f->state = FuzzMix(f->key + 41);
  FuzzDrawMore(f);
  f->state = state;
  PetscCall(PetscMalloc3(FUZZ_OFFSETS * f->points, &f->a, f->points, &f->part, f->points, &f->null_part));
  PetscCall(FuzzMake(f, 0));
  FuzzDrawSolver(f);
  if (f->dof > 1 && !f->stencil_matrix && f->blocked) f->fill = (Fill)PetscMin(f->fill, FILL_ADD);
  if (f->dof > 1) f->transfer %= 2;                                                       /* the third is for one unknown */
  f->blocked = (PetscBool)(f->dof > 1 && f->dim > 1 && !f->stencil_matrix && f->blocked); /* PETSc has none in 1D, */
  for (int d = 0; d < 3; d++)                                                             /* nor over a period of one or two points */
    if (f->boundary[d] == DM_BOUNDARY_PERIODIC && f->n[d] < 3) f->blocked = PETSC_FALSE;
  f->dropped         = (PetscBool)(f->dropped && !f->blocked);
  f->own             = (PetscBool)(f->own && (!strcmp(f->ksp, KSPCG) || !strcmp(f->ksp, KSPRICHARDSON)));
  f->through_matmult = (PetscBool)(f->through_matmult && !strcmp(f->pc, PCHJACOBI));
  FuzzJudge(f);
  FuzzDescribe(f);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FuzzDestroy(Fuzz *f)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(f->a, f->part, f->null_part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cuts n points among m ranks, each at least `least` */
static inline void FuzzCut(Fuzz *f, PetscInt n, PetscInt m, PetscInt least, PetscInt widths[])
{
  const PetscBool even = Chance(f, 0.3);

  for (PetscInt r = 0; r < m; r++) {
    const PetscInt most = n - least * (m - 1 - r);

    widths[r] = r == m - 1 ? n : even ? n / (m - r) : least + Below(f, most - least + 1);
    n -= widths[r];
  }
}

/* A grid of that problem, cut among the ranks at random; vectors and matrices are of the types that are given */
static inline PetscErrorCode FuzzDM(const Fuzz *f, VecType vec, MatType mat, DM *da)
{
  Fuzz        draw = *f;
  PetscInt    m[3], cuts[16][3], ncuts, width[3][16];
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  draw.state = FuzzMix(f->key + (uint64_t)size);
  ncuts      = FuzzCuts(f, 16, cuts);
  PetscCheck(ncuts && size <= 16, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "No cut of this grid among %d ranks", size);
  PetscCall(PetscArraycpy(m, cuts[Below(&draw, ncuts)], 3));
  for (PetscInt d = 0; d < 3; d++) FuzzCut(&draw, f->n[d], m[d], FuzzThinnest(f, d), width[d]);
  PetscCall(DMDACreate(PETSC_COMM_WORLD, da));
  PetscCall(DMSetDimension(*da, f->dim));
  PetscCall(DMDASetSizes(*da, f->n[0], f->n[1], f->n[2]));
  PetscCall(DMDASetNumProcs(*da, m[0], m[1], m[2]));
  PetscCall(DMDASetOwnershipRanges(*da, width[0], f->dim > 1 ? width[1] : NULL, f->dim > 2 ? width[2] : NULL));
  PetscCall(DMDASetBoundaryType(*da, f->boundary[0], f->boundary[1], f->boundary[2]));
  PetscCall(DMDASetDof(*da, f->dof));
  PetscCall(DMDASetStencilWidth(*da, 1));
  PetscCall(DMDASetStencilType(*da, f->box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR));
  PetscCall(DMSetVecType(*da, vec));
  PetscCall(DMSetMatType(*da, mat));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row of a point that has one unknown */
static inline PetscErrorCode FuzzFillRow(const Fuzz *f, const PetscInt at[3], InsertMode mode, Mat A)
{
  const PetscScalar *a   = &f->a[FUZZ_OFFSETS * FuzzNatural(f, at)];
  const MatStencil   row = {.i = at[0], .j = at[1], .k = at[2]};
  MatStencil         col[FUZZ_OFFSETS];
  PetscScalar        v[FUZZ_OFFSETS];
  PetscInt           n = 0, to[3], out, off[3];

  PetscFunctionBegin;
  for (PetscInt o = 0; o < FUZZ_OFFSETS; o++) {
    if (o != 13 && (!FuzzNeighbor(f, at, o, to, &out) || out >= 0)) continue;
    FuzzOffset(o, off);
    col[n] = (MatStencil){.i = at[0] + off[0], .j = at[1] + off[1], .k = at[2] + off[2]};
    v[n++] = a[o];
  }
  PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The block of a point at an offset. Rows that are known are a diagonal */
static inline void FuzzBlock(const Fuzz *f, const PetscInt at[3], PetscInt o, PetscScalar v[])
{
  const PetscInt    i     = FuzzNatural(f, at);
  const PetscScalar a     = f->a[FUZZ_OFFSETS * i + o];
  const PetscBool   known = FuzzKnown(f, at);
  PetscReal         scale = f->scale * PetscSqr(FuzzScale(f, i)) * (f->salt ? f->again_scale : 1.0) * f->mean;
  PetscInt          off[3];

  FuzzOffset(o, off);
  if (!f->scale_columns && f->row_decades > 0.0) scale /= FuzzScale(f, i);
  for (PetscInt c = 0; c < f->dof; c++) {
    for (PetscInt d = 0; d < f->dof; d++) {
      PetscScalar *b = &v[c * f->dof + d];

      *b = known ? (c == d ? a : 0.0) : a * f->block[c][d];
      if (!known && o == 13 && (a != 0.0 || !f->bad)) *b += scale * f->reaction[c][d];
      if (!known && c + d == 1) *b += a * f->mixed * off[0] * off[1];
    }
  }
}

/* A row of blocks, as numbers of a matrix with one unknown a point or several */
static inline PetscErrorCode FuzzFillPoint(const Fuzz *f, const PetscInt at[3], InsertMode mode, Mat A)
{
  const MatStencil row = {.i = at[0], .j = at[1], .k = at[2]};
  PetscScalar      v[FUZZ_DOF * FUZZ_DOF];
  PetscInt         to[3], out, off[3];

  PetscFunctionBegin;
  for (PetscInt o = 0; o < FUZZ_OFFSETS; o++) {
    if (o != 13 && (!FuzzNeighbor(f, at, o, to, &out) || out >= 0)) continue;
    FuzzOffset(o, off);
    {
      const MatStencil col = {.i = at[0] + off[0], .j = at[1] + off[1], .k = at[2] + off[2]};

      FuzzBlock(f, at, o, v);
      PetscCall(MatSetValuesBlockedStencil(A, 1, &row, 1, &col, v, mode));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values that f has now */
static inline PetscErrorCode FuzzFill(const Fuzz *f, DM da, InsertMode mode, Mat A)
{
  PetscInt s[3], w[3];

  PetscFunctionBegin;
  for (PetscInt d = 0; d < f->dim; d++) /* there two offsets lead to one column */
    if (f->boundary[d] == DM_BOUNDARY_MIRROR || (f->boundary[d] == DM_BOUNDARY_PERIODIC && f->n[d] < 3)) mode = ADD_VALUES;
  if (mode == ADD_VALUES) PetscCall(MatZeroEntries(A));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  for (PetscInt k = s[2]; k < s[2] + w[2]; k++) {
    for (PetscInt j = s[1]; j < s[1] + w[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + w[0]; i++) {
        const PetscInt at[3] = {i, j, k};

        if (f->dof > 1) PetscCall(FuzzFillPoint(f, at, mode, A));
        else PetscCall(FuzzFillRow(f, at, mode, A));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tells a matrix its null space, as that problem does it */
static inline PetscErrorCode FuzzNullSpace(const Fuzz *f, DM da, Mat A)
{
  const PetscBool columns = (PetscBool)(f->row_decades > 0.0 && f->scale_columns);
  const PetscBool ones    = (PetscBool)(f->null_space == NULL_CONSTANT && f->nparts == 1 && !columns && f->dof == 1);
  MatNullSpace    space;
  Vec             natural, null[FUZZ_PARTS];
  PetscInt        low, high, n = 0;

  PetscFunctionBegin;
  if (f->null_space == NULL_LEFT_ALONE || !f->nnull || f->nnull * f->dof > FUZZ_PARTS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMDACreateNaturalVector(da, &natural));
  PetscCall(VecGetOwnershipRange(natural, &low, &high));
  for (PetscInt part = 0; part < f->nnull; part++) {
    for (PetscInt c = 0; c < f->dof; c++) {
      PetscCall(VecSet(natural, 0.0));
      for (PetscInt r = low; r < high; r++) {
        const PetscInt i = r / f->dof;

        if (r % f->dof == c && f->part[i] == f->null_part[part])
          PetscCall(VecSetValue(natural, r, columns ? 1.0 / FuzzScale(f, i) : 1.0, INSERT_VALUES));
      }
      PetscCall(VecAssemblyBegin(natural));
      PetscCall(VecAssemblyEnd(natural));
      PetscCall(DMCreateGlobalVector(da, &null[n]));
      PetscCall(DMDANaturalToGlobalBegin(da, natural, INSERT_VALUES, null[n]));
      PetscCall(DMDANaturalToGlobalEnd(da, natural, INSERT_VALUES, null[n]));
      PetscCall(VecNormalize(null[n++], NULL));
    }
  }
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, ones, ones ? 0 : n, null, &space));
  PetscCall(MatSetNullSpace(A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  while (n > 0) PetscCall(VecDestroy(&null[--n]));
  PetscCall(VecDestroy(&natural));
  PetscFunctionReturn(PETSC_SUCCESS);
}

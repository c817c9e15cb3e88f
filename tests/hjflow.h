/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Matrices that are not symmetric: rows scaled by what they stand for, skew parts of a linearisation, upwind convection.
*/
#pragma once

#include "hjproblem.h"

typedef enum {
  FLOW_VOLUMES, /* finite volumes on a grid stretched by the same factor from cell to cell, rows divided by the volume */
  FLOW_CENTRE,  /* ksp ex29: the row's own conductivity, strength in the middle, 1 around it */
  FLOW_NEWTON,  /* conductivities over some decades, and a skew part of up to strength of each coupling */
  FLOW_OPEN,    /* upwind, velocity (1, 1/2, 1/4), the diffusion is strength; the side of the box is 1 */
  FLOW_RECIRCULATING,
  FLOW_ALONG,     /* velocity (1, 0, 0) */
  FLOW_ROTATING,  /* about the axis (1, 1, 1) through the middle */
  FLOW_VISCOSITY, /* recirculating; the diffusion is strength at x = 0 and grows to 1e-2 at x = 1 */
  FLOW_CELLS,     /* 8 by 8 cells that turn against one another */
  FLOW_CHECKERS,  /* central differences, cells of three points a side of 1 and 1e6 by turns; couplings upstream are strength more than 1 */
  FLOW_EDDIES,    /* two eddies side by side that turn against one another, one larger than the other */
  FLOW_STAGNATION, /* towards a line in the middle along x, away from it along y */
  FLOW_SHEAR,      /* along x, 0 at the lower wall, back above the middle */
  FLOW_LENS        /* open, around a disc of rest in the middle */
} FlowKind;

typedef struct {
  FlowKind  kind;
  PetscInt  dim, n[3];
  PetscReal strength;
  PetscBool symmetric; /* volumes, centre, Newton: without what makes them unsymmetric */
  PetscReal identity;  /* not 0: points in a corner of the middle are rows with this diagonal alone, whose columns are kept */
} Flow;

static inline PetscReal FlowSpacing(const Flow *f, PetscInt d, PetscInt i)
{
  return f->kind == FLOW_VOLUMES ? PetscPowReal(f->strength, (PetscReal)PetscAbsInt(i - f->n[d] / 3)) : 1.0;
}

/* A number between -1 and 1 for each pair of points, the same from both sides */
static inline PetscReal FlowRandom(const PetscInt at[3], const PetscInt off[3], int salt)
{
  PetscReal sum = 0.7 * salt;

  for (int d = 0; d < 3; d++) sum += (d + 1) * 37.719 * (2 * at[d] + off[d]) + 11.3 * off[d] * off[d];
  sum = PetscSinReal(sum) * 43758.5453;
  return 2 * (sum - PetscFloorReal(sum)) - 1;
}

/* The share of a velocity that leads into a cell through its face in direction d, times the length of a cell */
static inline PetscReal FlowInto(const Flow *f, const PetscInt at[3], PetscInt d, PetscInt side)
{
  const PetscReal h = 1.0 / (f->n[0] + 1), x = (at[0] + 1) * h, y = (at[1] + 1) * h;
  PetscReal       u = d == 0 ? 1.0 : f->kind == FLOW_ALONG ? 0.0 : d == 1 ? 0.5 : 0.25;

  if (f->kind == FLOW_CELLS) {
    const PetscReal a = 8 * PETSC_PI * x, b = 8 * PETSC_PI * y;

    u = d == 0 ? PetscSinReal(a) * PetscCosReal(b) : d == 1 ? -PetscCosReal(a) * PetscSinReal(b) : 0.0;
  } else if (f->kind == FLOW_EDDIES) {
    const PetscReal s = x * x;

    u = d == 0   ? PetscSinReal(2 * PETSC_PI * s) * PetscCosReal(PETSC_PI * y)
        : d == 1 ? -4 * x * PetscCosReal(2 * PETSC_PI * s) * PetscSinReal(PETSC_PI * y)
                 : 0.0;
  } else if (f->kind == FLOW_STAGNATION) {
    u = d == 0 ? 0.5 - x : d == 1 ? y - 0.5 : 0.0;
  } else if (f->kind == FLOW_SHEAR) {
    u = d == 0 ? y * (0.6 - y) * 4 : 0.0;
  } else if (f->kind == FLOW_LENS) {
    if ((x - 0.5) * (x - 0.5) + (y - 0.5) * (y - 0.5) < 0.04) u = 0.0;
  } else if (f->kind == FLOW_ROTATING) {
    const PetscReal z = (at[2] + 1) * h;

    u = d == 0 ? z - y : d == 1 ? x - z : y - x;
  } else if (f->kind == FLOW_RECIRCULATING || f->kind == FLOW_VISCOSITY)
    u = d == 0 ? 4 * x * (x - 1) * (1 - 2 * y) : d == 1 ? -4 * y * (y - 1) * (1 - 2 * x) : 0.0;
  return h * PetscMax(-side * u, 0.0);
}

/* The coupling of a point to the one beside it, as its own row has it */
static inline PetscReal FlowCoupling(const Flow *f, const PetscInt at[3], PetscInt d, PetscInt side)
{
  const PetscInt off[3] = {d == 0 ? side : 0, d == 1 ? side : 0, d == 2 ? side : 0};
  PetscReal      a      = 1.0;

  if (f->kind == FLOW_VOLUMES) {
    a = 2.0 / (FlowSpacing(f, d, at[d]) + FlowSpacing(f, d, at[d] + side));
    for (PetscInt e = 0; e < f->dim; e++) a *= e == d ? 1.0 : FlowSpacing(f, e, at[e]);
    for (PetscInt e = 0; e < f->dim && !f->symmetric; e++) a /= FlowSpacing(f, e, at[e]);
  } else if (f->kind == FLOW_CENTRE) {
    for (PetscInt e = 0; e < f->dim; e++)
      if (3 * at[e] < f->n[e] || 3 * at[e] > 2 * f->n[e]) return 1.0;
    a = f->symmetric ? 1.0 : f->strength;
  } else if (f->kind == FLOW_NEWTON) {
    const PetscReal x = (at[0] + 0.5 * off[0]) / f->n[0] - 0.5, y = (at[1] + 0.5 * off[1]) / f->n[1] - 0.5;

    a = PetscPowReal(1e-3 + x * x + y * y, 2.0);
    if (!f->symmetric) a *= 1.0 + side * f->strength * FlowRandom(at, off, 1);
  } else if (f->kind == FLOW_VISCOSITY) {
    a = f->strength * PetscPowReal(1e-2 / f->strength, (at[0] + 0.5 * off[0]) / f->n[0]) + FlowInto(f, at, d, side);
  } else if (f->kind == FLOW_CHECKERS) {
    PetscInt here = 0, there = 0;

    for (PetscInt e = 0; e < f->dim; e++) {
      here += at[e] / 3;
      there += (at[e] + off[e] + 6) / 3;
    }
    a = here % 2 == there % 2 ? (here % 2 ? HJTestDigits(1e6) : 1.0) : 2.0 / (1.0 + HJTestDigits(1e-6));
    a *= 1.0 - side * f->strength;
  } else a = f->strength + FlowInto(f, at, d, side);
  return a;
}

static inline PetscBool FlowIsIdentity(const Flow *f, const PetscInt at[3])
{
  PetscBool is = (PetscBool)(f->identity != 0.0);

  for (PetscInt d = 0; d < f->dim; d++) is = (PetscBool)(is && 2 * at[d] > f->n[d] && 4 * at[d] < 3 * f->n[d]);
  return is;
}

static inline PETSC_UNUSED PetscInt FlowRow(const void *ctx, const PetscInt at[3], PetscInt salt, MatStencil col[27], PetscScalar v[27])
{
  const Flow *f = (const Flow *)ctx;
  PetscInt    n = 1;

  col[0] = (MatStencil){.i = at[0], .j = at[1], .k = at[2]};
  v[0]   = f->identity;
  if (FlowIsIdentity(f, at)) return 1;
  v[0] = 0.0;
  for (PetscInt d = 0; d < f->dim; d++) {
    for (PetscInt side = -1; side < 2; side += 2) {
      const PetscReal a = FlowCoupling(f, at, d, side);

      v[0] += a;
      if (at[d] + side < 0 || at[d] + side >= f->n[d]) continue;
      col[n] = (MatStencil){.i = at[0] + (d == 0 ? side : 0), .j = at[1] + (d == 1 ? side : 0), .k = at[2] + (d == 2 ? side : 0)};
      v[n++] = -a;
    }
  }
  return n;
}

static inline PETSC_UNUSED const char *FlowName(const Flow *f)
{
  static const char *const kinds[] = {"rows divided by volumes",
                                      "rows times conductivities",
                                      "skew part of a linearisation",
                                      "open flow",
                                      "recirculating flow",
                                      "flow along an axis",
                                      "rotating flow",
                                      "growing viscosity",
                                      "cells",
                                      "checkers",
                                      "two eddies",
                                      "stagnation",
                                      "shear",
                                      "flow around rest"};
  static char              name[128];

  (void)PetscSNPrintf(name, sizeof(name), "%s, %" PetscInt_FMT "D %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT ", %g",
                      kinds[f->kind], f->dim, f->n[0], f->n[1], f->n[2], (double)f->strength);
  return name;
}

/* Solved by GMRES to 1e-8 of the preconditioned residual, by a PC of that type; pc is that of *ksp, which the caller destroys */
static inline PETSC_UNUSED PetscErrorCode FlowSolve(const Flow *f, MatType mattype, PCType type, KSP *ksp, PetscInt *its, PetscReal *error)
{
  const Problem p = {f->dim, {f->n[0], f->n[1], f->n[2]}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM            da;
  Mat           A;
  Vec           x, b, exact;
  PC            pc;
  PetscReal     norm[2];

  PetscFunctionBegin;
  PetscCall(ProblemDM(&p, &da));
  PetscCall(DMSetMatType(da, mattype));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(FillRows(da, FlowRow, f, 0, INSERT_VALUES, A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &exact));
  PetscCall(ProblemVector(da, 1, exact));
  PetscCall(MatMult(A, exact, b));
  PetscCall(ProblemKSP(da, A, KSPGMRES, type, ksp, &pc));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(KSPGMRESSetRestart(*ksp, 50));
  PetscCall(KSPSetTolerances(*ksp, HJTestDigits(1e-8), 0.0, PETSC_DEFAULT, 300));
  PetscCall(KSPSolve(*ksp, b, x));
  PetscCall(KSPGetIterationNumber(*ksp, its));
  PetscCall(VecAXPY(x, -1.0, exact));
  PetscCall(VecNorm(x, NORM_2, &norm[0]));
  PetscCall(VecNorm(exact, NORM_2, &norm[1]));
  *error = norm[0] / norm[1];
  PetscCall(HJTestDestroy(&exact, &b, &x, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What the cases of bench_mat share: what was asked for, a row of its table, the grids and the check of answers.
*/
#pragma once

#include "fillings.h"
#include "machine.h"
#include "report.h"

/* By which a hierarchy is set up, in this order, and as -fillings calls them */
#define FILLINGS 4
static const Filling     our_fillings[FILLINGS]      = {FILLING_VALUES, FILLING_ARRAYS, FILLING_ROW, FILLING_COO};
static const char *const our_filling_names[FILLINGS] = {"values", "arrays", "row", "coo"};

typedef struct {
  PetscInt k[8], nk, leave_out[4], nleave, below[4], nbelow;
} Tries;

typedef struct {
  PetscInt    repetitions, n[4];
  Tries       tries[2]; /* on hjstencil, on AIJ */
  PetscBool   peer, attempts, fillings[FILLINGS];
  const char *aij;
  Filling     aij_filling; /* the fastest of AIJ on so many ranks */
  PetscMPIInt size;
  Machine     machine;
  Output      out;
} Bench;

/* What is measured of one matrix type */
typedef struct {
  const char *what, *type, *unit;
  PetscInt    k;       /* sweeps; 0: none */
  PetscReal   value;   /* 0: seconds are the value */
  PetscReal   peer;    /* how many times as good as AIJ; 0: not compared */
  PetscReal   bar;     /* of the value, or of peer; 0: none */
  PetscReal   reached; /* 1: the bar is met */
} Row;

static PetscErrorCode Report(Bench *b, const char *name, const Problem *p, const Times *t, Row r)
{
  const PetscReal median = t ? Median(t) : 0, spread = t ? Spread(t) : 0;
  const PetscInt  n = t ? t->n : 1;
  char            what[192];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), b->size > 1 ? "%s, %d ranks" : "%s", r.what, (int)b->size));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-10s %5" PetscInt_FMT "^%" PetscInt_FMT " %-44s %-11s", name, p->n, p->dim, what, r.type));
  if (r.k) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " k %-2" PetscInt_FMT, r.k));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "     "));
  if (t) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %10.4f ms +%3.0f%%", 1e3 * (double)median, 100 * (double)spread));
  else PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %19s", ""));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %9.4g %-7s", (double)r.value, r.unit));
  if (r.peer > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, " aij x %.2f", (double)r.peer));
  if (r.bar > 0) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "  bar %g: %.2f", (double)r.bar, (double)r.reached));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  PetscCall(OutputRow(PETSC_COMM_WORLD, &b->out));
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, b->out.csv,
                         "%s,%" PetscInt_FMT ",%" PetscInt_FMT ",\"%s\",%s,%" PetscInt_FMT ",%" PetscInt_FMT
                         ",%.6g,%.4f,%.6g,%s,%.4f,%g,%.4f\n",
                         name, p->dim, p->n, what, r.type, n, r.k, (double)median, (double)spread, (double)r.value, r.unit, (double)r.peer,
                         (double)r.bar, (double)r.reached));
  PetscCall(OutputFlush(&b->out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Polynomial, cheap, and another value at each point: no dictionary holds the rows */
static PetscReal CheapCoefficient(const PetscReal x[3])
{
  return 1 + x[0] + x[1] * x[1] + x[0] * x[2];
}

static PetscReal JumpCoefficient(const PetscReal x[3])
{
  return x[0] > 0.3 && x[0] < 0.7 && x[1] > 0.25 && x[1] < 0.6 ? 1e4 : 1;
}

static PetscErrorCode CheckSame(const char what[], PetscReal limit, Vec x, Vec y)
{
  PetscReal norm, difference;

  PetscFunctionBegin;
  PetscCall(VecNorm(x, NORM_INFINITY, &norm));
  PetscCall(VecAXPY(y, -1.0, x));
  PetscCall(VecNorm(y, NORM_INFINITY, &difference));
  PetscCheck(difference <= limit * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: hjstencil and AIJ differ by %g of %g", what,
             (double)difference, (double)norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateGrid(const Problem *p, const char type[], PetscBool skip, DM *da)
{
  PetscFunctionBegin;
  PetscCall(ProblemCreateDM(PETSC_COMM_WORLD, p, da));
  PetscCall(DMSetMatType(*da, type));
  PetscCall(DMSetMatrixPreallocateSkip(*da, skip));
  PetscFunctionReturn(PETSC_SUCCESS);
}

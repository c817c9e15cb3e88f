/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Cases of bench_mat: products and transfers that are timed alone.
*/
#pragma once

#include "matrows.h"

/* One of the operations that are timed alone */
typedef struct {
  enum { MULT, RESIDUAL, RESTRICT, INTERPOLATE_ADD, COPY } what;
  Mat A;
  Vec x, b, y; /* y = A x; y = b - A x; y = A^T x; y = y + A x; y = x */
} Operation;

static PetscErrorCode Operate(const Operation *o)
{
  PetscFunctionBegin;
  switch (o->what) {
  case MULT:
    PetscCall(MatMult(o->A, o->x, o->y));
    break;
  case RESIDUAL:
    PetscCall(MatResidual(o->A, o->b, o->x, o->y));
    break;
  case RESTRICT:
    PetscCall(MatRestrict(o->A, o->x, o->y));
    break;
  case INTERPOLATE_ADD:
    PetscCall(MatInterpolateAdd(o->A, o->x, o->y, o->y));
    break;
  default:
    PetscCall(VecCopy(o->x, o->y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each repetition lasts about 20 ms */
static PetscErrorCode TimeOperation(Bench *b, const Operation *o, Times *t)
{
  PetscLogDouble t0 = 0, t1 = 0;
  PetscInt       n = 1;

  PetscFunctionBegin;
  t->n = b->repetitions;
  for (PetscInt r = -2; r < t->n; r++) {
    PetscCall(MachineTime(&b->machine, &t0));
    for (PetscInt i = 0; i < n; i++) PetscCall(Operate(o));
    PetscCall(MachineTime(&b->machine, &t1));
    t->s[PetscMax(r, 0)] = (t1 - t0) / n;
    if (r < 0) n = (PetscInt)PetscClipInterval(0.02 * n / (t1 - t0 + 1e-6) + 1, 1, 500);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes a second of VecCopy() */
static PetscErrorCode TimeCopy(Bench *b, Vec x, Vec y, PetscReal *rate)
{
  const Operation o = {.what = COPY, .x = x, .y = y};
  Times           t;
  PetscInt        n;

  PetscFunctionBegin;
  PetscCall(TimeOperation(b, &o, &t));
  PetscCall(VecGetSize(x, &n));
  *rate = 2.0 * n * sizeof(PetscScalar) / Median(&t);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By the fastest filling of each type: [0] hjstencil, [1] AIJ if peers are wanted */
static PetscErrorCode CreatePair(const Bench *b, const Problem *p, DM da[2], Mat A[2])
{
  PetscFunctionBegin;
  for (int i = 0; i < 1 + (int)b->peer; i++) {
    const Filling filling = i ? b->aij_filling : FILLING_ARRAYS;

    PetscCall(CreateGrid(p, i ? b->aij : "hjstencil", (PetscBool)(filling != FILLING_VALUES), &da[i]));
    PetscCall(DMCreateMatrix(da[i], &A[i]));
    PetscCall(FillingFill(p, filling, da[i], A[i], NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* bytes: that must move for a point, so that of arrays the value is a part of the copy rate */
static PetscErrorCode ReportProduct(Bench *b, const char *name, const Problem *p, const char what[], const Times t[2], PetscReal copy,
                                    PetscReal bytes, PetscReal bar)
{
  const PetscReal points = PetscPowRealInt((PetscReal)p->n, (int)p->dim), rate = points / Median(&t[0]);
  Row             r = {.what = what, .type = "hjstencil", .unit = "Gpt/s", .value = rate / 1e9, .bar = bar};

  PetscFunctionBegin;
  if (b->peer) r.peer = Median(&t[1]) / Median(&t[0]);
  if (p->coefficient && b->machine.cuda) {
    r.unit  = "of copy";
    r.value = rate * bytes / copy;
  }
  r.reached = b->machine.cuda ? r.value / bar : r.peer / bar;
  if (!(bar > 0)) r.reached = 0;
  PetscCall(Report(b, name, p, &t[0], r));
  if (b->peer)
    PetscCall(Report(b, name, p, &t[1], (Row){.what = what, .type = b->aij, .unit = "Gpt/s", .value = points / Median(&t[1]) / 1e9}));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunMult(Bench *b, const char *name, Problem p)
{
  static const PetscReal gpu_bar[2][2] = {{220, 146}, {190, 127}}; /* constant coefficients: 2D, 3D; MatMult, MatResidual */
  const PetscBool        arrays = (PetscBool)(p.coefficient != NULL), jump = (PetscBool)(p.coefficient == JumpCoefficient);
  DM                     da[2];
  Mat                    A[2];
  Vec                    x, rhs, y[2];
  Times                  t[2];
  PetscReal              copy;

  PetscFunctionBegin;
  PetscCall(CreatePair(b, &p, da, A));
  PetscCall(DMCreateGlobalVector(da[0], &x));
  for (int i = 0; i < 2; i++) PetscCall(VecDuplicate(x, &y[i]));
  PetscCall(VecDuplicate(x, &rhs));
  PetscCall(VecSetRandom(x, NULL));
  PetscCall(VecSetRandom(rhs, NULL));
  PetscCall(TimeCopy(b, x, y[0], &copy));
  for (int residual = 0; residual < 2; residual++) {
    const PetscReal bytes = 8 * (2 + residual + (arrays ? p.dim + 1 : 0)), bar = arrays ? 0.8 : gpu_bar[p.dim - 2][residual];
    char            what[64];

    for (int i = 0; i < 1 + (int)b->peer; i++) {
      const Operation o = {.what = residual ? RESIDUAL : MULT, .A = A[i], .x = x, .b = rhs, .y = y[i]};

      PetscCall(TimeOperation(b, &o, &t[i]));
    }
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s", residual ? "MatResidual" : "MatMult",
                            jump     ? "dictionary"
                            : arrays ? "arrays"
                                     : "constant"));
    if (b->peer) PetscCall(CheckSame(what, 64 * PETSC_MACHINE_EPSILON, y[1], y[0]));
    PetscCall(ReportProduct(b, name, &p, what, t, copy, bytes, b->machine.cuda ? bar : residual ? 0 : arrays ? 1.2 : 2.5));
  }
  for (int i = 0; i < 1 + (int)b->peer; i++) {
    PetscCall(MatDestroy(&A[i]));
    PetscCall(DMDestroy(&da[i]));
  }
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&y[i]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&rhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunMultBoth(Bench *b, const char *name, Problem p)
{
  PetscFunctionBegin;
  PetscCall(RunMult(b, name, p));
  p.coefficient = CheapCoefficient;
  PetscCall(RunMult(b, name, p));
  p.coefficient = JumpCoefficient;
  if (!b->machine.cuda) PetscCall(RunMult(b, name, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Interpolation from the next coarser grid, as PCMG gets it: the fine matrix exists before the grid is coarsened */
static PetscErrorCode CreateInterpolation(const Problem *p, const char type[], DM da[2], Mat *P)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(CreateGrid(p, type, PETSC_TRUE, &da[0]));
  PetscCall(DMCreateMatrix(da[0], &A));
  PetscCall(DMCoarsen(da[0], PETSC_COMM_WORLD, &da[1]));
  PetscCall(DMCreateInterpolation(da[1], da[0], P, NULL));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunTransfer(Bench *b, const char *name, Problem p)
{
  const PetscReal part = PetscPowRealInt(0.5, (int)p.dim), points = PetscPowRealInt((PetscReal)p.n, (int)p.dim);
  DM              da[2][2];
  Mat             P[2];
  Vec             fine[2], coarse[2], start;
  Times           t[2];
  PetscReal       copy;

  PetscFunctionBegin;
  for (int i = 0; i < 1 + (int)b->peer; i++) PetscCall(CreateInterpolation(&p, i ? b->aij : "hjstencil", da[i], &P[i]));
  for (int i = 0; i < 2; i++) {
    PetscCall(DMCreateGlobalVector(da[0][0], &fine[i]));
    PetscCall(DMCreateGlobalVector(da[0][1], &coarse[i]));
  }
  PetscCall(VecDuplicate(fine[0], &start));
  PetscCall(VecSetRandom(start, NULL));
  PetscCall(TimeCopy(b, start, fine[0], &copy));
  for (int add = 0; add < 2; add++) {
    const char     *what  = add ? "interpolation and add" : "restriction";
    const PetscReal bytes = 8 * (1 + add + part);
    Row             r     = {.what = what, .type = "hjstencil", .unit = "of copy", .bar = b->machine.cuda ? 0.7 : 0};

    for (int i = 0; i < 1 + (int)b->peer; i++) {
      const Operation o = {.what = add ? INTERPOLATE_ADD : RESTRICT,
                           .A    = P[i],
                           .x    = add ? coarse[0] : start,
                           .y    = add ? fine[i] : coarse[i]};

      PetscCall(VecCopy(start, fine[i]));
      PetscCall(Operate(&o));
    }
    if (b->peer) PetscCall(CheckSame(what, 64 * PETSC_MACHINE_EPSILON, add ? fine[1] : coarse[1], add ? fine[0] : coarse[0]));
    for (int i = 0; i < 1 + (int)b->peer; i++) {
      const Operation o = {.what = add ? INTERPOLATE_ADD : RESTRICT,
                           .A    = P[i],
                           .x    = add ? coarse[1] : start,
                           .y    = add ? fine[i] : coarse[i]};

      PetscCall(TimeOperation(b, &o, &t[i]));
    }
    r.value = points * bytes / Median(&t[0]) / copy;
    if (b->peer) r.peer = Median(&t[1]) / Median(&t[0]);
    if (b->machine.cuda) r.reached = r.value / r.bar;
    PetscCall(Report(b, name, &p, &t[0], r));
    if (!b->peer) continue;
    PetscCall(
      Report(b, name, &p, &t[1], (Row){.what = what, .type = b->aij, .unit = "of copy", .value = points * bytes / Median(&t[1]) / copy}));
  }
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&fine[i]));
    PetscCall(VecDestroy(&coarse[i]));
  }
  PetscCall(VecDestroy(&start));
  for (int i = 0; i < 1 + (int)b->peer; i++) {
    PetscCall(MatDestroy(&P[i]));
    PetscCall(DMDestroy(&da[i][0]));
    PetscCall(DMDestroy(&da[i][1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What the tests of slabs share: a problem with its operator, and cycles in slabs beside the same cycles at once.
*/
#pragma once

#include "hjproblem.h"
#include "hjfakedevice.h"

typedef struct {
  DM          da;
  Mat         A;
  Vec         b, x, y;
  HJWeights   w;
  HJOperator *op; /* made by the test */
} SlabCase;

static inline PETSC_UNUSED PetscErrorCode SlabCaseCreate(const Problem *p, PetscInt k, SlabCase *c)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(c, sizeof(*c)));
  PetscCall(ProblemCreate(p, &c->da, &c->A));
  PetscCall(DMCreateGlobalVector(c->da, &c->b));
  PetscCall(VecDuplicate(c->b, &c->x));
  PetscCall(VecDuplicate(c->b, &c->y));
  PetscCall(ProblemVector(c->da, 1, c->b));
  c->w.k = k;
  PetscCall(PetscMalloc1(k, &c->w.w));
  for (PetscInt i = 0; i < k; i++) c->w.w[i] = 0.4 + 0.1 * (i % 5);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode SlabCaseDestroy(SlabCase *c)
{
  PetscFunctionBegin;
  PetscCall(HJWeightsReset(&c->w));
  PetscCall(HJOperatorDestroy(&c->op));
  PetscCall(HJTestDestroy(&c->b, &c->x, &c->y, &c->A, &c->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A few cycles in slabs and at once */
static inline PETSC_UNUSED PetscErrorCode CompareRuns(SlabCase *c, HJSlabs slabs, PetscInt its, PetscBool zero, PetscBool *same,
                                                      PetscReal *difference)
{
  const PetscScalar *ba;
  PetscScalar       *xa;

  PetscFunctionBegin;
  PetscCall(VecSet(c->x, PETSC_INFINITY)); /* from zero it is not read */
  if (!zero) {
    PetscCall(VecCopy(c->b, c->y));
    PetscCall(VecScale(c->y, 0.5));
    PetscCall(VecCopy(c->y, c->x));
  }
  PetscCall(HJOperatorRun(c->op, &c->w, &(HJRun){.its = its, .zero = zero, .b = c->b, .x = c->y}));
  PetscCall(VecGetArrayRead(c->b, &ba));
  PetscCall(VecGetArray(c->x, &xa));
  PetscCall(HJSlabsRun(slabs, &c->w, (PetscCount)its * c->w.k, zero, ba, xa, NULL, &(PetscCount){0}));
  PetscCall(VecRestoreArray(c->x, &xa));
  PetscCall(VecRestoreArrayRead(c->b, &ba));
  PetscCall(VecsAgree(c->x, c->y, 0, same, difference));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A test that never stops, for the last norm */
static inline PetscErrorCode KeepNorm(void *ctx, PetscCount done, PetscReal norm, PetscBool *stop)
{
  *(PetscReal *)ctx = norm;
  *stop             = PETSC_FALSE;
  return PETSC_SUCCESS;
}

/* The tests of a run: at each x is what it is at once, and with ahead the norm that of the coming cycle; it is stopped after some */
typedef struct {
  SlabCase          *c;
  const PetscScalar *x;
  PetscInt           every, ahead, n, stop; /* cycles; tests so far, and of which one stops */
  NormType           type;
  PetscBool          right;
  Vec                coming;
} CheckedRun;

static inline PETSC_UNUSED PetscErrorCode CheckedTest(void *ctx, PetscCount done, PetscReal norm, PetscBool *stop)
{
  CheckedRun        *run = (CheckedRun *)ctx;
  SlabCase          *c   = run->c;
  const PetscScalar *y;
  PetscReal          want = norm;
  PetscInt           n, all;

  PetscFunctionBegin;
  PetscCall(HJOperatorRun(c->op, &c->w, &(HJRun){.its = run->every, .b = c->b, .x = c->y}));
  if (run->ahead) {
    PetscCall(VecCopy(c->y, run->coming));
    PetscCall(HJOperatorRun(c->op, &c->w, &(HJRun){.its = 1, .b = c->b, .x = run->coming}));
    PetscCall(VecAXPY(run->coming, -1.0, c->y));
    PetscCall(VecNorm(run->coming, run->type, &want));
  }
  PetscCall(VecGetLocalSize(c->y, &n));
  PetscCall(VecGetSize(c->y, &all));
  PetscCall(VecGetArrayRead(c->y, &y));
  run->n++;
  run->right = (PetscBool)(run->right && done == (PetscCount)run->n * run->every * c->w.k && !memcmp(y, run->x, n * sizeof(*y)) &&
                           norm > 0 && PetscAbsReal(norm - want) <= PetscSqrtReal((PetscReal)all) * PETSC_MACHINE_EPSILON * want);
  PetscCall(VecRestoreArrayRead(c->y, &y));
  *stop = (PetscBool)(run->n == run->stop);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs of some cycles with tests after every so many of them */
static inline PETSC_UNUSED PetscErrorCode CompareChecked(SlabCase *c, HJSlabs slabs, PetscInt every, PetscInt stop, PetscBool ahead,
                                                         PetscBool *right)
{
  CheckedRun         run   = {.c = c, .every = every, .ahead = ahead ? c->w.k : 0, .stop = stop, .type = stop % 2 ? NORM_2 : NORM_INFINITY};
  const HJSlabCheck  check = {.every = (PetscCount)every * c->w.k, .ahead = run.ahead, .type = run.type, .test = CheckedTest, .ctx = &run};
  const PetscScalar *ba;
  PetscScalar       *xa;
  PetscCount         done;
  PetscBool          same       = PETSC_FALSE;
  PetscReal          difference = 0;

  PetscFunctionBegin;
  run.right = PETSC_TRUE;
  PetscCall(VecDuplicate(c->b, &run.coming));
  PetscCall(VecCopy(c->b, c->y));
  PetscCall(VecCopy(c->b, c->x));
  PetscCall(VecGetArrayRead(c->b, &ba));
  PetscCall(VecGetArray(c->x, &xa));
  run.x = xa;
  PetscCall(HJSlabsRun(slabs, &c->w, 4 * check.every, PETSC_FALSE, ba, xa, &check, &done));
  PetscCall(VecRestoreArray(c->x, &xa));
  PetscCall(VecRestoreArrayRead(c->b, &ba));
  PetscCall(VecsAgree(c->x, c->y, 0, &same, &difference));
  *right = (PetscBool)(*right && run.right && same && run.n == PetscMin(stop, 4) && done == run.n * check.every);
  PetscCall(VecDestroy(&run.coming));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm of what the coming cycle adds, which leaves x as it was, and of what a cycle has added; right stays false once it is */
static inline PETSC_UNUSED PetscErrorCode CompareUpdate(SlabCase *c, HJSlabs slabs, PetscBool *right)
{
  const NormType     types[] = {NORM_2, NORM_INFINITY};
  const PetscScalar *ba, *xa;
  PetscScalar       *result;
  PetscReal          want, coming, added, change, tol;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetSize(c->b, &n));
  tol = PetscSqrtReal((PetscReal)n) * PETSC_MACHINE_EPSILON;
  PetscCall(VecCopy(c->b, c->y));
  PetscCall(HJOperatorRun(c->op, &c->w, &(HJRun){.its = 1, .b = c->b, .x = c->y}));
  PetscCall(VecAXPY(c->y, -1.0, c->b));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecNorm(c->y, types[i], &want));
    PetscCall(VecCopy(c->b, c->x));
    PetscCall(VecGetArrayRead(c->b, &ba));
    PetscCall(VecGetArrayRead(c->x, &xa));
    PetscCall(HJSlabsUpdate(slabs, &c->w, ba, xa, types[i], &coming));
    PetscCall(VecRestoreArrayRead(c->x, &xa));
    PetscCall(VecAXPY(c->x, -1.0, c->b));
    PetscCall(VecNorm(c->x, NORM_INFINITY, &change));
    PetscCall(VecCopy(c->b, c->x));
    PetscCall(VecGetArray(c->x, &result));
    {
      const HJSlabCheck check = {.every = c->w.k, .type = types[i], .test = KeepNorm, .ctx = &added};
      PetscCount        done;

      PetscCall(HJSlabsRun(slabs, &c->w, c->w.k, PETSC_FALSE, ba, result, &check, &done));
    }
    PetscCall(VecRestoreArray(c->x, &result));
    PetscCall(VecRestoreArrayRead(c->b, &ba));
    *right = (PetscBool)(*right && want > 0 && change == 0 && PetscAbsReal(coming - want) <= tol * want &&
                         PetscAbsReal(added - want) <= tol * want);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(HJACOBI_HAVE_CUDA)
static inline PETSC_UNUSED PetscErrorCode CreatePC(DM da, Mat A, const char *options, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(ProblemPC(da, A, PCHJACOBI, pc));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

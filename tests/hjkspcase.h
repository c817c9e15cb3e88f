/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Systems, solves and their comparison that the tests of src/ksp share.
*/
#pragma once

#include "hjmgcase.h"

#define MOST_NORMS 64

/* What is done to a system so that a solve ends in another way */
typedef enum { ENDS_AS_IT_DOES, NO_ITERATION, NO_RIGHT_HAND_SIDE, CONVERGED_MAXITS, NAN_IN_B, NAN_IN_A, ROW_OF_ZEROS } End;

/* Its solve has numbers that are none; a factor fails by a row of zeros, on the first rank alone */
static inline PETSC_UNUSED PetscBool HasNaN(End end)
{
  return (PetscBool)(end >= NAN_IN_B);
}

typedef struct {
  Problem     p;
  PCType      pc;
  KSPNormType norm;
  PetscBool   null, guess, again; /* null: the matrix is said to have constants; again: the second solve of two is what counts */
  PetscReal   more;               /* the matrix of the system is that of the preconditioner and so much of it more */
  PetscInt    max_it;
  End         end;
  PetscBool   loose; /* answers and norms may be others: how it ends is compared */
  PetscBool   aij;
  PetscScalar minus;                       /* taken from the diagonal of the system's matrix, which may be indefinite then */
  const char *options, *words;             /* words: what the view of the KSP holds */
  PetscErrorCode (*prepare)(Mat A, Vec x); /* of a system; NULL: nothing */
} Case;

typedef struct {
  DM  da;
  Mat A, P; /* the system's, the preconditioner's */
  Vec b, x;
} System;

/* What a solve left, and what a monitor saw of it: norms that were told, and those of the residual of the iterate that was there */
typedef struct {
  Vec                x;
  PetscInt           its, nnorms, seen;
  KSPConvergedReason reason;
  PetscReal          norm, norms[MOST_NORMS], told[MOST_NORMS], actual[MOST_NORMS];
  PetscBool          holds;
} Solve;

static inline PETSC_UNUSED PetscErrorCode SpoilVector(Vec b)
{
  PetscInt lo, hi;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(b, &lo, &hi));
  if (!lo && hi > 3) PetscCall(VecSetValue(b, 3, (PetscScalar)NAN, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(b));
  PetscCall(VecAssemblyEnd(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode SpoilMatrix(Mat A)
{
  Vec scale;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &scale, NULL));
  PetscCall(VecSet(scale, 1.0));
  PetscCall(SpoilVector(scale));
  PetscCall(MatDiagonalScale(A, scale, scale));
  PetscCall(VecDestroy(&scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode MakeSystem(const Case *c, System *s)
{
  MatNullSpace null;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&c->p, (PetscBool)!c->aij, &s->da, &s->P));
  PetscCall(DMCreateGlobalVector(s->da, &s->b));
  PetscCall(VecDuplicate(s->b, &s->x));
  PetscCall(ProblemVector(s->da, 1, s->b));
  PetscCall(ProblemVector(s->da, 2, s->x));
  if (c->end == NO_RIGHT_HAND_SIDE) PetscCall(VecSet(s->b, 0.0));
  if (c->end == NAN_IN_B) PetscCall(SpoilVector(s->b));
  if (c->end == NAN_IN_A) PetscCall(SpoilMatrix(s->P));
  if (c->end == ROW_OF_ZEROS) PetscCall(MatZeroRows(s->P, 1, (PetscInt[]){3}, 0.0, NULL, NULL)); /* each rank says so */
  if (c->minus != 0.0) PetscCall(MatShift(s->P, -c->minus));
  if (c->more == 0.0) {
    s->A = s->P;
    PetscCall(PetscObjectReference((PetscObject)s->A));
  } else {
    PetscCall(MatDuplicate(s->P, MAT_COPY_VALUES, &s->A));
    PetscCall(MatScale(s->A, 1.0 + c->more));
  }
  if (IsSingular(&c->p)) {
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &null));
    PetscCall(MatNullSpaceRemove(null, s->b));
    if (c->null) PetscCall(MatSetNullSpace(s->A, null));
    PetscCall(MatNullSpaceDestroy(&null));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode DestroySystem(System *s)
{
  PetscFunctionBegin;
  PetscCall(HJTestDestroy(&s->A, &s->P, &s->b, &s->x, &s->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode MakeSolver(const Case *c, const System *s, KSPType type, KSP *ksp)
{
  PetscOptions options;
  PC           pc;

  PetscFunctionBegin;
  PetscCall(ProblemKSP(s->da, s->P, type, c->pc, ksp, &pc));
  PetscCall(KSPSetOperators(*ksp, s->A, s->P));
  PetscCall(KSPSetNormType(*ksp, c->norm));
  /* without norms none ends it where single precision has no more digits */
  PetscCall(KSPSetTolerances(*ksp, HJTestDigits(1e-8), PETSC_DEFAULT, PETSC_DEFAULT,
                             c->norm == KSP_NORM_NONE ? HJ_BY_PRECISION(c->max_it, PetscMin(c->max_it, 2)) : c->max_it));
  PetscCall(KSPSetInitialGuessNonzero(*ksp, c->guess));
  if (c->end == CONVERGED_MAXITS) PetscCall(KSPConvergedDefaultSetConvergedMaxits(*ksp, PETSC_TRUE));
  if (c->options) {
    PetscCall(PetscOptionsCreate(&options));
    PetscCall(PetscOptionsInsertString(options, c->options));
    PetscCall(PetscOptionsPush(options));
    PetscCall(KSPSetFromOptions(*ksp));
    PetscCall(PetscOptionsPop());
    PetscCall(PetscOptionsDestroy(&options));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode SeeIterate(KSP ksp, PetscInt it, PetscReal norm, void *ctx)
{
  Solve *s = (Solve *)ctx;
  Vec    r;

  PetscFunctionBegin;
  if (it >= MOST_NORMS) PetscFunctionReturn(PETSC_SUCCESS);
  s->told[it] = norm;
  s->seen     = it + 1;
  PetscCall(KSPBuildResidual(ksp, NULL, NULL, &r));
  PetscCall(VecNorm(r, NORM_2, &s->actual[it]));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode RunCase(const Case *c, KSPType type, PetscBool watched, Solve *s)
{
  System sys;
  KSP    ksp;

  PetscFunctionBegin;
  *s = (Solve){NULL};
  PetscCall(MakeSystem(c, &sys));
  if (c->prepare) PetscCall((*c->prepare)(sys.A, sys.x));
  PetscCall(MakeSolver(c, &sys, type, &ksp));
  PetscCall(KSPSetResidualHistory(ksp, s->norms, MOST_NORMS, PETSC_TRUE));
  if (watched) PetscCall(KSPMonitorSet(ksp, SeeIterate, s, NULL));
  for (int again = c->again ? 0 : 1; again < 2; again++) {
    PetscCall(ProblemVector(sys.da, 2, sys.x));
    PetscCall(ProblemSolve(ksp, sys.A, sys.b, sys.x, &s->its, &s->reason, NULL));
  }
  PetscCall(KSPGetResidualHistory(ksp, NULL, &s->nnorms));
  PetscCall(KSPGetResidualNorm(ksp, &s->norm));
  s->holds = PETSC_TRUE;
  if (c->words) PetscCall(ObjectViewHolds((PetscObject)ksp, PETSC_VIEWER_DEFAULT, c->words, &s->holds));
  PetscCall(PetscObjectReference((PetscObject)sys.x));
  s->x = sys.x;
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DestroySystem(&sys));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x, of an iteration that kept what corrections had of the constants, becomes what it would be if corrections had none */
static inline PETSC_UNUSED PetscErrorCode TakeConstants(const Case *c, Vec x)
{
  System      sys;
  PetscScalar sum[2];
  PetscInt    n;

  PetscFunctionBegin;
  PetscCall(MakeSystem(c, &sys));
  PetscCall(VecSum(x, &sum[0]));
  PetscCall(VecSum(sys.x, &sum[1]));
  PetscCall(VecGetSize(x, &n));
  PetscCall(VecShift(x, ((c->guess ? sum[1] : 0.0) - sum[0]) / n));
  PetscCall(DestroySystem(&sys));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscBool NormsAgree(PetscReal a, PetscReal b, PetscReal tol)
{
  if (PetscIsInfOrNanReal(a) || PetscIsInfOrNanReal(b)) return (PetscBool)(PetscIsInfOrNanReal(a) && PetscIsInfOrNanReal(b));
  return (PetscBool)(PetscAbsReal(a - b) <= tol);
}

/* Whether a solve is as it should be: its answer, its history, what a monitor saw, its end. Destroys its answer. Norms are compared to tol
   of the first one */
static inline PETSC_UNUSED PetscErrorCode CheckSame(const Case *c, const char *name, Solve *s, Solve *should, PetscReal tol)
{
  const PetscReal first = PetscMax(should->norms[0], HJ_BY_PRECISION(1e-300, 1e-30));
  const PetscBool nan   = HasNaN(c->end);
  PetscBool       agree = PETSC_TRUE, good = (PetscBool)(s->its == should->its && s->reason == should->reason && s->holds);
  PetscReal       diff = 0.0;

  PetscFunctionBegin;
  if (!nan && !c->loose) PetscCall(VecsAgree(s->x, should->x, tol, &agree, &diff));
  if (c->norm != KSP_NORM_NONE && s->nnorms != should->nnorms) good = PETSC_FALSE;
  for (PetscInt i = 0; i < s->nnorms && i < should->nnorms && !c->loose; i++)
    if (!NormsAgree(s->norms[i], should->norms[i], tol * first)) good = PETSC_FALSE;
  for (PetscInt i = 0; i < s->seen && c->norm != KSP_NORM_NONE; i++) {
    if (!NormsAgree(s->told[i], s->norms[i], 0.0)) good = PETSC_FALSE;
    if (c->norm == KSP_NORM_UNPRECONDITIONED && !nan && !NormsAgree(s->actual[i], s->told[i], HJTestDigits(1e-10) * first))
      good = PETSC_FALSE;
  }
  for (PetscInt i = 0; i < should->nnorms; i++)
    PetscCall(HJTestDetail("# %d: %.17g, should be %.17g; told %g, of the iterate %g", (int)i, (double)s->norms[i],
                           (double)should->norms[i], (double)s->told[i], (double)s->actual[i]));
  PetscCall(HJTestOK((PetscBool)(agree && good),
                     "%s, %s, norm %s%s%s%s: %" PetscInt_FMT " and %" PetscInt_FMT " iterations, %d and %d norms, reasons %d and %d, "
                     "answers differ by %g: %s",
                     name, c->pc, KSPNormTypes[c->norm], c->null ? ", null space" : "", c->guess ? ", a guess" : "",
                     c->more != 0.0 ? ", another matrix" : "", s->its, should->its, (int)s->nnorms, (int)should->nnorms, (int)s->reason,
                     (int)should->reason, (double)diff, Name(&c->p, (PetscBool)!c->aij)));
  PetscCall(VecDestroy(&s->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One answer of GMRES with PCMG whose smoothers are of a type */
static inline PETSC_UNUSED PetscErrorCode SolveInside(const char *before, KSPType type, PetscBool split, Vec *x, PetscInt *its)
{
  const Case         c = {.p = {2, {33, 33, 1}, DIRICHLET, VARYING, PETSC_FALSE}, .pc = split ? PCFIELDSPLIT : PCMG, .max_it = 40};
  System             sys;
  KSP                ksp;
  PC                 pc;
  IS                 is[2];
  KSPConvergedReason reason;
  PetscInt           lo, hi, mid;
  char               options[512];

  PetscFunctionBegin;
  PetscCall(MakeSystem(&c, &sys));
  PetscCall(DMSetMatType(sys.da, MATHJSTENCIL)); /* with AIJCUSPARSE on several ranks PETSc has no product of the interpolation */
  PetscCall(ProblemKSP(sys.da, sys.A, KSPFGMRES, c.pc, &ksp, &pc));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), PETSC_DEFAULT, PETSC_DEFAULT, c.max_it));
  PetscCall(PetscSNPrintf(options, sizeof(options), "%s%s", before, type));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(KSPSetOptionsPrefix(ksp, "in_"));
  if (split) {
    PetscCall(VecGetOwnershipRange(sys.b, &lo, &hi));
    mid = (lo + hi) / 2;
    PetscCall(ISCreateStride(PETSC_COMM_WORLD, mid - lo, lo, 1, &is[0]));
    PetscCall(ISCreateStride(PETSC_COMM_WORLD, hi - mid, mid, 1, &is[1]));
    for (int i = 0; i < 2; i++) PetscCall(PCFieldSplitSetIS(pc, i ? "1" : "0", is[i]));
    for (int i = 0; i < 2; i++) PetscCall(ISDestroy(&is[i]));
  }
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(ProblemSolve(ksp, sys.A, sys.b, sys.x, its, &reason, NULL));
  if (reason < 0) *its = -1;
  PetscCall(PetscObjectReference((PetscObject)sys.x));
  *x = sys.x;
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DestroySystem(&sys));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Inside of PCMG and PCFIELDSPLIT it is as good as PETSc's type */
static inline PETSC_UNUSED PetscErrorCode TestInside(KSPType petsc, KSPType type)
{
  const char *before[] = {"-in_pc_mg_levels 3 -in_pc_mg_galerkin both -in_mg_levels_ksp_max_it 2 -in_mg_levels_pc_type hjacobi "
                          "-in_mg_coarse_pc_type hjacobi -in_mg_coarse_ksp_type preonly -in_mg_levels_ksp_type ",
                          "-in_fieldsplit_ksp_max_it 3 -in_fieldsplit_pc_type hjacobi -in_fieldsplit_ksp_type "};

  PetscFunctionBegin;
  for (int split = 0; split < 2; split++) {
    Vec       x[2];
    PetscInt  its[2];
    PetscReal diff;
    PetscBool agree = PETSC_FALSE;

    PetscCall(SolveInside(before[split], petsc, (PetscBool)split, &x[0], &its[0]));
    PetscCall(SolveInside(before[split], type, (PetscBool)split, &x[1], &its[1]));
    PetscCall(VecsAgree(x[1], x[0], HJTestDigits(1e-9), &agree, &diff));
    PetscCall(HJTestOK((PetscBool)(agree && its[0] == its[1] && its[0] > 0),
                       "%s in %s: %" PetscInt_FMT " iterations, with %s %" PetscInt_FMT ", answers differ by %g", type,
                       split ? PCFIELDSPLIT : PCMG, its[1], petsc, its[0], (double)diff));
    for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The outermost layer of a grid becomes rows of the diagonal alone, without their columns */
static inline PETSC_UNUSED PetscErrorCode KnowBoundary(DM da, Mat A, Vec b)
{
  PetscInt    N[2], s[2], w[2], n = 0;
  MatStencil *rows;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, NULL, &N[0], &N[1], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], NULL, &w[0], &w[1], NULL));
  PetscCall(PetscCalloc1((size_t)w[0] * w[1], &rows));
  for (PetscInt j = s[1]; j < s[1] + w[1]; j++)
    for (PetscInt i = s[0]; i < s[0] + w[0]; i++)
      if (!i || !j || i == N[0] - 1 || j == N[1] - 1) rows[n++] = (MatStencil){.i = i, .j = j};
  PetscCall(MatZeroRowsColumnsStencil(A, n, rows, 1.0, b, b));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves twice, the second time with other values that nobody told the KSP of: as often as PETSc's type, and right. known: the outermost
   layer is one of rows of the diagonal alone */
static inline PETSC_UNUSED PetscErrorCode TestNewValues(KSPType petsc, KSPType type, const Problem *p, PetscBool aij, PetscBool known)
{
  const Case         c        = {.p = *p, .pc = PCHJMG, .norm = KSP_NORM_UNPRECONDITIONED, .aij = aij, .max_it = 40};
  const KSPType      types[2] = {petsc, type};
  KSPConvergedReason reason;
  PetscInt           its[2][2];
  PetscReal          relative[2][2];

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    System sys;
    KSP    ksp;

    PetscCall(MakeSystem(&c, &sys));
    if (known) PetscCall(KnowBoundary(sys.da, sys.A, sys.b));
    PetscCall(MakeSolver(&c, &sys, types[i], &ksp));
    for (int again = 0; again < 2; again++) {
      if (again) PetscCall(MatScale(sys.A, 100.0));
      PetscCall(ProblemSolve(ksp, sys.A, sys.b, sys.x, &its[i][again], &reason, &relative[i][again]));
      if (reason < 0) its[i][again] = -1;
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(DestroySystem(&sys));
  }
  PetscCall(HJTestOK((PetscBool)(its[1][0] > 0 && its[1][0] == its[1][1] && PetscAbsInt(its[1][0] - its[0][0]) <= 1 &&
                                 relative[1][0] < HJTestDigits(1e-7) && relative[1][1] < HJTestDigits(1e-7)),
                     "%s, %s%s: %" PetscInt_FMT " iterations, %" PetscInt_FMT " with new values, residuals %g and %g; %s %" PetscInt_FMT,
                     type, Name(p, (PetscBool)!aij), known ? ", known rows" : "", its[1][0], its[1][1], (double)relative[1][0],
                     (double)relative[1][1], petsc, its[0][0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode TestAllNewValues(KSPType petsc, KSPType type)
{
  const Problem p[] = {{2, {9, 10, 1}, DIRICHLET, VARYING, PETSC_FALSE}, {2, {33, 35, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}};

  PetscFunctionBegin;
  for (int i = 0; i < 8; i++) PetscCall(TestNewValues(petsc, type, &p[i / 4], (PetscBool)(i % 2), (PetscBool)(i / 2 % 2)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

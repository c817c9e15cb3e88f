/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4; long: 1 */
/*
   Iterations of CG, or GMRES where rows are divided by volumes, with PCHJMG on grids whose strong direction is another one in another part,
   and with walls inside. Times of the same: examples/bench/bench_robust.c.
*/
#include "hjmgcase.h"
#include "hjrobustcase.h"

typedef struct {
  PetscInt           its;
  KSPConvergedReason reason;
} Outcome;

static PetscErrorCode Solve(const Robust *p, Outcome *o)
{
  DM  da;
  Mat A;
  KSP ksp;
  PC  pc;
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(RobustCreate(p, MATHJSTENCIL, &da, &A));
  if (!p->divided) PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(ProblemKSP(NULL, A, p->divided ? KSPGMRES : KSPCG, PCHJMG, &ksp, &pc));
  if (p->divided) PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), 0.0, PETSC_DEFAULT, 300));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &o->its));
  PetscCall(KSPGetConvergedReason(ksp, &o->reason));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations at most, to 1e-8; on a grid for `make check`, and on one that takes longer */
static const struct {
  Robust   p;
  PetscInt long_n[3], its;
} cases[] = {
  {{CHEBYSHEV, 3, {32, 32, 16}, 0, PETSC_FALSE}, {64, 64, 32}, 8},
  {{GROWING, 3, {16, 16, 32}, 1.3225, PETSC_FALSE}, {32, 32, 64}, 10},
  {{GROWING, 3, {24, 24, 24}, 1.3225, PETSC_FALSE}, {47, 47, 47}, 10},
  {{LAYERS, 3, {128, 8, 2}, 0, PETSC_FALSE}, {256, 16, 2}, 10},
  {{SPHERE, 3, {32, 32, 32}, 0, PETSC_FALSE}, {64, 64, 64}, 8},
  {{RIDGE, 3, {32, 32, 16}, 0, PETSC_FALSE}, {64, 64, 32}, 8},
  {{SURFACE, 3, {32, 32, 16}, 0, PETSC_FALSE}, {64, 64, 32}, 8},
  {{GLOBE, 3, {32, 32, 16}, 0, PETSC_FALSE}, {64, 64, 32}, 8},
  {{GLOBE, 3, {32, 32, 16}, 0, PETSC_TRUE}, {64, 64, 32}, 8},
  {{CHEBYSHEV, 3, {32, 32, 16}, 0, PETSC_TRUE}, {64, 64, 32}, 8},
  {{LAYERS, 3, {512, 32, 2}, 0, PETSC_FALSE}, {1024, 64, 2}, 7},
  {{GLOBE, 3, {32, 32, 15}, 0, PETSC_FALSE}, {64, 64, 33}, 8},
  {{TURNING, 2, {129, 129, 1}, 1e3, PETSC_FALSE}, {257, 257, 1}, 8},
  {{TURNING, 3, {32, 32, 32}, 1e3, PETSC_FALSE}, {65, 65, 65}, 8},
  {{POINTS, 3, {33, 33, 33}, 1e6, PETSC_FALSE}, {65, 65, 65}, 25},
  {{POINTS, 2, {129, 129, 1}, 1e6, PETSC_FALSE}, {257, 257, 1}, 25},
  {{DIAGONAL, 2, {129, 129, 1}, 1e3, PETSC_FALSE}, {257, 257, 1}, 10},
  {{DIAGONAL45, 2, {129, 129, 1}, 1e3, PETSC_FALSE}, {257, 257, 1}, 12},
  {{DIAGONAL, 2, {129, 129, 1}, 1e2, PETSC_FALSE}, {257, 257, 1}, 8},
  {{SLANTING, 2, {129, 129, 1}, 1e3, PETSC_FALSE}, {257, 257, 1}, 12},
  {{ROBIN, 2, {128, 128, 1}, 1e-4, PETSC_FALSE}, {256, 256, 1}, 6},
  {{ROBIN, 3, {32, 32, 32}, 1e-4, PETSC_FALSE}, {64, 64, 64}, 6},
  {{FRACTURES, 2, {129, 129, 1}, 1e6, PETSC_FALSE}, {257, 257, 1}, 12},
  {{FRACTURES, 2, {129, 129, 1}, 1e-6, PETSC_FALSE}, {257, 257, 1}, 12},
  {{CHANNEL, 2, {128, 128, 1}, 0, PETSC_FALSE}, {256, 256, 1}, 10},
  {{MAZE, 2, {128, 128, 1}, 0, PETSC_FALSE}, {256, 256, 1}, 10},
  {{LABYRINTH, 2, {128, 128, 1}, 0, PETSC_FALSE}, {256, 256, 1}, 12},
  {{DISCS, 3, {33, 33, 33}, 1e6, PETSC_FALSE}, {65, 65, 65}, 12},
  {{SPIRAL, 2, {128, 128, 1}, 0, PETSC_FALSE}, {256, 256, 1}, 10},
  {{FRACTURES, 2, {200, 200, 1}, 1e-9, PETSC_FALSE}, {201, 201, 1}, 24},
  {{WANDERING, 2, {200, 200, 1}, 1e9, PETSC_FALSE}, {201, 201, 1}, 24},
};

/* A GPU does not look for directions and walls: there it is enough that it converges */
static PetscErrorCode TestIterations(PetscBool only_long)
{
  PetscMPIInt size;
  PetscBool   device = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(GetSizeAndDevice(&size, &device));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    Robust  p = cases[i].p;
    Outcome o;

    /* what the surface adds to rows of thin cells is less than rounding of their sums in single precision */
    if (HJ_BY_PRECISION(0, p.kind == GLOBE || p.kind == SURFACE)) continue;
    if (p.kind == POINTS && p.dim == 2 && size > 1) continue; /* the next grid, which says that this one is rough, is on fewer ranks */
    for (int d = 0; d < 3 && only_long; d++) p.n[d] = cases[i].long_n[d];
    if (only_long && p.kind == GROWING) p.by = PetscSqrtReal(p.by);
    PetscCall(Solve(&p, &o));
    PetscCall(HJTestOK((PetscBool)(o.reason > 0 && (device || o.its <= cases[i].its)), "%s%s, %d x %d x %d: %d iterations, at most %d",
                       robust_names[p.kind], p.divided ? ", divided" : "", (int)p.n[0], (int)p.n[1], (int)p.n[2], (int)o.its,
                       (int)cases[i].its));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where a grid's own sweeps would be many, a coarser one follows. A GPU has the inverse of a larger one */
static PetscErrorCode TestLastGrid(void)
{
  const Robust p      = {ROBIN, 2, {128, 128, 1}, 1e-4, PETSC_FALSE};
  PetscBool    device = PETSC_FALSE;
  PetscMPIInt  size;
  PetscInt     levels;
  DM           da;
  Mat          A;
  PC           pc;

  PetscFunctionBegin;
  PetscCall(GetSizeAndDevice(&size, &device));
  if (size > 1 || device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(RobustCreate(&p, MATHJSTENCIL, &da, &A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetUp(pc));
  PetscCall(PCHJMGGetLevels(pc, &levels));
  PetscCall(HJTestOK((PetscBool)(levels == 4), "%s: the last of %d grids has 16 x 16 points", robust_names[ROBIN], (int)levels));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A grid that is factored, as cycles below it would converge slowly, stays the last one with new values, and is factored anew */
static PetscErrorCode TestNewValues(void)
{
  const Robust p      = {FRACTURES, 2, {129, 129, 1}, 1e6, PETSC_FALSE};
  PetscBool    device = PETSC_FALSE;
  PetscMPIInt  size;
  PetscInt     its[2];
  DM           da;
  Mat          A;
  KSP          ksp;
  PC           pc;
  Vec          b, x, scale;

  PetscFunctionBegin;
  PetscCall(GetSizeAndDevice(&size, &device));
  PetscCall(RobustCreate(&p, MATHJSTENCIL, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &scale));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(ProblemKSP(NULL, A, KSPCG, PCHJMG, &ksp, &pc));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), 0.0, PETSC_DEFAULT, 300));
  for (int i = 0; i < 2; i++) {
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its[i]));
    PetscCall(VecSet(scale, 3.0));
    PetscCall(MatDiagonalScale(A, scale, NULL));
  }
  PetscCall(HJTestOK((PetscBool)(device || (its[0] <= 12 && PetscAbsInt(its[1] - its[0]) <= 1)),
                     "fractures, new values: %d iterations, then %d", (int)its[0], (int)its[1]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&scale));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool only_long;
  int       code;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(ProblemBackend());
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(HJTestLong(&only_long));
  PetscCall(TestIterations(only_long));
  if (!only_long) PetscCall(TestLastGrid());
  if (!only_long) PetscCall(TestNewValues());
  code = HJTestDone();
  PetscCall(PetscFinalize());
  return code;
}

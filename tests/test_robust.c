/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4; long: 1 */
/*
   Iterations of CG with PCHJMG on grids whose strong direction is another one in another part, and with walls inside. -print gives a table
   of iterations and seconds of CPU of set-up and solve in place of checks, with -npcs 3 beside BoomerAMG and GAMG; -only takes one line of
   it, -finer multiplies the points of a side.
*/
#include "hjmgcase.h"
#include "hjrobustcase.h"

#include <sys/resource.h>

typedef struct {
  PetscInt           its;
  KSPConvergedReason reason;
  PetscLogDouble     setup, solve; /* seconds of CPU */
} Outcome;

/* Of this process, without the system's */
static PetscLogDouble Seconds(void)
{
  struct rusage u;

  (void)getrusage(RUSAGE_SELF, &u);
  return (PetscLogDouble)u.ru_utime.tv_sec + 1e-6 * (PetscLogDouble)u.ru_utime.tv_usec;
}

static PetscErrorCode Solve(const Robust *p, PCType type, MatType mattype, Outcome *o)
{
  DM             da;
  Mat            A;
  KSP            ksp;
  PC             pc;
  Vec            b, x;
  PetscLogDouble t[3];

  PetscFunctionBegin;
  PetscCall(RobustCreate(p, mattype, &da, &A));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(ProblemKSP(NULL, A, KSPCG, type, &ksp, &pc));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-8, 0.0, PETSC_DEFAULT, 300));
  PetscCall(KSPSetFromOptions(ksp));
  t[0] = Seconds();
  PetscCall(KSPSetUp(ksp));
  t[1] = Seconds();
  PetscCall(KSPSolve(ksp, b, x));
  t[2] = Seconds();
  PetscCall(KSPGetIterationNumber(ksp, &o->its));
  PetscCall(KSPGetConvergedReason(ksp, &o->reason));
  o->setup = t[1] - t[0];
  o->solve = t[2] - t[1];
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
  {{CHEBYSHEV, 3, {32, 32, 16}, 0}, {64, 64, 32}, 8},     {{GROWING, 3, {16, 16, 32}, 1.3225}, {32, 32, 64}, 10},
  {{GROWING, 3, {24, 24, 24}, 1.3225}, {47, 47, 47}, 10}, {{LAYERS, 3, {128, 8, 2}, 0}, {256, 16, 2}, 10},
  {{SPHERE, 3, {32, 32, 32}, 0}, {64, 64, 64}, 8},        {{RIDGE, 3, {32, 32, 16}, 0}, {64, 64, 32}, 8},
  {{SURFACE, 3, {32, 32, 16}, 0}, {64, 64, 32}, 8},       {{GLOBE, 3, {32, 32, 16}, 0}, {64, 64, 32}, 8},
  {{GLOBE, 3, {32, 32, 15}, 0}, {64, 64, 33}, 8},         {{TURNING, 2, {129, 129, 1}, 1e3}, {257, 257, 1}, 8},
  {{TURNING, 3, {32, 32, 32}, 1e3}, {65, 65, 65}, 8},     {{POINTS, 3, {33, 33, 33}, 1e6}, {65, 65, 65}, 25},
  {{POINTS, 2, {129, 129, 1}, 1e6}, {257, 257, 1}, 25},
};

static PetscErrorCode Print(void)
{
  static const char *const pcs[] = {PCHJMG, PCHYPRE, PCGAMG};
  PetscInt                 only = -1, finer = 1, npcs = 1;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-finer", &finer, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-npcs", &npcs, NULL));
  for (PetscInt i = 0; i < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    Robust p = cases[i].p;

    if (only >= 0 && only != i) continue;
    if (p.kind == GROWING) p.by = PetscSqrtReal(p.by);
    for (int d = 0; d < 3; d++) p.n[d] = cases[i].long_n[d] > 2 ? cases[i].long_n[d] * finer : cases[i].long_n[d];
    PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "%2d %-24s %4d %4d %4d |", (int)i, robust_names[p.kind], (int)p.n[0], (int)p.n[1], (int)p.n[2]));
    for (int pc = 0; pc < npcs; pc++) {
      Outcome o;

      PetscCall(Solve(&p, pcs[pc], pc ? MATAIJ : MATHJSTENCIL, &o));
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, " %s %3d%s %.3f %.3f |", pcs[pc], (int)o.its, o.reason > 0 ? "" : "!", o.setup, o.solve));
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\n"));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

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

    if (p.kind == POINTS && p.dim == 2 && size > 1) continue; /* the next grid, which says that this one is rough, is on fewer ranks */
    for (int d = 0; d < 3 && only_long; d++) p.n[d] = cases[i].long_n[d];
    if (only_long && p.kind == GROWING) p.by = PetscSqrtReal(p.by);
    PetscCall(Solve(&p, PCHJMG, MATHJSTENCIL, &o));
    PetscCall(HJTestOK((PetscBool)(o.reason > 0 && (device || o.its <= cases[i].its)), "%s, %d x %d x %d: %d iterations, at most %d",
                       robust_names[p.kind], (int)p.n[0], (int)p.n[1], (int)p.n[2], (int)o.its, (int)cases[i].its));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool print = PETSC_FALSE, only_long;
  int       code  = 0;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(ProblemBackend());
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-print", &print, NULL));
  if (print) PetscCall(Print());
  else {
    PetscCall(HJTestLong(&only_long));
    PetscCall(TestIterations(only_long));
    code = HJTestDone();
  }
  PetscCall(PetscFinalize());
  return code;
}

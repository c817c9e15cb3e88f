/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   The smoother of PCHJMG by lines: solves along lines and bounds of their eigenvalues, symmetric cycles, what auto chooses, what is
   refused.
*/
#include "hjmgcase.h"
#include "hjcapture.h"
#include "hjrobustcase.h"
#include "core/hjlines.h"
#include "host/hjhostkernels.h"

/* Couplings in direction d, times weak in the others; 27 points where box is true */
typedef struct {
  PetscInt  dim, n[3], d;
  PetscReal weak;
  PetscBool box;
} Lines;

static PetscInt LinesRow(const void *ctx, const PetscInt at[3], PetscInt salt, MatStencil col[27], PetscScalar v[27])
{
  const Lines *p = (const Lines *)ctx;
  PetscInt     n = 1;

  v[0] = 1e-3;
  for (PetscInt o = 0; o < 27; o++) {
    const PetscInt off[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1}, far = PetscAbs(off[0]) + PetscAbs(off[1]) + PetscAbs(off[2]);
    const PetscInt to[3] = {at[0] + off[0], at[1] + off[1], at[2] + off[2]};
    PetscReal      a     = far == 1 && off[p->d] ? 1.0 : p->weak;

    if (!far || (far > 1 && !p->box)) continue;
    for (int e = 0; e < 3; e++)
      if (to[e] < 0 || to[e] >= p->n[e]) a = 0.0;
    a *= 1.5 + PetscSinReal((at[0] + to[0]) + 3.0 * (at[1] + to[1]) + 7.0 * (at[2] + to[2]) + salt);
    if (a == 0.0) continue;
    v[0] += a;
    col[n] = (MatStencil){.i = to[0], .j = to[1], .k = to[2]};
    v[n++] = -a;
  }
  col[0] = (MatStencil){.i = at[0], .j = at[1], .k = at[2]};
  return n;
}

static PetscErrorCode LinesCreate(const Lines *p, MPI_Comm comm, DM *da, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(DMDACreate(comm, da));
  PetscCall(DMSetDimension(*da, p->dim));
  PetscCall(DMDASetSizes(*da, p->n[0], p->n[1], p->n[2]));
  PetscCall(DMDASetDof(*da, 1));
  PetscCall(DMDASetStencilWidth(*da, 1));
  PetscCall(DMDASetStencilType(*da, p->box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR));
  PetscCall(DMSetUp(*da));
  PetscCall(MatCreateHJStencil(*da, A));
  PetscCall(FillRows(*da, LinesRow, p, 0, INSERT_VALUES, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* T^-1 A x by a solve, into y */
static PetscErrorCode Apply(const HJLines *l, Mat A, PetscScalar *work, Vec x, Vec r, Vec y)
{
  PetscScalar *rv, *yv;

  PetscFunctionBegin;
  PetscCall(MatMult(A, x, r));
  PetscCall(VecGetArray(r, &rv));
  PetscCall(VecGetArray(y, &yv));
  PetscCall(HJHostLinesSolve(l, 1.0, PETSC_TRUE, rv, work, yv));
  PetscCall(VecRestoreArray(y, &yv));
  PetscCall(VecRestoreArray(r, &rv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On one rank. Where all couplings are along the lines T is A. Else the largest value that steps of the power method find is below the
   bound, and not far below it */
static PetscErrorCode TestSolve(const Lines *p)
{
  DM                    da;
  Mat                   A;
  Vec                   x, r, y;
  HJGrid                grid;
  HJLines               l;
  HJGetCoefficients     get;
  const HJCoefficients *a;
  PetscReal             bound, value = 0.0, norm;
  PetscScalar          *work;

  PetscFunctionBegin;
  PetscCall(LinesCreate(p, PETSC_COMM_SELF, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(VecDuplicate(x, &r));
  PetscCall(ProblemVector(da, 1, x));
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, HJ_GET_COEFFICIENTS, &get));
  PetscCall((*get)(A, PETSC_MEMTYPE_HOST, &a));
  PetscCall(HJHostLinesCreate(&grid, p->d, &l));
  PetscCall(HJHostLinesFactor(&grid, a, &l, &bound));
  PetscCall(PetscMalloc1((size_t)p->n[p->d] * HJ_LINES_ABREAST, &work));
  for (int i = 0; i < (p->weak == 0.0 ? 1 : 60); i++) {
    PetscCall(VecNormalize(x, NULL));
    PetscCall(Apply(&l, A, work, x, r, y));
    PetscCall(VecNorm(y, NORM_2, &value));
    if (p->weak != 0.0) PetscCall(VecCopy(y, x));
  }
  PetscCall(VecAXPY(y, -1.0, x));
  PetscCall(VecNorm(y, NORM_2, &norm));
  if (p->weak == 0.0)
    PetscCall(HJTestOK((PetscBool)(bound == 1.0 && norm < HJ_BY_PRECISION(1e-12, 4500 * PETSC_MACHINE_EPSILON)),
                       "%dD, lines along %d: T is A, %g", (int)p->dim, (int)p->d, (double)norm));
  else
    PetscCall(HJTestOK((PetscBool)(value <= bound && value > 0.4 * bound), "%dD%s, lines along %d: eigenvalues up to %g, bound %g",
                       (int)p->dim, p->box ? " box" : "", (int)p->d, (double)value, (double)bound));
  PetscCall(PetscFree(work));
  PetscCall(HJHostLinesDestroy(&l));
  PetscCall(HJTestDestroy(&x, &y, &r, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSolves(void)
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    const Lines all[] = {{3, {13, 7, 9}, d, 0.0, PETSC_FALSE},
                         {3, {13, 7, 9}, d, 0.3, PETSC_FALSE},
                         {3, {10, 9, 11}, d, 0.2, PETSC_TRUE},
                         {2, {21, 1, 1}, 0, 0.0, PETSC_FALSE},
                         {2, {21, 18, 1}, d % 2, 0.5, PETSC_TRUE}};

    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(all); i++) PetscCall(TestSolve(&all[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A cycle M is symmetric: (u, M v) is (v, M u), also of M^T. New values in a matrix change no iteration. Lines that end at ranks take
   more */
static PetscErrorCode TestCycle(const Robust *p, PetscInt k, PetscMPIInt size)
{
  DM          da;
  Mat         A;
  KSP         ksp;
  PC          pc;
  Vec         u, v, Mu, Mv;
  PetscScalar uMv, vMu, vMtu;
  PetscInt    its[2];
  PetscBool   lines = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(RobustCreate(p, MATHJSTENCIL, &da, &A));
  PetscCall(MatCreateVecs(A, &u, &v));
  PetscCall(VecDuplicate(u, &Mu));
  PetscCall(VecDuplicate(u, &Mv));
  PetscCall(ProblemVector(da, 1, u));
  PetscCall(ProblemVector(da, 2, v));
  PetscCall(MakeKSP(A, KSPCG, 60, &ksp, &pc));
  PetscCall(PCHJMGSetSmoother(pc, PC_HJMG_SMOOTHER_LINES));
  if (k) PetscCall(PCHJMGSetK(pc, 1, &k));
  PetscCall(KSPSetUp(ksp));
  PetscCall(ViewHolds(pc, "smoothed by lines along", &lines));
  PetscCall(PCApply(pc, u, Mu));
  PetscCall(PCApply(pc, v, Mv));
  PetscCall(VecDot(u, Mv, &uMv));
  PetscCall(VecDot(v, Mu, &vMu));
  PetscCall(PCApplyTranspose(pc, u, Mu));
  PetscCall(VecDot(v, Mu, &vMtu));
  PetscCall(HJTestOK((PetscBool)(lines && PetscAbsScalar(uMv - vMu) <= HJTestDigits(1e-9) * PetscAbsScalar(uMv) &&
                                 PetscAbsScalar(uMv - vMtu) <= HJTestDigits(1e-9) * PetscAbsScalar(uMv)),
                     "%s, %dD, k = %d: the cycle by lines is symmetric, %g", robust_names[p->kind], (int)p->dim, (int)k,
                     (double)PetscAbsScalar(uMv - vMu)));
  for (int i = 0; i < 2; i++) {
    if (i) PetscCall(MatScale(A, 3.0));
    if (i) PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSolve(ksp, u, Mu));
    PetscCall(KSPGetIterationNumber(ksp, &its[i]));
  }
  PetscCall(HJTestOK((PetscBool)(its[0] == its[1] && its[0] < (size == 1 ? 16 : 60)), "%s, %dD, k = %d: %d iterations, with new values %d",
                     robust_names[p->kind], (int)p->dim, (int)k, (int)its[0], (int)its[1]));
  PetscCall(HJTestDestroy(&u, &v, &Mu, &Mv, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations with a smoother, as CG or as the solver by rotated cycles, and whether the view holds the words */
static PetscErrorCode Iterations(const Robust *p, KSPType type, PCHJMGSmoother smoother, const char *words, PetscInt *its, PetscBool *lines)
{
  DM             da;
  Mat            A;
  KSP            ksp;
  PC             pc;
  Vec            b, x;
  PCHJMGSmoother got;

  PetscFunctionBegin;
  PetscCall(RobustCreate(p, MATHJSTENCIL, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(MakeKSP(A, type, 100, &ksp, &pc));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(PCHJMGSetSmoother(pc, smoother));
  PetscCall(PCHJMGGetSmoother(pc, &got));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(ViewHolds(pc, words, lines));
  if (got != smoother) *its = -1;
  PetscCall(HJTestDestroy(&b, &x, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestChoice(PetscMPIInt size)
{
  const char  *words   = "emax 2. (Gershgorin); kernels: blocks in cache\n    smoothed by lines along x"; /* on the finest grid */
  const char  *split   = "emax 2. (Gershgorin); kernels: blocks in cache\n    smoothed by lines along z, k = 8, eigenvalues up to 2.\n";
  const Robust turning = {TURNING, 2, {129, 129, 1}, 1e3, PETSC_FALSE}, even = {TURNING, 2, {65, 65, 1}, 1.0, PETSC_FALSE},
               layers = {LAYERS, 3, {64, 16, 4}, 0, PETSC_FALSE}, patches = {PATCHES, 3, {48, 48, 48}, 1e4, PETSC_FALSE},
               space = {TURNING, 3, {33, 33, 33}, 1e4, PETSC_FALSE};
  PetscInt  its[7];
  PetscBool lines[7];

  PetscFunctionBegin;
  PetscCall(Iterations(&turning, KSPCG, PC_HJMG_SMOOTHER_AUTO, words, &its[0], &lines[0]));
  PetscCall(Iterations(&turning, KSPCG, PC_HJMG_SMOOTHER_POINTS, words, &its[1], &lines[1]));
  PetscCall(Iterations(&turning, KSPRICHARDSON, PC_HJMG_SMOOTHER_AUTO, words, &its[2], &lines[2]));
  PetscCall(Iterations(&even, KSPCG, PC_HJMG_SMOOTHER_AUTO, words, &its[3], &lines[3]));
  PetscCall(Iterations(&layers, KSPCG, PC_HJMG_SMOOTHER_AUTO, split, &its[4], &lines[4]));
  PetscCall(Iterations(&patches, KSPCG, PC_HJMG_SMOOTHER_AUTO, words, &its[5], &lines[5]));
  PetscCall(Iterations(&space, KSPCG, PC_HJMG_SMOOTHER_AUTO, words, &its[6], &lines[6]));
  PetscCall(HJTestOK((PetscBool)(lines[5] == (size == 1) && its[5] > 0 && (size > 1 || its[5] <= 24)),
                     "patches: auto takes %s, %d iterations", lines[5] ? "lines" : "points", (int)its[5]));
  PetscCall(HJTestOK((PetscBool)(!lines[6] && its[6] > 0 && its[6] <= 8), "turning, 3D: auto takes points, %d iterations", (int)its[6]));
  PetscCall(HJTestOK((PetscBool)(lines[4] == (size == 1) && its[4] > 0 && its[4] <= 10), "layers: auto takes %s, %d iterations",
                     lines[4] ? "lines across" : "points", (int)its[4]));
  PetscCall(HJTestOK((PetscBool)(lines[0] == (size == 1) && its[0] > 0 && its[0] <= 9), "turning: auto takes %s, %d iterations",
                     lines[0] ? "lines" : "points", (int)its[0]));
  PetscCall(HJTestOK((PetscBool)(!lines[1] && its[1] > 0 && its[1] <= 9), "turning: points when asked for, %d iterations", (int)its[1]));
  PetscCall(
    HJTestOK((PetscBool)(lines[2] == (size == 1) && its[2] > 0 && its[2] <= 20), "turning: as the solver, %d iterations", (int)its[2]));
  PetscCall(HJTestOK((PetscBool)(!lines[3] && its[3] > 0), "one conductance: auto takes points, %d iterations", (int)its[3]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestRefused(void)
{
  const Problem p = {2, {33, 33, 1}, DIRICHLET, CONVECTION, PETSC_FALSE};
  DM            da;
  Mat           A;
  KSP           ksp;
  PC            pc;

  PetscFunctionBegin;
  PetscCall(MakeMatrix(&p, PETSC_TRUE, &da, &A));
  PetscCall(MakeKSP(A, KSPGMRES, 60, &ksp, &pc));
  ExpectError(PCHJMGSetSmoother(pc, (PCHJMGSmoother)7), "an unknown smoother", "Unknown value 7", "PCHJMGSetSmoother()");
  PetscCall(PCHJMGSetSmoother(pc, PC_HJMG_SMOOTHER_LINES));
  ExpectError(KSPSetUp(ksp), "lines of a matrix that is not symmetric", "symmetric matrices alone by lines", "-pc_hjmg_smoother lines");
  PetscCall(HJTestDestroy(&ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Robust plane = {TURNING, 2, {65, 50, 1}, 1e3, PETSC_FALSE}, space = {GROWING, 3, {18, 12, 16}, 1.3, PETSC_FALSE};
  PetscMPIInt  size;
  PetscBool    device = PETSC_FALSE;

  PetscCall(ProblemInitialize(&argc, &argv));
  PetscCall(GetSizeAndDevice(&size, &device));
  if (size == 1) PetscCall(TestSolves());
  if (!device) {
    PetscCall(TestCycle(&plane, 0, size));
    PetscCall(TestCycle(&plane, 3, size));
    PetscCall(TestCycle(&space, 0, size));
    PetscCall(TestChoice(size));
  }
  PetscCall(TestRefused());
  return HJTestEnd();
}

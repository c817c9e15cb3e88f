/* SPDX-License-Identifier: BSD-2-Clause */
/* MATHJTRANSFER and P^T A P where a point has several unknowns, against AIJ: random grids and boundaries, coarse points even or odd, points
   that have no part in it. ranks: 1 2 3 4 */
#include "hjsystemcase.h"
#include "hjelasticity.h"
#include "operator/hjtransfers.h"

/* Largest difference of two vectors, by the largest number in the second */
static PetscErrorCode Apart(Vec x, Vec y, PetscReal *apart)
{
  PetscReal most;
  Vec       d;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(y, &d));
  PetscCall(VecCopy(x, d));
  PetscCall(VecAXPY(d, -1.0, y));
  PetscCall(VecNorm(d, NORM_INFINITY, apart));
  PetscCall(VecNorm(y, NORM_INFINITY, &most));
  *apart /= PetscMax(most, PETSC_SMALL);
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products with P and its rows as AIJ, forward and transposed, alone and added */
static PetscErrorCode CompareProducts(DM coarse, DM fine, PetscInt dof, Mat P, Mat aij, PetscReal *worst)
{
  Vec       x, y, c, f, sum;
  PetscReal apart;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(coarse, &x));
  PetscCall(DMCreateGlobalVector(fine, &y));
  PetscCall(VecDuplicate(x, &c));
  PetscCall(VecDuplicate(y, &f));
  for (int transpose = 0; transpose < 2; transpose++) {
    Vec from = transpose ? y : x, to = transpose ? c : f;

    PetscCall(SystemVector(transpose ? fine : coarse, dof, -1, 3, from));
    PetscCall(VecDuplicate(to, &sum));
    for (int add = 0; add < 2; add++) {
      PetscCall(SystemVector(transpose ? coarse : fine, dof, -1, 4, to));
      PetscCall(VecCopy(to, sum));
      if (add) PetscCall((transpose ? MatMultTransposeAdd : MatMultAdd)(P, from, to, to));
      else PetscCall((transpose ? MatMultTranspose : MatMult)(P, from, to));
      if (add) PetscCall((transpose ? MatMultTransposeAdd : MatMultAdd)(aij, from, sum, sum));
      else PetscCall((transpose ? MatMultTranspose : MatMult)(aij, from, sum));
      PetscCall(Apart(to, sum, &apart));
      *worst = PetscMax(*worst, apart);
    }
    PetscCall(VecDestroy(&sum));
  }
  PetscCall(HJTestDestroy(&x, &y, &c, &f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P^T A P as a stencil matrix less AIJ's, by the norm of that */
static PetscErrorCode CompareGalerkin(Mat A, Mat P, Mat aij, Mat *C, PetscReal *apart)
{
  Mat       rows, D, E;
  PetscReal most;

  PetscFunctionBegin;
  PetscCall(MatPtAP(A, P, *C ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, PETSC_DEFAULT, C));
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &rows));
  PetscCall(MatPtAP(rows, aij, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  PetscCall(MatNorm(D, NORM_INFINITY, &most));
  PetscCall(MatConvert(*C, MATAIJ, MAT_INITIAL_MATRIX, &E));
  PetscCall(MatAXPY(E, -1.0, D, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(E, NORM_INFINITY, apart));
  *apart /= most;
  PetscCall(HJTestDestroy(&rows, &D, &E));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What each unknown of a fine point is kept for, by the rows of P: a mask, and 1 where a coarse one would have none else */
static PetscErrorCode CheckKept(DM fine, PetscInt dof, Mat whole, Vec mask, Mat left, PetscReal *worst)
{
  Vec                shares;
  PetscInt           lo, hi, first, last;
  const PetscScalar *m, *s;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(whole, &shares, NULL));
  PetscCall(MatMultTranspose(whole, mask, shares));
  PetscCall(MatGetOwnershipRange(whole, &lo, &hi));
  PetscCall(MatGetOwnershipRangeColumn(whole, &first, &last));
  PetscCall(VecGetArrayRead(mask, &m));
  PetscCall(VecGetArrayRead(shares, &s));
  for (PetscInt row = lo; row < hi; row++) {
    PetscInt           n, c;
    const PetscInt    *columns;
    const PetscScalar *values;
    PetscScalar        keep, sum = 0.0, was = 0.0;

    PetscCall(MatGetRow(whole, row, &n, &columns, &values));
    keep = m[row - lo];
    for (PetscInt e = 0; e < n; e++) was += values[e];
    c = n == 1 && values[0] == 1.0 && columns[0] >= first && columns[0] < last ? columns[0] - first : -1;
    PetscCall(MatRestoreRow(whole, row, &n, &columns, &values));
    if (keep == 0.0 && c >= 0 && s[c] == 0.0) keep = 1.0;
    PetscCall(MatGetRow(left, row, &n, NULL, &values));
    for (PetscInt e = 0; e < n; e++) sum += values[e];
    PetscCall(MatRestoreRow(left, row, &n, NULL, &values));
    *worst = PetscMax(*worst, PetscAbsScalar(sum - keep * was));
  }
  PetscCall(VecRestoreArrayRead(shares, &s));
  PetscCall(VecRestoreArrayRead(mask, &m));
  PetscCall(VecDestroy(&shares));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 0 at some points, in blocks, so that coarse points have nothing but those */
static PetscErrorCode FillMask(DM fine, PetscInt dof, Vec mask)
{
  PetscInt     lo[3], w[3];
  PetscScalar *m;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(fine, &lo[0], &lo[1], &lo[2], &w[0], &w[1], &w[2]));
  PetscCall(VecGetArrayWrite(mask, &m));
  for (PetscInt p = 0; p < w[0] * w[1] * w[2]; p++) {
    const PetscInt i = lo[0] + p % w[0], j = lo[1] + p / w[0] % w[1], k = lo[2] + p / w[0] / w[1];

    for (PetscInt l = 0; l < dof; l++) m[p * dof + l] = SystemRandom(i / 4, j / 4, k / 4, 9) > 0.2 ? 0.0 : 1.0;
  }
  PetscCall(VecRestoreArrayWrite(mask, &m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which directions are halved, and from which point on */
static HJCoarsening HowOf(const System *s, PetscInt which)
{
  HJCoarsening how = {.split = -1};

  for (PetscInt d = 0; d < 3; d++) {
    const PetscBool spare = (PetscBool)(d < s->dim && s->n[d] > 3);

    how.factor[d] = spare && (which + d) % 4 ? 2 : 1;
    how.first[d]  = how.factor[d] == 2 && s->boundary[d] != DM_BOUNDARY_PERIODIC && s->n[d] % 2 == 0 && which % 5 == 0;
    how.before[d] = 0.75;
    how.last[d]   = 0.25;
  }
  return how;
}

static PetscErrorCode TestRandom(PetscInt which)
{
  System       s = {.dof = 0};
  HJCoarsening how;
  HJTransfer   t;
  DM           fine, coarse;
  Mat          A, P, aij, left, C = NULL;
  Vec          mask;
  PetscReal    products = 0, galerkin[2] = {0, 0}, kept = 0;
  char         name[256], why[256];

  PetscFunctionBegin;
  PetscCall(SystemRandomCase(which, &s));
  for (int d = 0; d < 3; d++)
    if (s.boundary[d] != DM_BOUNDARY_PERIODIC) s.boundary[d] = DM_BOUNDARY_NONE;
  PetscCall(SystemName(&s, name, sizeof(name)));
  PetscCall(SystemCreate(&s, MATHJSTENCIL, &fine, &A));
  how = HowOf(&s, which);
  PetscCall(HJCoarsenDM(fine, &how, &coarse, why, sizeof(why)));
  if (coarse) {
    PetscCall(DMSetUp(coarse));
    PetscCall(HJTransferSet(coarse, fine, &how, &t, why, sizeof(why)));
  }
  if (why[0]) PetscCall(HJTestDetail("# %s: %s", name, why));
  else {
    PetscCall(HJMatCreateTransfer(coarse, fine, &t, &P));
    PetscCall(MatConvert(P, MATAIJ, MAT_INITIAL_MATRIX, &aij));
    PetscCall(CompareProducts(coarse, fine, s.dof, P, aij, &products));
    PetscCall(CompareGalerkin(A, P, aij, &C, &galerkin[0]));
    PetscCall(MatScale(A, -2.0));
    PetscCall(CompareGalerkin(A, P, aij, &C, &galerkin[1]));
    PetscCall(HJTestOK((PetscBool)(products <= 64 * PETSC_MACHINE_EPSILON && galerkin[0] <= 256 * PETSC_MACHINE_EPSILON &&
                                   galerkin[1] <= 256 * PETSC_MACHINE_EPSILON),
                       "%s: products %g, P^T A P %g, again %g", name, (double)products, (double)galerkin[0], (double)galerkin[1]));
    PetscCall(DMCreateGlobalVector(fine, &mask));
    PetscCall(FillMask(fine, s.dof, mask));
    PetscCall(HJMatTransferLeave(P, mask));
    PetscCall(MatConvert(P, MATAIJ, MAT_INITIAL_MATRIX, &left));
    PetscCall(CheckKept(fine, s.dof, aij, mask, left, &kept));
    products = 0;
    PetscCall(CompareProducts(coarse, fine, s.dof, P, left, &products));
    PetscCall(CompareGalerkin(A, P, left, &C, &galerkin[0]));
    PetscCall(HJTestOK((PetscBool)(kept <= 8 * PETSC_MACHINE_EPSILON && products <= 64 * PETSC_MACHINE_EPSILON &&
                                   galerkin[0] <= 256 * PETSC_MACHINE_EPSILON),
                       "%s, points left out: rows %g, products %g, P^T A P %g", name, (double)kept, (double)products, (double)galerkin[0]));
    PetscCall(HJTestDestroy(&mask, &left, &aij, &P, &C));
  }
  PetscCall(HJTestDestroy(&A, &coarse, &fine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCMG's own hierarchy of an elasticity problem: its interpolation, and whether the product with it, are of these types */
static PetscErrorCode RunPCMG(MatType type, PetscInt *its, Vec *x, PetscBool *types)
{
  DM        da;
  Mat       A, P, coarse;
  KSP       ksp, level;
  PC        pc;
  Vec       b;
  PetscBool is[2];

  PetscFunctionBegin;
  PetscCall(SystemGrid(2, 33, 2, DM_BOUNDARY_NONE, PETSC_TRUE, &da));
  PetscCall(DMSetMatType(da, type));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(ElasticityFill(da, 0.3, 1.0, A));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(ProblemSetDM(ksp, da));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), PETSC_DEFAULT, PETSC_DEFAULT, 100));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCMGSetLevels(pc, 3, NULL));
  PetscCall(PCMGSetGalerkin(pc, PC_MG_GALERKIN_BOTH));
  for (PetscInt l = 1; l < 3; l++) {
    PC smoother;

    PetscCall(PCMGGetSmoother(pc, l, &level));
    PetscCall(KSPSetType(level, KSPRICHARDSON));
    PetscCall(KSPRichardsonSetScale(level, 0.6));
    PetscCall(KSPGetPC(level, &smoother));
    PetscCall(PCSetType(smoother, PCJACOBI));
  }
  PetscCall(MatCreateVecs(A, x, &b));
  PetscCall(SystemVector(da, 2, -1, 1, b));
  PetscCall(KSPSolve(ksp, b, *x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(PCMGGetInterpolation(pc, 2, &P));
  PetscCall(PCMGGetSmoother(pc, 1, &level));
  PetscCall(KSPGetOperators(level, NULL, &coarse));
  PetscCall(PetscObjectTypeCompare((PetscObject)P, MATHJTRANSFER, &is[0]));
  PetscCall(PetscObjectTypeCompare((PetscObject)coarse, MATHJSTENCIL, &is[1]));
  *types = (PetscBool)(is[0] && is[1]);
  PetscCall(HJTestDestroy(&b, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestPCMG(void)
{
  PetscInt  its[2];
  Vec       x[2];
  PetscBool types[2];
  PetscReal apart;

  PetscFunctionBegin;
  PetscCall(RunPCMG(MATAIJ, &its[0], &x[0], &types[0]));
  PetscCall(RunPCMG(MATHJSTENCIL, &its[1], &x[1], &types[1]));
  PetscCall(Apart(x[1], x[0], &apart));
  PetscCall(HJTestOK((PetscBool)(its[0] == its[1] && its[0] < 100 && !types[0] && types[1] && apart <= HJTestDigits(1e-6)),
                     "PCMG of elasticity: %" PetscInt_FMT " iterations, AIJ %" PetscInt_FMT "; solutions differ by %g", its[1], its[0],
                     (double)apart));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  for (PetscInt which = 0; which < 45; which++) PetscCall(TestRandom(which));
  PetscCall(TestPCMG());
  return HJTestEnd();
}

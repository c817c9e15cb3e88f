/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Rows of the finest matrix that are scaled, as are boundary equations of finite differences that are multiplied by 1 / h or by nothing.
   Sweeps do not see it, for D^-1 A stays the same; transposes do: restriction would add up numbers of different size. Decides whether
   cycles are those of S^-1 A, and finds S.
*/
#include "hjmg.h"
#include "core/hjinterpolation.h"

/* Skew parts of D^-1 A from which on S is looked for; it must take away more than HJ_MG_SCALE_GAIN of it, and does not of convection */
#define HJ_MG_SCALE_SKEW 0.5
#define HJ_MG_SCALE_GAIN 0.5
/* Steps of Jacobi's method, which leave what is smooth, and logarithms of s that count as 0 */
#define HJ_MG_SCALE_STEPS 30
#define HJ_MG_SCALE_LEAST 0.2
/* Rows whose diagonals say so much of what the pairs say are scaled like these: the steps begin there */
#define HJ_MG_SCALE_GUESS 0.9

/* On fewer ranks rows have been scaled, or need not be */
PetscBool HJMGMayScale(const PC_HJMG *mg)
{
  return (PetscBool)(!mg->on_fewer_ranks && !mg->unscaled && mg->level[0].skew > HJ_MG_SCALE_SKEW);
}

/* What is known of the pairs (i, j) of points: link has a 1 for each, count their number in row i, sum that of log(s_i) - log(s_j) */
typedef struct {
  const HJGrid         *grid;
  const HJCoefficients *a, *at; /* of the matrix and its transpose */
  Mat                   link;
  PetscScalar          *sum, *count, *bare; /* bare: 1 at points that have coefficients, and none of a pair of the same sign */
} HJMGPairs;

static PetscErrorCode HJMGPairSlot(HJMGPairs *m, PetscInt slot, PetscScalar *link)
{
  const HJBox inside = HJCoefficientsInside(m->a, slot, m->grid);
  PetscCount  p      = 0;

  PetscFunctionBegin;
  for (PetscInt k = m->grid->owned.lo[2]; k < m->grid->owned.hi[2]; k++) {
    for (PetscInt j = m->grid->owned.lo[1]; j < m->grid->owned.hi[1]; j++) {
      for (PetscInt i = m->grid->owned.lo[0]; i < m->grid->owned.hi[0]; i++, p++) {
        const PetscReal a = PetscRealPart(HJCoefficientAt(m->a, slot, p)), b = PetscRealPart(HJCoefficientAt(m->at, slot, p));
        const PetscBool is = (PetscBool)(slot && a != 0.0 && HJPointInside(&inside, i, j, k));

        if (m->bare) {
          if (is && m->bare[p] != 0.0) link[p] = 1.0;
        } else {
          link[p] = is && (a > 0.0 ? b > 0.0 : b < 0.0) ? 1.0 : 0.0;
          if (link[p] != 0.0) m->sum[p] += PetscLogReal(PetscAbsReal(a)) - PetscLogReal(PetscAbsReal(b));
        }
        m->count[p] += link[p];
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGPairSlots(HJMGPairs *m, Vec sum, Vec count, Vec bare)
{
  PetscFunctionBegin;
  PetscCall(VecSet(count, 0.0));
  PetscCall(VecGetArray(sum, &m->sum));
  PetscCall(VecGetArray(count, &m->count));
  if (bare) PetscCall(VecGetArray(bare, &m->bare));
  for (PetscInt slot = 0; slot < m->a->nslots; slot++) {
    PetscScalar *link;
    PetscInt     off[3];

    HJSlotOffset(m->a, slot, off);
    PetscCall(MatHJStencilGetArrayAndMemType(m->link, off[0], off[1], off[2], &link, NULL));
    PetscCall(HJMGPairSlot(m, slot, link));
    PetscCall(MatHJStencilRestoreArrayAndMemType(m->link, off[0], off[1], off[2], &link));
  }
  if (bare) PetscCall(VecRestoreArray(bare, &m->bare));
  PetscCall(VecRestoreArray(count, &m->count));
  PetscCall(VecRestoreArray(sum, &m->sum));
  PetscCall(MatAssemblyBegin(m->link, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(m->link, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* log|a_ii|; 0 where that is 0 */
static PetscErrorCode HJMGLogDiagonal(Mat A, Vec logs)
{
  PetscScalar *v;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(MatGetDiagonal(A, logs));
  PetscCall(VecGetLocalSize(logs, &n));
  PetscCall(VecGetArray(logs, &v));
  for (PetscInt i = 0; i < n; i++) v[i] = v[i] != 0.0 ? PetscLogReal(PetscAbsScalar(v[i])) : 0.0;
  PetscCall(VecRestoreArray(logs, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pairs of the same sign say log(a_ij / a_ji). A bare point, such as a corner whose equation has a boundary point's value, which does not
   have its own, counts as scaled like its diagonal: log(a_ii / a_jj) */
static PetscErrorCode HJMGPairUp(const HJMGLevel *level, Mat link, Vec sum, Vec count)
{
  HJMGPairs         m = {.grid = &level->op->grid, .link = link, .bare = NULL};
  HJGetCoefficients get;
  Mat               At;
  Vec               bare, diagonal, other;
  PetscScalar      *v;
  PetscInt          n;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(sum, &bare));
  PetscCall(VecDuplicate(sum, &diagonal));
  PetscCall(VecDuplicate(sum, &other));
  PetscCall(MatTranspose(level->A, MAT_INITIAL_MATRIX, &At));
  PetscCall(PetscObjectQueryFunction((PetscObject)At, HJ_GET_COEFFICIENTS, &get));
  PetscCall((*get)(At, PETSC_MEMTYPE_HOST, &m.at));
  PetscCall((*get)(level->A, PETSC_MEMTYPE_HOST, &m.a));
  PetscCall(VecSet(sum, 0.0));
  PetscCall(HJMGPairSlots(&m, sum, count, NULL));
  PetscCall(VecCopy(count, bare));
  PetscCall(VecGetLocalSize(bare, &n));
  PetscCall(VecGetArray(bare, &v));
  for (PetscInt i = 0; i < n; i++) v[i] = v[i] == 0.0 ? 1.0 : 0.0;
  PetscCall(VecRestoreArray(bare, &v));
  PetscCall(HJMGPairSlots(&m, sum, count, bare));
  PetscCall(MatDestroy(&At));

  PetscCall(HJMGLogDiagonal(level->A, diagonal));
  PetscCall(MatMult(link, diagonal, other));
  PetscCall(VecPointwiseMult(diagonal, diagonal, count));
  PetscCall(VecAXPY(diagonal, -1.0, other));
  PetscCall(VecPointwiseMult(diagonal, diagonal, bare));
  PetscCall(VecAXPY(sum, 1.0, diagonal));
  PetscCall(VecDestroy(&other));
  PetscCall(VecDestroy(&diagonal));
  PetscCall(VecDestroy(&bare));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that are a diagonal alone, whose count is 0, get the mean diagonal of the others: bilinear interpolation mixes rows */
static PetscErrorCode HJMGScaleAlone(Mat A, Vec count, Vec scale)
{
  Vec                diagonal;
  const PetscScalar *d, *c;
  PetscScalar       *a;
  PetscReal          sum[2] = {0.0, 0.0}; /* of logarithms, and how many */
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(scale, &diagonal));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecGetLocalSize(scale, &n));
  PetscCall(VecGetArrayRead(diagonal, &d));
  PetscCall(VecGetArrayRead(count, &c));
  PetscCall(VecGetArray(scale, &a));
  for (PetscInt i = 0; i < n; i++) {
    if (c[i] == 0.0 || d[i] == 0.0) continue;
    sum[0] += PetscLogReal(PetscAbsScalar(d[i] * a[i]));
    sum[1] += 1.0;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 2, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)A)));
  for (PetscInt i = 0; i < n && sum[1] > 0.0; i++)
    if (c[i] == 0.0 && d[i] != 0.0) a[i] = PetscExpReal(sum[0] / sum[1]) / PetscAbsScalar(d[i]);
  PetscCall(VecRestoreArray(scale, &a));
  PetscCall(VecRestoreArrayRead(count, &c));
  PetscCall(VecRestoreArrayRead(diagonal, &d));
  PetscCall(VecDestroy(&diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Where the steps begin: at s = 1, or where rows are scaled at random, by so much that steps would leave it, at s = |a_ii|. With L the
   Laplacian of the pairs the sum of squares over them is s L s - 2 s sum and a constant, for logarithms s, and L s = sum is what fits best
*/
static PetscErrorCode HJMGGuessScale(Mat A, Mat link, Vec sum, Vec count, Vec work, Vec guess)
{
  PetscScalar dot[2];

  PetscFunctionBegin;
  PetscCall(HJMGLogDiagonal(A, guess));
  PetscCall(MatMult(link, guess, work));
  PetscCall(VecDot(guess, work, &dot[0]));
  PetscCall(VecPointwiseMult(work, count, guess));
  PetscCall(VecDot(guess, work, &dot[1]));
  dot[0] = dot[1] - dot[0];
  PetscCall(VecDot(guess, sum, &dot[1]));
  if (!(PetscRealPart(dot[0]) > 0.0) || !(PetscRealPart(dot[1]) > HJ_MG_SCALE_GUESS * PetscRealPart(dot[0]))) PetscCall(VecSet(guess, 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same scale times the power of two with which the largest diagonal is about 1: none of what is added up later may pass the range of
   numbers */
static PetscErrorCode HJMGNormalizeScale(Mat A, Vec scale)
{
  Vec          diagonal;
  PetscScalar *d, *a;
  PetscInt     n;
  int          most = INT_MIN, exponent[2];

  PetscFunctionBegin;
  PetscCall(VecDuplicate(scale, &diagonal));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecGetLocalSize(scale, &n));
  PetscCall(VecGetArray(diagonal, &d));
  PetscCall(VecGetArray(scale, &a));
  for (PetscInt i = 0; i < n; i++) {
    if (d[i] == 0.0) continue;
    (void)frexp(PetscRealPart(d[i]), &exponent[0]);
    (void)frexp(PetscRealPart(a[i]), &exponent[1]);
    most = PetscMax(most, exponent[0] + exponent[1]);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  for (PetscInt i = 0; i < n && most != INT_MIN; i++) a[i] = ldexp(PetscRealPart(a[i]), -most);
  PetscCall(VecRestoreArray(scale, &a));
  PetscCall(VecRestoreArray(diagonal, &d));
  PetscCall(VecDestroy(&diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1 / s in the sense of least squares over all pairs; the steps leave what is smooth */
static PetscErrorCode HJMGFindScale(const HJMGLevel *level, Vec *scale)
{
  Mat          link;
  Vec          sum, count, next;
  PetscScalar *a;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(level->A, MAT_DO_NOT_COPY_VALUES, &link));
  PetscCall(MatBindToCPU(link, PETSC_TRUE)); /* pairs are found on the host */
  PetscCall(MatCreateVecs(level->A, &next, scale));
  PetscCall(VecDuplicate(*scale, &sum));
  PetscCall(VecDuplicate(*scale, &count));
  PetscCall(HJMGPairUp(level, link, sum, count));
  PetscCall(HJMGGuessScale(level->A, link, sum, count, next, *scale));
  PetscCall(VecReciprocal(count));
  for (int i = 0; i < HJ_MG_SCALE_STEPS; i++) {
    PetscCall(MatMultAdd(link, *scale, sum, next));
    PetscCall(VecPointwiseMult(next, next, count));
    PetscCall(VecAXPBY(*scale, 0.5, 0.5, next));
  }
  PetscCall(VecGetLocalSize(*scale, &n));
  PetscCall(VecGetArray(*scale, &a));
  for (PetscInt i = 0; i < n; i++) a[i] = PetscAbsScalar(a[i]) < HJ_MG_SCALE_LEAST ? 1.0 : PetscExpScalar(-a[i]);
  PetscCall(VecRestoreArray(*scale, &a));
  PetscCall(HJMGScaleAlone(level->A, count, *scale));
  PetscCall(HJMGNormalizeScale(level->A, *scale));
  PetscCall(VecDestroy(&next));
  PetscCall(VecDestroy(&count));
  PetscCall(VecDestroy(&sum));
  PetscCall(MatDestroy(&link));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGMultiplyVector(Vec b, Vec factor, Vec product)
{
  PetscFunctionBegin;
  PetscCall(VecCopy(b, product)); /* b may lie on the host beside a matrix on a GPU */
  PetscCall(VecPointwiseMult(product, product, factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGScaleRows(PC pc)
{
  PC_HJMG    *mg    = (PC_HJMG *)pc->data;
  HJMGLevel  *level = &mg->level[0];
  HJOperator *op    = NULL;
  Mat         A;
  Vec         scale;
  PetscReal   skew;

  PetscFunctionBegin;
  PetscCall(HJMGFindSkew(mg, level));
  if (!HJMGMayScale(mg)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGFindScale(level, &scale));
  PetscCall(MatDuplicate(level->A, MAT_COPY_VALUES, &A));
  PetscCall(MatDiagonalScale(A, scale, NULL));
  PetscCall(HJMGMakeOperator(pc, A, level->da, &op));
  PetscCall(HJBoundSkew(op, &skew));
  mg->unscaled = (PetscBool) !(skew < (1.0 - HJ_MG_SCALE_GAIN) * level->skew);
  PetscCall(PetscInfo(pc, "Skew part of D^-1 A is %g, with rows scaled to be as symmetric as they can be %g: %s\n", (double)level->skew,
                      (double)skew, mg->unscaled ? "they are not" : "they are"));
  if (!mg->unscaled) {
    PetscCall(MatDestroy(&level->A));
    PetscCall(HJOperatorDestroy(&level->op));
    level->A      = A;
    level->op     = op;
    mg->scale     = scale;
    mg->converted = PETSC_TRUE;
    PetscCall(VecDuplicate(scale, &mg->scaled));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJOperatorDestroy(&op));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

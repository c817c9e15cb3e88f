/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Rows of the finest matrix that are scaled, as are boundary equations of finite differences that are multiplied by 1 / h or by nothing.
   Sweeps do not see it, for D^-1 A stays the same; transposes do: restriction would add up numbers of different size. Decides whether
   cycles are those of S^-1 A, and finds S.
*/
#include "hjmg.h"

/* What scaled rows must take away of the skew part of D^-1 A, as a share of it */
#define HJ_MG_SCALE_GAIN 0.5
/* Where no scale pays it is looked for again when new values make the skew part so many times as large */
#define HJ_MG_SCALE_AGAIN 1.5
/* Rows whose diagonals say so much of what the pairs say are scaled like these: the solve begins there */
#define HJ_MG_SCALE_GUESS 0.9
/* Steps of Jacobi's method for bare points, of which no other one hangs */
#define HJ_MG_SCALE_STEPS 30
/* A scale explains at least this share of the squares of all logarithms, or none is looked for any further */
#define HJ_MG_SCALE_SHARE 0.25
/* The matrix of the pairs, which is singular, gets so much more diagonal. Each of a few solves leaves so much of the residual; the first
   one is for a look at what comes of it */
#define HJ_MG_SCALE_SHIFT  1e-6
#define HJ_MG_SCALE_SOLVES 8
#define HJ_MG_SCALE_RTOL   1e-5
#define HJ_MG_SCALE_FIRST  1e-2
/* A residual so small beside the right-hand side is rounding; and one so small where numbers were added up along a tree */
#define HJ_MG_SCALE_ROUNDING HJ_BY_PRECISION(1e-13, 1e-6)
#define HJ_MG_SCALE_EXACT    HJ_BY_PRECISION(1e-10, 1e-4)
/* The logarithms of the diagonals of scaled rows may be so far apart, or a little further than the guess leaves them: couplings of cells
   that are long and thin lie far apart. Upwind differences of a constant
   velocity are a symmetric matrix with scaled rows too, whose scale grows exponentially along the flow: restriction by it would see nothing
   but its end */
#define HJ_MG_SCALE_SPREAD 20.0
#define HJ_MG_SCALE_WIDER  10.0
/* Scales whose logarithms are larger, and entries times them, may pass the range of numbers */
#define HJ_MG_SCALE_LARGEST (0.5 * PetscLogReal(PETSC_MAX_REAL))
/* As much more diagonal, by which scales of points far from one another say nothing of each other */
#define HJ_MG_SCALE_LOCAL 1e-2

/* On fewer ranks rows have been scaled, or need not be */
PetscBool HJMGMayScale(const PC_HJMG *mg)
{
  const HJMGLevel *level = &mg->level[0];

  return (PetscBool)(!mg->on_fewer_ranks && level->skew_rows > PetscMax(HJ_MG_SKEW, HJ_MG_SCALE_AGAIN * mg->unscaled));
}

/* What is known of the pairs (i, j) of points: link has a 1 for each, count their number in row i, sum that of log(s_i) - log(s_j) */
typedef struct {
  const HJGrid         *grid;
  const HJCoefficients *a, *at; /* of the matrix and its transpose */
  Mat                   link;
  PetscScalar          *sum, *count, *bare; /* bare: 1 at points that have coefficients, and none of a pair of the same sign */
  PetscReal             squares;            /* of the logarithms, over the pairs of this rank */
  PetscBool             one_way;            /* a point of this rank has an entry that is none of a pair */
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
          if (is && link[p] == 0.0) m->one_way = PETSC_TRUE;
          if (link[p] != 0.0 && a != b) {
            const PetscReal l = HJMGLogQuotient(a, b);

            m->sum[p] += l;
            m->squares += 0.5 * l * l;
          }
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

/* Bare points, such as a corner whose equation has a boundary point's value, which does not have its own, count as scaled like their
   diagonals: log(a_ii / a_jj). They follow from the others, which do not hang on them. Adds their pairs to count */
static PetscErrorCode HJMGScaleBare(Mat A, HJMGPairs *m, Vec sum, Vec count, Vec scale)
{
  Vec          bare, diagonal, next;
  PetscScalar *v;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(sum, &bare));
  PetscCall(VecDuplicate(sum, &diagonal));
  PetscCall(VecDuplicate(sum, &next));
  PetscCall(VecCopy(count, bare));
  PetscCall(VecGetLocalSize(bare, &n));
  PetscCall(VecGetArray(bare, &v));
  for (PetscInt i = 0; i < n; i++) v[i] = v[i] == 0.0 ? 1.0 : 0.0;
  PetscCall(VecRestoreArray(bare, &v));
  PetscCall(HJMGPairSlots(m, sum, count, bare));

  PetscCall(HJMGLogDiagonal(A, diagonal));
  PetscCall(MatMult(m->link, diagonal, next));
  PetscCall(VecPointwiseMult(diagonal, diagonal, count));
  PetscCall(VecAXPY(diagonal, -1.0, next));
  PetscCall(VecPointwiseMult(diagonal, diagonal, bare));
  PetscCall(VecAXPY(sum, 1.0, diagonal));

  PetscCall(VecCopy(count, diagonal));
  PetscCall(VecReciprocal(diagonal));
  PetscCall(VecPointwiseMult(diagonal, diagonal, bare)); /* 1 / count at bare points, else 0 */
  for (int i = 0; i < HJ_MG_SCALE_STEPS; i++) {
    PetscCall(MatMultAdd(m->link, scale, sum, next));
    PetscCall(VecPointwiseMult(next, next, diagonal));
    PetscCall(VecAXPY(next, -1.0, scale));
    PetscCall(VecPointwiseMult(next, next, bare));
    PetscCall(VecAXPY(scale, 0.5, next));
  }
  PetscCall(VecDestroy(&next));
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
   Where the solve begins: at s = 1, or where rows are scaled at random, by so much that digits would be lost, at s = |a_ii|. With L the
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

/* The Laplacian of the pairs with so much more diagonal, and a solver of it. Points without pairs keep what they have */
static PetscErrorCode HJMGScaleKSP(Mat link, Vec count, PetscReal shift, KSP *ksp)
{
  Mat          L;
  Vec          diagonal;
  PetscScalar *v;
  PetscInt     n;
  PC           pc;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(count, &diagonal));
  PetscCall(VecCopy(count, diagonal));
  PetscCall(VecGetLocalSize(diagonal, &n));
  PetscCall(VecGetArray(diagonal, &v));
  for (PetscInt i = 0; i < n; i++) v[i] = v[i] == 0.0 ? 1.0 : v[i] * (1.0 + shift);
  PetscCall(VecRestoreArray(diagonal, &v));
  PetscCall(MatDuplicate(link, MAT_COPY_VALUES, &L));
  PetscCall(MatScale(L, -1.0));
  PetscCall(MatDiagonalSet(L, diagonal, INSERT_VALUES));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)link), ksp));
  PetscCall(KSPSetOperators(*ksp, L, L));
  PetscCall(KSPSetOptionsPrefix(*ksp, "hjmg_scale_")); /* -ksp_view and the like are not for it */
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(MatDestroy(&L));
  PetscCall(VecDestroy(&diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How far the logarithms of the diagonals of coupled rows are apart, on all ranks, when rows are divided by s */
static PetscErrorCode HJMGFindSpread(Mat A, Vec count, Vec logs, PetscReal *spread)
{
  Vec                diagonal;
  const PetscScalar *d, *c;
  PetscReal          most[2] = {PETSC_MIN_REAL, PETSC_MIN_REAL};
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(logs, &diagonal));
  PetscCall(HJMGLogDiagonal(A, diagonal));
  PetscCall(VecAXPY(diagonal, -1.0, logs));
  PetscCall(VecGetLocalSize(logs, &n));
  PetscCall(VecGetArrayRead(diagonal, &d));
  PetscCall(VecGetArrayRead(count, &c));
  for (PetscInt i = 0; i < n; i++) {
    if (c[i] == 0.0) continue;
    most[0] = PetscMax(most[0], PetscRealPart(d[i]));
    most[1] = PetscMax(most[1], -PetscRealPart(d[i]));
  }
  PetscCall(VecRestoreArrayRead(count, &c));
  PetscCall(VecRestoreArrayRead(diagonal, &d));
  PetscCall(VecDestroy(&diagonal));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, most, 2, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)A)));
  *spread = most[0] >= -most[1] ? most[0] + most[1] : 0.0; /* there may be no coupled rows */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether logarithms that are nearly known may be those of a scale: they explain what the pairs say, and spread the diagonals no more than
   so much */
static PetscErrorCode HJMGScaleFits(const HJMGPairs *m, Mat A, Vec sum, Vec count, Vec logs, PetscReal most, PetscBool *fits)
{
  PetscReal   spread, squares;
  PetscScalar explained;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&m->squares, &squares, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)A)));
  PetscCall(VecDot(logs, sum, &explained));
  PetscCall(HJMGFindSpread(A, count, logs, &spread));
  *fits = (PetscBool)(PetscRealPart(explained) >= HJ_MG_SCALE_SHARE * squares && spread <= most);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the pairs say beyond some logarithms */
static PetscErrorCode HJMGScaleResidual(const HJMGPairs *m, Vec sum, Vec count, Vec logs, Vec work, Vec residual)
{
  PetscFunctionBegin;
  PetscCall(VecPointwiseMult(work, count, logs));
  PetscCall(MatMultAdd(m->link, logs, sum, residual));
  PetscCall(VecAXPY(residual, -1.0, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether what the pairs say is rough from point to point: one step of Jacobi's method explains a good share of it. Overwrites work */
static PetscErrorCode HJMGScaleIsRough(const HJMGPairs *m, Vec sum, Vec count, Vec work, PetscBool *is)
{
  PetscReal   squares;
  PetscScalar explained;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&m->squares, &squares, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)sum)));
  PetscCall(VecCopy(count, work));
  PetscCall(VecReciprocal(work)); /* 0 where the count is */
  PetscCall(VecPointwiseMult(work, work, sum));
  PetscCall(VecDot(work, sum, &explained));
  *is = (PetscBool)(0.5 * PetscRealPart(explained) >= HJ_MG_SCALE_SHARE * squares);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Where a flow makes logarithms grow along it without end, rows may be scaled at random besides: those that fit best among such as are
   near a guess but from point to point. The guess where they do not serve
*/
static PetscErrorCode HJMGSolveLocalScale(const HJMGPairs *m, Mat A, Vec sum, Vec count, PetscReal spread, Vec guess, Vec logs,
                                          PetscBool *fits)
{
  KSP ksp;
  Vec residual, work;

  PetscFunctionBegin;
  PetscCall(VecCopy(guess, logs));
  PetscCall(VecDuplicate(logs, &work));
  PetscCall(HJMGScaleIsRough(m, sum, count, work, fits));
  if (*fits) {
    PetscCall(VecDuplicate(logs, &residual));
    PetscCall(HJMGScaleKSP(m->link, count, HJ_MG_SCALE_LOCAL, &ksp));
    PetscCall(HJMGScaleResidual(m, sum, count, logs, work, residual));
    PetscCall(KSPSetTolerances(ksp, HJ_MG_SCALE_RTOL, PETSC_DEFAULT, PETSC_DEFAULT, 50));
    PetscCall(KSPSolve(ksp, residual, work));
    PetscCall(VecAXPY(logs, 1.0, work));
    PetscCall(HJMGScaleFits(m, A, sum, count, logs, spread, fits));
    if (!*fits) PetscCall(VecCopy(guess, logs));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&residual));
  }
  PetscCall(VecDestroy(&work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether those along a tree of pairs are a scale: no point has a residual beyond rounding. Else logs stay as they are */
static PetscErrorCode HJMGScaleIsExact(const HJMGPairs *m, Vec sum, Vec count, Vec work, Vec residual, Vec logs, PetscBool *is)
{
  Vec       tree;
  PetscReal largest;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(logs, &tree));
  PetscCall(HJMGScaleAlongTree(m->grid, m->a, tree));
  PetscCall(HJMGScaleResidual(m, sum, count, tree, work, residual));
  PetscCall(VecNorm(residual, NORM_INFINITY, &largest));
  *is = (PetscBool)(largest <= HJ_MG_SCALE_EXACT);
  if (*is) PetscCall(VecCopy(tree, logs));
  PetscCall(VecDestroy(&tree));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The logarithms that fit best, from a guess. *fits is false, the solve ends early, and they are the guess again, where they are those of
   no scale; whether they serve is seen from the matrix that they scale */
static PetscErrorCode HJMGSolveScale(const HJMGPairs *m, Mat A, Vec sum, Vec count, Vec logs, PetscBool *exact, PetscBool *fits)
{
  KSP       ksp = NULL;
  Vec       residual, correction, guess;
  PetscReal norm, least, spread;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(logs, &guess));
  PetscCall(VecCopy(logs, guess));
  PetscCall(HJMGFindSpread(A, count, guess, &spread));
  spread = PetscMax(spread + HJ_MG_SCALE_WIDER, HJ_MG_SCALE_SPREAD);
  PetscCall(VecDuplicate(logs, &residual));
  PetscCall(VecDuplicate(logs, &correction));
  PetscCall(VecNorm(sum, NORM_2, &least));
  PetscCall(HJMGScaleIsExact(m, sum, count, correction, residual, logs, exact));
  *fits = PETSC_TRUE;
  if (*exact) PetscCall(HJMGScaleFits(m, A, sum, count, logs, spread, fits));
  else PetscCall(HJMGScaleKSP(m->link, count, HJ_MG_SCALE_SHIFT, &ksp));
  for (int i = 0; i < HJ_MG_SCALE_SOLVES && *fits && !*exact; i++) {
    PetscCall(HJMGScaleResidual(m, sum, count, logs, correction, residual));
    PetscCall(VecNorm(residual, NORM_2, &norm));
    if (norm <= HJ_MG_SCALE_ROUNDING * least) break;
    PetscCall(KSPSetTolerances(ksp, i ? HJ_MG_SCALE_RTOL : HJ_MG_SCALE_FIRST, PETSC_DEFAULT, PETSC_DEFAULT, 50));
    PetscCall(KSPSolve(ksp, residual, correction));
    PetscCall(VecAXPY(logs, 1.0, correction));
    PetscCall(HJMGScaleFits(m, A, sum, count, logs, spread, fits));
  }
  if (!*fits) PetscCall(HJMGSolveLocalScale(m, A, sum, count, spread, guess, logs, fits));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&guess));
  PetscCall(VecDestroy(&residual));
  PetscCall(VecDestroy(&correction));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How far diagonals of scaled rows may be apart: the guess of rows that are scaled like their diagonals leaves them at 1, else it is 1 */
static PetscErrorCode HJMGFindExactLimit(const HJMGLevel *level, const HJCoefficients *a, Vec logs, Vec count, PetscReal *limit)
{
  Vec       work;
  PetscReal squares, product, spread;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(logs, &work));
  PetscCall(HJMGLogDiagonal(level->A, work));
  PetscCall(HJMGScaleCompare(&level->op->grid, a, work, logs, &squares, &product));
  PetscCall(VecSet(work, 0.0));
  PetscCall(HJMGFindSpread(level->A, count, work, &spread));
  if (!(squares > 0.0 && product > HJ_MG_SCALE_GUESS * squares)) *limit = PetscMax(*limit, spread + HJ_MG_SCALE_WIDER);
  PetscCall(VecDestroy(&work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1 / s where it makes the matrix symmetric but for rounding, entries of all rows are pairs on this rank, and diagonals are not too far
   apart: what most rows are that a volume divides. Else exact is false */
static PetscErrorCode HJMGFindExactScale(const HJMGLevel *level, Vec *scale, PetscBool *exact)
{
  const HJGrid         *grid = &level->op->grid;
  const HJCoefficients *a;
  Vec                   logs, count;
  PetscReal             largest, spread = 0.0, limit = HJ_MG_SCALE_SPREAD;

  PetscFunctionBegin;
  PetscCall(HJCoefficientsIn(level->A, PETSC_MEMTYPE_HOST, &a));
  PetscCall(MatCreateVecs(level->A, &logs, scale));
  PetscCall(VecDuplicate(logs, &count));
  PetscCall(HJMGScaleAlongTree(grid, a, logs));
  PetscCall(VecNorm(logs, NORM_INFINITY, &largest));
  *exact = (PetscBool)(largest <= HJ_MG_SCALE_LARGEST);
  if (*exact) {
    PetscCall(VecCopy(logs, *scale));
    PetscCall(VecScale(*scale, -1.0));
    PetscCall(VecExp(*scale));
    PetscCall(HJMGScaleAgrees(grid, a, HJ_MG_SCALE_EXACT, *scale, count, exact));
  }
  if (*exact) PetscCall(HJMGFindSpread(level->A, count, logs, &spread));
  if (*exact && spread > HJ_MG_SCALE_SPREAD) PetscCall(HJMGFindExactLimit(level, a, logs, count, &limit));
  *exact = (PetscBool)(*exact && spread <= limit);
  if (*exact) {
    PetscCall(HJMGScaleAlone(level->A, count, *scale));
    PetscCall(HJMGNormalizeScale(level->A, *scale));
  } else PetscCall(VecDestroy(scale));
  PetscCall(VecDestroy(&count));
  PetscCall(VecDestroy(&logs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1 / s in the sense of least squares over all pairs of the same sign, which say log(a_ij / a_ji); NULL where the pairs say nothing of a
   scale. exact: that makes the matrix symmetric but for rounding */
static PetscErrorCode HJMGFindScale(const HJMGLevel *level, Vec *scale, PetscBool *exact)
{
  HJMGPairs m = {.grid = &level->op->grid};
  Mat       At;
  Vec       sum, count, work;
  PetscReal largest;
  PetscBool fits = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(level->A, MAT_DO_NOT_COPY_VALUES, &m.link));
  PetscCall(MatBindToCPU(m.link, PETSC_TRUE)); /* pairs are found on the host */
  PetscCall(MatCreateVecs(level->A, &work, scale));
  PetscCall(VecDuplicate(*scale, &sum));
  PetscCall(VecDuplicate(*scale, &count));
  PetscCall(MatTranspose(level->A, MAT_INITIAL_MATRIX, &At));
  PetscCall(HJCoefficientsIn(At, PETSC_MEMTYPE_HOST, &m.at));
  PetscCall(HJCoefficientsIn(level->A, PETSC_MEMTYPE_HOST, &m.a));
  PetscCall(VecSet(sum, 0.0));
  PetscCall(HJMGPairSlots(&m, sum, count, NULL));
  PetscCall(HJMGGuessScale(level->A, m.link, sum, count, work, *scale));
  PetscCall(HJMGSolveScale(&m, level->A, sum, count, *scale, exact, &fits));
  PetscCall(VecNorm(*scale, NORM_INFINITY, &largest));
  if (fits || largest > 0.0) {
    PetscCall(HJOnAnyRank(PetscObjectComm((PetscObject)level->da), &m.one_way));
    if (m.one_way) PetscCall(HJMGScaleBare(level->A, &m, sum, count, *scale));
    PetscCall(VecScale(*scale, -1.0));
    PetscCall(VecExp(*scale));
    PetscCall(HJMGScaleAlone(level->A, count, *scale));
    PetscCall(HJMGNormalizeScale(level->A, *scale));
  } else PetscCall(VecDestroy(scale));
  PetscCall(MatDestroy(&At));
  PetscCall(VecDestroy(&work));
  PetscCall(VecDestroy(&count));
  PetscCall(VecDestroy(&sum));
  PetscCall(MatDestroy(&m.link));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGMultiplyVector(Vec b, Vec factor, Vec product)
{
  PetscFunctionBegin;
  PetscCall(VecCopy(b, product)); /* b may lie on the host beside a matrix on a GPU */
  PetscCall(VecPointwiseMult(product, product, factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The finest level's matrix with rows times scale, which make it symmetric but for rounding or do not: half of it is kept then */
static PetscErrorCode HJMGMakeScaled(PC pc, Vec scale, PetscBool symmetric, Mat *A, HJOperator **op)
{
  const HJMGLevel *level = &((PC_HJMG *)pc->data)->level[0];

  PetscFunctionBegin;
  *op = NULL;
  PetscCall(MatDuplicate(level->A, MAT_COPY_VALUES, A));
  PetscCall(MatDiagonalScale(*A, scale, NULL));
  if (symmetric) PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(HJMGMakeOperator(pc, *A, level->da, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cycles are those of A, the finest level's matrix with rows times scale, from here on */
static PetscErrorCode HJMGTakeScaled(PC pc, Mat A, Vec scale, HJOperator *op)
{
  PC_HJMG   *mg    = (PC_HJMG *)pc->data;
  HJMGLevel *level = &mg->level[0];

  PetscFunctionBegin;
  PetscCall(MatDestroy(&level->A));
  PetscCall(HJOperatorDestroy(&level->op));
  level->A      = A;
  level->op     = op;
  mg->scale     = scale;
  mg->converted = PETSC_TRUE;
  PetscCall(VecDuplicate(scale, &mg->scaled));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGScaleSymmetric(PC pc)
{
  PC_HJMG    *mg    = (PC_HJMG *)pc->data;
  HJMGLevel  *level = &mg->level[0];
  HJOperator *op;
  Mat         A;
  Vec         scale;
  PetscReal   skew[2] = {level->skew_rows, 0.0};
  PetscBool   pays, exact = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(HJMGFindExactScale(level, &scale, &exact));
  if (!exact) PetscCall(HJMGFindScale(level, &scale, &exact));
  if (!scale) {
    mg->unscaled = skew[0];
    PetscCall(PetscInfo(pc, "Skew part of D^-1 A is %g: it is not that of scaled rows\n", (double)skew[0]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGMakeScaled(pc, scale, exact, &A, &op));
  PetscCall(HJBoundSkew(op, &skew[1]));
  pays         = (PetscBool)(skew[1] < (1.0 - HJ_MG_SCALE_GAIN) * skew[0]);
  mg->unscaled = pays ? 0.0 : skew[0];
  PetscCall(PetscInfo(pc, "Skew part of D^-1 A is %g, with rows scaled to be as symmetric as they can be %g: %s\n", (double)skew[0],
                      (double)skew[1], pays ? "they are" : "they are not"));
  if (pays) {
    PetscCall(HJMGTakeScaled(pc, A, scale, op));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJOperatorDestroy(&op));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGScaleFlow(PC pc)
{
  PC_HJMG    *mg    = (PC_HJMG *)pc->data;
  HJMGLevel  *level = &mg->level[0];
  HJOperator *op;
  Mat         A;
  Vec         scale;
  PetscBool   wants;

  PetscFunctionBegin;
  PetscCall(HJMGFlowWantsScale(mg, level, &wants));
  if (!wants) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGMakeFlowScale(level, &scale));
  PetscCall(PetscInfo(pc, "The flow is much faster in some places than in others: rows are divided by the roots of their diagonals\n"));
  PetscCall(HJMGMakeScaled(pc, scale, PETSC_FALSE, &A, &op));
  PetscCall(HJMGTakeScaled(pc, A, scale, op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGScaleRows(PC pc)
{
  PC_HJMG   *mg    = (PC_HJMG *)pc->data;
  HJMGLevel *level = &mg->level[0];

  PetscFunctionBegin;
  PetscCall(HJMGFindSkewOfRows(mg, level));
  if (HJMGMayScale(mg)) PetscCall(HJMGScaleSymmetric(pc));
  if (mg->scale) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGFindSkew(mg, level));
  PetscCall(HJMGScaleFlow(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The coarsest grid: by sweeps, or by the inverse of its matrix where that is one launch in place of many. Decides which.
*/
#include "hjmg.h"

/* How large a solution may be, times what rounding makes of an eigenvalue 0: a rough vector has a tenth or so of each singular vector */
#define HJ_MG_INVERSE_LARGE 0.01

PetscBool HJMGSuitsInverse(const PC_HJMG *mg, PetscInt most)
{
  const PetscReal points = HJMGPoints(&mg->level[mg->nlevels - 1]);

  if (points > HJ_DENSE_MAX || mg->coarse == PC_HJMG_COARSE_SOLVE_SWEEPS) return PETSC_FALSE;
  if (mg->nlevels == 1 && !mg->base) return (PetscBool)(points <= most && mg->max_levels == PETSC_DECIDE);
  return (PetscBool)(mg->coarse == PC_HJMG_COARSE_SOLVE_INVERSE || points <= most);
}

/* On the host and then where the backend takes it from, which may be a device whose vectors have no copy on the host */
PetscErrorCode HJMGFillRough(const HJBackendOps *ops, Vec b)
{
  PetscRandom  random;
  PetscScalar *rough;
  PetscInt     n;
  HJVecArray   ba;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(b, &n));
  PetscCall(PetscMalloc1(n, &rough));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetType(random, PETSCRANDER48));
  for (PetscInt i = 0; i < n; i++) PetscCall(PetscRandomGetValue(random, &rough[i]));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(HJVecOpen(ops, NULL, HJ_WRITE, b, NULL, &ba));
  PetscCall(ops->copy(NULL, ba.used, rough, n));
  PetscCall(HJVecClose(&ba));
  PetscCall(PetscFree(rough));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether x is in the null space of a coarse grid's symmetric A, but for rounding. Overwrites r */
static PetscErrorCode HJMGIsNull(HJMGLevel *level, Vec x, PetscBool *is)
{
  PetscScalar product[2];

  PetscFunctionBegin;
  PetscCall(MatMult(level->A, x, level->r));
  PetscCall(VecDot(x, level->r, &product[0]));
  PetscCall(MatGetDiagonal(level->A, level->r));
  PetscCall(VecPointwiseMult(level->r, level->r, x));
  PetscCall(VecDot(x, level->r, &product[1]));
  *is = (PetscBool)(PetscAbsScalar(product[0]) <= HJ_MG_VOID * PetscAbsScalar(product[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the constants are in the null space of a coarse grid's A, but for such a share of the largest diagonal. Overwrites b and r */
static PetscErrorCode HJMGHasConstants(HJMGLevel *level, PetscReal share, Vec b, PetscBool *has)
{
  PetscReal sums, diagonal;

  PetscFunctionBegin;
  PetscCall(MatGetDiagonal(level->A, b));
  PetscCall(VecNorm(b, NORM_INFINITY, &diagonal));
  PetscCall(VecSet(b, 1.0));
  PetscCall(MatMult(level->A, b, level->r));
  PetscCall(VecNorm(level->r, NORM_INFINITY, &sums));
  *has = (PetscBool)(sums <= share * diagonal);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether x, of a right-hand side of that norm, is so large that A is singular but for rounding, or, where it is unsymmetric and has a
   pseudoinverse, that residuals would be lost in what the inverse makes of a singular vector. Overwrites r */
static PetscErrorCode HJMGIsLarge(const PC_HJMG *mg, HJMGLevel *level, Vec x, PetscReal norm, PetscBool *is)
{
  const PetscBool floored  = (PetscBool)(level->skew > HJ_MG_SKEW && HJMGPoints(level) <= HJ_MG_SVD_MOST && !HJMGIsOfFinest(mg, level));
  const PetscReal rounding = floored ? HJ_MG_SVD_LEAST * HJ_MG_INVERSE_LARGE : HJMGRounding(mg);
  PetscReal       size;

  PetscFunctionBegin;
  PetscCall(VecNorm(x, NORM_INFINITY, &size)); /* its squares may pass the range of numbers */
  size *= PetscSqrtReal(HJMGPoints(level));
  *is = (PetscBool) !(rounding * level->coarsening.coupled * size <= HJ_MG_INVERSE_LARGE * norm);
  if (!*is) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetDiagonal(level->A, level->r)); /* rows that are a small diagonal alone make x large too */
  PetscCall(VecPointwiseMult(level->r, level->r, x));
  PetscCall(VecNorm(level->r, NORM_2, &size));
  *is = (PetscBool) !(rounding * size <= HJ_MG_INVERSE_LARGE * norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Whether A times what the solve makes of a rough vector is that vector but for so much of it: all arrays and launches are those of the
   cycle. An inverse is not good either where A is singular but for rounding: where x is too large, or where rounding has made an eigenvalue
   one of the other sign than the rest, and cycles would be indefinite. constants: A has the constants in its null space then, and nobody
   said so: a coarser grid's rows are sums of up to 2^dim finer ones, and so is the rounding in them
*/
PetscErrorCode HJMGCheckInverse(PC_HJMG *mg, HJMGLevel *level, PetscReal defect, PetscBool *good, PetscBool *constants)
{
  const PetscReal summed     = PetscPowReal(2.0, (PetscReal)level->op->grid.dim * (mg->base + mg->nlevels - 1));
  PetscScalar     product[2] = {0.0, 0.0};
  PetscReal       norm[2];
  Vec             b = level->b, x = level->x;
  const PetscBool ranged = (PetscBool)(mg->constants && level->skew > HJ_MG_SKEW);
  PetscBool       large, null = PETSC_FALSE;

  PetscFunctionBegin;
  if (!b) PetscCall(MatCreateVecs(level->A, &x, &b));
  PetscCall(HJMGFillRough(level->op->ops, b));
  if (ranged) { /* what an unsymmetric matrix leaves out of b is another vector than the constants */
    PetscCall(MatMult(level->A, b, level->r));
    PetscCall(VecCopy(level->r, b));
  } else if (mg->constants) PetscCall(MatNullSpaceRemove(mg->constants, b));
  PetscCall(HJMGSolveCoarsest(mg, PETSC_FALSE, PETSC_TRUE, NULL, b, x));
  PetscCall(MatResidual(level->A, b, x, level->r));
  if (mg->constants && !ranged) PetscCall(MatNullSpaceRemove(mg->constants, level->r));
  PetscCall(VecNorm(b, NORM_2, &norm[0]));
  PetscCall(VecNorm(level->r, NORM_2, &norm[1]));
  PetscCall(HJMGIsLarge(mg, level, x, norm[0], &large));
  *good      = (PetscBool)(norm[1] <= defect * norm[0] && !large);
  *constants = PETSC_FALSE;
  if (*good && level->skew <= HJ_MG_SKEW) {
    PetscCall(VecDot(b, x, &product[0]));
    PetscCall(MatMult(level->A, b, level->r));
    PetscCall(VecDot(b, level->r, &product[1]));
  }
  if (PetscRealPart(product[0] * product[1]) < 0.0) {
    PetscCall(HJMGIsNull(level, x, &null));
    *good = (PetscBool)!null;
    if (!mg->constants) PetscCall(HJMGHasConstants(level, PetscMin(defect, summed * HJ_MG_VOID), b, constants));
  } else if (!*good && !mg->constants) PetscCall(HJMGHasConstants(level, HJMGRounding(mg), b, constants));
  if (b != level->b) PetscCall(VecDestroy(&b));
  if (x != level->x) PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By the host, which searches for pivots and a device does not: unsymmetric and indefinite matrices may need that */
static PetscErrorCode HJMGInvertOnHost(const HJBackendOps *ops, PetscInt n, PetscScalar *inverse)
{
  PetscScalar *a, *work;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2((size_t)n * n, &a, (size_t)n * n, &work));
  PetscCall(ops->copy(NULL, a, inverse, (PetscCount)n * n));
  PetscCall(HJBackendHost.multigrid->invert(n, a, work));
  PetscCall(ops->copy(NULL, inverse, a, (PetscCount)n * n));
  PetscCall(PetscFree2(a, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Works in the work vector of the finest grid, where that is large enough and lies with the operator: other memory would be kept. *made is
   false where there is none */
static PetscErrorCode HJMGInvert(PC_HJMG *mg, PetscInt n, PetscBool pivots, PetscBool *made)
{
  const HJMGLevel    *level = &mg->level[0];
  const HJBackendOps *ops   = level->op->ops;
  const PetscCount    size  = (PetscCount)n * n;
  PetscScalar        *room, *work = NULL;
  PetscMemType        mtype;
  PetscBool           fits;

  PetscFunctionBegin;
  *made = PETSC_TRUE;
  if (pivots) {
    PetscCall(HJMGInvertOnHost(ops, n, mg->inverse));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetArrayWriteAndMemType(level->r, &room, &mtype));
  fits = (PetscBool)(HJBoxSize(&level->op->grid.owned) >= size && !PetscMemTypeHost(mtype) == !PetscMemTypeHost(ops->mtype));
  if (!fits) PetscCall(HJAllocIfRoom(ops, size, PETSC_TRUE, &work));
  *made = (PetscBool)(fits || work);
  if (*made) PetscCall(ops->multigrid->invert(n, mg->inverse, fits ? room : work));
  if (work) PetscCall(ops->multigrid->unscratch(&work));
  PetscCall(VecRestoreArrayWriteAndMemType(level->r, &room));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* mg->inverse, where its memory is there. (A + s P)^-1 = A^+ + P / s, P the projection on the constants: what P adds is taken out again on
   the host, and the solution then has no constants in it. One point has nothing else: what rounding has left of its diagonal says
   nothing */
static PetscErrorCode HJMGFillInverse(PC_HJMG *mg, PetscInt n, PetscBool pivots, PetscBool *made)
{
  HJMGLevel            *level = &mg->level[mg->nlevels - 1];
  const HJBackendOps   *ops   = level->op->ops;
  const HJCoefficients *c;
  PetscScalar          *a, shift;

  PetscFunctionBegin;
  *made = PETSC_FALSE;
  if (!mg->inverse) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJCoefficientsIn(level->A, ops->mtype, &c));
  PetscCall(ops->multigrid->fill_dense(&level->op->grid, c, (PetscBool)(mg->constants != NULL), mg->inverse, &shift));
  PetscCall(HJMGInvert(mg, n, pivots, made));
  if (!*made || !mg->constants || shift == 0.0) PetscFunctionReturn(PETSC_SUCCESS); /* of a matrix without a diagonal there is no P / s */
  PetscCall(PetscMalloc1((size_t)n * n, &a));
  PetscCall(ops->copy(NULL, a, mg->inverse, (PetscCount)n * n));
  for (size_t i = 0; i < (size_t)n * n; i++) a[i] = n > 1 ? a[i] - 1.0 / (shift * n) : 0.0;
  PetscCall(ops->copy(NULL, mg->inverse, a, (PetscCount)n * n));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The inverse, whether it is good, and whether it is to be made once more without constants. Collective on one rank */
static PetscErrorCode HJMGTryInverse(PC_HJMG *mg, PetscInt n, PetscBool pivots, PetscBool *made, PetscBool *good, PetscBool *constants)
{
  PetscFunctionBegin;
  *good = *constants = PETSC_FALSE;
  PetscCall(HJMGFillInverse(mg, n, pivots, made));
  if (*made) PetscCall(HJMGCheckInverse(mg, &mg->level[mg->nlevels - 1], HJ_MG_INVERSE_DEFECT, good, constants));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An inverse of a device that is not good is made once more by the host, so that what comes of a grid does not hang on where it lies. Of a
   matrix that is singular, and nobody said how, first without constants, then, where the grid is small, without what else rounding has
   made of its null space; at once so where it is unsymmetric, as what its columns leave out may have next to nothing of the constants */
static PetscErrorCode HJMGMakeInverse(PC pc, PetscInt n, PetscBool *made, PetscBool *good)
{
  PC_HJMG        *mg     = (PC_HJMG *)pc->data;
  const PetscBool pseudo = (PetscBool)(n <= HJ_MG_INVERSE_QUICK && mg->level[mg->nlevels - 1].skew > HJ_MG_SKEW);
  const PetscBool first  = (PetscBool)(mg->inverse && pseudo && mg->constants); /* before any other */
  PetscBool       pivots = PETSC_FALSE, constants;

  PetscFunctionBegin;
  *made = (PetscBool)(mg->inverse != NULL);
  *good = PETSC_FALSE;
  if (first) PetscCall(HJMGMakePseudoinverse(pc, n, good));
  if (*good) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGTryInverse(mg, n, pivots, made, good, &constants));
  if (*made && !*good && !constants && PetscMemTypeDevice(mg->level[0].op->ops->mtype)) {
    pivots = PETSC_TRUE;
    PetscCall(HJMGTryInverse(mg, n, pivots, made, good, &constants));
  }
  if (constants && !pseudo) {
    PetscCall(PetscInfo(pc, "The matrix is singular but for rounding: the coarsest grid is solved without constants\n"));
    PetscCall(MatNullSpaceCreate(PetscObjectComm((PetscObject)pc), PETSC_TRUE, 0, NULL, &mg->constants)); /* until the next set-up */
    PetscCall(HJMGTryInverse(mg, n, pivots, made, good, &(PetscBool){PETSC_FALSE}));
  }
  if (*made && !*good && !first && n <= HJ_MG_SVD_MOST) PetscCall(HJMGMakePseudoinverse(pc, n, good));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On one rank, whose row numbers are those of the points */
PetscErrorCode HJMGSetUpInverse(PC pc, PetscInt most)
{
  PC_HJMG            *mg    = (PC_HJMG *)pc->data;
  HJMGLevel          *level = &mg->level[mg->nlevels - 1];
  const HJBackendOps *ops   = level->op->ops;
  PetscInt            n;
  PetscMPIInt         size;
  PetscBool           made, good = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)level->A), &size));
  if (size > 1 || !HJMGSuitsInverse(mg, most)) {
    PetscCall(ops->free(NULL, &mg->inverse));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatGetSize(level->A, &n, NULL));
  if (!mg->inverse) PetscCall(HJAllocIfRoom(ops, (PetscCount)n * n, PETSC_FALSE, &mg->inverse)); /* else that of old values, as large */
  PetscCall(HJMGMakeInverse(pc, n, &made, &good));
  if (!made) {
    PetscCall(PetscInfo(pc, "There is no memory for the inverse of the coarsest grid: sweeps solve it\n"));
    PetscCall(ops->free(NULL, &mg->inverse));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (good) {
    PetscCall(HJWeightsReset(&level->w));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscInfo(pc, "The matrix of the coarsest grid has no good inverse: sweeps solve it\n"));
  PetscCall(ops->free(NULL, &mg->inverse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGMultiplyInverse(const HJMGLevel *level, const PetscScalar *inverse, Vec b, Vec x)
{
  const HJBackendOps *ops = level->op->ops;
  const PetscInt      n   = (PetscInt)HJBoxSize(&level->op->grid.owned);
  HJVecArray          ba, xa;

  PetscFunctionBegin;
  PetscCall(HJVecOpen(ops, NULL, HJ_READ, b, NULL, &ba));
  PetscCall(HJVecOpen(ops, NULL, HJ_WRITE, x, NULL, &xa));
  PetscCall(ops->multigrid->multiply_dense(n, inverse, ba.used, xa.used));
  PetscCall(HJVecClose(&xa));
  PetscCall(HJVecClose(&ba));
  PetscCall(HJLogFlops(ops, 2.0 * n * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What each row of the last grid loses of a sum over all that is to be 0: shares that go with the sizes of the diagonal. Equal ones would
   be made large by D^-1 where rows are small, by as much as rows differ */
PetscErrorCode HJMGSetUpShares(PC_HJMG *mg)
{
  const HJMGLevel *level = &mg->level[mg->nlevels - 1];
  PetscReal        most;
  PetscScalar      sum;

  PetscFunctionBegin;
  PetscCall(VecDestroy(&mg->shares));
  if (!mg->constants || mg->inverse || mg->gather) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(level->A, NULL, &mg->shares));
  PetscCall(MatGetDiagonal(level->A, mg->shares));
  PetscCall(VecAbs(mg->shares));
  PetscCall(VecMax(mg->shares, NULL, &most));
  if (most > 0.0) PetscCall(VecScale(mg->shares, 1.0 / most)); /* its sum may pass the range of numbers */
  else PetscCall(VecSet(mg->shares, 1.0));
  PetscCall(VecSum(mg->shares, &sum));
  PetscCall(VecScale(mg->shares, 1.0 / sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What b and x have of the constants is taken out where they are in the null space, of x by the transpose of what does so to b. Of an
   unsymmetric matrix they are in that of its rows alone: what its columns leave out of b is another vector */
PetscErrorCode HJMGSolveCoarsest(PC_HJMG *mg, PetscBool transposed, PetscBool zero, const HJPlanned *planned, Vec b, Vec x)
{
  HJMGLevel      *level     = &mg->level[mg->nlevels - 1];
  HJOperator     *op        = transposed ? level->opt : level->op;
  const PetscBool symmetric = (PetscBool)(level->skew <= HJ_MG_SKEW);
  PetscScalar     sum;

  PetscFunctionBegin;
  if (mg->factor) {
    PetscCall(MatSolve(mg->factor, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (mg->inverse) {
    PetscCall(HJMGMultiplyInverse(level, transposed && mg->inverse_transposed ? mg->inverse_transposed : mg->inverse, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!mg->constants) {
    PetscCall(HJOperatorRun(op, &level->w, &(HJRun){.its = 1, .zero = zero, .b = b, .x = x, .planned = planned}));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecCopy(b, level->r));
  if (symmetric || transposed) {
    PetscCall(VecSum(b, &sum));
    PetscCall(VecAXPY(level->r, -sum, mg->shares));
  }
  PetscCall(HJOperatorRun(op, &level->w, &(HJRun){.its = 1, .zero = zero, .b = level->r, .x = x, .planned = planned}));
  if (symmetric || !transposed) {
    PetscCall(VecDot(x, mg->shares, &sum));
    PetscCall(VecShift(x, -sum));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

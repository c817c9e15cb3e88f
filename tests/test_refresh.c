/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 */
/*
   New values in a matrix that was set up before: from one distinct row to 255, 256, 257 and back, on grids that the CUDA backend keeps on
   chip and on ones that it streams. The number of rows decides which kernel runs, and how its tables are numbered.
*/
#include "pc/hjpc.h"
#include "hjproblem.h"

/* Number of a point among those inside the grid */
static PetscInt Inner(const PetscInt N[3], PetscInt i, PetscInt j, PetscInt k)
{
  return i - 1 + (N[0] - 2) * (j - (N[1] > 1) + (N[1] > 1 ? N[1] - 2 : 1) * (k - (N[2] > 1)));
}

/* The diagonal has so many values inside the grid; rows of the domain's boundary are those inside, but for what leads out */
static PetscErrorCode Fill(DM da, PetscInt nrows, PetscBool box, Mat A)
{
  PetscInt dim, N[3], s[3], w[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &dim, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  PetscCall(MatZeroEntries(A));
  for (PetscInt k = s[2]; k < s[2] + w[2]; k++) {
    for (PetscInt j = s[1]; j < s[1] + w[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + w[0]; i++) {
        MatStencil  row = {.i = i, .j = j, .k = k}, col[27];
        PetscScalar v[27];
        PetscInt    n      = 0;
        PetscBool   inside = PETSC_TRUE;

        for (PetscInt o = 0; o < 27; o++) {
          const PetscInt p[3] = {i + o % 3 - 1, j + o / 3 % 3 - 1, k + o / 9 - 1},
                         far  = PetscAbs(p[0] - i) + PetscAbs(p[1] - j) + PetscAbs(p[2] - k);
          PetscBool out       = PETSC_FALSE;

          if (!far || (!box && far > 1) || (dim < 3 && p[2] != k) || (dim < 2 && p[1] != j)) continue;
          for (PetscInt d = 0; d < dim; d++) out = (PetscBool)(out || p[d] < 0 || p[d] >= N[d]);
          if (out) inside = PETSC_FALSE;
          else {
            col[n] = (MatStencil){.i = p[0], .j = p[1], .k = p[2]};
            v[n++] = -1.0 / far;
          }
        }
        col[n] = row;
        v[n++] = (box ? 2 * dim + 8 : 2 * dim) + (inside ? 0.01 * (Inner(N, i, j, k) % nrows) : 0.0);
        PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One cycle from zero, and two from a guess, as the definition has them */
static PetscErrorCode Right(PC pc, DM da, Mat A, PetscBool *right, PetscReal *diff)
{
  Vec                         b, x, y, w;
  PetscInt                    k, its;
  const PetscReal            *weights;
  PetscBool                   agree = PETSC_FALSE;
  PetscReal                   difference;
  PCRichardsonConvergedReason reason;

  PetscFunctionBegin;
  *right = PETSC_TRUE;
  *diff  = 0;
  PetscCall(ProblemVectors(da, &b, &x, &y, &w));
  PetscCall(ProblemVector(da, 1, b));
  for (int guess = 0; guess < 2; guess++) {
    PetscCall(ProblemVector(da, 2, x));
    PetscCall(VecCopy(x, y));
    if (!guess) PetscCall(VecSet(y, 0.0));
    if (guess) PetscCall(PCApplyRichardson(pc, b, x, w, 0, 0, 0, 2, PETSC_FALSE, &its, &reason));
    else PetscCall(PCApply(pc, b, x));
    PetscCall(PCHJacobiGetWeights(pc, &k, &weights));
    PetscCall(NaiveCycles(A, 1 + guess, k, weights, b, y));
    PetscCall(VecsAgree(x, y, 64 * PETSC_MACHINE_EPSILON * 4 * k * k, &agree, &difference));
    *right = (PetscBool)(*right && agree);
    *diff  = PetscMax(*diff, difference);
  }
  PetscCall(HJTestDestroy(&b, &x, &y, &w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Box stencils take a short list: filling the matrix takes the time */
static PetscErrorCode TestRows(const Problem *p, PetscInt k)
{
  const PetscInt   all[] = {1, 255, 256, 2, 256, 257, 1}, few[] = {1, 256, 257}, *rows = p->box ? few : all;
  DM               da;
  Mat              A;
  PC               pc;
  PetscBool        right, arrays = PETSC_FALSE;
  PetscReal        diff;
  const HJStencil *st;

  PetscFunctionBegin;
  PetscCall(ProblemStrips(p->dim, PETSC_TRUE));
  PetscCall(ProblemDM(p, &da));
  PetscCall(ProblemStrips(p->dim, PETSC_FALSE));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Fill(da, 1, p->box, A));
  PetscCall(ProblemPC(da, A, PCHJACOBI, &pc));
  PetscCall(PCHJacobiSetK(pc, k));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  for (size_t i = 0; i < (p->box ? PETSC_STATIC_ARRAY_LENGTH(few) : PETSC_STATIC_ARRAY_LENGTH(all)); i++) {
    const HJOperator *op = ((PC_HJacobi *)pc->data)->op;

    if (i) PetscCall(Fill(da, rows[i], p->box, A));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetUp(pc));
    PetscCall(Right(pc, da, A, &right, &diff));
    st     = ((PC_HJacobi *)pc->data)->op->stencil;
    arrays = (PetscBool)(arrays || rows[i] > HJ_MAX_ROWS); /* a stencil of arrays takes all values that come */
    right  = (PetscBool)(right && (arrays ? st->storage != HJ_DICTIONARY : st->storage == HJ_DICTIONARY && st->nrows == rows[i]));
    right  = (PetscBool)(right && (rows[i] == 257 || ((PC_HJacobi *)pc->data)->op == op));
    PetscCall(HJTestOK(right, "%dD %s, %d points in x, k = %d: refreshed to %d distinct rows (%g)", (int)p->dim, p->box ? "box" : "star",
                       (int)p->n[0], (int)k, (int)rows[i], (double)diff));
  }
  PetscCall(HJTestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The table of the backend in use, but that it can do less once it has new values */
static const HJBackendOps *right_ops;
static HJBackendOps        other;
static PetscBool           refreshed;

static PetscErrorCode NotedRefresh(void *ctx, const HJStencil *st)
{
  PetscFunctionBegin;
  refreshed = PETSC_TRUE;
  PetscCall(right_ops->refresh(ctx, st));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LowerLimits(void *ctx, HJLimits *limits)
{
  PetscFunctionBegin;
  PetscCall(right_ops->limits(ctx, limits));
  if (!refreshed) PetscFunctionReturn(PETSC_SUCCESS);
  limits->max_count = limits->best_count = 2;
  limits->slab[0] = limits->slab[1] = 5;
  limits->ghosts                    = PETSC_FALSE;
  limits->copies                    = PETSC_FALSE;
  limits->in_place                  = PetscMin(limits->in_place, 2);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PC on strips, set up, whose backend has these limits from now on */
static PetscErrorCode SetUpStrips(const Problem *p, PetscInt k, PetscErrorCode (*limits)(void *, HJLimits *), DM *da, Mat *A, PC *pc)
{
  HJOperator *op;

  PetscFunctionBegin;
  PetscCall(ProblemStrips(2, PETSC_TRUE));
  PetscCall(ProblemCreate(p, da, A));
  PetscCall(ProblemStrips(2, PETSC_FALSE));
  PetscCall(ProblemPC(*da, *A, PCHJACOBI, pc));
  PetscCall(PCHJacobiSetK(*pc, k));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCSetUp(*pc));
  op            = ((PC_HJacobi *)(*pc)->data)->op;
  right_ops     = op->ops;
  other         = *right_ops;
  other.refresh = NotedRefresh;
  other.limits  = limits;
  op->ops       = &other;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, set up */
static PetscErrorCode FillAgain(const Problem *p, DM da, Mat A, PC pc)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  PetscCall(ProblemFill(p, da, 1, A));
  PetscCall(PCSetUp(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A backend that takes another kernel for the new values is asked for its limits again, and regions are cut for those */
static PetscErrorCode TestLimits(void)
{
  const Problem p = {2, {60, 50, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM            da;
  Mat           A;
  PC            pc;
  HJOperator   *op;
  PetscBool     right, ghosts, kept = PETSC_FALSE;
  PetscReal     diff;
  PetscMPIInt   size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(SetUpStrips(&p, 2, LowerLimits, &da, &A, &pc));
  op     = ((PC_HJacobi *)pc->data)->op;
  ghosts = op->frames->regions.ghosts;
  PetscCall(FillAgain(&p, da, A, pc));
  PetscCall(Right(pc, da, A, &right, &diff));
  PetscCall(HJTestOK((PetscBool)(right && ((PC_HJacobi *)pc->data)->op == op && op->limits.max_count == 2 && op->limits.slab[0] == 5),
                     "new values: the backend is asked for its limits again (%g)", (double)diff));
  for (HJFrames f = op->frames; f; f = f->next) kept = (PetscBool)(kept || f->regions.ghosts);
  PetscCall(
    HJTestOK((PetscBool)(!kept && (size == 1 || PetscMemTypeDevice(other.mtype) || ghosts)), "... and regions are cut for the new ones"));
  PetscCall(HJTestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AnyIsLarge(void *ctx, HJLimits *limits)
{
  PetscFunctionBegin;
  PetscCall(right_ops->limits(ctx, limits));
  limits->large = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Strips whose last pass writes to x itself, as it does on a GPU where they are large, while the halo comes in arrays of its own */
static PetscErrorCode TestInPlace(const Problem *p)
{
  DM          da;
  Mat         A;
  PC          pc;
  HJOperator *op;
  HJLimits    limits;
  PetscBool   right;
  PetscReal   diff;

  PetscFunctionBegin;
  PetscCall(SetUpStrips(p, 3, AnyIsLarge, &da, &A, &pc));
  op = ((PC_HJacobi *)pc->data)->op;
  PetscCall(right_ops->limits(op->backend, &limits));
  PetscCall(FillAgain(p, da, A, pc));
  PetscCall(Right(pc, da, A, &right, &diff));
  PetscCall(
    HJTestOK((PetscBool)(right && op->limits.in_place == limits.in_place && (PetscMemTypeHost(other.mtype) || limits.in_place >= 6)),
             "strips, sweeps of up to %d in place (%g)", (int)limits.in_place, (double)diff));
  PetscCall(HJTestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What becomes of a matrix whose arrays cycles may read where they are */
typedef enum {
  FILLED,
  FILLED_AGAIN, /* with the preconditioner used again */
  ON_HOST,
  BACK,
  BY_ARRAY,
  ONE_ROW,
  ARRAYS_AGAIN,
  ANOTHER, /* with the preconditioner used again */
  NCHANGES
} Change;
static const char *const changes[] = {"filled",  "filled again, used again", "bound to the CPU",          "back on the GPU", "an array",
                                      "one row", "filled from one row",      "another matrix, used again"};

static PetscErrorCode ChangeMatrix(const Problem *p, Change change, DM da, Vec left, PC pc, Mat *A)
{
  const MatStencil  stencil[] = {{0}, {.i = 1}, {.i = -1}};
  const PetscScalar row[]     = {3.0, -1.0, -1.0};

  PetscFunctionBegin;
  PetscCall(PCSetReusePreconditioner(pc, (PetscBool)(change == FILLED_AGAIN || change == ANOTHER)));
  switch (change) {
  case ON_HOST:
  case BACK:
    PetscCall(MatBindToCPU(*A, (PetscBool)(change == ON_HOST)));
    break;
  case BY_ARRAY: /* one direction's couplings are weaker */
    for (PetscInt o = -1; o < 2; o += 2) {
      PetscInt xs, ys, zs, xm, ym, zm;
      void    *array;

      PetscCall(DMDAGetCorners(da, &xs, &ys, &zs, &xm, &ym, &zm));
      PetscCall(MatHJStencilGetArray(*A, o, 0, 0, &array));
      for (PetscInt k = zs; k < zs + zm; k++) {
        for (PetscInt j = ys; j < ys + ym; j++) {
          PetscScalar *line = p->dim == 3 ? ((PetscScalar ***)array)[k][j] : ((PetscScalar **)array)[j];

          for (PetscInt i = xs; i < xs + xm; i++) line[i] *= 0.5;
        }
      }
      PetscCall(MatHJStencilRestoreArray(*A, o, 0, 0, &array));
    }
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    break;
  case ONE_ROW:
    PetscCall(MatHJStencilSetRow(*A, 3, stencil, row));
    break;
  default:
    if (change == ANOTHER) {
      PetscCall(MatDestroy(A));
      PetscCall(MatCreateHJStencil(da, A));
    } else PetscCall(MatZeroEntries(*A));
    PetscCall(ProblemFill(p, da, change, *A));
    if (left) PetscCall(MatDiagonalScale(*A, left, NULL));
  }
  PetscCall(PCSetOperators(pc, *A, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cycles on the arrays of a stencil matrix are those of its values, whatever happens to it. On a GPU they are its own, of one rank. scaled:
   by rows, so that the matrix is not symmetric */
static PetscErrorCode TestOwnArrays(const Problem *p, PetscBool scaled)
{
  Vec         left = NULL;
  DM          da;
  Mat         A;
  PC          pc;
  PetscMPIInt size;
  PetscBool   gpu;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ProblemDM(p, &da));
  PetscCall(MatCreateHJStencil(da, &A));
  if (scaled) {
    PetscCall(MatCreateVecs(A, NULL, &left));
    PetscCall(ProblemVector(da, 3, left));
    PetscCall(VecShift(left, 2.0));
  }
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetType(pc, PCHJACOBI));
  for (Change c = 0; c < NCHANGES; c++) {
    const HJOperator *op;
    PetscBool         right, own;
    PetscReal         diff;

    PetscCall(ChangeMatrix(p, c, da, left, pc, &A));
    PetscCall(PCSetUp(pc));
    op  = ((PC_HJacobi *)pc->data)->op;
    own = op->stencil->in_place;
    gpu = PetscMemTypeDevice(op->ops->mtype) ? PETSC_TRUE : PETSC_FALSE;
    if (c == FILLED)
      PetscCall(HJTestOK((PetscBool)(own == (gpu && size == 1)), "%" PetscInt_FMT "D%s: %s are read", p->dim, scaled ? ", scaled" : "",
                         own ? "its own arrays" : "copies"));
    if (!own && (c == FILLED_AGAIN || c == ANOTHER)) continue; /* cycles are those of the old values */
    PetscCall(Right(pc, da, A, &right, &diff));
    PetscCall(HJTestOK(right, "%" PetscInt_FMT "D%s, %s: cycles are those of the matrix (%g)", p->dim, scaled ? ", scaled" : "", changes[c],
                       (double)diff));
  }
  PetscCall(HJTestDestroy(&left, &pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Problem own[]      = {{2, {47, 41, 1}, DIRICHLET, VARYING, PETSC_FALSE},
                              {3, {19, 14, 17}, DIRICHLET, VARYING, PETSC_FALSE},
                              {2, {517, 203, 1}, DIRICHLET, VARYING, PETSC_FALSE},
                              {3, {131, 53, 47}, DIRICHLET, VARYING, PETSC_FALSE}};
  const Problem strips     = {2, {1000, 700, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  const Problem problems[] = {{1, {900, 1, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},   {1, {70001, 1, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                              {2, {47, 41, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},   {2, {700, 310, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                              {2, {700, 310, 1}, DIRICHLET, CONSTANT, PETSC_TRUE},  {3, {17, 14, 19}, DIRICHLET, CONSTANT, PETSC_FALSE},
                              {3, {131, 70, 34}, DIRICHLET, CONSTANT, PETSC_FALSE}, {3, {131, 70, 34}, DIRICHLET, CONSTANT, PETSC_TRUE}};

  PetscCall(ProblemInitialize(&argc, &argv));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i++) PetscCall(TestRows(&problems[i], i % 2 ? 4 : 7));
  PetscCall(TestLimits());
  PetscCall(TestInPlace(&strips));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(own); i++)
    for (int scaled = 0; scaled < 2; scaled++) PetscCall(TestOwnArrays(&own[i], (PetscBool)scaled));
  return HJTestEnd();
}

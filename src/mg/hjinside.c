/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Boundary points whose rows are a diagonal alone, in the outermost layers of the finest grid: their unknowns are b / d, and all grids are
   those of the points inside, as if the layers had not been there. Cycles run on the points inside of the user's own vectors, where the
   backend's kernels do all of the finest grid so, else on copies of these. Decides whether that is done; which layers there are is the
   operator room's.
*/
#include "hjmg.h"
#include "operator/hjknown.h"
#include "operator/hjvectors.h"

struct _n_HJMGInside {
  HJKnown             known;
  DM                  da; /* of the whole finest grid */
  HJGrid              grid;
  PetscBool           stencil; /* the matrix itself is a stencil matrix */
  const HJBackendOps *ops;
  const HJArrayOps   *arrays;   /* of the same memory */
  HJKnownPoints       points;   /* known ones of this rank */
  HJMatrixState       read;     /* the matrix whose diagonal they have */
  Vec                 b, x;     /* inside; made when first needed */
  Vec                 whole[2]; /* of the whole grid; NULL where no row inside has entries in columns of known rows */
};

typedef enum { HJ_INSIDE_GATHER, HJ_INSIDE_SCATTER } HJMGInsideWay;

/* Values of the points inside between a vector of the whole grid and one of those inside alone */
static PetscErrorCode HJMGInsideMove(HJMGInside in, HJMGInsideWay way, Vec whole, Vec inside)
{
  const HJBox *owned = &in->grid.owned, *box = &in->known.inside;
  const int    out = way == HJ_INSIDE_SCATTER;
  HJVecArray   w, i;

  PetscFunctionBegin;
  PetscCall(HJVecOpen(in->ops, NULL, out ? HJ_READ_WRITE : HJ_READ, whole, &in->points.stage[0], &w));
  PetscCall(HJVecOpen(in->ops, NULL, out ? HJ_READ : HJ_WRITE, inside, NULL, &i));
  if (out) PetscCall((*in->arrays->part)(sizeof(PetscScalar), box, box, i.used, owned, w.used));
  else PetscCall((*in->arrays->part)(sizeof(PetscScalar), box, owned, w.used, box, i.used));
  PetscCall(HJVecClose(&i));
  PetscCall(HJVecClose(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* value[0] = inverse (b - minus) at known points; minus may be NULL */
static PetscErrorCode HJMGInsideSolveKnown(HJMGInside in, Vec b, Vec minus)
{
  PetscFunctionBegin;
  PetscCall(HJKnownPointsMove(&in->points, PETSC_FALSE, b, in->points.value[0]));
  if (minus) {
    PetscCall(HJKnownPointsMove(&in->points, PETSC_FALSE, minus, in->points.value[1]));
    PetscCall(VecAXPY(in->points.value[0], -1.0, in->points.value[1]));
  }
  PetscCall(VecPointwiseMult(in->points.value[0], in->points.inverse, in->points.value[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGInsideSetKnown(HJMGInside in, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(HJKnownPointsMix(&in->points, 1.0, b, 0.0, x, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pmat's own diagonal at known points: A has the same numbers */
static PetscErrorCode HJMGInsideInvert(PC pc, HJMGInside in, Mat A)
{
  PetscFunctionBegin;
  PetscCall(HJKnownPointsInvert(&in->points, A));
  PetscCall(HJMatrixStateGet(pc->pmat, NULL, PetscObjectStateGet, &in->read));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the preconditioner is used again for a matrix with new values. Residuals of known points have its columns, so their rows are to
   be its own too: of old diagonals and new columns the preconditioner would be as far from both as the values differ, squared */
PetscErrorCode HJMGInsideFollow(PC pc)
{
  HJMGInside in = ((PC_HJMG *)pc->data)->inside;
  PetscBool  current;

  PetscFunctionBegin;
  PetscCall(HJMatrixStateIsCurrent(&in->read, pc->pmat, PetscObjectStateGet, &current));
  if (!current) PetscCall(HJMGInsideInvert(pc, in, pc->pmat));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGInsideFind(Mat A, const HJArrayOps *arrays, const HJGrid *grid, HJKnown *known)
{
  const HJCoefficients *c;

  PetscFunctionBegin;
  PetscCall(HJCoefficientsIn(A, arrays->backend->mtype, &c));
  PetscCall(HJKnownFind(PetscObjectComm((PetscObject)A), arrays, grid, c, known));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of the points inside, of the known ones, and of the whole grid, where the matrices lie */
static PetscErrorCode HJMGInsideCreateVecs(HJMGInside in, Mat whole, Mat inside)
{
  VecType type;

  PetscFunctionBegin;
  for (int i = 0; i < 2 && in->known.kept; i++) PetscCall(MatCreateVecs(whole, NULL, &in->whole[i]));
  PetscCall(MatGetVecType(inside, &type));
  PetscCall(HJKnownPointsCreate(PetscObjectComm((PetscObject)whole), &in->known, in->arrays, &in->grid.owned, type, &in->points));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGLeaveKnownRows(PC pc, const HJBackendOps *ops)
{
  PC_HJMG          *mg     = (PC_HJMG *)pc->data;
  HJMGLevel        *level  = &mg->level[0];
  const HJArrayOps *arrays = HJArraysIn(ops->mtype);
  MatNullSpace      null;
  HJMGInside        in;
  HJGrid            grid;
  HJKnown           known;
  VecType           vectype;
  Mat               A = NULL;

  PetscFunctionBegin;
  PetscCall(MatGetNullSpace(pc->pmat, &null)); /* vectors of the whole grid */
  if (null || mg->on_fewer_ranks || !arrays) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJGridCreate(level->da, &grid));
  PetscCall(HJMGInsideFind(level->A, arrays, &grid, &known));
  if (!known.any) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&in));
  mg->inside  = in;
  in->known   = known;
  in->grid    = grid;
  in->da      = level->da;
  in->ops     = ops;
  in->arrays  = arrays;
  in->stencil = (PetscBool)!mg->converted;
  level->da   = NULL;
  PetscCall(DMGetVecType(in->da, &vectype));
  PetscCall(HJKnownCreateDM(&in->known, in->da, &level->da));
  PetscCall(HJMGSetUpDM(in->da, vectype, level->da));
  PetscCall(HJMatCreateInside(level->A, &in->known, level->da, &A));
  PetscCall(HJMGInsideCreateVecs(in, level->A, A));
  PetscCall(HJMGInsideInvert(pc, in, level->A));
  PetscCall(MatDestroy(&level->A));
  level->A      = A;
  mg->converted = PETSC_TRUE;
  PetscCall(PetscInfo(pc, "The outermost layers of the grid are rows of the diagonal alone: cycles are those of the points inside\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGInsideRefresh(PC pc, PetscBool *same)
{
  PC_HJMG   *mg = (PC_HJMG *)pc->data;
  HJMGInside in = mg->inside;
  HJKnown    known;
  Mat        A = NULL;
  char       why[512];

  PetscFunctionBegin;
  *same = PETSC_FALSE;
  if (in->stencil) {
    PetscCall(PetscObjectReference((PetscObject)pc->pmat));
    A = pc->pmat;
  } else PetscCall(HJMatReadAIJ(pc->pmat, in->da, &A, why, sizeof(why)));
  if (!A) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGInsideFind(A, in->arrays, &in->grid, &known));
  *same = HJKnownSame(&known, &in->known);
  if (*same) {
    PetscCall(HJMGInsideInvert(pc, in, A));
    PetscCall(HJMatCreateInside(A, &in->known, mg->level[0].da, &mg->level[0].A));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGInsideDestroy(HJMGInside *inp)
{
  HJMGInside in = *inp;

  PetscFunctionBegin;
  if (!in) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJKnownPointsDestroy(&in->points));
  PetscCall(VecDestroy(&in->b));
  PetscCall(VecDestroy(&in->x));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&in->whole[i]));
  PetscCall(DMDestroy(&in->da));
  PetscCall(PetscFree(*inp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGInsideDiffers(HJMGInside in, Vec b, Vec x, PetscBool *differs)
{
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(HJMGInsideSolveKnown(in, b, NULL));
  if (x) {
    PetscCall(HJKnownPointsMove(&in->points, PETSC_FALSE, x, in->points.value[1]));
    PetscCall(VecAXPY(in->points.value[0], -1.0, in->points.value[1]));
  }
  PetscCall(VecNorm(in->points.value[0], NORM_1, &norm));
  *differs = (PetscBool) !(norm == 0.0); /* also where it is none */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGInsidePlace(PC pc, PetscBool zero, PetscBool all)
{
  PC_HJMG         *mg = (PC_HJMG *)pc->data;
  const HJMGInside in = mg->inside;

  PetscFunctionBegin;
  mg->placed     = (PetscBool)(in && zero && !mg->scale && !mg->mask && mg->level[0].op->ops == in->ops);
  mg->all_placed = (PetscBool)(mg->placed && all);
  if (!mg->placed) PetscCall(VecDestroy(&mg->other));
  if (!mg->placed) PetscFunctionReturn(PETSC_SUCCESS);
  mg->lies = HJKnownLies(&in->known, &in->grid);
  if (!mg->other) PetscCall(MatCreateVecs(pc->pmat, NULL, &mg->other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGInsideServes(HJMGInside in, Vec b, Vec x, PetscBool zero, PetscBool *serves)
{
  PetscFunctionBegin;
  *serves = PETSC_TRUE;
  if (!in->known.kept) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJKnownPointsAskZero(&in->points, b, zero ? NULL : x));
  PetscCall(HJKnownPointsAreZero(&in->points, serves));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGInsideEnter(PC pc, PetscBool transposed, PetscBool zero, Vec b, Vec x, Vec *inner_b, Vec *inner_x)
{
  const PC_HJMG *mg   = (PC_HJMG *)pc->data;
  HJMGInside     in   = mg->inside;
  PetscBool      some = PETSC_FALSE;

  PetscFunctionBegin;
  if (!in->b) PetscCall(MatCreateVecs(mg->level[0].A, &in->x, &in->b));
  *inner_b = in->b;
  *inner_x = in->x;
  if (in->known.kept && !transposed) PetscCall(HJMGInsideDiffers(in, b, NULL, &some));
  if (some) { /* the residual of what is known, and zeros inside */
    PetscCall(VecSet(in->whole[0], 0.0));
    PetscCall(HJKnownPointsMove(&in->points, PETSC_TRUE, in->whole[0], in->points.value[0]));
    PetscCall(MatResidual(pc->pmat, b, in->whole[0], in->whole[1]));
  }
  PetscCall(HJMGInsideMove(in, HJ_INSIDE_GATHER, some ? in->whole[1] : b, in->b));
  if (!zero) PetscCall(HJMGInsideMove(in, HJ_INSIDE_GATHER, x, in->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The transpose gives known points what the columns of their rows ask for */
PetscErrorCode HJMGInsideLeave(PC pc, PetscBool transposed, Vec b, Vec x)
{
  HJMGInside      in    = ((PC_HJMG *)pc->data)->inside;
  const PetscBool minus = (PetscBool)(transposed && in->known.kept);

  PetscFunctionBegin;
  if (minus) {
    PetscCall(VecSet(in->whole[0], 0.0));
    PetscCall(HJMGInsideMove(in, HJ_INSIDE_SCATTER, in->whole[0], in->x));
    PetscCall(MatMultTranspose(pc->pmat, in->whole[0], in->whole[1]));
  }
  PetscCall(HJMGInsideSolveKnown(in, b, minus ? in->whole[1] : NULL));
  PetscCall(HJKnownPointsMove(&in->points, PETSC_TRUE, x, in->points.value[0]));
  PetscCall(HJMGInsideMove(in, HJ_INSIDE_SCATTER, x, in->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJMGIsCopied(const PC_HJMG *mg)
{
  return (PetscBool)(mg->converted_above || (mg->converted && !(mg->inside && mg->inside->stencil)));
}

PetscReal HJMGInsideBytes(const HJMGInside in)
{
  const PetscReal owned = (PetscReal)HJBoxSize(&in->grid.owned), inside = (PetscReal)HJBoxSize(&in->known.inside);

  return (PetscReal)in->points.n * (sizeof(PetscCount) + sizeof(PetscScalar)) +
         sizeof(PetscScalar) * ((PetscReal)in->points.n * 2 + (in->b ? 2 * inside : 0) + (in->known.kept ? 2 * owned : 0));
}

PetscErrorCode HJMGInsideView(const PC_HJMG *mg, PetscViewer viewer)
{
  PetscInt n[2][3], known;

  PetscFunctionBegin;
  if (!mg->inside) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    n[0][d] = mg->inside->grid.N[d];
    n[1][d] = n[0][d] - mg->inside->known.layers[d][0] - mg->inside->known.layers[d][1];
  }
  known = n[0][0] * n[0][1] * n[0][2] - n[1][0] * n[1][1] * n[1][2];
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "%" PetscInt_FMT
                                   " rows in the outermost layers are a diagonal alone, columns %s: the grids are those of "
                                   "the points inside%s\n",
                                   known, mg->inside->known.kept ? "kept" : "dropped",
                                   mg->all_placed ? ", and cycles run there"
                                   : mg->placed   ? ", and cycles from zero run there"
                                                  : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Cycles of a matrix whose outermost layers have rows of the diagonal alone, and all other points one row, or arrays that are symmetric but
   for columns of those: kernels of one row, or of half the arrays, do the points inside, on the user's own vectors. What the cycles make of
   the known points' unknowns depends on these alone, and is had at once; where rows inside have their columns, they must be 0 from
   beginning to end: cycles from zero on a device are started before that is known, and are done again, by all rows, where it is not so.
   Decides where that is done.
*/
#include "hjpc.h"
#include "operator/hjknown.h"
#include "operator/hjvectors.h"

/*
   Where rows inside have columns of known ones: points of a device's grid on which cycles take longer than to learn whether these are 0, so
   that nothing waits where they start from zero (H200, k = 4 and 8: 4097² takes 1.10 and 1.08 of the time of the points inside, 257³ 1.15
   and 1.04; by all rows 1.30 and 1.42, 1.51 and 1.18); and of one on which waiting for that first takes less time than kernels of several
   rows (not measured)
*/
#define HJ_INNER_KEPT   2000000
#define HJ_INNER_WAITED 8000000

struct _n_HJInner {
  HJOperator   *op;      /* of the points inside */
  HJPlanned     planned; /* one cycle from zero */
  HJKnown       known;
  HJKnownPoints points;
  HJBox         lies; /* points of the vectors, in coordinates of those inside */
};

/* Whether it pays to leave known points out. Where no columns are kept arrays are symmetric already, or not inside either; sweeps of arrays
   on a device do not take vectors of more points in 3D */
static PetscBool HJInnerPays(const HJKnown *known, const HJOperator *whole)
{
  const PetscBool host = (PetscBool)PetscMemTypeHost(whole->ops->mtype);

  if (!known->any) return PETSC_FALSE;
  if (whole->stencil->storage != HJ_DICTIONARY && (!known->kept || (whole->grid.dim > 2 && !host))) return PETSC_FALSE;
  return (PetscBool)(!known->kept || host || HJBoxSize(&whole->grid.owned) >= HJ_INNER_KEPT);
}

/* Whether the points inside have one row, or symmetric arrays */
static PetscErrorCode HJInnerIsBetter(const HJOperator *whole, const HJCoefficients *c, const HJBox *inside, PetscBool *is)
{
  const PetscInt n[3] = {HJBoxWidth(inside, 0), HJBoxWidth(inside, 1), HJBoxWidth(inside, 2)};

  PetscFunctionBegin;
  *is = (PetscBool)(c->storage == HJ_COEFFICIENTS_ROW || c->half || c->symmetric);
  if (!*is && c->storage == HJ_COEFFICIENTS_ARRAYS) PetscCall(HJArraysIn(whole->ops->mtype)->symmetric(c, n, 0.0, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator of the points inside; NULL where they are no better */
static PetscErrorCode HJInnerMakeOperator(HJInner in, Mat A, const HJOperator *whole)
{
  const HJCoefficients *c;
  PetscInt              tile[3] = {0, 0, 0};
  PetscBool             better, placed;
  char                  why[512];
  DM                    da;
  Mat                   B = NULL;

  PetscFunctionBegin;
  PetscCall(HJKnownCreateDM(&in->known, whole->da, &da));
  PetscCall(DMSetUp(da));
  PetscCall(HJMatCreateInside(A, &in->known, da, &B));
  PetscCall(HJCoefficientsIn(B, whole->ops->mtype, &c));
  PetscCall(HJInnerIsBetter(whole, c, &in->known.inside, &better));
  if (better) PetscCall(HJOperatorCreate(B, da, PETSC_DECIDE, tile, whole->ops, whole->halo_ops, &in->op, why, sizeof(why)));
  PetscCall(MatDestroy(&B));
  PetscCall(DMDestroy(&da));
  if (!in->op) PetscFunctionReturn(PETSC_SUCCESS);
  in->lies = HJKnownLies(&in->known, &whole->grid);
  PetscCall(HJOperatorPlace(in->op, &in->lies, &placed));
  if (!placed) PetscCall(HJOperatorDestroy(&in->op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether cycles of an operator might be of fewer points: a grid of one rank with more than one row, or with all arrays, whose vectors are
   where they run */
static PetscErrorCode HJInnerMayBe(Mat A, const HJOperator *whole, PetscBool *may)
{
  const HJStencil *st = whole->stencil;
  Vec              v;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATHJSTENCIL, may));
  *may = (PetscBool)(*may && whole->overlap < 0 && !whole->slabs && !HJGridHasNeighbors(&whole->grid) && HJArraysIn(whole->ops->mtype));
  if (st->dof > 1 || st->dim < 2 || st->storage == HJ_SYMMETRIC || (st->storage == HJ_DICTIONARY && st->nrows == 1)) *may = PETSC_FALSE;
  if (!*may) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(A, NULL, &v));
  PetscCall(HJVecsAreIn(whole->ops, v, v, may));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJInnerCreate(Mat A, const HJOperator *whole, HJWeights *w, HJInner *inner)
{
  const HJArrayOps     *arrays = HJArraysIn(whole->ops->mtype);
  const MPI_Comm        comm   = PetscObjectComm((PetscObject)A);
  const HJCoefficients *c;
  HJInner               in;
  VecType               type;
  PetscBool             may;

  PetscFunctionBegin;
  *inner = NULL;
  PetscCall(HJInnerMayBe(A, whole, &may));
  if (!may) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&in));
  PetscCall(HJCoefficientsIn(A, whole->ops->mtype, &c));
  PetscCall(HJKnownFind(comm, arrays, &whole->grid, c, &in->known));
  if (HJInnerPays(&in->known, whole)) PetscCall(HJInnerMakeOperator(in, A, whole));
  if (!in->op) {
    PetscCall(PetscFree(in));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  *inner = in;
  PetscCall(MatGetVecType(A, &type));
  PetscCall(HJKnownPointsCreate(comm, &in->known, arrays, &whole->grid.owned, type, &in->points));
  PetscCall(HJKnownPointsInvert(&in->points, A));
  PetscCall(HJOperatorPlanRun(in->op, w, 1, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, &in->planned));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJInnerDestroy(HJInner *inner)
{
  HJInner in = *inner;

  PetscFunctionBegin;
  if (!in) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJKnownPointsDestroy(&in->points));
  PetscCall(HJOperatorDestroy(&in->op));
  PetscCall(PetscFree(*inner));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Known points after its cycles: a subiteration takes the share w of the way to b / d. From x those of the other array of the passes too,
   from which the result may be copied */
static PetscErrorCode HJInnerSetKnown(HJInner in, const HJWeights *w, PetscInt its, PetscBool zero, Vec b, Vec x)
{
  PetscReal left = 1.0, cycle = 1.0;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < w->k; j++) cycle *= 1.0 - w->w[j];
  for (PetscInt i = 0; i < its; i++) left *= cycle;
  PetscCall(HJKnownPointsMix(&in->points, 1.0 - left, b, zero ? 0.0 : left, x, zero ? NULL : in->op->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJInnerRun(HJInner in, HJWeights *w, PetscInt its, PetscBool zero, Vec b, Vec x, PetscBool *done)
{
  const PetscBool device = (PetscBool)PetscMemTypeDevice(in->op->ops->mtype), kept = in->known.kept;
  const PetscBool ahead = (PetscBool)(kept && device && zero), waits = (PetscBool)(kept && !ahead);
  HJRun           run = {.its = its, .zero = zero, .b = b, .x = x, .lies = &in->lies, .planned = its == 1 && zero ? &in->planned : NULL};

  PetscFunctionBegin;
  PetscCall(HJVecsAreIn(in->op->ops, b, x, done));
  if (waits && device && HJBoxSize(&in->lies) < HJ_INNER_WAITED) *done = PETSC_FALSE;
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  if (kept) PetscCall(HJKnownPointsAskZero(&in->points, b, zero ? NULL : x));
  if (waits) PetscCall(HJKnownPointsAreZero(&in->points, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJInnerSetKnown(in, w, its, zero, b, x));
  PetscCall(HJOperatorRun(in->op, w, &run));
  if (ahead) PetscCall(HJKnownPointsAreZero(&in->points, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJInnerView(const HJInner in, PetscViewer viewer)
{
  const HJOperator *op = in->op;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "%" PetscCount_FMT
                                   " rows in the outermost layers are a diagonal alone, columns %s: where their unknowns are had at "
                                   "once, cycles are of the points inside, kernels: %s\n",
                                   in->points.n, in->known.kept ? "kept" : "dropped", op->ops->kernels(op->backend, NULL)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

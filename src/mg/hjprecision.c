/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Cycles in single precision. Decides where they serve, and when the double ones take their place.

   A cycle is a list of steps that set-up has made, run on levels of float (operator/hjrounded.h) for a right-hand side that is
   scaled to 1 and rounded. The finest residual, its norm and the solution are double, and so is what solves the coarsest grid or is handed
   to fewer ranks. Coarse operators and interpolations were made in double and are rounded once. Which type an array has is said by the
   backend that it belongs to (core/hjcore.h); levels, operators, steps and weights know nothing of it.
*/
#include "hjmg.h"

/* Diagonals of a level that differ by more: rounding of the large couplings is then as much as the small ones. Jumps of 1e6 take at most 2
   iterations more of CG than in double, which auto does not spend */
#define HJ_MG_SINGLE_CONTRAST      1e7
#define HJ_MG_SINGLE_AUTO_CONTRAST 1e4

/* Points of the finest grid from which on a GPU gains by single: CG takes 0.91 of the time at 129^3, 0.84 at 193^3 (H100) */
#define HJ_MG_SINGLE_POINTS 4000000.0
/* Those of a rank from which on a CPU does: 65^2 and 17^3 take 0.82 to 0.94 of the time, 33^2 and 9^3 0.97 to 1.13 (EPYC, AVX-512) */
#define HJ_MG_SINGLE_HOST_POINTS 4000.0
/* What rounding a correction may add to the residual that a cycle leaves, as a share of the one before it: cycles leave 0.02. At 0.01
   (1025^2, smooth) CG may take 5 iterations for 4; at 0.07 (2049^2, one row) a solver takes 6 cycles for 5 */
#define HJ_MG_SINGLE_ROUNDING 3e-3
#define HJ_MG_SINGLE_EPSILON  6e-8

struct _n_HJMGSingle {
  PetscInt   nlevels;
  HJRounded  level[HJ_MG_MAX_LEVELS];
  PetscReal *seen; /* of right-hand sides, see HJSingleOps; NULL on the host */
};

static const HJSingleOps *HJMGSingleOps(const PC_HJMG *mg)
{
  return mg->level[0].op->ops->in_single->single;
}

PetscBool HJMGIsSingle(const PC_HJMG *mg)
{
  return (PetscBool)(mg->single && mg->flexible);
}

/* Those that compute the residual, or the product with each direction, of what they add to the solution. Others combine vectors that they
   take for products with one and the same preconditioner, and would stop at a residual that is not there */
PetscErrorCode HJMGSingleSuits(const PC_HJMG *mg, KSP ksp, PetscBool *suits)
{
  const PetscObject o = (PetscObject)ksp;

  PetscFunctionBegin;
  if (mg->precision == PC_HJMG_PRECISION_AUTO && mg->nlevels && PetscMemTypeDevice(mg->level[0].op->ops->mtype))
    PetscCall(PetscObjectTypeCompareAny(o, suits, KSPCG, KSPHJCG, "")); /* see HJMGSingleGains() */
  else PetscCall(PetscObjectTypeCompareAny(o, suits, KSPRICHARDSON, KSPHJRICHARDSON, KSPCG, KSPHJCG, KSPFCG, KSPFGMRES, KSPGCR, ""));
  *suits = (PetscBool)(*suits && ksp->normtype != KSP_NORM_NONE); /* else it may be a part of another's preconditioner */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A power of 2, which rounds nothing, that makes numbers at most 1 */
static PetscReal HJMGSingleScale(PetscReal largest)
{
  int exponent;

  (void)frexp(largest, &exponent);
  return ldexp(1.0, -exponent);
}

/* Whether it and its inverse are numbers */
static PetscBool HJMGSingleScales(PetscReal largest)
{
  return (PetscBool)(largest > 1e-290 && largest < 1e290);
}

/*
   Whether single precision is quicker. On a CPU a solver takes 0.60 to 0.75 of the time, CG 0.67 to 0.89 (65^3 to 129^3, 257^2 to 1025^2).
   On a GPU CG gains, with arrays of 7 points: at 257^3 that takes 0.80 of the time on an H100, 0.90 on an H200. A solver by cycles alone
   takes 0.82 and 1.03, with one row 1.02, at 4097^2 1.25: beside the residual in double, for which x and b are read and x is written, as
   many bytes are moved as in its cycle in double, which makes that residual on its way. Collective
*/
static PetscErrorCode HJMGSingleGains(PC pc, PetscBool *gains)
{
  const PC_HJMG   *mg    = (const PC_HJMG *)pc->data;
  const HJMGLevel *level = &mg->level[0];
  PetscMPIInt      size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  if (PetscMemTypeHost(level->op->ops->mtype)) *gains = (PetscBool)(HJMGPoints(level) >= HJ_MG_SINGLE_HOST_POINTS * size);
  else
    *gains = (PetscBool)(level->op->grid.dim == 3 && level->op->stencil->storage != HJ_DICTIONARY &&
                         HJMGPoints(level) >= HJ_MG_SINGLE_POINTS);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Why no cycle of these levels can be in a lower precision than PETSc's; NULL: they can */
static const char *HJMGSingleLacks(const PC_HJMG *mg)
{
  if (PetscDefined(USE_REAL_SINGLE)) return "PETSc has no other";
  if (mg->precision == PC_HJMG_PRECISION_DOUBLE) return "asked for";
  if (!mg->level[0].op->ops->in_single) return "the backend has no kernels for single yet";
  if (mg->on_fewer_ranks) return "the level comes from more ranks";
  if (mg->nlevels < 2) return "there is one level";
  for (const HJMGLevel *level = mg->level; level < mg->level + mg->nlevels - 1; level++) {
    if (level->lines) return "a level is smoothed by lines";
    if (level->R) return "restriction is not the transpose of interpolation";
  }
  return NULL;
}

/* The same of a device */
static PetscErrorCode HJMGSingleDeviceLacks(const PC_HJMG *mg, const char **why)
{
  const HJBackendOps   *ops = mg->level[0].op->ops;
  const HJCoefficients *a;

  PetscFunctionBegin;
  *why = NULL;
  if (PetscMemTypeHost(ops->mtype)) PetscFunctionReturn(PETSC_SUCCESS);
  for (const HJMGLevel *level = mg->level; level < mg->level + mg->nlevels; level++) {
    const HJStencil *st = level->op->stencil;

    if (st->dof > 1) *why = "there are several unknowns a point, on a GPU";
    else if (HJGridHasNeighbors(&level->op->grid)) *why = "values travel between ranks or periodic ends, on a GPU";
    else if (st->storage != HJ_DICTIONARY && PetscMemTypeHost(st->mtype)) *why = "the matrix lies on the host";
    if (*why) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall((*mg->seen.get_coefficients)(mg->level[0].A, ops->mtype, &a));
  if (!ops->in_single->single->advances(a, &mg->level[0].op->grid)) *why = "the finest matrix is no star, on a GPU";
  else if (PetscMemTypeHost(mg->seen.lives)) *why = "products with the finest matrix are done on the CPU, to which it is bound";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   What rounding a correction adds to the residual: epsilon |D| |x|, of the x that a rough right-hand side has, as a share of that. The
   coarsest grid, or what fewer ranks make of it, says how large x is; there the share is smaller by the squares of the distances of points
*/
static PetscErrorCode HJMGSingleRounding(PC_HJMG *mg, PetscReal *share)
{
  const HJMGLevel *level = &mg->level[mg->nlevels - 1];
  PetscReal        norm[2];

  PetscFunctionBegin;
  PetscCall(HJMGFillRough(level->op->ops, level->b));
  if (mg->constants) PetscCall(MatNullSpaceRemove(mg->constants, level->b));
  if (mg->gather) PetscCall(HJMGGatherApply(mg->gather, HJ_MG_APPLY, level->b, level->x));
  else PetscCall(HJMGSolveCoarsest(mg, PETSC_FALSE, PETSC_TRUE, NULL, level->b, level->x));
  PetscCall(MatGetDiagonal(level->A, level->r));
  PetscCall(VecPointwiseMult(level->r, level->r, level->x));
  PetscCall(VecNorm(level->r, NORM_2, &norm[0]));
  PetscCall(VecNorm(level->b, NORM_2, &norm[1]));
  *share = 2.0 * HJ_MG_SINGLE_EPSILON * norm[0] / norm[1] * PetscPowReal(4.0, (PetscReal)(mg->nlevels - 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Why the numbers of the levels are not for single precision; NULL: they are. Collective */
static PetscErrorCode HJMGSingleFits(PC pc, const char **why)
{
  const PC_HJMG   *mg                            = (const PC_HJMG *)pc->data;
  const HJMGSingle single                        = mg->single;
  const PetscBool  by_itself                     = (PetscBool)(mg->precision == PC_HJMG_PRECISION_AUTO);
  PetscReal        bad[1 + 2 * HJ_MG_MAX_LEVELS] = {0.0}, *largest = bad + 1, *least = largest + single->nlevels, contrast = 1.0;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < single->nlevels; l++) {
    const HJRounded *level = &single->level[l];

    if (!HJRangeFits(&level->range) || !HJRangeFits(&level->inverse)) bad[0] = 1.0;
    largest[l] = level->inverse.largest;
    least[l]   = 1.0 / level->inverse.least; /* the smallest of all ranks is the largest inverse */
  }
  PetscCallMPI(
    MPI_Allreduce(MPI_IN_PLACE, bad, (PetscMPIInt)(1 + 2 * single->nlevels), MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)pc)));
  for (PetscInt l = 0; l < single->nlevels; l++) contrast = PetscMax(contrast, largest[l] * least[l]);
  *why = bad[0] != 0.0 ? "a number of a level is too large or too small for single"
         : contrast > (by_itself ? HJ_MG_SINGLE_AUTO_CONTRAST : HJ_MG_SINGLE_CONTRAST) ? "coefficients differ by more than single bears"
                                                                                       : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSingleLeave(PC pc, const char why[])
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  PetscCall(PetscInfo(pc, "Cycles go on in double precision: %s\n", why));
  PetscCall(HJMGSingleDestroy(mg));
  mg->not_single = why;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGSingleMake(PC pc)
{
  PC_HJMG        *mg    = (PC_HJMG *)pc->data;
  const PetscReal scale = HJMGSingleScale(mg->level[0].coarsening.coupled);
  const char     *why;

  PetscFunctionBegin;
  PetscCall(PetscNew(&mg->single));
  for (PetscInt l = 0; l < mg->nlevels; l++) {
    const HJMGLevel *level = &mg->level[l];
    const PetscBool  last  = (PetscBool)(l == mg->nlevels - 1);

    PetscCall(HJRoundedCreate(level->op, level->A, last ? NULL : level->P, last ? NULL : level[1].da, scale, &mg->single->level[l]));
    mg->single->nlevels++;
  }
  PetscCall(HJMGSingleFits(pc, &why));
  if (why) {
    PetscCall(HJMGSingleLeave(pc, why));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (HJMGSingleOps(mg)->nseen) PetscCall(mg->level[0].op->ops->multigrid->alloc_zeros(HJMGSingleOps(mg)->nseen, &mg->single->seen));
  PetscCall(HJMGMakeSingleSteps(mg, mg->single->level));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of auto: levels are rounded when a KSP that they suit asks for them */
static const char hj_single_later[] = "no KSP has taken single yet";

PetscErrorCode HJMGSingleSetUp(PC pc)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  PetscBool gains;

  PetscFunctionBegin;
  PetscCheck(!PetscDefined(USE_REAL_SINGLE) || mg->precision != PC_HJMG_PRECISION_DOUBLE, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "-pc_hjmg_precision double: this PETSc has single precision alone; use a PETSc configured with --with-precision=double");
  PetscCall(HJMGSingleDestroy(mg));
  mg->not_single = HJMGSingleLacks(mg);
  if (!mg->not_single) PetscCall(HJMGSingleDeviceLacks(mg, &mg->not_single));
  if (!mg->not_single && mg->precision == PC_HJMG_PRECISION_AUTO) {
    PetscCall(HJMGSingleGains(pc, &gains));
    mg->not_single = gains ? hj_single_later : "single is no quicker here";
  }
  if (!mg->not_single) PetscCall(HJMGSingleMake(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSingleSetUpLater(PC pc)
{
  PC_HJMG  *mg    = (PC_HJMG *)pc->data;
  PetscReal share = 0.0;

  PetscFunctionBegin;
  if (mg->not_single != hj_single_later) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGSingleRounding(mg, &share));
  PetscCall(PetscInfo(pc, "Rounding corrections to single adds %g of a residual\n", (double)share));
  mg->not_single = share <= HJ_MG_SINGLE_ROUNDING ? NULL : "rounding to single might cost iterations";
  if (!mg->not_single) PetscCall(HJMGSingleMake(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSingleDestroy(PC_HJMG *mg)
{
  PetscFunctionBegin;
  mg->not_single = NULL;
  if (!mg->single) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGDestroyGraphs(mg));
  for (PetscInt l = 0; l < mg->single->nlevels; l++) PetscCall(HJRoundedDestroy(&mg->single->level[l]));
  if (mg->single->seen) PetscCall(mg->level[0].op->ops->free(NULL, &mg->single->seen));
  PetscCall(PetscFree(mg->single));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar *HJMGSingleVector(HJRounded *level, HJMGVector which)
{
  return which == HJ_MG_B ? level->b : which == HJ_MG_X ? level->x : which == HJ_MG_Y ? level->r : NULL;
}

/* Numbers of a vector, in double, to or from those of a level, which are scale times these */
static PetscErrorCode HJMGSingleMove(const PC_HJMG *mg, Vec v, PetscBool to_vector, PetscReal scale, PetscScalar *single)
{
  const HJSingleOps *ops = HJMGSingleOps(mg);
  HJVecArray         a;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(HJVecOpen(mg->level[0].op->ops, NULL, to_vector ? HJ_WRITE : HJ_READ, v, NULL, &a));
  if (to_vector) PetscCall(ops->widen(n, 1.0 / scale, single, PETSC_FALSE, a.used));
  else PetscCall(ops->round(n, scale, a.used, single, NULL));
  PetscCall(HJVecClose(&a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last level, in double, whose matrix is not scaled */
static PetscErrorCode HJMGSingleSolveCoarsest(PC_HJMG *mg, const HJMGStep *s, HJRounded *at)
{
  const HJSingleOps *ops   = HJMGSingleOps(mg);
  const HJMGLevel   *level = &mg->level[s->l];
  const Vec          x     = s->x == HJ_MG_X ? level->x : level->r;
  const PetscInt     n     = (PetscInt)HJOperatorSize(at->op);

  PetscFunctionBegin;
  if (mg->inverse && ops->multiply_dense) {
    PetscCall(ops->multiply_dense(n, 1.0 / at->scale, mg->inverse, at->b, HJMGSingleVector(at, s->x)));
    PetscCall(PetscLogGpuFlops(2.0 * n * n));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGSingleMove(mg, level->b, PETSC_TRUE, 1.0, at->b));
  if (!s->zero) PetscCall(HJMGSingleMove(mg, x, PETSC_TRUE, 1.0 / at->scale, HJMGSingleVector(at, s->x)));
  PetscCall(HJMGRunCoarseStep(mg, s));
  PetscCall(HJMGSingleMove(mg, x, PETSC_FALSE, 1.0 / at->scale, HJMGSingleVector(at, s->x)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGSingleSweep(PC_HJMG *mg, const HJMGStep *s, HJRounded *at, PetscScalar *x, PetscScalar *y)
{
  HJSweep   first = {.b = at->b};
  PetscBool in_y;

  PetscFunctionBegin;
  if (s->also == HJ_MG_ALSO_LEAVES_RESIDUAL) first.residual = y;
  else if (s->also) first.coarser = HJCoarserOf(&at->P->transfer);
  if (s->also == HJ_MG_ALSO_CORRECTS) first.coarser.correction = HJMGSingleVector(at + 1, s->c);
  if (s->also == HJ_MG_ALSO_RESTRICTS) {
    first.coarser.restricted = at[1].b;
    first.coarser.row        = at->a.storage == HJ_COEFFICIENTS_ROW ? at->a.rows : NULL;
  }
  PetscCall(HJOperatorRunArrays(at->op, s->w, &s->planned, &first, x, y, &in_y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGSingleStep(PC_HJMG *mg, const HJMGStep *s)
{
  HJRounded   *at = &mg->single->level[s->l];
  PetscScalar *x = HJMGSingleVector(at, s->x), *y = HJMGSingleVector(at, s->y), *other = s->x == HJ_MG_X ? at->r : at->x;

  PetscFunctionBegin;
  switch (s->kind) {
  case HJ_MG_SWEEP:
    PetscCall(HJMGSingleSweep(mg, s, at, x, other));
    break;
  case HJ_MG_RESTRICT:
    PetscCall(HJRoundedRestrict(at, x ? at->b : y, x, other, at[1].b));
    break;
  case HJ_MG_CORRECT:
    PetscCall(HJTransfersRun(at->P, PETSC_FALSE, NULL, HJMGSingleVector(at + 1, s->c), s->zero ? NULL : x, x));
    break;
  default:
    PetscCall(HJMGSingleSolveCoarsest(mg, s, at));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest number and the norm of a vector of all ranks */
static PetscErrorCode HJMGSingleMeasure(const PC_HJMG *mg, Vec v, PetscReal *norm, PetscReal *largest)
{
  const MPI_Comm     comm = PetscObjectComm((PetscObject)v);
  const PetscScalar *a;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArrayRead(v, &a));
  PetscCall(HJMGSingleOps(mg)->measure(n, a, norm, largest));
  PetscCall(VecRestoreArrayRead(v, &a));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, norm, 1, MPIU_REAL, MPIU_SUM, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, largest, 1, MPIU_REAL, MPIU_MAX, comm));
  PetscCall(HJMGNormOfSquares(NULL, *norm, v, NULL, NULL, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A cycle for the right-hand side that the finest level has. A solver's is the rotated one, in which the residual of the solution that
   there is is restricted, and smoothing comes after the correction alone, as much as before and after it; before the first one too */
static PetscErrorCode HJMGSingleRun(PC_HJMG *mg, HJMGKind kind, PetscScalar **result)
{
  const HJMGSteps *list = &mg->steps[kind == HJ_MG_SINGLE_ZERO ? HJ_MG_SINGLE_FIRST : kind];
  PetscInt         l    = 0;

  PetscFunctionBegin;
  PetscCall(HJMGLogMove(mg, -1, 0));
  for (const HJMGStep *s = list->step; s < list->step + list->n; s++) {
    if (s->l != l) PetscCall(HJMGLogMove(mg, l, s->l));
    l = s->l;
    PetscCall(HJMGSingleStep(mg, s));
  }
  PetscCall(HJMGLogMove(mg, l, -1));
  *result = list->in_y ? mg->single->level[0].r : mg->single->level[0].x;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = a cycle for b, whose largest number is given, or x + that. *done is false, and x what it was, where the cycle overflows */
static PetscErrorCode HJMGSingleCorrect(PC_HJMG *mg, HJMGKind kind, Vec b, PetscReal largest, PetscBool add, Vec x, PetscBool *done)
{
  const HJSingleOps *ops = HJMGSingleOps(mg);
  HJRounded         *at  = mg->single->level;
  const PetscScalar *ba;
  PetscScalar       *xa, *result    = NULL;
  PetscReal          squares, scale = HJMGSingleScale(largest);
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(b, &n));
  PetscCall(VecGetArrayRead(b, &ba));
  PetscCall(ops->round(n, scale, ba, at->b, NULL));
  PetscCall(VecRestoreArrayRead(b, &ba));
  PetscCall(HJMGSingleRun(mg, kind, &result));
  PetscCall(ops->measure_single(n, result, &squares));
  *done = (PetscBool)!PetscIsInfOrNanReal(squares);
  PetscCall(HJOnAllRanks(PetscObjectComm((PetscObject)b), done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  if (add) PetscCall(VecGetArray(x, &xa));
  else PetscCall(VecGetArrayWrite(x, &xa));
  PetscCall(ops->widen(n, at->scale / scale, result, add, xa));
  if (add) PetscCall(VecRestoreArray(x, &xa));
  else PetscCall(VecRestoreArrayWrite(x, &xa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJMGSingleIsLaunched(const PC_HJMG *mg)
{
  return (PetscBool)(HJMGIsSingle(mg) && mg->single->seen);
}

/* What was seen goes to mg->squares */
static PetscErrorCode HJMGSingleSend(PC_HJMG *mg, int number)
{
  HJNumber sent = mg->squares;

  PetscFunctionBegin;
  sent.value = mg->single->seen + number;
  PetscCall(mg->level[0].op->ops->multigrid->number_send(&sent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSingleBegin(PC_HJMG *mg, Vec r)
{
  const HJSingleOps *ops = HJMGSingleOps(mg);
  HJVecArray         a;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(r, &n));
  PetscCall(HJVecOpen(mg->level[0].op->ops, NULL, HJ_READ, r, NULL, &a));
  PetscCall(ops->see(n, a.used, mg->single->seen));
  PetscCall(ops->round_seen(n, a.used, mg->single->seen, mg->single->level[0].b));
  PetscCall(HJVecClose(&a));
  PetscCall(HJMGSingleSend(mg, HJ_SEEN_SQUARES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = x + e, and what the residual of that is */
static PetscErrorCode HJMGSingleAdd(PC_HJMG *mg, PetscBool zero, Vec b, Vec x, const PetscScalar *e, Vec y)
{
  const HJMGLevel    *level   = &mg->level[0];
  const HJBackendOps *ops     = level->op->ops;
  HJAdvance           advance = {.grid = &level->op->grid, .e = e, .scale = mg->single->level[0].scale, .seen = mg->single->seen};
  HJVecArray          ba, xa, ya;

  PetscFunctionBegin;
  PetscCall((*mg->seen.get_coefficients)(level->A, ops->mtype, &advance.a));
  PetscCall(HJVecOpen(ops, NULL, HJ_READ, b, NULL, &ba));
  PetscCall(HJVecOpen(ops, NULL, HJ_READ, zero ? NULL : x, NULL, &xa));
  PetscCall(HJVecOpen(ops, NULL, HJ_WRITE, y, NULL, &ya));
  advance.b       = ba.used;
  advance.x       = xa.used;
  advance.y       = ya.used;
  advance.rounded = mg->single->level[0].b;
  PetscCall(HJMGSingleOps(mg)->advance(&advance));
  PetscCall(HJVecClose(&ya));
  PetscCall(HJVecClose(&xa));
  PetscCall(HJVecClose(&ba));
  PetscCall(PetscLogGpuFlops((2.0 * advance.a->nslots + 4.0) * advance.a->npoints));
  PetscCall(HJMGSingleSend(mg, HJ_SEEN_SQUARES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x = a cycle for b; whether that has numbers that are none goes to mg->squares */
static PetscErrorCode HJMGSingleLaunchApply(PC_HJMG *mg, Vec b, Vec x)
{
  PetscScalar *result;
  HJVecArray   a;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(HJMGSingleBegin(mg, b));
  PetscCall(HJMGSingleRun(mg, HJ_MG_SINGLE_APPLY, &result));
  PetscCall(HJVecOpen(mg->level[0].op->ops, NULL, HJ_WRITE, x, NULL, &a));
  PetscCall(HJMGSingleOps(mg)->widen_seen(n, mg->single->level[0].scale, result, mg->single->seen, a.used));
  PetscCall(HJVecClose(&a));
  PetscCall(HJMGSingleSend(mg, HJ_SEEN_BAD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSingleLaunch(PC_HJMG *mg, HJMGKind kind, Vec b, Vec x, Vec y)
{
  PetscScalar *e;

  PetscFunctionBegin;
  if (kind == HJ_MG_SINGLE_APPLY) PetscCall(HJMGSingleLaunchApply(mg, b, x));
  else {
    PetscCall(HJMGSingleRun(mg, kind, &e));
    PetscCall(HJMGSingleAdd(mg, (PetscBool)(kind == HJ_MG_SINGLE_ZERO), b, x, e, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a device. Vectors that lie elsewhere are left to double cycles */
static PetscErrorCode HJMGSingleApplyLaunched(PC pc, Vec b, Vec x, PetscBool *done)
{
  PC_HJMG    *mg = (PC_HJMG *)pc->data;
  PetscBool   here;
  PetscScalar bad;

  PetscFunctionBegin;
  PetscCall(HJVecsAreIn(mg->level[0].op->ops, b, x, &here));
  *done = PETSC_FALSE;
  if (!here) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGReplay(pc, HJ_MG_SINGLE_APPLY, b, x, mg->level[0].r));
  PetscCall(mg->level[0].op->ops->multigrid->number_wait(&mg->squares, &bad));
  *done = (PetscBool)(bad == 0.0);
  if (!*done) PetscCall(HJMGSingleLeave(pc, HJ_MG_SINGLE_RANGE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSingleApply(PC pc, Vec b, Vec x, PetscBool *done)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  PetscReal norm, largest;

  PetscFunctionBegin;
  if (mg->single->seen) {
    PetscCall(HJMGSingleApplyLaunched(pc, b, x, done));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogEventBegin(PCHJMG_Cycle, pc, 0, 0, 0));
  PetscCall(HJMGSingleMeasure(mg, b, &norm, &largest));
  *done = (PetscBool)(largest == 0.0);
  if (*done) PetscCall(VecSet(x, 0.0));
  else if (HJMGSingleScales(largest)) PetscCall(HJMGSingleCorrect(mg, HJ_MG_SINGLE_APPLY, b, largest, PETSC_FALSE, x, done));
  if (!*done) PetscCall(HJMGSingleLeave(pc, HJ_MG_SINGLE_RANGE));
  PetscCall(PetscLogEventEnd(PCHJMG_Cycle, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x += a cycle for the residual r, in double where single does not serve any more */
static PetscErrorCode HJMGSingleAdvance(PC pc, PetscBool first, Vec r, PetscReal largest, Vec x)
{
  PC_HJMG  *mg   = (PC_HJMG *)pc->data;
  PetscBool done = PETSC_FALSE;
  Vec       residual, correction;

  PetscFunctionBegin;
  if (HJMGIsSingle(mg) && !mg->single->seen && HJMGSingleScales(largest))
    PetscCall(HJMGSingleCorrect(mg, first ? HJ_MG_SINGLE_FIRST : HJ_MG_SINGLE_NEXT, r, largest, PETSC_TRUE, x, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  if (mg->single) PetscCall(HJMGSingleLeave(pc, HJ_MG_SINGLE_RANGE));
  PetscCall(VecDuplicate(r, &residual));
  PetscCall(VecDuplicate(r, &correction));
  PetscCall(VecCopy(r, residual)); /* r may be a vector that cycles work in */
  PetscCall(HJMGReplay(pc, HJ_MG_ROTATED_PART, residual, correction, mg->level[0].r));
  PetscCall(VecAXPY(x, 1.0, correction));
  PetscCall(VecDestroy(&residual));
  PetscCall(VecDestroy(&correction));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm of a residual, and, where it is to be rounded, its largest number. A device rounds none here */
static PetscErrorCode HJMGSingleNorm(const PC_HJMG *mg, Vec r, PetscReal *norm, PetscReal *largest)
{
  PetscFunctionBegin;
  *largest = 1.0;
  if (mg->single && !mg->single->seen) PetscCall(HJMGSingleMeasure(mg, r, norm, largest));
  else PetscCall(HJMGNormOfAnySize(r, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSingleSolve(PC pc, KSP ksp, const HJIterates *how, Vec b, Vec x, PetscInt its, PetscBool zero, PetscBool tested,
                               const PetscReal *first, PetscInt *it)
{
  PC_HJMG   *mg    = (PC_HJMG *)pc->data;
  HJMGLevel *level = &mg->level[0];
  PetscReal  largest, norm[HJ_MG_SINGLE_PATIENCE + 1];

  PetscFunctionBegin;
  if (zero) PetscCall(VecSet(x, 0.0));
  for (;; ++*it) {
    PetscReal *now = &norm[*it % (HJ_MG_SINGLE_PATIENCE + 1)];
    const Vec  r   = zero && !*it ? b : level->r;

    if (r != b) PetscCall(MatResidual(level->A, b, x, r));
    PetscCall(HJMGSingleNorm(mg, r, now, &largest));
    if (!tested) PetscCall(HJMGTest(ksp, *it, first && !*it ? *first : *now));
    tested = PETSC_FALSE;
    if (ksp->reason || *it == its) break;
    if (mg->single && *it >= HJ_MG_SINGLE_PATIENCE && !(*now < norm[(*it + 1) % (HJ_MG_SINGLE_PATIENCE + 1)]))
      PetscCall(HJMGSingleLeave(pc, HJ_MG_SINGLE_STUCK));
    PetscCall(HJMGSingleAdvance(pc, (PetscBool) !*it, r, largest, x));
    if (how->shown) PetscCall(HJIteratesRemove(how, x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscReal HJMGSingleBytes(const PC_HJMG *mg)
{
  PetscReal bytes = 0;

  for (PetscInt l = 0; mg->single && l < mg->single->nlevels; l++) bytes += HJRoundedBytes(&mg->single->level[l]);
  return bytes;
}

PetscErrorCode HJMGSingleView(const PC_HJMG *mg, PetscViewer viewer)
{
  PetscFunctionBegin;
  if (mg->single)
    PetscCall(PetscViewerASCIIPrintf(viewer, "cycles in single precision, residuals in double; in double for a KSP that wants the same "
                                             "preconditioner each time\n"));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "cycles in %s precision: %s\n", HJ_BY_PRECISION("double", "single"), mg->not_single));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Boundary points whose rows are a diagonal alone, in the outermost layers of the finest grid: their unknowns are b / d, and all grids are
   those of the points inside, as if the layers had not been there. Decides whether that is done; which layers there are is the operator
   room's.
*/
#include "hjmg.h"
#include "operator/hjknown.h"

struct _n_HJMGInside {
  HJKnown      known;
  DM           da; /* of the whole finest grid */
  HJGrid       grid;
  PetscBool    stencil;  /* the matrix itself is a stencil matrix */
  PetscCount   nknown;   /* known points of this rank */
  PetscCount  *at;       /* [nknown] where they lie among the owned ones */
  PetscScalar *inverse;  /* [nknown] of their diagonals */
  Vec          b, x;     /* inside */
  Vec          whole[2]; /* of the whole grid; NULL where no row inside has entries in columns of known rows */
};

/* GPUs keep the whole grid until their part of this has run on one: copies between the two are done by the host */
static PetscBool HJMGInsideServes(const HJBackendOps *ops)
{
  return (PetscBool)PetscMemTypeHost(ops->mtype);
}

typedef enum { HJ_INSIDE_GATHER, HJ_INSIDE_SCATTER } HJMGInsideWay;

/* Values of the points inside between an array over the owned points and one over those inside alone */
static void HJMGInsideMove(const struct _n_HJMGInside *in, HJMGInsideWay way, PetscScalar *whole, PetscScalar *inside)
{
  const HJBox   *box = &in->known.inside;
  const PetscInt n   = HJBoxWidth(box, 0);

  for (PetscInt k = box->lo[2]; k < box->hi[2]; k++) {
    for (PetscInt j = box->lo[1]; j < box->hi[1]; j++, inside += n) {
      PetscScalar *line = whole + HJBoxIndex(&in->grid.owned, box->lo[0], j, k);

      memcpy(way == HJ_INSIDE_GATHER ? inside : line, way == HJ_INSIDE_GATHER ? line : inside, (size_t)n * sizeof(*line));
    }
  }
}

/* x = inverse (b - minus) at known points, minus may be NULL; x NULL: only whether one is not what x0 has there. x0 NULL: zeros */
static PetscBool HJMGInsideSet(const struct _n_HJMGInside *in, const PetscScalar *b, const PetscScalar *minus, PetscScalar *x,
                               const PetscScalar *x0)
{
  PetscBool differs = PETSC_FALSE;

  for (PetscCount p = 0; p < in->nknown; p++) {
    const PetscCount  at = in->at[p];
    const PetscScalar v  = in->inverse[p] * (minus ? b[at] - minus[at] : b[at]);

    if (x) x[at] = v;
    else differs = (PetscBool)(differs || v != (x0 ? x0[at] : 0.0));
  }
  return differs;
}

/* Where the known points of this rank lie */
static PetscErrorCode HJMGInsideList(HJMGInside in)
{
  const HJBox *owned = &in->grid.owned;
  PetscCount   at    = 0;

  PetscFunctionBegin;
  PetscCall(
    PetscMalloc2(HJBoxSize(owned) - HJBoxSize(&in->known.inside), &in->at, HJBoxSize(owned) - HJBoxSize(&in->known.inside), &in->inverse));
  for (PetscInt k = 0; k < owned->hi[2]; k++) {
    for (PetscInt j = 0; j < owned->hi[1]; j++) {
      for (PetscInt i = 0; i < owned->hi[0]; i++, at++)
        if (!HJPointInside(&in->known.inside, i, j, k)) in->at[in->nknown++] = at;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void HJMGInsideInvert(HJMGInside in, const HJCoefficients *c)
{
  for (PetscCount p = 0; p < in->nknown; p++) in->inverse[p] = HJDiagonalInverse(HJCoefficientAt(c, 0, in->at[p]));
}

/* A DMDA of the points inside, on the ranks that have them */
static PetscErrorCode HJMGInsideCreateDM(const struct _n_HJMGInside *in, VecType vectype, DM *inner)
{
  PetscInt        N[3], nranks[3], *widths[3];
  DMDAStencilType type;
  HJCut           cut[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetStencilType(in->da, &type));
  PetscCall(HJGridGetCuts(in->da, cut));
  for (int d = 0; d < 3; d++) {
    const PetscInt *layers = in->known.layers[d];

    nranks[d] = cut[d].nranks;
    N[d]      = cut[d].N - layers[0] - layers[1];
    PetscCall(PetscMalloc1(nranks[d], &widths[d]));
    PetscCall(PetscArraycpy(widths[d], cut[d].widths, nranks[d]));
    widths[d][0] -= layers[0]; /* each rank has points inside */
    widths[d][nranks[d] - 1] -= layers[1];
  }
  PetscCall(HJGridCreateDM(PetscObjectComm((PetscObject)in->da), in->da, N, nranks, (const PetscInt *const *)widths, type, 1, inner));
  PetscCall(HJMGSetUpDM(in->da, vectype, *inner));
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(widths[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGInsideFind(Mat A, const HJGrid *grid, HJKnown *known, const HJCoefficients **c)
{
  HJGetCoefficients get;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, HJ_GET_COEFFICIENTS, &get));
  PetscCall((*get)(A, PETSC_MEMTYPE_HOST, c));
  PetscCall(HJKnownFind(PetscObjectComm((PetscObject)A), grid, *c, known));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGLeaveKnownRows(PC pc, const HJBackendOps *ops)
{
  PC_HJMG              *mg    = (PC_HJMG *)pc->data;
  HJMGLevel            *level = &mg->level[0];
  const HJCoefficients *c;
  MatNullSpace          null;
  HJMGInside            in;
  HJGrid                grid;
  HJKnown               known;
  VecType               vectype;
  Mat                   A = NULL;

  PetscFunctionBegin;
  PetscCall(MatGetNullSpace(pc->pmat, &null)); /* vectors of the whole grid */
  if (null || mg->on_fewer_ranks || !HJMGInsideServes(ops)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJGridCreate(level->da, &grid));
  PetscCall(HJMGInsideFind(level->A, &grid, &known, &c));
  if (!known.any) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&in));
  mg->inside  = in;
  in->known   = known;
  in->grid    = grid;
  in->da      = level->da;
  in->stencil = (PetscBool)!mg->converted;
  level->da   = NULL;
  PetscCall(HJMGInsideList(in));
  HJMGInsideInvert(in, c);
  PetscCall(DMGetVecType(in->da, &vectype));
  PetscCall(HJMGInsideCreateDM(in, vectype, &level->da));
  PetscCall(HJMatCreateInside(level->A, &in->known, level->da, &A));
  PetscCall(MatCreateVecs(A, &in->x, &in->b));
  for (int i = 0; i < 2 && known.kept; i++) PetscCall(MatCreateVecs(level->A, NULL, &in->whole[i]));
  PetscCall(MatDestroy(&level->A));
  level->A      = A;
  mg->converted = PETSC_TRUE;
  PetscCall(PetscInfo(pc, "The outermost layers of the grid are rows of the diagonal alone: cycles are those of the points inside\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGInsideRefresh(PC pc, PetscBool *same)
{
  PC_HJMG              *mg = (PC_HJMG *)pc->data;
  HJMGInside            in = mg->inside;
  const HJCoefficients *c;
  HJKnown               known;
  Mat                   A = NULL;
  char                  why[512];

  PetscFunctionBegin;
  *same = PETSC_FALSE;
  if (in->stencil) {
    PetscCall(PetscObjectReference((PetscObject)pc->pmat));
    A = pc->pmat;
  } else PetscCall(HJMatReadAIJ(pc->pmat, in->da, &A, why, sizeof(why)));
  if (!A) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGInsideFind(A, &in->grid, &known, &c));
  *same = HJKnownSame(&known, &in->known);
  if (*same) {
    HJMGInsideInvert(in, c);
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
  PetscCall(PetscFree2(in->at, in->inverse));
  PetscCall(VecDestroy(&in->b));
  PetscCall(VecDestroy(&in->x));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&in->whole[i]));
  PetscCall(DMDestroy(&in->da));
  PetscCall(PetscFree(*inp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether any known point's unknown is not yet what it will be; x NULL: zeros. Collective */
static PetscErrorCode HJMGInsideDiffers(const struct _n_HJMGInside *in, Vec b, Vec x, PetscBool *differs)
{
  const PetscScalar *ba, *xa = NULL;
  PetscMPIInt        mine, any;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(b, &ba));
  if (x) PetscCall(VecGetArrayRead(x, &xa));
  mine = HJMGInsideSet(in, ba, NULL, NULL, xa);
  if (x) PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(VecRestoreArrayRead(b, &ba));
  PetscCallMPI(MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)in->da)));
  *differs = (PetscBool)any;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The whole vector that has the known points' unknowns, and zeros inside */
static PetscErrorCode HJMGInsideExtend(const struct _n_HJMGInside *in, Vec b, Vec whole)
{
  const PetscScalar *ba;
  PetscScalar       *a;

  PetscFunctionBegin;
  PetscCall(VecSet(whole, 0.0));
  PetscCall(VecGetArrayRead(b, &ba));
  PetscCall(VecGetArray(whole, &a));
  (void)HJMGInsideSet(in, ba, NULL, a, NULL);
  PetscCall(VecRestoreArray(whole, &a));
  PetscCall(VecRestoreArrayRead(b, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGInsideGather(const struct _n_HJMGInside *in, Vec whole, Vec inside)
{
  const PetscScalar *from;
  PetscScalar       *to;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(whole, &from));
  PetscCall(VecGetArrayWrite(inside, &to));
  HJMGInsideMove(in, HJ_INSIDE_GATHER, (PetscScalar *)from, to);
  PetscCall(VecRestoreArrayWrite(inside, &to));
  PetscCall(VecRestoreArrayRead(whole, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGInsideEnter(PC pc, PetscBool transposed, PetscBool zero, Vec b, Vec x, Vec *inner_b, Vec *inner_x)
{
  HJMGInside in   = ((PC_HJMG *)pc->data)->inside;
  PetscBool  some = PETSC_FALSE;

  PetscFunctionBegin;
  *inner_b = in->b;
  *inner_x = in->x;
  if (in->known.kept && !transposed) PetscCall(HJMGInsideDiffers(in, b, NULL, &some));
  if (some) {
    PetscCall(HJMGInsideExtend(in, b, in->whole[0]));
    PetscCall(MatResidual(pc->pmat, b, in->whole[0], in->whole[1]));
  }
  PetscCall(HJMGInsideGather(in, some ? in->whole[1] : b, in->b));
  if (!zero) PetscCall(HJMGInsideGather(in, x, in->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The transpose gives known points what the columns of their rows ask for */
PetscErrorCode HJMGInsideLeave(PC pc, PetscBool transposed, Vec b, Vec x)
{
  HJMGInside         in    = ((PC_HJMG *)pc->data)->inside;
  const PetscBool    minus = (PetscBool)(transposed && in->known.kept);
  const PetscScalar *ba, *xi, *m = NULL;
  PetscScalar       *xa;

  PetscFunctionBegin;
  PetscCall(VecGetArrayRead(in->x, &xi));
  if (minus) {
    PetscCall(VecSet(in->whole[0], 0.0));
    PetscCall(VecGetArray(in->whole[0], &xa));
    HJMGInsideMove(in, HJ_INSIDE_SCATTER, xa, (PetscScalar *)xi);
    PetscCall(VecRestoreArray(in->whole[0], &xa));
    PetscCall(MatMultTranspose(pc->pmat, in->whole[0], in->whole[1]));
    PetscCall(VecGetArrayRead(in->whole[1], &m));
  }
  PetscCall(VecGetArrayRead(b, &ba));
  PetscCall(VecGetArray(x, &xa));
  (void)HJMGInsideSet(in, ba, m, xa, NULL);
  HJMGInsideMove(in, HJ_INSIDE_SCATTER, xa, (PetscScalar *)xi);
  PetscCall(VecRestoreArray(x, &xa));
  PetscCall(VecRestoreArrayRead(b, &ba));
  if (minus) PetscCall(VecRestoreArrayRead(in->whole[1], &m));
  PetscCall(VecRestoreArrayRead(in->x, &xi));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm before the first cycle is that of the whole residual, which has the known rows' part; from then on there is none */
PetscErrorCode HJMGInsideSolve(PC pc, Vec b, Vec x, PetscInt its, PetscBool zero, PetscInt *it)
{
  PC_HJMG  *mg = (PC_HJMG *)pc->data;
  PetscBool differs;
  PetscReal norm;
  Vec       inner_b, inner_x;

  PetscFunctionBegin;
  PetscCall(HJMGInsideDiffers(mg->inside, b, zero ? NULL : x, &differs));
  if (differs && zero) PetscCall(VecNorm(b, NORM_2, &norm));
  else if (differs) {
    if (!mg->residual) PetscCall(VecDuplicate(b, &mg->residual));
    PetscCall(MatResidual(pc->mat, b, x, mg->residual));
    PetscCall(VecNorm(mg->residual, NORM_2, &norm));
  }
  PetscCall(HJMGInsideEnter(pc, PETSC_FALSE, zero, b, x, &inner_b, &inner_x));
  PetscCall(HJMGSolveRotated(pc, mg->ksp, &(const HJIterates){NULL}, inner_b, inner_x, its, zero, differs ? &norm : NULL, it));
  if (*it) PetscCall(HJMGInsideLeave(pc, PETSC_FALSE, b, x));
  else if (zero) PetscCall(VecSet(x, 0.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJMGIsCopied(const PC_HJMG *mg)
{
  return (PetscBool)(mg->converted_above || (mg->converted && !(mg->inside && mg->inside->stencil)));
}

PetscReal HJMGInsideBytes(const HJMGInside in)
{
  const PetscReal owned = (PetscReal)HJBoxSize(&in->grid.owned), inside = (PetscReal)HJBoxSize(&in->known.inside);

  return (PetscReal)in->nknown * (sizeof(PetscCount) + sizeof(PetscScalar)) +
         sizeof(PetscScalar) * (2 * inside + (in->known.kept ? 2 * owned : 0));
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
                                   "the points inside\n",
                                   known, mg->inside->known.kept ? "kept" : "dropped"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

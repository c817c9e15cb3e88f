/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Bounds of the spectrum of D^-1 A: those of Gershgorin, and of Collatz and Wielandt, from the rows; an estimate by GMRES where there are
   none; how far it leaves the real axis; the least eigenvalue by CG. Decides how each is made, not which one is used (src/pc).
*/
#include "hjoperator.h"
#include "core/hjmultigrid.h"
#include <petscksp.h>

/* Products with M = |D^-1 A|, its diagonal taken as 1: v = M 1, M v, ... Each gives a bound, and none a larger one than that before it */
#define HJ_BOUND_PRODUCTS        6
#define HJ_BOUND_PRODUCTS_SOURCE "Collatz-Wielandt, 6 products"
/* On grids of more points than this no products are made where Gershgorin's bound is up to HJ_BOUND_ENOUGH: inside, where rows sum to 0
   and the diagonal is as large as all others, they gain nothing, and a smaller bound of a larger diagonal saves no iteration */
#define HJ_BOUND_POINTS 4000
#define HJ_BOUND_ENOUGH 2.01
/* Bounds up to this leave v in the range of numbers; larger ones are not improved */
#define HJ_BOUND_LARGEST HJ_BY_PRECISION(1e40, 1e5)
/* Points that the vectors of a slab hold on a GPU, where much memory is slow to get */
#define HJ_BOUND_SLAB ((PetscCount)1 << 22)
/* Shares of the largest Ritz value, see HJEstimateEmin(). CG is run until it has HJ_LANCZOS_RTOL of its residual, and does not see parts of
   the error whose eigenvalues are so small */
#define HJ_LANCZOS_DTOL HJ_BY_PRECISION(1.e50, 1.e30)
#define HJ_LANCZOS_RTOL HJ_BY_PRECISION(1e-12, 1e-6)
#define HJ_NULL_RITZ    HJ_BY_PRECISION(1e-12, 1e-6)
#define HJ_LEAST_RITZ   HJ_BY_PRECISION(1e-8, 2e-6)

/* A ratio that is not finite comes from an entry that is not, and no other product makes up for it */
static void HJBoundTake(PetscReal ratio, PetscInt product, HJBound *bound)
{
  if (bound->emax > 0 && !PetscIsInfOrNanReal(ratio) && !(ratio < bound->emax)) return;
  bound->emax   = ratio;
  bound->source = product ? HJ_BOUND_PRODUCTS_SOURCE : "Gershgorin";
}

/* All products of whole vectors, between which halos travel */
static PetscErrorCode HJBoundWhole(HJOperator *op, PetscScalar *room)
{
  const HJMultigridOps *ops  = op->ops->multigrid;
  PetscScalar          *v[2] = {NULL, room};

  PetscFunctionBegin;
  for (int i = 0; i < (room ? 1 : 2); i++) PetscCall(ops->scratch(HJOperatorSize(op), PETSC_FALSE, &v[i]));
  for (PetscInt i = 0; i < HJ_BOUND_PRODUCTS; i++)
    PetscCall(HJOperatorAbsoluteLater(op, i ? v[i % 2] : NULL, v[(i + 1) % 2], op->ratios + i));
  for (int i = 0; i < (room ? 1 : 2); i++) PetscCall(ops->unscratch(&v[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The points [lo, hi) across the slowest direction, and what they need of others: each product leaves a plane less of them */
static PetscErrorCode HJBoundSlab(HJOperator *op, PetscInt lo, PetscInt hi, PetscScalar *const v[2])
{
  const int    d     = (int)op->grid.dim - 1;
  const HJBox *owned = &op->grid.owned;
  HJSweep      s;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&s, sizeof(s)));
  s.box       = *owned;
  s.box.lo[d] = PetscMax(lo - (HJ_BOUND_PRODUCTS - 1), owned->lo[d]);
  s.box.hi[d] = PetscMin(hi + (HJ_BOUND_PRODUCTS - 1), owned->hi[d]);
  s.ybox = s.write = s.box;
  for (PetscInt i = 0; i < HJ_BOUND_PRODUCTS; i++) {
    const PetscInt margin = HJ_BOUND_PRODUCTS - 1 - i;

    s.write.lo[d] = PetscMax(lo - margin, owned->lo[d]);
    s.write.hi[d] = PetscMin(hi + margin, owned->hi[d]);
    s.x           = i ? v[i % 2] : NULL;
    s.y           = v[(i + 1) % 2];
    PetscCall(op->ops->multigrid->absolute_later(op->backend, 1, &s, op->ratios + i));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a rank without neighbours: a slab after another, so that vectors need little memory: the room, where each half of it holds a slab */
static PetscErrorCode HJBoundSlabs(HJOperator *op, PetscCount slab, PetscScalar *room)
{
  const HJMultigridOps *ops = op->ops->multigrid;
  const int             d = (int)op->grid.dim - 1, margins = 2 * (HJ_BOUND_PRODUCTS - 1);
  const PetscInt        n      = HJBoxWidth(&op->grid.owned, d);
  const PetscCount      plane  = HJOperatorSize(op) / n;
  const PetscBool       fits   = (PetscBool)(room && n / 2 > margins);
  const PetscInt        held   = (PetscInt)PetscMin(PetscMax(slab / plane, margins + 1), fits ? n / 2 : n);
  const PetscInt        height = held < n ? held - margins : n;
  PetscScalar          *v[2]   = {room, room ? room + held * plane : NULL};

  PetscFunctionBegin;
  for (int i = 0; i < 2 && !fits; i++) PetscCall(ops->scratch(held * plane, PETSC_FALSE, &v[i]));
  for (PetscInt lo = 0; lo < n; lo += height) PetscCall(HJBoundSlab(op, lo, PetscMin(lo + height, n), v));
  for (int i = 0; i < 2 && !fits; i++) PetscCall(ops->unscratch(&v[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJBoundBegin(HJOperator *op, PetscCount slab, PetscScalar *room)
{
  const PetscReal points = (PetscReal)op->grid.N[0] * op->grid.N[1] * op->grid.N[2];

  PetscFunctionBegin;
  if (points > HJ_BOUND_POINTS && op->stencil->gershgorin <= HJ_BOUND_ENOUGH) PetscFunctionReturn(PETSC_SUCCESS);
  if (!slab) slab = PetscMemTypeDevice(op->ops->mtype) ? HJ_BOUND_SLAB : HJOperatorSize(op);
  if (!op->ratios) PetscCall(op->ops->multigrid->scratch(HJ_BOUND_PRODUCTS, PETSC_TRUE, &op->ratios));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF)); /* products that leave the range of numbers are left out */
  if (HJGridHasNeighbors(&op->grid)) PetscCall(HJBoundWhole(op, room));
  else PetscCall(HJBoundSlabs(op, slab, room));
  PetscCall(PetscFPTrapPop());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJBoundEnd(HJOperator *op, HJBound *bound)
{
  PetscReal ratio[HJ_BOUND_PRODUCTS];

  PetscFunctionBegin;
  bound->emax   = op->stencil->gershgorin == 0.0 ? 1.0 : op->stencil->gershgorin; /* of a matrix of zeros any bound will do */
  bound->source = "Gershgorin";
  if (!op->ratios) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(op->ops->multigrid->read(ratio, op->ratios, HJ_BOUND_PRODUCTS));
  PetscCall(op->ops->multigrid->unscratch(&op->ratios));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, ratio, HJ_BOUND_PRODUCTS, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)op->da)));
  for (PetscInt i = 0; i < HJ_BOUND_PRODUCTS; i++) {
    HJBoundTake(ratio[i], i, bound);
    if (!(ratio[i] < HJ_BOUND_LARGEST)) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who makes the products of an operator: itself, or, where a stencil of several unknowns a point was made on the host, the host */
static PetscErrorCode HJBoundOpen(HJOperator *op, HJOperator **by)
{
  PetscFunctionBegin;
  *by = op;
  if (op->grid.dof > 1 && PetscMemTypeDevice(op->ops->mtype) && PetscMemTypeHost(op->stencil->mtype))
    PetscCall(HJOperatorCreateFromStencil(op->da, &op->grid, op->stencil, op->overlap, op->tile, &HJBackendHost, &HJHaloPetscSF, by));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJBoundClose(const HJOperator *op, HJOperator **by)
{
  PetscFunctionBegin;
  if (*by == op) PetscFunctionReturn(PETSC_SUCCESS);
  (*by)->stencil = NULL; /* which is op's */
  PetscCall(HJOperatorDestroy(by));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJBoundOperator(HJOperator *op, HJBound *bound)
{
  HJOperator *by;

  PetscFunctionBegin;
  PetscCall(HJBoundOpen(op, &by));
  PetscCall(HJBoundBegin(by, 0, NULL));
  PetscCall(HJBoundEnd(by, bound));
  PetscCall(HJBoundClose(op, &by));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJBoundSkew(HJOperator *op, PetscReal *skew)
{
  PetscScalar *y;
  PetscReal    ratio;
  HJOperator  *by;

  PetscFunctionBegin;
  *skew = 0;
  if (op->stencil->storage == HJ_SYMMETRIC) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJBoundOpen(op, &by));
  PetscCall(by->ops->multigrid->scratch(HJOperatorSize(by), PETSC_FALSE, &y));
  PetscCall(HJOperatorAbsolute(by, PETSC_TRUE, NULL, y, &ratio));
  PetscCall(by->ops->multigrid->unscratch(&y));
  PetscCall(HJBoundClose(op, &by));
  *skew = (ratio - 1) / 2; /* the diagonal counted as 1 */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Absolute values of the entries of one block */
static PetscErrorCode HJAbsoluteBlock(Mat A)
{
  PetscScalar *a;
  MatInfo      info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  PetscCall(MatSeqAIJGetArray(A, &a));
  for (PetscCount i = 0; i < (PetscCount)info.nz_used; i++) a[i] = PetscAbsScalar(a[i]);
  PetscCall(MatSeqAIJRestoreArray(A, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A as an AIJ matrix of its own; NULL where it gives no rows. MatConvert() takes a block of MATMPIBAIJ and MATMPISELL apart and makes it
   anew (PETSc 3.18), into which others, as MatFDColoring, have pointers */
static PetscErrorCode HJRowsCreate(Mat A, Mat *M)
{
  PetscBool aij, upper, has_rows;

  PetscFunctionBegin;
  *M = NULL;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &upper, MATSEQSBAIJ, MATMPISBAIJ, "")); /* gives rows of its upper half */
  PetscCall(MatHasOperation(A, MATOP_GET_ROW, &has_rows));
  if (!aij && !has_rows) PetscFunctionReturn(PETSC_SUCCESS);
  if (aij) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, M));
  else if (upper) PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, M));
  else PetscCall(HJCreateAIJ(A, M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries of an AIJ matrix become their absolute values */
static PetscErrorCode HJAbsoluteEntries(Mat M)
{
  PetscBool parallel;
  Mat       diagonal = M, off_diagonal = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)M, MATMPIAIJ, &parallel));
  if (parallel) PetscCall(MatMPIAIJGetSeqAIJ(M, &diagonal, &off_diagonal, NULL));
  PetscCall(HJAbsoluteBlock(diagonal));
  if (off_diagonal) PetscCall(HJAbsoluteBlock(off_diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |D^-1 A| as an AIJ matrix of its own; NULL where A gives no rows */
static PetscErrorCode HJAbsoluteCreate(Mat A, Vec dinv, Mat *M)
{
  Vec scale;

  PetscFunctionBegin;
  PetscCall(HJRowsCreate(A, M));
  if (!*M) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJAbsoluteEntries(*M));
  PetscCall(VecDuplicate(dinv, &scale));
  PetscCall(VecCopy(dinv, scale));
  PetscCall(VecAbs(scale));
  PetscCall(MatDiagonalScale(*M, scale, NULL));
  PetscCall(VecDestroy(&scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJBoundMatrix(Mat A, Vec dinv, PetscBool *known, HJBound *bound)
{
  Mat       M;
  Vec       v[2], missing, quotient; /* missing: what the diagonal of M lacks of 1 */
  PetscReal ratio;

  PetscFunctionBegin;
  bound->emax = 0;
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF)); /* as in HJBoundBegin() */
  PetscCall(HJAbsoluteCreate(A, dinv, &M));
  *known = (PetscBool)(M != NULL);
  if (!M) {
    PetscCall(PetscFPTrapPop());
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatCreateVecs(M, &v[0], &v[1]));
  PetscCall(VecDuplicate(v[1], &quotient));
  PetscCall(VecDuplicate(v[1], &missing));
  PetscCall(MatGetDiagonal(M, missing));
  PetscCall(VecScale(missing, -1));
  PetscCall(VecShift(missing, 1));
  PetscCall(VecSet(v[0], 1));
  for (PetscInt i = 0; i < HJ_BOUND_PRODUCTS; i++) {
    Vec x = v[i % 2], y = v[(i + 1) % 2];

    PetscCall(MatMult(M, x, y));
    PetscCall(VecPointwiseMult(quotient, missing, x));
    PetscCall(VecAXPY(y, 1, quotient));
    PetscCall(VecPointwiseDivide(quotient, y, x));
    PetscCall(VecNorm(quotient, NORM_1, &ratio)); /* a maximum passes over NaN, a sum does not */
    if (!PetscIsInfOrNanReal(ratio)) PetscCall(VecMax(quotient, NULL, &ratio));
    HJBoundTake(ratio, i, bound);
    if (!(ratio < HJ_BOUND_LARGEST)) break;
  }
  PetscCall(PetscFPTrapPop());
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&v[i]));
  PetscCall(VecDestroy(&missing));
  PetscCall(VecDestroy(&quotient));
  PetscCall(MatDestroy(&M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Zero where a row has its diagonal alone. Such rows, often those of the boundary, may be others' columns: with b = 0 there A acts as the
   symmetric rest
*/
static PetscErrorCode HJZeroIsolated(Mat A, Vec h)
{
  PetscBool    has_rows;
  PetscInt     start, end;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(MatHasOperation(A, MATOP_GET_ROW, &has_rows));
  if (!has_rows) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  PetscCall(VecGetArray(h, &a));
  for (PetscInt i = start; i < end; i++) {
    PetscInt           n, others = 0;
    const PetscInt    *cols;
    const PetscScalar *vals;

    PetscCall(MatGetRow(A, i, &n, &cols, &vals));
    for (PetscInt j = 0; j < n; j++) others += cols[j] != i && vals[j] != 0.0;
    PetscCall(MatRestoreRow(A, i, &n, &cols, &vals));
    if (!others) a[i - start] = 0;
  }
  PetscCall(VecRestoreArray(h, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a transpose has the layout of A, and may differ from it */
static PetscErrorCode HJMayBeSkew(Mat A, PetscBool *may)
{
  PetscBool known, symmetric;
  PetscInt  m, n;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, &n));
  *may = (PetscBool)(m == n);
  PetscCall(HJOnAllRanks(PetscObjectComm((PetscObject)A), may));
  PetscCall(MatIsSymmetricKnown(A, &known, &symmetric));
  if (known && symmetric) *may = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJBoundSkewMatrix(Mat A, Vec dinv, PetscReal *skew)
{
  PetscBool may;
  Mat       M, T;
  Vec       coupled, sum;

  PetscFunctionBegin;
  *skew = 0;
  PetscCall(HJMayBeSkew(A, &may));
  if (!may) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJRowsCreate(A, &M));
  if (!M) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(M, &coupled, &sum));
  PetscCall(VecSet(coupled, 1));
  PetscCall(HJZeroIsolated(M, coupled));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF)); /* as in HJBoundBegin() */
  PetscCall(MatTranspose(M, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatAXPY(M, -1, T, DIFFERENT_NONZERO_PATTERN));
  PetscCall(HJAbsoluteEntries(M));
  PetscCall(MatMult(M, coupled, sum));
  PetscCall(VecPointwiseMult(sum, sum, dinv));
  PetscCall(VecPointwiseMult(sum, sum, coupled));
  PetscCall(VecNorm(sum, NORM_INFINITY, skew));
  PetscCall(PetscFPTrapPop());
  *skew /= 2;
  PetscCall(VecDestroy(&coupled));
  PetscCall(VecDestroy(&sum));
  PetscCall(MatDestroy(&T));
  PetscCall(MatDestroy(&M));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In [-1, 1); the finaliser of splitmix64 (Steele, Lea, Flood 2014) */
static PetscReal HJHash(PetscInt i)
{
  unsigned long long z = ((unsigned long long)i + 1) * 0x9e3779b97f4a7c15ULL;

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return (PetscReal)(z >> 11) / 4503599627370496.0 - 1; /* 53 bits over 2^52 */
}

/* The diagonal, or an error that names the cure: a matrix may have the operation and be made of one that does not */
static PetscErrorCode HJGetDiagonal(Mat A, Vec d)
{
  PetscErrorCode code = PETSC_SUCCESS;
  PetscBool      has;
  MatType        type;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(MatHasOperation(A, MATOP_GET_DIAGONAL, &has));
  if (has) {
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    code = MatGetDiagonal(A, d);
    PetscCall(PetscPopErrorHandler());
    has = (PetscBool)(code != PETSC_ERR_SUP);
  }
  PetscCheck(has, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "PCHJACOBI needs the diagonal, which this matrix of type %s does not give; use an assembled matrix (-dm_mat_type aij, or the "
             "second "
             "of KSPSetOperators()), or give a shell matrix MATOP_GET_DIAGONAL by MatShellSetOperation()",
             type);
  if (code) PetscCall(MatGetDiagonal(A, d)); /* says why */
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJInverseDiagonal(Mat A, Vec *dinv, PetscInt *zeros)
{
  PetscScalar *d;
  PetscInt     n, count = 0;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, dinv));
  PetscCall(HJGetDiagonal(A, *dinv));
  PetscCall(VecGetLocalSize(*dinv, &n));
  PetscCall(VecGetArray(*dinv, &d));
  for (PetscInt i = 0; i < n; i++) {
    count += d[i] == 0.0;
    d[i] = HJDiagonalInverse(d[i]);
  }
  PetscCall(VecRestoreArray(*dinv, &d));
  PetscCallMPI(MPI_Allreduce(&count, zeros, 1, MPIU_INT, MPI_SUM, PetscObjectComm((PetscObject)A)));
  if (*zeros) PetscCall(PetscInfo(A, "Zero detected in diagonal of matrix, using 1 at those %" PetscInt_FMT " locations\n", *zeros));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Start vector in the natural order of the DMDA, which is the same on any number of ranks */
static PetscErrorCode HJFillStart_DA(DM da, PetscScalar a[])
{
  PetscInt dof;
  HJCut    cut[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetDof(da, &dof));
  PetscCall(HJGridGetCuts(da, cut));
  for (PetscInt k = 0; k < cut[2].n; k++) {
    for (PetscInt j = 0; j < cut[1].n; j++) {
      const PetscInt first = (((cut[2].start + k) * cut[1].N + cut[1].start + j) * cut[0].N + cut[0].start) * dof;

      for (PetscInt i = 0; i < cut[0].n * dof; i++) *a++ = HJHash(first + i);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJFillStart(Vec v, DM dm)
{
  PetscScalar *a;
  PetscInt     n, start, dof;
  HJCut        cut[3];
  PetscBool    da = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetOwnershipRange(v, &start, NULL));
  if (dm) PetscCall(PetscObjectTypeCompare((PetscObject)dm, DMDA, &da));
  if (da) {
    PetscCall(DMDAGetDof(dm, &dof));
    PetscCall(HJGridGetCuts(dm, cut));
    da = (PetscBool)(n == dof * cut[0].n * cut[1].n * cut[2].n);
    PetscCall(HJOnAllRanks(PetscObjectComm((PetscObject)v), &da));
  }
  PetscCall(VecGetArrayWrite(v, &a));
  if (da) PetscCall(HJFillStart_DA(dm, a));
  else
    for (PetscInt i = 0; i < n; i++) a[i] = HJHash(start + i);
  PetscCall(VecRestoreArrayWrite(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJScale(PC pc, Vec x, Vec y)
{
  Vec dinv;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &dinv));
  PetscCall(VecPointwiseMult(y, dinv, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   A KSP that multiplies by the inverse diagonal before it looks at the spectrum. It needs a prefix of its own: options such as -ksp_view
   are not for it
*/
static PetscErrorCode HJEstimatorCreate(Mat A, Vec dinv, const char prefix[], const char suffix[], KSPType type, PetscInt steps, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPAppendOptionsPrefix(*ksp, suffix));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetPCSide(*ksp, PC_LEFT));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_PRECONDITIONED));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCSHELL));
  PetscCall(PCShellSetName(pc, "inverse diagonal"));
  PetscCall(PCShellSetContext(pc, dinv));
  PetscCall(PCShellSetApply(pc, HJScale));
  PetscCall(KSPSetSkipPCSetFromOptions(*ksp, PETSC_TRUE));
  PetscCall(KSPSetComputeEigenvalues(*ksp, PETSC_TRUE));
  PetscCall(KSPSetTolerances(*ksp, HJ_LANCZOS_RTOL, 0.0, HJ_LANCZOS_DTOL, steps)); /* a test there must be: no step from a zero residual */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJEstimatorSolve(KSP ksp, Vec b)
{
  Vec x;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &x));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the last solve: the largest Ritz value, and the least above a fraction of it; 0 where there is none. Takes as long as n^2 steps do.
   All ranks get the first one's: what LAPACK rounds depends on where its arrays lie, so that ranks would decide differently */
static PetscErrorCode HJEstimatorValues(KSP ksp, PetscReal fraction, PetscReal *largest, PetscReal *least)
{
  PetscInt   n, found;
  PetscReal *re, *im, values[2] = {0.0, 0.0};

  PetscFunctionBegin;
  PetscCall(KSPGetIterationNumber(ksp, &n));
  PetscCall(PetscMalloc2(n, &re, n, &im));
  PetscCall(KSPComputeEigenvalues(ksp, n, re, im, &found));
  for (PetscInt i = 0; i < found; i++) values[0] = PetscMax(values[0], re[i]);
  for (PetscInt i = 0; i < found; i++)
    if (re[i] > fraction * values[0] && (values[1] == 0.0 || re[i] < values[1])) values[1] = re[i];
  PetscCall(PetscFree2(re, im));
  PetscCallMPI(MPI_Bcast(values, 2, MPIU_REAL, 0, PetscObjectComm((PetscObject)ksp)));
  *largest = values[0];
  *least   = values[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CG counts the step in which it finds an indefinite matrix, but leaves that row of its tridiagonal matrix unset: what lies there would be
   another number on each rank. The same steps again, without that one; *whole: their number */
static PetscErrorCode HJEstimatorLeaveOutLast(KSP ksp, Vec b, PetscInt *whole)
{
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, whole));
  if (reason != KSP_DIVERGED_INDEFINITE_MAT && reason != KSP_DIVERGED_INDEFINITE_PC) PetscFunctionReturn(PETSC_SUCCESS);
  if (--*whole < 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPSetTolerances(ksp, HJ_LANCZOS_RTOL, 0.0, HJ_LANCZOS_DTOL, *whole));
  PetscCall(HJEstimatorSolve(ksp, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJEstimateEmax(Mat A, Vec dinv, DM dm, const char prefix[], PetscReal *emax)
{
  KSP                ksp;
  Vec                b;
  PetscReal          least;
  PetscInt           n;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(HJEstimatorCreate(A, dinv, prefix, "pc_hjacobi_esteig_", KSPGMRES, HJ_ESTIMATE_STEPS, &ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(MatCreateVecs(A, NULL, &b));
  if (!dm) PetscCall(MatGetDM(A, &dm));
  PetscCall(HJFillStart(b, dm));
  PetscCall(HJEstimatorSolve(ksp, b));
  PetscCall(HJEstimatorValues(ksp, 0, emax, &least));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  if (reason == KSP_DIVERGED_NANORINF) *emax = (PetscReal)HUGE_VAL; /* products are no numbers */
  PetscCall(KSPGetIterationNumber(ksp, &n));
  PetscCall(PetscInfo(A, "Largest eigenvalue of D^-1 A after %" PetscInt_FMT " steps: %g\n", n, (double)*emax));
  PetscCall(VecDestroy(&b));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A right-hand side A h, h about 1, of CG with D^-1, scaled by a power of two so that products of residuals and what D^-1 makes of them are
   about 1: of A itself they pass the range of numbers where entries are 1e300, and 1e-300 at the last steps */
static PetscErrorCode HJScaleStart(Vec b)
{
  PetscReal norm;
  int       exponent;

  PetscFunctionBegin;
  PetscCall(VecNorm(b, NORM_INFINITY, &norm));
  if (norm == 0.0 || PetscIsInfOrNanReal(norm)) PetscFunctionReturn(PETSC_SUCCESS);
  (void)frexp(norm, &exponent);
  PetscCall(VecScale(b, ldexp(1.0, -exponent / 2)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The least nonzero Ritz value of CG (Lanczos) for a symmetric A, from the start vector of HJEstimateEmax(), run until its residual is lost
   in rounding: then this value has settled. *emin is 0 where there is none, and where it has not settled but with rough: to find it then
   takes longer than all steps do on a small grid. Values below HJ_NULL_RITZ of the largest are those of a null space, by rounding. Those
   between it and HJ_LEAST_RITZ are a part of the grid that hangs on the rest by next to nothing: no number of sweeps that there may be
   reduces it. With rough they are left out, else nothing has settled
*/
static PetscErrorCode HJEstimateEmin(Mat A, Vec dinv, DM dm, const char prefix[], PetscBool rough, PetscReal *emin, PetscBool *settled)
{
  KSP                ksp;
  Vec                b, h;
  PetscReal          largest;
  PetscInt           n, whole;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(HJEstimatorCreate(A, dinv, prefix, "pc_hjacobi_lanczos_", KSPCG, HJ_LANCZOS_STEPS, &ksp));
  PetscCall(MatCreateVecs(A, &h, &b));
  if (!dm) PetscCall(MatGetDM(A, &dm));
  PetscCall(HJFillStart(h, dm));
  PetscCall(HJZeroIsolated(A, h));
  PetscCall(MatMult(A, h, b)); /* in the range of A: no part of its null space comes in */
  PetscCall(HJScaleStart(b));
  PetscCall(HJEstimatorSolve(ksp, b));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &n));
  *settled = (PetscBool)(reason > 0);
  *emin    = 0;
  whole    = n;
  if (rough) PetscCall(HJEstimatorLeaveOutLast(ksp, b, &whole));
  if (whole && (rough || *settled)) PetscCall(HJEstimatorValues(ksp, rough ? HJ_LEAST_RITZ : HJ_NULL_RITZ, &largest, emin));
  if (!rough && *emin > 0 && *emin <= HJ_LEAST_RITZ * largest) {
    *settled = PETSC_FALSE;
    *emin    = 0;
  }
  PetscCall(PetscInfo(A, "Least nonzero eigenvalue of D^-1 A after %" PetscInt_FMT " steps: %g, %s\n", n, (double)*emin,
                      KSPConvergedReasons[reason]));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&h));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJReductionLeastK(Mat A, Vec dinv, DM dm, const char prefix[], PetscBool rough, PetscReal reduction, PetscReal emax,
                                 PetscReal *emin, PetscReal *least, PetscBool *settled)
{
  PetscFunctionBegin;
  *settled = PETSC_TRUE;
  if (*emin == PETSC_DECIDE) {
    PetscCall(HJEstimateEmin(A, dinv, dm, prefix, rough, emin, settled));
    *emin = (*emin > 0 ? PetscMin(*emin, emax) : emax) / 1.2;
  }
  *least = HJScheduleLeastK(reduction, *emin, emax);
  PetscFunctionReturn(PETSC_SUCCESS);
}

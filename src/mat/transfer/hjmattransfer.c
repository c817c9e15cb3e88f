/* SPDX-License-Identifier: BSD-2-Clause */
/*
   MATHJTRANSFER: DMDA's interpolation as a matrix without entries; on request with coefficients from the rows of a matrix.
*/
#include "hjtransferimpl.h"
#include <petsc/private/dmimpl.h>

#if defined(HJACOBI_HAVE_CUDA)
/* Whether PETSc binds a rank's vectors to the CPU because they are short: that may differ from rank to rank. Collective */
static PetscErrorCode HJTransferIsBound(DM coarse, DM fine, const HJTransfer *t, PetscBool *bound)
{
  PetscFunctionBegin;
  *bound = (PetscBool)(HJBoxSize(&t->coarse.owned) < coarse->bind_below || HJBoxSize(&t->fine.owned) < fine->bind_below);
  PetscCall(HJOnAnyRank(PetscObjectComm((PetscObject)fine), bound));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* On the device where all vectors are there */
static PetscErrorCode HJTransferApply(Mat P, PetscBool transpose, Vec x, Vec b, Vec y)
{
  PetscBool    on[3] = {PETSC_FALSE, PETSC_TRUE, PETSC_FALSE}, bound = PETSC_FALSE;
  HJTransfers *op = NULL;

  PetscFunctionBegin;
  PetscCall(MatBoundToCPU(P, &bound));
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(HJVecOnDevice(x, &on[0]));
  if (b && b != y) PetscCall(HJVecOnDevice(b, &on[1]));
  PetscCall(HJVecOnDevice(y, &on[2]));
#endif
  PetscCall(HJTransferGetOps(P, (PetscBool)(on[0] && on[1] && on[2] && !bound && !((Mat_HJTransfer *)P->data)->host_only), &op));
  PetscCall(HJTransfersApply(op, transpose, NULL, x, b, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_HJTransfer(Mat P, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(HJTransferApply(P, PETSC_FALSE, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_HJTransfer(Mat P, Vec x, Vec b, Vec y)
{
  PetscFunctionBegin;
  PetscCall(HJTransferApply(P, PETSC_FALSE, x, b, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_HJTransfer(Mat P, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(HJTransferApply(P, PETSC_TRUE, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_HJTransfer(Mat P, Vec x, Vec b, Vec y)
{
  PetscFunctionBegin;
  PetscCall(HJTransferApply(P, PETSC_TRUE, x, b, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatTransferSetStars(Mat P)
{
  PetscFunctionBegin;
  ((Mat_HJTransfer *)P->data)->stars = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatTransferSetSymmetric(Mat P, PetscBool symmetric)
{
  PetscFunctionBegin;
  ((Mat_HJTransfer *)P->data)->symmetric = symmetric;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatTransferLeave(Mat P, Vec mask)
{
  Mat_HJTransfer *tr    = (Mat_HJTransfer *)P->data;
  HJTransfers    *op    = tr->device ? tr->device : tr->host;
  HJTransfers    *other = tr->device ? tr->host : NULL;

  PetscFunctionBegin;
  PetscCall(VecDestroy(&tr->keep));
  PetscCall(MatDestroy(&tr->aij));
  if (mask) {
    PetscCall(VecDuplicate(mask, &tr->keep));
    PetscCall(HJTransfersKeep(op, mask, tr->keep));
  } else PetscCall(HJTransfersSetKeep(op, NULL));
  if (other) PetscCall(HJTransfersSetKeep(other, tr->keep));
  PetscCall(PetscObjectStateIncrease((PetscObject)P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJTransferRefuseChange(Mat P)
{
  PetscFunctionBegin;
  SETERRQ(PetscObjectComm((PetscObject)P), PETSC_ERR_SUP,
          "A matrix of type " MATHJTRANSFER " has no entries that could be changed; make it a MATAIJ with MatConvert() first");
}

static PetscErrorCode MatSetValues_HJTransfer(Mat P, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[],
                                              const PetscScalar v[], InsertMode mode)
{
  PetscFunctionBegin;
  PetscCall(HJTransferRefuseChange(P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatScale_HJTransfer(Mat P, PetscScalar s)
{
  PetscFunctionBegin;
  PetscCall(HJTransferRefuseChange(P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDiagonalScale_HJTransfer(Mat P, Vec left, Vec right)
{
  PetscFunctionBegin;
  PetscCall(HJTransferRefuseChange(P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_HJTransfer(Mat P, MatDuplicateOption op, Mat *Q)
{
  const Mat_HJTransfer *tr = (Mat_HJTransfer *)P->data;

  PetscFunctionBegin;
  PetscCall(HJMatCreateTransfer(tr->coarse, tr->fine, &tr->transfer, Q));
  if (tr->keep) PetscCall(HJMatTransferLeave(*Q, tr->keep)); /* as a mask it is what it makes */
  if (tr->variable) {
    Mat_HJTransfer *copy = (Mat_HJTransfer *)(*Q)->data;
    HJTransfers    *to   = NULL;

    PetscCall(HJTransferGetOps(*Q, (PetscBool)(tr->variable == tr->device), &to));
    PetscCall(HJTransferCopyCoefficients(tr->variable, to));
    copy->variable = to;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBindToCPU_HJTransfer(Mat P, PetscBool flag)
{
  PetscFunctionBegin;
#if defined(PETSC_HAVE_DEVICE)
  P->boundtocpu = flag;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every fine point between coarse ones has two parents in a direction, the others one, as one that hangs */
static PetscErrorCode MatGetInfo_HJTransfer(Mat P, MatInfoType which, MatInfo *info)
{
  const Mat_HJTransfer *tr      = (Mat_HJTransfer *)P->data;
  const HJTransfer     *t       = &tr->transfer;
  PetscLogDouble        entries = t->fine.dof, bytes = 0.0;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    const PetscInt lo = t->fine_start[d], hi = lo + HJBoxWidth(&t->fine.owned, d);

    entries *= (hi - lo) + (t->factor[d] == 2 ? (hi + t->first[d]) / 2 - (lo + t->first[d]) / 2 : 0) -
               (HJTransferBegins(t, d) && !lo ? 1 : 0) - (HJTransferHangs(t, d) && hi == t->fine.N[d] ? 1 : 0);
  }
  if (tr->host) bytes += (PetscLogDouble)HJTransfersBytes(tr->host);
  if (tr->device) bytes += (PetscLogDouble)HJTransfersBytes(tr->device);
  for (int s = 0; s < 2; s++)
    if (tr->reader[s]) bytes += (PetscLogDouble)HJGalerkinsBytes(tr->reader[s]);
  PetscCall(HJMatSumInfo(P, which, entries, bytes, tr->aij, info));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJTransferViewGrid(const char *what, PetscInt dim, const PetscInt n[3], PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s", what));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  for (PetscInt d = 0; d < dim; d++) PetscCall(PetscViewerASCIIPrintf(viewer, "%s%" PetscInt_FMT, d ? "x" : " ", n[d]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_HJTransfer(Mat P, PetscViewer viewer)
{
  const Mat_HJTransfer *tr  = (Mat_HJTransfer *)P->data;
  const HJTransfer     *t   = &tr->transfer;
  const PetscInt        dim = t->fine.dim;
  PetscViewerFormat     format;
  PetscBool             ascii;
  Mat                   aij = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (ascii && (format == PETSC_VIEWER_ASCII_INFO || format == PETSC_VIEWER_ASCII_INFO_DETAIL)) {
    PetscCall(HJTransferViewGrid(tr->variable ? "interpolation, coefficients from the rows of a matrix: coarse grid"
                                              : "interpolation, no entries stored: coarse grid",
                                 dim, t->coarse.N, viewer));
    PetscCall(HJTransferViewGrid("fine grid", dim, t->fine.N, viewer));
    PetscCall(HJTransferViewGrid("refinement", dim, t->factor, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJTransferGetAIJ(P, &aij));
  PetscCall(MatView(aij, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHJTransferGetTransfer_HJTransfer(Mat P, const HJTransfer **t)
{
  PetscFunctionBegin;
  *t = &((Mat_HJTransfer *)P->data)->transfer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* (A + A^T) / 2 */
static PetscErrorCode HJTransferSymmetricPart(Mat A, Mat *S)
{
  PetscFunctionBegin;
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, S));
  PetscCall(MatAXPY(*S, 1.0, A, SAME_NONZERO_PATTERN));
  PetscCall(MatScale(*S, 0.5));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What reads the rows of matrices on the fine grid around the points of this rank. Where a period of an odd number of points closes these
   are those beside the first and the last point too, by way of which other points are coupled */
static PetscErrorCode HJTransferGetReader(Mat P, const HJArrayOps *ops, HJGalerkins **reader)
{
  Mat_HJTransfer *tr = (Mat_HJTransfer *)P->data;
  HJTransfer      t  = tr->transfer;
  HJExchange      exchange;

  PetscFunctionBegin;
  if (*reader) PetscFunctionReturn(PETSC_SUCCESS);
  t.points = t.fine.domain;
  PetscCall(HJMatChooseExchange(tr->fine, ops->backend, &exchange));
  PetscCall(HJGalerkinsCreate(tr->fine, &t, exchange, reader));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bilinear, whatever it was */
static PetscErrorCode HJTransferDropCoefficients(Mat_HJTransfer *tr)
{
  PetscFunctionBegin;
  if (tr->host) PetscCall(HJTransfersSetCoefficients(tr->host, NULL));
  if (tr->device) PetscCall(HJTransfersSetCoefficients(tr->device, NULL));
  tr->variable = NULL;
  for (int s = 0; s < 2; s++) PetscCall(HJGalerkinsDestroy(&tr->reader[s]));
  PetscCall(MatDestroy(&tr->aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* See HJSetInterpolation */
static PetscErrorCode MatHJTransferSetInterpolation_HJTransfer(Mat P, Mat A, PetscBool symmetric, PetscReal limit, HJJump *jump)
{
  Mat_HJTransfer   *tr = (Mat_HJTransfer *)P->data;
  const HJArrayOps *ops, *same;
  HJCoefficients   *a, *s;
  HJTransfers      *op      = NULL, *other;
  Mat               S       = A;
  PetscBool         on_grid = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(jump, sizeof(*jump)));
  if (!A) {
    PetscCall(HJTransferDropCoefficients(tr));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJTransferIsOnGrid(P, A, &on_grid));
  PetscCheck(on_grid, PetscObjectComm((PetscObject)P), PETSC_ERR_ARG_SIZ, "The matrix is not on the grid that is interpolated to");
  PetscCall(HJMatGetHome(A, &ops, &a));
  s = a;
  for (int r = 0; r < (symmetric ? 1 : 2); r++) PetscCall(HJTransferGetReader(P, ops, &tr->reader[r]));
  if (!symmetric) {
    PetscCall(HJTransferSymmetricPart(A, &S));
    PetscCall(HJMatGetHome(S, &same, &s));
  }
  tr->variable = NULL; /* nothing is to be copied from the old ones */
  PetscCall(HJTransferGetOps(P, (PetscBool)!PetscMemTypeHost(ops->backend->mtype), &op));
  PetscCall(HJGalerkinsInterpolation(tr->reader, ops, (const HJCoefficients *const[]){a, s}, op, limit, jump));
  if (jump->largest > limit) tr->variable = op;
  other = op == tr->host ? tr->device : tr->host;
  if (other) PetscCall(HJTransfersSetCoefficients(other, NULL)); /* copied again when it is used */
  PetscCall(MatDestroy(&tr->aij));
  if (!symmetric) PetscCall(MatDestroy(&S));
  PetscCall(PetscObjectStateIncrease((PetscObject)P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetUp_HJTransfer(Mat P)
{
  PetscFunctionBegin;
  PetscCheck(((Mat_HJTransfer *)P->data)->fine, PetscObjectComm((PetscObject)P), PETSC_ERR_ARG_WRONGSTATE,
             "A matrix of type " MATHJTRANSFER " is made by DMCreateInterpolation() between DMDAs with -dm_mat_type " MATHJSTENCIL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDestroy_HJTransfer(Mat P)
{
  Mat_HJTransfer *tr = (Mat_HJTransfer *)P->data;

  PetscFunctionBegin;
  for (int s = 0; s < 2; s++) PetscCall(HJGalerkinsDestroy(&tr->reader[s]));
  PetscCall(HJTransfersDestroy(&tr->host));
  PetscCall(HJTransfersDestroy(&tr->device));
  PetscCall(VecDestroy(&tr->keep));
  PetscCall(HJLayoutFree(&tr->columns));
  PetscCall(MatDestroy(&tr->aij));
  PetscCall(DMDestroy(&tr->coarse));
  PetscCall(DMDestroy(&tr->fine));
  PetscCall(PetscObjectComposeFunction((PetscObject)P, HJ_GET_TRANSFER, NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)P, HJ_HAS_COEFFICIENTS, NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)P, HJ_GET_TRANSFERS, NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)P, HJ_SET_INTERPOLATION, NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)P, "MatProductSetFromOptions_anytype_C", NULL));
  PetscCall(PetscFree(P->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MATHJTRANSFER - "hjtransfer", the interpolation between two `DMDA` as a matrix without entries

   Level: intermediate

   Notes:
   `DMCreateInterpolation()` makes it between two `DMDA` whose matrices are of type `MATHJSTENCIL`, once one such matrix was made on the
   coarse `DMDA`, or on one that it was coarsened or refined from. It is `DMDA`'s own interpolation (`DMDA_Q1`) where each direction is
   refined by 1 or 2; any other interpolation stays the `MATAIJ` that PETSc makes, and `-info`
   says why.

   Several degrees of freedom at a point are interpolated alike, each by itself.

   `MatPtAP()` of a `MATHJSTENCIL` with it is again one. That of `PCHJMG` may have coefficients of its own at every fine point, from the
   rows of a matrix; see `PCHJMGSetTransfer()`.

   It multiplies, also transposed, where the vectors are, on the host or a GPU; between GPUs its halos travel as those of a `MATHJSTENCIL`
   on the fine `DMDA` do (`-hj_exchange`). What needs compressed rows (submatrices, products with other matrices, norms, views
   of all entries) makes an AIJ copy when it is called for the first time, which is kept.

.seealso: `Mat`, `MATHJSTENCIL`, `DMDA`, `DMCreateInterpolation()`, `MatInterpolate()`, `MatRestrict()`, `PCMG`
M*/
static PetscErrorCode MatCreate_HJTransfer(Mat P)
{
  Mat_HJTransfer *tr;

  PetscFunctionBegin;
  PetscCall(PetscNew(&tr));
  P->data                   = tr;
  P->stash.blocktype        = MPI_DATATYPE_NULL; /* MatSetOption() frees it with MAT_SUBSET_OFF_PROC_ENTRIES */
  P->ops->mult              = MatMult_HJTransfer;
  P->ops->multadd           = MatMultAdd_HJTransfer;
  P->ops->multtranspose     = MatMultTranspose_HJTransfer;
  P->ops->multtransposeadd  = MatMultTransposeAdd_HJTransfer;
  P->ops->getrow            = MatGetRow_HJTransfer;
  P->ops->restorerow        = MatRestoreRow_HJStencil;
  P->ops->convert           = MatConvert_HJTransfer;
  P->ops->createsubmatrix   = MatCreateSubMatrix_HJTransfer;
  P->ops->createsubmatrices = MatCreateSubMatrices_HJTransfer;
  P->ops->setvalues         = MatSetValues_HJTransfer;
  P->ops->scale             = MatScale_HJTransfer;
  P->ops->diagonalscale     = MatDiagonalScale_HJTransfer;
  P->ops->zeroentries       = HJTransferRefuseChange;
  P->ops->transpose         = MatTranspose_HJTransfer;
  P->ops->norm              = MatNorm_HJTransfer;
  P->ops->duplicate         = MatDuplicate_HJTransfer;
  P->ops->bindtocpu         = MatBindToCPU_HJTransfer;
  P->ops->getinfo           = MatGetInfo_HJTransfer;
  P->ops->view              = MatView_HJTransfer;
  P->ops->setup             = MatSetUp_HJTransfer;
  P->ops->destroy           = MatDestroy_HJTransfer;
  PetscCall(PetscObjectComposeFunction((PetscObject)P, HJ_GET_TRANSFER, MatHJTransferGetTransfer_HJTransfer));
  PetscCall(PetscObjectComposeFunction((PetscObject)P, HJ_SET_INTERPOLATION, MatHJTransferSetInterpolation_HJTransfer));
  PetscCall(PetscObjectComposeFunction((PetscObject)P, HJ_HAS_COEFFICIENTS, HJTransferHasCoefficients));
  PetscCall(PetscObjectComposeFunction((PetscObject)P, HJ_GET_TRANSFERS, HJTransferGetOps));
  PetscCall(PetscObjectComposeFunction((PetscObject)P, "MatProductSetFromOptions_anytype_C", MatProductSetFromOptions_HJStencil));
  PetscCall(MatBindToCPU_HJTransfer(P, PETSC_FALSE)); /* MatCreate() binds */
  PetscCall(PetscObjectChangeTypeName((PetscObject)P, MATHJTRANSFER));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatCreateTransfer(DM coarse, DM fine, const HJTransfer *t, Mat *P)
{
  Mat_HJTransfer *tr;
  HJTransfers    *op = NULL;
  VecType         vectype;
  PetscBool       device = PETSC_FALSE;
  const PetscInt  nf = (PetscInt)HJBoxSize(&t->fine.owned), nc = (PetscInt)HJBoxSize(&t->coarse.owned);
  PetscInt        dof;

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)fine), P));
  PetscCall(DMDAGetDof(fine, &dof));
  PetscCall(MatSetSizes(*P, dof * nf, dof * nc, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*P, MATHJTRANSFER));
  PetscCall(PetscLayoutSetUp((*P)->rmap));
  PetscCall(PetscLayoutSetUp((*P)->cmap));
  PetscCall(DMGetVecType(fine, &vectype));
  PetscCall(MatSetVecType(*P, vectype));
  tr = (Mat_HJTransfer *)(*P)->data;
  PetscCall(PetscObjectReference((PetscObject)coarse));
  PetscCall(PetscObjectReference((PetscObject)fine));
  tr->coarse   = coarse;
  tr->fine     = fine;
  tr->transfer = *t;
  PetscCall(HJLayoutSet(coarse, &t->coarse, (*P)->cmap, &tr->columns));
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(HJVecTypeOnDevice(vectype, &device));
  PetscCall(HJTransferIsBound(coarse, fine, t, &tr->host_only));
  if (tr->host_only) device = PETSC_FALSE;
#endif
  PetscCall(HJTransferGetOps(*P, device, &op));
  (*P)->preallocated = PETSC_TRUE;
  (*P)->assembled    = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferRegister(void)
{
  PetscFunctionBegin;
  PetscCall(MatRegister(MATHJTRANSFER, MatCreate_HJTransfer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

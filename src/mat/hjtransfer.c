/*
   MATHJTRANSFER: DMDA's interpolation as a matrix without entries. Decides where DMCreateInterpolation() makes one: between DMDAs whose
   matrices are stencil matrices.
*/
#include "hjmat.h"
#include "../operator/hjtransfers.h"
#include <petsc/private/dmimpl.h>
#include <petscdevice.h>

/* Coarse points around a fine one, at most */
#define HJ_MAX_PARENTS 8

typedef struct {
  DM           coarse, fine;
  HJTransfer   transfer;
  HJTransfers *host, *device; /* for vectors there; the first is made with the matrix, the other when it is first needed */
  PetscBool    host_only;     /* some rank has vectors that are bound to the CPU */
  PetscBool    stars;         /* see HJMatTransferSetStars() */
  HJLayout     columns;
  Mat          aij; /* made when something needs rows as CSR */
  PetscInt     row_columns[HJ_MAX_PARENTS];
  PetscScalar  row_values[HJ_MAX_PARENTS];
} Mat_HJTransfer;

typedef PetscErrorCode (*HJCreateInterpolation)(DM, DM, Mat *, Vec *);

/* Halo and backend for vectors in one memory. Collective where they are not there yet */
static PetscErrorCode HJTransferGetOps(Mat P, PetscBool device, HJTransfers **op)
{
  Mat_HJTransfer     *tr   = (Mat_HJTransfer *)P->data;
  const HJBackendOps *ops  = &HJBackendHost;
  HJTransfers       **here = device ? &tr->device : &tr->host;
  HJExchange          exchange;

  PetscFunctionBegin;
  if (!*here) {
#if defined(HJACOBI_HAVE_CUDA)
    if (device) {
  #if PetscDefined(HAVE_CUDA)
      PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA)); /* PETSc says which GPU is this rank's */
  #endif
      ops = &HJBackendCUDA;
    }
#endif
    PetscCall(HJMatChooseExchange(tr->fine, ops, &exchange));
    PetscCall(HJTransfersCreate(tr->coarse, tr->fine, &tr->transfer, ops, exchange, here));
  }
  *op = *here;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(HJACOBI_HAVE_CUDA)
/* Whether PETSc binds a rank's vectors to the CPU because they are short: that may differ from rank to rank. Collective */
static PetscErrorCode HJTransferIsBound(DM coarse, DM fine, const HJTransfer *t, PetscBool *bound)
{
  int mine = HJBoxSize(&t->coarse.owned) < coarse->bind_below || HJBoxSize(&t->fine.owned) < fine->bind_below;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_LOR, PetscObjectComm((PetscObject)fine)));
  *bound = (PetscBool)mine;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the vector's values are to be used on the device */
static PetscErrorCode HJVecIsOnDevice(Vec v, PetscBool *device)
{
  PetscBool bound = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)v, device, VECSEQCUDA, VECMPICUDA, VECCUDA, ""));
  PetscCall(VecBoundToCPU(v, &bound));
  *device = (PetscBool)(*device && !bound);
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
  PetscCall(HJVecIsOnDevice(x, &on[0]));
  if (b && b != y) PetscCall(HJVecIsOnDevice(b, &on[1]));
  PetscCall(HJVecIsOnDevice(y, &on[2]));
#endif
  PetscCall(HJTransferGetOps(P, (PetscBool)(on[0] && on[1] && on[2] && !bound && !((Mat_HJTransfer *)P->data)->host_only), &op));
  PetscCall(HJTransfersApply(op, transpose, x, b, y));
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

/* Adds to the entry of a column, or makes one in the order of columns */
static void HJRowAdd(PetscInt *n, PetscInt *columns, PetscScalar *values, PetscInt column, PetscScalar v)
{
  PetscInt q = 0;

  while (q < *n && columns[q] < column) q++;
  if (q < *n && columns[q] == column) {
    values[q] += v;
    return;
  }
  for (PetscInt e = (*n)++; e > q; e--) {
    columns[e] = columns[e - 1];
    values[e]  = values[e - 1];
  }
  columns[q] = column;
  values[q]  = v;
}

static PetscErrorCode MatGetRow_HJTransfer(Mat P, PetscInt row, PetscInt *n, PetscInt **columns, PetscScalar **values)
{
  Mat_HJTransfer   *tr   = (Mat_HJTransfer *)P->data;
  const HJTransfer *t    = &tr->transfer;
  PetscInt          left = row - P->rmap->rstart, first[3], number[3], count = 0;

  PetscFunctionBegin;
  PetscCheck(left >= 0 && left < P->rmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Row %" PetscInt_FMT " is another rank's; this one has the rows %" PetscInt_FMT " to %" PetscInt_FMT, row, P->rmap->rstart,
             P->rmap->rend - 1);
  for (int d = 0; d < 3; d++) {
    const PetscInt width = HJBoxWidth(&t->fine.owned, d), at = t->fine_start[d] + left % width;

    left /= width;
    first[d]  = at / t->factor[d];
    number[d] = at % t->factor[d] ? 2 : 1;
  }
  for (PetscInt c = 0; c < number[0] * number[1] * number[2]; c++) {
    const PetscInt at[3] = {first[0] + c % number[0], first[1] + c / number[0] % number[1], first[2] + c / number[0] / number[1]};

    HJRowAdd(&count, tr->row_columns, tr->row_values, HJLayoutRow(&tr->columns, at), 1.0 / (number[0] * number[1] * number[2]));
  }
  *n = count;
  if (columns) *columns = tr->row_columns;
  if (values) *values = tr->row_values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJTransferPreallocate(Mat P, Mat B)
{
  PetscInt *own, *other;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(P->rmap->n, &own, P->rmap->n, &other));
  for (PetscInt r = 0; r < P->rmap->n; r++) {
    PetscInt n, *columns;

    PetscCall(MatGetRow_HJTransfer(P, P->rmap->rstart + r, &n, &columns, NULL));
    for (PetscInt e = 0; e < n; e++) {
      if (columns[e] >= P->cmap->rstart && columns[e] < P->cmap->rend) own[r]++;
      else other[r]++;
    }
  }
  PetscCall(MatSeqAIJSetPreallocation(B, 0, own));
  PetscCall(MatMPIAIJSetPreallocation(B, 0, own, 0, other));
  PetscCall(PetscFree2(own, other));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix of type AIJ, or one that is derived from it, with all entries */
static PetscErrorCode HJTransferCreateAIJ(Mat P, MatType type, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)P), B));
  PetscCall(MatSetSizes(*B, P->rmap->n, P->cmap->n, P->rmap->N, P->cmap->N));
  PetscCall(MatSetType(*B, type));
  PetscCall(HJTransferPreallocate(P, *B));
  for (PetscInt r = P->rmap->rstart; r < P->rmap->rend; r++) {
    PetscInt     n, *columns;
    PetscScalar *values;

    PetscCall(MatGetRow_HJTransfer(P, r, &n, &columns, &values));
    PetscCall(MatSetValues(*B, 1, &r, n, columns, values, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferGetAIJ(Mat P, Mat *aij)
{
  Mat_HJTransfer *tr = (Mat_HJTransfer *)P->data;

  PetscFunctionBegin;
  if (!tr->aij) {
    PetscCall(PetscInfo(P, "The interpolation is also kept as AIJ, for an operation that needs its rows\n"));
    PetscCall(HJTransferCreateAIJ(P, MATAIJ, &tr->aij));
  }
  *aij = tr->aij;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferGetCoarse(Mat P, DM *coarse)
{
  PetscFunctionBegin;
  *coarse = ((Mat_HJTransfer *)P->data)->coarse;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatTransferSetStars(Mat P, PetscBool stars)
{
  PetscFunctionBegin;
  ((Mat_HJTransfer *)P->data)->stars = stars;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferGetStars(Mat P, PetscBool *stars)
{
  PetscFunctionBegin;
  *stars = ((Mat_HJTransfer *)P->data)->stars;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatConvert_HJTransfer(Mat P, MatType type, MatReuse reuse, Mat *out)
{
  Mat B, aij = NULL;

  PetscFunctionBegin;
  PetscCall(HJTransferGetAIJ(P, &aij));
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatConvert(aij, type, MAT_REUSE_MATRIX, out));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatConvert(aij, type, MAT_INITIAL_MATRIX, &B));
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(P, &B));
  else *out = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateSubMatrix_HJTransfer(Mat P, IS rows, IS columns, MatReuse reuse, Mat *sub)
{
  Mat aij = NULL;

  PetscFunctionBegin;
  PetscCall(HJTransferGetAIJ(P, &aij));
  PetscCall(MatCreateSubMatrix(aij, rows, columns, reuse, sub));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTranspose_HJTransfer(Mat P, MatReuse reuse, Mat *T)
{
  Mat aij = NULL;

  PetscFunctionBegin;
  PetscCheck(reuse != MAT_INPLACE_MATRIX, PetscObjectComm((PetscObject)P), PETSC_ERR_SUP,
             "A matrix of type " MATHJTRANSFER " cannot become its transpose; use MAT_INITIAL_MATRIX, or MatMultTranspose()");
  PetscCall(HJTransferGetAIJ(P, &aij));
  PetscCall(MatTranspose(aij, reuse, T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatNorm_HJTransfer(Mat P, NormType type, PetscReal *norm)
{
  Mat aij = NULL;

  PetscFunctionBegin;
  PetscCall(HJTransferGetAIJ(P, &aij));
  PetscCall(MatNorm(aij, type, norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_HJTransfer(Mat P, MatDuplicateOption op, Mat *Q)
{
  const Mat_HJTransfer *tr = (Mat_HJTransfer *)P->data;

  PetscFunctionBegin;
  PetscCall(HJMatCreateTransfer(tr->coarse, tr->fine, &tr->transfer, Q));
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

/* Every fine point between coarse ones has two parents in a direction, the others one */
static PetscErrorCode MatGetInfo_HJTransfer(Mat P, MatInfoType which, MatInfo *info)
{
  const Mat_HJTransfer *tr      = (Mat_HJTransfer *)P->data;
  const HJTransfer     *t       = &tr->transfer;
  PetscLogDouble        mine[2] = {1.0, 0.0}, all[2];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    const PetscInt lo = t->fine_start[d], hi = lo + HJBoxWidth(&t->fine.owned, d);

    mine[0] *= (hi - lo) + (t->factor[d] == 2 ? hi / 2 - lo / 2 : 0);
  }
  for (int s = 0; s < 2; s++) {
    if (tr->host) mine[1] += (PetscLogDouble)tr->host->side[s].shell.size * sizeof(PetscScalar);
    if (tr->device) mine[1] += (PetscLogDouble)tr->device->side[s].shell.size * sizeof(PetscScalar);
  }
  if (tr->aij) {
    MatInfo rows;

    PetscCall(MatGetInfo(tr->aij, MAT_LOCAL, &rows));
    mine[1] += rows.nz_allocated * (sizeof(PetscScalar) + sizeof(PetscInt)) + (PetscLogDouble)(P->rmap->n + 1) * sizeof(PetscInt);
  }
  PetscCall(PetscArraycpy(all, mine, 2));
  if (which != MAT_LOCAL)
    PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_DOUBLE, which == MAT_GLOBAL_MAX ? MPI_MAX : MPI_SUM, PetscObjectComm((PetscObject)P)));
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->block_size   = 1.0;
  info->nz_allocated = info->nz_used = all[0];
  info->memory                       = all[1];
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
    PetscCall(HJTransferViewGrid("interpolation, no entries stored: coarse grid", dim, t->coarse.N, viewer));
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
  PetscCall(HJTransfersDestroy(&tr->host));
  PetscCall(HJTransfersDestroy(&tr->device));
  PetscCall(HJLayoutFree(&tr->columns));
  PetscCall(MatDestroy(&tr->aij));
  PetscCall(DMDestroy(&tr->coarse));
  PetscCall(DMDestroy(&tr->fine));
  PetscCall(PetscObjectComposeFunction((PetscObject)P, HJ_GET_TRANSFER, NULL));
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
   refined by 1 or 2 and there is one degree of freedom a point; any other interpolation stays the `MATAIJ` that PETSc makes, and `-info`
   says why.

   `MatPtAP()` of a `MATHJSTENCIL` with it is again one.

   It multiplies, also transposed, where the vectors are, on the host or a GPU; between GPUs its halos travel as those of a `MATHJSTENCIL`
   on the fine `DMDA` do (`-mat_hjstencil_exchange`). What needs compressed rows (submatrices, products with
   other matrices, norms, views of all entries) makes an AIJ copy when it is called for the first time, which is kept.

.seealso: `Mat`, `MATHJSTENCIL`, `DMDA`, `DMCreateInterpolation()`, `MatInterpolate()`, `MatRestrict()`, `PCMG`
M*/
static PetscErrorCode MatCreate_HJTransfer(Mat P)
{
  Mat_HJTransfer *tr;

  PetscFunctionBegin;
  PetscCall(PetscNew(&tr));
  P->data                  = tr;
  P->ops->mult             = MatMult_HJTransfer;
  P->ops->multadd          = MatMultAdd_HJTransfer;
  P->ops->multtranspose    = MatMultTranspose_HJTransfer;
  P->ops->multtransposeadd = MatMultTransposeAdd_HJTransfer;
  P->ops->getrow           = MatGetRow_HJTransfer;
  P->ops->restorerow       = MatRestoreRow_HJStencil;
  P->ops->convert          = MatConvert_HJTransfer;
  P->ops->createsubmatrix  = MatCreateSubMatrix_HJTransfer;
  P->ops->transpose        = MatTranspose_HJTransfer;
  P->ops->norm             = MatNorm_HJTransfer;
  P->ops->duplicate        = MatDuplicate_HJTransfer;
  P->ops->bindtocpu        = MatBindToCPU_HJTransfer;
  P->ops->getinfo          = MatGetInfo_HJTransfer;
  P->ops->view             = MatView_HJTransfer;
  P->ops->setup            = MatSetUp_HJTransfer;
  P->ops->destroy          = MatDestroy_HJTransfer;
  PetscCall(PetscObjectComposeFunction((PetscObject)P, HJ_GET_TRANSFER, MatHJTransferGetTransfer_HJTransfer));
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

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)fine), P));
  PetscCall(MatSetSizes(*P, nf, nc, PETSC_DETERMINE, PETSC_DETERMINE));
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
  PetscCall(PetscStrcmpAny(vectype, &device, VECSEQCUDA, VECMPICUDA, VECCUDA, ""));
  PetscCall(HJTransferIsBound(coarse, fine, t, &tr->host_only));
  if (tr->host_only) device = PETSC_FALSE;
#endif
  PetscCall(HJTransferGetOps(*P, device, &op));
  (*P)->preallocated = PETSC_TRUE;
  (*P)->assembled    = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The function that every new DMDA has */
static PetscErrorCode HJTransferGetDMDAs(HJCreateInterpolation *own)
{
  static HJCreateInterpolation known = NULL;

  PetscFunctionBegin;
  if (!known) {
    DM da;

    PetscCall(DMCreate(PETSC_COMM_SELF, &da));
    PetscCall(DMSetType(da, DMDA));
    known = da->ops->createinterpolation;
    PetscCall(DMDestroy(&da));
  }
  *own = known;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the place of DMDA's own */
static PetscErrorCode DMCreateInterpolation_HJ(DM coarse, DM fine, Mat *P, Vec *scale)
{
  HJCreateInterpolation own;
  HJTransfer            transfer;
  PetscBool             ours = PETSC_FALSE, same[3] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};
  char                  reason[256] = "the matrices of the two DMs are not both of type " MATHJSTENCIL;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)fine, DMDA, &same[0]));
  PetscCall(PetscStrcmp(coarse->mattype, MATHJSTENCIL, &same[1]));
  PetscCall(PetscStrcmp(fine->mattype, MATHJSTENCIL, &same[2]));
  if (same[0] && same[1] && same[2]) {
    PetscCall(HJTransferSet(coarse, fine, &transfer, reason, sizeof(reason)));
    ours = (PetscBool)!reason[0];
  }
  if (!ours) {
    PetscCall(PetscInfo(fine, "The interpolation is DMDA's AIJ, not " MATHJTRANSFER ": %s\n", reason));
    PetscCall(HJTransferGetDMDAs(&own));
    PetscCall((*own)(coarse, fine, P, scale));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMatCreateTransfer(coarse, fine, &transfer, P));
  if (scale) PetscCall(DMCreateInterpolationScale(coarse, fine, *P, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To a DM that was coarsened or refined from one that has it */
static PetscErrorCode HJTransferInherit(DM from, DM da, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(HJTransferSetInterpolation(da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferSetInterpolation(DM da)
{
  HJCreateInterpolation own;
  PetscBool             isda;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)da, DMDA, &isda));
  if (!isda) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJTransferGetDMDAs(&own));
  if (da->ops->createinterpolation == own) da->ops->createinterpolation = DMCreateInterpolation_HJ; /* not where SNESVI has put its own */
  PetscCall(DMCoarsenHookAdd(da, HJTransferInherit, NULL, NULL));
  PetscCall(DMRefineHookAdd(da, HJTransferInherit, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferRegister(void)
{
  PetscFunctionBegin;
  PetscCall(MatRegister(MATHJTRANSFER, MatCreate_HJTransfer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

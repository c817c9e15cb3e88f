/*
   MATHJTRANSFER: DMDA's interpolation as a matrix without entries. Decides where DMCreateInterpolation() makes one: between DMDAs whose
   matrices are stencil matrices.
*/
#include "hjmat.h"
#include "../operator/hjtransfers.h"
#include "../core/hjweights.h"
#include <petsc/private/dmimpl.h>

/* Coarse points around a fine one, at most */
#define HJ_MAX_PARENTS 8

typedef struct {
  DM           coarse, fine;
  HJTransfer   transfer;
  HJTransfers *host, *device; /* for vectors there; the first is made with the matrix, the other when it is first needed */
  PetscBool    host_only;     /* some rank has vectors that are bound to the CPU */
  HJTransfers *weighted;      /* the one of the two whose weights the other copies; NULL: bilinear */
  HJGalerkins *reader[2];     /* of the rows that weights came from, and of their symmetric part; made when they are first needed */
  PetscBool    stars;         /* see HJMatTransferSetStars() */
  HJLayout     columns;
  Mat          aij; /* made when something needs rows as CSR */
  PetscInt     row_columns[HJ_MAX_PARENTS];
  PetscScalar  row_values[HJ_MAX_PARENTS];
} Mat_HJTransfer;

typedef PetscErrorCode (*HJCreateInterpolation)(DM, DM, Mat *, Vec *);

/* The weights that the object for the other memory has. Collective */
static PetscErrorCode HJTransferCopyWeights(const HJTransfers *from, HJTransfers *to)
{
  const PetscCount n = HJColumnsSlots(&from->transfer) * HJBoxSize(&from->transfer.coarse.owned);
  PetscScalar     *host;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &host));
  PetscCall(from->ops->copy(NULL, host, from->weight, n));
  PetscCall(HJTransfersSetWeights(to, host));
  PetscCall(PetscFree(host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
    if (device) ops = &HJBackendCUDA;
#endif
    PetscCall(HJMatChooseExchange(tr->fine, ops, &exchange));
    PetscCall(HJTransfersCreate(tr->coarse, tr->fine, &tr->transfer, ops, exchange, here));
  }
  if (tr->weighted && !(*here)->weight) PetscCall(HJTransferCopyWeights(tr->weighted, *here));
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

/* What a coarse point gives to a fine one, both by their global coordinates; false: there is no such coarse point */
static PetscBool HJTransferWeight(const HJTransfer *t, const HJColumns *w, const PetscInt fine[3], const PetscInt coarse[3], PetscScalar *v)
{
  PetscInt c[3];
  int      p[3];
  HJColumn column;

  for (int d = 0; d < 3; d++) {
    c[d] = coarse[d] - t->coarse_start[d];
    p[d] = (int)(fine[d] - t->factor[d] * coarse[d]);
  }
  if (!HJPointInside(&t->coarse.domain, c[0], c[1], c[2])) return PETSC_FALSE;
  column = HJColumnsAt(w, c[0], c[1], c[2]);
  *v     = column.at[HJColumnsSlot(w, p[0], p[1], p[2]) * column.stride];
  return PETSC_TRUE;
}

static PetscErrorCode MatGetRow_HJTransfer(Mat P, PetscInt row, PetscInt *n, PetscInt **columns, PetscScalar **values)
{
  Mat_HJTransfer   *tr   = (Mat_HJTransfer *)P->data;
  const HJTransfer *t    = &tr->transfer;
  PetscInt          left = row - P->rmap->rstart, first[3], number[3], place[3], count = 0;
  PetscReal         weight = 1.0;
  HJColumns         w      = {.nslots = 0};

  PetscFunctionBegin;
  PetscCheck(left >= 0 && left < P->rmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Row %" PetscInt_FMT " is another rank's; this one has the rows %" PetscInt_FMT " to %" PetscInt_FMT, row, P->rmap->rstart,
             P->rmap->rend - 1);
  for (int d = 0; d < 3; d++) {
    const PetscInt width = HJBoxWidth(&t->fine.owned, d), at = t->fine_start[d] + left % width;

    left /= width;
    place[d]  = at;
    first[d]  = at / t->factor[d];
    number[d] = at % t->factor[d] ? 2 : 1;
    if (number[d] == 2) weight *= 0.5;
    if (HJTransferHangs(t, d) && at == t->fine.N[d] - 1) {
      number[d] = 1;
      weight *= 2.0 * t->last[d];
    }
  }
  if (tr->weighted) {
    PetscCheck(tr->host && tr->host->weight, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "The weights of this interpolation are on the GPU alone; call MatConvert() to " MATAIJ " for its rows");
    w = HJColumnsSet(t, &tr->host->ghosts[0].shell, tr->host->weight, tr->host->weight_ghost);
  }
  for (PetscInt c = 0; c < number[0] * number[1] * number[2]; c++) {
    const PetscInt at[3] = {first[0] + c % number[0], first[1] + c / number[0] % number[1], first[2] + c / number[0] / number[1]};

    PetscScalar v = weight;

    if (tr->weighted && !HJTransferWeight(t, &w, place, at, &v)) continue;
    HJRowAdd(&count, tr->row_columns, tr->row_values, HJLayoutRow(&tr->columns, at), v);
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
  Mat_HJTransfer *tr   = (Mat_HJTransfer *)P->data;
  HJTransfers    *host = NULL;

  PetscFunctionBegin;
  if (!tr->aij) {
    if (tr->weighted) PetscCall(HJTransferGetOps(P, PETSC_FALSE, &host));
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

static PetscErrorCode MatCreateSubMatrices_HJTransfer(Mat P, PetscInt n, const IS rows[], const IS columns[], MatReuse reuse, Mat *sub[])
{
  Mat aij = NULL;

  PetscFunctionBegin;
  PetscCall(HJTransferGetAIJ(P, &aij));
  PetscCall(MatCreateSubMatrices(aij, n, rows, columns, reuse, sub));
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
  if (tr->weighted) {
    Mat_HJTransfer *copy = (Mat_HJTransfer *)(*Q)->data;
    HJTransfers    *to   = NULL;

    PetscCall(HJTransferGetOps(*Q, (PetscBool)(tr->weighted == tr->device), &to));
    PetscCall(HJTransferCopyWeights(tr->weighted, to));
    copy->weighted = to;
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
  PetscLogDouble        entries = 1.0, bytes = 0.0;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    const PetscInt lo = t->fine_start[d], hi = lo + HJBoxWidth(&t->fine.owned, d);

    entries *= (hi - lo) + (t->factor[d] == 2 ? hi / 2 - lo / 2 : 0) - (HJTransferHangs(t, d) && hi == t->fine.N[d] ? 1 : 0);
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
    PetscCall(HJTransferViewGrid(tr->weighted ? "interpolation, weights from the rows of a matrix: coarse grid"
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

/* What reads the rows of matrices on the fine grid around the points of this rank */
static PetscErrorCode HJTransferGetReader(Mat P, const HJArrayOps *ops, HJGalerkins **reader)
{
  Mat_HJTransfer *tr = (Mat_HJTransfer *)P->data;
  HJExchange      exchange;

  PetscFunctionBegin;
  if (*reader) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMatChooseExchange(tr->fine, ops->backend, &exchange));
  PetscCall(HJGalerkinsCreate(tr->fine, &tr->transfer, exchange, reader));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bilinear, whatever it was */
static PetscErrorCode HJTransferDropWeights(Mat_HJTransfer *tr)
{
  PetscFunctionBegin;
  if (tr->host) PetscCall(HJTransfersSetWeights(tr->host, NULL));
  if (tr->device) PetscCall(HJTransfersSetWeights(tr->device, NULL));
  tr->weighted = NULL;
  for (int s = 0; s < 2; s++) PetscCall(HJGalerkinsDestroy(&tr->reader[s]));
  PetscCall(MatDestroy(&tr->aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* See HJSetWeights */
static PetscErrorCode MatHJTransferSetWeights_HJTransfer(Mat P, Mat A, PetscBool symmetric, PetscReal limit, HJJump *jump)
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
    PetscCall(HJTransferDropWeights(tr));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJGalerkinSameGrid(A, P, &on_grid));
  PetscCheck(on_grid, PetscObjectComm((PetscObject)P), PETSC_ERR_ARG_SIZ, "The matrix is not on the grid that is interpolated to");
  PetscCall(HJMatGetHome(A, &ops, &a));
  s = a;
  for (int r = 0; r < (symmetric ? 1 : 2); r++) PetscCall(HJTransferGetReader(P, ops, &tr->reader[r]));
  if (!symmetric) {
    PetscCall(HJTransferSymmetricPart(A, &S));
    PetscCall(HJMatGetHome(S, &same, &s));
  }
  tr->weighted = NULL; /* nothing is to be copied from the old ones */
  PetscCall(HJTransferGetOps(P, (PetscBool)!PetscMemTypeHost(ops->backend->mtype), &op));
  PetscCall(HJGalerkinsWeights(tr->reader, ops, (const HJCoefficients *const[]){a, s}, op, limit, jump));
  if (jump->largest > limit) tr->weighted = op;
  other = op == tr->host ? tr->device : tr->host;
  if (other) PetscCall(HJTransfersSetWeights(other, NULL)); /* copied again when it is used */
  PetscCall(MatDestroy(&tr->aij));
  if (!symmetric) PetscCall(MatDestroy(&S));
  PetscCall(PetscObjectStateIncrease((PetscObject)P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferHasWeights(Mat P, PetscBool *has)
{
  PetscFunctionBegin;
  *has = (PetscBool) !!((Mat_HJTransfer *)P->data)->weighted;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferGetWeighted(Mat P, const HJArrayOps *ops, HJTransfers **op)
{
  PetscFunctionBegin;
  *op = NULL;
  if (((Mat_HJTransfer *)P->data)->weighted) PetscCall(HJTransferGetOps(P, (PetscBool)!PetscMemTypeHost(ops->backend->mtype), op));
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
  PetscCall(HJLayoutFree(&tr->columns));
  PetscCall(MatDestroy(&tr->aij));
  PetscCall(DMDestroy(&tr->coarse));
  PetscCall(DMDestroy(&tr->fine));
  PetscCall(PetscObjectComposeFunction((PetscObject)P, HJ_GET_TRANSFER, NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)P, HJ_HAS_WEIGHTS, NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)P, HJ_SET_WEIGHTS, NULL));
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

   `MatPtAP()` of a `MATHJSTENCIL` with it is again one. That of `PCHJMG` may have weights of its own at every fine point, from the rows
   of a matrix; see `PCHJMGSetTransfer()`.

   It multiplies, also transposed, where the vectors are, on the host or a GPU; between GPUs its halos travel as those of a `MATHJSTENCIL`
   on the fine `DMDA` do (`-mat_hjstencil_exchange`). What needs compressed rows (submatrices, products with other matrices, norms, views
   of all entries) makes an AIJ copy when it is called for the first time, which is kept.

.seealso: `Mat`, `MATHJSTENCIL`, `DMDA`, `DMCreateInterpolation()`, `MatInterpolate()`, `MatRestrict()`, `PCMG`
M*/
static PetscErrorCode MatCreate_HJTransfer(Mat P)
{
  Mat_HJTransfer *tr;

  PetscFunctionBegin;
  PetscCall(PetscNew(&tr));
  P->data                   = tr;
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
  PetscCall(PetscObjectComposeFunction((PetscObject)P, HJ_SET_WEIGHTS, MatHJTransferSetWeights_HJTransfer));
  PetscCall(PetscObjectComposeFunction((PetscObject)P, HJ_HAS_WEIGHTS, HJTransferHasWeights));
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
  PetscCall(HJVecTypeOnDevice(vectype, &device));
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
    PetscCall(HJTransferSet(coarse, fine, NULL, &transfer, reason, sizeof(reason)));
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

/*
   What is answered by the matrix as AIJ, which is made when one of these is called for the first time and follows the matrix afterwards.
*/
#include "hjmat.h"

static PetscErrorCode MatCreateSubMatrix_HJStencil(Mat A, IS rows, IS columns, MatReuse reuse, Mat *B)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(MatCreateSubMatrix(aij, rows, columns, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateSubMatrices_HJStencil(Mat A, PetscInt n, const IS rows[], const IS columns[], MatReuse reuse, Mat *B[])
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(MatCreateSubMatrices(aij, n, rows, columns, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateSubMatricesMPI_HJStencil(Mat A, PetscInt n, const IS rows[], const IS columns[], MatReuse reuse, Mat **B)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(MatCreateSubMatricesMPI(aij, n, rows, columns, reuse, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatInvertBlockDiagonal_HJStencil(Mat A, const PetscScalar **values)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(MatInvertBlockDiagonal(aij, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatInvertVariableBlockDiagonal_HJStencil(Mat A, PetscInt n, const PetscInt *sizes, PetscScalar *values)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(MatInvertVariableBlockDiagonal(aij, n, sizes, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatIncreaseOverlap_HJStencil(Mat A, PetscInt n, IS is[], PetscInt overlap)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(MatIncreaseOverlap(aij, n, is, overlap));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonalBlock_HJStencil(Mat A, Mat *block)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(MatGetDiagonalBlock(aij, block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetRowIJ_HJStencil(Mat A, PetscInt shift, PetscBool symmetric, PetscBool compressed, PetscInt *n,
                                            const PetscInt *i[], const PetscInt *j[], PetscBool *done)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(MatGetRowIJ(aij, shift, symmetric, compressed, n, i, j, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatRestoreRowIJ_HJStencil(Mat A, PetscInt shift, PetscBool symmetric, PetscBool compressed, PetscInt *n,
                                                const PetscInt *i[], const PetscInt *j[], PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(MatRestoreRowIJ(((Mat_HJStencil *)A->data)->aij, shift, symmetric, compressed, n, i, j, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Colours perturb and read AIJ's entries */
static PetscErrorCode MatFDColoringCreate_HJStencil(Mat A, ISColoring is, MatFDColoring color)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscUseTypeMethod(aij, fdcoloringcreate, is, color);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatFDColoringSetUp_HJStencil(Mat A, ISColoring is, MatFDColoring color)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscUseTypeMethod(aij, fdcoloringsetup, is, color);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatFDColoringApply_HJStencil(Mat A, MatFDColoring color, Vec x, void *ctx)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscUseTypeMethod(aij, fdcoloringapply, color, x, ctx);
  PetscCall(MatCopy(aij, A, SAME_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The product of the same matrices with AIJ in place of stencil matrices and interpolations; HJProductPutBack() gives back what was
   there */
static PetscErrorCode HJProductReplace(Mat C, Mat was[3])
{
  Mat *factors[3] = {&C->product->A, &C->product->B, &C->product->C};

  PetscFunctionBegin;
  for (int f = 0; f < 3; f++) {
    PetscBool stencil = PETSC_FALSE, transfer = PETSC_FALSE;

    was[f] = *factors[f];
    if (was[f]) PetscCall(PetscObjectTypeCompare((PetscObject)was[f], MATHJSTENCIL, &stencil));
    if (was[f]) PetscCall(PetscObjectTypeCompare((PetscObject)was[f], MATHJTRANSFER, &transfer));
    if (stencil) PetscCall(HJMatGetAIJ(was[f], factors[f]));
    if (transfer) PetscCall(HJTransferGetAIJ(was[f], factors[f]));
    if (*factors[f]) PetscCall(PetscObjectReference((PetscObject)*factors[f]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJProductPutBack(Mat C, Mat was[3])
{
  PetscFunctionBegin;
  if (!C->product) { /* it was cleared, and with it the references to what stood in their place */
    for (int f = 0; f < 3; f++) PetscCall(MatDestroy(&was[f]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatDestroy(&C->product->A));
  PetscCall(MatDestroy(&C->product->B));
  PetscCall(MatDestroy(&C->product->C));
  C->product->A = was[0];
  C->product->B = was[1];
  C->product->C = was[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A phase of AIJ's product, composed by that name, with AIJ in place of stencil matrices */
static PetscErrorCode HJProductCall(Mat C, const char name[])
{
  PetscErrorCode (*phase)(Mat);
  Mat was[3];

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)C, name, &phase));
  PetscCall(HJProductReplace(C, was));
  PetscCall((*phase)(C));
  PetscCall(HJProductPutBack(C, was));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_HJStencil(Mat C)
{
  PetscFunctionBegin;
  PetscCall(HJProductCall(C, "HJProductNumeric_C"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_HJStencil(Mat C)
{
  PetscFunctionBegin;
  PetscCall(HJProductCall(C, "HJProductSymbolic_C"));
  PetscCall(PetscObjectComposeFunction((PetscObject)C, "HJProductNumeric_C", C->ops->productnumeric));
  C->ops->productnumeric = MatProductNumeric_HJStencil;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatProductSetFromOptions_HJStencil(Mat C)
{
  Mat was[3];

  PetscFunctionBegin;
  PetscCall(HJProductReplace(C, was));
  PetscCall(MatProductSetFromOptions(C));
  PetscCall(HJProductPutBack(C, was));
  PetscCall(PetscObjectComposeFunction((PetscObject)C, "HJProductSymbolic_C", C->ops->productsymbolic));
  if (C->ops->productsymbolic) C->ops->productsymbolic = MatProductSymbolic_HJStencil;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatLoad_HJStencil(Mat A, PetscViewer viewer)
{
  Mat aij;
  DM  da;

  PetscFunctionBegin;
  PetscCall(MatGetDM(A, &da)); /* on several ranks DMDA loads into a matrix that has none, in the natural order */
  PetscCheck(da, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "A matrix of type " MATHJSTENCIL " is loaded on one rank alone; load it as AIJ, and call MatConvert()");
  PetscCall(MatSetUp(A));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &aij));
  PetscCall(MatSetType(aij, MATAIJ));
  PetscCall(MatSetSizes(aij, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatLoad(aij, viewer));
  PetscCall(MatCopy(aij, A, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMG makes its interpolation of the type of the matrix, which a stencil matrix cannot be */
static PetscErrorCode HJMatRefuseGraph(Mat A)
{
  PetscFunctionBegin;
  SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
          "A matrix of type " MATHJSTENCIL
          " gives no graph, which algebraic multigrid (-pc_type gamg) needs; use -dm_mat_type aij, or -pc_type mg");
}

/* The operation has one of these two forms, after the version of PETSc */
typedef PetscErrorCode (*HJCreateGraph)(Mat, PetscBool, PetscBool, PetscReal, Mat *);

static PetscErrorCode MatCreateGraph_HJStencil(Mat A, PetscBool symmetric, PetscBool scale, PetscReal filter, Mat *graph)
{
  PetscFunctionBegin;
  PetscCall(HJMatRefuseGraph(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateGraphOfIndices_HJStencil(Mat A, PetscBool symmetric, PetscBool scale, PetscReal filter, PetscInt n,
                                                        PetscInt index[], Mat *graph)
{
  PetscFunctionBegin;
  PetscCall(HJMatRefuseGraph(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if PETSC_VERSION_LT(3, 23, 0)
/* Every row has an entry on the diagonal, zero or not */
static PetscErrorCode MatMissingDiagonal_HJStencil(Mat A, PetscBool *missing, PetscInt *row)
{
  PetscFunctionBegin;
  *missing = PETSC_FALSE;
  if (row) *row = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

PetscErrorCode HJMatSetOpsCSR(Mat A)
{
  PetscFunctionBegin;
  A->ops->createsubmatrix             = MatCreateSubMatrix_HJStencil;
  A->ops->createsubmatrices           = MatCreateSubMatrices_HJStencil;
  A->ops->increaseoverlap             = MatIncreaseOverlap_HJStencil;
  A->ops->createsubmatricesmpi        = MatCreateSubMatricesMPI_HJStencil;
  A->ops->invertblockdiagonal         = MatInvertBlockDiagonal_HJStencil;
  A->ops->invertvariableblockdiagonal = MatInvertVariableBlockDiagonal_HJStencil;
  A->ops->getdiagonalblock            = MatGetDiagonalBlock_HJStencil;
  A->ops->getrowij                    = MatGetRowIJ_HJStencil;
  A->ops->restorerowij                = MatRestoreRowIJ_HJStencil;
  A->ops->fdcoloringcreate            = MatFDColoringCreate_HJStencil;
  A->ops->fdcoloringsetup             = MatFDColoringSetUp_HJStencil;
  A->ops->fdcoloringapply             = MatFDColoringApply_HJStencil;
  A->ops->load                        = MatLoad_HJStencil;
  A->ops->convert                     = MatConvert_HJStencil;
  A->ops->convertfrom                 = MatConvertFrom_HJStencil;
  A->ops->creategraph                 = _Generic(A->ops->creategraph, HJCreateGraph
                                 : MatCreateGraph_HJStencil, default
                                 : MatCreateGraphOfIndices_HJStencil);
#if PETSC_VERSION_LT(3, 23, 0)
  A->ops->missingdiagonal = MatMissingDiagonal_HJStencil;
#endif
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_anytype_C", MatProductSetFromOptions_HJStencil));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, HJ_PRODUCT_WITH_TRANSFER, MatProductSetFromOptions_HJStencil_HJTransfer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What is answered by the matrix as AIJ, which is made when one of these is called for the first time and follows the matrix afterwards.
*/
#include "mat/base/hjmat.h"
#include "operator/hjkrylov.h"

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

static PetscErrorCode MatGetMultiProcBlock_HJStencil(Mat A, MPI_Comm comm, MatReuse reuse, Mat *block)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(MatGetMultiProcBlock(aij, comm, reuse, block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatFindOffBlockDiagonalEntries_HJStencil(Mat A, IS *rows)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(MatFindOffBlockDiagonalEntries(aij, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Colourings of a matrix on several ranks */
static PetscErrorCode MatGetSeqNonzeroStructure_HJStencil(Mat A, Mat *all)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(MatGetSeqNonzeroStructure(aij, all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetRandom_HJStencil(Mat A, PetscRandom random)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(MatSetRandom(aij, random));
  PetscCall(MatCopy(aij, A, SAME_NONZERO_PATTERN));
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

/* AIJ takes rows of the same columns together, also where it gives them for an ordering, which PETSc then has taken apart by this */
static PetscErrorCode MatInodeAdjustForInodes_HJStencil(Mat A, IS *rows, IS *columns)
{
  PetscFunctionBegin;
  PetscCall(MatInodeAdjustForInodes(((Mat_HJStencil *)A->data)->aij, rows, columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetColumnIJ_HJStencil(Mat A, PetscInt shift, PetscBool symmetric, PetscBool compressed, PetscInt *n,
                                               const PetscInt *i[], const PetscInt *j[], PetscBool *done)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(MatGetColumnIJ(aij, shift, symmetric, compressed, n, i, j, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatRestoreColumnIJ_HJStencil(Mat A, PetscInt shift, PetscBool symmetric, PetscBool compressed, PetscInt *n,
                                                   const PetscInt *i[], const PetscInt *j[], PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(MatRestoreColumnIJ(((Mat_HJStencil *)A->data)->aij, shift, symmetric, compressed, n, i, j, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetColumnReductions_HJStencil(Mat A, PetscInt type, PetscReal *reductions)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscUseTypeMethod(aij, getcolumnreductions, type, reductions);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetGhosts_HJStencil(Mat A, PetscInt *n, const PetscInt *ghosts[])
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(MatGetGhosts(aij, n, ghosts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSOR_HJStencil_AIJ(Mat A, Vec b, PetscReal omega, MatSORType flag, PetscReal shift, PetscInt its, PetscInt lits,
                                           Vec x)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(MatSOR(aij, b, omega, flag, shift, its, lits, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatSetOpsSystem(Mat A)
{
  PetscFunctionBegin;
  A->ops->sor = MatSOR_HJStencil_AIJ;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, HJ_GET_PRODUCTS, NULL)); /* KSPHJCG's passes are for one unknown a point */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number for each row */
#define HJ_ROW_NUMBERS(Name, operation)                                                                                                    \
  static PetscErrorCode Name##_HJStencil(Mat A, Vec v, PetscInt column[])                                                                  \
  {                                                                                                                                        \
    Mat aij;                                                                                                                               \
                                                                                                                                           \
    PetscFunctionBegin;                                                                                                                    \
    PetscCall(HJMatGetAIJ(A, &aij));                                                                                                       \
    PetscUseTypeMethod(aij, operation, v, column);                                                                                         \
    PetscFunctionReturn(PETSC_SUCCESS);                                                                                                    \
  }
HJ_ROW_NUMBERS(MatGetRowMax, getrowmax)
HJ_ROW_NUMBERS(MatGetRowMin, getrowmin)
HJ_ROW_NUMBERS(MatGetRowMaxAbs, getrowmaxabs)
HJ_ROW_NUMBERS(MatGetRowMinAbs, getrowminabs)

#if PETSC_VERSION_GE(3, 21, 0)
static PetscErrorCode MatGetRowSumAbs_HJStencil(Mat A, Vec v)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscUseTypeMethod(aij, getrowsumabs, v);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Zeros take no room that could be given back */
static PetscErrorCode MatEliminateZeros_HJStencil(Mat A, PetscBool keep)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

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

/* PETSc's symbolic phase of A B^T puts a transposed copy in the place of B on several ranks, which the numeric phase takes: it is kept
   with the product, and gets the values of B again */
#define HJ_PRODUCT_TRANSPOSED "HJProductTransposed"

static PetscErrorCode HJProductTransposeAgain(Mat C)
{
  Mat transposed;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)C, HJ_PRODUCT_TRANSPOSED, (PetscObject *)&transposed));
  if (!transposed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatTranspose(C->product->B, MAT_REUSE_MATRIX, &transposed));
  PetscCall(PetscObjectReference((PetscObject)transposed));
  PetscCall(MatDestroy(&C->product->B));
  C->product->B = transposed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_HJStencil(Mat C)
{
  PetscErrorCode (*numeric)(Mat);
  Mat was[3];

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)C, "HJProductNumeric_C", &numeric));
  PetscCall(HJProductReplace(C, was));
  PetscCall(HJProductTransposeAgain(C));
  PetscCall((*numeric)(C));
  PetscCall(HJProductPutBack(C, was));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_HJStencil(Mat C)
{
  PetscErrorCode (*symbolic)(Mat);
  Mat was[3], B, transposed = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)C, "HJProductSymbolic_C", &symbolic));
  PetscCall(HJProductReplace(C, was));
  B = C->product->B;
  PetscCall((*symbolic)(C));
  if (C->product->B != B) transposed = C->product->B;
  PetscCall(PetscObjectCompose((PetscObject)C, HJ_PRODUCT_TRANSPOSED, (PetscObject)transposed));
  PetscCall(HJProductPutBack(C, was));
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

/* Rows and columns of a matrix in the natural order become those of the DMDA */
static PetscErrorCode HJMatFromNatural(DM da, Mat *natural)
{
  AO       ao;
  IS       is;
  Mat      B;
  PetscInt start, end, dof, *points;

  PetscFunctionBegin;
  PetscCall(DMDAGetDof(da, &dof));
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(MatGetOwnershipRange(*natural, &start, &end));
  PetscCall(PetscMalloc1(end - start, &points));
  for (PetscInt r = start; r < end; r++) points[r - start] = r;
  PetscCall(AOPetscToApplication(ao, end - start, points));
  PetscCall(ISCreateGeneral(PetscObjectComm((PetscObject)da), end - start, points, PETSC_OWN_POINTER, &is));
  PetscCall(ISSetBlockSize(is, dof));
  PetscCall(MatCreateSubMatrix(*natural, is, is, MAT_INITIAL_MATRIX, &B));
  PetscCall(ISDestroy(&is));
  PetscCall(MatDestroy(natural));
  *natural = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatLoad_HJStencil(Mat A, PetscViewer viewer)
{
  Mat aij;
  DM  da;

  PetscFunctionBegin;
  PetscCall(MatGetDM(A, &da)); /* on several ranks a DMDA that has just made a matrix loads into one that has none */
  PetscCheck(da, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "A matrix of type " MATHJSTENCIL
             " that is new is loaded on one rank alone; call MatAssemblyBegin/End() before MatLoad(), or load it as AIJ, and call "
             "MatConvert()");
  PetscCall(MatSetUp(A));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &aij));
  PetscCall(MatSetType(aij, MATAIJ));
  PetscCall(MatSetSizes(aij, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatLoad(aij, viewer));
  if (((Mat_HJStencil *)A->data)->layout.size > 1) PetscCall(HJMatFromNatural(da, &aij));
  PetscCall(HJMatSetNumbering(A, aij));
  PetscCall(MatCopy(aij, A, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&aij));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Algebraic multigrid reads the graph. The operation has one of these two forms, after the version of PETSc */
typedef PetscErrorCode (*HJCreateGraph)(Mat, PetscBool, PetscBool, PetscReal, Mat *);
typedef PetscErrorCode (*HJCreateGraphOfIndices)(Mat, PetscBool, PetscBool, PetscReal, PetscInt, PetscInt[], Mat *);

static PetscErrorCode MatCreateGraph_HJStencil(Mat A, PetscBool symmetric, PetscBool scale, PetscReal filter, Mat *graph)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(((HJCreateGraph)(void (*)(void))aij->ops->creategraph)(aij, symmetric, scale, filter, graph));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreateGraphOfIndices_HJStencil(Mat A, PetscBool symmetric, PetscBool scale, PetscReal filter, PetscInt n,
                                                        PetscInt index[], Mat *graph)
{
  Mat aij;

  PetscFunctionBegin;
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(((HJCreateGraphOfIndices)(void (*)(void))aij->ops->creategraph)(aij, symmetric, scale, filter, n, index, graph));
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
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  A->ops->createsubmatrix             = MatCreateSubMatrix_HJStencil;
  A->ops->createsubmatrices           = MatCreateSubMatrices_HJStencil;
  A->ops->increaseoverlap             = MatIncreaseOverlap_HJStencil;
  A->ops->createsubmatricesmpi        = MatCreateSubMatricesMPI_HJStencil;
  A->ops->invertblockdiagonal         = MatInvertBlockDiagonal_HJStencil;
  A->ops->invertvariableblockdiagonal = MatInvertVariableBlockDiagonal_HJStencil;
  A->ops->getmultiprocblock           = MatGetMultiProcBlock_HJStencil;
  A->ops->findoffblockdiagonalentries = MatFindOffBlockDiagonalEntries_HJStencil;
  A->ops->setrandom                   = MatSetRandom_HJStencil;
  A->ops->getrowij                    = MatGetRowIJ_HJStencil;
  A->ops->restorerowij                = MatRestoreRowIJ_HJStencil;
  A->ops->getcolumnij                 = MatGetColumnIJ_HJStencil;
  A->ops->restorecolumnij             = MatRestoreColumnIJ_HJStencil;
  A->ops->getcolumnreductions         = MatGetColumnReductions_HJStencil;
  A->ops->getghosts                   = MatGetGhosts_HJStencil;
  A->ops->getrowmax                   = MatGetRowMax_HJStencil;
  A->ops->getrowmin                   = MatGetRowMin_HJStencil;
  A->ops->getrowmaxabs                = MatGetRowMaxAbs_HJStencil;
  A->ops->getrowminabs                = MatGetRowMinAbs_HJStencil;
  A->ops->fdcoloringcreate            = MatFDColoringCreate_HJStencil;
  A->ops->fdcoloringsetup             = MatFDColoringSetUp_HJStencil;
  A->ops->fdcoloringapply             = MatFDColoringApply_HJStencil;
  A->ops->load                        = MatLoad_HJStencil;
  A->ops->convert                     = MatConvert_HJStencil;
  A->ops->convertfrom                 = MatConvertFrom_HJStencil;
  A->ops->creategraph                 = _Generic(A->ops->creategraph, HJCreateGraph
                                 : MatCreateGraph_HJStencil, default
                                 : MatCreateGraphOfIndices_HJStencil);
  if (size > 1) { /* of one rank PETSc gives the matrix itself, and has blocks of it cut in another way, as those of AIJ */
    A->ops->getdiagonalblock       = MatGetDiagonalBlock_HJStencil;
    A->ops->getseqnonzerostructure = MatGetSeqNonzeroStructure_HJStencil;
  }
#if PETSC_VERSION_GE(3, 21, 0)
  A->ops->getrowsumabs   = MatGetRowSumAbs_HJStencil;
  A->ops->eliminatezeros = MatEliminateZeros_HJStencil;
#endif
#if PETSC_VERSION_LT(3, 23, 0)
  A->ops->missingdiagonal = MatMissingDiagonal_HJStencil;
#endif
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatInodeAdjustForInodes_C", MatInodeAdjustForInodes_HJStencil));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_anytype_C", MatProductSetFromOptions_HJStencil));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What is answered by the matrix as AIJ, which is made when one of these is called for the first time and follows the matrix afterwards.
*/
#include "mat/base/hjmat.h"
#include "operator/hjkrylov.h"

/* An operation with these arguments which does what is said with the matrix as AIJ */
#define HJ_AS_AIJ(Name, arguments, does)                                                                                                   \
  static PetscErrorCode Name##_HJStencil arguments                                                                                         \
  {                                                                                                                                        \
    Mat aij;                                                                                                                               \
                                                                                                                                           \
    PetscFunctionBegin;                                                                                                                    \
    PetscCall(HJMatGetAIJ(A, &aij));                                                                                                       \
    does;                                                                                                                                  \
    PetscFunctionReturn(PETSC_SUCCESS);                                                                                                    \
  }

HJ_AS_AIJ(MatCreateSubMatrix, (Mat A, IS rows, IS columns, MatReuse reuse, Mat *B),
          PetscCall(MatCreateSubMatrix(aij, rows, columns, reuse, B)))
HJ_AS_AIJ(MatCreateSubMatrices, (Mat A, PetscInt n, const IS rows[], const IS columns[], MatReuse reuse, Mat *B[]),
          PetscCall(MatCreateSubMatrices(aij, n, rows, columns, reuse, B)))
HJ_AS_AIJ(MatCreateSubMatricesMPI, (Mat A, PetscInt n, const IS rows[], const IS columns[], MatReuse reuse, Mat **B),
          PetscCall(MatCreateSubMatricesMPI(aij, n, rows, columns, reuse, B)))
HJ_AS_AIJ(MatInvertBlockDiagonal, (Mat A, const PetscScalar **values), PetscCall(MatInvertBlockDiagonal(aij, values)))
HJ_AS_AIJ(MatInvertVariableBlockDiagonal, (Mat A, PetscInt n, const PetscInt *sizes, PetscScalar *values),
          PetscCall(MatInvertVariableBlockDiagonal(aij, n, sizes, values)))
HJ_AS_AIJ(MatIncreaseOverlap, (Mat A, PetscInt n, IS is[], PetscInt overlap), PetscCall(MatIncreaseOverlap(aij, n, is, overlap)))
HJ_AS_AIJ(MatGetDiagonalBlock, (Mat A, Mat *block), PetscCall(MatGetDiagonalBlock(aij, block)))
HJ_AS_AIJ(MatGetMultiProcBlock, (Mat A, MPI_Comm comm, MatReuse reuse, Mat *block),
          PetscCall(MatGetMultiProcBlock(aij, comm, reuse, block)))
HJ_AS_AIJ(MatFindOffBlockDiagonalEntries, (Mat A, IS *rows), PetscCall(MatFindOffBlockDiagonalEntries(aij, rows)))

/* Colourings of a matrix on several ranks */
HJ_AS_AIJ(MatGetSeqNonzeroStructure, (Mat A, Mat *all), PetscCall(MatGetSeqNonzeroStructure(aij, all)))
HJ_AS_AIJ(MatSetRandom, (Mat A, PetscRandom random), PetscCall(MatSetRandom(aij, random)); PetscCall(MatCopy(aij, A, SAME_NONZERO_PATTERN)))
HJ_AS_AIJ(MatGetRowIJ,
          (Mat A, PetscInt shift, PetscBool symmetric, PetscBool compressed, PetscInt *n, const PetscInt *i[], const PetscInt *j[],
           PetscBool *done),
          PetscCall(MatGetRowIJ(aij, shift, symmetric, compressed, n, i, j, done)))

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

/* So it is where AIJ gives them for a colouring */
HJ_AS_AIJ(MatColoringPatch, (Mat A, PetscInt colors, PetscInt n, ISColoringValue color[], ISColoring *is),
          PetscCall(MatColoringPatch(aij, colors, n, color, is)))

HJ_AS_AIJ(MatGetColumnIJ,
          (Mat A, PetscInt shift, PetscBool symmetric, PetscBool compressed, PetscInt *n, const PetscInt *i[], const PetscInt *j[],
           PetscBool *done),
          PetscCall(MatGetColumnIJ(aij, shift, symmetric, compressed, n, i, j, done)))

static PetscErrorCode MatRestoreColumnIJ_HJStencil(Mat A, PetscInt shift, PetscBool symmetric, PetscBool compressed, PetscInt *n,
                                                   const PetscInt *i[], const PetscInt *j[], PetscBool *done)
{
  PetscFunctionBegin;
  PetscCall(MatRestoreColumnIJ(((Mat_HJStencil *)A->data)->aij, shift, symmetric, compressed, n, i, j, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HJ_AS_AIJ(MatGetColumnReductions, (Mat A, PetscInt type, PetscReal *reductions),
          PetscUseTypeMethod(aij, getcolumnreductions, type, reductions))
HJ_AS_AIJ(MatGetGhosts, (Mat A, PetscInt *n, const PetscInt *ghosts[]), PetscCall(MatGetGhosts(aij, n, ghosts)))

HJ_AS_AIJ(MatSORSystem, (Mat A, Vec b, PetscReal omega, MatSORType flag, PetscReal shift, PetscInt its, PetscInt lits, Vec x),
          PetscCall(MatSOR(aij, b, omega, flag, shift, its, lits, x)))

PetscErrorCode HJMatSetOpsSystem(Mat A)
{
  PetscFunctionBegin;
  A->ops->sor = MatSORSystem_HJStencil;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, HJ_GET_PRODUCTS, NULL)); /* KSPHJCG's passes are for one unknown a point */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number for each row */
HJ_AS_AIJ(MatGetRowMax, (Mat A, Vec v, PetscInt column[]), PetscUseTypeMethod(aij, getrowmax, v, column))
HJ_AS_AIJ(MatGetRowMin, (Mat A, Vec v, PetscInt column[]), PetscUseTypeMethod(aij, getrowmin, v, column))
HJ_AS_AIJ(MatGetRowMaxAbs, (Mat A, Vec v, PetscInt column[]), PetscUseTypeMethod(aij, getrowmaxabs, v, column))
HJ_AS_AIJ(MatGetRowMinAbs, (Mat A, Vec v, PetscInt column[]), PetscUseTypeMethod(aij, getrowminabs, v, column))

#if PETSC_VERSION_GE(3, 21, 0)
HJ_AS_AIJ(MatGetRowSumAbs, (Mat A, Vec v), PetscUseTypeMethod(aij, getrowsumabs, v))

/* Zeros take no room that could be given back */
static PetscErrorCode MatEliminateZeros_HJStencil(Mat A, PetscBool keep)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Colours perturb and read AIJ's entries */
HJ_AS_AIJ(MatFDColoringCreate, (Mat A, ISColoring is, MatFDColoring color), PetscUseTypeMethod(aij, fdcoloringcreate, is, color))
HJ_AS_AIJ(MatFDColoringSetUp, (Mat A, ISColoring is, MatFDColoring color), PetscUseTypeMethod(aij, fdcoloringsetup, is, color))
HJ_AS_AIJ(MatFDColoringApply, (Mat A, MatFDColoring color, Vec x, void *ctx), PetscUseTypeMethod(aij, fdcoloringapply, color, x, ctx);
          PetscCall(MatCopy(aij, A, SAME_NONZERO_PATTERN)))

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

HJ_AS_AIJ(MatCreateGraph, (Mat A, PetscBool symmetric, PetscBool scale, PetscReal filter, Mat *graph),
          PetscCall(((HJCreateGraph)(void (*)(void))aij->ops->creategraph)(aij, symmetric, scale, filter, graph)))
HJ_AS_AIJ(MatCreateGraphOfIndices,
          (Mat A, PetscBool symmetric, PetscBool scale, PetscReal filter, PetscInt n, PetscInt index[], Mat *graph),
          PetscCall(((HJCreateGraphOfIndices)(void (*)(void))aij->ops->creategraph)(aij, symmetric, scale, filter, n, index, graph)))

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
  A->ops->coloringpatch               = MatColoringPatch_HJStencil;
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

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The type: creation, set-up, options, view, registration.
*/
#include "mat/base/hjmat.h"
#include <petsc/private/dmimpl.h>

static PetscErrorCode MatDestroy_HJStencil(Mat A)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&hj->aij));
  PetscCall(MatDestroy(&hj->stored));
  for (PetscInt s = 0; s < hj->c.nslots; s++) PetscCall(VecDestroy(&hj->use[s].vec));
  PetscCall(PetscFree(hj->use));
  PetscCall(HJMatFree(A));
  PetscCall(HJCOODestroy(&hj->coo));
  PetscCall(HJProductsDestroy(&hj->products));
  PetscCall(HJProductsDestroy(&hj->device_products));
  PetscCall(HJGalerkinsDestroy(&hj->galerkin));
  PetscCall(HJLayoutFree(&hj->layout));
  PetscCall(PetscSegBufferDestroy(&hj->stash));
  PetscCall(DMDestroy(&hj->da));
  PetscCall(PetscFree(hj->entry));
  PetscCall(PetscFree(hj->place));
  PetscCall(PetscFree2(hj->row_columns, hj->row_values));
  PetscCall(HJMatComposeSetValues(A, PETSC_FALSE));
  PetscCall(HJMatComposeTranspose(A, PETSC_FALSE));
  PetscCall(HJMatComposeStored(A, PETSC_FALSE));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatInodeAdjustForInodes_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_anytype_C", NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, HJ_PRODUCT_WITH_TRANSFER, NULL));
  PetscCall(PetscFree(A->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What cannot be is refused here, with the cure */
static PetscErrorCode HJMatCheckDM(Mat A, DM da)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)A);
  char     reason[256];
  PetscInt width;

  PetscFunctionBegin;
  PetscCheck(da, comm, PETSC_ERR_ARG_WRONGSTATE,
             "A matrix of type " MATHJSTENCIL " needs a DMDA: use DMCreateMatrix() with -dm_mat_type " MATHJSTENCIL
             ", MatCreateHJStencil() or MatSetDM() before MatSetUp(), or use -mat_type aij; in MatAXPY() and MatCopy() of a matrix of "
             "another type say SAME_NONZERO_PATTERN");
  PetscCall(HJStencilCheckDM(A, da, reason, sizeof(reason)));
  PetscCheck(!reason[0], comm, PETSC_ERR_SUP, "A matrix of type " MATHJSTENCIL " cannot be made: %s; use -dm_mat_type aij", reason);
  PetscCall(DMDAGetStencilWidth(da, &width));
  PetscCheck(width == 1, comm, PETSC_ERR_SUP,
             "A matrix of type " MATHJSTENCIL " cannot be made: the DMDA's stencil is %" PetscInt_FMT
             " points wide, this type holds 1; use -dm_mat_type aij",
             width);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc binds a rank's vectors to the CPU where they are short: then the matrix stays there on all ranks. Collective */
static PetscErrorCode HJMatSetHostOnly(Mat A)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  hj->host_only = (PetscBool)(HJBoxSize(&hj->grid.owned) < hj->da->bind_below);
  PetscCall(HJOnAnyRank(PetscObjectComm((PetscObject)A), &hj->host_only));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The DMDA's ghosted numbering, and the points for which differences of its numbers say the offset */
static PetscErrorCode HJMatSetGhosted(Mat A)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;
  PetscInt       lo[3], width[3];

  PetscFunctionBegin;
  hj->ltog = hj->da->ltogmap; /* NULL: a DMDA of PCHJMG's, whose matrices are filled whole */
  PetscCall(DMDAGetGhostCorners(hj->da, &lo[0], &lo[1], &lo[2], &width[0], &width[1], &width[2]));
  hj->simple = hj->grid.owned;
  for (int d = 0; d < 3; d++) {
    const HJGrid *g = &hj->grid;

    hj->glo[d]    = d < g->dim ? lo[d] - hj->layout.offset[d] - hj->layout.lo[d] : 0;
    hj->gwidth[d] = d < g->dim ? width[d] : 1;
    if (d >= g->dim) continue;
    hj->simple.lo[d] = PetscMax(PetscMax(g->domain.lo[d] + 1, hj->glo[d] + 1), 0);
    hj->simple.hi[d] = PetscMin(PetscMin(g->domain.hi[d] - 1, hj->glo[d] + width[d] - 1), g->owned.hi[d]);
    if (g->N[d] < 3) hj->simple.hi[d] = hj->simple.lo[d]; /* a neighbour on both sides: none is simple */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetUp_HJStencil(Mat A)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)A->data;
  DM              da;
  DMDAStencilType shape;
  VecType         vectype;
  PetscBool       standard;
  HJExchange      exchange;

  PetscFunctionBegin;
  PetscCall(PetscLayoutSetUp(A->rmap));
  PetscCall(PetscLayoutSetUp(A->cmap));
  PetscCall(MatGetDM(A, &da));
  PetscCall(HJMatCheckDM(A, da));
  PetscCall(HJGridCreate(da, &hj->grid));
  if (hj->grid.dof > 1) {
    PetscCall(MatSetBlockSize(A, hj->grid.dof));
    PetscCall(HJMatSetOpsSystem(A));
  }
  PetscCall(PetscObjectReference((PetscObject)da));
  hj->da      = da;
  hj->c.mtype = PETSC_MEMTYPE_HOST;
  if (hj->grid.dof <= HJ_DEVICE_DOF) hj->device = HJArraysIn(PETSC_MEMTYPE_CUDA);
  PetscCall(HJLayoutSet(da, &hj->grid, A->rmap, &hj->layout));
  PetscCall(HJMatSetHostOnly(A));
  PetscCall(HJMatSetGhosted(A));
  PetscCall(HJMatSetNumbering(A, A));
  PetscCall(DMDAGetStencilType(da, &shape));
  PetscCall(HJMatSetShape(A, shape == DMDA_STENCIL_BOX ? HJ_BOX : HJ_STAR));
  PetscCall(HJMatChooseExchange(da, &HJBackendHost, &exchange));
  PetscCall(HJProductsCreate(da, &hj->grid, &HJBackendHost, exchange, &hj->products));
  PetscCall(HJTransferSetInterpolation(da));
  PetscCall(MatGetVecType(A, &vectype));
  PetscCall(PetscStrcmp(vectype, VECSTANDARD, &standard));
  if (standard) { /* MatSetVecType() has not been called */
    PetscCall(DMGetVecType(da, &vectype));
    PetscCall(MatSetVecType(A, vectype));
  }
  A->preallocated = PETSC_TRUE;
  A->assembled    = PETSC_TRUE; /* of zeros, so that MatFDColoringCreate() and MatDuplicate() take it */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatSetOption_HJStencil(Mat A, MatOption op, PetscBool flag)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  switch (op) {
  case MAT_ROW_ORIENTED:
    hj->column_oriented = (PetscBool)!flag;
    break;
  case MAT_NEW_NONZERO_LOCATIONS:
    hj->drop_unfit = (PetscBool)!flag;
    break;
  case MAT_SYMMETRIC:
  case MAT_SPD: /* PETSc keeps them; HJMatGetKnown() looks whether they are true */
    break;
  case MAT_IGNORE_OFF_PROC_ENTRIES:
    hj->drop_others = flag;
    break;
  default:
    PetscCall(PetscInfo(A, "Option %s makes no difference to a matrix of type " MATHJSTENCIL "\n", MatOptions[op]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatBindToCPU_HJStencil(Mat A, PetscBool flag)
{
  PetscFunctionBegin;
#if defined(PETSC_HAVE_DEVICE)
  A->boundtocpu = flag;
#endif
  if (flag && ((Mat_HJStencil *)A->data)->da) {
    PetscCall(HJMatCheckCheckedOut(A));
    PetscCall(HJMatGetHost(A));
    PetscCall(HJMatTouched(A, &HJArraysHost));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries whose column is in the domain */
static PetscLogDouble HJMatCountEntries(const Mat_HJStencil *hj)
{
  PetscLogDouble n = 0;

  for (PetscInt o = 0; o < HJCoefficientsOffsets(&hj->c); o++) {
    PetscInt       off[3];
    PetscLogDouble here = hj->c.dof * hj->c.dof;

    HJShapeOffset(hj->c.dim, hj->c.shape, o, off);
    if (!HJLayoutIsOwnOffset(&hj->layout, off)) continue;
    for (int d = 0; d < hj->grid.dim; d++)
      here *= PetscMin(hj->grid.owned.hi[d], hj->grid.domain.hi[d] - off[d]) - PetscMax(0, hj->grid.domain.lo[d] - off[d]);
    n += here;
  }
  return n;
}

static PetscErrorCode MatGetInfo_HJStencil(Mat A, MatInfoType which, MatInfo *info)
{
  Mat_HJStencil *hj    = (Mat_HJStencil *)A->data;
  PetscLogDouble bytes = (PetscLogDouble)HJMatBytes(hj);

  PetscFunctionBegin;
  if (hj->galerkin) bytes += (PetscLogDouble)HJGalerkinsBytes(hj->galerkin);
  if (hj->products) bytes += (PetscLogDouble)hj->products->ghosts.shell.size * sizeof(PetscScalar) * (hj->device_products ? 2 : 1);
  if (hj->coo) bytes += (PetscLogDouble)HJCOOBytes(hj->coo);
  PetscCall(HJMatSumInfo(A, which, HJMatCountEntries(hj), bytes, hj->aij, info));
  info->assemblies = A->num_ass;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatViewStorage_HJStencil(Mat A, PetscViewer viewer)
{
  const HJCoefficients *c = &((Mat_HJStencil *)A->data)->c;
  const char           *where;
  PetscLogDouble        bytes;
  MatInfo               info;
  PetscBool             device;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  PetscCall(HJMatOnDevice(A, &device));
  bytes = info.memory;
  where = device ? ", on the GPU" : "";
  PetscCall(PetscViewerASCIIPrintf(viewer, "stencil: %" PetscInt_FMT "D %s, %" PetscInt_FMT " points", c->dim,
                                   c->shape == HJ_STAR ? "star" : "box", HJCoefficientsOffsets(c)));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  if (c->entry)
    PetscCall(PetscViewerASCIIPrintf(viewer, " of %" PetscInt_FMT " unknowns, %" PetscInt_FMT " of %" PetscInt_FMT " entries stored",
                                     c->dof, c->nslots, HJCoefficientsOffsets(c) * c->dof * c->dof));
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  if (c->storage == HJ_COEFFICIENTS_ROW)
    PetscCall(PetscViewerASCIIPrintf(viewer, "storage: one row for all points, %g bytes%s\n", bytes, where));
  else if (c->storage == HJ_COEFFICIENTS_DICTIONARY)
    PetscCall(PetscViewerASCIIPrintf(viewer, "storage: dictionary of %" PetscInt_FMT " row%s (first rank), %g bytes%s\n", c->nrows,
                                     c->nrows == 1 ? "" : "s", bytes, where));
  else {
    const char *what = c->entry ? "entry" : "offset";

    PetscCall(PetscViewerASCIIPrintf(viewer, "storage: one array per %s, %g bytes%s\n", what, bytes, where));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatView_HJStencil(Mat A, PetscViewer viewer)
{
  Mat_HJStencil    *hj = (Mat_HJStencil *)A->data;
  PetscViewerFormat format;
  PetscBool         ascii;
  Mat               aij;
  const char       *name;

  PetscFunctionBegin;
  if (!hj->da) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  PetscCall(PetscViewerGetFormat(viewer, &format));
  if (ascii && (format == PETSC_VIEWER_ASCII_INFO || format == PETSC_VIEWER_ASCII_INFO_DETAIL)) {
    PetscCall(MatViewStorage_HJStencil(A, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (hj->view_da && hj->layout.size > 1) {
    PetscCall((*hj->view_da)(A, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMatGetAIJ(A, &aij));
  PetscCall(PetscObjectGetName((PetscObject)A, &name));
  PetscCall(PetscObjectSetName((PetscObject)aij, name));
  PetscUseTypeMethod(aij, view, viewer); /* MatView() would print a second head */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   MATHJSTENCIL - "hjstencil", a matrix on a `DMDA` that is stored as its stencil: one row for all points, a dictionary of rows, or one
   array for each offset. There is no compressed row storage behind it

   Options Database Keys:
+  -dm_mat_type hjstencil   - `DMCreateMatrix()` makes this type
-  -mat_type hjstencil      - the same in `MatSetFromOptions()`, for a matrix that has a `DMDA`

   Options Database Keys for tests and measurements, with the options prefix of the `DMDA`:
+  -hj_exchange <auto,petscsf,nccl,ipc>    - transport of the halo between GPUs; default auto
-  -hj_exchange_timeout <t, default 300>   - seconds that a GPU waits for another's halo (ipc), 0 for no limit

   Level: intermediate

   Notes:
   The `DMDA` has a stencil one point wide, star or box, in one to three dimensions, with any boundary but a twisted one; others are
   refused, use `MATAIJ` for them.

   Where a point has several degrees of freedom the matrix has a block for each offset. Stored is an array for each entry of the blocks
   that is not zero at every point, whatever `DMDASetBlockFills()` says: two species that diffuse alone and react with one another take 12
   arrays of 20 in 2D. Its rows and the AIJ copy have all entries of the blocks. With more than 8 degrees of freedom such a matrix stays on
   the host, also where its vectors are a GPU's; its SOR is that of the AIJ copy.

   It is filled as any matrix is: `MatSetValuesStencil()`, `MatSetValuesLocal()`, `MatSetValues()` (inserted or added, other ranks' rows
   too), `MatSetValuesCOO()`, `MatConvert()` from any type that gives its rows; or by `MatHJStencilGetArray()`
   (`MatHJStencilGetArrayDOF()`) and `MatHJStencilSetRow()`, which are the fastest. A nonzero that no offset holds is an error, a zero
   there is ignored. While it is filled it has one array for each offset; `MatAssemblyEnd()` looks for the smallest storage that holds
   the coefficients. The storage changes no result, and `MatView()` shows it (`PETSC_VIEWER_ASCII_INFO`, `-ksp_view`).

   `MatPtAP()` with the interpolation between two `DMDA` (`MATHJTRANSFER`) is a `MATHJSTENCIL` on the coarse `DMDA`, worked out where the
   matrix lies; it has few rows where the fine one has few, and arrays otherwise.

   Products, their transposed ones, residual, SOR, norms and the like work on the stencil. What needs compressed rows (factors,
   submatrices, other products of matrices) makes an AIJ copy when it is called for the first time, which is kept and counted in
   `MatGetInfo()`. `MatGetDiagonalBlock()` gives a rank's block of that copy, and on one rank, as for AIJ, the matrix itself.

   Where the vectors of the `DMDA` are CUDA's (`-dm_vec_type cuda`, or `MatSetVecType()`) and the matrix is not bound to the CPU, it lives
   on the GPU: values that are set on the host travel there at assembly, those of `MatSetValuesCOO()` and
   `MatHJStencilGetArrayAndMemType()` are there already. Products, residual, diagonal, scaling, sums, copies, transposes and the choice of
   the storage are done there. Single rows and values, `MatZeroRows()`, SOR, norms and conversions are done on the host, with a copy that
   is given back when the matrix changes.

   Between GPUs its halos, those of `MATHJTRANSFER` and those of `MatPtAP()` travel as the transports of `PCHJACOBI` do, see
   `PCHJacobiSetExchange()`; transposed products, which give to neighbours, go by `PetscSF`. The options are read when the matrix is used
   on a GPU for the first time.

   Products with a matrix that is said to be symmetric (`MatSetOption()` with `MAT_SYMMETRIC` or `MAT_SPD`) read half its arrays, and
   Galerkin's matrices of it, on one rank without periodic boundaries, have no more. Whether it is so is looked at once for given values; a
   claim that is false, as that of a matrix whose rows of boundary points are identities and whose columns were left, changes no result
   (`-info` says so). Who gives it new values should say that they are symmetric too (`MAT_SYMMETRY_ETERNAL`, `MAT_SPD_ETERNAL`): PETSc
   forgets `MAT_SYMMETRIC` and `MAT_SPD` when values change, and Galerkin's matrices, whose entries rounding made differ, are then read as
   unsymmetric ones, with twice the arrays.

   `PCGAMG` makes its interpolations of the type of the matrix: a matrix that is rectangular when it gets this type becomes a `MATAIJ`.

   A matrix of another type is added by `MatAXPY()` with `SAME_NONZERO_PATTERN` or `SUBSET_NONZERO_PATTERN`; for a larger pattern
   convert one of the two first.

.seealso: `Mat`, `MATAIJ`, `DMDA`, `MatCreateHJStencil()`, `MatHJStencilGetArray()`, `MatHJStencilRestoreArray()`, `MatHJStencilSetRow()`,
          `MatHJStencilGetArrayAndMemType()`, `PCHJACOBI`
M*/
static PetscErrorCode MatCreate_HJStencil(Mat A)
{
  Mat_HJStencil *hj;
  PetscBool      differ = (PetscBool)(A->rmap->n != A->cmap->n || A->rmap->N != A->cmap->N);

  PetscFunctionBegin;
  PetscCall(HJOnAnyRank(PetscObjectComm((PetscObject)A), &differ));
  if (differ) { /* an interpolation of PCGAMG's, for instance */
    PetscCall(PetscInfo(A, "A rectangular matrix is of type aij, not " MATHJSTENCIL "\n"));
    PetscCall(MatSetType(A, MATAIJ));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscNew(&hj));
  A->data            = hj;
  A->stash.blocktype = MPI_DATATYPE_NULL; /* MatSetOption() frees it with MAT_SUBSET_OFF_PROC_ENTRIES, also of types without a stash */
  PetscCall(HJMatSetOps(A));
  PetscCall(HJMatSetOpsCSR(A));
  PetscCall(HJMatSetOpsFactor(A));
  A->ops->setup     = MatSetUp_HJStencil;
  A->ops->destroy   = MatDestroy_HJStencil;
  A->ops->setoption = MatSetOption_HJStencil;
  A->ops->bindtocpu = MatBindToCPU_HJStencil;
  A->ops->getinfo   = MatGetInfo_HJStencil;
  A->ops->view = hj->view = MatView_HJStencil;
  hj->load                = MatLoad_HJStencil;
  PetscCall(HJMatComposeSetValues(A, PETSC_TRUE));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, HJ_PRODUCT_WITH_TRANSFER, MatProductSetFromOptions_HJStencil_HJTransfer));
  PetscCall(MatBindToCPU_HJStencil(A, PETSC_FALSE)); /* MatCreate() binds */
  PetscCall(PetscObjectChangeTypeName((PetscObject)A, MATHJSTENCIL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MatCreateHJStencil - Creates a `MATHJSTENCIL` of zeros on a `DMDA`

   Collective

   Input Parameter:
.  da - the `DMDA`, set up, with a stencil one point wide

   Output Parameter:
.  A - the matrix

   Level: intermediate

   Note:
   The same as `DMSetMatType()` with `MATHJSTENCIL` and `DMCreateMatrix()`, for a `DM` whose other matrices have another type.

.seealso: `MATHJSTENCIL`, `MatHJStencilSetRow()`, `MatHJStencilGetArray()`, `DMCreateMatrix()`, `DMSetMatType()`
@*/
PetscErrorCode MatCreateHJStencil(DM da, Mat *A)
{
  MatType   type;
  char     *was;
  PetscBool isda;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(da, DM_CLASSID, 1);
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(PetscObjectTypeCompare((PetscObject)da, DMDA, &isda));
  PetscCheck(isda, PetscObjectComm((PetscObject)da), PETSC_ERR_ARG_WRONG,
             "A matrix of type " MATHJSTENCIL " needs a DMDA, this DM is a %s; use DMCreateMatrix()", ((PetscObject)da)->type_name);
  PetscCall(DMGetMatType(da, &type));
  PetscCall(PetscStrallocpy(type, &was));
  PetscCall(DMSetMatType(da, MATHJSTENCIL));
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(DMSetMatType(da, was));
  PetscCall(PetscFree(was));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatHJStencilInitializePackage(void)
{
  PetscFunctionBegin;
  PetscCall(MatInitializePackage());
  PetscCall(MatRegister(MATHJSTENCIL, MatCreate_HJStencil));
  PetscCall(HJMatRegisterFactors());
  PetscCall(HJTransferRegister());
  PetscFunctionReturn(PETSC_SUCCESS);
}

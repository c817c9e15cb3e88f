/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What users call to fill a stencil matrix without MatSetValues(): its arrays, or one row for all points.
*/
#include "mat/base/hjmat.h"
#include "operator/hjkrylov.h"

/* The slot of an offset; an error where the stencil has none */
static PetscErrorCode HJMatFindSlot(Mat A, PetscInt di, PetscInt dj, PetscInt dk, PetscInt *slot)
{
  Mat_HJStencil *hj     = (Mat_HJStencil *)A->data;
  const PetscInt off[3] = {di, dj, dk};

  PetscFunctionBegin;
  *slot = -1;
  PetscCall(MatSetUp(A));
  if (PetscAbsInt(di) <= 1 && PetscAbsInt(dj) <= 1 && PetscAbsInt(dk) <= 1) *slot = HJSlotAt(&hj->c, off);
  PetscCheck(*slot >= 0, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "A %s stencil of width 1 in %" PetscInt_FMT "D has no offset %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
             "; use a DMDA with DMDA_STENCIL_BOX, or -dm_mat_type aij",
             hj->c.shape == HJ_STAR ? "star" : "box", hj->c.dim, di, dj, dk);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The slot of an entry of the blocks of an offset; all entries have one from now on */
static PetscErrorCode HJMatFindEntry(Mat A, PetscInt di, PetscInt dj, PetscInt dk, PetscInt row, PetscInt column, PetscInt *slot)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  PetscCall(HJMatFindSlot(A, di, dj, dk, slot));
  PetscCheck(row >= 0 && row < hj->c.dof && column >= 0 && column < hj->c.dof, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "Entry %" PetscInt_FMT ",%" PetscInt_FMT " of a block: a point has %" PetscInt_FMT " unknowns", row, column, hj->c.dof);
  PetscCall(HJMatAddSlots(A));
  *slot = HJSlotOfEntry(&hj->c, *slot, row, column);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of offsets are for one unknown a point */
static PetscErrorCode HJMatCheckOne(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatSetUp(A));
  PetscCheck(((Mat_HJStencil *)A->data)->c.dof == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
             "The matrix has %" PetscInt_FMT " unknowns a point, and an array for each entry of an offset's blocks; use "
             "MatHJStencilGetArrayDOF()",
             ((Mat_HJStencil *)A->data)->c.dof);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An array with the global numbers of this rank's points as indices */
static PetscErrorCode HJMatGetIndexed(Mat A, Vec v, PetscBool restore, void *array)
{
  const Mat_HJStencil *hj = (const Mat_HJStencil *)A->data;
  const PetscInt      *n  = hj->grid.owned.hi;
  PetscInt             lo[3];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) lo[d] = hj->layout.lo[d] + hj->layout.offset[d];
  if (hj->c.dim == 1) PetscCall((restore ? VecRestoreArray1d : VecGetArray1d)(v, n[0], lo[0], (PetscScalar **)array));
  else if (hj->c.dim == 2) PetscCall((restore ? VecRestoreArray2d : VecGetArray2d)(v, n[1], n[0], lo[1], lo[0], (PetscScalar ***)array));
  else PetscCall((restore ? VecRestoreArray3d : VecGetArray3d)(v, n[2], n[1], n[0], lo[2], lo[1], lo[0], (PetscScalar ****)array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHJStencilGetArrayDOF_HJStencil(Mat A, PetscInt di, PetscInt dj, PetscInt dk, PetscInt row, PetscInt column,
                                                        void *array)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;
  PetscInt       s;

  PetscFunctionBegin;
  PetscCall(HJMatFindEntry(A, di, dj, dk, row, column, &s));
  PetscCheck(!hj->use[s].vec, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "The array of offset %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT " is in use; call MatHJStencilRestoreArray() first",
             di, dj, dk);
  PetscCall(HJMatCheckCheckedOut(A));
  PetscCall(HJMatExpand(A));
  PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, (PetscInt)hj->c.npoints, hj->c.value + HJSlotBegin(&hj->c, s), &hj->use[s].vec));
  PetscCall(HJMatGetIndexed(A, hj->use[s].vec, PETSC_FALSE, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHJStencilRestoreArrayDOF_HJStencil(Mat A, PetscInt di, PetscInt dj, PetscInt dk, PetscInt row, PetscInt column,
                                                            void *array)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;
  PetscInt       s;

  PetscFunctionBegin;
  PetscCall(HJMatFindEntry(A, di, dj, dk, row, column, &s));
  PetscCheck(hj->use[s].vec, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "The array of offset %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT " is not in use; call MatHJStencilGetArray() first",
             di, dj, dk);
  PetscCall(HJMatGetIndexed(A, hj->use[s].vec, PETSC_TRUE, array));
  PetscCall(VecDestroy(&hj->use[s].vec));
  PetscCall(HJMatTouched(A, &HJArraysHost));
  hj->use[s].touched = PETSC_TRUE;
  A->assembled       = PETSC_FALSE;
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHJStencilGetArray_HJStencil(Mat A, PetscInt di, PetscInt dj, PetscInt dk, void *array)
{
  PetscFunctionBegin;
  PetscCall(HJMatCheckOne(A));
  PetscCall(MatHJStencilGetArrayDOF_HJStencil(A, di, dj, dk, 0, 0, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHJStencilRestoreArray_HJStencil(Mat A, PetscInt di, PetscInt dj, PetscInt dk, void *array)
{
  PetscFunctionBegin;
  PetscCall(HJMatCheckOne(A));
  PetscCall(MatHJStencilRestoreArrayDOF_HJStencil(A, di, dj, dk, 0, 0, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHJStencilGetArrayAndMemType_HJStencil(Mat A, PetscInt di, PetscInt dj, PetscInt dk, PetscScalar **array,
                                                               PetscMemType *mtype)
{
  Mat_HJStencil    *hj = (Mat_HJStencil *)A->data;
  const HJArrayOps *ops;
  HJCoefficients   *c;
  PetscInt          s;

  PetscFunctionBegin;
  PetscCall(HJMatCheckOne(A));
  PetscCall(HJMatFindSlot(A, di, dj, dk, &s));
  PetscCheck(!hj->use[s].checked_out, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "The array of offset %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
             " is in use; call MatHJStencilRestoreArrayAndMemType() first",
             di, dj, dk);
  PetscCall(HJMatCheckGiven(A));
  PetscCall(HJMatGetHome(A, &ops, &c));
  PetscCall(HJMatExpandIn(A, ops));
  hj->use[s].checked_out = PETSC_TRUE;
  *array                 = c->value + HJSlotBegin(c, s);
  if (mtype) *mtype = ops->backend->mtype;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHJStencilRestoreArrayAndMemType_HJStencil(Mat A, PetscInt di, PetscInt dj, PetscInt dk, PetscScalar **array)
{
  Mat_HJStencil    *hj = (Mat_HJStencil *)A->data;
  const HJArrayOps *ops;
  HJCoefficients   *c;
  PetscInt          s;

  PetscFunctionBegin;
  PetscCall(HJMatFindSlot(A, di, dj, dk, &s));
  PetscCheck(hj->use[s].checked_out, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "The array of offset %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT
             " is not in use; call MatHJStencilGetArrayAndMemType() first",
             di, dj, dk);
  PetscCall(HJMatGetHome(A, &ops, &c));
  PetscCall(HJMatTouched(A, ops));
  hj->use[s].checked_out = PETSC_FALSE;
  hj->use[s].touched     = PETSC_TRUE;
  *array                 = NULL;
  A->assembled           = PETSC_FALSE;
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHJStencilSetRow_HJStencil(Mat A, PetscInt n, const MatStencil offsets[], const PetscScalar values[])
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;
  PetscInt       s, size;
  PetscScalar   *row;

  PetscFunctionBegin;
  PetscCheck(n >= 0, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "number of entries %" PetscInt_FMT " must not be negative",
             n);
  PetscCall(MatSetUp(A));
  size = hj->c.dof * hj->c.dof;
  PetscCall(PetscCalloc1(HJCoefficientsOffsets(&hj->c) * size, &row));
  for (PetscInt e = 0; e < n; e++) {
    PetscBool zero   = PETSC_TRUE;
    PetscInt  off[3] = {offsets[e].i, hj->grid.dim > 1 ? offsets[e].j : 0, hj->grid.dim > 2 ? offsets[e].k : 0};

    for (int d = 0; d < hj->layout.dim; d++) {
      if (hj->layout.periodic[d] && hj->layout.N[d] <= 2 && PetscAbsInt(off[d]) == 1) off[d] = hj->layout.N[d] == 1 ? 0 : -1;
    }
    for (PetscInt i = 0; i < size; i++) zero = (PetscBool)(zero && values[e * size + i] == 0.0);
    if (zero) continue;
    PetscCall(HJMatFindSlot(A, off[0], off[1], off[2], &s));
    for (PetscInt i = 0; i < size; i++) row[s * size + i] += values[e * size + i];
  }
  PetscCall(HJMatCheckArrays(A));
  PetscCall(HJMatSetOneRow(A, row));
  PetscCall(PetscFree(row));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHJStencilGetMemType_HJStencil(Mat A, PetscMemType *mtype)
{
  const HJArrayOps *ops;

  PetscFunctionBegin;
  PetscCall(HJMatFindOps(A, 0, NULL, &ops));
  *mtype = ops->backend->mtype;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHJStencilGetCoefficients_HJStencil(Mat A, PetscMemType wanted, const HJCoefficients **c)
{
  HJCoefficients *known;

  PetscFunctionBegin;
  PetscCall(HJMatGetKnown(A, PetscMemTypeHost(wanted) ? &HJArraysHost : ((Mat_HJStencil *)A->data)->device, PETSC_FALSE, &known));
  *c = known;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHJStencilFoundSymmetric_HJStencil(Mat A)
{
  PetscFunctionBegin;
  ((Mat_HJStencil *)A->data)->symmetric = PETSC_BOOL3_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHJStencilGetExchange_HJStencil(Mat A, const HJBackendOps *ops, HJExchange *exchange)
{
  PetscFunctionBegin;
  PetscCall(HJMatChooseExchange(((Mat_HJStencil *)A->data)->da, ops, exchange));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatHJStencilGetProducts_HJStencil(Mat A, Vec x, HJProducts **products, const HJCoefficients **c)
{
  HJCoefficients *known;

  PetscFunctionBegin;
  PetscCall(HJMatChooseProducts(A, x, NULL, x, products, &known));
  *c = known;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatComposeSetValues(Mat A, PetscBool on)
{
  PetscObject o = (PetscObject)A;

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction(o, "MatHJStencilGetArray_C", on ? MatHJStencilGetArray_HJStencil : NULL));
  PetscCall(PetscObjectComposeFunction(o, "MatHJStencilRestoreArray_C", on ? MatHJStencilRestoreArray_HJStencil : NULL));
  PetscCall(PetscObjectComposeFunction(o, "MatHJStencilGetArrayDOF_C", on ? MatHJStencilGetArrayDOF_HJStencil : NULL));
  PetscCall(PetscObjectComposeFunction(o, "MatHJStencilRestoreArrayDOF_C", on ? MatHJStencilRestoreArrayDOF_HJStencil : NULL));
  PetscCall(PetscObjectComposeFunction(o, "MatHJStencilGetArrayAndMemType_C", on ? MatHJStencilGetArrayAndMemType_HJStencil : NULL));
  PetscCall(
    PetscObjectComposeFunction(o, "MatHJStencilRestoreArrayAndMemType_C", on ? MatHJStencilRestoreArrayAndMemType_HJStencil : NULL));
  PetscCall(PetscObjectComposeFunction(o, HJ_GET_MEMTYPE, on ? MatHJStencilGetMemType_HJStencil : NULL));
  PetscCall(PetscObjectComposeFunction(o, "MatHJStencilSetRow_C", on ? MatHJStencilSetRow_HJStencil : NULL));
  PetscCall(PetscObjectComposeFunction(o, HJ_GET_COEFFICIENTS, on ? MatHJStencilGetCoefficients_HJStencil : NULL));
  PetscCall(PetscObjectComposeFunction(o, HJ_FOUND_SYMMETRIC, on ? MatHJStencilFoundSymmetric_HJStencil : NULL));
  PetscCall(PetscObjectComposeFunction(o, HJ_GET_PRODUCTS, on ? MatHJStencilGetProducts_HJStencil : NULL));
  PetscCall(PetscObjectComposeFunction(o, HJ_GET_EXCHANGE, on ? MatHJStencilGetExchange_HJStencil : NULL));
  PetscCall(PetscObjectComposeFunction(o, "MatSetPreallocationCOO_C", on ? MatSetPreallocationCOO_HJStencil : NULL));
  PetscCall(PetscObjectComposeFunction(o, "MatSetValuesCOO_C", on ? MatSetValuesCOO_HJStencil : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MatHJStencilGetArray - Gives the coefficients of one offset of a `MATHJSTENCIL`, to read or to fill

   Not Collective

   Input Parameters:
+  A  - the matrix, which must be `MATHJSTENCIL`
.  di - offset of the column's grid point from the row's in x, -1, 0 or 1
.  dj - the same in y, 0 in 1D
-  dk - the same in z, 0 in 1D and 2D

   Output Parameter:
.  array - address of a `PetscScalar *`, `**` or `***` (1D, 2D, 3D), indexed as by `DMDAVecGetArray()`: `array[k][j][i]` with the global
           numbers of this rank's points is the matrix' coefficient in the row of that point

   Level: intermediate

   Notes:
   Call `MatHJStencilRestoreArray()` afterwards, and when all arrays are filled `MatAssemblyBegin()` and `MatAssemblyEnd()`. What is
   written where the offset leads outside the domain is ignored.

   On periodic grids of one or two points several offsets lead to one point: their coefficients are added there.

   Example of Usage:
.vb
   PetscScalar **centre;

   MatHJStencilGetArray(A, 0, 0, 0, &centre);
   for (j = ys; j < ys + ym; j++)
     for (i = xs; i < xs + xm; i++) centre[j][i] = 4.0;
   MatHJStencilRestoreArray(A, 0, 0, 0, &centre);
   MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY);
   MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
.ve

.seealso: `MATHJSTENCIL`, `MatHJStencilRestoreArray()`, `MatHJStencilSetRow()`, `MatCreateHJStencil()`, `DMDAVecGetArray()`
@*/
PetscErrorCode MatHJStencilGetArray(Mat A, PetscInt di, PetscInt dj, PetscInt dk, void *array)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  HJCheckPointer(array, 5);
  PetscUseMethod(A, "MatHJStencilGetArray_C", (Mat, PetscInt, PetscInt, PetscInt, void *), (A, di, dj, dk, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MatHJStencilRestoreArray - Gives back what `MatHJStencilGetArray()` gave

   Not Collective

   Input Parameters:
+  A     - the matrix, which must be `MATHJSTENCIL`
.  di    - offset of the column's grid point from the row's in x, -1, 0 or 1
.  dj    - the same in y, 0 in 1D
.  dk    - the same in z, 0 in 1D and 2D
-  array - address of what `MatHJStencilGetArray()` gave

   Level: intermediate

   Note:
   The matrix must be assembled before it is used: `MatAssemblyBegin()`, `MatAssemblyEnd()`.

.seealso: `MATHJSTENCIL`, `MatHJStencilGetArray()`, `MatAssemblyBegin()`, `MatAssemblyEnd()`
@*/
PetscErrorCode MatHJStencilRestoreArray(Mat A, PetscInt di, PetscInt dj, PetscInt dk, void *array)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  HJCheckPointer(array, 5);
  PetscUseMethod(A, "MatHJStencilRestoreArray_C", (Mat, PetscInt, PetscInt, PetscInt, void *), (A, di, dj, dk, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MatHJStencilGetArrayDOF - Gives the coefficients of one entry of the blocks of one offset of a `MATHJSTENCIL` with several unknowns a
   point, to read or to fill

   Not Collective

   Input Parameters:
+  A      - the matrix, which must be `MATHJSTENCIL`
.  di     - offset of the column's grid point from the row's in x, -1, 0 or 1
.  dj     - the same in y, 0 in 1D
.  dk     - the same in z, 0 in 1D and 2D
.  row    - component of the row, from 0 on
-  column - component of the column

   Output Parameter:
.  array - address of a `PetscScalar *`, `**` or `***` (1D, 2D, 3D), indexed as by `DMDAVecGetArray()` of a vector with one degree of
           freedom: `array[k][j][i]` with the global numbers of this rank's points is the coefficient in that point's row

   Level: intermediate

   Notes:
   Call `MatHJStencilRestoreArrayDOF()` afterwards, and when all arrays are filled `MatAssemblyBegin()` and `MatAssemblyEnd()`. What is
   written where the offset leads outside the domain is ignored.

   Arrays that nobody writes to are zero and take no memory; after the assembly those that are zero everywhere are no longer there.

.seealso: `MATHJSTENCIL`, `MatHJStencilRestoreArrayDOF()`, `MatHJStencilGetArray()`, `MatHJStencilSetRow()`, `DMDAVecGetArrayDOF()`
@*/
PetscErrorCode MatHJStencilGetArrayDOF(Mat A, PetscInt di, PetscInt dj, PetscInt dk, PetscInt row, PetscInt column, void *array)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  HJCheckPointer(array, 7);
  PetscUseMethod(A, "MatHJStencilGetArrayDOF_C", (Mat, PetscInt, PetscInt, PetscInt, PetscInt, PetscInt, void *),
                 (A, di, dj, dk, row, column, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MatHJStencilRestoreArrayDOF - Gives back what `MatHJStencilGetArrayDOF()` gave

   Not Collective

   Input Parameters:
+  A      - the matrix, which must be `MATHJSTENCIL`
.  di     - offset of the column's grid point from the row's in x, -1, 0 or 1
.  dj     - the same in y, 0 in 1D
.  dk     - the same in z, 0 in 1D and 2D
.  row    - component of the row, from 0 on
.  column - component of the column
-  array  - address of what `MatHJStencilGetArrayDOF()` gave

   Level: intermediate

   Note:
   The matrix must be assembled before it is used: `MatAssemblyBegin()`, `MatAssemblyEnd()`.

.seealso: `MATHJSTENCIL`, `MatHJStencilGetArrayDOF()`, `MatAssemblyBegin()`, `MatAssemblyEnd()`
@*/
PetscErrorCode MatHJStencilRestoreArrayDOF(Mat A, PetscInt di, PetscInt dj, PetscInt dk, PetscInt row, PetscInt column, void *array)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  HJCheckPointer(array, 7);
  PetscUseMethod(A, "MatHJStencilRestoreArrayDOF_C", (Mat, PetscInt, PetscInt, PetscInt, PetscInt, PetscInt, void *),
                 (A, di, dj, dk, row, column, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MatHJStencilGetArrayAndMemType - Gives the coefficients of one offset of a `MATHJSTENCIL` in the memory where the matrix lives

   Not Collective

   Input Parameters:
+  A  - the matrix, which must be `MATHJSTENCIL`
.  di - offset of the column's grid point from the row's in x, -1, 0 or 1
.  dj - the same in y, 0 in 1D
-  dk - the same in z, 0 in 1D and 2D

   Output Parameters:
+  array - the coefficients in the rows of this rank's points, x fastest, as they are numbered in a global vector of the `DMDA`
-  mtype - memory of the array, may be `NULL`: that of the GPU where the vectors of the matrix are of type `VECCUDA`, and it is not bound
           to the CPU

   Level: intermediate

   Notes:
   Call `MatHJStencilRestoreArrayAndMemType()` afterwards, and when all arrays are filled `MatAssemblyBegin()` and `MatAssemblyEnd()`.
   Nothing is copied between host and GPU. Kernels that fill the array run on PETSc's current stream, or are waited for.

   What is written where the offset leads outside the domain is ignored.

.seealso: `MATHJSTENCIL`, `MatHJStencilRestoreArrayAndMemType()`, `MatHJStencilGetArray()`, `MatHJStencilSetRow()`,
          `VecGetArrayAndMemType()`
@*/
PetscErrorCode MatHJStencilGetArrayAndMemType(Mat A, PetscInt di, PetscInt dj, PetscInt dk, PetscScalar **array, PetscMemType *mtype)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  HJCheckPointer(array, 5);
  PetscUseMethod(A, "MatHJStencilGetArrayAndMemType_C", (Mat, PetscInt, PetscInt, PetscInt, PetscScalar **, PetscMemType *),
                 (A, di, dj, dk, array, mtype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MatHJStencilRestoreArrayAndMemType - Gives back what `MatHJStencilGetArrayAndMemType()` gave

   Not Collective

   Input Parameters:
+  A     - the matrix, which must be `MATHJSTENCIL`
.  di    - offset of the column's grid point from the row's in x, -1, 0 or 1
.  dj    - the same in y, 0 in 1D
.  dk    - the same in z, 0 in 1D and 2D
-  array - what `MatHJStencilGetArrayAndMemType()` gave, `NULL` afterwards

   Level: intermediate

   Note:
   The matrix must be assembled before it is used: `MatAssemblyBegin()`, `MatAssemblyEnd()`.

.seealso: `MATHJSTENCIL`, `MatHJStencilGetArrayAndMemType()`, `MatAssemblyBegin()`, `MatAssemblyEnd()`
@*/
PetscErrorCode MatHJStencilRestoreArrayAndMemType(Mat A, PetscInt di, PetscInt dj, PetscInt dk, PetscScalar **array)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  HJCheckPointer(array, 5);
  PetscUseMethod(A, "MatHJStencilRestoreArrayAndMemType_C", (Mat, PetscInt, PetscInt, PetscInt, PetscScalar **), (A, di, dj, dk, array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   MatHJStencilSetRow - Sets the row of all points of a `MATHJSTENCIL`, which then needs no array at all

   Logically Collective

   Input Parameters:
+  A       - the matrix, ignored if it is not `MATHJSTENCIL`
.  n       - number of entries
.  offsets - [n] offsets of the columns' grid points from the row's, -1, 0 or 1 in `i`, `j` (0 in 1D) and `k` (0 in 1D and 2D); `c` is
             not read
-  values  - [n] coefficients, or where a point has several unknowns [n] blocks of coefficients, row by row; those of equal offsets are
             added

   Level: intermediate

   Note:
   At points on the boundary, what leads outside the domain is left out: this is what a Dirichlet boundary leaves after it was eliminated.
   Rows that differ can be set afterwards with `MatSetValues()` and its kin. No assembly is needed.

.seealso: `MATHJSTENCIL`, `MatHJStencilGetArray()`, `MatCreateHJStencil()`, `MatSetValuesStencil()`
@*/
PetscErrorCode MatHJStencilSetRow(Mat A, PetscInt n, const MatStencil offsets[], const PetscScalar values[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscValidLogicalCollectiveInt(A, n, 2);
  if (n > 0) HJCheckPointer(offsets, 3);
  if (n > 0) HJCheckPointer(values, 4);
  PetscTryMethod(A, "MatHJStencilSetRow_C", (Mat, PetscInt, const MatStencil[], const PetscScalar[]), (A, n, offsets, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

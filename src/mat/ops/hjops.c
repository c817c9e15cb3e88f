/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What a stencil matrix answers from its coefficients: products, diagonal, scaling, sums, copies, norms, rows.
*/
#include "mat/base/hjmat.h"
#include "operator/hjvectors.h"

/* y = b + alpha A x, or with A^T; b may be NULL */
static PetscErrorCode HJMatMultiply(Mat A, PetscBool transpose, PetscScalar alpha, Vec x, Vec b, Vec y)
{
  HJProducts     *products;
  HJCoefficients *c;

  PetscFunctionBegin;
  PetscCall(HJMatChooseProducts(A, x, b, y, &products, &c));
  PetscCall(HJProductsApply(products, c, transpose, alpha, x, b, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMult_HJStencil(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(HJMatMultiply(A, PETSC_FALSE, 1.0, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultAdd_HJStencil(Mat A, Vec x, Vec b, Vec y)
{
  PetscFunctionBegin;
  PetscCall(HJMatMultiply(A, PETSC_FALSE, 1.0, x, b, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatResidual_HJStencil(Mat A, Vec b, Vec x, Vec r)
{
  PetscFunctionBegin;
  PetscCheck(x != r, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_IDN, "x and r must be different vectors"); /* PETSC does not look */
  PetscCall(HJMatMultiply(A, PETSC_FALSE, -1.0, x, b, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTranspose_HJStencil(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(HJMatMultiply(A, PETSC_TRUE, 1.0, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMultTransposeAdd_HJStencil(Mat A, Vec x, Vec b, Vec y)
{
  PetscFunctionBegin;
  PetscCall(HJMatMultiply(A, PETSC_TRUE, 1.0, x, b, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the matrix lives, if both vectors are there too; else the host */
static PetscErrorCode HJMatGetWith(Mat A, Vec x, Vec y, const HJArrayOps **ops, HJCoefficients **c)
{
  PetscFunctionBegin;
  PetscCall(HJMatFindOps(A, 2, (const Vec[]){x, y}, ops));
  PetscCall(HJMatGetIn(A, *ops, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetDiagonal_HJStencil(Mat A, Vec d)
{
  const HJArrayOps *ops = &HJArraysHost;
  HJCoefficients   *c;
  HJVecArray        a;
  PetscScalar      *work, *to;

  PetscFunctionBegin;
  PetscCall(HJMatGetWith(A, d, NULL, &ops, &c));
  PetscCall(HJVecOpen(ops->backend, NULL, HJ_READ_WRITE, d, NULL, &a));
  PetscCall(HJComponentAlloc(ops, c, c->npoints, &work));
  to = work ? work : a.used;
  for (PetscInt l = 0; l < c->dof; l++) {
    PetscCall(HJMatGetSlot(A, ops, HJSlotOfEntry(c, 0, l, l), to));
    PetscCall(HJComponentPut(ops, c->dof, l, c->npoints, to, a.used));
  }
  PetscCall(HJComponentFree(ops, &work));
  PetscCall(HJVecClose(&a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatZeroEntries_HJStencil(Mat A)
{
  PetscFunctionBegin;
  PetscCall(HJMatCheckSetUp(A));
  PetscCall(HJMatCheckArrays(A));
  PetscCall(HJMatSetZero(A));
  ((Mat_HJStencil *)A->data)->changed = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. Numbers of the rows were changed: the device's are copied again; rows that overflowed become arrays */
static PetscErrorCode HJMatChangedRows(Mat A)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  if (hj->d.device_rows) PetscCall(hj->device->free(&hj->d.device_rows));
  if (hj->c.storage == HJ_COEFFICIENTS_ARRAYS) PetscFunctionReturn(PETSC_SUCCESS);
  if (!HJMatIsFinite(hj->c.nrows * hj->c.nslots, hj->c.rows)) hj->changed = PETSC_TRUE;
  PetscCall(HJMatChoose(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All numbers that are stored, whatever the storage */
static PetscErrorCode MatScale_HJStencil(Mat A, PetscScalar s)
{
  const HJArrayOps *ops = &HJArraysHost;
  HJCoefficients   *c;

  PetscFunctionBegin;
  PetscCall(HJMatCheckArrays(A));
  PetscCall(HJMatGetHome(A, &ops, &c));
  if (c->storage == HJ_COEFFICIENTS_ARRAYS) {
    PetscCall(ops->combine(HJCoefficientsSize(c), 0.0, NULL, s, c->value));
    PetscCall(HJMatTouched(A, ops));
  }
  for (PetscInt r = 0; r < c->nrows * c->nslots; r++) c->rows[r] *= s;
  PetscCall(HJMatChangedRows(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatShift_HJStencil(Mat A, PetscScalar s)
{
  const HJArrayOps *ops = &HJArraysHost;
  HJCoefficients   *c;

  PetscFunctionBegin;
  PetscCall(HJMatCheckArrays(A));
  PetscCall(HJMatGetHome(A, &ops, &c));
  for (PetscInt l = 0; l < c->dof; l++) {
    const PetscInt slot = HJSlotOfEntry(c, 0, l, l);

    if (c->storage == HJ_COEFFICIENTS_ARRAYS) PetscCall(ops->combine(c->npoints, s, NULL, 1.0, c->value + HJSlotBegin(c, slot)));
    for (PetscInt r = 0; r < c->nrows; r++) c->rows[r * c->nslots + slot] += s;
  }
  if (c->storage == HJ_COEFFICIENTS_ARRAYS) PetscCall(HJMatTouched(A, ops));
  PetscCall(HJMatChangedRows(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDiagonalSet_HJStencil(Mat A, Vec d, InsertMode mode)
{
  const HJArrayOps *ops = &HJArraysHost;
  HJCoefficients   *c;
  HJVecArray        a;
  PetscScalar      *work;

  PetscFunctionBegin;
  PetscCall(HJMatCheckSetUp(A));
  PetscCall(HJMatCheckArrays(A));
  PetscCall(HJMatGetWith(A, d, NULL, &ops, &c));
  PetscCall(HJMatExpandIn(A, ops));
  PetscCall(HJVecOpen(ops->backend, NULL, HJ_READ, d, NULL, &a));
  PetscCall(HJComponentAlloc(ops, c, c->npoints, &work));
  for (PetscInt l = 0; l < c->dof; l++) {
    const PetscScalar *own;

    PetscCall(HJComponentGet(ops, c->dof, l, c->npoints, a.used, work, &own));
    PetscCall(ops->combine(c->npoints, 1.0, own, mode == ADD_VALUES ? 1.0 : 0.0, c->value + HJSlotBegin(c, HJSlotOfEntry(c, 0, l, l))));
  }
  PetscCall(HJComponentFree(ops, &work));
  PetscCall(HJVecClose(&a));
  PetscCall(HJMatChoose(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each column by the vector's value at its point */
static PetscErrorCode HJMatScaleColumns(Mat A, const HJArrayOps *ops, HJCoefficients *c, Vec right)
{
  const PetscScalar *ghost;
  PetscScalar       *factor, *work[2];
  HJProducts        *products;
  HJVecArray         r;

  PetscFunctionBegin;
  PetscCall(HJMatGetProducts(A, ops, &products));
  PetscCall(HJVecOpen(ops->backend, NULL, HJ_READ, right, NULL, &r));
  PetscCall(HJGhostsGet(&products->ghosts, r.used, &ghost));
  PetscCall(ops->alloc((size_t)c->npoints * sizeof(*factor), &factor));
  PetscCall(HJComponentAlloc(ops, c, c->npoints, &work[0]));
  PetscCall(HJComponentAlloc(ops, c, products->ghosts.shell.size, &work[1]));
  for (PetscInt l = 0; l < c->dof; l++) {
    const PetscScalar *own, *out;

    PetscCall(HJComponentGet(ops, c->dof, l, c->npoints, r.used, work[0], &own));
    PetscCall(HJComponentGet(ops, c->dof, l, products->ghosts.shell.size, ghost, work[1], &out));
    for (PetscInt s = 0; s < c->nslots; s++) {
      PetscInt off[3];

      if (HJSlotColumn(c, s) != l) continue;
      HJSlotOffset(c, s, off);
      PetscCall(ops->shifted(&products->ghosts.shell, off, own, out, factor));
      PetscCall(ops->multiply(c->npoints, factor, c->value + HJSlotBegin(c, s)));
    }
  }
  for (int i = 0; i < 2; i++) PetscCall(HJComponentFree(ops, &work[i]));
  PetscCall(ops->free(&factor));
  PetscCall(HJVecClose(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMatScaleRows(const HJArrayOps *ops, HJCoefficients *c, Vec left)
{
  PetscScalar *work;
  HJVecArray   a;

  PetscFunctionBegin;
  PetscCall(HJVecOpen(ops->backend, NULL, HJ_READ, left, NULL, &a));
  PetscCall(HJComponentAlloc(ops, c, c->npoints, &work));
  for (PetscInt l = 0; l < c->dof; l++) {
    const PetscScalar *factor;

    PetscCall(HJComponentGet(ops, c->dof, l, c->npoints, a.used, work, &factor));
    for (PetscInt s = 0; s < c->nslots; s++)
      if (HJSlotRow(c, s) == l) PetscCall(ops->multiply(c->npoints, factor, c->value + HJSlotBegin(c, s)));
  }
  PetscCall(HJComponentFree(ops, &work));
  PetscCall(HJVecClose(&a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDiagonalScale_HJStencil(Mat A, Vec left, Vec right)
{
  const HJArrayOps *ops = &HJArraysHost;
  HJCoefficients   *c;

  PetscFunctionBegin;
  PetscCall(HJMatCheckArrays(A));
  if (!left && !right) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMatGetWith(A, left ? left : right, right, &ops, &c));
  PetscCall(HJMatExpandIn(A, ops));
  if (right) PetscCall(HJMatScaleColumns(A, ops, c, right));
  if (left) PetscCall(HJMatScaleRows(ops, c, left));
  PetscCall(HJMatChoose(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether two stencil matrices lie on the same grid in the same way. Collective */
static PetscErrorCode HJMatSameGrid(Mat A, Mat B, PetscBool *same)
{
  const HJGrid *a = &((Mat_HJStencil *)A->data)->grid, *b = &((Mat_HJStencil *)B->data)->grid;

  PetscFunctionBegin;
  *same = (PetscBool)(a->dim == b->dim && a->dof == b->dof);
  for (int d = 0; d < 3; d++)
    *same = (PetscBool)(*same && a->N[d] == b->N[d] && a->owned.hi[d] == b->owned.hi[d] && a->domain.lo[d] == b->domain.lo[d] &&
                        a->domain.hi[d] == b->domain.hi[d]);
  PetscCall(HJOnAllRanks(PetscObjectComm((PetscObject)A), same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatAXPY_HJStencil(Mat Y, PetscScalar a, Mat X, MatStructure str)
{
  Mat_HJStencil    *hy = (Mat_HJStencil *)Y->data, *hx = (Mat_HJStencil *)X->data;
  const HJArrayOps *ops = &HJArraysHost;
  HJCoefficients   *cy, *cx = &hx->c;
  PetscScalar      *slot;
  PetscBool         same;

  PetscFunctionBegin;
  PetscCall(HJMatCheckArrays(Y));
  PetscCall(HJMatSameGrid(Y, X, &same));
  PetscCheck(same, PetscObjectComm((PetscObject)Y), PETSC_ERR_ARG_INCOMP,
             "The two matrices lie on different grids, or are distributed in different ways; convert both to AIJ with MatConvert()");
  if (cx->shape == HJ_BOX) PetscCall(HJMatReshape(Y, HJ_BOX));
  for (PetscInt s = 0; s < cx->nslots; s++)
    if (HJSlotLike(&hy->c, cx, s) < 0) PetscCall(HJMatAddSlots(Y));
  PetscCall(HJMatGetHome(Y, &ops, &cy));
  if (cx->storage == HJ_COEFFICIENTS_ROW && cy->storage == HJ_COEFFICIENTS_ROW) {
    for (PetscInt s = 0; s < cx->nslots; s++) cy->rows[HJSlotLike(cy, cx, s)] += a * cx->rows[s];
    hy->symmetric = PETSC_BOOL3_UNKNOWN;
    PetscCall(HJMatChangedRows(Y));
  } else {
    PetscCall(HJMatExpandIn(Y, ops));
    PetscCall(ops->alloc((size_t)cx->npoints * sizeof(*slot), &slot));
    for (PetscInt s = 0; s < cx->nslots; s++) {
      PetscCall(HJMatGetSlot(X, ops, s, slot));
      PetscCall(ops->combine(cx->npoints, a, slot, 1.0, cy->value + HJSlotBegin(cy, HJSlotLike(cy, cx, s))));
    }
    PetscCall(ops->free(&slot));
  }
  PetscCall(HJMatChoose(Y));
  PetscCall(PetscObjectStateIncrease((PetscObject)Y)); /* MatAXPY() leaves that to the types */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix without coefficients on the same grid and with the same layouts */
static PetscErrorCode HJMatCreateLike(Mat A, Mat *out)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data, *hb;
  Mat            B;
  VecType        vectype;
  PetscBool      bound;

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), &B));
  PetscCall(MatSetSizes(B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetBlockSizesFromMats(B, A, A));
  PetscCall(MatSetType(B, MATHJSTENCIL));
  PetscCall(PetscLayoutReference(A->rmap, &B->rmap));
  PetscCall(PetscLayoutReference(A->cmap, &B->cmap));
  PetscCall(MatSetDM(B, hj->da));
  PetscCall(MatSetUp(B));
  hb          = (Mat_HJStencil *)B->data;
  hb->view_da = hj->view_da;
  PetscCall(HJMatSetShape(B, hj->c.shape));
  PetscCall(MatGetVecType(A, &vectype));
  PetscCall(MatSetVecType(B, vectype));
  PetscCall(MatBoundToCPU(A, &bound));
  PetscCall(MatBindToCPU(B, bound));
  *out = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatDuplicate_HJStencil(Mat A, MatDuplicateOption op, Mat *B)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data, *hb;

  PetscFunctionBegin;
  PetscCall(HJMatCreateLike(A, B));
  hb                  = (Mat_HJStencil *)(*B)->data;
  hb->column_oriented = hj->column_oriented;
  hb->drop_unfit      = hj->drop_unfit;
  hb->drop_others     = hj->drop_others;
  hb->coo             = hj->coo;
  if (hb->coo) hb->coo->refct++;
  if (op != MAT_COPY_VALUES) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMatCopyCoefficients(A, *B));
  (*B)->num_ass = A->num_ass; /* PETSc forgets symmetry with new values, but not with the first ones */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCopy_HJStencil(Mat A, Mat B, MatStructure str)
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)B, MATHJSTENCIL, &same));
  if (same) PetscCall(HJMatSameGrid(A, B, &same));
  if (!same) {
    PetscCall(MatZeroEntries(B));
    PetscCall(HJCopyRows(A, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMatCheckArrays(B));
  PetscCall(HJMatSetShape(B, ((Mat_HJStencil *)A->data)->c.shape));
  PetscCall(HJMatCopyCoefficients(A, B));
  PetscCall(HJMatTakeView(B));
  B->assembled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatStoreValues_HJStencil(Mat A)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&hj->stored));
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &hj->stored));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatRetrieveValues_HJStencil(Mat A)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  PetscCheck(hj->stored, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "There are no values; call MatStoreValues() first");
  PetscCall(MatCopy(hj->stored, A, DIFFERENT_NONZERO_PATTERN));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* There is room for every entry at any time */
static PetscErrorCode MatResetPreallocation_HJStencil(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries_HJStencil(A));
  PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatComposeStored(Mat A, PetscBool on)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatStoreValues_C", on ? MatStoreValues_HJStencil : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatRetrieveValues_C", on ? MatRetrieveValues_HJStencil : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatResetPreallocation_C", on ? MatResetPreallocation_HJStencil : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of one component of A^T at an offset: the columns of A at the opposite offset, at the points that the offset leads to. work:
   a component of a vector on the owned points, and on its ghosts */
static PetscErrorCode HJMatTransposeRows(Mat A, const HJArrayOps *ops, HJProducts *products, const PetscInt off[3], PetscInt row,
                                         PetscScalar *vector, PetscScalar *work[2], HJCoefficients *t)
{
  Mat_HJStencil     *hj   = (Mat_HJStencil *)A->data;
  const PetscInt     dof  = t->dof;
  const PetscInt     back = HJGridSlotBack(&hj->grid, hj->c.shape, HJSlotAt(&hj->c, off));
  PetscScalar       *to   = work[0] ? work[0] : vector;
  const PetscScalar *ghost;

  PetscFunctionBegin;
  for (PetscInt column = 0; column < dof; column++) {
    const PetscInt slot = HJSlotOfEntry(&hj->c, back, column, row);

    if (slot >= 0) PetscCall(HJMatGetSlot(A, ops, slot, to));
    else PetscCall(ops->zero(to, (size_t)t->npoints * sizeof(*to)));
    PetscCall(HJComponentPut(ops, dof, column, t->npoints, to, vector));
  }
  PetscCall(HJGhostsGet(&products->ghosts, vector, &ghost));
  for (PetscInt column = 0; column < dof; column++) {
    const PetscScalar *own, *out;

    PetscCall(HJComponentGet(ops, dof, column, t->npoints, vector, work[0], &own));
    PetscCall(HJComponentGet(ops, dof, column, products->ghosts.shell.size, ghost, work[1], &out));
    PetscCall(
      ops->shifted(&products->ghosts.shell, off, own, out, t->value + HJSlotBegin(t, HJSlotOfEntry(t, HJSlotAt(t, off), row, column))));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMatFillTranspose(Mat A, Mat T)
{
  const HJLayout   *l   = &((Mat_HJStencil *)A->data)->layout;
  const HJArrayOps *ops = &HJArraysHost;
  HJCoefficients   *c;
  HJProducts       *products;
  PetscScalar      *vector, *work[2];

  PetscFunctionBegin;
  PetscCall(HJMatGetHome(T, &ops, &c));
  PetscCall(HJMatExpandIn(T, ops));
  PetscCall(HJMatGetProducts(A, ops, &products));
  PetscCall(ops->alloc((size_t)c->npoints * c->dof * sizeof(*vector), &vector));
  PetscCall(HJComponentAlloc(ops, c, c->npoints, &work[0]));
  PetscCall(HJComponentAlloc(ops, c, products->ghosts.shell.size, &work[1]));
  for (PetscInt s = 0; s < c->nslots; s++) {
    PetscInt off[3];

    HJSlotOffset(c, s, off);
    if (!HJLayoutIsOwnOffset(l, off)) PetscCall(ops->zero(c->value + HJSlotBegin(c, s), c->npoints * sizeof(*vector)));
    else if (!HJSlotColumn(c, s)) PetscCall(HJMatTransposeRows(A, ops, products, off, HJSlotRow(c, s), vector, work, c));
  }
  PetscCall(ops->free(&vector));
  for (int i = 0; i < 2; i++) PetscCall(HJComponentFree(ops, &work[i]));
  PetscCall(HJMatChoose(T));
  T->assembled = PETSC_TRUE;
  T->num_ass   = PetscMax(T->num_ass, A->num_ass);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTranspose_HJStencil(Mat A, MatReuse reuse, Mat *B)
{
  Mat T;

  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX) {
    PetscBool same;

    T = *B;
    PetscCall(PetscObjectTypeCompare((PetscObject)T, MATHJSTENCIL, &same));
    PetscCheck(same, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONG,
               "The matrix to reuse is a %s, the transpose of a " MATHJSTENCIL " is one too; use MAT_INITIAL_MATRIX",
               ((PetscObject)T)->type_name);
    PetscCall(HJMatCheckArrays(T));
    PetscCall(HJMatSetShape(T, ((Mat_HJStencil *)A->data)->c.shape));
  } else PetscCall(HJMatCreateLike(A, &T));
  PetscCall(HJMatFillTranspose(A, T));
  if (reuse == MAT_INPLACE_MATRIX) {
    PetscCall(MatCopy_HJStencil(T, A, SAME_NONZERO_PATTERN));
    PetscCall(MatDestroy(&T));
  } else *B = T;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums over rows or columns of |a_ij|, or of (a_ij / largest)^2 over rows, on the host: products of a copy with ones */
static PetscErrorCode HJMatSums(Mat A, NormType type, PetscReal largest, Vec sums)
{
  Mat_HJStencil     *hj = (Mat_HJStencil *)A->data;
  HJCoefficients     c;
  const PetscScalar *from;
  PetscScalar       *a;
  PetscCount         n;
  Vec                ones;

  PetscFunctionBegin;
  PetscCall(HJMatGetHost(A));
  c    = hj->c;
  n    = c.value ? HJCoefficientsSize(&c) : (PetscCount)c.nrows * c.nslots;
  from = c.value ? c.value : c.rows;
  PetscCall(PetscMalloc1(n, &a));
  for (PetscCount i = 0; i < n; i++) a[i] = type == NORM_FROBENIUS ? PetscSqr(from[i] / largest) : PetscAbsScalar(from[i]);
  if (c.value) c.value = a;
  else c.rows = a;
  PetscCall(VecDuplicate(sums, &ones));
  PetscCall(VecSet(ones, 1.0));
  PetscCall(HJProductsApply(hj->products, &c, (PetscBool)(type == NORM_1), 1.0, ones, NULL, sums));
  PetscCall(VecDestroy(&ones));
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest absolute value of all coefficients that are stored, also of those that lead outside. Collective */
static PetscErrorCode HJMatGetLargestStored(Mat A, PetscReal *largest)
{
  const HJCoefficients *c    = &((Mat_HJStencil *)A->data)->c;
  PetscReal             mine = 0.0;

  PetscFunctionBegin;
  PetscCall(HJMatGetHost(A));
  for (PetscCount i = 0; c->value && i < HJCoefficientsSize(c); i++) mine = PetscMax(mine, PetscAbsScalar(c->value[i]));
  for (PetscInt i = 0; i < c->nslots * c->nrows; i++) mine = PetscMax(mine, PetscAbsScalar(c->rows[i]));
  PetscCallMPI(MPI_Allreduce(&mine, largest, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatNorm_HJStencil(Mat A, NormType type, PetscReal *norm)
{
  Vec         sums;
  PetscScalar sum;
  PetscReal   largest = 1.0;

  PetscFunctionBegin;
  PetscCheck(type == NORM_1 || type == NORM_INFINITY || type == NORM_FROBENIUS, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "No norm %s of a matrix of type " MATHJSTENCIL "; use NORM_1, NORM_INFINITY or NORM_FROBENIUS", NormTypes[type]);
  if (type == NORM_FROBENIUS) PetscCall(HJMatGetLargestStored(A, &largest));
  if (!(largest > HJ_BY_PRECISION(1e100, 1e15) && largest < PETSC_INFINITY) && !(largest > 0.0 && largest < HJ_BY_PRECISION(1e-100, 1e-15)))
    largest = 1.0; /* squares are numbers */
  PetscCall(MatCreateVecs(A, NULL, &sums));
  PetscCall(HJMatSums(A, type, largest, sums));
  if (type == NORM_FROBENIUS) {
    PetscCall(VecSum(sums, &sum));
    *norm = largest * PetscSqrtReal(PetscRealPart(sum));
  } else PetscCall(VecNorm(sums, NORM_INFINITY, norm));
  PetscCall(VecDestroy(&sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatGetRow_HJStencil(Mat A, PetscInt row, PetscInt *n, PetscInt **columns, PetscScalar **values)
{
  Mat_HJStencil *hj  = (Mat_HJStencil *)A->data;
  const PetscInt dof = hj->c.dof, number = row / dof, point = number - hj->layout.start;
  PetscInt       at[3], count = 0;

  PetscFunctionBegin;
  PetscCheck(row >= A->rmap->rstart && row < A->rmap->rend, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Row %" PetscInt_FMT " is another rank's; this one has the rows %" PetscInt_FMT " to %" PetscInt_FMT, row, A->rmap->rstart,
             A->rmap->rend - 1);
  PetscCall(HJMatGetHost(A));
  (void)HJLayoutLocate(&hj->layout, number, at);
  for (PetscInt o = 0; o < HJCoefficientsOffsets(&hj->c); o++) {
    PetscInt off[3], to[3], column, q;

    HJShapeOffset(hj->c.dim, hj->c.shape, o, off);
    for (int d = 0; d < 3; d++) to[d] = at[d] + off[d];
    if (!HJLayoutIsOwnOffset(&hj->layout, off)) continue;
    column = HJLayoutPoint(&hj->layout, to) * dof;
    if (column < 0) continue;
    for (q = count, count += dof; q > 0 && hj->row_columns[q - 1] > column; q--) {
      hj->row_columns[q - 1 + dof] = hj->row_columns[q - 1];
      hj->row_values[q - 1 + dof]  = hj->row_values[q - 1];
    }
    for (PetscInt l = 0; l < dof; l++) {
      const PetscInt slot = HJSlotOfEntry(&hj->c, o, row % dof, l);

      hj->row_columns[q + l] = column + l;
      hj->row_values[q + l]  = slot < 0 ? 0.0 : HJCoefficientAt(&hj->c, slot, point);
    }
  }
  *n = count;
  if (columns) *columns = hj->row_columns;
  if (values) *values = hj->row_values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatRestoreRow_HJStencil(Mat A, PetscInt row, PetscInt *n, PetscInt **columns, PetscScalar **values)
{
  PetscFunctionBegin;
  if (n) *n = 0;
  if (columns) *columns = NULL;
  if (values) *values = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether no row of any rank has a diagonal of 0, looked for where the coefficients are. Collective */
static PetscErrorCode HJMatHasFullDiagonal(Mat A, PetscBool *full)
{
  PetscBool         mine = PETSC_TRUE;
  const HJArrayOps *ops;
  HJCoefficients   *c;

  PetscFunctionBegin;
  PetscCall(HJMatGetHome(A, &ops, &c));
  for (PetscInt l = 0; l < c->dof && mine; l++) {
    const PetscInt slot = HJSlotOfEntry(c, 0, l, l);

    if (c->storage == HJ_COEFFICIENTS_ARRAYS) PetscCall(ops->nonzero(c->npoints, c->value + HJSlotBegin(c, slot), &mine));
    for (PetscInt r = 0; r < c->nrows && c->storage != HJ_COEFFICIENTS_ARRAYS; r++)
      mine = (PetscBool)(mine && c->rows[r * c->nslots + slot] != 0.0);
  }
  *full = mine;
  PetscCall(HJOnAllRanks(PetscObjectComm((PetscObject)A), full));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows with a nonzero; NULL where all ranks have them in all rows */
static PetscErrorCode MatFindNonzeroRows_HJStencil(Mat A, IS *kept)
{
  PetscInt  n = A->rmap->n, *rows, count = 0;
  PetscBool full = PETSC_FALSE;

  PetscFunctionBegin;
  *kept = NULL;
  PetscCall(HJMatHasFullDiagonal(A, &full));
  if (full) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n, &rows));
  for (PetscInt r = 0; r < n; r++) {
    PetscInt     nnz, e = 0, *columns;
    PetscScalar *values;

    PetscCall(MatGetRow_HJStencil(A, A->rmap->rstart + r, &nnz, &columns, &values));
    while (e < nnz && values[e] == 0.0) e++;
    if (e < nnz) rows[count++] = A->rmap->rstart + r;
  }
  full = (PetscBool)(count == n);
  PetscCall(HJOnAllRanks(PetscObjectComm((PetscObject)A), &full));
  if (full) PetscCall(PetscFree(rows));
  else PetscCall(ISCreateGeneral(PetscObjectComm((PetscObject)A), count, rows, PETSC_OWN_POINTER, kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest absolute value of all entries; infinity where one is no number. Collective */
static PetscErrorCode HJMatGetLargest(Mat A, PetscReal *largest)
{
  const HJCoefficients *c = &((Mat_HJStencil *)A->data)->c;
  PetscScalar          *slot;
  PetscReal             mine = 0.0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(c->npoints, &slot));
  for (PetscInt s = 0; s < c->nslots; s++) {
    PetscCall(HJMatGetSlot(A, &HJArraysHost, s, slot));
    for (PetscCount p = 0; p < c->npoints; p++) mine = PetscIsNanScalar(slot[p]) ? PETSC_INFINITY : PetscMax(mine, PetscAbsScalar(slot[p]));
  }
  PetscCall(PetscFree(slot));
  PetscCallMPI(MPI_Allreduce(&mine, largest, 1, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest entry of A^T - B. Collective */
static PetscErrorCode HJMatTransposeDifference(Mat A, Mat B, PetscReal *largest)
{
  Mat T;

  PetscFunctionBegin;
  PetscCall(MatTranspose_HJStencil(A, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatAXPY_HJStencil(T, -1.0, B, SAME_NONZERO_PATTERN));
  PetscCall(HJMatGetLargest(T, largest));
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatIsSymmetric_HJStencil(Mat A, PetscReal tol, PetscBool *symmetric)
{
  PetscReal largest;

  PetscFunctionBegin;
  PetscCall(HJMatTransposeDifference(A, A, &largest));
  *symmetric = (PetscBool)(largest <= tol);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatIsTranspose_HJStencil(Mat A, Mat B, PetscReal tol, PetscBool *transposed)
{
  PetscReal largest;

  PetscFunctionBegin;
  PetscCall(HJMatTransposeDifference(A, B, &largest));
  *transposed = (PetscBool)(largest <= tol);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers are real */
static PetscErrorCode MatRealPart_HJStencil(Mat A)
{
  PetscFunctionBegin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatImaginaryPart_HJStencil(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatEqual_HJStencil(Mat A, Mat B, PetscBool *equal)
{
  Mat       D;
  PetscReal largest;

  PetscFunctionBegin;
  PetscCall(HJMatSameGrid(A, B, equal));
  if (!*equal) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDuplicate_HJStencil(A, MAT_COPY_VALUES, &D));
  PetscCall(MatAXPY_HJStencil(D, -1.0, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(HJMatGetLargest(D, &largest));
  PetscCall(MatDestroy(&D));
  *equal = (PetscBool)(largest == 0.0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatComposeTranspose(Mat A, PetscBool on)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatIsTranspose_C", on ? MatIsTranspose_HJStencil : NULL));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatIsHermitianTranspose_C", on ? MatIsTranspose_HJStencil : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatSetOps(Mat A)
{
  PetscFunctionBegin;
  A->ops->mult                  = MatMult_HJStencil;
  A->ops->multadd               = MatMultAdd_HJStencil;
  A->ops->multtranspose         = MatMultTranspose_HJStencil;
  A->ops->multtransposeadd      = MatMultTransposeAdd_HJStencil;
  A->ops->residual              = MatResidual_HJStencil;
  A->ops->getdiagonal           = MatGetDiagonal_HJStencil;
  A->ops->diagonalset           = MatDiagonalSet_HJStencil;
  A->ops->diagonalscale         = MatDiagonalScale_HJStencil;
  A->ops->scale                 = MatScale_HJStencil;
  A->ops->shift                 = MatShift_HJStencil;
  A->ops->axpy                  = MatAXPY_HJStencil;
  A->ops->zeroentries           = MatZeroEntries_HJStencil;
  A->ops->zerorows              = MatZeroRows_HJStencil;
  A->ops->zerorowscolumns       = MatZeroRowsColumns_HJStencil;
  A->ops->duplicate             = MatDuplicate_HJStencil;
  A->ops->copy                  = MatCopy_HJStencil;
  A->ops->transpose             = MatTranspose_HJStencil;
  A->ops->equal                 = MatEqual_HJStencil;
  A->ops->issymmetric           = MatIsSymmetric_HJStencil;
  A->ops->ishermitian           = MatIsSymmetric_HJStencil;
  A->ops->realpart              = MatRealPart_HJStencil;
  A->ops->imaginarypart         = MatImaginaryPart_HJStencil;
  A->ops->norm                  = MatNorm_HJStencil;
  A->ops->getrow                = MatGetRow_HJStencil;
  A->ops->restorerow            = MatRestoreRow_HJStencil;
  A->ops->getvalues             = MatGetValues_HJStencil;
  A->ops->sor                   = MatSOR_HJStencil;
  A->ops->findnonzerorows       = MatFindNonzeroRows_HJStencil;
  A->ops->setvalues             = MatSetValues_HJStencil;
  A->ops->setvalueslocal        = MatSetValuesLocal_HJStencil;
  A->ops->setvaluesblockedlocal = MatSetValuesBlockedLocal_HJStencil;
  A->ops->assemblyend           = MatAssemblyEnd_HJStencil;
  PetscCall(HJMatComposeTranspose(A, PETSC_TRUE));
  PetscCall(HJMatComposeStored(A, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

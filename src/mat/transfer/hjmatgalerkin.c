/* SPDX-License-Identifier: BSD-2-Clause */
/*
   P^T A P of a stencil matrix and the interpolation between two DMDAs as a product of PETSc's, again a stencil matrix. Other products
   are AIJ's.
*/
#include "hjtransferimpl.h"

/* Sums whose terms cancel but for rounding are 0: what is left of them would count as a coupling */
#define HJ_COLLAPSE_ROUNDING (64 * PETSC_MACHINE_EPSILON)

/* Rows of a box become those of a star: each direction gets what leads to any point there, the centre what keeps the row sum */
static PetscErrorCode HJGalerkinCollapse(PetscInt dim, HJGalerkinRows *rows)
{
  const HJCoefficients box = {.dim = dim, .nslots = dim == 3 ? 27 : 9, .shape = HJ_BOX};
  const PetscInt       n   = 1 + 2 * dim;
  PetscScalar         *star;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(rows->nrows * n, &star));
  for (PetscInt r = 0; r < rows->nrows; r++) {
    PetscScalar *to              = star + r * n;
    PetscReal    size[1 + 2 * 3] = {0}; /* sums of the terms' sizes */

    for (PetscInt s = 0; s < box.nslots; s++) {
      const PetscScalar a = rows->rows[r * box.nslots + s];
      PetscInt          off[3];

      HJSlotOffset(&box, s, off);
      to[0] += a;
      for (int d = 0; d < dim; d++) {
        if (!off[d]) continue;
        to[1 + 2 * d + (off[d] > 0)] += a;
        size[1 + 2 * d + (off[d] > 0)] += PetscAbsScalar(a);
        to[0] -= a;
      }
    }
    for (PetscInt s = 1; s < n; s++)
      if (PetscAbsScalar(to[s]) <= HJ_COLLAPSE_ROUNDING * size[s]) to[s] = 0.0;
  }
  PetscCall(PetscFree(rows->rows));
  rows->rows = star;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows as the matrix's coefficients: a dictionary, or one row for all points where all ranks have the same one */
static PetscErrorCode HJGalerkinTakeRows(Mat C, HJGalerkinRows *rows)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)C->data;
  HJCoefficients *c  = &hj->c;

  PetscFunctionBegin;
  if (c->shape == HJ_STAR && c->dim > 1) PetscCall(HJGalerkinCollapse(c->dim, rows));
  PetscCall(HJMatFree(C));
  c->storage = HJ_COEFFICIENTS_DICTIONARY;
  c->nrows   = rows->nrows;
  c->rows    = rows->rows;
  c->index   = rows->index;
  PetscCall(HJMatTouched(C, &HJArraysHost));
  hj->changed = PETSC_TRUE;
  PetscCall(HJMatChoose(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the fine matrix has few rows the coarse one often has few. A copy on the host is made for this alone */
static PetscErrorCode HJGalerkinTryRows(HJGalerkins *op, Mat A, Mat P, Mat C, PetscBool *rows_fit)
{
  Mat_HJStencil   *hj        = (Mat_HJStencil *)A->data;
  const PetscBool  on_host   = (PetscBool)(hj->valid != PETSC_OFFLOAD_GPU);
  const PetscBool3 symmetric = hj->symmetric;
  HJGalerkinRows   rows;

  PetscFunctionBegin;
  *rows_fit = PETSC_FALSE;
  if (((Mat_HJTransfer *)P->data)->variable || hj->c.storage == HJ_COEFFICIENTS_ARRAYS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMatGetHost(A));
  PetscCall(HJGalerkinsFindRows(op, &hj->c, rows_fit, &rows));
  if (!on_host) PetscCall(HJMatTouched(A, hj->device));
  hj->symmetric = symmetric; /* A itself did not change */
  if (*rows_fit) PetscCall(HJGalerkinTakeRows(C, &rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product of a symmetric matrix keeps half the coefficients where no point has neighbours that are not owned, but for one of which a star
   is made */
static PetscErrorCode HJGalerkinArrays(HJGalerkins *op, Mat A, Mat P, PetscBool star, Mat C)
{
  Mat_HJStencil    *hj = (Mat_HJStencil *)C->data;
  const HJArrayOps *ops;
  HJCoefficients   *fine, *coarse;
  HJTransfers      *variable;
  PetscBool         half = ((Mat_HJTransfer *)P->data)->symmetric;

  PetscFunctionBegin;
  PetscCall(HJMatGetHome(A, &ops, &fine));
  PetscCall(HJMatGetKnown(A, ops, PETSC_TRUE, &fine));
  half = (PetscBool)((half || fine->symmetric) && !HJGridHasNeighbors(&hj->grid) && !star);
  PetscCall(HJTransferGetVariable(P, ops, &variable));
  PetscCall(HJMatAllocArrays(C, ops->backend->mtype, half));
  PetscCall(HJMatGetIn(C, ops, &coarse));
  if (variable) PetscCall(HJGalerkinsVariable(op, ops, fine, variable, coarse));
  else PetscCall(HJGalerkinsArrays(op, ops, fine, coarse));
  hj->changed = PETSC_FALSE; /* no dictionary is looked for */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of several unknowns a point. Points that have no part in the interpolation have none in the matrix either */
static PetscErrorCode HJGalerkinSystem(HJGalerkins *op, Mat A, Mat P, Mat C)
{
  Mat_HJStencil    *hj = (Mat_HJStencil *)C->data;
  const HJArrayOps *ops;
  HJCoefficients   *fine, *coarse;
  const Vec         keep = ((Mat_HJTransfer *)P->data)->keep;
  Mat               K    = A;

  PetscFunctionBegin;
  if (keep) {
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &K));
    PetscCall(MatDiagonalScale(K, keep, keep));
  }
  PetscCall(HJMatGetHome(K, &ops, &fine));
  PetscCall(HJMatSetPairsLike(C, K));
  PetscCall(HJMatAllocArrays(C, ops->backend->mtype, PETSC_FALSE));
  PetscCall(HJMatGetIn(C, ops, &coarse));
  PetscCall(HJGalerkinsSystem(op, ops, fine, coarse));
  hj->changed = (PetscBool)(fine->storage == HJ_COEFFICIENTS_ROW); /* else one row is not looked for */
  if (keep) PetscCall(MatDestroy(&K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What HJGalerkinCollapse() does with rows, done with the arrays of a box */
static PetscErrorCode HJGalerkinCollapseArrays(Mat C)
{
  const HJArrayOps *ops;
  HJCoefficients   *c;

  PetscFunctionBegin;
  PetscCall(HJMatGetHome(C, &ops, &c));
  for (PetscInt s = 0; s < c->nslots; s++) {
    PetscScalar *a = c->value + HJSlotBegin(c, s);
    PetscInt     off[3], directions = 0;

    HJSlotOffset(c, s, off);
    for (int d = 0; d < 3; d++) directions += off[d] != 0;
    if (directions < 2) continue;
    for (int d = 0; d < 3; d++) {
      PetscInt toward[3] = {0, 0, 0};

      if (!off[d]) continue;
      toward[d] = off[d];
      PetscCall(ops->combine(c->npoints, 1.0, a, 1.0, c->value + HJSlotBegin(c, HJSlotAt(c, toward))));
    }
    PetscCall(ops->combine(c->npoints, 1.0 - directions, a, 1.0, c->value));
  }
  PetscCall(HJMatTouched(C, ops));
  PetscCall(HJMatReshape(C, HJ_STAR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductNumeric_PtAP_HJStencil_HJTransfer(Mat C)
{
  Mat_HJStencil  *hj = (Mat_HJStencil *)C->data;
  HJGalerkins    *op = hj->galerkin;
  Mat             A = C->product->A, P = C->product->B;
  const PetscBool system = (PetscBool)(hj->c.dof > 1), star = (PetscBool)(!system && hj->c.shape == HJ_STAR && hj->c.dim > 1);
  PetscBool       rows_fit = system;
  PetscLogDouble  flops;

  PetscFunctionBegin;
  PetscCall(HJMatCheckArrays(C));
  if (system) PetscCall(HJGalerkinSystem(op, A, P, C));
  else PetscCall(HJGalerkinTryRows(op, A, P, C, &rows_fit));
  if (!rows_fit) {
    if (star) PetscCall(HJMatSetShape(C, HJ_BOX));
    PetscCall(HJGalerkinArrays(op, A, P, star, C));
    if (star) PetscCall(HJGalerkinCollapseArrays(C));
  }
  flops = 4.0 * ((Mat_HJStencil *)A->data)->c.nslots * ((Mat_HJStencil *)A->data)->c.npoints;
  if (system || !rows_fit) PetscCall(PetscLogFlops(flops));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatProductSymbolic_PtAP_HJStencil_HJTransfer(Mat C)
{
  Mat             A = C->product->A, P = C->product->B;
  Mat_HJStencil  *fine = (Mat_HJStencil *)A->data, *hj;
  Mat_HJTransfer *tr   = (Mat_HJTransfer *)P->data;
  HJExchange      exchange;
  PetscBool       device;

  PetscFunctionBegin;
  PetscCall(MatSetSizes(C, P->cmap->n, P->cmap->n, P->cmap->N, P->cmap->N));
  PetscCall(MatSetType(C, MATHJSTENCIL));
  PetscCall(MatSetDM(C, tr->coarse));
  PetscCall(MatSetUp(C));
  PetscCall(HJMatSetShape(C, tr->stars ? HJ_STAR : HJ_BOX));
  hj = (Mat_HJStencil *)C->data;
  PetscCall(HJGalerkinsDestroy(&hj->galerkin));
  PetscCall(HJMatOnDevice(A, &device));
  PetscCall(HJMatChooseExchange(fine->da, device ? fine->device->backend : &HJBackendHost, &exchange));
  PetscCall(HJGalerkinsCreate(fine->da, &tr->transfer, exchange, &hj->galerkin));
  C->ops->productnumeric = MatProductNumeric_PtAP_HJStencil_HJTransfer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatProductSetFromOptions_HJStencil_HJTransfer(Mat C)
{
  PetscBool same = PETSC_FALSE;

  PetscFunctionBegin;
  if (C->product->type != MATPRODUCT_PtAP) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJTransferIsOnGrid(C->product->B, C->product->A, &same));
  if (same) C->ops->productsymbolic = MatProductSymbolic_PtAP_HJStencil_HJTransfer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

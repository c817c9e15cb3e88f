/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The rows of one of several components in its own columns, as a matrix with one unknown a point, whose storage is chosen anew.
*/
#include "mat/base/hjmat.h"

/* Whether the component has slots that lead to diagonal neighbours */
static PetscBool HJComponentNeedsBox(const HJCoefficients *a, PetscInt component)
{
  for (PetscInt o = 0; o < HJCoefficientsOffsets(a); o++) {
    PetscInt off[3];

    HJShapeOffset(a->dim, a->shape, o, off);
    if (HJSlotOfEntry(a, o, component, component) >= 0 && HJShapeSlot(a->dim, HJ_STAR, off[0], off[1], off[2]) < 0) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* The slot of the system that a slot of the component is; -1: there is none */
static PetscInt HJComponentSlot(const HJCoefficients *a, PetscInt component, const HJCoefficients *b, PetscInt slot)
{
  PetscInt off[3];

  HJSlotOffset(b, slot, off);
  return HJSlotOfEntry(a, HJSlotAt(a, off), component, component);
}

static PetscErrorCode HJComponentFillRow(const HJCoefficients *a, PetscInt component, Mat B)
{
  const HJCoefficients *b = &((Mat_HJStencil *)B->data)->c;
  PetscScalar           row[HJ_MAX_SLOTS];

  PetscFunctionBegin;
  for (PetscInt s = 0; s < b->nslots; s++) {
    const PetscInt slot = HJComponentSlot(a, component, b, s);

    row[s] = slot < 0 ? 0.0 : a->rows[slot];
  }
  PetscCall(HJMatSetOneRow(B, row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJComponentFillArrays(const HJArrayOps *ops, Mat A, PetscInt component, Mat B)
{
  const HJCoefficients *a = &((Mat_HJStencil *)A->data)->c;
  HJCoefficients       *b;

  PetscFunctionBegin;
  PetscCall(HJMatAllocArrays(B, ops->backend->mtype, PETSC_FALSE));
  PetscCall(HJMatGetIn(B, ops, &b));
  for (PetscInt s = 0; s < b->nslots; s++) {
    const PetscInt slot = HJComponentSlot(a, component, b, s);
    PetscScalar   *to   = b->value + HJSlotBegin(b, s);

    if (slot < 0) PetscCall(ops->zero(to, (size_t)b->npoints * sizeof(*to)));
    else PetscCall(HJMatGetSlot(A, ops, slot, to));
  }
  PetscCall(HJMatTouched(B, ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A claim of the system holds for each of its components */
static PetscErrorCode HJComponentClaim(Mat A, Mat B)
{
  PetscBool set, flag;

  PetscFunctionBegin;
  PetscCall(MatIsSymmetricKnown(A, &set, &flag));
  if (set && flag) PetscCall(MatSetOption(B, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatIsSPDKnown(A, &set, &flag));
  if (set && flag) PetscCall(MatSetOption(B, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatCreateComponent(Mat A, PetscInt component, DM da, Mat *B)
{
  const HJArrayOps *ops;
  HJCoefficients   *a;
  const PetscInt    n = (PetscInt)HJBoxSize(&((Mat_HJStencil *)A->data)->grid.owned);

  PetscFunctionBegin;
  if (!*B) {
    PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
    PetscCall(MatSetSizes(*B, n, n, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(MatSetType(*B, MATHJSTENCIL));
    PetscCall(MatSetDM(*B, da));
    PetscCall(MatSetUp(*B));
  }
  PetscCall(HJMatGetHome(A, &ops, &a));
  if (((Mat_HJStencil *)(*B)->data)->c.shape == HJ_STAR && HJComponentNeedsBox(a, component)) PetscCall(HJMatSetShape(*B, HJ_BOX));
  if (a->storage == HJ_COEFFICIENTS_ROW) PetscCall(HJComponentFillRow(a, component, *B));
  else PetscCall(HJComponentFillArrays(ops, A, component, *B));
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(HJComponentClaim(A, *B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

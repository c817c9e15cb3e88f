/* SPDX-License-Identifier: BSD-2-Clause */
/*
   A matrix from its products with vectors, by finite differences in the colours of an ISColoring.
*/
#pragma once

#include "hjtest.h"
#include <petscmat.h>

/* y = A x, A a Mat: of which finite differences are the entries */
static PetscErrorCode ColorsMultiply(void *unused, Vec x, Vec y, void *A)
{
  PetscFunctionBegin;
  PetscCall(MatMult((Mat)A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A becomes B */
static inline PetscErrorCode ColorsRecover(ISColoring is, Mat A, Mat B)
{
  MatFDColoring color;
  Vec           x;

  PetscFunctionBegin;
  PetscCall(MatFDColoringCreate(A, is, &color));
  PetscCall(MatFDColoringSetFunction(color, (void *)ColorsMultiply, B));
  PetscCall(MatFDColoringSetUp(A, is, color));
  PetscCall(MatCreateVecs(A, &x, NULL));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatFDColoringApply(A, color, x, NULL));
  PetscCall(VecDestroy(&x));
  PetscCall(MatFDColoringDestroy(&color));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Which matrix a set-up read, and in which state: what tells it whether to keep, refresh or make anew.
*/
#include "hjoperator.h"

/* The sum of its own and of its blocks' states: MatAXPY() of MATMPIAIJ with one pattern changes the blocks' alone (PETSc 3.18 to 3.26) */
static PetscErrorCode HJMatrixValuesState(Mat A, HJGetObjectState get, PetscObjectState *values)
{
  Mat              block[2];
  PetscBool        blocks;
  PetscObjectState one;

  PetscFunctionBegin;
  PetscCall((*get)((PetscObject)A, values));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &blocks));
  if (!blocks) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatMPIAIJGetSeqAIJ(A, &block[0], &block[1], NULL));
  for (int i = 0; i < 2; i++) {
    PetscCall((*get)((PetscObject)block[i], &one));
    *values += one;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatrixStateGet(Mat A, DM dm, HJGetObjectState get, HJMatrixState *state)
{
  DM grid[2] = {dm, NULL};

  PetscFunctionBegin;
  PetscCall(PetscMemzero(state, sizeof(*state)));
  PetscCall(PetscObjectGetId((PetscObject)A, &state->id));
  PetscCall(HJMatrixValuesState(A, get, &state->values));
  PetscCall(MatGetNonzeroState(A, &state->pattern));
  PetscCall(MatGetDM(A, &grid[1]));
  for (int i = 0; i < 2; i++)
    if (grid[i]) PetscCall(PetscObjectGetId((PetscObject)grid[i], &state->dm[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJMatrixStateIsSame(const HJMatrixState *a, const HJMatrixState *b)
{
  return (PetscBool)(a->id == b->id && a->pattern == b->pattern && a->dm[0] == b->dm[0] && a->dm[1] == b->dm[1]);
}

PetscErrorCode HJMatrixStateIsCurrent(const HJMatrixState *state, Mat A, HJGetObjectState get, PetscBool *is)
{
  PetscObjectId    id;
  PetscObjectState values;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  PetscCall(HJMatrixValuesState(A, get, &values));
  *is = (PetscBool)(id == state->id && values == state->values);
  PetscFunctionReturn(PETSC_SUCCESS);
}

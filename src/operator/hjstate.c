/*
   Which matrix a set-up read, and in which state: what tells it whether to keep, refresh or make anew.
*/
#include "hjoperator.h"

PetscErrorCode HJMatrixStateGet(Mat A, DM dm, PetscObjectState values, HJMatrixState *state)
{
  DM grid[2] = {dm, NULL};

  PetscFunctionBegin;
  PetscCall(PetscMemzero(state, sizeof(*state)));
  PetscCall(PetscObjectGetId((PetscObject)A, &state->id));
  state->values = values;
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

PetscErrorCode HJMatrixStateIsCurrent(const HJMatrixState *state, Mat A, PetscObjectState values, PetscBool *is)
{
  PetscObjectId id;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  *is = (PetscBool)(id == state->id && values == state->values);
  PetscFunctionReturn(PETSC_SUCCESS);
}

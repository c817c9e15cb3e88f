/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What every call on a stencil matrix may look at first: whether it is set up, and whether the user has one of its arrays; how its entries
   are numbered, who views and loads it, what it takes.
*/
#include "hjmat.h"

PetscErrorCode HJMatCheckSetUp(Mat A)
{
  PetscFunctionBegin;
  PetscCheck(((Mat_HJStencil *)A->data)->da, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
             "A matrix of type " MATHJSTENCIL " is not set up: call MatSetDM() with a DMDA and MatSetUp(), or use DMCreateMatrix() of a "
             "DMDA or MatCreateHJStencil(); where it is no DMDA's, use -dm_mat_type aij");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatCheckCheckedOut(Mat A)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  for (PetscInt s = 0; s < hj->c.nslots; s++)
    PetscCheck(!hj->use[s].checked_out, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "An array of the matrix is in use; call MatHJStencilRestoreArrayAndMemType() first");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatCheckGiven(Mat A)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  for (PetscInt s = 0; s < hj->c.nslots; s++) {
    PetscInt off[3];

    HJSlotOffset(&hj->c, s, off);
    PetscCheck(!hj->use[s].vec, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "The array of offset %" PetscInt_FMT ",%" PetscInt_FMT ",%" PetscInt_FMT " is in use; call MatHJStencilRestoreArray() first",
               off[0], off[1], off[2]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void HJMatForgetTouched(Mat A)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  for (PetscInt s = 0; s < hj->c.nslots; s++) hj->use[s].touched = PETSC_FALSE;
}

PetscErrorCode HJMatCheckArrays(Mat A)
{
  PetscFunctionBegin;
  PetscCall(HJMatCheckCheckedOut(A));
  PetscCall(HJMatCheckGiven(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DMCreateMatrix() tells its own matrix alone. MatCopy() copies it too, so AIJ that is copied to A must have it */
PetscErrorCode HJMatSetNumbering(Mat A, Mat B)
{
  ISLocalToGlobalMapping ltog = ((Mat_HJStencil *)A->data)->ltog;
  DM                     da   = ((Mat_HJStencil *)A->data)->da;
  PetscInt               start[3], width[3];

  PetscFunctionBegin;
  if (ltog && !B->rmap->mapping) PetscCall(MatSetLocalToGlobalMapping(B, ltog, ltog));
  PetscCall(DMDAGetGhostCorners(da, &start[0], &start[1], &start[2], &width[0], &width[1], &width[2]));
  PetscCall(MatSetStencil(B, ((Mat_HJStencil *)A->data)->grid.dim, width, start, ((Mat_HJStencil *)A->data)->grid.dof));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatTakeView(Mat A)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;

  PetscFunctionBegin;
  if (A->ops->view != hj->view) {
    hj->view_da  = A->ops->view;
    A->ops->view = hj->view;
  }
  A->ops->load = hj->load;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMatSumInfo(Mat A, MatInfoType which, PetscLogDouble entries, PetscLogDouble bytes, Mat aij, MatInfo *info)
{
  PetscLogDouble mine[2] = {entries, bytes}, all[2];
  MatInfo        rows;

  PetscFunctionBegin;
  if (aij) {
    PetscCall(MatGetInfo(aij, MAT_LOCAL, &rows));
    mine[1] += rows.nz_allocated * (sizeof(PetscScalar) + sizeof(PetscInt)) + (PetscLogDouble)(A->rmap->n + 1) * sizeof(PetscInt);
  }
  PetscCall(PetscArraycpy(all, mine, 2));
  if (which != MAT_LOCAL)
    PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_DOUBLE, which == MAT_GLOBAL_MAX ? MPI_MAX : MPI_SUM, PetscObjectComm((PetscObject)A)));
  PetscCall(PetscMemzero(info, sizeof(*info)));
  info->block_size   = 1.0;
  info->nz_allocated = info->nz_used = all[0];
  info->memory                       = all[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What ranks agree on. PETSc's MPI type of a PetscBool is another one from 3.24 on.
*/
#include "hjagree.h"

static PetscErrorCode HJAgree(MPI_Comm comm, MPI_Op op, PetscBool *is)
{
  PetscMPIInt number = *is;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, op, comm));
  *is = (PetscBool)(number != 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOnAllRanks(MPI_Comm comm, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(HJAgree(comm, MPI_LAND, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOnAnyRank(MPI_Comm comm, PetscBool *is)
{
  PetscFunctionBegin;
  PetscCall(HJAgree(comm, MPI_LOR, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Device memory that grows, without loss to graphs */
#include "hjgpu.h"
#include "hjgrown.h"

PetscErrorCode HJGrow(HJGrown **g, size_t bytes, PetscBool *grown)
{
  const PetscBool grows = (PetscBool)(bytes > (*g ? (*g)->bytes : 0));
  HJGrown        *larger;

  PetscFunctionBegin;
  if (grown) *grown = grows;
  if (!grows) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&larger));
  larger->older = *g;
  *g            = larger;
  PetscCall(HJAlloc(bytes, &larger->memory));
  larger->bytes = bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGrownFree(HJGrown **g)
{
  PetscFunctionBegin;
  while (*g) {
    HJGrown *newest = *g;

    *g = newest->older;
    PetscCallCUDA(cudaFree(newest->memory));
    PetscCall(PetscFree(newest));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The cache of layouts: which kernels do a launch, and what it needs beside pointers and weights, is worked out once for each geometry and
   kept until the values change.
*/
#include "cuda/kernels/hjkernel.h"

const HJLaid *HJLayoutFind(const HJ_CUDA *cuda, const HJGeometry *geometry)
{
  const HJLaid *l = cuda->layouts;

  while (l && memcmp(&l->geometry, geometry, sizeof(*geometry))) l = l->next;
  return l;
}

PetscErrorCode HJLayoutMake(HJ_CUDA *cuda, cudaStream_t stream, const HJFamily *family, const HJDSweep *s, const HJGeometry *geometry,
                            const HJLaid **laid)
{
  HJLaid        *l;
  PetscErrorCode code = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscNew(&l));
  l->family   = family;
  l->geometry = *geometry;
  if (family->layout) code = family->layout(cuda, stream, s, &l->geometry, &l->layout);
  if (code) { /* half made: who comes again must not find it */
    if (l->layout) (void)family->layout_destroy(l->layout);
    (void)PetscFree(l);
  }
  PetscCall(code);
  l->next       = cuda->layouts;
  cuda->layouts = l;
  *laid         = l;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJLayoutsDestroy(HJ_CUDA *cuda)
{
  PetscFunctionBegin;
  while (cuda->layouts) {
    HJLaid *l = cuda->layouts;

    cuda->layouts = l->next;
    if (l->layout) PetscCall(l->family->layout_destroy(l->layout));
    PetscCall(PetscFree(l));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The cache of layouts: what a launch needs beside pointers and weights is worked out once for each geometry and kept until the values
   change.
*/
#include "cuda/kernels/hjkernel.h"

PetscErrorCode HJLayoutGet(HJ_CUDA *cuda, cudaStream_t stream, const HJFamily *family, const HJDSweep *s, const HJGeometry *geometry,
                           const void **layout)
{
  HJCached      *c;
  PetscErrorCode code;

  PetscFunctionBegin;
  *layout = NULL;
  if (!family->layout) PetscFunctionReturn(PETSC_SUCCESS);
  for (c = cuda->layouts; c; c = c->next)
    if (c->family == family && !memcmp(&c->geometry, geometry, sizeof(*geometry))) break;
  if (!c) {
    PetscCall(PetscNew(&c));
    c->family   = family;
    c->geometry = *geometry;
    code        = family->layout(cuda, stream, s, &c->geometry, &c->layout);
    if (code) { /* half made: who comes again must not find it */
      if (c->layout) (void)family->layout_destroy(c->layout);
      (void)PetscFree(c);
    }
    PetscCall(code);
    c->next       = cuda->layouts;
    cuda->layouts = c;
  }
  *layout = c->layout;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJLayoutsDestroy(HJ_CUDA *cuda)
{
  PetscFunctionBegin;
  while (cuda->layouts) {
    HJCached *c = cuda->layouts;

    cuda->layouts = c->next;
    if (c->layout) PetscCall(c->family->layout_destroy(c->layout));
    PetscCall(PetscFree(c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

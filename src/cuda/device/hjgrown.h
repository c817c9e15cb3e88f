/* SPDX-License-Identifier: BSD-2-Clause */
/* Device memory that grows. What was outgrown stays until all is freed: launches that were recorded in a graph use it */
#pragma once

#include <petscsys.h>

typedef struct HJGrown {
  void           *memory;
  size_t          bytes;
  struct HJGrown *older;
} HJGrown;

/* Memory of at least so many bytes; *grown: it is new, and not initialised; may be NULL. *g is NULL before the first call */
PETSC_INTERN PetscErrorCode HJGrow(HJGrown **g, size_t bytes, PetscBool *grown);
PETSC_INTERN PetscErrorCode HJGrownFree(HJGrown **g);

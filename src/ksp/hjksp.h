/* SPDX-License-Identifier: BSD-2-Clause */
/*
   PETSc glue: KSPs that are PETSc's own types but for solves that go through the cycles of this library's preconditioners. Decides which
   solves these are, and why the others are not. Loops and tests of the others are PETSc's; cycles and their tests are the PCs'.

   hjkspbase.c makes such a type out of PETSc's, hjrichardson.c is KSPHJRICHARDSON, hjcg.c KSPHJCG; hjksp.c registers them.
*/
#pragma once

#include <petsc/private/kspimpl.h>
#include "pchjacobi.h"
#include "operator/hjkrylov.h"

/* What a KSP remembers beside what PETSc's type has in ksp->data; the first field of what is kept for a type */
typedef struct {
  struct _KSPOps base; /* operations of PETSc's type */
} HJKSP;

/* Makes ksp one of PETSc's type, and keeps *hj, of so many bytes, zeros but for its first field, with it */
PETSC_INTERN PetscErrorCode HJKSPCreate(KSP, KSPType, size_t, HJKSP **);
PETSC_INTERN PetscErrorCode HJKSPGet(KSP, HJKSP **);
/* Whether someone may look at the iterate at a test: a monitor, or a test that is not PETSc's */
PETSC_INTERN PetscBool HJKSPIsWatched(KSP);

/* Why PETSc's type has to do the solve, whatever this one could do; *why is left where nothing speaks against it */
PETSC_INTERN PetscErrorCode HJKSPFindReason(KSP, const char **why);
/* What PETSc's type shows; *ascii: and that this type may say something too */
PETSC_INTERN PetscErrorCode HJKSPView(KSP, PetscViewer, PetscBool *ascii);

PETSC_INTERN PetscErrorCode KSPCreate_HJRichardson(KSP);
PETSC_INTERN PetscErrorCode KSPCreate_HJCG(KSP);

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Set-up that fails because of the matrix's numbers, such as an entry that is NaN. It ends as that of PETSc's own preconditioners does: the
   PC remembers, the KSP that uses it ends with KSP_DIVERGED_PC_FAILED, and a time stepper can take a smaller step. What is wrong with a
   matrix's structure, or with options, is an error everywhere.
*/
#pragma once

#include "pchjacobi.h"
#include "core/hjcompat.h"

/* The sentence that says why; empty: set-up did not fail */
typedef struct {
  char words[256];
} HJFailure;

static inline PetscBool HJHasFailed(const HJFailure *f)
{
  return (PetscBool)(f->words[0] != 0);
}

/* Set-up begins, and nothing has failed */
PETSC_INTERN PetscErrorCode HJFailureClear(PC, HJFailure *);
/* No bound of the eigenvalues of D^-1 A is finite, as emax says; level: of a hierarchy, -1: there is none */
/* Of a point's block of the diagonal, which the words name, see HJStencil's singular */
PETSC_INTERN PetscErrorCode HJFailureSingular(const char point[], HJFailure *);
PETSC_INTERN PetscErrorCode HJFailureNoBound(PetscReal emax, PetscInt level, HJFailure *);
/* Collective, at the end of set-up. The PC says that it has failed, where it has; stops: as an error (PCSetErrorIfFailure()) */
PETSC_INTERN PetscErrorCode HJFailureReport(PC, PetscBool stops, const HJFailure *);
/* What a PC that has failed makes of any vector: infinity, by whose norm a KSP sees it */
PETSC_INTERN PetscErrorCode HJFailureApply(Vec x);
/* The same of PCApplyRichardson() */
PETSC_INTERN PetscErrorCode HJFailureApplyRichardson(Vec x, PetscInt *its, PCRichardsonConvergedReason *);

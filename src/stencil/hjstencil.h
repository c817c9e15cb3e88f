/*
   Reads an assembled matrix on a DMDA into stencil coefficients; names what it refuses. Knows no PDE, no backend.
*/
#pragma once

#include "../core/hjcore.h"

/*
   Collective. Coefficients of P on the grid of da, padded by pad where there are neighbours (pad <= grid->min_width).
   reader reads P's rows where they lie, and the arrays of *st lie there; NULL: the host. The same on all ranks.
   Where P is no stencil matrix on da (type, sizes, dof, a column too far, ...) *st is NULL and reason says why, with the first
   such row where one row is to blame; this is no error. reason is empty otherwise.
*/
PETSC_INTERN PetscErrorCode HJStencilCreate(Mat P, DM da, const HJGrid *grid, PetscInt pad, const HJRowReader *reader, HJStencil **st,
                                            char reason[], size_t len);
/* Collective. New values of P with the same nonzero pattern; *kept is false where the stencil's shape, storage or reader no longer
   fits (make a new one) */
PETSC_INTERN PetscErrorCode HJStencilRefresh(HJStencil *st, Mat P, DM da, const HJGrid *grid, const HJRowReader *reader, PetscBool *kept);
PETSC_INTERN PetscErrorCode HJStencilDestroy(HJStencil **st);
/* Collective. Why the DM cannot carry a stencil for P: not a DMDA, dof > 1, twisted boundary, sizes differ ...; empty if it can */
PETSC_INTERN PetscErrorCode HJStencilCheckDM(Mat P, DM dm, char reason[], size_t len);

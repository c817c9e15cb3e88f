/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Reads an assembled matrix on a DMDA into stencil coefficients; names what it refuses. Knows no PDE, no backend.

   hjstencil.c decides what counts as a stencil and which storage holds it, and gives the reason where it is none; hjsystem.c does so where
   a point has several unknowns. hjrows.c finds which column leads to which neighbour, hjdictionary.c the distinct rows, hjvalues.c fills
   arrays and their symmetric half. hjcoefficients.c makes rows of AIJ what a stencil matrix stores. hjsystemsaddle.c
   finds unknowns that cannot be relaxed.
*/
#pragma once

#include "core/hjagree.h"
#include "core/hjcore.h"
#include "core/hjcoefficients.h"
#include "core/hjmeasure.h"

/* What a reason says of a row whose diagonal is zero or missing where there is an array for each offset */
#define HJ_STENCIL_NO_DIAGONAL "has no diagonal"

/* Couplings of the points of this rank that were found while the rows were read; is says whether they were, the same on all ranks */
typedef struct {
  PetscBool is;
  HJMeasure of;
} HJMeasured;

/*
   Collective. Coefficients of P on the grid of da, padded by pad where there are neighbours (pad <= grid->min_width).
   reader reads P's rows where they lie, and the arrays of *st lie there; NULL: the host. The same on all ranks.
   Where P is no stencil matrix on da (type, sizes, dof, a column too far, ...) *st is NULL and reason says why, with the first
   such row where one row is to blame; this is no error. reason is empty otherwise.
*/
PETSC_INTERN PetscErrorCode HJStencilCreate(Mat P, DM da, const HJGrid *grid, PetscInt pad, const HJRowReader *reader, HJStencil **st,
                                            char reason[], size_t len);
/*
   The same, but that the arrays of a stencil matrix may stay the matrix's own (in_place): on a reader's device, where no rank has
   neighbours. Box is then the owned points without a layer. Of a symmetric matrix, in front of a line lies the end of the line before, and
   of the plane before, which hold 0 where they lead outside the domain; in front of the first ones the array of another offset: any number,
   which is multiplied by an x of 0. Whoever asks for it refreshes the stencil when the matrix or the place of its arrays changed, before
   anything reads it. No rows of arrays are compared, as whoever filled them has done that; a box is looked at for nonzeros outside the star
   where is_box is false. Of a matrix that has one row for all points there is then no index: every point has row 0
*/
PETSC_INTERN PetscErrorCode HJStencilCreateInPlace(Mat P, DM da, const HJGrid *grid, PetscInt pad, const HJRowReader *reader,
                                                   PetscBool is_box, HJMeasured *, HJStencil **st, char reason[], size_t len);
/* Collective. New values of P with the same nonzero pattern; *kept is false where the stencil's shape, storage or reader no longer
   fits (make a new one). HJMeasured may be NULL: couplings are not wanted */
PETSC_INTERN PetscErrorCode HJStencilRefresh(HJStencil *st, Mat P, DM da, const HJGrid *grid, const HJRowReader *reader, HJMeasured *,
                                             PetscBool *kept);
PETSC_INTERN PetscErrorCode HJStencilDestroy(HJStencil **st);

/*
   Collective. The rows of an AIJ matrix whose rows are the points of da into arrays of coefficients, which lie where the reader reads, or
   on the host (NULL); of several unknowns a point also of a BAIJ matrix, on the host. Every number of all slots is written, where the rows
   fit. Else *fits is false: they need a box, or, as the reason
   says, the matrix is no stencil
*/
PETSC_INTERN PetscErrorCode HJStencilReadCoefficients(Mat P, DM da, const HJGrid *grid, const HJRowReader *reader, HJCoefficients *,
                                                      PetscBool *fits, char reason[], size_t len);
/* Collective. Names the first row of a stencil matrix with several unknowns a point that is coupled to other points and has no diagonal;
   empty where none is */
PETSC_INTERN PetscErrorCode HJStencilFindSaddle(Mat P, DM da, const HJGrid *grid, char saddle[], size_t len);
/* Collective. Why the DM cannot carry a stencil for P: not a DMDA, twisted boundary, sizes differ ...; empty if it can */
PETSC_INTERN PetscErrorCode HJStencilCheckDM(Mat P, DM dm, char reason[], size_t len);
/* Why a DMDA that can is not for those who know one unknown a point; empty if it is */
PETSC_INTERN PetscErrorCode HJStencilCheckOne(DM, char reason[], size_t len);

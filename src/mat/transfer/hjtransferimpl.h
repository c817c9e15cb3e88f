/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What a MATHJTRANSFER is made of, for the files that make it and that give its rows.
*/
#pragma once

#include "mat/base/hjmat.h"
#include "operator/hjtransfers.h"
#include "core/hjinterpolation.h"

/* Coarse points around a fine one, at most */
#define HJ_MAX_PARENTS 8

typedef struct {
  DM           coarse, fine;
  HJTransfer   transfer;
  HJTransfers *host, *device;    /* for vectors there; the first is made with the matrix, the other when it is first needed */
  PetscBool    host_only;        /* some rank has vectors that are bound to the CPU */
  Vec          keep;             /* see HJMatTransferLeave(); NULL: all unknowns are kept */
  HJTransfers *variable;         /* the one of the two whose coefficients the other copies; NULL: bilinear */
  HJGalerkins *reader[2];        /* of the rows that coefficients came from, and of their symmetric part; made when they are first needed */
  PetscBool    stars, symmetric; /* see HJMatTransferSetStars(), HJMatTransferSetSymmetric() */
  HJLayout     columns;
  Mat          aij; /* made when something needs rows as CSR */
  PetscInt     row_columns[HJ_MAX_PARENTS];
  PetscScalar  row_values[HJ_MAX_PARENTS];
} Mat_HJTransfer;

/* Halo and backend for vectors in one memory. Collective where they are not there yet */
PETSC_INTERN PetscErrorCode HJTransferGetOps(Mat, PetscBool device, HJTransfers **);
/* To the object for another memory. Collective */
PETSC_INTERN PetscErrorCode HJTransferCopyCoefficients(const HJTransfers *from, HJTransfers *to);

PETSC_INTERN PetscErrorCode MatGetRow_HJTransfer(Mat, PetscInt row, PetscInt *n, PetscInt **columns, PetscScalar **values);
/* By AIJ, which is made when it is first needed */
PETSC_INTERN PetscErrorCode MatConvert_HJTransfer(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatCreateSubMatrix_HJTransfer(Mat, IS rows, IS columns, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatCreateSubMatrices_HJTransfer(Mat, PetscInt n, const IS rows[], const IS columns[], MatReuse, Mat *[]);
PETSC_INTERN PetscErrorCode MatTranspose_HJTransfer(Mat, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatNorm_HJTransfer(Mat, NormType, PetscReal *);

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Galerkin products P^T A P of coefficients and a Q1 interpolation: ghost coefficients and backend put together, and the few distinct
   rows where the fine matrix has few. Knows no Mat.
*/
#pragma once

#include "hjghosts.h"
#include "core/hjarrays.h"
#include "core/hjgalerkin.h"
#include "hjtransfers.h"

/* Ghost coefficients in one memory; made when they are first needed there */
typedef struct {
  const HJArrayOps *ops;
  PetscInt          nslots;
  PetscScalar      *ghost; /* [nslots][shell.size] */
  PetscScalar      *slot;  /* [fine points] coefficients of one slot of a dictionary */
} HJGalerkinGhosts;

typedef struct {
  MPI_Comm         comm; /* of the fine DMDA */
  HJTransfer       transfer;
  HJShell          shell;
  HJHalo           halo[2];  /* for arrays on the host and on the device; both NULL where no rank needs ghosts */
  HJGalerkinGhosts here[2];  /* host, device */
  unsigned short  *ghost_id; /* [shell.size] */
} HJGalerkins;

/* Distinct coarse rows and which one each point has, as a dictionary's; both are freed by the caller with PetscFree() */
typedef struct {
  PetscInt       nrows;
  PetscScalar   *rows;
  unsigned char *index;
} HJGalerkinRows;

/*
   Collective. For coefficients on the fine DMDA; the halo that is needed fits its ranks where HJTransferSet() has no objection. The
   exchange is that of coefficients on the device
*/
PETSC_INTERN PetscErrorCode HJGalerkinsCreate(DM fine, const HJTransfer *, HJExchange, HJGalerkins **);
PETSC_INTERN PetscErrorCode HJGalerkinsDestroy(HJGalerkins **);
/* Collective. Coefficients and coarse arrays, of all slots of a box, in the memory of ops */
PETSC_INTERN PetscErrorCode HJGalerkinsArrays(HJGalerkins *, const HJArrayOps *, const HJCoefficients *, HJCoefficients *coarse);
/* The same of several unknowns a point, pair by pair of components: coarse has arrays of all slots of a box of the pairs that there are */
PETSC_INTERN PetscErrorCode HJGalerkinsSystem(HJGalerkins *, const HJArrayOps *, const HJCoefficients *, HJCoefficients *coarse);
/* The same with coefficients of their own at every point, which the transfers have in that memory */
PETSC_INTERN PetscErrorCode HJGalerkinsVariable(HJGalerkins *, const HJArrayOps *, const HJCoefficients *, const HJTransfers *,
                                                HJCoefficients *coarse);
/*
   Collective. How coefficients and their symmetric part jump, which may be the same; where it is not two objects hold their ghosts. The
   jump is that of all ranks. Where its largest value is more than limit the transfers get coefficients from them, else they have none
*/
PETSC_INTERN PetscErrorCode HJGalerkinsInterpolation(HJGalerkins *[2], const HJArrayOps *, const HJCoefficients *const[2], HJTransfers *,
                                                     PetscReal limit, HJJump *);
/* Collective. The same as rows, from rows on the host; rows_fit is false, and there are none, where some rank has too many */
PETSC_INTERN PetscErrorCode HJGalerkinsFindRows(HJGalerkins *, const HJCoefficients *, PetscBool *rows_fit, HJGalerkinRows *);
/* Collective. Coefficients of the shell, see HJGalerkin */
PETSC_INTERN PetscErrorCode HJGalerkinsGetGhosts(HJGalerkins *, const HJArrayOps *, const HJCoefficients *, const PetscScalar **);
PETSC_INTERN size_t         HJGalerkinsBytes(const HJGalerkins *);

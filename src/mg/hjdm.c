/* SPDX-License-Identifier: BSD-2-Clause */
/*
   DMDAs of the PC's own grids. They say where points lie and have no ghosts: PETSc's DMSetUp() numbers and scatters all points of a DMDA,
   which on large grids takes longer than all that the levels are made of.
*/
#include "hjmg.h"
#include "core/hjmultigrid.h"
#include <petsc/private/dmdaimpl.h>

/* Points of one rank in a direction, and with those that the stencil reaches */
static void HJMGPlace(const HJCut *cut, PetscInt at, PetscInt width, PetscInt own[2], PetscInt ghosted[2])
{
  const PetscBool periodic = (PetscBool)(cut->boundary == DM_BOUNDARY_PERIODIC);

  own[0] = 0;
  for (PetscInt r = 0; r < at; r++) own[0] += cut->widths[r];
  own[1]     = own[0] + cut->widths[at];
  ghosted[0] = periodic ? own[0] - width : PetscMax(own[0] - width, 0);
  ghosted[1] = periodic ? own[1] + width : PetscMin(own[1] + width, cut->N);
}

/* Takes the place of DMDA's own: corners and sizes alone. Ranks are numbered x fastest */
static PetscErrorCode DMSetUp_HJMG(DM da)
{
  DM_DA      *dd = (DM_DA *)da->data;
  HJCut       cut[3];
  PetscInt    left, own[3][2], ghosted[3][2];
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCall(HJGridGetCuts(da, cut));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)da), &rank));
  left       = rank;
  dd->Nlocal = dd->nlocal = 1;
  for (int d = 0; d < 3; d++) {
    HJMGPlace(&cut[d], left % cut[d].nranks, dd->s, own[d], ghosted[d]);
    left /= cut[d].nranks;
    dd->Nlocal *= own[d][1] - own[d][0];
    dd->nlocal *= ghosted[d][1] - ghosted[d][0];
  }
  dd->Nlocal *= dd->w;
  dd->nlocal *= dd->w;
  dd->xs = dd->w * own[0][0]; /* along x DMDA counts unknowns */
  dd->xe = dd->w * own[0][1];
  dd->ys = own[1][0];
  dd->ye = own[1][1];
  dd->zs = own[2][0];
  dd->ze = own[2][1];
  dd->Xs = dd->w * ghosted[0][0];
  dd->Xe = dd->w * ghosted[0][1];
  dd->Ys = ghosted[1][0];
  dd->Ye = ghosted[1][1];
  dd->Zs = ghosted[2][0];
  dd->Ze = ghosted[2][1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSetUpDM(DM like, VecType vectype, DM da)
{
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(DMGetOptionsPrefix(like, &prefix));
  PetscCall(DMSetOptionsPrefix(da, prefix));
  PetscCall(DMSetVecType(da, vectype));
  PetscCall(DMSetMatType(da, MATHJSTENCIL));
  da->ops->setup = DMSetUp_HJMG;
  PetscCall(DMSetUp(da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

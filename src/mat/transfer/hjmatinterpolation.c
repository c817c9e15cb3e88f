/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Decides where DMCreateInterpolation() makes a MATHJTRANSFER: between DMDAs whose matrices are stencil matrices.
*/
#include "mat/base/hjmat.h"
#include "operator/hjtransfers.h"
#include <petsc/private/dmimpl.h>

typedef PetscErrorCode (*HJCreateInterpolation)(DM, DM, Mat *, Vec *);

/* The function that every new DMDA has */
static PetscErrorCode HJTransferGetDMDAs(HJCreateInterpolation *own)
{
  static HJCreateInterpolation known = NULL;

  PetscFunctionBegin;
  if (!known) {
    DM da;

    PetscCall(DMCreate(PETSC_COMM_SELF, &da));
    PetscCall(DMSetType(da, DMDA));
    known = da->ops->createinterpolation;
    PetscCall(DMDestroy(&da));
  }
  *own = known;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the place of DMDA's own */
static PetscErrorCode DMCreateInterpolation_HJ(DM coarse, DM fine, Mat *P, Vec *scale)
{
  HJCreateInterpolation own;
  HJTransfer            transfer;
  PetscBool             ours = PETSC_FALSE, same[3] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};
  char                  reason[256] = "the matrices of the two DMs are not both of type " MATHJSTENCIL;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)fine, DMDA, &same[0]));
  PetscCall(PetscStrcmp(coarse->mattype, MATHJSTENCIL, &same[1]));
  PetscCall(PetscStrcmp(fine->mattype, MATHJSTENCIL, &same[2]));
  if (same[0] && same[1] && same[2]) {
    PetscCall(HJTransferSet(coarse, fine, NULL, &transfer, reason, sizeof(reason)));
    ours = (PetscBool)!reason[0];
  }
  if (!ours) {
    PetscCall(PetscInfo(fine, "The interpolation is DMDA's AIJ, not " MATHJTRANSFER ": %s\n", reason));
    PetscCall(HJTransferGetDMDAs(&own));
    PetscCall((*own)(coarse, fine, P, scale));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMatCreateTransfer(coarse, fine, &transfer, P));
  if (scale) PetscCall(DMCreateInterpolationScale(coarse, fine, *P, scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To a DM that was coarsened or refined from one that has it */
static PetscErrorCode HJTransferInherit(DM from, DM da, void *ctx)
{
  PetscFunctionBegin;
  PetscCall(HJTransferSetInterpolation(da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJTransferSetInterpolation(DM da)
{
  HJCreateInterpolation own;
  PetscBool             isda;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)da, DMDA, &isda));
  if (!isda) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJTransferGetDMDAs(&own));
  if (da->ops->createinterpolation == own) da->ops->createinterpolation = DMCreateInterpolation_HJ; /* not where SNESVI has put its own */
  PetscCall(DMCoarsenHookAdd(da, HJTransferInherit, NULL, NULL));
  PetscCall(DMRefineHookAdd(da, HJTransferInherit, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

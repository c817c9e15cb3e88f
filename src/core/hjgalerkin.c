/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Which fine points a rank's coarse points look at in a Galerkin product.
*/
#include "hjgalerkin.h"

/* Fine points that coarse points [lo, hi) look at in a direction, cut at the last ones that there are */
static void HJGalerkinReach(const HJTransfer *t, int d, PetscInt lo, PetscInt hi, PetscInt reach[2])
{
  const PetscInt more = t->factor[d] - 1;

  reach[0] = PetscMax(HJGalerkinFinePoint(t, d, lo) - more, t->points.lo[d]);
  reach[1] = PetscMin(HJGalerkinFinePoint(t, d, hi - 1) + more + 1, t->points.hi[d]);
}

void HJGalerkinShellSet(const HJTransfer *t, HJShell *s)
{
  PetscInt thick[3][2] = {{0, 0}, {0, 0}, {0, 0}};

  for (int d = 0; d < t->fine.dim && !HJBoxEmpty(&t->coarse.owned); d++) {
    PetscInt reach[2];

    HJGalerkinReach(t, d, 0, t->coarse.owned.hi[d], reach);
    thick[d][0] = PetscMax(-reach[0], 0);
    thick[d][1] = PetscMax(reach[1] - t->fine.owned.hi[d], 0);
  }
  HJShellSetThick(t->fine.dim, &t->fine.owned, thick, s);
}

HJBox HJGalerkinDirect(const HJTransfer *t)
{
  HJBox direct = t->coarse.owned;

  for (int d = 0; d < t->fine.dim; d++) {
    PetscInt reach[2];

    for (; direct.lo[d] < direct.hi[d]; direct.lo[d]++) {
      HJGalerkinReach(t, d, direct.lo[d], direct.lo[d] + 1, reach);
      if (reach[0] >= 0) break;
    }
    for (; direct.lo[d] < direct.hi[d]; direct.hi[d]--) {
      HJGalerkinReach(t, d, direct.hi[d] - 1, direct.hi[d], reach);
      if (reach[1] <= t->fine.owned.hi[d]) break;
    }
    if (HJTransferAdjoins(t, d) || HJTransferBegins(t, d)) direct.lo[d] = PetscMax(direct.lo[d], 1 - t->coarse_start[d]);
    if (HJTransferAdjoins(t, d) || HJTransferHangs(t, d)) direct.hi[d] = PetscMin(direct.hi[d], t->coarse.N[d] - 1 - t->coarse_start[d]);
    direct.lo[d] = PetscMin(direct.lo[d], direct.hi[d]);
  }
  return direct;
}

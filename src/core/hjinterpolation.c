/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What columns of coefficients and fine coefficients look like to whoever works on them.
*/
#include "hjinterpolation.h"

PetscInt HJColumnsSlots(const HJTransfer *t)
{
  PetscInt n = 1;

  for (int d = 0; d < 3; d++) n *= t->factor[d] == 2 ? 3 : 1;
  return n;
}

/* In a refined direction: all but the ends of the domain, or of a period that closes between two coarse points. Couplings differ there on
   coarser grids, whatever the coefficients are. Where there are but two or three points all count, for else nothing would */
static void HJColumnsInner(const HJTransfer *t, int d, HJBox *inner)
{
  const PetscBool adjoins = HJTransferAdjoins(t, d);
  const PetscInt  lo = adjoins ? -t->coarse_start[d] : t->coarse.domain.lo[d], hi = adjoins ? lo + t->coarse.N[d] : t->coarse.domain.hi[d];
  const PetscInt  ends = hi - lo > 3 ? 1 : 0;

  inner->lo[d] = lo + ends;
  inner->hi[d] = hi - ends;
}

HJColumns HJColumnsSet(const HJTransfer *t, const HJShell *shell, const PetscScalar *coefficient, const PetscScalar *ghost)
{
  HJColumns w;

  memset(&w, 0, sizeof(w));
  w.nslots = 1;
  for (int d = 0; d < 3; d++) {
    w.factor[d]   = t->factor[d];
    w.base[d]     = HJGalerkinFinePoint(t, d, 0);
    w.nc[d]       = t->coarse.owned.hi[d];
    w.inner.lo[d] = -HJ_ENDLESS;
    w.inner.hi[d] = HJ_ENDLESS;
    if (t->factor[d] != 2) continue;
    HJColumnsInner(t, d, &w.inner);
    w.step[d] = (int)w.nslots;
    w.nslots *= 3;
  }
  w.domain      = t->coarse.domain;
  w.points      = t->points;
  w.n           = HJBoxSize(&t->coarse.owned);
  w.coefficient = coefficient;
  w.ghost       = ghost;
  if (shell) w.shell = *shell;
  return w;
}

void HJInterpolationPlanSet(const HJColumns *w, const HJFine *a, HJInterpolationPlan *plan)
{
  memset(plan, 0, sizeof(*plan));
  for (int far = 1; far <= 3; far++) {
    for (int code = 0; code < 27; code++) {
      const int      p[3] = {code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1};
      const PetscInt m    = plan->np;

      if ((p[0] != 0) + (p[1] != 0) + (p[2] != 0) != far || (p[0] && !w->step[0]) || (p[1] && !w->step[1]) || (p[2] && !w->step[2]))
        continue;
      plan->np++;
      plan->far[m]  = (signed char)far;
      plan->slot[m] = (signed char)HJColumnsSlot(w, p[0], p[1], p[2]);
      for (int d = 0; d < 3; d++) plan->p[m][d] = (signed char)p[d];
      for (PetscInt s = 0; s < a->e.nslots; s++) {
        int       q[3];
        PetscBool along = PETSC_TRUE, away = PETSC_FALSE;

        for (int d = 0; d < 3; d++) {
          q[d]  = p[d] ? a->e.off[s][d] : 0;
          along = (PetscBool)(along && !q[d]);
          away  = (PetscBool)(away || (q[d] && q[d] == p[d]));
        }
        plan->use[m][s] = (signed char)(along  ? HJ_INTERPOLATION_ALONG
                                        : away ? HJ_INTERPOLATION_AWAY
                                               : HJColumnsSlot(w, p[0] + q[0], p[1] + q[1], p[2] + q[2]));
      }
    }
  }
}

HJFine HJFineSet(const HJTransfer *t, const HJShell *shell, const HJCoefficients *c, const PetscScalar *ghost)
{
  HJFine a;

  memset(&a, 0, sizeof(a));
  a.e      = HJEntriesOf(c);
  a.domain = t->fine.domain;
  a.ghost  = ghost;
  a.shell  = *shell;
  for (int d = 0; d < 3; d++) a.nf[d] = t->fine.owned.hi[d];
  memset(a.slot, -1, sizeof(a.slot));
  for (PetscInt s = 0; s < c->nslots; s++) a.slot[a.e.off[s][2] + 1][a.e.off[s][1] + 1][a.e.off[s][0] + 1] = (signed char)s;
  return a;
}

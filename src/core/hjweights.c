/*
   What columns of weights and fine coefficients look like to whoever works on them.
*/
#include "hjweights.h"

PetscInt HJColumnsSlots(const HJTransfer *t)
{
  PetscInt n = 1;

  for (int d = 0; d < 3; d++) n *= t->factor[d] == 2 ? 3 : 1;
  return n;
}

HJColumns HJColumnsSet(const HJTransfer *t, const HJShell *shell, const PetscScalar *weight, const PetscScalar *ghost)
{
  HJColumns w;

  memset(&w, 0, sizeof(w));
  w.nslots = 1;
  for (int d = 0; d < 3; d++) {
    w.factor[d] = t->factor[d];
    w.base[d]   = HJGalerkinFinePoint(t, d, 0);
    w.nc[d]     = t->coarse.owned.hi[d];
    if (t->factor[d] != 2) continue;
    w.step[d] = (int)w.nslots;
    w.nslots *= 3;
  }
  w.domain = t->coarse.domain;
  w.n      = HJBoxSize(&t->coarse.owned);
  w.weight = weight;
  w.ghost  = ghost;
  if (shell) w.shell = *shell;
  return w;
}

HJFine HJFineSet(const HJTransfer *t, const HJShell *shell, const HJCoefficients *c, const PetscScalar *ghost)
{
  HJFine a;

  memset(&a, 0, sizeof(a));
  a.dim     = c->dim;
  a.nslots  = c->nslots;
  a.storage = c->storage;
  a.domain  = t->fine.domain;
  a.n       = c->npoints;
  a.value   = c->value;
  a.rows    = PetscMemTypeHost(c->mtype) ? c->rows : c->device_rows;
  a.ghost   = ghost;
  a.index   = c->index;
  a.shell   = *shell;
  for (int d = 0; d < 3; d++) a.nf[d] = t->fine.owned.hi[d];
  for (int code = 0; code < HJ_MAX_SLOTS; code++) a.slot[code] = -1;
  for (PetscInt s = 0; s < c->nslots; s++) {
    PetscInt off[3];

    HJSlotOffset(c, s, off);
    for (int d = 0; d < 3; d++) a.off[s][d] = (int)off[d];
    a.slot[(off[0] + 1) + 3 * (off[1] + 1) + 9 * (off[2] + 1)] = (int)s;
    if (c->storage == HJ_COEFFICIENTS_ROW) a.row[s] = c->rows[s];
  }
  return a;
}

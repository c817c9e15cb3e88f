/*
   The Galerkin product P^T A P of coefficients and a Q1 interpolation: which fine rows it reads, and what each entry of them gives to which
   coarse entry. Decides nothing.
*/
#pragma once

#include "hjcoefficients.h"
#include "hjtransfer.h"

/* Shell of the fine points that the coarse points of this rank look at and that other ranks own, or that are periodic images */
PETSC_INTERN void HJGalerkinShellSet(const HJTransfer *, HJShell *);
/* Coarse points of this rank that look at none of the ghosts */
PETSC_INTERN HJBox HJGalerkinDirect(const HJTransfer *);

/* Fine point, in local coordinates, that a coarse one lies on */
static inline HJ_HOST_DEVICE PetscInt HJGalerkinFinePoint(const HJTransfer *t, int d, PetscInt c)
{
  return t->factor[d] * (c + t->coarse_start[d]) - t->fine_start[d];
}

/*
   In one direction: what an entry of the fine row p points beside a coarse point, which leads o points further, gives to the coarse
   point's entry c. All are -1, 0 or 1
*/
static inline HJ_HOST_DEVICE PetscReal HJGalerkinWeight(PetscInt factor, int p, int o, int c)
{
  const int       q   = p + o;
  const PetscReal own = p ? 0.5 : 1.0;

  if (factor == 1) return p == 0 && c == o ? 1.0 : 0.0;
  if (q % 2 == 0) return 2 * c == q ? own : 0.0;
  return 2 * c == q - 1 || 2 * c == q + 1 ? 0.5 * own : 0.0;
}

/* Slot of a coarse entry: offsets of unused directions are 0 */
static inline HJ_HOST_DEVICE PetscInt HJGalerkinSlot(PetscInt dim, int cx, int cy, int cz)
{
  const PetscInt centre = dim == 3 ? 13 : dim == 2 ? 4 : 1, code = (cx + 1) + (dim > 1 ? 3 * (cy + 1) : 0) + (dim > 2 ? 9 * (cz + 1) : 0);

  return code == centre ? 0 : code < centre ? code + 1 : code;
}

static inline PetscInt HJGalerkinSlots(PetscInt dim)
{
  return dim == 3 ? 27 : dim == 2 ? 9 : 3;
}

/* On coarse grids of one or two periodic points offsets lead to the same points: the centre, or the low side, has what they get */
static inline HJ_HOST_DEVICE int HJGalerkinFold(const HJGrid *coarse, int d, int c)
{
  if (!coarse->periodic[d] || coarse->N[d] > 2) return c;
  return coarse->N[d] == 1 ? 0 : c > 0 ? -1 : c;
}

/* Arrays of coarse, [slots][owned coarse points], are written: those of a box */
struct _n_HJGalerkin {
  const HJTransfer     *t;
  const HJShell        *shell;
  const HJCoefficients *fine;
  /* [nslots][shell->size] of the fine points in the shell: 0 where an entry leads outside the domain. Not read with one row for all */
  const PetscScalar *ghost;
  PetscScalar       *coarse;
  /* Of galerkin_weighted(), see hjweights.h: weights of the owned coarse points, and of the ghosts around them */
  const HJShell     *weight_shell;
  const PetscScalar *weight, *weight_ghost;
};

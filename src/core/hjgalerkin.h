/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The Galerkin product P^T A P of coefficients and a Q1 interpolation: which fine rows it reads, and what each entry of them gives to which
   coarse entry. Decides nothing.
*/
#pragma once

#include "hjcoefficients.h"
#include "hjtransfer.h"

/* Shell of the fine points that the coarse points of this rank look at and that other ranks own, or that are periodic images */
PETSC_INTERN void HJGalerkinShellSet(const HJTransfer *, HJShell *);
/* Coarse points of this rank that look at none of the ghosts, and are no ends that HJGalerkinEnds says are different */
PETSC_INTERN HJBox HJGalerkinDirect(const HJTransfer *);

/* Fine point, in local coordinates, that a coarse one lies on */
static inline HJ_HOST_DEVICE PetscInt HJGalerkinFinePoint(const HJTransfer *t, int d, PetscInt c)
{
  return t->factor[d] * (c + t->coarse_start[d]) + t->first[d] - t->fine_start[d];
}

/* The ends of a direction: local coordinates of the first and the last coarse point of all ranks, and what is there */
typedef struct {
  PetscInt  first, last;
  PetscBool two, begins, hangs, adjoins; /* the factor is 2; see HJTransferBegins(), HJTransferHangs(), HJTransferAdjoins() */
  PetscReal before, coefficient;         /* of a first, and of a last point that hangs */
} HJGalerkinEnds;

static inline HJGalerkinEnds HJGalerkinEndsOf(const HJTransfer *t, int d)
{
  HJGalerkinEnds e;

  e.first       = -t->coarse_start[d];
  e.last        = e.first + t->coarse.N[d] - 1;
  e.two         = (PetscBool)(t->factor[d] == 2);
  e.begins      = HJTransferBegins(t, d);
  e.hangs       = HJTransferHangs(t, d);
  e.adjoins     = HJTransferAdjoins(t, d);
  e.before      = t->before[d];
  e.coefficient = t->last[d];
  return e;
}

/* The places below and above a coarse point in a direction. own: what this point gives to the fine point there, 0 where there is none;
   near and far: what an entry that leads there gives to this coarse point and to the next one */
typedef struct {
  PetscReal own[2], near[2], far[2];
} HJGalerkinSides;

static inline HJ_HOST_DEVICE HJGalerkinSides HJGalerkinSidesAt(const HJGalerkinEnds *e, PetscInt c)
{
  HJGalerkinSides s;

  for (int side = 0; side < 2; side++) {
    const int end = c == (side ? e->last : e->first), adjoins = e->adjoins && end, hangs = (side ? e->hangs : e->begins) && end;

    s.own[side] = s.near[side] = !e->two || adjoins ? 0.0 : !hangs ? 0.5 : side ? e->coefficient : e->before;
    s.far[side]                = !e->two || adjoins ? 1.0 : hangs ? 0.0 : 0.5;
  }
  return s;
}

/*
   In one direction: what an entry of the fine row p points beside a coarse point, which leads o points further, gives to the coarse
   point's entry c. All are -1, 0 or 1
*/
static inline HJ_HOST_DEVICE PetscReal HJGalerkinCoefficient(const HJGalerkinSides *s, int p, int o, int c)
{
  const int       q   = p + o;
  const PetscReal own = p > 0 ? s->own[1] : p < 0 ? s->own[0] : 1.0;

  if (q % 2 == 0) return 2 * c == q ? own : 0.0;
  if (c == 0) return own * (q > 0 ? s->near[1] : s->near[0]);
  return c == q ? own * (q > 0 ? s->far[1] : s->far[0]) : 0.0;
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
  /* NULL, or of which slots coarse has arrays, and where: a half of coefficients, see HJCoefficients; coarse then has zeros around them */
  const HJCoefficients *half;
  /* NULL, or where the array of each slot begins in coarse: of a pair of components of several unknowns a point */
  const PetscCount *begin;
  /* Of galerkin_variable(), see hjinterpolation.h: coefficients of the owned coarse points, and of the ghosts around them */
  const HJShell     *coefficient_shell;
  const PetscScalar *coefficient, *coefficient_ghost;
};

/* The array of a coarse slot; NULL: it has none */
static inline PetscScalar *HJGalerkinTo(const HJGalerkin *g, PetscInt slot)
{
  if (g->begin) return g->coarse + g->begin[slot];
  if (!g->half) return g->coarse + slot * HJBoxSize(&g->t->coarse.owned);
  return !slot || HJSlotIsUpper(g->half, slot) ? g->coarse + g->half->begin[slot] : NULL;
}

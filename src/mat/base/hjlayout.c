/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Where a DMDA's rows lie on the grid. Decides which offset holds which column, by coordinates: differences of numbers are ambiguous on
   thin grids.
*/
#include "hjmat.h"

PetscErrorCode HJLayoutSet(DM da, const HJGrid *grid, PetscLayout rows, HJLayout *l)
{
  HJCut           cut[3];
  const PetscInt *ranges;

  PetscFunctionBegin;
  l->dim = grid->dim;
  l->dof = grid->dof;
  PetscCall(HJGridGetCuts(da, cut));
  for (int d = 0; d < 3; d++) {
    l->N[d]        = cut[d].N;
    l->lo[d]       = cut[d].start;
    l->offset[d]   = cut[d].offset;
    l->nranks[d]   = cut[d].nranks;
    l->periodic[d] = grid->periodic[d];
    PetscCall(PetscCalloc1(l->nranks[d] + 1, &l->first[d]));
    for (PetscInt r = 0; r < l->nranks[d]; r++) l->first[d][r + 1] = l->first[d][r] + cut[d].widths[r];
  }
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)da), &l->size));
  PetscCall(PetscLayoutGetRanges(rows, &ranges));
  PetscCall(PetscMalloc1(l->size + 1, &l->ranges));
  for (PetscMPIInt r = 0; r <= l->size; r++) l->ranges[r] = ranges[r] / l->dof;
  PetscCall(PetscLayoutGetRange(rows, &l->start, &l->end));
  l->start /= l->dof;
  l->end /= l->dof;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJLayoutFree(HJLayout *l)
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(l->first[d]));
  PetscCall(PetscFree(l->ranges));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last i < n with first[i] <= q */
static PetscInt HJLayoutSearch(const PetscInt first[], PetscInt n, PetscInt q)
{
  PetscInt lo = 0, hi = n;

  while (hi - lo > 1) {
    const PetscInt mid = (lo + hi) / 2;

    if (first[mid] <= q) lo = mid;
    else hi = mid;
  }
  return lo;
}

/* Places among the ranks, in each direction */
static void HJLayoutRankPlace(const HJLayout *l, PetscInt rank, PetscInt place[3])
{
  place[0] = rank % l->nranks[0];
  place[1] = rank / l->nranks[0] % l->nranks[1];
  place[2] = rank / l->nranks[0] / l->nranks[1];
}

PetscMPIInt HJLayoutLocate(const HJLayout *l, PetscInt number, PetscInt at[3])
{
  const PetscInt rank = HJLayoutSearch(l->ranges, l->size, number);
  PetscInt       place[3], width[3], point = number - l->ranges[rank];

  HJLayoutRankPlace(l, rank, place);
  for (int d = 0; d < 3; d++) width[d] = l->first[d][place[d] + 1] - l->first[d][place[d]];
  at[0] = l->first[0][place[0]] + point % width[0];
  point /= width[0];
  at[1] = l->first[1][place[1]] + point % width[1];
  at[2] = l->first[2][place[2]] + point / width[1];
  return (PetscMPIInt)rank;
}

PetscInt HJLayoutPoint(const HJLayout *l, const PetscInt at[3])
{
  PetscInt place[3], width[3], in[3], rank;

  for (int d = 0; d < 3; d++) {
    PetscInt q = at[d];

    if (l->periodic[d]) q = (q + l->N[d]) % l->N[d];
    if (q < 0 || q >= l->N[d]) return -1;
    place[d] = HJLayoutSearch(l->first[d], l->nranks[d], q);
    width[d] = l->first[d][place[d] + 1] - l->first[d][place[d]];
    in[d]    = q - l->first[d][place[d]];
  }
  rank = (place[2] * l->nranks[1] + place[1]) * l->nranks[0] + place[0];
  return l->ranges[rank] + (in[2] * width[1] + in[1]) * width[0] + in[0];
}

PetscBool HJLayoutOffset(const HJLayout *l, const PetscInt row[3], const PetscInt column[3], PetscInt off[3])
{
  for (int d = 0; d < 3; d++) {
    off[d] = column[d] - row[d];
    if (l->periodic[d]) { /* of two points each is the other's neighbour on both sides: the low side has the entry */
      if (off[d] == l->N[d] - 1 && l->N[d] > 1) off[d] = -1;
      else if (off[d] == 1 - l->N[d] && l->N[d] > 2) off[d] = 1;
    }
    if (off[d] < -1 || off[d] > 1) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

PetscBool HJLayoutIsOwnOffset(const HJLayout *l, const PetscInt off[3])
{
  for (int d = 0; d < l->dim; d++) {
    if (l->periodic[d] && ((l->N[d] == 1 && off[d]) || (l->N[d] == 2 && off[d] > 0))) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

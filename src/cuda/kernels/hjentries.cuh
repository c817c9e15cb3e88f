/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The coefficients of a matrix for set-up kernels that read every slot by its number, whatever the storage is. Slower than kernels whose
   offsets the compiler knows.
*/
#pragma once

#include "core/hjcoefficients.h"
#include "cuda/kernels/hjkernel.h"

typedef struct {
  HJBox                domain;
  int                  n[3], nslots, off[HJ_MAX_SLOTS][3]; /* owned points; where slots lead */
  long long            begin[HJ_MAX_SLOTS];
  PetscScalar          row[HJ_MAX_SLOTS]; /* of one row for all points */
  const PetscScalar   *value, *rows;      /* arrays; a dictionary's */
  const unsigned char *index;
} HJDEntries;

static inline HJDEntries HJDEntriesOf(const HJGrid *grid, const HJCoefficients *c)
{
  HJDEntries e = {};

  e.domain = grid->domain;
  e.nslots = (int)c->nslots;
  e.value  = c->storage == HJ_COEFFICIENTS_ARRAYS ? c->value : NULL;
  e.rows   = c->storage == HJ_COEFFICIENTS_DICTIONARY ? c->device_rows : NULL;
  e.index  = c->index;
  for (int d = 0; d < 3; d++) e.n[d] = (int)HJBoxWidth(&grid->owned, d);
  for (PetscInt s = 0; s < c->nslots; s++) {
    PetscInt off[3];

    HJSlotOffset(c, s, off);
    for (int d = 0; d < 3; d++) e.off[s][d] = (int)off[d];
    e.begin[s] = HJSlotBegin(c, s);
    if (c->storage == HJ_COEFFICIENTS_ROW) e.row[s] = c->rows[s];
  }
  return e;
}

/* The entry of an owned point in a slot, also where that leads outside the domain */
static __device__ __forceinline__ PetscScalar HJDEntryAt(const HJDEntries &e, int slot, long long point)
{
  return e.value ? e.value[e.begin[slot] + point] : e.rows ? e.rows[e.index[point] * e.nslots + slot] : e.row[slot];
}

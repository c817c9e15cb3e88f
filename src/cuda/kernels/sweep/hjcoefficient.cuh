/* SPDX-License-Identifier: BSD-2-Clause */
/*
   One coefficient of a stencil in every storage: for kernels that take what no fast family takes, and for set-up.
*/
#pragma once

#include "cuda/kernels/hjkernel.h"

/* Of neighbour o, in the row of the place at; row: that row, of a dictionary. Of a symmetric matrix whose upper arrays alone are kept the
   lower ones stand in the neighbours' rows. sx, sxy: places of a line and of a plane */
template <int DIM, bool BOX, int STORAGE>
__device__ __forceinline__ PetscScalar HJDCoefficient(const HJDStencil &st, const PetscScalar *row, int o, long long at, int sx,
                                                      long long sxy)
{
  constexpr int NN    = HJDNeighbors(DIM, BOX);
  const bool    upper = BOX ? o >= NN / 2 : o % 2 == 1;
  const int     opp   = BOX ? NN - 1 - o : o ^ 1;

  if (STORAGE == HJ_DICTIONARY) return row[1 + o];
  if (STORAGE == HJ_VARIABLE || upper) return st.value[o][at];
  return st.value[opp][at + HJDOffset(DIM, BOX, o, 0) + (long long)HJDOffset(DIM, BOX, o, 1) * sx + HJDOffset(DIM, BOX, o, 2) * sxy];
}

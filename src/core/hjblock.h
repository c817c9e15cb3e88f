/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Blocks of a few numbers, row by row: those that the unknowns of a point have with one another and with those of a neighbour. Decides
   nothing.
*/
#pragma once

#include "hjcore.h"

/* The inverse of a block of n rows; a is overwritten. PETSC_FALSE: it has none, and inv is 0 */
static inline HJ_HOST_DEVICE PetscBool HJBlockInvert(PetscInt n, PetscScalar a[], PetscScalar inv[])
{
  for (PetscInt i = 0; i < n * n; i++) inv[i] = i % (n + 1) ? 0.0 : 1.0;
  for (PetscInt c = 0; c < n; c++) {
    PetscInt    pivot = c;
    PetscScalar scale;

    for (PetscInt r = c + 1; r < n; r++)
      if (PetscAbsScalar(a[r * n + c]) > PetscAbsScalar(a[pivot * n + c])) pivot = r;
    if (a[pivot * n + c] == 0.0) {
      for (PetscInt i = 0; i < n * n; i++) inv[i] = 0.0;
      return PETSC_FALSE;
    }
    for (PetscInt d = 0; d < n && pivot != c; d++) {
      const PetscScalar t = a[c * n + d], u = inv[c * n + d];

      a[c * n + d]       = a[pivot * n + d];
      inv[c * n + d]     = inv[pivot * n + d];
      a[pivot * n + d]   = t;
      inv[pivot * n + d] = u;
    }
    scale = 1.0 / a[c * n + c];
    for (PetscInt d = 0; d < n; d++) {
      a[c * n + d] *= scale;
      inv[c * n + d] *= scale;
    }
    for (PetscInt r = 0; r < n; r++) {
      const PetscScalar f = a[r * n + c];

      if (r == c || f == 0.0) continue;
      for (PetscInt d = 0; d < n; d++) {
        a[r * n + d] -= f * a[c * n + d];
        inv[r * n + d] -= f * inv[c * n + d];
      }
    }
  }
  return PETSC_TRUE;
}

/* c = a b */
static inline void HJBlockMultiply(PetscInt n, const PetscScalar a[], const PetscScalar b[], PetscScalar c[])
{
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = 0; j < n; j++) {
      PetscScalar sum = 0.0;

      for (PetscInt l = 0; l < n; l++) sum += a[i * n + l] * b[l * n + j];
      c[i * n + j] = sum;
    }
  }
}

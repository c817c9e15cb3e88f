/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The part of the backend table that a Krylov method needs: vectors and sums in few passes over memory.
*/
#pragma once

#include "hjcoefficients.h"

/* Of conjugate gradients: (r, z), with z = B r, and (p, A p), of the iteration before too; (z, z) and (r, r). Zeros at first */
typedef struct {
  PetscScalar rz, zz, pw, pw_before, rr, rz_before;
} HJKrylovSums;

/* Numbers that a rank hands to the others at once, from one of its sums on */
#define HJ_KRYLOV_SHARED 2

/* Whether a sum of the method has changed its sign */
static inline HJ_HOST_DEVICE PetscBool HJKrylovTurns(PetscScalar now, PetscScalar before)
{
  return (PetscBool)((now < 0.0 && before > 0.0) || (now > 0.0 && before < 0.0));
}

/* All arrays lie in the backend's memory, sums where begin() says. Sums that are made are of this rank, those that are read of all */
struct _n_HJKrylovOps {
  /* z z and z r */
  PetscErrorCode (*sums)(PetscInt n, const PetscScalar *z, const PetscScalar *r, HJKrylovSums *);
  /* Ghosts of p from those of z, as direction() makes p; all n are written where this is the first direction */
  PetscErrorCode (*ghosts)(PetscCount n, PetscBool first, const HJKrylovSums *, const PetscScalar *z, PetscScalar *p);
  /* p = z + beta before, or z where this is the first direction and before is not read; then the product, whose x is p, and whose y may be
     z and need not be written where update() does not read it. It is of all points, without b. neighbors: ghosts may be other than 0.
     apart: before is not p; else it is */
  PetscErrorCode (*direction)(const HJProduct *, PetscBool neighbors, PetscBool first, HJKrylovSums *, const PetscScalar *z,
                              const PetscScalar *before, PetscScalar *p);
  PetscBool apart;
  /* x += alpha p, r -= alpha A p, for the product of direction(), and r r */
  PetscErrorCode (*update)(const HJProduct *, PetscBool neighbors, HJKrylovSums *, PetscScalar *x, PetscScalar *r);
  /*
     Of a device, whose passes do not wait for one another's sums: sums in its memory, and a copy of them, which waits. update() leaves x
     and r there where r z or p A p is zero, no finite number, or has turned. total() makes n sums, one or two, of those of all ranks, each
     of which has HJ_KRYLOV_SHARED numbers in parts; all ranks get the same bits. NULL: sums lie on the host
  */
  PetscErrorCode (*begin)(HJKrylovSums **);
  PetscErrorCode (*total)(PetscInt nranks, const PetscScalar *parts, PetscInt n, PetscScalar *sums);
  PetscErrorCode (*fetch)(const HJKrylovSums *, HJKrylovSums *host);
  PetscErrorCode (*end)(HJKrylovSums **);
};

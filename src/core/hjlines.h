/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The tridiagonal part T of a symmetric matrix along the lines of a direction, factored: what a smoother by lines solves with. Lines are
   those of a rank's own points, and end where its neighbours' begin. Decides nothing.
*/
#pragma once

#include "hjcoefficients.h"

/* Lines that the host works on abreast along x; of so many points each is the work of a solve */
#define HJ_LINES_ABREAST 8

/* m: the inverses of the pivots of a line's points; c: these times the entry for the next point, 0 at the last one. Their order is the
   backend's own */
struct _n_HJLines {
  PetscInt     d, width[3]; /* direction; owned points */
  PetscCount   size;
  PetscScalar *c, *m; /* [size] in the backend's memory */
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Vectors and sums of a Krylov method in one pass: lines of a new direction are made ahead of those of its product, while both are in the
   cache. Long vectors are done part by part, so that sums of many numbers keep their digits.
*/
#include "hjhostproduct.h"
#include "core/hjkrylovops.h"

#define HJ_KRYLOV_PART 2048 /* points whose vectors fit into the first cache */

/* Lines lie one behind another, so that some of them are one vector */
static PetscErrorCode HJHostDirection(const HJProduct *product, PetscScalar beta, const PetscScalar *z, PetscScalar *p, PetscScalar *dot)
{
  const HJHostKernels *kernels = HJHostPickKernels();
  const HJShell       *s       = product->shell;
  const PetscInt       n = s->width[0], lines = s->width[1] * s->width[2], part = PetscMax(HJ_KRYLOV_PART / n, 1);
  const PetscInt       ahead = s->dim < 2 ? 0 : s->dim < 3 ? 1 : s->width[1] + 1; /* the last line that a line's product needs */
  PetscInt             made  = 0;
  HJHostProductArgs    args;

  PetscFunctionBegin;
  *dot = 0.0;
  HJHostProductSet(product->a, n, PETSC_FALSE, &args);
  for (PetscInt line = 0; line < lines; line += part) {
    const PetscInt   end = PetscMin(line + part, lines), need = PetscMin(end + ahead, lines);
    const PetscCount at = (PetscCount)line * n, next = (PetscCount)made * n;

    kernels->krylov_direction((need - made) * n, beta, z + next, p + next);
    made = need;
    for (PetscInt l = line; l < end; l++) HJHostProductOwnLine(product, &args, l % s->width[1], l / s->width[1]);
    *dot += kernels->krylov_dot((end - line) * n, p + at, product->y + at);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostUpdate(PetscInt n, PetscScalar alpha, const PetscScalar *p, const PetscScalar *w, PetscScalar *x,
                                   PetscScalar *r, PetscScalar *squares)
{
  const HJHostKernels *kernels = HJHostPickKernels();

  PetscFunctionBegin;
  *squares = 0.0;
  for (PetscInt i = 0; i < n; i += HJ_KRYLOV_PART)
    *squares += kernels->krylov_update(PetscMin(n - i, HJ_KRYLOV_PART), alpha, p + i, w + i, x + i, r + i);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostSums(PetscInt n, const PetscScalar *z, const PetscScalar *r, PetscScalar sums[2])
{
  const HJHostKernels *kernels = HJHostPickKernels();

  PetscFunctionBegin;
  sums[0] = sums[1] = 0.0;
  for (PetscInt i = 0; i < n; i += HJ_KRYLOV_PART) {
    const PetscInt m = PetscMin(n - i, HJ_KRYLOV_PART);

    sums[0] += kernels->krylov_dot(m, z + i, z + i);
    sums[1] += kernels->krylov_dot(m, z + i, r + i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJKrylovOps HJKrylovHost = {.direction = HJHostDirection, .update = HJHostUpdate, .sums = HJHostSums};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Vectors and sums of a Krylov method in one pass: lines of a new direction are made ahead of those of its product, while both are in the
   cache. Long vectors are done part by part, so that sums of many numbers keep their digits; sums of parts are double.
*/
#include "hjhostproduct.h"
#include "core/hjkrylovops.h"

#define HJ_KRYLOV_PART 2048 /* points whose vectors fit into the first cache */

/* Lines lie one behind another, so that some of them are one vector */
static PetscErrorCode HJHostDirection(const HJProduct *product, PetscBool neighbors, PetscBool first, HJKrylovSums *sums,
                                      const PetscScalar *z, const PetscScalar *before, PetscScalar *p)
{
  const HJHostKernels *kernels = HJHostPickKernels();
  const HJShell       *s       = product->shell;
  const PetscScalar    beta    = first ? 0.0 : sums->rz / sums->rz_before;
  const PetscInt       n = s->width[0], lines = s->width[1] * s->width[2], part = PetscMax(HJ_KRYLOV_PART / n, 1);
  const PetscInt       ahead = s->dim < 2 ? 0 : s->dim < 3 ? 1 : s->width[1] + 1; /* the last line that a line's product needs */
  PetscInt             made  = 0;
  HJHostProductArgs    args;
  double               pw = 0.0;

  PetscFunctionBegin;
  HJHostProductSet(product->a, n, PETSC_FALSE, &args);
  for (PetscInt line = 0; line < lines; line += part) {
    const PetscInt   end = PetscMin(line + part, lines), need = PetscMin(end + ahead, lines);
    const PetscCount at = (PetscCount)line * n, next = (PetscCount)made * n;

    kernels->krylov_direction((need - made) * n, beta, z + next, p + next);
    made = need;
    for (PetscInt l = line; l < end; l++) HJHostProductOwnLine(product, &args, l % s->width[1], l / s->width[1]);
    pw += kernels->krylov_dot((end - line) * n, p + at, product->y + at);
  }
  sums->pw_before = sums->pw;
  sums->pw        = pw;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostUpdate(const HJProduct *product, PetscBool neighbors, HJKrylovSums *sums, PetscScalar *x, PetscScalar *r)
{
  const HJHostKernels *kernels = HJHostPickKernels();
  const PetscScalar    alpha = sums->rz / sums->pw, *p = product->x, *w = product->y;
  const PetscInt       n  = product->shell->width[0] * product->shell->width[1] * product->shell->width[2];
  double               rr = 0.0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i += HJ_KRYLOV_PART)
    rr += kernels->krylov_update(PetscMin(n - i, HJ_KRYLOV_PART), alpha, p + i, w + i, x + i, r + i);
  sums->rr = rr;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostSums(PetscInt n, const PetscScalar *z, const PetscScalar *r, HJKrylovSums *sums)
{
  const HJHostKernels *kernels = HJHostPickKernels();
  double               zz = 0.0, rz = 0.0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i += HJ_KRYLOV_PART) {
    const PetscInt m = PetscMin(n - i, HJ_KRYLOV_PART);

    zz += kernels->krylov_dot(m, z + i, z + i);
    rz += kernels->krylov_dot(m, z + i, r + i);
  }
  sums->rz_before = sums->rz;
  sums->rz        = rz;
  sums->zz        = zz;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHostGhosts(PetscCount n, PetscBool first, const HJKrylovSums *sums, const PetscScalar *z, PetscScalar *p)
{
  const PetscScalar beta = first ? 0.0 : sums->rz / sums->rz_before;

  PetscFunctionBegin;
  for (PetscCount i = 0; i < n; i++) p[i] = first ? z[i] : z[i] + beta * p[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJKrylovOps HJKrylovHost = {.sums = HJHostSums, .ghosts = HJHostGhosts, .direction = HJHostDirection, .update = HJHostUpdate};

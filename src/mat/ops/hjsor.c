/* SPDX-License-Identifier: BSD-2-Clause */
/*
   SOR as AIJ does it: sweeps over the points of this rank in their order, other ranks' values as they were at the start of the iteration.
*/
#include "mat/base/hjmat.h"

typedef struct {
  const Mat_HJStencil *hj;
  const PetscScalar   *b, *ghost;
  PetscScalar         *x;
  PetscReal            omega, shift;
} HJSOR;

/* A neighbour's value; where a periodic direction is all on this rank, the value of now */
static PetscScalar HJSORAt(const HJSOR *sor, PetscInt i, PetscInt j, PetscInt k)
{
  const HJLayout *l    = &sor->hj->layout;
  const PetscInt *n    = sor->hj->grid.owned.hi;
  PetscInt        p[3] = {i, j, k};

  for (int d = 0; d < 3; d++) {
    if (l->periodic[d] && l->nranks[d] == 1) p[d] = (p[d] + n[d]) % n[d];
  }
  return HJShellAt(&sor->hj->products->ghosts.shell, sor->x, sor->ghost, p[0], p[1], p[2]);
}

/* The division does not wait for the sum */
static void HJSORUpdate(const HJSOR *sor, PetscCount p, PetscScalar diagonal, PetscScalar sum)
{
  const PetscScalar factor = sor->omega / (diagonal + sor->shift);

  sor->x[p] = (1.0 - sor->omega) * sor->x[p] + factor * (sor->b[p] - sum);
}

/* A point with some neighbour outside this rank's box */
static void HJSOREdge(const HJSOR *sor, PetscInt i, PetscInt j, PetscInt k, PetscCount p)
{
  const HJCoefficients *c   = &sor->hj->c;
  PetscScalar           sum = 0.0;

  for (PetscInt s = 1; s < c->nslots; s++) {
    PetscInt off[3];

    HJSlotOffset(c, s, off);
    sum += HJCoefficientAt(c, s, p) * HJSORAt(sor, i + off[0], j + off[1], k + off[2]);
  }
  HJSORUpdate(sor, p, HJCoefficientAt(c, 0, p), sum);
}

/* The neighbours along the line, of which one has just been changed, come last */
static void HJSORInner(const HJSOR *sor, const PetscCount delta[], PetscCount p)
{
  const HJCoefficients *c   = &sor->hj->c;
  PetscScalar           sum = 0.0;

  if (c->storage == HJ_COEFFICIENTS_ARRAYS) {
    for (PetscInt s = c->nslots - 1; s > 0; s--) sum += c->value[HJSlotBegin(c, s) + p] * sor->x[p + delta[s]];
    HJSORUpdate(sor, p, c->value[p], sum);
  } else {
    const PetscScalar *row = c->rows + (c->index ? c->index[p] : 0) * c->nslots;

    for (PetscInt s = c->nslots - 1; s > 0; s--) sum += row[s] * sor->x[p + delta[s]];
    HJSORUpdate(sor, p, row[0], sum);
  }
}

static void HJSORSweep(const HJSOR *sor, PetscBool backward)
{
  const PetscInt *n = sor->hj->grid.owned.hi, dim = sor->hj->grid.dim;
  PetscCount      delta[HJ_MAX_SLOTS];

  for (PetscInt s = 0; s < sor->hj->c.nslots; s++) {
    PetscInt off[3];

    HJSlotOffset(&sor->hj->c, s, off);
    delta[s] = ((PetscCount)off[2] * n[1] + off[1]) * n[0] + off[0];
  }
  for (PetscInt kk = 0; kk < n[2]; kk++) {
    const PetscInt k = backward ? n[2] - 1 - kk : kk;

    for (PetscInt jj = 0; jj < n[1]; jj++) {
      const PetscInt   j     = backward ? n[1] - 1 - jj : jj;
      const PetscBool  inner = (PetscBool)((dim < 2 || (j > 0 && j < n[1] - 1)) && (dim < 3 || (k > 0 && k < n[2] - 1)));
      const PetscCount first = ((PetscCount)k * n[1] + j) * n[0];

      for (PetscInt ii = 0; ii < n[0]; ii++) {
        const PetscInt i = backward ? n[0] - 1 - ii : ii;

        if (inner && i > 0 && i < n[0] - 1) HJSORInner(sor, delta, first + i);
        else HJSOREdge(sor, i, j, k, first + i);
      }
    }
  }
}

static PetscErrorCode HJSORCheck(Mat A, MatSORType flag, PetscReal shift)
{
  const HJCoefficients *c        = &((Mat_HJStencil *)A->data)->c;
  const PetscInt        parallel = SOR_FORWARD_SWEEP | SOR_BACKWARD_SWEEP;
  const PetscCount      n        = c->value || c->index ? c->npoints : 1;
  PetscMPIInt           size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &size));
  PetscCheck(!(flag & (SOR_EISENSTAT | SOR_APPLY_UPPER | SOR_APPLY_LOWER)), PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "Eisenstat's variant of SOR is not there for a matrix of type " MATHJSTENCIL "; use -pc_type sor, or -dm_mat_type aij");
  PetscCheck(size == 1 || !(flag & parallel), PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "SOR across ranks is not there; use -pc_sor_local_symmetric, -pc_sor_local_forward or -pc_sor_local_backward");
  for (PetscCount p = 0; p < n; p++)
    PetscCheck(HJCoefficientAt(c, 0, p) + shift != 0.0, PETSC_COMM_SELF, PETSC_ERR_ARG_INCOMP,
               "Zero diagonal in row %" PetscInt_FMT "; use -pc_sor_diagonal_shift, or another preconditioner",
               (PetscInt)p + A->rmap->rstart);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSOR_HJStencil(Mat A, Vec b, PetscReal omega, MatSORType flag, PetscReal shift, PetscInt its, PetscInt lits, Vec x)
{
  Mat_HJStencil  *hj       = (Mat_HJStencil *)A->data;
  const PetscBool forward  = (PetscBool)((flag & (SOR_FORWARD_SWEEP | SOR_LOCAL_FORWARD_SWEEP)) != 0);
  const PetscBool backward = (PetscBool)((flag & (SOR_BACKWARD_SWEEP | SOR_LOCAL_BACKWARD_SWEEP)) != 0);
  HJSOR           sor      = {.hj = hj, .omega = omega, .shift = shift};

  PetscFunctionBegin;
  PetscCall(HJMatGetHost(A));
  PetscCall(HJSORCheck(A, flag, shift));
  if (flag & SOR_ZERO_INITIAL_GUESS) PetscCall(VecSet(x, 0.0));
  PetscCall(VecGetArrayRead(b, &sor.b));
  PetscCall(VecGetArray(x, &sor.x));
  for (PetscInt i = 0; i < its; i++) {
    PetscCall(HJGhostsGet(&hj->products->ghosts, sor.x, &sor.ghost));
    for (PetscInt l = 0; l < lits; l++) {
      if (forward) HJSORSweep(&sor, PETSC_FALSE);
      if (backward) HJSORSweep(&sor, PETSC_TRUE);
    }
  }
  PetscCall(PetscLogFlops((2.0 * hj->c.nslots + 3.0) * hj->c.npoints * its * lits * (forward + backward)));
  PetscCall(VecRestoreArray(x, &sor.x));
  PetscCall(VecRestoreArrayRead(b, &sor.b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

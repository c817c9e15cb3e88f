/* SPDX-License-Identifier: BSD-2-Clause */
/*
   MatZeroRows() and MatZeroRowsColumns().
*/
#include "mat/base/hjmat.h"

/* Of all ranks' rows those that this rank owns, from 0; freed by the caller. Collective */
static PetscErrorCode HJMatGetOwnRows(Mat A, PetscInt n, const PetscInt rows[], PetscInt *nown, PetscInt **own)
{
  PetscFunctionBegin;
  if (A->nooffproczerorows) {
    PetscCall(PetscMalloc1(n, own));
    *nown = 0;
    for (PetscInt i = 0; i < n; i++) {
      if (rows[i] < 0) continue;
      PetscCheck(rows[i] >= A->rmap->rstart && rows[i] < A->rmap->rend, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
                 "Row %" PetscInt_FMT " is another rank's, and MAT_NO_OFF_PROC_ZERO_ROWS promised that there are none; unset it", rows[i]);
      (*own)[(*nown)++] = rows[i] - A->rmap->rstart;
    }
  } else PetscCall(PetscLayoutMapLocal(A->rmap, n, rows, nown, own, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b = diagonal x in those rows */
static PetscErrorCode HJMatFixRows(PetscInt n, const PetscInt own[], PetscScalar diagonal, Vec x, Vec b)
{
  const PetscScalar *xa;
  PetscScalar       *ba;

  PetscFunctionBegin;
  if (!x || !b) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetArrayRead(x, &xa));
  PetscCall(VecGetArray(b, &ba));
  for (PetscInt i = 0; i < n; i++) ba[own[i]] = diagonal * xa[own[i]];
  PetscCall(VecRestoreArray(b, &ba));
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void HJMatZeroOwnRows(HJCoefficients *c, PetscInt n, const PetscInt own[], PetscScalar diagonal)
{
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt point = own[i] / c->dof, l = own[i] % c->dof, place = HJSlotOfEntry(c, 0, l, l);

    for (PetscInt s = 0; s < c->nslots; s++)
      if (HJSlotRow(c, s) == l) c->value[HJSlotBegin(c, s) + point] = s == place ? diagonal : 0.0;
  }
}

PetscErrorCode MatZeroRows_HJStencil(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diagonal, Vec x, Vec b)
{
  Mat_HJStencil *hj = (Mat_HJStencil *)A->data;
  PetscInt       nown, *own;

  PetscFunctionBegin;
  PetscCall(HJMatCheckArrays(A));
  PetscCall(HJMatGetOwnRows(A, n, rows, &nown, &own));
  PetscCall(HJMatExpand(A));
  HJMatZeroOwnRows(&hj->c, nown, own, diagonal);
  PetscCall(HJMatFixRows(nown, own, diagonal, x, b));
  PetscCall(PetscFree(own));
  PetscCall(HJMatChoose(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What leads to points where component l of x, which has its ghosts, is not 0: becomes 0, or (b not NULL) is taken from b times x */
static void HJMatVisitColumns(Mat_HJStencil *hj, PetscInt l, const PetscScalar *x, const PetscScalar *ghost, PetscScalar *b)
{
  const PetscInt *n = hj->grid.owned.hi;
  HJCoefficients *c = &hj->c;

  for (PetscInt s = 0; s < c->nslots; s++) {
    PetscScalar *a = c->value + HJSlotBegin(c, s);
    PetscCount   p = 0;
    PetscInt     off[3];

    if (HJSlotColumn(c, s) != l) continue;
    HJSlotOffset(c, s, off);
    for (PetscInt k = 0; k < n[2]; k++) {
      for (PetscInt j = 0; j < n[1]; j++) {
        for (PetscInt i = 0; i < n[0]; i++, p++) {
          const PetscScalar there = HJShellAt(&hj->products->ghosts.shell, x, ghost, i + off[0], j + off[1], k + off[2]);

          if (there == 0.0) continue;
          if (b) b[p * c->dof + HJSlotRow(c, s)] -= a[p] * there;
          else a[p] = 0.0;
        }
      }
    }
  }
}

/* The same with x given in some of this rank's rows, or 1 there, and 0 elsewhere. Collective */
static PetscErrorCode HJMatVisitRows(Mat_HJStencil *hj, PetscInt n, const PetscInt own[], const PetscScalar *x, PetscScalar *b)
{
  HJGhosts          *ghosts = &hj->products->ghosts;
  const PetscInt     dof    = hj->c.dof;
  const PetscScalar *ghost;
  PetscScalar       *given, *work[2];

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(hj->c.npoints * dof, &given));
  PetscCall(HJComponentAlloc(&HJArraysHost, &hj->c, hj->c.npoints, &work[0]));
  PetscCall(HJComponentAlloc(&HJArraysHost, &hj->c, ghosts->shell.size, &work[1]));
  for (PetscInt i = 0; i < n; i++) given[own[i]] = x ? x[own[i]] : 1.0;
  PetscCall(HJGhostsGet(ghosts, given, &ghost));
  for (PetscInt l = 0; l < dof; l++) {
    const PetscScalar *own, *out;

    PetscCall(HJComponentGet(&HJArraysHost, dof, l, hj->c.npoints, given, work[0], &own));
    PetscCall(HJComponentGet(&HJArraysHost, dof, l, ghosts->shell.size, ghost, work[1], &out));
    HJMatVisitColumns(hj, l, own, out, b);
  }
  for (int i = 0; i < 2; i++) PetscCall(HJComponentFree(&HJArraysHost, &work[i]));
  PetscCall(PetscFree(given));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatZeroRowsColumns_HJStencil(Mat A, PetscInt n, const PetscInt rows[], PetscScalar diagonal, Vec x, Vec b)
{
  Mat_HJStencil     *hj = (Mat_HJStencil *)A->data;
  PetscInt           nown, *own;
  const PetscScalar *xa;
  PetscScalar       *ba;

  PetscFunctionBegin;
  PetscCall(HJMatCheckArrays(A));
  PetscCall(HJMatGetOwnRows(A, n, rows, &nown, &own));
  PetscCall(HJMatExpand(A));
  if (x && b) { /* the known values leave the equations of the other points; x need not be set elsewhere */
    PetscCall(VecGetArrayRead(x, &xa));
    PetscCall(VecGetArray(b, &ba));
    PetscCall(HJMatVisitRows(hj, nown, own, xa, ba));
    PetscCall(VecRestoreArray(b, &ba));
    PetscCall(VecRestoreArrayRead(x, &xa));
  }
  PetscCall(HJMatVisitRows(hj, nown, own, NULL, NULL));
  HJMatZeroOwnRows(&hj->c, nown, own, diagonal);
  PetscCall(HJMatFixRows(nown, own, diagonal, x, b));
  PetscCall(PetscFree(own));
  PetscCall(HJMatChoose(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

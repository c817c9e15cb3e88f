/*
   The COO format: each entry's place is found once, values go there as often as they come.
*/
#include "hjmat.h"
#include <petscdevice.h>

PetscErrorCode HJCOOReset(HJCOO *coo)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(coo->place));
  PetscCall(PetscFree(coo->remote));
  PetscCall(PetscSFDestroy(&coo->sf));
  coo->n = coo->nremote = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries of other ranks' rows: leaves of an SF whose roots are all places in value[] of their owners */
static PetscErrorCode HJCOOSetRemote(Mat A, PetscInt n, PetscSFNode *nodes)
{
  Mat_HJStencil *hj    = (Mat_HJStencil *)A->data;
  PetscMPIInt    mine  = n > 0, any;
  PetscCount     roots = hj->c.nslots * hj->c.npoints;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  if (!any) {
    PetscCall(PetscFree(nodes));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCheck(roots <= PETSC_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "COO entries of other ranks' rows need %" PetscInt_FMT
             " coefficients a rank at most; use more ranks or a PETSc with 64-bit indices",
             (PetscInt)PETSC_INT_MAX);
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &hj->coo.sf));
  PetscCall(PetscSFSetGraph(hj->coo.sf, (PetscInt)roots, n, NULL, PETSC_OWN_POINTER, nodes, PETSC_OWN_POINTER));
  PetscCall(PetscSFSetUp(hj->coo.sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of a rank, which number the places of its arrays */
static PetscInt HJCOOPoints(const HJLayout *l, PetscMPIInt rank)
{
  return l->ranges[rank + 1] - l->ranges[rank];
}

PetscErrorCode MatSetPreallocationCOO_HJStencil(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  Mat_HJStencil *hj;
  HJCOO         *coo;
  PetscSFNode   *nodes;
  PetscMPIInt    rank;

  PetscFunctionBegin;
  PetscCall(MatSetUp(A));
  hj  = (Mat_HJStencil *)A->data;
  coo = &hj->coo;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)A), &rank));
  PetscCall(HJCOOReset(coo));
  coo->n = n;
  PetscCall(PetscMalloc1(n, &coo->place));
  for (PetscCount e = 0; e < n; e++) {
    if (i[e] >= 0 && (i[e] < hj->layout.start || i[e] >= hj->layout.end)) coo->nremote++;
  }
  PetscCall(PetscMalloc1(coo->nremote, &coo->remote));
  PetscCall(PetscMalloc1(coo->nremote, &nodes));
  coo->nremote = 0;
  for (PetscCount e = 0; e < n; e++) {
    PetscMPIInt owner;
    PetscInt    point, slot;

    coo->place[e] = -1;
    if (i[e] < 0 || j[e] < 0) continue;
    PetscCall(HJMatFindPlace(A, i[e], j[e], PETSC_FALSE, &owner, &point, &slot));
    if (slot < 0) continue;
    if (owner == rank) coo->place[e] = slot * hj->c.npoints + point;
    else {
      nodes[coo->nremote].rank    = owner;
      nodes[coo->nremote].index   = slot * HJCOOPoints(&hj->layout, owner) + point;
      coo->remote[coo->nremote++] = e;
    }
  }
  PetscCall(HJCOOSetRemote(A, (PetscInt)coo->nremote, nodes));
  PetscCall(HJMatCheckArrays(A));
  PetscCall(HJMatSetZero(A));
  PetscCall(HJMatTakeView(A)); /* no assembly is needed afterwards */
  hj->changed  = PETSC_TRUE;
  A->assembled = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatSetValuesCOO_HJStencil(Mat A, const PetscScalar v[], InsertMode mode)
{
  Mat_HJStencil *hj    = (Mat_HJStencil *)A->data;
  const HJCOO   *coo   = &hj->coo;
  PetscMemType   mtype = PETSC_MEMTYPE_HOST;
  PetscScalar   *send;

  PetscFunctionBegin;
  PetscCheck(coo->place, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE,
             "Call MatSetPreallocationCOO() before MatSetValuesCOO(), and again after the stencil has changed between star and box");
  PetscCall(PetscGetMemType(v, &mtype));
  PetscCheck(PetscMemTypeHost(mtype), PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "MatSetValuesCOO() with values in GPU memory: this matrix lies on the host; copy the values to the host first, or use "
             "-dm_mat_type aijcusparse");
  PetscCall(HJMatCheckArrays(A));
  if (mode == INSERT_VALUES) PetscCall(HJMatSetZero(A));
  PetscCall(HJMatExpand(A));
  for (PetscCount e = 0; e < coo->n; e++) {
    if (coo->place[e] >= 0) hj->c.value[coo->place[e]] += v[e];
  }
  if (coo->sf) {
    PetscCall(PetscMalloc1(coo->nremote, &send));
    for (PetscCount e = 0; e < coo->nremote; e++) send[e] = v[coo->remote[e]];
    PetscCall(PetscSFReduceBegin(coo->sf, MPIU_SCALAR, send, hj->c.value, MPIU_SUM));
    PetscCall(PetscSFReduceEnd(coo->sf, MPIU_SCALAR, send, hj->c.value, MPIU_SUM));
    PetscCall(PetscFree(send));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

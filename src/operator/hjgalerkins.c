/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Galerkin products: fills the ghost coefficients, then calls the backend. The halo is planned once, for all values.
*/
#include "hjgalerkins.h"
#include "hjoperator.h"
#include "hjpairs.h"
#include "core/hjinterpolation.h"

/* Fine points beyond the rank that are needed on any side, on any rank */
static PetscErrorCode HJGalerkinsDepth(MPI_Comm comm, const HJShell *s, PetscInt *depth)
{
  PetscInt mine = 0;

  PetscFunctionBegin;
  for (int d = 0; d < s->dim; d++) {
    for (int side = 0; side < 2; side++)
      if (!HJBoxEmpty(&s->box[d][side])) mine = PetscMax(mine, HJBoxWidth(&s->box[d][side], d));
  }
  PetscCallMPI(MPI_Allreduce(&mine, depth, 1, MPIU_INT, MPI_MAX, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGalerkinsCreate(DM fine, const HJTransfer *t, HJExchange exchange, HJGalerkins **out)
{
  HJGalerkins *op;
  HJGrid       grid  = t->fine;
  PetscInt     depth = 0;

  PetscFunctionBegin;
  PetscCall(PetscNew(&op));
  *out         = op;
  op->comm     = PetscObjectComm((PetscObject)fine);
  op->transfer = *t;
  HJGalerkinShellSet(t, &op->shell);
  PetscCall(HJGalerkinsDepth(op->comm, &op->shell, &depth));
  if (!depth) PetscFunctionReturn(PETSC_SUCCESS);
  grid.dof = 1; /* arrays have one number a point */
  PetscCall(HJShellCreateHalo(fine, &grid, depth, &op->shell, (HJExchange){&HJHaloPetscSF, 0}, &op->halo[0]));
  op->halo[1] = op->halo[0];
  if (exchange.ops == &HJHaloPetscSF) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJShellCreateHalo(fine, &grid, depth, &op->shell, exchange, &op->halo[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJGalerkinGhostsFree(HJGalerkinGhosts *g)
{
  PetscFunctionBegin;
  if (g->ghost) PetscCall(g->ops->free(&g->ghost));
  if (g->slot) PetscCall(g->ops->free(&g->slot));
  g->nslots = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGalerkinsDestroy(HJGalerkins **op)
{
  PetscFunctionBegin;
  if (!*op) PetscFunctionReturn(PETSC_SUCCESS);
  for (int m = 0; m < 2; m++) PetscCall(HJGalerkinGhostsFree(&(*op)->here[m]));
  if ((*op)->halo[1] != (*op)->halo[0]) PetscCall(HJHaloDestroy(&(*op)->halo[1]));
  PetscCall(HJHaloDestroy(&(*op)->halo[0]));
  PetscCall(PetscFree((*op)->ghost_id));
  PetscCall(PetscFree(*op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGalerkinsGetGhosts(HJGalerkins *op, const HJArrayOps *ops, const HJCoefficients *a, const PetscScalar **ghost)
{
  const int          where    = ops == &HJArraysHost ? 0 : 1;
  HJGalerkinGhosts  *g        = &op->here[where];
  HJHalo             halo     = op->halo[where];
  const PetscScalar *from[2]  = {NULL, NULL};
  PetscScalar       *frame[2] = {NULL, NULL};

  PetscFunctionBegin;
  *ghost = NULL;
  if (!halo || a->storage == HJ_COEFFICIENTS_ROW) PetscFunctionReturn(PETSC_SUCCESS);
  g->ops = ops;
  if (g->nslots != a->nslots) {
    PetscCall(HJGalerkinGhostsFree(g));
    PetscCall(ops->alloc((size_t)a->nslots * op->shell.size * sizeof(PetscScalar), &g->ghost));
    g->nslots = a->nslots;
  }
  if (a->storage == HJ_COEFFICIENTS_DICTIONARY && !g->slot) PetscCall(ops->alloc((size_t)a->npoints * sizeof(PetscScalar), &g->slot));
  PetscCall(PetscLogEventBegin(PCHJacobi_Halo, 0, 0, 0, 0));
  for (PetscInt s = 0; s < a->nslots; s++) {
    const HJBox  keep = HJCoefficientsInside(a, s, &op->transfer.fine);
    PetscScalar *to   = g->ghost + s * op->shell.size;

    from[0]  = a->value + HJSlotBegin(a, s);
    frame[0] = to;
    if (a->storage == HJ_COEFFICIENTS_DICTIONARY) {
      PetscCall(ops->slot(a, s, op->shell.width, &keep, g->slot));
      from[0] = g->slot;
    }
    PetscCall(HJHaloBegin(halo, ops->backend->mtype, from, frame));
    PetscCall(HJHaloEnd(halo, ops->backend->mtype, from, frame));
    if (frame[0] != to) PetscCall(ops->copy(to, frame[0], (size_t)halo->size * sizeof(PetscScalar))); /* the transport's own memory */
  }
  PetscCall(PetscLogEventEnd(PCHJacobi_Halo, 0, 0, 0, 0));
  *ghost = g->ghost;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGalerkinsArrays(HJGalerkins *op, const HJArrayOps *ops, const HJCoefficients *a, HJCoefficients *coarse)
{
  HJGalerkin g = {.t = &op->transfer, .shell = &op->shell, .fine = a, .coarse = coarse->value, .half = coarse->half ? coarse : NULL};

  PetscFunctionBegin;
  PetscCall(HJGalerkinsGetGhosts(op, ops, a, &g.ghost));
  PetscCall(ops->backend->multigrid->galerkin(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGalerkinsSystem(HJGalerkins *op, const HJArrayOps *ops, const HJCoefficients *a, HJCoefficients *coarse)
{
  PetscCount begin[HJ_MAX_SLOTS];
  HJPairs    pairs;
  HJGalerkin g = {.t = &op->transfer, .shell = &op->shell, .fine = &pairs.one, .coarse = coarse->value, .begin = begin};

  PetscFunctionBegin;
  PetscCall(HJPairsOpen(ops, a, &pairs));
  for (PetscInt pair = 0; pair < a->dof * a->dof; pair++) {
    const PetscInt row = pair / a->dof, column = pair % a->dof;

    if (!HJPairsHave(a, row, column)) continue;
    for (PetscInt o = 0; o < HJCoefficientsOffsets(coarse); o++) begin[o] = HJSlotBegin(coarse, HJSlotOfEntry(coarse, o, row, column));
    PetscCall(HJPairsGet(&pairs, &op->transfer.fine, row, column));
    PetscCall(HJGalerkinsGetGhosts(op, ops, &pairs.one, &g.ghost));
    PetscCall(ops->backend->multigrid->galerkin(&g));
  }
  PetscCall(HJPairsClose(&pairs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGalerkinsVariable(HJGalerkins *op, const HJArrayOps *ops, const HJCoefficients *a, const HJTransfers *w,
                                   HJCoefficients *coarse)
{
  HJGalerkin g = {.t                 = &op->transfer,
                  .shell             = &op->shell,
                  .fine              = a,
                  .coarse            = coarse->value,
                  .half              = coarse->half ? coarse : NULL,
                  .coefficient_shell = &w->ghosts[0].shell,
                  .coefficient       = w->coefficient,
                  .coefficient_ghost = w->coefficient_ghost};

  PetscFunctionBegin;
  PetscCall(HJGalerkinsGetGhosts(op, ops, a, &g.ghost));
  PetscCall(ops->backend->multigrid->galerkin_variable(&g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Couplings and, where there are neighbours, their ghosts */
static PetscErrorCode HJGalerkinsCouplings(const HJMultigridOps *mg, HJTransfers *transfers, HJInterpolationFill *f)
{
  const HJTransfer *t = f->t;
  PetscInt          n = 0;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) n += t->factor[d] == 2 ? 2 : 0;
  PetscCall(mg->scratch(n * HJBoxSize(&t->coarse.owned), PETSC_FALSE, &f->coupling));
  PetscCall(mg->scratch(n * transfers->ghosts[0].shell.size, PETSC_FALSE, &f->coupling_ghost));
  PetscCall(mg->couplings(f));
  PetscCall(HJTransfersGetGhosts(transfers, n, f->coupling, f->coupling_ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJGalerkinsInterpolation(HJGalerkins *op[2], const HJArrayOps *ops, const HJCoefficients *const a[2], HJTransfers *transfers,
                                        PetscReal limit, HJJump *jump)
{
  const HJMultigridOps *mg = ops->backend->multigrid;
  const HJTransfer     *t  = &transfers->transfer;
  HJInterpolationFill   f =
    {.t = t, .shell = &op[0]->shell, .coarse_shell = &transfers->ghosts[0].shell, .a = a[0], .symmetric = a[1], .jump = jump};

  PetscFunctionBegin;
  PetscCall(HJGalerkinsGetGhosts(op[0], ops, a[0], &f.ghost));
  f.symmetric_ghost = f.ghost;
  if (a[1] != a[0]) PetscCall(HJGalerkinsGetGhosts(op[1], ops, a[1], &f.symmetric_ghost));
  if (HJGridHasNeighbors(&t->fine)) PetscCall(HJGalerkinsCouplings(mg, transfers, &f));
  PetscCall(mg->jump(&f));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &jump->largest, 1, MPIU_REAL, MPIU_MAX, op[0]->comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &jump->large, 2, MPIU_INT64, MPI_SUM, op[0]->comm)); /* and points */
  if (jump->largest > limit) {
    if (!f.coupling) PetscCall(HJGalerkinsCouplings(mg, transfers, &f));
    PetscCall(HJTransfersAllocCoefficients(transfers));
    f.coefficient = transfers->coefficient;
    PetscCall(mg->interpolation_fill(&f));
    PetscCall(HJTransfersGetGhosts(transfers, HJColumnsSlots(t), transfers->coefficient, transfers->coefficient_ghost));
  } else PetscCall(HJTransfersSetCoefficients(transfers, NULL));
  if (f.coupling) PetscCall(mg->unscratch(&f.coupling));
  if (f.coupling_ghost) PetscCall(mg->unscratch(&f.coupling_ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

size_t HJGalerkinsBytes(const HJGalerkins *op)
{
  size_t bytes = op->ghost_id ? (size_t)op->shell.size * sizeof(*op->ghost_id) : 0;

  for (int m = 0; m < 2; m++) {
    bytes += (size_t)op->here[m].nslots * op->shell.size * sizeof(PetscScalar);
    if (op->here[m].slot) bytes += (size_t)HJBoxSize(&op->transfer.fine.owned) * sizeof(PetscScalar);
  }
  return bytes;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What an operator is made of: stencil, backend, limits that all ranks keep to, frames for each depth of halo; what new values make anew.
   Decides none of it: the matrix, plan and backend do.
*/
#include "hjoperator.h"

PetscErrorCode HJWeightsExtend(HJWeights *w, PetscInt len)
{
  PetscFunctionBegin;
  if (len <= w->len) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscRealloc(len * sizeof(PetscReal), &w->cycled));
  for (PetscInt i = w->len; i < len; i++) w->cycled[i] = w->w[i % w->k];
  w->len = len;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJWeightsReset(HJWeights *w)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(w->w));
  PetscCall(PetscFree(w->cycled));
  w->len = w->k = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks of different size may have different kernels, but must exchange as often and as deep as each other. Ghost arrays pay where they
   come at once; on the host MPI moves next to nothing while a rank computes, and frames, which let the interior run meanwhile, only cost
   copies (1 to 5% measured). Collective */
static PetscErrorCode HJOperatorGetLimits(HJOperator *op)
{
  HJLimits *limits = &op->limits;
  PetscInt  least[5];

  PetscFunctionBegin;
  PetscCall(op->ops->limits(op->backend, limits));
  least[0] = limits->max_count;
  least[1] = limits->best_count;
  least[2] = limits->ghosts && (op->halo_ops->one_launch || PetscMemTypeHost(op->ops->mtype));
  least[3] = limits->copies;
  least[4] = HJBoxSize(&op->grid.owned) >= limits->large ? limits->in_place : 0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, least, 5, MPIU_INT, MPI_MIN, PetscObjectComm((PetscObject)op->da)));
  limits->max_count  = least[0];
  limits->best_count = least[1];
  limits->ghosts     = (PetscBool)(least[2] > 0);
  limits->copies     = (PetscBool)(least[3] > 0);
  limits->in_place   = least[4];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points that the coefficients reach beyond the rank's own */
static PetscInt HJOperatorPad(const HJGrid *grid, PetscInt overlap, const HJBackendOps *ops)
{
  return overlap < 0 && grid->dim > 1 && grid->dof == 1 && ops->wraps_coefficients && HJGridIsWrapped(grid) ? 0 : HJPlanPad(grid, overlap);
}

PetscErrorCode HJOperatorCreateFromStencil(DM da, const HJGrid *grid, HJStencil *st, PetscInt overlap, const PetscInt tile[3],
                                           const HJBackendOps *ops, const HJHaloOps *halo_ops, HJOperator **out)
{
  HJOperator *op;

  PetscFunctionBegin;
  PetscCall(PetscNew(&op));
  *out         = op;
  op->grid     = *grid;
  op->stencil  = st;
  op->overlap  = overlap;
  op->pad      = HJOperatorPad(grid, overlap, ops);
  op->ops      = ops;
  op->halo_ops = halo_ops;
  PetscCall(PetscObjectReference((PetscObject)da));
  op->da = da;
  PetscCall(PetscArraycpy(op->tile, tile, 3));
  PetscCall(ops->create(grid, st, &op->backend));
  PetscCall(HJOperatorGetLimits(op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The boxes that the frame buffer holds, and where */
static PetscInt HJFramesBoxes(const HJRegions *regions, HJBox boxes[], PetscCount offsets[])
{
  PetscInt n = 0;

  for (PetscInt r = 0; r < regions->n; r++) {
    if (!regions->framed[r]) continue;
    boxes[n]     = regions->box[r];
    offsets[n++] = regions->offset[r];
  }
  for (int side = 0; side < 2 && regions->ghosts; side++) {
    boxes[n]     = regions->ghost[side];
    offsets[n++] = side ? HJBoxSize(&regions->ghost[0]) : 0;
  }
  return n;
}

static PetscErrorCode HJFramesCreate(HJOperator *op, const HJPlan *plan, HJFrames *out)
{
  HJFrames   f;
  HJBox      boxes[HJ_MAX_REGIONS];
  PetscCount offsets[HJ_MAX_REGIONS];
  PetscInt   n;

  PetscFunctionBegin;
  PetscCall(PetscNew(&f));
  f->depth = plan->depth;
  HJPlanRegions(&op->grid, plan, op->limits.slab, op->limits.ghosts, op->limits.wraps, &f->regions);
  n = HJFramesBoxes(&f->regions, boxes, offsets);
  if (plan->depth > 0 && HJGridHasNeighbors(&op->grid) && !f->regions.wraps) { /* the same on all ranks, framed[] is not */
    PetscCall(HJHaloCreate(op->da, &op->grid, plan->depth, n, boxes, offsets, op->halo_ops, &f->halo));
    for (int i = 0; i < 2; i++) PetscCall(op->ops->alloc(op->backend, op->grid.dof * f->regions.size, &f->buffer[i]));
  }
  f->next = op->frames; /* not before: what is half made must not be found again */
  *out = op->frames = f;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorGetFrames(HJOperator *op, const HJPlan *plan, HJFrames *frames)
{
  PetscFunctionBegin;
  for (*frames = op->frames; *frames; *frames = (*frames)->next)
    if ((*frames)->depth == plan->depth) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJFramesCreate(op, plan, frames));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorChooseReader(Mat A, const HJBackendOps *ops, const HJRowReader **reader)
{
  PetscFunctionBegin;
  *reader = NULL;
#if defined(HJACOBI_HAVE_CUDA)
  if (PetscMemTypeDevice(ops->mtype)) PetscCall(HJCUDAGetReader(A, reader));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJOperatorCheckStale(MPI_Comm comm, const HJGrid *grid, PetscInt overlap, const PetscInt tile[3])
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < grid->dim; d++)
    PetscCheck(HJTileOverlap(tile[d], overlap) < tile[d], comm, PETSC_ERR_ARG_OUTOFRANGE,
               "overlap = %" PetscInt_FMT " must be smaller than the tile, %" PetscInt_FMT " points in direction %" PetscInt_FMT
               "; lower -pc_hjacobi_overlap or raise -pc_hjacobi_tile",
               overlap, tile[d], d);
  PetscCheck(grid->min_width >= overlap / 2 + 1, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "overlap = %" PetscInt_FMT " needs ranks at least %" PetscInt_FMT " points wide, the thinnest has %" PetscInt_FMT
             "; lower -pc_hjacobi_overlap, use fewer ranks, or leave the overlap unset (exact mode)",
             overlap, overlap / 2 + 1, grid->min_width);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJOperatorMake(Mat A, DM da, PetscInt overlap, const PetscInt tile[3], const HJBackendOps *ops,
                                     const HJHaloOps *halo_ops, PetscBool in_place, PetscBool is_box, PetscBool measures, HJOperator **op,
                                     char why[], size_t len)
{
  MPI_Comm           comm = PetscObjectComm((PetscObject)A);
  HJGrid             grid;
  HJStencil         *st;
  char               complaint[256];
  PetscBool          refused;
  const HJRowReader *reader;
  HJMeasured         measured = {.is = PETSC_FALSE};
  PetscInt           pad;

  PetscFunctionBegin;
  *op = NULL;
  PetscCall(HJGridCreate(da, &grid));
  pad = HJOperatorPad(&grid, overlap, ops);
  if (overlap >= 0) PetscCall(HJOperatorCheckStale(comm, &grid, overlap, tile));
  PetscCall(HJOperatorChooseReader(A, ops, &reader));
  if (PetscMemTypeDevice(ops->mtype) && !HJOperatorCanBeOnDevice(grid.dof, overlap)) {
    PetscCall(PetscSNPrintf(why, len, "%" PetscInt_FMT " degrees of freedom at a point%s are for the host backend", grid.dof,
                            overlap < 0 ? "" : " with tiles"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (in_place) PetscCall(HJStencilCreateInPlace(A, da, &grid, pad, reader, is_box, measures ? &measured : NULL, &st, why, len));
  else PetscCall(HJStencilCreate(A, da, &grid, pad, reader, &st, why, len));
  if (!st) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJOperatorCreateFromStencil(da, &grid, st, overlap, tile, ops, halo_ops, op));
  (*op)->measured = measured;
  (*op)->measures = measures;
  if (overlap < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ops->check_tile((*op)->backend, tile, complaint, sizeof(complaint)));
  refused = (PetscBool)(complaint[0] != 0);
  PetscCall(HJOnAnyRank(comm, &refused)); /* ranks may have different devices */
  PetscCheck(!refused, comm, PETSC_ERR_ARG_OUTOFRANGE, "-pc_hjacobi_tile: %s", complaint[0] ? complaint : "too large on another rank");
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorCreate(Mat A, DM da, PetscInt overlap, const PetscInt tile[3], const HJBackendOps *ops, const HJHaloOps *halo_ops,
                                HJOperator **op, char why[], size_t len)
{
  PetscFunctionBegin;
  PetscCall(HJOperatorMake(A, da, overlap, tile, ops, halo_ops, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, op, why, len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorCreateInPlace(Mat A, DM da, const HJBackendOps *ops, const HJHaloOps *halo_ops, PetscBool is_box,
                                       PetscBool measures, HJOperator **op, char why[], size_t len)
{
  const PetscInt tile[3] = {0, 0, 0};

  PetscFunctionBegin;
  PetscCall(HJOperatorMake(A, da, PETSC_DECIDE, tile, ops, halo_ops, PETSC_TRUE, is_box, measures, op, why, len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJFramesDestroy(HJOperator *op)
{
  PetscFunctionBegin;
  while (op->frames) {
    HJFrames f = op->frames;

    op->frames = f->next;
    PetscCall(HJHaloDestroy(&f->halo));
    for (int i = 0; i < 2; i++) PetscCall(op->ops->free(op->backend, &f->buffer[i]));
    PetscCall(PetscFree(f));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values may ask for another kernel: plans follow its limits by themselves, frames are made anew where any rank's were cut for
   other limits. Collective */
static PetscErrorCode HJOperatorRenewLimits(HJOperator *op)
{
  const HJLimits old = op->limits;
  PetscBool      changed;

  PetscFunctionBegin;
  PetscCall(HJOperatorGetLimits(op));
  changed = (PetscBool)(old.ghosts != op->limits.ghosts || old.wraps != op->limits.wraps);
  for (int d = 0; d < 3; d++) changed = (PetscBool)(changed || old.slab[d] != op->limits.slab[d]);
  PetscCall(HJOnAnyRank(PetscObjectComm((PetscObject)op->da), &changed));
  if (changed) PetscCall(HJFramesDestroy(op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorRefresh(HJOperator *op, Mat A, PetscBool *kept)
{
  const HJRowReader *reader;

  PetscFunctionBegin;
  PetscCall(HJOperatorChooseReader(A, op->ops, &reader));
  if (op->slabs) PetscCall(op->slabs_ops->release(op->slabs)); /* arrays may go */
  PetscCall(HJStencilRefresh(op->stencil, A, op->da, &op->grid, reader, op->measures ? &op->measured : NULL, kept));
  if (!*kept) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(op->ops->refresh(op->backend, op->stencil));
  PetscCall(HJOperatorRenewLimits(op));
  if (op->slabs) PetscCall(op->slabs_ops->renew(op, &op->slabs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJOperatorDestroy(HJOperator **opp)
{
  HJOperator *op = *opp;

  PetscFunctionBegin;
  if (!op) PetscFunctionReturn(PETSC_SUCCESS);
  if (op->slabs) PetscCall(op->slabs_ops->destroy(&op->slabs));
  PetscCall(HJFramesDestroy(op));
  PetscCall(HJPlanesDestroy(&op->coarse));
  PetscCall(op->ops->free(op->backend, &op->work));
  PetscCall(op->ops->free(op->backend, &op->stage_x));
  PetscCall(op->ops->free(op->backend, &op->stage_b));
  if (op->ratios) PetscCall(op->ops->multigrid->unscratch(&op->ratios));
  PetscCall(op->ops->destroy(&op->backend));
  PetscCall(HJStencilDestroy(&op->stencil));
  PetscCall(DMDestroy(&op->da));
  PetscCall(PetscFree(*opp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Outermost layers whose rows are a diagonal alone: layer after layer, as long as all points of one are so. Surfaces alone are looked at.
*/
#include "hjknown.h"
#include "hjvectors.h"
#include "core/hjagree.h"
#include "core/hjmultigrid.h"

/* Fewer points than this are not left inside a direction */
#define HJ_KNOWN_LEAST 3

static HJBox HJKnownCut(HJBox box, const HJBox *by)
{
  for (int d = 0; d < 3; d++) {
    box.lo[d] = PetscMax(box.lo[d], by->lo[d]);
    box.hi[d] = PetscMax(PetscMin(box.hi[d], by->hi[d]), box.lo[d]);
  }
  return box;
}

/* The outermost layer of a side that is left, this rank's part of it */
static HJBox HJKnownFace(const HJGrid *grid, const HJKnown *known, int d, int side)
{
  HJBox face = known->domain;

  if (side) face.lo[d] = face.hi[d] - 1;
  else face.hi[d] = face.lo[d] + 1;
  return HJKnownCut(face, &grid->owned);
}

/* The outermost layers that are left: those that are known on this rank, or that it has no part of */
static PetscErrorCode HJKnownTryLayers(const HJArrayOps *ops, const HJGrid *grid, const HJCoefficients *c, const HJKnown *known,
                                       PetscMPIInt is[3][2])
{
  HJBox     layer[HJ_MAX_SIDES];
  PetscBool couple[HJ_MAX_SIDES];
  PetscInt  n = 0;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    for (int side = 0; side < 2; side++) {
      is[d][side] = d < grid->dim && !grid->periodic[d] && HJBoxWidth(&known->domain, d) > HJ_KNOWN_LEAST;
      if (is[d][side]) layer[n++] = HJKnownFace(grid, known, d, side);
    }
  }
  PetscCall((*ops->couples)(c, grid, n, layer, &grid->domain, PETSC_TRUE, couple));
  n = 0;
  for (int d = 0; d < 3; d++) {
    for (int side = 0; side < 2; side++)
      if (is[d][side]) is[d][side] = !couple[n++];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether rows at the ends of what is inside have entries in columns of known rows */
static PetscErrorCode HJKnownAreKept(const HJArrayOps *ops, const HJGrid *grid, const HJCoefficients *c, const HJKnown *known,
                                     PetscBool *kept)
{
  HJBox     face[HJ_MAX_SIDES];
  PetscBool couple[HJ_MAX_SIDES];
  PetscInt  n = 0;

  PetscFunctionBegin;
  for (int d = 0; d < grid->dim; d++) {
    for (int side = 0; side < 2; side++)
      if (known->layers[d][side]) face[n++] = HJKnownFace(grid, known, d, side);
  }
  PetscCall((*ops->couples)(c, grid, n, face, &known->domain, PETSC_FALSE, couple));
  *kept = PETSC_FALSE;
  for (PetscInt f = 0; f < n; f++) *kept = (PetscBool)(*kept || couple[f]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKnownFind(MPI_Comm comm, const HJArrayOps *ops, const HJGrid *grid, const HJCoefficients *c, HJKnown *known)
{
  PetscMPIInt is[3][2], answer[2];
  PetscBool   kept = PETSC_FALSE;
  PetscBool   more = (PetscBool)(c->storage != HJ_COEFFICIENTS_ROW); /* the same on all ranks */

  PetscFunctionBegin;
  PetscCall(PetscMemzero(known, sizeof(*known)));
  known->domain = grid->domain;
  while (more) {
    PetscCall(HJKnownTryLayers(ops, grid, c, known, is));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, is, 6, MPI_INT, MPI_MIN, comm));
    more = PETSC_FALSE;
    for (int d = 0; d < grid->dim; d++) {
      for (int side = 0; side < 2; side++) {
        if (!is[d][side] || HJBoxWidth(&known->domain, d) <= HJ_KNOWN_LEAST) continue;
        known->layers[d][side]++;
        if (side) known->domain.hi[d]--;
        else known->domain.lo[d]++;
        known->any = more = PETSC_TRUE;
      }
    }
  }
  known->inside = HJKnownCut(grid->owned, &known->domain);
  if (!known->any) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJKnownAreKept(ops, grid, c, known, &kept));
  answer[0] = HJBoxEmpty(&known->inside);
  answer[1] = kept;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, answer, 2, MPI_INT, MPI_MAX, comm));
  known->any  = (PetscBool)!answer[0];
  known->kept = (PetscBool)answer[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJKnownSame(const HJKnown *a, const HJKnown *b)
{
  for (int d = 0; d < 3; d++)
    if (a->layers[d][0] != b->layers[d][0] || a->layers[d][1] != b->layers[d][1]) return PETSC_FALSE;
  return (PetscBool)(a->any == b->any && a->kept == b->kept);
}

static PetscErrorCode HJKnownPointsList(const HJKnown *known, const HJBox *owned, HJKnownPoints *p)
{
  const size_t bytes = (size_t)(HJBoxSize(owned) - HJBoxSize(&known->inside)) * sizeof(*p->at);
  PetscCount   place = 0, *at;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(bytes / sizeof(*at), &at));
  for (PetscInt k = 0; k < owned->hi[2]; k++) {
    for (PetscInt j = 0; j < owned->hi[1]; j++) {
      for (PetscInt i = 0; i < owned->hi[0]; i++, place++)
        if (!HJPointInside(&known->inside, i, j, k)) at[p->n++] = place;
    }
  }
  PetscCall((*p->arrays->alloc)(bytes, &p->at));
  PetscCall((*p->arrays->copy)(p->at, at, bytes));
  PetscCall(PetscFree(at));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKnownPointsCreate(MPI_Comm comm, const HJKnown *known, const HJArrayOps *arrays, const HJBox *owned, VecType type,
                                   HJKnownPoints *p)
{
  PetscFunctionBegin;
  *p = (HJKnownPoints){.arrays = arrays};
  PetscCall(HJKnownPointsList(known, owned, p));
  PetscCall(VecCreate(comm, &p->inverse));
  PetscCall(VecSetSizes(p->inverse, (PetscInt)p->n, PETSC_DETERMINE));
  PetscCall(VecSetType(p->inverse, type));
  for (int i = 0; i < 2; i++) PetscCall(VecDuplicate(p->inverse, &p->value[i]));
  PetscCall((*arrays->answer_create)(&p->some));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKnownPointsDestroy(HJKnownPoints *p)
{
  PetscFunctionBegin;
  if (p->at) PetscCall((*p->arrays->free)(&p->at));
  if (p->some.yes) PetscCall((*p->arrays->answer_destroy)(&p->some));
  for (int i = 0; i < 2; i++)
    if (p->stage[i]) PetscCall((*p->arrays->free)(&p->stage[i]));
  PetscCall(VecDestroy(&p->inverse));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&p->value[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKnownPointsMove(HJKnownPoints *p, PetscBool out, Vec whole, Vec points)
{
  HJVecArray w, v;

  PetscFunctionBegin;
  PetscCall(HJVecOpen(p->arrays->backend, NULL, out ? HJ_READ_WRITE : HJ_READ, whole, &p->stage[0], &w));
  PetscCall(HJVecOpen(p->arrays->backend, NULL, out ? HJ_READ : HJ_WRITE, points, NULL, &v));
  if (out) PetscCall((*p->arrays->scatter)(p->n, p->at, v.used, w.used));
  else PetscCall((*p->arrays->gather)(p->n, p->at, w.used, v.used));
  PetscCall(HJVecClose(&v));
  PetscCall(HJVecClose(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKnownPointsInvert(HJKnownPoints *p, Mat A)
{
  Vec diagonal;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &diagonal));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(HJKnownPointsMove(p, PETSC_FALSE, diagonal, p->inverse));
  PetscCall(VecReciprocal(p->inverse));
  PetscCall(VecDestroy(&diagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKnownPointsAskZero(HJKnownPoints *p, Vec b, Vec x)
{
  HJVecArray ba, xa = {.used = NULL};

  PetscFunctionBegin;
  PetscCall(HJVecOpen(p->arrays->backend, NULL, HJ_READ, b, &p->stage[0], &ba));
  if (x) PetscCall(HJVecOpen(p->arrays->backend, NULL, HJ_READ, x, &p->stage[1], &xa));
  PetscCall((*p->arrays->ask_some)(p->n, p->at, ba.used, xa.used, &p->some));
  if (x) PetscCall(HJVecClose(&xa));
  PetscCall(HJVecClose(&ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKnownPointsAreZero(HJKnownPoints *p, PetscBool *zero)
{
  PetscBool some;

  PetscFunctionBegin;
  PetscCall((*p->arrays->answer_wait)(&p->some, &some));
  PetscCall(HJOnAnyRank(PetscObjectComm((PetscObject)p->inverse), &some));
  *zero = (PetscBool)!some;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJKnownPointsMix(HJKnownPoints *points, PetscScalar p, Vec b, PetscScalar q, Vec x, PetscScalar *other)
{
  HJVecArray ba, xa, d;

  PetscFunctionBegin;
  PetscCall(HJVecOpen(points->arrays->backend, NULL, HJ_READ, b, NULL, &ba));
  PetscCall(HJVecOpen(points->arrays->backend, NULL, HJ_READ_WRITE, x, NULL, &xa));
  PetscCall(HJVecOpen(points->arrays->backend, NULL, HJ_READ, points->inverse, NULL, &d));
  PetscCall((*points->arrays->mix_at)(points->n, points->at, p, d.used, ba.used, q, xa.used, xa.used));
  if (other) PetscCall((*points->arrays->mix_at)(points->n, points->at, 0.0, NULL, NULL, 1.0, xa.used, other));
  PetscCall(HJVecClose(&d));
  PetscCall(HJVecClose(&xa));
  PetscCall(HJVecClose(&ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HJBox HJKnownLies(const HJKnown *known, const HJGrid *grid)
{
  HJBox lies;

  for (int d = 0; d < 3; d++) {
    lies.lo[d] = -known->layers[d][0];
    lies.hi[d] = grid->N[d] - known->layers[d][0];
  }
  return lies;
}

PetscErrorCode HJKnownCreateDM(const HJKnown *known, DM da, DM *inner)
{
  PetscInt        N[3], nranks[3], *widths[3];
  DMDAStencilType type;
  HJCut           cut[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetStencilType(da, &type));
  PetscCall(HJGridGetCuts(da, cut));
  for (int d = 0; d < 3; d++) {
    const PetscInt *layers = known->layers[d];

    nranks[d] = cut[d].nranks;
    N[d]      = cut[d].N - layers[0] - layers[1];
    PetscCall(PetscMalloc1(nranks[d], &widths[d]));
    PetscCall(PetscArraycpy(widths[d], cut[d].widths, nranks[d]));
    widths[d][0] -= layers[0]; /* each rank has points inside */
    widths[d][nranks[d] - 1] -= layers[1];
  }
  PetscCall(HJGridCreateDM(PetscObjectComm((PetscObject)da), da, N, nranks, (const PetscInt *const *)widths, type, 1, inner));
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(widths[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

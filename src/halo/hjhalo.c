/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Ghost points into frames. Decides which owned entry feeds which place of the frame buffer, as a PetscSF, and carries it with PetscSF;
   how deep and where the frames lie is the plan's.
*/
#include "hjhalo.h"

/* Which rank of a direction has a point, and as which of its own; the point is given in local coordinates, and is in the domain */
static PetscInt HJHaloOwner(const HJCut *cut, PetscInt i, PetscInt *at)
{
  PetscInt rank = 0;

  *at = i + cut->start;
  if (cut->boundary == DM_BOUNDARY_PERIODIC) *at = (*at % cut->N + cut->N) % cut->N;
  while (rank < cut->nranks - 1 && *at >= cut->widths[rank]) *at -= cut->widths[rank++];
  return rank;
}

/* Points in the domain at most so deep around the rank's own, in local coordinates */
static void HJHaloReach(PetscInt dim, const HJCut cut[3], PetscInt depth, HJBox *reach)
{
  for (int d = 0; d < 3; d++) {
    const PetscBool periodic = (PetscBool)(cut[d].boundary == DM_BOUNDARY_PERIODIC);
    const PetscInt  deep     = d < dim ? depth : 0;

    reach->lo[d] = periodic ? -deep : PetscMax(-deep, -cut[d].start);
    reach->hi[d] = periodic ? cut[d].n + deep : PetscMin(cut[d].n + deep, cut[d].N - cut[d].start);
  }
}

/* A box of leaves: places in the frame buffer, and whose points they are. Ranks of a DMDA are numbered x fastest */
static void HJHaloLeaves(const HJCut cut[3], const HJBox *in, const HJBox *box, PetscCount offset, PetscInt place[], PetscSFNode remote[])
{
  PetscInt n = 0;

  for (PetscInt k = in->lo[2]; k < in->hi[2]; k++) {
    for (PetscInt j = in->lo[1]; j < in->hi[1]; j++) {
      PetscInt       aj, ak;
      const PetscInt rj = HJHaloOwner(&cut[1], j, &aj), rk = HJHaloOwner(&cut[2], k, &ak);

      for (PetscInt i = in->lo[0]; i < in->hi[0]; i++, n++) {
        PetscInt       ai;
        const PetscInt ri = HJHaloOwner(&cut[0], i, &ai);

        place[n]        = (PetscInt)(offset + HJBoxIndex(box, i, j, k));
        remote[n].rank  = ri + cut[0].nranks * (rj + cut[1].nranks * rk);
        remote[n].index = ai + cut[0].widths[ri] * (aj + cut[1].widths[rj] * ak);
      }
    }
  }
}

/* By arithmetic: a DMDA with so many ghosts would take seconds to set up where grids are large */
static PetscErrorCode HJHaloPattern(DM da, const HJGrid *grid, PetscInt depth, PetscInt nboxes, const HJBox boxes[],
                                    const PetscCount offsets[], PetscSF *pattern)
{
  HJCut        cut[3];
  HJBox        reach, *in;
  PetscInt     nleaves = 0, n = 0, *place;
  PetscSFNode *remote;

  PetscFunctionBegin;
  PetscCall(HJGridGetCuts(da, cut));
  HJHaloReach(grid->dim, cut, depth, &reach);
  PetscCall(PetscMalloc1(nboxes, &in));
  for (PetscInt r = 0; r < nboxes; r++) {
    in[r] = boxes[r];
    for (int d = 0; d < 3; d++) {
      in[r].lo[d] = PetscMax(in[r].lo[d], reach.lo[d]);
      in[r].hi[d] = PetscMin(in[r].hi[d], reach.hi[d]);
    }
    if (!HJBoxEmpty(&in[r])) nleaves += (PetscInt)HJBoxSize(&in[r]);
  }
  PetscCall(PetscMalloc1(nleaves, &place));
  PetscCall(PetscMalloc1(nleaves, &remote));
  for (PetscInt r = 0; r < nboxes; r++) {
    if (HJBoxEmpty(&in[r])) continue;
    HJHaloLeaves(cut, &in[r], &boxes[r], offsets[r], place + n, remote + n);
    n += (PetscInt)HJBoxSize(&in[r]);
  }
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)da), pattern));
  PetscCall(PetscSFSetGraph(*pattern, (PetscInt)HJBoxSize(&grid->owned), nleaves, place, PETSC_OWN_POINTER, remote, PETSC_OWN_POINTER));
  PetscCall(PetscSFSetUp(*pattern));
  PetscCall(PetscFree(in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What this rank receives, as runs; false: too many */
static PetscErrorCode HJHaloReceiveRuns(HJHalo halo, PetscBool *few_runs)
{
  HJSFCount          nranks;
  const PetscMPIInt *rank;
  const PetscInt    *offset, *place, *entry;

  PetscFunctionBegin;
  *few_runs = PETSC_TRUE;
  PetscCall(PetscSFGetRootRanks(halo->pattern, &nranks, &rank, &offset, &place, &entry));
  for (PetscInt r = 0; r < nranks; r++) {
    for (PetscInt i = offset[r]; i < offset[r + 1]; i++) {
      HJHaloRun *last = halo->nrecv ? &halo->recv[halo->nrecv - 1] : NULL;

      if (last && i > offset[r] && place[i] == last->to + last->n && entry[i] == last->from + last->n) {
        last->n++;
      } else if (halo->nrecv < HJ_HALO_MAX_RUNS) {
        halo->recv[halo->nrecv++] = (HJHaloRun){rank[r], entry[i], place[i], 1};
      } else {
        *few_runs = PETSC_FALSE;
        PetscFunctionReturn(PETSC_SUCCESS);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who receives tells who sends. Messages have HJ_HALO_MAX_RUNS runs of three numbers, n = 0 where there are fewer */
static PetscErrorCode HJHaloSendRuns(HJHalo halo, PetscBool *few_runs)
{
  enum { LEN = 3 * HJ_HALO_MAX_RUNS };
  HJSFCount          nout, nin;
  const PetscMPIInt *out, *in;
  const PetscInt    *unused[3];
  PetscInt64        *said, *heard;
  MPI_Request       *request;
  PetscMPIInt        tag;

  PetscFunctionBegin;
  *few_runs = PETSC_TRUE;
  PetscCall(PetscSFGetRootRanks(halo->pattern, &nout, &out, &unused[0], &unused[1], &unused[2]));
  PetscCall(PetscSFGetLeafRanks(halo->pattern, &nin, &in, &unused[0], &unused[1]));
  PetscCall(PetscObjectGetNewTag((PetscObject)halo->pattern, &tag));
  PetscCall(PetscCalloc3(nout * LEN, &said, nin * LEN, &heard, nout + nin, &request));
  for (PetscInt r = 0; r < nin; r++) PetscCallMPI(MPI_Irecv(heard + r * LEN, LEN, MPIU_INT64, in[r], tag, halo->comm, &request[r]));
  for (PetscInt r = 0; r < nout; r++) {
    PetscInt64 *to = said + r * LEN;

    for (PetscInt i = 0; i < halo->nrecv; i++) {
      if (halo->recv[i].rank != out[r]) continue;
      *to++ = halo->recv[i].from;
      *to++ = halo->recv[i].to;
      *to++ = halo->recv[i].n;
    }
    PetscCallMPI(MPI_Isend(said + r * LEN, LEN, MPIU_INT64, out[r], tag, halo->comm, &request[nin + r]));
  }
  PetscCallMPI(MPI_Waitall((PetscMPIInt)(nin + nout), request, MPI_STATUSES_IGNORE));
  for (PetscInt i = 0; i < nin * HJ_HALO_MAX_RUNS; i++) {
    const PetscInt64 *run = heard + 3 * i;

    if (!run[2]) continue;
    if (halo->nsend < HJ_HALO_MAX_RUNS) halo->send[halo->nsend++] = (HJHaloRun){in[i / HJ_HALO_MAX_RUNS], run[0], run[1], run[2]};
    else *few_runs = PETSC_FALSE;
  }
  PetscCall(PetscFree3(said, heard, request));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHaloFindRuns(HJHalo halo)
{
  PetscBool few_runs[2];

  PetscFunctionBegin;
  PetscCall(HJHaloReceiveRuns(halo, &few_runs[0]));
  PetscCall(HJHaloSendRuns(halo, &few_runs[1]));
  halo->direct = (PetscBool)(few_runs[0] && few_runs[1]);
  PetscCall(HJOnAllRanks(halo->comm, &halo->direct));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All ranks raise the error that one of them sees: the others would wait for it */
static PetscErrorCode HJHaloCheckSize(MPI_Comm comm, PetscCount size)
{
  PetscBool large = (PetscBool)(size > PETSC_INT_MAX);

  PetscFunctionBegin;
  PetscCall(HJOnAnyRank(comm, &large));
  PetscCheck(!large, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "Halo buffer of more than %" PetscInt_FMT " numbers on a rank: use more ranks or a PETSc with 64-bit indices",
             (PetscInt)PETSC_INT_MAX);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs are found in points, and kept in numbers */
static void HJHaloCountNumbers(PetscInt dof, PetscInt n, HJHaloRun run[])
{
  for (PetscInt i = 0; i < n; i++) {
    run[i].from *= dof;
    run[i].to *= dof;
    run[i].n *= dof;
  }
}

/* From a pattern of points of so many numbers that is set up, and is the halo's from now on, and the places of its buffer */
static PetscErrorCode HJHaloFinish(MPI_Comm comm, PetscSF pattern, PetscCount size, PetscInt dof, const HJHaloOps *ops, HJHalo *halo)
{
  const MPI_Datatype number = ops->single ? MPI_FLOAT : MPIU_SCALAR;

  PetscFunctionBegin;
  PetscCall(PetscNew(halo));
  (*halo)->ops     = ops;
  (*halo)->comm    = comm;
  (*halo)->dof     = dof;
  (*halo)->size    = dof * size;
  (*halo)->unit    = number;
  (*halo)->pattern = pattern;
  if (dof > 1) {
    PetscCallMPI(MPI_Type_contiguous((PetscMPIInt)dof, number, &(*halo)->unit));
    PetscCallMPI(MPI_Type_commit(&(*halo)->unit));
  }
  PetscCall(HJHaloFindRuns(*halo));
  HJHaloCountNumbers(dof, (*halo)->nsend, (*halo)->send);
  HJHaloCountNumbers(dof, (*halo)->nrecv, (*halo)->recv);
  if (ops->create) PetscCall(ops->create(*halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHaloCreate(DM da, const HJGrid *grid, PetscInt depth, PetscInt nboxes, const HJBox boxes[], const PetscCount offsets[],
                            const HJHaloOps *ops, HJHalo *halo)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)da);
  PetscCount     size = 0;
  PetscSF        pattern;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < nboxes; r++) size = PetscMax(size, offsets[r] + HJBoxSize(&boxes[r]));
  PetscCall(HJHaloCheckSize(comm, grid->dof * size));
  PetscCall(HJHaloPattern(da, grid, depth, nboxes, boxes, offsets, &pattern));
  PetscCall(HJHaloFinish(comm, pattern, size, grid->dof, ops, halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHaloCreateFromSF(MPI_Comm comm, PetscSF sf, PetscInt leaves, const HJHaloOps *ops, HJHalo *halo)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)sf));
  PetscCall(HJHaloFinish(comm, sf, leaves, 1, ops, halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHaloBegin(HJHalo halo, PetscMemType mtype, const PetscScalar *const from[2], PetscScalar *frame[2])
{
  PetscFunctionBegin;
  PetscCall(halo->ops->begin(halo, mtype, from, frame));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHaloEnd(HJHalo halo, PetscMemType mtype, const PetscScalar *const from[2], PetscScalar *frame[2])
{
  PetscFunctionBegin;
  PetscCall(halo->ops->end(halo, mtype, from, frame));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJHaloDestroy(HJHalo *halo)
{
  PetscFunctionBegin;
  if (!*halo) PetscFunctionReturn(PETSC_SUCCESS);
  if ((*halo)->ops->destroy) PetscCall((*halo)->ops->destroy(*halo));
  PetscCall(PetscSFDestroy(&(*halo)->pattern));
  if ((*halo)->dof > 1) PetscCallMPI(MPI_Type_free(&(*halo)->unit));
  PetscCall(PetscFree(*halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHaloBegin_PetscSF(HJHalo halo, PetscMemType mtype, const PetscScalar *const from[2], PetscScalar *frame[2])
{
  PetscFunctionBegin;
  PetscCheck(PetscMemTypeHost(mtype) || PetscDefined(HAVE_CUDA), halo->comm, PETSC_ERR_SUP,
             "Exchange petscsf: this PETSc was built without CUDA and does not reach GPU memory; use -pc_hjacobi_backend host");
  for (int i = 0; i < 2; i++)
    if (from[i]) PetscCall(PetscSFBcastWithMemTypeBegin(halo->pattern, halo->unit, mtype, from[i], mtype, frame[i], MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJHaloEnd_PetscSF(HJHalo halo, PetscMemType mtype, const PetscScalar *const from[2], PetscScalar *frame[2])
{
  PetscFunctionBegin;
  for (int i = 0; i < 2; i++)
    if (from[i]) PetscCall(PetscSFBcastEnd(halo->pattern, halo->unit, from[i], frame[i], MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const HJHaloOps HJHaloPetscSF       = {.name = "petscsf", .begin = HJHaloBegin_PetscSF, .end = HJHaloEnd_PetscSF};
const HJHaloOps HJHaloPetscSFSingle = {.name = "petscsf", .begin = HJHaloBegin_PetscSF, .end = HJHaloEnd_PetscSF, .single = PETSC_TRUE};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Coarse levels on fewer ranks. Decides from which level on, and on how many: the last level of a PC is then handed to a PCHJMG on a part
   of the ranks, which makes the levels from there down and may do the same again. Moves vectors and coefficients by PetscSF.
*/
#include "hjmg.h"

/*
   A level costs each rank about five messages in a cycle, before and after its sweeps and transfers. On a CPU they take some 20
   microseconds, in which a core does all that a cycle does with 1000 points; then twice the ranks would save half of what 4096 points
   cost. Between GPUs they take some 30 microseconds, as long as the sweeps over 150,000 points; 300,000 were 1% slower in 2D (H200). In 3D
   a grid of 65^3 on two H100s takes 4% of a cycle from 257^3 more than on one, and 65 x 65 x 129 2% of one from 257 x 257 x 513 less.
*/
#define HJ_MG_RANK_POINTS_HOST   4096
#define HJ_MG_RANK_POINTS_DEVICE 150000

struct _n_HJMGGather {
  PetscInt            nranks[3], levels; /* of the PC on fewer ranks; known on all */
  MPI_Comm            comm;              /* of the ranks that have points; the others are in another one, without use */
  PetscBool           member;
  PetscSF             sf;       /* from this rank's points of the level (roots) to those that it has below (leaves) */
  HJMove              down, up; /* of vectors, there and back */
  const HJBackendOps *ops;
  PetscScalar        *stage[2]; /* of vectors of the level, and of those below, that lie elsewhere than its operator; NULL: none has come */
  DM                  da;       /* NULL where this rank has no points below, as are all that follow */
  Mat                 A;        /* the matrix of the level */
  PC                  pc;       /* its cycle, which starts from zero */
  Vec                 b, x;
};

/* Cuts of a direction into fewer ranks: the first of the many that one of the few stands for */
static PetscInt HJMGGatherFirst(PetscInt target, PetscInt ntarget, PetscInt nsource)
{
  return (PetscInt)((PetscInt64)target * nsource / ntarget);
}

static void HJMGGatherHalve(const PetscInt N[3], PetscInt nranks[3])
{
  int thinnest = 0;

  for (int d = 1; d < 3; d++) {
    const PetscReal width = (PetscReal)N[d] / nranks[d], best = (PetscReal)N[thinnest] / nranks[thinnest];

    if (nranks[d] > 1 && (nranks[thinnest] == 1 || width < best)) thinnest = d;
  }
  nranks[thinnest] = (nranks[thinnest] + 1) / 2;
}

PetscErrorCode HJMGGatherChoose(const PC_HJMG *mg, PetscBool coarsest, PetscInt nranks[3], PetscBool *gather)
{
  const HJMGLevel *last   = &mg->level[mg->nlevels - 1];
  const HJGrid    *grid   = &last->op->grid;
  const PetscReal  least  = mg->rank_points != PETSC_DECIDE          ? (PetscReal)mg->rank_points
                            : PetscMemTypeHost(last->op->ops->mtype) ? HJ_MG_RANK_POINTS_HOST
                                                                     : HJ_MG_RANK_POINTS_DEVICE;
  const PetscReal  points = (PetscReal)grid->N[0] * grid->N[1] * grid->N[2];
  PetscInt         size;

  PetscFunctionBegin;
  PetscCall(HJGridGetRanks(last->da, nranks));
  size    = nranks[0] * nranks[1] * nranks[2];
  *gather = (PetscBool)(size > 1 &&
                        (coarsest ? grid->min_width < 2 || HJMGSuitsInverse(mg, HJ_DENSE_MAX) : mg->nlevels > 1 && points < least * size));
  if (!*gather) PetscFunctionReturn(PETSC_SUCCESS);
  HJMGGatherHalve(grid->N, nranks);
  /* so far that the next coarser grid does not ask for the same again */
  while (nranks[0] * nranks[1] * nranks[2] > 1 && points < (1 << grid->dim) * least * (nranks[0] * nranks[1] * nranks[2]))
    HJMGGatherHalve(grid->N, nranks);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both cuts of a direction into ranks */
typedef struct {
  PetscInt nsource, ntarget, *source, *target; /* ranks, and the widths of each */
} HJMGCut;

static PetscErrorCode HJMGGatherCut(DM da, const PetscInt ntarget[3], HJMGCut cut[3])
{
  HJCut source[3];

  PetscFunctionBegin;
  PetscCall(HJGridGetCuts(da, source));
  for (int d = 0; d < 3; d++) {
    const PetscInt nsource = source[d].nranks;

    cut[d].nsource = nsource;
    cut[d].ntarget = ntarget[d];
    PetscCall(PetscCalloc2(nsource, &cut[d].source, ntarget[d], &cut[d].target));
    for (PetscInt f = 0; f < ntarget[d]; f++) {
      for (PetscInt m = HJMGGatherFirst(f, ntarget[d], nsource); m < HJMGGatherFirst(f + 1, ntarget[d], nsource); m++) {
        cut[d].source[m] = source[d].widths[m];
        cut[d].target[f] += cut[d].source[m];
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which of the few ranks this one is, by direction; false: none. Ranks of a DMDA are numbered x fastest */
static PetscBool HJMGGatherIsMember(PetscMPIInt rank, const HJMGCut cut[3], PetscInt target[3])
{
  const PetscInt at[3]  = {rank % cut[0].nsource, rank / cut[0].nsource % cut[1].nsource, rank / cut[0].nsource / cut[1].nsource};
  PetscBool      member = PETSC_TRUE;

  for (int d = 0; d < 3; d++) {
    target[d] = 0;
    while (HJMGGatherFirst(target[d], cut[d].ntarget, cut[d].nsource) < at[d]) target[d]++;
    member = (PetscBool)(member && HJMGGatherFirst(target[d], cut[d].ntarget, cut[d].nsource) == at[d]);
  }
  return member;
}

/* For each point of one of the few ranks in a direction: which of the many has it, as which of its points */
static PetscErrorCode HJMGGatherOwners(const HJMGCut *cut, PetscInt target, PetscInt *owner[], PetscInt *place[])
{
  const PetscInt end = HJMGGatherFirst(target + 1, cut->ntarget, cut->nsource);
  PetscInt       n   = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(cut->target[target], owner, cut->target[target], place));
  for (PetscInt m = HJMGGatherFirst(target, cut->ntarget, cut->nsource); m < end; m++) {
    for (PetscInt i = 0; i < cut->source[m]; i++, n++) {
      (*owner)[n] = m;
      (*place)[n] = i;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGGatherMoves(HJMGGather g, const HJMGLevel *level, PetscInt nroots, PetscInt nleaves)
{
  const HJExchange exchange = {level->op->halo_ops, level->op->exchange_timeout};
  MPI_Comm         comm     = PetscObjectComm((PetscObject)level->da);
  PetscSF          back;

  PetscFunctionBegin;
  g->ops = level->op->ops;
  PetscCall(HJMoveCreate(comm, g->sf, nleaves, g->ops, exchange, &g->down));
  PetscCall(PetscSFCreateInverseSF(g->sf, &back));
  PetscCall(PetscSFSetUp(back));
  PetscCall(HJMoveCreate(comm, back, nroots, g->ops, exchange, &g->up));
  PetscCall(PetscSFDestroy(&back));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGGatherGraph(HJMGGather g, const HJMGLevel *level, const HJMGCut cut[3], const PetscInt target[3])
{
  PetscInt     nroots = (PetscInt)HJBoxSize(&level->op->grid.owned), nleaves = 0, n = 0, *owner[3], *place[3];
  PetscSFNode *remote;

  PetscFunctionBegin;
  if (g->member) {
    nleaves = cut[0].target[target[0]] * cut[1].target[target[1]] * cut[2].target[target[2]];
    for (int d = 0; d < 3; d++) PetscCall(HJMGGatherOwners(&cut[d], target[d], &owner[d], &place[d]));
  }
  PetscCall(PetscMalloc1(nleaves, &remote));
  for (PetscInt k = 0; k < cut[2].target[target[2]] && g->member; k++) {
    for (PetscInt j = 0; j < cut[1].target[target[1]]; j++) {
      for (PetscInt i = 0; i < cut[0].target[target[0]]; i++, n++) {
        const PetscInt o[3] = {owner[0][i], owner[1][j], owner[2][k]};

        remote[n].rank  = o[0] + cut[0].nsource * (o[1] + cut[1].nsource * o[2]);
        remote[n].index = place[0][i] + cut[0].source[o[0]] * (place[1][j] + cut[1].source[o[1]] * place[2][k]);
      }
    }
  }
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)level->da), &g->sf));
  PetscCall(PetscSFSetGraph(g->sf, nroots, nleaves, NULL, PETSC_OWN_POINTER, remote, PETSC_OWN_POINTER));
  PetscCall(PetscSFSetUp(g->sf));
  for (int d = 0; d < 3 && g->member; d++) PetscCall(PetscFree2(owner[d], place[d]));
  PetscCall(HJMGGatherMoves(g, level, nroots, nleaves));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The grid of the level on the few ranks; box: its matrix has that shape */
static PetscErrorCode HJMGGatherCreateDM(HJMGGather g, DM like, const HJMGCut cut[3], PetscBool box)
{
  const PetscInt *const widths[3] = {cut[0].target, cut[1].target, cut[2].target};
  HJCut                 all[3];
  PetscInt              N[3];
  VecType               vectype;

  PetscFunctionBegin;
  PetscCall(HJGridGetCuts(like, all));
  for (int d = 0; d < 3; d++) N[d] = all[d].N;
  PetscCall(HJGridCreateDM(g->comm, like, N, g->nranks, widths, box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, 1, &g->da));
  PetscCall(DMGetVecType(like, &vectype));
  PetscCall(HJMGSetUpDM(like, vectype, g->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGGatherCreateMat(HJMGGather g)
{
  HJCut    cut[3];
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(HJGridGetCuts(g->da, cut));
  n = cut[0].n * cut[1].n * cut[2].n;
  PetscCall(MatCreate(g->comm, &g->A));
  PetscCall(MatSetSizes(g->A, n, n, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(g->A, MATHJSTENCIL));
  PetscCall(MatSetDM(g->A, g->da));
  PetscCall(MatSetUp(g->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The level's coefficients in the memory where it lies, if these are arrays, else on the host */
static PetscErrorCode HJMGGatherGetCoefficients(Mat A, const HJCoefficients **a)
{
  const HJArrayOps *ops;

  PetscFunctionBegin;
  PetscCall(HJCoefficientsHome(A, &ops, a));
  if ((*a)->storage != HJ_COEFFICIENTS_ARRAYS && ops != &HJArraysHost) PetscCall(HJCoefficientsIn(A, PETSC_MEMTYPE_HOST, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One row on all ranks is one there */
static PetscErrorCode HJMGGatherRow(HJMGGather g, const HJCoefficients *a)
{
  MatStencil offsets[HJ_MAX_SLOTS];

  PetscFunctionBegin;
  if (!g->member) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt s = 0; s < a->nslots; s++) {
    PetscInt off[3];

    HJSlotOffset(a, s, off);
    offsets[s] = (MatStencil){.i = off[0], .j = off[1], .k = off[2], .c = 0};
  }
  PetscCall(MatHJStencilSetRow(g->A, a->nslots, offsets, a->rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficients of a slot; work: of the points of this rank, on the host */
static PetscErrorCode HJMGGatherSlot(HJMGGather g, const HJCoefficients *a, PetscInt slot, PetscScalar *work)
{
  const PetscBool    arrays = (PetscBool)(a->storage == HJ_COEFFICIENTS_ARRAYS);
  const PetscScalar *root   = arrays ? a->value + HJSlotBegin(a, slot) : work;
  const PetscMemType mroot  = arrays ? a->mtype : PETSC_MEMTYPE_HOST;
  PetscMemType       mleaf  = mroot;
  PetscScalar       *leaf   = NULL;
  PetscInt           off[3];

  PetscFunctionBegin;
  HJSlotOffset(a, slot, off);
  for (PetscCount p = 0; p < a->npoints && !arrays; p++) work[p] = HJCoefficientAt(a, slot, p);
  if (g->member) PetscCall(MatHJStencilGetArrayAndMemType(g->A, off[0], off[1], off[2], &leaf, &mleaf));
  PetscCall(PetscSFBcastWithMemTypeBegin(g->sf, MPIU_SCALAR, mroot, root, mleaf, leaf, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(g->sf, MPIU_SCALAR, root, leaf, MPI_REPLACE));
  if (g->member) PetscCall(MatHJStencilRestoreArrayAndMemType(g->A, off[0], off[1], off[2], &leaf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGGatherRefresh(PC pc)
{
  PC_HJMG              *mg    = (PC_HJMG *)pc->data;
  HJMGLevel            *level = &mg->level[mg->nlevels - 1];
  HJMGGather            g     = mg->gather;
  const HJCoefficients *a;
  PetscScalar          *work;

  PetscFunctionBegin;
  if (!g) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGGatherGetCoefficients(level->A, &a));
  if (a->storage == HJ_COEFFICIENTS_ROW) PetscCall(HJMGGatherRow(g, a));
  else {
    PetscCall(PetscMalloc1(a->npoints, &work));
    for (PetscInt s = 0; s < a->nslots; s++) PetscCall(HJMGGatherSlot(g, a, s, work));
    PetscCall(PetscFree(work));
    if (g->member) {
      PetscCall(MatAssemblyBegin(g->A, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(g->A, MAT_FINAL_ASSEMBLY));
    }
  }
  if (g->member) PetscCall(HJMGPassSymmetry(level, g->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGGatherCreate(PC pc, const PetscInt nranks[3])
{
  PC_HJMG              *mg    = (PC_HJMG *)pc->data;
  HJMGLevel            *level = &mg->level[mg->nlevels - 1];
  MPI_Comm              comm  = PetscObjectComm((PetscObject)level->da);
  HJMGGather            g;
  HJMGCut               cut[3];
  const HJCoefficients *a;
  PetscInt              target[3];
  PetscMPIInt           rank;
  const char           *prefix;

  PetscFunctionBegin;
  PetscCall(PetscNew(&mg->gather));
  g = mg->gather;
  PetscCall(PetscArraycpy(g->nranks, nranks, 3));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(HJMGGatherCut(level->da, nranks, cut));
  g->member = HJMGGatherIsMember(rank, cut, target);
  PetscCallMPI(MPI_Comm_split(comm, g->member ? 0 : 1, rank, &g->comm));
  PetscCall(HJMGGatherGraph(g, level, cut, target));
  PetscCall(HJMGGatherGetCoefficients(level->A, &a));
  if (g->member) {
    PetscCall(HJMGGatherCreateDM(g, level->da, cut, (PetscBool)(a->shape == HJ_BOX)));
    PetscCall(HJMGGatherCreateMat(g));
    PetscCall(MatCreateVecs(g->A, &g->x, &g->b));
    PetscCall(PCCreate(g->comm, &g->pc));
    PetscCall(PCGetOptionsPrefix(pc, &prefix));
    PetscCall(PCSetOptionsPrefix(g->pc, prefix));
    PetscCall(PCSetType(g->pc, PCHJMG));
  }
  for (int d = 0; d < 3; d++) PetscCall(PetscFree2(cut[d].source, cut[d].target));
  PetscCall(HJMGGatherRefresh(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The options of the PC, but for the number of levels that it has made already, and what it has found of the finest matrix */
static PetscErrorCode HJMGGatherPassOptions(const PC_HJMG *from, PC_HJMG *to)
{
  PetscFunctionBegin;
  PetscCall(PetscMemcpy(to, from, offsetof(PC_HJMG, changed)));
  if (from->max_levels != PETSC_DECIDE) to->max_levels = PetscMax(from->max_levels - from->nlevels + 1, 1);
  to->base            = from->base + from->nlevels - 1;
  to->inexact         = (PetscBool)!HJMGIsOfFinest(from, &from->level[from->nlevels - 1]);
  to->finest          = from->finest;
  to->uneven          = from->uneven;
  to->rounding        = HJMGRoundingSum(from);
  to->stars           = from->stars;
  to->one_sided       = from->one_sided;
  to->on_fewer_ranks  = PETSC_TRUE;
  to->converted_above = HJMGIsCopied(from);
  to->operators       = from->operators;
  to->definite        = from->definite;
  to->slant           = from->slant;
  to->small_identity  = from->small_identity;
  to->changed         = PetscMax(to->changed, from->changed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGGatherSetUp(PC pc)
{
  PC_HJMG       *mg = (PC_HJMG *)pc->data;
  HJMGGather     g  = mg->gather;
  MatNullSpace   null;
  PetscErrorCode code      = PETSC_SUCCESS;
  PCFailedReason failed    = PC_NOERROR;
  int            answer[3] = {0, 0, 0}; /* error, levels, whether it failed */

  PetscFunctionBegin;
  if (g->member) {
    PetscCall(HJMGGatherPassOptions(mg, (PC_HJMG *)g->pc->data));
    if (mg->constants) {
      PetscCall(MatNullSpaceCreate(g->comm, PETSC_TRUE, 0, NULL, &null));
      PetscCall(MatSetNullSpace(g->A, null));
      PetscCall(MatNullSpaceDestroy(&null));
    } else PetscCall(MatSetNullSpace(g->A, NULL));
    PetscCall(PCSetOperators(g->pc, g->A, g->A));
    g->pc->setupcalled = PETSC_FALSE;
    code               = PCSetUp(g->pc);
    if (!code) g->levels = HJMGCountLevels((const PC_HJMG *)g->pc->data);
    if (!code) PetscCall(PCGetFailedReason(g->pc, &failed));
    answer[0] = (int)code;
    answer[1] = (int)g->levels;
    answer[2] = failed != PC_NOERROR;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, answer, 3, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)pc)));
  PetscCall(code);
  PetscCheck(!answer[0], PETSC_COMM_SELF, (PetscErrorCode)answer[0], "Set-up of the coarse levels failed on the ranks that have them");
  g->levels = answer[1];
  if (answer[2]) { /* the first rank has some of these levels */
    if (g->member) mg->failure = ((const PC_HJMG *)g->pc->data)->failure;
    PetscCallMPI(MPI_Bcast(mg->failure.words, sizeof(mg->failure.words), MPI_CHAR, 0, PetscObjectComm((PetscObject)pc)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector of the level to that of the ranks below, NULL where this is none of them, and back */
static PetscErrorCode HJMGGatherMove(HJMGGather g, PetscBool down, Vec v, Vec w)
{
  HJVecArray from, to;

  PetscFunctionBegin;
  PetscCall(HJVecOpen(g->ops, NULL, HJ_READ, v, &g->stage[!down], &from));
  PetscCall(HJVecOpen(g->ops, NULL, HJ_WRITE, w, &g->stage[down], &to));
  PetscCall(HJMoveRun(down ? g->down : g->up, from.used, to.used));
  PetscCall(HJVecClose(&to));
  PetscCall(HJVecClose(&from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGGatherApply(HJMGGather g, HJMGKind kind, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(HJMGGatherMove(g, PETSC_TRUE, b, g->b));
  if (g->member && kind == HJ_MG_TRANSPOSED) PetscCall((*g->pc->ops->applytranspose)(g->pc, g->b, g->x));
  else if (g->member) PetscCall((*((PC_HJMG *)g->pc->data)->run)(g->pc, kind, PETSC_FALSE, g->b, g->x));
  PetscCall(HJMGGatherMove(g, PETSC_FALSE, g->x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGGatherSolve(HJMGGather g, KSP ksp, Vec b, Vec x, PetscInt its, PetscBool zero, PetscInt *it)
{
  PetscFunctionBegin;
  PetscCall(HJMGGatherMove(g, PETSC_TRUE, b, g->b));
  if (!zero) PetscCall(HJMGGatherMove(g, PETSC_TRUE, x, g->x));
  if (g->member) PetscCall((*((PC_HJMG *)g->pc->data)->solve)(g->pc, ksp, &(const HJIterates){NULL}, g->b, g->x, its, zero, NULL, it));
  else {
    for (*it = 0;; ++*it) {
      PetscCall(HJMGTestResidual(NULL, ksp, *it, NULL, NULL, NULL));
      if (ksp->reason || *it == its) break;
    }
  }
  PetscCall(HJMGGatherMove(g, PETSC_FALSE, g->x, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where some ranks replayed a cycle that others launch, each would wait for what the other one does at another time */
PetscErrorCode HJMGGatherNotRecorded(const HJMGGather g, MPI_Comm comm, const char **why)
{
  const char *below = g->member ? ((const PC_HJMG *)g->pc->data)->not_recorded : NULL;
  PetscBool   any   = (PetscBool)(below != NULL);

  PetscFunctionBegin;
  PetscCall(HJOnAnyRank(comm, &any));
  *why = below ? below : any ? "those of the levels on fewer ranks are not" : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt HJMGCountLevels(const PC_HJMG *mg)
{
  return mg->nlevels + (mg->gather ? mg->gather->levels - 1 : 0);
}

PetscErrorCode HJMGGatherGetBelow(const HJMGGather g, const PC_HJMG **below, PetscReal *bytes)
{
  MatInfo  info;
  PetscInt n;

  PetscFunctionBegin;
  *below = g->member ? (const PC_HJMG *)g->pc->data : NULL;
  *bytes = 0;
  if (!g->member) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(g->A, MAT_LOCAL, &info));
  PetscCall(VecGetLocalSize(g->b, &n));
  *bytes = info.memory + 2.0 * n * sizeof(PetscScalar);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGGatherView(const HJMGGather g, PetscErrorCode (*view)(const PC_HJMG *, PetscViewer), PetscViewer viewer)
{
  const PetscInt n = g->nranks[0] * g->nranks[1] * g->nranks[2];
  PetscViewer    subviewer;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "gathered on %" PetscInt_FMT " rank%s:\n", n, n == 1 ? "" : "s"));
  PetscCall(PetscViewerGetSubViewer(viewer, g->comm, &subviewer));
  if (g->member) PetscCall((*view)((const PC_HJMG *)g->pc->data, subviewer));
  PetscCall(PetscViewerRestoreSubViewer(viewer, g->comm, &subviewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGGatherDestroy(HJMGGather *gather)
{
  HJMGGather g = *gather;

  PetscFunctionBegin;
  if (!g) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCDestroy(&g->pc));
  PetscCall(MatDestroy(&g->A));
  PetscCall(VecDestroy(&g->b));
  PetscCall(VecDestroy(&g->x));
  PetscCall(DMDestroy(&g->da));
  PetscCall(HJMoveDestroy(&g->down));
  PetscCall(HJMoveDestroy(&g->up));
  for (int s = 0; s < 2; s++) PetscCall(g->ops->free(NULL, &g->stage[s]));
  PetscCall(PetscSFDestroy(&g->sf));
  PetscCallMPI(MPI_Comm_free(&g->comm));
  PetscCall(PetscFree(*gather));
  PetscFunctionReturn(PETSC_SUCCESS);
}

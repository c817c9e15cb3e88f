/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Matrices with several unknowns a point: the grids and interpolations are those of one unknown a point, the same for every component, the
   levels stencil matrices, products those of MATHJSTENCIL and MATHJTRANSFER, the cycle PETSc's (PCMG), the smoothers PCHJACOBI's cycles.
   Where the matrix lies on a GPU, so do the levels. Where no component is coupled to another none of this is made, and hjcomponents.c has
   what solves them. Decides how far a grid is coarsened, where its levels are, and what is refused.
*/
#include "hjmgsystem.h"
#include "hjmgcomponents.h"

/* Grids of so many unknowns or fewer are solved by a factorisation, by the number of directions that have more than one point */
static const PetscInt HJMGSystemSmall[4] = {1000, 1000, 2000, 800};
/* A last grid of more unknowns is swept, as many times as its coarser grids would be worth */
#define HJ_MG_SYSTEM_FACTOR 20000
#define HJ_MG_SYSTEM_SWEEPS 32
/* Pivots that are smaller, as shares of the largest diagonal, are zero, and shifted by as much */
#define HJ_MG_SYSTEM_PIVOT (100 * PETSC_MACHINE_EPSILON)

typedef struct {
  DM           da;
  Mat          A;     /* MATHJSTENCIL */
  Mat          rows;  /* the same as AIJ, where several ranks factor it; else NULL */
  Mat          P;     /* MATHJTRANSFER from the next coarser grid; NULL on the coarsest */
  Vec          known; /* 0 at points that have no part in that, see hjsystemknown.c; NULL: all have */
  HJCoarsening coarsening;
} HJMGSystemLevel;

struct _n_HJMGSystem {
  HJMGComponents  components; /* not NULL: they have the levels, and there is no PCMG */
  PC              pc;         /* PCMG */
  PetscInt        nlevels;
  HJMGSystemLevel level[HJ_MG_MAX_LEVELS];
  PetscBool       device;    /* the cycle is done on a GPU, */
  HJMGSystemCycle cycle;     /* there by launches of this library alone; NULL: PCMG's */
  PetscBool       swept;     /* the coarsest grid is */
  PetscBool       lifted;    /* it is factored with a larger diagonal */
  PetscBool       alone;     /* there is no coarser grid, as cycles grew */
  PetscBool       converted; /* the finest matrix is a copy of the PC's */
  HJMatrixState   read;
  char            stop[256]; /* why there is no coarser grid */
};

PetscInt HJMGSystemLevels(HJMGSystem s)
{
  return s->components ? HJMGComponentsLevels(s->components) : s->nlevels;
}

PetscErrorCode HJMGSystemPreSolve(HJMGSystem s, KSP ksp, PetscBool post)
{
  PetscFunctionBegin;
  if (s->components) PetscCall(HJMGComponentsPreSolve(s->components, ksp, post));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSystemAdvance(PC pc, Vec b, Vec x, PetscInt its, PetscBool zero, PetscBool *done)
{
  HJMGSystem s = ((PC_HJMG *)pc->data)->system;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!s->components) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMatrixStateIsCurrent(&s->read, pc->mat, PetscObjectStateGet, done));
  if (*done) PetscCall(HJMGComponentsAdvance(s->components, b, x, its, zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSystemRotates(PC pc, PetscBool *rotates)
{
  HJMGSystem s = ((PC_HJMG *)pc->data)->system;

  PetscFunctionBegin;
  *rotates = (PetscBool)(s->components && HJMGComponentsRotate(s->components));
  if (*rotates) PetscCall(HJMatrixStateIsCurrent(&s->read, pc->mat, PetscObjectStateGet, rotates));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSystemSolve(PC pc, KSP ksp, Vec b, Vec x, PetscInt its, PetscBool zero, PetscInt *it)
{
  PetscFunctionBegin;
  PetscCall(HJMGComponentsSolve(((PC_HJMG *)pc->data)->system->components, ksp, b, x, its, zero, it));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApply_HJMGSystem(PC pc, Vec b, Vec x)
{
  HJMGSystem s = ((PC_HJMG *)pc->data)->system;

  PetscFunctionBegin;
  if (s->components) PetscCall(HJMGComponentsApply(s->components, PETSC_FALSE, b, x));
  else if (s->cycle && !s->pc->failedreason) PetscCall(HJMGSystemCycleApply(s->cycle, b, x));
  else PetscCall(PCApply(s->pc, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApplyTranspose_HJMGSystem(PC pc, Vec b, Vec x)
{
  HJMGSystem s = ((PC_HJMG *)pc->data)->system;

  PetscFunctionBegin;
  if (s->components) PetscCall(HJMGComponentsApply(s->components, PETSC_TRUE, b, x));
  else PetscCall(PCApplyTranspose(s->pc, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGSystemViewLevel(const HJMGSystemLevel *level, PetscInt l, PetscViewer viewer)
{
  HJCut    cut[3];
  PetscInt dim, dof;

  PetscFunctionBegin;
  PetscCall(DMGetDimension(level->da, &dim));
  PetscCall(DMDAGetDof(level->da, &dof));
  PetscCall(HJGridGetCuts(level->da, cut));
  PetscCall(PetscViewerASCIIPrintf(viewer, "level %" PetscInt_FMT ": %" PetscInt_FMT, l, cut[0].N));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  for (PetscInt d = 1; d < dim; d++) PetscCall(PetscViewerASCIIPrintf(viewer, " x %" PetscInt_FMT, cut[d].N));
  PetscCall(PetscViewerASCIIPrintf(viewer, " points of %" PetscInt_FMT " unknown%s", dof, dof > 1 ? "s" : ""));
  for (PetscInt d = 0; d < dim && level->P; d++)
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s%" PetscInt_FMT, d ? " x " : "; coarsened by ", level->coarsening.factor[d]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCView_HJMGSystem(PC pc, PetscViewer viewer)
{
  HJMGSystem s = ((PC_HJMG *)pc->data)->system;
  PetscInt   dof;
  PetscBool  ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPushTab(viewer));
  if (s->components) {
    PetscCall(HJMGComponentsView(s->components, viewer));
    PetscCall(PetscViewerASCIIPopTab(viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMDAGetDof(s->level[0].da, &dof));
  PetscCall(PetscViewerASCIIPrintf(viewer, "V-cycle on %" PetscInt_FMT " level%s by PCMG%s%s; hjacobi %s\n", s->nlevels,
                                   s->nlevels == 1 ? "" : "s", s->device ? " on a GPU" : "", dof > 1 ? ", several unknowns a point" : "",
                                   HJACOBI_VERSION_STRING));
  if (s->cycle && HJMGSystemCycleNotRecorded(s->cycle))
    PetscCall(PetscViewerASCIIPrintf(viewer, "cycles are not recorded: %s\n", HJMGSystemCycleNotRecorded(s->cycle)));
  else if (s->cycle) PetscCall(PetscViewerASCIIPrintf(viewer, "a cycle is one graph\n"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "transfer: bilinear, for each component; operators: Galerkin%s\n",
                                   s->converted ? "; the matrix is kept a second time as " MATHJSTENCIL : ""));
  for (PetscInt l = 0; l < s->nlevels; l++) PetscCall(HJMGSystemViewLevel(&s->level[l], l, viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "the last level has no coarser grid: %s; it is %s\n", s->stop,
                                   s->swept    ? "swept, which need not solve it"
                                   : s->lifted ? "factored with a larger diagonal, as it is singular but for rounding"
                                               : "factored"));
  PetscCall(PCView(s->pc, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is coupled how on a level; an error where the smoother is none for the matrix */
static PetscErrorCode HJMGSystemMeasure(PC pc, HJMGSystemLevel *level)
{
  char saddle[256];

  PetscFunctionBegin;
  PetscCall(HJCoarsenMeasureSystem(level->A, level->da, &level->coarsening, saddle, sizeof(saddle)));
  PetscCheck(!saddle[0], PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "PCHJMG cannot smooth a saddle point: %s; use -pc_type fieldsplit (PCFIELDSPLIT) with hjmg for the fields that have one",
             saddle);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the vectors of the cycle */
static VecType HJMGSystemVecType(HJMGSystem s)
{
  return s->device ? VECCUDA : VECSTANDARD;
}

/* The finest matrix as a stencil matrix: the PC's own, or a copy of its values */
static PetscErrorCode HJMGSystemRead(PC pc, HJMGSystem s)
{
  HJMGSystemLevel *level = &s->level[0];
  char             why[256];

  PetscFunctionBegin;
  if (!s->converted && !level->A) {
    PetscCall(PetscObjectReference((PetscObject)pc->pmat));
    level->A = pc->pmat;
  }
  if (!s->converted) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMatReadAIJ(pc->pmat, level->da, &level->A, why, sizeof(why)));
  if (!level->A) PetscCall(HJMGRefuse(pc, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The finest grid: a DMDA as those of the coarser ones, and the matrix */
static PetscErrorCode HJMGSystemMakeFinest(PC pc, DM da, HJMGSystem s)
{
  HJMGSystemLevel *level = &s->level[0];
  PetscBool        stencil;

  PetscFunctionBegin;
  PetscCall(HJGridCloneDM(da, &level->da));
  PetscCall(HJMGSetUpDM(da, HJMGSystemVecType(s), level->da));
  PetscCall(PetscObjectTypeCompare((PetscObject)pc->pmat, MATHJSTENCIL, &stencil));
  s->converted = (PetscBool)!stencil;
  PetscCall(HJMGSystemRead(pc, s));
  s->nlevels = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a grid wants a coarser one; else why not */
static PetscErrorCode HJMGSystemWantsLevel(const PC_HJMG *mg, HJMGSystem s, PetscBool *wants)
{
  PetscInt n, sides = 0, small;
  HJCut    cut[3];

  PetscFunctionBegin;
  *wants = PETSC_FALSE;
  if (s->alone) {
    PetscCall(PetscStrncpy(s->stop, "cycles with coarser grids grow", sizeof(s->stop)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (mg->max_levels != PETSC_DECIDE) {
    *wants = (PetscBool)(s->nlevels < mg->max_levels);
    PetscCall(PetscStrncpy(s->stop, "as many levels as asked for", sizeof(s->stop)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJGridGetCuts(s->level[s->nlevels - 1].da, cut));
  for (int d = 0; d < 3; d++) sides += cut[d].N > 1;
  PetscCall(MatGetSize(s->level[s->nlevels - 1].A, &n, NULL));
  small  = s->device ? PetscMin(HJMGSystemSmall[sides], HJ_DENSE_MAX) : HJMGSystemSmall[sides]; /* a GPU solves by an inverse */
  *wants = (PetscBool)(n > small && s->nlevels < HJ_MG_MAX_LEVELS);
  PetscCall(PetscStrncpy(s->stop, "few points", sizeof(s->stop)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The interpolation of all components of a level from the next coarser one, but at known points */
static PetscErrorCode HJMGSystemInterpolate(HJMGSystemLevel *fine, DM coarse, char why[], size_t len)
{
  HJTransfer transfer;

  PetscFunctionBegin;
  PetscCall(HJTransferSet(coarse, fine->da, &fine->coarsening, &transfer, why, len));
  if (why[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMatCreateTransfer(coarse, fine->da, &transfer, &fine->P));
  PetscCall(HJMGFindKnownPoints(fine->A, &fine->known));
  if (fine->known) PetscCall(HJMatTransferLeave(fine->P, fine->known));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGSystemMakeLevel(PC pc, HJMGSystem s, PetscBool *made)
{
  HJMGSystemLevel *fine = &s->level[s->nlevels - 1], *coarse = fine + 1;

  PetscFunctionBegin;
  *made = PETSC_FALSE;
  PetscCall(HJCoarsenDM(fine->da, &fine->coarsening, &coarse->da, s->stop, sizeof(s->stop)));
  if (!coarse->da) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGSetUpDM(fine->da, HJMGSystemVecType(s), coarse->da));
  PetscCall(HJMGSystemInterpolate(fine, coarse->da, s->stop, sizeof(s->stop)));
  if (!fine->P) {
    PetscCall(DMDestroy(&coarse->da));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatPtAP(fine->A, fine->P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &coarse->A));
  s->nlevels++;
  PetscCall(HJMGSystemMeasure(pc, coarse));
  *made = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One exact cycle of PCHJACOBI, whose options have the prefix of the levels. Where k = 0 nobody asked for one: it takes what is safe */
static PetscErrorCode HJMGSystemSetSmoother(HJMGSystem s, const HJMGSystemLevel *level, PetscInt k, KSP ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, 1));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCHJACOBI));
  PetscCall(PCHJacobiSetBackend(pc, s->device ? PC_HJACOBI_BACKEND_CUDA : PC_HJACOBI_BACKEND_HOST));
  if (k) PetscCall(PCHJacobiSetK(pc, k));
  PetscCall(PCSetDM(pc, level->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PCMG does on the coarsest of several levels: of one alone it would be its smoother */
static PetscErrorCode HJMGSystemSetFactor(KSP ksp)
{
  PC          pc;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &size));
  PetscCall(PCSetType(pc, size > 1 ? PCREDUNDANT : PCLU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which pivots are zero follows from the size of the matrix that is factored; else PETSc asks how far they are from 0 */
static PetscErrorCode HJMGSystemScalePivots(HJMGSystem s)
{
  Mat         A;
  Vec         diagonal;
  KSP         ksp;
  PC          pc;
  PetscReal   most;
  PetscMPIInt size;

  PetscFunctionBegin;
  if (s->swept) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCMGGetCoarseSolve(s->pc, &ksp));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, NULL, &diagonal));
  PetscCall(MatGetDiagonal(A, diagonal));
  PetscCall(VecNorm(diagonal, NORM_INFINITY, &most));
  PetscCall(VecDestroy(&diagonal));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &size));
  if (size > 1) {
    PetscCall(PCRedundantGetKSP(pc, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
  }
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_INBLOCKS)); /* as PCMG does, but not where there is one level */
  if (!(most > 0.0) || PetscIsInfOrNanReal(most)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCFactorSetZeroPivot(pc, HJ_MG_SYSTEM_PIVOT * most));
  PetscCall(PCFactorSetShiftAmount(pc, HJ_MG_SYSTEM_PIVOT * most));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCREDUNDANT takes rows apart, and asks for AIJ */
static PetscErrorCode HJMGSystemCopyRows(HJMGSystem s, HJMGSystemLevel *level)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(level->A, MATAIJ, level->rows ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &level->rows));
  PetscCall(MatSetVecType(level->rows, HJMGSystemVecType(s)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Subiterations of a level that were asked for, or 0 */
static PetscInt HJMGSystemK(const PC_HJMG *mg, PetscInt l)
{
  return mg->nk ? mg->k[PetscMin(l, mg->nk - 1)] : 0;
}

/* PCMG numbers its levels from the coarsest on */
static PetscErrorCode HJMGSystemMakeCycle(PC pc, HJMGSystem s)
{
  const PC_HJMG *mg = (const PC_HJMG *)pc->data;
  const char    *prefix;
  PetscInt       n;
  PetscMPIInt    size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCall(PCCreate(PetscObjectComm((PetscObject)pc), &s->pc));
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  PetscCall(PCSetOptionsPrefix(s->pc, prefix));
  PetscCall(PCAppendOptionsPrefix(s->pc, "pc_hjmg_"));
  PetscCall(PCSetType(s->pc, PCMG));
  PetscCall(PCMGSetLevels(s->pc, s->nlevels, NULL));
  PetscCall(PCMGSetGalerkin(s->pc, PC_MG_GALERKIN_NONE));
  PetscCall(PCSetOperators(s->pc, s->level[0].A, s->level[0].A));
  PetscCall(PCSetErrorIfFailure(s->pc, pc->erroriffailure));
  PetscCall(MatGetSize(s->level[s->nlevels - 1].A, &n, NULL));
  s->swept = (PetscBool)((mg->coarse == PC_HJMG_COARSE_SOLVE_SWEEPS && !s->alone) || n > HJ_MG_SYSTEM_FACTOR);
  for (PetscInt l = 0; l < s->nlevels; l++) {
    HJMGSystemLevel *level  = &s->level[l];
    const PetscInt   at     = s->nlevels - 1 - l;
    const PetscBool  factor = (PetscBool)(!at && !s->swept);
    Mat              A      = level->A;
    KSP              ksp;

    PetscCall(PCMGGetSmoother(s->pc, at, &ksp));
    if (factor && size > 1) {
      PetscCall(HJMGSystemCopyRows(s, level));
      A = level->rows;
    }
    PetscCall(KSPSetOperators(ksp, A, A));
    if (factor) PetscCall(HJMGSystemSetFactor(ksp));
    else PetscCall(HJMGSystemSetSmoother(s, level, at ? HJMGSystemK(mg, l) : HJ_MG_SYSTEM_SWEEPS, ksp));
    if (at) PetscCall(PCMGSetInterpolation(s->pc, at, level->P));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coarser grids of the finest, and PCMG */
static PetscErrorCode HJMGSystemMakeLevels(PC pc, HJMGSystem s)
{
  const PC_HJMG *mg   = (const PC_HJMG *)pc->data;
  PetscBool      made = PETSC_TRUE, wants;

  PetscFunctionBegin;
  PetscCheck(mg->transfer != PC_HJMG_TRANSFER_OPERATOR, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "-pc_hjmg_transfer operator is for one unknown a point, and for several of which none is coupled to another; use bilinear or "
             "auto");
  if (!s->alone) PetscCall(HJMGSystemMeasure(pc, &s->level[0]));
  while (made) {
    PetscCall(HJMGSystemWantsLevel(mg, s, &wants));
    if (!wants) break;
    PetscCall(HJMGSystemMakeLevel(pc, s, &made));
  }
  PetscCall(HJMGSystemMakeCycle(pc, s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGSystemCreate(PC pc, DM da, PetscBool alone)
{
  PC_HJMG            *mg = (PC_HJMG *)pc->data;
  HJMGSystemLevel    *finest;
  const HJBackendOps *ops;
  const char         *why;
  PetscInt            dof;
  PetscBool           apart = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(HJOperatorChooseBackend(pc->pmat, PC_HJACOBI_BACKEND_AUTO, 1, &ops, &why));
  PetscCall(DMDAGetDof(da, &dof));
  PetscCall(PetscNew(&mg->system));
  mg->system->alone  = alone;
  mg->system->device = (PetscBool)(PetscDefined(HAVE_CUDA) && PetscMemTypeDevice(ops->mtype) && HJOperatorCanBeOnDevice(dof, -1));
  PetscCall(HJMGSystemMakeFinest(pc, da, mg->system));
  finest = &mg->system->level[0];
  if (!alone) PetscCall(HJMGComponentsAreAlone(finest->A, &apart));
  if (apart) {
    PetscCall(HJMGComponentsCreate(pc, finest->da, finest->A, &mg->system->components));
    PetscCall(MatDestroy(&finest->A)); /* they have copies */
  } else PetscCall(HJMGSystemMakeLevels(pc, mg->system));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same as HJMGSystemRefresh(), of components that were not coupled before */
static PetscErrorCode HJMGSystemRefreshComponents(PC pc, HJMGSystem s, PetscBool *kept)
{
  PetscFunctionBegin;
  PetscCall(HJMGSystemRead(pc, s));
  PetscCall(HJMGComponentsAreAlone(s->level[0].A, kept));
  if (*kept) PetscCall(HJMGComponentsRefresh(pc, s->components, s->level[0].A, kept));
  PetscCall(MatDestroy(&s->level[0].A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the matrices that are there; *kept is false where they lead to other grids */
static PetscErrorCode HJMGSystemRefresh(PC pc, HJMGSystem s, PetscBool *kept)
{
  PetscFunctionBegin;
  *kept = PETSC_TRUE;
  if (s->components) {
    PetscCall(HJMGSystemRefreshComponents(pc, s, kept));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGSystemRead(pc, s));
  for (HJMGSystemLevel *level = s->level; level < s->level + s->nlevels && *kept; level++) {
    const HJCoarsening old = level->coarsening;
    HJGrid             grid;
    Vec                known;

    if (level > s->level) PetscCall(MatPtAP(level[-1].A, level[-1].P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &level->A));
    PetscCall(HJGridCreate(level->da, &grid));
    PetscCall(HJMGSystemMeasure(pc, level));
    if (level->rows) PetscCall(HJMGSystemCopyRows(s, level));
    *kept = (PetscBool)(!level->P || HJCoarsenSame(&grid, &old, &level->coarsening));
    if (*kept && level->P) {
      PetscCall(HJMGFindKnownPoints(level->A, &known));
      PetscCall(HJMGKnownPointsAreSame(known, level->known, kept));
      PetscCall(VecDestroy(&known));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSystemDestroy(PC pc)
{
  PC_HJMG   *mg = (PC_HJMG *)pc->data;
  HJMGSystem s  = mg->system;

  PetscFunctionBegin;
  if (!s) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGComponentsDestroy(&s->components));
  PetscCall(HJMGSystemCycleDestroy(&s->cycle));
  PetscCall(PCDestroy(&s->pc));
  for (HJMGSystemLevel *level = s->level; level < s->level + HJ_MG_MAX_LEVELS; level++) {
    PetscCall(DMDestroy(&level->da));
    PetscCall(MatDestroy(&level->A));
    PetscCall(MatDestroy(&level->rows));
    PetscCall(VecDestroy(&level->known));
    PetscCall(MatDestroy(&level->P));
  }
  PetscCall(PetscFree(mg->system));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The DMDA of a matrix with several unknowns a point; NULL: it is none */
static PetscErrorCode HJMGSystemFindGrid(PC pc, DM *da)
{
  DM       dm;
  PetscInt dof;
  char     why[256];

  PetscFunctionBegin;
  PetscCall(PCGetDM(pc, &dm));
  PetscCall(HJOperatorFindGrid(pc->pmat, dm, da, why, sizeof(why)));
  if (!*da) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMDAGetDof(*da, &dof));
  if (dof == 1) *da = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On one rank with a GPU PCMG's cycle is done here, and recorded anew */
static PetscErrorCode HJMGSystemSetCycle(PC pc, HJMGSystem s)
{
  const PC_HJMG      *mg = (const PC_HJMG *)pc->data;
  Mat                 A[HJ_MG_MAX_LEVELS], P[HJ_MG_MAX_LEVELS];
  const HJBackendOps *ops;
  const char         *why;
  PetscMPIInt         size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  if (!s->device || size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (!s->cycle) {
    for (PetscInt l = 0; l < s->nlevels; l++) {
      A[l] = s->level[l].A;
      P[l] = s->level[l].P;
    }
    PetscCall(HJOperatorChooseBackend(pc->pmat, PC_HJACOBI_BACKEND_AUTO, 1, &ops, &why));
    PetscCall(HJMGSystemCycleCreate(ops, s->pc, s->nlevels, A, P, &s->cycle));
  }
  if (s->cycle) PetscCall(HJMGSystemCycleRenew(s->cycle, (PetscBool)(mg->graph && !pc->failedreason)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves the last grid by its factors, which are lifted where the matrix is singular but for rounding */
static PetscErrorCode HJMGSystemSetUpCycle(PC pc, HJMGSystem s)
{
  KSP       ksp;
  Mat       A;
  PetscBool good;

  PetscFunctionBegin;
  PetscCall(PCMGGetCoarseSolve(s->pc, &ksp));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPSetOperators(ksp, A, A)); /* in place of one that was lifted */
  PetscCall(PCSetOperators(s->pc, s->level[0].A, s->level[0].A));
  PetscCall(HJMGSystemScalePivots(s));
  PetscCall(PCSetUp(s->pc));
  s->lifted = PETSC_FALSE;
  if (s->swept || s->pc->failedreason) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGFactorsAreGood(ksp, &good));
  if (good) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(pc, "The last grid is singular but for rounding: it is factored with a larger diagonal\n"));
  PetscCall(HJMGLiftFactors(ksp));
  s->lifted = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the finest grid alone, whose cycles grow, may be factored in their place */
static PetscErrorCode HJMGSystemMayBeAlone(PC pc, PetscBool *may)
{
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(pc->pmat, &n, NULL));
  *may = (PetscBool)(n <= HJ_MG_SYSTEM_FACTOR);
  PetscCall(PetscInfo(pc, "Cycles grow, as with much convection they may: %s\n",
                      *may ? "there is one grid alone, which is factored" : "-pc_type asm (PCASM) may be the better preconditioner"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the cycle grows, as that of a matrix which is known to be definite does not, and the finest grid can be factored in its place:
   also where sweeps were asked for, as such a cycle hides from a Krylov method what it should solve */
static PetscErrorCode HJMGSystemIsUnsafe(PC pc, HJMGSystem s, PetscBool *unsafe)
{
  PetscBool set, spd;

  PetscFunctionBegin;
  *unsafe = PETSC_FALSE;
  PetscCall(MatIsSPDKnown(pc->pmat, &set, &spd));
  if (s->nlevels == 1 || s->pc->failedreason || (set && spd)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGCycleGrows(s->pc, s->level[0].A, unsafe));
  if (*unsafe) PetscCall(HJMGSystemMayBeAlone(pc, unsafe));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGSystemMakeAnew(PC pc, DM da, PetscBool alone)
{
  PC_HJMG *mg = (PC_HJMG *)pc->data;

  PetscFunctionBegin;
  PetscCall(HJMGSystemDestroy(pc));
  PetscCall(HJMGDestroyGrids(mg));
  PetscCall(HJMGSystemCreate(pc, da, alone));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSystemMake(PC pc, PetscBool *made)
{
  PC_HJMG      *mg = (PC_HJMG *)pc->data;
  DM            dm, da;
  HJMatrixState now;
  PetscBool     kept = PETSC_FALSE, unsafe;

  PetscFunctionBegin;
  PetscCall(HJMGSystemFindGrid(pc, &da));
  *made = (PetscBool)(da != NULL);
  if (!da) {
    PetscCall(HJMGSystemDestroy(pc));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCGetDM(pc, &dm));
  PetscCall(HJMatrixStateGet(pc->pmat, dm, PetscObjectStateGet, &now));
  if (mg->system && !mg->system->alone && mg->changed == HJ_MG_CHANGED_NOTHING && HJMatrixStateIsSame(&now, &mg->system->read))
    PetscCall(HJMGSystemRefresh(pc, mg->system, &kept));
  if (!kept) PetscCall(HJMGSystemMakeAnew(pc, da, PETSC_FALSE));
  mg->system->read = now;
  mg->changed      = HJ_MG_CHANGED_NOTHING;
  if (mg->system->components) {
    PetscCall(HJMGComponentsSetUp(mg->system->components, &pc->failedreason));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGSystemSetUpCycle(pc, mg->system));
  PetscCall(HJMGSystemIsUnsafe(pc, mg->system, &unsafe));
  if (unsafe) {
    PetscCall(HJMGSystemMakeAnew(pc, da, PETSC_TRUE));
    PetscCall(HJMGSystemSetUpCycle(pc, mg->system));
    mg->system->read = now;
  }
  pc->failedreason = mg->system->pc->failedreason;
  PetscCall(HJMGSystemSetCycle(pc, mg->system));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSystemMakeAlone(PC pc)
{
  const PC_HJMG *mg  = (PC_HJMG *)pc->data;
  PetscBool      may = PETSC_FALSE;
  DM             dm, da;
  char           why[256];

  PetscFunctionBegin;
  PetscCall(HJMGSystemMayBeAlone(pc, &may));
  if (!may) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCGetDM(pc, &dm));
  PetscCall(HJOperatorFindGrid(pc->pmat, dm, &da, why, sizeof(why)));
  PetscCheck(da, PetscObjectComm((PetscObject)pc), PETSC_ERR_PLIB, "The matrix had a grid: %s", why);
  PetscCall(HJMGSystemMakeAnew(pc, da, PETSC_TRUE));
  PetscCall(HJMGSystemSetUpCycle(pc, mg->system));
  pc->failedreason = mg->system->pc->failedreason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

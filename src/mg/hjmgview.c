/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The view: grids, what was found of them and chosen for them, and their memory.
*/
#include "hjmg.h"

static PetscErrorCode HJMGViewLevel(const PC_HJMG *mg, PetscInt l, PetscViewer viewer)
{
  const HJMGLevel *level     = &mg->level[l];
  const HJStencil *st        = level->op->stencil;
  const PetscInt  *N         = level->op->grid.N;
  const char      *storage[] = {"dictionary", "variable", "variable, symmetric half"};
  char             size[64], rows[32] = "", rotated[32] = "", words[256] = "";

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(size, sizeof(size), "%" PetscInt_FMT, N[0]));
  for (PetscInt d = 1; d < st->dim; d++) {
    const size_t used = strlen(size);

    PetscCall(PetscSNPrintf(size + used, sizeof(size) - used, " x %" PetscInt_FMT, N[d]));
  }
  if (st->storage == HJ_DICTIONARY)
    PetscCall(PetscSNPrintf(rows, sizeof(rows), " of %" PetscInt_FMT " row%s", st->nrows, st->nrows == 1 ? "" : "s"));
  if (level->rotated.k) PetscCall(PetscSNPrintf(rotated, sizeof(rotated), " (rotated %" PetscInt_FMT ")", level->rotated.k));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "level %" PetscInt_FMT ": %s, %" PetscInt_FMT " points, %s%s; k = %" PetscInt_FMT
                                   "%s, emax %g (%s); kernels: %s\n",
                                   mg->base + l, size, st->nslots, storage[st->storage], rows, level->w.k, rotated,
                                   (double)level->bound.emax, level->bound.source, level->op->ops->kernels(level->op->backend, NULL)));
  if (level->flows && level->w.k)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  convection: equal weights, %safter corrections%s, and %" PetscInt_FMT
                                     " visit%s a cycle; skew part of "
                                     "D^-1 A up to %.2g\n",
                                     mg->flows_apart ? "before and " : "", mg->flows_apart ? "" : " alone", HJMGFlowVisits(mg, l),
                                     HJMGFlowVisits(mg, l) == 1 ? "" : "s", (double)level->skew));
  if (level->lifted)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "  diagonal: twice the sum of the row's other entries for %" PetscInt_FMT " that are zero or weak\n",
                                     level->lifted));
  if (l < mg->nlevels - 1) PetscCall(HJMGAdviseK(mg, level, words, sizeof(words)));
  if (words[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "  %s\n", words));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How a level is coarsened, and why: strengths are shares of the strongest */
static PetscErrorCode HJMGViewCoarsening(const PC_HJMG *mg, const HJMGLevel *level, PetscViewer viewer)
{
  const HJCoarsening *c         = &level->coarsening;
  const HJGrid       *grid      = &level->op->grid;
  const PetscReal     turns     = HJMGTurns(mg, level);
  PetscReal           strongest = 0.0;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < grid->dim; d++) strongest = PetscMax(strongest, c->strength[d]);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  couplings"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  for (PetscInt d = 0; d < grid->dim; d++)
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s%.3g", d ? " : " : " ", (double)(strongest > 0 ? c->strength[d] / strongest : 0.0)));
  for (PetscInt d = 0; d < grid->dim && level->P; d++)
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s%" PetscInt_FMT, d ? " x " : "; coarsened by ", c->factor[d]));
  for (PetscInt d = 0; d < grid->dim && level->P; d++) {
    if (c->factor[d] == 2 && c->first[d])
      PetscCall(
        PetscViewerASCIIPrintf(viewer, "; the first point in direction %" PetscInt_FMT " has %g of the next one", d, (double)c->before[d]));
    if (c->factor[d] == 2 && HJCoarsenHangs(grid, c, (int)d))
      PetscCall(
        PetscViewerASCIIPrintf(viewer, "; the last point in direction %" PetscInt_FMT " has %g of the one before", d, (double)c->last[d]));
  }
  if (turns >= HJ_MG_TURNS) PetscCall(PetscViewerASCIIPrintf(viewer, "; the strong direction turns (%.2g)", (double)turns));
  if (level == mg->level && mg->slant >= HJ_MG_SLANT)
    PetscCall(PetscViewerASCIIPrintf(viewer, "; it lies between x and y (%.2g)", (double)mg->slant));
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To a level, from the next coarser one */
static PetscErrorCode HJMGViewTransfer(const PC_HJMG *mg, PetscInt l, PetscViewer viewer)
{
  const HJMGLevel *level    = &mg->level[l];
  char             jump[96] = "";

  PetscFunctionBegin;
  if (l == mg->nlevels - 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (level->jump >= 0.0)
    PetscCall(PetscSNPrintf(jump, sizeof(jump), "; jump of coefficients %.2g of 1, large at %.2g of the points", (double)level->jump,
                            (double)level->rough));
  PetscCall(PetscViewerASCIIPrintf(viewer, "interpolation to level %" PetscInt_FMT ": %s%s%s\n", mg->base + l,
                                   level->follows_rows ? "coefficients from the matrix" : "bilinear", jump,
                                   level->R ? "; restriction from its columns" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines that tell of each level, and of why the last is the coarsest */
static PetscErrorCode HJMGViewLevels(const PC_HJMG *mg, PetscViewer viewer)
{
  const PetscInt last = mg->nlevels - 1;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < last + !mg->gather; l++) {
    PetscCall(HJMGViewLevel(mg, l, viewer));
    PetscCall(HJMGLinesView(&mg->level[l], viewer));
    PetscCall(HJMGViewCoarsening(mg, &mg->level[l], viewer));
    PetscCall(HJMGViewTransfer(mg, l, viewer));
  }
  if (mg->gather) {
    PetscCall(HJMGGatherView(mg->gather, HJMGViewLevels, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "the last level has no coarser grid: %s\n", mg->stop));
  if (mg->factor) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "it is solved by factors of its matrix (PETSc's Cholesky)\n"));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (mg->inverse) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "it is solved by the inverse of its matrix%s\n", mg->constants ? ", without constants" : ""));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscViewerASCIIPrintf(viewer, "its sweeps %s%s\n",
                                   !mg->settled ? "are a smoother's, the system is not symmetric and definite, or nearly singular"
                                   : mg->level[last].w.k == HJ_MAX_K   ? "are as many as there may be, and leave more of the error"
                                   : mg->level[last].skew > HJ_MG_SKEW ? "leave a hundredth of the error, the diagonal dominates"
                                                                       : "leave a hundredth of the error (chebyshev)",
                                   mg->constants ? ", constants are removed" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficients that the sweeps have of their own, beside those of the matrix */
static PetscReal HJMGStencilBytes(const HJStencil *st)
{
  const PetscReal points = (PetscReal)HJBoxSize(&st->box);
  PetscReal       bytes  = st->index ? points : 0;

  for (PetscInt o = 1; o < st->nslots; o++)
    if (st->value[o] && !st->in_place) bytes += points * sizeof(PetscScalar);
  if (st->dinv) bytes += points * sizeof(PetscScalar);
  return bytes;
}

/* Of all levels on this rank: matrices, coefficients of sweeps, and vectors, without the matrix of the PC */
static PetscErrorCode HJMGBytes(const PC_HJMG *mg, PetscReal *bytes)
{
  const PC_HJMG *next = NULL;
  PetscReal      below;

  PetscFunctionBegin;
  *bytes = 0;
  for (const HJMGLevel *level = mg->level; level < mg->level + mg->nlevels; level++) {
    const PetscReal points = (PetscReal)HJBoxSize(&level->op->grid.owned);
    MatInfo         info;

    if (level->A && (level > mg->level || mg->converted)) {
      PetscCall(MatGetInfo(level->A, MAT_LOCAL, &info));
      *bytes += info.memory;
    }
    if (level->P) {
      PetscCall(MatGetInfo(level->P, MAT_LOCAL, &info));
      *bytes += info.memory;
    }
    if (level->restriction && level->restriction->residual) *bytes += points * sizeof(PetscScalar);
    if (level->At) {
      PetscCall(MatGetInfo(level->At, MAT_LOCAL, &info));
      *bytes += info.memory + HJMGStencilBytes(level->opt->stencil);
    }
    *bytes += HJMGStencilBytes(level->op->stencil);
    *bytes += points * sizeof(PetscScalar) * ((level->x != NULL) + (level->b && !level->borrows) + (level->r != NULL));
    *bytes += HJMGLinesBytes(level->lines);
    if (level->residual) *bytes += points * sizeof(PetscScalar);
  }
  if (mg->factor) {
    MatInfo info;

    PetscCall(MatGetInfo(mg->factor, MAT_LOCAL, &info));
    *bytes += info.nz_used * (sizeof(PetscScalar) + sizeof(PetscInt));
  }
  *bytes += HJMGSingleBytes(mg);
  if (mg->inside) *bytes += HJMGInsideBytes(mg->inside);
  if (mg->placed) *bytes += HJBoxSize(&mg->lies) * sizeof(PetscScalar);
  if (!mg->gather) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGGatherGetBelow(mg->gather, &next, &below));
  *bytes += below;
  if (next) PetscCall(HJMGBytes(next, &below));
  if (next) *bytes += below;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of all ranks, also as vectors of the finest grid */
static PetscErrorCode HJMGViewBytes(PC pc, PetscViewer viewer)
{
  const PC_HJMG  *mg = (const PC_HJMG *)pc->data;
  const PetscInt *N  = mg->level[0].op->grid.N;
  PetscReal       bytes;

  PetscFunctionBegin;
  PetscCall(HJMGBytes(mg, &bytes));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPIU_REAL, MPIU_SUM, PetscObjectComm((PetscObject)pc)));
  PetscCall(PetscViewerASCIIPrintf(viewer, "coefficients and vectors of all levels, beside the matrix: %g MB, %.3g vectors of level 0\n",
                                   (double)(bytes / 1e6), (double)(bytes / sizeof(PetscScalar) / N[0] / N[1] / N[2])));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCView_HJMG(PC pc, PetscViewer viewer)
{
  const PC_HJMG *mg = (const PC_HJMG *)pc->data;
  PetscInt       n;
  PetscBool      ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPushTab(viewer));
  if (!mg->nlevels) {
    if (HJHasFailed(&mg->failure)) PetscCall(PetscViewerASCIIPrintf(viewer, "set-up failed: %s\n", mg->failure.words));
    else PetscCall(PetscViewerASCIIPrintf(viewer, "not yet set up\n"));
    PetscCall(PetscViewerASCIIPopTab(viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCHJMGGetLevels(pc, &n));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "V-cycle on %" PetscInt_FMT " level%s, k subiterations chebyshev4 before and after; hjacobi %s\n", n,
                                   n == 1 ? "" : "s", HJACOBI_VERSION_STRING));
  if (mg->one_sided)
    PetscCall(PetscViewerASCIIPrintf(viewer, "rotated ones smooth after corrections alone, on the finest grid by chebyshev\n"));
  if (mg->operators == HJ_MG_STARS_COPIED)
    PetscCall(PetscViewerASCIIPrintf(viewer, "those that are not rotated smooth on the finest grid by chebyshev\n"));
  if (mg->operators == HJ_MG_SMOOTH)
    PetscCall(PetscViewerASCIIPrintf(viewer, "those that are not rotated smooth by chebyshev%s\n",
                                     mg->one_sided ? "" : ", on the finest grid by weights near it"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "transfer: %s; operators: %s%s\n", PCHJMGTransfers[mg->transfer],
                                   mg->stars ? "Galerkin products, summed into stars" : "Galerkin",
                                   mg->converted ? ", the matrix is kept a second time as " MATHJSTENCIL : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer, "backend: %s, where the matrix lies; cycles are %s%s\n", mg->level[0].op->ops->name,
                                   mg->not_recorded ? "launched operation by operation: " : "recorded as graphs where vectors come again",
                                   mg->not_recorded ? mg->not_recorded : ""));
  PetscCall(HJMGSingleView(mg, viewer));
  PetscCall(HJMGViewSteps(mg, viewer));
  PetscCall(HJMGInsideView(mg, viewer));
  if (mg->scale)
    PetscCall(PetscViewerASCIIPrintf(viewer, "rows are scaled %s\n",
                                     mg->unscaled > 0.0 ? "by the roots of their diagonals" : "to be as symmetric as they can be"));
  if (mg->mask)
    PetscCall(PetscViewerASCIIPrintf(viewer, "%" PetscInt_FMT " rows are zeros: their unknowns are left alone\n", mg->zero_rows));
  if (HJGridHasNeighbors(&mg->level[0].op->grid))
    PetscCall(PetscViewerASCIIPrintf(viewer, "exchange: %s\n", mg->level[0].op->halo_ops->name));
  PetscCall(HJMGViewLevels(mg, viewer));
  PetscCall(HJMGViewBytes(pc, viewer));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The last grid by PETSc's factors of its matrix, on the CPU, where the matrix is symmetric and definite and its rows differ. Decides which
   grid that is: where cycles on the grids below one converge slowly, that one.
*/
#include "hjmg.h"

/* So many points are factored in 1.5 ms in 2D and solved in 25 us, where sweeps of the same grid take up to ten times as long */
#define HJ_MG_FACTOR_SMALL HJ_DENSE_MAX
/* Where cycles converge slowly the factors may have as many points as take some 8 ms; in 2D also this share of the finest grid, up to so
   many, which is no more than the rest of set-up takes; in 3D, where they fill in more, up to so many */
#define HJ_MG_FACTOR_LARGE 4300
#define HJ_MG_FACTOR_SHARE (1.0 / 14)
#define HJ_MG_FACTOR_MOST  40000
#define HJ_MG_FACTOR_3D    5000
/* Cycles converge quickly where steps of CG, so many at least and at most, leave less of a residual than this share a step. In 2D CG on the
   finest grid takes 11 iterations and more where they do not (13 problems, 3e-3 to 15 after 5 steps; 7 others 3e-5 at most); in 3D
   factors take less time than they save where cycles hardly converge alone */
#define HJ_MG_TRY_LEAST   3
#define HJ_MG_TRY_MOST    5
#define HJ_MG_TRY_RATE    0.2
#define HJ_MG_TRY_SLOW_3D 0.5

static PetscReal HJMGFactorMost(const PC_HJMG *mg, PetscInt dim)
{
  if (dim == 3) return HJ_MG_FACTOR_3D;
  return PetscMax(HJ_MG_FACTOR_LARGE, PetscMin(HJ_MG_FACTOR_SHARE * mg->finest, HJ_MG_FACTOR_MOST));
}

/* Whether the last grid may be factored, whatever its size. One level alone is what a user has asked for, or a small grid's inverse. Where
   rows are scaled by many decades what an exact solve makes of the smallest ones is rounding to a residual of the others */
static PetscErrorCode HJMGMayFactor(const PC_HJMG *mg, PetscBool *may)
{
  const HJMGLevel *last = &mg->level[mg->nlevels - 1];
  PetscMPIInt      size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)last->da), &size));
  *may = (PetscBool)(size == 1 && PetscMemTypeHost(last->op->ops->mtype) && (mg->nlevels > 1 || mg->base) && !mg->gather && !mg->constants);
  *may = (PetscBool)(*may && mg->definite && last->skew <= HJ_MG_SKEW && !mg->stars && !mg->nk && mg->max_levels == PETSC_DECIDE);
  *may = (PetscBool)(*may && mg->coarse == PC_HJMG_COARSE_SOLVE_AUTO && !mg->scale);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether A times what the factors make of a rough vector is that vector */
static PetscErrorCode HJMGFactorSolves(const HJMGLevel *level, Mat factor, PetscBool *solves)
{
  Vec       b, x, r;
  PetscReal norm[2];

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(level->A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(HJMGFillRough(level->op->ops, b));
  PetscCall(MatSolve(factor, b, x));
  PetscCall(MatResidual(level->A, b, x, r));
  PetscCall(VecNorm(b, NORM_2, &norm[0]));
  PetscCall(VecNorm(r, NORM_2, &norm[1]));
  *solves = (PetscBool)(norm[1] <= HJ_MG_FACTOR_DEFECT * norm[0]);
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *factor is NULL where there are none that solve. Traps that the user has set are for other numbers than those of factors that do not */
static PetscErrorCode HJMGMakeFactor(const HJMGLevel *level, Mat *factor)
{
  MatFactorInfo  info;
  MatFactorError failed;
  Mat            A;
  IS             rows, columns;
  PetscBool      solves = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  PetscCall(MatConvert(level->A, MATSEQAIJ, MAT_INITIAL_MATRIX, &A));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatGetFactor(A, MATSOLVERPETSC, MAT_FACTOR_CHOLESKY, factor));
  PetscCall(MatGetOrdering(A, MATORDERINGND, &rows, &columns));
  PetscCall(MatFactorInfoInitialize(&info));
  info.fill = 10.0;
  PetscCall(MatCholeskyFactorSymbolic(*factor, A, rows, &info));
  PetscCall(MatCholeskyFactorNumeric(*factor, A, &info));
  PetscCall(MatFactorGetError(*factor, &failed));
  if (failed == MAT_FACTOR_NOERROR) PetscCall(HJMGFactorSolves(level, *factor, &solves));
  if (!solves) PetscCall(MatDestroy(factor));
  PetscCall(PetscFPTrapPop());
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&columns));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSetUpFactor(PC_HJMG *mg)
{
  HJMGLevel      *last   = &mg->level[mg->nlevels - 1];
  const PetscReal points = HJMGPoints(last);
  PetscBool       may, good, constants;

  PetscFunctionBegin;
  PetscCall(HJMGMayFactor(mg, &may));
  if (mg->cut) may = (PetscBool)(may && points <= HJMGFactorMost(mg, last->op->grid.dim));
  else may = (PetscBool)(may && points > HJ_MG_INVERSE_QUICK && points <= HJ_MG_FACTOR_SMALL);
  if (!may) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGMakeFactor(last, &mg->factor));
  if (!mg->factor) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGCheckInverse(mg, last, HJ_MG_FACTOR_DEFECT, &good, &constants));
  if (good) PetscCall(HJWeightsReset(&last->w));
  else PetscCall(MatDestroy(&mg->factor));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cycles from a level on, and the norm of the first residual */
typedef struct {
  PC_HJMG  *mg;
  PetscInt  l;
  PetscReal first;
} HJMGTrial;

/* z = a cycle from zero for r, of a level and all below */
static PetscErrorCode HJMGTrialApply(PC pc, Vec r, Vec z)
{
  const HJMGTrial *trial;
  const HJMGLevel *level;
  const HJMGSteps *list;
  HJMGVector       where = HJ_MG_X;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &trial));
  level = &trial->mg->level[trial->l];
  list  = &trial->mg->steps[HJ_MG_APPLY];
  if (!trial->l) {
    PetscCall(HJMGLaunch(trial->mg, HJ_MG_APPLY, r, z, level->r));
    if (list->in_y) PetscCall(VecCopy(level->r, z));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecCopy(r, level->b));
  for (const HJMGStep *s = list->step; s < list->step + list->n; s++) {
    if (s->l >= trial->l) PetscCall(HJMGRunCoarseStep(trial->mg, s));
    if (s->l == trial->l - 1 && s->c != HJ_MG_NONE) where = s->c; /* the correction of the grid above reads it there */
  }
  PetscCall(VecCopy(where == HJ_MG_X ? level->x : level->r, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJMGTrialConverged(KSP ksp, PetscInt its, PetscReal norm, KSPConvergedReason *reason, void *context)
{
  HJMGTrial *trial = (HJMGTrial *)context;

  PetscFunctionBegin;
  (void)ksp;
  if (!its) trial->first = norm;
  *reason = KSP_CONVERGED_ITERATING;
  if (its >= HJ_MG_TRY_LEAST && norm <= PetscPowRealInt(HJ_MG_TRY_RATE, (int)its) * trial->first) *reason = KSP_CONVERGED_RTOL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether CG with these cycles leaves more of a rough residual than it should */
static PetscErrorCode HJMGIsSlow(PC_HJMG *mg, PetscInt l, PetscBool *slow)
{
  const HJMGLevel   *level = &mg->level[l];
  HJMGTrial          trial = {mg, l, 0.0};
  KSPConvergedReason reason;
  PetscReal          norm;
  KSP                ksp;
  PC                 pc;
  Vec                b, x;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(level->A, &x, &b));
  PetscCall(HJMGFillRough(level->op->ops, b));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)level->A), &ksp));
  PetscCall(KSPSetOperators(ksp, level->A, level->A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetConvergenceTest(ksp, HJMGTrialConverged, &trial, NULL));
  PetscCall(KSPSetTolerances(ksp, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT, HJ_MG_TRY_MOST));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCSHELL));
  PetscCall(PCShellSetContext(pc, &trial));
  PetscCall(PCShellSetApply(pc, HJMGTrialApply));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetResidualNorm(ksp, &norm));
  *slow = (PetscBool)(reason < 0 && (level->op->grid.dim < 3 || !(norm <= HJ_MG_TRY_SLOW_3D * trial.first)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Level l becomes the last one, which its factors solve; *done is false where there are none */
static PetscErrorCode HJMGCut(PC_HJMG *mg, PetscInt l, PetscBool *done)
{
  Mat factor;

  PetscFunctionBegin;
  PetscCall(HJMGMakeFactor(&mg->level[l], &factor));
  *done = (PetscBool)(factor != NULL);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMGCutGrids(mg, l));
  PetscCall(PetscStrncpy(mg->stop, "cycles on coarser ones converge slowly", sizeof(mg->stop)));
  mg->factor = factor;
  mg->cut    = PETSC_TRUE;
  PetscCall(HJMGMakeSteps(mg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Small factors, which cost less, are tried first where there are grids below those */
PetscErrorCode HJMGCutSlow(PC pc)
{
  PC_HJMG  *mg   = (PC_HJMG *)pc->data;
  PetscInt  l[2] = {mg->base ? 0 : 1, 0};
  PetscBool may, slow = PETSC_TRUE, done = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(HJMGMayFactor(mg, &may));
  if (!may || !mg->uneven || mg->finest == 0.0 || mg->cut) PetscFunctionReturn(PETSC_SUCCESS);
  while (l[0] < mg->nlevels - 1 && HJMGPoints(&mg->level[l[0]]) > HJMGFactorMost(mg, mg->level[l[0]].op->grid.dim)) l[0]++;
  for (l[1] = l[0]; l[1] < mg->nlevels - 1 && HJMGPoints(&mg->level[l[1]]) > HJ_MG_FACTOR_SMALL;) l[1]++;
  for (int small = 1; small >= 0 && slow && done; small--) {
    if (l[small] >= mg->nlevels - 1) continue;
    PetscCall(HJMGIsSlow(mg, l[0], &slow));
    if (slow) PetscCall(HJMGCut(mg, l[small], &done));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

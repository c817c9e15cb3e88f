/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Apply: one cycle, its cycles, or cycles until the KSP's own test stops them.
*/
#include "hjpc.h"

PetscLogEvent PCHJacobi_Cycle;

/* A line about what slabs did since the one before */
static PetscErrorCode HJMonitorSlabs(PC pc, const HJSlabsInfo *before)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  HJSlabsInfo now;
  PetscReal   seconds;

  PetscFunctionBegin;
  HJSlabsGetInfo(hj->op->slabs, &now);
  seconds = now.measured - before->measured;
  PetscCall(PetscPrintf(PetscObjectComm((PetscObject)pc),
                        "hjacobi %s %" PetscInt64_FMT " subiterations, %" PetscInt_FMT
                        " a visit, time %g s, predicted %g s, %g G updates/s\n",
                        HJSlabIsPyramid(now.plan) ? "pyramids" : "slabs", (PetscInt64)(now.subiterations - before->subiterations),
                        now.plan->height, (double)seconds, (double)(now.predicted - before->predicted),
                        (double)(1e-9 * now.points * (now.subiterations - before->subiterations) / seconds)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its cycles slab by slab, with tests or, where check is NULL, without; *done: those that it did */
static PetscErrorCode HJRunSlabs(PC pc, PetscInt its, PetscBool zero, Vec b, Vec x, const HJSlabCheck *check, PetscInt *done)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  HJSlabsInfo before;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PCHJacobi_Cycle, pc, 0, 0, 0));
  HJSlabsGetInfo(hj->op->slabs, &before);
  PetscCall(HJSlabsSetProgress(hj->op->slabs, hj->monitor ? 1 : -1));
  PetscCall(HJOperatorRunSlabs(hj->op, &hj->w, its, zero, b, x, check, done));
  PetscCall(PetscLogEventEnd(PCHJacobi_Cycle, pc, 0, 0, 0));
  if (hj->monitor) PetscCall(HJMonitorSlabs(pc, &before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its cycles on x with the operator that set-up chose */
static PetscErrorCode HJRunCycles(PC pc, PetscInt its, PetscBool zero, Vec b, Vec x)
{
  PC_HJacobi *hj     = (PC_HJacobi *)pc->data;
  PetscBool   inside = PETSC_FALSE;
  PetscInt    done;

  PetscFunctionBegin;
  if (hj->op && hj->op->slabs) {
    PetscCall(HJRunSlabs(pc, its, zero, b, x, NULL, &done));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogEventBegin(PCHJacobi_Cycle, pc, 0, 0, 0));
  if (hj->inner) PetscCall(HJInnerRun(hj->inner, &hj->w, its, zero, b, x, &inside));
  if (!inside && hj->op)
    PetscCall(
      HJOperatorRun(hj->op, &hj->w, &(HJRun){.its = its, .zero = zero, .b = b, .x = x, .planned = its == 1 && zero ? &hj->planned : NULL}));
  else if (!inside) PetscCall(HJMatrixOpRun(hj->matrix, pc->pmat, PETSC_FALSE, &hj->w, its, zero, b, x));
  PetscCall(PetscLogEventEnd(PCHJacobi_Cycle, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest difference, the largest value, and whether a number stands where the other vector has none: no number on both sides
   comes from the user's data */
static PetscErrorCode HJCompare(Vec x, Vec y, PetscReal *difference, PetscReal *largest, PetscBool *invalid)
{
  const PetscScalar *xa, *ya;
  PetscInt           n;
  PetscReal          mine[3] = {0, 0, 0}, all[3];

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(x, &xa));
  PetscCall(VecGetArrayRead(y, &ya));
  for (PetscInt i = 0; i < n; i++) {
    const PetscBool bad[2] = {PetscIsInfOrNanScalar(xa[i]), PetscIsInfOrNanScalar(ya[i])};

    if (bad[0] != bad[1]) mine[2] = 1;
    if (bad[0] || bad[1]) continue;
    mine[0] = PetscMax(mine[0], PetscAbsScalar(xa[i] - ya[i]));
    mine[1] = PetscMax(mine[1], PetscAbsScalar(ya[i]));
  }
  PetscCall(VecRestoreArrayRead(x, &xa));
  PetscCall(VecRestoreArrayRead(y, &ya));
  PetscCallMPI(MPI_Allreduce(mine, all, 3, MPIU_REAL, MPIU_MAX, PetscObjectComm((PetscObject)x)));
  *difference = all[0];
  *largest    = all[1];
  *invalid    = (PetscBool)(all[2] > 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs the host's cycles on a copy and compares: rounding grows with the subiterations, not with the grid */
static PetscErrorCode HJRunVerified(PC pc, PetscInt its, PetscBool zero, Vec b, Vec x)
{
  PC_HJacobi *hj   = (PC_HJacobi *)pc->data;
  PetscReal   norm = 0.0, diff = 0.0, total = (PetscReal)its * hj->w.k;
  PetscBool   invalid = PETSC_FALSE;
  Vec         y;

  PetscFunctionBegin;
  if (!hj->host) {
    PetscCall(HJRunCycles(pc, its, zero, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecDuplicate(x, &y));
  if (!zero) PetscCall(VecCopy(x, y));
  PetscCall(HJOperatorRun(hj->host, &hj->w, &(HJRun){.its = its, .zero = zero, .b = b, .x = y}));
  PetscCall(HJRunCycles(pc, its, zero, b, x));
  PetscCall(HJCompare(x, y, &diff, &norm, &invalid));
  PetscCall(VecDestroy(&y));
  PetscCheck(!invalid, PetscObjectComm((PetscObject)pc), PETSC_ERR_PLIB,
             "-pc_hjacobi_verify: of %s and host one has no finite number where the other has one, after %g subiterations; please report "
             "this with the output "
             "of -ksp_view",
             hj->op->ops->name, (double)total);
  PetscCheck(diff <= 16 * PETSC_MACHINE_EPSILON * total * total * norm, PetscObjectComm((PetscObject)pc), PETSC_ERR_PLIB,
             "-pc_hjacobi_verify: %s and host differ by %g of %g after %g subiterations; please report this with the output of -ksp_view",
             hj->op->ops->name, (double)diff, (double)norm, (double)total);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a work vector of the solver, at first use */
static PetscErrorCode HJNeedWork(Vec x, Vec *work)
{
  PetscFunctionBegin;
  if (!*work) PetscCall(VecDuplicate(x, work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its cycles of the solver. Where their matrix is another one, Pmat beside an Amat or with values that have changed under a preconditioner
   that is used again, each is a correction for the residual of Amat, as KSPRICHARDSON's slow path does it */
static PetscErrorCode HJAdvance(PC pc, PetscInt its, PetscBool zero, Vec b, Vec x)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  Vec         r, correction;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCall(HJMatrixStateIsCurrent(&hj->read, pc->mat, PetscObjectStateGet, &same));
  if (same) {
    PetscCall(HJRunVerified(pc, its, zero, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJNeedWork(x, &hj->work[0]));
  PetscCall(HJNeedWork(x, &hj->work[1]));
  r          = hj->work[0];
  correction = hj->work[1];
  for (PetscInt i = 0; i < its; i++) {
    if (zero && !i) PetscCall(HJRunVerified(pc, 1, PETSC_TRUE, b, x));
    else {
      PetscCall(MatResidual(pc->mat, b, x, r));
      PetscCall(HJRunVerified(pc, 1, PETSC_TRUE, r, correction));
      PetscCall(VecAXPY(x, 1.0, correction));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApply_HJacobi(PC pc, Vec b, Vec x)
{
  PetscFunctionBegin;
  PetscCall(PCHJacobiFollow(pc));
  if (HJHasFailed(&((PC_HJacobi *)pc->data)->failure)) PetscCall(HJFailureApply(x));
  else PetscCall(HJRunVerified(pc, 1, PETSC_TRUE, b, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCApplyTranspose_HJacobi(PC pc, Vec b, Vec x)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  HJOperator *op = NULL;

  PetscFunctionBegin;
  PetscCheck(hj->overlap < 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "The transpose of a stale cycle (overlap %" PetscInt_FMT ") is not a cycle; leave -pc_hjacobi_overlap unset (exact mode)",
             hj->overlap);
  PetscCall(PCHJacobiFollow(pc));
  if (HJHasFailed(&hj->failure)) {
    PetscCall(HJFailureApply(x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscLogEventBegin(PCHJacobi_Cycle, pc, 0, 0, 0));
  if (hj->op) PetscCall(PCHJacobiTransposeOp(pc, &op));
  if (op) PetscCall(HJOperatorRun(op, &hj->w, &(HJRun){.its = 1, .zero = PETSC_TRUE, .b = b, .x = x}));
  else PetscCall(HJMatrixOpRun(hj->op ? hj->transpose_matrix : hj->matrix, pc->pmat, PETSC_TRUE, &hj->w, 1, PETSC_TRUE, b, x));
  PetscCall(PetscLogEventEnd(PCHJacobi_Cycle, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The monitor prints at the stop tests of KSPRICHARDSON and KSPHJRICHARDSON alone (and slabs); elsewhere it says so, once */
static PetscErrorCode HJMonitorSilent(PC pc, KSP ksp)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  PetscBool   richardson;

  PetscFunctionBegin;
  if (!hj->monitor || hj->silent || (hj->op && hj->op->slabs)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp, &richardson, KSPRICHARDSON, KSPHJRICHARDSON, ""));
  if (richardson && ksp->normtype != KSP_NORM_NONE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(
    PetscPrintf(PetscObjectComm((PetscObject)pc),
                "hjacobi: -pc_hjacobi_monitor has nothing to print: it is for the stop tests of KSPRICHARDSON, and this KSP is %s%s; "
                "use -ksp_monitor\n",
                ((PetscObject)ksp)->type_name, richardson ? " without a norm" : ""));
  hj->silent = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPreSolve_HJacobi(PC pc, KSP ksp, Vec b, Vec x)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  PetscBool   was_chebyshev;

  PetscFunctionBegin;
  hj->ksp       = ksp;
  was_chebyshev = hj->chebyshev;
  PetscCall(PetscObjectTypeCompare((PetscObject)ksp, KSPCHEBYSHEV, &hj->chebyshev));
  if (hj->chebyshev && !was_chebyshev && hj->k > 1)
    PetscCall(PetscInfo(pc, "KSPCHEBYSHEV around PCHJACOBI is a polynomial of a polynomial: use -ksp_type richardson -ksp_max_it 1; on the "
                            "levels of PCMG "
                            "-mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1\n"));
  PetscCall(HJMonitorSilent(pc, ksp));
  if (hj->op && hj->op->slabs) PetscCall(HJSlabsKeep(hj->op->slabs));
  PetscCall(PetscTime(&hj->start));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCPostSolve_HJacobi(PC pc, KSP ksp, Vec b, Vec x)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  hj->ksp = NULL;
  if (hj->op && hj->op->slabs) PetscCall(HJSlabsRelease(hj->op->slabs));
  if (ksp->normtype != KSP_NORM_NONE) PetscCall(HJOperatorCheckExchanges()); /* else what was started may not have ended */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The test of KSPRICHARDSON at cycle it: its norm, its monitors, its history, its convergence function */
static PetscErrorCode HJTest(PC pc, PetscInt it, PetscReal norm)
{
  PC_HJacobi    *hj  = (PC_HJacobi *)pc->data;
  KSP            ksp = hj->ksp;
  PetscLogDouble now;

  PetscFunctionBegin;
  ksp->its   = it;
  ksp->rnorm = norm;
  PetscCall(KSPMonitor(ksp, it, norm));
  PetscCall(KSPLogResidualHistory(ksp, norm));
  if (hj->monitor) {
    PetscCall(PetscTime(&now));
    PetscCall(PetscPrintf(PetscObjectComm((PetscObject)pc), "hjacobi cycle %" PetscInt_FMT " norm %14.12e time %g s\n", it, (double)norm,
                          (double)(now - hj->start)));
  }
  PetscCall((*ksp->converged)(ksp, it, norm, &ksp->reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tests the residual before every segment of check_every cycles, as KSPRICHARDSON does with unpreconditioned norms */
static PetscErrorCode HJSolveResidual(PC pc, const HJIterates *how, Vec b, Vec x, Vec r, PetscInt its, PetscBool zero, PetscInt *it)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  PetscReal   norm;

  PetscFunctionBegin;
  for (*it = 0;;) {
    const PetscInt m = PetscMin(hj->check_every, its - *it);

    if (zero && !*it) PetscCall(VecNorm(b, NORM_2, &norm));
    else {
      PetscCall(MatResidual(pc->mat, b, x, r));
      PetscCall(VecNorm(r, NORM_2, &norm));
    }
    if (how->shown && zero && !*it) PetscCall(VecSet(x, 0.0));
    else if (how->shown && *it) PetscCall(HJIteratesRemove(how, x));
    PetscCall(HJTest(pc, *it, norm));
    if (zero && !*it && hj->ksp->reason) PetscCall(VecSet(x, 0.0));
    if (hj->ksp->reason || !m) break;
    PetscCall(HJAdvance(pc, m, (PetscBool)(zero && !*it), b, x));
    *it += m;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a run in slabs, whose x has had so many subiterations */
static PetscErrorCode HJTestSlabs(void *ctx, PetscCount done, PetscReal norm, PetscBool *stop)
{
  PC          pc = (PC)ctx;
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  PetscCall(HJTest(pc, (PetscInt)(done / hj->w.k), norm));
  *stop = (PetscBool)(hj->ksp->reason != 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The same as HJSolveUpdate() where that norm is to be had without the cycle: *done. No vector is kept, or taken back. Where visits can
   look a cycle ahead a norm costs no visit of its own, but the first
*/
static PetscErrorCode HJSolveSlabs(PC pc, Vec b, Vec x, NormType type, PetscInt its, PetscBool zero, PetscInt *it, PetscBool *done)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  PetscReal   norm;
  HJSlabCheck check;

  PetscFunctionBegin;
  PetscCall(HJMatrixStateIsCurrent(&hj->read, pc->mat, PetscObjectStateGet, done));
  *done = (PetscBool)(*done && hj->op && hj->op->slabs && !hj->host && HJSlabsCanUpdate(hj->op->slabs, &hj->w));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  if (zero) PetscCall(VecSet(x, 0.0));
  check = (HJSlabCheck){(PetscCount)hj->check_every * hj->w.k, hj->w.k, type, HJTestSlabs, pc};
  for (*it = 0;;) {
    const PetscInt m = PetscMin(hj->check_every, its - *it);

    PetscCall(HJOperatorUpdateNorm(hj->op, &hj->w, b, x, type, &norm));
    PetscCall(HJTest(pc, *it, norm));
    if (hj->ksp->reason || !m) break;
    if (HJSlabsCanLookAhead(hj->op->slabs, &hj->w)) {
      PetscCall(HJRunSlabs(pc, its, PETSC_FALSE, b, x, &check, it));
      break;
    }
    PetscCall(HJAdvance(pc, m, PETSC_FALSE, b, x));
    *it += m;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tests the update of the coming cycle, and takes it back where the test stops, as KSPRICHARDSON does with preconditioned norms. Where x is
   shown, or the update is not all that the cycle made, it is added after the test */
static PetscErrorCode HJSolveUpdate(PC pc, const HJIterates *how, Vec b, Vec x, Vec old, PetscInt its, PetscBool zero, PetscInt *it)
{
  PC_HJacobi     *hj    = (PC_HJacobi *)pc->data;
  const NormType  type  = hj->check_norm == PC_HJACOBI_CHECK_NORM_UPDATE_MAX ? NORM_INFINITY : NORM_2;
  const PetscBool later = (PetscBool)(how->shown || how->removed);
  PetscReal       norm;
  Vec             update;
  PetscBool       done = PETSC_FALSE;

  PetscFunctionBegin;
  if (!later) PetscCall(HJSolveSlabs(pc, b, x, type, its, zero, it, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJNeedWork(x, &hj->work[2]));
  update = hj->work[2];
  if (zero) PetscCall(VecSet(x, 0.0));
  for (*it = 0;;) {
    const PetscInt m = PetscMin(hj->check_every, its - *it);

    PetscCall(VecCopy(x, old));
    PetscCall(HJAdvance(pc, 1, (PetscBool)(zero && !*it), b, x));
    PetscCall(VecWAXPY(update, -1.0, old, x));
    if (how->removed) PetscCall(MatNullSpaceRemove(how->removed, update));
    if (later) PetscCall(VecCopy(old, x));
    PetscCall(VecNorm(update, type, &norm));
    PetscCall(HJTest(pc, *it, norm));
    if (hj->ksp->reason || !m) {
      if (!later) PetscCall(VecCopy(old, x));
      break;
    }
    if (later) PetscCall(VecAXPY(x, 1.0, update));
    if (m > 1) PetscCall(HJAdvance(pc, m - 1, PETSC_FALSE, b, x));
    *it += m;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Norm type NONE, or no KSP: all its, no norms, no synchronisation */
PetscErrorCode HJacobiRichardson(PC pc, const HJIterates *how, Vec b, Vec x, Vec w, PetscInt its, PetscBool zero, PetscInt *outits,
                                 PCRichardsonConvergedReason *reason)
{
  PC_HJacobi *hj  = (PC_HJacobi *)pc->data;
  KSP         ksp = hj->ksp;

  PetscFunctionBegin;
  PetscCall(PCHJacobiFollow(pc));
  if (HJHasFailed(&hj->failure)) {
    PetscCall(HJFailureApplyRichardson(x, outits, reason));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!ksp || ksp->normtype == KSP_NORM_NONE) {
    if (its > 0) PetscCall(HJAdvance(pc, its, zero, b, x));
    else if (zero) PetscCall(VecSet(x, 0.0));
    *outits = its;
    *reason = PCRICHARDSON_CONVERGED_ITS;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (ksp->normtype == KSP_NORM_UNPRECONDITIONED && hj->check_norm == PC_HJACOBI_CHECK_NORM_KSP)
    PetscCall(HJSolveResidual(pc, how, b, x, w, its, zero, outits));
  else PetscCall(HJSolveUpdate(pc, how, b, x, w, its, zero, outits));
  if (!ksp->reason) ksp->reason = KSP_DIVERGED_ITS;
  *reason = (PCRichardsonConvergedReason)ksp->reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tolerances come from the KSP, not from the arguments (PCMG's levels get them too) */
PetscErrorCode PCApplyRichardson_HJacobi(PC pc, Vec b, Vec x, Vec w, PetscReal rtol, PetscReal abstol, PetscReal dtol, PetscInt its,
                                         PetscBool zero, PetscInt *outits, PCRichardsonConvergedReason *reason)
{
  PetscFunctionBegin;
  PetscCall(HJacobiRichardson(pc, &(const HJIterates){NULL}, b, x, w, its, zero, outits, reason));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Set-up: which operator, which backend, which bounds; what can be kept when only values changed.
*/
#include "hjpc.h"

PetscLogEvent PCHJacobi_SetUp;

/* All that set-up has made */
static PetscErrorCode HJDestroyMade(PC pc)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  PetscCall(HJInnerDestroy(&hj->inner));
  PetscCall(HJOperatorDestroy(&hj->op));
  PetscCall(HJOperatorDestroy(&hj->transpose));
  PetscCall(HJOperatorDestroy(&hj->host));
  PetscCall(HJMatrixOpDestroy(&hj->matrix));
  PetscCall(HJMatrixOpDestroy(&hj->transpose_matrix));
  PetscCall(HJWeightsReset(&hj->w));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(hj->work); i++) PetscCall(VecDestroy(&hj->work[i]));
  hj->place          = NULL;
  hj->bound          = NULL;
  hj->chebyshev      = PETSC_FALSE;
  hj->zero_diagonals = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCReset_HJacobi(PC pc)
{
  PetscFunctionBegin;
  PetscCall(HJDestroyMade(pc));
  ((PC_HJacobi *)pc->data)->failure.words[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether cycles of the operator, made on the host, must be run slab by slab; an error where they must and cannot be. Collective */
static PetscErrorCode HJNeedsSlabs(PC pc, const HJOperator *op, size_t limit, PetscBool *needs)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  char        why[256];

  PetscFunctionBegin;
  *needs = (PetscBool)(HJSlabsInCoreBytes(&op->grid, op->stencil) > limit);
  PetscCall(HJOnAnyRank(PetscObjectComm((PetscObject)pc), needs));
  if (!*needs) PetscFunctionReturn(PETSC_SUCCESS);
  HJSlabsRefuse(op, why, sizeof(why));
  PetscCheck(!why[0] || !hj->device_memory, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP,
             "The cycles need %zu bytes of device memory, -pc_hjacobi_device_memory allows %zu, and %s",
             HJSlabsInCoreBytes(&op->grid, op->stencil), hj->device_memory, why);
  if (why[0]) *needs = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator of A on the host, with a device that sweeps it slab by slab, where that device's memory does not hold it; else NULL */
static PetscErrorCode HJMakeSlabs(PC pc, Mat A, DM da, const HJBackendOps *backend, HJOperator **op)
{
  PC_HJacobi      *hj    = (PC_HJacobi *)pc->data;
  const HJSlabOps *ops   = HJOperatorChooseSlabs(backend);
  size_t           limit = hj->device_memory;
  PetscInt         n;
  PetscBool        needs = PETSC_FALSE, maybe;

  PetscFunctionBegin;
  *op = NULL;
  if (!ops) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetLocalSize(A, &n, NULL));
  if (!limit) PetscCall(HJSlabsFreeMemory(PetscObjectComm((PetscObject)pc), ops, &limit));
  /* x, b and a copy; as many arrays as a row may have entries */
  maybe = (PetscBool)((size_t)n * (3 + 1 + HJ_MAX_NEIGHBORS) * sizeof(PetscScalar) > limit);
  PetscCall(HJOnAnyRank(PetscObjectComm((PetscObject)pc), &maybe));
  if (!maybe) PetscFunctionReturn(PETSC_SUCCESS);
  if (hj->overlap >= 0)
    PetscCall(HJOperatorCreate(A, da, hj->overlap, hj->tile, &HJBackendHost, &HJHaloPetscSF, op, hj->why, sizeof(hj->why)));
  else PetscCall(HJSlabsCreateOperator(A, da, hj->slab_height, op, hj->why, sizeof(hj->why)));
  if (!*op) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJNeedsSlabs(pc, *op, limit, &needs));
  if (needs) PetscCall(HJOperatorSetSlabs(*op, ops, limit, hj->slab_type, hj->slab_height));
  else PetscCall(HJOperatorDestroy(op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator of A on da, as the options have it; NULL and a reason where A is no stencil. followed: PCHJacobiFollow() looks after it, so
   that exact cycles may read the arrays of a stencil matrix where they are */
static PetscErrorCode PCHJacobiMakeOperator(PC pc, Mat A, DM da, const HJBackendOps *ops, const HJHaloOps *halo_ops, PetscBool followed,
                                            HJOperator **op)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  PetscInt    dof;

  PetscFunctionBegin;
  PetscCall(DMDAGetDof(da, &dof));
  *op = NULL;
  if (dof == 1) PetscCall(HJMakeSlabs(pc, A, da, ops, op)); /* devices have no slabs of several unknowns a point */
  if (!*op && followed && hj->overlap < 0)
    PetscCall(HJOperatorCreateInPlace(A, da, ops, halo_ops, PETSC_FALSE, PETSC_FALSE, op, hj->why, sizeof(hj->why)));
  else if (!*op) PetscCall(HJOperatorCreate(A, da, hj->overlap, hj->tile, ops, halo_ops, op, hj->why, sizeof(hj->why)));
  if (*op) (*op)->exchange_timeout = hj->exchange_timeout;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of several unknowns a point copies to a device have not been found to pay, however many subiterations follow; and not all can be there */
static PetscErrorCode HJChooseBackend(PC pc, PetscInt dof, const HJBackendOps **ops, const char **why)
{
  const PC_HJacobi *hj   = (const PC_HJacobi *)pc->data;
  const PetscBool   host = (PetscBool)(hj->backend == PC_HJACOBI_BACKEND_AUTO && !HJOperatorCanBeOnDevice(dof, hj->overlap));

  PetscFunctionBegin;
  PetscCall(HJOperatorChooseBackend(pc->pmat, host ? PC_HJACOBI_BACKEND_HOST : hj->backend, dof > 1 ? 1 : hj->k, ops, why));
  if (host) *why = "devices have no such cycles of several unknowns a point";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads the matrix: a stencil where it can and may be one */
static PetscErrorCode HJMakeOperators(PC pc)
{
  PC_HJacobi         *hj   = (PC_HJacobi *)pc->data;
  MPI_Comm            comm = PetscObjectComm((PetscObject)pc);
  const HJBackendOps *ops;
  const HJHaloOps    *halo_ops;
  DM                  dm, da = NULL;
  PetscInt            dof;

  PetscFunctionBegin;
  PetscCall(HJOperatorDestroy(&hj->op));
  PetscCall(HJMatrixOpDestroy(&hj->matrix));
  PetscCall(PetscStrncpy(hj->why, "asked for", sizeof(hj->why)));
  PetscCall(PCGetDM(pc, &dm));
  if (hj->operator_kind != PC_HJACOBI_OPERATOR_MATRIX) PetscCall(HJOperatorFindGrid(pc->pmat, dm, &da, hj->why, sizeof(hj->why)));
  if (da) PetscCall(DMDAGetDof(da, &dof));
  if (da && dof > 1 && hj->reduction > 0) { /* its estimate of the least eigenvalue is that of the diagonal */
    PetscCall(PetscStrncpy(hj->why, "-pc_hjacobi_reduction is for one unknown a point", sizeof(hj->why)));
    da = NULL;
  }
  if (da) {
    PetscCall(HJChooseBackend(pc, dof, &ops, &hj->why_backend));
    PetscCall(HJOperatorChooseExchange(comm, hj->exchange, ops, &halo_ops, &hj->why_exchange));
    PetscCall(PCHJacobiMakeOperator(pc, pc->pmat, da, ops, halo_ops, PETSC_TRUE, &hj->op));
  }
  PetscCheck(hj->op || hj->operator_kind != PC_HJACOBI_OPERATOR_STENCIL, comm, PETSC_ERR_SUP,
             "-pc_hjacobi_operator stencil: %s; use auto or matrix", hj->why);
  PetscCheck(hj->op || hj->overlap < 0, comm, PETSC_ERR_SUP,
             "-pc_hjacobi_overlap needs tiles, and the matrix operator has none (%s); leave the overlap unset", hj->why);
  if (hj->op) hj->zero_diagonals = hj->op->stencil->zero_diagonals;
  else PetscCall(HJMatrixOpCreate(pc->pmat, &hj->zero_diagonals, &hj->matrix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether another number of subiterations makes another backend pay */
static PetscErrorCode HJBackendStays(PC pc, PetscBool *stays)
{
  PC_HJacobi         *hj = (PC_HJacobi *)pc->data;
  const HJBackendOps *ops;
  const char         *why;

  PetscFunctionBegin;
  *stays = PETSC_TRUE;
  if (!hj->op || hj->backend != PC_HJACOBI_BACKEND_AUTO || hj->changed < HJ_CHANGED_WEIGHTS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJChooseBackend(pc, hj->op->grid.dof, &ops, &why));
  *stays = (PetscBool)(hj->op->slabs ? HJOperatorChooseSlabs(ops) != NULL : ops == hj->op->ops);
  if (*stays) hj->why_backend = why;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the arrays of the matrix are that the cycles read; NULL: they read none of its */
static PetscErrorCode HJFindPlace(PC pc, HJGetCoefficients get, const PetscScalar **place)
{
  PC_HJacobi           *hj = (PC_HJacobi *)pc->data;
  const HJCoefficients *c;

  PetscFunctionBegin;
  *place = NULL;
  if (!get || !hj->op || !hj->op->stencil->in_place) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall((*get)(pc->pmat, hj->op->ops->mtype, &c));
  *place = c->value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Keeps the operator that is there where it serves, gives it new values where the matrix has some, or has them elsewhere, else makes
   another */
static PetscErrorCode HJSetUpOperator(PC pc)
{
  PC_HJacobi        *hj = (PC_HJacobi *)pc->data;
  HJMatrixState      now;
  PetscBool          keep;
  const PetscScalar *place;
  DM                 dm;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)pc->pmat, HJ_GET_COEFFICIENTS, &hj->get_coefficients));
  PetscCall(HJFindPlace(pc, hj->get_coefficients, &place));
  PetscCall(PCGetDM(pc, &dm));
  PetscCall(HJMatrixStateGet(pc->pmat, dm, PetscObjectStateGet, &now));
  keep = (PetscBool)((hj->op || hj->matrix) && hj->changed < HJ_CHANGED_OPERATOR && HJMatrixStateIsSame(&now, &hj->read));
  if (keep) PetscCall(HJBackendStays(pc, &keep));
  if (!keep || now.values != hj->read.values || place != hj->place) {
    PetscCall(HJInnerDestroy(&hj->inner));
    PetscCall(HJOperatorDestroy(&hj->transpose));
    PetscCall(HJMatrixOpDestroy(&hj->transpose_matrix));
    PetscCall(HJOperatorDestroy(&hj->host));
    hj->changed = PetscMax(hj->changed, HJ_CHANGED_BOUNDS);
    hj->bound   = NULL;
    if (keep && hj->op) PetscCall(HJOperatorRefresh(hj->op, pc->pmat, &keep));
    else keep = PETSC_FALSE;
    if (keep) hj->zero_diagonals = hj->op->stencil->zero_diagonals;
    else PetscCall(HJMakeOperators(pc));
  }
  hj->read = now;
  PetscCall(HJFindPlace(pc, hj->get_coefficients, &hj->place));
  if (!hj->verify) PetscCall(HJOperatorDestroy(&hj->host));
  else if (hj->op && (hj->op->ops != &HJBackendHost || hj->op->slabs) && !hj->host)
    PetscCall(PCHJacobiMakeOperator(pc, pc->pmat, hj->op->da, &HJBackendHost, &HJHaloPetscSF, PETSC_FALSE, &hj->host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* emax of DESIGN: guaranteed where rows can be read, else 1.2 times an estimate */
static PetscErrorCode HJSetUpEmax(PC pc, Vec dinv)
{
  PC_HJacobi *hj    = (PC_HJacobi *)pc->data;
  PetscBool   known = PETSC_TRUE;
  HJBound     bound;
  const char *prefix;

  PetscFunctionBegin;
  if (hj->op) PetscCall(HJBoundOperator(hj->op, &bound));
  else PetscCall(HJBoundMatrix(pc->pmat, dinv, &known, &bound));
  if (!known) {
    PetscCall(PCGetOptionsPrefix(pc, &prefix));
    PetscCall(HJEstimateEmax(pc->pmat, dinv, NULL, prefix, &bound.emax));
    bound.emax   = PetscMax(1.2 * bound.emax, 1.0); /* as rows give it: where a diagonal is 0 it counts as 1 */
    bound.source = "1.2 times an estimate by GMRES, not guaranteed";
  }
  if (!(bound.emax > 0) || PetscIsInfOrNanReal(bound.emax)) PetscCall(HJFailureNoBound(bound.emax, -1, &hj->failure));
  hj->use_emax = bound.emax;
  hj->bound    = bound.source;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* emin and k so that a cycle reduces the error as asked for */
static PetscErrorCode HJSetUpReduction(PC pc, Vec dinv, PetscInt *k)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  PetscBool   settled;
  PetscReal   least;
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(PCGetOptionsPrefix(pc, &prefix));
  hj->use_emin = hj->emin;
  PetscCall(HJReductionLeastK(pc->pmat, dinv, hj->op ? hj->op->da : NULL, prefix, PETSC_TRUE, hj->reduction, hj->use_emax, &hj->use_emin,
                              &least, &settled));
  *k = (PetscInt)PetscMin(least, HJ_MAX_K);
  if (!settled || least > HJ_MAX_K)
    PetscCall(
      PetscInfo(pc,
                "%s: a reduction to %g on [%g, %g] needs k = %g, taken is %" PetscInt_FMT
                "; a factorisation may be the better solver (-mg_coarse_pc_type lu)\n",
                settled ? "Too many subiterations" : "The least eigenvalue of D^-1 A is not known well, the matrix may be unsymmetric",
                (double)hj->reduction, (double)hj->use_emin, (double)hj->use_emax, (double)least, *k));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bounds that the schedule is made for: what the user gave, else found; k changes where it is found too. Set-up may have failed */
static PetscErrorCode HJSetUpBounds(PC pc, PetscInt *k)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  Vec         dinv;
  PetscInt    zeros;

  PetscFunctionBegin;
  if (hj->matrix) {
    dinv = hj->matrix->dinv;
    PetscCall(PetscObjectReference((PetscObject)dinv));
  } else if (hj->reduction > 0) PetscCall(HJInverseDiagonal(pc->pmat, &dinv, &zeros));
  else dinv = NULL;
  hj->skew     = -1;
  hj->use_emax = hj->emax;
  if (hj->emax == PETSC_DECIDE) PetscCall(HJSetUpEmax(pc, dinv));
  else hj->bound = "set by the user";
  hj->use_emin  = hj->emin == PETSC_DECIDE ? hj->use_emax / 11 : hj->emin;
  hj->use_omega = hj->omega == PETSC_DECIDE ? 4.0 * hj->dim / ((2 * hj->dim + 1) * hj->use_emax) : hj->omega;
  if (hj->reduction > 0 && !HJHasFailed(&hj->failure)) PetscCall(HJSetUpReduction(pc, dinv, k));
  PetscCall(VecDestroy(&dinv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the grid, also where its matrix is no stencil */
static PetscErrorCode HJFindDimension(PC pc, PetscInt *dim)
{
  DM        dm[2];
  PetscBool isda = PETSC_FALSE;

  PetscFunctionBegin;
  *dim = 1;
  PetscCall(PCGetDM(pc, &dm[0]));
  PetscCall(MatGetDM(pc->pmat, &dm[1]));
  for (int i = 0; i < 2 && !isda; i++) {
    if (dm[i]) PetscCall(PetscObjectTypeCompare((PetscObject)dm[i], DMDA, &isda));
    if (isda) PetscCall(DMGetDimension(dm[i], dim));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCHJacobiAdviseK(PC pc, char words[], size_t len)
{
  PC_HJacobi     *hj      = (PC_HJacobi *)pc->data;
  const PetscBool jacobi  = (PetscBool)(hj->use_schedule == PC_HJACOBI_SCHEDULE_JACOBI);
  const char     *instead = jacobi ? "" : "-pc_hjacobi_schedule chebyshev, which bears more, or jacobi";
  const char     *before  = jacobi ? "" : ", or ";

  PetscFunctionBegin;
  words[0] = 0;
  if (hj->w.k > hj->safe_k) {
    PetscCall(PetscSNPrintf(words, len,
                            "k = %" PetscInt_FMT " is not safe for so unsymmetric a matrix (skew part of D^-1 A up to %.2g): use %s",
                            hj->w.k, (double)hj->skew, jacobi && !hj->safe_k ? "another preconditioner" : instead));
    if (hj->safe_k > 0)
      PetscCall(PetscSNPrintf(words + strlen(words), len - strlen(words), "%sk up to %" PetscInt_FMT, before, hj->safe_k));
  } else if (hj->use_schedule != hj->schedule) {
    PetscCall(PetscSNPrintf(words, len, "%s is not for so unsymmetric a matrix (skew part of D^-1 A up to %.2g)",
                            PCHJacobiSchedules[hj->schedule], (double)hj->skew));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The polynomials of the fourth kind grow fast off the real axis, where convection puts eigenvalues. Where nobody asked for them equal
   weights take their place, and where nobody asked for k and these would grow as well, so do fewer */
static PetscErrorCode HJSetUpSchedule(PC pc, PetscInt *k)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  hj->use_schedule = hj->schedule;
  hj->safe_k       = HJ_MAX_K;
  if (hj->schedule != PC_HJACOBI_SCHEDULE_CHEBYSHEV4 && hj->schedule != PC_HJACOBI_SCHEDULE_OPT_CHEBYSHEV4)
    PetscFunctionReturn(PETSC_SUCCESS);
  if (hj->skew < 0 && hj->op) PetscCall(HJBoundSkew(hj->op, &hj->skew));
  else if (hj->skew < 0) PetscCall(HJBoundSkewMatrix(pc->pmat, hj->matrix->dinv, &hj->skew));
  hj->safe_k = HJScheduleSafeK(hj->skew, hj->use_emax);
  if (hj->schedule_set || *k <= hj->safe_k) PetscFunctionReturn(PETSC_SUCCESS);
  hj->use_schedule = PC_HJACOBI_SCHEDULE_JACOBI;
  hj->safe_k       = HJScheduleSafeKJacobi(hj->skew, hj->use_emax, hj->use_omega);
  if (!hj->k_set) *k = PetscMin(*k, PetscMax(hj->safe_k, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSetUpWeights(PC pc)
{
  PC_HJacobi     *hj     = (PC_HJacobi *)pc->data;
  const PetscBool custom = (PetscBool)(hj->schedule == PC_HJACOBI_SCHEDULE_CUSTOM),
                  fixed  = (PetscBool)(hj->schedule == PC_HJACOBI_SCHEDULE_JACOBI && hj->omega != PETSC_DECIDE);
  PetscInt k             = hj->k;
  char     words[256];

  PetscFunctionBegin;
  if (hj->w.w && hj->changed < HJ_CHANGED_WEIGHTS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJFindDimension(pc, &hj->dim));
  PetscCheck(!custom || hj->nweights == hj->k, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ,
             "schedule custom needs k = %" PetscInt_FMT " weights and has %" PetscInt_FMT
             "; give them with -pc_hjacobi_weights or PCHJacobiSetWeights()",
             hj->k, hj->nweights);
  PetscCheck(hj->reduction == 0 || hj->schedule == PC_HJACOBI_SCHEDULE_CHEBYSHEV, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "-pc_hjacobi_reduction needs -pc_hjacobi_schedule chebyshev, not %s", PCHJacobiSchedules[hj->schedule]);
  if (custom || fixed) {
    hj->bound     = NULL;
    hj->use_omega = hj->omega;
  } else if (!hj->bound || hj->reduction > 0) PetscCall(HJSetUpBounds(pc, &k));
  if (HJHasFailed(&hj->failure)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJSetUpSchedule(pc, &k));
  PetscCall(HJWeightsReset(&hj->w));
  hj->w.k = k;
  PetscCall(PetscMalloc1(k, &hj->w.w));
  if (custom) PetscCall(PetscArraycpy(hj->w.w, hj->weights, k));
  else PetscCall(HJScheduleFill(PetscObjectComm((PetscObject)pc), hj->use_schedule, k, hj->use_emin, hj->use_emax, hj->use_omega, hj->w.w));
  PetscCall(PCHJacobiAdviseK(pc, words, sizeof(words)));
  if (words[0]) PetscCall(PetscInfo(pc, "%s\n", words));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Operator, bounds and weights for the values that the matrix has now; or set-up has failed */
static PetscErrorCode HJSetUpValues(PC pc)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  PetscCall(HJFailureClear(pc, &hj->failure));
  PetscCall(HJSetUpOperator(pc));
  if (hj->op && hj->op->stencil->singular[0]) PetscCall(HJFailureSingular(hj->op->stencil->singular, &hj->failure));
  else if (hj->op && PetscIsInfOrNanReal(hj->op->stencil->gershgorin))
    PetscCall(HJFailureNoBound(hj->op->stencil->gershgorin, -1, &hj->failure)); /* also where weights ask for none */
  else PetscCall(HJSetUpWeights(pc));
  if (HJHasFailed(&hj->failure)) PetscCall(HJDestroyMade(pc)); /* the next set-up begins anew */
  else if (hj->op) {
    PetscCall(HJOperatorPlanRun(hj->op, &hj->w, 1, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE, &hj->planned));
    PetscCall(HJInnerDestroy(&hj->inner));
    PetscCall(HJInnerCreate(pc->pmat, hj->op, &hj->w, &hj->inner));
  }
  hj->changed = HJ_CHANGED_NOTHING;
  PetscCall(HJFailureReport(pc, pc->erroriffailure, &hj->failure));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSetUp_HJacobi(PC pc)
{
  PetscInt M, N;

  PetscFunctionBegin;
  PetscCall(MatGetSize(pc->pmat, &M, &N));
  PetscCheck(M == N, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ,
             "PCHJACOBI needs a square matrix, this one is %" PetscInt_FMT " x %" PetscInt_FMT, M, N);
  PetscCall(PetscLogEventBegin(PCHJacobi_SetUp, pc, 0, 0, 0));
  PetscCall(HJSetUpValues(pc));
  PetscCall(PetscLogEventEnd(PCHJacobi_SetUp, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where cycles read the matrix's own arrays, and these have other values or are elsewhere, also where the preconditioner is used again,
   cycles are of the values that the matrix has now, with their bounds: as those of a level's smoother in PCMG */
PetscErrorCode PCHJacobiFollow(PC pc)
{
  PC_HJacobi        *hj = (PC_HJacobi *)pc->data;
  PetscBool          current;
  const PetscScalar *place;

  PetscFunctionBegin;
  if (!hj->place) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJMatrixStateIsCurrent(&hj->read, pc->pmat, PetscObjectStateGet, &current));
  if (current) PetscCall(HJFindPlace(pc, hj->get_coefficients, &place));
  if (current && place == hj->place) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscInfo(pc, "The matrix has changed, and cycles read its arrays: they are of its new values\n"));
  PetscCall(HJSetUpValues(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the matrix may be on the grid of the one that was read: a preconditioner that is used again may have got any of as many rows */
static PetscErrorCode HJIsOnGrid(PC pc, PetscBool *is)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  DM          dm, da;
  HJCut       cut[2][3];
  PetscInt    dof;

  PetscFunctionBegin;
  PetscCall(PCGetDM(pc, &dm));
  PetscCall(HJOperatorFindGrid(pc->pmat, dm, &da, hj->why, sizeof(hj->why)));
  *is = (PetscBool)(da != NULL);
  if (!da) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMDAGetDof(da, &dof));
  PetscCall(HJGridGetCuts(da, cut[0]));
  PetscCall(HJGridGetCuts(hj->op->da, cut[1]));
  *is = (PetscBool)(dof == hj->op->grid.dof);
  for (int d = 0; d < 3; d++) *is = (PetscBool)(*is && cut[0][d].N == cut[1][d].N && cut[0][d].n == cut[1][d].n);
  PetscCall(HJOnAllRanks(PetscObjectComm((PetscObject)pc), is));
  if (!*is) PetscCall(PetscStrncpy(hj->why, "it is on another grid", sizeof(hj->why)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator of A^T, made at first use: A's own where A was found to be symmetric; MatMultTranspose() where A^T is no stencil */
PetscErrorCode PCHJacobiTransposeOp(PC pc, HJOperator **op)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  Mat         At;
  PetscBool   is;
  const char *why;
  PetscInt    zeros;

  const HJBackendOps *ops = hj->op->ops;

  PetscFunctionBegin;
  *op = hj->op;
  if (hj->op->stencil->storage == HJ_SYMMETRIC) PetscFunctionReturn(PETSC_SUCCESS);
  if (!hj->transpose && !hj->transpose_matrix) {
    PetscCall(HJIsOnGrid(pc, &is));
    if (is) {
      PetscCall(MatTranspose(pc->pmat, MAT_INITIAL_MATRIX, &At));
      if (hj->op->slabs) PetscCall(HJOperatorChooseBackend(At, PC_HJACOBI_BACKEND_CUDA, hj->k, &ops, &why));
      PetscCall(PCHJacobiMakeOperator(pc, At, hj->op->da, ops, hj->op->halo_ops, PETSC_FALSE, &hj->transpose));
      PetscCall(MatDestroy(&At));
    }
    if (!hj->transpose) {
      PetscCall(PetscInfo(pc, "The transposed matrix is no stencil (%s): its cycles run through MatMultTranspose()\n", hj->why));
      PetscCall(HJMatrixOpCreate(pc->pmat, &zeros, &hj->transpose_matrix));
    }
  }
  *op = hj->transpose;
  PetscFunctionReturn(PETSC_SUCCESS);
}

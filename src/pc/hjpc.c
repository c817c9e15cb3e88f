/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The type: creation, options, view, registration.
*/
#include "hjpc.h"
#include <ctype.h>

static PetscBool PCHJacobiPackageInitialized = PETSC_FALSE;

/* A number of bytes, or of units of 1024, 1024^2, ... of them */
static PetscErrorCode PCHJacobiParseBytes(PC pc, const char *text, size_t *bytes)
{
  const char *const units = "KMGT";
  char             *end;
  double            value = strtod(text, &end);
  const char       *unit  = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;

  PetscFunctionBegin;
  for (const char *u = unit; u && u >= units; u--) value *= 1024;
  PetscCheck(end != text && value >= 0 && value < 1e18 && (!*end || (unit && !end[1])), PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_WRONG, "-pc_hjacobi_device_memory %s: give a number of bytes, or one with K, M, G or T behind it, such as 2.5G",
             text);
  *bytes = (size_t)value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads the list of weights; k and the schedule are the options' own, or negative where they were not given. One number more is asked
   for than there may be, so that none is left out in silence */
static PetscErrorCode PCHJacobiWeightsFromOptions(PC pc, PetscInt k, PetscInt schedule)
{
  PetscReal w[HJ_MAX_K + 1];
  PetscInt  n    = HJ_MAX_K + 1;
  MPI_Comm  comm = PetscObjectComm((PetscObject)pc);

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetRealArray(((PetscObject)pc)->options, ((PetscObject)pc)->prefix, "-pc_hjacobi_weights", w, &n, NULL));
  PetscCheck(k < 0 || k == n, comm, PETSC_ERR_ARG_INCOMP,
             "-pc_hjacobi_weights gives %" PetscInt_FMT " weights, and -pc_hjacobi_k %" PetscInt_FMT
             " asks for another number; leave -pc_hjacobi_k out",
             n, k);
  PetscCheck(schedule < 0 || schedule == PC_HJACOBI_SCHEDULE_CUSTOM, comm, PETSC_ERR_ARG_INCOMP,
             "-pc_hjacobi_weights is for -pc_hjacobi_schedule custom, and -pc_hjacobi_schedule %s has weights of its own; leave one of "
             "the two out",
             PCHJacobiSchedules[schedule]);
  PetscCall(PCHJacobiSetWeights(pc, n, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory of the device, and what is done where it does not hold the grid */
static PetscErrorCode PCHJacobiSlabsFromOptions(PC pc, HJOptionItems PetscOptionsObject)
{
  PC_HJacobi       *hj     = (PC_HJacobi *)pc->data;
  PCHJacobiSlabType type   = hj->slab_type;
  PetscInt          height = hj->slab_height;
  PetscBool         flg;
  size_t            memory;
  char              bytes[64];

  PetscFunctionBegin;
  PetscCall(PetscOptionsString("-pc_hjacobi_device_memory", "Bytes of device memory, with K, M, G or T (0: what is free)",
                               "PCHJacobiSetDeviceMemory", "0", bytes, sizeof(bytes), &flg));
  if (flg) PetscCall(PCHJacobiParseBytes(pc, bytes, &memory));
  if (flg) PetscCall(PCHJacobiSetDeviceMemory(pc, memory));
  PetscCall(PetscOptionsEnum("-pc_hjacobi_slab_type", "Slabs that are skewed or overlap", "PCHJacobiSetSlabType", PCHJacobiSlabTypes,
                             (PetscEnum)type, (PetscEnum *)&type, &flg));
  if (flg) PetscCall(PCHJacobiSetSlabType(pc, type));
  PetscCall(PetscOptionsInt("-pc_hjacobi_slab_height", "Subiterations of a visit of a slab (-1: found)", "PCHJacobiSetSlabHeight", height,
                            &height, &flg));
  if (flg) PetscCall(PCHJacobiSetSlabHeight(pc, height));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Weights and how many there are. An array takes one number more than it may have, so that too many are seen */
static PetscErrorCode PCHJacobiPolynomialFromOptions(PC pc, HJOptionItems PetscOptionsObject)
{
  PC_HJacobi       *hj = (PC_HJacobi *)pc->data;
  PetscInt          k = hj->k, n = 3;
  PetscReal         omega = hj->omega, reduction = hj->reduction, eig[3] = {hj->emin, hj->emax};
  PCHJacobiSchedule schedule = hj->schedule;
  PetscBool         flg, given_k, given_schedule;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInt("-pc_hjacobi_k", "Subiterations of a cycle", "PCHJacobiSetK", k, &k, &given_k));
  if (given_k) PetscCall(PCHJacobiSetK(pc, k));
  PetscCall(PetscOptionsReal("-pc_hjacobi_reduction", "Reduction of the error by a cycle, k is found", "PCHJacobiSetReduction", reduction,
                             &reduction, &flg));
  if (flg) PetscCall(PCHJacobiSetReduction(pc, reduction));
  PetscCall(PetscOptionsEnum("-pc_hjacobi_schedule", "Polynomial of the weights", "PCHJacobiSetSchedule", PCHJacobiSchedules,
                             (PetscEnum)schedule, (PetscEnum *)&schedule, &given_schedule));
  if (given_schedule) PetscCall(PCHJacobiSetSchedule(pc, schedule));
  PetscCall(PetscOptionsName("-pc_hjacobi_weights", "Weights of the custom schedule", "PCHJacobiSetWeights", &flg));
  /* PetscOptionsRealArray() would make -help print HJ_MAX_K numbers */
  if (flg) PetscCall(PCHJacobiWeightsFromOptions(pc, given_k ? k : -1, given_schedule ? (PetscInt)schedule : -1));
  PetscCall(PetscOptionsReal("-pc_hjacobi_omega", "Damping of the jacobi schedule (-1: found)", "PCHJacobiSetOmega", omega, &omega, &flg));
  if (flg) PetscCall(PCHJacobiSetOmega(pc, omega));
  PetscCall(PetscOptionsRealArray("-pc_hjacobi_eigenvalues", "Bounds emin,emax of the eigenvalues of D^-1 A (-1: found)",
                                  "PCHJacobiSetEigenvalues", eig, &n, &flg));
  if (!flg) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(n == 2, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_WRONG, "-pc_hjacobi_eigenvalues takes two numbers, emin,emax");
  PetscCall(PCHJacobiSetEigenvalues(pc, eig[1], eig[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJacobiTilesFromOptions(PC pc, HJOptionItems PetscOptionsObject)
{
  PC_HJacobi *hj      = (PC_HJacobi *)pc->data;
  PetscInt    overlap = hj->overlap, tile[4] = {hj->tile[0], hj->tile[1], hj->tile[2]}, n = 4;
  PetscBool   flg;

  PetscFunctionBegin;
  PetscCall(
    PetscOptionsInt("-pc_hjacobi_overlap", "Points shared between tiles (-1: exact)", "PCHJacobiSetOverlap", overlap, &overlap, &flg));
  if (flg) PetscCall(PCHJacobiSetOverlap(pc, overlap));
  PetscCall(PetscOptionsIntArray("-pc_hjacobi_tile", "Tile size x,y,z with an overlap", "PCHJacobiSetTile", tile, &n, &flg));
  if (!flg) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(n >= 1 && n <= 3, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_WRONG, "-pc_hjacobi_tile takes one to three numbers, x,y,z");
  PetscCall(PCHJacobiSetTile(pc, tile[0], tile[n > 1 ? 1 : 0], tile[n - 1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJacobiTestsFromOptions(PC pc, HJOptionItems PetscOptionsObject)
{
  PC_HJacobi        *hj     = (PC_HJacobi *)pc->data;
  PetscInt           every  = hj->check_every;
  PCHJacobiCheckNorm norm   = hj->check_norm;
  PetscBool          verify = hj->verify, flg;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInt("-pc_hjacobi_check_every", "Cycles between stop tests", "PCHJacobiSetCheckEvery", every, &every, &flg));
  if (flg) PetscCall(PCHJacobiSetCheckEvery(pc, every));
  PetscCall(PetscOptionsEnum("-pc_hjacobi_check_norm", "Norm of the stop test", "PCHJacobiSetCheckNorm", PCHJacobiCheckNorms,
                             (PetscEnum)norm, (PetscEnum *)&norm, &flg));
  if (flg) PetscCall(PCHJacobiSetCheckNorm(pc, norm));
  PetscCall(PetscOptionsBool("-pc_hjacobi_monitor", "A line a stop test: norm, time", "PCHJACOBI", hj->monitor, &hj->monitor, NULL));
  PetscCall(PetscOptionsBool("-pc_hjacobi_verify", "Run host and device, stop on a mismatch", "PCHJACOBI", verify, &verify, NULL));
  if (verify == hj->verify) PetscFunctionReturn(PETSC_SUCCESS);
  hj->verify = verify;
  PetscCall(PCHJacobiChanged(pc, HJ_CHANGED_VERIFY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetFromOptions_HJacobi(PC pc, HJOptionItems PetscOptionsObject)
{
  PC_HJacobi       *hj       = (PC_HJacobi *)pc->data;
  PetscReal         timeout  = hj->exchange_timeout;
  PCHJacobiBackend  backend  = hj->backend;
  PCHJacobiOperator op       = hj->operator_kind;
  PCHJacobiExchange exchange = hj->exchange;
  PetscBool         flg;

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Hierarchical Jacobi options");
  PetscCall(PCHJacobiPolynomialFromOptions(pc, PetscOptionsObject));
  PetscCall(PCHJacobiTilesFromOptions(pc, PetscOptionsObject));
  PetscCall(PetscOptionsEnum("-pc_hjacobi_backend", "Where the cycles run", "PCHJacobiSetBackend", PCHJacobiBackends, (PetscEnum)backend,
                             (PetscEnum *)&backend, &flg));
  if (flg) PetscCall(PCHJacobiSetBackend(pc, backend));
  PetscCall(PetscOptionsEnum("-pc_hjacobi_operator", "How the operator is applied", "PCHJacobiSetOperator", PCHJacobiOperators,
                             (PetscEnum)op, (PetscEnum *)&op, &flg));
  if (flg) PetscCall(PCHJacobiSetOperator(pc, op));
  PetscCall(HJExchangeFromOptions(PetscOptionsObject, PetscObjectComm((PetscObject)pc), &exchange, &timeout));
  PetscCall(PCHJacobiSetExchange(pc, exchange));
  PetscCall(PCHJacobiSetExchangeTimeout(pc, timeout));
  PetscCall(PCHJacobiSlabsFromOptions(pc, PetscOptionsObject));
  PetscCall(PCHJacobiTestsFromOptions(pc, PetscOptionsObject));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_HJacobi_Slabs(HJSlabs slabs, PetscViewer viewer)
{
  HJSlabsInfo info;
  PetscReal   updates;

  PetscFunctionBegin;
  HJSlabsGetInfo(slabs, &info);
  updates = info.points / 1e9;
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "slabs: swept by %s (%s), %g of %g MB of its memory; %" PetscInt_FMT
                                   " subiterations a visit, %" PetscInt_FMT " planes a %s\n",
                                   info.device, info.kernels, info.plan->bytes / 1e6, info.limit / 1e6, info.plan->height,
                                   info.plan->thickness, HJSlabIsPyramid(info.plan) ? "pyramid" : "skewed slab"));
  if (info.depth)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "slabs: on each rank, after a halo of depth %" PetscInt_FMT " (%g s) each visit of the grid%s\n",
                                     info.depth, (double)(info.rates->exchange * info.plan->height),
                                     info.copied ? ", from copies of x and b in host memory" : ""));
  PetscCall(PetscViewerASCIIPrintf(viewer, "slabs: predicted %g G updates/s; copies alone %g, sweeps alone %g\n",
                                   (double)(updates / info.plan->seconds), (double)(updates / info.plan->copy),
                                   (double)(updates / info.plan->sweep)));
  if (info.subiterations)
    PetscCall(PetscViewerASCIIPrintf(viewer, "slabs: %" PetscInt64_FMT " subiterations so far, %g s (predicted %g s), %g s to pin memory\n",
                                     (PetscInt64)info.subiterations, (double)info.measured, (double)info.predicted, (double)info.pinning));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_HJacobi_Stencil(PC pc, PetscViewer viewer)
{
  PC_HJacobi       *hj             = (PC_HJacobi *)pc->data;
  const HJOperator *op             = hj->op;
  const HJStencil  *st             = op->stencil;
  const char       *storage[]      = {"dictionary", "variable", "variable, symmetric half"};
  const PetscInt    arrays         = st->dof > 1 ? st->nentries : st->nslots;
  const PetscReal   coefficients[] = {st->index ? 1.0 : 0.0, (PetscReal)arrays * sizeof(PetscScalar),
                                    (st->nslots / 2 + 1.0) * sizeof(PetscScalar)}; /* bytes a point */
  char              rows[32]       = "";
  HJPlan            plan;

  PetscFunctionBegin;
  if (st->storage == HJ_DICTIONARY)
    PetscCall(PetscSNPrintf(rows, sizeof(rows), " of %" PetscInt_FMT " row%s", st->nrows, st->nrows == 1 ? "" : "s"));
  else if (st->in_place) PetscCall(PetscStrncpy(rows, ", the matrix's own", sizeof(rows)));
  PetscCall(PetscViewerASCIIPrintf(viewer, "operator: stencil, %" PetscInt_FMT "D %s, %" PetscInt_FMT " points, %s%s\n", st->dim,
                                   st->shape == HJ_STAR ? "star" : "box", st->nslots, storage[st->storage], rows));
  if (st->dof > 1)
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "unknowns: %" PetscInt_FMT " a point, %" PetscInt_FMT " entries of D^-1 and %" PetscInt_FMT
                                     " of neighbours that are not 0\n",
                                     st->dof, st->ninverse, st->nentries - st->ninverse));
  PetscCall(PetscViewerASCIIPrintf(viewer, "backend: %s (%s), kernels: %s\n", op->ops->name, hj->why_backend,
                                   op->ops->kernels(op->backend, op->overlap < 0 ? NULL : op->tile)));
  if (hj->inner) PetscCall(HJInnerView(hj->inner, viewer));
  HJPlanFill(&op->grid, &op->limits, hj->w.k, 1, op->overlap, PETSC_FALSE, &plan);
  if (op->slabs) PetscCall(PetscViewerASCIIPrintf(viewer, "mode: exact; symmetric if the matrix is\n"));
  else if (op->overlap < 0) {
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "mode: exact, %" PetscInt_FMT " pass%s and %g bytes a point a cycle; symmetric if the matrix is\n",
                                     (PetscInt)plan.npasses, plan.npasses == 1 ? "" : "es",
                                     (double)(HJPlanBytes(&op->grid, &plan, coefficients[st->storage]) / HJBoxSize(&op->grid.owned))));
  } else {
    PetscCall(PetscViewerASCIIPrintf(viewer,
                                     "mode: stale, overlap %" PetscInt_FMT ", tile %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
                                     "; %s\n",
                                     op->overlap, op->tile[0], st->dim > 1 ? op->tile[1] : 1, st->dim > 2 ? op->tile[2] : 1,
                                     op->overlap ? "not symmetric: no transpose, use with KSPFGMRES or KSPRICHARDSON rather than KSPCG"
                                                 : "depends on the ranks"));
  }
  if (op->slabs) PetscCall(PCView_HJacobi_Slabs(op->slabs, viewer));
  if (op->slabs) PetscFunctionReturn(PETSC_SUCCESS);
  if (op->limits.wraps && op->overlap < 0) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "halo: none, sweeps wrap\n"));
  } else if (HJGridHasNeighbors(&op->grid)) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "halo: depth %" PetscInt_FMT ", exchange %s (%s)\n", plan.depth, op->halo_ops->name,
                                     hj->why_exchange));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list of custom, or its beginning */
static PetscErrorCode PCView_HJacobi_Weights(PC pc, PetscViewer viewer)
{
  const PC_HJacobi *hj    = (const PC_HJacobi *)pc->data;
  const PetscInt    shown = PetscMin(hj->w.k, 8);

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "weights:"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  for (PetscInt i = 0; i < shown; i++) PetscCall(PetscViewerASCIIPrintf(viewer, " %g", (double)hj->w.w[i]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", shown < hj->w.k ? " ..." : ""));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Beside bounds of the user's stands that of the rows: numbers that are meant for A, or for another matrix, are seen by it */
static PetscErrorCode PCView_HJacobi_Eigenvalues(PC pc, PetscViewer viewer)
{
  const PC_HJacobi *hj       = (const PC_HJacobi *)pc->data;
  char              emin[32] = "", rows[64] = "";

  PetscFunctionBegin;
  if (hj->use_schedule == PC_HJACOBI_SCHEDULE_CHEBYSHEV) PetscCall(PetscSNPrintf(emin, sizeof(emin), "emin %g, ", (double)hj->use_emin));
  if (hj->emax != PETSC_DECIDE && hj->op)
    PetscCall(PetscSNPrintf(rows, sizeof(rows), "; Gershgorin's bound is %g", (double)hj->op->stencil->gershgorin));
  PetscCall(PetscViewerASCIIPrintf(viewer, "eigenvalues of D^-1 A: %semax %g (%s%s)\n", emin, (double)hj->use_emax, hj->bound, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_HJacobi(PC pc, PetscViewer viewer)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  PetscBool   ascii, made = (PetscBool)(hj->w.w != NULL);
  char        words[256];

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscViewerASCIIPushTab(viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "schedule: %s, k = %" PetscInt_FMT "; hjacobi %s\n",
                                   PCHJacobiSchedules[made ? hj->use_schedule : hj->schedule], made ? hj->w.k : hj->k,
                                   HJACOBI_VERSION_STRING));
  if (!hj->op && !hj->matrix) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "%s: operator %s, backend %s\n",
                                     HJHasFailed(&hj->failure) ? "set-up failed" : "not yet set up", PCHJacobiOperators[hj->operator_kind],
                                     PCHJacobiBackends[hj->backend]));
    if (HJHasFailed(&hj->failure)) PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", hj->failure.words));
    PetscCall(PetscViewerASCIIPopTab(viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (hj->use_schedule == PC_HJACOBI_SCHEDULE_CUSTOM) PetscCall(PCView_HJacobi_Weights(pc, viewer));
  if (hj->use_schedule == PC_HJACOBI_SCHEDULE_JACOBI) PetscCall(PetscViewerASCIIPrintf(viewer, "omega: %g\n", (double)hj->use_omega));
  else if (hj->omega != PETSC_DECIDE)
    PetscCall(PetscViewerASCIIPrintf(viewer, "omega: %g was set, but schedule jacobi alone takes it\n", (double)hj->omega));
  if (hj->bound) PetscCall(PCView_HJacobi_Eigenvalues(pc, viewer));
  else if (hj->emax != PETSC_DECIDE && hj->changed == HJ_CHANGED_NOTHING)
    PetscCall(PetscViewerASCIIPrintf(viewer, "eigenvalues: set, but not needed by schedule %s, whose weights were set too\n",
                                     PCHJacobiSchedules[hj->use_schedule]));
  PetscCall(PCHJacobiAdviseK(pc, words, sizeof(words)));
  if (words[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "%s\n", words));
  if (hj->reduction > 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "reduction of a cycle: %g, asked for %g (k found%s)\n",
                                     (double)HJScheduleReduction(hj->w.k, hj->use_emin, hj->use_emax), (double)hj->reduction,
                                     hj->emin == PETSC_DECIDE ? ", emin: least Ritz value over 1.2" : ""));
  if (hj->op) PetscCall(PCView_HJacobi_Stencil(pc, viewer));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "operator: matrix through MatMult (%s)\n", hj->why));
  if (hj->zero_diagonals)
    PetscCall(PetscViewerASCIIPrintf(viewer, "diagonal: 1 used for %" PetscInt_FMT " zero entries\n", hj->zero_diagonals));
  if (hj->verify)
    PetscCall(PetscViewerASCIIPrintf(viewer, "verify: %s\n",
                                     hj->host ? "every cycle is compared with the host" : "nothing to compare, no device is in use"));
  if (hj->chebyshev && hj->k > 1)
    PetscCall(PetscViewerASCIIPrintf(viewer, "inside KSPCHEBYSHEV, a polynomial of this polynomial: use -ksp_type richardson -ksp_max_it "
                                             "1; on the levels of PCMG "
                                             "-mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1\n"));
  PetscCall(PetscViewerASCIIPopTab(viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCDestroy_HJacobi(PC pc)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  PetscCall(PCReset_HJacobi(pc));
  PetscCall(PetscFree(hj->weights));
  PetscCall(PCHJacobiComposeSetters(pc, PETSC_FALSE));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, HJ_RICHARDSON, NULL));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   PCHJACOBI - hierarchical Jacobi on structured grids: `k` Jacobi or Chebyshev subiterations at about the memory traffic of one

   Options Database Keys:
+  -pc_hjacobi_k <4>                                                          - subiterations of a cycle
.  -pc_hjacobi_overlap <-1>                                                   - points shared between tiles; -1 (`PETSC_DECIDE`): exact
.  -pc_hjacobi_tile <32,32,32>                                                - tile size, with an overlap
.  -pc_hjacobi_schedule <jacobi,chebyshev,chebyshev4,opt_chebyshev4,custom>   - polynomial of the weights, default chebyshev4,
                                                                                 or jacobi where that would grow
.  -pc_hjacobi_weights <w_1,...>                                              - weights of the custom schedule
.  -pc_hjacobi_omega <4d / ((2d + 1) emax)>                                   - damping of the jacobi schedule
.  -pc_hjacobi_eigenvalues <emin,emax>                                        - bounds of the eigenvalues of D^-1 A
.  -pc_hjacobi_reduction <0>                                                  - a cycle's reduction of the error, to find emin and k; 0: off
.  -pc_hjacobi_operator <auto,stencil,matrix>                                 - how the operator is applied
.  -pc_hjacobi_device_memory <bytes>                                          - of the GPU; a grid that needs more is swept in slabs
.  -pc_hjacobi_check_every <1>                                                - cycles between stop tests of `KSPRICHARDSON`
-  -pc_hjacobi_monitor                                                        - a line a stop test: norm, time; progress of slabs

   Options Database Keys for tests and measurements:
+  -pc_hjacobi_backend <auto,host,cuda>             - where the cycles run
.  -hj_exchange <auto,petscsf,nccl,ipc>             - transport of the halo between ranks, with the prefix of the preconditioner
.  -hj_exchange_timeout <t, default 300>            - seconds that a GPU waits for another's halo
.  -pc_hjacobi_slab_type <auto>                     - slabs: skewed, pyramid (they overlap), auto (the faster)
.  -pc_hjacobi_slab_height <-1>                     - subiterations of a visit of a slab; -1: found
.  -pc_hjacobi_check_norm <ksp,update_max>          - norm of the stop test
-  -pc_hjacobi_verify                               - run host and device, stop with an error on a mismatch; transposed cycles are not
                                                      compared

   Level: intermediate

   Notes:
   Made to be the level smoother of `PCMG` in place of Chebyshev/Jacobi:
   `-mg_levels_ksp_type richardson -mg_levels_ksp_max_it 1 -mg_levels_pc_type hjacobi`. With `-mg_levels_pc_type hjacobi` alone `PCMG`
   leaves `KSPCHEBYSHEV` around the cycle, a polynomial of a polynomial, which smooths less for its work; `-ksp_view` and `-info` say so.
   With `KSPRICHARDSON` or `KSPHJRICHARDSON` alone it is the solver of the papers.

   An AIJ matrix on a `DMDA` (at most 27 points in a row) is read into stencil coefficients at set-up, those of a `MATHJSTENCIL` are read
   where they are; every other matrix runs the same subiterations through `MatMult()`. `-ksp_view` says which and why.

   Where a point has several unknowns D is the point's block, as with `PCPBJACOBI`, and the matrix is a `MATHJSTENCIL`, AIJ or BAIJ; a
   block that has no inverse makes set-up fail. A GPU does that for up to 8 unknowns a point, one subiteration after another, or a few at
   once where all points of a plane have one row; of a `MATHJSTENCIL` on one rank set-up is the GPU's, else the CPU's. What has more, and
   tiles (`PCHJacobiSetOverlap()`), are done on the CPU.

   Where an entry of the matrix is NaN or infinite, or a diagonal so small that its inverse is, set-up fails as that of PETSc's own
   preconditioners does: the `KSP` ends with `KSP_DIVERGED_PC_FAILED`, and `SNES` and `TS` can take a smaller step; good values are then
   set up again. `-info` and `-ksp_view` say why. With `-ksp_error_if_not_converged` it is an error.

   Used again for a matrix with new values (`KSPSetReusePreconditioner()`) the cycles of a stencil are those of the old values, and
   `KSPRICHARDSON` solves with the new ones by them. Those that read the arrays of a `MATHJSTENCIL` itself, as they do on a GPU on one rank
   without periodic boundaries, are of the new values, with new bounds. Those that run through `MatMult()` are of the new values with the
   bound of the old ones, which is not safe where values grow much: do not use these again.

   A grid that does not fit into the memory of the GPU stays in that of the host, and the GPU sweeps it in slabs, many subiterations
   a visit; see `PCHJacobiSetDeviceMemory()`. So does the finest level of `PCMG`; `PCHJMG` has no slabs.

   By default the result is exactly that of `k` global subiterations x <- x + w_j D^-1 (b - A x), on any number of ranks; it is
   symmetric for a symmetric matrix. With an overlap it is the stale method of Islam & Wang, Hierarchical Jacobi Iteration for
   Structured Matrices on GPUs using Shared Memory (2020): restricted additive Schwarz on tiles.

.seealso: `PCCreate()`, `PCSetType()`, `PC`, `PCJACOBI`, `KSPHJRICHARDSON`, `KSPCHEBYSHEV`, `PCMG`, `PCHJacobiSetK()`,
          `PCHJacobiSetOverlap()`, `PCHJacobiSetTile()`, `PCHJacobiSetSchedule()`, `PCHJacobiSetWeights()`, `PCHJacobiSetOmega()`,
          `PCHJacobiSetEigenvalues()`, `PCHJacobiSetReduction()`, `PCHJacobiSetBackend()`, `PCHJacobiSetOperator()`,
          `PCHJacobiSetExchange()`, `PCHJacobiSetExchangeTimeout()`, `PCHJacobiSetCheckEvery()`, `PCHJacobiSetCheckNorm()`,
          `PCHJacobiSetDeviceMemory()`, `PCHJacobiSetSlabType()`, `PCHJacobiSetSlabHeight()`
M*/
static PetscErrorCode PCCreate_HJacobi(PC pc)
{
  PC_HJacobi *hj;

  PetscFunctionBegin;
  PetscCall(PetscNew(&hj));
  pc->data    = (void *)hj;
  hj->k       = 4;
  hj->overlap = PETSC_DECIDE;
  hj->tile[0] = hj->tile[1] = hj->tile[2] = 32;
  hj->check_every                         = 1;
  hj->exchange_timeout                    = HJ_EXCHANGE_TIMEOUT;
  hj->slab_type                           = PC_HJACOBI_SLAB_AUTO;
  hj->slab_height                         = PETSC_DECIDE;
  hj->omega = hj->emax = hj->emin = PETSC_DECIDE;
  hj->schedule = hj->use_schedule = PC_HJACOBI_SCHEDULE_CHEBYSHEV4;

  pc->ops->setup           = PCSetUp_HJacobi;
  pc->ops->reset           = PCReset_HJacobi;
  pc->ops->destroy         = PCDestroy_HJacobi;
  pc->ops->apply           = PCApply_HJacobi;
  pc->ops->applytranspose  = PCApplyTranspose_HJacobi;
  pc->ops->applyrichardson = PCApplyRichardson_HJacobi;
  pc->ops->presolve        = PCPreSolve_HJacobi;
  pc->ops->postsolve       = PCPostSolve_HJacobi;
  pc->ops->setfromoptions  = PCSetFromOptions_HJacobi;
  pc->ops->view            = PCView_HJacobi;
  PetscCall(PCHJacobiComposeSetters(pc, PETSC_TRUE));
  PetscCall(PetscObjectComposeFunction((PetscObject)pc, HJ_RICHARDSON, HJacobiRichardson));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   PCHJacobiFinalizePackage - Forgets that `PCHJACOBI` was registered; called by `PetscFinalize()`

   Level: developer

.seealso: `PCHJACOBI`, `PCHJacobiInitializePackage()`
@*/
PetscErrorCode PCHJacobiFinalizePackage(void)
{
  PetscFunctionBegin;
  PCHJacobiPackageInitialized = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The PETSc that this library was compiled for, and the one that is loaded, must have the same structs: else the first use of one crashes.
   The version comes first, into room for indices of either size; what is called after it has the types that are known here
*/
static PetscErrorCode HJCheckPETSc(void)
{
  const char   *cure          = "Build hjacobi with the PETSc of the program: make PETSC_DIR=... PETSC_ARCH=...";
  PetscInt      version[4][2] = {{0}}; /* [0]: the number */
  size_t        index_bytes   = 0;
  PetscDataType scalar, real;
  PetscBool     found[2];

  PetscFunctionBegin;
  PetscCall(PetscGetVersionNumber(version[0], version[1], version[2], version[3]));
  PetscCheck(version[0][0] == PETSC_VERSION_MAJOR && version[1][0] == PETSC_VERSION_MINOR, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "This libhjacobi was built with PETSc %d.%d, and the program runs PETSc %d.%d. %s", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR,
             (int)version[0][0], (int)version[1][0], cure);
  PetscCall(PetscDataTypeGetSize(PETSC_INT, &index_bytes));
  PetscCheck(index_bytes == sizeof(PetscInt), PETSC_COMM_SELF, PETSC_ERR_LIB,
             "This libhjacobi was built with indices of %d bits, and the PETSc of the program has %d. %s", 8 * (int)sizeof(PetscInt),
             8 * (int)index_bytes, cure);
  PetscCall(PetscDataTypeFromString("scalar", &scalar, &found[0]));
  PetscCall(PetscDataTypeFromString("real", &real, &found[1]));
  PetscCheck(found[0] && found[1] && scalar == PETSC_SCALAR && real == PETSC_REAL, PETSC_COMM_SELF, PETSC_ERR_LIB,
             "This libhjacobi was built with real numbers in %s precision, and the PETSc of the program has others. %s; it needs one "
             "without "
             "--with-scalar-type=complex, in double or single precision",
             HJ_BY_PRECISION("double", "single"), cure);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   PCHJacobiInitializePackage - Registers `PCHJACOBI`, `PCHJMG`, their matrix and solver types and events; `-dll_append` does so by itself

   Level: developer

   Note:
   For programs that link the library. May be called more than once, after `PetscInitialize()`. A program that runs another PETSc than the
   library was built with (another minor version, other indices, complex numbers) gets an error that names both.

.seealso: `PCHJACOBI`, `PCRegister()`
@*/
PetscErrorCode PCHJacobiInitializePackage(void)
{
  PetscFunctionBegin;
  if (PCHJacobiPackageInitialized) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJCheckPETSc());
  PCHJacobiPackageInitialized = PETSC_TRUE;
  PetscCall(PCInitializePackage());
  PetscCall(PCRegister(PCHJACOBI, PCCreate_HJacobi));
  PetscCall(PetscLogEventRegister("PCHJacobiSetUp", PC_CLASSID, &PCHJacobi_SetUp));
  PetscCall(PetscLogEventRegister("PCHJacobiCycle", PC_CLASSID, &PCHJacobi_Cycle));
  PetscCall(PetscLogEventRegister("PCHJacobiHalo", PC_CLASSID, &PCHJacobi_Halo));
  PetscCall(MatHJStencilInitializePackage());
  PetscCall(PCHJMGInitializePackage());
  PetscCall(KSPHJInitializePackage());
  PetscCall(PetscRegisterFinalize(PCHJacobiFinalizePackage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCHJacobiGetVersion - Gets the version of the library that runs

   Not Collective

   Output Parameters:
+  major    - the first number, or `NULL`
.  minor    - the second, or `NULL`
-  subminor - the third, or `NULL`

   Level: developer

   Notes:
   A program was compiled with `HJACOBI_VERSION_MAJOR`, `HJACOBI_VERSION_MINOR` and `HJACOBI_VERSION_SUBMINOR`, together
   `HJACOBI_VERSION_STRING`. Libraries of one major and minor version have one binary interface. May be called before `PetscInitialize()`.

.seealso: `PCHJACOBI`, `PCHJacobiInitializePackage()`, `PetscGetVersionNumber()`
@*/
PetscErrorCode PCHJacobiGetVersion(PetscInt *major, PetscInt *minor, PetscInt *subminor)
{
  PetscFunctionBegin;
  if (major) *major = HJACOBI_VERSION_MAJOR;
  if (minor) *minor = HJACOBI_VERSION_MINOR;
  if (subminor) *subminor = HJACOBI_VERSION_SUBMINOR;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What -dll_append calls: the name comes from the library's file name */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_hjacobi(void);
PetscErrorCode              PetscDLLibraryRegister_hjacobi(void)
{
  PetscFunctionBegin;
  PetscCall(PCHJacobiInitializePackage());
  PetscFunctionReturn(PETSC_SUCCESS);
}

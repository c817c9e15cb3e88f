/*
   Set-up: which operator, which backend, which bounds; what can be kept when only values changed.
*/
#include "hjpc.h"

PetscErrorCode HJWeightsExtend(HJWeights *w, PetscInt len)
{
  PetscFunctionBegin;
  if (len <= w->len) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscRealloc(len * sizeof(PetscReal), &w->cycled));
  for (PetscInt i = w->len; i < len; i++) w->cycled[i] = w->w[i % w->k];
  w->len = len;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJWeightsReset(HJWeights *w)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(w->w));
  PetscCall(PetscFree(w->cycled));
  w->len = w->k = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJStencilOpsDestroy(PC_HJacobi *hj)
{
  PetscFunctionBegin;
  PetscCall(HJStencilOpDestroy(&hj->stencil));
  PetscCall(HJStencilOpDestroy(&hj->transpose));
  PetscCall(HJStencilOpDestroy(&hj->host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCReset_HJacobi(PC pc)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  PetscCall(HJStencilOpsDestroy(hj));
  PetscCall(HJMatrixOpDestroy(&hj->matrix));
  PetscCall(HJWeightsReset(&hj->w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(HJACOBI_HAVE_CUDA)
/* Host vectors travel to the GPU and back each apply. From this many subiterations on that is less than what the GPU saves, on grids whose work also makes
   up for starting a GPU: an H200 beside a core of its host (bench_gpu -cases staged) */
  #define HJ_STAGE_K      8
  #define HJ_STAGE_POINTS 500000

/* Whether all ranks have a GPU, and enough points to copy. Collective */
static PetscErrorCode HJFindGPU(PC pc, PetscBool *available, PetscBool *large)
{
  PetscInt n[2];

  PetscFunctionBegin;
  PetscCall(HJCUDAAvailable(available));
  PetscCall(MatGetLocalSize(pc->pmat, &n[1], NULL));
  n[0] = *available ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, n, 2, MPIU_INT, MPI_MIN, PetscObjectComm((PetscObject)pc)));
  *available = (PetscBool)(n[0] == 1);
  *large     = (PetscBool)(n[1] >= HJ_STAGE_POINTS);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJChooseGPU(PC pc, const HJBackendOps **ops)
{
  PC_HJacobi *hj     = (PC_HJacobi *)pc->data;
  PetscBool   forced = (PetscBool)(hj->backend == PC_HJACOBI_BACKEND_CUDA), available, large, on_gpu = PETSC_FALSE, bound = PETSC_FALSE, pays;

  PetscFunctionBegin;
  PetscCall(HJFindGPU(pc, &available, &large));
  PetscCheck(available || !forced, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "-pc_hjacobi_backend cuda: no GPU or no driver on this machine; use host or auto");
  PetscCall(PetscObjectTypeCompareAny((PetscObject)pc->pmat, &on_gpu, MATSEQAIJCUSPARSE, MATMPIAIJCUSPARSE, ""));
  PetscCall(MatBoundToCPU(pc->pmat, &bound));
  pays = (PetscBool)(!on_gpu && large && hj->k >= HJ_STAGE_K);
  if (forced || (available && (on_gpu ? !bound : pays))) *ops = &HJBackendCUDA;
  if (!forced) hj->why_backend = !available ? "no GPU here" : !on_gpu ? (pays ? "matrix on the host, so large that copies pay" : "matrix on the host") : bound ? "matrix bound to the CPU" : "matrix on the GPU";
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Where the data is, or where it pays to copy it */
static PetscErrorCode HJChooseBackend(PC pc, const HJBackendOps **ops)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  *ops            = &HJBackendHost;
  hj->why_backend = "asked for";
  if (hj->backend == PC_HJACOBI_BACKEND_HOST) PetscFunctionReturn(PETSC_SUCCESS);
#if defined(HJACOBI_HAVE_CUDA)
  PetscCall(HJChooseGPU(pc, ops));
#else
  PetscCheck(hj->backend != PC_HJACOBI_BACKEND_CUDA, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "-pc_hjacobi_backend cuda: built without CUDA; use host or auto, or build with nvcc in the PATH");
  hj->why_backend = "built without CUDA";
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Between GPUs what is asked for, or the fastest that is there; else PetscSF, which works everywhere. Collective */
static PetscErrorCode HJChooseExchange(PC pc, const HJBackendOps *backend, const HJHaloOps **ops)
{
  PC_HJacobi *hj        = (PC_HJacobi *)pc->data;
  MPI_Comm    comm      = PetscObjectComm((PetscObject)pc);
  PetscBool   available = PETSC_FALSE;

  PetscFunctionBegin;
  *ops             = &HJHaloPetscSF;
  hj->why_exchange = "asked for";
  if (hj->exchange == PC_HJACOBI_EXCHANGE_PETSCSF) PetscFunctionReturn(PETSC_SUCCESS);
  hj->why_exchange = "the others are for GPUs, the backend is host";
#if defined(HJACOBI_HAVE_CUDA)
  if (PetscMemTypeDevice(backend->mtype) && hj->exchange != PC_HJACOBI_EXCHANGE_NCCL) {
    PetscCall(HJIPCAvailable(comm, &available, &hj->why_exchange));
    if (available) *ops = &HJHaloIPC;
  }
  if (PetscMemTypeDevice(backend->mtype) && !available && hj->exchange != PC_HJACOBI_EXCHANGE_IPC) {
  #if defined(HJACOBI_HAVE_NCCL)
    PetscCall(HJNCCLAvailable(comm, &available, &hj->why_exchange));
    if (available) *ops = &HJHaloNCCL;
  #else
    if (hj->exchange == PC_HJACOBI_EXCHANGE_NCCL) hj->why_exchange = "built without NCCL";
  #endif
  }
#endif
  PetscCheck(available || hj->exchange == PC_HJACOBI_EXCHANGE_AUTO, comm, PETSC_ERR_SUP, "-pc_hjacobi_exchange %s: %s; use petscsf or auto", PCHJacobiExchanges[hj->exchange], hj->why_exchange);
  if (hj->exchange != PC_HJACOBI_EXCHANGE_AUTO) hj->why_exchange = "asked for";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The DMDA that P lives on, from the PC, else from the matrix; why says what stands in the way */
static PetscErrorCode HJFindGrid(PC pc, DM *da)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  DM          candidate[2];

  PetscFunctionBegin;
  *da = NULL;
  PetscCall(PCGetDM(pc, &candidate[0]));
  PetscCall(MatGetDM(pc->pmat, &candidate[1]));
  PetscCall(PetscStrncpy(hj->why, "no DM is attached to the PC or the matrix", sizeof(hj->why)));
  for (PetscInt i = 0; i < 2 && !*da; i++) {
    if (!candidate[i] || (i && candidate[1] == candidate[0])) continue;
    PetscCall(HJStencilCheckDM(pc->pmat, candidate[i], hj->why, sizeof(hj->why)));
    if (!hj->why[0]) *da = candidate[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJCheckStale(PC pc, const HJGrid *grid, PetscInt tile[3])
{
  PC_HJacobi *hj   = (PC_HJacobi *)pc->data;
  MPI_Comm    comm = PetscObjectComm((PetscObject)pc);

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) tile[d] = hj->tile_set ? hj->tile[d] : 32;
  if (hj->overlap < 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < grid->dim; d++)
    PetscCheck(hj->overlap < tile[d], comm, PETSC_ERR_ARG_OUTOFRANGE, "overlap = %" PetscInt_FMT " must be smaller than the tile, %" PetscInt_FMT " points in direction %" PetscInt_FMT "; lower -pc_hjacobi_overlap or raise -pc_hjacobi_tile",
               hj->overlap, tile[d], d);
  PetscCheck(grid->min_width >= hj->overlap / 2 + 1, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "overlap = %" PetscInt_FMT " needs ranks at least %" PetscInt_FMT " points wide, the thinnest has %" PetscInt_FMT "; lower -pc_hjacobi_overlap, use fewer ranks, or leave the overlap unset (exact mode)", hj->overlap, hj->overlap / 2 + 1,
             grid->min_width);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of a GPU matrix are read on the GPU; NULL: on the host. Collective */
static PetscErrorCode HJChooseReader(Mat A, const HJBackendOps *ops, const HJRowReader **reader)
{
  PetscFunctionBegin;
  *reader = NULL;
#if defined(HJACOBI_HAVE_CUDA)
  if (PetscMemTypeDevice(ops->mtype)) PetscCall(HJCUDAGetReader(A, reader));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stencil operator of A on da with backend and halo; NULL and a reason where A is no stencil */
static PetscErrorCode HJMakeStencilOp(PC pc, Mat A, DM da, const HJBackendOps *ops, const HJHaloOps *halo_ops, HJStencilOp **op)
{
  PC_HJacobi        *hj = (PC_HJacobi *)pc->data;
  HJGrid             grid;
  HJStencil         *st;
  PetscInt           tile[3];
  char               why[256];
  const HJRowReader *reader;

  PetscFunctionBegin;
  *op = NULL;
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(HJCheckStale(pc, &grid, tile));
  PetscCall(HJChooseReader(A, ops, &reader));
  PetscCall(HJStencilCreate(A, da, &grid, HJPlanPad(&grid, hj->overlap), reader, &st, hj->why, sizeof(hj->why)));
  if (!st) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJStencilOpCreate(da, &grid, st, hj->overlap, tile, ops, halo_ops, op));
  if (hj->overlap >= 0) {
    PetscCall(ops->check_tile((*op)->backend, tile, why, sizeof(why)));
    PetscCheck(!why[0], PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "-pc_hjacobi_tile: %s", why);
  }
  hj->dim = grid.dim;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the coefficients that are there; *kept is false where a new operator must be made */
static PetscErrorCode HJRefreshStencilOp(PC pc, HJStencilOp *op, PetscBool *kept)
{
  const HJRowReader *reader;

  PetscFunctionBegin;
  PetscCall(HJChooseReader(pc->pmat, op->ops, &reader));
  PetscCall(HJStencilRefresh(op->stencil, pc->pmat, op->da, &op->grid, reader, kept));
  if (*kept) PetscCall(op->ops->refresh(op->backend, op->stencil));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSetUpOperator(PC pc)
{
  PC_HJacobi         *hj   = (PC_HJacobi *)pc->data;
  MPI_Comm            comm = PetscObjectComm((PetscObject)pc);
  const HJBackendOps *ops;
  const HJHaloOps    *halo_ops;
  PetscBool           kept = PETSC_FALSE;
  DM                  da   = NULL;

  PetscFunctionBegin;
  PetscCall(HJMatrixOpDestroy(&hj->matrix));
  PetscCall(HJStencilOpDestroy(&hj->transpose));
  PetscCall(HJStencilOpDestroy(&hj->host));
  if (hj->stencil && pc->setupcalled && pc->flag == SAME_NONZERO_PATTERN) PetscCall(HJRefreshStencilOp(pc, hj->stencil, &kept));
  if (!kept) {
    PetscCall(HJStencilOpDestroy(&hj->stencil));
    PetscCall(PetscStrncpy(hj->why, "asked for", sizeof(hj->why)));
    if (hj->op != PC_HJACOBI_OPERATOR_MATRIX) PetscCall(HJFindGrid(pc, &da));
    if (da) {
      PetscCall(HJChooseBackend(pc, &ops));
      PetscCall(HJChooseExchange(pc, ops, &halo_ops));
      PetscCall(HJMakeStencilOp(pc, pc->pmat, da, ops, halo_ops, &hj->stencil));
    }
    PetscCheck(hj->stencil || hj->op != PC_HJACOBI_OPERATOR_STENCIL, comm, PETSC_ERR_SUP, "-pc_hjacobi_operator stencil: %s; use auto or matrix", hj->why);
    PetscCheck(hj->stencil || hj->overlap < 0, comm, PETSC_ERR_SUP, "-pc_hjacobi_overlap needs tiles, and the matrix operator has none (%s); leave the overlap unset", hj->why);
  }
  if (hj->stencil) hj->zero_diagonals = hj->stencil->stencil->zero_diagonals;
  else PetscCall(HJMatrixOpCreate(pc->pmat, &hj->zero_diagonals, &hj->matrix));
  if (hj->verify && hj->stencil && PetscMemTypeDevice(hj->stencil->ops->mtype)) PetscCall(HJMakeStencilOp(pc, pc->pmat, hj->stencil->da, &HJBackendHost, &HJHaloPetscSF, &hj->host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The bound of DESIGN: what the user gave, else Gershgorin where it is at most 2, else 1.1 times the estimate, never above Gershgorin */
static PetscErrorCode HJSetUpBounds(PC pc)
{
  PC_HJacobi *hj         = (PC_HJacobi *)pc->data;
  PetscBool   known      = PETSC_FALSE;
  PetscReal   gershgorin = PETSC_MAX_REAL;
  const char *prefix;
  Vec         dinv;
  PetscInt    zeros;

  PetscFunctionBegin;
  hj->bound    = "set by the user";
  hj->use_emax = hj->emax;
  if (hj->emax == PETSC_DECIDE) {
    if (hj->stencil) {
      known      = PETSC_TRUE;
      gershgorin = hj->stencil->stencil->gershgorin;
    } else PetscCall(HJGershgorin(pc->pmat, &known, &gershgorin));
    hj->bound    = "Gershgorin";
    hj->use_emax = gershgorin;
    if (!known || gershgorin > 2.0 + 100 * PETSC_MACHINE_EPSILON) {
      if (hj->matrix) {
        dinv = hj->matrix->dinv;
        PetscCall(PetscObjectReference((PetscObject)dinv));
      } else PetscCall(HJInverseDiagonal(pc->pmat, &dinv, &zeros));
      PetscCall(PCGetOptionsPrefix(pc, &prefix));
      PetscCall(HJEstimateEmax(pc->pmat, dinv, hj->stencil ? hj->stencil->da : NULL, prefix, &hj->use_emax));
      PetscCall(VecDestroy(&dinv));
      hj->use_emax *= 1.1;
      hj->bound = "1.1 times the GMRES estimate";
      if (known && gershgorin < hj->use_emax) {
        hj->use_emax = gershgorin;
        hj->bound    = "Gershgorin, below 1.1 times the estimate";
      }
    }
  }
  hj->use_emin  = hj->emin == PETSC_DECIDE ? hj->use_emax / 11 : hj->emin;
  hj->use_omega = hj->omega == PETSC_DECIDE ? 4.0 * hj->dim / ((2 * hj->dim + 1) * hj->use_emax) : hj->omega;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJSetUpWeights(PC pc)
{
  PC_HJacobi     *hj     = (PC_HJacobi *)pc->data;
  const PetscBool custom = (PetscBool)(hj->schedule == PC_HJACOBI_SCHEDULE_CUSTOM), fixed = (PetscBool)(hj->schedule == PC_HJACOBI_SCHEDULE_JACOBI && hj->omega != PETSC_DECIDE);

  PetscFunctionBegin;
  if (!hj->dim) hj->dim = 1;
  PetscCheck(!custom || hj->nweights == hj->k, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ, "schedule custom needs k = %" PetscInt_FMT " weights and has %" PetscInt_FMT "; give them with -pc_hjacobi_weights or PCHJacobiSetWeights()", hj->k,
             hj->nweights);
  if (!custom && !fixed) PetscCall(HJSetUpBounds(pc));
  else {
    hj->bound     = NULL;
    hj->use_omega = hj->omega;
  }
  PetscCall(HJWeightsReset(&hj->w));
  hj->w.k = hj->k;
  PetscCall(PetscMalloc1(hj->k, &hj->w.w));
  if (custom) PetscCall(PetscArraycpy(hj->w.w, hj->weights, hj->k));
  else PetscCall(HJScheduleFill(hj->schedule, hj->k, hj->use_emin, hj->use_emax, hj->use_omega, hj->w.w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCSetUp_HJacobi(PC pc)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  PetscInt    M, N;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(PCHJacobi_SetUp, pc, 0, 0, 0));
  PetscCall(MatGetSize(pc->pmat, &M, &N));
  PetscCheck(M == N, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_SIZ, "PCHJACOBI needs a square matrix, this one is %" PetscInt_FMT " x %" PetscInt_FMT, M, N);
  PetscCall(HJSetUpOperator(pc));
  PetscCall(HJSetUpWeights(pc));
  if (hj->stencil) PetscCall(HJStencilOpPrepare(hj->stencil, &hj->w, 1, PETSC_TRUE));
  PetscCall(PetscLogEventEnd(PCHJacobi_SetUp, pc, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operator of A^T, made at first use: A's own where A is known to be symmetric */
PetscErrorCode PCHJacobiTransposeOp(PC pc, HJStencilOp **op)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  PetscBool   set, symmetric;
  Mat         At;

  PetscFunctionBegin;
  *op = hj->stencil;
  PetscCall(MatIsSymmetricKnown(pc->pmat, &set, &symmetric));
  if ((set && symmetric) || hj->stencil->stencil->storage == HJ_SYMMETRIC) PetscFunctionReturn(PETSC_SUCCESS);
  if (!hj->transpose) {
    PetscCall(MatTranspose(pc->pmat, MAT_INITIAL_MATRIX, &At));
    PetscCall(HJMakeStencilOp(pc, At, hj->stencil->da, hj->stencil->ops, hj->stencil->halo_ops, &hj->transpose));
    PetscCall(MatDestroy(&At));
    PetscCheck(hj->transpose, PetscObjectComm((PetscObject)pc), PETSC_ERR_SUP, "The transposed matrix is no stencil (%s); use -pc_hjacobi_operator matrix", hj->why);
  }
  *op = hj->transpose;
  PetscFunctionReturn(PETSC_SUCCESS);
}

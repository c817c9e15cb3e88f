/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Setters, getters and their manual pages. Each setter checks its argument, and makes the next use of the PC set up anew what
   depends on it.
*/
#include "hjpc.h"
#include "operator/hjmethods.h"

const char *const PCHJacobiSchedules[]  = {"jacobi", "chebyshev",         "chebyshev4",           "opt_chebyshev4",
                                           "custom", "PCHJacobiSchedule", "PC_HJACOBI_SCHEDULE_", NULL};
const char *const PCHJacobiBackends[]   = {"auto", "host", "cuda", "PCHJacobiBackend", "PC_HJACOBI_BACKEND_", NULL};
const char *const PCHJacobiOperators[]  = {"auto", "stencil", "matrix", "PCHJacobiOperator", "PC_HJACOBI_OPERATOR_", NULL};
const char *const PCHJacobiSlabTypes[]  = {"auto", "skewed", "pyramid", "PCHJacobiSlabType", "PC_HJACOBI_SLAB_", NULL};
const char *const PCHJacobiCheckNorms[] = {"ksp", "update_max", "PCHJacobiCheckNorm", "PC_HJACOBI_CHECK_NORM_", NULL};

PetscErrorCode PCHJacobiChanged(PC pc, HJChange change)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  hj->changed     = PetscMax(hj->changed, change);
  pc->setupcalled = PETSC_FALSE;
  if (change >= HJ_CHANGED_BOUNDS) hj->bound = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJacobiSetK_HJacobi(PC pc, PetscInt k)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCheck(k > 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE, "k = %" PetscInt_FMT " must be at least 1", k);
  PetscCheck(k <= HJ_MAX_K, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "k = %" PetscInt_FMT " must be at most %d; use more cycles (-ksp_max_it) instead", k, HJ_MAX_K);
  same      = (PetscBool)(hj->k == k && (hj->k_set || !hj->w.w || hj->w.k == k)); /* where nobody asked for k set-up may have taken fewer */
  hj->k     = k;
  hj->k_set = PETSC_TRUE;
  if (!same) PetscCall(PCHJacobiChanged(pc, HJ_CHANGED_WEIGHTS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJacobiGetK_HJacobi(PC pc, PetscInt *k)
{
  const PC_HJacobi *hj = (const PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  *k = (hj->reduction > 0 || !hj->k_set) && hj->w.w ? hj->w.k : hj->k;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCHJacobiSetK - Sets the number of subiterations of a cycle

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJACOBI`
-  k - number of subiterations, 1 to 1024; default 4, fewer where a matrix is so unsymmetric that 4 would grow

   Options Database Key:
.  -pc_hjacobi_k <k, default 4> - subiterations

   Level: beginner

   Notes:
   In exact mode a cycle is exactly `k` global Jacobi subiterations, run in as few passes over memory as the tiles allow.
   With overlap set it is the `k` of Islam & Wang (2020), section 3.3. `PCHJacobiSetReduction()` finds k by itself.

.seealso: `PCHJACOBI`, `PCHJacobiGetK()`
@*/
HJ_PUBLIC_SETTER(PCHJacobiSetK, PetscInt, Int)

/*@
   PCHJacobiGetK - Gets the number of subiterations of a cycle

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameter:
.  k - number of subiterations, 1 to 1024, default 4; with `PCHJacobiSetReduction()`, after `PCSetUp()`, the number that was found

   Level: beginner

.seealso: `PCHJACOBI`, `PCHJacobiSetK()`
@*/
HJ_PUBLIC_GETTER(PCHJacobiGetK, PetscInt)

static PetscErrorCode PCHJacobiSetOverlap_HJacobi(PC pc, PetscInt overlap)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  if (overlap != PETSC_DECIDE) {
    PetscCheck(overlap >= 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "overlap = %" PetscInt_FMT " must not be negative; leave it unset (PETSC_DECIDE) for exact mode", overlap);
    PetscCheck(overlap % 2 == 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "overlap = %" PetscInt_FMT " must be even: each of two tiles owns half of the shared points", overlap);
  }
  if (hj->overlap == overlap) PetscFunctionReturn(PETSC_SUCCESS);
  hj->overlap = overlap;
  PetscCall(PCHJacobiChanged(pc, HJ_CHANGED_OPERATOR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HJ_FIELD_GETTER(PCHJacobiGetOverlap_HJacobi, PC_HJacobi, PetscInt, overlap)

/*@
   PCHJacobiSetOverlap - Sets the number of points that adjacent tiles share

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJACOBI`
-  overlap - even number of points, or `PETSC_DECIDE` (exact, the default)

   Options Database Key:
.  -pc_hjacobi_overlap <overlap, default PETSC_DECIDE> - points

   Level: intermediate

   Notes:
   `PETSC_DECIDE` is exact mode: the result is that of global Jacobi, whatever the tiles and ranks.
   Otherwise the rings of the tiles are stale during a cycle, as in Islam & Wang (2020), section 3.5: cheaper a subiteration,
   and the result depends on tiles and ranks. With overlap above 0 the preconditioner is not symmetric. An overlap of at least
   2 (k - 1) is exact again.

.seealso: `PCHJACOBI`, `PCHJacobiGetOverlap()`, `PCHJacobiSetTile()`
@*/
HJ_PUBLIC_SETTER(PCHJacobiSetOverlap, PetscInt, Int)

/*@
   PCHJacobiGetOverlap - Gets the number of points that adjacent tiles share

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameter:
.  overlap - even number of points, or `PETSC_DECIDE` (exact, the default)

   Level: intermediate

.seealso: `PCHJACOBI`, `PCHJacobiSetOverlap()`
@*/
HJ_PUBLIC_GETTER(PCHJacobiGetOverlap, PetscInt)

static PetscErrorCode PCHJacobiSetTile_HJacobi(PC pc, PetscInt x, PetscInt y, PetscInt z)
{
  PC_HJacobi    *hj      = (PC_HJacobi *)pc->data;
  const PetscInt tile[3] = {x, y, z};

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++)
    PetscCheck(tile[d] > 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "tile = %" PetscInt_FMT " in direction %" PetscInt_FMT " must be at least 1", tile[d], d);
  if (hj->tile[0] == x && hj->tile[1] == y && hj->tile[2] == z) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscArraycpy(hj->tile, tile, 3));
  PetscCall(PCHJacobiChanged(pc, HJ_CHANGED_OPERATOR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJacobiGetTile_HJacobi(PC pc, PetscInt *x, PetscInt *y, PetscInt *z)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  if (x) *x = hj->tile[0];
  if (y) *y = hj->tile[1];
  if (z) *z = hj->tile[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCHJacobiSetTile - Sets the size of a tile

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJACOBI`
.  x  - points in x
.  y  - points in y, any positive number on a 1D grid
-  z  - points in z, any positive number on a 1D or 2D grid

   Options Database Key:
.  -pc_hjacobi_tile <x,y,z> - points; directions left out take the last number given

   Level: intermediate

   Note:
   Used with an overlap (stale mode), default 32 in each direction. In exact mode the planner chooses; the result does not depend on it.
   A direction of tiles one point thin has no overlap: with tiles 32,1 many lines that are coupled in x alone are solved beside one
   another, each as a 1D problem.

.seealso: `PCHJACOBI`, `PCHJacobiGetTile()`, `PCHJacobiSetOverlap()`
@*/
PetscErrorCode PCHJacobiSetTile(PC pc, PetscInt x, PetscInt y, PetscInt z)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, x, 2);
  PetscValidLogicalCollectiveInt(pc, y, 3);
  PetscValidLogicalCollectiveInt(pc, z, 4);
  PetscTryMethod(pc, "PCHJacobiSetTile_C", (PC, PetscInt, PetscInt, PetscInt), (pc, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCHJacobiGetTile - Gets the size of a tile

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameters:
+  x - points in x, or `NULL`
.  y - points in y, or `NULL`
-  z - points in z, or `NULL`

   Level: intermediate

.seealso: `PCHJACOBI`, `PCHJacobiSetTile()`
@*/
PetscErrorCode PCHJacobiGetTile(PC pc, PetscInt *x, PetscInt *y, PetscInt *z)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  if (x) PetscAssertPointer(x, 2);
  if (y) PetscAssertPointer(y, 3);
  if (z) PetscAssertPointer(z, 4);
  PetscUseMethod(pc, "PCHJacobiGetTile_C", (PC, PetscInt *, PetscInt *, PetscInt *), (pc, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJacobiSetSchedule_HJacobi(PC pc, PCHJacobiSchedule schedule)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;
  PetscBool   same;

  PetscFunctionBegin;
  PetscCheck((int)schedule >= 0 && schedule <= PC_HJACOBI_SCHEDULE_CUSTOM, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "Unknown value %d; see the manual page of PCHJacobiSetSchedule()", (int)schedule);
  same             = (PetscBool)(hj->schedule == schedule && hj->use_schedule == schedule);
  hj->schedule     = schedule;
  hj->schedule_set = PETSC_TRUE;
  if (!same) PetscCall(PCHJacobiChanged(pc, HJ_CHANGED_BOUNDS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HJ_FIELD_GETTER(PCHJacobiGetSchedule_HJacobi, PC_HJacobi, PCHJacobiSchedule, schedule)

/*@
   PCHJacobiSetSchedule - Sets the polynomial that the weights come from

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJACOBI`
-  schedule - the schedule

   Options Database Key:
.  -pc_hjacobi_schedule <jacobi,chebyshev,chebyshev4,opt_chebyshev4,custom> - default chebyshev4

   Level: intermediate

   Notes:
   The weights are the reciprocal roots of the polynomial in Leja order. `chebyshev4` and `opt_chebyshev4` are the fourth kinds of
   Lottes, Optimal polynomial smoothers for multigrid V-cycles (2023); they need emax alone.

   Where no schedule is set, and the matrix is so unsymmetric that `k` subiterations of `chebyshev4` would grow, as with much
   convection, `jacobi` is taken: its weights stay safe there. `-ksp_view` says which one it is.

.seealso: `PCHJACOBI`, `PCHJacobiGetSchedule()`, `PCHJacobiSetEigenvalues()`, `PCHJacobiSetWeights()`
@*/
HJ_PUBLIC_SETTER(PCHJacobiSetSchedule, PCHJacobiSchedule, Enum)

/*@
   PCHJacobiGetSchedule - Gets the polynomial that the weights come from

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameter:
.  schedule - the schedule

   Level: intermediate

.seealso: `PCHJACOBI`, `PCHJacobiSetSchedule()`
@*/
HJ_PUBLIC_GETTER(PCHJacobiGetSchedule, PCHJacobiSchedule)

/* A cycle changes what has the mean eigenvalue 1 of D^-1 A by the sum of its weights, of which there are HJ_MAX_K at most; those of a
   polynomial have a sum of about k^2 / emax at most. Below this a cycle of any k changes nothing but by rounding. So near 1 a polynomial of
   first kind comes within [emin, emax] where emin is that small */
#define HJ_LEAST_WEIGHT (PETSC_MACHINE_EPSILON / ((PetscReal)HJ_MAX_K * HJ_MAX_K))

static PetscErrorCode PCHJacobiSetWeights_HJacobi(PC pc, PetscInt n, const PetscReal w[])
{
  PC_HJacobi *hj   = (PC_HJacobi *)pc->data;
  PetscBool   same = PETSC_FALSE, zero = PETSC_TRUE;
  PetscReal  *copy;

  PetscFunctionBegin;
  PetscCheck(n > 0 && n <= HJ_MAX_K, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "number of weights %" PetscInt_FMT " must be 1 to %d", n, HJ_MAX_K);
  for (PetscInt i = 0; i < n; i++) {
    PetscCheck(!PetscIsInfOrNanReal(w[i]), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
               "weight %" PetscInt_FMT " = %g must be finite", i + 1, (double)w[i]);
    if (PetscAbsReal(w[i]) >= HJ_LEAST_WEIGHT) zero = PETSC_FALSE;
  }
  PetscCheck(!zero, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "all %" PetscInt_FMT
             " weights are 0 or next to it (below %g): such a cycle does nothing, and a solver would take it for converged",
             n, (double)HJ_LEAST_WEIGHT);
  if (hj->nweights == n) PetscCall(PetscArraycmp(hj->weights, w, n, &same));
  if (same && hj->k == n && hj->schedule == PC_HJACOBI_SCHEDULE_CUSTOM) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(n, &copy)); /* w may be the list that is there */
  PetscCall(PetscArraycpy(copy, w, n));
  PetscCall(PetscFree(hj->weights));
  hj->weights  = copy;
  hj->nweights = n;
  PetscCall(PCHJacobiSetK(pc, n));
  PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_CUSTOM));
  PetscCall(PCHJacobiChanged(pc, HJ_CHANGED_WEIGHTS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJacobiGetWeights_HJacobi(PC pc, PetscInt *n, const PetscReal *w[])
{
  PC_HJacobi     *hj     = (PC_HJacobi *)pc->data;
  const PetscBool in_use = (PetscBool)(hj->w.w && (hj->schedule != PC_HJACOBI_SCHEDULE_CUSTOM || hj->changed < HJ_CHANGED_WEIGHTS));

  PetscFunctionBegin;
  if (n) *n = in_use ? hj->w.k : hj->nweights;
  if (w) *w = in_use ? hj->w.w : hj->weights;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCHJacobiSetWeights - Sets the weights of the subiterations, the schedule to custom and k to their number

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJACOBI`
.  n  - number of weights, 1 to 1024
-  w  - the weights w_1 ... w_n, finite numbers, not all 0; copied

   Options Database Key:
.  -pc_hjacobi_weights <w_1,w_2,...> - the weights; `-pc_hjacobi_k` and `-pc_hjacobi_schedule` are not needed, and may not contradict them

   Level: advanced

.seealso: `PCHJACOBI`, `PCHJacobiGetWeights()`, `PCHJacobiSetSchedule()`
@*/
PetscErrorCode PCHJacobiSetWeights(PC pc, PetscInt n, const PetscReal w[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveInt(pc, n, 2);
  if (n > 0) HJCheckPointer(w, 3);
  PetscTryMethod(pc, "PCHJacobiSetWeights_C", (PC, PetscInt, const PetscReal[]), (pc, n, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
   PCHJacobiGetWeights - Gets the weights of the subiterations

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameters:
+  n - number of weights, or `NULL`
-  w - the weights, or `NULL`; owned by `pc`, valid until it is set up or given weights again; `NULL` where there are none yet

   Level: advanced

   Note:
   These are the weights that the last `PCSetUp()` made, or the list of `PCHJacobiSetWeights()` where it is newer.

.seealso: `PCHJACOBI`, `PCHJacobiSetWeights()`
@*/
PetscErrorCode PCHJacobiGetWeights(PC pc, PetscInt *n, const PetscReal *w[])
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  if (n) PetscAssertPointer(n, 2);
  if (w) PetscAssertPointer(w, 3);
  PetscUseMethod(pc, "PCHJacobiGetWeights_C", (PC, PetscInt *, const PetscReal *[]), (pc, n, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJacobiSetOmega_HJacobi(PC pc, PetscReal omega)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  PetscCheck(omega == PETSC_DECIDE || (omega > 0 && !PetscIsInfReal(omega)), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "omega = %g must be positive and finite", (double)omega);
  PetscCheck(omega == PETSC_DECIDE || omega >= HJ_LEAST_WEIGHT, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "omega = %g is too small: such a cycle does nothing, and a solver would take it for converged; leave omega unset, or -1, and "
             "it "
             "is found",
             (double)omega);
  if (hj->omega == omega) PetscFunctionReturn(PETSC_SUCCESS);
  hj->omega = omega;
  PetscCall(PCHJacobiChanged(pc, HJ_CHANGED_BOUNDS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HJ_FIELD_GETTER(PCHJacobiGetOmega_HJacobi, PC_HJacobi, PetscReal, omega)

/*@
   PCHJacobiSetOmega - Sets the damping of the jacobi schedule

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJACOBI`
-  omega - damping factor, or `PETSC_DECIDE`

   Options Database Key:
.  -pc_hjacobi_omega <omega, default 4d / ((2d + 1) emax)> - damping, d the dimension of the grid, 1 without a `DMDA`

   Level: intermediate

.seealso: `PCHJACOBI`, `PCHJacobiGetOmega()`
@*/
HJ_PUBLIC_SETTER(PCHJacobiSetOmega, PetscReal, Real)

/*@
   PCHJacobiGetOmega - Gets the damping of the jacobi schedule

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameter:
.  omega - damping factor, or `PETSC_DECIDE`

   Level: intermediate

.seealso: `PCHJACOBI`, `PCHJacobiSetOmega()`
@*/
HJ_PUBLIC_GETTER(PCHJacobiGetOmega, PetscReal)

static PetscErrorCode PCHJacobiSetEigenvalues_HJacobi(PC pc, PetscReal emax, PetscReal emin)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  PetscCheck(emax == PETSC_DECIDE || (emax > 0 && !PetscIsInfReal(emax)), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "emax = %g must be positive and finite", (double)emax);
  PetscCheck(emin == PETSC_DECIDE || (emin > 0 && !PetscIsInfReal(emin)), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "emin = %g must be positive and finite", (double)emin);
  PetscCheck(emax == PETSC_DECIDE || emin == PETSC_DECIDE || emax > emin, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
             "emax = %g must be larger than emin = %g (the option takes emin,emax)", (double)emax, (double)emin);
  PetscCheck(emax == PETSC_DECIDE || emax >= 0.99, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "emax = %g is too low: the eigenvalues of D^-1 A have the mean 1 (D is the diagonal of A); leave emax unset, or -1, and it is "
             "found",
             (double)emax);
  PetscCheck(emax == PETSC_DECIDE || emax <= 1.0 / HJ_LEAST_WEIGHT, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "emax = %g is too high: the eigenvalues of D^-1 A have the mean 1, such a cycle does nothing, and a solver would take it for "
             "converged; leave emax unset, or -1, and it is found",
             (double)emax);
  PetscCheck(emin == PETSC_DECIDE || emin >= HJ_LEAST_WEIGHT, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "emin = %g is too low: rounding in D^-1 A, whose eigenvalues have the mean 1, is more, and a cycle would leave parts of the "
             "residual as they are; leave emin unset, or -1, and it is emax/11",
             (double)emin);
  if (hj->emax == emax && hj->emin == emin) PetscFunctionReturn(PETSC_SUCCESS);
  hj->emax = emax;
  hj->emin = emin;
  PetscCall(PCHJacobiChanged(pc, HJ_CHANGED_BOUNDS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJacobiGetEigenvalues_HJacobi(PC pc, PetscReal *emax, PetscReal *emin)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  if (emax) *emax = hj->bound ? hj->use_emax : hj->emax;
  if (emin) *emin = hj->bound ? hj->use_emin : hj->emin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCHJacobiSetEigenvalues - Sets bounds of the eigenvalues of D^-1 A that the schedule is made for

   Logically Collective

   Input Parameters:
+  pc   - the preconditioner, ignored if it is not `PCHJACOBI`
.  emax - upper bound, at least 1 (their mean), or `PETSC_DECIDE`: found from the rows of the matrix and guaranteed
-  emin - lower bound, or `PETSC_DECIDE`: emax/11, or found where `PCHJacobiSetReduction()` is used; read by the schedule chebyshev alone

   Options Database Key:
.  -pc_hjacobi_eigenvalues <emin,emax> - the bounds

   Level: intermediate

   Notes:
   An emax that is too low is dangerous: 10% too low multiplies the top of the spectrum by 8.5 at k = 8 of opt_chebyshev4. One that is too
   high costs little.

   By default emax is the smaller of two bounds of the spectral radius of D^-1 A: Gershgorin's, and that of Collatz and Wielandt, the
   largest (M v)_i / v_i for M = |D^-1 A| and v = M^5 1, made by 6 products in set-up. On grids of more than 4000 points it is Gershgorin's
   alone where that is at most 2.01, as products then gain next to nothing. An eigenvalue is never above it. Where a matrix
   gives no rows (`MATSHELL`) it is 1.2 times an estimate by 30 steps of `KSPGMRES`, not guaranteed; its `KSP` has the options prefix
   pc_hjacobi_esteig_. `-ksp_view` says which.

   The polynomials are made for real eigenvalues. Those of an unsymmetric matrix may be complex (convection): the bound holds for their
   absolute value, but does not make a polynomial safe there. Each coarser level doubles the Peclet number of a cell, and so about doubles
   the imaginary parts: at a number of 0.8 a cycle of 16 subiterations of chebyshev4 grows some modes by 42, one of 8 by 2.5, one of 4 by
   none. Use fewer subiterations on the levels, or the schedule chebyshev, which grows none there, or jacobi; with `KSPGMRES` around.
   For chebyshev4 and opt_chebyshev4 of a stencil, set-up bounds the imaginary parts by the largest row sum of |D^-1 (A - A^T)| / 2 (one
   product); where they make the polynomial of k subiterations grow, `-info` and `-ksp_view` say so, with the largest k that is safe. A
   matrix whose rows are scaled differently is unsymmetric too: then the bound may be far too high.

.seealso: `PCHJACOBI`, `PCHJacobiGetEigenvalues()`, `PCHJacobiSetSchedule()`, `PCHJacobiSetReduction()`, `KSPChebyshevSetEigenvalues()`
@*/
PetscErrorCode PCHJacobiSetEigenvalues(PC pc, PetscReal emax, PetscReal emin)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscValidLogicalCollectiveReal(pc, emax, 2);
  PetscValidLogicalCollectiveReal(pc, emin, 3);
  PetscTryMethod(pc, "PCHJacobiSetEigenvalues_C", (PC, PetscReal, PetscReal), (pc, emax, emin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCHJacobiGetEigenvalues - Gets the bounds of the eigenvalues of D^-1 A

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameters:
+  emax - upper bound, or `NULL`
-  emin - lower bound, or `NULL`

   Level: intermediate

   Note:
   These are the bounds that the last `PCSetUp()` took, or those that were set where that is newer.

.seealso: `PCHJACOBI`, `PCHJacobiSetEigenvalues()`
@*/
PetscErrorCode PCHJacobiGetEigenvalues(PC pc, PetscReal *emax, PetscReal *emin)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  if (emax) PetscAssertPointer(emax, 2);
  if (emin) PetscAssertPointer(emin, 3);
  PetscUseMethod(pc, "PCHJacobiGetEigenvalues_C", (PC, PetscReal *, PetscReal *), (pc, emax, emin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCHJacobiSetReduction_HJacobi(PC pc, PetscReal reduction)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  PetscCheck(reduction >= 0 && reduction < 1, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "reduction = %g must be above 0 and below 1, or 0 to leave k as it is set", (double)reduction);
  if (reduction > 0) PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_CHEBYSHEV));
  if (hj->reduction == reduction) PetscFunctionReturn(PETSC_SUCCESS);
  hj->reduction = reduction;
  PetscCall(PCHJacobiChanged(pc, HJ_CHANGED_BOUNDS));
  PetscFunctionReturn(PETSC_SUCCESS);
}

HJ_FIELD_GETTER(PCHJacobiGetReduction_HJacobi, PC_HJacobi, PetscReal, reduction)

/*@
   PCHJacobiSetReduction - Makes a cycle a solver: emin and k are found so that it reduces the error as asked for; sets the schedule to
   chebyshev

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJACOBI`
-  reduction - largest factor that is left of any part of the error, between 0 and 1; 0 (the default): k is as set

   Options Database Key:
.  -pc_hjacobi_reduction <reduction, default 0> - the factor, for instance 0.01 for the coarsest grid of `PCMG`

   Level: intermediate

   Notes:
   For symmetric matrices of few thousand rows, where the cycle takes the place of a factorisation. Set-up runs `KSPCG` until its least
   nonzero Ritz value has settled (some hundred products with the matrix on a grid of 33 points a direction) and takes it over 1.2 as
   emin, unless `PCHJacobiSetEigenvalues()` gives one. k is then the least for which the Chebyshev polynomial is at most the reduction on
   [emin, emax], and at most 1024; `PetscInfo()` says where more were needed. `PCHJacobiGetK()` and `PCHJacobiGetEigenvalues()` give what
   was found.

   Eigenvalues of 0 (Neumann or periodic boundaries) are left out: their part of the error stays as it is. Where a point has several
   unknowns such cycles run through `MatMult()`, and D is the diagonal.

.seealso: `PCHJACOBI`, `PCHJacobiGetReduction()`, `PCHJacobiSetEigenvalues()`, `PCHJacobiSetK()`, `PCHJacobiSetSchedule()`
@*/
HJ_PUBLIC_SETTER(PCHJacobiSetReduction, PetscReal, Real)

/*@
   PCHJacobiGetReduction - Gets the factor by which a cycle shall reduce the error

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameter:
.  reduction - largest factor that is left of any part of the error, between 0 and 1; 0 (the default): k is as set

   Level: intermediate

.seealso: `PCHJACOBI`, `PCHJacobiSetReduction()`
@*/
HJ_PUBLIC_GETTER(PCHJacobiGetReduction, PetscReal)

HJ_WORD_METHODS(PCHJacobi, Backend, HJacobi, backend, PC_HJACOBI_BACKEND_CUDA, PCHJacobiChanged, HJ_CHANGED_OPERATOR)

/*@
   PCHJacobiSetBackend - Sets where the cycles run

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJACOBI`
-  backend - the backend

   Options Database Key:
.  -pc_hjacobi_backend <auto,host,cuda> - default auto

   Level: intermediate

   Notes:
   `PC_HJACOBI_BACKEND_AUTO` runs where the data is: on the GPU for a matrix of type `MATAIJCUSPARSE` that is not bound to the CPU, else
   on the host; but from 8 subiterations a cycle and 500,000 points a rank on, it copies host vectors to a GPU and back where there is
   one, since that takes less time. The choice is made when the preconditioner is set up, and again where the number of subiterations was
   changed.

.seealso: `PCHJACOBI`, `PCHJacobiGetBackend()`
@*/
HJ_PUBLIC_SETTER(PCHJacobiSetBackend, PCHJacobiBackend, Enum)

/*@
   PCHJacobiGetBackend - Gets where the cycles run

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameter:
.  backend - the backend

   Level: intermediate

.seealso: `PCHJACOBI`, `PCHJacobiSetBackend()`
@*/
HJ_PUBLIC_GETTER(PCHJacobiGetBackend, PCHJacobiBackend)

HJ_WORD_METHODS(PCHJacobi, Operator, HJacobi, operator_kind, PC_HJACOBI_OPERATOR_MATRIX, PCHJacobiChanged, HJ_CHANGED_OPERATOR)

/*@
   PCHJacobiSetOperator - Sets how the operator is applied

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJACOBI`
-  op - the operator

   Options Database Key:
.  -pc_hjacobi_operator <auto,stencil,matrix> - default auto: stencil where it can be

   Level: intermediate

   Note:
   `PC_HJACOBI_OPERATOR_STENCIL` is an error where the matrix is no stencil on a `DMDA`; the message says which row and why.

.seealso: `PCHJACOBI`, `PCHJacobiGetOperator()`
@*/
HJ_PUBLIC_SETTER(PCHJacobiSetOperator, PCHJacobiOperator, Enum)

/*@
   PCHJacobiGetOperator - Gets how the operator is applied

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameter:
.  op - the operator

   Level: intermediate

.seealso: `PCHJACOBI`, `PCHJacobiSetOperator()`
@*/
HJ_PUBLIC_GETTER(PCHJacobiGetOperator, PCHJacobiOperator)

HJ_WORD_METHODS(PCHJacobi, Exchange, HJacobi, exchange, PC_HJACOBI_EXCHANGE_IPC, PCHJacobiChanged, HJ_CHANGED_OPERATOR)

/*@
   PCHJacobiSetExchange - Sets the transport of the halo between ranks

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJACOBI`
-  exchange - the transport

   Options Database Key:
.  -hj_exchange <auto,petscsf,nccl,ipc> - default auto; with the options prefix of the preconditioner

   Level: advanced

   Note:
   For tests and measurements. What is asked for and cannot be is an error where there are several ranks. One rank has nothing to exchange,
   and takes any. `PCHJMG` and `MATHJSTENCIL` read the same option, the latter with the prefix of its `DMDA`.

.seealso: `PCHJACOBI`, `PCHJacobiGetExchange()`
@*/
HJ_PUBLIC_SETTER(PCHJacobiSetExchange, PCHJacobiExchange, Enum)

/*@
   PCHJacobiGetExchange - Gets the transport of the halo between ranks

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameter:
.  exchange - the transport

   Level: advanced

.seealso: `PCHJACOBI`, `PCHJacobiSetExchange()`
@*/
HJ_PUBLIC_GETTER(PCHJacobiGetExchange, PCHJacobiExchange)

/* Kept in the operator that is there too: no set-up is needed for it */
static PetscErrorCode PCHJacobiSetExchangeTimeout_HJacobi(PC pc, PetscReal exchange_timeout)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  PetscCall(HJExchangeCheckTimeout(PetscObjectComm((PetscObject)pc), exchange_timeout));
  hj->exchange_timeout = exchange_timeout;
  if (hj->op) hj->op->exchange_timeout = exchange_timeout;
  if (hj->transpose) hj->transpose->exchange_timeout = exchange_timeout;
  PetscFunctionReturn(PETSC_SUCCESS);
}

HJ_FIELD_GETTER(PCHJacobiGetExchangeTimeout_HJacobi, PC_HJacobi, PetscReal, exchange_timeout)

/*@
   PCHJacobiSetExchangeTimeout - Sets how long a GPU waits for another rank's halo with `PC_HJACOBI_EXCHANGE_IPC`

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJACOBI`
-  exchange_timeout - seconds, 0 for no limit

   Options Database Key:
.  -hj_exchange_timeout <t, default 300> - seconds; with the options prefix of the preconditioner

   Level: advanced

   Note:
   The error names the rank. It comes with the first exchange after the one that was too late, or at the end of the solve. A KSP without
   norms does not wait for the GPU: there an exchange at the end that is too late is an error of the next solve, or when the
   preconditioner is destroyed. MPI and NCCL have limits of their own.

.seealso: `PCHJACOBI`, `PCHJacobiGetExchangeTimeout()`, `PCHJacobiSetExchange()`
@*/
HJ_PUBLIC_SETTER(PCHJacobiSetExchangeTimeout, PetscReal, Real)

/*@
   PCHJacobiGetExchangeTimeout - Gets how long a GPU waits for another rank's halo

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameter:
.  exchange_timeout - seconds, 0 for no limit

   Level: advanced

.seealso: `PCHJACOBI`, `PCHJacobiSetExchangeTimeout()`
@*/
HJ_PUBLIC_GETTER(PCHJacobiGetExchangeTimeout, PetscReal)

static PetscErrorCode PCHJacobiSetDeviceMemory_HJacobi(PC pc, size_t device_memory)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  if (hj->device_memory != device_memory) PetscCall(PCHJacobiChanged(pc, HJ_CHANGED_OPERATOR));
  hj->device_memory = device_memory;
  PetscFunctionReturn(PETSC_SUCCESS);
}

HJ_FIELD_GETTER(PCHJacobiGetDeviceMemory_HJacobi, PC_HJacobi, size_t, device_memory)

/*@
   PCHJacobiSetDeviceMemory - Sets how much of a GPU's memory the cycles may take

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJACOBI`
-  device_memory - bytes for each rank, 0 for nine tenths of what is free at set-up, or of a share of it where ranks share a GPU

   Options Database Key:
.  -pc_hjacobi_device_memory <bytes, default 0> - bytes, or a number with K, M, G or T (of 1024) behind it, such as 2.5G

   Level: advanced

   Notes:
   Where x, b, a copy and the coefficients need more, they stay in the memory of the host, and the GPU sweeps slabs of planes across the
   slowest direction. A visit of a slab does many subiterations; slabs are skewed, so that none is done twice, and copies in, sweeps and
   copies out run beside each other. Kochurov, Vorotnikova and Golovashkin, GPU implementation of Jacobi method for data arrays that exceed
   GPU-dedicated memory size (2015), do it with overlapping slabs; see `PCHJacobiSetSlabType()`. How many subiterations, and how many
   planes, is found by a model whose times are measured at set-up; `-ksp_view` shows them, the time that it predicts and the time that was
   measured.

   The result is that of cycles at once. Slabs pay where many subiterations are asked for at a time: with `KSPRICHARDSON` and norm type
   none, or with a large `PCHJacobiSetCheckEvery()`. A stop test by the update is part of a visit where a cycle has as many subiterations
   as a sweep of the GPU (`PCHJacobiSetK()` of 4 with stars in 3D), and the GPU goes on meanwhile; else, and before the first cycle, it
   costs a trip of x and b over the GPU. One by the residual is the host's work.
   The arrays of x, b and the coefficients are pinned during a solve, which takes about 0.05 seconds a gigabyte, and 0.3 where nothing has
   been written to them yet; the user must not free or replace them meanwhile. Where the system refuses that, copies are slower, which
   -info says. In 2D and 3D, exact mode; elsewhere a limit that is too low is an error that says so. A limit that no slab fits into is an
   error that names the least bytes.

   On several ranks, and on periodic grids, each rank sweeps its own points and the ghost points around them, as deep as a visit has
   subiterations. These come from the other ranks' host memory before each visit of the grid, and ranks wait for each other there. Ghosts
   are computed again by each rank, so visits are shorter than on one rank: they have at most 64 subiterations, and at most a quarter of the
   points that the thinnest rank has in a direction (a ninth or a fourteenth where ranks are cut along two or three), or 16 in 2D and 8 in
   3D where that is more. `PCHJacobiSetSlabHeight()` may ask for more, up to the points of the thinnest rank.

   Cut ranks along the slowest direction alone (`-da_processors_x 1 -da_processors_y 1`), and put periodic boundaries there: then x and b
   travel from where they are, else from copies with ghosts at their sides, which take as much host memory again. On one rank periodic
   directions but the slowest need no ghosts where all points have the same row: the GPU's sweeps wrap there.

   With `-pc_hjacobi_monitor` a long run says at most once a second how far it is. A solve that was cut off goes on from its x with
   `KSPSetInitialGuessNonzero()`, to the same values where it was cut off after whole cycles.

.seealso: `PCHJACOBI`, `PCHJacobiGetDeviceMemory()`, `PCHJacobiSetSlabType()`, `PCHJacobiSetSlabHeight()`, `PCHJacobiSetBackend()`
@*/
PetscErrorCode PCHJacobiSetDeviceMemory(PC pc, size_t device_memory)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(pc, PC_CLASSID, 1);
  PetscTryMethod(pc, "PCHJacobiSetDeviceMemory_C", (PC, size_t), (pc, device_memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
   PCHJacobiGetDeviceMemory - Gets how much of a GPU's memory the cycles may take

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameter:
.  device_memory - bytes, 0 for nine tenths of what is free at set-up

   Level: advanced

.seealso: `PCHJACOBI`, `PCHJacobiSetDeviceMemory()`
@*/
HJ_PUBLIC_GETTER(PCHJacobiGetDeviceMemory, size_t)

HJ_WORD_METHODS(PCHJacobi, SlabType, HJacobi, slab_type, PC_HJACOBI_SLAB_PYRAMID, PCHJacobiChanged, HJ_CHANGED_OPERATOR)

/*@
   PCHJacobiSetSlabType - Sets how slabs of a grid that is larger than the memory of the GPU follow one another

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJACOBI`
-  slab_type - the type, default `PC_HJACOBI_SLAB_AUTO`

   Options Database Key:
.  -pc_hjacobi_slab_type <auto,skewed,pyramid; default auto> - the type

   Level: advanced

   Notes:
   A visit of a skewed slab of T planes and h subiterations moves by a plane with each subiteration, and finds what it needs below on the
   GPU: nothing is copied or computed twice. A pyramid, the method of Kochurov, Vorotnikova and Golovashkin, GPU implementation of Jacobi
   method for data arrays that exceed GPU-dedicated memory size (2015), copies T + 2h planes, of which others copy those at the ends too,
   and each subiteration leaves out one on each side, until T are left. Copies run beside sweeps with both, and the result is the same.

   `PC_HJACOBI_SLAB_AUTO`, the default, predicts times of both and takes the type with the least. On an H200 these are skewed slabs for all
   grids of which a sweep takes longer than to start it: they need less memory for the same h and T, and so may have more subiterations a
   visit. Pyramids have fewer visits, which counts where a few slabs are the whole grid and copies take next to no time. T is at least h
   with them, or all planes, so that a large h needs more memory.

   Where the grid fits into the memory of the GPU there are no slabs, and this is ignored; see `PCHJacobiSetDeviceMemory()`.

.seealso: `PCHJACOBI`, `PCHJacobiSlabType`, `PCHJacobiGetSlabType()`, `PCHJacobiSetSlabHeight()`, `PCHJacobiSetDeviceMemory()`
@*/
HJ_PUBLIC_SETTER(PCHJacobiSetSlabType, PCHJacobiSlabType, Enum)

/*@
   PCHJacobiGetSlabType - Gets how slabs of a grid that is larger than the memory of the GPU follow one another

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameter:
.  slab_type - the type that was asked for; `-ksp_view` shows the one that was taken

   Level: advanced

.seealso: `PCHJACOBI`, `PCHJacobiSlabType`, `PCHJacobiSetSlabType()`
@*/
HJ_PUBLIC_GETTER(PCHJacobiGetSlabType, PCHJacobiSlabType)

static PetscErrorCode PCHJacobiSetSlabHeight_HJacobi(PC pc, PetscInt slab_height)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  PetscCheck(slab_height == PETSC_DECIDE || (slab_height >= 1 && slab_height <= HJ_MAX_PASS), PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "slab_height = %" PetscInt_FMT " must be from 1 to %d, or PETSC_DECIDE", slab_height, HJ_MAX_PASS);
  if (hj->slab_height != slab_height) PetscCall(PCHJacobiChanged(pc, HJ_CHANGED_OPERATOR));
  hj->slab_height = slab_height;
  PetscFunctionReturn(PETSC_SUCCESS);
}

HJ_FIELD_GETTER(PCHJacobiGetSlabHeight_HJacobi, PC_HJacobi, PetscInt, slab_height)

/*@
   PCHJacobiSetSlabHeight - Sets how many subiterations a slab gets each time that it is on the GPU

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJACOBI`
-  slab_height - subiterations (the paper's pyramid height), or `PETSC_DECIDE` for those of the model

   Options Database Key:
.  -pc_hjacobi_slab_height <n, default -1> - subiterations

   Level: advanced

   Note:
   Where the grid fits into the memory of the GPU there are no slabs, and this is ignored. On several ranks, and on periodic grids, it is
   cut down to the points of the thinnest rank; see `PCHJacobiSetDeviceMemory()`.

.seealso: `PCHJACOBI`, `PCHJacobiGetSlabHeight()`, `PCHJacobiSetSlabType()`, `PCHJacobiSetDeviceMemory()`
@*/
HJ_PUBLIC_SETTER(PCHJacobiSetSlabHeight, PetscInt, Int)

/*@
   PCHJacobiGetSlabHeight - Gets how many subiterations a slab gets each time that it is on the GPU

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameter:
.  slab_height - subiterations, or `PETSC_DECIDE`

   Level: advanced

.seealso: `PCHJACOBI`, `PCHJacobiSetSlabHeight()`
@*/
HJ_PUBLIC_GETTER(PCHJacobiGetSlabHeight, PetscInt)

static PetscErrorCode PCHJacobiSetCheckEvery_HJacobi(PC pc, PetscInt check_every)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  PetscCheck(check_every > 0, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_OUTOFRANGE,
             "check_every = %" PetscInt_FMT " must be at least 1", check_every);
  hj->check_every = check_every;
  PetscFunctionReturn(PETSC_SUCCESS);
}

HJ_FIELD_GETTER(PCHJacobiGetCheckEvery_HJacobi, PC_HJacobi, PetscInt, check_every)

/*@
   PCHJacobiSetCheckEvery - Sets the number of cycles between stop tests of `KSPRICHARDSON`

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJACOBI`
-  check_every - cycles, at least 1

   Options Database Key:
.  -pc_hjacobi_check_every <n, default 1> - cycles

   Level: advanced

   Notes:
   Levels of `PCMG` have norm type `KSP_NORM_NONE` and never test.

   With `-ksp_monitor`, a null space or a damping `KSPRICHARDSON` tests by itself after each cycle, and this is ignored; so is
   `PCHJacobiSetCheckNorm()`, and `-pc_hjacobi_monitor` prints nothing; `KSPHJRICHARDSON` leaves the tests to the preconditioner there too.
   Other KSP always test by themselves; there the monitor says so.

.seealso: `PCHJACOBI`, `KSPHJRICHARDSON`, `PCHJacobiGetCheckEvery()`
@*/
HJ_PUBLIC_SETTER(PCHJacobiSetCheckEvery, PetscInt, Int)

/*@
   PCHJacobiGetCheckEvery - Gets the number of cycles between stop tests of `KSPRICHARDSON`

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameter:
.  check_every - cycles, at least 1

   Level: advanced

.seealso: `PCHJACOBI`, `PCHJacobiSetCheckEvery()`
@*/
HJ_PUBLIC_GETTER(PCHJacobiGetCheckEvery, PetscInt)

static PetscErrorCode PCHJacobiSetCheckNorm_HJacobi(PC pc, PCHJacobiCheckNorm check_norm)
{
  PC_HJacobi *hj = (PC_HJacobi *)pc->data;

  PetscFunctionBegin;
  PetscCheck((int)check_norm >= 0 && check_norm <= PC_HJACOBI_CHECK_NORM_UPDATE_MAX, PetscObjectComm((PetscObject)pc),
             PETSC_ERR_ARG_OUTOFRANGE, "Unknown value %d; see the manual page of PCHJacobiSetCheckNorm()", (int)check_norm);
  hj->check_norm = check_norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

HJ_FIELD_GETTER(PCHJacobiGetCheckNorm_HJacobi, PC_HJacobi, PCHJacobiCheckNorm, check_norm)

/*@
   PCHJacobiSetCheckNorm - Sets the norm of the stop test of `KSPRICHARDSON`

   Logically Collective

   Input Parameters:
+  pc - the preconditioner, ignored if it is not `PCHJACOBI`
-  check_norm - the norm

   Options Database Key:
.  -pc_hjacobi_check_norm <ksp,update_max> - default ksp

   Level: advanced

   Note:
   `PC_HJACOBI_CHECK_NORM_UPDATE_MAX` is the test of Kochurov et al. (2015), algorithm 1, line 16. `PCHJacobiSetCheckEvery()` says when
   there is no such test.

.seealso: `PCHJACOBI`, `PCHJacobiGetCheckNorm()`
@*/
HJ_PUBLIC_SETTER(PCHJacobiSetCheckNorm, PCHJacobiCheckNorm, Enum)

/*@
   PCHJacobiGetCheckNorm - Gets the norm of the stop test of `KSPRICHARDSON`

   Not Collective

   Input Parameter:
.  pc - the preconditioner, which must be `PCHJACOBI`

   Output Parameter:
.  check_norm - the norm

   Level: advanced

.seealso: `PCHJACOBI`, `PCHJacobiSetCheckNorm()`
@*/
HJ_PUBLIC_GETTER(PCHJacobiGetCheckNorm, PCHJacobiCheckNorm)

PetscErrorCode PCHJacobiComposeSetters(PC pc, PetscBool compose)
{
  static const HJMethod methods[] = {
    HJ_METHODS(PCHJacobi, K, HJacobi),
    HJ_METHODS(PCHJacobi, Overlap, HJacobi),
    HJ_METHODS(PCHJacobi, Tile, HJacobi),
    HJ_METHODS(PCHJacobi, Schedule, HJacobi),
    HJ_METHODS(PCHJacobi, Weights, HJacobi),
    HJ_METHODS(PCHJacobi, Omega, HJacobi),
    HJ_METHODS(PCHJacobi, Eigenvalues, HJacobi),
    HJ_METHODS(PCHJacobi, Reduction, HJacobi),
    HJ_METHODS(PCHJacobi, Backend, HJacobi),
    HJ_METHODS(PCHJacobi, Operator, HJacobi),
    HJ_METHODS(PCHJacobi, Exchange, HJacobi),
    HJ_METHODS(PCHJacobi, ExchangeTimeout, HJacobi),
    HJ_METHODS(PCHJacobi, DeviceMemory, HJacobi),
    HJ_METHODS(PCHJacobi, SlabType, HJacobi),
    HJ_METHODS(PCHJacobi, SlabHeight, HJacobi),
    HJ_METHODS(PCHJacobi, CheckEvery, HJacobi),
    HJ_METHODS(PCHJacobi, CheckNorm, HJacobi),
  };

  PetscFunctionBegin;
  PetscCall(HJMethodsCompose(pc, PETSC_STATIC_ARRAY_LENGTH(methods), methods, compose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

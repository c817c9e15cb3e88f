/* SPDX-License-Identifier: BSD-2-Clause */
/*
   KSPHJCG: the conjugate gradients of KSPCG, with its vectors and sums in few passes over memory. A direction, its product and their sum
   are one, iterate, residual and its norm another, both sums of a preconditioned residual a third. Decides when; passes are the backend's,
   and what has none of them is KSPCG's own solve. A device has the sums in its memory: an iteration waits for them once, at its end, and
   what then turns out to end the solve has left the iterate as it was.
*/
#include "hjksp.h"

typedef struct {
  HJKSP     ksp;
  PetscReal radius, target; /* what was set, as PETSc's type tells nobody; 0: nothing */
  PetscReal objective;      /* at the end of the last solve, if that was here */
  PetscBool here;
  PetscErrorCode (*set_radius)(KSP, PetscReal); /* PETSc's; NULL where this version has none of it */
  PetscErrorCode (*set_target)(KSP, PetscReal);
  PetscErrorCode (*get_objective)(KSP, PetscReal *);
  PetscErrorCode (*use_single_reduction)(KSP, PetscBool);
} KSP_HJCG;

#define HJ_SET_RADIUS       "KSPCGSetRadius_C"
#define HJ_SET_TARGET       "KSPCGSetObjectiveTarget_C"
#define HJ_GET_OBJECTIVE    "KSPCGGetObjFcn_C"
#define HJ_SINGLE_REDUCTION "KSPCGUseSingleReduction_C"

/* A solve */
typedef struct {
  KSP                   ksp;
  Mat                   A; /* has the products of the system's matrix */
  HJProducts           *products;
  const HJCoefficients *a;
  const HJKrylovOps    *ops;
  HJConjugate           c;
  Vec                   x, r, z, p, before; /* the direction before p: p, or, where passes want it so, another vector */
  PetscBool             preconditioned;     /* z is B r, and so are its sums */
  PetscReal             objective;
} HJCG;

static PetscErrorCode KSPSolve_HJCG(KSP);

/* The matrix with the products of the system's, as a stencil; NULL: there is none */
static PetscErrorCode HJCGFindMatrix(KSP ksp, Mat *A)
{
  HJGetProducts get_products;
  HJGetSystem   get_system;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp->pc, A, NULL));
  PetscCall(PetscObjectQueryFunction((PetscObject)*A, HJ_GET_PRODUCTS, &get_products));
  if (get_products) PetscFunctionReturn(PETSC_SUCCESS);
  *A = NULL;
  PetscCall(PetscObjectQueryFunction((PetscObject)ksp->pc, HJ_GET_SYSTEM, &get_system));
  if (get_system) PetscCall((*get_system)(ksp->pc, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What multiplies; not where the backend of the vectors has no passes */
static PetscErrorCode HJCGFindProducts(HJCG *cg)
{
  HJGetProducts get;
  PetscBool     host;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)cg->A, HJ_GET_PRODUCTS, &get));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)cg->r, &host, VECSEQ, VECMPI, ""));
  PetscCall((*get)(cg->A, cg->r, &cg->products, &cg->a));
  if (PetscMemTypeDevice(cg->products->ops->mtype) || host) cg->ops = cg->products->ops->krylov;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the solve is here; else KSPCG does it, and *why says so */
static PetscErrorCode HJCGFind(KSP ksp, const KSP_HJCG *hj, HJCG *cg, const char **why)
{
  PetscFunctionBegin;
  *cg  = (HJCG){.ksp = ksp, .x = ksp->vec_sol, .r = ksp->work[0], .z = ksp->work[1], .p = ksp->work[2], .before = ksp->work[2]};
  *why = NULL;
  PetscCall(HJKSPFindReason(ksp, why));
  if (ksp->ops->solve != KSPSolve_HJCG) *why = "a single reduction";
  else if (ksp->calc_sings) *why = "eigenvalues are computed";
  else if (hj->radius != 0.0 || hj->target != 0.0) *why = "there is a radius or a target";
  else if (HJ_KSP_STOPS_AT_CURVATURE(ksp)) *why = "negative curvature converges";
  if (*why) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJCGFindMatrix(ksp, &cg->A));
  if (cg->A) PetscCall(HJCGFindProducts(cg));
  if (cg->ops && cg->ops->apart) cg->before = ksp->work[3];
  if (!cg->A) *why = "no stencil has the products of the matrix";
  else if (!cg->ops) *why = "vectors lie where there are no passes for them";
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = B r, and its sums */
static PetscErrorCode HJCGPrecondition(HJCG *cg)
{
  PetscFunctionBegin;
  PetscCall(KSP_PCApply(cg->ksp, cg->r, cg->z));
  PetscCall(HJConjugateSums(cg->products, &cg->c, cg->z, cg->r));
  cg->preconditioned = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm of the iteration's residual, 0 where none is asked for. Where it is no number the KSP has a reason afterwards */
static PetscErrorCode HJCGNorm(HJCG *cg, PetscInt it, PetscReal *norm)
{
  KSP             ksp  = cg->ksp;
  const PetscBool told = (PetscBool)(!it || ksp->chknorm <= it);

  PetscFunctionBegin;
  *norm = 0.0;
  if (ksp->normtype == KSP_NORM_NATURAL || (ksp->normtype == KSP_NORM_PRECONDITIONED && told)) {
    PetscCall(HJCGPrecondition(cg));
    PetscCall(HJConjugateFetch(cg->products, &cg->c));
  }
  if (ksp->normtype == KSP_NORM_NATURAL) {
    KSPCheckDot(ksp, cg->c.sums.rz);
    *norm = PetscSqrtReal(PetscAbsScalar(cg->c.sums.rz));
  } else if (ksp->normtype != KSP_NORM_NONE && told) {
    *norm = PetscSqrtReal(PetscRealPart(ksp->normtype == KSP_NORM_PRECONDITIONED ? cg->c.sums.zz : cg->c.sums.rr));
    KSPCheckNorm(ksp, *norm);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJCGTest(HJCG *cg, PetscInt it)
{
  KSP       ksp = cg->ksp;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(HJCGNorm(cg, it, &norm));
  if (ksp->reason) PetscFunctionReturn(PETSC_SUCCESS);
  ksp->rnorm = norm;
  PetscCall(KSPLogResidualHistory(ksp, norm));
  PetscCall(KSPMonitor(ksp, it, norm));
  PetscCall((*ksp->converged)(ksp, it, norm, &ksp->reason, ksp->cnvP));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A preconditioner may have failed in set-up on this rank alone: all ranks see it by the first sum, which is no number then */
static PetscErrorCode HJCGFlag(HJCG *cg)
{
  PetscScalar *r;
  PetscInt     n;

  PetscFunctionBegin;
  if (cg->ksp->reason != KSP_DIVERGED_PC_FAILED) PetscFunctionReturn(PETSC_SUCCESS);
  cg->ksp->reason = KSP_CONVERGED_ITERATING;
  PetscCall(VecGetLocalSize(cg->r, &n));
  PetscCall(VecGetArrayWrite(cg->r, &r));
  for (PetscInt i = 0; i < n; i++) r[i] = (PetscScalar)HUGE_VAL;
  PetscCall(VecRestoreArrayWrite(cg->r, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The residual of the initial guess */
static PetscErrorCode HJCGStart(HJCG *cg, PetscBool objective)
{
  KSP         ksp = cg->ksp;
  PetscScalar dot[2];

  PetscFunctionBegin;
  ksp->its = 0;
  if (ksp->guess_zero) PetscCall(VecCopy(ksp->vec_rhs, cg->r));
  else PetscCall(MatResidual(cg->A, ksp->vec_rhs, cg->x, cg->r));
  PetscCall(HJCGFlag(cg));
  if (objective && !ksp->guess_zero) {
    PetscCall(VecTDot(cg->r, cg->x, &dot[0]));
    PetscCall(VecTDot(ksp->vec_rhs, cg->x, &dot[1]));
    cg->objective = 0.5 * PetscRealPart(dot[0] - dot[1]);
  }
  if (ksp->normtype == KSP_NORM_UNPRECONDITIONED) {
    PetscReal norm;

    PetscCall(VecNorm(cg->r, NORM_2, &norm));
    cg->c.sums.rr = norm * norm;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An end that is an error where the user wants it so */
static PetscErrorCode HJCGDiverge(HJCG *cg, KSPConvergedReason reason)
{
  const HJKrylovSums *sums = &cg->c.sums;
  KSP                 ksp  = cg->ksp;
  const char         *what = reason == KSP_DIVERGED_INDEFINITE_PC ? "preconditioner" : "matrix";

  PetscFunctionBegin;
  PetscCheck(!ksp->errorifnotconverged, PetscObjectComm((PetscObject)ksp), PETSC_ERR_NOT_CONVERGED,
             "Diverged due to an indefinite %s: (r, z) %g after %g, (p, A p) %g after %g", what, (double)PetscRealPart(sums->rz),
             (double)PetscRealPart(sums->rz_before), (double)PetscRealPart(sums->pw), (double)PetscRealPart(sums->pw_before));
  PetscCall(PetscInfo(ksp, "Diverging due to an indefinite %s\n", what));
  ksp->reason = reason;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* p = z + beta p, and A p, which may be in z afterwards */
static PetscErrorCode HJCGDirection(HJCG *cg, PetscBool first)
{
  const Vec before = cg->before;

  PetscFunctionBegin;
  cg->before = cg->p;
  cg->p      = before;
  PetscCall(HJConjugateDirection(cg->products, cg->a, &cg->c, first, cg->z, cg->before, cg->p));
  cg->preconditioned = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x += alpha p, r -= alpha A p */
static PetscErrorCode HJCGUpdate(HJCG *cg)
{
  const PetscBool squares = (PetscBool)(cg->ksp->normtype == KSP_NORM_UNPRECONDITIONED);

  PetscFunctionBegin;
  PetscCall(HJConjugateUpdate(cg->products, cg->a, &cg->c, squares, cg->z, cg->p, cg->x, cg->r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a preconditioned residual gives a direction, or ends the solve */
static PetscErrorCode HJCGCheckResidual(HJCG *cg, PetscInt i)
{
  KSP ksp = cg->ksp;

  PetscFunctionBegin;
  KSPCheckDot(ksp, cg->c.sums.rz);
  ksp->its = i + 1;
  if (cg->c.sums.rz == 0.0) {
    ksp->reason = KSP_CONVERGED_ATOL;
    PetscCall(PetscInfo(ksp, "Converged, as (r, z) is 0\n"));
  } else if (i && HJKrylovTurns(cg->c.sums.rz, cg->c.sums.rz_before)) PetscCall(HJCGDiverge(cg, KSP_DIVERGED_INDEFINITE_PC));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HJCGCheckDirection(HJCG *cg, PetscInt i)
{
  PetscFunctionBegin;
  KSPCheckDot(cg->ksp, cg->c.sums.pw);
  if (cg->c.sums.pw == 0.0 || (i && HJKrylovTurns(cg->c.sums.pw, cg->c.sums.pw_before)))
    PetscCall(HJCGDiverge(cg, KSP_DIVERGED_INDEFINITE_MAT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Up to the next iterate, unless the KSP has a reason */
static PetscErrorCode HJCGIterate(HJCG *cg, PetscInt i)
{
  const PetscBool later = (PetscBool)(cg->ops->fetch != NULL); /* are sums looked at than passes */
  KSP             ksp   = cg->ksp;

  PetscFunctionBegin;
  if (!cg->preconditioned) PetscCall(HJCGPrecondition(cg));
  if (later) {
    PetscCall(HJCGDirection(cg, (PetscBool)!i));
    PetscCall(HJCGUpdate(cg));
    PetscCall(HJConjugateFetch(cg->products, &cg->c));
  }
  PetscCall(HJCGCheckResidual(cg, i));
  if (!ksp->reason && !later) PetscCall(HJCGDirection(cg, (PetscBool)!i));
  if (!ksp->reason) PetscCall(HJCGCheckDirection(cg, i));
  if (!ksp->reason && !later) PetscCall(HJCGUpdate(cg));
  if (!ksp->reason) cg->objective -= 0.5 * PetscRealPart(cg->c.sums.rz / cg->c.sums.pw * cg->c.sums.rz);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As with KSPCG there is one iteration where none is allowed */
static PetscErrorCode HJCGSolve(HJCG *cg)
{
  KSP ksp = cg->ksp;

  PetscFunctionBegin;
  PetscCall(HJCGTest(cg, 0));
  for (PetscInt i = 0; !ksp->reason; i++) {
    if (i && i >= ksp->max_it) {
      ksp->reason = KSP_DIVERGED_ITS;
      break;
    }
    PetscCall(HJCGIterate(cg, i));
    if (!ksp->reason) PetscCall(HJCGTest(cg, i + 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPSolve_HJCG(KSP ksp)
{
  KSP_HJCG   *hj;
  HJCG        cg;
  const char *why;

  PetscFunctionBegin;
  PetscCall(HJKSPGet(ksp, (HJKSP **)&hj));
  PetscCall(PCSetUp(ksp->pc)); /* as each PCApply() does: values may be new that no KSPSetOperators() told of */
  PetscCall(HJCGFind(ksp, hj, &cg, &why));
  hj->here = (PetscBool)!why;
  if (why) {
    PetscCall(PetscInfo(ksp, "Solved as by KSPCG: %s\n", why));
    PetscCall((*hj->ksp.base.solve)(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJConjugateBegin(cg.products, &cg.c));
  PetscCall(HJCGStart(&cg, (PetscBool)(hj->get_objective != NULL)));
  PetscCall(HJCGSolve(&cg));
  PetscCall(HJConjugateEnd(cg.products, &cg.c));
  hj->objective = cg.objective;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Passes of a device want one more vector */
static PetscErrorCode KSPSetUp_HJCG(KSP ksp)
{
  HJKSP    *hj;
  PetscBool host;

  PetscFunctionBegin;
  PetscCall(HJKSPGet(ksp, &hj));
  PetscCall((*hj->base.setup)(ksp));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)ksp->work[0], &host, VECSEQ, VECMPI, ""));
  if (!host && ksp->nwork < 4) PetscCall(KSPSetWorkVecs(ksp, 4));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPView_HJCG(KSP ksp, PetscViewer viewer)
{
  KSP_HJCG   *hj;
  HJCG        cg;
  const char *why;
  PetscBool   ascii;

  PetscFunctionBegin;
  PetscCall(HJKSPGet(ksp, (HJKSP **)&hj));
  PetscCall(HJKSPView(ksp, viewer, &ascii));
  if (!ascii || ksp->setupstage == KSP_SETUP_NEW || !ksp->work) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HJCGFind(ksp, hj, &cg, &why));
  if (why) PetscCall(PetscViewerASCIIPrintf(viewer, "  as KSPCG: %s\n", why));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "  vectors and sums are made in few passes over memory\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPCGSetRadius_HJCG(KSP ksp, PetscReal radius)
{
  KSP_HJCG *hj;

  PetscFunctionBegin;
  PetscCall(HJKSPGet(ksp, (HJKSP **)&hj));
  PetscCall((*hj->set_radius)(ksp, radius));
  hj->radius = radius;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPCGSetObjectiveTarget_HJCG(KSP ksp, PetscReal target)
{
  KSP_HJCG *hj;

  PetscFunctionBegin;
  PetscCall(HJKSPGet(ksp, (HJKSP **)&hj));
  PetscCall((*hj->set_target)(ksp, target));
  hj->target = target;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode KSPCGGetObjFcn_HJCG(KSP ksp, PetscReal *objective)
{
  KSP_HJCG *hj;

  PetscFunctionBegin;
  PetscCall(HJKSPGet(ksp, (HJKSP **)&hj));
  if (hj->here) *objective = hj->objective;
  else PetscCall((*hj->get_objective)(ksp, objective));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's sets the solve, and the objective's function, which the variant has not */
static PetscErrorCode KSPCGUseSingleReduction_HJCG(KSP ksp, PetscBool single)
{
  KSP_HJCG *hj;

  PetscFunctionBegin;
  PetscCall(HJKSPGet(ksp, (HJKSP **)&hj));
  PetscCall((*hj->use_single_reduction)(ksp, single));
  if (single) PetscFunctionReturn(PETSC_SUCCESS);
  ksp->ops->solve = KSPSolve_HJCG;
  if (hj->get_objective) PetscCall(PetscObjectComposeFunction((PetscObject)ksp, HJ_GET_OBJECTIVE, KSPCGGetObjFcn_HJCG));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
   KSPHJCG - `KSPCG` with its vectors and sums in few passes over memory

   Options Database Key:
.  -ksp_cg_single_reduction    - the variant of `KSPCG` with one sum for all ranks in an iteration

   Level: intermediate

   Notes:
   Iterates, norms, tests, monitors and reasons are those of `KSPCG`, to rounding. A search direction, its product with the matrix and their
   sum are made in one pass, the iterate, the residual and its norm in another, so that an iteration reads and writes less memory. The
   products are those of a `MATHJSTENCIL`, the matrix itself or the copy that `PCHJMG` keeps of an AIJ matrix; with these any
   preconditioner serves.

   On GPUs the sums stay there, and an iteration waits for them once, at its end; from GPU to GPU they travel as halos do.

   With any other matrix it is `KSPCG`, as it is with the computation of eigenvalues (`KSPSetComputeEigenvalues()`), a single reduction, a
   radius, an objective's target, and transposed systems. `-ksp_view` says why.

.seealso: `KSPCreate()`, `KSPSetType()`, `KSP`, `KSPCG`, `KSPHJRICHARDSON`, `PCHJMG`, `PCHJACOBI`, `MATHJSTENCIL`
M*/
PetscErrorCode KSPCreate_HJCG(KSP ksp)
{
  const PetscObject o = (PetscObject)ksp;
  KSP_HJCG         *hj;

  PetscFunctionBegin;
  PetscCall(HJKSPCreate(ksp, KSPCG, sizeof(*hj), (HJKSP **)&hj));
  PetscCall(PetscObjectQueryFunction(o, HJ_SET_RADIUS, &hj->set_radius));
  PetscCall(PetscObjectQueryFunction(o, HJ_SET_TARGET, &hj->set_target));
  PetscCall(PetscObjectQueryFunction(o, HJ_GET_OBJECTIVE, &hj->get_objective));
  PetscCall(PetscObjectQueryFunction(o, HJ_SINGLE_REDUCTION, &hj->use_single_reduction));
  if (hj->set_radius) PetscCall(PetscObjectComposeFunction(o, HJ_SET_RADIUS, KSPCGSetRadius_HJCG));
  if (hj->set_target) PetscCall(PetscObjectComposeFunction(o, HJ_SET_TARGET, KSPCGSetObjectiveTarget_HJCG));
  if (hj->get_objective) PetscCall(PetscObjectComposeFunction(o, HJ_GET_OBJECTIVE, KSPCGGetObjFcn_HJCG));
  if (hj->use_single_reduction) PetscCall(PetscObjectComposeFunction(o, HJ_SINGLE_REDUCTION, KSPCGUseSingleReduction_HJCG));
  ksp->ops->solve = KSPSolve_HJCG;
  ksp->ops->setup = KSPSetUp_HJCG;
  ksp->ops->view  = KSPView_HJCG;
  PetscFunctionReturn(PETSC_SUCCESS);
}

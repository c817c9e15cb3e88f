/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   KSPHJCG beside KSPCG: answers, histories, reasons, null spaces, monitors, norms, what it leaves to KSPCG and says of it.
*/
#include "hjkspcase.h"
#include "operator/hjkrylov.h"

#define HERE "made in few passes"

/* words: what the view holds */
static PetscErrorCode Compare(Case c, const char *name, PetscBool watched, const char *words)
{
  Solve s[2];

  PetscFunctionBegin;
  PetscCall(RunCase(&c, KSPCG, watched, &s[0]));
  c.words = words;
  PetscCall(RunCase(&c, KSPHJCG, watched, &s[1]));
  PetscCall(CheckSame(&c, name, &s[1], &s[0], ROUNDING));
  PetscCall(VecDestroy(&s[0].x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices, preconditioners, norms; every other time with a monitor, with a guess */
static PetscErrorCode TestSame(void)
{
  const Problem     p[]     = {{2, {33, 25, 1}, DIRICHLET, VARYING, PETSC_FALSE}, {3, {13, 17, 11}, DIRICHLET, CONSTANT, PETSC_FALSE},
                               {2, {32, 24, 1}, PERIODIC, CONSTANT, PETSC_TRUE},  {3, {12, 8, 12}, PERIODIC, VARYING, PETSC_TRUE},
                               {2, {33, 25, 1}, NEUMANN, VARYING, PETSC_FALSE},   {1, {129, 1, 1}, DIRICHLET, VARYING, PETSC_FALSE}};
  const KSPNormType norms[] = {KSP_NORM_PRECONDITIONED, KSP_NORM_UNPRECONDITIONED, KSP_NORM_NATURAL, KSP_NORM_NONE};
  const PCType      pcs[]   = {PCHJMG, PCHJACOBI, PCJACOBI, PCHJMG};

  PetscFunctionBegin;
  for (int i = 0; i < 6 * 4 * 2; i++) {
    const int  pc = i / 2 % 4;
    const Case c  = {.p      = p[i / 8],
                     .pc     = pcs[pc],
                     .norm   = norms[(i + i / 4) % 4],
                     .aij    = (PetscBool)(pc == 3),
                     .null   = IsSingular(&p[i / 8]),
                     .guess  = (PetscBool)((i + i / 8) % 2),
                     .again  = (PetscBool)(i % 8 == 1),
                     .max_it = 8};

    PetscCall(Compare(c, "KSPCG", (PetscBool)(i / 4 % 2), HERE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids of many blocks of a device, of each kind of coefficients */
static PetscErrorCode TestLarger(void)
{
  const Problem p[] = {{2, {257, 130, 1}, IDENTITY, CONSTANT, PETSC_FALSE}, {2, {130, 257, 1}, DIRICHLET, VARYING, PETSC_FALSE},
                       {3, {65, 33, 40}, DIRICHLET, CONSTANT, PETSC_FALSE}, {3, {35, 66, 40}, IDENTITY, VARYING, PETSC_FALSE},
                       {3, {40, 33, 65}, DIRICHLET, VARYING, PETSC_FALSE},  {2, {200, 130, 1}, DIRICHLET, CONSTANT, PETSC_TRUE}};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(p); i++) {
    const Case c = {.p = p[i], .pc = i % 2 ? PCHJACOBI : PCHJMG, .norm = KSP_NORM_UNPRECONDITIONED, .max_it = 8};

    PetscCall(Compare(c, "KSPCG", PETSC_FALSE, HERE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What ends a solve otherwise does so here: no iteration, no right-hand side, a limit that converges, NaN; indefinite systems */
static PetscErrorCode TestEnds(void)
{
  const Problem     p       = {2, {33, 25, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  const KSPNormType norms[] = {KSP_NORM_PRECONDITIONED, KSP_NORM_UNPRECONDITIONED, KSP_NORM_NATURAL, KSP_NORM_NONE};
  const char       *names[] = {"0 iterations", "a right-hand side of zeros", "converged_maxits",
                               "NaN in b",     "NaN in the matrix",          "a factor of one rank fails"};

  PetscFunctionBegin;
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  for (int i = 0; i < 6 * 2; i++) {
    const int  end = i / 2;
    const Case c   = {.p      = p,
                      .pc     = end == 5 ? PCBJACOBI : PCHJMG,
                      .norm   = norms[i % 4],
                      .guess  = (PetscBool)(end == 2),
                      .max_it = end ? 3 : 0,
                      .end    = (End)(1 + end)};

    PetscCall(Compare(c, names[end], PETSC_FALSE, HERE));
  }
  for (int i = 0; i < 8; i++) { /* a diagonal of both signs makes the preconditioner so too */
    const Case c = {.p = p, .pc = i % 2 ? PCNONE : PCJACOBI, .norm = norms[i / 2], .minus = i % 2 ? 3.0 : 7.0, .max_it = 40};

    PetscCall(Compare(c, "indefinite", PETSC_FALSE, HERE));
  }
  PetscCall(PetscFPTrapPop());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Passes whose sums the solve sees later, as those of a device, made of the host's */
static struct {
  HJBackendOps ops;
  HJKrylovOps  passes;
  HJKrylovSums sums;
  PetscBool    good; /* what was handed over */
} device;

static PetscErrorCode DeviceTotal(PetscInt nranks, const PetscScalar *parts, PetscInt n, PetscScalar *sums)
{
  PetscFunctionBegin;
  if (sums != &device.sums.rz && sums != &device.sums.pw && sums != &device.sums.rr) device.good = PETSC_FALSE;
  for (PetscInt i = 0; i < n; i++) {
    sums[i] = 0.0;
    for (PetscInt r = 0; r < nranks; r++) sums[i] += parts[HJ_KRYLOV_SHARED * r + i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceBegin(HJKrylovSums **sums)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(&device.sums, sizeof(device.sums)));
  *sums = &device.sums;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceFetch(const HJKrylovSums *sums, HJKrylovSums *host)
{
  PetscFunctionBegin;
  *host = *sums;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceEnd(HJKrylovSums **sums)
{
  PetscFunctionBegin;
  *sums = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceDirection(const HJProduct *product, PetscBool neighbors, PetscBool first, HJKrylovSums *sums,
                                      const PetscScalar *z, const PetscScalar *before, PetscScalar *p)
{
  PetscFunctionBegin;
  if (!product->a || !product->shell || !product->ghost || product->x != p || !product->y || before != p || sums != &device.sums)
    device.good = PETSC_FALSE;
  PetscCall(HJBackendHost.krylov->direction(product, neighbors, first, sums, z, before, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DeviceUpdate(const HJProduct *product, PetscBool neighbors, HJKrylovSums *sums, PetscScalar *x, PetscScalar *r)
{
  const HJKrylovSums now  = *sums;
  const PetscBool    ends = (PetscBool)(now.rz == 0.0 || now.pw == 0.0 || PetscIsInfOrNanScalar(now.rz) || PetscIsInfOrNanScalar(now.pw) ||
                                     HJKrylovTurns(now.rz, now.rz_before) || HJKrylovTurns(now.pw, now.pw_before));

  PetscFunctionBegin;
  if (!ends) PetscCall(HJBackendHost.krylov->update(product, neighbors, sums, x, r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PretendDevice(Mat A, Vec x)
{
  const HJCoefficients *a;
  HJProducts           *products;
  HJGetProducts         get;

  PetscFunctionBegin;
  PetscCall(PetscObjectQueryFunction((PetscObject)A, HJ_GET_PRODUCTS, &get));
  PetscCall((*get)(A, x, &products, &a));
  device.passes     = (HJKrylovOps){.sums      = HJBackendHost.krylov->sums,
                                    .ghosts    = HJBackendHost.krylov->ghosts,
                                    .direction = DeviceDirection,
                                    .update    = DeviceUpdate,
                                    .begin     = DeviceBegin,
                                    .total     = DeviceTotal,
                                    .fetch     = DeviceFetch,
                                    .end       = DeviceEnd};
  device.ops        = HJBackendHost;
  device.ops.krylov = &device.passes;
  device.good       = PETSC_TRUE;
  products->ops     = &device.ops;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestLater(void)
{
  const KSPNormType norms[] = {KSP_NORM_PRECONDITIONED, KSP_NORM_UNPRECONDITIONED, KSP_NORM_NATURAL, KSP_NORM_NONE};
  const Problem     p[]     = {{2, {33, 25, 1}, DIRICHLET, VARYING, PETSC_FALSE},  {1, {129, 1, 1}, DIRICHLET, VARYING, PETSC_FALSE},
                               {3, {13, 17, 11}, DIRICHLET, CONSTANT, PETSC_TRUE}, {2, {33, 25, 1}, NEUMANN, VARYING, PETSC_FALSE},
                               {2, {32, 24, 1}, PERIODIC, VARYING, PETSC_FALSE},   {3, {12, 8, 12}, PERIODIC, CONSTANT, PETSC_TRUE}};
  PetscMPIInt       size;
  PetscBool         cuda = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(GetSizeAndDevice(&size, &cuda));
  if (cuda) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF));
  for (int i = 0; i < 6 * 8; i++) {
    const int end = i % 8; /* of these four times as it does, the last one with a matrix that is indefinite */
    Case      c   = {.p       = p[i / 8],
                     .pc      = end == 7 ? PCNONE : PCHJMG,
                     .norm    = norms[i % 4],
                     .guess   = (PetscBool)(i % 3 == 1),
                     .null    = IsSingular(&p[i / 8]),
                     .max_it  = end == 7 ? 40 : 8,
                     .minus   = end == 7 ? 3.0 : 0.0,
                     .end     = end == 4   ? NO_RIGHT_HAND_SIDE
                                : end == 5 ? NAN_IN_B
                                : end == 6 ? NAN_IN_A
                                           : ENDS_AS_IT_DOES,
                     .prepare = PretendDevice};

    PetscCall(Compare(c, "KSPCG, sums seen later", PETSC_FALSE, HERE));
    PetscCall(HJTestOK(device.good, "sums seen later: what passes are given"));
  }
  PetscCall(PetscFPTrapPop());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where it is KSPCG it says so */
static PetscErrorCode TestLeft(void)
{
  const struct {
    Case        c;
    const char *name, *words;
  } left[] = {
    {{.pc = PCJACOBI, .aij = PETSC_TRUE}, "AIJ", "as KSPCG: no stencil has the products"},
    {{.pc = PCHJACOBI, .aij = PETSC_TRUE}, "AIJ", "as KSPCG: no stencil has the products"},
    {{.pc = PCHJMG, .aij = PETSC_TRUE, .more = 0.1}, "another matrix", "as KSPCG: no stencil has the products"},
    {{.pc = PCHJMG, .more = 0.1}, "another matrix", HERE},
    {{.pc = PCHJMG, .options = "-ksp_cg_single_reduction"}, "single reduction", "as KSPCG: a single reduction"},
    {{.pc = PCHJMG, .options = "-ksp_cg_single_reduction 0"}, "no single reduction", HERE},
    {{.pc = PCHJMG, .options = "-ksp_view_eigenvalues ascii:/dev/null"}, "eigenvalues", "as KSPCG: eigenvalues are computed"},
    {{.pc = PCHJMG, .options = "-ksp_check_norm_iteration 3"}, "norms from the third iteration on", HERE},
    {{.pc = PCHJMG, .norm = KSP_NORM_UNPRECONDITIONED, .options = "-ksp_check_norm_iteration 3"},
     "norms from the third iteration on",
     HERE},
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(left); i++) {
    Case c = left[i].c;

    c.p      = (Problem){2, {33, 25, 1}, DIRICHLET, VARYING, PETSC_FALSE};
    c.max_it = 6;
    if (c.norm == KSP_NORM_NONE) c.norm = KSP_NORM_PRECONDITIONED;
    PetscCall(Compare(c, left[i].name, PETSC_FALSE, left[i].words));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Inside of its own preconditioner, on the same matrix: both have directions of their own */
static PetscErrorCode TestNested(void)
{
  const Case         c       = {.p = {2, {32, 24, 1}, PERIODIC, VARYING, PETSC_FALSE}, .pc = PCKSP, .null = PETSC_TRUE, .max_it = 40};
  const KSPType      types[] = {KSPCG, KSPHJCG};
  PetscInt           its[2];
  KSPConvergedReason reason;
  PetscReal          relative[2], diff;
  PetscBool          agree = PETSC_FALSE;
  Vec                x[2];

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    System sys;
    KSP    ksp, inner;
    PC     pc;

    PetscCall(MakeSystem(&c, &sys));
    PetscCall(MakeSolver(&c, &sys, types[i], &ksp));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCKSPGetKSP(pc, &inner));
    PetscCall(KSPSetType(inner, types[i]));
    PetscCall(KSPSetTolerances(inner, HJTestDigits(1e-9), PETSC_DEFAULT, PETSC_DEFAULT, 100));
    PetscCall(KSPGetPC(inner, &pc));
    PetscCall(PCSetType(pc, PCJACOBI));
    PetscCall(ProblemSolve(ksp, sys.A, sys.b, sys.x, &its[i], &reason, &relative[i]));
    PetscCall(PetscObjectReference((PetscObject)sys.x));
    x[i] = sys.x;
    PetscCall(KSPDestroy(&ksp));
    PetscCall(DestroySystem(&sys));
  }
  PetscCall(VecsAgree(x[1], x[0], HJTestDigits(1e-7), &agree, &diff));
  PetscCall(HJTestOK((PetscBool)(agree && its[0] == its[1] && relative[1] < HJTestDigits(1e-8)),
                     "inside of itself: %" PetscInt_FMT " and %" PetscInt_FMT " iterations, residuals %g and %g, answers differ by %g",
                     its[1], its[0], (double)relative[1], (double)relative[0], (double)diff));
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&x[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values of a matrix whose preconditioner is used again: the products are those of the new ones. Types in turn, KSPReset() */
static PetscErrorCode TestReuse(PetscBool aij)
{
  const Case         c       = {.p      = {2, {33, 25, 1}, DIRICHLET, VARYING, PETSC_FALSE},
                                .pc     = PCHJMG,
                                .norm   = KSP_NORM_PRECONDITIONED,
                                .aij    = aij,
                                .max_it = 60};
  const KSPType      types[] = {KSPHJCG, KSPGMRES, KSPHJCG, KSPHJRICHARDSON};
  System             sys;
  KSP                ksp;
  PetscInt           its;
  KSPConvergedReason reason;
  PetscReal          relative, worst = 0.0;
  PetscBool          good = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(MakeSystem(&c, &sys));
  PetscCall(MakeSolver(&c, &sys, KSPHJCG, &ksp));
  for (int i = 0; i < 8; i++) {
    PetscCall(KSPSetType(ksp, types[i % 4]));
    PetscCall(KSPSetReusePreconditioner(ksp, (PetscBool)(i % 3 > 0)));
    if (i % 2) PetscCall(MatShift(sys.A, 0.2));
    if (i == 6) PetscCall(KSPReset(ksp));
    if (i == 6) PetscCall(KSPSetOperators(ksp, sys.A, sys.A));
    PetscCall(ProblemSolve(ksp, sys.A, sys.b, sys.x, &its, &reason, &relative));
    worst = PetscMax(worst, relative);
    PetscCall(HJTestDetail("# %s: %d iterations, reason %d, residual %g", types[i % 4], (int)its, (int)reason, (double)relative));
    if (reason < 0 || relative > HJTestDigits(1e-6)) good = PETSC_FALSE;
  }
  PetscCall(HJTestOK(good, "%s: types in turn, new values, KSPReset(): residuals up to %g", aij ? "AIJ" : "hjstencil", (double)worst));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(DestroySystem(&sys));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two unknowns a point, coupled at the point */
static PetscInt SystemRow(const void *ctx, const PetscInt at[3], PetscInt component, MatStencil col[27], PetscScalar v[27])
{
  const PetscInt n = ((const PetscInt *)ctx)[0];
  PetscInt       m = 2;

  col[0] = (MatStencil){.i = at[0], .j = at[1], .c = component};
  col[1] = (MatStencil){.i = at[0], .j = at[1], .c = 1 - component};
  v[0]   = 5.0;
  v[1]   = -0.5;
  for (int d = 0; d < 4; d++) {
    const PetscInt i = at[0] + (d == 1) - (d == 0), j = at[1] + (d == 3) - (d == 2);

    if (i < 0 || j < 0 || i >= n || j >= n) continue;
    col[m] = (MatStencil){.i = i, .j = j, .c = component};
    v[m++] = -1.0;
  }
  return m;
}

/* Of several unknowns a point, on the CPU, hjmg keeps no stencil matrix */
static PetscErrorCode TestSystem(void)
{
  const PetscInt n = 33;
  DM             da;
  Mat            A;
  Vec            b, x;
  KSP            ksp;
  PC             pc;
  PetscInt       s[2], w[2], its;
  PetscReal      relative;
  PetscBool      holds;

  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, PETSC_DECIDE, PETSC_DECIDE, 2, 1,
                         NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], NULL, &w[0], &w[1], NULL));
  for (PetscInt p = 0; p < 2 * w[0] * w[1]; p++) {
    const PetscInt   at[3] = {s[0] + p / 2 % w[0], s[1] + p / 2 / w[0], 0};
    const MatStencil row   = {.i = at[0], .j = at[1], .c = p % 2};
    MatStencil       col[27];
    PetscScalar      v[27];
    const PetscInt   m = SystemRow(&n, at, p % 2, col, v);

    PetscCall(MatSetValuesStencil(A, 1, &row, m, col, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecSet(b, 1.0));
  PetscCall(ProblemKSP(da, A, KSPHJCG, PCHJMG, &ksp, &pc));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), PETSC_DEFAULT, PETSC_DEFAULT, 30));
  PetscCall(ProblemSolve(ksp, A, b, x, &its, &reason, &relative));
  PetscCall(ObjectViewHolds((PetscObject)ksp, PETSC_VIEWER_DEFAULT, "as KSPCG: no stencil has the products", &holds));
  PetscCall(HJTestOK((PetscBool)(reason > 0 && relative < HJTestDigits(1e-6) && holds),
                     "two unknowns a point: %" PetscInt_FMT " iterations, residual %g", its, (double)relative));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What CG answers of eigenvalues */
static PetscErrorCode TestAnswers(void)
{
  const Case    c       = {.p = {2, {33, 25, 1}, DIRICHLET, VARYING, PETSC_FALSE}, .pc = PCHJACOBI, .max_it = 8};
  const KSPType types[] = {KSPCG, KSPHJCG};
  PetscReal     sigma[2][2];

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    System sys;
    KSP    ksp;

    PetscCall(MakeSystem(&c, &sys));
    PetscCall(MakeSolver(&c, &sys, types[i], &ksp));
    PetscCall(KSPSetComputeSingularValues(ksp, PETSC_TRUE));
    PetscCall(KSPSolve(ksp, sys.b, sys.x));
    PetscCall(KSPComputeExtremeSingularValues(ksp, &sigma[i][0], &sigma[i][1]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(DestroySystem(&sys));
  }
  PetscCall(HJTestOK((PetscBool)(sigma[0][0] == sigma[1][0] && sigma[0][1] == sigma[1][1]), "singular values: %g and %g, %g and %g",
                     (double)sigma[1][0], (double)sigma[0][0], (double)sigma[1][1], (double)sigma[0][1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  int code;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemBackend());
  PetscCall(TestSame());
  PetscCall(TestLarger());
  PetscCall(TestLater());
  PetscCall(TestEnds());
  PetscCall(TestLeft());
  PetscCall(TestNested());
  for (int aij = 0; aij < 2; aij++) PetscCall(TestReuse((PetscBool)aij));
  PetscCall(TestAnswers());
  PetscCall(TestSystem());
  PetscCall(TestInside(KSPCG, KSPHJCG));
  PetscCall(TestAllNewValues(KSPCG, KSPHJCG));
  code = HJTestDone();
  PetscCall(PetscFinalize());
  return code;
}

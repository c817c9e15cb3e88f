/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 3 4 */
/*
   Exact cycles of the PC against the definition through MatMult(): apply, applyrichardson, applytranspose, refresh, symmetry.
*/
#include "hjproblem.h"
#include "hjdevices.h"

static PetscErrorCode CreatePC(DM da, Mat A, PetscInt k, PCHJacobiSchedule schedule, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(ProblemPC(da, A, PCHJACOBI, pc));
  PetscCall(PCHJacobiSetK(*pc, k));
  PetscCall(PCHJacobiSetSchedule(*pc, schedule));
  PetscCall(PCHJacobiSetOperator(*pc, PC_HJACOBI_OPERATOR_STENCIL));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest of |p| where the weights are reciprocal roots is about 1, so rounding grows like k^2 eps; 64 covers the rows' sums */
static PetscReal Tolerance(PetscInt subiterations)
{
  return 64 * PETSC_MACHINE_EPSILON * PetscMax(subiterations, 4) * subiterations;
}

static PetscErrorCode TestApply(PC pc, Mat A, DM da, const char *name)
{
  Vec                         b, x, y, w;
  Mat                         At;
  PetscInt                    k, its;
  const PetscReal            *weights;
  PetscBool                   agree = PETSC_FALSE;
  PetscReal                   diff;
  PCRichardsonConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(ProblemVectors(da, &b, &x, &y, &w));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(PCHJacobiGetWeights(pc, &k, &weights));

  PetscCall(VecSet(x, PETSC_INFINITY));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecSet(y, 0.0));
  PetscCall(NaiveCycles(A, 1, k, weights, b, y));
  PetscCall(VecsAgree(x, y, Tolerance(k), &agree, &diff));
  PetscCall(HJTestOK(agree, "%s: apply (%g)", name, (double)diff));

  for (PetscInt n = 1; n <= 3; n++) {
    PetscCall(ProblemVector(da, 2, x));
    PetscCall(VecCopy(x, y));
    PetscCall(PCApplyRichardson(pc, b, x, w, 1e-5, 0, 1e5, n, PETSC_FALSE, &its, &reason));
    PetscCall(NaiveCycles(A, n, k, weights, b, y));
    PetscCall(VecsAgree(x, y, Tolerance(n * k), &agree, &diff));
    PetscCall(HJTestOK((PetscBool)(agree && its == n && reason == PCRICHARDSON_CONVERGED_ITS), "%s: richardson, %d cycles (%g)", name,
                       (int)n, (double)diff));
  }
  PetscCall(VecSet(x, PETSC_INFINITY));
  PetscCall(PCApplyRichardson(pc, b, x, w, 1e-5, 0, 1e5, 2, PETSC_TRUE, &its, &reason));
  PetscCall(VecSet(y, 0.0));
  PetscCall(NaiveCycles(A, 2, k, weights, b, y));
  PetscCall(VecsAgree(x, y, Tolerance(2 * k), &agree, &diff));
  PetscCall(HJTestOK(agree, "%s: richardson, zero guess (%g)", name, (double)diff));

  PetscCall(PCApplyTranspose(pc, b, x));
  PetscCall(VecSet(y, 0.0));
  PetscCall(
    MatTranspose(A, MAT_INITIAL_MATRIX, &At));     /* the first MatMultTranspose() of PETSc 3.26.1 on 4 GPUs may be wrong, even for x = 0 */
  PetscCall(NaiveCycles(At, 1, k, weights, b, y)); /* p(A^T D^-1) applied to D^-1 b is D^-1 p(D^-1 A^T) */
  PetscCall(MatDestroy(&At));
  PetscCall(VecsAgree(x, y, Tolerance(k), &agree, &diff));
  PetscCall(HJTestOK(agree, "%s: transpose (%g)", name, (double)diff));
  PetscCall(HJTestDestroy(&b, &x, &y, &w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* (u, B v) = (B^T u, v); and for symmetric A (u, B v) = (B u, v), (u, B u) > 0 */
static PetscErrorCode TestAdjoint(PC pc, DM da, PetscBool symmetric, const char *name)
{
  Vec         u, v;
  PetscScalar positive;
  PetscReal   difference = 0;
  PetscBool   agree      = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(ProblemVectors(da, &u, &v));
  PetscCall(ProblemVector(da, 3, u));
  PetscCall(ProblemVector(da, 4, v));
  PetscCall(AdjointAgrees(pc, PCApplyTranspose, u, v, Tolerance(16), &agree, &difference));
  PetscCall(HJTestOK(agree, "%s: transpose is the adjoint", name));
  if (symmetric) {
    PetscCall(AdjointAgrees(pc, PCApply, u, v, Tolerance(16), &agree, &difference));
    PetscCall(PCApply(pc, u, v));
    PetscCall(VecDot(v, u, &positive));
    PetscCall(HJTestOK((PetscBool)(agree && positive > 0), "%s: symmetric and positive", name));
  }
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProblem(const Problem *p, PetscBool strips, PetscInt k, PCHJacobiSchedule schedule)
{
  DM   da;
  Mat  A;
  PC   pc;
  char name[128], again[160];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT "D%s %s %s %s k=%" PetscInt_FMT " %s", p->dim, strips ? " strips" : "",
                          p->box ? "box" : "star", BoundaryNames()[p->boundary], CoefficientNames()[p->coefficient], k,
                          PCHJacobiSchedules[schedule]));
  PetscCall(ProblemStrips(p->dim, strips));
  PetscCall(ProblemCreate(p, &da, &A));
  PetscCall(ProblemStrips(p->dim, PETSC_FALSE));
  PetscCall(CreatePC(da, A, k, schedule, &pc));
  PetscCall(TestApply(pc, A, da, name));
  PetscCall(TestAdjoint(pc, da, (PetscBool)(p->coefficient != CONVECTION && p->boundary != IDENTITY && p->boundary != MIRROR), name));
  PetscCall(MatZeroEntries(A));
  PetscCall(ProblemFill(p, da, 2, A));
  PetscCall(PetscSNPrintf(again, sizeof(again), "%s, new values", name));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetUp(pc));
  PetscCall(TestApply(pc, A, da, again));
  PetscCall(HJTestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Periodic grids of few points in some direction, fewer than a halo is deep; periodic in one direction alone */
static PetscErrorCode TestPeriodic(PetscMPIInt size)
{
  const struct {
    PetscInt dim, n[3];
    Boundary boundary;
  } grids[] = {
    {1, {3, 1, 1}, PERIODIC},        {2, {37, 3, 1}, PERIODIC},        {2, {3, 29, 1}, PERIODIC},
    {2, {2, 29, 1}, PERIODIC},       {2, {37, 2, 1}, PERIODIC},        {2, {37, 1, 1}, PERIODIC},
    {2, {1, 29, 1}, PERIODIC},       {2, {37, 29, 1}, PERIODIC_FIRST}, {2, {4, 29, 1}, PERIODIC_FIRST},
    {2, {37, 29, 1}, PERIODIC_LAST}, {2, {37, 3, 1}, PERIODIC_LAST},   {3, {3, 14, 9}, PERIODIC},
    {3, {11, 2, 9}, PERIODIC},       {3, {11, 14, 1}, PERIODIC},       {3, {11, 14, 9}, PERIODIC_FIRST},
    {3, {2, 14, 9}, PERIODIC_FIRST}, {3, {11, 14, 9}, PERIODIC_LAST},  {3, {200, 40, PetscMax(4, size)}, PERIODIC_LAST},
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(grids); i++) {
    for (int box = 0; box <= (grids[i].dim > 1); box++) {
      const Problem p = {grids[i].dim,
                         {grids[i].n[0], grids[i].n[1], grids[i].n[2]},
                         grids[i].boundary,
                         (Coefficient)(i % 4),
                         (PetscBool)box};

      /* too few points for so many ranks */
      if (size > 1 && (p.n[0] < 9 || (p.dim > 1 && p.n[1] < 9) || (p.dim > 2 && p.n[2] < 4))) continue;
      PetscCall(TestProblem(&p, (PetscBool)(p.dim > 1 && i % 2), 5, PC_HJACOBI_SCHEDULE_CHEBYSHEV4));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How often values were exchanged so far */
static PetscErrorCode CountExchanges(int *n)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  PetscCall(PetscLogEventGetId("PCHJacobiHalo", &event));
  PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
  *n = info.count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   On one rank a periodic grid exchanges nothing: sweeps wrap. On the host, and so where -pc_hjacobi_verify runs it beside the device, they
   do where only the slowest direction is periodic. In 2D a GPU's sweeps with many rows do not wrap in x
*/
static PetscErrorCode TestNoExchange(void)
{
  const Problem p[] = {{2, {37, 29, 1}, PERIODIC_LAST, CONSTANT, PETSC_FALSE},   {3, {11, 14, 9}, PERIODIC_LAST, VARYING, PETSC_FALSE},
                       {2, {500, 410, 1}, PERIODIC, CONSTANT, PETSC_FALSE},      {2, {500, 410, 1}, PERIODIC_FIRST, VARYING, PETSC_FALSE},
                       {3, {70, 66, 68}, PERIODIC, CONSTANT, PETSC_FALSE},       {3, {70, 66, 68}, PERIODIC, CONSTANT, PETSC_TRUE},
                       {3, {70, 66, 68}, PERIODIC_FIRST, CONSTANT, PETSC_FALSE}, {2, {500, 1300, 1}, PERIODIC_LAST, JUMP, PETSC_FALSE}};
  char          backend[16] = "host";
  PetscBool     verify      = PETSC_FALSE;
  PetscMPIInt   size;
  int           before, after;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-pc_hjacobi_verify", &verify, NULL));
  for (size_t i = 0; i < (strcmp(backend, "cuda") || verify ? 2 : PETSC_STATIC_ARRAY_LENGTH(p)); i++) {
    PetscCall(CountExchanges(&before));
    PetscCall(TestProblem(&p[i], PETSC_FALSE, 8, PC_HJACOBI_SCHEDULE_CHEBYSHEV4));
    PetscCall(CountExchanges(&after));
    PetscCall(HJTestOK((PetscBool)(after == before), "%" PetscInt_FMT "D %s, one rank: nothing is exchanged (%d times)", p[i].dim,
                       BoundaryNames()[p[i].boundary], after - before));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt    sizes[3][3] = {{157, 1, 1}, {37, 29, 1}, {17, 14, 19}};
  const PetscInt    ks[]        = {1, 4, 7, 16};
  PCHJacobiSchedule schedule    = PC_HJACOBI_SCHEDULE_JACOBI;
  PetscMPIInt       size;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscLogDefaultBegin());
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemBackend());
  PetscCall(HJTestSetLimits());
  for (PetscInt dim = 1; dim <= 3; dim++) {
    for (int boundary = DIRICHLET; boundary <= MIRROR; boundary++) {
      for (int coefficient = CONSTANT; coefficient <= CONVECTION; coefficient++) {
        for (int box = 0; box <= (dim > 1); box++) {
          const PetscInt k = ks[(dim + boundary + coefficient + box) % 4];
          Problem        p = {dim,
                              {sizes[dim - 1][0], sizes[dim - 1][1], sizes[dim - 1][2]},
                              (Boundary)boundary,
                              (Coefficient)coefficient,
                              (PetscBool)box};

          if (boundary == MIRROR && box) continue; /* PETSc refuses that DMDA */
          schedule = (PCHJacobiSchedule)((schedule + 1) % PC_HJACOBI_SCHEDULE_CUSTOM);
          PetscCall(TestProblem(&p, (PetscBool)(dim > 1 && (boundary + coefficient) % 2), k, schedule));
        }
      }
    }
  }
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestPeriodic(size));
  PetscCall(TestNoExchange());
  return HJTestEnd();
}

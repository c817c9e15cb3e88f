/* SPDX-License-Identifier: BSD-2-Clause */
/*
   PCHJACOBI where the matrix is far from symmetric: upwind differences, cell Péclet numbers up to 300. With its own defaults, and with a k
   of the user's, GMRES's answer must be as good as it says, and take no more iterations than with PCJACOBI; what was asked for is taken,
   and named where it is not safe. So it is where cycles run through MatMult(), as they do in the blocks of PCASM.
   ranks: 1 2 4
*/
#include "hjproblem.h"

/* The cell Péclet number in x, half of it in the other directions, walls eliminated; central: second-order differences */
static PetscErrorCode CreateUpwind(PetscInt dim, PetscReal peclet, PetscBool central, DM *da, Mat *A)
{
  const Problem p = {dim, {dim < 3 ? 33 : 13, dim < 2 ? 1 : 29 - 6 * dim, dim < 3 ? 1 : 10}, DIRICHLET, CONSTANT, PETSC_FALSE};
  PetscInt      s[3], w[3];

  PetscFunctionBegin;
  PetscCall(ProblemDM(&p, da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(DMDAGetCorners(*da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  for (PetscInt at = 0; at < w[0] * w[1] * w[2]; at++) {
    const PetscInt here[3] = {s[0] + at % w[0], s[1] + at / w[0] % w[1], s[2] + at / w[0] / w[1]};
    MatStencil     row     = {.i = here[0], .j = here[1], .k = here[2]}, col[7];
    PetscScalar    v[7];
    PetscInt       n = 1;

    col[0] = row;
    v[0]   = 0.0;
    for (PetscInt d = 0; d < dim; d++) {
      for (PetscInt side = -1; side < 2; side += 2) {
        const PetscReal flow = d ? 0.5 * peclet : peclet, a = central ? 1.0 - 0.5 * side * flow : 1.0 + (side < 0 ? flow : 0.0);

        v[0] += a;
        if (here[d] + side < 0 || here[d] + side >= p.n[d]) continue;
        col[n] = row;
        if (d == 0) col[n].i += side;
        if (d == 1) col[n].j += side;
        if (d == 2) col[n].k += side;
        v[n++] = -a;
      }
    }
    PetscCall(MatSetValuesStencil(*A, 1, &row, n, col, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GMRES from the left, whose norm is that of the preconditioned residual; k 0: not set */
static PetscErrorCode Solve(DM da, Mat A, PCType type, PetscInt k, PCHJacobiOperator kind, KSP *ksp, KSPConvergedReason *reason,
                            PetscInt *its, PetscReal *residual)
{
  Vec x, b;
  PC  pc;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(ProblemVector(da, 3, x));
  PetscCall(MatMult(A, x, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, KSPGMRES));
  PetscCall(KSPSetTolerances(*ksp, HJTestDigits(1e-8), 0.0, PETSC_DEFAULT, 1000));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetType(pc, type));
  PetscCall(PCSetFromOptions(pc));
  if (k) PetscCall(PCHJacobiSetK(pc, k));
  PetscCall(PCHJacobiSetOperator(pc, kind));
  PetscCall(KSPSolve(*ksp, b, x));
  PetscCall(KSPGetConvergedReason(*ksp, reason));
  PetscCall(KSPGetIterationNumber(*ksp, its));
  PetscCall(RelativeResidual(A, b, x, residual));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The preconditioned norm and that of the residual differ by what D^-1 does to rows of one size, and by the cycle's own condition: 100
   times the tolerance is far above what both make, and far below the 1e-5 to 1e8 that weights which grow had left */
static PetscErrorCode CheckDefaults(PetscInt dim, PetscReal peclet)
{
  DM                 da;
  Mat                A;
  KSP                ksp;
  KSPConvergedReason reason;
  PetscInt           its, jacobi;
  PetscReal          residual;

  PetscFunctionBegin;
  PetscCall(CreateUpwind(dim, peclet, PETSC_FALSE, &da, &A));
  PetscCall(Solve(da, A, PCJACOBI, 0, PC_HJACOBI_OPERATOR_AUTO, &ksp, &reason, &jacobi, &residual));
  PetscCall(KSPDestroy(&ksp));
  for (int i = 0; i < 4; i++) {
    const PetscInt          ks[]    = {0, 7, 14, 0};
    const PetscInt          k       = ks[i];
    const PCHJacobiOperator kinds[] = {PC_HJACOBI_OPERATOR_AUTO, PC_HJACOBI_OPERATOR_MATRIX}, kind = kinds[i == 3];

    PetscCall(Solve(da, A, PCHJACOBI, k, kind, &ksp, &reason, &its, &residual));
    PetscCall(HJTestOK((PetscBool)(reason > 0 && residual < HJTestDigits(1e-6) && its <= jacobi),
                       "%dD, cell Péclet number %g, k %s%s: reason %d after %d iterations (Jacobi %d), true residual %g", (int)dim,
                       (double)peclet, k ? (k == 7 ? "7" : "14") : "not set", i == 3 ? ", through MatMult()" : "", (int)reason, (int)its,
                       (int)jacobi, (double)residual));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which schedule and k are taken: what was asked for is, whatever the matrix; else what is safe */
static PetscErrorCode CheckChoice(const char *name, DM da, Mat A, PetscInt k, PetscInt schedule, const char *words, const char *warning)
{
  PC        pc;
  PetscBool holds[2];
  PetscInt  got;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetType(pc, PCHJACOBI));
  PetscCall(PCSetFromOptions(pc));
  if (k) PetscCall(PCHJacobiSetK(pc, k));
  if (schedule >= 0) PetscCall(PCHJacobiSetSchedule(pc, (PCHJacobiSchedule)schedule));
  PetscCall(PCSetUp(pc));
  PetscCall(PCHJacobiGetK(pc, &got));
  PetscCall(ViewHolds(pc, words, &holds[0]));
  PetscCall(ViewHolds(pc, warning ? warning : "unsymmetric a matrix", &holds[1]));
  PetscCall(HJTestOK((PetscBool)(holds[0] && holds[1] == (PetscBool)(warning != NULL) && (!k || got == k)), "%s: %s", name, words));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a block that nothing tells of a grid, the one of this rank: whether its four weights are equal, as those of schedule jacobi are */
static PetscErrorCode CheckBlock(const char *name, Mat A, MatType type, PetscBool equal)
{
  PC               pc;
  Mat              B;
  PetscInt         k;
  const PetscReal *w;

  PetscFunctionBegin;
  PetscCall(MatGetDiagonalBlock(A, &B));
  PetscCall(MatConvert(B, type, MAT_INITIAL_MATRIX, &B));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOperators(pc, B, B));
  PetscCall(PCSetType(pc, PCHJACOBI));
  PetscCall(PCSetUp(pc));
  PetscCall(PCHJacobiGetWeights(pc, &k, &w));
  PetscCall(HJTestOK((PetscBool)(k == 4 && equal == (PetscBool)(w[0] == w[1] && w[1] == w[2] && w[2] == w[3])),
                     "a block of %s (%s) has weights that are %s", name, type, equal ? "equal" : "chebyshev4's"));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that are a diagonal alone make no flow, though others have them as columns */
static PetscErrorCode TestBlocks(void)
{
  const Problem known    = {2, {33, 17, 1}, IDENTITY, CONSTANT, PETSC_FALSE};
  const MatType types[3] = {MATSEQAIJ, MATSEQBAIJ, MATSEQDENSE};
  DM            da;
  Mat           A;

  PetscFunctionBegin;
  PetscCall(CreateUpwind(2, 30, PETSC_FALSE, &da, &A));
  for (int t = 0; t < 3; t++) PetscCall(CheckBlock("upwind differences", A, types[t], PETSC_TRUE));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(ProblemCreate(&known, &da, &A));
  for (int t = 0; t < 3; t++) PetscCall(CheckBlock("Laplace with boundary rows", A, types[t], PETSC_FALSE));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestChoice(void)
{
  DM  da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(CreateUpwind(2, 30, PETSC_FALSE, &da, &A));
  PetscCall(CheckChoice("upwind", da, A, 0, -1, "schedule: jacobi, k = 4", "chebyshev4 is not for so unsymmetric a matrix"));
  PetscCall(CheckChoice("upwind, k set", da, A, 9, -1, "schedule: jacobi, k = 9", "chebyshev4 is not for so unsymmetric a matrix"));
  PetscCall(CheckChoice("upwind, schedule set", da, A, 0, PC_HJACOBI_SCHEDULE_CHEBYSHEV4, "schedule: chebyshev4, k = 4", "is not safe"));
  PetscCall(CheckChoice("upwind, both set", da, A, 7, PC_HJACOBI_SCHEDULE_CHEBYSHEV4, "schedule: chebyshev4, k = 7", "is not safe"));
  PetscCall(CheckChoice("upwind, k safe", da, A, 1, -1, "schedule: chebyshev4, k = 1", NULL));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(CreateUpwind(2, 0, PETSC_FALSE, &da, &A));
  PetscCall(CheckChoice("no flow", da, A, 0, -1, "schedule: chebyshev4, k = 4", NULL));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(CreateUpwind(2, 30, PETSC_TRUE, &da, &A)); /* its diagonal is a tenth of its row */
  PetscCall(CheckChoice("central differences", da, A, 0, -1, "schedule: jacobi, k = 1", "is not"));
  PetscCall(CheckChoice("central differences, k set", da, A, 6, -1, "schedule: jacobi, k = 6", "is not safe"));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscErrorCode ierr;
  const double   peclets[] = {0, 3, 10, 30, 300};
  int            result;

  PetscFunctionBeginUser;
  ierr = PetscInitialize(&argc, &argv, NULL, NULL);
  if (ierr) return ierr;
  PetscCall(ProblemBackend());
  PetscCall(PCHJacobiInitializePackage());
  for (int i = 0; i < 5; i++) {
    for (PetscInt dim = 1; dim < 4; dim++) PetscCall(CheckDefaults(dim, peclets[i]));
  }
  PetscCall(TestChoice());
  PetscCall(TestBlocks());
  result = HJTestDone();
  PetscCall(PetscFinalize());
  return result;
}

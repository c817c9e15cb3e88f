/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   Rows of zeros, as a body in a flow may have, with a right-hand side that is not zero there. No solution exists: the residual keeps what b
   has there, and the answer elsewhere is that of the other rows.
*/
#include "hjproblem.h"
#include "hjcapture.h"

/* Differences of 5 or 7 points, walls eliminated, couplings all the same or not; the body's columns are kept or not */
static PetscErrorCode Fill(DM da, PetscBool solid, PetscBool columns, PetscBool varied, Mat A, Vec inside)
{
  PetscInt     N[3], lo[3], n[3], dim;
  PetscCount   point = 0;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &dim, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  PetscCall(VecGetArray(inside, &a));
  for (PetscInt k = lo[2]; k < lo[2] + n[2]; k++) {
    for (PetscInt j = lo[1]; j < lo[1] + n[1]; j++) {
      for (PetscInt i = lo[0]; i < lo[0] + n[0]; i++, point++) {
        const PetscInt p[3] = {i, j, k};
        MatStencil     row  = {.i = i, .j = j, .k = k}, col[7];
        PetscScalar    v[7];
        PetscInt       m    = 1;
        PetscBool      body = solid;

        for (int d = 0; d < dim; d++) body = (PetscBool)(body && 3 * p[d] > N[d] && 5 * p[d] < 3 * N[d]);
        a[point] = body ? 1.0 : 0.0;
        col[0]   = row;
        v[0]     = body ? 0.0 : 3.0 * dim * (varied ? 1.0 : 2.0 / 3.0);
        for (int o = 0; o < 2 * dim && !body; o++) {
          PetscInt  q[3]  = {i, j, k};
          PetscBool other = solid;

          q[o / 2] += o % 2 ? 1 : -1;
          if (q[o / 2] < 0 || q[o / 2] >= N[o / 2]) continue;
          for (int d = 0; d < dim; d++) other = (PetscBool)(other && 3 * q[d] > N[d] && 5 * q[d] < 3 * N[d]);
          if (other && !columns) continue;
          col[m] = (MatStencil){.i = q[0], .j = q[1], .k = q[2]};
          v[m++] = varied ? -1.0 - 0.5 * PetscSinReal(p[0] + q[0] + 0.7 * (p[1] + q[1] + p[2] + q[2])) : -1.0;
        }
        PetscCall(MatSetValuesStencil(A, 1, &row, m, col, v, INSERT_VALUES));
      }
    }
  }
  PetscCall(VecRestoreArray(inside, &a));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The residual of all rows but the body's; x there is the guess. anew: a matrix without a body was solved before */
static PetscErrorCode TestBody(const Problem *p, PetscBool columns, PetscBool stencil, PetscBool varied, PetscBool anew,
                               const char *options)
{
  DM        da;
  Mat       A;
  KSP       ksp;
  PC        pc;
  Vec       b, x, r, inside;
  PetscReal norm[3];
  PetscInt  its;
  PetscBool holds = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(ProblemDM(p, &da));
  if (stencil) PetscCall(MatCreateHJStencil(da, &A));
  else PetscCall(DMCreateMatrix(da, &A));
  PetscCall(ProblemVectors(da, &b, &x, &r, &inside));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-12), 1e-50, 1e10, 40));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_norm_type"));
  if (anew) {
    PetscCall(Fill(da, PETSC_FALSE, columns, varied, A, inside));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(MatZeroEntries(A));
  }
  PetscCall(Fill(da, PETSC_TRUE, columns, varied, A, inside));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(VecSet(x, 1.0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(ViewHolds(pc, "rows are zeros: their unknowns are left alone", &holds));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecPointwiseMult(b, r, inside));
  PetscCall(VecNorm(b, NORM_2, &norm[1]));
  PetscCall(VecAXPY(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &norm[0]));
  PetscCall(VecShift(x, -1.0));
  PetscCall(VecPointwiseMult(r, x, inside));
  PetscCall(VecNorm(r, NORM_INFINITY, &norm[2]));
  PetscCall(HJTestOK((PetscBool)(holds && norm[0] <= HJTestDigits(1e-9) * norm[1] && norm[2] == 0.0),
                     "%" PetscInt_FMT "D, columns %s, %s%s%s, %s: %" PetscInt_FMT
                     " iterations, residual %g beside %g in the body, where x changes by %g",
                     p->dim, columns ? "kept" : "dropped", stencil ? "hjstencil" : "AIJ", varied ? ", varied" : "", anew ? ", anew" : "",
                     options, its, (double)norm[0], (double)norm[1], (double)norm[2]));
  PetscCall(VecSet(r, 1.0));
  PetscCall(AdjointAgrees(pc, PCApplyTranspose, r, inside, HJTestDigits(1e-10), &holds, &norm[0]));
  PetscCall(ProblemVector(da, 1, b));
  if (holds) PetscCall(AdjointAgrees(pc, PCApplyTranspose, r, b, HJTestDigits(1e-10), &holds, &norm[0]));
  PetscCall(HJTestOK(holds, "the transposed cycle is the transpose (%g)", (double)norm[0]));
  PetscCall(HJTestDestroy(&ksp, &inside, &r, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A preconditioner's matrix with rows of zeros that the operator has not, the body's or all: they are identity rows, as for PCJACOBI. An
   operator of zeros is not said to be solved */
static PetscErrorCode TestOther(const Problem *p, PCType type, PetscBool all, PetscBool itself)
{
  DM                 da;
  Mat                A, P;
  KSP                ksp;
  PC                 pc;
  Vec                b, x, inside;
  PetscReal          norm[2];
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(ProblemDM(p, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMCreateMatrix(da, &P));
  PetscCall(ProblemVectors(da, &b, &x, &inside));
  PetscCall(Fill(da, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE, A, inside));
  PetscCall(Fill(da, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE, P, inside));
  if (all) PetscCall(MatZeroEntries(P));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, itself ? P : A, P));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), 1e-50, 1e10, 2000));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(VecNorm(b, NORM_2, &norm[1]));
  PetscCall(MatResidual(itself ? P : A, b, x, inside));
  PetscCall(VecNorm(inside, NORM_2, &norm[0]));
  PetscCall(HJTestOK((PetscBool)(itself ? reason < 0 : reason > 0 && norm[0] <= HJTestDigits(1e-5) * norm[1]),
                     "%" PetscInt_FMT "D, %s, %s: reason %d, residual %g of %g", p->dim, type,
                     itself ? "an operator of zeros"
                     : all  ? "a preconditioner's matrix of zeros"
                            : "a body in the preconditioner's matrix alone",
                     (int)reason, (double)norm[0], (double)norm[1]));
  PetscCall(HJTestDestroy(&ksp, &inside, &x, &b, &P, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -info says why the residual does not become less */
static PetscErrorCode TestSaid(const Problem *p, PetscBool solid)
{
  DM          da;
  Mat         A;
  PC          pc;
  Vec         inside;
  PetscMPIInt rank;
  PetscBool   said;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(ProblemDM(p, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMCreateGlobalVector(da, &inside));
  PetscCall(Fill(da, solid, PETSC_TRUE, PETSC_FALSE, A, inside));
  PetscCall(ProblemPC(NULL, A, PCHJMG, &pc));
  CollectInfo(PCSetUp(pc));
  said = (PetscBool)(strstr(printed, "rows are zeros: their unknowns are left alone, and the residual cannot be less") != NULL);
  PetscCall(HJTestOK((PetscBool)(rank || said == solid), "%" PetscInt_FMT "D, %s rows of zeros: -info %s", p->dim, solid ? "some" : "no",
                     solid ? "says what the residual keeps" : "says nothing of them"));
  PetscCall(HJTestDestroy(&pc, &inside, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Problem     p[] = {{2, {65, 49, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}, {3, {17, 21, 19}, DIRICHLET, CONSTANT, PETSC_FALSE}};
  const char *const o[] = {"-ksp_type richardson -ksp_norm_type unpreconditioned -pc_type hjmg",
                           "-ksp_type richardson -ksp_norm_type preconditioned -pc_type hjmg",
                           "-ksp_type richardson -ksp_norm_type none -pc_type hjmg", "-ksp_type gmres -pc_type hjmg",
                           "-ksp_type cg -pc_type hjmg"};

  PetscCall(ProblemInitialize(&argc, &argv));
  for (size_t i = 0; i < 2; i++)
    for (int columns = 0; columns < 2; columns++)
      for (int stencil = 0; stencil < 2; stencil++)
        for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(o); k++)
          PetscCall(
            TestBody(&p[i], (PetscBool)columns, (PetscBool)stencil, (PetscBool)((k + i) % 2), (PetscBool)((k + columns) % 2), o[k]));
  for (size_t i = 0; i < 4; i++) {
    const PCType type = i % 2 ? PCHJACOBI : PCHJMG;

    PetscCall(TestOther(&p[i / 2], type, PETSC_FALSE, PETSC_FALSE));
    PetscCall(TestOther(&p[i / 2], type, PETSC_TRUE, PETSC_FALSE));
    PetscCall(TestOther(&p[i / 2], type, PETSC_TRUE, PETSC_TRUE));
  }
  for (int solid = 0; solid < 2; solid++) PetscCall(TestSaid(&p[0], (PetscBool)solid));
  return HJTestEnd();
}

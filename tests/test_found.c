/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 3 */
/*
   Problems that the fuzzer (test_fuzz.c) found: each is the least one of its kind.
*/
#include "hjproblem.h"
#include "hjcapture.h"

/* A 1D chain without boundary, and a diagonal that is so much larger, by share of it */
static PetscErrorCode Chain(PetscInt n, Coefficient coefficient, PetscReal shift, DM *da, Mat *A)
{
  const Problem p = {1, {n, 1, 1}, NEUMANN, coefficient, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, da, A));
  PetscCall(MatShift(*A, 2.0 * shift));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The eigenvalue of the constants is small, and no rounding: it is solved for, also where it is negative */
static PetscErrorCode TestNearlySingular(PetscReal in_double)
{
  const PetscReal    shift = in_double < 0 ? -HJTestDigits(-in_double) : HJTestDigits(in_double);
  DM                 da;
  Mat                A;
  KSP                ksp;
  PC                 pc;
  Vec                x, b;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          relative = 0.0;

  PetscFunctionBegin;
  PetscCall(Chain(9, CONSTANT, shift, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(ProblemKSP(da, A, KSPGMRES, PCHJMG, &ksp, &pc));
  PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), 0.0, PETSC_DEFAULT, 20));
  PetscCall(ProblemSolve(ksp, A, b, x, &its, &reason, &relative));
  PetscCall(HJTestOK((PetscBool)(reason > 0 && its <= 8 && relative < HJTestDigits(1e-6)),
                     "9 points without boundary, diagonal changed by %g: %s, %d iterations, residual %.1e", (double)shift,
                     KSPConvergedReasons[reason], (int)its, (double)relative));
  PetscCall(HJTestDestroy(&ksp, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A chain without boundary and with a diagonal that is 0, which makes it regular: what cycles have there must not make it singular again */
static PetscErrorCode TestZeroInChain(void)
{
  DM        da;
  Mat       A;
  KSP       ksp;
  PC        pc;
  Vec       x, b;
  PetscReal relative = 1.0;

  PetscFunctionBegin;
  PetscCall(Chain(9, CONVECTION, 0.0, &da, &A));
  PetscCall(MatSetValue(A, 2, 2, 0.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(ProblemKSP(da, A, KSPGMRES, PCHJMG, &ksp, &pc));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), 0.0, PETSC_DEFAULT, 50));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(RelativeResidual(A, b, x, &relative));
  PetscCall(HJTestOK((PetscBool)(relative < HJTestDigits(1e-5)), "a diagonal that is 0 in a chain without boundary: residual %.1e",
                     (double)relative));
  PetscCall(HJTestDestroy(&ksp, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar Factor(PetscScalar number, PetscReal decades)
{
  return PetscPowReal(10.0, decades * PetscRealPart(number));
}

/* Columns of so many sizes that most diagonals are weak beside their row, too many to give them others, and a diagonal that is 0 */
static PetscErrorCode TestWeakAndZero(void)
{
  const Problem p = {2, {18, 17, 1}, DIRICHLET, VARYING, PETSC_FALSE};
  DM            da;
  Mat           A;
  KSP           ksp;
  PC            pc;
  Vec           x, b;
  PetscBool     failed;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(ProblemScale(da, 1, Factor, 4.9, PETSC_TRUE, A));
  PetscCall(MatSetValue(A, 100, 100, 0.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(ProblemKSP(da, A, KSPGMRES, PCHJMG, &ksp, &pc));
  CaptureError(KSPSolve(ksp, b, x), &failed); /* as it once did */
  PetscCall(HJTestDetail("# message: %s", message));
  PetscCall(HJTestOK((PetscBool)!failed, "a diagonal that is 0 among many that are weak is no error"));
  PetscCall(HJTestDestroy(&ksp, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define PARTS_N 929

/* Whether a point of a chain is not coupled to the next one */
static PetscBool EndsPart(PetscInt i)
{
  return (PetscBool)(i % 17 == 3 || i % 29 == 5 || i % 41 == 7);
}

/* A row of a chain in such parts, its entries of that size */
static PetscInt PartsRow(const void *ctx, const PetscInt at[3], PetscInt salt, MatStencil col[27], PetscScalar v[27])
{
  const PetscReal size = *(const PetscReal *)ctx;
  PetscInt        n    = 1;

  col[0] = (MatStencil){.i = at[0]};
  v[0]   = 0.0;
  for (PetscInt side = -1; side < 2; side += 2) {
    const PetscInt to = at[0] + side;

    if (to < 0 || to >= PARTS_N || EndsPart(PetscMin(to, at[0]))) continue;
    v[0] += size;
    col[n] = (MatStencil){.i = to};
    v[n++] = -size;
  }
  return n;
}

/* Parts end as points of coarse grids whose diagonals cancel to 0, exactly so where entries are a power of two: what sweeps have in their
   place is of the size of the matrix, or the rounding of a right-hand side becomes all that a left preconditioned residual is */
static PetscErrorCode TestParts(PetscReal size)
{
  const Problem      p = {1, {PARTS_N, 1, 1}, NEUMANN, CONSTANT, PETSC_FALSE};
  DM                 da;
  Mat                A;
  KSP                ksp;
  PC                 pc;
  Vec                x, b;
  KSPConvergedReason reason;
  PetscInt           its;
  PetscReal          relative = 1.0;

  PetscFunctionBegin;
  PetscCall(ProblemDM(&p, &da));
  PetscCall(DMSetMatType(da, MATHJSTENCIL));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(FillRows(da, PartsRow, &size, 0, INSERT_VALUES, A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(ProblemVector(da, 1, x));
  PetscCall(MatMult(A, x, b));
  PetscCall(ProblemKSP(da, A, KSPGMRES, PCHJMG, &ksp, &pc));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), 0.0, PETSC_DEFAULT, 50));
  PetscCall(ProblemSolve(ksp, A, b, x, &its, &reason, &relative));
  PetscCall(HJTestOK((PetscBool)(reason > 0 && its <= 12 && relative < HJTestDigits(1e-6)),
                     "parts of a chain, entries of %g: %s, %d iterations, residual %.1e", (double)size, KSPConvergedReasons[reason],
                     (int)its, (double)relative));
  PetscCall(HJTestDestroy(&ksp, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(ProblemInitialize(&argc, &argv));
  for (int decade = -8; decade <= -4; decade += 2) {
    PetscCall(TestNearlySingular(-PetscPowReal(10.0, decade)));
    PetscCall(TestNearlySingular(PetscPowReal(10.0, decade)));
  }
  PetscCall(TestZeroInChain());
  PetscCall(TestWeakAndZero());
  for (int exponent = -1; exponent <= 1; exponent++) PetscCall(TestParts((PetscReal)ldexp(1.0, HJ_BY_PRECISION(330, 50) * exponent)));
  return HJTestEnd();
}

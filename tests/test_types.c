/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   A stencil as a matrix of each of PETSc's types, with one unknown a point and with three: hjacobi solves with all of them, hjmg and
   MatConvert() to MATHJSTENCIL with some, and with the others the error names the cure.
*/
#include "hjproblem.h"
#include "hjcapture.h"

/* Whether hjmg solves with one unknown a point, with several, and an hjstencil is made of one; several are none */
static const struct {
  const char *type;
  PetscBool   one, several, convert;
} types[] = {
  {MATAIJ, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE},          {MATAIJPERM, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE},
  {MATAIJCRL, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE},       {MATAIJSELL, PETSC_TRUE, PETSC_TRUE, PETSC_TRUE},
  {MATBAIJ, PETSC_FALSE, PETSC_TRUE, PETSC_TRUE},        {MATDENSE, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE},
  {MATSBAIJ, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},     {MATSELL, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, /* rows on one rank alone */
  {MATIS, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},        {MATNEST, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
  {MATCOMPOSITE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}, {MATTRANSPOSEVIRTUAL, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
  {MATSHELL, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
};

/* Symmetric and positive: Laplace for each unknown, and each coupled with the others of its point */
static PetscErrorCode Fill(PetscInt dof, DM da, Mat A)
{
  PetscInt s[2], n[2], N[2];

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], NULL, &n[0], &n[1], NULL));
  PetscCall(DMDAGetInfo(da, NULL, &N[0], &N[1], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  for (PetscInt p = 0; p < n[0] * n[1] * dof; p++) {
    const PetscInt    i = s[0] + p / dof % n[0], j = s[1] + p / dof / n[0], c = p % dof;
    const MatStencil  row    = {.i = i, .j = j, .c = c};
    MatStencil        col[7] = {{.i = i - 1, .j = j, .c = c},
                                {.i = i + 1, .j = j, .c = c},
                                {.i = i, .j = j - 1, .c = c},
                                {.i = i, .j = j + 1, .c = c},
                                row,
                                {.i = i, .j = j, .c = (c + 1) % dof},
                                {.i = i, .j = j, .c = (c + 2) % dof}};
    const PetscScalar val[7] = {-1.0, -1.0, -1.0, -1.0, 4.3, 0.1, 0.1};

    for (int e = 0; e < 4; e++)
      if (col[e].i == N[0] || col[e].j == N[1]) col[e].i = -1; /* left out, as is what is negative */
    PetscCall(MatSetValuesStencil(A, 1, &row, dof > 1 ? 7 : 5, col, val, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same matrix in another type */
static PetscErrorCode Make(const char *type, DM da, Mat A, Mat *B)
{
  PetscFunctionBegin;
  if (!strcmp(type, MATNEST)) PetscCall(MatCreateNest(PETSC_COMM_WORLD, 1, NULL, 1, NULL, &A, B));
  else if (!strcmp(type, MATCOMPOSITE)) PetscCall(MatCreateComposite(PETSC_COMM_WORLD, 1, &A, B));
  else if (!strcmp(type, MATTRANSPOSEVIRTUAL)) PetscCall(MatCreateTranspose(A, B));
  else if (!strcmp(type, MATSHELL)) PetscCall(ProblemShell(A, B));
  else PetscCall(MatConvert(A, type, MAT_INITIAL_MATRIX, B));
  PetscCall(MatSetDM(*B, da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The right-hand side is made by the AIJ matrix */
static PetscErrorCode Solve(const char *pctype, PetscInt most, DM da, Mat A, Mat B, PetscBool *solved)
{
  KSP       ksp;
  PC        pc;
  Vec       x, b, y;
  PetscBool failed;
  PetscReal error[2];
  PetscInt  its;

  PetscFunctionBegin;
  *solved = PETSC_FALSE;
  PetscCall(ProblemVectors(da, &x, &b, &y));
  PetscCall(ProblemVector(da, 1, x));
  PetscCall(MatMult(A, x, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, B));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-10), 0.0, PETSC_DEFAULT, most));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetType(pc, pctype));
  CaptureError(KSPSolve(ksp, b, y), &failed);
  if (!failed) {
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(VecNorm(x, NORM_2, &error[1]));
    PetscCall(VecAXPY(y, -1.0, x));
    PetscCall(VecNorm(y, NORM_2, &error[0]));
    *solved = (PetscBool)(error[0] <= HJTestDigits(1e-8) * error[1] && its < most);
    PetscCall(KSPDestroy(&ksp));
  } /* else it is left as the error has left it */
  PetscCall(HJTestDestroy(&x, &b, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestType(size_t t, PetscInt dof, DM da, Mat A)
{
  const PetscBool sell = (PetscBool)!strcmp(types[t].type, MATSELL); /* whose product on several ranks is wrong in PETSc 3.22 */
  Mat             B, C;
  PetscBool       works, failed;
  PetscMPIInt     size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Make(types[t].type, da, A, &B));
  PetscCall(Solve(PCHJACOBI, 60, da, A, B, &works));
  PetscCall(
    HJTestOK((PetscBool)(works || (sell && size > 1)), "%d unknowns a point, %s: hjacobi solves %s", (int)dof, types[t].type, message));
  PetscCall(Solve(PCHJMG, 10, da, A, B, &works));
  if (dof > 1 ? types[t].several : types[t].one)
    PetscCall(HJTestOK(works, "%d unknowns a point, %s: hjmg solves %s", (int)dof, types[t].type, message));
  else
    PetscCall(HJTestOK((PetscBool)(!works && strstr(message, "the matrix type is") && strstr(message, "use -dm_mat_type aij")),
                       "%d unknowns a point, %s: hjmg names the cure: %s", (int)dof, types[t].type, message));
  CaptureError(MatConvert(B, MATHJSTENCIL, MAT_INITIAL_MATRIX, &C), &failed);
  if (dof == 1 && types[t].convert) PetscCall(HJTestOK((PetscBool)!failed, "%s: it becomes an hjstencil %s", types[t].type, message));
  else if (failed)
    PetscCall(HJTestOK((PetscBool)(strstr(message, "convert it to AIJ") || strstr(message, "use -dm_mat_type aij")),
                       "%d unknowns a point, %s: an hjstencil is refused, the cure named: %s", (int)dof, types[t].type, message));
  if (!failed) PetscCall(MatDestroy(&C));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  for (PetscInt dof = 1; dof <= 3; dof += 2) {
    DM  da;
    Mat A;

    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 41, 33, PETSC_DECIDE, PETSC_DECIDE, dof,
                           1, NULL, NULL, &da));
    PetscCall(DMSetUp(da));
    PetscCall(DMCreateMatrix(da, &A));
    PetscCall(Fill(dof, da, A));
    for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); t++) PetscCall(TestType(t, dof, da, A));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  return HJTestEnd();
}

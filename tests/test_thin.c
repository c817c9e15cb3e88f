/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 */
/*
   Directions of one point with a period: three columns of a box are one there. An AIJ matrix and a stencil matrix have the same cycle.
*/
#include "hjproblem.h"

static PetscErrorCode TestThin(const Problem *p, PCType type)
{
  DM        da;
  Mat       A;
  Vec       b, x[2];
  PC        pc;
  PetscReal norm[2];

  PetscFunctionBegin;
  PetscCall(ProblemDM(p, &da));
  for (int t = 0; t < 2; t++) {
    PetscCall(DMSetMatType(da, t ? MATHJSTENCIL : MATAIJ));
    PetscCall(DMCreateMatrix(da, &A));
    PetscCall(ProblemFill(p, da, 0, A));
    PetscCall(MatShift(A, 0.1));
    PetscCall(MatCreateVecs(A, &x[t], &b));
    PetscCall(ProblemVector(da, 1, b));
    PetscCall(ProblemPC(da, A, type, &pc));
    PetscCall(PCHJMGSetK(pc, 1, (PetscInt[]){3})); /* a number that is found may be another one for another type of matrix */
    PetscCall(PCHJMGSetCoarseSolve(pc, PC_HJMG_COARSE_SOLVE_SWEEPS)); /* on a GPU, where AIJ is not, an inverse solves to the end */
    PetscCall(PCApply(pc, b, x[t]));
    PetscCall(HJTestDestroy(&pc, &b, &A));
  }
  PetscCall(VecNorm(x[0], NORM_2, &norm[0]));
  PetscCall(VecAXPY(x[1], -1.0, x[0]));
  PetscCall(VecNorm(x[1], NORM_2, &norm[1]));
  PetscCall(HJTestOK((PetscBool)(norm[1] <= HJTestDigits(1e-11) * norm[0]),
                     "%s, %dD %s, %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT ", %s, %s: difference %g", type, (int)p->dim,
                     p->box ? "box" : "star", p->n[0], p->n[1], p->n[2], BoundaryNames()[p->boundary], CoefficientNames()[p->coefficient],
                     (double)(norm[1] / norm[0])));
  for (int t = 0; t < 2; t++) PetscCall(VecDestroy(&x[t]));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const Problem problems[] = {
    {3, {8, 4, 1}, PERIODIC_LAST, JUMP, PETSC_TRUE},        {3, {6, 1, 15}, PERIODIC, VARYING, PETSC_TRUE},
    {3, {1, 11, 14}, PERIODIC_FIRST, CONSTANT, PETSC_TRUE}, {3, {9, 1, 1}, PERIODIC, CONVECTION, PETSC_TRUE},
    {2, {1, 40, 1}, PERIODIC_FIRST, VARYING, PETSC_TRUE},   {2, {40, 1, 1}, PERIODIC_LAST, JUMP, PETSC_TRUE},
    {3, {1, 40, 42}, PERIODIC, VARYING, PETSC_TRUE},        {3, {20, 1, 18}, PERIODIC, VARYING, PETSC_FALSE},
  };

  PetscCall(ProblemInitialize(&argc, &argv));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i++) {
    PetscCall(TestThin(&problems[i], PCHJMG));
    PetscCall(TestThin(&problems[i], PCHJACOBI));
  }
  return HJTestEnd();
}

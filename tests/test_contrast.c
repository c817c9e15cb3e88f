/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 */
/*
   A part of the grid that hangs on the rest by couplings of 1e-2 to 1e-10, on a grid that is not coarsened: its constants are an error
   that a cycle reduces as any other.
*/
#include "hjproblem.h"

/* Whether a point is on the island, in the middle of the grid */
static PetscBool OnIsland(PetscInt n, PetscInt i, PetscInt j)
{
  return (PetscBool)(i > n / 3 && i < n / 3 + 6 && j > n / 3 && j < n / 3 + 6);
}

/* Of 5 points, walls eliminated; couplings from the island to the rest are weak */
static PetscErrorCode FillIsland(DM da, PetscInt n, PetscReal weak, Mat A, Vec island)
{
  PetscInt s[2], w[2];

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], NULL, &w[0], &w[1], NULL));
  for (PetscInt j = s[1]; j < s[1] + w[1]; j++) {
    for (PetscInt i = s[0]; i < s[0] + w[0]; i++) {
      MatStencil  row = {.i = i, .j = j}, col[5] = {{.i = i, .j = j}};
      PetscScalar v[5] = {0.0};
      PetscInt    m    = 1;

      for (int o = 0; o < 4; o++) {
        const PetscInt  to[2] = {i + (o == 0) - (o == 1), j + (o == 2) - (o == 3)};
        const PetscReal a     = OnIsland(n, i, j) != OnIsland(n, to[0], to[1]) ? weak : 1.0;

        v[0] += a;
        if (to[0] < 0 || to[0] >= n || to[1] < 0 || to[1] >= n) continue;
        col[m] = (MatStencil){.i = to[0], .j = to[1]};
        v[m++] = -a;
      }
      PetscCall(MatSetValuesStencil(A, 1, &row, m, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  {
    PetscScalar **a;

    PetscCall(DMDAVecGetArray(da, island, &a));
    for (PetscInt j = s[1]; j < s[1] + w[1]; j++)
      for (PetscInt i = s[0]; i < s[0] + w[0]; i++) a[j][i] = OnIsland(n, i, j) ? 1.0 : 0.0;
    PetscCall(DMDAVecRestoreArray(da, island, &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestIsland(PetscReal weak)
{
  const PetscInt n = 25;
  const Problem  p = {2, {25, 25, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM             da;
  Mat            A;
  PC             pc;
  Vec            e, r, x;
  PetscReal      norm[2];

  PetscFunctionBegin;
  PetscCall(ProblemDM(&p, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(MatCreateVecs(A, &x, &e));
  PetscCall(VecDuplicate(e, &r));
  PetscCall(FillIsland(da, n, weak, A, e));
  PetscCall(ProblemPC(da, A, PCHJMG, &pc));
  PetscCall(MatMult(A, e, r));
  PetscCall(PCApply(pc, r, x));
  PetscCall(VecNorm(e, NORM_2, &norm[0]));
  PetscCall(VecAXPY(x, -1.0, e));
  PetscCall(VecNorm(x, NORM_2, &norm[1]));
  PetscCall(HJTestOK((PetscBool)(norm[1] <= 0.02 * norm[0]), "an island behind couplings of %g: a cycle leaves %g of its constants",
                     (double)weak, (double)(norm[1] / norm[0])));
  PetscCall(HJTestDestroy(&pc, &e, &r, &x, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscReal weak[] = {1e-2, 1e-4, 1e-7, 1e-8, 1e-9, 1e-10};

  PetscCall(ProblemInitialize(&argc, &argv));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(weak); i++) PetscCall(TestIsland(HJTestDigits(weak[i])));
  return HJTestEnd();
}

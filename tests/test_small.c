/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4 */
/*
   PCHJMG on every grid of up to 12 x 12 points, also where its coarse levels go to fewer ranks: nothing is refused, and what is said to be
   solved is.
*/
#include "hjproblem.h"

typedef enum {
  WALLS,    /* boundary eliminated */
  CELLS,    /* points are the centres of cells: walls are half a spacing away */
  NO_FLUX_X /* none through the walls in x */
} Walls;

typedef struct {
  PetscReal coupling[2];
  Walls     walls;
  PetscReal other; /* > 0: each point at a wall has its own distance from it */
} Difference;

/* Differences of 5 points */
static PetscErrorCode Fill(DM da, const Difference *f, Mat A)
{
  PetscInt N[2], lo[2], n[2];

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, NULL, &N[0], &N[1], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], NULL, &n[0], &n[1], NULL));
  for (PetscInt j = lo[1]; j < lo[1] + n[1]; j++) {
    for (PetscInt i = lo[0]; i < lo[0] + n[0]; i++) {
      const PetscReal wall = (f->walls == CELLS ? 2.0 : 1.0) * (1.0 + f->other * ((i * i * 7 + j * j * 5 + i + j) % 97));
      MatStencil      row  = {.i = i, .j = j}, col[5];
      PetscScalar     v[5];
      PetscInt        m = 1;

      col[0] = row;
      v[0]   = 0.0;
      for (int o = 0; o < 4; o++) {
        const int       d = o / 2, side = o % 2 ? 1 : -1;
        const PetscInt  to      = (d ? j : i) + side;
        const PetscBool outside = (PetscBool)(to < 0 || to >= N[d]);

        if (outside && f->walls == NO_FLUX_X && d == 0) continue;
        v[0] += f->coupling[d] * (outside ? wall : 1.0);
        if (outside) continue;
        col[m] = (MatStencil){.i = i + (d ? 0 : side), .j = j + (d ? side : 0)};
        v[m++] = -f->coupling[d];
      }
      PetscCall(MatSetValuesStencil(A, 1, &row, m, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillOperators(KSP ksp, Mat J, Mat A, void *ctx)
{
  DM da;

  PetscFunctionBegin;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(Fill(da, (const Difference *)ctx, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CG by the options with this prefix; *code: of a refusal */
static PetscErrorCode Solve(DM da, Difference *f, const char *prefix, PetscErrorCode *code, PetscBool *right)
{
  KSP                ksp;
  Mat                A;
  Vec                b, x;
  PetscReal          norm = 0;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, prefix));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(KSPSetComputeOperators(ksp, FillOperators, f));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetTolerances(ksp, HJ_BY_PRECISION(1e-9, 1e-6), PETSC_DEFAULT, PETSC_DEFAULT, 40));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  *code = KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  *right = PETSC_FALSE;
  if (!*code) {
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetOperators(ksp, &A, NULL));
    PetscCall(RelativeResidual(A, b, x, &norm));
    *right = (PetscBool)(reason > 0 && norm <= HJTestDigits(1e-6));
  }
  PetscCall(HJTestDestroy(&ksp, &x, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All sizes on which these ranks can have a grid. coarse: as the second grid of PCMG, which solves it */
static PetscErrorCode TestSizes(Difference f, PetscBool coarse)
{
  static const char *const names[] = {"walls", "walls at half the distance", "no flux in x"};
  PetscInt                 solved = 0, wrong = 0, refused = 0;
  PetscMPIInt              size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt m = coarse ? 2 : 1; m <= 12; m++) {
    for (PetscInt n = coarse ? 2 : 1; n <= 12; n++) {
      const Problem  p = {2, {coarse ? 2 * m - 1 : m, coarse ? 2 * n - 1 : n, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
      DM             da;
      PetscErrorCode code;
      PetscBool      right = PETSC_FALSE;

      if (m * n < 2 * size && size > 1) continue; /* there may be no cut */
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      code = ProblemDM(&p, &da);
      PetscCall(PetscPopErrorHandler());
      if (code) continue; /* PETSc finds none */
      PetscCall(Solve(da, &f, coarse ? "coarse_" : "hjmg_", &code, &right));
      if (code) refused++;
      else if (right) solved++;
      else wrong++;
      PetscCall(DMDestroy(&da));
    }
  }
  PetscCall(HJTestOK((PetscBool)(solved && !wrong && !refused),
                     "couplings %g and %g, %s%s%s: %" PetscInt_FMT " sizes are solved, %" PetscInt_FMT " are not, %" PetscInt_FMT
                     " are refused",
                     (double)f.coupling[0], (double)f.coupling[1], names[f.walls], f.other > 0 ? " at many distances" : "",
                     coarse ? ", as the coarse grid of PCMG" : "", solved, wrong, refused));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many distances of walls that the second grid has more distinct rows than a dictionary holds, though the finest has not */
static PetscErrorCode TestManyWalls(void)
{
  const Problem  p = {2, {400, 380, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  Difference     f = {{1, 1}, CELLS, 0.1};
  DM             da;
  PetscErrorCode code;
  PetscBool      right = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(ProblemDM(&p, &da));
  PetscCall(Solve(da, &f, "hjmg_", &code, &right));
  PetscCall(HJTestOK(right, "walls at many distances, of which coarse grids have more rows than a dictionary holds"));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Difference f[] = {{{0.1, 1}, WALLS, 0}, {{1, 0.02}, WALLS, 0},   {{1, 1}, WALLS, 0},       {{0.1, 1}, CELLS, 0},
                          {{30, 1}, CELLS, 0},  {{1, 0.02}, CELLS, 0.1}, {{1, 0.02}, NO_FLUX_X, 0}};

  PetscCall(ProblemInitialize(&argc, &argv));
  PetscCall(PetscOptionsInsertString(NULL, "-hjmg_pc_type hjmg -coarse_pc_type mg -coarse_pc_mg_levels 2 "
                                           "-coarse_mg_levels_pc_type hjacobi -coarse_mg_coarse_ksp_type preonly "
                                           "-coarse_mg_coarse_pc_type hjmg"));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(f); i++) PetscCall(TestSizes(f[i], PETSC_FALSE));
  for (size_t i = 0; i < 2; i++) PetscCall(TestSizes(f[i], PETSC_TRUE));
  PetscCall(TestManyWalls());
  return HJTestEnd();
}

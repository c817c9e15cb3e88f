/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4, long: 3 */
/*
   Singular matrices whose null spaces are any vectors, on the left others than on the right: said to PETSc as vectors, in part, or not at
   all. What is said to be solved is: the residual itself is looked at.
*/
#include "hjproblem.h"

/* A = R (D - K) C, K the couplings of neighbours, symmetric, D their row sums and the walls', R and C diagonal. Each part of the grid that
   is coupled neither to another one nor to a wall has C^-1 times its ones in the right null space, R^-1 times them in the left one */
typedef enum { ONE, SMOOTH, ROUGH } Scale;
typedef enum { WHOLE, PLANES, LAKES, HALVES, ISLANDS } Parts;
typedef enum { PLAIN, STRETCHED, VARIED, SKEW, WIND } Couplings; /* SKEW: to corners too, not of one sign; WIND: not symmetric, periodic */

typedef struct {
  const char *name;
  PetscInt    dim, n[3];
  Parts       parts;
  Couplings   couplings;
  Scale       rows, columns;
} Singular;

#define MAX_PARTS 16

static const Singular cases[] = {
  {"volumes, 4 cells", 3, {4, 4, 4}, WHOLE, STRETCHED, SMOOTH, ONE},
  {"volumes, 8 cells", 3, {8, 8, 8}, WHOLE, STRETCHED, SMOOTH, ONE},
  {"volumes", 3, {16, 12, 17}, WHOLE, STRETCHED, SMOOTH, ONE},
  {"volumes, in a plane", 2, {24, 33, 1}, WHOLE, PLAIN, SMOOTH, ONE},
  {"rough rows", 2, {33, 17, 1}, WHOLE, VARIED, ROUGH, ONE},
  {"columns", 2, {21, 25, 1}, WHOLE, VARIED, ONE, SMOOTH},
  {"rows and columns", 2, {33, 33, 1}, WHOLE, VARIED, ROUGH, SMOOTH},
  {"rows and columns, symmetric", 2, {19, 40, 1}, WHOLE, VARIED, SMOOTH, SMOOTH},
  {"a line", 1, {50, 1, 1}, WHOLE, VARIED, SMOOTH, ONE},
  {"two planes, one with walls", 3, {9, 12, 2}, PLANES, VARIED, ONE, ONE},
  {"two planes, one with walls, volumes", 3, {20, 12, 2}, PLANES, VARIED, SMOOTH, ONE},
  {"lakes", 2, {9, 9, 1}, LAKES, VARIED, ONE, ONE},
  {"large lakes", 2, {40, 36, 1}, LAKES, VARIED, ONE, ONE},
  {"large lakes, rows and columns", 2, {40, 36, 1}, LAKES, VARIED, SMOOTH, SMOOTH},
  {"lakes, volumes", 2, {12, 20, 1}, LAKES, VARIED, SMOOTH, ONE},
  {"halves", 2, {32, 24, 1}, HALVES, VARIED, ONE, ONE},
  {"halves, volumes", 2, {16, 25, 1}, HALVES, STRETCHED, ROUGH, ONE},
  {"lakes between land", 2, {41, 33, 1}, ISLANDS, VARIED, SMOOTH, ONE},
  {"terrain", 2, {25, 20, 1}, WHOLE, SKEW, SMOOTH, ONE},
  {"terrain, symmetric", 2, {33, 20, 1}, WHOLE, SKEW, ONE, ONE},
  {"wind, volumes", 2, {24, 24, 1}, WHOLE, WIND, SMOOTH, ONE},
};

/* Which part a point lies in, -1: none that is singular */
static PetscInt PartOf(const Singular *s, const PetscInt p[3])
{
  const PetscInt *n = s->n;

  if (s->parts == PLANES) return p[2] ? -1 : 0;
  if (s->parts == LAKES) return p[0] * 3 / n[0] + 3 * (p[1] * 3 / n[1]);
  if (s->parts == HALVES) return 2 * p[0] < n[0] ? 0 : 1;
  if (s->parts == ISLANDS) return p[0] % 14 == 13 || p[1] % 14 == 13 ? -1 : p[0] / 14 + 3 * (p[1] / 14);
  return 0;
}

static PetscInt NumberOfParts(const Singular *s)
{
  return s->parts == LAKES || s->parts == ISLANDS ? 9 : s->parts == HALVES ? 2 : 1;
}

static PetscReal ScaleAt(Scale scale, const PetscInt p[3])
{
  if (scale == SMOOTH) return 1.0 / (0.4 + 0.3 * PetscSinReal(0.4 * p[0] + 0.2 * p[1]) + 0.05 * (p[2] + 1) * (p[2] + 1));
  if (scale == ROUGH) return PetscExpReal(1.5 * PetscSinReal(12.9898 * p[0] + 78.233 * p[1] + 37.719 * p[2]));
  return 1.0;
}

/* Of p to its neighbour q, which may lie outside of a periodic grid */
static PetscReal CouplingOf(const Singular *s, const PetscInt p[3], const PetscInt q[3])
{
  const PetscInt dx = q[0] - p[0], dy = q[1] - p[1], far = PetscAbsInt(dx) + PetscAbsInt(dy) + PetscAbsInt(q[2] - p[2]);
  const PetscInt sum = p[0] + q[0] + 3 * (p[1] + q[1]) + 5 * (p[2] + q[2]);

  if (PartOf(s, p) != PartOf(s, q) || (s->parts == ISLANDS && PartOf(s, p) < 0)) return 0.0;
  if (s->couplings == SKEW) return far == 1 ? 1.0 + 0.3 * PetscSinReal(0.5 * sum) : dx * dy > 0 ? 0.3 : -0.2;
  if (s->couplings == WIND) return 1.0 + 0.3 * dx - 0.2 * dy;
  if (far > 1) return 0.0;
  if (s->couplings == STRETCHED) return q[2] != p[2] ? 40.0 / (1 + p[2] + q[2]) : (1 + p[2]) * (dx ? 1.0 : 0.7);
  if (s->couplings == VARIED) return 1.5 + PetscSinReal(0.3 * sum);
  return 1.0;
}

static PetscErrorCode FillRow(const Singular *s, const PetscInt p[3], Mat A)
{
  MatStencil      row   = {.i = p[0], .j = p[1], .k = p[2]}, col[27];
  const PetscReal scale = ScaleAt(s->rows, p);
  PetscScalar     v[27];
  PetscReal       diagonal = PartOf(s, p) < 0 ? 1.0 : 0.0;
  PetscInt        m        = 1;

  PetscFunctionBegin;
  for (int o = 0; o < 27; o++) {
    const PetscInt q[3] = {p[0] + o % 3 - 1, p[1] + o / 3 % 3 - 1, p[2] + o / 9 - 1};
    PetscInt       at[3];
    PetscBool      inside = PETSC_TRUE;
    PetscReal      k;

    for (int d = 0; d < 3; d++) {
      at[d] = s->couplings == WIND ? (q[d] + s->n[d]) % s->n[d] : q[d];
      if (at[d] < 0 || at[d] >= s->n[d]) inside = PETSC_FALSE;
    }
    if (o == 13 || !inside || (s->dim < 3 && q[2] != p[2])) continue;
    k = CouplingOf(s, p, q);
    if (k == 0.0) continue;
    diagonal += k;
    col[m] = (MatStencil){.i = q[0], .j = q[1], .k = q[2]};
    v[m++] = -k * scale * ScaleAt(s->columns, at);
  }
  col[0] = row;
  v[0]   = diagonal * scale * ScaleAt(s->columns, p);
  PetscCall(MatSetValuesStencil(A, 1, &row, m, col, v, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix, and the vectors of both its null spaces */
static PetscErrorCode Create(const Singular *s, PetscBool stencil, DM *da, Mat *A, Vec null[2][MAX_PARTS])
{
  const DMBoundaryType b = s->couplings == WIND ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  PetscInt             lo[3], n[3];
  PetscCount           point = 0;
  PetscScalar         *a[2][MAX_PARTS];

  PetscFunctionBegin;
  PetscCall(DMDACreate(PETSC_COMM_WORLD, da));
  PetscCall(DMSetDimension(*da, s->dim));
  PetscCall(DMDASetSizes(*da, s->n[0], s->n[1], s->n[2]));
  PetscCall(DMDASetBoundaryType(*da, b, s->dim > 1 ? b : DM_BOUNDARY_NONE, s->dim > 2 ? b : DM_BOUNDARY_NONE));
  PetscCall(DMDASetDof(*da, 1));
  PetscCall(DMDASetStencilWidth(*da, 1));
  PetscCall(DMDASetStencilType(*da, s->couplings == SKEW || s->couplings == WIND ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  if (stencil) PetscCall(MatCreateHJStencil(*da, A));
  else PetscCall(DMCreateMatrix(*da, A));
  for (int side = 0; side < 2; side++) {
    for (PetscInt i = 0; i < NumberOfParts(s); i++) {
      PetscCall(DMCreateGlobalVector(*da, &null[side][i]));
      PetscCall(VecGetArrayWrite(null[side][i], &a[side][i]));
    }
  }
  PetscCall(DMDAGetCorners(*da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  for (PetscInt k = lo[2]; k < lo[2] + n[2]; k++) {
    for (PetscInt j = lo[1]; j < lo[1] + n[1]; j++) {
      for (PetscInt i = lo[0]; i < lo[0] + n[0]; i++, point++) {
        const PetscInt p[3] = {i, j, k};

        PetscCall(FillRow(s, p, *A));
        for (int side = 0; side < 2; side++)
          for (PetscInt m = 0; m < NumberOfParts(s); m++)
            a[side][m][point] = PartOf(s, p) == m ? 1.0 / ScaleAt(side ? s->rows : s->columns, p) : 0.0;
      }
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  for (int side = 0; side < 2; side++) {
    for (PetscInt i = 0; i < NumberOfParts(s); i++) {
      PetscCall(VecRestoreArrayWrite(null[side][i], &a[side][i]));
      PetscCall(VecNormalize(null[side][i], NULL));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc is told: nothing; the right null space as vectors; both; constants, which are a part of it */
typedef enum { NOTHING, RIGHT, BOTH, CONSTANTS } Told;
static const char *const told_names[] = {"not said", "right", "right and left", "constants"};

static PetscErrorCode Tell(Mat A, PetscInt n, Vec null[2][MAX_PARTS], Told told)
{
  const int sides = told == BOTH ? 2 : told == NOTHING ? 0 : 1;

  PetscFunctionBegin;
  for (int side = 0; side < sides; side++) {
    const PetscBool constants = (PetscBool)(told == CONSTANTS);
    MatNullSpace    space;

    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, constants, constants ? 0 : n, null[side], &space));
    if (side) PetscCall(MatSetTransposeNullSpace(A, space));
    else PetscCall(MatSetNullSpace(A, space));
    PetscCall(MatNullSpaceDestroy(&space));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The residual of b without its part in the left null space, over that; all vectors of a null space are orthogonal */
static PetscErrorCode TrueResidual(Mat A, PetscInt n, Vec left[], Vec b, Vec x, PetscReal *relative)
{
  Vec         part;
  PetscScalar dot;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &part));
  PetscCall(VecCopy(b, part));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(VecDot(part, left[i], &dot));
    PetscCall(VecAXPY(part, -dot, left[i]));
  }
  PetscCall(RelativeResidual(A, part, x, relative));
  PetscCall(VecDestroy(&part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const char *name, *options;
  PetscInt    max_it;
  PetscBool   symmetric; /* matrices alone */
} Solver;

#define INVERSE "-pc_type hjmg -pc_hjmg_coarse_solve inverse"
#define ALONE   "-ksp_type richardson -ksp_norm_type unpreconditioned"

static const Solver solvers[] = {{"hjmg, GMRES", "-ksp_type gmres -pc_type hjmg", 40, PETSC_FALSE},
                                 {"hjmg, GMRES on the right", "-ksp_type gmres -ksp_pc_side right -pc_type hjmg", 40, PETSC_FALSE},
                                 {"hjmg, CG", "-ksp_type cg -pc_type hjmg", 40, PETSC_TRUE},
                                 {"hjmg alone", ALONE " -pc_type hjmg", 150, PETSC_FALSE},
                                 {"by an inverse, GMRES", "-ksp_type gmres " INVERSE, 40, PETSC_FALSE},
                                 {"by an inverse, 2 levels, GMRES", "-ksp_type gmres " INVERSE " -pc_hjmg_levels 2", 40, PETSC_FALSE},
                                 {"by an inverse, 2 levels, CG", "-ksp_type cg " INVERSE " -pc_hjmg_levels 2", 40, PETSC_TRUE},
                                 {"by an inverse, 2 levels, alone", ALONE " " INVERSE " -pc_hjmg_levels 2", 150, PETSC_FALSE},
                                 {"hjacobi, GMRES", "-ksp_type gmres -ksp_gmres_restart 200 -pc_type hjacobi", 1000, PETSC_FALSE},
                                 {"hjacobi, CG", "-ksp_type cg -pc_type hjacobi", 1000, PETSC_TRUE}};

static PetscErrorCode TestSolver(const Singular *s, const Solver *solver, DM da, Mat A, Vec null[2][MAX_PARTS], Told told)
{
  KSP                ksp;
  Vec                b, x;
  PetscInt           its;
  PetscReal          norm = 0;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, solver->options));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-10), 1e-50, 1e10, solver->max_it));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_pc_side"));
  PetscCall(PetscOptionsClearValue(NULL, "-ksp_norm_type"));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjmg_coarse_solve"));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_hjmg_levels"));
  PetscCall(ProblemVectors(da, &b, &x));
  for (int consistent = 1; consistent >= (told == BOTH ? 0 : 1); consistent--) {
    PetscCall(ProblemVector(da, 1, x));
    if (consistent) PetscCall(MatMult(A, x, b));
    else PetscCall(VecCopy(x, b));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(TrueResidual(A, NumberOfParts(s), null[1], b, x, &norm));
    PetscCall(HJTestOK((PetscBool)(reason > 0 && norm <= HJTestDigits(1e-6)),
                       "%s, %s, %s%s: reason %d, %" PetscInt_FMT " iterations, residual %g", s->name, told_names[told], solver->name,
                       consistent ? "" : ", any b", (int)reason, its, (double)norm));
  }
  PetscCall(HJTestDestroy(&x, &b, &ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The transposed cycle, whose coarsest grid is solved by an inverse */
static PetscErrorCode TestAdjoint(const Singular *s, DM da, Mat A)
{
  PC        pc;
  Vec       u, v;
  PetscReal diff  = 0;
  PetscBool agree = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCHJMGSetLevels(pc, 2));
  PetscCall(PCHJMGSetCoarseSolve(pc, PC_HJMG_COARSE_SOLVE_INVERSE));
  PetscCall(ProblemVectors(da, &u, &v));
  PetscCall(ProblemVector(da, 1, u));
  PetscCall(ProblemVector(da, 2, v));
  PetscCall(AdjointAgrees(pc, PCApplyTranspose, u, v, HJTestDigits(1e-10), &agree, &diff));
  PetscCall(HJTestOK(agree, "%s: the transposed cycle is the transpose (%g)", s->name, (double)diff));
  PetscCall(HJTestDestroy(&v, &u, &pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(const Singular *s, PetscBool stencil)
{
  const PetscBool symmetric = (PetscBool)(s->rows == s->columns && s->couplings != WIND);
  DM              da;
  Mat             A;
  Vec             null[2][MAX_PARTS];

  PetscFunctionBegin;
  for (int told = 0; told < 4; told++) {
    if (told == CONSTANTS && (s->columns != ONE || s->parts == PLANES || s->parts == ISLANDS)) continue;
    PetscCall(Create(s, stencil, &da, &A, null));
    PetscCall(Tell(A, NumberOfParts(s), null, (Told)told));
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(solvers); i++) {
      if (symmetric || !solvers[i].symmetric) PetscCall(TestSolver(s, &solvers[i], da, A, null, (Told)told));
    }
    PetscCall(TestAdjoint(s, da, A));
    for (int side = 0; side < 2; side++)
      for (PetscInt i = 0; i < NumberOfParts(s); i++) PetscCall(VecDestroy(&null[side][i]));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool only_long; /* the same cases */

  PetscCall(ProblemInitialize(&argc, &argv));
  PetscCall(HJTestLong(&only_long));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) PetscCall(TestCase(&cases[i], (PetscBool)(i % 2)));
  return HJTestEnd();
}

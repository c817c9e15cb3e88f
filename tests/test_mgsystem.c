/* SPDX-License-Identifier: BSD-2-Clause */
/* hjmg with several unknowns a point: elasticity, reaction and diffusion, directions that are weakly coupled, new values, transposes, null
   spaces, what is refused. ranks: 1 2 3 4 */
#include "hjsystemcase.h"
#include "hjelasticity.h"
#include "hjcapture.h"

static PetscErrorCode Solver(DM da, Mat A, KSPType type, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(ProblemSetDM(*ksp, da));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetTolerances(*ksp, HJ_BY_PRECISION(1e-8, 1e-6), PETSC_DEFAULT, PETSC_DEFAULT, 200));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of a solve with a right-hand side that depends on the grid alone; 1000 where there is no solution */
static PetscErrorCode Iterations(KSP ksp, PetscInt dof, PetscInt *its)
{
  DM                 da;
  Mat                A;
  Vec                b, x, r;
  PetscReal          norm[2];
  KSPConvergedReason reason;
  MatNullSpace       null;

  PetscFunctionBegin;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(SystemVector(da, dof, -1, 1, b));
  PetscCall(MatGetNullSpace(A, &null));
  if (null) PetscCall(MatNullSpaceRemove(null, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_2, &norm[0]));
  PetscCall(VecNorm(b, NORM_2, &norm[1]));
  if (reason <= 0 || !(norm[0] <= HJTestDigits(1e-5) * norm[1])) *its = 1000;
  PetscCall(HJTestDestroy(&b, &x, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestElasticity(PetscInt dim, PetscInt n, PetscReal nu, PetscReal stiff, PetscInt most)
{
  DM       da;
  Mat      A;
  KSP      ksp;
  PetscInt its;

  PetscFunctionBegin;
  PetscCall(SystemGrid(dim, n, dim, DM_BOUNDARY_NONE, PETSC_TRUE, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(ElasticityFill(da, nu, stiff, A));
  PetscCall(Solver(da, A, KSPCG, &ksp));
  PetscCall(Iterations(ksp, dim, &its));
  PetscCall(HJTestOK((PetscBool)(its <= most),
                     "elasticity, %" PetscInt_FMT "^%" PetscInt_FMT ", Poisson ratio %g, stiff by %g: %" PetscInt_FMT
                     " iterations of CG, at most %" PetscInt_FMT,
                     n, dim, (double)nu, (double)stiff, its, most));
  PetscCall(HJTestDestroy(&ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in matrices of each type: the same iterations as a solver that is new */
static PetscErrorCode TestGrayScott(const char *mattype)
{
  DM          da;
  Mat         A;
  KSP         ksp, fresh;
  PetscInt    its[3];
  PetscBool   holds, gpu, graph;
  PetscMPIInt size;
  PC          pc;

  PetscFunctionBegin;
  PetscCall(SystemGrid(2, 64, 2, DM_BOUNDARY_PERIODIC, PETSC_FALSE, &da));
  PetscCall(DMSetMatType(da, mattype));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(GrayScottFill(da, 0.1, A));
  PetscCall(Solver(da, A, KSPGMRES, &ksp));
  PetscCall(Iterations(ksp, 2, &its[0]));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(ViewHolds(pc, "64 x 64 points of 2 unknowns; coarsened by 2 x 2", &holds));
  PetscCall(ProblemOnGPU(&gpu));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ViewHolds(pc, "a cycle is one graph", &graph));
  if (gpu && size == 1 && strcmp(mattype, MATAIJ) && strcmp(mattype, MATBAIJ)) /* those lie on the host */
    PetscCall(HJTestOK(graph, "Gray and Scott, %s: the cycle is recorded", mattype));
  PetscCall(GrayScottFill(da, 1.0, A));
  PetscCall(Iterations(ksp, 2, &its[1]));
  PetscCall(Solver(da, A, KSPGMRES, &fresh));
  PetscCall(Iterations(fresh, 2, &its[2]));
  PetscCall(HJTestOK((PetscBool)(its[0] <= 6 && its[1] == its[2] && its[1] <= 12 && holds),
                     "Gray and Scott, %s: %" PetscInt_FMT " iterations, with new values %" PetscInt_FMT " and anew %" PetscInt_FMT, mattype,
                     its[0], its[1], its[2]));
  PetscCall(HJTestDestroy(&ksp, &fresh, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt  dof;
  PetscReal weak[3]; /* coupling in each direction */
  PetscReal point;   /* of the components at a point */
} Laplacian;

static PetscErrorCode LaplacianFill(const Laplacian *l, DM da, Mat A)
{
  PetscInt       dim, N[3], lo[3], w[3], at[3];
  DMBoundaryType b[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &dim, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, &b[0], &b[1], &b[2], NULL));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &w[0], &w[1], &w[2]));
  for (at[2] = lo[2]; at[2] < lo[2] + w[2]; at[2]++) {
    for (at[1] = lo[1]; at[1] < lo[1] + w[1]; at[1]++) {
      for (at[0] = lo[0]; at[0] < lo[0] + w[0]; at[0]++) {
        for (PetscInt c = 0; c < l->dof; c++) {
          MatStencil        row = {.i = at[0], .j = at[1], .k = at[2], .c = c}, other = row;
          PetscScalar       diagonal = l->point;
          const PetscScalar coupling = -l->point;

          for (PetscInt d = 0; d < dim; d++) {
            for (PetscInt side = -1; side < 2; side += 2) {
              const PetscInt    q    = at[d] + side;
              const PetscScalar weak = -l->weak[d];
              MatStencil        col  = row;

              diagonal += l->weak[d];
              if (b[d] == DM_BOUNDARY_NONE && (q < 0 || q >= N[d])) continue;
              *(d == 0 ? &col.i : d == 1 ? &col.j : &col.k) += side;
              PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col, &weak, INSERT_VALUES));
            }
          }
          other.c = (c + 1) % l->dof;
          if (l->point != 0) PetscCall(MatSetValuesStencil(A, 1, &row, 1, &other, &coupling, INSERT_VALUES));
          PetscCall(MatSetValuesStencil(A, 1, &row, 1, &row, &diagonal, INSERT_VALUES));
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* words: in the view */
static PetscErrorCode TestLaplacian(const char *name, PetscInt dim, PetscInt n, DMBoundaryType b, const Laplacian *l, PetscBool null,
                                    const char *words, PetscInt most)
{
  DM           da;
  Mat          A;
  KSP          ksp;
  PC           pc;
  PetscInt     its;
  PetscBool    holds;
  MatNullSpace constants;

  PetscFunctionBegin;
  PetscCall(SystemGrid(dim, n, l->dof, b, PETSC_FALSE, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(LaplacianFill(l, da, A));
  if (null) {
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
    PetscCall(MatSetNullSpace(A, constants));
    PetscCall(MatNullSpaceDestroy(&constants));
  }
  PetscCall(Solver(da, A, KSPGMRES, &ksp));
  PetscCall(Iterations(ksp, l->dof, &its));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(ViewHolds(pc, words, &holds));
  PetscCall(
    HJTestOK((PetscBool)(its <= most && holds), "%s: %" PetscInt_FMT " iterations, at most %" PetscInt_FMT "; %s", name, its, most, words));
  PetscCall(HJTestDestroy(&ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of an unsymmetric matrix: (B b, c) = (b, B^T c) */
/* Rows of points at one side, and of a block inside, are a diagonal alone, in any unit */
static PetscErrorCode TestKnown(MatType type, PetscReal value, PetscBool columns, PetscInt most)
{
  const Laplacian l = {2, {1, 1, 1}, 3};
  const PetscInt  n = 49;
  DM              da;
  Mat             A;
  KSP             ksp;
  PetscInt        s[2], w[2], its, m = 0;
  MatStencil     *rows;

  PetscFunctionBegin;
  PetscCall(SystemGrid(2, n, l.dof, DM_BOUNDARY_NONE, PETSC_FALSE, &da));
  PetscCall(DMSetMatType(da, type));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(LaplacianFill(&l, da, A));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], NULL, &w[0], &w[1], NULL));
  PetscCall(PetscCalloc1((size_t)w[0] * w[1] * l.dof, &rows));
  for (PetscInt p = 0; p < w[0] * w[1] * l.dof; p++) {
    const PetscInt i = s[0] + p / l.dof % w[0], j = s[1] + p / l.dof / w[0];

    if (!i || (i > 20 && i < 35 && j > 8 && j < 18)) rows[m++] = (MatStencil){.i = i, .j = j, .c = p % l.dof};
  }
  if (columns) PetscCall(MatZeroRowsStencil(A, m, rows, value, NULL, NULL));
  else PetscCall(MatZeroRowsColumnsStencil(A, m, rows, value, NULL, NULL));
  PetscCall(PetscFree(rows));
  PetscCall(Solver(da, A, KSPGMRES, &ksp));
  PetscCall(Iterations(ksp, l.dof, &its));
  PetscCall(HJTestOK((PetscBool)(its <= most), "%s, rows that are %g alone%s: %" PetscInt_FMT " iterations, at most %" PetscInt_FMT, type,
                     (double)value, columns ? ", columns kept" : "", its, most));
  PetscCall(HJTestDestroy(&ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestTranspose(PetscInt n)
{
  const System s = {2, {n, 30, 1}, 3, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, SYSTEM_ARRAYS, SYSTEM_FULL};
  DM           da;
  Mat          A;
  PC           pc;
  Vec          v[4];
  PetscScalar  dot[2];

  PetscFunctionBegin;
  PetscCall(SystemCreate(&s, MATAIJ, &da, &A));
  PetscCall(ProblemPC(da, A, PCHJMG, &pc));
  PetscCall(PCSetUp(pc));
  for (int i = 0; i < 4; i++) PetscCall(MatCreateVecs(A, &v[i], NULL));
  for (int i = 0; i < 2; i++) PetscCall(SystemVector(da, 3, -1, i, v[i]));
  PetscCall(PCApply(pc, v[0], v[2]));
  PetscCall(PCApplyTranspose(pc, v[1], v[3]));
  PetscCall(VecDot(v[2], v[1], &dot[0]));
  PetscCall(VecDot(v[0], v[3], &dot[1]));
  PetscCall(HJTestOK((PetscBool)(PetscAbsScalar(dot[0] - dot[1]) <= HJTestDigits(1e-10) * (1 + PetscAbsScalar(dot[0]))),
                     "%" PetscInt_FMT " x 30 points: the transposed cycle is the transpose (%g, %g)", n, (double)PetscRealPart(dot[0]),
                     (double)PetscRealPart(dot[1])));
  for (int i = 0; i < 4; i++) PetscCall(VecDestroy(&v[i]));
  PetscCall(HJTestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block of the finest grid without an inverse: set-up fails, and good values are solved again */
static PetscErrorCode TestSingular(void)
{
  const Laplacian    l = {2, {1, 1, 1}, 1};
  DM                 da;
  Mat                A;
  KSP                ksp;
  Vec                b, x;
  PetscInt           lo, hi, its;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(SystemGrid(2, 40, 2, DM_BOUNDARY_NONE, PETSC_FALSE, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(LaplacianFill(&l, da, A));
  PetscCall(Solver(da, A, KSPRICHARDSON, &ksp));
  PetscCall(MatGetOwnershipRange(A, &lo, &hi));
  PetscCall(MatSetValues(A, 2, (PetscInt[]){lo, lo + 1}, 2, (PetscInt[]){lo, lo + 1}, (PetscScalar[]){1, 2, 2, 4}, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(PetscFPTrapPush(PETSC_FP_TRAP_OFF)); /* PETSc writes infinity where a solve inside a PC failed */
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscFPTrapPop());
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(LaplacianFill(&l, da, A));
  PetscCall(Iterations(ksp, 2, &its));
  PetscCall(HJTestOK((PetscBool)(reason == KSP_DIVERGED_PC_FAILED && its <= 30),
                     "a singular block makes set-up fail (%d), and %" PetscInt_FMT " iterations solve good values", (int)reason, its));
  PetscCall(HJTestDestroy(&b, &x, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A saddle point, and what is no AIJ or BAIJ */
static PetscErrorCode TestRefused(void)
{
  const Laplacian l = {3, {1, 1, 1}, 0.5};
  DM              da;
  Mat             A, B;
  PC              pc;
  PetscInt        lo, hi;

  PetscFunctionBegin;
  PetscCall(SystemGrid(2, 12, 3, DM_BOUNDARY_NONE, PETSC_FALSE, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(LaplacianFill(&l, da, A));
  PetscCall(MatGetOwnershipRange(A, &lo, &hi));
  for (PetscInt r = lo + 2; r < hi; r += 3) PetscCall(MatSetValue(A, r, r, 0.0, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(ProblemPC(da, A, PCHJMG, &pc));
  ExpectError(PCSetUp(pc), "a saddle point is refused", "has no diagonal", "PCFIELDSPLIT");
  PetscCall(PCDestroy(&pc));
  PetscCall(LaplacianFill(&l, da, A));
  PetscCall(MatConvert(A, MATDENSE, MAT_INITIAL_MATRIX, &B));
  PetscCall(ProblemPC(da, B, PCHJMG, &pc));
  ExpectError(PCSetUp(pc), "a dense matrix is refused", "needs an AIJ, BAIJ or hjstencil matrix", "-pc_type gamg");
  PetscCall(HJTestDestroy(&pc, &A, &B, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Laplacian coupled = {2, {1, 1, 1}, 3}, weak = {2, {1, 0.01, 1}, 0.1}, alone = {4, {1, 1, 1}, 0};
  PetscBool       gpu;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemOnGPU(&gpu));
  if (gpu) PetscCall(PetscOptionsInsertString(NULL, "-dm_vec_type cuda -dm_mat_type hjstencil"));
  PetscCall(TestElasticity(2, 65, 0.3, 1, 8));
  PetscCall(TestElasticity(2, 48, 0.3, 1e3, 20));
  PetscCall(TestElasticity(3, 13, 0.3, 1, 10));
  PetscCall(TestElasticity(3, 12, 0.3, 1e3, 20));
  PetscCall(TestElasticity(2, 33, 0.45, 1, 16));
  PetscCall(TestGrayScott(MATAIJ));
  PetscCall(TestGrayScott(MATBAIJ));
  PetscCall(TestGrayScott(MATHJSTENCIL));
  if (gpu) PetscCall(TestGrayScott(MATAIJCUSPARSE));
  PetscCall(TestLaplacian("two that are coupled at points", 2, 40, DM_BOUNDARY_NONE, &coupled, PETSC_FALSE, "coarsened by 2 x 2", 10));
  PetscCall(TestLaplacian("a weak direction", 2, 65, DM_BOUNDARY_NONE, &weak, PETSC_FALSE, "coarsened by 2 x 1", 10));
  PetscCall(TestLaplacian("four apart", 2, 33, DM_BOUNDARY_NONE, &alone, PETSC_FALSE, "4 components that are not coupled", 10));
  PetscCall(TestLaplacian("a null space", 2, 48, DM_BOUNDARY_PERIODIC, &coupled, PETSC_TRUE, "48 x 48 points", 12));
  PetscCall(TestLaplacian("a line", 1, HJ_BY_PRECISION(2000, 200), DM_BOUNDARY_NONE, &coupled, PETSC_FALSE,
                          HJ_BY_PRECISION("2000 points of 2 unknowns", "200 points of 2 unknowns"), 12));
  for (int i = 0; i < 8 && !gpu; i++) PetscCall(TestKnown(i % 2 ? MATHJSTENCIL : MATAIJ, i / 4 ? 1e-2 : 1e3, (PetscBool)(i / 2 % 2), 6));
  PetscCall(TestTranspose(33));
  PetscCall(TestTranspose(9));
  PetscCall(TestSingular());
  PetscCall(TestRefused());
  return HJTestEnd();
}

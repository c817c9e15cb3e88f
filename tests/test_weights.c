/* ranks: 1 2 3 4 */
/*
   Interpolation with weights from the matrix.
*/
#include "hjproblem.h"
#include "../src/operator/hjtransfers.h"

/* Where coefficients jump, and how couplings follow from them */
typedef enum { EVEN, SMOOTH, REGION, BLOCKS } Medium;
typedef enum { HARMONIC, SAMPLED } Face;

typedef struct {
  PetscInt  dim, n;
  Medium    medium;
  PetscReal jump;
  PetscInt  block; /* points of a block, BLOCKS */
  Face      face;
  Boundary  boundary; /* DIRICHLET, IDENTITY, NEUMANN */
  PetscReal reaction; /* added to the diagonal */
} Jumps;

/* In [0, 1), of three numbers */
static PetscReal Chance(PetscInt i, PetscInt j, PetscInt k)
{
  const PetscReal x = 43758.5453 * PetscSinReal(12.9898 * i + 78.233 * j + 37.719 * k + 1.0);

  return x - PetscFloorReal(x);
}

static PetscReal Conductivity(const Jumps *p, const PetscReal c[3])
{
  PetscBool in = PETSC_TRUE;

  if (p->medium == EVEN) return 1.0;
  if (p->medium == SMOOTH) return PetscExpReal(2 * PetscSinReal(3 * c[0] / p->n + 2 * c[1] / p->n - c[2] / p->n));
  if (p->medium == BLOCKS)
    return PetscPowReal(p->jump, Chance((PetscInt)(c[0] / p->block), (PetscInt)(c[1] / p->block), (PetscInt)(c[2] / p->block)));
  for (PetscInt d = 0; d < p->dim; d++) in = (PetscBool)(in && c[d] > 0.31 * p->n && c[d] < 0.64 * p->n);
  return in ? p->jump : 1.0;
}

static PetscReal Coupling(const Jumps *p, const PetscInt at[3], int d, int o)
{
  PetscReal c[2][3], mid[3];

  for (int e = 0; e < 3; e++) {
    c[0][e] = at[e];
    c[1][e] = at[e] + (e == d ? o : 0);
    mid[e]  = PetscMax(0.5 * (c[0][e] + c[1][e]), 0.0);
  }
  if (p->face == SAMPLED) return Conductivity(p, mid);
  if (at[d] + o < 0 || at[d] + o >= p->n) return Conductivity(p, c[0]);
  return 2 / (1 / Conductivity(p, c[0]) + 1 / Conductivity(p, c[1]));
}

static PetscErrorCode JumpsFill(const Jumps *p, DM da, Mat A)
{
  PetscInt s[3], w[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  for (PetscInt k = s[2]; k < s[2] + w[2]; k++) {
    for (PetscInt j = s[1]; j < s[1] + w[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + w[0]; i++) {
        const PetscInt at[3] = {i, j, k};
        MatStencil     row   = {.i = i, .j = j, .k = k}, col[7];
        PetscScalar    v[7], diagonal = p->reaction;
        PetscInt       n    = 1;
        PetscBool      edge = PETSC_FALSE;

        for (int d = 0; d < p->dim; d++) {
          edge = (PetscBool)(edge || !at[d] || at[d] == p->n - 1);
          for (int o = -1; o <= 1; o += 2) {
            const PetscBool out = (PetscBool)(at[d] + o < 0 || at[d] + o >= p->n);
            const PetscReal a   = Coupling(p, at, d, o);

            if (out && p->boundary == NEUMANN) continue;
            diagonal += a;
            if (out) continue;
            col[n] = (MatStencil){.i = i + (d == 0 ? o : 0), .j = j + (d == 1 ? o : 0), .k = k + (d == 2 ? o : 0)};
            v[n++] = -a;
          }
        }
        if (edge && p->boundary == IDENTITY) n = 1;
        col[0] = row;
        v[0]   = diagonal;
        PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode JumpsCreate(const Jumps *p, DM *da, Mat *A)
{
  Problem grid = {p->dim, {p->n, p->dim > 1 ? p->n : 1, p->dim > 2 ? p->n : 1}, p->boundary, CONSTANT, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(ProblemDM(&grid, da));
  PetscCall(MatCreateHJStencil(*da, A));
  PetscCall(JumpsFill(p, *da, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Iterations(const Jumps *p, PCHJMGTransfer transfer, PetscInt *its)
{
  DM  da;
  Mat A;
  KSP ksp;
  PC  pc;
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(JumpsCreate(p, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecSet(b, 1.0));
  PetscCall(ProblemVector(da, 1, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 300));
  if (p->boundary == NEUMANN && p->reaction == 0.0) {
    MatNullSpace null;

    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &null));
    PetscCall(MatSetNullSpace(A, null));
    PetscCall(MatNullSpaceRemove(null, b));
    PetscCall(MatNullSpaceDestroy(&null));
  }
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCHJMG));
  PetscCall(PCHJMGSetTransfer(pc, transfer));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const Jumps problems[] = {
    {1, 257, EVEN, 1, 1, HARMONIC, DIRICHLET, 0},    {1, 257, BLOCKS, 1e6, 5, HARMONIC, DIRICHLET, 0},
    {2, 129, EVEN, 1, 1, HARMONIC, DIRICHLET, 0},    {2, 129, EVEN, 1, 1, HARMONIC, IDENTITY, 0},
    {2, 129, EVEN, 1, 1, HARMONIC, NEUMANN, 0},      {2, 129, EVEN, 1, 1, HARMONIC, NEUMANN, 0.1},
    {2, 129, EVEN, 1, 1, HARMONIC, DIRICHLET, 0.01},  {2, 129, EVEN, 1, 1, HARMONIC, DIRICHLET, 0.1},
    {2, 129, EVEN, 1, 1, HARMONIC, DIRICHLET, 1},    {2, 129, SMOOTH, 1, 1, HARMONIC, DIRICHLET, 0},
    {2, 129, REGION, 1e2, 1, HARMONIC, DIRICHLET, 0}, {2, 129, REGION, 1e6, 1, HARMONIC, DIRICHLET, 0},
    {2, 129, REGION, 1e-6, 1, HARMONIC, DIRICHLET, 0}, {2, 257, REGION, 1e6, 1, SAMPLED, DIRICHLET, 0},
    {2, 257, BLOCKS, 1e6, 5, HARMONIC, DIRICHLET, 0}, {2, 257, BLOCKS, 1e6, 5, SAMPLED, DIRICHLET, 0},
    {2, 257, BLOCKS, 1e6, 8, HARMONIC, DIRICHLET, 0}, {2, 257, BLOCKS, 1e6, 8, SAMPLED, DIRICHLET, 0},
    {2, 257, BLOCKS, 1e6, 13, SAMPLED, IDENTITY, 0}, {2, 257, BLOCKS, 1e6, 5, HARMONIC, NEUMANN, 0},
    {2, 257, BLOCKS, 1e6, 1, HARMONIC, DIRICHLET, 0},
    {3, 33, EVEN, 1, 1, HARMONIC, DIRICHLET, 0},    {3, 33, EVEN, 1, 1, HARMONIC, IDENTITY, 0},
    {3, 33, EVEN, 1, 1, HARMONIC, NEUMANN, 0},
    {3, 65, REGION, 1e6, 1, HARMONIC, DIRICHLET, 0}, {3, 65, BLOCKS, 1e6, 5, HARMONIC, DIRICHLET, 0},
    {3, 65, BLOCKS, 1e6, 5, SAMPLED, DIRICHLET, 0},
  };
  static const char *const media[] = {"even", "smooth", "region", "blocks"};
  PetscInt only = -1, last = 27;
  int code;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemBackend());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-last", &last, NULL));
  for (PetscInt i = 0; i < last; i++) {
    PetscInt its[2] = {0,0};
    const Jumps *p = &problems[i];
    if (only >= 0 && i != only) continue;
    PetscCall(Iterations(p, PC_HJMG_TRANSFER_OPERATOR, &its[0]));
    PetscCall(Iterations(p, PC_HJMG_TRANSFER_BILINEAR, &its[1]));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%dD %d %s %g block %d face %d %s reaction %g: %d bilinear %d\n", (int)p->dim, (int)p->n, media[p->medium], (double)p->jump, (int)p->block, p->face, BoundaryNames()[p->boundary], (double)p->reaction, (int)its[0], (int)its[1]));
  }
  code = HJTestDone();
  PetscCall(PetscFinalize());
  return code;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 4, long: 1, once: 1 */
/*
   Cycle counts of Islam & Wang (2020), sections 3.4 to 4.3, against a plain implementation of the method's definition kept here:
   Poisson, x0 = b = 1, jacobi with omega 1, stop at 1e-4 of the initial residual. Equal to the cycle.
*/
#include "hjproblem.h"

#define MAX_TILES 512

/* Tiles in one direction, all ranks, global coordinates: points [lo, hi), owned [own_lo, own_hi) */
typedef struct {
  PetscInt n, lo[MAX_TILES], hi[MAX_TILES], own_lo[MAX_TILES], own_hi[MAX_TILES];
} Tiles;

typedef struct {
  PetscInt   dim, N[3], stride[3];
  PetscReal  h2;
  Tiles      tiles[3];
  PetscReal *x, *y, *u, *v; /* global arrays with a ring of zeros; tile arrays over the same places */
} Plain;

/* DESIGN.md, The method: tile t covers [t (T - o) - e_lo, ... + T), cut at n + e_hi and at the domain's end */
static void TilesFill(PetscInt ranks, const PetscInt width[], PetscInt T, PetscInt o, Tiles *t)
{
  PetscInt start = 0;

  t->n = 0;
  for (PetscInt r = 0; r < ranks; r++) {
    const PetscInt e_lo = r ? o / 2 : 0, e_hi = r < ranks - 1 ? o / 2 : 0, n = width[r];

    for (PetscInt s = 0;; s++) {
      const PetscInt lo = s * (T - o) - e_lo, hi = PetscMin(lo + T, n + e_hi), last = hi == n + e_hi;

      t->lo[t->n]     = start + lo;
      t->hi[t->n]     = start + hi;
      t->own_lo[t->n] = start + (s ? lo + o / 2 : 0);
      t->own_hi[t->n] = start + (last ? n : hi - o / 2);
      t->n++;
      if (last) break;
    }
    start += n;
  }
}

static PetscErrorCode PlainCreate(DM da, PetscInt T, PetscInt o, Plain *p)
{
  const PetscInt *width[3];
  const PetscInt  one = 1;
  PetscInt        ranks[3], size = 1;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, &p->dim, &p->N[0], &p->N[1], &p->N[2], &ranks[0], &ranks[1], &ranks[2], NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetOwnershipRanges(da, &width[0], &width[1], &width[2]));
  for (PetscInt d = 0; d < 3; d++) {
    TilesFill(d < p->dim ? ranks[d] : 1, d < p->dim ? width[d] : &one, d < p->dim ? T : 1, d < p->dim ? o : 0, &p->tiles[d]);
    p->stride[d] = size;
    size *= p->N[d] + 2;
  }
  p->h2 = 1.0 / PetscSqr(p->N[0] + 1.0);
  PetscCall(PetscCalloc1(size, &p->x)); /* apart, since cycles swap them */
  PetscCall(PetscCalloc1(size, &p->y));
  PetscCall(PetscCalloc1(size, &p->u));
  PetscCall(PetscCalloc1(size, &p->v));
  for (PetscInt k = 1; k <= p->N[2]; k++)
    for (PetscInt j = 1; j <= p->N[1]; j++)
      for (PetscInt i = 1; i <= p->N[0]; i++) p->x[i + j * p->stride[1] + k * p->stride[2]] = 1.0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscReal Neighbors(const Plain *p, const PetscReal *x, PetscInt at)
{
  PetscReal sum = 0.0;

  for (PetscInt d = 0; d < p->dim; d++) sum += x[at - p->stride[d]] + x[at + p->stride[d]];
  return sum;
}

/* v <- Jacobi of u on n points from at on; written out by dimension so that compilers vectorise it */
static void PlainRow(const Plain *p, PetscInt at, PetscInt n, const PetscReal *restrict u, PetscReal *restrict v)
{
  const PetscInt  y = p->stride[1], z = p->stride[2];
  const PetscReal h2 = p->h2, d = 1.0 / (2 * p->dim);

  if (p->dim == 1) {
    for (PetscInt i = at; i < at + n; i++) v[i] = d * (h2 + u[i - 1] + u[i + 1]);
  } else if (p->dim == 2) {
    for (PetscInt i = at; i < at + n; i++) v[i] = d * (h2 + u[i - 1] + u[i + 1] + u[i - y] + u[i + y]);
  } else {
    for (PetscInt i = at; i < at + n; i++) v[i] = d * (h2 + u[i - 1] + u[i + 1] + u[i - y] + u[i + y] + u[i - z] + u[i + z]);
  }
}

/* One tile: k subiterations on its points, the ring as it was at the cycle's start, owned points written to y */
static void PlainTile(Plain *p, PetscInt k, const PetscInt t[3])
{
  const Tiles *T = p->tiles;
  PetscReal   *swap;
  PetscInt     lo[3], hi[3];

  for (PetscInt d = 0; d < 3; d++) {
    lo[d] = T[d].lo[t[d]] + 1 - (d < p->dim);
    hi[d] = T[d].hi[t[d]] + 1 + (d < p->dim);
  }
  for (PetscInt c = lo[2]; c < hi[2]; c++)
    for (PetscInt b = lo[1]; b < hi[1]; b++)
      for (PetscInt a = lo[0]; a < hi[0]; a++)
        p->u[a + b * p->stride[1] + c * p->stride[2]] = p->v[a + b * p->stride[1] + c * p->stride[2]] = p->x[a + b * p->stride[1] +
                                                                                                             c * p->stride[2]];
  for (PetscInt s = 0; s < k; s++) {
    for (PetscInt c = T[2].lo[t[2]] + 1; c < T[2].hi[t[2]] + 1; c++)
      for (PetscInt b = T[1].lo[t[1]] + 1; b < T[1].hi[t[1]] + 1; b++)
        PlainRow(p, T[0].lo[t[0]] + 1 + b * p->stride[1] + c * p->stride[2], T[0].hi[t[0]] - T[0].lo[t[0]], p->u, p->v);
    swap = p->u;
    p->u = p->v;
    p->v = swap;
  }
  for (PetscInt c = T[2].own_lo[t[2]] + 1; c < T[2].own_hi[t[2]] + 1; c++)
    for (PetscInt b = T[1].own_lo[t[1]] + 1; b < T[1].own_hi[t[1]] + 1; b++)
      for (PetscInt a = T[0].own_lo[t[0]] + 1; a < T[0].own_hi[t[0]] + 1; a++)
        p->y[a + b * p->stride[1] + c * p->stride[2]] = p->u[a + b * p->stride[1] + c * p->stride[2]];
}

static void PlainCycle(Plain *p, PetscInt k)
{
  PetscReal *swap = p->x;

  for (PetscInt c = 0; c < p->tiles[2].n; c++)
    for (PetscInt b = 0; b < p->tiles[1].n; b++)
      for (PetscInt a = 0; a < p->tiles[0].n; a++) PlainTile(p, k, (PetscInt[3]){a, b, c});
  p->x = p->y;
  p->y = swap;
}

static PetscReal PlainResidual(const Plain *p)
{
  PetscReal sum = 0.0;

  for (PetscInt k = 1; k <= p->N[2]; k++)
    for (PetscInt j = 1; j <= p->N[1]; j++)
      for (PetscInt i = 1; i <= p->N[0]; i++) {
        const PetscInt at = i + j * p->stride[1] + k * p->stride[2];

        sum += PetscSqr(1.0 - (2 * p->dim * p->x[at] - Neighbors(p, p->x, at)) / p->h2);
      }
  return PetscSqrtReal(sum);
}

static PetscErrorCode PlainSolve(DM da, PetscInt k, PetscInt T, PetscInt o, PetscInt *cycles)
{
  Plain     p;
  PetscReal stop;

  PetscFunctionBegin;
  PetscCall(PlainCreate(da, T, o, &p));
  stop = 1e-4 * PlainResidual(&p);
  for (*cycles = 0; PlainResidual(&p) > stop; (*cycles)++) PlainCycle(&p, k);
  PetscCall(PetscFree(p.x));
  PetscCall(PetscFree(p.y));
  PetscCall(PetscFree(p.u));
  PetscCall(PetscFree(p.v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveTiled(DM da, Mat A, PetscInt k, PetscInt T, PetscInt tile_y, PetscInt o, PetscInt *cycles)
{
  KSP                ksp;
  PC                 pc;
  Vec                x, b;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(ProblemVectors(da, &x, &b));
  PetscCall(VecSet(x, 1.0));
  PetscCall(VecSet(b, 1.0));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)da), &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPRICHARDSON));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPConvergedDefaultSetUIRNorm(ksp));
  PetscCall(KSPSetTolerances(ksp, 1e-4, 0.0, 1e10, 1000000));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetType(pc, PCHJACOBI));
  PetscCall(PCHJacobiSetK(pc, k));
  PetscCall(PCHJacobiSetOverlap(pc, o));
  PetscCall(PCHJacobiSetTile(pc, T, tile_y, T));
  PetscCall(PCHJacobiSetSchedule(pc, PC_HJACOBI_SCHEDULE_JACOBI));
  PetscCall(PCHJacobiSetOmega(pc, 1.0));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, cycles));
  if (reason != KSP_CONVERGED_RTOL) *cycles = -(PetscInt)reason;
  PetscCall(HJTestDestroy(&ksp, &x, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(DM da, Mat A, PetscInt dim, PetscInt k, PetscInt T, PetscInt o, PetscInt expected)
{
  PetscInt cycles, plain, few;

  PetscFunctionBegin;
  PetscCall(SolveTiled(da, A, k, T, T, o, &cycles));
  PetscCall(PlainSolve(da, k, T, o, &plain));
  few = HJ_BY_PRECISION(0, 1 + plain / 500); /* what rounding makes of a slow convergence */
  PetscCall(HJTestOK((PetscBool)(PetscAbsInt(cycles - plain) <= few && (!expected || HJ_BY_PRECISION(cycles == expected, PETSC_TRUE))),
                     "%dD k = %d, overlap %d: %d cycles, plain implementation %d", (int)dim, (int)k, (int)o, (int)cycles, (int)plain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestGrid(PetscInt dim, PetscInt n, PetscInt T, PetscInt ncases, const PetscInt cases[][3])
{
  Problem     p = {dim, {n, dim > 1 ? n : 1, dim > 2 ? n : 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
  DM          da;
  Mat         A;
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(ProblemCreate(&p, &da, &A));
  PetscCall(MatScale(A, PetscSqr(n + 1.0)));
  for (PetscInt i = 0; i < ncases; i++)
    PetscCall(TestCase(da, A, dim, cases[i][0], T, cases[i][1], size == 1 && n == 1024 ? cases[i][2] : 0));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies of a line that lie beside one another in y: as many cycles as one of them, with tiles one line thin */
static PetscErrorCode TestCopies(PetscInt n, PetscInt k, PetscInt o)
{
  const MatStencil  col[] = {{.i = 0}, {.i = -1}, {.i = 1}};
  const PetscScalar row[] = {2 * PetscSqr(n + 1.0), -PetscSqr(n + 1.0), -PetscSqr(n + 1.0)};
  PetscInt          cycles[2], lines;
  PetscMPIInt       size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  lines = PetscMax(12, 3 * size); /* an overlap of 4 asks for ranks of 3 */
  for (int copies = 0; copies < 2; copies++) {
    DM  da;
    Mat A;

    if (copies)
      PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, lines, 1, PETSC_DECIDE, 1, 1, NULL,
                             NULL, &da));
    else PetscCall(DMDACreate1d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, n, 1, 1, NULL, &da));
    PetscCall(DMSetMatType(da, MATHJSTENCIL));
    PetscCall(DMSetUp(da));
    PetscCall(DMCreateMatrix(da, &A));
    PetscCall(MatHJStencilSetRow(A, 3, col, row));
    PetscCall(SolveTiled(da, A, k, 32, copies ? 1 : 32, o, &cycles[copies]));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscCall(HJTestOK((PetscBool)(cycles[0] > 0 && cycles[0] == cycles[1]),
                     "%d copies of a line, k = %d, overlap %d: %d cycles, one line %d", (int)lines, (int)k, (int)o, (int)cycles[1],
                     (int)cycles[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /*
     k, overlap, cycles where known: Tables 1 and 2 in 1D, Tables 3 and 4 in 2D, and 3D. The first two (3D: the first) run on any number
     of ranks, the next two (3D: none) on one rank, the others in the long run. On a GPU that other programs use a cycle may take a
     millisecond, and the 1D cases of one rank take 160000: there they are on a smaller grid, and as they are in the long run
  */
  const PetscInt one[][3]   = {{64, 10, 0}, {128, 12, 0}, {1, 0, 128760}, {4, 8, 32190}, {4, 0, 0}, {8, 0, 0},  {16, 0, 0},
                               {32, 0, 0},  {64, 0, 0},   {128, 0, 0},    {4, 2, 0},     {8, 4, 0}, {16, 4, 0}, {32, 8, 0}};
  const PetscInt two[][3]   = {{64, 6, 0}, {128, 8, 0}, {16, 2, 0},  {32, 0, 0}, {4, 0, 0}, {8, 0, 0},
                               {16, 0, 0}, {64, 0, 0},  {128, 0, 0}, {8, 2, 0},  {32, 4, 0}};
  const PetscInt three[][3] = {{8, 4, 0}, {1, 0, 0}, {4, 0, 0}, {4, 2, 0}, {16, 4, 0}};
  PetscMPIInt    size;
  PetscBool      only_long, cuda;

  PetscCall(ProblemInitialize(&argc, &argv));
  PetscCall(HJTestLong(&only_long));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-pc_hjacobi_backend", &cuda));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (only_long) {
    if (cuda) PetscCall(TestGrid(1, 1024, 32, 2, one + 2));
    PetscCall(TestGrid(1, 1024, 32, (PetscInt)PETSC_STATIC_ARRAY_LENGTH(one) - 4, one + 4));
    PetscCall(TestGrid(2, 128, 32, (PetscInt)PETSC_STATIC_ARRAY_LENGTH(two) - 4, two + 4));
    PetscCall(TestGrid(3, 48, 16, (PetscInt)PETSC_STATIC_ARRAY_LENGTH(three) - 1, three + 1));
  } else {
    PetscCall(TestGrid(1, 1024, 32, size > 1 || cuda ? 2 : 4, one));
    if (size == 1 && cuda) PetscCall(TestGrid(1, 128, 32, 2, one + 2));
    PetscCall(TestGrid(2, 128, 32, size > 1 ? 2 : 4, two));
    PetscCall(TestGrid(3, 48, 16, 1, three));
    PetscCall(TestCopies(128, 16, 4));
    PetscCall(TestCopies(100, 8, 0));
  }
  return HJTestEnd();
}

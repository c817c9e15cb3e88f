/* SPDX-License-Identifier: BSD-2-Clause */
/* ranks: 1 2 3 4 */
/*
   Coarser grids of any number of points: the interpolation is its definition and the Galerkin product AIJ's; what is measured of a matrix,
   and which directions are halved; PCHJMG on unlucky sizes and with couplings of very different strength.
*/
#include "hjcase.h"
#include "operator/hjcoarsen.h"
#include "operator/hjoperator.h"
#include "operator/hjtransfers.h"

/* A fine grid, how it is coarsened, the weights of its last points, the first coarse points, and the weights of points before them */
typedef struct {
  Case      fine;
  PetscInt  factor[3];
  PetscReal last[3];
  PetscInt  first[3];
  PetscReal before[3];
} Grids;

static PetscErrorCode GridsName(const Grids *g, char name[], size_t len)
{
  char grid[256];

  PetscFunctionBegin;
  PetscCall(CaseName(&g->fine, grid, sizeof(grid)));
  PetscCall(PetscSNPrintf(name, len, "%s, coarsened by %d,%d,%d from %d,%d,%d on", grid, (int)g->factor[0], (int)g->factor[1],
                          (int)g->factor[2], (int)g->first[0], (int)g->first[1], (int)g->first[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool IsPeriodic(const Case *c, PetscInt d)
{
  return (PetscBool)(c->boundary[d] == DM_BOUNDARY_PERIODIC);
}

/* The coarse points of a fine one in a direction */
static PetscInt Parents(const Grids *g, PetscInt d, PetscInt at, PetscInt coarse[2], PetscReal weight[2])
{
  const PetscInt n = (g->fine.n[d] + 1 - g->first[d]) / 2;

  weight[0] = weight[1] = 0.5;
  if (at < g->first[d]) {
    coarse[0] = 0;
    weight[0] = g->before[d];
    return 1;
  }
  coarse[0] = (at - g->first[d]) / g->factor[d];
  coarse[1] = coarse[0] + 1;
  if ((at - g->first[d]) % g->factor[d] == 0) {
    weight[0] = 1.0;
    return 1;
  }
  if (coarse[1] < n) return 2;
  if (IsPeriodic(&g->fine, d)) coarse[1] = 0;
  else weight[0] = g->last[d];
  return IsPeriodic(&g->fine, d) ? 2 : 1;
}

/* The interpolation as AIJ, from its definition */
static PetscErrorCode MakeAIJ(const Grids *g, DM coarse, DM fine, Mat *Q)
{
  AO       ao[2];
  PetscInt s[3], w[3], N[3] = {1, 1, 1}, nc;

  PetscFunctionBegin;
  PetscCall(DMDAGetAO(coarse, &ao[0]));
  PetscCall(DMDAGetAO(fine, &ao[1]));
  PetscCall(DMDAGetInfo(coarse, NULL, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(coarse, NULL, NULL, NULL, &w[0], &w[1], &w[2]));
  nc = w[0] * w[1] * w[2];
  PetscCall(DMDAGetCorners(fine, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, w[0] * w[1] * w[2], nc, PETSC_DETERMINE, PETSC_DETERMINE, 8, NULL, 8, NULL, Q));
  for (PetscInt k = s[2]; k < s[2] + w[2]; k++) {
    for (PetscInt j = s[1]; j < s[1] + w[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + w[0]; i++) {
        const PetscInt at[3] = {i, j, k};
        PetscInt       c[3][2], n[3], row = (k * g->fine.n[1] + j) * g->fine.n[0] + i;
        PetscReal      weight[3][2];

        for (PetscInt d = 0; d < 3; d++) n[d] = Parents(g, d, at[d], c[d], weight[d]);
        PetscCall(AOApplicationToPetsc(ao[1], 1, &row));
        for (PetscInt q = 0; q < n[0] * n[1] * n[2]; q++) {
          const PetscInt    x = q % n[0], y = q / n[0] % n[1], z = q / n[0] / n[1];
          const PetscScalar v      = weight[0][x] * weight[1][y] * weight[2][z];
          PetscInt          column = (c[2][z] * N[1] + c[1][y]) * N[0] + c[0][x];

          PetscCall(AOApplicationToPetsc(ao[0], 1, &column));
          PetscCall(MatSetValues(*Q, 1, &row, 1, &column, &v, ADD_VALUES));
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(*Q, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*Q, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* P x + b, or P^T x + b, of two matrices. A sum of at most 27 products of numbers in [-1, 1] */
static PetscErrorCode SameProduct(DM from, DM to, PetscBool transpose, Mat P, Mat Q, PetscBool *same)
{
  Vec       x, b, y[2];
  PetscReal diff;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(from, &x));
  PetscCall(DMCreateGlobalVector(to, &b));
  PetscCall(ProblemVector(from, 1, x));
  PetscCall(ProblemVector(to, 2, b));
  for (int m = 0; m < 2; m++) {
    PetscCall(VecDuplicate(b, &y[m]));
    if (transpose) PetscCall(MatMultTransposeAdd(m ? Q : P, x, b, y[m]));
    else PetscCall(MatMultAdd(m ? Q : P, x, b, y[m]));
  }
  PetscCall(VecAXPY(y[0], -1.0, y[1]));
  PetscCall(VecNorm(y[0], NORM_INFINITY, &diff));
  *same = (PetscBool)(diff <= 64 * PETSC_MACHINE_EPSILON);
  PetscCall(HJTestDestroy(&y[0], &y[1], &x, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What hjmg chooses, here given */
static HJCoarsening GridsCoarsening(const Grids *g)
{
  HJCoarsening c = {.split = -1};

  for (int d = 0; d < 3; d++) {
    c.factor[d] = g->factor[d];
    c.first[d]  = g->first[d];
    c.before[d] = g->before[d];
    c.last[d]   = g->last[d];
  }
  return c;
}

static PetscErrorCode TestGrids(const Grids *g)
{
  const HJCoarsening how = GridsCoarsening(g);

  DM         user, fine, coarse;
  HJTransfer t;
  HJGrid     grid;
  Mat        A[2], P, Q, C[2];
  char       name[320], reason[256];
  PetscInt   N[3], nranks[3];
  PetscBool  good[5] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};

  const PetscInt *widths[3];

  PetscFunctionBegin;
  PetscCall(GridsName(g, name, sizeof(name)));
  PetscCall(CaseDM(&g->fine, &user));
  PetscCall(DMDAGetInfo(user, NULL, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetOwnershipRanges(user, &widths[0], &widths[1], &widths[2]));
  PetscCall(HJGridGetRanks(user, nranks));
  PetscCall(HJGridCreateDM(PETSC_COMM_WORLD, user, N, nranks, widths, g->fine.box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, 1, &fine));
  PetscCall(DMSetUp(fine));
  PetscCall(HJCoarsenDM(fine, &how, &coarse, reason, sizeof(reason)));
  if (reason[0]) {
    PetscCall(DMDestroy(&fine));
    PetscCall(DMDestroy(&user));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMSetUp(coarse));
  PetscCall(HJTransferSet(coarse, fine, &how, &t, reason, sizeof(reason)));
  PetscCall(HJTestOK((PetscBool)!reason[0], "%s: it can be interpolated to %s", name, reason));
  PetscCall(HJMatCreateTransfer(coarse, fine, &t, &P));
  PetscCall(MakeAIJ(g, coarse, fine, &Q));
  PetscCall(MatsAgree(P, Q, &good[0]));
  PetscCall(SameProduct(coarse, fine, PETSC_FALSE, P, Q, &good[1]));
  PetscCall(SameProduct(fine, coarse, PETSC_TRUE, P, Q, &good[2]));
  PetscCall(HJGridCreate(user, &grid));
  PetscCall(CaseCreate(&g->fine, &user, &A[0], &A[1]));
  for (int m = 0; m < 2; m++) PetscCall(MatPtAP(A[m], m ? Q : P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C[m]));
  PetscCall(MatsAgree(C[0], C[1], &good[3]));
  for (int m = 0; m < 2; m++) {
    PetscCall(MatZeroEntries(A[m]));
    PetscCall(CaseFill(&g->fine, user, 1, A[m]));
    PetscCall(MatPtAP(A[m], m ? Q : P, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C[m]));
  }
  PetscCall(MatsAgree(C[0], C[1], &good[4]));
  PetscCall(HJTestOK((PetscBool)(good[0] && good[1] && good[2] && good[3] && good[4]), "%s: as defined%s%s%s%s%s", name,
                     good[0] ? "" : ", but entries", good[1] ? "" : ", but interpolation", good[2] ? "" : ", but its transpose",
                     good[3] ? "" : ", but P^T A P", good[4] ? "" : ", but P^T A P of new values"));
  for (int m = 0; m < 2; m++) {
    PetscCall(MatDestroy(&A[m]));
    PetscCall(MatDestroy(&C[m]));
  }
  PetscCall(HJTestDestroy(&P, &Q, &coarse, &fine, &user));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Devices have the even points alone */
static PetscErrorCode TestRandomGrids(PetscInt n)
{
  PetscRandom random;
  PetscReal   r;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetSeed(random, 31));
  PetscCall(PetscRandomSeed(random));
  for (PetscInt i = 0; i < n; i++) {
    Grids     g   = {.first = {0, 0, 0}, .before = {0.5, 0.5, 0.5}};
    PetscBool odd = PETSC_FALSE;

    PetscCall(RandomCase(random, i, &g.fine));
    for (PetscInt d = 0; d < 3; d++) {
      PetscCall(PetscRandomGetValueReal(random, &r));
      if (d < g.fine.dim) g.fine.n[d] += (PetscInt)(20 * r);
      if (d < g.fine.dim) g.fine.n[d] = PetscMax(g.fine.n[d], 3); /* MatSetValuesStencil() of few periodic points is another test's */
      g.factor[d] = d < g.fine.dim && r < 0.8 ? 2 : 1;
      g.last[d]   = PetscFloorReal(8 * r) / 8;
    }
    PetscCall(TestGrids(&g));
    for (PetscInt d = 0; d < 3; d++) {
      g.first[d]  = g.factor[d] == 2 && !IsPeriodic(&g.fine, d) && (i + d) % 3 ? 1 : 0;
      g.before[d] = (5 * i + 3 * d) % 9 / 8.0;
      odd         = (PetscBool)(odd || g.first[d]);
    }
    if (odd) PetscCall(TestGrids(&g));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Few points, and many in one direction alone: more than the pieces of lines that the CPU does at once */
static PetscErrorCode TestThinGrids(void)
{
  const DMBoundaryType N = DM_BOUNDARY_NONE, P = DM_BOUNDARY_PERIODIC;
  const Grids          grids[] = {
             {{1, {2, 1, 1}, {N, N, N}, PETSC_FALSE, ARRAYS}, {2, 1, 1}, {0.25, 0.5, 0.5}, {0}, {0}},
             {{1, {3, 1, 1}, {P, N, N}, PETSC_FALSE, ARRAYS}, {2, 1, 1}, {0.5, 0.5, 0.5}, {0}, {0}},
             {{1, {3, 1, 1}, {P, N, N}, PETSC_FALSE, ROW}, {2, 1, 1}, {0.5, 0.5, 0.5}, {0}, {0}},
             {{1, {1030, 1, 1}, {N, N, N}, PETSC_FALSE, ARRAYS}, {2, 1, 1}, {0.75, 0.5, 0.5}, {0}, {0}},
             {{1, {1031, 1, 1}, {P, N, N}, PETSC_FALSE, ROW}, {2, 1, 1}, {0.5, 0.5, 0.5}, {0}, {0}},
             {{2, {2, 2, 1}, {N, N, N}, PETSC_TRUE, ARRAYS}, {2, 2, 1}, {1.0, 0.25, 0.5}, {0}, {0}},
             {{2, {3, 3, 1}, {P, P, N}, PETSC_TRUE, ARRAYS}, {2, 2, 1}, {0.5, 0.5, 0.5}, {0}, {0}},
             {{2, {1, 64, 1}, {N, N, N}, PETSC_FALSE, ROW}, {1, 2, 1}, {0.5, 0.5, 0.5}, {0}, {0}},
             {{2, {600, 6, 1}, {N, N, N}, PETSC_TRUE, ARRAYS}, {2, 1, 1}, {0.125, 0.5, 0.5}, {0}, {0}},
             {{3, {2, 2, 2}, {N, N, N}, PETSC_TRUE, ARRAYS}, {2, 2, 2}, {0.25, 0.5, 0.75}, {0}, {0}},
             {{3, {3, 1, 100}, {N, N, N}, PETSC_FALSE, ARRAYS}, {2, 1, 2}, {0.5, 0.5, 0.0}, {0}, {0}},
             {{3, {5, 7, 9}, {P, P, P}, PETSC_TRUE, ARRAYS}, {2, 2, 2}, {0.5, 0.5, 0.5}, {0}, {0}},
             {{3, {140, 6, 5}, {N, N, P}, PETSC_FALSE, ROW}, {2, 2, 2}, {0.5, 1.0, 0.5}, {0}, {0}},
             {{3, {30, 17, 16}, {P, P, N}, PETSC_FALSE, DICTIONARY}, {1, 2, 2}, {0.5, 1.0, 0.625}, {0}, {0}},
             {{1, {2, 1, 1}, {N, N, N}, PETSC_FALSE, ARRAYS}, {2, 1, 1}, {0.5, 0.5, 0.5}, {1, 0, 0}, {0.25, 0.5, 0.5}},
             {{1, {3, 1, 1}, {N, N, N}, PETSC_FALSE, ROW}, {2, 1, 1}, {0.75, 0.5, 0.5}, {1, 0, 0}, {0.25, 0.5, 0.5}},
             {{1, {1030, 1, 1}, {N, N, N}, PETSC_FALSE, ARRAYS}, {2, 1, 1}, {0.5, 0.5, 0.5}, {1, 0, 0}, {0.75, 0.5, 0.5}},
             {{1, {1031, 1, 1}, {N, N, N}, PETSC_FALSE, ROW}, {2, 1, 1}, {0.5, 0.5, 0.5}, {1, 0, 0}, {0.5, 0.5, 0.5}},
             {{2, {64, 64, 1}, {N, N, N}, PETSC_FALSE, ROW}, {2, 2, 1}, {0.5, 0.5, 0.5}, {1, 1, 0}, {0.5, 0.5, 0.5}},
             {{2, {63, 64, 1}, {N, N, N}, PETSC_TRUE, DICTIONARY}, {2, 2, 1}, {0.5, 0.5, 0.5}, {1, 0, 0}, {0.25, 0.5, 0.5}},
             {{3, {3, 2, 3}, {N, N, N}, PETSC_TRUE, ARRAYS}, {2, 2, 2}, {0.25, 0.5, 0.75}, {1, 1, 1}, {0.0, 0.5, 1.0}},
             {{3, {140, 6, 5}, {N, N, P}, PETSC_FALSE, ROW}, {2, 2, 2}, {0.5, 1.0, 0.5}, {1, 1, 0}, {0.5, 0.25, 0.5}},
             {{3, {16, 17, 16}, {P, N, N}, PETSC_FALSE, ROW}, {2, 2, 2}, {0.5, 0.5, 0.5}, {0, 1, 1}, {0.5, 0.5, 0.5}},
  };
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(grids); i++) {
    const PetscInt *n = grids[i].fine.n;

    if (size == 1 || n[0] * n[1] * n[2] >= 64) PetscCall(TestGrids(&grids[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum { ZERO, FLUX, ROWS, AROUND, MIRRORED } Ends; /* eliminated values, no flux, identity rows, periodic, mirrored by the DMDA */

/* -div(a grad u) with its own coefficient in each direction. halves: in one half of a 2D grid the two are exchanged */
typedef struct {
  PetscInt  dim, n[3];
  PetscReal a[3];
  Ends      ends;
  PetscBool halves;
} Diffusion;

static const char *DiffusionName(const Diffusion *p)
{
  static char       name[160];
  const char *const ends[] = {"dirichlet", "neumann", "identity rows", "periodic", "mirrored"};

  (void)PetscSNPrintf(name, sizeof(name), "%dD %d x %d x %d, %s, couplings %g, %g, %g%s", (int)p->dim, (int)p->n[0], (int)p->n[1],
                      (int)p->n[2], ends[p->ends], (double)p->a[0], (double)p->a[1], (double)p->a[2],
                      p->halves ? ", exchanged in one half" : "");
  return name;
}

static PetscReal Coupling(const Diffusion *p, PetscInt d, const PetscInt at[3], const PetscInt to[3])
{
  return p->a[p->halves && 2 * PetscMin(at[0], to[0]) >= p->n[0] - 1 ? 1 - d : d];
}

static PetscErrorCode FillPoint(const Diffusion *p, const PetscInt at[3], Mat A)
{
  MatStencil  row = {.i = at[0], .j = at[1], .k = at[2]}, col[7];
  PetscScalar v[7], diagonal = 0.0;
  PetscInt    n    = 1;
  PetscBool   edge = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < p->dim; d++) {
    edge = (PetscBool)(edge || at[d] == 0 || at[d] == p->n[d] - 1);
    for (PetscInt side = -1; side <= 1; side += 2) {
      PetscInt        to[3] = {at[0], at[1], at[2]};
      const PetscBool out   = (PetscBool)(at[d] + side < 0 || at[d] + side >= p->n[d]);
      PetscReal       a;

      to[d] += side;
      a = Coupling(p, d, at, to);
      if (out && p->ends == FLUX) continue;
      diagonal += a;
      if (out && p->ends != AROUND && p->ends != MIRRORED) continue;
      col[n] = (MatStencil){.i = to[0], .j = to[1], .k = to[2]};
      v[n++] = -a;
    }
  }
  col[0] = row;
  v[0]   = p->ends == MIRRORED ? 1.01 * diagonal : diagonal; /* not singular */
  if (edge && p->ends == ROWS) {
    n    = 1;
    v[0] = 1.0;
  }
  PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiffusionFill(const Diffusion *p, DM da, Mat A)
{
  PetscInt s[3], w[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  for (PetscInt q = 0; q < w[0] * w[1] * w[2]; q++) {
    const PetscInt at[3] = {s[0] + q % w[0], s[1] + q / w[0] % w[1], s[2] + q / w[0] / w[1]};

    PetscCall(FillPoint(p, at, A));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  if (p->ends != ROWS && p->ends != MIRRORED) PetscCall(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiffusionCreate(const Diffusion *p, DM *da, Mat *A)
{
  const DMBoundaryType all[] = {DM_BOUNDARY_NONE, DM_BOUNDARY_GHOSTED, DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_MIRROR};
  const DMBoundaryType b     = all[p->ends];
  const Case           c     = {p->dim, {p->n[0], p->n[1], p->n[2]}, {b, b, b}, PETSC_FALSE, ROW};

  PetscFunctionBegin;
  PetscCall(CaseDM(&c, da));
  PetscCall(MatCreateHJStencil(*da, A));
  PetscCall(DiffusionFill(p, *da, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Measure(DM da, Mat A, PetscBool device, HJCoarsening *c)
{
  const HJBackendOps   *ops = &HJBackendHost;
  const HJCoefficients *a;
  HJGetCoefficients     get;
  HJGrid                grid;

  PetscFunctionBegin;
#if defined(HJACOBI_HAVE_CUDA)
  if (device) ops = &HJBackendCUDA;
#endif
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(PetscObjectQueryFunction((PetscObject)A, HJ_GET_COEFFICIENTS, &get));
  PetscCall((*get)(A, ops->mtype, &a));
  PetscCall(HJCoarsenMeasure(PETSC_COMM_WORLD, ops, &grid, a, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By numbers in [1, 3], each row by another one: the matrix is stored as arrays, and what is measured stays */
static PetscErrorCode ScaleRows(DM da, Mat A)
{
  Vec scale;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(da, &scale));
  PetscCall(ProblemVector(da, 5, scale));
  PetscCall(VecShift(scale, 2.0));
  PetscCall(MatDiagonalScale(A, scale, NULL));
  PetscCall(VecDestroy(&scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is known of a matrix: couplings as shares of the diagonal, weights of the last points, factors */
static PetscErrorCode TestMeasure(void)
{
  static const struct {
    Diffusion    p;
    HJCoarsening c;
  } known[] = {
    {{1, {40, 1, 1}, {3, 1, 1}, ZERO, PETSC_FALSE}, {.strength = {0.5, 0, 0}, .last = {0.5, 0.5, 0.5}, .factor = {2, 1, 1}, .others = 1.0}},
    {{1, {40, 1, 1}, {3, 1, 1}, ROWS, PETSC_FALSE}, {.strength = {0.5, 0, 0}, .last = {0.0, 0.5, 0.5}, .factor = {2, 1, 1}, .others = 1.0}},
    {{1, {41, 1, 1}, {3, 1, 1}, AROUND, PETSC_FALSE},
     {.strength = {0.5, 0, 0}, .last = {0.5, 0.5, 0.5}, .factor = {2, 1, 1}, .others = 1.0}},
    {{2, {40, 20, 1}, {1, 1, 1}, ZERO, PETSC_FALSE},
     {.strength = {0.25, 0.25, 0}, .last = {0.5, 0.5, 0.5}, .factor = {2, 2, 1}, .others = 1.0}},
    {{2, {40, 20, 1}, {10, 1, 1}, ZERO, PETSC_FALSE},
     {.strength = {10 / 22., 1 / 22., 0}, .last = {0.5, 0.5, 0.5}, .factor = {2, 1, 1}, .others = 1.0}},
    {{2, {40, 21, 1}, {1, 10, 1}, AROUND, PETSC_FALSE},
     {.strength = {1 / 22., 10 / 22., 0}, .last = {0.5, 0.5, 0.5}, .factor = {1, 2, 1}, .others = 1.0}},
    {{2, {1, 50, 1}, {10, 1, 1}, ZERO, PETSC_FALSE},
     {.strength = {0, 1 / 22., 0}, .last = {0.5, 47 / 1024., 0.5}, .factor = {1, 2, 1}, .others = 2 / 22.}},
    {{3, {8, 12, 16}, {100, 100, 1}, ZERO, PETSC_FALSE},
     {.strength = {100 / 402., 100 / 402., 1 / 402.}, .last = {0.5, 0.5, 0.5}, .factor = {2, 2, 1}, .others = 1.0}},
    {{3, {8, 12, 16}, {1, 1, 2}, ZERO, PETSC_FALSE},
     {.strength = {1 / 8., 1 / 8., 2 / 8.}, .last = {0.5, 0.5, 0.5}, .factor = {2, 2, 2}, .others = 1.0}},
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < 2 * PETSC_STATIC_ARRAY_LENGTH(known); i++) {
    DM           da;
    Mat          A;
    HJCoarsening c;
    PetscBool    device = PETSC_FALSE, good = PETSC_TRUE;

    PetscCall(DiffusionCreate(&known[i / 2].p, &da, &A));
    if (i % 2) PetscCall(ScaleRows(da, A));
    PetscCall(ProblemOnGPU(&device));
    PetscCall(Measure(da, A, device, &c));
    good = (PetscBool)(PetscAbsReal(c.others - known[i / 2].c.others) <= HJTestDigits(1e-12));
    for (PetscInt d = 0; d < known[i / 2].p.dim; d++) {
      good = (PetscBool)(good && PetscAbsReal(c.strength[d] - known[i / 2].c.strength[d]) <= HJTestDigits(1e-12) &&
                         c.factor[d] == known[i / 2].c.factor[d]);
      if (known[i / 2].p.ends != AROUND && known[i / 2].p.n[d] > 1) good = (PetscBool)(good && c.last[d] == known[i / 2].c.last[d]);
    }
    PetscCall(HJTestOK(good, "measured %s%s: %g, %g, %g; last points %g, %g, %g", i % 2 ? "rows scaled, " : "",
                       DiffusionName(&known[i / 2].p), (double)c.strength[0], (double)c.strength[1], (double)c.strength[2],
                       (double)c.last[0], (double)c.last[1], (double)c.last[2]));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Points of lines between two walls. ends: couplings to the walls; land: so many points at the first and at the last end are rows of the
   diagonal alone */
typedef struct {
  PetscInt  n;
  PetscReal ends[2];
  PetscInt  land[2], first; /* the first coarse point */
} Walls;

#define WALLS_WIDTH 9

static PetscBool WallsIsLand(const Walls *p, PetscInt x, PetscInt y)
{
  return (PetscBool)((y == 0 && x < p->land[0]) || (y == p->n - 1 && x < p->land[1]));
}

static PetscErrorCode WallsFillPoint(const Walls *p, PetscInt x, PetscInt y, Mat A)
{
  const MatStencil here     = {.i = x, .j = y};
  PetscScalar      diagonal = 0.0;

  PetscFunctionBegin;
  for (PetscInt side = 0; side < 4; side++) {
    const MatStencil  to  = {.i = x + (side < 2 ? 2 * side - 1 : 0), .j = y + (side < 2 ? 0 : 2 * side - 5)};
    const PetscBool   out = (PetscBool)(to.i < 0 || to.i >= WALLS_WIDTH || to.j < 0 || to.j >= p->n);
    const PetscScalar a   = !out ? -1.0 : to.j < 0 ? -p->ends[0] : to.j >= p->n ? -p->ends[1] : 0.0;

    if (WallsIsLand(p, x, y) || WallsIsLand(p, to.i, to.j)) continue;
    diagonal -= a;
    if (!out) PetscCall(MatSetValuesStencil(A, 1, &here, 1, &to, &a, INSERT_VALUES));
  }
  if (diagonal == 0.0) diagonal = 1.0;
  PetscCall(MatSetValuesStencil(A, 1, &here, 1, &here, &diagonal, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Which points are coarse: of an even number of points those that keep away from walls and land, whichever end is the first */
static PetscErrorCode TestFirst(void)
{
  static const Walls known[] = {
    {40, {1, 1}, {0, 0}, 0}, {40, {2, 1}, {0, 0}, 1}, {40, {1, 2}, {0, 0}, 0}, {40, {1, 0}, {0, 0}, 1},
    {40, {0, 1}, {0, 0}, 0}, {40, {0, 0}, {0, 0}, 0}, {40, {0, 0}, {3, 0}, 1}, {40, {1, 2}, {3, 0}, 1},
    {40, {2, 1}, {0, 3}, 0}, {41, {2, 1}, {3, 0}, 0}, {2, {0, 0}, {3, 1}, 1},  {2, {0, 0}, {1, 3}, 0},
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(known); i++) {
    const Walls *p = &known[i];
    const Case   c = {2, {WALLS_WIDTH, p->n, 1}, {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE}, PETSC_FALSE, ROW};
    DM           da;
    Mat          A;
    PetscInt     s[2], w[2];
    HJCoarsening how;
    PetscBool    device = PETSC_FALSE;

    PetscCall(ProblemOnGPU(&device));
    PetscCall(CaseDM(&c, &da));
    PetscCall(MatCreateHJStencil(da, &A));
    PetscCall(DMDAGetCorners(da, &s[0], &s[1], NULL, &w[0], &w[1], NULL));
    for (PetscInt q = 0; q < w[0] * w[1]; q++) PetscCall(WallsFillPoint(p, s[0] + q % w[0], s[1] + q / w[0], A));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(Measure(da, A, device, &how));
    PetscCall(HJTestOK((PetscBool)(how.first[0] == 0 && how.first[1] == p->first),
                       "%d points, walls %g and %g, land %d and %d: the first coarse point is %d (ends have %g, %g)", (int)p->n,
                       (double)p->ends[0], (double)p->ends[1], (int)p->land[0], (int)p->land[1], (int)how.first[1], (double)how.before[1],
                       (double)how.last[1]));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* At how many points a direction is weak, on the host: nowhere, or everywhere */
static PetscErrorCode TestRatios(void)
{
  static const struct {
    Diffusion p;
    PetscInt  step; /* of the direction that is weak, 1; -1: none is */
  } known[] = {
    {{2, {40, 20, 1}, {1, 1, 1}, ZERO, PETSC_FALSE}, -1},
    {{2, {40, 20, 1}, {2, 1, 1}, AROUND, PETSC_FALSE}, -1},
    {{2, {40, 21, 1}, {100, 1, 1}, AROUND, PETSC_FALSE}, 2},
    {{3, {8, 12, 16}, {1e9, 1, 1e9}, ZERO, PETSC_FALSE}, HJ_RATIO_STEPS - 1},
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(known); i++) {
    const Diffusion *p = &known[i].p;
    DM               da;
    Mat              A;
    HJCoarsening     c;
    PetscBool        good;

    PetscCall(DiffusionCreate(p, &da, &A));
    PetscCall(Measure(da, A, PETSC_FALSE, &c));
    good = (PetscBool)(c.ratios.points == (PetscReal)p->n[0] * p->n[1] * p->n[2]);
    for (PetscInt d = 0; d < p->dim; d++)
      for (PetscInt s = 0; s < HJ_RATIO_STEPS; s++)
        good = (PetscBool)(good && c.ratios.weaker[d][s] == (d == 1 && s == known[i].step ? c.ratios.points : 0.0));
    PetscCall(
      HJTestOK(good, "%s: a direction is weak by step %d, at %g points", DiffusionName(p), (int)known[i].step, (double)c.ratios.points));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of random coefficients the device measures what the host does */
static PetscErrorCode TestMeasureDevice(PetscInt n)
{
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetSeed(random, 32));
  PetscCall(PetscRandomSeed(random));
  for (PetscInt i = 0; i < n; i++) {
    Case         c;
    DM           da;
    Mat          A, B;
    HJCoarsening m[2];
    HJGrid       grid;
    PetscReal    worst = 0.0;
    PetscInt     ends  = 0;
    char         name[256];

    PetscCall(RandomCase(random, i, &c));
    PetscCall(CaseName(&c, name, sizeof(name)));
    PetscCall(CaseCreate(&c, &da, &A, &B));
    for (int device = 0; device < 2; device++) PetscCall(Measure(da, A, (PetscBool)device, &m[device]));
    worst = PetscAbsReal(m[0].others - m[1].others);
    PetscCall(HJGridCreate(da, &grid));
    for (PetscInt d = 0; d < 3; d++) {
      worst = PetscMax(worst, PetscAbsReal(m[0].strength[d] - m[1].strength[d]));
      ends += m[0].first[d] != m[1].first[d] || m[0].before[d] != m[1].before[d] || m[0].last[d] != m[1].last[d];
    }
    PetscCall(HJTestOK((PetscBool)(worst <= HJTestDigits(1e-13) && HJCoarsenSame(&grid, &m[0], &m[1]) && !ends),
                       "%s: the device measures what the host does (%g)", name, (double)worst));
    PetscCall(HJTestDestroy(&A, &B, &da));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of CG (identity rows and mirrored: GMRES) to 1e-8 and levels, host and GPU, on any ranks that have points on all levels.
   Others have fewer levels, and their sweeps on the last one may leave more */
static const struct {
  Diffusion p;
  PetscInt  its, levels;
} solves[] = {
  {{2, {64, 64, 1}, {1, 1, 1}, ZERO, PETSC_FALSE}, 4, 2},      {{2, {100, 100, 1}, {1, 1, 1}, ZERO, PETSC_FALSE}, 4, 3},
  {{2, {127, 127, 1}, {1, 1, 1}, ZERO, PETSC_FALSE}, 4, 3},    {{2, {128, 128, 1}, {1, 1, 1}, FLUX, PETSC_FALSE}, 5, 3},
  {{2, {101, 103, 1}, {1, 1, 1}, AROUND, PETSC_FALSE}, 4, 3},  {{2, {64, 81, 1}, {1, 1, 1}, ROWS, PETSC_FALSE}, 4, 3},
  {{2, {1000, 10, 1}, {1, 1, 1}, ZERO, PETSC_FALSE}, 4, 4},    {{3, {31, 31, 31}, {1, 1, 1}, ZERO, PETSC_FALSE}, 5, 3},
  {{3, {32, 32, 32}, {1, 1, 1}, FLUX, PETSC_FALSE}, 5, 3},     {{3, {50, 50, 50}, {1, 1, 1}, ZERO, PETSC_FALSE}, 5, 4},
  {{3, {21, 22, 23}, {1, 1, 1}, AROUND, PETSC_FALSE}, 5, 3},   {{1, {1000, 1, 1}, {1, 1, 1}, ZERO, PETSC_FALSE}, 4, 5},
  {{1, {1, 1, 1}, {1, 1, 1}, ZERO, PETSC_FALSE}, 1, 1},        {{1, {2, 1, 1}, {1, 1, 1}, ZERO, PETSC_FALSE}, 1, 1},
  {{2, {1, 1, 1}, {1, 1, 1}, ZERO, PETSC_FALSE}, 1, 1},        {{2, {513, 1, 1}, {1, 1, 1}, ZERO, PETSC_FALSE}, 3, 1},
  {{3, {3, 1, 1000}, {1, 1, 1}, ZERO, PETSC_FALSE}, 3, 1},     {{3, {1, 64, 64}, {1, 1, 1}, ZERO, PETSC_FALSE}, 3, 1},
  {{2, {64, 70, 1}, {1, 1, 1}, MIRRORED, PETSC_FALSE}, 4, 3},  {{2, {66, 65, 1}, {1, 1e4, 1}, MIRRORED, PETSC_FALSE}, 4, 4},
  {{2, {129, 129, 1}, {2.6, 1, 1}, ZERO, PETSC_FALSE}, 4, 3},  {{2, {129, 129, 1}, {1, 100, 1}, ZERO, PETSC_FALSE}, 3, 5},
  {{2, {129, 129, 1}, {1e4, 1, 1}, FLUX, PETSC_FALSE}, 4, 9},  {{2, {128, 100, 1}, {1e6, 1, 1}, ZERO, PETSC_FALSE}, 3, 7},
  {{2, {128, 100, 1}, {1, 1e6, 1}, FLUX, PETSC_FALSE}, 3, 9},  {{2, {65, 51, 1}, {1e6, 1, 1}, AROUND, PETSC_FALSE}, 3, 8},
  {{2, {65, 64, 1}, {1e-6, 1, 1}, ROWS, PETSC_FALSE}, 3, 6},   {{3, {33, 33, 33}, {1e6, 1, 1}, ZERO, PETSC_FALSE}, 4, 6},
  {{3, {32, 32, 32}, {1, 100, 1}, ZERO, PETSC_FALSE}, 4, 5},   {{3, {33, 32, 31}, {1, 1, 1e6}, FLUX, PETSC_FALSE}, 4, 6},
  {{2, {513, 513, 1}, {1e3, 1, 1}, ZERO, PETSC_FALSE}, 4, 9},  {{2, {401, 513, 1}, {1, 1e4, 1}, ZERO, PETSC_FALSE}, 3, 10},
  {{3, {33, 33, 33}, {1e6, 1e6, 1}, ZERO, PETSC_FALSE}, 5, 6}, {{3, {33, 33, 33}, {1, 1e3, 1e6}, ZERO, PETSC_FALSE}, 4, 6},
};

static PetscErrorCode SolveDiffusion(const Diffusion *p, PetscInt *its, PetscInt *levels, PetscReal *residual)
{
  const PetscBool singular = (PetscBool)(p->ends == FLUX || p->ends == AROUND);
  DM              da;
  Mat             A;
  KSP             ksp;
  PC              pc;
  Vec             b, x;

  PetscFunctionBegin;
  PetscCall(DiffusionCreate(p, &da, &A));
  PetscCall(ProblemVectors(da, &b, &x));
  PetscCall(ProblemVector(da, 1, b));
  if (singular) {
    MatNullSpace null;

    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &null));
    PetscCall(MatSetNullSpace(A, null));
    PetscCall(MatNullSpaceRemove(null, b));
    PetscCall(MatNullSpaceDestroy(&null));
  }
  PetscCall(ProblemKSP(NULL, A, p->ends == ROWS || p->ends == MIRRORED ? KSPGMRES : KSPCG, PCHJMG, &ksp, &pc));
  PetscCall(KSPSetTolerances(ksp, HJTestDigits(1e-8), PETSC_DEFAULT, PETSC_DEFAULT, 100));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(PCHJMGGetLevels(pc, levels));
  PetscCall(RelativeResidual(A, b, x, residual));
  PetscCall(HJTestDestroy(&ksp, &b, &x, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSolves(void)
{
  PetscMPIInt size;
  PetscBool   gpu;

  PetscFunctionBegin;
  PetscCall(ProblemOnGPU(&gpu));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(solves); i++) {
    const PetscInt expected = solves[i].its;
    Diffusion      p        = solves[i].p;
    PetscInt       its, levels;
    PetscReal      residual;
    PetscBool      good, milder = PETSC_FALSE;

    if (p.n[0] * p.n[1] * p.n[2] < 64 && size > 1) continue;
    /* single precision does not hold what couplings of 1 give to constants beside 1e6: milder ones have fewer levels */
    for (int d = 0; d < p.dim && HJ_BY_PRECISION(0, p.ends == FLUX || p.ends == AROUND); d++) {
      if (p.a[d] < 1e5) continue;
      p.a[d] = HJTestDigits(p.a[d]);
      milder = PETSC_TRUE;
    }
    PetscCall(SolveDiffusion(&p, &its, &levels, &residual));
    if (milder) good = (PetscBool)(its <= expected);
    else if (gpu && size == 1)
      good = (PetscBool)(levels <= solves[i].levels && its <= expected); /* the coarsest grid is solved to the end */
    else if (gpu && levels == solves[i].levels) good = (PetscBool)(its == expected || its == expected - 1); /* gathered on one */
    else
      good = (PetscBool)(levels == solves[i].levels ? HJTestIterations(its, expected) : size > 1 && levels < solves[i].levels && its < 40);
    PetscCall(HJTestOK((PetscBool)(good && residual < HJTestDigits(1e-6)),
                       "%s: %" PetscInt_FMT " iterations on %" PetscInt_FMT " levels, expected %" PetscInt_FMT " on %" PetscInt_FMT
                       ", residual %g",
                       DiffusionName(&p), its, levels, expected, solves[i].levels, (double)residual));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Couplings that change over the domain have no better direction: it converges, more slowly */
static PetscErrorCode TestExchanged(void)
{
  const Diffusion p = {2, {129, 129, 1}, {100, 1, 1}, ZERO, PETSC_TRUE};
  PetscInt        its, levels;
  PetscReal       residual;

  PetscFunctionBegin;
  PetscCall(SolveDiffusion(&p, &its, &levels, &residual));
  PetscCall(HJTestOK((PetscBool)(its < 60 && residual < HJTestDigits(1e-6)), "%s: %" PetscInt_FMT " iterations, residual %g",
                     DiffusionName(&p), its, (double)residual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values with other strong directions, or another boundary: the cycle is that of a PC that is new */
static PetscErrorCode TestNewValues(void)
{
  static const Diffusion p[] = {{2, {64, 48, 1}, {1, 1, 1}, ZERO, PETSC_FALSE},
                                {2, {64, 48, 1}, {100, 1, 1}, ZERO, PETSC_FALSE},
                                {2, {64, 48, 1}, {1, 1e4, 1}, ZERO, PETSC_FALSE},
                                {2, {64, 48, 1}, {1, 1e4, 1}, FLUX, PETSC_FALSE}};
  DM                     da;
  Mat                    A;
  PC                     pc[2];
  Vec                    b, x[2];

  PetscFunctionBegin;
  PetscCall(DiffusionCreate(&p[0], &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(ProblemVector(da, 1, b));
  for (int i = 0; i < 2; i++) PetscCall(VecDuplicate(b, &x[i]));
  for (size_t v = 0; v < PETSC_STATIC_ARRAY_LENGTH(p); v++) {
    PetscInt  levels[2];
    PetscReal diff;
    PetscBool agree = PETSC_FALSE;

    if (v) {
      PetscCall(MatZeroEntries(A));
      PetscCall(DiffusionFill(&p[v], da, A));
    }
    for (int i = v ? 1 : 0; i < 2; i++) {
      PetscCall(PCCreate(PETSC_COMM_WORLD, &pc[i]));
      PetscCall(PCSetType(pc[i], PCHJMG));
    }
    for (int i = 0; i < 2; i++) {
      PetscCall(PCSetOperators(pc[i], A, A));
      PetscCall(PCApply(pc[i], b, x[i]));
      PetscCall(PCHJMGGetLevels(pc[i], &levels[i]));
    }
    PetscCall(VecsAgree(x[0], x[1], HJTestDigits(1e-10), &agree, &diff));
    PetscCall(HJTestOK((PetscBool)(agree && levels[0] == levels[1]), "new values, %s: as a new one on %d levels (%g)", DiffusionName(&p[v]),
                       (int)levels[1], (double)diff));
    PetscCall(PCDestroy(&pc[1]));
  }
  PetscCall(HJTestDestroy(&pc[0], &x[0], &x[1], &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt  n      = 54;
  PetscBool device = PETSC_FALSE, solve = PETSC_TRUE;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemOnGPU(&device));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &n, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-solves", &solve, NULL));
  PetscCall(TestRandomGrids(n));
  PetscCall(TestThinGrids());
  PetscCall(TestMeasure());
  PetscCall(TestFirst());
  PetscCall(TestRatios());
  if (device) PetscCall(TestMeasureDevice(n));
  if (solve) PetscCall(TestSolves());
  if (solve) PetscCall(TestExchanged());
  if (solve) PetscCall(TestNewValues());
  return HJTestEnd();
}

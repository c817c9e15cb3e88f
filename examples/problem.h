/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Poisson problems on a unit square or cube that the demo and the benchmarks share: grids, matrices, right-hand side, and CG + multigrid
   on them. Decides the discretisation (unknowns inside, zero on the boundary around them: symmetric) and the hierarchy; the smoothers are
   options.
*/
#pragma once

#include <petscdmda.h>
#include <petscksp.h>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS ((PetscErrorCode)0)
#endif

typedef struct {
  PetscInt  dim, n;                               /* n points in each direction, boundary not included */
  PetscBool box;                                  /* 9 or 27 points (Mehrstellen), else 5 or 7 */
  PetscBool variable;                             /* coefficient between 0.1 and 10, smooth; star only */
  PetscReal (*coefficient)(const PetscReal x[3]); /* another one, of points from 0 to 1 in each direction; star only */
} Problem;

#define PROBLEM_MAX_ROW 27 /* entries */

static inline PetscErrorCode ProblemCreateDM(MPI_Comm comm, const Problem *p, DM *da)
{
  const DMBoundaryType  none = DM_BOUNDARY_NONE;
  const DMDAStencilType type = p->box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR;

  PetscFunctionBegin;
  if (p->dim == 2) PetscCall(DMDACreate2d(comm, none, none, type, p->n, p->n, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, da));
  else
    PetscCall(
      DMDACreate3d(comm, none, none, none, type, p->n, p->n, p->n, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficient at (x, y, z), each from 0 to 1 */
static inline PetscReal ProblemCoefficient(const PetscReal x[3])
{
  return PetscPowReal(10.0, PetscSinReal(7 * x[0] + 1) * PetscCosReal(5 * x[1]) * PetscCosReal(3 * x[2]));
}

/*
   Entry that leads from a point by off: minus the coupling. h is the spacing of the finest grid, r that of this one over h; distance
   counts the directions that change (1 face, 2 edge, 3 corner)
*/
static inline PetscReal ProblemEntry(const Problem *p, PetscReal h, PetscInt r, const PetscInt at[3], const PetscInt off[3])
{
  static const PetscReal box2[] = {0, -4.0 / 6, -1.0 / 6}, box3[] = {0, -14.0 / 30, -3.0 / 30, -1.0 / 30};
  const PetscInt         distance = PetscAbsInt(off[0]) + PetscAbsInt(off[1]) + PetscAbsInt(off[2]);
  PetscReal              middle[3];

  if (p->box) return p->dim == 2 ? box2[distance] : box3[distance];
  if (distance != 1) return 0;
  if (!p->variable && !p->coefficient) return -1;
  for (int d = 0; d < 3; d++) middle[d] = h * (1 + r * (at[d] + 0.5 * off[d]));
  return p->coefficient ? -p->coefficient(middle) : -ProblemCoefficient(middle);
}

/*
   The row of one point on a grid of N points, scaled by spacing^(dim - 2) so that restriction is the transpose of interpolation; the
   diagonal comes first. Coarse grids keep the first and last point of the finest, so their walls are nearer than their next point: r times
   the coupling.
*/
static inline void ProblemGetRow(const Problem *p, const PetscInt N[3], const PetscInt at[3], PetscInt *n, MatStencil col[],
                                 PetscScalar v[])
{
  const PetscInt  r = (p->n - 1) / (N[0] - 1), oz = p->dim == 3 ? 1 : 0;
  const PetscReal h = 1.0 / (p->n + 1), scale = p->dim == 3 ? r * h : 1;
  PetscReal       diagonal = 0;

  *n = 1;
  for (PetscInt z = -oz; z <= oz; z++) {
    for (PetscInt y = -1; y <= 1; y++) {
      for (PetscInt x = -1; x <= 1; x++) {
        const PetscInt  off[3] = {x, y, z};
        const PetscReal entry  = ProblemEntry(p, h, r, at, off);
        PetscBool       inside = PETSC_TRUE;

        if (entry == 0) continue;
        for (int d = 0; d < p->dim; d++) inside = (PetscBool)(inside && at[d] + off[d] >= 0 && at[d] + off[d] < N[d]);
        diagonal -= inside ? entry : r * entry;
        if (!inside) continue;
        col[*n]   = (MatStencil){.i = at[0] + x, .j = at[1] + y, .k = at[2] + z, .c = 0};
        v[(*n)++] = scale * entry;
      }
    }
  }
  col[0] = (MatStencil){.i = at[0], .j = at[1], .k = at[2], .c = 0};
  v[0]   = scale * diagonal;
}

static inline PetscErrorCode ProblemSetRow(const Problem *p, const DMDALocalInfo *info, const PetscInt at[3], Mat A)
{
  const PetscInt N[3] = {info->mx, info->my, info->mz};
  MatStencil     col[PROBLEM_MAX_ROW];
  PetscScalar    v[PROBLEM_MAX_ROW];
  PetscInt       n;

  PetscFunctionBegin;
  ProblemGetRow(p, N, at, &n, col, v);
  PetscCall(MatSetValuesStencil(A, 1, col, n, col, v, INSERT_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode ProblemFillMatrix(const Problem *p, DM da, Mat A)
{
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) PetscCall(ProblemSetRow(p, &info, (PetscInt[3]){i, j, k}, A));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes h^dim times a right-hand side with smooth and rough parts, the same on any number of ranks */
static inline PetscErrorCode ProblemCreateRHS(const Problem *p, DM da, Vec *b)
{
  DMDALocalInfo info;
  PetscScalar  *a;
  PetscInt      at = 0;
  PetscReal     h, volume;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  h      = 1.0 / (info.mx + 1);
  volume = PetscPowRealInt(h, (int)p->dim);
  PetscCall(DMCreateGlobalVector(da, b));
  PetscCall(VecGetArrayWrite(*b, &a));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        a[at++] = volume * (1 + PetscSinReal(9.0 * i * h) + ((7 * i + 3 * j + 5 * k) % 11) / 11.0);
      }
    }
  }
  PetscCall(VecRestoreArrayWrite(*b, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Callback of DMKSPSetComputeOperators(), for solvers that make levels by themselves */
static inline PetscErrorCode ProblemComputeMatrix(KSP ksp, PETSC_UNUSED Mat A, Mat P, void *ctx)
{
  DM da;

  PetscFunctionBegin;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(ProblemFillMatrix((const Problem *)ctx, da, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Levels of a hierarchy that ends at 3 to 4 points a direction where the number of points allows: on a GPU the factors of a larger
   coarsest grid cost more than all levels below the finest but one
*/
static inline PetscInt ProblemLevels(const Problem *p)
{
  PetscInt levels = 1;

  for (PetscInt n = p->n; n > 3 && n % 2; n = (n - 1) / 2 + 1) levels++;
  return levels;
}

/* Grids, matrices and interpolations of a hierarchy, made once for all solvers that are compared; 0 is the coarsest */
typedef struct {
  PetscInt n;
  DM       da[32];
  Mat      A[32], P[32]; /* P[i] leads from level i - 1 to level i */
  Vec      rhs, x;
} Hierarchy;

/* One product with each matrix, so that it lies where the vectors do before a solver is timed. fill: ProblemFillMatrix(), or faster */
static inline PetscErrorCode HierarchyCreate(const Problem *p, DM finest, PetscInt n, PetscErrorCode (*fill)(const Problem *, DM, Mat),
                                             Hierarchy *h)
{
  Vec x, y;

  PetscFunctionBegin;
  h->n = n;
  PetscCall(PetscObjectReference((PetscObject)finest));
  h->da[n - 1] = finest;
  for (PetscInt i = n - 1; i >= 0; i--) {
    PetscCall(DMCreateMatrix(h->da[i], &h->A[i])); /* first: a type may say how its grid is coarsened */
    PetscCall((*fill)(p, h->da[i], h->A[i]));
    if (i) PetscCall(DMCoarsen(h->da[i], PetscObjectComm((PetscObject)finest), &h->da[i - 1]));
    if (i) PetscCall(DMCreateInterpolation(h->da[i - 1], h->da[i], &h->P[i], NULL));
    PetscCall(MatCreateVecs(h->A[i], &x, &y));
    PetscCall(MatMult(h->A[i], x, y));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
  }
  PetscCall(ProblemCreateRHS(p, finest, &h->rhs));
  PetscCall(VecDuplicate(h->rhs, &h->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode HierarchyDestroy(Hierarchy *h)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < h->n; i++) {
    PetscCall(MatDestroy(&h->A[i]));
    PetscCall(MatDestroy(&h->P[i]));
    PetscCall(DMDestroy(&h->da[i]));
  }
  PetscCall(VecDestroy(&h->rhs));
  PetscCall(VecDestroy(&h->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* CG + multigrid to 1e-8 on the levels from coarsest on; the caller sets what it likes, then calls KSPSetFromOptions() */
static inline PetscErrorCode HierarchyCreateSolver(const Hierarchy *h, PetscInt coarsest, const char prefix[], KSP *ksp)
{
  const PetscInt finest = h->n - 1;
  PC             pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)h->rhs), ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 100));
  PetscCall(KSPSetOperators(*ksp, h->A[finest], h->A[finest]));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCMGSetLevels(pc, h->n - coarsest, NULL));
  for (PetscInt i = coarsest; i < h->n; i++) {
    KSP level;

    PetscCall(PCMGGetSmoother(pc, i - coarsest, &level));
    PetscCall(KSPSetOperators(level, h->A[i], h->A[i]));
    if (i > coarsest) PetscCall(PCMGSetInterpolation(pc, i - coarsest, h->P[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options of the levels' smoothers that the programs compare; the number is that of sweeps */
#define PROBLEM_CHEBYSHEV "-mg_levels_ksp_type chebyshev -mg_levels_pc_type jacobi -mg_levels_ksp_max_it %" PetscInt_FMT
#define PROBLEM_HJACOBI                                                                                                                    \
  "-mg_levels_ksp_type richardson -mg_levels_pc_type hjacobi -mg_levels_ksp_max_it 1 -mg_levels_pc_hjacobi_k %" PetscInt_FMT

/*
   Options of hjacobi as the solver of the coarsest grid, below finer levels of which the finest has n points, in place of a factorisation:
   Chebyshev sweeps over all eigenvalues of the Poisson matrix, of which the least is the mean over the directions of 1 - cos(pi / (points
   + 1)). sweeps 0: twice the intervals of the shortest direction
*/
static inline PetscErrorCode ProblemSolveCoarsest(PetscInt dim, const PetscInt n[], PetscInt finer, PetscInt sweeps)
{
  char      options[256];
  PetscReal emin     = 0;
  PetscInt  shortest = (n[0] - 1) >> finer; /* in intervals */

  PetscFunctionBegin;
  for (PetscInt d = 0; d < dim; d++) {
    const PetscInt intervals = (n[d] - 1) >> finer;

    emin += (1 - PetscCosReal(PETSC_PI / (intervals + 2))) / dim;
    shortest = PetscMin(shortest, intervals);
  }
  PetscCall(PetscSNPrintf(options, sizeof(options),
                          "-mg_coarse_ksp_type preonly -mg_coarse_pc_type hjacobi -mg_coarse_pc_hjacobi_schedule chebyshev "
                          "-mg_coarse_pc_hjacobi_k %" PetscInt_FMT " -mg_coarse_pc_hjacobi_eigenvalues %g,2",
                          sweeps ? sweeps : 2 * shortest, (double)emin));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||b - A x|| / ||b|| */
static inline PetscErrorCode ProblemTrueResidual(KSP ksp, PetscReal *residual)
{
  Mat       A;
  Vec       x, b, r;
  PetscReal bnorm;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetSolution(ksp, &x));
  PetscCall(KSPGetRhs(ksp, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, residual));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  *residual /= bnorm;
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a solve to 1e-8 is right: its true residual is that small, or as small as rounding of A x leaves it */
static inline PetscErrorCode ProblemCheckResidual(KSP ksp, PetscReal *residual, PetscBool *good)
{
  Mat       A;
  Vec       x, b;
  PetscReal anorm, xnorm, bnorm;

  PetscFunctionBegin;
  PetscCall(ProblemTrueResidual(ksp, residual));
  *good = (PetscBool)(*residual < 1.1e-8);
  if (*good) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetSolution(ksp, &x));
  PetscCall(KSPGetRhs(ksp, &b));
  PetscCall(MatNorm(A, NORM_INFINITY, &anorm));
  PetscCall(VecNorm(x, NORM_2, &xnorm));
  PetscCall(VecNorm(b, NORM_2, &bnorm));
  *good = (PetscBool)(*residual < PETSC_MACHINE_EPSILON * anorm * xnorm / bnorm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A clock read after all work of x's device is done: a dot product needs its result on the host */
static inline PetscErrorCode ProblemTime(Vec x, PetscLogDouble *seconds)
{
  Vec         one;
  PetscScalar dot;
  MPI_Comm    comm = PetscObjectComm((PetscObject)x);
  VecType     type;

  PetscFunctionBegin;
  PetscCall(VecGetType(x, &type));
  PetscCall(VecCreate(comm, &one));
  PetscCall(VecSetSizes(one, 1, PETSC_DETERMINE));
  PetscCall(VecSetType(one, type));
  PetscCall(VecSet(one, 1.0));
  PetscCall(VecDot(one, one, &dot));
  PetscCall(VecDestroy(&one));
  PetscCallMPI(MPI_Barrier(comm));
  *seconds = MPI_Wtime();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Matrices on DMDAs that the tests share. Every entry depends on global coordinates alone, so that ranks agree.
*/
#pragma once

#include <petscksp.h>
#include <petscdmda.h>
#include <unistd.h>
#include "hjtest.h"
#include "pchjacobi.h"

typedef enum {
  DIRICHLET, /* boundary eliminated */
  IDENTITY,  /* identity rows on the domain's boundary, columns to them kept */
  NEUMANN,   /* zero row sums */
  PERIODIC,
  MIRROR,
  PERIODIC_FIRST, /* in x alone, else as DIRICHLET */
  PERIODIC_LAST   /* in the slowest direction alone */
} Boundary;

typedef enum {
  CONSTANT,
  JUMP,      /* two materials */
  VARYING,   /* symmetric, smooth */
  CONVECTION /* unsymmetric */
} Coefficient;

typedef struct {
  PetscInt    dim, n[3];
  Boundary    boundary;
  Coefficient coefficient;
  PetscBool   box;
} Problem;

static inline PETSC_UNUSED const char *const *BoundaryNames(void)
{
  static const char *const names[] =
    {"dirichlet", "identity", "neumann", "periodic", "mirror", "periodic in x", "periodic in the slowest direction"};
  return names;
}

static inline PETSC_UNUSED const char *const *CoefficientNames(void)
{
  static const char *const names[] = {"constant", "jump", "varying", "convection"};
  return names;
}

/*
   -backend cuda puts vectors and matrices on the GPU, where this PETSc can, and forces the backend; staged leaves them on the host;
   default host
*/
static inline PETSC_UNUSED PetscErrorCode ProblemBackend(void)
{
  char      backend[32] = "host";
  PetscBool flg;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), &flg));
  PetscCall(PetscStrcmp(backend, "cuda", &flg));
  if (flg && PetscDefined(HAVE_CUDA)) PetscCall(PetscOptionsInsertString(NULL, "-dm_vec_type cuda -dm_mat_type aijcusparse"));
  if (!flg) PetscCall(PetscStrcmp(backend, "staged", &flg));
  if (flg) PetscCall(PetscOptionsInsertString(NULL, "-pc_hjacobi_backend cuda -use_gpu_aware_mpi 0"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode ProblemInitialize(int *argc, char ***argv)
{
  PetscFunctionBegin;
  PetscCall(PetscInitialize(argc, argv, NULL, NULL));
  PetscCall(PCHJacobiInitializePackage());
  PetscCall(ProblemBackend());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether -backend cuda asks for vectors and matrices on the GPU, and this PETSc can have them there. Asked for the first time before
   options are cleared */
static inline PETSC_UNUSED PetscErrorCode ProblemOnGPU(PetscBool *gpu)
{
  static int answer      = -1;
  char       backend[32] = "host";

  PetscFunctionBegin;
  *gpu = PETSC_FALSE;
  if (answer < 0) {
    PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
    PetscCall(PetscStrcmp(backend, "cuda", gpu));
    answer = *gpu && PetscDefined(HAVE_CUDA);
  }
  *gpu = (PetscBool)answer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The grid of a KSP that has a matrix of its own */
static inline PETSC_UNUSED PetscErrorCode ProblemSetDM(KSP ksp, DM da)
{
  PetscFunctionBegin;
  PetscCall(KSPSetDM(ksp, da));
#if PETSC_VERSION_GE(3, 25, 0)
  PetscCall(KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
#else
  PetscCall(KSPSetDMActive(ksp, PETSC_FALSE));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the grids that are made from now on are cut across their slowest direction alone */
static inline PETSC_UNUSED PetscErrorCode ProblemStrips(PetscInt dim, PetscBool strips)
{
  const char *const options[] = {"-da_processors_x", "-da_processors_y"};

  PetscFunctionBegin;
  for (PetscInt d = 0; d < dim - 1; d++) {
    if (strips) PetscCall(PetscOptionsSetValue(NULL, options[d], "1"));
    else PetscCall(PetscOptionsClearValue(NULL, options[d]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same where the slowest direction may have fewer points than there are ranks, into which PETSc does not cut it: as many ranks as that
   goes into share it, and the direction before it is cut too */
static inline PETSC_UNUSED PetscErrorCode ProblemThinStrips(PetscInt dim, PetscInt points)
{
  PetscMPIInt size, planes;
  char        others[16];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (planes = size; planes > points || size % planes;) planes--;
  PetscCall(PetscSNPrintf(others, sizeof(others), "%d", size / planes));
  PetscCall(ProblemStrips(dim, PETSC_TRUE));
  PetscCall(PetscOptionsSetValue(NULL, dim == 2 ? "-da_processors_x" : "-da_processors_y", others));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   Two vectors in turn, 200 times, with nothing between that waits for a GPU: what is read too early is that of the other one. y: of the
   results' layout, overwritten. Whether all results are the first ones, bit by bit
*/
static inline PETSC_UNUSED PetscErrorCode ProblemTurns(PetscErrorCode (*apply)(void *, Vec, Vec), void *ctx, const Vec x[2], Vec y,
                                                       PetscBool *same)
{
  Vec       want[2], sum;
  PetscReal norm;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDuplicate(y, &want[i]));
    PetscCall((*apply)(ctx, x[i], want[i]));
  }
  PetscCall(VecDuplicate(y, &sum));
  PetscCall(VecSet(sum, 0.0));
  for (int i = 0; i < 200; i++) {
    PetscCall((*apply)(ctx, x[i % 2], y));
    PetscCall(VecAXPY(y, -1.0, want[i % 2]));
    PetscCall(VecPointwiseMult(y, y, y));
    PetscCall(VecAXPY(sum, 1.0, y));
  }
  PetscCall(VecNorm(sum, NORM_INFINITY, &norm));
  *same = (PetscBool)(norm == 0.0);
  for (int i = 0; i < 2; i++) PetscCall(VecDestroy(&want[i]));
  PetscCall(VecDestroy(&sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscBool ProblemIsPeriodic(const Problem *p, PetscInt d)
{
  return (PetscBool)(d < p->dim && (p->boundary == PERIODIC || (p->boundary == PERIODIC_FIRST && d == 0) ||
                                    (p->boundary == PERIODIC_LAST && d == p->dim - 1)));
}

static inline PETSC_UNUSED PetscErrorCode ProblemDM(const Problem *p, DM *da)
{
  DMBoundaryType b[3];

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++)
    b[d] = ProblemIsPeriodic(p, d) ? DM_BOUNDARY_PERIODIC : p->boundary == MIRROR && d < p->dim ? DM_BOUNDARY_MIRROR : DM_BOUNDARY_NONE;
  PetscCall(DMDACreate(PETSC_COMM_WORLD, da));
  PetscCall(DMSetDimension(*da, p->dim));
  PetscCall(DMDASetSizes(*da, p->n[0], p->n[1], p->n[2]));
  PetscCall(DMDASetBoundaryType(*da, b[0], b[1], b[2]));
  PetscCall(DMDASetDof(*da, 1));
  PetscCall(DMDASetStencilWidth(*da, 1));
  PetscCall(DMDASetStencilType(*da, p->box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscReal ProblemConductivity(const Problem *p, const PetscReal c[3], PetscInt salt)
{
  if (p->coefficient == JUMP) return c[0] + 2 * c[1] + c[2] > 0.4 * (p->n[0] + 2 * p->n[1] + p->n[2]) ? 100.0 + salt : 1.0 + salt;
  if (p->coefficient == VARYING) return 1.5 + salt + PetscSinReal(0.7 * c[0] + 0.3 * c[1] * c[1] / (p->n[1] + 1) + 1.1 * c[2]);
  return 1.0 + salt;
}

/* Columns and values of the row of a point; returns how many there are */
typedef PetscInt (*RowFunction)(const void *ctx, const PetscInt at[3], PetscInt salt, MatStencil col[27], PetscScalar v[27]);

/* Fills a matrix row by row on the points that each rank owns, and assembles it */
static inline PETSC_UNUSED PetscErrorCode FillRows(DM da, RowFunction function, const void *ctx, PetscInt salt, InsertMode mode, Mat A)
{
  PetscInt s[3], w[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  for (PetscInt k = s[2]; k < s[2] + w[2]; k++) {
    for (PetscInt j = s[1]; j < s[1] + w[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + w[0]; i++) {
        const MatStencil row = {.i = i, .j = j, .k = k};
        MatStencil       col[27];
        PetscScalar      v[27];
        const PetscInt   n = (*function)(ctx, (const PetscInt[]){i, j, k}, salt, col, v);

        PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, mode));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscInt ProblemRow(const void *ctx, const PetscInt at[3], PetscInt salt, MatStencil col[27], PetscScalar v[27])
{
  const Problem *p        = (const Problem *)ctx;
  PetscScalar    diagonal = 0.0;
  PetscInt       n        = 1;
  PetscBool      edge     = PETSC_FALSE;

  for (PetscInt d = 0; d < p->dim; d++)
    if (at[d] == 0 || at[d] == p->n[d] - 1) edge = PETSC_TRUE;
  for (PetscInt o = 0; o < 27; o++) {
    const PetscInt off[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};
    const PetscInt far    = PetscAbs(off[0]) + PetscAbs(off[1]) + PetscAbs(off[2]);
    PetscReal      mid[3], a;
    PetscBool      outside = PETSC_FALSE;

    if (!far || (!p->box && far > 1) || (p->dim < 3 && off[2]) || (p->dim < 2 && off[1])) continue;
    for (PetscInt d = 0; d < 3; d++) {
      mid[d] = at[d] + 0.5 * off[d];
      if (ProblemIsPeriodic(p, d)) mid[d] = mid[d] < 0 || mid[d] > p->n[d] - 1 ? -0.5 : mid[d];
      else if (at[d] + off[d] < 0 || at[d] + off[d] >= p->n[d]) outside = PETSC_TRUE;
    }
    a = ProblemConductivity(p, mid, salt) / far;
    if (p->coefficient == CONVECTION) a *= 1.0 + 0.4 * off[0] + 0.3 * off[1] - 0.2 * off[2];
    if (outside && p->boundary == NEUMANN) continue;
    diagonal += a;
    if (outside && p->boundary != MIRROR) continue;
    col[n] = (MatStencil){.i = at[0] + off[0], .j = at[1] + off[1], .k = at[2] + off[2]};
    v[n++] = -a;
  }
  col[0] = (MatStencil){.i = at[0], .j = at[1], .k = at[2]};
  v[0]   = diagonal;
  if (edge && p->boundary == IDENTITY) {
    n    = 1;
    v[0] = 1.0;
  }
  return n;
}

/* Fills the matrix; salt changes the values, not the pattern */
static inline PETSC_UNUSED PetscErrorCode ProblemFill(const Problem *p, DM da, PetscInt salt, Mat A)
{
  PetscFunctionBegin;
  PetscCall(FillRows(da, ProblemRow, p, salt, ADD_VALUES, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode ProblemCreate(const Problem *p, DM *da, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(ProblemDM(p, da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(ProblemFill(p, *da, 0, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector with values in [-1, 1] that depend on the natural index and the seed alone */
static inline PETSC_UNUSED PetscErrorCode ProblemVector(DM da, PetscInt seed, Vec x)
{
  Vec      natural;
  PetscInt lo, hi;

  PetscFunctionBegin;
  PetscCall(DMDACreateNaturalVector(da, &natural));
  PetscCall(VecGetOwnershipRange(natural, &lo, &hi));
  for (PetscInt i = lo; i < hi; i++)
    PetscCall(VecSetValue(natural, i, PetscSinReal(12.9898 * (i % 100003) + 78.233 * seed + 1e-5 * i), INSERT_VALUES));
  PetscCall(VecAssemblyBegin(natural));
  PetscCall(VecAssemblyEnd(natural));
  PetscCall(DMDANaturalToGlobalBegin(da, natural, INSERT_VALUES, x));
  PetscCall(DMDANaturalToGlobalEnd(da, natural, INSERT_VALUES, x));
  PetscCall(VecDestroy(&natural));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Global vectors without values, of which the addresses are given */
#define ProblemVectors(da, ...) ProblemCreateVectors(da, (Vec *[]){__VA_ARGS__, NULL})

static inline PETSC_UNUSED PetscErrorCode ProblemCreateVectors(DM da, Vec *vectors[])
{
  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(da, vectors[0]));
  for (PetscInt i = 1; vectors[i]; i++) PetscCall(VecDuplicate(*vectors[0], vectors[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* its cycles of x <- x + w_j D^-1 (b - A x) through MatMult(): the definition of exact mode */
static inline PETSC_UNUSED PetscErrorCode NaiveCycles(Mat A, PetscInt its, PetscInt k, const PetscReal w[], Vec b, Vec x)
{
  Vec d, r;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecDuplicate(b, &d));
  PetscCall(MatGetDiagonal(A, d));
  for (PetscInt j = 0; j < its * k; j++) {
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1.0, b));
    PetscCall(VecPointwiseDivide(r, r, d));
    PetscCall(VecAXPY(x, w[j % k], r));
  }
  PetscCall(VecDestroy(&d));
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The norm of b - A x, over that of b */
static inline PETSC_UNUSED PetscErrorCode RelativeResidual(Mat A, Vec b, Vec x, PetscReal *relative)
{
  PetscReal norm[2];
  Vec       r;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatResidual(A, b, x, r));
  PetscCall(VecNorm(r, NORM_2, &norm[0]));
  PetscCall(VecNorm(b, NORM_2, &norm[1]));
  *relative = norm[0] == 0.0 ? 0.0 : norm[0] / norm[1];
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of PCHJMG, where cycles are compared digit by digit */
#define ALL_DIGITS HJ_BY_PRECISION(PC_HJMG_PRECISION_DOUBLE, PC_HJMG_PRECISION_AUTO)

/* A PC of a matrix; da may be NULL. Options are not read */
static inline PETSC_UNUSED PetscErrorCode ProblemPC(DM da, Mat A, PCType type, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PetscObjectComm((PetscObject)A), pc));
  PetscCall(PCSetOperators(*pc, A, A));
  if (da) PetscCall(PCSetDM(*pc, da));
  PetscCall(PCSetType(*pc, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solver and the PC in it; da may be NULL. Tolerances are PETSc's, and options are not read */
static inline PETSC_UNUSED PetscErrorCode ProblemKSP(DM da, Mat A, KSPType type, PCType pctype, KSP *ksp, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPGetPC(*ksp, pc));
  if (da) PetscCall(PCSetDM(*pc, da));
  PetscCall(PCSetType(*pc, pctype));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How a solve ended; relative: the norm of b - A x over that of b, unless it is NULL */
static inline PETSC_UNUSED PetscErrorCode ProblemSolve(KSP ksp, Mat A, Vec b, Vec x, PetscInt *its, KSPConvergedReason *reason,
                                                       PetscReal *relative)
{
  PetscFunctionBegin;
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, reason));
  if (relative) PetscCall(RelativeResidual(A, b, x, relative));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether |x - y| <= tol max(|y|, 1) in the largest entry; reports the difference */
static inline PETSC_UNUSED PetscErrorCode VecsAgree(Vec x, Vec y, PetscReal tol, PetscBool *agree, PetscReal *difference)
{
  Vec       d;
  PetscReal norm, sum;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &d));
  PetscCall(VecWAXPY(d, -1.0, x, y));
  PetscCall(VecNorm(y, NORM_INFINITY, &norm));
  PetscCall(VecNorm(d, NORM_INFINITY, difference));
  PetscCall(VecNorm(d, NORM_1, &sum)); /* a sum is NaN where any term is; the largest over the ranks need not be */
  *difference /= PetscMax(norm, 1.0);
  *agree = (PetscBool)(*difference <= tol && !PetscIsNanReal(sum));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether (B v, u) = (C u, v), to tol |B v| |u|; C is B^T by PCApplyTranspose, or B itself by PCApply. Reports the difference */
static inline PETSC_UNUSED PetscErrorCode AdjointAgrees(PC pc, PetscErrorCode (*apply)(PC, Vec, Vec), Vec u, Vec v, PetscReal tol,
                                                        PetscBool *agree, PetscReal *difference)
{
  Vec         work;
  PetscScalar dot[2];
  PetscReal   norm[2];

  PetscFunctionBegin;
  PetscCall(VecDuplicate(u, &work));
  PetscCall(PCApply(pc, v, work));
  PetscCall(VecDot(work, u, &dot[0]));
  PetscCall(VecNorm(work, NORM_2, &norm[0]));
  PetscCall((*apply)(pc, u, work));
  PetscCall(VecDot(work, v, &dot[1]));
  PetscCall(VecNorm(u, NORM_2, &norm[1]));
  *difference = PetscAbsScalar(dot[0] - dot[1]);
  *agree      = (PetscBool)(*difference <= tol * norm[0] * norm[1]);
  PetscCall(VecDestroy(&work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of a matrix, and its columns where that is asked for, times factor() of a number of each point, that of ProblemVector() */
static inline PETSC_UNUSED PetscErrorCode ProblemScale(DM da, PetscInt salt, PetscScalar (*factor)(PetscScalar number, PetscReal arg),
                                                       PetscReal arg, PetscBool columns, Mat A)
{
  Vec          scale;
  PetscScalar *a;
  PetscInt     n;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(da, &scale));
  PetscCall(ProblemVector(da, salt, scale));
  PetscCall(VecGetLocalSize(scale, &n));
  PetscCall(VecGetArray(scale, &a));
  for (PetscInt i = 0; i < n; i++) a[i] = factor(a[i], arg);
  PetscCall(VecRestoreArray(scale, &a));
  PetscCall(MatDiagonalScale(A, scale, columns ? scale : NULL));
  PetscCall(VecDestroy(&scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode ProblemShellMult(Mat S, Vec x, Vec y)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &A));
  PetscCall(MatMult(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PETSC_UNUSED PetscErrorCode ProblemShellDiagonal(Mat S, Vec d)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(S, &A));
  PetscCall(MatGetDiagonal(A, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that has the product and the diagonal of another and nothing else */
static inline PETSC_UNUSED PetscErrorCode ProblemShell(Mat A, Mat *S)
{
  VecType  type;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, n, n, PETSC_DETERMINE, PETSC_DETERMINE, A, S));
  PetscCall(MatGetVecType(A, &type));
  PetscCall(MatSetVecType(*S, type));
  PetscCall(MatShellSetOperation(*S, MATOP_MULT, (void (*)(void))ProblemShellMult));
  PetscCall(MatShellSetOperation(*S, MATOP_GET_DIAGONAL, (void (*)(void))ProblemShellDiagonal));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the ASCII view of an object holds the words; the next check shows the view if it fails */
static inline PETSC_UNUSED PetscErrorCode ObjectViewHolds(PetscObject object, PetscViewerFormat format, const char *words, PetscBool *holds)
{
  PetscViewer viewer;
  char        name[PETSC_MAX_PATH_LEN], text[8192];
  PetscMPIInt rank;
  int         found = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscGetTmp(PETSC_COMM_WORLD, name, sizeof(name) - 32)); /* rank 0 alone opens it */
  PetscCall(PetscSNPrintf(name + strlen(name), 32, "/hjacobi_view_%d", (int)getpid()));
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, name, &viewer));
  PetscCall(PetscViewerPushFormat(viewer, format));
  PetscCall(PetscObjectView(object, viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  if (!rank) {
    FILE  *f = fopen(name, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    text[n] = 0;
    found   = strstr(text, words) ? 1 : 0;
    PetscCall(HJTestDetail("# '%s' is %s:\n%s", words, found ? "in" : "not in", text));
    if (f) fclose(f);
    (void)remove(name);
  }
  PetscCallMPI(MPI_Bcast(&found, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  *holds = (PetscBool)found;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode ViewHolds(PC pc, const char *words, PetscBool *holds)
{
  PetscFunctionBegin;
  PetscCall(ObjectViewHolds((PetscObject)pc, PETSC_VIEWER_DEFAULT, words, holds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

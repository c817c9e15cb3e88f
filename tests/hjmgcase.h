/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Matrices, solvers and the like that the tests of PCHJMG share.
*/
#pragma once

#include "hjproblem.h"

/* As much as sums in another order may change, through the sweeps of a few levels */
#define ROUNDING HJTestDigits(1e-10)

/* A matrix of the wanted type with the values of the problem */
static inline PETSC_UNUSED PetscErrorCode MakeMatrix(const Problem *p, PetscBool stencil, DM *da, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(ProblemDM(p, da));
  if (stencil) PetscCall(MatCreateHJStencil(*da, A));
  else PetscCall(DMCreateMatrix(*da, A));
  PetscCall(ProblemFill(p, *da, 0, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode MakePC(Mat A, PetscInt k, PetscInt levels, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, PCHJMG));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCHJMGSetK(*pc, 1, &k));
  PetscCall(PCHJMGSetLevels(*pc, levels));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To 1e-8 by hjmg, of which pc may set more */
static inline PETSC_UNUSED PetscErrorCode MakeKSP(Mat A, KSPType type, PetscInt max_it, KSP *ksp, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(ProblemKSP(NULL, A, type, PCHJMG, ksp, pc));
  PetscCall(KSPSetTolerances(*ksp, HJTestDigits(1e-8), PETSC_DEFAULT, PETSC_DEFAULT, max_it));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED const char *Name(const Problem *p, PetscBool stencil)
{
  static char name[128];

  (void)PetscSNPrintf(name, sizeof(name), "%s, %" PetscInt_FMT "D %s %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT ", %s, %s",
                      stencil ? "hjstencil" : "AIJ", p->dim, p->box ? "box" : "star", p->n[0], p->n[1], p->n[2],
                      BoundaryNames()[p->boundary], CoefficientNames()[p->coefficient]);
  return name;
}

static inline PETSC_UNUSED PetscBool IsSymmetric(const Problem *p)
{
  return (PetscBool)(p->coefficient != CONVECTION && p->boundary != IDENTITY && p->boundary != MIRROR);
}

/* PCMG that describes the same cycle */
static inline PETSC_UNUSED PetscErrorCode MakePCMG(DM da, Mat A, PetscBool symmetric, PetscInt k, PetscInt levels, PC *pc)
{
  char options[512];

  PetscFunctionBegin;
  PetscCall(
    PetscSNPrintf(options, sizeof(options),
                  "-other_pc_mg_levels %" PetscInt_FMT " -other_pc_mg_galerkin both -other_mg_levels_ksp_type richardson "
                  "-other_mg_levels_ksp_max_it 1 -other_mg_levels_pc_type hjacobi -other_mg_levels_pc_hjacobi_k %" PetscInt_FMT
                  " -other_mg_levels_pc_hjacobi_schedule chebyshev4 -other_mg_coarse_ksp_type preonly -other_mg_coarse_pc_type hjacobi",
                  levels, k));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PetscSNPrintf(options, sizeof(options),
                          "-other_mg_coarse_pc_hjacobi_k %" PetscInt_FMT " -other_mg_coarse_pc_hjacobi_schedule chebyshev4", k));
  if (symmetric) {
    PetscCall(PetscOptionsInsertString(NULL, "-other_mg_coarse_pc_hjacobi_reduction 0.01 -other_mg_coarse_pc_hjacobi_schedule chebyshev"));
  } else {
    PetscCall(PetscOptionsInsertString(NULL, options));
    PetscCall(PetscOptionsClearValue(NULL, "-other_mg_coarse_pc_hjacobi_reduction"));
  }
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetOptionsPrefix(*pc, "other_"));
  PetscCall(PCSetType(*pc, PCMG));
  PetscCall(PCSetDM(*pc, da));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode GetSizeAndDevice(PetscMPIInt *size, PetscBool *cuda)
{
  char type[16] = "";

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, size));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_vec_type", type, sizeof(type), NULL));
  PetscCall(PetscStrcmp(type, "cuda", cuda));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on the grid inside boundary rows that are a diagonal alone, as a PC of the whole one: what PCHJMG makes of such rows, on the
   host */
typedef struct {
  Problem whole;
  DM      da, inner;
  Mat     A; /* of the whole grid */
  PC      pc;
  Vec     b, x, extended, residual;
} InsidePC;

/* The row of a point inside, without columns of the boundary */
static inline PETSC_UNUSED PetscInt InsideRow(const void *ctx, const PetscInt at[3], PetscInt salt, MatStencil col[27], PetscScalar v[27])
{
  const Problem *p       = (const Problem *)ctx;
  const PetscInt more[3] = {1, p->dim > 1, p->dim > 2}, here[3] = {at[0] + more[0], at[1] + more[1], at[2] + more[2]};
  const PetscInt n = ProblemRow(p, here, salt, col, v);
  PetscInt       m = 0;

  for (PetscInt e = 0; e < n; e++) {
    const PetscInt to[3] = {col[e].i, col[e].j, col[e].k};
    PetscBool      in    = PETSC_TRUE;

    for (int d = 0; d < p->dim; d++) in = (PetscBool)(in && to[d] > 0 && to[d] < p->n[d] - 1);
    if (!in) continue;
    v[m]     = v[e];
    col[m++] = (MatStencil){.i = to[0] - more[0], .j = to[1] - more[1], .k = to[2] - more[2]};
  }
  return m;
}

/* A DMDA of the points inside, each on the rank that has it in the whole one */
static inline PETSC_UNUSED PetscErrorCode InsideDM(const Problem *p, DM da, DM *inner)
{
  PetscInt        n[3], nranks[3] = {1, 1, 1}, *widths[3] = {NULL, NULL, NULL};
  const PetscInt *whole[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, NULL, NULL, NULL, NULL, &nranks[0], &nranks[1], &nranks[2], NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetOwnershipRanges(da, &whole[0], &whole[1], &whole[2]));
  for (int d = 0; d < p->dim; d++) {
    n[d] = p->n[d] - 2;
    PetscCall(PetscMalloc1(nranks[d], &widths[d]));
    PetscCall(PetscArraycpy(widths[d], whole[d], nranks[d]));
    widths[d][0]--;
    widths[d][nranks[d] - 1]--;
  }
  PetscCheck(p->dim == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Only tests in 2D ask for this");
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, p->box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, n[0], n[1],
                         nranks[0], nranks[1], 1, 1, widths[0], widths[1], inner));
  PetscCall(DMSetUp(*inner));
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(widths[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of points inside from a vector of the whole grid, or to it; of boundary points from b, whose rows have a diagonal of 1 */
static inline PETSC_UNUSED PetscErrorCode InsideCopy(const InsidePC *in, Vec b, Vec whole, PetscBool to_whole, Vec inside)
{
  const PetscInt    *n = in->whole.n;
  const PetscScalar *ba;
  PetscScalar       *wa, *ia = NULL;
  PetscInt           s[3], w[3], at = 0, place = 0;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(in->da, &s[0], &s[1], &s[2], &w[0], &w[1], &w[2]));
  PetscCall(VecGetArrayRead(b, &ba));
  PetscCall(VecGetArray(whole, &wa));
  if (inside) PetscCall(VecGetArray(inside, &ia));
  for (PetscInt j = s[1]; j < s[1] + w[1]; j++) {
    for (PetscInt i = s[0]; i < s[0] + w[0]; i++, at++) {
      if (i == 0 || i == n[0] - 1 || j == 0 || j == n[1] - 1) {
        if (to_whole) wa[at] = ba[at];
      } else if (to_whole) wa[at] = ia ? ia[place++] : 0.0;
      else ia[place++] = wa[at];
    }
  }
  if (inside) PetscCall(VecRestoreArray(inside, &ia));
  PetscCall(VecRestoreArray(whole, &wa));
  PetscCall(VecRestoreArrayRead(b, &ba));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode InsideApply(PC pc, Vec b, Vec x)
{
  InsidePC *in;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &in));
  PetscCall(InsideCopy(in, b, in->extended, PETSC_TRUE, NULL));
  PetscCall(MatMult(in->A, in->extended, in->residual));
  PetscCall(VecAYPX(in->residual, -1.0, b));
  PetscCall(InsideCopy(in, b, in->residual, PETSC_FALSE, in->b));
  PetscCall(PCApply(in->pc, in->b, in->x));
  PetscCall(InsideCopy(in, b, x, PETSC_TRUE, in->x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode InsideSetUp(PC pc)
{
  InsidePC *in;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &in));
  PetscCall(PCSetFromOptions(in->pc));
  PetscCall(PCSetUp(in->pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode InsideDestroy(PC pc)
{
  InsidePC *in;

  PetscFunctionBegin;
  PetscCall(PCShellGetContext(pc, &in));
  PetscCall(PCDestroy(&in->pc));
  for (int i = 0; i < 4; i++) PetscCall(VecDestroy((Vec *[]){&in->b, &in->x, &in->extended, &in->residual}[i]));
  PetscCall(DMDestroy(&in->inner));
  PetscCall(PetscFree(in));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode MakeInsidePCMG(const Problem *p, DM da, Mat A, PetscBool symmetric, PetscInt k, PetscInt levels,
                                                         PC *pc)
{
  InsidePC *in;
  Mat       inner;

  PetscFunctionBegin;
  PetscCall(PetscNew(&in));
  in->whole = *p;
  in->da    = da;
  in->A     = A;
  PetscCall(InsideDM(p, da, &in->inner));
  PetscCall(DMCreateMatrix(in->inner, &inner));
  PetscCall(FillRows(in->inner, InsideRow, &in->whole, 0, INSERT_VALUES, inner));
  PetscCall(MakePCMG(in->inner, inner, symmetric, k, levels, &in->pc));
  PetscCall(MatCreateVecs(inner, &in->x, &in->b));
  PetscCall(MatCreateVecs(A, &in->extended, &in->residual));
  PetscCall(MatDestroy(&inner));
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, PCSHELL));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCShellSetContext(*pc, in));
  PetscCall(PCShellSetApply(*pc, InsideApply));
  PetscCall(PCShellSetSetUp(*pc, InsideSetUp));
  PetscCall(PCShellSetDestroy(*pc, InsideDestroy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The one that describes the same cycle. Boundary rows are left out, and grids then are 2 points larger so that PCMG has as
   many levels inside */
static inline PETSC_UNUSED PetscBool IsInside(const Problem *p)
{
  return (PetscBool)(p->boundary == IDENTITY);
}

static inline PETSC_UNUSED Problem Widen(const Problem *p)
{
  Problem q = *p;

  for (int d = 0; d < p->dim && IsInside(p); d++) q.n[d] += 2;
  return q;
}

static inline PETSC_UNUSED PetscErrorCode MakePeer(const Problem *p, DM da, Mat A, PetscBool symmetric, PetscInt k, PetscInt levels, PC *pc)
{
  PetscFunctionBegin;
  if (IsInside(p)) PetscCall(MakeInsidePCMG(p, da, A, symmetric, k, levels, pc));
  else PetscCall(MakePCMG(da, A, symmetric, k, levels, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix for PCHJMG, and one whose coarse matrices PCMG makes */
static inline PETSC_UNUSED PetscErrorCode MakeMatrices(const Problem *p, PetscBool stencil, DM da[2], Mat A[2])
{
  PetscFunctionBegin;
  PetscCall(MakeMatrix(p, stencil, &da[0], &A[0]));
  PetscCall(ProblemDM(p, &da[1]));
  PetscCall(DMSetMatType(da[1], MATHJSTENCIL));
  PetscCall(DMCreateMatrix(da[1], &A[1]));
  PetscCall(ProblemFill(p, da[1], 0, A[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscBool IsSingular(const Problem *p)
{
  return (PetscBool)(p->boundary == PERIODIC || p->boundary == NEUMANN);
}

/* The matrix is said to have constants in its null space, and b is in its range */
static inline PETSC_UNUSED PetscErrorCode SayConstants(Mat A, Vec b)
{
  MatNullSpace null;

  PetscFunctionBegin;
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &null));
  PetscCall(MatSetNullSpace(A, null));
  PetscCall(MatNullSpaceRemove(null, b));
  PetscCall(MatNullSpaceDestroy(&null));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Grids whose sweeps stream on a GPU, begin with the correction from the coarser grid, or end with the residual for it, in strips that
   begin at even and odd columns; several ranks are cut into lines, of which the first may lie on a coarse one or not */
static PETSC_UNUSED const Problem streamed[2] = {{2, {1025, 769, 1}, DIRICHLET, CONSTANT, PETSC_FALSE},
                                                 {2, {2049, 1537, 1}, DIRICHLET, CONSTANT, PETSC_FALSE}};

static PETSC_UNUSED const Problem streamed_cut = {2, {1025, 2049, 1}, DIRICHLET, CONSTANT, PETSC_FALSE};
/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Matrices, solvers and the like that the tests of PCHJMG share.
*/
#pragma once

#include "hjproblem.h"

/* As much as sums in another order may change, through the sweeps of a few levels */
#define ROUNDING 1e-10

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
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, max_it));
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

static inline PETSC_UNUSED PetscErrorCode GetSizeAndDevice(PetscMPIInt *size, PetscBool *cuda)
{
  char type[16] = "";

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, size));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-dm_vec_type", type, sizeof(type), NULL));
  PetscCall(PetscStrcmp(type, "cuda", cuda));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Random matrices of several unknowns a point on random grids. Every entry depends on global coordinates alone.
*/
#pragma once

#include "hjproblem.h"

typedef enum {
  SYSTEM_ROW,        /* the same blocks at all points */
  SYSTEM_DICTIONARY, /* three materials */
  SYSTEM_ARRAYS,     /* every entry another number */
  SYSTEM_LAYERS      /* the same blocks but in the outermost layer, where each side and edge has its own */
} SystemKind;

typedef enum {
  SYSTEM_FULL,  /* all components are coupled, at the point and to its neighbours */
  SYSTEM_POINT, /* ... at the point alone, as reactions are */
  SYSTEM_ALONE, /* none is coupled to another */
  SYSTEM_HALF   /* the first component is alone, the others are coupled to all */
} SystemCoupling;

typedef struct {
  PetscInt       dim, n[3], dof;
  DMBoundaryType boundary[3];
  PetscBool      box;
  SystemKind     kind;
  SystemCoupling coupling;
} System;

/* With -backend cuda vectors are a GPU's, and so are matrices of types that can be */
static inline PETSC_UNUSED PetscErrorCode SystemDM(const System *s, PetscInt dof, const char *mattype, DM *da)
{
  PetscBool gpu;

  PetscFunctionBegin;
  PetscCall(ProblemOnGPU(&gpu));
  PetscCall(DMDACreate(PETSC_COMM_WORLD, da));
  PetscCall(DMSetDimension(*da, s->dim));
  PetscCall(DMDASetSizes(*da, s->n[0], s->n[1], s->n[2]));
  PetscCall(DMDASetBoundaryType(*da, s->boundary[0], s->boundary[1], s->boundary[2]));
  PetscCall(DMDASetDof(*da, dof));
  PetscCall(DMDASetStencilWidth(*da, 1));
  PetscCall(DMDASetStencilType(*da, s->box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR));
  PetscCall(DMSetMatType(*da, mattype));
  if (gpu) PetscCall(DMSetVecType(*da, VECCUDA));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In [-1, 1), the same for the same numbers on any rank */
static inline PETSC_UNUSED PetscReal SystemRandom(PetscInt a, PetscInt b, PetscInt c, PetscInt d)
{
  const PetscReal x = 43758.5453 * PetscSinReal(12.9898 * a + 78.233 * b + 37.719 * c + 4.581 * d + 1.0);

  return 2 * (x - PetscFloorReal(x)) - 1;
}

/* What row component c of a point has of component d at place o of 27; symmetric where asked for: of the same entry from either end */
static inline PETSC_UNUSED PetscScalar SystemEntry(const System *s, const PetscInt at[3], PetscInt o, PetscInt c, PetscInt d)
{
  const PetscInt  which    = (o * 8 + c) * 8 + d;
  const PetscReal dominant = o == 13 && c == d ? (s->box ? 20.0 : 9.0) * s->dof : 0.0;

  if (c != d && (s->coupling == SYSTEM_ALONE || (s->coupling == SYSTEM_POINT && o != 13) || (s->coupling == SYSTEM_HALF && c == 0)))
    return 0.0;
  if (s->kind == SYSTEM_LAYERS) {
    PetscInt side = 0;

    for (PetscInt d = 0; d < s->dim; d++) side = 3 * side + (at[d] == 0) + 2 * (at[d] == s->n[d] - 1);
    return dominant + SystemRandom(side, 0, 0, which);
  }
  if (s->kind == SYSTEM_ROW) return dominant + SystemRandom(0, 0, 0, which);
  if (s->kind == SYSTEM_DICTIONARY) return dominant + SystemRandom((at[0] / 3 + at[1] / 2 + at[2]) % 3, 0, 0, which);
  return dominant + SystemRandom(at[0], at[1], at[2], which);
}

/* All components, or (component >= 0) one of them as a matrix of one unknown a point */
static inline PETSC_UNUSED PetscErrorCode SystemFill(const System *s, DM da, PetscInt component, Mat A)
{
  PetscInt lo[3], w[3], at[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &w[0], &w[1], &w[2]));
  for (at[2] = lo[2]; at[2] < lo[2] + w[2]; at[2]++) {
    for (at[1] = lo[1]; at[1] < lo[1] + w[1]; at[1]++) {
      for (at[0] = lo[0]; at[0] < lo[0] + w[0]; at[0]++) {
        for (PetscInt o = 0; o < 27; o++) {
          const PetscInt off[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};
          PetscBool      there  = (PetscBool)(s->box || PetscAbs(off[0]) + PetscAbs(off[1]) + PetscAbs(off[2]) < 2);

          for (PetscInt d = 0; d < 3; d++) {
            const PetscInt q = at[d] + off[d];

            if (d >= s->dim && off[d]) there = PETSC_FALSE;
            if (s->boundary[d] != DM_BOUNDARY_PERIODIC && s->boundary[d] != DM_BOUNDARY_MIRROR && (q < 0 || q >= s->n[d]))
              there = PETSC_FALSE;
          }
          for (PetscInt c = 0; c < s->dof && there; c++) {
            for (PetscInt d = 0; d < s->dof; d++) {
              const PetscScalar v   = SystemEntry(s, at, o, c, d);
              MatStencil        row = {.i = at[0], .j = at[1], .k = at[2], .c = c};
              MatStencil        col = {.i = at[0] + off[0], .j = at[1] + off[1], .k = at[2] + off[2], .c = d};

              if (v == 0.0 || (component >= 0 && (c != component || d != component))) continue;
              if (component >= 0) row.c = col.c = 0;
              PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col, &v, ADD_VALUES));
            }
          }
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode SystemCreate(const System *s, const char *mattype, DM *da, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(SystemDM(s, s->dof, mattype, da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(SystemFill(s, *da, -1, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on all ranks; number which covers dimensions, kinds, shapes and couplings */
static inline PETSC_UNUSED PetscErrorCode SystemRandomCase(PetscInt which, System *s)
{
  const DMBoundaryType all[] = {DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_GHOSTED, DM_BOUNDARY_MIRROR};
  PetscMPIInt          size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  s->dim      = 1 + which % 3;
  s->kind     = (SystemKind)(which / 3 % 3);
  s->coupling = (SystemCoupling)(which / 9 % 4);
  s->box      = (PetscBool)(s->dim > 1 && which / 5 % 2);
  s->dof      = 2 + which % 4 + (which % 11 == 7 ? 3 : 0);
  for (PetscInt d = 0; d < 3; d++) {
    const PetscReal r = 0.5 + 0.5 * SystemRandom(which, d, 1, 7);

    s->n[d]        = d < s->dim ? size + 2 + (PetscInt)(r * (s->dim == 1 ? 60 : s->dim == 2 ? 14 : 6)) : 1;
    s->boundary[d] = d < s->dim ? all[(which + 3 * d + (PetscInt)(8 * r)) % (s->box ? 3 : 4)] : DM_BOUNDARY_NONE;
  }
  if (s->kind == SYSTEM_DICTIONARY) s->n[0] += 9;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode SystemName(const System *s, char name[], size_t len)
{
  const char *const        boundary[] = {"none", "ghosted", "mirror", "periodic", "twist"},
                    *const kind[]     = {"one row", "dictionary", "arrays", "layers"},
                    *const coupling[] = {"full", "coupled at points", "decoupled", "first alone"};

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, len,
                          "%" PetscInt_FMT "D %s %" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT " %s,%s,%s, dof %" PetscInt_FMT
                          ", %s, %s",
                          s->dim, s->box ? "box" : "star", s->n[0], s->n[1], s->n[2], boundary[s->boundary[0]], boundary[s->boundary[1]],
                          boundary[s->boundary[2]], s->dof, kind[s->kind], coupling[s->coupling]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number for each unknown that depends on its natural index alone */
static inline PETSC_UNUSED PetscErrorCode SystemVector(DM da, PetscInt dof, PetscInt component, PetscInt salt, Vec v)
{
  PetscInt     lo[3], w[3], N[3];
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, NULL, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &w[0], &w[1], &w[2]));
  PetscCall(VecGetArrayWrite(v, &a));
  for (PetscInt k = lo[2]; k < lo[2] + w[2]; k++) {
    for (PetscInt j = lo[1]; j < lo[1] + w[1]; j++) {
      for (PetscInt i = lo[0]; i < lo[0] + w[0]; i++) {
        for (PetscInt c = 0; c < dof; c++)
          if (component < 0 || c == component) *a++ = SystemRandom(i, j, k, 100 * salt + c);
      }
    }
  }
  a = NULL;
  PetscCall(VecRestoreArrayWrite(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

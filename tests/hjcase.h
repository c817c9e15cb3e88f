/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Random stencils on random grids, as a stencil matrix and as AIJ, for the tests of MATHJSTENCIL. Every entry depends on global
   coordinates alone.
*/
#pragma once

#include "hjproblem.h"
#include <unistd.h>

typedef enum {
  ROW,        /* the same coefficients at all points */
  DICTIONARY, /* three materials */
  ARRAYS      /* every coefficient another number */
} Kind;

typedef struct {
  PetscInt       dim, n[3];
  DMBoundaryType boundary[3];
  PetscBool      box;
  Kind           kind;
} Case;

static inline PETSC_UNUSED const char *const *KindNames(void)
{
  static const char *const names[] = {"one row", "dictionary", "arrays"};
  return names;
}

static inline PETSC_UNUSED PetscErrorCode CaseSetVecType(DM da)
{
  PetscBool gpu = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(ProblemOnGPU(&gpu));
  if (gpu) PetscCall(DMSetVecType(da, VECCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Not yet set up */
static inline PETSC_UNUSED PetscErrorCode CaseNewDM(const Case *c, DM *da)
{
  PetscFunctionBegin;
  PetscCall(DMDACreate(PETSC_COMM_WORLD, da));
  PetscCall(DMSetDimension(*da, c->dim));
  PetscCall(DMDASetSizes(*da, c->n[0], c->n[1], c->n[2]));
  PetscCall(DMDASetBoundaryType(*da, c->boundary[0], c->boundary[1], c->boundary[2]));
  PetscCall(DMDASetDof(*da, 1));
  PetscCall(DMDASetStencilWidth(*da, 1));
  PetscCall(DMDASetStencilType(*da, c->box ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode CaseDM(const Case *c, DM *da)
{
  PetscFunctionBegin;
  PetscCall(CaseNewDM(c, da));
  PetscCall(CaseSetVecType(*da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In [-1, 1), the same for the same numbers on any rank */
static inline PETSC_UNUSED PetscReal Random(PetscInt a, PetscInt b, PetscInt c, PetscInt d, PetscInt salt)
{
  const PetscReal x = 43758.5453 * PetscSinReal(12.9898 * a + 78.233 * b + 37.719 * c + 4.581 * d + 0.731 * salt + 1.0);

  return 2 * (x - PetscFloorReal(x)) - 1;
}

static inline PETSC_UNUSED PetscScalar Entry(const Case *c, const PetscInt at[3], PetscInt o, PetscInt salt)
{
  const PetscReal dominant = o == 13 ? 30.0 : 0.0;

  if (c->kind == ROW) return dominant + Random(0, 0, 0, o, salt);
  if (c->kind == DICTIONARY) return dominant + Random((at[0] / 3 + at[1] / 2 + at[2]) % 3, 0, 0, o, salt);
  return dominant + Random(at[0], at[1], at[2], o, salt);
}

/* Columns and values of a point's row; o counts the 27 places, x fastest. Where the domain ends there is no entry, unless the boundary
   leads inside */
static inline PETSC_UNUSED PetscInt CaseRow(const void *ctx, const PetscInt at[3], PetscInt salt, MatStencil col[27], PetscScalar v[27])
{
  const Case *c = (const Case *)ctx;
  PetscInt    n = 0;

  for (PetscInt o = 0; o < 27; o++) {
    const PetscInt off[3] = {o % 3 - 1, o / 3 % 3 - 1, o / 9 - 1};
    PetscBool      there  = (PetscBool)(c->box || PetscAbs(off[0]) + PetscAbs(off[1]) + PetscAbs(off[2]) < 2);

    for (PetscInt d = 0; d < 3; d++) {
      const PetscInt q = at[d] + off[d];

      if (d >= c->dim && off[d]) there = PETSC_FALSE;
      if ((c->boundary[d] == DM_BOUNDARY_NONE || c->boundary[d] == DM_BOUNDARY_GHOSTED) && (q < 0 || q >= c->n[d])) there = PETSC_FALSE;
    }
    if (!there) continue;
    col[n] = (MatStencil){.i = at[0] + off[0], .j = at[1] + off[1], .k = at[2] + off[2]};
    v[n++] = Entry(c, at, o, salt);
  }
  return n;
}

static inline PETSC_UNUSED PetscErrorCode CaseFill(const Case *c, DM da, PetscInt salt, Mat A)
{
  PetscFunctionBegin;
  PetscCall(FillRows(da, CaseRow, c, salt, ADD_VALUES, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode CaseCreate(const Case *c, DM *da, Mat *A, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(CaseDM(c, da));
  PetscCall(MatCreateHJStencil(*da, A));
  PetscCall(CaseFill(c, *da, 0, *A));
  PetscCall(DMSetMatType(*da, MATAIJ));
  PetscCall(DMCreateMatrix(*da, B));
  PetscCall(CaseFill(c, *da, 0, *B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An operation that a stencil matrix has AIJ do: afterwards it has a copy as AIJ */
static inline PETSC_UNUSED PetscErrorCode CaseMakeCopy(Mat A)
{
  Vec v;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &v));
  PetscCall(MatGetRowMaxAbs(A, v, NULL));
  PetscCall(VecDestroy(&v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a matrix is the AIJ matrix, to rounding */
static inline PETSC_UNUSED PetscErrorCode MatsAgree(Mat A, Mat B, PetscBool *agree)
{
  Mat       D;
  PetscReal norm, diff;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &D));
  PetscCall(MatAXPY(D, -1.0, B, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(D, NORM_INFINITY, &diff));
  PetscCall(MatNorm(B, NORM_INFINITY, &norm));
  *agree = (PetscBool)(diff <= 64 * PETSC_MACHINE_EPSILON * PetscMax(norm, 1.0));
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Boundaries that a DMDA can have in a direction of so many points */
static inline PETSC_UNUSED DMBoundaryType RandomBoundary(PetscRandom random, PetscBool box, PetscInt *n)
{
  const DMBoundaryType all[] = {DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DM_BOUNDARY_GHOSTED, DM_BOUNDARY_MIRROR};
  PetscReal            r;
  DMBoundaryType       b;

  PetscCallAbort(PETSC_COMM_SELF, PetscRandomGetValueReal(random, &r));
  b = all[(int)(r * (box ? 2.999 : 3.999))];
  if (b == DM_BOUNDARY_MIRROR && *n < 3) *n = 3;
  return b;
}

/* The same on all ranks */
static inline PETSC_UNUSED PetscErrorCode RandomCase(PetscRandom random, PetscInt which, Case *c)
{
  PetscMPIInt size;
  PetscReal   r;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  c->dim  = 1 + which % 3;
  c->kind = (Kind)(which / 3 % 3);
  c->box  = (PetscBool)(c->dim > 1 && which / 9 % 2);
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(PetscRandomGetValueReal(random, &r));
    c->n[d]        = d < c->dim ? size + (PetscInt)(r * (c->dim == 1 ? 60 : 9)) : 1;
    c->boundary[d] = d < c->dim ? RandomBoundary(random, c->box, &c->n[d]) : DM_BOUNDARY_NONE;
  }
  if (c->kind == DICTIONARY) c->n[0] += 9;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PETSC_UNUSED PetscErrorCode CaseName(const Case *c, char name[], size_t len)
{
  const char *const boundary[] = {"none", "ghosted", "mirror", "periodic", "twist"};

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, len, "%" PetscInt_FMT "D %s %" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT " %s,%s,%s, %s", c->dim,
                          c->box ? "box" : "star", c->n[0], c->n[1], c->n[2], boundary[c->boundary[0]], boundary[c->boundary[1]],
                          boundary[c->boundary[2]], KindNames()[c->kind]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the ASCII info of the matrix holds the words */
static inline PETSC_UNUSED PetscErrorCode MatInfoHolds(Mat A, const char *words, PetscBool *holds)
{
  PetscFunctionBegin;
  PetscCall(ObjectViewHolds((PetscObject)A, PETSC_VIEWER_ASCII_INFO, words, holds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

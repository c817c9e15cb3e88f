/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Diffusion with a coefficient that varies, jumps, is random, or differs between directions, and the stencil matrix of it, filled through
   its arrays in a plain loop. Unknowns inside, zero on the boundary around them, as in problem.h. Times nothing.
*/
#pragma once

#include "fillings.h"

typedef enum {
  FIELD_SAME,   /* constant: one row for all points */
  FIELD_SMOOTH, /* a polynomial: another value at each point */
  FIELD_JUMP,   /* one region */
  FIELD_BLOCKS, /* blocks of 5 to 12 points in each direction, each with its random value */
  FIELD_POINTS, /* a random value at each point */
  FIELD_TURNING /* the strong direction differs between regions, smoothly; 2D */
} FieldKind;

typedef struct {
  FieldKind kind;
  PetscInt  dim, n;
  PetscReal ratio;       /* of the largest coefficient to the smallest: values 10^u with evenly distributed u where they are random */
  PetscReal strength[3]; /* of FIELD_SAME: coupling in each direction; 0: 1 */
  PetscBool midpoint;    /* of FIELD_BLOCKS: couplings are the values at the faces' midpoints; else harmonic means of those at points */
  PetscInt *block;       /* of FIELD_BLOCKS: which block a half spacing belongs to, from wall to wall; the same in all directions */
} Field;

/* From 0 to 1, evenly distributed, always the same for the same place */
static inline PetscReal FieldRandom(PetscInt i, PetscInt j, PetscInt k)
{
  uint64_t h = (uint64_t)i * 0x9E3779B97F4A7C15u + (uint64_t)j * 0xC2B2AE3D27D4EB4Fu + (uint64_t)k * 0x165667B19E3779F9u + 1;

  for (int round = 0; round < 2; round++) {
    h ^= h >> 31;
    h *= 0xD6E8FEB86659FD93u;
    h ^= h >> 32;
  }
  return (PetscReal)(h >> 11) / 9007199254740992.0;
}

/* Places are counted in half spacings: wall 0, first point 2, its faces 1 and 3. d: direction of the coupling */
static inline PetscReal FieldValue(const Field *f, int d, const PetscInt half[3])
{
  const PetscReal s = 0.5 / (f->n + 1), x[3] = {s * half[0], s * half[1], f->dim > 2 ? s * half[2] : 0};
  PetscReal       turn;

  switch (f->kind) {
  case FIELD_SAME:
    return f->strength[d] > 0 ? f->strength[d] : 1;
  case FIELD_SMOOTH:
    return 1 + x[0] + x[1] * x[1] + x[0] * x[2];
  case FIELD_JUMP:
    return x[0] > 0.3 && x[0] < 0.7 && x[1] > 0.25 && x[1] < 0.6 && (f->dim == 2 || (x[2] > 0.2 && x[2] < 0.65)) ? f->ratio : 1;
  case FIELD_BLOCKS:
    return PetscPowReal(f->ratio, FieldRandom(f->block[half[0]], f->block[half[1]] + 1000, f->dim > 2 ? f->block[half[2]] + 2000 : 0));
  case FIELD_POINTS:
    return PetscPowReal(f->ratio, FieldRandom(half[0], half[1], half[2]));
  default:
    turn = 0.5 * PetscSinReal(5 * x[0] + 2) * PetscCosReal(4 * x[1] - 1);
    return PetscPowReal(f->ratio, d ? -turn : turn);
  }
}

/* Of the point at that place with its neighbour in direction d, on side -1 or 1 */
static inline PetscReal FieldCoupling(const Field *f, const PetscInt half[3], int d, int side)
{
  PetscInt  to[3] = {half[0], half[1], half[2]};
  PetscReal a, b;

  if (f->kind != FIELD_POINTS && (f->kind != FIELD_BLOCKS || f->midpoint)) {
    to[d] += side;
    return FieldValue(f, d, to);
  }
  to[d] += 2 * side;
  a = FieldValue(f, d, half);
  b = FieldValue(f, d, to);
  return 2 * a * b / (a + b);
}

static inline PetscErrorCode FieldSetUp(Field *f)
{
  PetscInt at = 0;

  PetscFunctionBegin;
  if (f->kind != FIELD_BLOCKS) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(2 * f->n + 3, &f->block));
  for (PetscInt b = 0; at < 2 * f->n + 3; b++) {
    const PetscInt end = at + 10 + (PetscInt)(15 * FieldRandom(b, 5, 7));

    for (; at < PetscMin(end, 2 * f->n + 3); at++) f->block[at] = b;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FieldReset(Field *f)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(f->block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row of an inner point for all */
static inline PetscErrorCode FieldFillRow(const Field *f, Mat A)
{
  const PetscInt half[3] = {2, 2, 2};
  MatStencil     col[7]  = {{0}};
  PetscScalar    v[7]    = {0};

  PetscFunctionBegin;
  for (int o = 1; o < 2 * f->dim + 1; o++) {
    PetscInt off[3];

    FillingOffset(o, off);
    col[o] = (MatStencil){.i = off[0], .j = off[1], .k = off[2], .c = 0};
    v[o]   = -FieldCoupling(f, half, (o - 1) / 2, o % 2 ? -1 : 1);
    v[0] -= v[o];
  }
  PetscCall(MatHJStencilSetRow(A, 2 * f->dim + 1, col, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FieldFill(const Field *f, DM da, Mat A)
{
  DMDALocalInfo info;
  PetscScalar  *first[7];
  void         *array[7];
  PetscInt      at[3];

  PetscFunctionBegin;
  if (f->kind == FIELD_SAME) {
    PetscCall(FieldFillRow(f, A));
    PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt o = 0; o < 2 * f->dim + 1; o++) PetscCall(FillingAccess(A, &info, o, &array[o], &first[o]));
  at[0] = info.xs, at[1] = info.ys, at[2] = info.zs;
  for (PetscCount point = 0, more = 1; more; point++) {
    const PetscInt half[3] = {2 * at[0] + 2, 2 * at[1] + 2, 2 * at[2] + 2}, N[3] = {info.mx, info.my, info.mz};
    PetscScalar    diagonal = 0;

    for (int o = 1; o < 2 * f->dim + 1; o++) {
      const int       d = (o - 1) / 2, side = o % 2 ? -1 : 1;
      const PetscReal c = FieldCoupling(f, half, d, side);

      diagonal += c;
      first[o][point] = at[d] + side < 0 || at[d] + side >= N[d] ? 0 : -c;
    }
    first[0][point] = diagonal;
    more            = FillingNextPoint(&info, at);
  }
  for (PetscInt o = 0; o < 2 * f->dim + 1; o++) PetscCall(FillingAccess(A, &info, o, &array[o], NULL));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same matrix of any type by MatSetValuesStencil(), as programs fill AIJ and hyprestruct; entries beyond the boundary are left out */
static inline PetscErrorCode FieldFillValues(const Field *f, DM da, Mat A)
{
  DMDALocalInfo info;
  PetscInt      at[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  at[0] = info.xs, at[1] = info.ys, at[2] = info.zs;
  do {
    const PetscInt   half[3] = {2 * at[0] + 2, 2 * at[1] + 2, 2 * at[2] + 2}, N[3] = {info.mx, info.my, info.mz};
    const MatStencil row    = {.i = at[0], .j = at[1], .k = at[2], .c = 0};
    MatStencil       col[7] = {row};
    PetscScalar      v[7]   = {0};
    PetscInt         n      = 1;

    for (int o = 1; o < 2 * f->dim + 1; o++) {
      const int       d = (o - 1) / 2, side = o % 2 ? -1 : 1;
      const PetscReal c = FieldCoupling(f, half, d, side);

      v[0] += c;
      if (at[d] + side < 0 || at[d] + side >= N[d]) continue;
      col[n] = row;
      if (d == 0) col[n].i += side;
      else if (d == 1) col[n].j += side;
      else col[n].k += side;
      v[n++] = -c;
    }
    PetscCall(MatSetValuesStencil(A, 1, &row, n, col, v, INSERT_VALUES));
  } while (FillingNextPoint(&info, at));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

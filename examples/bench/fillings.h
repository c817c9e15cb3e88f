/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The ways by which a program fills the matrix of a Problem with a star stencil, each as a user would write it, and the loop over rows
   that all of them need. Decides no problem (problem.h) and times nothing.
*/
#pragma once

#include "../problem.h"
#include "pchjacobi.h"

typedef enum {
  FILLING_VALUES, /* MatSetValuesStencil() */
  FILLING_COO,    /* MatSetPreallocationCOO(), MatSetValuesCOO(); on one rank */
  FILLING_ARRAYS, /* MatHJStencilGetArray() */
  FILLING_CSR,    /* MatSeqAIJSetPreallocationCSR(), the fastest for AIJ; on one rank */
  FILLING_ROW /* MatHJStencilSetRow(): the row of an inner point for all, so that walls lie one spacing beyond the grid on every level */
} Filling;

static const char *const filling_names[] = {"MatSetValuesStencil", "COO", "arrays", "CSR", "one row"};

/* A matrix in the COO format */
typedef struct {
  PetscCount n;
  PetscInt  *i, *j;
  Vec        v; /* lies where the grid's vectors do; may be longer */
} Entries;

static inline PetscInt FillingNextPoint(const DMDALocalInfo *info, PetscInt at[3])
{
  if (++at[0] < info->xs + info->xm) return 1;
  at[0] = info->xs;
  if (++at[1] < info->ys + info->ym) return 1;
  at[1] = info->ys;
  return ++at[2] < info->zs + info->zm;
}

/* The loop alone. The sum of all entries keeps a compiler from leaving it out */
static inline PetscErrorCode FillingLoop(const Problem *p, DM da, PetscScalar *sum)
{
  DMDALocalInfo info;
  MatStencil    col[PROBLEM_MAX_ROW];
  PetscScalar   v[PROBLEM_MAX_ROW];
  PetscInt      n, at[3];

  PetscFunctionBegin;
  *sum = 0;
  PetscCall(DMDAGetLocalInfo(da, &info));
  at[0] = info.xs, at[1] = info.ys, at[2] = info.zs;
  do {
    ProblemGetRow(p, (PetscInt[3]){info.mx, info.my, info.mz}, at, &n, col, v);
    for (PetscInt e = 0; e < n; e++) *sum += v[e] * col[e].i;
  } while (FillingNextPoint(&info, at));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode EntriesCreate(const Problem *p, DM da, Entries *c)
{
  DMDALocalInfo info;
  MatStencil    col[PROBLEM_MAX_ROW];
  PetscScalar   v[PROBLEM_MAX_ROW], *values;
  PetscInt      n, at[3], row = 0, most;
  PetscMPIInt   size;
  VecType       type;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)da), &size));
  PetscCheck(size == 1, PETSC_COMM_WORLD, PETSC_ERR_SUP, "Rows are numbered here as on one rank: start one rank");
  PetscCall(DMDAGetLocalInfo(da, &info));
  most = info.xm * info.ym * info.zm * (2 * p->dim + 1);
  PetscCall(PetscMalloc1(most, &c->i));
  PetscCall(PetscMalloc1(most, &c->j));
  PetscCall(DMGetVecType(da, &type));
  PetscCall(VecCreate(PetscObjectComm((PetscObject)da), &c->v));
  PetscCall(VecSetSizes(c->v, most, PETSC_DETERMINE));
  PetscCall(VecSetType(c->v, type));
  PetscCall(VecGetArrayWrite(c->v, &values));
  c->n  = 0;
  at[0] = info.xs, at[1] = info.ys, at[2] = info.zs;
  do {
    ProblemGetRow(p, (PetscInt[3]){info.mx, info.my, info.mz}, at, &n, col, v);
    for (PetscInt e = 0; e < n; e++) {
      c->i[c->n]     = row;
      c->j[c->n]     = col[e].i + info.mx * (col[e].j + info.my * col[e].k);
      values[c->n++] = v[e];
    }
    row++;
  } while (FillingNextPoint(&info, at));
  PetscCall(VecRestoreArrayWrite(c->v, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries' rows as they are, one after another */
static inline PetscErrorCode FillingFillCSR(const Entries *c, Mat A)
{
  const PetscScalar *values;
  PetscInt          *first, rows;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &rows, NULL));
  PetscCall(PetscCalloc1(rows + 1, &first));
  for (PetscCount e = 0; e < c->n; e++) first[c->i[e] + 1]++;
  for (PetscInt r = 0; r < rows; r++) first[r + 1] += first[r];
  PetscCall(VecGetArrayRead(c->v, &values));
  PetscCall(MatSeqAIJSetPreallocationCSR(A, first, c->j, values));
  PetscCall(VecRestoreArrayRead(c->v, &values));
  PetscCall(PetscFree(first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode EntriesDestroy(Entries *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(c->i));
  PetscCall(PetscFree(c->j));
  PetscCall(VecDestroy(&c->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values of the entries into a matrix that knows their places, from the device if they lie there */
static inline PetscErrorCode EntriesSetValues(const Entries *c, Mat A)
{
  const PetscScalar *values;

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(c->v, &values, NULL));
  PetscCall(MatSetValuesCOO(A, values, INSERT_VALUES));
  PetscCall(VecRestoreArrayReadAndMemType(c->v, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Offsets of a star: the centre, then two for each direction */
static inline void FillingOffset(PetscInt o, PetscInt off[3])
{
  off[0] = off[1] = off[2] = 0;
  if (o) off[(o - 1) / 2] = o % 2 ? -1 : 1;
}

/* Gets or restores the array of an offset; first: that of the first owned point */
static inline PetscErrorCode FillingAccess(Mat A, const DMDALocalInfo *info, PetscInt o, void **array, PetscScalar **first)
{
  PetscInt off[3];

  PetscFunctionBegin;
  FillingOffset(o, off);
  if (first) {
    PetscCall(MatHJStencilGetArray(A, off[0], off[1], off[2], array));
    *first = info->dim == 2 ? &((PetscScalar **)*array)[info->ys][info->xs] : &((PetscScalar ***)*array)[info->zs][info->ys][info->xs];
  } else PetscCall(MatHJStencilRestoreArray(A, off[0], off[1], off[2], array));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The loop with its stores: entries of each offset of the star to an array of its own */
static inline void FillingStore(const Problem *p, const DMDALocalInfo *info, PetscScalar *const first[])
{
  MatStencil  col[PROBLEM_MAX_ROW];
  PetscScalar v[PROBLEM_MAX_ROW];
  PetscInt    n, at[3] = {info->xs, info->ys, info->zs};

  for (PetscCount point = 0, more = 1; more; point++) {
    ProblemGetRow(p, (PetscInt[3]){info->mx, info->my, info->mz}, at, &n, col, v);
    for (PetscInt e = 0; e < n; e++) {
      const PetscInt x = col[e].i - at[0], y = col[e].j - at[1], z = col[e].k - at[2];

      first[x ? (x > 0) + 1 : y ? (y > 0) + 3 : z ? (z > 0) + 5 : 0][point] = v[e];
    }
    more = FillingNextPoint(info, at);
  }
}

/* Seconds that a program needs by itself to fill in a way, whatever is filled: the loop over its rows; for arrays also its stores, but
   not what the first touch of their memory takes; for COO also its lists, from their allocation on */
typedef struct {
  PetscErrorCode (*now)(void *, PetscLogDouble *);
  void     *ctx; /* of now() */
  PetscReal seconds;
} FillingOwn;

/* own: the loop with its stores is timed, after a first touch of all pages; may be NULL */
static inline PetscErrorCode FillingFillArrays(const Problem *p, DM da, Mat A, FillingOwn *own)
{
  DMDALocalInfo  info;
  PetscScalar   *first[7];
  void          *array[7];
  PetscLogDouble t0 = 0, t1 = 0;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt o = 0; o < 2 * p->dim + 1; o++) PetscCall(FillingAccess(A, &info, o, &array[o], &first[o]));
  for (PetscInt o = 0; o < 2 * p->dim + 1 && own; o++)
    for (PetscCount i = 0; i < (PetscCount)info.xm * info.ym * info.zm; i += 4096 / sizeof(PetscScalar)) first[o][i] = 0;
  if (own) PetscCall((*own->now)(own->ctx, &t0));
  FillingStore(p, &info, first);
  if (own) PetscCall((*own->now)(own->ctx, &t1));
  if (own) own->seconds += t1 - t0;
  for (PetscInt o = 0; o < 2 * p->dim + 1; o++) PetscCall(FillingAccess(A, &info, o, &array[o], NULL));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* But for arrays, which DoorFillArrays() times where they are filled */
static inline PetscErrorCode FillingTimeOwn(const Problem *p, Filling filling, DM da, FillingOwn *own)
{
  PetscScalar    sum = 0;
  PetscLogDouble t0 = 0, t1 = 0;
  Entries        c;

  PetscFunctionBegin;
  PetscCall((*own->now)(own->ctx, &t0));
  if (filling == FILLING_COO) {
    PetscCall(EntriesCreate(p, da, &c));
    PetscCall(EntriesDestroy(&c));
  } else if (filling == FILLING_VALUES) PetscCall(FillingLoop(p, da, &sum));
  PetscCall((*own->now)(own->ctx, &t1));
  PetscCheck(sum == sum, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Entries that are no numbers");
  own->seconds += t1 - t0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode FillingFillRow(const Problem *p, DM da, Mat A)
{
  DMDALocalInfo info;
  MatStencil    col[PROBLEM_MAX_ROW];
  PetscScalar   v[PROBLEM_MAX_ROW];
  PetscInt      n, z = p->dim == 3;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  ProblemGetRow(p, (PetscInt[3]){info.mx, info.my, info.mz}, (PetscInt[3]){1, 1, z}, &n, col, v);
  for (PetscInt e = 0; e < n; e++) {
    col[e].i -= 1;
    col[e].j -= 1;
    col[e].k -= z;
  }
  PetscCall(MatHJStencilSetRow(A, n, col, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* own: as DoorFillArrays()'s */
static inline PetscErrorCode FillingFill(const Problem *p, Filling filling, DM da, Mat A, FillingOwn *own)
{
  Entries c;

  PetscFunctionBegin;
  if (filling == FILLING_ARRAYS) PetscCall(FillingFillArrays(p, da, A, own));
  else if (filling == FILLING_ROW) PetscCall(FillingFillRow(p, da, A));
  else if (filling == FILLING_VALUES) PetscCall(ProblemFillMatrix(p, da, A));
  else {
    PetscCall(EntriesCreate(p, da, &c));
    if (filling == FILLING_CSR) PetscCall(FillingFillCSR(&c, A));
    else {
      PetscCall(MatSetPreallocationCOO(A, c.n, c.i, c.j));
      PetscCall(EntriesSetValues(&c, A));
    }
    PetscCall(EntriesDestroy(&c));
  }
  PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  PetscCall(MatSetOption(A, MAT_SPD_ETERNAL, PETSC_TRUE)); /* with new values too */
  PetscFunctionReturn(PETSC_SUCCESS);
}

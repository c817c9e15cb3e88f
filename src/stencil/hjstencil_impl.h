/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Inside the stencil room: rows of a matrix as stencil runs (hjrows.c), their dictionary (hjdictionary.c), their arrays (hjvalues.c); rows
   of points with several unknowns (hjsystem.c).
   The rows of a matrix in device memory are read by a reader (core/hjreader.h); what becomes of them is decided here for both.
*/
#pragma once

#include "hjstencil.h"
#include "core/hjcoefficients.h"
#include "core/hjreader.h"
#include <petscsf.h>

/* The larger of a bound and a row's; infinity where the row is no number */
static inline PetscReal HJLargerBound(PetscReal bound, PetscReal row)
{
  return row <= bound ? bound : row <= PETSC_MAX_REAL ? row : (PetscReal)HUGE_VAL;
}

/* Layers that box has besides its pad */
static inline PetscInt HJStencilLayer(const HJStencil *st, int d, int side)
{
  return st->storage == HJ_SYMMETRIC && (side ? st->shape == HJ_BOX && d < st->dim - 1 : d < st->dim);
}

typedef struct {
  const HJGrid         *grid;
  MPI_Comm              comm;
  Mat                   A, B;   /* diagonal and off-diagonal block; B is NULL on one rank */
  const HJRowReader    *reader; /* NULL: the fields from Ai to Ba are used, and HJRowsForEach() */
  void                 *readctx;
  const HJCoefficients *c;       /* of a matrix that is stored as its stencil; NULL: AIJ */
  const HJCoefficients *shared;  /* with a reader, arrays that the stencil may use as they are; NULL: none */
  struct _n_HJMeasure  *measure; /* filled with the couplings when arrays are; NULL: not wanted, or not found */
  PetscInt              row_start, row_end;
  PetscInt              width[3];
  PetscInt              nranks[3], at[3][3], start[3][3],
    other[3][3];                /* place among the ranks, first point, width of the previous rank, this and the next */
  PetscInt           offset[3]; /* see HJCut */
  const PetscInt    *Ai, *Aj, *Bi, *Bj, *garray;
  const PetscScalar *Aa, *Ba;
  PetscInt           nslots;              /* of a box: rows are read by its slots, whatever becomes of them */
  signed char        order[HJ_MAX_SLOTS]; /* centre, star, rest: who gets a column that several slots share */
  PetscInt           line[3][3][3]; /* [rank along x][z][y]: column of each line around the one at hand, where the rank's points begin */
  PetscInt           column[HJ_MAX_SLOTS]; /* of each slot for the point at hand, -1 outside the domain */
  PetscInt           max_nnz;
  signed char       *slot;                  /* [max_nnz] */
  PetscScalar       *val;                   /* [max_nnz], where a row has to be put together from both blocks */
  PetscInt           wide_row, wide_column; /* first nonzero that leads too far; -1: none */
  PetscReal          slack;                 /* of symmetry, see HJIsSame() */
  PetscInt           dof;                   /* unknowns of a point; row_start and row_end are rows, column[] are points */
  Mat                P;                     /* where these are several: the matrix, which is read row by row */
} HJRows;

/* What a reader found; PETSC_INT_MAX: nothing */
static inline void HJRowsFoundWide(HJRows *rows, PetscInt row, PetscInt column)
{
  if (row == PETSC_INT_MAX) return;
  rows->wide_row    = row;
  rows->wide_column = column;
}

/* Rows of points (i .. i + n - 1, j, k) whose entries lead to the same neighbours */
typedef struct {
  PetscInt           i, j, k, n, nnz;
  const signed char *slot;    /* [nnz] -1: an explicit zero that leads too far */
  const PetscScalar *val;     /* [n][nnz] */
  PetscCount         alike;   /* rows in all that this run stands for; n, but for HJRowsForEachKind() */
  unsigned int       outside; /* bit per slot: leads outside the domain */
} HJRowRun;

typedef PetscErrorCode (*HJVisit)(const HJRowRun *, void *);

/* Rows of a run that are copied at a time: their entries stay in the first-level cache */
#define HJ_CHUNK 128

/* Entry t of n rows of a run; 0 where t < 0 */
static inline void HJRunCopy(const HJRowRun *run, PetscInt first, PetscInt n, PetscInt t, PetscScalar *a)
{
  const PetscScalar *val = run->val + (size_t)first * run->nnz + t;

  if (t < 0) memset(a, 0, n * sizeof(*a));
  else {
    for (PetscInt m = 0; m < n; m++) a[m] = val[(size_t)m * run->nnz];
  }
}

/* The entry of each slot in the rows of a run, -1: there is none. false: one of those whose bit is set in missing is not zero everywhere */
static inline PetscBool HJRunPlaces(const HJRowRun *run, unsigned int missing, PetscInt place[HJ_MAX_SLOTS])
{
  PetscBool fits = PETSC_TRUE;

  for (PetscInt s = 0; s < HJ_MAX_SLOTS; s++) place[s] = -1;
  for (PetscInt t = 0; t < run->nnz; t++) {
    if (run->slot[t] < 0) continue;
    place[(int)run->slot[t]] = t;
    if (!(missing >> run->slot[t] & 1)) continue;
    for (PetscInt m = 0; m < run->n && fits; m++) fits = (PetscBool)(run->val[(size_t)m * run->nnz + t] == 0.0);
  }
  return fits;
}

PETSC_INTERN PetscErrorCode HJRowsOpen(Mat, const HJGrid *, DM, const HJRowReader *, HJRows *, char[], size_t);
/* Calls visit for all rows in order; stops at the first that is too wide */
PETSC_INTERN PetscErrorCode HJRowsForEach(HJRows *, HJVisit, void *);
/* Whether the matrix has one row for all points; then calls visit once for points that have the same neighbours outside the domain */
PETSC_INTERN PetscBool      HJRowsAreOne(const HJRows *);
PETSC_INTERN PetscErrorCode HJRowsForEachKind(HJRows *, HJVisit, void *);
/* Collective. The smallest global row >= 0 that any rank names, with its point, as text; empty if there is none */
PETSC_INTERN PetscErrorCode HJRowsBlame(const HJRows *, PetscInt row, PetscInt column, const char complaint[], char reason[], size_t);
/* The same of the rows that lead too far */
PETSC_INTERN PetscErrorCode HJRowsBlameWide(const HJRows *, char reason[], size_t);
/* Whether a sample of the rows is symmetric within this rank; a reader takes no sample: it is fast enough to find out by trying */
PETSC_INTERN PetscErrorCode HJRowsSampleSymmetric(const HJRows *, PetscBool *);
PETSC_INTERN PetscErrorCode HJRowsClose(HJRows *);

/* The rows of a point with several unknowns */
typedef struct {
  PetscInt           i, j, k, n; /* n: points from this one on along the line that have the same rows, of a stencil matrix's arrays */
  unsigned int       outside;    /* bit per slot of a box: leads outside the domain */
  const PetscScalar *a;          /* [slots of a box][dof][dof] */
} HJBlockRow;

typedef PetscErrorCode (*HJVisitBlock)(const HJBlockRow *, void *);

/* The same of matrices with several unknowns a point, which there is no need to close. Coefficients of a stencil matrix are those in the
   memory that is asked for */
PETSC_INTERN PetscErrorCode HJRowsOpenBlocks(Mat, const HJGrid *, DM, PetscMemType, HJRows *, char[], size_t);
/* Whether it has one row for all points, some of which has all its neighbours in the domain: then one of those with the same neighbours
   outside is visited, the first */
PETSC_INTERN PetscBool      HJRowsAreOneBlock(const HJRows *);
PETSC_INTERN PetscErrorCode HJRowsForEachBlock(HJRows *, HJVisitBlock, void *);
/* hjsystem.c: HJStencilCreate() where points have several unknowns */
PETSC_INTERN PetscErrorCode HJSystemCreate(Mat, DM, const HJGrid *, PetscInt pad, const HJRowReader *, HJStencil **, char[], size_t);
PETSC_INTERN PetscErrorCode HJSystemFree(HJStencil *);

typedef struct {
  HJRows         *rows; /* that are read */
  PetscInt        width[3], nslots;
  unsigned int    star;          /* bit per slot of a box that a star has too */
  PetscBool       rows_fit, box; /* not too many rows; some nonzero lies outside the star. Both are the same on all ranks after the scan */
  PetscInt        n;
  HJDistinctRow  *row; /* [n] by the slots of a box */
  unsigned short *id;  /* [owned] row of each point; a reader keeps its own, and where the rows are one there is none */
} HJDictionary;

/* Collective. Reads all rows, up to the first that is too wide */
PETSC_INTERN PetscErrorCode HJDictionaryCreate(HJRows *, HJDictionary *);
/* Collective. Merges all ranks' rows; *fits is false where more than HJ_MAX_ROWS remain. Else fills what st holds of HJ_DICTIONARY */
PETSC_INTERN PetscErrorCode HJDictionaryFill(HJRows *, HJDictionary *, HJStencil *, PetscBool *fits);
PETSC_INTERN PetscErrorCode HJDictionaryDestroy(HJDictionary *);

/* Collective. The arrays of HJ_VARIABLE or HJ_SYMMETRIC; but for those in place */
PETSC_INTERN PetscErrorCode HJValuesAlloc(const HJGrid *, HJStencil *);
/* Whether a stencil can have its arrays in place */
PETSC_INTERN PetscBool HJValuesFitInPlace(const HJRows *, const HJStencil *);
/* Memory where the stencil's arrays lie; HJArrayFree() takes the array's address and clears it */
PETSC_INTERN PetscErrorCode HJArrayAlloc(const HJStencil *, size_t bytes, void *);
PETSC_INTERN PetscErrorCode HJArrayFree(const HJStencil *, void *);
/* Collective. *fits is false where the rows are not as st's storage and shape want them; *zero_row is the first row of this rank
   without a diagonal, or -1 */
PETSC_INTERN PetscErrorCode HJValuesFill(HJRows *, HJStencil *, PetscBool *fits, PetscInt *zero_row);
PETSC_INTERN PetscErrorCode HJValuesFree(HJStencil *);

/* Collective. Owned points -> ghost points, both in arrays over st->box; NULL where there are none */
PETSC_INTERN PetscErrorCode HJPadCreate(const HJRows *, const HJStencil *, PetscSF *);
/* Collective. Ghost points of n arrays over st->box, each of which may be NULL, from the ranks whose points they are */
PETSC_INTERN PetscErrorCode HJPadFillGhosts(const HJRows *, const HJStencil *, MPI_Datatype, PetscInt n, void *const arrays[]);

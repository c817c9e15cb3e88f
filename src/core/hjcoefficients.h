/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The coefficients of a matrix on a grid as they are, neither scaled nor padded: what a stencil matrix stores and products read. Decides
   nothing.

   A matrix is there in two forms. HJCoefficients are what it is; rows of AIJ become that (stencil/hjstencil.h). HJEntries are the same by
   value, as kernels of set-up take them, and HJFine (hjinterpolation.h) has the rows of ghosts besides. HJStencil (hjcore.h) is what sweeps
   read: scaled by the inverse diagonal, with the halo that a pass needs; HJDStencil (cuda/kernels/hjkernel.h) is where that lies on a GPU,
   as its kernels take it. Slots are numbered alike in all of them (hjslots.h), and distinct rows are found in one way (hjdistinct.h).
*/
#pragma once

#include "hjcore.h"

typedef enum {
  HJ_COEFFICIENTS_ROW,        /* one row for the points of all ranks: no array at all */
  HJ_COEFFICIENTS_DICTIONARY, /* at most HJ_MAX_ROWS distinct rows on this rank, one byte a point */
  HJ_COEFFICIENTS_ARRAYS      /* one array per slot */
} HJCoefficientStorage;

/* Where a dictionary has others than the row of the point in the middle */
typedef struct {
  PetscInt  layers, row; /* so many outermost layers hold all points with another row than this one; 0: not known */
  PetscInt  wall; /* -1, or: all points of the outermost layer at the ends below have this row, a diagonal alone; all others the one of */
  PetscBool at[3][2]; /* the middle, or, dropped, what is left of it without the entries that lead to these points */
  PetscBool dropped;
} HJFrame;

/* Rows that were found in arrays where these have few: products read them in place of the arrays */
typedef struct {
  unsigned char *which;     /* [npoints] row of each point; NULL: there are not few */
  PetscScalar   *rows;      /* [n][nslots], on the device */
  PetscScalar   *main;      /* [nslots], on the host: the row of the point in the middle, */
  PetscInt       n, layers; /* which all but so many outermost layers have, 1 at least */
  PetscBool      sought;    /* they were looked for */
} HJFewRows;

/*
   Slots are those of hjslots.h. What leads outside the domain counts as 0: arrays hold 0 there, a
   row may hold what it has at other points. Arrays run over the owned points, x fastest.

   half: A^T = A, and no point has neighbours that are not owned. Only the centre's array is stored and those of slots that lead to later
   points, with zeros around them: the others are these, begun so much earlier that the coefficient of the opposite offset at the neighbour
   is read. Where that is no neighbour it is one of the zeros, or the end of another line, which leads outside the domain
*/
typedef struct {
  PetscInt dim, nslots;
  HJShape  shape; /* 1D: HJ_STAR */
  /*
     Several unknowns a point: slots are those entries of (offset, row, column) that are stored, in this order, and vectors have dof
     numbers a point. These lists are on the host
  */
  PetscInt             dof;
  const HJEntry       *entry; /* [nslots]; NULL: one unknown a point */
  const PetscInt      *place; /* [offsets of the shape][dof][dof] slot of an entry; -1: it is 0 everywhere */
  HJCoefficientStorage storage;
  PetscCount           npoints; /* owned ones */
  PetscMemType         mtype;   /* where index and value lie; rows are always on the host */
  PetscInt             nrows;
  HJFrame              frame;       /* of a dictionary on a device */
  PetscScalar         *rows;        /* [nrows][nslots] */
  PetscScalar         *device_rows; /* the same in device memory, of a dictionary there or several unknowns a point; else NULL */
  unsigned char       *index;       /* [npoints] row of each point */
  PetscScalar         *value;       /* [nslots][npoints], or, of half, [begin[nslots]] */
  HJFewRows            few;         /* of arrays of several unknowns on a device */
  PetscBool            half;
  PetscCount           begin[HJ_MAX_SLOTS + 1]; /* of half: places of the arrays in value, and all that is there */
  /* Found: coefficients are those of the opposite offsets at the neighbours, where both points are owned. Kernels may read them there */
  PetscBool symmetric;
} HJCoefficients;

/* A matrix whose coefficients can be read in place composes these functions: where it lives; coefficients in the memory that is asked for,
   copied there if they must be, valid until the matrix changes; and that who read them found them symmetric */
#define HJ_GET_MEMTYPE      "MatHJStencilGetMemType_C"
#define HJ_GET_COEFFICIENTS "MatHJStencilGetCoefficients_C"
#define HJ_FOUND_SYMMETRIC  "MatHJStencilFoundSymmetric_C"
typedef PetscErrorCode (*HJGetMemType)(Mat, PetscMemType *);
typedef PetscErrorCode (*HJGetCoefficients)(Mat, PetscMemType wanted, const HJCoefficients **);
typedef PetscErrorCode (*HJFoundSymmetric)(Mat);

static inline void HJSlotOffset(const HJCoefficients *c, PetscInt slot, PetscInt off[3])
{
  HJShapeOffset(c->dim, c->shape, c->entry ? c->entry[slot].slot : slot, off);
}

/* Numbers that vectors have for a point */
static inline PetscInt HJCoefficientsDof(const HJCoefficients *c)
{
  return c->entry ? c->dof : 1;
}

static inline PetscInt HJSlotRow(const HJCoefficients *c, PetscInt slot)
{
  return c->entry ? c->entry[slot].row : 0;
}

static inline PetscInt HJSlotColumn(const HJCoefficients *c, PetscInt slot)
{
  return c->entry ? c->entry[slot].column : 0;
}

/* Number of a slot's entry among all that there can be */
static inline PetscInt HJSlotEntry(const HJCoefficients *c, PetscInt slot)
{
  return c->entry ? (c->entry[slot].slot * c->dof + c->entry[slot].row) * c->dof + c->entry[slot].column : slot;
}

/* Offsets of the shape; of one unknown a point they are the slots */
static inline PetscInt HJCoefficientsOffsets(const HJCoefficients *c)
{
  return HJShapeSlots(c->dim, c->shape);
}

/* The slot of an entry of the blocks of an offset of the shape; -1: there is none */
static inline PetscInt HJSlotOfEntry(const HJCoefficients *c, PetscInt offset, PetscInt row, PetscInt column)
{
  return !c->entry || offset < 0 ? offset : c->place[(offset * c->dof + row) * c->dof + column];
}

/* The offset of the shape that leads as far, which of one unknown a point is a slot; -1: there is none */
static inline PetscInt HJSlotAt(const HJCoefficients *c, const PetscInt off[3])
{
  if ((c->dim < 2 && off[1]) || (c->dim < 3 && off[2])) return -1;
  return HJShapeSlot(c->dim, c->shape, off[0], off[1], off[2]);
}

/* Owned points whose neighbour in a slot is in the domain */
static inline HJBox HJCoefficientsInside(const HJCoefficients *c, PetscInt slot, const HJGrid *grid)
{
  HJBox    box = grid->owned;
  PetscInt off[3];

  HJSlotOffset(c, slot, off);
  for (int d = 0; d < grid->dim; d++) {
    box.lo[d] = PetscMax(box.lo[d], grid->domain.lo[d] - off[d]);
    box.hi[d] = PetscMin(box.hi[d], grid->domain.hi[d] - off[d]);
  }
  return box;
}

/* The slot of the opposite offset */
static inline PetscInt HJSlotOpposite(const HJCoefficients *c, PetscInt slot)
{
  return HJShapeOpposite(c->dim, c->shape, slot);
}

/* Of a matrix that is said to be symmetric: sums of hundreds of products, as those of Galerkin, in other orders */
#define HJ_SLACK (256 * PETSC_MACHINE_EPSILON)

/* Whether two entries opposite to each other are the same; slack: part of the diagonal that rounding may make of them, where the matrix is
   said to be symmetric, else 0 */
static inline HJ_HOST_DEVICE int HJIsSame(PetscScalar a, PetscScalar b, PetscScalar dinv, PetscReal slack)
{
  return a == b || (slack > 0 && PetscAbsScalar((a - b) * dinv) <= slack);
}

/* The same, of the diagonal itself: of one that is 0 rounding is none */
static inline HJ_HOST_DEVICE int HJIsSameBeside(PetscScalar a, PetscScalar b, PetscScalar diagonal, PetscReal slack)
{
  return a == b || PetscAbsScalar(a - b) <= slack * PetscAbsScalar(diagonal);
}

/* Whether a slot leads to a later point */
static inline PetscBool HJSlotIsUpper(const HJCoefficients *c, PetscInt slot)
{
  return HJShapeIsUpper(c->dim, c->shape, slot);
}

/* Arrays: where that of a slot begins in value, and how many numbers are there in all */
static inline PetscCount HJSlotBegin(const HJCoefficients *c, PetscInt slot)
{
  return c->half ? c->begin[slot] : slot * c->npoints;
}

static inline PetscCount HJCoefficientsSize(const HJCoefficients *c)
{
  return HJSlotBegin(c, c->nslots);
}

/* Of those that lead to later points number u, from 1 on, begins at first + u step; first is 0 but for a box of which all are stored */
static inline void HJSlotUpper(const HJCoefficients *c, PetscCount *first, PetscCount *step)
{
  const PetscInt one = c->shape == HJ_STAR ? 2 : c->nslots / 2 + 1, two = one + (c->shape == HJ_STAR ? 2 : 1);

  *step  = c->dim > 1 ? HJSlotBegin(c, two) - HJSlotBegin(c, one) : HJSlotBegin(c, one);
  *first = HJSlotBegin(c, one) - *step;
}

/* Makes it a half, of so many owned points in each direction */
PETSC_INTERN void HJCoefficientsHalve(HJCoefficients *, const PetscInt n[3]);

/* The slot of an entry of another's */
static inline PetscInt HJSlotLike(const HJCoefficients *c, const HJCoefficients *other, PetscInt slot)
{
  PetscInt off[3];

  HJSlotOffset(other, slot, off);
  return HJSlotOfEntry(c, HJSlotAt(c, off), HJSlotRow(other, slot), HJSlotColumn(other, slot));
}

/* Coefficient of a slot at a point; what leads outside the domain is not looked for here */
static inline PetscScalar HJCoefficientAt(const HJCoefficients *c, PetscInt slot, PetscCount point)
{
  if (c->storage == HJ_COEFFICIENTS_ARRAYS) return c->value[HJSlotBegin(c, slot) + point];
  return c->rows[(c->storage == HJ_COEFFICIENTS_DICTIONARY ? c->index[point] : 0) * c->nslots + slot];
}

/*
   Coefficients of one unknown a point as kernels take them: by value, in the memory that value, rows and index lie in. Whoever knows the
   storage reads it, others use HJEntryAt()
*/
typedef struct {
  PetscInt             dim, nslots;
  HJCoefficientStorage storage;
  signed char          off[HJ_MAX_SLOTS][3]; /* where slots lead */
  PetscCount           begin[HJ_MAX_SLOTS];  /* arrays: of each slot in value */
  const PetscScalar   *value, *rows;         /* arrays; of a dictionary */
  const unsigned char *index;
  PetscScalar          row[HJ_MAX_SLOTS]; /* one row for all points */
} HJEntries;

PETSC_INTERN HJEntries HJEntriesOf(const HJCoefficients *);

/* The entry of an owned point in a slot, also where that leads outside the domain */
static inline HJ_HOST_DEVICE PetscScalar HJEntryAt(const HJEntries *e, PetscInt slot, PetscCount point)
{
  if (e->storage == HJ_COEFFICIENTS_ARRAYS) return e->value[e->begin[slot] + point];
  return e->storage == HJ_COEFFICIENTS_DICTIONARY ? e->rows[e->index[point] * e->nslots + slot] : e->row[slot];
}

/* Ghost points around the owned box, corners included: a box on the low and the high side of each direction, all in one buffer */
typedef struct {
  PetscInt   dim, width[3]; /* owned points */
  HJBox      box[3][2];
  PetscCount at[3][2], size;
} HJShell;

/* As thick as needed on the low and the high side of each direction that the grid has; or one point thick */
PETSC_INTERN void HJShellSetThick(PetscInt dim, const HJBox *owned, const PetscInt thick[3][2], HJShell *);
PETSC_INTERN void HJShellSet(const HJGrid *, HJShell *);

/* Place of a point outside the owned box */
static inline HJ_HOST_DEVICE PetscCount HJShellIndex(const HJShell *s, PetscInt i, PetscInt j, PetscInt k)
{
  const int    d = k < 0 || k >= s->width[2] ? 2 : j < 0 || j >= s->width[1] ? 1 : 0, side = (d == 2 ? k : d == 1 ? j : i) >= 0;
  const HJBox *b = &s->box[d][side];

  return s->at[d][side] + ((PetscCount)(k - b->lo[2]) * (b->hi[1] - b->lo[1]) + (j - b->lo[1])) * (b->hi[0] - b->lo[0]) + (i - b->lo[0]);
}

/* A line of owned points and its two ends, in a vector and the ghosts around it */
typedef struct {
  PetscCount at;        /* of its first point */
  PetscBool  ghost;     /* in the shell, else in the vector */
  PetscCount before[2]; /* places in the shell of the points before and after the line */
} HJShellLine;

static inline HJShellLine HJShellGetLine(const HJShell *s, PetscInt j, PetscInt k)
{
  HJShellLine l;

  l.ghost     = (PetscBool)(j < 0 || j >= s->width[1] || k < 0 || k >= s->width[2]);
  l.at        = l.ghost ? HJShellIndex(s, 0, j, k) : ((PetscCount)k * s->width[1] + j) * s->width[0];
  l.before[0] = HJShellIndex(s, -1, j, k);
  l.before[1] = HJShellIndex(s, s->width[0], j, k);
  return l;
}

/* A value at an owned point or a ghost */
static inline HJ_HOST_DEVICE PetscScalar HJShellAt(const HJShell *s, const PetscScalar *x, const PetscScalar *ghost, PetscInt i, PetscInt j,
                                                   PetscInt k)
{
  if (i >= 0 && i < s->width[0] && j >= 0 && j < s->width[1] && k >= 0 && k < s->width[2])
    return x[((PetscCount)k * s->width[1] + j) * s->width[0] + i];
  return ghost[HJShellIndex(s, i, j, k)];
}

typedef enum {
  HJ_PRODUCT_ALL,
  HJ_PRODUCT_INTERIOR, /* points whose neighbours are all owned; a backend may leave some of them, or all, to the boundary */
  HJ_PRODUCT_BOUNDARY, /* the others */
  HJ_PRODUCT_RETURNS   /* with A^T: only adds what ghosts returned */
} HJProductRegion;

/* What the ghosts of a vector, on this rank or another, hand back to the owned points that they are copies of */
typedef struct {
  PetscInt     n;     /* points that get something */
  PetscInt    *point; /* [n] */
  PetscInt    *first; /* [n + 1] point[i] gets value[first[i]] ... value[first[i + 1] - 1] */
  PetscScalar *value;
} HJProductReturns;

/*
   y = b + alpha A x (b NULL: without it), b may be y; or with A^T. All arrays lie in the backend's memory.

   A: ghost is that of x, 0 outside the domain.
   A^T: all parts but HJ_PRODUCT_RETURNS do all points, from owned points alone; every place of ghost is written, with what the point there
   shall get.
*/
struct _n_HJProduct {
  const HJCoefficients   *a;
  const HJShell          *shell;
  HJProductRegion         region;
  PetscReal               alpha;
  const PetscScalar      *x, *b;
  PetscScalar            *ghost, *y;
  PetscBool               exchanged; /* as HJSweep's */
  const HJProductReturns *returns;   /* HJ_PRODUCT_RETURNS */
};

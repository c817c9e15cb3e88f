/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Row kernels of the host backend: one subiteration on n points of a grid line. One table for each instruction set. And the product that
   bounds need. Decides nothing about the order of rows.
*/
#pragma once

#include "hjhosttype.h"
#include "core/hjcoefficients.h"
#include "core/hjmeasure.h"
#include "core/hjmultigrid.h"

/* One line of points; every pointer is at its first point */
typedef struct {
  PetscInt n;
  const PetscScalar
    *x[9]; /* lines of the level before, number (dz + 1) * 3 + (dy + 1), readable from -1 to n; unset where the shape needs none */
  const PetscScalar   *b;
  PetscScalar         *y;
  const PetscScalar   *c;     /* dictionary: [row][1 + nslots] factors of b, of the centre and of the neighbours, all times the weight */
  const unsigned char *index; /* dictionary, many rows */
  const PetscScalar   *v[HJ_MAX_NEIGHBORS], *dinv, *centre;
  PetscReal            w;
  PetscInt             point, other; /* variable_point: which; neighbour whose coefficient is not in v, but other_value */
  PetscScalar          other_value;
  PetscCount           xnext, bnext, ynext; /* several unknowns a point: from the line of a component to that of the next */
} HJHostRow;

typedef void (*HJHostRowFn)(const HJHostRow *);

/* A line of a Galerkin product in the direction of lines: coarse entries to the low side, here and to the high side */
typedef struct {
  PetscInt n, factor;
  const PetscScalar
              *a[3]; /* fine entries that lead to the low side, nowhere and to the high side, from the first coarse point's place on */
  PetscScalar *to[3];
} HJHostGalerkinLine;

/* Paths of n fine points to coarse ones by way of others, see HJCouplingOfPaths(); NULL: no point has such a coupling */
typedef struct {
  PetscInt           n;
  const PetscScalar *over, *aslant, *last, *back, *along;
  PetscScalar       *sum;
} HJHostPath;

/* Sums over the rows of a line of points, see HJInterpolationSums; couples: of the sizes of all entries but the diagonal */
typedef struct {
  PetscReal *near, *all, *centre, *repelled, *size, *sign, *couples;
} HJHostRowSums;

/* Points of a piece, whose sums are in the first-level cache */
#define HJ_MEASURE_PIECE 128

/* n points of a line, none of which is its first or last one: their rows' parts below, beside and above along each direction, see
   HJMeasureRow. Parts beside are found where the line lies at an end of a direction */
typedef struct {
  PetscInt     n;
  unsigned int ends;                                                                                     /* HJMeasureEnds() of all points */
  PetscReal    part[3][3][HJ_MEASURE_PIECE], others[HJ_MEASURE_PIECE], scale[HJ_MEASURE_PIECE], coupled; /* coupled: how many are */
} HJHostMeasurePiece;

/* Lines abreast: from one point of theirs to the next are step numbers. r becomes T^-1 r, x NULL or x + w T^-1 r */
typedef struct {
  PetscInt           count, abreast;
  PetscCount         step;
  PetscReal          w;
  const PetscScalar *c, *m;
  PetscScalar       *r, *x;
} HJHostBundle;

/* Indexed by shape, dimension - 1 */
typedef struct {
  HJHostRowFn constant[2][3]; /* all points use the row at c */
  HJHostRowFn indexed[2][3];
  HJHostRowFn variable[2][3];
  HJHostRowFn constant_zero; /* from x = 0: y = c[0] b */
  HJHostRowFn indexed_zero[2][3];
  HJHostRowFn indexed_alone[2][3]; /* the same from x, of rows that are a diagonal alone */
  HJHostRowFn variable_zero;
  HJHostRowFn variable_point[2][3]; /* as variable, but of one point of the line, which has another coefficient */
  void (*galerkin_add)(PetscInt n, PetscScalar w, const PetscScalar a[], PetscScalar sum[]); /* sum += w a */
  void (*galerkin_line)(const HJHostGalerkinLine *);
  /* to[0], to[1], ... += a product, own times every factor-th entry, times other[0], other[1], ...; product: n numbers to work with */
  void (*galerkin_columns)(PetscInt n, PetscInt factor, const PetscScalar own[], const PetscScalar entry[], PetscScalar product[],
                           PetscInt m, const PetscScalar *const other[], PetscScalar *const to[]);
  /* to = scale times the couplings that m entries are, every factor-th of them; what the paths add to sum */
  void (*path_couplings)(PetscInt n, PetscInt factor, PetscInt m, const PetscScalar *const entry[], const PetscScalar scale[],
                         PetscScalar to[]);
  void (*path_add)(const HJHostPath *);
  /* Sums of n rows, each entry at every factor-th place: begun from their diagonals; entries along a line; entries that lead to points
     which have that coefficient, NULL: away */
  void (*row_sums_begin)(PetscInt n, PetscInt factor, const PetscScalar diagonal[], const HJHostRowSums *);
  void (*row_sums_along)(PetscInt n, PetscInt factor, const PetscScalar entry[], const HJHostRowSums *);
  void (*row_sums_to)(PetscInt n, PetscInt factor, const PetscScalar entry[], const PetscScalar coefficient[], const HJHostRowSums *);
  /* Adds how the directions of the points of a piece compare, see HJMeasureClassify() */
  void (*measure_ratios)(PetscInt dim, const HJHostMeasurePiece *, HJMeasureRatios *);
  void (*lines)(const HJHostBundle *);
  /* Several unknowns a point, lines of m terms: y = sum c p; the same with c[index] of [row][width]; y = b - sum a p;
     y = x + w (sum a p - x), or, x NULL, w sum a p. y is none of the others */
  void (*sum)(PetscInt n, PetscInt m, const PetscScalar c[], const PetscScalar *const p[], PetscScalar *y);
  void (*sum_indexed)(PetscInt n, PetscInt m, PetscInt width, const PetscScalar c[], const unsigned char index[],
                      const PetscScalar *const p[], PetscScalar *y);
  void (*sum_less)(PetscInt n, PetscInt m, const PetscScalar *const a[], const PetscScalar *const p[], const PetscScalar *b,
                   PetscScalar *y);
  void (*sum_relaxed)(PetscInt n, PetscInt m, const PetscScalar *const a[], const PetscScalar *const p[], PetscReal w, const PetscScalar *x,
                      PetscScalar *y);
  HJHostRowFn product[2][3][2][3]; /* first without and with b, then by HJCoefficientStorage; rows at c are [nslots] */
  /* Of n points of a line, for bounds: sum += |a| x; sum += a[index] x; y = x + |scale| sum, whose largest y / x is returned (infinity
     where one is no finite number or scale is 0) and whose y / x are left in sum */
  void (*absolute)(PetscInt, const PetscScalar *a, const PetscScalar *x, PetscScalar *sum);
  void (*absolute_indexed)(PetscInt, const PetscScalar *a, const unsigned char *index, const PetscScalar *x, PetscScalar *sum);
  PetscReal (*absolute_ratio)(PetscInt, const PetscScalar *scale, const PetscScalar *x, PetscScalar *sum, PetscScalar *y);
  /* Of a Krylov method: p = z + beta p, or z where beta is 0; the sum of x y; x += alpha p, r -= alpha w and the sum of r r */
  void (*krylov_direction)(PetscInt, PetscScalar beta, const PetscScalar *z, PetscScalar *p);
  PetscScalar (*krylov_dot)(PetscInt, const PetscScalar *x, const PetscScalar *y);
  PetscScalar (*krylov_update)(PetscInt, PetscScalar alpha, const PetscScalar *p, const PetscScalar *w, PetscScalar *x, PetscScalar *r);
} HJHostKernels;

/* Those of this CPU */
PETSC_INTERN const HJHostKernels *HJHostPickKernels(void);
PETSC_INTERN PetscErrorCode       HJHostProduct(const HJProduct *);
PETSC_INTERN PetscErrorCode       HJHostProductTranspose(const HJProduct *);
PETSC_INTERN PetscErrorCode       HJHostSystemProduct(const HJProduct *);
PETSC_INTERN PetscErrorCode       HJHostInterpolate(const HJTransferProduct *);
PETSC_INTERN PetscErrorCode       HJHostInterpolatePoints(const HJTransferProduct *);
PETSC_INTERN PetscErrorCode       HJHostInterpolatePointsTranspose(const HJTransferProduct *);
PETSC_INTERN PetscErrorCode       HJHostKeepPoints(const HJTransferKeep *);
PETSC_INTERN PetscErrorCode       HJHostInterpolateTranspose(const HJTransferProduct *);
PETSC_INTERN PetscErrorCode       HJHostGalerkin(const HJGalerkin *);
PETSC_INTERN PetscErrorCode       HJHostMeasure(HJMeasure *);
PETSC_INTERN PetscErrorCode       HJHostRestrictResidual(const HJRestriction *);
PETSC_INTERN PetscErrorCode       HJHostInterpolateVariable(const HJTransferProduct *);
PETSC_INTERN PetscErrorCode       HJHostInterpolateTransposeVariable(const HJTransferProduct *);
PETSC_INTERN PetscErrorCode       HJHostGalerkinVariable(const HJGalerkin *);
PETSC_INTERN PetscErrorCode       HJHostCouplings(const HJInterpolationFill *);
PETSC_INTERN PetscErrorCode       HJHostJump(const HJInterpolationFill *);
PETSC_INTERN PetscErrorCode       HJHostInterpolationFill(const HJInterpolationFill *);
PETSC_INTERN PetscErrorCode       HJHostLinesCreate(const HJGrid *, PetscInt d, HJLines *);
PETSC_INTERN PetscErrorCode       HJHostLinesDestroy(HJLines *);
PETSC_INTERN PetscErrorCode       HJHostLinesFactor(const HJGrid *, const HJCoefficients *, HJLines *, PetscReal *bound);
PETSC_INTERN PetscErrorCode       HJHostLinesSolve(const HJLines *, PetscReal w, PetscBool zero, PetscScalar *r, PetscScalar *work,
                                                   PetscScalar *x);

PETSC_INTERN const HJKrylovOps HJKrylovHost;

PETSC_INTERN const HJHostKernels HJHostKernels_base;
#if defined(__x86_64__)
PETSC_INTERN const HJHostKernels HJHostKernels_v3;
PETSC_INTERN const HJHostKernels HJHostKernels_v4;
#endif

/* The backend's absolute(), on a stencil in host memory */
PETSC_INTERN PetscErrorCode HJHostAbsolute(const HJGrid *, const HJStencil *, PetscInt, const HJSweep[], PetscBool skew, PetscReal *);

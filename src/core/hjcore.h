/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Plain data that every room shares: boxes, the grid of a rank, the stencil, a sweep, the backend table.
   Decides nothing. All coordinates are local: 0 is the first point that this rank owns in each direction.

   Boxes, the order of a stencil, the definition of a subiteration and of a sweep, and the table of a backend stand here. hjcoefficients.h
   is what a stencil matrix stores, hjarrays.h the work on its arrays, hjtransport.h the table of a halo transport, hjreader.h that of a
   reader of matrices in device memory, hjslabops.h that of a device that sweeps slabs. hjmultigrid.h, hjtransfer.h, hjrestriction.h and
   hjgalerkin.h define what the grids of a multigrid do for one another; hjinterpolation.h interpolation by the rows of a matrix,
   hjmeasure.h couplings and which diagonals are weak; hjkrylovops.h passes of a Krylov method, hjsingle.h numbers in single
   precision. hjcompat.h has what differs between versions
   of PETSc, and which PETSc is refused.
*/
#pragma once

#include <petscdmda.h>
#include "hjcompat.h"
#include "hjslots.h"

/*
   Single precision. A PETSc may be in single precision: PetscScalar and PetscReal are float in all files then, and nothing is built twice.
   Of a PETSc in double a backend whose numbers are float (HJBackendOps: single) is the files of another one, built a second time with
   HJ_FLOAT: in them PetscScalar, and so what the arrays of these headers hold, is float. Whoever calls a backend hands its arrays on as
   addresses of PetscScalar, and looks into none: HJNumberAt() counts in them, HJSingleOps copies to and from them. Structs that pass
   between the two have pointers alone of that type.
*/
#if defined(HJ_FLOAT)
  #define PetscScalar float
#endif

/* Of the type of the numbers beside it: a constant of C is double, and has what it is multiplied with computed so */
#define HJ_HALF ((PetscScalar)0.5)
#define HJ_ZERO ((PetscScalar)0.0)

/* Half-open box of grid points; unused directions are [0, 1) */
typedef struct {
  PetscInt lo[3], hi[3];
} HJBox;

static inline PetscInt HJBoxWidth(const HJBox *b, int d)
{
  return b->hi[d] - b->lo[d];
}

static inline PetscCount HJBoxSize(const HJBox *b)
{
  return (PetscCount)HJBoxWidth(b, 0) * HJBoxWidth(b, 1) * HJBoxWidth(b, 2);
}

/* Place of point (i, j, k) in an array over the box, x fastest */
static inline PetscCount HJBoxIndex(const HJBox *b, PetscInt i, PetscInt j, PetscInt k)
{
  return ((PetscCount)(k - b->lo[2]) * HJBoxWidth(b, 1) + (j - b->lo[1])) * HJBoxWidth(b, 0) + (i - b->lo[0]);
}

static inline PetscBool HJBoxEmpty(const HJBox *b)
{
  return (PetscBool)(b->hi[0] <= b->lo[0] || b->hi[1] <= b->lo[1] || b->hi[2] <= b->lo[2]);
}

static inline HJ_HOST_DEVICE PetscBool HJPointInside(const HJBox *b, PetscInt i, PetscInt j, PetscInt k)
{
  return (PetscBool)(i >= b->lo[0] && i < b->hi[0] && j >= b->lo[1] && j < b->hi[1] && k >= b->lo[2] && k < b->hi[2]);
}

typedef struct {
  PetscInt  dim;
  PetscInt  N[3];   /* points of the whole grid, 1 in unused directions */
  HJBox     owned;  /* points of this rank: lo = 0 */
  HJBox     domain; /* points that exist, in local coordinates; a periodic direction has no end (+-HJ_ENDLESS) */
  PetscBool periodic[3];
  PetscBool neighbor[3][2]; /* low and high side: another rank or a periodic image lies there */
  PetscInt  min_width;      /* smallest owned width of any rank, over directions with neighbours anywhere; else PETSC_INT_MAX */
  PetscInt  dof;            /* unknowns of a point, which follow one another in vectors and frames */
} HJGrid;

/* Most unknowns of a point that a GPU takes */
#define HJ_DEVICE_DOF 8

/* Farther than any point of a rank, and an int also where PetscInt has 64 bits: a rank with as many points in one direction is refused */
#define HJ_ENDLESS (1 << 29)

/* Points that the coefficients of an exact operator reach beyond a rank, at most */
#define HJ_MAX_PAD 32

/* The points that arrays hold: those of a box, or, where that is NULL, the rank's own */
static inline const HJBox *HJGridLies(const HJGrid *grid, const HJBox *lies)
{
  return lies ? lies : &grid->owned;
}

/* Whether any rank has a neighbour: the same on all ranks */
static inline PetscBool HJGridHasNeighbors(const HJGrid *grid)
{
  return (PetscBool)(grid->min_width < PETSC_INT_MAX);
}

/* Points of a periodic direction in which this rank is its own neighbour; else 0 */
static inline PetscInt HJGridPeriod(const HJGrid *grid, int d)
{
  return grid->periodic[d] && HJBoxWidth(&grid->owned, d) == grid->N[d] ? grid->N[d] : 0;
}

/* The slot that leads back from where a slot leads, the opposite one; across a period of two points the same one, as slots of the low side
   have the entries of both */
static inline PetscInt HJGridSlotBack(const HJGrid *grid, HJShape shape, PetscInt slot)
{
  PetscInt off[3];

  HJShapeOffset(grid->dim, shape, slot, off);
  for (int d = 0; d < grid->dim; d++)
    if (!grid->periodic[d] || grid->N[d] != 2) off[d] = -off[d];
  return HJShapeSlot(grid->dim, shape, off[0], off[1], off[2]);
}

/* Where a coordinate at most a period beyond an end is in the period; the same where that is 0 */
static inline PetscInt HJPeriodWrap(PetscInt period, PetscInt i)
{
  return i < 0 ? i + period : period && i >= period ? i - period : i;
}

/* Whether the grid is periodic in a direction and all neighbours of this rank are itself: then there is no other rank */
static inline PetscBool HJGridIsWrapped(const HJGrid *grid)
{
  PetscBool wrapped = PETSC_FALSE;

  for (int d = 0; d < grid->dim; d++) {
    const PetscBool itself = (PetscBool)(HJGridPeriod(grid, d) > 0);

    if (!itself && (grid->neighbor[d][0] || grid->neighbor[d][1])) return PETSC_FALSE;
    wrapped = (PetscBool)(wrapped || itself);
  }
  return wrapped;
}

/*
   How the ranks of a DMDA cut a direction; 1 point and 1 rank where it has no such direction. Points count from 0 also in a DMDA that is
   part of a larger one, as DMCreateDomainDecomposition() makes them. Of such a one DMDAGetInfo() tells the larger one's size, and
   DMDAGetCorners() numbers in that: nobody but HJGridGetCuts() asks them
*/
typedef struct {
  PetscInt        N, nranks, start, n; /* points and ranks of all; the first point and the points of this rank */
  PetscInt        offset;              /* number that users have for point 0 */
  const PetscInt *widths;              /* [nranks] points of each */
  DMBoundaryType  boundary;
} HJCut;

PETSC_INTERN PetscErrorCode HJGridGetCuts(DM, HJCut cut[3]);

/* The box grown by depth on the sides that have neighbours */
PETSC_INTERN HJBox HJGridPadded(const HJGrid *, PetscInt);
/* The box grown by depth on every side and direction of the grid, cut at the domain's end */
PETSC_INTERN HJBox          HJGridGrow(const HJGrid *, const HJBox *, PetscInt);
PETSC_INTERN PetscErrorCode HJGridCreate(DM, HJGrid *);

typedef enum {
  HJ_DICTIONARY, /* at most HJ_MAX_ROWS distinct rows, one byte a point */
  HJ_VARIABLE,   /* one array per offset and the inverse diagonal */
  HJ_SYMMETRIC   /* one array per offset of the upper half and the inverse diagonal */
} HJStorage;

#define HJ_MAX_ROWS 256

/* An entry of the rows of a point with several unknowns: of the row of one component, the column of another at the point that a slot leads
   to */
typedef struct {
  PetscInt slot, row, column;
} HJEntry;

typedef struct HJRowReader HJRowReader; /* hjreader.h */

/*
   The operator on the points of box: a subiteration with weight w is, at every point,

     dictionary:  x <- x + w (dinv[r] b - rows[r][0] x - sum_o rows[r][o] x_o),   r = index[point]
     variable:    x <- x + w (dinv (b - sum_o value[o] x_o) - x)
     symmetric:   the same, value[o] of the lower half read at the neighbour: a_{-o}(i) = a_{o}(i - o)

   o: the slots from 1 on, see hjslots.h. Points outside the domain hold x = 0 always, so a coefficient that
   leads there does not matter (the dictionary may keep it, to need fewer rows).
   box is the owned points padded where there are neighbours; with HJ_SYMMETRIC it has one more layer, zero where it leaves
   the domain, so that i - o is always inside: on the low side of every direction of the grid and, with HJ_BOX, on the high
   side of every direction but the last.

   Several unknowns a point (dof > 1; blocks lie on the host): x, b are vectors of dof components, D is the point's block, and what is
   stored are the entries that are not 0 at some point of some rank: the first ninverse those of D^-1, then those that lead to neighbours,
   by rows:

     dictionary:  x <- x + w (D^-1 b - x - sum (D^-1 A)_o x_o),   entries in rows
     variable:    x <- x + w (D^-1 (b - sum A_o x_o) - x),        entries in values
*/
typedef struct {
  PetscInt           dim;
  HJShape            shape; /* 1D: HJ_STAR */
  HJStorage          storage;
  PetscInt           nslots;
  HJBox              box;
  PetscMemType       mtype;  /* where index, value and inverse diagonal arrays lie; rows and dinv_rows are always on the host */
  const HJRowReader *reader; /* who made these arrays and frees them; NULL: on the host */
  PetscInt           nrows;
  /* [nrows][nslots], scaled by the inverse diagonal, centre first (1; 0 for a zero diagonal, NaN for one not finite) */
  PetscScalar   *rows;
  PetscScalar   *dinv_rows; /* [nrows] inverse diagonal */
  unsigned char *index;     /* [box] row of each point */
  /* [box] each, from slot 1 on; HJ_SYMMETRIC: NULL where HJShapeIsUpper() is false */
  PetscScalar *value[HJ_MAX_SLOTS];
  PetscBool    in_place;       /* value[] are arrays of the matrix, see HJStencilCreateInPlace() */
  PetscScalar *dinv;           /* [box] inverse diagonal */
  PetscReal    gershgorin;     /* max over all rows of sum |a_ij| / |a_ii|, collective */
  PetscInt     zero_diagonals; /* rows with a zero or missing diagonal, all ranks */
  PetscInt     dof;            /* several unknowns a point: more than 1, and what follows is used in place of value and dinv */
  PetscInt     ninverse, nentries;
  HJEntry     *entry;        /* [nentries] */
  PetscScalar *values;       /* variable: [lines of box][nentries][points of a line] */
  PetscScalar *blocks;       /* dictionary: [nrows][slots of a box][dof][dof] of A as it is */
  char         singular[96]; /* which point has a block of the diagonal that has no inverse; empty: none */
} HJStencil;

/* Whether arrays hold the coefficients of a slot, and not those of the opposite one at the neighbour */
static inline PetscBool HJStencilHas(const HJStencil *st, PetscInt slot)
{
  return (PetscBool)(st->storage == HJ_VARIABLE || HJShapeIsUpper(st->dim, st->shape, slot));
}

/* The array that has a point's coefficient of a slot, shift places after the point's own: those of the lower half are the neighbours' */
static inline const PetscScalar *HJStencilArray(const HJStencil *st, PetscInt slot, PetscCount *shift)
{
  PetscInt off[3];

  *shift = 0;
  if (HJStencilHas(st, slot)) return st->value[slot];
  HJShapeOffset(st->dim, st->shape, slot, off);
  *shift = ((PetscCount)off[2] * HJBoxWidth(&st->box, 1) + off[1]) * HJBoxWidth(&st->box, 0) + off[0];
  return st->value[HJShapeOpposite(st->dim, st->shape, slot)];
}

/* The values of an entry, several unknowns a point, from a place in box on to the end of its line */
static inline PetscScalar *HJStencilValues(const HJStencil *st, PetscInt entry, PetscCount at)
{
  const PetscInt n = HJBoxWidth(&st->box, 0);

  return st->values + (at / n * st->nentries + entry) * n + at % n;
}

/* What a subiteration multiplies by: the inverse of a diagonal entry, 1 where that is zero or missing, as with PCJACOBI. The division by 1
   is one that a compiler may do for several points at once without a trap */
static inline HJ_HOST_DEVICE PetscScalar HJDiagonalInverse(PetscScalar d)
{
  return 1.0 / (d == 0.0 ? 1.0 : d);
}

/*
   What a 2D sweep has to do with the next coarser grid, of n points, where the fine one is halved in each direction and has no neighbours
   but itself, or is cut into lines: n[1] are its own. first: own fine place that the first own coarse point lies on, 0 or 1. P is bilinear
   interpolation; scale: of points that hang, see HJTransferGetScale(). Nothing, where both correction and restricted are NULL; at most one
   of them is not.
   correction: the sweep begins with x + P correction in place of x. beside: so many lines of it below and above the rank's own as a sweep
     can need, depth of them; NULL: there is no neighbour.
   restricted: of a sweep from zero, gets P^T (b - A x) of the result. row: what all points of A have, 5 entries on the host; NULL: the
     backend's own coefficients, which are as good but for rounding.
*/
typedef struct {
  const PetscScalar *correction, *beside[2], *row;
  PetscScalar       *restricted;
  PetscReal          scale[2][2];
  PetscInt           n[2], first[2], depth;
} HJCoarser;

/* What kernels are chosen for */
typedef enum {
  HJ_EXACT,           /* exact sweeps of an operator */
  HJ_FROM_ZERO,       /* those from a zero guess on a grid without neighbours */
  HJ_WHOLE,           /* one of all points of a grid without neighbours, from x to another array */
  HJ_SINGLE,          /* one of fewer subiterations than the kernels of HJ_EXACT take */
  HJ_CORRECTS,        /* with a correction, */
  HJ_RESTRICTS,       /* a restricted residual, */
  HJ_LEAVES_RESIDUAL, /* a residual: see HJSweep */
  HJ_SLAB,            /* exact sweeps of slabs */
  HJ_STALE,           /* stale sweeps */
  HJ_PRODUCT,         /* y = b + alpha A x */
  HJ_INTERPOLATION,   /* y = b + P x */
  HJ_RESTRICTION,     /* y = P^T (b - A x) */
  HJ_RESTRICTS_APART  /* the same by a product and a transposed interpolation, where these take less time than one pass */
} HJKind;

/*
   The words for work on a grid, in all rooms. Pages for users, and mg where it says how a grid is smoothed or solved, say sweeps for
   subiterations, as papers do.
   Subiteration: x <- x + w_j D^-1 (b - A x) at every point once; w_j is a weight of the schedule.
   Sweep: what a backend is called for, some subiterations one after another on a box of points, without an exchange between ranks.
   Pass: all points of a rank go through slow memory once. It is an exchange of halos and a sweep, or one for each region of the points.
   Cycle: all k subiterations of the schedule, in as many passes as the plan says; of a multigrid one V-cycle.
*/

/*
   One sweep: count subiterations on the points of write, from x and b over box to y over ybox. y is x only where HJLimits allows it.

   exact (overlap < 0): write holds exactly global Jacobi's values; the points of write grown by count (zero guess: count - 1) are in box
     or outside the domain.
   stale (overlap >= 0): tiles of HJTileRange() on cover, ring frozen; cover grown by 1 is in box or outside the domain.
   Ghosts (exact only, where HJLimits allows it): x and b hold only the planes of box that are in ybox, across the slowest direction;
     the planes below and above lie in arrays of their own. Else xghost and bghost are not read.
   Wraps (exact only, where HJLimits allows it): in these directions, never the slowest, box is the owned points, all of a periodic
     domain: a point beyond an end is the one as far inside the other end. count is at most their number.
   Copies (exact only, where HJLimits allows it): the first, and the last, ncopies planes of write across the slowest direction are
     also written to copy[0], and copy[1], arrays of so many planes of ybox, which may be another GPU's memory. NULL: no copy.
   Zero guess (x == NULL): exact starts from x = w[0] D^-1 b at every point, stale from x = 0 with a ring of 0.
   Coarser grid, residual (exact only, one sweep of all points, where the backend can()): see HJCoarser; residual, of a 3D sweep from zero,
     gets b - A x of the result at the points of write. NULL: it is not made.
*/
typedef struct {
  HJBox              write, box, ybox;
  const PetscScalar *x, *b;
  const PetscScalar *xghost[2], *bghost[2]; /* below, above; NULL where box has no such planes */
  PetscBool          ghosts;
  PetscBool          exchanged; /* the exchange of these ghosts is what was launched last: what reads none need not wait for it */
  PetscBool          wraps[2];  /* in x, in y */
  PetscScalar       *y;
  PetscScalar       *copy[2];
  PetscInt           ncopies;
  PetscInt           count;
  const PetscReal   *w;       /* [count] weights, on the host */
  PetscInt           overlap; /* < 0: exact */
  PetscInt           tile[3]; /* stale */
  HJBox              cover;   /* stale: points that the tiles cover, write grown by overlap/2 where there are neighbours */
  HJCoarser          coarser;
  PetscScalar       *residual;
} HJSweep;

/* Stale: a direction whose tiles are one point thin has no overlap, so that copies of a line may lie beside one another */
static inline HJ_HOST_DEVICE PetscInt HJTileOverlap(PetscInt tile, PetscInt overlap)
{
  return tile > 1 ? overlap : 0;
}

/* Stale: number of tiles in a direction that cover width points */
static inline PetscInt HJTileCount(PetscInt width, PetscInt tile, PetscInt overlap)
{
  overlap = HJTileOverlap(tile, overlap);
  return width <= tile ? 1 : (width - overlap + (tile - overlap) - 1) / (tile - overlap);
}

/* Stale: cuts points that n tiles cover in one direction down to those of tile t, and own, which all write, to those that it writes */
static inline HJ_HOST_DEVICE void HJTileCut(PetscInt tile, PetscInt overlap, PetscInt t, PetscInt n, PetscInt points[2], PetscInt own[2])
{
  PetscInt lo;

  overlap = HJTileOverlap(tile, overlap);
  lo      = points[0] + t * (tile - overlap);
  if (t) own[0] = lo + overlap / 2;
  if (t < n - 1) own[1] = lo + tile - overlap + overlap / 2;
  points[0] = lo;
  points[1] = PetscMin(lo + tile, points[1]);
}

/* Stale: points [lo, hi) of tile t in direction d, and those that it owns */
static inline void HJTileRange(const HJSweep *s, int d, PetscInt t, PetscInt *lo, PetscInt *hi, PetscInt *own_lo, PetscInt *own_hi)
{
  PetscInt points[2] = {s->cover.lo[d], s->cover.hi[d]}, own[2] = {s->write.lo[d], s->write.hi[d]};

  HJTileCut(s->tile[d], s->overlap, t, HJTileCount(HJBoxWidth(&s->cover, d), s->tile[d], s->overlap), points, own);
  *lo     = points[0];
  *hi     = points[1];
  *own_lo = own[0];
  *own_hi = own[1];
}

/* A line of x or b that starts at a point, dim directions, dof unknowns a point: home is the array, ghost its ghosts */
static inline const PetscScalar *HJSweepLine(const HJSweep *s, PetscInt dim, PetscInt dof, const PetscScalar *home,
                                             const PetscScalar *const ghost[2], const PetscInt p[3])
{
  const PetscInt d = dim - 1;
  HJBox          box;

  if (!s->ghosts) return home + dof * HJBoxIndex(&s->box, p[0], p[1], p[2]);
  box = s->box;
  if (p[d] < s->ybox.lo[d]) return ghost[0] + dof * HJBoxIndex(&box, p[0], p[1], p[2]);
  box.lo[d] = p[d] < s->ybox.hi[d] ? PetscMax(s->box.lo[d], s->ybox.lo[d]) : s->ybox.hi[d];
  return (p[d] < s->ybox.hi[d] ? home : ghost[1]) + dof * HJBoxIndex(&box, p[0], p[1], p[2]);
}

typedef struct _n_HJProduct         HJProduct;         /* hjcoefficients.h */
typedef struct _n_HJTransferProduct HJTransferProduct; /* hjtransfer.h */
typedef struct _n_HJTransferKeep    HJTransferKeep;
typedef struct _n_HJRestriction     HJRestriction;  /* hjrestriction.h */
typedef struct _n_HJMultigridOps    HJMultigridOps; /* hjmultigrid.h */
typedef struct _n_HJKrylovOps       HJKrylovOps;    /* hjkrylovops.h */
typedef struct _n_HJSingleOps       HJSingleOps;    /* hjsingle.h */

/* What a backend can do with one operator */
typedef struct {
  PetscInt max_count;  /* exact: most subiterations a sweep may have */
  PetscInt best_count; /* exact: the count with the highest rate on a large grid */
  /* best thickness of a frame's slab in each direction (the useful share of a tile); the planner takes at least the halo depth */
  PetscInt slab[3];
  /* exact: most subiterations of a sweep that may write to x itself; all points in one sweep, ybox the owned box, and box too, but for
     ghosts */
  PetscInt in_place;
  PetscInt
    from_zero;      /* exact: most subiterations of a sweep from a zero guess, on a grid without neighbours, where they are more; else 0 */
  PetscInt  large;  /* owned points from which writing to x itself costs less than a copy: on fewer, of any rank, it is not done */
  PetscBool ghosts; /* exact: sweeps may have ghost arrays */
  PetscBool copies; /* exact: sweeps may write copies */
  PetscBool wraps;  /* exact: sweeps may wrap, and have ghosts that lie in the array that they read */
} HJLimits;

typedef struct _n_HJBackendOps HJBackendOps;

/* One backend; every function works on the backend's memory and, on a device, on PETSc's current stream */
struct _n_HJBackendOps {
  const char  *name;
  PetscMemType mtype;
  /* Where a rank is its own neighbour across a period exact sweeps, and absolute(), need no coefficients beside the owned points: they read
     those of the period itself, on all grids of more than one direction */
  PetscBool wraps_coefficients;
  PetscErrorCode (*create)(const HJGrid *, const HJStencil *, void **);
  PetscErrorCode (*refresh)(void *, const HJStencil *); /* new values, same shape, storage and box */
  PetscErrorCode (*limits)(void *, HJLimits *);         /* may change at a refresh */
  const char *(*kernels)(void *, const PetscInt[3]);    /* names those that do exact sweeps, or (not NULL) stale ones with such tiles */
  PetscErrorCode (*check_tile)(void *, const PetscInt[3], char[],
                               size_t);                       /* stale: empties the string, or fills it with why the tile is too large */
  PetscErrorCode (*sweep)(void *, PetscInt, const HJSweep[]); /* sweeps of one pass: same count, w, overlap, guess */
  /* Whether there are exact sweeps of so many subiterations with what the kind says: HJ_CORRECTS, HJ_RESTRICTS, HJ_LEAVES_RESIDUAL. NULL:
     there are none */
  PetscBool (*can)(void *, HJKind, PetscInt count);
  /*
     Set-up only: y = |D^-1 A| x on the points of write, the diagonal of |D^-1 A| taken as 1 everywhere; write grown by 1 is in box or
     outside the domain. x == NULL stands for 1 at every point of the domain. The largest y / x of these points, of this rank: infinity
     where one is no finite number, or a diagonal is infinite. Of a sweep it reads write, box, ybox, x, xghost, ghosts and y.
     skew (x NULL alone): of A - A^T in place of A, without the rows and columns of points whose row is a diagonal alone
  */
  PetscErrorCode (*absolute)(void *, PetscInt, const HJSweep[], PetscBool skew, PetscReal *);
  PetscErrorCode (*alloc)(void *, PetscCount, PetscScalar **);
  PetscErrorCode (*free)(void *, PetscScalar **);
  PetscErrorCode (*copy)(void *, PetscScalar *, const PetscScalar *,
                         PetscCount); /* between host and backend memory in any direction, or inside */
  PetscErrorCode (*destroy)(void **);
  /* Of coefficients in the backend's memory; NULL: the backend has no products */
  PetscErrorCode (*product)(const HJProduct *);
  PetscErrorCode (*product_transpose)(const HJProduct *);
  const HJMultigridOps *multigrid; /* what a cycle on several grids needs besides */
  const HJKrylovOps    *krylov;    /* what a Krylov method does in few passes; NULL: the backend has none of it */
  /* What is there where the numbers of its memory, and of the rows of its stencils, are float; NULL: they are PetscScalar */
  const HJSingleOps  *single;
  const HJBackendOps *in_single; /* the same backend with float; NULL: there is none */
};

/* Where number n of an array in a backend's memory is */
static inline PetscScalar *HJNumberAt(const HJBackendOps *ops, const PetscScalar *array, PetscCount n)
{
  return (PetscScalar *)((char *)array + n * (PetscCount)(ops->single ? sizeof(float) : sizeof(PetscReal)));
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What the kernels share: the device copy of the stencil, a sweep by value, a kernel family, the cache of layouts.
   backend/hjtable.cu chooses the family, hjcuda.cu owns the memory; a family knows its kernels alone. Nothing here is seen outside
   src/cuda.

   Kernels are in cuda/kernels, a file or a few a family. sweep/plane sweeps 2D grids: it streams (hjstream2d), in patches on small grids
   (hjpatch2d), with the correction that a sweep adds and the residual that it restricts (hjstream2d_corrected, hjstream2d_frame where
   points at the walls have rows of their own, hjstream2d_var with arrays). sweep/space does the same in 3D, sweep/onchip grids that fit on
   the chip, sweep/stale the tiles of the papers. operator/ multiplies, transfer/ interpolates and restricts, setup/ has what set-up needs:
   Galerkin products, couplings, interpolation by the rows of a matrix, bounds, the coarsest grid's inverse.
*/
#pragma once

#include "core/hjcore.h"
#include "cuda/device/hjdevice.h"
#include "cuda/device/hjgpu.h"
#include "cuda/device/hjscalar.h"

/* Most sweeps that one launch() gets; hjcuda.cu splits longer lists */
#define HJD_MAX_SWEEPS 8
/* Weights that are kernel parameters, and most subiterations of an exact launch(). Stale sweeps may have more: HJWeights_CUDA() */
#define HJD_MAX_COUNT     64
#define HJD_MAX_NEIGHBORS 26 /* HJ_MAX_NEIGHBORS */

/* Half-open box, 32-bit local coordinates; offsets into arrays are 64-bit */
typedef struct {
  int lo[3], hi[3];
} HJDBox;

static inline HJDBox HJDBoxFrom(const HJBox *b)
{
  return {{(int)b->lo[0], (int)b->lo[1], (int)b->lo[2]}, {(int)b->hi[0], (int)b->hi[1], (int)b->hi[2]}};
}

typedef struct {
  HJDBox             write, box, ybox; /* where there is a coarser grid in a 2D sweep, its points lie on even places of these coordinates */
  HJDBox             domain;           /* a direction without end is clipped far outside box */
  const PetscScalar *x, *b;            /* x NULL: zero guess, level 0 is w[0] dinv b */
  PetscScalar       *y;
  /*
     Ghosts: x and b serve the planes [home_lo, home_hi) across the slowest direction, xghost and bghost those below and above; else all
     are home. Each array is pointed to as if it were over the whole box: a place in box is the same in all
  */
  int                home_lo, home_hi;
  const PetscScalar *xghost[2], *bghost[2];
  int                exchanged; /* as HJSweep's */
  int                wrap[2];   /* points in x, in y, after which x and b begin again; 0: the direction does not wrap */
  /* Copies: planes below copy_lo go to copy[0] too, those from copy_hi on to copy[1]; pointed to as if each were over ybox */
  int          copy_lo, copy_hi;
  PetscScalar *copy[2];
} HJDSweep;

/* Of a dictionary of a 2D star: whether its rows are those of a frame (hjframe2d.h); REGULAR: and no diagonal is zero */
enum HJFrameKind { HJ_NO_FRAME, HJ_FRAME, HJ_FRAME_REGULAR };

/* Device copy of the stencil. rows and dinv_rows as HJStencil's; h_* are the same on the host, for kernels that take rows as parameters */
typedef struct {
  int                  dim, shape, storage, nneighbors, nrows;
  int                  dof;   /* more than 1: entries are those of HJ_CUDA's system, and of the rest all but value and dinv serve */
  int                  frame; /* HJFrameKind */
  HJDBox               box;
  const PetscScalar   *rows, *dinv_rows;
  const PetscScalar   *h_rows, *h_dinv_rows;
  const unsigned char *index;
  const PetscScalar   *value[HJD_MAX_NEIGHBORS]; /* of slot 1 + o; HJ_SYMMETRIC: NULL for the lower half */
  const PetscScalar   *dinv;
} HJDStencil;

/* Several unknowns a point: the entries of the blocks of all offsets; those of a row follow one another from first on, where bits of mask
   say so */
typedef struct {
  int           dof, noffsets, n;
  signed char   off[HJ_MAX_SLOTS][3];
  short         first[HJ_MAX_SLOTS][HJ_DEVICE_DOF];
  unsigned char mask[HJ_MAX_SLOTS][HJ_DEVICE_DOF];
} HJSystemEntries;

struct HJ_CUDA;

/* The sweeps of a launch, which are alike. What they do besides is that of the only one */
typedef struct {
  int              nsweeps, count;
  const HJDSweep  *sweep;
  const PetscReal *w; /* [count] on the host */
  const HJCoarser *coarser;
  PetscScalar     *residual;
} HJDPass;

/* What a launch is laid out for, and its kernels are chosen for: all but pointers and weights */
typedef struct {
  int    nsweeps, count;
  bool   zero, in_place, wraps, corrects, restricts, leaves_residual;
  bool   xghosts, bghosts, copies; /* some of these lie in arrays of their own */
  int    first[2];                 /* as HJCoarser's */
  int    overlap, tile[3];         /* stale; overlap < 0: exact */
  HJDBox write[HJD_MAX_SWEEPS], box[HJD_MAX_SWEEPS], ybox[HJD_MAX_SWEEPS], domain[HJD_MAX_SWEEPS];
  HJDBox cover[HJD_MAX_SWEEPS]; /* stale: points that the tiles cover */
} HJGeometry;

/*
   What the table of families is asked: which kernels do something. What a kind does not need is not set.
   count: of HJ_WHOLE, HJ_CORRECTS, HJ_RESTRICTS, HJ_LEAVES_RESIDUAL. sweep: nsweeps of HJ_WHOLE or HJ_SINGLE; NULL: one from x to another
   array, without ghosts, copies and wraps. tile: of HJ_STALE. exact: the family of the operator's exact sweeps; NULL: it is looked for
*/
typedef struct {
  HJKind                   kind;
  const HJGrid            *grid; /* of sweeps */
  const HJDStencil        *st;
  int                      count, nsweeps;
  const HJDSweep          *sweep;
  int                      tile[3];
  const struct HJFamily   *exact;
  const HJProduct         *product;
  const HJTransferProduct *interpolation;
  const HJRestriction     *restriction;
} HJAsk;

/*
   One family of kernels: an entry of the ordered table in backend/hjtable.cu. What it can do is arithmetic on the limits of a device, the
   grid and the stencil's shape, storage and number of rows; a family asks CUDA nothing before it is chosen. layout() is called when a
   geometry is first seen, and again after new values: chunks, tiles, lists, which may be in device memory; what a larger geometry than ever
   before needs besides grows by HJGrow(). launch() gets what it made and does not synchronise. family_data is the family's own. What is not
   set is NULL or false
*/
typedef struct HJFamily {
  const char *name;
  /* HJ_EXACT, HJ_FROM_ZERO, HJ_SLAB: most subiterations of a sweep. Else whether it does such. 0: no */
  int (*takes)(const HJDevice *, const HJAsk *);
  int (*best_count)(const HJDevice *, const HJGrid *, const HJDStencil *);
  PetscErrorCode (*launch)(struct HJ_CUDA *, cudaStream_t, const HJDPass *, const void *layout);
  PetscErrorCode (*layout)(struct HJ_CUDA *, cudaStream_t, const HJDSweep *, const HJGeometry *, void **); /* NULL: none is needed */
  PetscErrorCode (*layout_destroy)(void *);
  PetscErrorCode (*destroy)(struct HJ_CUDA *);                              /* frees family_data; NULL: there is none */
  int (*in_place)(const HJDevice *, const HJGrid *, const HJDStencil *);    /* as HJLimits'; NULL: 0 */
  int (*least_count)(const HJDevice *, const HJGrid *, const HJDStencil *); /* of HJ_EXACT; fewer are HJ_SINGLE's; NULL: 2 */
  /* launch() takes sweeps that wrap, and so do those of HJ_SINGLE; NULL: it does not */
  bool (*wraps)(const HJDevice *, const HJGrid *, const HJDStencil *);
  bool ghosts, copies; /* launch() takes sweeps with ghosts, with copies */
  bool only_beside;    /* what other sweeps it takes, but for slabs, it takes only where it has the exact ones */
  bool small;          /* its grids are so small that writing to x itself always costs less than a copy */
  bool placed;         /* it takes arrays that hold more points than the grid, see places() */
  bool needs_no_index; /* where all points have one row */
  bool systems;        /* it is for points with several unknowns; else for those with one */
  /* Of HJ_PRODUCT, HJ_INTERPOLATION, HJ_RESTRICTION, as HJBackendOps' and HJMultigridOps' */
  PetscErrorCode (*multiply)(const HJDevice *, cudaStream_t, const HJProduct *);
  PetscErrorCode (*interpolate)(const HJDevice *, cudaStream_t, const HJTransferProduct *);
  PetscErrorCode (*restrict_residual)(const HJDevice *, cudaStream_t, const HJRestriction *);
} HJFamily;

/* A frame's rows: of first, inner and last line by first, inner and last column */
typedef struct {
  unsigned char row[9];
} HJFrame2D;

/* What is known of launches of a geometry: the family that the table chose, and the layout that this made; NULL: it needs none */
typedef struct HJLaid {
  const HJFamily *family;
  HJGeometry      geometry;
  void           *layout;
  struct HJLaid  *next;
} HJLaid;

typedef struct HJ_CUDA {
  HJGrid          grid;
  HJDStencil      st;
  HJDevice        device;
  int             generation; /* grows with each refresh */
  const HJFamily *family;     /* of exact sweeps of least_count subiterations or more, or of slabs */
  void           *family_data;
  HJLaid         *layouts;
  HJStage        *stage;    /* NULL: not yet needed */
  PetscScalar    *d_values; /* one allocation behind value[] and dinv, or values */
  /* Several unknowns a point: HJStencil's values, and its blocks where that was made in device memory */
  const PetscScalar *values;
  PetscScalar       *d_blocks;
  HJSystemEntries    system;
  unsigned char     *d_index;
  PetscScalar       *d_rows;
  PetscScalar       *h_rows;
  int                main_row;  /* dictionary: the most frequent row */
  HJFrame2D          frame;     /* where st.frame says that there is one */
  PetscReal         *d_w, *h_w; /* weights of the last long stale sweep */
  int                n_w, max_w;
} HJ_CUDA;

/*
   The cache of layouts (hjlayout.cu). What is known of a geometry, which has no bytes that are not set: NULL where it was not seen since
   values changed. Then whoever has chosen a family for it has that lay out these sweeps
*/
const HJLaid  *HJLayoutFind(const HJ_CUDA *, const HJGeometry *);
PetscErrorCode HJLayoutMake(HJ_CUDA *, cudaStream_t, const HJFamily *, const HJDSweep *, const HJGeometry *, const HJLaid **);
PetscErrorCode HJLayoutsDestroy(HJ_CUDA *);

__host__ __device__ inline int HJDWidth(const HJDBox &b, int d)
{
  return b.hi[d] - b.lo[d];
}

__host__ __device__ inline long long HJDIndex(const HJDBox &b, int i, int j, int k)
{
  return ((long long)(k - b.lo[2]) * HJDWidth(b, 1) + (j - b.lo[1])) * HJDWidth(b, 0) + (i - b.lo[0]);
}

/* The array over box that serves plane r; home serves [lo, hi) */
__host__ __device__ inline const PetscScalar *HJDHome(const int &lo, const int &hi, const PetscScalar *home,
                                                      const PetscScalar *const ghost[2], int r)
{
  return r < lo ? ghost[0] : r < hi ? home : ghost[1];
}

__host__ __device__ inline const PetscScalar *HJDHome(const HJDSweep &s, const PetscScalar *home, const PetscScalar *const ghost[2], int r)
{
  return HJDHome(s.home_lo, s.home_hi, home, ghost, r);
}

/* A value of plane r to its place in y and the copies */
__device__ inline void HJDStore(const HJDSweep &s, int r, long long at, PetscScalar v)
{
  s.y[at] = v;
  if (r < s.copy_lo) s.copy[0][at] = v;
  if (r >= s.copy_hi) s.copy[1][at] = v;
}

/* Where a point is that lies at most wrap beyond the ends of a direction of wrap points; wrap 0: where it lies */
__host__ __device__ inline int HJDWrap(int i, int wrap)
{
  return wrap && i < 0 ? i + wrap : wrap && i >= wrap ? i - wrap : i;
}

/* From a point to where its neighbour is that lies dx, dy beside it, in an array over box; the planes that they are in do not matter */
__host__ __device__ inline long long HJDBeside(const HJDSweep &s, int i, int j, int dx, int dy)
{
  return HJDWrap(i + dx, s.wrap[0]) - i + (long long)(HJDWrap(j + dy, s.wrap[1]) - j) * HJDWidth(s.box, 0);
}

/* HJFamily's wraps() of those that take ghosts, but no sweeps that wrap */
static inline bool HJWrapsSlowest(const HJDevice *, const HJGrid *grid, const HJDStencil *st)
{
  for (int d = 0; d < st->dim - 1; d++)
    if (grid->periodic[d]) return false;
  return true;
}

__host__ __device__ inline bool HJDInside(const HJDBox &b, int i, int j, int k)
{
  return i >= b.lo[0] && i < b.hi[0] && j >= b.lo[1] && j < b.hi[1] && k >= b.lo[2] && k < b.hi[2];
}

/* Neighbour o is that of slot 1 + o: how far it is in direction d */
__host__ __device__ constexpr int HJDOffset(int dim, bool box, int o, int d)
{
  return (int)HJShapeStep(dim, box ? HJ_BOX : HJ_STAR, 1 + o, d);
}

__host__ __device__ constexpr int HJDNeighbors(int dim, bool box)
{
  return (int)HJShapeSlots(dim, box ? HJ_BOX : HJ_STAR) - 1;
}

/* Calls LAUNCH(dim, box, storage) with compile-time constants for the stencil st */
#define HJDDispatch(st, LAUNCH)                                                                                                            \
  do {                                                                                                                                     \
    if ((st).dim == 1) HJDDispatchStorage(st, LAUNCH, 1, false);                                                                           \
    else if ((st).dim == 2 && (st).shape == HJ_STAR) HJDDispatchStorage(st, LAUNCH, 2, false);                                             \
    else if ((st).dim == 2) HJDDispatchStorage(st, LAUNCH, 2, true);                                                                       \
    else if ((st).shape == HJ_STAR) HJDDispatchStorage(st, LAUNCH, 3, false);                                                              \
    else HJDDispatchStorage(st, LAUNCH, 3, true);                                                                                          \
  } while (0)
#define HJDDispatchStorage(st, LAUNCH, dim, box)                                                                                           \
  do {                                                                                                                                     \
    if ((st).storage == HJ_DICTIONARY) LAUNCH(dim, box, HJ_DICTIONARY);                                                                    \
    else if ((st).storage == HJ_VARIABLE) LAUNCH(dim, box, HJ_VARIABLE);                                                                   \
    else LAUNCH(dim, box, HJ_SYMMETRIC);                                                                                                   \
  } while (0)

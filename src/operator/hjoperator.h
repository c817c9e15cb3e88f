/* SPDX-License-Identifier: BSD-2-Clause */
/*
   One grid operator: stencil, backend and halo put together. Runs passes on it and bounds its spectrum. Decides which backend, transport
   and reader serve a matrix; passes, tiles and coefficients are decided in the rooms that it stands on. Knows no PC.

   hjchoose.c chooses. hjoperator.c makes and refreshes an operator, hjpasses.c runs a plan's passes, hjbounds.c bounds eigenvalues,
   hjstate.c says which matrix was read. hjproducts.c multiplies, hjconjugate.c runs passes of conjugate gradients, hjtransfers.c
   interpolates, hjrestrictions.c restricts a residual; hjghosts.c fills their ghosts, hjvectors.c finds their vectors. hjgalerkins.c and
   hjgalerkinrows.c make Galerkin products, hjcoarsen.c chooses directions to coarsen, hjknown.c finds layers whose rows are a diagonal
   alone, hjpairs.c reads one pair of several unknowns. hjrounded.c has a level in single precision, hjmove.c moves vectors to other ranks,
   hjkrylov.c is what PCs hand to KSPs, hjfailure.c what is done without a preconditioner, hjcopyrows.c copies rows, hjmethods.h is the form
   of setters.
*/
#pragma once

#include "pchjacobi.h"
#include "core/hjcore.h"
#include "core/hjarrays.h"
#include "core/hjtransfer.h"
#include "core/hjslabops.h"
#include "stencil/hjstencil.h"
#include "schedule/hjschedule.h"
#include "plan/hjplan.h"
#include "core/hjagree.h"
#include "halo/hjhalo.h"
#include "hjghosts.h"
#include "host/hjhost.h"
#if defined(HJACOBI_HAVE_CUDA)
  #include "cuda/backend/hjcuda.h"
  #include "cuda/backend/hjslab_cuda.h"
#endif

/* A pointer that must not be NULL is checked in every build, whether it leads to readable memory where PETSc checks its own */
#define HJCheckPointer(p, arg)                                                                                                             \
  do {                                                                                                                                     \
    PetscCheck(p, PETSC_COMM_SELF, PETSC_ERR_ARG_NULL, "Null Pointer: Parameter # %d", arg);                                               \
    PetscAssertPointer(p, arg);                                                                                                            \
  } while (0)

/* What the rooms above register; src/pc registers the package and calls it */
PETSC_INTERN PetscErrorCode MatHJStencilInitializePackage(void);
PETSC_INTERN PetscErrorCode PCHJMGInitializePackage(void);
PETSC_INTERN PetscErrorCode KSPHJInitializePackage(void);
/* Collective. An AIJ matrix, or, of several unknowns a point, a BAIJ matrix whose rows are the points of da as a stencil matrix, a new one
   where *B is NULL, else with new values; src/mat makes it. *B is NULL afterwards, and why says so, where it is no stencil */
PETSC_INTERN PetscErrorCode HJMatReadAIJ(Mat A, DM da, Mat *B, char why[], size_t len);
/* Collective. What the rows of a component of a stencil matrix have of that component, as a stencil matrix on da, the same grid with one
   unknown a point: a new one where *B is NULL, else with new values; src/mat makes it */
PETSC_INTERN PetscErrorCode HJMatCreateComponent(Mat A, PetscInt component, DM da, Mat *B);

/* Room for the entries of the first matrix's rows in the second, AIJ of the same layout that has none yet */
PETSC_INTERN PetscErrorCode HJPreallocateRows(Mat, Mat);
/* Collective. Sets every entry of every row in a matrix of any type that is zero or new, and assembles it */
PETSC_INTERN PetscErrorCode HJCopyRows(Mat, Mat);
/* Collective. The same entries in a new AIJ matrix */
PETSC_INTERN PetscErrorCode HJCreateAIJ(Mat, Mat *);

/* Who works on arrays of coefficients in a memory; NULL: nobody does there */
PETSC_INTERN const HJArrayOps *HJArraysIn(PetscMemType);
/* The coefficients of a matrix that has some which can be read in place: in the memory that is wanted, or where it lives. Valid until it
   changes */
PETSC_INTERN PetscErrorCode HJCoefficientsIn(Mat, PetscMemType wanted, const HJCoefficients **);
PETSC_INTERN PetscErrorCode HJCoefficientsHome(Mat, const HJArrayOps **, const HJCoefficients **);

/* Registered by whoever registers the package */
PETSC_INTERN PetscLogEvent PCHJacobi_Halo;

/* The schedule, and as sweeps take it: repeated, so that the slice of every pass is contiguous */
typedef struct {
  PetscInt   k;
  PetscReal *w;      /* [k] */
  PetscReal *cycled; /* [len] */
  PetscInt   len;
} HJWeights;

/* Makes cycled at least so long, by repeating w */
PETSC_INTERN PetscErrorCode HJWeightsExtend(HJWeights *, PetscInt);
PETSC_INTERN PetscErrorCode HJWeightsReset(HJWeights *);

/* The points of a rank that wait for halos of one depth and those that do not, with the memory and the halo that these need */
typedef struct _n_HJFrames *HJFrames;
struct _n_HJFrames {
  PetscInt     depth;
  HJRegions    regions;
  HJHalo       halo;                 /* NULL where there are no neighbours */
  PetscScalar *buffer[2], *frame[2]; /* of x and b: own memory; where the last exchange left the values */
  HJFrames     next;
};

/* What runs the cycles of an operator on the host in place of its backend: the room slab fills it, on top of this one */
typedef struct _n_HJOperator HJOperator;
typedef struct _n_HJSlabs   *HJSlabs;
typedef struct {
  PetscErrorCode (*run)(HJOperator *, HJWeights *, PetscInt its, PetscBool zero, Vec b, Vec x);
  PetscErrorCode (*release)(HJSlabs);                     /* before the operator's coefficients may move */
  PetscErrorCode (*renew)(const HJOperator *, HJSlabs *); /* after new values in them */
  PetscErrorCode (*destroy)(HJSlabs *);
} HJSlabsOps;

/* An operator: the coefficients of a matrix on its grid, the backend that sweeps them and the halo between ranks */
struct _n_HJOperator {
  DM                  da;
  HJGrid              grid;
  HJStencil          *stencil;
  PetscInt            overlap, tile[3];
  PetscInt            pad; /* points that the coefficients reach beyond the rank's own, where it has neighbours */
  const HJBackendOps *ops;
  const HJHaloOps    *halo_ops;
  PetscReal           exchange_timeout; /* seconds, see HJHalo's */
  void               *backend;
  HJLimits            limits;
  HJFrames            frames;                   /* list, one for each depth in use */
  PetscScalar        *work, *stage_x, *stage_b; /* owned points, backend memory; allocated at first use */
  PetscReal          *ratios;                   /* backend memory: those of a bound that was begun */
  HJPlanes           *coarse;                   /* where the grids are cut into lines: those of the coarser one; else NULL */
  PetscInt            corrects, restricts;      /* then, bit by count: what sweeps have to do with it on all ranks */
  PetscBool           measures;                 /* couplings are found where the rows are read, */
  HJMeasured          measured;                 /* and are these */
  HJSlabs             slabs;                    /* a device that runs the cycles of an operator on the host; NULL: none */
  const HJSlabsOps   *slabs_ops;
};

/* Unknowns of this rank */
static inline PetscCount HJOperatorSize(const HJOperator *op)
{
  return op->grid.dof * HJBoxSize(&op->grid.owned);
}

/* The DMDA that A lives on: a stencil matrix's own, else dm, which the PC has (or NULL), else the matrix's. NULL: why says what stands in
   the way */
PETSC_INTERN PetscErrorCode HJOperatorFindGrid(Mat A, DM dm, DM *da, char why[], size_t len);
/*
   Collective. Where the data is, or where it pays to copy it for cycles of k subiterations; *why is a sentence for views. An error where
   what is asked for is not to be had
*/
PETSC_INTERN PetscErrorCode HJOperatorChooseBackend(Mat, PCHJacobiBackend asked, PetscInt k, const HJBackendOps **, const char **why);
/* Whether a device has cycles for so many unknowns a point; overlap as an operator's */
PETSC_INTERN PetscBool HJOperatorCanBeOnDevice(PetscInt dof, PetscInt overlap);
/* Collective. Rows of a matrix in the memory of the backend's device are read there; NULL: on the host */
PETSC_INTERN PetscErrorCode HJOperatorChooseReader(Mat, const HJBackendOps *, const HJRowReader **);
/* What sweeps slabs in place of a backend where its memory is too small; NULL: nothing does */
PETSC_INTERN const HJSlabOps *HJOperatorChooseSlabs(const HJBackendOps *);
/* Collective. Between GPUs what is asked for by an option, or the fastest that is there; else, and on one rank, whatever is asked for,
   PetscSF, which works everywhere */
PETSC_INTERN PetscErrorCode HJOperatorChooseExchange(MPI_Comm, PCHJacobiExchange asked, const HJBackendOps *, const HJHaloOps **,
                                                     const char **why);
/* Collective, between PetscOptionsBegin() and PetscOptionsEnd() of an object. Reads -hj_exchange and -hj_exchange_timeout, which stay what
   they are where they are not given */
PETSC_INTERN PetscErrorCode HJExchangeFromOptions(HJOptionItems, MPI_Comm, PCHJacobiExchange *, PetscReal *timeout);
/* An error where a time limit makes no sense */
PETSC_INTERN PetscErrorCode HJExchangeCheckTimeout(MPI_Comm, PetscReal timeout);
/* After a norm was waited for: an error where what it was made from is wrong, for an exchange waited in vain for another rank */
PETSC_INTERN PetscErrorCode HJOperatorCheckExchanges(void);

/*
   Collective. Reads the matrix on the grid of da; *op is NULL, and why says so, where it is no stencil. overlap < 0: exact, and tile is
   not read
*/
PETSC_INTERN PetscErrorCode HJOperatorCreate(Mat, DM da, PetscInt overlap, const PetscInt tile[3], const HJBackendOps *, const HJHaloOps *,
                                             HJOperator **, char why[], size_t len);
/* The same, exact, and arrays may stay the matrix's own, which asks more of the caller: see HJStencilCreateInPlace(). measures: couplings
   are found on the way */
PETSC_INTERN PetscErrorCode HJOperatorCreateInPlace(Mat, DM da, const HJBackendOps *, const HJHaloOps *, PetscBool is_box,
                                                    PetscBool measures, HJOperator **, char why[], size_t len);
/* Collective. New values in the coefficients that are there; *kept is false where a new operator must be made */
PETSC_INTERN PetscErrorCode HJOperatorRefresh(HJOperator *, Mat, PetscBool *kept);
/* As HJOperatorCreate(), from a stencil that the caller has made. The operator owns it from then on */
PETSC_INTERN PetscErrorCode HJOperatorCreateFromStencil(DM, const HJGrid *, HJStencil *, PetscInt overlap, const PetscInt tile[3],
                                                        const HJBackendOps *, const HJHaloOps *, HJOperator **);
/* The frames of a plan's depth. Collective when a depth is asked for the first time, as they are made then */
PETSC_INTERN PetscErrorCode HJOperatorGetFrames(HJOperator *, const HJPlan *, HJFrames *);
/* The plan of a run, and the frames of its depth. They hold until the operator or the weights get new values */
typedef struct {
  HJPlan   plan;
  HJFrames frames;
} HJPlanned;

/*
   A run of cycles: what is asked for, and, in the last two, what is answered. What is not asked for is NULL or false.

   its cycles on x; zero: x is not read and starts at 0.
   y: another vector like x, which saves the copy that an odd number of passes ends with: the result is in x, or, where in_y says so, in y.
     The other one is overwritten, or not touched. From 0 the result is in x.
   What the cycles do besides, where y is given, and HJOperatorCorrects(), HJOperatorRestricts() or HJOperatorLeavesResidual() said that
     they can: they begin with x + P c, P the bilinear interpolation of transfer; or, from 0, they end with r = P^T (b - A x) of the
     result, row as in HJCoarser; or, from 0, y gets b - A x of the result. Then done is false, and nothing was done, where a vector is not
     in the backend's memory. Else done is true.
   planned: what HJOperatorPlanRun() has made for a run like this one; NULL: it is made now.
   lies: b, x and y hold the points of this box in place of the rank's own; all are in the backend's memory. With a y HJRestrictPlaces() has
     said that they can, without one HJOperatorPlace(). NULL: the rank's own.
*/
typedef struct {
  PetscInt           its;
  PetscBool          zero;
  Vec                b, x, y;
  const HJTransfer  *transfer;
  Vec                c, r;
  const PetscScalar *row;
  PetscBool          leaves_residual;
  const HJPlanned   *planned;
  const HJBox       *lies;
  PetscBool          in_y, done;
} HJRun;

/* Whether runs without a y can have such vectors; then there is room for it */
PETSC_INTERN PetscErrorCode HJOperatorPlace(HJOperator *, const HJBox *lies, PetscBool *placed);
/* Collective. Plans a run, and allocates what it needs, so that HJOperatorRun() need not. two: it has a y; restricts: it has an r */
PETSC_INTERN PetscErrorCode HJOperatorPlanRun(HJOperator *, HJWeights *, PetscInt its, PetscBool zero, PetscBool two, PetscBool restricts,
                                              HJPlanned *);

PETSC_INTERN PetscErrorCode HJOperatorRun(HJOperator *, HJWeights *, HJRun *);
/* Collective. What was planned, in two arrays of the backend's memory. first: its b, and what the cycles do besides */
PETSC_INTERN PetscErrorCode HJOperatorRunArrays(HJOperator *, HJWeights *, const HJPlanned *, const HJSweep *first, PetscScalar *x,
                                                PetscScalar *y, PetscBool *in_y);
/* The grids of a coarser one */
PETSC_INTERN HJCoarser HJCoarserOf(const HJTransfer *);
/* Collective, set-up only. What sweeps can have to do with the next coarser grid, of da and t, is found for the values that are there */
PETSC_INTERN PetscErrorCode HJOperatorSetUpCoarser(HJOperator *, DM da, const HJTransfer *t);
/* Whether the cycles can begin with x + P c, P the bilinear interpolation of t, where all vectors are in the backend's memory */
PETSC_INTERN PetscBool HJOperatorCorrects(const HJOperator *, const HJWeights *, PetscInt its, const HJTransfer *t);
/* The same of cycles from 0 that end with r = P^T (b - A x) */
PETSC_INTERN PetscBool HJOperatorRestricts(const HJOperator *, const HJWeights *, PetscInt its, const HJTransfer *t);
/* Whether a cycle from 0 can leave its residual too, where all vectors are in the backend's memory */
PETSC_INTERN PetscBool HJOperatorLeavesResidual(const HJOperator *, const HJWeights *);
/* Whether a run that is given a second vector, and does not start at 0, will leave its result there: HJRun's in_y */
PETSC_INTERN PetscBool      HJOperatorSwaps(const HJOperator *, const HJWeights *, PetscInt its);
PETSC_INTERN PetscErrorCode HJOperatorDestroy(HJOperator **);
/* Logs the operations of so many subiterations. zero: the first of them starts from a zero guess, and has fewer */
PETSC_INTERN PetscErrorCode HJOperatorLogFlops(const HJOperator *, PetscCount total, PetscBool zero);

/*
   Collective, set-up only. y = |D^-1 A| x on arrays of owned points in the backend's memory, the diagonal taken as 1 everywhere; x NULL:
   1 at every point. *ratio: the largest y / x, which for a positive x is at least the spectral radius of D^-1 A (Collatz, Wielandt).
   skew, where x is NULL: of A - A^T in place of A, as HJBackendOps says
*/
PETSC_INTERN PetscErrorCode HJOperatorAbsolute(HJOperator *, PetscBool skew, const PetscScalar *x, PetscScalar *y, PetscReal *ratio);

/* The same of |D^-1 A|, but that it does not wait: this rank's largest y / x goes to ratio, see HJMultigridOps' absolute_later() */
PETSC_INTERN PetscErrorCode HJOperatorAbsoluteLater(HJOperator *, const PetscScalar *x, PetscScalar *y, PetscReal *ratio);
/* Which matrix was read, in which state, and the grids that it might be on; 0: none */
typedef struct {
  PetscObjectId    id, dm[2];
  PetscObjectState values, pattern;
} HJMatrixState;

/* PetscObjectStateGet(), which public headers do not give */
typedef PetscErrorCode (*HJGetObjectState)(PetscObject, PetscObjectState *);

/* dm: of whoever uses the matrix, may be NULL */
PETSC_INTERN PetscErrorCode HJMatrixStateGet(Mat, DM dm, HJGetObjectState, HJMatrixState *);
/* Whether they are of one matrix, pattern and grid; values may differ */
PETSC_INTERN PetscBool HJMatrixStateIsSame(const HJMatrixState *, const HJMatrixState *);
/* Whether the state is that of A with the values that it has now */
PETSC_INTERN PetscErrorCode HJMatrixStateIsCurrent(const HJMatrixState *, Mat A, HJGetObjectState, PetscBool *is);

/* A guaranteed bound of the spectral radius of D^-1 A */
typedef struct {
  PetscReal   emax;
  const char *source; /* for views */
} HJBound;

/* Collective. The smaller of Gershgorin's and that of Collatz and Wielandt, or the former alone where it is small, see HJ_BOUND_ENOUGH; not
   finite where the matrix is not */
PETSC_INTERN PetscErrorCode HJBoundOperator(HJOperator *, HJBound *);
/*
   Collective. The same in two steps, so that bounds of several operators wait for the device once: the first starts all the work. slab: it
   is done a part of the grid after another, whose vectors hold so many points, or few planes where these are larger; 0 chooses. room: for
   these vectors, of as many numbers as the rank has points, in the backend's memory; NULL: there is none. The bound depends on neither
*/
PETSC_INTERN PetscErrorCode HJBoundBegin(HJOperator *, PetscCount slab, PetscScalar *room);
PETSC_INTERN PetscErrorCode HJBoundEnd(HJOperator *, HJBound *);
/*
   Collective. A guaranteed bound of the spectral radius of D^-1 (A - A^T) / 2, and so, for a positive diagonal, of the imaginary parts of
   the eigenvalues of D^-1 A. Points whose row is a diagonal alone are left out: others' columns that lead there change no eigenvalue.
   Of several unknowns a point it is an estimate: two components count as if one of them were scaled to be as strongly coupled to the other
   as that is to it, at each point by itself
*/
PETSC_INTERN PetscErrorCode HJBoundSkew(HJOperator *, PetscReal *skew);
/* Collective. HJDiagonalInverse() of A's diagonal, and how many entries of it are zero on all ranks */
PETSC_INTERN PetscErrorCode HJInverseDiagonal(Mat A, Vec *dinv, PetscInt *zeros);
/* HJBoundOperator() through MatMult(); *known is false where A gives no rows. dinv: inverse diagonal, 1 where that is zero */
PETSC_INTERN PetscErrorCode HJBoundMatrix(Mat A, Vec dinv, PetscBool *known, HJBound *);
/* HJBoundSkew() of a matrix that is no stencil; 0 where A gives no rows. Where unknowns of a point are of several kinds nothing tells it */
PETSC_INTERN PetscErrorCode HJBoundSkewMatrix(Mat A, Vec dinv, PetscReal *skew);

#define HJ_ESTIMATE_STEPS 30
#define HJ_LANCZOS_STEPS  3000
/*
   Collective. Estimate of the largest eigenvalue of D^-1 A by GMRES, no bound; dinv: inverse diagonal.
   The start vector is a hash of the global index, where dm is a DMDA of A's layout of the natural index, so that the number of ranks
   does not matter. dm may be NULL: then the DM of A, if it has one. Options: prefix (that of the PC, may be NULL) followed by
   pc_hjacobi_esteig_
*/
PETSC_INTERN PetscErrorCode HJEstimateEmax(Mat A, Vec dinv, DM dm, const char prefix[], PetscReal *emax);
/*
   Collective. How many subiterations of schedule chebyshev on [emin, emax] leave reduction of the error: *least, which may be more than
   HJ_MAX_K. Where emin is PETSC_DECIDE it is estimated first, for a symmetric A, and taken below the estimate: *settled is false where the
   estimate has not settled in HJ_LANCZOS_STEPS steps, or A is not definite, or nearly singular; then it is used with rough alone. Its only
   options are views, with prefix followed by pc_hjacobi_lanczos_
*/
PETSC_INTERN PetscErrorCode HJReductionLeastK(Mat A, Vec dinv, DM dm, const char prefix[], PetscBool rough, PetscReal reduction,
                                              PetscReal emax, PetscReal *emin, PetscReal *least, PetscBool *settled);

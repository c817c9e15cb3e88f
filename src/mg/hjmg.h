/*
   PETSc glue: what PCHJMG remembers. Levels are made of DMDAs, stencil matrices, their interpolation and operators that smooth; products,
   kernels and coefficients are decided in other rooms.

   hjgrids.c makes the levels, with the DMDAs of hjdm.c; hjsetup.c their sweeps; hjcycle.c runs the cycle, hjgraph.c decides when it is
   recorded, hjtranspose.c is the transposed one. hjmg.c has options, view and the manual page, hjsetters.c setters, hjlevellog.c events
   and memory. hjgather.c decides from which level on fewer ranks work, and on how many. hjcoarsest.c solves the coarsest grid by sweeps or
   an inverse; hjsingular.c says what that leaves out where the matrix is singular, hjvoid.c finds points whose equation is then rounding.
   Matrices that want care: hjscale.c scales rows, hjweak.c lifts diagonals that are zero, missing or weak, hjzerorows.c leaves rows of
   zeros alone, hjorder.c sorts the rows of a subdomain.
*/
#pragma once

#include <petsc/private/kspimpl.h>
#include <petsc/private/pcimpl.h>
#include "pchjacobi.h"
#include "core/hjcoefficients.h"
#include "core/hjmultigrid.h"
#include "operator/hjcoarsen.h"
#include "operator/hjfailure.h"
#include "operator/hjmove.h"
#include "operator/hjoperator.h"
#include "operator/hjrestrict.h"
#include "operator/hjtransfers.h"
#include "operator/hjvectors.h"

PETSC_INTERN PetscLogEvent PCHJMG_SetUp, PCHJMG_Cycle;

#define HJ_MG_MAX_LEVELS 64
/* What the sweeps of the coarsest grid leave of the error */
#define HJ_MG_REDUCTION 0.01
/* Where more sweeps than this do there is one more grid */
#define HJ_MG_SWEEPS 200
/* Points whose inverse the CPU makes in less than a millisecond */
#define HJ_MG_INVERSE_SMALL 128
/* Points whose inverse the CPU makes in some 10 milliseconds, as long as it takes to make more levels */
#define HJ_MG_INVERSE_QUICK 350
/* Points whose pseudoinverse the CPU makes in half a second, where nothing else solves the grid */
#define HJ_MG_SVD_MOST 512
/* Smaller singular values of an unsymmetric matrix, as shares of the largest, count as this */
#define HJ_MG_SVD_FLOOR 1e-6
/* Share of the diagonal on the grid above that is rounding */
#define HJ_MG_VOID 1e-10
/* What the inverse may leave of a vector, times the vector: else it is of a singular or too unsymmetric matrix, and sweeps solve */
#define HJ_MG_INVERSE_DEFECT 1e-6
/* Skew part of D^-1 A that is rounding */
#define HJ_MG_SKEW 1e-8
/* Subiterations before and after a correction that are one pass over memory */
#define HJ_MG_K 4
/* Coefficients jump where a fine point is coupled to one of its coarse neighbours 1.5 times as much as to the other, or more */
#define HJ_MG_JUMP 0.2
/* Where coefficients jump at a larger share of points than HJ_MG_ROUGH: as many as take HJ_MG_PART of the work on the finest grid, up to
   HJ_MG_K_MOST and the points of a side; in 3D, where sweeps over 27 points cost more, twice the distance of the grid's points, up to
   HJ_MG_K_MOST_3D. At a larger share than HJ_MG_ROUGHER twice as many */
#define HJ_MG_ROUGH     0.3
#define HJ_MG_ROUGHER   0.6
#define HJ_MG_PART      0.25
#define HJ_MG_K_MOST    64
#define HJ_MG_K_MOST_3D 16
/* Nor where they do so at a larger share of the finest grid's points than this: its own sweeps are too few then */
#define HJ_MG_ROUGH_FINEST 0.4

/* One grid. The finest is level 0 */
typedef struct {
  DM           da; /* distributed like the matrix; the PC's own, but for the finest where the user's will do */
  Mat          A;
  Mat          P; /* interpolation from the next coarser grid; NULL on the coarsest */
  HJOperator  *op;
  HJCoarsening coarsening; /* to the next coarser grid; on the coarsest what it would be */
  HJBound      bound;
  HJWeights    w, rotated; /* rotated: of rotated cycles where these have others, else of 0 subiterations */
  Vec          x, b, r;    /* x and b: not on the finest */
  PetscBool    borrows;    /* b lies in the r of the grid above */
  PetscScalar *memory;     /* of these vectors and those of all grids below that were made at the same time; NULL: in another one's */
  Vec          residual;   /* of transposed cycles, where r is lent; made when one is asked for */
  Mat          At;         /* and its operator; NULL until a transposed cycle is asked for */
  HJOperator  *opt;
  HJRestrict  *restriction; /* of residuals to the next coarser grid; NULL on the coarsest */
  PetscInt     lifted;      /* points that have another diagonal here than in the matrix, see hjweak.c */
  PetscBool    weighted;    /* P has its weights from the rows of A */
  PetscReal    skew;        /* part of D^-1 A of these values; < 0: not found yet */
  PetscInt     safe_k;      /* most subiterations that do not grow, see HJScheduleSafeK() */
  PetscReal    jump;        /* the largest of the coefficients, 0 to 1, see HJJump; < 0: not looked for */
  PetscReal    rough;       /* share of points at which they jump much; 0 where A is not symmetric, and many sweeps may grow */
} HJMGLevel;

/* The finest matrix when it was last looked at: how it is asked, its state, where it lives, and where its arrays were */
typedef struct {
  HJGetMemType       get_memtype;
  HJGetCoefficients  get_coefficients;
  PetscObjectState   state;
  PetscMemType       lives;
  const PetscScalar *place; /* NULL: it has none */
} HJMGSeen;

/* The levels from the last one on, on fewer ranks */
typedef struct _n_HJMGGather *HJMGGather;

/* A PC for rows in another order than the points of their grid */
typedef struct _n_HJMGOrder *HJMGOrder;

/* What was changed since the last set-up; each asks the next set-up for all that those before it ask for */
typedef enum { HJ_MG_CHANGED_NOTHING, HJ_MG_CHANGED_WEIGHTS, HJ_MG_CHANGED_VALUES, HJ_MG_CHANGED_GRIDS } HJMGChange;

/* A cycle, or a part of one, that is run as a whole */
typedef enum {
  HJ_MG_APPLY,        /* a cycle from zero */
  HJ_MG_ADVANCE,      /* a cycle from what x holds */
  HJ_MG_ROTATED,      /* the rotated cycle of KSPRICHARDSON: from the residual on the next grid to the residual there, and its squares */
  HJ_MG_ROTATED_PART, /* the part of such a cycle that is done on fewer ranks: a cycle from zero */
  HJ_MG_START_ZERO,   /* what comes before the first rotated cycle, from zero */
  HJ_MG_START,        /* and from what x holds */
  HJ_MG_TRANSPOSED,   /* the transposed cycle from zero */
  HJ_MG_NKINDS
} HJMGKind;

/* A vector of a step: of its level, or, on the finest grid, one of those that apply was asked for */
typedef enum { HJ_MG_NONE, HJ_MG_B, HJ_MG_X, HJ_MG_Y, HJ_MG_RESIDUAL } HJMGVector;

typedef enum { HJ_MG_SWEEP, HJ_MG_RESTRICT, HJ_MG_CORRECT, HJ_MG_GATHER, HJ_MG_SOLVE } HJMGStepKind;

/* What the sweep of a step does besides: it begins with x + P c; it ends with the right-hand side of the next grid; it leaves b - A x in y */
typedef enum { HJ_MG_ALSO_NOTHING, HJ_MG_ALSO_CORRECTS, HJ_MG_ALSO_RESTRICTS, HJ_MG_ALSO_LEAVES_RESIDUAL } HJMGAlso;

/*
   One operation of a cycle, on one level. Which of its two vectors holds the result of a sweep is known in set-up, and said by the x of the
   steps that follow.

   sweep: its cycles on x, from 0 where zero is true; y is the other vector, or there is none.
   restrict: the next grid's right-hand side from b - A x, by way of y; without x from y as it is.
   correct: x = x + P c, or P c where zero is true, c of the next grid.
   gather: x from a cycle of the levels on fewer ranks; where zero is false x is corrected for its residual, by way of y.
   solve: x from the solve of the coarsest grid.
*/
typedef struct {
  HJMGStepKind kind;
  PetscInt     l;
  HJOperator  *op; /* that of the transposed matrix in a transposed cycle */
  HJWeights   *w;
  PetscInt     its;
  PetscBool    zero, transposed, rotated;
  PetscBool    squares; /* of a restriction: the sum of the squares of this rank's residual is sent too, to mg->squares */
  HJMGAlso     also;
  HJMGVector   x, y, c;
} HJMGStep;

typedef struct {
  PetscInt  n;
  HJMGStep *step;
  PetscBool in_y; /* the result is in y */
} HJMGSteps;

/* What the operators of a hierarchy are like, as far as the numbers of subiterations depend on it. Where a user has set these the kind does
   not matter */
typedef enum {
  HJ_MG_ANY,
  HJ_MG_SYMMETRIC,     /* 3D: the finest is symmetric, and coarsened in all directions, as for those that follow */
  HJ_MG_SMOOTH,        /* 2D and 3D: the finest has an array a coefficient, and nothing jumps */
  HJ_MG_STARS_PARTIAL, /* 3D: stars, but that a direction is not coarsened */
  HJ_MG_STARS,
  HJ_MG_STARS_COPIED, /* 3D: stars, and the solver's matrix is of another type */
  HJ_MG_NOPERATORS
} HJMGOperators;

/* A graph of one kind for two arrays. It is recorded when they come a second time */
#define HJ_MG_GRAPHS 4
typedef struct {
  HJMGKind           kind;
  const PetscScalar *b, *x, *y; /* NULL: the entry is free */
  PetscInt           used;      /* when it was last */
  PetscLogDouble     flops;
  HJGraph            graph; /* NULL: not yet recorded */
} HJMGGraph;

typedef struct {
  /* options: all that stands before "changed", plain values, which a PC on fewer ranks takes over */
  PetscInt          nk, k[HJ_MG_MAX_LEVELS]; /* subiterations, finest grid first, the last number for the rest; nk = 0: found */
  PetscInt          max_levels;              /* PETSC_DECIDE: as many as lead to a small grid */
  PetscInt          rank_points;             /* points a rank below which a level goes to fewer ranks; PETSC_DECIDE: found */
  PetscBool         log;                     /* events of each level */
  PetscBool         graph;                   /* record cycles where that can be */
  PCHJMGCoarseSolve coarse;
  PCHJMGTransfer    transfer;
  PetscBool         galerkin; /* no stars on coarse grids */
  PCHJacobiExchange exchange; /* of halos of sweeps */
  PetscReal         exchange_timeout;
  /* made by set-up */
  HJMGChange    changed;
  PetscBool     stars;          /* the operators of coarse grids are */
  HJMGOperators operators;      /* what the hierarchy's operators are like */
  PetscBool     one_sided;      /* rotated cycles smooth after corrections alone, see HJMGChooseOperators() */
  PetscBool     small_identity; /* the finest matrix has rows that are a diagonal alone and much smaller than the others' */
  HJMatrixState read;
  HJFailure     failure; /* then there are no levels */
  PetscInt      nlevels;
  HJMGLevel     level[HJ_MG_MAX_LEVELS];
  PetscBool     converted;       /* A of the finest level is a copy of the matrix */
  PetscBool     fewer;           /* this is the PC of fewer ranks than another has; */
  PetscBool     converted_above; /* there A is a copy */
  Vec           scale, scaled;   /* 1 / s of the rows, see hjscale.c, and b / s; NULL: none */
  Vec           mask, masked;    /* 0 at rows of zeros, see hjzerorows.c, and a vector times it; NULL: there are none */
  PetscInt      zero_rows;       /* how many */
  PetscBool     unscaled;        /* s was looked for since the grid is what it is, and takes away nothing */
  char          stop[256];       /* why there is no coarser grid */
  PetscBool     stopped;         /* for there sweeps would grow */
  PetscReal     finest;          /* its points, also on fewer ranks; 0: see HJ_MG_ROUGH_FINEST */
  PetscReal     rounding;        /* on fewer ranks HJMGRoundingSum() of the grids above, else 0 */
  PetscInt      base;            /* number of the first level in views: more than 0 on fewer ranks */
  HJMGOrder     order;           /* NULL: there are levels; else this has them, and there are none here */
  HJMGGather    gather;          /* NULL: the last level is the coarsest, and is solved on all ranks */
  HJMGSteps     steps[HJ_MG_NKINDS];
  PetscBool     elsewhere;            /* the last solve by rotated cycles from zero ended in the other vector than it began in */
  PetscBool     settled;              /* the least eigenvalue of the coarsest grid is known, and with it how many sweeps solve it */
  MatNullSpace  constants;            /* of the coarsest grid, where the matrix has the constants in its null space; else NULL */
  KSP           ksp;                  /* the KSP that is being solved, from presolve to postsolve */
  Vec           residual, correction; /* of the solver; made when first needed */
  PetscScalar  *inverse_transposed;   /* made when a transposed cycle is asked for, where there is memory */
  PetscScalar  *inverse;              /* of the coarsest grid, in the backend's memory; NULL: it is solved by sweeps */
  HJNumber      squares;              /* of the residual */
  PetscScalar  *stage;                /* for vectors on the finest grid that lie elsewhere than its operator; NULL: none has come */
  HJMGGraph     graphs[HJ_MG_GRAPHS];
  Vec           copy[2]; /* in place of vectors that do not come again; made when first needed */
  PetscInt      clock;   /* of their use */
  const char   *plain;   /* why cycles are not recorded; NULL: they are */
  HJHalo        fence;   /* of cycles that some rank may replay and another one launch; NULL: none does, or there is one rank */
  HJMGSeen      seen;
} PC_HJMG;

/* Collective. The finest matrix and its DMDA, the coarser grids, interpolations and Galerkin operators; an error where it is no stencil */
PETSC_INTERN PetscErrorCode HJMGMakeGrids(PC);
/* Collective. The grid below the last one, interpolation, Galerkin operator. *made is false where it has none, and mg->stop, or
   mg->failure, says why */
PETSC_INTERN PetscErrorCode HJMGMakeLevel(PC, PetscBool *made);
/* Set-up has failed, as mg->failure says, where a bound of a level's eigenvalues is not finite: Gershgorin's is known as soon as the level
   has its operator, and from a matrix with NaN nothing is decided */
PETSC_INTERN PetscErrorCode HJMGCheckBound(PC_HJMG *, const HJMGLevel *, PetscReal emax);
/* The vectors of all levels that have none */
PETSC_INTERN PetscErrorCode HJMGMakeVectors(PC_HJMG *);
/* Collective. level->skew, once for its values: but for the columns of rows that are a diagonal alone */
PETSC_INTERN PetscErrorCode HJMGFindSkew(const PC_HJMG *, HJMGLevel *);
/* hjvoid.c. Collective. Whether the matrix was said to have the constants in its null space, by that name or by vectors */
PETSC_INTERN PetscErrorCode HJMGToldConstants(PC, PetscBool *told);
/* Collective. Whether a coarse grid is one point whose equation is rounding, as the matrix is singular and nobody said so: its solution
   would be any number */
PETSC_INTERN PetscErrorCode HJMGIsVoid(PC, const HJMGLevel *coarse, PetscBool *is);
/* Collective. Points of a coarse grid that are coupled to no other one and whose equation is rounding get the diagonal of the grid above.
   c: what was measured there, which may say that there are none; NULL: nothing was. *lifted: the level's matrix has other values */
PETSC_INTERN PetscErrorCode HJMGLiftVoids(const HJMGLevel *fine, HJMGLevel *coarse, const HJCoarsening *c, PetscBool *lifted);
/* hjweak.c. Whether a level has points whose diagonal is weak beside their row, or zero: see HJMeasureIsWeak() */
PETSC_INTERN PetscBool HJMGIsWeak(const HJMGLevel *);
/* The same of the last level, where that is on one rank and HJMGSuitsInverse() */
PETSC_INTERN PetscErrorCode HJMGWeakSuitsInverse(const PC_HJMG *, PetscInt most, PetscBool *);
/* Collective. Gives the weak points of a stencil matrix another diagonal, where they are few; else, with zeros, those whose diagonal is 0,
   which arrays cannot hold. *lifted: how many */
PETSC_INTERN PetscErrorCode HJMGLiftWeak(Mat, DM, PetscBool zeros, PetscInt *lifted);
/* Collective. Those of the finest level, in a copy of its matrix; not where its inverse is quickly made and solves it. Makes the operator
   where there is none */
PETSC_INTERN PetscErrorCode HJMGLiftFinest(PC);
/* hjsingular.c. What rounding may have made of an eigenvalue 0 of the coarsest grid's matrix, at most, and as a share of its diagonal.
   Products add up the rounding of all grids above: that of couplings too that coarse grids do not have */
PETSC_INTERN PetscReal HJMGRoundingSum(const PC_HJMG *);
PETSC_INTERN PetscReal HJMGRounding(const PC_HJMG *);
/* In place of the inverse, of n points on one rank, without what is rounding; nothing is done where it would not be good */
PETSC_INTERN PetscErrorCode HJMGMakePseudoinverse(PC, PetscInt n, PetscBool *good);
/* hjzerorows.c. Collective. Rows of zeros of the finest level get a diagonal, in a copy of its matrix: mg->mask */
PETSC_INTERN PetscErrorCode HJMGLeaveZeroRows(PC);
/* hjscale.c. Whether rows may want to be scaled, as the finest level is far from symmetric, and it is not known that they do not */
PETSC_INTERN PetscBool HJMGMayScale(const PC_HJMG *);
/* Collective. Scales the rows of the finest level, in a copy of its matrix, where that makes it much more symmetric: mg->scale */
PETSC_INTERN PetscErrorCode HJMGScaleRows(PC);
/* A vector of the solver times numbers of its rows, mg->scale or mg->mask, in a work vector of the PC */
PETSC_INTERN PetscErrorCode HJMGMultiplyVector(Vec b, Vec factor, Vec product);
/* Collective. How many subiterations are safe on a level whose eigenvalues are up to emax */
PETSC_INTERN PetscErrorCode HJMGFindSafeK(const PC_HJMG *, HJMGLevel *, PetscReal emax);
/* Collective. New values in the matrices that are there */
PETSC_INTERN PetscErrorCode HJMGRefreshGrids(PC);
PETSC_INTERN PetscErrorCode HJMGDestroyGrids(PC_HJMG *);
/* hjorder.c. Whether the rows of a subdomain are in another order than the points of its DMDA: mg->order then does what the PC does */
PETSC_INTERN PetscErrorCode HJMGOrderMake(PC, PetscBool *made);
PETSC_INTERN PetscErrorCode HJMGOrderDestroy(PC);
PETSC_INTERN PetscErrorCode HJMGOrderGetLevels(HJMGOrder, PetscInt *);
/* hjmg.c. What a PC does that has levels of its own */
PETSC_INTERN void HJMGSetOperations(PC);
/* hjdm.c. Sets up a DMDA of the PC's own, without ghosts, whose matrices are stencil matrices and take the options of the user's DMDA */
PETSC_INTERN PetscErrorCode HJMGSetUpDM(DM like, VecType, DM);
/* Whether the operators of coarse grids are to be stars. Collective */
PETSC_INTERN PetscErrorCode HJMGWantsStars(PC_HJMG *, PetscBool *);
/* What is known of the symmetry of a level's matrix is true of the other one */
PETSC_INTERN PetscErrorCode HJMGPassSymmetry(const HJMGLevel *, Mat to);
/* Collective. The operator that smooths, in the memory where the finest matrix is; it reads the matrix, and names what is no stencil */
PETSC_INTERN PetscErrorCode HJMGMakeOperator(PC, Mat A, DM, HJOperator **);
/* What transposed cycles need; made again when one is asked for */
PETSC_INTERN PetscErrorCode HJMGDestroyTranspose(PC_HJMG *);
/* Lines of a view: each level, and why the last is the coarsest */
PETSC_INTERN PetscErrorCode HJMGViewLevels(const PC_HJMG *, PetscViewer);

/* hjlevellog.c. Events of set-up of a level; of the cycle, which goes from one level to another one, -1: none. Nothing without mg->log */
PETSC_INTERN PetscErrorCode HJMGLogSetUp(const PC_HJMG *, PetscInt l, PetscBool begin);
PETSC_INTERN PetscErrorCode HJMGLogMove(const PC_HJMG *, PetscInt from, PetscInt to);
/* On this rank: matrices, coefficients of sweeps, and vectors of all levels, without the matrix of the PC */
PETSC_INTERN PetscErrorCode HJMGBytes(const PC_HJMG *, PetscReal *);

/* hjgather.c. Whether the last level goes to fewer ranks, and how many in each direction: for it has few points, or, where it has no
   coarser grid (coarsest), for its ranks have so few in some direction, or one rank can solve it where sweeps would grow. The same on all
   ranks */
PETSC_INTERN PetscErrorCode HJMGGatherChoose(const PC_HJMG *, PetscBool coarsest, PetscInt nranks[3], PetscBool *gather);
/* Collective, as all that follow. Hands the last level to so many ranks in each direction, which must be fewer */
PETSC_INTERN PetscErrorCode HJMGGatherCreate(PC, const PetscInt nranks[3]);
/* The values of the last level's matrix; nothing is done where it stays on all ranks */
PETSC_INTERN PetscErrorCode HJMGGatherRefresh(PC);
/* The levels on fewer ranks are set up, with the options of the PC. Where that fails it has failed on all ranks: mg->failure */
PETSC_INTERN PetscErrorCode HJMGGatherSetUp(PC);
/* Why a cycle with these levels is not recorded on this rank; NULL: it can be */
PETSC_INTERN const char *HJMGGatherPlain(const HJMGGather);
/* x = one cycle of that kind, of the last level and all below, from zero; x may be b */
PETSC_INTERN PetscErrorCode HJMGGatherApply(HJMGGather, HJMGKind, Vec b, Vec x);
/* HJMGSolveRotated() by the ranks that have the level, which is the finest; the others test with them */
PETSC_INTERN PetscErrorCode HJMGGatherSolve(HJMGGather, KSP, Vec b, Vec x, PetscInt its, PetscBool zero, PetscInt *it);
PETSC_INTERN PetscErrorCode HJMGGatherView(const HJMGGather, PetscViewer);
/* Adds those of this rank there */
PETSC_INTERN PetscErrorCode HJMGGatherBytes(const HJMGGather, PetscReal *);
PETSC_INTERN PetscErrorCode HJMGGatherDestroy(HJMGGather *);
/* Levels there, with the one that was handed over */
PETSC_INTERN PetscInt HJMGGatherLevels(const HJMGGather);

/* hjsweeps.c. mg->operators and mg->one_sided, by the finest grid */
PETSC_INTERN void HJMGChooseOperators(PC_HJMG *);
/* The weights of a level for plain cycles, and for rotated ones where these have others */
PETSC_INTERN PetscErrorCode HJMGSetUpSweeps(const PC_HJMG *, HJMGLevel *);
/* Those of a coarsest grid that no number of subiterations is known to solve: a smoother's */
PETSC_INTERN PetscErrorCode HJMGSetUpCoarsestSweeps(const PC_HJMG *, HJMGLevel *);
/* What to do about a matrix so unsymmetric that the subiterations of a level are not safe; empty where they are */
PETSC_INTERN PetscErrorCode HJMGAdviseK(const PC_HJMG *, const HJMGLevel *, char words[], size_t len);
/* hjsetters.c: options that say how a cycle runs */
PETSC_INTERN PetscErrorCode HJMGComposeHow(PC, PetscBool on);
PETSC_INTERN PetscErrorCode HJMGSetFromOptionsHow(PC, HJOptionItems);
/* Whether the coarsest grid may be solved by the inverse of its matrix, on one rank: it has at most so many points, or the user wants it.
   The same on all backends. HJ_DENSE_MAX: there is no other way */
PETSC_INTERN PetscBool HJMGSuitsInverse(const PC_HJMG *, PetscInt most);
/* Makes it. mg->inverse is NULL where there is none */
PETSC_INTERN PetscErrorCode HJMGSetUpInverse(PC, PetscInt most);
/* x = the coarsest grid's solution, or that of its transpose, set up; x is read where zero is false */
PETSC_INTERN PetscErrorCode HJMGSolveCoarsest(PC_HJMG *, PetscBool transposed, PetscBool zero, Vec b, Vec x);
/* hjsteps.c. The lists of steps for the operators and weights that are there; that of the transposed cycle */
PETSC_INTERN PetscErrorCode HJMGMakeSteps(PC_HJMG *);
PETSC_INTERN PetscErrorCode HJMGMakeTransposedSteps(PC_HJMG *);
PETSC_INTERN PetscErrorCode HJMGDestroySteps(PC_HJMG *);
/* Runs the steps of a kind, one by one. y is overwritten, and holds the result where the list says so */
PETSC_INTERN PetscErrorCode HJMGLaunch(PC_HJMG *, HJMGKind, Vec b, Vec x, Vec y);
/* The same, by replaying them where they are recorded */
PETSC_INTERN PetscErrorCode HJMGReplay(PC, HJMGKind, Vec b, Vec x, Vec y);
/* Whether cycles can be recorded, for views; forgets all that are */
PETSC_INTERN PetscErrorCode HJMGSetUpGraphs(PC);
PETSC_INTERN PetscErrorCode HJMGDestroyGraphs(PC_HJMG *);
/* hjsetup.c. Points of a level, of all ranks */
PETSC_INTERN PetscReal      HJMGPoints(const HJMGLevel *);
PETSC_INTERN PetscErrorCode PCSetUp_HJMG(PC);
/* Before a cycle. Where the matrix itself is that of the finest grid, products read the values that it has now: if these have changed since
   set-up, as they may where the preconditioner is used again, the smoother of the finest grid gets them too. Coarse grids do not. Graphs are
   forgotten where arrays have moved */
PETSC_INTERN PetscErrorCode HJMGFollow(PC);
/* hjcycle.c. Rotated cycles until the KSP's test stops them. The KSP may have more ranks than the PC */
PETSC_INTERN PetscErrorCode HJMGSolveRotated(PC, KSP, Vec b, Vec x, PetscInt its, PetscBool zero, PetscInt *it);
/* Collective on the KSP. Its test of the residual that was begun; pc: NULL on ranks that have none of it, which the first has */
PETSC_INTERN PetscErrorCode HJMGTestResidual(PC pc, KSP, PetscInt it);
/* Begins the sum of the squares of a vector on the finest grid */
PETSC_INTERN PetscErrorCode HJMGSquares(PC_HJMG *, Vec);
/* x = one cycle of that kind, with what rows that are scaled or zero ask for besides */
PETSC_INTERN PetscErrorCode HJMGRun(PC, HJMGKind, Vec b, Vec x);
/* Levels that there are, with those on fewer ranks */
PETSC_INTERN PetscInt       HJMGCountLevels(const PC_HJMG *);
PETSC_INTERN PetscErrorCode PCApply_HJMG(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCApplyTranspose_HJMG(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCApplyRichardson_HJMG(PC, Vec, Vec, Vec, PetscReal, PetscReal, PetscReal, PetscInt, PetscBool, PetscInt *,
                                                   PCRichardsonConvergedReason *);

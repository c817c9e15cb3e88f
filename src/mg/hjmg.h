/* SPDX-License-Identifier: BSD-2-Clause */
/*
   What PCHJMG remembers. A level is a DMDA with a stencil matrix, the interpolation from the next coarser level, and an operator that
   smooths; a cycle is a list of steps on the levels. Decides which levels there are, how many sweeps each has, how the last one is solved.

   Options, views: hjmg.c, hjmgsetters.c, hjmgview.c, hjlevellog.c. Set-up: hjmgsetup.c (what is made anew), hjgrids.c, hjdm.c, hjlevel.c,
   hjsweeps.c, hjlines.c, hjtranspose.c, hjgather.c (fewer ranks). Cycles: hjsteps.c (lists), hjmggraph.c (recorded), hjmgcycle.c (apply),
   hjmgnorm.c, hjprecision.c (single precision). The last grid: hjcoarsest.c, hjfactor.c (factored), hjsingular.c (singular), hjvoid.c
   (points that are rounding). Matrices that want care: hjskew.c, hjflow.c, hjflowscale.c, hjapart.c, hjexact.c (convection), hjscale.c,
   hjscaletree.c (scales of rows), hjweak.c (weak diagonals), hjzerorows.c, hjorder.c (order of rows), hjinside.c (boundary rows),
   hjstars.c (coarse stars), hjslant.c (directions between x and y).
   Several unknowns a point: hjmgsystem.c, hjcomponents.c (that are not coupled).
*/
#pragma once

#include <petsc/private/kspimpl.h>
#include <petsc/private/pcimpl.h>
#include "pchjacobi.h"
#include "core/hjcoefficients.h"
#include "core/hjmultigrid.h"
#include "operator/hjcoarsen.h"
#include "operator/hjfailure.h"
#include "operator/hjkrylov.h"
#include "operator/hjmove.h"
#include "operator/hjoperator.h"
#include "operator/hjrestrictions.h"
#include "operator/hjrounded.h"
#include "operator/hjtransfers.h"
#include "operator/hjvectors.h"

PETSC_INTERN PetscLogEvent PCHJMG_SetUp, PCHJMG_Cycle;

#define HJ_MG_MAX_LEVELS 64
/* The sweeps of the coarsest grid leave so much of the error */
#define HJ_MG_REDUCTION 0.01
/* If the coarsest grid needs more sweeps than this to be solved, a coarser one is made below it */
#define HJ_MG_SWEEPS 200
/* The CPU inverts the matrix of so many points in less than a millisecond */
#define HJ_MG_INVERSE_SMALL 128
/* The CPU inverts the matrix of so many points in some 10 milliseconds, as long as it takes to make more levels */
#define HJ_MG_INVERSE_QUICK 350
/* The CPU makes the pseudoinverse of so many points in half a second. It is taken where nothing else solves the grid */
#define HJ_MG_SVD_MOST 512
/* The inverse of an unsymmetric matrix is not taken where a singular value is a smaller share of the largest one. A pseudoinverse takes
   those below the floor for that share: what a coarse grid makes of a singular vector is not what the finest one would, and a left
   preconditioned residual is measured by it */
#define HJ_MG_SVD_LEAST HJ_BY_PRECISION(1e-5, 1e-4)
#define HJ_MG_SVD_FLOOR 1e-3
/* What the pseudoinverse may then leave of a vector, times the vector, in rows and columns of any scale */
#define HJ_MG_SVD_DEFECT 1e-3
/* What is a smaller share of the diagonal of the grid above is rounding */
#define HJ_MG_VOID HJ_BY_PRECISION(1e-10, 1e-5)
/* The inverse times the matrix may change a vector by this share of it. Where it changes it by more the matrix is singular or too
   unsymmetric, and sweeps solve the grid. Factors are of definite matrices, and with contrasts of 1e9 change it by 1e-6 */
#define HJ_MG_INVERSE_DEFECT HJ_BY_PRECISION(1e-6, 1e-3)
#define HJ_MG_FACTOR_DEFECT  HJ_BY_PRECISION(1e-4, 1e-3)
/* A cycle that makes a vector so many times larger hides from a left Krylov method what it should solve */
#define HJ_MG_HIDES 100.0
/* A smaller skew part of D^-1 A is rounding: the matrix counts as symmetric */
#define HJ_MG_SKEW HJ_BY_PRECISION(1e-8, 1e-4)
/* So many subiterations are one pass over memory */
#define HJ_MG_K 4
/* Coefficients jump at a fine point that is coupled to one of its two coarse neighbours at least 1.5 times as much as to the other: the
   difference of the couplings is then this share of their sum */
#define HJ_MG_JUMP 0.2
/* The largest jump of a finest grid on which cycles are tried before they are trusted, see hjfactor.c */
#define HJ_MG_UNEVEN 0.9
/*
   A coarse grid is rough where coefficients jump at a larger share of its points than HJ_MG_ROUGH. It then has as many subiterations as
   take HJ_MG_PART of the work on the finest grid, but not more than HJ_MG_K_MOST, nor than a side has points. In 3D, where sweeps over
   27 points cost more, it has twice as many as its points are apart, counted in points of the finest grid, but not more than
   HJ_MG_K_MOST_3D. Where the share is larger than HJ_MG_ROUGHER it has twice these numbers. Where the finest grid itself is rough at a
   larger share of its points than HJ_MG_ROUGH_FINEST, or the next one than HJ_MG_ROUGHER, others take their place, see HJMGRoughSweeps()
*/
#define HJ_MG_ROUGH        0.3
#define HJ_MG_ROUGHER      0.6
#define HJ_MG_ROUGH_FINEST 0.4
#define HJ_MG_PART         0.25
#define HJ_MG_K_MOST       64
#define HJ_MG_K_MOST_3D    16
/* Where HJMGTurns() is more than HJ_MG_TURNS a grid has more subiterations, up to so many, see HJMGTurningSweeps() */
#define HJ_MG_TURNS 0.25
/* Where mg->slant is at least so much levels have more, see HJMGSlantingSweeps() */
#define HJ_MG_SLANT          3.0
#define HJ_MG_K_MOST_TURNING 64

/* Factors and weights of lines, see hjlines.c */
typedef struct _n_HJMGLines *HJMGLines;

/* One grid. The finest is level 0 */
typedef struct {
  DM          da; /* has the points and the ranks of the matrix. It is the PC's own, but on the finest level the user's where that serves */
  Mat         A;
  Mat         P;           /* interpolation from the next coarser grid; NULL on the coarsest */
  Mat         R;           /* its transpose restricts where that of P does not, see hjexact.c; else NULL */
  HJOperator *op;          /* smooths with A */
  HJCoarsening coarsening; /* how the next coarser grid is made; on the coarsest how it would be */
  HJBound      bound;      /* of the eigenvalues of D^-1 A */
  HJWeights    w;          /* of the smoother in plain cycles */
  HJWeights    rotated;    /* of the smoother in rotated cycles, where that has others; else k is 0 */
  Vec          x, b, r;    /* the finest level has r alone: its x and b are those of apply */
  PetscBool    borrows;    /* b is in the memory of the r of the grid above */
  PetscScalar *memory;     /* block that holds the vectors of this level and of those below it that were made at the same time; else NULL */
  Vec          residual;   /* for transposed cycles, where the grid below borrows r; made when such a cycle is first asked for */
  Mat          At;         /* for transposed cycles: the transpose of A, and its operator; made at the same time */
  HJOperator  *opt;
  HJMGLines    lines;        /* smooth in place of w and rotated; NULL: points do */
  HJRestrict  *restriction;  /* of residuals to the next coarser grid; NULL on the coarsest */
  PetscInt     lifted;       /* so many points have another diagonal here than in the matrix, see hjweak.c */
  PetscBool    follows_rows; /* P follows the rows of A */
  PetscReal    skew;         /* bound of the skew part of D^-1 A; < 0: not yet found for these values */
  PetscReal    skew_rows;    /* the same before a better bound of it is looked for */
  PetscBool    flows;        /* convection: see hjflow.c */
  PetscReal    tried;        /* of a coarse level: with this share of the usual weight subiterations were seen to grow nothing; 0: with
                                none; < 0: none was tried */
  PetscInt     safe_k;       /* with more subiterations than this the smoother may grow, see HJScheduleSafeK() */
  PetscReal    jump;         /* the largest jump of the coefficients, 0 to 1, see HJJump; < 0: not looked for */
  PetscReal    rough;        /* share of the points at which they jump much; 0 where A is not symmetric, as many sweeps may grow then */
} HJMGLevel;

/* What was last seen of the finest matrix, and the functions that it is asked by */
typedef struct {
  HJGetMemType       get_memtype;
  HJGetCoefficients  get_coefficients;
  PetscObjectState   state;
  PetscMemType       lives; /* memory in which the matrix is */
  const PetscScalar *place; /* of its arrays; NULL: it has none */
} HJMGSeen;

/* The last level and all below it, on fewer ranks */
typedef struct _n_HJMGGather *HJMGGather;

/* A PC for a matrix whose rows are in another order than the points of their grid */
typedef struct _n_HJMGOrder *HJMGOrder;

/* Cycles in single precision */
typedef struct _n_HJMGSingle *HJMGSingle;

/* The points inside layers whose rows are a diagonal alone */
typedef struct _n_HJMGInside *HJMGInside;

/* The hierarchy of a matrix with several unknowns a point */
typedef struct _n_HJMGSystem *HJMGSystem;

/* What was changed since the last set-up. The next one does for each of these all that it does for those before it */
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
  /* In single precision, see hjprecision.c: a preconditioner's; a solver's first one, x being 0; being what it is; a later one */
  HJ_MG_SINGLE_APPLY,
  HJ_MG_SINGLE_ZERO,
  HJ_MG_SINGLE_FIRST,
  HJ_MG_SINGLE_NEXT,
  HJ_MG_NKINDS
} HJMGKind;

/* A vector of a step: of its level, or, on the finest grid, one of those that apply was asked for */
typedef enum { HJ_MG_NONE, HJ_MG_B, HJ_MG_X, HJ_MG_Y, HJ_MG_RESIDUAL } HJMGVector;

typedef enum { HJ_MG_SWEEP, HJ_MG_RESTRICT, HJ_MG_CORRECT, HJ_MG_GATHER, HJ_MG_SOLVE } HJMGStepKind;

/* What the sweep of a step does besides: it begins with x + P c; ends with the next grid's right-hand side; leaves b - A x in y */
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
  PetscBool    after;   /* of a sweep: it comes after a correction */
  PetscBool    squares; /* of a restriction: the sum of the squares of this rank's residual is sent too, to mg->squares */
  HJMGAlso     also;
  HJMGVector   x, y, c;
  HJPlanned    planned; /* of a sweep, or a solve by sweeps */
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

/* A cycle of some kind on three arrays. Its graph is recorded when the arrays come a second time */
#define HJ_MG_GRAPHS      4
#define HJ_MG_GRAPHS_MOST 16
typedef struct {
  HJMGKind           kind;
  const PetscScalar *b, *x, *y; /* NULL: the entry is free */
  PetscInt           used;      /* the time of its last use, as counted by the clock of the PC */
  PetscLogDouble     flops;
  HJGraph            graph; /* NULL: not yet recorded */
} HJMGGraph;

typedef struct _n_HJMG {
  /* Options. A PC on fewer ranks gets a copy of all that stands before "changed": plain values alone */
  PetscInt          nk, k[HJ_MG_MAX_LEVELS]; /* subiterations, finest grid first, the last number for the rest; nk = 0: found */
  PetscInt          max_levels;              /* PETSC_DECIDE: as many as lead to a small grid */
  PetscInt          rank_points;             /* a level with fewer points a rank goes to fewer ranks; PETSC_DECIDE: found */
  PetscBool         log;                     /* each level has events */
  PetscBool         graph;                   /* cycles are recorded where that can be */
  PCHJMGCoarseSolve coarse;
  PCHJMGTransfer    transfer;
  PCHJMGSmoother    smoother;
  PCHJMGPrecision   precision;
  PetscBool         galerkin; /* coarse operators are never stars */
  PCHJacobiExchange exchange; /* of halos of sweeps */
  PetscReal         exchange_timeout;
  /* What set-up decides, of the grids and of the cycle */
  HJMGChange    changed;
  HJMatrixState read;    /* the matrix that was set up */
  HJFailure     failure; /* of set-up: then there are no levels */
  PetscInt      nlevels;
  HJMGLevel     level[HJ_MG_MAX_LEVELS];
  char          stop[256];      /* why there is no coarser grid */
  PetscBool     stopped;        /* one was made, and found to be of no use: sweeps would grow there, or it has no good diagonal */
  PetscBool     stars;          /* the operators of coarse grids are stars */
  HJMGOperators operators;      /* what the operators are like */
  PetscBool     one_sided;      /* rotated cycles smooth after corrections alone, see HJMGChooseOperators() */
  PetscReal     slant;          /* how far the strong direction of the finest grid lies from x and y: see hjslant.c; 0: not */
  PetscBool     definite;       /* the diagonal of the finest is positive and dominates: no eigenvalue is negative */
  PetscBool     small_identity; /* some rows of the finest matrix are a diagonal alone, and much smaller than the others */
  PetscBool     settled;        /* it is known how many sweeps solve the coarsest grid, as its least eigenvalue is */
  MatNullSpace  constants;      /* of the coarsest grid, where the matrix has the constants in its null space; else NULL */
  Vec           shares;         /* see HJMGSetUpShares(); NULL where no sweeps solve a grid without constants */
  PetscReal     finest;         /* points of the finest grid, also on fewer ranks; 0: it is rough, see HJ_MG_ROUGH_FINEST */
  PetscBool     uneven;         /* its coefficients jump by much, or there are walls in it, see HJ_MG_UNEVEN */
  PetscBool     cut;            /* the last grid could be coarsened, but is factored, see hjfactor.c */
  PetscReal     rounding;       /* on fewer ranks HJMGRoundingSum() of the grids above, else 0 */
  /* What becomes of the finest matrix */
  PetscBool  converted;     /* A of the finest level is a copy of the matrix */
  Vec        scale, scaled; /* 1 / s for each row, see hjscale.c, hjflowscale.c, and b / s; NULL: rows are not scaled */
  PetscReal  unscaled;      /* since the grids were made a scale was looked for, and does not pay for a skew part so large; 0: none was,
                                or it pays */
  Vec        mask, masked;  /* 0 at rows of zeros, else 1, see hjzerorows.c, and a vector times it; NULL: there are no such rows */
  PetscInt   zero_rows;     /* how many these are */
  HJMGInside inside;        /* not NULL: the grids are those of the points inside, see hjinside.c */
  PetscBool  placed;        /* then: cycles from zero run on vectors of the whole grid too, */
  PetscBool  all_placed;    /* and those from x and of solves; */
  HJBox      lies;          /* they hold these points, */
  Vec        other;         /* and take turns with this one, whose known points are those of the last solve */
  HJMGSeen   seen;
  HJMGOrder  order;  /* not NULL: this has the levels, and there are none here */
  HJMGSystem system; /* the same */
  /* Fewer ranks */
  HJMGGather gather;          /* not NULL: it has the last level and all below. NULL: the last level is solved on all ranks */
  PetscBool  on_fewer_ranks;  /* this PC has the last level of one with more ranks, */
  PetscBool  converted_above; /* of which the finest matrix is a copy, */
  PetscInt   base;            /* and which has so many levels above */
  PetscBool  grows;           /* cycles make a vector much larger, whatever is done about it */
  PetscBool  flows_apart; /* inside parts that are strong beside what couples them: levels that flow are smoothed before corrections too */
  PetscBool  inexact;     /* its finest grid is not HJMGIsOfFinest() */
  /* Cycles */
  HJMGSteps    steps[HJ_MG_NKINDS];
  PetscScalar *inverse;              /* of the coarsest grid's matrix, in the backend's memory; NULL: sweeps solve it */
  Mat          factor;               /* of the coarsest grid's matrix, which solves it; NULL: the inverse does, or sweeps */
  PetscScalar *inverse_transposed;   /* made when a transposed cycle is first asked for, where there is memory */
  PetscScalar *stage;                /* for vectors on the finest grid that are not in the operator's memory; NULL: none has come */
  KSP          ksp;                  /* the KSP that is being solved, from presolve to postsolve */
  Vec          residual, correction; /* of the solver; made when first needed */
  HJNumber     squares;              /* sum of the squares of the residual */
  PetscBool    ended_in_y;           /* the last solve by rotated cycles from zero ended in the other vector than it began in */
  /* Precision */
  HJMGSingle  single;     /* not NULL: cycles from zero are run in single precision, but for their residuals */
  const char *not_single; /* why they are not */
  PetscBool   flexible;   /* the KSP that is being solved takes another preconditioner in each iteration */
  /* Graphs */
  HJMGGraph   graphs[HJ_MG_GRAPHS_MOST];
  PetscInt    ngraphs;      /* so many of them may be there */
  PetscInt    clock;        /* counts their uses */
  Vec         copy[2];      /* take the place of vectors that do not come again; made when first needed */
  const char *not_recorded; /* why cycles are not recorded; NULL: they are */
  PetscBool   started;      /* cycles of these grids have run on the GPU, see HJMGStart() */
  HJHalo      fence;        /* where one rank may replay a cycle that another one launches; NULL: none does, or there is one rank */
  /* HJMGSingleLaunch(), for HJMGLaunch(); HJMGRun() and HJMGSolveRotated(), for the PC that has handed its last level to this one */
  PetscErrorCode (*launch_single)(struct _n_HJMG *, HJMGKind, Vec b, Vec x, Vec y);
  PetscErrorCode (*run)(PC, HJMGKind, PetscBool transposed, Vec b, Vec x);
  PetscErrorCode (*solve)(PC, KSP, const HJIterates *, Vec b, Vec x, PetscInt its, PetscBool zero, const PetscReal *first, PetscInt *it);
} PC_HJMG;

/* Collective. The finest matrix and its DMDA, the coarser grids, interpolations and Galerkin operators; an error where it is no stencil */
PETSC_INTERN PetscErrorCode HJMGMakeGrids(PC);
/* Collective. The grid below the last one, interpolation, Galerkin operator. *made is false where it has none, and mg->stop, or
   mg->failure, says why */
PETSC_INTERN PetscErrorCode HJMGMakeLevel(PC, PetscBool *made);
/* Sets mg->failure where a bound of a level's eigenvalues is not finite. Gershgorin's bound is known as soon as the level has its operator:
   it is looked at then, as nothing can be decided from a matrix with NaN */
PETSC_INTERN PetscErrorCode HJMGCheckBound(PC_HJMG *, const HJMGLevel *, PetscReal emax);
/* Makes the vectors of all levels that have none */
PETSC_INTERN PetscErrorCode HJMGMakeVectors(PC_HJMG *);
/* hjflow.c. Whether polynomials grow on a level whose skew part is known, and equal weights do not: level->flows */
PETSC_INTERN PetscErrorCode HJMGFindFlow(const PC_HJMG *, HJMGLevel *);
/* With more subiterations than this the smoother of such a level, whose eigenvalues are up to emax, may grow */
PETSC_INTERN PetscInt       HJMGFlowSafeK(const PC_HJMG *, const HJMGLevel *, PetscReal emax);
PETSC_INTERN PetscErrorCode HJMGSetUpFlowSweeps(const PC_HJMG *, HJMGLevel *);
/* hjapart.c. Collective. mg->flows_apart and mg->grows of the values that the matrix has now, for which steps of cycles are made anew */
PETSC_INTERN PetscErrorCode HJMGFlowFindApart(PC);
/* hjexact.c. Collective. Gives the finer of two grids of one direction, whose matrix is unsymmetric, an exact interpolation, which is
   there with other coefficients, and level->R; else *made is false */
PETSC_INTERN PetscErrorCode HJMGMakeExactTransfer(const PC_HJMG *, HJMGLevel *, DM coarse, PetscBool *made);
/* How often a cycle comes to a level */
PETSC_INTERN PetscInt HJMGFlowVisits(const PC_HJMG *, PetscInt l);
/* hjskew.c. Collective. level->skew of the values that the matrix has now */
PETSC_INTERN PetscErrorCode HJMGRenewSkew(HJMGLevel *);
/* Collective. Finds level->skew, once for its values. Columns that belong to rows of the diagonal alone are left out */
PETSC_INTERN PetscErrorCode HJMGFindSkew(const PC_HJMG *, HJMGLevel *);
/* The same of skew_rows alone */
PETSC_INTERN PetscErrorCode HJMGFindSkewOfRows(const PC_HJMG *, HJMGLevel *);
/* hjvoid.c. Collective. Whether the matrix was said to have the constants in its null space, by that name or by vectors */
PETSC_INTERN PetscErrorCode HJMGToldConstants(PC, PetscBool *told);
/* Collective. Whether a null space has a vector, which is overwritten */
PETSC_INTERN PetscErrorCode HJMGNullSpaceHas(MatNullSpace, Vec, PetscBool *has);
/* Collective. Whether a coarse grid is one point whose equation is rounding, as it is of a singular matrix of which nobody said so: the
   solution would be any number */
PETSC_INTERN PetscErrorCode HJMGIsVoid(PC, const HJMGLevel *coarse, PetscBool *is);
/* Collective. Points of a coarse grid that are coupled to no other one and whose equation is rounding get the diagonal of the grid above.
   c: what was measured of the coarse grid, which may say that there are no such points; NULL: nothing was measured. *lifted: the level's
   matrix has got other values */
PETSC_INTERN PetscErrorCode HJMGLiftVoids(const HJMGLevel *fine, HJMGLevel *coarse, const HJCoarsening *c, PetscBool *lifted);
/* hjweak.c. Whether a level has points whose diagonal is weak beside their row, or zero: see HJMeasureIsWeak() */
PETSC_INTERN PetscBool HJMGIsWeak(const HJMGLevel *);
/* Whether the last level is so, is on one rank, and HJMGSuitsInverse() */
PETSC_INTERN PetscErrorCode HJMGWeakSuitsInverse(const PC_HJMG *, PetscInt most, PetscBool *);
/* Collective. Gives the weak points of a stencil matrix another diagonal, where they are few. Where they are many, and zeros is true, it
   gives one to those alone whose diagonal is 0, which arrays cannot hold. *lifted: to how many points */
PETSC_INTERN PetscErrorCode HJMGLiftWeak(Mat, DM, PetscBool zeros, PetscInt *lifted);
/* Collective. Does so to the weak points of the finest level, in a copy of its matrix, unless the inverse of the matrix is quickly made and
   solves it. Makes the operator where there is none */
PETSC_INTERN PetscErrorCode HJMGLiftFinest(PC);
/* hjsingular.c. The most that rounding may have made of an eigenvalue 0 of the coarsest grid's matrix, as it is and as a share of the
   diagonal. Products add up the rounding of all grids above, also that of couplings which coarse grids do not have */
PETSC_INTERN PetscReal HJMGRoundingSum(const PC_HJMG *);
PETSC_INTERN PetscReal HJMGRounding(const PC_HJMG *);
/* Makes a pseudoinverse in place of the inverse, of n points on one rank, which leaves out what is rounding. *good is false, and nothing
   was done, where it would not be good */
PETSC_INTERN PetscErrorCode HJMGMakePseudoinverse(PC, PetscInt n, PetscBool *good);
/* hjzerorows.c. Collective. Rows of zeros of the finest level get a diagonal, in a copy of its matrix: mg->mask */
PETSC_INTERN PetscErrorCode HJMGLeaveZeroRows(PC);
/* hjscale.c. Whether scaled rows may pay: the finest level is far from symmetric, and it is not known yet that they do not */
PETSC_INTERN PetscBool HJMGMayScale(const PC_HJMG *);
/* Collective. Scales the rows of the finest level, in a copy of its matrix, where that makes it much more symmetric, or where a flow's rows
   are very different: mg->scale */
PETSC_INTERN PetscErrorCode HJMGScaleRows(PC);
/* hjflowscale.c. Collective. Whether the rows of a finest level, which is known to flow or not, are to be scaled, and by what */
PETSC_INTERN PetscErrorCode HJMGFlowWantsScale(const PC_HJMG *, const HJMGLevel *, PetscBool *wants);
PETSC_INTERN PetscErrorCode HJMGMakeFlowScale(const HJMGLevel *, Vec *scale);
/* hjscaletree.c. Logarithms of s at this rank's points, of mean 0 where these hang together, that pairs of entries of the same sign in A
   and A^T say one after another: log|a_ij / a_ji| is log(s_i) - log(s_j) */
PETSC_INTERN PetscErrorCode HJMGScaleAlongTree(const HJGrid *, const HJCoefficients *a, Vec logs);
/* Collective. Whether each entry, which has none of another rank, makes a pair, and rows times scale are those of a symmetric matrix but
   for so much of an entry; count: how many pairs each row has */
PETSC_INTERN PetscErrorCode HJMGScaleAgrees(const HJGrid *, const HJCoefficients *a, PetscReal rounding, Vec scale, Vec count,
                                            PetscBool *agrees);
PETSC_INTERN PetscReal      HJMGLogQuotient(PetscReal a, PetscReal b);
/* Collective. For such entries: sums over them of the squares of differences of x, and of these times those of y */
PETSC_INTERN PetscErrorCode HJMGScaleCompare(const HJGrid *, const HJCoefficients *a, Vec x, Vec y, PetscReal *squares, PetscReal *product);
/* product, a work vector of the PC, becomes a vector of the solver times mg->scale or mg->mask, row by row */
PETSC_INTERN PetscErrorCode HJMGMultiplyVector(Vec b, Vec factor, Vec product);
/* Collective. Finds level->safe_k of a level whose eigenvalues are up to emax */
PETSC_INTERN PetscErrorCode HJMGFindSafeK(const PC_HJMG *, HJMGLevel *, PetscReal emax);
/* Collective. Fills the matrices that are there with new values, or makes all anew where these lead to other grids */
PETSC_INTERN PetscErrorCode HJMGRefreshGrids(PC);
PETSC_INTERN PetscErrorCode HJMGDestroyGrids(PC_HJMG *);
/* Level l becomes the last one. Nothing solves it yet */
PETSC_INTERN PetscErrorCode HJMGCutGrids(PC_HJMG *, PetscInt l);
/* hjorder.c. *made: the rows of a subdomain are in another order than the points of its DMDA, and mg->order does what the PC does */
PETSC_INTERN PetscErrorCode HJMGOrderMake(PC, PetscBool *made);
PETSC_INTERN PetscErrorCode HJMGOrderDestroy(PC);
/* Collective. made: the matrix has several unknowns a point, and mg->system its levels; hjmgsystem.c */
PETSC_INTERN PetscErrorCode HJMGSystemMake(PC, PetscBool *made);
/* The factors of a matrix whose cycles grow, with any number of unknowns a point, in place of the grids; large ones stay as they are */
PETSC_INTERN PetscErrorCode HJMGSystemMakeAlone(PC);
PETSC_INTERN PetscErrorCode HJMGSystemDestroy(PC);
PETSC_INTERN PetscInt       HJMGSystemLevels(HJMGSystem);
/* Before a KSP solves with it, and after that */
PETSC_INTERN PetscErrorCode HJMGSystemPreSolve(HJMGSystem, KSP, PetscBool post);
/* Its cycles, as of KSPRICHARDSON without a norm, where components are alone, else *done is false */
PETSC_INTERN PetscErrorCode HJMGSystemAdvance(PC, Vec b, Vec x, PetscInt its, PetscBool zero, PetscBool *done);
/* Whether components are alone and have rotated cycles; then these, until the KSP's test of the residual stops them. Cycle 0 was tested */
PETSC_INTERN PetscErrorCode HJMGSystemRotates(PC, PetscBool *rotates);
PETSC_INTERN PetscErrorCode HJMGSystemSolve(PC, KSP, Vec b, Vec x, PetscInt its, PetscBool zero, PetscInt *it);
PETSC_INTERN PC             HJMGOrderPC(HJMGOrder);
/* What a PC does that has one of these */
PETSC_INTERN PetscErrorCode PCApply_HJMGOrder(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCApplyTranspose_HJMGOrder(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCView_HJMGOrder(PC, PetscViewer);
PETSC_INTERN PetscErrorCode PCApply_HJMGSystem(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCApplyTranspose_HJMGSystem(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCView_HJMGSystem(PC, PetscViewer);
/* hjsystemsafe.c. Collective. Whether the factors of the last grid are good, those of its KSP that PCLU or PCREDUNDANT has made; factors of
   the same with a larger diagonal */
PETSC_INTERN PetscErrorCode HJMGFactorsAreGood(KSP, PetscBool *good);
PETSC_INTERN PetscErrorCode HJMGLiftFactors(KSP);
/* Whether one cycle after the other makes an error larger */
PETSC_INTERN PetscErrorCode HJMGCycleGrows(PC, Mat A, PetscBool *grows);
/* hjsystemknown.c. Collective. A vector of the rows of a stencil matrix with several unknowns a point: 0 at points whose rows have nothing
   of other points, else 1; NULL: there are no such points */
PETSC_INTERN PetscErrorCode HJMGFindKnownPoints(Mat A, Vec *mask);
PETSC_INTERN PetscErrorCode HJMGKnownPointsAreSame(Vec, Vec, PetscBool *same);
/* hjdm.c. Sets up a DMDA of the PC's own, without ghosts, whose matrices are stencil matrices and take the options of the user's DMDA */
PETSC_INTERN PetscErrorCode HJMGSetUpDM(DM like, VecType, DM);
/* Whether the operators of coarse grids are to be stars. Collective */
PETSC_INTERN PetscErrorCode HJMGWantsStars(PC_HJMG *, PetscBool *);
/* hjlevel.c. Whether a level's matrix is the finest one, or what exact elimination leaves of it: its inverse makes no more of a vector than
   that of the finest one does */
PETSC_INTERN PetscBool HJMGIsOfFinest(const PC_HJMG *, const HJMGLevel *);
/* The points of a level, on all ranks */
PETSC_INTERN PetscReal HJMGPoints(const HJMGLevel *);
/* Says of the other matrix what is known of the symmetry of a level's matrix */
PETSC_INTERN PetscErrorCode HJMGPassSymmetry(const HJMGLevel *, Mat to);
/* Collective. The error where the matrix is no stencil: why it is none, and what to use instead */
PETSC_INTERN PetscErrorCode HJMGRefuse(PC, const char why[]);
/* Collective. Makes the operator that smooths with a matrix, in the memory in which the finest matrix is. An error that says why where the
   matrix is no stencil */
PETSC_INTERN PetscErrorCode HJMGMakeOperator(PC, Mat A, DM, HJOperator **);
/* NULL and a reason in its place */
PETSC_INTERN PetscErrorCode HJMGTryOperator(PC, Mat A, DM, HJOperator **, char why[], size_t);
/* hjtranspose.c. Makes what transposed cycles need, where it is not there, or destroys it */
PETSC_INTERN PetscErrorCode HJMGSetUpTranspose(PC);
PETSC_INTERN PetscErrorCode HJMGDestroyTranspose(PC_HJMG *);
/* The inverse of the coarsest grid, transposed, by way of the host; to may be where it lies */
PETSC_INTERN PetscErrorCode HJMGTransposeInverse(const PC_HJMG *, PetscScalar *to);

/* hjlevellog.c. Begins or ends the event of a level's set-up; ends the event of the level that a cycle leaves and begins that of the level
   that it goes to, -1: there is none. Neither does anything without mg->log */
PETSC_INTERN PetscErrorCode HJMGLogSetUp(const PC_HJMG *, PetscInt l, PetscBool begin);
PETSC_INTERN PetscErrorCode HJMGLogMove(const PC_HJMG *, PetscInt from, PetscInt to);

/* hjgather.c. Whether the last level goes to fewer ranks, and to how many in each direction, the same on all ranks. It goes where it has
   few points. A level without a coarser grid (coarsest) goes where its ranks are too thin for one, or where one rank can solve it by an
   inverse */
PETSC_INTERN PetscErrorCode HJMGGatherChoose(const PC_HJMG *, PetscBool coarsest, PetscInt nranks[3], PetscBool *gather);
/* Hands the last level to so many ranks in each direction, which must be fewer. Collective, as all that follow */
PETSC_INTERN PetscErrorCode HJMGGatherCreate(PC, const PetscInt nranks[3]);
/* Hands over the values of the last level's matrix. Nothing is done where that stays on all ranks */
PETSC_INTERN PetscErrorCode HJMGGatherRefresh(PC);
/* Sets up the levels on fewer ranks, with the options of the PC. Where that fails mg->failure says so on all ranks */
PETSC_INTERN PetscErrorCode HJMGGatherSetUp(PC);
/* Collective. Why cycles with these levels are not recorded; NULL: they can be. The words are of a rank, whether there are any is not */
PETSC_INTERN PetscErrorCode HJMGGatherNotRecorded(const HJMGGather, MPI_Comm, const char **why);
/* x = one cycle of that kind, of the last level and all below, from zero; x may be b */
PETSC_INTERN PetscErrorCode HJMGGatherApply(HJMGGather, HJMGKind, Vec b, Vec x);
/* For a PC whose finest level is handed over: HJMGSolveRotated() on the ranks that have the level. The others take part in its tests */
PETSC_INTERN PetscErrorCode HJMGGatherSolve(HJMGGather, KSP, Vec b, Vec x, PetscInt its, PetscBool zero, PetscInt *it);
/* view() of those levels, on the ranks that have them */
PETSC_INTERN PetscErrorCode HJMGGatherView(const HJMGGather, PetscErrorCode (*view)(const PC_HJMG *, PetscViewer), PetscViewer);
/* What has those levels on this rank, NULL: there are none, and bytes beside them */
PETSC_INTERN PetscErrorCode HJMGGatherGetBelow(const HJMGGather, const PC_HJMG **, PetscReal *bytes);
PETSC_INTERN PetscErrorCode HJMGGatherDestroy(HJMGGather *);
/* Levels that there are, with those on fewer ranks */
PETSC_INTERN PetscInt HJMGCountLevels(const PC_HJMG *);

/* hjslant.c. Collective. Measures mg->slant; on a GPU it is 0 */
PETSC_INTERN PetscErrorCode HJMGFindSlant(PC_HJMG *);
/* hjsweeps.c. Decides mg->operators and mg->one_sided, by the finest grid */
PETSC_INTERN void HJMGChooseOperators(PC_HJMG *);
/* HJCoarsenTurns() of a level, or 0 where the operators are such that no direction is weak */
PETSC_INTERN PetscReal HJMGTurns(const PC_HJMG *, const HJMGLevel *);
/* Makes the weights of a level for plain cycles, and for rotated ones where these have others */
PETSC_INTERN PetscErrorCode HJMGSetUpSweeps(const PC_HJMG *, HJMGLevel *);
/* Makes those of a coarsest grid that no number of subiterations is known to solve, which is smoothed then */
PETSC_INTERN PetscErrorCode HJMGSetUpCoarsestSweeps(const PC_HJMG *, HJMGLevel *);
/* Says what to do about a matrix so unsymmetric that the subiterations of a level are not safe. Empty where they are safe */
PETSC_INTERN PetscErrorCode HJMGAdviseK(const PC_HJMG *, const HJMGLevel *, char words[], size_t len);
/* hjlines.c. Collective. Where lines along a direction that is split are to smooth a level that was measured, it is not coarsened */
PETSC_INTERN PetscErrorCode HJMGLinesSplit(const PC_HJMG *, HJMGLevel *, HJCoarsening *);
/* Collective. Makes the lines of a level with the values that it has now, where it is to be smoothed by lines, else none */
PETSC_INTERN PetscErrorCode HJMGLinesSetUp(const PC_HJMG *, HJMGLevel *);
/* Their subiterations on x, of b, with A or its transpose, from 0 where zero is true; after a correction directions come in the other
   order. r is overwritten */
PETSC_INTERN PetscErrorCode HJMGLinesRun(HJMGLines, Mat A, PetscBool after, PetscBool zero, Vec b, Vec x, Vec r);
/* Whether a level has them */
PETSC_INTERN PetscBool HJMGHasLines(const PC_HJMG *);
/* Bytes of their factors on this rank; NULL: 0 */
PETSC_INTERN PetscReal      HJMGLinesBytes(HJMGLines);
PETSC_INTERN PetscErrorCode HJMGLinesView(const HJMGLevel *, PetscViewer);
PETSC_INTERN PetscErrorCode HJMGLinesDestroy(HJMGLines *);
/* hjmgsetters.c */
PETSC_INTERN PetscErrorCode HJMGComposeSetters(PC, PetscBool on);
/* hjmgview.c */
PETSC_INTERN PetscErrorCode PCView_HJMG(PC, PetscViewer);
/* hjcoarsest.c. Whether the coarsest grid may be solved by the inverse of its matrix, on one rank: it has at most so many points, or the
   user wants it. The same on all backends. HJ_DENSE_MAX: there is no other way to solve it */
PETSC_INTERN PetscBool HJMGSuitsInverse(const PC_HJMG *, PetscInt most);
/* Makes the inverse. mg->inverse is NULL where there is none */
PETSC_INTERN PetscErrorCode HJMGSetUpInverse(PC, PetscInt most);
/* Whether what solves the last grid does so; constants: A has the constants in its null space, and nobody said so */
PETSC_INTERN PetscErrorCode HJMGCheckInverse(PC_HJMG *, HJMGLevel *, PetscReal defect, PetscBool *good, PetscBool *constants);
/* hjfactor.c. Makes the factors of the last grid's matrix. mg->factor is NULL where it has none, or something else is to solve it */
PETSC_INTERN PetscErrorCode HJMGSetUpFactor(PC_HJMG *);
/* Where cycles on coarse grids converge slowly one of these that may be factored becomes the last one. The lists of steps are there */
PETSC_INTERN PetscErrorCode HJMGCutSlow(PC);
/* Finds what takes constants out of what sweeps of the last grid read and leave, once it is known what solves it */
PETSC_INTERN PetscErrorCode HJMGSetUpShares(PC_HJMG *);
/* A vector of random numbers, of which each eigenvector has a share; the same on each rank */
PETSC_INTERN PetscErrorCode HJMGFillRough(const HJBackendOps *, Vec);
/* x becomes the solution of the coarsest grid's system, or of its transpose, as far as a cycle needs it. Sweeps begin from what x holds
   where zero is false */
PETSC_INTERN PetscErrorCode HJMGSolveCoarsest(PC_HJMG *, PetscBool transposed, PetscBool zero, const HJPlanned *, Vec b, Vec x);
/* hjsteps.c. Makes the lists of steps for the operators and weights that are there; the list of the transposed cycle */
PETSC_INTERN PetscErrorCode HJMGMakeSteps(PC_HJMG *);
PETSC_INTERN PetscErrorCode HJMGMakeTransposedSteps(PC_HJMG *);
/* Whether cycles from zero, and all others too, work on b, x and y of the finest grid that hold more points than that: HJRun's lies */
PETSC_INTERN PetscErrorCode HJMGStepsPlaced(const PC_HJMG *, PetscBool *zero, PetscBool *all);
/* The lists of cycles in single precision, of operators of these levels */
PETSC_INTERN PetscErrorCode HJMGMakeSingleSteps(PC_HJMG *, const HJRounded[]);
PETSC_INTERN PetscErrorCode HJMGDestroySteps(PC_HJMG *);
/* Prints how many steps a cycle has, and what sweeps do besides */
PETSC_INTERN PetscErrorCode HJMGViewSteps(const PC_HJMG *, PetscViewer);
/* Runs the steps of a kind, one by one. y is overwritten, and holds the result where the list says so */
PETSC_INTERN PetscErrorCode HJMGLaunch(PC_HJMG *, HJMGKind, Vec b, Vec x, Vec y);
/* The smoothing before the first correction, and the residual that this correction is for. The result may be in the other vector, as that
   of every cycle that follows */
PETSC_INTERN PetscErrorCode HJMGRotatedStart(PC_HJMG *, HJMGKind, Vec b, Vec *x, Vec *y);
static inline void          HJMGSwapVectorsIf(PetscBool swaps, Vec *x, Vec *y)
{
  const Vec was = *x;

  if (!swaps) return;
  *x = *y;
  *y = was;
}
/* Which points of the finest grid a vector that cycles run on holds, as HJRun says: NULL: its own */
static inline PetscErrorCode HJMGGetLies(const PC_HJMG *mg, Vec v, const HJBox **lies)
{
  PetscInt n;

  PetscFunctionBegin;
  *lies = NULL;
  if (!mg->placed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(v, &n));
  if (n == HJBoxSize(&mg->lies)) *lies = &mg->lies;
  PetscFunctionReturn(PETSC_SUCCESS);
}
/* The matrix of such a vector, and the other one of the two that a cycle takes turns with; either may be NULL */
static inline PetscErrorCode HJMGGetFinest(PC pc, Vec v, Mat *A, Vec *y)
{
  const PC_HJMG *mg = (PC_HJMG *)pc->data;
  const HJBox   *lies;

  PetscFunctionBegin;
  PetscCall(HJMGGetLies(mg, v, &lies));
  if (A) *A = lies ? pc->mat : mg->level[0].A;
  if (y) *y = lies ? mg->other : mg->level[0].r;
  PetscFunctionReturn(PETSC_SUCCESS);
}
/* One step; those of the finest grid need vectors that none is given for here */
PETSC_INTERN PetscErrorCode HJMGRunCoarseStep(PC_HJMG *, const HJMGStep *);
/* hjprecision.c. Collective. Makes what cycles in single precision need, of the levels, weights and steps that are there, or nothing, and
   says why: mg->single, mg->not_single */
PETSC_INTERN PetscErrorCode HJMGSingleSetUp(PC);
/* Collective. The same of auto, where a KSP is about to solve that this suits */
PETSC_INTERN PetscErrorCode HJMGSingleSetUpLater(PC);
PETSC_INTERN PetscErrorCode HJMGSingleDestroy(PC_HJMG *);
/* Whether a KSP takes a preconditioner that rounds as single precision does, and has the answer that it would have with another; of auto
   those alone that single is quicker for */
PETSC_INTERN PetscErrorCode HJMGSingleSuits(const PC_HJMG *, KSP, PetscBool *);
/* Whether cycles are in single precision now: those of a preconditioner, from zero, and those of HJMGSingleSolve() */
PETSC_INTERN PetscBool HJMGIsSingle(const PC_HJMG *);
/* Collective. x = a cycle for b. *done is false, and the PC goes on in double from then on, where its numbers leave the range of single
   ones */
PETSC_INTERN PetscErrorCode HJMGSingleApply(PC, Vec b, Vec x, PetscBool *done);
/* Whether a solver's cycles do not wait for a device: they are launched by HJMGLaunch() for a residual that HJMGSingleBegin() was given,
   with x and y in turns. The squares of the residual that one leaves are sent to mg->squares */
PETSC_INTERN PetscBool      HJMGSingleIsLaunched(const PC_HJMG *);
PETSC_INTERN PetscErrorCode HJMGSingleBegin(PC_HJMG *, Vec r);
PETSC_INTERN PetscErrorCode HJMGSingleLaunch(PC_HJMG *, HJMGKind, Vec b, Vec x, Vec y);
/* From now on, until the next set-up, cycles are double */
PETSC_INTERN PetscErrorCode HJMGSingleLeave(PC, const char why[]);
/* Cycles one after the other that do not make the residual smaller, before that */
#define HJ_MG_SINGLE_PATIENCE 3
#define HJ_MG_SINGLE_RANGE    "numbers leave the range of single ones"
#define HJ_MG_SINGLE_STUCK    "the residual did not fall"
/* Collective. The loop of KSPRICHARDSON with such cycles: the arguments of HJMGSolveRotated(), but that it goes on after cycle *it. tested:
   the norm of the iterate that is there was tested already */
PETSC_INTERN PetscErrorCode HJMGSingleSolve(PC, KSP, const HJIterates *, Vec b, Vec x, PetscInt its, PetscBool zero, PetscBool tested,
                                            const PetscReal *first, PetscInt *it);
PETSC_INTERN PetscReal      HJMGSingleBytes(const PC_HJMG *);
PETSC_INTERN PetscErrorCode HJMGSingleView(const PC_HJMG *, PetscViewer);
/* hjmggraph.c. The same, by replaying the graph of these vectors where there is one */
PETSC_INTERN PetscErrorCode HJMGReplay(PC, HJMGKind, Vec b, Vec x, Vec y);
/* Finds whether cycles can be recorded, and forgets all that are */
PETSC_INTERN PetscErrorCode HJMGSetUpGraphs(PC);
PETSC_INTERN PetscErrorCode HJMGDestroyGraphs(PC_HJMG *);
/* PETSc's own measurement of GPU time is on, and waits for each kernel */
PETSC_INTERN PetscBool HJMGIsTimed(void);
/* Records what launch does, and the flops that it logs. *graph stays NULL, and *why says why, where it cannot be; an error may then have
   left locks on vectors that launch has used, which HJMGUnlock() takes back to those that were there */
PETSC_INTERN PetscErrorCode HJMGCapture(const HJMultigridOps *, PetscErrorCode (*launch)(void *), void *ctx, HJGraph *graph,
                                        PetscLogDouble *flops, const char **why);
PETSC_INTERN PetscErrorCode HJMGUnlock(Vec, PetscInt was);
/* hjmgsetup.c. Set-up, of what is here or of what does it in the PC's place */
PETSC_INTERN PetscErrorCode HJMGSetUp(PC);
/* Before a cycle. Where the matrix itself is that of the finest grid, products read the values that it has now: if these have changed since
   set-up, as they may where the preconditioner is used again, the smoother of the finest grid gets them too. Coarse grids do not. Graphs
   are forgotten where arrays have moved */
PETSC_INTERN PetscErrorCode HJMGFollow(PC);
/* hjmgcycle.c. Rotated cycles until the KSP's test stops them. The KSP may have more ranks than the PC. first: the norm before the first
   cycle, of more than b and x, where there is more than one level; NULL: it is that of b and x */
PETSC_INTERN PetscErrorCode HJMGSolveRotated(PC, KSP, const HJIterates *, Vec b, Vec x, PetscInt its, PetscBool zero,
                                             const PetscReal *first, PetscInt *it);
/* x = one cycle of that kind, with what rows that are scaled, zero or left out ask for besides. transposed: of the transposed matrix, which
   of symmetric levels is HJ_MG_APPLY on them */
PETSC_INTERN PetscErrorCode HJMGRun(PC, HJMGKind, PetscBool transposed, Vec b, Vec x);
/* hjmgnorm.c. Collective on the KSP. Its test of the residual whose squares were begun: b - A x, or b where x is NULL; work may be
   overwritten. pc: NULL on ranks that have none of it, which the first has */
PETSC_INTERN PetscErrorCode HJMGTestResidual(PC pc, KSP, PetscInt it, Vec b, Vec x, Vec work);
/* Collective on the PC. Waits for these squares. The norm is that of all ranks' values, of b - A x, or where x is NULL of b. work may be
   overwritten */
PETSC_INTERN PetscErrorCode HJMGNorm(PC, Vec b, Vec x, Vec work, PetscReal *norm);
/* The norm of b - A x on the finest grid, or of b where x is NULL, from the sum of all its squares. Where that may have lost digits it is
   found once more, and work overwritten: VecNorm() sums up squares too */
PETSC_INTERN PetscErrorCode HJMGNormOfSquares(Mat A, PetscReal squares, Vec b, Vec x, Vec work, PetscReal *norm);
PETSC_INTERN PetscErrorCode HJMGNormOfAnySize(Vec, PetscReal *norm);
/* What KSPRICHARDSON does at cycle it: it sets its norm, calls its monitors, logs its history and calls its convergence function */
PETSC_INTERN PetscErrorCode HJMGTest(KSP, PetscInt it, PetscReal norm);
/* Begins the sum of the squares of a vector on the finest grid */
PETSC_INTERN PetscErrorCode HJMGSquares(PC_HJMG *, Vec);
/* hjinside.c. Leaves out layers whose rows are a diagonal alone: level 0 is then a copy, on the grid of the points inside. With backends
   that can. Collective, as all that follow */
PETSC_INTERN PetscErrorCode HJMGLeaveKnownRows(PC, const HJBackendOps *);
/* New values of the matrix in level 0; *same is false where its layers are others */
PETSC_INTERN PetscErrorCode HJMGInsideRefresh(PC, PetscBool *same);
/* Has known points follow Pmat's values, where the preconditioner is used again */
PETSC_INTERN PetscErrorCode HJMGInsideFollow(PC);
PETSC_INTERN PetscErrorCode HJMGInsideDestroy(HJMGInside *);
/* Cycles of the steps that there are need no copies of the points inside, where HJMGStepsPlaced() says so: they run on vectors of the whole
   grid, mg->placed */
PETSC_INTERN PetscErrorCode HJMGInsidePlace(PC, PetscBool zero, PetscBool all);
/* Whether they do for these, whose known points they leave as they are; x is not read where zero is true */
PETSC_INTERN PetscErrorCode HJMGInsideServes(HJMGInside, Vec b, Vec x, PetscBool zero, PetscBool *serves);
/* x gets the solution of b at known points */
PETSC_INTERN PetscErrorCode HJMGInsideSetKnown(HJMGInside, Vec b, Vec x);
/* The vectors that a cycle inside has, from b and, where zero is false, x; and what becomes of x. transposed: of a transposed cycle */
PETSC_INTERN PetscErrorCode HJMGInsideEnter(PC, PetscBool transposed, PetscBool zero, Vec b, Vec x, Vec *inner_b, Vec *inner_x);
PETSC_INTERN PetscErrorCode HJMGInsideLeave(PC, PetscBool transposed, Vec b, Vec x);
/* Whether any known point's unknown is not yet what it will be; x NULL: zeros. Collective */
PETSC_INTERN PetscErrorCode HJMGInsideDiffers(HJMGInside, Vec b, Vec x, PetscBool *differs);
PETSC_INTERN PetscErrorCode HJMGInsideView(const PC_HJMG *, PetscViewer);
/* Of this rank, but for level 0 itself */
PETSC_INTERN PetscReal HJMGInsideBytes(const HJMGInside);
/* Whether the solver's products are with a matrix of another type */
PETSC_INTERN PetscBool      HJMGIsCopied(const PC_HJMG *);
PETSC_INTERN PetscErrorCode PCApply_HJMG(PC, Vec, Vec);
PETSC_INTERN PetscErrorCode PCApplyTranspose_HJMG(PC, Vec, Vec);
/* HJGetSystem and HJRichardson of hjkrylov.h */
PETSC_INTERN PetscErrorCode HJMGGetSystem(PC, Mat *);
PETSC_INTERN PetscErrorCode HJMGRichardson(PC, const HJIterates *, Vec, Vec, Vec, PetscInt, PetscBool, PetscInt *,
                                           PCRichardsonConvergedReason *);
PETSC_INTERN PetscErrorCode PCApplyRichardson_HJMG(PC, Vec, Vec, Vec, PetscReal, PetscReal, PetscReal, PetscInt, PetscBool, PetscInt *,
                                                   PCRichardsonConvergedReason *);

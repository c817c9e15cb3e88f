/* SPDX-License-Identifier: BSD-2-Clause */
/*
   The subiterations of each level: how many there are before and after a correction, and which polynomial their weights belong to. A table
   says it, and two corrections by what was measured of the level; or the user has said it.
*/
#include "hjmg.h"

/* Subiterations of a level. The coarse grid reaches what is smooth, so that weights of first kind are for the part of the spectrum from the
   largest eigenvalue divided by ratio on. Where ratio is 0 weights are of fourth kind, which need the bound alone. Where roots are given
   they are those of the polynomial, as shares of the bound, in place of either */
typedef struct {
  PetscInt         k;
  PetscReal        ratio;
  const PetscReal *roots;
} HJMGSweeps;

/*
   Roots in Leja's order, found by search near those of first kind for 5 smooth coefficients times 5 right-hand sides.

   In 2D, 129 to 1025 points a side, CG takes 0.06 to 0.08 of an iteration less than by first kind for eigenvalues down to a sixth of the
   bound, and 9 of these 100 take a fifth iteration in place of 25. The polynomial is 0.16 at the bound in place of 0.05, and smaller at the
   lower end, where more of the error is.

   In 3D CG takes 4.78 and 4.79 iterations on 33 and 65 points a side; by first kind 4.88, with 4 subiterations on coarse grids 4.86 and
   4.87. The largest shares on coarse grids are low, as the bounds of products are a fifth above their eigenvalues. At the bound the
   polynomials are -0.25, -0.93 and -0.21, so that cycles are definite whatever the eigenvalues are
*/
static const PetscReal HJMGPlaneRoots[] = {0.93, 0.15, 0.5, 0.78, 0.26, 0.68};
static const PetscReal HJMGRoots3D[][3] = {{0.93, 0.257, 0.465}, {0.832, 0.21, 0.45}, {0.813, 0.293, 0.723}};

/* clang-format off */
#define K(n) {.k = n}
/* clang-format on */

/*
   By dimension, operators of the hierarchy, plain or rotated cycles, and the finest grid, the next one, those below. Of a rotated cycle the
   finest grid's are what lies between two corrections, where cycles smooth after corrections alone (one polynomial), else half of it.

   Four subiterations are one pass over memory. Stars approximate less well than products, which more subiterations make up for; on coarse
   grids they cost little.

   2D, stars: passes of 6 and 8 cost little more than shorter ones, and CG takes 4 iterations in place of 5. 7 on the next grid keep them
   and take two thirds of the time of 8 there, which need more registers than a thread has.

   2D, smooth coefficients: a pass of 6 reads no more than one of 4, and CG takes 4 iterations in place of 5. Of the numbers and ratios that
   do so these take the least time on an H200, at 4097^2. Weights of first kind on the finest grid leave next to no margin below 4, see the
   roots.

   3D, stars: a pass has 2 on the second grid, and CG takes as many iterations with 4 there, and 5 below, as with 6. Where the matrix is a
   copy the solver's product with another type of matrix takes a third of an iteration, and fewer iterations with more subiterations each
   take less time. Of the numbers and ratios tried on 24 to 257 points a side those in the table are the cheapest with which CG takes 4
   iterations to 1e-8 for every right-hand side that was tried; with 6 on the second grid some took a fifth one.

   3D, smooth coefficients: a pass over a star has 3 subiterations on a GPU. Over the 14 arrays of a box it has 2, and from zero the first
   one costs next to nothing, so that 3 are two passes after a correction and little more than one before it
*/
/* clang-format off */
static const HJMGSweeps HJMGTable[3][HJ_MG_NOPERATORS][2][3] = {
  {
    [HJ_MG_ANY] = {{K(4), K(4), K(4)}, {K(4), K(4), K(4)}}
  },
  {
    [HJ_MG_ANY]    = {{K(4), K(4), K(4)}, {K(4), K(4), K(4)}},
    [HJ_MG_SMOOTH] = {{{.k = 6, .roots = HJMGPlaneRoots}, {.k = 4, .ratio = 14}, {.k = 4, .ratio = 14}}, {K(4), K(4), K(4)}},
    [HJ_MG_STARS]  = {{K(6), K(7), K(8)}, {K(4), K(6), K(6)}}
  },
  {
    [HJ_MG_ANY]           = {{K(4), K(4), K(4)}, {K(4), K(4), K(4)}},
    [HJ_MG_SYMMETRIC]     = {{K(4), K(4), K(4)}, {{.k = 8, .ratio = 12}, K(4), K(4)}},
    [HJ_MG_SMOOTH]        = {{{.k = 3, .roots = HJMGRoots3D[0]}, {.k = 3, .roots = HJMGRoots3D[1]}, {.k = 3, .roots = HJMGRoots3D[2]}},
                             {{.k = 6, .ratio = 7}, K(4), K(4)}},
    [HJ_MG_STARS_PARTIAL] = {{K(4), K(4), K(5)}, {K(4), K(6), K(6)}},
    [HJ_MG_STARS]         = {{K(4), K(4), K(5)}, {{.k = 8, .ratio = 12}, K(8), K(10)}},
    [HJ_MG_STARS_COPIED]  = {{{.k = 7, .ratio = 14}, K(8), K(8)}, {{.k = 8, .ratio = 12}, K(8), K(10)}}
  }
};
#undef K
/* clang-format on */

/* More subiterations are measured, and what they may then make larger, see HJMGCalmSweeps(): 6 on each of five levels hid an answer */
#define HJ_MG_K_FEW  8
#define HJ_MG_GROWTH 2

/* Whether coefficients jump at most points of the finest grid, or of the next one; a PC on fewer ranks has heard of it */
static PetscBool HJMGFinestIsRough(const PC_HJMG *mg)
{
  return (PetscBool)(!mg->stars && (mg->base || mg->nlevels > 1) && mg->finest == 0.0);
}

/*
   Decided by the finest grid, also for the levels on fewer ranks.

   Rotated cycles need not be symmetric, and in 3D, where coarse operators of 27 points cost nearly as much as the finest grid, smoothing
   after corrections alone pays: half the subiterations on coarse grids and no residual there, for as many cycles. What lies between two
   corrections on the finest grid is then one polynomial. Where a direction is not coarsened that takes up to twice as many cycles. A number
   that the user sets is that of symmetric cycles
*/
void HJMGChooseOperators(PC_HJMG *mg)
{
  const HJMGLevel *level = &mg->level[0];
  const HJGrid    *grid  = &level->op->grid;
  const PetscBool  space = (PetscBool)(grid->dim == 3), copied = HJMGIsCopied(mg);
  const PetscBool  arrays = (PetscBool)(level->op->stencil->storage != HJ_DICTIONARY);
  PetscBool        full;

  if (mg->base) return;
  full = (PetscBool)(!mg->nk && level->skew <= HJ_MG_SKEW && level->safe_k >= HJ_MG_K && !HJCoarsenIsPartial(grid, &level->coarsening) &&
                     HJCoarsenTurns(&level->coarsening) < HJ_MG_TURNS && !HJMGFinestIsRough(mg));
  mg->one_sided = (PetscBool)(full && space);
  if (mg->stars) mg->operators = !space ? HJ_MG_STARS : !full ? HJ_MG_STARS_PARTIAL : copied ? HJ_MG_STARS_COPIED : HJ_MG_STARS;
  else if (!full || grid->dim == 1) mg->operators = HJ_MG_ANY;
  else if (arrays && level->jump <= HJ_MG_JUMP) mg->operators = HJ_MG_SMOOTH;
  else mg->operators = space ? HJ_MG_SYMMETRIC : HJ_MG_ANY;
}

/* Of a finest grid on which no direction is weak none is on coarser ones: beside walls the entries of products cancel along the wall, and
   what is left of them says nothing. (257^3 with smooth coefficients had 20 subiterations on the third grid, a tenth of a GPU's time) */
PetscReal HJMGTurns(const PC_HJMG *mg, const HJMGLevel *level)
{
  const PetscBool even = (PetscBool)(mg->operators == HJ_MG_SMOOTH || mg->operators == HJ_MG_STARS || mg->operators == HJ_MG_STARS_COPIED);

  return even ? 0.0 : HJCoarsenTurns(&level->coarsening);
}

/* The correction for convection: no more subiterations than are safe */
static HJMGSweeps HJMGSafeSweeps(const HJMGLevel *level, HJMGSweeps s)
{
  return level->safe_k < HJ_MG_K ? (HJMGSweeps){PetscMax(level->safe_k, 1), 0, NULL} : s;
}

/*
   The correction for a strong direction that is another one in another part of the grid. Where a direction that is coarsened is r times
   weaker than the strongest one, errors that are rough in it hardly feel k subiterations where k is much smaller than the root of r. On
   grids whose spacing grows by 1.15 from cell to cell, or whose strong direction turns, 4 and 8 for each unit of the mean of that root
   take 5 to 10 iterations of CG. Twice as many save few of them
*/
static HJMGSweeps HJMGTurningSweeps(const PC_HJMG *mg, const HJMGLevel *level, HJMGSweeps s)
{
  const PetscReal turns = HJMGTurns(mg, level);
  const PetscInt  k     = HJ_MG_K * (PetscInt)(PetscMin(1.0 + 2.0 * turns, HJ_MG_K_MOST_TURNING / HJ_MG_K) + 0.5);

  return turns < HJ_MG_TURNS || k <= s.k || k > level->safe_k ? s : (HJMGSweeps){k, 0, NULL};
}

/*
   The correction for a strong direction between x and y, along which coarse grids correct too little: most of their couplings go past it.
   Of bilinear elements whose strong direction lies at 30 and 45 degrees CG takes with 4 on all levels, and with these

     ratio   257^2                  513^2
     1e2     12, 14 -> 7, 8         16, 18 -> 8, 10
     1e3     20, 22 -> 9, 11        33, 38 -> 13, 15 (BoomerAMG: 13, 15)

   in as much time. Where it turns besides the finest grid has 16
*/
#define HJ_MG_SLANT_MUCH      8.0
#define HJ_MG_K_SLANT         8
#define HJ_MG_K_SLANT_TURNING 16
#define HJ_MG_K_SLANT_MOST    24

static HJMGSweeps HJMGSlantingSweeps(const PC_HJMG *mg, const HJMGLevel *level, PetscInt at, HJMGSweeps s)
{
  PetscInt k = HJ_MG_K * (PetscInt)(PetscMin(mg->slant / 1.5, HJ_MG_K_SLANT_MOST / HJ_MG_K) + 0.5);

  if (mg->slant < HJ_MG_SLANT) return s;
  if (!at) k = mg->slant >= HJ_MG_SLANT_MUCH && HJMGTurns(mg, level) >= HJ_MG_TURNS ? HJ_MG_K_SLANT_TURNING : HJ_MG_K_SLANT;
  return k <= s.k || k > level->safe_k ? s : (HJMGSweeps){k, 0, NULL};
}

/* Subiterations of the finest grid, where that is rough, and of those below it. Of random conductances of 1e6 in blocks of 2 points CG
   takes 24 and 22 iterations in 2D, 257 and 514 a side (23 and 19 with 16 and 40 in four fifths of the time, which leave a wrong answer in
   problem 3664 of seed 38271 of the fuzzer), and 18 and 23 in 3D, 65 and 130 a side, where it takes 59, 30 and 59 with 4 on the finest
   grid, in about as much time */
static const PetscInt HJMGRoughK[3][2] = {{4, 4}, {20, 32}, {24, 8}};

/*
   The correction for roughness. Where coefficients jump between most points no interpolation reaches each region of a few points between
   coarse ones, and sweeps must: whole passes. Where the finest grid is rough itself most of them are there. k subiterations carry values k
   points far: more than a side has gain nothing
*/
static HJMGSweeps HJMGRoughSweeps(const PC_HJMG *mg, const HJMGLevel *level, PetscInt at, HJMGSweeps s)
{
  const PetscInt  dim    = level->op->grid.dim;
  const PetscReal points = HJMGPoints(level), times = mg->finest / points;
  const PetscReal most = PetscMin(dim < 3 ? HJ_MG_K_MOST : HJ_MG_K_MOST_3D, PetscPowReal(points, 1.0 / dim));
  PetscReal       k    = dim < 3 ? HJ_MG_K * HJ_MG_PART * times : 2 * PetscPowReal(times, 1.0 / 3);

  if (HJMGFinestIsRough(mg)) return (HJMGSweeps){HJMGRoughK[dim - 1][at > 0], 0, NULL};
  if (!at || mg->stars || level->rough <= HJ_MG_ROUGH) return s;
  if (level->rough > HJ_MG_ROUGHER) k *= 2;
  return (HJMGSweeps){HJ_MG_K * PetscMax((PetscInt)(PetscMin(k, most) / HJ_MG_K + 0.5), 1), 0, NULL};
}

static HJMGSweeps HJMGLevelSweeps(const PC_HJMG *mg, const HJMGLevel *level, PetscBool rotated)
{
  const PetscInt at = mg->base + (PetscInt)(level - mg->level); /* levels below the finest */
  HJMGSweeps     s;

  if (mg->nk) return (HJMGSweeps){mg->k[PetscMin(at, mg->nk - 1)], 0, NULL};
  s = HJMGTable[level->op->grid.dim - 1][mg->operators][rotated][PetscMin(at, 2)];
  s = HJMGTurningSweeps(mg, level, HJMGRoughSweeps(mg, level, at, s));
  s = HJMGSlantingSweeps(mg, level, at, s);
  return HJMGSafeSweeps(level, s);
}

static PetscErrorCode HJMGSetUpSmoother(const HJMGLevel *level, const HJMGSweeps *s, HJWeights *w)
{
  const PetscReal emax = level->bound.emax;

  PetscFunctionBegin;
  PetscCall(HJWeightsReset(w));
  w->k = s->k;
  PetscCall(PetscMalloc1(s->k, &w->w));
  if (s->roots) {
    for (PetscInt i = 0; i < s->k; i++) w->w[i] = 1.0 / (s->roots[i] * emax);
  } else {
    PetscCall(HJScheduleFill(PetscObjectComm((PetscObject)level->da),
                             s->ratio > 0 ? PC_HJACOBI_SCHEDULE_CHEBYSHEV : PC_HJACOBI_SCHEDULE_CHEBYSHEV4, s->k,
                             emax / (s->ratio > 0 ? s->ratio : 11), emax, 1, w->w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A vector's norm by the sizes of the diagonal. Overwrites work */
static PetscErrorCode HJMGNormOfDiagonal(Mat A, Vec x, Vec work, PetscReal *norm)
{
  PetscScalar product;

  PetscFunctionBegin;
  PetscCall(MatGetDiagonal(A, work));
  PetscCall(VecAbs(work));
  PetscCall(VecPointwiseMult(work, work, x));
  PetscCall(VecDot(work, x, &product));
  *norm = PetscSqrtReal(PetscAbsScalar(product));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many times larger these sweeps make an error of which each eigenvector has a share: by the norm in which those of a matrix without
   negative eigenvalues make none larger, and by the norm that a left Krylov method goes by. b is 0; x and work are overwritten */
static PetscErrorCode HJMGSweepsGrowth(HJMGLevel *level, const HJMGSweeps *s, Vec b, Vec x, Vec work, PetscReal growth[2])
{
  HJWeights w = {0};
  PetscReal before[2], after[2];

  PetscFunctionBegin;
  PetscCall(HJMGSetUpSmoother(level, s, &w));
  PetscCall(HJMGFillRough(level->op->ops, x));
  PetscCall(HJMGNormOfDiagonal(level->A, x, work, &before[0]));
  PetscCall(VecNorm(x, NORM_2, &before[1]));
  PetscCall(HJOperatorRun(level->op, &w, &(HJRun){.its = 1, .b = b, .x = x}));
  PetscCall(HJMGNormOfDiagonal(level->A, x, work, &after[0]));
  PetscCall(VecNorm(x, NORM_2, &after[1]));
  for (int i = 0; i < 2; i++) growth[i] = after[i] / before[i];
  PetscCall(HJWeightsReset(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
   The correction for negative eigenvalues, which the finest matrix may have where its diagonal does not dominate: the higher the degree of
   a polynomial, the more it grows there. And for diagonals that differ so much, on grids that are stretched to many decades, that errors
   which are small where the diagonal is large are large where they are carried: with many sweeps 1e7 times. A cycle that grows by the
   digits of a number hides from a left Krylov method what it should solve. Rotated cycles are no preconditioner, their residual is seen:
   there only the first counts (513^3 took 6 cycles for 5, as the grid of 17^3 has another norm)
*/
static PetscErrorCode HJMGCalmSweeps(const PC_HJMG *mg, HJMGLevel *level, HJMGSweeps s[2])
{
  const PetscInt few       = mg->definite ? HJ_MG_K_FEW : 1;
  PetscReal      growth[2] = {0.0, 0.0};
  Vec            b, x, work;

  PetscFunctionBegin;
  if (mg->nk || level->lines || PetscMax(s[0].k, s[1].k) <= few) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(level->A, &x, &b));
  PetscCall(VecDuplicate(x, &work));
  PetscCall(VecSet(b, 0.0));
  for (int r = 0; r < 2; r++) {
    while (s[r].k > few) {
      PetscCall(HJMGSweepsGrowth(level, &s[r], b, x, work, growth));
      if ((mg->definite || growth[0] <= 1.0) && (r || growth[1] <= HJ_MG_GROWTH)) break;
      s[r] = (HJMGSweeps){s[r].k / 2, 0, NULL};
    }
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSetUpSweeps(const PC_HJMG *mg, HJMGLevel *level)
{
  HJMGSweeps s[2] = {HJMGLevelSweeps(mg, level, PETSC_FALSE), HJMGLevelSweeps(mg, level, PETSC_TRUE)};

  PetscFunctionBegin;
  if (level->flows) {
    PetscCall(HJMGSetUpFlowSweeps(mg, level));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGCalmSweeps(mg, level, s));
  PetscCall(HJMGSetUpSmoother(level, &s[0], &level->w));
  PetscCall(HJWeightsReset(&level->rotated));
  if (s[0].k != s[1].k || s[0].ratio != s[1].ratio || s[0].roots != s[1].roots) PetscCall(HJMGSetUpSmoother(level, &s[1], &level->rotated));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGSetUpCoarsestSweeps(const PC_HJMG *mg, HJMGLevel *level)
{
  const HJMGSweeps s = {HJMGLevelSweeps(mg, level, PETSC_FALSE).k, 0, NULL};

  PetscFunctionBegin;
  if (level->flows) {
    PetscCall(HJMGSetUpFlowSweeps(mg, level));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(HJMGSetUpSmoother(level, &s, &level->w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJMGAdviseK(const PC_HJMG *mg, const HJMGLevel *level, char words[], size_t len)
{
  PetscFunctionBegin;
  words[0] = 0;
  if (level->w.k <= level->safe_k) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(words, len,
                          "level %" PetscInt_FMT ": k = %" PetscInt_FMT
                          " is not safe for so unsymmetric a matrix (skew part of D^-1 A up to "
                          "%.2g)",
                          mg->base + (PetscInt)(level - mg->level), level->w.k, (double)level->skew));
  if (mg->nk)
    PetscCall(PetscSNPrintf(words + strlen(words), len - strlen(words), ": leave -pc_hjmg_k out, or give it %" PetscInt_FMT " at most",
                            PetscMax(level->safe_k, 1)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

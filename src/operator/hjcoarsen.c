/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Coarser grids: a direction is halved where its couplings are about as strong as the strongest ones, for only there errors are smooth
   after point relaxation. Coarse points are those of even number, or, as the ends of a direction ask, of odd number.
*/
#include "hjcoarsen.h"
#include "hjoperator.h"
#include "hjpairs.h"
#include "stencil/hjstencil.h"

/* Coefficients of hanging points are rounded, so that they do not depend on the order in which ranks add up */
#define HJ_LAST_STEPS 1024

/* A direction is halved where it is not much weaker than the strongest one at so many points, as a share of the points of the direction
   where these are most */
#define HJ_COARSEN_WANTED 0.8

/* Points that are a smaller share of all make no direction, however large the ratios are there: ends of a domain with coefficients that
   jump */
#define HJ_COARSEN_FEW 0.05

/* In 2D, in a direction of so few points, so many times as short as the other, those at its ends, whose ratios the walls make, are no small
   share. In 3D (32 x 32 x 64 points that grow by 1.15) the same took 8 iterations for 6 */
#define HJ_COARSEN_THIN    9
#define HJ_COARSEN_SHORTER 6

/* By so much less a first point must have of the point beside it than a last one for that to be coarse: half a spacing from a wall it has a
   third, a whole one a half. Rounding, and coefficients that vary near the walls, decide nothing */
#define HJ_COARSEN_NEARER 0.1

static PetscBool HJCoarsenHasSpare(const HJGrid *grid, int d)
{
  return (PetscBool)(d < grid->dim && grid->N[d] > 1);
}

/* Of the points, those at which a direction is not weaker than the strongest one by more than HJ_COARSEN_RATIO times 4^from */
static PetscReal HJCoarsenPoints(const HJCoarsening *c, int d, int from)
{
  PetscReal points = c->ratios.points;

  for (int s = from; s < HJ_RATIO_STEPS; s++) points -= c->ratios.weaker[d][s];
  return points;
}

static PetscReal HJCoarsenInside(const HJGrid *grid)
{
  const PetscInt longest = PetscMax(grid->N[0], PetscMax(grid->N[1], grid->N[2]));
  PetscReal      share   = 1.0;

  if (grid->dim != 2) return share;
  for (int d = 0; d < 2; d++) {
    const PetscBool thin = (PetscBool)(grid->N[d] <= HJ_COARSEN_THIN && grid->N[d] <= longest / HJ_COARSEN_SHORTER);

    if (thin && grid->N[d] > 2 && !grid->periodic[d]) share *= (PetscReal)(grid->N[d] - 2) / (PetscReal)grid->N[d];
  }
  return share;
}

/*
   Halving a direction divides its strength, beside that of the others, by 4. So a ratio r of two directions above HJ_COARSEN_RATIO = c gets
   r / 4 in each such step, and ends between c / 4 and c. c is no number that coefficients are likely to have as a ratio: the choice must
   not hang on rounding.

   Of the directions that are strong in the mean those are left out that are much weaker than another one at most points, if some remain: a
   direction that is very strong at few points may be strong in the mean.
*/
static void HJCoarsenChoose(const HJGrid *grid, HJCoarsening *c)
{
  PetscReal strongest = 0.0, most = 0.0;
  PetscBool strong[3], any        = PETSC_FALSE;

  c->inside = HJCoarsenInside(grid);
  for (int d = 0; d < 3; d++)
    if (HJCoarsenHasSpare(grid, d)) strongest = PetscMax(strongest, c->strength[d]);
  for (int d = 0; d < 3; d++) {
    strong[d] = (PetscBool)(HJCoarsenHasSpare(grid, d) && !(c->strength[d] * HJ_COARSEN_RATIO < strongest));
    if (HJCoarsenHasSpare(grid, d)) most = PetscMax(most, HJCoarsenPoints(c, d, 1));
  }
  for (int d = 0; d < 3; d++) {
    c->factor[d] = strong[d] && HJCoarsenPoints(c, d, 1) >= HJ_COARSEN_WANTED * c->inside * most ? 2 : 1;
    any          = (PetscBool)(any || c->factor[d] == 2);
  }
  for (int d = 0; d < 3 && !any; d++) c->factor[d] = strong[d] ? 2 : 1;
}

/* A direction that is strong alone at this share of the points, and much weaker at this share, is split */
#define HJ_COARSEN_SPLIT 0.2

/* In 3D: then the others are weak where it is strong alone, and make an even plane elsewhere */
static PetscInt HJCoarsenFindSplit(const HJGrid *grid, const HJCoarsening *c)
{
  const PetscReal n = c->ratios.points;

  for (int d = 0; d < 3 && grid->dim == 3 && n > 0.0; d++) {
    PetscBool splits = (PetscBool)(HJCoarsenHasSpare(grid, d) && c->ratios.alone[d] >= HJ_COARSEN_SPLIT * n &&
                                   n - HJCoarsenPoints(c, d, 1) >= HJ_COARSEN_SPLIT * n);

    for (int e = 0; e < 3; e++)
      if (e != d && n - HJCoarsenPoints(c, e, 1) > c->ratios.alone[d] + HJ_COARSEN_FEW * n) splits = PETSC_FALSE;
    if (splits) return d;
  }
  return -1;
}

void HJCoarsenAcrossSplit(const HJGrid *grid, HJCoarsening *c)
{
  for (int d = 0; d < 3; d++) c->factor[d] = d != c->split && HJCoarsenHasSpare(grid, d) ? 2 : 1;
}

PetscReal HJCoarsenTurns(const HJCoarsening *c)
{
  PetscReal turns = 0.0;

  for (int d = 0; d < 3 && c->ratios.points > 0.0; d++) {
    const PetscReal weak = c->ratios.points - HJCoarsenPoints(c, d, 0);
    PetscReal       sum  = 0.0;

    if (c->factor[d] != 2 || weak < (HJ_COARSEN_FEW + 1.0 - c->inside) * c->ratios.points) continue;
    for (int s = 0; s < HJ_RATIO_STEPS; s++) sum += c->ratios.weaker[d][s] * (1 << s);
    turns = PetscMax(turns, sum / c->ratios.points);
  }
  return turns;
}

/* What the points at an end of a direction have of those beside them, in the mean */
static PetscReal HJCoarsenHold(const double sum[2][3], const double ends[2][3], int d)
{
  const int    more = ends[0][d] == 0.0; /* a grid so thin that all points lie at more ends */
  const double hold = ends[more][d] > 0.0 ? sum[more][d] / ends[more][d] : 0.5;

  return PetscIsInfOrNanReal(hold) ? 0.5 : floor(hold * HJ_LAST_STEPS + 0.5) / HJ_LAST_STEPS;
}

/*
   Of an even number of points one end's is coarse and the other hangs. That one hangs at whose end fewer points are coupled to any: land is
   no coarse point, and where a direction ends in two points its lines keep the one that they have. Else the one that has less of the point
   beside it: its wall is nearer. Were it always the last one, the first coarse point would come as near to its wall as to be on it.
*/
static PetscInt HJCoarsenFirst(const HJGrid *grid, const HJMeasureFirst *f, const HJCoarsening *c, int d)
{
  if (!HJCoarsenHasSpare(grid, d) || grid->N[d] % 2 || grid->periodic[d]) return 0;
  if (f->coupled[0][d] != f->coupled[1][d]) return f->coupled[0][d] < f->coupled[1][d] ? 1 : 0;
  return f->coupled[0][d] > 0.0 && c->before[d] + HJ_COARSEN_NEARER <= c->last[d] ? 1 : 0;
}

PetscErrorCode HJCoarsenTake(MPI_Comm comm, const HJGrid *grid, const HJMeasure *m, HJCoarsening *c)
{
  struct {
    HJMeasureSums   sums;
    HJMeasureRatios ratios;
    HJMeasureFirst  first;
  } all                  = {m->sums, m->ratios, m->first};
  HJMeasureSums *s       = &all.sums;
  PetscReal      most[3] = {m->largest, m->alone, m->coupled};

  PetscFunctionBegin;
  PetscCallMPI(
    MPI_Allreduce(MPI_IN_PLACE, &all, (PetscMPIInt)(HJ_MEASURE_SUMS + HJ_MEASURE_RATIOS + HJ_MEASURE_FIRST), MPI_DOUBLE, MPI_SUM, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, most, 3, MPIU_REAL, MPIU_MAX, comm));
  c->others  = most[0];
  c->least   = most[1] > 0.0 ? 1.0 / most[1] : 0.0;
  c->coupled = most[2];
  c->ratios  = all.ratios;
  for (int d = 0; d < 3; d++) {
    c->strength[d] = s->sides[d] > 0.0 ? s->coupling[d] / s->sides[d] : 0.0;
    c->last[d]     = HJCoarsenHold(s->hold, s->ends, d);
    c->before[d]   = HJCoarsenHold(all.first.hold, all.first.ends, d);
    c->first[d]    = HJCoarsenFirst(grid, &all.first, c, d);
  }
  HJCoarsenChoose(grid, c);
  c->split = HJCoarsenFindSplit(grid, c);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJCoarsenMeasure(MPI_Comm comm, const HJBackendOps *ops, const HJGrid *grid, const HJCoefficients *a, HJCoarsening *c)
{
  HJMeasure m = {.grid = grid, .a = a};

  PetscFunctionBegin;
  PetscCall(ops->multigrid->measure(&m));
  PetscCall(HJCoarsenTake(comm, grid, &m, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first row of a component that is coupled to other points and has no diagonal; empty: there is none */
static PetscErrorCode HJCoarsenFindSaddle(Mat A, DM da, const HJGrid *grid, const HJPairs *pairs, char saddle[], size_t len)
{
  PetscBool all;

  PetscFunctionBegin;
  PetscCall(pairs->ops->nonzero(pairs->one.npoints, pairs->one.value, &all));
  PetscCall(HJOnAllRanks(PetscObjectComm((PetscObject)A), &all));
  if (!all) PetscCall(HJStencilFindSaddle(A, da, grid, saddle, len));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The components' last points that hang have one coefficient, their mean, as they have one interpolation */
PetscErrorCode HJCoarsenMeasureSystem(Mat A, DM da, HJCoarsening *c, char saddle[], size_t len)
{
  HJGrid                grid;
  HJCoarsening          one;
  PetscInt              coupled = 0;
  const HJArrayOps     *ops;
  const HJCoefficients *a;
  HJPairs               pairs;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(c, sizeof(*c)));
  saddle[0] = 0;
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(HJCoefficientsHome(A, &ops, &a));
  PetscCall(HJPairsOpen(ops, a, &pairs));
  for (PetscInt l = 0; l < grid.dof; l++) {
    PetscCall(HJPairsGet(&pairs, &grid, l, l));
    if (!saddle[0]) PetscCall(HJCoarsenFindSaddle(A, da, &grid, &pairs, saddle, len));
    PetscCall(HJCoarsenMeasure(PetscObjectComm((PetscObject)A), ops->backend, &grid, &pairs.one, &one));
    c->others = PetscMax(c->others, one.others);
    if (one.others == 0.0) continue;
    coupled++;
    for (int d = 0; d < 3; d++) {
      c->strength[d] = coupled == 1 ? one.strength[d] : PetscMin(c->strength[d], one.strength[d]);
      c->last[d] += one.last[d];
    }
  }
  PetscCall(HJPairsClose(&pairs));
  for (int d = 0; d < 3; d++) c->last[d] = PetscFloorReal(c->last[d] / PetscMax(coupled, 1) * HJ_LAST_STEPS + 0.5) / HJ_LAST_STEPS;
  HJCoarsenChoose(&grid, c);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJCoarsenSame(const HJGrid *grid, const HJCoarsening *a, const HJCoarsening *b)
{
  for (int d = 0; d < grid->dim; d++) {
    if (a->factor[d] != b->factor[d]) return PETSC_FALSE;
    if (a->factor[d] == 1) continue;
    if (a->first[d] != b->first[d]) return PETSC_FALSE;
    if (a->first[d] && a->before[d] != b->before[d]) return PETSC_FALSE;
    if (HJCoarsenHangs(grid, a, d) && a->last[d] != b->last[d]) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

PetscBool HJCoarsenIsPartial(const HJGrid *grid, const HJCoarsening *c)
{
  for (int d = 0; d < grid->dim; d++)
    if (HJCoarsenHasSpare(grid, d) && c->factor[d] == 1) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* Coarse points of the ranks of a direction, and of all */
static PetscErrorCode HJCoarsenWidths(PetscInt d, PetscInt first, PetscInt nranks, PetscInt *N, PetscInt widths[], char reason[],
                                      size_t len)
{
  PetscInt start = -first;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < nranks; r++) {
    const PetscInt end = start + widths[r];

    widths[r] = (end + 1) / 2 - (start + 1) / 2; /* of even places: -1 has none before it */
    if (!widths[r])
      PetscCall(PetscSNPrintf(reason, len, "a rank would own no point of the next grid, halved in direction %" PetscInt_FMT, d));
    start = end;
  }
  *N = (*N + 1 - first) / 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJCoarsenDM(DM fine, const HJCoarsening *c, DM *coarse, char reason[], size_t len)
{
  PetscInt        dim, N[3], nranks[3];
  DMDAStencilType stencil;
  HJCut           cut[3];
  PetscInt       *widths[3] = {NULL, NULL, NULL};
  PetscBool       any       = PETSC_FALSE;

  PetscFunctionBegin;
  *coarse   = NULL;
  reason[0] = 0;
  PetscCall(DMGetDimension(fine, &dim));
  PetscCall(DMDAGetStencilType(fine, &stencil));
  PetscCall(HJGridGetCuts(fine, cut));
  for (PetscInt d = 0; d < dim; d++) {
    N[d]      = cut[d].N;
    nranks[d] = cut[d].nranks;
    PetscCall(PetscMalloc1(nranks[d], &widths[d]));
    PetscCall(PetscArraycpy(widths[d], cut[d].widths, nranks[d]));
    if (c->factor[d] == 1 || reason[0]) continue;
    any = PETSC_TRUE;
    PetscCall(HJCoarsenWidths(d, c->first[d], nranks[d], &N[d], widths[d], reason, len));
  }
  if (!any) PetscCall(PetscStrncpy(reason, "no direction has points to spare", len));
  if (!reason[0])
    PetscCall(HJGridCreateDM(PetscObjectComm((PetscObject)fine), fine, N, nranks, (const PetscInt *const *)widths, stencil, 1, coarse));
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(widths[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

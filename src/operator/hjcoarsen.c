/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Coarser grids: a direction is halved where its couplings are about as strong as the strongest ones, for only there errors are smooth
   after point relaxation. Coarse points are those of even number.
*/
#include "hjcoarsen.h"
#include "stencil/hjstencil.h"

/* Coefficients of hanging points are rounded, so that they do not depend on the order in which ranks add up */
#define HJ_LAST_STEPS 1024

/* A direction is halved where it is not much weaker than the strongest one at so many points, as a share of the points of the direction
   where these are most */
#define HJ_COARSEN_WANTED 0.8

/* Points that are a smaller share of all make no direction, however large the ratios are there: ends of a domain with coefficients that
   jump */
#define HJ_COARSEN_FEW 0.05

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

  for (int d = 0; d < 3; d++)
    if (HJCoarsenHasSpare(grid, d)) strongest = PetscMax(strongest, c->strength[d]);
  for (int d = 0; d < 3; d++) {
    strong[d] = (PetscBool)(HJCoarsenHasSpare(grid, d) && !(c->strength[d] * HJ_COARSEN_RATIO < strongest));
    if (HJCoarsenHasSpare(grid, d)) most = PetscMax(most, HJCoarsenPoints(c, d, 1));
  }
  for (int d = 0; d < 3; d++) {
    c->factor[d] = strong[d] && HJCoarsenPoints(c, d, 1) >= HJ_COARSEN_WANTED * most ? 2 : 1;
    any          = (PetscBool)(any || c->factor[d] == 2);
  }
  for (int d = 0; d < 3 && !any; d++) c->factor[d] = strong[d] ? 2 : 1;
}

PetscReal HJCoarsenTurns(const HJCoarsening *c)
{
  PetscReal turns = 0.0;

  for (int d = 0; d < 3 && c->ratios.points > 0.0; d++) {
    const PetscReal weak = c->ratios.points - HJCoarsenPoints(c, d, 0);
    PetscReal       sum  = 0.0;

    if (c->factor[d] != 2 || weak < HJ_COARSEN_FEW * c->ratios.points) continue;
    for (int s = 0; s < HJ_RATIO_STEPS; s++) sum += c->ratios.weaker[d][s] * (1 << s);
    turns = PetscMax(turns, sum / c->ratios.points);
  }
  return turns;
}

PetscErrorCode HJCoarsenTake(MPI_Comm comm, const HJGrid *grid, const HJMeasure *m, HJCoarsening *c)
{
  struct {
    HJMeasureSums   sums;
    HJMeasureRatios ratios;
  } all                  = {m->sums, m->ratios};
  HJMeasureSums *s       = &all.sums;
  PetscReal      most[3] = {m->largest, m->alone, m->coupled};

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &all, (PetscMPIInt)(HJ_MEASURE_SUMS + HJ_MEASURE_RATIOS), MPIU_REAL, MPIU_SUM, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, most, 3, MPIU_REAL, MPIU_MAX, comm));
  c->others  = most[0];
  c->least   = most[1] > 0.0 ? 1.0 / most[1] : 0.0;
  c->coupled = most[2];
  c->ratios  = all.ratios;
  for (int d = 0; d < 3; d++) {
    const int       more = s->ends[0][d] == 0.0; /* a grid so thin that all points lie at more ends */
    const PetscReal hold = s->ends[more][d] > 0.0 ? s->hold[more][d] / s->ends[more][d] : 0.5;

    c->strength[d] = s->sides[d] > 0.0 ? s->coupling[d] / s->sides[d] : 0.0;
    c->last[d]     = PetscIsInfOrNanReal(hold) ? 0.5 : PetscFloorReal(hold * HJ_LAST_STEPS + 0.5) / HJ_LAST_STEPS;
  }
  HJCoarsenChoose(grid, c);
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

/* The components' last points that hang have one coefficient, their mean, as they have one interpolation */
PetscErrorCode HJCoarsenMeasureSystem(Mat A, DM da, HJCoarsening *c, char saddle[], char reason[], size_t len)
{
  HJGrid       grid;
  HJMeasure   *m;
  HJCoarsening one;
  PetscInt     coupled = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(c, sizeof(*c)));
  PetscCall(HJGridCreate(da, &grid));
  PetscCall(PetscMalloc1(grid.dof, &m));
  PetscCall(HJStencilMeasureSystem(A, da, &grid, m, saddle, reason, len));
  for (PetscInt l = 0; l < grid.dof && !reason[0]; l++) {
    PetscCall(HJCoarsenTake(PetscObjectComm((PetscObject)A), &grid, &m[l], &one));
    c->others = PetscMax(c->others, one.others);
    if (one.others == 0.0) continue;
    coupled++;
    for (int d = 0; d < 3; d++) {
      c->strength[d] = coupled == 1 ? one.strength[d] : PetscMin(c->strength[d], one.strength[d]);
      c->last[d] += one.last[d];
    }
  }
  for (int d = 0; d < 3; d++) c->last[d] = PetscFloorReal(c->last[d] / PetscMax(coupled, 1) * HJ_LAST_STEPS + 0.5) / HJ_LAST_STEPS;
  HJCoarsenChoose(&grid, c);
  PetscCall(PetscFree(m));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool HJCoarsenSame(const HJGrid *grid, const HJCoarsening *a, const HJCoarsening *b)
{
  for (int d = 0; d < grid->dim; d++) {
    if (a->factor[d] != b->factor[d]) return PETSC_FALSE;
    if (a->factor[d] == 2 && grid->N[d] % 2 == 0 && !grid->periodic[d] && a->last[d] != b->last[d]) return PETSC_FALSE;
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
static PetscErrorCode HJCoarsenWidths(PetscInt d, PetscInt nranks, PetscInt *N, PetscInt widths[], char reason[], size_t len)
{
  PetscInt start = 0;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < nranks; r++) {
    const PetscInt end = start + widths[r];

    widths[r] = (end + 1) / 2 - (start + 1) / 2;
    if (!widths[r])
      PetscCall(PetscSNPrintf(reason, len, "a rank would own no point of the next grid, halved in direction %" PetscInt_FMT, d));
    start = end;
  }
  *N = (*N + 1) / 2;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode HJCoarsenDM(DM fine, const PetscInt factor[3], DM *coarse, char reason[], size_t len)
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
    if (factor[d] == 1 || reason[0]) continue;
    any = PETSC_TRUE;
    PetscCall(HJCoarsenWidths(d, nranks[d], &N[d], widths[d], reason, len));
  }
  if (!any) PetscCall(PetscStrncpy(reason, "no direction has points to spare", len));
  if (!reason[0])
    PetscCall(HJGridCreateDM(PetscObjectComm((PetscObject)fine), fine, N, nranks, (const PetscInt *const *)widths, stencil, 1, coarse));
  for (int d = 0; d < 3; d++) PetscCall(PetscFree(widths[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
   Cuts subiterations into passes and a rank's points into regions. Decides lengths, depths and boxes; moves no data and knows no backend
   beyond its limits.
*/
#include "hjplan.h"

/* Redundant work and ghost memory grow with the depth to the power of the dimension: deeper than this an exchange costs more than it
   saves */
static const PetscInt HJPadCap[4] = {0, HJ_MAX_PAD, 16, 8};

PetscInt HJPlanPad(const HJGrid *grid, PetscInt overlap)
{
  if (!HJGridHasNeighbors(grid)) return 0;
  return overlap < 0 ? PetscMin(grid->min_width, HJPadCap[grid->dim]) : overlap / 2 + 1;
}

/* Longest exact pass up to count that halo and coefficients allow: x is read count layers away, b and the coefficients one less */
static PetscInt HJPlanClip(const HJGrid *grid, PetscInt count)
{
  if (HJGridHasNeighbors(grid)) count = PetscMin(count, PetscMin(grid->min_width, HJPlanPad(grid, -1) + 1));
  return PetscMax(PetscMin(count, HJ_MAX_PASS), 1);
}

static PetscCount HJCeilDiv(PetscCount a, PetscCount b)
{
  return a / b + (a % b > 0);
}

/* Only planes across the slowest direction are contiguous in the vectors */
static PetscBool HJPlanWantsGhosts(const HJGrid *grid)
{
  for (int d = 0; d < grid->dim - 1; d++)
    if (grid->neighbor[d][0] || grid->neighbor[d][1]) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* Whether the last of n passes writes to x itself */
static PetscBool HJPlanEndsInPlace(const HJGrid *grid, const HJLimits *limits, PetscCount total, PetscCount n, PetscBool zero_guess)
{
  if (zero_guess || n % 2 == 0 || total / n > limits->in_place) return PETSC_FALSE;
  return (PetscBool)(!HJGridHasNeighbors(grid) || (limits->wraps && HJGridIsWrapped(grid)) || (limits->ghosts && HJPlanWantsGhosts(grid)));
}

/*
   A pass moves 24 bytes a point and swaps two arrays; from a nonzero guess an odd number of passes ends in the wrong one, a copy of 16
   bytes, unless the last one works in place. Where the backend can make the others longer, one pass less saves both; where it saves no
   copy, and makes none, it pays if fewer than half as many subiterations as the best count are beyond it. One more never pays
*/
static PetscCount HJPlanCountPasses(const HJGrid *grid, const HJLimits *limits, PetscCount total, PetscBool zero_guess)
{
  const PetscInt   best = HJPlanClip(grid, PetscMin(limits->best_count, limits->max_count));
  const PetscCount n = HJCeilDiv(total, best), less = n - 1;

  if (n < 2 || HJCeilDiv(total, less) > HJPlanClip(grid, limits->max_count)) return n;
  if (!zero_guess) {
    const PetscBool copies      = (PetscBool)(n % 2 && !HJPlanEndsInPlace(grid, limits, total, n, zero_guess)),
                    less_copies = (PetscBool)(less % 2 && !HJPlanEndsInPlace(grid, limits, total, less, zero_guess));

    if (copies || less_copies) return copies ? less : n;
  }
  return 2 * (total - less * best) < best ? less : n;
}

void HJPlanFill(const HJGrid *grid, const HJLimits *limits, PetscInt k, PetscInt its, PetscInt overlap, PetscBool zero_guess, HJPlan *plan)
{
  plan->total      = (PetscCount)its * k;
  plan->zero_guess = zero_guess;
  plan->pointwise  = PETSC_FALSE;
  plan->overlap    = overlap;
  if (overlap < 0) {
    plan->npasses = HJPlanCountPasses(grid, limits, plan->total, zero_guess);
    plan->depth   = plan->npasses ? (PetscInt)HJCeilDiv(plan->total, plan->npasses) : 0;
  } else {
    plan->npasses = its;
    plan->depth   = overlap / 2 + 1;
  }
  if (!HJGridHasNeighbors(grid)) plan->depth = 0;
  plan->in_place = (PetscBool)(overlap < 0 && HJPlanEndsInPlace(grid, limits, plan->total, plan->npasses, zero_guess));
}

void HJPlanBeginPointwise(const HJGrid *grid, const HJLimits *limits, HJPlan *plan)
{
  const PetscInt best = HJPlanClip(grid, PetscMin(limits->best_count, limits->max_count));

  if (!plan->zero_guess || plan->overlap >= 0 || plan->npasses < 2 || HJGridHasNeighbors(grid)) return;
  plan->pointwise = (PetscBool)(HJCeilDiv(plan->total - 1, plan->npasses - 1) <= best);
}

/* The longer passes come first: with a zero guess the first subiteration of all costs nearly nothing. After one of its own they come
   last */
HJPass HJPlanGetPass(const HJPlan *plan, PetscCount p)
{
  const PetscCount begun = plan->pointwise, n = plan->npasses - begun, base = (plan->total - begun) / n, longer = (plan->total - begun) % n;
  HJPass           pass = {.first = 0, .count = 1};

  if (begun && !p) return pass;
  p -= begun;
  pass.first = begun + p * base + (begun ? PetscMax(p - (n - longer), 0) : PetscMin(p, longer));
  pass.count = (PetscInt)(base + (begun ? p >= n - longer : p < longer));
  return pass;
}

static void HJRegionsAdd(HJRegions *r, const HJBox *write, const HJBox *box, PetscBool framed)
{
  const PetscInt i = r->n++;

  r->write[i]  = *write;
  r->box[i]    = *box;
  r->framed[i] = framed;
  r->offset[i] = r->size;
  if (framed) r->size += HJBoxSize(box);
}

/* Thickness of the slabs of a direction: a tile's useful share, where the grid is wide enough to spare it */
static PetscInt HJSlabWidth(const HJGrid *grid, PetscInt depth, const PetscInt slab[3], int d)
{
  return PetscMax(depth, PetscMin(slab[d], HJBoxWidth(&grid->owned, d) / 8));
}

/* The points that need no ghost point. False where too few to be worth regions of their own */
static PetscBool HJPlanInterior(const HJGrid *grid, PetscInt depth, const PetscInt slab[3], HJBox *interior)
{
  *interior = grid->owned;
  for (int d = 0; d < grid->dim; d++) {
    const PetscInt w = HJSlabWidth(grid, depth, slab, d);

    if (!grid->neighbor[d][0] && !grid->neighbor[d][1]) continue;
    if (HJBoxWidth(&grid->owned, d) < 3 * w) return PETSC_FALSE;
    if (grid->neighbor[d][0]) interior->lo[d] += w;
    if (grid->neighbor[d][1]) interior->hi[d] -= w;
  }
  return (PetscBool)(2 * HJBoxSize(interior) >= HJBoxSize(&grid->owned));
}

/* Slabs of the slowest direction span the whole cross-section, so that their arrays are long and few; the others take what is left */
static void HJPlanSlabs(const HJGrid *grid, PetscInt depth, const HJBox *interior, HJRegions *regions)
{
  HJBox rest = grid->owned;

  for (int d = (int)grid->dim - 1; d >= 0; d--) {
    HJBox low = rest, high = rest, box;

    low.hi[d]  = interior->lo[d];
    high.lo[d] = interior->hi[d];
    if (!HJBoxEmpty(&low)) {
      box = HJGridGrow(grid, &low, depth);
      HJRegionsAdd(regions, &low, &box, PETSC_TRUE);
    }
    if (!HJBoxEmpty(&high)) {
      box = HJGridGrow(grid, &high, depth);
      HJRegionsAdd(regions, &high, &box, PETSC_TRUE);
    }
    rest.lo[d] = interior->lo[d];
    rest.hi[d] = interior->hi[d];
  }
}

static void HJPlanGhosts(const HJGrid *grid, const HJBox *padded, HJRegions *regions)
{
  const PetscInt d = grid->dim - 1;

  HJRegionsAdd(regions, &grid->owned, padded, PETSC_FALSE);
  regions->ghosts         = PETSC_TRUE;
  regions->ghost[0]       = *padded;
  regions->ghost[1]       = *padded;
  regions->ghost[0].hi[d] = grid->owned.lo[d];
  regions->ghost[1].lo[d] = grid->owned.hi[d];
  regions->size           = HJBoxSize(&regions->ghost[0]) + HJBoxSize(&regions->ghost[1]);
}

static void HJPlanWraps(const HJGrid *grid, const HJPlan *plan, HJRegions *regions)
{
  const PetscInt d      = grid->dim - 1;
  const HJBox    padded = HJGridPadded(grid, plan->depth);
  HJBox          box    = grid->owned;

  box.lo[d] = padded.lo[d];
  box.hi[d] = padded.hi[d];
  HJPlanGhosts(grid, &box, regions);
  regions->ghosts = grid->periodic[d];
  regions->wraps  = PETSC_TRUE;
  regions->size   = 0;
}

void HJPlanRegions(const HJGrid *grid, const HJPlan *plan, const PetscInt slab[3], PetscBool ghosts, PetscBool wraps, HJRegions *regions)
{
  HJBox interior, padded = HJGridPadded(grid, plan->depth);

  regions->n = 0, regions->size = 0, regions->ghosts = PETSC_FALSE, regions->wraps = PETSC_FALSE;
  if (!HJGridHasNeighbors(grid)) {
    HJRegionsAdd(regions, &grid->owned, &grid->owned, PETSC_FALSE);
  } else if (plan->overlap < 0 && wraps && HJGridIsWrapped(grid)) {
    HJPlanWraps(grid, plan, regions);
  } else if (plan->overlap < 0 && ghosts && HJPlanWantsGhosts(grid)) {
    HJPlanGhosts(grid, &padded, regions);
  } else if (plan->overlap < 0 && HJPlanInterior(grid, plan->depth, slab, &interior)) {
    HJRegionsAdd(regions, &interior, &grid->owned, PETSC_FALSE);
    HJPlanSlabs(grid, plan->depth, &interior, regions);
  } else {
    HJRegionsAdd(regions, &grid->owned, &padded, PETSC_TRUE);
  }
}

PetscLogDouble HJPlanBytes(const HJGrid *grid, const HJPlan *plan, PetscReal coefficient_bytes)
{
  const PetscLogDouble points = (PetscLogDouble)HJBoxSize(&grid->owned);
  const PetscLogDouble number = (PetscLogDouble)grid->dof * sizeof(PetscScalar);
  PetscLogDouble       bytes  = plan->npasses * (3 * number + coefficient_bytes);

  if (plan->zero_guess) bytes -= number;                              /* the first pass does not read x */
  else if (plan->npasses % 2 && !plan->in_place) bytes += 2 * number; /* the copy */
  return points * bytes;
}
